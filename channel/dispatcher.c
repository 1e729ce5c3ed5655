#include "channel/dispatcher-private.h"

#include <stdlib.h>
#include <string.h>

#include "channel/peer.h"
#include "channel/sql.h"

#define STORE_RETRY_MS 5000

void dispatcher_blocked(struct dispatcher *d, const struct err *e)
{
	if (!d->failing)
		log_error(d->room->log, "dispatch", "cannot go on for now: %s", e->msg);
	d->failing = true;
	timer_arm(d->store, STORE_RETRY_MS);
}

bool dispatcher_from_phone(const struct dispatcher *d)
{
	return d->item.origin == ORIGIN_PHONE;
}

void dispatcher_typing(struct dispatcher *d, bool on)
{
	outbox_typing(d->outbox, on && dispatcher_from_phone(d) ? d->item.user : NULL);
}

void dispatcher_hurry(struct dispatcher *d, bool on)
{
	d->room->channel->ops->hurry(d->room->channel, on);
}

/* --- Events ----------------------------------------------------------------------------------- */

static int store_notice(struct dispatcher *d, const char *user, struct view text,
	struct parcel *files, struct err *e)
{
	bool empty;
	int rc;

	if (db_begin(d->room->db, e) < 0)
		return -1;
	rc = outbox_add_markdown(d->outbox, user, PART_TEXT, 0, text, &empty, e);
	if (rc == 0)
		rc = parcel_store(files, PART_TEXT, e);
	return sql_end(d->room->db, rc, e);
}

/* Behind an open question whatever an agent says could pass for another question, or for a word of
 * ours about that one. */
static void put_beside(const struct dispatcher *d, const char *user, struct str *text)
{
	if (questions_waiting(d->questions, user) == 0)
		return;
	words(text, peer_lang(d->room, user), W_ASK_BESIDE);
	str_adds(text, "\n\n");
}

/* What it wants sent is sent, as of an answer. The out folder is that of turns. */
static int tell_notice(struct dispatcher *d, const char *user, struct view notice, struct err *e)
{
	struct str text = STR_INIT(ENGINE_ANSWER_MAX);
	struct parcel *files = NULL;
	int rc = parcel_open(&files, d->room, d->outbox, user, 0, e);

	put_beside(d, user, &text);
	if (rc == 0)
		rc = parcel_answer(files, notice, false, &text, e);
	if (rc == 0)
		rc = store_notice(d, user, str_view(&text), files, e);
	if (rc == 0)
		parcel_done(files);
	parcel_close(&files);
	str_release(&text);
	return rc;
}

/* Background work of an agent has something to say: to the user whose conversation it belongs to,
 * else to the owner. */
static void on_notice(struct dispatcher *d, const struct engine_event *ev)
{
	const char *user = ev->conversation && room_serves(d->room, ev->conversation)
	                           ? ev->conversation
	                           : d->room->owner;
	struct err e = ERR_INIT;

	if (*user && tell_notice(d, user, ev->text, &e) < 0)
		log_warn(d->room->log, "dispatch", "a notice of the engine was not kept: %s",
			e.msg);
	outbox_kick(d->outbox);
}

static void dispatcher_on_event(void *arg, const struct engine_event *ev)
{
	struct dispatcher *d = arg;

	if (ev->turn == 0) {
		if (ev->type == ENGINE_NOTICE)
			on_notice(d, ev);
		return;
	}
	if (ev->type == ENGINE_DONE) {
		dispatcher_done(d, ev);
		return;
	}
	if (!dispatcher_from_phone(d)) {
		if (ev->type == ENGINE_APPROVAL || ev->type == ENGINE_QUESTION)
			questions_watch(d->questions, ev->id);
		else if (ev->type == ENGINE_WITHDRAWN)
			questions_over(d->questions, ev->id);
		d->streamed = d->streamed || ev->type == ENGINE_TEXT;
		if (d->on_event)
			d->on_event(d->arg, d->item.seq, ev);
		return;
	}
	if (ev->type == ENGINE_APPROVAL || ev->type == ENGINE_QUESTION) {
		questions_ask(d->questions, d->item.user, d->turn, ev);
		dispatcher_typing(d, false); /* it is the user's turn to write */
	} else if (ev->type == ENGINE_WITHDRAWN) {
		questions_over(d->questions, ev->id);
	}
}

static int on_deliver(void *arg, uint64_t turn, struct view path, struct view caption,
	struct err *e)
{
	struct dispatcher *d = arg;

