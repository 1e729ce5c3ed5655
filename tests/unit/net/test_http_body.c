/* The HTTP client's request body that is read while it is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs.h"
#include "harness.h"

static const struct answer done = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
static const struct answer deaf = { .deaf = true };

/* A body that is made as it is asked for, and what is to happen on the way. */
struct source {
	struct got got; /* first: it is the argument of every callback */
	int64_t size, at;
	size_t step;    /* bytes a time at most; 0: as many as wanted */
	int64_t bad_at; /* there it answers `bad` instead; -1: nowhere */
	ssize_t bad;
	struct env *turn; /* its clock moves on by turn_ms each time */
	int64_t turn_ms;
	struct http_call **cancel; /* at bad_at too */
	struct http **close;
};
#define SOURCE(n) ((struct source){ .got = GOT_INIT, .size = (n), .bad_at = -1 })

static char byte_at(int64_t i)
{
	return (char)(i * 31 + i / 251);
}

static ssize_t source_read(void *arg, char *buf, size_t max)
{
	struct source *s = arg;
	size_t n = s->step > 0 && s->step < max ? s->step : max;

	assert_true(max > 0 && s->at + (int64_t)max <= s->size);
	if (s->bad_at >= 0 && s->at >= s->bad_at) {
		if (s->cancel)
			http_cancel(s->cancel);
		if (s->close)
			http_close(s->close);
		return s->bad;
	}
	if (s->turn)
		env_turn(s->turn, s->turn_ms);
	for (size_t i = 0; i < n; i++)
		buf[i] = byte_at(s->at++);
	return (ssize_t)n;
}

static struct http_call *start(struct env *v, struct source *s)
{
	return env_start(v,
		(struct http_req){ .method = "POST",
			.body_read = source_read,
			.body_size = s->size,
			.idle_ms = 60000 },
		&s->got);
}

static void run(struct env *v, struct source *s)
{
	(void)start(v, s);
	WAIT(v->l, s->got.done);
}

static void assert_heard(const struct env *v, int64_t size)
{
	struct view heard = server_heard_view(v->s);
	const char *end = memmem(heard.p, heard.n, "\r\n\r\n", 4);
	char length[60];
	struct view body;

	(void)snprintf(length, sizeof length, "\r\nContent-Length: %lld\r\n", (long long)size);
	assert_non_null(end);
	body = view_from(heard, (size_t)(end - heard.p) + 4);
	assert_non_null(memmem(heard.p, heard.n - body.n, length, strlen(length)));
	assert_null(memmem(heard.p, heard.n - body.n, "Transfer-Encoding", 17));
	assert_null(memmem(heard.p, heard.n - body.n, "Expect", 6));
	assert_int_equal(body.n, size);
	for (size_t i = 0; i < body.n; i++)
		if (body.p[i] != byte_at((int64_t)i))
			fail_msg("byte %zu is another one", i);
}

/* --- what goes out ---------------------------------------------------------------------------- */

/* Around the size of curl's buffer too. */
static void sends_a_body_of_any_size_with_its_length(void **state)
{
	static const int64_t sizes[] = { 0, 1, 2, (16 << 10) - 1, 16 << 10, (16 << 10) + 1,
		(1 << 20) + 1, 20 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct source s = SOURCE(sizes[i]);
		struct env v;

		env_open(&v, &local_rules, &done, 1);
		run(&v, &s);
		assert_int_equal(s.got.fail, HTTP_OK_);
		assert_int_equal(s.got.status, 200);
		assert_true(s.got.sent);
		assert_int_equal(s.at, sizes[i]);
		assert_heard(&v, sizes[i]);
		env_close(&v);
		got_release(&s.got);
	}
}

static void takes_the_body_in_any_pieces(void **state)
{
	static const size_t steps[] = { 1, 7, 16383, 16385 };

	(void)state;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct source s = SOURCE(steps[i] == 1 ? 3000 : 100000);
		struct env v;

		s.step = steps[i];
		env_open(&v, &local_rules, &done, 1);
		run(&v, &s);
		assert_int_equal(s.got.fail, HTTP_OK_);
		assert_heard(&v, s.size);
		env_close(&v);
		got_release(&s.got);
	}
}

static void sends_it_encrypted(void **state)
{
	char ca[] = "/tmp/kairo-test-XXXXXX", url[64];
	int fd = mkstemp(ca);
	struct http_rules rules = { .loopback = true, .ca_file = ca };
	struct source s = SOURCE(5 << 20);
	struct authority *authority;
	struct server_opts o = { .answers = &done, .nanswers = 1 };
	struct env v;

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	authority_new(&authority, ca);
	o.tls = authority_server(authority, "IP:127.0.0.1", -3600, 3600);
	env_open_on(&v, &rules, &o);
	(void)snprintf(url, sizeof url, "https://127.0.0.1:%d/", server_port(v.s));
	env_run(&v,
		(struct http_req){ .method = "POST",
			.url = url,
			.body_read = source_read,
			.body_size = s.size },
		&s.got);
	assert_int_equal(s.got.fail, HTTP_OK_);
	assert_heard(&v, s.size);
	env_close(&v);
	SSL_CTX_free(o.tls);
	authority_free(&authority);
	(void)remove(ca);
	got_release(&s.got);
}

/* A kept connection may have died, and what has been read cannot be read again. Nor is one kept
 * for the next that would make its own. */
