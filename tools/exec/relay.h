/* tools/exec/relay.h: what an agent's hook tells, passed on to the daemon that runs the agent.
 *
 * Run by the agent itself, as the command of a hook: one JSON object on standard input. Where it
 * goes is in the environment, which only an agent of the daemon's has: "http://127.0.0.1:PORT" and
 * a token. Whatever goes wrong, the agent is not held up and hears nothing of it. */
#ifndef TOOLS_EXEC_RELAY_H
#define TOOLS_EXEC_RELAY_H

#include "base/err.h"
#include "base/str.h"

#define RELAY_URL      "KAIRO_RELAY_URL"
#define RELAY_TOKEN    "KAIRO_RELAY_TOKEN"
#define RELAY_MS       2000               /* for all of it */
#define RELAY_IN_MAX   ((size_t)4 << 20)  /* bytes of what a hook tells */
#define RELAY_TEXT_MAX ((size_t)64 << 10) /* bytes of one text that is passed on; the rest is cut */

int relay_main(void); /* the exit code: always success, for others mean something to the agent */

#endif
