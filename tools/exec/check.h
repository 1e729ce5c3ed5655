/* tools/exec/check.h: what is plainly wrong with a text in one language or another; for diagnose.c.
 *
 * A check finds the first fault and says where and what, or nothing. It is linear in the text, and
 * where it cannot be sure that something is a fault it finds nothing. */
#ifndef TOOLS_EXEC_CHECK_H
#define TOOLS_EXEC_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct finding {
	size_t at; /* byte of the text */
	char what[160];
};

typedef bool check_fn(struct view text, struct finding *f); /* true: a fault, f is filled */

check_fn check_toml;   /* TOML 1.0 and 1.1: the syntax, and names that stand twice */
check_fn check_python; /* strings, brackets and indentation */

/* Brackets, strings and comments of languages with braces, by the end of the file's name. */
struct brace_language;
const struct brace_language *brace_language_find(struct view extension); /* NULL: none of them */
bool check_braces(const struct brace_language *l, struct view text, struct finding *f);

/* Always true, so that a check can return it. */
bool check_found(struct finding *f, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Line and column, in characters, of a byte; from 1. */
void check_place(struct view text, size_t at, size_t *line, size_t *column);

/* One of the characters of set, which a NUL never is. */
bool check_is(char c, const char *set);

/* Brackets that are open, innermost last. */
#define CHECK_DEPTH_MAX 1000
struct brackets {
	struct {
		char c;
		size_t at;
	} open[CHECK_DEPTH_MAX];
	size_t n;
	bool too_deep; /* nothing can be said any more */
};

void brackets_open(struct brackets *b, char c, size_t at);
/* c closes the innermost. True: it does not, and f says so. */
bool brackets_close(struct brackets *b, struct view text, char c, size_t at, struct finding *f);

#endif
