#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file-private.h"

/* --- Opening without symlinks ----------------------------------------------------------------- */

/* O_NOFOLLOW on a folder says ENOTDIR for a symlink; the caller wants to hear the true reason. */
static void tell_symlink(int dir, const char *name)
{
	int saved = errno;
	struct stat st;

	if (saved == ENOTDIR && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISLNK(st.st_mode))
		saved = ELOOP;
	errno = saved;
}

static int open_component(int dir, const char *name, int flags, mode_t mode)
{
	int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	struct stat st;

	if (fd < 0) {
		tell_symlink(dir, name);
		return -1;
	}
	/* O_PATH with O_NOFOLLOW opens the symlink itself. */
	if ((flags & O_PATH) && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
		close(fd);
		errno = ELOOP;
		return -1;
	}
	return fd;
}

/* What openat2 does in one call, for kernels and containers that lack it. */
static int open_walking(const char *path, int flags, mode_t mode)
{
	int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *p = path + strspn(path, "/");

	while (dir >= 0) {
		char name[NAME_MAX + 1];
		size_t n = strcspn(p, "/");
		const char *next = p + n + strspn(p + n, "/");
		bool last = *next == '\0';
		int fd;

		if (n > NAME_MAX) {
			close(dir);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, p, n);
		name[n] = '\0';
		if (last && p[n] == '/')
			flags |= O_DIRECTORY;
		fd = last ? open_component(dir, n > 0 ? name : ".", flags, mode)
		          : open_component(dir, name, O_PATH | O_DIRECTORY, 0);
		close(dir); /* leaves errno alone: an O_PATH descriptor has nothing to write */
		if (last)
			return fd;
		dir = fd;
		p = next;
	}
	return -1;
}

static int open_nolinks(const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.mode = (flags & O_CREAT) ? mode : 0,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	while (fd < 0 && errno == EINTR);
	/* EPERM: what some containers answer to a call they do not know; the walk finds the truth.
	 */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_walking(path, flags, mode);
	return (int)fd;
}

/* A rename somewhere above can make the kernel unsure about "..": it says EAGAIN, we ask again. */
#define BENEATH_TRIES 8

