#include "agent/react/react-private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/say.h"
#include "base/text.h"

#define BUDGET_DEFAULT     1000000
#define ITERATIONS_DEFAULT 50
#define IDLE_DEFAULT_MS    120000
#define TOOLS_SCHEMA_MAX   ((size_t)1 << 20)

/* --- The end of a turn ------------------------------------------------------------------------ */

static int react_save(void *arg, struct err *e)
{
	struct react *r = arg;
	bool keep = r->keep;

	r->keep = false;
	if (r->usage.answers > 0 && history_add_usage(r->history, r->conversation, r->session,
					    react_today(r), &r->usage, e) < 0)
		return -1;
	return keep ? history_save(r->history, r->session, &r->talk, r->own, loop_wall(r->loop), e)
	            : 0;
}

static void turn_clear(struct react *r)
{
	batch_drop(r);
	if (r->tools)
		tools_turn_end(r->tools, r->turn);
	talk_release(&r->talk);
	str_release(&r->tools_schema);
	str_release(&r->tools_denied);
	str_release(&r->detail);
	str_release(&r->answer);
	str_release(&r->thought);
	sight_clear(r);
	free(r->language);
	free(r->conversation);
	r->language = r->conversation = NULL;
	r->own = 0;
	r->cancelled = r->acted = r->keep = r->overflowed = r->command = false;
	r->iteration = 0;
	r->tokens_in = r->tokens_out = 0;
	memset(&r->usage, 0, sizeof(r->usage));
	memset(&r->compact, 0, sizeof(r->compact));
	memset(&r->progress, 0, sizeof(r->progress));
}

static void turn_done(struct react *r)
{
	struct engine_event ev = { .type = ENGINE_DONE, .turn = r->turn };

	r->keep = round_close(r);
	ev.fail = r->fail;
	ev.detail = str_cstr(&r->detail);
	ev.text = str_view(&r->answer);
	ev.acted = r->acted;
	ev.tokens_in = r->tokens_in;
	ev.tokens_out = r->tokens_out;
	ev.save = r->keep || r->usage.answers > 0 ? react_save : NULL;
	ev.save_arg = r;
	r->cancelled = false; /* this one event is let through */
	react_emit(r, &ev);
	turn_clear(r);
	react_step(r, REACT_IDLE);
	r->turn = 0;
	react_settle(r);
}

static void turn_done_cancelled(struct react *r)
{
	r->fail = ENGINE_FAIL_CANCELLED;
	react_step(r, REACT_ENDING);
	turn_done(r);
}

/* --- What comes next -------------------------------------------------------------------------- */

/* The talk is ready to be asked about. */
static void react_on_ready(struct react *r)
{
	if (!compact_if_due(r))
		ask_model(r);
}

static void react_on_answered(void *arg, const struct model_result *m)
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
	if (m->fail == ENGINE_FAIL_TOO_LONG && !r->cancelled && compact_overflow(r))
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

/* --- A turn ----------------------------------------------------------------------------------- */

/* What tools keep for a conversation ends with it: the key names the one that is open. */
static int begin_tools(struct react *r, const struct turn_input *in, struct err *e)
{
	struct view own = turn_own_words(in);
	struct str key = STR_INIT(4096);
	int rc;

	if (str_addf(&key, "%s#%lld", in->conversation, (long long)r->session) < 0)
		rc = err_set(e, E_NOMEM, "a turn");
	else if ((rc = tools_turn_begin(r->tools, in->turn, str_cstr(&key), own, in->media, e)) ==
		 0)
		rc = tools_schema(r->tools, in->origin, &r->tools_schema, e);
	tools_denied(r->tools, in->origin, &r->tools_denied);
	str_release(&key);
	return rc;
}

static int load_turn(struct react *r, const struct turn_input *in, struct err *e)
{
	const struct str schema = STR_INIT(TOOLS_SCHEMA_MAX);

	r->tools_schema = r->tools_denied = schema;
	r->conversation = strdup(in->conversation);
	if (!r->language || !r->conversation)
		return err_set(e, E_NOMEM, "a turn");
	if (history_session(r->history, in->conversation, loop_wall(r->loop), &r->session, e) < 0 ||
		(r->tools && begin_tools(r, in, e) < 0))
		return -1;
	/* What does not fit into the window may still be summarised. */
	if (history_load(r->history, r->session,
		    prompt_room(r->active->window) + COMPACT_TRANSCRIPT_MAX, &r->talk, e) < 0 ||
		history_mark(r->history, r->session, &r->compact.mark, e) < 0)
		return -1;
	r->own = r->talk.n;
	r->command = view_eqs(in->text, "/compact");
	if (r->command)
		return 0;
	if (str_add(&r->text, in->text) < 0)
		return err_set(e, E_NOMEM, "a message of %zu bytes", in->text.n);
	r->media = in->media ? strdup(in->media) : NULL;
	return pictures_open(&r->pictures, r->tools, in, e);
}

