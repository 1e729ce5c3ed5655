/* base/toml: the accepted subset of TOML 1.0, what is refused and where, and editing. */
#include "base/toml.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct toml *read_ok(const char *text)
{
	struct toml *t = NULL;
	struct err e = ERR_INIT;

	if (toml_read(&t, view_of(text), &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return t;
}

static void accepts_strings_as_the_specification_shows_them(void **state)
{
	/* TOML 1.0, "String" */
	static const struct {
		const char *text, *value;
	} rows[] = {
		{ "a = \"I'm a string. \\\"You can quote me\\\".\"",
			"I'm a string. \"You can quote me\"." },
		{ "a = \"Name\\tJos\\u00E9\\nLoc\\tSF.\"", "Name\tJos\xc3\xa9\nLoc\tSF." },
		{ "a = 'C:\\Users\\nodejs\\templates'", "C:\\Users\\nodejs\\templates" },
		{ "a = '<\\i\\c*\\s*>'", "<\\i\\c*\\s*>" },
		{ "a = \"\"", "" },
		{ "a = ''", "" },
		{ "a = \"\\U0001F600\"", "\xf0\x9f\x98\x80" },
		{ "a = \"\\b\\f\\r\\\\\"", "\b\f\r\\" },
		{ "a = \"# not a comment\" # a comment", "# not a comment" },
		{ "a\t=\t\"tabs\"\t", "tabs" },
		{ "a = \"中文\"\r\n", "中文" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct toml *t = read_ok(rows[i].text);
		const struct toml_value *v = toml_get(t, "a");

		assert_non_null(v);
		assert_int_equal(v->type, TOML_STRING);
		assert_string_equal(v->s, rows[i].value);
		toml_free(&t);
	}
}

static void accepts_integers_booleans_and_lists(void **state)
{
	struct toml *t = read_ok("zero = 0\nplus = +99\nminus = -17\nlong = 5_349_221\n"
				 "max = 9223372036854775807\nmin = -9223372036854775808\n"
				 "yes = true\nno = false\n"
				 "list = [ \"one\", # first\n  'two',\n]\nempty = []\n");

	(void)state;
	assert_int_equal(toml_get(t, "zero")->i, 0);
	assert_int_equal(toml_get(t, "plus")->i, 99);
	assert_int_equal(toml_get(t, "minus")->i, -17);
	assert_int_equal(toml_get(t, "long")->i, 5349221);
	assert_true(toml_get(t, "max")->i == INT64_MAX);
	assert_true(toml_get(t, "min")->i == INT64_MIN);
	assert_true(toml_get(t, "yes")->b);
	assert_false(toml_get(t, "no")->b);
	assert_int_equal(toml_get(t, "list")->nitems, 2);
	assert_string_equal(toml_get(t, "list")->items[0], "one");
	assert_string_equal(toml_get(t, "list")->items[1], "two");
	assert_null(toml_get(t, "list")->items[2]);
	assert_int_equal(toml_get(t, "empty")->nitems, 0);
	assert_null(toml_get(t, "empty")->items[0]);
	toml_free(&t);
}

static void names_keys_by_their_table(void **state)
{
	struct toml *t = read_ok("top = 1\n[model]\nname = \"x\"\n[ a . b ]\nc.d = 2\n");

	(void)state;
	assert_int_equal(toml_count(t), 3);
	assert_string_equal(toml_key(t, 0), "top");
	assert_string_equal(toml_key(t, 1), "model.name");
	assert_string_equal(toml_key(t, 2), "a.b.c.d");
	assert_int_equal(toml_at(t, 1)->key_line, 3);
	assert_int_equal(toml_at(t, 1)->col, 8);
	toml_free(&t);
}

static void refuses_with_line_and_column(void **state)
{
	static const struct {
		const char *text, *where;
	} rows[] = {
		{ "a", "1:2:" },
		{ "a =", "1:4:" },
		{ "a = \"x", "1:5:" },
		{ "a = \"x\ny\"", "1:5:" },
		{ "a = \"\"\"x\"\"\"", "1:5:" },
		{ "a = \"\\q\"", "1:6:" },
		{ "a = \"\\u12\"", "1:6:" },
		{ "a = \"\\ud800\"", "1:6:" },
		{ "a = \"\\u0000\"", "1:6:" },
		{ "a = \"tab\x01\"", "1:9:" },
		{ "a = 1 2", "1:7:" },
		{ "a = 1.5", "1:5:" },
		{ "a = 01", "1:5:" },
		{ "a = 0x10", "1:5:" },
		{ "a = 1__0", "1:5:" },
		{ "a = _1", "1:5:" },
		{ "a = 1_", "1:5:" },
		{ "a = +", "1:5:" },
		{ "a = +-1", "1:5:" },
		{ "a = ++1", "1:5:" },
		{ "a = -_1", "1:5:" },
		{ "a = 1e3", "1:5:" },
		{ "a = 9223372036854775808", "1:5:" },
		{ "a = 1979-05-27", "1:5:" },
		{ "a = inf", "1:5:" },
		{ "a = yes", "1:5:" },
		{ "a = trueish", "1:5:" },
		{ "a = {}", "1:5:" },
		{ "a = [1]", "1:6:" },
		{ "a = [\"x\" \"y\"]", "1:10:" },
		{ "a = [\"x\"", "1:9:" },
		{ "a = [", "1:5:" },
		{ "a = [[\"x\"]]", "1:6:" },
		{ "[[a]]", "1:1:" },
		{ "[a", "1:3:" },
		{ "[a] b", "1:5:" },
		{ "= 1", "1:1:" },
		{ "\"a\" = 1", "1:1:" },
		{ "a. = 1", "1:4:" },
		{ "a = 1\na = 2", "2:1:" },
		{ "[t]\na = 1\n[t.u]\nb = 1\n[x]\ny = 1\nt = 1\nt = 2\n", "8:1:" },
		{ "[a]\nb = 1\n[a]\nc = 1\n", "3:1:" },
		{ "a = 1\n[a]\nb = 1\n", "2:1:" },
		{ "a.b = 1\na = 1\n", "2:1:" },
		{ "a.b.c = 1\n[a.b]\nd = 1\n", "2:1:" },
		{ "[a.b]\nd = 1\n[a]\nb.c = 1\n", "4:1:" },
		{ "a-b = 1\na = 1\na.b = 1\n", "3:1:" },
		{ "[a]\n[b]\n[a]\n", "3:1:" },
		{ "\n\n  b = \xff", "3:7:" },
		{ "\xef\xbb\xbf"
		  "a = 1",
			"1:1:" },
		{ "a = 1\rb = 2", "1:6:" },
		{ "# bad \xc3\x28", "1:7:" },
		{ "# bell \x07", "1:8:" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct toml *t = NULL;
		struct err e = ERR_INIT;

		if (toml_read(&t, view_of(rows[i].text), &e) == 0)
			fail_msg("accepted: %s", rows[i].text);
		assert_null(t);
		assert_int_equal(e.code, E_FORMAT);
		if (strncmp(e.msg, rows[i].where, strlen(rows[i].where)) != 0)
			fail_msg("%s: %s, wanted %s", rows[i].text, e.msg, rows[i].where);
	}
}

static void lets_a_table_be_opened_after_those_below_it(void **state)
{
	/* TOML 1.0, "Table" */
	struct toml *t = read_ok("[x.y.z.w]\na = 1\n[x]\nb = 2\n[fruit]\napple.color = 'red'\n"
				 "[fruit.apple.taste]\nsweet = true\n");

	(void)state;
	assert_int_equal(toml_count(t), 4);
	toml_free(&t);
}

static void refuses_a_nul_byte(void **state)
{
	struct toml *t = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(toml_read(&t, VIEW("a = 1\n\0"), &e), -1);
	assert_non_null(strstr(e.msg, "2:1"));
}

/* before 0 behind, before 1 behind, ... */
static char *many(const char *before, const char *behind, size_t n)
{
	struct str s = STR_INIT(1 << 20);

	for (size_t i = 0; i < n; i++)
		str_addf(&s, "%s%zu%s", before, i, behind);
	return str_take(&s);
}

static void counts_keys_at_under_and_over_the_limit(void **state)
{
	static const struct {
		size_t n;
		int rc;
	} rows[] = { { TOML_KEYS_MAX - 1, 0 }, { TOML_KEYS_MAX, 0 }, { TOML_KEYS_MAX + 1, -1 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct toml *t = NULL;
		struct err e = ERR_INIT;
		char *text = many("k", " = 1\n", rows[i].n);

		assert_int_equal(toml_read(&t, view_of(text), &e), rows[i].rc);
		toml_free(&t);
		free(text);
	}
}

static void counts_list_items_at_under_and_over_the_limit(void **state)
{
	(void)state;
	for (size_t n = TOML_ITEMS_MAX - 1; n <= TOML_ITEMS_MAX + 1; n++) {
		struct toml *t = NULL;
		struct err e = ERR_INIT;
		struct str text = STR_INIT(1 << 20);
		char *items = many("\"", "\",", n);

		str_addf(&text, "a = [%s]", items);
		assert_int_equal(toml_read(&t, str_view(&text), &e), n > TOML_ITEMS_MAX ? -1 : 0);
		toml_free(&t);
		str_release(&text);
		free(items);
	}
}

static void takes_files_at_and_under_the_size_limit_only(void **state)
{
	(void)state;
	for (size_t n = TOML_FILE_MAX - 1; n <= TOML_FILE_MAX + 1; n++) {
		struct toml *t = NULL;
		struct err e = ERR_INIT;
		char *text = malloc(n + 1);

		assert_non_null(text);
		memset(text, ' ', n);
		text[n] = '\0';
		memcpy(text, "a = 1 #", 7);
		assert_int_equal(toml_read(&t, (struct view){ text, n }, &e),
			n > TOML_FILE_MAX ? -1 : 0);
		toml_free(&t);
		free(text);
	}
}

static void edits_one_value_and_nothing_else(void **state)
{
	static const char before[] =
		"# mine\nlanguage = \"zh\"   # why\n\n[model]\nname = 'a' # x\n"
		"# tail of model\n\n[network]\nproxy = \"\"\n";
	static const struct {
		const char *key, *value, *after;
	} rows[] = {
		{ "language", "\"en\"",
			"# mine\nlanguage = \"en\"   # why\n\n[model]\nname = 'a' # x\n"
			"# tail of model\n\n[network]\nproxy = \"\"\n" },
		{ "model.name", "\"b\"",
			"# mine\nlanguage = \"zh\"   # why\n\n[model]\nname = \"b\" # x\n"
			"# tail of model\n\n[network]\nproxy = \"\"\n" },
		{ "model.base_url", "\"u\"",
			"# mine\nlanguage = \"zh\"   # why\n\n[model]\nname = 'a' # x\n"
			"base_url = \"u\"\n# tail of model\n\n[network]\nproxy = \"\"\n" },
		{ "text_limit", "9",
			"# mine\nlanguage = \"zh\"   # why\ntext_limit = 9\n\n[model]\nname = 'a' # x\n"
			"# tail of model\n\n[network]\nproxy = \"\"\n" },
		{ "ilink.route_tag", "\"r\"",
			"# mine\nlanguage = \"zh\"   # why\n\n[model]\nname = 'a' # x\n"
			"# tail of model\n\n[network]\nproxy = \"\"\n\n[ilink]\nroute_tag = \"r\"\n" },
		{ "language", NULL,
			"# mine\n\n[model]\nname = 'a' # x\n"
			"# tail of model\n\n[network]\nproxy = \"\"\n" },
		{ "absent.key", NULL,
			"# mine\nlanguage = \"zh\"   # why\n\n[model]\nname = 'a' # x\n"
			"# tail of model\n\n[network]\nproxy = \"\"\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str out = STR_INIT(TOML_FILE_MAX);
		struct err e = ERR_INIT;

		assert_int_equal(toml_edit(view_of(before), rows[i].key, view_of(rows[i].value),
					 &out, &e),
			0);
		assert_string_equal(str_cstr(&out), rows[i].after);
		str_release(&out);
	}
}

static void edits_an_empty_text_and_one_without_a_last_newline(void **state)
{
	struct str out = STR_INIT(TOML_FILE_MAX);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(toml_edit(VIEW_NONE, "model.name", VIEW("\"x\""), &out, &e), 0);
	assert_string_equal(str_cstr(&out), "[model]\nname = \"x\"\n");
	str_reset(&out);
	assert_int_equal(toml_edit(VIEW("a = 1"), "b", VIEW("2"), &out, &e), 0);
	assert_string_equal(str_cstr(&out), "a = 1\nb = 2\n");
	str_reset(&out);
	assert_int_equal(toml_edit(VIEW("# only words"), "b", VIEW("2"), &out, &e), 0);
	assert_string_equal(str_cstr(&out), "b = 2\n# only words");
	str_reset(&out);
	assert_int_equal(toml_edit(VIEW("a = [\n \"x\", # one\n]\nb = 1\n"), "a", VIEW("[]"), &out,
				 &e),
		0);
	assert_string_equal(str_cstr(&out), "a = []\nb = 1\n");
	str_reset(&out);
	assert_int_equal(toml_edit(VIEW("a = [\n \"x\", # one\n]\nb = 1\n"), "a", VIEW_NONE, &out,
				 &e),
		0);
	assert_string_equal(str_cstr(&out), "b = 1\n");
	str_reset(&out);
	assert_int_equal(toml_edit(VIEW("a = ["), "a", VIEW("1"), &out, &e), -1);
	str_release(&out);
}

/* After NULL: refused, and what was in `out` before is left. */
static void edits(const char *before, const char *key, const char *value, const char *after)
{
	struct str out = STR_INIT(TOML_FILE_MAX);
	struct err e = ERR_INIT;

	str_adds(&out, "# ");
	assert_int_equal(toml_edit(view_of(before), key, view_of(value), &out, &e), after ? 0 : -1);
	assert_string_equal(str_cstr(&out) + 2, after ? after : "");
	assert_int_equal(e.code, after ? E_OK : E_FORMAT);
	str_release(&out);
}

static void finds_dotted_keys_and_puts_new_ones_beside_them(void **state)
{
	(void)state;
	edits("model.name = \"a\"\n", "model.name", "\"b\"", "model.name = \"b\"\n");
	edits("model.name = 1\nz = 1\n[q]\n", "model.url", "2",
		"model.name = 1\nmodel.url = 2\nz = 1\n[q]\n");
	edits("[a]\nb.c = 1\n\n[d]\n", "a.b.e", "2", "[a]\nb.c = 1\nb.e = 2\n\n[d]\n");
	edits("[model.extra]\na = 1\n", "model.name", "2",
		"[model.extra]\na = 1\n\n[model]\nname = 2\n");
	edits("modelx.name = 1\n", "model.name", "2", "modelx.name = 1\n\n[model]\nname = 2\n");
}

static void takes_away_the_whole_line(void **state)
{
	(void)state;
	edits("[a]\n  b = 1 # gone\n  c = 2\n", "a.b", NULL, "[a]\n  c = 2\n");
	edits("b = 1", "b", NULL, "");
	edits("a = 1\r\nb = 2\r\nc = 3\r\n", "b", NULL, "a = 1\r\nc = 3\r\n");
}

static void takes_nothing_but_one_value_and_one_key(void **state)
{
	(void)state;
	edits("a = 1\n", "b", "2\nc = 3", NULL);
	edits("a = 1\n", "b", "2 # why", "a = 1\nb = 2\n");
	edits("a = 1 # why\n", "a", "  2  # no", "a = 2 # why\n");
	edits("a = 1\n", "a", "[\n'x', # one\n]\n", "a = [\n'x', # one\n]\n");
	edits("a = 1\n", "a", "", NULL);
	edits("a = 1\n", "a", "word", NULL);
	edits("a = 1\n", "", "2", NULL);
	edits("a = 1\n", "a b", "2", NULL);
	edits("a = 1\n", "a .b", "2", NULL);
	edits("a = 1\n", "b.", "2", NULL);
	edits("a = 1\n", ".b", "2", NULL);
	edits("a = 1\n", "a.b", "2", NULL);
	edits("[a]\nb = 1\n", "a", "2", NULL);
}

static void an_edit_that_does_not_fit_is_told(void **state)
{
	struct str out = STR_INIT(12);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(toml_edit(VIEW("a = 1\n"), "bb", VIEW("2"), &out, &e), -1);
	assert_int_equal(e.code, E_FULL);
	str_reset(&out);
	assert_int_equal(toml_edit(VIEW("a = 1\n"), "b", VIEW("2"), &out, &e), 0);
	assert_string_equal(str_cstr(&out), "a = 1\nb = 2\n");
	str_release(&out);
}

static void written_strings_read_back(void **state)
{
	static const char *const texts[] = { "", "plain", "q\" b\\ n\n t\t e\x1b d\x7f", "中文 😀" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct str s = STR_INIT(1000);
		struct toml *hold = NULL;
		struct toml_value v;
		struct err e = ERR_INIT;

		assert_int_equal(toml_write_string(view_of(texts[i]), &s), 0);
		assert_int_equal(toml_read_value(&hold, &v, str_view(&s), &e), 0);
		assert_string_equal(v.s, texts[i]);
		toml_free(&hold);
		str_release(&s);
	}
	struct str s = STR_INIT(100);
	assert_int_equal(toml_write_string(VIEW("\xff"), &s), -1);
	str_reset(&s);
	assert_int_equal(toml_write_string(VIEW("a\0b"), &s), -1);
	str_release(&s);
}

static void a_single_value_is_one_value(void **state)
{
	struct toml *hold = NULL;
	struct toml_value v;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(toml_read_value(&hold, &v, VIEW(" 12 "), &e), 0);
	assert_int_equal(v.i, 12);
	toml_free(&hold);
	assert_int_equal(toml_read_value(&hold, &v, VIEW("1\n2"), &e), -1);
	assert_int_equal(toml_read_value(&hold, &v, VIEW("word"), &e), -1);
	assert_int_equal(toml_read_value(&hold, &v, VIEW_NONE, &e), -1);
	assert_null(hold);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_strings_as_the_specification_shows_them),
		cmocka_unit_test(accepts_integers_booleans_and_lists),
		cmocka_unit_test(names_keys_by_their_table),
		cmocka_unit_test(refuses_with_line_and_column),
		cmocka_unit_test(lets_a_table_be_opened_after_those_below_it),
		cmocka_unit_test(refuses_a_nul_byte),
		cmocka_unit_test(counts_keys_at_under_and_over_the_limit),
		cmocka_unit_test(counts_list_items_at_under_and_over_the_limit),
		cmocka_unit_test(takes_files_at_and_under_the_size_limit_only),
		cmocka_unit_test(edits_one_value_and_nothing_else),
		cmocka_unit_test(edits_an_empty_text_and_one_without_a_last_newline),
		cmocka_unit_test(finds_dotted_keys_and_puts_new_ones_beside_them),
		cmocka_unit_test(takes_away_the_whole_line),
		cmocka_unit_test(takes_nothing_but_one_value_and_one_key),
		cmocka_unit_test(an_edit_that_does_not_fit_is_told),
		cmocka_unit_test(written_strings_read_back),
		cmocka_unit_test(a_single_value_is_one_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
