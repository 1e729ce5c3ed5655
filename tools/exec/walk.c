#include "tools/exec/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* --- One folder ------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static int names_add(struct names *names, const char *name)
{
	if (names->n == names->cap) {
		size_t cap = names->cap ? 2 * names->cap : 64;
		char **list = reallocarray(names->list, cap, sizeof(*list));

		if (!list)
			return -1;
		names->list = list;
		names->cap = cap;
	}
	names->list[names->n] = strdup(name);
	if (!names->list[names->n])
		return -1;
	names->n++;
	return 0;
}

int names_read(struct names *out, int dirfd, struct err *e)
{
	DIR *d = fdopendir(dirfd);
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!d) {
		(void)close(dirfd);
		return err_sys(e, "reading a folder");
	}
	while (rc == 0) {
		const struct dirent *entry;

		errno = 0;
		entry = readdir(d);
		if (!entry) {
			if (errno)
				rc = err_sys(e, "reading a folder");
			break;
		}
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (out->n == WALK_DIR_MAX) {
			out->cut = true;
			break;
		}
		if (names_add(out, entry->d_name) < 0)
			rc = err_set(e, E_NOMEM, "a folder of %zu entries", out->n);
	}
	(void)closedir(d);
	if (rc < 0)
		names_release(out);
	else if (out->n > 0)
		qsort(out->list, out->n, sizeof(*out->list), by_bytes);
	return rc;
}

void names_release(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names->list);
	memset(names, 0, sizeof(*names));
}

static enum walk_kind kind_of(int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return WALK_OTHER;
	if (S_ISREG(st.st_mode))
		return WALK_FILE;
	if (S_ISDIR(st.st_mode))
		return WALK_DIR;
	return S_ISLNK(st.st_mode) ? WALK_LINK : WALK_OTHER;
}

/* --- A tree ----------------------------------------------------------------------------------- */

struct level {
	struct names names;
	size_t next;
	int fd;
	size_t path_len; /* of the folder's own path */
};

struct walk {
	struct tool_job *job;
	struct level level[WALK_DEPTH_MAX];
	int depth;
	size_t seen;
	struct str path;
	struct walk_gaps *gaps;
};

static int level_push(struct walk *w, int dirfd, struct err *e)
{
	struct level *l = &w->level[w->depth];
	int own = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);

	if (own < 0) {
		(void)close(dirfd);
		return err_sys(e, "reading a folder");
	}
	if (names_read(&l->names, dirfd, e) < 0) {
		(void)close(own);
		return -1;
	}
	l->fd = own;
	l->next = 0;
	l->path_len = w->path.n;
	w->gaps->entries |= l->names.cut;
	w->depth++;
	return 0;
}

static void level_pop(struct walk *w)
{
	struct level *l = &w->level[--w->depth];

	names_release(&l->names);
	(void)close(l->fd);
}

static void go_down(struct walk *w, const struct level *l, const char *name)
{
	int fd;

	if (strcmp(name, ".git") == 0)
		return;
	if (w->depth == WALK_DEPTH_MAX) {
		w->gaps->depth = true;
		return;
	}
	fd = file_open_beneath(l->fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd < 0 || level_push(w, fd, NULL) < 0)
		w->gaps->unreadable++;
}

/* One entry of the deepest folder. False: the walk is over. */
static bool walk_step(struct walk *w, walk_fn *fn, void *arg)
{
	struct level *l = &w->level[w->depth - 1];
	struct walk_entry entry;
	enum walk_next next;

	if (l->next == l->names.n) {
		level_pop(w);
		return w->depth > 0;
	}
	if (++w->seen > WALK_TOTAL_MAX) {
		w->gaps->entries = true;
		return false;
	}
	if (w->seen % 64 == 0 && job_over(w->job)) {
		w->gaps->time = true;
		return false;
	}
	entry.name = l->names.list[l->next++];
	str_truncate(&w->path, l->path_len);
	if (w->path.n > 0)
		(void)str_addc(&w->path, '/');
	if (str_adds(&w->path, entry.name) < 0)
		return false;
	entry.path = str_view(&w->path);
	entry.kind = kind_of(l->fd, entry.name);
	entry.dirfd = l->fd;
	next = fn(arg, &entry);
	if (next == WALK_ON && entry.kind == WALK_DIR)
		go_down(w, l, entry.name);
	return next != WALK_STOP;
}

int walk_run(struct tool_job *j, int dirfd, walk_fn *fn, void *arg, struct walk_gaps *gaps,
	struct err *e)
{
	struct walk *w = calloc(1, sizeof(*w));
	struct str path = STR_INIT((size_t)WALK_DEPTH_MAX * 256);
	int rc = -1;

	if (!w) {
		(void)close(dirfd);
		return err_set(e, E_NOMEM, "a walk through folders");
	}
	w->job = j;
	w->gaps = gaps;
	w->path = path;
	if (level_push(w, dirfd, e) == 0) {
		while (walk_step(w, fn, arg))
			;
		rc = 0;
	}
	while (w->depth > 0)
		level_pop(w);
	str_release(&w->path);
	free(w);
	return rc;
}

void walk_say_gaps(const struct walk_gaps *gaps, struct str *out)
{
	if (gaps->entries)
		(void)str_adds(out, "[partial: too many entries; narrow the path]\n");
	if (gaps->depth)
		(void)str_addf(out, "[partial: folders nested deeper than %d were left out]\n",
			WALK_DEPTH_MAX);
	if (gaps->time)
		(void)str_adds(out, "[partial: the time was up; narrow the path]\n");
	if (gaps->unreadable)
		(void)str_addf(out, "[%zu folders could not be read]\n", gaps->unreadable);
}
