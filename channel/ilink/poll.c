#include "channel/ilink/poll.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/testhook.h"

#define UNTOLD_MS      35000 /* client timeout until the server names one */
#define HOLD_MS        30000 /* how long a server that names none holds a poll */
#define MARGIN_MS      5000
#define TIMEOUT_MIN_MS 5000
#define TIMEOUT_MAX_MS 60000
#define FOREIGN_MS     10000
#define HURRY_MS       3000
#define LATE_MS        1000    /* past its timeout by this much, a poll is restarted */
#define SLEPT_MS       10000   /* past it by this much, the machine slept */
#define EDGE_FAST_MS   5000    /* a gateway's error before this is a failure, not an empty poll */
#define LIFE_MS        60000   /* short polls may stay silent this long before we ask */
#define QUICK_MS       250     /* an answer without news this fast did not wait for any */
#define PROBE_MS       3600000 /* of an expired login */
#define REREAD_MS      60000   /* of the account file while the login is expired */
#define SUSPECT_MS     60000   /* other calls may make us look at the login this often */
#define ALIKE_MAX      5       /* unreadable answers alike before we name the way out */
#define KEEP_MS        50      /* after messages, so that the syncs of the file hold up no prompt */

enum poll_state {
	POLL_OFF,
	POLL_GREETING, /* notifystart is on its way */
	POLL_WAITING,  /* getupdates is on its way */
	POLL_TAKING,   /* its messages are handed on, then its cursor is kept */
	POLL_PAUSED,   /* the next one is due when the timer fires */
	POLL_EXPIRED,  /* no polls; the account file is read again, the server is probed hourly */
	POLL_ENDED     /* another login took the account's place */
};

struct poll {
	struct api *api;
	struct account *acc;
	struct link *link;
	struct notify *notify;
	const struct chan_events *ev;
	enum poll_state state;
	struct http_call *call, *check;
	struct timer *timer;
	int64_t started, timeout; /* of the poll on its way */
	int64_t took;             /* of the one whose cursor is to be kept */
	bool brought;             /* it had messages */
	struct str cursor;
	int64_t told;
	int64_t alive; /* when the server last proved that it answers */
	int64_t suspected, probe_due;
	int failures, quick;
	int alike; /* unreadable answers in a row with the same fault */
	char fault[160];
	bool hurry;
	bool retried; /* -14 was met with the same credentials before */
};

static void poll_begin(struct poll *p);
static void poll_stale(struct poll *p);

int64_t poll_timeout_ms(int64_t told, bool international, bool hurry)
{
	int64_t ms = UNTOLD_MS;

	if (told > TIMEOUT_MAX_MS - MARGIN_MS)
		ms = TIMEOUT_MAX_MS;
	else if (told > 0)
		ms = told + MARGIN_MS;
	if (ms < TIMEOUT_MIN_MS)
		ms = TIMEOUT_MIN_MS;
	if (international && ms > FOREIGN_MS)
		ms = FOREIGN_MS;
	return hurry && ms > HURRY_MS ? HURRY_MS : ms;
}

static void move(struct poll *p, enum poll_state to)
{
	static const char *const names[] = { "off", "greeting", "waiting", "taking", "paused",
		"expired", "ended" };

	if (p->state != to)
		log_debug(p->api->log, "poll", "%s -> %s", names[p->state], names[to]);
	p->state = to;
}

/* Nothing of ours is under way afterwards. */
static void quiesce(struct poll *p)
{
	http_cancel(&p->call);
	http_cancel(&p->check);
	timer_disarm(p->timer);
	notify_cancel(p->notify);
}

static void pause_for(struct poll *p, int64_t ms)
{
	/* While a task runs, /stop must be heard even over a bad link. */
	if (p->hurry && ms > HURRY_MS)
		ms = HURRY_MS;
	move(p, POLL_PAUSED);
	timer_arm(p->timer, ms);
}

