/* sendmessage, getconfig and sendtyping (wire reference, sections 6 to 8). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "ilink.h"
#include "media.h"

#define TEXT_VIOLATION 4000 /* characters; a client should have cut long before */
#define SPACING_MS     100

struct outgoing {
	const struct json *msg, *item;
	struct view to, client_id, run_id, token, text;
	int64_t item_type;
};

/* --- Reading ---------------------------------------------------------------------------------- */
static struct view optional(struct call *c, const struct json *obj, const char *name)
{
	return json_member(obj, name) ? check_str(c, obj, name) : VIEW_NONE;
}

static void check_envelope(struct call *c, const struct outgoing *o)
{
	struct view from = optional(c, o->msg, "from_user_id");
	int64_t state = check_int(c, o->msg, "message_state", -1);

	if (!json_member(o->msg, "from_user_id"))
		violation(c, "missing_field", "from_user_id is missing");
	else if (from.n && !view_eqs(from, c->bot->id))
		violation(c, "from_user_id", "neither empty nor this bot");
	if (state != -1 && state != 2)
		violation(c, "message_state", "%lld instead of 2", (long long)state);
	if (!o->client_id.n)
		violation(c, "client_id", "client_id is missing or empty");
	if (json_member(o->msg, "context_token") && !o->token.n)
		violation(c, "context_token_empty", "leave it out when there is none");
}

/* The one item; NULL after a refusal was decided: *errmsg. */
static const struct json *read_item(struct call *c, const struct json *msg, const char **errmsg)
{
	const struct json *list = NULL;
	struct err e;

	*errmsg = "invalid arguments";
	if (json_get_array(msg, "item_list", JSON_REQUIRED, 1000, &list, &e) < 0) {
		violation(c, "wrong_type", "%s", e.msg);
		return NULL;
	}
	if (json_count(list) != 1) {
		violation(c, json_count(list) ? "several_items" : "no_item",
			"%zu items in one request", json_count(list));
		return NULL;
	}
	if (json_type(json_first(list)) != JSON_OBJECT) {
		violation(c, "wrong_type", "an item is no object");
		return NULL;
	}
	return json_first(list);
}

static void check_text(struct call *c, struct view text)
{
	size_t chars = utf8_count(text);

	if (!text.n)
		violation(c, "text_empty", "an empty text");
	if (chars > TEXT_VIOLATION)
		violation(c, "text_too_long", "%zu characters in one part", chars);
}

/* 0, or -1 with what the server says. */
static int read_outgoing(struct call *c, struct outgoing *o, const char **errmsg)
{
	const struct json *text = NULL;

	*errmsg = "invalid arguments";
	if (json_get_object(c->body, "msg", JSON_REQUIRED, &o->msg, NULL) < 0) {
		violation(c, "missing_field", "msg is missing or no object");
		return -1;
	}
	o->to = check_str(c, o->msg, "to_user_id");
	o->client_id = optional(c, o->msg, "client_id");
	o->run_id = optional(c, o->msg, "run_id");
	o->token = optional(c, o->msg, "context_token");
	check_envelope(c, o);
	if (check_int(c, o->msg, "message_type", -1) != 2) {
		violation(c, "message_type", "message_type is not 2");
		return -1;
	}
	o->item = read_item(c, o->msg, errmsg);
	if (!o->to.n || !o->item)
		return -1;
	o->item_type = check_int(c, o->item, "type", -1);
	if (o->item_type != 1)
		return 0;
	if (json_get_object(o->item, "text_item", JSON_REQUIRED, &text, NULL) < 0) {
		violation(c, "missing_field", "text_item is missing or no object");
		return -1;
	}
	o->text = check_str(c, text, "text");
	check_text(c, o->text);
	return o->text.n ? 0 : -1;
}

/* --- What the server allows ------------------------------------------------------------------- */
static void check_token_of(struct call *c, const struct outgoing *o, const struct peer *p)
{
	if (!o->token.n)
		note(c, "no_context_token", "a send without context_token");
	else if (!p || !peer_knows_token(p, o->token))
		violation(c, "context_token_unknown",
			"a context_token that this person was not given");
	else if (!view_eqs(o->token, peer_token(p)))
		note(c, "context_token_old", "not the newest context_token");
}

/* NULL: it may be sent; else the errmsg of a -2. */
static const char *policy_says(struct call *c, const struct outgoing *o, const struct peer *p)
{
	const struct settings *set = &c->sim->set;

	if (!p->last_in)
		return "prepare failed";
	if (set->token_strict && (!o->token.n || !peer_knows_token(p, o->token)))
		return "prepare failed";
	if (sim_now(c->sim) - p->last_in > set->window_ms || p->used >= set->quota)
		return "prepare failed";
	if (o->item_type == 1 && set->text_over == OVER_REFUSE &&
		utf8_count(o->text) > (size_t)set->text_cap)
		return "unknown error";
	return NULL;
}

