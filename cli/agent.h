/* cli/agent.h: the agent that `engine = "acp"` drives: which program it is on this machine, what it
 * inherits, and how it is started inside what can confine it. */
#ifndef CLI_AGENT_H
#define CLI_AGENT_H

#include <stdbool.h>

#include "agent/acp/preset.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/config.h"

struct agent_plan {
	const char *name;  /* of the preset, or "agent" */
	const char *login; /* NULL: not known */
	char program[PATH_SIZE];
	char mcp[PATH_SIZE]; /* the file with its MCP servers; it need not exist */
	bool own_files;      /* it is not offered to have files read and written for it */
	char **argv, **env;  /* of kairo-tool supervise with the program behind it */
};

/* Where the program of the settings is. E_NOTFOUND: not on this machine; the message says how it
 * can be installed. E_DENIED: it lies in the workspace, where the agent itself could replace it. */
int agent_find(const struct config *c, const char *workspace, char program[PATH_SIZE],
	struct err *e);
bool agent_installed(const struct acp_preset *preset);
/* A program that the agent may start: by its path, or by a name on the PATH. */
bool agent_can_start(const char *command);
/* namespaces: whether the machine has them; without, nothing confines the agent. */
int agent_plan(struct agent_plan *p, const struct home *h, const struct config *c,
	const char *workspace, bool namespaces, struct err *e);
void agent_plan_release(struct agent_plan *p);

#endif
