/* The HTTP client against a scripted server: what is sent, what comes back, what each limit does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"

static void *zalloc(size_t n)
{
	void *p = calloc(1, n);

	assert_non_null(p);
	return p;
}

/* --- what goes out ---------------------------------------------------------------------------- */

static void sends_a_plain_get_and_nothing_more(void **state)
{
	static const struct answer a = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	struct got g = GOT_INIT;
	struct env v;
	char want[200];

	(void)state;
	env_open(&v, &local_rules, &a, 1);
	env_get(&v, "/a?b=c#d", &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_int_equal(g.status, 200);
	assert_true(g.sent);
	assert_string_equal(str_cstr(&g.body), "hi");
	(void)snprintf(want, sizeof want,
		"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: */*\r\n"
		"Accept-Encoding: gzip\r\n\r\n",
		server_port(v.s));
	assert_string_equal(server_heard(v.s), want);
	env_close(&v);
	got_release(&g);
}

static void sends_headers_and_the_body_as_they_were_at_the_start(void **state)
{
	static const struct answer a = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	struct http_rules rules = { .loopback = true, .user_agent = "kairo/1" };
	struct got g = GOT_INIT;
	struct env v;
	char body[] = "{\"a\":1}", name[] = "X-One", value[] = "first";
	struct http_header headers[] = { { name, value }, { "X-Empty", "" },
		{ "Authorization", "Bearer t" }, { "Content-Type", "application/json" } };

	(void)state;
	env_open(&v, &rules, &a, 1);
	(void)env_start(&v,
		(struct http_req){ .method = "POST",
			.headers = headers,
			.nheaders = 4,
			.body = { body, strlen(body) } },
		&g);
	memset(body, 'x', strlen(body));
	memset(value, 'x', strlen(value));
	memset(name, 'x', strlen(name));
	WAIT(v.l, g.done);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_non_null(strstr(server_heard(v.s), "\r\nX-One: first\r\n"));
	assert_non_null(strstr(server_heard(v.s), "\r\nX-Empty:\r\n"));
	assert_non_null(strstr(server_heard(v.s), "\r\nAuthorization: Bearer t\r\n"));
	assert_non_null(strstr(server_heard(v.s), "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(server_heard(v.s), "\r\nContent-Length: 7\r\n"));
	assert_non_null(strstr(server_heard(v.s), "\r\nUser-Agent: kairo/1\r\n"));
	assert_non_null(strstr(server_heard(v.s), "\r\n\r\n{\"a\":1}"));
	assert_null(strstr(server_heard(v.s), "Expect"));
	env_close(&v);
	got_release(&g);
}

/* A body past curl's threshold for "Expect: 100-continue" goes out at once as well. */
static void sends_a_large_body_whole(void **state)
{
	static const struct answer a = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	size_t n = 3 << 20;
	char *body = zalloc(n);
	struct got g = GOT_INIT;
	struct env v;
	struct view heard;

	(void)state;
	for (size_t i = 0; i < n; i++)
		body[i] = (char)(i * 7 + i / 251);
	env_open(&v, &local_rules, &a, 1);
	env_run(&v, (struct http_req){ .method = "POST", .body = { body, n } }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_true(g.sent);
	heard = server_heard_view(v.s);
	assert_null(memmem(heard.p, 400, "Expect", 6));
	assert_null(memmem(heard.p, 400, "Content-Type", 12));
	assert_true(view_eq(view_from(heard, heard.n - n), (struct view){ body, n }));
	env_close(&v);
	got_release(&g);
	free(body);
}

static void sends_a_post_without_a_body(void **state)
{
	static const struct answer a = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &a, 1);
	env_run(&v, (struct http_req){ .method = "POST" }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_true(g.sent);
	assert_non_null(strstr(server_heard(v.s), "\r\nContent-Length: 0\r\n"));
	env_close(&v);
	got_release(&g);
}

static void refuses_requests_that_cannot_be_sent(void **state)
{
	static const struct http_header bad[] = { { "", "x" }, { "A B", "x" }, { "A:", "x" },
		{ "A\r\nB", "x" }, { "A", "x\r\nB: y" }, { "A", "x\n" }, { "A", "\x7f" },
		{ "A", "\t" }, { "Content-Length", "5" }, { "transfer-encoding", "chunked" },
		{ "Host", "x" }, { "Connection", "close" }, { "Expect", "100-continue" } };
	struct http_header many[25];
	struct http_req req = { .method = "GET",
		.url = "http://127.0.0.1:1/",
		.on_done = got_done };
	struct http_call *c = NULL;
	struct env v;
	static const struct answer a = REPLY("");

	(void)state;
	env_open(&v, &local_rules, &a, 1);
	req.nheaders = 1;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;

		req.headers = &bad[i];
		assert_int_equal(http_start(&c, v.h, &req, &e), -1);
		assert_int_equal(e.code, E_FORMAT);
	}
	for (size_t i = 0; i < 25; i++)
		many[i] = (struct http_header){ "A", "x" };
	req.headers = many;
	req.nheaders = 25;
	assert_int_equal(http_start(&c, v.h, &req, NULL), -1);
	req.nheaders = 24;
	assert_int_equal(http_start(&c, v.h, &req, NULL), 0);
	http_cancel(&c);
	req.nheaders = 0;
	req.body = VIEW("x");
	assert_int_equal(http_start(&c, v.h, &req, NULL), -1);
	req.body = VIEW_NONE;
	req.method = "PUT";
	assert_int_equal(http_start(&c, v.h, &req, NULL), -1);
	assert_null(c);
	env_close(&v);
}

static void refuses_urls_that_the_rules_forbid(void **state)
{
	enum { P = 1, L = 2, ANY = 8, PROXY = 16 };
	static const struct {
		int rules;
		const char *url;
		bool ok;
	} samples[] = {
		{ L, "https://user:secret@example.com/", false },
		{ L, "https://@example.com/", false },
		{ L, "ftp://example.com/", false },
		{ L, "http://example.com/", false },
		{ L, "http://127.0.0.1.evil.com/", false },
		{ L, "http://2130706433/", false },
		{ L, "http://localhost:1/", true },
		{ L, "https://example.com/", true },
		{ 0, "http://127.0.0.1/", false },
		{ ANY, "http://127.0.0.1/", false },
		{ ANY | P, "http://127.0.0.1/", true },
		{ ANY | P, "http://10.0.0.1/", true },
		{ PROXY, "https://example.com/", true },
		{ PROXY, "https://8.8.8.8/", true },
		{ PROXY, "https://example.com:8443/", false },
		{ PROXY, "https://10.0.0.1/", false },
		{ PROXY, "https://[::1]:8443/", true }, /* not by the proxy: the peer is judged */
		{ PROXY, "https://[fd00::1]/", false },
		{ PROXY | ANY, "https://10.0.0.1:8443/", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		int r = samples[i].rules;
		struct http_rules rules = { .reach = r & ANY ? HTTP_ANY : HTTP_PUBLIC,
			.loopback = r & L,
			.plain_http = r & P,
			.proxy = r & PROXY ? "http://127.0.0.1:1" : NULL };
		struct http_req req = { .method = "GET",
			.url = samples[i].url,
			.on_done = got_done };
		struct http_call *c = NULL;
		struct err e = ERR_INIT;
		struct loop *l;
		struct http *h;

		assert_int_equal(loop_open(&l, NULL, NULL), 0);
		assert_int_equal(http_open(&h, l, &rules, NULL, NULL), 0);
		if ((http_start(&c, h, &req, &e) == 0) != samples[i].ok)
			fail_msg("%s: %s", samples[i].url, e.msg);
		assert_null(strstr(e.msg, "secret"));
		http_close(&h);
		loop_close(&l);
	}
}

/* --- what comes back -------------------------------------------------------------------------- */

static void tells_status_headers_and_body(void **state)
{
	static const struct answer answers[] = {
		REPLY("HTTP/1.1 200 OK\r\nx-test: one\r\nX-TEST:  two \r\nContent-Length: 3\r\n\r\nabc"),
		REPLY("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope"),
		REPLY("HTTP/1.1 204 No Content\r\n\r\n"),
		REPLY("HTTP/1.1 100 Continue\r\nX-Test: interim\r\n\r\n"
		      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz"),
		REPLY("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Test\r\n\r\n"
		      "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Test: trailer\r\n\r\n"),
		REPLY("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nX-Test:\r\n\r\n"),
	};
	static const struct {
		int status;
		const char *body, *header;
	} want[] = { { 200, "abc", "two" }, { 404, "nope", "" }, { 204, "", "" }, { 200, "z", "" },
		{ 200, "abcde", "" }, { 503, "", "" } };
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, answers, 6);
	for (size_t i = 0; i < 6; i++) {
		env_get(&v, "/", &g);
		assert_int_equal(g.fail, HTTP_OK_);
		assert_int_equal(g.status, want[i].status);
		assert_string_equal(str_cstr(&g.body), want[i].body);
		assert_string_equal(g.header, want[i].header);
	}
	env_close(&v);
	got_release(&g);
}

static void reads_the_same_answer_in_any_split(void **state)
{
	static const char text[] =
		"HTTP/1.1 200 OK\r\nX-Test: yes\r\nTransfer-Encoding: chunked\r\n\r\n"
		"5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n";
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	for (size_t step = 1; step <= 9; step++) {
		struct answer a = { .bytes = view_of(text), .step = step };

		env_open(&v, &local_rules, &a, 1);
		env_get(&v, "/", &g);
		assert_int_equal(g.fail, HTTP_OK_);
		assert_string_equal(str_cstr(&g.body), "hello, world");
		assert_string_equal(g.header, "yes");
		env_close(&v);
	}
	got_release(&g);
}

static void hands_a_good_body_on_in_pieces_and_keeps_a_bad_one(void **state)
{
	static const struct answer answers[] = {
		{ .bytes = { "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef", 44 },
			.step = 40 },
		REPLY("HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nerr"),
	};
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, answers, 2);
	env_run(&v, (struct http_req){ .on_body = got_body }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_string_equal(str_cstr(&g.pieces), "abcdef");
	assert_int_equal(g.body.n, 0);
	assert_int_equal(g.npieces, 2);
	assert_null(strstr(server_heard(v.s), "Accept-Encoding"));
	env_run(&v, (struct http_req){ .on_body = got_body }, &g);
	assert_int_equal(g.status, 500);
	assert_string_equal(str_cstr(&g.body), "err");
	assert_int_equal(g.npieces, 2);
	env_close(&v);
	got_release(&g);
}

static void follows_no_redirect(void **state)
{
	static const struct answer a =
		REPLY("HTTP/1.1 302 Found\r\nLocation: /other\r\nX-Test: r\r\n"
		      "Content-Length: 0\r\n\r\n");
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &a, 1);
	env_get(&v, "/", &g);
	settle(v.l);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_int_equal(g.status, 302);
	assert_string_equal(g.header, "r");
	assert_int_equal(server_requests(v.s), 1);
	env_close(&v);
	got_release(&g);
}

static void reads_retry_after_in_seconds_only(void **state)
{
	static const struct {
		const char *header;
		int64_t ms;
	} samples[] = { { "Retry-After: 120\r\n", 120000 }, { "Retry-After:0\r\n", 0 },
		{ "retry-after:  7  \r\n", 7000 }, { "Retry-After: 1\r\nRetry-After: 2\r\n", 2000 },
		{ "", -1 }, { "Retry-After:\r\n", -1 }, { "Retry-After: -1\r\n", -1 },
		{ "Retry-After: +1\r\n", -1 }, { "Retry-After: 1.5\r\n", -1 },
		{ "Retry-After: 0x10\r\n", -1 }, { "Retry-After: soon\r\n", -1 },
		{ "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n", -1 },
		{ "Retry-After: 18446744073709551615\r\n", -1 },
		{ "Retry-After: 99999999999999999999\r\n", -1 } };

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct got g = GOT_INIT;
		struct env v;
		char text[300];
		struct answer a;

		(void)snprintf(text, sizeof text,
			"HTTP/1.1 429 Slow down\r\nContent-Length: 0\r\n%s\r\n", samples[i].header);
		a = (struct answer){ .bytes = view_of(text) };
		env_open(&v, &local_rules, &a, 1);
		env_get(&v, "/", &g);
		assert_int_equal(g.status, 429);
		assert_true(g.retry_after_ms == samples[i].ms);
		env_close(&v);
		got_release(&g);
	}
}

/* --- limits ----------------------------------------------------------------------------------- */

struct cap {
	const char *head, *body;
	size_t max, error_max;
	enum http_fail fail;
	const char *kept;
};

static void holds_the_body_to_its_limit(void **state)
{
#define LEN  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
#define CHNK "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define OPEN "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define ERR5 "HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\n"
#define ERRC "HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n"
	static const struct cap samples[] = {
		{ LEN, "12345", 6, 0, HTTP_OK_, "12345" },
		{ LEN, "12345", 5, 0, HTTP_OK_, "12345" },
		{ LEN, "12345", 4, 0, HTTP_FAIL_TOO_BIG, NULL },
		{ CHNK, "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n", 5, 0, HTTP_OK_, "12345" },
		{ CHNK, "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n", 4, 0, HTTP_FAIL_TOO_BIG, NULL },
		{ CHNK, "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n", 3, 0, HTTP_FAIL_TOO_BIG, NULL },
		{ CHNK, "0\r\n\r\n", 1, 0, HTTP_OK_, "" },
		{ OPEN, "12345", 5, 0, HTTP_OK_, "12345" },
		{ OPEN, "12345", 4, 0, HTTP_FAIL_TOO_BIG, NULL },
		/* Of an error's body what fits is kept, and that is no failure. */
		{ ERR5, "12345", 10, 5, HTTP_OK_, "12345" },
		{ ERR5, "12345", 10, 4, HTTP_OK_, "1234" },
		{ ERR5, "12345", 4, 0, HTTP_OK_, "" },
		{ ERR5, "12345", 5, 9, HTTP_OK_, "12345" },
		{ ERRC, "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n", 10, 4, HTTP_OK_, "1234" },
		{ ERRC, "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n", 10, 3, HTTP_OK_, "123" },
		{ ERRC, "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n", 4, 0, HTTP_OK_, "1234" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		const struct cap *s = &samples[i];

		for (int stream = 0; stream <= 1; stream++) {
			struct got g = GOT_INIT;
			struct env v;
			char text[300];
			struct answer a;
			bool open_ended = strcmp(s->head, OPEN) == 0;

			(void)snprintf(text, sizeof text, "%s%s", s->head, s->body);
			a = (struct answer){ .bytes = view_of(text),
				.then = open_ended ? THEN_CLOSE : THEN_KEEP };
			env_open(&v, &local_rules, &a, 1);
			env_run(&v,
				(struct http_req){ .body_max = s->max,
					.error_body_max = s->error_max,
					.on_body = stream ? got_body : NULL },
				&g);
			if (g.fail != s->fail)
				fail_msg("sample %zu: %s", i, g.err.msg);
			if (s->fail == HTTP_FAIL_TOO_BIG)
				assert_non_null(strstr(g.err.msg, "its answer is longer"));
			assert_true(g.status == 200 || g.status == 500);
			if (s->kept)
				assert_string_equal(str_cstr(stream && g.status == 200 ? &g.pieces
										       : &g.body),
					s->kept);
			else
				assert_true(g.body.n <= s->max && g.pieces.n <= s->max);
			env_close(&v);
			got_release(&g);
		}
	}
}

/* Endless in each way a server can be; the connection is dropped at the limit. */
static void stops_an_endless_answer(void **state)
{
	static const char block[1 << 16] = { 'a' };
	static char chunk[1024 + 7];
	struct answer answers[] = {
		{ .bytes = view_of("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
			.more = { block, sizeof block },
			.times = 1 << 14 },
		{ .bytes = view_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
			.more = { chunk, sizeof chunk },
			.times = 1 << 20 },
		{ .bytes = view_of("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"),
			.more = { block, sizeof block },
			.times = 1 << 14 },
	};

	(void)state;
	(void)snprintf(chunk, sizeof chunk, "400\r\n%01024d", 0);
	memcpy(chunk + sizeof chunk - 2, "\r\n", 2);
	for (size_t i = 0; i < 3; i++) {
		struct got g = GOT_INIT;
		struct env v;

		env_open(&v, &local_rules, &answers[i], 1);
		env_run(&v, (struct http_req){ .url = NULL }, &g);
		assert_int_equal(g.fail, HTTP_FAIL_TOO_BIG);
		assert_int_equal(g.err.code, E_FORMAT);
		assert_true(g.body.n <= 2 << 20);
		WAIT(v.l, server_open_now(v.s) == 0);
		env_close(&v);
		got_release(&g);
	}
}

static void add_bits(struct str *out, unsigned *at, const char *bits)
{
	for (; *bits; bits++, ++*at) {
		if (*at % 8 == 0)
			str_addc(out, 0);
		if (*bits == '1')
			out->p[out->n - 1] = (char)(out->p[out->n - 1] | 1 << *at % 8);
	}
}

/* RFC 1951 with fixed codes: a zero, then matches of 258 bytes at distance 1, 13 bits each; eight
 * of them are 13 bytes that stand for 2,064. */
static void make_bomb(struct str *head, struct str *more)
{
	static const char match[] = "1100010100000";
	unsigned at = 0;

	str_adds(head, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
		       "Transfer-Encoding: chunked\r\n\r\nfffffff\r\n");
	str_add(head, VIEW("\x1f\x8b\x08\0\0\0\0\0\0\xff"));
	at = 0;
	add_bits(head, &at,
		"010"
		"00110000");
	add_bits(head, &at, match);
	assert_int_equal(at, 24);
	at = 0;
	for (int i = 0; i < 8; i++)
		add_bits(more, &at, match);
	assert_int_equal(more->n, 13);
}

static void counts_decoded_bytes(void **state)
{
	/* printf hello | gzip -n */
	static const struct answer small = REPLY(
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n"
		"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0");
	struct str head = STR_INIT(1000), more = STR_INIT(1000);
	struct got g = GOT_INIT;
	struct env v;
	struct answer bomb;

	(void)state;
	env_open(&v, &local_rules, &small, 1);
	env_get(&v, "/", &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_string_equal(str_cstr(&g.body), "hello");
	env_close(&v);

	make_bomb(&head, &more);
	bomb = (struct answer){ .bytes = str_view(&head),
		.more = str_view(&more),
		.times = 500000 };
	env_open(&v, &local_rules, &bomb, 1);
	env_run(&v, (struct http_req){ .body_max = 1 << 20 }, &g);
	assert_int_equal(g.fail, HTTP_FAIL_TOO_BIG);
	assert_true(g.body.n <= 1 << 20);
	assert_true(g.body.n > 1 << 19); /* it was unpacked, not refused for another reason */
	WAIT(v.l, server_open_now(v.s) == 0);
	env_close(&v);
	got_release(&g);
	str_release(&head);
	str_release(&more);
}

/* All header bytes of an answer, its status line and the empty line among them. */
static void holds_the_headers_to_their_limit(void **state)
{
	static const char start[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
	static const char line[] = "X-Filler: 1234567890123456789012345678901234567890\r\n";
	size_t limit = 64 << 10;

	(void)state;
	for (size_t total = limit - 1; total <= limit + 1; total++) {
		struct str text = STR_INIT(limit + 10);
		struct got g = GOT_INIT;
		struct answer a;
		struct env v;

		str_adds(&text, start);
		while (text.n + 2 * sizeof line + 2 < total)
			str_adds(&text, line);
		str_adds(&text, "X-Last: ");
		while (text.n < total - 4)
			str_addc(&text, 'x');
		str_adds(&text, "\r\n\r\n");
		assert_int_equal(text.n, total);
		a = (struct answer){ .bytes = str_view(&text), .step = 5000 };
		env_open(&v, &local_rules, &a, 1);
		env_get(&v, "/", &g);
		assert_int_equal(g.fail, total <= limit ? HTTP_OK_ : HTTP_FAIL_TOO_BIG);
		env_close(&v);
		got_release(&g);
		str_release(&text);
	}
}

static void stops_endless_headers(void **state)
{
	static char block[1 << 12];
	struct answer answers[] = {
		{ .bytes = view_of("HTTP/1.1 200 OK\r\n"),
			.more = view_of("A: b\r\n"),
			.times = 1 << 21 },
		{ .bytes = view_of("HTTP/1.1 200 OK\r\nA: "),
			.more = { block, sizeof block },
			.times = 2560 },
		{ .bytes = view_of("HTTP/1.1 200 OK\r\nA: b\r\n"),
			.more = view_of(" folded\r\n"),
			.times = 1 << 20 },
		{ .bytes = VIEW_NONE,
			.more = view_of("HTTP/1.1 100 Continue\r\n\r\n"),
			.times = 1 << 19 },
	};

	(void)state;
	memset(block, 'x', sizeof block);
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct got g = GOT_INIT;
		struct env v;

		env_open(&v, &local_rules, &answers[i], 1);
		env_get(&v, "/", &g);
		if (g.fail != HTTP_FAIL_TOO_BIG)
			fail_msg("sample %zu: %s, %s", i, http_fail_name(g.fail), g.err.msg);
		WAIT(v.l, server_open_now(v.s) == 0);
		env_close(&v);
		got_release(&g);
	}
}

static void bounds_the_calls_of_a_pool(void **state)
{
	static const struct answer a = REPLY("");
	struct http_rules rules = { .loopback = true, .rate_max = 1, .rate_ms = 1000000 };
	struct http_req req = { .method = "GET",
		.url = "http://127.0.0.1:1/",
		.on_done = got_done };
	struct http_call *c;
	struct err e = ERR_INIT;
	struct env v;

	(void)state;
	env_open(&v, &rules, &a, 1);
	for (int i = 0; i < 256; i++)
		assert_int_equal(http_start(&c, v.h, &req, &e), 0);
	assert_int_equal(http_start(&c, v.h, &req, &e), -1);
	assert_int_equal(e.code, E_FULL);
	env_close(&v);
}

/* --- connections ------------------------------------------------------------------------------ */

static void reuses_a_connection(void **state)
{
	static const struct answer a = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &a, 1);
	for (int i = 0; i < 5; i++) {
		env_get(&v, "/", &g);
		assert_int_equal(g.fail, HTTP_OK_);
	}
	env_run(&v, (struct http_req){ .method = "POST", .body = VIEW("x") }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_int_equal(server_requests(v.s), 6);
	assert_int_equal(server_accepted(v.s), 1);
	assert_int_equal(server_open_now(v.s), 1);
	http_close(&v.h);
	WAIT(v.l, server_open_now(v.s) == 0);
	env_close(&v);
	got_release(&g);
}

static void runs_calls_side_by_side(void **state)
{
	static const struct answer a = {
		.bytes = { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 40 },
		.step = 7
	};
	struct got g[20];
	struct env v;

	(void)state;
	env_open(&v, &local_rules, &a, 1);
	for (int i = 0; i < 20; i++) {
		g[i] = (struct got)GOT_INIT;
		(void)env_start(&v, (struct http_req){ .url = NULL }, &g[i]);
	}
	for (int i = 0; i < 20; i++) {
		WAIT(v.l, g[i].done);
		assert_int_equal(g[i].fail, HTTP_OK_);
		assert_string_equal(str_cstr(&g[i].body), "hi");
		got_release(&g[i]);
	}
	env_close(&v);
}

static void two_pools_share_a_loop(void **state)
{
	static const struct answer quiet = { .then = THEN_HOLD };
	static const struct answer a = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	struct server_opts o = { .answers = &quiet, .nanswers = 1 };
	struct got poll = GOT_INIT, g = GOT_INIT;
	struct http *polls;
	struct server *silent;
	struct http_call *c;
	struct env v;
	char url[64];
	struct http_req req = { .method = "GET", .url = url, .on_done = got_done, .arg = &poll };

	(void)state;
	env_open(&v, &local_rules, &a, 1);
	server_open(&silent, v.l, &o);
	assert_int_equal(http_open(&polls, v.l, &local_rules, NULL, NULL), 0);
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%d/", server_port(silent));
	assert_int_equal(http_start(&c, polls, &req, NULL), 0);
	for (int i = 0; i < 3; i++) {
		env_get(&v, "/", &g);
		assert_int_equal(g.fail, HTTP_OK_);
	}
	WAIT(v.l, server_requests(silent) == 1);
	http_close(&polls);
	WAIT(v.l, server_open_now(silent) == 0);
	assert_false(poll.done);
	env_get(&v, "/", &g);
	assert_int_equal(g.fail, HTTP_OK_);
	server_close(&silent);
	env_close(&v);
	got_release(&g);
	got_release(&poll);
}

static void talks_to_a_unix_socket(void **state)
{
	static const struct answer a = REPLY("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	char dir[] = "/tmp/kairo-test-XXXXXX", path[64];
	struct http_rules rules = { .unix_path = path };
	struct server_opts o = { .unix_path = path, .answers = &a, .nanswers = 1 };
	struct got g = GOT_INIT;
	struct env v;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/sock", dir);
	env_open_on(&v, &rules, &o);
	env_run(&v, (struct http_req){ .url = "http://localhost/x" }, &g);
	assert_int_equal(g.fail, HTTP_OK_);
	assert_non_null(strstr(server_heard(v.s), "GET /x HTTP/1.1\r\nHost: localhost\r\n"));
	server_close(&v.s);
	assert_int_equal(remove(path), 0);
	env_run(&v, (struct http_req){ .url = "http://localhost/x" }, &g);
	assert_int_equal(g.fail, HTTP_FAIL_CONNECT);
	assert_false(g.sent);
	env_close(&v);
	assert_int_equal(remove(dir), 0);
	got_release(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_a_plain_get_and_nothing_more),
		cmocka_unit_test(sends_headers_and_the_body_as_they_were_at_the_start),
		cmocka_unit_test(sends_a_large_body_whole),
		cmocka_unit_test(sends_a_post_without_a_body),
		cmocka_unit_test(refuses_requests_that_cannot_be_sent),
		cmocka_unit_test(refuses_urls_that_the_rules_forbid),
		cmocka_unit_test(tells_status_headers_and_body),
		cmocka_unit_test(reads_the_same_answer_in_any_split),
		cmocka_unit_test(hands_a_good_body_on_in_pieces_and_keeps_a_bad_one),
		cmocka_unit_test(follows_no_redirect),
		cmocka_unit_test(reads_retry_after_in_seconds_only),
		cmocka_unit_test(holds_the_body_to_its_limit),
		cmocka_unit_test(stops_an_endless_answer),
		cmocka_unit_test(counts_decoded_bytes),
		cmocka_unit_test(holds_the_headers_to_their_limit),
		cmocka_unit_test(stops_endless_headers),
		cmocka_unit_test(bounds_the_calls_of_a_pool),
		cmocka_unit_test(reuses_a_connection),
		cmocka_unit_test(runs_calls_side_by_side),
		cmocka_unit_test(two_pools_share_a_loop),
		cmocka_unit_test(talks_to_a_unix_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
