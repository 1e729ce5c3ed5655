/* tools/host/audit-private.h: names in the audit's folder; shared by its files alone. */
#ifndef TOOLS_HOST_AUDIT_PRIVATE_H
#define TOOLS_HOST_AUDIT_PRIVATE_H

#include "base/file.h"
#include "tools/host/audit.h"

#define AUDIT_LOCK "audit.lock"
#define AUDIT_NAME 32

/* "2026-11-30.jsonl" and, put aside, "2026-11-30.jsonl.3". */
struct audit_name {
	char text[AUDIT_NAME];
	int generation; /* 0: written to */
};

const char *audit_dir(const struct audit *a);

/* All there are, oldest first; *out is for free(). */
int audit_names(const char *dir, struct audit_name **out, size_t *n, struct err *e);

#endif
