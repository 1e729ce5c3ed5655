#include "agent/react/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define MESSAGE_BYTES_MAX  ((int64_t)4 << 20)
#define CALLS_BYTES_MAX    ((size_t)64 << 20)
#define ROUND_MESSAGES_MAX 400
#define ROUND_BYTES_MAX    ((size_t)3 << 20)

#define SUMMARY_ASKED "Summarise our conversation up to here, so that we can go on from it."

static const char *const steps[] = {
	"CREATE TABLE react_session("
	"	id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"	key TEXT NOT NULL,"
	"	begun_ms INTEGER NOT NULL,"
	"	touched_ms INTEGER NOT NULL);"
	"CREATE INDEX react_session_key ON react_session(key, id);"
	"CREATE TABLE react_open("
	"	key TEXT PRIMARY KEY,"
	"	session INTEGER NOT NULL REFERENCES react_session(id) ON DELETE CASCADE"
	") WITHOUT ROWID;"
	"CREATE TABLE react_message("
	"	session INTEGER NOT NULL REFERENCES react_session(id) ON DELETE CASCADE,"
	"	round INTEGER NOT NULL,"
	"	seq INTEGER NOT NULL,"
	"	role TEXT NOT NULL,"
	"	text TEXT NOT NULL,"
	"	calls TEXT,"
	"	call_id TEXT,"
	"	tokens INTEGER NOT NULL,"
	"	bytes INTEGER NOT NULL,"
	"	PRIMARY KEY(session, round, seq)"
	") WITHOUT ROWID;",

	"ALTER TABLE react_message ADD COLUMN thought TEXT;"
	"CREATE TABLE react_summary("
	"	session INTEGER PRIMARY KEY REFERENCES react_session(id) ON DELETE CASCADE,"
	"	upto INTEGER NOT NULL," /* the newest round it stands for */
	"	text TEXT NOT NULL,"
	"	made_ms INTEGER NOT NULL);"
	/* Outlives its conversation until the day is over. */
	"CREATE TABLE react_usage("
	"	key TEXT NOT NULL,"
	"	session INTEGER NOT NULL,"
	"	day INTEGER NOT NULL," /* YYYYMMDD */
	"	tokens_in INTEGER NOT NULL,"
	"	tokens_out INTEGER NOT NULL,"
	"	cached INTEGER NOT NULL,"
	"	answers INTEGER NOT NULL,"
	"	unknown INTEGER NOT NULL,"
	"	PRIMARY KEY(key, session, day)"
	") WITHOUT ROWID;",
};

enum {
	Q_OPEN,
	Q_BEGIN,
	Q_POINT,
	Q_EMPTY,
	Q_FORGET,
	Q_ROUNDS,
	Q_MESSAGES,
	Q_LAST,
	Q_PUT,
	Q_DROP,
	Q_TOUCH,
	Q_LIST,
	Q_OWNS,
	Q_SUMMARY,
	Q_UPTO,
	Q_SUMMARISE,
	Q_COUNT_USAGE,
	Q_USAGE,
	Q_OLD_USAGE,
	Q_COUNT
};

