/* contrib/sim/fault.h: one table of things that go wrong on request, for every endpoint. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "sim.h"

enum fault_kind {
	F_DELAY,
	F_STALL,
	F_DROP,
	F_RESET,
	F_CUT,
	F_SLOW,
	F_STATUS,
	F_EMPTY,
	F_BODY,
	F_RET,
	F_REDIRECT,
	F_PAD,
	F_INSERT,
	F_REPLACE,
	/* getupdates */
	F_TIMEOUT,
	F_CURSOR,
	F_DUP,
	F_REORDER,
	F_REDELIVER,
	F_NUL_TEXT,
	F_BAD_UTF8,
	F_BIG_TEXT,
	F_BAD_MESSAGE,
	/* sendmessage */
	F_SILENT,
	F_NO_ID,
	/* media */
	F_NO_PARAM,
	F_CDN_ERROR,
	F_NO_FULL_URL,
	F_NO_URL,
	F_FOREIGN_URL,
	F_BAD_PADDING,
	F_PLAIN,
	F_SLOW_BODY,
	F_CUT_BODY,
	F_KINDS
};

/* When a fault is looked for: as the request is there, as an answer with messages is made, or as
 * the head of a request has arrived. */
enum fault_when { WHEN_REQUEST, WHEN_MESSAGES, WHEN_HEAD };

struct fault {
	uint64_t id;
	char endpoint[24]; /* "*": any */
	enum fault_kind kind;
	int64_t times; /* left; -1: for ever */
	int64_t after; /* matches to let pass first */
	uint64_t hits;
	enum fault_when when;
	bool process;     /* do what was asked all the same, then go wrong */
	int64_t delay_ms; /* before the answer, with every kind */
	int64_t ms, bytes;
	int status;
	char *match; /* only requests whose body or query has this; NULL: all */
	char *type, *headers, *form, *name;
	struct str body, from;
	int64_t ret, errcode;
	bool has_ret, has_errcode;
	char *errmsg;
	int refs; /* private */
	struct fault *next;
};

int faults_open(struct faults **out, struct err *e);
void faults_close(struct faults **f);
/* By a control request; *id is what clears it. */
int faults_add(struct faults *f, const struct json *j, uint64_t *id, struct err *e);
void faults_clear(struct faults *f, uint64_t id); /* 0: all */
void faults_print(const struct faults *f, struct json_out *w);
/* The first armed fault that fits, one of its times spent; a reference, or NULL. */
struct fault *faults_take(struct faults *f, const char *endpoint, enum fault_when when,
	struct view request);
void fault_drop(struct fault **f);
bool fault_is(const struct fault *f, enum fault_kind k); /* f may be NULL */
const char *fault_name(enum fault_kind k);

#endif
