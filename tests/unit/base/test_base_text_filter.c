/* Controls and escape sequences (ECMA-48): gone, the text kept, whatever the split. */
#include "base/text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FFFD     "\xef\xbf\xbd"
#define NI       "\xe4\xbd\xa0"
#define BOTH     (TEXT_KEEP_LF | TEXT_KEEP_TAB)

static const struct {
	struct view in;
	const char *want;
} rows[] = {
	{ VIEW(""), "" },
	{ VIEW("plain " NI " text ~"), "plain " NI " text ~" },
	/* CSI */
	{ VIEW("\x1b[31mred\x1b[0m"), "red" },
	{ VIEW("\x1b[38;2;1;2;3mtrue\x1b[48:2::1:2:3mcolour\x1b[m"), "truecolour" },
	{ VIEW("\x1b[?25l\x1b[2J\x1b[1;1Hx\x1b[>0c\x1b[!p\x1b[1 qy"), "xy" },
	{ VIEW("a\x1b[200~b"), "ab" },
	{ VIEW("\xc2\x9b"
	       "31mred\xc2\x9bm"),
		"red" },
	{ VIEW("a\x1b[31"), "a" },
	{ VIEW("a\x1b["), "a" },
	{ VIEW("a\x1b"), "a" },
	{ VIEW("a\x1b[3\nb"), "a\nb" },
	{ VIEW("a\x1b[3" NI "b"), "a" NI "b" },
	{ VIEW("a\x1b[3\x1b[1mb"), "ab" },
	{ VIEW("a\x1b[3\x18"
	       "1mb"),
		"a1mb" },
	{ VIEW("a\x1b[3\x1a"
	       "1mb"),
		"a1mb" },
	{ VIEW("\x1b[31\xff"
	       "m"),
		FFFD "m" },
	/* OSC */
	{ VIEW("\x1b]0;title\x07text"), "text" },
	{ VIEW("\x1b]0;title\x1b\\text"), "text" },
	{ VIEW("\x1b]8;;https://e.org/\x1b\\link\x1b]8;;\x1b\\!"), "link!" },
	{ VIEW("\xc2\x9d"
	       "0;title\xc2\x9ctext"),
		"text" },
	{ VIEW("\x1b]0;" NI "\xe5\x9c\x9c\x07text"),
		"text" }, /* 9C inside a character ends nothing */
	{ VIEW("\x1b]52;c;aGVsbG8=\x07text"), "text" },
	{ VIEW("a\x1b]0;never ended"), "a" },
	{ VIEW("a\x1b]0;never ended\nnext line"), "a\nnext line" },
	{ VIEW("a\x1b]0;x\x18"
	       "b"),
		"ab" },
	{ VIEW("a\x1b]0;x\x1b[1mb"), "ab" },
	/* DCS, SOS, PM, APC */
	{ VIEW("\x1bPq#0;2;0\n#1~~@@\x1b\\text"), "text" },
	{ VIEW("\xc2\x90q\x07still\xc2\x9ctext"), "text" },
	{ VIEW("\x1bXsos\x1b\\a\x1b^pm\x1b\\b\x1b_Gf=24;AAAA\x1b\\c"), "abc" },
	{ VIEW("\xc2\x98sos\xc2\x9c"
	       "a\xc2\x9epm\xc2\x9c"
	       "b\xc2\x9f"
	       "apc\xc2\x9c"
	       "c"),
		"abc" },
	{ VIEW("a\x1bP1;2|never ended"), "a" },
	{ VIEW("\x1b_a\x1b_b\x1b\\c"), "c" },
	/* other escapes */
	{ VIEW("\x1b(B\x1b)0\x1b#8\x1b%G\x1b=\x1b>\x1b"
	       "7\x1b"
	       "8\x1b"
	       "c\x1bMx"),
		"x" },
	{ VIEW("\x1b\x1b[1mx"), "x" },
	{ VIEW("\x1b\nx"), "\nx" },
	{ VIEW("\x1b" NI), NI },
	{ VIEW("\x1b(\nx"), "\nx" },
	{ VIEW("\x1b\\x"), "x" },
	/* single controls */
	{ VIEW("a\0b\x01"
	       "c\x07"
	       "d\x08"
	       "e\x0b"
	       "f\x0c"
	       "g\x0e"
	       "h\x7fi"),
		"abcdefghi" },
	{ VIEW("a\xc2\x80"
	       "b\xc2\x85"
	       "c\xc2\x8d"
	       "d\xc2\x9c"
	       "e"),
		"abcde" },
	{ VIEW("a\tb"), "a\tb" },
	/* ends of lines */
	{ VIEW("a\r\nb\rc\nd"), "a\nb\nc\nd" },
	{ VIEW("a\r\r\nb\n\rc"), "a\n\nb\n\nc" },
	{ VIEW("a\r\x1b[K\nb"), "a\nb" },
	{ VIEW("a\rb\nc"), "a\nb\nc" },
	/* bidirectional controls */
	{ VIEW("a\xe2\x80\xae"
	       "b\xe2\x80\xaa"
	       "c\xe2\x80\xad"
	       "d\xe2\x81\xa6"
	       "e\xe2\x81\xa9"
	       "f"),
		"abcdef" },
	{ VIEW("a\xe2\x80\x8e"
	       "b\xe2\x80\x8f"
	       "c\xd8\x9c"
	       "d"),
		"abcd" },
	/* what stays: joiners, a byte order mark, Arabic letters */
	{ VIEW("\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9 \xef\xbb\xbf \xd8\xa7"),
		"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9 \xef\xbb\xbf \xd8\xa7" },
	/* invalid bytes, raw C1 among them */
	{ VIEW("a\xff"
	       "b\xc3"
	       "c\xe4\xbd"),
		"a" FFFD "b" FFFD "c" FFFD },
	{ VIEW("a\x9b"
	       "31mb\x80\x9f"),
		"a" FFFD "31mb" FFFD FFFD },
	{ VIEW("\xc0\x9b"
	       "31m\xe0\x82\x9b"
	       "31m"),
		FFFD FFFD "31m" FFFD FFFD FFFD "31m" },
	{ VIEW("\xed\xa0\x80"), FFFD FFFD FFFD },
	{ VIEW("\xf0\x9f\x1b[1m\x98"), FFFD FFFD },
	{ VIEW("\xe4\xbd\xe4\xbd\xa0"), FFFD NI },
};

