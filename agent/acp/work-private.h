/* agent/acp/work-private.h: an agent's background work: what the files that see to it share. */
#ifndef AGENT_ACP_WORK_PRIVATE_H
#define AGENT_ACP_WORK_PRIVATE_H

#include "agent/acp/acp-private.h"
#include "agent/acp/hooks.h"
#include "agent/acp/past.h"
#include "agent/acp/task.h"

#define WORK_BLOCKED_MS   500             /* a session that is in use is read then */
#define WORK_NOTIFICATION "<notification" /* what begins a review, in a history */

struct work {
	struct hooks *hooks; /* NULL: nobody tells of background work */
	struct tasks *tasks;
	struct past *past;
	struct timer *due, *wait; /* of the tasks; of the turn that is held or seeks its answer */
	char *home;
	char *reading; /* the session that is being played back; NULL: none */
	void (*on_read)(struct acp *a, const char *session,
		bool read); /* false: it cannot be had */
	bool hooked;        /* hooks have been heard: they work */
	bool busy;          /* it was told that there is background work */
	struct str kept;    /* what is remembered of it for the next start */
	bool left;          /* what was remembered is still to be told */

	/* of the turn */
	bool told;                         /* that it is held */
	bool sent;                         /* its prompt was */
	bool said, stopped;                /* part of an answer; the hook at its end */
	int64_t step;                      /* until its answer is sought again */
	char reason[TASKS_REASON_MAX + 1]; /* why its model has failed; "": nobody says */
};

/* reading.c: a session's history is asked for; on_read follows. False: it cannot be had. */
bool reading_begin(struct acp *a, const char *session);
bool reading_blocked(const struct acp *a, const char *session); /* not now */
void reading_end(struct acp *a); /* nobody waits for it any more; nothing follows */

/* result.c: what has come of background work, told to its user. */
void result_notice(struct acp *a, const struct live *l, struct view text);
void result_name(const struct task *k, struct str *out); /* what it does, made safe */
void result_tell(struct acp *a, struct task *k);         /* by what the task itself has to show */
/* What runs is remembered, for it ends with us; and told at the next start. */
int result_open(struct acp *a, struct err *e);
void result_keep(struct acp *a);
void result_left(struct acp *a);
void result_lost(struct acp *a, struct task *k, bool gone); /* with the agent, else unheard of */
/* A review is over. False: what it has said cannot be read yet. */
bool result_review(struct acp *a, const char *session);
void result_pass(struct acp *a, const char *session); /* one that is not told */
/* The history of a session is there, or (read false) cannot be had. */
void result_take(struct acp *a, const char *session, bool read);

/* seek.c: the answer of a turn that has ended without one. */
void seek_done(struct acp *a); /* the turn is over: its prompt is one of the past */
void seek_hook(struct acp *a, const struct hook *h); /* of the turn's session */
void seek_step(struct acp *a);                       /* the time to look has come */
void seek_take(struct acp *a);                       /* the history is there */

#endif
