/* tools/host/policy.h: the one table that says allow, ask or deny. What has no row, or no entry in
 * its row, is denied; the operator's rules change cells, never the shape. */
#ifndef TOOLS_HOST_POLICY_H
#define TOOLS_HOST_POLICY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "tools/host/argv.h"
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
	/* Commands without need of a shell; one that begins with "[network] " may use the network.
	 * NULL-terminated, or NULL: none. */
	const char *const *shell_allow;
	enum verdict write, web; /* web ALLOW: web_fetch still keeps to its exception */
	/* "NAME=deny", "NAME=ask", "NAME=allow". NAME: a tool of the table, or "SERVER.TOOL" or
	 * "SERVER.*" of MCP. NULL-terminated, or NULL. */
	const char *const *tools;
};
#define POLICY_RULES_DEFAULT \
	((struct policy_rules){ .shell = SHELL_DENY, .write = VERDICT_ALLOW, .web = VERDICT_ALLOW })

struct policy;
/* rules are copied. E_FORMAT: an entry that cannot be; the message names the entry and says what is
 * wrong with it. */
int policy_open(struct policy **out, const struct policy_rules *rules, struct err *e);
void policy_free(struct policy **p);

/* p NULL: the defaults. tool: a registered name (of MCP: "mcp__SERVER__TOOL"), or one that policy
 * knows although it is not built in (refused by name). */
enum verdict policy_verdict(const struct policy *p, const char *tool, enum origin origin);

/* A call that would be asked for or denied is allowed if it meets the exception of its tool. */
enum policy_exception {
	EXCEPT_NONE,
	EXCEPT_ADDRESS, /* it stands in the user's words or a search result of the turn */
	EXCEPT_ENTRY    /* the command is an entry of shell_allow */
};
enum policy_exception policy_exception(const struct policy *p, const char *tool,
	enum origin origin);
/* Is the command an entry, word for word? *network: whether it may use the network. */
bool policy_has_command(const struct policy *p, const struct argv *command, bool *network);

/* Can a call of it come to anything but a refusal? */
bool policy_offers(const struct policy *p, const char *tool, enum origin origin);
/* Does the table have a row for it? */
bool policy_knows(const char *tool);

/* Which setting decides about a tool: "policy.shell"; NULL: none can. */
const char *policy_setting(const struct policy *p, const char *tool);
/* Why a tool that is denied is denied, and how the operator could allow it; for the model. */
void policy_say_denied(const struct policy *p, const char *tool, enum origin origin,
	struct str *out);
/* The entries of shell_allow as a list in quotes; "" when there are none. */
void policy_list_commands(const struct policy *p, struct str *out);
/* What stands wide open, and by which entry, which is fit to be shown. */
enum policy_risk { RISK_FETCH, RISK_SERVER, RISK_NETWORK };
void policy_risks(const struct policy *p,
	void (*found)(void *arg, enum policy_risk risk, const char *entry), void *arg);

/* found is called with a line for each entry of shell_allow that cannot run here: its program is
 * missing, or lies in the workspace. */
void policy_warn_programs(const struct policy *p, const char *workspace,
	void (*found)(void *arg, const char *line), void *arg);

/* The table for people: tools of a kind have one answer, but for those that policy.tools names. */
enum policy_kind {
	KIND_READ,
	KIND_WRITE,
	KIND_SEARCH,
	KIND_FETCH,
	KIND_SHELL,
	KIND_MCP,
	KIND_FIXED, /* what no setting allows */
	KIND_COUNT
};
enum verdict policy_kind_verdict(const struct policy *p, enum policy_kind kind, enum origin origin);
enum policy_exception policy_kind_exception(const struct policy *p, enum policy_kind kind);
/* What policy.tools says, "NAME=ask, NAME=deny"; "" when nothing. */
void policy_list_tools(const struct policy *p, struct str *out);

#endif
