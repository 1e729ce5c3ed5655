/* What comes in: each message is decided on, and made durable, in one transaction. */
#include "channel/control-private.h"

#include "base/testhook.h"
#include "base/text.h"
#include "channel/merge.h"
#include "channel/peer.h"
#include "channel/quote.h"
#include "channel/sql.h"

#include <string.h>

/* One message on its way through. */
struct intake {
	const struct chan_msg *msg;
	enum command_parse parse;
	struct command_call call;
	struct question_reading answer;
	int64_t written_at;
	bool obeyed; /* a /stop that was obeyed when it could not be stored */
	bool spoken; /* what would be a command, had it been typed */
	enum disposition what;
	struct str reply;    /* to a command or an answer */
	enum part_kind kind; /* of the reply */
};

/* --- The prompt ------------------------------------------------------------------------------- */

/* Is there anything of its own that can be had? */
static bool has_items(const struct chan_msg *m)
{
	for (size_t i = 0; i < m->nitems; i++)
		if (!m->items[i].quoted && m->items[i].kind != CHAN_OTHER)
			return true;
	return false;
}

/* What a machine heard must not begin like a command: an agent has commands of its own, and the
 * engine takes some from the owner. */
static void put_spoken(enum control_language lang, struct view text, struct str *out)
{
	struct str kind = STR_INIT(64), said = STR_INIT(INBOX_TEXT_MAX);

	words(&kind, lang, W_KIND_VOICE);
	str_add(&said, text);
	words(out, lang, W_HEARD, str_cstr(&kind), str_cstr(&said));
	out->failed |= !str_ok(&kind) || !str_ok(&said);
	str_release(&kind);
	str_release(&said);
}

/* What is stored: the quote and the text (the lines of attachments come when they are known); of
 * one of the engine's own commands the bare command as it knows it, however it was written. */
static int compose(const struct control *c, const struct intake *in, enum control_language lang,
	struct str *out, struct err *e)
{
	enum control_language words_in = lang == LANG_EN ? LANG_EN : LANG_ZH;
	const struct chan_msg *m = in->msg;

	if (in->parse == COMMAND_ENGINE) {
		str_addf(out, "/%s%s%.*s", in->call.engine_name, in->call.arg.n ? " " : "",
			VIEW_FMT(in->call.arg));
	} else {
		if (quote_put(&c->room, words_in, m, out, e) < 0)
			return -1;
		if (in->spoken)
			put_spoken(words_in, m->text, out);
		else
			str_add(out, m->text);
	}
	return str_ok(out) ? 0 : err_set(e, E_NOMEM, "a message of %zu bytes", m->text.n);
}

/* --- Deciding --------------------------------------------------------------------------------- */

/* A row of its own. */
static int put(struct control *c, struct intake *in, enum control_language lang,
	const struct merge *what, int64_t *seq, struct err *e)
{
	const struct chan_msg *m = in->msg;
	int rc = inbox_put(&c->room, m->id, m->from, ORIGIN_PHONE, lang, what->text, seq, e);

	in->what = rc == 1 ? DISP_QUEUED : DISP_NOT_TAKEN;
	if (rc == 1 && in->parse != COMMAND_ENGINE && merge_open(&c->room, *seq, what, e) < 0)
		return -1;
	return rc;
}

static bool brings_quoted(const struct chan_msg *m)
{
	for (size_t i = 0; i < m->nitems; i++)
		if (m->items[i].quoted)
			return true;
	return false;
}

static int put_or_join(struct control *c, struct intake *in, enum control_language lang,
	struct view text, struct err *e)
{
	const struct chan_msg *m = in->msg;
	struct merge what;
	int64_t seq;
	int rc = 0;

	merge_of(&what, m, text);
	if (in->parse != COMMAND_ENGINE)
		rc = merge_join(&c->room, m->from, lang, &what, &seq, e);
	if (rc == 1)
		in->what = DISP_JOINED;
	else if (rc == 0)
		rc = put(c, in, lang, &what, &seq, e);
	if (rc != 1 || in->parse == COMMAND_ENGINE)
		return rc;
	if (media_add(&c->room, seq, m, e) < 0)
		return -1;
	/* What came along with the quote beats what we have of it. */
	if (!brings_quoted(m) && media_quote(&c->room, seq, m->quote_id, e) < 0)
		return -1;
	return 1;
}

