/* The chunk assembler: what providers send, and what is made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/react/stream.h"
#include "base/json.h"

struct seen {
	struct str text, thought;
};

static void on_text(void *arg, struct view piece)
{
	struct seen *s = arg;

	assert_true(piece.n > 0);
	assert_int_equal(0, str_add(&s->text, piece));
}

static void on_thought(void *arg, struct view piece)
{
	struct seen *s = arg;

	assert_int_equal(0, str_add(&s->thought, piece));
}

static struct seen seen;
static struct stream *stream;
static struct err why;

static int setup(void **state)
{
	const struct str empty = STR_INIT(STREAM_TOTAL_MAX);
	const struct stream_sink sink = { on_text, on_thought, &seen };

	(void)state;
	seen.text = seen.thought = empty;
	err_clear(&why);
	return stream_open(&stream, &sink, &why);
}

static int teardown(void **state)
{
	(void)state;
	stream_close(&stream);
	stream_close(&stream);
	str_release(&seen.text);
	str_release(&seen.thought);
	return 0;
}

static int feed(const char *data)
{
	return stream_event(stream, VIEW_NONE, view_of(data), &why);
}

static void feed_all(const char *const *events)
{
	for (; *events; events++)
		assert_int_equal(0, feed(*events));
}

/* One delta with these members. */
static int delta(const char *members)
{
	struct str s = STR_INIT(STREAM_TOTAL_MAX);
	int rc;

	assert_int_equal(0,
		str_addf(&s, "{\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":null}]}",
			members));
	rc = feed(str_cstr(&s));
	str_release(&s);
	return rc;
}

static void finish(const char *reason)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
		"{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"%s\"}]}", reason);
	assert_int_equal(0, feed(text));
}

static enum stream_answer end(void)
{
	return stream_end(stream, "made");
}

static void call_is(size_t i, const char *id, const char *name, const char *args)
{
	struct stream_call c = stream_call(stream, i);

	assert_string_equal(id, c.id);
	assert_string_equal(name, c.name);
	if (args) {
		assert_null(c.args_fault);
		assert_int_equal(strlen(args), c.args.n);
		assert_memory_equal(args, c.args.p, c.args.n);
	} else {
		assert_non_null(c.args_fault);
		assert_true(view_eqs(c.args, "{}"));
	}
}

/* --- Text ------------------------------------------------------------------------------------- */

static void puts_text_together(void **state)
{
	(void)state;
	assert_int_equal(0, delta("\"role\":\"assistant\",\"content\":\"\""));
	assert_false(stream_shown(stream));
	assert_int_equal(0, delta("\"content\":\"你\""));
	assert_true(stream_shown(stream));
	assert_int_equal(0, delta("\"content\":null"));
	assert_int_equal(0, delta("\"content\":\"好\""));
	finish("stop");
	assert_int_equal(1, feed("[DONE]"));
	assert_int_equal(1, feed("{\"choices\":[{\"delta\":{\"content\":\"late\"}}]}"));
	assert_int_equal(STREAM_TEXT, end());
	assert_true(view_eqs(stream_text(stream), "你好"));
	assert_string_equal("你好", str_cstr(&seen.text));
}

static void endings(void **state)
{
	static const struct {
		const char *text, *finish;
		bool done;
		enum stream_answer answer;
	} cases[] = {
		{ "hi", "stop", true, STREAM_TEXT },
		{ "hi", "stop", false, STREAM_TEXT }, /* no [DONE] is fine */
		{ "hi", NULL, true, STREAM_TEXT },    /* [DONE] alone is fine */
		{ "hi", NULL, false, STREAM_BROKEN },
		{ "hi", "length", true, STREAM_CUT },
		{ "hi", "content_filter", true, STREAM_FILTERED },
		{ "hi", "sensitive", true, STREAM_FILTERED },
		{ NULL, "content_filter", true, STREAM_FILTERED },
		{ "hi", "error", true, STREAM_BROKEN },
		{ "hi", "network_error", true, STREAM_BROKEN },
		{ "hi", "insufficient_system_resource", true, STREAM_BROKEN },
		{ NULL, "insufficient_system_resource", false, STREAM_BROKEN },
		{ "hi", "model_context_window_exceeded", true, STREAM_CUT },
		{ "hi", "a finish reason that is longer than any one has ever been", true,
			STREAM_TEXT },
		{ NULL, "stop", true, STREAM_EMPTY },
		{ NULL, "tool_calls", true, STREAM_EMPTY },
		{ " \\n ", "stop", true, STREAM_EMPTY },
		{ NULL, NULL, true, STREAM_EMPTY },
		{ NULL, NULL, false, STREAM_EMPTY },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[100];

		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		if (cases[i].text) {
			(void)snprintf(text, sizeof(text), "\"content\":\"%s\"", cases[i].text);
			assert_int_equal(0, delta(text));
		}
		if (cases[i].finish)
			finish(cases[i].finish);
		if (cases[i].done)
			assert_int_equal(1, feed(" [DONE] "));
		assert_int_equal(cases[i].answer, end());
	}
}