/* Without O_NOFOLLOW: with it and O_PATH, a link at the end would be opened itself. */
int file_open_beneath(int dir, const char *rel, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	for (int i = 0; i < BENEATH_TRIES; i++) {
		fd = syscall(SYS_openat2, dir, rel, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

/* open() of an absolute path that follows no symlink in any component; close-on-exec. */
static int path_open(const char *path, int flags, mode_t mode, struct err *e)
{
	int fd;

	if (path[0] != '/')
		return err_set(e, E_FORMAT, "%s: the path must be absolute", path);
	fd = open_nolinks(path, flags, mode);
	if (fd >= 0)
		return fd;
	if (errno == ELOOP)
		return err_set(e, E_DENIED,
			"%s: a part of the path is a symbolic link, and none is followed; name the real one",
			path);
	if (errno == ENXIO)
		return err_set(e, E_DENIED, "%s is not a regular file; move it away", path);
	return err_sys(e, "cannot open %s", path);
}

/* As path_open, and what was opened must be a regular file; nothing else can block us here. */
static int path_open_regular(const char *path, int flags, mode_t mode, struct stat *st,
	struct err *e)
{
	/* O_NONBLOCK: opening a FIFO without a writer must not wait for one. */
	int fd = path_open(path, flags | O_NONBLOCK | O_NOCTTY, mode, e);
	int rc = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, st) < 0)
		err_sys(e, "cannot examine %s", path);
	else if (!S_ISREG(st->st_mode))
		err_set(e, E_DENIED, "%s is not a regular file; move it away", path);
	else if (fcntl(fd, F_SETFL, flags & O_APPEND) < 0)
		err_sys(e, "cannot set up %s", path);
	else
		rc = 0;
	if (rc < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int path_open_private(const char *path, int extra, struct stat *st, struct err *e)
{
	int fd = path_open_regular(path, O_RDWR | O_CREAT | extra, 0600, st, e);

	if (fd < 0)
		return -1;
	if (st->st_uid != geteuid())
		err_set(e, E_DENIED, "%s belongs to another user; chown makes it yours", path);
	else if ((st->st_mode & 077) != 0 && fchmod(fd, st->st_mode & 0700) < 0)
		err_sys(e, "cannot make %s private", path);
	else
		return fd;
	close(fd);
	return -1;
}

int path_open_parent(const char *path, char name[NAME_MAX + 1], struct err *e)
{
	char parent[PATH_SIZE];
	size_t end = strlen(path);
	size_t at;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (at = end; at > 0 && path[at - 1] != '/'; at--)
		;
	if (path[0] != '/')
		return err_set(e, E_FORMAT, "%s: the path must be absolute", path);
	if (end - at > NAME_MAX || at >= sizeof(parent))
		return err_set(e, E_FORMAT, "%s: the path is too long", path);
	memcpy(name, path + at, end - at);
	name[end - at] = '\0';
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(e, E_FORMAT, "%s: the path does not end in a name", path);
	memcpy(parent, path, at);
	parent[at] = '\0';
	return path_open(parent, O_PATH | O_DIRECTORY, 0, e);
}

int dir_sync(int dir, const char *path, struct err *e)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return err_sys(e, "cannot open the folder of %s", path);
	rc = fsync(fd);
	if (rc < 0 && (errno == EINVAL || errno == EROFS))
		rc = 0; /* a file system that cannot, or has nothing to write */
	if (rc < 0)
		err_sys(e, "cannot sync the folder of %s", path);
	close(fd);
	return rc;
}

/* --- Folders ---------------------------------------------------------------------------------- */

static int check_private_dir(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "cannot examine %s", path);
	if (st.st_uid != geteuid())
		return err_set(e, E_DENIED,
			"the folder %s belongs to another user; chown makes it yours", path);
	if ((st.st_mode & 077) != 0 && fchmod(fd, st.st_mode & 07700) < 0)
		return err_sys(e, "cannot make the folder %s private", path);
	return 0;
}

int file_mkdir_private(const char *path, struct err *e)
{
	char name[NAME_MAX + 1];
	int dir = path_open_parent(path, name, e);
	int fd = -1, rc = -1;

	if (dir < 0)
		return -1;
	if (mkdirat(dir, name, 0700) == 0)
		(void)dir_sync(dir, path, NULL); /* the parent may be unreadable to us */
	else if (errno != EEXIST) {
		err_sys(e, "cannot make the folder %s", path);
		goto out;
	}
	fd = open_component(dir, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
	if (fd >= 0)
		rc = check_private_dir(fd, path, e);
	else if (errno == ELOOP)
		err_set(e, E_DENIED, "%s is a symbolic link, not a folder; move it away", path);
	else if (errno == ENOTDIR)
		err_set(e, E_DENIED, "%s is not a folder; move it away", path);
	else
		err_sys(e, "cannot open the folder %s", path);
out:
	if (fd >= 0)
		close(fd);
	close(dir);
	return rc;
}

/* The folder `name` in `dir`, made if it is missing. */
static int enter_or_make(int dir, const char *name, mode_t mode)
{
	int fd = open_component(dir, name, O_PATH | O_DIRECTORY, 0);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(dir, name, mode) < 0 && errno != EEXIST)
		return -1;
	(void)dir_sync(dir, name, NULL);
	return open_component(dir, name, O_PATH | O_DIRECTORY, 0);
}

int file_mkdirs(const char *path, mode_t mode, struct err *e)
{
	const char *p = path + strspn(path, "/");
	int dir;

	if (path[0] != '/')
		return err_set(e, E_FORMAT, "%s: the path must be absolute", path);
	dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && *p != '\0') {
		char name[NAME_MAX + 1];
		size_t n = strcspn(p, "/");
		int next = -1;

		if (copy_z(name, sizeof(name), (struct view){ p, n }) == 0)
			next = enter_or_make(dir, name, mode);
		else
			errno = ENAMETOOLONG;
		close(dir);
		dir = next;
		p += n + strspn(p + n, "/");
	}
	if (dir >= 0)
		close(dir);
	else if (errno == ELOOP)
		return err_set(e, E_DENIED,
			"%s: a part of the path is a symbolic link, and none is followed; name the real one",
			path);
	else
		return err_sys(e, "cannot make the folder %s", path);
	return 0;
}

int file_open_dir(const char *path, struct err *e)
{
	return path_open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, e);
}

/* --- Reading ---------------------------------------------------------------------------------- */

