/* tools/host/helper.h: a process of kairo-tool: requests down, events up, JSON a line each, and a
 * lifeline whose cutting ends all that came of it. Inside the room only. */
#ifndef TOOLS_HOST_HELPER_H
#define TOOLS_HOST_HELPER_H

#include <stdbool.h>

#include "base/json.h"
#include "tools/host/registry.h"

struct helper;

enum helper_event { HELPER_FENCE, HELPER_ACTING, HELPER_RESULT, HELPER_OUTPUT };

struct helper_plan {
	const struct tools_env *env; /* outlives the helper */
	const char *mode;            /* "call", "session", "terminal" */
	const char *name;            /* of the tool, for the log; outlives the helper */
	void (*on_event)(void *arg, enum helper_event what, const struct json *event);
	/* It is over and nothing comes any more: once, from the loop, unless it was freed. */
	void (*on_end)(void *arg);
	void *arg;
};

int helper_start(struct helper **out, const struct helper_plan *plan, struct err *e);
/* One line without its end. What does not fit into the pipe goes later; -1: no memory. */
int helper_send(struct helper *h, struct view line, struct err *e);
/* Cut the lifeline: the helper ends its whole tree. Should it not, it is killed. */
void helper_stop(struct helper *h);
/* No callback. One that has not ended is given HELPER_END_MS to end its tree, which blocks; several
 * are stopped first, so that they do so side by side. */
#define HELPER_END_MS 1000
void helper_free(struct helper **h);
/* After on_end: "was ended by signal 9". */
void helper_say_end(const struct helper *h, struct str *out);

/* The members of a request that say where it works: workspace, read, required, namespaces. media:
 * what it may read besides, or NULL. */
void helper_put_place(struct json_out *w, const struct tools_env *env, const char *media);

#endif
