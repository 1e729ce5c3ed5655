/* The HTTP client when things go wrong or are broken off: each kind of failure, what may have been
 * sent by then, cancelling at every stage, deadlines, addresses, TLS, proxies, resolvers. */
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs.h"
#include "harness.h"
#include "resolver.h"

static const struct answer hold = { .then = THEN_HOLD };
static const struct answer ok = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
static const struct answer half = {
	.bytes = { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", 40 },
	.then = THEN_HOLD,
};

/* --- kinds of failure ------------------------------------------------------------------------- */

static void names_each_kind_of_failure(void **state)
{
	(void)state;
	assert_string_equal(http_fail_name(HTTP_OK_), "ok");
	assert_string_equal(http_fail_name(HTTP_FAIL_DNS), "dns");
	assert_string_equal(http_fail_name(HTTP_FAIL_TIMEOUT), "timeout");
	assert_string_equal(http_fail_name(HTTP_FAIL_STOPPED), "stopped");
	assert_string_equal(http_fail_name((enum http_fail)99), "unknown");
}

static void tells_answers_that_break_off_or_are_none(void **state)
{
	static const struct answer samples[] = {
		{ .then = THEN_CLOSE },
		{ .then = THEN_RESET },
		{ .bytes = VIEW("HTTP/1.1 20"), .then = THEN_CLOSE },
		{ .bytes = VIEW("HTTP/1.1 200 OK\r\nContent-Le"), .then = THEN_CLOSE },
		{ .bytes = VIEW("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"),
			.then = THEN_CLOSE },
		{ .bytes = VIEW("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"),
			.then = THEN_RESET },
		{ .bytes = VIEW("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi"),
			.then = THEN_CLOSE },
		{ .bytes = VIEW("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"),
			.then = THEN_CLOSE },
		{ .bytes = VIEW(
			  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhi\r\n"),
			.then = THEN_CLOSE },
		{ .bytes = VIEW(
			  "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd") },
		{ .bytes = VIEW("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhi"),
			.then = THEN_CLOSE },
		{ .bytes = VIEW("HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nhi") },
		{ .bytes = VIEW("HTTP/1.1 100 Continue\r\n\r\n"), .then = THEN_CLOSE },
		{ .bytes = VIEW("hello, I am not HTTP at all\r\n\r\n"), .then = THEN_CLOSE },
		{ .bytes = VIEW("SSH-2.0-OpenSSH_9\r\n"), .then = THEN_CLOSE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct got g = GOT_INIT;
		struct env v;

		env_open(&v, &local_rules, &samples[i], 1);
		env_run(&v,
			(struct http_req){ .method = "POST",
				.body = VIEW("b"),
				.url = env_url(&v, "/path?secret=1") },
			&g);
		if (g.fail != HTTP_FAIL_BROKEN)
			fail_msg("sample %zu: %s %s", i, http_fail_name(g.fail), g.err.msg);
		assert_int_equal(g.err.code, E_NET);
		assert_true(g.sent);
		assert_non_null(strstr(g.err.msg, "127.0.0.1"));
		assert_null(strstr(g.err.msg, "secret"));
		env_close(&v);
		got_release(&g);
	}
}

static void tells_a_refused_connection(void **state)
{
	struct got g = GOT_INIT;
	struct env v;
	char url[64];

	(void)state;
	env_open(&v, &local_rules, &ok, 1);
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%d/p?secret=1", server_port(v.s));
	server_close(&v.s);
	env_run(&v, (struct http_req){ .url = url }, &g);
	assert_int_equal(g.fail, HTTP_FAIL_CONNECT);
	assert_int_equal(g.status, 0);
	assert_false(g.sent);
	assert_non_null(strstr(g.err.msg, "127.0.0.1: "));
	assert_non_null(strstr(g.err.msg, "refused"));
	assert_null(strstr(g.err.msg, "secret"));
	env_close(&v);
	got_release(&g);
}

static void tells_an_unknown_name(void **state)
{
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &any_rules, &ok, 1);
	env_run(&v, (struct http_req){ .url = "http://nobody.test/?secret=1" }, &g);
	assert_int_equal(g.fail, HTTP_FAIL_DNS);
	assert_int_equal(g.err.code, E_NET);
	assert_false(g.sent);
	assert_non_null(strstr(g.err.msg, "nobody.test"));
	assert_null(strstr(g.err.msg, "secret"));
	env_close(&v);
	got_release(&g);
}

/* --- what may have been sent ------------------------------------------------------------------ */

static void knows_that_a_body_was_not_taken(void **state)
{
	static const struct answer deaf = { .deaf = true };
	static const struct answer rude = { .at_once = true, .then = THEN_RESET };
	struct got g = GOT_INIT;
	struct env v;
	size_t n = (size_t)64 << 20;
	char *body = calloc(1, n);

	(void)state;
	assert_non_null(body);
	env_open(&v, &local_rules, &deaf, 1);
	(void)env_start(&v,
		(struct http_req){ .method = "POST", .body = { body, n }, .timeout_ms = 3600000 },
		&g);
	settle(v.l);
	env_turn(&v, 3600000);
	WAIT(v.l, g.done);
	assert_int_equal(g.fail, HTTP_FAIL_TIMEOUT);
	assert_false(g.sent);
	env_close(&v);

	env_open(&v, &local_rules, &rude, 1);
	env_run(&v, (struct http_req){ .method = "POST", .body = { body, n } }, &g);
	assert_true(g.fail == HTTP_FAIL_BROKEN || g.fail == HTTP_FAIL_CONNECT);
	assert_false(g.sent);
	env_close(&v);
	got_release(&g);
	free(body);
}

/* The kept connection dies when the second request comes: what curl would do by itself is to send
 * it once more. */
static void repeats_no_post_behind_the_callers_back(void **state)
{
	static const struct answer answers[] = {
		REPLY("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), { .then = THEN_CLOSE },
		REPLY("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	};
	static const struct view bodies[] = { { "one", 3 }, { NULL, 0 } };
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct http_req post = { .method = "POST", .body = bodies[i] };

		env_open(&v, &local_rules, answers, 3);
		env_get(&v, "/", &g);
		assert_int_equal(g.fail, HTTP_OK_);
		env_run(&v, post, &g);
		assert_int_equal(g.fail, HTTP_FAIL_BROKEN);
		assert_true(g.sent);
		assert_int_equal(server_requests(v.s), 2);
		env_run(&v, post, &g);
		assert_int_equal(g.fail, HTTP_OK_);
		env_close(&v);
	}
	got_release(&g);
}

/* --- cancelling ------------------------------------------------------------------------------- */

static void cancel_and_check(struct env *v, struct http_call *c, struct got *g)
{
	http_cancel(&c);
	assert_null(c);
	http_cancel(&c);
	WAIT(v->l, server_open_now(v->s) == 0);
	settle(v->l);
	assert_false(g->done);
}

static void cancels_before_the_start_and_at_every_stage(void **state)
{
	static const struct answer head = { .bytes = { "HTTP/1.1 200 OK\r\nX: ", 20 },
		.then = THEN_HOLD };
	struct got g = GOT_INIT;
	struct env v;
	struct http_call *c;

	(void)state;
	/* before anything has happened */
	env_open(&v, &local_rules, &ok, 1);
	c = env_start(&v, (struct http_req){ .url = NULL }, &g);
	cancel_and_check(&v, c, &g);
	assert_int_equal(server_accepted(v.s), 0);
	env_close(&v);
	/* request sent, nothing back */
	env_open(&v, &local_rules, &hold, 1);
	c = env_start(&v, (struct http_req){ .url = NULL }, &g);
	WAIT(v.l, server_requests(v.s) == 1);
	cancel_and_check(&v, c, &g);
	env_close(&v);
	/* in the headers */
	env_open(&v, &local_rules, &head, 1);
	c = env_start(&v, (struct http_req){ .url = NULL }, &g);
	WAIT(v.l, server_requests(v.s) == 1);
	settle(v.l);
	cancel_and_check(&v, c, &g);
	env_close(&v);
	/* in the body */
	env_open(&v, &local_rules, &half, 1);
	c = env_start(&v, (struct http_req){ .on_body = got_body }, &g);
	WAIT(v.l, g.npieces == 1);
	cancel_and_check(&v, c, &g);
	env_close(&v);
	/* in the TLS handshake: the server never answers it */
	env_open(&v, &local_rules, &hold, 1);
	{
		char url[64];

		(void)snprintf(url, sizeof url, "https://127.0.0.1:%d/", server_port(v.s));
		c = env_start(&v, (struct http_req){ .url = url }, &g);
		WAIT(v.l, server_heard_view(v.s).n > 0);
		cancel_and_check(&v, c, &g);
	}
	env_close(&v);
	got_release(&g);
}

/* A listener whose queue is full lets a connection hang as a dead host does. */
struct full {
	int listener, fill[4];
	char url[64];
};

static void full_open(struct full *f)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof in;

	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(f->listener, 0), 0);
	assert_int_equal(getsockname(f->listener, (struct sockaddr *)&in, &n), 0);
	for (size_t i = 0; i < 4; i++) {
		f->fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(f->fill[i], (struct sockaddr *)&in, sizeof in);
	}
	(void)snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/", ntohs(in.sin_port));
}

static void full_close(struct full *f)
{
	for (size_t i = 0; i < 4; i++)
		close(f->fill[i]);
	close(f->listener);
}

static void cancels_and_times_out_while_connecting(void **state)
{
	struct got g = GOT_INIT;
	struct http_call *c;
	struct full f;
	struct env v;

	(void)state;
	full_open(&f);
	env_open(&v, &local_rules, &ok, 1);
	c = env_start(&v, (struct http_req){ .url = f.url }, &g);
	settle(v.l);
	assert_false(g.done);
	cancel_and_check(&v, c, &g);
	(void)env_start(&v, (struct http_req){ .url = f.url, .connect_ms = 3600000 }, &g);
	settle(v.l);
	env_turn(&v, 3000000);
	settle(v.l);
	assert_false(g.done);
	env_turn(&v, 600000);
	WAIT(v.l, g.done);
	assert_int_equal(g.fail, HTTP_FAIL_TIMEOUT);
	assert_int_equal(g.err.code, E_TIMEOUT);
	assert_false(g.sent);
	env_close(&v);
	full_close(&f);
	got_release(&g);
}

/* From inside the body callback, which curl calls: the caller may cancel this call or another one,
 * close the pool, or just ask to stop. */
static void may_be_broken_off_from_the_body_callback(void **state)
{
	struct got g = GOT_INIT, other = GOT_INIT;
	struct http_call *c, *c2;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &half, 1);
	g.cancel = &c;
	c = env_start(&v, (struct http_req){ .on_body = got_body }, &g);
	WAIT(v.l, g.npieces == 1 && server_open_now(v.s) == 0);
	assert_null(c);
	assert_false(g.done);
	got_release(&g);

	g = (struct got)GOT_INIT;
	g.cancel = &c2;
	c2 = env_start(&v, (struct http_req){ .on_body = got_body }, &other);
	WAIT(v.l, other.npieces == 1);
	c = env_start(&v, (struct http_req){ .on_body = got_body }, &g);
	WAIT(v.l, g.npieces == 1 && server_open_now(v.s) == 1);
	assert_false(other.done);
	http_cancel(&c);
	got_release(&g);
	got_release(&other);

	g = (struct got)GOT_INIT;
	g.stop = 1;
	env_run(&v, (struct http_req){ .on_body = got_body }, &g);
	assert_int_equal(g.fail, HTTP_FAIL_STOPPED);
	assert_int_equal(g.err.code, E_CANCELLED);
	assert_int_equal(g.status, 200);
	got_release(&g);

	g = (struct got)GOT_INIT;
	g.close = &v.h;
	(void)env_start(&v, (struct http_req){ .on_body = got_body }, &g);
	WAIT(v.l, g.npieces == 1);
	assert_null(v.h);
	WAIT(v.l, server_open_now(v.s) == 0);
	assert_false(g.done);
	env_close(&v);
	got_release(&g);
}

/* What on_done does: everything a caller may think of. */
struct busy {
	struct env *v;
	struct http_call *self, *other;
	struct got again, broken_off;
	bool close;
	int ends;
};

static void busy_done(void *arg, const struct http_result *r)
{
	struct busy *b = arg;

	b->ends++;
	assert_int_equal(r->fail, HTTP_OK_);
	http_cancel(&b->self); /* its end is here already */
	http_cancel(&b->other);
	(void)env_start(b->v, (struct http_req){ .url = NULL }, &b->again);
	if (b->close)
		http_close(&b->v->h);
	assert_string_equal(http_header(r->call, "content-length"), "2");
	assert_true(view_eqs(r->body, "hi"));
}

static void may_do_anything_in_the_done_callback(void **state)
{
	struct env v;

	(void)state;
	for (int close = 0; close <= 1; close++) {
		struct busy b = { .v = &v,
			.again = GOT_INIT,
			.broken_off = GOT_INIT,
			.close = close };
		struct http_req req = { .method = "GET", .on_done = busy_done, .arg = &b };

		env_open(&v, &local_rules, &ok, 1);
		req.url = env_url(&v, "/");
		assert_int_equal(http_start(&b.self, v.h, &req, NULL), 0);
		b.other = env_start(&v, (struct http_req){ .url = NULL }, &b.broken_off);
		WAIT(v.l, b.ends == 1);
		assert_null(b.self);
		assert_null(b.other);
		if (close) {
			settle(v.l);
			assert_false(b.again.done);
		} else {
			WAIT(v.l, b.again.done);
		}
		assert_false(b.broken_off.done);
		env_close(&v);
		got_release(&b.again);
		got_release(&b.broken_off);
	}
}

/* --- deadlines -------------------------------------------------------------------------------- */

static void ends_a_call_at_its_deadline(void **state)
{
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &hold, 1);
	(void)env_start(&v, (struct http_req){ .timeout_ms = 3600000 }, &g);
	WAIT(v.l, server_requests(v.s) == 1);
	env_turn(&v, 3000000);
	settle(v.l);
	assert_false(g.done);
	env_turn(&v, 600000);
	WAIT(v.l, g.done);
	assert_int_equal(g.fail, HTTP_FAIL_TIMEOUT);
	assert_int_equal(g.status, 0);
	assert_true(g.sent);
	WAIT(v.l, server_open_now(v.s) == 0);
	env_close(&v);
	got_release(&g);
}

