/* base/db: opening, statements, transactions, migrations, and what a full disk does. */
#include "base/db/db.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../base/scratch.h"
#include "../base/smalldisk.h"

static int waits;
static bool fails; /* the next one, as the system does: once */

/* SQLite's own calls end here as well. */
int fdatasync(int fd)
{
	waits++;
	if (fails) {
		fails = false;
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

struct fixture {
	struct scratch s;
	struct err e;
	struct db *db;
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	scratch_make(&f.s);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	db_close(&f->db);
	scratch_remove(&f->s);
	return 0;
}

static const char *at(struct fixture *f, const char *name)
{
	return scratch_path(&f->s, name);
}

static void assert_err(struct fixture *f, int rc, enum err_code code)
{
	assert_int_equal(rc, -1);
	if (f->e.code != code)
		fail_msg("%s instead of %s: %s", err_code_name(f->e.code), err_code_name(code),
			f->e.msg);
	assert_true(strlen(f->e.msg) > 0);
	err_clear(&f->e);
}

static void ok(struct fixture *f, int rc)
{
	if (rc < 0)
		fail_msg("%s", f->e.msg);
}

static void opened(struct fixture *f)
{
	ok(f, db_open(&f->db, at(f, "state.db"), &f->e));
	ok(f, db_exec(f->db, "CREATE TABLE IF NOT EXISTS t(k INTEGER PRIMARY KEY, v TEXT)", &f->e));
}

static int64_t one_int(struct fixture *f, const char *sql)
{
	struct stmt *s;
	int64_t v;

	ok(f, stmt_open(&s, f->db, sql, &f->e));
	assert_int_equal(stmt_step(s, &f->e), 1);
	v = stmt_col_int(s, 0);
	stmt_close(&s);
	return v;
}

static int put(struct fixture *f, int64_t k, struct view v)
{
	struct stmt *s;
	int rc;

	ok(f, stmt_open(&s, f->db, "INSERT INTO t(k,v) VALUES(?,?)", &f->e));
	stmt_int(s, 1, k);
	stmt_text(s, 2, v);
	rc = stmt_run(s, &f->e);
	stmt_close(&s);
	return rc;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* --- Opening ---------------------------------------------------------------------------------- */
static void the_database_and_its_companions_are_private(void **state)
{
	struct fixture *f = *state;

	(void)umask(0);
	opened(f);
	ok(f, put(f, 1, VIEW("x")));
	assert_int_equal(mode_of(at(f, "state.db")), 0600);
	assert_int_equal(mode_of(at(f, "state.db-wal")), 0600);
	assert_int_equal(mode_of(at(f, "state.db-shm")), 0600);
	db_close(&f->db);
	assert_int_equal(chmod(at(f, "state.db"), 0666), 0);
	opened(f);
	assert_int_equal(mode_of(at(f, "state.db")), 0600);
	assert_int_equal(mode_of(at(f, "state.db-wal")), 0600);
	(void)umask(0022);
}

static void the_pragmas_hold(void **state)
{
	struct fixture *f = *state;
	struct stmt *s;

	opened(f);
	ok(f, stmt_open(&s, f->db, "PRAGMA journal_mode", &f->e));
	assert_int_equal(stmt_step(s, &f->e), 1);
	assert_true(view_eqs(stmt_col_text(s, 0), "wal"));
	stmt_close(&s);
	assert_int_equal(one_int(f, "PRAGMA synchronous"), 2); /* FULL */
	assert_int_equal(one_int(f, "PRAGMA foreign_keys"), 1);
	assert_int_equal(one_int(f, "PRAGMA trusted_schema"), 0);
	assert_true(one_int(f, "PRAGMA busy_timeout") >= 1000);
	assert_err(f, db_exec(f->db, "SELECT load_extension('x')", &f->e), E_IO);
	assert_err(f, db_exec(f->db, "SELECT * FROM t WHERE v = \"x\"", &f->e), E_IO);
}

static void refuses_symlinks_and_what_is_no_file(void **state)
{
	struct fixture *f = *state;
	static const char *const links[] = { "link.db", "dangling.db", "to-dir/real.db" };

	assert_int_equal(mkdir(at(f, "dir"), 0700), 0);
	ok(f, db_open(&f->db, at(f, "dir/real.db"), &f->e));
	db_close(&f->db);
	assert_int_equal(symlink("dir/real.db", at(f, "link.db")), 0);
	assert_int_equal(symlink("nowhere.db", at(f, "dangling.db")), 0);
	assert_int_equal(symlink("dir", at(f, "to-dir")), 0);
	assert_int_equal(mkfifo(at(f, "fifo.db"), 0600), 0);
	for (size_t i = 0; i < 3; i++)
		assert_err(f, db_open(&f->db, at(f, links[i]), &f->e), E_DENIED);
	assert_null(f->db);
	assert_int_not_equal(access(at(f, "nowhere.db"), F_OK), 0);
	assert_err(f, db_open(&f->db, at(f, "fifo.db"), &f->e), E_DENIED);
	assert_err(f, db_open(&f->db, at(f, "dir"), &f->e), E_DENIED);
	assert_err(f, db_open(&f->db, at(f, "none/x.db"), &f->e), E_NOTFOUND);
	assert_err(f, db_open(&f->db, "x.db", &f->e), E_FORMAT);
	assert_err(f, db_open(&f->db, ":memory:", &f->e), E_FORMAT);
}

static void refuses_companions_that_are_symlinks(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = { "state.db-wal", "state.db-shm", "state.db-journal" };

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(symlink("victim", at(f, names[i])), 0);
		assert_err(f, db_open(&f->db, at(f, "state.db"), &f->e), E_DENIED);
		assert_int_equal(unlink(at(f, names[i])), 0);
	}
	assert_int_not_equal(access(at(f, "victim"), F_OK), 0);
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* Each wait for a log that grows is one for the file system's log as well. */
static void the_log_does_not_grow_while_it_is_written(void **state)
{
	struct fixture *f = *state;
	off_t size;

	opened(f);
	size = size_of(at(f, "state.db-wal"));
	if (size < 4000000)
		skip(); /* the file system reserves nothing */
	for (int i = 1; i < 100; i++)
		ok(f, put(f, i, VIEW("x")));
	assert_int_equal(size_of(at(f, "state.db-wal")), size);
	ok(f, db_fold(f->db, &f->e));
	assert_int_equal(size_of(at(f, "state.db-wal")), size);
	ok(f, put(f, 100, VIEW("x")));
	assert_int_equal(size_of(at(f, "state.db-wal")), size);
}

static void what_a_killed_program_has_written_is_found_behind_the_rest_of_its_log(void **state)
{
	struct fixture *f = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		opened(f);
		for (int i = 1; i <= 10; i++)
			ok(f, put(f, i, VIEW("x")));
		ok(f, db_fold(f->db, &f->e));
		put(f, 11, VIEW("x"));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	opened(f);
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 11);
	ok(f, db_check(f->db, &f->e));
}

static void a_damaged_file_is_named_as_such(void **state)
{
	struct fixture *f = *state;
	int fd = open(at(f, "state.db"), O_WRONLY | O_CREAT, 0600);
	char junk[4096];

	memset(junk, 'j', sizeof(junk));
	assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
	close(fd);
	assert_int_equal(db_open(&f->db, at(f, "state.db"), &f->e), -1);
	assert_non_null(strstr(f->e.msg, "state.db is damaged"));
	assert_err(f, -1, E_FORMAT);
}

/* POSIX locks vanish when any descriptor of the file is closed by the process that holds them. */
static void a_second_opening_leaves_the_first_ones_locks_alone(void **state)
{
	struct fixture *f = *state;
	struct db *second;
	int status;
	pid_t pid;

	opened(f);
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 1, VIEW("x")));
	ok(f, db_open(&second, at(f, "state.db"), &f->e));
	db_close(&second);
	pid = fork();
	if (pid == 0) {
		struct err e = ERR_INIT;
		struct db *other;

		if (db_open(&other, at(f, "state.db"), &e) < 0 ||
			db_exec(other, "PRAGMA busy_timeout=0", &e) < 0 ||
			db_begin(other, &e) == 0 || e.code != E_BUSY)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ok(f, db_commit(f->db, &f->e));
}

/* --- Statements ------------------------------------------------------------------------------- */
static void values_come_back_as_they_were_bound(void **state)
{
	struct fixture *f = *state;
	static const char bytes[] = "\xe4\xbd\xa0\xe5\xa5\xbd\0b";
	static const struct {
		int64_t k;
		struct view v;
	} rows[] = { { INT64_MIN, { "", 0 } }, { -1, { NULL, 0 } }, { 0, { bytes, 8 } },
		{ INT64_MAX, { "x", 1 } }, { 5, { "'; DROP TABLE t; --", 19 } } };
	struct stmt *s;

	opened(f);
	ok(f, stmt_open(&s, f->db, "SELECT k, v FROM t WHERE k=?", &f->e));
	for (size_t i = 0; i < 5; i++) {
		ok(f, put(f, rows[i].k, rows[i].v));
		assert_int_equal(db_changes(f->db), 1);
		assert_int_equal(db_last_id(f->db), rows[i].k);
		stmt_int(s, 1, rows[i].k);
		assert_int_equal(stmt_step(s, &f->e), 1);
		assert_int_equal(stmt_col_int(s, 0), rows[i].k);
		assert_true(view_eq(stmt_col_text(s, 1), rows[i].v));
		assert_int_equal(stmt_col_null(s, 1), rows[i].v.p == NULL);
		assert_int_equal(stmt_step(s, &f->e), 0);
	}
	stmt_close(&s);
	assert_null(s);
	stmt_close(&s);
}

static void a_finished_statement_forgets_its_values(void **state)
{
	struct fixture *f = *state;
	struct stmt *s;

	opened(f);
	ok(f, stmt_open(&s, f->db, "SELECT ?1 IS NULL", &f->e));
	stmt_int(s, 1, 7);
	assert_int_equal(stmt_step(s, &f->e), 1);
	assert_int_equal(stmt_col_int(s, 0), 0);
	assert_int_equal(stmt_step(s, &f->e), 0);
	assert_int_equal(stmt_step(s, &f->e), 1);
	assert_int_equal(stmt_col_int(s, 0), 1);
	stmt_reset(s); /* left early */
	stmt_text(s, 1, VIEW("x"));
	assert_int_equal(stmt_step(s, &f->e), 1);
	assert_int_equal(stmt_col_int(s, 0), 0);
	stmt_text(s, 1, VIEW_NONE);
	stmt_close(&s);
}

static void a_failed_binding_shows_at_the_next_step_and_not_after(void **state)
{
	struct fixture *f = *state;
	struct stmt *s;

	opened(f);
	ok(f, stmt_open(&s, f->db, "SELECT ?1", &f->e));
	stmt_int(s, 2, 7); /* there is no second */
	stmt_int(s, 1, 7);
	assert_err(f, stmt_step(s, &f->e), E_FORMAT);
	stmt_int(s, 1, 7);
	assert_int_equal(stmt_step(s, &f->e), 1);
	assert_int_equal(stmt_col_int(s, 0), 7);
	stmt_close(&s);
}

static void errors_have_codes(void **state)
{
	struct fixture *f = *state;
	struct stmt *s;

	opened(f);
	ok(f, put(f, 1, VIEW("x")));
	assert_err(f, put(f, 1, VIEW("y")), E_EXISTS);
	ok(f, db_exec(f->db,
		      "CREATE TABLE u(a TEXT UNIQUE NOT NULL, b INTEGER REFERENCES t(k),"
		      "CHECK(length(a) < 5))",
		      &f->e));
	ok(f, db_exec(f->db, "INSERT INTO u VALUES('a', 1)", &f->e));
	assert_err(f, db_exec(f->db, "INSERT INTO u VALUES('a', 1)", &f->e), E_EXISTS);
	assert_err(f, db_exec(f->db, "INSERT INTO u VALUES(NULL, 1)", &f->e), E_CONFLICT);
	assert_err(f, db_exec(f->db, "INSERT INTO u VALUES('b', 99)", &f->e), E_CONFLICT);
	assert_err(f, db_exec(f->db, "INSERT INTO u VALUES('bbbbb', 1)", &f->e), E_CONFLICT);
	assert_int_equal(stmt_open(&s, f->db, "SELEKT 1", &f->e), -1);
	assert_null(s);
	assert_non_null(strstr(f->e.msg, "SELEKT"));
}

/* Closed ones are kept for the next of the same text. */
static void a_statement_that_is_opened_again_is_as_new(void **state)
{
	static const char all[] = "SELECT * FROM t WHERE k >= ?1 OR ?1 IS NULL ORDER BY k";
	struct fixture *f = *state;
	struct stmt *a, *b;
	char sql[40];

	opened(f);
	for (int i = 1; i <= 3; i++)
		ok(f, put(f, i, VIEW("x")));
	ok(f, stmt_open(&a, f->db, all, &f->e));
	stmt_int(a, 1, 2);
	assert_int_equal(stmt_step(a, &f->e), 1);
	assert_int_equal(stmt_col_int(a, 0), 2);
	stmt_close(&a); /* in the middle of its rows, its parameter bound */
	ok(f, stmt_open(&a, f->db, all, &f->e));
	ok(f, stmt_open(&b, f->db, all, &f->e)); /* two at once are two */
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(stmt_step(a, &f->e), 1);
		assert_int_equal(stmt_col_int(a, 0), i);
	}
	assert_int_equal(stmt_step(b, &f->e), 1);
	assert_int_equal(stmt_col_int(b, 0), 1);
	stmt_close(&a);
	stmt_close(&b);
	ok(f, db_exec(f->db, "ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 7", &f->e));
	ok(f, stmt_open(&a, f->db, all, &f->e));
	assert_int_equal(stmt_step(a, &f->e), 1);
	assert_int_equal(stmt_col_int(a, 2), 7);
	stmt_close(&a);
	for (int i = 0; i < 200; i++) { /* more than are kept */
		(void)snprintf(sql, sizeof(sql), "SELECT k + %d FROM t", i % 100);
		assert_int_equal(one_int(f, sql), 1 + i % 100);
	}
	ok(f, db_exec(f->db, "DROP TABLE t", &f->e)); /* none of them holds it */
	assert_err(f,
		stmt_open(&a, f->db, "SELECT k + 99 FROM t", &f->e) < 0 ? -1 : stmt_step(a, &f->e),
		E_IO);
	stmt_close(&a);
}

