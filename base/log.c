#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file-private.h"
#include "base/file.h"
#include "base/text.h"

#define SECRETS    256
#define SECRET_MIN 8
#define SECRET_MAX 4096
#define RAW_MAX    ((size_t)64 << 10) /* of a message before it is made safe */
#define MASK       VIEW("[redacted]")
#define CUT_MARK   VIEW(" [cut]")

struct log {
	enum log_level level;
	int fd;
	bool is_file, torn;      /* torn: half a line stands at the end */
	int dir;                 /* of the file, for rotation */
	char name[NAME_MAX - 2]; /* room for ".3" */
	char path[PATH_SIZE];
	int64_t max;
	uint64_t lost, untold; /* lines; untold: not yet spoken of in the log itself */
	struct str secrets[SECRETS];
	size_t nsecrets;
	bool begins[256]; /* some secret begins with this byte */
};

static const char *const level_names[] = { "error", "warn", "info", "debug" };

/* --- Making a line ---------------------------------------------------------------------------- */

/* The longest secret that stands at v.p; 0 when none does. */
static size_t secret_at(const struct log *l, struct view v)
{
	size_t best = 0;

	if (v.n == 0 || !l->begins[(unsigned char)v.p[0]])
		return 0;
	for (size_t i = 0; i < l->nsecrets; i++) {
		struct view s = str_view(&l->secrets[i]);

		if (s.n > best && view_starts(v, s))
			best = s.n;
	}
	return best;
}

/* Copy the first `end` bytes of in, secrets masked, also one that only begins before `end`. */
static int mask_secrets(const struct log *l, struct view in, size_t end, struct str *out)
{
	size_t at = 0, from = 0;

	while (at < end) {
		size_t n = secret_at(l, view_from(in, at));

		if (n == 0) {
			at++;
			continue;
		}
		if (str_add(out, (struct view){ in.p + from, at - from }) < 0 ||
			str_add(out, MASK) < 0)
			return -1;
		at += n;
		from = at;
	}
	return from < end ? str_add(out, (struct view){ in.p + from, end - from }) : 0;
}

/* At most max bytes, not ending inside a UTF-8 sequence. */
static struct view cut_text(struct view v, size_t max)
{
	size_t n = max;

	if (v.n <= max)
		return v;
	while (n > 0 && ((unsigned char)v.p[n] & 0xc0) == 0x80)
		n--;
	return view_cut(v, n);
}

/* printf into out, at most its ceiling; *whole tells whether all of it fit. */
static int __attribute__((format(printf, 3, 0)))
format_bounded(struct str *out, bool *whole, const char *fmt, va_list ap)
{
	size_t room = out->max - out->n;
	int n;

	if (str_reserve(out, room) < 0)
		return -1;
	n = vsnprintf(out->p + out->n, room + 1, fmt, ap);
	if (n < 0)
		return -1;
	*whole = (size_t)n <= room;
	str_grew(out, *whole ? (size_t)n : room);
	return 0;
}

