/* The engine: the way of a turn through its stages, each of which has a file of its own. */
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp-private.h"
#include "agent/say.h"
#include "base/text.h"

static void turn_clear(struct acp *a)
{
	if (a->tools)
		tools_turn_end(a->tools, a->turn);
	free(a->conversation);
	free(a->language);
	a->conversation = a->language = NULL;
	pictures_free(&a->enclosed);
	str_release(&a->text);
	str_release(&a->session);
	str_release(&a->breach);
	str_release(&a->notes);
	str_release(&a->setting.value);
	a->arg = VIEW_NONE;
	a->here = NULL;
	a->cancelled = a->retried = a->setting.restored = a->refused = a->heard = a->again = false;
	a->instructed = false;
	a->denied = NULL;
	a->call = 0;
	if (a->stream)
		acp_stream_begin(a->stream);
}

static void turn_done(struct acp *a)
{
	struct engine_event ev = { .type = ENGINE_DONE, .turn = a->turn };

	ev.fail = a->fail;
	ev.detail = str_cstr(&a->detail);
	ev.text = acp_stream_answer(a->stream);
	ev.acted = acp_stream_acted(a->stream);
	a->cancelled = false; /* this one event is let through */
	acp_emit(a, &ev);
	work_turn_done(a);
	turn_clear(a);
	acp_step(a, ACP_IDLE);
	a->turn = 0;
}

/* --- A turn ----------------------------------------------------------------------------------- */

static int load_turn(struct acp *a, const struct turn_input *in, struct err *e)
{
	struct view own = turn_own_words(in);

	a->conversation = strdup(in->conversation);
	a->language = strdup(in->language ? in->language : "");
	if (!a->conversation || !a->language || str_add(&a->text, in->text) < 0)
		return err_set(e, E_NOMEM, "a message of %zu bytes", in->text.n);
	if (a->tools &&
		tools_turn_begin(a->tools, in->turn, in->conversation, own, in->media, e) < 0)
		return -1;
	return pictures_open(&a->enclosed, a->tools, in, e);
}

static int acp_start(struct engine *g, const struct turn_input *in, struct err *e)
{
	struct acp *a = (struct acp *)g;
	struct err why = ERR_INIT;

	if (a->state != ACP_IDLE)
		return err_set(e, E_BUSY, "a turn is running");
	turn_clear(a);
	a->order = ORDER_PROMPT;
	a->turn = in->turn;
	a->origin = in->origin;
	if (in->text.n == 0 || in->text.n > ENGINE_INPUT_MAX || !utf8_valid(in->text) ||
		memchr(in->text.p, '\0', in->text.n)) {
		acp_finish(a, ENGINE_FAIL_INPUT, VIEW_NONE);
	} else if (load_turn(a, in, &why) < 0) {
		acp_finish(a, ENGINE_FAIL_INTERNAL, view_of(why.msg));
	} else {
		if (in->owner)
			order_read(a);
		acp_step(a, ACP_STARTING);
		a->was_up = link_rpc(a->link);
		link_want(a->link);
	}
	return 0;
}

/* What comes next. */
static void acp_on_reached(struct acp *a, enum milestone at)
{
	switch (at) {
	case AGENT_UP:
		if (!order_begin(a))
			session_begin(a);
		break;
	case SESSION_OPEN:
		if (!work_hold(a))
			settle_begin(a);
		break;
	case SESSION_FREE: settle_begin(a); break;
	case SESSION_SETTLED:
		if (!order_act(a))
			prompt_begin(a);
		break;
	case PICTURES_LOADED: prompt_begin(a); break;
	}
}

static void acp_on_ready(void *arg)
{
	struct acp *a = arg;

	if (a->state == ACP_STARTING)
		acp_on_reached(a, AGENT_UP);
}

static void acp_on_down(void *arg, enum engine_fail fail, enum speech why, const char *const *args)
{
	struct acp *a = arg;
	struct str detail = STR_INIT(4096);

	work_down(a);
	session_clear(a);
	asks_end(a);
	terms_end(a);
	if (a->state == ACP_IDLE || a->state == ACP_ENDING)
		return;
	acp_stream_end(a->stream);
	(void)a->speak(&detail, say_zh(a->language), why, args);
	acp_gone(a, fail, str_view(&detail));
	str_release(&detail);
}

/* It was told to stop and has not: the next message starts it again and takes the session up. */
static void acp_on_grace(void *arg)
{
	struct acp *a = arg;

	log_warn(a->log, "acp", "the agent does not stop and is ended");
	link_fail(a->link, ENGINE_FAIL_CANCELLED);
}

