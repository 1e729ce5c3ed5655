/* tools/host/run.h: calls that are under way, of either kind: a process of kairo-tool, or a tool in
 * the daemon. Inside the room only. */
#ifndef TOOLS_HOST_RUN_H
#define TOOLS_HOST_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "tools/host/registry.h"
#include "tools/host/spec.h"

#define RUN_TEXT_MAX ((size_t)16 << 20) /* all that a call may say */

/* Of a struct tools; the runs under way are its list. */
struct run_list {
	struct tool_run *first; /* the newest */
	bool closed;
};

/* A call whose verdict and arguments have been checked. All of it is borrowed. */
struct run_plan {
	struct run_list *list;
	const struct tools_env *env; /* outlives the run, as spec does */
	const struct tool_spec *spec;
	const struct tool_call *call;
	const struct json *args;
	enum verdict verdict; /* ASK: it was consented to */
	const char *conversation;
	const char *media; /* a further folder it may read; NULL: none */
	char *const *argv; /* a command to be run as it is, without a shell; NULL: none */
	bool network;      /* it may use the network */
	bool quiet;        /* part of another call: not recorded by itself */
	tool_done_cb *done;
	void *arg;
};

/* What differs between the kinds. */
struct run_kind {
	/* End the work; run_over follows, from here or later. */
	void (*stop)(struct tool_run *r);
	/* How it ended when it left no result: "ended without a result (exit code 1)". */
	void (*say_end)(const struct tool_run *r, struct str *out);
	void (*release)(struct tool_run *r); /* free what the kind has added; nothing calls back */
	/* The work may begin: it had to wait for another that changes the workspace. */
	void (*go)(struct tool_run *r);
};

/* The common part; a kind's struct begins with it. */
struct tool_run {
	const struct run_kind *kind;
	struct run_list *list;
	struct tool_run *next;
	const struct tools_env *env;
	const struct tool_spec *spec;
	tool_done_cb *done;
	void *arg;
	struct timer *limit, *end;
	bool cancelled, timed_out, acting, has_result, ok;
	bool exact; /* the text is handed on as it is */
	enum err_code error;
	bool changes, waits; /* the workspace; for another that does */
	struct str text;
	int64_t began, limit_ms;

	/* for the audit */
	bool quiet;
	uint64_t turn;
	enum origin origin;
	enum verdict verdict;
	char *call_id;
	struct str args;
};

/* Fill the zeroed common part, put it on its list, and record that it starts: what cannot be
 * recorded does not. On failure run_failed is due. */
int run_init(struct tool_run *r, const struct run_kind *kind, const struct run_plan *plan,
	struct err *e);
/* Of the calls that may change the workspace one works at a time, in the order they came, whoever
 * asked for them and also while one that was cancelled comes to its end. True: r has to wait until
 * its kind's go is called. */
bool run_must_wait(struct tool_run *r);
/* It never came to be: recorded, freed. Returns -1. */
int run_failed(struct tool_run *r, const struct err *e);
/* The result; the first one counts. */
void run_give(struct tool_run *r, bool ok, struct view text);
void run_take(struct tool_run *r, const struct json *event); /* the same, of kairo-tool's event */
/* It is over: the end is told from the loop, after ms at most. */
void run_over(struct tool_run *r, int64_t ms);
void run_close_all(struct run_list *list); /* no callback */

/* As tools_start. A process of kairo-tool: */
int process_start(struct tool_run **out, const struct run_plan *plan, struct err *e);
/* A tool in the daemon: */
struct native_tool;
int native_start(struct tool_run **out, const struct run_plan *plan, const struct native_tool *tool,
	struct err *e);

/* The arguments as an audit record shows them. */
void run_audit_args(const struct tool_spec *spec, const struct json *args, struct str *out);

#endif
