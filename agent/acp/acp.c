#include "agent/acp/acp-private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define DETAIL_MAX ((size_t)300)
#define REPLY_MAX  ((size_t)8192) /* of one sentence of the engine's own */

void acp_step(struct acp *a, enum acp_state to)
{
	static const char *const names[] = { "idle", "starting", "opening", "holding", "asking",
		"looking", "prompting", "seeking", "packing", "cancelling", "ending" };

	if (a->state != to)
		log_debug(a->log, "acp", "turn %llu: %s -> %s", (unsigned long long)a->turn,
			names[a->state], names[to]);
	a->state = to;
}

void acp_emit(struct acp *a, const struct engine_event *ev)
{
	if (!a->cancelled && a->engine.on_event)
		a->engine.on_event(a->engine.arg, ev);
}

/* --- The end of a turn ------------------------------------------------------------------------ */

static void set_detail(struct acp *a, struct view detail)
{
	struct str safe = STR_INIT(1 << 20), shown = STR_INIT(1 << 20);
	struct str masked = STR_INIT(1 << 20);

	str_reset(&a->detail);
	if (text_safe(view_cut(detail, utf8_cut(detail, 4 * DETAIL_MAX)), 0, &safe) == 0 &&
		log_mask(a->log, str_view(&safe), &masked) == 0 &&
		text_redact(str_view(&masked), &shown) == 0)
		(void)str_add(&a->detail,
			view_cut(str_view(&shown), utf8_cut(str_view(&shown), DETAIL_MAX)));
	str_release(&safe);
	str_release(&masked);
	str_release(&shown);
}

void acp_finish(struct acp *a, enum engine_fail fail, struct view detail)
{
	asks_end(a);
	services_end_turn(a);
	if (fail == ENGINE_FAIL_CANCELLED && a->breach.n > 0) {
		fail = ENGINE_FAIL_UNASKED;
		detail = str_view(&a->breach);
	}
	a->fail = fail;
	set_detail(a, detail);
	a->call = 0;
	timer_disarm(a->grace);
	acp_step(a, ACP_ENDING);
	timer_arm(a->soon, 0);
}

/* What helps is often in data.details. */
static struct view error_text(const struct rpc_answer *answer)
{
	struct view details;

	if (answer->data && json_type(answer->data) == JSON_OBJECT &&
		json_get_str(answer->data, "details", JSON_OPTIONAL, 1, SIZE_MAX, &details, NULL) ==
			1)
		return details;
	return answer->message;
}

/* The words of the agent tell a login that is missing from a key that its model refuses. */
static void finish_login(struct acp *a, const struct rpc_answer *answer)
{
	struct view words = error_text(answer);
	struct str detail = STR_INIT(1 << 20);

	if (a->login)
		(void)str_addf(&detail, "%s; ", a->login);
	(void)str_addf(&detail, "%.*s", VIEW_FMT(words));
	acp_finish(a, ENGINE_FAIL_AGENT_LOGIN, str_view(&detail));
	str_release(&detail);
}

void acp_finish_error(struct acp *a, const struct rpc_answer *answer, const char *what)
{
	if (a->cancelled)
		acp_finish(a, ENGINE_FAIL_CANCELLED, VIEW_NONE);
	else if (answer->end == RPC_TIMEOUT)
		acp_finish(a, ENGINE_FAIL_STALLED, view_of(what));
	else if (answer->code == RPC_NO_LOGIN)
		finish_login(a, answer);
	else
		acp_finish(a, ENGINE_FAIL_PROVIDER, error_text(answer));
}

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
	str_release(&a->value);
	a->arg = VIEW_NONE;
	a->here = NULL;
	a->cancelled = a->retried = a->restored = a->refused = a->heard = a->again = false;
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

/* --- Words of the engine ---------------------------------------------------------------------- */

static void add_words(const struct acp *a, struct str *out, const char *zh, const char *en,
	va_list ap)
{
	(void)str_addv(out, a->language && strcmp(a->language, "zh") == 0 ? zh : en, ap);
}

void acp_reply(struct acp *a, const char *zh, const char *en, ...)
{
	struct str text = STR_INIT(REPLY_MAX);
	va_list ap;

	va_start(ap, en);
	add_words(a, &text, zh, en, ap);
	va_end(ap);
	acp_stream_say(a->stream, str_view(&text));
	str_release(&text);
}

void acp_note(struct acp *a, const char *zh, const char *en, ...)
{
	va_list ap;

	va_start(ap, en);
	add_words(a, &a->notes, zh, en, ap);
	va_end(ap);
}

/* --- Requests of the turn --------------------------------------------------------------------- */

static bool is_before_prompt(const struct acp *a)
{
	return a->state == ACP_STARTING || a->state == ACP_OPENING || a->state == ACP_HOLDING ||
	       a->state == ACP_ASKING || a->state == ACP_LOOKING;
}

