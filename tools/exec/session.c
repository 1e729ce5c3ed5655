#include "tools/exec/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "tools/exec/command.h"
#include "tools/exec/event.h"

#define REQUEST_MAX ((size_t)1 << 20)
#define SCRIPT_MAX  ((size_t)1 << 20)
#define TOKEN_BYTES 16 /* what marks a frame cannot be guessed */
#define FRAME_MAX   ((size_t)256)
#define LOUD_BYTES  ((uint64_t)1 << 20)
#define LOUD_MS     100

struct session {
	struct command shell;
	int script; /* the shell's input */
	int frames; /* where it says that a command is done */
	int in, out;
	struct str request; /* what came of the next one, a line and maybe more */
	struct str to_shell;

	char token[2 * TOKEN_BYTES + 1]; /* of the command under way */
	struct str frame;                /* what came of a line of frames */
	bool framed, xtrace, verbose;
	int status;       /* of the last command */
	uint64_t earlier; /* bytes that came before the command under way */
};

/* --- The script ------------------------------------------------------------------------------- */

static void add_quoted(struct str *s, struct view v)
{
	(void)str_addc(s, '\'');
	while (v.n > 0) {
		size_t n = view_find(v, '\'');

		(void)str_add(s, view_cut(v, n));
		if (n < v.n)
			(void)str_adds(s, "'\\''");
		v = view_from(v, n + 1);
	}
	(void)str_addc(s, '\'');
}

/* What the shell reads for a command: all of it before it begins, so that the command has no part
 * in how its end is told.
 *
 * The frame goes to a descriptor that the command does not have. Its words are quoted or taken back
 * to what the shell itself means by them, whatever aliases and functions the command has made; a
 * special builtin (eval, set, unset) can be no function. `command` keeps a syntax error from ending
 * the shell. Tracing is switched off for the frame and for what the shell reads next, and on again
 * for the next command. */
static void add_script(struct session *s, struct view command)
{
	struct str *out = &s->to_shell;
	struct str text = STR_INIT(SCRIPT_MAX);

	(void)str_adds(&text, s->verbose ? "set -v\n" : "");
	(void)str_adds(&text, s->xtrace ? "set -x\n" : "");
	(void)str_add(&text, command);
	(void)str_addc(&text, '\n');
	(void)str_adds(out, "{ \\command eval ");
	add_quoted(out, str_view(&text));
	(void)str_addf(out,
		" </dev/null %d>&-\n"
		"{ \\eval \"\\\\unset -f command printf;"
		" \\\\command printf '\\n%%s %%s %%s\\n' %s $? \\\"$-\\\" >&%d\"; \\set +xv; }"
		" 2>/dev/null; }\n",
		COMMAND_FRAMES_FD, s->token, COMMAND_FRAMES_FD);
	str_release(&text);
}

