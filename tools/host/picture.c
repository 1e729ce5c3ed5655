#include "tools/host/picture.h"

#include <string.h>

#include "tools/host/registry-private.h"

#define ARGS_MAX ((size_t)65536)

static const struct tool_spec picture_spec = {
	.name = "picture",
	.exact = "picture",
	.timeout_ms = 60000,
};

static int start(struct tool_run **out, struct tools *t, uint64_t turn, const struct json *args,
	tool_done_cb *done, void *arg, struct err *e)
{
	const struct tool_call call = { .turn = turn, .exact = true };
	const struct run_plan plan = {
		.list = &t->runs,
		.env = &t->env,
		.spec = &picture_spec,
		.call = &call,
		.args = args,
		.media = turn_media(&t->turns, turn),
		.quiet = true,
		.done = done,
		.arg = arg,
	};

	return process_start(out, &plan, e);
}

static int check_sandbox(struct tools *t, struct err *e)
{
	struct str why = STR_INIT(2000);
	int rc = 0;

	if (!sandbox_allows(tools_sandbox(t), false, &why))
		rc = err_set(e, E_UNSUPPORTED, "%s", str_cstr(&why));
	str_release(&why);
	return rc;
}

int picture_load(struct tool_run **out, struct tools *t, uint64_t turn, struct view path,
	tool_done_cb *done, void *arg, struct err *e)
{
	struct str text = STR_INIT(ARGS_MAX);
	struct json *args = NULL;
	struct json_out w;
	int rc = -1;

	*out = NULL;
	json_out_begin(&w, &text);
	json_open(&w, NULL);
	json_put_str(&w, "path", path);
	json_close(&w);
	if (check_sandbox(t, e) == 0 && json_out_end(&w, e) == 0 &&
		json_read(&args, str_view(&text), &json_limits_wire, e) == 0)
		rc = start(out, t, turn, args, done, arg, e);
	json_free(&args);
	str_release(&text);
	return rc;
}

/* Up to the next line break, which is left out. */
static struct view next_line(struct view *rest)
{
	struct view line = view_cut(*rest, view_find(*rest, '\n'));

	*rest = view_from(*rest, line.n + 1);
	return line;
}

int picture_read(struct view text, struct picture *out)
{
	out->type = next_line(&text);
	out->note = next_line(&text);
	out->base64 = text;
	return view_starts(out->type, VIEW("image/")) && out->base64.n > 0 ? 0 : -1;
}
