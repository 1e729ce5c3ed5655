#include "tools/patch_parse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/text.h"

struct reader {
	struct patch *patch;
	struct view rest;
	size_t line; /* number of the line at the head of rest */
	struct err *e;
};

/* --- Lines ------------------------------------------------------------------------------------ */

static bool starts(struct view v, const char *prefix)
{
	return view_starts(v, view_of(prefix));
}

static struct view peek(const struct reader *r)
{
	return view_cut(r->rest, view_find(r->rest, '\n'));
}

static struct view take(struct reader *r)
{
	struct view line = peek(r);

	r->rest = view_from(r->rest, line.n + 1);
	r->line++;
	return line;
}

/* A header may come with the line ends of another system, a name may not end in CR. */
static struct view without_cr(struct view line)
{
	if (view_ends(line, VIEW("\r")))
		line.n--;
	return line;
}

static int refuse(const struct reader *r, size_t line, const char *why)
{
	return err_set(r->e, E_FORMAT, "line %zu of the patch: %s", line, why);
}

static int refuse_line(const struct reader *r, size_t number, struct view line, const char *why)
{
	struct str shown = STR_INIT(400);

	(void)text_visible(view_cut(line, utf8_cut(line, 60)), &shown);
	(void)err_set(r->e, E_FORMAT, "line %zu of the patch: %s: \"%s\"", number, why,
		str_cstr(&shown));
	str_release(&shown);
	return -1;
}

/* --- Names ------------------------------------------------------------------------------------ */

static int octal(struct view v)
{
	int c = 0;

	if (v.n < 3)
		return -1;
	for (size_t i = 0; i < 3; i++) {
		if (v.p[i] < '0' || v.p[i] > '7')
			return -1;
		c = c * 8 + v.p[i] - '0';
	}
	return c > 0 && c < 256 ? c : -1;
}

/* One character behind a backslash; its length in the quoted text, or 0. */
static size_t unescape(struct view v, struct str *out)
{
	static const char letters[] = "abtnvfr\"\\", bytes[] = "\a\b\t\n\v\f\r\"\\";
	const char *letter = v.n > 0 && v.p[0] ? strchr(letters, v.p[0]) : NULL;
	int c = octal(v);

	if (letter)
		return str_addc(out, bytes[letter - letters]) == 0 ? 1 : 0;
	return c > 0 && str_addc(out, (char)c) == 0 ? 3 : 0;
}

/* "name" at the head of v; what stands behind it is left in v. */
static int take_quoted(struct view *v, struct str *out)
{
	struct view in = view_from(*v, 1);

	while (in.n > 0 && in.p[0] != '"') {
		size_t n = 1;

		if (in.p[0] == '\\') {
			in = view_from(in, 1);
			n = unescape(in, out);
		} else if (str_addc(out, in.p[0]) < 0) {
			return -1;
		}
		if (n == 0)
			return -1;
		in = view_from(in, n);
	}
	if (in.n == 0)
		return -1;
	*v = view_from(in, 1);
	return 0;
}

/* The name in "--- NAME<tab>time". */
static int take_name(const struct reader *r, size_t number, struct view line, struct str *out)
{
	struct view v = without_cr(view_from(line, 4));

	if (starts(v, "\"")) {
		if (take_quoted(&v, out) < 0 || (v.n > 0 && v.p[0] != '\t'))
			return refuse_line(r, number, line, "the quoted name cannot be read");
	} else {
		(void)str_add(out, view_cut(v, view_find(v, '\t')));
	}
	if (!str_ok(out) || out->n == 0)
		return refuse_line(r, number, line, "there is no name, or it is too long");
	return 0;
}

/* "diff --git LEFT RIGHT": as both are one name, plain ones are of one length. */
static int take_git_names(const struct reader *r, size_t number, struct view line, struct str *left,
	struct str *right)
{
	struct view v = without_cr(view_from(line, strlen("diff --git ")));

