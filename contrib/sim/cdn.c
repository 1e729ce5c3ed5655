/* getuploadurl and the CDN itself (wire reference, section 9). */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "blob.h"
#include "ilink.h"
#include "media.h"

enum { UPLOAD_IMAGE = 1, UPLOAD_VOICE = 4 }; /* the first and the last media_type */

/* --- getuploadurl ----------------------------------------------------------------------------- */
static bool field(struct call *c, bool ok, const char *what)
{
	if (!ok)
		violation(c, "upload_fields", "%s", what);
	return ok;
}

static bool read_grant(struct call *c, struct blob *b)
{
	struct view filekey = check_str(c, c->body, "filekey"),
		    aeskey = check_str(c, c->body, "aeskey");
	struct view md5 = check_str(c, c->body, "rawfilemd5");
	bool ok;

	(void)check_str(c, c->body, "to_user_id");
	b->media_type = check_int(c, c->body, "media_type", 0);
	b->raw_size = check_int(c, c->body, "rawsize", -1);
	b->size = check_int(c, c->body, "filesize", -1);
	if (!opt_bool(c->body, "no_need_thumb", false))
		field(c, false, "no_need_thumb is not true");
	ok = field(c, filekey.n == 32 && is_hex(filekey), "filekey is not 32 hex digits");
	ok &= field(c, hex_to_key(aeskey, b->key) == 0, "aeskey is not 32 hex digits");
	ok &= field(c, md5.n == 32 && is_hex(md5), "rawfilemd5 is not 32 hex digits");
	ok &= field(c, b->media_type >= UPLOAD_IMAGE && b->media_type <= UPLOAD_VOICE,
		"media_type is not 1 to 4");
	ok &= field(c,
		b->raw_size >= 0 && b->raw_size <= INT64_MAX / 2 &&
			b->size == blob_padded(b->raw_size),
		"filesize is not the padded rawsize");
	if (ok) {
		(void)copy_z(b->filekey, sizeof(b->filekey), filekey);
		(void)copy_z(b->md5, sizeof(b->md5), md5);
	}
	return ok;
}

static void answer_grant(struct call *c, const struct blob *b)
{
	struct str url = STR_INIT(4096);
	struct json_out w;

	str_addf(&url, "%s/upload?encrypted_query_param=%s&filekey=%s&taskid=%llu", c->sim->cdn_url,
		b->param, b->filekey, (unsigned long long)b->id);
	if (fault_is(c->fault, F_FOREIGN_URL)) {
		str_reset(&url);
		str_adds(&url, c->fault->name ? c->fault->name : "https://evil.example/upload");
	}
	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	json_put_int(&w, "ret", 0);
	if (!fault_is(c->fault, F_NO_FULL_URL) && !fault_is(c->fault, F_NO_URL))
		json_put_str(&w, "upload_full_url", str_view(&url));
	if (!fault_is(c->fault, F_NO_URL))
		json_put_z(&w, "upload_param", b->param);
	json_close(&w);
	(void)json_out_end(&w, NULL);
	str_release(&url);
	call_answer(c);
}

void getuploadurl(struct call *c)
{
	bool token = json_member(c->body, "context_token") != NULL;
	struct blob *b;

	if (!token)
		note(c, "no_context_token", "an upload without context_token");
	if (!token && c->sim->set.upload_token) {
		call_refuse(c, -2, NULL);
		return;
	}
	b = blob_new(c->sim->blobs);
	if (!b) {
		call_refuse(c, -1, "out of memory");
	} else if (!read_grant(c, b)) {
		blob_forget(c->sim->blobs, b);
		call_refuse(c, -2, "invalid arguments");
	} else {
		answer_grant(c, b);
	}
}

/* --- Upload and download ---------------------------------------------------------------------- */
static void cdn_refuse(struct call *c, int status, const char *why)
{
	c->status = status;
	c->type = "text/plain";
	str_addf(&c->extra, "x-error-message: %s\r\nx-error-code: -5102031\r\n", why);
	call_answer(c);
}

static struct blob *blob_of(struct call *c)
{
	struct str param = STR_INIT(4096);
	struct blob *b = NULL;

	if (hreq_param(c->req, "encrypted_query_param", &param) == 1)
		b = blob_by_param(c->sim->blobs, str_view(&param));
	str_release(&param);
	return b;
}

