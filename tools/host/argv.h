/* tools/host/argv.h: a command as an exact argument vector, found without a shell.
 *
 * Words are parted by spaces and tabs. '...' is literal; in "..." a backslash makes a following
 * quote, backslash, $ or ` literal; outside, a backslash makes any next character literal. What
 * would make a shell do more than part words is refused: a metacharacter outside quotes (; & | < >
 * newline $ ` ( ) { } * ? [ ] ~ # !), $ or ` inside "...", an assignment before the command, a
 * control character. What is left means to a shell exactly the vector that is returned. */
#ifndef TOOLS_HOST_ARGV_H
#define TOOLS_HOST_ARGV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

#define ARGV_BYTES ((size_t)100 << 10) /* of a command */
#define ARGV_WORDS ((size_t)1000)

struct argv {
	char **v; /* NULL-terminated; NULL when empty */
	size_t n;
};
#define ARGV_INIT ((struct argv){ .v = NULL })

/* E_FORMAT: no vector; the message says what needs a shell and where (by characters, from 1), as
 * "\";\" at character 9 needs a shell". out is empty then. */
int argv_parse(struct argv *out, struct view command, struct err *e);
void argv_release(struct argv *a);
bool argv_equal(const struct argv *a, const struct argv *b);

/* The path that a vector's first word names: looked up in the system's own folders, or absolute; a
 * program, and not one that comes to lie in the workspace by whatever links. */
int argv_program(const char *word, const char *workspace, char out[PATH_SIZE], struct err *e);

#endif
