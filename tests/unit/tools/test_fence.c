/* Parts of the fence that this machine's other layers would hide: the filter for programs as it is
 * with less behind it, and the removal of what programs have left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/exec/cgroup.h"
#include "tools/exec/fence-private.h"
#include "tools/exec/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- The filter ------------------------------------------------------------------------------- */

static pid_t above, victim;
static char own[] = "/tmp/kairo-own-XXXXXX"; /* a file of ours */

static long try_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long try_inet(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static long try_routes(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

static long try_devices(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
}

static long try_packet(void)
{
	return socket(AF_PACKET, SOCK_RAW, 0);
}

/* The kernel takes the lower half for the family. */
static long try_inet_high(void)
{
	return syscall(SYS_socket, (1L << 32) + AF_INET, SOCK_DGRAM, 0);
}

static long try_pair(void)
{
	int fds[2];

	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
}

static long try_loose_pair(void)
{
	int fds[2];

	return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds);
}

static long try_signal_above(void)
{
	return kill(above, 0);
}

static long try_signal_group_above(void)
{
	return syscall(SYS_kill, (long)(uint32_t)-above, 0);
}

static long try_signal_all(void)
{
	return kill(-1, 0);
}

static long try_signal_other(void)
{
	return kill(victim, 0);
}

static long try_limits_of_other(void)
{
	return prlimit(victim, RLIMIT_NOFILE, NULL, &(struct rlimit){ 0, 0 });
}

static long try_own_limits(void)
{
	return getrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 });
}

static long try_chmod(void)
{
	return chmod(own, 0600);
}

static long try_fchmodat2(void)
{
	return syscall(452, AT_FDCWD, own, 0600, 0);
}

static long try_utime(void)
{
	return utimensat(AT_FDCWD, own, NULL, 0);
}

static long try_setuid(void)
{
	return chmod(own, 04700);
}

static long try_setgid_by_descriptor(void)
{
	int fd = open(own, O_RDONLY | O_CLOEXEC);
	long rc = fchmod(fd, 02700);
	int error = errno;

	(void)close(fd);
	errno = error;
	return rc;
}

static long try_cut(void)
{
	return truncate(own, 0);
}

static long opens(int flags)
{
	int fd = open(own, flags | O_CLOEXEC);

	return fd < 0 ? -1 : close(fd);
}

static long try_cut_by_reading(void)
{
	return opens(O_RDONLY | O_TRUNC);
}

static long try_cut_by_neither(void)
{
	return opens(O_ACCMODE | O_TRUNC);
}

static long try_cut_by_writing(void)
{
	return opens(O_WRONLY | O_TRUNC);
}

static long try_openat2(void)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, own, &how, sizeof(how));

	return fd < 0 ? -1 : close(fd);
}

static long try_owner_of_descriptor(void)
{
	return fcntl(0, F_SETOWN, victim);
}

static long try_owner_of_descriptor_ex(void)
{
	const struct f_owner_ex to = { F_OWNER_PID, victim };

	return fcntl(0, F_SETOWN_EX, &to);
}

static long try_owner_by_ioctl(void)
{
	int fds[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	rc = ioctl(fds[0], FIOSETOWN, &victim);
	return rc;
}

static long try_processors_of_other(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0
	               ? -1
	               : sched_setaffinity(victim, sizeof(set), &set);
}

static long try_own_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0
	               ? -1
	               : sched_setaffinity(0, sizeof(set), &set);
}

static long try_turn_of_other(void)
{
	return setpriority(PRIO_PROCESS, (id_t)victim, 19);
}

static long try_turn_of_user(void)
{
	return setpriority(PRIO_USER, getuid(), getpriority(PRIO_PROCESS, 0));
}

static long try_own_turn(void)
{
	return setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0));
}

static long try_disk_of_other(void)
{
	return syscall(SYS_ioprio_set, 1, victim, 3 << 13);
}

static long try_disk_of_user(void)
{
	return syscall(SYS_ioprio_set, 3, getuid(), 0);
}

static long try_own_disk(void)
{
	return syscall(SYS_ioprio_set, 1, 0, 0);
}

