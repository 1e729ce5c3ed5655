#include "tools/host/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/text.h"

#define REQUEST_MAX ((size_t)4 << 20)
#define EVENTS_MAX  ((size_t)16 << 20) /* all that a call may say */
#define KILL_MS     2000               /* after the lifeline was cut */
#define DRAIN_MS    1000               /* for the last events, once the process is gone */

struct tool_run {
	struct run_list *list;
	struct tool_run *next;
	const struct tools_env *env;
	const struct tool_spec *spec;
	tool_done_cb *done;
	void *arg;

	struct proc *proc;
	int request, events; /* our ends; -1 once closed */
	struct watch *writing, *reading;
	struct timer *limit, *kill, *end;
	struct str to_send, line;
	size_t sent, received;

	bool exited, eof, cancelled, timed_out, acting, has_result, ok, garbled;
	int code, signal;
	struct str text;
	int64_t began;

	/* for the audit */
	uint64_t turn;
	enum origin origin;
	char *call_id;
	struct str args;
};

/* --- The end ---------------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void run_free(struct tool_run *r)
{
	watch_free(&r->writing);
	watch_free(&r->reading);
	timer_free(&r->limit);
	timer_free(&r->kill);
	timer_free(&r->end);
	close_fd(&r->request);
	close_fd(&r->events);
	proc_free(&r->proc);
	str_release(&r->to_send);
	str_release(&r->line);
	str_release(&r->text);
	str_release(&r->args);
	free(r->call_id);
	for (struct tool_run **at = &r->list->first; *at; at = &(*at)->next) {
		if (*at == r) {
			*at = r->next;
			break;
		}
	}
	free(r);
}

static void audit(const struct tool_run *r, const char *outcome, const char *detail)
{
	struct audit_event ev = { .turn = r->turn, .origin = r->origin, .tool = r->spec->name };

	ev.call_id = r->call_id;
	ev.args = str_view(&r->args);
	ev.verdict = verdict_name(VERDICT_ALLOW);
	ev.outcome = outcome;
	ev.detail = detail;
	ev.ms = loop_now(r->env->loop) - r->began;
	audit_write(r->env->audit, &ev);
}

static const char *side_effects(const struct tool_run *r)
{
	if (!r->spec->acts)
		return "It changes nothing.";
	return r->acting
	               ? "It had begun to change something, which may be done or not: look before "
	                 "you go on."
	               : "Nothing was changed.";
}

/* What the model is told when there is no result of the tool's own. */
static void say_why(struct tool_run *r)
{
	struct str *s = &r->text;

	str_reset(s);
	r->ok = false;
	if (r->cancelled)
		(void)str_addf(s, "%s was cancelled. %s", r->spec->name, side_effects(r));
	else if (r->timed_out)
		(void)str_addf(s, "%s took longer than %lld s and was ended. %s", r->spec->name,
			(long long)(r->spec->timeout_ms / 1000), side_effects(r));
	else if (r->signal)
		(void)str_addf(s, "%s was ended by signal %d. %s", r->spec->name, r->signal,
			side_effects(r));
	else
		(void)str_addf(s, "%s ended without a result (exit code %d). %s", r->spec->name,
			r->code, side_effects(r));
}

/* Valid UTF-8 without controls, and not too long. */
static void make_safe(struct tool_run *r, struct str *out)
{
	size_t fit;

	if (text_safe(str_view(&r->text), TEXT_KEEP_LF | TEXT_KEEP_TAB, out) < 0) {
		str_reset(out);
		(void)str_adds(out, "the result could not be kept: no memory");
		r->ok = false;
	}
	fit = utf8_cut_chars(str_view(out), TOOL_RESULT_MAX);
	if (fit < out->n) {
		str_truncate(out, utf8_cut_chars(str_view(out), TOOL_RESULT_MAX - 100));
		(void)str_addf(out, "\n[cut: the result is longer than %zu characters]",
			TOOL_RESULT_MAX);
	}
}

static void run_on_end(void *arg)
{
	struct tool_run *r = arg;
	struct str safe = STR_INIT(EVENTS_MAX);
	struct tool_result result = { .ok = false };
	tool_done_cb *done = r->done;
	void *done_arg = r->arg;

	if (!r->has_result)
		say_why(r);
	make_safe(r, &safe);
	result.ok = r->ok;
	result.cancelled = r->cancelled && !r->has_result;
	result.acted = r->acting;
	result.text = str_view(&safe);
	audit(r,
		result.cancelled ? "cancelled"
		: r->ok          ? "ok"
				 : "failed",
		r->ok ? "" : str_cstr(&safe));
	run_free(r);
	if (done)
		done(done_arg, &result);
	str_release(&safe);
}

