/* base/proc: real children: what they get, how they end, and that nothing of them is left. */
#include "base/proc.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "refuse.h"

struct fixture {
	struct loop *loop;
	struct err e;
	struct proc *p;
	int out[2]; /* the child's 1 and 2 */
	int ends, code, signal;
	bool free_inside;
	int64_t turned; /* how far the test has turned the clock */
	struct clock clock;
};

static int64_t turned_mono(void *arg)
{
	return clock_mono(clock_system()) + ((struct fixture *)arg)->turned;
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .code = 1000, .signal = 1000 };
	f.clock = (struct clock){ .mono_ms = turned_mono, .wall_ms = turned_mono, .arg = &f };
	assert_int_equal(loop_open(&f.loop, &f.clock, &f.e), 0);
	assert_int_equal(proc_pipe(f.out, -1, &f.e), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	proc_free(&f->p);
	loop_close(&f->loop);
	close(f->out[0]);
	if (f->out[1] >= 0)
		close(f->out[1]);
	/* No child of ours, running or unreaped, whatever the test did. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return 0;
}

static void on_exit_of_child(void *arg, int code, int signo)
{
	struct fixture *f = arg;

	f->ends++;
	f->code = code;
	f->signal = signo;
	if (f->free_inside)
		proc_free(&f->p);
}

static const char *const plain_env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL };

/* /bin/sh -c script, its output in our pipe. */
static void run(struct fixture *f, const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct proc_fd fds[] = { { f->out[1], 1 }, { f->out[1], 2 } };
	struct proc_spec spec = { .path = "/bin/sh",
		.argv = argv,
		.env = plain_env,
		.fds = fds,
		.nfds = 2 };

	if (proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e) < 0)
		fail_msg("%s", f->e.msg);
	assert_true(proc_pid(f->p) > 1);
}

static void until_end(struct fixture *f)
{
	while (f->ends == 0)
		assert_int_equal(loop_step(f->loop, -1, &f->e), 0);
}

/* All that came, to the end of file: every writer has gone. */
static const char *output(struct fixture *f)
{
	static char buf[65536];
	size_t n = 0;
	ssize_t got;

	if (f->out[1] >= 0)
		close(f->out[1]);
	f->out[1] = -1;
	while ((got = read(f->out[0], buf + n, sizeof(buf) - 1 - n)) > 0)
		n += (size_t)got;
	buf[n] = '\0';
	return buf;
}

/* Blocks until the child has written a line (it is where the test wants it to be). */
static void wait_for_line(struct fixture *f)
{
	char c;

	do
		assert_int_equal(read(f->out[0], &c, 1), 1);
	while (c != '\n');
}

/* --- How it ends ------------------------------------------------------------------------------ */
static void reports_the_exit_code_once(void **state)
{
	struct fixture *f = *state;

	run(f, "exit 37");
	assert_int_equal(f->ends, 0); /* never from inside proc_spawn */
	until_end(f);
	assert_int_equal(f->code, 37);
	assert_int_equal(f->signal, 0);
	proc_stop(f->p, 10); /* too late, no harm */
	assert_int_equal(loop_step(f->loop, 0, &f->e), 0);
	assert_int_equal(f->ends, 1);
}

static void reports_the_signal(void **state)
{
	struct fixture *f = *state;

	run(f, "kill -SEGV $$");
	until_end(f);
	assert_int_equal(f->code, -1);
	assert_int_equal(f->signal, SIGSEGV);
}

static void may_be_freed_in_its_own_callback(void **state)
{
	struct fixture *f = *state;

	f->free_inside = true;
	run(f, "exit 0");
	until_end(f);
	assert_null(f->p);
	assert_int_equal(f->code, 0);
}

static void freeing_a_running_child_kills_and_reaps_it_silently(void **state)
{
	struct fixture *f = *state;
	pid_t pid;

	run(f, "trap '' TERM HUP INT; echo up; while :; do sleep 1000; done");
	wait_for_line(f);
	pid = proc_pid(f->p);
	proc_free(&f->p);
	assert_null(f->p);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(loop_step(f->loop, 0, &f->e), 0);
	assert_int_equal(f->ends, 0);
	proc_free(&f->p);
}

static void freeing_kills_the_whole_group(void **state)
{
	struct fixture *f = *state;

	run(f, "sleep 1000 & sleep 1000 & echo up; wait");
	wait_for_line(f);
	proc_free(&f->p);
	(void)output(f); /* ends only when the sleepers, who hold the pipe, are gone */
}

/* --- Stopping --------------------------------------------------------------------------------- */
static void term_ends_the_group(void **state)
{
	struct fixture *f = *state;

	run(f, "sleep 1000 & echo up; wait");
	wait_for_line(f);
	proc_stop(f->p, 60000);
	until_end(f);
	assert_int_equal(f->signal, SIGTERM);
	(void)output(f);
}

