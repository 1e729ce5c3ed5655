#include "tools/exec/fence.h"

#include <errno.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/confine.h"

/* Rights that came after the headers of some machines this is built on. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_WRITE \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | \
		LANDLOCK_ACCESS_FS_MAKE_REG)
/* Everything of version 1. What is handled and granted by no rule is denied. */
#define FS_V1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* As the kernel has it since version 6; older ones are handed the part they know. */
struct ruleset {
	uint64_t fs, net, scoped;
};

#define NET_TCP    3ULL /* bind and connect */
#define SCOPED_ALL 3ULL /* abstract sockets and signals of processes outside */

/* --- Limits ----------------------------------------------------------------------------------- */

static void limit(int what, rlim_t value)
{
	struct rlimit l = { value, value };

	(void)setrlimit((__rlimit_resource_t)what, &l);
}

void fence_process(void)
{
	(void)umask(077);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)clearenv();
	limit(RLIMIT_CORE, 0);
}

static void limit_files(void)
{
	limit(RLIMIT_AS, (rlim_t)1 << 30);
	limit(RLIMIT_FSIZE, (rlim_t)64 << 20);
	limit(RLIMIT_NOFILE, 256);
	limit(RLIMIT_CPU, 120);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_MSGQUEUE, 0);
}

/* --- Landlock --------------------------------------------------------------------------------- */

static int add_rule(int set, const struct root *root, uint64_t handled)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = root->fd };

	rule.allowed_access = FS_READ;
	if (root->writable)
		rule.allowed_access |= FS_WRITE | LANDLOCK_ACCESS_FS_TRUNCATE;
	rule.allowed_access &= handled;
	return (int)syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int ruleset_new(int abi, uint64_t *handled)
{
	struct ruleset attr = { .fs = FS_V1 };
	size_t size = sizeof(attr.fs);

	if (abi >= 2)
		attr.fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		attr.fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 5)
		attr.fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	if (abi >= 4) {
		attr.net = NET_TCP;
		size = sizeof(attr.fs) + sizeof(attr.net);
	}
	if (abi >= 6) {
		attr.scoped = SCOPED_ALL;
		size = sizeof(attr);
	}
	*handled = attr.fs;
	return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
}

/* The version in force; 0: there is none, or it would not take the rules. */
static int landlock_files(const struct roots *roots)
{
	int abi = confine_landlock_abi();
	uint64_t handled;
	int set, rc = 0;

	if (abi == 0)
		return 0;
	set = ruleset_new(abi, &handled);
	if (set < 0)
		return 0;
	for (int i = 0; rc == 0 && i < roots->n; i++)
		rc = add_rule(set, &roots->list[i], handled);
	if (rc == 0)
		rc = (int)syscall(SYS_landlock_restrict_self, set, 0);
	(void)close(set);
	return rc == 0 ? abi : 0;
}

/* --- seccomp ---------------------------------------------------------------------------------- */

/* Whatever is not named fails with EPERM. */
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

static bool seccomp_fill(scmp_filter_ctx ctx)
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
	return rc == 0;
}

static bool seccomp_files(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	bool ok;

	if (!ctx)
		return false;
	ok = seccomp_fill(ctx) && seccomp_load(ctx) == 0;
	seccomp_release(ctx);
	return ok;
}

/* --- All of it -------------------------------------------------------------------------------- */

int fence_enter(const struct fence_plan *plan, struct fence *out, struct err *e)
{
	out->landlock = 0;
	out->seccomp = false;
	if (plan->kind == FENCE_PROGRAMS)
		return err_set(e, E_UNSUPPORTED, "the sandbox for programs is not there yet");
	limit_files();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "giving up privileges");
	out->landlock = landlock_files(plan->roots);
	if (plan->required && out->landlock == 0)
		return err_set(e, E_UNSUPPORTED,
			"no layer of the sandbox confines files on this kernel (Landlock is missing or "
			"switched off), and the sandbox is set to be required");
	out->seccomp = seccomp_files();
	return 0;
}
