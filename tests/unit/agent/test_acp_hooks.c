/* The listener for an agent's hooks, and what is read from where Kimi keeps it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agent/acp/artifact.h"
#include "agent/acp/hooks.h"
#include "agent/acp/output.h"
#include "agent/acp/past.h"
#include "base/file.h"
#include "scratch.h"

struct fix {
	struct scratch dir;
	struct loop *loop;
	struct log *log;
	struct hooks *hooks;
	struct str heard;
};

static bool on_hook(void *arg, const struct hook *h)
{
	struct fix *f = arg;

	if (!view_eqs(h->session, "s1"))
		return false;
	(void)str_addf(&f->heard, "(%d %.*s %.*s %.*s%s%s%s)", (int)h->event, VIEW_FMT(h->task),
		VIEW_FMT(h->kind), VIEW_FMT(view_cut(h->text, 100)), h->failed ? " failed" : "",
		h->by_user ? " user" : "", h->by_task ? " task" : "");
	return true;
}

static int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	scratch_make(&f->dir);
	f->heard = STR_INIT(1 << 20);
	assert_int_equal(0, loop_open(&f->loop, NULL, NULL));
	assert_int_equal(0, log_open_fd(&f->log, STDERR_FILENO, LOG_ERROR, NULL));
	assert_int_equal(0, hooks_open(&f->hooks, f->loop, on_hook, f, f->log, NULL));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	hooks_close(&f->hooks);
	log_close(&f->log);
	loop_close(&f->loop);
	str_release(&f->heard);
	scratch_remove(&f->dir);
	free(f);
	return 0;
}

static int dial(const struct fix *f)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	unsigned long long port;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(0, parse_u64(view_of(strrchr(hooks_url(f->hooks), ':') + 1), &port));
	to.sin_port = htons((uint16_t)port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(0, connect(fd, (const struct sockaddr *)&to, sizeof(to)));
	return fd;
}

/* The status that comes back. */
static int status_of(struct fix *f, int fd)
{
	char buf[512];
	ssize_t n = -1;
	int status = -1;

	for (int i = 0; i < 2000 && n < 0; i++) {
		assert_int_equal(0, loop_step(f->loop, 5, NULL));
		n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);
	}
	assert_true(n > 12);
	buf[n] = '\0';
	assert_int_equal(1, sscanf(buf, "HTTP/1.1 %3d", &status));
	(void)close(fd);
	return status;
}

static int request(struct fix *f, const char *line, const char *token, struct view body)
{
	struct str head = STR_INIT(4096);
	int fd = dial(f);
	size_t sent = 0;

	assert_int_equal(0, str_addf(&head,
				    "%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
				    "Content-Length: %zu\r\n\r\n",
				    line, hooks_url(f->hooks) + strlen("http://"), token, body.n));
	assert_int_equal(head.n, send(fd, head.p, head.n, MSG_NOSIGNAL));
	str_release(&head);
	while (sent < body.n) {
		ssize_t n = send(fd, body.p + sent, body.n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0 && loop_step(f->loop, 5, NULL) == 0 && n == 0)
			break;
		if (n < 0 && errno != EAGAIN)
			break; /* refused by its length, unread */
		sent += n > 0 ? (size_t)n : 0;
	}
	return status_of(f, fd);
}

static int post(struct fix *f, const char *body)
{
	return request(f, "POST /hook", hooks_token(f->hooks), view_of(body));
}

/* --- Hooks ------------------------------------------------------------------------------------ */

#define HOOK(event, more) "{\"hook_event_name\":\"" event "\",\"session_id\":\"s1\"" more "}"
#define END_OF(type) \
	HOOK("Notification", ",\"source_kind\":\"background_task\",\"source_id\":\"b-1\"," \
			     "\"notification_type\":\"" type "\",\"body\":\"so\"")