static void ends_a_call_that_has_gone_silent(void **state)
{
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &half, 1);
	(void)env_start(&v, (struct http_req){ .idle_ms = 3600000, .on_body = got_body }, &g);
	WAIT(v.l, g.npieces == 1);
	env_turn(&v, 3000000);
	settle(v.l);
	assert_false(g.done);
	env_turn(&v, 600000);
	WAIT(v.l, g.done);
	assert_int_equal(g.fail, HTTP_FAIL_TIMEOUT);
	assert_int_equal(g.status, 200);
	assert_non_null(strstr(g.err.msg, "3600000"));
	env_close(&v);
	got_release(&g);
}

/* One byte every 50 minutes: the idle limit of an hour never strikes, the deadline does. */
static void lets_a_slow_drip_live_until_the_deadline(void **state)
{
	static const struct answer drip = {
		.bytes = { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 38 },
		.more = { "1", 1 },
		.times = 9,
		.step = 38,
		.every_ms = 3000000,
	};
	struct got g = GOT_INIT;
	struct env v;
	int hours = 0;

	(void)state;
	env_open(&v, &local_rules, &drip, 1);
	(void)env_start(&v, (struct http_req){ .idle_ms = 3600000 }, &g);
	for (; !g.done; hours++) {
		settle(v.l);
		env_turn(&v, 3000000);
	}
	assert_int_equal(g.fail, HTTP_OK_);
	assert_int_equal(hours, 10);
	(void)env_start(&v, (struct http_req){ .idle_ms = 3600000, .timeout_ms = 13000000 }, &g);
	for (hours = 0; !g.done; hours++) {
		settle(v.l);
		env_turn(&v, 3000000);
	}
	assert_int_equal(g.fail, HTTP_FAIL_TIMEOUT);
	assert_int_equal(hours, 6);
	env_close(&v);
	got_release(&g);
}

