/* The lock that decides who runs, the pid file that informs, and stopping by them. The program runs
 * itself as "kairo run HOME MODE" where it needs a daemon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "channel/daemon.h"

#include "../base/scratch.h"

struct fix {
	struct scratch s;
	const char *home;
};

static int setup(void **state)
{
	static struct fix f;

	scratch_make(&f.s);
	f.home = f.s.dir;
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	scratch_remove(&f->s);
	return 0;
}

/* --- The daemon ------------------------------------------------------------------------------- */

/* "obedient": ends on TERM. "deaf": does not. "family": has a child in its group that ends on TERM.
 * Tells on standard output when it runs ('+') or was refused ('-'). */
static int daemon_main(const char *home, const char *mode)
{
	struct daemon_claim *c = NULL;
	struct err e = ERR_INIT;

	if (strcmp(mode, "deaf") == 0)
		signal(SIGTERM, SIG_IGN);
	if (strcmp(mode, "impostor") != 0)
		setpgid(0, 0);
	if (daemon_claim(&c, home, &e) < 0) {
		(void)!write(1, e.code == E_BUSY ? "-" : "!", 1);
		return 1;
	}
	if (strcmp(mode, "family") == 0 && fork() == 0) {
		pause();
		_exit(0);
	}
	(void)!write(1, "+", 1);
	for (;;)
		pause();
}

static pid_t spawn(const char *name, const char *home, const char *mode, int *out)
{
	int fd[2];
	pid_t pid;

	assert_int_equal(0, pipe2(fd, O_CLOEXEC));
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], 1);
		execl("/proc/self/exe", name, "run", home, mode, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	*out = fd[0];
	return pid;
}

static pid_t start(const char *name, const char *home, const char *mode)
{
	char c = 0;
	int out;
	pid_t pid = spawn(name, home, mode, &out);

	assert_int_equal(1, read(out, &c, 1));
	assert_int_equal('+', c);
	close(out);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(pid, waitpid(pid, NULL, 0));
}

