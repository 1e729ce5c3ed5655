#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FDS_MAX      8
#define CHILD_FD_MAX 63 /* numbers a child may be given */

struct proc {
	struct loop *loop;
	pid_t pid; /* leads the session and the group of the same number */
	int pidfd; /* -1: reaped */
	struct watch *ended;
	struct timer *grace;
	proc_exit_cb *cb;
	void *arg;
};

/* What went wrong in the child, told through the same socket that told it to go on. */
enum step { STEP_SETUP, STEP_FD, STEP_CWD, STEP_EXEC };

struct trouble {
	enum step step;
	int error;
};

/* --- In the child: only async-signal-safe calls from here ------------------------------------- */

static void fail_child(int sock, enum step step) __attribute__((noreturn));

static void fail_child(int sock, enum step step)
{
	struct trouble t = { .step = step, .error = errno };

	(void)send(sock, &t, sizeof(t), MSG_NOSIGNAL);
	_exit(127);
}

static void default_signals(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };

	for (int i = 1; i < _NSIG; i++)
		(void)sigaction(i, &sa, NULL); /* KILL, STOP and libc's own refuse */
}

/* Every descriptor from 3 up closes at exec; those for the child are made anew afterwards. */
static int close_at_exec(int highest)
{
	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	for (int fd = 3; fd < highest; fd++) {
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 && errno != EBADF)
			return -1;
	}
	return 0;
}

/* Put the descriptors in their places. All are first lifted above every place, so that none is
 * overwritten before it has been moved. */
static int place_fds(const struct proc_spec *spec)
{
	int lifted[FDS_MAX];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	null = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, CHILD_FD_MAX + 1);
	if (null < 0)
		return -1;
	for (int i = 0; i < spec->nfds; i++) {
		int from = spec->fds[i].parent;

		lifted[i] = from < 0 ? null : fcntl(from, F_DUPFD_CLOEXEC, CHILD_FD_MAX + 1);
		if (lifted[i] < 0)
			return -1;
	}
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (dup2(null, fd) < 0)
			return -1;
	}
	for (int i = 0; i < spec->nfds; i++) {
		if (dup2(lifted[i], spec->fds[i].child) < 0)
			return -1;
	}
	return 0;
}

/* execve promises not to change them; its prototype is older than const. */
static char *const *vector(const char *const *v)
{
	union {
		const char *const *in;
		char *const *out;
	} u = { .in = v };

	return u.out;
}

static void run_child(const struct proc_spec *spec, int sock, pid_t parent, int highest)
	__attribute__((noreturn));

static void run_child(const struct proc_spec *spec, int sock, pid_t parent, int highest)
{
	static const struct rlimit no_core = { 0, 0 };
	sigset_t none;
	char go;
	int high;

	/* Not before the parent holds us by a pidfd and will hear of our end. */
	if (recv(sock, &go, 1, 0) != 1)
		_exit(127);
	default_signals();
	/* A session of its own: no terminal to ask for passwords on, and a group nobody can leave
	 * us out of. The death signal is set first and the parent looked at afterwards. */
	if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
		setrlimit(RLIMIT_CORE, &no_core) < 0)
		fail_child(sock, STEP_SETUP);
	if (getppid() != parent)
		_exit(127);
	/* Above the places of the child's descriptors. */
	high = fcntl(sock, F_DUPFD_CLOEXEC, CHILD_FD_MAX + 1);
	if (high < 0)
		fail_child(sock, STEP_FD);
	if (close_at_exec(highest) < 0 || place_fds(spec) < 0)
		fail_child(high, STEP_FD);
	if (chdir(spec->cwd ? spec->cwd : "/") < 0)
		fail_child(high, STEP_CWD);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execve(spec->path, vector(spec->argv), vector(spec->env));
	fail_child(high, STEP_EXEC);
}

/* --- In the parent ---------------------------------------------------------------------------- */

static int check_spec(const struct proc_spec *spec, struct err *e)
{
	unsigned long long taken = 0;

	if (!spec->path || spec->path[0] != '/')
		return err_set(e, E_FORMAT, "%s: a program is run by its absolute path",
			spec->path ? spec->path : "(none)");
	if (spec->nfds < 0 || spec->nfds > FDS_MAX)
		return err_set(e, E_FORMAT, "a child gets at most %d descriptors", FDS_MAX);
	for (int i = 0; i < spec->nfds; i++) {
		int fd = spec->fds[i].child;

		if (fd < 0 || fd > CHILD_FD_MAX || (taken & (1ULL << fd)) != 0)
			return err_set(e, E_FORMAT, "descriptor %d of a child is taken or too high",
				fd);
		taken |= 1ULL << fd;
	}
	return 0;
}

static int nofile_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur > 65536)
		return 65536;
	return (int)r.rlim_cur;
}

/* No handler of ours may run in the child before it has been reset there. */
static pid_t fork_child(const struct proc_spec *spec, const int sock[2])
{
	int highest = nofile_limit();
	pid_t parent = getpid();
	sigset_t all, old;
	pid_t pid;
	int saved;

	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &old);
	pid = fork();
	if (pid == 0) {
		close(sock[0]);
		run_child(spec, sock[1], parent, highest);
	}
	saved = errno;
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return pid;
}

static void kill_group(const struct proc *p, int signo)
{
	/* The leader is not reaped yet, so the number is still its own. */
	if (p->pidfd >= 0)
		(void)kill(-p->pid, signo);
}

