/* Reading: names once, numbers digit for digit, getters without coercion. */
#include "base/json.h"

#include <stdarg.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct json *read_text(const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	if (json_read(&j, view_of(text), &json_limits_wire, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return j;
}

/* --- Names ----------------------------------------------------------------------------------- */

static void refuses_a_name_twice(void **state)
{
	static const char *const rows[] = {
		"{\"a\":1,\"a\":1}",
		"{\"a\":1,\"b\":2,\"a\":3}",
		"{\"\":1,\"\":2}",
		"{\"a\":1,\"\\u0061\":2}",
		"{\"\\/\":1,\"/\":2}",
		"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}",
		"[{\"x\":{\"a\":1,\"a\":1}}]",
		"[1,2,{\"b\":0},{\"c\":[[{\"a\":1,\"a\":1}]]},3]",
		"{\"z\":[{}],\"y\":{\"q\":1,\"q\":2}}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct json *j = NULL;
		struct err e = ERR_INIT;

		assert_int_equal(json_read(&j, view_of(rows[i]), &json_limits_wire, &e), -1);
		assert_null(j);
		assert_int_equal(e.code, E_FORMAT);
		assert_non_null(strstr(e.msg, "appears twice"));
	}
	struct json *j = read_text("{\"a\":1,\"A\":2,\"\xc3\xa4\":3,\"a\xcc\x88\":4,\"aa\":5}");
	json_free(&j);
}

/* n different names and, when twin is there, name number twin once more at the end. */
static void many_names(struct str *s, size_t n, size_t twin)
{
	str_reset(s);
	str_addc(s, '{');
	for (size_t i = 0; i < n; i++)
		str_addf(s, "\"name%zu\":0,", i * 2654435761U % 1000003U);
	if (twin < n)
		str_addf(s, "\"name%zu\":1}", twin * 2654435761U % 1000003U);
	else
		str_adds(s, "\"last\":1}");
	assert_true(str_ok(s));
}

static void finds_the_twin_among_many(void **state)
{
	struct str s = STR_INIT(4 << 20);
	struct json *j = NULL;

	(void)state;
	for (size_t n = 1; n <= 30; n++) {
		for (size_t twin = 0; twin <= n; twin++) {
			many_names(&s, n, twin);
			int rc = json_read(&j, str_view(&s), &json_limits_wire, NULL);
			assert_int_equal(rc, twin < n ? -1 : 0);
			json_free(&j);
		}
	}
	many_names(&s, 90000, 90001);
	assert_int_equal(json_read(&j, str_view(&s), &json_limits_wire, NULL), 0);
	assert_int_equal(json_count(j), 90001);
	json_free(&j);
	many_names(&s, 90000, 4711);
	assert_int_equal(json_read(&j, str_view(&s), &json_limits_wire, NULL), -1);
	str_release(&s);
}

/* --- Numbers --------------------------------------------------------------------------------- */

static void prints_numbers_digit_for_digit(void **state)
{
	static const char *const literals[] = {
		"0",
		"-0",
		"1",
		"-1",
		"999999999999999",
		"-999999999999999",
		"1000000000000000",
		"9007199254740991",
		"9007199254740992",
		"9007199254740993",
		"-9007199254740993",
		"7497484083968569999",
		"9223372036854775807",
		"9223372036854775808",
		"-9223372036854775808",
		"18446744073709551615",
		"18446744073709551616",
		"123456789012345678901234567890123456789012345678901234567890",
		"0.1",
		"0.30",
		"1.0",
		"-0.0",
		"1e2",
		"1E+2",
		"1e-2",
		"0e0",
		"1e-400",
		"0.30000000000000004",
		"3.14159265358979323846264338327950288",
		"1.7976931348623157e308",
		"1753945200123",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(literals); i++) {
		struct str in = STR_INIT(300), out = STR_INIT(300);

		str_addf(&in, "[%s,{\"%s\":%s}]", literals[i], literals[i], literals[i]);
		struct json *j = read_text(str_cstr(&in));
		assert_int_equal(json_type(json_first(j)), JSON_NUMBER);
		assert_int_equal(json_print(j, &out, NULL), 0);
		assert_string_equal(str_cstr(&out), str_cstr(&in));
		json_free(&j);
		j = read_text(literals[i]);
		assert_int_equal(json_type(j), JSON_NUMBER);
		str_reset(&out);
		assert_int_equal(json_print(j, &out, NULL), 0);
		assert_string_equal(str_cstr(&out), literals[i]);
		json_free(&j);
		str_release(&in);
		str_release(&out);
	}
}

