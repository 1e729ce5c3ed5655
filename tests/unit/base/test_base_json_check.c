/* The gate: what is JSON (RFC 8259), what is not, and every limit at, under and over. */
#include "base/json.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define J(lit)                                                                                     \
	{                                                                                          \
		"" lit, sizeof(lit) - 1                                                            \
	}

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
		J("[]"),
		J("{}"),
		J("[ ]"),
		J("{ }"),
		J(" [] "),
		J("\t\n\r [] \t\n\r"),
		J("[[]   ]"),
		J("[\n1\n,\t2 ]"),
		J("{\"a\" : 1 , \"b\":2}"),
		J("[[],[[]],{}]"),
		J("{\"a\":{\"a\":{\"a\":[]}}}"),
		J("{\"a\":1,\"A\":2}"),
		J("{\"\":0}"),
		J("{\"a\":[{\"a\":1},{\"a\":1}]}"),
		/* a scalar may stand alone */
		J("null"),
		J("true"),
		J("false"),
		J("42"),
		J("-0.1"),
		J("\"asd\""),
		J("\"\""),
		/* numbers */
		J("[0]"),
		J("[-0]"),
		J("[-1]"),
		J("[123]"),
		J("[0.5]"),
		J("[-0.0]"),
		J("[0e+1]"),
		J("[0e1]"),
		J("[1E22]"),
		J("[1E-2]"),
		J("[1E+2]"),
		J("[1e-2]"),
		J("[1.5e3]"),
		J("[123.456e78]"),
		J("[-0.000000000000000000000000000001]"),
		J("[20e1]"),
		J("[18446744073709551616]"),
		J("[-9223372036854775809]"),
		J("[1e-999]"),
		J("[1.7976931348623157e308]"),
		J("[-1.7976931348623157E+308]"),
		/* escapes */
		J("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]"),
		J("[\"\\u0060\\u012a\\u12AB\"]"),
		J("[\"\\uD801\\udc37\"]"),
		J("[\"\\ud83d\\ude39\\ud83d\\udc8d\"]"),
		J("[\"\\\\u0000\"]"),
		J("[\"\\u0001\\u001f\\u007f\"]"),
		J("[\"\\uFFFE\\uffff\"]"),
		J("[\"\\uDBFF\\uDFFF\"]"),
		J("[\"\\\\\\\"\"]"),
		J("[\"\\\"\"]"),
		/* raw text */
		J("[\"a/*b*/c/*d//e\"]"),
		J("[\"\x7f\"]"),
		J("[\"\xc2\x80\"]"),
		J("[\"\xe4\xbd\xa0\xe5\xa5\xbd\"]"),
		J("[\"\xf4\x8f\xbf\xbf\"]"),
		J("[\"\xef\xbb\xbf\"]"),
		J("[\"\xe2\x80\xa8\xe2\x80\xa9\"]"),
		J("[\"new\\u000Aline\"]"),
		J("{\"\xef\xbf\xbf\":\"\xee\x80\x80\"}"),
		J("[\"\xed\x9f\xbf\xee\x80\x80\"]"),
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
	J(""),
	J(" "),
	J("["),
	J("{"),
	J("[1"),
	J("[1,"),
	J("[\"a"),
	J("[\"a\""),
	J("{\"a\""),
	J("{\"a\":"),
	J("{\"a\":1"),
	J("{\"a\":1,"),
	J("[{"),
	J("[[["),
	J("-"),
	J("\""),
	J("\"\\"),
	J("\"\\\""),
	J("\"\\u"),
	J("\"\\u00"),
	J("\"\\u123"),
	J("t"),
	J("nul"),
	J("[nul"),
	J("[tru]"),
	/* too much */
	J("[]]"),
	J("[] x"),
	J("{}}"),
	J("1 2"),
	J("[][]"),
	J("{}#"),
	J("[1]x"),
	J("\"a\"b"),
	J("2@"),
	J("{\"a\":1}//c"),
	J("{\"a\":1}/**/"),
	J("[],"),
	J("truefalse"),
	J("[]\0"),
	J("nullx"),
	/* commas, colons, brackets */
	J("[1,]"),
	J("[,1]"),
	J("[1,,2]"),
	J("[,]"),
	J("[1 2]"),
	J("[\"a\" \"b\"]"),
	J("[1:2]"),
	J("{,}"),
	J("{\"a\":1,}"),
	J("{\"a\":1,,\"b\":2}"),
	J("{\"a\" 1}"),
	J("{\"a\"::1}"),
	J("{\"a\",1}"),
	J("{\"a\":}"),
	J("{:1}"),
	J("{1:1}"),
	J("{null:1}"),
	J("{a:1}"),
	J("{'a':1}"),
	J("{[]:1}"),
	J("[}"),
	J("{]"),
	J("[1}"),
	J("{\"a\":1]"),
	J("]"),
	J("}"),
	J(","),
	J(":"),
	J("[\"a\",\n1,\n1,"),
	J("{\"a\":\"b\" \"c\":1}"),
	J("{\"a\"}"),
	J("<.>"),
	J("[<null>]"),
	J("*"),
	J("abc"),
	J("['a']"),
	J("[a]"),
	J("/**/[]"),
	J("[/**/1]"),
	J("#[]"),
	/* words */
	J("[True]"),
	J("[NULL]"),
	J("[truE]"),
	J("[nulL]"),
	J("[NaN]"),
	J("[Inf]"),
	J("[Infinity]"),
	J("[-Infinity]"),
	J("[-NaN]"),
	J("[nan]"),
	J("[undefined]"),
	J("[-inf]"),
	/* numbers */
	J("[01]"),
	J("[-01]"),
	J("[00]"),
	J("[+1]"),
	J("[++1]"),
	J("[.5]"),
	J("[-.5]"),
	J("[1.]"),
	J("[1.e1]"),
	J("[0.e1]"),
	J("[1e]"),
	J("[1e+]"),
	J("[1E-]"),
	J("[1eE2]"),
	J("[1e1.5]"),
	J("[1.2.3]"),
	J("[--1]"),
	J("[- 1]"),
	J("[-]"),
	J("[-a]"),
	J("[1a]"),
	J("[0x10]"),
	J("[0x]"),
	J("[1_000]"),
	J("[1 000]"),
	J("[1+2]"),
	J("[9.e+]"),
	J("[1e999]"),
	J("[-1e999]"),
	J("[1.7976931348623159e308]"),
	J("[10e308]"),
	J("[0.1e310]"),
	J("[\xef\xbc\x91]"),
	J("[1e99999]"),
	/* strings */
	J("[\"\\x00\"]"),
	J("[\"\\a\"]"),
	J("[\"\\U1234\"]"),
	J("[\"\\\xf0\x9f\x98\x80\"]"),
	J("[\"\\u\"]"),
	J("[\"\\u00zz\"]"),
	J("[\"\\u00g0\"]"),
	J("[\"\\u 123\"]"),
	J("[\"\\u+123\"]"),
	J("[\"\\u-123\"]"),
	J("[\"\\u12\"]"),
	J("[\"\\'\"]"),
	J("[\"\\0\"]"),
	J("[\"\\\n\"]"),
	J("[\"a\nb\"]"),
	J("[\"a\tb\"]"),
	J("[\"a\rb\"]"),
	J("[\"\x1f\"]"),
	J("[\"\x01\"]"),
	/* white space is four characters */
	J("[\f]"),
	J("[\v1]"),
	J("[\xc2\xa0]"),
	J("\xef\xbb\xbf[]"),
	J("\xef\xbb\xbf"),
	J("[\xe2\x81\xa0]"),
	J("[1,\0 2]"),
	J("\0[]"),
	J("[\0]"),
	J("[]\x0c"),
	J("\xff\xfe[\0]\0"),
	J("[\x00e\xff]"),
	/* bytes that are no UTF-8, outside strings */
	J("[\xff]"),
	J("[1\xe5]"),
	J("{\xff:1}"),
	J("[-\xc3\xa9]"),
	J("\xc3\xa9"),
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
	{ J("[\"a\\u0000b\"]"), "[\"a\xef\xbf\xbd"
				"b\"]" },
	{ J("[\"\\u0000\"]"), "[\"\xef\xbf\xbd\"]" },
	{ J("[\"a\0b\"]"), "[\"a\xef\xbf\xbd"
			   "b\"]" },
	{ J("{\"\0\":1}"), "{\"\xef\xbf\xbd\":1}" },
	{ J("[\"\xff\"]"), "[\"\xef\xbf\xbd\"]" },
	{ J("[\"\xff\xff\",\"\xfe\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\",\"\xef\xbf\xbd\"]" },
	{ J("[\"\x80\"]"), "[\"\xef\xbf\xbd\"]" },		   /* lone continuation */
	{ J("[\"\xc0\xaf\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\"]" }, /* overlong */
	{ J("[\"\xe0\x80\xaf\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]" },
	{ J("[\"\xed\xa0\x80\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]" }, /* surrogate */
	{ J("[\"\xf4\x90\x80\x80\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]" },
	{ J("[\"\xe4\xbd\"]"), "[\"\xef\xbf\xbd\"]" }, /* cut short */
	{ J("[\"\xe4\xbd\\n\xa0\"]"), "[\"\xef\xbf\xbd\\n\xef\xbf\xbd\"]" },
	{ J("[\"12345678\xf0\x9f\x98 and more\"]"), "[\"12345678\xef\xbf\xbd and more\"]" },
	{ J("[\"\\ud800\"]"), "[\"\xef\xbf\xbd\"]" },
	{ J("[\"\\udc00\"]"), "[\"\xef\xbf\xbd\"]" },
	{ J("[\"\\ud83d\\ud83d\\ude39\"]"), "[\"\xef\xbf\xbd\xf0\x9f\x98\xb9\"]" },
	{ J("[\"\\ude39\\ud83d\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\"]" },
	{ J("[\"\\ud83dx\"]"), "[\"\xef\xbf\xbdx\"]" },
	{ J("[\"\\ud83d\\n\"]"), "[\"\xef\xbf\xbd\\n\"]" },
	{ J("[\"\\uDADA\\u0041\"]"), "[\"\xef\xbf\xbd"
				     "A\"]" },
	{ J("[\"\\ud83d\\u0000\"]"), "[\"\xef\xbf\xbd\xef\xbf\xbd\"]" },
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
		{ J("[1,\n2,,3]"), "JSON, byte 6: a value was expected" },
		{ J("{\"a\":1 \"b\"}"), "JSON, byte 7: a comma or } was expected" },
		{ J("[\"ab\xff\"]"), "JSON, byte 4: not valid UTF-8" },
		{ J("[\"abcdefghijkl\xe4\xbd\"]"), "JSON, byte 14: not valid UTF-8" },
		{ J("{\"a\":[1}"), "JSON, byte 7: a comma or ] was expected" },
		{ J("[] []"), "JSON, byte 3: more text after the value" },
		{ J("[1"), "JSON, byte 2: it ends too early" },
		{ J(""), "JSON, byte 0: nothing there" },
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
