#include "channel/outbox.h"

#include "base/text.h"
#include "channel/outbox-private.h"
#include "channel/sql.h"

#include <stdlib.h>
#include <string.h>

/* Room for "more follows" in the last part that may be sent. */
#define FOLLOWS_CHARS 48

const struct part_rule part_rules[PART_KINDS] = {
	[PART_TEXT] = { .cap = 7, .follows = true, .parks = true },
	[PART_PROGRESS] = { .cap = 7 },
	[PART_REPLY] = { .cap = 7, .urgent = true, .parks = true },
	[PART_ANSWER] = { .cap = 8, .follows = true, .parks = true },
	[PART_QUESTION] = { .cap = 9, .whole = true },
	[PART_FAILURE] = { .cap = PEER_SENDS_MAX, .parks = true },
	[PART_STOP] = { .cap = PEER_SENDS_MAX, .urgent = true, .unspaced = true, .parks = true },
};

int outbox_cap(enum part_kind kind)
{
	return part_rules[kind].cap;
}

/* --- States ----------------------------------------------------------------------------------- */

static void question_news(struct outbox *o, int64_t part, enum part_state to)
{
	if (to == PART_WAITING || to == PART_IN_FLIGHT)
		return;
	if (o->nnews == OUTBOX_NEWS) {
		log_warn(o->room->log, "outbox", "too many questions at once");
		return;
	}
	o->news[o->nnews].part = part;
	o->news[o->nnews++].shown = to == PART_ACCEPTED || to == PART_UNCONFIRMED;
}

int outbox_move(struct outbox *o, struct part_ref ref, enum part_state to, const char *why,
	struct err *e)
{
	if (to == PART_PARKED && !part_rules[ref.kind].parks)
		to = PART_DROPPED;
	if (part_move(o->room, ref.seq, to, why, e) < 0)
		return -1;
	if (ref.kind == PART_QUESTION)
		question_news(o, ref.seq, to);
	return 0;
}

int outbox_move_each(struct outbox *o, int rc, struct part_refs *refs, enum part_state to,
	const char *why, int *n, struct err *e)
{
	for (size_t i = 0; rc >= 0 && i < refs->n; i++)
		rc = outbox_move(o, refs->v[i], to, why, e);
	if (n)
		*n = rc < 0 ? 0 : (int)refs->n;
	part_refs_release(refs);
	return rc < 0 ? -1 : 0;
}

struct lane *outbox_lane(struct outbox *o, const char *user)
{
	struct lane *l;

	for (size_t i = 0; i < o->nlanes; i++)
		if (strcmp(o->lanes[i].user, user) == 0)
			return &o->lanes[i];
	l = realloc(o->lanes, (o->nlanes + 1) * sizeof(*l));
	if (!l)
		return NULL;
	o->lanes = l;
	l += o->nlanes;
	*l = (struct lane){ .has_sent = false };
	if (copy_z(l->user, sizeof(l->user), view_of(user)) < 0)
		return NULL;
	o->nlanes++;
	return l;
}

/* --- Open and close --------------------------------------------------------------------------- */

static void on_timer(void *arg)
{
	outbox_step(arg);
}

static const char *const in_flight = "in flight when the program ended";

/* One that has had its last attempt: its user hears that it may be lost. 1, 0: there is none. */
static int give_up_flight(struct outbox *o, struct err *e)
{
	char user[CHAN_ID_MAX + 1];
	struct part_ref ref = { .seq = 0 };
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, o->room->db, e,
		    "SELECT seq, kind, user FROM channel_outbox WHERE state = 1 AND attempts >= ?"
		    " LIMIT 1",
		    "i", OUTBOX_ATTEMPTS) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1) {
		ref.seq = stmt_col_int(s, 0);
		ref.kind = (enum part_kind)stmt_col_int(s, 1);
		if (copy_z(user, sizeof(user), stmt_col_text(s, 2)) < 0)
			user[0] = '\0';
	}
	stmt_close(&s);
	if (rc != 1)
		return rc;
	if (outbox_move(o, ref, PART_UNKNOWN, in_flight, e) < 0 ||
		(part_rules[ref.kind].follows && user[0] &&
			outbox_merge(o, user, PART_FAILURE, W_MAYBE_LOST, NULL, e) < 0))
		return -1;
	return 1;
}