static void reads_whole_numbers_exactly(void **state)
{
	static const struct {
		const char *text;
		int as_int, as_u64;
		int64_t i;
		uint64_t u;
	} rows[] = {
		{ "{\"n\":0}", 1, 1, 0, 0 },
		{ "{\"n\":-0}", 1, 1, 0, 0 },
		{ "{\"n\":-1}", 1, -1, -1, 0 },
		{ "{\"n\":999999999999999}", 1, 1, 999999999999999, 999999999999999 },
		{ "{\"n\":9007199254740993}", 1, 1, 9007199254740993, 9007199254740993 },
		{ "{\"n\":9223372036854775807}", 1, 1, INT64_MAX, INT64_MAX },
		{ "{\"n\":-9223372036854775808}", 1, -1, INT64_MIN, 0 },
		{ "{\"n\":9223372036854775808}", -1, 1, 0, 9223372036854775808U },
		{ "{\"n\":-9223372036854775809}", -1, -1, 0, 0 },
		{ "{\"n\":18446744073709551615}", -1, 1, 0, UINT64_MAX },
		{ "{\"n\":18446744073709551616}", -1, -1, 0, 0 },
		{ "{\"n\":1.0}", -1, -1, 0, 0 },
		{ "{\"n\":1e2}", -1, -1, 0, 0 },
		{ "{\"n\":0.5}", -1, -1, 0, 0 },
		{ "{\"n\":\"1\"}", -1, -1, 0, 0 },
		{ "{\"n\":true}", -1, -1, 0, 0 },
		{ "{\"n\":[1]}", -1, -1, 0, 0 },
		{ "{\"n\":null}", 0, 0, 0, 0 },
		{ "{\"m\":1}", 0, 0, 0, 0 },
		{ "{\"N\":1}", 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t k = 0; k < COUNT(rows); k++) {
		struct json *j = read_text(rows[k].text);
		int64_t i = 77;
		uint64_t u = 77;

		assert_int_equal(json_get_int(j, "n", JSON_OPTIONAL, INT64_MIN, INT64_MAX, &i,
					 NULL),
			rows[k].as_int);
		assert_true(i == (rows[k].as_int == 1 ? rows[k].i : 77));
		assert_int_equal(json_get_u64(j, "n", JSON_OPTIONAL, &u, NULL), rows[k].as_u64);
		assert_true(u == (rows[k].as_u64 == 1 ? rows[k].u : 77));
		json_free(&j);
	}
}

static void bounds_whole_numbers(void **state)
{
	struct json *j = read_text("{\"n\":10}");
	struct err e = ERR_INIT;
	int64_t n;

	(void)state;
	assert_int_equal(json_get_int(j, "n", JSON_REQUIRED, 10, 10, &n, NULL), 1);
	assert_int_equal(json_get_int(j, "n", JSON_REQUIRED, 11, 20, &n, NULL), -1);
	assert_int_equal(json_get_int(j, "n", JSON_REQUIRED, 0, 9, &n, &e), -1);
	assert_string_equal(e.msg, "n is not a whole number from 0 to 9");
	json_free(&j);
}

static void ids_come_as_number_or_string(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "{\"id\":9007199254740993}", "9007199254740993" },
		{ "{\"id\":9007199254740992}", "9007199254740992" },
		{ "{\"id\":18446744073709551615}", "18446744073709551615" },
		{ "{\"id\":\"18446744073709551615\"}", "18446744073709551615" },
		{ "{\"id\":0}", "0" },
		{ "{\"id\":42}", "42" },
		{ "{\"id\":\"42\"}", "42" },
		{ "{\"id\":\"007\"}", "7" },
		{ "{\"id\":\"000\"}", "0" },
		{ "{\"id\":\"00000000000000000001\"}", "1" },
		{ "{\"id\":\"000000000000000000001\"}", NULL },
		{ "{\"id\":18446744073709551616}", NULL },
		{ "{\"id\":\"18446744073709551616\"}", NULL },
		{ "{\"id\":123456789012345678901}", NULL },
		{ "{\"id\":-1}", "-1" },
		{ "{\"id\":\"-9223372036854775808\"}", "-9223372036854775808" },
		{ "{\"id\":-9223372036854775809}", NULL },
		{ "{\"id\":\"-00000000000000000007\"}", NULL },
		{ "{\"id\":\"-\"}", NULL },
		{ "{\"id\":-0}", NULL },
		{ "{\"id\":1.0}", NULL },
		{ "{\"id\":1e3}", NULL },
		{ "{\"id\":\"\"}", NULL },
		{ "{\"id\":\" 1\"}", NULL },
		{ "{\"id\":\"+1\"}", NULL },
		{ "{\"id\":\"1e3\"}", NULL },
		{ "{\"id\":\"abc\"}", NULL },
		{ "{\"id\":true}", NULL },
		{ "{\"id\":[1]}", NULL },
		{ "{\"id\":{}}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct json *j = read_text(rows[i].text);
		struct err e = ERR_INIT;
		char id[21] = "untouched";
		int rc = json_get_id(j, "id", JSON_OPTIONAL, id, &e);

		assert_int_equal(rc, rows[i].want ? 1 : -1);
		assert_string_equal(id, rows[i].want ? rows[i].want : "untouched");
		if (!rows[i].want)
			assert_string_equal(e.msg, "id is not an id of 1 to 20 digits");
		json_free(&j);
	}
	struct json *j = read_text("{\"id\":null}");
	char id[21] = "untouched";
	assert_int_equal(json_get_id(j, "id", JSON_OPTIONAL, id, NULL), 0);
	assert_int_equal(json_get_id(j, "id", JSON_REQUIRED, id, NULL), -1);
	assert_string_equal(id, "untouched");
	json_free(&j);
}

