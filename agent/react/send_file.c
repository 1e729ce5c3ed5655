/* The tool send_file: a file for the user, by way of the engine's deliver. Whoever sends it
 * decides; the verdict is the tool's result. */
#include "agent/react/react-private.h"

#include "tools/host/native.h"

static int send_file_start(void *self, struct native_call *nc, const struct tool_call *c,
	const struct json *args, struct err *e)
{
	struct react *r = self;
	struct view path = VIEW_NONE, caption = VIEW_NONE;

	if (json_get_str(args, "path", JSON_REQUIRED, 1, PATH_SIZE - 1, &path, e) < 0 ||
		json_get_str(args, "caption", JSON_OPTIONAL, 0, TOOL_ARGS_MAX, &caption, e) < 0)
		return -1;
	if (!r->engine.deliver)
		return err_set(e, E_UNSUPPORTED, "no file can be sent from here");
	if (r->engine.deliver(r->engine.arg, c->turn, path, caption, e) < 0)
		return -1;
	native_finish(nc, true, VIEW("It is sent right behind your answer. Go on."));
	return 0;
}

/* Never: it has finished when it has begun. */
static void send_file_cancel(void *self, struct native_call *nc)
{
	(void)self;
	(void)nc;
}

int send_file_add(struct react *r, struct err *e)
{
	const struct native_tool tool = { .name = "send_file",
		.self = r,
		.start = send_file_start,
		.cancel = send_file_cancel };

	return tools_add_native(r->tools, &tool, e);
}

void send_file_drop(struct react *r)
{
	tools_drop_native(r->tools, "send_file", r);
}
