/* What an agent does without having asked, although the policy of built-in tools would have it
 * asked for or denied. It cannot be undone; it is recorded, and strict settings end the turn. */
#include <string.h>

#include "agent/acp/acp-private.h"

/* Of other kinds nothing can be said: an agent's list of things to do is no deed. */
static bool is_deed(const struct card *c)
{
	return c->command || c->kind == CARD_EXECUTE || c->kind == CARD_EDIT ||
	       c->kind == CARD_DELETE || c->kind == CARD_MOVE || c->kind == CARD_FETCH;
}

static enum verdict weigh(struct acp *a, const struct tool_call *call)
{
	struct str why = STR_INIT(4096);
	enum verdict v;

	if (call->args.n > 0)
		v = tools_weigh(a->tools, call, &why);
	else
		v = tools_policy(a->tools, call->name, a->origin);
	str_release(&why);
	return v;
}

static void stop(struct acp *a, const struct card *c)
{
	a->cancelled = true;
	timer_arm(a->soon, 0);
	(void)str_adds(&a->breach, c->command ? c->command : c->title[0] ? c->title : "a tool");
}

/* A call that has failed may have done something or not; only one that is done ends the turn. */
static void flag(struct acp *a, const struct card *c, const struct tool_call *call, enum verdict v)
{
	bool done = c->status == CARD_COMPLETED;

	if (!done && a->cancelled)
		return; /* it was broken off, perhaps ahead of its question */
	log_warn(a->log, "acp", "the agent %s without asking: %s",
		done ? "has done" : "may have done", c->title);
	(void)tools_note(a->tools, call, v, "unasked",
		done ? "the agent has done it without asking"
		     : "the agent may have done it without asking; the call failed",
		NULL);
	if (done && a->strict && a->state == ACP_PROMPTING && !a->cancelled)
		stop(a, c);
}

void unasked_check(struct acp *a, const struct card *c)
{
	struct tool_call call = { .turn = a->turn, .origin = a->origin, .foreign = true };
	struct permission deed;
	enum verdict v;

	if (!a->tools || c->asked || !is_deed(c) || vouched_has(&a->vouched, c->command) ||
		vouched_has(&a->vouched, c->path))
		return;
	permission_of_card(&deed, c, a->workspace);
	call.id = c->id;
	call.name = deed.tool;
	call.args = str_view(&deed.args);
	v = deed.beyond ? VERDICT_ASK : weigh(a, &call);
	if (v != VERDICT_ALLOW)
		flag(a, c, &call, v);
	permission_release(&deed);
}
