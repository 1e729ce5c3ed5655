/* UTF-8 (Unicode 15, section 3.9), grapheme clusters (annex 29), columns. */
#include "base/text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FFFD     "\xef\xbf\xbd"

/* Table 3-7, written out: the second byte's range for each lead byte; the others are 80..BF. */
static bool well_formed(const unsigned char *p, size_t n)
{
	static const struct {
		unsigned char lead_lo, lead_hi;
		size_t len;
		unsigned char lo, hi;
	} rows[] = {
		{ 0x00, 0x7f, 1, 0, 0 },
		{ 0xc2, 0xdf, 2, 0x80, 0xbf },
		{ 0xe0, 0xe0, 3, 0xa0, 0xbf },
		{ 0xe1, 0xec, 3, 0x80, 0xbf },
		{ 0xed, 0xed, 3, 0x80, 0x9f },
		{ 0xee, 0xef, 3, 0x80, 0xbf },
		{ 0xf0, 0xf0, 4, 0x90, 0xbf },
		{ 0xf1, 0xf3, 4, 0x80, 0xbf },
		{ 0xf4, 0xf4, 4, 0x80, 0x8f },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (p[0] < rows[i].lead_lo || p[0] > rows[i].lead_hi)
			continue;
		if (n != rows[i].len || (n > 1 && (p[1] < rows[i].lo || p[1] > rows[i].hi)))
			return false;
		for (size_t k = 2; k < n; k++) {
			if (p[k] < 0x80 || p[k] > 0xbf)
				return false;
		}
		return true;
	}
	return false;
}

static void check_sequence(const unsigned char *p, size_t n)
{
	struct view v = { (const char *)p, n };
	uint32_t cp;
	bool want = well_formed(p, n);

	if (utf8_valid(v) != want)
		fail_msg("%zu bytes %02x %02x", n, p[0], n > 1 ? p[1] : 0);
	if (want)
		assert_int_equal(utf8_next(v, &cp), n);
}

static void agrees_with_table_3_7(void **state)
{
	static const unsigned char edge[] = { 0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
		0xc0, 0xc1, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0xff };
	unsigned char p[4];

	(void)state;
	for (unsigned a = 0; a < 256; a++) {
		p[0] = (unsigned char)a;
		check_sequence(p, 1);
		if (a < 0x80)
			continue;
		for (unsigned b = 0; b < 256; b++) {
			p[1] = (unsigned char)b;
			if (a >= 0xc0)
				check_sequence(p, 2);
			for (size_t c = 0; a >= 0xe0 && c < COUNT(edge); c++) {
				p[2] = edge[c];
				check_sequence(p, 3);
				for (size_t d = 0; a >= 0xf0 && d < COUNT(edge); d++) {
					p[3] = edge[d];
					check_sequence(p, 4);
				}
			}
		}
	}
}

static void decodes_code_points(void **state)
{
	static const struct {
		const char *text;
		uint32_t cp;
	} rows[] = {
		{ "A", 0x41 },
		{ "\x7f", 0x7f },
		{ "\xc2\x80", 0x80 },
		{ "\xdf\xbf", 0x7ff },
		{ "\xe0\xa0\x80", 0x800 },
		{ "\xe4\xbd\xa0", 0x4f60 },
		{ "\xed\x9f\xbf", 0xd7ff },
		{ "\xee\x80\x80", 0xe000 },
		{ "\xef\xbf\xbf", 0xffff },
		{ "\xf0\x90\x80\x80", 0x10000 },
		{ "\xf0\x9f\x98\x80", 0x1f600 },
		{ "\xf4\x8f\xbf\xbf", 0x10ffff },
	};
	uint32_t cp = 7;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(utf8_next(view_of(rows[i].text), &cp), strlen(rows[i].text));
		assert_int_equal(cp, rows[i].cp);
	}
	cp = 7;
	assert_int_equal(utf8_next(VIEW_NONE, &cp), 0);
	assert_int_equal(utf8_next(VIEW("\xe4\xbd"), &cp), 0);
	assert_int_equal(utf8_next(VIEW("\xc0\x80"), &cp), 0);
	assert_int_equal(cp, 7);
	assert_int_equal(utf8_next(VIEW("\0"), &cp), 1);
	assert_int_equal(cp, 0);
}