static void check_spacing(struct call *c, struct peer *p)
{
	int64_t now = loop_now(c->sim->loop), gap = now - p->last_send;

	if (p->last_send && gap < SPACING_MS)
		note(c, "spacing", "%lld ms after the send before", (long long)gap);
	p->last_send = now;
	if (p->sending && !hreq_peer_left(p->sending->req))
		violation(c, "send_overlap", "send %llu to this person has no answer yet",
			(unsigned long long)p->sending->n);
	if (p->refused)
		note(c, "send_after_refusal",
			"a send after a refusal, with nothing new from the person");
}

/* --- Answering -------------------------------------------------------------------------------- */
static void put_answer_id(struct json_out *w, uint64_t id, bool number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)id);
	if (number)
		json_put_u64(w, "message_id", id);
	else
		json_put_z(w, "message_id", digits);
}

static void answer_accepted(struct call *c, const struct delivery *d, bool again)
{
	int64_t shape = c->sim->set.answer_shape;
	struct json_out w;

	if (shape == SHAPE_ALTERNATE)
		shape = again ? SHAPE_FULL : (int64_t)(d->n % 3) + 1;
	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	if (fault_is(c->fault, F_SILENT) || fault_is(c->fault, F_NO_ID)) {
		json_put_int(&w, "ret", 0);
	} else if (shape != SHAPE_EMPTY) {
		if (shape == SHAPE_FULL)
			json_put_int(&w, "ret", 0);
		put_answer_id(&w, d->message_id, d->n % 2 == 0);
	}
	json_close(&w);
	(void)json_out_end(&w, NULL);
	call_answer(c);
}

static void send_ended(struct call *c)
{
	if (c->peer && c->peer->sending == c)
		c->peer->sending = NULL;
}

/* Keep what was sent; text_cap may shorten what the phone shows. */
static struct delivery *record(struct call *c, const struct outgoing *o)
{
	const struct delivery *earlier =
		o->client_id.n ? delivery_by_client_id(c->sim, c->bot, o->to, o->client_id) : NULL;
	int attempts = earlier ? earlier->attempts + 1 : 1;
	struct delivery *d = delivery_new(c->sim, c->bot, o->to, NULL); /* may forget the earlier */
	struct str item = STR_INIT(SIM_BODY_MAX);
	struct view text = o->text;

	if (!d)
		return NULL;
	if (c->sim->set.text_over == OVER_CUT)
		text = view_cut(text, utf8_cut_chars(text, (size_t)c->sim->set.text_cap));
	d->attempts = attempts;
	d->text = text.p ? dup_view(text) : NULL;
	d->client_id = o->client_id.p ? dup_view(o->client_id) : NULL;
	d->run_id = o->run_id.p ? dup_view(o->run_id) : NULL;
	if (o->item && o->item_type != 1 && json_print(o->item, &item, NULL) == 0)
		d->item = str_take(&item);
	str_release(&item);
	return d;
}

static void refuse_send(struct call *c, const struct outgoing *o, struct peer *p,
	const char *errmsg)
{
	struct delivery *d = o->to.n ? record(c, o) : NULL;

	if (d) {
		d->ret = -2;
		d->errmsg = strdup(errmsg);
	}
	if (p)
		p->refused = true;
	sim_count(c->sim, T_REFUSED);
	call_refuse(c, -2, errmsg);
}

/* The same client_id again: one message on the phone, the same answer. */
static bool answer_again(struct call *c, const struct outgoing *o, struct peer *p)
{
	struct delivery *d =
		o->client_id.n ? delivery_by_client_id(c->sim, c->bot, o->to, o->client_id) : NULL;

	if (!d)
		return false;
	if (d->text && o->text.p && c->sim->set.text_over != OVER_CUT &&
		!view_eqs(o->text, d->text))
		violation(c, "client_id_reused", "the same client_id with another text");
	if (!d->accepted)
		return false;
	d->attempts++;
	if (p && c->sim->set.retry_counts)
		p->used++;
	answer_accepted(c, d, true);
	return true;
}

