#include "agent/react/react-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/say.h"
#include "base/text.h"

#define BATCH_PARALLEL 4 /* calls that change nothing and run side by side */

enum call_state {
	CALL_WAITS,
	CALL_ASKED,    /* the user is asked for consent */
	CALL_ANSWERED, /* and has given an answer, which the loop will act on */
	CALL_RUNS,
	CALL_DONE
};

struct call {
	struct react *react;
	enum call_state state;
	const struct msg_call *msg;
	struct tool_run *run;
	struct str result; /* for the model */
	char id[APPROVAL_ID_SIZE], print[TOOL_FINGERPRINT];
	enum consent consent;
};

struct batch {
	size_t n, next, running;
	bool alone; /* one runs, or is asked about, that lets nothing run beside it */
	struct call call[];
};

static void work(struct react *r);

/* --- Results ---------------------------------------------------------------------------------- */

/* A result too long for the window keeps its head and its tail. */
static int fit_result(const struct react *r, struct view text, struct str *out)
{
	size_t max = prompt_result_max(r->active->window), head = max / 4 * 3, tail = max / 4;
	struct view rest;

	if (text.n <= max)
		return str_add(out, text);
	(void)str_add(out, view_cut(text, utf8_cut(text, head)));
	rest = view_from(text, text.n - tail);
	while (rest.n > 0 && ((unsigned char)rest.p[0] & 0xc0) == 0x80)
		rest = view_from(rest, 1);
	return str_addf(out, "\n[%zu bytes are left out here]\n%.*s", text.n - out->n - rest.n,
		VIEW_FMT(rest));
}

/* What the model is told of a call that has no result of its own. */
static void say_unfinished(struct call *c)
{
	struct str *s = &c->result;

	str_reset(s);
	if (c->state == CALL_WAITS)
		(void)str_adds(s,
			"Cancelled before it was started. Nothing was done by this call.");
	else if (c->state != CALL_RUNS)
		(void)str_adds(s,
			"Cancelled while the user was asked for consent. Nothing was done by this "
			"call.");
	else if (tools_acts(c->react->tools, c->msg->name))
		(void)str_adds(s,
			"Cut off while it ran. It may have changed something: look before you go on.");
	else
		(void)str_adds(s, "Cut off while it ran. It changes nothing.");
}

/* One result into the talk; when it is the same once more, that is said. */
static int add_result(struct react *r, const struct call *c)
{
	struct view text = str_view(&c->result);
	struct str out = STR_INIT(TOOL_RESULT_MAX * 4 + 1000);
	int same = 0, rc = -1;

	if (!r->cancelled)
		same = progress_note(&r->progress, c->msg->name, view_of(c->msg->args), text);
	(void)fit_result(r, text, &out);
	if (same > 1)
		(void)str_addf(&out,
			"\n[This call has now given the same result %d times. Do something else, or "
			"answer.]",
			same);
	if (str_ok(&out) && talk_add_result(&r->talk, c->msg->id, str_view(&out)))
		rc = 0;
	str_release(&out);
	return rc;
}

void batch_drop(struct react *r)
{
	struct batch *b = r->batch;

	r->batch = NULL;
	for (size_t i = 0; b && i < b->n; i++) {
		if (b->call[i].run)
			tool_detach(b->call[i].run);
		str_release(&b->call[i].result);
	}
	free(b);
}

int batch_close(struct react *r)
{
	struct batch *b = r->batch;
	int rc = 0;

	for (size_t i = 0; b && rc == 0 && i < b->n; i++) {
		struct call *c = &b->call[i];

		if (c->state == CALL_RUNS)
			r->acted = r->acted || tools_acts(r->tools, c->msg->name);
		if (c->state != CALL_DONE)
			say_unfinished(c);
		rc = add_result(r, c);
	}
	batch_drop(r);
	return rc;
}

static void out_of_memory(struct react *r)
{
	react_finish(r, ENGINE_FAIL_INTERNAL, "out of memory");
}

/* --- One call --------------------------------------------------------------------------------- */

static struct tool_call describe(const struct call *c)
{
	const struct react *r = c->react;
	struct tool_call t = { .turn = r->turn, .origin = r->origin, .id = c->msg->id };

	t.name = c->msg->name;
	t.args = view_of(c->msg->args);
	return t;
}

static struct approval about(const struct call *c)
{
	const struct react *r = c->react;

	return (struct approval){ r->turn, r->conversation, r->session, c->print };
}

