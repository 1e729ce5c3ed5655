#include "tools/host/terminal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/host/helper.h"
#include "tools/host/registry-private.h"

#define REQUEST_MAX ((size_t)2 << 20)
#define COMMAND_NOT 126 /* the exit code of a command that could not be run */

struct terminal {
	struct tools *tools;
	struct terminal *next;
	struct helper *helper;
	void (*on_output)(void *arg, struct view text);
	void (*on_exit)(void *arg, int code, int signal);
	void *arg;
	bool over; /* how it ended is known: */
	int code, signal;
	bool killed, released;

	/* for the audit */
	uint64_t turn;
	enum origin origin;
	enum verdict verdict;
	char *call_id;
	struct str args;
	int64_t began;
};

static int audit(const struct terminal *t, const char *outcome, const char *detail, struct err *e)
{
	struct audit_event ev = { .turn = t->turn, .origin = t->origin, .tool = "shell" };

	ev.call_id = t->call_id;
	ev.args = str_view(&t->args);
	ev.verdict = verdict_name(t->verdict);
	ev.outcome = outcome;
	ev.detail = detail;
	ev.ms = loop_now(t->tools->env.loop) - t->began;
	return audit_write(t->tools->env.audit, &ev, e);
}

static void destroy(struct terminal *t)
{
	for (struct terminal **at = &t->tools->terminals; *at; at = &(*at)->next) {
		if (*at == t) {
			*at = t->next;
			break;
		}
	}
	helper_free(&t->helper);
	str_release(&t->args);
	free(t->call_id);
	free(t);
}

/* --- The end ---------------------------------------------------------------------------------- */

static void audit_end(const struct terminal *t)
{
	char detail[60];

	if (t->code < 0)
		(void)snprintf(detail, sizeof(detail), "ended by signal %d", t->signal);
	else
		(void)snprintf(detail, sizeof(detail), "exit status %d", t->code);
	(void)audit(t, t->killed ? "cancelled" : t->code == 0 ? "ok" : "failed", detail, NULL);
}

static void terminal_on_end(void *arg)
{
	struct terminal *t = arg;
	struct str text = STR_INIT(400);

	if (!t->over && t->killed) {
		t->code = -1;
		t->signal = SIGKILL;
	} else if (!t->over) {
		t->code = COMMAND_NOT;
		helper_say_end(t->helper, &text);
		if (t->on_output)
			t->on_output(t->arg, str_view(&text));
	}
	str_release(&text);
	audit_end(t);
	helper_free(&t->helper);
	if (t->released)
		destroy(t);
	else
		t->on_exit(t->arg, t->code, t->signal);
}

void terminal_kill(struct terminal *t)
{
	if (!t->helper || t->killed)
		return;
	t->killed = true;
	helper_stop(t->helper);
}

void terminal_free(struct terminal **tp)
{
	struct terminal *t = *tp;

	*tp = NULL;
	if (!t)
		return;
	t->released = true;
	t->on_output = NULL;
	if (t->helper)
		terminal_kill(t);
	else
		destroy(t);
}

void terminals_close(struct tools *tools)
{
	for (struct terminal *t = tools->terminals; t; t = t->next)
		terminal_kill(t); /* all at once */
	while (tools->terminals)
		destroy(tools->terminals);
}

/* --- Events ----------------------------------------------------------------------------------- */

static void take_result(struct terminal *t, const struct json *event)
{
	struct view text = VIEW_NONE;
	int64_t n = 0;

	t->over = true;
	if (json_get_int(event, "code", JSON_OPTIONAL, 0, 255, &n, NULL) == 1) {
		t->code = (int)n;
	} else if (json_get_int(event, "signal", JSON_OPTIONAL, 1, 128, &n, NULL) == 1) {
		t->code = -1;
		t->signal = (int)n;
	} else {
		t->code = COMMAND_NOT;
		(void)json_get_str(event, "text", JSON_OPTIONAL, 0, RUN_TEXT_MAX, &text, NULL);
		if (t->on_output && text.n > 0)
			t->on_output(t->arg, text);
	}
}