static int heal_flights(struct outbox *o, struct err *e)
{
	struct part_refs refs;
	int rc;

	while ((rc = give_up_flight(o, e)) == 1)
		;
	if (rc < 0)
		return -1;
	rc = part_select(o->room, &refs, e, "state = 1", NULL);
	return outbox_move_each(o, rc, &refs, PART_WAITING, in_flight, NULL, e);
}

/* The questions of a turn that is no more; "still working" of one as well. */
static int heal_leftovers(struct outbox *o, struct err *e)
{
	struct part_refs refs;
	int rc = part_select(o->room, &refs, e, "state IN (0, 1) AND kind IN (?, ?)", "ii",
		PART_QUESTION, PART_PROGRESS);

	return outbox_move_each(o, rc, &refs, PART_DROPPED, "its turn is over", NULL, e);
}

/* A throttled user stays so over a restart. */
static int heal_holds(struct outbox *o, struct err *e)
{
	char user[CHAN_ID_MAX + 1] = "";
	int rc, n;

	while ((rc = part_next_user(o->room, user, e)) == 1) {
		struct lane *l = outbox_lane(o, user);

		if (!l)
			return err_set(e, E_NOMEM, "the outbox");
		if (part_count(o->room, &n, e,
			    "state = 0 AND user = ? AND refusals > 0 AND last = ?", "si", user,
			    CHAN_THROTTLED) < 0)
			return -1;
		if (n > 0)
			l->hold_until = loop_now(o->room->loop) + OUTBOX_THROTTLE_MS;
	}
	return rc;
}

static int heal(struct outbox *o, struct err *e)
{
	int rc = 0;

	if (db_begin(o->room->db, e) < 0)
		return -1;
	if (heal_leftovers(o, e) < 0 || heal_flights(o, e) < 0 || heal_holds(o, e) < 0)
		rc = -1;
	o->nnews = 0; /* nobody waits for the answers */
	return sql_end(o->room->db, rc, e);
}

int outbox_open(struct outbox **out, const struct room *r, struct err *e)
{
	struct outbox *o = calloc(1, sizeof(*o));

	*out = NULL;
	if (!o)
		return err_set(e, E_NOMEM, "the outbox");
	o->room = r;
	part_init(&o->part);
	o->shout.text = (struct str)STR_INIT(PART_TEXT_MAX);
	o->file.fd = -1;
	if (timer_new(&o->timer, r->loop, on_timer, o, e) < 0 || heal(o, e) < 0 ||
		outbox_files_open(o, e) < 0) {
		outbox_close(&o);
		return -1;
	}
	*out = o;
	return 0;
}

void outbox_close(struct outbox **op)
{
	struct outbox *o = *op;

	*op = NULL;
	if (!o)
		return;
	if (o->flight == FLIGHT_SENT || o->flight == FLIGHT_SHOUT)
		o->room->channel->ops->abort_send(o->room->channel);
	outbox_files_close(o);
	timer_free(&o->timer);
	part_release(&o->part);
	str_release(&o->shout.text);
	free(o->lanes);
	free(o);
}

void outbox_on_question(struct outbox *o, outbox_question_cb *cb, void *arg)
{
	o->on_question = cb;
	o->question_arg = arg;
}

void outbox_run(struct outbox *o)
{
	o->running = true;
	outbox_kick(o);
}

void outbox_halt(struct outbox *o, void (*cb)(void *), void *arg)
{
	o->running = false;
	o->on_landed = cb;
	o->landed_arg = arg;
}

bool outbox_flying(const struct outbox *o)
{
	return o->flight != FLIGHT_NONE;
}

void outbox_kick(struct outbox *o)
{
	timer_arm(o->timer, 0);
}

/* --- Adding ----------------------------------------------------------------------------------- */

