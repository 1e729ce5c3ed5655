#include "agent/acp/acp-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[KNOBS] = { "model", "effort", "mode" };

const char *settle_name(enum knob_kind kind)
{
	return names[kind];
}

/* --- What is wanted --------------------------------------------------------------------------- */

/* As facts of the agent: "own.model", what it has by itself, and "brought.model", what it was given
 * last. */
static const char *fact(const char *what, enum knob_kind kind, char out[32])
{
	(void)snprintf(out, 32, "%s.%s", what, names[kind]);
	return out;
}

static bool noted(struct acp *a, const char *what, enum knob_kind kind, struct str *out)
{
	char name[32];

	return store_noted(a->store, a->name, fact(what, kind, name), out, NULL) == 1;
}

static void note(struct acp *a, const char *what, enum knob_kind kind, struct view value)
{
	struct str known = STR_INIT(KNOB_VALUE_MAX);
	struct err e = ERR_INIT;
	char name[32];

	if ((!noted(a, what, kind, &known) || !view_eq(str_view(&known), value)) &&
		store_note(a->store, a->name, fact(what, kind, name), value, &e) < 0)
		log_warn(a->log, "acp", "its %s is not remembered: %s", names[kind], e.msg);
	str_release(&known);
}

/* Some agents give a new session what the one before was given: that is not their own. */
static void note_own(struct acp *a, enum knob_kind kind, struct view now)
{
	struct str own = STR_INIT(KNOB_VALUE_MAX), brought = STR_INIT(KNOB_VALUE_MAX);

	if (!noted(a, "own", kind, &own) || !noted(a, "brought", kind, &brought) ||
		!view_eq(str_view(&brought), now))
		note(a, "own", kind, now);
	str_release(&own);
	str_release(&brought);
}

/* Of a new session: what the agent has when nothing is chosen. */
static void note_owns(struct acp *a)
{
	struct knob knob;

	a->here->made = false;
	for (int i = 0; i < KNOBS; i++)
		if (knobs_read(&a->here->knobs, (enum knob_kind)i, &knob) && knob.now.n > 0)
			note_own(a, (enum knob_kind)i, knob.now);
}

bool settle_default(struct acp *a, enum knob_kind kind, struct str *out)
{
	if (a->settings[kind][0])
		return str_adds(out, a->settings[kind]) == 0;
	return noted(a, "own", kind, out);
}

/* The user's choice, else the setting. False: neither. */
static bool wanted(struct acp *a, enum knob_kind kind, struct str *out)
{
	struct err e = ERR_INIT;
	int rc = store_chosen(a->store, a->name, a->conversation, names[kind], out, &e);

	if (rc < 0)
		log_warn(a->log, "acp", "what is chosen cannot be read: %s", e.msg);
	if (rc == 0 && a->settings[kind][0])
		rc = str_adds(out, a->settings[kind]) == 0;
	return rc == 1;
}

/* --- Setting one ------------------------------------------------------------------------------ */

static void remember(struct acp *a, enum knob_kind kind, struct view value)
{
	free(a->here->applied[kind]);
	a->here->applied[kind] = value.n > 0 ? strndup(value.p, value.n) : NULL;
}

void settle_send(struct acp *a, enum knob_kind kind, const struct knob *knob, struct view value,
	rpc_answer_cb *on_answer)
{
	static const char *const methods[] = {
		[KNOB_OPTION] = "session/set_config_option",
		[KNOB_SWITCH] = "session/set_config_option",
		[KNOB_SET_MODE] = "session/set_mode",
		[KNOB_SET_MODEL] = "session/set_model",
	};
	struct json_out *w = acp_request(a, methods[knob->way]);

	a->setting.kind = kind;
	a->setting.way = knob->way;
	str_reset(&a->setting.value);
	(void)str_add(&a->setting.value, value);
	if (!w)
		return;
	json_put_str(w, "sessionId", str_view(&a->session));
	if (knob->way == KNOB_OPTION || knob->way == KNOB_SWITCH)
		json_put_str(w, "configId", knob->id);
	if (knob->way == KNOB_SWITCH) {
		json_put_z(w, "type", "boolean");
		json_put_bool(w, "value", view_eqs(value, "on"));
	} else {
		json_put_str(w,
			knob->way == KNOB_OPTION     ? "value"
			: knob->way == KNOB_SET_MODE ? "modeId"
						     : "modelId",
			value);
	}
	acp_step(a, ACP_ASKING);
	acp_send(a, ACP_OPEN_MS, on_answer);
}