static void filter_in_pieces(struct view in, size_t piece, int keep, struct str *out)
{
	struct text_filter f;

	text_filter_init(&f, keep);
	for (size_t at = 0; at < in.n; at += piece) {
		assert_int_equal(text_filter_feed(&f, view_cut(view_from(in, at), piece), out), 0);
		assert_int_equal(text_filter_feed(&f, VIEW_NONE, out), 0);
	}
	assert_int_equal(text_filter_end(&f, out), 0);
}

static void removes_controls_and_keeps_the_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(1000), again = STR_INIT(1000);

		assert_int_equal(text_safe(rows[i].in, BOTH, &s), 0);
		if (!view_eqs(str_view(&s), rows[i].want))
			fail_msg("row %zu: \"%s\" instead of \"%s\"", i, str_cstr(&s),
				rows[i].want);
		assert_true(utf8_valid(str_view(&s)));
		assert_int_equal(text_safe(str_view(&s), BOTH, &again), 0);
		assert_true(view_eq(str_view(&s), str_view(&again)));
		str_release(&s);
		str_release(&again);
	}
}

static void any_split_gives_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t piece = 1; piece <= rows[i].in.n; piece++) {
			struct str s = STR_INIT(1000);

			filter_in_pieces(rows[i].in, piece, BOTH, &s);
			if (!view_eqs(str_view(&s), rows[i].want))
				fail_msg("row %zu in pieces of %zu: \"%s\"", i, piece,
					str_cstr(&s));
			str_release(&s);
		}
	}
}

