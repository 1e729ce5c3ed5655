#include "agent/react/react.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/react/history.h"
#include "agent/react/model.h"
#include "agent/react/progress.h"
#include "agent/react/prompt.h"
#include "agent/react/provider.h"
#include "agent/react/talk.h"
#include "base/text.h"

#define BUDGET_DEFAULT	   1000000
#define ITERATIONS_DEFAULT 50
#define IDLE_DEFAULT_MS	   120000
#define WINDOW_DEFAULT	   128000
#define WINDOW_MIN	   4000
#define KEPT_TEXT_MAX	   ((size_t)512 << 10) /* of one answer, in the history */
#define TOOLS_SCHEMA_MAX   ((size_t)1 << 20)

enum react_state {
	REACT_IDLE,
	REACT_ASKING,  /* the model answers, or a retry waits */
	REACT_WORKING, /* a tool runs */
	REACT_ENDING   /* the end is decided and on its way */
};

struct react {
	struct engine engine; /* first */
	struct loop *loop;
	struct log *log;
	struct tools *tools;
	char *base_url, *model_name, *extra, *workspace;
	const struct provider *provider;
	int64_t token_budget, window;
	int max_iterations;
	bool set_up;

	struct history *history;
	struct model *model;
	struct timer *soon; /* ends and cancels never happen under somebody's feet */

	/* of the running turn */
	enum react_state state;
	uint64_t turn;
	enum origin origin;
	char *language;
	int64_t session;
	struct talk talk;
	size_t own; /* where this turn's round begins in talk */
	struct str tools_schema;
	int iteration;
	uint64_t asked_tokens; /* estimate of the request under way */
	uint64_t tokens_in, tokens_out;
	struct progress progress;
	size_t batch, next_call; /* the assistant message whose calls are being worked off */
	struct tool_run *run;
	bool cancelled, acted, keep, overflowed;

	enum engine_fail fail;
	struct str detail, answer;
};

static const char *const state_names[] = { "idle", "asking", "working", "ending" };

static void step(struct react *r, enum react_state to)
{
	if (r->state != to)
		log_debug(r->log, "react", "turn %llu: %s -> %s", (unsigned long long)r->turn,
			state_names[r->state], state_names[to]);
	r->state = to;
}

static void emit(struct react *r, const struct engine_event *ev)
{
	if (!r->cancelled && r->engine.on_event)
		r->engine.on_event(r->engine.arg, ev);
}

static void emit_text(struct react *r, enum engine_event_type type, struct view text)
{
	struct engine_event ev = { .type = type, .turn = r->turn, .text = text };

	emit(r, &ev);
}

/* --- The end of a turn ------------------------------------------------------------------------ */

static void finish(struct react *r, enum engine_fail fail, struct view detail)
{
	r->fail = fail;
	str_reset(&r->detail);
	safe_detail(detail, NULL, &r->detail);
	step(r, REACT_ENDING);
	timer_arm(r->soon, 0);
}

static void finish_z(struct react *r, enum engine_fail fail, const char *detail)
{
	finish(r, fail, view_of(detail));
}

/* Every open call gets its one result, so that the protocol stays whole. */
static int answer_open_calls(struct react *r, const char *text)
{
	const struct msg *last;
	size_t calls, answered;

	if (r->batch == 0)
		return 0;
	last = &r->talk.list[r->batch];
	calls = last->ncalls;
	answered = r->talk.n - r->batch - 1;
	for (size_t i = answered; i < calls; i++)
		if (!talk_add_result(&r->talk, r->talk.list[r->batch].calls[i].id, view_of(text)))
			return -1;
	return 0;
}

static struct view cut_text(struct view v, size_t max)
{
	return v.n > max ? view_cut(v, utf8_cut(v, max)) : v;
}

/* What the next turn shall know of how this one ended. */
static const char *closing_words(const struct react *r)
{
	switch (r->fail) {
	case ENGINE_FAIL_CANCELLED: return "[The user stopped this here.]";
	case ENGINE_FAIL_BUDGET:
		return "[This was ended here: the budget of one task was used up.]";
	default: return "[This was broken off here by an error.]";
	}
}

/* The round gets an end that is valid, whatever happened. */
static int close_round(struct react *r)
{
	struct str text = STR_INIT(KEPT_TEXT_MAX + 200);
	struct view answer = view_trim(str_view(&r->answer));
	int rc = -1;

	if (answer_open_calls(
		    r, "Cancelled before it was started. Nothing was done by this call.") < 0)
		goto out;
	(void)str_add(&text, cut_text(answer, KEPT_TEXT_MAX));
	if (r->fail != ENGINE_OK)
		(void)str_addf(&text, "%s%s", text.n > 0 ? "\n\n" : "", closing_words(r));
	if (talk_add(&r->talk, ROLE_ASSISTANT, str_view(&text)))
		rc = 0;
out:
	str_release(&text);
	return rc;
}

