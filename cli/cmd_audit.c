/* audit */
#include <getopt.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "tools/host/audit.h"

enum {
	RECORDS = 20,    /* unless -n says otherwise */
	ARGS_CHARS = 300 /* of the arguments, for people */
};

static struct view text_of(const struct json *record, const char *name)
{
	struct view v = VIEW_NONE;

	json_get_str(record, name, JSON_OPTIONAL, 0, AUDIT_EVENT_MAX, &v, NULL);
	return v;
}

/* "2026-11-30T12:01:02.123Z" as the clock on the wall here; what is no time stays as it is. */
static void add_time(struct view time, struct str *out)
{
	struct tm tm = { 0 }, here;
	char z[40], local[40];
	time_t t;

	if (copy_z(z, sizeof(z), time) == 0 && strptime(z, "%Y-%m-%dT%H:%M:%S", &tm) &&
		(t = timegm(&tm)) >= 0 && localtime_r(&t, &here) &&
		strftime(local, sizeof(local), "%Y-%m-%d %H:%M:%S", &here) > 0)
		str_adds(out, local);
	else
		text_visible(time, out);
}

static void add_word(struct view word, struct str *out)
{
	str_adds(out, "  ");
	text_visible(word, out);
}

/* The arguments on one line, as far as they fit. */
static void add_args(const struct json *record, struct str *out)
{
	struct str text = STR_INIT(8 * AUDIT_EVENT_MAX), shown = STR_INIT(8 * AUDIT_EVENT_MAX);
	const struct json *args = json_member(record, "args");
	struct view v;

	if (!args)
		return;
	if (json_str(args, &v) == 0)
		str_add(&text, v);
	else
		json_print(args, &text, NULL);
	text_visible(str_view(&text), &shown);
	v = str_view(&shown);
	str_addf(out, "\n    %.*s%s", VIEW_FMT(view_cut(v, utf8_cut_chars(v, ARGS_CHARS))),
		utf8_count(v) > ARGS_CHARS ? "..." : "");
	str_release(&text);
	str_release(&shown);
}

/* Why, line by line. */
static void add_detail(struct view detail, struct str *out)
{
	while (detail.n > 0) {
		size_t n = view_find(detail, '\n');

		str_adds(out, "\n    ");
		text_visible(view_cut(detail, n), out);
		detail = view_from(detail, n + 1);
	}
}

static void print_record(void *arg, const struct json *record)
{
	struct str line = STR_INIT(8 * AUDIT_EVENT_MAX);
	uint64_t turn = 0;
	int64_t ms = 0;

	(void)arg;
	json_get_u64(record, "turn", JSON_OPTIONAL, &turn, NULL);
	json_get_int(record, "ms", JSON_OPTIONAL, 0, INT64_MAX, &ms, NULL);
	add_time(text_of(record, "time"), &line);
	str_addf(&line, "  turn %llu", (unsigned long long)turn);
	add_word(text_of(record, "origin"), &line);
	add_word(text_of(record, "tool"), &line);
	add_word(text_of(record, "verdict"), &line);
	str_adds(&line, ",");
	add_word(text_of(record, "outcome"), &line);
	if (ms > 0)
		str_addf(&line, "  %lld ms", (long long)ms);
	add_args(record, &line);
	add_detail(text_of(record, "detail"), &line);
	puts(str_cstr(&line));
	str_release(&line);
}

static void print_json(void *arg, const struct json *record)
{
	struct str line = STR_INIT(8 * AUDIT_EVENT_MAX);

	(void)arg;
	if (json_print(record, &line, NULL) == 0)
		puts(str_cstr(&line));
	str_release(&line);
}

static int show(const char *dir, size_t n, bool json)
{
	struct err e = ERR_INIT;
	size_t skipped = 0;

	if (audit_tail(dir, n, json ? print_json : print_record, NULL, &skipped, &e) < 0) {
		if (e.code != E_NOTFOUND)
			return say_err(&e);
		err_set(&e, E_NOTFOUND,
			"nothing has been recorded yet: it begins with the first tool");
		return say_err(&e);
	}
	if (skipped > 0)
		fprintf(stderr, "kairo: %zu lines that are no records were skipped\n", skipped);
	return EXIT_DONE;
}

int cmd_audit(const struct home *h, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' }, { 0 } };
	unsigned long long n = RECORDS;
	char dir[PATH_SIZE];
	bool json = false;
	struct err e = ERR_INIT;
	int opt;

	while ((opt = getopt_long(argc, argv, "n:", longs, NULL)) != -1) {
		if (opt == 'j')
			json = true;
		else if (opt != 'n')
			return say_usage("audit", NULL);
		else if (parse_u64(view_of(optarg), &n) < 0 || n < 1 || n > AUDIT_TAIL_MAX)
			return say_usage("audit", "-n wants a number of records from 1 to 100");
	}
	if (optind != argc)
		return say_usage("audit", "audit takes options only");
	if (path_join(dir, h->dir, "audit", &e) < 0)
		return say_err(&e);
	return show(dir, (size_t)n, json);
}
