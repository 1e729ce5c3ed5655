#include "agent/react/fault.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

void fault_release(struct fault *f)
{
	str_release(&f->message);
}

/* --- Finding ---------------------------------------------------------------------------------- */

static void set_message(struct fault *f, struct view v)
{
	if (f->message.n == 0)
		(void)str_add(&f->message, view_cut(v, FAULT_EVIDENCE_MAX));
}

static void set_code(struct fault *f, struct view v)
{
	if (f->code[0] == '\0')
		(void)copy_z(f->code, sizeof(f->code), v);
}

static void set_status(struct fault *f, int64_t n)
{
	if (f->status == 0 && n >= 400 && n <= 599)
		f->status = (int)n;
}

/* Text itself, or that of the first in a list of errors. */
static bool text_of(const struct json *j, struct view *out)
{
	if (j && json_type(j) == JSON_ARRAY)
		j = json_first(j);
	if (j && json_type(j) == JSON_OBJECT)
		j = json_member(j, json_member(j, "msg") ? "msg" : "message");
	return j && json_str(j, out) == 0 && out->n > 0;
}

/* A member that holds text, under any of its usual names. */
static bool take_text(const struct json *obj, const char *const *names, struct view *out)
{
	for (; *names; names++)
		if (text_of(json_member(obj, *names), out))
			return true;
	return false;
}

/* Codes come as names, as numbers, and as numbers in strings. */
static void take_code(struct fault *f, const struct json *obj, const char *name)
{
	const struct json *j = json_member(obj, name);
	unsigned long long n;
	struct view text;
	int64_t i;

	if (!j)
		return;
	if (json_int(j, &i) == 0) {
		set_status(f, i);
	} else if (json_str(j, &text) == 0 && text.n > 0) {
		if (parse_u64(text, &n) == 0 && n < 1000)
			set_status(f, (int64_t)n);
		else
			set_code(f, text);
	}
}

static void take_object(struct fault *f, const struct json *obj)
{
	static const char *const texts[] = { "message", "error_message", "msg", "detail",
		"status_msg", "error_msg", "error", "errors", NULL };
	static const char *const codes[] = { "code", "type", "error_type", "status", "status_code",
		"error_code", "http_code", NULL };
	struct view text;

	if (take_text(obj, texts, &text))
		set_message(f, text);
	for (int i = 0; codes[i]; i++)
		take_code(f, obj, codes[i]);
}

/* "error" itself: an object, a text, a list of these, a number, or just true. */
static bool take_error(struct fault *f, const struct json *event)
{
	const struct json *error = json_member(event, "error");
	struct view text;
	bool yes = false;
	int64_t n;

	if (error && json_type(error) == JSON_ARRAY)
		error = json_first(error);
	if (!error)
		return false;
	switch (json_type(error)) {
	case JSON_OBJECT:
		if (!json_first(error))
			return false;
		take_object(f, error);
		return true;
	case JSON_STRING:
		if (json_str(error, &text) < 0 || text.n == 0)
			return false;
		set_message(f, text);
		return true;
	case JSON_NUMBER:
		if (json_int(error, &n) < 0 || n == 0)
			return false;
		set_status(f, n);
		return true;
	case JSON_BOOL: return json_get_bool(event, "error", JSON_REQUIRED, &yes, NULL) > 0 && yes;
	default: return false;
	}
}

/* {"base_resp":{"status_code":N}} and {"header":{"code":N}}: not 0 means failed. */
static bool take_envelope(struct fault *f, const struct json *root, const char *name,
	const char *code)
{
	const struct json *box = json_member(root, name);
	const struct json *j = json_member(box, code);
	int64_t n;

	if (!j || json_int(j, &n) < 0 || n == 0)
		return false;
	take_object(f, box);
	return true;
}

static bool says_error(const struct json *root)
{
	static const char *const words[] = { "error_message", "error_type", "error_msg", "errors",
		NULL };
	static const char *const plain[] = { "message", "detail", NULL };
	const struct json *object = json_member(root, "object"), *code = json_member(root, "code");
	struct view text;
	bool success = true;
	int64_t n;

	if (take_text(root, words, &text))
		return true;
	if (json_get_bool(root, "success", JSON_OPTIONAL, &success, NULL) > 0 && !success)
		return true;
	if (object && json_str(object, &text) == 0 && view_eqs(text, "error"))
		return true;
	/* {"code":10013,"message":"..."}, success being 0 or 200; or nothing but words. */
	if (json_member(root, "choices"))
		return false;
	if (!code)
		return take_text(root, plain, &text);
	return json_member(root, "message") && (json_int(code, &n) < 0 || (n != 0 && n != 200));
}

