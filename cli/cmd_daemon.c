/* run, start, stop, restart */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "channel/daemon.h"
#include "cli/app.h"
#include "cli/background.h"
#include "cli/hooks.h"

enum {
	START_WAIT_MS = 20000,
	STOP_WAIT_MS = 10000, /* TERM to KILL */
	READY_FD = 3
};

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

int cmd_run(const struct home *h, int argc, char **argv)
{
	struct app_opts o = { .background = false, .ready_fd = -1 };

	/* The form in which `start` calls us; not for people, who have no such pipe. */
	if (argc == 2 && !strcmp(argv[1], "--background") && is_pipe(READY_FD)) {
		o.background = true;
		o.ready_fd = READY_FD;
		fcntl(READY_FD, F_SETFD, FD_CLOEXEC);
	} else if (argc > 1) {
		return say_usage("run", "run takes no arguments");
	}
	return app_run(h, &o);
}

/* Everything after the fork: only what cannot fail half-way. */
static void become_daemon(const struct home *h, int ready, int errlog)
{
	char account[64];
	const char *argv[8];
	int n = 0, null = open("/dev/null", O_RDWR);

	argv[n++] = "kairo";
	if (h->account[0]) {
		snprintf(account, sizeof(account), "--account=%s", h->account);
		argv[n++] = account;
	}
	argv[n++] = "run";
	argv[n++] = "--background";
	argv[n] = NULL;
	setsid();
	if (null < 0 || chdir("/") < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
		dup2(errlog, 2) < 0)
		_exit(127);
	if (ready == READY_FD)
		fcntl(ready, F_SETFD, 0);
	else if (dup2(ready, READY_FD) < 0)
		_exit(127);
	closefrom(READY_FD + 1);
	setenv("KAIRO_HOME", h->root, 1);
	execv("/proc/self/exe", (char *const *)(void *)argv);
	_exit(127);
}

/* What the loader, the sanitizers or a crash print goes here; the log proper is kairo.log. */
static int open_stderr_file(const struct home *h, struct err *e)
{
	char dir[PATH_SIZE], path[PATH_SIZE], old[PATH_SIZE];
	struct stat st;

	if (path_join(dir, h->dir, "logs", e) < 0 || file_mkdir_private(dir, e) < 0 ||
		path_join(path, dir, "stderr.log", e) < 0 ||
		path_join(old, dir, "stderr.log.1", e) < 0)
		return -1;
	if (lstat(path, &st) == 0 && st.st_size > LOG_FILE_MAX)
		rename(path, old);
	return file_open_append(path, e);
}

enum ready { READY_LINE, READY_GONE, READY_SILENT };

/* The child's one line: "ok", or "CODE MESSAGE". */
static enum ready await_ready(int fd, char *line, size_t size)
{
	const struct clock *clk = clock_system();
	int64_t end = clock_mono(clk) + START_WAIT_MS, left;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	line[0] = '\0';
	while (n + 1 < size && (left = end - clock_mono(clk)) > 0) {
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		ssize_t got = read(fd, line + n, size - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return READY_GONE;
		n += (size_t)got;
		line[n] = '\0';
		if (line[n - 1] == '\n')
			return READY_LINE;
	}
	return READY_SILENT;
}

/* What came instead of "ok". */
static int start_failed(const struct home *h, enum ready how, char *line)
{
	char *msg = strchr(line, ' ');

	line[strcspn(line, "\n")] = '\0';
	if (how == READY_SILENT) {
		fprintf(stderr,
			"kairo: the daemon has not become ready within %d s; kairo status and kairo "
			"logs tell more\n",
			START_WAIT_MS / 1000);
		return EXIT_FAILED;
	}
	if (how == READY_GONE || !msg) {
		fprintf(stderr, "kairo: the daemon did not start; see %s/logs/stderr.log\n",
			h->dir);
		return EXIT_FAILED;
	}
	fputs("kairo: ", stderr);
	print_safe(stderr, view_of(msg + 1));
	fputc('\n', stderr);
	return line[0] == '0' + EXIT_LOGIN_NEEDED ? EXIT_LOGIN_NEEDED : EXIT_FAILED;
}

int cmd_start(const struct home *h, int argc, char **argv)
{
	struct err e = ERR_INIT;
	char line[512];
	int ready[2], errlog;
	enum ready how;
	pid_t pid;

	(void)argv;
	if (argc > 1)
		return say_usage("start", "start takes no arguments");
	if (daemon_find(h->dir, &pid, &e) == 1) {
		printf("kairo is already running, pid %d\n", (int)pid);
		return EXIT_DONE;
	}
	hooks_offer(h);
	if ((errlog = open_stderr_file(h, &e)) < 0)
		return say_err(&e);
	if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		err_sys(&e, "start");
		return say_err(&e);
	}
	if (pid == 0)
		become_daemon(h, ready[1], errlog);
	close(ready[1]);
	close(errlog);
	how = await_ready(ready[0], line, sizeof(line));
	close(ready[0]);
	if (how != READY_LINE || strcmp(line, "ok\n") != 0)
		return start_failed(h, how, line);
	printf("kairo is running, pid %d\n", (int)pid);
	return EXIT_DONE;
}

int cmd_stop(const struct home *h, int argc, char **argv)
{
	struct err e = ERR_INIT;

	(void)argv;
	if (argc > 1)
		return say_usage("stop", "stop takes no arguments");
	if (background_warn(h, &e) < 0)
		return say_err(&e);
	if (daemon_stop(h->dir, STOP_WAIT_MS, &e) == 0) {
		puts("kairo has stopped");
		return EXIT_DONE;
	}
	if (e.code != E_NOTFOUND)
		return say_err(&e);
	puts("kairo is not running");
	return EXIT_NOT_RUNNING;
}

int cmd_restart(const struct home *h, int argc, char **argv)
{
	if (argc > 1)
		return say_usage("restart", "restart takes no arguments");
	int rc = cmd_stop(h, argc, argv);
	return rc == EXIT_DONE || rc == EXIT_NOT_RUNNING ? cmd_start(h, argc, argv) : rc;
}
