/* The chunker: what a part may be, where it is cut, and that nothing is lost. */
#include "check.h"

static struct chunks cut(struct view text, size_t limit)
{
	struct err e = ERR_INIT;
	struct chunks c;

	assert_int_equal(chunk_text(text, limit, &c, &e), 0);
	return c;
}

/* The parts of a text, each of which must be as written. */
static void gives(const char *text, size_t limit, const char *const *want, size_t n)
{
	struct chunks c = cut(view_of(text), limit);

	for (size_t i = 0; i < n && i < c.n; i++) {
		struct str part = STR_INIT(1 << 20);

		str_add(&part, c.parts[i]);
		assert_string_equal(str_cstr(&part), want[i]);
		str_release(&part);
	}
	assert_int_equal(c.n, n);
	chunks_release(&c);
}

#define PARTS(...) \
	(const char *const[]){ __VA_ARGS__ }, \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)

static void keeps_every_promise(struct view text, size_t limit)
{
	struct chunks c = cut(text, limit);
	const char *wrong = check_parts(text, limit, &c);

	if (wrong) {
		for (size_t i = 0; i < c.n; i++)
			print_error("[%zu, limit %zu] %.*s\n", i, limit, VIEW_FMT(c.parts[i]));
		fail_msg("%s", wrong);
	}
	chunks_release(&c);
}

/* --- Where ------------------------------------------------------------------------------------ */

static void a_text_that_fits_is_one_part(void **state)
{
	(void)state;
	gives("一二三四五", 5, PARTS("一二三四五"));
	gives("一二三四五", 6, PARTS("一二三四五"));
	gives("a", 1, PARTS("a"));
	gives("a\n", 2, PARTS("a\n"));
}

static void a_text_that_shows_nothing_gives_no_part(void **state)
{
	static const char *const texts[] = { "", " ", "\n\n\n", "```\n```", "```py\n\n```\n",
		"\xe3\x80\x80" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct chunks c = cut(view_of(texts[i]), 1 + i);

		assert_int_equal(c.n, 0);
		chunks_release(&c);
		chunks_release(&c);
	}
}

static void limits_out_of_range_are_clamped(void **state)
{
	struct str text = STR_INIT(1 << 20);
	struct chunks c = cut(VIEW("ab"), 0);

	(void)state;
	assert_int_equal(c.n, 2);
	chunks_release(&c);
	for (int i = 0; i < CHUNK_LIMIT_MAX + 1; i++)
		str_addc(&text, 'x');
	c = cut(str_view(&text), 1000000);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.parts[0].n, CHUNK_LIMIT_MAX);
	chunks_release(&c);
	str_release(&text);
}

static void prefers_the_end_of_a_block(void **state)
{
	(void)state;
	gives("一二三四五六。\n\n一二三。\n四五六七八九十", 20,
		PARTS("一二三四五六。\n\n一二三。\n", "四五六七八九十"));
	gives("一二三四五六七八九。\n\n一二三。四五六七八九", 20,
		PARTS("一二三四五六七八九。\n\n", "一二三。四五六七八九"));
	gives("aaaa bbbb.\n\ncc dd. ee ff gg hh", 20,
		PARTS("aaaa bbbb.\n\n", "cc dd. ee ff gg hh"));
}

static void then_the_end_of_a_line_then_of_a_sentence(void **state)
{
	(void)state;
	gives("一二三四五六七八九十\n一二三。四五六七八九十", 20,
		PARTS("一二三四五六七八九十\n", "一二三。四五六七八九十"));
	gives("一二三四五六七八九十。一二三四五，六七八九十", 20,
		PARTS("一二三四五六七八九十。", "一二三四五，六七八九十"));
	gives("他说：“一二三四五六七！”然后一二三四五六", 20,
		PARTS("他说：“一二三四五六七！”", "然后一二三四五六"));
	gives("Aaaa bbbb cccc. Dddd eeee ffff gggg", 20,
		PARTS("Aaaa bbbb cccc. ", "Dddd eeee ffff gggg"));
	gives("See 3.14159265 and e.g. this one here", 20,
		PARTS("See 3.14159265 and ", "e.g. this one here"));
}

