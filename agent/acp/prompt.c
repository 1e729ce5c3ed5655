#include "agent/acp/acp-private.h"

#include <stdio.h>
#include <string.h>

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

/* One of the agent's own: some do what they do behind the end of the turn, and say nothing. */
static bool is_command(const struct acp *a)
{
	const char *const *list = known_commands(&a->engine);
	struct view text = str_view(&a->text);
	size_t n = 1;

	if (!view_starts(text, VIEW("/")))
		return false;
	while (n < text.n && !strchr(" \t\r\n", text.p[n]))
		n++;
	for (; *list; list++)
		if (view_eqs(view_cut(view_from(text, 1), n - 1), *list))
			return true;
	return false;
}

static void finish_denied(struct acp *a)
{
	if (a->denied)
		acp_finish_why(a, ENGINE_FAIL_AGENT_DENIED, SPEECH_WHY_DENIED, a->denied);
	else
		acp_finish_why(a, ENGINE_FAIL_AGENT_DENIED, SPEECH_WHY_REFUSED);
}

/* Some agents end the turn without a word when they are refused something, and some whenever their
 * model fails. */
static void finish_empty(struct acp *a)
{
	if (a->denied || a->refused) {
		finish_denied(a);
	} else if (is_command(a)) {
		acp_reply(a, SPEECH_TAKEN_SILENTLY);
		acp_finish(a, ENGINE_OK, VIEW_NONE);
	} else if (!seek_begin(a)) {
		acp_finish(a, ENGINE_FAIL_AGENT_EMPTY, VIEW_NONE);
	}
}

/* A stop reason alone proves little: some agents end a turn so when their model failed. What
 * counts is whether there is an answer. */
static void finish_result(struct acp *a, enum stop stop)
{
	if (pack_begin(a))
		return;
	if (a->cancelled)
		acp_finish(a, ENGINE_FAIL_CANCELLED, VIEW_NONE);
	else if (stop == STOP_REFUSAL)
		acp_finish(a, ENGINE_FAIL_REFUSED, VIEW_NONE);
	else if (stop == STOP_CANCELLED && (a->denied || a->refused))
		finish_denied(a); /* Codex takes a no for a stop */
	else if (stop == STOP_CANCELLED)
		acp_finish_why(a, ENGINE_FAIL_STALLED, SPEECH_WHY_CANCELLED);
	else if (stop == STOP_STEPS)
		acp_finish_why(a, ENGINE_FAIL_BUDGET, SPEECH_WHY_OWN_STEPS);
	else if (!acp_stream_answered(a->stream))
		finish_empty(a);
	else
		acp_finish(a, ENGINE_OK, VIEW_NONE);
}

/* A prompt that has failed may have left nothing in the session: then they come once more. */
static void note_instructed(struct acp *a)
{
	struct err e = ERR_INIT;

	if (a->instructed &&
		store_tell(a->store, a->name, a->conversation, view_of(a->instructions), &e) < 0)
		log_warn(a->log, "acp", "that it was instructed is not remembered: %s", e.msg);
	a->instructed = false;
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
		acp_finish_error(a, answer, SPEECH_WHY_SILENT, "the agent failed");
		return;
	}
	note_instructed(a);
	known_usage(a, a->here, answer->result);
	stop = stop_reason(answer->result);
	if ((stop == STOP_TOKENS || acp_stream_cut(a->stream)) && !a->cancelled) {
		acp_stream_say(a->stream, VIEW("\n\n"));
		acp_reply(a, SPEECH_ANSWER_CUT);
	}
	finish_result(a, stop);
}

/* --- The prompt ------------------------------------------------------------------------------- */

static void put_text(struct json_out *w, struct view text)
{
	json_open(w, NULL);
	json_put_z(w, "type", "text");
	json_put_str(w, "text", text);
	json_close(w);
}

/* The operator's words, where the session has not been given them: no agent has another way that
 * leaves the project and the user's own files alone. They come behind the user's words, since
 * agents make a session's title of what is first. A slash command stands alone. */
