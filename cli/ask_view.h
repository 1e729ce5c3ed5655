/* cli/ask_view.h: what a person at a terminal sees of a turn, from its events as JSON lines, and
 * the questions that are asked there. */
#ifndef CLI_ASK_VIEW_H
#define CLI_ASK_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/str.h"
#include "cli/choice.h"

/* A question was answered: choice as in choice.h. From the loop. */
typedef void ask_answer_cb(void *arg, const char *id, uint64_t ticket, int choice);

struct ask_waiting;

struct ask_view {
	struct loop *loop; /* set, with the callback, before the first line */
	ask_answer_cb *answer;
	void *arg;

	bool streamed; /* text was printed as it came */
	bool in_line;  /* something stands in the line */
	int code;      /* to exit with; set by the end of the turn, EXIT_FAILED until then */

	struct choice *choice;       /* the question that is open, or NULL */
	struct ask_waiting *waiting; /* those that came meanwhile, the oldest first */
	char id[129];
	uint64_t ticket;
};

/* One event (socket.c). */
void ask_view_line(struct ask_view *v, struct view line);
void ask_view_close(struct ask_view *v);

#endif