	(void)turn; /* the running one */
	return d->parcel ? parcel_take(d->parcel, path, caption, e)
	                 : err_set(e, E_UNSUPPORTED, "no file can be sent from here");
}

/* "No, and stop the task". */
static void stop_as_told(struct dispatcher *d)
{
	struct str shown = STR_INIT(1024);
	struct err e = ERR_INIT;

	prompt_excerpt(&shown, d->room, &d->item);
	if (dispatcher_stop(d) && outbox_notice(d->outbox, d->item.user, PART_STOP, 0,
					  W_STOPPED_TASK, str_cstr(&shown), &e) < 0)
		log_warn(d->room->log, "dispatch", "the stop was not told: %s", e.msg);
	outbox_kick(d->outbox);
	str_release(&shown);
}

static void on_answer(void *arg, const char *id, int choice, bool stops)
{
	struct dispatcher *d = arg;
	struct err e = ERR_INIT;

	if (dispatcher_answer(d, id, choice, &e) < 0)
		log_warn(d->room->log, "dispatch", "an answer came to nothing: %s", e.msg);
	if (stops)
		stop_as_told(d);
}

static void on_progress(void *arg)
{
	struct dispatcher *d = arg;
	struct err e = ERR_INIT;

	if (!dispatcher_from_phone(d) || d->fate != FATE_RUNS ||
		questions_waiting(d->questions, NULL) > 0)
		return;
	if (outbox_notice(d->outbox, d->item.user, PART_PROGRESS, d->turn, W_STILL_WORKING, NULL,
		    &e) < 0)
		log_warn(d->room->log, "dispatch", "progress was not told: %s", e.msg);
	outbox_kick(d->outbox);
}

static void on_kick(void *arg)
{
	struct dispatcher *d = arg;
	dispatcher_idle_cb *cb = d->idle;
	struct err e = ERR_INIT;
	bool idle = !d->item.seq && !turns_running(d->turns);

	/* The next turn might change what the last one wants sent. */
	if (idle && outbox_copying(d->outbox)) {
		dispatcher_kick(d);
		idle = false;
	}
	if (idle && d->running)
		dispatcher_take(d);
	/* What came in, or the end of a turn, waited for no disk by itself. Most often it was
	 * written out by now, with the begin of a turn or the first part of an answer. */
	if (db_sync(d->room->db, &e) < 0)
		dispatcher_blocked(d, &e);
	if (!idle || d->running || !cb)
		return;
	d->idle = NULL;
	cb(d->idle_arg);
}

/* After the database has failed. */
static void on_store(void *arg)
{
	struct dispatcher *d = arg;

	if (d->pending)
		dispatcher_end_again(d);
	else
		dispatcher_kick(d);
}

/* --- Healing ---------------------------------------------------------------------------------- */

static int heal_one(struct dispatcher *d, struct err *e)
{
	bool phone = d->item.origin == ORIGIN_PHONE;

	if (phone && dispatcher_say_interrupted(d, e) < 0)
		return -1;
	return inbox_move(d->room, d->item.seq, phone ? INBOX_INTERRUPTED : INBOX_DROPPED, 0, e);
}

static int heal(struct dispatcher *d, struct err *e)
{
	int n, rc;

	if (db_begin(d->room->db, e) < 0)
		return -1;
	rc = inbox_clear_origin(d->room, ORIGIN_TERMINAL, &n, e);
	while (rc == 0 && (rc = inbox_running(d->room, &d->item, e)) == 1)
		rc = heal_one(d, e);
	d->item.seq = 0;
	return sql_end(d->room->db, rc, e);
}

/* --- Open and close --------------------------------------------------------------------------- */

int dispatcher_open(struct dispatcher **out, const struct dispatcher_env *env, struct err *e)
{
	struct dispatcher *d = calloc(1, sizeof(*d));
	struct loop *l = env->room->loop;

	*out = NULL;
	if (!d)
		return err_set(e, E_NOMEM, "the dispatcher");
	d->room = env->room;
	d->outbox = env->outbox;
	d->media = env->media;
	d->on_event = env->on_event;
	d->arg = env->arg;
	d->ending.text = (struct str)STR_INIT(ENGINE_ANSWER_MAX);
	d->note = (struct str)STR_INIT(65536);
	inbox_item_init(&d->item);
	prompt_init(&d->prompt);
	if (timer_new(&d->kick, l, on_kick, d, e) < 0 ||
		timer_new(&d->progress, l, on_progress, d, e) < 0 ||
		timer_new(&d->store, l, on_store, d, e) < 0 ||
		questions_open(&d->questions, d->room, d->outbox, on_answer, d, e) < 0 ||
		turns_open(&d->turns, l, env->engine, env->deadline_ms, dispatcher_on_event,
			on_deliver, d, d->room->log, e) < 0 ||
		heal(d, e) < 0) {
		dispatcher_close(&d);
		return -1;
	}
	*out = d;
	return 0;
}

