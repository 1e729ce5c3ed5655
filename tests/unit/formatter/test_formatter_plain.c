/* Plain mode: the same text without a mark. */
#include <ctype.h>

#include "check.h"

static void removes_the_marks_of_inline_text(void **state)
{
	(void)state;
	plain("**粗** *斜* _italic_ ***都*** ~~删~~ `code_x` <b>html</b>",
		"粗 斜 italic 都 删 code_x html");
	plain("**注意：**请，他说**“好”**就走", "注意：请，他说“好”就走");
	plain("**用 `make` 编译：**见下", "用 make 编译：见下");
	plain("a **b *c* d** e", "a b c d e");
	plain("\\*\\*原样\\*\\* \\~\\~x\\~\\~", "**原样** ~~x~~");
	plain("一\\\n二  \n三\n四", "一\n二\n三\n四");
}

static void leaves_what_is_no_mark(void **state)
{
	static const char *const same[] = {
		"snake_case_name 与 __init__.py",
		"2*3*4=24，x**2 + y**2",
		"src/**/*.ts 与 *.js",
		"$5、$HOME、${PATH}、$(date)",
		"a < b > c，Vec<T>，<your_name>",
		"3~5天，10~20个",
		"选 a | b",
		"C:\\dir\\name",
		"~/a 和 ~/b",
		"#话题 与 C#",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		plain(same[i], same[i]);
}

static void sets_headings_and_rules_apart(void **state)
{
	(void)state;
	plain("# 一\n正文\n## 二 `x` **y**\n正文\n\n***\n\n完",
		"一\n\n正文\n\n二 x y\n\n正文\n\n──────────\n\n完");
	plain("标题\n===", "标题");
}

static void draws_lists(void **state)
{
	(void)state;
	plain("- a\n  - b\n    - c\n      - d\n- e", "• a\n  ◦ b\n    ▪ c\n      • d\n• e");
	plain("1. a\n   续行\n2. b\n   1. c", "1. a\n   续行\n2. b\n   1. c");
	plain("9) a\n10) b\n    - c", "9) a\n10) b\n    ◦ c");
	plain("- [ ] 待办\n- [x] 完成\n  - [ ] 子项", "☐ 待办\n☑ 完成\n  ☐ 子项");
	plain("* a\n\n  第二段\n* b", "• a\n\n  第二段\n• b");
}

static void draws_quotes(void **state)
{
	(void)state;
	plain("> 一\n> 二\n>\n> 三\n\n后", "│ 一\n│ 二\n│\n│ 三\n\n后");
	plain("> 外\n> > 内", "│ 外\n│\n│ │ 内");
}

static void shows_where_links_go(void **state)
{
	(void)state;
	plain("[文档](https://x.com/a_b)", "文档 (https://x.com/a_b)");
	plain("[https://x.com](https://x.com)", "https://x.com");
	plain("[x.com](https://x.com/)", "https://x.com/");
	plain("[本地](./a_b.md) [点](javascript:x)", "本地 (./a_b.md) 点");
	plain("<me@x.com>", "me@x.com");
}

static void indents_code_and_wraps_none(void **state)
{
	(void)state;
	plain("看：\n```c\nint main(void)\n{\n\treturn a_b;\n}\n```\n完",
		"看：\n\n    int main(void)\n    {\n    \treturn a_b;\n    }\n\n完");
	plain("- x\n  ```\n  a\n\n  b\n  ```", "• x\n      a\n\n      b");
}

static void aligns_tables_by_display_width(void **state)
{
	(void)state;
	plain("| 名称 | n |\n|---|--:|\n| 苹果 | 5 |\n| a | 100 |",
		"名称    n\n─────────\n苹果    5\na     100");
	plain("| x | y |\n|:-:|---|\n| 👨‍👩‍👧 | 家 |\n| 🇨🇳ab | b |",
		" x    y\n────────\n 👨‍👩‍👧   家\n🇨🇳ab  b");
}

/* The columns of every line begin at the same cell, whatever is in them. */
static void aligns_a_long_table_of_mixed_widths(void **state)
{
	static const char *const cells[] = { "苹果", "e\xcc\x81", "🍎", "①②", "ｱｲ", "“引”",
		"👩🏽‍💻", "~", "café", "──" };
	struct str in = STR_INIT(1 << 20), out;
	struct view rest, line;
	int rows = 0;

	(void)state;
	str_adds(&in, "| 名称 | 值 |\n|---|---|\n");
	for (int i = 0; i < 33; i++)
		str_addf(&in, "| %s%d | X%d |\n", cells[i % 10], i, i);
	out = formatted(str_view(&in), FORMAT_PLAIN, 0);
	rest = str_view(&out);
	while (rest.n > 0) {
		line = take_line(&rest);
		for (size_t at = 0; at < line.n; at++) {
			if (line.p[at] == 'X')
				assert_int_equal(utf8_width(view_cut(line, at)), 8);
		}
		rows++;
	}
	assert_int_equal(rows, 35);
	str_release(&in);
	str_release(&out);
}

static void makes_wide_tables_records(void **state)
{
	(void)state;
	plain("| 参数 | 说明 |\n|---|---|\n| `host` | 服务器的主机名或者地址，默认只监听本机的回环地址 |\n| 端口 | 数字 |",
		"参数 / 说明\nhost: 服务器的主机名或者地址，默认只监听本机的回环地址\n端口：数字");
	plain("| 型号 | 价格 | 特点 |\n|---|---|---|\n| A | 5999 | 屏幕很好，续航也不错，拍照很清楚，就是贵 |\n| B | | 便宜 |",
		"型号：A\n价格：5999\n特点：屏幕很好，续航也不错，拍照很清楚，就是贵\n\n型号：B\n特点：便宜");
}

static void deep_nesting_is_set_flat(void **state)
{
	struct str in = STR_INIT(1 << 20), out;

	(void)state;
	for (int depth = 31; depth <= 34; depth++) {
		str_reset(&in);
		for (int i = 0; i < depth; i++)
			str_adds(&in, "> ");
		str_adds(&in, "深");
		out = formatted(str_view(&in), FORMAT_PLAIN, 0);
		assert_int_equal(utf8_count(str_view(&out)), 2 * (depth < 32 ? depth : 32) + 1);
		assert_true(view_ends(str_view(&out), VIEW("深")));
		str_release(&out);
	}
	str_release(&in);
}

/* --- What goes for both modes ----------------------------------------------------------------- */

static void nothing_in_is_nothing_out(void **state)
{
	static const char *const empty[] = { "", " ", "\n\n", "<think>x", "```\n\n```",
		"<!-- x -->", "\x1b[0m", "[a]: https://x.com" };

	(void)state;
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		both(empty[i], "");
}

static void escape_sequences_never_pass(void **state)
{
	(void)state;
	both("\x1b[31m红\x1b[0m \x1b[38;2;1;2;3m色", "红 色");
	both("\x1b]8;;https://x.com\x1b\\链接\x1b]8;;\x1b\\", "链接");
	both("\x1b]0;title\x07正文\x1bPdcs\x1b\\完", "正文完");
	both("末尾\x1b[3", "末尾");
	both("\xe2\x80\xae倒\xe2\x81\xa6", "倒");
	both("a&#27;[31mb&#x202e;c", "abc");
	native("```\n\x1b[1mx\x1b[0m\n```", "```\nx\n```");
	both("\xff\xfe坏", "\xef\xbf\xbd\xef\xbf\xbd坏");
	native("[a](</a&#10;b&#27;[1mc>)", "a (`/abc`)");
}

static void windows_line_ends_are_line_ends(void **state)
{
	(void)state;
	both("a\r\nb\r\n\r\n1. c\r\n", "a\nb\n\n1. c");
}

static void noncharacters_are_replaced(void **state)
{
	(void)state;
	both("a\xef\xb7\x90"
	     "b\xef\xb7\xaf",
		"a\xef\xbf\xbd"
		"b\xef\xbf\xbd");
}

static void a_text_over_the_ceiling_is_an_error(void **state)
{
	struct format_opts o = { FORMAT_NATIVE, 0 };
	struct str out = STR_INIT(8);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(format_text(VIEW("12345678"), &o, &out, &e), 0);
	str_reset(&out);
	assert_int_equal(format_text(VIEW("123456789"), &o, &out, &e), -1);
	assert_int_equal(e.code, E_NOMEM);
	str_release(&out);
}

/* --- Long documents --------------------------------------------------------------------------- */

static size_t count_of(struct view v, struct view what)
{
	size_t n = 0;

	for (size_t i = 0; i + what.n <= v.n; i++)
		n += memcmp(v.p + i, what.p, what.n) == 0;
	return n;
}

static void a_long_document_is_cut_where_blocks_end(void **state)
{
	struct str in = STR_INIT(4 << 20), out;

	(void)state;
	for (int i = 0; i < 4000; i++)
		str_addf(&in, "第%d段 **粗体** 文字。\n\n```sh\necho \"**%d**\"\n\n# x\n```\n\n", i,
			i);
	assert_true(in.n > (64 << 10));
	out = formatted(str_view(&in), FORMAT_PLAIN, 0);
	assert_int_equal(count_of(str_view(&out), VIEW("**")), 2 * 4000);
	assert_int_equal(count_of(str_view(&out), VIEW("    # x")), 4000);
	assert_int_equal(count_of(str_view(&out), VIEW("```")), 0);
	str_release(&out);
	str_release(&in);
}

static void code_longer_than_a_piece_stays_code(void **state)
{
	struct str in = STR_INIT(4 << 20), out;

	(void)state;
	str_adds(&in, "**前**\n\n```py x\n");
	for (int i = 0; i < 20000; i++)
		str_adds(&in, "a_b < c_d **x**\n\n");
	str_adds(&in, "```\n\n**后**");
	out = formatted(str_view(&in), FORMAT_NATIVE, 0);
	assert_true(view_starts(str_view(&out), VIEW("**前**\n\n```py x\na_b < c_d **x**\n\na_b")));
	assert_true(view_ends(str_view(&out), VIEW("a_b < c_d **x**\n```\n\n**后**")));
	str_release(&out);
	out = formatted(str_view(&in), FORMAT_PLAIN, 0);
	assert_int_equal(count_of(str_view(&out), VIEW("    a_b < c_d **x**")), 20000);
	assert_true(view_ends(str_view(&out), VIEW("\n\n后")));
	str_release(&out);
	str_release(&in);
}

static void a_paragraph_longer_than_a_piece_is_sent_as_it_is(void **state)
{
	struct str in = STR_INIT(4 << 20), out;

	(void)state;
	for (int i = 0; i < 10000; i++)
		str_adds(&in, "**a** < b_c_d\n");
	str_adds(&in, "\n**后**");
	out = formatted(str_view(&in), FORMAT_NATIVE, 0);
	assert_int_equal(count_of(str_view(&out), VIEW("＜ b＿c＿d")), 10000);
	assert_true(view_ends(str_view(&out), VIEW("\n\n**后**")));
	str_release(&out);
	str_release(&in);
}

/* Work that grows with the square would not end here: both lengths are over a piece's, and the
 * program is given half a minute (CMakeLists.txt). */
#define LONG_BYTES ((size_t)96 << 10)
#define RUN_BYTES  ((size_t)72 << 10)

static void chunks_end(struct view formatted)
{
	struct err e = ERR_INIT;
	struct chunks c;

	assert_int_equal(chunk_text(formatted, 1800, &c, &e), 0);
	chunks_release(&c);
}

static void hostile_input_ends(void **state)
{
	static const char *const units[] = { "[", "`", "|", "> ", "![[]()", "*a ", "<", "- ", "_a",
		"~~", "$a", "\\[", "`a``b", "|a|b\n|-|-\n", "[a]: b\n[a]\n\n", "&#27;", "<!--",
		"<think>", "<a href=\"", "```\n", "> ```\n", "1. a\n\n", "]:" };
	struct str in = STR_INIT(2 << 20), out;

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		str_reset(&in);
		while (in.n < LONG_BYTES)
			str_adds(&in, units[i]);
		out = formatted(str_view(&in), FORMAT_NATIVE, 0);
		chunks_end(str_view(&out));
		str_release(&out);
	}
	str_release(&in);
}

