#include "channel/quote.h"

#include "base/text.h"
#include "channel/sql.h"

#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#define SHOWN_CHARS 1000
#define FILE_MAX    ((size_t)1024)

/* --- What was said ---------------------------------------------------------------------------- */

/* Ids that we made up (chan_msg.id) are no phone's. */
static bool is_servers(const char *id)
{
	return id[0] >= '0' && id[0] <= '9';
}

int quote_remember(const struct room *r, const char *user, const char *id, struct view text,
	const char *file, struct err *e)
{
	if (!is_servers(id))
		return 0;
	if (text.n > QUOTE_TEXT_MAX)
		text = view_cut(text, utf8_cut(text, QUOTE_TEXT_MAX));
	return sql_run(r->db, e,
		"INSERT INTO channel_said (bot, user, id, at, text, file) VALUES (?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (bot, user, id) DO NOTHING",
		"ssslvs", r->bot, user, id, room_now(r), text.n ? text : VIEW(""), file);
}

int quote_prune(const struct room *r, struct err *e)
{
	return sql_run(r->db, e,
		"DELETE FROM channel_said WHERE at < ? OR seq <="
		" (SELECT seq FROM channel_said ORDER BY seq DESC LIMIT 1 OFFSET ?)",
		"li", room_age(r) - QUOTE_KEEP_MS, QUOTE_KEEP_ROWS);
}

/* 1, 0, -1. */
static int find(const struct room *r, const char *user, const char *id, struct str *text,
	struct str *file, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, r->db, e,
		    "SELECT text, file FROM channel_said WHERE bot = ? AND user = ? AND id = ?",
		    "sss", r->bot, user, id) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1 && (str_add(text, stmt_col_text(s, 0)) < 0 ||
			       str_add(file, view_cut(stmt_col_text(s, 1), FILE_MAX)) < 0))
		rc = err_set(e, E_NOMEM, "a quote");
	stmt_close(&s);
	return rc;
}

/* --- A part of it ----------------------------------------------------------------------------- */

/* Where occurrence number n (from 0, none within another) of `what` begins, from `at` on; SIZE_MAX:
 * there are not so many. */
static size_t occurrence(struct view text, size_t at, struct view what, int64_t n)
{
	for (;; n--) {
		struct view rest = view_from(text, at);
		const char *found =
			what.n ? memmem(rest.n > 0 ? rest.p : "", rest.n, what.p, what.n) : NULL;

		if (!found)
			return SIZE_MAX;
		at = (size_t)(found - text.p);
		if (n <= 0)
			return at;
		at += what.n;
	}
}

/* From the mark's first byte to the end of `last`, whose occurrences are counted from `from` on;
 * empty when there is no such part. */
static struct view between(struct view text, size_t begin, size_t from,
	const struct chan_partial *p)
{
	struct view first = view_of(p->start), last = view_of(p->end);
	size_t end = occurrence(text, from, last, p->end_index);

	if (end == SIZE_MAX || end < begin || end + last.n < begin + first.n)
		return VIEW_NONE;
	return view_cut(view_from(text, begin), end + last.n - begin);
}

static bool has_md5(struct view v, const char *want)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	char hex[2 * 16 + 1];
	unsigned n = 0;

	if (v.n == 0 || EVP_Digest(v.p, v.n, md, &n, EVP_md5(), NULL) != 1 || n != 16)
		return false;
	for (unsigned i = 0; i < n; i++)
		(void)snprintf(hex + (size_t)2 * i, 3, "%02x", md[i]);
	return strcasecmp(hex, want) == 0;
}

/* The end is counted from the beginning of the text by some phones, by others from the end of the
 * start: the hash decides, and without one the first, where it leads to anything. */
struct view quote_part(struct view text, const struct chan_partial *p)
{
	struct view global, relative;
	size_t begin;

	if (!p->start)
		return text;
	begin = occurrence(text, 0, view_of(p->start), p->start_index);
	if (begin == SIZE_MAX)
		return text;
	global = between(text, begin, 0, p);
	relative = between(text, begin, begin + strlen(p->start), p);
	if (p->md5[0])
		return has_md5(global, p->md5)     ? global
		       : has_md5(relative, p->md5) ? relative
		                                   : text;
	return global.n ? global : relative.n ? relative : text;
}

/* --- The line of the prompt ------------------------------------------------------------------- */

/* Of a text that is at hand, or of a file of ours. */
static void put_found(enum control_language lang, const struct chan_msg *m, struct view text,
	const char *file, struct str *out)
{
	struct str shown = STR_INIT((size_t)16 * SHOWN_CHARS);
	struct view part = view_trim(quote_part(text, &m->partial));

	(void)words_line(&shown, part, SHOWN_CHARS);
	if (file[0] && shown.n == 0)
		(void)words(&shown, lang, W_QUOTED_FILE, file);
	if (shown.n > 0) {
		(void)words(out, lang, W_QUOTED, str_cstr(&shown));
		(void)str_addc(out, '\n');
	}
	str_release(&shown);
}

static void put_missing(enum control_language lang, struct str *out)
{
	struct str why = STR_INIT(256);

	(void)words(&why, lang, W_QUOTE_LOST);
	(void)words(out, lang, W_QUOTED, str_cstr(&why));
	(void)str_addc(out, '\n');
	str_release(&why);
}

static bool quotes_items(const struct chan_msg *m)
{
	for (size_t i = 0; i < m->nitems; i++)
		if (m->items[i].quoted)
			return true;
	return false;
}

/* What was kept of it, where that is better than what came along: 1, 0, -1. */
static int look_up(const struct room *r, const struct chan_msg *m, struct str *text,
	struct str *file, struct err *e)
{
	if ((view_trim(m->quote).n > 0 && !m->quote_title) || !m->quote_id || !m->quote_id[0])
		return 0;
	return find(r, m->from, m->quote_id, text, file, e);
}

int quote_is(const struct room *r, const struct chan_msg *m, struct view text, struct err *e)
{
	struct str kept = STR_INIT(QUOTE_TEXT_MAX), file = STR_INIT(FILE_MAX);
	int rc = look_up(r, m, &kept, &file, e);
	struct view quoted = view_trim(rc == 1 ? str_view(&kept) : m->quote);

	if (rc >= 0 && quoted.n == 0)
		rc = !quotes_items(m) && !(m->quote_id && m->quote_id[0]);
	else if (rc >= 0)
		rc = view_starts(text, quoted);
	str_release(&kept);
	str_release(&file);
	return rc;
}

int quote_put(const struct room *r, enum control_language lang, const struct chan_msg *m,
	struct str *out, struct err *e)
{
	struct str text = STR_INIT(QUOTE_TEXT_MAX), file = STR_INIT(FILE_MAX);
	struct view inside = view_trim(m->quote);
	int rc = look_up(r, m, &text, &file, e);

	if (rc == 1)
		put_found(lang, m, str_view(&text), str_cstr(&file), out);
	else if (rc == 0 && inside.n > 0)
		put_found(lang, m, inside, "", out);
	else if (rc == 0 && m->quote_id && m->quote_id[0] && !quotes_items(m))
		put_missing(lang, out);
	str_release(&text);
	str_release(&file);
	return rc < 0 ? -1 : 0;
}
