/* The HTTP server: every refusal that its header promises, by raw bytes. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/net/httpd.h"
#include "base/net/httpd_head.h"
#include "harness.h"

/* --- the stage -------------------------------------------------------------------------------- */

/* What the handler does with a request. */
enum act {
	ACT_ECHO,   /* answer at once */
	ACT_HOLD,   /* keep it: the test answers */
	ACT_STREAM, /* begin a stream: the test goes on */
	ACT_CLOSE   /* close the server */
};

struct stage {
	struct turned clock;
	struct loop *l;
	struct httpd *d;
	enum act act;
	struct httpd_req *held;
	int requests, gone;
	char method[16];
	struct str path, body;
	struct view reply;
};

static void on_gone(void *arg)
{
	struct stage *s = arg;

	s->gone++;
	s->held = NULL;
}

static void on_request(void *arg, struct httpd_req *r)
{
	struct stage *s = arg;

	s->requests++;
	(void)snprintf(s->method, sizeof s->method, "%s", httpd_method(r));
	str_reset(&s->path);
	str_add(&s->path, httpd_path(r));
	str_reset(&s->body);
	str_add(&s->body, httpd_body(r));
	s->held = s->act == ACT_ECHO ? NULL : r;
	if (s->act == ACT_ECHO)
		httpd_reply(&r, 200, NULL, s->reply);
	else if (s->act == ACT_STREAM)
		httpd_stream_begin(r, "text/event-stream", on_gone, s);
	else if (s->act == ACT_CLOSE)
		httpd_close(&s->d);
}

static void stage_open(struct stage *s, const struct httpd_opts *o)
{
	*s = (struct stage){ .path = STR_INIT(1 << 16),
		.body = STR_INIT(1 << 22),
		.reply = VIEW("{}") };
	turned_init(&s->clock);
	assert_int_equal(loop_open(&s->l, &s->clock.clock, NULL), 0);
	assert_int_equal(httpd_open(&s->d, s->l, o, on_request, s, NULL, NULL), 0);
}

static void stage_tcp(struct stage *s)
{
	stage_open(s, &(struct httpd_opts){ .tcp_port = 0 });
}

static void stage_close(struct stage *s)
{
	httpd_close(&s->d);
	loop_close(&s->l);
	str_release(&s->path);
	str_release(&s->body);
}

static int dial(const struct stage *s)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)httpd_port(s->d)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static int dial_unix(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(copy_z(un.sun_path, sizeof un.sun_path, view_of(path)), 0);
	if (connect(fd, (struct sockaddr *)&un, sizeof un) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Send all of it, `step` bytes a pass (0: at once), as far as the server takes it. */
static void say(struct stage *s, int fd, struct view text, size_t step)
{
	while (text.n > 0) {
		struct view piece = step ? view_cut(text, step) : text;
		ssize_t n = send(fd, piece.p, piece.n, MSG_NOSIGNAL);

		assert_int_equal(loop_step(s->l, 0, NULL), 0);
		if (n < 0 && errno != EAGAIN)
			return; /* refused before the end */
		text = view_from(text, n > 0 ? (size_t)n : 0);
	}
}

/* What has come so far. True at the end of the stream. */
static bool hear(int fd, struct str *out)
{
	char buf[65536];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof buf, 0)) > 0)
		str_add(out, (struct view){ buf, (size_t)n });
	return n == 0 || errno != EAGAIN;
}

static void hear_all(struct stage *s, int fd, struct str *out)
{
	WAIT(s->l, hear(fd, out));
	close(fd);
}

static int status_of(const struct str *reply)
{
	int status = 0;

	return sscanf(str_cstr(reply), "HTTP/1.1 %3d ", &status) == 1 ? status : 0;
}

/* "%P" in a request stands for the port. */
static void fill_port(const struct stage *s, const char *text, struct str *out)
{
	const char *at;

	for (; (at = strstr(text, "%P")); text = at + 2) {
		str_add(out, (struct view){ text, (size_t)(at - text) });
		str_addf(out, "%d", httpd_port(s->d));
	}
	str_adds(out, text);
}

/* The status of the answer to these bytes; 0: closed without one. */
static int ask_view(struct stage *s, struct view text, size_t step, struct str *reply)
{
	struct str own = STR_INIT(1 << 24);
	struct str *out = reply ? reply : &own;
	int fd = dial(s), status;

	str_reset(out);
	say(s, fd, text, step);
	hear_all(s, fd, out);
	status = status_of(out);
	str_release(&own);
	return status;
}

static int ask(struct stage *s, const char *text, size_t step)
{
	struct str req = STR_INIT(1 << 20);
	int status;

	fill_port(s, text, &req);
	status = ask_view(s, str_view(&req), step, NULL);
	str_release(&req);
	return status;
}

/* --- what is taken ---------------------------------------------------------------------------- */