static void goes_out_on_a_connection_of_its_own(void **state)
{
	struct source s = SOURCE(100);
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &done, 1);
	env_get(&v, "/", &g);
	run(&v, &s);
	assert_int_equal(s.got.fail, HTTP_OK_);
	assert_int_equal(server_accepted(v.s), 2);
	WAIT(v.l, server_open_now(v.s) == 1);
	env_get(&v, "/", &g);
	assert_int_equal(server_accepted(v.s), 2);
	env_close(&v);
	got_release(&g);
	got_release(&s.got);
}

static void a_get_has_no_such_body(void **state)
{
	struct http_req req = { .method = "GET", .body_read = source_read, .on_done = got_done };
	struct err e = ERR_INIT;
	struct http_call *c = NULL;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &done, 1);
	req.url = env_url(&v, "/");
	assert_int_equal(http_start(&c, v.h, &req, &e), -1);
	assert_int_equal(e.code, E_UNSUPPORTED);
	env_close(&v);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void stops_when_the_body_cannot_be_read(void **state)
{
	static const struct {
		int64_t size, at;
		ssize_t answer;
	} rows[] = {
		{ 1, 0, -1 }, { 1, 0, 0 }, /* it has ended too early */
		{ 100000, 50000, -1 }, { 100000, 99000, 0 },
		{ 100, 0, 101 }, /* more than was asked for */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct source s = SOURCE(rows[i].size);
		struct env v;

		s.bad_at = rows[i].at;
		s.bad = rows[i].answer;
		s.step = 1000;
		env_open(&v, &local_rules, &done, 1);
		run(&v, &s);
		assert_int_equal(s.got.fail, HTTP_FAIL_STOPPED);
		assert_int_equal(s.got.err.code, E_CANCELLED);
		assert_false(s.got.sent);
		WAIT(v.l, server_open_now(v.s) == 0);
		assert_int_equal(server_requests(v.s), 0);
		env_close(&v);
		got_release(&s.got);
	}
}

static void may_be_broken_off_from_the_read_callback(void **state)
{
	(void)state;
	for (int close = 0; close < 2; close++) {
		struct source s = SOURCE(100000);
		struct http_call *c;
		struct env v;

		s.bad_at = 40000;
		s.bad = close ? 1 : -1;
		env_open(&v, &local_rules, &done, 1);
		c = start(&v, &s);
		s.cancel = close ? NULL : &c;
		s.close = close ? &v.h : NULL;
		WAIT(v.l, server_accepted(v.s) == 1 && server_open_now(v.s) == 0);
		assert_null(close ? (void *)v.h : (void *)c);
		assert_false(s.got.done);
		env_close(&v);
		got_release(&s.got);
	}
}

static void is_cancelled_while_the_peer_takes_nothing(void **state)
{
	struct source s = SOURCE((int64_t)64 << 20);
	struct http_call *c;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &deaf, 1);
	c = start(&v, &s);
	settle(v.l);
	assert_true(s.at > 0 && s.at < s.size);
	http_cancel(&c);
	settle(v.l);
	assert_false(s.got.done);
	env_close(&v);
	got_release(&s.got);
}

static void ends_when_the_peer_takes_nothing_more(void **state)
{
	struct source s = SOURCE((int64_t)64 << 20);
	struct env v;
	int turns = 0;

	(void)state;
	env_open(&v, &local_rules, &deaf, 1);
	(void)start(&v, &s);
	/* The kernel takes some at first, and now and then a little more. */
	for (; !s.got.done; turns++) {
		settle(v.l);
		env_turn(&v, 10000);
	}
	assert_true(turns >= 6 && s.at < s.size);
	assert_int_equal(s.got.fail, HTTP_FAIL_TIMEOUT);
	assert_non_null(strstr(s.got.err.msg, "the request was not taken within 60000 ms"));
	assert_false(s.got.sent);
	env_close(&v);
	got_release(&s.got);
}

static void lets_a_slow_body_live_as_long_as_it_moves(void **state)
{
	struct source s = SOURCE(1 << 20);
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &done, 1);
	s.step = 16 << 10;
	s.turn = &v;
	s.turn_ms = 59000; /* an hour in all */
	run(&v, &s);
	assert_int_equal(s.got.fail, HTTP_OK_);
	assert_heard(&v, s.size);
	env_close(&v);
	got_release(&s.got);
}

/* A door that wants no such thing says so before it has all of it. */
static void hears_a_refusal_before_the_body_is_out(void **state)
{
	static const struct answer refusal = { .bytes =
						       VIEW("HTTP/1.1 403 No\r\nX-Test: expired\r\n"
							    "Content-Length: 0\r\n\r\n"),
		.early = true,
		.then = THEN_HOLD };
	struct source s = SOURCE((int64_t)64 << 20);
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &refusal, 1);
	run(&v, &s);
	assert_int_equal(s.got.fail, HTTP_OK_);
	assert_int_equal(s.got.status, 403);
	assert_string_equal(s.got.header, "expired");
	assert_true(s.at < s.size);
	env_close(&v);
	got_release(&s.got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_a_body_of_any_size_with_its_length),
		cmocka_unit_test(takes_the_body_in_any_pieces),
		cmocka_unit_test(sends_it_encrypted),
		cmocka_unit_test(goes_out_on_a_connection_of_its_own),
		cmocka_unit_test(a_get_has_no_such_body),
		cmocka_unit_test(stops_when_the_body_cannot_be_read),
		cmocka_unit_test(may_be_broken_off_from_the_read_callback),
		cmocka_unit_test(is_cancelled_while_the_peer_takes_nothing),
		cmocka_unit_test(ends_when_the_peer_takes_nothing_more),
		cmocka_unit_test(lets_a_slow_body_live_as_long_as_it_moves),
		cmocka_unit_test(hears_a_refusal_before_the_body_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
