/* The gate: what is JSON (RFC 8259), what is not, and every limit at, under and over. */
#include "base/json.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Both doors must say the same: the gate alone and the whole reading. */
static int accepts(struct view v, const struct json_limits *lim, struct err *e)
{
	struct json *j = NULL;
	int checked = json_check(v, lim, NULL);
	int rc = json_read(&j, v, lim, e);

	assert_true((rc == 0) == (j != NULL));
	if (checked != rc) {
		print_error("check %d, read %d: %.*s\n", checked, rc, VIEW_FMT(v));
		fail();
	}
	json_free(&j);
	return rc;
}

static void takes_what_rfc_8259_allows(void **state)
{
	static const struct view good[] = {
		/* structure and white space */
		VIEW("[]"),
		VIEW("{}"),
		VIEW("[ ]"),
		VIEW("{ }"),
		VIEW(" [] "),
		VIEW("\t\n\r [] \t\n\r"),
		VIEW("[[]   ]"),
		VIEW("[\n1\n,\t2 ]"),
		VIEW("{\"a\" : 1 , \"b\":2}"),
		VIEW("[[],[[]],{}]"),
		VIEW("{\"a\":{\"a\":{\"a\":[]}}}"),
		VIEW("{\"a\":1,\"A\":2}"),
		VIEW("{\"\":0}"),
		VIEW("{\"a\":[{\"a\":1},{\"a\":1}]}"),
		/* a scalar may stand alone */
		VIEW("null"),
		VIEW("true"),
		VIEW("false"),
		VIEW("42"),
		VIEW("-0.1"),
		VIEW("\"asd\""),
		VIEW("\"\""),
		/* numbers */
		VIEW("[0]"),
		VIEW("[-0]"),
		VIEW("[-1]"),
		VIEW("[123]"),
		VIEW("[0.5]"),
		VIEW("[-0.0]"),
		VIEW("[0e+1]"),
		VIEW("[0e1]"),
		VIEW("[1E22]"),
		VIEW("[1E-2]"),
		VIEW("[1E+2]"),
		VIEW("[1e-2]"),
		VIEW("[1.5e3]"),
		VIEW("[123.456e78]"),
		VIEW("[-0.000000000000000000000000000001]"),
		VIEW("[20e1]"),
		VIEW("[18446744073709551616]"),
		VIEW("[-9223372036854775809]"),
		VIEW("[1e-999]"),
		VIEW("[1.7976931348623157e308]"),
		VIEW("[-1.7976931348623157E+308]"),
		/* escapes */
		VIEW("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]"),
		VIEW("[\"\\u0060\\u012a\\u12AB\"]"),
		VIEW("[\"\\uD801\\udc37\"]"),
		VIEW("[\"\\ud83d\\ude39\\ud83d\\udc8d\"]"),
		VIEW("[\"\\\\u0000\"]"),
		VIEW("[\"\\u0001\\u001f\\u007f\"]"),
		VIEW("[\"\\uFFFE\\uffff\"]"),
		VIEW("[\"\\uDBFF\\uDFFF\"]"),
		VIEW("[\"\\\\\\\"\"]"),
		VIEW("[\"\\\"\"]"),
		/* raw text */
		VIEW("[\"a/*b*/c/*d//e\"]"),
		VIEW("[\"\x7f\"]"),
		VIEW("[\"\xc2\x80\"]"),
		VIEW("[\"\xe4\xbd\xa0\xe5\xa5\xbd\"]"),
		VIEW("[\"\xf4\x8f\xbf\xbf\"]"),
		VIEW("[\"\xef\xbb\xbf\"]"),
		VIEW("[\"\xe2\x80\xa8\xe2\x80\xa9\"]"),
		VIEW("[\"new\\u000Aline\"]"),
		VIEW("{\"\xef\xbf\xbf\":\"\xee\x80\x80\"}"),
		VIEW("[\"\xed\x9f\xbf\xee\x80\x80\"]"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		struct err e = ERR_INIT;

		if (accepts(good[i], &json_limits_wire, &e) < 0) {
			print_error("refused %.*s: %s\n", VIEW_FMT(good[i]), e.msg);
			fail();
		}
		assert_int_equal(accepts(good[i], &json_limits_message, &e), 0);
	}
}

static const struct view bad[] = {
	/* nothing, or too little */
	VIEW(""),
	VIEW(" "),
	VIEW("["),
	VIEW("{"),
	VIEW("[1"),
	VIEW("[1,"),
	VIEW("[\"a"),
	VIEW("[\"a\""),
	VIEW("{\"a\""),
	VIEW("{\"a\":"),
	VIEW("{\"a\":1"),
	VIEW("{\"a\":1,"),
	VIEW("[{"),
	VIEW("[[["),
	VIEW("-"),
	VIEW("\""),
	VIEW("\"\\"),
	VIEW("\"\\\""),
	VIEW("\"\\u"),
	VIEW("\"\\u00"),
	VIEW("\"\\u123"),
	VIEW("t"),
	VIEW("nul"),
	VIEW("[nul"),
	VIEW("[tru]"),
	/* too much */
	VIEW("[]]"),
	VIEW("[] x"),
	VIEW("{}}"),
	VIEW("1 2"),
	VIEW("[][]"),
	VIEW("{}#"),
	VIEW("[1]x"),
	VIEW("\"a\"b"),
	VIEW("2@"),
	VIEW("{\"a\":1}//c"),
	VIEW("{\"a\":1}/**/"),
	VIEW("[],"),
	VIEW("truefalse"),
	VIEW("[]\0"),
	VIEW("nullx"),
	/* commas, colons, brackets */
	VIEW("[1,]"),
	VIEW("[,1]"),
	VIEW("[1,,2]"),
	VIEW("[,]"),
	VIEW("[1 2]"),
	VIEW("[\"a\" \"b\"]"),
	VIEW("[1:2]"),
	VIEW("{,}"),
	VIEW("{\"a\":1,}"),
	VIEW("{\"a\":1,,\"b\":2}"),
	VIEW("{\"a\" 1}"),
	VIEW("{\"a\"::1}"),
	VIEW("{\"a\",1}"),
	VIEW("{\"a\":}"),
	VIEW("{:1}"),
	VIEW("{1:1}"),
	VIEW("{null:1}"),
	VIEW("{a:1}"),
	VIEW("{'a':1}"),
	VIEW("{[]:1}"),
	VIEW("[}"),
	VIEW("{]"),
	VIEW("[1}"),
	VIEW("{\"a\":1]"),
	VIEW("]"),
	VIEW("}"),
	VIEW(","),
	VIEW(":"),
	VIEW("[\"a\",\n1,\n1,"),
	VIEW("{\"a\":\"b\" \"c\":1}"),
	VIEW("{\"a\"}"),
	VIEW("<.>"),
	VIEW("[<null>]"),
	VIEW("*"),
	VIEW("abc"),
	VIEW("['a']"),
	VIEW("[a]"),
	VIEW("/**/[]"),
	VIEW("[/**/1]"),
	VIEW("#[]"),
	/* words */
	VIEW("[True]"),
	VIEW("[NULL]"),
	VIEW("[truE]"),
	VIEW("[nulL]"),
	VIEW("[NaN]"),
	VIEW("[Inf]"),
	VIEW("[Infinity]"),
	VIEW("[-Infinity]"),
	VIEW("[-NaN]"),
	VIEW("[nan]"),
	VIEW("[undefined]"),
	VIEW("[-inf]"),
	/* numbers */
	VIEW("[01]"),
	VIEW("[-01]"),
	VIEW("[00]"),
	VIEW("[+1]"),
	VIEW("[++1]"),
	VIEW("[.5]"),
	VIEW("[-.5]"),
	VIEW("[1.]"),
	VIEW("[1.e1]"),
	VIEW("[0.e1]"),
	VIEW("[1e]"),
	VIEW("[1e+]"),
	VIEW("[1E-]"),
	VIEW("[1eE2]"),
	VIEW("[1e1.5]"),
	VIEW("[1.2.3]"),
	VIEW("[--1]"),
	VIEW("[- 1]"),
	VIEW("[-]"),
	VIEW("[-a]"),
	VIEW("[1a]"),
	VIEW("[0x10]"),
	VIEW("[0x]"),
	VIEW("[1_000]"),
	VIEW("[1 000]"),
	VIEW("[1+2]"),
	VIEW("[9.e+]"),
	VIEW("[1e999]"),
	VIEW("[-1e999]"),
	VIEW("[1.7976931348623159e308]"),
	VIEW("[10e308]"),
	VIEW("[0.1e310]"),
	VIEW("[\xef\xbc\x91]"),
	VIEW("[1e99999]"),
	/* strings */
	VIEW("[\"\\x00\"]"),
	VIEW("[\"\\a\"]"),
	VIEW("[\"\\U1234\"]"),
	VIEW("[\"\\\xf0\x9f\x98\x80\"]"),
	VIEW("[\"\\u\"]"),
	VIEW("[\"\\u00zz\"]"),
	VIEW("[\"\\u00g0\"]"),
	VIEW("[\"\\u 123\"]"),
	VIEW("[\"\\u+123\"]"),
	VIEW("[\"\\u-123\"]"),
	VIEW("[\"\\u12\"]"),
	VIEW("[\"\\'\"]"),
	VIEW("[\"\\0\"]"),
	VIEW("[\"\\\n\"]"),
	VIEW("[\"a\nb\"]"),
	VIEW("[\"a\tb\"]"),
	VIEW("[\"a\rb\"]"),
	VIEW("[\"\x1f\"]"),
	VIEW("[\"\x01\"]"),
	/* white space is four characters */
	VIEW("[\f]"),
	VIEW("[\v1]"),
	VIEW("[\xc2\xa0]"),
	VIEW("\xef\xbb\xbf[]"),
	VIEW("\xef\xbb\xbf"),
	VIEW("[\xe2\x81\xa0]"),
	VIEW("[1,\0 2]"),
	VIEW("\0[]"),
	VIEW("[\0]"),
	VIEW("[]\x0c"),
	VIEW("\xff\xfe[\0]\0"),
	VIEW("[\x00e\xff]"),
	/* bytes that are no UTF-8, outside strings */
	VIEW("[\xff]"),
	VIEW("[1\xe5]"),
	VIEW("{\xff:1}"),
	VIEW("[-\xc3\xa9]"),
	VIEW("\xc3\xa9"),
};

static void refuses_everything_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct err e = ERR_INIT;

		if (accepts(bad[i], &json_limits_wire, &e) == 0) {
			print_error("accepted %.*s\n", VIEW_FMT(bad[i]));
			fail();
		}
		assert_int_equal(e.code, E_FORMAT);
		assert_non_null(strstr(e.msg, "byte "));
		assert_int_equal(accepts(bad[i], &json_limits_message, NULL), -1);
	}
}

