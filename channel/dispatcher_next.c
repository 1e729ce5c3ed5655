#include "channel/dispatcher-private.h"

#include "base/testhook.h"
#include "channel/outfolder.h"
#include "channel/peer.h"
#include "channel/sql.h"

/* --- Beginning its turn ----------------------------------------------------------------------- */

static const char *lang_name(enum control_language lang)
{
	return lang == LANG_EN ? "en" : "zh";
}

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
	if (rc == 0 && dispatcher_from_phone(d) &&
		!view_starts(str_view(&d->prompt.text), VIEW("/")))
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
	if (dispatcher_from_phone(d) && d->room->workspace &&
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
		.added = d->prompt.added,
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
	dispatcher_hurry(d, true);
	dispatcher_typing(d, true);
	timer_arm(d->progress, DISPATCHER_PROGRESS_MS);
	if (turns_start(d->turns, &in, &e) < 0) {
		struct engine_event ev = { .type = ENGINE_DONE,
			.turn = d->turn,
			.fail = ENGINE_FAIL_INTERNAL,
			.detail = e.msg };

		dispatcher_done(d, &ev);
	}
	str_release(&text);
}

/* --- Which is next ---------------------------------------------------------------------------- */

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

void dispatcher_await(struct dispatcher *d, bool on)
{
	if (!on && !d->awaited)
		return;
	d->awaited = on ? d->item.seq : 0;
	dispatcher_typing(d, on);
	dispatcher_hurry(d, on);
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
		dispatcher_await(d, waits);
	return rc;
}

void dispatcher_take(struct dispatcher *d)
{
	struct err e = ERR_INIT;
	bool paused = false;
	int rc = dispatcher_paused(d, &paused, &e);

	if (rc == 0 && !paused)
		rc = next_ready(d, &e);
	else
		dispatcher_await(d, false);
	if (rc == 1)
		rc = store_start(d, &e) < 0 ? -1 : 1;
	if (rc != 1)
		d->item.seq = 0;
	if (rc < 0) {
		dispatcher_blocked(d, &e);
		return;
	}
	d->failing = false;
	if (rc != 1)
		return;
	d->fate = FATE_RUNS;
	start(d);
}