static void thoughts_in_their_forms_are_not_text(void **state)
{
	(void)state;
	assert_int_equal(0, delta("\"reasoning_content\":\"a\",\"content\":\"\""));
	assert_int_equal(0, delta("\"reasoning\":\"b\""));
	assert_int_equal(0,
		delta("\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"c\"}]"));
	/* two at once say the same */
	assert_int_equal(0, delta("\"reasoning\":\"d\",\"reasoning_details\":[{\"text\":\"d\"}]"));
	assert_int_equal(0,
		delta("\"reasoning_content\":null,\"reasoning\":null,\"content\":\"X\""));
	finish("stop");
	assert_int_equal(STREAM_TEXT, end());
	assert_string_equal("abcd", str_cstr(&seen.thought));
	assert_string_equal("X", str_cstr(&seen.text));
	assert_true(view_eqs(stream_thought(stream), "abcd"));
}

static void thoughts_alone_are_no_answer(void **state)
{
	(void)state;
	assert_int_equal(0, delta("\"reasoning_content\":\"hm\""));
	finish("stop");
	assert_int_equal(STREAM_EMPTY, end());
	assert_false(stream_shown(stream));
}

static void content_may_be_a_list_of_parts(void **state)
{
	(void)state;
	assert_int_equal(0,
		delta("\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\"},"
		      "{\"type\":\"text\",\"text\":\"b\"}]"));
	finish("stop");
	assert_int_equal(STREAM_TEXT, end());
	assert_string_equal("ab", str_cstr(&seen.text));
}

static void only_the_first_choice_counts(void **state)
{
	(void)state;
	assert_int_equal(0, feed("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},"
				 "{\"index\":0,\"delta\":{\"content\":\"yes\"}}]}"));
	finish("stop");
	assert_int_equal(STREAM_TEXT, end());
	assert_string_equal("yes", str_cstr(&seen.text));
}

static void takes_an_answer_that_is_not_streamed(void **state)
{
	(void)state;
	assert_int_equal(0,
		stream_whole(stream,
			VIEW("{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"hi\","
			     "\"reasoning_content\":\"t\",\"tool_calls\":[{\"id\":\"x\",\"function\":"
			     "{\"name\":\"glob\",\"arguments\":\"{}\"}}]},\"finish_reason\":"
			     "\"tool_calls\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}"),
			&why));
	assert_int_equal(STREAM_CALLS, end());
	assert_string_equal("hi", str_cstr(&seen.text));
	call_is(0, "x", "glob", "{}");
	assert_int_equal(3, stream_usage(stream).in);
}

static void a_message_after_deltas_is_not_taken_twice(void **state)
{
	(void)state;
	assert_int_equal(0, delta("\"content\":\"hi\""));
	assert_int_equal(0, feed("{\"choices\":[{\"message\":{\"content\":\"hi\"},"
				 "\"finish_reason\":\"stop\"}]}"));
	assert_int_equal(STREAM_TEXT, end());
	assert_string_equal("hi", str_cstr(&seen.text));
}

static void a_nul_in_text_is_repaired(void **state)
{
	(void)state;
	assert_int_equal(0, delta("\"content\":\"a\\u0000b\""));
	assert_string_equal("a\xef\xbf\xbd"
			    "b",
		str_cstr(&seen.text));
}

static void ignores_what_it_does_not_know(void **state)
{
	static const char *const events[] = {
		"",
		"   ",
		"{}",
		"{\"choices\":[]}",
		"{\"choices\":null}",
		"{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"service_tier\":\"default\"}",
		"{\"error\":null,\"choices\":[]}",
		"{\"error\":{},\"choices\":[]}",
		"{\"error\":\"\",\"choices\":[]}",
		"{\"error\":false,\"choices\":[]}",
		"{\"error\":0,\"choices\":[]}",
		"{\"error\":[],\"errors\":[],\"success\":true,\"choices\":[]}",
		"{\"choices\":[{\"delta\":{},\"error\":null}]}",
		"{\"code\":0,\"message\":\"Success\",\"choices\":[{\"delta\":{}}]}",
		"{\"code\":0,\"message\":\"ok\"}",
		"{\"message\":{\"role\":\"assistant\",\"content\":\"\"}}",
		"{\"base_resp\":{\"status_code\":0,\"status_msg\":\"\"},\"choices\":[]}",
		"{\"choices\":[{\"delta\":null}]}",
		"{\"choices\":[{\"delta\":\"x\"}]}",
		"{\"choices\":[{\"delta\":{\"tool_calls\":null}}]}",
		"{\"choices\":[{\"delta\":{\"tool_calls\":[]}}]}",
		"{\"choices\":[{\"delta\":{\"content\":7}}]}",
		NULL,
	};

	(void)state;
	feed_all(events);
	assert_null(stream_fault(stream));
	assert_int_equal(1, stream_event(stream, VIEW("message"), VIEW("[DONE]"), &why));
	assert_int_equal(STREAM_EMPTY, end());
}

static void refuses_what_is_no_event(void **state)
{
	static const char *const events[] = { "{", "[]", "7", "\"text\"", "{\"a\":1,\"a\":2}",
		"{\"n\":NaN}", "{\"n\":1e999}", "{\"choices\":[7]}",
		"{\"choices\":[{\"delta\":{\"tool_calls\":[7]}}]}", "data", NULL };

	for (size_t i = 0; events[i]; i++) {
		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		assert_int_equal(-1, feed(events[i]));
		assert_null(stream_fault(stream));
		assert_int_equal(E_FORMAT, why.code);
	}
}