static void hooks_are_taken_as_kimi_posts_them(void **state)
{
	static const struct {
		const char *body, *heard;
		int status;
	} table[] = {
		{ HOOK("TaskStarted", ",\"task_id\":\"b-1\",\"kind\":\"process\",\"description\":"
				      "\"does\",\"detached\":true,\"cwd\":\"/\",\"new\":[1]"),
			"(0 b-1 process does)", 204 },
		{ HOOK("TaskStarted", ",\"task_id\":\"b-1\",\"detached\":false"), "", 204 },
		{ HOOK("TaskStarted", ",\"task_id\":\"b-1\""), "(0 b-1  )", 204 },
		{ HOOK("TaskStarted", ""), "", 400 },
		{ HOOK("TaskStarted", ",\"task_id\":\"../b\""), "", 400 },
		{ HOOK("TaskStarted", ",\"task_id\":\".b\""), "", 400 },
		{ HOOK("TaskStarted", ",\"task_id\":\"a/b\""), "", 400 },
		{ HOOK("TaskStarted", ",\"task_id\":\"\""), "", 400 },
		{ HOOK("TaskStarted", ",\"task_id\":7"), "", 400 },
		{ END_OF("task.completed"), "(1 b-1  so)", 204 },
		{ END_OF("task.failed"), "(1 b-1  so failed)", 204 },
		{ END_OF("task.killed"), "(1 b-1  so failed)", 204 },
		{ END_OF("task.timed_out"), "(1 b-1  so failed)", 204 },
		{ END_OF("task.lost"), "(1 b-1  so failed)", 204 },
		{ END_OF("task.progress"), "", 204 },
		{ HOOK("Notification", ",\"source_kind\":\"update\",\"notification_type\":"
				       "\"task.completed\""),
			"", 204 },
		{ HOOK("Notification", ",\"source_kind\":\"background_task\","
				       "\"notification_type\":\"task.completed\""),
			"", 400 },
		{ HOOK("SubagentStop", ",\"agent_name\":\"coder\",\"response\":\"r\""), "(2   r)",
			204 },
		{ HOOK("TurnStarted", ",\"origin_kind\":\"task\",\"turn_id\":3"), "(3    task)",
			204 },
		{ HOOK("TurnStarted", ",\"origin_kind\":\"user\""), "(3    user)", 204 },
		{ HOOK("TurnStarted", ",\"origin_kind\":\"system_trigger\""), "", 204 },
		{ HOOK("Stop", ",\"stop_hook_active\":false"), "(4   )", 204 },
		{ HOOK("StopFailure", ",\"error_type\":\"E\",\"error_message\":\"400 no\""),
			"(5   400 no)", 204 },
		{ HOOK("Interrupt", ",\"turn_id\":3,\"reason\":\"cancelled\""), "(6   )", 204 },
		{ HOOK("SessionHeartbeat", ""), "", 400 },
		{ HOOK("Stop", ",\"session_id\":\"s1\""), "", 400 }, /* twice */
		{ "{\"hook_event_name\":\"Stop\",\"session_id\":\"s2\"}", "", 404 },
		{ "{\"hook_event_name\":\"Stop\"}", "", 400 },
		{ "{\"hook_event_name\":\"Stop\",\"session_id\":\"a b\"}", "", 400 },
		{ "[]", "", 400 },
		{ "", "", 400 },
		{ "\xff", "", 400 },
		{ HOOK("Stop", "") HOOK("Stop", ""), "", 400 },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		str_reset(&f->heard);
		assert_int_equal(table[i].status, post(f, table[i].body));
		assert_string_equal(table[i].heard, str_cstr(&f->heard));
	}
}

static void nobody_posts_without_the_token(void **state)
{
	struct fix *f = *state;
	char wrong[128];

	(void)snprintf(wrong, sizeof(wrong), "%s", hooks_token(f->hooks));
	assert_int_equal(64, strlen(wrong));
	wrong[63] = wrong[63] == 'a' ? 'b' : 'a';
	assert_int_equal(401, request(f, "POST /hook", wrong, VIEW(HOOK("Stop", ""))));
	wrong[63] = '\0';
	assert_int_equal(401, request(f, "POST /hook", wrong, VIEW(HOOK("Stop", ""))));
	assert_int_equal(401, request(f, "POST /hook", "", VIEW(HOOK("Stop", ""))));
	assert_string_equal("", str_cstr(&f->heard));
}

