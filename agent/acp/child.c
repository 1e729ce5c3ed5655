#include "agent/acp/child.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/text.h"

#define WORDS_SHOWN ((size_t)300)

struct child {
	struct child_env env;
	struct proc *proc;
	int in, out, errors, lifeline; /* our ends; -1 once closed */
	struct watch *draining, *hearing;
	struct timer *limit;
	struct str words;
	bool stopping, exited;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void child_free(struct child *c)
{
	watch_free(&c->draining);
	watch_free(&c->hearing);
	timer_free(&c->limit);
	proc_free(&c->proc);
	close_fd(&c->in);
	close_fd(&c->out);
	close_fd(&c->errors);
	close_fd(&c->lifeline);
	str_release(&c->words);
	free(c);
}

/* --- Last words ------------------------------------------------------------------------------- */

/* -1: the pipe has ended. */
static ssize_t read_some(int fd, char *buf, size_t size)
{
	ssize_t n = read(fd, buf, size);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n > 0 ? n : -1;
}

static void child_on_errors(void *arg, int fd, int what)
{
	struct child *c = arg;
	char buf[CHILD_WORDS_MAX];
	ssize_t n = read_some(fd, buf, sizeof(buf));
	size_t over;

	(void)what;
	if (n < 0) {
		watch_free(&c->hearing);
		return;
	}
	over = c->words.n + (size_t)n;
	over = over > CHILD_WORDS_MAX ? over - CHILD_WORDS_MAX : 0;
	str_drop(&c->words, over < c->words.n ? over : c->words.n);
	(void)str_add(&c->words, (struct view){ buf, (size_t)n });
}

/* The line that ends there, taken off the end of the text. */
static struct view take_last_line(struct view *v)
{
	size_t at = v->n;
	struct view line;

	while (at > 0 && v->p[at - 1] != '\n')
		at--;
	line = view_from(*v, at);
	*v = view_cut(*v, at > 0 ? at - 1 : 0);
	return line;
}

static bool tells_error(struct view line)
{
	static const char *const signs[] = { "error", "Error", "ERROR", "panic", "fatal" };

	if (line.n == 0 || line.p[0] == ' ' || line.p[0] == '\t')
		return false; /* of a stack */
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (memmem(line.p, line.n, signs[i], strlen(signs[i])))
			return true;
	return false;
}

/* The last line that speaks of an error, for what follows it is a stack or a version; else the
 * last one that has something in it. */
static struct view telling_line(struct view v)
{
	struct view last = VIEW_NONE;

	v = view_trim(v);
	while (v.n > 0) {
		struct view line = take_last_line(&v);

		if (tells_error(line))
			return line;
		if (last.n == 0)
			last = line;
	}
	return last;
}

void child_words(const struct child *c, struct str *out)
{
	struct str safe = STR_INIT(CHILD_WORDS_MAX * 4), shown = STR_INIT(CHILD_WORDS_MAX * 8);

	if (text_safe(str_view(&c->words), TEXT_KEEP_LF, &safe) == 0 &&
		text_redact(telling_line(str_view(&safe)), &shown) == 0)
		(void)str_add(out,
			view_cut(str_view(&shown), utf8_cut(str_view(&shown), WORDS_SHOWN)));
	str_release(&safe);
	str_release(&shown);
}

/* --- The end ---------------------------------------------------------------------------------- */

static void child_on_exit(void *arg, int code, int signal)
{
	struct child *c = arg;

	c->exited = true;
	timer_disarm(c->limit);
	/* What it still said is in the pipe. */
	if (c->hearing)
		child_on_errors(c, c->errors, WATCH_READ);
	c->env.on_exit(c->env.arg, code, signal);
}

static void child_on_limit(void *arg)
{
	struct child *c = arg;

	proc_stop(c->proc, CHILD_TERM_MS);
}

/* So that it is not stopped by a full pipe on its way out. */
static void child_on_drain(void *arg, int fd, int what)
{
	struct child *c = arg;
	char buf[65536];

	(void)what;
	if (read_some(fd, buf, sizeof(buf)) < 0)
		watch_free(&c->draining);
}

void child_stop(struct child *c)
{
	if (c->stopping)
		return;
	c->stopping = true;
	close_fd(&c->out);
	if (watch_new(&c->draining, c->env.loop, c->in, WATCH_READ, child_on_drain, c, NULL) < 0)
		close_fd(&c->in);
	timer_arm(c->limit, CHILD_EOF_MS);
}

/* Until it has ended, or so long; its pipes are drained meanwhile. */
static void wait_end(const struct child *c, int pidfd, int ms)
{
	struct pollfd p[2] = { { .fd = pidfd, .events = POLLIN },
		{ .fd = c->in, .events = POLLIN } };
	char buf[65536];

	while (poll(p, 2, ms) > 0 && p[0].revents == 0)
		if (read_some(c->in, buf, sizeof(buf)) < 0)
			p[1].fd = -1;
}

void child_end(struct child **cp)
{
	struct child *c = *cp;
	int pidfd;

	*cp = NULL;
	if (!c)
		return;
	close_fd(&c->out);
	pidfd = c->proc && !c->exited ? pidfd_open(proc_pid(c->proc), 0) : -1;
	if (pidfd >= 0)
		wait_end(c, pidfd, CHILD_EOF_MS);
	close_fd(&pidfd);
	child_free(c);
}

/* --- The start -------------------------------------------------------------------------------- */

int child_in(const struct child *c)
{
	return c->in;
}

int child_out(const struct child *c)
{
	return c->out;
}

static int spawn(struct child *c, struct err *e)
{
	int down[2] = { -1, -1 }, up[2] = { -1, -1 }, errors[2] = { -1, -1 };
	int line[2] = { -1, -1 }, rc = -1;

	if (proc_pipe(down, 1, e) == 0 && proc_pipe(up, 0, e) == 0 &&
		proc_pipe(errors, 0, e) == 0 && proc_pipe(line, -1, e) == 0) {
		const struct proc_fd fds[] = { { down[0], 0 }, { up[1], 1 }, { errors[1], 2 },
			{ line[0], CHILD_LIFELINE_FD } };
		const struct proc_spec spec = {
			.path = c->env.path,
			.argv = c->env.argv,
			.env = c->env.env,
			.cwd = c->env.cwd,
			.fds = fds,
			.nfds = 4,
		};

		rc = proc_spawn(&c->proc, c->env.loop, &spec, child_on_exit, c, e);
	}
	close_fd(&down[0]);
	close_fd(&up[1]);
	close_fd(&errors[1]);
	close_fd(&line[0]);
	c->lifeline = line[1];
	c->out = down[1];
	c->in = up[0];
	c->errors = errors[0];
	return rc;
}

int child_start(struct child **out, const struct child_env *env, struct err *e)
{
	struct child *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "the agent's process");
	c->env = *env;
	c->in = c->out = c->errors = c->lifeline = -1;
	c->words = STR_INIT(CHILD_WORDS_MAX);
	if (timer_new(&c->limit, env->loop, child_on_limit, c, e) < 0 || spawn(c, e) < 0 ||
		watch_new(&c->hearing, env->loop, c->errors, WATCH_READ, child_on_errors, c, e) <
			0) {
		child_free(c);
		return -1;
	}
	*out = c;
	return 0;
}
