/* contrib/sim/call.h: one request to the iLink or CDN listener, from its checks to its answer. */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "fault.h"
#include "journal.h"
#include "sim.h"
#include "world.h"

struct call {
	struct call *next, **link;
	struct sim *sim;
	struct hreq *req;
	const char *endpoint; /* "sendmessage" */
	uint64_t n;           /* in the journal */
	struct fault *fault;  /* or NULL */
	struct json *body;    /* or NULL */
	struct bot *bot;      /* of the token; or NULL */
	struct timer *timer;
	void (*then)(struct call *c); /* when the timer fires */
	/* The answer being made. */
	int status;
	const char *type;      /* NULL: JSON */
	struct str out, extra; /* body, header lines */
	struct blob *blob;     /* its bytes are the body in place of out; or NULL */
	size_t sent;           /* of a dripping answer */
	/* Private to poll.c, send.c and login.c. */
	uint64_t cursor;
	struct peer *peer;
	struct login *login;
	bool held;
	void (*on_end)(struct call *c); /* it is about to be answered or the client left */
};

/* NULL: no memory, r was dropped. */
struct call *call_new(struct sim *s, struct hreq *r, const char *endpoint);
/* Finish: apply the fault that is due, answer, free. */
void call_answer(struct call *c);
/* {"ret":ret,"errmsg":msg}, with errcode in place of ret when asked. */
void call_refuse(struct call *c, int64_t ret, const char *msg);
void call_errcode(struct call *c, int64_t errcode, const char *msg);
/* Run `then` after ms; the call stays open. */
void call_later(struct call *c, int64_t ms, void (*then)(struct call *c));
/* If the call's fault answers in place of the endpoint, do so: true, the call is taken over. */
bool call_fault_first(struct call *c);
/* Free without an answer: the client is gone. */
void call_abandon(struct call *c);

#define violation(c, rule, ...) \
	journal_breach((c)->sim->journal, BREACH_VIOLATION, (c)->n, (c)->endpoint, rule, \
		__VA_ARGS__)
#define note(c, rule, ...) \
	journal_breach((c)->sim->journal, BREACH_NOTE, (c)->n, (c)->endpoint, rule, __VA_ARGS__)

/* check.c: what sections 1.3 and 1.4 of the wire reference ask of a request. */
enum { WANT_POST = 1, WANT_TOKEN = 2, WANT_BASE_INFO = 4 };
void check_headers(struct call *c, int want);
void check_base_info(struct call *c);
void check_cdn(struct call *c, bool upload);
/* A member that must be a string; missing or of another type is a violation and VIEW_NONE. */
struct view check_str(struct call *c, const struct json *obj, const char *name);
int64_t check_int(struct call *c, const struct json *obj, const char *name, int64_t otherwise);

#endif