static void then_the_end_of_a_clause_or_word(void **state)
{
	(void)state;
	gives("一二三四五六七八，一二三四五六七", 12,
		PARTS("一二三四五六七八，", "一二三四五六七"));
	gives("aaaa bbbb cccc dddd", 12, PARTS("aaaa bbbb ", "cccc dddd"));
	gives("abcdefghijkl", 5, PARTS("abcde", "fghij", "kl"));
	/* Closing marks stay with what they close. */
	gives("一二三四五六七八九（十）", 11, PARTS("一二三四五六七八九", "（十）"));
}

static void a_heading_stays_with_what_it_heads(void **state)
{
	(void)state;
	gives("一二三四五六七八九十\n\n## 标题\n\n正文一二三四五六七八九", 22,
		PARTS("一二三四五六七八九十\n\n", "## 标题\n\n正文一二三四五六七八九"));
}

static void a_part_does_not_begin_like_a_block(void **state)
{
	(void)state;
	gives("aaaa bbbb cccc - dddd eeee", 16, PARTS("aaaa bbbb ", "cccc - dddd eeee"));
	gives("aaaa bbbb ccc # dddd eeee", 15, PARTS("aaaa bbbb ", "ccc # dddd eeee"));
}

static void a_part_does_not_begin_deep_in_a_list(void **state)
{
	(void)state;
	gives("- aaaa\n  - bbbb\n    - cccc\n  - dddd\n    - eeee\n    - ffff", 45,
		PARTS("- aaaa\n  - bbbb\n    - cccc\n", "  - dddd\n    - eeee\n    - ffff"));
}

/* --- What is not torn ------------------------------------------------------------------------- */

static void utf8_sequences_are_never_torn(void **state)
{
	(void)state;
	for (size_t prefix = 0; prefix < 3; prefix++) {
		struct str text = STR_INIT(1 << 20);

		for (size_t i = 0; i < prefix; i++)
			str_addc(&text, 'a');
		for (int i = 0; i < 4001; i++)
			str_adds(&text, "汉");
		keeps_every_promise(str_view(&text), 1);
		keeps_every_promise(str_view(&text), 1800);
		keeps_every_promise(str_view(&text), 3800);
		str_release(&text);
	}
}

static void clusters_that_fit_are_whole(void **state)
{
	(void)state;
	gives("👨‍👩‍👧👨‍👩‍👧", 9,
		PARTS("👨‍👩‍👧", "👨‍👩‍👧"));
	gives("🇨🇳🇨🇳🇨🇳", 3, PARTS("🇨🇳", "🇨🇳", "🇨🇳"));
	gives("e\xcc\x81"
	      "e\xcc\x81",
		3, PARTS("e\xcc\x81", "e\xcc\x81"));
	gives("a1\xef\xb8\x8f\xe2\x83\xa3", 3, PARTS("a", "1\xef\xb8\x8f\xe2\x83\xa3"));
	gives("aaaa\n- \xe2\x80\x8d"
	      "bb",
		8,
		PARTS("aaaa\n", "- \xe2\x80\x8d"
				"bb"));
	/* Where one alone is longer, the limit wins. */
	gives("e\xcc\x81\xcc\x82\xcc\x83", 2, PARTS("e\xcc\x81", "\xcc\x82\xcc\x83"));
}

static void urls_that_fit_are_whole(void **state)
{
	(void)state;
	gives("见 https://x.com/a_b_c/d?e=f 后", 26,
		PARTS("见 ", "https://x.com/a_b_c/d?e=f ", "后"));
	gives("[文档](https://x.com/a_(b)_c)好", 24, PARTS("[文档](", "https://x.com/a_(b)_c)好"));
	gives("一二三（https://x.com/路径）四五", 18,
		PARTS("一二三", "（https://x.com/路径）", "四五"));
	gives("https://x.com/abcdef", 10, PARTS("https://x.", "com/abcdef"));
}

