/* tools/host/native.h: tools that work in the daemon itself because they need its network or its
 * database (web_fetch, web_search, todo). They touch no file. The registry checks the arguments and
 * the policy, keeps the time limit, records, and bounds and cleans what they say. */
#ifndef TOOLS_HOST_NATIVE_H
#define TOOLS_HOST_NATIVE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "tools/host/registry.h"
#include "tools/host/spec.h"

struct native_call; /* one such call under way; owned by the registry */

struct native_tool {
	const char *name; /* of its row in spec.c, which says .native */
	void *self;
	/* Begin. args have been checked against the spec and live as long as this function runs, as
	 * does c. -1: nothing began, e is for the model; native_finish must not have been called
	 * then. */
	int (*start)(void *self, struct native_call *nc, const struct tool_call *c,
		const struct json *args, struct err *e);
	/* End the work now and free the state: cancel, timeout, close. native_finish must not be
	 * called after. Not called for a call that has finished. */
	void (*cancel)(void *self, struct native_call *nc);
};

/* The struct is copied; name and self stay the caller's and outlive t. Its owner is closed after
 * the tools. E_NOTFOUND: no spec of that name says .native; E_EXISTS: there is one already. */
int tools_add_native(struct tools *t, const struct native_tool *tool, struct err *e);
/* For an owner that goes before the tools: no call of that name reaches self any more. None may be
 * under way. Not added: nothing. */
void tools_drop_native(struct tools *t, const char *name, const void *self);

/* The result, once; also from inside start. The tool has freed its state: nc is not to be used
 * after. */
void native_finish(struct native_call *nc, bool ok, struct view text);
/* From here on a side effect may have happened. */
void native_acting(struct native_call *nc);
void native_set(struct native_call *nc, void *state);
void *native_get(const struct native_call *nc);
/* The conversation that its turn belongs to; "" when the turn is not known. */
const char *native_conversation(const struct native_call *nc);

/* A piece of the work that is not for the daemon (parsing what a stranger wrote) done by kairo-tool
 * behind its fence: spec names the helper's tool and its time limit; it needs no row in spec.c and
 * is not recorded by itself. done and the handle are as with tools_start. */
int native_helper(struct tool_run **out, const struct native_call *nc, const struct tool_spec *spec,
	const struct json *args, tool_done_cb *done, void *arg, struct err *e);

#endif
