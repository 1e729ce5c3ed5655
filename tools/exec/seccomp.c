#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/exec/fence-private.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Newer than the library's table; the number is the same everywhere. */
#define FCHMODAT2     452
#define STATMOUNT     457
#define LISTMOUNT     458
#define SETXATTRAT    463
#define GETXATTRAT    464
#define LISTXATTRAT   465
#define REMOVEXATTRAT 466
#define FILE_SETATTR  469

/* --- Our own code: whatever is not named fails with EPERM ------------------------------------ */

static const int file_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(readv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstatat64),
	SCMP_SYS(statx),
	SCMP_SYS(getdents64),
	SCMP_SYS(mkdirat),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(unlinkat),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchown),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(fadvise64),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(futex),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static int fill_files(scmp_filter_ctx ctx)
{
	/* Memory may be had, but none that can be executed. */
	const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, 4, 0);
	const struct scmp_arg_cmp get_fd = SCMP_A1(SCMP_CMP_LT, 5, 0);    /* F_DUPFD..F_SETFL */
	const struct scmp_arg_cmp dup_fd = SCMP_A1(SCMP_CMP_EQ, 1030, 0); /* F_DUPFD_CLOEXEC */
	/* abort() of our own process is all the signals there are. */
	const struct scmp_arg_cmp own = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0);
	int rc = 0;

	for (size_t i = 0; i < sizeof(file_calls) / sizeof(file_calls[0]); i++)
		rc |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, file_calls[i], 0);
	rc |= seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, &no_exec);
	rc |= seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, &no_exec);
	rc |= seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, &get_fd);
	rc |= seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, &dup_fd);
	rc |= seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, &own);
	return rc;
}

/* --- Programs: whatever is named fails ------------------------------------------------------- */

/* With EPERM: other processes, keys, mounts, the kernel itself, and what has often been a way past
 * a sandbox. */
static const int denied[] = {
	SCMP_SYS(acct),
	SCMP_SYS(add_key),
	SCMP_SYS(adjtimex),
	SCMP_SYS(bpf),
	SCMP_SYS(chroot),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(clock_settime),
	SCMP_SYS(delete_module),
	SCMP_SYS(fanotify_init),
	SCMP_SYS(finit_module),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fsopen),
	SCMP_SYS(fspick),
	SCMP_SYS(init_module),
	SCMP_SYS(ioperm),
	SCMP_SYS(iopl),
	SCMP_SYS(kcmp),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(kexec_load),
	SCMP_SYS(keyctl),
	SCMP_SYS(lookup_dcookie),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(modify_ldt),
	SCMP_SYS(mount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(move_mount),
	SCMP_SYS(move_pages),
	SCMP_SYS(nfsservctl),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(open_tree),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pivot_root),
	SCMP_SYS(process_madvise),
	SCMP_SYS(process_mrelease),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(ptrace),
	SCMP_SYS(quotactl),
	SCMP_SYS(quotactl_fd),
	SCMP_SYS(reboot),
	SCMP_SYS(request_key),
	SCMP_SYS(setdomainname),
	SCMP_SYS(sethostname),
	SCMP_SYS(setns),
	SCMP_SYS(settimeofday),
	SCMP_SYS(stime),
	SCMP_SYS(swapoff),
	SCMP_SYS(swapon),
	SCMP_SYS(syslog),
	SCMP_SYS(umount),
	SCMP_SYS(umount2),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(uselib),
	SCMP_SYS(ustat),
	SCMP_SYS(vhangup),
	SCMP_SYS(vm86),
	SCMP_SYS(vm86old),
};

/* What lies in the kernel under a number or a name of its own, for every program of the machine
 * that has the right to it, and stays when its maker has ended; no folder of it can be hidden. */
static const int shared[] = {
	SCMP_SYS(ipc),
	SCMP_SYS(mq_open),
	SCMP_SYS(mq_unlink),
	SCMP_SYS(msgctl),
	SCMP_SYS(msgget),
	SCMP_SYS(msgrcv),
	SCMP_SYS(msgsnd),
	SCMP_SYS(semctl),
	SCMP_SYS(semget),
	SCMP_SYS(semop),
	SCMP_SYS(semtimedop),
	SCMP_SYS(shmat),
	SCMP_SYS(shmctl),
	SCMP_SYS(shmget),
};

/* With ENOSYS, so that a program takes its older way: a filter cannot see clone3's flags. */
static const int absent[] = {
	SCMP_SYS(clone3),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(io_uring_setup),
};