static const char *const queries[Q_COUNT] = {
	[Q_OPEN] = "SELECT session FROM react_open WHERE key = ?1",
	[Q_BEGIN] = "INSERT INTO react_session(key, begun_ms, touched_ms) VALUES(?1, ?2, ?2)",
	[Q_POINT] = "INSERT INTO react_open(key, session) VALUES(?1, ?2)"
		    " ON CONFLICT(key) DO UPDATE SET session = excluded.session",
	[Q_EMPTY] = "SELECT NOT EXISTS(SELECT 1 FROM react_message WHERE session = ?1)",
	/* The open one stays, however old a clock that was set back makes it. */
	[Q_FORGET] = "DELETE FROM react_session WHERE key = ?1 AND id NOT IN"
		     " (SELECT id FROM react_session WHERE key = ?1 ORDER BY"
		     "  id IN (SELECT session FROM react_open WHERE key = ?1) DESC,"
		     "  touched_ms DESC, id DESC LIMIT ?2)",
	[Q_ROUNDS] = "SELECT round, SUM(tokens), COUNT(*), SUM(bytes) FROM react_message"
		     " WHERE session = ?1 AND round > ?2 GROUP BY round ORDER BY round DESC",
	/* A row that is too big is not even read. */
	[Q_MESSAGES] = "SELECT round, role, text, calls, call_id, thought FROM react_message"
		       " WHERE session = ?1 AND round >= ?2 AND round NOT IN (SELECT round FROM"
		       " react_message WHERE session = ?1 AND length(CAST(text AS BLOB)) +"
		       " ifnull(length(CAST(calls AS BLOB)), 0) +"
		       " ifnull(length(CAST(thought AS BLOB)), 0) > ?3)"
		       " ORDER BY round, seq",
	[Q_LAST] = "SELECT ifnull(MAX(round), 0) FROM react_message WHERE session = ?1",
	[Q_PUT] =
		"INSERT INTO react_message(session, round, seq, role, text, calls, call_id, tokens,"
		" bytes, thought) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[Q_DROP] = "DELETE FROM react_message WHERE session = ?1 AND round < ?2",
	[Q_TOUCH] = "UPDATE react_session SET touched_ms = ?2 WHERE id = ?1",
	[Q_LIST] = "SELECT s.id, s.touched_ms, ifnull(o.session = s.id, 0),"
		   " (SELECT substr(m.text, 1, 80) FROM react_message m"
		   "  WHERE m.session = s.id AND m.role = 'user' ORDER BY m.round, m.seq LIMIT 1)"
		   " FROM react_session s LEFT JOIN react_open o ON o.key = s.key"
		   " WHERE s.key = ?1"
		   " AND EXISTS(SELECT 1 FROM react_message m WHERE m.session = s.id)"
		   " ORDER BY s.touched_ms DESC, s.id DESC LIMIT ?2",
	[Q_OWNS] = "SELECT 1 FROM react_session WHERE id = ?1 AND key = ?2",
	[Q_SUMMARY] = "SELECT upto, text FROM react_summary WHERE session = ?1",
	[Q_UPTO] = "SELECT ifnull(MAX(upto), 0) FROM react_summary WHERE session = ?1",
	[Q_SUMMARISE] = "INSERT INTO react_summary(session, upto, text, made_ms)"
			" VALUES(?1, ?2, ?3, ?4) ON CONFLICT(session) DO UPDATE SET"
			" upto = excluded.upto, text = excluded.text, made_ms = excluded.made_ms",
	[Q_COUNT_USAGE] =
		"INSERT INTO react_usage(key, session, day, tokens_in, tokens_out, cached, answers,"
		" unknown) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(key, session, day)"
		" DO UPDATE SET tokens_in = tokens_in + excluded.tokens_in,"
		" tokens_out = tokens_out + excluded.tokens_out, cached = cached + excluded.cached,"
		" answers = answers + excluded.answers, unknown = unknown + excluded.unknown",
	[Q_USAGE] = "SELECT ifnull(SUM(tokens_in), 0), ifnull(SUM(tokens_out), 0),"
		    " ifnull(SUM(cached), 0), ifnull(SUM(answers), 0), ifnull(SUM(unknown), 0)"
		    " FROM react_usage WHERE key = ?1 AND (?2 = 0 OR session = ?2)"
		    " AND (?3 = 0 OR day = ?3)",
	[Q_OLD_USAGE] = "DELETE FROM react_usage WHERE key = ?1 AND day < ?2"
			" AND session NOT IN (SELECT id FROM react_session WHERE key = ?1)",
};

struct history {
	struct db *db;
	struct log *log;
	struct stmt *q[Q_COUNT];
};

int history_open(struct history **out, struct db *db, struct log *log, struct err *e)
{
	struct history *h = calloc(1, sizeof(*h));

	*out = NULL;
	if (!h)
		return err_set(e, E_NOMEM, "history");
	h->db = db;
	h->log = log;
	if (db_migrate(db, "react", steps, (int)(sizeof(steps) / sizeof(steps[0])), e) < 0)
		goto fail;
	for (int i = 0; i < Q_COUNT; i++)
		if (stmt_open(&h->q[i], db, queries[i], e) < 0)
			goto fail;
	*out = h;
	return 0;
fail:
	history_close(&h);
	return -1;
}