static void nothing_else_is_served(void **state)
{
	struct fix *f = *state;
	const char *token = hooks_token(f->hooks);

	assert_int_equal(404, request(f, "POST /", token, VIEW(HOOK("Stop", ""))));
	assert_int_equal(404, request(f, "POST /hook/", token, VIEW(HOOK("Stop", ""))));
	assert_int_equal(405, request(f, "GET /hook", token, VIEW_NONE));
	assert_int_equal(405, request(f, "PUT /hook", token, VIEW(HOOK("Stop", ""))));
	assert_string_equal("", str_cstr(&f->heard));
}

static void a_body_is_bounded(void **state)
{
	struct fix *f = *state;
	const char *head = "{\"hook_event_name\":\"Stop\",\"session_id\":\"s1\",\"x\":\"";
	struct str body = STR_INIT(HOOKS_BODY_MAX + 1);

	for (size_t n = HOOKS_BODY_MAX; n <= HOOKS_BODY_MAX + 1; n++) {
		str_reset(&body);
		assert_int_equal(0, str_adds(&body, head));
		while (body.n < n - 2)
			assert_int_equal(0, str_addc(&body, 'x'));
		assert_int_equal(0, str_adds(&body, "\"}"));
		assert_int_equal(n, body.n);
		assert_int_equal(n == HOOKS_BODY_MAX ? 204 : 413,
			request(f, "POST /hook", hooks_token(f->hooks), str_view(&body)));
	}
	assert_string_equal("(4   )", str_cstr(&f->heard));
	str_release(&body);
}

static void a_flood_is_taken_one_by_one(void **state)
{
	struct fix *f = *state;
	struct str request_ = STR_INIT(4096);
	int fds[40];

	assert_int_equal(0, str_addf(&request_,
				    "POST /hook HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s"
				    "\r\nContent-Length: %zu\r\n\r\n%s",
				    hooks_url(f->hooks) + strlen("http://"), hooks_token(f->hooks),
				    strlen(HOOK("Stop", "")), HOOK("Stop", "")));
	for (int i = 0; i < 40; i++) {
		fds[i] = dial(f);
		assert_int_equal(request_.n, send(fds[i], request_.p, request_.n, MSG_NOSIGNAL));
	}
	for (int i = 0; i < 40; i++)
		assert_int_equal(204, status_of(f, fds[i]));
	assert_int_equal(40 * strlen("(4   )"), f->heard.n);
	str_release(&request_);
}

/* --- The helper that posts them --------------------------------------------------------------- */

