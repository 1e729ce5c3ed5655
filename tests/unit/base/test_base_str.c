/* base/str: views, growing text, numbers. */
#include "base/str.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_view(struct view v, const char *want)
{
	assert_int_equal(v.n, strlen(want));
	assert_true(view_eqs(v, want));
}

static void views_compare_by_bytes(void **state)
{
	(void)state;
	assert_true(view_eq(VIEW_NONE, VIEW("")));
	assert_true(view_eqs(VIEW_NONE, NULL));
	assert_false(view_eq(VIEW("a"), VIEW("b")));
	assert_false(view_eq(VIEW("a"), VIEW("ab")));
	assert_true(view_eq(VIEW("a\0b"), VIEW("a\0b")));
	assert_false(view_eq(VIEW("a\0b"), VIEW("a\0c")));
	assert_true(view_starts(VIEW("abc"), VIEW("ab")));
	assert_true(view_starts(VIEW("abc"), VIEW("")));
	assert_true(view_starts(VIEW_NONE, VIEW("")));
	assert_false(view_starts(VIEW("ab"), VIEW("abc")));
	assert_true(view_ends(VIEW("abc"), VIEW("bc")));
	assert_false(view_ends(VIEW("bc"), VIEW("abc")));
	assert_true(view_ends(VIEW_NONE, VIEW_NONE));
}

static void views_are_cut_inside_their_bounds(void **state)
{
	(void)state;
	assert_view(view_trim(VIEW(" \t\r\na b\n ")), "a b");
	assert_view(view_trim(VIEW(" \n")), "");
	assert_view(view_trim(VIEW_NONE), "");
	assert_view(view_from(VIEW("abc"), 1), "bc");
	assert_view(view_from(VIEW("abc"), 3), "");
	assert_view(view_from(VIEW("abc"), SIZE_MAX), "");
	assert_view(view_from(VIEW_NONE, 1), "");
	assert_view(view_cut(VIEW("abc"), 2), "ab");
	assert_view(view_cut(VIEW("abc"), SIZE_MAX), "abc");
	assert_int_equal(view_find(VIEW("abcb"), 'b'), 1);
	assert_int_equal(view_find(VIEW("abc"), 'x'), 3);
	assert_int_equal(view_find(VIEW_NONE, 'x'), 0);
}

static void text_grows_to_its_ceiling_and_no_further(void **state)
{
	(void)state;
	for (size_t max = 0; max < 200; max++) {
		struct str s = STR_INIT(max);

		for (size_t i = 0; i < max; i++)
			assert_int_equal(str_addc(&s, (char)('a' + i % 26)), 0);
		assert_true(str_ok(&s));
		assert_int_equal(str_add(&s, VIEW("")), 0);
		assert_true(str_has_room(&s, 0));
		assert_false(str_has_room(&s, 1));
		assert_false(str_has_room(&s, SIZE_MAX));
		assert_int_equal(str_addc(&s, 'x'), -1);
		assert_false(str_ok(&s));
		assert_int_equal(s.n, max);
		assert_int_equal(strlen(str_cstr(&s)), max);
		str_release(&s);
	}
}

static void a_failing_add_keeps_what_was_there(void **state)
{
	struct str s = STR_INIT(5);

	(void)state;
	assert_int_equal(str_adds(&s, "abc"), 0);
	assert_int_equal(str_adds(&s, "def"), -1);
	assert_int_equal(str_addc(&s, 'd'), -1); /* it sticks */
	assert_int_equal(str_addf(&s, "%d", 1), -1);
	assert_int_equal(str_reserve(&s, 0), -1);
	assert_view(str_view(&s), "abc");
	assert_null(str_take(&s));
	assert_true(str_ok(&s));
	assert_int_equal(str_adds(&s, "fghij"), 0);
	str_release(&s);
}

static void sums_of_sizes_cannot_wrap(void **state)
{
	struct str s = STR_INIT(SIZE_MAX - 1);

	(void)state;
	assert_int_equal(str_adds(&s, "ab"), 0);
	assert_int_equal(str_reserve(&s, SIZE_MAX - 2), -1);
	assert_view(str_view(&s), "ab");
	str_reset(&s);
	assert_int_equal(str_reserve(&s, SIZE_MAX), -1);
	str_release(&s);
}

static void formats_into_the_text(void **state)
{
	struct str s = STR_INIT(100);

	(void)state;
	assert_int_equal(str_addf(&s, "%s=%d", "n", 42), 0);
	assert_int_equal(str_addf(&s, "%s", ""), 0);
	assert_int_equal(str_addf(&s, ", %.*s", VIEW_FMT(VIEW("xyz"))), 0);
	assert_int_equal(str_addf(&s, "%.*s", VIEW_FMT(VIEW_NONE)), 0);
	assert_view(str_view(&s), "n=42, xyz");
	assert_int_equal(str_addf(&s, "%92s", ""), -1);
	assert_view(str_view(&s), "n=42, xyz");
	str_release(&s);
}