/* Reaps in the background, as init would: a zombie of ours is no running daemon. */
static bool is_alive(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static void write_pid_file(struct fix *f, const char *text)
{
	assert_int_equal(0,
		file_replace(scratch_path(&f->s, "kairo.pid"), 0600, view_of(text), NULL));
}

/* --- Claiming --------------------------------------------------------------------------------- */

static void a_claim_records_pid_and_start_time(void **state)
{
	struct fix *f = *state;
	struct daemon_claim *c = NULL;
	struct str s = STR_INIT(100);
	unsigned long long pid;
	struct stat st;

	assert_int_equal(0, daemon_claim(&c, f->home, NULL));
	assert_int_equal(0, file_read_private(scratch_path(&f->s, "kairo.pid"), 64, &s, NULL));
	assert_int_equal(0, parse_u64(view_cut(str_view(&s), view_find(str_view(&s), ' ')), &pid));
	assert_int_equal(getpid(), pid);
	assert_true(view_ends(str_view(&s), VIEW("\n")));
	assert_int_equal(0, stat(scratch_path(&f->s, "kairo.pid"), &st));
	assert_int_equal(0600, st.st_mode & 07777);
	daemon_release(&c);
	assert_null(c);
	assert_false(file_exists(scratch_path(&f->s, "kairo.pid")));
	assert_true(file_exists(scratch_path(&f->s, "kairo.lock")));
	daemon_release(&c);
	str_release(&s);
}

static void a_second_claim_is_refused(void **state)
{
	struct fix *f = *state;
	struct daemon_claim *a = NULL, *b = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(0, daemon_claim(&a, f->home, &e));
	assert_int_equal(-1, daemon_claim(&b, f->home, &e));
	assert_int_equal(E_BUSY, e.code);
	assert_null(b);
	assert_true(file_exists(scratch_path(&f->s, "kairo.pid")));
	daemon_release(&a);
	assert_int_equal(0, daemon_claim(&b, f->home, &e));
	daemon_release(&b);
}

static void of_twenty_started_at_once_one_runs(void **state)
{
	struct fix *f = *state;
	pid_t pid[20];
	int out[20], ran = 0;

	for (int i = 0; i < 20; i++)
		pid[i] = spawn("kairo", f->home, "obedient", &out[i]);
	for (int i = 0; i < 20; i++) {
		char c = 0;

		assert_int_equal(1, read(out[i], &c, 1));
		assert_true(c == '+' || c == '-');
		ran += c == '+';
		close(out[i]);
	}
	assert_int_equal(1, ran);
	for (int i = 0; i < 20; i++)
		end(pid[i]);
}

static void a_claim_without_a_home_fails(void **state)
{
	struct daemon_claim *c = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(-1, daemon_claim(&c, "/nonexistent/kairo", &e));
	assert_true(e.msg[0] != '\0');
	assert_null(c);
}

static void a_stale_pid_file_does_not_hinder(void **state)
{
	struct fix *f = *state;
	struct daemon_claim *c = NULL;
	pid_t pid = start("kairo", f->home, "obedient"), found;

	end(pid);
	assert_true(file_exists(scratch_path(&f->s, "kairo.pid")));
	assert_int_equal(0, daemon_find(f->home, &found, NULL));
	assert_int_equal(0, daemon_claim(&c, f->home, NULL));
	daemon_release(&c);
}

/* --- Finding ---------------------------------------------------------------------------------- */

static void finds_the_daemon_that_runs(void **state)
{
	struct fix *f = *state;
	pid_t pid = start("/usr/bin/kairo", f->home, "obedient"), found = 0;

	assert_int_equal(1, daemon_find(f->home, &found, NULL));
	assert_int_equal(pid, found);
	end(pid);
	assert_int_equal(0, daemon_find(f->home, &found, NULL));
	assert_int_equal(0, found);
}

static void where_none_ever_ran_none_is_found(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;
	pid_t found = 1;

	assert_int_equal(0, daemon_find(f->home, &found, &e));
	assert_int_equal(0, found);
	assert_int_equal(-1, daemon_stop(f->home, 100, &e));
	assert_int_equal(E_NOTFOUND, e.code);
}

static void a_process_that_is_not_kairo_is_not_the_daemon(void **state)
{
	static const char *const names[] = { "sleep", "/usr/bin/notkairo", "vi" };
	struct fix *f = *state;
	struct err e = ERR_INIT;
	pid_t found;

	for (size_t i = 0; i < 3; i++) {
		pid_t pid = start(names[i], f->home, "obedient");

		assert_int_equal(-1, daemon_find(f->home, &found, &e));
		assert_int_equal(0, found);
		assert_int_equal(-1, daemon_stop(f->home, 100, &e));
		assert_true(is_alive(pid));
		end(pid);
	}
}

static void a_recycled_pid_is_never_signalled(void **state)
{
	struct fix *f = *state;
	pid_t daemon = start("kairo", f->home, "obedient");
	pid_t other = fork();
	struct err e = ERR_INIT;
	char text[64];
	pid_t found;

	if (other == 0) {
		pause();
		_exit(0);
	}
	/* The lock is held, and the file names a live process that is another. */
	snprintf(text, sizeof(text), "%d 12345\n", (int)other);
	write_pid_file(f, text);
	assert_int_equal(-1, daemon_find(f->home, &found, &e));
	assert_int_equal(-1, daemon_stop(f->home, 100, &e));
	assert_non_null(strstr(e.msg, "kairo.lock"));
	assert_true(is_alive(other));
	assert_true(is_alive(daemon));
	/* The right pid with another start time. */
	snprintf(text, sizeof(text), "%d 12345\n", (int)daemon);
	write_pid_file(f, text);
	assert_int_equal(-1, daemon_stop(f->home, 100, &e));
	assert_true(is_alive(daemon));
	end(daemon);
	end(other);
}

/* 65 bytes are read at most: the last says that there are too many. */
static void a_pid_file_has_its_limit(void **state)
{
	struct fix *f = *state;
	pid_t pid = start("kairo", f->home, "obedient"), found;
	struct str s = STR_INIT(100);
	size_t space;

	assert_int_equal(0, file_read_private(scratch_path(&f->s, "kairo.pid"), 64, &s, NULL));
	space = view_find(str_view(&s), ' ');
	for (size_t size = 63; size <= 65; size++) {
		struct str padded = STR_INIT(100);

		str_add(&padded, view_cut(str_view(&s), space + 1));
		while (padded.n + s.n - space - 1 < size)
			str_addc(&padded, '0');
		str_add(&padded, view_from(str_view(&s), space + 1));
		assert_int_equal(size, padded.n);
		write_pid_file(f, str_cstr(&padded));
		assert_int_equal(size > 64 ? -1 : 1, daemon_find(f->home, &found, NULL));
		assert_int_equal(size > 64 ? 0 : pid, found);
		str_release(&padded);
	}
	str_release(&s);
	end(pid);
}

static void a_damaged_pid_file_names_nobody(void **state)
{
	static const char *const damage[] = { "", "\n", "1", "x y\n", "-1 5\n", "0 5\n", "1 5\n",
		"99999999999999999999 5\n", "4294967297 5\n", "123\n", "123 \n", "123 5",
		" 123 5\n", "123  5\n", "123 5 \n", "123 5\n\n", "0x10 5\n",
		"1234567890123456789012345678901234567890123456789012345678901234567890 5\n" };
	struct fix *f = *state;
	pid_t pid = start("kairo", f->home, "obedient"), found;

	for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		struct err e = ERR_INIT;

		write_pid_file(f, damage[i]);
		assert_int_equal(-1, daemon_find(f->home, &found, &e));
		assert_int_equal(0, found);
	}
	assert_int_equal(0, unlink(scratch_path(&f->s, "kairo.pid")));
	assert_int_equal(-1, daemon_find(f->home, &found, NULL));
	assert_int_equal(0, symlink("/etc/passwd", scratch_path(&f->s, "kairo.pid")));
	assert_int_equal(-1, daemon_find(f->home, &found, NULL));
	assert_int_equal(0, unlink(scratch_path(&f->s, "kairo.pid")));
	assert_int_equal(0, mkfifo(scratch_path(&f->s, "kairo.pid"), 0600));
	assert_int_equal(-1, daemon_find(f->home, &found, NULL));
	end(pid);
}

