/* tools/host/spec.h: the tools that are built in, as data: what the model is told about them and
 * what their arguments must be. */
#ifndef TOOLS_HOST_SPEC_H
#define TOOLS_HOST_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

enum arg_type { ARG_END, ARG_TEXT, ARG_INT, ARG_BOOL, ARG_ENUM, ARG_LIST };

struct arg_spec {
	const char *name;
	enum arg_type type; /* ARG_END ends the list */
	bool required;
	int64_t min, max; /* of the number, the text's bytes, or the list's items */
	const char *about;
	const char *const *values;   /* ARG_ENUM: NULL-terminated */
	const struct arg_spec *item; /* ARG_LIST: each item is an object of these */
};

struct tool_spec {
	const char *name, *about;
	bool acts;          /* may change something */
	bool programs;      /* runs programs: never without a layer that confines them */
	bool native;        /* works in the daemon, once tools_add_native has brought it */
	bool lives;         /* works in processes that live on between calls */
	int64_t timeout_ms; /* after which it is ended; the argument timeout_s sets another one */
	const char *key;    /* the argument that a progress line shows, or NULL */
	const char *hidden; /* the argument that an audit line leaves out, or NULL */
	const char *patch;  /* the argument that is a unified diff, or NULL */
	const char *exact;  /* the helper's tool whose result is handed on to the byte, or NULL */
	struct arg_spec args[8];
};

size_t spec_count(void);
const struct tool_spec *spec_at(size_t i);
const struct tool_spec *spec_find(const char *name); /* NULL: not built in */

/* One element of the "tools" array. */
void spec_write(const struct tool_spec *s, struct json_out *w);
/* Every member known, of its type, in its bounds; what is required is there. e: for the model. */
int spec_check(const struct tool_spec *s, const struct json *args, struct err *e);

/* How long a call may take in all. A tool that keeps the time of the argument "timeout_s" itself
 * gets SPEC_GRACE_MS more to say what came of it. */
#define SPEC_GRACE_MS 10000
int64_t spec_limit_ms(const struct tool_spec *s, const struct json *args);

#endif
