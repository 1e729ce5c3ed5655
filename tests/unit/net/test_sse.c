#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/net/sse.h"

/* clang-format off */
#define B(lit) { "" lit, sizeof(lit) - 1 }
/* clang-format on */

/* Events as text, "<type|data>" each; stop_at: the event whose callback asks to stop (0: none). */
struct seen {
	struct str text;
	int count, stop_at;
};

static int note(void *arg, struct view type, struct view data)
{
	struct seen *s = arg;

	str_addc(&s->text, '<');
	str_add(&s->text, type);
	str_addc(&s->text, '|');
	str_add(&s->text, data);
	str_addc(&s->text, '>');
	return ++s->count == s->stop_at;
}

struct limits {
	size_t event, total;
};
static const struct limits wide = { 1 << 16, 1 << 20 };

/* Feed `first` bytes, then pieces of `step`. The result is what the first call that was not 0 gave,
 * or sse_end. */
static int run(struct view in, size_t first, size_t step, struct limits lim, struct seen *seen)
{
	struct sse *s = NULL;
	struct err e = ERR_INIT;
	size_t n = first;
	int rc = 0;

	assert_int_equal(sse_open(&s, lim.event, lim.total, note, seen, &e), 0);
	while (in.n > 0 && rc == 0) {
		struct view piece = view_cut(in, n ? n : step);
		/* A copy of its own, so that a read past a piece is caught. */
		char *copy = malloc(piece.n);

		assert_non_null(copy);
		memcpy(copy, piece.p, piece.n);
		rc = sse_feed(s, (struct view){ copy, piece.n }, &e);
		free(copy);
		in = view_from(in, piece.n);
		n = 0;
	}
	if (rc == 0)
		rc = sse_end(s, &e);
	if (rc < 0) {
		assert_int_equal(e.code, E_FORMAT);
		assert_true(e.msg[0] != '\0');
	}
	sse_close(&s);
	assert_null(s);
	return rc;
}

/* The same outcome whole, cut once at each place, byte by byte, and in threes. */
static void check_all(struct view in, struct limits lim, int stop_at, int want_rc, const char *want)
{
	for (size_t cut = 0; cut <= in.n + 2; cut++) {
		struct seen seen = { .text = STR_INIT(1 << 22), .stop_at = stop_at };
		size_t step = cut <= in.n ? in.n + 1 : cut == in.n + 1 ? 1 : 3;
		int rc = run(in, cut <= in.n ? cut : 0, step, lim, &seen);

		if (rc != want_rc || !view_eqs(str_view(&seen.text), want))
			print_error("input %.*s cut at %zu\n", VIEW_FMT(in), cut);
		assert_int_equal(rc, want_rc);
		assert_string_equal(str_cstr(&seen.text), want);
		str_release(&seen.text);
	}
}

struct sample {
	struct view in;
	const char *want;
};

static void check_samples(const struct sample *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_all(s[i].in, wide, 0, 0, s[i].want);
}
#define CHECK(samples) check_samples((samples), sizeof(samples) / sizeof *(samples))

/* WHATWG HTML 9.2.6, its examples first. */
static void follows_the_standard(void **state)
{
	static const struct sample samples[] = {
		{ B("data: YHOO\ndata: +2\ndata: 10\n\n"), "<|YHOO\n+2\n10>" },
		{ B(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
		    "data:  third event\n\n"),
			"<|first event><|second event><| third event>" },
		{ B("data\n\ndata\ndata\n\ndata:"), "<|><|\n><|>" },
		{ B("data:test\n\ndata: test\n\n"), "<|test><|test>" },
		{ B("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n"),
			"<add|73857293><remove|2153>" },
		{ B("event: a\nevent: b\ndata: x\n\ndata: y\n\n"), "<b|x><|y>" },
		{ B("event: lonely\n\ndata: x\n\n"), "<|x>" },
		{ B("data: a:b: c\n\n"), "<|a:b: c>" },
		{ B("data : x\nDATA: y\ndatax: z\n\n"), "" },
		{ B("retry: 10\nid: 7\nfoo\nfoo: bar\ndata: x\n\n"), "<|x>" },
		{ B("\n\n\n"), "" },
		{ B(""), "" },
		{ B("data: \n\n"), "<|>" },
		{ B("data:\tx\n\n"), "<|\tx>" },
		{ B("data: \xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80\n\nevent: \xc3\xa9\ndata: \xc3\xa9\n\n"),
			"<|\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80><\xc3\xa9|\xc3\xa9>" },
	};

	(void)state;
	CHECK(samples);
}

