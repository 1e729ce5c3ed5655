#include "channel/daemon.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#define PID_FILE_MAX 64
#define SETTLE_MS    400 /* a daemon that starts writes its pid file within this */
#define KILL_WAIT_MS 5000
#define STEP_MS      20

struct daemon_claim {
	struct lock *lock;
	char pid_path[PATH_SIZE];
};

/* What the pid file says. */
struct recorded {
	pid_t pid;
	unsigned long long start; /* clock ticks since boot: field 22 of /proc/PID/stat */
};

static void pause_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&t, NULL);
}

/* --- /proc ------------------------------------------------------------------------------------ */

/* The first bytes of /proc/PID/name. -1 when there is no such process. */
static ssize_t read_proc(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	do
		n = read(fd, buf, size - 1);
	while (n < 0 && errno == EINTR);
	close(fd);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

/* The name in parentheses may hold anything, so counting starts behind the last of them: field 3.
 */
static int start_time(pid_t pid, unsigned long long *out)
{
	char buf[1024];
	struct view v;
	const char *p;

	if (read_proc(pid, "stat", buf, sizeof(buf)) <= 0)
		return -1;
	p = strrchr(buf, ')');
	if (!p || p[1] != ' ')
		return -1;
	v = view_of(p + 2);
	for (int field = 3; field < 22; field++)
		v = view_from(v, view_find(v, ' ') + 1);
	return parse_u64(view_cut(v, view_find(v, ' ')), out);
}

/* Would a kairo daemon's command line read so? "kairo ... run", or the command that started it. */
static bool is_kairo(pid_t pid)
{
	static const char *const verbs[] = { "run", "start", "restart" };
	char buf[4096];
	ssize_t n = read_proc(pid, "cmdline", buf, sizeof(buf));
	const char *base, *end = buf + (n > 0 ? n : 0);

	if (n <= 0)
		return false;
	base = strrchr(buf, '/');
	if (strncmp(base ? base + 1 : buf, "kairo", 5) != 0)
		return false;
	for (const char *arg = buf + strlen(buf) + 1; arg < end; arg += strlen(arg) + 1)
		for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
			if (strcmp(arg, verbs[i]) == 0)
				return true;
	return false;
}

static bool still_it(const struct recorded *rec)
{
	unsigned long long start;

	return start_time(rec->pid, &start) == 0 && start == rec->start && is_kairo(rec->pid);
}

/* --- The pid file ----------------------------------------------------------------------------- */

static int write_pid(const char *path, struct err *e)
{
	char text[PID_FILE_MAX];
	unsigned long long start;

	if (start_time(getpid(), &start) < 0)
		return err_set(e, E_IO, "cannot read the start time of this process from /proc");
	snprintf(text, sizeof(text), "%d %llu\n", (int)getpid(), start);
	return file_replace(path, 0600, view_of(text), e);
}

static int read_pid(const char *home, struct recorded *rec, struct err *e)
{
	struct str text = STR_INIT(PID_FILE_MAX + 1);
	char path[PATH_SIZE];
	unsigned long long pid = 0;
	struct view v;
	size_t space;
	int rc = -1;

	if (path_join(path, home, "kairo.pid", e) < 0 ||
		file_read_private(path, PID_FILE_MAX, &text, e) < 0)
		goto out;
	v = str_view(&text);
	space = view_find(v, ' ');
	if (!view_ends(v, VIEW("\n")) || parse_u64(view_cut(v, space), &pid) < 0 || pid < 2 ||
		pid > INT32_MAX ||
		parse_u64(view_from(view_cut(v, v.n - 1), space + 1), &rec->start) < 0) {
		err_set(e, E_FORMAT, "%s does not hold a process id and its start time", path);
		goto out;
	}
	rec->pid = (pid_t)pid;
	rc = 0;
out:
	str_release(&text);
	return rc;
}

/* --- Claiming --------------------------------------------------------------------------------- */

static int refuse_second(const char *home, const char *lock, struct err *e)
{
	struct recorded rec = { .pid = 0 };

	if (read_pid(home, &rec, NULL) == 0 && still_it(&rec))
		return err_set(e, E_BUSY,
			"a daemon is already running here (pid %d): see kairo status, or kairo stop",
			(int)rec.pid);
	return err_set(e, E_BUSY, "a daemon is already running here: %s is locked", lock);
}

int daemon_claim(struct daemon_claim **out, const char *home, struct err *e)
{
	struct daemon_claim *c = calloc(1, sizeof(*c));
	struct err why = ERR_INIT;
	char path[PATH_SIZE];

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "the daemon's lock");
	if (path_join(path, home, "kairo.lock", e) < 0 ||
		path_join(c->pid_path, home, "kairo.pid", e) < 0)
		goto fail;
	if (lock_take(&c->lock, path, 0, &why) < 0) {
		if (why.code == E_BUSY)
			refuse_second(home, path, e);
		else
			err_set(e, why.code, "%s", why.msg);
		goto fail;
	}
	if (write_pid(c->pid_path, e) < 0)
		goto fail;
	*out = c;
	return 0;
fail:
	lock_release(&c->lock);
	free(c);
	return -1;
}

