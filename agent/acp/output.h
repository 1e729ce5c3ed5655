/* agent/acp/output.h: what a task in Kimi's background has written, from where Kimi keeps it. */
#ifndef AGENT_ACP_OUTPUT_H
#define AGENT_ACP_OUTPUT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define OUTPUT_MAX ((size_t)64 << 10) /* bytes of it that are read, the last */

/* HOME/sessions/FOLDER/SESSION/agents/AGENT/tasks/TASK/output.log, appended; SESSION may be
 * "session_SESSION" there. It is read only where all of that is folders and a regular file, none of
 * them a link; the ids are single names. *cut: it was longer. E_NOTFOUND: there is none. */
int output_read(const char *home, const char *session, const char *task, struct str *out, bool *cut,
	struct err *e);

#endif
