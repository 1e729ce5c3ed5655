#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

const struct http_rules local_rules = { .reach = HTTP_PUBLIC, .loopback = true };
const struct http_rules any_rules = { .reach = HTTP_ANY, .plain_http = true };

static int64_t turned_mono(void *arg)
{
	const struct turned *t = arg;

	return clock_mono(clock_system()) + t->by;
}

static int64_t turned_wall(void *arg)
{
	const struct turned *t = arg;

	return clock_wall(clock_system()) + t->by;
}

void turned_init(struct turned *t)
{
	*t = (struct turned){ .clock = { turned_mono, turned_wall, t } };
}

void settle(struct loop *l)
{
	for (int i = 0; i < 30; i++)
		assert_int_equal(loop_step(l, 1, NULL), 0);
}

void env_open_on(struct env *v, const struct http_rules *rules, const struct server_opts *o)
{
	*v = (struct env){ 0 };
	turned_init(&v->clock);
	assert_int_equal(loop_open(&v->l, &v->clock.clock, NULL), 0);
	assert_int_equal(http_open(&v->h, v->l, rules, NULL, NULL), 0);
	server_open(&v->s, v->l, o);
}

void env_open(struct env *v, const struct http_rules *rules, const struct answer *answers, size_t n)
{
	struct server_opts o = { .answers = answers, .nanswers = n };

	env_open_on(v, rules, &o);
}

void env_turn(struct env *v, int64_t ms)
{
	v->clock.by += ms;
}

void env_close(struct env *v)
{
	http_close(&v->h);
	server_close(&v->s);
	loop_close(&v->l); /* it asserts that no timer and no watch is left */
}

int got_body(void *arg, struct view piece)
{
	struct got *g = arg;

	assert_false(g->done);
	str_add(&g->pieces, piece);
	if (g->npieces++ > 0)
		return 0;
	if (g->cancel)
		http_cancel(g->cancel);
	if (g->close)
		http_close(g->close);
	return g->stop;
}

void got_done(void *arg, const struct http_result *r)
{
	struct got *g = arg;
	const char *x = http_header(r->call, "x-test");

	assert_false(g->done);
	assert_non_null(r->err);
	assert_int_equal(r->fail == HTTP_OK_, r->err->code == E_OK);
	assert_int_equal(r->fail == HTTP_OK_, r->err->msg[0] == '\0');
	g->done = true;
	g->fail = r->fail;
	g->status = r->status;
	g->sent = r->request_sent;
	g->retry_after_ms = r->retry_after_ms;
	g->err = *r->err;
	str_reset(&g->body);
	str_add(&g->body, r->body);
	(void)snprintf(g->header, sizeof g->header, "%s", x ? x : "");
}

void got_release(struct got *g)
{
	str_release(&g->body);
	str_release(&g->pieces);
}

const char *env_url(const struct env *v, const char *path)
{
	static char url[512];

	(void)snprintf(url, sizeof url, "http://127.0.0.1:%d%s", server_port(v->s), path);
	return url;
}

struct http_call *env_start(struct env *v, struct http_req req, struct got *g)
{
	struct http_call *c = NULL;
	struct err e = ERR_INIT;

	if (!req.method)
		req.method = "GET";
	if (!req.url)
		req.url = env_url(v, "/");
	req.on_done = got_done;
	req.arg = g;
	g->done = false;
	if (http_start(&c, v->h, &req, &e) < 0)
		fail_msg("not started: %s", e.msg);
	assert_false(g->done);
	return c;
}

void env_run(struct env *v, struct http_req req, struct got *g)
{
	(void)env_start(v, req, g);
	WAIT(v->l, g->done);
}

void env_get(struct env *v, const char *path, struct got *g)
{
	env_run(v, (struct http_req){ .url = env_url(v, path) }, g);
}
