#include "channel/spool.h"

#include "channel/peer.h"
#include "channel/sql.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE         65536
#define TELL_AGAIN_MS 5000

/* One copy, from its beginning until it is left to the outbox and done. */
struct copy {
	struct copy *next;
	char id[SPOOL_ID], md5[SPOOL_MD5];
	enum spool_state state;
	bool left;    /* a part of the outbox decides on it */
	int from, to; /* from -1: body */
	struct str body;
	struct stat st; /* of from, when it was accepted */
	int64_t size, at;
	EVP_MD_CTX *md;
	const char *why;
};

struct spool {
	const struct room *room;
	int dir;
	struct timer *timer;
	spool_done_cb *done;
	void *arg;
	struct copy *copies;
};

static struct copy *find(const struct spool *s, const char *id)
{
	for (struct copy *c = s->copies; c; c = c->next)
		if (strcmp(c->id, id) == 0)
			return c;
	return NULL;
}

/* --- One copy --------------------------------------------------------------------------------- */

static void copy_end(struct copy *c, enum spool_state state, const char *why)
{
	c->state = state;
	c->why = why;
	if (c->from >= 0)
		(void)close(c->from);
	if (c->to >= 0)
		(void)close(c->to);
	c->from = c->to = -1;
	EVP_MD_CTX_free(c->md);
	c->md = NULL;
	str_release(&c->body);
}

static void copy_free(struct spool *s, struct copy *c)
{
	struct copy **at = &s->copies;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	copy_end(c, c->state, c->why);
	free(c);
}

static void copy_fail(struct spool *s, struct copy *c, const char *why)
{
	log_warn(s->room->log, "spool", "%s: %s", c->id, why);
	copy_end(c, SPOOL_FAILED, why);
	(void)unlinkat(s->dir, c->id, 0);
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno != EINTR)
			return -1;
		if (w > 0) {
			p += w;
			n -= (size_t)w;
		}
	}
	return 0;
}

/* The next bytes: how many, 0 at the end, -1. */
static ssize_t read_piece(const struct copy *c, char buf[PIECE], const char **p)
{
	struct view rest;
	ssize_t n;

	if (c->from < 0) {
		rest = view_cut(view_from(str_view(&c->body), (size_t)c->at), PIECE);
		*p = rest.p;
		return (ssize_t)rest.n;
	}
	*p = buf;
	do
		n = pread(c->from, buf, PIECE, c->at);
	while (n < 0 && errno == EINTR);
	return n;
}

static bool has_changed(const struct copy *c)
{
	struct stat st;

	if (c->from < 0)
		return false;
	return c->at != c->size || fstat(c->from, &st) < 0 || st.st_size != c->st.st_size ||
	       st.st_mtim.tv_sec != c->st.st_mtim.tv_sec ||
	       st.st_mtim.tv_nsec != c->st.st_mtim.tv_nsec;
}

static void copy_finish(struct spool *s, struct copy *c)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int n = 0;

	if (has_changed(c))
		copy_fail(s, c, SPOOL_CHANGED);
	else if (fdatasync(c->to) < 0 || fsync(s->dir) < 0)
		copy_fail(s, c, SPOOL_FULL);
	else if (EVP_DigestFinal_ex(c->md, md, &n) != 1 || 2 * n != SPOOL_MD5 - 1)
		copy_fail(s, c, SPOOL_UNREADABLE);
	else {
		for (unsigned int i = 0; i < n; i++)
			snprintf(c->md5 + (size_t)2 * i, 3, "%02x", md[i]);
		copy_end(c, SPOOL_READY, NULL);
	}
}

/* 1: there is more. 0: all is copied. -1: it has failed. Writing to the disk begins with each
 * piece, so that little is left for the end. */
static int copy_piece(struct spool *s, struct copy *c)
{
	char buf[PIECE];
	const char *p = NULL;
	ssize_t n = read_piece(c, buf, &p);
	const char *why = n < 0                                         ? SPOOL_UNREADABLE
	                  : c->at + n > c->size                         ? SPOOL_CHANGED
	                  : n > 0 && write_all(c->to, p, (size_t)n) < 0 ? SPOOL_FULL
	                                                                : NULL;

	if (why) {
		copy_fail(s, c, why);
		return -1;
	}
	(void)EVP_DigestUpdate(c->md, p, (size_t)n);
	(void)sync_file_range(c->to, c->at, n, SYNC_FILE_RANGE_WRITE);
	c->at += n;
	return n > 0 && c->at < c->size;
}

