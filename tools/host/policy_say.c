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

struct warning {
	void (*found)(void *arg, const char *line);
	void *arg;
};

static void warn(const struct warning *w, const char *before, const char *what, const char *after)
{
	struct str line = STR_INIT(1000);
	struct view v = view_of(what);

	(void)str_adds(&line, before);
	(void)text_visible(view_cut(v, utf8_cut(v, 100)), &line);
	(void)str_adds(&line, after);
	w->found(w->arg, str_cstr(&line));
	str_release(&line);
}

void policy_warn(const struct policy *p, void (*found)(void *arg, const char *line), void *arg)
{
	const struct warning w = { found, arg };

	if (policy_verdict(p, "web_fetch", ORIGIN_PHONE) == VERDICT_ALLOW)
		warn(&w, "policy.tools allows web_fetch for any address", "",
			": a page can make the agent send the workspace away");
	for (size_t i = 0; p && i < p->noverrides; i++) {
		const struct policy_override *o = &p->overrides[i];

		if (o->verdict == VERDICT_ALLOW && view_ends(view_of(o->name), VIEW("*")))
			warn(&w, "policy.tools allows ", o->text,
				": whatever that server offers runs unasked");
	}
	for (size_t i = 0; p && i < p->ncommands; i++)
		if (p->commands[i].network)
			warn(&w, "policy.shell_allow gives the network to \"", p->commands[i].text,
				"\": what it runs can send the workspace away");
}

void policy_warn_programs(const struct policy *p, const char *workspace,
	void (*found)(void *arg, const char *line), void *arg)
{
	const struct warning w = { found, arg };
	char path[PATH_SIZE];

	for (size_t i = 0; p && i < p->ncommands; i++) {
		struct err e = ERR_INIT;

		if (argv_program(p->commands[i].argv.v[0], workspace, path, &e) < 0)
			warn(&w, "an entry of policy.shell_allow cannot run: ", e.msg, "");
	}
}