static void answers_a_request_and_closes(void **state)
{
	struct str req = STR_INIT(1000), reply = STR_INIT(10000);
	struct stage s;

	(void)state;
	stage_tcp(&s);
	s.reply = VIEW("{\"a\":1}");
	fill_port(&s, "GET /v1/status?x=1 HTTP/1.1\r\nHost: 127.0.0.1:%P\r\n\r\n", &req);
	assert_int_equal(ask_view(&s, str_view(&req), 0, &reply), 200);
	assert_string_equal(str_cstr(&reply),
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
		"Content-Length: 7\r\n\r\n{\"a\":1}");
	assert_string_equal(s.method, "GET");
	assert_string_equal(str_cstr(&s.path), "/v1/status");
	assert_int_equal(s.body.n, 0);
	stage_close(&s);
	str_release(&req);
	str_release(&reply);
}

static void takes_good_requests_in_any_split(void **state)
{
	static const struct {
		const char *text, *method, *path, *body;
	} samples[] = {
		{ "GET / HTTP/1.1\r\nHost: localhost:%P\r\n\r\n", "GET", "/", "" },
		{ "GET /a HTTP/1.1\r\nhost:\t LOCALHOST:%P \r\n\r\n", "GET", "/a", "" },
		{ "POST /a HTTP/1.1\r\nHost: 127.0.0.1:%P\r\nContent-Length: 3\r\n\r\nabc", "POST",
			"/a", "abc" },
		{ "POST /a HTTP/1.1\r\nHost: 127.0.0.1:%P\r\nContent-Length: 003\r\n\r\nabc",
			"POST", "/a", "abc" },
		{ "POST /a HTTP/1.1\r\nHost: 127.0.0.1:%P\r\n\r\n", "POST", "/a", "" },
		{ "POST /a HTTP/1.1\r\nHost: 127.0.0.1:%P\r\nContent-Length: 0\r\n\r\n", "POST",
			"/a", "" },
		{ "PUT /a HTTP/1.1\r\nHost: 127.0.0.1:%P\r\nTransfer-Encoding: Chunked\r\n\r\n"
		  "3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n",
			"PUT", "/a", "abc0123456789" },
		{ "PATCH /a HTTP/1.1\r\nHost: 127.0.0.1:%P\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"PATCH", "/a", "" },
		{ "DELETE /%E4%BD%A0/%2e%20+ HTTP/1.1\r\nHost: 127.0.0.1:%P\r\n\r\n", "DELETE",
			"/\xe4\xbd\xa0/. +", "" },
		{ "GET / HTTP/1.1\r\nHost: localhost:%P\r\nOrigin: http://localhost:%P\r\n\r\n",
			"GET", "/", "" },
		{ "GET / HTTP/1.1\r\nHost: localhost:%P\r\nX-Empty:\r\nX-Raw: \xff\x80 a\tb\r\n\r\n",
			"GET", "/", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		for (size_t step = 0; step <= 3; step++) {
			struct stage s;

			stage_tcp(&s);
			if (ask(&s, samples[i].text, step) != 200)
				fail_msg("sample %zu", i);
			assert_int_equal(s.requests, 1);
			assert_string_equal(s.method, samples[i].method);
			assert_string_equal(str_cstr(&s.path), samples[i].path);
			assert_string_equal(str_cstr(&s.body), samples[i].body);
			stage_close(&s);
		}
	}
}

/* --- what is not ------------------------------------------------------------------------------ */

struct refusal {
	const char *text;
	int status;
};

static void check_refusals(const struct refusal *r, size_t n, const struct httpd_opts *o)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t step = 0; step <= 1; step++) {
			struct stage s;
			int status;

			stage_open(&s, o);
			status = ask(&s, r[i].text, step);
			if (status != r[i].status)
				fail_msg("sample %zu, step %zu: %d: %s", i, step, status,
					r[i].text);
			assert_int_equal(s.requests, 0);
			stage_close(&s);
		}
	}
}
#define REFUSES(samples) \
	check_refusals((samples), sizeof(samples) / sizeof *(samples), &(struct httpd_opts){ 0 })