static void closing_the_database_disarms_statements_still_open(void **state)
{
	struct fixture *f = *state;
	struct stmt *a, *b;

	opened(f);
	ok(f, stmt_open(&a, f->db, "SELECT 1", &f->e));
	ok(f, stmt_open(&b, f->db, "SELECT 1", &f->e));
	assert_int_equal(stmt_step(b, &f->e), 1);
	db_close(&f->db);
	assert_null(f->db);
	db_close(&f->db);
	stmt_close(&a);
	stmt_close(&b);
}

/* --- Transactions ----------------------------------------------------------------------------- */
static void what_is_committed_stays_and_what_is_rolled_back_does_not(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_begin(f->db, &f->e));
	assert_true(db_in_transaction(f->db));
	ok(f, put(f, 1, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	assert_false(db_in_transaction(f->db));
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 2, VIEW("x")));
	db_rollback(f->db);
	assert_false(db_in_transaction(f->db));
	db_close(&f->db);
	opened(f);
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 1);
}

static void only_the_outermost_commit_commits(void **state)
{
	struct fixture *f = *state;
	struct db *other;

	opened(f);
	ok(f, db_open(&other, at(f, "state.db"), &f->e));
	ok(f, db_begin(f->db, &f->e));
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 1, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	assert_true(db_in_transaction(f->db));
	{
		struct fixture seen = { .db = other };

		assert_int_equal(one_int(&seen, "SELECT count(*) FROM t"), 0);
		ok(f, db_commit(f->db, &f->e));
		assert_int_equal(one_int(&seen, "SELECT count(*) FROM t"), 1);
	}
	db_close(&other);
}

