#include "tools/host/native.h"

#include <stdlib.h>
#include <string.h>

#include "tools/host/run.h"

struct native_call {
	struct tool_run run; /* first */
	const struct native_tool *tool;
	void *state;
	char *conversation;
	bool begun, over; /* the tool has it; it has ended, by either side */
};

static struct native_call *native_of(struct tool_run *r)
{
	return (struct native_call *)r;
}

/* The tool's part ends here, if it has not. */
static void native_end(struct native_call *nc)
{
	bool cancel = nc->begun && !nc->over;

	nc->over = true;
	if (cancel)
		nc->tool->cancel(nc->tool->self, nc);
}

static void native_stop(struct tool_run *r)
{
	native_end(native_of(r));
	run_over(r, 0);
}

static void native_say_end(const struct tool_run *r, struct str *out)
{
	(void)r;
	(void)str_adds(out, "ended without a result");
}

static void native_release(struct tool_run *r)
{
	native_end(native_of(r));
	free(native_of(r)->conversation);
}

static const struct run_kind native_kind = {
	.stop = native_stop,
	.say_end = native_say_end,
	.release = native_release,
};

int native_start(struct tool_run **out, const struct run_plan *plan, const struct native_tool *tool,
	struct err *e)
{
	struct native_call *nc = calloc(1, sizeof(*nc));

	*out = NULL;
	if (!nc)
		return err_set(e, E_NOMEM, "a tool call");
	nc->tool = tool;
	nc->conversation = strdup(plan->conversation);
	if (run_init(&nc->run, &native_kind, plan, e) < 0)
		return run_failed(&nc->run, e);
	if (!nc->conversation) {
		(void)err_set(e, E_NOMEM, "a tool call");
		return run_failed(&nc->run, e);
	}
	nc->begun = true;
	if (tool->start(tool->self, nc, plan->call, plan->args, e) < 0) {
		nc->over = true;
		return run_failed(&nc->run, e);
	}
	*out = &nc->run;
	return 0;
}

void native_finish(struct native_call *nc, bool ok, struct view text)
{
	if (nc->over)
		return;
	nc->over = true;
	run_give(&nc->run, ok, text);
	run_over(&nc->run, 0);
}

void native_acting(struct native_call *nc)
{
	nc->run.acting = true;
}

void native_set(struct native_call *nc, void *state)
{
	nc->state = state;
}

void *native_get(const struct native_call *nc)
{
	return nc->state;
}

const char *native_conversation(const struct native_call *nc)
{
	return nc->conversation;
}

int native_helper(struct tool_run **out, const struct native_call *nc, const struct tool_spec *spec,
	const struct json *args, tool_done_cb *done, void *arg, struct err *e)
{
	const struct tool_call call = { .turn = nc->run.turn, .origin = nc->run.origin };
	const struct run_plan plan = {
		.list = nc->run.list,
		.env = nc->run.env,
		.spec = spec,
		.call = &call,
		.args = args,
		.quiet = true,
		.done = done,
		.arg = arg,
	};

	return process_start(out, &plan, e);
}
