/* tools/host/policy.h: the one table that says allow, ask or deny. What has no row, or no entry in
 * its row, is denied. */
#ifndef TOOLS_HOST_POLICY_H
#define TOOLS_HOST_POLICY_H

#include <stdbool.h>

#include "base/str.h"
#include "tools/host/origin.h"

enum verdict { VERDICT_DENY, VERDICT_ASK, VERDICT_ALLOW };

/* tool: a registered name, or one that policy knows although it is not built in (refused by
 * name). */
enum verdict policy_verdict(const char *tool, enum origin origin);
/* Does the table have a row for it? */
bool policy_knows(const char *tool);
const char *verdict_name(enum verdict v);

#endif
