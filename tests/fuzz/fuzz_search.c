/* tools/host/search: of whatever a provider answers only plain text and addresses are taken. */
#include "fuzz.h"

#include "base/text.h"
#include "tools/host/search.h"

#include <string.h>

static void check_line(const struct str *s, size_t chars)
{
	must(utf8_valid(str_view(s)) && utf8_count(str_view(s)) <= chars);
	for (size_t i = 0; i < s->n; i++)
		must((unsigned char)s->p[i] >= ' ' && s->p[i] != 0x7f);
}

/* The first byte chooses the provider. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct search_account account = { .key = "sekrit" };
	struct view in = { (const char *)data, size };
	struct str complaint = STR_INIT(4096);
	struct search_results r;
	struct http_url u;

	if (size == 0)
		return 0;
	if (search_parse(&r, (enum search_provider)(data[0] % SEARCH_PROVIDERS), view_from(in, 1),
		    SEARCH_RESULTS_MAX, NULL) < 0)
		must(r.n == 0);
	for (size_t i = 0; i < r.n; i++) {
		must(r.list[i].title.n > 0);
		check_line(&r.list[i].title, 200);
		check_line(&r.list[i].text, 600);
		check_line(&r.list[i].date, 40);
		must(http_url_parse(str_view(&r.list[i].url), &u, NULL) == 0 && !u.has_user);
	}
	search_release(&r);
	search_complaint(view_from(in, 1), &account, &complaint);
	check_line(&complaint, 200);
	must(!strstr(str_cstr(&complaint), "sekrit"));
	str_release(&complaint);
	return 0;
}