/* Input put into a terminal's queue would be read by whoever reads there next. */
static const uint32_t denied_ioctls[] = { TIOCSTI, TIOCLINUX };

static const uint32_t namespace_flags[] = { CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET,
	CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP };

/* The kernel looks at the lower half of an int only; so must a rule. */
#define LOW(arg, value) \
	SCMP_CMP((arg), SCMP_CMP_MASKED_EQ, 0xffffffffU, (scmp_datum_t)(uint32_t)(value))
#define BITS(arg, mask, value) \
	SCMP_CMP((arg), SCMP_CMP_MASKED_EQ, (scmp_datum_t)(mask), (scmp_datum_t)(value))

static int deny(scmp_filter_ctx ctx, int call)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 0);
}

static int deny_if(scmp_filter_ctx ctx, int call, struct scmp_arg_cmp arg)
{
	return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM), call, 1, &arg);
}

static int deny_kernel(scmp_filter_ctx ctx)
{
	int rc = 0;

	for (size_t i = 0; i < COUNT(denied); i++)
		rc |= deny(ctx, denied[i]);
	for (size_t i = 0; i < COUNT(absent); i++)
		rc |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), absent[i], 0);
	for (size_t i = 0; i < COUNT(namespace_flags); i++)
		rc |= deny_if(ctx, SCMP_SYS(clone),
			SCMP_A0(SCMP_CMP_MASKED_EQ, namespace_flags[i], namespace_flags[i]));
	for (size_t i = 0; i < COUNT(denied_ioctls); i++)
		rc |= deny_if(ctx, SCMP_SYS(ioctl), LOW(1, denied_ioctls[i]));
	/* Limits of another process would end it. */
	rc |= deny_if(ctx, SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_NE, 0));
	rc |= deny_if(ctx, SCMP_SYS(personality), SCMP_A0(SCMP_CMP_NE, 0));
	rc |= deny_if(ctx, SCMP_SYS(mknod), SCMP_A1(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFCHR));
	rc |= deny_if(ctx, SCMP_SYS(mknod), SCMP_A1(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFBLK));
	rc |= deny_if(ctx, SCMP_SYS(mknodat), SCMP_A2(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFCHR));
	rc |= deny_if(ctx, SCMP_SYS(mknodat), SCMP_A2(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFBLK));
	return rc;
}

/* --- Modes, owners, times and attributes of files --------------------------------------------- */

/* A program that makes whoever runs it its owner is nobody's to leave behind in the workspace,
 * where nothing of the fence is around it any more. A file that is made so has no content yet, and
 * is so no more with the first. */
static int deny_setuid(scmp_filter_ctx ctx)
{
	static const struct {
		int call;
		unsigned mode; /* which argument */
	} calls[] = { { SCMP_SYS(chmod), 1 }, { SCMP_SYS(fchmod), 1 }, { SCMP_SYS(fchmodat), 2 },
		{ FCHMODAT2, 2 } };
	int rc = 0;

	for (size_t i = 0; i < COUNT(calls); i++)
		rc |= deny_if(ctx, calls[i].call, BITS(calls[i].mode, S_ISUID, S_ISUID)) |
		      deny_if(ctx, calls[i].call, BITS(calls[i].mode, S_ISGID, S_ISGID));
	return rc;
}

/* Landlock does not look at these: only the namespaces hide what they could be done to. */
static const int by_path[] = {
	SCMP_SYS(chmod),
	SCMP_SYS(chown),
	SCMP_SYS(fchmodat),
	SCMP_SYS(fchownat),
	SCMP_SYS(futimesat),
	SCMP_SYS(lchown),
	SCMP_SYS(lremovexattr),
	SCMP_SYS(lsetxattr),
	SCMP_SYS(removexattr),
	SCMP_SYS(setxattr),
	SCMP_SYS(utime),
	SCMP_SYS(utimes),
};

/* These need a file that could be opened. */
static const int by_descriptor[] = {
	SCMP_SYS(fchmod),
	SCMP_SYS(fchown),
	SCMP_SYS(fremovexattr),
	SCMP_SYS(fsetxattr),
	SCMP_SYS(utimensat),
};

/* Then it could change what it may only read: the system's files as root, its user's own files in
 * the folders to read. */
static bool owns_what_it_reads(const struct fence_plan *plan)
{
	bool owns = getuid() == 0;

	for (int i = 0; i < plan->roots->n; i++)
		owns |= !plan->roots->list[i].writable;
	return owns;
}

