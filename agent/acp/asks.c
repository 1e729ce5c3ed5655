#include "agent/acp/acp-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/say.h"
#include "base/text.h"

#define FILES_SHOWN ((size_t)64 << 10)

/* Something of the agent's that waits for the user. */
struct asked {
	struct asked *next;
	char id[APPROVAL_ID_SIZE], print[APPROVAL_PRINT_SIZE];
	struct permission what;
	enum verdict verdict;
	bool answered;
	enum consent consent;
	int choice;        /* of a question; negative: none */
	struct rpc_id rpc; /* the agent's request */
	/* Who hears of the end; neither: a request for permission, answered by an option of its
	 * own. */
	asks_deed_cb *deed;
	asks_choice_cb *chosen;
	void *arg;
};

static void drop(struct asked *k)
{
	permission_release(&k->what);
	free(k);
}

/* --- The end ---------------------------------------------------------------------------------- */

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

static void conclude(struct acp *a, const struct asked *k, enum deed how, struct view why)
{
	if (k->deed)
		k->deed(a, k->arg, how, k->print[0] ? k->print : NULL, why);
	else
		answer(a, &k->rpc,
			how == DEED_ALLOWED   ? permission_allow(&k->what)
			: how == DEED_REFUSED ? permission_reject(&k->what)
					      : NULL);
}

/* Of a question. */
static void choose(struct acp *a, const struct asked *k, int choice)
{
	if (k->chosen)
		k->chosen(a, k->arg, choice);
	else if (choice == ASKS_CANCELLED)
		answer(a, &k->rpc, NULL);
	else
		answer(a, &k->rpc,
			choice >= 0 && (size_t)choice < k->what.n ? k->what.ids[choice]
								  : permission_reject(&k->what));
}

/* --- Asking the user -------------------------------------------------------------------------- */

static struct tool_call call_of(const struct acp *a, const struct asked *k)
{
	struct tool_call c = { .turn = a->turn, .origin = a->origin, .foreign = !k->deed };

	c.id = k->id;
	c.name = k->what.tool;
	c.args = str_view(&k->what.args);
	return c;
}

/* -1: it is not recorded. */
static int note(struct acp *a, const struct asked *k, const char *outcome, const char *detail,
	struct err *e)
{
	const struct tool_call c = call_of(a, k);

	return a->tools && !k->what.question
	               ? tools_note(a->tools, &c, k->verdict, outcome, detail, e)
	               : 0;
}

static void ask_choice(struct acp *a, const struct asked *k, bool several)
{
	struct engine_event ev = { .type = ENGINE_QUESTION, .turn = a->turn, .id = k->id };

	ev.text = str_view(&k->what.text);
	ev.choices = (const char *const *)k->what.names;
	ev.several = several;
	acp_emit(a, &ev);
}

/* Of several files the call itself names but one. */
static void add_files(const struct acp *a, const struct asked *k, struct str *deed)
{
	struct view v = str_view(&k->what.files);

	if (k->what.nfiles < 2)
		return;
	(void)str_addc(deed, '\n');
	say(a->speak, deed, say_zh(a->language), SPEECH_FILES, NUM((long long)k->what.nfiles));
	while (v.n > 0) {
		size_t n = view_find(v, '\n');

		(void)str_adds(deed, "\n| ");
		(void)text_revealed(view_cut(v, n), deed);
		v = view_from(v, n + 1);
	}
}

static void ask_consent(struct acp *a, const struct asked *k)
{
	struct engine_event ev = { .type = ENGINE_APPROVAL, .turn = a->turn, .id = k->id };
	struct str deed = STR_INIT(TOOL_QUESTION_MAX + FILES_SHOWN);
	const struct tool_call c = call_of(a, k);

	if (k->what.args.n > 0)
		ev.abridged = !tools_describe(a->tools, &c, say_zh(a->language), &deed);
	else
		(void)str_add(&deed, view_cut(str_view(&k->what.text),
					     utf8_cut(str_view(&k->what.text), TOOL_QUESTION_MAX)));
	add_files(a, k, &deed);
	ev.name = k->what.tool;
	ev.text = str_view(&deed);
	ev.standard_choices = true;
	acp_emit(a, &ev);
	str_release(&deed);
}

