/* agent/acp/form.h: what elicitation/create asks for, as questions with choices, and the answers to
 * it. Pure.
 *
 * On a phone only what is offered can be chosen. A property that would take free text or a number
 * is left out where the agent can do without it; else the form cannot be filled in. */
#ifndef AGENT_ACP_FORM_H
#define AGENT_ACP_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#define FORM_FIELDS_MAX  10
#define FORM_CHOICES_MAX 20 /* "skip" counted */

struct form_field {
	char *name;
	char *text; /* the question */
	/* Shown, NULL-terminated; the values stand for them in the answer. Of a property that need
	 * not be given the last one skips it, and has no value. */
	char *names[FORM_CHOICES_MAX + 1];
	char *values[FORM_CHOICES_MAX];
	size_t n;
	bool boolean; /* the first is true, the second false */
	bool several;
	bool skips;
	size_t min, max; /* of several */
	/* The answer: bit i for choice i. */
	unsigned int picked;
};

struct form {
	struct form_field fields[FORM_FIELDS_MAX];
	size_t n; /* 0: there is nothing to choose */
	char *message;
};

/* Words for what the form does not word itself. */
struct form_words {
	const char *yes, *no, *skip;
};

/* E_FORMAT: no form; E_UNSUPPORTED: it needs an answer that cannot be given by choosing. */
int form_read(struct form *f, const struct json *params, const struct form_words *words,
	struct err *e);
/* choice: of a field of several a mask, else an index. False: so many may not be chosen. */
bool form_pick(struct form_field *f, int choice);
/* The members of "content". */
void form_write(const struct form *f, struct json_out *w);
void form_release(struct form *f);

#endif