static void put_unsynced(struct fixture *f, int64_t k)
{
	ok(f, db_begin_unsynced(f->db, &f->e));
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, k, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	ok(f, db_commit(f->db, &f->e));
}

static void a_commit_waits_for_the_disk_once(void **state)
{
	struct fixture *f = *state;
	int before;

	opened(f);
	ok(f, put(f, 1, VIEW("x")));
	before = waits;
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 2, VIEW("x")));
	ok(f, put(f, 3, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	assert_int_equal(waits, before + 1);
	ok(f, put(f, 4, VIEW("x")));
	assert_int_equal(waits, before + 2);
	ok(f, db_sync(f->db, &f->e)); /* nothing is owed */
	assert_int_equal(waits, before + 2);
}

static void an_unsynced_commit_waits_with_the_next(void **state)
{
	struct fixture *f = *state;
	int before;

	opened(f);
	ok(f, put(f, 1, VIEW("x")));
	before = waits;
	put_unsynced(f, 2);
	put_unsynced(f, 3);
	ok(f, db_begin(f->db, &f->e)); /* one that changes nothing waits for nothing */
	ok(f, db_commit(f->db, &f->e));
	assert_int_equal(waits, before);
	assert_int_equal(one_int(f, "PRAGMA synchronous"), 2); /* FULL */
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 4, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	ok(f, db_sync(f->db, &f->e));
	assert_int_equal(waits, before + 1);
	put_unsynced(f, 5);
	ok(f, db_sync(f->db, &f->e));
	ok(f, db_sync(f->db, &f->e));
	assert_int_equal(waits, before + 2);
	ok(f, db_begin_unsynced(f->db, &f->e));
	ok(f, put(f, 6, VIEW("x")));
	db_rollback(f->db);
	ok(f, db_sync(f->db, &f->e)); /* what was taken back is not owed */
	assert_int_equal(waits, before + 2);
	assert_int_equal(one_int(f, "PRAGMA synchronous"), 2);
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 5);
}