static void a_child_may_use_its_grace(void **state)
{
	struct fixture *f = *state;

	run(f, "exec 2>/dev/null; trap 'echo tidied; exit 5' TERM; echo up; while :; do sleep 0.01; done");
	wait_for_line(f);
	proc_stop(f->p, 60000);
	until_end(f);
	assert_int_equal(f->code, 5);
	assert_string_equal(output(f), "tidied\n");
}

static void what_ignores_term_is_killed_after_the_grace(void **state)
{
	struct fixture *f = *state;

	run(f, "trap '' TERM; echo up; while :; do sleep 1000; done");
	wait_for_line(f);
	proc_stop(f->p, 5000);
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_step(f->loop, 1, &f->e), 0);
	assert_int_equal(f->ends, 0);
	f->turned += 4000;
	proc_stop(f->p, 60000); /* does not lengthen it */
	f->turned += 1000;
	until_end(f);
	assert_int_equal(f->signal, SIGKILL);
	(void)output(f);
}

static void no_grace_kills_at_once(void **state)
{
	struct fixture *f = *state;

	run(f, "trap '' TERM; echo up; while :; do sleep 1000; done");
	wait_for_line(f);
	proc_stop(f->p, 60000);
	proc_stop(f->p, 0);
	until_end(f);
	assert_int_equal(f->signal, SIGKILL);
	(void)output(f);
}

static void a_stopped_child_hears_of_its_end(void **state)
{
	struct fixture *f = *state;
	siginfo_t info;

	run(f, "kill -STOP $$; sleep 1000");
	assert_int_equal(waitid(P_PID, (id_t)proc_pid(f->p), &info, WSTOPPED | WNOWAIT), 0);
	proc_stop(f->p, 60000);
	until_end(f);
	assert_int_equal(f->signal, SIGTERM);
}

/* A leader that ends and leaves its group running leaves nothing. */
static void what_the_leader_leaves_behind_is_killed(void **state)
{
	struct fixture *f = *state;

	run(f, "(trap '' TERM HUP; sleep 1000; echo survived) & echo up; exit 3");
	wait_for_line(f);
	until_end(f);
	assert_int_equal(f->code, 3);
	assert_string_equal(output(f), "");
}

/* --- What it gets ----------------------------------------------------------------------------- */

/* This program run as a child: prints the numbers of its open descriptors, opening none to find
 * out, then a line read from each that was named. */
static int be_a_child(int argc, char **argv)
{
	for (int fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d ", fd);
	}
	printf("\n");
	for (int i = 2; i < argc; i++) {
		unsigned long long fd = 0;
		char line[16] = "";

		if (parse_u64(view_of(argv[i]), &fd) < 0 ||
			read((int)fd, line, sizeof(line) - 1) < 0)
			return 1;
		printf("%llu:%s\n", fd, line);
	}
	return 0;
}

static void has_no_descriptor_but_those_it_was_given(void **state)
{
	struct fixture *f = *state;
	/* Ours, without close-on-exec, low and high. */
	int leaks[] = { dup(f->out[0]), fcntl(f->out[0], F_DUPFD, 200), open("/dev/null", O_RDWR) };
	const char *argv[] = { "child", "fds", NULL };
	struct proc_fd fds[] = { { f->out[1], 1 } };
	struct proc_spec spec = { .path = "/proc/self/exe",
		.argv = argv,
		.env = plain_env,
		.fds = fds,
		.nfds = 1 };

	assert_int_equal(proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e), 0);
	until_end(f);
	assert_string_equal(output(f), "0 1 2 \n");
	for (size_t i = 0; i < 3; i++)
		close(leaks[i]);
}

static void descriptors_keep_apart_whatever_their_numbers(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "child", "fds", "50", "63", "9", "0", NULL };
	int a[2], b[2];
	struct proc_fd fds[] = { { 63, 50 }, { 50, 63 }, { -1, 9 }, { f->out[1], 1 }, { -1, 2 } };
	struct proc_spec spec = { .path = "/proc/self/exe",
		.argv = argv,
		.env = plain_env,
		.fds = fds,
		.nfds = 5 };

	assert_int_equal(proc_pipe(a, -1, &f->e), 0);
	assert_int_equal(proc_pipe(b, -1, &f->e), 0);
	assert_int_equal(write(a[1], "from 63", 7), 7);
	assert_int_equal(write(b[1], "from 50", 7), 7);
	assert_int_equal(dup2(a[0], 63), 63);
	assert_int_equal(dup2(b[0], 50), 50);
	close(a[1]);
	close(b[1]);
	assert_int_equal(proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e), 0);
	until_end(f);
	assert_int_equal(f->code, 0);
	assert_string_equal(output(f), "0 1 2 9 50 63 \n50:from 63\n63:from 50\n9:\n0:\n");
	close(50);
	close(a[0]);
	close(b[0]);
	close(63);
}

