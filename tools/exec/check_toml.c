/* The syntax of TOML, whole; base/toml.h reads a part of it for our own settings. */
#include "tools/exec/check.h"

#include <string.h>

#include "tools/exec/toml_names.h"

#define DEPTH_MAX 64

struct toml_text {
	struct view text;
	size_t at;
	int depth;
	bool too_deep;
	struct finding *f;
	struct toml_names *names;
	int table; /* that keys go to */
};

static bool more(const struct toml_text *t)
{
	return t->at < t->text.n;
}

static char peek(const struct toml_text *t)
{
	return more(t) ? t->text.p[t->at] : '\0';
}

static bool at(const struct toml_text *t, const char *z)
{
	return view_starts(view_from(t->text, t->at), view_of(z));
}

static bool take(struct toml_text *t, const char *z)
{
	if (!at(t, z))
		return false;
	t->at += strlen(z);
	return true;
}

/* All functions below that return bool: true is a fault. */
static bool fault(const struct toml_text *t, const char *what)
{
	return check_found(t->f, t->at, "%s", what);
}

static void skip_blank(struct toml_text *t)
{
	while (peek(t) == ' ' || peek(t) == '\t')
		t->at++;
}

static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

static bool at_line_end(const struct toml_text *t)
{
	return !more(t) || at(t, "\n") || at(t, "\r\n");
}

static bool skip_comment(struct toml_text *t)
{
	if (peek(t) != '#')
		return false;
	for (; !at_line_end(t); t->at++)
		if (is_control(peek(t)))
			return fault(t, "a control character in a comment");
	return false;
}

/* Blanks, comments and line ends. */
static bool skip_space(struct toml_text *t)
{
	for (;;) {
		skip_blank(t);
		if (skip_comment(t))
			return true;
		if (!take(t, "\n") && !take(t, "\r\n"))
			return false;
	}
}

/* --- Strings ---------------------------------------------------------------------------------- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Behind the backslash. */
static bool skip_escape(struct toml_text *t, bool lines)
{
	char c = peek(t);
	size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;

	if (lines && (c == ' ' || c == '\t' || at_line_end(t))) {
		skip_blank(t);
		return at_line_end(t) && more(t)
		               ? false
		               : fault(t,
					 "only blanks may stand behind a backslash at a line's end");
	}
	if (!check_is(c, "btnfre\"\\xuU"))
		return fault(t, "no such escape");
	t->at++;
	for (; digits > 0; digits--, t->at++)
		if (!is_hex(peek(t)))
			return fault(t, "a digit of the escape is missing");
	return false;
}

static bool skip_line_string(struct toml_text *t, char quote)
{
	size_t begin = t->at++;

	while (peek(t) != quote) {
		if (at_line_end(t))
			return check_found(t->f, begin, "the string is not closed");
		if (is_control(peek(t)))
			return fault(t, "a control character in a string");
		if (peek(t) == '\\' && quote == '"') {
			t->at++;
			if (skip_escape(t, false))
				return true;
		} else {
			t->at++;
		}
	}
	t->at++;
	return false;
}

static bool skip_long_string(struct toml_text *t, const char *quotes)
{
	size_t begin = t->at;

	for (t->at += 3; !take(t, quotes);) {
		if (!more(t))
			return check_found(t->f, begin, "the string is not closed");
		if (take(t, "\r\n") || take(t, "\n"))
			continue;
		if (is_control(peek(t)))
			return fault(t, "a control character in a string");
		if (peek(t) == '\\' && quotes[0] == '"') {
			t->at++;
			if (skip_escape(t, true))
				return true;
		} else {
			t->at++;
		}
	}
	/* One or two more belong to the string. */
	for (int i = 0; i < 2 && peek(t) == quotes[0]; i++)
		t->at++;
	return false;
}

/* --- Keys ------------------------------------------------------------------------------------- */

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

/* One part; *part is its name, or like no other: two that are written with escapes may be one. */
static bool skip_part(struct toml_text *t, struct view *part)
{
	size_t begin = t->at;

	if (peek(t) == '"' || peek(t) == '\'') {
		if (skip_line_string(t, peek(t)))
			return true;
		*part = view_cut(view_from(t->text, begin + 1), t->at - begin - 2);
		if (t->text.p[begin] == '"' && view_find(*part, '\\') < part->n)
			*part = VIEW_NONE;
		return false;
	}
	if (!is_bare(peek(t)))
		return fault(t, "a key was expected");
	while (is_bare(peek(t)))
		t->at++;
	*part = view_cut(view_from(t->text, begin), t->at - begin);
	return false;
}

