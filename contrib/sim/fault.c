#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS_MAX 256
#define BYTES_MAX  ((size_t)8 << 20)

struct faults {
	struct fault *first;
	size_t n;
	uint64_t last_id;
};

/* early: it answers in place of the endpoint, unless the fault says "process". */
static const struct kind {
	const char *name;
	bool early;
	enum fault_when when;
} kinds[F_KINDS] = {
	[F_DELAY] = { "delay", false, WHEN_REQUEST },
	[F_STALL] = { "stall", true, WHEN_REQUEST },
	[F_DROP] = { "drop", true, WHEN_REQUEST },
	[F_RESET] = { "reset", true, WHEN_REQUEST },
	[F_CUT] = { "cut", false, WHEN_REQUEST },
	[F_SLOW] = { "slow", false, WHEN_REQUEST },
	[F_STATUS] = { "status", true, WHEN_REQUEST },
	[F_EMPTY] = { "empty", false, WHEN_REQUEST },
	[F_BODY] = { "body", true, WHEN_REQUEST },
	[F_RET] = { "ret", true, WHEN_REQUEST },
	[F_REDIRECT] = { "redirect", true, WHEN_REQUEST },
	[F_PAD] = { "pad", false, WHEN_REQUEST },
	[F_INSERT] = { "insert", false, WHEN_REQUEST },
	[F_REPLACE] = { "replace", false, WHEN_REQUEST },
	[F_TIMEOUT] = { "timeout", false, WHEN_REQUEST },
	[F_CURSOR] = { "cursor", false, WHEN_REQUEST },
	[F_DUP] = { "dup", false, WHEN_MESSAGES },
	[F_REORDER] = { "reorder", false, WHEN_MESSAGES },
	[F_REDELIVER] = { "redeliver", false, WHEN_MESSAGES },
	[F_NUL_TEXT] = { "nul_text", false, WHEN_MESSAGES },
	[F_BAD_UTF8] = { "bad_utf8", false, WHEN_MESSAGES },
	[F_BIG_TEXT] = { "big_text", false, WHEN_MESSAGES },
	[F_BAD_MESSAGE] = { "bad_message", false, WHEN_MESSAGES },
	[F_SILENT] = { "silent", false, WHEN_REQUEST },
	[F_NO_ID] = { "no_id", false, WHEN_REQUEST },
	[F_NO_PARAM] = { "no_param", false, WHEN_REQUEST },
	[F_CDN_ERROR] = { "cdn_error", true, WHEN_REQUEST },
	[F_NO_FULL_URL] = { "no_full_url", false, WHEN_REQUEST },
	[F_NO_URL] = { "no_url", false, WHEN_REQUEST },
	[F_FOREIGN_URL] = { "foreign_url", false, WHEN_REQUEST },
	[F_BAD_PADDING] = { "bad_padding", false, WHEN_REQUEST },
	[F_PLAIN] = { "plain", false, WHEN_REQUEST },
	[F_SLOW_BODY] = { "slow_body", false, WHEN_HEAD },
	[F_CUT_BODY] = { "cut_body", false, WHEN_HEAD },
};

static const char *const endpoints[] = { "*", "get_bot_qrcode", "get_qrcode_status", "notifystart",
	"notifystop", "getupdates", "sendmessage", "getconfig", "sendtyping", "getuploadurl",
	"cdn_upload", "cdn_download", "model", "models", NULL };

int faults_open(struct faults **out, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, E_NOMEM, "out of memory");
}

void fault_drop(struct fault **fp)
{
	struct fault *f = *fp;

	*fp = NULL;
	if (!f || --f->refs > 0)
		return;
	free(f->match);
	free(f->type);
	free(f->headers);
	free(f->form);
	free(f->name);
	free(f->errmsg);
	str_release(&f->body);
	str_release(&f->from);
	free(f);
}

void faults_close(struct faults **fp)
{
	if (*fp)
		faults_clear(*fp, 0);
	free(*fp);
	*fp = NULL;
}

const char *fault_name(enum fault_kind k)
{
	return kinds[k].name;
}

bool fault_is(const struct fault *f, enum fault_kind k)
{
	return f && f->kind == k;
}

