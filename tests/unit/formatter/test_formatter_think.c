/* Hidden reasoning goes, code stays, and it does not matter how the text is cut on its way. */
#include "check.h"

static void feed(struct view in, size_t piece, struct str *out)
{
	struct think_filter *t;
	struct err e = ERR_INIT;

	assert_int_equal(think_open(&t, &e), 0);
	while (in.n > 0) {
		struct view now = view_cut(in, piece);

		assert_int_equal(think_feed(t, now, out), 0);
		in = view_from(in, now.n);
	}
	assert_int_equal(think_end(t, out), 0);
	think_close(&t);
	assert_null(t);
}

/* In one call, byte by byte, and in pieces of a few sizes. */
static void gives(const char *in, const char *want)
{
	static const size_t pieces[] = { 1 << 20, 1, 2, 3, 5, 7, 64 };

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct str out = STR_INIT(1 << 20);

		feed(view_of(in), pieces[i], &out);
		assert_string_equal(str_cstr(&out), want);
		str_release(&out);
	}
}

static void removes_each_tag_in_any_case(void **state)
{
	(void)state;
	gives("<think>secret</think>answer", "answer");
	gives("<thinking>secret</thinking>answer", "answer");
	gives("<thought>secret</thought>answer", "answer");
	gives("<reasoning>secret</reasoning>answer", "answer");
	gives("<ThInK>secret</THINK>answer", "answer");
	gives("<think type=\"deep\">secret</think >answer", "answer");
	gives("one <think>secret</think>two", "one two");
	gives("a<think/>b", "ab");
	gives("<think>secret</thinking>answer", "answer");
}

static void removes_what_is_never_closed(void **state)
{
	(void)state;
	gives("answer\n<think>secret\nand more", "answer\n");
	gives("<think>", "");
	gives("<think>secret</thi", "");
	gives("answer <thi", "answer <thi");
}

static void counts_nested_tags(void **state)
{
	(void)state;
	gives("<think>a<think>b</think>c</think>answer", "answer");
	gives("<think>a<reasoning>b</reasoning>c</think>answer", "answer");
	gives("<think>the \"<think>\" tag</think>answer", "answer");
	gives("<think>say `<think>` now</think>answer", "answer");
	gives("<think>use `x`</think>answer", "answer");
}

static void a_lone_end_tag_goes(void **state)
{
	(void)state;
	gives("one</think> two", "one two");
}

static void leaves_other_tags_alone(void **state)
{
	static const char *const same[] = { "<thin>x</thin>", "<thinker>", "a < think > b",
		"<b>think</b>", "<", "<<think", "</", "< think>", "<think\n>x", "1<2",
		"<thinking_x>" };

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		gives(same[i], same[i]);
}

static void leaves_code_alone(void **state)
{
	static const char *const same[] = {
		"`<think>` and `</think>`",
		"`` a`<think>b ``",
		"over `two\nlines <think>` of it",
		"```\n<think>x</think>\n```\n",
		"```xml\n<think>\n```\nafter",
		"~~~\n<think>\n~~~\n",
		"````\n```\n<think>\n```\n````\n",
		"- a\n  ```\n  <think>\n  ```\n",
		"> ```\n> <think>\n> ```\n",
		"```\n<think> never closed",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		gives(same[i], same[i]);
}

static void code_that_is_none_hides_nothing(void **state)
{
	(void)state;
	gives("a ` b <think>secret</think>c\n\nd `", "a ` b c\n\nd `");
	gives("```a``` <think>secret</think>b", "```a``` b");
	gives("`a\n\n<think>secret</think>b`", "`a\n\nb`");
	gives("```\ncode\n```\n<think>secret</think>b", "```\ncode\n```\nb");
	gives("- ```\n  code\n\nout <think>secret</think>x", "- ```\n  code\n\nout x");
	gives("> ```\n> code\nout <think>secret</think>x", "> ```\n> code\nout x");
}

static void blank_lines_go_with_what_stood_alone(void **state)
{
	(void)state;
	gives("<think>\nsecret\n</think>\n\nanswer", "answer");
	gives("a\n\n<think>secret</think>\n\nb", "a\n\nb");
	gives("<think>secret</think>\n    indented", "    indented");
}

static void a_fence_may_follow_at_once(void **state)
{
	(void)state;
	gives("<think>x</think>```\n<think>\n```\n<think>y</think>z", "```\n<think>\n```\nz");
}

static void long_reasoning_is_no_fault(void **state)
{
	struct str in = STR_INIT(1 << 20), out;

	(void)state;
	str_adds(&in, "<think>");
	for (int i = 0; i < 5000; i++)
		str_addc(&in, 'x');
	str_adds(&in, "</think>\n\n答案");
	out = formatted(str_view(&in), FORMAT_NATIVE, 0);
	assert_string_equal(str_cstr(&out), "答案");
	str_release(&out);
	str_release(&in);
}

/* A line far longer than is ever held, tags at every distance from where it is cut. */
static void long_lines_are_cut_between_tags(void **state)
{
	(void)state;
	for (size_t shift = 0; shift < 40; shift++) {
		struct str in = STR_INIT(1 << 20), want = STR_INIT(1 << 20),
			   out = STR_INIT(1 << 20);

		for (size_t i = 0; i < 65536 - 20 - shift * 8; i++) {
			str_addc(&in, 'a');
			str_addc(&want, 'a');
		}
		for (int i = 0; i < 100; i++) {
			str_adds(&in, "<think>no</think>yes");
			str_adds(&want, "yes");
		}
		feed(str_view(&in), shift % 2 ? 1 << 20 : 61, &out);
		assert_true(view_eq(str_view(&out), str_view(&want)));
		str_release(&in);
		str_release(&want);
		str_release(&out);
	}
}

static void text_formatting_uses_it(void **state)
{
	(void)state;
	both("<think>secret</think>\n\n答案", "答案");
	both("想一想\n</think>\n\n答案", "答案");
	both("<think>x</think>一\n</think>\n\n二", "一\n\n二");
	both("用 </think> 结束", "用  结束");
	native("`<think>`", "`<think>`");
}

static void memory_that_runs_out_is_an_error(void **state)
{
	struct think_filter *t;
	struct str out = STR_INIT(4);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(think_open(&t, &e), 0);
	assert_int_equal(think_feed(t, VIEW("12345\n"), &out), -1);
	think_close(&t);
	think_close(&t);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removes_each_tag_in_any_case),
		cmocka_unit_test(removes_what_is_never_closed),
		cmocka_unit_test(counts_nested_tags),
		cmocka_unit_test(a_lone_end_tag_goes),
		cmocka_unit_test(leaves_other_tags_alone),
		cmocka_unit_test(leaves_code_alone),
		cmocka_unit_test(code_that_is_none_hides_nothing),
		cmocka_unit_test(blank_lines_go_with_what_stood_alone),
		cmocka_unit_test(a_fence_may_follow_at_once),
		cmocka_unit_test(long_reasoning_is_no_fault),
		cmocka_unit_test(long_lines_are_cut_between_tags),
		cmocka_unit_test(text_formatting_uses_it),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
