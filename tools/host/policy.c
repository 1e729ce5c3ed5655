#include "tools/host/policy.h"

#include <stddef.h>
#include <string.h>

/* A name that ends in "*" covers every tool that begins with the rest. The columns stand in the
 * order of enum origin; what is not written is 0, and that is VERDICT_DENY. */
struct policy_row {
	const char *tool;
	enum verdict of[ORIGIN_COUNT];
};

/* Reads and writes inside the workspace. */
#define WORKSPACE \
	{ \
		[ORIGIN_PHONE] = VERDICT_ALLOW, [ORIGIN_TERMINAL] = VERDICT_ALLOW, \
		[ORIGIN_API] = VERDICT_ALLOW, [ORIGIN_SCHEDULE] = VERDICT_ALLOW \
	}

static const struct policy_row rows[] = {
	{ "read_file", WORKSPACE },
	{ "list_dir", WORKSPACE },
	{ "glob", WORKSPACE },
	{ "grep", WORKSPACE },
	{ "write_file", WORKSPACE },
	/* Known, so that a refusal can name it. */
	{ "apply_patch", { VERDICT_DENY } },
	{ "create_project", { VERDICT_DENY } },
	{ "shell", { VERDICT_DENY } },
	{ "shell_session", { VERDICT_DENY } },
	{ "web_fetch", { VERDICT_DENY } },
	{ "web_search", { VERDICT_DENY } },
	{ "mcp*", { VERDICT_DENY } },
	{ "restore_snapshot", { VERDICT_DENY } },
	{ "browser_session", { VERDICT_DENY } },
};

static const struct policy_row *row_of(const char *tool)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = rows[i].tool;
		size_t n = strlen(name);

		if (name[n - 1] == '*' ? strncmp(tool, name, n - 1) == 0 : strcmp(tool, name) == 0)
			return &rows[i];
	}
	return NULL;
}

enum verdict policy_verdict(const char *tool, enum origin origin)
{
	const struct policy_row *row = tool ? row_of(tool) : NULL;

	if (!row || (size_t)origin >= ORIGIN_COUNT)
		return VERDICT_DENY;
	return row->of[origin];
}

bool policy_knows(const char *tool)
{
	return tool && row_of(tool);
}

const char *verdict_name(enum verdict v)
{
	switch (v) {
	case VERDICT_DENY: return "deny";
	case VERDICT_ASK: return "ask";
	case VERDICT_ALLOW: return "allow";
	}
	return "deny";
}