int file_open_read(const char *path, int64_t *size, struct err *e)
{
	struct stat st;
	int fd = path_open_regular(path, O_RDONLY, 0, &st, e);

	if (fd >= 0 && size)
		*size = st.st_size;
	return fd;
}

int file_open_append(const char *path, struct err *e)
{
	struct stat st;

	return path_open_private(path, O_APPEND, &st, e);
}

static ssize_t read_some(int fd, void *p, size_t n)
{
	ssize_t got;

	do
		got = read(fd, p, n);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Append at most max bytes from fd. 1: the file had more, 0: that was all, -1: failed. `hint` is
 * the size it should have: room for it is made once, so that a secret is not left behind by
 * growing. */
static int read_bounded(int fd, const char *path, size_t hint, size_t max, struct str *out,
	struct err *e)
{
	size_t left = max;

	for (;;) {
		size_t n = hint < left ? hint + 1 : left;
		char extra;
		ssize_t got;

		if (n > 0 && str_reserve(out, n) < 0)
			return err_set(e, E_NOMEM, "no memory to read %s", path);
		got = n > 0 ? read_some(fd, out->p + out->n, n) : read_some(fd, &extra, 1);
		if (got < 0)
			return err_sys(e, "cannot read %s", path);
		if (got == 0)
			return 0;
		if (n == 0)
			return 1;
		str_grew(out, (size_t)got);
		left -= (size_t)got;
		hint = (size_t)got > hint ? 16384 : hint - (size_t)got;
	}
}

static size_t room_in(const struct str *out, size_t max)
{
	size_t room = out->max > out->n ? out->max - out->n : 0;

	return max < room ? max : room;
}

static int read_whole(int fd, const char *path, int64_t size, size_t max, struct str *out,
	struct err *e)
{
	size_t start = out->n;
	size_t room = room_in(out, max);
	int rc = read_bounded(fd, path, (size_t)size, room, out, e);

	if (rc > 0)
		rc = err_set(e, E_FORMAT, "%s is longer than %zu bytes", path, room);
	if (rc < 0)
		str_truncate(out, start);
	return rc;
}

int file_read(const char *path, size_t max, struct str *out, struct err *e)
{
	int64_t size;
	int fd = file_open_read(path, &size, e);
	int rc;

	if (fd < 0)
		return -1;
	rc = read_whole(fd, path, size, max, out, e);
	close(fd);
	return rc;
}

int file_read_private(const char *path, size_t max, struct str *out, struct err *e)
{
	struct stat st;
	int fd = path_open_regular(path, O_RDONLY, 0, &st, e);
	int rc = -1;

	if (fd < 0)
		return -1;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		err_set(e, E_DENIED, "%s belongs to another user; chown makes it yours", path);
	else if ((st.st_mode & 077) != 0)
		err_set(e, E_DENIED,
			"%s holds secrets but others may use it (mode %04o): chmod 600 it", path,
			st.st_mode & 07777);
	else
		rc = read_whole(fd, path, st.st_size, max, out, e);
	close(fd);
	return rc;
}

int file_read_tail(const char *path, size_t max, struct str *out, bool *cut, struct err *e)
{
	size_t start = out->n;
	size_t room = room_in(out, max);
	int64_t size;
	int fd = file_open_read(path, &size, e);
	int rc;

	if (fd < 0)
		return -1;
	*cut = (uint64_t)size > room;
	if (*cut && lseek(fd, size - (int64_t)room, SEEK_SET) < 0)
		rc = err_sys(e, "cannot seek in %s", path);
	else
		rc = read_bounded(fd, path, *cut ? room : (size_t)size, room, out, e);
	if (rc < 0)
		str_truncate(out, start);
	close(fd);
	return rc < 0 ? -1 : 0; /* 1: it grew while we read */
}

bool file_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

int path_join(char out[PATH_SIZE], const char *dir, const char *name, struct err *e)
{
	size_t n = strlen(dir);
	size_t m = strlen(name);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	if (n + 1 + m >= PATH_SIZE) {
		out[0] = '\0';
		return err_set(e, E_FORMAT, "the path is too long: %s/%s", dir, name);
	}
	memcpy(out, dir, n);
	out[n] = '/';
	memcpy(out + n + 1, name, m + 1);
	return 0;
}

bool path_lies_in(const char *path, const char *folder)
{
	size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}