static long try_shared_memory(void)
{
	int id = shmget(IPC_PRIVATE, 1, 0600);

	return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static long try_semaphores(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600);

	return id < 0 ? -1 : semctl(id, 0, IPC_RMID);
}

static long try_messages(void)
{
	int id = msgget(IPC_PRIVATE, 0600);

	return id < 0 ? -1 : msgctl(id, IPC_RMID, NULL);
}

static long try_watching(void)
{
	return inotify_init1(0);
}

static long try_attributes(void)
{
	return listxattr(own, NULL, 0);
}

static long try_queue(void)
{
	char name[32];
	long fd;

	(void)snprintf(name, sizeof(name), "kairo-%d", (int)getpid());
	fd = syscall(SYS_mq_open, name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
	if (fd < 0)
		return -1;
	(void)close((int)fd);
	return syscall(SYS_mq_unlink, name);
}

static long try_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long try_unshare(void)
{
	return unshare(CLONE_FS | CLONE_NEWUSER);
}

static long try_clone3(void)
{
	return syscall(SYS_clone3, NULL, 0);
}

static long try_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long try_personality(void)
{
	return syscall(SYS_personality, 0x0040000);
}

static long try_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : waitpid(pid, NULL, 0);
}

/* The filter leaves it alone; a kernel may be too old for it. */
enum { FREE = 0 };

struct expectation {
	const char *name;
	long (*attempt)(void);
	int bare, inside, network; /* the errno, or FREE */
	int since; /* this version of Landlock sees to it, so that the filter need not; 0: none */
};

static const struct expectation expectations[] = {
	{ "unix", try_socket, EPERM, FREE, EPERM, 0 },
	{ "inet", try_inet, EPERM, EPERM, FREE, 0 },
	{ "inet, upper half", try_inet_high, EPERM, EPERM, EPERM, 0 },
	{ "netlink, routes", try_routes, EPERM, EPERM, FREE, 0 },
	{ "netlink, devices", try_devices, EPERM, EPERM, EPERM, 0 },
	{ "packet", try_packet, EPERM, EPERM, EPERM, 0 },
	{ "pair", try_pair, FREE, FREE, FREE, 0 },
	{ "loose pair", try_loose_pair, EPERM, FREE, EPERM, 0 },
	{ "signal above", try_signal_above, EPERM, FREE, FREE, 6 },
	{ "signal to the group above", try_signal_group_above, EPERM, FREE, FREE, 6 },
	{ "signal to all", try_signal_all, EPERM, FREE, FREE, 6 },
	{ "signals of a descriptor", try_owner_of_descriptor, EPERM, FREE, FREE, 6 },
	{ "the same, extended", try_owner_of_descriptor_ex, EPERM, FREE, FREE, 6 },
	{ "the same by ioctl", try_owner_by_ioctl, EPERM, FREE, FREE, 6 },
	{ "signal to another", try_signal_other, FREE, FREE, FREE, 0 },
	{ "limits of another", try_limits_of_other, EPERM, EPERM, EPERM, 0 },
	{ "own limits", try_own_limits, FREE, FREE, FREE, 0 },
	{ "chmod", try_chmod, EPERM, FREE, FREE, 0 },
	{ "fchmodat2", try_fchmodat2, EPERM, FREE, FREE, 0 },
	{ "utime", try_utime, EPERM, FREE, FREE, 0 },
	{ "setuid", try_setuid, EPERM, EPERM, EPERM, 0 },
	{ "setgid", try_setgid_by_descriptor, EPERM, EPERM, EPERM, 0 },
	{ "cut", try_cut, EPERM, FREE, FREE, 3 },
	{ "cut by opening to read", try_cut_by_reading, EPERM, FREE, FREE, 3 },
	{ "cut by opening for neither", try_cut_by_neither, EPERM, FREE, FREE, 3 },
	{ "cut by opening to write", try_cut_by_writing, FREE, FREE, FREE, 0 },
	{ "openat2", try_openat2, ENOSYS, FREE, FREE, 3 },
	{ "processors of another", try_processors_of_other, EPERM, FREE, FREE, 0 },
	{ "own processors", try_own_processors, FREE, FREE, FREE, 0 },
	{ "turn of another", try_turn_of_other, EPERM, FREE, FREE, 0 },
	{ "turn of a user", try_turn_of_user, EPERM, FREE, FREE, 0 },
	{ "own turn", try_own_turn, FREE, FREE, FREE, 0 },
	{ "another's turn at the disk", try_disk_of_other, EPERM, FREE, FREE, 0 },
	{ "a user's turn at the disk", try_disk_of_user, EPERM, FREE, FREE, 0 },
	{ "own turn at the disk", try_own_disk, FREE, FREE, FREE, 0 },
	{ "shared memory", try_shared_memory, EPERM, FREE, FREE, 0 },
	{ "semaphores", try_semaphores, EPERM, FREE, FREE, 0 },
	{ "messages", try_messages, EPERM, FREE, FREE, 0 },
	{ "a queue with a name", try_queue, EPERM, FREE, FREE, 0 },
	{ "watching files", try_watching, ENOSYS, FREE, FREE, 0 },
	{ "attributes by a path", try_attributes, EOPNOTSUPP, FREE, FREE, 0 },
	{ "ptrace", try_ptrace, EPERM, EPERM, EPERM, 0 },
	{ "unshare", try_unshare, EPERM, EPERM, EPERM, 0 },
	{ "clone3", try_clone3, ENOSYS, ENOSYS, ENOSYS, 0 },
	{ "io_uring", try_io_uring, ENOSYS, ENOSYS, ENOSYS, 0 },
	{ "personality", try_personality, EPERM, EPERM, EPERM, 0 },
	{ "fork", try_fork, FREE, FREE, FREE, 0 },
};