static void ends_lines_at_cr_lf_and_crlf(void **state)
{
	static const struct sample samples[] = {
		{ B("data: a\r\rdata: b\r\r"), "<|a><|b>" },
		{ B("data: a\r\n\r\ndata: b\r\n\r\n"), "<|a><|b>" },
		{ B("data: a\r\ndata: b\n\r"), "<|a\nb>" },
		{ B("data: a\r\n\ndata: b\r\r\n"), "<|a><|b>" },
		{ B("data: a\n\r\ndata: b\n\n"), "<|a><|b>" },
		{ B("\r\ndata: a\r"), "<|a>" },
		{ B("data: a\r\n\r"), "<|a>" },
	};

	(void)state;
	CHECK(samples);
}

/* Drawn at random. The right values are what a reading of the standard by hand gave, and with it
 * two decoders that others wrote, as far as these keep to it. */
static void gives_the_events_of_the_standard_for_mixtures(void **state)
{
	static const struct sample samples[] = {
		{ B("\xef\xbb\xbf"
		    "data: \xe4\xbd\xa0\nevent: t\r\r\n\r\n data: n\rdata: :\r\ndata\ndata: :\r\ndata: y\r\n\n\n"),
			"<t|\xe4\xbd\xa0><|:\n\n:\ny>" },
		{ B("\xef\xbb\xbf"
		    "data: n\n\n data: n\ndata:x\r\xef\xbb\xbf"
		    "data: n\r\n\r\n\r: c\r\n\n"),
			"<|n><|x>" },
		{ B("data\r\n\rdata\r\n\n\r\nevent: t\r\ndata: :\r\nevent: t\r\n\n\n"),
			"<|><|><t|:>" },
		{ B("data:x\n\r\nretry\nevent: u:v\r\ndata: :\r\nretry\r: c\r\n\r\n\ndata:  z\n\n\n"),
			"<|x><u:v|:><| z>" },
		{ B("data: :\ndata:  z\r\ndata: \xe4\xbd\xa0\r\nid: 1\r\n\n data: n\nevent: t\rdata: y\n\r\n\n\n"),
			"<|:\n z\n\xe4\xbd\xa0><t|y>" },
		{ B("data:x\n\n\r\n\n\r\n\r\nevent: t\r\nid: 1\rdata: :\n\r\ndata: y\r\ndata: \xe4\xbd\xa0\r\nretry\n\n\n"),
			"<|x><t|:><|y\n\xe4\xbd\xa0>" },
		{ B("data:  z\ndata:\r\n:\r\r\rdata: \xe4\xbd\xa0\nid: 1\r\n\n\n"),
			"<| z\n><|\xe4\xbd\xa0>" },
		{ B("data:  z\n\r\n: c\r\r\n\r\n\r\r:\r:\ndata:\n\rdata: \xe4\xbd\xa0\n\r\n\r\n\n\n"),
			"<| z><|><|\xe4\xbd\xa0>" },
		{ B("event: u:v\nid: 1\n\r\nretry\r\ndata: y\r\n\r\n\r\ndata: y\r\nevent: t\ndata:  z\n\r\n\n\n"),
			"<|y><t|y\n z>" },
		{ B("\xef\xbb\xbf"
		    "data: n\r\r\xef\xbb\xbf"
		    "data: n\revent: u:v\n\r\ndata:\r\n\r\n data: n\r\n\n\rdata: \xe4\xbd\xa0\r\n\n"),
			"<|n><|><|\xe4\xbd\xa0>" },
		{ B("data\r\nevent: t\n\nevent:\rdata:x\n\r\ndata: y\r\n\n\r\n: c\r\ndata\r\n\n\n"),
			"<t|><|x><|y><|>" },
		{ B("\xef\xbb\xbf:\r\r\ndata: :\r\ndata:  z\r\n\n\rdata\r\n\n"), "<|:\n z><|>" },
	};

	(void)state;
	CHECK(samples);
}

static void ignores_comments_wherever_they_stand(void **state)
{
	static const struct sample samples[] = {
		{ B(": ping\n\n: ping\n\n"), "" },
		{ B(": ping\ndata: x\n\n"), "<|x>" },
		{ B("data: x\n: ping\ndata: y\n\n"), "<|x\ny>" },
		{ B("event: t\n: ping\n:\n::\ndata: x\n: ping\n\n"), "<t|x>" },
		{ B(": data: x\n\n"), "" },
	};

	(void)state;
	CHECK(samples);
}

