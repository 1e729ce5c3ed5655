#include "channel/ilink/api.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/testhook.h"
#include "base/text.h"
#include "channel/ilink/wire-private.h"

static int set_bot_agent(struct api *a, const struct ilink_env *env, struct err *e)
{
	struct str given = STR_INIT(4096), agent = STR_INIT(WIRE_BOT_AGENT_MAX);
	struct utsname host;
	int dropped, rc = -1;

	if (env->bot_agent)
		str_adds(&given, env->bot_agent);
	else
		str_addf(&given, "Kairo/%s (linux; %s)", KAIRO_VERSION,
			uname(&host) == 0 ? host.machine : "unknown");
	if (!str_ok(&given)) {
		err_set(e, E_FORMAT, "the bot agent is longer than 4096 bytes");
		goto out;
	}
	dropped = wire_bot_agent(str_view(&given), &agent);
	if (dropped < 0 || copy_z(a->bot_agent, sizeof(a->bot_agent), str_view(&agent)) < 0) {
		err_set(e, E_NOMEM, "no memory for the bot agent");
		goto out;
	}
	if (dropped > 0)
		log_warn(env->log, "ilink",
			"%d parts of the bot agent are not name/version and were"
			" left out",
			dropped);
	rc = 0;
out:
	str_release(&given);
	str_release(&agent);
	return rc;
}

/* A header value: printable, and at most what its buffer takes. */
static int set_route_tag(struct api *a, const char *tag, struct err *e)
{
	struct view v = view_trim(view_of(tag));

	if (v.n && !wire_is_opaque(v))
		return err_set(e, E_FORMAT, "the route tag must be printable ASCII without spaces");
	if (copy_z(a->route_tag, sizeof(a->route_tag), v) < 0)
		return err_set(e, E_FORMAT, "the route tag is too long");
	return 0;
}

int api_init(struct api *a, const struct ilink_env *env, struct err *e)
{
	const char *version = env->client_version ? env->client_version : ILINK_CLIENT_VERSION;

	*a = (struct api){ .loop = env->loop,
		.log = env->log,
		.poll_http = env->poll_http,
		.api_http = env->api_http,
		.loopback = env->loopback };
	if (wire_client_version(version, a->version_number, e) < 0)
		return -1;
	if (copy_z(a->version, sizeof(a->version), view_of(version)) < 0)
		return err_set(e, E_FORMAT, "the client version is too long");
	if (set_bot_agent(a, env, e) < 0 || set_route_tag(a, env->route_tag, e) < 0)
		return -1;
	a->me = (struct wire_self){ .version = a->version, .bot_agent = a->bot_agent };
	return 0;
}

void api_hide(struct api *a, const char *secret)
{
	if (a->log)
		(void)log_add_secret(a->log, secret, NULL);
}

/* base, exactly one slash, endpoint. */
static int add_url(struct str *url, const struct api_call *c, struct err *e)
{
	struct view base = view_of(c->base);

	while (base.n && base.p[base.n - 1] == '/')
		base.n--;
	str_add(url, base);
	str_addc(url, '/');
	str_adds(url, c->endpoint);
	return str_ok(url) ? 0 : err_set(e, E_FORMAT, "the address of the API is too long");
}

/* The headers that every request carries; returns how many. */
static size_t common_headers(const struct api *a, struct http_header *h)
{
	size_t n = 0;

	h[n++] = (struct http_header){ "iLink-App-Id", "bot" };
	h[n++] = (struct http_header){ "iLink-App-ClientVersion", a->version_number };
	if (a->route_tag[0])
		h[n++] = (struct http_header){ "SKRouteTag", a->route_tag };
	return n;
}

static int start(struct http_call **out, const struct api_call *c, struct http_req *req,
	struct err *e)
{
	struct str url = STR_INIT(8192);
	int rc = -1;

	if (add_url(&url, c, e) == 0) {
		req->url = str_cstr(&url);
		req->timeout_ms = c->timeout_ms;
		req->body_max = WIRE_BODY_MAX;
		req->error_body_max = 4096; /* an edge's page of HTML; nobody reads it */
		req->on_done = c->done;
		req->arg = c->arg;
		rc = http_start(out, c->http, req, e);
	}
	str_wipe(&url); /* a QR key may be in it */
	return rc;
}

