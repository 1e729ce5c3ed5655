/* Streams as providers send them, from the bytes to the answer: each form whole, one byte at a time
 * and cut at random, with every kind of line end, always with the same outcome. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/react/stream.h"
#include "base/net/sse.h"

#define RANDOM_CUTS 60

/* Events with "|" for each line end. */
#define EVENT(json) "data: " json "||"
#define DELTA(members) \
	EVENT("{\"choices\":[{\"index\":0,\"delta\":{" members "},\"finish_reason\":null}]}")
#define FINISH(reason) \
	EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}")
#define DONE          EVENT("[DONE]")
#define CALL(members) DELTA("\"tool_calls\":[{" members "}]")
#define FUNCTION(name, args) \
	"\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":\"" args "\"}"
#define MORE(args) "\"function\":{\"arguments\":\"" args "\"}"

static const struct {
	const char *what, *bytes, *outcome;
} forms[] = {
	{ "plain",
		DELTA("\"role\":\"assistant\",\"content\":\"\"") DELTA("\"content\":\"你\"")
			DELTA("\"content\":\"好\"") FINISH("stop") DONE,
		"text 你好" },
	{ "four-byte characters", DELTA("\"content\":\"\xf0\x9f\x98\x80\"") FINISH("stop"),
		"text \xf0\x9f\x98\x80" },
	{ "a pair in two halves",
		DELTA("\"content\":\"a\\ud83d\"") DELTA("\"content\":\"\\uDE42b\"") FINISH("stop"),
		"text a\xf0\x9f\x99\x82"
		"b" },
	{ "two of them, with keepalives between",
		DELTA("\"content\":\"\\uD83D\"") ": ping||" DELTA("\"content\":\"\"")
			DELTA("\"content\":\"\\ude42\\ud83d\"") DELTA("\"content\":\"\\ude00\"")
				FINISH("stop"),
		"text \xf0\x9f\x99\x82\xf0\x9f\x98\x80" },
	{ "a pair that is whole", DELTA("\"content\":\"\\ud83d\\ude42\"") FINISH("stop"),
		"text \xf0\x9f\x99\x82" },
	{ "no halves, though they look so",
		DELTA("\"content\":\"\\\\ud83d\"") DELTA("\"content\":\"\\\\ude42\\\"\\\\\"")
			FINISH("stop"),
		"text \\ud83d\\ude42\"\\" },
	{ "halves that stay alone",
		DELTA("\"content\":\"a\\ude42b\\ud83dc\"") DELTA("\"content\":\"\\ude00\"")
			FINISH("stop"),
		"text a\xef\xbf\xbd"
		"b\xef\xbf\xbd"
		"c\xef\xbf\xbd" },
	{ "arguments with a pair in two halves",
		CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", "{\\\"a\\\":\\\"\\ud83d"))
			CALL("\"index\":0," MORE("\\ude42\\\"}")) FINISH("tool_calls"),
		"calls x f {\"a\":\"\xf0\x9f\x99\x82\"};" },
	{ "no [DONE]", DELTA("\"content\":\"a\"") FINISH("stop"), "text a" },
	{ "no finish reason", DELTA("\"content\":\"a\"") DONE, "text a" },
	{ "neither", DELTA("\"content\":\"a\""), "broken a" },
	{ "no last line end", DELTA("\"content\":\"a\"") "data: [DONE]", "text a" },
	{ "comments and keepalives",
		": ping||:||" DELTA("\"content\":\"a\"") ": ping|" DELTA(
			"\"content\":\"b\"") ":|" DONE,
		"text ab" },
	{ "a comment inside an event",
		"data: {\"choices\":|: ping|data: [{\"delta\":{\"content\":\"a\"}}]}||" DONE,
		"text a" },
	{ "several data lines",
		"data: {\"choices\":[{|data: \"delta\":{|data:\"content\":\"a\"}}]}||" DONE,
		"text a" },
	{ "a byte order mark", "\xef\xbb\xbf" DELTA("\"content\":\"a\"") DONE, "text a" },
	{ "other fields", "id: 7|event: message|retry: 10|x|" DELTA("\"content\":\"a\"") DONE,
		"text a" },
	{ "usage with empty choices",
		DELTA("\"content\":\"a\"") FINISH("stop") EVENT(
			"{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,"
			"\"prompt_cache_hit_tokens\":4}}") DONE,
		"text a usage 9/2/4" },
	{ "usage beside the choice",
		EVENT("{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\",\"usage\":{"
		      "\"prompt_tokens\":9,\"completion_tokens\":2,\"cached_tokens\":3}}]}") DONE,
		"text a usage 9/2/3" },
	{ "reasoning",
		DELTA("\"reasoning_content\":\"r1 \"") DELTA("\"reasoning\":\"r2 \"")
			DELTA("\"thinking\":\"r3\"") DELTA("\"content\":\"a\"") FINISH("stop"),
		"text a thought r1 r2 r3" },
	{ "reasoning details",
		DELTA("\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"r\"}]")
			DELTA("\"content\":\"a\"") FINISH("stop"),
		"text a thought r" },
	{ "nothing at all", "", "empty" },
	{ "nothing but keepalives", ": ping||: ping||", "empty" },
	{ "nothing but an end", DONE, "empty" },

	{ "event: error", "event: error|data: {\"message\":\"boom\"}||", "fault boom" },
	{ "event: error, no JSON", "event: error|data: boom||", "fault boom" },
	{ "event: error after text",
		DELTA("\"content\":\"a\"") "event: error|data: {\"error\":\"boom\"}||",
		"fault boom after a" },
	{ "llama.cpp's error field", "error: {\"code\":500,\"message\":\"boom\"}||" DONE,
		"fault boom" },
	{ "an error of the choice",
		EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"error\":{\"message\":\"boom\"}}]}"),
		"fault boom" },
	{ "an error object", EVENT("{\"error\":{\"message\":\"boom\",\"code\":\"x\"}}"),
		"fault boom" },
	{ "an error text", EVENT("{\"error\":\"boom\"}"), "fault boom" },
	{ "error_type", EVENT("{\"error_type\":\"x\",\"error_message\":\"boom\"}"), "fault boom" },
	{ "a code that is not 0", EVENT("{\"code\":10013,\"message\":\"boom\"}"), "fault boom" },
	{ "a header that failed", EVENT("{\"header\":{\"code\":11,\"message\":\"boom\"}}"),
		"fault boom" },
	{ "a base_resp that failed",
		EVENT("{\"base_resp\":{\"status_code\":1004,\"status_msg\":\"boom\"}}"),
		"fault boom" },
	{ "an error after text",
		DELTA("\"content\":\"a\"") EVENT("{\"error\":{\"message\":\"boom\"}}"),
		"fault boom after a" },
	{ "no JSON", DELTA("\"content\":\"a\"") EVENT("nonsense"), "garbled after a" },
	{ "no UTF-8", "data: {\"a\":\"\xc3\x28\"}||", "garbled" },

	{ "a call by index",
		CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", "")) CALL("\"index\":0," MORE(
			"{\\\"a\\\"")) CALL("\"index\":0," MORE(":1}")) FINISH("tool_calls") DONE,
		"calls x f {\"a\":1};" },
	{ "two woven into each other",
		CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", "{"))
			CALL("\"index\":1,\"id\":\"y\"," FUNCTION("g", ""))
				CALL("\"index\":0," MORE("}")) CALL("\"index\":1," MORE("{}"))
					FINISH("tool_calls"),
		"calls x f {};y g {};" },
	{ "indexes that start at 1",
		CALL("\"index\":1,\"id\":\"x\"," FUNCTION("f", "{")) CALL("\"index\":1," MORE("}"))
			CALL("\"index\":2,\"id\":\"y\"," FUNCTION("g", "{}")) FINISH("tool_calls"),
		"calls x f {};y g {};" },
	{ "an index that changes under one id",
		CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", "{"))
			CALL("\"index\":3,\"id\":\"x\"," MORE("}")) FINISH("tool_calls"),
		"calls x f {};" },
	{ "all numbered 0",
		CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", "{}"))
			CALL("\"index\":0,\"id\":\"y\"," FUNCTION("g", "{}")) FINISH("tool_calls"),
		"calls x f {};y g {};" },
	{ "told apart by id alone",
		CALL("\"id\":\"x\"," FUNCTION("f", "{")) CALL("\"id\":\"y\"," FUNCTION("g", "{"))
			CALL("\"id\":\"x\"," MORE("}")) CALL("\"id\":\"y\"," MORE("}"))
				FINISH("tool_calls"),
		"calls x f {};y g {};" },
	{ "told apart by order alone",
		CALL(FUNCTION("f", "{")) CALL(MORE("}")) CALL(FUNCTION("g", "{}"))
			FINISH("tool_calls"),
		"calls made_1 f {};made_2 g {};" },
	{ "several in one event",
		DELTA("\"tool_calls\":[{" FUNCTION("f", "{}") "},{" FUNCTION("g", "{}") "}]")
			FINISH("tool_calls"),
		"calls made_1 f {};made_2 g {};" },
	{ "ids that are empty, null, numbers, and twice the same",
		CALL("\"index\":0,\"id\":\"\"," FUNCTION("f", "{}"))
			CALL("\"index\":1,\"id\":null," FUNCTION("f", "{}"))
				CALL("\"index\":2,\"id\":7," FUNCTION("f", "{}"))
					CALL("\"index\":3,\"id\":\"x\"," FUNCTION("f", "{}")) CALL(
						"\"index\":4,\"id\":\"x\"," FUNCTION("f", "{}"))
						FINISH("tool_calls"),
		"calls made_1 f {};made_2 f {};made_3 f {};x f {};made_5 f {};" },
	{ "an id given to two calls without arguments so far",
		CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", ""))
			CALL("\"index\":1,\"id\":\"x\"," FUNCTION("g", ""))
				CALL("\"index\":0," MORE("{}")) CALL("\"index\":1," MORE("{}"))
					FINISH("tool_calls"),
		"calls x f {};made_2 g {};" },
	{ "calls of an answer that failed",
		CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", "{}")) FINISH("error"),
		"broken x f {};" },
	{ "arguments that are no object",
		CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", "[]"))
			CALL("\"index\":1,\"id\":\"y\"," FUNCTION("g", "{\\\"a\\\":"))
				FINISH("tool_calls"),
		"calls x f bad;y g bad;" },
	{ "text before calls",
		DELTA("\"content\":\"let me see\"")
			CALL("\"index\":0,\"id\":\"x\"," FUNCTION("f", "{}")) FINISH("tool_calls"),
		"calls let me see x f {};" },
};

/* --- From bytes to an outcome ----------------------------------------------------------------- */

struct run {
	struct stream *stream;
	struct sse *sse;
	struct err why;
	bool refused;
};

static void on_piece(void *arg, struct view piece)
{
	(void)arg;
	assert_true(piece.n > 0);
}

static int on_event(void *arg, struct view type, struct view data)
{
	struct run *r = arg;

	int rc = stream_event(r->stream, type, data, &r->why);

	r->refused = rc < 0;
	return rc;
}

static void add_calls(const struct stream *s, struct str *out)
{
	for (size_t i = 0; i < stream_calls(s); i++) {
		struct stream_call c = stream_call(s, i);

		(void)str_addf(out, "%s %s %.*s;", c.id, c.name,
			VIEW_FMT(c.args_fault ? VIEW("bad") : c.args));
	}
}

static void describe(struct stream *s, int rc, struct str *out)
{
	static const char *const ends[] = { "text", "calls", "cut", "filtered", "empty", "broken" };
	struct view text = stream_text(s);
	struct stream_usage u = stream_usage(s);

	if (stream_fault(s) || rc < 0) {
		(void)str_addf(out, "%s%s%s%.*s", stream_fault(s) ? "fault " : "garbled",
			stream_fault(s) ? str_cstr(&stream_fault(s)->message) : "",
			text.n ? " after " : "", VIEW_FMT(text));
		return;
	}
	(void)str_adds(out, ends[stream_end(s, "made")]);
	if (text.n)
		(void)str_addf(out, " %.*s", VIEW_FMT(text));
	if (stream_calls(s))
		(void)str_addc(out, ' ');
	add_calls(s, out);
	if (stream_thought(s).n)
		(void)str_addf(out, " thought %.*s", VIEW_FMT(stream_thought(s)));
	if (u.known)
		(void)str_addf(out, " usage %llu/%llu/%llu", (unsigned long long)u.in,
			(unsigned long long)u.out, (unsigned long long)u.cached);
}

/* next(arg): how long the next piece is. */
static void outcome_of(struct view bytes, size_t (*next)(void *arg), void *arg, struct str *out)
{
	const struct stream_sink sink = { on_piece, on_piece, NULL };
	struct run r = { .stream = NULL };
	int rc = 0;

	assert_int_equal(0, stream_open(&r.stream, &sink, &r.why));
	assert_int_equal(0,
		sse_open(&r.sse, STREAM_EVENT_MAX, STREAM_TOTAL_MAX, on_event, &r, &r.why));
	while (bytes.n > 0 && rc == 0) {
		struct view piece = view_cut(bytes, next(arg));

		rc = sse_feed(r.sse, piece, &r.why);
		bytes = view_from(bytes, piece.n);
	}
	if (rc == 0)
		rc = sse_end(r.sse, &r.why);
	str_reset(out);
	describe(r.stream, r.refused ? -1 : rc, out);
	sse_close(&r.sse);
	stream_close(&r.stream);
}

/* --- Pieces ----------------------------------------------------------------------------------- */

static size_t all_of_it(void *arg)
{
	(void)arg;
	return SIZE_MAX;
}

static size_t one_byte(void *arg)
{
	(void)arg;
	return 1;
}

/* xorshift: the same cuts in every run. Mostly short pieces, now and then a long one. */
static size_t at_random(void *arg)
{
	uint64_t *x = arg;

	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x % 4 ? 1 + *x / 8 % 6 : 1 + *x / 8 % 90;
}

static void with_line_ends(const char *bytes, int how, struct str *out)
{
	static const char *const ends[] = { "\n", "\r", "\r\n" }; /* in turn: no CR before an LF */
	int n = 0;

	for (; *bytes; bytes++) {
		if (*bytes != '|')
			(void)str_addc(out, *bytes);
		else
			(void)str_adds(out, ends[how < 3 ? how : n++ % 3]);
	}
	assert_true(str_ok(out));
}

static void same(size_t i, struct view bytes, size_t (*next)(void *arg), void *arg)
{
	struct str out = STR_INIT(64 << 10);

	outcome_of(bytes, next, arg, &out);
	if (strcmp(forms[i].outcome, str_cstr(&out)) != 0)
		fail_msg("%s: \"%s\" instead of \"%s\"", forms[i].what, str_cstr(&out),
			forms[i].outcome);
	str_release(&out);
}

static void each_form_has_one_outcome_however_it_is_cut(void **state)
{
	uint64_t seed = 88172645463325252U;

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		for (int how = 0; how < 4; how++) { /* LF, CR, CRLF, and all three in turn */
			struct str bytes = STR_INIT(64 << 10);

			with_line_ends(forms[i].bytes, how, &bytes);
			same(i, str_view(&bytes), all_of_it, NULL);
			same(i, str_view(&bytes), one_byte, NULL);
			for (int k = 0; k < RANDOM_CUTS; k++)
				same(i, str_view(&bytes), at_random, &seed);
			str_release(&bytes);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_has_one_outcome_however_it_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
