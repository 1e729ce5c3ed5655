#include "tools/exec/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool check_found(struct finding *f, size_t at, const char *fmt, ...)
{
	va_list ap;

	f->at = at;
	va_start(ap, fmt);
	(void)vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
	return true;
}

bool check_is(char c, const char *set)
{
	return c != '\0' && strchr(set, c);
}

void check_place(struct view text, size_t at, size_t *line, size_t *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < at && i < text.n; i++) {
		if (text.p[i] == '\n') {
			++*line;
			*column = 1;
		} else if (((unsigned char)text.p[i] & 0xc0) != 0x80) {
			++*column;
		}
	}
}

void brackets_open(struct brackets *b, char c, size_t at)
{
	if (b->n == CHECK_DEPTH_MAX) {
		b->too_deep = true;
		return;
	}
	b->open[b->n].c = c;
	b->open[b->n++].at = at;
}

/* Of what is open as `c`: "$" stands for a place in a template, which a brace closes. */
static char closer(char c)
{
	switch (c) {
	case '(': return ')';
	case '[': return ']';
	default: return '}';
	}
}

bool brackets_close(struct brackets *b, struct view text, char c, size_t at, struct finding *f)
{
	size_t line, column;

	if (b->n == 0)
		return check_found(f, at, "%c closes nothing", c);
	b->n--;
	if (closer(b->open[b->n].c) == c)
		return false;
	check_place(text, b->open[b->n].at, &line, &column);
	return check_found(f, at, "%c does not close the %c of line %zu, column %zu", c,
		b->open[b->n].c == '$' ? '{' : b->open[b->n].c, line, column);
}