static void reads_doubles(void **state)
{
	struct json *j = read_text("{\"a\":0.1,\"b\":-2,\"c\":1e300,\"d\":\"1\",\"e\":1e-400}");
	double d = 0;

	(void)state;
	assert_int_equal(json_get_double(j, "a", JSON_REQUIRED, &d, NULL), 1);
	assert_true(d == 0.1);
	assert_int_equal(json_get_double(j, "b", JSON_REQUIRED, &d, NULL), 1);
	assert_true(d == -2.0);
	assert_int_equal(json_get_double(j, "c", JSON_REQUIRED, &d, NULL), 1);
	assert_true(d == 1e300);
	assert_int_equal(json_get_double(j, "d", JSON_REQUIRED, &d, NULL), -1);
	assert_int_equal(json_get_double(j, "e", JSON_REQUIRED, &d, NULL), 1);
	assert_true(d == 0.0);
	json_free(&j);
}

/* --- Other getters --------------------------------------------------------------------------- */

static void bounds_strings_in_bytes(void **state)
{
	struct json *j = read_text(
		"{\"s\":\"\xe4\xbd\xa0\",\"e\":\"\",\"n\":1,\"z\":null,\"big\":9007199254740993}");
	struct view v = VIEW("untouched");
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(json_get_str(j, "s", JSON_REQUIRED, 4, 9, &v, &e), -1);
	assert_string_equal(e.msg, "s has 3 bytes, at least 4 are needed");
	assert_int_equal(json_get_str(j, "s", JSON_REQUIRED, 0, 2, &v, &e), -1);
	assert_string_equal(e.msg, "s has 3 bytes, at most 2 are accepted");
	assert_int_equal(json_get_str(j, "e", JSON_REQUIRED, 1, 2, &v, &e), -1);
	assert_string_equal(e.msg, "e is empty");
	assert_int_equal(json_get_str(j, "n", JSON_OPTIONAL, 0, 9, &v, &e), -1);
	assert_string_equal(e.msg, "n is not a string");
	assert_int_equal(json_get_str(j, "big", JSON_OPTIONAL, 0, 99, &v, &e), -1);
	assert_int_equal(json_get_str(j, "z", JSON_REQUIRED, 0, 9, &v, &e), -1);
	assert_string_equal(e.msg, "z is null");
	assert_int_equal(json_get_str(j, "q", JSON_REQUIRED, 0, 9, &v, &e), -1);
	assert_string_equal(e.msg, "q is missing");
	assert_int_equal(json_get_str(j, "z", JSON_OPTIONAL, 0, 9, &v, &e), 0);
	assert_int_equal(json_get_str(j, "q", JSON_OPTIONAL, 0, 9, &v, &e), 0);
	assert_int_equal(json_get_str(NULL, "q", JSON_OPTIONAL, 0, 9, &v, &e), 0);
	assert_true(view_eqs(v, "untouched"));
	assert_int_equal(json_get_str(j, "s", JSON_REQUIRED, 3, 3, &v, &e), 1);
	assert_true(view_eqs(v, "\xe4\xbd\xa0"));
	assert_int_equal(v.p[v.n], 0);
	assert_int_equal(json_get_str(j, "e", JSON_REQUIRED, 0, 0, &v, &e), 1);
	assert_int_equal(v.n, 0);
	json_free(&j);
}

