#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/host/audit-private.h"

/* Longer ones are cut, and no JSON any more. Escaped they are twice as long at most, so that a
 * record keeps within AUDIT_EVENT_MAX. */
#define ARGS_MAX   ((size_t)256 << 10)
#define DETAIL_MAX ((size_t)64 << 10)
#define WORD_MAX   ((size_t)256)
#define LOCK_MS    1000
#define DAY_S      86400
#define DAY_CHARS  10 /* "2026-11-30" */

struct audit {
	char dir[PATH_SIZE], lock[PATH_SIZE];
	const struct clock *clk;
	struct log *log;
	int64_t days, pruned; /* the day of the last look for old files */
	struct err fault;     /* of the newest record; E_OK: it was written */
};

int audit_open(struct audit **out, const char *dir, const struct clock *clk, struct err *e)
{
	struct audit *a;

	*out = NULL;
	if (file_mkdir_private(dir, e) < 0)
		return -1;
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_set(e, E_NOMEM, "audit");
	if (copy_z(a->dir, sizeof(a->dir), view_of(dir)) < 0 ||
		path_join(a->lock, dir, AUDIT_LOCK, NULL) < 0) {
		free(a);
		return err_set(e, E_FORMAT, "the audit folder's path is too long");
	}
	a->clk = clk ? clk : clock_system();
	a->days = AUDIT_DAYS;
	a->fault = ERR_INIT;
	*out = a;
	return 0;
}

void audit_close(struct audit **a)
{
	free(*a);
	*a = NULL;
}

const char *audit_dir(const struct audit *a)
{
	return a->dir;
}

void audit_set(struct audit *a, struct log *log, int64_t days)
{
	a->log = log;
	a->days = days;
}

/* --- A record --------------------------------------------------------------------------------- */

/* Text of any kind, fit for a record. */
static void put_safe(struct json_out *w, const char *name, struct view v, size_t max)
{
	struct str clean = STR_INIT(8 * ARGS_MAX), safe = STR_INIT(16 * ARGS_MAX);
	bool cut = v.n > max;

	v = view_cut(v, max);
	if (text_safe(v, TEXT_KEEP_LF | TEXT_KEEP_TAB, &clean) == 0 &&
		text_redact(str_view(&clean), &safe) == 0) {
		struct view out = str_view(&safe);

		cut = cut || out.n > max;
		out = view_cut(out, utf8_cut(out, max));
		str_truncate(&safe, out.n);
		if (cut)
			(void)str_adds(&safe, "[cut]");
		json_put_str(w, name, str_view(&safe));
	} else {
		json_put_z(w, name, "[not recorded]");
	}
	str_release(&clean);
	str_release(&safe);
}

/* As JSON where they still are JSON once secrets are out, else as text. */
static void put_args(struct json_out *w, struct view args)
{
	struct str safe = STR_INIT(4 * ARGS_MAX);

	if (args.n <= ARGS_MAX / 2 && json_check(args, &json_limits_wire, NULL) == 0 &&
		text_redact(args, &safe) == 0 &&
		json_check(str_view(&safe), &json_limits_wire, NULL) == 0 && safe.n <= ARGS_MAX)
		json_put_raw(w, "args", str_view(&safe));
	else
		put_safe(w, "args", args, ARGS_MAX);
	str_release(&safe);
}

