/* agent/acp/vouched.h: commands and paths of files that the agent has had its client act upon in
 * this turn: what was judged here already needs no second look when the agent reports it as a
 * call. */
#ifndef AGENT_ACP_VOUCHED_H
#define AGENT_ACP_VOUCHED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define VOUCHED_MAX 64 /* the newest */

struct vouched {
	char *deeds[VOUCHED_MAX]; /* a ring */
	size_t n;
};

/* Without memory it is forgotten: at worst a deed is recorded as one that nobody has asked for. */
void vouched_add(struct vouched *v, struct view deed);
bool vouched_has(const struct vouched *v, const char *deed); /* deed may be NULL */
void vouched_clear(struct vouched *v);

#endif