/* A message that nobody has answered or acted on is not kept: it can simply be sent again. */
static bool worth_keeping(const struct react *r)
{
	return r->fail == ENGINE_OK || r->fail == ENGINE_FAIL_CANCELLED || r->talk.n > r->own + 1 ||
	       view_trim(str_view(&r->answer)).n > 0;
}

static int react_save(void *arg, struct err *e)
{
	struct react *r = arg;

	if (!r->keep)
		return 0;
	r->keep = false;
	return history_save(r->history, r->session, &r->talk, r->own, loop_wall(r->loop), e);
}

static void turn_clear(struct react *r)
{
	talk_release(&r->talk);
	str_release(&r->tools_schema);
	str_release(&r->detail);
	str_release(&r->answer);
	free(r->language);
	r->language = NULL;
	r->own = r->batch = r->next_call = 0;
	r->cancelled = r->acted = r->keep = r->overflowed = false;
	r->iteration = 0;
	r->tokens_in = r->tokens_out = 0;
	memset(&r->progress, 0, sizeof(r->progress));
}

static void turn_done(struct react *r)
{
	struct engine_event ev = { .type = ENGINE_DONE, .turn = r->turn };

	if (worth_keeping(r) && r->talk.n > r->own) {
		r->keep = close_round(r) == 0 && talk_round_valid(&r->talk, r->own, r->talk.n);
		if (!r->keep)
			log_error(r->log, "react", "turn %llu cannot be kept in the history",
				(unsigned long long)r->turn);
	}
	ev.fail = r->fail;
	ev.detail = str_cstr(&r->detail);
	ev.text = str_view(&r->answer);
	ev.acted = r->acted;
	ev.tokens_in = r->tokens_in;
	ev.tokens_out = r->tokens_out;
	ev.save = r->keep ? react_save : NULL;
	ev.save_arg = r;
	r->cancelled = false; /* this one event is let through */
	emit(r, &ev);
	turn_clear(r);
	step(r, REACT_IDLE);
	r->turn = 0;
}

/* --- Tools ------------------------------------------------------------------------------------ */

static void ask(struct react *r);
static void work(struct react *r);

/* A result too long for the window keeps its head and its tail. */
static int fit_result(const struct react *r, struct view text, struct str *out)
{
	size_t max = prompt_result_max(r->window), head = max / 4 * 3, tail = max / 4;
	struct view rest;

	if (text.n <= max)
		return str_add(out, text);
	(void)str_add(out, cut_text(text, head));
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
	int same = progress_note(&r->progress, call->name, call->args, text), rc = -1;

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
	finish_z(r, ENGINE_FAIL_INTERNAL, "out of memory");
}

static void emit_tool(
	struct react *r, enum engine_event_type type, const char *name, bool ok, struct view text)
{
	struct engine_event ev = { .type = type, .turn = r->turn, .name = name, .ok = ok };

	ev.text = text;
	emit(r, &ev);
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
		finish(r, ENGINE_FAIL_CANCELLED, VIEW_NONE);
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
			step(r, REACT_WORKING);
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
			finish(r, ENGINE_FAIL_CANCELLED, VIEW_NONE);
			return;
		}
		rc = start_call(r, &r->talk.list[r->batch].calls[r->next_call]);
		if (rc < 0)
			out_of_memory(r);
		if (rc != 0)
			return;
	}
	r->batch = 0;
	ask(r);
}

/* --- Answers of the model --------------------------------------------------------------------- */

static uint64_t used(const struct react *r)
{
	return r->tokens_in + r->tokens_out;
}

static void count_usage(struct react *r, const struct stream *s)
{
	struct stream_usage u = stream_usage(s);
	struct engine_event ev = { .type = ENGINE_USAGE, .turn = r->turn };

	if (!u.known) {
		u.in = r->asked_tokens;
		u.out = tokens_of(stream_text(s)) + tokens_of(stream_thought(s));
		for (size_t i = 0; i < stream_calls(s); i++)
			u.out += tokens_of(stream_call(s, i).args);
	}
	r->tokens_in += u.in;
	r->tokens_out += u.out;
	ev.tokens_in = r->tokens_in;
	ev.tokens_out = r->tokens_out;
	emit(r, &ev);
}