/* A kind by its name; an HTTP status ("502") means the kind "status" with it, "expired" is -14. */
static int read_kind(struct fault *f, struct view name, struct err *e)
{
	unsigned long long status;

	for (int k = 0; k < F_KINDS; k++)
		if (view_eqs(name, kinds[k].name)) {
			f->kind = (enum fault_kind)k;
			return 0;
		}
	if (parse_u64(name, &status) == 0 && status >= 100 && status <= 599) {
		f->kind = F_STATUS;
		f->status = (int)status;
		return 0;
	}
	if (view_eqs(name, "expired")) {
		f->kind = F_RET;
		f->has_errcode = true;
		f->errcode = -14;
		f->errmsg = strdup("session timeout");
		return 0;
	}
	return err_set(e, E_FORMAT, "kind: \"%.*s\" is none of them (README.md lists them)",
		VIEW_FMT(name));
}

static int read_endpoint(struct fault *f, struct view name, struct err *e)
{
	for (const char *const *p = endpoints; *p; p++)
		if (view_eqs(name, *p)) {
			snprintf(f->endpoint, sizeof(f->endpoint), "%s", *p);
			return 0;
		}
	return err_set(e, E_FORMAT, "endpoint: \"%.*s\" is none of them", VIEW_FMT(name));
}

static char *copy_str(const struct json *j, const char *name)
{
	struct view v = opt_str(j, name, NULL);

	return v.p ? dup_view(v) : NULL;
}

/* {"A":"b"} as header lines. */
static int read_headers(struct fault *f, const struct json *j, struct err *e)
{
	struct str s = STR_INIT((size_t)64 << 10);
	const struct json *obj = NULL;
	int rc = json_get_object(j, "headers", JSON_OPTIONAL, &obj, e);

	if (rc <= 0)
		return rc;
	json_each(m, obj) {
		struct view v;

		if (json_str(m, &v) < 0)
			return err_set(e, E_FORMAT, "headers: %s must be a string", json_name(m));
		str_addf(&s, "%s: %.*s\r\n", json_name(m), VIEW_FMT(v));
	}
	f->headers = str_take(&s);
	return f->headers ? 0 : err_set(e, E_NOMEM, "headers: too long");
}

/* body may be a string (sent as it is), NAME_b64, or any other JSON value (sent as JSON). */
static int read_body(struct fault *f, const struct json *j, struct err *e)
{
	const struct json *m = json_member(j, "body");

	if (!m)
		m = json_member(j, "value");
	/* "value" is JSON even when it is a string */
	if (m && (json_type(m) != JSON_STRING || !json_member(j, "body")))
		return json_print(m, &f->body, e);
	return opt_bytes(j, "body", &f->body, e) < 0 ? -1 : 0;
}

static int read_numbers(struct fault *f, const struct json *j, struct err *e)
{
	int64_t status = f->status ? f->status : 500;

	f->times = 1;
	f->bytes = -1;
	f->ms = f->kind == F_SLOW ? 10 : 1000;
	if (json_get_int(j, "times", JSON_OPTIONAL, -1, INT64_MAX, &f->times, e) < 0 ||
		json_get_int(j, "after", JSON_OPTIONAL, 0, INT64_MAX, &f->after, e) < 0 ||
		json_get_int(j, "delay_ms", JSON_OPTIONAL, 0, WAIT_MAX, &f->delay_ms, e) < 0 ||
		json_get_int(j, "ms", JSON_OPTIONAL, 0, WAIT_MAX, &f->ms, e) < 0 ||
		json_get_int(j, "bytes", JSON_OPTIONAL, -1, INT64_MAX, &f->bytes, e) < 0 ||
		json_get_int(j, "status", JSON_OPTIONAL, 100, 999, &status, e) < 0)
		return -1;
	f->status = (int)status;
	return 0;
}

/* What is put into an answer must leave it JSON: these kinds are about what it says. */
static int check_value(const struct fault *f, struct err *e)
{
	bool needed = f->kind == F_TIMEOUT || f->kind == F_CURSOR;

	if (!needed && (f->kind != F_BAD_MESSAGE || !f->body.n))
		return 0;
	return json_check(str_view(&f->body), &json_limits_wire, NULL) < 0
	               ? err_set(e, E_FORMAT, "%s: give any JSON", needed ? "value" : "body")
	               : 0;
}

