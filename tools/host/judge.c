#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/host/registry-private.h"
#include "tools/patch_parse.h"

static const struct json_limits args_limits = {
	.bytes = TOOL_ARGS_MAX,
	.depth = 32,
	.nodes = 200000,
	.nul = JSON_NUL_REFUSE,
};

int judge_args(const struct tool_call *c, const struct tool_spec *spec, struct json **args,
	struct err *e)
{
	if (json_read(args, c->args, &args_limits, e) < 0)
		return -1;
	if (json_type(*args) != JSON_OBJECT)
		(void)err_set(e, E_FORMAT, "they are not one JSON object");
	else if (spec_check(spec, *args, e) == 0)
		return 0;
	json_free(args);
	return -1;
}

/* --- Refusals --------------------------------------------------------------------------------- */

static void list_names(const struct tools *t, enum origin origin, struct str *out)
{
	bool first = true;

	for (size_t i = 0; i < spec_count(); i++) {
		if (!registry_offers(t, spec_at(i), origin))
			continue;
		(void)str_addf(out, "%s%s", first ? "" : ", ", spec_at(i)->name);
		first = false;
	}
}

static void say_no_tool(const struct tools *t, const struct tool_call *c, struct str *why)
{
	struct view name = view_of(c->name);
	const struct tool_spec *spec = spec_find(c->name);

	if (spec && !registry_present(t, spec)) {
		(void)str_addf(why,
			"%s is not set up on this machine. Tell the user so, or do without it.",
			c->name);
		return;
	}
	if (policy_knows(c->name)) {
		policy_say_denied(t->env.policy, c->name, c->origin, why);
		return;
	}
	(void)str_adds(why, "There is no tool \"");
	(void)text_visible(view_cut(name, utf8_cut(name, 64)), why);
	(void)str_adds(why, "\". The tools are: ");
	list_names(t, c->origin, why);
	(void)str_adds(why, ".");
}

/* No entry of policy.shell_allow is this command. */
static void say_no_entry(const struct tools *t, const struct err *shell, struct str *why)
{
	(void)str_adds(why, "This command is not one that the policy of this machine allows");
	if (shell->code != E_OK)
		(void)str_addf(why, ": %s, so that no entry can allow it", shell->msg);
	(void)str_adds(why, ". Allowed are, word for word: ");
	policy_list_commands(t->env.policy, why);
	(void)str_adds(why,
		". The operator can add an entry to policy.shell_allow in config.toml, or set "
		"policy.shell = \"ask\". Tell the user so; do not try to reach the same by other "
		"means.");
}

/* --- Exceptions ------------------------------------------------------------------------------- */

static struct view text_of(const struct json *args, const char *name)
{
	struct view v = VIEW_NONE;

	(void)json_get_str(args, name, JSON_OPTIONAL, 0, TOOL_ARGS_MAX, &v, NULL);
	return v;
}

/* A command that is an entry becomes the vector to be run. */
static void judge_entry(const struct tools *t, struct judgement *j, struct str *why)
{
	char program[PATH_SIZE];
	struct err e = ERR_INIT;
	struct argv a;
	char *path;

	if (argv_parse(&a, text_of(j->args, "command"), &e) < 0 ||
		!policy_has_command(t->env.policy, &a, &j->network)) {
		if (j->verdict == VERDICT_DENY)
			say_no_entry(t, &e, why);
	} else if (argv_program(a.v[0], t->workspace, program, &e) < 0 ||
		   !(path = strdup(program))) {
		if (j->verdict == VERDICT_DENY)
			(void)str_addf(why, "The command is allowed but cannot be run: %s.", e.msg);
	} else {
		free(a.v[0]);
		a.v[0] = path;
		j->argv = a;
		j->verdict = VERDICT_ALLOW;
		return;
	}
	argv_release(&a);
}

static void judge_exception(const struct tools *t, const struct tool_call *c, struct judgement *j,
	struct str *why)
{
	switch (policy_exception(t->env.policy, c->name, c->origin)) {
	case EXCEPT_NONE: break;
	case EXCEPT_ADDRESS:
		if (turn_allows(&t->turns, c->turn, text_of(j->args, "url")))
			j->verdict = VERDICT_ALLOW;
		break;
	case EXCEPT_ENTRY: judge_entry(t, j, why); break;
	}
}

/* To end a session, or to ask which there are, runs nothing: that needs no consent. */
static bool runs_nothing(const struct judgement *j)
{
	return j->spec->lives && text_of(j->args, "command").n == 0;
}

/* Nobody is asked about a patch that says nothing. */
static int check_patch(const struct tool_call *c, const struct judgement *j, struct err *e)
{
	struct patch *patch;
	int rc;

	if (!j->spec->patch || c->foreign)
		return 0;
	rc = patch_parse(&patch, text_of(j->args, j->spec->patch), e);
	patch_free(&patch);
	return rc;
}

/* --- The verdict ------------------------------------------------------------------------------ */

void judge(struct tools *t, const struct tool_call *c, struct judgement *out, struct str *why)
{
	const struct sandbox *sandbox = tools_sandbox(t);
	struct str lacks = STR_INIT(2000);
	struct err e = ERR_INIT;

	*out = (struct judgement){ .spec = spec_find(c->name) };
	if (!out->spec || !registry_offers(t, out->spec, c->origin)) {
		say_no_tool(t, c, why);
		return;
	}
	if (!c->foreign && !out->spec->native &&
		!sandbox_allows(sandbox, out->spec->programs, &lacks)) {
		(void)str_addf(why, "%s is refused: %s.", c->name, str_cstr(&lacks));
		str_release(&lacks);
		return;
	}
	if (judge_args(c, out->spec, &out->args, &e) < 0 || check_patch(c, out, &e) < 0) {
		(void)str_addf(why, "The arguments of %s are wrong: %s. Nothing was done.", c->name,
			e.msg);
		return;
	}
	out->verdict = policy_verdict(t->env.policy, c->name, c->origin);
	if (out->verdict == VERDICT_ASK && runs_nothing(out))
		out->verdict = VERDICT_ALLOW;
	if (out->verdict != VERDICT_ALLOW)
		judge_exception(t, c, out, why);
}

void judgement_release(struct judgement *j)
{
	json_free(&j->args);
	argv_release(&j->argv);
}

enum verdict tools_policy(const struct tools *t, const char *tool, enum origin origin)
{
	return policy_verdict(t->env.policy, tool, origin);
}