void history_close(struct history **hp)
{
	struct history *h = *hp;

	if (!h)
		return;
	*hp = NULL;
	for (int i = 0; i < Q_COUNT; i++)
		if (h->q[i])
			stmt_close(&h->q[i]);
	free(h);
}

/* --- Conversations ---------------------------------------------------------------------------- */

/* A query of one row and one number. 1: there, 0: no row, -1. */
static int one_number(struct stmt *q, int64_t *out, struct err *e)
{
	int rc = stmt_step(q, e);

	if (rc > 0) {
		*out = stmt_col_int(q, 0);
		stmt_reset(q);
	}
	return rc;
}

static int open_session(struct history *h, const char *key, int64_t *session, struct err *e)
{
	stmt_text(h->q[Q_OPEN], 1, view_of(key));
	return one_number(h->q[Q_OPEN], session, e);
}

static int point(struct history *h, const char *key, int64_t session, struct err *e)
{
	stmt_text(h->q[Q_POINT], 1, view_of(key));
	stmt_int(h->q[Q_POINT], 2, session);
	return stmt_run(h->q[Q_POINT], e);
}

static int begin(struct history *h, const char *key, int64_t now_ms, int64_t *session,
	struct err *e)
{
	if (db_begin(h->db, e) < 0)
		return -1;
	stmt_text(h->q[Q_BEGIN], 1, view_of(key));
	stmt_int(h->q[Q_BEGIN], 2, now_ms);
	if (stmt_run(h->q[Q_BEGIN], e) < 0)
		goto fail;
	*session = db_last_id(h->db);
	if (point(h, key, *session, e) < 0)
		goto fail;
	stmt_text(h->q[Q_FORGET], 1, view_of(key));
	stmt_int(h->q[Q_FORGET], 2, HISTORY_SESSIONS_MAX);
	if (stmt_run(h->q[Q_FORGET], e) < 0)
		goto fail;
	return db_commit(h->db, e);
fail:
	db_rollback(h->db);
	return -1;
}

int history_session(struct history *h, const char *key, int64_t now_ms, int64_t *session,
	struct err *e)
{
	int rc = open_session(h, key, session, e);

	return rc == 0 ? begin(h, key, now_ms, session, e) : rc < 0 ? -1 : 0;
}

int history_begin(struct history *h, const char *key, int64_t now_ms, struct err *e)
{
	int64_t session, empty = 0;
	int rc = open_session(h, key, &session, e);

	if (rc < 0)
		return -1;
	if (rc > 0) {
		stmt_int(h->q[Q_EMPTY], 1, session);
		if (one_number(h->q[Q_EMPTY], &empty, e) < 0)
			return -1;
	}
	return empty ? 0 : begin(h, key, now_ms, &session, e);
}

static void take_item(struct stmt *q, struct history_item *out)
{
	struct view words = stmt_col_text(q, 3);

	memset(out, 0, sizeof(*out));
	out->session = stmt_col_int(q, 0);
	out->touched_ms = stmt_col_int(q, 1);
	out->open = stmt_col_int(q, 2) != 0;
	(void)copy_z(out->words, sizeof(out->words),
		view_cut(words, utf8_cut(words, HISTORY_WORDS_MAX)));
}

int history_list(struct history *h, const char *key, struct history_item *out, int max,
	struct err *e)
{
	struct stmt *q = h->q[Q_LIST];
	int n = 0, rc;

	stmt_text(q, 1, view_of(key));
	stmt_int(q, 2, max);
	while ((rc = stmt_step(q, e)) > 0)
		if (n < max)
			take_item(q, &out[n++]);
	return rc < 0 ? -1 : n;
}

int history_switch(struct history *h, const char *key, int64_t session, struct err *e)
{
	int64_t one;
	int rc;

	stmt_int(h->q[Q_OWNS], 1, session);
	stmt_text(h->q[Q_OWNS], 2, view_of(key));
	rc = one_number(h->q[Q_OWNS], &one, e);
	if (rc == 0)
		return err_set(e, E_NOTFOUND, "this conversation is no longer kept");
	return rc < 0 ? -1 : point(h, key, session, e);
}

/* --- Loading ---------------------------------------------------------------------------------- */

