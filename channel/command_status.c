/* /status */
#include "channel/command-private.h"

#include "channel/peer.h"

static int status_state(struct control *c, struct command_call *call, struct err *e)
{
	struct str span = STR_INIT(64);
	struct dispatcher_now now;
	bool paused;
	int rc;

	if (dispatcher_paused(c->dispatcher, &paused, e) < 0)
		return -1;
	if (dispatcher_now(c->dispatcher, &now)) {
		words_span(&span, call->lang, now.age_ms);
		rc = say(call, W_STATUS_RUNNING, str_cstr(&span));
	} else if (dispatcher_awaits(c->dispatcher)) {
		rc = say(call, W_STATUS_AWAITS);
	} else {
		rc = paused ? 0 : say(call, W_STATUS_IDLE);
	}
	if (rc == 0 && questions_waiting(dispatcher_questions(c->dispatcher), call->user) > 0)
		rc = say(call, W_STATUS_ASKED);
	if (rc == 0 && paused)
		rc = say(call, W_STATUS_PAUSED);
	str_release(&span);
	return rc;
}

static int status_parts(struct control *c, struct command_call *call, struct err *e)
{
	struct outbox_counts n;
	struct peer peer;

	if (outbox_counts(c->outbox, call->user, &n, e) < 0 ||
		peer_load(&c->room, call->user, &peer, e) < 0)
		return -1;
	if (say(call, W_STATUS_SENDS, NUM(peer.sends), NUM(PEER_SENDS_MAX)) < 0 ||
		(n.parked > 0 && say(call, W_STATUS_PARKED, NUM(n.parked)) < 0) ||
		(n.refused + n.unknown > 0 &&
			say(call, W_STATUS_TROUBLE, NUM(n.refused), NUM(n.unknown)) < 0) ||
		(n.unconfirmed > 0 && say(call, W_STATUS_UNCONFIRMED, NUM(n.unconfirmed)) < 0))
		return -1;
	return 0;
}

static enum word link_word(enum chan_link link)
{
	switch (link) {
	case CHAN_LINK_STARTING: return W_LINK_STARTING;
	case CHAN_LINK_UP: return W_LINK_UP;
	case CHAN_LINK_DEGRADED: return W_LINK_DEGRADED;
	case CHAN_LINK_EXPIRED:
	case CHAN_LINK_REPLACED: return W_LINK_EXPIRED;
	case CHAN_LINK_STOPPED: break;
	}
	return W_LINK_STOPPED;
}

static int status_rooms(struct control *c, struct command_call *call, struct err *e)
{
	struct str s = STR_INIT(4096), safe = STR_INIT(4096);
	struct chan_status link;
	int rc;

	c->room.channel->ops->status(c->room.channel, &link);
	words(&s, call->lang, link_word(link.link));
	rc = say(call, W_STATUS_LINK, str_cstr(&s));
	str_reset(&s);
	c->engine->ops->describe(c->engine, call->lang != LANG_EN, &s);
	words_excerpt(&safe, str_view(&s), 200);
	if (rc == 0)
		rc = say(call, W_STATUS_ENGINE, str_cstr(&safe));
	str_reset(&safe);
	words_excerpt(&safe, view_of(c->intake_error), 200);
	if (rc == 0 && safe.n)
		rc = say(call, W_STATUS_INTAKE, str_cstr(&safe));
	str_reset(&s);
	if (c->more_status)
		c->more_status(c->more_arg, call->lang != LANG_EN, &s);
	if (s.n) {
		command_line(call->reply);
		str_add(call->reply, view_trim(str_view(&s)));
	}
	str_release(&s);
	str_release(&safe);
	return rc < 0 ? rc : command_said(call->reply, e);
}

static int say_all(struct control *c, struct command_call *call, struct err *e)
{
	int n;

	if (status_state(c, call, e) < 0 || inbox_waiting(&c->room, NULL, &n, e) < 0 ||
		say(call, W_STATUS_QUEUE, NUM(n), NUM(c->room.queue_limit)) < 0)
		return -1;
	if (status_parts(c, call, e) < 0)
		return -1;
	return status_rooms(c, call, e);
}

int command_status(struct control *c, struct command_call *call, struct err *e)
{
	int rc = 0;

	words_each(l, call->lang) {
		struct command_call in = *call;

		in.lang = l;
		if (rc == 0)
			rc = say_all(c, &in, e);
	}
	return rc;
}
