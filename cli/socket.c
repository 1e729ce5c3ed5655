/* The control socket: HTTP/1.1 with JSON on <home>/control.sock. Routes:
 *   GET  /v1/status
 *   POST /v1/pause, /v1/resume          {}
 *   POST /v1/stop                       {"all":bool}
 *   POST /v1/send                       {"text":"...","files":["PATH",...],"to":"..."}
 *   POST /v1/ask                        {"text":"..."}: events as JSON lines, streamed; leaving
 *                                       cancels
 *   POST /v1/answer                     {"ticket":N,"id":"...","choice":N}: to a question among
 *                                       these events, which has ticket and id; choice from 0, or
 *                                       negative; to one with "several" the sum of 2^choice
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/app.h"

/* JSON makes six characters of a control character, and a prompt may consist of them. */
enum { ASK_BODY_MAX = 6 * (1 << 20) + (64 << 10) };
/* Text in one event, and what a terminal that reads slowly may have before it: a whole answer. */
enum { ASK_PIECE = 64 << 10, ASK_STREAM_MAX = 2 * ENGINE_ANSWER_MAX };

int socket_path(char out[PATH_SIZE], const struct home *h, int *hold, struct err *e)
{
	struct sockaddr_un sa;

	*hold = -1;
	if (path_join(out, h->dir, "control.sock", e) < 0)
		return -1;
	if (strlen(out) < sizeof(sa.sun_path))
		return 0;
	*hold = open(h->dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (*hold < 0)
		return err_sys(e, "%s", h->dir);
	snprintf(out, PATH_SIZE, "/proc/self/fd/%d/control.sock", *hold);
	return 0;
}

static void reply_err(struct httpd_req **r, int status, const struct err *err)
{
	struct str s = STR_INIT(4096);
	struct json_out w;
	struct err ignored = ERR_INIT;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_z(&w, "error", err->msg);
	json_put_z(&w, "code", err_code_name(err->code));
	json_close(&w);
	if (json_out_end(&w, &ignored) < 0)
		httpd_reply(r, status, NULL, VIEW("{\"error\":\"failed\"}"));
	else
		httpd_reply(r, status, NULL, str_view(&s));
	str_release(&s);
}

static int status_of(const struct err *e)
{
	switch (e->code) {
	case E_FORMAT: return 400;
	case E_DENIED: return 403;
	case E_NOTFOUND: return 404;
	case E_BUSY:
	case E_FULL:
	case E_CONFLICT: return 409;
	default: return 500;
	}
}

static int read_body(const struct httpd_req *r, struct json **out, struct err *e)
{
	const struct json_limits lim = { .bytes = ASK_BODY_MAX,
		.depth = 16,
		.nodes = 10000,
		.nul = JSON_NUL_REFUSE };
	struct view body = httpd_body(r);

	if (json_read(out, body.n ? body : VIEW("{}"), &lim, e) < 0)
		return -1;
	return json_type(*out) == JSON_OBJECT ? 0
	                                      : err_set(e, E_FORMAT, "the body is no JSON object");
}

/* --- Routes: each answers by filling out, or fails -------------------------------------------- */

typedef int route_fn(struct app *a, const struct json *body, struct str *out, struct err *e);

static int on_status(struct app *a, const struct json *body, struct str *out, struct err *e)
{
	(void)body;
	return app_status_json(a, out, e);
}

static int on_pause(struct app *a, const struct json *body, struct str *out, struct err *e)
{
	(void)body;
	return control_pause(app_control(a), true, e) < 0 ? -1 : str_adds(out, "{\"paused\":true}");
}

static int on_resume(struct app *a, const struct json *body, struct str *out, struct err *e)
{
	(void)body;
	return control_pause(app_control(a), false, e) < 0 ? -1
	                                                   : str_adds(out, "{\"paused\":false}");
}

static int on_stop(struct app *a, const struct json *body, struct str *out, struct err *e)
{
	bool all = false, stopped = false;
	int dropped = 0;

	if (json_get_bool(body, "all", JSON_OPTIONAL, &all, e) < 0 ||
		control_stop(app_control(a), all, &stopped, &dropped, e) < 0)
		return -1;
	return str_addf(out, "{\"stopped\":%s,\"dropped\":%d}", stopped ? "true" : "false",
		dropped);
}

/* Views into body: how many, or -1. */
static int read_files(const struct json *body, struct view files[SEND_FILES], struct err *e)
{
	const struct json *list = json_member(body, "files");
	int n = 0;

	if (!list)
		return 0;
	if (json_type(list) != JSON_ARRAY)
		return err_set(e, E_FORMAT, "files must be a list of paths");
	json_each(item, list) {
		if (n == SEND_FILES)
			return err_set(e, E_FORMAT, "at most %d files are sent at a time",
				SEND_FILES);
		if (json_str(item, &files[n]) < 0 || files[n].n == 0 || files[n].p[0] != '/')
			return err_set(e, E_FORMAT, "files must be a list of absolute paths");
		n++;
	}
	return n;
}

static int on_send(struct app *a, const struct json *body, struct str *out, struct err *e)
{
	struct view text = VIEW_NONE, to = VIEW_NONE, files[SEND_FILES];
	int n = read_files(body, files, e);

	if (n < 0 ||
		json_get_str(body, "text", n > 0 ? JSON_OPTIONAL : JSON_REQUIRED, 1, 1 << 20, &text,
			e) < 0 ||
		json_get_str(body, "to", JSON_OPTIONAL, 1, CHAN_ID_MAX, &to, e) < 0 ||
		control_send(app_control(a), to.p, text, files, (size_t)n, e) < 0)
		return -1;
	return str_adds(out, "{\"queued\":true}");
}

static int on_answer(struct app *a, const struct json *body, struct str *out, struct err *e)
{
	int64_t ticket = 0, choice = 0;
	struct view id = VIEW_NONE;

	if (json_get_int(body, "ticket", JSON_REQUIRED, 1, INT64_MAX, &ticket, e) < 0 ||
		json_get_str(body, "id", JSON_REQUIRED, 1, 128, &id, e) < 0 ||
		json_get_int(body, "choice", JSON_REQUIRED, ANSWER_UNASKED, 1 << SEVERAL_MAX,
			&choice, e) < 0 ||
		control_ask_answer(app_control(a), (uint64_t)ticket, id.p, (int)choice, e) < 0)
		return -1;
	return str_adds(out, "{}");
}

#ifdef KAIRO_TEST_HOOKS
static int on_test_clock(struct app *a, const struct json *body, struct str *out, struct err *e)
{
	int64_t ms = 0;

	if (json_get_int(body, "advance_ms", JSON_REQUIRED, 0, INT64_C(4000000000000), &ms, e) < 0)
		return -1;
	loop_turn_clock(app_loop(a), ms);
	return str_adds(out, "{}");
}
#endif

static const struct route {
	const char *method, *path;
	route_fn *fn;
} routes[] = {
	{ "GET", "/v1/status", on_status },
	{ "POST", "/v1/pause", on_pause },
	{ "POST", "/v1/resume", on_resume },
	{ "POST", "/v1/stop", on_stop },
	{ "POST", "/v1/send", on_send },
	{ "POST", "/v1/answer", on_answer },
#ifdef KAIRO_TEST_HOOKS
	{ "POST", "/test/clock", on_test_clock },
#endif
};

static void answer(struct app *a, const struct route *rt, struct httpd_req *r)
{
	struct str out = STR_INIT(64 << 10);
	struct json *body = NULL;
	struct err e = ERR_INIT;

	if (read_body(r, &body, &e) < 0 || rt->fn(a, body, &out, &e) < 0)
		reply_err(&r, status_of(&e), &e);
	else
		httpd_reply(&r, 200, NULL, str_view(&out));
	json_free(&body);
	str_release(&out);
}

/* --- Ask: a stream ---------------------------------------------------------------------------- */

struct ask {
	struct app *app;
	struct httpd_req *req;
	struct ask_frame frame;
};

static void ask_gone(void *arg)
{
	struct ask *k = arg;

	control_ask_cancel(app_control(k->app), k->frame.ticket);
	free(k);
}

static const char *event_name(enum engine_event_type t)
{
	switch (t) {
	case ENGINE_TEXT: return "text";
	case ENGINE_TOOL_STARTED: return "tool";
	case ENGINE_TOOL_FINISHED: return "tool_done";
	case ENGINE_APPROVAL:
	case ENGINE_QUESTION: return "question";
	case ENGINE_WITHDRAWN: return "withdrawn";
	case ENGINE_DONE: return "done";
	default: return NULL;
	}
}

static void put_question(struct json_out *w, const struct engine_event *ev,
	const struct ask_frame *f)
{
	struct str word = STR_INIT(1024);

	json_put_z(w, "id", ev->id);
	json_put_u64(w, "ticket", f->ticket);
	json_put_int(w, "ms", f->ask_ms);
	json_put_z(w, "language", f->lang == LANG_ZH ? "zh" : "en");
	if (ev->several)
		json_put_bool(w, "several", true);
	json_open_array(w, "choices");
	for (int i = 0; ev->standard_choices && i < APPROVAL_CHOICES; i++) {
		str_reset(&word);
		words(&word, f->lang, words_choice((enum approval_choice)i));
		json_put_str(w, NULL, str_view(&word));
	}
	for (int i = 0; !ev->standard_choices && ev->choices && ev->choices[i]; i++)
		json_put_z(w, NULL, ev->choices[i]);
	json_close_array(w);
	str_release(&word);
}

enum control_language ask_language(const struct config *c, struct view prompt)
{
	if (strcmp(c->language, "auto") != 0)
		return strcmp(c->language, "zh") == 0 ? LANG_ZH : LANG_EN;
	return words_detect(prompt) == LANG_EN ? LANG_EN : LANG_ZH;
}

int ask_event_json(const struct engine_event *ev, const struct ask_frame *f, struct str *out)
{
	struct json_out w;
	struct err e = ERR_INIT;
	const char *name = event_name(ev->type);

	if (!name)
		return 0;
	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_z(&w, "event", name);
	if (ev->type != ENGINE_DONE || !f->streamed)
		json_put_str(&w, "text", ev->text);
	if (ev->type == ENGINE_APPROVAL || ev->type == ENGINE_QUESTION)
		put_question(&w, ev, f);
	if (ev->type == ENGINE_WITHDRAWN)
		json_put_z(&w, "id", ev->id);
	if (ev->name)
		json_put_z(&w, "name", ev->name);
	if (ev->type == ENGINE_TOOL_FINISHED)
		json_put_bool(&w, "ok", ev->ok);
	if (ev->type == ENGINE_DONE) {
		json_put_z(&w, "result", ev->fail ? engine_fail_name(ev->fail) : "ok");
		json_put_z(&w, "detail", ev->detail);
		json_put_u64(&w, "tokens_in", ev->tokens_in);
		json_put_u64(&w, "tokens_out", ev->tokens_out);
	}
	json_close(&w);
	return json_out_end(&w, &e) < 0 ? -1 : str_addc(out, '\n');
}

/* False: the reader is gone, and on_gone cleans up. */
static bool ask_tell(struct ask *k, const struct engine_event *ev)
{
	struct str line = STR_INIT(6 * ASK_PIECE + 65536); /* escapes, see above */
	bool there = true;

	if (ask_event_json(ev, &k->frame, &line) == 0 && line.n)
		there = httpd_stream_piece(k->req, str_view(&line)) == 0;
	str_release(&line);
	return there;
}

/* However long, it goes in pieces of bounded size. */
static bool ask_tell_text(struct ask *k, const struct engine_event *ev)
{
	struct engine_event piece = { .type = ENGINE_TEXT, .turn = ev->turn };
	struct view rest = ev->text;

	while (rest.n) {
		size_t n = utf8_cut(rest, ASK_PIECE);

		piece.text = view_cut(rest, n ? n : ASK_PIECE);
		rest = view_from(rest, piece.text.n);
		if (!ask_tell(k, &piece))
			return false;
	}
	k->frame.streamed = true;
	return true;
}

static void ask_on_event(void *arg, const struct engine_event *ev)
{
	struct ask *k = arg;
	bool done = ev->type == ENGINE_DONE;

	if (ev->type == ENGINE_TEXT || (done && !k->frame.streamed)) {
		if (!ask_tell_text(k, ev))
			return;
	}
	if (ev->type == ENGINE_TEXT || !ask_tell(k, ev) || !done)
		return;
	httpd_stream_end(&k->req);
	free(k);
}

static void ask_begin(struct app *a, struct httpd_req *r)
{
	struct json *body = NULL;
	struct view text;
	struct err e = ERR_INIT;
	struct ask *k = calloc(1, sizeof(*k));

	if (!k)
		err_set(&e, E_NOMEM, "out of memory");
	if (!k || read_body(r, &body, &e) < 0 ||
		json_get_str(body, "text", JSON_REQUIRED, 1, ENGINE_INPUT_MAX, &text, &e) < 0)
		goto fail;
	k->app = a;
	k->req = r;
	k->frame.ask_ms = ask_ms_from(app_config(a));
	k->frame.lang = ask_language(app_config(a), text);
	if (control_ask(app_control(a), text, ask_on_event, k, &k->frame.ticket, &e) < 0)
		goto fail;
	httpd_stream_begin(r, "application/jsonl", ask_gone, k);
	json_free(&body);
	return;
fail:
	reply_err(&r, status_of(&e), &e);
	json_free(&body);
	free(k);
}

static void on_request(void *arg, struct httpd_req *r)
{
	struct app *a = arg;
	const char *method = httpd_method(r);
	struct view path = httpd_path(r);
	struct err e = ERR_INIT;
	bool known = view_eqs(path, "/v1/ask");

	if (known && !strcmp(method, "POST")) {
		ask_begin(a, r);
		return;
	}
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (!view_eqs(path, routes[i].path))
			continue;
		known = true;
		if (!strcmp(method, routes[i].method)) {
			answer(a, &routes[i], r);
			return;
		}
	}
	err_set(&e, E_NOTFOUND, known ? "another method is wanted here" : "no such route");
	reply_err(&r, known ? 405 : 404, &e);
}

int app_socket_open(struct httpd **out, int *hold, struct app *a, const struct home *h,
	struct loop *l, struct log *log, struct err *e)
{
	char path[PATH_SIZE];
	const struct httpd_opts o = { .unix_path = path,
		.body_max = ASK_BODY_MAX,
		.stream_max = ASK_STREAM_MAX };

	if (socket_path(path, h, hold, e) < 0)
		return -1;
	return httpd_open(out, l, &o, on_request, a, log, e);
}