/* An agent that was idle may be dead before anybody knows, and the message goes nowhere. */
static bool may_begin_again(const struct acp *a)
{
	if (!a->was_up || a->again || a->cancelled)
		return false;
	return is_before_prompt(a) || (a->state == ACP_PROMPTING && !a->heard &&
					      loop_now(a->loop) - a->prompted < ACP_AGAIN_MS);
}

static void begin_again(struct acp *a)
{
	log_info(a->log, "acp", "the agent was gone before it had begun: once more with a new one");
	a->again = true;
	a->retried = a->restored = false;
	a->here = NULL;
	a->call = 0;
	str_reset(&a->notes);
	acp_step(a, ACP_STARTING);
	link_want(a->link);
}

static void agent_gone(struct acp *a, enum engine_fail fail, struct view detail)
{
	if (fail == ENGINE_FAIL_AGENT_ENDED && may_begin_again(a))
		begin_again(a);
	else
		acp_finish(a, a->cancelled ? ENGINE_FAIL_CANCELLED : fail, detail);
}

struct json_out *acp_request(struct acp *a, const char *method)
{
	struct rpc *rpc = link_rpc(a->link);

	if (!rpc)
		agent_gone(a, ENGINE_FAIL_AGENT_ENDED, VIEW_NONE);
	return rpc ? rpc_request(rpc, method) : NULL;
}

void acp_send(struct acp *a, int64_t ms, rpc_answer_cb *cb)
{
	struct err e = ERR_INIT;

	if (rpc_send_request(link_rpc(a->link), ms, cb, a, &a->call, &e) == 0)
		return;
	if (e.code == E_NET)
		agent_gone(a, ENGINE_FAIL_AGENT_ENDED, view_of(e.msg));
	else
		acp_finish(a, ENGINE_FAIL_AGENT_ENDED, view_of(e.msg));
}

/* --- A turn ----------------------------------------------------------------------------------- */

static int load_turn(struct acp *a, const struct turn_input *in, struct err *e)
{
	struct view own = view_from(in->text, in->quoted);

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

static void acp_on_ready(void *arg)
{
	struct acp *a = arg;

	if (a->state == ACP_STARTING)
		order_begin(a);
}

static void acp_on_down(void *arg, enum engine_fail fail, const char *detail)
{
	struct acp *a = arg;

	work_down(a);
	session_clear(a);
	asks_end(a);
	terms_end(a);
	if (a->state == ACP_IDLE || a->state == ACP_ENDING)
		return;
	acp_stream_end(a->stream);
	agent_gone(a, fail, view_of(detail));
}

/* It was told to stop and has not: the next message starts it again and takes the session up. */
static void acp_on_grace(void *arg)
{
	struct acp *a = arg;

	log_warn(a->log, "acp", "the agent does not stop and is ended");
	link_fail(a->link, ENGINE_FAIL_CANCELLED, "");
}

/* From the loop: the end, or a cancel that has been asked for. */
static void acp_on_soon(void *arg)
{
	struct acp *a = arg;

	if (a->state == ACP_PROMPTING && asks_act(a))
		a->cancelled = true;
	if (a->state == ACP_ENDING) {
		turn_done(a);
	} else if (a->cancelled && a->state == ACP_PROMPTING) {
		prompt_cancel(a);
	} else if (a->cancelled && (a->state == ACP_SEEKING || a->state == ACP_PACKING)) {
		seek_cancel(a);
	} else if (a->cancelled && is_before_prompt(a)) {
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

static void acp_describe(const struct engine *g, struct str *out)
{
	const struct acp *a = (const struct acp *)g;
	const struct link_caps *caps = link_caps(a->link);

	(void)str_addf(out, "acp, %s", a->name);
	if (caps->name[0])
		(void)str_addf(out, " (%s %s)", caps->name, caps->version);
	work_describe(a, out);
	if (a->unserved.n)
		(void)str_addf(out, "; MCP servers not handed over: %s", str_cstr(&a->unserved));
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
	a->offer = env->offer;
	a->name = strdup(env->name);
	a->path = strdup(env->path);
	a->workspace = strdup(env->workspace);
	a->argv = copy_words(env->argv);
	a->envp = copy_words(env->env);
	a->login = env->login ? strdup(env->login) : NULL;
	a->text = STR_INIT(ENGINE_INPUT_MAX);
	a->session = STR_INIT(STORE_SESSION_MAX);
	a->detail = STR_INIT(2 * DETAIL_MAX);
	a->breach = STR_INIT(CARD_COMMAND_MAX);
	a->strict = env->strict;
	a->notes = STR_INIT(NOTES_MAX);
	a->value = STR_INIT(KNOB_VALUE_MAX);
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