int outbox_cut(const struct room *r, struct view text, const struct part_rule *rule,
	struct chunks *c, struct err *e)
{
	size_t limit = rule->whole ? CHUNK_LIMIT_MAX : r->text_limit;

	if (chunk_text(text, limit, c, e) < 0)
		return -1;
	if (c->n < 2 || !rule->follows || limit < (size_t)4 * FOLLOWS_CHARS)
		return 0;
	chunks_release(c);
	return chunk_text(text, limit - FOLLOWS_CHARS, c, e);
}

static int add_chunk(struct outbox *o, const struct part_new *n, bool cut_off, int64_t *seq,
	struct err *e)
{
	struct part_new with = *n;
	struct str text = STR_INIT(PART_TEXT_MAX);
	int rc;

	if (!cut_off)
		return part_add(o->room, n, seq, e);
	str_add(&text, n->text);
	str_adds(&text, "\n\n");
	words(&text, peer_lang(o->room, n->user), W_ANSWER_CUT);
	with.text = str_view(&text);
	rc = str_ok(&text) ? part_add(o->room, &with, seq, e) : err_set(e, E_NOMEM, "a reply");
	str_release(&text);
	return rc;
}

int outbox_add_chunks(struct outbox *o, struct part_new *n, const struct chunks *c, int64_t *last,
	struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->n && i < OUTBOX_PARTS_MAX; i++) {
		bool full = i + 1 == OUTBOX_PARTS_MAX;
		bool end = full || i + 1 == c->n;

		n->text = c->parts[i];
		rc = add_chunk(o, n, full && i + 1 < c->n, end ? last : NULL, e);
	}
	return rc;
}

static int add(struct outbox *o, const struct part_new *like, struct view text, int64_t *last,
	struct err *e)
{
	const struct part_rule *rule = &part_rules[like->kind];
	struct part_new n = *like;
	struct chunks c = { NULL, 0, STR_INIT(FORMAT_OUT_MAX) };
	int rc = outbox_cut(o->room, text, rule, &c, e);

	n.urgent = rule->urgent;
	if (rc == 0)
		rc = outbox_add_chunks(o, &n, &c, last, e);
	chunks_release(&c);
	return rc;
}

int outbox_add(struct outbox *o, const char *user, enum part_kind kind, uint64_t turn,
	struct view text, int64_t *last, struct err *e)
{
	return add(o, &(struct part_new){ .user = user, .kind = kind, .turn = turn, .word = -1 },
		text, last, e);
}

int outbox_add_markdown(struct outbox *o, const char *user, enum part_kind kind, uint64_t turn,
	struct view markdown, bool *empty, struct err *e)
{
	struct format_opts opts = { .mode = o->room->mode };
	struct str text = STR_INIT(FORMAT_OUT_MAX);
	int64_t last = 0; /* a text of bare fences gives no part at all */
	int rc = format_text(markdown, &opts, &text, e);

	if (rc == 0 && view_trim(str_view(&text)).n > 0)
		rc = outbox_add(o, user, kind, turn, str_view(&text), &last, e);
	*empty = rc == 0 && last == 0;
	str_release(&text);
	return rc;
}

int outbox_notice(struct outbox *o, const char *user, enum part_kind kind, uint64_t turn,
	enum word w, const char *arg, struct err *e)
{
	struct str text = STR_INIT(PART_TEXT_MAX);
	int rc;

	if (words(&text, peer_lang(o->room, user), w, arg) < 0)
		rc = err_set(e, E_NOMEM, "a notice");
	else
		rc = outbox_add(o, user, kind, turn, str_view(&text), NULL, e);
	str_release(&text);
	return rc;
}

/* What was parked is news again. */
static int unpark(struct outbox *o, int64_t seq, struct err *e)
{
	struct part_refs refs;
	int rc = part_select(o->room, &refs, e, "state = 6 AND seq = ?", "l", seq);

	return outbox_move_each(o, rc, &refs, PART_WAITING, "said once more", NULL, e);
}

