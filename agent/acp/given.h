/* agent/acp/given.h: what the user has said yes to and the agent has not had its client do yet. An
 * agent that asks first is not asked for again when it does it: a consent to one exact deed covers
 * it, once. */
#ifndef AGENT_ACP_GIVEN_H
#define AGENT_ACP_GIVEN_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/acp/permission.h"
#include "agent/approval.h"
#include "base/str.h"

#define GIVEN_MAX 8 /* the newest */

struct given {
	char print[APPROVAL_PRINT_SIZE]; /* "": used up */
	char *path, *before, *after;     /* of a part of one file; else NULL */
};

struct givens {
	struct given list[GIVEN_MAX]; /* a ring */
	size_t n;
};

void given_add(struct givens *g, const char *print, const struct permission *what);
bool given_take(struct givens *g, const char *print);
/* Is this call of write_file what a consent to a part amounts to: that part of the file as it is
 * now, the first or all of its kind, replaced, and nothing else? */
bool given_take_part(struct givens *g, const char *workspace, struct view args);
void given_clear(struct givens *g);

#endif
