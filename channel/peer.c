#include "channel/peer.h"

#include "channel/sql.h"

static enum control_language lang_of(int64_t v)
{
	return v == LANG_ZH || v == LANG_EN ? (enum control_language)v : LANG_AUTO;
}

int peer_load(const struct room *r, const char *user, struct peer *out, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	*out = (struct peer){ .sends = 0 };
	if (sql_open(&s, r->db, e,
		    "SELECT token, heard_at, sends, closed, told, lang, asked FROM channel_peer"
		    " WHERE bot = ? AND user = ?",
		    "ss", r->bot, user) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1 && (copy_z(out->user, sizeof(out->user), view_of(user)) < 0 ||
			       copy_z(out->token, sizeof(out->token), stmt_col_text(s, 0)) < 0)) {
		log_warn(r->log, "peer", "a stored token is unfit and not used");
		rc = 0;
	}
	if (rc == 1) {
		int64_t sends = stmt_col_int(s, 2);

		out->heard_at = stmt_col_int(s, 1);
		out->sends = sends < 0 ? 0 : sends > PEER_SENDS_MAX ? PEER_SENDS_MAX : (int)sends;
		out->closed = stmt_col_int(s, 3) != 0;
		out->told = stmt_col_int(s, 4) != 0;
		out->lang = lang_of(stmt_col_int(s, 5));
		out->asked = (int)stmt_col_int(s, 6);
	}
	stmt_close(&s);
	return rc;
}

int peer_heard(const struct room *r, const char *user, const char *token,
	enum control_language lang, int sends, struct err *e)
{
	return sql_run(r->db, e,
		"INSERT INTO channel_peer (bot, user, token, heard_at, sends, lang)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (bot, user) DO UPDATE SET"
		" token = CASE WHEN ?3 = '' THEN token ELSE ?3 END, heard_at = ?4, sends = ?5,"
		" closed = 0, told = 0, lang = CASE WHEN ?6 = 0 THEN lang ELSE ?6 END",
		"ssslii", r->bot, user, token, room_now(r), sends, (int)lang);
}

int peer_spend(const struct room *r, const char *user, int delta, struct err *e)
{
	return sql_run(r->db, e,
		"UPDATE channel_peer SET sends = max(sends + ?, 0) WHERE bot = ? AND user = ?",
		"iss", delta, r->bot, user);
}

int peer_set_closed(const struct room *r, const char *user, struct err *e)
{
	return sql_run(r->db, e, "UPDATE channel_peer SET closed = 1 WHERE bot = ? AND user = ?",
		"ss", r->bot, user);
}

int peer_set_told(const struct room *r, const char *user, struct err *e)
{
	return sql_run(r->db, e, "UPDATE channel_peer SET told = 1 WHERE bot = ? AND user = ?",
		"ss", r->bot, user);
}

int peer_set_asked(const struct room *r, const char *user, int choices, struct err *e)
{
	return sql_run(r->db, e, "UPDATE channel_peer SET asked = ? WHERE bot = ? AND user = ?",
		"iss", choices, r->bot, user);
}

int64_t peer_window(const struct room *r, const struct peer *p)
{
	int64_t left = p->heard_at + PEER_WINDOW_MS - room_now(r);

	return p->closed || !*p->token || left < 0 ? 0 : left;
}

enum control_language peer_lang(const struct room *r, const char *user)
{
	struct peer p;

	if (r->language != LANG_AUTO)
		return r->language;
	return peer_load(r, user, &p, NULL) == 1 ? p.lang : LANG_AUTO;
}
