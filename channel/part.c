#include "channel/part.h"

#include "base/file.h"
#include "channel/sql.h"

#include <stdio.h>
#include <stdlib.h>

#define KEEP_MS   ((int64_t)30 * 24 * 60 * 60 * 1000)
#define KEEP_ROWS 2000

static const char *state_name(enum part_state s)
{
	static const char *const names[] = { "waiting", "in flight", "accepted", "unconfirmed",
		"refused", "unknown", "parked", "dropped" };

	return names[s];
}

void part_init(struct part *p)
{
	*p = (struct part){ .seq = 0, .text = STR_INIT(PART_TEXT_MAX) };
}

void part_release(struct part *p)
{
	str_release(&p->text);
}

/* Prefix, milliseconds and randomness, as the official client writes them (wire reference, 7.1). */
void part_client_id(const struct room *r, char out[64])
{
	char hex[17];

	rand_hex(hex, 8);
	snprintf(out, 64, "kairo:%lld-%s", (long long)room_now(r), hex);
}

static int add_file(const struct room *r, int64_t seq, const struct part_new *n, struct err *e)
{
	const struct part_file *f = n->file;

	return sql_run(r->db, e,
		"INSERT INTO channel_file (part, spool, name, source, item, size, md5, rest)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		"lsssilsv", seq, f->spool, f->name, n->source, (int)f->kind, f->size, f->md5,
		n->rest.p ? n->rest : VIEW(""));
}

int part_add(const struct room *r, const struct part_new *n, int64_t *seq, struct err *e)
{
	char id[64];
	int64_t now = room_now(r);
	int64_t made;

	part_client_id(r, id);
	if (sql_run(r->db, e,
		    "INSERT INTO channel_outbox (place, sub, user, kind, urgent, state, turn, merge,"
		    " refusals, client_id, made_at, moved_at, text) VALUES (CASE WHEN ?2 = 0 THEN"
		    " (SELECT coalesce(max(seq), 0) + 1 FROM channel_outbox) ELSE ?1 END,"
		    " ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9, ?10, ?10, ?11)",
		    "lisiiliislv", n->place, n->sub, n->user, (int)n->kind, (int)n->urgent,
		    (int64_t)n->turn, n->word + 1, n->refusals, id, now,
		    n->file ? view_of(n->file->name) : n->text) < 0)
		return -1;
	made = db_last_id(r->db);
	if (seq)
		*seq = made;
	return n->file ? add_file(r, made, n, e) : 0;
}

int part_copied(const struct room *r, const char *spool, const char *md5, struct err *e)
{
	return sql_run(r->db, e, "UPDATE channel_file SET md5 = ? WHERE spool = ?", "ss", md5,
		spool);
}

int part_merge(const struct room *r, const char *user, int word, int64_t *seq, int *n,
	struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, r->db, e,
		    "SELECT seq, n FROM channel_outbox WHERE state IN (0, 6) AND user = ? AND merge = ?"
		    " AND attempts = 0 ORDER BY seq DESC LIMIT 1",
		    "si", user, word + 1) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1) {
		*seq = stmt_col_int(s, 0);
		*n = (int)stmt_col_int(s, 1) + 1;
	}
	stmt_close(&s);
	if (rc != 1)
		return rc;
	return sql_run(r->db, e, "UPDATE channel_outbox SET n = ? WHERE seq = ?", "il", *n, *seq) <
	                       0
	               ? -1
	               : 1;
}

int part_set_text(const struct room *r, int64_t seq, struct view text, struct err *e)
{
	return sql_run(r->db, e, "UPDATE channel_outbox SET text = ? WHERE seq = ?", "vl", text,
		seq);
}

int part_recut(const struct room *r, int64_t seq, struct view text, struct err *e)
{
	char id[64];

	part_client_id(r, id);
	return sql_run(r->db, e,
		"UPDATE channel_outbox SET text = ?, client_id = ?, attempts = 0 WHERE seq = ?",
		"vsl", text, id, seq);
}

