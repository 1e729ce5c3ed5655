/* The table of texts: complete in both languages, fit for a phone, filled as asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "channel/words.h"

static bool has_cjk(struct view v)
{
	return words_detect(v) == LANG_ZH;
}

/* plain: it goes out as it stands. */
static void check_text(struct str *s, enum control_language lang, bool plain)
{
	struct view v = str_view(s);

	assert_true(str_ok(s));
	assert_true(v.n > 1);
	assert_true(utf8_valid(v));
	assert_true(utf8_count(v) <= 1800);
	assert_null(memchr(v.p, '{', v.n));
	/* What WeChat would render or swallow (wire reference, 7.3). */
	for (size_t i = 0; plain && i < v.n; i++)
		assert_null(memchr("<>_*`~", v.p[i], 6));
	if (lang == LANG_EN)
		assert_false(has_cjk(v));
}

static void check(struct str *s, enum control_language lang)
{
	check_text(s, lang, true);
}

/* Why something failed: shown inside another text, which keeps the names in it. */
static bool is_reason(enum speech code)
{
	return code <= SPEECH_WHY_NOT_KEPT;
}

/* A frame around what is worded already has no words of its own. */
static bool is_frame(enum speech code)
{
	return code == SPEECH_WHY || code == SPEECH_DATED || code == SPEECH_CALLED ||
	       code == SPEECH_IS_AGENT || code == SPEECH_MODEL_AT;
}

static void every_text_is_there_in_both_languages(void **state)
{
	(void)state;
	for (int w = 0; w < W_COUNT; w++) {
		for (int lang = LANG_AUTO; lang <= LANG_EN; lang++) {
			struct str s = STR_INIT(8192);

			assert_int_equal(0, words(&s, (enum control_language)lang, (enum word)w,
						    "1", "2", "3"));
			check(&s, (enum control_language)lang);
			str_release(&s);
		}
	}
}

/* Of a speech with arguments that no text holds: which of them are in it, as bits. */
static unsigned int spoken(bool zh, enum speech code)
{
	static const char *const args[SPEECH_ARGS_MAX + 1] = { "1001", "1002", "1003", NULL };
	struct str s = STR_INIT(8192);
	unsigned int used = 0;

	assert_int_equal(0, words_speech(&s, zh, code, args));
	check_text(&s, zh ? LANG_ZH : LANG_EN, !is_reason(code));
	for (unsigned int i = 0; i < SPEECH_ARGS_MAX; i++)
		if (strstr(str_cstr(&s), args[i]))
			used |= 1U << i;
	str_release(&s);
	return used;
}

/* Of a reason, a language may leave out in what words it was known first. */
static void every_speech_is_there_in_both_languages_with_the_same_arguments(void **state)
{
	(void)state;
	for (int code = 0; code < SPEECH_COUNT; code++) {
		static const char *const none[] = { NULL };
		unsigned int zh = spoken(true, (enum speech)code);
		struct str s = STR_INIT(8192);

		if (!is_reason((enum speech)code)) {
			assert_int_equal(zh, spoken(false, (enum speech)code));
			assert_int_equal(0, zh & (zh + 1)); /* {2} never without {1} */
		}
		assert_int_equal(0, words_speech(&s, true, (enum speech)code, none));
		if (!is_frame((enum speech)code))
			assert_true(has_cjk(str_view(&s)));
		str_release(&s);
	}
}

static void every_wording_is_there_in_both_languages_with_the_same_arguments(void **state)
{
	static const char *const args[] = { "1001", "1002", NULL };

	(void)state;
	for (int code = 0; code < WORDING_COUNT; code++) {
		struct str zh = STR_INIT(100), en = STR_INIT(100);

		assert_int_equal(0, words_wording(&zh, true, (enum wording)code, args));
		assert_int_equal(0, words_wording(&en, false, (enum wording)code, args));
		check_text(&zh, LANG_ZH, true);
		check_text(&en, LANG_EN, true);
		for (size_t i = 0; args[i]; i++)
			assert_int_equal(strstr(str_cstr(&zh), args[i]) != NULL,
				strstr(str_cstr(&en), args[i]) != NULL);
		str_release(&zh);
		str_release(&en);
	}
}

