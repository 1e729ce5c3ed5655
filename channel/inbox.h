/* channel/inbox.h: messages accepted but not yet answered: durable, bounded, first in first out;
 * and the ids of all that came, so that a replay is a no-op.
 *
 * Every function that changes something may stand in its caller's transaction. */
#ifndef CHANNEL_INBOX_H
#define CHANNEL_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine.h"
#include "base/err.h"
#include "channel/room.h"

/* What was decided on a message when it came. */
enum disposition {
	DISP_QUEUED,
	DISP_CONTROL,   /* a command or an answer: handled at once */
	DISP_NOT_TAKEN, /* the queue was full */
	DISP_STRANGER,
	DISP_GROUP,
	DISP_UNREADABLE,
	DISP_UNSUPPORTED,
	DISP_JOINED /* queued, as a part of the message before */
};

/* Ids are kept for 24 hours and at least those of 10,000 messages (two each), whichever is more;
 * never more than the ceiling. */
#define INBOX_SEEN_MS  ((int64_t)24 * 60 * 60 * 1000)
#define INBOX_SEEN_MIN 20000
#define INBOX_SEEN_MAX 400000

/* 1: a new id, recorded now. 0: seen before. -1: not recorded. */
int inbox_see(const struct room *r, const char *id, enum disposition what, struct err *e);
int inbox_seen(const struct room *r, const char *id, struct err *e); /* 1, 0, -1 */

enum inbox_state {
	INBOX_WAITING,
	INBOX_RUNNING,
	INBOX_DONE,
	INBOX_FAILED,
	INBOX_INTERRUPTED, /* the program ended while it ran */
	INBOX_STOPPED,     /* by /stop */
	INBOX_DROPPED,     /* taken out of the queue */
	INBOX_RETRIED      /* run again under another row */
};

/* A message's own text, what it quotes, and a line for each attachment. */
#define INBOX_TEXT_MAX (CHAN_TEXT_MAX + 65536)

struct inbox_item {
	int64_t seq;
	char id[CHAN_ID_MAX + 1]; /* "" from the terminal */
	char user[CHAN_ID_MAX + 1];
	enum origin origin;
	enum control_language lang;
	enum inbox_state state;
	struct str text;
};
void inbox_item_init(struct inbox_item *it);
void inbox_item_release(struct inbox_item *it);

/* At the tail. 1: taken. 0: not taken, the queue holds queue_limit messages. seq may be NULL. */
int inbox_put(const struct room *r, const char *id, const char *user, enum origin origin,
	enum control_language lang, struct view text, int64_t *seq, struct err *e);
int inbox_get(const struct room *r, int64_t seq, struct inbox_item *out, struct err *e);
/* The oldest that waits. 1, 0: none, -1. An unfit row is dropped and logged. */
int inbox_head(const struct room *r, struct inbox_item *out, struct err *e);
/* The n-th (from 1) of user's waiting messages. */
int inbox_nth(const struct room *r, const char *user, int n, struct inbox_item *out, struct err *e);
/* The newest of user's that failed, was interrupted or stopped. */
int inbox_unfinished(const struct room *r, const char *user, struct inbox_item *out, struct err *e);
/* One of user's that waits or runs and is run again. */
int inbox_retrying(const struct room *r, const char *user, struct inbox_item *out, struct err *e);
/* The oldest that is marked running: only found after a crash. */
int inbox_running(const struct room *r, struct inbox_item *out, struct err *e);

/* Waiting messages: of user, or of everybody (NULL). */
int inbox_waiting(const struct room *r, const char *user, int *n, struct err *e);
/* 1: this row waits. 0, -1. */
int inbox_waits(const struct room *r, int64_t seq, struct err *e);
int inbox_move(const struct room *r, int64_t seq, enum inbox_state to, uint64_t turn,
	struct err *e);
/* Waiting ones of user (NULL: all) become dropped; *n tells how many. */
int inbox_clear(const struct room *r, const char *user, int *n, struct err *e);
/* Those from the terminal that wait: nobody is there any more. */
int inbox_clear_origin(const struct room *r, enum origin origin, int *n, struct err *e);

/* Forget what is past its time: ids as above; ended rows after 30 days or past the newest 1,000. */
int inbox_prune(const struct room *r, struct err *e);

#endif