static int deny_changes(scmp_filter_ctx ctx, const struct fence_plan *plan)
{
	int rc = deny(ctx, FCHMODAT2) | deny(ctx, SETXATTRAT) | deny(ctx, REMOVEXATTRAT) |
	         deny(ctx, FILE_SETATTR);

	for (size_t i = 0; i < COUNT(by_path); i++)
		rc |= deny(ctx, by_path[i]);
	if (!owns_what_it_reads(plan)) /* times by a path, not by a descriptor */
		return rc | deny_if(ctx, SCMP_SYS(utimensat), SCMP_A1(SCMP_CMP_NE, 0));
	for (size_t i = 0; i < COUNT(by_descriptor); i++)
		rc |= deny(ctx, by_descriptor[i]);
	return rc;
}

/* Before its third version Landlock does not look at the cutting of a file, only at its opening for
 * writing: what cuts without that is for us to refuse. Access mode 3 is neither reading nor
 * writing. What openat2 is asked for cannot be seen here. */
static int deny_cuts(scmp_filter_ctx ctx)
{
	static const struct {
		int call;
		unsigned flags; /* which argument */
	} opens[] = { { SCMP_SYS(open), 1 }, { SCMP_SYS(openat), 2 } };
	const unsigned mask = O_TRUNC | O_ACCMODE;
	int rc = deny(ctx, SCMP_SYS(truncate)) | deny(ctx, SCMP_SYS(truncate64)) |
	         seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);

	for (size_t i = 0; i < COUNT(opens); i++)
		rc |= deny_if(ctx, opens[i].call, BITS(opens[i].flags, mask, O_TRUNC | O_RDONLY)) |
		      deny_if(ctx, opens[i].call, BITS(opens[i].flags, mask, O_TRUNC | O_ACCMODE));
	return rc;
}

/* What is told of files by a path alone: what is done to them, and by what name; their attributes;
 * where they are mounted. Programs do without what the machine does not have. */
static int deny_tales(scmp_filter_ctx ctx)
{
	static const struct {
		int call, error;
	} calls[] = {
		{ SCMP_SYS(inotify_init), ENOSYS },
		{ SCMP_SYS(inotify_init1), ENOSYS },
		{ SCMP_SYS(getxattr), EOPNOTSUPP },
		{ SCMP_SYS(lgetxattr), EOPNOTSUPP },
		{ SCMP_SYS(listxattr), EOPNOTSUPP },
		{ SCMP_SYS(llistxattr), EOPNOTSUPP },
		{ GETXATTRAT, ENOSYS },
		{ LISTXATTRAT, ENOSYS },
		{ STATMOUNT, ENOSYS },
		{ LISTMOUNT, ENOSYS },
	};
	int rc = 0;

	for (size_t i = 0; i < COUNT(calls); i++)
		rc |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO((uint32_t)calls[i].error), calls[i].call,
			0);
	return rc;
}

/* --- Sockets of programs ---------------------------------------------------------------------- */

/* Sockets of other programs (D-Bus, an ssh or docker daemon, ours) are not on the network, but no
 * less a way out. Those with a path are hidden by the namespaces only; abstract ones by a network
 * of our own, or by Landlock. */
static bool local_sockets(const struct fence_plan *plan, int landlock)
{
	return plan->namespaces && (!plan->network || landlock >= 6);
}

static bool allowed_family(int family, bool local, bool network)
{
	switch (family) {
	case AF_UNIX: return local;
	case AF_INET:
	case AF_INET6:
	case AF_NETLINK: return network;
	default: return false;
	}
}

/* Whatever has a bit above the known kinds is none of them. Of netlink, routes are what libc asks
 * for. */
static int deny_families(scmp_filter_ctx ctx, bool local, bool network)
{
	int rc = deny_if(ctx, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_GE, AF_MAX));

	for (int family = 0; family < AF_MAX; family++)
		if (!allowed_family(family, local, network))
			rc |= deny_if(ctx, SCMP_SYS(socket),
				SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family));
	if (network)
		rc |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 2,
			SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_NE, NETLINK_ROUTE));
	return rc;
}

/* A pair is for a program and its children, but one of datagrams could be connected elsewhere. */
static int deny_loose_pairs(scmp_filter_ctx ctx)
{
	return deny_if(ctx, SCMP_SYS(socketpair), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM)) |
	       deny_if(ctx, SCMP_SYS(socketpair), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW)) |
	       deny_if(ctx, SCMP_SYS(socketpair), SCMP_A0(SCMP_CMP_NE, AF_UNIX));
}