static void reserved_room_is_used_by_grew(void **state)
{
	struct str s = STR_INIT(1000);

	(void)state;
	assert_int_equal(str_reserve(&s, 1000), 0);
	memset(s.p, 'x', 1000);
	str_grew(&s, 1000);
	str_grew(&s, 0);
	assert_int_equal(strlen(str_cstr(&s)), 1000);
	assert_int_equal(str_reserve(&s, 1), -1);
	str_release(&s);
}

static void drops_and_truncates(void **state)
{
	struct str s = STR_INIT(10);

	(void)state;
	str_truncate(&s, 0);
	str_drop(&s, 3);
	assert_string_equal(str_cstr(&s), "");
	str_adds(&s, "abcdef");
	str_drop(&s, 2);
	assert_view(str_view(&s), "cdef");
	str_truncate(&s, 9);
	assert_view(str_view(&s), "cdef");
	str_truncate(&s, 1);
	assert_view(str_view(&s), "c");
	str_drop(&s, 9);
	assert_view(str_view(&s), "");
	str_release(&s);
}

static void taking_empties_it(void **state)
{
	struct str s = STR_INIT(10);

	(void)state;
	str_adds(&s, "abc");
	char *z = str_take(&s);
	assert_string_equal(z, "abc");
	free(z);
	assert_int_equal(s.n, 0);
	z = str_take(&s);
	assert_string_equal(z, "");
	free(z);
	str_adds(&s, "again");
	assert_view(str_view(&s), "again");
	str_release(&s);
}

static void a_secret_survives_growing(void **state)
{
	struct str s = STR_SECRET(1000);

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(str_adds(&s, "0123456789"), 0);
	assert_int_equal(s.n, 1000);
	assert_memory_equal(s.p + 990, "0123456789", 11);
	str_wipe(&s);
	assert_null(s.p);
	str_wipe(&s);
}

static void numbers_are_digits_alone(void **state)
{
	static const struct {
		const char *text;
		int rc;
		unsigned long long want;
	} u[] = {
		{ "0", 0, 0 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -1, 0 },
		{ "18446744073709551620", -1, 0 },
		{ "99999999999999999999", -1, 0 },
		{ "184467440737095516150", -1, 0 },
		{ "", -1, 0 },
		{ " 1", -1, 0 },
		{ "1 ", -1, 0 },
		{ "+1", -1, 0 },
		{ "-1", -1, 0 },
		{ "1.0", -1, 0 },
		{ "0x1", -1, 0 },
		{ "1e3", -1, 0 },
		{ "\xef\xbc\x91", -1, 0 },
	};
	static const struct {
		const char *text;
		int rc;
		long long want;
	} i[] = {
		{ "0", 0, 0 },
		{ "-0", 0, 0 },
		{ "-7", 0, -7 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -1, 0 },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "-9223372036854775809", -1, 0 },
		{ "-", -1, 0 },
		{ "--1", -1, 0 },
		{ "", -1, 0 },
		{ "+1", -1, 0 },
		{ "1-", -1, 0 },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(u) / sizeof(u[0]); k++) {
		unsigned long long n = 99;

		assert_int_equal(parse_u64(view_of(u[k].text), &n), u[k].rc);
		assert_true(n == (u[k].rc == 0 ? u[k].want : 99));
	}
	for (size_t k = 0; k < sizeof(i) / sizeof(i[0]); k++) {
		long long n = 99;

		assert_int_equal(parse_i64(view_of(i[k].text), &n), i[k].rc);
		assert_true(n == (i[k].rc == 0 ? i[k].want : 99));
	}
	unsigned long long n;
	assert_int_equal(parse_u64(VIEW("1\0"), &n), -1);
}

static void copies_what_fits(void **state)
{
	char buf[4];

	(void)state;
	assert_int_equal(copy_z(buf, sizeof(buf), VIEW("abc")), 0);
	assert_string_equal(buf, "abc");
	assert_int_equal(copy_z(buf, sizeof(buf), VIEW("abcd")), -1);
	assert_string_equal(buf, "");
	assert_int_equal(copy_z(buf, sizeof(buf), VIEW("a\0b")), -1);
	assert_string_equal(buf, "");
	assert_int_equal(copy_z(buf, sizeof(buf), VIEW_NONE), 0);
	assert_string_equal(buf, "");
	assert_int_equal(copy_z(buf, 1, VIEW("a")), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(views_compare_by_bytes),
		cmocka_unit_test(views_are_cut_inside_their_bounds),
		cmocka_unit_test(text_grows_to_its_ceiling_and_no_further),
		cmocka_unit_test(a_failing_add_keeps_what_was_there),
		cmocka_unit_test(sums_of_sizes_cannot_wrap),
		cmocka_unit_test(formats_into_the_text),
		cmocka_unit_test(reserved_room_is_used_by_grew),
		cmocka_unit_test(drops_and_truncates),
		cmocka_unit_test(taking_empties_it),
		cmocka_unit_test(a_secret_survives_growing),
		cmocka_unit_test(numbers_are_digits_alone),
		cmocka_unit_test(copies_what_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
