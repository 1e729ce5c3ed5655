#include "channel/merge.h"

#include "agent/engine.h"
#include "channel/sql.h"

/* The user's newest message, as long as its window is open. Wall time is what outlives a restart;
 * a clock that was set back meanwhile holds nothing for longer than the window. */
static const char *const before =
	"SELECT seq, held, length(CAST(text AS BLOB)),"
	" (SELECT count(*) FROM channel_media m WHERE m.seq = i.seq)"
	" FROM channel_inbox i WHERE state = 0 AND user = ?1 AND joins BETWEEN ?2 + 1 AND ?2 + ?3"
	" AND seq = (SELECT max(seq) FROM channel_inbox WHERE state = 0 AND user = ?1)";

void merge_of(struct merge *out, const struct chan_msg *m, struct view text)
{
	*out = (struct merge){ .text = text,
		.quotes = m->quote.n > 0 || *m->quote_id,
		.files = m->nitems };
	for (size_t i = 0; i < m->nitems; i++)
		if (!m->items[i].quoted && !m->items[i].transcript &&
			m->items[i].kind != CHAN_OTHER)
			out->shows = true;
}

static bool fits(const struct merge *what, bool held, int64_t text, int64_t files)
{
	if (!held && !what->shows)
		return false;
	if (text > 0 && what->quotes)
		return false; /* only in front is a quote told from the user's own words */
	return text + (int64_t)what->text.n < (int64_t)MERGE_TEXT_MAX &&
	       files + (int64_t)what->files <= TURN_FILES_MAX;
}

static int join(const struct room *r, int64_t seq, enum control_language lang,
	const struct merge *what, struct err *e)
{
	if (what->text.n > 0 &&
		sql_run(r->db, e,
			"UPDATE channel_inbox SET lang = ?, text = text ||"
			" CASE WHEN text = '' THEN '' ELSE char(10) END || ? WHERE seq = ?",
			"ivl", (int)lang, what->text, seq) < 0)
		return -1;
	return what->shows ? merge_open(r, seq, what, e) : 0;
}

int merge_join(const struct room *r, const char *user, enum control_language lang,
	const struct merge *what, int64_t *seq, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, r->db, e, before, "sll", user, loop_wall(r->loop), r->merge_ms) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1) {
		*seq = stmt_col_int(s, 0);
		rc = fits(what, stmt_col_int(s, 1) != 0, stmt_col_int(s, 2), stmt_col_int(s, 3));
	}
	stmt_close(&s);
	if (rc == 1 && join(r, *seq, lang, what, e) < 0)
		return -1;
	return rc;
}

int merge_open(const struct room *r, int64_t seq, const struct merge *what, struct err *e)
{
	if (r->merge_ms == 0)
		return 0;
	return sql_run(r->db, e,
		"UPDATE channel_inbox SET joins = ?, held = max(held, ?) WHERE seq = ?", "lil",
		loop_wall(r->loop) + r->merge_ms, (int)what->shows, seq);
}

int merge_left(const struct room *r, int64_t seq, int64_t *ms, struct err *e)
{
	int rc = sql_int(r->db, e, ms,
		"SELECT joins - ?1 FROM channel_inbox WHERE seq = ?2 AND held AND joins - ?1"
		" BETWEEN 1 AND ?3",
		"lll", loop_wall(r->loop), seq, r->merge_ms);

	return rc < 0 ? -1 : 0;
}
