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

/* Older rounds are shorter now, or they are left out as far as they do not fit. */
static void ask_all_the_same(struct react *r, enum engine_fail fail, const char *why)
{
	(void)fail;
	(void)why;
	react_ask(r);
}

void react_ask(struct react *r)
{
	struct str body = STR_INIT(PROMPT_BODY_MAX);
	const struct prompt p = ask_prompt(r);
	struct err e = ERR_INIT;

	if (compact_due(r) && compact_or_not(r, COMPACT_KEEP, ask_all_the_same))
		return;
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

/* Half of the history goes. False: there is none. */
static bool shrink(struct react *r)
{
	size_t cut;

	if (r->own == 0)
		return false;
	cut = r->own > 1 ? talk_round_start(&r->talk, r->own / 2) : r->own;
	if (cut == 0)
		cut = r->own;
	talk_drop(&r->talk, 0, cut);
	r->own -= cut;
	return true;
}

static void ask_after_overflow(struct react *r, enum engine_fail fail, const char *why)
{
	(void)why;
	if (fail != ENGINE_OK)
		(void)shrink(r);
	react_ask(r);
}

/* The provider counts otherwise than we do: once, it is asked again with less history. */
static bool ask_with_less(struct react *r)
{
	if (r->overflowed || r->own == 0)
		return false;
	r->overflowed = true;
	log_info(r->log, "react", "turn %llu: too long for the model", (unsigned long long)r->turn);
	if (compact_or_not(r, 1, ask_after_overflow))
		return true;
	if (!shrink(r))
		return false;
	react_ask(r);
	return true;
}

static void on_model_done(void *arg, const struct model_result *m)
{
	struct react *r = arg;

	if (r->state == REACT_COMPACTING) {
		compact_done(r, m);
		return;
	}
	ask_count(r, m->stream, m->fail == ENGINE_OK);
	ask_words(m->stream, &r->answer);
	if (r->active->contract.replays)
		(void)str_add(&r->thought, stream_thought(m->stream));
	if (!r->cancelled && sight_without(r, m->fail, m->detail))
		return;
	if (m->fail == ENGINE_FAIL_TOO_LONG && !r->cancelled && ask_with_less(r))
		return;
	if (m->fail != ENGINE_OK) {
		react_finish_why(r, r->cancelled ? ENGINE_FAIL_CANCELLED : m->fail, m->why,
			m->detail, m->host);
		return;
	}
	switch (m->answer) {
	case STREAM_TEXT:
		react_finish(r, text_shows(str_view(&r->answer)) ? ENGINE_OK : ENGINE_FAIL_EMPTY,
			"");
		break;
	case STREAM_CUT: react_finish_why(r, ENGINE_FAIL_BUDGET, SPEECH_WHY_OUTPUT_LIMIT); break;
	case STREAM_FILTERED: react_finish_why(r, ENGINE_FAIL_REFUSED, SPEECH_WHY_FILTER); break;
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
	env.on_done = on_model_done;
	env.arg = r;
	return active_open(out, m, &env, e);
}
