/* What becomes of a call before it is started: its verdict, the consent it needs, its record. */
#include <string.h>

#include "base/text.h"
#include "tools/host/consent.h"
#include "tools/host/registry-private.h"

#define REFUSED_ARGS ((size_t)4 << 10) /* bytes of a refused call's arguments that are recorded */

int tools_note(struct tools *t, const struct tool_call *c, enum verdict v, const char *outcome,
	const char *detail, struct err *e)
{
	struct audit_event ev = { .turn = c->turn, .origin = c->origin, .tool = c->name };
	const struct tool_spec *spec = spec_find(c->name);
	struct str shown = STR_INIT(TOOL_ARGS_MAX);
	struct json *args = NULL;
	int rc;

	/* Arguments that are wrong may hold a file's content in the wrong place. A refusal costs
	 * whoever calls nothing: many of them shall not push the rest out of the audit. */
	if (spec && spec->hidden) {
		if (judge_args(c, spec, &args, NULL) == 0)
			run_audit_args(spec, args, &shown);
	} else if (v == VERDICT_DENY && c->args.n > REFUSED_ARGS) {
		(void)str_addf(&shown, "%.*s[cut]",
			VIEW_FMT(view_cut(c->args, utf8_cut(c->args, REFUSED_ARGS))));
	} else {
		ev.args = c->args;
	}
	if (shown.n > 0)
		ev.args = str_view(&shown);
	ev.call_id = c->id;
	ev.verdict = verdict_name(v);
	ev.outcome = outcome;
	ev.detail = detail;
	rc = audit_write(t->env.audit, &ev, e);
	json_free(&args);
	str_release(&shown);
	return rc;
}

enum verdict tools_weigh(struct tools *t, const struct tool_call *c, struct str *why)
{
	struct judgement j;

	judge(t, c, &j, why);
	judgement_release(&j);
	return j.verdict;
}

enum verdict tools_verdict(struct tools *t, const struct tool_call *c, struct str *why)
{
	enum verdict v = tools_weigh(t, c, why);

	if (v == VERDICT_DENY)
		(void)tools_note(t, c, v, "refused", str_cstr(why), NULL);
	return v;
}

int tools_fingerprint(const struct tools *t, const struct tool_call *c, char hex[TOOL_FINGERPRINT],
	struct err *e)
{
	const struct tool_spec *spec = spec_find(c->name);
	struct json *args;
	int rc;

	if (!spec)
		return err_set(e, E_NOTFOUND, "there is no such tool");
	if (judge_args(c, spec, &args, e) < 0)
		return -1;
	rc = consent_fingerprint(c->name, t->workspace, args, hex, e);
	json_free(&args);
	return rc;
}

static int check_consent(const struct tools *t, const struct tool_call *c, const struct json *args,
	struct err *e)
{
	char hex[CONSENT_HEX];

	if (!c->consent)
		return err_set(e, E_DENIED, "%s needs the user's consent", c->name);
	if (consent_fingerprint(c->name, t->workspace, args, hex, e) < 0)
		return -1;
	if (strcmp(hex, c->consent) != 0)
		return err_set(e, E_DENIED, "the consent was given to another call of %s", c->name);
	return 0;
}

int registry_permit(struct tools *t, const struct tool_call *c, struct judgement *j, struct err *e)
{
	struct str why = STR_INIT(4096);
	struct err none = ERR_INIT;
	int rc = 0;

	e = e ? e : &none;
	judge(t, c, j, &why);
	if (j->verdict == VERDICT_DENY)
		rc = err_set(e, E_DENIED, "%s", str_cstr(&why));
	else if (j->verdict == VERDICT_ASK)
		rc = check_consent(t, c, j->args, e);
	if (rc < 0)
		(void)tools_note(t, c, j->verdict, "refused", e->msg, NULL);
	str_release(&why);
	return rc;
}