/* What the policy of built-in tools says of the like. What is hidden or lies elsewhere is never
 * just allowed, and no exception of the policy covers it. */
static enum verdict verdict_of(struct acp *a, const struct asked *k, struct str *why)
{
	const struct tool_call c = call_of(a, k);

	if (!a->tools)
		return VERDICT_DENY;
	if (k->what.args.n > 0 && !k->what.beyond)
		return tools_verdict(a->tools, &c, why);
	if (tools_policy(a->tools, k->what.tool, a->origin) != VERDICT_DENY)
		return VERDICT_ASK;
	(void)tools_note(a->tools, &c, VERDICT_DENY, "refused",
		k->what.beyond ? "it lies outside the workspace, or cannot be told"
			       : "the agent does not show what it would do",
		NULL);
	return VERDICT_DENY;
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

static void refuse(struct acp *a, const struct asked *k, const struct err *e)
{
	log_warn(a->log, "acp", "refused: %s", e->msg);
	conclude(a, k, DEED_REFUSED, view_of(e->msg));
}

/* Once that is recorded (outcome NULL: its run will be), else it is refused. */
static bool allow(struct acp *a, const struct asked *k, const char *outcome, const char *detail)
{
	struct err e = ERR_INIT;

	if (outcome && note(a, k, outcome, detail, &e) < 0) {
		refuse(a, k, &e);
		return false;
	}
	conclude(a, k, DEED_ALLOWED, VIEW_NONE);
	return true;
}

static int open_question(struct acp *a, struct asked *k, const struct approval *about,
	struct err *e)
{
	enum consent none;

	if (approvals_ask(a->approvals, about, k->id, e) < 0)
		return -1;
	if (note(a, k, "asked",
		    k->what.args.n > 0 ? NULL : "the agent does not show what it would do", e) == 0)
		return 0;
	(void)approvals_answer(a->approvals, k->id, ANSWER_UNASKED, &none, NULL);
	return -1;
}

static bool is_given(struct acp *a, const struct asked *k)
{
	return given_take(&a->given, k->print) ||
	       (strcmp(k->what.tool, "write_file") == 0 &&
		       given_take_part(&a->given, a->workspace, str_view(&k->what.args)));
}

/* 1: allowed or refused at once. 0: the user is asked. */
static int settle_deed(struct acp *a, struct asked *k)
{
	const struct approval about = { a->turn, a->conversation, 0, k->print };
	struct str why = STR_INIT(4096);
	struct err e = ERR_INIT;
	int settled = 1;

	k->verdict = verdict_of(a, k, &why);
	if (k->verdict == VERDICT_DENY) {
		a->denied = k->what.tool;
		conclude(a, k, DEED_REFUSED, str_view(&why));
	} else if (k->verdict == VERDICT_ALLOW) {
		(void)allow(a, k, k->deed ? NULL : "allowed", NULL);
	} else if (take_print(a, k, &e) < 0) {
		refuse(a, k, &e);
	} else if (k->deed && is_given(a, k)) {
		(void)allow(a, k, NULL, NULL);
	} else if (approvals_granted(a->approvals, &about)) {
		(void)allow(a, k, consent_name(CONSENT_GIVEN), "earlier, for this conversation");
	} else if (approvals_refused(a->approvals, &about)) {
		(void)note(a, k, consent_name(CONSENT_REFUSED), "earlier, in this task", NULL);
		a->refused = true;
		conclude(a, k, DEED_REFUSED, VIEW("the user has said no to this in this task"));
	} else if (open_question(a, k, &about, &e) < 0) {
		refuse(a, k, &e);
	} else {
		settled = 0;
	}
	str_release(&why);
	return settled;
}

static int settle_choice(struct acp *a, struct asked *k)
{
	const struct approval about = { a->turn, a->conversation, 0, "question" };
	struct err e = ERR_INIT;

	if (approvals_ask(a->approvals, &about, k->id, &e) == 0)
		return 0;
	log_warn(a->log, "acp", "it cannot be asked: %s", e.msg);
	choose(a, k, ANSWER_UNASKED);
	return 1;
}

static void begin(struct acp *a, struct asked *k, bool several)
{
	if (k->what.question ? settle_choice(a, k) : settle_deed(a, k)) {
		drop(k);
		return;
	}
	k->next = a->asked;
	a->asked = k;
	if (k->what.question)
		ask_choice(a, k, several);
	else
		ask_consent(a, k);
}

/* --- Who asks --------------------------------------------------------------------------------- */

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
	if (!k->what.question && k->what.args.n == 0)
		permission_hints(&k->what, card, a->speak, say_zh(a->language));
	k->rpc = *id;
	begin(a, k, false);
}

