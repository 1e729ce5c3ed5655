#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file-private.h"

#define TEMP_PREFIX ".kairo-"
#define TEMP_SUFFIX ".tmp"
#define TEMP_DIGITS 16
#define TEMP_LEFT_S 3600

struct newfile {
	int dir, fd;
	bool failed;
	char name[NAME_MAX + 1];
	char temp[sizeof(TEMP_PREFIX) + TEMP_DIGITS + sizeof(TEMP_SUFFIX)];
	char path[PATH_SIZE]; /* for messages */
};

static int create_temp(struct newfile *f, mode_t mode, struct err *e)
{
	char hex[TEMP_DIGITS + 1];

	rand_hex(hex, TEMP_DIGITS / 2);
	(void)snprintf(f->temp, sizeof(f->temp), TEMP_PREFIX "%s" TEMP_SUFFIX, hex);
	f->fd = openat(f->dir, f->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd < 0) {
		f->temp[0] = '\0';
		return err_sys(e, "cannot make a file beside %s", f->path);
	}
	/* Not by the mode of open(): the umask must not have a say. */
	if (fchmod(f->fd, mode) < 0)
		return err_sys(e, "cannot set the mode of %s", f->path);
	return 0;
}

int newfile_open(struct newfile **out, const char *path, mode_t mode, struct err *e)
{
	struct newfile *f = calloc(1, sizeof(*f));
	struct stat st;

	*out = NULL;
	if (!f) {
		err_set(e, E_NOMEM, "no memory to write %s", path);
		return -1;
	}
	f->dir = -1;
	f->fd = -1;
	if (copy_z(f->path, sizeof(f->path), view_of(path)) < 0) {
		err_set(e, E_FORMAT, "%s: the path is too long", path);
		goto failed;
	}
	f->dir = path_open_parent(path, f->name, e);
	if (f->dir < 0)
		goto failed;
	if (fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode)) {
		err_set(e, E_DENIED, "%s is not a regular file; move it away", path);
		goto failed;
	}
	if (create_temp(f, mode, e) < 0)
		goto failed;
	*out = f;
	return 0;
failed:
	newfile_abort(&f);
	return -1;
}

int newfile_write(struct newfile *f, struct view v, struct err *e)
{
	while (v.n > 0 && !f->failed) {
		ssize_t n = write(f->fd, v.p, v.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			f->failed = true;
			return err_sys(e, "cannot write %s", f->path);
		}
		v = view_from(v, (size_t)n);
	}
	return f->failed ? err_set(e, E_IO, "cannot write %s: it failed before", f->path) : 0;
}

int newfile_commit(struct newfile **fp, struct err *e)
{
	struct newfile *f = *fp;
	int fd = f->fd;
	int rc = -1;

	if (newfile_write(f, VIEW_NONE, e) < 0)
		goto out;
	if (fsync(fd) < 0) {
		err_sys(e, "cannot sync %s", f->path);
		goto out;
	}
	f->fd = -1;
	if (close(fd) < 0) {
		err_sys(e, "cannot finish writing %s", f->path);
		goto out;
	}
	if (renameat(f->dir, f->temp, f->dir, f->name) < 0) {
		err_sys(e, "cannot replace %s", f->path);
		goto out;
	}
	f->temp[0] = '\0';
	rc = dir_sync(f->dir, f->path, e);
out:
	newfile_abort(fp);
	return rc;
}

void newfile_abort(struct newfile **fp)
{
	struct newfile *f = *fp;

	*fp = NULL;
	if (!f)
		return;
	if (f->temp[0] != '\0' && f->dir >= 0)
		(void)unlinkat(f->dir, f->temp, 0);
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir >= 0)
		close(f->dir);
	free(f);
}

int file_replace(const char *path, mode_t mode, struct view content, struct err *e)
{
	struct newfile *f = NULL;
	int rc = -1;

	if (newfile_open(&f, path, mode, e) < 0 || newfile_write(f, content, e) < 0)
		goto out;
	rc = newfile_commit(&f, e);
out:
	newfile_abort(&f);
	return rc;
}

int file_remove(const char *path, struct err *e)
{
	char name[NAME_MAX + 1];
	int dir = path_open_parent(path, name, e);
	int rc;

	if (dir < 0)
		return -1;
	if (unlinkat(dir, name, 0) == 0)
		rc = dir_sync(dir, path, e);
	else
		rc = errno == ENOENT ? 0 : err_sys(e, "cannot remove %s", path);
	close(dir);
	return rc;
}

static bool is_leftover(int dir, const char *name, int64_t now_s)
{
	struct view v = view_of(name);
	struct stat st;

	return v.n == sizeof(TEMP_PREFIX) - 1 + TEMP_DIGITS + sizeof(TEMP_SUFFIX) - 1 &&
	       view_starts(v, VIEW(TEMP_PREFIX)) && view_ends(v, VIEW(TEMP_SUFFIX)) &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_ctim.tv_sec < now_s - TEMP_LEFT_S;
}

int file_sweep(const char *path, const struct clock *clk, struct err *e)
{
	int fd = file_open_dir(path, e);
	int64_t now_s = clock_wall(clk) / 1000;
	const struct dirent *d;
	DIR *dir;

	if (fd < 0)
		return -1;
	dir = fdopendir(fd);
	if (!dir) {
		err_sys(e, "cannot list %s", path);
		close(fd);
		return -1;
	}
	while ((d = readdir(dir))) {
		if (is_leftover(fd, d->d_name, now_s))
			(void)unlinkat(fd, d->d_name, 0);
	}
	closedir(dir);
	return 0;
}