static void depth_at_and_over_the_limit(void **state)
{
	for (int depth = 32; depth <= 33; depth++) {
		struct str s = STR_INIT(1000);

		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		(void)str_adds(&s, "{\"x\":");
		for (int i = 1; i < depth; i++)
			(void)str_addc(&s, '[');
		for (int i = 1; i < depth; i++)
			(void)str_addc(&s, ']');
		(void)str_addc(&s, '}');
		assert_int_equal(depth == 32 ? 0 : -1, feed(str_cstr(&s)));
		str_release(&s);
	}
}

/* The object, the list and what is in it. */
static void nodes_at_and_over_the_limit(void **state)
{
	for (int nodes = 200000; nodes <= 200001; nodes++) {
		struct str s = STR_INIT(STREAM_EVENT_MAX);

		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		(void)str_adds(&s, "{\"x\":[0");
		for (int i = 3; i < nodes; i++)
			(void)str_adds(&s, ",0");
		(void)str_adds(&s, "]}");
		assert_int_equal(nodes == 200000 ? 0 : -1, feed(str_cstr(&s)));
		str_release(&s);
	}
}

/* --- Usage ------------------------------------------------------------------------------------ */

static void usage_in_its_forms(void **state)
{
	static const struct {
		const char *event;
		uint64_t in, out, cached;
	} cases[] = {
		{ "{\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}", 10,
			5, 0 },
		{ "{\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}", 10, 5, 0 },
		{ "{\"choices\":[{\"delta\":{},\"usage\":{\"prompt_tokens\":7,"
		  "\"completion_tokens\":2,\"cached_tokens\":3}}]}",
			7, 2, 3 },
		{ "{\"usage\":{\"prompt_tokens\":7,\"prompt_cache_hit_tokens\":6}}", 7, 0, 6 },
		{ "{\"usage\":{\"prompt_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":5}}}",
			7, 0, 5 },
		{ "{\"usage\":{\"input_tokens\":7,\"input_tokens_details\":{\"cached_tokens\":5}}}",
			7, 0, 5 },
		{ "{\"usage\":{\"prompt_tokens\":7,\"cache_read_input_tokens\":5}}", 7, 0, 5 },
		{ "{\"usage\":{\"prompt_tokens\":-10,\"completion_tokens\":-1}}", 0, 0, 0 },
		{ "{\"usage\":{\"prompt_tokens\":100000000,\"completion_tokens\":100000001}}",
			100000000, 0, 0 },
		{ "{\"usage\":{\"prompt_tokens\":18446744073709551615}}", 0, 0, 0 },
		{ "{\"usage\":{\"prompt_tokens\":1.5,\"completion_tokens\":\"9\"}}", 0, 0, 0 },
		{ "{\"usage\":null}", 0, 0, 0 },
		{ "{\"usage\":[1]}", 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stream_usage u;

		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		assert_int_equal(0, feed(cases[i].event));
		u = stream_usage(stream);
		assert_int_equal(cases[i].in, u.in);
		assert_int_equal(cases[i].out, u.out);
		assert_int_equal(cases[i].cached, u.cached);
		assert_int_equal(u.known, cases[i].in + cases[i].out > 0);
	}
}

static void usage_cannot_go_down(void **state)
{
	(void)state;
	assert_int_equal(0, feed("{\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}"));
	assert_int_equal(0, feed("{\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":8}}"));
	assert_int_equal(10, stream_usage(stream).in);
	assert_int_equal(8, stream_usage(stream).out);
}

/* --- Errors inside the stream ----------------------------------------------------------------- */