bool fault_in_event(struct fault *f, const struct json *event, bool always)
{
	if (json_type(event) == JSON_ARRAY && json_first(event)) /* one provider wraps it so */
		event = json_first(event);
	if (json_type(event) != JSON_OBJECT) {
		f->found = f->found || always;
		return always;
	}
	if (take_error(f, event))
		take_object(f, event); /* some put the code beside it */
	else if (!take_envelope(f, event, "base_resp", "status_code") &&
		 !take_envelope(f, event, "header", "code")) {
		if (!always && !says_error(event))
			return false;
		take_object(f, event);
	}
	f->found = true;
	return true;
}

/* --- Bodies ----------------------------------------------------------------------------------- */

/* Some send even this as an event. */
static struct view unframed(struct view body)
{
	if (view_starts(body, VIEW("event:")))
		body = view_trim(view_from(body, view_find(body, '\n')));
	if (view_starts(body, VIEW("data:")))
		body = view_trim(view_from(view_cut(body, view_find(body, '\n')), 5));
	return body;
}

/* What the first member of this name says in JSON that breaks off, as far as it goes. */
static void take_broken(struct fault *f, struct view body, const char *name,
	void (*set)(struct fault *f, struct view v))
{
	struct str text = STR_INIT(FAULT_EVIDENCE_MAX + 2);
	const char *at = memmem(body.p, body.n, name, strlen(name));
	struct json *j = NULL;
	struct view v;
	size_t n = 1;

	if (!at)
		return;
	v = view_trim(view_from(body, (size_t)(at - body.p) + strlen(name)));
	if (!view_starts(v, VIEW(":")))
		return;
	v = view_trim(view_from(v, 1));
	while (n < v.n && v.p[n] != '"')
		n += v.p[n] == '\\' ? 2 : 1;
	for (size_t cut = 0; !j && cut < n && cut < 6; cut++) { /* it may end within an escape */
		str_reset(&text);
		(void)str_add(&text, view_cut(v, n - cut));
		(void)str_addc(&text, '"');
		(void)json_read(&j, str_view(&text), &json_limits_message, NULL);
	}
	if (j && json_str(j, &v) == 0 && v.n > 0)
		set(f, v);
	json_free(&j);
	str_release(&text);
}

void fault_in_body(struct fault *f, int status, struct view body)
{
	struct json_limits lim = json_limits_message;
	struct json *j = NULL;

	lim.bytes = FAULT_EVIDENCE_MAX;
	f->status = status;
	f->found = true;
	body = unframed(view_cut(view_trim(body), FAULT_EVIDENCE_MAX));
	if (json_read(&j, body, &lim, NULL) == 0) {
		(void)fault_in_event(f, j, true);
	} else if (body.n > 0 && (body.p[0] == '{' || body.p[0] == '[')) {
		take_broken(f, body, "\"message\"", set_message);
		take_broken(f, body, "\"msg\"", set_message);
		take_broken(f, body, "\"code\"", set_code);
		take_broken(f, body, "\"type\"", set_code);
	} else if (body.n > 0 && body.p[0] != '<') { /* a proxy's HTML page tells nobody anything */
		set_message(f, body);
	}
	json_free(&j);
}

void fault_plain(struct fault *f, struct view message)
{
	f->found = true;
	set_message(f, message);
}

/* --- Sorting ---------------------------------------------------------------------------------- */

static bool holds(struct view text, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; n <= text.n && i <= text.n - n; i++)
		if (strncasecmp(text.p + i, word, n) == 0)
			return true;
	return false;
}

static bool any_of(const struct fault *f, const char *const *words)
{
	for (; *words; words++)
		if (holds(view_of(f->code), *words) || holds(str_view(&f->message), *words))
			return true;
	return false;
}

static bool code_has(const struct fault *f, const char *const *words)
{
	for (; *words; words++)
		if (holds(view_of(f->code), *words))
			return true;
	return false;
}

static bool is_overflow(const struct fault *f)
{
	static const char *const words[] = { "context_length", "context length", "context window",
		"context size", "maximum context", "exceed_context_size", "too many tokens",
		"token limit", "exceeded model token", "prompt is too long", "input is too long",
		"range of input length", "max_seq_len", "exceeds the maximum number of tokens",
		"prompt \u8d85\u957f", NULL };

	return f->status == 413 ||
	       ((f->status == 0 || f->status == 400 || f->status == 422) && any_of(f, words));
}

