/* write_file: create a file or replace it whole. The old content stands until the new one is on
 * disk. */
#include "tools/exec/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define CONTENT_MAX ((size_t)1 << 20)

struct write {
	struct tool_job *job;
	struct place place;
	struct view content;
	int dir; /* of the file */
	char name[256];
	char temp[40]; /* "" when there is none */
	struct stat old;
	bool replaces;
};

static void before_change(void *arg)
{
	struct write *w = arg;

	job_acting(w->job);
}

/* A file that was made read-only stays as it is, though a rename could replace it. */
static int check_writable(struct write *w, struct err *e)
{
	int fd = open_beneath(w->dir, w->name, O_WRONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		return err_set(e, E_DENIED, "%s is read-only", w->place.shown);
	if (fd >= 0)
		(void)close(fd);
	return 0;
}

static int look_at_target(struct write *w, struct err *e)
{
	w->replaces = fstatat(w->dir, w->name, &w->old, AT_SYMLINK_NOFOLLOW) == 0;
	if (!w->replaces)
		return errno == ENOENT ? 0 : err_sys(e, "%s", w->place.shown);
	if (S_ISDIR(w->old.st_mode))
		return err_set(e, E_DENIED, "%s is a folder", w->place.shown);
	if (S_ISLNK(w->old.st_mode))
		return err_set(e, E_DENIED, "%s is a symbolic link: links are not followed",
			w->place.shown);
	if (!S_ISREG(w->old.st_mode))
		return err_set(e, E_DENIED, "%s is not a regular file", w->place.shown);
	if (w->old.st_nlink > 1)
		return err_set(e, E_DENIED,
			"%s has more than one hard link, so it may also lie outside the workspace",
			w->place.shown);
	return check_writable(w, e);
}

static int write_all(struct write *w, int fd, struct err *e)
{
	struct view rest = w->content;

	while (rest.n > 0) {
		ssize_t n;

		if (job_stopped(w->job))
			return err_set(e, E_CANCELLED, "stopped; %s is as it was", w->place.shown);
		n = write(fd, rest.p, rest.n < 65536 ? rest.n : 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "writing %s", w->place.shown);
		rest = view_from(rest, (size_t)n);
	}
	return 0;
}

/* The new content under a name of its own, safely on disk. */
static int write_temp(struct write *w, struct err *e)
{
	char hex[17];
	int fd, rc = -1;

	rand_hex(hex, 8);
	(void)snprintf(w->temp, sizeof(w->temp), ".kairo-%s.tmp", hex);
	job_acting(w->job);
	fd = openat(w->dir, w->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		w->temp[0] = '\0';
		return err_sys(e, "creating a file beside %s", w->place.shown);
	}
	if (write_all(w, fd, e) < 0)
		goto out;
	/* Whose it was may only be kept by root; as for everybody else, a failure is no matter. */
	if (w->replaces && fchown(fd, w->old.st_uid, w->old.st_gid) < 0)
		errno = 0;
	if (w->replaces && fchmod(fd, w->old.st_mode & 0777) < 0)
		rc = err_sys(e, "the mode of %s", w->place.shown);
	else if (fsync(fd) < 0)
		rc = err_sys(e, "writing %s", w->place.shown);
	else
		rc = 0;
out:
	if (close(fd) < 0 && rc == 0)
		rc = err_sys(e, "writing %s", w->place.shown);
	return rc;
}

static int publish(struct write *w, struct err *e)
{
	/* What was not there a moment ago must not be there now either. */
	unsigned flags = w->replaces ? 0 : RENAME_NOREPLACE;
	int fd;

	if (job_stopped(w->job))
		return err_set(e, E_CANCELLED, "stopped; %s is as it was", w->place.shown);
	if (renameat2(w->dir, w->temp, w->dir, w->name, flags) < 0) {
		if (errno != EINVAL || !flags || renameat(w->dir, w->temp, w->dir, w->name) < 0)
			return err_sys(e, "putting %s in place", w->place.shown);
	}
	w->temp[0] = '\0';
	fd = open_beneath(w->dir, ".", O_RDONLY | O_DIRECTORY);
	if (fd >= 0) {
		(void)fsync(fd);
		(void)close(fd);
	}
	return 0;
}

static int run(struct write *w, struct err *e)
{
	w->dir = place_open_parent(&w->place, w->name, before_change, w, e);
	if (w->dir < 0)
		return -1;
	if (look_at_target(w, e) < 0 || write_temp(w, e) < 0 || publish(w, e) < 0)
		return -1;
	(void)str_addf(w->job->out, "[%s %s: %zu bytes]\n", w->replaces ? "replaced" : "created",
		w->place.shown, w->content.n);
	return 0;
}

int tool_write_file(struct tool_job *j, struct err *e)
{
	struct write w = { .job = j, .dir = -1 };
	int rc;

	if (job_place(j, NULL, &w.place, e) < 0 ||
		json_get_str(j->args, "content", JSON_REQUIRED, 0, CONTENT_MAX, &w.content, e) < 0)
		return -1;
	rc = run(&w, e);
	if (w.temp[0])
		(void)unlinkat(w.dir, w.temp, 0);
	if (w.dir >= 0)
		(void)close(w.dir);
	return rc;
}
