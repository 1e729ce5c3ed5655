#include "channel/sendable.h"

#include "base/text.h"
#include "channel/media.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SHOWN_BYTES 100 /* of a path in a reason */
#define MB          ((int64_t)1024 * 1024)

/* --- Names ------------------------------------------------------------------------------------ */

enum chan_item_kind sendable_kind(const char *name)
{
	static const struct {
		const char *ext;
		enum chan_item_kind kind;
	} kinds[] = {
		{ "png", CHAN_IMAGE },
		{ "jpg", CHAN_IMAGE },
		{ "jpeg", CHAN_IMAGE },
		{ "gif", CHAN_IMAGE },
		{ "webp", CHAN_IMAGE },
		{ "bmp", CHAN_IMAGE },
		{ "mp4", CHAN_VIDEO },
		{ "mov", CHAN_VIDEO },
		{ "webm", CHAN_VIDEO },
		{ "mkv", CHAN_VIDEO },
		{ "avi", CHAN_VIDEO },
	};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcasecmp(dot + 1, kinds[i].ext) == 0)
			return kinds[i].kind;
	return CHAN_FILE;
}

void sendable_name(char out[SENDABLE_NAME_MAX + 1], struct view name)
{
	struct str s = STR_INIT(4096);

	(void)text_safe(view_cut(name, 1024), 0, &s);
	if (!str_ok(&s) ||
		copy_z(out, SENDABLE_NAME_MAX + 1,
			view_cut(str_view(&s), utf8_cut(str_view(&s), SENDABLE_NAME_MAX))) < 0 ||
		!*out)
		(void)copy_z(out, SENDABLE_NAME_MAX + 1, VIEW("file"));
	str_release(&s);
}

static void show(char out[SHOWN_BYTES + 1], struct view path)
{
	struct str s = STR_INIT(4096);
	struct view v;

	(void)text_visible(view_cut(path, 512), &s);
	v = str_view(&s);
	if (!str_ok(&s) || copy_z(out, SHOWN_BYTES + 1, view_cut(v, utf8_cut(v, SHOWN_BYTES))) < 0)
		(void)copy_z(out, SHOWN_BYTES + 1, VIEW("this path"));
	str_release(&s);
}

/* --- Places ----------------------------------------------------------------------------------- */

/* What is left of path below the folder, nothing of itself; false: it does not lie there. */
static bool below(const char *folder, struct view path, struct view *rest)
{
	size_t n = strlen(folder);

	if (n == 0 || !view_starts(path, (struct view){ folder, n }) ||
		(path.n > n && path.p[n] != '/'))
		return false;
	*rest = view_from(path, n + 1);
	return true;
}

/* "a//./b" is "a/b". Of a hidden component or "..": E_DENIED. */
static int tidy(struct view v, bool workspace, const char *shown, struct str *out, struct err *e)
{
	while (v.n > 0) {
		struct view part = view_cut(v, view_find(v, '/'));

		v = view_from(v, part.n + 1);
		if (part.n == 0 || view_eqs(part, "."))
			continue;
		if (view_eqs(part, ".."))
			return err_set(e, E_DENIED, "write the path of %s without \"..\"", shown);
		if (part.p[0] == '.' && !(workspace && out->n == 0 && view_eqs(part, SENDABLE_OUT)))
			return err_set(e, E_DENIED,
				"%s is hidden (a part of its path begins with a dot), so it is not sent; "
				"if the user is to have it, copy it to a plain name first",
				shown);
		if (out->n > 0)
			(void)str_addc(out, '/');
		(void)str_add(out, part);
	}
	return str_ok(out) ? 0 : err_set(e, E_FORMAT, "the path is too long");
}

struct place {
	char folder[PATH_SIZE]; /* the workspace, or what the user has sent */
	struct str rel;
	char shown[SHOWN_BYTES + 1];
};

static int media_folder(char out[PATH_SIZE], const struct room *r, const char *user)
{
	char key[MEDIA_KEY_HEX + 1];

	out[0] = '\0';
	if (!r->media)
		return 0;
	media_user_key(key, user);
	return path_join(out, r->media, key, NULL);
}

static int find_place(struct place *p, const struct room *r, const char *user, struct view path,
	struct err *e)
{
	struct view rest = path;
	bool workspace = true;

