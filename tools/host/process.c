#include "tools/host/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/text.h"

#define REQUEST_MAX ((size_t)4 << 20)
#define KILL_MS     2000 /* after the lifeline was cut */
#define DRAIN_MS    1000 /* for the last events, once the process is gone */

struct process {
	struct tool_run run; /* first */
	struct proc *proc;
	int request, events; /* our ends; -1 once closed */
	struct watch *writing, *reading;
	struct timer *kill;
	struct str to_send, line;
	size_t sent, received;
	bool exited, eof;
	int code, signal;
};

static struct process *process_of(struct tool_run *r)
{
	return (struct process *)r;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void process_release(struct tool_run *r)
{
	struct process *p = process_of(r);

	watch_free(&p->writing);
	watch_free(&p->reading);
	timer_free(&p->kill);
	close_fd(&p->request);
	close_fd(&p->events);
	proc_free(&p->proc);
	str_release(&p->to_send);
	str_release(&p->line);
}

static void process_say_end(const struct tool_run *r, struct str *out)
{
	const struct process *p = (const struct process *)r;

	if (p->signal)
		(void)str_addf(out, "was ended by signal %d", p->signal);
	else
		(void)str_addf(out, "ended without a result (exit code %d)", p->code);
}

static void process_check_end(struct process *p)
{
	if (p->exited)
		run_over(&p->run, p->eof ? 0 : DRAIN_MS);
}

/* The lifeline is cut: the helper ends its whole tree. Should it not, it is killed. */
static void process_stop(struct tool_run *r)
{
	struct process *p = process_of(r);

	watch_free(&p->writing);
	close_fd(&p->request);
	if (!timer_armed(p->kill))
		timer_arm(p->kill, KILL_MS);
}

static void process_on_kill(void *arg)
{
	struct process *p = arg;

	if (p->exited)
		return;
	log_warn(p->run.env->log, "tools", "%s did not end by itself and is killed",
		p->run.spec->name);
	proc_stop(p->proc, 0);
}

/* --- Events ----------------------------------------------------------------------------------- */

static void take_result(struct process *p, const struct json *j)
{
	struct view text;
	bool ok = false;

	if (json_get_bool(j, "ok", JSON_REQUIRED, &ok, NULL) == 1 &&
		json_get_str(j, "text", JSON_REQUIRED, 0, RUN_TEXT_MAX, &text, NULL) == 1)
		run_give(&p->run, ok, text);
}

static void take_event(struct process *p, struct view line)
{
	static const char *const kinds[] = { "fence", "acting", "result", NULL };
	struct json_limits lim = json_limits_wire;
	struct log *log = p->run.env->log;
	const char *name = p->run.spec->name;
	struct json *j = NULL;
	struct err e = ERR_INIT;
	int kind = -1;

	lim.bytes = RUN_TEXT_MAX;
	if (json_read(&j, line, &lim, &e) < 0 ||
		json_get_enum(j, "event", JSON_REQUIRED, kinds, &kind, &e) < 0)
		log_warn(log, "tools", "%s: an event that is none: %s", name, e.msg);
	else if (kind == 0)
		log_debug(log, "tools", "%s: %.*s", name, VIEW_FMT(line));
	else if (kind == 1)
		p->run.acting = true;
	else
		take_result(p, j);
	json_free(&j);
}

static void take_lines(struct process *p)
{
	size_t at = 0;

	for (;;) {
		struct view rest = view_from(str_view(&p->line), at);
		size_t n = view_find(rest, '\n');

		if (n == rest.n)
			break;
		take_event(p, view_cut(rest, n));
		at += n + 1;
	}
	str_drop(&p->line, at);
}

static void process_on_events(void *arg, int fd, int what)
{
	struct process *p = arg;
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		p->received += (size_t)n;
		if (p->received <= RUN_TEXT_MAX &&
			str_add(&p->line, (struct view){ buf, (size_t)n }) == 0) {
			if (memchr(buf, '\n', (size_t)n))
				take_lines(p);
			return;
		}
		log_warn(p->run.env->log, "tools", "%s says more than it may", p->run.spec->name);
		process_stop(&p->run);
	}
	watch_free(&p->reading);
	close_fd(&p->events);
	p->eof = true;
	process_check_end(p);
}

