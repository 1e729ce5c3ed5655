/* An ACP agent that does what a script says, well or badly.
 *
 *     acp_agent SCRIPT RECORD
 *
 * SCRIPT is a JSON object: a method's name gives the steps of its answer, or a list of such lists,
 * one for each time it is called (the last one stays). RECORD gets every line that came in, and
 * "=== started" when the program begins. What a script does not name has a plain answer:
 * initialize, session/new ("s1", "s2"...), session/load, session/resume, session/prompt (ends the
 * turn), everything else {}. Notifications do nothing but what the script says.
 *
 * Steps, in order; "$session" in any text stands for the newest session's id, "$prompt" for the
 * first text of the newest prompt, the user's words:
 *   {"result":R} {"error":E}      answer the request
 *   {"update":U}                  session/update of the newest session
 *   {"update_of":{"session":S,"update":U}}
 *   {"send":M}                    a message as it stands
 *   {"ask":{"method":M,"params":P}}  a request of ours; goes on when it has been answered
 *   {"ask_later":{...}}           the same without waiting
 *   {"raw":TEXT}                  these bytes
 *   {"flood":N}                   N pieces of text
 *   {"hook":H}                    posts H to where hooks are listened to, by KAIRO_RELAY_URL
 *   {"stderr":TEXT} {"sleep_ms":N}
 *   {"until":METHOD}              reads until such a message has come
 *   {"file":PATH}                 reads until there is such a file
 *   {"exit":CODE} {"kill":SIGNAL} {"hang":true}
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"

#define LINE_MAX_BYTES ((size_t)64 << 20)
#define METHODS        32

struct agent {
	const struct json *script;
	FILE *record;
	struct str in;
	char session[64], prompt[4096];
	int sessions, calls[METHODS];
	unsigned int asked; /* the id of our next request */
	bool answered;      /* the one we wait for */
	char waiting[128];  /* the method that "until" waits for */
	bool came;
};

static const struct json_limits limits = {
	.bytes = LINE_MAX_BYTES,
	.depth = 40,
	.nodes = 500000,
	.nul = JSON_NUL_REPAIR,
	.repair_utf8 = true,
};

static void die(const char *what)
{
	(void)fprintf(stderr, "acp_agent: %s\n", what);
	_exit(70);
}

/* --- Out -------------------------------------------------------------------------------------- */

static void put_bytes(struct view v)
{
	while (v.n > 0) {
		ssize_t n = write(STDOUT_FILENO, v.p, v.n);

		if (n < 0 && errno != EINTR)
			_exit(71);
		if (n > 0)
			v = view_from(v, (size_t)n);
	}
}

/* The words that stand for something, put in. */
static void expand(const struct agent *a, struct view text, struct str *out)
{
	static const char session[] = "$session", prompt[] = "$prompt";

	while (text.n > 0) {
		size_t n = view_find(text, '$');

		(void)str_add(out, view_cut(text, n));
		text = view_from(text, n);
		if (view_starts(text, VIEW("$session"))) {
			(void)str_adds(out, a->session);
			text = view_from(text, sizeof(session) - 1);
		} else if (view_starts(text, VIEW("$prompt"))) {
			(void)str_adds(out, a->prompt);
			text = view_from(text, sizeof(prompt) - 1);
		} else if (text.n > 0) {
			(void)str_addc(out, '$');
			text = view_from(text, 1);
		}
	}
}

static void copy_json(const struct agent *a, struct json_out *w, const char *name,
	const struct json *j);

static void copy_text(const struct agent *a, struct json_out *w, const char *name,
	const struct json *j)
{
	struct str out = STR_INIT(LINE_MAX_BYTES);
	struct view text = VIEW_NONE;

	(void)json_str(j, &text);
	expand(a, text, &out);
	json_put_str(w, name, str_view(&out));
	str_release(&out);
}

static void copy_children(const struct agent *a, struct json_out *w, const struct json *j)
{
	json_each(child, j) {
		copy_json(a, w, json_type(j) == JSON_OBJECT ? json_name(child) : NULL, child);
	}
}