int outbox_merge(struct outbox *o, const char *user, enum part_kind kind, enum word w,
	const char *arg, struct err *e)
{
	struct part_new like = { .user = user, .kind = kind, .word = (int)w };
	struct str text = STR_INIT(PART_TEXT_MAX);
	int64_t seq = 0;
	int n = 1;
	int rc = part_merge(o->room, user, (int)w, &seq, &n, e);

	if (rc < 0)
		return -1;
	if (words(&text, peer_lang(o->room, user), w, NUM(n), arg) < 0)
		rc = err_set(e, E_NOMEM, "a notice");
	else if (rc == 0)
		rc = add(o, &like, str_view(&text), NULL, e);
	else if ((rc = part_set_text(o->room, seq, str_view(&text), e)) == 0)
		rc = unpark(o, seq, e);
	str_release(&text);
	return rc;
}

void outbox_shout(struct outbox *o, const char *user, const char *token, struct view text)
{
	if (o->flight == FLIGHT_SHOUT || !*token)
		return;
	str_reset(&o->shout.text);
	if (copy_z(o->shout.user, sizeof(o->shout.user), view_of(user)) < 0 ||
		copy_z(o->shout.token, sizeof(o->shout.token), view_of(token)) < 0)
		return;
	str_add(&o->shout.text, text);
	outbox_kick(o);
}

/* --- Parked ----------------------------------------------------------------------------------- */

int outbox_heard(struct outbox *o, const char *user, const char *token, enum control_language lang,
	struct err *e)
{
	struct lane *l = outbox_lane(o, user);
	/* One that has landed may have to go again, and is then counted already. */
	bool flying = (o->flight == FLIGHT_SENT || o->flight == FLIGHT_LANDED) &&
	              strcmp(o->part.user, user) == 0;

	if (!l)
		return err_set(e, E_NOMEM, "the outbox");
	if (peer_heard(o->room, user, token, lang, flying ? 1 : 0, e) < 0 ||
		sql_run(o->room->db, e,
			"UPDATE channel_outbox SET counted = 0 WHERE state IN (0, 6) AND user = ?",
			"s", user) < 0)
		return -1;
	l->hold_until = 0;
	o->held = o->expired = false;
	return 0;
}

int outbox_release(struct outbox *o, const char *user, int max, int *n, struct err *e)
{
	struct part_refs refs;
	int rc;

	/* An outcome that is not known keeps its attempts; a refusal did not use any up. */
	if (sql_run(o->room->db, e,
		    "UPDATE channel_outbox SET refusals = 0, attempts = CASE WHEN attempts > 0 AND last = ?"
		    " THEN min(attempts, ?) ELSE 0 END WHERE state = 6 AND user = ?",
		    "iis", CHAN_UNKNOWN, OUTBOX_ATTEMPTS - 1, user) < 0)
		return -1;
	rc = part_select(o->room, &refs, e, "state = 6 AND user = ? ORDER BY place, sub LIMIT ?",
		"si", user, max);
	return outbox_move_each(o, rc, &refs, PART_WAITING, "the user wrote", n, e);
}

int outbox_again(struct outbox *o, const char *user, int *n, struct err *e)
{
	static const char *const lost = "state = 5 AND stopped = 0 AND user = ? AND kind IN (0, 3)"
					" AND moved_at > ? ORDER BY place, sub";
	int64_t since = room_now(o->room) - PEER_WINDOW_MS;
	struct part_refs refs;
	int rc = part_select(o->room, &refs, e, lost, "sl", user, since);

	for (size_t i = 0; rc >= 0 && i < refs.n; i++)
		rc = sql_run(o->room->db, e,
			"UPDATE channel_outbox SET attempts = ?, counted = 0 WHERE seq = ?", "il",
			OUTBOX_ATTEMPTS - 1, refs.v[i].seq);
	return outbox_move_each(o, rc, &refs, PART_WAITING, "asked for again", n, e);
}

bool outbox_has_parked(struct outbox *o, const char *user)
{
	int n;

	return part_count(o->room, &n, NULL, "state = 6 AND user = ?", "s", user) == 0 && n > 0;
}

