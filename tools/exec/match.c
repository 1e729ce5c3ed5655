#include "tools/exec/match.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct match {
	char *alt[MATCH_ALTERNATIVES_MAX]; /* patterns without braces */
	int n;
};

/* --- Braces ----------------------------------------------------------------------------------- */

static int add_alt(struct match *m, struct view v)
{
	char *z;

	if (m->n == MATCH_ALTERNATIVES_MAX)
		return -1;
	z = malloc(v.n + 1);
	if (!z)
		return -1;
	if (v.n > 0)
		memcpy(z, v.p, v.n);
	z[v.n] = '\0';
	m->alt[m->n++] = z;
	return 0;
}

/* Behind the character at i, which a backslash may make one with the next. */
static size_t next_at(const char *p, size_t i)
{
	return i + (p[i] == '\\' && p[i + 1] ? 2 : 1);
}

/* The first group that has a comma: where it opens and closes; false when there is none. */
static bool find_group(const char *p, size_t *open, size_t *close)
{
	for (size_t i = 0; p[i]; i = next_at(p, i)) {
		int depth = 0;
		bool comma = false;

		if (p[i] != '{')
			continue;
		for (size_t k = i; p[k]; k = next_at(p, k)) {
			if (p[k] == '{')
				depth++;
			else if (p[k] == ',' && depth == 1)
				comma = true;
			else if (p[k] == '}' && --depth == 0) {
				*open = i;
				*close = k;
				if (comma)
					return true;
				break;
			}
		}
	}
	return false;
}

/* The group of alt[at] becomes each of its choices: the first in place, the others at the end. */
static int split_group(struct match *m, int at, size_t open, size_t close)
{
	char *p = m->alt[at];
	size_t from = open + 1;
	int depth = 0;

	m->alt[at] = NULL;
	for (size_t k = open + 1; k <= close; k = next_at(p, k)) {
		char made[MATCH_PATTERN_MAX + 1];
		struct str s = STR_INIT(MATCH_PATTERN_MAX);
		int rc;

		if (p[k] == '{')
			depth++;
		if (k < close && p[k] == '}')
			depth--;
		if (k != close && (p[k] != ',' || depth > 0))
			continue;
		(void)str_add(&s, (struct view){ p, open });
		(void)str_add(&s, (struct view){ p + from, k - from });
		(void)str_adds(&s, p + close + 1);
		rc = str_ok(&s) ? copy_z(made, sizeof(made), str_view(&s)) : -1;
		str_release(&s);
		if (rc == 0 && !m->alt[at])
			m->alt[at] = strdup(made);
		else if (rc == 0)
			rc = add_alt(m, view_of(made));
		if (rc < 0 || !m->alt[at]) {
			free(p);
			return -1;
		}
		from = k + 1;
	}
	free(p);
	return 0;
}