static void errors_in_all_their_forms(void **state)
{
	static const struct {
		const char *type, *data;
		const char *words;
		int status;
		enum engine_fail kind;
		bool transient;
	} cases[] = {
		{ "", "{\"error\":{\"message\":\"no\",\"type\":\"server_error\",\"code\":null}}",
			"no", 0, ENGINE_FAIL_PROVIDER, true },
		{ "", "{\"error\":\"just text\"}", "just text", 0, ENGINE_FAIL_PROVIDER, false },
		{ "", "{\"error\":{\"message\":\"slow down\",\"code\":429}}", "slow down", 429,
			ENGINE_FAIL_QUOTA, true },
		{ "", "{\"error\":{\"message\":\"slow down\",\"code\":\"429\"}}", "slow down", 429,
			ENGINE_FAIL_QUOTA, true },
		{ "", "{\"error\":{\"message\":\"m\",\"code\":\"rate_limit_exceeded\"}}", "m", 0,
			ENGINE_FAIL_QUOTA, true },
		{ "", "{\"error_type\":\"overloaded\",\"error_message\":\"busy\"}", "busy", 0,
			ENGINE_FAIL_PROVIDER, true },
		{ "", "{\"object\":\"error\",\"message\":\"bad\",\"code\":400}", "bad", 400,
			ENGINE_FAIL_REFUSED, false },
		{ "", "{\"code\":10013,\"message\":\"input audit\",\"sid\":\"x\"}", "input audit",
			0, ENGINE_FAIL_PROVIDER, false },
		{ "", "{\"base_resp\":{\"status_code\":1004,\"status_msg\":\"login fail\"},\"choices\":null}",
			"login fail", 0, ENGINE_FAIL_PROVIDER, false },
		{ "", "{\"header\":{\"code\":10907,\"message\":\"token total\"}}", "token total", 0,
			ENGINE_FAIL_PROVIDER, false },
		{ "",
			"{\"error\":{\"message\":\"x\"},\"choices\":[{\"delta\":{\"content\":\"\"},"
			"\"finish_reason\":\"error\"}]}",
			"x", 0, ENGINE_FAIL_PROVIDER, false },
		{ "", "{\"choices\":[{\"error\":{\"message\":\"x\",\"code\":502},\"finish_reason\":\"error\"}]}",
			"x", 502, ENGINE_FAIL_PROVIDER, true },
		{ "", "{\"error\":true,\"message\":\"x\"}", "x", 0, ENGINE_FAIL_PROVIDER, false },
		{ "", "{\"error\":503,\"message\":\"x\"}", "x", 503, ENGINE_FAIL_PROVIDER, true },
		{ "", "{\"error\":[{\"message\":\"x\"}]}", "x", 0, ENGINE_FAIL_PROVIDER, false },
		{ "", "[{\"error\":{\"message\":\"x\",\"code\":400}}]", "x", 400,
			ENGINE_FAIL_REFUSED, false },
		{ "", "{\"errors\":[{\"message\":\"x\",\"code\":7}],\"success\":false,\"result\":null}",
			"x", 0, ENGINE_FAIL_PROVIDER, false },
		{ "", "{\"message\":\"x\"}", "x", 0, ENGINE_FAIL_PROVIDER, false },
		{ "", "{\"detail\":\"x\"}", "x", 0, ENGINE_FAIL_PROVIDER, false },
		{ "", "{\"success\":false,\"message\":\"x\"}", "x", 0, ENGINE_FAIL_PROVIDER,
			false },
		{ "error", "{\"message\":\"boom\"}", "boom", 0, ENGINE_FAIL_PROVIDER, false },
		{ "error", "{\"detail\":\"boom\",\"status\":503}", "boom", 503,
			ENGINE_FAIL_PROVIDER, true },
		{ "error", "not json at all", "not json at all", 0, ENGINE_FAIL_PROVIDER, false },
		{ "error", "", "", 0, ENGINE_FAIL_PROVIDER, false },
		{ "error", "[]", "", 0, ENGINE_FAIL_PROVIDER, false },
		{ "",
			"{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens\","
			"\"code\":\"context_length_exceeded\"}}",
			"This model's maximum context length is 8192 tokens", 0,
			ENGINE_FAIL_TOO_LONG, false },
		{ "", "{\"error\":{\"message\":\"balance\",\"type\":\"insufficient_quota\",\"code\":429}}",
			"balance", 429, ENGINE_FAIL_QUOTA, false },
		{ "", "{\"error\":{\"message\":\"key\",\"type\":\"invalid_api_key\"}}", "key", 0,
			ENGINE_FAIL_AUTH, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int after_text = 0; after_text < 2; after_text++) {
			const struct fault *f;

			assert_int_equal(0, teardown(state));
			assert_int_equal(0, setup(state));
			if (after_text)
				assert_int_equal(0, delta("\"content\":\"so far\""));
			assert_int_equal(-1, stream_event(stream, view_of(cases[i].type),
						     view_of(cases[i].data), &why));
			f = stream_fault(stream);
			assert_non_null(f);
			assert_string_equal(cases[i].words, str_cstr(&f->message));
			assert_int_equal(cases[i].status, f->status);
			assert_int_equal(cases[i].kind, fault_kind(f));
			assert_int_equal(cases[i].transient, fault_transient(f));
			assert_int_equal(after_text, stream_shown(stream));
		}
	}
}

static void statuses_of_http(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum engine_fail kind;
		bool transient;
	} cases[] = {
		{ 400, "{\"error\":{\"message\":\"bad\"}}", ENGINE_FAIL_REFUSED, false },
		{ 400, "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}",
			ENGINE_FAIL_TOO_LONG, false },
		{ 400, "[{\"error\":{\"message\":\"in a list\"}}]", ENGINE_FAIL_REFUSED, false },
		{ 401, "", ENGINE_FAIL_AUTH, false },
		{ 402, "{\"error\":\"pay\"}", ENGINE_FAIL_QUOTA, false },
		{ 403, "{\"detail\":\"no\"}", ENGINE_FAIL_AUTH, false },
		{ 404, "<html>", ENGINE_FAIL_NO_MODEL, false },
		{ 408, "", ENGINE_FAIL_REFUSED, true },
		{ 413, "", ENGINE_FAIL_TOO_LONG, false },
		{ 422, "{\"detail\":[{\"msg\":\"x\"}]}", ENGINE_FAIL_REFUSED, false },
		{ 429, "", ENGINE_FAIL_QUOTA, true },
		{ 429, "{\"error\":{\"type\":\"exceeded_current_quota_error\"}}", ENGINE_FAIL_QUOTA,
			false },
		{ 429, "{\"error\":{\"code\":\"1113\",\"message\":\"您的账户已欠费，请充值后重试。\"}}",
			ENGINE_FAIL_QUOTA, false },
		{ 403, "{\"code\":30001,\"message\":\"Sorry, your account balance is insufficient\"}",
			ENGINE_FAIL_QUOTA, false },
		{ 400, "{\"error\":{\"code\":\"1261\",\"message\":\"Prompt 超长\"}}",
			ENGINE_FAIL_TOO_LONG, false },
		{ 500, "oops", ENGINE_FAIL_PROVIDER, true },
		{ 503, "", ENGINE_FAIL_PROVIDER, true },
		{ 599, "", ENGINE_FAIL_PROVIDER, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault f = FAULT_INIT;

		fault_in_body(&f, cases[i].status, view_of(cases[i].body));
		assert_true(f.found);
		assert_int_equal(cases[i].status, f.status);
		assert_int_equal(cases[i].kind, fault_kind(&f));
		assert_int_equal(cases[i].transient, fault_transient(&f));
		fault_release(&f);
	}
}