/* Nothing tells apart what a killed program has waited for and what not. */
static void what_a_killed_program_has_not_waited_for_is_owed(void **state)
{
	struct fixture *f = *state;
	int before, status;
	pid_t pid = fork();

	if (pid == 0) {
		opened(f);
		put_unsynced(f, 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ok(f, db_open(&f->db, at(f, "state.db"), &f->e));
	before = waits;
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 1);
	assert_int_equal(waits, before);
	ok(f, db_sync(f->db, &f->e));
	assert_true(waits > before); /* the first is for the folder, too */
	before = waits;
	ok(f, db_sync(f->db, &f->e));
	assert_int_equal(waits, before);
}

/* SQLite counts it as a change, and writes nothing. */
static void what_is_written_as_it_stood_waits_for_nothing_else(void **state)
{
	struct fixture *f = *state;
	int before;

	opened(f);
	ok(f, put(f, 1, VIEW("x")));
	put_unsynced(f, 2);
	before = waits;
	ok(f, db_begin(f->db, &f->e));
	ok(f, db_exec(f->db, "UPDATE t SET v = 'x' WHERE k = 1", &f->e));
	ok(f, db_commit(f->db, &f->e));
	ok(f, db_exec(f->db, "UPDATE t SET v = 'x' WHERE k = 1", &f->e));
	ok(f, db_sync(f->db, &f->e));
	assert_int_equal(waits, before + 1);
}

/* Of the database alone, without its log. */
static int64_t rows_folded(struct fixture *f)
{
	struct fixture alone = { .e = ERR_INIT };
	int from = open(at(f, "state.db"), O_RDONLY);
	int to = open(at(f, "state.db.copy"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	off_t size = size_of(at(f, "state.db"));
	int64_t n;

	assert_int_equal(sendfile(to, from, NULL, (size_t)size), size);
	close(to);
	ok(f, db_open(&alone.db, at(f, "state.db.copy"), &f->e));
	n = one_int(&alone, "SELECT count(*) FROM t");
	db_close(&alone.db);
	close(from);
	return n;
}

/* What the system could not write it takes for written: the next wait would go well, and be of no
 * worth. */
static void what_the_disk_did_not_take_is_written_anew(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_fold(f->db, &f->e));
	put_unsynced(f, 1);
	fails = true;
	assert_err(f, db_sync(f->db, &f->e), E_IO);
	assert_int_equal(rows_folded(f), 0);
	ok(f, db_sync(f->db, &f->e));
	assert_int_equal(rows_folded(f), 1);

	put_unsynced(f, 2);
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 3, VIEW("x")));
	fails = true;
	assert_err(f, db_commit(f->db, &f->e), E_IO);
	ok(f, db_begin(f->db, &f->e));
	assert_int_equal(rows_folded(f), 2);
	db_rollback(f->db);
	ok(f, db_check(f->db, &f->e));
}

