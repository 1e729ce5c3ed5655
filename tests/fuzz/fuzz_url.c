/* base/net/http_url: a URL that is taken has parts that every reader of it sees alike. */
#include "fuzz.h"

#include "base/net/http.h"

#include <string.h>

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