static void emit_tool(struct react *r, enum engine_event_type type, const char *name, bool ok,
	struct view text)
{
	struct engine_event ev = { .type = type, .turn = r->turn, .name = name, .ok = ok };

	ev.text = text;
	react_emit(r, &ev);
}

static void on_tool_done(void *arg, const struct tool_result *res)
{
	struct call *c = arg;
	struct react *r = c->react;

	c->run = NULL;
	c->state = CALL_DONE;
	r->batch->running--;
	r->batch->alone = false;
	r->acted = r->acted || res->acted;
	emit_tool(r, ENGINE_TOOL_FINISHED, c->msg->name, res->ok, VIEW_NONE);
	if (r->state != REACT_WORKING)
		return; /* the end is on its way */
	if (str_add(&c->result, res->text) < 0)
		out_of_memory(r);
	else if (!r->cancelled)
		work(r);
	else if (r->batch->running == 0)
		react_finish(r, ENGINE_FAIL_CANCELLED, "");
}

static void start_call(struct call *c, const char *consent)
{
	struct react *r = c->react;
	struct tool_call t = describe(c);
	struct str shown = STR_INIT(1024);
	struct err e = ERR_INIT;

	t.consent = consent;
	tools_summary(r->tools, &t, &shown);
	if (tools_start(&c->run, r->tools, &t, on_tool_done, c, &e) == 0) {
		c->state = CALL_RUNS;
		r->batch->running++;
		r->batch->alone = consent || tools_acts(r->tools, t.name);
		emit_tool(r, ENGINE_TOOL_STARTED, t.name, true, str_view(&shown));
	} else {
		c->state = CALL_DONE;
		/* The policy may have been changed since the question: it says that whole. */
		if (tools_weigh(r->tools, &t, &c->result) != VERDICT_DENY)
			(void)str_addf(&c->result, "%s could not be started: %s", t.name, e.msg);
	}
	str_release(&shown);
}

/* --- Consent ---------------------------------------------------------------------------------- */

static void say_no_consent(struct call *c)
{
	static const char *const why[] = {
		[CONSENT_REFUSED] =
			"The user was asked and refused. Respect that: say what is left "
			"undone, or ask the user what they want instead.",
		[CONSENT_STOPPED] = "The user was asked, refused, and stopped the task.",
		[CONSENT_EXPIRED] =
			"The user was asked and did not answer in time, which counts as "
			"a no. Tell the user that it was not done, and that they can ask "
			"for it again.",
		[CONSENT_UNDELIVERABLE] = "The user could not be asked, which counts as a no. Tell "
					  "the user that it was not done for that reason, and that "
					  "they can ask for it again.",
	};

	(void)str_addf(&c->result,
		"%s needs the user's consent. %s Nothing was done by this call; do not try to reach "
		"the same by other means.",
		c->msg->name, why[c->consent]);
}

static void ask_user(struct call *c, const struct tool_call *t)
{
	struct react *r = c->react;
	struct engine_event ev = { .type = ENGINE_APPROVAL, .turn = r->turn, .id = c->id };
	struct str deed = STR_INIT(TOOL_QUESTION_MAX);

	ev.abridged = !tools_describe(r->tools, t, say_zh(r->language), &deed);
	c->state = CALL_ASKED;
	r->batch->alone = true;
	ev.name = t->name;
	ev.text = str_view(&deed);
	ev.standard_choices = true;
	react_emit(r, &ev);
	str_release(&deed);
}

/* What cannot be recorded is not asked. */
static int open_question(struct call *c, const struct tool_call *t, const struct approval *what,
	struct err *e)
{
	struct react *r = c->react;

	if (tools_note(r->tools, t, VERDICT_ASK, "asked", NULL, e) < 0)
		return -1;
	if (approvals_ask(r->approvals, what, c->id, e) == 0)
		return 0;
	(void)tools_note(r->tools, t, VERDICT_ASK, consent_name(CONSENT_UNDELIVERABLE), e->msg,
		NULL);
	return -1;
}

