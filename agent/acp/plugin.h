/* agent/acp/plugin.h: our plugin in Kimi's own folder, whose hooks tell of background work.
 *
 * It is a folder with one manifest and a record in Kimi's list of plugins; records of others stay
 * as they are, whatever is in them. The command of the hooks does nothing where the agent was not
 * started by the daemon, which says in its environment what is to be run and where to post. */
#ifndef AGENT_ACP_PLUGIN_H
#define AGENT_ACP_PLUGIN_H

#include <stdint.h>

#include "base/err.h"

#define PLUGIN_ID "kairo-hook-relay"

enum plugin_state {
	PLUGIN_ABSENT,
	PLUGIN_READY,
	PLUGIN_OFF,  /* its user has switched it off in Kimi */
	PLUGIN_STALE /* it is not as this version of ours would have it, or only half there */
};

/* home: Kimi's folder. lock: a file that those who change it hold meanwhile; Kimi itself holds
 * none, so a change of its own is noticed and ours begun anew. 1: it is done. 0: it was so. */
int plugin_install(const char *home, const char *lock, int64_t now_ms, struct err *e);
int plugin_remove(const char *home, const char *lock, struct err *e);
int plugin_state(const char *home, enum plugin_state *out, struct err *e);

#endif
