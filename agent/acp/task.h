/* agent/acp/task.h: an agent's background work, as its hooks tell of it: which tasks run, what has
 * ended, and when its user is to hear of that.
 *
 * Pure: hooks and the time go in, what is to be done comes out. Hooks come twice, late and in any
 * order, and some never: what has ended stays known as a tombstone, so that nothing revives it, and
 * nothing is waited for without a bound.
 *
 * When a task has ended, the agent looks at what came of it in a turn of its own, the review, and
 * says so better than the bare output does. What it says is read by whoever drives this; where no
 * review comes, the output is told. */
#ifndef AGENT_ACP_TASK_H
#define AGENT_ACP_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/acp/hooks.h"
#include "base/err.h"
#include "base/str.h"

#define TASKS_MAX        128 /* running and ended, of all sessions; the oldest that ended go */
#define TASKS_SESSIONS   64
#define TASKS_GRACE_MS   5000 /* from a task's end to the begin of its review */
#define TASKS_SETTLE_MS  700  /* from a review's end to the reading: what comes late has come */
#define TASKS_AGAIN_MS   5000 /* until a review that was not over is read again; doubles */
#define TASKS_READS_MAX  5    /* so often */
#define TASKS_LIFE_MS    ((int64_t)6 * 60 * 60 * 1000) /* of a task or a review without news */
#define TASKS_WHAT_MAX   ((size_t)200)                 /* bytes of what a task does */
#define TASKS_REASON_MAX ((size_t)1000)
#define TASKS_REPLY_MAX  HOOKS_TEXT_MAX

enum task_state { TASK_RUNNING, TASK_ENDED, TASK_TOLD };

struct task {
	char *session, *id;
	char *kind, *what, *end; /* "" where they are not known; end: the agent's words of it */
	char *reply;             /* what an agent that was the task has answered; NULL */
	enum task_state state;
	bool failed;
	int64_t began;
	int64_t due;     /* of an ended one: then its output is told; 0: not on its own */
	uint64_t review; /* the review that has begun it; 0: none */
};

enum task_due {
	DUE_NOTHING,
	DUE_REVIEW, /* of a session: over, to be read; then tasks_reviewed or tasks_unread */
	DUE_PASSED, /* of a session: over, and nothing to tell: the agent only began another try */
	DUE_OUTPUT, /* of a task: no review has come; then task_told */
	DUE_LOST    /* of a task: nothing was heard of it for too long; then task_told */
};

struct tasks;

int tasks_open(struct tasks **out, struct err *e);
void tasks_close(struct tasks **t);
void tasks_clear(struct tasks *t); /* the agent is gone, and all it did */

void tasks_take(struct tasks *t, const struct hook *h, int64_t now);
/* The user's own turn has begun in a session, or ended: a task that ends meanwhile is part of it,
 * and told by its answer if there is one. */
void tasks_turn(struct tasks *t, struct view session, bool runs, bool answered, int64_t now);

/* What falls due at this time; it stays due until it is done. */
enum task_due tasks_due(struct tasks *t, int64_t now, const char **session, struct task **task);
/* When the next does, as a time of the same clock; INT64_MAX: nothing will. */
int64_t tasks_next(const struct tasks *t);

/* How it has failed; "": not, or nobody says. */
const char *tasks_reason(const struct tasks *t, struct view session);
/* It was read. whole: all there was to tell is told. Else it is not over, and read again. */
void tasks_reviewed(struct tasks *t, const char *session, bool whole, int64_t now);
/* It cannot be read: the outputs are told instead. */
void tasks_unread(struct tasks *t, const char *session, int64_t now);
void task_told(struct task *task);
/* Somebody waits for a review that takes long: it may be over, and the hook lost. */
void tasks_doubt(struct tasks *t, struct view session, int64_t now);

bool tasks_reviewing(const struct tasks *t, struct view session); /* until it has been read */
bool tasks_over(const struct tasks *t, struct view session);      /* a review is, and not read */
size_t tasks_running(const struct tasks *t, struct view session); /* VIEW_NONE: of all */
bool tasks_busy(const struct tasks *t); /* anything runs, or has ended and is not told */
/* Those of a session that are in a state, one after the other; NULL behind the last. */
struct task *tasks_each(const struct tasks *t, struct view session, enum task_state state,
	struct task *after);

#endif
