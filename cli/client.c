#include "cli/client.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/loop.h"
#include "base/net/http.h"
#include "cli/app.h"

enum { ANSWER_MAX = 32 << 20 };

/* One that waits for those before it: answers arrive in the order in which they were given. */
struct post {
	struct post *next;
	const char *path;
	char *body;
};

struct client {
	const struct client_call *call;
	struct loop *loop;
	struct http *pool;
	struct http_call *http, *post;
	struct post *posts; /* the oldest first */
	struct str line;
	struct err *err;
	int rc;
};

static int on_piece(void *arg, struct view piece)
{
	struct client *c = arg;

	while (piece.n) {
		size_t end = view_find(piece, '\n');

		if (str_add(&c->line, view_cut(piece, end)) < 0)
			return -1;
		if (end == piece.n)
			return 0;
		piece = view_from(piece, end + 1);
		if (c->call->on_line(c->call->arg, c, str_view(&c->line)) != 0)
			return -1;
		str_reset(&c->line);
	}
	return 0;
}

/* The daemon's own words for what went wrong. */
static int fail_from(const struct http_result *r, struct err *e)
{
	struct json *j = NULL;
	struct view msg = VIEW_NONE;
	struct err ignored = ERR_INIT;

	if (json_read(&j, r->body, &json_limits_config, &ignored) == 0)
		json_get_str(j, "error", JSON_OPTIONAL, 1, 1000, &msg, &ignored);
	if (msg.n)
		err_set(e, r->status == 403 ? E_DENIED : E_IO, "%.*s", VIEW_FMT(msg));
	else
		err_set(e, E_IO, "the daemon answered with status %d", r->status);
	json_free(&j);
	return -1;
}

static void on_done(void *arg, const struct http_result *r)
{
	struct client *c = arg;

	c->http = NULL;
	if (r->fail == HTTP_FAIL_CONNECT)
		c->rc = err_set(c->err, E_NOTFOUND,
			"kairo is not running; start it with: kairo start");
	else if (r->fail == HTTP_FAIL_TIMEOUT)
		c->rc = err_set(c->err, E_TIMEOUT,
			"kairo runs, but does not answer; kairo logs may tell why, kairo restart ends it");
	else if (r->fail)
		c->rc = err_set(c->err, r->err->code, "the running kairo: %s", r->err->msg);
	else if (r->status / 100 != 2)
		c->rc = fail_from(r, c->err);
	else if (c->call->answer && str_add(c->call->answer, r->body) < 0)
		c->rc = err_set(c->err, E_NOMEM, "the daemon's answer is too long");
	loop_stop(c->loop);
}

static void on_interrupt(void *arg, int signo)
{
	struct client *c = arg;

	(void)signo;
	http_cancel(&c->http);
	c->rc = err_set(c->err, E_CANCELLED, "interrupted");
	loop_stop(c->loop);
}

static const struct http_header headers[] = { { "Content-Type", "application/json" } };

static int start(struct client *c, struct err *e)
{
	const struct client_call *call = c->call;
	char url[256];
	const struct http_req req = {
		.method = call->method,
		.url = url,
		.headers = headers,
		.nheaders = 1,
		.body = call->body,
		.timeout_ms = call->timeout_ms < 0 ? 0
		              : call->timeout_ms   ? call->timeout_ms
		                                   : 10000,
		.body_max = ANSWER_MAX,
		.on_body = call->on_line ? on_piece : NULL,
		.on_done = on_done,
		.arg = c,
	};

	snprintf(url, sizeof(url), "http://localhost%s", call->path);
	return http_start(&c->http, c->pool, &req, e);
}

struct loop *client_loop(struct client *c)
{
	return c->loop;
}

static void post_next(struct client *c);

static void on_posted(void *arg, const struct http_result *r)
{
	struct client *c = arg;

	(void)r;
	c->post = NULL;
	post_next(c);
}

static int post_start(struct client *c, const char *path, struct view body, struct err *e)
{
	char url[256];
	const struct http_req req = {
		.method = "POST",
		.url = url,
		.headers = headers,
		.nheaders = 1,
		.body = body,
		.timeout_ms = 10000,
		.on_done = on_posted,
		.arg = c,
	};

	snprintf(url, sizeof(url), "http://localhost%s", path);
	return http_start(&c->post, c->pool, &req, e);
}

static struct post *take_post(struct client *c)
{
	struct post *p = c->posts;

	if (p)
		c->posts = p->next;
	return p;
}

static void post_free(struct post *p)
{
	free(p->body);
	free(p);
}

static void post_next(struct client *c)
{
	struct post *p;
	struct err e = ERR_INIT;

	while (!c->post && (p = take_post(c))) {
		if (post_start(c, p->path, view_of(p->body), &e) < 0)
			(void)say_err(&e);
		post_free(p);
	}
}

int client_post(struct client *c, const char *path, struct view body, struct err *e)
{
	struct post **end = &c->posts, *p = calloc(1, sizeof(*p));

	if (p)
		p->body = strndup(body.p, body.n);
	if (!p || !p->body) {
		free(p);
		return err_set(e, E_NOMEM, "a request of %zu bytes", body.n);
	}
	p->path = path;
	while (*end)
		end = &(*end)->next;
	*end = p;
	post_next(c);
	return 0;
}

int64_t answer_int(const struct json *obj, const char *name)
{
	int64_t n = 0;
	struct err e = ERR_INIT;

	json_get_int(obj, name, JSON_OPTIONAL, INT64_MIN, INT64_MAX, &n, &e);
	return n;
}

int client_request(const struct home *h, const struct client_call *call, struct err *e)
{
	char path[PATH_SIZE];
	const struct http_rules rules = { .reach = HTTP_ANY,
		.plain_http = true,
		.unix_path = path };
	struct client c = { .call = call, .line = STR_INIT(ANSWER_MAX), .err = e };
	struct sigwatch *intr = NULL;
	struct post *waiting;
	int rc = -1, hold;

	if (socket_path(path, h, &hold, e) < 0)
		return -1;
	if (!file_exists(path)) {
		err_set(e, E_NOTFOUND, "kairo is not running; start it with: kairo start");
		goto out;
	}
	if (loop_open(&c.loop, NULL, e) < 0 || http_open(&c.pool, c.loop, &rules, NULL, e) < 0 ||
		sigwatch_new(&intr, c.loop, SIGINT, on_interrupt, &c, e) < 0 || start(&c, e) < 0 ||
		loop_run(c.loop, e) < 0)
		goto out;
	rc = c.rc;
out:
	if (call->on_end)
		call->on_end(call->arg);
	while ((waiting = take_post(&c)))
		post_free(waiting);
	sigwatch_free(&intr);
	http_close(&c.pool);
	loop_close(&c.loop);
	str_release(&c.line);
	if (hold >= 0)
		close(hold);
	return rc;
}