void dispatcher_close(struct dispatcher **dp)
{
	struct dispatcher *d = *dp;

	*dp = NULL;
	if (!d)
		return;
	dispatcher_typing(d, false);
	turns_close(&d->turns);
	if (d->questions)
		questions_close(&d->questions);
	timer_free(&d->kick);
	timer_free(&d->progress);
	timer_free(&d->store);
	inbox_item_release(&d->item);
	prompt_release(&d->prompt);
	str_release(&d->note);
	parcel_close(&d->parcel);
	str_release(&d->ending.text);
	free(d);
}

void dispatcher_run(struct dispatcher *d)
{
	d->running = true;
	dispatcher_kick(d);
}

void dispatcher_kick(struct dispatcher *d)
{
	timer_arm(d->kick, 0);
}

/* --- Handles ---------------------------------------------------------------------------------- */

bool dispatcher_now(const struct dispatcher *d, struct dispatcher_now *out)
{
	*out = (struct dispatcher_now){ .turn = 0 };
	if (!d->item.seq || d->pending)
		return false;
	out->turn = d->turn;
	out->seq = d->item.seq;
	out->age_ms = turns_age_ms(d->turns);
	out->origin = d->item.origin;
	out->fenced = d->fate != FATE_RUNS;
	memcpy(out->user, d->item.user, sizeof(out->user));
	return true;
}

uint64_t dispatcher_handled(const struct dispatcher *d)
{
	return d->handled;
}

uint64_t dispatcher_failed(const struct dispatcher *d)
{
	return d->failed;
}

static bool end_early(struct dispatcher *d, enum fate fate)
{
	if (!d->item.seq || d->pending || d->fate != FATE_RUNS)
		return false;
	d->fate = fate;
	timer_disarm(d->progress);
	questions_end(d->questions);
	dispatcher_typing(d, false);
	return turns_cancel(d->turns);
}

bool dispatcher_stop(struct dispatcher *d)
{
	bool ran = end_early(d, FATE_STOPPED);

	if (ran)
		parcel_close(&d->parcel); /* what was being copied for it is not any more */
	return ran;
}

const char *dispatcher_awaits(const struct dispatcher *d)
{
	return d->awaited ? d->item.user : NULL;
}

bool dispatcher_stop_awaited(struct dispatcher *d, struct dispatcher_now *out)
{
	*out = (struct dispatcher_now){ .seq = d->awaited, .origin = d->item.origin };
	if (!d->awaited)
		return false;
	memcpy(out->user, d->item.user, sizeof(out->user));
	d->dropped = d->awaited;
	media_stop(d->media, d->awaited);
	dispatcher_await(d, false);
	dispatcher_kick(d);
	return true;
}

void dispatcher_abandon(struct dispatcher *d)
{
	(void)end_early(d, FATE_ABANDONED);
}

void dispatcher_shutdown(struct dispatcher *d, dispatcher_idle_cb *cb, void *arg)
{
	d->running = false;
	d->idle = cb;
	d->idle_arg = arg;
	(void)end_early(d, FATE_SHUTDOWN);
	dispatcher_await(d, false);
	dispatcher_kick(d);
}

int dispatcher_paused(const struct dispatcher *d, bool *on, struct err *e)
{
	int64_t v;

	if (sql_meta(d->room->db, "paused", &v, e) < 0)
		return -1;
	*on = v != 0;
	return 0;
}

int dispatcher_pause(struct dispatcher *d, bool on, struct err *e)
{
	dispatcher_kick(d);
	return sql_set_meta(d->room->db, "paused", on, e);
}

struct questions *dispatcher_questions(struct dispatcher *d)
{
	return d->questions;
}

int dispatcher_answer(struct dispatcher *d, const char *id, int choice, struct err *e)
{
	questions_over(d->questions, id);
	if (turns_answer(d->turns, id, choice, e) < 0)
		return -1;
	if (d->fate == FATE_RUNS && questions_waiting(d->questions, NULL) == 0)
		dispatcher_typing(d, true);
	return 0;
}