static void drops_one_leading_byte_order_mark(void **state)
{
	static const struct sample samples[] = {
		{ B("\xef\xbb\xbf"
		    "data: x\n\n"),
			"<|x>" },
		{ B("\xef\xbb\xbf\ndata: x\n\n"), "<|x>" },
		{ B("\xef\xbb\xbf"), "" },
		/* A second one, or one on a later line, is part of the field's name. */
		{ B("\xef\xbb\xbf\xef\xbb\xbf"
		    "data: x\n\ndata: y\n\n"),
			"<|y>" },
		{ B("\n\xef\xbb\xbf"
		    "data: x\n\n"),
			"" },
		/* What only begins like one (U+FEFE, U+F000) is not swallowed. */
		{ B("\xef\xbb\xbe"
		    "data: x\ndata: y\n\n"),
			"<|y>" },
		{ B("\xef\x80\x80\ndata: y\n\n"), "<|y>" },
	};

	(void)state;
	CHECK(samples);
}

static void hands_on_an_event_that_the_end_cut_off(void **state)
{
	static const struct sample samples[] = {
		{ B("data: x"), "<|x>" },
		{ B("data: x\n"), "<|x>" },
		{ B("data: [DONE]\r"), "<|[DONE]>" },
		{ B("event: e\ndata: x\ndat"), "<e|x>" },
		{ B("event: e\n"), "" },
		{ B(": c"), "" },
	};

	(void)state;
	CHECK(samples);
}

