/* tools/exec: a page of any bytes in any encoding gives Markdown that is text, within limits. */
#include "fuzz.h"

#include "base/text.h"
#include "tools/exec/charset.h"
#include "tools/exec/html.h"

#include <string.h>

/* The first line names a Content-Type, the rest is the page. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = { (const char *)data, size };
	size_t line = view_find(in, '\n');
	struct view type = view_cut(in, line), body = view_from(in, line + 1);
	struct str text = STR_INIT(HTML_IN_MAX);
	struct charset *c = NULL;
	struct html_page p;
	struct err e = ERR_INIT;
	bool cut;

	if (charset_open(&c, type, body, &e) < 0)
		return 0;
	must(charset_decode(c, body, HTML_IN_MAX, &text, &cut, &e) == 0);
	must(utf8_valid(str_view(&text)) && text.n <= HTML_IN_MAX);
	must(html_read(&p, str_view(&text), VIEW("https://e.com/a/b"), NULL, NULL, &e) == 0);
	must(p.text.n <= HTML_OUT_MAX && utf8_valid(str_view(&p.text)));
	must(strlen(str_cstr(&p.text)) == p.text.n);
	if (html_kind(&p) == HTML_EMPTY)
		must(p.words == 0);
	html_release(&p);
	str_release(&text);
	charset_close(&c);
	return 0;
}
