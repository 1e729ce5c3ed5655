#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file-private.h"

/* Open file description locks: they belong to the descriptor, so two daemons in one process exclude
 * each other, and closing another descriptor of the same file does not drop them. */
struct lock {
	int fd;
};

static struct flock whole_file(void)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

/* The lock means nothing when the file has been removed under its name meanwhile. */
static bool still_there(const char *path, const struct stat *st)
{
	struct stat now;

	return lstat(path, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

int lock_failed(const char *path, struct err *e)
{
	return errno == ENOLCK
	               ? err_set(e, E_UNSUPPORTED,
				 "the file system of %s knows no locks: take a folder on a local disk",
				 path)
	               : err_sys(e, "cannot lock %s", path);
}

/* 1: taken, 0: somebody holds it, or it went away while we took it; -1: failed. */
static int try_take(int *out, const char *path, struct err *e)
{
	struct flock fl = whole_file();
	struct stat st;
	int fd = path_open_private(path, 0, &st, e);
	int rc;

	if (fd < 0)
		return -1;
	if (fcntl(fd, F_OFD_SETLK, &fl) == 0)
		rc = still_there(path, &st) ? 1 : 0;
	else
		rc = errno == EAGAIN || errno == EACCES ? 0 : lock_failed(path, e);
	if (rc == 1)
		*out = fd;
	else
		close(fd);
	return rc;
}

static void pause_ms(int64_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000 };

	(void)nanosleep(&ts, NULL);
}

int lock_take(struct lock **out, const char *path, int wait_ms, struct err *e)
{
	int64_t end = clock_mono(clock_system()) + wait_ms;
	int64_t pause = 1, left;
	struct lock *l;
	int fd = -1, rc;

	*out = NULL;
	while ((rc = try_take(&fd, path, e)) == 0) {
		left = end - clock_mono(clock_system());
		if (left <= 0)
			return err_set(e, E_BUSY, "%s is locked by another process", path);
		pause_ms(pause < left ? pause : left);
		pause = pause < 20 ? pause * 2 : 20;
	}
	if (rc < 0)
		return -1;
	l = malloc(sizeof(*l));
	if (!l) {
		close(fd);
		return err_set(e, E_NOMEM, "no memory to lock %s", path);
	}
	l->fd = fd;
	*out = l;
	return 0;
}

void lock_release(struct lock **lp)
{
	struct lock *l = *lp;

	*lp = NULL;
	if (!l)
		return;
	close(l->fd);
	free(l);
}

int lock_held(const char *path, struct err *e)
{
	struct flock fl = whole_file();
	struct err why = ERR_INIT;
	int fd = file_open_read(path, NULL, &why);
	int rc;

	if (fd < 0 && why.code == E_NOTFOUND)
		return 0;
	if (fd < 0)
		return err_set(e, why.code, "%s", why.msg);
	rc = fcntl(fd, F_OFD_GETLK, &fl);
	close(fd);
	if (rc < 0)
		return lock_failed(path, e);
	return fl.l_type != F_UNLCK;
}