static int read_fault(struct fault *f, const struct json *j, struct err *e)
{
	if (read_kind(f, opt_str(j, "kind", ""), e) < 0 ||
		read_endpoint(f, opt_str(j, "endpoint", "*"), e) < 0 || read_headers(f, j, e) < 0 ||
		read_body(f, j, e) < 0 || opt_bytes(j, "from", &f->from, e) < 0 ||
		read_numbers(f, j, e) < 0 || check_value(f, e) < 0)
		return -1;
	f->when = kinds[f->kind].when;
	if (view_eqs(opt_str(j, "when", ""), "messages"))
		f->when = WHEN_MESSAGES;
	f->process = opt_bool(j, "process", !kinds[f->kind].early);
	f->match = copy_str(j, "match");
	f->type = copy_str(j, "type");
	f->form = copy_str(j, "form");
	f->name = copy_str(j, "name");
	f->has_ret =
		json_get_int(j, "ret", JSON_OPTIONAL, INT64_MIN, INT64_MAX, &f->ret, NULL) == 1;
	if (json_get_int(j, "errcode", JSON_OPTIONAL, INT64_MIN, INT64_MAX, &f->errcode, NULL) == 1)
		f->has_errcode = true;
	if (json_member(j, "errmsg")) {
		free(f->errmsg);
		f->errmsg = copy_str(j, "errmsg");
	}
	if (f->kind == F_DELAY)
		f->delay_ms += f->ms;
	return 0;
}

static void forget_spent(struct faults *fs)
{
	for (struct fault **p = &fs->first; *p;) {
		struct fault *f = *p;

		if (f->times != 0) {
			p = &f->next;
			continue;
		}
		*p = f->next;
		fs->n--;
		fault_drop(&f);
	}
}

int faults_add(struct faults *fs, const struct json *j, uint64_t *id, struct err *e)
{
	struct fault *f, **end = &fs->first;

	if (fs->n == FAULTS_MAX)
		forget_spent(fs);
	if (fs->n == FAULTS_MAX)
		return err_set(e, E_FULL, "%d faults are set already", FAULTS_MAX);
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(e, E_NOMEM, "out of memory");
	f->refs = 1;
	f->body = f->from = (struct str)STR_INIT(BYTES_MAX);
	if (read_fault(f, j, e) < 0) {
		fault_drop(&f);
		return -1;
	}
	f->id = *id = ++fs->last_id;
	while (*end)
		end = &(*end)->next;
	*end = f;
	fs->n++;
	return 0;
}

void faults_clear(struct faults *fs, uint64_t id)
{
	for (struct fault **p = &fs->first; *p;) {
		struct fault *f = *p;

		if (id && f->id != id) {
			p = &f->next;
			continue;
		}
		*p = f->next;
		fs->n--;
		fault_drop(&f);
	}
}

void faults_print(const struct faults *fs, struct json_out *w)
{
	for (const struct fault *f = fs->first; f; f = f->next) {
		json_open(w, NULL);
		json_put_u64(w, "id", f->id);
		json_put_z(w, "endpoint", f->endpoint);
		json_put_z(w, "kind", kinds[f->kind].name);
		json_put_int(w, "times", f->times);
		json_put_int(w, "after", f->after);
		json_put_u64(w, "hits", f->hits);
		json_close(w);
	}
}

static bool fits(const struct fault *f, const char *endpoint, enum fault_when when,
	struct view request)
{
	return f->times != 0 && f->when == when &&
	       (f->endpoint[0] == '*' || !strcmp(f->endpoint, endpoint)) &&
	       (!f->match || find_bytes(request, view_of(f->match)).p);
}

struct fault *faults_take(struct faults *fs, const char *endpoint, enum fault_when when,
	struct view request)
{
	for (struct fault *f = fs->first; f; f = f->next) {
		if (!fits(f, endpoint, when, request))
			continue;
		if (f->after > 0) {
			f->after--;
			continue;
		}
		if (f->times > 0)
			f->times--;
		f->hits++;
		f->refs++;
		return f;
	}
	return NULL;
}
