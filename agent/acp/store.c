#include "agent/acp/store.h"

#include <stdlib.h>

static const char *const steps[] = {
	"CREATE TABLE acp_session("
	"	agent TEXT NOT NULL,"
	"	key TEXT NOT NULL,"
	"	cwd TEXT NOT NULL,"
	"	session TEXT NOT NULL,"
	"	used_ms INTEGER NOT NULL,"
	"	PRIMARY KEY(agent, key)"
	") WITHOUT ROWID;",
	/* told: the operator's words that the session has been given. A choice is the user's for
	 * one conversation. A fact is what the agent itself was seen to have: its default model,
	 * its commands. */
	"ALTER TABLE acp_session ADD COLUMN told TEXT NOT NULL DEFAULT '';"
	"CREATE TABLE acp_choice("
	"	agent TEXT NOT NULL,"
	"	key TEXT NOT NULL,"
	"	name TEXT NOT NULL,"
	"	value TEXT NOT NULL,"
	"	PRIMARY KEY(agent, key, name)"
	") WITHOUT ROWID;"
	"CREATE TABLE acp_fact("
	"	agent TEXT NOT NULL,"
	"	name TEXT NOT NULL,"
	"	value TEXT NOT NULL,"
	"	PRIMARY KEY(agent, name)"
	") WITHOUT ROWID;",
};

enum {
	Q_GET,
	Q_PUT,
	Q_FORGET,
	Q_PRUNE,
	Q_TELL,
	Q_TOLD,
	Q_CHOOSE,
	Q_UNCHOOSE,
	Q_CHOSEN,
	Q_NOTE,
	Q_NOTED,
	Q_COUNT
};

static const char *const queries[Q_COUNT] = {
	[Q_GET] = "SELECT session FROM acp_session WHERE agent = ?1 AND key = ?2 AND cwd = ?3",
	[Q_PUT] = "INSERT INTO acp_session(agent, key, cwd, session, used_ms)"
		  " VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(agent, key) DO UPDATE SET"
		  " told = CASE WHEN session = excluded.session THEN told ELSE '' END,"
		  " cwd = excluded.cwd, session = excluded.session, used_ms = excluded.used_ms",
	[Q_FORGET] = "DELETE FROM acp_session WHERE agent = ?1 AND key = ?2",
	/* The one just put stays, however old a clock that was set back makes it. */
	[Q_PRUNE] = "DELETE FROM acp_session WHERE (agent, key) NOT IN"
		    " (SELECT agent, key FROM acp_session"
		    "  ORDER BY agent = ?2 AND key = ?3 DESC, used_ms DESC LIMIT ?1)",
	[Q_TELL] = "UPDATE acp_session SET told = ?3 WHERE agent = ?1 AND key = ?2",
	[Q_TOLD] = "SELECT told FROM acp_session WHERE agent = ?1 AND key = ?2",
	[Q_CHOOSE] = "INSERT OR REPLACE INTO acp_choice(agent, key, name, value)"
		     " VALUES(?1, ?2, ?3, ?4)",
	[Q_UNCHOOSE] = "DELETE FROM acp_choice WHERE agent = ?1 AND key = ?2 AND name = ?3",
	[Q_CHOSEN] = "SELECT value FROM acp_choice WHERE agent = ?1 AND key = ?2 AND name = ?3",
	[Q_NOTE] = "INSERT OR REPLACE INTO acp_fact(agent, name, value) VALUES(?1, ?2, ?3)",
	[Q_NOTED] = "SELECT value FROM acp_fact WHERE agent = ?1 AND name = ?2",
};

struct store {
	struct db *db;
	struct stmt *q[Q_COUNT];
};

int store_open(struct store **out, struct db *db, struct err *e)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return err_set(e, E_NOMEM, "the agent's sessions");
	s->db = db;
	rc = db_migrate(db, "acp", steps, sizeof(steps) / sizeof(steps[0]), e);
	for (int i = 0; rc == 0 && i < Q_COUNT; i++)
		rc = stmt_open(&s->q[i], db, queries[i], e);
	if (rc < 0)
		store_close(&s);
	*out = s;
	return rc;
}