#define GOOD    "Host: 127.0.0.1:%P\r\n"
#define POST    "POST / HTTP/1.1\r\n" GOOD
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static void refuses_ambiguous_framing(void **state)
{
	static const struct refusal samples[] = {
		{ POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
		{ POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400 },
		{ POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde", 400 },
		{ POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", 400 },
		{ POST "Content-Length: 5, 5\r\n\r\nabcde", 400 },
		{ POST "Content-Length: +5\r\n\r\nabcde", 400 },
		{ POST "Content-Length: -5\r\n\r\nabcde", 400 },
		{ POST "Content-Length: 0x5\r\n\r\nabcde", 400 },
		{ POST "Content-Length: 5a\r\n\r\nabcde", 400 },
		{ POST "Content-Length: 5 5\r\n\r\nabcde", 400 },
		{ POST "Content-Length:\r\n\r\n", 400 },
		{ POST "Content-Length: 18446744073709551616\r\n\r\n", 413 },
		{ POST "Content-Length: 99999999999999999999999\r\n\r\n", 413 },
		{ POST "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n", 501 },
		{ POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501 },
		{ POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 501 },
		{ POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501 },
		{ POST "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nabcde", 501 },
		{ POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			400 },
		{ POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n", 501 },
		{ POST "Transfer-Encoding: \x0b"
		       "chunked\r\n\r\n0\r\n\r\n",
			400 },
		{ POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400 },
		{ POST "Content-Length : 5\r\n\r\nabcde", 400 },
		{ POST " Content-Length: 5\r\n\r\nabcde", 400 },
		{ POST "Expect: something\r\nContent-Length: 5\r\n\r\nabcde", 417 },
	};

	(void)state;
	REFUSES(samples);
}

static void refuses_malformed_chunks(void **state)
{
	static const struct refusal samples[] = {
		{ CHUNKED "0x5\r\nabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED "+5\r\nabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED "-5\r\nabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED " 5\r\nabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED "5 \r\nabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED "5;a=b\r\nabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED "g\r\n", 400 },
		{ CHUNKED "\r\n", 400 },
		{ CHUNKED "5\nabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED "5\rabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED "5\r\nabcdef\r\n0\r\n\r\n", 400 },
		{ CHUNKED "5\r\nabcde0\r\n\r\n", 400 },
		{ CHUNKED "5\r\nabcde\n0\r\n\r\n", 400 },
		{ CHUNKED "5\r\nabcde\r\n0\r\nTrailer: x\r\n\r\n", 400 },
		{ CHUNKED "5\r\nabcde\r\n0\r\n\n", 400 },
		{ CHUNKED "000000005\r\nabcde\r\n0\r\n\r\n", 400 },
		{ CHUNKED "ffffffff\r\n", 413 },
		{ CHUNKED "10001\r\n", 413 },
	};

	(void)state;
	REFUSES(samples);
}

static void refuses_malformed_heads(void **state)
{
	static const struct refusal samples[] = {
		{ "GET / HTTP/1.1\n" GOOD "\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1:%P\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "\n", 400 },
		{ "GET / HTTP/1.1\r" GOOD "\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "X: a\rb\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "X: a\x01\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "X: a\x7f\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "X: a\r\n folded\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "X: a\r\n\tfolded\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n X: a\r\n" GOOD "\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "no colon\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD ": empty name\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "X Y: a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "X\xff: a\r\n\r\n", 400 },
		{ "\r\nGET / HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "\r\n\r\n", 400 },
		{ "GET  / HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /  HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET / HTTP/1.1 \r\n" GOOD "\r\n", 400 },
		{ " GET / HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET\t/\tHTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /\r\n" GOOD "\r\n", 400 },
		{ "GET HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET / HTTP/1.0\r\n" GOOD "\r\n", 505 },
		{ "GET / HTTP/2.0\r\n" GOOD "\r\n", 505 },
		{ "GET / HTTP/1.11\r\n" GOOD "\r\n", 400 },
		{ "GET / http/1.1\r\n" GOOD "\r\n", 400 },
		{ "PRI * HTTP/2.0\r\n\r\n", 400 },
		{ "HEAD / HTTP/1.1\r\n" GOOD "\r\n", 501 },
		{ "OPTIONS / HTTP/1.1\r\n" GOOD "\r\n", 501 },
		{ "get / HTTP/1.1\r\n" GOOD "\r\n", 501 },
		{ "G@T / HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET * HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET x HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET http://127.0.0.1:%P/ HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "CONNECT 127.0.0.1:1 HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /a#b HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /a\\b HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /\xc3\xa9 HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /%00 HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /%0a HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /%zz HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /% HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /%f HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "GET /%ff HTTP/1.1\r\n" GOOD "\r\n", 400 },
		{ "\x16\x03\x01\x02", 400 },
	};
	struct stage s;

	(void)state;
	REFUSES(samples);
	stage_tcp(&s);
	assert_int_equal(ask_view(&s, VIEW("GET / HTTP/1.1\r\nX: a\0b\r\nHost: localhost\r\n\r\n"),
				 0, NULL),
		400);
	assert_int_equal(s.requests, 0);
	stage_close(&s);
}

static void refuses_foreign_hosts_and_origins(void **state)
{
	static const struct refusal samples[] = {
		{ "GET / HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD GOOD "\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "Host: evil.com\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost:\r\n" GOOD "\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: evil.com\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: evil.com:%P\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1:%P.evil.com\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1:%P, evil.com\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: localhost.evil.com:%P\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost : 127.0.0.1:%P\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" GOOD "Origin: http://evil.com\r\n\r\n", 403 },
		{ "GET / HTTP/1.1\r\n" GOOD "Origin: null\r\n\r\n", 403 },
		{ "GET / HTTP/1.1\r\n" GOOD "Origin:\r\n\r\n", 403 },
		{ "GET / HTTP/1.1\r\n" GOOD "Origin: https://127.0.0.1:%P\r\n\r\n", 403 },
		{ "GET / HTTP/1.1\r\n" GOOD "Origin: http://127.0.0.1\r\n\r\n", 403 },
		{ "GET / HTTP/1.1\r\n" GOOD "Origin: http://127.0.0.1:%P/\r\n\r\n", 403 },
		{ "GET / HTTP/1.1\r\n" GOOD
		  "Origin: http://localhost:%P\r\nOrigin: http://evil.com\r\n\r\n",
			400 },
	};

	(void)state;
	REFUSES(samples);
}

static void asks_for_the_token(void **state)
{
	static const struct refusal refusals[] = {
		{ "GET / HTTP/1.1\r\n" GOOD "\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD "Authorization: Bearer\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD "Authorization: Bearer sesam\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD "Authorization: Bearer sesame1\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD "Authorization: Bearer sesamesesame\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD "Authorization: Bearer  sesame\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD "Authorization: Bearer SESAME\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD "Authorization: Basic sesame\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD "Authorization: sesame\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\n" GOOD
		  "Authorization: Bearer sesame\r\nAuthorization: Bearer sesame\r\n\r\n",
			400 },
	};
	const struct httpd_opts o = { .token = "sesame" };
	struct stage s;

	(void)state;
	check_refusals(refusals, sizeof refusals / sizeof *refusals, &o);
	stage_open(&s, &o);
	assert_int_equal(ask(&s, "GET / HTTP/1.1\r\n" GOOD "authorization: bearer sesame\r\n\r\n",
				 0),
		200);
	assert_int_equal(s.requests, 1);
	stage_close(&s);
}

static void takes_one_request_a_connection(void **state)
{
	static const char two[] = POST "Content-Length: 3\r\n\r\nabc"
				       "GET /smuggled HTTP/1.1\r\n" GOOD "\r\n";
	struct stage s;

	(void)state;
	stage_tcp(&s);
	assert_int_equal(ask(&s, two, 0), 200);
	assert_int_equal(ask(&s, two, 1), 200);
	assert_int_equal(s.requests, 2);
	assert_string_equal(str_cstr(&s.path), "/");
	assert_string_equal(str_cstr(&s.body), "abc");
	stage_close(&s);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void holds_the_head_to_its_limit(void **state)
{
	(void)state;
	for (size_t total = HTTPD_HEAD_MAX - 1; total <= HTTPD_HEAD_MAX + 1; total++) {
		for (size_t step = 0; step <= 4096; step += 4096) {
			struct str req = STR_INIT(1 << 16);
			struct stage s;

			stage_tcp(&s);
			fill_port(&s, "GET / HTTP/1.1\r\n" GOOD "X: ", &req);
			while (req.n < total - 4)
				str_addc(&req, 'x');
			str_adds(&req, "\r\n\r\n");
			assert_int_equal(ask_view(&s, str_view(&req), step, NULL),
				total <= HTTPD_HEAD_MAX ? 200 : 431);
			/* without an end at all */
			str_truncate(&req, req.n - 4);
			str_adds(&req, "xxxxxxxx");
			assert_int_equal(ask_view(&s, str_view(&req), step, NULL), 431);
			stage_close(&s);
			str_release(&req);
		}
	}
}

static void holds_the_fields_to_their_limit(void **state)
{
	(void)state;
	for (int n = 63; n <= 65; n++) {
		struct str req = STR_INIT(1 << 16);
		struct stage s;

		stage_tcp(&s);
		fill_port(&s, "GET / HTTP/1.1\r\n" GOOD, &req);
		for (int i = 1; i < n; i++)
			str_adds(&req, "X: y\r\n");
		str_adds(&req, "\r\n");
		assert_int_equal(ask_view(&s, str_view(&req), 0, NULL), n <= 64 ? 200 : 431);
		stage_close(&s);
		str_release(&req);
	}
}

static void holds_the_body_to_its_limit(void **state)
{
	static const struct {
		size_t max, n;
	} samples[] = { { 0, 65535 }, { 0, 65536 }, { 0, 65537 }, { 10, 9 }, { 10, 10 }, { 10, 11 },
		{ 2 << 20, 2 << 20 }, { 2 << 20, (2 << 20) + 1 } };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof samples / sizeof *samples; i++) {
		size_t max = samples[i / 2].max, n = samples[i / 2].n;
		bool fits = n <= (max ? max : 65536);
		struct str req = STR_INIT(1 << 22);
		struct stage s;

		stage_open(&s, &(struct httpd_opts){ .body_max = max });
		fill_port(&s, POST, &req);
		if (i % 2)
			str_addf(&req, "Content-Length: %zu\r\n\r\n", n);
		else
			str_addf(&req, "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n%zx\r\n",
				n - 1);
		for (size_t k = i % 2 ? 0 : 1; k < n; k++)
			str_addc(&req, 'x');
		if (i % 2 == 0)
			str_adds(&req, "\r\n0\r\n\r\n");
		assert_int_equal(ask_view(&s, str_view(&req), 0, NULL), fits ? 200 : 413);
		assert_int_equal(s.requests, fits);
		assert_int_equal(s.body.n, fits ? n : 0);
		stage_close(&s);
		str_release(&req);
	}
}

static void holds_64_connections(void **state)
{
	struct str out = STR_INIT(1000);
	struct stage s;
	int fds[64], extra;

	(void)state;
	stage_tcp(&s);
	for (int i = 0; i < 64; i++)
		fds[i] = dial(&s);
	settle(s.l);
	for (int i = 0; i < 64; i++)
		assert_false(hear(fds[i], &out));
	extra = dial(&s);
	hear_all(&s, extra, &out);
	assert_int_equal(status_of(&out), 503);
	close(fds[0]);
	settle(s.l);
	assert_int_equal(ask(&s, "GET / HTTP/1.1\r\n" GOOD "\r\n", 0), 200);
	for (int i = 1; i < 64; i++)
		close(fds[i]);
	settle(s.l);
	assert_int_equal(ask(&s, "GET / HTTP/1.1\r\n" GOOD "\r\n", 0), 200);
	stage_close(&s);
	str_release(&out);
}

/* A byte now and then does not keep a request alive past ten seconds in all. */
static void ends_a_slow_request(void **state)
{
	static const char *const parts[] = { "", "GET / HT",
		"POST / HTTP/1.1\r\nHost: 127.0.0.1:%P\r\n"
		"Content-Length: 9\r\n\r\nabc" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct str req = STR_INIT(1000), out = STR_INIT(1000);
		struct stage s;
		int fd;

		stage_tcp(&s);
		fill_port(&s, parts[i], &req);
		fd = dial(&s);
		say(&s, fd, str_view(&req), 1);
		settle(s.l);
		s.clock.by += 5000;
		settle(s.l);
		if (i > 0)
			say(&s, fd, VIEW("x"), 0);
		settle(s.l);
		assert_false(hear(fd, &out));
		s.clock.by += 5000;
		hear_all(&s, fd, &out);
		assert_int_equal(status_of(&out), i > 0 ? 408 : 0);
		assert_int_equal(s.requests, 0);
		stage_close(&s);
		str_release(&req);
		str_release(&out);
	}
}

static void drops_a_reader_that_takes_nothing(void **state)
{
	size_t n = (size_t)64 << 20;
	char *big = calloc(1, n);
	struct str req = STR_INIT(1000), out = STR_INIT(1 << 27);
	struct stage s;
	int fd;

	(void)state;
	assert_non_null(big);
	stage_tcp(&s);
	s.reply = (struct view){ big, n };
	fill_port(&s, "GET / HTTP/1.1\r\n" GOOD "\r\n", &req);
	fd = dial(&s);
	say(&s, fd, str_view(&req), 0);
	WAIT(s.l, s.requests == 1);
	settle(s.l);
	s.clock.by += 10000;
	settle(s.l);
	hear_all(&s, fd, &out);
	assert_true(out.n < n);
	/* and one that reads gets all of it */
	assert_int_equal(ask_view(&s, str_view(&req), 0, &out), 200);
	assert_true(out.n > n);
	stage_close(&s);
	str_release(&req);
	str_release(&out);
	free(big);
}

static void sends_continue_when_asked(void **state)
{
	struct str req = STR_INIT(1000), out = STR_INIT(1000);
	struct stage s;
	int fd;

	(void)state;
	stage_tcp(&s);
	fill_port(&s, POST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n", &req);
	fd = dial(&s);
	say(&s, fd, str_view(&req), 0);
	WAIT(s.l, out.n > 0 || hear(fd, &out));
	assert_string_equal(str_cstr(&out), "HTTP/1.1 100 Continue\r\n\r\n");
	str_reset(&out);
	say(&s, fd, VIEW("abc"), 0);
	hear_all(&s, fd, &out);
	assert_int_equal(status_of(&out), 200);
	assert_string_equal(str_cstr(&s.body), "abc");
	stage_close(&s);
	str_release(&req);
	str_release(&out);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A request whose answer the test gives itself. */
static int hold_one(struct stage *s, enum act act)
{
	struct str req = STR_INIT(1000);
	int fd = dial(s);

	s->act = act;
	s->held = NULL;
	fill_port(s, "GET / HTTP/1.1\r\n" GOOD "\r\n", &req);
	say(s, fd, str_view(&req), 0);
	WAIT(s->l, s->held);
	str_release(&req);
	return fd;
}

static void answers_when_the_handler_is_ready(void **state)
{
	struct str out = STR_INIT(1000);
	struct stage s;
	int fd;

	(void)state;
	stage_tcp(&s);
	fd = hold_one(&s, ACT_HOLD);
	s.clock.by += 3600000;
	settle(s.l);
	assert_false(hear(fd, &out));
	httpd_reply(&s.held, 404, "text/plain", VIEW("no"));
	assert_null(s.held);
	hear_all(&s, fd, &out);
	assert_non_null(
		strstr(str_cstr(&out), "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n"));
	assert_non_null(strstr(str_cstr(&out), "\r\nContent-Length: 2\r\n\r\nno"));
	/* to a peer that has closed its side, and to one that has left */
	str_reset(&out);
	fd = hold_one(&s, ACT_HOLD);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	settle(s.l);
	httpd_reply(&s.held, 204, NULL, VIEW_NONE);
	hear_all(&s, fd, &out);
	assert_int_equal(status_of(&out), 204);
	assert_null(strstr(str_cstr(&out), "Content-Length"));
	close(hold_one(&s, ACT_HOLD));
	settle(s.l);
	httpd_reply(&s.held, 200, NULL, VIEW("{}"));
	settle(s.l);
	stage_close(&s);
	str_release(&out);
}

static void may_be_closed_by_its_handler(void **state)
{
	struct str out = STR_INIT(1000);
	struct stage s;
	int idle, fd;

	(void)state;
	stage_tcp(&s);
	idle = dial(&s);
	fd = hold_one(&s, ACT_CLOSE);
	assert_null(s.d);
	hear_all(&s, fd, &out);
	hear_all(&s, idle, &out);
	assert_int_equal(out.n, 0);
	stage_close(&s);
	str_release(&out);
}

static void streams_an_answer(void **state)
{
	struct str out = STR_INIT(10000);
	struct stage s;
	int fd;

	(void)state;
	stage_tcp(&s);
	fd = hold_one(&s, ACT_STREAM);
	assert_int_equal(httpd_stream_piece(s.held, VIEW("data: 1\n\n")), 0);
	settle(s.l);
	assert_false(hear(fd, &out));
	assert_string_equal(str_cstr(&out),
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
		"Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
	str_reset(&out);
	s.clock.by += 3600000;
	settle(s.l);
	assert_int_equal(httpd_stream_piece(s.held, VIEW_NONE), 0);
	assert_int_equal(httpd_stream_piece(s.held, VIEW("0123456789abcdef")), 0);
	httpd_stream_end(&s.held);
	assert_null(s.held);
	hear_all(&s, fd, &out);
	assert_string_equal(str_cstr(&out), "10\r\n0123456789abcdef\r\n0\r\n\r\n");
	settle(s.l);
	assert_int_equal(s.gone, 0);
	stage_close(&s);
	str_release(&out);
}

static void tells_once_that_a_reader_has_left(void **state)
{
	struct stage s;

	(void)state;
	stage_tcp(&s);
	close(hold_one(&s, ACT_STREAM));
	WAIT(s.l, s.gone == 1);
	settle(s.l);
	assert_int_equal(s.gone, 1);
	/* ended by the handler before the loop has told */
	close(hold_one(&s, ACT_STREAM));
	httpd_stream_end(&s.held);
	settle(s.l);
	assert_int_equal(s.gone, 1);
	/* closed before the loop has told */
	close(hold_one(&s, ACT_STREAM));
	stage_close(&s);
	assert_int_equal(s.gone, 1);
}

static void drops_a_slow_reader_at_a_mebibyte(void **state)
{
	static char block[1 << 16];
	struct stage s;
	int fd, pieces = 0;

	(void)state;
	stage_tcp(&s);
	fd = hold_one(&s, ACT_STREAM);
	/* nothing has been sent yet: the loop has not run */
	while (pieces < 1000 &&
		httpd_stream_piece(s.held, (struct view){ block, sizeof block }) == 0)
		pieces++;
	assert_int_equal(pieces, 15); /* 16 of them and their framing are more */
	assert_int_equal(httpd_stream_piece(s.held, VIEW("x")), -1);
	assert_int_equal(s.gone, 0); /* not under our feet */
	WAIT(s.l, s.gone == 1);
	close(fd);
	/* the same, ended by the handler: nothing more is told */
	fd = hold_one(&s, ACT_STREAM);
	while (httpd_stream_piece(s.held, (struct view){ block, sizeof block }) == 0)
		;
	httpd_stream_end(&s.held);
	settle(s.l);
	assert_int_equal(s.gone, 1);
	close(fd);
	/* a reader that keeps up may have any amount */
	fd = hold_one(&s, ACT_STREAM);
	for (int i = 0; i < 100; i++) {
		struct str out = STR_INIT(1 << 20);

		assert_int_equal(httpd_stream_piece(s.held, (struct view){ block, sizeof block }),
			0);
		WAIT(s.l, hear(fd, &out) || out.n >= sizeof block);
		str_release(&out);
	}
	httpd_stream_end(&s.held);
	settle(s.l);
	close(fd);
	stage_close(&s);
}

static void a_stream_may_lag_as_far_as_its_owner_says(void **state)
{
	static char block[1 << 16];
	struct stage s;
	int fd, pieces = 0;

	(void)state;
	stage_open(&s, &(struct httpd_opts){ .stream_max = (size_t)3 << 20 });
	fd = hold_one(&s, ACT_STREAM);
	while (pieces < 1000 &&
		httpd_stream_piece(s.held, (struct view){ block, sizeof block }) == 0)
		pieces++;
	assert_int_equal(pieces, 47); /* 48 of them and their framing are more */
	WAIT(s.l, s.gone == 1);
	close(fd);
	stage_close(&s);
}

/* --- the Unix socket -------------------------------------------------------------------------- */

static void temp_path(char dir[32], char path[64])
{
	(void)snprintf(dir, 32, "/tmp/kairo-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, 64, "%s/control.sock", dir);
}

static void listens_on_a_private_socket_file(void **state)
{
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	char dir[32], path[64];
	struct stat st;

	(void)state;
	temp_path(dir, path);
	for (size_t i = 0; i < 4; i++) {
		mode_t old = umask(masks[i]);
		struct stage s;

		stage_open(&s, &(struct httpd_opts){ .unix_path = path });
		(void)umask(old);
		assert_int_equal(lstat(path, &st), 0);
		assert_int_equal(st.st_mode, S_IFSOCK | 0600);
		assert_int_equal(httpd_port(s.d), 0);
		stage_close(&s);
		assert_int_equal(lstat(path, &st), -1);
	}
	assert_int_equal(rmdir(dir), 0);
}

static void knows_its_host_on_a_socket_file(void **state)
{
	static const struct refusal samples[] = {
		{ "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200 },
		{ "GET / HTTP/1.1\r\nHost: LocalHost\r\n\r\n", 200 },
		{ "GET / HTTP/1.1\r\nHost: localhost:80\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: evil.com\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n", 403 },
	};
	char dir[32], path[64];
	struct stage s;

	(void)state;
	temp_path(dir, path);
	stage_open(&s, &(struct httpd_opts){ .unix_path = path });
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct str out = STR_INIT(1000);
		int fd = dial_unix(path);

		assert_true(fd >= 0);
		say(&s, fd, view_of(samples[i].text), 0);
		hear_all(&s, fd, &out);
		assert_int_equal(status_of(&out), samples[i].status);
		str_release(&out);
	}
	stage_close(&s);
	assert_int_equal(rmdir(dir), 0);
}

static void replaces_a_stale_socket_file_only(void **state)
{
	char dir[32], path[64], moved[80];
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct httpd_opts o = { .unix_path = path };
	struct httpd *other = NULL;
	struct err e = ERR_INIT;
	struct stage s;
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	temp_path(dir, path);
	/* left by a process that was killed */
	assert_int_equal(copy_z(un.sun_path, sizeof un.sun_path, view_of(path)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
	close(fd);
	assert_int_equal(dial_unix(path), -1);
	stage_open(&s, &o);
	fd = dial_unix(path);
	assert_true(fd >= 0);
	close(fd);
	/* one that is alive stays */
	assert_int_equal(httpd_open(&other, s.l, &o, on_request, &s, NULL, &e), -1);
	assert_int_equal(e.code, E_BUSY);
	fd = dial_unix(path);
	assert_true(fd >= 0);
	close(fd);
	/* a file that is another one by now is left alone at the end */
	(void)snprintf(moved, sizeof moved, "%s.moved", path);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	httpd_close(&s.d);
	assert_int_equal(lstat(path, &st), 0);
	/* and so is what is no socket */
	assert_int_equal(httpd_open(&other, s.l, &o, on_request, &s, NULL, &e), -1);
	assert_int_equal(e.code, E_EXISTS);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(moved, path), 0);
	assert_int_equal(httpd_open(&other, s.l, &o, on_request, &s, NULL, &e), -1);
	assert_int_equal(e.code, E_EXISTS);
	assert_null(other);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(moved), 0);
	stage_close(&s);
	assert_int_equal(rmdir(dir), 0);
}

static void says_why_it_cannot_listen(void **state)
{
	char long_path[200];
	struct httpd_opts o = { .unix_path = long_path };
	struct httpd *d = NULL;
	struct err e = ERR_INIT;
	struct stage s;

	(void)state;
	stage_tcp(&s);
	memset(long_path, 'x', sizeof long_path - 1);
	long_path[0] = '/';
	long_path[sizeof long_path - 1] = '\0';
	assert_int_equal(httpd_open(&d, s.l, &o, on_request, &s, NULL, &e), -1);
	assert_int_equal(e.code, E_FORMAT);
	o = (struct httpd_opts){ .unix_path = "/nonexistent/control.sock" };
	assert_int_equal(httpd_open(&d, s.l, &o, on_request, &s, NULL, &e), -1);
	assert_int_equal(e.code, E_NOTFOUND);
	o = (struct httpd_opts){ .tcp_port = httpd_port(s.d) };
	assert_int_equal(httpd_open(&d, s.l, &o, on_request, &s, NULL, &e), -1);
	o = (struct httpd_opts){ .tcp_port = 65536 };
	assert_int_equal(httpd_open(&d, s.l, &o, on_request, &s, NULL, &e), -1);
	assert_int_equal(e.code, E_FORMAT);
	assert_null(d);
	stage_close(&s);
}

/* --- both halves of the room together --------------------------------------------------------- */

struct end {
	bool done;
	enum http_fail fail;
	int status;
	struct str body;
};

static int end_body(void *arg, struct view piece)
{
	struct end *n = arg;

	return str_add(&n->body, piece);
}

static void end_done(void *arg, const struct http_result *r)
{
	struct end *n = arg;

	n->done = true;
	n->fail = r->fail;
	n->status = r->status;
	str_add(&n->body, r->body);
}

static void serves_the_client_of_this_room(void **state)
{
	struct end end = { .body = STR_INIT(1 << 20) };
	struct http_req req = { .method = "POST",
		.url = "http://localhost/v1/ask",
		.body = VIEW("{\"text\":\"hi\"}"),
		.on_body = end_body,
		.on_done = end_done,
		.arg = &end };
	struct http_rules rules = { .loopback = true };
	char dir[32], path[64];
	struct http_call *c;
	struct http *h;
	struct stage s;

	(void)state;
	temp_path(dir, path);
	stage_open(&s, &(struct httpd_opts){ .unix_path = path });
	rules.unix_path = path;
	assert_int_equal(http_open(&h, s.l, &rules, NULL, NULL), 0);
	assert_int_equal(http_start(&c, h, &req, NULL), 0);
	WAIT(s.l, end.done);
	assert_int_equal(end.fail, HTTP_OK_);
	assert_string_equal(str_cstr(&end.body), "{}");
	assert_string_equal(str_cstr(&s.body), "{\"text\":\"hi\"}");
	/* a stream with its end, one that is cut, one that the client leaves */
	for (int i = 0; i < 3; i++) {
		s.act = ACT_STREAM;
		s.held = NULL;
		end.done = false;
		str_reset(&end.body);
		assert_int_equal(http_start(&c, h, &req, NULL), 0);
		WAIT(s.l, s.held);
		assert_int_equal(httpd_stream_piece(s.held, VIEW("one")), 0);
		WAIT(s.l, end.body.n == 3);
		assert_int_equal(httpd_stream_piece(s.held, VIEW("two")), 0);
		WAIT(s.l, end.body.n == 6);
		if (i == 0)
			httpd_stream_end(&s.held);
		else if (i == 1)
			http_cancel(&c);
		else
			httpd_close(&s.d);
		WAIT(s.l, i == 1 ? s.gone == 1 : end.done);
		if (i != 1)
			assert_int_equal(end.fail, i == 0 ? HTTP_OK_ : HTTP_FAIL_BROKEN);
	}
	http_close(&h);
	stage_close(&s);
	str_release(&end.body);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_a_request_and_closes),
		cmocka_unit_test(takes_good_requests_in_any_split),
		cmocka_unit_test(refuses_ambiguous_framing),
		cmocka_unit_test(refuses_malformed_chunks),
		cmocka_unit_test(refuses_malformed_heads),
		cmocka_unit_test(refuses_foreign_hosts_and_origins),
		cmocka_unit_test(asks_for_the_token),
		cmocka_unit_test(takes_one_request_a_connection),
		cmocka_unit_test(holds_the_head_to_its_limit),
		cmocka_unit_test(holds_the_fields_to_their_limit),
		cmocka_unit_test(holds_the_body_to_its_limit),
		cmocka_unit_test(holds_64_connections),
		cmocka_unit_test(ends_a_slow_request),
		cmocka_unit_test(drops_a_reader_that_takes_nothing),
		cmocka_unit_test(sends_continue_when_asked),
		cmocka_unit_test(answers_when_the_handler_is_ready),
		cmocka_unit_test(may_be_closed_by_its_handler),
		cmocka_unit_test(streams_an_answer),
		cmocka_unit_test(tells_once_that_a_reader_has_left),
		cmocka_unit_test(drops_a_slow_reader_at_a_mebibyte),
		cmocka_unit_test(a_stream_may_lag_as_far_as_its_owner_says),
		cmocka_unit_test(listens_on_a_private_socket_file),
		cmocka_unit_test(knows_its_host_on_a_socket_file),
		cmocka_unit_test(replaces_a_stale_socket_file_only),
		cmocka_unit_test(says_why_it_cannot_listen),
		cmocka_unit_test(serves_the_client_of_this_room),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
