/* Writing: standard JSON, or an error that sticks. */
#include "base/json.h"

#include <stdarg.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void writes_every_kind(void **state)
{
	struct str s = STR_INIT(1000);
	struct json_out w;
	struct json *j = NULL;

	(void)state;
	assert_int_equal(json_read(&j, VIEW("{\"k\":[1.50,9007199254740993]}"), &json_limits_wire,
				 NULL),
		0);
	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_str(&w, "str", VIEW("a\"\n\x01\x7f\xe4\xbd\xa0"));
	json_put_z(&w, "z", "");
	json_put_z(&w, "none", NULL);
	json_put_int(&w, "i", INT64_MIN);
	json_put_u64(&w, "u", UINT64_MAX);
	json_put_bool(&w, "t", true);
	json_open_array(&w, "list");
	json_put_bool(&w, NULL, false);
	json_put_null(&w, NULL);
	json_open(&w, NULL);
	json_close(&w);
	json_open_array(&w, NULL);
	json_close_array(&w);
	json_close_array(&w);
	json_put_json(&w, "json", j);
	json_put_raw(&w, "raw", VIEW(" { \"a b\" : [ 1.0 ,\n\t\"c\\\" d\" ] }\r\n"));
	json_put_str(&w, "\"", VIEW(""));
	json_close(&w);
	assert_int_equal(json_out_end(&w, NULL), 0);
	assert_string_equal(str_cstr(&s),
		"{\"str\":\"a\\\"\\n\\u0001\x7f\xe4\xbd\xa0\",\"z\":\"\",\"none\":null,"
		"\"i\":-9223372036854775808,\"u\":18446744073709551615,\"t\":true,"
		"\"list\":[false,null,{},[]],\"json\":{\"k\":[1.50,9007199254740993]},"
		"\"raw\":{\"a b\":[1.0,\"c\\\" d\"]},\"\\\"\":\"\"}");
	assert_int_equal(json_check(str_view(&s), &json_limits_wire, NULL), 0);
	json_free(&j);
	str_release(&s);
}

static void appends_to_what_is_there(void **state)
{
	struct str s = STR_INIT(100);
	struct json_out w;

	(void)state;
	str_adds(&s, "data: ");
	json_out_begin(&w, &s);
	json_put_int(&w, NULL, 7);
	assert_int_equal(json_out_end(&w, NULL), 0);
	assert_string_equal(str_cstr(&s), "data: 7");
	str_release(&s);
}

static void doubles_read_back_the_same(void **state)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = {
		{ 0.0, "0" },
		{ -0.0, "-0" },
		{ 1.0, "1" },
		{ 0.1, "0.1" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1e300, "1e+300" },
		{ -2.5, "-2.5" },
		{ 1.0 / 3.0, "0.3333333333333333" },
		{ 9007199254740992.0, "9007199254740992" },
		{ 5e-324, "4.94065645841247e-324" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(100);
		struct json_out w;
		struct json *j = NULL;

		json_out_begin(&w, &s);
		json_put_double(&w, NULL, rows[i].v);
		assert_int_equal(json_out_end(&w, NULL), 0);
		assert_string_equal(str_cstr(&s), rows[i].text);
		assert_true(strtod(str_cstr(&s), NULL) == rows[i].v);
		assert_int_equal(json_read(&j, str_view(&s), &json_limits_wire, NULL), 0);
		json_free(&j);
		str_release(&s);
	}
}

/* Each is one way to go wrong; nothing written afterwards may heal it. */
static void put_bad_utf8(struct json_out *w)
{
	json_put_str(w, NULL, VIEW("a\xff"));
}
static void put_half_char(struct json_out *w)
{
	json_put_str(w, NULL, VIEW("\xe4\xbd"));
}
static void put_surrogate(struct json_out *w)
{
	json_put_str(w, NULL, VIEW("\xed\xa0\x80"));
}
static void put_nul(struct json_out *w)
{
	json_put_str(w, NULL, VIEW("a\0b"));
}
static void put_nan(struct json_out *w)
{
	json_put_double(w, NULL, (double)NAN);
}
static void put_inf(struct json_out *w)
{
	json_put_double(w, NULL, -(double)INFINITY);
}
static void put_named(struct json_out *w)
{
	json_put_int(w, "name", 1);
}
static void close_object(struct json_out *w)
{
	json_close(w);
}
static void raw_empty(struct json_out *w)
{
	json_put_raw(w, NULL, VIEW(""));
}
static void raw_two(struct json_out *w)
{
	json_put_raw(w, NULL, VIEW("1,2"));
}
static void raw_open(struct json_out *w)
{
	json_put_raw(w, NULL, VIEW("{\"a\":"));
}
static void raw_nul(struct json_out *w)
{
	json_put_raw(w, NULL, VIEW("\"\\u0000\""));
}
static void name_missing(struct json_out *w)
{
	json_open(w, NULL);
	json_put_int(w, NULL, 1);
	json_close(w);
}
static void name_not_utf8(struct json_out *w)
{
	json_open(w, NULL);
	json_put_int(w, "\xff", 1);
	json_close(w);
}
static void close_as_array(struct json_out *w)
{
	json_open(w, NULL);
	json_close_array(w);
}

