/* The system part of base with every allocation failing once. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/db/db.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/proc.h"
#include "nomem.h"

static void nothing(void *arg)
{
	(void)arg;
}

static void nothing_read(void *arg, int fd, int what)
{
	(void)arg;
	(void)fd;
	(void)what;
}

static void nothing_rung(void *arg, int signo)
{
	(void)arg;
	(void)signo;
}

static void nothing_left(void *arg, int code, int signo)
{
	(void)arg;
	(void)code;
	(void)signo;
}

static int use_loop(struct scratch *s, struct err *e)
{
	struct timer *t[20] = { NULL };
	struct sigwatch *sig = NULL;
	struct watch *w = NULL;
	struct loop *l = NULL;
	int fd[2] = { -1, -1 };
	int rc = -1;

	(void)s;
	if (proc_pipe(fd, 0, e) < 0 || loop_open(&l, NULL, e) < 0 ||
		watch_new(&w, l, fd[0], WATCH_READ, nothing_read, NULL, e) < 0 ||
		sigwatch_new(&sig, l, SIGUSR1, nothing_rung, NULL, e) < 0)
		goto out;
	for (size_t i = 0; i < 20; i++) {
		if (timer_new(&t[i], l, nothing, NULL, e) < 0)
			goto out;
		timer_arm(t[i], 0);
	}
	rc = loop_step(l, 0, e);
out:
	for (size_t i = 0; i < 20; i++)
		timer_free(&t[i]);
	sigwatch_free(&sig);
	watch_free(&w);
	loop_close(&l);
	close(fd[0]);
	close(fd[1]);
	return rc;
}

static int use_files(struct scratch *s, struct err *e)
{
	const char *path = scratch_path(s, "a");
	struct str text = STR_INIT(100);
	struct lock *l = NULL;
	int rc = -1;

	if (lock_take(&l, scratch_path(s, "lock"), 0, e) < 0 ||
		file_replace(path, 0600, VIEW("x"), e) < 0 || file_read(path, 100, &text, e) < 0)
		goto out;
	rc = 0;
out:
	str_release(&text);
	lock_release(&l);
	return rc;
}

static int use_log(struct scratch *s, struct err *e)
{
	struct log *l = NULL;
	int rc = -1;

	if (log_open_file(&l, scratch_path(s, "log"), LOG_INFO, 0, e) < 0 ||
		log_add_secret(l, "12345678", e) < 0)
		goto out;
	log_error(l, "r", "12345678 and more"); /* lost, or written with the secret masked */
	log_error(l, "r", "Authorization: Bearer 12345678");
	rc = 0;
out:
	log_close(&l);
	return rc;
}

static int use_proc(struct scratch *s, struct err *e)
{
	const char *argv[] = { "true", NULL }, *env[] = { NULL };
	struct proc_spec spec = { .path = "/bin/true", .argv = argv, .env = env };
	struct loop *l = NULL;
	struct proc *p = NULL;
	int rc = -1;

	(void)s;
	if (loop_open(&l, NULL, e) < 0 || proc_spawn(&p, l, &spec, nothing_left, NULL, e) < 0)
		goto out;
	rc = 0;
out:
	proc_free(&p);
	loop_close(&l);
	return rc;
}

static int use_db(struct scratch *s, struct err *e)
{
	static const char *const steps[] = { "CREATE TABLE x_a(v TEXT)" };
	struct stmt *st = NULL;
	struct db *d = NULL;
	int rc = -1;

	if (db_open(&d, scratch_path(s, "db"), e) < 0 || db_migrate(d, "x", steps, 1, e) < 0 ||
		stmt_open(&st, d, "INSERT INTO x_a VALUES(?)", e) < 0)
		goto out;
	stmt_text(st, 1, VIEW("v"));
	rc = stmt_run(st, e);
out:
	stmt_close(&st);
	db_close(&d);
	return rc;
}

static void the_loop_survives(void **state)
{
	(void)state;
	nomem_each_once(use_loop, NULL);
}

static void files_survive(void **state)
{
	(void)state;
	nomem_each_once(use_files, NULL);
}

static void the_log_survives(void **state)
{
	(void)state;
	nomem_each_once(use_log, NULL);
}

static void children_survive(void **state)
{
	(void)state;
	nomem_each_once(use_proc, NULL);
}

static void the_database_survives(void **state)
{
	(void)state;
	nomem_each_once(use_db, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_loop_survives),
		cmocka_unit_test(files_survive),
		cmocka_unit_test(the_log_survives),
		cmocka_unit_test(children_survive),
		cmocka_unit_test(the_database_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
