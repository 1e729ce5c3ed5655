/* tools/host/registry.h: the tools the built-in engine may use: names, JSON schemas, argument
 * checks, dispatch, bounded results. Two steps: a verdict, then a start with a live handle. */
#ifndef TOOLS_HOST_REGISTRY_H
#define TOOLS_HOST_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"
#include "tools/host/audit.h"
#include "tools/host/origin.h"
#include "tools/host/policy.h"

#define TOOL_RESULT_MAX ((size_t)200000) /* characters of one result (kairo-architecture) */
#define TOOL_ARGS_MAX   ((size_t)1 << 20)

struct tools;
struct tool_run;

struct tools_env {
	struct loop *loop;
	struct log *log;
	struct audit *audit;
	const char *helper;    /* absolute path of kairo-tool */
	const char *workspace; /* real path */
	const char *hide;      /* $KAIRO_HOME: never reachable from a tool */
	bool sandbox_required; /* refuse where no layer for files holds, instead of best effort */
	const char *const *read_paths; /* extra folders tools may read; NULL-terminated or NULL */
};

int tools_open(struct tools **out, const struct tools_env *env, struct err *e);
void tools_close(struct tools **t); /* ends what runs */

/* The schemas of what this origin may at least ask for, as the "tools" array of a chat request. */
int tools_schema(const struct tools *t, enum origin origin, struct str *out, struct err *e);

struct tool_call {
	uint64_t turn;
	enum origin origin;
	const char *id, *name;
	struct view args; /* as the model wrote them: untrusted text */
};

/* Step one: is it known, are the arguments valid, what does the policy say? *why gets a text for
 * the model when the verdict is DENY (unknown tool, bad arguments, policy). */
enum verdict tools_verdict(struct tools *t, const struct tool_call *c, struct str *why);

struct tool_result {
	bool ok;
	bool cancelled;
	bool acted;       /* a side effect happened or may have happened */
	struct view text; /* for the model: valid UTF-8, bounded, safe of controls */
};
typedef void tool_done_cb(void *arg, const struct tool_result *r);

/* Step two. done fires exactly once, from the loop, also after tool_cancel. Verdict ALLOW, or ASK
 * with a yes, is the caller's promise; policy is checked again and DENY refused. */
int tools_start(struct tool_run **out, struct tools *t, const struct tool_call *c,
	tool_done_cb *done, void *arg, struct err *e);
void tool_cancel(struct tool_run *r);
void tool_detach(struct tool_run *r); /* cancelled; done will not fire: its receiver goes away */
/* One safe key argument for a progress line, at most 80 characters. */
void tools_summary(const struct tools *t, const struct tool_call *c, struct str *out);
bool tools_acts(const struct tools *t, const char *name); /* may it change something? */
/* One line on what confines tools on this machine: "files: Landlock ABI 7, bubblewrap; ..." */
void tools_confinement(const struct tools *t, struct str *out);

#endif
