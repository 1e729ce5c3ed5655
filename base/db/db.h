/* base/db/db.h: SQLite behind a small door: open, pragmas, migrations, transactions, statements.
 * WAL, synchronous FULL, foreign keys on, trusted_schema off, extension loading off.
 *
 * Codes: E_FULL disk full, E_BUSY another process writes (after 2 s), E_EXISTS a UNIQUE or PRIMARY
 * KEY is taken, E_CONFLICT another constraint, E_FORMAT damaged, E_DENIED may not be opened. */
#ifndef BASE_DB_DB_H
#define BASE_DB_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct db;
struct stmt;

/* Opens or creates a private file (0600); no component of the path may be a symlink. */
int db_open(struct db **out, const char *path, struct err *e);
/* Reads it all and looks for damage: 0, or E_FORMAT. */
int db_check(struct db *d, struct err *e);
/* Statements still open come to nothing; closing them stays their owners' task. */
void db_close(struct db **d);

/* Bring the tables of one room to the newest version. steps[i] is SQL that takes version i to i+1,
 * each run in a transaction with its version mark. The names of tables carry the room's prefix.
 * A database newer than n steps is refused with E_UNSUPPORTED and a plain message. */
int db_migrate(struct db *d, const char *room, const char *const *steps, int n, struct err *e);

/* Transactions nest: the outermost commit commits (BEGIN IMMEDIATE), an inner rollback takes back
 * what the inner part has done and nothing else (a savepoint). When SQLite itself had to give the
 * transaction up (disk full), what follows until its end fails with E_CONFLICT. */
int db_begin(struct db *d, struct err *e);
int db_commit(struct db *d, struct err *e); /* on failure the transaction is rolled back */
void db_rollback(struct db *d);
bool db_in_transaction(const struct db *d);

/* Waiting for the disk is what a commit costs. As db_begin, but when it is the outermost, its
 * commit outlives the program alone; the machine as well from the next db_commit on that writes
 * something, or from db_sync, which does nothing when no commit waits for it. After the disk was
 * waited for in vain nothing begins before all of it was written anew. */
int db_begin_unsynced(struct db *d, struct err *e);
int db_sync(struct db *d, struct err *e);

/* Folds the log into the database: what was overwritten stands nowhere any more. E_BUSY while
 * another process reads. */
int db_fold(struct db *d, struct err *e);

int db_exec(struct db *d, const char *sql, struct err *e);

/* A prepared statement, owned by the caller until it is closed; then it is kept for the next that
 * opens the same text. Parameters count from 1. Binding failures stick and are reported by the next
 * step. Text is copied. */
int stmt_open(struct stmt **out, struct db *d, const char *sql, struct err *e);
void stmt_close(struct stmt **s);
void stmt_int(struct stmt *s, int i, int64_t v);
void stmt_text(struct stmt *s, int i, struct view v); /* p NULL binds NULL */
/* 1: a row. 0: done. -1: error. Both of these leave it reset and unbound. */
int stmt_step(struct stmt *s, struct err *e);
void stmt_reset(struct stmt *s);             /* after leaving a row loop early */
int stmt_run(struct stmt *s, struct err *e); /* step to the end, rows thrown away: 0 or -1 */
int64_t stmt_col_int(const struct stmt *s, int col);      /* columns count from 0 */
struct view stmt_col_text(const struct stmt *s, int col); /* until the next step or reset */
bool stmt_col_null(const struct stmt *s, int col);

int64_t db_last_id(const struct db *d); /* rowid of the last insert */
int db_changes(const struct db *d);     /* rows the last statement changed */

#endif