/* Its exit code, when it was given that input, which ends or does not. */
static int run_relay(struct fix *f, const char *url, const char *token, struct view in, bool ends)
{
	int pipes[2], status = 0;
	pid_t pid;

	assert_int_equal(0, pipe2(pipes, O_CLOEXEC));
	pid = fork();
	if (pid == 0) {
		if (dup2(pipes[0], STDIN_FILENO) == STDIN_FILENO && clearenv() == 0 &&
			(!url || setenv("KAIRO_RELAY_URL", url, 1) == 0) &&
			(!token || setenv("KAIRO_RELAY_TOKEN", token, 1) == 0))
			(void)execl(KAIRO_TOOL, "kairo-tool", "relay", (char *)NULL);
		_exit(127);
	}
	(void)close(pipes[0]);
	while (in.n > 0) {
		ssize_t n = write(pipes[1], in.p, in.n);

		assert_true(n > 0);
		in = view_from(in, (size_t)n);
	}
	if (ends)
		(void)close(pipes[1]);
	while (waitpid(pid, &status, WNOHANG) == 0)
		assert_int_equal(0, loop_step(f->loop, 5, NULL));
	if (!ends)
		(void)close(pipes[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void the_helper_posts_what_a_hook_tells(void **state)
{
	struct fix *f = *state;
	const char *url = hooks_url(f->hooks), *token = hooks_token(f->hooks);
	struct str big = STR_INIT(2 << 20);

	assert_int_equal(0,
		run_relay(f, url, token,
			VIEW(HOOK("StopFailure",
				",\"error_message\":\"400 no\",\"cwd\":\"/\",\"x\":{\"y\":[]}")),
			true));
	assert_string_equal("(5   400 no)", str_cstr(&f->heard));
	/* a prompt of any length is not passed on, and a text only as far as it is of use */
	str_reset(&f->heard);
	assert_int_equal(0, str_adds(&big, "{\"hook_event_name\":\"StopFailure\",\"session_id\":"
					   "\"s1\",\"prompt\":\""));
	while (big.n < (1 << 20))
		(void)str_addc(&big, 'p');
	(void)str_adds(&big, "\",\"error_message\":\"");
	while (big.n < (1 << 20) + (100 << 10))
		(void)str_addc(&big, 'm');
	(void)str_adds(&big, "\"}");
	assert_int_equal(0, run_relay(f, url, token, str_view(&big), true));
	assert_int_equal(strlen("(5   )") + 100, f->heard.n);
	str_release(&big);
}

static void the_helper_holds_nobody_up(void **state)
{
	struct fix *f = *state;
	const char *url = hooks_url(f->hooks), *token = hooks_token(f->hooks);
	struct view stop = VIEW(HOOK("Stop", ""));

	assert_int_equal(0, run_relay(f, NULL, NULL, stop, false));
	assert_int_equal(0, run_relay(f, url, NULL, stop, false));
	assert_int_equal(0, run_relay(f, NULL, token, stop, false));
	assert_int_equal(0, run_relay(f, "http://127.0.0.1:1", token, stop, true));
	assert_int_equal(0, run_relay(f, "http://127.0.0.2:80", token, stop, true));
	assert_int_equal(0, run_relay(f, "http://localhost:80/", token, stop, true));
	assert_int_equal(0, run_relay(f, url, "a\r\nb", stop, true));
	assert_int_equal(0, run_relay(f, url, "wrong", stop, true));
	assert_int_equal(0, run_relay(f, url, token, VIEW("not JSON"), true));
	assert_int_equal(0, run_relay(f, url, token, VIEW("[]"), true));
	assert_int_equal(0, run_relay(f, url, token, stop, false)); /* it never ends */
	assert_string_equal("", str_cstr(&f->heard));
}

/* --- Output ----------------------------------------------------------------------------------- */

static const char *below(struct fix *f, const char *path)
{
	return scratch_path(&f->dir, path);
}

static void make(struct fix *f, const char *folder, const char *text)
{
	char path[700];

	assert_int_equal(0, file_mkdirs(below(f, folder), 0700, NULL));
	(void)snprintf(path, sizeof(path), "%s/output.log", below(f, folder));
	assert_int_equal(0, file_replace(path, 0600, view_of(text), NULL));
}

static enum err_code read_output(struct fix *f, const char *session, const char *task,
	const char *text)
{
	struct str out = STR_INIT(1 << 20);
	struct err e = ERR_INIT;
	bool cut = true;

	if (output_read(f->dir.dir, session, task, &out, &cut, &e) == 0)
		assert_string_equal(text, str_cstr(&out));
	else
		assert_int_equal(0, out.n);
	assert_false(cut);
	str_release(&out);
	return e.code;
}

static void an_output_is_found_by_session_and_task(void **state)
{
	struct fix *f = *state;

	assert_int_equal(E_NOTFOUND, read_output(f, "s1", "b1", ""));
	make(f, "sessions/wd_a/other/agents/main/tasks/b1", "not this");
	assert_int_equal(E_NOTFOUND, read_output(f, "s1", "b1", ""));
	make(f, "sessions/wd_b/s1/agents/main/tasks/b1", "this");
	make(f, "sessions/wd_b/session_s2/agents/agent-7/tasks/b1", "and this");
	assert_int_equal(E_OK, read_output(f, "s1", "b1", "this"));
	assert_int_equal(E_OK, read_output(f, "s2", "b1", "and this"));
	assert_int_equal(E_NOTFOUND, read_output(f, "s1", "b2", ""));
}

static void an_output_is_read_nowhere_else(void **state)
{
	static const char *const ids[] = { "..", ".", "", "../s1", "a/b", "/etc" };
	struct fix *f = *state;

	make(f, "elsewhere/agents/main/tasks/b1", "secret");
	make(f, "sessions/wd/s1/agents/main/tasks/b1", "this");
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_equal(E_DENIED, read_output(f, ids[i], "b1", ""));
		assert_int_equal(E_DENIED, read_output(f, "s1", ids[i], ""));
	}
	/* a link at each place of the path */
	assert_int_equal(0, symlink(f->dir.dir, below(f, "sessions/wd2")));
	assert_int_equal(E_DENIED, read_output(f, "elsewhere", "b1", ""));
	assert_int_equal(0, symlink(below(f, "elsewhere"), below(f, "sessions/wd/s2")));
	assert_int_equal(E_DENIED, read_output(f, "s2", "b1", ""));
	assert_int_equal(0, file_mkdirs(below(f, "sessions/wd/s3/agents"), 0700, NULL));
	assert_int_equal(0,
		symlink(below(f, "elsewhere/agents/main"), below(f, "sessions/wd/s3/agents/main")));
	assert_int_equal(E_DENIED, read_output(f, "s3", "b1", ""));
	assert_int_equal(0,
		file_mkdirs(below(f, "sessions/wd/s4/agents/main/tasks/b1"), 0700, NULL));
	assert_int_equal(0, symlink(below(f, "elsewhere/agents/main/tasks/b1/output.log"),
				    below(f, "sessions/wd/s4/agents/main/tasks/b1/output.log")));
	assert_int_equal(E_DENIED, read_output(f, "s4", "b1", ""));
	/* what is no file */
	assert_int_equal(0,
		file_mkdirs(below(f, "sessions/wd/s5/agents/main/tasks/b1"), 0700, NULL));
	assert_int_equal(0,
		mkfifo(below(f, "sessions/wd/s5/agents/main/tasks/b1/output.log"), 0600));
	assert_true(read_output(f, "s5", "b1", "") != E_OK);
	/* what is in the way of one is in no other's */
	assert_int_equal(E_OK, read_output(f, "s1", "b1", "this"));
}

#define FILLED 512

static void fill_in(char out[FILLED], const char *text, const char *workspace)
{
	const char *at = strchr(text, '@');
	int before = at ? (int)(at - text) : (int)strlen(text);

	(void)snprintf(out, FILLED, "%.*s%s%s", before, text, at ? workspace : "",
		at ? at + 1 : "");
}

static void an_output_names_the_file_it_has_made(void **state)
{
	static const struct {
		const char *output, *path; /* @: the workspace; path NULL: none */
	} rows[] = {
		{ "Saved chart.png", "chart.png" },
		{ "working\n\nsaved: chart.png\n\n", "chart.png" },
		{ "WROTE 12 rows to out/rows.csv.", "out/rows.csv" },
		{ "Plot saved as \"a plot.png\".", "a plot.png" },
		{ "generated ./chart.png in out", "./chart.png in out" },
		{ "Report generated in out/rows.csv", "out/rows.csv" },
		{ "Wrote @/out/rows.csv", "@/out/rows.csv" },
		{ "Saved .kairo-out/c.txt", ".kairo-out/c.txt" },
		{ "Saved chart.png\nBye.", NULL },
		{ "unsaved chart.png", NULL },
		{ "chart.png", NULL },
		{ "Saved", NULL },
		{ "", NULL },
		{ "Saved 3 files", NULL },
		{ "Saved missing.png", NULL },
		{ "Saved out", NULL },
		{ "Saved link.png", NULL },
		{ "Saved .env", NULL },
		{ "Saved ./.env", NULL },
		{ "Saved out/.git/config", NULL },
		{ "Saved .kairo-out/.gitignore", NULL },
		{ "Saved out/../chart.png", NULL },
		{ "Saved ../w/chart.png", NULL },
		{ "Saved @/../w/chart.png", NULL },
		{ "Saved @", NULL },
		{ "Saved /etc/passwd", NULL },
	};
	static const char *const files[] = { "chart.png", "out/rows.csv", "a plot.png",
		"chart.png in out", ".kairo-out/c.txt", ".env", "out/.git/config",
		".kairo-out/.gitignore" };
	struct fix *f = *state;
	char w[256], path[512], output[FILLED], want[FILLED];

	(void)snprintf(w, sizeof(w), "%s/w", f->dir.dir);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", w, files[i]);
		*strrchr(path, '/') = '\0';
		assert_int_equal(0, file_mkdirs(path, 0700, NULL));
		path[strlen(path)] = '/';
		assert_int_equal(0, file_replace(path, 0600, VIEW("x"), NULL));
	}
	(void)snprintf(path, sizeof(path), "%s/link.png", w);
	assert_int_equal(0, symlink("chart.png", path));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str got = STR_INIT(4096);

		fill_in(output, rows[i].output, w);
		fill_in(want, rows[i].path ? rows[i].path : "", w);
		if (artifact_find(w, view_of(output), &got) != (rows[i].path != NULL))
			fail_msg("%s", output);
		assert_string_equal(want, str_cstr(&got));
		str_release(&got);
	}
}