	if (starts(v, "\"")) {
		if (take_quoted(&v, left) == 0 && starts(v, " \"")) {
			v = view_from(v, 1);
			if (take_quoted(&v, right) == 0 && v.n == 0)
				return 0;
		}
	} else if (v.n >= 3 && v.n % 2 == 1 && v.p[v.n / 2] == ' ') {
		(void)str_add(left, view_cut(v, v.n / 2));
		(void)str_add(right, view_from(v, v.n / 2 + 1));
		if (str_ok(left) && str_ok(right))
			return 0;
	}
	return refuse_line(r, number, line,
		"the two names must be one file, as a/NAME b/NAME (renaming is not supported)");
}

/* The names of a file's headers. Those of "---" and "+++" are empty when there are none. */
struct names {
	struct str left, right, old, new;
	bool git; /* left and right are there */
};

static void names_release(struct names *n)
{
	str_release(&n->left);
	str_release(&n->right);
	str_release(&n->old);
	str_release(&n->new);
}

static bool is_null(struct view name)
{
	return view_eqs(name, "/dev/null");
}

/* What both sides call the file; false: they do not agree. */
static bool same_file(struct view old, struct view new, struct view *path)
{
	*path = old;
	if (view_eq(old, new))
		return true;
	*path = view_from(old, 2);
	return starts(old, "a/") && starts(new, "b/") && view_eq(*path, view_from(new, 2));
}

/* The file that the names mean, and what is done to it. */
static int judge_names(const struct reader *r, const struct names *n, size_t line,
	struct patch_file *f, struct view *path)
{
	struct view left = str_view(&n->left), right = str_view(&n->right);
	struct view old = str_view(&n->old), new = str_view(&n->new);

	if (n->git && !same_file(left, right, path))
		return refuse(r, line, "\"diff --git\" names two files; renaming is not supported");
	if (old.n == 0)
		return 0;
	if (is_null(old) && is_null(new))
		return refuse(r, line, "both names are /dev/null");
	if (n->git &&
		((!is_null(old) && !view_eq(old, left)) || (!is_null(new) && !view_eq(new, right))))
		return refuse(r, line, "the names of ---, +++ and \"diff --git\" do not agree");
	if (is_null(old) && f->kind == PATCH_CHANGE)
		f->kind = PATCH_CREATE;
	if (is_null(new) && f->kind == PATCH_CHANGE)
		f->kind = PATCH_DELETE;
	if (is_null(old) != (f->kind == PATCH_CREATE) || is_null(new) != (f->kind == PATCH_DELETE))
		return refuse(r, line,
			"for a new file --- is /dev/null, for a deleted one +++ is, else neither");
	if (n->git)
		return 0;
	if (is_null(old))
		*path = starts(new, "b/") ? view_from(new, 2) : new;
	else if (is_null(new))
		*path = starts(old, "a/") ? view_from(old, 2) : old;
	else if (!same_file(old, new, path))
		return refuse(r, line,
			"--- and +++ must name one file, as a/NAME and b/NAME or both plainly "
			"(renaming is not supported)");
	return 0;
}

/* --- Hunks ------------------------------------------------------------------------------------ */

/* "\ No newline at end of file", in any language. */
static bool is_note(struct view line)
{
	return starts(line, "\\ ");
}

static bool is_marked(struct view line)
{
	return line.n > 0 && (strchr(" +-", line.p[0]) || is_note(line));
}

static bool is_hunk_line(struct view line)
{
	return is_marked(line) || line.n == 0 || view_eqs(line, "\r");
}

/* An editor that trims lines makes an empty context line altogether empty. */
static struct patch_line line_of(struct view line)
{
	bool bare = line.n == 0 || line.p[0] == '\r';

	return (struct patch_line){ bare ? ' ' : line.p[0], view_from(line, bare ? 0 : 1), true };
}