/* All rows in a row, and pseudo-random bytes from the alphabet that matters. */
static void any_split_of_noise_gives_the_same(void **state)
{
	static const char alphabet[] =
		"\x1b\x1b\x1b[]PX^_\\;0m\r\n\x07\x18\xc2\xc2\x9b\x9c\x9d\x90\xe2\x80"
		"\xae\xe4\xbd\xa0\xf0\x9f\xff ab";
	uint32_t seed = 12345;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		char in[48];
		struct str whole = STR_INIT(1000), pieces = STR_INIT(1000);
		struct view v = { in, sizeof(in) };

		for (size_t i = 0; i < sizeof(in); i++) {
			seed = seed * 1664525 + 1013904223;
			in[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		text_safe(v, BOTH, &whole);
		assert_true(utf8_valid(str_view(&whole)));
		for (size_t piece = 1; piece <= 7; piece++) {
			str_reset(&pieces);
			filter_in_pieces(v, piece, BOTH, &pieces);
			assert_true(view_eq(str_view(&whole), str_view(&pieces)));
		}
		for (size_t i = 0; i < whole.n; i++) {
			unsigned char c = (unsigned char)whole.p[i];

			assert_true((c >= 0x20 && c != 0x7f) || c == '\n');
			assert_false(c == 0xc2 && i + 1 < whole.n &&
				     (unsigned char)whole.p[i + 1] < 0xa0);
		}
		str_release(&whole);
		str_release(&pieces);
	}
}

static void keeps_only_what_it_is_told(void **state)
{
	static const struct {
		int keep;
		const char *want;
	} kept[] = { { 0, "abcd" }, { TEXT_KEEP_LF, "a\nbc\nd" }, { TEXT_KEEP_TAB, "ab\tcd" },
		{ BOTH, "a\nb\tc\nd" } };

	(void)state;
	for (size_t i = 0; i < COUNT(kept); i++) {
		struct str s = STR_INIT(100);

		assert_int_equal(text_safe(VIEW("a\nb\tc\r\nd"), kept[i].keep, &s), 0);
		assert_string_equal(str_cstr(&s), kept[i].want);
		str_release(&s);
	}
}

static void an_end_begins_anew(void **state)
{
	struct text_filter f;
	struct str s = STR_INIT(100);

	(void)state;
	text_filter_init(&f, BOTH);
	text_filter_feed(&f, VIEW("a\x1b]0;open"), &s);
	text_filter_end(&f, &s);
	text_filter_feed(&f, VIEW("b\xe4\xbd"), &s);
	text_filter_end(&f, &s);
	text_filter_feed(&f,
		VIEW("\xa0"
		     "c\td"),
		&s);
	text_filter_end(&f, &s);
	assert_string_equal(str_cstr(&s), "ab" FFFD FFFD "c\td");
	str_release(&s);
}

static void tells_when_the_text_is_full(void **state)
{
	struct str s = STR_INIT(3);

	(void)state;
	assert_int_equal(text_safe(VIEW("abc"), BOTH, &s), 0);
	assert_int_equal(text_safe(VIEW("d"), BOTH, &s), -1);
	assert_string_equal(str_cstr(&s), "abc");
	str_release(&s);
}

static void shows_what_cannot_be_seen(void **state)
{
	static const struct {
		struct view in;
		const char *want;
	} shown[] = {
		{ VIEW("plain " NI "\\n"), "plain " NI "\\n" },
		{ VIEW("a\nb\tc\rd"), "a\\nb\\tc\\rd" },
		{ VIEW("\x1b[31m\0\x7f\x07"), "\\x1b[31m\\x00\\x7f\\x07" },
		{ VIEW("\xe2\x80\xae\xd8\x9c\xe2\x81\xa9"), "\\u202e\\u061c\\u2069" },
		{ VIEW("\xc2\x85\xc2\x9b"), "\\u0085\\u009b" },
		{ VIEW("\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf"), "\\u2028\\u2029\\ufeff" },
		{ VIEW("\xff\xc3(\xe4\xbd"), "\\xff\\xc3(\\xe4\\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(shown); i++) {
		struct str s = STR_INIT(100), again = STR_INIT(100);

		assert_int_equal(text_visible(shown[i].in, &s), 0);
		assert_string_equal(str_cstr(&s), shown[i].want);
		assert_int_equal(text_visible(str_view(&s), &again), 0);
		assert_string_equal(str_cstr(&again), shown[i].want);
		str_release(&s);
		str_release(&again);
	}
}

static void reveals_what_hides_or_pushes_text_away(void **state)
{
	static const struct {
		struct view in;
		const char *want;
	} revealed[] = {
		{ VIEW("rm -rf x\n\x1b"), "rm -rf x\\n\\x1b" },
		{ VIEW("\xff\xe4\xbd"), "\\xff\\xe4\\xbd" },
		{ VIEW("a\xe2\x80\x8b\xe2\x81\xa0\xc2\xad"), "a\\u200b\\u2060\\u00ad" },
		{ VIEW("\xe3\x85\xa4\xe1\x85\x9f\xef\xbe\xa0\xe2\xa0\x80"),
			"\\u3164\\u115f\\uffa0\\u2800" },
		{ VIEW("?q=\xf3\xa0\x81\xa1\xf3\xa0\x84\x80"), "?q=\\U000e0061\\U000e0100" },
		/* a picture of two characters, and no third way to carry more behind it */
		{ VIEW("\xe2\x9d\xa4\xef\xb8\x8f"), "\xe2\x9d\xa4\xef\xb8\x8f" },
		{ VIEW("\xe2\x9d\xa4\xef\xb8\x8f\xef\xb8\x8e"), "\xe2\x9d\xa4\xef\xb8\x8f\\ufe0e" },
		{ VIEW("x\xef\xb8\x8f\xe2\x80\x8d"), "x\\ufe0f\\u200d" },
		{ VIEW("\xe2\x9d\xa4\xff\xef\xb8\x8f"), "\xe2\x9d\xa4\\xff\\ufe0f" },
		{ VIEW("\xe4\xbd\xa0\xe3\x80\x80\xe5\xa5\xbd"),
			"\xe4\xbd\xa0\xe3\x80\x80\xe5\xa5\xbd" },
		{ VIEW("a                                b"),
			"a                                b" },
		{ VIEW("a                                 b"), "a[33 blanks]b" },
		{ VIEW("a                                \xe3\x80\x80"), "a[33 blanks]" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(revealed); i++) {
		struct str s = STR_INIT(200);

		assert_int_equal(text_revealed(revealed[i].in, &s), 0);
		assert_string_equal(str_cstr(&s), revealed[i].want);
		str_release(&s);
	}
}

/* UTS 39: letters of one script that pass for those of another. */
static void tells_whether_anything_is_seen(void **state)
{
	static const struct {
		struct view in;
		bool shows;
	} texts[] = {
		{ VIEW(""), false },
		{ VIEW(" \t\r\n"), false },
		{ VIEW("\x1b\x7f\xc2\x85"), false },
		{ VIEW("\xc2\xa0\xe3\x80\x80\xe2\x80\xaf"), false },
		{ VIEW("\xe2\x80\x8b\xef\xbb\xbf\xc2\xad\xef\xb8\x8f"), false },
		{ VIEW("\xe3\x85\xa4\xe2\xa0\x80\xf3\xa0\x81\xa1"), false },
		{ VIEW("\xe2\x80\x8b."), true },
		{ VIEW("  \xe5\xa5\xbd"), true },
		{ VIEW("\xe2\x9d\xa4\xef\xb8\x8f"), true },
		{ VIEW("\xff"), true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(text_shows(texts[i].in), texts[i].shows);
}

static void reveals_what_passes_for_another(void **state)
{
	static const struct {
		const char *in, *want;
	} revealed[] = {
		{ "curl https://\u0430pple.com", "curl https://\\u0430pple.com" },
		{ "https://\u0430\u0440\u0440\u04cf\u0435.com",
			"https://\\u0430\\u0440\\u0440\\u04cf\\u0435.com" },
		{ "/home/\u043e1/x", "/home/\\u043e1/x" },
		{ "https://good.com\u2044x.evil.com", "https://good.com\\u2044x.evil.com" },
		{ "rm \u2212rf\u037e \U0001d42b\U0001d426x",
			"rm \\u2212rf\\u037e \\U0001d42b\\U0001d426x" },
		{ "ech\u03bf a", "ech\\u03bf a" },
		{ "mak\u0435\u0444", "mak\\u0435\u0444" },
		{ "a\nb\u0430", "a\\nb\\u0430" },
		/* a language of its own, a name in it, figures */
		{ "\u0430 \u043e\u0441\u0430, rm", "\u0430 \u043e\u0441\u0430, rm" },
		{ "\u0444\u0430\u0439\u043b.txt", "\u0444\u0430\u0439\u043b.txt" },
		{ "ls \u03c0\u03b1/x", "ls \u03c0\u03b1/x" },
		{ "\u6bd4\u4f8b1\u22362 a", "\u6bd4\u4f8b1\u22362 a" },
		{ "caf\u00e9 \u4eca\u5929make", "caf\u00e9 \u4eca\u5929make" },
		{ "\u0430", "\u0430" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(revealed); i++) {
		struct str s = STR_INIT(200);

		assert_int_equal(text_revealed(view_of(revealed[i].in), &s), 0);
		assert_string_equal(str_cstr(&s), revealed[i].want);
		str_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removes_controls_and_keeps_the_text),
		cmocka_unit_test(any_split_gives_the_same),
		cmocka_unit_test(any_split_of_noise_gives_the_same),
		cmocka_unit_test(keeps_only_what_it_is_told),
		cmocka_unit_test(an_end_begins_anew),
		cmocka_unit_test(tells_when_the_text_is_full),
		cmocka_unit_test(shows_what_cannot_be_seen),
		cmocka_unit_test(reveals_what_hides_or_pushes_text_away),
		cmocka_unit_test(tells_whether_anything_is_seen),
		cmocka_unit_test(reveals_what_passes_for_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