/* Checked before anything of the batch is stored or done. True: the turn ends here. */
static bool over_budget(struct react *r, const struct stream *s)
{
	struct str why = STR_INIT(400);
	bool over = true;

	if (used(r) >= (uint64_t)r->token_budget) {
		(void)str_addf(&why, "the token budget of %lld for one task is used up",
			(long long)r->token_budget);
	} else if (r->iteration >= r->max_iterations) {
		(void)str_addf(&why, "the task took more than %d steps", r->max_iterations);
	} else {
		over = false;
		for (size_t i = 0; i < stream_calls(s) && !over; i++) {
			struct stream_call c = stream_call(s, i);
			struct str args = STR_INIT(STREAM_ARGS_MAX);

			over = str_add(&args, c.args) == 0 &&
			       progress_same(&r->progress, c.name, str_cstr(&args)) >=
				       PROGRESS_SAME_MAX;
			if (over)
				(void)str_addf(&why,
					"no progress: %s gave the same result %d times in a row",
					c.name, PROGRESS_SAME_MAX);
			str_release(&args);
		}
	}
	if (over)
		finish(r, ENGINE_FAIL_BUDGET, str_view(&why));
	str_release(&why);
	return over;
}

static void take_calls(struct react *r, const struct stream *s)
{
	struct view text = cut_text(stream_text(s), KEPT_TEXT_MAX);
	struct msg *m;

	if (view_trim(text).n == 0)
		text = VIEW_NONE;
	if (over_budget(r, s))
		return;
	m = talk_add(&r->talk, ROLE_ASSISTANT, text);
	for (size_t i = 0; m && i < stream_calls(s); i++) {
		struct stream_call c = stream_call(s, i);

		if (msg_add_call(m, view_of(c.id), view_of(c.name), c.args) < 0 ||
			msg_set_fault(m, c.args_fault) < 0)
			m = NULL;
	}
	if (!m || msg_set_thought(m, stream_thought(s)) < 0) {
		talk_cut(&r->talk, m ? r->talk.n - 1 : r->own + 1);
		out_of_memory(r);
		return;
	}
	r->batch = r->talk.n - 1;
	r->next_call = 0;
	str_reset(&r->answer); /* what it said before its calls stands in the message */
	work(r);
}

/* The provider counts otherwise than we do: once, with half of the history, it is tried again. */
static bool shrink_and_ask(struct react *r)
{
	size_t cut;

	if (r->overflowed || r->own == 0)
		return false;
	r->overflowed = true;
	cut = r->own > 1 ? talk_round_start(&r->talk, r->own / 2) : r->own;
	if (cut == 0)
		cut = r->own;
	talk_drop(&r->talk, 0, cut);
	r->own -= cut;
	log_info(r->log, "react",
		"turn %llu: too long for the model, asked again with less history",
		(unsigned long long)r->turn);
	ask(r);
	return true;
}

static void on_model_done(void *arg, const struct model_result *m)
{
	struct react *r = arg;

	if (m->fail == ENGINE_OK || stream_usage(m->stream).known)
		count_usage(r, m->stream);
	(void)str_add(&r->answer, stream_text(m->stream));
	if (m->fail == ENGINE_FAIL_TOO_LONG && !r->cancelled && shrink_and_ask(r))
		return;
	if (m->fail != ENGINE_OK) {
		finish_z(r, r->cancelled ? ENGINE_FAIL_CANCELLED : m->fail, m->detail);
		return;
	}
	switch (m->answer) {
	case STREAM_TEXT: finish(r, ENGINE_OK, VIEW_NONE); break;
	case STREAM_CUT:
		finish_z(r, ENGINE_FAIL_BUDGET, "the model stopped at its own output limit");
		break;
	case STREAM_FILTERED:
		finish_z(r, ENGINE_FAIL_REFUSED, "the provider's content filter ended the answer");
		break;
	case STREAM_CALLS:
		if (r->cancelled)
			finish(r, ENGINE_FAIL_CANCELLED, VIEW_NONE);
		else
			take_calls(r, m->stream);
		break;
	case STREAM_EMPTY:
	case STREAM_BROKEN: finish_z(r, ENGINE_FAIL_INTERNAL, "an answer of no kind"); break;
	}
}

static void on_model_text(void *arg, struct view piece)
{
	emit_text(arg, ENGINE_TEXT, piece);
}

static void on_model_thought(void *arg, struct view piece)
{
	emit_text(arg, ENGINE_THOUGHT, piece);
}

/* --- Asking ----------------------------------------------------------------------------------- */