static bool is_spent(const struct fault *f)
{
	static const char *const words[] = { "insufficient_quota", "exceeded_current_quota",
		"insufficient_balance", "insufficient balance", "balance is insufficient",
		"billing", "arrears", "\u6b20\u8d39", "\u4f59\u989d\u4e0d\u8db3", NULL };

	return f->status == 402 ||
	       ((f->status == 0 || f->status == 429 || f->status == 403) && any_of(f, words));
}

static enum engine_fail kind_by_code(const struct fault *f)
{
	static const char *const rate[] = { "rate_limit", "too_many_requests", NULL };
	static const char *const key[] = { "invalid_api_key", "authentication", "unauthorized",
		"permission", NULL };
	static const char *const model[] = { "model_not_found", "not_found", NULL };
	static const char *const request[] = { "invalid_request", "bad_request", "content_filter",
		NULL };

	if (code_has(f, rate))
		return ENGINE_FAIL_QUOTA;
	if (code_has(f, key))
		return ENGINE_FAIL_AUTH;
	if (code_has(f, model))
		return ENGINE_FAIL_NO_MODEL;
	if (code_has(f, request))
		return ENGINE_FAIL_REFUSED;
	return ENGINE_FAIL_PROVIDER;
}

enum engine_fail fault_kind(const struct fault *f)
{
	if (is_overflow(f))
		return ENGINE_FAIL_TOO_LONG;
	if (is_spent(f))
		return ENGINE_FAIL_QUOTA;
	switch (f->status) {
	case 0: return kind_by_code(f);
	case 401:
	case 403: return ENGINE_FAIL_AUTH;
	case 404: return ENGINE_FAIL_NO_MODEL;
	case 429: return ENGINE_FAIL_QUOTA;
	default: return f->status >= 500 ? ENGINE_FAIL_PROVIDER : ENGINE_FAIL_REFUSED;
	}
}

bool fault_transient(const struct fault *f)
{
	static const char *const words[] = { "rate_limit", "too_many_requests", "overload",
		"server_error", "internal_error", "service_unavailable", "unavailable", "timeout",
		NULL };

	if (is_spent(f) || is_overflow(f))
		return false;
	if (f->status != 0)
		return f->status == 408 || f->status == 429 || f->status >= 500;
	return code_has(f, words);
}

/* --- Words for people ------------------------------------------------------------------------- */

static int mask(struct view text, const char *secret, struct str *out)
{
	size_t n = secret ? strlen(secret) : 0;

	while (n > 0 && text.n >= n) {
		const char *hit = memmem(text.p, text.n, secret, n);

		if (!hit)
			break;
		(void)str_add(out, view_cut(text, (size_t)(hit - text.p)));
		(void)str_adds(out, "[redacted]");
		text = view_from(text, (size_t)(hit - text.p) + n);
	}
	return str_add(out, text);
}

static void one_line(struct str *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->p[i] == '\n' || s->p[i] == '\t')
			s->p[i] = ' ';
}

void safe_detail(struct view text, const char *secret, struct str *out)
{
	struct str a = STR_INIT(4 * FAULT_EVIDENCE_MAX), b = STR_INIT(4 * FAULT_EVIDENCE_MAX);

	/* Cleaned first, so that nothing invisible can split a secret; masked before it is cut, so
	 * that no half of one is left at the end. */
	if (text_safe(view_cut(text, FAULT_EVIDENCE_MAX), TEXT_KEEP_LF, &a) == 0 &&
		mask(str_view(&a), secret, &b) == 0) {
		str_reset(&a);
		if (text_redact(str_view(&b), &a) == 0) {
			struct view v;

			one_line(&a);
			v = view_trim(str_view(&a));
			(void)str_add(out, view_cut(v, utf8_cut(v, FAULT_DETAIL_MAX)));
		}
	}
	str_release(&a);
	str_release(&b);
}

void fault_detail(const struct fault *f, const char *secret, struct str *out)
{
	struct str text = STR_INIT(FAULT_EVIDENCE_MAX + 200);

	if (f->message.n > 0) {
		(void)str_add(&text, str_view(&f->message));
	} else if (f->code[0]) {
		(void)str_adds(&text, f->code);
	}
	if (f->status > 0 && text.n > 0)
		(void)str_addf(&text, " (%d)", f->status);
	else if (f->status > 0)
		(void)str_addf(&text, "HTTP status %d", f->status);
	safe_detail(str_view(&text), secret, out);
	str_release(&text);
}
