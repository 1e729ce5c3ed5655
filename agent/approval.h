/* agent/approval.h: the yes that some calls need: the questions that are open, what each is about,
 * and what was consented to for the rest of a conversation.
 *
 * A question is bound to a print, the fingerprint of tool, exact arguments and folder. The answer
 * settles that print and nothing else: changed arguments have another print and are asked about
 * anew. It all lives in memory: after a restart no question is open and nothing is granted. */
#ifndef AGENT_APPROVAL_H
#define AGENT_APPROVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine.h"
#include "base/err.h"

#define APPROVAL_ID_SIZE    48
#define APPROVAL_PRINT_SIZE 65 /* SHA-256 in hex, and NUL */
#define APPROVALS_OPEN_MAX  16
#define APPROVAL_GRANTS_MAX 100  /* of one conversation; the oldest is forgotten */
#define APPROVAL_GRANTS_ALL 1000 /* of all together */

struct approvals;

/* How a question ended. */
enum consent {
	CONSENT_GIVEN,
	CONSENT_REFUSED,
	CONSENT_STOPPED, /* refused, and the turn is to end */
	CONSENT_EXPIRED,
	CONSENT_UNDELIVERABLE
};
/* As the audit has it: "consented", "refused", "refused", "expired", "undeliverable". */
const char *consent_name(enum consent c);

/* What a question is about, and where its grant holds: the conversations of one key are told apart
 * by their session. */
struct approval {
	uint64_t turn;
	const char *key;
	int64_t session;
	const char *print;
};

int approvals_open(struct approvals **out, struct err *e);
void approvals_close(struct approvals **a);

/* A question opens; by id it is answered. Everything is copied. E_FULL: too many are open. */
int approvals_ask(struct approvals *a, const struct approval *about, char id[APPROVAL_ID_SIZE],
	struct err *e);
/* The one answer of a question: an enum approval_choice, ANSWER_NONE or ANSWER_UNASKED; anything
 * else is a no. "For this conversation" is remembered. E_NOTFOUND: it is not open. */
int approvals_answer(struct approvals *a, const char *id, int choice, enum consent *out,
	struct err *e);
void approvals_end(struct approvals *a, uint64_t turn); /* what the turn had open is over */

bool approvals_granted(const struct approvals *a, const struct approval *about);
/* The same was refused in this turn already (of the latest 16): who said no is not asked again. */
bool approvals_refused(const struct approvals *a, const struct approval *about);
void approvals_forget(struct approvals *a, const char *key); /* a new conversation begins */

#endif
