#include "channel/dispatcher-private.h"

#include "base/text.h"
#include "channel/peer.h"
#include "channel/sql.h"

/* --- What is said ----------------------------------------------------------------------------- */

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

	*empty = !text_shows(str_view(&end->text));
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

int dispatcher_say_interrupted(struct dispatcher *d, struct err *e)
{
	enum control_language lang = peer_lang(d->room, d->item.user);
	struct str excerpt = STR_INIT(1024), s = STR_INIT(8192);
	struct peer peer;
	int rc = peer_load(d->room, d->item.user, &peer, e);

	prompt_excerpt(&excerpt, d->room, &d->item);
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

	if (!dispatcher_from_phone(d) || d->fate == FATE_STOPPED || d->fate == FATE_ABANDONED)
		return 0;
	if (end->row == INBOX_INTERRUPTED)
		return dispatcher_say_interrupted(d, e);
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

/* --- On disk ---------------------------------------------------------------------------------- */

/* The one transaction in which a turn ends. Where nobody hears of it before its parts go out, these
 * are what it waits for the disk with. */
static int store_end(struct dispatcher *d, const struct engine_event *ev, struct err *e)
{
	struct db *db = d->room->db;
	int rc = dispatcher_from_phone(d) ? db_begin_unsynced(db, e) : db_begin(db, e);

	if (rc < 0)
		return -1;
	rc = outbox_drop_progress(d->outbox, d->turn, e);
	if (rc == 0 && ev && ev->save)
		rc = ev->save(ev->save_arg, e);
	if (rc == 0)
		rc = say_end(d, e);
	if (rc == 0)
		rc = inbox_move(d->room, d->item.seq, d->ending.row, d->turn, e);
	return sql_end(db, rc, e);
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
	dispatcher_typing(d, false);
	dispatcher_hurry(d, false);
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
	dispatcher_blocked(d, &e);
}

void dispatcher_end_again(struct dispatcher *d)
{
	struct err e = ERR_INIT;

	if (store_end(d, NULL, &e) < 0) {
		dispatcher_blocked(d, &e);
		return;
	}
	d->failing = false;
	go_idle(d);
}

/* --- What came of it -------------------------------------------------------------------------- */

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
	if (d->ending.row == INBOX_DONE)
		d->ending.row = INBOX_FAILED; /* so that /retry finds it */
}

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

void dispatcher_done(struct dispatcher *d, const struct engine_event *ev)
{
	struct engine_event copy = *ev;
	struct str text = STR_INIT(2 * ENGINE_ANSWER_MAX);
	int64_t seq = d->item.seq;
	bool tell = !dispatcher_from_phone(d) && d->fate != FATE_ABANDONED && d->on_event;

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