/* --- The login ------------------------------------------------------------------------------- */
static void poll_expire(struct poll *p)
{
	quiesce(p);
	p->failures = 0;
	p->probe_due = loop_now(p->api->loop) + PROBE_MS;
	link_set(p->link, CHAN_LINK_EXPIRED,
		"the login has expired, or the account was connected elsewhere: run `kairo login`");
	move(p, POLL_EXPIRED);
	timer_arm(p->timer, REREAD_MS);
}

/* Read the account again. False: it is not ours any more, and polling has ended. */
static bool reload(struct poll *p, bool *changed)
{
	struct err e = ERR_INIT;

	*changed = false;
	if (account_reload(p->acc, changed, &e) == 0) {
		if (*changed)
			api_hide(p->api, account_token(p->acc));
		return true;
	}
	if (e.code != E_CONFLICT && e.code != E_NOTFOUND) {
		log_warn(p->api->log, "poll", "cannot read the account again: %s", e.msg);
		return true;
	}
	quiesce(p);
	link_set(p->link, CHAN_LINK_REPLACED,
		e.code == E_CONFLICT
			? "another login has taken this account's place: start kairo again"
			: "the account was logged out: run `kairo login`");
	move(p, POLL_ENDED);
	return false;
}

static void poll_on_greeted(void *arg)
{
	struct poll *p = arg;

	if (p->state == POLL_GREETING)
		poll_begin(p);
}

static void greet(struct poll *p)
{
	move(p, POLL_GREETING);
	notify_start(p->notify, poll_on_greeted, p);
}

/* The credentials on disk have changed: as after a start. */
static void rejoin(struct poll *p)
{
	p->retried = false;
	p->failures = 0;
	link_set(p->link, CHAN_LINK_STARTING, "");
	greet(p);
}

/* Are the credentials those on disk? False: polling goes on another way, or has ended. */
static bool still_ours(struct poll *p)
{
	bool changed;

	if (!reload(p, &changed))
		return false;
	if (changed) {
		log_info(p->api->log, "poll",
			"the credentials were replaced on disk and are adopted");
		rejoin(p);
	}
	return !changed;
}

/* -14: read the credentials again, try once more, then give up (4). */
static void poll_stale(struct poll *p)
{
	if (!still_ours(p))
		return;
	if (p->retried) {
		poll_expire(p);
	} else {
		log_info(p->api->log, "poll",
			"the server calls the token expired; trying once more");
		p->retried = true;
		greet(p);
	}
}

static void poll_on_reread(struct poll *p)
{
	if (!still_ours(p))
		return;
	if (loop_now(p->api->loop) >= p->probe_due)
		greet(p); /* retried is set: another -14 leads straight back */
	else
		timer_arm(p->timer, REREAD_MS);
}

/* --- Ends of a poll --------------------------------------------------------------------------- */
static void poll_failed(struct poll *p, const char *why)
{
	p->failures++;
	log_debug(p->api->log, "poll", "failed, %d in a row: %s", p->failures, why);
	link_failed(p->link, why);
	if (link_status(p->link)->link == CHAN_LINK_EXPIRED)
		poll_expire(p);
	else
		pause_for(p, backoff_ms(p->failures, rand_u64()));
}

/* Something on our side keeps messages from being kept: say so at once. */
static void poll_blocked(struct poll *p, const char *what, const struct err *e)
{
	char why[256];

	snprintf(why, sizeof(why), "%s: %.200s", what, e->msg);
	log_error(p->api->log, "poll", "%s", why);
	p->failures++;
	link_failed(p->link, why);
	link_set(p->link, CHAN_LINK_DEGRADED, why);
	pause_for(p, backoff_ms(p->failures, rand_u64()));
}