/* --- History ---------------------------------------------------------------------------------- */

static void played(struct past *p, const char *kind, const char *text)
{
	struct str s = STR_INIT(4 << 20);
	struct json *j = NULL;
	struct json_out w;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_z(&w, "sessionUpdate", kind);
	json_put_z(&w, "toolCallId", "c");
	json_open(&w, "content");
	json_put_z(&w, "type", "text");
	json_put_z(&w, "text", text);
	json_close(&w);
	json_close(&w);
	assert_int_equal(0, json_out_end(&w, NULL));
	assert_int_equal(0, json_read(&j, str_view(&s), &json_limits_message, NULL));
	past_take(p, j);
	json_free(&j);
	str_release(&s);
}

static void expect(bool found, struct view text, bool is_whole, const char *answer, bool whole)
{
	assert_int_equal(answer != NULL, found);
	if (!answer)
		return;
	assert_true(view_eqs(text, answer));
	assert_int_equal(whole, is_whole);
}

static void expect_held(const struct past *p, const char *words, const char *answer, bool whole)
{
	struct view text = VIEW_NONE;
	bool is_whole = !whole, found = past_find(p, view_of(words), &text, &is_whole);

	expect(found, text, is_whole, answer, whole);
}

static void expect_later(const struct past *p, const char *words, const char *before,
	const char *answer, bool whole)
{
	struct view text = VIEW_NONE;
	bool is_whole = !whole,
	     found = past_find_later(p, view_of(words), view_of(before), &text, &is_whole);

	expect(found, text, is_whole, answer, whole);
}

