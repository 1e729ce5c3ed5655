#include "channel/dispatcher.h"

#include "base/testhook.h"
#include "channel/outfolder.h"
#include "channel/parcel.h"
#include "channel/peer.h"
#include "channel/prompt.h"
#include "channel/sql.h"

#include <stdlib.h>
#include <string.h>

#define EXCERPT_CHARS  20
#define STORE_RETRY_MS 5000

enum fate {
	FATE_RUNS,
	FATE_STOPPED,   /* /stop: the user has been told */
	FATE_ABANDONED, /* nobody waits for it any more */
	FATE_SHUTDOWN
};

/* How a turn ended, until it is on disk. */
struct ending {
	enum inbox_state row;
	enum engine_fail fail;
	char detail[301];
	struct str text;
	bool acted, history_lost;
};

struct dispatcher {
	const struct room *room;
	struct outbox *outbox;
	struct media *media;
	struct questions *questions;
	struct turns *turns;
	struct timer *kick, *progress, *store;
	dispatcher_event_cb *on_event;
	void *arg;

	bool running;
	bool failing;           /* the database failed at the last try; logged once */
	struct inbox_item item; /* of the running turn; seq 0: none */
	struct prompt prompt;   /* of item */
	int64_t awaited;        /* the head, which item holds, is not ready; 0: none is awaited */
	int64_t dropped;        /* it was stopped while it was awaited */
	struct str note;        /* ahead of its text: what the agent is to be told */
	bool streamed;          /* a terminal has been shown some of its answer */
	uint64_t turn;
	enum fate fate;
	struct parcel *parcel; /* the files of it; NULL: none can be taken */
	struct ending ending;
	bool pending; /* it ended, but could not be stored yet */
	uint64_t handled, failed;

	dispatcher_idle_cb *idle;
	void *idle_arg;
};

static const char *lang_name(enum control_language lang)
{
	return lang == LANG_EN ? "en" : "zh";
}

static void failed(struct dispatcher *d, const struct err *e)
{
	if (!d->failing)
		log_error(d->room->log, "dispatch", "cannot go on for now: %s", e->msg);
	d->failing = true;
	timer_arm(d->store, STORE_RETRY_MS);
}

static bool from_phone(const struct dispatcher *d)
{
	return d->item.origin == ORIGIN_PHONE;
}

static void typing(struct dispatcher *d, bool on)
{
	outbox_typing(d->outbox, on && from_phone(d) ? d->item.user : NULL);
}

static void hurry(struct dispatcher *d, bool on)
{
	d->room->channel->ops->hurry(d->room->channel, on);
}

/* --- The end of a turn ------------------------------------------------------------------------ */

static int say_failure(struct dispatcher *d, enum engine_fail fail, struct err *e)
{
	enum control_language lang = peer_lang(d->room, d->item.user);
	struct str s = STR_INIT(8192);
	int rc;

	words_fail(&s, lang, fail, d->ending.detail);
	if (d->ending.acted) {
		str_addc(&s, '\n');
		words(&s, lang, W_ACTED);
	}
	if (fail != ENGINE_FAIL_INPUT) {
		str_addc(&s, '\n');
		words(&s, lang, W_RETRY_HINT);
	}
	rc = str_ok(&s) ? outbox_add(d->outbox, d->item.user, PART_FAILURE, d->turn, str_view(&s),
				  NULL, e)
	                : err_set(e, E_NOMEM, "a failure's words");
	str_release(&s);
	return rc;
}

/* The answer with what must be said beside it; *empty when there is none. */
static int say_answer(struct dispatcher *d, bool *empty, struct err *e)
{
	struct ending *end = &d->ending;
	struct str s = STR_INIT(ENGINE_ANSWER_MAX + 16384);
	int rc;

	*empty = view_trim(str_view(&end->text)).n == 0;
	if (*empty)
		return 0;
	str_add(&s, str_view(&end->text));
	if (end->history_lost) {
		str_adds(&s, "\n\n");
		words(&s, peer_lang(d->room, d->item.user), W_HISTORY_LOST);
	}
	rc = str_ok(&s)
	             ? outbox_add_answer(d->outbox, d->item.user, d->turn, str_view(&s), empty, e)
	             : err_set(e, E_NOMEM, "an answer of %zu bytes", end->text.n);
	str_release(&s);
	return rc;
}