static int write_request(struct react *r, struct str *body, struct err *e)
{
	struct prompt p = { .model = r->model_name, .workspace = r->workspace, .extra = r->extra };

	p.language = r->language;
	p.wall_ms = loop_wall(r->loop);
	p.tools = str_view(&r->tools_schema);
	if (view_eqs(p.tools, "[]"))
		p.tools = VIEW_NONE;
	p.thoughts = r->provider->thoughts;
	p.talk = &r->talk;
	p.current = r->own;
	p.window = r->window;
	return prompt_write(&p, body, e);
}

static void ask(struct react *r)
{
	struct str body = STR_INIT(PROMPT_BODY_MAX), prefix = STR_INIT(60);
	struct err e = ERR_INIT;

	r->iteration++;
	str_reset(&r->answer);
	(void)str_addf(&prefix, "call_%llu_%d", (unsigned long long)r->turn, r->iteration);
	if (write_request(r, &body, &e) < 0) {
		finish_z(r, e.code == E_FULL ? ENGINE_FAIL_TOO_LONG : ENGINE_FAIL_INTERNAL, e.msg);
	} else {
		r->asked_tokens = tokens_of(str_view(&body));
		step(r, REACT_ASKING);
		if (model_ask(r->model, str_view(&body), str_cstr(&prefix), &e) < 0)
			finish_z(r,
				e.code == E_NOMEM ? ENGINE_FAIL_INTERNAL : ENGINE_FAIL_NOT_SET_UP,
				e.msg);
	}
	str_release(&body);
	str_release(&prefix);
}

/* --- A turn ----------------------------------------------------------------------------------- */

static int load_turn(struct react *r, const struct turn_input *in, struct err *e)
{
	const struct str schema = STR_INIT(TOOLS_SCHEMA_MAX);

	r->tools_schema = schema;
	r->language = strdup(in->language ? in->language : "");
	if (!r->language)
		return err_set(e, E_NOMEM, "a turn");
	if (r->tools && tools_schema(r->tools, in->origin, &r->tools_schema, e) < 0)
		return -1;
	if (history_session(r->history, in->conversation, loop_wall(r->loop), &r->session, e) < 0 ||
		history_load(r->history, r->session, prompt_room(r->window), &r->talk, e) < 0)
		return -1;
	r->own = r->talk.n;
	if (!talk_add(&r->talk, ROLE_USER, in->text))
		return err_set(e, E_NOMEM, "a message of %zu bytes", in->text.n);
	return 0;
}

static int react_start(struct engine *g, const struct turn_input *in, struct err *e)
{
	const struct str detail = STR_INIT(400), answer = STR_INIT(ENGINE_ANSWER_MAX);
	struct react *r = (struct react *)g;
	struct err why = ERR_INIT;

	if (r->state != REACT_IDLE)
		return err_set(e, E_BUSY, "a turn is running");
	turn_clear(r);
	r->turn = in->turn;
	r->origin = in->origin;
	r->detail = detail;
	r->answer = answer;
	if (!r->set_up)
		finish_z(r, ENGINE_FAIL_NOT_SET_UP,
			r->base_url[0] ? "model.name is not set" : "model.base_url is not set");
	else if (in->text.n == 0 || in->text.n > ENGINE_INPUT_MAX || !utf8_valid(in->text) ||
		 memchr(in->text.p, '\0', in->text.n))
		finish_z(r, ENGINE_FAIL_INPUT, "the message is empty, too big or not valid text");
	else if (load_turn(r, in, &why) < 0)
		finish_z(r, ENGINE_FAIL_STORAGE, why.msg);
	else
		ask(r);
	return 0;
}

/* From the loop: the end, or a cancel that has been asked for. */
static void react_on_soon(void *arg)
{
	struct react *r = arg;

	switch (r->state) {
	case REACT_IDLE: break;
	case REACT_ENDING: turn_done(r); break;
	case REACT_WORKING:
		if (r->cancelled && r->run)
			tool_cancel(r->run); /* its result brings the end */
		break;
	case REACT_ASKING:
		if (!r->cancelled)
			break;
		if (model_stream(r->model))
			(void)str_add(&r->answer, stream_text(model_stream(r->model)));
		model_cancel(r->model);
		r->fail = ENGINE_FAIL_CANCELLED;
		step(r, REACT_ENDING);
		turn_done(r);
		break;
	}
}

static void react_cancel(struct engine *g, uint64_t turn)
{
	struct react *r = (struct react *)g;

	if (r->state == REACT_IDLE || turn != r->turn || r->cancelled)
		return;
	r->cancelled = true;
	timer_arm(r->soon, 0);
}

static int react_answer(struct engine *g, const char *id, int choice, struct err *e)
{
	(void)g;
	(void)choice;
	return err_set(e, E_NOTFOUND, "no question %s is open", id);
}