static void run_ends(char c, size_t bytes)
{
	struct str in = STR_INIT(2 << 20), native, plain;

	while (in.n < bytes)
		str_addc(&in, c);
	native = formatted(str_view(&in), FORMAT_NATIVE, 0);
	plain = formatted(str_view(&in), FORMAT_PLAIN, 0);
	chunks_end(str_view(&native));
	if (!view_eq(str_view(&plain), str_view(&native)))
		chunks_end(str_view(&plain));
	str_release(&in);
	str_release(&native);
	str_release(&plain);
}

/* Any character that a rule knows, and one of each kind that none tells from its like, at length;
 * those like it in short. */
static void a_run_of_any_character_ends(void **state)
{
	static const char more[] = " \t\n\r\f\x1b\x01 ah0"; /* than punctuation */

	(void)state;
	for (char c = 1; c < 0x7f; c++)
		run_ends(c, ispunct(c) || strchr(more, c) ? RUN_BYTES : 1 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removes_the_marks_of_inline_text),
		cmocka_unit_test(leaves_what_is_no_mark),
		cmocka_unit_test(sets_headings_and_rules_apart),
		cmocka_unit_test(draws_lists),
		cmocka_unit_test(draws_quotes),
		cmocka_unit_test(shows_where_links_go),
		cmocka_unit_test(indents_code_and_wraps_none),
		cmocka_unit_test(aligns_tables_by_display_width),
		cmocka_unit_test(aligns_a_long_table_of_mixed_widths),
		cmocka_unit_test(makes_wide_tables_records),
		cmocka_unit_test(deep_nesting_is_set_flat),
		cmocka_unit_test(nothing_in_is_nothing_out),
		cmocka_unit_test(escape_sequences_never_pass),
		cmocka_unit_test(windows_line_ends_are_line_ends),
		cmocka_unit_test(noncharacters_are_replaced),
		cmocka_unit_test(a_text_over_the_ceiling_is_an_error),
		cmocka_unit_test(a_long_document_is_cut_where_blocks_end),
		cmocka_unit_test(code_longer_than_a_piece_stays_code),
		cmocka_unit_test(a_paragraph_longer_than_a_piece_is_sent_as_it_is),
		cmocka_unit_test(hostile_input_ends),
		cmocka_unit_test(a_run_of_any_character_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