static int say_interrupted(struct dispatcher *d, struct err *e)
{
	enum control_language lang = peer_lang(d->room, d->item.user);
	struct str excerpt = STR_INIT(1024), s = STR_INIT(8192);
	struct peer peer;
	int rc = peer_load(d->room, d->item.user, &peer, e);

	prompt_excerpt(&excerpt, d->room, &d->item, EXCERPT_CHARS);
	words(&s, lang, W_INTERRUPTED, str_cstr(&excerpt));
	if (rc == 1 && peer.asked > 0) {
		str_addc(&s, '\n');
		words(&s, lang, W_ASK_LOST);
	}
	if (rc >= 0)
		rc = str_ok(&s) ? outbox_add(d->outbox, d->item.user, PART_FAILURE, d->turn,
					  str_view(&s), NULL, e)
		                : err_set(e, E_NOMEM, "an interruption's words");
	str_release(&excerpt);
	str_release(&s);
	return rc;
}

static int say_end(struct dispatcher *d, struct err *e)
{
	struct ending *end = &d->ending;
	bool empty;

	if (!from_phone(d) || d->fate == FATE_STOPPED || d->fate == FATE_ABANDONED)
		return 0;
	if (end->row == INBOX_INTERRUPTED)
		return say_interrupted(d, e);
	if (say_answer(d, &empty, e) < 0 ||
		(d->parcel && parcel_store(d->parcel, PART_ANSWER, e) < 0))
		return -1;
	if (end->fail != ENGINE_OK)
		return say_failure(d, end->fail, e);
	if (!empty || (d->parcel && !parcel_empty(d->parcel)))
		return 0;
	end->row = INBOX_FAILED;
	return say_failure(d, ENGINE_FAIL_EMPTY, e);
}

/* The one transaction in which a turn ends. */
static int store_end(struct dispatcher *d, const struct engine_event *ev, struct err *e)
{
	int rc;

	if (db_begin(d->room->db, e) < 0)
		return -1;
	rc = outbox_drop_progress(d->outbox, d->turn, e);
	if (rc == 0 && ev && ev->save)
		rc = ev->save(ev->save_arg, e);
	if (rc == 0)
		rc = say_end(d, e);
	if (rc == 0)
		rc = inbox_move(d->room, d->item.seq, d->ending.row, d->turn, e);
	return sql_end(d->room->db, rc, e);
}

static void go_idle(struct dispatcher *d)
{
	d->handled++;
	d->failed += d->ending.row == INBOX_FAILED;
	d->item.seq = 0;
	d->turn = 0;
	d->pending = false;
	if (d->parcel)
		parcel_done(d->parcel);
	parcel_close(&d->parcel);
	str_release(&d->ending.text);
	outbox_kick(d->outbox);
	dispatcher_kick(d);
}

static void end_turn(struct dispatcher *d, const struct engine_event *ev)
{
	struct err e = ERR_INIT;
	bool had_history = ev && ev->save;

	timer_disarm(d->progress);
	questions_end(d->questions);
	typing(d, false);
	hurry(d, false);
	if (store_end(d, ev, &e) == 0) {
		go_idle(d);
		return;
	}
	log_error(d->room->log, "dispatch", "the end of turn %llu: %s", (unsigned long long)d->turn,
		e.msg);
	d->ending.history_lost = had_history;
	err_clear(&e);
	if (store_end(d, NULL, &e) == 0) {
		go_idle(d);
		return;
	}
	d->pending = true;
	failed(d, &e);
}

static enum inbox_state row_of(const struct dispatcher *d, enum engine_fail fail)
{
	switch (d->fate) {
	case FATE_STOPPED: return INBOX_STOPPED;
	case FATE_ABANDONED: return INBOX_DROPPED;
	case FATE_SHUTDOWN:
		if (fail == ENGINE_FAIL_CANCELLED)
			return INBOX_INTERRUPTED;
		break;
	case FATE_RUNS: break;
	}
	return fail == ENGINE_OK ? INBOX_DONE : INBOX_FAILED;
}

/* What the answer wants sent goes into the parcel, and what it says into the ending, where it
 * outlives the event: the disk may not take it now. */