static void put_time(struct json_out *w, const struct tm *tm, int64_t ms)
{
	struct str text = STR_INIT(80);
	char day[40] = "";

	(void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", tm);
	(void)str_addf(&text, "%s.%03dZ", day, (int)(ms % 1000));
	json_put_str(w, "time", str_view(&text));
	str_release(&text);
}

static int write_record(struct str *line, const struct audit_event *ev, const struct tm *tm,
	int64_t wall)
{
	struct json_out w;

	json_out_begin(&w, line);
	json_open(&w, NULL);
	put_time(&w, tm, wall);
	json_put_u64(&w, "turn", ev->turn);
	json_put_z(&w, "origin", origin_name(ev->origin));
	put_safe(&w, "tool", view_of(ev->tool), WORD_MAX);
	put_safe(&w, "call", view_of(ev->call_id), WORD_MAX);
	if (ev->args.n > 0)
		put_args(&w, ev->args);
	json_put_z(&w, "verdict", ev->verdict ? ev->verdict : "");
	json_put_z(&w, "outcome", ev->outcome ? ev->outcome : "");
	if (ev->detail && ev->detail[0])
		put_safe(&w, "detail", view_of(ev->detail), DETAIL_MAX);
	if (ev->ms > 0)
		json_put_int(&w, "ms", ev->ms);
	json_close(&w);
	return json_out_end(&w, NULL);
}

/* --- Its file --------------------------------------------------------------------------------- */

/* The oldest days are removed, but not today, which is among them when the clock was set back. */
static void prune(struct audit *a, const char *today)
{
	struct audit_name *names;
	int64_t kept = 0;
	size_t n;

	if (audit_names(a->dir, &names, &n, NULL) < 0)
		return;
	while (n > 0) {
		const char *name = names[--n].text;
		char path[PATH_SIZE];

		if (kept == 0 || strncmp(name, names[n + 1].text, DAY_CHARS) != 0)
			kept++;
		if (kept > a->days && strncmp(name, today, DAY_CHARS) != 0 &&
			path_join(path, a->dir, name, NULL) == 0)
			(void)file_remove(path, NULL);
	}
	free(names);
}

/* Once a day. */
static void keep_house(struct audit *a, time_t now, const struct tm *tm)
{
	char today[AUDIT_NAME];

	if (a->pruned == now / DAY_S || strftime(today, sizeof(today), "%Y-%m-%d", tm) == 0)
		return;
	a->pruned = now / DAY_S;
	prune(a, today);
}

/* NAME.4 becomes NAME.5, and so on down to NAME itself, which becomes NAME.1. */
static int put_aside(const struct audit *a, const char *name, struct err *e)
{
	int dir = file_open_dir(a->dir, e), rc = 0;

	if (dir < 0)
		return -1;
	for (int i = AUDIT_GENERATIONS; rc == 0 && i > 0; i--) {
		char from[AUDIT_NAME + 4], to[AUDIT_NAME + 4];

		(void)snprintf(to, sizeof(to), "%s.%d", name, i);
		(void)snprintf(from, sizeof(from), i > 1 ? "%s.%d" : "%s", name, i - 1);
		if (renameat(dir, from, dir, to) < 0 && errno != ENOENT)
			rc = err_sys(e, "cannot put aside %s/%s", a->dir, name);
	}
	(void)close(dir);
	return rc;
}

/* A process that was killed may have left half a line. */
static bool ends_in_line(const char *path)
{
	struct str last = STR_INIT(1);
	bool cut, yes = file_read_tail(path, 1, &last, &cut, NULL) < 0 || last.n == 0 ||
	                last.p[0] == '\n';

	str_release(&last);
	return yes;
}

/* The whole line or nothing. */
static int append(const char *path, struct view line, struct err *e)
{
	struct str text = STR_INIT(AUDIT_EVENT_MAX + 2);
	int fd = file_open_append(path, e), rc = -1;
	ssize_t n = 0;
	struct stat st;

	if (fd < 0)
		return -1;
	if ((!ends_in_line(path) && str_addc(&text, '\n') < 0) || str_add(&text, line) < 0)
		(void)err_set(e, E_NOMEM, "a record");
	else if (fstat(fd, &st) < 0 || (n = write(fd, text.p, text.n)) < 0)
		(void)err_sys(e, "%s", path);
	else if ((size_t)n == text.n)
		rc = 0;
	else if (ftruncate(fd, st.st_size) == 0)
		(void)err_set(e, E_FULL, "%s: the disk is full", path);
	else
		(void)err_sys(e, "%s is full and holds half a record", path);
	(void)close(fd);
	str_release(&text);
	return rc;
}

static int64_t size_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_size : 0;
}

static int store(struct audit *a, const struct tm *tm, struct view line, struct err *e)
{
	char name[AUDIT_NAME], path[PATH_SIZE];
	struct lock *lock = NULL;
	int rc = -1;

	if (strftime(name, sizeof(name), "%Y-%m-%d.jsonl", tm) == 0 ||
		path_join(path, a->dir, name, e) < 0 || file_mkdir_private(a->dir, e) < 0 ||
		lock_take(&lock, a->lock, LOCK_MS, e) < 0)
		return -1;
	if (size_of(path) + (int64_t)line.n <= AUDIT_FILE_MAX || put_aside(a, name, e) == 0)
		rc = append(path, line, e);
	lock_release(&lock);
	return rc;
}

/* The log hears of a failure once, and of its end. */
static void note_fault(struct audit *a, const struct err *e)
{
	if (e->code != E_OK && a->fault.code == E_OK)
		log_warn(a->log, "audit", "not recorded: %s", e->msg);
	else if (e->code == E_OK && a->fault.code != E_OK)
		log_info(a->log, "audit", "recorded again");
	a->fault = *e;
}

const char *audit_fault(const struct audit *a)
{
	return a->fault.msg;
}

int audit_write(struct audit *a, const struct audit_event *ev, struct err *e)
{
	struct str line = STR_INIT(AUDIT_EVENT_MAX);
	struct err why = ERR_INIT;
	int64_t wall;
	struct tm tm = { 0 };
	time_t t;
	int rc = -1;

	if (!a)
		return 0;
	wall = clock_wall(a->clk);
	t = (time_t)(wall / 1000);
	if (!gmtime_r(&t, &tm) || write_record(&line, ev, &tm, wall) < 0 ||
		str_addc(&line, '\n') < 0)
		(void)err_set(&why, E_FULL, "a record of %s does not fit", ev->tool);
	else
		rc = store(a, &tm, str_view(&line), &why);
	keep_house(a, t, &tm);
	note_fault(a, &why);
	str_release(&line);
	return rc < 0 ? err_set(e, why.code, "it cannot be recorded: %s", why.msg) : 0;
}