static int64_t frozen_now(void *arg)
{
	return *(int64_t *)arg;
}

static void lets_calls_wait_for_their_turn(void **state)
{
	struct http_rules rules = { .loopback = true, .rate_max = 2, .rate_ms = 1000 };
	struct server_opts o = { .answers = &ok, .nanswers = 1 };
	int64_t now = 1000000;
	struct clock clk = { frozen_now, frozen_now, &now };
	struct got g[6];
	struct http_call *c[6];
	struct env v = { 0 };

	(void)state;
	assert_int_equal(loop_open(&v.l, &clk, NULL), 0);
	assert_int_equal(http_open(&v.h, v.l, &rules, NULL, NULL), 0);
	server_open(&v.s, v.l, &o);
	for (int i = 0; i < 6; i++) {
		g[i] = (struct got)GOT_INIT;
		c[i] = env_start(&v, (struct http_req){ .timeout_ms = i == 5 ? 1500 : 0 }, &g[i]);
	}
	WAIT(v.l, g[0].done && g[1].done);
	settle(v.l);
	assert_int_equal(server_requests(v.s), 2);
	http_cancel(&c[2]); /* one that waits takes no turn */
	now += 999;
	settle(v.l);
	assert_int_equal(server_requests(v.s), 2);
	now += 1;
	WAIT(v.l, g[3].done && g[4].done);
	settle(v.l);
	assert_int_equal(server_requests(v.s), 4);
	now += 499;
	settle(v.l);
	assert_false(g[5].done);
	now += 1; /* 1,500 ms: its own time is up while it still waits */
	WAIT(v.l, g[5].done);
	assert_int_equal(g[5].fail, HTTP_FAIL_TIMEOUT);
	assert_false(g[5].sent);
	assert_int_equal(server_requests(v.s), 4);
	assert_false(g[2].done);
	for (int i = 0; i < 5; i++)
		if (i != 2)
			assert_int_equal(g[i].fail, HTTP_OK_);
	env_close(&v);
	for (int i = 0; i < 6; i++)
		got_release(&g[i]);
}

