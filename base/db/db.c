#include "base/db/db.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file-private.h"
#include "base/file.h"

#define BUSY_MS  2000    /* another process of ours writes; its transactions are short */
#define LOG_SIZE 4194304 /* what its log grows to before it is folded into the database */
#define LOG_FULL 1000    /* the same in pages */
#define KEPT     64 /* statements ready for reuse: about what a message needs from end to end */

struct db {
	sqlite3 *sq;
	struct stmt *stmts;
	sqlite3_stmt *kept[KEPT]; /* of nobody now, the last used first */
	size_t nkept;
	char path[PATH_SIZE];
	const char *name; /* its last component, for messages */
	int depth;
	bool doomed;   /* SQLite gave the transaction up by itself */
	bool unsynced; /* the commit of this transaction does not wait for the disk */
	bool owed;     /* such a commit was made, and nothing has waited since */
	bool failed;   /* the disk was waited for in vain */
};

struct stmt {
	struct db *db; /* NULL once the database is closed */
	sqlite3_stmt *st;
	struct stmt *next, **back;
	int bind_rc;
};

/* --- Errors ----------------------------------------------------------------------------------- */

/* SQLite tells ENOSPC as SQLITE_FULL; a quota or a limit it only calls an I/O error, and at a
 * commit it does not keep the errno, which is why it is looked at here too. */
static bool disk_is_full(int rc, int sys)
{
	return (rc & 0xff) == SQLITE_FULL ||
	       ((rc & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT || sys == EFBIG));
}

static enum err_code code_of(int rc, int sys)
{
	if (disk_is_full(rc, sys))
		return E_FULL;
	if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY)
		return E_EXISTS;
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return E_BUSY;
	case SQLITE_NOMEM: return E_NOMEM;
	case SQLITE_CONSTRAINT: return E_CONFLICT;
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY: return E_DENIED;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_TOOBIG:
	case SQLITE_MISMATCH:
	case SQLITE_RANGE: return E_FORMAT;
	default: return E_IO;
	}
}

static int damaged(const struct db *d, struct err *e)
{
	return err_set(e, E_FORMAT,
		"%s is damaged or not a database: restore it from a backup or move it away",
		d->path);
}

static int fail(struct db *d, int rc, struct err *e)
{
	enum err_code code = code_of(rc, errno);

	d->failed |= rc == SQLITE_IOERR_FSYNC;
	if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
		damaged(d, e);
	else if (code == E_BUSY)
		err_set(e, code, "%s is in use by another process", d->name);
	else if (code == E_FULL)
		err_set(e, code, "%s cannot grow: the disk is full", d->name);
	else
		err_set(e, code, "%s: %s", d->name, sqlite3_errmsg(d->sq));
	return -1;
}

/* After some failures (full disk, out of memory) SQLite has ended the transaction by itself. What
 * comes after must not run outside of one, as if nothing had happened. */
static bool transaction_lost(struct db *d)
{
	if (d->depth > 0 && sqlite3_get_autocommit(d->sq) != 0)
		d->doomed = true;
	return d->doomed && sqlite3_get_autocommit(d->sq) != 0;
}

static int refuse_lost(struct db *d, struct err *e)
{
	return err_set(e, E_CONFLICT, "%s: the transaction has been rolled back", d->name);
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* An existing node must be a regular file of ours. Looked at by O_PATH: closing an ordinary
 * descriptor would drop the locks that another connection of this process holds on the file. */
static int check_node(const char *path, const char *suffix, struct err *e)
{
	char full[PATH_SIZE + 16], name[NAME_MAX + 1];
	int n = snprintf(full, sizeof(full), "%s%s", path, suffix);
	struct stat st;
	int dir, rc = -1;

	if (n < 0 || n >= PATH_SIZE)
		return err_set(e, E_FORMAT, "%s: the path is too long", path);
	dir = path_open_parent(full, name, e);
	if (dir < 0)
		return -1;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		rc = errno == ENOENT ? 0 : err_sys(e, "cannot examine %s", full);
	else if (!S_ISREG(st.st_mode))
		err_set(e, E_DENIED, "%s is not a regular file; move it away", full);
	else if (st.st_uid != geteuid())
		err_set(e, E_DENIED, "%s belongs to another user; chown makes it yours", full);
	else if ((st.st_mode & 077) != 0 && fchmodat(dir, name, st.st_mode & 0700, 0) < 0)
		err_sys(e, "cannot make %s private", full);
	else
		rc = 1;
	close(dir);
	return rc;
}

/* SQLite gives the -wal and -shm files the mode of the database itself, so that is made first. */
static int prepare_files(const char *path, struct err *e)
{
	static const char *const beside[] = { "-wal", "-shm", "-journal" };
	struct err why = ERR_INIT;
	struct stat st;
	int fd, rc;

	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		if (check_node(path, beside[i], e) < 0)
			return -1;
	}
	rc = check_node(path, "", e);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	fd = path_open_private(path, O_EXCL, &st, &why);
	if (fd >= 0)
		close(fd);
	else if (why.code != E_EXISTS) /* another process was faster */
		return err_set(e, why.code, "%s", why.msg);
	return 0;
}

