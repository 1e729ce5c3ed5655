#include "tools/exec/fence.h"

#include <dirent.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/exec/fence-private.h"

#define MIB ((rlim_t)1 << 20)
#define GIB ((rlim_t)1 << 30)

/* For each process. What a program reserves and never touches is much with some (JavaScript, Go):
 * what it can write is limited more tightly than its addresses. */
static const struct {
	int what;
	rlim_t files, programs;
} limits[] = {
	{ RLIMIT_AS, GIB, 64 * GIB },
	{ RLIMIT_DATA, GIB, 4 * GIB },
	{ RLIMIT_FSIZE, 64 * MIB, 4 * GIB },
	{ RLIMIT_NOFILE, 256, 1024 },
	{ RLIMIT_CPU, 120, 3600 },
	{ RLIMIT_MEMLOCK, 0, 0 },
	{ RLIMIT_MSGQUEUE, 0, 0 },
};

static void limit(int what, rlim_t value)
{
	struct rlimit old, l = { value, value };

	/* Never above what we were given ourselves. */
	if (getrlimit((__rlimit_resource_t)what, &old) == 0 && old.rlim_max < value)
		l.rlim_cur = l.rlim_max = old.rlim_max;
	(void)setrlimit((__rlimit_resource_t)what, &l);
}

void fence_process(void)
{
	(void)umask(077);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	limit(RLIMIT_CORE, 0);
}

/* How many processes and threads of ours the machine has already. */
static rlim_t running(void)
{
	DIR *proc = opendir("/proc");
	rlim_t n = 0;

	if (!proc)
		return 0;
	for (const struct dirent *d; (d = readdir(proc));) {
		char path[64];
		struct stat st;

		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%.20s/task", d->d_name);
		/* Two links of its own, and one for each thread's folder in it. */
		if (stat(path, &st) == 0 && st.st_uid == getuid() && st.st_nlink > 2)
			n += st.st_nlink - 2;
	}
	(void)closedir(proc);
	return n;
}

static void limit_all(const struct fence_plan *plan)
{
	bool programs = plan->kind == FENCE_PROGRAMS;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		limit(limits[i].what, programs ? limits[i].programs : limits[i].files);
	/* The kernel counts a user's processes within the user namespace; it never holds root to
	 * it, whom the supervisor watches instead. */
	if (programs)
		limit(RLIMIT_NPROC, FENCE_PROCESSES + (plan->namespaces ? 0 : running()));
}

/* For good: without new privileges no program brings them back, not even to root. */
static int drop_capabilities(void)
{
	const struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { .effective = 0 } };

	return (int)syscall(SYS_capset, &head, none);
}

int fence_enter(const struct fence_plan *plan, struct fence *out, struct err *e)
{
	bool required = plan->required || plan->kind == FENCE_PROGRAMS;

	out->namespaces = plan->namespaces;
	out->landlock = 0;
	out->seccomp = false;
	limit_all(plan);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "giving up privileges");
	out->landlock = landlock_enter(plan);
	if (required && out->landlock == 0 && !out->namespaces)
		return err_set(e, E_UNSUPPORTED,
			"no layer of the sandbox confines files on this machine: bubblewrap does not work "
			"here, and the kernel's Landlock is missing or switched off");
	if (plan->kind == FENCE_PROGRAMS && drop_capabilities() < 0)
		return err_sys(e, "giving up capabilities");
	out->seccomp = seccomp_enter(plan, out->landlock);
	if (required && !out->seccomp)
		return err_set(e, E_UNSUPPORTED,
			"the kernel takes no filter for system calls (seccomp), and the sandbox needs one");
	return 0;
}
