#include "agent/acp/acp-private.h"

#include <stdlib.h>
#include <string.h>

static void try_opening(struct acp *a);

/* --- Sessions that are live ------------------------------------------------------------------- */

void session_clear(struct acp *a)
{
	while (a->nlive > 0)
		free(a->live[--a->nlive]);
}

static bool is_live(struct acp *a, struct view session)
{
	if (a->life != link_life(a->link))
		session_clear(a);
	a->life = link_life(a->link);
	for (size_t i = 0; i < a->nlive; i++)
		if (view_eqs(session, a->live[i]))
			return true;
	return false;
}

/* One that is forgotten here is only taken up once more. */
static void note_live(struct acp *a, struct view session)
{
	char *z;

	if (is_live(a, session))
		return;
	z = strndup(session.p, session.n);
	if (!z)
		return;
	if (a->nlive == LIVE_MAX) {
		free(a->live[0]);
		memmove(&a->live[0], &a->live[1], --a->nlive * sizeof(char *));
	}
	a->live[a->nlive++] = z;
}

bool session_replays(const struct acp *a, struct view session)
{
	return a->state == ACP_OPENING && a->opening == OPENING_LOAD &&
	       view_eq(session, str_view(&a->session));
}

/* --- Opening ---------------------------------------------------------------------------------- */

static void opened(struct acp *a)
{
	struct err e = ERR_INIT;

	note_live(a, str_view(&a->session));
	if (store_put(a->store, a->name, a->conversation, a->workspace, str_view(&a->session),
		    loop_wall(a->loop), &e) < 0)
		log_warn(a->log, "acp", "the session is not remembered: %s", e.msg);
	prompt_begin(a);
}

static bool take_new_id(struct acp *a, const struct json *result)
{
	struct view id;

	str_reset(&a->session);
	return json_get_str(result, "sessionId", JSON_REQUIRED, 1, STORE_SESSION_MAX, &id, NULL) ==
	               1 &&
	       str_add(&a->session, id) == 0;
}

/* The codes that agents were seen to give for a session that is not there any more (acp, 15). */
static bool is_gone(const struct rpc_answer *answer)
{
	return answer->end == RPC_ERROR &&
	       (answer->code == -32002 || answer->code == RPC_BAD_PARAMS ||
		       answer->code == RPC_INTERNAL);
}

static void opening_failed(struct acp *a, const struct rpc_answer *answer)
{
	if (a->opening != OPENING_NEW && is_gone(answer)) {
		if (answer->code == RPC_INTERNAL && !a->retried) {
			a->retried = true;
		} else {
			a->opening = OPENING_NEW;
			a->lost = true;
		}
		try_opening(a);
		return;
	}
	acp_finish_error(a, answer,
		"the agent does not open a session; it may wait for a login on the host");
}

static void session_on_answer(void *arg, const struct rpc_answer *answer)
{
	struct acp *a = arg;

	if (answer->end == RPC_GONE || a->state != ACP_OPENING)
		return; /* the link tells */
	if (answer->end != RPC_RESULT)
		opening_failed(a, answer);
	else if (a->opening == OPENING_NEW && !take_new_id(a, answer->result))
		acp_finish(a, ENGINE_FAIL_GARBLED, VIEW("its new session has no id"));
	else
		opened(a);
}

static void try_opening(struct acp *a)
{
	static const char *const methods[] = { "session/resume", "session/load", "session/new" };
	struct rpc *rpc = link_rpc(a->link);
	struct err e = ERR_INIT;
	struct json_out *w;

	if (!rpc) {
		acp_finish(a, ENGINE_FAIL_AGENT_ENDED, VIEW_NONE);
		return;
	}
	acp_step(a, ACP_OPENING);
	w = rpc_request(rpc, methods[a->opening]);
	if (a->opening != OPENING_NEW)
		json_put_str(w, "sessionId", str_view(&a->session));
	json_put_z(w, "cwd", a->workspace);
	json_open_array(w, "mcpServers");
	json_close_array(w);
	if (rpc_send_request(rpc, ACP_OPEN_MS, session_on_answer, a, &a->call, &e) < 0)
		acp_finish(a, ENGINE_FAIL_AGENT_ENDED, view_of(e.msg));
}

void session_begin(struct acp *a)
{
	const struct link_caps *caps = link_caps(a->link);
	struct err e = ERR_INIT;
	int stored = store_get(a->store, a->name, a->conversation, a->workspace, &a->session, &e);

	if (stored < 0) {
		acp_finish(a, ENGINE_FAIL_STORAGE, view_of(e.msg));
		return;
	}
	if (stored && is_live(a, str_view(&a->session))) {
		prompt_begin(a);
		return;
	}
	a->opening = !stored        ? OPENING_NEW
	             : caps->resume ? OPENING_RESUME
	             : caps->load   ? OPENING_LOAD
	                            : OPENING_NEW;
	a->lost = stored && a->opening == OPENING_NEW;
	try_opening(a);
}
