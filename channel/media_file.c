/* One file on its way into the folder: under a temporary name that no file of a user's can have,
 * and under its own once it is whole. */
#include "channel/media-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/testhook.h"

#define COPIES_MAX 10000

/* --- Opening ---------------------------------------------------------------------------------- */

static int make_day(const struct room *r, const char *user, struct media_part *p, struct err *e)
{
	char key[MEDIA_KEY_HEX + 1], path[PATH_SIZE];
	time_t now = (time_t)(loop_wall(r->loop) / 1000);
	struct tm tm;
	size_t n;

	media_user_key(key, user);
	if (path_join(path, r->media, key, e) < 0 || file_mkdir_private(path, e) < 0)
		return -1;
	if (!localtime_r(&now, &tm))
		return err_set(e, E_IO, "the date is not known");
	n = (size_t)snprintf(p->day, sizeof(p->day), "%s/", key);
	if (strftime(p->day + n, sizeof(p->day) - n, "%Y-%m-%d", &tm) == 0)
		return err_set(e, E_IO, "the date is beyond its four digits");
	if (path_join(path, r->media, p->day, e) < 0 || file_mkdir_private(path, e) < 0)
		return -1;
	p->dir = file_open_dir(path, e);
	return p->dir < 0 ? -1 : 0;
}

int media_part_open(struct media_part *p, const struct room *r, const char *user, struct err *e)
{
	char hex[17];

	*p = (struct media_part){ .dir = -1, .fd = -1 };
	if (make_day(r, user, p, e) < 0)
		goto failed;
	rand_hex(hex, 8);
	(void)snprintf(p->temp, sizeof(p->temp), ".part-%s", hex);
	p->fd = openat(p->dir, p->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (p->fd < 0) {
		p->temp[0] = '\0';
		err_sys(e, "cannot make a file in %s", p->day);
		goto failed;
	}
	test_halt("media.open");
	return 0;
failed:
	media_part_drop(p);
	return -1;
}

int media_part_rewind(struct media_part *p, struct err *e)
{
	if (ftruncate(p->fd, 0) < 0 || lseek(p->fd, 0, SEEK_SET) < 0)
		return err_sys(e, "cannot begin a file again");
	return 0;
}

void media_part_drop(struct media_part *p)
{
	if (p->temp[0])
		(void)unlinkat(p->dir, p->temp, 0);
	if (p->fd >= 0)
		close(p->fd);
	if (p->dir >= 0)
		close(p->dir);
	*p = (struct media_part){ .dir = -1, .fd = -1 };
}

/* --- Keeping ---------------------------------------------------------------------------------- */

static int sniff(const struct media_part *p, struct media_kept *out, struct err *e)
{
	struct str head = STR_INIT(MEDIA_HEAD);
	struct stat st;
	ssize_t n = 0;
	int rc = -1;

	if (str_reserve(&head, MEDIA_HEAD) < 0) {
		err_set(e, E_NOMEM, "the head of a file");
		goto out;
	}
	/* Only as much as a row may claim is read here, so a short read is the end of the file. */
	do
		n = pread(p->fd, head.p + head.n, MEDIA_HEAD - head.n, (off_t)head.n);
	while (n > 0 ? (str_grew(&head, (size_t)n), head.n < MEDIA_HEAD) : n < 0 && errno == EINTR);
	if (n < 0 || fstat(p->fd, &st) < 0) {
		err_sys(e, "cannot read a file again");
		goto out;
	}
	out->size = st.st_size;
	out->type = media_sniff((const unsigned char *)str_cstr(&head), head.n);
	rc = 0;
out:
	str_release(&head);
	return rc;
}

static bool taken(const struct media_part *p, const char *name)
{
	struct stat st;

	return fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* The folder is ours alone, so nobody takes the name in between; and what a name might have been
 * made to point to would be replaced, not followed. */
static int choose_name(const struct media_part *p, struct view claimed, enum chan_item_kind kind,
	struct media_kept *out, struct err *e)
{
	struct str name = STR_INIT(MEDIA_NAME_MAX);
	int rc = 1;

	for (int copy = 1; rc == 1 && copy < COPIES_MAX; copy++) {
		str_reset(&name);
		if (media_name(&name, claimed, kind, out->type, copy) < 0)
			rc = err_set(e, E_NOMEM, "the name of a file");
		else if (!taken(p, str_cstr(&name)))
			rc = copy_z(out->name, sizeof(out->name), str_view(&name));
	}
	str_release(&name);
	return rc == 1 ? err_set(e, E_EXISTS, "there are too many files of one name") : rc;
}

int media_part_keep(struct media_part *p, struct view claimed, enum chan_item_kind kind,
	struct media_kept *out, struct err *e)
{
	int rc = -1;

	*out = (struct media_kept){ .type = "" };
	if (sniff(p, out, e) < 0 || choose_name(p, claimed, kind, out, e) < 0)
		goto out;
	if (fdatasync(p->fd) < 0) {
		err_sys(e, "cannot write %s/%s", p->day, out->name);
		goto out;
	}
	test_halt("media.whole");
	if (renameat(p->dir, p->temp, p->dir, out->name) < 0 || fsync(p->dir) < 0) {
		err_sys(e, "cannot keep %s/%s", p->day, out->name);
		goto out;
	}
	p->temp[0] = '\0';
	(void)snprintf(out->path, sizeof(out->path), "%s/%s", p->day, out->name);
	test_halt("media.renamed");
	rc = 0;
out:
	media_part_drop(p);
	return rc;
}