static int expected(const struct expectation *x, const struct fence_plan *plan, int landlock)
{
	if (plan->namespaces)
		return plan->network ? x->network : x->inside;
	return x->since > 0 && landlock >= x->since ? FREE : x->bare;
}

/* In a child: the number of the first expectation that is not met, from 1; 0: all are. */
static int child(const struct fence_plan *plan, int landlock)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || !seccomp_enter(plan, landlock))
		return 200;
	for (size_t i = 0; i < COUNT(expectations); i++) {
		const struct expectation *x = &expectations[i];
		int error = expected(x, plan, landlock);
		long rc;

		errno = 0;
		rc = x->attempt();
		if (error != FREE ? rc >= 0 || errno != error : rc < 0 && errno != ENOSYS)
			return (int)i + 1;
	}
	return 0;
}

static void filter(const struct fence_plan *plan, int landlock)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child(plan, landlock));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 200) {
		print_message("skipped: the kernel takes no filter\n");
		skip();
	}
	if (WEXITSTATUS(status) != 0)
		fail_msg("namespaces %d, network %d, Landlock %d: %s", plan->namespaces,
			plan->network, landlock, expectations[WEXITSTATUS(status) - 1].name);
}

/* Whatever Landlock would do is not done here. */
static void the_filter_for_programs_holds_where_landlock_does_not(void **state)
{
	static struct roots none;
	static const int versions[] = { 0, 2, 3, 5, 6 };
	struct fence_plan plan = { .roots = &none, .kind = FENCE_PROGRAMS };

	(void)state;
	above = getpid();
	assert_int_equal(0, close(mkstemp(own)));
	victim = fork();
	if (victim == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)setsid();
		(void)pause();
		_exit(0);
	}
	assert_int_equal(0, setpgid(0, 0) < 0 && errno != EPERM); /* so that -above is a group */
	plan.above[0] = above;
	for (size_t i = 0; i < COUNT(versions); i++)
		filter(&plan, versions[i]);
	plan.namespaces = true;
	filter(&plan, 0);
	plan.network = true;
	filter(&plan, 0);
	assert_int_equal(0, kill(victim, SIGKILL));
	assert_int_equal(victim, waitpid(victim, NULL, 0));
	assert_int_equal(0, unlink(own));
}

/* --- The control group ------------------------------------------------------------------------ */

