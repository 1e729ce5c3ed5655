/* cli/policy.h: the policy as settings and as text for people. */
#ifndef CLI_POLICY_H
#define CLI_POLICY_H

#include "cli/config.h"
#include "tools/host/policy.h"

/* rules borrows from c. */
void policy_rules_from(struct policy_rules *rules, const struct config *c);
/* Would the lists of the settings do? e names the entry. */
int policy_check_lists(char *const *shell_allow, char *const *tools, struct err *e);

/* What requests from the phone may do: a line for each kind of tool. */
void policy_text(const struct policy *p, const struct config *c, bool zh, struct str *out);

/* A line for each thing that stands wide open, for doctor and status. */
void policy_warn(const struct policy *p, bool zh, void (*found)(void *arg, const char *line),
	void *arg);

#endif