void store_close(struct store **sp)
{
	struct store *s = *sp;

	if (!s)
		return;
	*sp = NULL;
	for (int i = 0; i < Q_COUNT; i++)
		stmt_close(&s->q[i]);
	free(s);
}

/* The one text that a query with up to three words has; appended to out. */
static int get_text(struct stmt *q, const char *const words[3], struct str *out, struct err *e)
{
	int rc;

	for (int i = 0; i < 3 && words[i]; i++)
		stmt_text(q, i + 1, view_of(words[i]));
	rc = stmt_step(q, e);
	if (rc == 1 && str_add(out, stmt_col_text(q, 0)) < 0)
		rc = err_set(e, E_NOMEM, "what is kept of the agent");
	stmt_reset(q);
	return rc;
}

int store_get(struct store *s, const char *agent, const char *key, const char *cwd, struct str *out,
	struct err *e)
{
	return get_text(s->q[Q_GET], (const char *const[3]){ agent, key, cwd }, out, e);
}

static int prune(struct store *s, const char *agent, const char *key, struct err *e)
{
	stmt_int(s->q[Q_PRUNE], 1, STORE_ROWS_MAX);
	stmt_text(s->q[Q_PRUNE], 2, view_of(agent));
	stmt_text(s->q[Q_PRUNE], 3, view_of(key));
	return stmt_run(s->q[Q_PRUNE], e);
}

int store_put(struct store *s, const char *agent, const char *key, const char *cwd,
	struct view session, int64_t now_ms, struct err *e)
{
	struct stmt *q = s->q[Q_PUT];

	if (db_begin(s->db, e) < 0)
		return -1;
	stmt_text(q, 1, view_of(agent));
	stmt_text(q, 2, view_of(key));
	stmt_text(q, 3, view_of(cwd));
	stmt_text(q, 4, session);
	stmt_int(q, 5, now_ms);
	if (stmt_run(q, e) < 0 || prune(s, agent, key, e) < 0) {
		db_rollback(s->db);
		return -1;
	}
	return db_commit(s->db, e);
}

int store_forget(struct store *s, const char *agent, const char *key, struct err *e)
{
	stmt_text(s->q[Q_FORGET], 1, view_of(agent));
	stmt_text(s->q[Q_FORGET], 2, view_of(key));
	return stmt_run(s->q[Q_FORGET], e);
}

int store_tell(struct store *s, const char *agent, const char *key, struct view words,
	struct err *e)
{
	stmt_text(s->q[Q_TELL], 1, view_of(agent));
	stmt_text(s->q[Q_TELL], 2, view_of(key));
	stmt_text(s->q[Q_TELL], 3, words);
	return stmt_run(s->q[Q_TELL], e);
}

int store_told(struct store *s, const char *agent, const char *key, struct str *out, struct err *e)
{
	return get_text(s->q[Q_TOLD], (const char *const[3]){ agent, key, NULL }, out, e);
}

int store_choose(struct store *s, const char *agent, const char *key, const char *name,
	struct view value, struct err *e)
{
	struct stmt *q = s->q[value.n > 0 ? Q_CHOOSE : Q_UNCHOOSE];

	stmt_text(q, 1, view_of(agent));
	stmt_text(q, 2, view_of(key));
	stmt_text(q, 3, view_of(name));
	if (value.n > 0)
		stmt_text(q, 4, value);
	return stmt_run(q, e);
}

int store_chosen(struct store *s, const char *agent, const char *key, const char *name,
	struct str *out, struct err *e)
{
	return get_text(s->q[Q_CHOSEN], (const char *const[3]){ agent, key, name }, out, e);
}

int store_note(struct store *s, const char *agent, const char *name, struct view value,
	struct err *e)
{
	stmt_text(s->q[Q_NOTE], 1, view_of(agent));
	stmt_text(s->q[Q_NOTE], 2, view_of(name));
	stmt_text(s->q[Q_NOTE], 3, value);
	return stmt_run(s->q[Q_NOTE], e);
}

int store_noted(struct store *s, const char *agent, const char *name, struct str *out,
	struct err *e)
{
	return get_text(s->q[Q_NOTED], (const char *const[3]){ agent, name, NULL }, out, e);
}