/* From which of the rounds behind this one on everything fits. */
static int first_round(struct history *h, int64_t session, int64_t behind, uint64_t tokens,
	int64_t *first, struct err *e)
{
	struct stmt *q = h->q[Q_ROUNDS];
	int64_t messages = 0, bytes = 0;
	uint64_t sum = 0;
	int rc;

	*first = INT64_MAX;
	stmt_int(q, 1, session);
	stmt_int(q, 2, behind);
	while ((rc = stmt_step(q, e)) > 0) {
		int64_t cost = stmt_col_int(q, 1);

		sum += cost > 0 ? (uint64_t)cost : 0;
		messages += stmt_col_int(q, 2);
		bytes += stmt_col_int(q, 3);
		if (cost < 0 || sum > tokens || messages > HISTORY_MESSAGES_MAX ||
			bytes > HISTORY_BYTES_MAX) {
			stmt_reset(q);
			return 0;
		}
		*first = stmt_col_int(q, 0);
	}
	return rc;
}

static int role_of(struct view name, enum role *out)
{
	static const char *const names[] = { "user", "assistant", "tool" };

	for (int i = 0; i < 3; i++) {
		if (view_eqs(name, names[i])) {
			*out = (enum role)i;
			return 0;
		}
	}
	return -1;
}

/* Reasoning is good to have, but a message does without. */
static int take_thought(struct stmt *q, struct msg *m)
{
	struct view v = stmt_col_text(q, 5);

	if (v.n == 0 || !utf8_valid(v) || memchr(v.p, '\0', v.n))
		return 0;
	return msg_set_thought(m, v);
}

/* The current row. 1: taken, 0: no good, -1: no memory. */
static int take_message(struct stmt *q, struct talk *out)
{
	struct msg *m;
	enum role role;

	if (role_of(stmt_col_text(q, 1), &role) < 0 || stmt_col_null(q, 2))
		return 0;
	if (role == ROLE_TOOL) {
		char id[129];

		if (copy_z(id, sizeof(id), stmt_col_text(q, 4)) < 0 || !id[0])
			return 0;
		return talk_add_result(out, id, stmt_col_text(q, 2)) ? 1 : -1;
	}
	m = talk_add(out, role, stmt_col_text(q, 2));
	if (!m || take_thought(q, m) < 0)
		return -1;
	if (role == ROLE_ASSISTANT && !stmt_col_null(q, 3))
		return msg_calls_parse(m, stmt_col_text(q, 3), NULL) < 0 ? 0 : 1;
	return 1;
}

static int take_row(struct stmt *q, struct talk *out)
{
	size_t before = out->n;
	int rc = take_message(q, out);

	if (out->n > before)
		out->list[before].round = stmt_col_int(q, 0);
	return rc;
}

/* The round that began at `from` is over: keep it or not. */
static void close_round(struct history *h, struct talk *out, size_t from, bool sound,
	int64_t session)
{
	if (out->n == from && sound)
		return;
	if (sound && talk_round_valid(out, from, out->n))
		return;
	talk_cut(out, from);
	log_warn(h->log, "react", "a damaged round of conversation %lld is left out",
		(long long)session);
}

static int read_rounds(struct history *h, int64_t session, int64_t first, struct talk *out,
	struct err *e)
{
	struct stmt *q = h->q[Q_MESSAGES];
	int64_t round = INT64_MIN;
	size_t from = out->n;
	bool sound = true;
	int rc;

	stmt_int(q, 1, session);
	stmt_int(q, 2, first);
	stmt_int(q, 3, MESSAGE_BYTES_MAX);
	while ((rc = stmt_step(q, e)) > 0) {
		int took;

		if (stmt_col_int(q, 0) != round) {
			close_round(h, out, from, sound, session);
			round = stmt_col_int(q, 0);
			from = out->n;
			sound = true;
		}
		took = sound ? take_row(q, out) : 1;
		if (took < 0) {
			stmt_reset(q);
			return err_set(e, E_NOMEM, "history");
		}
		sound = sound && took > 0;
	}
	if (rc == 0)
		close_round(h, out, from, sound, session);
	return rc;
}

int history_summary(struct talk *out, struct view text, int64_t upto)
{
	struct msg *ask = talk_add(out, ROLE_USER, VIEW(SUMMARY_ASKED)), *answer;

	if (!ask)
		return -1;
	ask->round = upto;
	answer = talk_add(out, ROLE_ASSISTANT, text);
	if (!answer) {
		talk_cut(out, out->n - 1);
		return -1;
	}
	answer->round = upto;
	return 0;
}