static void copy_json(const struct agent *a, struct json_out *w, const char *name,
	const struct json *j)
{
	switch (json_type(j)) {
	case JSON_STRING: copy_text(a, w, name, j); break;
	case JSON_OBJECT:
		json_open(w, name);
		copy_children(a, w, j);
		json_close(w);
		break;
	case JSON_ARRAY:
		json_open_array(w, name);
		copy_children(a, w, j);
		json_close_array(w);
		break;
	default: json_put_json(w, name, j);
	}
}

static void send_out(struct json_out *w)
{
	if (json_out_end(w, NULL) < 0)
		die("a message could not be written");
	(void)str_addc(w->s, '\n');
	put_bytes(str_view(w->s));
	str_release(w->s);
}

static void answer(const struct agent *a, const struct json *request, const char *name,
	const struct json *value)
{
	struct str s = STR_INIT(LINE_MAX_BYTES);
	struct json_out w;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_z(&w, "jsonrpc", "2.0");
	json_put_json(&w, "id", json_member(request, "id"));
	copy_json(a, &w, name, value);
	json_close(&w);
	send_out(&w);
}

static void answer_text(const struct agent *a, const struct json *request, const char *result)
{
	struct json *j = NULL;

	if (json_read(&j, view_of(result), &limits, NULL) < 0)
		die(result);
	answer(a, request, "result", j);
	json_free(&j);
}

static void update(const struct agent *a, const struct json *session, const struct json *value)
{
	struct str s = STR_INIT(LINE_MAX_BYTES);
	struct json_out w;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_z(&w, "jsonrpc", "2.0");
	json_put_z(&w, "method", "session/update");
	json_open(&w, "params");
	if (session)
		copy_json(a, &w, "sessionId", session);
	else
		json_put_z(&w, "sessionId", a->session);
	copy_json(a, &w, "update", value);
	json_close(&w);
	json_close(&w);
	send_out(&w);
}

static void flood(struct agent *a, int64_t n)
{
	struct json *j = NULL;

	if (json_read(&j,
		    VIEW("{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\","
			 "\"text\":\"flood \"}}"),
		    &limits, NULL) < 0)
		die("flood");
	while (n-- > 0)
		update(a, NULL, j);
	json_free(&j);
}

/* --- In --------------------------------------------------------------------------------------- */

static void take_line(struct agent *a, struct view line);

/* One more line, or nothing more in so many ms (-1: as long as it takes). False: the time is up. */
static bool read_line(struct agent *a, int ms)
{
	for (;;) {
		size_t n = view_find(str_view(&a->in), '\n');
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
		char buf[65536];
		ssize_t got;

		if (n < a->in.n) {
			struct str line = STR_INIT(LINE_MAX_BYTES);

			(void)str_add(&line, view_cut(str_view(&a->in), n));
			str_drop(&a->in, n + 1);
			take_line(a, str_view(&line));
			str_release(&line);
			return true;
		}
		if (poll(&p, 1, ms) == 0)
			return false;
		got = read(STDIN_FILENO, buf, sizeof(buf));
		if (got == 0)
			_exit(0);
		if (got > 0 && str_add(&a->in, (struct view){ buf, (size_t)got }) < 0)
			die("a line is too long");
	}
}

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void sleep_reading(struct agent *a, int64_t ms)
{
	int64_t until = now_ms() + ms, left;

	while ((left = until - now_ms()) > 0)
		(void)read_line(a, (int)left);
}

static void ask(struct agent *a, const struct json *what, bool wait)
{
	struct str s = STR_INIT(LINE_MAX_BYTES);
	struct json_out w;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_z(&w, "jsonrpc", "2.0");
	json_put_u64(&w, "id", a->asked++); /* from 0, as every agent does */
	copy_children(a, &w, what);
	json_close(&w);
	a->answered = false;
	send_out(&w);
	while (wait && !a->answered)
		(void)read_line(a, -1);
}

static void await_file(struct agent *a, struct view path)
{
	char name[512];

	if (copy_z(name, sizeof(name), path) < 0)
		die("the name of a file is too long");
	while (access(name, F_OK) != 0)
		sleep_reading(a, 5);
}