static void reads_nothing_and_has_no_terminal(void **state)
{
	struct fixture *f = *state;

	run(f, "read x; echo \"read $?\"; (: < /dev/tty) 2>/dev/null; echo \"tty $?\"");
	until_end(f);
	assert_memory_equal(output(f), "read 1\ntty ", 11);
	assert_null(strstr(output(f), "tty 0"));
}

static void leads_a_group_and_a_session_of_its_own(void **state)
{
	struct fixture *f = *state;

	run(f, "echo up; read x < /dev/zero & wait");
	wait_for_line(f);
	assert_int_equal(getpgid(proc_pid(f->p)), proc_pid(f->p));
	assert_int_equal(getsid(proc_pid(f->p)), proc_pid(f->p));
	proc_stop(f->p, 0);
	until_end(f);
}

static void has_exactly_the_environment_it_was_given(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "env", NULL };
	const char *env[] = { "A=1", "B=two words", NULL };
	struct proc_fd fds[] = { { f->out[1], 1 } };
	struct proc_spec spec = { .path = "/usr/bin/env",
		.argv = argv,
		.env = env,
		.fds = fds,
		.nfds = 1 };

	assert_int_equal(setenv("KAIRO_TEST_SECRET", "x", 1), 0);
	assert_int_equal(proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e), 0);
	until_end(f);
	assert_string_equal(output(f), "A=1\nB=two words\n");
}

static void has_default_signals_all_of_them_unblocked(void **state)
{
	struct fixture *f = *state;
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run(f, "exec sed -n '/^Sig[BIC]/p' /proc/self/status");
	until_end(f);
	assert_string_equal(output(f),
		"SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n");
	sigprocmask(SIG_BLOCK, NULL, &set);
	assert_true(sigismember(&set, SIGTERM)); /* ours are as they were */
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGHUP, SIG_DFL);
}

static void dumps_no_core(void **state)
{
	struct fixture *f = *state;

	run(f, "ulimit -c; ulimit -H -c");
	until_end(f);
	assert_string_equal(output(f), "0\n0\n");
}

static void runs_in_the_folder_it_was_given(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "sh", "-c", "pwd", NULL };
	struct proc_fd fds[] = { { f->out[1], 1 } };
	struct proc_spec spec = { .path = "/bin/sh",
		.argv = argv,
		.env = plain_env,
		.fds = fds,
		.nfds = 1 };

	spec.cwd = "/usr";
	assert_int_equal(proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e), 0);
	until_end(f);
	proc_free(&f->p);
	spec.cwd = NULL;
	f->ends = 0;
	assert_int_equal(proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e), 0);
	until_end(f);
	assert_string_equal(output(f), "/usr\n/\n");
}

/* Killed with its parent, even if that had no time to say goodbye. */
static void dies_with_its_parent(void **state)
{
	struct fixture *f = *state;
	pid_t pid = fork();

	if (pid == 0) {
		run(f, "trap '' TERM HUP; echo up; exec sleep 1000");
		wait_for_line(f);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)output(f); /* ends when the sleeper has gone */
}

/* --- What cannot be run ----------------------------------------------------------------------- */
static void says_why_a_program_cannot_be_run(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "x", NULL };
	static const struct {
		const char *path, *cwd;
		enum err_code code;
		const char *says;
	} rows[] = {
		{ "/no/such/program", NULL, E_NOTFOUND, "/no/such/program: No such file" },
		{ "/etc/passwd", NULL, E_DENIED, "/etc/passwd: Permission denied" },
		{ "/etc", NULL, E_DENIED, "/etc: Permission denied" },
		{ "/bin/sh", "/no/such/folder", E_NOTFOUND, "in /no/such/folder: No such file" },
		{ "sh", NULL, E_FORMAT, "absolute path" },
		{ NULL, NULL, E_FORMAT, "absolute path" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct proc_spec spec = { .path = rows[i].path,
			.argv = argv,
			.env = plain_env,
			.cwd = rows[i].cwd };

		assert_int_equal(proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e), -1);
		assert_null(f->p);
		assert_int_equal(f->e.code, rows[i].code);
		if (!strstr(f->e.msg, rows[i].says))
			fail_msg("%s", f->e.msg);
		/* Nothing is left of the attempt. */
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(loop_step(f->loop, 0, &f->e), 0);
		assert_int_equal(f->ends, 0);
	}
}

