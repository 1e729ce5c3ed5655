/* tools/exec/event.h: what kairo-tool tells the daemon: JSON lines (tools/exec/call.h names them).
 * A daemon that is gone is told nothing more; the lifeline ends the process then. */
#ifndef TOOLS_EXEC_EVENT_H
#define TOOLS_EXEC_EVENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "tools/exec/fence.h"

void event_fence(int fd, const struct fence *f);
void event_acting(int fd);
/* Of a terminal: what it says, valid UTF-8; how its command ended, by itself or by a signal. */
void event_output(int fd, struct view text);
void event_end(int fd, int code, int signal);
/* 0, or -1: it could not be said. text need not be valid UTF-8. */
int event_result(int fd, bool ok, struct view text);
/* The same, of a tool that has written Python: "python" lists the files, which have a NUL behind
 * each in the view. */
int event_done(int fd, bool ok, struct view text, struct view python);
/* A result that tells of a failure, and of which kind: "error" has err_code_name of it. */
int event_failure(int fd, const struct err *e);
/* The first of a command in a session: has the session ended with it? */
int event_session(int fd, bool ok, bool ended, struct view text);

#endif
