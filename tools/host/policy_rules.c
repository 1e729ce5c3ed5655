#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/host/policy-private.h"

#define NETWORK_MARK "[network] "

/* --- shell, write, web ------------------------------------------------------------------------ */

static void set_remote(struct policy_row *row, enum verdict v)
{
	for (int o = 0; o < ORIGIN_COUNT; o++)
		if (o != ORIGIN_TERMINAL)
			row->of[o] = v;
}

static void apply_web(struct policy_row *row, enum verdict v)
{
	if (v == VERDICT_ALLOW)
		return; /* the row as it stands: web_fetch has its exception */
	set_remote(row, v);
	row->exception = EXCEPT_NONE;
}

static void apply_shell(struct policy_row *row, enum shell_rule rule)
{
	set_remote(row, rule == SHELL_ASK ? VERDICT_ASK : VERDICT_DENY);
	/* What a session will be told is not known when it begins. */
	if (rule != SHELL_DENY && strcmp(row->tool, "shell") == 0)
		row->exception = EXCEPT_ENTRY;
}

static void apply(struct policy_row *row, const struct policy_rules *rules)
{
	switch (row->kind) {
	case KIND_WRITE: set_remote(row, rules->write); break;
	case KIND_SEARCH:
	case KIND_FETCH: apply_web(row, rules->web); break;
	case KIND_SHELL: apply_shell(row, rules->shell); break;
	default: break;
	}
}

/* --- shell_allow ------------------------------------------------------------------------------ */

/* "entry 2 of policy.shell_allow, "ls; id": ..." */
static int bad_entry(const char *list, size_t i, const char *entry, struct err *e)
{
	struct str shown = STR_INIT(400);
	struct view v = view_of(entry);

	(void)text_visible(view_cut(v, utf8_cut(v, 60)), &shown);
	(void)err_wrap(e, "entry %zu of policy.%s, \"%s\"", i + 1, list, str_cstr(&shown));
	str_release(&shown);
	return -1;
}

static int take_command(struct policy *p, const char *entry, struct err *e)
{
	struct policy_command *c = &p->commands[p->ncommands];
	bool network;

	c->network = view_starts(view_of(entry), VIEW(NETWORK_MARK));
	entry += c->network ? strlen(NETWORK_MARK) : 0;
	if (argv_parse(&c->argv, view_of(entry), e) < 0)
		return -1;
	if (policy_has_command(p, &c->argv, &network)) {
		argv_release(&c->argv);
		return err_set(e, E_FORMAT, "the command stands there twice");
	}
	c->text = strdup(entry);
	p->ncommands++;
	return c->text ? 0 : err_set(e, E_NOMEM, "the policy");
}

static int take_commands(struct policy *p, const char *const *list, struct err *e)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	p->commands = calloc(n + 1, sizeof(*p->commands));
	if (!p->commands)
		return err_set(e, E_NOMEM, "the policy");
	for (size_t i = 0; i < n; i++)
		if (take_command(p, list[i], e) < 0)
			return bad_entry("shell_allow", i, list[i], e);
	return 0;
}

/* --- tools ------------------------------------------------------------------------------------ */

static int read_verdict(struct view v, enum verdict *out, struct err *e)
{
	for (int i = VERDICT_DENY; i <= VERDICT_ALLOW; i++) {
		if (view_eqs(v, verdict_name((enum verdict)i))) {
			*out = (enum verdict)i;
			return 0;
		}
	}
	return err_set(e, E_FORMAT, "expected NAME=deny, NAME=ask or NAME=allow");
}

static bool is_word(struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '-')
			return false;
	}
	return v.n > 0;
}

/* "files.read" becomes "mcp__files__read", "files.*" "mcp__files__*". */
static int mcp_name(struct view text, struct str *out, struct err *e)
{
	struct view server = view_cut(text, view_find(text, '.'));
	struct view tool = view_from(text, server.n + 1);
	struct str all = STR_INIT(200);
	bool good = is_word(server) && (is_word(tool) || view_eqs(tool, "*")) &&
	            str_add(&all, server) == 0 && !strstr(str_cstr(&all), "__");

	str_release(&all);
	if (!good)
		return err_set(e, E_FORMAT,
			"a tool of an MCP server is named as SERVER.TOOL, all of its tools as SERVER.*");
	return str_addf(out, "mcp__%.*s__%.*s", VIEW_FMT(server), VIEW_FMT(tool)) < 0
	               ? err_set(e, E_FORMAT, "the name is too long")
	               : 0;
}

