/* How long files are kept, and what is left of those that nobody knows. */
#include "channel/media-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel/sql.h"

#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)

#define BATCH 64 /* files that are looked for, and removed, at once */

/* A file is as old as the last message that it came with or that quoted it; what a waiting or
 * running message needs is not looked at. */
#define KEPT \
	"SELECT path, max(size) FROM channel_media m WHERE state = 1 AND NOT EXISTS (SELECT 1 FROM" \
	" channel_media n JOIN channel_inbox i ON i.seq = n.seq WHERE n.path = m.path" \
	" AND i.state IN (0, 1)) GROUP BY path"

/* --- Removing --------------------------------------------------------------------------------- */

/* The folders that are empty now; those that are not stay. */
static void remove_folders(const char *path)
{
	char dir[PATH_SIZE];

	(void)copy_z(dir, sizeof(dir), view_of(path));
	for (int level = 0; level < 2; level++) {
		*strrchr(dir, '/') = '\0';
		if (rmdir(dir) < 0)
			return;
	}
}

/* Not synced: what a crash brings back is swept, since no row knows it. */
static int remove_file(const struct room *r, const char *path, struct err *e)
{
	char whole[PATH_SIZE];

	if (path_join(whole, r->media, path, e) < 0)
		return -1;
	if (unlink(whole) < 0 && errno != ENOENT)
		return err_sys(e, "cannot remove %s", whole);
	remove_folders(whole);
	return sql_run(r->db, e,
		"UPDATE channel_media SET state = 3, path = '', hear = 0 WHERE path = ? AND state = 1",
		"s", path);
}

struct batch {
	char path[BATCH][MEDIA_PATH_MAX + 1];
	int n;
};

/* The oldest of those from before, until `bytes` would be free. */
static int find_oldest(const struct room *r, int64_t before, int64_t bytes, struct batch *b,
	struct err *e)
{
	struct stmt *s = NULL;
	int rc = 1;

	b->n = 0;
	if (sql_open(&s, r->db, e, KEPT " HAVING max(at) < ? ORDER BY max(at), max(id) LIMIT ?",
		    "li", before, BATCH) < 0)
		return -1;
	while (bytes > 0 && (rc = stmt_step(s, e)) == 1) {
		if (copy_z(b->path[b->n], sizeof(b->path[0]), stmt_col_text(s, 0)) < 0) {
			rc = err_set(e, E_FORMAT, "the path of a received file is too long");
			break;
		}
		b->n++;
		bytes -= stmt_col_int(s, 1);
	}
	stmt_close(&s);
	return rc < 0 ? -1 : 0;
}

/* How many were removed, or -1: then those ahead of the one that stays were. A crash before the
 * commit leaves rows whose file is gone already: they are removed again. */
static int remove_oldest(const struct room *r, int64_t before, int64_t bytes, struct err *e)
{
	struct batch b;
	int rc = find_oldest(r, before, bytes, &b, e);

	if (rc < 0 || b.n == 0)
		return rc;
	if (db_begin(r->db, e) < 0)
		return -1;
	for (int i = 0; rc == 0 && i < b.n; i++)
		rc = remove_file(r, b.path[i], e);
	return sql_end(r->db, 0, e) < 0 || rc < 0 ? -1 : b.n;
}

int media_prune(const struct room *r, struct err *e)
{
	int64_t files, bytes, old = room_age(r) - r->media_days * DAY_MS;
	int n;

	while ((n = remove_oldest(r, old, INT64_MAX, e)) == BATCH)
		;
	/* n 0: all that is left is needed. */
	for (n = n < 0 ? -1 : 1; n > 0;) {
		if (media_usage(r, &files, &bytes, e) < 0)
			return -1;
		n = bytes < r->media_keep
		            ? 0
		            : remove_oldest(r, INT64_MAX, bytes - r->media_keep + 1, e);
	}
	if (n < 0)
		return -1;
	return sql_run(r->db, e,
		"DELETE FROM channel_media WHERE state <> 1 AND seq NOT IN"
		" (SELECT seq FROM channel_inbox)",
		NULL);
}

/* --- Sweeping --------------------------------------------------------------------------------- */

/* 1: a row knows it. */
static int known(const struct room *r, const char *path, struct err *e)
{
	int64_t n;

	return sql_int(r->db, e, &n, "SELECT 1 FROM channel_media WHERE path = ? AND state = 1",
		"s", path);
}

static int each(const struct room *r, int dir, const char *path, int level, struct err *e);

static int sweep_entry(const struct room *r, int dir, const char *path, const char *name, int level,
	struct err *e)
{
	char whole[PATH_SIZE];
	int fd, rc;

	if (!*path)
		(void)copy_z(whole, sizeof(whole), view_of(name));
	else if (path_join(whole, path, name, e) < 0)
		return -1;
	if (level < 2) {
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		return fd < 0 ? 0 : each(r, fd, whole, level + 1, e);
	}
	rc = known(r, whole, e);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	log_info(r->log, "media", "%s was left by a fetch that a crash cut off; it is removed",
		whole);
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT && errno != EISDIR)
		return err_sys(e, "cannot remove %s", whole);
	return 0;
}

/* Takes the descriptor. Levels: the folder of all, of a user, of a day. */
static int each(const struct room *r, int dir, const char *path, int level, struct err *e)
{
	DIR *list = fdopendir(dir);
	struct dirent *d;
	int rc = 0;

	if (!list) {
		close(dir);
		return err_sys(e, "cannot list a folder of received files");
	}
	while (rc == 0 && (d = readdir(list)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			rc = sweep_entry(r, dir, path, d->d_name, level, e);
	closedir(list);
	return rc;
}

int media_sweep(const struct room *r, struct err *e)
{
	int dir = file_open_dir(r->media, e);

	return dir < 0 ? -1 : each(r, dir, "", 0, e);
}