/* Wait for the leader, which has ended or will at once, and let go of it. */
static void reap(struct proc *p, siginfo_t *info)
{
	memset(info, 0, sizeof(*info));
	while (waitid(P_PIDFD, (id_t)p->pidfd, info, WEXITED) < 0 && errno == EINTR)
		;
	watch_free(&p->ended);
	timer_disarm(p->grace);
	close(p->pidfd);
	p->pidfd = -1;
}

static void on_ended(void *arg, int fd, int what)
{
	struct proc *p = arg;
	siginfo_t info;

	(void)fd;
	(void)what;
	/* Whatever is left of its group goes with it, while the number cannot mean anybody else. */
	kill_group(p, SIGKILL);
	reap(p, &info);
	if (info.si_code == CLD_EXITED)
		p->cb(p->arg, info.si_status, 0);
	else
		p->cb(p->arg, -1, info.si_status);
}

static void on_grace_over(void *arg)
{
	kill_group(arg, SIGKILL);
}

static int report(const struct proc_spec *spec, const struct trouble *t, struct err *e)
{
	errno = t->error;
	switch (t->step) {
	case STEP_FD: return err_sys(e, "cannot hand descriptors to %s", spec->path);
	case STEP_CWD: return err_sys(e, "cannot run %s in %s", spec->path, spec->cwd);
	case STEP_EXEC: return err_sys(e, "cannot run %s", spec->path);
	case STEP_SETUP:
	default: return err_sys(e, "cannot set up a process for %s", spec->path);
	}
}

/* Say go, and hear whether the program runs: its socket closes at exec. */
static int hear_of_exec(int sock, const struct proc_spec *spec, struct err *e)
{
	struct trouble t;
	ssize_t n;

	if (send(sock, "", 1, MSG_NOSIGNAL) != 1)
		return err_sys(e, "cannot start %s", spec->path);
	do
		n = recv(sock, &t, sizeof(t), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, "cannot tell whether %s runs", spec->path);
	return n == (ssize_t)sizeof(t) ? report(spec, &t, e) : 0;
}

static int start(struct proc *p, const struct proc_spec *spec, const int sock[2], struct err *e)
{
	p->pid = fork_child(spec, sock);
	if (p->pid < 0)
		return err_sys(e, "cannot make a process for %s", spec->path);
	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd < 0) {
		err_sys(e, "cannot hold the process of %s", spec->path);
		/* It waits for our word in vain, so nothing has been run. */
		(void)kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
		return -1;
	}
	return watch_new(&p->ended, p->loop, p->pidfd, WATCH_READ, on_ended, p, e);
}

int proc_spawn(struct proc **out, struct loop *l, const struct proc_spec *spec, proc_exit_cb *cb,
	void *arg, struct err *e)
{
	int sock[2] = { -1, -1 };
	struct proc *p;
	int rc = -1;

	*out = NULL;
	if (check_spec(spec, e) < 0)
		return -1;
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(e, E_NOMEM, "no memory to run %s", spec->path);
	*p = (struct proc){ .loop = l, .pidfd = -1, .cb = cb, .arg = arg };
	if (timer_new(&p->grace, l, on_grace_over, p, e) < 0)
		goto out;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0) {
		err_sys(e, "cannot make a socket to run %s", spec->path);
		goto out;
	}
	rc = start(p, spec, sock, e);
	close(sock[1]);
	if (rc == 0)
		rc = hear_of_exec(sock[0], spec, e);
	close(sock[0]);
out:
	if (rc < 0)
		proc_free(&p);
	*out = p;
	return rc;
}

pid_t proc_pid(const struct proc *p)
{
	return p->pid;
}

void proc_stop(struct proc *p, int64_t grace_ms)
{
	if (p->pidfd < 0)
		return;
	if (grace_ms <= 0) {
		kill_group(p, SIGKILL);
		return;
	}
	kill_group(p, SIGTERM);
	kill_group(p, SIGCONT); /* a stopped process would not hear of it */
	if (!timer_armed(p->grace) || timer_left(p->grace) > grace_ms)
		timer_arm(p->grace, grace_ms);
}

void proc_wait(const struct proc *p, int64_t ms)
{
	struct pollfd ended = { .fd = p->pidfd, .events = POLLIN };

	/* Interrupted early it has waited less: no harm. */
	if (p->pidfd >= 0)
		(void)poll(&ended, 1, (int)ms);
}

void proc_free(struct proc **pp)
{
	struct proc *p = *pp;
	siginfo_t info;

	*pp = NULL;
	if (!p)
		return;
	if (p->pidfd >= 0) {
		/* By its own handle too: the group may not have been made yet. */
		(void)pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
		kill_group(p, SIGKILL);
		reap(p, &info);
	}
	timer_free(&p->grace);
	free(p);
}

int proc_pipe(int fd[2], int nonblock_end, struct err *e)
{
	if (pipe2(fd, O_CLOEXEC) < 0) {
		fd[0] = fd[1] = -1;
		return err_sys(e, "cannot make a pipe");
	}
	if (nonblock_end >= 0 && fcntl(fd[nonblock_end], F_SETFL, O_NONBLOCK) < 0) {
		err_sys(e, "cannot set up a pipe");
		close(fd[0]);
		close(fd[1]);
		fd[0] = fd[1] = -1;
		return -1;
	}
	return 0;
}