static void type_of_item(struct call *c, const struct outgoing *o, struct delivery *d,
	const char **errmsg)
{
	*errmsg = NULL;
	switch (o->item_type) {
	case 1:
	case 11:
	case 12: break;
	case 2:
	case 4:
	case 5:
		if (media_accept(c, o->item, d, errmsg) == 0)
			*errmsg = NULL;
		break;
	case 3: violation(c, "voice_item", "voice from a bot is never shown"); break;
	default:
		violation(c, "item_type", "type %lld is none of a bot's", (long long)o->item_type);
		*errmsg = "invalid arguments";
	}
}

static void deliver(struct call *c, const struct outgoing *o, struct peer *p)
{
	struct delivery *d = record(c, o);
	const char *errmsg;

	if (!d) {
		call_refuse(c, -1, "out of memory");
		return;
	}
	type_of_item(c, o, d, &errmsg);
	if (errmsg) {
		d->ret = -2;
		d->errmsg = strdup(errmsg);
		sim_count(c->sim, T_REFUSED);
		call_refuse(c, -2, errmsg);
		return;
	}
	p->used++;
	d->accepted = true;
	d->message_id = world_id(c->sim);
	/* Tool progress and voice are taken and never seen. */
	d->shown = !fault_is(c->fault, F_SILENT) && o->item_type != 3 && o->item_type < 11;
	if (d->shown) {
		p->typing_until = 0;
		sim_count(c->sim, T_SENT);
	}
	answer_accepted(c, d, false);
}

void sendmessage(struct call *c)
{
	struct outgoing o = { .msg = NULL };
	const char *errmsg;
	struct peer *p;

	if (read_outgoing(c, &o, &errmsg) < 0) {
		refuse_send(c, &o, NULL, errmsg);
		return;
	}
	p = peer_find(c->bot, o.to);
	check_token_of(c, &o, p);
	if (p) {
		check_spacing(c, p);
		c->peer = p;
		c->on_end = send_ended;
		p->sending = c;
	}
	if (answer_again(c, &o, p))
		return;
	errmsg = p ? policy_says(c, &o, p) : "prepare failed";
	if (errmsg) {
		refuse_send(c, &o, p, errmsg);
		return;
	}
	deliver(c, &o, p);
}

/* --- Typing ----------------------------------------------------------------------------------- */
static struct view user_of(struct call *c)
{
	struct view user = VIEW_NONE;

	if (json_member(c->body, "user_id"))
		violation(c, "user_id_key", "the key is ilink_user_id");
	if (json_member(c->body, "ilink_user_id"))
		user = check_str(c, c->body, "ilink_user_id");
	if (!user.n)
		call_refuse(c, -2, "ilink_user_id required");
	return user;
}

void getconfig(struct call *c)
{
	struct view user = user_of(c);
	struct json_out w;
	struct peer *p;
	char hex[25];

	if (!user.n)
		return;
	p = peer_find(c->bot, user);
	if (!p || !p->last_in) {
		call_refuse(c, -4, "GetTypingTicket rpc failed");
		return;
	}
	if (!*p->ticket || sim_now(c->sim) - p->ticket_at >= c->sim->set.ticket_life_ms / 2) {
		rand_hex(hex, 12);
		snprintf(p->ticket, sizeof(p->ticket), "AART%s=", hex);
		p->ticket_at = sim_now(c->sim);
	}
	json_out_begin(&w, &c->out);
	json_open(&w, NULL);
	json_put_int(&w, "ret", 0);
	json_put_z(&w, "typing_ticket", p->ticket);
	json_close(&w);
	(void)json_out_end(&w, NULL);
	call_answer(c);
}

void sendtyping(struct call *c)
{
	struct view user = user_of(c), ticket;
	struct peer *p;
	int64_t status;

	if (!user.n)
		return;
	ticket = check_str(c, c->body, "typing_ticket");
	status = check_int(c, c->body, "status", 0);
	p = peer_find(c->bot, user);
	if (status != 1 && status != 2)
		violation(c, "typing_status", "%lld is neither 1 nor 2", (long long)status);
	if (!p || !*p->ticket || !view_eqs(ticket, p->ticket)) {
		note(c, "typing_ticket", "a ticket that this person was not given, or an old one");
		call_refuse(c, -2, "invalid typing ticket");
		return;
	}
	if (sim_now(c->sim) - p->ticket_at >= c->sim->set.ticket_life_ms) {
		call_refuse(c, -2, "typing ticket expired");
		return;
	}
	p->typing_until = status == 1 ? sim_now(c->sim) + c->sim->set.typing_show_ms : 0;
	if (status == 1)
		sim_due_in(c->sim, c->sim->set.typing_show_ms);
	sim_count(c->sim, status == 1 ? T_TYPING : T_TYPING_STOP);
	str_adds(&c->out, "{\"ret\":0}");
	call_answer(c);
}