static int take_answer(struct dispatcher *d, struct view text, struct err *e)
{
	struct str *out = &d->ending.text;
	bool whole = d->ending.fail == ENGINE_OK;

	if (d->parcel && d->ending.row != INBOX_INTERRUPTED)
		return parcel_answer(d->parcel, text, whole, out, e);
	return str_add(out, view_cut(text, ENGINE_ANSWER_MAX)) < 0
	               ? err_set(e, E_NOMEM, "an answer of %zu bytes", text.n)
	               : 0;
}

static void set_ending(struct dispatcher *d, const struct engine_event *ev)
{
	struct err e = ERR_INIT;

	str_release(&d->ending.text);
	d->ending = (struct ending){ .row = row_of(d, ev->fail),
		.fail = ev->fail,
		.acted = ev->acted,
		.text = STR_INIT(ENGINE_ANSWER_MAX) };
	(void)copy_z(d->ending.detail, sizeof(d->ending.detail),
		view_cut(view_of(ev->detail), sizeof(d->ending.detail) - 1));
	if (take_answer(d, ev->text, &e) == 0)
		return;
	log_error(d->room->log, "dispatch", "%s", e.msg);
	d->ending.fail = ENGINE_FAIL_STORAGE;
}

/* --- Events ----------------------------------------------------------------------------------- */

/* A terminal is told where files are: behind what it has been shown, or of what it is yet to be. */
static void name_files(struct dispatcher *d, const struct engine_event *done, struct str *text)
{
	struct engine_event ev = { .type = ENGINE_TEXT, .turn = done->turn };
	struct str names = STR_INIT(1 << 20);

	parcel_name(d->room, d->item.user, &names);
	ev.text = str_view(&names);
	if (names.n > 0 && d->streamed) {
		d->on_event(d->arg, d->item.seq, &ev);
	} else if (names.n > 0) {
		str_add(text, done->text);
		str_add(text, ev.text);
	}
	str_release(&names);
}

static void on_done(struct dispatcher *d, const struct engine_event *ev)
{
	struct engine_event copy = *ev;
	struct str text = STR_INIT(2 * ENGINE_ANSWER_MAX);
	int64_t seq = d->item.seq;
	bool tell = !from_phone(d) && d->fate != FATE_ABANDONED && d->on_event;

	log_info(d->room->log, "dispatch", "turn %llu ended: %s%s%s", (unsigned long long)d->turn,
		engine_fail_name(ev->fail), ev->detail && *ev->detail ? ": " : "",
		ev->detail ? ev->detail : "");
	set_ending(d, ev);
	if (tell && ev->fail == ENGINE_OK)
		name_files(d, ev, &text);
	end_turn(d, ev);
	copy.save = NULL;
	if (text.n > 0 && str_ok(&text))
		copy.text = str_view(&text);
	if (tell)
		d->on_event(d->arg, seq, &copy);
	str_release(&text);
}

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

