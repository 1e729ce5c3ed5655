/* What Python's tokenizer would say of strings, brackets and indentation. */
#include "tools/exec/check.h"

#define INDENTS_MAX 100 /* as CPython has it */

struct indent {
	size_t wide, narrow; /* with a tab as 8 columns, and as 1: both must tell the same */
};

struct python {
	struct view text;
	size_t at;
	struct finding *f;
	struct brackets brackets;
	struct indent stack[INDENTS_MAX];
	size_t depth;
	bool block;  /* the last line ended in a colon */
	bool unsure; /* an f-string may hold quotes of its own, since Python 3.12 */
	char last;   /* character of the line that means something */
};

static char peek(const struct python *p, size_t ahead)
{
	return p->at + ahead < p->text.n ? p->text.p[p->at + ahead] : '\0';
}

static bool more(const struct python *p)
{
	return p->at < p->text.n;
}

static void skip_to_line_end(struct python *p)
{
	while (more(p) && peek(p, 0) != '\n')
		p->at++;
}

/* --- Strings ---------------------------------------------------------------------------------- */

static bool is_f_string(const struct python *p)
{
	for (size_t i = p->at; i > 0 && p->at - i < 2; i--) {
		char c = p->text.p[i - 1];

		if (check_is(c, "fFtT"))
			return true;
		if (!check_is(c, "rR"))
			return false;
	}
	return false;
}

/* At its first quote. True: it is not closed. */
static bool skip_string(struct python *p)
{
	size_t begin = p->at;
	char quote = peek(p, 0);
	bool triple = peek(p, 1) == quote && peek(p, 2) == quote;

	p->unsure |= is_f_string(p);
	p->at += triple ? 3 : 1;
	while (more(p)) {
		char c = peek(p, 0);

		if (c == quote && (!triple || (peek(p, 1) == quote && peek(p, 2) == quote))) {
			p->at += triple ? 3 : 1;
			return false;
		}
		if (c == '\n' && !triple)
			break;
		p->at += c == '\\' && p->at + 1 < p->text.n ? 2 : 1;
		if (c == '\\' && p->text.p[p->at - 1] == '\r' && peek(p, 0) == '\n')
			p->at++;
	}
	return check_found(p->f, begin, "the string is not closed");
}

/* --- Lines ------------------------------------------------------------------------------------ */

static struct indent take_indent(struct python *p)
{
	struct indent in = { 0, 0 };

	for (;; p->at++) {
		switch (peek(p, 0)) {
		case ' ':
			in.wide++;
			in.narrow++;
			break;
		case '\t':
			in.wide = in.wide / 8 * 8 + 8;
			in.narrow++;
			break;
		case '\f': in.wide = in.narrow = 0; break;
		default: return in;
		}
	}
}

static int compare(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/* True: the line cannot stand so far in. */
static bool check_indent(struct python *p, struct indent in)
{
	struct indent top = p->stack[p->depth];
	int order = compare(in.wide, top.wide);

	if (order != compare(in.narrow, top.narrow))
		return check_found(p->f, p->at, "tabs and spaces are mixed in the indentation");
	if (p->block && order <= 0)
		return check_found(p->f, p->at,
			"an indented line was expected after the one that ends in a colon");
	if (!p->block && order > 0)
		return check_found(p->f, p->at, "the line is indented for no reason");
	if (order > 0) {
		if (p->depth + 1 == INDENTS_MAX)
			p->brackets.too_deep = true;
		else
			p->stack[++p->depth] = in;
		return false;
	}
	while (p->depth > 0 && p->stack[p->depth].wide > in.wide)
		p->depth--;
	if (p->stack[p->depth].wide != in.wide || p->stack[p->depth].narrow != in.narrow)
		return check_found(p->f, p->at, "the indentation is that of no line above");
	return false;
}

/* One character, string, comment or line end within a line. *end: the line is over. */
static bool step(struct python *p, bool *end)
{
	char c = peek(p, 0);

	if (c == '#') {
		skip_to_line_end(p);
		return false;
	}
	if (c == '"' || c == '\'') {
		p->last = c;
		return skip_string(p);
	}
	if (c == '\\') { /* the next line goes on with this one */
		p->at += peek(p, 1) == '\r' && peek(p, 2) == '\n' ? 3
		         : p->at + 1 < p->text.n                  ? 2
		                                                  : 1;
		return false;
	}
	if (c == '\n' && p->brackets.n == 0)
		*end = true;
	if (!check_is(c, " \t\r\n\f"))
		p->last = c;
	if (check_is(c, "([{"))
		brackets_open(&p->brackets, c, p->at);
	if (check_is(c, ")]}") && brackets_close(&p->brackets, p->text, c, p->at, p->f))
		return true;
	p->at++;
	return false;
}

/* With all that brackets and backslashes add to it. */
static bool check_line(struct python *p)
{
	struct indent in = take_indent(p);
	bool end = false;

	if (!more(p) || check_is(peek(p, 0), "\n\r#")) {
		skip_to_line_end(p);
		p->at++;
		return false;
	}
	if (check_indent(p, in))
		return true;
	p->last = '\0';
	p->unsure = false;
	while (more(p) && !end && !p->brackets.too_deep)
		if (step(p, &end))
			return true;
	p->block = p->last == ':';
	return false;
}

static bool check_end(struct python *p)
{
	if (p->brackets.n > 0)
		return check_found(p->f, p->brackets.open[p->brackets.n - 1].at, "%c is not closed",
			p->brackets.open[p->brackets.n - 1].c);
	if (p->block)
		return check_found(p->f, p->text.n,
			"an indented line was expected after the one that ends in a colon");
	return false;
}

bool check_python(struct view text, struct finding *f)
{
	struct python p = { .text = text, .f = f };
	bool found = false;

	if (view_starts(text, VIEW("\xef\xbb\xbf")))
		p.at = 3;
	while (!found && more(&p) && !p.brackets.too_deep)
		found = check_line(&p);
	if (!found && !p.brackets.too_deep)
		found = check_end(&p);
	return found && !p.unsure;
}