/* What is not answered at once: words, attachments, or both. */
static int take_task(struct control *c, struct intake *in, struct err *e)
{
	const struct chan_msg *m = in->msg;
	struct questions *q = dispatcher_questions(c->dispatcher);
	enum control_language lang = peer_lang(&c->room, m->from);
	struct str prompt = STR_INIT(INBOX_TEXT_MAX);
	int rc = compose(c, in, lang, &prompt, e);

	if (rc == 0)
		rc = put_or_join(c, in, lang, str_view(&prompt), e);
	str_release(&prompt);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return outbox_merge(c->outbox, m->from, PART_REPLY, W_NOT_TAKEN,
			NUM(c->room.queue_limit), e);
	/* From here on a bare number no longer means the question before. */
	if (questions_waiting(q, m->from) == 0 && peer_set_asked(&c->room, m->from, 0, e) < 0)
		return -1;
	if (questions_hint(q, m->from))
		return outbox_notice(c->outbox, m->from, PART_REPLY, 0, W_ASK_WAITS, NULL, e);
	return 0;
}

static int take_command(struct control *c, struct intake *in, struct err *e)
{
	struct str word = STR_INIT(512);

	in->what = DISP_CONTROL;
	in->call.user = in->msg->from;
	in->call.lang = peer_lang(&c->room, in->msg->from);
	in->call.reply = &in->reply;
	if (in->obeyed)
		return 0;
	if (command_is_stop(&in->call))
		in->kind = PART_STOP;
	if (in->parse == COMMAND_OURS)
		return command_run(c, &in->call, e);
	words_excerpt(&word, view_of(in->call.word), 20);
	words(&in->reply, in->call.lang, W_UNKNOWN_COMMAND, str_cstr(&word));
	str_release(&word);
	return 0;
}

static int refuse(struct control *c, struct intake *in, enum disposition what, enum word w,
	struct err *e)
{
	in->what = what;
	return outbox_merge(c->outbox, in->msg->from, PART_REPLY, w, NULL, e);
}

/* Effects on the database only. */
static int decide(struct control *c, struct intake *in, struct err *e)
{
	const struct chan_msg *m = in->msg;
	bool text = view_trim(m->text).n > 0;

	if (m->state == CHAN_MSG_UNREADABLE)
		return refuse(c, in, DISP_UNREADABLE, W_UNREADABLE, e);
	if (m->state == CHAN_MSG_UNSUPPORTED || (!text && !has_items(m)))
		return refuse(c, in, DISP_UNSUPPORTED, W_UNSUPPORTED, e);
	if (in->parse == COMMAND_OURS || in->parse == COMMAND_UNKNOWN)
		return take_command(c, in, e);
	if (m->typed && in->parse == COMMAND_NONE &&
		questions_read(dispatcher_questions(c->dispatcher), m, in->written_at, &in->answer,
			e) < 0)
		return -1;
	if (in->answer.verdict == QUESTION_NONE)
		return take_task(c, in, e);
	in->what = DISP_CONTROL;
	return questions_say(dispatcher_questions(c->dispatcher), m->from, &in->answer,
		       &in->reply) < 0
	               ? err_set(e, E_NOMEM, "an answer's reply")
	               : 0;
}

/* Parked parts go when their user writes: a few with any message, all with /more. Below an open
 * question they could pass for it, and the number that is meant for them would answer it. */
static int release(struct control *c, const struct intake *in, struct err *e)
{
	int n;

	if ((in->parse == COMMAND_OURS && !command_releases(&in->call)) ||
		questions_waiting(dispatcher_questions(c->dispatcher), in->msg->from) > 0)
		return 0;
	return outbox_release(c->outbox, in->msg->from, OUTBOX_AUTO, &n, e);
}

static enum control_language written_in(const struct control *c, const struct intake *in)
{
	struct view word = view_of(in->call.word);
	struct peer peer;

