/* logs */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

enum {
	TAIL_BYTES = 64 << 10, /* of the log that are looked at (kairo-architecture) */
	TAIL_LINES = 100,
	LOOK_MS = 200
};

struct tail {
	const char *path;
	int fd;
	struct text_filter filter; /* what is read may end inside a character */
};

/* -1: nobody reads what we print. */
static int show(struct tail *t, struct view piece)
{
	struct str safe = STR_INIT((size_t)4 * TAIL_BYTES);
	int rc = -1;

	if (text_filter_feed(&t->filter, piece, &safe) == 0 &&
		fwrite(str_cstr(&safe), 1, safe.n, stdout) == safe.n && fflush(stdout) == 0)
		rc = 0;
	str_release(&safe);
	return rc;
}

static struct view last_lines(struct view text, unsigned long long lines, bool cut)
{
	size_t at;

	if (cut) /* the first line may lack its beginning */
		text = view_from(text, view_find(text, '\n') + 1);
	at = text.n;
	if (at && text.p[at - 1] == '\n')
		at--;
	while (at > 0 && lines > 0)
		if (text.p[--at] == '\n' && --lines == 0)
			at++;
	return lines > 0 ? text : view_from(text, at);
}

/* The end of the file; reading goes on behind it. */
static int show_tail(struct tail *t, int64_t size, unsigned long long lines, struct err *e)
{
	struct str text = STR_INIT(TAIL_BYTES);
	bool cut = size > TAIL_BYTES;
	ssize_t n = 1;
	int rc = -1;

	if (lseek(t->fd, cut ? size - TAIL_BYTES : 0, SEEK_SET) < 0) {
		err_sys(e, "%s", t->path);
		goto out;
	}
	while (n != 0 && text.n < TAIL_BYTES) {
		if (str_reserve(&text, TAIL_BYTES - text.n) < 0) {
			err_set(e, E_NOMEM, "out of memory");
			goto out;
		}
		n = read(t->fd, text.p + text.n, TAIL_BYTES - text.n);
		if (n < 0 && errno != EINTR) {
			err_sys(e, "%s", t->path);
			goto out;
		}
		if (n > 0)
			str_grew(&text, (size_t)n);
	}
	rc = show(t, last_lines(str_view(&text), lines, cut)) < 0 ? 1 : 0;
out:
	str_release(&text);
	return rc;
}

/* 0, or 1 when nobody reads any more. */
static int show_new(struct tail *t)
{
	char buf[16384];
	ssize_t n;

	while ((n = read(t->fd, buf, sizeof(buf))) > 0)
		if (show(t, (struct view){ buf, (size_t)n }) < 0)
			return 1;
	return 0;
}

/* A rotation gives the name to another file: what is left of the old one, then the new one. Where
 * no file can be renamed, the same one begins anew. */
static int change_over(struct tail *t)
{
	struct stat mine, named;
	struct err none = ERR_INIT;
	int next, rc;

	if (fstat(t->fd, &mine) < 0 || lstat(t->path, &named) < 0)
		return 0;
	if (mine.st_ino == named.st_ino && mine.st_dev == named.st_dev) {
		if (mine.st_size < lseek(t->fd, 0, SEEK_CUR))
			(void)lseek(t->fd, 0, SEEK_SET);
		return 0;
	}
	if ((next = file_open_read(t->path, NULL, &none)) < 0)
		return 0;
	rc = show_new(t);
	close(t->fd);
	t->fd = next;
	return rc;
}

/* Until nobody reads: Ctrl-C, or the other end of the pipe is closed. */
static void follow(struct tail *t)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	while (show_new(t) == 0 && change_over(t) == 0)
		if (poll(&out, 1, LOOK_MS) > 0)
			return;
}

int cmd_logs(const struct home *h, int argc, char **argv)
{
	static const struct option none[] = { { 0 } };
	char dir[PATH_SIZE], path[PATH_SIZE];
	struct tail t = { .path = path, .fd = -1 };
	unsigned long long lines = TAIL_LINES;
	bool followed = false;
	int64_t size = 0;
	struct err e = ERR_INIT;
	int opt, rc = -1;

	while ((opt = getopt_long(argc, argv, "n:f", none, NULL)) != -1) {
		if (opt == 'f')
			followed = true;
		else if (opt != 'n')
			return say_usage("logs", NULL);
		else if (parse_u64(view_of(optarg), &lines) < 0 || !lines || lines > 100000)
			return say_usage("logs", "-n wants a number of lines from 1 to 100000");
	}
	if (optind != argc)
		return say_usage("logs", "logs takes options only");
	text_filter_init(&t.filter, TEXT_KEEP_LF | TEXT_KEEP_TAB);
	if (path_join(dir, h->dir, "logs", &e) == 0 && path_join(path, dir, "kairo.log", &e) == 0 &&
		(t.fd = file_open_read(path, &size, &e)) >= 0)
		rc = show_tail(&t, size, lines, &e);
	else if (e.code == E_NOTFOUND)
		err_set(&e, E_NOTFOUND, "no log yet: it begins with kairo start");
	if (rc == 0 && followed)
		follow(&t);
	if (t.fd >= 0)
		close(t.fd);
	return rc < 0 ? say_err(&e) : EXIT_DONE;
}
