/* tools/host/run.h: one call of kairo-tool that is under way; inside the room only. */
#ifndef TOOLS_HOST_RUN_H
#define TOOLS_HOST_RUN_H

#include "base/json.h"
#include "tools/host/registry.h"
#include "tools/host/spec.h"

/* Of a struct tools; the runs under way are its list. */
struct run_list {
	struct tool_run *first;
};

/* As tools_start; verdict and arguments have been checked. */
int run_start(struct tool_run **out, struct run_list *list, const struct tools_env *env,
	const struct tool_spec *spec, const struct tool_call *c, const struct json *args,
	tool_done_cb *done, void *arg, struct err *e);
void run_close_all(struct run_list *list); /* no callback */

/* The arguments as an audit record shows them. */
void run_audit_args(const struct tool_spec *spec, const struct json *args, struct str *out);

#endif