/* --- Stopping --------------------------------------------------------------------------------- */

static bool is_stopped(const struct part *p, const char *user, uint64_t turn)
{
	if (turn)
		return p->turn == turn;
	return part_rules[p->kind].follows && strcmp(p->user, user) == 0;
}

void outbox_fence(struct outbox *o, const char *user, uint64_t turn)
{
	bool mine = is_stopped(&o->part, user, turn);

	if (o->flight != FLIGHT_SENT || (turn == 0 && !mine))
		return;
	/* Also a part of another turn or user makes way: it is tried again as after any broken
	 * line. */
	o->room->channel->ops->abort_send(o->room->channel);
	o->flight = FLIGHT_LANDED;
	o->stopped = mine;
	o->outcome = CHAN_UNKNOWN;
	o->message_id[0] = '\0';
	outbox_file_close(o);
	(void)copy_z(o->why, sizeof(o->why), VIEW("aborted by /stop"));
	outbox_kick(o);
}

int outbox_drop(struct outbox *o, const char *user, uint64_t turn, int *n, struct err *e)
{
	struct part_refs refs;
	int rc;

	if (turn)
		rc = part_select(o->room, &refs, e,
			"state IN (0, 6) AND turn = ? AND kind <> ? ORDER BY place, sub", "li",
			(int64_t)turn, PART_STOP);
	else
		rc = part_select(o->room, &refs, e,
			"state = 0 AND user = ? AND kind IN (0, 3) ORDER BY place, sub", "s", user);
	o->sweep = true;
	if (outbox_move_each(o, rc, &refs, PART_DROPPED, "stopped", n, e) < 0)
		return -1;
	if (o->flight != FLIGHT_LANDED || !o->stopped)
		return 0;
	/* In this transaction too, so that no crash can bring it back. */
	*n += 1;
	return sql_run(o->room->db, e,
		"UPDATE channel_outbox SET state = 5, stopped = 1 WHERE seq = ?", "l", o->part.seq);
}

int outbox_drop_progress(struct outbox *o, uint64_t turn, struct err *e)
{
	struct part_refs refs;
	int rc = part_select(o->room, &refs, e, "state = 0 AND turn = ? AND kind IN (?, ?)", "lii",
		(int64_t)turn, PART_PROGRESS, PART_QUESTION);

	return outbox_move_each(o, rc, &refs, PART_DROPPED, "its turn is over", NULL, e);
}

int outbox_cancel(struct outbox *o, int64_t part, struct err *e)
{
	struct part_refs refs;
	int rc = part_select(o->room, &refs, e, "state = 0 AND seq = ?", "l", part);

	return outbox_move_each(o, rc, &refs, PART_DROPPED, "nobody waits for it", NULL, e);
}

/* --- Counting --------------------------------------------------------------------------------- */

int outbox_counts(struct outbox *o, const char *user, struct outbox_counts *out, struct err *e)
{
	int64_t since = room_now(o->room) - (int64_t)24 * 60 * 60 * 1000;
	struct stmt *s = NULL;
	int rc;

	*out = (struct outbox_counts){ 0, 0, 0, 0, 0 };
	if (sql_open(&s, o->room->db, e,
		    "SELECT state, count(*) FROM channel_outbox WHERE (?1 IS NULL OR user = ?1) AND"
		    " (state IN (0, 1, 6) OR state IN (3, 4, 5) AND moved_at > ?2) GROUP BY state",
		    "sl", user, since) < 0)
		return -1;
	while ((rc = stmt_step(s, e)) == 1) {
		int n = (int)stmt_col_int(s, 1);

		switch (stmt_col_int(s, 0)) {
		case PART_WAITING:
		case PART_IN_FLIGHT: out->unsent += n; break;
		case PART_PARKED: out->parked = n; break;
		case PART_REFUSED: out->refused = n; break;
		case PART_UNKNOWN: out->unknown = n; break;
		default: out->unconfirmed = n; break;
		}
	}
	stmt_close(&s);
	return rc;
}