static void finds_the_first_bad_byte_anywhere(void **state)
{
	char text[64];

	(void)state;
	for (size_t at = 0; at < 40; at++) {
		memset(text, 'a', 40);
		text[at] = '\xff';
		assert_int_equal(utf8_valid_span((struct view){ text, 40 }), at);
		assert_false(utf8_valid((struct view){ text, 40 }));
		text[at] = 'a';
		if (at + 3 <= 40) {
			memcpy(text + at, "\xe4\xbd\xa0", 3);
			assert_true(utf8_valid((struct view){ text, 40 }));
			assert_int_equal(utf8_valid_span((struct view){ text, at + 2 }), at);
		}
	}
	assert_true(utf8_valid(VIEW_NONE));
	assert_true(utf8_valid(VIEW("a\0b")));
}

static void replaces_each_maximal_invalid_part(void **state)
{
	/* The first four are tables 3-8 to 3-11 of the standard. */
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41",
			FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A" },
		{ "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41",
			FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A" },
		{ "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
			FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B" },
		{ "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", FFFD FFFD FFFD FFFD "A" },
		{ "", "" },
		{ "abc", "abc" },
		{ "\xe4\xbd", FFFD },
		{ "a\xf0\x9f\x98", "a" FFFD },
		{ "\x80", FFFD },
		{ "\xe4\xbd\xa0\xe4\xbd\xe4\xbd\xa0", "\xe4\xbd\xa0" FFFD "\xe4\xbd\xa0" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(100);

		assert_int_equal(utf8_repair(view_of(rows[i].in), &s), 0);
		assert_string_equal(str_cstr(&s), rows[i].want);
		str_release(&s);
	}
	struct str s = STR_INIT(2);
	assert_int_equal(utf8_repair(VIEW("\xff"), &s), -1);
	str_release(&s);
}

static void counts_code_points(void **state)
{
	(void)state;
	assert_int_equal(utf8_count(VIEW_NONE), 0);
	assert_int_equal(utf8_count(VIEW("abc")), 3);
	assert_int_equal(utf8_count(VIEW("\xe4\xbd\xa0\xe5\xa5\xbd")), 2);
	assert_int_equal(utf8_count(VIEW("\xf0\x9f\x98\x80")), 1);
	assert_int_equal(utf8_count(VIEW("\xff\xfe"
					 "a")),
		3);
	assert_int_equal(utf8_count(VIEW("e\xcc\x81")), 2);
}

/* --- Clusters -------------------------------------------------------------------------------- */

#define FAMILY \
	"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xe2\x80\x8d\xf0\x9f\x91\xa6"
#define RAINBOW "\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88"
#define FLAG_CN "\xf0\x9f\x87\xa8\xf0\x9f\x87\xb3"
#define FLAG_DE "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa"
#define SCOTLAND \
	"\xf0\x9f\x8f\xb4\xf3\xa0\x81\xa7\xf3\xa0\x81\xa2\xf3\xa0\x81\xb3\xf3\xa0\x81\xa3\xf3\xa0\x81\xb4\xf3\xa0\x81\xbf"
#define KEYCAP  "1\xef\xb8\x8f\xe2\x83\xa3"
#define THUMB   "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd"
#define HEART   "\xe2\x9d\xa4\xef\xb8\x8f"
#define NI      "\xe4\xbd\xa0"
#define E_ACUTE "e\xcc\x81"
#define JAMO    "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab" /* HAN in three letters */

static const struct {
	const char *cluster;
	int width;
} clusters[] = {
	{ "a", 1 },
	{ NI, 2 },
	{ E_ACUTE, 1 },
	{ FAMILY, 2 },
	{ RAINBOW, 2 },
	{ FLAG_CN, 2 },
	{ FLAG_DE, 2 },
	{ SCOTLAND, 2 },
	{ KEYCAP, 2 },
	{ THUMB, 2 },
	{ HEART, 2 },
	{ JAMO, 2 },
	{ "\r\n", 0 },
	{ "\n", 0 },
	{ "\xef\xbc\x81", 2 } /* full width ! */,
	{ "\xc3\xa9", 1 },
	{ "\xf0\x9f\x98\x80", 2 },
	{ "\xea\xb0\x80", 2 } /* Hangul syllable */,
	{ "\xf0\xa0\x80\x80", 2 } /* U+20000 */,
	{ "\xe3\x80\x82", 2 } /* ideographic full stop */,
	{ "\xe0\xa4\xa8\xe0\xa4\xbf", 1 } /* Devanagari ni */,
	{ NI "\xef\xb8\x80", 2 } /* Han with a variation selector */,
	{ NI "\xcc\x81", 2 } /* and with an accent */,
	{ "\xe4\x80\x80", 2 } /* U+4000 */,
	{ "\xe9\xbf\xbf", 2 } /* U+9FFF */,
};

static void walks_by_grapheme_cluster(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(clusters); i++) {
		for (size_t k = 0; k < COUNT(clusters); k++) {
			struct str s = STR_INIT(200);

			/* CR LF before LF and the like stay apart; flags pair up two by two. */
			str_addf(&s, "%s%s", clusters[i].cluster, clusters[k].cluster);
			size_t n = utf8_cluster(str_view(&s));
			if (n != strlen(clusters[i].cluster))
				fail_msg("cluster %zu before %zu has %zu bytes", i, k, n);
			assert_int_equal(utf8_cluster(view_from(str_view(&s), n)),
				strlen(clusters[k].cluster));
			str_release(&s);
		}
	}
	assert_int_equal(utf8_cluster(VIEW_NONE), 0);
	assert_int_equal(utf8_cluster(VIEW("\xff")), 1);
	assert_int_equal(utf8_cluster(VIEW("a\xff")), 1);
}

static void measures_columns(void **state)
{
	struct str s = STR_INIT(1000);
	size_t sum = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(clusters); i++) {
		int w = utf8_cluster_width(view_of(clusters[i].cluster));

		if (w != clusters[i].width)
			fail_msg("cluster %zu is %d wide, not %d", i, w, clusters[i].width);
		str_adds(&s, clusters[i].cluster);
		sum += (size_t)clusters[i].width;
	}
	assert_int_equal(utf8_width(str_view(&s)), sum);
	assert_int_equal(utf8_width(VIEW_NONE), 0);
	assert_int_equal(utf8_width(VIEW("ab" NI)), 4);
	str_release(&s);
}

