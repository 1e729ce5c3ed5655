#include "agent/react/react-private.h"

#include <stdio.h>

#include "base/text.h"
#include "formatter/formatter.h"

/* --- Asking ----------------------------------------------------------------------------------- */

struct prompt ask_prompt(const struct react *r)
{
	struct prompt p = { .model = r->active->name,
		.workspace = r->workspace,
		.extra = r->extra,
		.language = r->language,
		.wall_ms = loop_wall(r->loop),
		.denied = str_view(&r->tools_denied),
		.contract = &r->active->contract,
		.stream = r->active->stream,
		.talk = &r->talk,
		.current = r->own,
		.pictures = r->blind ? NULL : r->pictures,
		.media = r->media,
		.window = r->active->window };

	if (r->active->contract.tools && !view_eqs(str_view(&r->tools_schema), "[]"))
		p.tools = str_view(&r->tools_schema);
	return p;
}

/* History makes room for the rest, so what does not fit at first is the message itself. */
static enum engine_fail failed_to_write(const struct react *r, const struct err *e)
{
	if (e->code != E_FULL)
		return ENGINE_FAIL_INTERNAL;
	return r->iteration == 1 ? ENGINE_FAIL_INPUT : ENGINE_FAIL_TOO_LONG;
}

void ask_model(struct react *r)
{
	struct str body = STR_INIT(PROMPT_BODY_MAX);
	const struct prompt p = ask_prompt(r);
	struct err e = ERR_INIT;

	r->iteration++;
	str_reset(&r->answer);
	(void)snprintf(r->calls_prefix, sizeof(r->calls_prefix), "call_%llu_%d",
		(unsigned long long)r->turn, r->iteration);
	str_reset(&r->thought);
	if (prompt_write(&p, &body, &e) < 0) {
		react_finish_why(r, failed_to_write(r, &e),
			e.code == E_FULL ? SPEECH_WHY_NO_FIT : SPEECH_WHY, e.msg);
	} else {
		r->asked_tokens = prompt_tokens(&p, str_view(&body));
		react_step(r, REACT_ASKING);
		if (model_ask(r->active->client, str_view(&body), r->calls_prefix, &e) < 0)
			react_finish(r,
				e.code == E_NOMEM ? ENGINE_FAIL_INTERNAL : ENGINE_FAIL_NOT_SET_UP,
				e.msg);
	}
	str_release(&body);
}

/* --- Answers ---------------------------------------------------------------------------------- */

void ask_words(const struct stream *s, struct str *out)
{
	struct str words = STR_INIT(ENGINE_ANSWER_MAX);
	struct view text = stream_text(s);
	struct think_filter *t = NULL;

	if (think_needed(text) && think_open(&t, NULL) == 0 && think_feed(t, text, &words) == 0 &&
		think_end(t, &words) == 0)
		text = view_from(str_view(&words), think_orphan(t));
	(void)str_add(out, text);
	think_close(&t);
	str_release(&words);
}

static uint64_t out_tokens(const struct stream *s)
{
	uint64_t n = tokens_of(stream_text(s)) + tokens_of(stream_thought(s));

	for (size_t i = 0; i < stream_calls(s); i++)
		n += tokens_of(stream_call(s, i).args);
	return n;
}

void ask_count(struct react *r, const struct stream *s, bool answered)
{
	struct stream_usage u = stream_usage(s);
	struct engine_event ev = { .type = ENGINE_USAGE, .turn = r->turn };

	if (!u.known && !answered)
		return;
	r->usage.answers++;
	if (u.known) {
		r->usage.in += u.in;
		r->usage.out += u.out;
		r->usage.cached += u.cached;
	} else {
		r->usage.unknown++;
	}
	/* A figure that is missing, or was not believed, is no reason to go on for ever. */
	r->tokens_in += u.in > 0 ? u.in : r->asked_tokens;
	r->tokens_out += u.out > 0 ? u.out : out_tokens(s);
	ev.tokens_in = r->tokens_in;
	ev.tokens_out = r->tokens_out;
	react_emit(r, &ev);
}

static void emit_text(struct react *r, enum engine_event_type type, struct view text)
{
	struct engine_event ev = { .type = type, .turn = r->turn, .text = text };

	if (r->state != REACT_COMPACTING) /* a summary is not for the user */
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

int ask_open_model(struct react *r, const struct react_model *m, struct active **out, struct err *e)
{
	struct model_env env = { .loop = r->loop, .log = r->log, .http = r->http };

	env.idle_ms = r->idle_ms;
	env.sink.on_text = on_model_text;
	env.sink.on_thought = on_model_thought;
	env.sink.arg = r;
	env.on_done = r->answered;
	env.arg = r;
	return active_open(out, m, &env, e);
}
