/* /stop */
#include "channel/command-private.h"

#include "channel/prompt.h"

#include <string.h>

/* --- Before anything of it is stored ---------------------------------------------------------- */

static bool may_stop(const struct control *c, const char *user, const char *whose)
{
	return whose && (room_is_owner(&c->room, user) || strcmp(whose, user) == 0);
}

void command_fence(struct control *c, const char *user, struct stopping *out)
{
	struct dispatcher_now now;

	*out = (struct stopping){ .ran = false };
	if (dispatcher_now(c->dispatcher, &now)) {
		out->ran = may_stop(c, user, now.user);
		out->again = out->ran && !dispatcher_stop(c->dispatcher);
	} else if (may_stop(c, user, dispatcher_awaits(c->dispatcher))) {
		out->ran = dispatcher_stop_awaited(c->dispatcher, &now);
		out->awaited = out->ran;
	}
	if (out->ran) {
		out->turn = now.turn;
		out->seq = now.seq;
		memcpy(out->victim, now.user, sizeof(out->victim));
	}
	outbox_fence(c->outbox, out->ran ? out->victim : user, out->turn);
}

/* --- In its transaction ----------------------------------------------------------------------- */

int command_stopped(struct control *c, const struct stopping *stop, struct err *e)
{
	int rc = stop->awaited ? inbox_waits(&c->room, stop->seq, e) : 0;

	return rc == 1 ? inbox_move(&c->room, stop->seq, INBOX_STOPPED, 0, e) : rc;
}

void command_name_stopped(const struct control *c, const struct stopping *stop, const char *user,
	enum control_language lang, struct str *out)
{
	struct str shown = STR_INIT(1024);
	struct inbox_item it;

	inbox_item_init(&it);
	if (inbox_get(&c->room, stop->seq, &it, NULL) == 1)
		prompt_excerpt(&shown, &c->room, &it);
	if (strcmp(stop->victim, user) == 0)
		words(out, lang, W_STOPPED_TASK, str_cstr(&shown));
	else
		words(out, lang, W_STOPPED_OTHERS);
	inbox_item_release(&it);
	str_release(&shown);
}

static int say_waiting(struct control *c, struct command_call *call, struct err *e)
{
	int n;

	if (inbox_waiting(&c->room, call->owner ? NULL : call->user, &n, e) < 0)
		return -1;
	if (n == 0)
		return say(call, W_NONE_WAITING);
	return say(call, call->owner ? W_STILL_WAITING : W_STILL_WAITING_OWN, NUM(n));
}

static int stop_all(struct control *c, struct command_call *call, struct err *e)
{
	int n;

	if (inbox_clear(&c->room, NULL, &n, e) < 0)
		return -1;
	control_sweep(c);
	return n > 0 ? say(call, W_ALL_DROPPED, NUM(n)) : say(call, W_NONE_WAITING);
}

static int say_stopped(struct control *c, struct command_call *call, bool sending, struct err *e)
{
	if (!call->stop.ran)
		return say(call, sending ? W_STOPPED_SENDING : W_STOP_NOTHING);
	command_name_stopped(c, &call->stop, call->user, call->lang, call->reply);
	return command_said(call->reply, e);
}

int command_stop(struct control *c, struct command_call *call, struct err *e)
{
	const struct stopping *stop = &call->stop;
	bool all = command_takes(call, "all", "全部", NULL);
	const char *whose = stop->ran ? stop->victim : call->user;
	int n;

	if (outbox_drop(c->outbox, whose, stop->turn, &n, e) < 0 || command_stopped(c, stop, e) < 0)
		return -1;
	if (stop->ran && !stop->again && strcmp(stop->victim, call->user) != 0 &&
		outbox_notice(c->outbox, stop->victim, PART_STOP, 0, W_STOPPED_BY_OWNER, NULL, e) <
			0)
		return -1;
	if (say_stopped(c, call, n > 0, e) < 0)
		return -1;
	if (all && call->owner)
		return stop_all(c, call, e);
	if (all && say(call, W_OWNER_ONLY, call->word) < 0)
		return -1;
	return say_waiting(c, call, e);
}