	/* A command in Latin letters says nothing about its user. */
	if (in->parse == COMMAND_NONE)
		return words_follow(peer_load(&c->room, in->msg->from, &peer, NULL) == 1
					    ? peer.lang
					    : LANG_AUTO,
			in->msg->text);
	return words_detect(word) == LANG_ZH ? LANG_ZH : LANG_AUTO;
}

static int store_served(struct control *c, struct intake *in, struct err *e)
{
	const struct chan_msg *m = in->msg;

	if (outbox_heard(c->outbox, m->from, m->token, written_in(c, in), e) < 0 ||
		release(c, in, e) < 0 || decide(c, in, e) < 0)
		return -1;
	if (!str_ok(&in->reply))
		return err_set(e, E_NOMEM, "a reply");
	if (in->reply.n == 0)
		return 0;
	return outbox_add(c->outbox, m->from, in->kind, 0, str_view(&in->reply), NULL, e);
}

/* 1, 0, -1: has this message come before, under whatever id? */
static int came_before(const struct control *c, const struct chan_msg *m, struct err *e)
{
	int rc = inbox_seen(&c->room, m->id, e);

	return rc == 0 && m->twin ? inbox_seen(&c->room, m->twin, e) : rc;
}

static int remember(struct control *c, const struct intake *in, bool served, struct err *e)
{
	const struct chan_msg *m = in->msg;

	if (served && m->state == CHAN_MSG_OK &&
		quote_remember(&c->room, m->from, m->id, m->text, "", e) < 0)
		return -1;
	if (m->twin && inbox_see(&c->room, m->twin, in->what, e) < 0)
		return -1;
	return inbox_see(&c->room, m->id, in->what, e);
}

static int note_time(struct control *c, int64_t sent_at, struct err *e)
{
	if (sent_at <= c->room.server_ms)
		return 0;
	c->room.server_ms = sent_at;
	return sql_set_meta(c->room.db, "server_ms", sent_at, e);
}

/* What is done with an answer to a question is done at once; all else waits for the disk later. */
static int begin(struct control *c, const struct chan_msg *m, struct err *e)
{
	if (questions_waiting(dispatcher_questions(c->dispatcher), m->from) > 0)
		return db_begin(c->room.db, e);
	return db_begin_unsynced(c->room.db, e);
}

/* 1: new, stored. 0: it came before. */
static int store(struct control *c, struct intake *in, bool served, struct err *e)
{
	const struct chan_msg *m = in->msg;
	int rc = begin(c, m, e);

	if (rc < 0)
		return -1;
	rc = came_before(c, m, e);
	if (rc != 0)
		return sql_end(c->room.db, rc < 0 ? -1 : 0, e);
	in->what = m->group ? DISP_GROUP : DISP_STRANGER;
	rc = note_time(c, m->sent_at, e);
	if (rc == 0 && served)
		rc = store_served(c, in, e);
	if (rc == 0)
		rc = remember(c, in, served, e);
	if (rc >= 0)
		test_halt("inbox.commit");
	return sql_end(c->room.db, rc, e);
}

/* --- A disk that takes nothing ---------------------------------------------------------------- */

static bool was_obeyed(const struct control *c, const char *id)
{
	for (unsigned int i = 0; i < CONTROL_STOPS && i < c->nstops; i++)
		if (strcmp(c->stops[i], id) == 0)
			return true;
	return false;
}

/* The message comes again, since it is not stored: it must not stop the next turn as well. */
static void remember_stop(struct control *c, const char *id)
{
	char *slot = c->stops[c->nstops++ % CONTROL_STOPS];

	(void)copy_z(slot, CHAN_ID_MAX + 1, view_of(id));
}

static void not_stored(struct control *c, const struct intake *in)
{
	enum control_language lang = peer_lang(&c->room, in->msg->from);
	struct str s = STR_INIT(2048);

	if (command_is_stop(&in->call) && !in->obeyed) {
		remember_stop(c, in->msg->id);
		if (in->call.stop.ran)
			command_name_stopped(c, &in->call.stop, in->msg->from, lang, &s);
		else
			words(&s, lang, W_STOP_NOTHING);
	} else if (!c->intake_told && !in->obeyed) {
		c->intake_told = true;
		words(&s, lang, W_INTAKE_FAILED);
	}
	if (s.n && str_ok(&s))
		outbox_shout(c->outbox, in->msg->from, in->msg->token, str_view(&s));
	str_release(&s);
}