static void rows_of_a_table_are_whole(void **state)
{
	(void)state;
	gives("| a | b |\n| --- | --- |\n| one two | three |\n| four | five six |\n| seven | eight |",
		62,
		PARTS("| a | b |\n| --- | --- |\n| one two | three |\n",
			"| four | five six |\n| seven | eight |"));
	gives("前文一二三四五六七八九十\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |", 44,
		PARTS("前文一二三四五六七八九十\n\n",
			"| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"));
}

static void markers_are_whole_and_not_alone(void **state)
{
	(void)state;
	gives("- aaaa bbbb\n- cccc dddd", 14, PARTS("- aaaa bbbb\n", "- cccc dddd"));
	gives("1. aaaa\n10. bbbbbb", 10, PARTS("1. aaaa\n", "10. bbbbbb"));
	gives("- ☐ aaaa\n- ☑ bbbb", 12, PARTS("- ☐ aaaa\n", "- ☑ bbbb"));
	gives("> aaaa\n> bbbb", 9, PARTS("> aaaa\n", "> bbbb"));
}

/* --- Fences ----------------------------------------------------------------------------------- */

static void closes_and_opens_fences_from_64_up(void **state)
{
	const char *text = "```python x=1\n"
			   "aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
			   "bbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
			   "cccccccccccccccccccccccccccc\n"
			   "```";

	(void)state;
	gives(text, 64,
		PARTS("```python x=1\naaaaaaaaaaaaaaaaaaaaaaaaaaaa\n```",
			"```python x=1\nbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n```",
			"```python x=1\ncccccccccccccccccccccccccccc\n```"));
	gives(text, 63,
		PARTS("```python x=1\naaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
			"bbbbbbbbbbbbbbbbbbbbbbbbbbbb\ncccccccccccccccccccccccccccc\n```"));
}

static void the_limit_counts_the_fences_it_adds(void **state)
{
	struct str text = STR_INIT(1 << 20);

	(void)state;
	str_adds(&text, "````c++\n");
	for (int i = 0; i < 4000; i++)
		str_adds(&text, i % 7 == 6 ? "\n" : "x");
	str_adds(&text, "\n````\n\n完");
	for (size_t limit = 64; limit < 200; limit++)
		keeps_every_promise(str_view(&text), limit);
	str_release(&text);
}

static void keeps_code_whole_if_it_fits(void **state)
{
	struct str text = STR_INIT(4096);
	struct chunks c;

	(void)state;
	for (int i = 0; i < 40; i++)
		str_adds(&text, "字");
	str_adds(&text, "\n\n```\n");
	for (int i = 0; i < 10; i++)
		str_adds(&text, "123456789\n");
	str_adds(&text, "```");
	c = cut(str_view(&text), 120);
	assert_int_equal(c.n, 2);
	assert_true(view_starts(c.parts[1], VIEW("```\n1234")));
	chunks_release(&c);
	str_release(&text);
}

static void fences_in_lists_and_quotes_keep_their_place(void **state)
{
	(void)state;
	gives("> ```sh\n> aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n> bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n> ```",
		72,
		PARTS("> ```sh\n> aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n> ```",
			"> ```sh\n> bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n> ```"));
	gives("- ```sh\n  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n  ```",
		72,
		PARTS("- ```sh\n  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n  ```",
			"  ```sh\n  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n  ```"));
}

static void a_longer_fence_holds_a_shorter_one(void **state)
{
	static const char *const texts[] = {
		"````markdown\n```js\nlet a = 1;\n```\ntext text text text\n```js\nlet b = 2;\n```\n````\n\nafter",
		"~~~~\n~~~\ninner inner inner inner inner\n~~~\n```\nmore more more more more more\n```\n~~~~\n\nafter",
	};
	size_t limits[] = { 64, 65, 70, 80 };

	(void)state;
	for (size_t t = 0; t < 2; t++) {
		for (size_t i = 0; i < 4; i++) {
			struct chunks c = cut(view_of(texts[t]), limits[i]);

			keeps_every_promise(view_of(texts[t]), limits[i]);
			for (size_t k = 0; k < c.n; k++)
				assert_true(
					view_starts(c.parts[k], view_cut(view_of(texts[t]), 4)) ||
					view_starts(c.parts[k], VIEW("after")));
			chunks_release(&c);
		}
	}
}