#define U "user_message_chunk"
#define A "agent_message_chunk"

static void a_history_is_told_by_its_exchanges(void **state)
{
	struct past *p;
	char text[32];

	(void)state;
	assert_int_equal(0, past_open(&p, NULL));
	expect_later(p, "", NULL, NULL, false);
	played(p, A, "nobody asked");
	played(p, U, "hello");
	played(p, U, " there");
	played(p, "agent_thought_chunk", "hm");
	played(p, A, "Let me see.");
	played(p, "tool_call", "");
	played(p, U, "<system-reminder>be good</system-reminder>");
	played(p, A, "It is so.");
	played(p, U, "<notification source_id=\"b1\">");
	played(p, U, "<system-reminder>you have work</system-reminder>");
	played(p, A, "Seven.");
	played(p, U, "hello");
	played(p, A, "Wait.");
	played(p, "tool_call", "");
	past_end(p);
	expect_later(p, "hello there", NULL, "Let me see.\n\nIt is so.", true);
	expect_held(p, "b1", "Seven.", true);
	expect_later(p, "b1", NULL, NULL, false);
	expect_later(p, "hello", NULL, "Wait.", false); /* the newest; it is at work */
	expect_held(p, "nobody", NULL, false);
	past_begin(p);
	expect_later(p, "hello", NULL, NULL, false);
	for (int i = 0; i <= PAST_MAX; i++) {
		(void)snprintf(text, sizeof(text), "question %d.", i);
		played(p, U, text);
		played(p, A, text);
	}
	past_end(p);
	expect_later(p, "question 0.", NULL, NULL, false);
	expect_later(p, "question 1.", NULL, "question 1.", true);
	expect_later(p, "question 16.", NULL, "question 16.", true);
	past_close(&p);
}

