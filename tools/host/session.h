/* tools/host/session.h: shell_session: shells that live on between calls, each in a process of
 * kairo-tool of its own (tools/exec/session.h). A session belongs to the conversation that began
 * it, by its number there; one that nobody has used for SESSION_IDLE_MS is ended. Inside the room
 * only. */
#ifndef TOOLS_HOST_SESSION_H
#define TOOLS_HOST_SESSION_H

#include "tools/host/run.h"

#define SESSIONS_MAX    4
#define SESSION_IDLE_MS ((int64_t)30 * 60 * 1000)

struct sessions;

/* env outlives it. */
int sessions_open(struct sessions **out, const struct tools_env *env, struct err *e);
/* Ends them all and what they have running. The calls have been closed before. */
void sessions_close(struct sessions **s);

/* As tools_start. One command at a time in each session (E_BUSY), and none beside another call that
 * may change the workspace; what a command left in the background is not waited for. When there are
 * SESSIONS_MAX, a new one takes the place of the one that another conversation has left alone for
 * longest. */
int session_start(struct tool_run **out, struct sessions *all, const struct run_plan *plan,
	struct err *e);

#endif
