#include "tools/exec/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* --- Roots ------------------------------------------------------------------------------------ */

/* Absolute, and no link in it either. */
static int open_folder(const char *path)
{
	int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = top < 0 ? -1 : file_open_beneath(top, path + 1, O_PATH | O_DIRECTORY);

	if (top >= 0)
		(void)close(
			top); /* leaves errno alone: an O_PATH descriptor has nothing to write */
	return fd;
}

int roots_add(struct roots *r, struct view path, bool writable, struct err *e)
{
	struct root *root = &r->list[r->n];

	if (r->n == ROOTS_MAX)
		return err_set(e, E_FULL, "more than %d folders for tools", ROOTS_MAX);
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	if (path.n < 2 || path.p[0] != '/' || copy_z(root->path, sizeof(root->path), path) < 0)
		return err_set(e, E_DENIED, "a folder for tools must be an absolute path below /");
	root->fd = open_folder(root->path);
	if (root->fd < 0 && errno == ENOSYS)
		return err_set(e, E_UNSUPPORTED,
			"this kernel has no openat2 (Linux 5.6 or newer is needed for file tools)");
	if (root->fd < 0)
		return err_sys(e, "the folder %s", root->path);
	root->writable = writable;
	r->n++;
	return 0;
}

/* What is left of path below a folder, or false. */
static bool below(const char *folder, struct view path, struct view *rest)
{
	size_t n = strlen(folder);

	if (!view_starts(path, (struct view){ folder, n }))
		return false;
	*rest = view_from(path, n);
	return rest->n == 0 || rest->p[0] == '/';
}

bool roots_cover(const struct roots *r, struct view path)
{
	struct view rest;

	for (int i = 0; i < r->n; i++)
		if (r->list[i].writable && below(r->list[i].path, path, &rest))
			return true;
	return false;
}

void roots_miss(struct roots *r, struct view path)
{
	if (copy_z(r->closed, sizeof(r->closed), path) < 0)
		r->closed[0] = '\0';
	r->who = geteuid(); /* behind the fence nobody can say */
}

void roots_release(struct roots *r)
{
	for (int i = 0; i < r->n; i++)
		(void)close(r->list[i].fd);
	r->n = 0;
}

/* --- Places ----------------------------------------------------------------------------------- */

static void show(char out[256], struct view path)
{
	struct str s = STR_INIT((size_t)4 * PATH_SIZE);

	if (text_visible(view_cut(path, 1024), &s) < 0)
		str_reset(&s);
	if (copy_z(out, 256, view_cut(str_view(&s), utf8_cut(str_view(&s), 200))) < 0)
		out[0] = '\0';
	str_release(&s);
}

/* "a//b/./c/" is "a/b/c"; ".." stays, the kernel judges it. */
static int tidy(char rel[PATH_SIZE], struct view v)
{
	struct str s = STR_INIT(PATH_SIZE - 1);
	int rc;

	while (v.n > 0) {
		struct view part = view_cut(v, view_find(v, '/'));

		v = view_from(v, part.n + 1);
		if (part.n == 0 || view_eqs(part, "."))
			continue;
		if (s.n > 0)
			(void)str_addc(&s, '/');
		(void)str_add(&s, part);
	}
	if (s.n == 0)
		(void)str_addc(&s, '.');
	rc = str_ok(&s) ? copy_z(rel, PATH_SIZE, str_view(&s)) : -1;
	str_release(&s);
	return rc;
}

static int say_outside(const struct place *p, const struct roots *r, struct view path,
	struct err *e)
{
	struct view rest;

	if (r->closed[0] && below(r->closed, path, &rest))
		return err_set(e, E_DENIED,
			"%s is out of reach: tools work as user %u, who owns the workspace and may "
			"not look there; the operator can run kairo as that user",
			p->shown, (unsigned)r->who);
	return err_set(e, E_DENIED, "%s lies outside the workspace %s", p->shown, r->list[0].path);
}

int place_find(struct place *out, const struct roots *r, struct view path, struct err *e)
{
	struct view rest = path;

	show(out->shown, path);
	out->root = NULL;
	if (path.n == 0 || path.n >= PATH_SIZE || memchr(path.p, '\0', path.n))
		return err_set(e, E_FORMAT, "a path must have 1 to %d bytes and no NUL",
			PATH_SIZE - 1);
	if (path.p[0] != '/') {
		out->root = &r->list[0];
	} else {
		size_t longest = 0;

		for (int i = 0; i < r->n; i++) {
			struct view left;

			if (below(r->list[i].path, path, &left) && path.n - left.n > longest) {
				longest = path.n - left.n;
				out->root = &r->list[i];
				rest = left;
			}
		}
		if (!out->root)
			return say_outside(out, r, path, e);
	}
	if (tidy(out->rel, rest) < 0)
		return err_set(e, E_FORMAT, "the path is too long");
	return 0;
}

static int say_why(const struct place *p, struct err *e)
{
	switch (errno) {
	case ELOOP:
		return err_set(e, E_DENIED,
			"%s has a symbolic link in its path: links are not followed", p->shown);
	case EXDEV: return err_set(e, E_DENIED, "%s leads out of the workspace", p->shown);
	case ENOENT: return err_set(e, E_NOTFOUND, "there is no %s", p->shown);
	case ENOTDIR:
		return err_set(e, E_FORMAT, "%s is not a folder, or lies below a file", p->shown);
	case EACCES:
	case EPERM: return err_set(e, E_DENIED, "%s: permission denied", p->shown);
	default: return err_sys(e, "%s", p->shown);
	}
}