static void feed(struct session *s)
{
	ssize_t n = write(s->script, s->to_shell.p, s->to_shell.n);

	if (n > 0)
		str_drop(&s->to_shell, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		str_reset(&s->to_shell); /* it reads no more; its end tells so */
}

/* --- Frames ----------------------------------------------------------------------------------- */

/* "TOKEN STATUS FLAGS". Anything else was not written by the shell's own frame. */
static void take_frame(struct session *s, struct view line)
{
	unsigned long long status;
	size_t n = view_find(line, ' ');
	struct view flags;

	if (!view_eqs(view_cut(line, n), s->token))
		return;
	line = view_from(line, n + 1);
	n = view_find(line, ' ');
	if (parse_u64(view_cut(line, n), &status) < 0 || status > 255)
		return;
	flags = view_from(line, n + 1);
	s->framed = true;
	s->status = (int)status;
	s->xtrace = view_find(flags, 'x') < flags.n;
	s->verbose = view_find(flags, 'v') < flags.n;
}

static void take_frames(struct session *s)
{
	char buf[FRAME_MAX];
	ssize_t n = read(s->frames, buf, sizeof(buf));
	struct view rest = { buf, n > 0 ? (size_t)n : 0 };

	while (rest.n > 0) {
		size_t at = view_find(rest, '\n');

		if (str_add(&s->frame, view_cut(rest, at)) < 0)
			str_reset(&s->frame); /* longer than a frame */
		if (at < rest.n) {
			take_frame(s, str_view(&s->frame));
			str_reset(&s->frame);
		}
		rest = view_from(rest, at + 1);
	}
}

/* --- A command -------------------------------------------------------------------------------- */

static bool shell_lives(const struct session *s)
{
	return !s->shell.exited && !s->shell.stopped;
}

static void watch(struct session *s, int64_t until)
{
	while (!s->framed && shell_lives(s) && monotonic_ms() < until) {
		struct pollfd more[] = { { .fd = s->frames, .events = POLLIN },
			{ .fd = s->to_shell.n > 0 ? s->script : -1, .events = POLLOUT } };

		command_step(&s->shell, more, 2, until);
		if (more[0].revents)
			take_frames(s);
		if (more[1].revents)
			feed(s);
	}
}

static void say_end(const struct session *s, int64_t timeout_s, struct str *text)
{
	command_say_how(&s->shell, timeout_s, text);
	(void)str_adds(text, "[the session has ended with it, and what it had running; its folder "
			     "and variables are gone]\n");
}

static void say_result(const struct session *s, int64_t timeout_s, struct str *text)
{
	if (s->framed)
		command_say_status(s->status, monotonic_ms() - s->shell.began, text);
	else
		say_end(s, timeout_s, text);
	if (s->earlier > 0)
		(void)str_addf(text,
			"[the first %llu bytes came from the background, before this command]\n",
			(unsigned long long)s->earlier);
	command_say_output(&s->shell, text);
}

/* 0: the session goes on. */
static int run_command(struct session *s, struct view command, int64_t timeout_s)
{
	struct str text = STR_INIT((size_t)1 << 20);
	bool timed_out;

	rand_hex(s->token, TOKEN_BYTES);
	s->framed = false;
	s->shell.began = monotonic_ms();
	command_drain(&s->shell);
	s->earlier = s->shell.said.total + s->shell.complained.total;
	add_script(s, command);
	event_acting(s->out);
	watch(s, s->shell.began + timeout_s * 1000);
	timed_out = !s->framed && shell_lives(s);
	if (s->framed) {
		command_drain(&s->shell);
	} else {
		command_end(&s->shell);
		(void)command_leaves(&s->shell);
	}
	say_result(s, timed_out ? timeout_s : 0, &text);
	command_forget(&s->shell);
	(void)event_session(s->out, s->framed && s->status == 0, !s->framed, str_view(&text));
	str_release(&text);
	return s->framed ? 0 : -1;
}

/* --- Requests --------------------------------------------------------------------------------- */

/* False: nothing more comes. */
static bool take_request(struct session *s)
{
	char buf[65536];
	ssize_t n = read(s->in, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	return n > 0 && str_add(&s->request, (struct view){ buf, (size_t)n }) == 0;
}

/* True: there is a line. What runs in the background is heard meanwhile; when it says much, slowly,
 * or it could keep a processor busy for as long as nobody asks for anything. */
static bool wait_request(struct session *s)
{
	while (view_find(str_view(&s->request), '\n') == s->request.n) {
		struct pollfd more = { .fd = s->in, .events = POLLIN };

		if (s->shell.said.total + s->shell.complained.total > LOUD_BYTES)
			(void)poll(&more, 1, LOUD_MS);
		command_step(&s->shell, &more, 1, INT64_MAX);
		if (!shell_lives(s) || (more.revents && !take_request(s)))
			return false;
	}
	return true;
}

static int serve_request(struct session *s)
{
	size_t n = view_find(str_view(&s->request), '\n');
	int64_t timeout_s = COMMAND_TIMEOUT_S;
	struct json *j = NULL;
	struct view command;
	struct err e = ERR_INIT;
	int rc = 0;

	if (json_read(&j, view_cut(str_view(&s->request), n), &json_limits_wire, &e) < 0 ||
		json_get_str(j, "command", JSON_REQUIRED, 1, COMMAND_TEXT_MAX, &command, &e) < 0 ||
		json_get_int(j, "timeout_s", JSON_OPTIONAL, 1, COMMAND_TIMEOUT_MAX_S, &timeout_s,
			&e) < 0)
		(void)event_session(s->out, false, false, view_of(e.msg));
	else
		rc = run_command(s, command, timeout_s);
	json_free(&j);
	str_drop(&s->request, n + 1);
	return rc;
}

/* --- All of it -------------------------------------------------------------------------------- */

static int start_shell(struct session *s, const struct root *root, const char *tmp, struct err *e)
{
	static const char *const argv[] = { "sh", NULL };
	int script[2] = { -1, -1 }, frames[2] = { -1, -1 }, rc = -1;
	struct command_plan plan = { .path = "/bin/sh", .argv = argv, .pwd = root->path };

	if (pipe2(script, O_CLOEXEC) < 0 || pipe2(frames, O_CLOEXEC) < 0 ||
		fcntl(script[1], F_SETFL, O_NONBLOCK) < 0) {
		(void)err_sys(e, "a pipe");
		goto out;
	}
	plan.dir = root->fd;
	plan.tmp = tmp;
	plan.in = script[0];
	plan.frames = frames[1];
	rc = command_start(&s->shell, &plan, e);
out:
	s->script = script[1];
	s->frames = frames[0];
	if (script[0] >= 0)
		(void)close(script[0]);
	if (frames[1] >= 0)
		(void)close(frames[1]);
	return rc;
}

static void session_free(struct session *s)
{
	if (s->script >= 0)
		(void)close(s->script);
	if (s->frames >= 0)
		(void)close(s->frames);
	str_release(&s->request);
	str_release(&s->to_shell);
	str_release(&s->frame);
	free(s);
}

int session_run(const struct roots *roots, const char *tmp, int in, int out)
{
	const struct str request = STR_INIT(REQUEST_MAX), script = STR_INIT(SCRIPT_MAX),
			 frame = STR_INIT(FRAME_MAX);
	struct session *s = calloc(1, sizeof(*s));
	struct err e = ERR_INIT;

	if (!s)
		return EXIT_FAILURE;
	s->in = in;
	s->out = out;
	s->request = request;
	s->to_shell = script;
	s->frame = frame;
	(void)signal(SIGPIPE, SIG_IGN); /* a shell that is gone tells so by its end */
	if (start_shell(s, &roots->list[0], tmp, &e) < 0) {
		(void)event_result(out, false, view_of(e.msg));
	} else {
		while (wait_request(s) && serve_request(s) == 0)
			;
		command_release(&s->shell);
	}
	session_free(s);
	return EXIT_SUCCESS;
}

static int session_work(const struct site *site, const struct json *request, int in, int out)
{
	static struct roots roots;
	struct err e = ERR_INIT;
	struct fence fence;
	int rc = EXIT_FAILURE;

	(void)request;
	if (site_enter(site, FENCE_PROGRAMS, &roots, &fence, &e) < 0) {
		(void)event_result(out, false, view_of(e.msg));
	} else {
		event_fence(out, &fence);
		rc = session_run(&roots, site->tmp, in, out);
	}
	roots_release(&roots);
	return rc;
}

static enum fence_kind session_kind(const struct json *request)
{
	(void)request;
	return FENCE_PROGRAMS;
}

const struct service session_service = {
	.mode = "session",
	.kind = session_kind,
	.work = session_work,
};
