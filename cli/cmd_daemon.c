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

#include "base/json.h"
#include "base/log.h"
#include "channel/daemon.h"
#include "cli/app.h"
#include "cli/background.h"
#include "cli/client.h"
#include "cli/hooks.h"

enum {
	START_WAIT_MS = 20000,
	LOOK_MS = 50,
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

/* The child's one line. */
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

/* Does the daemon that has the lock serve? 1; 0: it is beginning or ending; -1: it is stuck. */
static int serves(const struct home *h, struct err *e)
{
	struct str answer = STR_INIT(1 << 20);
	const struct client_call call = { .method = "GET",
		.path = "/v1/status",
		.answer = &answer };
	struct view state = VIEW_NONE;
	struct json *j = NULL;
	int rc = 0;

	if (client_request(h, &call, e) == 0) {
		if (json_read(&j, str_view(&answer), &json_limits_config, e) == 0)
			json_get_str(j, "state", JSON_OPTIONAL, 0, 64, &state, e);
		rc = view_eqs(state, "running");
	} else if (e->code == E_TIMEOUT || e->code == E_CANCELLED) {
		rc = -1;
	}
	json_free(&j);
	str_release(&answer);
	return rc;
}

/* The daemon that serves: 1 and its pid; one that is just beginning or ending is waited for. 0:
 * none runs. -1: what runs does not get there. */
static int find_serving(const struct home *h, int64_t end, pid_t *pid, struct err *e)
{
	int found, rc = 0;

	for (;;) {
		err_clear(e);
		found = daemon_find(h->dir, pid, e);
		if (found == 0 || (found == 1 && (rc = serves(h, e)) != 0))
			return found == 0 ? 0 : rc;
		/* Whoever takes the lock writes his number next. */
		if (clock_mono(clock_system()) >= end ||
			(found < 0 && e->code != E_NOTFOUND && e->code != E_CONFLICT))
			break;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return found < 0
	               ? -1
	               : err_set(e, E_TIMEOUT,
				 "a daemon runs here (pid %d), but it neither serves nor ends; kairo "
				 "logs may tell why, kairo restart ends it",
				 (int)*pid);
}

/* A daemon of our own; what it says of its start is in line. */
static int launch(const struct home *h, pid_t *pid, char *line, size_t size, enum ready *how,
	struct err *e)
{
	int ready[2], errlog = open_stderr_file(h, e);

	if (errlog < 0)
		return -1;
	if (pipe2(ready, O_CLOEXEC) < 0 || (*pid = fork()) < 0) {
		(void)err_sys(e, "start");
		close(errlog);
		return -1;
	}
	if (*pid == 0)
		become_daemon(h, ready[1], errlog);
	close(ready[1]);
	close(errlog);
	*how = await_ready(ready[0], line, size);
	close(ready[0]);
	return 0;
}

/* Of several at once each is told of the one daemon that runs then. */
int cmd_start(const struct home *h, int argc, char **argv)
{
	int64_t end = clock_mono(clock_system()) + START_WAIT_MS;
	struct err e = ERR_INIT;
	char line[512] = "";
	enum ready how = READY_GONE;
	pid_t pid;
	int rc;

	(void)argv;
	if (argc > 1)
		return say_usage("start", "start takes no arguments");
	while ((rc = find_serving(h, end, &pid, &e)) == 0) {
		hooks_offer(h);
		if (launch(h, &pid, line, sizeof(line), &how, &e) < 0)
			return say_err(&e);
		if (how == READY_LINE && strcmp(line, APP_READY) == 0) {
			printf("kairo is running, pid %d\n", (int)pid);
			return EXIT_DONE;
		}
		/* Gone without a word: another restart has ended it, to start its own. */
		if (strcmp(line, APP_SECOND) != 0 &&
			(how != READY_GONE || daemon_find(h->dir, &pid, &e) == 0))
			return start_failed(h, how, line);
	}
	if (rc < 0)
		return say_err(&e);
	printf("kairo is already running, pid %d\n", (int)pid);
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

/* What would keep it from starting again must not end it first. */
static int can_start(const struct home *h, struct err *e)
{
	struct config *c = NULL;
	int rc = config_load(&c, h->dir, e);

	if (rc == 0)
		rc = config_load_key(c, e);
	if (rc == 0)
		rc = config_load_search(c, e);
	if (rc == 0)
		rc = config_load_voice(c, e);
	if (rc == 0)
		rc = check_ca_file(c, e);
	config_free(&c);
	return rc;
}

int cmd_restart(const struct home *h, int argc, char **argv)
{
	struct err e = ERR_INIT;
	int rc;

	if (argc > 1)
		return say_usage("restart", "restart takes no arguments");
	if (can_start(h, &e) < 0)
		return say_err(&e);
	rc = cmd_stop(h, argc, argv);
	return rc == EXIT_DONE || rc == EXIT_NOT_RUNNING ? cmd_start(h, argc, argv) : rc;
}