static void a_control_group_is_killed_whole(void **state)
{
	struct cgroup g;
	char byte;
	int up[2], above_fd;
	pid_t pid;

	(void)state;
	cgroup_make(&g, 10);
	if (!g.made) {
		print_message("skipped: our control group is not ours to divide\n");
		skip();
	}
	assert_int_equal(0, prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	assert_int_equal(0, pipe(up));
	pid = fork();
	if (pid == 0) {
		cgroup_enter(&g);
		if (fork() == 0)
			(void)setsid();
		(void)!write(up[1], "x", 1);
		(void)pause();
		_exit(0);
	}
	(void)close(up[1]);
	assert_int_equal(1, read(up[0], &byte, 1));
	assert_int_equal(1, read(up[0], &byte, 1));
	cgroup_kill(&g);
	assert_int_equal(0, read(up[0], &byte, 1)); /* both ends are gone */
	while (waitpid(-1, NULL, 0) > 0)
		;
	(void)close(up[0]);
	above_fd = dup(g.above);
	cgroup_remove(&g);
	assert_false(g.made);
	assert_int_equal(-1, faccessat(above_fd, g.name, F_OK, 0));
	(void)close(above_fd);
	cgroup_kill(&g);
	cgroup_remove(&g);
}

/* --- Temporary files -------------------------------------------------------------------------- */

static void make(const char *dir, const char *name)
{
	char path[PATH_SIZE];
	struct err e = ERR_INIT;

	assert_int_equal(0, path_join(path, dir, name, &e));
	assert_int_equal(0, file_replace(path, 0600, VIEW("x"), &e));
}

/* Deeper than a path can name and a process can hold open; in each a file and a second folder. */
static void make_deep(const char *path, int depth)
{
	int at = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < depth; i++) {
		int next;

		assert_int_equal(0, mkdirat(at, "deep", 0700));
		assert_int_equal(0, mkdirat(at, "beside", 0500));
		assert_int_equal(0, close(openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0)));
		next = openat(at, "deep", O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(0, close(at));
		at = next;
	}
	assert_int_equal(0, close(at));
}

static void what_programs_leave_is_removed_and_no_link_followed(void **state)
{
	char outside[] = "/tmp/kairo-outside-XXXXXX", path[SCRATCH_SIZE], inner[PATH_SIZE];
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(outside));
	make(outside, "kept");
	assert_int_equal(0, scratch_make(path, true, &e));
	assert_int_not_equal(0, strcmp(path, SCRATCH_SHARED));
	make(path, "file");
	assert_int_equal(0, path_join(inner, path, "link", &e));
	assert_int_equal(0, symlink(outside, inner));
	assert_int_equal(0, path_join(inner, path, "dangling", &e));
	assert_int_equal(0, symlink("/no/such", inner));
	assert_int_equal(0, path_join(inner, path, "pipe", &e));
	assert_int_equal(0, mkfifo(inner, 0600));
	assert_int_equal(0, path_join(inner, path, "shut", &e));
	assert_int_equal(0, mkdir(inner, 0700));
	make(inner, "file");
	assert_int_equal(0, chmod(inner, 0));
	assert_int_equal(0, path_join(inner, path, "only read", &e));
	assert_int_equal(0, mkdir(inner, 0700));
	make(inner, "file");
	assert_int_equal(0, chmod(inner, 0400));
	make_deep(path, 3000);
	make(path, "moved-1");
	scratch_remove(path);
	assert_false(file_exists(path));
	assert_int_equal(0, path_join(inner, outside, "kept", &e));
	assert_true(file_exists(inner));
	assert_int_equal(0, unlink(inner));
	assert_int_equal(0, rmdir(outside));
}

static void the_shared_folder_stays(void **state)
{
	char path[SCRATCH_SIZE];
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(0, scratch_make(path, false, &e));
	assert_string_equal(SCRATCH_SHARED, path);
	scratch_remove(path);
	assert_true(file_exists(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_filter_for_programs_holds_where_landlock_does_not),
		cmocka_unit_test(a_control_group_is_killed_whole),
		cmocka_unit_test(what_programs_leave_is_removed_and_no_link_followed),
		cmocka_unit_test(the_shared_folder_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
