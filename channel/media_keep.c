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

/* A file is as old as the last message that it came with or that quoted it; what a waiting or
 * running message needs is not looked at. */
#define KEPT \
	"SELECT path FROM channel_media m WHERE state = 1 AND NOT EXISTS (SELECT 1 FROM" \
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

static int remove_file(const struct room *r, const char *path, struct err *e)
{
	char whole[PATH_SIZE];

	if (path_join(whole, r->media, path, e) < 0 || file_remove(whole, e) < 0)
		return -1;
	remove_folders(whole);
	return sql_run(r->db, e,
		"UPDATE channel_media SET state = 3, path = '', hear = 0 WHERE path = ? AND state = 1",
		"s", path);
}

/* 1: one was removed. */
static int remove_oldest(const struct room *r, int64_t before, struct err *e)
{
	char path[MEDIA_PATH_MAX + 1];
	struct stmt *s = NULL;
	int rc;

	if (sql_open(&s, r->db, e, KEPT " HAVING max(at) < ? ORDER BY max(at), max(id) LIMIT 1",
		    "l", before) < 0)
		return -1;
	rc = stmt_step(s, e);
	if (rc == 1 && copy_z(path, sizeof(path), stmt_col_text(s, 0)) < 0)
		rc = err_set(e, E_FORMAT, "the path of a received file is too long");
	stmt_close(&s);
	return rc == 1 && remove_file(r, path, e) < 0 ? -1 : rc;
}

int media_prune(const struct room *r, struct err *e)
{
	int64_t files, bytes, old = room_age(r) - r->media_days * DAY_MS;
	int rc;

	while ((rc = remove_oldest(r, old, e)) == 1)
		;
	while (rc == 0 && (rc = media_usage(r, &files, &bytes, e)) == 0 && bytes >= r->media_keep)
		if ((rc = remove_oldest(r, INT64_MAX, e)) == 0)
			break; /* all that is left is needed */
		else
			rc = rc == 1 ? 0 : -1;
	if (rc < 0)
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
