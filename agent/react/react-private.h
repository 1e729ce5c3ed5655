/* agent/react/react-private.h: the engine's insides, shared by the files of this folder alone. */
#ifndef AGENT_REACT_REACT_PRIVATE_H
#define AGENT_REACT_REACT_PRIVATE_H

#include "agent/approval.h"
#include "agent/react/history.h"
#include "agent/react/model.h"
#include "agent/react/progress.h"
#include "agent/react/prompt.h"
#include "agent/react/provider.h"
#include "agent/react/react.h"
#include "agent/react/talk.h"

#define KEPT_TEXT_MAX ((size_t)512 << 10) /* of one answer, in the history */

enum react_state {
	REACT_IDLE,
	REACT_ASKING,  /* the model answers, or a retry waits */
	REACT_WORKING, /* tools run, or the user is asked about one */
	REACT_ENDING   /* the end is decided and on its way */
};

struct react {
	struct engine engine; /* first */
	struct loop *loop;
	struct log *log;
	struct tools *tools;
	char *base_url, *model_name, *extra, *workspace;
	const struct provider *provider;
	int64_t token_budget, window;
	int max_iterations;
	bool set_up;

	struct history *history;
	struct model *model;
	struct approvals *approvals;
	struct timer *soon; /* ends and cancels never happen under somebody's feet */

	/* of the running turn */
	enum react_state state;
	uint64_t turn;
	enum origin origin;
	char *language, *conversation;
	int64_t session;
	struct talk talk;
	size_t own; /* where this turn's round begins in talk */
	struct str tools_schema;
	int iteration;
	uint64_t asked_tokens; /* estimate of the request under way */
	uint64_t tokens_in, tokens_out;
	struct progress progress;
	struct batch *batch; /* the calls that are being worked off, or NULL */
	bool cancelled, acted, keep, overflowed;

	enum engine_fail fail;
	struct str detail, answer;
};

/* react.c: the life of a turn. */
void react_step(struct react *r, enum react_state to);
void react_emit(struct react *r, const struct engine_event *ev);
/* The end is decided; it is reported from the loop. detail is made safe here. */
void react_finish(struct react *r, enum engine_fail fail, const char *detail);
/* The turn is to end: nothing more of it is shown, and the loop ends what is under way. */
void react_cancel(struct react *r);

/* ask.c: a question to the model, and what to make of its answer. */
void react_ask(struct react *r);
int ask_open_model(struct react *r, const struct react_env *env, struct err *e);

/* batch.c: the tool calls of one answer: reads side by side, what acts or needs the user's consent
 * one after the other, the results in the order of the calls. */
void batch_begin(struct react *r, const struct stream *s);
/* The answer to the question that is open; batch_go_on acts on it, from the loop. */
int batch_answer(struct react *r, const char *id, int choice, struct err *e);
void batch_go_on(struct react *r);
/* Ends what runs; when all of it has ended, the turn is finished as cancelled. */
void batch_cancel(struct react *r);
/* Gives every call its one result in the talk, whatever became of it, and drops the batch. */
int batch_close(struct react *r);
void batch_drop(struct react *r); /* what runs is cut off; NULL is fine */

/* round.c: the messages of a turn as the history keeps them. */
struct view round_cut(struct view v, size_t max); /* on a character boundary */
/* Make the round whole, whatever happened. False: there is nothing worth keeping. */
bool round_close(struct react *r);

#endif