static void until(struct agent *a, struct view method)
{
	(void)copy_z(a->waiting, sizeof(a->waiting), method);
	a->came = false;
	while (!a->came)
		(void)read_line(a, -1);
}

/* --- Hooks ------------------------------------------------------------------------------------ */

static int dial(const char *url)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *port = url ? strrchr(url, ':') : NULL;
	unsigned long long n = 0;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!port || parse_u64(view_of(port + 1), &n) < 0)
		die("nobody listens to hooks");
	to.sin_port = htons((uint16_t)n);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		die("the listener for hooks cannot be reached");
	return fd;
}

/* "=== hook STATUS" goes into the record. */
static void hook(const struct agent *a, const struct json *what)
{
	const char *url = getenv("KAIRO_RELAY_URL"), *token = getenv("KAIRO_RELAY_TOKEN");
	struct str body = STR_INIT(LINE_MAX_BYTES), head = STR_INIT(4096);
	struct json_out w;
	char buf[4096] = "";
	int fd = dial(url);

	json_out_begin(&w, &body);
	copy_json(a, &w, NULL, what);
	if (json_out_end(&w, NULL) < 0 ||
		str_addf(&head,
			"POST /hook HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
			"Content-Length: %zu\r\n\r\n",
			url + strlen("http://"), token ? token : "", body.n) < 0 ||
		send(fd, head.p, head.n, MSG_NOSIGNAL) != (ssize_t)head.n ||
		send(fd, body.p, body.n, MSG_NOSIGNAL) != (ssize_t)body.n)
		die("a hook could not be posted");
	(void)recv(fd, buf, sizeof(buf) - 1, MSG_WAITALL);
	(void)fprintf(a->record, "=== hook %.3s\n", strlen(buf) > 12 ? buf + 9 : "none");
	(void)fflush(a->record);
	(void)close(fd);
	str_release(&body);
	str_release(&head);
}

/* --- Steps ------------------------------------------------------------------------------------ */

static void step(struct agent *a, const struct json *request, const struct json *what)
{
	const char *name = json_name(what);
	struct view text = VIEW_NONE;
	int64_t n = 0;

	(void)json_str(what, &text);
	(void)json_int(what, &n);
	if (!strcmp(name, "result") || !strcmp(name, "error"))
		answer(a, request, name, what);
	else if (!strcmp(name, "update"))
		update(a, NULL, what);
	else if (!strcmp(name, "update_of"))
		update(a, json_member(what, "session"), json_member(what, "update"));
	else if (!strcmp(name, "send")) {
		struct str s = STR_INIT(LINE_MAX_BYTES);
		struct json_out w;

		json_out_begin(&w, &s);
		copy_json(a, &w, NULL, what);
		send_out(&w);
	} else if (!strcmp(name, "ask"))
		ask(a, what, true);
	else if (!strcmp(name, "ask_later"))
		ask(a, what, false);
	else if (!strcmp(name, "raw"))
		put_bytes(text);
	else if (!strcmp(name, "flood"))
		flood(a, n);
	else if (!strcmp(name, "hook"))
		hook(a, what);
	else if (!strcmp(name, "stderr"))
		(void)fprintf(stderr, "%.*s\n", VIEW_FMT(text));
	else if (!strcmp(name, "sleep_ms"))
		sleep_reading(a, n);
	else if (!strcmp(name, "until"))
		until(a, text);
	else if (!strcmp(name, "file"))
		await_file(a, text);
	else if (!strcmp(name, "exit"))
		_exit((int)n);
	else if (!strcmp(name, "kill"))
		(void)raise((int)n);
	else if (!strcmp(name, "hang"))
		for (;;)
			(void)pause();
	else
		die(name);
}

/* The steps of a method's call; NULL: the script has none. */
static const struct json *steps_of(struct agent *a, const char *method)
{
	const struct json *list = json_member(a->script, method), *inner;
	int at = 0;

	json_each(entry, a->script) {
		if (!strcmp(json_name(entry), method))
			break;
		at++;
	}
	if (!list || at >= METHODS)
		return NULL;
	inner = json_first(list);
	if (!inner || json_type(inner) != JSON_ARRAY)
		return list;
	for (int i = 0; i < a->calls[at] && json_next(inner); i++)
		inner = json_next(inner);
	a->calls[at]++;
	return inner;
}

