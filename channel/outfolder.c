#include "channel/outfolder.h"

#include "base/text.h"
#include "channel/sendable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SWEEPS 10000 /* of OUTFOLDER_MAX each: somebody may go on writing */
#define BESIDE sizeof("-12345678")

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
	out->more = false;
	if (!d) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while (!out->more && (de = readdir(d))) {
		if (de->d_name[0] == '.' || strcmp(de->d_name, OUTFOLDER_KEPT) == 0)
			continue;
		out->more = out->n == OUTFOLDER_MAX;
		if (!out->more &&
			copy_z(out->name[out->n], sizeof(out->name[0]), view_of(de->d_name)) == 0)
			out->n++;
	}
	(void)closedir(d);
	qsort(out->name, out->n, sizeof(out->name[0]), by_name);
}

/* A file does not replace a folder, nor a folder one that is not empty. */
static bool is_in_the_way(int error)
{
	return error == EISDIR || error == ENOTDIR || error == ENOTEMPTY || error == EEXIST;
}

/* as: the name it has there. -1: errno says why not. */
static int keep(const struct room *r, int dir, const struct stat *ws, const char *name,
	char as[NAME_MAX + 1])
{
	int kept = enter(r, dir, OUTFOLDER_KEPT, ws, true);
	int rc = kept < 0 ? -1 : renameat(dir, name, kept, name);
	size_t n = utf8_cut(view_of(name), NAME_MAX - BESIDE);
	char hex[BESIDE];
	int error;

	(void)copy_z(as, NAME_MAX + 1, view_of(name));
	if (kept >= 0 && rc < 0 && is_in_the_way(errno)) {
		rand_hex(hex, (BESIDE - 1) / 2);
		(void)snprintf(as, NAME_MAX + 1, "%.*s-%s", (int)n, name, hex);
		rc = renameat(dir, name, kept, as);
	}
	error = errno;
	if (rc < 0)
		complain(r, "cannot be emptied");
	if (kept >= 0)
		(void)close(kept);
	errno = error;
	return rc;
}

/* A part at a time: is there more? What does not go stays, and is not sent either. */
static bool empty_some(const struct room *r, int dir, const struct stat *ws)
{
	struct outfolder_list left;
	char as[NAME_MAX + 1];
	bool some = false;

	list(dir, &left);
	for (size_t i = 0; i < left.n; i++)
		some = keep(r, dir, ws, left.name[i], as) == 0 || some;
	return left.more && some;
}

void outfolder_begin(const struct room *r)
{
	struct stat ws;
	int dir = open_folder(r, true, &ws);

	if (dir < 0)
		return;
	hide_from_git(r, dir, &ws);
	for (int i = 0; i < SWEEPS && empty_some(r, dir, &ws); i++)
		;
	(void)close(dir);
}

void outfolder_look(const struct room *r, struct outfolder_list *out)
{
	struct stat ws;
	int dir = open_folder(r, false, &ws);

	out->n = 0;
	out->more = false;
	if (dir < 0)
		return;
	list(dir, out);
	(void)close(dir);
}

int outfolder_keep(const struct room *r, const char *name, char path[PATH_SIZE], struct err *e)
{
	const char *at = "/" SENDABLE_OUT "/" OUTFOLDER_KEPT;
	struct stat ws;
	int dir = open_folder(r, false, &ws);
	char as[NAME_MAX + 1];
	int rc = -1;

	(void)copy_z(as, sizeof(as), view_of(name));
	if (dir >= 0)
		rc = keep(r, dir, &ws, name, as);
	if (rc < 0) {
		(void)err_sys(e, "%s cannot be moved into " SENDABLE_OUT "/" OUTFOLDER_KEPT, name);
		(void)copy_z(as, sizeof(as), view_of(name));
		at = "/" SENDABLE_OUT;
	}
	if (snprintf(path, PATH_SIZE, "%s%s/%s", r->workspace, at, as) >= PATH_SIZE)
		path[0] = '\0';
	if (dir >= 0)
		(void)close(dir);
	return rc;
}
