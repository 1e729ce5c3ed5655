#include "channel/outfolder.h"

#include "channel/sendable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void complain(const struct room *r, const char *what)
{
	log_warn(r->log, "outfolder", "%s/%s: %s: %s", r->workspace, SENDABLE_OUT, what,
		strerror(errno));
}

/* As root we work in somebody's workspace, and what we make there is theirs. */
static void hand_over(const struct room *r, int fd, const struct stat *ws)
{
	if (geteuid() == 0 && ws->st_uid != 0 && fchown(fd, ws->st_uid, ws->st_gid) < 0)
		complain(r, "cannot be given to the owner of the workspace");
}

/* The folder `name` in dir, made where it is missing and `make` says so. */
static int enter(const struct room *r, int dir, const char *name, const struct stat *ws, bool make)
{
	int fd = file_open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

	if (fd >= 0 || errno != ENOENT || !make)
		return fd;
	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = file_open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd >= 0)
		hand_over(r, fd, ws);
	return fd;
}

/* ws: the workspace, as it was found. */
static int open_folder(const struct room *r, bool make, struct stat *ws)
{
	int dir = r->workspace ? file_open_dir(r->workspace, NULL) : -1;
	int fd = -1;

	if (dir < 0)
		return -1;
	if (fstat(dir, ws) == 0) {
		bool ours = ws->st_uid == geteuid() || geteuid() == 0;

		fd = enter(r, dir, SENDABLE_OUT, ws, make && ours);
		if (fd < 0 && errno != ENOENT)
			complain(r, "cannot be used");
	}
	(void)close(dir);
	return fd;
}

static void hide_from_git(const struct room *r, int dir, const struct stat *ws)
{
	int fd = openat(dir, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		0600);

	if (fd < 0)
		return; /* it is there already */
	if (write(fd, "*\n", 2) == 2)
		hand_over(r, fd, ws);
	(void)close(fd);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void list(int dir, struct outfolder_list *out)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	out->n = 0;
	if (!d) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while (out->n < OUTFOLDER_MAX && (de = readdir(d)))
		if (de->d_name[0] != '.' && strcmp(de->d_name, OUTFOLDER_KEPT) != 0 &&
			copy_z(out->name[out->n], sizeof(out->name[0]), view_of(de->d_name)) == 0)
			out->n++;
	(void)closedir(d);
	qsort(out->name, out->n, sizeof(out->name[0]), by_name);
}

static int keep(const struct room *r, int dir, const struct stat *ws, const char *name)
{
	int kept = enter(r, dir, OUTFOLDER_KEPT, ws, true);
	int rc = kept < 0 ? -1 : renameat(dir, name, kept, name);

	if (rc < 0)
		complain(r, "cannot be emptied");
	if (kept >= 0)
		(void)close(kept);
	return rc;
}

void outfolder_begin(const struct room *r)
{
	struct outfolder_list left;
	struct stat ws;
	int dir = open_folder(r, true, &ws);

	if (dir < 0)
		return;
	hide_from_git(r, dir, &ws);
	list(dir, &left);
	for (size_t i = 0; i < left.n; i++)
		(void)keep(r, dir, &ws, left.name[i]);
	(void)close(dir);
}

void outfolder_look(const struct room *r, struct outfolder_list *out)
{
	struct stat ws;
	int dir = open_folder(r, false, &ws);

	out->n = 0;
	if (dir < 0)
		return;
	list(dir, out);
	(void)close(dir);
}

int outfolder_keep(const struct room *r, const char *name, char path[PATH_SIZE])
{
	struct stat ws;
	int dir = open_folder(r, false, &ws);
	int rc = dir < 0 ? -1 : keep(r, dir, &ws, name);
	const char *at = rc == 0 ? "/" SENDABLE_OUT "/" OUTFOLDER_KEPT : "/" SENDABLE_OUT;

	if (snprintf(path, PATH_SIZE, "%s%s/%s", r->workspace, at, name) >= PATH_SIZE)
		path[0] = '\0';
	if (dir >= 0)
		(void)close(dir);
	return rc;
}