static void plain_answer(struct agent *a, const char *method, const struct json *request)
{
	char text[200];

	if (!strcmp(method, "initialize"))
		answer_text(a, request,
			"{\"protocolVersion\":1,\"agentInfo\":{\"name\":\"scripted\",\"version\":\"1.0\"},"
			"\"agentCapabilities\":{\"loadSession\":true,\"promptCapabilities\":{\"image\":"
			"true},\"sessionCapabilities\":{\"list\":{},\"resume\":{},\"close\":{}}}}");
	else if (!strcmp(method, "session/new")) {
		(void)snprintf(text, sizeof(text), "{\"sessionId\":\"%s\"}", a->session);
		answer_text(a, request, text);
	} else if (!strcmp(method, "session/prompt"))
		answer_text(a, request, "{\"stopReason\":\"end_turn\"}");
	else
		answer_text(a, request, "{}");
}

static void note_prompt(struct agent *a, const struct json *params)
{
	const struct json *blocks = json_member(params, "prompt");
	struct view text;

	if (!blocks || json_type(blocks) != JSON_ARRAY)
		return;
	json_each(block, blocks) {
		if (json_get_str(block, "text", JSON_OPTIONAL, 0, sizeof(a->prompt) - 1, &text,
			    NULL) != 1)
			continue;
		(void)copy_z(a->prompt, sizeof(a->prompt), text);
		return;
	}
}

static void note_session(struct agent *a, const char *method, const struct json *params)
{
	struct view id;

	if (!strcmp(method, "session/new"))
		(void)snprintf(a->session, sizeof(a->session), "s%d", ++a->sessions);
	else if (json_get_str(params, "sessionId", JSON_OPTIONAL, 1, sizeof(a->session) - 1, &id,
			 NULL) == 1)
		(void)copy_z(a->session, sizeof(a->session), id);
}

static void take_call(struct agent *a, const struct json *message, const char *method)
{
	const struct json *params = json_member(message, "params");
	const struct json *steps;

	if (!strcmp(method, a->waiting))
		a->came = true;
	note_session(a, method, params);
	if (!strcmp(method, "session/prompt"))
		note_prompt(a, params);
	steps = steps_of(a, method);
	if (!steps && json_member(message, "id"))
		plain_answer(a, method, message);
	if (!steps)
		return;
	json_each(one, steps) {
		json_each(what, one) {
			step(a, message, what);
		}
	}
}

static void take_line(struct agent *a, struct view line)
{
	struct json *j = NULL;
	struct view method;

	(void)fprintf(a->record, "%.*s\n", VIEW_FMT(line));
	(void)fflush(a->record);
	if (json_read(&j, line, &limits, NULL) < 0)
		die("the client sent a line that is not JSON");
	if (json_get_str(j, "method", JSON_OPTIONAL, 1, 100, &method, NULL) == 1)
		take_call(a, j, method.p);
	else
		a->answered = true;
	json_free(&j);
}

/* --- The program ------------------------------------------------------------------------------ */

static struct json *read_script(const char *path)
{
	struct str text = STR_INIT(LINE_MAX_BYTES);
	struct json *script = NULL;
	struct err e = ERR_INIT;
	FILE *f = fopen(path, "re");
	char buf[65536];
	size_t n;

	if (!f)
		die("the script cannot be opened");
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		(void)str_add(&text, (struct view){ buf, n });
	(void)fclose(f);
	if (json_read(&script, str_view(&text), &limits, &e) < 0)
		die(e.msg);
	str_release(&text);
	return script;
}

int main(int argc, char **argv)
{
	static struct agent a = { .in = STR_INIT(LINE_MAX_BYTES) };

	if (argc != 3)
		die("usage: acp_agent SCRIPT RECORD");
	a.script = read_script(argv[1]);
	a.record = fopen(argv[2], "ae");
	if (!a.record)
		die("the record cannot be opened");
	(void)fprintf(a.record, "=== started\n");
	(void)fflush(a.record);
	for (;;)
		(void)read_line(&a, -1);
}
