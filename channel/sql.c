#include "channel/sql.h"

#include <assert.h>
#include <stdarg.h>

static void bind(struct stmt *s, const char *types, va_list ap)
{
	for (int i = 1; types && *types; types++, i++) {
		switch (*types) {
		case 'i': stmt_int(s, i, va_arg(ap, int)); break;
		case 'l': stmt_int(s, i, va_arg(ap, int64_t)); break;
		case 's': stmt_text(s, i, view_of(va_arg(ap, const char *))); break;
		case 'v': stmt_text(s, i, va_arg(ap, struct view)); break;
		default: assert(!"a letter of types");
		}
	}
}

int sql_vopen(struct stmt **out, struct db *d, struct err *e, const char *sql, const char *types,
	va_list ap)
{
	if (stmt_open(out, d, sql, e) < 0)
		return -1;
	bind(*out, types, ap);
	return 0;
}

int sql_open(struct stmt **out, struct db *d, struct err *e, const char *sql, const char *types,
	...)
{
	va_list ap;
	int rc;

	va_start(ap, types);
	rc = sql_vopen(out, d, e, sql, types, ap);
	va_end(ap);
	return rc;
}

int sql_run(struct db *d, struct err *e, const char *sql, const char *types, ...)
{
	struct stmt *s = NULL;
	va_list ap;
	int rc;

	va_start(ap, types);
	rc = sql_vopen(&s, d, e, sql, types, ap);
	va_end(ap);
	if (rc < 0)
		return -1;
	rc = stmt_run(s, e);
	stmt_close(&s);
	return rc;
}

int sql_int(struct db *d, struct err *e, int64_t *out, const char *sql, const char *types, ...)
{
	struct stmt *s = NULL;
	va_list ap;
	int rc;

	*out = 0;
	va_start(ap, types);
	rc = sql_vopen(&s, d, e, sql, types, ap);
	va_end(ap);
	if (rc < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1 && stmt_col_null(s, 0))
		rc = 0;
	if (rc == 1)
		*out = stmt_col_int(s, 0);
	stmt_close(&s);
	return rc;
}

int sql_end(struct db *d, int rc, struct err *e)
{
	if (rc < 0) {
		db_rollback(d);
		return -1;
	}
	return db_commit(d, e) < 0 ? -1 : rc;
}

/* Tables are STRICT and checked, so that a row that breaks a promise cannot get in. Wall times are
 * Unix milliseconds. What is kept for a bot (tokens, ids) carries the bot; what was said between
 * people and the agent does not, and outlives a new login. */
