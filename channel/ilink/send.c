#include "channel/ilink/send.h"

#include <stdlib.h>
#include <string.h>

#include "base/testhook.h"
#include "base/text.h"
#include "channel/ilink/letter.h"
#include "channel/ilink/upload.h"

#define RECEIPT_MS 600000 /* an upload is good for so long */

struct sender {
	struct api *api;
	const struct cdn *cdn;
	const struct account *acc;
	void (*stale)(void *);
	void *stale_arg;
	struct http_call *call;
	char *token;          /* the context token of the call: masked in what comes back */
	struct letter letter; /* the send whose file is being uploaded, or has been */
	struct upload *upload;
	struct receipt receipt; /* of the last upload, for its client id alone */
	char receipt_for[CHAN_ID_MAX + 1];
	int64_t receipt_at;
	chan_sent_cb *cb;
	void *arg;
};

enum chan_outcome send_outcome_of(enum http_fail fail, bool request_sent, int status)
{
	if (fail != HTTP_OK_)
		return request_sent ? CHAN_UNKNOWN : CHAN_NOT_SENT;
	if (status == 429)
		return CHAN_THROTTLED;
	/* 4xx and 3xx come from a door that let nothing in; behind a 5xx it may have been taken. */
	return status >= 300 && status <= 499 ? CHAN_NOT_SENT : CHAN_UNKNOWN;
}

static void forget_token(struct sender *s)
{
	if (s->token)
		explicit_bzero(s->token, strlen(s->token));
	free(s->token);
	s->token = NULL;
}

static void forget_receipt(struct sender *s)
{
	explicit_bzero(&s->receipt, sizeof(s->receipt));
	s->receipt_for[0] = '\0';
}

/* After these the same part comes again. */
static bool may_come_again(enum chan_outcome what)
{
	return what == CHAN_NOT_SENT || what == CHAN_UNKNOWN || what == CHAN_THROTTLED;
}

static enum chan_outcome read_answer(struct sender *s, const struct http_result *r,
	struct wire_sent *sent, char *why, size_t size)
{
	struct err e = ERR_INIT;

	if (api_failed(r, why, size))
		return send_outcome_of(r->fail, r->request_sent, r->status);
	if (r->body.n == 0) { /* success in older versions of the API (1.5) */
		snprintf(why, size, "accepted without an answer");
		return CHAN_UNCONFIRMED;
	}
	if (wire_read_sent(r->body, sent, &e) < 0) {
		snprintf(why, size, "the server's answer cannot be read: %.200s", e.msg);
		return CHAN_UNKNOWN;
	}
	if (sent->code.code != 0)
		api_refusal(&sent->code, s->token, account_token(s->acc), why, size);
	return wire_outcome(sent);
}

static void send_ends(struct sender *s, enum chan_outcome what, const char *id, const char *why)
{
	forget_token(s);
	letter_release(&s->letter);
	if (!may_come_again(what))
		forget_receipt(s);
	s->cb(s->arg, what, id, why);
}

static void send_on_done(void *arg, const struct http_result *r)
{
	struct sender *s = arg;
	struct wire_sent sent = { .message_id = "" };
	enum chan_outcome what;
	char why[256] = "";

	test_halt("send.ack");
	s->call = NULL;
	what = read_answer(s, r, &sent, why, sizeof(why));
	if (what != CHAN_ACCEPTED)
		log_info(s->api->log, "send", "outcome %d: %s", (int)what,
			why[0] ? why : "accepted without a message id");
	if (what == CHAN_EXPIRED && s->stale)
		s->stale(s->stale_arg);
	send_ends(s, what, what == CHAN_ACCEPTED ? sent.message_id : "", why);
}

/* --- Starting --------------------------------------------------------------------------------- */
static int check_file(const struct chan_file *f, struct err *e)
{
	if (f->fd < 0 || f->size < 0 || f->size > INT64_MAX / 2)
		return err_set(e, E_FORMAT, "a file needs an open descriptor and a size");
	if (!f->md5 || strlen(f->md5) != 32)
		return err_set(e, E_FORMAT, "a file needs its MD5, in 32 hex digits");
	if (!f->name || !f->name[0] || strlen(f->name) > WIRE_NAME_MAX ||
		!utf8_valid(view_of(f->name)))
		return err_set(e, E_FORMAT, "a file needs a name in UTF-8, of 1 to %d bytes",
			WIRE_NAME_MAX);
	return 0;
}