static int react_command(struct engine *g, enum engine_command cmd, const char *conversation,
	struct view arg, const char *language, struct str *reply, struct err *e)
{
	struct react *r = (struct react *)g;
	bool zh = language && strcmp(language, "zh") == 0;

	(void)arg;
	if (cmd != ENGINE_CMD_NEW)
		return err_set(e, E_UNSUPPORTED, "the built-in engine has no such command");
	if (history_begin(r->history, conversation, loop_wall(r->loop), e) < 0)
		return -1;
	(void)str_adds(reply, zh ? "好，新的对话开始了。" : "A new conversation begins.");
	return 0;
}

static void react_describe(const struct engine *g, struct str *out)
{
	const struct react *r = (const struct react *)g;
	struct http_url url;

	(void)str_adds(out, "react");
	if (!r->set_up || http_url_parse(view_of(r->base_url), &url, NULL) < 0) {
		(void)str_adds(out, ", no model set up");
		return;
	}
	(void)str_addf(out, ", %s%s", r->provider->name, r->provider->name[0] ? " " : "");
	(void)text_visible(view_of(r->model_name), out);
	(void)str_addf(out, " at %.*s", VIEW_FMT(url.host));
}

static void react_close(struct engine **gp)
{
	struct react *r = (struct react *)*gp;

	if (!r)
		return;
	*gp = NULL;
	r->engine.on_event = NULL;
	model_close(&r->model);
	/* The run's callback must not find us gone: it is ended by the owner of the tools. */
	if (r->run)
		tool_detach(r->run);
	timer_free(&r->soon);
	history_close(&r->history);
	turn_clear(r);
	free(r->base_url);
	free(r->model_name);
	free(r->extra);
	free(r->workspace);
	free(r);
}

static const struct engine_ops react_ops = {
	.name = "react",
	.start = react_start,
	.cancel = react_cancel,
	.answer = react_answer,
	.command = react_command,
	.close = react_close,
	.describe = react_describe,
};

/* --- Opening ---------------------------------------------------------------------------------- */

static int copy_settings(struct react *r, const struct react_env *env, struct err *e)
{
	struct http_url url;

	r->base_url = strdup(env->base_url ? env->base_url : "");
	r->model_name = strdup(env->model ? env->model : "");
	r->extra = strdup(env->system_extra ? env->system_extra : "");
	r->workspace = strdup(env->workspace ? env->workspace : "");
	if (!r->base_url || !r->model_name || !r->extra || !r->workspace)
		return err_set(e, E_NOMEM, "the engine");
	r->provider = provider_of(VIEW_NONE);
	if (r->base_url[0]) {
		if (http_url_parse(view_of(r->base_url), &url, e) < 0)
			return err_wrap(e, "model.base_url");
		r->provider = provider_of(url.host);
	}
	r->set_up = r->base_url[0] && r->model_name[0];
	r->token_budget = env->token_budget > 0 ? env->token_budget : BUDGET_DEFAULT;
	r->max_iterations = env->max_iterations > 0 ? env->max_iterations : ITERATIONS_DEFAULT;
	r->window = env->context_tokens > 0 ? env->context_tokens : WINDOW_DEFAULT;
	if (r->window < WINDOW_MIN)
		r->window = WINDOW_MIN;
	return 0;
}

static int open_model(struct react *r, const struct react_env *env, struct err *e)
{
	struct model_env m = { .loop = env->loop, .log = env->log, .http = env->http };

	m.base_url = r->base_url;
	m.api_key = env->api_key;
	m.idle_ms = env->idle_ms > 0 ? env->idle_ms : IDLE_DEFAULT_MS;
	m.sink.on_text = on_model_text;
	m.sink.on_thought = on_model_thought;
	m.sink.arg = r;
	m.on_done = on_model_done;
	m.arg = r;
	return model_open(&r->model, &m, e);
}

int react_open(struct engine **out, const struct react_env *env, struct err *e)
{
	struct react *r = calloc(1, sizeof(*r));
	struct engine *g = (struct engine *)r;

	*out = NULL;
	if (!r)
		return err_set(e, E_NOMEM, "the engine");
	r->engine.ops = &react_ops;
	r->loop = env->loop;
	r->log = env->log;
	r->tools = env->tools;
	if (copy_settings(r, env, e) < 0 || open_model(r, env, e) < 0 ||
		timer_new(&r->soon, env->loop, react_on_soon, r, e) < 0 ||
		history_open(&r->history, env->db, env->log, e) < 0) {
		react_close(&g);
		return -1;
	}
	*out = g;
	return 0;
}
