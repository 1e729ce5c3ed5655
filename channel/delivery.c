#include "channel/delivery.h"

#include <stdbool.h>
#include <string.h>

#define RUN_MAX 80 /* backticks: a longer run begins no code span (as cmark has it) */

struct fence {
	char c;   /* 0: none is open */
	size_t n; /* of its marks */
	size_t indent;
	bool file;
	struct view name;
	size_t begun, body; /* where its first line begins, and its body */
};

struct reader {
	struct delivery *out;
	struct view answer;
	struct str *text;
	size_t at;   /* where the line begins */
	size_t kept; /* what stands before this is in text already */
	struct fence fence;
	/* Code spans of the paragraph that the line belongs to. */
	size_t para_end;          /* where it ends; at or past it another one begins */
	size_t last[RUN_MAX + 1]; /* where the last run of so many backticks begins, plus 1; what is
	                          * left of earlier paragraphs lies before the line */
	size_t open;              /* length of the run that has opened a span; 0: none */
};

/* --- Lines ------------------------------------------------------------------------------------ */

static struct view line_at(struct view answer, size_t at)
{
	struct view rest = view_from(answer, at);

	return view_cut(rest, view_find(rest, '\n'));
}

static size_t next_line(const struct reader *r, size_t at)
{
	struct view line = line_at(r->answer, at);

	return at + line.n + (at + line.n < r->answer.n);
}

static size_t run_of(struct view v, char c)
{
	size_t n = 0;

	while (n < v.n && v.p[n] == c)
		n++;
	return n;
}

/* A line that may open or close a fence: its marks, and what is behind them. */
static bool fence_line(struct view line, struct fence *f, struct view *info)
{
	size_t indent = run_of(line, ' ');
	struct view rest = view_from(line, indent);

	if (indent > 3 || rest.n < 3 || (rest.p[0] != '`' && rest.p[0] != '~'))
		return false;
	*f = (struct fence){ .c = rest.p[0], .n = run_of(rest, rest.p[0]), .indent = indent };
	*info = view_trim(view_from(rest, f->n));
	return f->n >= 3 && (f->c != '`' || view_find(*info, '`') == info->n);
}

/* --- What is taken out ------------------------------------------------------------------------ */

static int keep_up_to(struct reader *r, size_t end)
{
	struct view v = view_cut(view_from(r->answer, r->kept), end - r->kept);

	r->kept = end;
	return str_add(r->text, v);
}

static int take(struct reader *r, const struct delivery_file *f, size_t begin, size_t end)
{
	if (keep_up_to(r, begin) < 0)
		return -1;
	r->kept = end;
	if (r->out->n < DELIVERY_MAX)
		r->out->files[r->out->n++] = *f;
	else
		r->out->surplus++;
	return 0;
}

static struct view unquoted(struct view v)
{
	v = view_trim(v);
	if (v.n >= 2 && strchr("\"'`", v.p[0]) && v.p[0] == v.p[v.n - 1])
		v = view_trim(view_cut(view_from(v, 1), v.n - 2));
	return v;
}

/* "[send-file: PATH]", the colon in either width. */
static bool tag_path(struct view line, struct view *path)
{
	static const char *const heads[] = { "[send-file:", "[send-image:", "[send-file：",
		"[send-image：", NULL };

	if (run_of(line, ' ') > 3)
		return false;
	line = view_trim(line);
	for (const char *const *h = heads; *h; h++) {
		struct view head = view_of(*h);

		if (!view_starts(line, head) || !view_ends(line, VIEW("]")))
			continue;
		*path = unquoted(view_cut(view_from(line, head.n), line.n - head.n - 1));
		return true;
	}
	return false;
}

/* --- Code spans ------------------------------------------------------------------------------- */

/* The next run of backticks in line at or behind *at: its length, 0 when there is none. */
static size_t next_run(struct view line, size_t *at)
{
	struct view rest = view_from(line, *at);
	size_t skip = view_find(rest, '`');

	*at += skip;
	return run_of(view_from(rest, skip), '`');
}

