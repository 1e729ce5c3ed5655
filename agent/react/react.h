/* agent/react/react.h: the built-in engine: OpenAI-compatible chat, history, tool loop. */
#ifndef AGENT_REACT_REACT_H
#define AGENT_REACT_REACT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine.h"
#include "agent/speech.h"
#include "base/clock.h"
#include "base/db/db.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/net/http.h"
#include "tools/host/registry.h"

/* Does the model take pictures? */
enum react_vision { VISION_AUTO, VISION_ON, VISION_OFF }; /* AUTO: by its name */

/* Which model is asked, and how. */
struct react_model {
	const char *provider; /* canonical; NULL or "": by the host of base_url */
	const char *base_url; /* "https://api.moonshot.cn/v1"; "/chat/completions" is appended */
	const char *name;
	const char *api_key;    /* NULL or "": none sent. Wiped on close */
	int64_t context_tokens; /* its window; 0: by its name */
	bool whole;             /* answers are asked for whole, not as a stream */
	enum react_vision vision;
};

/* What /model does with the settings, for whoever keeps them. provider: canonical; name "": its
 * default one. */
struct react_choice {
	/* What would be in force with this choice, or why it cannot be: *why with e's words and the
	 * provider. Its strings live until the next call. */
	int (*look)(void *arg, const char *provider, const char *name, struct react_model *out,
		enum speech *why, struct err *e);
	/* Keep it, all of it or, on failure, nothing. */
	int (*save)(void *arg, const char *provider, const char *name, struct err *e);
	void *arg;
};

struct react_env {
	struct loop *loop;
	struct log *log;
	struct db *db;                     /* tables react_* are migrated by react_open */
	struct http *http;                 /* pool for the model's host */
	struct tools *tools;               /* NULL: no tools */
	speech_fn *speak;                  /* words for what the engine says by itself */
	struct react_model model;          /* copied */
	const struct react_choice *choice; /* copied; NULL: the model cannot be changed */
	const char *system_extra; /* operator's words appended to the system prompt, or NULL */
	const char *workspace;
	int64_t token_budget; /* a run; 0: 1,000,000 */
	int max_iterations;   /* 0: 50 */
	int64_t idle_ms;      /* without a byte from the model; 0: 120 s */
};

int react_open(struct engine **out, const struct react_env *env, struct err *e);

#endif