int api_post(struct http_call **out, struct api *a, const struct api_call *c, struct err *e)
{
	struct str bearer = STR_INIT(ACCOUNT_TOKEN_MAX + 8);
	struct http_header h[8];
	struct http_req req = { .method = "POST", .headers = h, .body = c->body };
	char uin[WIRE_UIN_SIZE];
	int rc;

	wire_uin((uint32_t)rand_u64(), uin);
	req.nheaders = common_headers(a, h);
	h[req.nheaders++] = (struct http_header){ "Content-Type", "application/json" };
	h[req.nheaders++] = (struct http_header){ "AuthorizationType", "ilink_bot_token" };
	h[req.nheaders++] = (struct http_header){ "X-WECHAT-UIN", uin };
	if (c->token) {
		str_adds(&bearer, "Bearer ");
		str_add(&bearer, view_trim(view_of(c->token)));
		h[req.nheaders++] = (struct http_header){ "Authorization", str_cstr(&bearer) };
	}
	if (str_ok(&bearer))
		rc = start(out, c, &req, e);
	else
		rc = err_set(e, E_FORMAT, "the account's token is too long");
	str_wipe(&bearer);
	return rc;
}

int api_get(struct http_call **out, struct api *a, const struct api_call *c, struct err *e)
{
	struct http_header h[4];
	struct http_req req = { .method = "GET", .headers = h };

	req.nheaders = common_headers(a, h);
	return start(out, c, &req, e);
}

int api_call_account(struct http_call **out, struct api *a, const struct account *acc, int written,
	struct str *body, struct api_call c, struct err *e)
{
	int rc = -1;

	if (written == 0) {
		c.base = account_base_url(acc);
		c.token = account_token(acc);
		c.body = str_view(body);
		rc = api_post(out, a, &c, e);
	}
	str_wipe(body);
	return rc;
}

/* --- What went wrong -------------------------------------------------------------------------- */
bool api_failed(const struct http_result *r, char *why, size_t size)
{
	if (r->fail != HTTP_OK_) {
		wire_safe_line(view_of(r->err->msg), why, size);
		if (!why[0])
			snprintf(why, size, "the request failed (%s)", http_fail_name(r->fail));
		return true;
	}
	if (r->status >= 200 && r->status <= 299)
		return false;
	if (r->status == 403 || r->status == 404)
		snprintf(why, size,
			"the server answered HTTP %d: wrong host or path, check the base"
			" URL of the account",
			r->status);
	else
		snprintf(why, size, "the server answered HTTP %d", r->status);
	return true;
}

/* Short texts are no secrets, and would blacken half of every message. */
#define MASK_MIN 4

static int add_masked(struct str *out, struct view text, const char *secret)
{
	size_t n = secret ? strlen(secret) : 0;

	while (n >= MASK_MIN && text.n >= n) {
		const char *at = memmem(text.p, text.n, secret, n);

		if (!at)
			break;
		str_add(out, view_cut(text, (size_t)(at - text.p)));
		str_adds(out, "[redacted]");
		text = view_from(text, (size_t)(at - text.p) + n);
	}
	return str_add(out, text);
}

void api_refusal(const struct wire_code *c, const char *secret, const char *secret2, char *why,
	size_t size)
{
	struct str one = STR_INIT(65536), two = STR_INIT(65536), all = STR_INIT(65536);

	str_addf(&all, "the server answered %lld", (long long)c->code);
	if (c->text[0] && add_masked(&one, view_of(c->text), secret) == 0 &&
		add_masked(&two, str_view(&one), secret2) == 0)
		str_addf(&all, " (%s)", str_cstr(&two));
	else
		str_adds(&all, " without a reason");
	(void)copy_z(why, size, view_cut(str_view(&all), utf8_cut(str_view(&all), size - 1)));
	str_wipe(&one);
	str_wipe(&two);
	str_wipe(&all);
}

bool api_is_international(const char *base)
{
	struct http_url u;

	return http_url_parse(view_of(base), &u, NULL) == 0 &&
	       (view_eqs(u.host, "wechat.com") || view_ends(u.host, VIEW(".wechat.com")));
}

int64_t backoff_ms(int failures, uint64_t rnd)
{
	int64_t ms = failures < 3 ? 2000 : 30000;

	for (int i = 3; i < failures && ms < 300000; i++)
		ms *= 2;
	if (ms > 300000)
		ms = 300000;
	return test_pause(ms * (int64_t)(800 + rnd % 401) / 1000);
}