static void run_check_end(struct tool_run *r)
{
	if (r->exited && r->eof)
		timer_arm(r->end, 0);
	else if (r->exited)
		timer_arm(r->end, DRAIN_MS);
}

/* The lifeline is cut: the helper ends its whole tree. Should it not, it is killed. */
static void run_stop(struct tool_run *r)
{
	watch_free(&r->writing);
	close_fd(&r->request);
	if (!timer_armed(r->kill))
		timer_arm(r->kill, KILL_MS);
}

static void run_on_kill(void *arg)
{
	struct tool_run *r = arg;

	if (r->exited)
		return;
	log_warn(r->env->log, "tools", "%s did not end by itself and is killed", r->spec->name);
	proc_stop(r->proc, 0);
}

static void run_on_limit(void *arg)
{
	struct tool_run *r = arg;

	r->timed_out = true;
	run_stop(r);
}

/* --- Events ----------------------------------------------------------------------------------- */

static void take_result(struct tool_run *r, const struct json *j)
{
	struct view text;
	bool ok = false;

	if (json_get_bool(j, "ok", JSON_REQUIRED, &ok, NULL) < 0 ||
		json_get_str(j, "text", JSON_REQUIRED, 0, EVENTS_MAX, &text, NULL) < 0)
		return;
	str_reset(&r->text);
	if (str_add(&r->text, text) < 0)
		return;
	r->ok = ok;
	r->has_result = true;
}

static void take_event(struct tool_run *r, struct view line)
{
	static const char *const kinds[] = { "fence", "acting", "result", NULL };
	struct json_limits lim = json_limits_wire;
	struct json *j = NULL;
	struct err e = ERR_INIT;
	int kind = -1;

	lim.bytes = EVENTS_MAX;
	if (json_read(&j, line, &lim, &e) < 0 ||
		json_get_enum(j, "event", JSON_REQUIRED, kinds, &kind, &e) < 0) {
		log_warn(r->env->log, "tools", "%s: an event that is none: %s", r->spec->name,
			e.msg);
		r->garbled = true;
	} else if (kind == 0) {
		log_debug(r->env->log, "tools", "%s: %.*s", r->spec->name, VIEW_FMT(line));
	} else if (kind == 1) {
		r->acting = true;
	} else if (!r->has_result) {
		take_result(r, j);
	}
	json_free(&j);
}

static void take_lines(struct tool_run *r)
{
	size_t at = 0;

	for (;;) {
		struct view rest = view_from(str_view(&r->line), at);
		size_t n = view_find(rest, '\n');

		if (n == rest.n)
			break;
		take_event(r, view_cut(rest, n));
		at += n + 1;
	}
	str_drop(&r->line, at);
}

static void run_on_events(void *arg, int fd, int what)
{
	struct tool_run *r = arg;
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		r->received += (size_t)n;
		if (r->received <= EVENTS_MAX &&
			str_add(&r->line, (struct view){ buf, (size_t)n }) == 0) {
			if (memchr(buf, '\n', (size_t)n))
				take_lines(r);
			return;
		}
		log_warn(r->env->log, "tools", "%s says more than it may", r->spec->name);
		run_stop(r);
	}
	watch_free(&r->reading);
	close_fd(&r->events);
	r->eof = true;
	run_check_end(r);
}

static void run_on_exit(void *arg, int code, int signal)
{
	struct tool_run *r = arg;

	r->exited = true;
	r->code = code;
	r->signal = code < 0 ? signal : 0;
	run_check_end(r);
}

/* --- The start -------------------------------------------------------------------------------- */

static void run_on_writable(void *arg, int fd, int what)
{
	struct tool_run *r = arg;
	ssize_t n = write(fd, r->to_send.p + r->sent, r->to_send.n - r->sent);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		r->sent += (size_t)n;
	/* A helper that is gone tells so by its exit. */
	if (n < 0 || r->sent == r->to_send.n) {
		watch_free(&r->writing);
		str_release(&r->to_send);
		r->sent = 0;
	}
}

