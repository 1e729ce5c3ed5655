#include "tools/exec/call.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "tools/exec/event.h"
#include "tools/exec/fence.h"
#include "tools/exec/root.h"
#include "tools/exec/supervise.h"
#include "tools/exec/tool.h"

#define EXIT_BAD_REQUEST 2

static const struct json_limits request_limits = {
	.bytes = CALL_REQUEST_MAX,
	.depth = 34, /* the arguments' 32 and two around them */
	.nodes = 200100,
	.nul = JSON_NUL_REFUSE,
};

struct request {
	struct json *json;
	struct view tool, workspace;
	const struct json *args, *read, *argv;
	bool required, network;
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

static int read_line(int fd, struct str *out)
{
	for (;;) {
		char buf[65536];
		ssize_t n = read(fd, buf, sizeof(buf));
		const char *lf;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		lf = memchr(buf, '\n', (size_t)n);
		if (str_add(out, (struct view){ buf, lf ? (size_t)(lf - buf) : (size_t)n }) < 0)
			return -1;
		if (lf)
			return 0;
	}
}

static int request_parse(struct request *r, struct view line, struct err *e)
{
	memset(r, 0, sizeof(*r));
	r->time_ms = 30000;
	if (json_read(&r->json, line, &request_limits, e) < 0)
		return -1;
	if (json_get_str(r->json, "tool", JSON_REQUIRED, 1, 64, &r->tool, e) < 0 ||
		json_get_object(r->json, "args", JSON_REQUIRED, &r->args, e) < 0 ||
		json_get_str(r->json, "workspace", JSON_REQUIRED, 2, PATH_SIZE - 1, &r->workspace,
			e) < 0 ||
		json_get_array(r->json, "read", JSON_OPTIONAL, ROOTS_MAX - 1, &r->read, e) < 0 ||
		json_get_array(r->json, "argv", JSON_OPTIONAL, CALL_ARGV_MAX, &r->argv, e) < 0 ||
		json_get_bool(r->json, "required", JSON_REQUIRED, &r->required, e) < 0 ||
		json_get_bool(r->json, "network", JSON_OPTIONAL, &r->network, e) < 0 ||
		json_get_int(r->json, "time_ms", JSON_OPTIONAL, 1, 3600000, &r->time_ms, e) < 0)
		return -1;
	return 0;
}

static int open_roots(struct roots *roots, const struct request *r, struct err *e)
{
	if (roots_add(roots, r->workspace, true, e) < 0)
		return -1;
	json_each(item, r->read) {
		struct view path;

		if (json_str(item, &path) < 0)
			return err_set(e, E_FORMAT, "a folder to read is not text");
		/* One that is not there (any more) is no reason to refuse everything. */
		if (roots_add(roots, path, false, e) < 0 && e->code != E_NOTFOUND)
			return -1;
	}
	return 0;
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

/* *ok: the result tells of a success. */
static int run_tool(const struct request *r, const struct roots *roots, int *out, bool *ok,
	struct str *text, struct err *e)
{
	struct tool_job job = {
		.roots = roots,
		.args = r->args,
		.argv = r->argv,
		.prepared = r->prepared,
		.stop = &stopped,
		.out = text,
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
	return str_ok(text) ? 0 : err_set(e, E_NOMEM, "the result is too big");
}

static int enter(const struct request *r, const struct roots *roots, struct fence *out,
	struct err *e)
{
	const struct fence_plan plan = {
		.roots = roots,
		.kind = tool_fence(r->tool),
		.network = r->network,
		.required = r->required,
	};

	return fence_enter(&plan, out, e);
}

static int child(struct view line, pid_t parent, int out)
{
	static struct roots roots;
	struct str text = STR_INIT(TOOL_OUT_MAX);
	struct sigaction term = { .sa_handler = on_term };
	struct request r = { .json = NULL };
	struct err e = ERR_INIT;
	struct fence fence;
	bool ok = false;
	int rc = -1;

	if (sigaction(SIGTERM, &term, NULL) < 0 || supervise_child(parent, &e) < 0)
		return EXIT_FAILURE;
	if (request_parse(&r, line, &e) == 0 &&
		tool_prepare(r.tool, r.args, &r.prepared, &e) == 0 &&
		open_roots(&roots, &r, &e) == 0 && enter(&r, &roots, &fence, &e) == 0) {
		event_fence(out, &fence);
		rc = run_tool(&r, &roots, &out, &ok, &text, &e);
	}
	rc = event_result(out, ok && rc == 0, rc == 0 ? str_view(&text) : view_of(e.msg));
	str_release(&text);
	roots_release(&roots);
	json_free(&r.json);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int call_main(int in, int out)
{
	struct str line = STR_INIT(CALL_REQUEST_MAX);
	pid_t self = getpid(), pid;
	struct err e = ERR_INIT;

	if (read_line(in, &line) < 0) {
		str_release(&line);
		return EXIT_BAD_REQUEST;
	}
	pid = supervise_prepare(&e) < 0 ? -1 : fork();
	if (pid == 0) {
		(void)close(in);
		_exit(child(str_view(&line), self, out));
	}
	str_wipe(&line);
	if (pid < 0) {
		(void)event_result(out, false, VIEW("the tool could not be started: no process"));
		return EXIT_FAILURE;
	}
	(void)close(out);
	return supervise_run(pid, in);
}
