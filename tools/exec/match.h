/* tools/exec/match.h: path patterns. `*` and `?` stay inside one component, `**` as a whole
 * component stands for zero or more of them (at the end for one or more: what lies below), `[a-z]`
 * and `[!a-z]` for one character, `{a,b}` for alternatives; a backslash takes the next character's
 * meaning. Linear in pattern times path: hostile patterns cost nothing special. */
#ifndef TOOLS_EXEC_MATCH_H
#define TOOLS_EXEC_MATCH_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define MATCH_PATTERN_MAX      1024
#define MATCH_ALTERNATIVES_MAX 64

struct match;

/* E_FORMAT: too long, or more alternatives than MATCH_ALTERNATIVES_MAX. */
int match_new(struct match **out, struct view pattern, struct err *e);
void match_free(struct match **m);

bool match_path(const struct match *m, struct view path); /* relative, no "." or empty components */
/* A pattern without a slash looks at the last component only, one with it at the whole path. */
bool match_name_or_path(const struct match *m, struct view path);
/* Could something below this folder match? */
bool match_below(const struct match *m, struct view dir);

#endif
