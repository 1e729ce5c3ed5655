/* The rows: what came with which message, and what became of it. */
#include "channel/media-private.h"

#include "channel/sql.h"

/* --- Adding ----------------------------------------------------------------------------------- */

static int count(const struct room *r, int64_t seq, int64_t *n, struct err *e)
{
	return sql_int(r->db, e, n, "SELECT count(*) FROM channel_media WHERE seq = ?", "l", seq) <
	                       0
	               ? -1
	               : 0;
}

static int add_item(const struct room *r, int64_t seq, const struct chan_msg *m,
	const struct chan_item *it, struct err *e)
{
	bool had = it->kind != CHAN_OTHER;
	struct str name = STR_INIT(MEDIA_NAME_MAX);
	int rc = -1;

	if (media_name(&name, view_of(it->name), it->kind, "", 1) < 0)
		err_set(e, E_NOMEM, "the name of an attachment");
	else
		rc = sql_run(r->db, e,
			"INSERT INTO channel_media (seq, message, at, kind, quoted, transcript, play_ms,"
			" full_url, param, key, state, why, name, hear)"
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			"lsliiilsssiivi", seq, m->id, room_now(r), (int)it->kind, (int)it->quoted,
			(int)it->transcript, it->play_ms, had ? it->full_url : "",
			had ? it->param : "", had ? it->key : "",
			(int)(had ? MEDIA_WANTED : MEDIA_FAILED),
			(int)(had ? MEDIA_WELL : MEDIA_UNSUPPORTED), str_view(&name),
			(int)(it->kind == CHAN_VOICE && !it->transcript ? HEAR_WANTED : HEAR_NOT));
	str_release(&name);
	return rc;
}

int media_add(const struct room *r, int64_t seq, const struct chan_msg *m, struct err *e)
{
	int64_t n;

	if (count(r, seq, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < m->nitems && n < TURN_FILES_MAX; i++, n++)
		if (add_item(r, seq, m, &m->items[i], e) < 0)
			return -1;
	return 0;
}

/* Of the same user only: an id is no key to what others have sent. */
int media_quote(const struct room *r, int64_t seq, const char *message_id, struct err *e)
{
	int64_t n;

	if (!*message_id)
		return 0;
	if (count(r, seq, &n, e) < 0 ||
		sql_run(r->db, e,
			"INSERT INTO channel_media (seq, message, at, kind, quoted, transcript, play_ms,"
			" full_url, param, key, state, why, name, type, size, path, hear, unheard,"
			" heard)"
			" SELECT ?1, '', ?2, m.kind, 1, m.transcript, m.play_ms, m.full_url, m.param,"
			" m.key, m.state, m.why, m.name, m.type, m.size, m.path, m.hear, m.unheard, m.heard"
			" FROM channel_media m JOIN channel_inbox i ON i.seq = m.seq"
			" WHERE m.message = ?3 AND m.quoted = 0 AND i.user ="
			" (SELECT user FROM channel_inbox WHERE seq = ?1) ORDER BY m.id LIMIT ?4",
			"llsl", seq, room_now(r), message_id, TURN_FILES_MAX - n) < 0)
		return -1;
	return db_changes(r->db);
}

int media_move(const struct room *r, int64_t from, int64_t to, struct err *e)
{
	if (sql_run(r->db, e,
		    "UPDATE channel_media SET hear = ?, unheard = 0 WHERE seq = ? AND hear = ? AND heard = ''"
		    " AND state = 1",
		    "ili", (int)HEAR_WANTED, from, (int)HEAR_OVER) < 0)
		return -1;
	return sql_run(r->db, e, "UPDATE channel_media SET seq = ? WHERE seq = ?", "ll", to, from);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* False: the row does not fit what we store ourselves. */
static bool fill(struct media_row *m, const struct stmt *s)
{
	int64_t kind = stmt_col_int(s, 1), state = stmt_col_int(s, 4), why = stmt_col_int(s, 5);
	int64_t unheard = stmt_col_int(s, 11);

	*m = (struct media_row){ .id = stmt_col_int(s, 0),
		.quoted = stmt_col_int(s, 2) != 0,
		.transcript = stmt_col_int(s, 3) != 0,
		.size = stmt_col_int(s, 6),
		.heard = STR_INIT(HEARD_TEXT_MAX) };
	if (kind < CHAN_IMAGE || kind > CHAN_OTHER || state < MEDIA_WANTED || state > MEDIA_GONE ||
		why < MEDIA_WELL || why >= MEDIA_WHYS || unheard < HEARD_TEXT ||
		unheard > HEARD_DEAF)
		return false;
	m->kind = (enum chan_item_kind)kind;
	m->state = (enum media_state)state;
	m->why = (enum media_why)why;
	m->unheard = (enum heard)unheard;
	return copy_z(m->name, sizeof(m->name), stmt_col_text(s, 7)) == 0 &&
	       copy_z(m->type, sizeof(m->type), stmt_col_text(s, 8)) == 0 &&
	       copy_z(m->path, sizeof(m->path), stmt_col_text(s, 9)) == 0;
}

int media_load(const struct room *r, int64_t seq, struct media_list *out, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	out->n = 0;
	if (sql_open(&s, r->db, e,
		    "SELECT id, kind, quoted, transcript, state, why, size, name, type, path, heard,"
		    " unheard"
		    " FROM channel_media WHERE seq = ? ORDER BY id LIMIT ?",
		    "li", seq, TURN_FILES_MAX) < 0)
		return -1;
	while ((rc = stmt_step(s, e)) == 1) {
		struct media_row *m = &out->rows[out->n];

		if (!fill(m, s)) {
			log_warn(r->log, "media", "row %lld is unfit and was left out",
				(long long)m->id);
			continue;
		}
		out->n++;
		if (str_add(&m->heard, stmt_col_text(s, 10)) < 0) {
			rc = err_set(e, E_NOMEM, "what was said in a voice");
			break;
		}
	}
	stmt_close(&s);
	return rc;
}

void media_list_release(struct media_list *l)
{
	while (l->n > 0)
		str_release(&l->rows[--l->n].heard);
}

int media_pending(const struct room *r, int64_t seq, int *n, struct err *e)
{
	int64_t v;

	if (sql_int(r->db, e, &v,
		    "SELECT count(*) FROM channel_media WHERE seq = ? AND"
		    " (state = 0 OR (state = 1 AND hear = ?))",
		    "li", seq, (int)HEAR_WANTED) < 0)
		return -1;
	*n = (int)v;
	return 0;
}

int media_usage(const struct room *r, int64_t *files, int64_t *bytes, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	*files = *bytes = 0;
	if (sql_open(&s, r->db, e,
		    "SELECT count(*), sum(size) FROM"
		    " (SELECT max(size) AS size FROM channel_media WHERE state = 1 GROUP BY path)",
		    NULL) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1) {
		*files = stmt_col_int(s, 0);
		*bytes = stmt_col_int(s, 1);
	}
	stmt_close(&s);
	return rc < 0 ? -1 : 0;
}