/* From the loop: the end, or a cancel that has been asked for. */
static void acp_on_soon(void *arg)
{
	struct acp *a = arg;

	if (a->state == ACP_PROMPTING && asks_act(a))
		a->cancelled = true;
	if (a->state == ACP_ENDING) {
		asks_end(a);
		services_end_turn(a);
		turn_done(a);
	} else if (a->cancelled && a->state == ACP_PROMPTING) {
		prompt_cancel(a);
	} else if (a->cancelled && (a->state == ACP_SEEKING || a->state == ACP_PACKING)) {
		seek_cancel(a);
	} else if (a->cancelled && acp_before_prompt(a)) {
		if (a->call > 0 && link_rpc(a->link))
			rpc_forget(link_rpc(a->link), a->call);
		acp_finish(a, ENGINE_FAIL_CANCELLED, VIEW_NONE);
	}
}

static void acp_on_cancel(struct engine *g, uint64_t turn)
{
	struct acp *a = (struct acp *)g;

	if (a->state == ACP_IDLE || turn != a->turn || a->cancelled)
		return;
	a->cancelled = true;
	timer_arm(a->soon, 0);
}

/* --- The stream ------------------------------------------------------------------------------- */

static void acp_on_text(void *arg, struct view piece)
{
	struct acp *a = arg;
	struct engine_event ev = { .type = ENGINE_TEXT, .turn = a->turn, .text = piece };

	acp_emit(a, &ev);
}

static void acp_on_thought(void *arg, struct view piece)
{
	struct acp *a = arg;
	struct engine_event ev = { .type = ENGINE_THOUGHT, .turn = a->turn, .text = piece };

	acp_emit(a, &ev);
}

static void acp_on_tool(void *arg, const struct card *c, bool began)
{
	struct acp *a = arg;
	struct engine_event ev = { .turn = a->turn, .name = card_kind_name(c->kind) };
	struct str shown = STR_INIT(8 * CARD_TITLE_MAX);

	ev.type = began ? ENGINE_TOOL_STARTED : ENGINE_TOOL_FINISHED;
	ev.ok = began || c->status == CARD_COMPLETED;
	if (!began)
		unasked_check(a, c);
	if (began && text_visible(view_of(c->title), &shown) == 0)
		ev.text = view_cut(str_view(&shown), utf8_cut_chars(str_view(&shown), 80));
	acp_emit(a, &ev);
	str_release(&shown);
}

/* --- The engine ------------------------------------------------------------------------------- */

static int acp_answer(struct engine *g, const char *id, int choice, struct err *e)
{
	struct acp *a = (struct acp *)g;

	if (asks_answer(a, id, choice, e) < 0)
		return -1;
	timer_arm(a->soon, 0);
	return 0;
}

static void acp_describe(const struct engine *g, bool zh, struct str *out)
{
	const struct acp *a = (const struct acp *)g;
	const struct link_caps *caps = link_caps(a->link);

	say(a->speak, out, zh, SPEECH_IS_AGENT, a->name);
	if (caps->name[0])
		say(a->speak, out, zh, SPEECH_CALLED, caps->name, caps->version);
	work_describe(a, zh, out);
	if (a->unread)
		say(a->speak, out, zh, SPEECH_UNSERVED_ALL, MCP_FILE);
	else if (a->unserved.n)
		say(a->speak, out, zh, SPEECH_UNSERVED, str_cstr(&a->unserved));
}

static void acp_jobs(const struct engine *g, engine_job_cb *each, void *arg)
{
	work_jobs((const struct acp *)g, each, arg);
}

static void free_settings(char *settings[KNOBS])
{
	for (int i = 0; i < KNOBS; i++) {
		free(settings[i]);
		settings[i] = NULL;
	}
}

static void free_words(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

static void acp_close(struct engine **gp)
{
	struct acp *a = (struct acp *)*gp;

	if (!a)
		return;
	*gp = NULL;
	a->engine.on_event = NULL;
	if (a->state == ACP_PROMPTING)
		prompt_cancel(a);
	asks_end(a);
	services_end_turn(a);
	terms_end(a);
	work_close(a);
	link_close(&a->link);
	timer_free(&a->soon);
	timer_free(&a->grace);
	turn_clear(a);
	session_clear(a);
	order_clear(a);
	known_close(a);
	late_close(a);
	approvals_close(&a->approvals);
	acp_stream_close(&a->stream);
	store_close(&a->store);
	str_release(&a->detail);
	free_words(a->argv);
	free_words(a->envp);
	free(a->name);
	free(a->path);
	free(a->workspace);
	free(a->login);
	free_settings(a->settings);
	free(a->instructions);
	free(a->mcp_path);
	mcp_release(&a->servers);
	str_release(&a->unserved);
	free(a);
}

static const struct engine_ops acp_ops = {
	.name = "acp",
	.start = acp_start,
	.cancel = acp_on_cancel,
	.answer = acp_answer,
	.command = order_command,
	.close = acp_close,
	.commands = known_commands,
	.describe = acp_describe,
	.jobs = acp_jobs,
};

/* --- Opening ---------------------------------------------------------------------------------- */

static char **copy_words(const char *const *words)
{
	size_t n = 0;
	char **copy;

	while (words[n])
		n++;
	copy = calloc(n + 1, sizeof(char *));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(words[i]);
		if (!copy[i]) {
			free_words(copy);
			return NULL;
		}
	}
	return copy;
}