/* The same cursor brings the same answer again: after a few times alike, waiting does not help. */
static void poll_unreadable(struct poll *p, const char *fault)
{
	char why[256];

	if (strncmp(fault, p->fault, sizeof(p->fault) - 1) != 0)
		p->alike = 0;
	(void)copy_z(p->fault, sizeof(p->fault), view_cut(view_of(fault), sizeof(p->fault) - 1));
	p->alike++;
	if (p->alike >= ALIKE_MAX)
		snprintf(why, sizeof(why),
			"the server's messages cannot be read, %d times alike (%.100s): "
			"`kairo login --force` starts behind them",
			p->alike, p->fault);
	else
		snprintf(why, sizeof(why), "the server's messages cannot be read: %.150s",
			p->fault);
	poll_failed(p, why);
}

static void poll_on_check(void *arg, const struct http_result *r)
{
	struct poll *p = arg;
	struct wire_code code;
	struct err e = ERR_INIT;
	char why[256];

	p->check = NULL;
	if (api_failed(r, why, sizeof(why))) {
		link_failed(p->link, why);
	} else if (wire_read_code(r->body, &code, &e) < 0) {
		link_failed(p->link, e.msg);
	} else if (code.code == WIRE_EXPIRED) {
		poll_suspect(p);
	} else {
		p->alive = loop_now(p->api->loop);
		p->failures = 0;
		p->retried = false;
		link_good(p->link);
	}
}

/* Polls that are shorter than the server's patience say nothing about it; another call does. */
static void look_for_life(struct poll *p)
{
	const char *user = account_user_id(p->acc);
	struct str body = STR_INIT(8192);
	struct err e = ERR_INIT;
	struct api_call c = { .http = p->api->api_http,
		.endpoint = "ilink/bot/getconfig",
		.timeout_ms = API_CONFIG_MS,
		.done = poll_on_check,
		.arg = p };

	if (p->check || loop_now(p->api->loop) - p->alive < LIFE_MS)
		return;
	if (!user[0])
		user = account_bot_id(p->acc); /* refused, but answered */
	if (api_call_account(&p->check, p->api, p->acc,
		    wire_write_config(&body, &p->api->me, user, "", &e), &body, c, &e) < 0)
		link_failed(p->link, e.msg);
}

/* Nothing came. For a poll that waited its full time the server owed an answer. */
static void poll_silent(struct poll *p, int64_t took)
{
	char why[96];

	if (took > p->timeout + SLEPT_MS) {
		log_info(p->api->log, "poll", "a poll outlived its timeout by %lld s; polling anew",
			(long long)((took - p->timeout) / 1000));
	} else if (p->timeout >= (p->told ? p->told : HOLD_MS)) {
		snprintf(why, sizeof(why), "the server did not answer a poll of %lld s",
			(long long)(p->timeout / 1000));
		link_failed(p->link, why);
	} else {
		look_for_life(p);
	}
	poll_begin(p);
}

/* The edge gave up waiting for the server (524 and the like): an empty poll, unless it came fast.
 */
static void poll_cut_by_edge(struct poll *p, int64_t took, const char *why)
{
	if (took < EDGE_FAST_MS) {
		poll_failed(p, why);
		return;
	}
	look_for_life(p);
	poll_begin(p);
}

/* --- A good answer ---------------------------------------------------------------------------- */
static void log_notes(struct poll *p, const struct wire_update *u)
{
	for (size_t i = 0; i < u->nnotes; i++)
		log_warn(p->api->log, "poll", "message %zu of a batch is malformed: %s",
			u->notes[i].at + 1, u->notes[i].why);
	if (u->malformed > u->nnotes)
		log_warn(p->api->log, "poll", "%zu more malformed messages",
			u->malformed - u->nnotes);
	if (u->dropped_items)
		log_warn(p->api->log, "poll", "%zu attachments over the limit of %d were left out",
			u->dropped_items, CHAN_ITEMS_MAX);
}

/* 1: moved, 0: there was nothing to move, -1: polling goes on another way. */
static int move_cursor(struct poll *p, struct view cursor)
{
	struct err e = ERR_INIT;

	/* Nothing is written that would show whether the login is still ours. */
	if (cursor.n == 0 || view_eqs(cursor, account_cursor(p->acc)))
		return still_ours(p) ? 0 : -1;
	test_halt("cursor");
	if (account_move_cursor(p->acc, cursor, &e) == 0)
		return 1;
	if (e.code == E_CONFLICT && !still_ours(p))
		return -1;
	if (p->state == POLL_TAKING)
		poll_blocked(p, "the place in the message stream cannot be kept", &e);
	return -1;
}