int match_new(struct match **out, struct view pattern, struct err *e)
{
	struct match *m = calloc(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return err_set(e, E_NOMEM, "a pattern");
	if (pattern.n == 0 || pattern.n > MATCH_PATTERN_MAX || add_alt(m, pattern) < 0) {
		match_free(&m);
		return err_set(e, E_FORMAT, "a pattern must have 1 to %d bytes", MATCH_PATTERN_MAX);
	}
	for (int i = 0; i < m->n; i++) {
		size_t open, close;

		while (m->alt[i] && find_group(m->alt[i], &open, &close)) {
			if (split_group(m, i, open, close) == 0)
				continue;
			match_free(&m);
			return err_set(e, E_FORMAT, "a pattern may have at most %d alternatives",
				MATCH_ALTERNATIVES_MAX);
		}
	}
	*out = m;
	return 0;
}

void match_free(struct match **mp)
{
	if (!*mp)
		return;
	for (int i = 0; i < (*mp)->n; i++)
		free((*mp)->alt[i]);
	free(*mp);
	*mp = NULL;
}

/* --- One component ---------------------------------------------------------------------------- */

static size_t take_char(struct view v, uint32_t *cp)
{
	size_t n = utf8_next(v, cp);

	if (n == 0) {
		*cp = 0x110000U + (unsigned char)v.p[0]; /* an invalid byte is like itself only */
		n = 1;
	}
	return n;
}

/* The same, but for what a backslash makes an ordinary character. */
static size_t take_literal(struct view v, uint32_t *cp)
{
	bool escaped = v.p[0] == '\\' && v.n > 1;

	return (escaped ? 1 : 0) + take_char(view_from(v, escaped ? 1 : 0), cp);
}

/* A class at v.p[0] == '['. Returns its length, or 0 when it is not closed (then "[" is itself). */
static size_t take_class(struct view v, uint32_t c, bool *hit)
{
	size_t i = 1;
	bool negate = false, in = false;

	if (i < v.n && (v.p[i] == '!' || v.p[i] == '^')) {
		negate = true;
		i++;
	}
	for (size_t first = i; i < v.n; first = SIZE_MAX) {
		uint32_t lo, hi;

		if (v.p[i] == ']' && i != first) {
			*hit = in != negate;
			return i + 1;
		}
		i += take_literal(view_from(v, i), &lo);
		hi = lo;
		if (i + 1 < v.n && v.p[i] == '-' && v.p[i + 1] != ']')
			i += 1 + take_literal(view_from(v, i + 1), &hi);
		if (lo <= c && c <= hi)
			in = true;
	}
	return 0;
}

/* Does the head of the pattern take one character c? Its length, or 0. */
static size_t head_takes(struct view pat, uint32_t c)
{
	uint32_t want;
	size_t n;
	bool hit = false;

	if (pat.n == 0)
		return 0;
	if (pat.p[0] == '?')
		return 1;
	if (pat.p[0] == '[' && (n = take_class(pat, c, &hit)) > 0)
		return hit ? n : 0;
	n = take_literal(pat, &want);
	return want == c ? n : 0;
}

static bool match_part(struct view pat, struct view name)
{
	struct view star_pat = VIEW_NONE, star_name = VIEW_NONE;
	bool starred = false;

	while (name.n > 0) {
		uint32_t c;
		size_t step = take_char(name, &c), took;

		if (pat.n > 0 && pat.p[0] == '*') {
			starred = true;
			star_pat = pat = view_from(pat, 1);
			star_name = name;
			continue;
		}
		took = head_takes(pat, c);
		if (took > 0) {
			pat = view_from(pat, took);
			name = view_from(name, step);
			continue;
		}
		if (!starred)
			return false;
		/* The last star takes one character more. */
		star_name = view_from(star_name, take_char(star_name, &c));
		name = star_name;
		pat = star_pat;
	}
	while (pat.n > 0 && pat.p[0] == '*')
		pat = view_from(pat, 1);
	return pat.n == 0;
}

/* --- Paths ------------------------------------------------------------------------------------ */

static struct view head_of(struct view path)
{
	return view_cut(path, view_find(path, '/'));
}

static struct view rest_of(struct view path)
{
	return view_from(path, view_find(path, '/') + 1);
}

/* With `prefix`: may the pattern go on after the whole path has been used up? */
static bool match_one(struct view pat, struct view path, bool prefix)
{
	struct view star_pat = VIEW_NONE, star_path = VIEW_NONE;
	bool starred = false;

	while (path.n > 0) {
		if (view_eqs(head_of(pat), "**")) {
			starred = true;
			star_pat = pat = rest_of(pat);
			star_path = path;
			if (prefix || pat.n == 0)
				return true;
			continue;
		}
		if (pat.n > 0 && match_part(head_of(pat), head_of(path))) {
			pat = rest_of(pat);
			path = rest_of(path);
			continue;
		}
		if (!starred)
			return false;
		star_path = rest_of(star_path);
		path = star_path;
		pat = star_pat;
	}
	return prefix ? pat.n > 0 : pat.n == 0;
}

bool match_path(const struct match *m, struct view path)
{
	for (int i = 0; i < m->n; i++)
		if (match_one(view_of(m->alt[i]), path, false))
			return true;
	return false;
}

bool match_below(const struct match *m, struct view dir)
{
	for (int i = 0; i < m->n; i++)
		if (match_one(view_of(m->alt[i]), dir, true))
			return true;
	return false;
}

bool match_name_or_path(const struct match *m, struct view path)
{
	struct view name = path;

	for (size_t at; (at = view_find(name, '/')) < name.n;)
		name = view_from(name, at + 1);
	for (int i = 0; i < m->n; i++) {
		bool whole = strchr(m->alt[i], '/');

		if (match_one(view_of(m->alt[i]), whole ? path : name, false))
			return true;
	}
	return false;
}
