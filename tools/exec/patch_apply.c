#include "tools/exec/patch_apply.h"

#include <string.h>

#include "base/text.h"

#define WHY_HUNKS  5
#define WHY_CHARS  100
#define FIND_STEPS ((size_t)5000000) /* lines compared while one looks where a hunk would fit */

/* A text read line by line. */
struct lines {
	struct view rest;
	size_t at; /* lines before rest */
};

/* With its line end, if it has one; empty behind the last. */
static struct view head(const struct lines *l)
{
	return view_cut(l->rest, view_find(l->rest, '\n') + 1);
}

static void skip(struct lines *l)
{
	l->rest = view_from(l->rest, head(l).n);
	l->at++;
}

static struct view line_end(const struct patch_line *line, bool crlf)
{
	if (!line->ends)
		return VIEW("");
	return crlf ? VIEW("\r\n") : VIEW("\n");
}

static bool is_line(struct view have, const struct patch_line *want, bool crlf)
{
	struct view end = line_end(want, crlf);

	return have.n == want->text.n + end.n && view_starts(have, want->text) &&
	       view_ends(have, end);
}

/* Lines of the file in front of the hunk. With no old lines it stands behind the line it names. */
static size_t lines_before(const struct patch_hunk *h)
{
	return h->old_count > 0 ? h->old_start - 1 : h->old_start;
}

/* The next line of the hunk's old side. */
static bool next_old(struct view *body, struct patch_line *line)
{
	while (patch_next(body, line))
		if (line->kind != '+')
			return true;
	return false;
}

/* --- Why it does not fit ---------------------------------------------------------------------- */

static bool fits_at(struct lines l, const struct patch_hunk *h, bool crlf, size_t *steps)
{
	struct view body = h->body;
	struct patch_line want;

	while (next_old(&body, &want)) {
		(*steps)++;
		if (!is_line(head(&l), &want, crlf))
			return false;
		skip(&l);
	}
	return true;
}

/* Where the hunk would fit, as lines from 1: the first, and how many there are (two is
 * "several"). */
static size_t find_places(const struct patch_hunk *h, struct view old, bool crlf, size_t *first)
{
	struct lines l = { old, 0 };
	size_t found = 0, steps = 0;

	while (h->old_count > 0 && l.rest.n > 0 && found < 2 && steps < FIND_STEPS) {
		if (fits_at(l, h, crlf, &steps) && found++ == 0)
			*first = l.at + 1;
		skip(&l);
	}
	return found;
}

static void put_line(struct str *why, struct view line)
{
	struct view part = view_cut(line, utf8_cut_chars(view_cut(line, 4096), WHY_CHARS));

	(void)str_addc(why, '"');
	(void)text_visible(part, why);
	(void)str_adds(why, part.n < line.n ? "\"..." : "\"");
}

static void say_places(const struct patch_hunk *h, struct view old, bool crlf, struct str *why)
{
	size_t first = 0, places = find_places(h, old, crlf, &first);

	if (places == 1)
		(void)str_addf(why,
			"; its lines stand at line %zu: its header begins @@ -%zu,%zu\n", first,
			first, h->old_count);
	else if (places > 1)
		(void)str_addf(why,
			"; its lines stand at line %zu and further on: say which, with more lines "
			"around\n",
			first);
	else
		(void)str_adds(why, "; its lines stand nowhere in the file: read it again\n");
}

static void say_mismatch(const struct patch_hunk *h, const struct lines *l, struct view old,
	const struct patch_line *want, bool crlf, struct str *why)
{
	struct view have = head(l), text = have;

	while (text.n > 0 && strchr("\r\n", text.p[text.n - 1]))
		text.n--;
	(void)str_addf(why, "- hunk at line %zu of the patch: ", h->line);
	if (l->rest.n == 0) {
		(void)str_addf(why, "the file has only %zu lines", l->at);
	} else if (view_eq(text, want->text)) {
		(void)str_addf(why, "line %zu ", l->at + 1);
		put_line(why, text);
		(void)str_adds(why, view_ends(have, VIEW("\r\n")) ? " ends in CRLF in the file"
				    : view_ends(have, VIEW("\n"))
					    ? " has a line end in the file and none in the patch"
					    : " has no line end in the file: write "
					      "\"\\ No newline at end of file\" below it");
	} else {
		(void)str_addf(why, "line %zu of the file is ", l->at + 1);
		put_line(why, text);
		(void)str_adds(why, ", the patch has ");
		put_line(why, want->text);
	}
	say_places(h, old, crlf, why);
}

