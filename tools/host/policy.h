/* tools/host/policy.h: the one table that says allow, ask or deny. What has no row, or no entry in
 * its row, is denied; the operator's rules change cells, never the shape. */
#ifndef TOOLS_HOST_POLICY_H
#define TOOLS_HOST_POLICY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "tools/host/origin.h"

enum verdict { VERDICT_DENY, VERDICT_ASK, VERDICT_ALLOW };
const char *verdict_name(enum verdict v);

enum shell_rule {
	SHELL_DENY,
	SHELL_ALLOWLIST, /* a command of shell_allow is allowed, any other denied */
	SHELL_ASK        /* a command of shell_allow is allowed, any other asked for */
};

/* What the operator may say. shell, write and web hold for requests from the phone, the API and the
 * schedule; tools names a tool for every origin. The zero value denies whatever it covers. */
struct policy_rules {
	enum shell_rule shell;
	const char *const *shell_allow; /* commands; NULL-terminated, or NULL: none */
	enum verdict write, web;
	const char *const *tools; /* "NAME=deny", "=ask", "=allow"; NULL-terminated, or NULL */
};
#define POLICY_RULES_DEFAULT \
	((struct policy_rules){ .shell = SHELL_DENY, .write = VERDICT_ALLOW, .web = VERDICT_ALLOW })

struct policy;
/* rules are copied. E_FORMAT: an entry that cannot be; the message names it. */
int policy_open(struct policy **out, const struct policy_rules *rules, struct err *e);
void policy_free(struct policy **p);

/* p NULL: the defaults. tool: a registered name, or one that policy knows although it is not built
 * in (refused by name). */
enum verdict policy_verdict(const struct policy *p, const char *tool, enum origin origin);

/* A call that would be asked for or denied is allowed if it meets the exception of its tool. */
enum policy_exception {
	EXCEPT_NONE,
	EXCEPT_ADDRESS, /* it stands in the user's words or a search result of the turn */
	EXCEPT_ENTRY    /* the command is an entry of policy.shell_allow */
};
enum policy_exception policy_exception(const struct policy *p, const char *tool,
	enum origin origin);
/* Can a call of it come to anything but a refusal? */
bool policy_offers(const struct policy *p, const char *tool, enum origin origin);
/* Does the table have a row for it? */
bool policy_knows(const char *tool);

#endif
