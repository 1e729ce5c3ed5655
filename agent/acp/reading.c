/* A session's history, loaded once more: what the agent has said unheard stands nowhere else. */
#include <stdlib.h>
#include <string.h>

#include "agent/acp/work-private.h"

bool reading_blocked(const struct acp *a, const char *session)
{
	return a->work->reading ||
	       ((a->state == ACP_OPENING || a->state == ACP_ASKING || a->state == ACP_LOOKING ||
			a->state == ACP_PROMPTING || a->state == ACP_PACKING ||
			a->state == ACP_CANCELLING) &&
		       view_eqs(str_view(&a->session), session));
}

/* What the agent has set may be another's since: it is brought once more. */
static void taken_up(struct live *l, const struct json *result)
{
	(void)knobs_take(&l->knobs, result);
	l->fresh = true;
	for (int i = 0; i < KNOBS; i++) {
		free(l->applied[i]);
		l->applied[i] = NULL;
	}
}

static void reading_on_answer(void *arg, const struct rpc_answer *answer)
{
	struct acp *a = arg;
	char *session = a->work->reading;
	bool read = answer->end == RPC_RESULT;
	struct live *l;

	if (answer->end == RPC_GONE || !session)
		return; /* the link tells */
	a->work->reading = NULL;
	past_end(a->work->past);
	l = session_find(a, view_of(session));
	if (l && read)
		taken_up(l, answer->result);
	a->work->on_read(a, session, read);
	past_begin(a->work->past);
	free(session);
}

bool reading_begin(struct acp *a, const char *session)
{
	struct rpc *rpc = link_rpc(a->link);

	if (!rpc || !link_caps(a->link)->load || !(a->work->reading = strdup(session)))
		return false;
	past_begin(a->work->past);
	session_put(a, rpc_request(rpc, "session/load"), view_of(session));
	if (rpc_send_request(rpc, ACP_OPEN_MS, reading_on_answer, a, NULL, NULL) == 0)
		return true;
	reading_end(a);
	return false;
}

bool reading_take(struct acp *a, struct view session, const struct json *update)
{
	if (!a->work->reading || !view_eqs(session, a->work->reading))
		return false;
	past_take(a->work->past, update);
	return true;
}

void reading_end(struct acp *a)
{
	free(a->work->reading);
	a->work->reading = NULL;
}
