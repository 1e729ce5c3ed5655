/* Puts itself behind the fence that file tools have, then tries to get out. Arguments: the
 * workspace and a folder outside it that holds a file "secret". Prints one line for each way out
 * that was open. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/exec/fence.h"

static int open_ways;

static long map_executable(void)
{
	/* cppcheck-suppress invalidFunctionArg ; -1 is what an anonymous mapping wants */
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -1 : munmap(p, 4096);
}

static void must_fail(const char *what, long rc)
{
	if (rc < 0)
		return;
	open_ways++;
	(void)dprintf(1, "open: %s\n", what);
}

static void must_work(const char *what, long rc)
{
	if (rc >= 0)
		return;
	open_ways++;
	(void)dprintf(1, "shut: %s: errno %d\n", what, errno);
}

static void try_files(const char *secret, const char *outside)
{
	char path[PATH_SIZE];

	must_fail("read a file outside", open(secret, O_RDONLY | O_CLOEXEC));
	must_fail("write a file outside", open(secret, O_WRONLY | O_CLOEXEC));
	must_fail("cut a file outside by open", open(secret, O_WRONLY | O_TRUNC | O_CLOEXEC));
	must_fail("list a folder outside", open(outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	must_fail("cut a file outside", truncate(secret, 0));
	must_fail("chmod outside", chmod(secret, 0777));
	must_fail("fchmodat outside", fchmodat(AT_FDCWD, secret, 0777, 0));
	must_fail("chown outside", chown(secret, 0, 0));
	must_fail("utimes outside", utimes(secret, NULL));
	must_fail("setxattr outside", setxattr(secret, "user.x", "y", 1, 0));
	must_fail("remove outside", unlinkat(AT_FDCWD, secret, 0));
	must_fail("link outside in", link(secret, "in-link"));
	must_fail("link inside out", symlink(secret, "in-symlink"));
	must_fail("move outside in", renameat(AT_FDCWD, secret, AT_FDCWD, "moved"));
	(void)snprintf(path, sizeof(path), "%.3000s/new", outside);
	must_fail("create outside", open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	must_fail("make a folder outside", mkdirat(AT_FDCWD, path, 0700));
	must_fail("make a device", mknod("dev", S_IFCHR | 0600, 0));
	must_fail("make a pipe", mkfifo("fifo", 0600));
	must_fail("read /etc", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	must_fail("read the parent's environment",
		open("/proc/self/environ", O_RDONLY | O_CLOEXEC));
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	must_fail("read another process", open(path, O_RDONLY | O_CLOEXEC));
	(void)snprintf(path, sizeof(path), "/proc/self/root%.3000s", secret);
	must_fail("read by /proc/self/root", open(path, O_RDONLY | O_CLOEXEC));
	must_fail("chdir", chdir("/"));
	must_fail("chroot", chroot("."));
}

static void try_the_rest(pid_t parent)
{
	char *const argv[] = { NULL };

	must_fail("a socket of the network", socket(AF_INET, SOCK_STREAM, 0));
	must_fail("a socket of another kind", socket(AF_UNIX, SOCK_STREAM, 0));
	must_fail("a netlink socket", socket(AF_NETLINK, SOCK_RAW, 0));
	must_fail("a signal to the parent", kill(parent, 0));
	must_fail("a signal to all", kill(-1, 0));
	must_fail("ptrace", ptrace(PTRACE_ATTACH, parent, NULL, NULL));
	must_fail("a new process", fork());
	must_fail("a new program", execve("/bin/true", argv, argv));
	must_fail("a new namespace", unshare(0x10000000));
	must_fail("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
	must_fail("bpf", syscall(SYS_bpf, 0, NULL, 0));
	must_fail("memory of another process",
		syscall(SYS_process_vm_readv, parent, NULL, 0, NULL, 0, 0));
	must_fail("a key", syscall(SYS_add_key, "user", "k", "v", 1, -2));
	must_fail("a memory file", syscall(SYS_memfd_create, "x", 0));
	must_fail("executable memory", map_executable());
	must_fail("raised limits", syscall(SYS_prlimit64, 0, 7, NULL, NULL));
}

static void try_inside(const struct roots *roots)
{
	int dir = roots->list[0].fd, fd = openat(dir, "made", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	must_work("create inside", fd);
	must_work("write inside", write(fd, "x", 1));
	must_work("chmod inside", fchmod(fd, 0644));
	must_work("rename inside", renameat(dir, "made", dir, "made2"));
	must_work("remove inside", unlinkat(dir, "made2", 0));
	must_work("folder inside", mkdirat(dir, "folder", 0700));
	must_work("remove a folder inside", unlinkat(dir, "folder", AT_REMOVEDIR));
}

int main(int argc, char **argv)
{
	static struct roots roots;
	struct fence fence;
	struct err e = ERR_INIT;
	char secret[PATH_SIZE];
	pid_t parent = getppid();
	const struct fence_plan plan = { .roots = &roots, .required = true };

	if (argc != 3)
		return 2;
	(void)snprintf(secret, sizeof(secret), "%.3000s/secret", argv[2]);
	fence_process();
	if (roots_add(&roots, view_of(argv[1]), true, &e) < 0 ||
		fence_enter(&plan, &fence, &e) < 0) {
		(void)dprintf(1, "%s\n", e.msg);
		return e.code == E_UNSUPPORTED ? 77 : 1;
	}
	if (!fence.seccomp)
		return 77;
	try_inside(&roots);
	try_files(secret, argv[2]);
	try_the_rest(parent);
	return open_ways > 0;
}
