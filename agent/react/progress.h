/* agent/react/progress.h: does a run get anywhere? Remembers calls and their results; the same call
 * with the same result again and again is standing still. */
#ifndef AGENT_REACT_PROGRESS_H
#define AGENT_REACT_PROGRESS_H

#include <stdint.h>

#include "base/str.h"

#define PROGRESS_SAME_MAX 3  /* the same result so many times, and the call is not made again */
#define PROGRESS_CALLS    64 /* that are remembered */

struct progress {
	struct {
		uint64_t call, result;
		int same;
	} seen[PROGRESS_CALLS];
	unsigned n;
};

/* How often in a row this call has given the same result. */
int progress_same(const struct progress *p, const char *name, struct view args);
/* A result has come; returns how often in a row it is now the same. */
int progress_note(struct progress *p, const char *name, struct view args, struct view result);

#endif
