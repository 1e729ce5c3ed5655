/* cli/choice.h: a question to the person at the terminal, answered by the number of a choice. */
#ifndef CLI_CHOICE_H
#define CLI_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"
#include "channel/words.h"

#define CHOICE_MAX 20

struct choice;

struct choice_ask {
	struct view name; /* of what needs consent; empty: text is the question itself */
	struct view text; /* what would be done; untrusted */
	const struct view *choices;
	int n;
	bool several; /* any number of them may be chosen */
	int64_t ms;   /* time to answer */
	enum control_language lang;
};

/* choice: an index (of several a mask, bit i for choice i), ANSWER_NONE, or ANSWER_UNASKED where
 * this process has no terminal or is not in front of it. Once, from the loop; the question is
 * closed by then. */
typedef void choice_cb(void *arg, int choice);

/* Asks at /dev/tty, whatever standard input and output are. What was typed before the question was
 * shown does not count. */
int choice_open(struct choice **out, struct loop *l, const struct choice_ask *ask, choice_cb *cb,
	void *arg, struct err *e);
void choice_close(struct choice **c); /* no callback */

#endif
