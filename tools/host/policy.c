#include "tools/host/policy.h"

#include <stdlib.h>
#include <string.h>

/* Which of the operator's rules speaks of a row. */
enum group { GROUP_FIXED, GROUP_READ, GROUP_WRITE, GROUP_WEB, GROUP_SHELL, GROUP_MCP };

/* A name that ends in "*" covers every tool that begins with the rest. The columns stand in the
 * order of enum origin; what is not written is 0, and that is VERDICT_DENY. */
struct policy_row {
	const char *tool;
	enum group group;
	enum policy_exception exception;
	enum verdict of[ORIGIN_COUNT];
};

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

static const struct policy_row rows[] = {
	{ "read_file", GROUP_READ, EXCEPT_NONE, ALLOWED },
	{ "list_dir", GROUP_READ, EXCEPT_NONE, ALLOWED },
	{ "glob", GROUP_READ, EXCEPT_NONE, ALLOWED },
	{ "grep", GROUP_READ, EXCEPT_NONE, ALLOWED },
	{ "todo", GROUP_READ, EXCEPT_NONE, ALLOWED },
	{ "write_file", GROUP_WRITE, EXCEPT_NONE, ALLOWED },
	{ "apply_patch", GROUP_WRITE, EXCEPT_NONE, ALLOWED },
	{ "create_project", GROUP_WRITE, EXCEPT_NONE, ALLOWED },
	{ "web_search", GROUP_WEB, EXCEPT_NONE, ALLOWED },
	/* A page must not be able to send the workspace away in an address of its making. */
	{ "web_fetch", GROUP_WEB, EXCEPT_ADDRESS, ASKED },
	{ "shell", GROUP_SHELL, EXCEPT_NONE, AT_THE_DESK },
	{ "shell_session", GROUP_SHELL, EXCEPT_NONE, AT_THE_DESK },
	{ "mcp*", GROUP_MCP, EXCEPT_NONE, AT_THE_DESK },
	/* Known, so that a refusal can name them; no rule reaches them. */
	{ "restore_snapshot", GROUP_FIXED, EXCEPT_NONE, { VERDICT_DENY } },
	{ "browser_session", GROUP_FIXED, EXCEPT_NONE, { VERDICT_DENY } },
};

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

struct policy {
	struct policy_row rows[NROWS];
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

/* --- The rules -------------------------------------------------------------------------------- */

static void set_remote(struct policy_row *row, enum verdict v)
{
	for (int o = 0; o < ORIGIN_COUNT; o++)
		if (o != ORIGIN_TERMINAL)
			row->of[o] = v;
}

static void apply_web(struct policy_row *row, enum verdict v)
{
	if (v == VERDICT_ALLOW)
		return; /* the row as it stands */
	set_remote(row, v);
}

static void apply(struct policy_row *row, const struct policy_rules *rules)
{
	switch (row->group) {
	case GROUP_FIXED:
	case GROUP_READ:
	case GROUP_MCP: break;
	case GROUP_WRITE: set_remote(row, rules->write); break;
	case GROUP_WEB: apply_web(row, rules->web); break;
	case GROUP_SHELL:
		set_remote(row, rules->shell == SHELL_ASK ? VERDICT_ASK : VERDICT_DENY);
		break;
	}
}

int policy_open(struct policy **out, const struct policy_rules *rules, struct err *e)
{
	struct policy *p = malloc(sizeof(*p));

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "the policy");
	memcpy(p->rows, rows, sizeof(rows));
	for (size_t i = 0; i < NROWS; i++)
		apply(&p->rows[i], rules);
	*out = p;
	return 0;
}

void policy_free(struct policy **p)
{
	free(*p);
	*p = NULL;
}

/* --- The verdict ------------------------------------------------------------------------------ */

static const struct policy_row *row_of(const struct policy *p, const char *tool)
{
	const struct policy_row *all = p ? p->rows : rows;

	for (size_t i = 0; tool && i < NROWS; i++) {
		const char *name = all[i].tool;
		size_t n = strlen(name);

		if (name[n - 1] == '*' ? strncmp(tool, name, n - 1) == 0 : strcmp(tool, name) == 0)
			return &all[i];
	}
	return NULL;
}

enum verdict policy_verdict(const struct policy *p, const char *tool, enum origin origin)
{
	const struct policy_row *row = row_of(p, tool);

	if (!row || (size_t)origin >= ORIGIN_COUNT)
		return VERDICT_DENY;
	return row->of[origin];
}

enum policy_exception policy_exception(const struct policy *p, const char *tool, enum origin origin)
{
	const struct policy_row *row = row_of(p, tool);

	if (!row || (size_t)origin >= ORIGIN_COUNT)
		return EXCEPT_NONE;
	return row->exception;
}

bool policy_offers(const struct policy *p, const char *tool, enum origin origin)
{
	return policy_verdict(p, tool, origin) != VERDICT_DENY ||
	       policy_exception(p, tool, origin) != EXCEPT_NONE;
}

bool policy_knows(const char *tool)
{
	return row_of(NULL, tool);
}
