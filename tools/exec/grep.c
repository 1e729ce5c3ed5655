/* grep: lines that match a regular expression. PCRE2 backtracks, so its steps, depth and memory are
 * limited; an expression that runs into a limit is an error that says so. One step can still look
 * at all of a line, and a line can be a whole file: callouts keep the time meanwhile. */
#include "tools/exec/tool.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <fcntl.h>
#include <pcre2.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "tools/exec/match.h"
#include "tools/exec/walk.h"

#define PATTERN_MAX    2000
#define LIMIT_DEFAULT  100
#define LIMIT_MAX      1000
#define FILE_BYTES     ((size_t)5 << 20)
#define TOTAL_BYTES    ((uint64_t)256 << 20)
#define BINARY_LOOK    ((size_t)8192)
#define LINE_SHOWN     300 /* characters of a matching line */
#define LINE_BEFORE    80  /* of them in front of the match, where the line is longer */
#define MATCH_STEPS    500000
#define MATCH_DEPTH    5000
#define MATCH_HEAP_KIB 16384
#define CALLOUTS       64 /* between two looks at the time */

struct search {
	struct tool_job *job;
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *data;
	struct match *files; /* NULL: all */
	int64_t offset, limit, found;
	uint64_t bytes;
	size_t big, binary, linked, unreadable;
	unsigned callouts;
	bool more, total;
	struct walk_gaps gaps;
	struct str text; /* of one file */
	struct err *e;
	bool failed;
};

/* --- The expression --------------------------------------------------------------------------- */

static void say_pcre(int code, struct err *e, const char *what)
{
	PCRE2_UCHAR msg[160];

	if (pcre2_get_error_message(code, msg, sizeof(msg)) < 0)
		msg[0] = '\0';
	(void)err_set(e, E_FORMAT, "%s: %s", what, (const char *)msg);
}

/* Not 0: the match is given up with it. */
static int on_callout(pcre2_callout_block *block, void *arg)
{
	struct search *s = arg;

	(void)block;
	return ++s->callouts % CALLOUTS == 0 && job_over(s->job) ? PCRE2_ERROR_CALLOUT : 0;
}

static int compile(struct search *s, struct view pattern, bool ignore_case, struct err *e)
{
	uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
	                   PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT |
	                   (ignore_case ? PCRE2_CASELESS : 0);
	char what[80];
	size_t at = 0;
	int code = 0;

	s->code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &code, &at, NULL);
	if (!s->code) {
		struct str w = STR_INIT(sizeof(what) - 1);

		(void)str_addf(&w, "the expression is wrong at character %zu",
			utf8_count(view_cut(pattern, at)));
		(void)copy_z(what, sizeof(what), str_view(&w));
		str_release(&w);
		say_pcre(code, e, what);
		return -1;
	}
	s->limits = pcre2_match_context_create(NULL);
	s->data = pcre2_match_data_create_from_pattern(s->code, NULL);
	if (!s->limits || !s->data)
		return err_set(e, E_NOMEM, "an expression");
	(void)pcre2_set_match_limit(s->limits, MATCH_STEPS);
	(void)pcre2_set_depth_limit(s->limits, MATCH_DEPTH);
	(void)pcre2_set_heap_limit(s->limits, MATCH_HEAP_KIB);
	(void)pcre2_set_callout(s->limits, on_callout, s);
	return 0;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* About LINE_SHOWN characters of the line, the match among them. */
static void put_line(struct str *out, struct view line, size_t match_at)
{
	struct str clean = STR_INIT(8 * FILE_BYTES);
	size_t skip = 0;
	struct view rest;

	if (match_at > (size_t)(LINE_SHOWN - LINE_BEFORE)) {
		skip = match_at - LINE_BEFORE;
		while (skip < match_at && ((unsigned char)line.p[skip] & 0xc0) == 0x80)
			skip++;
	}
	rest = view_cut(view_from(line, skip), (size_t)LINE_SHOWN * 4);
	if (utf8_repair(rest, &clean) == 0) {
		struct view v = str_view(&clean);
		size_t n = utf8_cut_chars(v, LINE_SHOWN);

		(void)str_addf(out, "%s%.*s%s\n", skip ? "…" : "", VIEW_FMT(view_cut(v, n)),
			n < v.n || rest.n < line.n - skip ? "…" : "");
	}
	str_release(&clean);
}

static int refuse_steps(struct search *s, int code, struct view path)
{
	const char *limit = code == PCRE2_ERROR_MATCHLIMIT   ? "steps"
	                    : code == PCRE2_ERROR_DEPTHLIMIT ? "nested steps"
	                    : code == PCRE2_ERROR_HEAPLIMIT  ? "memory"
	                                                     : NULL;

	s->failed = true;
	if (!limit) {
		say_pcre(code, s->e, "the expression failed");
		return -1;
	}
	return err_set(s->e, E_FORMAT,
		"the expression needs too many %s on a line of %.*s; use a simpler one", limit,
		VIEW_FMT(view_cut(path, utf8_cut(path, 120))));
}

/* 1: go on. 0: the page is full or the time is up. -1: failed. */
static int look_at_line(struct search *s, struct view path, int64_t number, struct view line)
{
	int rc = pcre2_match(s->code, (PCRE2_SPTR)(line.n ? line.p : ""), line.n, 0, 0, s->data,
		s->limits);

	if (rc == PCRE2_ERROR_NOMATCH)
		return 1;
	if (rc == PCRE2_ERROR_CALLOUT) {
		s->gaps.time = true;
		return 0;
	}
	if (rc < 0)
		return refuse_steps(s, rc, path);
	if (s->found - s->offset == s->limit || s->job->out->n >= TOOL_PAGE_BYTES) {
		s->more = true;
		return 0;
	}
	if (s->found++ < s->offset)
		return 1;
	(void)text_visible(path, s->job->out);
	(void)str_addf(s->job->out, ":%lld: ", (long long)number);
	put_line(s->job->out, line, pcre2_get_ovector_pointer(s->data)[0]);
	return 1;
}