/* A message that makes the body one of n bytes. */
static void error_body(struct str *out, size_t n)
{
	static const char head[] = "{\"error\":{\"message\":\"\\u4f60\\u597d", tail[] = "\"}}";

	str_reset(out);
	(void)str_adds(out, head);
	while (out->n + strlen(tail) < n)
		(void)str_addc(out, 'x');
	(void)str_adds(out, tail);
	assert_int_equal(n, out->n);
}

static void ten_thousand_bytes_of_an_error_are_looked_at(void **state)
{
	struct str body = STR_INIT(20000);

	(void)state;
	/* Of the longest one the end of the text is lost, too. */
	for (size_t over = 0; over < 6; over++) {
		struct fault f = FAULT_INIT;
		size_t n = FAULT_EVIDENCE_MAX - 1 + over;

		error_body(&body, n);
		fault_in_body(&f, 400, str_view(&body));
		assert_true(view_starts(str_view(&f.message), VIEW("你好xxx")));
		assert_int_equal(over < 5 ? n - 30 : n - 31, f.message.n);
		fault_release(&f);
	}
	str_release(&body);
}

/* However it breaks off, what is told is the message and never the JSON around it. */
static void a_body_that_breaks_off_tells_its_message(void **state)
{
	static const char whole[] =
		"{\"error\": {\"code\": \"context_length_exceeded\", \"message\" : \"a\\"
		"\"\\u4f60\\\\z\", \"input\":";
	static const char told[] = "a\"你\\z";
	size_t longest = 0;

	(void)state;
	for (size_t n = 1; n < sizeof(whole); n++) {
		struct fault f = FAULT_INIT;

		fault_in_body(&f, 400, (struct view){ whole, n });
		assert_int_equal(0, strncmp(told, str_cstr(&f.message), f.message.n));
		assert_true(f.message.n >= longest);
		longest = f.message.n;
		if (longest > 0)
			assert_int_equal(ENGINE_FAIL_TOO_LONG, fault_kind(&f));
		fault_release(&f);
	}
	assert_int_equal(strlen(told), longest);
}

static void a_body_may_be_framed_as_an_event(void **state)
{
	static const char *const bodies[] = {
		"data: {\"error\":{\"message\":\"boom\"}}\n\n",
		"event: error\ndata: {\"message\":\"boom\"}\n\ndata: [DONE]\n\n",
		"event:error\r\ndata:boom\r\n\r\n",
		"{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"boom\"}]}",
		"[{\"error\":{\"message\":\"boom\"}}]",
		"boom",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct fault f = FAULT_INIT;

		fault_in_body(&f, 400, view_of(bodies[i]));
		assert_string_equal("boom", str_cstr(&f.message));
		fault_release(&f);
	}
}

static void details_are_one_safe_short_line(void **state)
{
	struct str big = STR_INIT(30000), out = STR_INIT(4096);
	struct fault f = FAULT_INIT;

	(void)state;
	fault_in_body(&f, 401,
		VIEW("{\"error\":{\"message\":\"key \\u001b[31mmy-own-key-42\\u001b[0m\\nis "
		     "wrong\"}}"));
	fault_detail(&f, "my-own-key-42", &out);
	assert_string_equal("key [redacted] is wrong (401)", str_cstr(&out));
	fault_release(&f);

	str_reset(&out);
	fault_in_body(&f, 500, VIEW_NONE);
	fault_detail(&f, NULL, &out);
	assert_string_equal("HTTP status 500", str_cstr(&out));
	fault_release(&f);

	/* The secret lies across the place where the text is cut. */
	str_reset(&out);
	for (int i = 0; i < 293; i++)
		(void)str_addc(&big, 'x');
	(void)str_adds(&big, " my-own-key-42 ");
	for (int i = 0; i < 9000; i++)
		(void)str_adds(&big, "字");
	safe_detail(str_view(&big), "my-own-key-42", &out);
	assert_true(out.n <= FAULT_DETAIL_MAX);
	assert_null(strstr(str_cstr(&out), "my-own"));
	str_release(&out);
	str_release(&big);
}

/* --- Tool calls ------------------------------------------------------------------------------- */

