#include "tools/host/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/host/outcome.h"

#define ARGS_MAX ((size_t)4 << 20)

static int audit(const struct tool_run *r, const char *outcome, const char *detail, struct err *e)
{
	struct audit_event ev = { .turn = r->turn, .origin = r->origin, .tool = r->spec->name };

	if (r->quiet)
		return 0;
	ev.call_id = r->call_id;
	ev.args = str_view(&r->args);
	ev.verdict = verdict_name(r->verdict);
	ev.outcome = outcome;
	ev.detail = detail;
	ev.ms = loop_now(r->env->loop) - r->began;
	return audit_write(r->env->audit, &ev, e);
}

/* --- The end ---------------------------------------------------------------------------------- */

/* The oldest that waits, when none of those that change the workspace works. */
static struct tool_run *next_to_go(const struct run_list *list)
{
	struct tool_run *next = NULL;

	for (struct tool_run *r = list->first; r; r = r->next) {
		if (r->changes && !r->waits)
			return NULL;
		if (r->waits && !r->cancelled && !r->timed_out)
			next = r;
	}
	return next;
}

bool run_must_wait(struct tool_run *r)
{
	for (const struct tool_run *other = r->list->first; other; other = other->next)
		r->waits |= other->changes;
	r->changes = true;
	return r->waits;
}

static void let_next_go(const struct run_list *list)
{
	struct tool_run *next = list->closed ? NULL : next_to_go(list);

	if (!next)
		return;
	next->waits = false;
	timer_arm(next->limit, next->limit_ms);
	next->kind->go(next);
}

/* r was allocated whole; no callback. */
static void run_free(struct tool_run *r)
{
	struct run_list *list = r->list;
	bool changes = r->changes;

	r->kind->release(r);
	timer_free(&r->limit);
	timer_free(&r->end);
	str_release(&r->text);
	str_release(&r->args);
	free(r->call_id);
	for (struct tool_run **at = &r->list->first; *at; at = &(*at)->next) {
		if (*at == r) {
			*at = r->next;
			break;
		}
	}
	free(r);
	if (changes)
		let_next_go(list);
}

static const char *side_effects(const struct tool_run *r)
{
	if (!r->spec->acts)
		return "It changes nothing.";
	return r->acting
	               ? "It had begun to change something, which may be done or not: look before "
	                 "you go on."
	               : "Nothing was changed.";
}

/* What the model is told when there is no result of the tool's own. */
static void say_why(struct tool_run *r)
{
	struct str *s = &r->text;

	str_reset(s);
	(void)str_addf(s, "%s ", r->spec->name);
	if (r->cancelled)
		(void)str_adds(s, "was cancelled");
	else if (r->timed_out)
		(void)str_addf(s, "took longer than %lld s and was ended",
			(long long)(r->limit_ms / 1000));
	else
		r->kind->say_end(r, s);
	(void)str_addf(s, ". %s", side_effects(r));
}

/* A tool that is told to stop does not know who told it. */
static void say_late(struct tool_run *r)
{
	if (r->timed_out && !r->cancelled && !r->ok)
		(void)str_addf(&r->text, "%s[%s took longer than %lld s, so it was told to end]\n",
			view_ends(str_view(&r->text), VIEW("\n")) ? "" : "\n", r->spec->name,
			(long long)(r->limit_ms / 1000));
}

/* Valid UTF-8 without controls, and not too long. */
static void make_safe(struct tool_run *r, struct str *out)
{
	size_t fit;

	if (text_safe(str_view(&r->text), TEXT_KEEP_LF | TEXT_KEEP_TAB, out) < 0) {
		str_reset(out);
		(void)str_adds(out, "the result could not be kept: no memory");
		r->ok = false;
	}
	fit = utf8_cut_chars(str_view(out), TOOL_RESULT_MAX);
	if (fit < out->n) {
		str_truncate(out, utf8_cut_chars(str_view(out), TOOL_RESULT_MAX - 100));
		(void)str_addf(out, "\n[cut: the result is longer than %zu characters]",
			TOOL_RESULT_MAX);
	}
}

static enum outcome judge(const struct tool_run *r)
{
	const struct outcome_facts facts = {
		.has_result = r->has_result,
		.says_ok = r->ok,
		.cancelled = r->cancelled,
		.text = str_view(&r->text),
	};

	/* What a file holds is no report. */
	if (r->exact && r->has_result && r->ok)
		return OUTCOME_OK;
	return outcome_of(&facts);
}

