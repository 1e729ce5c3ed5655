#include "agent/acp/acp-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define FILES_SHOWN ((size_t)64 << 10)

/* One permission request that waits for its answer. */
struct asked {
	struct asked *next;
	struct rpc_id rpc;
	char id[APPROVAL_ID_SIZE], print[APPROVAL_PRINT_SIZE];
	struct permission what;
	bool answered;
	enum consent consent;
	int choice; /* of a question; negative: none */
};

static void drop(struct asked *k)
{
	permission_release(&k->what);
	free(k);
}

/* --- Answers to the agent --------------------------------------------------------------------- */

static void answer(struct acp *a, const struct rpc_id *id, const char *option)
{
	struct rpc *rpc = link_rpc(a->link);
	struct json_out *w;

	if (!rpc)
		return;
	w = rpc_result(rpc, id);
	json_open(w, "outcome");
	json_put_z(w, "outcome", option ? "selected" : "cancelled");
	if (option)
		json_put_z(w, "optionId", option);
	json_close(w);
	(void)rpc_send(rpc, NULL);
}

static struct tool_call call_of(const struct acp *a, const struct asked *k)
{
	struct tool_call c = { .turn = a->turn, .origin = a->origin, .foreign = true };

	c.id = k->id;
	c.name = k->what.tool;
	c.args = str_view(&k->what.args);
	return c;
}

static void note(struct acp *a, const struct asked *k, const char *outcome, const char *detail)
{
	const struct tool_call c = call_of(a, k);

	if (a->tools && !k->what.question)
		tools_note(a->tools, &c, outcome, detail);
}

/* --- Asking the user -------------------------------------------------------------------------- */

static void ask_choice(struct acp *a, struct asked *k)
{
	struct engine_event ev = { .type = ENGINE_QUESTION, .turn = a->turn, .id = k->id };

	ev.text = str_view(&k->what.text);
	ev.choices = (const char *const *)k->what.names;
	acp_emit(a, &ev);
}

/* Of several files the call itself names but one. */
static void add_files(const struct asked *k, struct str *deed)
{
	struct view v = str_view(&k->what.files);

	if (k->what.nfiles < 2)
		return;
	(void)str_addf(deed, "\nfiles: %zu", k->what.nfiles);
	while (v.n > 0) {
		size_t n = view_find(v, '\n');

		(void)str_adds(deed, "\n| ");
		(void)text_revealed(view_cut(v, n), deed);
		v = view_from(v, n + 1);
	}
}

static void ask_consent(struct acp *a, struct asked *k)
{
	struct engine_event ev = { .type = ENGINE_APPROVAL, .turn = a->turn, .id = k->id };
	struct str deed = STR_INIT(TOOL_QUESTION_MAX + FILES_SHOWN);
	const struct tool_call c = call_of(a, k);

	if (k->what.args.n > 0)
		tools_describe(a->tools, &c, &deed);
	else
		(void)str_add(&deed, view_cut(str_view(&k->what.text),
					     utf8_cut(str_view(&k->what.text), TOOL_QUESTION_MAX)));
	add_files(k, &deed);
	note(a, k, "asked", k->what.args.n > 0 ? NULL : "the agent does not show what it would do");
	ev.name = k->what.tool;
	ev.text = str_view(&deed);
	ev.standard_choices = true;
	acp_emit(a, &ev);
	str_release(&deed);
}

/* What the policy of built-in tools says of the like. What is hidden is never just allowed. */
static enum verdict verdict_of(struct acp *a, const struct asked *k)
{
	const struct tool_call c = call_of(a, k);
	struct str why = STR_INIT(4096);
	enum verdict v = VERDICT_DENY;

	if (!a->tools)
		return VERDICT_DENY;
	if (k->what.args.n > 0)
		v = tools_verdict(a->tools, &c, &why);
	else if (tools_policy(a->tools, k->what.tool, a->origin) != VERDICT_DENY)
		v = VERDICT_ASK;
	str_release(&why);
	return v == VERDICT_ALLOW && k->what.beyond ? VERDICT_ASK : v;
}

/* A consent covers exactly this; what is hidden, or more than one file, has a print of its own each
 * time. */
static int take_print(const struct acp *a, struct asked *k, struct err *e)
{
	const struct tool_call c = call_of(a, k);

	if (k->what.args.n > 0 && k->what.nfiles < 2)
		return tools_fingerprint(a->tools, &c, k->print, e);
	(void)snprintf(k->print, sizeof(k->print), "hidden-%llu-%.40s", (unsigned long long)a->turn,
		k->rpc.json);
	return 0;
}

