#include <stdlib.h>

#include "tools/host/helper.h"
#include "tools/host/run.h"
#include "tools/host/sandbox.h"

#define REQUEST_MAX ((size_t)8 << 20)
#define FILES_MAX   100
#define LOOK_MS     5000 /* for Python to look at what was written */

struct process {
	struct tool_run run; /* first */
	struct helper *helper;
	struct str request; /* while it waits; then for the look at what was written, or empty */
	bool looking;
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
	if (process_of(r)->helper)
		helper_stop(process_of(r)->helper);
}

/* --- A look at what was written --------------------------------------------------------------- */

/* Python is a program: it is asked in a process of its own, where programs may run at all. What
 * was written stands whatever comes of it. */
static void plan_look(struct process *p, const struct json *result)
{
	const struct json *files = NULL;
	struct json_out w;

	if (json_get_array(result, "python", JSON_OPTIONAL, FILES_MAX, &files, NULL) == 1 &&
		json_count(files) > 0 && sandbox_allows(p->run.env->sandbox, true, NULL)) {
		json_out_begin(&w, &p->request);
		json_open(&w, NULL);
		json_put_z(&w, "tool", "parse_python");
		json_open(&w, "args");
		json_put_json(&w, "paths", files);
		json_close(&w);
		helper_put_place(&w, p->run.env, NULL);
		json_put_int(&w, "time_ms", LOOK_MS);
		json_close(&w);
		if (json_out_end(&w, NULL) < 0)
			str_reset(&p->request);
	}
}

static void take_look(struct process *p, const struct json *result)
{
	struct view text;
	bool ok = false;

	if (json_get_bool(result, "ok", JSON_REQUIRED, &ok, NULL) == 1 && ok &&
		json_get_str(result, "text", JSON_REQUIRED, 0, RUN_TEXT_MAX, &text, NULL) == 1)
		(void)str_add(&p->run.text, text);
}

/* --- The process ------------------------------------------------------------------------------ */

static int send_request(struct process *p, struct err *e)
{
	int rc = helper_send(p->helper, str_view(&p->request), e);

	str_reset(&p->request);
	return rc;
}

static void process_on_event(void *arg, enum helper_event what, const struct json *event)
{
	struct process *p = arg;

	if (what == HELPER_RESULT && p->looking) {
		take_look(p, event);
	} else if (what == HELPER_RESULT) {
		run_take(&p->run, event);
		str_reset(&p->request);
		plan_look(p, event);
	} else if (what == HELPER_ACTING) {
		p->run.acting = true;
	}
}

static void process_on_end(void *arg);

static int start_helper(struct process *p, struct err *e)
{
	const struct helper_plan plan = {
		.env = p->run.env,
		.mode = "call",
		.name = p->run.spec->name,
		.on_event = process_on_event,
		.on_end = process_on_end,
		.arg = p,
	};

	return helper_start(&p->helper, &plan, e);
}

static void process_on_end(void *arg)
{
	struct process *p = arg;

	if (!p->looking && p->run.has_result && p->request.n > 0 && !p->run.cancelled &&
		!p->run.timed_out) {
		p->looking = true;
		helper_free(&p->helper);
		if (start_helper(p, NULL) == 0 && send_request(p, NULL) == 0)
			return;
		helper_free(&p->helper);
	}
	run_over(&p->run, 0);
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
	json_put_z(&w, "tool", r->exact && r->spec->exact ? r->spec->exact : r->spec->name);
	json_put_json(&w, "args", plan->args);
	put_command(&w, plan);
	helper_put_place(&w, r->env, plan->media);
	/* A search gives what it has a while before the time is up. */
	json_put_int(&w, "time_ms", r->limit_ms / 2);
	json_close(&w);
	return json_out_end(&w, e);
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

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "a tool call");
	if (run_init(&p->run, &process_kind, plan, e) < 0 || make_request(p, plan, e) < 0 ||
		start_helper(p, e) < 0)
		return run_failed(&p->run, e);
	/* The helper stands ready meanwhile. */
	if (!(plan->spec->acts && run_must_wait(&p->run)) && send_request(p, e) < 0)
		return run_failed(&p->run, e);
	*out = &p->run;
	return 0;
}
