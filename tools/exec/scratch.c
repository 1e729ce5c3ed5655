#include "tools/exec/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

int scratch_make(char path[SCRATCH_SIZE], bool own, struct err *e)
{
	(void)copy_z(path, SCRATCH_SIZE,
		view_of(own ? SCRATCH_SHARED "/kairo-tool-XXXXXX" : SCRATCH_SHARED));
	if (own && !mkdtemp(path))
		return err_sys(e, "a folder for temporary files in " SCRATCH_SHARED);
	return 0;
}

/* Open for all that is to be done in it, whatever its maker has left of its mode. */
static DIR *open_folder(int dir, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, fd = openat(dir, name, flags);
	DIR *stream;

	/* A folder indeed, or it would have failed in another way. */
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
		fd = openat(dir, name, flags);
	if (fd < 0)
		return NULL;
	(void)fchmod(fd, 0700);
	stream = fdopendir(fd);
	if (!stream)
		(void)close(fd);
	return stream;
}

static const char *next_name(DIR *stream)
{
	const struct dirent *d;

	do
		d = readdir(stream);
	while (d && (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0));
	return d ? d->d_name : NULL;
}

/* The folders in it go up to the top, so that none lies too deep for us; the rest goes. */
static void empty_folder(DIR *folder, int top, unsigned *moved)
{
	for (const char *name; (name = next_name(folder));) {
		int from = dirfd(folder);
		char new[32];
		DIR *inner;

		if (unlinkat(from, name, 0) == 0)
			continue;
		inner = open_folder(from, name); /* its mode must let it be moved */
		if (inner)
			(void)closedir(inner);
		do
			(void)snprintf(new, sizeof(new), "moved-%u", ++*moved);
		while (renameat2(from, name, top, new, RENAME_NOREPLACE) < 0 && errno == EEXIST);
	}
}

static void empty_top(DIR *top)
{
	unsigned moved = 0;
	bool more;

	do {
		more = false;
		rewinddir(top);
		for (const char *name; (name = next_name(top));) {
			DIR *folder;

			if (unlinkat(dirfd(top), name, 0) == 0)
				continue;
			folder = open_folder(dirfd(top), name);
			if (folder) {
				empty_folder(folder, dirfd(top), &moved);
				(void)closedir(folder);
			}
			more |= unlinkat(dirfd(top), name, AT_REMOVEDIR) == 0;
		}
	} while (more);
}

void scratch_remove(const char *path)
{
	DIR *top = strcmp(path, SCRATCH_SHARED) != 0 ? open_folder(AT_FDCWD, path) : NULL;

	if (!top)
		return;
	empty_top(top);
	(void)closedir(top);
	(void)rmdir(path);
}
