/* tools/host/policy-private.h: the table and what the operator's rules become; shared by the files
 * of the policy alone. */
#ifndef TOOLS_HOST_POLICY_PRIVATE_H
#define TOOLS_HOST_POLICY_PRIVATE_H

#include <stddef.h>

#include "tools/host/policy.h"

/* A name that ends in "*" covers every tool that begins with the rest. What is not written is 0,
 * and that is VERDICT_DENY. */
struct policy_row {
	const char *tool;
	enum policy_kind kind;
	enum policy_exception exception;
	enum verdict of[ORIGIN_COUNT];
};

#define POLICY_ROWS 16
extern const struct policy_row policy_rows[POLICY_ROWS];

/* An entry of shell_allow. */
struct policy_command {
	char *text; /* as it was written, without the mark */
	struct argv argv;
	bool network;
};

/* An entry of policy.tools: for every origin. */
struct policy_override {
	char *text; /* "files.*" */
	char *name; /* "mcp__files__*" */
	enum verdict verdict;
};

struct policy {
	struct policy_row rows[POLICY_ROWS];
	struct policy_command *commands;
	size_t ncommands;
	struct policy_override *overrides;
	size_t noverrides;
};

const struct policy_row *policy_row(const struct policy *p, const char *tool);
/* The exact name before one with "*"; NULL: none speaks of it. */
const struct policy_override *policy_override(const struct policy *p, const char *tool);

#endif
