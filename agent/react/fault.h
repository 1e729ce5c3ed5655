/* agent/react/fault.h: what a provider says went wrong: found in a stream's event or in the body of
 * an HTTP error, in all the forms that providers use, and sorted into what to do about it. */
#ifndef AGENT_REACT_FAULT_H
#define AGENT_REACT_FAULT_H

#include <stdbool.h>

#include "agent/engine.h"
#include "base/json.h"
#include "base/str.h"

#define FAULT_EVIDENCE_MAX ((size_t)10000) /* bytes of an error that are looked at */
#define FAULT_DETAIL_MAX   ((size_t)300)

struct fault {
	bool found;
	int status;         /* HTTP status, or the number an in-band error gives; 0: none */
	char code[64];      /* "rate_limit_exceeded", "invalid_request_error"...; "" */
	struct str message; /* the provider's words, untrusted; may be empty */
};

#define FAULT_INIT \
	{ \
		.found = false, .message = STR_INIT(FAULT_EVIDENCE_MAX) \
	}

void fault_release(struct fault *f);
/* Does this event of a stream report an error? `always`: it was sent as one ("event: error"). */
bool fault_in_event(struct fault *f, const struct json *event, bool always);
/* The body of an HTTP error, JSON or not. */
void fault_in_body(struct fault *f, int status, struct view body);
/* Set by us: the provider's words are a plain text. */
void fault_plain(struct fault *f, struct view message);

enum engine_fail fault_kind(const struct fault *f);
/* Explicitly said to pass: 408, 429, 5xx and their names; not a spent balance. */
bool fault_transient(const struct fault *f);
/* One safe line for people: no control characters, no secret, `secret` (may be NULL) masked. */
void fault_detail(const struct fault *f, const char *secret, struct str *out);
/* The same cleaning for any text. */
void safe_detail(struct view text, const char *secret, struct str *out);

#endif