/* What it wants sent is sent, as of an answer. The out folder is that of turns. */
static int tell_notice(struct dispatcher *d, const char *user, struct view notice, struct err *e)
{
	struct str text = STR_INIT(ENGINE_ANSWER_MAX);
	struct parcel *files = NULL;
	int rc = parcel_open(&files, d->room, d->outbox, user, 0, e);

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
		on_done(d, ev);
		return;
	}
	if (!from_phone(d)) {
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
		typing(d, false); /* it is the user's turn to write */
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

static void on_answer(void *arg, const char *id, int choice, bool stops)
{
	struct dispatcher *d = arg;
	struct err e = ERR_INIT;

	if (dispatcher_answer(d, id, choice, &e) < 0)
		log_warn(d->room->log, "dispatch", "an answer came to nothing: %s", e.msg);
	if (!stops || !dispatcher_stop(d))
		return;
	err_clear(&e);
	if (outbox_notice(d->outbox, d->item.user, PART_STOP, 0, W_STOPPED, NULL, &e) < 0)
		log_warn(d->room->log, "dispatch", "the stop was not told: %s", e.msg);
	outbox_kick(d->outbox);
}

static void on_progress(void *arg)
{
	struct dispatcher *d = arg;
	struct err e = ERR_INIT;

	if (!from_phone(d) || d->fate != FATE_RUNS || questions_waiting(d->questions, NULL) > 0)
		return;
	if (outbox_notice(d->outbox, d->item.user, PART_PROGRESS, d->turn, W_STILL_WORKING, NULL,
		    &e) < 0)
		log_warn(d->room->log, "dispatch", "progress was not told: %s", e.msg);
	outbox_kick(d->outbox);
}

/* --- Taking the next -------------------------------------------------------------------------- */

/* Whatever comes of the rest of the message: what was said is not known. */
static int tell_unheard(struct dispatcher *d, struct err *e)
{
	if (d->prompt.unheard == HEARD_TEXT)
		return 0;
	return outbox_merge(d->outbox, d->item.user, PART_REPLY, words_unheard(d->prompt.unheard),
		NULL, e);
}

/* "Running", under a turn number never used before. */
static int store_start(struct dispatcher *d, struct err *e)
{
	int64_t turn;
	int rc;

	if (db_begin(d->room->db, e) < 0)
		return -1;
	rc = sql_meta(d->room->db, "turn", &turn, e);
	if (rc == 0)
		rc = sql_set_meta(d->room->db, "turn", ++turn, e);
	if (rc == 0)
		rc = inbox_move(d->room, d->item.seq, INBOX_RUNNING, (uint64_t)turn, e);
	str_reset(&d->note);
	/* A command of the engine's stands alone. */
	if (rc == 0 && from_phone(d) && !view_starts(str_view(&d->prompt.text), VIEW("/")))
		rc = parcel_note(d->room, d->item.user, &d->note, e);
	if (rc == 0)
		rc = tell_unheard(d, e);
	if (rc == 0)
		d->turn = (uint64_t)turn;
	rc = sql_end(d->room->db, rc, e);
	outbox_kick(d->outbox);
	return rc;
}

/* The folder for files is there, and those of the phone's turn have a place to go. */
static void begin_files(struct dispatcher *d)
{
	struct err e = ERR_INIT;

	outfolder_begin(d->room);
	if (from_phone(d) && d->room->workspace &&
		parcel_open(&d->parcel, d->room, d->outbox, d->item.user, d->turn, &e) < 0)
		log_warn(d->room->log, "dispatch", "%s", e.msg);
}

static void start(struct dispatcher *d)
{
	struct str text = STR_INIT(INBOX_TEXT_MAX + 65536);
	struct turn_input in = { .turn = d->turn,
		.conversation = d->item.user,
		.origin = d->item.origin,
		.owner = room_is_owner(d->room, d->item.user),
		.text = str_view(&d->prompt.text),
		.quoted = d->prompt.quoted,
		.language = lang_name(
			d->room->language != LANG_AUTO ? d->room->language : d->item.lang),
		.files = d->prompt.files,
		.nfiles = d->prompt.nfiles,
		.media = d->prompt.media };
	struct err e = ERR_INIT;

	if (d->note.n > 0 && str_add(&text, str_view(&d->note)) == 0 &&
		str_add(&text, in.text) == 0) {
		in.text = str_view(&text);
		in.quoted += d->note.n;
	}
	d->streamed = false;
	begin_files(d);
	test_halt("turn.start");
	log_info(d->room->log, "dispatch", "turn %llu starts with message %s",
		(unsigned long long)d->turn, *d->item.id ? d->item.id : "of the terminal");
	hurry(d, true);
	typing(d, true);
	timer_arm(d->progress, DISPATCHER_PROGRESS_MS);
	if (turns_start(d->turns, &in, &e) < 0) {
		struct engine_event ev = { .type = ENGINE_DONE,
			.turn = d->turn,
			.fail = ENGINE_FAIL_INTERNAL,
			.detail = e.msg };

		on_done(d, &ev);
	}
	str_release(&text);
}

/* The next message of somebody who is served. 1, 0, -1. */
static int next_served(struct dispatcher *d, struct err *e)
{
	for (;;) {
		int rc = inbox_head(d->room, &d->item, e);

		if (rc != 1 || room_serves(d->room, d->item.user))
			return rc;
		log_warn(d->room->log, "dispatch",
			"a message of a user no longer served is dropped");
		if (inbox_move(d->room, d->item.seq, INBOX_DROPPED, 0, e) < 0)
			return -1;
		media_kick(d->media);
	}
}

/* The head of the queue, in d->item, is waited for; or nothing is. */
static void await(struct dispatcher *d, bool on)
{
	if (!on && !d->awaited)
		return;
	d->awaited = on ? d->item.seq : 0;
	typing(d, on);
	hurry(d, on);
	if (on && d->prompt.wait_ms > 0)
		timer_arm(d->kick, d->prompt.wait_ms);
}

/* Nothing of it can be had: that is its answer. */
static int tell_nothing(struct dispatcher *d, struct err *e)
{
	struct str s = STR_INIT(PART_TEXT_MAX);
	int rc = 0;

	if (prompt_sorry(&d->prompt, d->room, peer_lang(d->room, d->item.user), &s) < 0)
		rc = err_set(e, E_NOMEM, "why nothing came through");
	if (rc == 0 && s.n > 0)
		rc = outbox_add(d->outbox, d->item.user, PART_REPLY, 0, str_view(&s), NULL, e);
	if (rc == 0)
		rc = tell_unheard(d, e);
	str_release(&s);
	return rc;
}

static int end_nothing(struct dispatcher *d, struct err *e)
{
	int rc;

	if (db_begin(d->room->db, e) < 0)
		return -1;
	rc = tell_nothing(d, e);
	if (rc == 0)
		rc = inbox_move(d->room, d->item.seq, INBOX_FAILED, 0, e);
	rc = sql_end(d->room->db, rc, e);
	outbox_kick(d->outbox);
	return rc;
}

/* 1: what is at the head can run. 0: it waits, or is out of the way. */
static int make_ready(struct dispatcher *d, bool *waits, struct err *e)
{
	if (d->item.seq == d->dropped)
		return inbox_move(d->room, d->item.seq, INBOX_STOPPED, 0, e);
	if (prompt_of(&d->prompt, d->room, &d->item, e) < 0)
		return -1;
	if (d->prompt.state == PROMPT_NOTHING)
		return end_nothing(d, e);
	*waits = d->prompt.state == PROMPT_WAITS;
	return !*waits;
}

/* The next that can run: 1. 0: there is none, or it is awaited. */
static int next_ready(struct dispatcher *d, struct err *e)
{
	bool waits = false;
	int rc;

	while ((rc = next_served(d, e)) == 1 && (rc = make_ready(d, &waits, e)) == 0 && !waits)
		;
	if (rc == 1)
		d->awaited = 0; /* typing goes on */
	else
		await(d, waits);
	return rc;
}

static void take(struct dispatcher *d)
{
	struct err e = ERR_INIT;
	bool paused = false;
	int rc = dispatcher_paused(d, &paused, &e);

	if (rc == 0 && !paused)
		rc = next_ready(d, &e);
	else
		await(d, false);
	if (rc == 1)
		rc = store_start(d, &e) < 0 ? -1 : 1;
	if (rc != 1)
		d->item.seq = 0;
	if (rc < 0) {
		failed(d, &e);
		return;
	}
	d->failing = false;
	if (rc != 1)
		return;
	d->fate = FATE_RUNS;
	start(d);
}

static void on_kick(void *arg)
{
	struct dispatcher *d = arg;

	if (d->item.seq || turns_running(d->turns))
		return;
	/* The next turn might change what the last one wants sent. */
	if (outbox_copying(d->outbox)) {
		dispatcher_kick(d);
		return;
	}
	if (d->running)
		take(d);
	else if (d->idle) {
		dispatcher_idle_cb *cb = d->idle;

		d->idle = NULL;
		cb(d->idle_arg);
	}
}

/* After the database has failed. */
static void on_store(void *arg)
{
	struct dispatcher *d = arg;
	struct err e = ERR_INIT;

	if (!d->pending) {
		dispatcher_kick(d);
	} else if (store_end(d, NULL, &e) == 0) {
		d->failing = false;
		go_idle(d);
	} else {
		failed(d, &e);
	}
}

/* --- Healing ---------------------------------------------------------------------------------- */

static int heal_one(struct dispatcher *d, struct err *e)
{
	bool phone = d->item.origin == ORIGIN_PHONE;

	if (phone && say_interrupted(d, e) < 0)
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
	typing(d, false);
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
	typing(d, false);
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
	await(d, false);
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
	await(d, false);
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
		typing(d, true);
	return 0;
}
