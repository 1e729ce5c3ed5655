/* tools/exec/invocation.h: what the arguments of shell ask for: a command and the folder it is run
 * in. The command is a text for a shell, or an allowed vector that is run as it is. */
#ifndef TOOLS_EXEC_INVOCATION_H
#define TOOLS_EXEC_INVOCATION_H

#include "base/err.h"
#include "base/json.h"
#include "tools/exec/command.h"
#include "tools/exec/root.h"

struct invocation {
	const char *path;  /* of the program */
	const char **argv; /* borrowed words */
	char pwd[2 * PATH_SIZE];
	int dir; /* -1: none yet */
};

/* args: "command" and "cwd"; argv: the vector, or NULL: the command is for `shell`, an absolute
 * path. All of it outlives the invocation. On failure too, release is due; `dir` is -1 before. */
int invocation_read(struct invocation *inv, const struct roots *roots, const struct json *args,
	const struct json *argv, const char *shell, struct err *e);
void invocation_plan(const struct invocation *inv, struct command_plan *plan);
void invocation_release(struct invocation *inv);

#endif
