/* agent/acp/store.h: which of an agent's sessions belongs to which conversation, what its user has
 * chosen, and what is known of the agent, in the shared database (tables acp_*). The sessions
 * themselves are the agent's. All that read append to out: 1 there is one, 0 none, -1 an error. */
#ifndef AGENT_ACP_STORE_H
#define AGENT_ACP_STORE_H

#include <stdint.h>

#include "base/db/db.h"
#include "base/err.h"
#include "base/str.h"

#define STORE_SESSION_MAX ((size_t)1024) /* bytes of a session's id */
#define STORE_ROWS_MAX    1000           /* conversations of all agents; the oldest go */

struct store;

int store_open(struct store **out, struct db *db, struct err *e);
void store_close(struct store **s);

/* The session of a conversation with this agent in this folder, appended to out. 1: there is one.
 * 0: none. -1: an error. */
int store_get(struct store *s, const char *agent, const char *key, const char *cwd, struct str *out,
	struct err *e);
int store_put(struct store *s, const char *agent, const char *key, const char *cwd,
	struct view session, int64_t now_ms, struct err *e);
int store_forget(struct store *s, const char *agent, const char *key, struct err *e);

/* The operator's words that this conversation's session has been given; forgotten with it. */
int store_tell(struct store *s, const char *agent, const char *key, struct view words,
	struct err *e);
int store_told(struct store *s, const char *agent, const char *key, struct str *out, struct err *e);

/* What the user of a conversation has chosen, by name: it outlives the session. An empty value
 * takes the choice back. */
int store_choose(struct store *s, const char *agent, const char *key, const char *name,
	struct view value, struct err *e);
int store_chosen(struct store *s, const char *agent, const char *key, const char *name,
	struct str *out, struct err *e);

/* What was seen of the agent itself. */
int store_note(struct store *s, const char *agent, const char *name, struct view value,
	struct err *e);
int store_noted(struct store *s, const char *agent, const char *name, struct str *out,
	struct err *e);

#endif