/* The folder above rel, and the last component. */
static int open_above(const struct place *p, const char **name)
{
	char dir[PATH_SIZE];
	const char *slash = strrchr(p->rel, '/');

	*name = slash ? slash + 1 : p->rel;
	if (!slash)
		return file_open_beneath(p->root->fd, ".", O_PATH | O_DIRECTORY);
	if (copy_z(dir, sizeof(dir), (struct view){ p->rel, (size_t)(slash - p->rel) }) < 0)
		return -1;
	return file_open_beneath(p->root->fd, dir, O_PATH | O_DIRECTORY);
}

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "a file";
	case S_IFDIR: return "a folder";
	case S_IFLNK: return "a symbolic link (links are not followed)";
	case S_IFIFO: return "a named pipe";
	case S_IFSOCK: return "a socket";
	case S_IFCHR:
	case S_IFBLK: return "a device";
	default: return "of an unknown kind";
	}
}

int place_stat(const struct place *p, struct stat *st, struct err *e)
{
	const char *name;
	int rc, dir = open_above(p, &name);

	if (dir < 0)
		return say_why(p, e);
	/* "x/.." as a whole: the kernel may only see it together with the root. */
	if (strcmp(name, "..") == 0) {
		int fd = file_open_beneath(p->root->fd, p->rel, O_PATH);

		rc = fd < 0 ? -1 : fstat(fd, st);
		if (fd >= 0)
			(void)close(fd);
	} else {
		rc = fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);
	}
	if (rc < 0)
		(void)say_why(p, e);
	(void)close(dir);
	return rc;
}

static int check_file(const struct place *p, const struct stat *st, struct err *e)
{
	if (!S_ISREG(st->st_mode))
		return err_set(e, E_DENIED, "%s is %s, not a regular file", p->shown,
			kind_of(st->st_mode));
	if (st->st_nlink > 1)
		return err_set(e, E_DENIED,
			"%s has more than one hard link, so it may also lie outside the workspace",
			p->shown);
	return 0;
}

int place_open_file(const struct place *p, struct stat *st, struct err *e)
{
	int fd;

	/* Looked at before it is opened: opening a device can already do something. */
	if (place_stat(p, st, e) < 0 || check_file(p, st, e) < 0)
		return -1;
	fd = file_open_beneath(p->root->fd, p->rel, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return say_why(p, e);
	if (fstat(fd, st) < 0 ? err_sys(e, "%s", p->shown) : check_file(p, st, e)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

int place_open_dir(const struct place *p, struct err *e)
{
	int fd = file_open_beneath(p->root->fd, p->rel, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

	return fd < 0 ? say_why(p, e) : fd;
}

/* --- Parents for writing ---------------------------------------------------------------------- */

struct making {
	void (*before)(void *);
	void *arg;
	int *made;
};

static int step_into(int dir, const char *part, const struct making *m)
{
	int next = file_open_beneath(dir, part, O_PATH | O_DIRECTORY);

	if (next >= 0 || errno != ENOENT)
		return next;
	m->before(m->arg);
	if (mkdirat(dir, part, 0700) == 0)
		++*m->made;
	else if (errno != EEXIST)
		return -1;
	return file_open_beneath(dir, part, O_PATH | O_DIRECTORY);
}

/* A repository's own folder runs code for whoever uses it next (hooks, filters). */
static bool is_git(struct view part)
{
	return part.n == 4 && strncasecmp(part.p, ".git", 4) == 0;
}

int place_may_write(const struct place *p, struct err *e)
{
	if (!p->root->writable)
		return err_set(e, E_DENIED, "%s may only be read", p->shown);
	for (struct view v = view_of(p->rel); v.n > 0;) {
		struct view part = view_cut(v, view_find(v, '/'));

		v = view_from(v, part.n + 1);
		if (part.n > 255)
			return err_set(e, E_FORMAT, "a name in %s is longer than 255 bytes",
				p->shown);
		if (view_eqs(part, ".") || view_eqs(part, ".."))
			return err_set(e, E_DENIED, "write to a plain path without \"..\", not %s",
				p->shown);
		if (is_git(part))
			return err_set(e, E_DENIED, "files in .git are not written by tools");
	}
	return 0;
}

int place_open_parent(const struct place *p, char name[256], void (*before)(void *), void *arg,
	int *made, struct err *e)
{
	const struct making m = { before, arg, made };
	struct view rest = view_of(p->rel);
	int dir;

	*made = 0;
	if (place_may_write(p, e) < 0)
		return -1;
	dir = file_open_beneath(p->root->fd, ".", O_PATH | O_DIRECTORY);
	while (dir >= 0) {
		struct view part = view_cut(rest, view_find(rest, '/'));
		int next;

		(void)copy_z(name, 256, part);
		rest = view_from(rest, part.n + 1);
		if (rest.n == 0)
			return dir;
		next = step_into(dir, name, &m);
		(void)close(dir);
		dir = next;
	}
	return say_why(p, e);
}

void place_drop_parents(const struct place *p, int made)
{
	struct place up = *p;

	while (made > 0) {
		char *slash = strrchr(up.rel, '/');
		const char *name;
		int above;

		if (!slash)
			return;
		*slash = '\0';
		above = open_above(&up, &name);
		if (above < 0)
			return;
		if (unlinkat(above, name, AT_REMOVEDIR) == 0)
			made--;
		else if (errno != ENOENT)
			made = 0;
		(void)close(above);
	}
}

int folder_sync(int dir)
{
	int fd = file_open_beneath(dir, ".", O_RDONLY | O_DIRECTORY), rc;

	if (fd < 0)
		return -1;
	rc = fsync(fd);
	(void)close(fd);
	return rc;
}
