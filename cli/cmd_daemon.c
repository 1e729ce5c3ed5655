/* run, start, stop, restart, logs */
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

enum {
	START_WAIT_MS = 20000,
	STOP_WAIT_MS = 10000, /* TERM to KILL */
	LOG_TAIL = 64 << 10,  /* bytes of the log that are looked at (kairo-architecture) */
	LOG_LINES = 100,
	READY_FD = 3
};

int cmd_run(const struct home *h, int argc, char **argv)
{
	struct app_opts o = { .background = false, .ready_fd = -1 };

	/* The form in which `start` calls us; not for people. */
	if (argc == 2 && !strcmp(argv[1], "--background")) {
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

/* One line from the child: "ok", or "CODE MESSAGE"; nothing when it died. */
static int await_ready(int fd, char *line, size_t size)
{
	size_t n = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (n + 1 < size && poll(&p, 1, START_WAIT_MS) > 0) {
		ssize_t got = read(fd, line + n, size - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
		if (line[n - 1] == '\n')
			break;
	}
	line[n] = '\0';
	return n > 0 ? 0 : -1;
}

static int start_failed(const struct home *h, char *line)
{
	char *msg = strchr(line, ' ');
	int code = EXIT_FAILED;

	line[strcspn(line, "\n")] = '\0';
	if (msg && line[0] == '0' + EXIT_LOGIN_NEEDED)
		code = EXIT_LOGIN_NEEDED;
	if (msg) {
		fputs("kairo: ", stderr);
		print_safe(stderr, view_of(msg + 1));
		fputc('\n', stderr);
	} else {
		fprintf(stderr, "kairo: the daemon did not start; see %s/logs/stderr.log\n",
			h->dir);
	}
	return code;
}

int cmd_start(const struct home *h, int argc, char **argv)
{
	struct err e = ERR_INIT;
	char line[512];
	int ready[2], errlog;
	pid_t pid;

	(void)argv;
	if (argc > 1)
		return say_usage("start", "start takes no arguments");
	if (daemon_find(h->dir, &pid, &e) == 1) {
		printf("kairo is already running, pid %d\n", (int)pid);
		return EXIT_DONE;
	}
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
	if (await_ready(ready[0], line, sizeof(line)) == 0 && !strncmp(line, "ok", 2)) {
		printf("kairo is running, pid %d\n", (int)pid);
		return EXIT_DONE;
	}
	close(ready[0]);
	return start_failed(h, line);
}

int cmd_stop(const struct home *h, int argc, char **argv)
{
	struct err e = ERR_INIT;

	(void)argv;
	if (argc > 1)
		return say_usage("stop", "stop takes no arguments");
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

/* --- logs ------------------------------------------------------------------------------------- */

static struct view last_lines(struct view text, long lines, bool cut)
{
	size_t at;

	if (cut) /* the first line may lack its beginning */
		text = view_from(text, view_find(text, '\n') + 1);
	at = text.n;
	if (at && text.p[at - 1] == '\n')
		at--;
	while (at > 0 && lines > 0)
		if (text.p[--at] == '\n' && --lines == 0)
			at++;
	return lines > 0 ? text : view_from(text, at);
}

static void pass_on(int fd)
{
	char buf[16384];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		print_safe(stdout, (struct view){ buf, (size_t)n });
	fflush(stdout);
}

/* Follows through rotations, which give the name to another file. Ends with the terminal. */
static int follow(const char *path, struct err *e)
{
	int64_t size = 0;
	struct stat mine, named;
	int fd = file_open_read(path, &size, e);

	if (fd < 0)
		return -1;
	lseek(fd, size, SEEK_SET);
	for (;;) {
		pass_on(fd);
		if (fstat(fd, &mine) < 0 || lstat(path, &named) < 0 ||
			mine.st_ino == named.st_ino) {
			usleep(200 * 1000);
			continue;
		}
		int next = file_open_read(path, NULL, e);
		if (next < 0)
			continue;
		pass_on(fd);
		close(fd);
		fd = next;
	}
}

int cmd_logs(const struct home *h, int argc, char **argv)
{
	char dir[PATH_SIZE], path[PATH_SIZE];
	struct str tail = STR_INIT(LOG_TAIL);
	unsigned long long lines = LOG_LINES;
	bool followed = false, cut = false;
	struct err e = ERR_INIT;
	int opt;

	while ((opt = getopt(argc, argv, "n:f")) != -1) {
		if (opt == 'f')
			followed = true;
		else if (opt != 'n' || parse_u64(view_of(optarg), &lines) < 0 || !lines ||
			 lines > 100000)
			return say_usage("logs", "-n wants a number of lines from 1 to 100000");
	}
	if (optind != argc)
		return say_usage("logs", NULL);
	if (path_join(dir, h->dir, "logs", &e) < 0 || path_join(path, dir, "kairo.log", &e) < 0)
		return say_err(&e);
	if (file_read_tail(path, LOG_TAIL, &tail, &cut, &e) < 0) {
		if (e.code == E_NOTFOUND)
			err_set(&e, E_NOTFOUND, "no log yet: it begins with kairo start");
		return say_err(&e);
	}
	print_safe(stdout, last_lines(str_view(&tail), (long)lines, cut));
	fflush(stdout);
	str_release(&tail);
	return followed && follow(path, &e) < 0 ? say_err(&e) : EXIT_DONE;
}
