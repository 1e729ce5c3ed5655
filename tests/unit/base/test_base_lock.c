/* base/lock: one holder, in this process or another; the file stays. */
#include "base/file.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/clock.h"
#include "scratch.h"

struct fixture {
	struct scratch s;
	struct err e;
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

	scratch_remove(&f->s);
	return 0;
}

static const char *at(struct fixture *f, const char *name)
{
	return scratch_path(&f->s, name);
}

static void two_takers_in_one_process_exclude_each_other(void **state)
{
	struct fixture *f = *state;
	struct lock *a, *b;

	assert_int_equal(lock_take(&a, at(f, "lock"), 0, &f->e), 0);
	assert_int_equal(lock_take(&b, at(f, "lock"), 0, &f->e), -1);
	assert_int_equal(f->e.code, E_BUSY);
	assert_null(b);
	lock_release(&a);
	assert_null(a);
	lock_release(&a);
	assert_int_equal(lock_take(&b, at(f, "lock"), 0, &f->e), 0);
	lock_release(&b);
}

static void opening_and_closing_the_file_does_not_drop_the_lock(void **state)
{
	struct fixture *f = *state;
	struct lock *a, *b;
	struct str s = STR_INIT(10);

	assert_int_equal(lock_take(&a, at(f, "lock"), 0, &f->e), 0);
	assert_int_equal(file_read(at(f, "lock"), 10, &s, &f->e), 0);
	assert_int_equal(lock_held(at(f, "lock"), &f->e), 1);
	assert_int_equal(lock_take(&b, at(f, "lock"), 0, &f->e), -1);
	lock_release(&a);
	str_release(&s);
}

static void tells_whether_it_is_held_without_taking_it(void **state)
{
	struct fixture *f = *state;
	struct lock *a;

	assert_int_equal(lock_held(at(f, "lock"), &f->e), 0);
	assert_false(file_exists(at(f, "lock")));
	assert_int_equal(lock_take(&a, at(f, "lock"), 0, &f->e), 0);
	assert_int_equal(lock_held(at(f, "lock"), &f->e), 1);
	lock_release(&a);
	assert_int_equal(lock_held(at(f, "lock"), &f->e), 0);
	assert_int_equal(mkfifo(at(f, "fifo"), 0600), 0);
	assert_int_equal(lock_held(at(f, "fifo"), &f->e), -1);
	assert_int_equal(f->e.code, E_DENIED);
}

static void the_file_is_private_and_stays(void **state)
{
	struct fixture *f = *state;
	struct stat before, after;
	struct lock *a;

	assert_int_equal(lock_take(&a, at(f, "lock"), 0, &f->e), 0);
	assert_int_equal(stat(at(f, "lock"), &before), 0);
	assert_int_equal(before.st_mode & 07777, 0600);
	lock_release(&a);
	assert_int_equal(chmod(at(f, "lock"), 0666), 0);
	assert_int_equal(lock_take(&a, at(f, "lock"), 0, &f->e), 0);
	assert_int_equal(stat(at(f, "lock"), &after), 0);
	assert_int_equal(after.st_mode & 07777, 0600);
	assert_int_equal(before.st_ino, after.st_ino);
	lock_release(&a);
}

/* A process that holds the lock, says so through a pipe, and waits. */
static pid_t holder(struct fixture *f, int said, int64_t hold_ms)
{
	pid_t pid = fork();
	struct lock *l;

	if (pid != 0)
		return pid;
	if (lock_take(&l, at(f, "lock"), 0, &f->e) < 0 || write(said, "x", 1) != 1)
		_exit(1);
	if (hold_ms < 0)
		pause();
	else
		usleep((unsigned int)hold_ms * 1000);
	lock_release(&l);
	_exit(0);
}

static void the_lock_dies_with_its_holder(void **state)
{
	struct fixture *f = *state;
	struct lock *a;
	int said[2], status;
	char c;
	pid_t pid;

	assert_int_equal(pipe(said), 0);
	pid = holder(f, said[1], -1);
	assert_int_equal(read(said[0], &c, 1), 1);
	assert_int_equal(lock_held(at(f, "lock"), &f->e), 1);
	assert_int_equal(lock_take(&a, at(f, "lock"), 20, &f->e), -1); /* waits in vain */
	assert_int_equal(f->e.code, E_BUSY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(lock_held(at(f, "lock"), &f->e), 0);
	assert_int_equal(lock_take(&a, at(f, "lock"), 0, &f->e), 0);
	lock_release(&a);
	close(said[0]);
	close(said[1]);
}

static void waits_for_a_holder_that_leaves(void **state)
{
	struct fixture *f = *state;
	struct lock *a;
	int said[2], status;
	char c;
	pid_t pid;

	assert_int_equal(pipe(said), 0);
	pid = holder(f, said[1], 30);
	assert_int_equal(read(said[0], &c, 1), 1);
	assert_int_equal(lock_take(&a, at(f, "lock"), 60000, &f->e), 0);
	lock_release(&a);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(said[0]);
	close(said[1]);
}

/* Every process adds one to a number under the lock; none is lost. */
static void read_modify_write_loses_nothing(void **state)
{
	struct fixture *f = *state;
	enum { PROCS = 4, TURNS = 10 };
	struct str s = STR_INIT(20);
	int status;

	assert_int_equal(file_replace(at(f, "n"), 0600, VIEW("0"), &f->e), 0);
	for (int i = 0; i < PROCS; i++) {
		if (fork() != 0)
			continue;
		for (int k = 0; k < TURNS; k++) {
			struct str t = STR_INIT(20);
			unsigned long long n;
			struct lock *l;

			if (lock_take(&l, at(f, "lock"), 60000, &f->e) < 0 ||
				file_read(at(f, "n"), 20, &t, &f->e) < 0 ||
				parse_u64(str_view(&t), &n) < 0)
				_exit(1);
			str_reset(&t);
			(void)str_addf(&t, "%llu", n + 1);
			if (file_replace(at(f, "n"), 0600, str_view(&t), &f->e) < 0)
				_exit(1);
			lock_release(&l);
			str_release(&t);
		}
		_exit(0);
	}
	for (int i = 0; i < PROCS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(file_read(at(f, "n"), 20, &s, &f->e), 0);
	assert_string_equal(str_cstr(&s), "40");
	str_release(&s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(two_takers_in_one_process_exclude_each_other),
		T(opening_and_closing_the_file_does_not_drop_the_lock),
		T(tells_whether_it_is_held_without_taking_it),
		T(the_file_is_private_and_stays),
		T(the_lock_dies_with_its_holder),
		T(waits_for_a_holder_that_leaves),
		T(read_modify_write_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
