#include "channel/ilink/upload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/testhook.h"
#include "channel/ilink/crypt.h"
#include "channel/ilink/wire.h"

enum { ATTEMPTS = 3, AGAIN_MS = 2000, FILEKEY_BYTES = 16 };

struct upload {
	struct api *api;
	const struct cdn *cdn;
	const struct account *acc;
	const struct chan_send *s;
	int attempt; /* from 1 */
	char filekey[2 * FILEKEY_BYTES + 1];
	struct receipt receipt;
	struct wire_grant grant;
	struct timer *timer; /* to the next attempt */
	struct http_call *call;
	/* the body on its way */
	struct crypt *crypt;
	int64_t read; /* of the file */
	bool ended;   /* the padding is out */
	struct view ready;
	unsigned char plain[CRYPT_PIECE];
	uploaded_cb *cb;
	void *arg;
};

/* --- Ends ------------------------------------------------------------------------------------- */
static void attempt_wipe(struct upload *u)
{
	crypt_close(&u->crypt);
	explicit_bzero(&u->grant, sizeof(u->grant));
	explicit_bzero(u->plain, sizeof(u->plain));
}

/* The receiver frees the upload. */
static void upload_fails(struct upload *u, const char *why)
{
	attempt_wipe(u);
	u->cb(u->arg, NULL, why);
}

/* Once more from the beginning, if an attempt is left: the old address may be used up. */
static void upload_again(struct upload *u, const char *why)
{
	if (u->attempt == ATTEMPTS) {
		upload_fails(u, why);
		return;
	}
	attempt_wipe(u);
	timer_arm(u->timer, test_pause((int64_t)AGAIN_MS * u->attempt));
}

static void note(const struct upload *u, const char *why)
{
	log_info(u->api->log, "upload", "attempt %d of %d: %s", u->attempt, ATTEMPTS, why);
}

