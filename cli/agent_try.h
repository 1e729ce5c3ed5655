/* cli/agent_try.h: an agent asked whether it works: which version it is, and whether it answers
 * when it is started as the daemon would start it. Both wait; doctor alone does that. */
#ifndef CLI_AGENT_TRY_H
#define CLI_AGENT_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "cli/agent.h"

#define AGENT_VERSION_MS 10000  /* for "PROGRAM --version" */
#define AGENT_TRY_MS     120000 /* from the start to the answer */
#define AGENT_PROMPT     "Reply with OK and nothing else."

/* The first line of what the plan's program says of its version, safe to show. */
int agent_version(struct loop *l, const struct agent_plan *plan, const char *argument, char out[80],
	struct err *e);

struct agent_trial {
	char what[200];        /* as the engine describes itself: "acp, kimi (Kimi Code 2.1.0)" */
	enum engine_fail fail; /* ENGINE_OK: it has answered */
	char detail[301];
	char answer[80]; /* how it begins; safe to show */
	int64_t ms;
};

/* One turn. plan is the daemon's; -1: it could not even be begun. */
int agent_try(struct loop *l, struct log *log, const struct agent_plan *plan, const char *workspace,
	struct agent_trial *out, struct err *e);

#endif