/* A log that grows makes each wait for the disk one for the file system's own log as well. Where
 * there is no room for it, it grows as it has to: asked for more than they have, some file systems
 * give all of it away before they say so. */
static void reserve_log(const struct db *d)
{
	char path[PATH_SIZE + 8];
	struct statvfs room;
	struct stat st;
	int fd;

	(void)snprintf(path, sizeof(path), "%s-wal", d->path);
	fd = path_open_private(path, 0, &st, NULL);
	if (fd < 0)
		return;
	if (st.st_size < LOG_SIZE && fstatvfs(fd, &room) == 0 &&
		(uint64_t)room.f_bavail * room.f_frsize > 2UL * LOG_SIZE)
		(void)fallocate(fd, 0, 0, LOG_SIZE);
	close(fd);
}

/* SQLite's word that a commit has written to the log, which is folded in from here when it is long.
 * The wait is for all of it, so one is enough for what was written before. */
static int on_logged(void *arg, sqlite3 *sq, const char *name, int pages)
{
	struct db *d = arg;
	int rc = SQLITE_OK;

	d->owed = d->unsynced;
	if (pages >= LOG_FULL)
		rc = sqlite3_wal_checkpoint_v2(sq, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	d->failed |= rc == SQLITE_IOERR_FSYNC;
	return SQLITE_OK;
}

static int set_up(struct db *d, struct err *e)
{
	static const char pragmas[] =
		"PRAGMA synchronous=FULL;"
		"PRAGMA foreign_keys=ON;"
		"PRAGMA trusted_schema=OFF;"
		"PRAGMA secure_delete=ON;" /* context tokens are deleted for good */
		"PRAGMA temp_store=MEMORY;"
		"PRAGMA cache_size=-256;"
		"PRAGMA journal_size_limit=4194304;"; /* LOG_SIZE, after a checkpoint */
	struct stmt *s = NULL;
	bool wal;

	(void)sqlite3_extended_result_codes(d->sq, 1);
	(void)sqlite3_busy_timeout(d->sq, BUSY_MS);
	(void)sqlite3_wal_hook(d->sq, on_logged, d);
	(void)sqlite3_db_config(d->sq, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	(void)sqlite3_db_config(d->sq, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(d->sq, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	(void)sqlite3_db_config(d->sq, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	if (stmt_open(&s, d, "PRAGMA journal_mode=WAL", e) < 0)
		return -1;
	if (stmt_step(s, e) < 0) {
		stmt_close(&s);
		return -1;
	}
	wal = view_eqs(stmt_col_text(s, 0), "wal");
	stmt_close(&s);
	if (!wal)
		return err_set(e, E_UNSUPPORTED,
			"%s: this file system cannot hold a database with a write-ahead log",
			d->name);
	if (db_exec(d, pragmas, e) < 0)
		return -1;
	reserve_log(d);
	d->owed = true; /* by a program that was killed, for all we know */
	return 0;
}

/* SQLite puts "-journal" behind it, and has a limit of its own. */
static int check_length(const char *path, struct err *e)
{
	const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	const char *slash = strrchr(path, '/');
	size_t max = vfs && vfs->mxPathname > 8 ? (size_t)vfs->mxPathname - 8 : 0;

	if (strlen(path) <= max)
		return 0;
	return err_set(e, E_FORMAT,
		"the path of %s has more than %zu bytes: choose a shorter folder",
		slash ? slash + 1 : path, max);
}

int db_open(struct db **out, const char *path, struct err *e)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX |
	                  SQLITE_OPEN_PRIVATECACHE;
	const char *slash;
	struct db *d;
	int rc;

	*out = NULL;
	if (check_length(path, e) < 0 || prepare_files(path, e) < 0)
		return -1;
	d = calloc(1, sizeof(*d));
	if (!d)
		return err_set(e, E_NOMEM, "no memory to open %s", path);
	(void)copy_z(d->path, sizeof(d->path), view_of(path)); /* looked at above */
	slash = strrchr(d->path, '/');
	d->name = slash ? slash + 1 : d->path;
	rc = sqlite3_open_v2(path, &d->sq, flags, NULL);
	if (rc != SQLITE_OK)
		fail(d, rc, e);
	else if (set_up(d, e) == 0) {
		*out = d;
		return 0;
	}
	db_close(&d);
	return -1;
}

int db_check(struct db *d, struct err *e)
{
	struct stmt *s = NULL;
	bool good;

	if (stmt_open(&s, d, "PRAGMA quick_check(1)", e) < 0)
		return -1;
	if (stmt_step(s, e) < 0) {
		stmt_close(&s);
		return -1;
	}
	good = view_eqs(stmt_col_text(s, 0), "ok");
	stmt_close(&s);
	return good ? 0 : damaged(d, e);
}

static void detach(struct stmt *s)
{
	(void)sqlite3_finalize(s->st);
	s->st = NULL;
	*s->back = s->next;
	if (s->next)
		s->next->back = s->back;
	s->db = NULL;
}

void db_close(struct db **dp)
{
	struct db *d = *dp;

	*dp = NULL;
	if (!d)
		return;
	while (d->stmts)
		detach(d->stmts);
	while (d->nkept > 0)
		(void)sqlite3_finalize(d->kept[--d->nkept]);
	(void)sqlite3_close(d->sq);
	free(d);
}

/* --- Transactions ----------------------------------------------------------------------------- */
static int exec(struct db *d, const char *sql, struct err *e)
{
	int rc;

	errno = 0;
	rc = sqlite3_exec(d->sq, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : fail(d, rc, e);
}

int db_exec(struct db *d, const char *sql, struct err *e)
{
	int rc;

	if (transaction_lost(d))
		return refuse_lost(d, e);
	rc = exec(d, sql, e);
	(void)transaction_lost(d);
	return rc;
}

/* The level can be changed outside of transactions only. */
static int wait_for_disk(struct db *d, bool on, struct err *e)
{
	if (exec(d, on ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", e) < 0)
		return -1;
	d->unsynced = !on;
	return 0;
}

static bool waits_for_disk(struct db *d)
{
	struct stmt *s = NULL;
	bool full;

	if (stmt_open(&s, d, "PRAGMA synchronous", NULL) < 0)
		return false;
	full = stmt_step(s, NULL) == 1 && stmt_col_int(s, 0) == 2;
	stmt_close(&s);
	return full;
}

static int begin(struct db *d, bool waits, struct err *e)
{
	if (transaction_lost(d))
		return refuse_lost(d, e);
	if (d->depth == 0 && d->failed && db_sync(d, e) < 0)
		return -1;
	if (d->depth == 0 && (waits ? d->unsynced : waits_for_disk(d)) &&
		wait_for_disk(d, waits, e) < 0)
		return -1;
	/* Savepoints of one name nest: each command means the newest. */
	if (exec(d, d->depth == 0 ? "BEGIN IMMEDIATE" : "SAVEPOINT inner_part", e) < 0)
		return -1;
	d->depth++;
	return 0;
}

int db_begin(struct db *d, struct err *e)
{
	return begin(d, true, e);
}

int db_begin_unsynced(struct db *d, struct err *e)
{
	return begin(d, false, e);
}

static void end_transaction(struct db *d)
{
	if (sqlite3_get_autocommit(d->sq) == 0)
		(void)exec(d, "ROLLBACK", NULL);
	d->depth = 0;
	d->doomed = false;
	if (d->unsynced)
		(void)wait_for_disk(d, true, NULL);
}

int db_commit(struct db *d, struct err *e)
{
	int rc;

	assert(d->depth > 0);
	(void)transaction_lost(d);
	if (d->depth > 1) {
		d->depth--;
		return d->doomed ? refuse_lost(d, e) : exec(d, "RELEASE inner_part", e);
	}
	rc = d->doomed ? refuse_lost(d, e) : exec(d, "COMMIT", e);
	end_transaction(d);
	return rc;
}

/* What the system could not write it takes for written, and the next wait says so: it has to be
 * written anew, to another place. */
static int write_anew(struct db *d, struct err *e)
{
	if (db_fold(d, e) < 0)
		return -1;
	d->failed = d->owed = false;
	return 0;
}

int db_sync(struct db *d, struct err *e)
{
	sqlite3_file *log = NULL;
	int rc;

	if (d->failed)
		return write_anew(d, e);
	if (!d->owed)
		return 0;
	rc = sqlite3_file_control(d->sq, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &log);
	errno = 0;
	if (rc == SQLITE_OK)
		rc = log && log->pMethods ? log->pMethods->xSync(log, SQLITE_SYNC_NORMAL)
		                          : SQLITE_IOERR_FSYNC;
	d->failed = rc != SQLITE_OK;
	if (d->failed)
		return err_set(e, code_of(rc, errno), "%s: the disk did not take it: %s", d->name,
			sqlite3_errstr(rc));
	d->owed = false;
	return 0;
}

int db_fold(struct db *d, struct err *e)
{
	int rc;

	errno = 0;
	rc = sqlite3_wal_checkpoint_v2(d->sq, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	if (rc != SQLITE_OK)
		return fail(d, rc, e);
	reserve_log(d);
	return 0;
}

void db_rollback(struct db *d)
{
	assert(d->depth > 0);
	if (d->depth == 1) {
		end_transaction(d);
		return;
	}
	d->depth--;
	if (!transaction_lost(d) && exec(d, "ROLLBACK TO inner_part; RELEASE inner_part", NULL) < 0)
		d->doomed = true;
}

bool db_in_transaction(const struct db *d)
{
	return d->depth > 0;
}

/* --- Statements ------------------------------------------------------------------------------- */

static sqlite3_stmt *take_kept(struct db *d, const char *sql)
{
	for (size_t i = 0; i < d->nkept; i++) {
		sqlite3_stmt *st = d->kept[i];

		if (strcmp(sqlite3_sql(st), sql) != 0)
			continue;
		for (d->nkept--; i < d->nkept; i++)
			d->kept[i] = d->kept[i + 1];
		return st;
	}
	return NULL;
}

/* The values of some pragmas are read when they are prepared. */
static bool may_be_kept(sqlite3_stmt *st)
{
	return sqlite3_strnicmp(sqlite3_sql(st), "PRAGMA", 6) != 0;
}

static void keep(struct db *d, sqlite3_stmt *st)
{
	if (d->nkept == KEPT)
		(void)sqlite3_finalize(d->kept[--d->nkept]);
	for (size_t i = d->nkept++; i > 0; i--)
		d->kept[i] = d->kept[i - 1];
	d->kept[0] = st;
}

int stmt_open(struct stmt **out, struct db *d, const char *sql, struct err *e)
{
	struct stmt *s = calloc(1, sizeof(*s));
	const char *tail = NULL;
	int rc = SQLITE_OK;

	*out = NULL;
	if (!s) {
		err_set(e, E_NOMEM, "no memory for a statement");
		return -1;
	}
	s->st = take_kept(d, sql);
	if (!s->st)
		rc = sqlite3_prepare_v3(d->sq, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->st, &tail);
	if (rc != SQLITE_OK) {
		free(s);
		return fail(d, rc, e);
	}
	assert(s->st && (!tail || *tail == '\0')); /* one statement */
	s->db = d;
	s->next = d->stmts;
	s->back = &d->stmts;
	if (s->next)
		s->next->back = &s->next;
	d->stmts = s;
	*out = s;
	return 0;
}

void stmt_close(struct stmt **sp)
{
	struct stmt *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	if (s->db && may_be_kept(s->st)) {
		stmt_reset(s);
		keep(s->db, s->st);
		s->st = NULL;
	}
	if (s->db)
		detach(s);
	free(s);
}

static void note_bind(struct stmt *s, int rc)
{
	if (s->bind_rc == SQLITE_OK)
		s->bind_rc = rc;
}

void stmt_int(struct stmt *s, int i, int64_t v)
{
	note_bind(s, sqlite3_bind_int64(s->st, i, v));
}

void stmt_text(struct stmt *s, int i, struct view v)
{
	note_bind(s, sqlite3_bind_text64(s->st, i, v.p, v.n, SQLITE_TRANSIENT, SQLITE_UTF8));
}

void stmt_reset(struct stmt *s)
{
	(void)sqlite3_reset(s->st);
	(void)sqlite3_clear_bindings(s->st);
	s->bind_rc = SQLITE_OK;
}

int stmt_step(struct stmt *s, struct err *e)
{
	struct db *d = s->db;
	int rc = s->bind_rc;

	assert(d);
	if (transaction_lost(d)) {
		stmt_reset(s);
		return refuse_lost(d, e);
	}
	errno = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s->st);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE) {
		fail(d, rc, e);
		stmt_reset(s);
		(void)transaction_lost(d);
		return -1;
	}
	stmt_reset(s);
	return 0;
}

int stmt_run(struct stmt *s, struct err *e)
{
	int rc;

	do
		rc = stmt_step(s, e);
	while (rc > 0);
	return rc;
}

int64_t stmt_col_int(const struct stmt *s, int col)
{
	return sqlite3_column_int64(s->st, col);
}

struct view stmt_col_text(const struct stmt *s, int col)
{
	const unsigned char *p = sqlite3_column_text(s->st, col);
	int n = sqlite3_column_bytes(s->st, col);

	return p ? (struct view){ (const char *)p, (size_t)n } : VIEW_NONE;
}

bool stmt_col_null(const struct stmt *s, int col)
{
	return sqlite3_column_type(s->st, col) == SQLITE_NULL;
}

int64_t db_last_id(const struct db *d)
{
	return sqlite3_last_insert_rowid(d->sq);
}

int db_changes(const struct db *d)
{
	return sqlite3_changes(d->sq);
}

/* --- Migrations ------------------------------------------------------------------------------- */
static int read_version(struct db *d, const char *room, int64_t *version, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (stmt_open(&s, d, "SELECT version FROM db_room_version WHERE room=?", e) < 0)
		return -1;
	stmt_text(s, 1, view_of(room));
	rc = stmt_step(s, e);
	*version = rc > 0 ? stmt_col_int(s, 0) : 0;
	stmt_close(&s);
	return rc < 0 ? -1 : 0;
}

static int mark_version(struct db *d, const char *room, int64_t version, struct err *e)
{
	struct stmt *s = NULL;
	int rc;

	if (stmt_open(&s, d,
		    "INSERT INTO db_room_version(room,version) VALUES(?,?) "
		    "ON CONFLICT(room) DO UPDATE SET version=excluded.version",
		    e) < 0)
		return -1;
	stmt_text(s, 1, view_of(room));
	stmt_int(s, 2, version);
	rc = stmt_run(s, e);
	stmt_close(&s);
	return rc;
}

/* One step, if it is still to do: another process may have taken it while we waited to begin.
 * 1: done, 0: nothing left to do. */
static int migrate_once(struct db *d, const char *room, const char *const *steps, int n,
	struct err *e)
{
	int64_t version = 0;
	int rc = -1;

	if (db_begin(d, e) < 0)
		return -1;
	if (read_version(d, room, &version, e) < 0)
		goto out;
	if (version < 0 || version > n) {
		err_set(e, E_UNSUPPORTED,
			"%s was written by a newer kairo (%s has version %lld, this program knows %d): "
			"upgrade kairo",
			d->name, room, (long long)version, n);
		goto out;
	}
	if (version == n) {
		rc = 0;
		goto out;
	}
	if (db_exec(d, steps[version], e) < 0 || mark_version(d, room, version + 1, e) < 0) {
		err_wrap(e, "cannot migrate %s to version %lld", room, (long long)version + 1);
		goto out;
	}
	return db_commit(d, e) < 0 ? -1 : 1;
out:
	db_rollback(d);
	return rc;
}

int db_migrate(struct db *d, const char *room, const char *const *steps, int n, struct err *e)
{
	int rc;

	assert(d->depth == 0);
	rc = db_exec(d,
		"CREATE TABLE IF NOT EXISTS db_room_version("
		"room TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID",
		e);
	if (rc < 0)
		return -1;
	do
		rc = migrate_once(d, room, steps, n, e);
	while (rc > 0);
	return rc;
}
