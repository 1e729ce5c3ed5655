#include "agent/acp/link.h"

#include <stdlib.h>
#include <string.h>

#include "agent/acp/child.h"
#include "base/text.h"

#define PROTOCOL   1
#define DETAIL_MAX ((size_t)400)

enum link_state {
	LINK_DOWN,
	LINK_WAITING,  /* wanted, until the time to start has come */
	LINK_GREETING, /* "initialize" is under way */
	LINK_READY,
	LINK_LEAVING /* it was asked to end */
};

struct acp_link {
	struct link_env env;
	enum link_state state;
	struct child *child;
	struct rpc *rpc;
	struct link_caps caps;
	struct timer *soon;
	int64_t started;
	int deaths; /* short lives in a row */
	int64_t next_start;
	bool wanted;
	bool told; /* of the end that is under way */
	unsigned int life;
};

static void link_step(struct acp_link *l, enum link_state to)
{
	static const char *const names[] = { "down", "waiting", "greeting", "ready", "leaving" };

	if (l->state != to)
		log_debug(l->env.log, "acp", "agent: %s -> %s", names[l->state], names[to]);
	l->state = to;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void count_life(struct acp_link *l)
{
	int64_t now = loop_now(l->env.loop), wait = LINK_BACKOFF_MS;

	l->deaths = now - l->started >= LINK_LASTING_MS ? 0 : l->deaths + 1;
	for (int i = 1; i < l->deaths && wait < LINK_BACKOFF_CAP; i++)
		wait *= 2;
	l->next_start = now + (l->deaths == 0                   ? 0
				      : wait < LINK_BACKOFF_CAP ? wait
								: LINK_BACKOFF_CAP);
}

static void tell_down(struct acp_link *l, enum engine_fail fail, enum speech why,
	const char *const *args)
{
	l->wanted = false;
	l->told = true;
	l->env.on_down(l->env.arg, fail, why, args);
}

/* The sentence's arguments, strings. */
#define WITH(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void leave(struct acp_link *l)
{
	rpc_close(&l->rpc);
	link_step(l, LINK_LEAVING);
	child_stop(l->child);
}

static void give_up(struct acp_link *l, enum engine_fail fail, enum speech why,
	const char *const *args)
{
	if (l->state != LINK_GREETING && l->state != LINK_READY)
		return;
	leave(l);
	tell_down(l, fail, why, args);
}

void link_fail(struct acp_link *l, enum engine_fail fail)
{
	give_up(l, fail, SPEECH_WHY, WITH(""));
}

static enum speech how_it_ended(int code, bool said)
{
	if (code < 0)
		return said ? SPEECH_WHY_SIGNAL_SAID : SPEECH_WHY_SIGNAL;
	return said ? SPEECH_WHY_EXIT_SAID : SPEECH_WHY_EXIT;
}

static void link_on_exit(void *arg, int code, int signal)
{
	struct acp_link *l = arg;
	struct str words = STR_INIT(DETAIL_MAX);
	bool again = l->state == LINK_LEAVING && l->wanted, greeting = l->state == LINK_GREETING;

	child_words(l->child, &words);
	log_warn(l->env.log, "acp", "the agent is gone: %s %d: %s",
		code < 0 ? "signal" : "exit code", code < 0 ? signal : code, str_cstr(&words));
	rpc_close(&l->rpc);
	child_end(&l->child);
	count_life(l);
	link_step(l, again ? LINK_WAITING : LINK_DOWN);
	if (again)
		timer_arm(l->soon, 0);
	else if (!l->told)
		tell_down(l, greeting ? ENGINE_FAIL_AGENT_START : ENGINE_FAIL_AGENT_ENDED,
			how_it_ended(code, words.n > 0),
			WITH(str_cstr(&words), NUM(code < 0 ? signal : code)));
	str_release(&words);
}

/* Its output has ended: the process follows, or is made to. Before it was ready that is a start
 * that failed, whoever waits for it. */
static void link_on_end(void *arg)
{
	struct acp_link *l = arg;

	if (l->state != LINK_GREETING) {
		leave(l);
		return;
	}
	rpc_close(&l->rpc);
	child_stop(l->child);
}

/* --- The greeting ----------------------------------------------------------------------------- */

static bool has(const struct json *caps, const char *name)
{
	const struct json *j = json_member(caps, name);

	return j && json_type(j) == JSON_OBJECT;
}

static bool is_true(const struct json *caps, const char *name)
{
	bool on = false;

	return caps && json_get_bool(caps, name, JSON_OPTIONAL, &on, NULL) == 1 && on;
}

static void take_name(const struct json *info, const char *name, char *out, size_t size)
{
	struct str safe = STR_INIT(1024);
	struct view text;

	*out = '\0';
	if (info && json_get_str(info, name, JSON_OPTIONAL, 1, 200, &text, NULL) == 1 &&
		text_visible(text, &safe) == 0)
		(void)copy_z(out, size,
			view_cut(str_view(&safe), utf8_cut(str_view(&safe), size - 1)));
	str_release(&safe);
}

static void take_caps(struct link_caps *c, const struct json *result)
{
	const struct json *caps = json_member(result, "agentCapabilities");
	const struct json *session = json_member(caps, "sessionCapabilities");
	const struct json *prompt = json_member(caps, "promptCapabilities");
	const struct json *mcp = json_member(caps, "mcpCapabilities");
	const struct json *info = json_member(result, "agentInfo");

	memset(c, 0, sizeof(*c));
	c->load = is_true(caps, "loadSession");
	c->resume = has(session, "resume");
	c->close = has(session, "close");
	c->list = has(session, "list");
	c->image = is_true(prompt, "image");
	c->embedded = is_true(prompt, "embeddedContext");
	c->mcp_http = is_true(mcp, "http");
	c->mcp_sse = is_true(mcp, "sse");
	take_name(info, "name", c->name, sizeof(c->name));
	take_name(info, "version", c->version, sizeof(c->version));
}

static void refuse_greeting(struct acp_link *l, const struct rpc_answer *a)
{
	struct str words = STR_INIT(DETAIL_MAX);
	enum speech why = SPEECH_WHY_PROTOCOL;
	long long number = PROTOCOL;

	if (a->end == RPC_TIMEOUT) {
		why = SPEECH_WHY_NO_GREETING;
		number = LINK_START_MS / 1000;
	} else if (a->end == RPC_ERROR) {
		why = SPEECH_WHY_NO_BEGIN;
		number = a->code;
		(void)str_add(&words, view_cut(a->message, utf8_cut(a->message, 100)));
	}
	give_up(l, ENGINE_FAIL_AGENT_START, why, WITH(str_cstr(&words), NUM(number)));
	str_release(&words);
}

static void link_on_greeting(void *arg, const struct rpc_answer *a)
{
	struct acp_link *l = arg;
	int64_t version = 0;

	if (a->end == RPC_GONE)
		return; /* its end is told by the exit */
	if (a->end != RPC_RESULT || !a->result ||
		json_get_int(a->result, "protocolVersion", JSON_REQUIRED, PROTOCOL, PROTOCOL,
			&version, NULL) < 0) {
		refuse_greeting(l, a);
		return;
	}
	take_caps(&l->caps, a->result);
	log_info(l->env.log, "acp", "the agent is %s %s", l->caps.name, l->caps.version);
	link_step(l, LINK_READY);
	l->wanted = false;
	l->env.on_ready(l->env.arg);
}

static int greet(struct acp_link *l, struct err *e)
{
	struct json_out *w = rpc_request(l->rpc, "initialize");

	json_put_int(w, "protocolVersion", PROTOCOL);
	json_open(w, "clientInfo");
	json_put_z(w, "name", "kairo");
	json_put_z(w, "title", "Kairo");
	json_put_z(w, "version", KAIRO_VERSION);
	json_close(w);
	json_open(w, "clientCapabilities");
	json_open(w, "fs");
	json_put_bool(w, "readTextFile", l->env.fs);
	json_put_bool(w, "writeTextFile", l->env.fs);
	json_close(w);
	json_put_bool(w, "terminal", l->env.terminal);
	json_open(w, "elicitation");
	json_open(w, "form");
	json_close(w);
	json_close(w);
	json_open(w, "session");
	json_open(w, "configOptions");
	json_open(w, "boolean");
	json_close(w);
	json_close(w);
	json_close(w);
	json_close(w);
	return rpc_send_request(l->rpc, LINK_START_MS, link_on_greeting, l, NULL, e);
}

/* --- The start -------------------------------------------------------------------------------- */

static int start_child(struct acp_link *l, struct err *e)
{
	const struct child_env env = {
		.loop = l->env.loop,
		.path = l->env.path,
		.argv = l->env.argv,
		.env = l->env.env,
		.cwd = l->env.cwd,
		.on_exit = link_on_exit,
		.arg = l,
	};

	return child_start(&l->child, &env, e);
}

static void link_on_request(void *arg, const struct rpc_id *id, const char *method,
	const struct json *params)
{
	struct acp_link *l = arg;

	l->env.on_request(l->env.arg, id, method, params);
}

static void link_on_notification(void *arg, const char *method, const struct json *params)
{
	struct acp_link *l = arg;

	l->env.on_notification(l->env.arg, method, params);
}

static int start_rpc(struct acp_link *l, struct err *e)
{
	const struct rpc_env env = {
		.loop = l->env.loop,
		.log = l->env.log,
		.in = child_in(l->child),
		.out = child_out(l->child),
		.line_max = l->env.line_max,
		.on_request = link_on_request,
		.on_notification = link_on_notification,
		.on_end = link_on_end,
		.arg = l,
	};

	return rpc_open(&l->rpc, &env, e);
}

static void start(struct acp_link *l)
{
	struct err e = ERR_INIT;

	l->started = loop_now(l->env.loop);
	l->told = false;
	l->life++;
	if (start_child(l, &e) == 0 && start_rpc(l, &e) == 0 && greet(l, &e) == 0) {
		link_step(l, LINK_GREETING);
		return;
	}
	rpc_close(&l->rpc);
	child_end(&l->child);
	count_life(l);
	link_step(l, LINK_DOWN);
	tell_down(l, ENGINE_FAIL_AGENT_START, SPEECH_WHY, WITH(e.msg));
}

static void refuse_start(struct acp_link *l, int64_t left)
{
	link_step(l, LINK_DOWN);
	tell_down(l, ENGINE_FAIL_AGENT_START, SPEECH_WHY_CRASHES,
		WITH("", NUM(l->deaths), NUM((left + 999) / 1000)));
}

static void link_on_soon(void *arg)
{
	struct acp_link *l = arg;
	int64_t left = l->next_start - loop_now(l->env.loop);

	if (l->state == LINK_READY) {
		l->wanted = false;
		l->env.on_ready(l->env.arg);
	} else if (l->state == LINK_WAITING && left <= 0) {
		start(l);
	} else if (l->state == LINK_WAITING && l->deaths >= LINK_DEATHS_MAX) {
		refuse_start(l, left);
	} else if (l->state == LINK_WAITING) {
		timer_arm(l->soon, left);
	}
}

void link_want(struct acp_link *l)
{
	if (l->wanted)
		return;
	l->wanted = true;
	if (l->state == LINK_DOWN)
		link_step(l, LINK_WAITING);
	if (l->state == LINK_WAITING || l->state == LINK_READY)
		timer_arm(l->soon, 0);
}

struct rpc *link_rpc(const struct acp_link *l)
{
	return l->state == LINK_READY ? l->rpc : NULL;
}

unsigned int link_life(const struct acp_link *l)
{
	return l->life;
}

const struct link_caps *link_caps(const struct acp_link *l)
{
	return &l->caps;
}

int link_open(struct acp_link **out, const struct link_env *env, struct err *e)
{
	struct acp_link *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return err_set(e, E_NOMEM, "the agent");
	l->env = *env;
	if (timer_new(&l->soon, env->loop, link_on_soon, l, e) < 0) {
		free(l);
		return -1;
	}
	*out = l;
	return 0;
}

void link_close(struct acp_link **lp)
{
	struct acp_link *l = *lp;

	if (!l)
		return;
	*lp = NULL;
	timer_free(&l->soon);
	rpc_close(&l->rpc);
	child_end(&l->child);
	free(l);
}
