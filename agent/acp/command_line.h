/* agent/acp/command_line.h: a program, its arguments and variables as the one line that a shell
 * would be given for the same, which is what policy judges and the user is shown. Pure.
 *
 * `bash -c TEXT` is TEXT. Variables that only say how a program should talk (NO_COLOR, LANG...)
 * stay apart; any other can change what a command does, and so stands in the line. */
#ifndef AGENT_ACP_COMMAND_LINE_H
#define AGENT_ACP_COMMAND_LINE_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#define COMMAND_LINE_MAX  ((size_t)100 << 10)
#define COMMAND_WORDS_MAX 4096
#define COMMAND_VARS_MAX  64

struct command_line {
	struct str text;
	const char *shell; /* absolute; NULL: any will do */
	char *env[COMMAND_VARS_MAX + 1];
};

/* params: "command", "args", "env" of terminal/create. */
int command_line_read(struct command_line *c, const struct json *params, struct err *e);
void command_line_release(struct command_line *c);

/* A word as one would type it: quoted when it has anything special in it. */
int command_word(struct str *out, struct view word);

#endif