static void note_runs(struct reader *r, size_t at, struct view line)
{
	size_t i = 0, n;

	for (; (n = next_run(line, &i)) > 0; i += n)
		if (n <= RUN_MAX)
			r->last[n] = at + i + 1;
}

/* The lines up to a blank one or a fence; where the last run of each length is decides which runs
 * open a span. */
static void begin_paragraph(struct reader *r)
{
	size_t at = r->at;

	r->open = 0;
	while (at < r->answer.n) {
		struct view line = line_at(r->answer, at), info;
		struct fence f;

		if (view_trim(line).n == 0 || fence_line(line, &f, &info))
			break;
		note_runs(r, at, line);
		at = next_line(r, at);
	}
	r->para_end = at > r->at ? at : next_line(r, at);
}

/* Which span is open behind the line? */
static void follow_runs(struct reader *r, struct view line)
{
	size_t i = 0, n;

	for (; (n = next_run(line, &i)) > 0; i += n) {
		if (r->open == n)
			r->open = 0;
		else if (r->open == 0 && n <= RUN_MAX && r->last[n] > r->at + i + 1)
			r->open = n;
	}
}

/* --- Line by line ----------------------------------------------------------------------------- */

static int open_fence(struct reader *r, const struct fence *f, struct view info)
{
	r->fence = *f;
	r->fence.begun = r->at;
	r->fence.body = next_line(r, r->at);
	r->fence.name = unquoted(view_from(info, 5));
	r->fence.file = view_starts(info, VIEW("file:")) && r->fence.name.n > 0;
	r->para_end = 0;
	return 0;
}

static int in_fence(struct reader *r, struct view line)
{
	struct fence *f = &r->fence, closing;
	struct delivery_file file;
	struct view info;

	if (!fence_line(line, &closing, &info) || closing.c != f->c || closing.n < f->n ||
		info.n > 0)
		return 0;
	f->c = 0;
	if (!f->file)
		return 0;
	file = (struct delivery_file){ .path = f->name, .indent = f->indent, .block = true };
	file.body = view_cut(view_from(r->answer, f->body), r->at - f->body);
	return take(r, &file, f->begun, next_line(r, r->at));
}

static int in_text(struct reader *r, struct view line)
{
	struct delivery_file file = { .block = false };
	struct fence f;
	struct view info;

	if (fence_line(line, &f, &info))
		return open_fence(r, &f, info);
	if (r->at >= r->para_end)
		begin_paragraph(r);
	if (r->open == 0 && tag_path(line, &file.path))
		return take(r, &file, r->at, next_line(r, r->at));
	follow_runs(r, line);
	return 0;
}

/* Most answers want nothing sent, and some are long. */
static bool may_want(struct view answer)
{
	return answer.n > 0 &&
	       (memmem(answer.p, answer.n, "[send-", 6) || memmem(answer.p, answer.n, "file:", 5));
}

int delivery_read(struct delivery *out, struct view answer, struct str *text, struct err *e)
{
	struct reader r = { .out = out, .answer = answer, .text = text };
	int rc = 0;

	out->n = out->surplus = 0;
	r.at = may_want(answer) ? 0 : answer.n;
	while (rc == 0 && r.at < answer.n) {
		struct view line = line_at(answer, r.at);

		rc = r.fence.c ? in_fence(&r, line) : in_text(&r, line);
		r.at = next_line(&r, r.at);
	}
	if (rc < 0 || keep_up_to(&r, answer.n) < 0)
		return err_set(e, E_NOMEM, "an answer of %zu bytes", answer.n);
	return 0;
}

int delivery_body(const struct delivery_file *f, struct str *out, struct err *e)
{
	struct view rest = f->body;

	while (f->indent > 0 && rest.n > 0) {
		size_t n = view_find(rest, '\n') + 1, blanks = run_of(rest, ' ');

		if (blanks > f->indent)
			blanks = f->indent;
		(void)str_add(out, view_from(view_cut(rest, n), blanks));
		rest = view_from(rest, n);
	}
	(void)str_add(out, rest);
	return str_ok(out) ? 0 : err_set(e, E_NOMEM, "a file of %zu bytes", f->body.n);
}