bool patch_next(struct view *body, struct patch_line *line)
{
	struct view v = view_cut(*body, view_find(*body, '\n'));

	if (body->n == 0)
		return false;
	*line = line_of(v);
	*body = view_from(*body, v.n + 1);
	if (is_note(*body)) {
		*body = view_from(*body, view_find(*body, '\n') + 1);
		line->ends = false;
	}
	return true;
}

static bool begins_file(struct view rest)
{
	struct view next = view_from(rest, view_find(rest, '\n') + 1);

	return starts(rest, "diff ") || starts(rest, "Index: ") ||
	       (starts(rest, "--- ") && starts(next, "+++ "));
}

/* The lines a hunk has, whatever its header says: up to the next header, the end, or a line that
 * can be of no hunk (*odd). Blank lines at its end are none of it. */
static void recount(struct view rest, size_t *old, size_t *new, size_t *odd)
{
	size_t blank = 0;

	*old = *new = *odd = 0;
	for (size_t at = 0; rest.n > 0 && !begins_file(rest) && !starts(rest, "@@"); at++) {
		struct view line = view_cut(rest, view_find(rest, '\n'));

		if (!is_hunk_line(line)) {
			*odd = at + 1;
			return;
		}
		rest = view_from(rest, line.n + 1);
		blank = line.n == 0 ? blank + 1 : 0;
		*old += line.n == 0 || line.p[0] == ' ' || line.p[0] == '-' || line.p[0] == '\r';
		*new += line.n == 0 || line.p[0] == ' ' || line.p[0] == '+' || line.p[0] == '\r';
	}
	*old -= blank;
	*new -= blank;
}

static int refuse_counts(const struct reader *r, const struct patch_hunk *h, struct view from)
{
	size_t old, new, odd;

	recount(from, &old, &new, &odd);
	if (odd) {
		struct view line = from;

		for (size_t i = 1; i < odd; i++)
			line = view_from(line, view_find(line, '\n') + 1);
		return refuse_line(r, h->line + odd, view_cut(line, view_find(line, '\n')),
			"a line of a hunk begins with a space, + or -");
	}
	return err_set(r->e, E_FORMAT,
		"line %zu of the patch: the hunk says %zu old and %zu new lines but has %zu and "
		"%zu; if they are meant so, write @@ -%zu,%zu +%zu,%zu @@",
		h->line, h->old_count, h->new_count, old, new, h->old_start, old, h->new_start,
		new);
}

static bool take_number(struct view *v, size_t *out)
{
	unsigned long long n;
	size_t digits = 0;

	while (digits < v->n && v->p[digits] >= '0' && v->p[digits] <= '9')
		digits++;
	if (parse_u64(view_cut(*v, digits), &n) < 0 || n > INT32_MAX)
		return false;
	*out = (size_t)n;
	*v = view_from(*v, digits);
	return true;
}

/* "-10,3" or "-10", which means one line. */
static bool take_range(struct view *v, const char *sign, size_t *start, size_t *count)
{
	if (!starts(*v, sign))
		return false;
	*v = view_from(*v, strlen(sign));
	*count = 1;
	if (!take_number(v, start))
		return false;
	if (!starts(*v, ","))
		return true;
	*v = view_from(*v, 1);
	return take_number(v, count);
}

static int take_hunk_header(struct reader *r, struct patch_hunk *h)
{
	struct view line, v;

	h->line = r->line;
	line = v = take(r);
	if (!take_range(&v, "@@ -", &h->old_start, &h->old_count) ||
		!take_range(&v, " +", &h->new_start, &h->new_count) || !starts(v, " @@"))
		return refuse_line(r, h->line, line,
			"a hunk begins with @@ -START,COUNT +START,COUNT @@");
	if ((h->old_count > 0 && h->old_start == 0) || (h->new_count > 0 && h->new_start == 0))
		return refuse(r, h->line, "lines are counted from 1");
	return 0;
}