static void bounds_a_cluster(void **state)
{
	struct str s = STR_INIT(1 << 20);

	(void)state;
	str_addc(&s, 'e');
	for (int i = 0; i < 100000; i++)
		str_adds(&s, "\xcc\x81");
	size_t n = utf8_cluster(str_view(&s));
	assert_true(n <= TEXT_CLUSTER_MAX && n >= TEXT_CLUSTER_MAX - 3);
	assert_true(utf8_valid(view_cut(str_view(&s), n)));
	str_release(&s);
}

/* --- Cutting --------------------------------------------------------------------------------- */

static void cuts_between_clusters(void **state)
{
	static const struct {
		const char *text;
		size_t max, want;
	} rows[] = {
		{ "abc", 0, 0 },
		{ "abc", 2, 2 },
		{ "abc", 3, 3 },
		{ "abc", 9, 3 },
		{ NI NI, 2, 0 },
		{ NI NI, 3, 3 },
		{ NI NI, 4, 3 },
		{ NI NI, 5, 3 },
		{ NI NI, 6, 6 },
		{ "a" E_ACUTE, 2, 1 },
		{ "a" E_ACUTE, 3, 1 },
		{ "a" E_ACUTE, 4, 4 },
		{ "a" FAMILY, 25, 1 },
		{ "a" FAMILY, 26, 26 },
		{ FAMILY, 24, 21 } /* alone too long: whole code points */,
		{ FAMILY, 3, 0 },
		{ FAMILY, 4, 4 },
		{ FAMILY, 6, 4 },
		{ FLAG_CN FLAG_DE, 12, 8 },
		{ FLAG_CN FLAG_DE, 8, 8 },
		{ "ab\r\ncd", 3, 2 },
		{ "ab\r\ncd", 4, 4 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t n = utf8_cut(view_of(rows[i].text), rows[i].max);

		if (n != rows[i].want)
			fail_msg("row %zu: cut at %zu, not %zu", i, n, rows[i].want);
	}
	assert_int_equal(utf8_cut(VIEW_NONE, 5), 0);
}

static void cuts_by_code_points(void **state)
{
	static const struct {
		const char *text;
		size_t max, want;
	} rows[] = {
		{ "abc", 2, 2 },
		{ NI NI NI, 2, 6 },
		{ NI NI NI, 3, 9 },
		{ NI, 0, 0 },
		{ "a" E_ACUTE "b", 2, 1 },
		{ "a" E_ACUTE "b", 3, 4 },
		{ FAMILY, 6, 21 + 0 },
		{ FAMILY "a", 7, 25 },
		{ FLAG_CN FLAG_DE, 3, 8 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t n = utf8_cut_chars(view_of(rows[i].text), rows[i].max);

		if (n != rows[i].want)
			fail_msg("row %zu: cut at %zu, not %zu", i, n, rows[i].want);
	}
}

/* Every cut of Chinese and Japanese text, at every byte: valid, and no longer than asked. */
static void never_tears_a_character(void **state)
{
	struct str s = STR_INIT(20000);

	(void)state;
	for (size_t lead = 0; lead < 3; lead++) {
		str_reset(&s);
		for (size_t i = 0; i < lead; i++)
			str_addc(&s, 'x');
		for (int i = 0; i < 300; i++)
			str_adds(&s, i % 2 ? NI : "\xe3\x81\x82");
		for (size_t max = 0; max <= s.n; max++) {
			size_t n = utf8_cut(str_view(&s), max);

			assert_true(n <= max && max - n < 3);
			assert_true(utf8_valid(view_cut(str_view(&s), n)));
		}
	}
	str_release(&s);
}

static void tells_how_far_words_are_apart(void **state)
{
	static const struct {
		const char *a, *b;
		size_t want;
	} cases[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "kitten", "sitting", 3 }, /* Levenshtein's textbook case */
		{ "shell", "shell", 0 },
		{ "shel", "shell", 1 },
		{ "Shell", "shell", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(cases[i].want, text_distance(cases[i].a, cases[i].b));
		assert_int_equal(cases[i].want, text_distance(cases[i].b, cases[i].a));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_table_3_7),
		cmocka_unit_test(decodes_code_points),
		cmocka_unit_test(finds_the_first_bad_byte_anywhere),
		cmocka_unit_test(replaces_each_maximal_invalid_part),
		cmocka_unit_test(counts_code_points),
		cmocka_unit_test(walks_by_grapheme_cluster),
		cmocka_unit_test(measures_columns),
		cmocka_unit_test(bounds_a_cluster),
		cmocka_unit_test(cuts_between_clusters),
		cmocka_unit_test(cuts_by_code_points),
		cmocka_unit_test(never_tears_a_character),
		cmocka_unit_test(tells_how_far_words_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
