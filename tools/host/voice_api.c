#include "tools/host/voice_api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define RETRY_MS      500
#define ANSWER_MAX    ((size_t)1 << 20)
#define ERROR_MAX     ((size_t)4096)
#define COMPLAINT_MAX 160
#define URL_MAX       1024

struct voice_api {
	struct voice_api_plan plan;
	struct http_call *call;
	struct timer *retry;
	bool again; /* this is the second attempt */
	int fd;
	int64_t size, until;
	struct str head, tail, url, auth;
	char boundary[2 * 16 + 1];
	size_t sent; /* of all three */
};

static void api_free(struct voice_api *a)
{
	http_cancel(&a->call);
	timer_free(&a->retry);
	if (a->fd >= 0)
		(void)close(a->fd);
	str_release(&a->head);
	str_release(&a->tail);
	str_release(&a->url);
	str_wipe(&a->auth);
	free(a);
}

void voice_api_cancel(struct voice_api **ap)
{
	struct voice_api *a = *ap;

	*ap = NULL;
	if (a)
		api_free(a);
}

static void finish(struct voice_api *a, bool ok, bool late, struct view text, const char *why)
{
	a->plan.on_done(a->plan.arg, ok, late, text, why);
	api_free(a);
}

/* --- The request ------------------------------------------------------------------------------ */

/* Head, file, tail, as one. */
static ssize_t api_on_read(void *arg, char *buf, size_t max)
{
	struct voice_api *a = arg;
	size_t file = (size_t)a->size, at = a->sent;
	struct view part;
	ssize_t n;

	if (at < a->head.n || at >= a->head.n + file) {
		part = at < a->head.n ? view_from(str_view(&a->head), at)
		                      : view_from(str_view(&a->tail), at - a->head.n - file);
		part = view_cut(part, max);
		if (part.n > 0)
			memcpy(buf, part.p, part.n);
		n = (ssize_t)part.n;
	} else {
		at -= a->head.n;
		n = pread(a->fd, buf, max < file - at ? max : file - at, (off_t)at);
	}
	if (n > 0)
		a->sent += (size_t)n;
	return n;
}

static int write_parts(struct voice_api *a, struct err *e)
{
	size_t n = strlen(a->plan.base_url);

	rand_hex(a->boundary, 16);
	(void)str_addf(&a->head,
		"--%s\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n%s\r\n"
		"--%s\r\nContent-Disposition: form-data; name=\"response_format\"\r\n\r\njson\r\n"
		"--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"voice.%s\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\n",
		a->boundary, a->plan.model, a->boundary, a->boundary, a->plan.suffix);
	(void)str_addf(&a->tail, "\r\n--%s--\r\n", a->boundary);
	(void)str_addf(&a->url, "%s%saudio/transcriptions", a->plan.base_url,
		n > 0 && a->plan.base_url[n - 1] == '/' ? "" : "/");
	(void)str_addf(&a->auth, "Bearer %s", a->plan.key);
	return str_ok(&a->head) && str_ok(&a->tail) && str_ok(&a->url) && str_ok(&a->auth)
	               ? 0
	               : err_set(e, E_NOMEM, "a request for a transcript");
}

static void api_on_done(void *arg, const struct http_result *r);

static int api_go(struct voice_api *a, struct err *e)
{
	char type[80];
	const struct http_header headers[] = { { "Content-Type", type },
		{ "Accept", "application/json" }, { "Authorization", str_cstr(&a->auth) } };
	int64_t left = a->until - loop_now(a->plan.loop);
	const struct http_req req = {
		.method = "POST",
		.url = str_cstr(&a->url),
		.headers = headers,
		.nheaders = a->plan.key[0] ? 3 : 2,
		.body_read = api_on_read,
		.body_size = (int64_t)(a->head.n + a->tail.n) + a->size,
		.timeout_ms = left > 0 ? left : 1,
		.body_max = ANSWER_MAX,
		.error_body_max = ERROR_MAX,
		.on_done = api_on_done,
		.arg = a,
	};

	(void)snprintf(type, sizeof(type), "multipart/form-data; boundary=%s", a->boundary);
	a->sent = 0;
	return http_start(&a->call, a->plan.http, &req, e);
}

static void api_on_retry(void *arg)
{
	struct voice_api *a = arg;
	struct err e = ERR_INIT;

	if (api_go(a, &e) < 0)
		finish(a, false, false, VIEW_NONE, e.msg);
}

/* --- The answer ------------------------------------------------------------------------------- */