void daemon_release(struct daemon_claim **cp)
{
	struct daemon_claim *c = *cp;

	*cp = NULL;
	if (!c)
		return;
	(void)file_remove(c->pid_path, NULL); /* while the lock still says that it is ours */
	lock_release(&c->lock);
	free(c);
}

/* --- Finding ---------------------------------------------------------------------------------- */

static int is_locked(const char *home, struct err *e)
{
	char path[PATH_SIZE];

	return path_join(path, home, "kairo.lock", e) < 0 ? -1 : lock_held(path, e);
}

static int find(const char *home, struct recorded *rec, struct err *e)
{
	struct err why = ERR_INIT;

	for (int waited = 0; waited < SETTLE_MS; waited += STEP_MS) {
		int held = is_locked(home, e);

		if (held != 1)
			return held;
		err_clear(&why);
		if (read_pid(home, rec, &why) == 0) {
			if (still_it(rec))
				return 1;
			err_set(&why, E_CONFLICT,
				"kairo.pid names process %d, which is not that daemon",
				(int)rec->pid);
		}
		/* The file is replaced whole: only a missing or an old one can get better. */
		if (why.code != E_NOTFOUND && why.code != E_CONFLICT)
			break;
		pause_ms(STEP_MS);
	}
	return err_set(e, why.code == E_OK ? E_IO : why.code,
		"a daemon runs here (kairo.lock is held), but %s; find it with: fuser %s/kairo.lock",
		why.msg, home);
}

int daemon_find(const char *home, pid_t *pid, struct err *e)
{
	struct recorded rec = { .pid = 0 };
	int rc = find(home, &rec, e);

	*pid = rc == 1 ? rec.pid : 0;
	return rc;
}

/* --- Stopping --------------------------------------------------------------------------------- */

static bool has_ended(int pidfd, int wait_ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int rc;

	do
		rc = poll(&p, 1, wait_ms);
	while (rc < 0 && errno == EINTR);
	return rc > 0;
}

/* The group only while its leader lives, so that its number cannot have been given to others; else
 * by the pidfd, which cannot mean another process. Once: a second TERM asks a daemon to hurry. */
static void signal_group(int pidfd, pid_t pid, int signo)
{
	bool own_group = getpgid(pid) == pid && getpgrp() != pid;

	if (has_ended(pidfd, 0))
		return;
	if (!own_group || kill(-pid, signo) < 0)
		(void)pidfd_send_signal(pidfd, signo, NULL, 0);
}

static int wait_unlocked(const char *home, struct err *e)
{
	for (int waited = 0; waited <= KILL_WAIT_MS; waited += STEP_MS) {
		int held = is_locked(home, e);

		if (held != 1)
			return held;
		pause_ms(STEP_MS);
	}
	return err_set(e, E_TIMEOUT, "%s/kairo.lock is still held by another process", home);
}

int daemon_stop(const char *home, int wait_ms, struct err *e)
{
	struct recorded rec = { .pid = 0 };
	int pidfd, rc = find(home, &rec, e);

	if (rc < 0)
		return -1;
	if (rc == 0)
		return err_set(e, E_NOTFOUND, "no daemon is running here");
	pidfd = pidfd_open(rec.pid, 0);
	if (pidfd < 0 && errno != ESRCH)
		return err_sys(e, "cannot watch process %d", (int)rec.pid);
	/* What was looked at before the descriptor was opened may be another process by now. */
	if (pidfd >= 0 && still_it(&rec)) {
		signal_group(pidfd, rec.pid, SIGTERM);
		if (!has_ended(pidfd, wait_ms))
			signal_group(pidfd, rec.pid, SIGKILL);
		if (!has_ended(pidfd, KILL_WAIT_MS)) {
			close(pidfd);
			return err_set(e, E_TIMEOUT,
				"process %d does not end, not even when killed", (int)rec.pid);
		}
	}
	if (pidfd >= 0)
		close(pidfd);
	return wait_unlocked(home, e);
}
