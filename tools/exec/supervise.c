#include "tools/exec/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

int supervise_prepare(struct err *e)
{
	/* The lifeline tells of the daemon's end; dying with it would leave descendants behind. */
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(e, "subreaper");
	return 0;
}

int supervise_child(pid_t parent, struct err *e)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(e, "death signal");
	if (getppid() != parent)
		return err_set(e, E_CANCELLED, "the supervisor is gone");
	return 0;
}

/* KILL to every child of ours, those that fell to us too. A list too long for the buffer is for the
 * next round. */
static void kill_children(void)
{
	char path[64], buf[8192];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, buf, sizeof(buf));
	(void)close(fd);
	for (struct view v = { buf, n > 0 ? (size_t)n : 0 }; v.n > 0;) {
		struct view word = view_cut(v, view_find(v, ' '));
		unsigned long long pid;

		/* What the end of the buffer has cut is no pid of ours. */
		if (word.n < v.n && parse_u64(word, &pid) == 0 && pid > 1)
			(void)kill((pid_t)pid, SIGKILL);
		v = view_from(v, word.n + 1);
	}
}

/* Until nothing is left. What forks while it is being killed is met in the next round. */
static void sweep(pid_t child, bool reaped)
{
	for (;;) {
		pid_t pid;

		if (!reaped)
			(void)kill(child, SIGKILL);
		kill_children();
		pid = waitpid(-1, NULL, 0);
		if (pid == child)
			reaped = true;
		else if (pid < 0 && errno != EINTR)
			return;
	}
}

/* Drain what comes over the lifeline; true when it has ended. */
static bool lifeline_ended(int fd)
{
	char buf[512];
	ssize_t n = read(fd, buf, sizeof(buf));

	return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

/* True: the child has ended. */
static bool wait_child(int pidfd, int ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	while (poll(&p, 1, ms) < 0 && errno == EINTR)
		;
	return p.revents != 0;
}

/* Until the child ends, or the lifeline has ended and the grace is over. */
static void watch(pid_t child, int pidfd, int lifeline)
{
	for (;;) {
		struct pollfd p[2] = { { .fd = pidfd, .events = POLLIN },
			{ .fd = lifeline, .events = POLLIN } };

		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (p[0].revents != 0)
			return;
		if (p[1].revents != 0 && lifeline_ended(lifeline)) {
			(void)kill(child, SIGTERM);
			(void)wait_child(pidfd, SUPERVISE_GRACE_MS);
			return;
		}
	}
}

int supervise_run(pid_t child, int lifeline)
{
	int pidfd = pidfd_open(child, 0), status = 0, code = 128 + SIGTERM;
	bool reaped;

	if (pidfd >= 0)
		watch(child, pidfd, lifeline);
	reaped = waitpid(child, &status, WNOHANG) == child;
	if (reaped)
		code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	sweep(child, reaped);
	if (pidfd >= 0)
		(void)close(pidfd);
	return code;
}