/* All or none. */
static int copy_knobs(char *out[KNOBS], const struct acp_settings *s, struct err *e)
{
	const char *const from[KNOBS] = { s->model, s->effort, s->mode };

	memset(out, 0, KNOBS * sizeof(out[0]));
	for (int i = 0; i < KNOBS; i++) {
		out[i] = strdup(from[i] ? from[i] : "");
		if (out[i])
			continue;
		free_settings(out);
		return err_set(e, E_NOMEM, "the agent's settings");
	}
	return 0;
}

static int copy_settings(struct acp *a, const struct acp_env *env, struct err *e)
{
	a->loop = env->loop;
	a->log = env->log;
	a->tools = env->tools;
	a->speak = env->speak;
	a->offer = env->offer;
	a->name = strdup(env->name);
	a->path = strdup(env->path);
	a->workspace = strdup(env->workspace);
	a->argv = copy_words(env->argv);
	a->envp = copy_words(env->env);
	a->login = env->login ? strdup(env->login) : NULL;
	a->text = STR_INIT(ENGINE_INPUT_MAX);
	a->session = STR_INIT(STORE_SESSION_MAX);
	a->detail = STR_INIT(2 * ACP_DETAIL_MAX);
	a->breach = STR_INIT(CARD_COMMAND_MAX);
	a->strict = env->strict;
	a->notes = STR_INIT(NOTES_MAX);
	a->setting.value = STR_INIT(KNOB_VALUE_MAX);
	a->instructions = strdup(env->instructions ? env->instructions : "");
	a->mcp_path = env->mcp ? strdup(env->mcp) : NULL;
	a->unserved = STR_INIT(UNSERVED_MAX);
	if (copy_knobs(a->settings, &env->settings, e) < 0)
		return -1;
	if (!a->instructions || !a->name || !a->path || !a->workspace || !a->argv || !a->envp ||
		(env->login && !a->login) || (env->mcp && !a->mcp_path))
		return err_set(e, E_NOMEM, "the engine");
	return 0;
}

static int open_link(struct acp *a, const struct acp_env *env, struct err *e)
{
	const struct link_env link = {
		.loop = a->loop,
		.log = a->log,
		.path = a->path,
		.argv = (const char *const *)a->argv,
		.env = (const char *const *)a->envp,
		.cwd = a->workspace,
		.line_max = env->line_max,
		.fs = env->offer.fs && env->tools,
		.terminal = env->offer.terminal && env->tools,
		.on_ready = acp_on_ready,
		.on_down = acp_on_down,
		.on_request = prompt_on_request,
		.on_notification = prompt_on_notification,
		.arg = a,
	};

	return link_open(&a->link, &link, e);
}

int acp_open(struct engine **out, const struct acp_env *env, struct err *e)
{
	struct acp *a = calloc(1, sizeof(*a));
	struct engine *g = (struct engine *)a;
	struct acp_sink sink = { acp_on_text, acp_on_thought, acp_on_tool, a };

	*out = NULL;
	if (!a)
		return err_set(e, E_NOMEM, "the engine");
	a->engine.ops = &acp_ops;
	a->reached = acp_on_reached;
	if (copy_settings(a, env, e) < 0 ||
		acp_stream_open(&a->stream, &sink, ENGINE_ANSWER_MAX, e) < 0 ||
		timer_new(&a->soon, a->loop, acp_on_soon, a, e) < 0 ||
		timer_new(&a->grace, a->loop, acp_on_grace, a, e) < 0 ||
		approvals_open(&a->approvals, e) < 0 || store_open(&a->store, env->db, e) < 0 ||
		known_open(a, e) < 0 || late_open(a, e) < 0 || work_open(a, env, e) < 0 ||
		open_link(a, env, e) < 0) {
		acp_close(&g);
		return -1;
	}
	*out = g;
	return 0;
}

int acp_set(struct engine *g, const struct acp_settings *s, struct err *e)
{
	struct acp *a = (struct acp *)g;
	char *fresh[KNOBS];

	if (copy_knobs(fresh, s, e) < 0)
		return -1;
	free_settings(a->settings);
	memcpy(a->settings, fresh, sizeof(fresh));
	return 0;
}
