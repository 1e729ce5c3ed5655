/* channel/question.h: the questions a turn has asked, shown on the phone with numbered choices, and
 * the answers that count: the number alone, written after the question was shown, quoting nothing
 * or that question. Where two are open, the question's letter goes before the number ("B1"); where
 * several may be chosen, so may be their numbers ("1 3", "B1 3"). */
#ifndef CHANNEL_QUESTION_H
#define CHANNEL_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine.h"
#include "base/err.h"
#include "channel/outbox.h"
#include "channel/room.h"

#define QUESTIONS_MAX       16
#define QUESTION_CHOICES    20
#define QUESTION_TIMEOUT_MS ((int64_t)10 * 60 * 1000) /* default */

struct questions;

/* choice: also ANSWER_NONE and ANSWER_UNASKED. stops: it was "no, and stop". From the loop. */
typedef void question_answer_cb(void *arg, const char *id, int choice, bool stops);

int questions_open(struct questions **out, const struct room *r, struct outbox *o,
	question_answer_cb *cb, void *arg, struct err *e);
void questions_close(struct questions **q);

/* Shows ENGINE_APPROVAL or ENGINE_QUESTION to the user; always ends in one callback, unless the
 * turn ends before. */
void questions_ask(struct questions *q, const char *user, uint64_t turn,
	const struct engine_event *ev);
/* One that is shown elsewhere: only its time is kept here. */
void questions_watch(struct questions *q, const char *id);
/* It was answered elsewhere, or is not asked any more: then it is not shown if it still waits. */
void questions_over(struct questions *q, const char *id);
void questions_end(struct questions *q); /* the turn is over: nothing is open any more */
/* Open ones to user, or to anybody (NULL). */
int questions_waiting(const struct questions *q, const char *user);

enum question_verdict {
	QUESTION_NONE,   /* the text is not an answer */
	QUESTION_ANSWER, /* hand it to questions_take */
	QUESTION_RANGE,  /* no such choice */
	QUESTION_WHICH,  /* more than one is open, and no letter */
	QUESTION_EARLY,  /* written before it was shown */
	QUESTION_OTHER,  /* what it quotes is not the one that is open */
	QUESTION_CLOSED  /* what it answers is over */
};

struct question_reading {
	enum question_verdict verdict;
	unsigned int serial; /* of the question */
	int choice;          /* as engine.h has it: from 0, or a mask */
};

/* When did the sender write it, by our monotonic clock? sent_at as claimed (0: unknown); the offset
 * between the clocks is learned from what comes in. Call once for each message. */
int64_t questions_written_at(struct questions *q, int64_t sent_at);
/* Changes nothing but what is told by -1. */
int questions_read(struct questions *q, const struct chan_msg *m, int64_t written_at,
	struct question_reading *out, struct err *e);
/* What to tell the sender, when it is not an answer that counts. */
int questions_say(struct questions *q, const char *user, const struct question_reading *r,
	struct str *out);
void questions_take(struct questions *q, const struct question_reading *r);
/* True once a question: the user writes something else while it is open. */
bool questions_hint(struct questions *q, const char *user);

#endif
