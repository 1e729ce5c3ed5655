#include "agent/react/react-private.h"

#include "base/text.h"

#define IDLE_DEFAULT_MS 120000

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

/* History makes room for the rest, so what does not fit at first is the message itself. */
static enum engine_fail failed_to_write(const struct react *r, const struct err *e)
{
	if (e->code != E_FULL)
		return ENGINE_FAIL_INTERNAL;
	return r->iteration == 1 ? ENGINE_FAIL_INPUT : ENGINE_FAIL_TOO_LONG;
}

void react_ask(struct react *r)
{
	struct str body = STR_INIT(PROMPT_BODY_MAX), prefix = STR_INIT(60);
	struct err e = ERR_INIT;

	r->iteration++;
	str_reset(&r->answer);
	(void)str_addf(&prefix, "call_%llu_%d", (unsigned long long)r->turn, r->iteration);
	if (write_request(r, &body, &e) < 0) {
		react_finish(r, failed_to_write(r, &e), e.msg);
	} else {
		r->asked_tokens = tokens_of(str_view(&body));
		react_step(r, REACT_ASKING);
		if (model_ask(r->model, str_view(&body), str_cstr(&prefix), &e) < 0)
			react_finish(r,
				e.code == E_NOMEM ? ENGINE_FAIL_INTERNAL : ENGINE_FAIL_NOT_SET_UP,
				e.msg);
	}
	str_release(&body);
	str_release(&prefix);
}

/* --- Answers ---------------------------------------------------------------------------------- */

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
	react_emit(r, &ev);
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
	react_ask(r);
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
		react_finish(r, r->cancelled ? ENGINE_FAIL_CANCELLED : m->fail, m->detail);
		return;
	}
	switch (m->answer) {
	case STREAM_TEXT: react_finish(r, ENGINE_OK, ""); break;
	case STREAM_CUT:
		react_finish(r, ENGINE_FAIL_BUDGET, "the model stopped at its own output limit");
		break;
	case STREAM_FILTERED:
		react_finish(r, ENGINE_FAIL_REFUSED,
			"the provider's content filter ended the answer");
		break;
	case STREAM_CALLS:
		if (r->cancelled)
			react_finish(r, ENGINE_FAIL_CANCELLED, "");
		else
			batch_begin(r, m->stream);
		break;
	case STREAM_EMPTY:
	case STREAM_BROKEN: react_finish(r, ENGINE_FAIL_INTERNAL, "an answer of no kind"); break;
	}
}

static void emit_text(struct react *r, enum engine_event_type type, struct view text)
{
	struct engine_event ev = { .type = type, .turn = r->turn, .text = text };

	react_emit(r, &ev);
}

static void on_model_text(void *arg, struct view piece)
{
	emit_text(arg, ENGINE_TEXT, piece);
}

static void on_model_thought(void *arg, struct view piece)
{
	emit_text(arg, ENGINE_THOUGHT, piece);
}

int ask_open_model(struct react *r, const struct react_env *env, struct err *e)
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
