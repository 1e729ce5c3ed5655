#include "channel/ilink/send.h"

#include <stdlib.h>
#include <string.h>

#include "base/testhook.h"

struct sender {
	struct api *api;
	const struct account *acc;
	void (*stale)(void *);
	void *stale_arg;
	struct http_call *call;
	char *token; /* the context token of the call: masked in what comes back */
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

static void send_on_done(void *arg, const struct http_result *r)
{
	struct sender *s = arg;
	struct wire_sent sent = { .message_id = "" };
	chan_sent_cb *cb = s->cb;
	void *cb_arg = s->arg;
	enum chan_outcome what;
	char why[256] = "";

	test_halt("send.ack");
	s->call = NULL;
	what = read_answer(s, r, &sent, why, sizeof(why));
	forget_token(s);
	if (what != CHAN_ACCEPTED)
		log_info(s->api->log, "send", "outcome %d: %s", (int)what,
			why[0] ? why : "accepted without a message id");
	if (what == CHAN_EXPIRED && s->stale)
		s->stale(s->stale_arg);
	cb(cb_arg, what, what == CHAN_ACCEPTED ? sent.message_id : "", why);
}

static int check(const struct chan_send *what, struct err *e)
{
	if (!what->to || !what->to[0] || !what->client_id || !what->client_id[0])
		return err_set(e, E_FORMAT, "a message needs a receiver and a client id");
	if (what->text.n == 0 || what->text.n > CHAN_TEXT_MAX)
		return err_set(e, E_FORMAT, "a message needs 1 to %zu bytes of text",
			CHAN_TEXT_MAX);
	return 0;
}

int sender_send(struct sender *s, const struct chan_send *what, chan_sent_cb *cb, void *arg,
	struct err *e)
{
	struct str body = STR_INIT(WIRE_REQUEST_MAX * 2);
	struct api_call c = { .http = s->api->api_http,
		.endpoint = "ilink/bot/sendmessage",
		.timeout_ms = API_SEND_MS,
		.done = send_on_done,
		.arg = s };

	if (s->call)
		return err_set(e, E_BUSY, "another message is being sent");
	if (check(what, e) < 0)
		return -1;
	s->token = strdup(what->token ? what->token : "");
	if (!s->token)
		return err_set(e, E_NOMEM, "no memory to send a message");
	s->cb = cb;
	s->arg = arg;
	if (api_call_account(&s->call, s->api, s->acc, wire_write_text(&body, &s->api->me, what, e),
		    &body, c, e) < 0) {
		forget_token(s);
		return -1;
	}
	return 0;
}

void sender_abort(struct sender *s)
{
	http_cancel(&s->call);
	forget_token(s);
}

int sender_new(struct sender **out, struct api *api, const struct account *acc,
	void (*stale)(void *), void *arg, struct err *e)
{
	struct sender *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return err_set(e, E_NOMEM, "no memory for the sender");
	*s = (struct sender){ .api = api, .acc = acc, .stale = stale, .stale_arg = arg };
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