/* The log is folded in by the commit that makes it long, which tells nobody how that went. */
static void a_log_that_could_not_be_folded_in_is_written_anew(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_exec(f->db, "CREATE TABLE long(v TEXT)", &f->e));
	ok(f, db_fold(f->db, &f->e));
	ok(f, db_begin_unsynced(f->db, &f->e));
	ok(f, put(f, 1, VIEW("x")));
	ok(f, db_exec(f->db, "INSERT INTO long VALUES(zeroblob(4500000))", &f->e));
	fails = true;
	ok(f, db_commit(f->db, &f->e));
	assert_false(fails);
	assert_int_equal(rows_folded(f), 0);
	ok(f, db_sync(f->db, &f->e));
	assert_int_equal(rows_folded(f), 1);
}

static void an_inner_rollback_takes_back_its_own_part_only(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 1, VIEW("x")));
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 2, VIEW("x")));
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 3, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	db_rollback(f->db); /* what was committed inside of it goes too */
	ok(f, put(f, 4, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	assert_false(db_in_transaction(f->db));
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 2);
	assert_int_equal(one_int(f, "SELECT sum(k) FROM t"), 5);
}

static void an_outer_rollback_takes_back_inner_commits(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_begin(f->db, &f->e));
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 1, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	db_rollback(f->db);
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 0);
}