static int look_at_text(struct search *s, struct view path)
{
	struct view text = str_view(&s->text);

	for (int64_t number = 1; text.n > 0; number++) {
		struct view line = view_cut(text, view_find(text, '\n'));
		int rc;

		text = view_from(text, line.n + 1);
		if (view_ends(line, VIEW("\r")))
			line.n--;
		rc = look_at_line(s, path, number, line);
		if (rc <= 0)
			return rc;
		if (number % 256 == 0 && job_over(s->job)) {
			s->gaps.time = true;
			return 0;
		}
	}
	return 1;
}

/* --- Files ------------------------------------------------------------------------------------ */

static bool read_all(struct search *s, int fd)
{
	str_reset(&s->text);
	while (s->text.n <= FILE_BYTES) {
		ssize_t n;

		if (str_reserve(&s->text, 65536) < 0)
			return false;
		n = read(fd, s->text.p + s->text.n, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			return true;
		str_grew(&s->text, (size_t)n);
	}
	return true;
}

/* As look_at_line. fd is closed. */
static int look_at_file(struct search *s, int fd, struct view path)
{
	bool read = read_all(s, fd);

	(void)close(fd);
	if (!read) {
		s->unreadable++;
		return 1;
	}
	s->bytes += s->text.n;
	if (s->text.n > FILE_BYTES) {
		s->big++;
		return 1;
	}
	if (s->text.n > 0 &&
		memchr(s->text.p, '\0', s->text.n < BINARY_LOOK ? s->text.n : BINARY_LOOK)) {
		s->binary++;
		return 1;
	}
	if (s->bytes > TOTAL_BYTES) {
		s->total = true;
		return 0;
	}
	return look_at_text(s, path);
}

static enum walk_next on_entry(void *arg, const struct walk_entry *w)
{
	struct search *s = arg;
	struct stat st = { .st_nlink = 0 };
	int fd;

	if (w->kind != WALK_FILE || (s->files && !match_name_or_path(s->files, w->path)))
		return WALK_ON;
	fd = file_open_beneath(w->dirfd, w->name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1) {
		if (fd >= 0 && st.st_nlink > 1)
			s->linked++;
		else
			s->unreadable++;
		if (fd >= 0)
			(void)close(fd);
		return WALK_ON;
	}
	return look_at_file(s, fd, w->path) > 0 ? WALK_ON : WALK_STOP;
}

static void report(struct search *s)
{
	struct str *out = s->job->out;

	if (s->found <= s->offset)
		(void)str_addf(out, "[no %sline matches]\n", s->found ? "further " : "");
	if (s->more)
		(void)str_addf(out, "[more: offset=%lld]\n", (long long)s->found);
	if (s->total)
		(void)str_adds(out, "[partial: 256 MiB of text were searched; narrow the path]\n");
	if (s->big)
		(void)str_addf(out, "[partial: %zu files over 5 MiB were left out]\n", s->big);
	if (s->linked)
		(void)str_addf(out, "[partial: %zu files with several hard links were left out]\n",
			s->linked);
	if (s->binary)
		(void)str_addf(out, "[%zu binary files were left out]\n", s->binary);
	if (s->unreadable)
		(void)str_addf(out, "[%zu files could not be read]\n", s->unreadable);
	walk_say_gaps(&s->gaps, out);
}

static int run(struct search *s, const struct place *place, struct err *e)
{
	struct stat st;
	int fd;

	if (place_stat(place, &st, e) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		fd = place_open_file(place, &st, e);
		if (fd < 0)
			return -1;
		(void)look_at_file(s, fd, view_of(place->rel));
	} else {
		fd = place_open_dir(place, e);
		if (fd < 0 || walk_run(s->job, fd, on_entry, s, &s->gaps, e) < 0)
			return -1;
	}
	if (s->failed)
		return -1;
	report(s);
	return 0;
}

static int get_args(struct search *s, struct view *pattern, bool *ignore_case, struct err *e)
{
	const struct json *args = s->job->args;
	struct view files = VIEW_NONE;

	if (json_get_str(args, "pattern", JSON_REQUIRED, 1, PATTERN_MAX, pattern, e) < 0 ||
		json_get_str(args, "glob", JSON_OPTIONAL, 1, MATCH_PATTERN_MAX, &files, e) < 0 ||
		json_get_bool(args, "ignore_case", JSON_OPTIONAL, ignore_case, e) < 0 ||
		json_get_int(args, "offset", JSON_OPTIONAL, 0, INT32_MAX, &s->offset, e) < 0 ||
		json_get_int(args, "limit", JSON_OPTIONAL, 1, LIMIT_MAX, &s->limit, e) < 0)
		return -1;
	return files.n ? match_new(&s->files, files, e) : 0;
}

int tool_grep(struct tool_job *j, struct err *e)
{
	struct search s = { .job = j, .limit = LIMIT_DEFAULT, .e = e };
	struct str text = STR_INIT(FILE_BYTES + 65536 + 1);
	bool ignore_case = false;
	struct view pattern;
	struct place place;
	int rc = -1;

	s.text = text;
	if (get_args(&s, &pattern, &ignore_case, e) == 0 && job_place(j, ".", &place, e) == 0 &&
		compile(&s, pattern, ignore_case, e) == 0)
		rc = run(&s, &place, e);
	match_free(&s.files);
	pcre2_match_data_free(s.data);
	pcre2_match_context_free(s.limits);
	pcre2_code_free(s.code);
	str_release(&s.text);
	return rc;
}