static const char *const steps[] = {
	"CREATE TABLE channel_meta (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL)"
	" STRICT, WITHOUT ROWID;"

	"CREATE TABLE channel_seen (seq INTEGER PRIMARY KEY, bot TEXT NOT NULL, id TEXT NOT NULL,"
	" at INTEGER NOT NULL, what INTEGER NOT NULL, UNIQUE (bot, id)) STRICT;"

	"CREATE TABLE channel_peer (bot TEXT NOT NULL, user TEXT NOT NULL, token TEXT NOT NULL,"
	" heard_at INTEGER NOT NULL, sends INTEGER NOT NULL DEFAULT 0,"
	" closed INTEGER NOT NULL DEFAULT 0, told INTEGER NOT NULL DEFAULT 0,"
	" lang INTEGER NOT NULL DEFAULT 0, asked INTEGER NOT NULL DEFAULT 0,"
	" PRIMARY KEY (bot, user)) STRICT, WITHOUT ROWID;"

	"CREATE TABLE channel_inbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL,"
	" user TEXT NOT NULL CHECK (length(user) > 0), origin INTEGER NOT NULL, lang INTEGER NOT NULL,"
	" state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 7), turn INTEGER NOT NULL DEFAULT 0,"
	" at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0, text TEXT NOT NULL) STRICT;"
	"CREATE INDEX channel_inbox_state ON channel_inbox (state, seq);"

	"CREATE TABLE channel_outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER NOT NULL,"
	" sub INTEGER NOT NULL DEFAULT 0, user TEXT NOT NULL CHECK (length(user) > 0),"
	" kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 6), urgent INTEGER NOT NULL,"
	" state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 7),"
	" turn INTEGER NOT NULL DEFAULT 0, merge INTEGER NOT NULL DEFAULT 0,"
	" n INTEGER NOT NULL DEFAULT 1, client_id TEXT NOT NULL UNIQUE,"
	" attempts INTEGER NOT NULL DEFAULT 0, refusals INTEGER NOT NULL DEFAULT 0,"
	" counted INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL DEFAULT 0,"
	" stopped INTEGER NOT NULL DEFAULT 0, message_id TEXT NOT NULL DEFAULT '',"
	" why TEXT NOT NULL DEFAULT '', made_at INTEGER NOT NULL, moved_at INTEGER NOT NULL,"
	" text TEXT NOT NULL) STRICT;"
	"CREATE INDEX channel_outbox_next ON channel_outbox (state, user, place, sub);"
	"CREATE INDEX channel_outbox_turn ON channel_outbox (turn);"
	"CREATE INDEX channel_outbox_message ON channel_outbox (message_id) WHERE message_id <> '';",

	"DROP INDEX channel_outbox_message;"
	"CREATE TABLE channel_said (seq INTEGER PRIMARY KEY, bot TEXT NOT NULL, user TEXT NOT NULL,"
	" id TEXT NOT NULL CHECK (length(id) > 0), at INTEGER NOT NULL, text TEXT NOT NULL,"
	" file TEXT NOT NULL DEFAULT '', UNIQUE (bot, user, id)) STRICT;",
	/* joins: until then others may join it; held: and it waits for them. */
	"ALTER TABLE channel_inbox ADD COLUMN joins INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE channel_inbox ADD COLUMN held INTEGER NOT NULL DEFAULT 0;"

	/* full_url, param and key are secret, and '' once the fetch is over. */
	"CREATE TABLE channel_media (id INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL,"
	" message TEXT NOT NULL, at INTEGER NOT NULL,"
	" kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 4), quoted INTEGER NOT NULL,"
	" transcript INTEGER NOT NULL, play_ms INTEGER NOT NULL,"
	" full_url TEXT NOT NULL, param TEXT NOT NULL, key TEXT NOT NULL,"
	" state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3), why INTEGER NOT NULL DEFAULT 0,"
	" name TEXT NOT NULL, type TEXT NOT NULL DEFAULT '', size INTEGER NOT NULL DEFAULT 0,"
	" path TEXT NOT NULL DEFAULT '', hear INTEGER NOT NULL DEFAULT 0,"
	" unheard INTEGER NOT NULL DEFAULT 0,"
	" heard TEXT NOT NULL DEFAULT '') STRICT;"
	"CREATE INDEX channel_media_seq ON channel_media (seq);"
	"CREATE INDEX channel_media_message ON channel_media (message);"
	"CREATE INDEX channel_media_path ON channel_media (path);"
	"CREATE INDEX channel_media_wanted ON channel_media (state, hear);",

	"CREATE TABLE channel_file (part INTEGER PRIMARY KEY"
	" REFERENCES channel_outbox (seq) ON DELETE CASCADE,"
	" spool TEXT NOT NULL CHECK (length(spool) > 0), name TEXT NOT NULL, source TEXT NOT NULL,"
	" item INTEGER NOT NULL CHECK (item BETWEEN 0 AND 4), size INTEGER NOT NULL,"
	" md5 TEXT NOT NULL, rest TEXT NOT NULL) STRICT;"
	"CREATE INDEX channel_file_spool ON channel_file (spool);"
	"CREATE TABLE channel_note (user TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL)"
	" STRICT, WITHOUT ROWID;",
};

int sql_migrate(struct db *d, struct err *e)
{
	return db_migrate(d, "channel", steps, sizeof(steps) / sizeof(*steps), e);
}

int sql_meta(struct db *d, const char *name, int64_t *out, struct err *e)
{
	int rc = sql_int(d, e, out, "SELECT value FROM channel_meta WHERE name = ?", "s", name);

	return rc < 0 ? -1 : 0;
}

int sql_set_meta(struct db *d, const char *name, int64_t value, struct err *e)
{
	return sql_run(d, e,
		"INSERT INTO channel_meta (name, value) VALUES (?, ?)"
		" ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		"sl", name, value);
}