/* A key from the table `in` on: all parts but the last are used as `way`. *table: what it stands
 * for. */
static bool skip_key(struct toml_text *t, int in, enum toml_use way, enum toml_use last, int *table)
{
	bool more_parts;

	*table = in;
	do {
		size_t begin;
		struct view part = VIEW_NONE;

		skip_blank(t);
		begin = t->at;
		if (skip_part(t, &part))
			return true;
		skip_blank(t);
		more_parts = take(t, ".");
		*table = toml_names_add(t->names, *table, part, more_parts ? way : last);
		if (*table < 0)
			return check_found(t->f, begin, "this name is defined above already");
	} while (more_parts);
	return false;
}

/* --- Numbers and dates ------------------------------------------------------------------------ */

/* Digits that `of` has, with single underscores between them; 0: none, or wrong. */
static size_t digits(struct view v, const char *of)
{
	size_t n = 0;

	while (n < v.n &&
		(check_is(v.p[n], of) || (v.p[n] == '_' && n > 0 && n + 1 < v.n &&
						 v.p[n - 1] != '_' && check_is(v.p[n + 1], of))))
		n++;
	return n;
}

#define DECIMAL "0123456789"

static bool is_based(struct view v)
{
	static const char *const of[] = { "0123456789abcdefABCDEF", "01234567", "01" };
	static const char letters[] = "xob";
	const char *letter =
		v.n > 2 && v.p[0] == '0' && v.p[1] != '\0' ? strchr(letters, v.p[1]) : NULL;

	return letter && digits(view_from(v, 2), of[letter - letters]) == v.n - 2;
}

static bool is_number(struct view v)
{
	size_t n;

	if (is_based(v))
		return true;
	if (v.n > 0 && (v.p[0] == '+' || v.p[0] == '-'))
		v = view_from(v, 1);
	if (view_eqs(v, "inf") || view_eqs(v, "nan"))
		return true;
	n = digits(v, DECIMAL);
	if (n == 0 || (v.p[0] == '0' && n > 1))
		return false;
	v = view_from(v, n);
	if (v.n > 0 && v.p[0] == '.') {
		n = digits(view_from(v, 1), DECIMAL);
		if (n == 0)
			return false;
		v = view_from(v, n + 1);
	}
	if (v.n > 0 && (v.p[0] == 'e' || v.p[0] == 'E')) {
		v = view_from(v, v.n > 1 && (v.p[1] == '+' || v.p[1] == '-') ? 2 : 1);
		n = digits(v, DECIMAL);
		return n > 0 && n == v.n;
	}
	return v.n == 0;
}

/* The shape alone: "d" in the pattern is a digit. The length that fits, or 0. */
static size_t fits(struct view v, const char *pattern)
{
	size_t n = strlen(pattern);

	for (size_t i = 0; i < n; i++)
		if (i >= v.n ||
			(pattern[i] == 'd' ? !check_is(v.p[i], DECIMAL) : v.p[i] != pattern[i]))
			return 0;
	return n;
}

static bool is_time(struct view v, bool zone)
{
	size_t n = fits(v, "dd:dd");

	if (n == 0)
		return false;
	v = view_from(v, n);
	if (fits(v, ":dd")) {
		v = view_from(v, 3);
		if (fits(v, ".d")) {
			v = view_from(v, 2);
			while (fits(v, "d"))
				v = view_from(v, 1);
		}
	}
	if (v.n == 0)
		return true;
	return zone && (view_eqs(v, "Z") || view_eqs(v, "z") ||
			       ((fits(v, "+dd:dd") || fits(v, "-dd:dd")) && v.n == 6));
}

static bool is_date(struct view v)
{
	if (!fits(v, "dddd-dd-dd"))
		return false;
	v = view_from(v, 10);
	return v.n == 0 || (check_is(v.p[0], "Tt ") && is_time(view_from(v, 1), true));
}