static void every_text_uses_the_same_arguments_in_both_languages(void **state)
{
	static const char *const args[] = { "1001", "1002", "1003", "1004", "1005" };

	(void)state;
	for (int w = 0; w < W_COUNT; w++) {
		struct str zh = STR_INIT(8192), en = STR_INIT(8192);

		assert_int_equal(0, words(&zh, LANG_ZH, (enum word)w, args[0], args[1], args[2],
					    args[3], args[4]));
		assert_int_equal(0, words(&en, LANG_EN, (enum word)w, args[0], args[1], args[2],
					    args[3], args[4]));
		for (size_t i = 0; i < sizeof(args) / sizeof(*args); i++)
			assert_int_equal(strstr(str_cstr(&zh), args[i]) != NULL,
				strstr(str_cstr(&en), args[i]) != NULL);
		str_release(&zh);
		str_release(&en);
	}
}

static void every_failure_has_words_and_shows_its_detail(void **state)
{
	(void)state;
	for (int f = ENGINE_FAIL_DEADLINE; f <= ENGINE_FAIL_INTERNAL; f++) {
		for (int lang = LANG_ZH; lang <= LANG_EN; lang++) {
			struct str s = STR_INIT(8192);
			bool own = f == ENGINE_FAIL_DEADLINE;

			assert_int_equal(0, words_fail(&s, (enum control_language)lang,
						    (enum engine_fail)f, "the detail"));
			check(&s, LANG_ZH);
			assert_int_equal(!own, strstr(str_cstr(&s), "the detail") != NULL);
			str_reset(&s);
			assert_int_equal(0, words_fail(&s, (enum control_language)lang,
						    (enum engine_fail)f, ""));
			check(&s, (enum control_language)lang);
			assert_null(strstr(str_cstr(&s), "()"));
			assert_null(strstr(str_cstr(&s), "（）"));
			str_release(&s);
		}
	}
}

