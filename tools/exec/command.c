#include "tools/exec/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/exec/scratch.h"

#define PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#define NICENESS   5    /* what it does must not slow the daemon */
#define GRACE_MS   1000 /* between TERM and KILL */
#define DRAIN_MS   500  /* for output that somebody holds open */
#define STOPPED_MS 60   /* for either, when the supervisor is about to kill us */
#define LAST_MS    100  /* from the end of all output to that of whoever wrote it */
#define MORE_MAX   4

int64_t monotonic_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* --- The start -------------------------------------------------------------------------------- */

static void both(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGCHLD);
	(void)sigaddset(set, SIGTERM);
}

static int watch_signals(struct command *c, struct err *e)
{
	sigset_t set;

	both(&set);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(e, "signals");
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signals < 0 ? err_sys(e, "signals") : 0;
}

static int fill_attributes(posix_spawnattr_t *attr)
{
	sigset_t all, none;

	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	return posix_spawnattr_setsigdefault(attr, &all) != 0 ||
	                       posix_spawnattr_setsigmask(attr, &none) != 0 ||
	                       posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID |
								      POSIX_SPAWN_SETSIGDEF |
								      POSIX_SPAWN_SETSIGMASK) != 0
	               ? -1
	               : 0;
}

static int fill_actions(posix_spawn_file_actions_t *fa, const struct command_plan *p, int out,
	int err)
{
	int rc = posix_spawn_file_actions_addfchdir_np(fa, p->dir);

	if (rc == 0 && p->in < 0)
		rc = posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDONLY, 0);
	else if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(fa, p->in, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(fa, out, 1);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(fa, err, 2);
	if (rc == 0 && p->frames >= 0) /* last: the others may have had this number */
		rc = posix_spawn_file_actions_adddup2(fa, p->frames, COMMAND_FRAMES_FD);
	return rc == 0 ? 0 : -1;
}

/* posix_spawn promises not to change them; its prototype is older than const. */
static char *const *vector(const char *const *words)
{
	union {
		const char *const *given;
		char *const *wanted;
	} u = { .given = words };

	return u.wanted;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n + 1) == 0;
}

/* Ours as far as no further one has the name, then those. */
static void fill_env(const char **out, const char *const *own, size_t n, const char *const *more)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		const char *const *same = more;

		while (same && *same && !same_name(own[i], *same))
			same++;
		if (!same || !*same)
			out[count++] = own[i];
	}
	for (size_t i = 0; more && more[i] && i < COMMAND_ENV_MAX; i++)
		out[count++] = more[i];
	out[count] = NULL;
}

/* 0, or an errno. */
static int spawn(pid_t *pid, const struct command_plan *p, int out, int err)
{
	char pwd[2 * PATH_SIZE], home[SCRATCH_SIZE + 8], tmp[SCRATCH_SIZE + 8];
	const char *own[] = { PATH, home, tmp, "LANG=C.UTF-8", "TERM=dumb", pwd };
	const char *env[COMMAND_ENV_MAX + sizeof(own) / sizeof(own[0]) + 1];
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int rc = ENOMEM;

	(void)snprintf(pwd, sizeof(pwd), "PWD=%s", p->pwd);
	(void)snprintf(home, sizeof(home), "HOME=%s", p->tmp);
	(void)snprintf(tmp, sizeof(tmp), "TMPDIR=%s", p->tmp);
	fill_env(env, own, sizeof(own) / sizeof(own[0]), p->env);
	if (posix_spawnattr_init(&attr) != 0)
		return rc;
	if (posix_spawn_file_actions_init(&fa) != 0) {
		(void)posix_spawnattr_destroy(&attr);
		return rc;
	}
	if (fill_attributes(&attr) == 0 && fill_actions(&fa, p, out, err) == 0)
		rc = posix_spawn(pid, p->path, &fa, &attr, vector(p->argv), vector(env));
	(void)posix_spawn_file_actions_destroy(&fa);
	(void)posix_spawnattr_destroy(&attr);
	return rc;
}

int command_start(struct command *c, const struct command_plan *plan, struct err *e)
{
	bool one = plan->on_output && !plan->apart;
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, rc = -1, failed;

	memset(c, 0, sizeof(*c));
	c->signals = c->out = c->err = -1;
	c->began = monotonic_ms();
	/* Nothing of ours goes down to it, whatever was opened without the flag. */
	(void)syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		rc = err_sys(e, "subreaper");
		goto out;
	}
	if (watch_signals(c, e) < 0)
		goto out;
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
		rc = err_sys(e, "a pipe");
		goto out;
	}
	failed = spawn(&c->pid, plan, out[1], one ? out[1] : err[1]);
	if (failed != 0) {
		errno = failed;
		rc = err_sys(e, "%s cannot be run", plan->path);
		goto out;
	}
	c->out = out[0];
	out[0] = -1;
	c->on_output = plan->on_output;
	c->arg = plan->arg;
	if (!one) {
		c->err = err[0];
		err[0] = -1;
	}
	rc = 0;
out:
	for (int i = 0; i < 2; i++) {
		close_fd(&out[i]);
		close_fd(&err[i]);
	}
	if (rc < 0)
		command_release(c);
	return rc;
}