/* --- One message ------------------------------------------------------------------------------ */

static void read_command(struct control *c, struct intake *in)
{
	const struct chan_msg *m = in->msg;
	struct view text = view_trim(m->text);
	struct command_call heard = { .word = "" };

	if (m->state != CHAN_MSG_OK)
		return;
	if (!m->typed) {
		in->spoken = command_parse(c, m->text, &heard) != COMMAND_NONE;
		return;
	}
	in->call.owner = room_is_owner(&c->room, m->from);
	in->parse = command_parse(c, m->text, &in->call);
	if (in->parse == COMMAND_NONE && (view_eqs(text, "更多") || view_eqs(text, "more")) &&
		outbox_has_parked(c->outbox, m->from)) {
		in->parse = COMMAND_OURS;
		command_more(&in->call);
	}
}

/* /stop is obeyed before anything is stored, unless it was already. */
static void obey_stop(struct control *c, struct intake *in)
{
	if (in->parse != COMMAND_OURS || !command_is_stop(&in->call))
		return;
	in->obeyed = was_obeyed(c, in->msg->id);
	if (!in->obeyed && came_before(c, in->msg, NULL) != 1)
		command_fence(c, in->msg->from, &in->call.stop);
}

static void log_intake(const struct control *c, const struct intake *in, int stored)
{
	static const char *const names[] = { "queued", "control", "not taken, the queue is full",
		"from a stranger", "from a group", "unreadable", "unsupported",
		"joined to the message before" };
	bool outside = in->what == DISP_STRANGER || in->what == DISP_GROUP;

	if (stored == 0)
		log_msg(c->room.log, LOG_INFO, "inbox", in->msg->id, "a duplicate, ignored");
	else if (outside)
		log_msg(c->room.log, LOG_INFO, "inbox", in->msg->id, "%s: %s", names[in->what],
			in->msg->from);
	else
		log_msg(c->room.log, LOG_INFO, "inbox", in->msg->id, "%s", names[in->what]);
}

/* store false: an earlier message could not be stored, and their order must hold; only /stop is
 * obeyed. */
static int one_message(struct control *c, const struct chan_msg *m, bool may_store, struct err *e)
{
	struct intake in = { .msg = m,
		.what = DISP_STRANGER,
		.reply = STR_INIT(PART_TEXT_MAX),
		.kind = PART_REPLY };
	bool served = !m->group && room_serves(&c->room, m->from);
	int rc = -1;

	if (served) {
		in.written_at =
			questions_written_at(dispatcher_questions(c->dispatcher), m->sent_at);
		read_command(c, &in);
		obey_stop(c, &in);
	}
	if (may_store)
		rc = store(c, &in, served, e);
	if (rc < 0 && served)
		not_stored(c, &in);
	else if (rc >= 0)
		log_intake(c, &in, rc);
	if (rc > 0 && in.answer.verdict == QUESTION_ANSWER)
		questions_take(dispatcher_questions(c->dispatcher), &in.answer);
	str_release(&in.reply);
	return rc < 0 ? -1 : 0;
}

static void blocked(struct control *c, const struct err *e)
{
	(void)copy_z(c->intake_error, sizeof(c->intake_error), view_of(e->msg));
	log_error(c->room.log, "inbox", "messages cannot be stored: %s", e->msg);
}

int intake_batch(void *arg, const struct chan_msg *msgs, size_t n, struct err *e)
{
	struct control *c = arg;
	bool ok = true;

	outbox_settle(c->outbox);
	for (size_t i = 0; i < n; i++)
		if (one_message(c, &msgs[i], ok, ok ? e : NULL) < 0)
			ok = false;
	if (ok) {
		c->intake_error[0] = '\0';
		c->intake_told = false;
	} else {
		blocked(c, e);
	}
	outbox_kick(c->outbox);
	media_kick(c->media);
	dispatcher_kick(c->dispatcher);
	return ok ? 0 : -1;
}

int intake_settle(void *arg, struct err *e)
{
	struct control *c = arg;

	if (db_sync(c->room.db, e) == 0)
		return 0;
	blocked(c, e);
	return -1;
}