static int react_start(struct engine *g, const struct turn_input *in, struct err *e)
{
	const struct str detail = STR_INIT(400), answer = STR_INIT(ENGINE_ANSWER_MAX);
	const struct str thought = STR_INIT(STREAM_TOTAL_MAX);
	struct react *r = (struct react *)g;
	struct err why = ERR_INIT;

	if (r->state != REACT_IDLE)
		return err_set(e, E_BUSY, "a turn is running");
	turn_clear(r);
	r->turn = in->turn;
	r->origin = in->origin;
	r->detail = detail;
	r->answer = answer;
	r->thought = thought;
	r->text = STR_INIT(ENGINE_INPUT_MAX);
	r->language = strdup(in->language ? in->language : "");
	if (!r->active->set_up)
		react_finish_why(r, ENGINE_FAIL_NOT_SET_UP,
			r->active->base_url[0] ? SPEECH_WHY_NO_NAME : SPEECH_WHY_NO_PROVIDER);
	else if (in->text.n == 0 || in->text.n > ENGINE_INPUT_MAX || !utf8_valid(in->text) ||
		 memchr(in->text.p, '\0', in->text.n))
		react_finish(r, ENGINE_FAIL_INPUT, "");
	else if (load_turn(r, in, &why) < 0)
		react_finish(r, ENGINE_FAIL_STORAGE, why.msg);
	else if (r->command)
		compact_command(r);
	else
		sight_begin(r);
	return 0;
}

/* From the loop: the end, a cancel that has been asked for, or an answer that has come. */
static void react_on_soon(void *arg)
{
	struct react *r = arg;

	switch (r->state) {
	case REACT_IDLE: break;
	case REACT_ENDING: turn_done(r); break;
	case REACT_WORKING:
		if (r->cancelled)
			batch_cancel(r);
		else
			batch_go_on(r);
		break;
	case REACT_LOOKING:
		if (!r->cancelled)
			break;
		(void)sight_add(r);
		turn_done_cancelled(r);
		break;
	case REACT_ASKING:
	case REACT_COMPACTING:
		if (!r->cancelled)
			break;
		if (r->state == REACT_ASKING && model_stream(r->active->client))
			ask_words(model_stream(r->active->client), &r->answer);
		model_cancel(r->active->client);
		turn_done_cancelled(r);
		break;
	}
}

static void react_on_cancel(struct engine *g, uint64_t turn)
{
	struct react *r = (struct react *)g;

	if (r->state != REACT_IDLE && turn == r->turn && !r->cancelled)
		react_cancel(r);
}

static int react_answer(struct engine *g, const char *id, int choice, struct err *e)
{
	struct react *r = (struct react *)g;

	if (batch_answer(r, id, choice, e) < 0)
		return -1;
	timer_arm(r->soon, 0);
	return 0;
}

static void react_describe(const struct engine *g, bool zh, struct str *out)
{
	const struct react *r = (const struct react *)g;
	struct str model = STR_INIT(4096);

	active_describe(r->next ? r->next : r->active, r->speak, zh, &model);
	say(r->speak, out, zh, SPEECH_IS_REACT, str_cstr(&model));
	str_release(&model);
}

/* These reach the engine as turns. */
static const char *const *react_commands(const struct engine *g)
{
	static const char *const list[] = { "compact", NULL };

	(void)g;
	return list;
}

static void react_close(struct engine **gp)
{
	struct react *r = (struct react *)*gp;

	if (!r)
		return;
	*gp = NULL;
	r->engine.on_event = NULL;
	if (r->tools)
		send_file_drop(r);
	active_close(&r->active);
	active_close(&r->next);
	timer_free(&r->soon);
	history_close(&r->history);
	turn_clear(r);
	approvals_close(&r->approvals);
	free(r->extra);
	free(r->workspace);
	free(r);
}

static const struct engine_ops react_ops = {
	.name = "react",
	.start = react_start,
	.cancel = react_on_cancel,
	.answer = react_answer,
	.command = react_command,
	.close = react_close,
	.commands = react_commands,
	.describe = react_describe,
};

/* --- Opening ---------------------------------------------------------------------------------- */

static int copy_settings(struct react *r, const struct react_env *env, struct err *e)
{
	r->extra = strdup(env->system_extra ? env->system_extra : "");
	r->workspace = strdup(env->workspace ? env->workspace : "");
	if (!r->extra || !r->workspace)
		return err_set(e, E_NOMEM, "the engine");
	if (env->choice)
		r->choice = *env->choice;
	r->token_budget = env->token_budget > 0 ? env->token_budget : BUDGET_DEFAULT;
	r->max_iterations = env->max_iterations > 0 ? env->max_iterations : ITERATIONS_DEFAULT;
	r->idle_ms = env->idle_ms > 0 ? env->idle_ms : IDLE_DEFAULT_MS;
	return 0;
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
	r->http = env->http;
	r->tools = env->tools;
	r->speak = env->speak;
	r->go_on = react_on_ready;
	r->answered = react_on_answered;
	if (copy_settings(r, env, e) < 0 || ask_open_model(r, &env->model, &r->active, e) < 0 ||
		timer_new(&r->soon, env->loop, react_on_soon, r, e) < 0 ||
		approvals_open(&r->approvals, e) < 0 || (r->tools && send_file_add(r, e) < 0) ||
		history_open(&r->history, env->db, env->log, e) < 0) {
		react_close(&g);
		return -1;
	}
	*out = g;
	return 0;
}