static void seek_consent(struct call *c, const struct tool_call *t)
{
	struct react *r = c->react;
	const struct approval what = about(c);
	struct err e = ERR_INIT;

	if (tools_fingerprint(r->tools, t, c->print, &e) == 0) {
		if (approvals_granted(r->approvals, &what)) {
			(void)tools_note(r->tools, t, VERDICT_ASK, consent_name(CONSENT_GIVEN),
				"earlier, for this conversation", NULL);
			start_call(c, c->print);
			return;
		}
		if (approvals_refused(r->approvals, &what)) {
			(void)tools_note(r->tools, t, VERDICT_ASK, consent_name(CONSENT_REFUSED),
				"earlier, in this task", NULL);
			c->consent = CONSENT_REFUSED;
			c->state = CALL_DONE;
			say_no_consent(c);
			return;
		}
		if (open_question(c, t, &what, &e) == 0) {
			ask_user(c, t);
			return;
		}
	}
	c->state = CALL_DONE;
	(void)str_addf(&c->result,
		"%s needs the user's consent, which cannot be asked for: %s. Nothing was done.",
		t->name, e.msg);
}

/* The answer to the one question that is open. */
static void act_on_answer(struct call *c)
{
	struct react *r = c->react;
	const struct tool_call t = describe(c);

	r->batch->alone = false;
	(void)tools_note(r->tools, &t, VERDICT_ASK, consent_name(c->consent),
		c->consent == CONSENT_STOPPED ? "and the task was stopped" : NULL, NULL);
	if (c->consent == CONSENT_GIVEN) {
		start_call(c, c->print);
		return;
	}
	c->state = CALL_DONE;
	say_no_consent(c);
	if (c->consent == CONSENT_STOPPED)
		react_cancel(r);
}

static struct call *find_call(struct batch *b, enum call_state state)
{
	for (size_t i = 0; b && i < b->n; i++)
		if (b->call[i].state == state)
			return &b->call[i];
	return NULL;
}

int batch_answer(struct react *r, const char *id, int choice, struct err *e)
{
	struct call *c = find_call(r->batch, CALL_ASKED);

	if (!c || r->cancelled || strcmp(c->id, id) != 0)
		return err_set(e, E_NOTFOUND, "no such question is open");
	if (approvals_answer(r->approvals, id, choice, &c->consent, e) < 0)
		return -1;
	c->state = CALL_ANSWERED;
	return 0;
}

/* --- The calls in their order ----------------------------------------------------------------- */

/* A call begins: it has its result already, runs, or is asked about. False: what runs must end
 * before it may. */
static bool begin_call(struct call *c)
{
	struct react *r = c->react;
	struct tool_call t = describe(c);
	enum verdict v = VERDICT_DENY;

	if (c->msg->fault) {
		(void)str_addf(&c->result,
			"The arguments of %s were not one JSON object: %s. Nothing was done. Send the "
			"call again with the arguments as one JSON object.",
			c->msg->name, c->msg->fault);
	} else if (!r->tools) {
		(void)str_adds(&c->result, "There are no tools in this conversation.");
	} else {
		if (r->batch->running > 0 && tools_acts(r->tools, t.name))
			return false;
		v = tools_verdict(r->tools, &t, &c->result);
		if (v == VERDICT_ASK && r->batch->running > 0)
			return false;
	}
	switch (v) {
	case VERDICT_ALLOW: start_call(c, NULL); break;
	case VERDICT_ASK: seek_consent(c, &t); break;
	case VERDICT_DENY: c->state = CALL_DONE; break;
	}
	return true;
}

/* What changes nothing runs side by side. What acts, or must be asked for, waits for all before it
 * and lets all behind it wait: the model may count on the order. */
static void work(struct react *r)
{
	struct batch *b = r->batch;

	while (!r->cancelled && b->next < b->n && !b->alone && b->running < BATCH_PARALLEL) {
		struct call *c = &b->call[b->next];

		if (!begin_call(c))
			return;
		b->next++;
		if (!str_ok(&c->result)) {
			out_of_memory(r);
			return;
		}
	}
	if (r->cancelled || b->alone || b->running > 0)
		return;
	if (batch_close(r) < 0)
		out_of_memory(r);
	else
		r->go_on(r);
}

void batch_go_on(struct react *r)
{
	struct call *c = find_call(r->batch, CALL_ANSWERED);

	if (!c)
		return;
	act_on_answer(c);
	work(r);
}

