#include "tools/exec/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#define DEPTH_MAX 100

int scratch_make(char path[SCRATCH_SIZE], bool own, struct err *e)
{
	(void)copy_z(path, SCRATCH_SIZE,
		view_of(own ? SCRATCH_SHARED "/kairo-tool-XXXXXX" : SCRATCH_SHARED));
	if (own && !mkdtemp(path))
		return err_sys(e, "a folder for temporary files in " SCRATCH_SHARED);
	return 0;
}

static int open_folder(int dir, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, fd = openat(dir, name, flags);

	/* A folder indeed, or it would have failed in another way. */
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
		fd = openat(dir, name, flags);
	return fd;
}

/* NOLINTNEXTLINE(misc-no-recursion): to DEPTH_MAX */
static void remove_entry(int dir, const char *name, int depth)
{
	int fd = depth < DEPTH_MAX ? open_folder(dir, name) : -1;
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;

	if (!stream) {
		if (fd >= 0)
			(void)close(fd);
		(void)unlinkat(dir, name, 0);
		return;
	}
	for (const struct dirent *d; (d = readdir(stream));)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			remove_entry(dirfd(stream), d->d_name, depth + 1);
	(void)closedir(stream);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
}

void scratch_remove(const char *path)
{
	if (strcmp(path, SCRATCH_SHARED) != 0)
		remove_entry(AT_FDCWD, path, 0);
}
