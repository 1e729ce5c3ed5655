/* Answers: ret and errcode, and what the small calls give back. */
#include "channel/ilink/wire.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "channel/ilink/wire-private.h"

int wire_parse(struct json **out, struct view body, struct err *e)
{
	/* Repairing limits for every answer: one bad byte in an errmsg must not hide a refusal. */
	if (json_read(out, body, &json_limits_message, e) < 0)
		return -1;
	if (json_type(*out) == JSON_OBJECT)
		return 0;
	json_free(out);
	return err_set(e, E_FORMAT, "the answer is not a JSON object");
}

int wire_get_number(const struct json *obj, const char *name, int64_t *out, struct err *e)
{
	const struct json *m = json_member(obj, name);
	struct view text;
	long long n;

	if (!m || json_type(m) == JSON_NULL)
		return 0;
	if (json_type(m) == JSON_NUMBER && json_int(m, out) == 0)
		return 1;
	if (json_type(m) == JSON_STRING && json_str(m, &text) == 0) {
		if (text.n == 0)
			return 0;
		if (parse_i64(text, &n) == 0) {
			*out = n;
			return 1;
		}
	}
	return err_set(e, E_FORMAT, "%s is not a whole number", name);
}

bool wire_is_opaque(struct view v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] < 0x21 || v.p[i] > 0x7e)
			return false;
	return v.n > 0;
}

int wire_get_opaque(const struct json *obj, const char *name, enum json_need need, size_t max,
	struct view *out, struct err *e)
{
	struct view v = VIEW_NONE;
	size_t min = need == JSON_REQUIRED ? 1 : 0;
	int rc = json_get_str(obj, name, need, min, max, &v, e);

	if (rc <= 0)
		return rc;
	/* Repaired bytes would make two different ids equal, and a token useless. */
	if (v.n && !wire_is_opaque(v))
		return err_set(e, E_FORMAT, "%s holds characters that cannot stand in it", name);
	*out = v;
	return 1;
}

void wire_safe_line(struct view in, char *out, size_t size)
{
	struct str safe = STR_INIT(8192), clean = STR_INIT(8192);
	struct view v = VIEW_NONE;

	out[0] = '\0';
	/* Cut before the work and again after it: redaction may lengthen. */
	if (text_safe(view_cut(in, 2048), 0, &safe) == 0 &&
		text_redact(str_view(&safe), &clean) == 0)
		v = str_view(&clean);
	(void)copy_z(out, size, view_cut(v, utf8_cut(v, size - 1)));
	str_wipe(&safe);
	str_wipe(&clean);
}

int wire_get_code(const struct json *root, struct wire_code *out, struct err *e)
{
	int64_t ret = 0, errcode = 0;
	const struct json *msg = json_member(root, "errmsg");
	struct view text;

	*out = (struct wire_code){ .code = 0 };
	if (wire_get_number(root, "ret", &ret, e) < 0 ||
		wire_get_number(root, "errcode", &errcode, e) < 0)
		return -1;
	if (ret == WIRE_EXPIRED || errcode == WIRE_EXPIRED)
		out->code = WIRE_EXPIRED;
	else
		out->code = ret ? ret : errcode;
	if (msg && json_type(msg) == JSON_STRING && json_str(msg, &text) == 0)
		wire_safe_line(text, out->text, sizeof(out->text));
	return 0;
}

/* 1: a good answer, to be read on. 0: it says no. -1: it is none. *root is the caller's to free. */
static int open_answer(struct json **root, struct view body, struct wire_code *code, struct err *e)
{
	*root = NULL;
	if (wire_parse(root, body, e) < 0 || wire_get_code(*root, code, e) < 0)
		return -1;
	return code->code == 0;
}

int wire_read_code(struct view body, struct wire_code *out, struct err *e)
{
	struct json *root;
	int rc = open_answer(&root, body, out, e);

	json_free(&root);
	return rc < 0 ? -1 : 0;
}

/* A string member into a fixed buffer: absent gives "". */
static int get_text(const struct json *root, const char *name, enum json_need need, char *out,
	size_t size, struct err *e)
{
	struct view v = VIEW_NONE;

	out[0] = '\0';
	if (wire_get_opaque(root, name, need, size - 1, &v, e) < 0)
		return -1;
	return copy_z(out, size, v);
}

int wire_read_config(struct view body, struct wire_config *out, struct err *e)
{
	struct json *root;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = open_answer(&root, body, &out->code, e);
	if (rc == 1)
		rc = get_text(root, "typing_ticket", JSON_OPTIONAL, out->ticket,
			sizeof(out->ticket), e);
	json_free(&root);
	return rc < 0 ? -1 : 0;
}

