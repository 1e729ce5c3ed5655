#include "agent/acp/acp-private.h"

#include <stdio.h>
#include <string.h>

/* --- What the engine says itself -------------------------------------------------------------- */

static void say(struct acp *a, const char *zh, const char *en)
{
	struct engine_event ev = { .type = ENGINE_TEXT, .turn = a->turn };

	ev.text = view_of(strcmp(a->language, "zh") == 0 ? zh : en);
	acp_emit(a, &ev);
}

/* --- The end ---------------------------------------------------------------------------------- */

enum stop { STOP_END, STOP_TOKENS, STOP_STEPS, STOP_REFUSAL, STOP_CANCELLED, STOP_OTHER };

static enum stop stop_reason(const struct json *result)
{
	static const char *const names[] = { "end_turn", "max_tokens", "max_turn_requests",
		"refusal", "cancelled", NULL };
	int stop = STOP_OTHER;

	if (result)
		(void)json_get_enum(result, "stopReason", JSON_REQUIRED, names, &stop, NULL);
	return (enum stop)stop;
}

/* Some agents end the turn without a word when they are refused something, and some whenever their
 * model fails. */
static void finish_empty(struct acp *a)
{
	char detail[100];

	if (a->denied) {
		(void)snprintf(detail, sizeof(detail), "%s, by the policy: see /policy", a->denied);
		acp_finish(a, ENGINE_FAIL_AGENT_DENIED, view_of(detail));
	} else if (a->refused) {
		acp_finish(a, ENGINE_FAIL_AGENT_DENIED, VIEW("you said no"));
	} else {
		acp_finish(a, ENGINE_FAIL_AGENT_EMPTY, VIEW_NONE);
	}
}

/* A stop reason alone proves little: some agents end a turn so when their model failed. What
 * counts is whether there is an answer. */
static void finish_result(struct acp *a, enum stop stop)
{
	bool empty = view_trim(acp_stream_answer(a->stream)).n == 0;

	if (a->cancelled)
		acp_finish(a, ENGINE_FAIL_CANCELLED, VIEW_NONE);
	else if (stop == STOP_REFUSAL)
		acp_finish(a, ENGINE_FAIL_REFUSED, VIEW_NONE);
	else if (stop == STOP_CANCELLED)
		acp_finish(a, ENGINE_FAIL_STALLED, VIEW("the agent says that it was cancelled"));
	else if (stop == STOP_STEPS)
		acp_finish(a, ENGINE_FAIL_BUDGET, VIEW("the agent's own limit of steps"));
	else if (empty)
		finish_empty(a);
	else
		acp_finish(a, ENGINE_OK, VIEW_NONE);
}

static void prompt_on_answer(void *arg, const struct rpc_answer *answer)
{
	struct acp *a = arg;
	enum stop stop;

	if (answer->end == RPC_GONE || (a->state != ACP_PROMPTING && a->state != ACP_CANCELLING))
		return; /* the link tells */
	timer_disarm(a->grace);
	acp_stream_end(a->stream);
	if (answer->end != RPC_RESULT) {
		acp_finish_error(a, answer, "the agent failed");
		return;
	}
	stop = stop_reason(answer->result);
	if ((stop == STOP_TOKENS || acp_stream_cut(a->stream)) && !a->cancelled)
		say(a, "\n\n（回答到了长度上限，后面没有了。）",
			"\n\n(The answer reached its length limit and ends here.)");
	finish_result(a, stop);
}

/* --- The prompt ------------------------------------------------------------------------------- */

void prompt_begin(struct acp *a)
{
	struct rpc *rpc = link_rpc(a->link);
	struct err e = ERR_INIT;
	struct json_out *w;

	if (!rpc) {
		acp_finish(a, ENGINE_FAIL_AGENT_ENDED, VIEW_NONE);
		return;
	}
	acp_step(a, ACP_PROMPTING);
	acp_stream_begin(a->stream);
	if (a->lost)
		say(a, "（智能体那边之前的对话已经不在了，这是一段新的对话。）\n\n",
			"(The agent no longer has our conversation; this is a new one.)\n\n");
	w = rpc_request(rpc, "session/prompt");
	json_put_str(w, "sessionId", str_view(&a->session));
	json_open_array(w, "prompt");
	json_open(w, NULL);
	json_put_z(w, "type", "text");
	json_put_str(w, "text", str_view(&a->text));
	json_close(w);
	json_close_array(w);
	if (rpc_send_request(rpc, 0, prompt_on_answer, a, &a->call, &e) < 0)
		acp_finish(a, ENGINE_FAIL_AGENT_ENDED, view_of(e.msg));
}

void prompt_cancel(struct acp *a)
{
	struct rpc *rpc = link_rpc(a->link);

	acp_step(a, ACP_CANCELLING);
	timer_arm(a->grace, ACP_GRACE_MS);
	if (rpc) {
		json_put_str(rpc_notification(rpc, "session/cancel"), "sessionId",
			str_view(&a->session));
		(void)rpc_send(rpc, NULL);
	}
	asks_end(a); /* some agents end only then */
}

/* --- From the agent --------------------------------------------------------------------------- */

static void take_update(struct acp *a, const struct json *params)
{
	const struct json *update = json_member(params, "update");
	struct view session;

	if (!update || json_type(update) != JSON_OBJECT ||
		json_get_str(params, "sessionId", JSON_REQUIRED, 1, STORE_SESSION_MAX, &session,
			NULL) < 0)
		return;
	if (session_replays(a, session))
		return;
	if ((a->state == ACP_PROMPTING || a->state == ACP_CANCELLING) &&
		view_eq(session, str_view(&a->session)))
		(void)acp_stream_update(a->stream, update);
	else
		log_debug(a->log, "acp", "an update outside of any turn");
}

void prompt_on_notification(void *arg, const char *method, const struct json *params)
{
	if (strcmp(method, "session/update") == 0 && params && json_type(params) == JSON_OBJECT)
		take_update(arg, params);
}

void prompt_on_request(void *arg, const struct rpc_id *id, const char *method,
	const struct json *params)
{
	struct acp *a = arg;
	char text[RPC_METHOD_MAX + 40];

	if (strcmp(method, "session/request_permission") == 0) {
		asks_take(a, id, params);
		return;
	}
	(void)snprintf(text, sizeof(text), "the client has no method %s", method);
	(void)rpc_refuse(link_rpc(a->link), id, RPC_NO_METHOD, text, NULL);
}