static void code_of_fences_alone_is_shown(void **state)
{
	(void)state;
	gives("````\n```\n```\n````", 64, PARTS("````\n```\n```\n````"));
}

/* A closing fence on the edge of the limit gives no tail of a bare fence. */
static void leaves_no_bare_fence_on_the_edge(void **state)
{
	static const size_t limits[] = { 64, 100, 1800 };
	static const char *const tails[] = { "```", "```\n", "```\n\n", "\n```", "```\n\n完" };

	(void)state;
	for (size_t l = 0; l < 3; l++) {
		for (size_t t = 0; t < 5; t++) {
			for (size_t n = limits[l] - 24; n <= limits[l] + 8; n++) {
				struct str text = STR_INIT(1 << 20);

				str_adds(&text, "```js\n");
				while (text.n < n)
					str_addc(&text, text.n % 20 == 19 ? '\n' : 'x');
				str_adds(&text, "x\n");
				str_adds(&text, tails[t]);
				keeps_every_promise(str_view(&text), limits[l]);
				str_release(&text);
			}
		}
	}
}

/* --- White space ------------------------------------------------------------------------------ */

static void white_space_goes_to_the_part_before(void **state)
{
	(void)state;
	gives("aaaa\n\nbbbb", 6, PARTS("aaaa\n\n", "bbbb"));
	gives("aaaa\n\nbbbb", 7, PARTS("aaaa\n\n", "bbbb"));
	/* It fits neither whole nor in part: then something seen goes along. */
	gives("aaaa\n\nbbbb", 5, PARTS("aaa", "a\n\n", "bbbb"));
}

/* Quote marks and list markers in the middle of a line, which a cut would set at a line's start. */
static void no_part_becomes_a_bare_fence(void **state)
{
	static const char text[] = "|(  - a (https://x.com/a_b)_    > > ```";

	(void)state;
	for (size_t limit = 1; limit < sizeof(text); limit++)
		keeps_every_promise(view_of(text), limit);
}

static void no_part_is_blank_if_it_can_be_helped(void **state)
{
	(void)state;
	gives("ab\n\n\ncd", 3, PARTS("a", "b\n\n", "\ncd"));
	gives("a b", 1, PARTS("a", " ", "b"));
}

/* --- Everything at once ----------------------------------------------------------------------- */

static const char *const documents[] = {
	"# 部署指南\n\n先**备份**，再 `make install`。见 https://example.com/路径/a_b_(c)?x=1&y=2。\n\n"
	"1. 第一步：\n   ```bash\n   sudo apt install foo_bar\n   # 注释 comment\n\n   ls -l /very/long/path/name\n   ```\n"
	"2. 第二步\n   - 子项一，很长很长很长很长很长很长很长很长的说明。\n   - [x] 完成\n     1. 三级\n\n"
	"| 参数 | 说明 |\n|---|---|\n| a | 一 |\n| b | 二 |\n\n> 引用。\n> > 嵌套引用，还有 [链接](https://x.com/a_b)。\n\n---\n完。",
	"````markdown\n# inner\n```js\nlet s = 'https://x.com/a_b_c';\n```\n\n\n````\n~~~\n```\n~~~\n\n```\nunclosed\n\n\nend",
	"👨‍👩‍👧‍👦 family 🇨🇳🇺🇸 flags e\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85 zalgo 1\xef\xb8\x8f\xe2\x83\xa3 가나다 नमस्ते\n\n\n\n\n\n\n\n\n\nfar",
	"Sentence one. Sentence two! Three? “Quoted.” (Parenthesised.) See https://example.com/a/very/long/url/that/goes/on/and/on?with=query&and=more#fragment for more.",
	"> ```c\n> int a;\n>\n> int b;\n> ```\n> text\n\n- ```\n  x\n  ```\n  - ~~~\n    y\n    ~~~\n",
	"   \n\n leading\n\ttabs\there   \n   trailing   ",
	"一、二；三：四！五？六…七“八”（九）【十】《书》。"
	"一、二；三：四！五？六…七“八”（九）【十】《书》。",
	"10. ten\n11. eleven\n\n- ☐ box\n- ☑ done\n\n#### four\n##### five\n",
	"```python title=\"a very long info string that does not fit into a small part at all, really\"\nprint(1)\nprint(2)\nprint(3)\n```",
	"``````````````````````````````````````````````````````````````````````````````````````\nx\n``````````````````````````````````````````````````````````````````````````````````````",
	"a\n```\nb\n```\nc\n```\nd\n```\ne",
};