/* The summary, if there is a sound one; *upto: what it stands for, else 0. */
static int read_summary(struct history *h, int64_t session, struct talk *out, int64_t *upto,
	struct err *e)
{
	struct stmt *q = h->q[Q_SUMMARY];
	size_t before = out->n;
	int rc;

	*upto = 0;
	stmt_int(q, 1, session);
	rc = stmt_step(q, e);
	if (rc <= 0)
		return rc;
	*upto = stmt_col_int(q, 0);
	if (history_summary(out, stmt_col_text(q, 1), *upto) < 0)
		rc = err_set(e, E_NOMEM, "history");
	stmt_reset(q);
	if (rc > 0 && !talk_round_valid(out, before, out->n)) {
		log_warn(h->log, "react", "the summary of conversation %lld is damaged",
			(long long)session);
		talk_cut(out, before);
		*upto = 0; /* then the rounds themselves are read */
	}
	return rc < 0 ? -1 : 0;
}

int history_load(struct history *h, int64_t session, uint64_t tokens, struct talk *out,
	struct err *e)
{
	int64_t first, upto;

	if (read_summary(h, session, out, &upto, e) < 0 ||
		first_round(h, session, upto, tokens, &first, e) < 0)
		return -1;
	return first == INT64_MAX ? 0 : read_rounds(h, session, first, out, e);
}

/* --- Saving ----------------------------------------------------------------------------------- */

static size_t msg_bytes(const struct msg *m)
{
	size_t n = m->n + view_of(m->thought).n;

	for (size_t i = 0; i < m->ncalls; i++)
		n += 2 * strlen(m->calls[i].args); /* as text in JSON, at most */
	return n;
}

/* A very long round is kept without its oldest groups of calls: where the kept part begins. */
static size_t kept_from(const struct talk *t, size_t from)
{
	size_t bytes = msg_bytes(&t->list[from]), messages = 1, keep = t->n - 1;

	for (size_t i = t->n; i-- > from + 1;) {
		bytes += msg_bytes(&t->list[i]);
		if (++messages > ROUND_MESSAGES_MAX || bytes > ROUND_BYTES_MAX)
			break;
		if (t->list[i].role == ROLE_ASSISTANT)
			keep = i;
	}
	return keep;
}

static int put(struct history *h, int64_t session, int64_t round, int64_t seq, const struct msg *m,
	struct err *e)
{
	static const char *const roles[] = { "user", "assistant", "tool" };
	struct str calls = STR_INIT(CALLS_BYTES_MAX);
	struct view thought = view_of(m->thought);
	struct stmt *q = h->q[Q_PUT];
	int rc = -1;

	if (m->ncalls > 0 && msg_calls_print(m, &calls, e) < 0)
		goto out;
	stmt_int(q, 1, session);
	stmt_int(q, 2, round);
	stmt_int(q, 3, seq);
	stmt_text(q, 4, view_of(roles[m->role]));
	stmt_text(q, 5, (struct view){ m->text, m->n });
	stmt_text(q, 6, m->ncalls > 0 ? str_view(&calls) : VIEW_NONE);
	stmt_text(q, 7, view_of(m->call_id));
	stmt_int(q, 8, (int64_t)msg_tokens(m));
	stmt_int(q, 9, (int64_t)(m->n + calls.n + thought.n));
	stmt_text(q, 10, thought);
	rc = stmt_run(q, e);
out:
	str_release(&calls);
	return rc;
}

/* Old rounds over the limits go. */
static int shrink(struct history *h, int64_t session, struct err *e)
{
	int64_t first;

	if (first_round(h, session, 0, UINT64_MAX, &first, e) < 0)
		return -1;
	stmt_int(h->q[Q_DROP], 1, session);
	stmt_int(h->q[Q_DROP], 2, first);
	return first == INT64_MAX ? 0 : stmt_run(h->q[Q_DROP], e);
}