static void an_inner_part_of_a_lost_transaction_ends_with_it(void **state)
{
	struct fixture *f = *state;

	for (int inner_commits = 0; inner_commits < 2; inner_commits++) {
		if (inner_commits)
			db_close(&f->db);
		opened(f);
		ok(f, db_begin(f->db, &f->e));
		ok(f, db_begin(f->db, &f->e));
		ok(f, put(f, 1, VIEW("x")));
		assert_err(f, db_exec(f->db, "INSERT OR ROLLBACK INTO t(k) VALUES(1)", &f->e),
			E_EXISTS);
		if (inner_commits)
			assert_err(f, db_commit(f->db, &f->e), E_CONFLICT);
		else
			db_rollback(f->db);
		assert_err(f, put(f, 2, VIEW("x")), E_CONFLICT);
		assert_err(f, db_commit(f->db, &f->e), E_CONFLICT);
		assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 0);
		ok(f, db_begin(f->db, &f->e)); /* and the next one is clean */
		ok(f, put(f, 3, VIEW("x")));
		db_rollback(f->db);
	}
}

static void a_failed_statement_alone_does_not_end_the_transaction(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 1, VIEW("x")));
	assert_err(f, put(f, 1, VIEW("y")), E_EXISTS);
	ok(f, put(f, 2, VIEW("x")));
	ok(f, db_commit(f->db, &f->e));
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 2);
}

/* As SQLite itself does after some errors: what follows must not be committed one by one. */
static void nothing_runs_after_the_transaction_was_lost(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 1, VIEW("x")));
	assert_err(f, db_exec(f->db, "INSERT OR ROLLBACK INTO t(k) VALUES(1)", &f->e), E_EXISTS);
	assert_err(f, put(f, 2, VIEW("x")), E_CONFLICT);
	assert_err(f, db_exec(f->db, "DELETE FROM t", &f->e), E_CONFLICT);
	assert_err(f, db_begin(f->db, &f->e), E_CONFLICT);
	assert_true(db_in_transaction(f->db));
	assert_err(f, db_commit(f->db, &f->e), E_CONFLICT);
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 0);
	ok(f, put(f, 2, VIEW("x")));
}

static void a_writer_elsewhere_makes_us_wait_and_then_say_so(void **state)
{
	struct fixture *f = *state;
	struct db *other;

	opened(f);
	ok(f, db_open(&other, at(f, "state.db"), &f->e));
	ok(f, db_exec(other, "PRAGMA busy_timeout=10", &f->e));
	ok(f, db_begin(f->db, &f->e));
	assert_err(f, db_begin(other, &f->e), E_BUSY);
	assert_false(db_in_transaction(other));
	db_rollback(f->db);
	ok(f, db_begin(other, &f->e));
	ok(f, db_commit(other, &f->e));
	db_close(&other);
}