static void copy_step(struct spool *s, struct copy *c)
{
	int rc = 1;

	for (size_t n = 0; rc > 0 && n < SPOOL_SLICE; n += PIECE)
		rc = copy_piece(s, c);
	if (rc == 0)
		copy_finish(s, c);
}

static bool waits(const struct copy *c)
{
	return c->state == SPOOL_COPYING || c->left;
}

/* The list has the newest in front. */
static struct copy *first_waiting(const struct spool *s)
{
	struct copy *first = NULL;

	for (struct copy *c = s->copies; c; c = c->next)
		if (waits(c))
			first = c;
	return first;
}

static void spool_on_timer(void *arg)
{
	struct spool *s = arg;
	struct copy *c = first_waiting(s);

	if (!c)
		return;
	timer_arm(s->timer, 0);
	if (c->state == SPOOL_COPYING)
		copy_step(s, c);
	if (c->state == SPOOL_COPYING || !c->left)
		return;
	if (s->done(s->arg, c->id, c->state, c->md5, c->why) < 0)
		timer_arm(s->timer, TELL_AGAIN_MS);
	else
		copy_free(s, c);
}

/* --- Putting ---------------------------------------------------------------------------------- */

static const char *const disk_full = "the computer's disk has no room for a copy of the file";

static int usage(const struct spool *s, int *files, int64_t *bytes)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	struct stat st;

	*files = 0;
	*bytes = 0;
	if (!d) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	while ((de = readdir(d)))
		if (de->d_name[0] != '.' &&
			fstatat(s->dir, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			++*files;
			*bytes += st.st_size;
		}
	(void)closedir(d);
	return 0;
}

static int check_room(const struct spool *s, int64_t size, struct err *e)
{
	int64_t bytes;
	int files;

	if (usage(s, &files, &bytes) < 0)
		return err_sys(e, "the folder of outgoing files");
	if (files >= SPOOL_FILES || bytes + size > SPOOL_MAX)
		return err_set(e, E_FULL,
			"%d files of %lld MB wait to be sent already, and no more are kept; they go "
			"when the user writes",
			files, (long long)(bytes >> 20));
	return 0;
}