static void refuses_invalid_utf8_in_any_split(void **state)
{
	static const struct view samples[] = {
		B("data: \xff\n\n"),             /* never a byte of UTF-8 */
		B("data: \xe4\xbd\n\n"),         /* cut short by the end of the line */
		B("data: \xc0\xaf\n\n"),         /* overlong */
		B("data: \xed\xa0\x80\n\n"),     /* a surrogate */
		B("data: \xf4\x90\x80\x80\n\n"), /* past U+10FFFF */
		B(": \x80\n\n"),                 /* in a comment */
		B("id: \xe4\xbd\n\n"),           /* in a field we ignore */
		B("data: \xe4\xbd"),             /* cut short by the end of the stream */
		B("\xef\xbb"),                   /* two thirds of a byte order mark */
		B("\xef\xbb\n\n"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		check_all(samples[i], wide, 0, -1, "");
	check_all((struct view)B("data: a\n\ndata: \xff\n\n"), wide, 0, -1, "<|a>");
}

static void stops_when_the_callback_says_so(void **state)
{
	(void)state;
	check_all((struct view)B("data: a\n\ndata: b\n\ndata: c\n\n"), wide, 2, 1, "<|a><|b>");
	check_all((struct view)B("data: a\n\ndata: b"), wide, 2, 1, "<|a><|b>");
}

static void stays_stopped_and_stays_failed(void **state)
{
	struct seen seen = { .text = STR_INIT(100), .stop_at = 1 };
	struct err e = ERR_INIT;
	struct sse *s;

	(void)state;
	assert_int_equal(sse_open(&s, 100, 100, note, &seen, &e), 0);
	assert_int_equal(sse_feed(s, VIEW("data: a\n\n"), &e), 1);
	assert_int_equal(sse_feed(s, VIEW("data: b\n\n"), &e), 1);
	assert_int_equal(sse_end(s, &e), 1);
	assert_string_equal(str_cstr(&seen.text), "<|a>");
	sse_close(&s);

	str_reset(&seen.text);
	assert_int_equal(sse_open(&s, 100, 100, note, &seen, &e), 0);
	assert_int_equal(sse_feed(s, VIEW("\xff\n"), &e), -1);
	assert_int_equal(sse_feed(s, VIEW("data: b\n\n"), &e), -1);
	assert_int_equal(sse_end(s, &e), -1);
	assert_string_equal(str_cstr(&seen.text), "");
	sse_close(&s);
	sse_close(&s);
	str_release(&seen.text);
}

static void check_limit(const char *in, size_t event, int want_rc, const char *want)
{
	check_all(view_of(in), (struct limits){ event, 100 }, 0, want_rc, want);
}

/* What a value may have, however it is introduced, and seven bytes more of a line without one. */
static void holds_a_line_to_its_limit(void **state)
{
	(void)state;
	check_limit("data: 456789012\n\n", 10, 0, "<|456789012>");
	check_limit("data: 4567890123\n\n", 10, 0, "<|4567890123>");
	check_limit("data: 45678901234\n\n", 10, -1, "");
	check_limit("data: 45678901234", 10, -1, "");
	check_limit("data:4567890123\n\n", 10, 0, "<|4567890123>");
	check_limit("data:45678901234\n\n", 10, -1, "");
	check_limit("event: 4567890123\ndata\n\n", 10, 0, "<4567890123|>");
	check_limit("event: 45678901234\ndata\n\n", 10, -1, "");
	check_limit(": 17 bytes long..\n", 10, 0, "");
	check_limit(": 18 bytes long...\n", 10, -1, "");
	/* The byte order mark is not counted. */
	check_limit("\xef\xbb\xbf"
		    "data: 4567890123\n\n",
		10, 0, "<|4567890123>");
}

/* Beyond the standard: llama.cpp's server, until late in 2025. */
static void takes_an_error_field_for_an_event_of_that_type(void **state)
{
	static const struct sample samples[] = {
		{ B("error: {\"code\":400}\n\ndata: [DONE]\n\n"),
			"<error|{\"code\":400}><|[DONE]>" },
		{ B("data: x\n\nerror:boom"), "<|x><error|boom>" },
		{ B("errors: x\nError: y\n\n"), "" },
	};

	(void)state;
	CHECK(samples);
}

static void holds_an_event_to_its_limit(void **state)
{
	(void)state;
	/* 4 + LF + 4 = 9, and with one more 10 and 11. */
	check_limit("data:1234\ndata:6789\n\n", 10, 0, "<|1234\n6789>");
	check_limit("data:1234\ndata:67890\n\n", 10, 0, "<|1234\n67890>");
	check_limit("data:12345\ndata:78901\n\n", 10, -1, "");
	/* Lines without a byte of data add up as well: n of them make n - 1 LF. */
	check_limit("data\ndata\ndata\ndata\ndata\n\n", 4, 0, "<|\n\n\n\n>");
	check_limit("data\ndata\ndata\ndata\ndata\ndata\n\n", 4, -1, "");
	/* The limit is one event's, not the sum's. */
	check_limit("data:1234\n\ndata:1234\n\ndata:1234\n\n", 10, 0, "<|1234><|1234><|1234>");
}

static void holds_the_stream_to_its_limit(void **state)
{
	static const struct view in = B("data: a\n\ndata: b\n\n"); /* 18 bytes */

	(void)state;
	check_all(in, (struct limits){ 100, 19 }, 0, 0, "<|a><|b>");
	check_all(in, (struct limits){ 100, 18 }, 0, 0, "<|a><|b>");
	check_all(in, (struct limits){ 100, 17 }, 0, -1, "<|a>");
	check_all(in, (struct limits){ 100, 0 }, 0, -1, "");
}

/* A MiB of the shapes that are slow in a parser that starts over at each piece. */
static void takes_hostile_streams_in_one_pass(void **state)
{
	static const char *const shapes[] = { "\r", "\n", ":\r", "data\r", "data:\n\n", "x" };
	size_t size = 1 << 20;
	char *buf = malloc(size);

	(void)state;
	assert_non_null(buf);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		size_t n = strlen(shapes[i]);

		for (size_t at = 0; at < size; at++)
			buf[at] = shapes[i][at % n];
		for (size_t step = 1; step <= size; step *= 1024) {
			struct seen seen = { .text = STR_INIT(1 << 22) };
			struct limits lim = { size, size };

			assert_int_equal(run((struct view){ buf, size }, 0, step, lim, &seen), 0);
			str_release(&seen.text);
		}
	}
	free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_the_standard),
		cmocka_unit_test(ends_lines_at_cr_lf_and_crlf),
		cmocka_unit_test(gives_the_events_of_the_standard_for_mixtures),
		cmocka_unit_test(ignores_comments_wherever_they_stand),
		cmocka_unit_test(drops_one_leading_byte_order_mark),
		cmocka_unit_test(hands_on_an_event_that_the_end_cut_off),
		cmocka_unit_test(refuses_invalid_utf8_in_any_split),
		cmocka_unit_test(stops_when_the_callback_says_so),
		cmocka_unit_test(stays_stopped_and_stays_failed),
		cmocka_unit_test(holds_a_line_to_its_limit),
		cmocka_unit_test(takes_an_error_field_for_an_event_of_that_type),
		cmocka_unit_test(holds_an_event_to_its_limit),
		cmocka_unit_test(holds_the_stream_to_its_limit),
		cmocka_unit_test(takes_hostile_streams_in_one_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
