#include "tools/exec/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/exec/leftover.h"

/* --- What is there ---------------------------------------------------------------------------- */

/* A file that was made read-only stays as it is, though a rename could replace it. */
static int check_writable(const struct change *c, struct err *e)
{
	int fd = file_open_beneath(c->dir, c->name, O_WRONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		return err_set(e, E_DENIED, "%s is read-only", c->place.shown);
	if (fd >= 0)
		(void)close(fd);
	return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int changed_meanwhile(const struct change *c, struct err *e)
{
	return err_set(e, E_CONFLICT, "%s was changed by somebody else meanwhile; read it again",
		c->place.shown);
}

static int check_target(const struct change *c, struct err *e)
{
	struct stat st;

	if (fstatat(c->dir, c->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return err_sys(e, "%s", c->place.shown);
		return c->kind == CHANGE_CREATE ? 0 : changed_meanwhile(c, e);
	}
	if (S_ISDIR(st.st_mode))
		return err_set(e, E_DENIED, "%s is a folder", c->place.shown);
	if (S_ISLNK(st.st_mode))
		return err_set(e, E_DENIED, "%s is a symbolic link: links are not followed",
			c->place.shown);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_DENIED, "%s is not a regular file", c->place.shown);
	if (st.st_nlink > 1)
		return err_set(e, E_DENIED,
			"%s has more than one hard link, so it may also lie outside the workspace",
			c->place.shown);
	if (c->kind == CHANGE_CREATE || !same_file(&st, &c->was))
		return changed_meanwhile(c, e);
	return check_writable(c, e);
}

/* --- Staging ---------------------------------------------------------------------------------- */

static int write_all(const struct tool_job *j, const struct change *c, int fd, struct err *e)
{
	struct view rest = c->content;

	while (rest.n > 0) {
		ssize_t n;

		if (job_stopped(j))
			return err_set(e, E_CANCELLED, "stopped; %s is as it was", c->place.shown);
		n = write(fd, rest.p, rest.n < 65536 ? rest.n : 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "writing %s", c->place.shown);
		rest = view_from(rest, (size_t)n);
	}
	return 0;
}

static int fill_temp(const struct tool_job *j, struct change *c, int fd, struct err *e)
{
	if (write_all(j, c, fd, e) < 0)
		return -1;
	/* Whose it was may only be kept by root; as for everybody else, a failure is no matter. */
	if (c->kind == CHANGE_REPLACE && fchown(fd, c->was.st_uid, c->was.st_gid) < 0)
		errno = 0;
	if (c->kind == CHANGE_REPLACE && fchmod(fd, c->was.st_mode & 0777) < 0)
		return err_sys(e, "the mode of %s", c->place.shown);
	if (fsync(fd) < 0 || fstat(fd, &c->made) < 0)
		return err_sys(e, "writing %s", c->place.shown);
	return 0;
}

/* The new content under a name of its own, safely on disk. */
static int write_temp(const struct tool_job *j, struct change *c, struct err *e)
{
	int fd, rc;

	leftover_file_name(c->temp);
	fd = openat(c->dir, c->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		c->temp[0] = '\0';
		return err_sys(e, "creating a file beside %s", c->place.shown);
	}
	rc = fill_temp(j, c, fd, e);
	if (close(fd) < 0 && rc == 0)
		rc = err_sys(e, "writing %s", c->place.shown);
	return rc;
}

static void before_change(void *job)
{
	job_acting(job);
}

static int reach(struct tool_job *j, struct change *c, struct err *e)
{
	c->dir = place_open_parent(&c->place, c->name, before_change, j, &c->folders, e);
	return c->dir < 0 ? -1 : check_target(c, e);
}

static int stage(struct tool_job *j, struct change *c, struct err *e)
{
	job_acting(j);
	leftover_sweep(c->dir);
	return c->kind == CHANGE_REMOVE ? 0 : write_temp(j, c, e);
}

/* --- Putting in place ------------------------------------------------------------------------- */

static int move_name(const struct change *c, const char *from, const char *to, unsigned flags)
{
	return renameat2(c->dir, from, c->dir, to, flags);
}

/* The old file goes to a name of its own. A process that is killed right then leaves the place
 * empty: only where the file system cannot exchange two names. */
static int set_aside(struct change *c)
{
	char content[sizeof(c->temp)];

	memcpy(content, c->temp, sizeof(content));
	leftover_file_name(c->temp);
	if (move_name(c, c->name, c->temp, RENAME_NOREPLACE) < 0) {
		memcpy(c->temp, content, sizeof(content));
		return -1;
	}
	c->done = true;
	if (content[0] && move_name(c, content, c->name, RENAME_NOREPLACE) < 0) {
		int why = errno;

		(void)unlinkat(c->dir, content, 0);
		errno = why;
		return -1;
	}
	return 0;
}

static int put_in_place(struct change *c)
{
	int rc;

	if (c->kind == CHANGE_REMOVE)
		return set_aside(c);
	rc = move_name(c, c->temp, c->name,
		c->kind == CHANGE_CREATE ? RENAME_NOREPLACE : RENAME_EXCHANGE);
	if (rc < 0 && errno == EINVAL && c->kind == CHANGE_REPLACE)
		return set_aside(c);
	if (rc == 0)
		c->done = true;
	if (rc == 0 && c->kind == CHANGE_CREATE)
		c->temp[0] = '\0';
	return rc;
}

/* What was moved aside must be what the change was made for. */
static int publish(struct change *c, struct err *e)
{
	struct stat st;

	if (put_in_place(c) < 0)
		return errno == EEXIST || errno == ENOENT
		               ? changed_meanwhile(c, e)
		               : err_sys(e, "putting %s in place", c->place.shown);
	if (c->kind == CHANGE_CREATE)
		return 0;
	if (fstatat(c->dir, c->temp, &st, AT_SYMLINK_NOFOLLOW) < 0 || !same_file(&st, &c->was))
		return changed_meanwhile(c, e);
	return 0;
}

/* --- The end ---------------------------------------------------------------------------------- */

static int take_back(struct change *c)
{
	struct stat st;

	if (!c->done)
		return 0;
	if (c->kind != CHANGE_CREATE) {
		if (move_name(c, c->temp, c->name, 0) < 0)
			return -1;
		c->temp[0] = '\0';
	} else if (fstatat(c->dir, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		   same_file(&st, &c->made) && unlinkat(c->dir, c->name, 0) < 0) {
		return -1; /* ours only: somebody may have put another in its place */
	}
	c->done = false;
	return 0;
}

/* The first that cannot be taken back, or NULL. */
static const struct change *take_all_back(struct change *list, size_t n)
{
	const struct change *stuck = NULL;

	for (size_t i = n; i-- > 0;)
		if (take_back(&list[i]) < 0)
			stuck = &list[i];
	return stuck;
}

static void say_stuck(const struct change *c, struct err *e)
{
	char why[ERR_MSG_MAX];

	(void)copy_z(why, sizeof(why), view_cut(view_of(e->msg), 90));
	if (c->kind == CHANGE_CREATE)
		(void)err_set(e, E_IO, "%s; and %.60s, which was new, could not be removed again",
			why, c->place.shown);
	else
		(void)err_set(e, E_IO,
			"%s; and %.60s could not be put back: its old content is in %s beside it",
			why, c->place.shown, c->temp);
}

static void finish(struct change *list, size_t n, bool made)
{
	for (size_t i = 0; i < n; i++) {
		struct change *c = &list[i];

		/* Of one that could not be taken back it is the old content. */
		if (c->dir >= 0 && c->temp[0] && (made || !c->done))
			(void)unlinkat(c->dir, c->temp, 0);
		if (c->dir >= 0)
			(void)folder_sync(c->dir);
	}
	for (size_t i = n; i-- > 0;) {
		if (!made)
			place_drop_parents(&list[i].place, list[i].folders);
		if (list[i].dir >= 0)
			(void)close(list[i].dir);
		list[i].dir = -1;
	}
}

/* What cannot be done is found out before anything is. */
static int stage_all(struct tool_job *j, struct change *list, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (reach(j, &list[i], e) < 0)
			return -1;
	for (size_t i = 0; i < n; i++)
		if (stage(j, &list[i], e) < 0)
			return -1;
	return 0;
}

static int publish_all(const struct tool_job *j, struct change *list, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		if (job_stopped(j))
			return err_set(e, E_CANCELLED, "stopped; %s is as it was",
				list[0].place.shown);
		if (publish(&list[i], e) < 0)
			return -1;
	}
	return 0;
}

int changes_make(struct tool_job *j, struct change *list, size_t n, struct err *e)
{
	const struct change *stuck = NULL;
	int rc;

	for (size_t i = 0; i < n; i++) {
		list[i].dir = -1;
		list[i].temp[0] = '\0';
		list[i].folders = 0;
		list[i].done = false;
	}
	rc = stage_all(j, list, n, e);
	if (rc == 0)
		rc = publish_all(j, list, n, e);
	if (rc < 0)
		stuck = take_all_back(list, n);
	if (stuck)
		say_stuck(stuck, e);
	finish(list, n, rc == 0);
	return rc;
}

/* --- Counting --------------------------------------------------------------------------------- */

/* One without a line end at the end counts. */
static size_t count_lines(struct view text)
{
	size_t n = 0;

	for (; text.n > 0; n++)
		text = view_from(text, view_find(text, '\n') + 1);
	return n;
}

static struct view last_line(struct view text)
{
	const char *lf = text.n > 1 ? memrchr(text.p, '\n', text.n - 1) : NULL;

	return lf ? view_from(text, (size_t)(lf - text.p) + 1) : text;
}

void count_changed(struct view old, struct view new, size_t *removed, size_t *added)
{
	while (old.n > 0 && new.n > 0) {
		struct view a = view_cut(old, view_find(old, '\n') + 1);

		if (!view_eq(a, view_cut(new, view_find(new, '\n') + 1)))
			break;
		old = view_from(old, a.n);
		new = view_from(new, a.n);
	}
	while (old.n > 0 && new.n > 0) {
		struct view a = last_line(old);

		if (!view_eq(a, last_line(new)))
			break;
		old.n -= a.n;
		new.n -= a.n;
	}
	*removed = count_lines(old);
	*added = count_lines(new);
}