static void calls_by_index(void **state)
{
	(void)state;
	assert_int_equal(0, delta("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\","
				  "\"function\":{\"name\":\"read_file\",\"arguments\":\"\"}}]"));
	assert_int_equal(0, delta("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
				  "\"{\\\"path\\\":\"}}]"));
	assert_int_equal(0,
		delta("\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":"
		      "\"glob\",\"arguments\":\"{\"}}]"));
	assert_int_equal(0,
		delta("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
		      "\"\\\"x\\\"}\"}},{\"index\":1,\"function\":{\"arguments\":\"}\"}}]"));
	finish("tool_calls");
	assert_int_equal(STREAM_CALLS, end());
	assert_int_equal(2, stream_calls(stream));
	call_is(0, "a", "read_file", "{\"path\":\"x\"}");
	call_is(1, "b", "glob", "{}");
}

static void calls_by_whatever_tells_them_apart(void **state)
{
	static const struct {
		const char *what;
		const char *deltas[5];
		const char *ids[3], *names[3], *args[3];
	} cases[] = {
		{ "no index, ids",
			{ "{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":\"}}",
				"{\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\"}}",
				"{\"id\":\"a\",\"function\":{\"arguments\":\"1}\"}}",
				"{\"id\":\"b\",\"function\":{\"arguments\":\"}\"}}" },
			{ "a", "b" }, { "f", "g" }, { "{\"x\":1}", "{}" } },
		{ "no index, no id, whole calls one after the other",
			{ "{\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}",
				"{\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":2}\"}}" },
			{ "made_1", "made_2" }, { "f", "f" }, { "{\"x\":1}", "{\"x\":2}" } },
		{ "no index, no id, pieces of one",
			{ "{\"function\":{\"name\":\"f\"}}", "{\"function\":{\"arguments\":\"{\"}}",
				"{\"function\":{\"arguments\":\"}\"}}" },
			{ "made_1" }, { "f" }, { "{}" } },
		{ "no index, several in one delta",
			{ "{\"function\":{\"name\":\"f\",\"arguments\":\"{\"}},"
			  "{\"function\":{\"name\":\"g\",\"arguments\":\"{\"}}",
				"{\"function\":{\"arguments\":\"}\"}},{\"function\":{\"arguments\":\"}\"}}" },
			{ "made_1", "made_2" }, { "f", "g" }, { "{}", "{}" } },
		{ "index from 1",
			{ "{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
				"{\"index\":1,\"function\":{\"arguments\":\"}\"}}",
				"{\"index\":2,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}" },
			{ "a", "b" }, { "f", "g" }, { "{}", "{}" } },
		{ "index always 0, other ids",
			{ "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}",
				"{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}" },
			{ "a", "b" }, { "f", "f" }, { "{}", "{}" } },
		{ "index always 0, no ids",
			{ "{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}",
				"{\"index\":0,\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"x\\\":2}\"}}" },
			{ "made_1", "made_2" }, { "f", "g" }, { "{\"x\":1}", "{\"x\":2}" } },
		{ "index changes under the same id",
			{ "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
				"{\"index\":3,\"id\":\"a\",\"function\":{\"arguments\":\"}\"}}" },
			{ "a" }, { "f" }, { "{}" } },
		{ "index changes, nothing else said",
			{ "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
				"{\"index\":1,\"function\":{\"arguments\":\"}\"}}" },
			{ "a" }, { "f" }, { "{}" } },
		{ "index that is no number",
			{ "{\"index\":\"0\",\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
				"{\"index\":null,\"id\":\"\",\"function\":{\"arguments\":\"}\"}}" },
			{ "a" }, { "f" }, { "{}" } },
		{ "id and name again and again",
			{ "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
				"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"\\\"x\\\":1\"}}",
				"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"}\"}}" },
			{ "a" }, { "f" }, { "{\"x\":1}" } },
		{ "the id once, the name again and again, an empty piece behind the end",
			{ "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
				"{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"}\"}}",
				"{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"\"}}",
				"{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}" },
			{ "a", "b" }, { "f", "f" }, { "{}", "{}" } },
		{ "id and name again and again, white space behind the end",
			{ "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}",
				"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"\\n\"}}" },
			{ "a" }, { "f" }, { "{}" } },
		{ "another id with every piece",
			{ "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
				"{\"index\":0,\"id\":\"b\",\"function\":{\"arguments\":\"\\\"x\\\":1\"}}",
				"{\"index\":0,\"id\":\"c\",\"function\":{\"arguments\":\"}\"}}" },
			{ "a" }, { "f" }, { "{\"x\":1}" } },
		{ "the name in pieces, the id late",
			{ "{\"index\":0,\"function\":{\"name\":\"read_\"}}",
				"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"file\",\"arguments\":\"\"}}",
				"{\"index\":0,\"function\":{\"arguments\":\"{}\"}}" },
			{ "a" }, { "read_file" }, { "{}" } },
		{ "arguments as an object",
			{ "{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":{\"x\":[1,\"}\"]}}}" },
			{ "a" }, { "f" }, { "{\"x\":[1,\"}\"]}" } },
		{ "braces and quotes inside strings do not end arguments",
			{ "{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":\\\"}\\\\\\\"}\"}}",
				"{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"\\\"}\"}}" },
			{ "made_1" }, { "f" }, { "{\"x\":\"}\\\"}\"}" } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = 0;

		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		for (size_t k = 0; cases[i].deltas[k]; k++) {
			char text[1000];

			(void)snprintf(text, sizeof(text), "\"tool_calls\":[%s]",
				cases[i].deltas[k]);
			assert_int_equal(0, delta(text));
		}
		finish("tool_calls");
		assert_int_equal(STREAM_CALLS, end());
		for (; n < 3 && cases[i].names[n]; n++)
			;
		if (n != stream_calls(stream))
			fail_msg("%s: %zu calls", cases[i].what, stream_calls(stream));
		for (size_t k = 0; k < n; k++)
			call_is(k, cases[i].ids[k], cases[i].names[k], cases[i].args[k]);
	}
}

