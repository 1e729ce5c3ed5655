/* tools/host/consent.h: what a consent is bound to; inside the room only. */
#ifndef TOOLS_HOST_CONSENT_H
#define TOOLS_HOST_CONSENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

#define CONSENT_HEX 65

/* SHA-256 over tool, folder and the arguments in canonical form: members sorted by name, compact,
 * numbers as they were written. */
int consent_fingerprint(const char *tool, const char *folder, const struct json *args,
	char hex[CONSENT_HEX], struct err *e);

#endif