static int check(const struct chan_send *what, struct err *e)
{
	if (!what->to || !what->to[0] || !what->client_id || !what->client_id[0])
		return err_set(e, E_FORMAT, "a message needs a receiver and a client id");
	if (what->file)
		return check_file(what->file, e);
	if (what->text.n == 0 || what->text.n > CHAN_TEXT_MAX)
		return err_set(e, E_FORMAT, "a message needs 1 to %zu bytes of text",
			CHAN_TEXT_MAX);
	return 0;
}

static int write_message(const struct sender *s, const struct chan_send *what, struct str *body,
	struct err *e)
{
	char key[MEDIA_KEY_TEXT_SIZE];
	const struct wire_media m = { .param = s->receipt.param,
		.aes_key = key,
		.size = s->receipt.size };
	int rc;

	if (!what->file)
		return wire_write_text(body, &s->api->me, what, e);
	media_key_text(&s->receipt.key, key);
	rc = wire_write_file(body, &s->api->me, what, &m, e);
	explicit_bzero(key, sizeof(key));
	return rc;
}

static int post(struct sender *s, const struct chan_send *what, struct err *e)
{
	struct str body = STR_INIT(WIRE_REQUEST_MAX * 2);
	struct api_call c = { .http = s->api->api_http,
		.endpoint = "ilink/bot/sendmessage",
		.timeout_ms = API_SEND_MS,
		.done = send_on_done,
		.arg = s };

	s->token = strdup(what->token ? what->token : "");
	if (!s->token)
		return err_set(e, E_NOMEM, "no memory to send a message");
	if (api_call_account(&s->call, s->api, s->acc, write_message(s, what, &body, e), &body, c,
		    e) < 0) {
		forget_token(s);
		return -1;
	}
	return 0;
}

static void sender_on_uploaded(void *arg, const struct receipt *r, const char *why)
{
	struct sender *s = arg;
	struct err e = ERR_INIT;

	forget_receipt(s);
	if (r) {
		s->receipt = *r;
		s->receipt_at = loop_now(s->api->loop);
		(void)copy_z(s->receipt_for, sizeof(s->receipt_for),
			view_of(s->letter.send.client_id));
	}
	upload_free(&s->upload);
	if (!s->receipt.param[0])
		send_ends(s, CHAN_NOT_UPLOADED, "", why);
	else if (post(s, &s->letter.send, &e) < 0)
		send_ends(s, CHAN_NOT_SENT, "", e.msg);
}

static bool is_uploaded(const struct sender *s, const char *client_id)
{
	return strcmp(s->receipt_for, client_id) == 0 &&
	       loop_now(s->api->loop) - s->receipt_at < RECEIPT_MS;
}

static int start_file(struct sender *s, const struct chan_send *what, struct err *e)
{
	int rc = letter_copy(&s->letter, what, e);

	if (rc == 0 && is_uploaded(s, what->client_id))
		rc = post(s, &s->letter.send, e);
	else if (rc == 0)
		rc = upload_start(&s->upload, s->api, s->cdn, s->acc, &s->letter.send,
			sender_on_uploaded, s, e);
	if (rc < 0)
		letter_release(&s->letter);
	return rc;
}

int sender_send(struct sender *s, const struct chan_send *what, chan_sent_cb *cb, void *arg,
	struct err *e)
{
	if (s->call || s->upload)
		return err_set(e, E_BUSY, "another message is being sent");
	if (check(what, e) < 0)
		return -1;
	s->cb = cb;
	s->arg = arg;
	return what->file ? start_file(s, what, e) : post(s, what, e);
}

void sender_abort(struct sender *s)
{
	http_cancel(&s->call);
	upload_free(&s->upload);
	forget_token(s);
	forget_receipt(s);
	letter_release(&s->letter);
}

int sender_new(struct sender **out, struct api *api, const struct cdn *cdn,
	const struct account *acc, void (*stale)(void *), void *arg, struct err *e)
{
	struct sender *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return err_set(e, E_NOMEM, "no memory for the sender");
	*s = (struct sender){ .api = api,
		.cdn = cdn,
		.acc = acc,
		.stale = stale,
		.stale_arg = arg };
	*out = s;
	return 0;
}

void sender_free(struct sender **sp)
{
	struct sender *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	sender_abort(s);
	free(s);
}