/* 1: allowed or refused at once. 0: the user is asked. */
static int settle(struct acp *a, struct asked *k)
{
	const struct approval about = { a->turn, a->conversation, 0, k->print };
	enum verdict v = k->what.question ? VERDICT_ASK : verdict_of(a, k);
	struct err e = ERR_INIT;

	if (v == VERDICT_ALLOW) {
		note(a, k, "allowed", NULL);
		answer(a, &k->rpc, permission_allow(&k->what));
		return 1;
	}
	if (v == VERDICT_DENY || (!k->what.question && take_print(a, k, &e) < 0)) {
		a->denied = k->what.tool;
		answer(a, &k->rpc, permission_reject(&k->what));
		return 1;
	}
	if (!k->what.question && approvals_granted(a->approvals, &about)) {
		note(a, k, consent_name(CONSENT_GIVEN), "earlier, for this conversation");
		answer(a, &k->rpc, permission_allow(&k->what));
		return 1;
	}
	if (k->what.question)
		(void)snprintf(k->print, sizeof(k->print), "question");
	if (approvals_ask(a->approvals, &about, k->id, &e) < 0) {
		log_warn(a->log, "acp", "it cannot be asked: %s", e.msg);
		answer(a, &k->rpc, permission_reject(&k->what));
		return 1;
	}
	return 0;
}

void asks_take(struct acp *a, const struct rpc_id *id, const struct json *params)
{
	const struct json *call = params ? json_member(params, "toolCall") : NULL;
	struct asked *k = calloc(1, sizeof(*k));
	struct card *card = NULL;
	struct err e = ERR_INIT;

	if (call && json_type(call) == JSON_OBJECT && a->state == ACP_PROMPTING && !a->cancelled)
		card = acp_stream_card(a->stream, call);
	if (card)
		card->asked = true;
	if (!k || !card || permission_read(&k->what, card, params, a->workspace, &e) < 0) {
		if (e.code != E_OK)
			log_warn(a->log, "acp", "a request for permission: %s", e.msg);
		answer(a, id, NULL);
		if (k)
			drop(k);
		return;
	}
	k->rpc = *id;
	if (settle(a, k)) {
		drop(k);
		return;
	}
	k->next = a->asked;
	a->asked = k;
	if (k->what.question)
		ask_choice(a, k);
	else
		ask_consent(a, k);
}

/* --- The user's answer ------------------------------------------------------------------------ */

int asks_answer(struct acp *a, const char *id, int choice, struct err *e)
{
	for (struct asked *k = a->asked; k; k = k->next) {
		if (strcmp(k->id, id) != 0 || k->answered)
			continue;
		if (approvals_answer(a->approvals, id, k->what.question ? APPROVAL_ONCE : choice,
			    &k->consent, e) < 0)
			return -1;
		k->answered = true;
		k->choice = choice;
		return 0;
	}
	return err_set(e, E_NOTFOUND, "no such question is open");
}

static const char *picked(const struct asked *k)
{
	if (k->what.question)
		return k->choice >= 0 && (size_t)k->choice < k->what.n
		               ? k->what.ids[k->choice]
		               : permission_reject(&k->what);
	return k->consent == CONSENT_GIVEN ? permission_allow(&k->what)
	                                   : permission_reject(&k->what);
}

/* True: the user wants the turn to end as well. */
static bool act(struct acp *a, struct asked *k)
{
	bool stop = !k->what.question && k->consent == CONSENT_STOPPED;

	note(a, k, consent_name(k->consent), stop ? "and the task was stopped" : NULL);
	a->refused = a->refused || (!k->what.question && k->consent != CONSENT_GIVEN);
	answer(a, &k->rpc, stop ? NULL : picked(k));
	return stop;
}

bool asks_act(struct acp *a)
{
	struct asked **at = &a->asked;
	bool stop = false;

	while (*at) {
		struct asked *k = *at;

		if (!k->answered) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		stop = act(a, k) || stop;
		drop(k);
	}
	return stop;
}

void asks_end(struct acp *a)
{
	while (a->asked) {
		struct asked *k = a->asked;

		a->asked = k->next;
		note(a, k, "cancelled", "before the user's answer counted");
		answer(a, &k->rpc, NULL);
		drop(k);
	}
	if (a->approvals)
		approvals_end(a->approvals, a->turn);
}