static void ids_are_made_up_where_needed(void **state)
{
	(void)state;
	assert_int_equal(0,
		delta("\"tool_calls\":[{\"id\":null,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
		      "{\"id\":\"\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
		      "{\"id\":7,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
		      "{\"id\":\"made_5\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
		      "{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
		      "{\"id\":\"with space\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
		      "{\"id\":\"functions.f:0\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]"));
	finish("tool_calls");
	assert_int_equal(STREAM_CALLS, end());
	assert_int_equal(7, stream_calls(stream));
	call_is(0, "made_1", "f", "{}");
	call_is(1, "made_2", "f", "{}");
	call_is(2, "made_3", "f", "{}");
	call_is(3, "made_5", "f", "{}");
	call_is(4, "made_105", "f", "{}");
	call_is(5, "made_6", "f", "{}");
	call_is(6, "functions.f:0", "f", "{}");
}

static void an_id_that_comes_twice_for_two_whole_calls_stays_one_each(void **state)
{
	(void)state;
	/* One answer, two calls, the same id: told apart by index and closed arguments. */
	assert_int_equal(0,
		delta("\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\","
		      "\"arguments\":\"{\\\"a\\\":1}\"}},{\"index\":1,\"id\":\"x\",\"function\":"
		      "{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":2}\"}}]"));
	finish("tool_calls");
	assert_int_equal(STREAM_CALLS, end());
	assert_int_equal(2, stream_calls(stream));
	call_is(0, "x", "f", "{\"a\":1}");
	call_is(1, "made_2", "f", "{\"a\":2}");
}

static void an_id_that_comes_twice_with_empty_arguments_stays_one_each(void **state)
{
	(void)state;
	assert_int_equal(0,
		delta("\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":"
		      "\"f\",\"arguments\":\"\"}}]"));
	assert_int_equal(0,
		delta("\"tool_calls\":[{\"index\":1,\"id\":\"x\",\"function\":{\"name\":"
		      "\"g\",\"arguments\":\"\"}}]"));
	assert_int_equal(0,
		delta("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}},"
		      "{\"index\":1,\"function\":{\"arguments\":\"{}\"}}]"));
	finish("tool_calls");
	assert_int_equal(STREAM_CALLS, end());
	assert_int_equal(2, stream_calls(stream));
	call_is(0, "x", "f", "{}");
	call_is(1, "made_2", "g", "{}");
}

/* Where the provider failed midway, what has come of the calls is not all of them. */
static void calls_of_an_answer_that_failed_are_not_made(void **state)
{
	static const char *const reasons[] = { "error", "network_error",
		"insufficient_system_resource" };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		assert_int_equal(0,
			delta("\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
			      "\"arguments\":\"{}\"}}]"));
		finish(reasons[i]);
		assert_int_equal(STREAM_BROKEN, end());
	}
}

static void names_are_made_fit(void **state)
{
	char long_name[400];
	struct str s = STR_INIT(1000);

	(void)state;
	memset(long_name, 'n', 100);
	long_name[100] = '\0';
	(void)str_addf(&s,
		"\"tool_calls\":[{\"function\":{\"arguments\":\"{}\"}},"
		"{\"function\":{\"name\":\"a b/c.d\",\"arguments\":\"{}\"}},"
		"{\"function\":{\"name\":\"%s\",\"arguments\":\"{}\"}},"
		"{\"function\":{\"name\":\"读\",\"arguments\":\"{}\"}}]",
		long_name);
	assert_int_equal(0, delta(str_cstr(&s)));
	finish("tool_calls");
	assert_int_equal(STREAM_CALLS, end());
	assert_string_equal("unnamed", stream_call(stream, 0).name);
	assert_string_equal("a_b_c_d", stream_call(stream, 1).name);
	assert_int_equal(STREAM_NAME_MAX, strlen(stream_call(stream, 2).name));
	assert_string_equal("___", stream_call(stream, 3).name);
	str_release(&s);
}

static void arguments_must_be_one_object(void **state)
{
	static const char *const bad[] = {
		"\"{\\\"a\\\":\"",
		"\"\"",
		"\"[]\"",
		"\"\\\"x\\\"\"",
		"\"7\"",
		"\"null\"",
		"\"{} {}\"",
		"\"{\\\"a\\\":1,\\\"a\\\":2}\"",
		"\"{\\\"a\\\":NaN}\"",
		"\"{\\\"a\\\":\\\"\\\\u0000\\\"}\"",
		"\"\\\"{\\\\\\\"path\\\\\\\":\\\\\\\"x\\\\\\\"}\\\"\"", /* encoded twice */
		"[1]",
		"7",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[300];

		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		(void)snprintf(text, sizeof(text),
			"\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":%s}}]",
			bad[i]);
		assert_int_equal(0, delta(text));
		finish("tool_calls");
		assert_int_equal(STREAM_CALLS, end());
		call_is(0, "a", "f", NULL);
	}
}

