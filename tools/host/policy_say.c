#include <string.h>

#include "base/text.h"
#include "tools/host/policy-private.h"

const char *policy_setting(const struct policy *p, const char *tool)
{
	const struct policy_row *row = policy_row(p, tool);

	if (!row || row->kind == KIND_FIXED)
		return NULL;
	if (policy_override(p, tool))
		return "policy.tools";
	switch (row->kind) {
	case KIND_WRITE: return "policy.write";
	case KIND_SEARCH:
	case KIND_FETCH: return "policy.web";
	case KIND_SHELL: return "policy.shell";
	default: return "policy.tools";
	}
}

/* "mcp__files__read" as policy.tools has it: "files.read". */
static void add_mcp_text(const char *tool, struct str *out)
{
	const char *server = strstr(tool, "__"), *name = server ? strstr(server + 2, "__") : NULL;

	if (name)
		(void)str_addf(out, "%.*s.%s", (int)(name - server - 2), server + 2, name + 2);
	else
		(void)str_adds(out, "SERVER.TOOL");
}

/* What the operator can write into config.toml. */
static void say_how(const struct policy *p, const char *tool, struct str *out)
{
	const struct policy_row *row = policy_row(p, tool);
	bool overridden = policy_override(p, tool);

	if (!policy_setting(p, tool))
		(void)str_adds(out, "No setting allows it: it is done on the machine itself.");
	else if (row->kind == KIND_SHELL && !overridden)
		(void)str_addf(out,
			"The operator can %sbe asked each time, in config.toml: policy.shell = "
			"\"ask\".",
			strcmp(tool, "shell") == 0
				? "allow single commands, in config.toml: policy.shell = "
				  "\"allowlist\" and policy.shell_allow = [\"git status\"]; or "
				: "");
	else if (row->kind == KIND_MCP) {
		(void)str_adds(out,
			"The operator can allow it, in config.toml: policy.tools = [\"");
		add_mcp_text(tool, out);
		(void)str_adds(out, "=ask\"].");
	} else if (overridden || row->kind == KIND_READ)
		(void)str_addf(out,
			"The operator can change its entry in config.toml: policy.tools = "
			"[\"%s=ask\"].",
			tool);
	else
		(void)str_addf(out, "The operator can allow it, in config.toml: %s = \"ask\".",
			policy_setting(p, tool));
}

void policy_say_denied(const struct policy *p, const char *tool, enum origin origin,
	struct str *out)
{
	(void)str_addf(out, "%s is denied for requests from the %s by the policy of this machine. ",
		tool, origin_name(origin));
	say_how(p, tool, out);
	(void)str_adds(out, " Tell the user so; do not try to reach the same by other means.");
}

void policy_list_commands(const struct policy *p, struct str *out)
{
	for (size_t i = 0; p && i < p->ncommands; i++)
		(void)str_addf(out, "%s\"%s\"", i ? ", " : "", p->commands[i].text);
}

void policy_list_tools(const struct policy *p, struct str *out)
{
	for (size_t i = 0; p && i < p->noverrides; i++)
		(void)str_addf(out, "%s%s=%s", i ? ", " : "", p->overrides[i].text,
			verdict_name(p->overrides[i].verdict));
}

struct risks {
	void (*found)(void *arg, enum policy_risk risk, const char *entry);
	void *arg;
};

static void tell_risk(const struct risks *r, enum policy_risk risk, const char *entry)
{
	struct str shown = STR_INIT(1000);
	struct view v = view_of(entry);

	(void)text_visible(view_cut(v, utf8_cut(v, 100)), &shown);
	r->found(r->arg, risk, str_cstr(&shown));
	str_release(&shown);
}

void policy_risks(const struct policy *p,
	void (*found)(void *arg, enum policy_risk risk, const char *entry), void *arg)
{
	const struct risks r = { found, arg };

	if (policy_verdict(p, "web_fetch", ORIGIN_PHONE) == VERDICT_ALLOW)
		tell_risk(&r, RISK_FETCH, "web_fetch");
	for (size_t i = 0; p && i < p->noverrides; i++) {
		const struct policy_override *o = &p->overrides[i];

		if (o->verdict == VERDICT_ALLOW && view_ends(view_of(o->name), VIEW("*")))
			tell_risk(&r, RISK_SERVER, o->text);
	}
	for (size_t i = 0; p && i < p->ncommands; i++)
		if (p->commands[i].network)
			tell_risk(&r, RISK_NETWORK, p->commands[i].text);
}

void policy_warn_programs(const struct policy *p, const char *workspace,
	void (*found)(void *arg, const char *line), void *arg)
{
	char path[PATH_SIZE];

	for (size_t i = 0; p && i < p->ncommands; i++) {
		struct str line = STR_INIT(1000);
		struct err e = ERR_INIT;
		struct view why;

		if (argv_program(p->commands[i].argv.v[0], workspace, path, &e) == 0)
			continue;
		why = view_of(e.msg);
		(void)str_adds(&line, "an entry of policy.shell_allow cannot run: ");
		(void)text_visible(view_cut(why, utf8_cut(why, 100)), &line);
		found(arg, str_cstr(&line));
		str_release(&line);
	}
}
