/* The built-in engine against a scripted model server, with the real tools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/react/react.h"
#include "agent/react/stream.h"
#include "base/file.h"
#include "base/json.h"
#include "rig.h"

/* --- Answers ---------------------------------------------------------------------------------- */

static void answers(void **state)
{
	(void)state;
	lm_text(fix.lm, "你好！");
	run("hello");
	ends(ENGINE_OK, "你好！");
	assert_string_equal("你好！", str_cstr(&fix.text));
	assert_true(fix.saves && !fix.acted);
	assert_true(fix.in > 0 && fix.out > 0); /* estimated */
	assert_non_null(strstr(lm_head(fix.lm, 0), "POST /v1/chat/completions HTTP/1.1"));
	assert_non_null(strstr(lm_head(fix.lm, 0), "Authorization: Bearer " KEY "\r\n"));
	assert_non_null(strstr(lm_head(fix.lm, 0), "Accept: text/event-stream"));
	assert_true(asked(0, "\"model\":\"test-model\""));
	assert_true(asked(0, "\"name\":\"write_file\""));
	assert_true(asked(0, "{\"role\":\"user\",\"content\":\"hello\"}"));
	assert_false(asked(0, KEY));
	protocol_is_kept(0);
}

static void without_a_key_none_is_sent(void **state)
{
	(void)state;
	fix.env.model.api_key = " \n";
	fix.env.tools = NULL;
	open_engine();
	lm_text(fix.lm, "hi");
	run("hello");
	ends(ENGINE_OK, "hi");
	assert_null(strcasestr(lm_head(fix.lm, 0), "authorization"));
	assert_false(asked(0, "\"tools\""));
}