/* To be typed again, so the full-width form of an underscore will not do. */
static void names_in_a_failure_stand_in_code_spans(void **state)
{
	static const struct {
		const char *detail, *shown;
	} rows[] = {
		{ "model.base_url is not set", "(`model.base_url` is not set)" },
		{ "see model.api_key_file.", "(see `model.api_key_file`.)" },
		{ "a_b", "(`a_b`)" },
		{ "HTTP 400: use max_tokens, not `max-tokens`",
			"(HTTP 400: use `max_tokens`, not ｀max-tokens｀)" },
		{ "plain 中文_x *y*", "(plain 中文＿x ＊y＊)" },
		{ "_ __ ._.", "(＿ ＿＿ .＿.)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str s = STR_INIT(8192);

		assert_int_equal(0, words_fail(&s, LANG_EN, ENGINE_FAIL_REFUSED, rows[i].detail));
		if (!strstr(str_cstr(&s), rows[i].shown))
			fail_msg("%s", str_cstr(&s));
		str_release(&s);
	}
}

static void an_unknown_failure_is_an_internal_one(void **state)
{
	struct str s = STR_INIT(8192);

	(void)state;
	assert_int_equal(0, words_fail(&s, LANG_EN, (enum engine_fail)999, NULL));
	assert_non_null(strstr(str_cstr(&s), "inside the program"));
	str_release(&s);
}

static void missing_arguments_leave_nothing_behind(void **state)
{
	struct str s = STR_INIT(8192);

	(void)state;
	assert_int_equal(0, words(&s, LANG_EN, W_STATUS_QUEUE, "3"));
	assert_string_equal("Waiting: 3 of ", str_cstr(&s));
	str_release(&s);
}

static void tells_the_language_of_a_text(void **state)
{
	static const struct {
		const char *text;
		enum control_language lang;
	} rows[] = {
		{ "", LANG_AUTO },
		{ "123 !?", LANG_AUTO },
		{ "👍", LANG_AUTO },
		{ "hello", LANG_EN },
		{ "你好", LANG_ZH },
		{ "帮我看看 README.md 里写了什么", LANG_ZH },
		{ "please translate 你好 for me", LANG_EN },
		{ "ok 好", LANG_ZH },
		{ "Ça va bien", LANG_EN },
		{ "привет", LANG_EN },
		{ "\xff\xfe", LANG_AUTO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(rows[i].lang, words_detect(view_of(rows[i].text)));
}

static void a_few_latin_words_do_not_end_chinese(void **state)
{
	static const struct {
		const char *text;
		enum control_language lang;
	} rows[] = {
		{ "ok", LANG_AUTO },
		{ "Thank you!", LANG_AUTO },
		{ "https://example.com/a/page-of-mine.html", LANG_AUTO },
		{ "ls -la src/main.c", LANG_AUTO },
		{ "README.md notes.txt a.b c.d", LANG_AUTO },
		{ "In English, please.", LANG_EN },
		{ "please read README.md and tell me", LANG_EN },
		{ "好", LANG_ZH },
		{ "123", LANG_AUTO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(rows[i].lang, words_follow(LANG_ZH, view_of(rows[i].text)));
	assert_int_equal(LANG_AUTO, words_follow(LANG_ZH, VIEW("ok \0 ok")));
	assert_int_equal(LANG_EN, words_follow(LANG_AUTO, VIEW("ok")));
	assert_int_equal(LANG_ZH, words_follow(LANG_EN, VIEW("好")));
}

static void an_excerpt_is_one_safe_line(void **state)
{
	static const struct {
		const char *in;
		size_t max;
		const char *out;
	} rows[] = {
		{ "short", 10, "short" },
		{ "  spaced \n", 10, "spaced" },
		{ "abcdef", 5, "abcde…" },
		{ "abcde", 5, "abcde" },
		{ "一二三四", 3, "一二三…" },
		{ "a\nb", 5, "a b" },
		{ "a_b<c>*d`", 20, "a＿b＜c＞＊d｀" },
		{ "a\x1b[31mred\x1b[0m", 20, "ared" },
		{ "👩‍👩‍👧x", 2, "…" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str s = STR_INIT(1024);

		assert_int_equal(0, words_excerpt(&s, view_of(rows[i].in), rows[i].max));
		if (rows[i].max > 2)
			assert_string_equal(rows[i].out, str_cstr(&s));
		assert_true(utf8_valid(str_view(&s)));
		str_release(&s);
	}
}

static void spans_read_well(void **state)
{
	static const struct {
		int64_t ms;
		const char *zh, *en;
	} rows[] = {
		{ -5, "0 秒", "0 s" },
		{ 59999, "59 秒", "59 s" },
		{ 60000, "1 分 0 秒", "1 min 0 s" },
		{ 3599999, "59 分 59 秒", "59 min 59 s" },
		{ 3600000, "1 小时 0 分", "1 h 0 min" },
		{ 90000000, "25 小时 0 分", "25 h 0 min" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str s = STR_INIT(64);

		assert_int_equal(0, words_span(&s, LANG_ZH, rows[i].ms));
		assert_string_equal(rows[i].zh, str_cstr(&s));
		str_reset(&s);
		assert_int_equal(0, words_span(&s, LANG_EN, rows[i].ms));
		assert_string_equal(rows[i].en, str_cstr(&s));
		str_release(&s);
	}
}

static void a_quote_in_front_is_measured(void **state)
{
	static const struct {
		const char *prompt;
		size_t want;
	} rows[] = {
		{ "[quoted message: look https://a.b]\nwhat is that?", 34 },
		{ "[引用的消息：看]\n这是什么", 23 },
		{ "[quoted message: alone]", 23 },
		{ "read [quoted message: x]\ny", 0 },
		{ "[quoted", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rows[i].want, words_quote(view_of(rows[i].prompt)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_text_is_there_in_both_languages),
		cmocka_unit_test(every_text_uses_the_same_arguments_in_both_languages),
		cmocka_unit_test(every_speech_is_there_in_both_languages_with_the_same_arguments),
		cmocka_unit_test(every_wording_is_there_in_both_languages_with_the_same_arguments),
		cmocka_unit_test(every_failure_has_words_and_shows_its_detail),
		cmocka_unit_test(names_in_a_failure_stand_in_code_spans),
		cmocka_unit_test(an_unknown_failure_is_an_internal_one),
		cmocka_unit_test(missing_arguments_leave_nothing_behind),
		cmocka_unit_test(tells_the_language_of_a_text),
		cmocka_unit_test(a_few_latin_words_do_not_end_chinese),
		cmocka_unit_test(an_excerpt_is_one_safe_line),
		cmocka_unit_test(spans_read_well),
		cmocka_unit_test(a_quote_in_front_is_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
