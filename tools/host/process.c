#include <stdlib.h>

#include "tools/host/helper.h"
#include "tools/host/run.h"

#define REQUEST_MAX ((size_t)8 << 20)

struct process {
	struct tool_run run; /* first */
	struct helper *helper;
};

static struct process *process_of(struct tool_run *r)
{
	return (struct process *)r;
}

static void process_release(struct tool_run *r)
{
	helper_free(&process_of(r)->helper);
}

static void process_say_end(const struct tool_run *r, struct str *out)
{
	helper_say_end(((const struct process *)r)->helper, out);
}

static void process_stop(struct tool_run *r)
{
	helper_stop(process_of(r)->helper);
}

static void process_on_end(void *arg)
{
	struct process *p = arg;

	run_over(&p->run, 0);
}

static void process_on_event(void *arg, enum helper_event what, const struct json *event)
{
	struct process *p = arg;

	if (what == HELPER_ACTING)
		p->run.acting = true;
	else if (what == HELPER_RESULT)
		run_take(&p->run, event);
}

static void put_command(struct json_out *w, const struct run_plan *plan)
{
	if (!plan->argv)
		return;
	json_open_array(w, "argv");
	for (char *const *word = plan->argv; *word; word++)
		json_put_z(w, NULL, *word);
	json_close_array(w);
	json_put_bool(w, "network", plan->network);
}

static int send_request(struct process *p, const struct run_plan *plan, struct err *e)
{
	struct str request = STR_INIT(REQUEST_MAX);
	const struct tool_run *r = &p->run;
	struct json_out w;
	int rc = -1;

	json_out_begin(&w, &request);
	json_open(&w, NULL);
	json_put_z(&w, "tool", r->spec->name);
	json_put_json(&w, "args", plan->args);
	put_command(&w, plan);
	helper_put_place(&w, r->env);
	/* A search gives what it has a while before the time is up. */
	json_put_int(&w, "time_ms", r->limit_ms / 2);
	json_close(&w);
	if (json_out_end(&w, e) == 0)
		rc = helper_send(p->helper, str_view(&request), e);
	str_release(&request);
	return rc;
}

static const struct run_kind process_kind = {
	.stop = process_stop,
	.say_end = process_say_end,
	.release = process_release,
};

int process_start(struct tool_run **out, const struct run_plan *plan, struct err *e)
{
	struct process *p = calloc(1, sizeof(*p));
	struct helper_plan helper = {
		.env = plan->env,
		.mode = "call",
		.name = plan->spec->name,
		.on_event = process_on_event,
		.on_end = process_on_end,
		.arg = p,
	};

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "a tool call");
	if (run_init(&p->run, &process_kind, plan, e) < 0 ||
		helper_start(&p->helper, &helper, e) < 0 || send_request(p, plan, e) < 0)
		return run_failed(&p->run, e);
	run_started(&p->run);
	*out = &p->run;
	return 0;
}