static void does_not_coerce(void **state)
{
	struct json *j = read_text("{\"t\":true,\"f\":false,\"one\":1,\"zero\":0,\"s\":\"true\","
				   "\"a\":[1,2],\"o\":{}}");
	const struct json *out = NULL;
	struct err e = ERR_INIT;
	bool b = false;

	(void)state;
	assert_int_equal(json_get_bool(j, "t", JSON_REQUIRED, &b, NULL), 1);
	assert_true(b);
	assert_int_equal(json_get_bool(j, "f", JSON_REQUIRED, &b, NULL), 1);
	assert_false(b);
	assert_int_equal(json_get_bool(j, "one", JSON_REQUIRED, &b, NULL), -1);
	assert_int_equal(json_get_bool(j, "s", JSON_REQUIRED, &b, &e), -1);
	assert_string_equal(e.msg, "s is not true or false");
	assert_int_equal(json_get_object(j, "a", JSON_REQUIRED, &out, &e), -1);
	assert_string_equal(e.msg, "a is not an object");
	assert_int_equal(json_get_object(j, "o", JSON_REQUIRED, &out, NULL), 1);
	assert_null(json_first(out));
	assert_int_equal(json_get_array(j, "o", JSON_REQUIRED, 9, &out, &e), -1);
	assert_string_equal(e.msg, "o is not an array");
	assert_int_equal(json_get_array(j, "a", JSON_REQUIRED, 1, &out, &e), -1);
	assert_string_equal(e.msg, "a has 2 items, at most 1 are accepted");
	assert_int_equal(json_get_array(j, "a", JSON_REQUIRED, 2, &out, NULL), 1);
	assert_int_equal(json_count(out), 2);
	json_free(&j);
}

static void knows_the_words_of_an_enum(void **state)
{
	static const char *const names[] = { "wait", "scaned", NULL };
	struct json *j = read_text("{\"s\":\"scaned\",\"t\":\"SCANED\",\"u\":1,\"v\":\"wai\"}");
	struct err e = ERR_INIT;
	int at = 77;

	(void)state;
	assert_int_equal(json_get_enum(j, "t", JSON_REQUIRED, names, &at, &e), -1);
	assert_string_equal(e.msg, "t has the unknown value \"SCANED\"");
	assert_int_equal(json_get_enum(j, "u", JSON_REQUIRED, names, &at, NULL), -1);
	assert_int_equal(json_get_enum(j, "v", JSON_REQUIRED, names, &at, NULL), -1);
	assert_int_equal(json_get_enum(j, "w", JSON_OPTIONAL, names, &at, NULL), 0);
	assert_int_equal(at, 77);
	assert_int_equal(json_get_enum(j, "s", JSON_REQUIRED, names, &at, NULL), 1);
	assert_int_equal(at, 1);
	json_free(&j);
}