static void run_on_end(void *arg)
{
	struct tool_run *r = arg;
	struct str safe = STR_INIT(RUN_TEXT_MAX);
	struct tool_result result = { .ok = false };
	enum outcome outcome;
	tool_done_cb *done = r->done;
	void *done_arg = r->arg;

	if (r->has_result)
		say_late(r);
	else
		say_why(r);
	if (r->exact && r->ok)
		(void)str_add(&safe, str_view(&r->text));
	else
		make_safe(r, &safe);
	outcome = judge(r);
	result.ok = outcome == OUTCOME_OK;
	result.cancelled = outcome == OUTCOME_CANCELLED;
	result.acted = r->acting;
	result.error = r->error;
	result.text = str_view(&safe);
	(void)audit(r, outcome_name(outcome), result.ok ? "" : str_cstr(&safe), NULL);
	run_free(r);
	if (done)
		done(done_arg, &result);
	str_release(&safe);
}

void run_over(struct tool_run *r, int64_t ms)
{
	timer_arm(r->end, ms);
}

void run_give(struct tool_run *r, bool ok, struct view text)
{
	if (r->has_result)
		return;
	str_reset(&r->text);
	if (str_add(&r->text, text) < 0)
		return;
	r->ok = ok;
	r->has_result = true;
}

/* The kind of a failure, as kairo-tool has named it. */
static enum err_code error_of(const struct json *event)
{
	struct view name = VIEW_NONE;
	int code = E_UNSUPPORTED;

	(void)json_get_str(event, "error", JSON_OPTIONAL, 1, 100, &name, NULL);
	while (code > E_OK && !view_eqs(name, err_code_name((enum err_code)code)))
		code--;
	return (enum err_code)code;
}

void run_take(struct tool_run *r, const struct json *event)
{
	struct view text;
	bool ok = false;

	if (json_get_bool(event, "ok", JSON_REQUIRED, &ok, NULL) == 1 &&
		json_get_str(event, "text", JSON_REQUIRED, 0, RUN_TEXT_MAX, &text, NULL) == 1) {
		run_give(r, ok, text);
		r->error = error_of(event);
	}
}

static void run_on_limit(void *arg)
{
	struct tool_run *r = arg;

	r->timed_out = true;
	r->kind->stop(r);
}

void tool_cancel(struct tool_run *r)
{
	if (r->cancelled)
		return;
	r->cancelled = true;
	r->kind->stop(r);
}

void tool_detach(struct tool_run *r)
{
	r->done = NULL;
	tool_cancel(r);
}

/* The first that is part of another call, or is none. */
static struct tool_run *find_run(const struct run_list *list, bool part)
{
	struct tool_run *r = list->first;

	while (r && r->quiet != part)
		r = r->next;
	return r;
}

void run_close_all(struct run_list *list)
{
	struct tool_run *r;

	list->closed = true;
	for (r = list->first; r; r = r->next)
		r->kind->stop(r);
	/* A call holds on to its parts until it is gone. */
	while ((r = find_run(list, false)) || (r = find_run(list, true))) {
		(void)audit(r, "cancelled", "the daemon ends", NULL);
		run_free(r);
	}
}

/* --- The start -------------------------------------------------------------------------------- */

int run_init(struct tool_run *r, const struct run_kind *kind, const struct run_plan *plan,
	struct err *e)
{
	const struct str args = STR_INIT(ARGS_MAX), text = STR_INIT(RUN_TEXT_MAX);

	r->kind = kind;
	r->list = plan->list;
	r->next = plan->list->first;
	plan->list->first = r;
	r->env = plan->env;
	r->spec = plan->spec;
	r->done = plan->done;
	r->arg = plan->arg;
	r->quiet = plan->quiet;
	r->exact = plan->call->exact;
	r->args = args;
	r->text = text;
	r->turn = plan->call->turn;
	r->origin = plan->call->origin;
	r->verdict = plan->verdict;
	r->call_id = strdup(plan->call->id ? plan->call->id : "");
	r->began = loop_now(r->env->loop);
	if (!r->quiet)
		run_audit_args(r->spec, plan->args, &r->args);
	if (timer_new(&r->limit, r->env->loop, run_on_limit, r, e) < 0 ||
		timer_new(&r->end, r->env->loop, run_on_end, r, e) < 0)
		return -1;
	r->limit_ms = spec_limit_ms(r->spec, plan->args);
	timer_arm(r->limit, r->limit_ms);
	return audit(r, "started", "", e);
}

int run_failed(struct tool_run *r, const struct err *e)
{
	(void)audit(r, "failed", e ? e->msg : "", NULL);
	run_free(r);
	return -1;
}

void run_audit_args(const struct tool_spec *spec, const struct json *args, struct str *out)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_each(member, args) {
		struct view text;

		if (spec->hidden && strcmp(json_name(member), spec->hidden) == 0) {
			struct str name = STR_INIT(100);

			if (json_str(member, &text) == 0 &&
				str_addf(&name, "%s_bytes", spec->hidden) == 0)
				json_put_u64(&w, str_cstr(&name), text.n);
			str_release(&name);
			continue;
		}
		json_put_json(&w, json_name(member), member);
	}
	json_close(&w);
	if (json_out_end(&w, NULL) < 0)
		str_reset(out);
}