/* --- Making it -------------------------------------------------------------------------------- */

/* Copies up to the line where the hunk begins. */
static void go_to(struct lines *l, size_t line, struct str *out)
{
	while (l->at < line && l->rest.n > 0) {
		(void)str_add(out, head(l));
		skip(l);
	}
}

/* A line behind one that has no line end would be glued to it. */
static bool put(struct str *out, struct view line)
{
	if (str_ok(out) && out->n > 0 && out->p[out->n - 1] != '\n')
		return false;
	(void)str_add(out, line);
	return true;
}

/* One line of a hunk, at l. False: it does not fit, and why was said. */
static bool make_line(const struct patch_hunk *h, const struct patch_line *line, struct lines *l,
	struct view old, bool crlf, struct str *out, struct str *why)
{
	if (line->kind != '+' && !is_line(head(l), line, crlf)) {
		say_mismatch(h, l, old, line, crlf, why);
		return false;
	}
	if (line->kind != '-' && !put(out, line->text)) {
		(void)str_addf(why,
			"- hunk at line %zu of the patch: lines are put behind the last one, which "
			"has no line end: take that one away and put it back with one\n",
			h->line);
		return false;
	}
	if (line->kind != '-')
		(void)str_add(out, line_end(line, crlf));
	if (line->kind != '+')
		skip(l);
	return true;
}

static bool make_hunk(const struct patch_hunk *h, struct lines *l, struct view old, bool crlf,
	struct str *out, struct str *why)
{
	struct view body = h->body;
	struct patch_line line;

	if (l->at < lines_before(h)) {
		(void)str_addf(why, "- hunk at line %zu of the patch: the file has only %zu lines",
			h->line, l->at);
		say_places(h, old, crlf, why);
		return false;
	}
	while (patch_next(&body, &line))
		if (!make_line(h, &line, l, old, crlf, out, why))
			return false;
	return true;
}

static int make_all(const struct patch_file *f, struct view old, bool crlf, struct str *out,
	struct str *why)
{
	struct lines l = { old, 0 };
	int bad = 0;

	for (size_t i = 0; i < f->nhunks && bad < WHY_HUNKS; i++) {
		struct lines begin;
		size_t n;

		go_to(&l, lines_before(&f->hunks[i]), out);
		begin = l;
		n = out->n;
		if (make_hunk(&f->hunks[i], &l, old, crlf, out, why))
			continue;
		bad++; /* the next one stands on its own */
		l = begin;
		str_truncate(out, n);
	}
	if (bad)
		return -1;
	if (l.rest.n > 0 && !put(out, l.rest)) {
		(void)str_adds(why,
			"- the last line of the patch has no line end, but lines follow "
			"it in the file\n");
		return -1;
	}
	if (!str_ok(out))
		(void)str_addf(why, "- the file would have more than %zu bytes\n", out->max);
	return str_ok(out) ? 0 : -1;
}

/* The last line may have no end, unless it is the only one. */
static bool all_crlf(struct view text)
{
	struct lines l = { text, 0 };

	for (; l.rest.n > 0; skip(&l)) {
		struct view line = head(&l);

		if (!view_ends(line, VIEW("\r\n")) && (l.at == 0 || view_ends(line, VIEW("\n"))))
			return false;
	}
	return text.n > 0;
}

int patch_apply(const struct patch_file *f, struct view old, struct str *out, bool *crlf,
	struct str *why)
{
	*crlf = false;
	if (make_all(f, old, false, out, why) == 0)
		return 0;
	if (f->has_cr || !all_crlf(old))
		return -1;
	str_reset(out);
	str_reset(why);
	*crlf = true;
	return make_all(f, old, true, out, why);
}
