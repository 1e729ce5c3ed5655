#include "tools/exec/supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#define CROWD_MS 20 /* how often processes are counted */

void supervise_first(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0)
		(void)setpriority(PRIO_PROCESS, 0, -20);
}

void supervise_expendable(void)
{
	int was = prctl(PR_GET_DUMPABLE), fd;

	/* What cannot be dumped has its folder in /proc for root alone. */
	(void)prctl(PR_SET_DUMPABLE, 1);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		(void)close(fd);
	}
	(void)prctl(PR_SET_DUMPABLE, was == 1);
}

/* As everybody, and no way back: it has no privilege, and no limit allows it. */
static void supervise_last(void)
{
	const struct sched_param other = { .sched_priority = 0 };
	const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_RTPRIO, &none);
	(void)setrlimit(RLIMIT_NICE, &none);
	if (sched_getscheduler(0) == SCHED_FIFO)
		(void)sched_setscheduler(0, SCHED_OTHER, &other);
	if (getpriority(PRIO_PROCESS, 0) < 0)
		(void)setpriority(PRIO_PROCESS, 0, 0);
}

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
	supervise_last();
	supervise_expendable();
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

/* Until nothing is left. What forks while it is being killed is met in the next round; a namespace
 * is killed at one stroke, all but its first process and us, and so is a control group. */
static void sweep(const struct supervise *s, bool reaped)
{
	for (;;) {
		pid_t pid;

		if (s->inside)
			(void)kill(-1, SIGKILL);
		cgroup_kill(&s->group);
		if (!reaped)
			(void)kill(s->child, SIGKILL);
		kill_children();
		pid = waitpid(-1, NULL, 0);
		if (pid == s->child)
			reaped = true;
		else if (pid < 0 && errno != EINTR)
			return;
	}
}

/* More processes in our namespace than there may be? Root is held to no limit by the kernel. */
static bool overcrowded(const struct supervise *s)
{
	DIR *proc = s->processes > 0 ? opendir("/proc") : NULL;
	int n = 0;

	if (!proc)
		return false;
	for (const struct dirent *d; (d = readdir(proc));)
		n += d->d_name[0] >= '1' && d->d_name[0] <= '9';
	(void)closedir(proc);
	return n > s->processes;
}

/* True: the child has ended. */
static bool wait_child(int pidfd, int ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	while (poll(&p, 1, ms) < 0 && errno == EINTR)
		;
	return p.revents != 0;
}

/* Until the child ends, there are too many, or the lifeline has ended and the grace is over. */
static void watch(struct supervise *s, int pidfd)
{
	while (!s->overcrowded) {
		struct pollfd p[2] = { { .fd = pidfd, .events = POLLIN },
			{ .fd = s->lifeline } }; /* its end; what comes over it is the child's */
		int n = poll(p, 2, s->processes > 0 ? CROWD_MS : -1);

		if (n < 0 && errno != EINTR)
			return;
		if (n > 0 && p[0].revents != 0)
			return;
		if (n > 0 && p[1].revents != 0) {
			(void)kill(s->child, SIGTERM);
			(void)wait_child(pidfd, SUPERVISE_GRACE_MS);
			return;
		}
		s->overcrowded = overcrowded(s);
	}
}

int supervise_run(struct supervise *s)
{
	int pidfd = pidfd_open(s->child, 0), status = 0, code = 128 + SIGTERM;
	bool reaped;

	if (pidfd >= 0)
		watch(s, pidfd);
	reaped = waitpid(s->child, &status, WNOHANG) == s->child;
	if (reaped)
		code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	sweep(s, reaped);
	cgroup_remove(&s->group);
	if (pidfd >= 0)
		(void)close(pidfd);
	return code;
}