/* --- The body --------------------------------------------------------------------------------- */
/* Up to n bytes of the file; -1 when they are not there. */
static int read_file(struct upload *u, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = pread(u->s->file->fd, u->plain + have, n - have,
			(off_t)(u->read + (int64_t)have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		have += (size_t)got;
	}
	u->read += (int64_t)n;
	return 0;
}

/* The next bytes as they go out, into u->ready. */
static int make_ready(struct upload *u)
{
	int64_t left = u->s->file->size - u->read;
	size_t n = left < (int64_t)CRYPT_PIECE ? (size_t)left : CRYPT_PIECE;

	if (left == 0) {
		u->ended = true;
		return crypt_end(u->crypt, &u->ready, NULL);
	}
	if (read_file(u, n) < 0)
		return -1;
	return crypt_feed(u->crypt, (struct view){ (const char *)u->plain, n }, &u->ready, NULL);
}

static ssize_t upload_on_read(void *arg, char *buf, size_t max)
{
	struct upload *u = arg;
	struct view v;

	while (u->ready.n == 0)
		if (u->ended || make_ready(u) < 0)
			return -1;
	v = view_cut(u->ready, max);
	memcpy(buf, v.p, v.n);
	u->ready = view_from(u->ready, v.n);
	return (ssize_t)v.n;
}

/* --- The media server ------------------------------------------------------------------------- */
/* Its name in any case; a value that cannot stand in a message is none. */
static bool take_receipt(struct upload *u, const struct http_result *r)
{
	const char *param = http_header(r->call, "x-encrypted-param");

	return param && wire_is_opaque(view_of(param)) &&
	       copy_z(u->receipt.param, sizeof(u->receipt.param), view_of(param)) == 0;
}

static void upload_on_posted(void *arg, const struct http_result *r)
{
	struct upload *u = arg;
	char why[100];

	u->call = NULL;
	if (r->fail == HTTP_FAIL_STOPPED) {
		note(u, "the file cannot be read to its end");
		upload_fails(u, CHAN_UPLOAD_UNREADABLE);
	} else if (r->fail != HTTP_OK_) {
		note(u, r->err->msg);
		upload_again(u, CHAN_UPLOAD_UNREACHABLE);
	} else if (r->status / 100 != 2) {
		cdn_refusal(r, why, sizeof(why));
		note(u, why);
		if (r->status / 100 == 4)
			upload_fails(u, CHAN_UPLOAD_REFUSED);
		else
			upload_again(u, CHAN_UPLOAD_UNREACHABLE);
	} else if (!take_receipt(u, r)) {
		note(u, "the media server gave no receipt (x-encrypted-param)");
		upload_again(u, CHAN_UPLOAD_UNCONFIRMED);
	} else {
		attempt_wipe(u);
		u->cb(u->arg, &u->receipt, "");
	}
}

/* The given address first: the built one fails from some 50 KB on (M4). */
static int find_address(const struct upload *u, struct str *url, struct err *e)
{
	if (cdn_accepts(u->cdn, u->grant.full_url))
		return str_adds(url, u->grant.full_url);
	if (!u->grant.param[0])
		return err_set(e, E_FORMAT, "the server gave no usable address to upload to");
	return cdn_built_url(u->cdn, u->grant.param, u->filekey, url, e);
}

static int post(struct upload *u, struct err *e)
{
	static const struct http_header type = { "Content-Type", "application/octet-stream" };
	struct str url = STR_SECRET(CDN_URL_MAX);
	struct http_req req = { .method = "POST",
		.headers = &type,
		.nheaders = 1,
		.body_read = upload_on_read,
		.body_size = u->receipt.size,
		.on_done = upload_on_posted,
		.arg = u };
	int rc = find_address(u, &url, e);

	u->read = 0;
	u->ended = false;
	u->ready = VIEW_NONE;
	if (rc == 0)
		rc = crypt_open(&u->crypt, &u->receipt.key, true, e);
	req.url = str_cstr(&url);
	if (rc == 0)
		rc = cdn_start(&u->call, u->cdn, &req, u->receipt.size, e);
	str_wipe(&url);
	return rc;
}

/* --- The address ------------------------------------------------------------------------------ */
/* -1 says that the server itself failed; every other number is its answer to this file. */
static void refused(struct upload *u)
{
	char why[256];

	api_refusal(&u->grant.code, u->s->token, account_token(u->acc), why, sizeof(why));
	note(u, why);
	if (u->grant.code.code == -1)
		upload_again(u, CHAN_UPLOAD_REFUSED);
	else
		upload_fails(u, CHAN_UPLOAD_REFUSED);
}

static void upload_on_grant(void *arg, const struct http_result *r)
{
	struct upload *u = arg;
	struct err e = ERR_INIT;
	char why[256];

	u->call = NULL;
	if (api_failed(r, why, sizeof(why))) {
		note(u, why);
		upload_again(u, CHAN_UPLOAD_UNREACHABLE);
	} else if (wire_read_grant(r->body, &u->grant, &e) < 0) {
		note(u, e.msg);
		upload_again(u, CHAN_UPLOAD_REFUSED);
	} else if (u->grant.code.code != 0) {
		refused(u);
	} else if (post(u, &e) < 0) {
		note(u, e.msg);
		upload_again(u, CHAN_UPLOAD_REFUSED);
	}
}

static int ask(struct upload *u, struct err *e)
{
	struct str body = STR_SECRET(WIRE_REQUEST_MAX);
	char key[MEDIA_KEY_HEX_SIZE];
	const struct wire_upload w = { .kind = u->s->file->kind,
		.to = u->s->to,
		.token = u->s->token ? u->s->token : "",
		.filekey = u->filekey,
		.aeskey = key,
		.md5 = u->s->file->md5,
		.plain_size = u->s->file->size,
		.size = u->receipt.size };
	const struct api_call c = { .http = u->api->api_http,
		.endpoint = "ilink/bot/getuploadurl",
		.timeout_ms = API_SEND_MS,
		.done = upload_on_grant,
		.arg = u };
	int rc;

	media_key_hex(&u->receipt.key, key);
	rc = wire_write_upload(&body, &u->api->me, &w, e);
	explicit_bzero(key, sizeof(key));
	return api_call_account(&u->call, u->api, u->acc, rc, &body, c, e);
}

static int attempt_start(struct upload *u, struct err *e)
{
	u->attempt++;
	rand_hex(u->filekey, FILEKEY_BYTES);
	media_key_random(&u->receipt.key);
	return ask(u, e);
}

static void upload_on_timer(void *arg)
{
	struct upload *u = arg;
	struct err e = ERR_INIT;

	if (attempt_start(u, &e) < 0) {
		note(u, e.msg);
		upload_again(u, CHAN_UPLOAD_UNREACHABLE);
	}
}

int upload_start(struct upload **out, struct api *api, const struct cdn *cdn,
	const struct account *acc, const struct chan_send *s, uploaded_cb *cb, void *arg,
	struct err *e)
{
	struct upload *u = calloc(1, sizeof(*u));

	*out = NULL;
	if (!u)
		return err_set(e, E_NOMEM, "no memory to send a file");
	*u = (struct upload){ .api = api, .cdn = cdn, .acc = acc, .s = s, .cb = cb, .arg = arg };
	u->receipt.size = crypt_size(s->file->size);
	if (timer_new(&u->timer, api->loop, upload_on_timer, u, e) < 0 || attempt_start(u, e) < 0) {
		upload_free(&u);
		return -1;
	}
	*out = u;
	return 0;
}

void upload_free(struct upload **up)
{
	struct upload *u = *up;

	*up = NULL;
	if (!u)
		return;
	http_cancel(&u->call);
	timer_free(&u->timer);
	attempt_wipe(u);
	explicit_bzero(&u->receipt, sizeof(u->receipt));
	free(u);
}