static void every_document_at_every_limit(void **state)
{
	static const size_t far[] = { 1800, 3800 };

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		struct view raw = view_of(documents[i]);
		struct str native = formatted(raw, FORMAT_NATIVE, 0);
		struct str plain = formatted(raw, FORMAT_PLAIN, 0);

		for (size_t limit = 1; limit <= 200; limit++) {
			keeps_every_promise(raw, limit);
			keeps_every_promise(str_view(&native), limit);
			keeps_every_promise(str_view(&plain), limit);
		}
		for (size_t k = 0; k < 2; k++) {
			keeps_every_promise(raw, far[k]);
			keeps_every_promise(str_view(&native), far[k]);
		}
		str_release(&native);
		str_release(&plain);
	}
}

/* The parts of a long answer: few, and none of them small but the last. */
static void long_answers_are_packed(void **state)
{
	struct str in = STR_INIT(1 << 20), out;
	struct chunks c;

	(void)state;
	for (int i = 0; i < 200; i++)
		str_addf(&in, "%d. 这是第 %d 点，说明**要点**和 `code_%d`，以及更多的文字。\n",
			i + 1, i + 1, i);
	out = formatted(str_view(&in), FORMAT_NATIVE, 0);
	c = cut(str_view(&out), CHUNK_LIMIT_DEFAULT);
	assert_int_equal(c.n, (utf8_count(str_view(&out)) + 1799) / 1800);
	for (size_t i = 0; i + 1 < c.n; i++)
		assert_true(utf8_count(c.parts[i]) > 1700);
	keeps_every_promise(str_view(&out), CHUNK_LIMIT_DEFAULT);
	chunks_release(&c);
	str_release(&in);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_that_fits_is_one_part),
		cmocka_unit_test(a_text_that_shows_nothing_gives_no_part),
		cmocka_unit_test(limits_out_of_range_are_clamped),
		cmocka_unit_test(prefers_the_end_of_a_block),
		cmocka_unit_test(then_the_end_of_a_line_then_of_a_sentence),
		cmocka_unit_test(then_the_end_of_a_clause_or_word),
		cmocka_unit_test(a_heading_stays_with_what_it_heads),
		cmocka_unit_test(a_part_does_not_begin_like_a_block),
		cmocka_unit_test(a_part_does_not_begin_deep_in_a_list),
		cmocka_unit_test(utf8_sequences_are_never_torn),
		cmocka_unit_test(clusters_that_fit_are_whole),
		cmocka_unit_test(urls_that_fit_are_whole),
		cmocka_unit_test(rows_of_a_table_are_whole),
		cmocka_unit_test(markers_are_whole_and_not_alone),
		cmocka_unit_test(closes_and_opens_fences_from_64_up),
		cmocka_unit_test(the_limit_counts_the_fences_it_adds),
		cmocka_unit_test(keeps_code_whole_if_it_fits),
		cmocka_unit_test(fences_in_lists_and_quotes_keep_their_place),
		cmocka_unit_test(a_longer_fence_holds_a_shorter_one),
		cmocka_unit_test(code_of_fences_alone_is_shown),
		cmocka_unit_test(leaves_no_bare_fence_on_the_edge),
		cmocka_unit_test(white_space_goes_to_the_part_before),
		cmocka_unit_test(no_part_becomes_a_bare_fence),
		cmocka_unit_test(no_part_is_blank_if_it_can_be_helped),
		cmocka_unit_test(every_document_at_every_limit),
		cmocka_unit_test(long_answers_are_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
