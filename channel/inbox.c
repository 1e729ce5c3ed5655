#include "channel/inbox.h"

#include "channel/sql.h"

#define KEEP_MS   ((int64_t)30 * 24 * 60 * 60 * 1000)
#define KEEP_ROWS 1000

/* --- Ids -------------------------------------------------------------------------------------- */

int inbox_see(const struct room *r, const char *id, enum disposition what, struct err *e)
{
	if (sql_run(r->db, e,
		    "INSERT INTO channel_seen (bot, id, at, what) VALUES (?, ?, ?, ?)"
		    " ON CONFLICT (bot, id) DO NOTHING",
		    "ssli", r->bot, id, room_now(r), (int)what) < 0)
		return -1;
	return db_changes(r->db) > 0;
}

int inbox_seen(const struct room *r, const char *id, struct err *e)
{
	int64_t n;

	return sql_int(r->db, e, &n, "SELECT 1 FROM channel_seen WHERE bot = ? AND id = ?", "ss",
		r->bot, id);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static const char *state_name(enum inbox_state s)
{
	static const char *const names[] = { "waiting", "running", "done", "failed", "interrupted",
		"stopped", "dropped", "retried" };

	return names[s];
}

void inbox_item_init(struct inbox_item *it)
{
	*it = (struct inbox_item){ .seq = 0, .text = STR_INIT(INBOX_TEXT_MAX) };
}

void inbox_item_release(struct inbox_item *it)
{
	str_release(&it->text);
}

int inbox_waiting(const struct room *r, const char *user, int *n, struct err *e)
{
	int64_t v;

	if (sql_int(r->db, e, &v,
		    "SELECT count(*) FROM channel_inbox WHERE state = 0 AND (?1 IS NULL OR user = ?1)",
		    "s", user) < 0)
		return -1;
	*n = (int)v;
	return 0;
}

int inbox_put(const struct room *r, const char *id, const char *user, enum origin origin,
	enum control_language lang, struct view text, int64_t *seq, struct err *e)
{
	int n;

	if (inbox_waiting(r, NULL, &n, e) < 0)
		return -1;
	if (n >= r->queue_limit)
		return 0;
	if (sql_run(r->db, e,
		    "INSERT INTO channel_inbox (id, user, origin, lang, state, at, text)"
		    " VALUES (?, ?, ?, ?, 0, ?, ?)",
		    "ssiilv", id, user, (int)origin, (int)lang, room_now(r),
		    text.p ? text : VIEW("")) < 0)
		return -1;
	if (seq)
		*seq = db_last_id(r->db);
	return 1;
}

#define COLUMNS "SELECT seq, id, user, origin, lang, state, text FROM channel_inbox"

/* 1: filled. 0: the row does not fit what we store ourselves. */
static int fill(struct inbox_item *it, const struct stmt *s)
{
	int64_t origin = stmt_col_int(s, 3), lang = stmt_col_int(s, 4), state = stmt_col_int(s, 5);

	it->seq = stmt_col_int(s, 0);
	str_reset(&it->text);
	if (copy_z(it->id, sizeof(it->id), stmt_col_text(s, 1)) < 0 ||
		copy_z(it->user, sizeof(it->user), stmt_col_text(s, 2)) < 0 || origin < 0 ||
		origin >= ORIGIN_COUNT || lang < LANG_AUTO || lang > LANG_EN ||
		state < INBOX_WAITING || state > INBOX_RETRIED ||
		str_add(&it->text, stmt_col_text(s, 6)) < 0)
		return 0;
	it->origin = (enum origin)origin;
	it->lang = (enum control_language)lang;
	it->state = (enum inbox_state)state;
	return 1;
}

/* One row of s into it; closes s. An unfit row is moved out of the way; *unfit asks to look again.
 */
static int take(const struct room *r, struct stmt **s, struct inbox_item *it, bool *unfit,
	struct err *e)
{
	int rc = stmt_step(*s, e);

	*unfit = rc == 1 && !fill(it, *s);
	stmt_close(s);
	if (!*unfit)
		return rc;
	log_warn(r->log, "inbox", "row %lld is unfit and was dropped", (long long)it->seq);
	return inbox_move(r, it->seq, INBOX_DROPPED, 0, e) < 0 ? -1 : 0;
}

static int find(const struct room *r, const char *sql, const char *user, int offset,
	struct inbox_item *out, struct err *e)
{
	bool unfit = true;
	int rc = 0;

	while (rc == 0 && unfit) {
		struct stmt *s = NULL;

		if (sql_open(&s, r->db, e, sql, "si", user, offset) < 0)
			return -1;
		rc = take(r, &s, out, &unfit, e);
	}
	return rc;
}

int inbox_get(const struct room *r, int64_t seq, struct inbox_item *out, struct err *e)
{
	struct stmt *s = NULL;
	bool unfit;

	if (sql_open(&s, r->db, e, COLUMNS " WHERE seq = ?", "l", seq) < 0)
		return -1;
	return take(r, &s, out, &unfit, e);
}

int inbox_head(const struct room *r, struct inbox_item *out, struct err *e)
{
	return find(r, COLUMNS " WHERE state = 0 AND ?1 IS NULL ORDER BY seq LIMIT 1 OFFSET ?2",
		NULL, 0, out, e);
}

int inbox_nth(const struct room *r, const char *user, int n, struct inbox_item *out, struct err *e)
{
	if (n < 1)
		return 0;
	return find(r, COLUMNS " WHERE state = 0 AND user = ?1 ORDER BY seq LIMIT 1 OFFSET ?2",
		user, n - 1, out, e);
}

int inbox_unfinished(const struct room *r, const char *user, struct inbox_item *out, struct err *e)
{
	return find(r,
		COLUMNS " WHERE state IN (3, 4, 5) AND user = ?1 AND origin = 0"
			" ORDER BY turn DESC, seq DESC LIMIT 1 OFFSET ?2",
		user, 0, out, e);
}

int inbox_retrying(const struct room *r, const char *user, struct inbox_item *out, struct err *e)
{
	return find(r,
		COLUMNS
		" WHERE state IN (0, 1) AND user = ?1 AND id IN (SELECT id FROM"
		" channel_inbox WHERE state = 7 AND user = ?1) ORDER BY seq LIMIT 1 OFFSET ?2",
		user, 0, out, e);
}

int inbox_running(const struct room *r, struct inbox_item *out, struct err *e)
{
	return find(r, COLUMNS " WHERE state = 1 AND ?1 IS NULL ORDER BY seq LIMIT 1 OFFSET ?2",
		NULL, 0, out, e);
}

int inbox_waits(const struct room *r, int64_t seq, struct err *e)
{
	int64_t n;

	return sql_int(r->db, e, &n, "SELECT 1 FROM channel_inbox WHERE seq = ? AND state = 0", "l",
		seq);
}

int inbox_move(const struct room *r, int64_t seq, enum inbox_state to, uint64_t turn, struct err *e)
{
	struct speech_num subject = { "" };

	/* What is done is kept for quotes only; what may run again is kept whole. */
	if (sql_run(r->db, e,
		    "UPDATE channel_inbox SET state = ?1, turn = CASE WHEN ?2 = 0 THEN turn ELSE ?2 END,"
		    " ended_at = ?3, text = CASE WHEN ?1 IN (2, 6, 7) THEN substr(text, 1, 4000) ELSE text END"
		    " WHERE seq = ?4",
		    "illl", (int)to, (int64_t)turn, to > INBOX_RUNNING ? room_now(r) : 0, seq) < 0)
		return -1;
	log_msg(r->log, LOG_DEBUG, "inbox", speech_num(&subject, seq), "%s", state_name(to));
	return 0;
}

static int clear(const struct room *r, const char *user, int origin, int *n, struct err *e)
{
	if (sql_run(r->db, e,
		    "UPDATE channel_inbox SET state = 6, ended_at = ?1, text = substr(text, 1, 4000)"
		    " WHERE state = 0 AND (?2 IS NULL OR user = ?2) AND (?3 < 0 OR origin = ?3)",
		    "lsi", room_now(r), user, origin) < 0)
		return -1;
	*n = db_changes(r->db);
	return 0;
}

int inbox_clear(const struct room *r, const char *user, int *n, struct err *e)
{
	return clear(r, user, -1, n, e);
}

int inbox_clear_origin(const struct room *r, enum origin origin, int *n, struct err *e)
{
	return clear(r, NULL, (int)origin, n, e);
}

/* --- Retention -------------------------------------------------------------------------------- */

/* The plus keeps the planner from the index, by which it would look up and sort every row there is
 * instead of reading on from where the oldest begin. */
static int prune_seen(const struct room *r, struct err *e)
{
	static const char *const past =
		"DELETE FROM channel_seen WHERE +bot = ?1 AND at < ?2 AND seq <="
		" (SELECT seq FROM channel_seen WHERE +bot = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?3)";
	int64_t old = room_age(r) - INBOX_SEEN_MS;

	if (sql_run(r->db, e, past, "sli", r->bot, old, INBOX_SEEN_MIN) < 0 ||
		sql_run(r->db, e, past, "sli", r->bot, INT64_MAX, INBOX_SEEN_MAX) < 0)
		return -1;
	/* Another bot's ids cannot come again. */
	return sql_run(r->db, e, "DELETE FROM channel_seen WHERE bot <> ? AND at < ?", "sl", r->bot,
		old);
}

int inbox_prune(const struct room *r, struct err *e)
{
	int64_t old = room_age(r) - KEEP_MS;

	if (prune_seen(r, e) < 0)
		return -1;
	return sql_run(r->db, e,
		"DELETE FROM channel_inbox WHERE state > 1 AND (ended_at < ? OR seq <="
		" (SELECT seq FROM channel_inbox WHERE state > 1 ORDER BY seq DESC LIMIT 1 OFFSET ?))",
		"li", old, KEEP_ROWS);
}
