#include "tools/host/audit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define EVENT_MAX ((size_t)1 << 20)
#define ARGS_MAX  ((size_t)256 << 10) /* longer ones are cut, and no JSON any more */

struct audit {
	char dir[PATH_SIZE];
	const struct clock *clk;
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
	if (copy_z(a->dir, sizeof(a->dir), view_of(dir)) < 0) {
		free(a);
		return err_set(e, E_FORMAT, "the audit folder's path is too long");
	}
	a->clk = clk ? clk : clock_system();
	*out = a;
	return 0;
}

void audit_close(struct audit **a)
{
	free(*a);
	*a = NULL;
}

/* Text of any kind, fit for a record. */
static void put_safe(struct json_out *w, const char *name, struct view v)
{
	struct str clean = STR_INIT(8 * ARGS_MAX), safe = STR_INIT(16 * ARGS_MAX);
	bool cut = v.n > ARGS_MAX;

	v = view_cut(v, ARGS_MAX);
	if (text_safe(v, TEXT_KEEP_LF | TEXT_KEEP_TAB, &clean) == 0 &&
		text_redact(str_view(&clean), &safe) == 0) {
		struct view out = str_view(&safe);

		out = view_cut(out, utf8_cut(out, ARGS_MAX));
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
		put_safe(w, "args", args);
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
	put_safe(&w, "tool", view_of(ev->tool));
	put_safe(&w, "call", view_of(ev->call_id));
	if (ev->args.n > 0)
		put_args(&w, ev->args);
	json_put_z(&w, "verdict", ev->verdict ? ev->verdict : "");
	json_put_z(&w, "outcome", ev->outcome ? ev->outcome : "");
	if (ev->detail && ev->detail[0])
		put_safe(&w, "detail", view_of(ev->detail));
	if (ev->ms > 0)
		json_put_int(&w, "ms", ev->ms);
	json_close(&w);
	return json_out_end(&w, NULL);
}

static int open_day(const struct audit *a, const struct tm *tm)
{
	char name[32], path[PATH_SIZE];

	if (strftime(name, sizeof(name), "%Y-%m-%d.jsonl", tm) == 0 ||
		path_join(path, a->dir, name, NULL) < 0)
		return -1;
	return file_open_append(path, NULL);
}

void audit_write(struct audit *a, const struct audit_event *ev)
{
	struct str line = STR_INIT(EVENT_MAX);
	int64_t wall;
	struct tm tm;
	time_t t;
	int fd;

	if (!a)
		return;
	wall = clock_wall(a->clk);
	t = (time_t)(wall / 1000);
	if (!gmtime_r(&t, &tm) || write_record(&line, ev, &tm, wall) < 0 ||
		str_addc(&line, '\n') < 0)
		goto out;
	fd = open_day(a, &tm);
	if (fd < 0)
		goto out;
	/* One write to a file in append mode: records of several processes do not mix. */
	if (write(fd, line.p, line.n) != (ssize_t)line.n)
		line.failed = true;
	(void)close(fd);
out:
	str_release(&line);
}
