/* agent/react/talk.h: the messages of a conversation, as the chat protocol has them. A round is a
 * user message with all that answers it, up to the next user message. */
#ifndef AGENT_REACT_TALK_H
#define AGENT_REACT_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

enum role { ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };

struct msg_call {
	char *id, *name, *args; /* args: one JSON object */
	char *fault; /* why the model's own arguments were not; NULL: they were. Not kept */
};

struct msg {
	enum role role;
	char *text;
	size_t n;
	struct msg_call *calls; /* of an assistant */
	size_t ncalls;
	char *call_id; /* of a tool's result */
	char *thought; /* reasoning that some providers want back, or NULL */
	int64_t round; /* of the history it is kept in; 0: of none yet */
};

struct talk {
	struct msg *list;
	size_t n, cap;
};

#define TALK_INIT \
	{ \
		.list = NULL, .n = 0, .cap = 0 \
	}

void talk_release(struct talk *t);
/* Each returns the new message, or NULL without memory. Texts are copied. */
struct msg *talk_add(struct talk *t, enum role role, struct view text);
struct msg *talk_add_result(struct talk *t, const char *call_id, struct view text);
int msg_add_call(struct msg *m, struct view id, struct view name, struct view args);
int msg_set_fault(struct msg *m, const char *fault); /* of the call added last; NULL: none */
int msg_set_text(struct msg *m, struct view text);
int msg_set_thought(struct msg *m, struct view thought);
void talk_cut(struct talk *t, size_t n); /* drop messages from n on */
void talk_drop(struct talk *t, size_t from, size_t count);
/* The first `count` messages go, those of `by` take their place and leave it empty. -1: no memory,
 * nothing has changed. */
int talk_replace(struct talk *t, size_t count, struct talk *by);

/* Where the round that holds message i begins. */
size_t talk_round_start(const struct talk *t, size_t i);
/* Is [from, to) a whole round that every provider takes: a user message, any number of calls each
 * with its results in order, an assistant's text at the end? */
bool talk_round_valid(const struct talk *t, size_t from, size_t to);

/* A rough, rather high count of tokens. */
uint64_t tokens_of(struct view text);
uint64_t msg_tokens(const struct msg *m);
uint64_t talk_tokens(const struct talk *t, size_t from, size_t to);

/* The message as an element of "messages". elide: a tool's text is left out, and that is said.
 * thought: with its reasoning; one that makes calls always has some then. */
void msg_write(struct json_out *w, const struct msg *m, bool elide, bool thought);
/* Calls <-> JSON text, for keeping. */
int msg_calls_print(const struct msg *m, struct str *out, struct err *e);
int msg_calls_parse(struct msg *m, struct view text, struct err *e);

#endif