	show(p->shown, path);
	if (path.n == 0 || path.n >= PATH_SIZE || memchr(path.p, '\0', path.n))
		return err_set(e, E_FORMAT, "a path must have 1 to %d bytes", PATH_SIZE - 1);
	if (path.p[0] == '/' && !below(r->workspace, path, &rest)) {
		if (media_folder(p->folder, r, user) < 0 || !below(p->folder, path, &rest))
			return err_set(e, E_DENIED,
				"%s lies outside the workspace %s; copy it there first", p->shown,
				r->workspace);
		workspace = false;
	} else if (copy_z(p->folder, sizeof(p->folder), view_of(r->workspace)) < 0) {
		return err_set(e, E_FORMAT, "the path of the workspace is too long");
	}
	if (tidy(rest, workspace, p->shown, &p->rel, e) < 0)
		return -1;
	return p->rel.n > 0 ? 0
	                    : err_set(e, E_FORMAT, "%s is a folder; name a file in it", p->shown);
}

/* --- Opening ---------------------------------------------------------------------------------- */

static int say_why(const struct place *p, struct err *e)
{
	switch (errno) {
	case ENOENT: return err_set(e, E_NOTFOUND, "there is no %s; check the path", p->shown);
	case ELOOP:
		return err_set(e, E_DENIED,
			"%s has a symbolic link in its path, and links are not followed; send the "
			"file itself, or a copy",
			p->shown);
	case EXDEV: return err_set(e, E_DENIED, "%s leads out of its folder", p->shown);
	case ENOTDIR: return err_set(e, E_NOTFOUND, "%s lies below a file", p->shown);
	case EACCES:
	case EPERM: return err_set(e, E_DENIED, "%s may not be read: permission denied", p->shown);
	default: return err_sys(e, "%s", p->shown);
	}
}

static int check(const struct place *p, const struct stat *st, int64_t max, struct err *e)
{
	if (S_ISDIR(st->st_mode))
		return err_set(e, E_FORMAT, "%s is a folder; pack it into one file first",
			p->shown);
	if (!S_ISREG(st->st_mode))
		return err_set(e, E_DENIED, "%s is not a regular file", p->shown);
	if (st->st_nlink > 1)
		return err_set(e, E_DENIED,
			"%s has more than one hard link, so it may belong to another folder; send a "
			"copy",
			p->shown);
	if (st->st_size > max)
		return err_set(e, E_FULL,
			"%s has %.1f MB, and files of at most %lld MB are sent (files.max_mb); make it "
			"smaller or split it",
			p->shown, (double)st->st_size / (double)MB, (long long)(max / MB));
	return 0;
}

/* Looked at before it is opened: opening a device or a FIFO can already do something. */
static int open_file(struct sendable *out, const struct place *p, int64_t max, struct err *e)
{
	const char *rel = str_cstr(&p->rel);
	int dir = file_open_dir(p->folder, e);
	int node = -1, rc = -1;

	if (dir < 0)
		return -1;
	node = file_open_beneath(dir, rel, O_PATH);
	if (node < 0 || fstat(node, &out->st) < 0)
		(void)say_why(p, e);
	else if (check(p, &out->st, max, e) == 0) {
		out->fd = file_open_beneath(dir, rel, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		rc = out->fd < 0 || fstat(out->fd, &out->st) < 0 ? say_why(p, e)
		                                                 : check(p, &out->st, max, e);
	}
	if (node >= 0)
		(void)close(node);
	(void)close(dir);
	return rc;
}

int sendable_open(struct sendable *out, const struct room *r, const char *user, struct view path,
	struct err *e)
{
	struct place p = { .rel = STR_INIT(PATH_SIZE - 1) };
	int rc = -1;

	*out = (struct sendable){ .fd = -1 };
	if (!r->workspace)
		return err_set(e, E_UNSUPPORTED, "no file can be sent from here");
	if (find_place(&p, r, user, path, e) == 0 && open_file(out, &p, r->file_max, e) == 0)
		rc = path_join(out->path, p.folder, str_cstr(&p.rel), e);
	if (rc == 0)
		sendable_name(out->name, view_of(strrchr(out->path, '/') + 1));
	str_release(&p.rel);
	return rc;
}

void sendable_close(struct sendable *s)
{
	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = -1;
}