static void walks_the_tree(void **state)
{
	struct json *j = read_text("[\"a\",7,null,{\"k\":true},9007199254740993,1.5]");
	const struct json *it = json_first(j);
	struct view v;
	int64_t n;

	(void)state;
	assert_int_equal(json_type(j), JSON_ARRAY);
	assert_int_equal(json_count(j), 6);
	assert_null(json_name(it));
	assert_int_equal(json_str(it, &v), 0);
	assert_true(view_eqs(v, "a"));
	assert_int_equal(json_int(it, &n), -1);
	it = json_next(it);
	assert_int_equal(json_int(it, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(json_str(it, &v), -1);
	it = json_next(it);
	assert_int_equal(json_type(it), JSON_NULL);
	it = json_next(it);
	assert_int_equal(json_type(it), JSON_OBJECT);
	assert_string_equal(json_name(json_first(it)), "k");
	assert_int_equal(json_type(json_member(it, "k")), JSON_BOOL);
	assert_null(json_member(it, "K"));
	assert_null(json_member(j, "k"));
	assert_null(json_member(NULL, "k"));
	it = json_next(it);
	assert_int_equal(json_int(it, &n), 0);
	assert_true(n == 9007199254740993);
	it = json_next(it);
	assert_int_equal(json_int(it, &n), -1);
	assert_null(json_next(it));
	json_free(&j);
	assert_null(j);
	json_free(&j);
	json_free(NULL);
	assert_null(json_first(NULL));
}

static void strings_are_unescaped_and_escaped_again(void **state)
{
	struct json *j =
		read_text("[\"\\u4f60\\/\\\"\\\\\\b\\f\\n\\r\\t\\u001f\\u007f\\ud83d\\ude00\"]");
	struct str s = STR_INIT(200);
	struct view v;

	(void)state;
	assert_int_equal(json_str(json_first(j), &v), 0);
	assert_true(view_eqs(v, "\xe4\xbd\xa0/\"\\\b\f\n\r\t\x1f\x7f\xf0\x9f\x98\x80"));
	assert_int_equal(json_print(j, &s, NULL), 0);
	assert_string_equal(str_cstr(&s),
		"[\"\xe4\xbd\xa0/\\\"\\\\\\b\\f\\n\\r\\t\\u001f\x7f\xf0\x9f\x98\x80\"]");
	str_release(&s);
	json_free(&j);
}

static void printing_has_a_ceiling(void **state)
{
	struct json *j = read_text("{\"a\":[1,\"x\",{}]}");
	static const char want[] = "{\"a\":[1,\"x\",{}]}";

	(void)state;
	for (size_t max = 0; max <= sizeof(want); max++) {
		struct str s = STR_INIT(max);
		struct err e = ERR_INIT;
		bool fits = max >= sizeof(want) - 1;

		assert_int_equal(json_print(j, &s, &e), fits ? 0 : -1);
		if (fits)
			assert_string_equal(str_cstr(&s), want);
		else
			assert_int_equal(e.code, E_NOMEM);
		str_release(&s);
	}
	json_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_a_name_twice),
		cmocka_unit_test(finds_the_twin_among_many),
		cmocka_unit_test(prints_numbers_digit_for_digit),
		cmocka_unit_test(reads_whole_numbers_exactly),
		cmocka_unit_test(bounds_whole_numbers),
		cmocka_unit_test(ids_come_as_number_or_string),
		cmocka_unit_test(reads_doubles),
		cmocka_unit_test(bounds_strings_in_bytes),
		cmocka_unit_test(does_not_coerce),
		cmocka_unit_test(knows_the_words_of_an_enum),
		cmocka_unit_test(walks_the_tree),
		cmocka_unit_test(strings_are_unescaped_and_escaped_again),
		cmocka_unit_test(printing_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
