/* tools/exec/session.h: one /bin/sh that lives on from command to command, with its folder, its
 * variables and what it has running in the background.
 *
 * The request (tools/exec/serve.h) says where it works. Once {"event":"fence",...} has come, each
 * further line is a command, {"command":TEXT,"timeout_s":N}, one at a time, and each is answered by
 * {"event":"acting"} and {"event":"result","ok":BOOL,"ended":BOOL,"text":TEXT}. A command that
 * takes too long ends the session, as does one that ends the shell; the process ends with it. */
#ifndef TOOLS_EXEC_SESSION_H
#define TOOLS_EXEC_SESSION_H

#include "tools/exec/root.h"
#include "tools/exec/serve.h"

extern const struct service session_service;

/* Its work inside the fence: the first of the roots is where the shell begins. */
int session_run(const struct roots *roots, const char *tmp, int in, int out);

#endif
