#include "tools/exec/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/exec/command.h"
#include "tools/exec/event.h"
#include "tools/exec/invocation.h"

#define CHUNK_MAX ((size_t)1 << 20)
#define MUCH      ((size_t)32 << 10) /* at once: a program that writes without end is slowed down */
#define SLOWER_NS 5000000L

struct terminal {
	int out;
	struct str held; /* the beginning of a character whose rest is still to come */
	const struct json *args, *argv;
	const char *shell;
	const char *env[TERMINAL_ENV_MAX + 1];
	struct invocation what;
	struct command command;
};

/* --- What comes ------------------------------------------------------------------------------- */

/* Bytes at the end that may become a character with what follows. */
static size_t unfinished(struct view v)
{
	for (size_t n = 1; n <= 3 && n <= v.n; n++) {
		unsigned char c = (unsigned char)v.p[v.n - n];
		size_t wanted = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

		if ((c & 0xc0) != 0x80)
			return wanted > n ? n : 0;
	}
	return 0;
}

static void send_text(struct terminal *t, struct view v)
{
	struct str clean = STR_INIT(CHUNK_MAX), text = STR_INIT(CHUNK_MAX);
	struct view rest;

	if (utf8_repair(v, &clean) < 0)
		str_reset(&clean);
	for (rest = str_view(&clean); rest.n > 0;) {
		size_t n = view_find(rest, '\0');

		(void)str_add(&text, view_cut(rest, n));
		if (n < rest.n)
			(void)str_adds(&text, "\xef\xbf\xbd");
		rest = view_from(rest, n + 1);
	}
	if (text.n > 0)
		event_output(t->out, str_view(&text));
	str_release(&clean);
	str_release(&text);
}

static void terminal_on_output(void *arg, struct view piece)
{
	const struct timespec pause = { .tv_nsec = SLOWER_NS };
	struct terminal *t = arg;
	struct str all = STR_INIT(CHUNK_MAX);
	size_t whole;

	(void)str_add(&all, str_view(&t->held));
	(void)str_add(&all, piece);
	str_reset(&t->held);
	whole = all.n - unfinished(str_view(&all));
	send_text(t, view_cut(str_view(&all), whole));
	(void)str_add(&t->held, view_from(str_view(&all), whole));
	str_release(&all);
	if (piece.n >= MUCH)
		(void)nanosleep(&pause, NULL);
}

/* --- The command ------------------------------------------------------------------------------ */

static int read_env(struct terminal *t, const struct json *request, struct err *e)
{
	const struct json *list = NULL;
	size_t n = 0;

	if (json_get_array(request, "env", JSON_OPTIONAL, TERMINAL_ENV_MAX, &list, e) < 0)
		return -1;
	json_each(item, list) {
		struct view word;

		if (json_str(item, &word) < 0 || view_find(word, '=') == word.n)
			return err_set(e, E_FORMAT, "an item of \"env\" is not NAME=VALUE");
		t->env[n++] = word.p;
	}
	return 0;
}

static int read_request(struct terminal *t, const struct json *request, struct err *e)
{
	struct view shell = VIEW("/bin/sh");

	if (json_get_object(request, "args", JSON_REQUIRED, &t->args, e) < 0 ||
		json_get_array(request, "argv", JSON_OPTIONAL, SIZE_MAX, &t->argv, e) < 0 ||
		json_get_str(request, "shell", JSON_OPTIONAL, 1, PATH_SIZE - 1, &shell, e) < 0 ||
		read_env(t, request, e) < 0)
		return -1;
	if (shell.p[0] != '/')
		return err_set(e, E_FORMAT, "\"shell\" is not a full path");
	t->shell = shell.p;
	return 0;
}

static int run(struct terminal *t, const char *tmp, struct err *e)
{
	struct command_plan plan = { .in = -1, .frames = -1, .tmp = tmp };
	struct command *c = &t->command;

	invocation_plan(&t->what, &plan);
	plan.env = t->env;
	plan.on_output = terminal_on_output;
	plan.arg = t;
	event_acting(t->out);
	if (command_start(c, &plan, e) < 0)
		return -1;
	while (!c->exited && !c->stopped)
		command_step(c, NULL, 0, INT64_MAX);
	command_end(c);
	(void)command_leaves(c);
	send_text(t, str_view(&t->held));
	if (WIFSIGNALED(c->status))
		event_end(t->out, -1, WTERMSIG(c->status));
	else
		event_end(t->out, WEXITSTATUS(c->status), 0);
	command_release(c);
	return 0;
}

static int terminal_work(const struct site *site, const struct json *request, int in, int out)
{
	static struct roots roots;
	static struct terminal t = { .held = STR_INIT(CHUNK_MAX), .what = { .dir = -1 } };
	struct err e = ERR_INIT;
	struct fence fence;
	int rc = -1;

	(void)close(in);
	t.out = out;
	if (read_request(&t, request, &e) == 0 &&
		site_enter(site, FENCE_PROGRAMS, &roots, &fence, &e) == 0) {
		event_fence(out, &fence);
		if (invocation_read(&t.what, &roots, t.args, t.argv, t.shell, &e) == 0)
			rc = run(&t, site->tmp, &e);
	}
	if (rc < 0)
		(void)event_failure(out, &e);
	invocation_release(&t.what);
	str_release(&t.held);
	roots_release(&roots);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static enum fence_kind terminal_kind(const struct json *request)
{
	(void)request;
	return FENCE_PROGRAMS;
}

const struct service terminal_service = {
	.mode = "terminal",
	.kind = terminal_kind,
	.work = terminal_work,
};
