#include "tools/host/helper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"
#include "tools/host/run.h"
#include "tools/host/sandbox.h"

#define REQUEST_MAX ((size_t)8 << 20)
#define KILL_MS     2000 /* after the lifeline was cut */
#define DRAIN_MS    1000 /* for the last events, once the process is gone */

struct helper {
	struct helper_plan plan;
	struct proc *proc;
	int request, events; /* our ends; -1 once closed */
	struct watch *writing, *reading;
	struct timer *kill, *end;
	struct str to_send, line;
	size_t received; /* since the last request */
	bool exited, eof, fenced;
	int code, signal;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* --- The end ---------------------------------------------------------------------------------- */

void helper_free(struct helper **hp)
{
	struct helper *h = *hp;

	if (!h)
		return;
	*hp = NULL;
	watch_free(&h->writing);
	watch_free(&h->reading);
	timer_free(&h->kill);
	timer_free(&h->end);
	close_fd(&h->request);
	close_fd(&h->events);
	if (h->proc)
		proc_wait(h->proc, HELPER_END_MS);
	proc_free(&h->proc);
	str_release(&h->to_send);
	str_release(&h->line);
	free(h);
}

void helper_say_end(const struct helper *h, struct str *out)
{
	if (h->signal)
		(void)str_addf(out, "was ended by signal %d", h->signal);
	else if (!h->fenced && h->code == EXIT_FAILURE && h->plan.env->sandbox->namespaces)
		(void)str_adds(out,
			"could not be put into its sandbox: bubblewrap failed, which it did "
			"not when Kairo was started (kairo doctor tells how it is now)");
	else
		(void)str_addf(out, "ended without a result (exit code %d)", h->code);
}

static void helper_on_end(void *arg)
{
	struct helper *h = arg;

	h->plan.on_end(h->plan.arg);
}

static void check_end(struct helper *h)
{
	if (h->exited)
		timer_arm(h->end, h->eof ? 0 : DRAIN_MS);
}

void helper_stop(struct helper *h)
{
	watch_free(&h->writing);
	close_fd(&h->request);
	if (!h->exited && !timer_armed(h->kill))
		timer_arm(h->kill, KILL_MS);
}

static void helper_on_kill(void *arg)
{
	struct helper *h = arg;

	if (h->exited)
		return;
	log_warn(h->plan.env->log, "tools", "%s did not end by itself and is killed", h->plan.name);
	proc_stop(h->proc, 0);
}

static void helper_on_exit(void *arg, int code, int signal)
{
	struct helper *h = arg;

	h->exited = true;
	h->code = code;
	h->signal = code < 0 ? signal : 0;
	check_end(h);
}

/* --- Events ----------------------------------------------------------------------------------- */

static void take_event(struct helper *h, struct view line)
{
	static const char *const kinds[] = { "fence", "acting", "result", "output", NULL };
	struct json_limits lim = json_limits_wire;
	struct log *log = h->plan.env->log;
	struct json *j = NULL;
	struct err e = ERR_INIT;
	int kind = -1;

	lim.bytes = RUN_TEXT_MAX;
	if (json_read(&j, line, &lim, &e) < 0 ||
		json_get_enum(j, "event", JSON_REQUIRED, kinds, &kind, &e) < 0) {
		log_warn(log, "tools", "%s: an event that is none: %s", h->plan.name, e.msg);
	} else {
		if (kind == HELPER_FENCE) {
			h->fenced = true;
			log_debug(log, "tools", "%s: %.*s", h->plan.name, VIEW_FMT(line));
		}
		/* A program may say what it likes for as long as it runs. */
		if (kind == HELPER_OUTPUT)
			h->received = 0;
		h->plan.on_event(h->plan.arg, (enum helper_event)kind, j);
	}
	json_free(&j);
}

static void take_lines(struct helper *h)
{
	size_t at = 0;

	for (;;) {
		struct view rest = view_from(str_view(&h->line), at);
		size_t n = view_find(rest, '\n');

		if (n == rest.n)
			break;
		take_event(h, view_cut(rest, n));
		at += n + 1;
	}
	str_drop(&h->line, at);
}

static void helper_on_events(void *arg, int fd, int what)
{
	struct helper *h = arg;
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		h->received += (size_t)n;
		if (h->received <= RUN_TEXT_MAX &&
			str_add(&h->line, (struct view){ buf, (size_t)n }) == 0) {
			if (memchr(buf, '\n', (size_t)n))
				take_lines(h);
			return;
		}
		log_warn(h->plan.env->log, "tools", "%s says more than it may", h->plan.name);
		helper_stop(h);
	}
	watch_free(&h->reading);
	close_fd(&h->events);
	h->eof = true;
	check_end(h);
}

