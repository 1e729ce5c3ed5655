/* A scripted model server on the loop of the test: each request gets the next reply. */
#ifndef TESTS_UNIT_AGENT_LM_H
#define TESTS_UNIT_AGENT_LM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "base/str.h"

struct lm;

enum lm_end {
	LM_END,   /* the whole body was sent: close */
	LM_STALL, /* stay silent */
	LM_BREAK  /* close in the middle: the length that was promised is longer */
};

struct lm *lm_new(struct loop *l);
void lm_free(struct lm **m);
int lm_port(const struct lm *m);

/* status 0: 200 with an event stream. headers: more lines, each with CRLF, or NULL. piece: bytes a
 * packet, 0: all at once. Everything is copied. */
void lm_reply(struct lm *m, int status, const char *headers, struct view body, size_t piece,
	enum lm_end end);
/* Events, each given without "data: ", NULL at the end; [DONE] is added. */
void lm_events(struct lm *m, const char *const *data);
void lm_text(struct lm *m, const char *text);
/* One tool call. args: JSON text, put into the string as it must be. */
void lm_call(struct lm *m, const char *id, const char *name, const char *args);

int lm_requests(const struct lm *m); /* whole ones that came */
/* Request i's body and head. */
const char *lm_body(const struct lm *m, int i);
const char *lm_head(const struct lm *m, int i);
int lm_open(const struct lm *m); /* connections that are open */

#endif