static void refuses_descriptors_that_make_no_sense(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "true", NULL };
	static const struct proc_fd twice[] = { { -1, 3 }, { -1, 3 } }, low[] = { { -1, -1 } },
				    high[] = { { -1, 64 } }, closed[] = { { 999, 3 } },
				    many[9] = { { -1, 3 } };
	static const struct {
		const struct proc_fd *fds;
		int n;
		enum err_code code;
	} rows[] = { { twice, 2, E_FORMAT }, { low, 1, E_FORMAT }, { high, 1, E_FORMAT },
		{ many, 9, E_FORMAT }, { closed, 1, E_IO } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct proc_spec spec = { .path = "/bin/true",
			.argv = argv,
			.env = plain_env,
			.fds = rows[i].fds,
			.nfds = rows[i].n };

		assert_int_equal(proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e), -1);
		assert_int_equal(f->e.code, rows[i].code);
		assert_null(f->p);
	}
}

static void survives_having_no_descriptors_left(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "true", NULL };
	struct proc_spec spec = { .path = "/bin/true", .argv = argv, .env = plain_env };
	struct rlimit old, now;
	int failed = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	/* From none free upwards, until it works. */
	for (rlim_t limit = 3; limit < 100; limit++) {
		now = old;
		now.rlim_cur = limit;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
		if (proc_spawn(&f->p, f->loop, &spec, on_exit_of_child, f, &f->e) < 0) {
			failed++;
			assert_null(f->p);
			assert_true(strlen(f->e.msg) > 0);
			continue;
		}
		f->ends = 0;
		until_end(f);
		assert_int_equal(f->code, 0); /* what could not be set up was told, not run */
		proc_free(&f->p);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(failed > 0);
	assert_true(f->ends > 0);
}

static void two_children_at_once_are_told_apart(void **state)
{
	struct fixture *f = *state;
	struct fixture g = *f;

	g.free_inside = true;
	run(f, "read x < /dev/zero");
	run(&g, "exit 9");
	until_end(&g);
	assert_int_equal(g.code, 9);
	assert_int_equal(f->ends, 0);
	proc_stop(f->p, 0);
	until_end(f);
	assert_int_equal(f->signal, SIGKILL);
}

static void pipes_close_at_exec_and_block_as_asked(void **state)
{
	struct fixture *f = *state;

	for (int end = -1; end < 2; end++) {
		int fd[2];

		assert_int_equal(proc_pipe(fd, end, &f->e), 0);
		for (int i = 0; i < 2; i++) {
			assert_true(fcntl(fd[i], F_GETFD) & FD_CLOEXEC);
			assert_int_equal((fcntl(fd[i], F_GETFL) & O_NONBLOCK) != 0, i == end);
			close(fd[i]);
		}
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	T(reports_the_exit_code_once),
	T(reports_the_signal),
	T(may_be_freed_in_its_own_callback),
	T(freeing_a_running_child_kills_and_reaps_it_silently),
	T(freeing_kills_the_whole_group),
	T(term_ends_the_group),
	T(a_child_may_use_its_grace),
	T(what_ignores_term_is_killed_after_the_grace),
	T(no_grace_kills_at_once),
	T(a_stopped_child_hears_of_its_end),
	T(what_the_leader_leaves_behind_is_killed),
	T(has_no_descriptor_but_those_it_was_given),
	T(descriptors_keep_apart_whatever_their_numbers),
	T(reads_nothing_and_has_no_terminal),
	T(leads_a_group_and_a_session_of_its_own),
	T(has_exactly_the_environment_it_was_given),
	T(has_default_signals_all_of_them_unblocked),
	T(dumps_no_core),
	T(runs_in_the_folder_it_was_given),
	T(dies_with_its_parent),
	T(says_why_a_program_cannot_be_run),
	T(refuses_descriptors_that_make_no_sense),
	T(survives_having_no_descriptors_left),
	T(two_children_at_once_are_told_apart),
	T(pipes_close_at_exec_and_block_as_asked),
};

/* The same where close_range is missing: descriptors must not leak there either. */
static const struct CMUnitTest without_close_range[] = {
	T(has_no_descriptor_but_those_it_was_given),
	T(descriptors_keep_apart_whatever_their_numbers),
};

int main(int argc, char **argv)
{
	int failed;

	if (argc > 1 && strcmp(argv[1], "fds") == 0)
		return be_a_child(argc, argv);
	failed = cmocka_run_group_tests(tests, NULL, NULL);

	if (!refuse_call(SYS_close_range, ENOSYS)) {
		print_message(
			"skipped: without close_range (seccomp filters cannot be set here)\n");
		return failed;
	}
	return failed + cmocka_run_group_tests(without_close_range, NULL, NULL);
}
