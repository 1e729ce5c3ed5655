#include "agent/acp/acp-private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/say.h"

static void try_opening(struct acp *a);

/* --- Sessions that are live ------------------------------------------------------------------- */

static void free_live(struct live *l)
{
	if (!l)
		return;
	for (int i = 0; i < KNOBS; i++)
		free(l->applied[i]);
	knobs_release(&l->knobs);
	free(l->id);
	free(l->key);
	free(l->asked);
	free(l);
}

void session_clear(struct acp *a)
{
	if (a->late.stream)
		late_flush(a);
	a->here = NULL;
	while (a->nlive > 0)
		free_live(a->live[--a->nlive]);
}

struct live *session_find(struct acp *a, struct view id)
{
	if (a->life != link_life(a->link))
		session_clear(a);
	a->life = link_life(a->link);
	for (size_t i = 0; i < a->nlive; i++)
		if (view_eqs(id, a->live[i]->id))
			return a->live[i];
	return NULL;
}

/* One that is forgotten here is only taken up once more. */
static void make_room(struct acp *a)
{
	if (a->nlive < LIVE_MAX)
		return;
	late_flush(a);
	free_live(a->live[0]);
	memmove(&a->live[0], &a->live[1], --a->nlive * sizeof(struct live *));
}

/* The session of this turn, its conversation's from now on; NULL: no memory. */
static struct live *take_live(struct acp *a, struct view id)
{
	struct live *l = session_find(a, id);
	char *key = strdup(a->conversation);

	if (!l && key) {
		make_room(a);
		l = calloc(1, sizeof(*l));
		if (l)
			l->id = strndup(id.p, id.n);
		if (l && l->id)
			a->live[a->nlive++] = l;
		else {
			free(l);
			l = NULL;
		}
	}
	if (!l || !key) {
		free(key);
		return NULL;
	}
	free(l->key);
	l->key = key;
	l->zh = say_zh(a->language);
	return l;
}

bool session_replays(const struct acp *a, struct view session)
{
	return a->state == ACP_OPENING && a->opening == OPENING_LOAD &&
	       view_eq(session, str_view(&a->session));
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* The conversation goes on in another session: what runs in its old one ends with that. */
static void leave_old(struct acp *a)
{
	struct str old = STR_INIT(STORE_SESSION_MAX);

	if (store_get(a->store, a->name, a->conversation, a->workspace, &old, NULL) == 1 &&
		!view_eq(str_view(&old), str_view(&a->session)))
		terms_end_session(a, a->conversation);
	str_release(&old);
}

static void bind(struct acp *a)
{
	struct err e = ERR_INIT;

	if (a->order == ORDER_OPEN)
		leave_old(a);
	if (store_put(a->store, a->name, a->conversation, a->workspace, str_view(&a->session),
		    loop_wall(a->loop), &e) < 0)
		log_warn(a->log, "acp", "the session is not remembered: %s", e.msg);
}

static void opened(struct acp *a, const struct json *result)
{
	a->here = take_live(a, str_view(&a->session));
	if (!a->here) {
		acp_finish(a, ENGINE_FAIL_INTERNAL, VIEW("out of memory: the agent's session"));
		return;
	}
	a->here->open = true;
	a->here->fresh = a->opening == OPENING_LOAD;
	(void)knobs_take(&a->here->knobs, result);
	a->here->made = a->opening == OPENING_NEW;
	bind(a);
	a->reached(a, SESSION_OPEN);
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

static void begin_anew(struct acp *a)
{
	a->opening = OPENING_NEW;
	acp_note(a, SPEECH_NEW_INSTEAD);
}

/* The conversation stays in the session that it has. */
static void not_opened(struct acp *a, const struct rpc_answer *answer)
{
	struct str shown = STR_INIT(8192);

	say_words(&shown, answer->message, 200);
	acp_reply(a, SPEECH_NOT_OPENED, str_cstr(&shown));
	str_release(&shown);
	acp_finish(a, ENGINE_OK, VIEW_NONE);
}

static void opening_failed(struct acp *a, const struct rpc_answer *answer)
{
	if (a->opening != OPENING_NEW && is_gone(answer)) {
		if (answer->code == RPC_INTERNAL && !a->retried) {
			a->retried = true;
		} else if (a->order == ORDER_OPEN) {
			not_opened(a, answer);
			return;
		} else {
			begin_anew(a);
		}
		try_opening(a);
		return;
	}
	acp_finish_error(a, answer, SPEECH_WHY_NO_SESSION, "");
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
		opened(a, answer->result);
}

void session_put(struct acp *a, struct json_out *w, struct view id)
{
	if (id.n > 0)
		json_put_str(w, "sessionId", id);
	json_put_z(w, "cwd", a->workspace);
	servers_put(a, w);
}

static void try_opening(struct acp *a)
{
	static const char *const methods[] = { "session/resume", "session/load", "session/new" };
	struct json_out *w = acp_request(a, methods[a->opening]);

	if (!w)
		return;
	if (a->opening != OPENING_NEW)
		(void)take_live(a, str_view(&a->session)); /* what it tells before its answer */
	session_put(a, w, a->opening == OPENING_NEW ? VIEW_NONE : str_view(&a->session));
	acp_step(a, ACP_OPENING);
	acp_send(a, ACP_OPEN_MS, session_on_answer);
}

static void begin_opening(struct acp *a)
{
	servers_load(a);
	try_opening(a);
}

/* One that is open already is only bound, where it is not yet: a turn writes nothing to disk. */
static void take_up(struct acp *a)
{
	const struct link_caps *caps = link_caps(a->link);
	struct live *l = session_find(a, str_view(&a->session));

	if (l && l->open) {
		a->here = take_live(a, str_view(&a->session));
		if (a->order == ORDER_OPEN)
			bind(a);
		a->reached(a, SESSION_OPEN);
		return;
	}
	a->opening = caps->resume ? OPENING_RESUME : caps->load ? OPENING_LOAD : OPENING_NEW;
	if (a->opening == OPENING_NEW)
		begin_anew(a);
	begin_opening(a);
}

void session_open(struct acp *a, struct view id)
{
	str_reset(&a->session);
	(void)str_add(&a->session, id);
	take_up(a);
}

void session_begin(struct acp *a)
{
	struct err e = ERR_INIT;
	int stored = store_get(a->store, a->name, a->conversation, a->workspace, &a->session, &e);

	if (stored < 0) {
		acp_finish(a, ENGINE_FAIL_STORAGE, view_of(e.msg));
	} else if (stored) {
		take_up(a);
	} else {
		a->opening = OPENING_NEW;
		begin_opening(a);
	}
}
