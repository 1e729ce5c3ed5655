/* tools/exec/terminal.h: one command whose output is handed on while it runs.
 *
 * The request (tools/exec/serve.h) has besides: "args" and "argv" as a call of shell, "shell", the
 * path of who reads the command, and "env", a list of NAME=VALUE. Once {"event":"fence",...} has
 * come, {"event":"output","text":TEXT} tells of stdout and stderr in the order they came, bytes that
 * are no UTF-8 replaced, a character never in halves. The end is {"event":"result","ok":true,
 * "code":N} or, ended by a signal, "signal":N; ok false and "text": it could not be run. */
#ifndef TOOLS_EXEC_TERMINAL_H
#define TOOLS_EXEC_TERMINAL_H

#include "tools/exec/serve.h"

#define TERMINAL_ENV_MAX 64

extern const struct service terminal_service;

#endif