static void put_instructions(struct acp *a, struct json_out *w)
{
	struct str told = STR_INIT(ENGINE_INPUT_MAX), text = STR_INIT(ENGINE_INPUT_MAX);

	(void)store_told(a->store, a->name, a->conversation, &told, NULL);
	a->instructed =
		a->instructions[0] && !view_starts(str_view(&a->text), VIEW("/")) &&
		!view_eqs(str_view(&told), a->instructions) &&
		str_addf(&text, "<instructions>\n%s\n</instructions>", a->instructions) == 0;
	if (a->instructed)
		put_text(w, str_view(&text));
	str_release(&told);
	str_release(&text);
}

void prompt_begin(struct acp *a)
{
	struct json_out *w;

	if (enclosed_wait(a))
		return;
	if (a->late.of == a->here)
		late_flush(a);
	acp_stream_begin(a->stream);
	a->here->fresh = a->here->muted = false;
	if (a->notes.n > 0)
		acp_stream_say(a->stream, str_view(&a->notes));
	w = acp_request(a, "session/prompt");
	if (!w)
		return;
	json_put_str(w, "sessionId", str_view(&a->session));
	json_open_array(w, "prompt");
	put_text(w, str_view(&a->text));
	enclosed_put(a, w);
	put_instructions(a, w);
	json_close_array(w);
	a->prompted = loop_now(a->loop);
	a->heard = false;
	seek_watch(a);
	acp_step(a, ACP_PROMPTING);
	acp_send(a, 0, prompt_on_answer);
}

void prompt_cancel(struct acp *a)
{
	struct rpc *rpc = link_rpc(a->link);

	acp_step(a, ACP_CANCELLING);
	if (a->here)
		a->here->muted = true;
	timer_arm(a->grace, ACP_GRACE_MS);
	if (rpc) {
		json_put_str(rpc_notification(rpc, "session/cancel"), "sessionId",
			str_view(&a->session));
		(void)rpc_send(rpc, NULL);
	}
	asks_end(a); /* some agents end only then */
	files_end(a);
	terms_cancel(a);
}

/* --- From the agent --------------------------------------------------------------------------- */

static bool is_of_turn(const struct acp *a, struct view session)
{
	return (a->state == ACP_PROMPTING || a->state == ACP_CANCELLING) &&
	       view_eq(session, str_view(&a->session));
}

static void take_answer(struct acp *a, const struct json *update)
{
	if (acp_stream_update(a->stream, update))
		seek_said(a);
}

static void take_update(struct acp *a, const struct json *params)
{
	const struct json *update = json_member(params, "update");
	struct view session;
	struct live *l;

	if (!update || json_type(update) != JSON_OBJECT ||
		json_get_str(params, "sessionId", JSON_REQUIRED, 1, STORE_SESSION_MAX, &session,
			NULL) < 0)
		return;
	l = session_find(a, session);
	known_take(a, l, update);
	if (reading_take(a, session, update))
		return;
	if (session_replays(a, session) || (l && l->fresh))
		acp_stream_past(a->stream, update);
	else if (is_of_turn(a, session) && !acp_stream_late(a->stream, update))
		take_answer(a, update);
	else if (l && l->open && !pack_take(a, l, update) && !l->muted)
		late_take(a, l, update);
}

void prompt_on_notification(void *arg, const char *method, const struct json *params)
{
	struct acp *a = arg;

	a->heard = true;
	if (strcmp(method, "session/update") == 0 && params && json_type(params) == JSON_OBJECT)
		take_update(a, params);
	else if (strcmp(method, "$/cancel_request") == 0)
		services_cancel(a, params);
}

void prompt_on_request(void *arg, const struct rpc_id *id, const char *method,
	const struct json *params)
{
	struct acp *a = arg;
	char text[RPC_METHOD_MAX + 40];

	a->heard = true;
	if (strcmp(method, "session/request_permission") == 0) {
		asks_take(a, id, params);
		return;
	}
	if (strcmp(method, "elicitation/create") == 0) {
		forms_take(a, id, params);
		return;
	}
	if (services_take(a, id, method, params))
		return;
	(void)snprintf(text, sizeof(text), "the client has no method %s", method);
	(void)rpc_refuse(link_rpc(a->link), id, RPC_NO_METHOD, text, NULL);
}
