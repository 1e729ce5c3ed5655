/* tools/host/audit.h: what was asked, decided and done: JSON lines, one file a day, redacted.
 *
 * The folder is private, made anew when it is gone, and no symlink is followed in it. A file that
 * would pass 10 MiB is put aside as NAME.1, what was NAME.5 goes; of the days that have records the
 * newest are kept. Processes take turns by a lock. What is to be recorded before it begins does not
 * begin when that fails; a failure later changes no result. */
#ifndef TOOLS_HOST_AUDIT_H
#define TOOLS_HOST_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "tools/host/origin.h"

#define AUDIT_EVENT_MAX   ((size_t)1 << 20)
#define AUDIT_FILE_MAX    ((int64_t)10 << 20)
#define AUDIT_GENERATIONS 5
#define AUDIT_DAYS        90 /* kept, unless audit_set says otherwise */
#define AUDIT_TAIL_BYTES  ((size_t)1 << 20)
#define AUDIT_TAIL_MAX    ((size_t)100)

struct audit;

int audit_open(struct audit **out, const char *dir, const struct clock *clk, struct err *e);
void audit_close(struct audit **a);
/* log NULL: failures go untold. days: so many that have records are kept. They are counted, not
 * measured by the clock: one that jumps deletes nothing that was kept the day before but the
 * oldest. */
void audit_set(struct audit *a, struct log *log, int64_t days);

struct audit_event {
	uint64_t turn;
	enum origin origin;
	const char *tool, *call_id;
	struct view args;    /* JSON; file contents are left out */
	const char *verdict; /* "allow", "deny", "ask" */
	/* "started", "ok", "failed", "cancelled"; "refused" by the policy or the user; of a
	 * question "asked", "consented", "expired", "undeliverable"; of what an agent does itself
	 * "allowed", or "unasked" when it did not ask; "lost" when the end of what was begun or
	 * asked was never recorded. */
	const char *outcome;
	const char *detail;
	int64_t ms;
};
/* a NULL: nothing. -1: it is not recorded; the log has it, once until it works again. */
int audit_write(struct audit *a, const struct audit_event *ev, struct err *e);
/* Why the newest record was not written; "" when it was. */
const char *audit_fault(const struct audit *a);

/* What a process that was killed has left begun or asked gets its end, "lost", among the newest
 * records. Before a writes anything else, and while nobody else does. */
void audit_end_lost(struct audit *a);

/* The newest records, at most max (and AUDIT_TAIL_MAX) and of the last AUDIT_TAIL_BYTES, oldest
 * first. What is no record is skipped and counted. E_NOTFOUND: nothing has been recorded. */
int audit_tail(const char *dir, size_t max, void (*found)(void *arg, const struct json *record),
	void *arg, size_t *skipped, struct err *e);

#endif