static void arguments_at_and_over_a_mebibyte(void **state)
{
	for (size_t over = 0; over < 2; over++) {
		struct str piece = STR_INIT(70000);
		size_t left = STREAM_ARGS_MAX - 8 + over; /* beside {"a":""} */

		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		assert_int_equal(0,
			delta("\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
			      "\"arguments\":\"{\\\"a\\\":\\\"\"}}]"));
		while (left > 0) {
			size_t n = left < 60000 ? left : 60000;

			str_reset(&piece);
			(void)str_adds(&piece, "\"tool_calls\":[{\"function\":{\"arguments\":\"");
			for (size_t i = 0; i < n; i++)
				(void)str_addc(&piece, 'x');
			(void)str_adds(&piece, "\"}}]");
			assert_int_equal(0, delta(str_cstr(&piece)));
			left -= n;
		}
		assert_int_equal(0,
			delta("\"tool_calls\":[{\"function\":{\"arguments\":\"\\\"}\"}}]"));
		finish("tool_calls");
		assert_int_equal(STREAM_CALLS, end());
		assert_int_equal(over == 0, stream_call(stream, 0).args_fault == NULL);
		str_release(&piece);
	}
}

/* The object is the first level and the first node. */
static void arguments_at_and_over_the_limits_of_json(void **state)
{
	for (int over = 0; over < 2; over++) {
		struct str s = STR_INIT(STREAM_EVENT_MAX);

		assert_int_equal(0, teardown(state));
		assert_int_equal(0, setup(state));
		(void)str_adds(&s, "\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
				   "\"arguments\":\"{\\\"x\\\":");
		for (int i = 1; i < 32 + over; i++)
			(void)str_addc(&s, '[');
		for (int i = 1; i < 32 + over; i++)
			(void)str_addc(&s, ']');
		(void)str_adds(&s, "}\"}},{\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":"
				   "\"{\\\"x\\\":[0");
		for (int i = 3; i < 200000 + over; i++)
			(void)str_adds(&s, ",0");
		(void)str_adds(&s, "]}\"}}]");
		assert_int_equal(0, delta(str_cstr(&s)));
		finish("tool_calls");
		assert_int_equal(STREAM_CALLS, end());
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(over, stream_call(stream, i).args_fault != NULL);
		str_release(&s);
	}
}

static void a_hundred_calls_and_no_more(void **state)
{
	(void)state;
	for (int i = 0; i < 101; i++) {
		char text[200];

		(void)snprintf(text, sizeof(text),
			"\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\",\"function\":{\"name\":\"f\","
			"\"arguments\":\"{}\"}}]",
			i, i);
		assert_int_equal(i < 100 ? 0 : -1, delta(text));
	}
	assert_int_equal(E_FORMAT, why.code);
	assert_null(stream_fault(stream));
}

static void the_old_function_call_is_taken(void **state)
{
	(void)state;
	assert_int_equal(0, delta("\"function_call\":{\"name\":\"f\",\"arguments\":\"{\"}"));
	assert_int_equal(0, delta("\"function_call\":{\"arguments\":\"}\"}"));
	finish("function_call");
	assert_int_equal(STREAM_CALLS, end());
	assert_int_equal(1, stream_calls(stream));
	call_is(0, "made_1", "f", "{}");
}

static void text_before_calls_is_kept(void **state)
{
	(void)state;
	assert_int_equal(0, delta("\"content\":\"Let me look.\""));
	assert_int_equal(0, delta("\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
				  "\"arguments\":\"{}\"}}]"));
	finish("stop"); /* some say stop and mean calls */
	assert_int_equal(STREAM_CALLS, end());
	assert_true(view_eqs(stream_text(stream), "Let me look."));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(puts_text_together),
		T(endings),
		T(thoughts_in_their_forms_are_not_text),
		T(thoughts_alone_are_no_answer),
		T(content_may_be_a_list_of_parts),
		T(only_the_first_choice_counts),
		T(takes_an_answer_that_is_not_streamed),
		T(a_message_after_deltas_is_not_taken_twice),
		T(a_nul_in_text_is_repaired),
		T(ignores_what_it_does_not_know),
		T(refuses_what_is_no_event),
		T(depth_at_and_over_the_limit),
		T(nodes_at_and_over_the_limit),
		T(usage_in_its_forms),
		T(usage_cannot_go_down),
		T(errors_in_all_their_forms),
		T(statuses_of_http),
		T(ten_thousand_bytes_of_an_error_are_looked_at),
		T(a_body_that_breaks_off_tells_its_message),
		T(a_body_may_be_framed_as_an_event),
		T(details_are_one_safe_short_line),
		T(calls_by_index),
		T(calls_by_whatever_tells_them_apart),
		T(ids_are_made_up_where_needed),
		T(an_id_that_comes_twice_for_two_whole_calls_stays_one_each),
		T(an_id_that_comes_twice_with_empty_arguments_stays_one_each),
		T(calls_of_an_answer_that_failed_are_not_made),
		T(names_are_made_fit),
		T(arguments_must_be_one_object),
		T(arguments_at_and_over_a_mebibyte),
		T(arguments_at_and_over_the_limits_of_json),
		T(a_hundred_calls_and_no_more),
		T(the_old_function_call_is_taken),
		T(text_before_calls_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