void asks_deed(struct acp *a, const struct rpc_id *id, const char *tool, struct view args,
	asks_deed_cb *cb, void *arg)
{
	struct asked *k = calloc(1, sizeof(*k));

	if (k)
		k->what.args = STR_INIT(TOOL_ARGS_MAX);
	if (!k || str_add(&k->what.args, args) < 0) {
		cb(a, arg, DEED_REFUSED, NULL, VIEW("it is too long"));
		free(k);
		return;
	}
	k->rpc = *id;
	k->what.tool = tool;
	k->deed = cb;
	k->arg = arg;
	begin(a, k, false);
}

void asks_choose(struct acp *a, const struct rpc_id *id, struct view text, const char *const *names,
	bool several, asks_choice_cb *cb, void *arg)
{
	struct asked *k = calloc(1, sizeof(*k));

	if (!k || permission_question(&k->what, text, names) < 0) {
		cb(a, arg, ANSWER_UNASKED);
		if (k)
			drop(k);
		return;
	}
	k->rpc = *id;
	k->chosen = cb;
	k->arg = arg;
	begin(a, k, several);
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

/* True: the user wants the turn to end as well. */
static bool act_on_consent(struct acp *a, const struct asked *k)
{
	bool stop = k->consent == CONSENT_STOPPED;

	if (k->consent == CONSENT_GIVEN) {
		if (allow(a, k, consent_name(k->consent), NULL) && !k->deed)
			given_add(&a->given, k->print, &k->what);
		return false;
	}
	(void)note(a, k, consent_name(k->consent), stop ? "and the task was stopped" : NULL, NULL);
	a->refused = true;
	conclude(a, k, stop ? DEED_CANCELLED : DEED_REFUSED,
		VIEW("the user says no, or did not answer"));
	return stop;
}

static bool act(struct acp *a, const struct asked *k)
{
	if (!k->what.question)
		return act_on_consent(a, k);
	choose(a, k, k->choice);
	return false;
}

/* Taken out of the list; whoever hears of one may ask the next. */
static struct asked *take_answered(struct acp *a)
{
	for (struct asked **at = &a->asked; *at; at = &(*at)->next) {
		struct asked *k = *at;

		if (!k->answered)
			continue;
		*at = k->next;
		return k;
	}
	return NULL;
}

bool asks_act(struct acp *a)
{
	struct asked *k;
	bool stop = false;

	while ((k = take_answered(a)) != NULL) {
		stop = act(a, k) || stop;
		drop(k);
	}
	return stop;
}

/* It is out of the list. */
static void cancel(struct acp *a, struct asked *k, const char *detail, struct view why)
{
	(void)note(a, k, "cancelled", detail, NULL);
	if (k->what.question)
		choose(a, k, ASKS_CANCELLED);
	else
		conclude(a, k, DEED_CANCELLED, why);
	drop(k);
}

bool asks_withdraw(struct acp *a, const struct rpc_id *id)
{
	struct engine_event ev = { .type = ENGINE_WITHDRAWN, .turn = a->turn };
	struct asked **at = &a->asked, *k;
	enum consent consent;

	while (*at && strcmp((*at)->rpc.json, id->json) != 0)
		at = &(*at)->next;
	k = *at;
	if (!k)
		return false;
	*at = k->next;
	if (!k->answered)
		(void)approvals_answer(a->approvals, k->id, ANSWER_NONE, &consent, NULL);
	ev.id = k->id;
	acp_emit(a, &ev);
	cancel(a, k, "the agent does not ask any more", VIEW("it was taken back"));
	return true;
}

void asks_end(struct acp *a)
{
	while (a->asked) {
		struct asked *k = a->asked;

		a->asked = k->next;
		cancel(a, k, "before the user's answer counted", VIEW("the task was stopped"));
	}
	if (a->approvals)
		approvals_end(a->approvals, a->turn);
	given_clear(&a->given);
}
