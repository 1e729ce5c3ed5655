/* tools/host/program.h: a program that the operator has set up (a decoder, a transcriber), run as
 * exactly the vector of his setting, without a shell, in the sandbox of commands: without a
 * network, in a folder of its own, and with nothing else of this machine's but the system, the
 * folders of sandbox.read, and the folder of each absolute path that the vector names.
 *
 * The operator chose it, so policy does not come into it, and no record is kept beside the log. */
#ifndef TOOLS_HOST_PROGRAM_H
#define TOOLS_HOST_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "tools/host/registry.h"

enum program_end {
	PROGRAM_EXITED,   /* status; text is all that it said, valid and without NUL */
	PROGRAM_KILLED,   /* by a signal */
	PROGRAM_LATE,     /* its time was over */
	PROGRAM_TOO_MUCH, /* it said more than it may */
	PROGRAM_NOT_TEXT, /* what it said is not UTF-8 */
	PROGRAM_NOT_RUN   /* it was not run, or whoever ran it failed */
};

struct program_result {
	enum program_end end;
	int status;
	struct view text;
	const char *why; /* safe, for the log; its last line on stderr where it left one */
};

/* Whoever runs programs: ends them, when it goes. */
struct program_list {
	struct program *first;
};
void program_close_all(struct program_list *l); /* no callback */

struct program_plan {
	struct program_list *list;
	struct tools *tools; /* outlives the list */
	const char *what;    /* for the log: "voice.decoder"; outlives the program */
	const char *const *argv;
	const char *folder;     /* where it works and may write; nobody else's */
	const char *file, *out; /* in place of {file} and {out} in a word */
	int64_t time_ms;
	size_t text_max; /* bytes that it may say; at most 128 KiB */
	void (*on_done)(void *arg, const struct program_result *r); /* once, from the loop */
	void *arg;
};

struct program;
/* -1: it cannot be run here; e says what is missing, or what is wrong with the vector. */
int program_start(struct program **out, const struct program_plan *plan, struct err *e);
/* It is ended in the background; no callback. NULL is fine. */
void program_detach(struct program **p);

/* Could it be run, as far as can be told without? e as for program_start. */
int program_check(struct tools *t, const char *const *argv, struct err *e);

#endif