/* The room is taken ahead, where the file system can do so: a full disk is told now. */
static int make(const struct spool *s, struct copy *c, struct err *e)
{
	c->to = openat(s->dir, c->id, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c->to < 0)
		return err_sys(e, "a copy of the file");
	if (c->size > 0 && fallocate(c->to, 0, 0, c->size) < 0 &&
		(errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return err_set(e, E_FULL, "%s", disk_full);
	c->md = EVP_MD_CTX_new();
	if (!c->md || EVP_DigestInit_ex(c->md, EVP_md5(), NULL) != 1)
		return err_set(e, E_NOMEM, "a copy of the file");
	return 0;
}

static int begin(struct spool *s, struct copy *c, char id[SPOOL_ID], struct err *e)
{
	rand_hex(c->id, (SPOOL_ID - 1) / 2);
	memcpy(id, c->id, SPOOL_ID);
	c->state = SPOOL_COPYING;
	c->next = s->copies;
	s->copies = c;
	if (check_room(s, c->size, e) < 0 || make(s, c, e) < 0) {
		spool_drop(s, id);
		return -1;
	}
	copy_step(s, c);
	if (c->state == SPOOL_FAILED) {
		if (strcmp(c->why, SPOOL_FULL) == 0)
			(void)err_set(e, E_FULL, "%s", disk_full);
		else
			(void)err_set(e, E_IO, "the file could not be read, or is being changed");
		spool_drop(s, id);
		return -1;
	}
	if (c->state == SPOOL_COPYING)
		timer_arm(s->timer, 0);
	return 0;
}

int spool_put(struct spool *s, struct sendable *from, char id[SPOOL_ID], struct err *e)
{
	struct copy *c = calloc(1, sizeof(*c));

	if (!c) {
		sendable_close(from);
		return err_set(e, E_NOMEM, "a copy of the file");
	}
	c->from = from->fd;
	c->to = -1;
	c->st = from->st;
	c->size = from->st.st_size;
	from->fd = -1;
	return begin(s, c, id, e);
}

int spool_put_text(struct spool *s, struct view body, char id[SPOOL_ID], struct err *e)
{
	struct copy *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(e, E_NOMEM, "a copy of the file");
	c->from = c->to = -1;
	c->body = (struct str)STR_INIT(body.n);
	c->size = (int64_t)body.n;
	if (str_add(&c->body, body) < 0) {
		free(c);
		return err_set(e, E_NOMEM, "a file of %zu bytes", body.n);
	}
	return begin(s, c, id, e);
}

/* --- Handles ---------------------------------------------------------------------------------- */

enum spool_state spool_look(const struct spool *s, const char *id, char md5[SPOOL_MD5],
	const char **why)
{
	const struct copy *c = find(s, id);

	md5[0] = '\0';
	if (!c)
		return SPOOL_NONE;
	memcpy(md5, c->md5, SPOOL_MD5);
	if (why)
		*why = c->why;
	return c->state;
}

void spool_leave(struct spool *s, const char *id)
{
	struct copy *c = find(s, id);

	if (!c)
		return;
	c->left = true;
	if (c->state != SPOOL_COPYING)
		copy_free(s, c);
}

void spool_drop(struct spool *s, const char *id)
{
	struct copy *c = find(s, id);

	if (!c)
		return;
	copy_free(s, c);
	(void)unlinkat(s->dir, id, 0);
}

bool spool_busy(const struct spool *s)
{
	for (const struct copy *c = s->copies; c; c = c->next)
		if (c->state == SPOOL_COPYING)
			return true;
	return false;
}

int spool_read(const struct spool *s, const char *id, int64_t size, struct err *e)
{
	int fd = openat(s->dir, id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return err_sys(e, "its copy");
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == size)
		return fd;
	(void)close(fd);
	return err_set(e, E_FORMAT, "its copy is not what it was");
}

/* --- Sweeping --------------------------------------------------------------------------------- */

/* Waiting, in flight, parked; or one that may not have arrived, which /more sends again. */
static bool is_needed(const struct spool *s, const char *id)
{
	int64_t n;

	return sql_int(s->room->db, NULL, &n,
		       "SELECT count(*) FROM channel_file JOIN channel_outbox ON seq = part"
		       " WHERE spool = ? AND (state IN (0, 1, 6) OR"
		       " state = 5 AND stopped = 0 AND moved_at > ?)",
		       "sl", id, room_now(s->room) - PEER_WINDOW_MS) != 1 ||
	       n > 0;
}

void spool_sweep(struct spool *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((de = readdir(d))) {
		const struct copy *c = find(s, de->d_name);

		if (de->d_name[0] == '.' || (c && !c->left) || is_needed(s, de->d_name))
			continue;
		if (c)
			spool_drop(s, de->d_name);
		else if (unlinkat(s->dir, de->d_name, 0) < 0)
			log_warn(s->room->log, "spool", "%s stays: %s", de->d_name,
				strerror(errno));
	}
	(void)closedir(d);
}

/* --- Open and close --------------------------------------------------------------------------- */

int spool_open(struct spool **out, const struct room *r, spool_done_cb *done, void *arg,
	struct err *e)
{
	struct spool *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return err_set(e, E_NOMEM, "the outgoing files");
	*s = (struct spool){ .room = r, .dir = -1, .done = done, .arg = arg };
	if (timer_new(&s->timer, r->loop, spool_on_timer, s, e) == 0 &&
		file_mkdir_private(r->outgoing, e) == 0 &&
		(s->dir = file_open_dir(r->outgoing, e)) >= 0) {
		*out = s;
		spool_sweep(s);
		return 0;
	}
	spool_close(&s);
	return -1;
}

void spool_close(struct spool **sp)
{
	struct spool *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	while (s->copies)
		copy_free(s, s->copies);
	timer_free(&s->timer);
	if (s->dir >= 0)
		(void)close(s->dir);
	free(s);
}
