#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/text.h"
#include "base/url.h"
#include "tools/host/web-private.h"

#define BODY_MAX      ((size_t)5 << 20)
#define REDIRECTS_MAX 5
#define TOTAL_MS      30000 /* from the first address to the last byte */
#define REQUEST_MAX   ((size_t)8 << 20)
#define TYPE_MAX      256

struct fetch {
	struct web *web;
	struct native_call *nc;
	struct http_call *call;  /* one of the two */
	struct tool_run *helper; /* is under way */
	struct str asked, url;   /* the first address, and the one it has come to */
	int redirects;
	int64_t until, offset, limit;
};

static void fetch_free(struct fetch *f)
{
	str_release(&f->asked);
	str_release(&f->url);
	free(f);
}

static void fetch_finish(struct fetch *f, bool ok, struct view text)
{
	struct native_call *nc = f->nc;

	native_finish(nc, ok, text);
	fetch_free(f);
}

static void fetch_fail(struct fetch *f, const struct err *e)
{
	struct str text = STR_INIT((size_t)2 * URL_TEXT_MAX);

	(void)str_addf(&text, "%s could not be fetched: %s", str_cstr(&f->url), e->msg);
	fetch_finish(f, false, str_view(&text));
	str_release(&text);
}

/* --- Where to --------------------------------------------------------------------------------- */

/* Make ref, on the page at base, the address to go to. */
static int fetch_aim(struct fetch *f, struct view base, struct view ref, struct err *e)
{
	struct str url = STR_INIT(URL_TEXT_MAX);
	bool was_tls = view_starts(base, VIEW("https:"));
	struct http_url u;

	if (url_resolve(base, ref, &url, e) < 0 || http_url_parse(str_view(&url), &u, e) < 0)
		goto fail;
	if (u.has_user) {
		err_set(e, E_DENIED,
			"an address with a user name or password in it is not accepted");
		goto fail;
	}
	if (was_tls && !u.tls) {
		err_set(e, E_DENIED, "it sends its reader on from https to plain http");
		goto fail;
	}
	str_release(&f->url);
	f->url = url;
	return 0;
fail:
	str_release(&url);
	return -1;
}

static int fetch_go(struct fetch *f, struct err *e);

static int fetch_redirect(struct fetch *f, const struct http_result *r, struct err *e)
{
	const char *to = http_header(r->call, "Location");

	if (!to)
		return err_set(e, E_FORMAT,
			"it sends its reader on (status %d) without saying where", r->status);
	if (++f->redirects > REDIRECTS_MAX)
		return err_set(e, E_FORMAT, "it sends its reader on more than %d times",
			REDIRECTS_MAX);
	if (fetch_aim(f, str_view(&f->url), view_of(to), e) < 0)
		return -1;
	return fetch_go(f, e);
}

/* --- What came -------------------------------------------------------------------------------- */

static bool is_type(struct view type, const char *name)
{
	return type.n == strlen(name) && strncasecmp(type.p, name, type.n) == 0;
}

static bool type_ends(struct view type, const char *suffix)
{
	size_t n = strlen(suffix);

	return type.n > n && strncasecmp(type.p + type.n - n, suffix, n) == 0;
}

/* Is it text? None at all is found out by looking. */
static bool is_text(struct view type)
{
	static const char *const texts[] = { "application/json", "application/xml",
		"application/javascript", "application/x-javascript", "application/ecmascript",
		"application/x-ndjson", "application/yaml", "application/x-yaml",
		"application/toml", "application/sql", "application/x-sh", "application/rtf",
		"application/x-www-form-urlencoded" };

	type = view_trim(view_cut(type, view_find(type, ';')));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is_type(type, texts[i]))
			return true;
	return type.n == 0 || (type.n > 5 && strncasecmp(type.p, "text/", 5) == 0) ||
	       type_ends(type, "+json") || type_ends(type, "+xml");
}

static struct view type_of(const struct http_result *r)
{
	return view_cut(view_of(http_header(r->call, "Content-Type")), TYPE_MAX);
}

static int refuse_type(const struct http_result *r, struct err *e)
{
	const char *declared = http_header(r->call, "Content-Length");
	unsigned long long size = r->body.n;

	if (declared && parse_u64(view_of(declared), &size) < 0)
		size = r->body.n;
	return err_set(e, E_UNSUPPORTED,
		"it is of the type %.*s, %llu bytes; web_fetch reads text and pages only",
		VIEW_FMT(view_cut(type_of(r), 80)), size);
}

static const char *advice(int status)
{
	switch (status) {
	case 401:
	case 407: return "it wants its reader to sign in";
	case 403: return "it refuses programs, or its reader must sign in; look elsewhere";
	case 404:
	case 410: return "there is no such page; check the address, or search for it";
	case 429: return "it was asked too often; try again later, or look elsewhere";
	default:
		return status >= 500
		               ? "the fault is the server's; try again later, or look elsewhere"
		               : "that is no page";
	}
}

static int refuse_status(const struct http_result *r, struct err *e)
{
	return err_set(e, E_NET, "its server answered with status %d: %s", r->status,
		advice(r->status));
}

/* In 198.18.0.0/15, which no host of the internet has. */
static bool is_made_up(const char *peer)
{
	return strncmp(peer, "198.18.", 7) == 0 || strncmp(peer, "198.19.", 7) == 0;
}

