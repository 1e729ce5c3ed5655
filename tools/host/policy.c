#include <string.h>

#include "tools/host/policy-private.h"

#define EVERYWHERE(v) \
	{ \
		[ORIGIN_PHONE] = (v), [ORIGIN_TERMINAL] = (v), [ORIGIN_API] = (v), \
		[ORIGIN_SCHEDULE] = (v) \
	}
#define ALLOWED EVERYWHERE(VERDICT_ALLOW)
#define ASKED   EVERYWHERE(VERDICT_ASK)
#define AT_THE_DESK \
	{ \
		[ORIGIN_TERMINAL] = VERDICT_ASK \
	}
#define NEVER \
	{ \
		VERDICT_DENY \
	}

const struct policy_row policy_rows[POLICY_ROWS] = {
	{ "read_file", KIND_READ, EXCEPT_NONE, ALLOWED },
	{ "list_dir", KIND_READ, EXCEPT_NONE, ALLOWED },
	{ "glob", KIND_READ, EXCEPT_NONE, ALLOWED },
	{ "grep", KIND_READ, EXCEPT_NONE, ALLOWED },
	{ "todo", KIND_READ, EXCEPT_NONE, ALLOWED },
	/* To the one who asked, and only what the check of the one who sends lets through. */
	{ "send_file", KIND_READ, EXCEPT_NONE, ALLOWED },
	{ "write_file", KIND_WRITE, EXCEPT_NONE, ALLOWED },
	{ "apply_patch", KIND_WRITE, EXCEPT_NONE, ALLOWED },
	{ "create_project", KIND_WRITE, EXCEPT_NONE, ALLOWED },
	{ "web_search", KIND_SEARCH, EXCEPT_NONE, ALLOWED },
	/* A page must not be able to send the workspace away in an address of its making. */
	{ "web_fetch", KIND_FETCH, EXCEPT_ADDRESS, ASKED },
	{ "shell", KIND_SHELL, EXCEPT_NONE, AT_THE_DESK },
	{ "shell_session", KIND_SHELL, EXCEPT_NONE, AT_THE_DESK },
	{ "mcp*", KIND_MCP, EXCEPT_NONE, AT_THE_DESK },
	/* Known, so that a refusal can name them; no rule reaches them. */
	{ "restore_snapshot", KIND_FIXED, EXCEPT_NONE, NEVER },
	{ "browser_session", KIND_FIXED, EXCEPT_NONE, NEVER },
};

const char *verdict_name(enum verdict v)
{
	switch (v) {
	case VERDICT_DENY: return "deny";
	case VERDICT_ASK: return "ask";
	case VERDICT_ALLOW: return "allow";
	}
	return "deny";
}

/* Does a name of the table, maybe with "*" at its end, cover the tool? */
static bool covers(const char *name, const char *tool)
{
	size_t n = strlen(name);

	if (n > 0 && name[n - 1] == '*')
		return strncmp(tool, name, n - 1) == 0;
	return strcmp(tool, name) == 0;
}

const struct policy_row *policy_row(const struct policy *p, const char *tool)
{
	const struct policy_row *rows = p ? p->rows : policy_rows;

	for (size_t i = 0; tool && i < POLICY_ROWS; i++)
		if (covers(rows[i].tool, tool))
			return &rows[i];
	return NULL;
}

const struct policy_override *policy_override(const struct policy *p, const char *tool)
{
	const struct policy_override *wide = NULL;

	for (size_t i = 0; p && tool && i < p->noverrides; i++) {
		const struct policy_override *o = &p->overrides[i];

		if (strcmp(o->name, tool) == 0)
			return o;
		if (covers(o->name, tool))
			wide = o;
	}
	return wide;
}

enum verdict policy_verdict(const struct policy *p, const char *tool, enum origin origin)
{
	const struct policy_row *row = policy_row(p, tool);
	const struct policy_override *o = policy_override(p, tool);

	if (!row || (size_t)origin >= ORIGIN_COUNT)
		return VERDICT_DENY;
	return o ? o->verdict : row->of[origin];
}

enum policy_exception policy_exception(const struct policy *p, const char *tool, enum origin origin)
{
	const struct policy_row *row = policy_row(p, tool);

	if (!row || (size_t)origin >= ORIGIN_COUNT || policy_override(p, tool))
		return EXCEPT_NONE;
	return row->exception;
}

bool policy_has_command(const struct policy *p, const struct argv *command, bool *network)
{
	for (size_t i = 0; p && i < p->ncommands; i++) {
		if (argv_equal(&p->commands[i].argv, command)) {
			*network = p->commands[i].network;
			return true;
		}
	}
	return false;
}

bool policy_offers(const struct policy *p, const char *tool, enum origin origin)
{
	return policy_verdict(p, tool, origin) != VERDICT_DENY ||
	       policy_exception(p, tool, origin) != EXCEPT_NONE;
}

bool policy_knows(const char *tool)
{
	return policy_row(NULL, tool);
}

/* --- By kind ---------------------------------------------------------------------------------- */

static const struct policy_row *row_of_kind(const struct policy *p, enum policy_kind kind)
{
	const struct policy_row *rows = p ? p->rows : policy_rows;

	for (size_t i = 0; i < POLICY_ROWS; i++)
		if (rows[i].kind == kind)
			return &rows[i];
	return NULL;
}

enum verdict policy_kind_verdict(const struct policy *p, enum policy_kind kind, enum origin origin)
{
	const struct policy_row *row = row_of_kind(p, kind);

	return row && (size_t)origin < ORIGIN_COUNT ? row->of[origin] : VERDICT_DENY;
}

enum policy_exception policy_kind_exception(const struct policy *p, enum policy_kind kind)
{
	const struct policy_row *row = row_of_kind(p, kind);

	return row ? row->exception : EXCEPT_NONE;
}
