#include "channel/ilink/cdn.h"

#include <stdio.h>

/* The host speaks TLS 1.2 with RSA key exchange and nothing else, which OpenSSL's default list may
 * lack. Certificates are checked all the same (9.3). */
#define CDN_CIPHERS "DEFAULT@SECLEVEL=1"

enum {
	CDN_IDLE_MS = 60000,
	CDN_BASE_MS = 120000, /* for the whole, and ... */
	CDN_BYTES_MS = 64,    /* ... a millisecond for each so many: slower is as good as never */
	CDN_ANSWER_MAX = 64 << 10 /* to an upload, or of an error: nobody reads it */
};

int cdn_init(struct cdn *c, const struct ilink_env *env, struct err *e)
{
	struct view base = view_of(env->cdn_url ? env->cdn_url : ACCOUNT_CDN_URL);

	*c = (struct cdn){ .loop = env->loop,
		.log = env->log,
		.http = env->cdn_http,
		.loopback = env->loopback };
	if (account_check_url(base, env->loopback, e) < 0)
		return err_wrap(e, "the media server (ilink.cdn_url)");
	while (base.n && base.p[base.n - 1] == '/')
		base.n--;
	if (copy_z(c->base, sizeof(c->base), base) < 0)
		return err_set(e, E_FORMAT, "the address of the media server is too long");
	return 0;
}

bool cdn_accepts(const struct cdn *c, const char *given)
{
	struct err e = ERR_INIT;

	if (!given[0])
		return false;
	if (account_check_url(view_of(given), c->loopback, &e) == 0)
		return true;
	log_warn(c->log, "cdn", "an address from the server is not used: %s", e.msg);
	return false;
}

int cdn_built_url(const struct cdn *c, const char *param, const char *filekey, struct str *out,
	struct err *e)
{
	str_addf(out, "%s/%s?encrypted_query_param=", c->base, filekey ? "upload" : "download");
	(void)http_query_escape(view_of(param), out);
	if (filekey)
		str_addf(out, "&filekey=%s", filekey);
	return str_ok(out) ? 0 : err_set(e, E_NOMEM, "the address of a file");
}

int cdn_start(struct http_call **out, const struct cdn *c, struct http_req *req, int64_t bytes,
	struct err *e)
{
	req->ciphers = CDN_CIPHERS;
	req->idle_ms = CDN_IDLE_MS;
	req->timeout_ms = CDN_BASE_MS + bytes / CDN_BYTES_MS;
	req->error_body_max = CDN_ANSWER_MAX;
	if (!req->body_max)
		req->body_max = CDN_ANSWER_MAX;
	return http_start(out, c->http, req, e);
}

void cdn_refusal(const struct http_result *r, char *why, size_t size)
{
	const char *code = http_header(r->call, "x-error-code");
	long long n;

	if (code && parse_i64(view_of(code), &n) == 0)
		snprintf(why, size, "the media server answered HTTP %d (%lld)", r->status, n);
	else
		snprintf(why, size, "the media server answered HTTP %d", r->status);
}