static int write_request(struct tool_run *r, const struct json *args, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, &r->to_send);
	json_open(&w, NULL);
	json_put_z(&w, "tool", r->spec->name);
	json_put_json(&w, "args", args);
	json_put_z(&w, "workspace", r->env->workspace);
	json_open_array(&w, "read");
	for (const char *const *p = r->env->read_paths; p && *p; p++)
		json_put_z(&w, NULL, *p);
	json_close_array(&w);
	json_put_bool(&w, "required", r->env->sandbox_required);
	/* A search gives what it has a while before the time is up. */
	json_put_int(&w, "time_ms", r->spec->timeout_ms / 2);
	json_close(&w);
	if (json_out_end(&w, e) < 0)
		return -1;
	return str_addc(&r->to_send, '\n') < 0 ? err_set(e, E_NOMEM, "a request") : 0;
}

static int spawn(struct tool_run *r, struct err *e)
{
	const char *const argv[] = { "kairo-tool", "call", NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL };
	int down[2] = { -1, -1 }, up[2] = { -1, -1 }, rc = -1;
	struct proc_fd fds[2];
	struct proc_spec spec = { .path = r->env->helper, .argv = argv, .env = env };

	if (proc_pipe(down, 1, e) < 0 || proc_pipe(up, 0, e) < 0)
		goto out;
	fds[0].parent = down[0];
	fds[0].child = 3;
	fds[1].parent = up[1];
	fds[1].child = 4;
	spec.fds = fds;
	spec.nfds = 2;
	rc = proc_spawn(&r->proc, r->env->loop, &spec, run_on_exit, r, e);
out:
	close_fd(&down[0]);
	close_fd(&up[1]);
	r->request = down[1];
	r->events = up[0];
	return rc;
}

static int open_parts(struct tool_run *r, struct err *e)
{
	struct loop *l = r->env->loop;

	if (timer_new(&r->limit, l, run_on_limit, r, e) < 0 ||
		timer_new(&r->kill, l, run_on_kill, r, e) < 0 ||
		timer_new(&r->end, l, run_on_end, r, e) < 0 || spawn(r, e) < 0 ||
		watch_new(&r->writing, l, r->request, WATCH_WRITE, run_on_writable, r, e) < 0 ||
		watch_new(&r->reading, l, r->events, WATCH_READ, run_on_events, r, e) < 0)
		return -1;
	timer_arm(r->limit, r->spec->timeout_ms);
	run_on_writable(r, r->request, WATCH_WRITE); /* mostly it all fits into the pipe */
	return 0;
}

int run_start(struct tool_run **out, struct run_list *list, const struct tools_env *env,
	const struct tool_spec *spec, const struct tool_call *c, const struct json *args,
	tool_done_cb *done, void *arg, struct err *e)
{
	const struct str request = STR_INIT(REQUEST_MAX), events = STR_INIT(EVENTS_MAX);
	struct tool_run *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return err_set(e, E_NOMEM, "a tool call");
	r->list = list;
	r->next = list->first;
	list->first = r;
	r->env = env;
	r->spec = spec;
	r->done = done;
	r->arg = arg;
	r->request = r->events = -1;
	r->to_send = r->args = request;
	r->line = r->text = events;
	r->turn = c->turn;
	r->origin = c->origin;
	r->call_id = strdup(c->id ? c->id : "");
	r->began = loop_now(env->loop);
	run_audit_args(spec, args, &r->args);
	if (write_request(r, args, e) < 0 || open_parts(r, e) < 0) {
		audit(r, "failed", e ? e->msg : "");
		run_free(r);
		return -1;
	}
	audit(r, "started", "");
	*out = r;
	return 0;
}

void tool_cancel(struct tool_run *r)
{
	if (r->cancelled)
		return;
	r->cancelled = true;
	run_stop(r);
}

void tool_detach(struct tool_run *r)
{
	r->done = NULL;
	tool_cancel(r);
}

void run_close_all(struct run_list *list)
{
	while (list->first) {
		struct tool_run *r = list->first;

		list->first = r->next;
		audit(r, "cancelled", "the daemon ends");
		run_free(r);
	}
}

void run_audit_args(const struct tool_spec *spec, const struct json *args, struct str *out)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_each(member, args) {
		struct view text;

		if (spec->hidden && strcmp(json_name(member), spec->hidden) == 0) {
			struct str name = STR_INIT(100);

			if (json_str(member, &text) == 0 &&
				str_addf(&name, "%s_bytes", spec->hidden) == 0)
				json_put_u64(&w, str_cstr(&name), text.n);
			str_release(&name);
			continue;
		}
		json_put_json(&w, json_name(member), member);
	}
	json_close(&w);
	if (json_out_end(&w, NULL) < 0)
		str_reset(out);
}
