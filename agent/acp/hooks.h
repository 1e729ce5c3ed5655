/* agent/acp/hooks.h: what an agent's hooks tell, heard on loopback (hooks of Kimi Code).
 *
 * The agent is started with an address and a random token in its environment; the command of its
 * hooks posts there what it is told, as one JSON object: POST /hook. Each is judged and handed on
 * whole before the next is, in the order in which they have come, which need not be that in which
 * they have happened. */
#ifndef AGENT_ACP_HOOKS_H
#define AGENT_ACP_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"

#define HOOKS_BODY_MAX ((size_t)256 << 10)
#define HOOKS_ID_MAX   ((size_t)200) /* of a session or a task: [A-Za-z0-9._-], no dot in front */
#define HOOKS_TEXT_MAX ((size_t)64 << 10)

enum hook_event {
	HOOK_TASK_STARTED,  /* task, kind, text: what it does */
	HOOK_NOTIFICATION,  /* a task has ended: task, failed, text: the agent's words */
	HOOK_SUBAGENT_STOP, /* text: what that agent has answered */
	HOOK_TURN_STARTED,  /* by_user, by_task */
	HOOK_STOP,          /* a turn has ended */
	HOOK_STOP_FAILURE,  /* so too, by an error: text */
	HOOK_INTERRUPT      /* so too, stopped */
};

/* Views live during the call only. */
struct hook {
	enum hook_event event;
	struct view session; /* never empty */
	struct view task, kind, text;
	bool failed, by_user, by_task;
};

/* From JSON. 0: it is one to act on. 1: a good one that tells nothing of interest, as of a task in
 * the foreground. -1: it is not a hook, and e says why. */
int hook_read(struct hook *h, const struct json *j, struct err *e);

struct hooks;

/* False: the session is none of ours. */
typedef bool hooks_cb(void *arg, const struct hook *h);

int hooks_open(struct hooks **out, struct loop *l, hooks_cb *cb, void *arg, struct log *log,
	struct err *e);
/* From now on nothing is taken; what was taken has been handed on. */
void hooks_close(struct hooks **h);
const char *hooks_url(const struct hooks *h);
const char *hooks_token(const struct hooks *h); /* secret */

#endif
