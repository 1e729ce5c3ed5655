#include "agent/acp/work-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* An end without a word that comes so soon: the agent was busy, and takes the prompt up later. */
#define QUICK_MS      1000
#define ASKED_MAX     ((size_t)4096)        /* bytes of a prompt that tell it from others */
#define REASON_MS     2000                  /* for the hook that tells why there is no answer */
#define SEEK_MS       ((int64_t)10 * 60000) /* an answer that comes later is sought so long */
#define SEEK_BLIND_MS ((int64_t)2 * 60000)  /* without hooks that tell when to look */

void seek_watch(struct acp *a)
{
	struct work *w = a->work;

	w->said = w->stopped = false;
	w->sent = true;
	w->reason[0] = '\0';
	tasks_turn(w->tasks, str_view(&a->session), true, false, loop_now(a->loop));
}

void seek_said(struct acp *a)
{
	a->work->said = true;
}

void seek_done(struct acp *a)
{
	struct view text = str_view(&a->text);

	if (!a->work->sent || !a->here)
		return;
	a->work->sent = false;
	if (view_starts(text, VIEW("/")))
		return; /* a command is none of the history's questions */
	free(a->here->asked);
	a->here->asked = strndup(text.p, utf8_cut(text, ASKED_MAX));
}

/* "429 slow down": what the model's provider has answered. */
static enum engine_fail fail_of(const char *reason)
{
	size_t n = strspn(reason, "0123456789");

	if (n != 3 || reason[0] != '4')
		return ENGINE_FAIL_PROVIDER;
	return strncmp(reason, "429", 3) == 0 || strncmp(reason, "402", 3) == 0
	               ? ENGINE_FAIL_QUOTA
	               : ENGINE_FAIL_REFUSED;
}

static void finish_reason(struct acp *a)
{
	acp_finish(a, fail_of(a->work->reason), view_of(a->work->reason));
}

/* Kimi ends a turn without a word at once when it is at work in the background, and answers later,
 * unheard (acp, section 17). With hooks it is also waited for why its model has failed. */
bool seek_begin(struct acp *a)
{
	struct work *w = a->work;
	bool quick = !w->said && loop_now(a->loop) - a->prompted < QUICK_MS;

	if (w->reason[0]) {
		finish_reason(a);
		return true;
	}
	if (w->stopped || (!w->hooks && (!quick || !link_caps(a->link)->load)))
		return false;
	acp_step(a, ACP_SEEKING);
	w->step = REASON_MS;
	timer_arm(w->wait, w->step);
	return true;
}

/* Is there a reason to think that it is still to come? The end of any turn would have been heard of
 * by hooks. Without them, work in the background shows in the history. */
static bool may_come(const struct acp *a)
{
	const struct work *w = a->work;
	struct view text;
	bool whole;

	if (loop_now(a->loop) - a->prompted >= (w->hooks ? SEEK_MS : SEEK_BLIND_MS))
		return false;
	return w->hooked || tasks_reviewing(w->tasks, str_view(&a->session)) ||
	       past_find(w->past, VIEW(WORK_NOTIFICATION), &text, &whole);
}

void seek_take(struct acp *a)
{
	struct view text;
	bool whole;

	if (past_find_later(a->work->past, str_view(&a->text), view_of(a->here->asked), &text,
		    &whole) &&
		whole) {
		acp_stream_say(a->stream, text);
		acp_finish(a, ENGINE_OK, VIEW_NONE);
	} else if (may_come(a)) {
		a->work->step *= 2;
		timer_arm(a->work->wait, a->work->step);
	} else {
		acp_finish(a, ENGINE_FAIL_AGENT_EMPTY, VIEW_NONE);
	}
}

void seek_step(struct acp *a)
{
	bool quick = !a->work->said;

	if (a->work->reading)
		timer_arm(a->work->wait, WORK_BLOCKED_MS);
	else if (!quick || !reading_begin(a, str_cstr(&a->session)))
		acp_finish(a, ENGINE_FAIL_AGENT_EMPTY, VIEW_NONE);
}

void seek_cancel(struct acp *a)
{
	struct rpc *rpc = link_rpc(a->link);

	timer_disarm(a->work->wait);
	if (rpc) {
		json_put_str(rpc_notification(rpc, "session/cancel"), "sessionId",
			str_view(&a->session));
		(void)rpc_send(rpc, NULL);
	}
	acp_finish(a, ENGINE_FAIL_CANCELLED, VIEW_NONE);
}
/* Of the session of the turn that runs. */
void seek_hook(struct acp *a, const struct hook *h)
{
	struct work *w = a->work;

	if (h->event == HOOK_STOP_FAILURE)
		(void)copy_z(w->reason, sizeof(w->reason),
			view_cut(h->text, utf8_cut(h->text, TASKS_REASON_MAX)));
	else if (h->event == HOOK_STOP)
		w->stopped = true;
	if (a->state != ACP_SEEKING)
		return;
	if (w->reason[0])
		finish_reason(a);
	else if (h->event == HOOK_STOP)
		timer_arm(w->wait, TASKS_SETTLE_MS);
}