/* --- Killed in the middle --------------------------------------------------------------------- */
static void a_killed_writer_leaves_whole_transactions_only(void **state)
{
	struct fixture *f = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		opened(f);
		ok(f, db_begin(f->db, &f->e));
		ok(f, put(f, 1, VIEW("x")));
		ok(f, db_commit(f->db, &f->e));
		ok(f, db_begin(f->db, &f->e));
		ok(f, put(f, 2, VIEW("x")));
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	opened(f);
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), 1);
}

/* --- Migrations ------------------------------------------------------------------------------- */
static const char *const steps[] = {
	"CREATE TABLE inbox_a(x TEXT); INSERT INTO inbox_a VALUES('one');",
	"ALTER TABLE inbox_a ADD COLUMN y INTEGER NOT NULL DEFAULT 5",
	"CREATE TABLE inbox_b(x TEXT)",
};

static void migrates_step_by_step_and_each_step_once(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_migrate(f->db, "inbox", steps, 1, &f->e));
	assert_int_equal(one_int(f, "SELECT count(*) FROM inbox_a"), 1);
	ok(f, db_migrate(f->db, "inbox", steps, 1, &f->e));
	ok(f, db_migrate(f->db, "inbox", steps, 3, &f->e));
	assert_int_equal(one_int(f, "SELECT y FROM inbox_a"), 5);
	assert_int_equal(one_int(f, "SELECT count(*) FROM inbox_b"), 0);
	assert_int_equal(one_int(f, "SELECT version FROM db_room_version WHERE room='inbox'"), 3);
	assert_false(db_in_transaction(f->db));
}

static void rooms_count_their_versions_apart(void **state)
{
	struct fixture *f = *state;
	static const char *const other[] = { "CREATE TABLE outbox_a(x TEXT)" };

	opened(f);
	ok(f, db_migrate(f->db, "inbox", steps, 2, &f->e));
	ok(f, db_migrate(f->db, "outbox", other, 1, &f->e));
	assert_int_equal(one_int(f, "SELECT version FROM db_room_version WHERE room='inbox'"), 2);
	assert_int_equal(one_int(f, "SELECT version FROM db_room_version WHERE room='outbox'"), 1);
	ok(f, db_migrate(f->db, "empty", NULL, 0, &f->e));
}

static void refuses_a_newer_database(void **state)
{
	struct fixture *f = *state;

	opened(f);
	ok(f, db_migrate(f->db, "inbox", steps, 3, &f->e));
	assert_int_equal(db_migrate(f->db, "inbox", steps, 2, &f->e), -1);
	assert_non_null(strstr(f->e.msg, "newer kairo"));
	assert_err(f, -1, E_UNSUPPORTED);
	assert_false(db_in_transaction(f->db));
	ok(f, db_migrate(f->db, "inbox", steps, 3, &f->e));
}

static void a_step_that_fails_leaves_no_trace(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = { "CREATE TABLE inbox_a(x TEXT)",
		"CREATE TABLE inbox_c(x TEXT); INSERT INTO nowhere VALUES(1)" };

	opened(f);
	assert_err(f, db_migrate(f->db, "inbox", bad, 2, &f->e), E_IO);
	assert_int_equal(one_int(f, "SELECT version FROM db_room_version WHERE room='inbox'"), 1);
	assert_int_equal(one_int(f, "SELECT count(*) FROM sqlite_schema WHERE name='inbox_c'"), 0);
	assert_false(db_in_transaction(f->db));
}

/* --- A full disk ------------------------------------------------------------------------------ */
static void fill_until_it_fails(struct fixture *f)
{
	static char big[20000];
	int64_t before;
	int rc = 0;

	memset(big, 'b', sizeof(big));
	ok(f, db_begin(f->db, &f->e));
	ok(f, put(f, 1, VIEW("kept")));
	ok(f, db_commit(f->db, &f->e));
	for (int64_t k = 2; rc == 0 && k < 1000; k++) {
		ok(f, db_begin(f->db, &f->e));
		rc = put(f, k, (struct view){ big, sizeof(big) });
		if (rc < 0)
			db_rollback(f->db);
		else
			rc = db_commit(f->db, &f->e);
		assert_false(db_in_transaction(f->db));
	}
	assert_err(f, rc, E_FULL);
	before = one_int(f, "SELECT count(*) FROM t"); /* reading goes on */
	assert_true(before >= 1);
	assert_err(f, put(f, 5000, (struct view){ big, sizeof(big) }), E_FULL);
	assert_int_equal(one_int(f, "SELECT count(*) FROM t"), before);
	assert_int_equal(one_int(f, "SELECT v='kept' FROM t WHERE k=1"), 1);
}