static void an_older_question_in_the_same_words_is_another_one(void **state)
{
	struct past *p;

	(void)state;
	assert_int_equal(0, past_open(&p, NULL));
	played(p, U, "hello");
	played(p, A, "one");
	played(p, U, "and now?");
	played(p, A, "two");
	past_end(p);
	expect_later(p, "hello", NULL, "one", true);
	expect_later(p, "hello", "hello", NULL, false);
	expect_later(p, "hello", "and now?", NULL, false);
	expect_later(p, "and now?", "hello", "two", true);
	expect_later(p, "and", "and now?", NULL, false); /* is not there yet */
	expect_later(p, "and now?", "gone long ago", "two", true);
	played(p, U, "hello");
	played(p, A, "three");
	past_end(p);
	expect_later(p, "hello", "hello", "three", true);
	expect_later(p, "hello", "and now?", "three", true);
	expect_later(p, "hello", "he", "three", true);
	past_close(&p);
}

/* A history that was compressed has no old answers, and all the questions one behind the other. */
static void a_question_may_be_a_piece_of_one(void **state)
{
	struct past *p;

	(void)state;
	assert_int_equal(0, past_open(&p, NULL));
	played(p, U, "hello");
	played(p, U, "and now?");
	played(p, U, "a summary");
	past_end(p);
	expect_later(p, "hello", "and now?", NULL, false); /* the old one */
	played(p, U, "hello");
	played(p, U, " there");
	played(p, A, "four");
	past_end(p);
	expect_later(p, "hello", "and now?", "four", true);
	expect_later(p, "hello there", "and now?", "four", true); /* across pieces */
	expect_later(p, "hello", "hello", "four", true);
	expect_later(p, "ello", NULL, NULL, false);
	expect_later(p, "and now?", "hello", NULL, false);
	past_begin(p);
	played(p, U, "first");
	for (int i = 0; i < 63; i++)
		played(p, U, "more");
	played(p, A, "five");
	past_end(p);
	expect_later(p, "first", NULL, "five", true); /* the oldest of 64 pieces */
	past_begin(p);
	played(p, U, "first");
	for (int i = 0; i < 64; i++)
		played(p, U, "more");
	played(p, A, "five");
	past_end(p);
	expect_later(p, "first", NULL, NULL, false);
	expect_later(p, "more", NULL, "five", true);
	past_close(&p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(hooks_are_taken_as_kimi_posts_them),
		T(nobody_posts_without_the_token),
		T(nothing_else_is_served),
		T(a_body_is_bounded),
		T(a_flood_is_taken_one_by_one),
		T(the_helper_posts_what_a_hook_tells),
		T(the_helper_holds_nobody_up),
		T(an_output_is_found_by_session_and_task),
		T(an_output_is_read_nowhere_else),
		cmocka_unit_test(an_older_question_in_the_same_words_is_another_one),
		cmocka_unit_test(a_question_may_be_a_piece_of_one),
		T(an_output_names_the_file_it_has_made),
		cmocka_unit_test(a_history_is_told_by_its_exchanges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