/* What is left of a hunk while it is read. */
struct side {
	size_t left;
	bool over; /* its last line had no line end */
};

/* 1: the line is counted. 0: it does not fit the counts. */
static int count_line(struct reader *r, struct side *old, struct side *new, struct patch_file *f)
{
	struct view rest = r->rest;
	struct patch_line line;
	bool in_old, in_new;

	if (!is_hunk_line(peek(r)) || is_note(r->rest) || !patch_next(&rest, &line))
		return 0;
	in_old = line.kind != '+';
	in_new = line.kind != '-';
	if ((in_old && old->left == 0) || (in_new && new->left == 0))
		return 0;
	if ((in_old && old->over) || (in_new && new->over))
		return refuse(r, r->line, "a line stands behind the last one of its file");
	old->left -= in_old;
	new->left -= in_new;
	old->over |= in_old && !line.ends;
	new->over |= in_new && !line.ends;
	f->added += !in_old;
	f->removed += !in_new;
	f->has_cr |= view_ends(line.text, VIEW("\r"));
	r->line += line.ends ? 1 : 2;
	r->rest = rest;
	return 1;
}

static int take_hunk(struct reader *r, struct patch_file *f, size_t *old_end)
{
	struct patch_hunk *h = &r->patch->hunks[r->patch->nhunks];
	size_t changed = f->added + f->removed, from;
	struct side old = { 0 }, new = { 0 };
	struct view body;

	if (r->patch->nhunks == PATCH_HUNKS_MAX)
		return err_set(r->e, E_FULL, "a patch may have at most %d hunks", PATCH_HUNKS_MAX);
	if (take_hunk_header(r, h) < 0)
		return -1;
	body = r->rest;
	old.left = h->old_count;
	new.left = h->new_count;
	while (old.left > 0 || new.left > 0) {
		int rc = count_line(r, &old, &new, f);

		if (rc <= 0)
			return rc < 0 ? -1 : refuse_counts(r, h, body);
	}
	h->body = view_cut(body, body.n - r->rest.n);
	if (is_marked(r->rest) && !begins_file(r->rest))
		return refuse_counts(r, h, body);
	if (f->added + f->removed == changed)
		return refuse(r, h->line, "the hunk changes nothing");
	from = h->old_count > 0 ? h->old_start - 1 : h->old_start;
	if (f->nhunks > 0 && from < *old_end)
		return refuse(r, h->line,
			"the hunk overlaps the one before it; hunks stand in the order of the file");
	*old_end = from + h->old_count;
	if (f->nhunks++ == 0)
		f->hunks = h;
	r->patch->nhunks++;
	return 0;
}

/* --- Files ------------------------------------------------------------------------------------ */

static int refuse_mode(const struct reader *r, size_t line, struct view mode)
{
	if (view_eqs(mode, "120000"))
		return refuse(r, line, "symbolic links are not patched");
	if (view_eqs(mode, "160000"))
		return refuse(r, line, "submodules are not patched");
	return refuse(r, line, "a patch does not set a mode; a new file has mode 100644");
}

/* "new file mode 100644", "deleted file mode 100644" */
static int take_mode(const struct reader *r, struct view mode, enum patch_kind kind,
	struct patch_file *f)
{
	if (f->kind != PATCH_CHANGE && f->kind != kind)
		return refuse(r, r->line, "a file is either created or deleted");
	f->kind = kind;
	if (view_eqs(mode, "100644") || (kind == PATCH_DELETE && view_eqs(mode, "100755")))
		return 0;
	return refuse_mode(r, r->line, mode);
}

/* "index 1234..5678 100644": the mode is the one the file has. */
static int check_index(const struct reader *r, size_t line, struct view v)
{
	struct view mode = view_from(v, view_find(v, ' ') + 1);

	return view_eqs(mode, "120000") || view_eqs(mode, "160000") ? refuse_mode(r, line, mode)
	                                                            : 0;
}

