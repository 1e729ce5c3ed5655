/* agent/react/prompt.h: the body of a request: system prompt, as much of the conversation as fits,
 * tools. */
#ifndef AGENT_REACT_PROMPT_H
#define AGENT_REACT_PROMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/pictures.h"
#include "agent/react/provider.h"
#include "agent/react/talk.h"
#include "base/err.h"
#include "base/str.h"

#define PROMPT_BODY_MAX ((size_t)32 << 20)

struct prompt {
	const char *model;
	const char *workspace;
	const char *media;    /* a further folder that tools may read, or NULL */
	const char *extra;    /* the operator's words, or NULL */
	const char *language; /* "zh" or "en" */
	int64_t wall_ms;      /* for the date */
	struct view tools;    /* JSON array, empty: none */
	struct view denied;   /* lines on tools that the policy denies */
	const struct contract *contract;
	bool stream;
	const struct talk *talk;
	size_t current; /* where the running round begins in talk */
	/* Shown with the first message of the running round; NULL: none. */
	const struct pictures *pictures;
	int64_t window; /* tokens the model takes in all */
};

/* About how many tokens the whole would take, nothing left out; -1: no memory. */
int64_t prompt_estimate(const struct prompt *p);

/* The oldest whole rounds that do not fit are left out, then the oldest results of tools in the
 * running round. E_FULL: the running round does not fit all the same. */
int prompt_write(const struct prompt *p, struct str *out, struct err *e);
/* About how many tokens a request is that prompt_write has made. */
uint64_t prompt_tokens(const struct prompt *p, struct view body);
/* How many tokens of history fit beside an empty round. */
uint64_t prompt_room(int64_t window);
/* What every request begins with: model, stream, the contract's own members. */
void prompt_head(struct json_out *w, const struct contract *c, const char *model, bool stream);
/* The longest tool result that makes sense for this window, in bytes. */
size_t prompt_result_max(int64_t window);

#endif