/* Columns from 13 on; NULL where the part is a text. */
static int fill_file(struct part_file *f, const struct stmt *s)
{
	*f = (struct part_file){ .size = 0 };
	if (stmt_col_null(s, 13))
		return 0;
	f->kind = (enum chan_item_kind)stmt_col_int(s, 16);
	f->size = stmt_col_int(s, 17);
	return copy_z(f->spool, sizeof(f->spool), stmt_col_text(s, 13)) < 0 ||
	                       copy_z(f->name, sizeof(f->name), stmt_col_text(s, 14)) < 0 ||
	                       copy_z(f->md5, sizeof(f->md5), stmt_col_text(s, 15)) < 0
	               ? -1
	               : 0;
}

/* 1, or 0: not what we store ourselves. */
static int fill(struct part *p, const struct stmt *s)
{
	int64_t kind = stmt_col_int(s, 4), last = stmt_col_int(s, 10);

	p->seq = stmt_col_int(s, 0);
	str_reset(&p->text);
	if (kind < 0 || kind >= PART_KINDS || last < 0 || last > CHAN_NOT_UPLOADED ||
		copy_z(p->user, sizeof(p->user), stmt_col_text(s, 3)) < 0 ||
		copy_z(p->client_id, sizeof(p->client_id), stmt_col_text(s, 11)) < 0 ||
		str_add(&p->text, stmt_col_text(s, 12)) < 0 || p->text.n == 0 ||
		fill_file(&p->file, s) < 0)
		return 0;
	p->place = stmt_col_int(s, 1);
	p->sub = (int)stmt_col_int(s, 2);
	p->kind = (enum part_kind)kind;
	p->urgent = stmt_col_int(s, 5) != 0;
	p->state = PART_WAITING;
	p->turn = (uint64_t)stmt_col_int(s, 6);
	p->attempts = (int)stmt_col_int(s, 7);
	p->refusals = (int)stmt_col_int(s, 8);
	p->counted = stmt_col_int(s, 9) != 0;
	p->last = (enum chan_outcome)last;
	return 1;
}

int part_head(const struct room *r, const char *user, struct part *out, struct err *e)
{
	for (;;) {
		struct stmt *s = NULL;
		int rc, fit;

		if (sql_open(&s, r->db, e,
			    "SELECT seq, place, sub, user, kind, urgent, turn, attempts, refusals, counted,"
			    " last, client_id, text, spool, name, md5, item, size FROM channel_outbox"
			    " LEFT JOIN channel_file ON part = seq WHERE state = 0 AND user = ?"
			    " ORDER BY urgent DESC, place, sub LIMIT 1",
			    "s", user) < 0)
			return -1;
		rc = stmt_step(s, e);
		fit = rc == 1 && fill(out, s);
		stmt_close(&s);
		if (rc != 1 || fit)
			return rc;
		if (part_move(r, out->seq, PART_DROPPED, "the row is unfit", e) < 0)
			return -1;
	}
}

int part_next_user(const struct room *r, char user[CHAN_ID_MAX + 1], struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, r->db, e,
		    "SELECT user FROM channel_outbox WHERE state = 0 AND user > ? AND"
		    " length(CAST(user AS BLOB)) <= ? ORDER BY user LIMIT 1",
		    "si", user, CHAN_ID_MAX) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1 && copy_z(user, CHAN_ID_MAX + 1, stmt_col_text(s, 0)) < 0)
		rc = err_set(e, E_FORMAT, "a stored reply names an unfit user");
	stmt_close(&s);
	return rc;
}

int part_move(const struct room *r, int64_t seq, enum part_state to, const char *why, struct err *e)
{
	struct speech_num subject = { "" };

	if (sql_run(r->db, e,
		    "UPDATE channel_outbox SET state = ?, moved_at = ?, why = ? WHERE seq = ?",
		    "ilsl", (int)to, room_now(r), why, seq) < 0)
		return -1;
	log_msg(r->log, to == PART_REFUSED || to == PART_UNKNOWN ? LOG_WARN : LOG_DEBUG, "outbox",
		speech_num(&subject, seq), "%s%s%s", state_name(to), *why ? ": " : "", why);
	return 0;
}