static int64_t idle_gap(struct poll *p, bool news, int64_t took)
{
	if (news || took >= QUICK_MS) {
		p->quick = 0;
		return 0;
	}
	/* A server that does not hold its polls must not make us spin, whatever places it names. */
	p->quick++;
	if (p->quick <= 3)
		return 0;
	return p->quick >= 8 ? 1000 : (int64_t)100 << (p->quick - 4);
}

/* What an answer brought is safe: its place in the stream is kept, and the next poll begins. */
static void poll_keep(struct poll *p)
{
	struct err e = ERR_INIT;
	int64_t gap;
	int moved;

	if (p->brought && p->ev->settle(p->ev->arg, &e) < 0) {
		poll_blocked(p, "messages cannot be stored", &e);
		return;
	}
	moved = move_cursor(p, str_view(&p->cursor));
	if (moved < 0 || p->state != POLL_TAKING)
		return;
	p->alive = loop_now(p->api->loop);
	p->failures = 0;
	p->retried = false;
	link_good(p->link);
	gap = idle_gap(p, moved > 0 && p->brought, p->took);
	if (gap)
		pause_for(p, gap);
	else
		poll_begin(p);
}

static void poll_take(struct poll *p, const struct wire_update *u, int64_t took)
{
	struct err e = ERR_INIT;
	bool stored;

	log_notes(p, u);
	link_skipped(p->link, u->malformed);
	move(p, POLL_TAKING);
	stored = !u->nmsgs || p->ev->batch(p->ev->arg, u->msgs, u->nmsgs, &e) == 0;
	if (!stored && p->state == POLL_TAKING)
		poll_blocked(p, "messages cannot be stored", &e);
	if (!stored)
		return;
	/* After a failure it is good again when its place is kept as well. */
	if (p->failures == 0 && !p->retried)
		link_good(p->link);
	p->took = took;
	p->brought = u->nmsgs > 0;
	if (u->told_ms)
		p->told = u->told_ms;
	str_reset(&p->cursor);
	str_add(&p->cursor, view_cut(u->cursor, p->cursor.max));
	if (u->nmsgs && p->state == POLL_TAKING)
		timer_arm(p->timer, KEEP_MS);
	else
		poll_keep(p);
}

static void poll_answered(struct poll *p, struct view body, int64_t took)
{
	struct wire_update u;
	struct err e = ERR_INIT;
	char why[256];

	if (body.n == 0) {
		poll_failed(p, "the server sent an empty answer");
		return;
	}
	if (wire_read_update(&u, body, &e) < 0) {
		if (e.code == E_NOMEM)
			poll_failed(p, e.msg);
		else
			poll_unreadable(p, e.msg);
		return;
	}
	p->alike = 0;
	if (u.code.code == WIRE_EXPIRED) {
		poll_stale(p);
	} else if (u.code.code != 0) {
		api_refusal(&u.code, account_token(p->acc), NULL, why, sizeof(why));
		poll_failed(p, why);
	} else {
		poll_take(p, &u, took);
	}
	wire_update_release(&u);
}

static bool is_edge_timeout(const struct http_result *r)
{
	return r->fail == HTTP_OK_ && (r->status == 524 || r->status == 502 || r->status == 504);
}

static void poll_on_done(void *arg, const struct http_result *r)
{
	struct poll *p = arg;
	int64_t took = loop_now(p->api->loop) - p->started;
	char why[256];

	p->call = NULL;
	timer_disarm(p->timer);
	if (r->fail == HTTP_FAIL_TIMEOUT && r->request_sent)
		poll_silent(p, took);
	else if (r->fail == HTTP_FAIL_TOO_BIG)
		poll_unreadable(p, r->err->msg);
	else if (!api_failed(r, why, sizeof(why)))
		poll_answered(p, r->body, took);
	else if (is_edge_timeout(r))
		poll_cut_by_edge(p, took, why);
	else
		poll_failed(p, why);
}

