/* agent/react/history.h: the conversations of the built-in engine, kept in the shared database.
 *
 * A key (whoever talks to us) has one conversation open at a time. Only whole rounds are stored,
 * and what is read is checked as if it came from outside: a round that is not whole or not valid
 * never reaches a prompt. */
#ifndef AGENT_REACT_HISTORY_H
#define AGENT_REACT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/react/talk.h"
#include "base/db/db.h"
#include "base/err.h"
#include "base/log.h"

#define HISTORY_MESSAGES_MAX 1000
#define HISTORY_BYTES_MAX    ((int64_t)10 << 20)
#define HISTORY_SESSIONS_MAX 100 /* conversations kept of one key */
#define HISTORY_WORDS_MAX    160 /* bytes */

struct history;

int history_open(struct history **out, struct db *db, struct log *log, struct err *e);
void history_close(struct history **h);

/* The open conversation of this key, begun when there is none. */
int history_session(struct history *h, const char *key, int64_t now_ms, int64_t *session,
	struct err *e);
/* Begin a new one; an open one without a message is kept instead. */
int history_begin(struct history *h, const char *key, int64_t now_ms, struct err *e);

struct history_item {
	int64_t session, touched_ms;
	char words[HISTORY_WORDS_MAX + 1]; /* its first ones, not yet made safe for showing */
	bool open;
};
/* Conversations with a message in them, the one touched last first. Returns how many, or -1. */
int history_list(struct history *h, const char *key, struct history_item *out, int max,
	struct err *e);
/* This one is the open one from now on. */
int history_switch(struct history *h, const char *key, int64_t session, struct err *e);

/* Append what the conversation holds, oldest first: the summary, if there is one, as a round of its
 * own, then the newest whole rounds behind it that fit into so many tokens. */
int history_load(struct history *h, int64_t session, uint64_t tokens, struct talk *out,
	struct err *e);
/* Store messages [from, n) of t as one round; what is over the limits goes, oldest first. Inside
 * the caller's transaction, or in one of its own. */
int history_save(struct history *h, int64_t session, const struct talk *t, size_t from,
	int64_t now_ms, struct err *e);

/* How a conversation stood at some time. */
struct history_mark {
	int64_t last, upto; /* the newest round; the newest one that is summarised */
};
int history_mark(struct history *h, int64_t session, struct history_mark *out, struct err *e);
/* From now on this text stands for the rounds up to and with `upto`. E_CONFLICT: the conversation
 * is no longer as it was at the mark; nothing has changed then. */
int history_summarise(struct history *h, int64_t session, const struct history_mark *was,
	int64_t upto, struct view text, int64_t now_ms, struct err *e);
/* A summary as a round: what history_load puts first. -1: no memory. */
int history_summary(struct talk *out, struct view text, int64_t upto);

struct history_usage {
	uint64_t in, out, cached;  /* tokens, as the provider has counted them */
	uint64_t answers, unknown; /* of the model; those that came without figures */
};
/* day: as YYYYMMDD. */
int history_add_usage(struct history *h, const char *key, int64_t session, int64_t day,
	const struct history_usage *u, struct err *e);
/* session 0: all of this key. day 0: ever. */
int history_get_usage(struct history *h, const char *key, int64_t session, int64_t day,
	struct history_usage *out, struct err *e);

#endif