static int save(struct history *h, int64_t session, const struct talk *t, size_t from,
	int64_t now_ms, struct err *e)
{
	int64_t round = 0, seq = 0;

	stmt_int(h->q[Q_LAST], 1, session);
	if (one_number(h->q[Q_LAST], &round, e) < 0 ||
		put(h, session, ++round, seq++, &t->list[from], e) < 0)
		return -1;
	for (size_t i = kept_from(t, from); i < t->n; i++)
		if (put(h, session, round, seq++, &t->list[i], e) < 0)
			return -1;
	stmt_int(h->q[Q_TOUCH], 1, session);
	stmt_int(h->q[Q_TOUCH], 2, now_ms);
	if (stmt_run(h->q[Q_TOUCH], e) < 0)
		return -1;
	return shrink(h, session, e);
}

int history_save(struct history *h, int64_t session, const struct talk *t, size_t from,
	int64_t now_ms, struct err *e)
{
	if (!talk_round_valid(t, from, t->n))
		return err_set(e, E_FORMAT, "a round that is not whole is not stored");
	if (db_begin(h->db, e) < 0)
		return -1;
	if (save(h, session, t, from, now_ms, e) < 0) {
		db_rollback(h->db);
		return -1;
	}
	return db_commit(h->db, e);
}

/* --- Summaries -------------------------------------------------------------------------------- */

int history_mark(struct history *h, int64_t session, struct history_mark *out, struct err *e)
{
	stmt_int(h->q[Q_LAST], 1, session);
	if (one_number(h->q[Q_LAST], &out->last, e) < 0)
		return -1;
	stmt_int(h->q[Q_UPTO], 1, session);
	return one_number(h->q[Q_UPTO], &out->upto, e) < 0 ? -1 : 0;
}

static int summarise(struct history *h, int64_t session, const struct history_mark *was,
	int64_t upto, struct view text, int64_t now_ms, struct err *e)
{
	struct stmt *q = h->q[Q_SUMMARISE];
	struct history_mark now = { 0, 0 };

	if (history_mark(h, session, &now, e) < 0)
		return -1;
	if (now.last != was->last || now.upto != was->upto || upto > now.last)
		return err_set(e, E_CONFLICT, "the conversation has changed meanwhile");
	stmt_int(q, 1, session);
	stmt_int(q, 2, upto);
	stmt_text(q, 3, text);
	stmt_int(q, 4, now_ms);
	return stmt_run(q, e);
}

int history_summarise(struct history *h, int64_t session, const struct history_mark *was,
	int64_t upto, struct view text, int64_t now_ms, struct err *e)
{
	if (db_begin(h->db, e) < 0)
		return -1;
	if (summarise(h, session, was, upto, text, now_ms, e) < 0) {
		db_rollback(h->db);
		return -1;
	}
	return db_commit(h->db, e);
}

/* --- Usage ------------------------------------------------------------------------------------ */

int history_add_usage(struct history *h, const char *key, int64_t session, int64_t day,
	const struct history_usage *u, struct err *e)
{
	struct stmt *q = h->q[Q_COUNT_USAGE], *old = h->q[Q_OLD_USAGE];

	stmt_text(q, 1, view_of(key));
	stmt_int(q, 2, session);
	stmt_int(q, 3, day);
	stmt_int(q, 4, (int64_t)u->in);
	stmt_int(q, 5, (int64_t)u->out);
	stmt_int(q, 6, (int64_t)u->cached);
	stmt_int(q, 7, (int64_t)u->answers);
	stmt_int(q, 8, (int64_t)u->unknown);
	stmt_text(old, 1, view_of(key));
	stmt_int(old, 2, day);
	return stmt_run(q, e) < 0 ? -1 : stmt_run(old, e);
}

int history_get_usage(struct history *h, const char *key, int64_t session, int64_t day,
	struct history_usage *out, struct err *e)
{
	uint64_t *const fields[] = { &out->in, &out->out, &out->cached, &out->answers,
		&out->unknown };
	struct stmt *q = h->q[Q_USAGE];
	int rc;

	memset(out, 0, sizeof(*out));
	stmt_text(q, 1, view_of(key));
	stmt_int(q, 2, session);
	stmt_int(q, 3, day);
	rc = stmt_step(q, e);
	for (int i = 0; rc > 0 && i < 5; i++) {
		int64_t n = stmt_col_int(q, i);

		*fields[i] = n > 0 ? (uint64_t)n : 0;
	}
	stmt_reset(q);
	return rc < 0 ? -1 : 0;
}