/* --- Running ---------------------------------------------------------------------------------- */
static void poll_begin(struct poll *p)
{
	struct str body = STR_INIT(ACCOUNT_CURSOR_MAX * 6 + 4096);
	struct err e = ERR_INIT;
	struct api_call c = { .http = p->api->poll_http,
		.endpoint = "ilink/bot/getupdates",
		.done = poll_on_done,
		.arg = p };

	p->started = loop_now(p->api->loop);
	p->timeout =
		poll_timeout_ms(p->told, api_is_international(account_base_url(p->acc)), p->hurry);
	c.timeout_ms = p->timeout;
	move(p, POLL_WAITING);
	if (api_call_account(&p->call, p->api, p->acc,
		    wire_write_updates(&body, &p->api->me, account_cursor(p->acc), &e), &body, c,
		    &e) < 0) {
		poll_failed(p, e.msg);
		return;
	}
	/* The transfer's own clock may have stood still while the machine slept; this one has not.
	 */
	timer_arm(p->timer, p->timeout + LATE_MS);
}

static void poll_on_timer(void *arg)
{
	struct poll *p = arg;

	switch (p->state) {
	case POLL_WAITING:
		http_cancel(&p->call);
		poll_silent(p, loop_now(p->api->loop) - p->started);
		break;
	case POLL_PAUSED: poll_begin(p); break;
	case POLL_EXPIRED: poll_on_reread(p); break;
	case POLL_TAKING: poll_keep(p); break;
	case POLL_OFF:
	case POLL_GREETING:
	case POLL_ENDED: break;
	}
}

void poll_start(struct poll *p, const struct chan_events *ev)
{
	p->ev = ev;
	p->alive = p->suspected = loop_now(p->api->loop) - LIFE_MS;
	p->told = 0;
	p->failures = p->quick = p->alike = 0;
	p->retried = false;
	greet(p);
}

void poll_stop(struct poll *p)
{
	if (p->state == POLL_TAKING && timer_armed(p->timer))
		(void)move_cursor(p, str_view(&p->cursor));
	quiesce(p);
	move(p, POLL_OFF);
}

void poll_hurry(struct poll *p, bool on)
{
	int64_t left = p->started + p->timeout - loop_now(p->api->loop);

	p->hurry = on;
	if (!on)
		return;
	if (p->state == POLL_PAUSED && timer_left(p->timer) > HURRY_MS) {
		timer_arm(p->timer, HURRY_MS);
	} else if (p->state == POLL_WAITING && left > HURRY_MS) {
		/* Nothing is lost: the cursor moves only with an answer. */
		http_cancel(&p->call);
		timer_disarm(p->timer);
		poll_begin(p);
	}
}

void poll_suspect(struct poll *p)
{
	int64_t now = loop_now(p->api->loop);

	if ((p->state != POLL_WAITING && p->state != POLL_PAUSED) ||
		now - p->suspected < SUSPECT_MS)
		return;
	p->suspected = now;
	http_cancel(&p->call);
	timer_disarm(p->timer);
	poll_stale(p);
}

int poll_new(struct poll **out, struct api *api, struct account *acc, struct link *link,
	struct notify *notify, struct err *e)
{
	struct poll *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "no memory for the poll");
	*p = (struct poll){ .api = api,
		.acc = acc,
		.link = link,
		.notify = notify,
		.cursor = STR_INIT(ACCOUNT_CURSOR_MAX + 1) }; /* one more is refused, not cut */
	if (timer_new(&p->timer, api->loop, poll_on_timer, p, e) < 0) {
		free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void poll_free(struct poll **pp)
{
	struct poll *p = *pp;

	*pp = NULL;
	if (!p)
		return;
	quiesce(p);
	timer_free(&p->timer);
	str_release(&p->cursor);
	free(p);
}
