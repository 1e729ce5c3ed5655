/* base/net/http_url: a URL that is taken has parts that every reader of it sees alike. */
#include "fuzz.h"

#include "base/net/http.h"
#include "base/url.h"

#include <string.h>

/* What a page refers to is a clean address, or nothing; a clean address means itself. */
static void check_resolve(struct view base, struct view ref)
{
	struct str once = STR_INIT(URL_TEXT_MAX), twice = STR_INIT(URL_TEXT_MAX);

	if (url_resolve(base, ref, &once, NULL) < 0) {
		must(once.n == 0);
		return;
	}
	must(once.n > 0 && (view_starts(str_view(&once), VIEW("http://")) ||
				   view_starts(str_view(&once), VIEW("https://"))));
	for (size_t i = 0; i < once.n; i++)
		must(once.p[i] > ' ' && once.p[i] < 0x7f && !strchr("\"<>\\#", once.p[i]));
	must(url_resolve(VIEW_NONE, str_view(&once), &twice, NULL) == 0);
	must(view_eq(str_view(&once), str_view(&twice)));
	str_release(&once);
	str_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = { (const char *)data, size };
	struct str escaped = STR_INIT((size_t)64 << 20);
	struct http_url u;
	struct err e = ERR_INIT;

	must(http_query_escape(in, &escaped) == 0 && escaped.n <= 3 * in.n);
	for (size_t i = 0; i < escaped.n; i++)
		must(escaped.p[i] > ' ' && escaped.p[i] < 0x7f &&
			!strchr("&=+#?/\"", escaped.p[i]));
	str_release(&escaped);
	(void)http_host_is_loopback(in);
	check_resolve(VIEW_NONE, in);
	check_resolve(VIEW("https://e.com/a/../b?c"), in);
	if (http_url_parse(in, &u, &e) < 0) {
		must(e.code == E_FORMAT && e.msg[0]);
		return 0;
	}
	must(u.host.n > 0 && u.port >= 1 && u.port <= 65535);
	must(u.host.p >= in.p && u.host.p + u.host.n <= in.p + in.n);
	for (size_t i = 0; i < u.host.n; i++)
		must(u.host.p[i] > ' ' && !strchr("@/\\?#%[]", u.host.p[i]));
	must(u.path.n == 0 || u.path.p[0] == '/');
	must(view_find(u.path, '#') == u.path.n && view_find(u.path, ' ') == u.path.n);
	return 0;
}