/* Lines that say what lines of text cannot. 1: it is none of them. */
static int check_other(const struct reader *r, size_t number, struct view line)
{
	static const struct {
		const char *prefix, *why;
	} table[] = {
		{ "rename ", "renaming is not supported; delete the old file, create the new one" },
		{ "copy ", "copying is not supported; create the new file" },
		{ "similarity index ", "renaming and copying are not supported" },
		{ "dissimilarity index ", "rewriting is not supported; change the lines" },
		{ "old mode ", "changing the mode of a file is not supported" },
		{ "new mode ", "changing the mode of a file is not supported" },
		{ "GIT binary patch", "binary files are not patched" },
		{ "Binary files ", "binary files are not patched" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (starts(line, table[i].prefix))
			return refuse(r, number, table[i].why);
	return 1;
}

/* What stands between "diff --git" and "---". */
static int take_extended(struct reader *r, struct patch_file *f)
{
	while (r->rest.n > 0) {
		struct view line = without_cr(peek(r));
		int rc = 0;

		if (starts(line, "index ")) {
			rc = check_index(r, r->line, view_from(line, strlen("index ")));
		} else if (starts(line, "new file mode ")) {
			rc = take_mode(r, view_from(line, strlen("new file mode ")), PATCH_CREATE,
				f);
		} else if (starts(line, "deleted file mode ")) {
			rc = take_mode(r, view_from(line, strlen("deleted file mode ")),
				PATCH_DELETE, f);
		} else {
			rc = check_other(r, r->line, line);
			if (rc > 0)
				return 0;
		}
		if (rc < 0)
			return -1;
		(void)take(r);
	}
	return 0;
}

/* The time in "--- NAME<tab>1970-01-01 08:00:00.000000000 +0800". */
static bool is_time_zero(struct view header)
{
	struct tm tm = { .tm_sec = 0 };
	char text[64], *p;
	long east;

	if (copy_z(text, sizeof(text), view_trim(view_from(header, view_find(header, '\t')))) < 0)
		return false;
	p = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
	if (p && *p == '.')
		p += 1 + strspn(p + 1, "0");
	p = p ? strptime(p, " %z", &tm) : NULL;
	if (!p || *p)
		return false;
	east = tm.tm_gmtoff;
	return timegm(&tm) == east;
}

/* diff -N calls a file that is not there as the other one, and gives it that time and no lines. */
static void take_absence(const struct reader *r, struct view old, struct view new, struct names *n)
{
	struct view hunk = peek(r), path;
	size_t plus = view_find(hunk, '+');

	if (!same_file(str_view(&n->old), str_view(&n->new), &path) || path.n == n->old.n)
		return;
	if (is_time_zero(old) && starts(hunk, "@@ -0,0 ")) {
		str_reset(&n->old);
		(void)str_adds(&n->old, "/dev/null");
	} else if (is_time_zero(new) && starts(view_from(hunk, plus), "+0,0 ")) {
		str_reset(&n->new);
		(void)str_adds(&n->new, "/dev/null");
	}
}

static int take_names(struct reader *r, struct names *n, struct patch_file *f)
{
	size_t number = r->line;
	struct view line = peek(r), old;

	if (starts(line, "diff --git ")) {
		n->git = true;
		if (take_git_names(r, number, take(r), &n->left, &n->right) < 0 ||
			take_extended(r, f) < 0)
			return -1;
		line = peek(r);
		number = r->line;
	}
	if (!starts(line, "--- "))
		return 0;
	old = take(r);
	if (take_name(r, number, old, &n->old) < 0)
		return -1;
	line = peek(r);
	if (!starts(line, "+++ "))
		return refuse_line(r, r->line, line, "+++ NAME must follow --- NAME");
	if (take_name(r, number + 1, take(r), &n->new) < 0)
		return -1;
	take_absence(r, old, line, n);
	return 0;
}

/* Creating has nothing to take away, deleting leaves nothing; and something must be done. */
static int judge_file(const struct reader *r, const struct patch_file *f)
{
	if (f->kind == PATCH_CHANGE && f->nhunks == 0)
		return refuse(r, f->line, "the file has no hunks");
	for (size_t i = 0; i < f->nhunks; i++) {
		if (f->kind == PATCH_CREATE && (f->hunks[i].old_count > 0 || i > 0))
			return refuse(r, f->hunks[i].line,
				"a new file has one hunk, of + lines only: @@ -0,0 +1,COUNT @@");
		if (f->kind == PATCH_DELETE && f->hunks[i].new_count > 0)
			return refuse(r, f->hunks[i].line,
				"a deleted file has - lines only: @@ -1,COUNT +0,0 @@");
	}
	return 0;
}

static int take_file(struct reader *r)
{
	const struct str name = STR_INIT(PATH_SIZE - 1);
	struct names n = { name, name, name, name, false };
	struct patch_file *f = &r->patch->files[r->patch->nfiles];
	struct view path = VIEW_NONE;
	size_t old_end = 0;
	int rc = -1;

	if (r->patch->nfiles == PATCH_FILES_MAX)
		return err_set(r->e, E_FULL, "a patch may have at most %d files", PATCH_FILES_MAX);
	f->line = r->line;
	if (take_names(r, &n, f) < 0 || judge_names(r, &n, f->line, f, &path) < 0)
		goto out;
	f->path = strndup(path.n > 0 ? path.p : "", path.n);
	if (!f->path) {
		(void)err_set(r->e, E_NOMEM, "a patch");
		goto out;
	}
	r->patch->nfiles++;
	rc = 0;
	while (rc == 0 && n.old.n > 0 && starts(r->rest, "@@"))
		rc = take_hunk(r, f, &old_end);
	if (rc == 0)
		rc = judge_file(r, f);
out:
	names_release(&n);
	return rc;
}

/* Lines that other programs put between files, and that say nothing. */
static bool says_nothing(struct view line)
{
	return line.n == 0 || starts(line, "Index: ") || starts(line, "=====") ||
	       (starts(line, "diff ") && !starts(line, "diff --git "));
}

static int take_files(struct reader *r)
{
	while (r->rest.n > 0) {
		struct view line = without_cr(peek(r));

		if (says_nothing(line)) {
			(void)take(r);
			continue;
		}
		if (starts(line, "diff --git ") || starts(line, "--- ")) {
			if (take_file(r) < 0)
				return -1;
			continue;
		}
		if (check_other(r, r->line, line) < 0)
			return -1;
		return refuse_line(r, r->line, line,
			starts(line, "@@")
				? "a hunk needs --- NAME and +++ NAME before it"
				: "a file of a patch begins with --- NAME and +++ NAME, not with");
	}
	return r->patch->nfiles > 0 ? 0 : err_set(r->e, E_FORMAT, "the patch names no file");
}

int patch_parse(struct patch **out, struct view text, struct err *e)
{
	struct reader r = { .rest = text, .line = 1, .e = e };

	*out = NULL;
	if (text.n > PATCH_BYTES_MAX)
		return err_set(e, E_FORMAT, "a patch may have at most %zu bytes", PATCH_BYTES_MAX);
	if (text.n > 0 && memchr(text.p, '\0', text.n))
		return err_set(e, E_FORMAT,
			"the patch has a NUL byte; binary files are not patched");
	r.patch = calloc(1, sizeof(*r.patch));
	if (!r.patch)
		return err_set(e, E_NOMEM, "a patch");
	if (take_files(&r) < 0) {
		patch_free(&r.patch);
		return -1;
	}
	*out = r.patch;
	return 0;
}

void patch_free(struct patch **p)
{
	if (!*p)
		return;
	for (size_t i = 0; i < (*p)->nfiles; i++)
		free((*p)->files[i].path);
	free(*p);
	*p = NULL;
}