/* --- Stopping --------------------------------------------------------------------------------- */

/* The stop waits for the process to be gone, so somebody must reap it. */
static int stop(struct fix *f, int wait_ms, struct err *e)
{
	return daemon_stop(f->home, wait_ms, e);
}

static void a_daemon_that_obeys_is_ended_by_term(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;
	pid_t pid = start("kairo", f->home, "obedient");
	int status = 0;

	assert_int_equal(0, stop(f, 60000, &e));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void a_daemon_that_does_not_is_killed(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;
	pid_t pid = start("kairo", f->home, "deaf");
	int status = 0;

	assert_int_equal(0, stop(f, 100, &e));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void its_group_goes_with_it(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;
	struct pollfd p = { .events = POLLIN };
	char c;
	pid_t pid = spawn("kairo", f->home, "family", &p.fd);

	assert_int_equal(1, read(p.fd, &c, 1));
	assert_int_equal('+', c);
	assert_int_equal(0, stop(f, 60000, &e));
	assert_int_equal(pid, waitpid(pid, NULL, 0));
	/* Its child held the other end of the pipe. */
	assert_int_equal(1, poll(&p, 1, 60000));
	assert_int_equal(0, read(p.fd, &c, 1));
	close(p.fd);
}

static void our_own_group_is_spared(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;
	pid_t pid = start("kairo", f->home, "impostor"); /* in the group of this test */

	assert_int_equal(0, stop(f, 60000, &e));
	assert_int_equal(pid, waitpid(pid, NULL, 0));
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_claim_records_pid_and_start_time),
		T(a_second_claim_is_refused),
		T(of_twenty_started_at_once_one_runs),
		T(a_claim_without_a_home_fails),
		T(a_stale_pid_file_does_not_hinder),
		T(finds_the_daemon_that_runs),
		T(where_none_ever_ran_none_is_found),
		T(a_process_that_is_not_kairo_is_not_the_daemon),
		T(a_recycled_pid_is_never_signalled),
		T(a_pid_file_has_its_limit),
		T(a_damaged_pid_file_names_nobody),
		T(a_daemon_that_obeys_is_ended_by_term),
		T(a_daemon_that_does_not_is_killed),
		T(its_group_goes_with_it),
		T(our_own_group_is_spared),
	};

	if (argc == 4 && strcmp(argv[1], "run") == 0)
		return daemon_main(argv[2], argv[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
