#include "agent/react/react-private.h"

static void work(struct react *r);

/* A result too long for the window keeps its head and its tail. */
static int fit_result(const struct react *r, struct view text, struct str *out)
{
	size_t max = prompt_result_max(r->window), head = max / 4 * 3, tail = max / 4;
	struct view rest;

	if (text.n <= max)
		return str_add(out, text);
	(void)str_add(out, round_cut(text, head));
	rest = view_from(text, text.n - tail);
	while (rest.n > 0 && ((unsigned char)rest.p[0] & 0xc0) == 0x80)
		rest = view_from(rest, 1);
	return str_addf(out, "\n[%zu bytes are left out here]\n%.*s", text.n - out->n - rest.n,
		VIEW_FMT(rest));
}

/* Store the result of the next call and say when it is the same once more. */
static int add_result(struct react *r, struct view text)
{
	const struct msg_call *call = &r->talk.list[r->batch].calls[r->next_call];
	struct str out = STR_INIT(TOOL_RESULT_MAX * 4 + 1000);
	int same = progress_note(&r->progress, call->name, view_of(call->args), text), rc = -1;

	(void)fit_result(r, text, &out);
	if (same > 1)
		(void)str_addf(&out,
			"\n[This call has now given the same result %d times. Do something else, or "
			"answer.]",
			same);
	if (str_ok(&out) && talk_add_result(&r->talk, call->id, str_view(&out)))
		rc = 0;
	r->next_call++;
	str_release(&out);
	return rc;
}

static void out_of_memory(struct react *r)
{
	react_finish(r, ENGINE_FAIL_INTERNAL, "out of memory");
}

static void emit_tool(struct react *r, enum engine_event_type type, const char *name, bool ok,
	struct view text)
{
	struct engine_event ev = { .type = type, .turn = r->turn, .name = name, .ok = ok };

	ev.text = text;
	react_emit(r, &ev);
}

static void on_tool_done(void *arg, const struct tool_result *res)
{
	struct react *r = arg;
	const char *name = r->talk.list[r->batch].calls[r->next_call].name;

	r->run = NULL;
	r->acted = r->acted || res->acted;
	emit_tool(r, ENGINE_TOOL_FINISHED, name, res->ok, VIEW_NONE);
	if (add_result(r, res->text) < 0)
		out_of_memory(r);
	else if (r->cancelled)
		react_finish(r, ENGINE_FAIL_CANCELLED, "");
	else
		work(r);
}

/* 1: a tool runs. 0: the call has its result already. -1: no memory. */
static int start_call(struct react *r, const struct msg_call *call)
{
	struct tool_call c = { .turn = r->turn, .origin = r->origin, .id = call->id };
	struct str text = STR_INIT(8192);
	struct err e = ERR_INIT;
	enum verdict v = VERDICT_DENY;
	int rc = 0;

	c.name = call->name;
	c.args = view_of(call->args);
	if (call->fault)
		(void)str_addf(&text,
			"The arguments of %s were not one JSON object: %s. Nothing was done. Send the "
			"call again with the arguments as one JSON object.",
			call->name, call->fault);
	else if (!r->tools)
		(void)str_adds(&text, "There are no tools in this conversation.");
	else
		v = tools_verdict(r->tools, &c, &text);
	if (v == VERDICT_ASK)
		(void)str_addf(&text,
			"%s needs the user's consent, which cannot be asked for here.", call->name);
	if (v == VERDICT_ALLOW) {
		struct str shown = STR_INIT(1024);

		tools_summary(r->tools, &c, &shown);
		if (tools_start(&r->run, r->tools, &c, on_tool_done, r, &e) == 0) {
			rc = 1;
			react_step(r, REACT_WORKING);
			emit_tool(r, ENGINE_TOOL_STARTED, call->name, true, str_view(&shown));
		} else {
			(void)str_addf(&text, "%s could not be started: %s", call->name, e.msg);
		}
		str_release(&shown);
	}
	if (rc == 0 && add_result(r, str_view(&text)) < 0)
		rc = -1;
	str_release(&text);
	return rc;
}

/* The calls of the batch, one after the other in their order. */
static void work(struct react *r)
{
	while (r->next_call < r->talk.list[r->batch].ncalls) {
		int rc;

		if (r->cancelled) {
			react_finish(r, ENGINE_FAIL_CANCELLED, "");
			return;
		}
		rc = start_call(r, &r->talk.list[r->batch].calls[r->next_call]);
		if (rc < 0)
			out_of_memory(r);
		if (rc != 0)
			return;
	}
	r->batch = 0;
	react_ask(r);
}

/* --- The batch -------------------------------------------------------------------------------- */

/* The first call that has stood still for too long already, or NULL. */
static const char *standing_still(const struct react *r, const struct stream *s)
{
	for (size_t i = 0; i < stream_calls(s); i++) {
		struct stream_call c = stream_call(s, i);

		if (progress_same(&r->progress, c.name, c.args) >= PROGRESS_SAME_MAX)
			return c.name;
	}
	return NULL;
}

/* Checked before anything of the batch is stored or done. True: the turn ends here. */
static bool over_budget(struct react *r, const struct stream *s)
{
	const char *still = standing_still(r, s);
	struct str why = STR_INIT(400);
	bool over;

	if (r->tokens_in + r->tokens_out >= (uint64_t)r->token_budget)
		(void)str_addf(&why, "the token budget of %lld for one task is used up",
			(long long)r->token_budget);
	else if (r->iteration >= r->max_iterations)
		(void)str_addf(&why, "the task took more than %d steps", r->max_iterations);
	else if (still)
		(void)str_addf(&why, "no progress: %s gave the same result %d times in a row",
			still, PROGRESS_SAME_MAX);
	over = why.n > 0;
	if (over)
		react_finish(r, ENGINE_FAIL_BUDGET, str_cstr(&why));
	str_release(&why);
	return over;
}

static int add_calls(struct react *r, const struct stream *s)
{
	struct view text = round_cut(stream_text(s), KEPT_TEXT_MAX);
	struct msg *m;

	if (view_trim(text).n == 0)
		text = VIEW_NONE;
	m = talk_add(&r->talk, ROLE_ASSISTANT, text);
	if (!m)
		return -1;
	for (size_t i = 0; i < stream_calls(s); i++) {
		struct stream_call c = stream_call(s, i);

		if (msg_add_call(m, view_of(c.id), view_of(c.name), c.args) < 0 ||
			msg_set_fault(m, c.args_fault) < 0)
			return -1;
	}
	return msg_set_thought(m, stream_thought(s));
}

void batch_begin(struct react *r, const struct stream *s)
{
	size_t before = r->talk.n;

	if (over_budget(r, s))
		return;
	if (add_calls(r, s) < 0) {
		talk_cut(&r->talk, before);
		out_of_memory(r);
		return;
	}
	r->batch = before;
	r->next_call = 0;
	str_reset(&r->answer); /* what it said before its calls stands in the message */
	work(r);
}
