/* tools/host/audit.h: what was asked, decided and done: JSON lines, one file a day, redacted.
 * At most 1 MiB an event; a failure never changes a result. */
#ifndef TOOLS_HOST_AUDIT_H
#define TOOLS_HOST_AUDIT_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "tools/host/origin.h"

struct audit;

int audit_open(struct audit **out, const char *dir, const struct clock *clk, struct err *e);
void audit_close(struct audit **a);

struct audit_event {
	uint64_t turn;
	enum origin origin;
	const char *tool, *call_id;
	struct view args;    /* JSON; file contents are left out */
	const char *verdict; /* "allow", "deny", "ask" */
	const char *outcome; /* "started", "ok", "failed", "cancelled", "refused" */
	const char *detail;
	int64_t ms;
};
void audit_write(struct audit *a, const struct audit_event *ev); /* a NULL: nothing */

#endif