static int deny_sockets(scmp_filter_ctx ctx, const struct fence_plan *plan, int landlock)
{
	bool local = local_sockets(plan, landlock);
	int rc = deny_families(ctx, local, plan->network);

	return local ? rc : rc | deny_loose_pairs(ctx);
}

/* --- Other processes -------------------------------------------------------------------------- */

/* The daemon must get its turn: each process has a say in its own alone. */
static int deny_scheduling(scmp_filter_ctx ctx)
{
	static const int calls[] = { SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setattr),
		SCMP_SYS(sched_setparam), SCMP_SYS(sched_setscheduler) };
	int rc = 0;

	for (size_t i = 0; i < COUNT(calls); i++)
		rc |= deny_if(ctx, calls[i], SCMP_A0(SCMP_CMP_NE, 0));
	rc |= deny_if(ctx, SCMP_SYS(setpriority), SCMP_A0(SCMP_CMP_NE, PRIO_PROCESS));
	rc |= deny_if(ctx, SCMP_SYS(setpriority), SCMP_A1(SCMP_CMP_NE, 0));
	rc |= deny_if(ctx, SCMP_SYS(ioprio_set), SCMP_A0(SCMP_CMP_NE, IOPRIO_WHO_PROCESS));
	rc |= deny_if(ctx, SCMP_SYS(ioprio_set), SCMP_A1(SCMP_CMP_NE, 0));
	return rc;
}

/* Whoever is told of what happens on a descriptor gets any signal that is chosen for it. */
static int deny_owners(scmp_filter_ctx ctx)
{
	static const uint32_t commands[] = { F_SETOWN, F_SETOWN_EX };
	static const uint32_t requests[] = { FIOSETOWN, SIOCSPGRP };
	int rc = 0;

	for (size_t i = 0; i < COUNT(commands); i++)
		rc |= deny_if(ctx, SCMP_SYS(fcntl), LOW(1, commands[i])) |
		      deny_if(ctx, SCMP_SYS(fcntl64), LOW(1, commands[i]));
	for (size_t i = 0; i < COUNT(requests); i++)
		rc |= deny_if(ctx, SCMP_SYS(ioctl), LOW(1, requests[i]));
	return rc;
}

/* Where neither a PID namespace nor Landlock keeps signals in: none to all, and none to those above
 * us, the supervisor and the daemon, alone or as a group. */
static int deny_signals(scmp_filter_ctx ctx, const struct fence_plan *plan)
{
	static const int calls[] = { SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(tgkill),
		SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(pidfd_open) };
	const int targets[] = { -1, plan->above[0], -plan->above[0], plan->above[1],
		-plan->above[1] };
	int rc = 0;

	for (size_t i = 0; i < COUNT(calls); i++)
		for (size_t k = 0; k < COUNT(targets); k++)
			if (targets[k] != 0)
				rc |= deny_if(ctx, calls[i], LOW(0, targets[k]));
	return rc | deny_owners(ctx);
}

/* What there is no namespace for. */
static int deny_outside(scmp_filter_ctx ctx, const struct fence_plan *plan, int landlock)
{
	int rc = deny_changes(ctx, plan) | deny_tales(ctx) | deny_scheduling(ctx);

	for (size_t i = 0; i < COUNT(shared); i++)
		rc |= deny(ctx, shared[i]);
	if (landlock < 3)
		rc |= deny_cuts(ctx);
	return landlock < 6 ? rc | deny_signals(ctx, plan) : rc;
}

/* --- All of it -------------------------------------------------------------------------------- */

static scmp_filter_ctx filter_files(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (ctx && fill_files(ctx) != 0) {
		seccomp_release(ctx);
		ctx = NULL;
	}
	return ctx;
}

static scmp_filter_ctx filter_programs(const struct fence_plan *plan, int landlock)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int rc;

	if (!ctx)
		return NULL;
	/* A program of another architecture would have other numbers for the same calls. */
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	rc |= deny_kernel(ctx);
	rc |= deny_setuid(ctx);
	rc |= deny_sockets(ctx, plan, landlock);
	if (!plan->namespaces)
		rc |= deny_outside(ctx, plan, landlock);
	if (rc != 0) {
		seccomp_release(ctx);
		ctx = NULL;
	}
	return ctx;
}

bool seccomp_enter(const struct fence_plan *plan, int landlock)
{
	scmp_filter_ctx ctx =
		plan->kind == FENCE_PROGRAMS ? filter_programs(plan, landlock) : filter_files();
	bool ok;

	if (!ctx)
		return false;
	ok = seccomp_load(ctx) == 0;
	seccomp_release(ctx);
	return ok;
}