void command_release(struct command *c)
{
	sigset_t set;

	both(&set);
	close_fd(&c->signals);
	close_fd(&c->out);
	close_fd(&c->err);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* --- What comes ------------------------------------------------------------------------------- */

/* At most max bytes. */
static void take_output(const struct command *c, int *fd, struct evidence *ev, size_t max)
{
	char buf[65536];
	ssize_t n = read(*fd, buf, max < sizeof(buf) ? max : sizeof(buf));

	if (n > 0 && c->on_output && fd == &c->out)
		c->on_output(c->arg, (struct view){ buf, (size_t)n });
	else if (n > 0)
		evidence_add(ev, (struct view){ buf, (size_t)n });
	else if (n == 0 || errno != EINTR)
		close_fd(fd);
}

/* True: no descendant is left. */
static bool reap(struct command *c)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == c->pid) {
			c->exited = true;
			c->status = status;
			c->ended = monotonic_ms();
		}
	}
	return pid < 0 && errno == ECHILD;
}

static void take_signals(struct command *c)
{
	struct signalfd_siginfo info;

	/* Only the supervisor stops it: a program that tries its hand at us is not believed. */
	while (read(c->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		c->stopped |= info.ssi_signo == SIGTERM && (pid_t)info.ssi_pid == getppid();
	(void)reap(c);
}

void command_step(struct command *c, struct pollfd *more, nfds_t n, int64_t until)
{
	struct pollfd p[3 + MORE_MAX] = { { .fd = c->signals, .events = POLLIN },
		{ .fd = c->out, .events = POLLIN }, { .fd = c->err, .events = POLLIN } };
	int64_t left = until - monotonic_ms();
	int ready;

	for (nfds_t i = 0; i < n; i++) {
		p[3 + i] = more[i];
		more[i].revents = 0;
	}
	ready = poll(p, 3 + n, left <= 0 ? 0 : left > 60000 ? 60000 : (int)left);
	if (ready <= 0)
		return;
	if (p[0].revents)
		take_signals(c);
	if (p[1].revents)
		take_output(c, &c->out, &c->said, SIZE_MAX);
	if (p[2].revents)
		take_output(c, &c->err, &c->complained, SIZE_MAX);
	for (nfds_t i = 0; i < n; i++)
		more[i].revents = p[3 + i].revents;
}

static void drain(const struct command *c, int *fd, struct evidence *ev)
{
	int n = 0;

	if (*fd >= 0 && ioctl(*fd, FIONREAD, &n) == 0 && n > 0) {
		uint64_t end = ev->total + (uint64_t)n;

		while (*fd >= 0 && ev->total < end)
			take_output(c, fd, ev, (size_t)(end - ev->total));
	}
}

void command_forget(struct command *c)
{
	memset(&c->said, 0, sizeof(c->said));
	memset(&c->complained, 0, sizeof(c->complained));
}

void command_drain(struct command *c)
{
	drain(c, &c->out, &c->said);
	drain(c, &c->err, &c->complained);
}

/* --- The end ---------------------------------------------------------------------------------- */

/* Until it has ended, or the time is over. */
static void wait_exit(struct command *c, int64_t ms)
{
	int64_t until = monotonic_ms() + ms;

	while (!c->exited && monotonic_ms() < until)
		command_step(c, NULL, 0, until);
}

void command_end(struct command *c)
{
	if (c->exited)
		return;
	(void)kill(-c->pid, SIGTERM);
	wait_exit(c, c->stopped ? STOPPED_MS : GRACE_MS);
	(void)kill(-c->pid, SIGKILL);
	wait_exit(c, STOPPED_MS);
}

bool command_leaves(struct command *c)
{
	int64_t until = monotonic_ms() + (c->stopped ? STOPPED_MS : DRAIN_MS);

	while ((c->out >= 0 || c->err >= 0) && monotonic_ms() < until)
		command_step(c, NULL, 0, until);
	/* Who closes his output by ending is gone a moment after it. */
	until = monotonic_ms() + (c->stopped ? 0 : LAST_MS);
	while (!reap(c)) {
		if (monotonic_ms() >= until)
			return true;
		command_step(c, NULL, 0, until);
	}
	return false;
}

/* --- What is told ----------------------------------------------------------------------------- */

static void say_after(int64_t ms, struct str *out)
{
	(void)str_addf(out, " after %lld.%02lld s", (long long)(ms / 1000),
		(long long)(ms % 1000 / 10));
}

void command_say_status(int status, int64_t ms, struct str *out)
{
	(void)str_addf(out, "exit status %d", status);
	say_after(ms, out);
	(void)str_addc(out, '\n');
}

bool command_succeeded(const struct command *c)
{
	return c->exited && !c->stopped && WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0;
}

void command_say_how(const struct command *c, int64_t timeout_s, struct str *out)
{
	if (timeout_s > 0)
		(void)str_addf(out, "timed out at %lld s and was ended", (long long)timeout_s);
	else if (c->stopped)
		(void)str_adds(out, "cancelled");
	else if (!c->exited)
		(void)str_adds(out, "killed");
	else if (WIFEXITED(c->status))
		(void)str_addf(out, "exit status %d", WEXITSTATUS(c->status));
	else
		(void)str_addf(out, "ended by signal %d (%s)", WTERMSIG(c->status),
			strsignal(WTERMSIG(c->status)));
	say_after((c->exited ? c->ended : monotonic_ms()) - c->began, out);
	if (timeout_s > 0 || c->stopped)
		(void)str_adds(out, "; what it has changed until then stays changed");
	(void)str_addc(out, '\n');
}

void command_say_output(const struct command *c, struct str *out)
{
	evidence_write(&c->said, "stdout", out);
	evidence_write(&c->complained, "stderr", out);
	if (c->said.total == 0 && c->complained.total == 0)
		(void)str_adds(out, "[no output]\n");
}