/* --- Requests --------------------------------------------------------------------------------- */

static void helper_on_writable(void *arg, int fd, int what)
{
	struct helper *h = arg;
	ssize_t n = write(fd, h->to_send.p, h->to_send.n);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		str_drop(&h->to_send, (size_t)n);
	/* A helper that is gone tells so by its exit. */
	if (n < 0 || h->to_send.n == 0) {
		watch_free(&h->writing);
		str_release(&h->to_send);
	}
}

int helper_send(struct helper *h, struct view line, struct err *e)
{
	if (h->request < 0)
		return err_set(e, E_CANCELLED, "%s is ending", h->plan.name);
	if (str_add(&h->to_send, line) < 0 || str_addc(&h->to_send, '\n') < 0)
		return err_set(e, E_NOMEM, "a request");
	h->received = 0;
	if (!h->writing && watch_new(&h->writing, h->plan.env->loop, h->request, WATCH_WRITE,
				   helper_on_writable, h, e) < 0)
		return -1;
	helper_on_writable(h, h->request, WATCH_WRITE); /* mostly it all fits into the pipe */
	return 0;
}

void helper_put_place(struct json_out *w, const struct tools_env *env, const char *media)
{
	json_put_z(w, "workspace", env->workspace);
	json_open_array(w, "read");
	for (const char *const *path = env->read_paths; path && *path; path++)
		json_put_z(w, NULL, *path);
	if (media)
		json_put_z(w, NULL, media);
	json_close_array(w);
	json_put_bool(w, "required", env->sandbox_required);
	json_put_bool(w, "namespaces", env->sandbox->namespaces);
}

/* --- The start -------------------------------------------------------------------------------- */

static int spawn(struct helper *h, struct err *e)
{
	const char *const argv[] = { "kairo-tool", h->plan.mode, NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL };
	int down[2] = { -1, -1 }, up[2] = { -1, -1 }, rc = -1;
	struct proc_fd fds[2];
	struct proc_spec spec = { .path = h->plan.env->helper, .argv = argv, .env = env };

	if (proc_pipe(down, 1, e) < 0 || proc_pipe(up, 0, e) < 0)
		goto out;
	fds[0].parent = down[0];
	fds[0].child = 3;
	fds[1].parent = up[1];
	fds[1].child = 4;
	spec.fds = fds;
	spec.nfds = 2;
	rc = proc_spawn(&h->proc, h->plan.env->loop, &spec, helper_on_exit, h, e);
out:
	close_fd(&down[0]);
	close_fd(&up[1]);
	h->request = down[1];
	h->events = up[0];
	return rc;
}

int helper_start(struct helper **out, const struct helper_plan *plan, struct err *e)
{
	const struct str request = STR_INIT(REQUEST_MAX), line = STR_INIT(RUN_TEXT_MAX);
	struct helper *h = calloc(1, sizeof(*h));
	struct loop *l = plan->env->loop;

	*out = NULL;
	if (!h)
		return err_set(e, E_NOMEM, "a tool's process");
	h->plan = *plan;
	h->request = h->events = -1;
	h->to_send = request;
	h->line = line;
	if (timer_new(&h->kill, l, helper_on_kill, h, e) < 0 ||
		timer_new(&h->end, l, helper_on_end, h, e) < 0 || spawn(h, e) < 0 ||
		watch_new(&h->reading, l, h->events, WATCH_READ, helper_on_events, h, e) < 0) {
		helper_free(&h);
		return -1;
	}
	*out = h;
	return 0;
}