/* What the server says of it, where it says so as all do; its words are a stranger's. */
static void put_complaint(const struct voice_api *a, struct view body, struct str *out)
{
	struct str plain = STR_INIT(4 * ERROR_MAX), safe = STR_INIT(8 * ERROR_MAX);
	struct json *j = NULL;
	const struct json *error;
	struct view said = VIEW_NONE;

	if (json_read(&j, body, &json_limits_wire, NULL) == 0) {
		error = json_member(j, "error");
		(void)json_get_str(error && json_type(error) == JSON_OBJECT ? error : j, "message",
			JSON_OPTIONAL, 1, ERROR_MAX, &said, NULL);
	}
	said = view_cut(said, utf8_cut(said, COMPLAINT_MAX));
	if (said.n > 0 && text_visible(said, &plain) == 0 &&
		text_redact(str_view(&plain), &safe) == 0 &&
		!(a->plan.key[0] && strstr(str_cstr(&safe), a->plan.key)))
		(void)str_addf(out, ": %s", str_cstr(&safe));
	json_free(&j);
	str_release(&plain);
	str_release(&safe);
}

static const char *advice(int status)
{
	switch (status) {
	case 401:
	case 403: return " (is voice.api_key good?)";
	case 404: return " (are voice.base_url and voice.name right?)";
	case 413: return " (the voice is too long for it)";
	default: return "";
	}
}

static void refused(struct voice_api *a, const struct http_result *r)
{
	struct str why = STR_INIT(4096);

	(void)str_addf(&why, "the server for transcripts answered with status %d%s", r->status,
		advice(r->status));
	put_complaint(a, r->body, &why);
	finish(a, false, false, VIEW_NONE, str_cstr(&why));
	str_release(&why);
}

static void answered(struct voice_api *a, struct view body)
{
	struct json_limits lim = json_limits_wire;
	struct json *j = NULL;
	struct view text = VIEW_NONE;
	struct err e = ERR_INIT;

	lim.bytes = ANSWER_MAX;
	if (json_read(&j, body, &lim, &e) < 0 ||
		json_get_str(j, "text", JSON_REQUIRED, 0, VOICE_API_TEXT_MAX, &text, &e) < 0) {
		(void)err_wrap(&e, "what the server for transcripts answered");
		finish(a, false, false, VIEW_NONE, e.msg);
	} else {
		finish(a, true, false, text, "");
	}
	json_free(&j);
}

/* Where the server cannot have done the work, or its answer was lost on the way. */
static bool may_pass(const struct http_result *r)
{
	switch (r->fail) {
	case HTTP_FAIL_DNS:
	case HTTP_FAIL_CONNECT:
	case HTTP_FAIL_BROKEN: return true;
	case HTTP_FAIL_TIMEOUT: return !r->request_sent;
	default: return false;
	}
}

static void api_on_done(void *arg, const struct http_result *r)
{
	struct voice_api *a = arg;

	a->call = NULL;
	if (!a->again && may_pass(r) && loop_now(a->plan.loop) + RETRY_MS < a->until) {
		log_info(a->plan.log, "voice", "%s; once more", r->err->msg);
		a->again = true;
		timer_arm(a->retry, RETRY_MS);
	} else if (r->fail != HTTP_OK_) {
		finish(a, false, r->fail == HTTP_FAIL_TIMEOUT, VIEW_NONE, r->err->msg);
	} else if (r->status / 100 != 2) {
		refused(a, r);
	} else {
		answered(a, r->body);
	}
}

/* --- The start -------------------------------------------------------------------------------- */

static int open_sound(struct voice_api *a, struct err *e)
{
	a->fd = file_open_read(a->plan.path, &a->size, e);
	if (a->fd < 0)
		return -1;
	if (a->size > VOICE_API_FILE_MAX)
		return err_set(e, E_FORMAT, "the sound has %lld bytes, more than %lld",
			(long long)a->size, (long long)VOICE_API_FILE_MAX);
	return 0;
}

int voice_api_start(struct voice_api **out, const struct voice_api_plan *plan, struct err *e)
{
	const struct str text = STR_INIT((size_t)4 * URL_MAX), secret = STR_SECRET(8192);
	struct voice_api *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (!a)
		return err_set(e, E_NOMEM, "a request for a transcript");
	a->plan = *plan;
	a->fd = -1;
	a->head = a->tail = a->url = text;
	a->auth = secret;
	a->until = loop_now(plan->loop) + plan->time_ms;
	if (open_sound(a, e) < 0 || write_parts(a, e) < 0 ||
		timer_new(&a->retry, plan->loop, api_on_retry, a, e) < 0 || api_go(a, e) < 0) {
		api_free(a);
		return -1;
	}
	*out = a;
	return 0;
}