bool settle_take(struct acp *a, const struct rpc_answer *answer)
{
	if (answer->end != RPC_RESULT)
		return false;
	(void)knobs_take(&a->here->knobs, answer->result);
	knobs_set(&a->here->knobs, a->setting.way, str_view(&a->setting.value));
	remember(a, a->setting.kind, a->setting.restored ? VIEW_NONE : str_view(&a->setting.value));
	note(a, "brought", a->setting.kind, str_view(&a->setting.value));
	return true;
}

/* --- All of them, one after the other --------------------------------------------------------- */

static void settle_next(struct acp *a);

static void refused(struct acp *a, struct view value)
{
	struct str asked = STR_INIT(NOTES_MAX), now = STR_INIT(NOTES_MAX);
	struct knob knob;

	/* Told once, not with every message. */
	remember(a, a->setting.kind, a->setting.restored ? VIEW_NONE : value);
	if (a->setting.restored || !knobs_read(&a->here->knobs, a->setting.kind, &knob))
		return;
	(void)str_add(&asked, value);
	(void)str_add(&now, knob.now);
	acp_note(a, SPEECH_SETTING_REFUSED, names[a->setting.kind], str_cstr(&asked),
		str_cstr(&now));
	str_release(&asked);
	str_release(&now);
}

static void settle_on_answer(void *arg, const struct rpc_answer *answer)
{
	struct acp *a = arg;

	if (answer->end == RPC_GONE || a->state != ACP_ASKING)
		return; /* the link tells */
	if (answer->end == RPC_ERROR && answer->code == RPC_NO_LOGIN) {
		acp_finish_error(a, answer, SPEECH_WHY_SILENT, "");
		return;
	}
	if (!settle_take(a, answer)) {
		log_warn(a->log, "acp", "it does not take %s: %.*s", names[a->setting.kind],
			VIEW_FMT(view_cut(answer->message, 200)));
		refused(a, str_view(&a->setting.value));
	}
	a->setting.kind++;
	settle_next(a);
}

/* What works in the background has begun by other rules: it keeps them, and nothing more is begun
 * while those of its user are stricter, or looser. Model and effort wait. */
static bool busy(struct acp *a)
{
	if (a->setting.kind != KNOB_MODE)
		return false;
	acp_reply(a, SPEECH_MODE_BLOCKS);
	acp_finish(a, ENGINE_OK, VIEW_NONE);
	return true;
}

/* Of the knob at hand. True: it is asked for, or the turn has ended. What has been brought once is
 * not brought again: the agent or its user may have changed it since, as at the end of planning. */
static bool settle_one(struct acp *a, struct str *want)
{
	const char *applied = a->here->applied[a->setting.kind];
	bool any = wanted(a, a->setting.kind, want);
	struct knob knob;

	a->setting.restored = !any && applied;
	if (a->setting.restored)
		any = settle_default(a, a->setting.kind, want);
	if (!any || (!a->setting.restored && applied && view_eqs(str_view(want), applied)))
		return false;
	if (!knobs_read(&a->here->knobs, a->setting.kind, &knob))
		return false; /* as effort, of a model that does not think */
	if (view_eq(knob.now, str_view(want))) {
		remember(a, a->setting.kind, a->setting.restored ? VIEW_NONE : str_view(want));
		return false;
	}
	if (!knob_value(&knob, str_view(want))) {
		refused(a, str_view(want));
		return false;
	}
	if (work_busy(a, a->here))
		return busy(a);
	settle_send(a, a->setting.kind, &knob, str_view(want), settle_on_answer);
	return true;
}

static void settle_next(struct acp *a)
{
	struct str want = STR_INIT(KNOB_VALUE_MAX);
	bool asked = false;

	while (!asked && a->setting.kind < KNOBS) {
		str_reset(&want);
		asked = settle_one(a, &want);
		if (!asked)
			a->setting.kind++;
	}
	str_release(&want);
	if (!asked)
		a->reached(a, SESSION_SETTLED);
}

void settle_begin(struct acp *a)
{
	if (a->here->made)
		note_owns(a);
	a->setting.kind = KNOB_MODEL;
	settle_next(a);
}
