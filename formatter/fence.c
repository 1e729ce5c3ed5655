#include "formatter/format-private.h"

#include <string.h>

struct view first_line(struct view v, size_t *next)
{
	size_t end = view_find(v, '\n');

	*next = end < v.n ? end + 1 : v.n;
	return view_cut(v, end);
}

bool is_blank_line(struct view line)
{
	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r')
			return false;
	}
	return true;
}

size_t list_marker(struct view v)
{
	size_t n = 0;

	if (v.n == 0)
		return 0;
	if (v.p[0] == '-' || v.p[0] == '*' || v.p[0] == '+') {
		n = 1;
	} else {
		while (n < v.n && n < 9 && v.p[n] >= '0' && v.p[n] <= '9')
			n++;
		if (n == 0 || n >= v.n || (v.p[n] != '.' && v.p[n] != ')'))
			return 0;
		n++;
	}

	size_t end = n;

	while (end < v.n && end - n < 4 && v.p[end] == ' ')
		end++;
	return end > n ? end : 0;
}

/* What stands before the text of a line. */
struct lead {
	size_t at;     /* bytes */
	size_t indent; /* columns since the last container opened on this line */
	size_t item;   /* columns up to the content of the last list item opened here, 0: none */
	size_t quotes;
};

static struct lead read_lead(struct view line, size_t most)
{
	struct lead l = { 0, 0, 0, 0 };
	size_t col = 0, n;

	while (l.at < line.n) {
		char c = line.p[l.at];

		if (c == ' ' || c == '\t') {
			n = c == ' ' ? 1 : 4 - col % 4;
			l.at++;
			l.indent += n;
			col += n;
		} else if (c == '>') {
			l.at++;
			col++;
			l.quotes++;
			l.indent = 0;
			if (l.at < line.n && line.p[l.at] == ' ') {
				l.at++;
				col++;
			}
		} else {
			n = l.indent > most ? 0 : list_marker(view_from(line, l.at));
			if (n == 0)
				break;
			l.at += n;
			col += n;
			l.item = col;
			l.indent = 0;
			most = 3;
		}
	}
	return l;
}

static size_t run_length(struct view v, char c)
{
	size_t n = 0;

	while (n < v.n && v.p[n] == c)
		n++;
	return n;
}

static bool opens(struct fence *f, struct view line, const struct lead *l)
{
	char c = l->at < line.n ? line.p[l->at] : ' ';
	size_t most = l->item > 0 || l->quotes > 0 ? 3 : f->item + 3;

	if ((c != '`' && c != '~') || l->indent > most)
		return false;

	struct view rest = view_from(line, l->at);
	size_t len = run_length(rest, c);

	/* "```a```" on one line is inline code. */
	if (len < 3 || (c == '`' && memchr(rest.p + len, '`', rest.n - len)))
		return false;
	f->mark = c;
	f->len = len;
	f->prefix = l->at;
	f->quotes = l->quotes;
	f->indent = f->item;
	if (l->item == 0 && l->quotes == 0 && l->indent < f->item)
		f->indent = l->indent;
	return true;
}

/* Columns and quote marks in front of a body line's text. */
static size_t margin(struct view line, size_t most_quotes, size_t *at, size_t *quotes)
{
	size_t col = 0;

	*quotes = 0;
	for (*at = 0; *at < line.n; ++*at) {
		char c = line.p[*at];

		if (c == '>' && *quotes < most_quotes)
			++*quotes;
		else if (c != ' ' && c != '\t')
			break;
		col += c == '\t' ? 4 : 1;
	}
	return col;
}

/* A line outside the list item or quote that the fence stands in ends it. */
static bool leaves(const struct fence *f, struct view line)
{
	size_t at, quotes, col = margin(line, f->quotes, &at, &quotes);

	return quotes < f->quotes || col < f->indent;
}

static bool closes(const struct fence *f, struct view line)
{
	size_t at, quotes, col = margin(line, f->quotes, &at, &quotes);
	struct view rest = view_from(line, at);
	size_t len = run_length(rest, f->mark);

	return len >= f->len && is_blank_line(view_from(rest, len)) &&
	       col <= f->indent + 2 * quotes + 3;
}

enum line_kind fence_line(struct fence *f, struct view line)
{
	bool blank = is_blank_line(line);

	if (f->mark) {
		if (closes(f, line)) {
			f->mark = 0;
			return LINE_CLOSE;
		}
		if (!leaves(f, line) || (blank && f->quotes == 0))
			return LINE_BODY;
		f->mark = 0;
	}
	if (blank) {
		f->after_blank = true;
		return LINE_BLANK;
	}

	struct lead l = read_lead(line, f->item + 3);

	if (l.item > 0)
		f->item = l.item;
	else if (l.indent == 0 && f->after_blank)
		f->item = 0;
	f->after_blank = false;
	return opens(f, line, &l) ? LINE_OPEN : LINE_TEXT;
}
