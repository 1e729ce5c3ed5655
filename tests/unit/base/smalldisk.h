/* A disk that is soon full: a tmpfs in a mount namespace of this process where that is permitted,
 * else a limit on the size of files. */
#ifndef TESTS_SMALLDISK_H
#define TESTS_SMALLDISK_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct smalldisk {
	bool mounted;
	struct rlimit old;
	char dir[512];
};

/* dir exists already; afterwards it has room for this many bytes. */
static inline bool smalldisk_mount(struct smalldisk *d, const char *dir, unsigned long bytes)
{
	char options[64];

	(void)snprintf(d->dir, sizeof(d->dir), "%s", dir);
	(void)snprintf(options, sizeof(options), "mode=700,size=%lu", bytes);
	d->mounted = unshare(CLONE_NEWNS) == 0 &&
	             mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	             mount("tmpfs", dir, "tmpfs", 0, options) == 0;
	return d->mounted;
}

/* For those who may not mount: no file of this process grows over this many bytes. */
static inline bool smalldisk_limit(struct smalldisk *d, unsigned long bytes)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_FSIZE, &d->old) < 0)
		return false;
	now = d->old;
	now.rlim_cur = bytes;
	return signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &now) == 0;
}

static inline void smalldisk_unlimit(const struct smalldisk *d)
{
	(void)setrlimit(RLIMIT_FSIZE, &d->old);
}

static inline void smalldisk_unmount(struct smalldisk *d)
{
	if (d->mounted)
		(void)umount2(d->dir, MNT_DETACH);
	d->mounted = false;
}

#endif