/* The header's name in another case each time. */
static void answer_param(struct call *c, struct blob *b)
{
	static const char *const spelling[] = { "x-encrypted-param", "X-Encrypted-Param",
		"X-ENCRYPTED-PARAM" };

	if (fault_is(c->fault, F_NO_PARAM))
		return;
	blob_take(c->sim->blobs, b, hreq_body_str(c->req));
	/* The grant is spent: from here on another parameter finds it. */
	rand_hex(b->param, 24);
	str_addf(&c->extra, "%s: %s\r\n", spelling[c->sim->tally[T_UPLOADS] % 3], b->param);
	sim_count(c->sim, T_UPLOADS);
}

static void cdn_upload(struct call *c)
{
	struct blob *b = blob_of(c);
	struct str filekey = STR_INIT(64);
	const char *wrong;
	bool same;

	(void)hreq_param(c->req, "filekey", &filekey);
	same = b && view_eqs(str_view(&filekey), b->filekey);
	str_release(&filekey);
	if (!same || b->stored) {
		cdn_refuse(c, 403,
			!b     ? "unknown parameter"
			: same ? "already used"
			       : "wrong filekey");
		return;
	}
	wrong = blob_check(b, hreq_body(c->req));
	if (wrong) {
		violation(c, "upload_fields", "%s", wrong);
		cdn_refuse(c, 400, wrong);
		return;
	}
	answer_param(c, b);
	c->type = "text/plain";
	call_answer(c);
}

/* As the padding of no PKCS#7: decrypts, and ends in a byte that no padding ends in. */
static void spoil_padding(const struct blob *b, struct str *out)
{
	struct str plain = STR_INIT(BLOB_MAX);

	if (blob_plain(b, blob_to_str, &plain) == 0) {
		do
			str_addc(&plain, '\0');
		while (plain.n % 16);
		(void)blob_encrypt(b, str_view(&plain), false, out);
	}
	str_release(&plain);
}

static void cdn_download(struct call *c)
{
	struct blob *b = blob_of(c);

	if (!b || !b->stored) {
		cdn_refuse(c, 404, "unknown parameter");
		return;
	}
	sim_count(c->sim, T_DOWNLOADS);
	c->type = "application/octet-stream";
	if (fault_is(c->fault, F_BAD_PADDING))
		spoil_padding(b, &c->out);
	else if (fault_is(c->fault, F_PLAIN))
		(void)blob_plain(b, blob_to_str, &c->out);
	else
		c->blob = blob_hold(b);
	call_answer(c);
}

static bool is_upload(const struct hreq *r)
{
	return !strcmp(hreq_path(r), "/c2c/upload");
}

void cdn_on_request(void *arg, struct hreq *r)
{
	bool upload = is_upload(r), known = upload || !strcmp(hreq_path(r), "/c2c/download");
	bool method = !strcmp(hreq_method(r), upload ? "POST" : "GET");
	struct call *c = call_new(arg, r,
		upload  ? "cdn_upload"
		: known ? "cdn_download"
			: "unknown");

	if (!c)
		return;
	sim_count(c->sim, T_REQUESTS);
	if (known)
		check_cdn(c, upload);
	if (known && !method)
		violation(c, "upload_method", "%.10s", hreq_method(c->req));
	if (!known || !method) {
		cdn_refuse(c, 404, "no such path");
		return;
	}
	c->fault = faults_take(c->sim->faults, c->endpoint, WHEN_REQUEST, view_of(hreq_query(r)));
	if (call_fault_first(c))
		return;
	if (upload)
		cdn_upload(c);
	else
		cdn_download(c);
}

void cdn_on_head(void *arg, struct hreq *r)
{
	struct sim *s = arg;
	struct fault *f;

	if (!is_upload(r))
		return;
	sim_count(s, T_UPLOADS_BEGUN);
	f = faults_take(s->faults, "cdn_upload", WHEN_HEAD, view_of(hreq_query(r)));
	if (fault_is(f, F_SLOW_BODY)) {
		hreq_slow_body(r, f->bytes > 0 ? (size_t)f->bytes : 1024, f->ms);
	} else if (fault_is(f, F_CUT_BODY)) {
		journal_answer(s->journal, journal_request(s->journal, "cdn_upload", r), 0,
			fault_name(f->kind), VIEW_NONE);
		sim_count(s, T_REQUESTS);
		hreq_cut_body(r, f->bytes > 0 ? (size_t)f->bytes : 0);
	}
	fault_drop(&f);
}
