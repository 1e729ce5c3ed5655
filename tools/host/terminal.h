/* tools/host/terminal.h: a command whose output is followed while it runs, for an agent that has
 * its commands run by its client. It is a call of shell in all that policy, consent, audit and
 * sandbox have to say; it has no time limit of its own and ends with its handle. */
#ifndef TOOLS_HOST_TERMINAL_H
#define TOOLS_HOST_TERMINAL_H

#include "tools/host/registry.h"

#define TERMINALS_MAX    32 /* that have not ended, of all together */
#define TERMINAL_ENV_MAX 64

struct terminal;

struct terminal_plan {
	const struct tool_call *call; /* of shell: "command" and "cwd" */
	const char *shell;            /* absolute: who reads the command; NULL: /bin/sh */
	const char *const *env;       /* further variables, NAME=VALUE; NULL: none */
	/* What it says, stdout and stderr as they come: valid UTF-8 in whole characters, no NUL. */
	void (*on_output)(void *arg, struct view text);
	/* Once, from the loop: its exit code, or -1 and the signal. */
	void (*on_exit)(void *arg, int code, int signal);
	void *arg;
};

/* E_DENIED: by policy, or without consent. E_FULL: there are TERMINALS_MAX. */
int terminal_start(struct terminal **out, struct tools *t, const struct terminal_plan *plan,
	struct err *e);
void terminal_kill(struct terminal *t); /* all that came of it too; on_exit follows */
/* Nothing calls back any more; what still runs is ended, without waiting for it. Before
 * tools_close. */
void terminal_free(struct terminal **t);

#endif
