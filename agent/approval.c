#include "agent/approval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct question {
	char id[APPROVAL_ID_SIZE]; /* "": the place is free */
	uint64_t turn;
	char *key;
	int64_t session;
	char print[APPROVAL_PRINT_SIZE];
};

struct grant {
	struct grant *next; /* an older one */
	char *key;
	int64_t session;
	char print[APPROVAL_PRINT_SIZE];
};

#define REFUSED_MAX 16

/* What was refused in a turn. */
struct refusals {
	uint64_t turn;
	char print[REFUSED_MAX][APPROVAL_PRINT_SIZE];
	unsigned int n; /* in all; the oldest is written over */
};

struct approvals {
	struct question open[APPROVALS_OPEN_MAX];
	unsigned int serial;
	struct refusals refused; /* of the newest turn that had any */
	struct grant *grants;    /* the newest first */
};

const char *consent_name(enum consent c)
{
	switch (c) {
	case CONSENT_GIVEN: return "consented";
	case CONSENT_REFUSED:
	case CONSENT_STOPPED: return "refused";
	case CONSENT_EXPIRED: return "expired";
	case CONSENT_UNDELIVERABLE: return "undeliverable";
	}
	return "refused";
}

int approvals_open(struct approvals **out, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, E_NOMEM, "the approvals");
}

static void question_drop(struct question *q)
{
	free(q->key);
	memset(q, 0, sizeof(*q));
}

/* --- Grants ----------------------------------------------------------------------------------- */

static void grant_drop(struct grant **at)
{
	struct grant *g = *at;

	*at = g->next;
	free(g->key);
	free(g);
}

static bool of_conversation(const struct grant *g, const char *key, int64_t session)
{
	return g->session == session && strcmp(g->key, key) == 0;
}

/* What is over the limits goes, the oldest first. */
static void prune(struct approvals *a, const char *key, int64_t session)
{
	struct grant **at = &a->grants;
	int all = 0, own = 0;

	while (*at) {
		bool mine = of_conversation(*at, key, session);

		if (++all > APPROVAL_GRANTS_ALL || (mine && ++own > APPROVAL_GRANTS_MAX)) {
			grant_drop(at);
			all--;
		} else {
			at = &(*at)->next;
		}
	}
}

/* Without memory it is asked again: no harm is done. Takes the question's key. */
static void grant_add(struct approvals *a, struct question *q)
{
	struct grant *g = calloc(1, sizeof(*g));

	if (!g)
		return;
	g->key = q->key;
	q->key = NULL;
	g->session = q->session;
	memcpy(g->print, q->print, sizeof(g->print));
	g->next = a->grants;
	a->grants = g;
	prune(a, g->key, g->session);
}

bool approvals_granted(const struct approvals *a, const struct approval *about)
{
	for (const struct grant *g = a->grants; g; g = g->next)
		if (of_conversation(g, about->key, about->session) &&
			strcmp(g->print, about->print) == 0)
			return true;
	return false;
}

void approvals_forget(struct approvals *a, const char *key)
{
	struct grant **at = &a->grants;

	while (*at) {
		if (strcmp((*at)->key, key) == 0)
			grant_drop(at);
		else
			at = &(*at)->next;
	}
}

/* --- Refusals --------------------------------------------------------------------------------- */

static void refuse(struct refusals *r, const struct question *q)
{
	if (r->turn != q->turn)
		r->n = 0;
	r->turn = q->turn;
	memcpy(r->print[r->n++ % REFUSED_MAX], q->print, sizeof(q->print));
}

bool approvals_refused(const struct approvals *a, const struct approval *about)
{
	const struct refusals *r = &a->refused;

	for (unsigned int i = 0; r->turn == about->turn && i < r->n && i < REFUSED_MAX; i++)
		if (strcmp(r->print[i], about->print) == 0)
			return true;
	return false;
}

/* --- Questions -------------------------------------------------------------------------------- */

int approvals_ask(struct approvals *a, const struct approval *about, char id[APPROVAL_ID_SIZE],
	struct err *e)
{
	struct question *q = NULL;

	for (size_t i = 0; !q && i < APPROVALS_OPEN_MAX; i++)
		if (!a->open[i].id[0])
			q = &a->open[i];
	if (!q)
		return err_set(e, E_FULL, "%d questions are open", APPROVALS_OPEN_MAX);
	if (copy_z(q->print, sizeof(q->print), view_of(about->print)) < 0)
		return err_set(e, E_FORMAT, "what is asked about has no fingerprint");
	q->key = strdup(about->key);
	if (!q->key)
		return err_set(e, E_NOMEM, "a question");
	q->turn = about->turn;
	q->session = about->session;
	(void)snprintf(q->id, sizeof(q->id), "%llu.%u", (unsigned long long)about->turn,
		++a->serial);
	memcpy(id, q->id, sizeof(q->id));
	return 0;
}

static enum consent consent_of(int choice)
{
	switch (choice) {
	case APPROVAL_ONCE:
	case APPROVAL_CONVERSATION: return CONSENT_GIVEN;
	case APPROVAL_STOP: return CONSENT_STOPPED;
	case ANSWER_NONE: return CONSENT_EXPIRED;
	case ANSWER_UNASKED: return CONSENT_UNDELIVERABLE;
	default: return CONSENT_REFUSED;
	}
}

int approvals_answer(struct approvals *a, const char *id, int choice, enum consent *out,
	struct err *e)
{
	for (size_t i = 0; *id && i < APPROVALS_OPEN_MAX; i++) {
		struct question *q = &a->open[i];

		if (strcmp(q->id, id) != 0)
			continue;
		*out = consent_of(choice);
		if (choice == APPROVAL_CONVERSATION)
			grant_add(a, q);
		else if (*out == CONSENT_REFUSED)
			refuse(&a->refused, q);
		question_drop(q);
		return 0;
	}
	return err_set(e, E_NOTFOUND, "no such question is open");
}

void approvals_end(struct approvals *a, uint64_t turn)
{
	for (size_t i = 0; i < APPROVALS_OPEN_MAX; i++)
		if (a->open[i].turn == turn)
			question_drop(&a->open[i]);
}

void approvals_close(struct approvals **ap)
{
	struct approvals *a = *ap;

	*ap = NULL;
	if (!a)
		return;
	for (size_t i = 0; i < APPROVALS_OPEN_MAX; i++)
		question_drop(&a->open[i]);
	while (a->grants)
		grant_drop(&a->grants);
	free(a);
}
