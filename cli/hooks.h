/* cli/hooks.h: the plugin that tells of Kimi's background work: who has it, who wants it. */
#ifndef CLI_HOOKS_H
#define CLI_HOOKS_H

#include <stdbool.h>

#include "agent/acp/plugin.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/config.h"

/* Kimi's folder, where the settings have it as the agent; false: another agent does the work. */
bool hooks_home(const struct config *c, char out[PATH_SIZE]);
/* Are hooks to be listened to? Where the plugin is wanted and not there, it is installed. An error
 * is one of the plugin: the agent works without it. */
int hooks_ready(const struct home *h, const struct config *c, bool *ready, struct err *e);
/* At a terminal, where nobody has said yet whether it is wanted: asks, once. */
void hooks_offer(const struct home *h);

#endif