static int explain(const struct http_result *r, struct err *e)
{
	if (r->fail == HTTP_FAIL_TOO_BIG && r->status / 100 == 2 && !is_text(type_of(r)))
		return refuse_type(r, e);
	if (r->fail == HTTP_FAIL_PEER && is_made_up(r->peer))
		return err_set(e, E_DENIED,
			"%s; a proxy's DNS on this machine makes such addresses up, so pages "
			"cannot be fetched here: tell the user to exclude kairo from its fake-IP mode",
			r->err->msg);
	if (r->fail == HTTP_FAIL_PEER)
		return err_set(e, E_DENIED,
			"%s; only public addresses on the ports 80 and 443 are fetched",
			r->err->msg);
	*e = *r->err;
	return -1;
}

/* --- The text of it --------------------------------------------------------------------------- */

static const struct tool_spec page_spec = { .name = "web_page", .timeout_ms = 20000 };

static void fetch_on_text(void *arg, const struct tool_result *r)
{
	struct fetch *f = arg;

	f->helper = NULL;
	fetch_finish(f, r->ok, r->text);
}

static int write_args(const struct fetch *f, const struct http_result *r, struct str *out,
	struct err *e)
{
	struct str body = STR_INIT(REQUEST_MAX), type = STR_INIT((size_t)4 * TYPE_MAX);
	struct json_out w;
	int rc = -1;

	if (base64_encode(r->body, &body) < 0 || utf8_repair(type_of(r), &type) < 0) {
		err_set(e, E_NOMEM, "a page");
		goto out;
	}
	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_str(&w, "type", str_view(&type));
	json_put_str(&w, "url", str_view(&f->url));
	if (f->redirects > 0)
		json_put_str(&w, "asked", str_view(&f->asked));
	json_put_int(&w, "offset", f->offset);
	json_put_int(&w, "limit", f->limit);
	json_put_str(&w, "body", str_view(&body));
	json_close(&w);
	rc = json_out_end(&w, e);
out:
	str_release(&body);
	str_release(&type);
	return rc;
}

static int fetch_read(struct fetch *f, const struct http_result *r, struct err *e)
{
	struct json_limits lim = json_limits_wire;
	struct str text = STR_INIT(REQUEST_MAX);
	struct json *args = NULL;
	int rc = -1;

	lim.bytes = REQUEST_MAX;
	if (write_args(f, r, &text, e) == 0 && json_read(&args, str_view(&text), &lim, e) == 0)
		rc = native_helper(&f->helper, f->nc, &page_spec, args, fetch_on_text, f, e);
	json_free(&args);
	str_release(&text);
	return rc;
}

/* --- One request ------------------------------------------------------------------------------ */

static bool is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void fetch_on_done(void *arg, const struct http_result *r)
{
	struct fetch *f = arg;
	struct err e = ERR_INIT;
	int rc;

	f->call = NULL;
	if (r->fail != HTTP_OK_)
		rc = explain(r, &e);
	else if (is_redirect(r->status))
		rc = fetch_redirect(f, r, &e);
	else if (r->status / 100 != 2)
		rc = refuse_status(r, &e);
	else if (!is_text(type_of(r)))
		rc = refuse_type(r, &e);
	else
		rc = fetch_read(f, r, &e);
	if (rc < 0)
		fetch_fail(f, &e);
}

static int fetch_go(struct fetch *f, struct err *e)
{
	static const struct http_header headers[] = {
		{ "Accept", "text/html,application/xhtml+xml,text/plain,application/json,"
			    "application/xml;q=0.9,*/*;q=0.5" },
		{ "Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8" },
	};
	int64_t left = f->until - loop_now(f->web->env.loop);
	const struct http_req req = {
		.method = "GET",
		.url = str_cstr(&f->url),
		.headers = headers,
		.nheaders = sizeof(headers) / sizeof(headers[0]),
		.timeout_ms = left > 0 ? left : 1,
		.body_max = BODY_MAX,
		.error_body_max = 1,
		.on_done = fetch_on_done,
		.arg = f,
	};

	if (web_take_turn(f->web, e) < 0)
		return -1;
	return http_start(&f->call, f->web->pages, &req, e);
}

/* --- The tool --------------------------------------------------------------------------------- */

static int fetch_start(void *self, struct native_call *nc, const struct tool_call *c,
	const struct json *args, struct err *e)
{
	const struct str url = STR_INIT(URL_TEXT_MAX);
	struct fetch *f = calloc(1, sizeof(*f));
	struct view asked;

	(void)c;
	if (!f)
		return err_set(e, E_NOMEM, "a fetch");
	f->web = self;
	f->nc = nc;
	f->asked = f->url = url;
	f->limit = WEB_PAGE_CHARS;
	f->until = loop_now(f->web->env.loop) + TOTAL_MS;
	if (json_get_str(args, "url", JSON_REQUIRED, 1, URL_TEXT_MAX, &asked, e) < 0 ||
		json_get_int(args, "offset", JSON_OPTIONAL, 0, INT32_MAX, &f->offset, e) < 0 ||
		json_get_int(args, "limit", JSON_OPTIONAL, 1, INT32_MAX, &f->limit, e) < 0 ||
		fetch_aim(f, VIEW_NONE, asked, e) < 0)
		goto fail;
	if (str_add(&f->asked, str_view(&f->url)) < 0) {
		err_set(e, E_NOMEM, "a fetch");
		goto fail;
	}
	if (fetch_go(f, e) < 0)
		goto fail;
	native_set(nc, f);
	return 0;
fail:
	fetch_free(f);
	return -1;
}

static void fetch_cancel(void *self, struct native_call *nc)
{
	struct fetch *f = native_get(nc);

	(void)self;
	http_cancel(&f->call);
	if (f->helper)
		tool_detach(f->helper);
	fetch_free(f);
}

const struct native_tool web_fetch_tool = {
	.name = "web_fetch",
	.start = fetch_start,
	.cancel = fetch_cancel,
};