void batch_cancel(struct react *r)
{
	struct call *asked = find_call(r->batch, CALL_ASKED);
	struct call *answered = find_call(r->batch, CALL_ANSWERED);

	approvals_end(r->approvals, r->turn);
	if (answered && answered->consent != CONSENT_GIVEN) {
		act_on_answer(answered); /* a no stands */
	} else if (asked || answered) {
		const struct tool_call t = describe(asked ? asked : answered);

		(void)tools_note(r->tools, &t, VERDICT_ASK, "cancelled",
			"before an answer was acted on", NULL);
	}
	for (size_t i = 0; i < r->batch->n; i++)
		if (r->batch->call[i].run)
			tool_cancel(r->batch->call[i].run);
	if (r->batch->running == 0)
		react_finish(r, ENGINE_FAIL_CANCELLED, "");
}

/* --- The batch -------------------------------------------------------------------------------- */

/* The first call that has stood still for too long already, or NULL. */
static const char *standing_still(const struct react *r, const struct stream *s)
{
	for (size_t i = 0; i < stream_calls(s); i++) {
		struct stream_call c = stream_call(s, i);

		if (progress_same(&r->progress, c.name, c.args) >= PROGRESS_SAME_MAX)
			return c.name;
	}
	return NULL;
}

/* Checked before anything of the batch is stored or done. True: the turn ends here. */
static bool over_budget(struct react *r, const struct stream *s)
{
	const char *still = standing_still(r, s);

	if (r->tokens_in + r->tokens_out >= (uint64_t)r->token_budget)
		react_finish_why(r, ENGINE_FAIL_BUDGET, SPEECH_WHY_TOKENS,
			NUM((long long)r->token_budget));
	else if (r->iteration >= r->max_iterations)
		react_finish_why(r, ENGINE_FAIL_BUDGET, SPEECH_WHY_STEPS, NUM(r->max_iterations));
	else if (still)
		react_finish_why(r, ENGINE_FAIL_BUDGET, SPEECH_WHY_NO_ADVANCE, still,
			NUM(PROGRESS_SAME_MAX));
	else
		return false;
	return true;
}

static bool talk_has_call(const struct talk *t, const char *id)
{
	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; k < t->list[i].ncalls; k++)
			if (strcmp(t->list[i].calls[k].id, id) == 0)
				return true;
	return false;
}

/* Some servers number the calls of each answer afresh; others want ids that are one each in all of
 * a request. */
static int add_call(struct react *r, struct msg *m, const struct stream_call *c)
{
	char id[STREAM_ID_MAX + 1];

	(void)copy_z(id, sizeof(id), view_of(c->id));
	for (size_t k = m->ncalls + 1; talk_has_call(&r->talk, id); k += STREAM_CALLS_MAX)
		(void)snprintf(id, sizeof(id), "%s_%zu", r->calls_prefix, k);
	return msg_add_call(m, view_of(id), view_of(c->name), c->args) < 0
	               ? -1
	               : msg_set_fault(m, c->args_fault);
}

static int add_calls(struct react *r, const struct stream *s)
{
	struct view text = str_view(&r->answer);
	struct msg *m;

	text = view_cut(text, view_trim(text).n == 0 ? 0 : utf8_cut(text, KEPT_TEXT_MAX));
	m = talk_add(&r->talk, ROLE_ASSISTANT, text);
	if (!m)
		return -1;
	for (size_t i = 0; i < stream_calls(s); i++) {
		struct stream_call c = stream_call(s, i);

		if (add_call(r, m, &c) < 0)
			return -1;
	}
	return r->active->contract.replays ? msg_set_thought(m, stream_thought(s)) : 0;
}

/* The calls of the newest message. They stay where they are: nothing is added to the talk before
 * the batch is closed. */
static struct batch *new_batch(struct react *r)
{
	const struct str result = STR_INIT(TOOL_RESULT_MAX * 4 + 1000);
	const struct msg *m = &r->talk.list[r->talk.n - 1];
	struct batch *b = calloc(1, sizeof(*b) + m->ncalls * sizeof(b->call[0]));

	if (!b)
		return NULL;
	b->n = m->ncalls;
	for (size_t i = 0; i < b->n; i++) {
		b->call[i].react = r;
		b->call[i].msg = &m->calls[i];
		b->call[i].result = result;
	}
	return b;
}

void batch_begin(struct react *r, const struct stream *s)
{
	size_t before = r->talk.n;

	if (over_budget(r, s))
		return;
	if (add_calls(r, s) < 0 || !(r->batch = new_batch(r))) {
		talk_cut(&r->talk, before);
		out_of_memory(r);
		return;
	}
	str_reset(&r->answer); /* what it said before its calls stands in the message */
	react_step(r, REACT_WORKING);
	work(r);
}