int wire_read_sent(struct view body, struct wire_sent *out, struct err *e)
{
	struct json *root;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = open_answer(&root, body, &out->code, e);
	/* The message was taken whatever its id looks like: a bad one is as none. */
	if (rc == 1 &&
		(json_get_id(root, "message_id", JSON_OPTIONAL, out->message_id, NULL) != 1 ||
			strcmp(out->message_id, "0") == 0))
		out->message_id[0] = '\0';
	json_free(&root);
	return rc < 0 ? -1 : 0;
}

int wire_read_qr(struct view body, struct wire_qr *out, struct err *e)
{
	struct json *root;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = open_answer(&root, body, &out->code, e);
	if (rc == 1 &&
		(get_text(root, "qrcode", JSON_REQUIRED, out->key, sizeof(out->key), e) < 0 ||
			get_text(root, "qrcode_img_content", JSON_REQUIRED, out->text,
				sizeof(out->text), e) < 0))
		rc = -1;
	json_free(&root);
	return rc < 0 ? -1 : 0;
}

int wire_read_grant(struct view body, struct wire_grant *out, struct err *e)
{
	struct json *root;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = open_answer(&root, body, &out->code, e);
	if (rc == 1 && (get_text(root, "upload_full_url", JSON_OPTIONAL, out->full_url,
				sizeof(out->full_url), e) < 0 ||
			       get_text(root, "upload_param", JSON_OPTIONAL, out->param,
				       sizeof(out->param), e) < 0))
		rc = -1;
	json_free(&root);
	return rc < 0 ? -1 : 0;
}

static enum wire_scan scan_of(const struct json *root)
{
	static const struct {
		const char *name;
		enum wire_scan status;
	} names[] = {
		{ "wait", WIRE_SCAN_WAIT },
		{ "scaned", WIRE_SCAN_SCANNED }, /* sic */
		{ "need_verifycode", WIRE_SCAN_NEED_NUMBER },
		{ "verify_code_blocked", WIRE_SCAN_BLOCKED },
		{ "expired", WIRE_SCAN_EXPIRED },
		{ "scaned_but_redirect", WIRE_SCAN_REDIRECT },
		{ "binded_redirect", WIRE_SCAN_BOUND },
		{ "confirmed", WIRE_SCAN_CONFIRMED },
	};
	struct view v = VIEW_NONE;

	if (json_get_str(root, "status", JSON_REQUIRED, 0, 64, &v, NULL) < 0)
		return WIRE_SCAN_UNKNOWN;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (view_eqs(v, names[i].name))
			return names[i].status;
	return WIRE_SCAN_UNKNOWN;
}

static int get_credentials(const struct json *root, struct wire_scanned *out, struct err *e)
{
	if (get_text(root, "ilink_bot_id", JSON_REQUIRED, out->bot_id, sizeof(out->bot_id), e) <
			0 ||
		get_text(root, "bot_token", JSON_REQUIRED, out->token, sizeof(out->token), e) < 0 ||
		get_text(root, "ilink_user_id", JSON_OPTIONAL, out->user_id, sizeof(out->user_id),
			e) < 0 ||
		get_text(root, "baseurl", JSON_OPTIONAL, out->base_url, sizeof(out->base_url), e) <
			0)
		return err_wrap(e, "the login was confirmed, but its answer is not complete");
	return 0;
}

int wire_read_scanned(struct view body, struct wire_scanned *out, struct err *e)
{
	struct json *root;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = open_answer(&root, body, &out->code, e);
	if (rc == 1)
		out->status = scan_of(root);
	if (rc == 1 && out->status == WIRE_SCAN_CONFIRMED)
		rc = get_credentials(root, out, e);
	else if (rc == 1 && out->status == WIRE_SCAN_REDIRECT)
		rc = get_text(root, "redirect_host", JSON_OPTIONAL, out->redirect_host,
			sizeof(out->redirect_host), e);
	json_free(&root);
	return rc < 0 ? -1 : 0;
}

/* Case-insensitive containment: the texts come with all kinds of dressing. */
static bool says(const struct wire_code *c, const char *words)
{
	return strcasestr(c->text, words) != NULL;
}

enum chan_outcome wire_outcome(const struct wire_sent *sent)
{
	const struct wire_code *c = &sent->code;

	switch (c->code) {
	case 0: return sent->message_id[0] ? CHAN_ACCEPTED : CHAN_UNCONFIRMED;
	case WIRE_EXPIRED: return CHAN_EXPIRED;
	case -12: return CHAN_THROTTLED;
	case -1: return CHAN_NOT_SENT; /* the server failed and says so */
	default: break;
	}
	if (says(c, "prepare failed"))
		return CHAN_CLOSED;
	if (says(c, "rate limit") || says(c, "freq limit") || says(c, "frequency limit"))
		return CHAN_THROTTLED;
	if (says(c, "invalid argument") || says(c, "param error") || says(c, "invalid param"))
		return CHAN_INVALID;
	return CHAN_REFUSED_BARE;
}
