/* agent/react/react-private.h: the engine's insides, shared by the files of this folder alone. */
#ifndef AGENT_REACT_REACT_PRIVATE_H
#define AGENT_REACT_REACT_PRIVATE_H

#include "agent/approval.h"
#include "agent/react/active.h"
#include "agent/react/history.h"
#include "agent/react/model.h"
#include "agent/react/progress.h"
#include "agent/react/prompt.h"
#include "agent/react/react.h"
#include "agent/react/talk.h"

#define KEPT_TEXT_MAX          ((size_t)512 << 10) /* of one answer, in the history */
#define COMPACT_TRANSCRIPT_MAX 60000               /* characters that are summarised at once */

struct react;

/* A summary under way, or none. */
struct compact {
	bool tried;               /* in this turn */
	size_t boundary;          /* messages before this one are to be summarised */
	int64_t upto;             /* the newest of their rounds */
	uint64_t before;          /* tokens, of a /compact */
	struct history_mark mark; /* when the talk was loaded, or last summarised */
};

enum react_state {
	REACT_IDLE,
	REACT_LOOKING,    /* the message's pictures are loaded */
	REACT_ASKING,     /* the model answers, or a retry waits */
	REACT_COMPACTING, /* it is asked for a summary of older rounds */
	REACT_WORKING,    /* tools run, or the user is asked about one */
	REACT_ENDING      /* the end is decided and on its way */
};

struct react {
	struct engine engine; /* first */
	/* What comes next is react.c's to know: the talk is ready to be asked about, and the model
	 * has answered. */
	void (*go_on)(struct react *r);
	void (*answered)(void *r, const struct model_result *m);
	struct loop *loop;
	struct log *log;
	struct tools *tools;
	speech_fn *speak;
	char *extra, *workspace;
	int64_t token_budget, idle_ms;
	int max_iterations;
	struct http *http;
	struct react_choice choice; /* look NULL: none */

	struct history *history;
	struct approvals *approvals;
	struct active *active;
	struct active *next; /* chosen while a turn ran; takes over when it has ended */
	struct timer *soon;  /* ends and cancels never happen under somebody's feet */

	/* of the running turn */
	enum react_state state;
	uint64_t turn;
	enum origin origin;
	char *language, *conversation;
	int64_t session;
	struct str text;           /* the user's message */
	char *media;               /* what the conversation has received; NULL: nothing */
	struct pictures *pictures; /* that came with it; NULL: none */
	const char *blind;         /* why they are not shown; NULL: they are */
	struct talk talk;
	size_t own; /* where this turn's round begins in talk */
	struct str tools_schema, tools_denied;
	int iteration;
	char calls_prefix[48];          /* begins the ids of calls that are made up in it */
	uint64_t asked_tokens;          /* estimate of the request under way */
	uint64_t tokens_in, tokens_out; /* an estimate where the provider gives none */
	struct history_usage usage;     /* only what the provider has told */
	struct progress progress;
	struct batch *batch; /* the calls that are being worked off, or NULL */
	bool cancelled, acted, keep, overflowed;
	bool command; /* the turn is a /compact */
	struct compact compact;

	enum engine_fail fail;
	struct str detail, answer;
	struct str thought; /* behind the answer */
};

/* run.c: what each stage of a turn needs. */
void react_step(struct react *r, enum react_state to);
void react_emit(struct react *r, const struct engine_event *ev);
/* The end is decided; it is reported from the loop. detail is made safe here. */
void react_finish(struct react *r, enum engine_fail fail, const char *detail);
/* The same with a sentence as its detail; what follows its code (strings) are its arguments. */
#define react_finish_why(r, fail, ...) react_fail((r), (fail), __VA_ARGS__, (const char *)NULL)
void react_fail(struct react *r, enum engine_fail fail, enum speech why, ...)
	__attribute__((sentinel));
/* The turn is to end: nothing more of it is shown, and the loop ends what is under way. */
void react_cancel(struct react *r);
void react_settle(struct react *r); /* a model chosen meanwhile takes over, unless a turn runs */

/* ask.c: a question to the model, and what its answer says. */
void ask_model(struct react *r);
int ask_open_model(struct react *r, const struct react_model *m, struct active **out,
	struct err *e);
/* What the answer says, without the reasoning that some models write into it. */
void ask_words(const struct stream *s, struct str *out);
void ask_count(struct react *r, const struct stream *s, bool answered);
struct prompt ask_prompt(const struct react *r); /* all of it */

/* sight.c: the pictures of a message. They are loaded ahead of the first question. */
void sight_begin(struct react *r);
/* The message becomes a part of the talk, with a word on each picture. -1: no memory. */
int sight_add(struct react *r);
/* The provider has failed over the pictures: they go, and go_on follows. False: it is not that. */
bool sight_without(struct react *r, enum engine_fail fail, const char *detail);
void sight_clear(struct react *r);

/* compact.c: older rounds give way to a summary of them, before the window is full. Where a summary
 * fails the talk stays as it is. */
bool compact_if_due(struct react *r); /* True: a summary is asked for first, and go_on follows. */
/* The provider counts otherwise than we do: once, less history is tried. True: go_on follows. */
bool compact_overflow(struct react *r);
void compact_done(struct react *r, const struct model_result *m);
void compact_command(struct react *r); /* a turn that is nothing but this */

/* command.c: what is answered without asking the model. */
int react_command(struct engine *g, enum engine_command cmd, const char *conversation,
	struct view arg, const char *language, struct str *reply, struct err *e);
int64_t react_today(const struct react *r); /* YYYYMMDD, local time */

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

/* send_file.c: the tool of that name; self is r. */
int send_file_add(struct react *r, struct err *e);
void send_file_drop(struct react *r);

/* round.c: the messages of a turn as the history keeps them. */
/* Make the round whole, whatever happened. False: there is nothing worth keeping. */
bool round_close(struct react *r);

#endif
