/* agent/acp/acp.h: the engine that drives an agent by the Agent Client Protocol, version 1: Kimi
 * Code, Claude, Codex, Gemini, Qwen, OpenCode and whatever else speaks it. */
#ifndef AGENT_ACP_ACP_H
#define AGENT_ACP_ACP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine.h"
#include "agent/speech.h"
#include "base/db/db.h"
#include "base/log.h"
#include "base/loop.h"
#include "tools/host/registry.h"

#define ACP_OPEN_MS  60000 /* for its answer to session/new, load and resume */
#define ACP_GRACE_MS 15000 /* from session/cancel to its end (acp, section 9) */
/* One that dies so soon after a prompt, and without a word, has not begun with it. */
#define ACP_AGAIN_MS 2000

/* What the agent may have its client do (acp, sections 10 and 11). */
struct acp_offer {
	bool fs;       /* read and write text files */
	bool terminal; /* run commands */
};

/* What is set in every session where its user has chosen nothing else; "" or NULL: the agent's own.
 */
struct acp_settings {
	const char *model, *effort, *mode;
};

struct acp_env {
	struct loop *loop;
	struct log *log;
	struct db *db; /* tables acp_* are migrated by acp_open */
	struct tools *tools;
	speech_fn *speak; /* words for what the engine says by itself */
	const char *name; /* of the agent, for people and for telling sessions apart: "kimi" */
	/* Everything below is copied. What is run: an absolute path, its argument vector and its
	 * whole environment. */
	const char *path;
	const char *const *argv, *const *env;
	const char *workspace; /* where it works */
	const char *login;     /* what to type on the host to log it in; NULL: not known */
	struct acp_settings settings;
	const char *instructions; /* the operator's words, for each session; NULL: none */
	/* Of the MCP servers that are handed over (tools/host/mcp.h), read for each session that is
	 * made or taken up; it need not exist. NULL: none are. */
	const char *mcp;
	struct acp_offer offer;
	/* A deed that policy wants a yes for, done without asking, stops the turn. */
	bool strict;
	size_t line_max; /* of a message in; 0: RPC_LINE_MAX */
	/* Where Kimi keeps its own things, when it has our plugin there, whose hooks tell of work
	 * in the background (agent/acp/plugin.h); NULL: no hooks are listened to. */
	const char *hooks_home;
};

int acp_open(struct engine **out, const struct acp_env *env, struct err *e);
/* From the next message on. */
int acp_set(struct engine *g, const struct acp_settings *s, struct err *e);

#endif