int part_launched(const struct room *r, const struct part *p, struct err *e)
{
	if (sql_run(r->db, e,
		    "UPDATE channel_outbox SET attempts = ?, counted = ?, last = ?, text = ?"
		    " WHERE seq = ?",
		    "iiivl", p->attempts, (int)p->counted, (int)CHAN_UNKNOWN, str_view(&p->text),
		    p->seq) < 0)
		return -1;
	return part_move(r, p->seq, PART_IN_FLIGHT, "", e);
}

int part_landed(const struct room *r, const struct part *p, enum chan_outcome what,
	const char *message_id, struct err *e)
{
	return sql_run(r->db, e,
		"UPDATE channel_outbox SET attempts = ?, refusals = ?, counted = ?, last = ?,"
		" message_id = ? WHERE seq = ?",
		"iiiisl", p->attempts, p->refusals, (int)p->counted, (int)what, message_id, p->seq);
}

static int refs_push(struct part_refs *refs, size_t *cap, struct part_ref ref, struct err *e)
{
	if (refs->n == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		struct part_ref *v = realloc(refs->v, more * sizeof(*v));

		if (!v)
			return err_set(e, E_NOMEM, "a list of %zu reply parts", more);
		refs->v = v;
		*cap = more;
	}
	refs->v[refs->n++] = ref;
	return 0;
}

static int open_where(struct stmt **out, const struct room *r, struct err *e, const char *what,
	const char *where, const char *types, va_list ap)
{
	struct str sql = STR_INIT(1024);
	int rc;

	str_addf(&sql, "SELECT %s FROM channel_outbox WHERE %s", what, where);
	rc = str_ok(&sql) ? sql_vopen(out, r->db, e, str_cstr(&sql), types, ap)
	                  : err_set(e, E_NOMEM, "a query");
	str_release(&sql);
	return rc;
}

int part_select(const struct room *r, struct part_refs *out, struct err *e, const char *where,
	const char *types, ...)
{
	struct stmt *s = NULL;
	size_t cap = 0;
	va_list ap;
	int rc;

	*out = (struct part_refs){ NULL, 0 };
	va_start(ap, types);
	rc = open_where(&s, r, e, "seq, kind", where, types, ap);
	va_end(ap);
	while (rc >= 0 && (rc = stmt_step(s, e)) == 1) {
		struct part_ref ref = { stmt_col_int(s, 0), (enum part_kind)stmt_col_int(s, 1) };

		if (refs_push(out, &cap, ref, e) < 0)
			rc = -1;
	}
	stmt_close(&s);
	if (rc < 0)
		part_refs_release(out);
	return rc;
}

void part_refs_release(struct part_refs *refs)
{
	free(refs->v);
	*refs = (struct part_refs){ NULL, 0 };
}

int part_count(const struct room *r, int *n, struct err *e, const char *where, const char *types,
	...)
{
	struct stmt *s = NULL;
	va_list ap;
	int rc;

	va_start(ap, types);
	rc = open_where(&s, r, e, "count(*)", where, types, ap);
	va_end(ap);
	if (rc < 0)
		return -1;
	rc = stmt_step(s, e);
	*n = rc == 1 ? (int)stmt_col_int(s, 0) : 0;
	stmt_close(&s);
	return rc < 0 ? -1 : 0;
}

int part_prune(const struct room *r, struct err *e)
{
	int64_t old = room_age(r) - KEEP_MS;

	if (sql_run(r->db, e,
		    "DELETE FROM channel_outbox WHERE state IN (2, 3, 4, 5, 7) AND (moved_at < ? OR seq <="
		    " (SELECT seq FROM channel_outbox WHERE state IN (2, 3, 4, 5, 7)"
		    " ORDER BY seq DESC LIMIT 1 OFFSET ?))",
		    "li", old, KEEP_ROWS) < 0)
		return -1;
	if (sql_run(r->db, e,
		    "DELETE FROM channel_outbox WHERE state = 6 AND (made_at < ? OR seq <="
		    " (SELECT seq FROM channel_outbox WHERE state = 6 ORDER BY seq DESC LIMIT 1 OFFSET ?))",
		    "li", old, KEEP_ROWS) < 0)
		return -1;
	if (db_changes(r->db) > 0)
		log_warn(r->log, "outbox", "%d parked parts past their time were dropped",
			db_changes(r->db));
	return 0;
}
