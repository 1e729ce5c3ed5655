/* agent/react/react.h: the built-in engine: OpenAI-compatible chat, history, tool loop. */
#ifndef AGENT_REACT_REACT_H
#define AGENT_REACT_REACT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine.h"
#include "base/clock.h"
#include "base/db/db.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/net/http.h"
#include "tools/host/registry.h"

struct react_env {
	struct loop *loop;
	struct log *log;
	struct db *db;        /* tables react_* are migrated by react_open */
	struct http *http;    /* pool for the model's host */
	struct tools *tools;  /* NULL: no tools */
	const char *base_url; /* "https://api.moonshot.cn/v1"; "/chat/completions" is appended */
	const char *model;
	const char *api_key;      /* NULL or "": none sent. Copied, wiped on close */
	const char *system_extra; /* operator's words appended to the system prompt, or NULL */
	const char *workspace;
	int64_t token_budget;   /* a run; 0: 1,000,000 */
	int max_iterations;     /* 0: 50 */
	int64_t idle_ms;        /* without a byte from the model; 0: 120 s */
	int64_t context_tokens; /* the model's window; 0: 128,000 */
};

int react_open(struct engine **out, const struct react_env *env, struct err *e);

#endif