/* What one caller wants refused and another repaired. */
static const struct {
	struct view in;
	const char *repaired;
} soft[] = {
	{ VIEW("[\"a\\u0000b\"]"), "[\"a\xef\xbf\xbd"
				   "b\"]" },
	{ VIEW("[\"\\u0000\"]"), "[\"\xef\xbf\xbd\"]" },
	{ VIEW("[\"a\0b\"]"), "[\"a\xef\xbf\xbd"
			      "b\"]" },
	{ VIEW("{\"\0\":1}"), "{\"\xef\xbf\xbd\":1}" },
	{ VIEW("[\"\xff\"]"), "[\"\xef\xbf\xbd\"]" },
	{ VIEW("[\"\xff\xff\",\"\xfe\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\",\"\xef\xbf\xbd\"]" },
	{ VIEW("[\"\x80\"]"), "[\"\xef\xbf\xbd\"]" },                 /* lone continuation */
	{ VIEW("[\"\xc0\xaf\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\"]" }, /* overlong */
	{ VIEW("[\"\xe0\x80\xaf\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]" },
	{ VIEW("[\"\xed\xa0\x80\"]"),
		"[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]" }, /* surrogate */
	{ VIEW("[\"\xf4\x90\x80\x80\"]"),
		"[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]" },
	{ VIEW("[\"\xe4\xbd\"]"), "[\"\xef\xbf\xbd\"]" }, /* cut short */
	{ VIEW("[\"\xe4\xbd\\n\xa0\"]"), "[\"\xef\xbf\xbd\\n\xef\xbf\xbd\"]" },
	{ VIEW("[\"12345678\xf0\x9f\x98 and more\"]"), "[\"12345678\xef\xbf\xbd and more\"]" },
	{ VIEW("[\"\\ud800\"]"), "[\"\xef\xbf\xbd\"]" },
	{ VIEW("[\"\\udc00\"]"), "[\"\xef\xbf\xbd\"]" },
	{ VIEW("[\"\\ud83d\\ud83d\\ude39\"]"), "[\"\xef\xbf\xbd\xf0\x9f\x98\xb9\"]" },
	{ VIEW("[\"\\ude39\\ud83d\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\"]" },
	{ VIEW("[\"\\ud83dx\"]"), "[\"\xef\xbf\xbdx\"]" },
	{ VIEW("[\"\\ud83d\\n\"]"), "[\"\xef\xbf\xbd\\n\"]" },
	{ VIEW("[\"\\uDADA\\u0041\"]"), "[\"\xef\xbf\xbd"
					"A\"]" },
	{ VIEW("[\"\\ud83d\\u0000\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\"]" },
};

static void repairs_only_where_it_may(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(soft); i++) {
		struct json *j = NULL;
		struct str s = STR_INIT(1000);
		struct err e = ERR_INIT;

		assert_int_equal(accepts(soft[i].in, &json_limits_wire, &e), -1);
		assert_int_equal(e.code, E_FORMAT);
		assert_int_equal(accepts(soft[i].in, &json_limits_message, NULL), 0);
		assert_int_equal(json_read(&j, soft[i].in, &json_limits_message, NULL), 0);
		assert_int_equal(json_print(j, &s, NULL), 0);
		assert_string_equal(str_cstr(&s), soft[i].repaired);
		str_release(&s);
		json_free(&j);
	}
}

static void repairs_nul_without_repairing_the_rest(void **state)
{
	struct json_limits nul = json_limits_wire, utf8 = json_limits_wire;

	(void)state;
	nul.nul = JSON_NUL_REPAIR;
	utf8.repair_utf8 = true;
	assert_int_equal(accepts(VIEW("[\"\\u0000\"]"), &nul, NULL), 0);
	assert_int_equal(accepts(VIEW("[\"\\ud800\"]"), &nul, NULL), -1);
	assert_int_equal(accepts(VIEW("[\"\xff\"]"), &nul, NULL), -1);
	assert_int_equal(accepts(VIEW("[\"\\u0000\"]"), &utf8, NULL), -1);
	assert_int_equal(accepts(VIEW("[\"\0\"]"), &utf8, NULL), -1);
	assert_int_equal(accepts(VIEW("[\"\xff\"]"), &utf8, NULL), 0);
}

static void names_the_byte(void **state)
{
	static const struct {
		struct view in;
		const char *msg;
	} rows[] = {
		{ VIEW("[1,\n2,,3]"), "JSON, byte 6: a value was expected" },
		{ VIEW("{\"a\":1 \"b\"}"), "JSON, byte 7: a comma or } was expected" },
		{ VIEW("[\"ab\xff\"]"), "JSON, byte 4: not valid UTF-8" },
		{ VIEW("[\"abcdefghijkl\xe4\xbd\"]"), "JSON, byte 14: not valid UTF-8" },
		{ VIEW("{\"a\":[1}"), "JSON, byte 7: a comma or ] was expected" },
		{ VIEW("[] []"), "JSON, byte 3: more text after the value" },
		{ VIEW("[1"), "JSON, byte 2: it ends too early" },
		{ VIEW(""), "JSON, byte 0: nothing there" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(json_check(rows[i].in, &json_limits_wire, &e), -1);
		assert_string_equal(e.msg, rows[i].msg);
	}
	assert_int_equal(json_check(VIEW_NONE, &json_limits_wire, NULL), -1);
}

/* head, then unit n times, then tail n times */
static void repeat(struct str *s, const char *unit, size_t n, const char *tail)
{
	for (size_t i = 0; i < n; i++)
		str_adds(s, unit);
	for (size_t i = 0; i < n; i++)
		str_adds(s, tail);
	assert_true(str_ok(s));
}

static void bounds_the_depth(void **state)
{
	static const struct {
		const char *open, *close;
	} kinds[] = { { "[", "]" }, { "{\"a\":", "}" }, { "[{\"a\":", "}]" } };

	(void)state;
	for (int depth = 0; depth <= 70; depth++) {
		for (size_t k = 0; k < COUNT(kinds); k++) {
			struct json_limits lim = json_limits_wire;
			struct str s = STR_INIT(1 << 20);
			int levels = k == 2 ? 2 * depth : depth;

			for (int i = 0; i < depth; i++)
				str_adds(&s, kinds[k].open);
			str_adds(&s, "1");
			for (int i = 0; i < depth; i++)
				str_adds(&s, kinds[k].close);
			lim.depth = levels;
			assert_int_equal(accepts(str_view(&s), &lim, NULL), levels <= 64 ? 0 : -1);
			lim.depth = levels - 1;
			assert_int_equal(accepts(str_view(&s), &lim, NULL), levels == 0 ? 0 : -1);
			lim.depth = 1000000;
			assert_int_equal(accepts(str_view(&s), &lim, NULL), levels <= 64 ? 0 : -1);
			str_release(&s);
		}
	}
}

static void hostile_depth_costs_nothing(void **state)
{
	struct str s = STR_INIT(4 << 20);

	(void)state;
	repeat(&s, "[", 1000000, "]");
	assert_int_equal(accepts(str_view(&s), &json_limits_wire, NULL), -1);
	str_reset(&s);
	repeat(&s, "{\"a\":", 300000, "}");
	assert_int_equal(accepts(str_view(&s), &json_limits_wire, NULL), -1);
	str_release(&s);
}

static void bounds_the_values(void **state)
{
	struct json_limits lim = json_limits_wire;

	(void)state;
	/* the array, 1, "x", null, {}, the inner array, true: 7; names are not counted */
	static const char text[] = "[1,\"x\",null,{},[true]]";
	lim.nodes = 7;
	assert_int_equal(accepts(view_of(text), &lim, NULL), 0);
	lim.nodes = 6;
	assert_int_equal(accepts(view_of(text), &lim, NULL), -1);
	lim.nodes = 2;
	assert_int_equal(accepts(VIEW("{\"a\":1}"), &lim, NULL), 0);
	lim.nodes = 1;
	assert_int_equal(accepts(VIEW("{\"a\":1}"), &lim, NULL), -1);
	assert_int_equal(accepts(VIEW("{}"), &lim, NULL), 0);
	lim.nodes = 0;
	assert_int_equal(accepts(VIEW("1"), &lim, NULL), -1);

	struct str s = STR_INIT(1 << 20);
	str_adds(&s, "[0");
	for (size_t i = 2; i < json_limits_wire.nodes; i++)
		str_adds(&s, ",0");
	str_adds(&s, "]");
	assert_int_equal(accepts(str_view(&s), &json_limits_wire, NULL), 0);
	str_truncate(&s, s.n - 1);
	str_adds(&s, ",0]");
	assert_int_equal(accepts(str_view(&s), &json_limits_wire, NULL), -1);
	str_release(&s);
}

static void bounds_the_bytes(void **state)
{
	struct json_limits lim = json_limits_wire;
	struct err e = ERR_INIT;

	(void)state;
	lim.bytes = 4;
	assert_int_equal(accepts(VIEW("[12]"), &lim, NULL), 0);
	assert_int_equal(accepts(VIEW("[1] "), &lim, NULL), 0);
	assert_int_equal(accepts(VIEW("[12] "), &lim, &e), -1);
	assert_int_equal(e.code, E_FORMAT);
	assert_non_null(strstr(e.msg, "4"));
}

static void bounds_the_length_of_a_number(void **state)
{
	char z[JSON_NUMBER_CHARS + 4];

	(void)state;
	for (size_t len = 1; len <= JSON_NUMBER_CHARS + 1; len++) {
		z[0] = '[';
		memset(z + 1, '7', len);
		memcpy(z + 1 + len, "]", 2);
		assert_int_equal(accepts(view_of(z), &json_limits_wire, NULL),
			len <= JSON_NUMBER_CHARS ? 0 : -1);
		if (len > 2) {
			z[2] = '.';
			assert_int_equal(accepts(view_of(z), &json_limits_wire, NULL),
				len <= JSON_NUMBER_CHARS ? 0 : -1);
		}
	}
}

static void the_limits_are_the_agreed_ones(void **state)
{
	(void)state;
	assert_int_equal(json_limits_wire.bytes, 2097152);
	assert_int_equal(json_limits_wire.depth, 32);
	assert_int_equal(json_limits_wire.nodes, 200000);
	assert_int_equal(json_limits_config.bytes, 131072);
	assert_int_equal(json_limits_config.depth, 16);
	assert_int_equal(json_limits_config.nodes, 10000);
}

/* Every proper prefix of a document that ends in a bracket is refused. */
static void refuses_every_truncation(void **state)
{
	static const char text[] =
		" {\"id\":18446744073709551615,\"t\":\"\\ud83d\\ude00 \xe4\xbd\xa0\",\"l\":[1.5e-3,"
		"true,false,null,{}],\"n\":-0}";
	struct view v = view_of(text);

	(void)state;
	assert_int_equal(accepts(v, &json_limits_wire, NULL), 0);
	for (size_t n = 0; n < v.n; n++) {
		/* a heap copy of exactly n bytes, so that reading past its end is seen */
		char *copy = malloc(n + 1);

		assert_non_null(copy);
		char *end = copy + 1;
		memcpy(end, v.p, n);
		assert_int_equal(accepts((struct view){ end, n }, &json_limits_wire, NULL), -1);
		assert_int_equal(accepts((struct view){ end, n }, &json_limits_message, NULL), -1);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_rfc_8259_allows),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(repairs_only_where_it_may),
		cmocka_unit_test(repairs_nul_without_repairing_the_rest),
		cmocka_unit_test(names_the_byte),
		cmocka_unit_test(bounds_the_depth),
		cmocka_unit_test(hostile_depth_costs_nothing),
		cmocka_unit_test(bounds_the_values),
		cmocka_unit_test(bounds_the_bytes),
		cmocka_unit_test(bounds_the_length_of_a_number),
		cmocka_unit_test(the_limits_are_the_agreed_ones),
		cmocka_unit_test(refuses_every_truncation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