static int add_stamp(struct str *line, enum log_level level)
{
	int64_t now = clock_wall(clock_system());
	time_t sec = (time_t)(now / 1000);
	char stamp[40];
	struct tm tm;

	if (!gmtime_r(&sec, &tm) || strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return -1;
	return str_addf(line, "%s.%03dZ %-5s ", stamp, (int)(now % 1000), level_names[level]);
}

/* raw made safe: secrets out, control bytes visible, cut to a line's length. */
static int add_safe(const struct log *l, struct view raw, bool whole, struct str *line)
{
	struct str masked = STR_INIT(2 * RAW_MAX), clean = STR_INIT(4 * RAW_MAX);
	struct str shown = STR_INIT((size_t)8 * LOG_LINE_MAX);
	size_t room = LOG_LINE_MAX - line->n - CUT_MARK.n - 1;
	/* What was cut off may have been the rest of a secret. */
	size_t end = whole ? raw.n : raw.n - SECRET_MAX;
	struct view v;
	int rc = -1;

	if (mask_secrets(l, raw, end, &masked) < 0 || text_redact(str_view(&masked), &clean) < 0)
		goto out;
	v = cut_text(str_view(&clean), LOG_LINE_MAX);
	if (text_visible(v, &shown) < 0)
		goto out;
	v = cut_text(str_view(&shown), room);
	rc = str_add(line, v);
	if (rc == 0 && (!whole || v.n < shown.n || clean.n > LOG_LINE_MAX))
		rc = str_add(line, CUT_MARK);
	if (rc == 0)
		rc = str_addc(line, '\n');
out:
	str_wipe(&masked);
	str_release(&clean);
	str_release(&shown);
	return rc;
}

/* --- The file --------------------------------------------------------------------------------- */

/* Somebody who was killed, or the end of the disk, may have left half a line. */
static bool is_torn(int fd, int64_t size)
{
	char last;

	return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

static int open_again(struct log *l, struct err *e)
{
	struct stat st;
	int fd = path_open_private(l->path, O_APPEND, &st, e);

	if (fd < 0)
		return -1;
	if (l->fd >= 0)
		close(l->fd);
	l->fd = fd;
	l->torn = is_torn(fd, st.st_size);
	return 0;
}

/* Does our descriptor still stand for the file of that name? *size is the descriptor's. */
static bool in_place(const struct log *l, int64_t *size)
{
	struct stat mine, named;

	if (fstat(l->fd, &mine) < 0)
		return false;
	*size = mine.st_size;
	return fstatat(l->dir, l->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == mine.st_dev && named.st_ino == mine.st_ino;
}

static void shift_generations(const struct log *l)
{
	char from[NAME_MAX + 1], to[NAME_MAX + 1];

	for (int g = LOG_GENERATIONS; g > 1; g--) {
		(void)snprintf(from, sizeof(from), "%s.%d", l->name, g - 1);
		(void)snprintf(to, sizeof(to), "%s.%d", l->name, g);
		(void)renameat(l->dir, from, l->dir, to);
	}
}

/* The newest lines matter most: where renaming is impossible the old ones are given up, and where
 * no new file can be opened the old one goes on. */
static void make_room(struct log *l, size_t n)
{
	char first[NAME_MAX + 1];
	int64_t size = 0;

	if (!in_place(l, &size)) {
		(void)open_again(l, NULL);
		if (!in_place(l, &size))
			return;
	}
	if (size == 0 || size + (int64_t)n <= l->max)
		return;
	shift_generations(l);
	(void)snprintf(first, sizeof(first), "%s.1", l->name);
	if (renameat(l->dir, l->name, l->dir, first) == 0)
		(void)open_again(l, NULL);
	else if (ftruncate(l->fd, 0) == 0)
		l->torn = false;
}

static int write_all(int fd, struct view v, bool *torn)
{
	while (v.n > 0) {
		ssize_t n = write(fd, v.p, v.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		v = view_from(v, (size_t)n);
		*torn = v.n > 0;
	}
	return 0;
}

static int put_line(struct log *l, struct view line)
{
	if (l->is_file)
		make_room(l, line.n + 1);
	if (l->torn) {
		if (write_all(l->fd, VIEW("\n"), &l->torn) < 0)
			return -1;
		l->torn = false;
	}
	return write_all(l->fd, line, &l->torn);
}

static void tell_lost(struct log *l)
{
	struct str line = STR_INIT(LOG_LINE_MAX);

	if (add_stamp(&line, LOG_WARN) == 0 &&
		str_addf(&line, "log: %llu lines before this one could not be written\n",
			(unsigned long long)l->untold) == 0 &&
		put_line(l, str_view(&line)) == 0)
		l->untold = 0;
	str_release(&line);
}

/* --- Outside ---------------------------------------------------------------------------------- */

static struct log *new_log(enum log_level level, struct err *e)
{
	struct log *l = calloc(1, sizeof(*l));

	if (!l) {
		err_set(e, E_NOMEM, "no memory for the log");
		return NULL;
	}
	l->level = level;
	l->fd = -1;
	l->dir = -1;
	for (size_t i = 0; i < SECRETS; i++)
		l->secrets[i].max = SECRET_MAX;
	return l;
}

int log_open_fd(struct log **out, int fd, enum log_level level, struct err *e)
{
	struct log *l = new_log(level, e);

	*out = l;
	if (!l)
		return -1;
	l->fd = fd;
	return 0;
}

int log_open_file(struct log **out, const char *path, enum log_level level, int64_t max_bytes,
	struct err *e)
{
	struct log *l = new_log(level, e);
	char name[NAME_MAX + 1];

	*out = NULL;
	if (!l)
		return -1;
	l->is_file = true;
	l->max = max_bytes > 0 ? max_bytes : LOG_FILE_MAX;
	l->dir = path_open_parent(path, name, e);
	if (l->dir < 0)
		goto failed;
	if (copy_z(l->path, sizeof(l->path), view_of(path)) < 0 ||
		copy_z(l->name, sizeof(l->name), view_of(name)) < 0) {
		err_set(e, E_FORMAT, "%s: the name of the log is too long", path);
		goto failed;
	}
	if (open_again(l, e) < 0)
		goto failed;
	*out = l;
	return 0;
failed:
	log_close(&l);
	return -1;
}

void log_close(struct log **lp)
{
	struct log *l = *lp;

	*lp = NULL;
	if (!l)
		return;
	if (l->is_file && l->fd >= 0)
		close(l->fd);
	if (l->dir >= 0)
		close(l->dir);
	for (size_t i = 0; i < l->nsecrets; i++)
		str_wipe(&l->secrets[i]);
	free(l);
}

void log_set_level(struct log *l, enum log_level level)
{
	if (l)
		l->level = level;
}

int log_level_parse(const char *name, enum log_level *out)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*out = (enum log_level)i;
			return 0;
		}
	}
	return -1;
}

uint64_t log_lost(const struct log *l)
{
	return l ? l->lost : 0;
}

void log_msg(struct log *l, enum log_level level, const char *room, const char *subject,
	const char *fmt, ...)
{
	struct str raw = STR_INIT(RAW_MAX), line = STR_INIT(LOG_LINE_MAX);
	int saved = errno;
	bool whole = true;
	va_list ap;
	int rc;

	if (!l || level > l->level)
		return;
	if (l->untold > 0)
		tell_lost(l);
	if (subject)
		(void)str_addf(&raw, "%s (%s): ", room, subject);
	else
		(void)str_addf(&raw, "%s: ", room);
	va_start(ap, fmt);
	rc = format_bounded(&raw, &whole, fmt, ap);
	va_end(ap);
	if (rc < 0 || add_stamp(&line, level) < 0 ||
		add_safe(l, str_view(&raw), whole, &line) < 0 || put_line(l, str_view(&line)) < 0) {
		l->lost++;
		l->untold++;
	}
	str_wipe(&raw);
	str_release(&line);
	errno = saved;
}

int log_add_secret(struct log *l, const char *secret, struct err *e)
{
	struct view v = view_of(secret);

	if (v.n < SECRET_MIN || v.n > SECRET_MAX)
		return err_set(e, E_FORMAT, "a secret has %d to %d bytes", SECRET_MIN, SECRET_MAX);
	for (size_t i = 0; i < l->nsecrets; i++) {
		if (view_eq(str_view(&l->secrets[i]), v))
			return 0;
	}
	if (l->nsecrets == SECRETS)
		return err_set(e, E_FULL, "the log knows %d secrets already", SECRETS);
	if (str_add(&l->secrets[l->nsecrets], v) < 0)
		return err_set(e, E_NOMEM, "no memory for a secret");
	l->nsecrets++;
	l->begins[(unsigned char)v.p[0]] = true;
	return 0;
}

int log_mask(const struct log *l, struct view in, struct str *out)
{
	return l ? mask_secrets(l, in, in.n, out) : str_add(out, in);
}