static void process_on_exit(void *arg, int code, int signal)
{
	struct process *p = arg;

	p->exited = true;
	p->code = code;
	p->signal = code < 0 ? signal : 0;
	process_check_end(p);
}

/* --- The start -------------------------------------------------------------------------------- */

static void process_on_writable(void *arg, int fd, int what)
{
	struct process *p = arg;
	ssize_t n = write(fd, p->to_send.p + p->sent, p->to_send.n - p->sent);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		p->sent += (size_t)n;
	/* A helper that is gone tells so by its exit. */
	if (n < 0 || p->sent == p->to_send.n) {
		watch_free(&p->writing);
		str_release(&p->to_send);
		p->sent = 0;
	}
}

static int write_request(struct process *p, const struct json *args, struct err *e)
{
	const struct tool_run *r = &p->run;
	struct json_out w;

	json_out_begin(&w, &p->to_send);
	json_open(&w, NULL);
	json_put_z(&w, "tool", r->spec->name);
	json_put_json(&w, "args", args);
	json_put_z(&w, "workspace", r->env->workspace);
	json_open_array(&w, "read");
	for (const char *const *path = r->env->read_paths; path && *path; path++)
		json_put_z(&w, NULL, *path);
	json_close_array(&w);
	json_put_bool(&w, "required", r->env->sandbox_required);
	/* A search gives what it has a while before the time is up. */
	json_put_int(&w, "time_ms", r->spec->timeout_ms / 2);
	json_close(&w);
	if (json_out_end(&w, e) < 0)
		return -1;
	return str_addc(&p->to_send, '\n') < 0 ? err_set(e, E_NOMEM, "a request") : 0;
}

static int spawn(struct process *p, struct err *e)
{
	const char *const argv[] = { "kairo-tool", "call", NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL };
	int down[2] = { -1, -1 }, up[2] = { -1, -1 }, rc = -1;
	struct proc_fd fds[2];
	struct proc_spec spec = { .path = p->run.env->helper, .argv = argv, .env = env };

	if (proc_pipe(down, 1, e) < 0 || proc_pipe(up, 0, e) < 0)
		goto out;
	fds[0].parent = down[0];
	fds[0].child = 3;
	fds[1].parent = up[1];
	fds[1].child = 4;
	spec.fds = fds;
	spec.nfds = 2;
	rc = proc_spawn(&p->proc, p->run.env->loop, &spec, process_on_exit, p, e);
out:
	close_fd(&down[0]);
	close_fd(&up[1]);
	p->request = down[1];
	p->events = up[0];
	return rc;
}

static int open_parts(struct process *p, struct err *e)
{
	struct loop *l = p->run.env->loop;

	if (timer_new(&p->kill, l, process_on_kill, p, e) < 0 || spawn(p, e) < 0 ||
		watch_new(&p->writing, l, p->request, WATCH_WRITE, process_on_writable, p, e) < 0 ||
		watch_new(&p->reading, l, p->events, WATCH_READ, process_on_events, p, e) < 0)
		return -1;
	process_on_writable(p, p->request, WATCH_WRITE); /* mostly it all fits into the pipe */
	return 0;
}

static const struct run_kind process_kind = {
	.stop = process_stop,
	.say_end = process_say_end,
	.release = process_release,
};

int process_start(struct tool_run **out, const struct run_plan *plan, struct err *e)
{
	const struct str request = STR_INIT(REQUEST_MAX), line = STR_INIT(RUN_TEXT_MAX);
	struct process *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "a tool call");
	p->request = p->events = -1;
	p->to_send = request;
	p->line = line;
	if (run_init(&p->run, &process_kind, plan, e) < 0 || write_request(p, plan->args, e) < 0 ||
		open_parts(p, e) < 0)
		return run_failed(&p->run, e);
	run_started(&p->run);
	*out = &p->run;
	return 0;
}