static void failure_sticks(void **state)
{
	static void (*const wrong[])(struct json_out *) = { put_bad_utf8, put_half_char,
		put_surrogate, put_nul, put_nan, put_inf, put_named, close_object, raw_empty,
		raw_two, raw_open, raw_nul, name_missing, name_not_utf8, close_as_array };

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct str s = STR_INIT(1000);
		struct json_out w;
		struct err e = ERR_INIT;

		json_out_begin(&w, &s);
		json_open_array(&w, NULL);
		wrong[i](&w);
		json_put_int(&w, NULL, 1);
		json_close_array(&w);
		assert_int_equal(json_out_end(&w, &e), -1);
		assert_int_equal(e.code, E_FORMAT);
		str_release(&s);
	}
}

static void wants_exactly_one_value(void **state)
{
	struct str s = STR_INIT(1000);
	struct json_out w;

	(void)state;
	json_out_begin(&w, &s);
	assert_int_equal(json_out_end(&w, NULL), -1);
	json_open(&w, NULL);
	assert_int_equal(json_out_end(&w, NULL), -1);
	json_close(&w);
	assert_int_equal(json_out_end(&w, NULL), 0);
	json_put_null(&w, NULL);
	assert_int_equal(json_out_end(&w, NULL), -1);

	json_out_begin(&w, &s);
	json_close(&w);
	assert_int_equal(json_out_end(&w, NULL), -1);
	json_out_begin(&w, &s);
	json_put_int(&w, "name", 1);
	assert_int_equal(json_out_end(&w, NULL), -1);
	json_out_begin(&w, &s);
	json_put_int(&w, NULL, 1);
	json_close_array(&w);
	assert_int_equal(json_out_end(&w, NULL), -1);
	str_release(&s);
}

static int nest(int levels, bool objects, const char *raw)
{
	struct str s = STR_INIT(10000);
	struct json_out w;

	json_out_begin(&w, &s);
	for (int i = 0; i < levels; i++) {
		if (objects)
			json_open(&w, i > 0 ? "a" : NULL);
		else
			json_open_array(&w, NULL);
	}
	if (raw) {
		struct json *j = NULL;

		assert_int_equal(json_read(&j, view_of(raw), &json_limits_wire, NULL), 0);
		json_put_raw(&w, objects ? "b" : NULL, view_of(raw));
		json_put_json(&w, objects ? "c" : NULL, j);
		json_free(&j);
	}
	for (int i = 0; i < levels; i++) {
		if (objects)
			json_close(&w);
		else
			json_close_array(&w);
	}
	int rc = json_out_end(&w, NULL);
	if (rc == 0)
		assert_int_equal(json_check(str_view(&s), &json_limits_wire, NULL), 0);
	str_release(&s);
	return rc;
}

static void nests_to_32_levels(void **state)
{
	(void)state;
	for (int objects = 0; objects < 2; objects++) {
		assert_int_equal(nest(32, objects, NULL), 0);
		assert_int_equal(nest(33, objects, NULL), -1);
		assert_int_equal(nest(60, objects, NULL), -1);
		assert_int_equal(nest(32, objects, "1"), 0);
		assert_int_equal(nest(32, objects, "[]"), -1);
		assert_int_equal(nest(31, objects, "[{}]"), -1);
		assert_int_equal(nest(30, objects, "[{}]"), 0);
	}
}

static void the_ceiling_of_the_text_is_reported(void **state)
{
	(void)state;
	for (size_t max = 0; max <= 12; max++) {
		struct str s = STR_INIT(max);
		struct json_out w;
		struct err e = ERR_INIT;

		json_out_begin(&w, &s);
		json_open(&w, NULL);
		json_put_str(&w, "k", VIEW("abc"));
		json_close(&w);
		assert_int_equal(json_out_end(&w, &e), max < 11 ? -1 : 0);
		assert_int_equal(e.code, max < 11 ? E_NOMEM : E_OK);
		str_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_every_kind),
		cmocka_unit_test(appends_to_what_is_there),
		cmocka_unit_test(doubles_read_back_the_same),
		cmocka_unit_test(failure_sticks),
		cmocka_unit_test(wants_exactly_one_value),
		cmocka_unit_test(nests_to_32_levels),
		cmocka_unit_test(the_ceiling_of_the_text_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