static void a_full_disk_is_told_and_loses_nothing(void **state)
{
	struct fixture *f = *state;
	struct smalldisk disk = { .mounted = false };

	if (!smalldisk_mount(&disk, f->s.dir, 1 << 20)) {
		print_message("a tmpfs cannot be mounted here\n");
		skip();
	}
	opened(f);
	fill_until_it_fails(f);
	db_close(&f->db);
	opened(f); /* still full */
	assert_int_equal(one_int(f, "SELECT v='kept' FROM t WHERE k=1"), 1);
	db_close(&f->db);
	smalldisk_unmount(&disk);
}

/* Some file systems hand out all they have before they say that it is too little. */
static void the_log_does_not_take_the_last_room(void **state)
{
	struct fixture *f = *state;
	struct smalldisk disk = { .mounted = false };

	if (!smalldisk_mount(&disk, f->s.dir, 6 << 20)) {
		print_message("a tmpfs cannot be mounted here\n");
		skip();
	}
	opened(f);
	assert_true(size_of(at(f, "state.db-wal")) < 1000000);
	ok(f, put(f, 1, VIEW("x")));
	db_close(&f->db);
	smalldisk_unmount(&disk);
}

static void a_limit_on_file_sizes_is_a_full_disk(void **state)
{
	struct fixture *f = *state;
	struct smalldisk disk = { .mounted = false };

	opened(f);
	if (!smalldisk_limit(&disk, 1 << 20)) {
		print_message("file sizes cannot be limited here\n");
		skip();
	}
	fill_until_it_fails(f);
	smalldisk_unlimit(&disk);
	ok(f, put(f, 6000, VIEW("room again")));
	assert_int_equal(one_int(f, "SELECT v='kept' FROM t WHERE k=1"), 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(the_database_and_its_companions_are_private),
		T(the_pragmas_hold),
		T(refuses_symlinks_and_what_is_no_file),
		T(refuses_companions_that_are_symlinks),
		T(the_log_does_not_grow_while_it_is_written),
		T(what_a_killed_program_has_written_is_found_behind_the_rest_of_its_log),
		T(a_damaged_file_is_named_as_such),
		T(a_second_opening_leaves_the_first_ones_locks_alone),
		T(values_come_back_as_they_were_bound),
		T(a_finished_statement_forgets_its_values),
		T(a_failed_binding_shows_at_the_next_step_and_not_after),
		T(errors_have_codes),
		T(a_statement_that_is_opened_again_is_as_new),
		T(closing_the_database_disarms_statements_still_open),
		T(what_is_committed_stays_and_what_is_rolled_back_does_not),
		T(a_commit_waits_for_the_disk_once),
		T(an_unsynced_commit_waits_with_the_next),
		T(what_a_killed_program_has_not_waited_for_is_owed),
		T(what_is_written_as_it_stood_waits_for_nothing_else),
		T(what_the_disk_did_not_take_is_written_anew),
		T(a_log_that_could_not_be_folded_in_is_written_anew),
		T(only_the_outermost_commit_commits),
		T(an_inner_rollback_takes_back_its_own_part_only),
		T(an_outer_rollback_takes_back_inner_commits),
		T(an_inner_part_of_a_lost_transaction_ends_with_it),
		T(a_failed_statement_alone_does_not_end_the_transaction),
		T(nothing_runs_after_the_transaction_was_lost),
		T(a_writer_elsewhere_makes_us_wait_and_then_say_so),
		T(a_killed_writer_leaves_whole_transactions_only),
		T(migrates_step_by_step_and_each_step_once),
		T(rooms_count_their_versions_apart),
		T(refuses_a_newer_database),
		T(a_step_that_fails_leaves_no_trace),
		T(a_full_disk_is_told_and_loses_nothing),
		T(the_log_does_not_take_the_last_room),
		T(a_limit_on_file_sizes_is_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
