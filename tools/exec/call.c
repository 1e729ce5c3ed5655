#include "tools/exec/call.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "tools/exec/event.h"
#include "tools/exec/fence.h"
#include "tools/exec/root.h"
#include "tools/exec/tool.h"

struct request {
	struct view tool;
	const struct json *args, *argv;
	int64_t time_ms;
	void *prepared;
};

static volatile sig_atomic_t stopped;

static void on_term(int signo)
{
	(void)signo;
	stopped = 1;
}

/* --- The request ------------------------------------------------------------------------------ */

static int request_parse(struct request *r, const struct json *json, struct err *e)
{
	memset(r, 0, sizeof(*r));
	r->time_ms = 30000;
	if (json_get_str(json, "tool", JSON_REQUIRED, 1, 64, &r->tool, e) < 0 ||
		json_get_object(json, "args", JSON_REQUIRED, &r->args, e) < 0 ||
		json_get_array(json, "argv", JSON_OPTIONAL, CALL_ARGV_MAX, &r->argv, e) < 0 ||
		json_get_int(json, "time_ms", JSON_OPTIONAL, 1, 3600000, &r->time_ms, e) < 0)
		return -1;
	return 0;
}

static enum fence_kind call_kind(const struct json *json)
{
	struct view tool;

	return json_get_str(json, "tool", JSON_REQUIRED, 1, 64, &tool, NULL) < 0 ? FENCE_FILES
	                                                                         : tool_fence(tool);
}

/* --- The child -------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_acting(void *arg)
{
	event_acting(*(const int *)arg);
}

/* *ok: the result tells of a success. 1: there is none to be told. Whoever stops what only reads
 * wants no half of an answer, which would pass for a whole one. */
static int run_tool(const struct request *r, const struct site *site, const struct roots *roots,
	int *out, bool *ok, struct str *text, struct str *python, struct err *e)
{
	struct tool_job job = {
		.roots = roots,
		.args = r->args,
		.argv = r->argv,
		.tmp = site->tmp,
		.prepared = r->prepared,
		.stop = &stopped,
		.out = text,
		.python = python,
	};
	tool_fn *fn = tool_find(r->tool);

	if (!fn)
		return err_set(e, E_NOTFOUND, "no such tool");
	job.until = now_ms() + r->time_ms;
	job.on_acting = on_acting;
	job.arg = out;
	if (fn(&job, e) < 0)
		return -1;
	*ok = !job.failed;
	if (stopped && !job.acting)
		return 1;
	return str_ok(text) ? 0 : err_set(e, E_NOMEM, "the result is too big");
}

static int call_work(const struct site *site, const struct json *json, int in, int out)
{
	static struct roots roots;
	struct str text = STR_INIT(0), python = STR_INIT(TOOL_OUT_MAX);
	struct sigaction term = { .sa_handler = on_term };
	struct err e = ERR_INIT;
	struct request r;
	struct fence fence;
	bool ok = false;
	int rc = -1;

	(void)close(in);
	if (sigaction(SIGTERM, &term, NULL) < 0)
		return EXIT_FAILURE;
	if (request_parse(&r, json, &e) == 0)
		text.max = tool_out_max(r.tool);
	if (text.max > 0 && tool_prepare(r.tool, r.args, &r.prepared, &e) == 0 &&
		site_enter(site, call_kind(json), &roots, &fence, &e) == 0) {
		event_fence(out, &fence);
		rc = run_tool(&r, site, &roots, &out, &ok, &text, &python, &e);
	}
	if (rc <= 0)
		rc = rc == 0 ? event_done(out, ok, str_view(&text), str_view(&python))
		             : event_failure(out, &e);
	str_release(&text);
	str_release(&python);
	roots_release(&roots);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct service call_service = {
	.mode = "call",
	.kind = call_kind,
	.work = call_work,
};
