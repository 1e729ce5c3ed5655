/* agent/react/active.h: the model in use: its settings, its contract, its client. */
#ifndef AGENT_REACT_ACTIVE_H
#define AGENT_REACT_ACTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/react/model.h"
#include "agent/react/provider.h"
#include "agent/react/react.h"

#define WINDOW_MIN 4000 /* tokens; nothing can be done in less */

struct active {
	char *base_url, *name;
	struct contract contract;
	int64_t window;
	bool stream;
	bool sees;   /* takes pictures */
	bool set_up; /* has an address and a name */
	struct model *client;
};

/* env: loop, log, http, idle_ms and what is told about answers; the rest is filled in here. m is
 * copied. */
int active_open(struct active **out, const struct react_model *m, const struct model_env *env,
	struct err *e);
void active_close(struct active **a);

/* "kimi kimi-k2.6 at api.moonshot.cn" */
void active_describe(const struct active *a, speech_fn *speak, bool zh, struct str *out);

#endif
