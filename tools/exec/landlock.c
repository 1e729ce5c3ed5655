#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/confine.h"
#include "tools/exec/fence-private.h"
#include "tools/exec/system.h"

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
#define FS_RUN  (FS_READ | LANDLOCK_ACCESS_FS_EXECUTE)
/* Our own code makes files and folders, nothing else. */
#define FS_WRITE \
	(FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | \
		LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG)
/* Programs also links, pipes and sockets, but no devices. */
#define FS_WORK \
	(FS_WRITE | FS_RUN | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO | \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REFER)
#define FS_DEVICE \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
/* What can be granted on something that is no folder. */
#define FS_OF_FILE (FS_DEVICE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_IOCTL_DEV)
/* Everything of version 1. What is handled and granted by no rule is denied. */
#define FS_V1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

#define NET_TCP    3ULL /* bind and connect */
#define SCOPED_ALL 3ULL /* abstract sockets and signals of processes outside */

/* As the kernel has it since version 6; older ones are handed the part they know. */
struct attr {
	uint64_t fs, net, scoped;
};

struct ruleset {
	int fd;
	uint64_t handled;
};

static int ruleset_open(struct ruleset *set, int abi, bool network)
{
	struct attr attr = { .fs = FS_V1 };
	size_t size = sizeof(attr.fs);

	if (abi >= 2)
		attr.fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		attr.fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 5)
		attr.fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	if (abi >= 4) {
		attr.net = network ? 0 : NET_TCP;
		size = sizeof(attr.fs) + sizeof(attr.net);
	}
	if (abi >= 6) {
		attr.scoped = SCOPED_ALL;
		size = sizeof(attr);
	}
	set->handled = attr.fs;
	set->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return set->fd;
}

static int allow(const struct ruleset *set, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		rights &= FS_OF_FILE;
	rule.allowed_access = rights & set->handled;
	return (int)syscall(SYS_landlock_add_rule, set->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* One that is not there needs no rule. */
static int allow_path(const struct ruleset *set, const char *path, uint64_t rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC), rc;

	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -1;
	rc = allow(set, fd, rights);
	(void)close(fd);
	return rc;
}

static uint64_t rights_of(const struct system_part *part, const struct fence_plan *plan)
{
	switch (part->use) {
	case SYSTEM_PROGRAMS: return FS_RUN;
	case SYSTEM_LOADER:
	case SYSTEM_FILES:
	case SYSTEM_MADE: return FS_READ;
	case SYSTEM_NETWORK: return plan->network ? FS_READ : 0;
	case SYSTEM_DEVICES: return FS_DEVICE;
	case SYSTEM_BARE: return plan->namespaces ? 0 : FS_READ;
	case SYSTEM_END: break;
	}
	return 0;
}

static int allow_system(const struct ruleset *set, const struct fence_plan *plan)
{
	int rc = 0;

	for (const struct system_part *p = system_parts; rc == 0 && p->use != SYSTEM_END; p++) {
		uint64_t rights = rights_of(p, plan);

		if (rights != 0)
			rc = allow_path(set, p->path, rights);
	}
	/* These are the namespaces' own; without them they would be everybody's. */
	if (rc == 0 && plan->namespaces &&
		(allow_path(set, "/proc", FS_READ) < 0 || allow_path(set, "/tmp", FS_WORK) < 0 ||
			allow_path(set, "/var/tmp", FS_WORK) < 0 ||
			allow_path(set, "/dev/shm", FS_WORK) < 0))
		rc = -1;
	return rc;
}

static int allow_roots(const struct ruleset *set, const struct fence_plan *plan)
{
	bool programs = plan->kind == FENCE_PROGRAMS;
	int rc = 0;

	for (int i = 0; rc == 0 && i < plan->roots->n; i++) {
		const struct root *root = &plan->roots->list[i];

		if (root->writable)
			rc = allow(set, root->fd, programs ? FS_WORK : FS_WRITE);
		else
			rc = allow(set, root->fd, programs ? FS_RUN : FS_READ);
	}
	return rc;
}

int landlock_enter(const struct fence_plan *plan)
{
	int abi = confine_landlock_abi();
	struct ruleset set;
	int rc;

	if (abi == 0 || ruleset_open(&set, abi, plan->network) < 0)
		return 0;
	rc = allow_roots(&set, plan);
	if (rc == 0 && plan->kind == FENCE_PROGRAMS)
		rc = allow_system(&set, plan);
	if (rc == 0)
		rc = (int)syscall(SYS_landlock_restrict_self, set.fd, 0);
	(void)close(set.fd);
	return rc == 0 ? abi : 0;
}