/* --- addresses and names ---------------------------------------------------------------------- */

static void judges_the_address_behind_a_name(void **state)
{
	static const struct http_rules public_rules = { .reach = HTTP_PUBLIC };
	static const struct {
		const char *url, *address;
	} samples[] = {
		{ "https://127-0-0-1.ip4.test/", "127.0.0.1" },
		{ "https://10-0-0-1.ip4.test/", "10.0.0.1" },
		{ "https://169-254-169-254.ip4.test/latest/meta-data/", "169.254.169.254" },
		{ "https://0-0-0-0.ip4.test/", "0.0.0.0" },
		{ "https://198-18-0-5.ip4.test/", "198.18.0.5" },
		{ "https://mapped.ip6.test/", "127.0.0.1" },
		{ "https://one.ip6.test/", "::1" },
		{ "https://both.test/", "" },
		{ "https://8-8-8-8.ip4.test:8443/", "8.8.8.8" },
		{ "https://127.0.0.1/", "127.0.0.1" },
		{ "https://2130706433/", "127.0.0.1" },
		{ "https://0x7f.1/", "127.0.0.1" },
		{ "https://0/", "0.0.0.0" },
		{ "https://[::ffff:127.0.0.1]/", "127.0.0.1" },
		{ "https://[::]/", "::" },
		{ "https://localhost/", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct got g = GOT_INIT;
		struct env v;

		env_open(&v, &public_rules, &ok, 1);
		env_run(&v, (struct http_req){ .url = samples[i].url }, &g);
		if (g.fail != HTTP_FAIL_PEER)
			fail_msg("%s: %s %s", samples[i].url, http_fail_name(g.fail), g.err.msg);
		assert_int_equal(g.err.code, E_DENIED);
		assert_false(g.sent);
		assert_non_null(strstr(g.err.msg, samples[i].address));
		env_close(&v);
		got_release(&g);
	}
}

/* With loopback allowed a name that leads there is taken, over https only, and plain http only
 * where the URL itself says loopback. */
static void keeps_plain_http_on_this_machine(void **state)
{
	struct got g = GOT_INIT;
	struct env v;
	char url[100];
	struct http_req req = { .method = "GET", .url = url, .on_done = got_done };
	struct http_call *c;

	(void)state;
	env_open(&v, &local_rules, &ok, 1);
	(void)snprintf(url, sizeof url, "http://127-0-0-1.ip4.test:%d/", server_port(v.s));
	assert_int_equal(http_start(&c, v.h, &req, NULL), -1);
	(void)snprintf(url, sizeof url, "http://localhost:%d/", server_port(v.s));
	env_run(&v, (struct http_req){ .url = url }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	env_close(&v);

	env_open(&v, &any_rules, &ok, 1);
	(void)snprintf(url, sizeof url, "http://127-0-0-1.ip4.test:%d/", server_port(v.s));
	env_run(&v, (struct http_req){ .url = url }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	(void)snprintf(url, sizeof url, "http://mapped.ip6.test:%d/", server_port(v.s));
	env_run(&v, (struct http_req){ .url = url }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	(void)snprintf(url, sizeof url, "http://both.test:%d/", server_port(v.s));
	env_run(&v, (struct http_req){ .url = url }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	env_close(&v);
	got_release(&g);
}

/* Were cancel, close or a deadline to wait for the lookup, this would never end: the lookup is let
 * go only afterwards. */
static void never_waits_for_a_stuck_resolver(void **state)
{
	struct http_req stuck = { .url = "http://stuck.test/", .connect_ms = 3600000 };
	struct got g = GOT_INIT, other = GOT_INIT;
	struct http_call *c;
	struct env v;

	(void)state;
	env_open(&v, &any_rules, &ok, 1);
	c = env_start(&v, stuck, &g);
	WAIT(v.l, resolver_stuck() == 1);
	env_get(&v, "/", &other);
	assert_int_equal(other.fail, HTTP_OK_);
	http_cancel(&c);
	settle(v.l);
	assert_false(g.done);
	assert_int_equal(resolver_stuck(), 1);

	(void)env_start(&v, stuck, &g);
	WAIT(v.l, resolver_stuck() == 2);
	env_turn(&v, 3600000);
	WAIT(v.l, g.done);
	assert_int_equal(g.fail, HTTP_FAIL_TIMEOUT);
	assert_false(g.sent);
	assert_non_null(strstr(g.err.msg, "lookup"));

	(void)env_start(&v, stuck, &g);
	WAIT(v.l, resolver_stuck() == 3);
	http_close(&v.h);
	settle(v.l);
	assert_false(g.done);
	assert_int_equal(resolver_stuck(), 3);
	env_close(&v);
	resolver_release();
	got_release(&g);
	got_release(&other);
}

/* --- TLS -------------------------------------------------------------------------------------- */

struct tls {
	char dir[32], ca[64], other_ca[64];
	struct authority *authority, *other;
};

static int tls_setup(void **state)
{
	struct tls *t = calloc(1, sizeof *t);

	assert_non_null(t);
	(void)snprintf(t->dir, sizeof t->dir, "/tmp/kairo-test-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(t->ca, sizeof t->ca, "%s/ca.pem", t->dir);
	(void)snprintf(t->other_ca, sizeof t->other_ca, "%s/other.pem", t->dir);
	authority_new(&t->authority, t->ca);
	authority_new(&t->other, t->other_ca);
	*state = t;
	return 0;
}

static int tls_teardown(void **state)
{
	struct tls *t = *state;

	authority_free(&t->authority);
	authority_free(&t->other);
	(void)remove(t->ca);
	(void)remove(t->other_ca);
	(void)remove(t->dir);
	free(t);
	return 0;
}

/* Ask a server with such a certificate; its own limits are up to `tune`. */
static void ask_tls(struct tls *t, const char *names, long from, long until, const char *ca_file,
	const char *ciphers, void (*tune)(SSL_CTX *), const struct answer *a, struct got *g)
{
	struct http_rules rules = { .loopback = true, .ca_file = ca_file };
	SSL_CTX *ctx = authority_server(t->authority, names, from, until);
	struct server_opts o = { .tls = ctx, .answers = a, .nanswers = 1 };
	struct env v;
	char url[64];

	if (tune)
		tune(ctx);
	env_open_on(&v, &rules, &o);
	(void)snprintf(url, sizeof url, "https://127.0.0.1:%d/?secret=1", server_port(v.s));
	env_run(&v, (struct http_req){ .url = url, .ciphers = ciphers }, g);
	if (g->fail == HTTP_OK_) { /* and once more on the same connection */
		env_run(&v, (struct http_req){ .url = url, .ciphers = ciphers }, g);
		assert_int_equal(server_accepted(v.s), 1);
	}
	assert_null(strstr(g->err.msg, "secret"));
	env_close(&v);
	SSL_CTX_free(ctx);
}

static void speaks_tls_to_a_server_it_can_trust(void **state)
{
	struct got g = GOT_INIT;

	ask_tls(*state, "IP:127.0.0.1", -3600, 3600, ((struct tls *)*state)->ca, NULL, NULL, &ok,
		&g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_string_equal(str_cstr(&g.body), "hi");
	got_release(&g);
}

static void trusts_no_other_certificate(void **state)
{
	struct tls *t = *state;
	const struct {
		const char *names;
		long from, until;
		const char *ca, *why;
	} samples[] = {
		{ "IP:127.0.0.1", -3600, 3600, t->other_ca, "no authority" },
		{ "IP:127.0.0.1", -3600, 3600, NULL, "no authority" },
		{ "IP:127.0.0.1", -3600, 3600, "/nonexistent/ca.pem", "cannot be read" },
		{ "IP:127.0.0.2", -3600, 3600, t->ca, "another host" },
		{ "DNS:example.com", -3600, 3600, t->ca, "another host" },
		{ "DNS:127.0.0.1", -3600, 3600, t->ca, "another host" },
		{ "IP:127.0.0.1", -7200, -3600, t->ca, "expired" },
		{ "IP:127.0.0.1", 3600, 7200, t->ca, "not valid yet" },
	};

	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct got g = GOT_INIT;

		ask_tls(t, samples[i].names, samples[i].from, samples[i].until, samples[i].ca, NULL,
			NULL, &ok, &g);
		assert_int_equal(g.fail, HTTP_FAIL_TLS);
		assert_int_equal(g.err.code, E_NET);
		assert_false(g.sent);
		if (!strstr(g.err.msg, samples[i].why))
			fail_msg("sample %zu: %s", i, g.err.msg);
		got_release(&g);
	}
}

/* As the media server does: TLS 1.2 with RSA key exchange and nothing else. */
static void only_rsa_kx(SSL_CTX *ctx)
{
	assert_int_equal(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION), 1);
	assert_int_equal(SSL_CTX_set_cipher_list(ctx, "AES256-GCM-SHA384"), 1);
}

static void only_tls_1_1(SSL_CTX *ctx)
{
	SSL_CTX_set_security_level(ctx, 0);
	assert_int_equal(SSL_CTX_set_min_proto_version(ctx, TLS1_1_VERSION), 1);
	assert_int_equal(SSL_CTX_set_max_proto_version(ctx, TLS1_1_VERSION), 1);
}

static void takes_a_cipher_list_for_one_request(void **state)
{
	struct tls *t = *state;
	static const struct {
		const char *ciphers;
		void (*tune)(SSL_CTX *);
		enum http_fail fail;
	} samples[] = {
		{ "DEFAULT@SECLEVEL=1", only_rsa_kx, HTTP_OK_ },
		{ "AES256-GCM-SHA384", only_rsa_kx, HTTP_OK_ },
		{ "ECDHE-RSA-AES128-GCM-SHA256", only_rsa_kx, HTTP_FAIL_TLS },
		{ "NO-SUCH-CIPHER", NULL, HTTP_FAIL_TLS },
		{ "DEFAULT@SECLEVEL=0", only_tls_1_1, HTTP_FAIL_TLS },
	};

	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct got g = GOT_INIT;

		ask_tls(t, "IP:127.0.0.1", -3600, 3600, t->ca, samples[i].ciphers, samples[i].tune,
			&ok, &g);
		if (g.fail != samples[i].fail)
			fail_msg("sample %zu: %s", i, g.err.msg);
		got_release(&g);
	}
}

/* The end of an answer without a length counts only when TLS itself was ended. */
static void takes_a_cut_tls_stream_for_no_answer(void **state)
{
	static const struct answer whole = { .bytes = { "HTTP/1.1 200 OK\r\n\r\nhi", 21 },
		.then = THEN_CLOSE };
	static const struct answer cut = { .bytes = { "HTTP/1.1 200 OK\r\n\r\nhi", 21 },
		.then = THEN_RESET };
	struct tls *t = *state;
	struct got g = GOT_INIT;
	struct http_rules rules = { .loopback = true, .ca_file = t->ca };
	SSL_CTX *ctx = authority_server(t->authority, "IP:127.0.0.1", -3600, 3600);

	for (int i = 0; i < 2; i++) {
		struct server_opts o = { .tls = ctx, .answers = i ? &cut : &whole, .nanswers = 1 };
		struct env v;
		char url[64];

		env_open_on(&v, &rules, &o);
		(void)snprintf(url, sizeof url, "https://127.0.0.1:%d/", server_port(v.s));
		env_run(&v, (struct http_req){ .url = url }, &g);
		assert_int_equal(g.fail, i ? HTTP_FAIL_BROKEN : HTTP_OK_);
		env_close(&v);
	}
	SSL_CTX_free(ctx);
	got_release(&g);
}

static void tells_a_server_that_speaks_no_tls(void **state)
{
	static const struct answer plain = { .bytes = { "HTTP/1.1 400 Bad\r\n\r\n", 20 },
		.at_once = true,
		.then = THEN_HOLD };
	struct got g = GOT_INIT;
	struct env v;
	char url[64];

	(void)state;
	env_open(&v, &local_rules, &plain, 1);
	(void)snprintf(url, sizeof url, "https://127.0.0.1:%d/", server_port(v.s));
	env_run(&v, (struct http_req){ .url = url }, &g);
	assert_int_equal(g.fail, HTTP_FAIL_TLS);
	assert_int_equal(g.status, 0);
	assert_false(g.sent);
	env_close(&v);
	got_release(&g);
}

/* --- proxies ---------------------------------------------------------------------------------- */

static void open_proxied(struct env *v, bool with_proxy, const struct answer *a)
{
	static char proxy[64];
	struct http_rules rules = any_rules;

	*v = (struct env){ 0 };
	rules.loopback = true;
	assert_int_equal(loop_open(&v->l, NULL, NULL), 0);
	server_open(&v->s, v->l, &(struct server_opts){ .answers = a, .nanswers = 1 });
	(void)snprintf(proxy, sizeof proxy, "http://user:pw@127.0.0.1:%d", server_port(v->s));
	rules.proxy = with_proxy ? proxy : "";
	assert_int_equal(http_open(&v->h, v->l, &rules, NULL, NULL), 0);
}

static void goes_through_a_proxy_only_when_told(void **state)
{
	struct got g = GOT_INIT;
	struct env v;
	char url[64];

	(void)state;
	/* told: neither the environment nor the name of the host changes that */
	assert_int_equal(setenv("no_proxy", "*", 1), 0);
	assert_int_equal(setenv("NO_PROXY", "*", 1), 0);
	open_proxied(&v, true, &ok);
	env_run(&v, (struct http_req){ .url = "http://model.test/x?y" }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_non_null(strstr(server_heard(v.s), "GET http://model.test/x?y HTTP/1.1\r\n"));
	assert_int_equal(resolver_calls(), 0);
	env_close(&v);
	(void)unsetenv("no_proxy");
	(void)unsetenv("NO_PROXY");
	/* not told: the environment is not asked */
	open_proxied(&v, false, &ok);
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%d", server_port(v.s));
	assert_int_equal(setenv("http_proxy", url, 1), 0);
	assert_int_equal(setenv("https_proxy", url, 1), 0);
	assert_int_equal(setenv("ALL_PROXY", url, 1), 0);
	env_run(&v, (struct http_req){ .url = "http://model.test/x?y" }, &g);
	assert_int_equal(g.fail, HTTP_FAIL_DNS);
	env_run(&v, (struct http_req){ .url = "https://model.test/x?y" }, &g);
	assert_int_equal(g.fail, HTTP_FAIL_DNS);
	assert_int_equal(server_accepted(v.s), 0);
	env_close(&v);
	(void)unsetenv("http_proxy");
	(void)unsetenv("https_proxy");
	(void)unsetenv("ALL_PROXY");
	got_release(&g);
}

static void reaches_this_machine_without_the_proxy(void **state)
{
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	open_proxied(&v, true, &ok);
	env_get(&v, "/here", &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_non_null(strstr(server_heard(v.s), "GET /here HTTP/1.1\r\n"));
	env_close(&v);
	got_release(&g);
}

static void tells_that_the_proxy_refused(void **state)
{
	static const struct answer no = REPLY("HTTP/1.1 403 Forbidden\r\nX-Test: proxy\r\n"
					      "Content-Length: 0\r\n\r\n");
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	open_proxied(&v, true, &no);
	env_run(&v, (struct http_req){ .url = "https://api.test/x?secret=1" }, &g);
	assert_non_null(strstr(server_heard(v.s), "CONNECT api.test:443 HTTP/1.1\r\n"));
	assert_null(strstr(server_heard(v.s), "secret"));
	assert_int_equal(g.fail, HTTP_FAIL_CONNECT);
	assert_int_equal(g.status, 0); /* an answer of the proxy is none of the host */
	assert_string_equal(g.header, "");
	assert_false(g.sent);
	assert_null(strstr(g.err.msg, "pw"));
	env_close(&v);
	got_release(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			goes_through_a_proxy_only_when_told), /* first: it counts lookups */
		cmocka_unit_test(reaches_this_machine_without_the_proxy),
		cmocka_unit_test(tells_that_the_proxy_refused),
		cmocka_unit_test(names_each_kind_of_failure),
		cmocka_unit_test(tells_answers_that_break_off_or_are_none),
		cmocka_unit_test(tells_a_refused_connection),
		cmocka_unit_test(tells_an_unknown_name),
		cmocka_unit_test(knows_that_a_body_was_not_taken),
		cmocka_unit_test(repeats_no_post_behind_the_callers_back),
		cmocka_unit_test(cancels_before_the_start_and_at_every_stage),
		cmocka_unit_test(cancels_and_times_out_while_connecting),
		cmocka_unit_test(may_be_broken_off_from_the_body_callback),
		cmocka_unit_test(may_do_anything_in_the_done_callback),
		cmocka_unit_test(ends_a_call_at_its_deadline),
		cmocka_unit_test(ends_a_call_that_has_gone_silent),
		cmocka_unit_test(lets_a_slow_drip_live_until_the_deadline),
		cmocka_unit_test(lets_calls_wait_for_their_turn),
		cmocka_unit_test(judges_the_address_behind_a_name),
		cmocka_unit_test(keeps_plain_http_on_this_machine),
		cmocka_unit_test(never_waits_for_a_stuck_resolver),
	};
	const struct CMUnitTest tls_tests[] = {
		cmocka_unit_test(speaks_tls_to_a_server_it_can_trust),
		cmocka_unit_test(trusts_no_other_certificate),
		cmocka_unit_test(takes_a_cipher_list_for_one_request),
		cmocka_unit_test(takes_a_cut_tls_stream_for_no_answer),
		cmocka_unit_test(tells_a_server_that_speaks_no_tls),
	};
	int rc;

	(void)signal(SIGPIPE, SIG_IGN);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	return cmocka_run_group_tests(tls_tests, tls_setup, tls_teardown) + rc;
}