static void terminal_on_event(void *arg, enum helper_event what, const struct json *event)
{
	struct terminal *t = arg;
	struct view text;

	if (what == HELPER_RESULT)
		take_result(t, event);
	else if (what == HELPER_OUTPUT && t->on_output &&
		 json_get_str(event, "text", JSON_REQUIRED, 1, RUN_TEXT_MAX, &text, NULL) == 1)
		t->on_output(t->arg, text);
}

/* --- The start -------------------------------------------------------------------------------- */

static void put_words(struct json_out *w, const char *name, const char *const *words)
{
	json_open_array(w, name);
	for (; *words; words++)
		json_put_z(w, NULL, *words);
	json_close_array(w);
}

static int send_request(struct terminal *t, const struct terminal_plan *plan,
	const struct judgement *j, struct err *e)
{
	struct str line = STR_INIT(REQUEST_MAX);
	struct json_out w;
	int rc = -1;

	json_out_begin(&w, &line);
	json_open(&w, NULL);
	json_put_json(&w, "args", j->args);
	if (j->argv.v) {
		put_words(&w, "argv", (const char *const *)j->argv.v);
		json_put_bool(&w, "network", j->network);
	}
	if (plan->shell)
		json_put_z(&w, "shell", plan->shell);
	if (plan->env)
		put_words(&w, "env", plan->env);
	helper_put_place(&w, &t->tools->env, turn_media(&t->tools->turns, t->turn));
	json_close(&w);
	if (json_out_end(&w, e) == 0)
		rc = helper_send(t->helper, str_view(&line), e);
	str_release(&line);
	return rc;
}

static int begin(struct terminal *t, const struct terminal_plan *plan, const struct judgement *j,
	struct err *e)
{
	const struct helper_plan helper = {
		.env = &t->tools->env,
		.mode = "terminal",
		.name = "a terminal",
		.on_event = terminal_on_event,
		.on_end = terminal_on_end,
		.arg = t,
	};

	t->call_id = strdup(plan->call->id ? plan->call->id : "");
	if (!t->call_id)
		return err_set(e, E_NOMEM, "a terminal");
	run_audit_args(j->spec, j->args, &t->args);
	/* What cannot be recorded does not begin. */
	if (audit(t, "started", "", e) < 0 || helper_start(&t->helper, &helper, e) < 0)
		return -1;
	return send_request(t, plan, j, e);
}

static int count(const struct tools *tools)
{
	int n = 0;

	for (const struct terminal *t = tools->terminals; t; t = t->next)
		n += t->helper != NULL;
	return n;
}

static int make(struct terminal **out, struct tools *tools, const struct terminal_plan *plan,
	const struct judgement *j, struct err *e)
{
	const struct str args = STR_INIT(REQUEST_MAX);
	struct terminal *t;

	if (count(tools) >= TERMINALS_MAX)
		return err_set(e, E_FULL, "%d terminals are running already", TERMINALS_MAX);
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(e, E_NOMEM, "a terminal");
	t->tools = tools;
	t->next = tools->terminals;
	tools->terminals = t;
	t->on_output = plan->on_output;
	t->on_exit = plan->on_exit;
	t->arg = plan->arg;
	t->turn = plan->call->turn;
	t->origin = plan->call->origin;
	t->verdict = j->verdict;
	t->args = args;
	t->began = loop_now(tools->env.loop);
	if (begin(t, plan, j, e) < 0) {
		(void)audit(t, "failed", e ? e->msg : "", NULL);
		destroy(t);
		return -1;
	}
	*out = t;
	return 0;
}

int terminal_start(struct terminal **out, struct tools *tools, const struct terminal_plan *plan,
	struct err *e)
{
	struct judgement j;
	int rc;

	*out = NULL;
	rc = registry_permit(tools, plan->call, &j, e);
	if (rc == 0)
		rc = make(out, tools, plan, &j, e);
	judgement_release(&j);
	return rc;
}
