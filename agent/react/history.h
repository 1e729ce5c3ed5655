/* agent/react/history.h: the conversations of the built-in engine, kept in the shared database.
 *
 * A key (whoever talks to us) has one conversation open at a time. Only whole rounds are stored,
 * and what is read is checked as if it came from outside: a round that is not whole or not valid
 * never reaches a prompt. */
#ifndef AGENT_REACT_HISTORY_H
#define AGENT_REACT_HISTORY_H

#include <stdint.h>

#include "agent/react/talk.h"
#include "base/db/db.h"
#include "base/err.h"
#include "base/log.h"

#define HISTORY_MESSAGES_MAX 1000
#define HISTORY_BYTES_MAX    ((int64_t)10 << 20)
#define HISTORY_SESSIONS_MAX 100 /* conversations kept of one key */

struct history;

int history_open(struct history **out, struct db *db, struct log *log, struct err *e);
void history_close(struct history **h);

/* The open conversation of this key, begun when there is none. */
int history_session(struct history *h, const char *key, int64_t now_ms, int64_t *session,
	struct err *e);
/* Begin a new one; an open one without a message is kept instead. */
int history_begin(struct history *h, const char *key, int64_t now_ms, struct err *e);
/* Append the newest whole rounds that fit into so many tokens, oldest first. */
int history_load(struct history *h, int64_t session, uint64_t tokens, struct talk *out,
	struct err *e);
/* Store messages [from, n) of t as one round; what is over the limits goes, oldest first. Inside
 * the caller's transaction, or in one of its own. */
int history_save(struct history *h, int64_t session, const struct talk *t, size_t from,
	int64_t now_ms, struct err *e);

#endif