static const char *nearest(const char *name)
{
	const char *best = policy_rows[0].tool;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < POLICY_ROWS; i++) {
		size_t d = text_distance(name, policy_rows[i].tool);

		if (policy_rows[i].kind != KIND_MCP && d < least) {
			least = d;
			best = policy_rows[i].tool;
		}
	}
	return best;
}

static int check_name(const char *name, enum verdict v, struct err *e)
{
	const struct policy_row *row = policy_row(NULL, name);

	if (!row || (row->kind == KIND_MCP && !strstr(name, "__")))
		return err_set(e, E_FORMAT, "there is no tool \"%.40s\", did you mean %s?", name,
			nearest(name));
	if (row->kind == KIND_FIXED && v != VERDICT_DENY)
		return err_set(e, E_FORMAT, "no setting allows %s", name);
	if (row->kind == KIND_SHELL && v == VERDICT_ALLOW)
		return err_set(e, E_FORMAT,
			"%s is at most asked for; single commands are allowed by "
			"policy.shell_allow",
			name);
	return 0;
}

static int take_override(struct policy *p, const char *entry, struct err *e)
{
	struct policy_override *o = &p->overrides[p->noverrides];
	struct view text = view_cut(view_of(entry), view_find(view_of(entry), '='));
	struct str name = STR_INIT(128);
	int rc = -1;

	if (read_verdict(view_from(view_of(entry), text.n + 1), &o->verdict, e) < 0)
		return -1;
	if (view_find(text, '.') < text.n)
		rc = mcp_name(text, &name, e);
	else if (is_word(text) && str_add(&name, text) == 0)
		rc = 0;
	else
		(void)err_set(e, E_FORMAT, "the name is none of a tool");
	if (rc == 0)
		rc = check_name(str_cstr(&name), o->verdict, e);
	for (size_t i = 0; rc == 0 && i < p->noverrides; i++)
		if (view_eqs(str_view(&name), p->overrides[i].name))
			rc = err_set(e, E_FORMAT, "the tool stands there twice");
	if (rc == 0) {
		o->text = strndup(text.p, text.n);
		o->name = str_take(&name);
		p->noverrides++;
		rc = o->text && o->name ? 0 : err_set(e, E_NOMEM, "the policy");
	}
	str_release(&name);
	return rc;
}

static int take_overrides(struct policy *p, const char *const *list, struct err *e)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	p->overrides = calloc(n + 1, sizeof(*p->overrides));
	if (!p->overrides)
		return err_set(e, E_NOMEM, "the policy");
	for (size_t i = 0; i < n; i++)
		if (take_override(p, list[i], e) < 0)
			return bad_entry("tools", i, list[i], e);
	return 0;
}

/* --- Opening ---------------------------------------------------------------------------------- */

int policy_open(struct policy **out, const struct policy_rules *rules, struct err *e)
{
	struct policy *p = calloc(1, sizeof(*p));
	struct err why = ERR_INIT;

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "the policy");
	memcpy(p->rows, policy_rows, sizeof(policy_rows));
	for (size_t i = 0; i < POLICY_ROWS; i++)
		apply(&p->rows[i], rules);
	if (take_commands(p, rules->shell_allow, &why) < 0 ||
		take_overrides(p, rules->tools, &why) < 0) {
		policy_free(&p);
		return err_set(e, why.code, "%s", why.msg);
	}
	*out = p;
	return 0;
}

void policy_free(struct policy **pp)
{
	struct policy *p = *pp;

	*pp = NULL;
	if (!p)
		return;
	for (size_t i = 0; i < p->ncommands; i++) {
		free(p->commands[i].text);
		argv_release(&p->commands[i].argv);
	}
	for (size_t i = 0; i < p->noverrides; i++) {
		free(p->overrides[i].text);
		free(p->overrides[i].name);
	}
	free(p->commands);
	free(p->overrides);
	free(p);
}
