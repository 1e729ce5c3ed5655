#include <stdlib.h>

#include "tools/host/helper.h"
#include "tools/host/run.h"

#define REQUEST_MAX ((size_t)8 << 20)

struct process {
	struct tool_run run; /* first */
	struct helper *helper;
	struct str request; /* while it waits */
};

static struct process *process_of(struct tool_run *r)
{
	return (struct process *)r;
}

static void process_release(struct tool_run *r)
{
	helper_free(&process_of(r)->helper);
	str_release(&process_of(r)->request);
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

static int make_request(struct process *p, const struct run_plan *plan, struct err *e)
{
	const struct str request = STR_INIT(REQUEST_MAX);
	const struct tool_run *r = &p->run;
	struct json_out w;

	p->request = request;
	json_out_begin(&w, &p->request);
	json_open(&w, NULL);
	json_put_z(&w, "tool", r->exact ? "read_text" : r->spec->name);
	json_put_json(&w, "args", plan->args);
	put_command(&w, plan);
	helper_put_place(&w, r->env);
	/* A search gives what it has a while before the time is up. */
	json_put_int(&w, "time_ms", r->limit_ms / 2);
	json_close(&w);
	return json_out_end(&w, e);
}

static int send_request(struct process *p, struct err *e)
{
	int rc = helper_send(p->helper, str_view(&p->request), e);

	str_release(&p->request);
	return rc;
}

static void process_go(struct tool_run *r)
{
	struct err e = ERR_INIT;

	if (send_request(process_of(r), &e) == 0)
		return;
	run_give(r, false, view_of(e.msg));
	process_stop(r);
}

static const struct run_kind process_kind = {
	.stop = process_stop,
	.say_end = process_say_end,
	.release = process_release,
	.go = process_go,
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
		helper_start(&p->helper, &helper, e) < 0 || make_request(p, plan, e) < 0)
		return run_failed(&p->run, e);
	/* The helper stands ready meanwhile. */
	if (!(plan->spec->acts && run_must_wait(&p->run)) && send_request(p, e) < 0)
		return run_failed(&p->run, e);
	run_started(&p->run);
	*out = &p->run;
	return 0;
}
