/* Prompts of the terminal: through the queue like any message, their events to whoever asked. */
#include "channel/control-private.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static struct ask **find_ask(struct control *c, int64_t seq)
{
	struct ask **at = &c->asks;

	while (*at && (*at)->seq != seq)
		at = &(*at)->next;
	return at;
}

/* Takes it off the list first: the callback may ask again. */
static void end_ask(struct ask **at, const struct engine_event *ev)
{
	struct ask *a = *at;

	*at = a->next;
	a->cb(a->arg, ev);
	free(a);
}

void asks_event(void *arg, int64_t seq, const struct engine_event *ev)
{
	struct ask **at = find_ask(arg, seq);

	if (!*at)
		return;
	if (ev->type == ENGINE_DONE)
		end_ask(at, ev);
	else
		(*at)->cb((*at)->arg, ev);
}

static bool was_dropped(const struct control *c, int64_t seq)
{
	struct inbox_item it;
	bool yes;

	inbox_item_init(&it);
	yes = inbox_get(&c->room, seq, &it, NULL) != 1 || it.state == INBOX_DROPPED;
	inbox_item_release(&it);
	return yes;
}

/* One that was dropped from the queue. False: there is none. */
static bool sweep_one(struct control *c)
{
	struct engine_event ev = { .type = ENGINE_DONE,
		.fail = ENGINE_FAIL_CANCELLED,
		.detail = "" };

	for (struct ask **at = &c->asks; *at; at = &(*at)->next) {
		if (!was_dropped(c, (*at)->seq))
			continue;
		end_ask(at, &ev);
		return true;
	}
	return false;
}

void asks_sweep(void *arg)
{
	while (sweep_one(arg))
		;
}

int control_ask(struct control *c, struct view text, control_ask_cb *cb, void *arg,
	uint64_t *ticket, struct err *e)
{
	struct ask *a;
	int64_t seq;
	int rc;

	if (!*c->owner)
		return err_set(e, E_DENIED, "the login has no owner: nobody is served");
	if (view_trim(text).n == 0)
		return err_set(e, E_FORMAT, "the prompt is empty");
	if (text.n > ENGINE_INPUT_MAX)
		return err_set(e, E_FORMAT, "the prompt is over 1 MiB");
	if (!utf8_valid(text) || memchr(text.p, '\0', text.n))
		return err_set(e, E_FORMAT, "the prompt is not valid UTF-8 text");
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_set(e, E_NOMEM, "a prompt");
	rc = inbox_put(&c->room, "", c->owner, ORIGIN_TERMINAL, words_detect(text), text, &seq, e);
	if (rc != 1) {
		free(a);
		return rc < 0 ? -1
		              : err_set(e, E_FULL, "the queue is full (limit %d): try again later",
					c->room.queue_limit);
	}
	*a = (struct ask){ .next = c->asks, .seq = seq, .cb = cb, .arg = arg };
	c->asks = a;
	*ticket = (uint64_t)seq;
	dispatcher_kick(c->dispatcher);
	return 0;
}

int control_ask_answer(struct control *c, uint64_t ticket, const char *id, int choice,
	struct err *e)
{
	struct dispatcher_now now;

	if (!dispatcher_now(c->dispatcher, &now) || now.seq != (int64_t)ticket)
		return err_set(e, E_NOTFOUND, "this prompt does not run");
	return dispatcher_answer(c->dispatcher, id, choice, e);
}

void control_ask_cancel(struct control *c, uint64_t ticket)
{
	struct ask **at = find_ask(c, (int64_t)ticket);
	struct dispatcher_now now;
	struct err e = ERR_INIT;
	struct ask *a = *at;

	if (!a)
		return;
	*at = a->next;
	free(a);
	if (dispatcher_now(c->dispatcher, &now) && now.seq == (int64_t)ticket)
		dispatcher_abandon(c->dispatcher);
	else if (inbox_waits(&c->room, (int64_t)ticket, NULL) == 1 &&
		 inbox_move(&c->room, (int64_t)ticket, INBOX_DROPPED, 0, &e) < 0)
		log_warn(c->room.log, "control", "a cancelled prompt stays queued: %s", e.msg);
}

void asks_drop(struct control *c)
{
	struct err e = ERR_INIT;
	int n;

	if (inbox_clear_origin(&c->room, ORIGIN_TERMINAL, &n, &e) < 0)
		log_warn(c->room.log, "control", "prompts of the terminal stay queued: %s", e.msg);
	control_sweep(c);
}

void asks_free(struct control *c)
{
	while (c->asks) {
		struct ask *a = c->asks;

		c->asks = a->next;
		free(a);
	}
}
