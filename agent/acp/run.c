/* What every stage of a turn uses: its words, its requests, its end. */
#include <stdarg.h>
#include <string.h>

#include "agent/acp/acp-private.h"
#include "agent/say.h"
#include "base/text.h"

#define REPLY_MAX   ((size_t)8192) /* of one sentence of the engine's own */
#define MESSAGE_MAX ((size_t)1000) /* of a refusal */

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
	if (text_safe(view_cut(detail, utf8_cut(detail, 4 * ACP_DETAIL_MAX)), 0, &safe) == 0 &&
		log_mask(a->log, str_view(&safe), &masked) == 0 &&
		text_redact(str_view(&masked), &shown) == 0)
		(void)str_add(&a->detail,
			view_cut(str_view(&shown), utf8_cut(str_view(&shown), ACP_DETAIL_MAX)));
	str_release(&safe);
	str_release(&masked);
	str_release(&shown);
}

void acp_finish(struct acp *a, enum engine_fail fail, struct view detail)
{
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

void acp_fail(struct acp *a, enum engine_fail fail, enum speech why, ...)
{
	struct str detail = STR_INIT(4096);
	va_list ap;

	va_start(ap, why);
	say_putv(a->speak, &detail, say_zh(a->language), why, ap);
	va_end(ap);
	acp_finish(a, fail, str_view(&detail));
	str_release(&detail);
}

void acp_finish_error(struct acp *a, const struct rpc_answer *answer, enum speech silent,
	const char *what)
{
	if (a->cancelled)
		acp_finish(a, ENGINE_FAIL_CANCELLED, VIEW_NONE);
	else if (answer->end == RPC_TIMEOUT)
		acp_finish_why(a, ENGINE_FAIL_STALLED, silent, what);
	else if (answer->code == RPC_NO_LOGIN)
		finish_login(a, answer);
	else
		acp_finish(a, ENGINE_FAIL_PROVIDER, error_text(answer));
}

/* --- Words of the engine ---------------------------------------------------------------------- */

void acp_put_reply(struct acp *a, enum speech s, ...)
{
	struct str text = STR_INIT(REPLY_MAX);
	va_list ap;

	va_start(ap, s);
	say_putv(a->speak, &text, say_zh(a->language), s, ap);
	va_end(ap);
	acp_stream_say(a->stream, str_view(&text));
	str_release(&text);
}

void acp_put_note(struct acp *a, enum speech s, ...)
{
	va_list ap;

	va_start(ap, s);
	say_putv(a->speak, &a->notes, say_zh(a->language), s, ap);
	va_end(ap);
	(void)str_adds(&a->notes, "\n\n");
}

/* --- Requests of the turn --------------------------------------------------------------------- */

bool acp_before_prompt(const struct acp *a)
{
	return a->state == ACP_STARTING || a->state == ACP_OPENING || a->state == ACP_HOLDING ||
	       a->state == ACP_ASKING || a->state == ACP_LOOKING;
}

/* An agent that was idle may be dead before anybody knows, and the message goes nowhere. */
static bool may_begin_again(const struct acp *a)
{
	if (!a->was_up || a->again || a->cancelled)
		return false;
	return acp_before_prompt(a) || (a->state == ACP_PROMPTING && !a->heard &&
					       loop_now(a->loop) - a->prompted < ACP_AGAIN_MS);
}

static void begin_again(struct acp *a)
{
	log_info(a->log, "acp", "the agent was gone before it had begun: once more with a new one");
	a->again = true;
	a->retried = a->setting.restored = false;
	a->here = NULL;
	a->call = 0;
	str_reset(&a->notes);
	acp_step(a, ACP_STARTING);
	link_want(a->link);
}

void acp_gone(struct acp *a, enum engine_fail fail, struct view detail)
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
		acp_gone(a, ENGINE_FAIL_AGENT_ENDED, VIEW_NONE);
	return rpc ? rpc_request(rpc, method) : NULL;
}

void acp_send(struct acp *a, int64_t ms, rpc_answer_cb *cb)
{
	struct err e = ERR_INIT;

	if (rpc_send_request(link_rpc(a->link), ms, cb, a, &a->call, &e) == 0)
		return;
	if (e.code == E_NET)
		acp_gone(a, ENGINE_FAIL_AGENT_ENDED, view_of(e.msg));
	else
		acp_finish(a, ENGINE_FAIL_AGENT_ENDED, view_of(e.msg));
}

/* --- Requests of the agent -------------------------------------------------------------------- */

/* What is begun, is begun for the turn that runs. */
bool acp_in_turn(const struct acp *a, const struct json *params)
{
	struct view session;

	return a->state == ACP_PROMPTING && !a->cancelled && json_type(params) == JSON_OBJECT &&
	       json_get_str(params, "sessionId", JSON_REQUIRED, 1, STORE_SESSION_MAX, &session,
		       NULL) == 1 &&
	       view_eq(session, str_view(&a->session));
}

void acp_refuse(struct acp *a, const struct rpc_id *id, int code, struct view why)
{
	struct rpc *rpc = link_rpc(a->link);
	struct str text = STR_INIT(4 * MESSAGE_MAX);

	(void)text_safe(view_cut(why, utf8_cut(why, MESSAGE_MAX)), 0, &text);
	if (rpc)
		(void)rpc_refuse(rpc, id, code, str_cstr(&text), NULL);
	str_release(&text);
}