static bool skip_plain(struct toml_text *t)
{
	size_t begin = t->at;
	struct view v;

	while (is_bare(peek(t)) || check_is(peek(t), "+.:"))
		t->at++;
	v = view_cut(view_from(t->text, begin), t->at - begin);
	if (v.n == 10 && is_date(v) && fits(view_from(t->text, t->at), " dd:dd")) {
		for (t->at++; is_bare(peek(t)) || check_is(peek(t), "+.:");)
			t->at++;
		v = view_cut(view_from(t->text, begin), t->at - begin);
	}
	if (view_eqs(v, "true") || view_eqs(v, "false") || is_number(v) || is_date(v) ||
		is_time(v, false))
		return false;
	t->at = begin;
	return fault(t,
		v.n > 0 ? "that is no value; text stands in quotes" : "a value was expected");
}

/* --- Values ----------------------------------------------------------------------------------- */

static bool skip_value(struct toml_text *t);

static bool skip_pair(struct toml_text *t)
{
	int value;

	if (skip_key(t, t->table, TOML_THROUGH, TOML_VALUE, &value))
		return true;
	if (!take(t, "="))
		return fault(t, "= was expected behind the key");
	skip_blank(t);
	return skip_value(t);
}

/* An array or an inline table, at its bracket. */
static bool skip_items(struct toml_text *t, const char *end, bool (*item)(struct toml_text *))
{
	size_t begin = t->at++;

	for (;;) {
		if (skip_space(t))
			return true;
		if (take(t, end))
			return false;
		if (item(t) || skip_space(t))
			return true;
		if (take(t, end))
			return false;
		if (!more(t))
			return check_found(t->f, begin, "%c is not closed", t->text.p[begin]);
		if (!take(t, ","))
			return check_found(t->f, t->at, "a comma or %s was expected", end);
	}
}

/* Too deep is no fault, but nothing can be said of the rest. */
static bool skip_nested(struct toml_text *t, const char *end, bool (*item)(struct toml_text *))
{
	bool bad;

	if (t->depth == DEPTH_MAX) {
		t->too_deep = true;
		return true;
	}
	t->depth++;
	bad = skip_items(t, end, item);
	t->depth--;
	return bad;
}

/* A table of its own, and closed behind its bracket. */
static bool skip_inline_table(struct toml_text *t)
{
	int above = t->table, section;
	bool bad;

	t->table = toml_names_add(t->names, TOML_DOCUMENT, VIEW_NONE, TOML_TABLE);
	section = toml_names_section(t->names, t->table);
	bad = skip_nested(t, "}", skip_pair);
	(void)toml_names_section(t->names, section);
	t->table = above;
	return bad;
}

static bool skip_value(struct toml_text *t)
{
	if (at(t, "\"\"\""))
		return skip_long_string(t, "\"\"\"");
	if (at(t, "'''"))
		return skip_long_string(t, "'''");
	switch (peek(t)) {
	case '"':
	case '\'': return skip_line_string(t, peek(t));
	case '[': return skip_nested(t, "]", skip_value);
	case '{': return skip_inline_table(t);
	default: return skip_plain(t);
	}
}

/* --- The document ----------------------------------------------------------------------------- */

static bool skip_header(struct toml_text *t)
{
	const char *end = take(t, "[[") ? "]]" : take(t, "[") ? "]" : "";
	enum toml_use last = end[1] ? TOML_ITEM : TOML_TABLE;

	if (skip_key(t, TOML_DOCUMENT, TOML_DOWN, last, &t->table))
		return true;
	(void)toml_names_section(t->names, t->table);
	return take(t, end) ? false : check_found(t->f, t->at, "%s was expected", end);
}

bool check_toml(struct view text, struct finding *f)
{
	struct toml_text t = { .text = text, .f = f, .names = toml_names_open() };
	bool bad = false;

	(void)take(&t, "\xef\xbb\xbf");
	while (!bad) {
		bad = skip_space(&t);
		if (bad || !more(&t))
			break;
		bad = peek(&t) == '[' ? skip_header(&t) : skip_pair(&t);
		skip_blank(&t);
		bad = bad || skip_comment(&t);
		if (!bad && !at_line_end(&t))
			bad = fault(&t, "the end of the line was expected");
	}
	toml_names_close(&t.names);
	return bad && !t.too_deep;
}