static void takes_streams_as_they_come(void **state)
{
	static const struct {
		const char *bytes;
		const char *text, *thought;
	} cases[] = {
		{ DELTA("a") DELTA("b") STOP DONE, "ab", "" },
		{ DELTA("a") STOP, "a", "" },
		{ DELTA("a") DONE, "a", "" },
		{ ": ping\n\n" DELTA("a") ": ping\n" STOP DONE, "a", "" },
		{ "data: {\"choices\":\n: ping\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n" STOP,
			"a", "" },
		{ "\xef\xbb\xbf" DELTA("a") STOP, "a", "" },
		{ "event: message\r\nid: 1\r\nretry: 5\r\ndata: {\"choices\":[{\"delta\":{\"content\":"
		  "\"a\"},\"finish_reason\":\"stop\"}]}\r\n\r\n",
			"a", "" },
		{ "data:{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}",
			"a", "" },
		{ DELTA("a") STOP "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
				  "\"completion_tokens\":2}}\n\n" DONE,
			"a", "" },
		{ "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n" DELTA("a")
				STOP,
			"a", "hm" },
		{ "{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}",
			"whole", "" },
		{ "\n \n{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}",
			"whole", "" },
		{ "\xef\xbb\xbf\n{\"choices\":[{\"message\":{\"content\":\"whole\"},"
		  "\"finish_reason\":\"stop\"}]}",
			"whole", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const size_t pieces[] = { 0, 1, 7 };

		for (size_t k = 0; k < 3; k++) {
			raw(view_of(cases[i].bytes), pieces[k], LM_END);
			run("hello");
			if (fix.fail != ENGINE_OK ||
				strcmp(cases[i].text, str_cstr(&fix.answer)) != 0)
				fail_msg("%s in pieces of %zu: %s %s", cases[i].bytes, pieces[k],
					engine_fail_name(fix.fail), str_cstr(&fix.detail));
			assert_string_equal(cases[i].text, str_cstr(&fix.text));
			assert_string_equal(cases[i].thought, str_cstr(&fix.thought));
		}
	}
	(void)state;
}

static void a_stream_that_is_over_need_not_be_closed(void **state)
{
	(void)state;
	raw(VIEW(DELTA("a") STOP DONE), 0, LM_STALL);
	begin("hello");
	while (strcmp("a", str_cstr(&fix.text)) != 0)
		step();
	for (int i = 0; i < 10 && !fix.done; i++) {
		loop_turn_clock(fix.loop, 200);
		step();
	}
	wait_done();
	ends(ENGINE_OK, "a");
}

static void reported_usage_counts(void **state)
{
	static const char *const events[] = {
		"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}",
		"{\"choices\":[],\"usage\":{\"prompt_tokens\":1234,\"completion_tokens\":56}}", NULL
	};

	(void)state;
	lm_events(fix.lm, events);
	run("hello");
	assert_int_equal(1234, fix.in);
	assert_int_equal(56, fix.out);
}

static void what_is_no_answer_is_told(void **state)
{
	static const struct {
		const char *bytes;
		enum engine_fail fail;
		const char *answer, *detail;
	} cases[] = {
		{ "", ENGINE_FAIL_EMPTY, "", "" },
		{ DONE, ENGINE_FAIL_EMPTY, "", "" },
		{ STOP DONE, ENGINE_FAIL_EMPTY, "", "" },
		{ ": ping\n\n", ENGINE_FAIL_EMPTY, "", "" },
		{ "retry: 10\n\n", ENGINE_FAIL_EMPTY, "", "" },
		{ "event: ping\n\n", ENGINE_FAIL_EMPTY, "", "" },
		{ "{}", ENGINE_FAIL_EMPTY, "", "" },
		{ "upstream: connect error", ENGINE_FAIL_GARBLED, "", "upstream: connect error" },
		{ "\n错误\n\n", ENGINE_FAIL_GARBLED, "", "错误" },
		{ "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"},"
		  "\"finish_reason\":\"stop\"}]}\n\n" DONE,
			ENGINE_FAIL_EMPTY, "", "" },
		{ DELTA("\\u200b\\u3164") STOP DONE, ENGINE_FAIL_EMPTY, "\xe2\x80\x8b\xe3\x85\xa4",
			"" },
		{ "data: {nonsense\n\n", ENGINE_FAIL_GARBLED, "", "answer" },
		{ DELTA("so far") "data: {\"a\":1,\"a\":2}\n\n" STOP, ENGINE_FAIL_GARBLED, "so far",
			"" },
		{ "data: \xff\n\n", ENGINE_FAIL_GARBLED, "", "" },
		{ "<html><body>login</body></html>", ENGINE_FAIL_NO_MODEL, "", "model.base_url" },
		{ DELTA("so far"), ENGINE_FAIL_STALLED, "so far", "broke off" },
		{ DELTA("so far") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n",
			ENGINE_FAIL_BUDGET, "so far", "output limit" },
		{ DELTA("so far") "data: {\"choices\":[{\"delta\":{},"
				  "\"finish_reason\":\"content_filter\"}]}\n\n",
			ENGINE_FAIL_REFUSED, "so far", "content filter" },
		{ DELTA("so far") "event: error\ndata: {\"message\":\"boom\"}\n\n",
			ENGINE_FAIL_PROVIDER, "so far", "boom" },
		{ DELTA("so far") "data: {\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n\n",
			ENGINE_FAIL_PROVIDER, "so far", "boom" },
		{ DELTA("so far") "data: {\"error\":\"boom\"}\n\n" DONE, ENGINE_FAIL_PROVIDER,
			"so far", "boom" },
		{ "data: {\"error\":\"boom\"}\n\n", ENGINE_FAIL_PROVIDER, "", "boom" },
		{ "event: error\ndata: key " KEY " is wrong\n\n", ENGINE_FAIL_PROVIDER, "",
			"[redacted]" },
		{ "data: {\"error_type\":\"bad\",\"error_message\":\"boom\"}\n\n",
			ENGINE_FAIL_PROVIDER, "", "boom" },
		{ "{\"error\":{\"message\":\"boom\"}}", ENGINE_FAIL_PROVIDER, "", "boom" },
		{ "[{\"error\":{\"message\":\"boom\"}}]", ENGINE_FAIL_PROVIDER, "", "boom" },
		{ DELTA("so far") "error: {\"message\":\"boom\"}\n\n" DONE, ENGINE_FAIL_PROVIDER,
			"so far", "boom" },
		{ "{\"choices\":", ENGINE_FAIL_GARBLED, "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		raw(view_of(cases[i].bytes), 0, LM_END);
		run("hello");
		if (fix.fail != cases[i].fail || !detail_has(cases[i].detail))
			fail_msg("%s: %s %s", cases[i].bytes, engine_fail_name(fix.fail),
				str_cstr(&fix.detail));
		assert_string_equal(cases[i].answer, str_cstr(&fix.answer));
		assert_int_equal(i + 1, lm_requests(fix.lm)); /* none of it was tried again */
		assert_int_equal(cases[i].answer[0] != '\0', fix.saves);
	}
	(void)state;
	lm_text(fix.lm, "ok");
	run("and now?");
	protocol_is_kept(lm_requests(fix.lm) - 1); /* with what was kept of all these */
}

static void statuses_become_failures(void **state)
{
	static const struct {
		int status;
		enum engine_fail fail;
		const char *body, *detail;
	} cases[] = {
		{ 400, ENGINE_FAIL_REFUSED, "{\"error\":{\"message\":\"bad tools\"}}",
			"bad tools (400)" },
		{ 401, ENGINE_FAIL_AUTH,
			"{\"error\":{\"message\":\"Incorrect API key provided: " KEY "\"}}",
			"Incorrect API key provided" },
		{ 402, ENGINE_FAIL_QUOTA, "", "402" },
		{ 403, ENGINE_FAIL_AUTH, "forbidden\x1b[31m\nhere", "forbidden here" },
		{ 404, ENGINE_FAIL_NO_MODEL, "<html>no</html>", "404" },
		{ 302, ENGINE_FAIL_REFUSED, "", "model.base_url" },
		{ 413, ENGINE_FAIL_TOO_LONG, "", "413" },
		{ 429, ENGINE_FAIL_QUOTA,
			"{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}",
			"pay" },
		{ 400, ENGINE_FAIL_TOO_LONG,
			"{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too much\"}}",
			"too much" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lm_reply(fix.lm, cases[i].status, "Location: http://127.0.0.1:1/\r\n",
			view_of(cases[i].body), 0, LM_END);
		run("hello");
		if (fix.fail != cases[i].fail || !detail_has(cases[i].detail))
			fail_msg("%d %s: %s %s", cases[i].status, cases[i].body,
				engine_fail_name(fix.fail), str_cstr(&fix.detail));
		assert_false(detail_has(KEY));
		assert_int_equal(i + 1, lm_requests(fix.lm));
		assert_false(fix.saves);
	}
	(void)state;
}

static void a_huge_error_is_read_in_part(void **state)
{
	struct str big = STR_INIT((size_t)2 << 20);

	(void)state;
	(void)str_adds(&big, "{\"error\":{\"message\":\"");
	while (big.n < ((size_t)1 << 20))
		(void)str_adds(&big, "错误");
	lm_reply(fix.lm, 400, NULL, str_view(&big), 0, LM_END);
	run("hello");
	ends(ENGINE_FAIL_REFUSED, "");
	assert_true(view_starts(str_view(&fix.detail), VIEW("错误错误")));
	str_release(&big);
}

/* Spaces up to so many bytes in all. */
static void pad(struct str *s, size_t n)
{
	assert_true(s->n < n);
	while (s->n < n)
		(void)str_add(s, view_cut(VIEW("                                "), n - s->n));
	assert_true(str_ok(s));
}

static void an_event_has_two_mebibytes_at_most(void **state)
{
	struct str big = STR_INIT((size_t)4 << 20);
	const size_t lead = strlen("data: ");

	(void)state;
	for (int over = 0; over < 2; over++) {
		str_reset(&big);
		(void)str_adds(&big, "data: {\"x\":\"");
		pad(&big, lead + STREAM_EVENT_MAX - 2 + (size_t)over);
		(void)str_adds(&big, "\"}\n\n" DELTA("hi") STOP);
		raw(str_view(&big), 0, LM_END);
		run("hello");
		ends(over ? ENGINE_FAIL_GARBLED : ENGINE_OK, over ? "" : "hi");
	}
	str_release(&big);
}

static void a_response_has_twenty_mebibytes_at_most(void **state)
{
	static const struct {
		const char *head, *tail;
	} kinds[] = {
		{ "", DELTA("hi") STOP },
		{ "{\"choices\":[{\"message\":{\"content\":\"hi\"},",
			"\"finish_reason\":\"stop\"}]}" },
	};
	struct str big = STR_INIT((size_t)21 << 20);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (size_t over = 0; over < 2; over++) {
			str_reset(&big);
			(void)str_adds(&big, kinds[i].head);
			for (size_t at = 1; i == 0 && at < 20;
				at++) { /* comments, within a line's limit */
				(void)str_addc(&big, ':');
				pad(&big, at << 20);
				(void)str_addc(&big, '\n');
			}
			pad(&big, STREAM_TOTAL_MAX - strlen(kinds[i].tail) - 1 + over);
			(void)str_adds(&big, i == 0 ? "\n" : " ");
			(void)str_adds(&big, kinds[i].tail);
			assert_int_equal(STREAM_TOTAL_MAX + over, big.n);
			raw(str_view(&big), 0, LM_END);
			run("hello");
			ends(over ? ENGINE_FAIL_GARBLED : ENGINE_OK,
				over && i ? "" : str_cstr(&fix.text));
			assert_true(over || strcmp("hi", str_cstr(&fix.answer)) == 0);
		}
	}
	str_release(&big);
}

static void a_long_answer_comes_whole(void **state)
{
	struct str big = STR_INIT((size_t)8 << 20), text = STR_INIT((size_t)8 << 20);

	(void)state;
	for (int i = 0; i < 3000; i++) {
		(void)str_addf(&text, "第%d段，", i);
		(void)str_addf(&big, DELTA("第%d段，"), i);
	}
	(void)str_adds(&big, STOP DONE);
	raw(str_view(&big), 1000, LM_END);
	run("hello");
	ends(ENGINE_OK, str_cstr(&text));
	str_release(&big);
	str_release(&text);
}

/* --- Retries ---------------------------------------------------------------------------------- */

static void passing_errors_are_tried_twice_again(void **state)
{
	static const struct {
		int status;
		const char *body;
	} cases[] = {
		{ 500, "oops" },
		{ 503, "" },
		{ 429, "{\"error\":{\"message\":\"slow\"}}" },
		{ 408, "" },
		{ 0, "data: {\"error\":{\"message\":\"busy\",\"type\":\"server_error\"}}\n\n" },
		{ 0, "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"
		     "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n" },
		{ 0, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
		     "event: error\ndata: {\"type\":\"overloaded_error\"}\n\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lm_reply(fix.lm, cases[i].status, NULL, view_of(cases[i].body), 0, LM_END);
		lm_reply(fix.lm, cases[i].status, NULL, view_of(cases[i].body), 0, LM_END);
		lm_text(fix.lm, "at last");
		begin("hello");
		pass_retry(1000);
		pass_retry(2000);
		wait_done();
		ends(ENGINE_OK, "at last");
		assert_string_equal("at last", str_cstr(&fix.text));
		assert_int_equal(3 * (i + 1), lm_requests(fix.lm));
	}
	(void)state;
}

static void the_third_failure_is_the_last(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		lm_reply(fix.lm, 503, NULL, VIEW("{\"error\":\"still busy\"}"), 0, LM_END);
	begin("hello");
	pass_retry(1000);
	pass_retry(2000);
	wait_done();
	ends(ENGINE_FAIL_PROVIDER, "");
	assert_true(detail_has("still busy"));
	assert_false(fix.saves);
	for (int i = 0; i < 3; i++)
		lm_reply(fix.lm, 429, NULL, VIEW_NONE, 0, LM_END);
	begin("hello");
	pass_retry(1000);
	pass_retry(2000);
	wait_done();
	ends(ENGINE_FAIL_QUOTA, "");
}

static void a_broken_connection_is_tried_again(void **state)
{
	(void)state;
	raw(VIEW(": ping\n\n"), 0, LM_BREAK);
	raw(VIEW(": ping\n\n"), 0, LM_BREAK);
	raw(VIEW(": ping\n\n"), 0, LM_BREAK);
	begin("hello");
	pass_retry(1000);
	pass_retry(2000);
	wait_done();
	ends(ENGINE_FAIL_STALLED, "");
}

/* The server closes in the middle of an event, and nothing but that says so. */
static void an_event_that_breaks_off_is_tried_again(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		raw(VIEW("data: {\"choices\":[{\"del"), 0, LM_END);
	begin("hello");
	pass_retry(1000);
	pass_retry(2000);
	wait_done();
	ends(ENGINE_FAIL_STALLED, "");
	raw(VIEW(DELTA("so far") "data: {\"cho"), 0, LM_END);
	run("hello");
	ends(ENGINE_FAIL_STALLED, "so far");
	raw(VIEW(DELTA("all") STOP "data: {\"cho"), 0, LM_END);
	run("hello");
	ends(ENGINE_OK, "all");
	assert_int_equal(5, lm_requests(fix.lm));
}

static void nothing_is_tried_again_once_something_was_shown(void **state)
{
	(void)state;
	raw(VIEW(DELTA("visible")), 0, LM_BREAK);
	run("hello");
	ends(ENGINE_FAIL_STALLED, "visible");
	assert_int_equal(1, lm_requests(fix.lm));
	assert_true(fix.saves);
	/* but a stream that had said it was complete is complete */
	raw(VIEW(DELTA("all") STOP), 0, LM_BREAK);
	run("hello");
	ends(ENGINE_OK, "all");
}

static void retry_after_is_honoured_within_its_cap(void **state)
{
	(void)state;
	lm_reply(fix.lm, 429, "Retry-After: 7\r\n", VIEW_NONE, 0, LM_END);
	lm_reply(fix.lm, 503, "Retry-After: 0\r\n", VIEW_NONE, 0, LM_END);
	lm_text(fix.lm, "hi");
	begin("hello");
	pass_retry(7000);
	pass_retry(2000);
	wait_done();
	ends(ENGINE_OK, "hi");

	lm_reply(fix.lm, 429, "Retry-After: 60\r\n", VIEW_NONE, 0, LM_END);
	lm_reply(fix.lm, 429, "Retry-After: 30\r\n", VIEW_NONE, 0, LM_END);
	lm_text(fix.lm, "hi");
	begin("hello");
	pass_retry(30000);
	pass_retry(30000);
	wait_done();
	ends(ENGINE_OK, "hi");

	/* longer than all our patience: no use */
	lm_reply(fix.lm, 429, "Retry-After: 61\r\n", VIEW_NONE, 0, LM_END);
	run("hello");
	ends(ENGINE_FAIL_QUOTA, "");
	lm_reply(fix.lm, 429, "Retry-After: 1\r\n", VIEW_NONE, 0, LM_END);
	lm_reply(fix.lm, 429, "Retry-After: 31\r\n", VIEW_NONE, 0, LM_END);
	begin("hello");
	pass_retry(1000);
	wait_done();
	ends(ENGINE_FAIL_QUOTA, "");
	/* not a number: not honoured */
	lm_reply(fix.lm, 429, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", VIEW_NONE, 0,
		LM_END);
	lm_text(fix.lm, "hi");
	begin("hello");
	pass_retry(1000);
	wait_done();
	ends(ENGINE_OK, "hi");
}

static void an_unreachable_model_is_told(void **state)
{
	(void)state;
	lm_free(&fix.lm);
	begin("hello");
	for (int64_t ms = 1000; ms <= 2000; ms += 1000) {
		wait_log("asking -> waiting");
		loop_turn_clock(fix.loop, ms);
	}
	wait_done();
	ends(ENGINE_FAIL_UNREACHABLE, "");
	assert_true(detail_has("127.0.0.1"));
}

/* In the language of the turn, but for what others have said. */
static void reasons_are_in_the_users_language(void **state)
{
	const struct turn_input in = { .text = VIEW("你好"), .language = "zh" };
	struct str out = STR_INIT(1000);

	(void)state;
	fix.env.model.base_url = NULL;
	open_engine();
	begin_input(in);
	wait_done();
	assert_string_equal("model.provider 和 model.base_url 都没有设置", str_cstr(&fix.detail));
	fix.engine->ops->describe(fix.engine, true, &out);
	assert_string_equal("内置，还没有设置模型", str_cstr(&out));
	fix.env.model.base_url = fix.url;
	open_engine();
	str_reset(&out);
	fix.engine->ops->describe(fix.engine, true, &out);
	assert_string_equal("内置，test-model（127.0.0.1）", str_cstr(&out));
	lm_reply(fix.lm, 400, "", VIEW("{\"error\":{\"message\":\"bad tools\"}}"), 0, LM_END);
	begin_input(in);
	wait_done();
	assert_true(detail_has("bad tools (400)"));
	lm_free(&fix.lm);
	begin_input(in);
	for (int64_t ms = 1000; ms <= 2000; ms += 1000) {
		wait_log("asking -> waiting");
		loop_turn_clock(fix.loop, ms);
	}
	wait_done();
	assert_int_equal(ENGINE_FAIL_UNREACHABLE, fix.fail);
	assert_string_equal("没能连上 127.0.0.1", str_cstr(&fix.detail));
	str_release(&out);
}

static void silence_ends_the_turn(void **state)
{
	(void)state;
	raw(VIEW(DELTA("so far")), 0, LM_STALL);
	begin("hello");
	while (fix.text.n == 0)
		step();
	loop_turn_clock(fix.loop, 119000);
	step();
	assert_int_equal(0, fix.done);
	loop_turn_clock(fix.loop, 1000);
	wait_done();
	ends(ENGINE_FAIL_STALLED, "so far");
	assert_int_equal(1, lm_requests(fix.lm));
}

/* --- Tools ------------------------------------------------------------------------------------ */

static void works_with_tools(void **state)
{
	(void)state;
	make("notes.txt", VIEW("milk\n"));
	lm_call(fix.lm, "c1", "read_file", "{\"path\":\"notes.txt\"}");
	lm_call(fix.lm, "c2", "write_file", "{\"path\":\"list.md\",\"content\":\"- milk\\n\"}");
	lm_text(fix.lm, "Done.");
	run("make a list");
	ends(ENGINE_OK, "Done.");
	assert_true(fix.acted);
	assert_string_equal("read_file(notes.txt)+ write_file(list.md)+ ",
		str_cstr(&fix.tools_seen));
	assert_true(asked(1,
		"\"tool_call_id\":\"c1\",\"content\":\"[notes.txt: lines 1-1 of 1]\\nmilk"));
	assert_true(asked(2, "[created list.md: 7 bytes"));
	protocol_is_kept(1);
	protocol_is_kept(2);
	/* and it is remembered */
	lm_text(fix.lm, "You are welcome.");
	run("thanks");
	assert_true(asked(3, "make a list") && asked(3, "milk") && asked(3, "\"Done.\""));
	protocol_is_kept(3);
}

static void several_calls_keep_their_order(void **state)
{
	static const char *const events[] = {
		"{\"choices\":[{\"delta\":{\"content\":\"Looking.\",\"tool_calls\":["
		"{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"read_file\",\"arguments\":"
		"\"{\\\"path\\\":\\\"a\\\"}\"}},"
		"{\"index\":1,\"id\":\"x\",\"function\":{\"name\":\"shell\",\"arguments\":\"{}\"}},"
		"{\"index\":2,\"function\":{\"name\":\"read_file\",\"arguments\":"
		"\"{\\\"path\\\":\\\"b\\\"}\"}}]}}]}",
		"{\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}", NULL
	};

	(void)state;
	make("a", VIEW("first\n"));
	lm_events(fix.lm, events);
	lm_text(fix.lm, "ok");
	run("go");
	ends(ENGINE_OK, "ok");
	assert_string_equal("Looking.ok", str_cstr(&fix.text));
	/* What may change something stands between them, though it is denied: one after the
	 * other. */
	assert_int_equal(0, strncmp("read_file(a)+ read_file(b)", str_cstr(&fix.tools_seen), 26));
	assert_true(asked(1, "\"content\":\"Looking.\""));
	assert_true(asked(1, "\"tool_call_id\":\"x\""));
	assert_true(asked(1, "\"tool_call_id\":\"call_1_1_2\""));
	assert_true(asked(1, "\"tool_call_id\":\"call_1_1_3\""));
	assert_true(asked(1, "shell is denied for requests from the phone"));
	assert_true(asked(1, "there is no b"));
	protocol_is_kept(1);
}

static void bad_arguments_are_told_and_never_stored(void **state)
{
	static const char *const bad[] = { "{\"a\":", "", "[]", "\"x\"",
		"\"{\\\"path\\\":\\\"a\\\"}\"", "{\"path\":\"a\"", "{\"path\":\"a\"}}" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int at = lm_requests(fix.lm);

		lm_call(fix.lm, "c", "read_file", bad[i]);
		lm_text(fix.lm, "sorry");
		run("go");
		ends(ENGINE_OK, "sorry");
		assert_string_equal("", str_cstr(&fix.tools_seen));
		assert_true(asked(at + 1, "were not one JSON object"));
		protocol_is_kept(at + 1);
		/* the next turn works */
		lm_text(fix.lm, "hi");
		run("hello");
		ends(ENGINE_OK, "hi");
		protocol_is_kept(at + 2);
	}
	(void)state;
}

static void two_mebibytes_of_arguments_are_told(void **state)
{
	struct str body = STR_INIT((size_t)4 << 20);

	(void)state;
	(void)str_adds(&body,
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c\",\"function\":"
		"{\"name\":\"write_file\",\"arguments\":\"{\\\"content\\\":\\\"\"}}]}}]}\n\n");
	for (int i = 0; i < 40; i++) {
		(void)str_adds(&body,
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":"
			"{\"arguments\":\"");
		for (int k = 0; k < 50000; k++)
			(void)str_addc(&body, 'x');
		(void)str_adds(&body, "\"}}]}}]}\n\n");
	}
	(void)str_adds(&body,
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n");
	raw(str_view(&body), 0, LM_END);
	lm_text(fix.lm, "sorry");
	run("go");
	ends(ENGINE_OK, "sorry");
	assert_true(asked(1, "over 1 MiB"));
	protocol_is_kept(1);
	str_release(&body);
}

/* The tool is none, so each is told at once. */
static void say_calls(int n)
{
	struct str body = STR_INIT((size_t)1 << 20);

	for (int i = 0; i < n; i++)
		(void)str_addf(&body,
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\","
			"\"function\":{\"name\":\"no_such\",\"arguments\":\"{}\"}}]}}]}\n\n",
			i, i);
	(void)str_adds(&body, DONE);
	raw(str_view(&body), 0, LM_END);
	str_release(&body);
}

/* Some servers number the calls of each answer afresh, or give all the same id. */
static void ids_are_one_each_in_all_of_a_conversation(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		lm_call(fix.lm, "call_0", "list_dir", "{}");
		lm_call(fix.lm, i == 1 ? "call_1_2_1" : "call_0", "glob", "{\"pattern\":\"*\"}");
		lm_text(fix.lm, "ok");
		run("go");
		ends(ENGINE_OK, "ok");
		for (int k = 0; k < 3; k++)
			protocol_is_kept(3 * i + k);
		open_engine();
	}
	/* The first keeps its own; the next are named by turn, question and place. */
	assert_true(asked(8, "\"id\":\"call_0\"") && asked(8, "\"id\":\"call_1_2_1\""));
	assert_true(asked(8, "\"id\":\"call_2_1_1\"") && asked(8, "\"id\":\"call_2_2_1\""));
	assert_true(asked(8, "\"tool_call_id\":\"call_3_2_1\""));
}

static void an_answer_has_a_hundred_calls_at_most(void **state)
{
	(void)state;
	say_calls(100);
	lm_text(fix.lm, "sorry");
	run("go");
	ends(ENGINE_OK, "sorry");
	assert_true(asked(1, "\"tool_call_id\":\"c0\"") && asked(1, "\"tool_call_id\":\"c99\""));
	protocol_is_kept(1);
	say_calls(101);
	run("go");
	ends(ENGINE_FAIL_GARBLED, "");
	assert_true(detail_has("the answer has more than 100 tool calls"));
	assert_string_equal("", str_cstr(&fix.tools_seen));
}

static void reasoning_goes_back_only_to_those_who_want_it(void **state)
{
	static const char *const events[] = {
		"{\"choices\":[{\"delta\":{\"reasoning_content\":\"secret plan\",\"tool_calls\":["
		"{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"list_dir\",\"arguments\":\"{}\"}}]},"
		"\"finish_reason\":\"tool_calls\"}]}",
		NULL
	};

	(void)state;
	lm_events(fix.lm, events);
	lm_text(fix.lm, "ok");
	run("go");
	ends(ENGINE_OK, "ok");
	assert_string_equal("secret plan", str_cstr(&fix.thought));
	assert_false(asked(1, "secret plan"));
}

static void long_results_are_cut_to_the_window(void **state)
{
	struct str big = STR_INIT((size_t)1 << 20);

	(void)state;
	for (int i = 0; i < 3000; i++)
		(void)str_addf(&big, "line %d\n", i);
	make("big", str_view(&big));
	fix.env.model.context_tokens = 8000;
	open_engine();
	lm_call(fix.lm, "c", "read_file", "{\"path\":\"big\",\"limit\":3000}");
	lm_text(fix.lm, "ok");
	run("go");
	ends(ENGINE_OK, "ok");
	assert_true(asked(1, "bytes are left out here"));
	assert_true(asked(1, "line 1\\n") && asked(1, "line 2998"));
	assert_true(strlen(lm_body(fix.lm, 1)) < 30000);
	str_release(&big);
}

/* --- Budgets ---------------------------------------------------------------------------------- */

static void usage_event(char *out, size_t size, int tokens, bool call)
{
	(void)snprintf(out, size,
		"{\"choices\":[{\"delta\":{%s},\"finish_reason\":\"%s\"}],\"usage\":{\"prompt_tokens\":%d,"
		"\"completion_tokens\":1}}",
		call ? "\"content\":\"Let me see.\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":"
		       "\"write_file\",\"arguments\":\"{\\\"path\\\":\\\"x\\\",\\\"content\\\":\\\"\\\"}\"}}]"
		     : "\"content\":\"an answer\"",
		call ? "tool_calls" : "stop", tokens - 1);
}

static void the_token_budget_stops_before_anything_is_done(void **state)
{
	const char *events[2] = { NULL, NULL };
	char text[600], path[PATH_SIZE];

	(void)state;
	fix.env.token_budget = 1000;
	open_engine();
	usage_event(text, sizeof(text), 1000, true);
	events[0] = text;
	lm_events(fix.lm, events);
	run("go");
	ends(ENGINE_FAIL_BUDGET, "Let me see.");
	assert_true(detail_has("token budget of 1000"));
	assert_false(fix.acted);
	assert_string_equal("", str_cstr(&fix.tools_seen));
	(void)snprintf(path, sizeof(path), "%s/x", fix.ws);
	assert_int_equal(-1, access(path, F_OK));
	assert_true(fix.saves);
	/* a final answer that reaches the limit is kept */
	usage_event(text, sizeof(text), 1000, false);
	lm_events(fix.lm, events);
	run("go");
	ends(ENGINE_OK, "an answer");
	protocol_is_kept(1);
	/* one token less, and the tool runs */
	usage_event(text, sizeof(text), 999, true);
	lm_events(fix.lm, events);
	usage_event(text, sizeof(text), 5, false);
	lm_events(fix.lm, events);
	run("go");
	ends(ENGINE_OK, "an answer");
	assert_true(fix.acted);
}

static void negative_usage_cannot_stretch_the_budget(void **state)
{
	const char *events[2] = { NULL, NULL };
	char text[600];

	(void)state;
	fix.env.token_budget = 1000;
	open_engine();
	usage_event(text, sizeof(text), 600, true);
	events[0] = text;
	lm_events(fix.lm, events);
	usage_event(text, sizeof(text), -100000, true);
	lm_events(fix.lm, events);
	usage_event(text, sizeof(text), 600, true);
	lm_events(fix.lm, events);
	run("go");
	ends(ENGINE_FAIL_BUDGET, "Let me see.");
}

/* What is negative, absurd or nothing counts as what we have seen ourselves. */
static void worthless_usage_is_estimated(void **state)
{
	static const char *const figures[] = { "{\"prompt_tokens\":-5,\"completion_tokens\":1}",
		"{\"prompt_tokens\":100000001,\"completion_tokens\":1}",
		"{\"prompt_tokens\":0,\"completion_tokens\":1}", "{\"prompt_tokens\":1}", "{}",
		"7" };

	(void)state;
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const char *events[2] = { NULL, NULL };
		char text[400];

		(void)snprintf(text, sizeof(text),
			"{\"choices\":[{\"delta\":{\"content\":\"an answer of some length\"},"
			"\"finish_reason\":\"stop\"}],\"usage\":%s}",
			figures[i]);
		events[0] = text;
		lm_events(fix.lm, events);
		run("go");
		ends(ENGINE_OK, "an answer of some length");
		assert_true(i == 3 ? fix.in == 1 : fix.in > 500); /* the system prompt and tools */
		assert_true(i < 3 ? fix.out == 1 : fix.out > 5);
	}
}

static void the_number_of_steps_is_bounded(void **state)
{
	char args[64];

	(void)state;
	fix.env.max_iterations = 3;
	open_engine();
	for (int i = 0; i < 3; i++) {
		(void)snprintf(args, sizeof(args), "{\"pattern\":\"%d\"}", i);
		lm_call(fix.lm, "c", "glob", args);
	}
	run("go");
	ends(ENGINE_FAIL_BUDGET, "");
	assert_true(detail_has("3 steps"));
	assert_string_equal("glob(0)+ glob(1)+ ", str_cstr(&fix.tools_seen));
	lm_text(fix.lm, "hi");
	run("hello");
	protocol_is_kept(3);
}

static void standing_still_is_noticed(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		lm_call(fix.lm, "c", "list_dir", "{}");
	run("go");
	ends(ENGINE_FAIL_BUDGET, "");
	assert_true(detail_has("no progress: list_dir"));
	assert_string_equal("list_dir()+ list_dir()+ list_dir()+ ", str_cstr(&fix.tools_seen));
	assert_false(asked(1, "given the same result"));
	assert_true(asked(2, "given the same result 2 times"));
	assert_true(asked(3, "given the same result 3 times"));
	/* with results that change it is progress */
	for (int i = 0; i < 4; i++) {
		char args[100];

		(void)snprintf(args, sizeof(args), "{\"path\":\"f%d\",\"content\":\"\"}", i);
		lm_call(fix.lm, "w", "write_file", args);
		lm_call(fix.lm, "c", "list_dir", "{}");
	}
	lm_text(fix.lm, "done");
	run("go");
	ends(ENGINE_OK, "done");
}

/* --- Cancelling ------------------------------------------------------------------------------- */

static void cancel(void)
{
	fix.engine->ops->cancel(fix.engine, fix.turn);
}

static void cancels_before_the_first_byte(void **state)
{
	(void)state;
	raw(VIEW(""), 0, LM_STALL);
	begin("hello");
	while (lm_requests(fix.lm) == 0)
		step();
	cancel();
	cancel();
	assert_int_equal(0, fix.done);
	wait_done();
	ends(ENGINE_FAIL_CANCELLED, "");
	while (lm_open(fix.lm) > 0)
		step();
	/* what was asked is remembered, and the protocol is whole */
	lm_text(fix.lm, "hi");
	run("and now?");
	assert_true(asked(1, "\"hello\"") && asked(1, "stopped here"));
	protocol_is_kept(1);
}

static void cancels_in_the_middle_of_an_answer(void **state)
{
	(void)state;
	raw(VIEW(DELTA("half an")), 0, LM_STALL);
	begin("hello");
	while (fix.text.n == 0)
		step();
	cancel();
	wait_done();
	ends(ENGINE_FAIL_CANCELLED, "half an");
	while (lm_open(fix.lm) > 0)
		step();
	lm_text(fix.lm, "hi");
	run("go on");
	assert_true(asked(1, "half an"));
	protocol_is_kept(1);
}

static void cancels_from_inside_an_event(void **state)
{
	(void)state;
	raw(VIEW(DELTA("one") DELTA("two") DELTA("three") STOP DONE), 0, LM_END);
	fix.cancel_after_text = 1;
	begin("hello");
	wait_done();
	assert_string_equal("one", str_cstr(&fix.text));
	/* it had just finished, or it was cancelled: the answer is there either way */
	assert_true(fix.fail == ENGINE_FAIL_CANCELLED || fix.fail == ENGINE_OK);
}

static void cancels_while_a_retry_waits(void **state)
{
	(void)state;
	lm_reply(fix.lm, 503, "Retry-After: 25\r\n", VIEW_NONE, 0, LM_END);
	begin("hello");
	wait_log("asking -> waiting");
	cancel();
	wait_done();
	ends(ENGINE_FAIL_CANCELLED, "");
	assert_int_equal(1, lm_requests(fix.lm));
}

static void cancels_a_running_tool(void **state)
{
	static const char *const events[] = {
		"{\"choices\":[{\"delta\":{\"content\":\"Looking.\",\"tool_calls\":["
		"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"list_dir\",\"arguments\":\"{}\"}},"
		"{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"grep\",\"arguments\":"
		"\"{\\\"pattern\\\":\\\"^(a|aa)+$\\\"}\"}},"
		"{\"index\":2,\"id\":\"c\",\"function\":{\"name\":\"write_file\",\"arguments\":"
		"\"{\\\"path\\\":\\\"late\\\",\\\"content\\\":\\\"\\\"}\"}}]},"
		"\"finish_reason\":\"tool_calls\"}]}",
		NULL
	};
	struct str slow = STR_INIT((size_t)5 << 20);
	char path[PATH_SIZE];

	(void)state;
	while (slow.n < ((size_t)4 << 20))
		(void)str_adds(&slow, "aaaaaaaaaaaaaaaaaaaaaa!\n");
	make("slow", str_view(&slow));
	str_release(&slow);
	lm_events(fix.lm, events);
	begin("go");
	while (!strstr(str_cstr(&fix.tools_seen), "+ ")) /* list_dir is done */
		step();
	cancel();
	wait_done();
	ends(ENGINE_FAIL_CANCELLED, "");
	assert_false(fix.acted);
	(void)snprintf(path, sizeof(path), "%s/late", fix.ws);
	assert_int_equal(-1, access(path, F_OK));
	lm_text(fix.lm, "hi");
	run("what happened?");
	protocol_is_kept(1);
	assert_true(asked(1, "grep was cancelled. It changes nothing."));
	assert_true(asked(1, "Cancelled before it was started. Nothing was done by this call."));
	assert_true(asked(1, "slow  4194"));
}

static void closing_ends_a_turn_without_a_word(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	raw(VIEW(DELTA("half")), 0, LM_STALL);
	begin("hello");
	while (fix.text.n == 0)
		step();
	fix.engine->ops->close(&fix.engine);
	assert_null(fix.engine);
	while (lm_open(fix.lm) > 0)
		step();
	assert_int_equal(0, loop_step(fix.loop, 0, &e));
	assert_int_equal(0, fix.done);
	open_engine();
	make("slow", VIEW("x"));
	lm_call(fix.lm, "c", "read_file", "{\"path\":\"slow\"}");
	begin("hello");
	while (fix.tools_seen.n == 0)
		step();
	fix.engine->ops->close(&fix.engine);
	for (int i = 0; i < 50; i++)
		assert_int_equal(0, loop_step(fix.loop, 20, &e));
	assert_int_equal(0, fix.done);
}

static void one_turn_at_a_time(void **state)
{
	struct turn_input in = { .turn = 99, .conversation = "me", .language = "en" };
	struct err e = ERR_INIT;

	(void)state;
	raw(VIEW(""), 0, LM_STALL);
	begin("hello");
	in.text = VIEW("x");
	assert_int_equal(-1, fix.engine->ops->start(fix.engine, &in, &e));
	assert_int_equal(E_BUSY, e.code);
	fix.engine->ops->cancel(fix.engine, 98); /* another turn: nothing */
	while (lm_requests(fix.lm) == 0)
		step();
	assert_int_equal(0, fix.done);
	cancel();
	wait_done();
}

/* --- History ---------------------------------------------------------------------------------- */

static void remembers_across_a_restart(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	lm_text(fix.lm, "Nice to meet you, Wei.");
	run("I am Wei");
	fix.engine->ops->close(&fix.engine);
	db_close(&fix.db);
	assert_int_equal(0, db_open(&fix.db, fix.db_path, &e));
	fix.env.db = fix.db;
	open_engine();
	lm_text(fix.lm, "Wei.");
	run("who am I?");
	assert_true(asked(1, "I am Wei") && asked(1, "Nice to meet you, Wei."));
	protocol_is_kept(1);
	/* somebody else knows nothing of it */
	lm_text(fix.lm, "Who?");
	begin_as("you", VIEW("who am I?"));
	wait_done();
	assert_false(asked(2, "Wei"));
}

static void new_begins_afresh(void **state)
{
	struct str reply = STR_INIT(1000);
	struct err e = ERR_INIT;

	(void)state;
	lm_text(fix.lm, "ok");
	run("the word is apple");
	assert_int_equal(0, fix.engine->ops->command(fix.engine, ENGINE_CMD_NEW, "me", VIEW_NONE,
				    "zh", &reply, &e));
	assert_string_equal("好，新的对话开始了。", str_cstr(&reply));
	str_reset(&reply);
	assert_int_equal(0, fix.engine->ops->command(fix.engine, ENGINE_CMD_NEW, "me", VIEW_NONE,
				    "en", &reply, &e));
	assert_string_equal("A new conversation begins.", str_cstr(&reply));
	lm_text(fix.lm, "which word?");
	run("the word?");
	assert_false(asked(1, "apple"));
	assert_int_equal(-1, fix.engine->ops->command(fix.engine, ENGINE_CMD_COMPACT, "me",
				     VIEW_NONE, "en", &reply, &e));
	assert_int_equal(E_UNSUPPORTED, e.code);
	str_release(&reply);
}

static void new_while_a_turn_runs_keeps_them_apart(void **state)
{
	struct str reply = STR_INIT(1000);
	struct err e = ERR_INIT;

	(void)state;
	raw(VIEW(DELTA("late answer")), 0, LM_STALL);
	begin("old question");
	while (fix.text.n == 0)
		step();
	assert_int_equal(0, fix.engine->ops->command(fix.engine, ENGINE_CMD_NEW, "me", VIEW_NONE,
				    "en", &reply, &e));
	cancel();
	wait_done();
	lm_text(fix.lm, "hi");
	run("new question");
	assert_true(asked(1, "old question")); /* the running one was the conversation's first */
	str_release(&reply);
}

static void history_fits_the_window(void **state)
{
	struct str big = STR_INIT((size_t)1 << 20);

	(void)state;
	for (int i = 0; i < 3000; i++)
		(void)str_adds(&big, "x ");
	fix.env.model.context_tokens = 6000;
	open_engine();
	lm_text(fix.lm, str_cstr(&big));
	run("first");
	lm_text(fix.lm, str_cstr(&big));
	run("second");
	lm_text(fix.lm, str_cstr(&big));
	run("third");
	lm_text(fix.lm, str_cstr(&big)); /* no shorter, so it is left out instead */
	lm_text(fix.lm, "ok");
	run("fourth");
	assert_false(asked(4, "\"first\""));
	assert_true(asked(4, "\"third\""));
	protocol_is_kept(4);
	/* and a message alone that does not fit is told */
	for (int i = 0; i < 20000; i++)
		(void)str_adds(&big, "y ");
	begin_as("me", str_view(&big));
	wait_done();
	ends(ENGINE_FAIL_INPUT, ""); /* no new conversation would help */
	assert_int_equal(5, lm_requests(fix.lm));
	str_release(&big);
}

static void a_provider_that_counts_more_gets_less_history_once(void **state)
{
	(void)state;
	lm_text(fix.lm, "1");
	run("first");
	lm_text(fix.lm, "2");
	run("second");
	lm_reply(fix.lm, 400, NULL, VIEW("{\"error\":{\"code\":\"context_length_exceeded\"}}"), 0,
		LM_END);
	lm_text(fix.lm, "3");
	run("third");
	ends(ENGINE_OK, "3");
	assert_true(asked(2, "\"first\""));
	assert_false(asked(3, "\"first\""));
	assert_true(asked(3, "\"second\""));
	protocol_is_kept(3);
	for (int i = 0; i < 2; i++)
		lm_reply(fix.lm, 400, NULL,
			VIEW("{\"error\":{\"code\":\"context_length_exceeded\"}}"), 0, LM_END);
	run("fourth");
	ends(ENGINE_FAIL_TOO_LONG, "");
	assert_int_equal(6, lm_requests(fix.lm));
}

static void a_database_that_fails_is_told(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(0, db_exec(fix.db, "DROP TABLE react_message", &e));
	run("hello");
	ends(ENGINE_FAIL_STORAGE, "");
	assert_int_equal(0, lm_requests(fix.lm));
}

/* --- Set-up ----------------------------------------------------------------------------------- */

static void what_is_not_set_up_is_named(void **state)
{
	struct str out = STR_INIT(1000);

	(void)state;
	fix.env.model.base_url = NULL;
	open_engine();
	run("hello");
	ends(ENGINE_FAIL_NOT_SET_UP, "");
	assert_true(detail_has("model.base_url"));
	fix.engine->ops->describe(fix.engine, false, &out);
	assert_string_equal("react, no model set up", str_cstr(&out));
	fix.env.model.base_url = fix.url;
	fix.env.model.name = "";
	open_engine();
	run("hello");
	ends(ENGINE_FAIL_NOT_SET_UP, "");
	assert_true(detail_has("model.name"));
	fix.env.model.name = "kimi-k2";
	fix.env.model.base_url = "https://api.moonshot.cn/v1";
	open_engine();
	str_reset(&out);
	fix.engine->ops->describe(fix.engine, false, &out);
	assert_string_equal("react, kimi kimi-k2 at api.moonshot.cn", str_cstr(&out));
	assert_null(strstr(str_cstr(&out), KEY));
	str_release(&out);
}

static void a_bad_address_is_refused_at_once(void **state)
{
	struct engine *g;
	struct err e = ERR_INIT;

	(void)state;
	fix.env.model.base_url = "ftp://example.com";
	assert_int_equal(-1, react_open(&g, &fix.env, &e));
	assert_non_null(strstr(e.msg, "model.base_url"));
	assert_null(g);
}

static void input_that_is_no_text_is_told(void **state)
{
	(void)state;
	begin_as("me", VIEW("\xff"));
	wait_done();
	ends(ENGINE_FAIL_INPUT, "");
	begin_as("me", VIEW_NONE);
	wait_done();
	ends(ENGINE_FAIL_INPUT, "");
	assert_int_equal(0, lm_requests(fix.lm));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(answers),
		T(without_a_key_none_is_sent),
		T(takes_streams_as_they_come),
		T(a_stream_that_is_over_need_not_be_closed),
		T(reported_usage_counts),
		T(what_is_no_answer_is_told),
		T(statuses_become_failures),
		T(a_huge_error_is_read_in_part),
		T(an_event_has_two_mebibytes_at_most),
		T(a_response_has_twenty_mebibytes_at_most),
		T(a_long_answer_comes_whole),
		T(passing_errors_are_tried_twice_again),
		T(the_third_failure_is_the_last),
		T(a_broken_connection_is_tried_again),
		T(an_event_that_breaks_off_is_tried_again),
		T(nothing_is_tried_again_once_something_was_shown),
		T(retry_after_is_honoured_within_its_cap),
		T(an_unreachable_model_is_told),
		T(reasons_are_in_the_users_language),
		T(silence_ends_the_turn),
		T(works_with_tools),
		T(several_calls_keep_their_order),
		T(bad_arguments_are_told_and_never_stored),
		T(two_mebibytes_of_arguments_are_told),
		T(ids_are_one_each_in_all_of_a_conversation),
		T(an_answer_has_a_hundred_calls_at_most),
		T(reasoning_goes_back_only_to_those_who_want_it),
		T(long_results_are_cut_to_the_window),
		T(the_token_budget_stops_before_anything_is_done),
		T(negative_usage_cannot_stretch_the_budget),
		T(worthless_usage_is_estimated),
		T(the_number_of_steps_is_bounded),
		T(standing_still_is_noticed),
		T(cancels_before_the_first_byte),
		T(cancels_in_the_middle_of_an_answer),
		T(cancels_from_inside_an_event),
		T(cancels_while_a_retry_waits),
		T(cancels_a_running_tool),
		T(closing_ends_a_turn_without_a_word),
		T(one_turn_at_a_time),
		T(remembers_across_a_restart),
		T(new_begins_afresh),
		T(new_while_a_turn_runs_keeps_them_apart),
		T(history_fits_the_window),
		T(a_provider_that_counts_more_gets_less_history_once),
		T(a_database_that_fails_is_told),
		T(what_is_not_set_up_is_named),
		T(a_bad_address_is_refused_at_once),
		T(input_that_is_no_text_is_told),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as the program does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
