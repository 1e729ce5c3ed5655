/* tools/host/outcome.h: what became of a call, by one rule: for the result that the engine gets,
 * for what a person is shown, and for the audit. */
#ifndef TOOLS_HOST_OUTCOME_H
#define TOOLS_HOST_OUTCOME_H

#include <stdbool.h>

#include "base/str.h"

enum outcome { OUTCOME_OK, OUTCOME_FAILED, OUTCOME_CANCELLED };

struct outcome_facts {
	bool has_result;  /* the tool itself said how it went */
	bool says_ok;     /* and that it went well */
	bool cancelled;   /* somebody ended it */
	struct view text; /* its result */
};

/* A tool that said nothing has failed, or was cancelled, as has one that did not succeed before it
 * was. One that claims success is believed unless
 * its text is a JSON object which says otherwise ("isError" true, "ok" false, an "error") or which
 * is no strict JSON (duplicate members, too deep, not finite): what is ambiguous has failed. */
enum outcome outcome_of(const struct outcome_facts *f);
const char *outcome_name(enum outcome o); /* "ok", "failed", "cancelled" */

#endif
