/* agent/acp/past.h: a session's history as its agent plays it back: what was said to the agent, and
 * what it has said to that. The newest exchanges are kept. */
#ifndef AGENT_ACP_PAST_H
#define AGENT_ACP_PAST_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#define PAST_MAX        16                 /* exchanges */
#define PAST_ASKED_MAX  ((size_t)64 << 10) /* bytes that are kept of what was said to it */
#define PAST_ANSWER_MAX ((size_t)1 << 20)

struct past;

int past_open(struct past **out, struct err *e);
void past_close(struct past **p);
void past_begin(struct past *p);                           /* all is forgotten */
void past_take(struct past *p, const struct json *update); /* of a session/update */
void past_end(struct past *p);                             /* nothing more comes */

/* The newest exchange whose question holds these words. False: there is none. answer: what the
 * agent has said to it. whole: that ends it; else it was at work when the history was told. */
bool past_find(const struct past *p, struct view words, struct view *answer, bool *whole);
/* The newest one whose question begins so, or goes on so with one of its pieces: a history that was
 * compressed has the older questions in front of the newest. Only if it was asked later than what
 * began with `before` (empty: nothing was): an older one in the same words is another one. */
bool past_find_later(const struct past *p, struct view words, struct view before,
	struct view *answer, bool *whole);

#endif
