/* The argument types of a tool's table: what the model is told, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/host/spec.h"

static const char *const colours[] = { "red", "blue", NULL };

static const struct arg_spec item[] = {
	{ "name", ARG_TEXT, true, 1, 8, "Name", NULL, NULL },
	{ "colour", ARG_ENUM, false, 0, 0, "Colour", colours, NULL },
	{ .type = ARG_END },
};

static const struct tool_spec spec = {
	.name = "paint",
	.about = "Paint.",
	.args = { { "items", ARG_LIST, true, 1, 2, "Things", NULL, item } },
};

static void describes_lists_of_objects(void **state)
{
	struct str out = STR_INIT(4096);
	struct json_out w;

	(void)state;
	json_out_begin(&w, &out);
	spec_write(&spec, &w);
	assert_int_equal(0, json_out_end(&w, NULL));
	assert_string_equal(str_cstr(&out),
		"{\"type\":\"function\",\"function\":{\"name\":\"paint\",\"description\":\"Paint.\","
		"\"parameters\":{\"type\":\"object\",\"properties\":{\"items\":{\"type\":\"array\","
		"\"description\":\"Things\",\"minItems\":1,\"maxItems\":2,\"items\":{"
		"\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
		"\"description\":\"Name\"},\"colour\":{\"type\":\"string\",\"description\":"
		"\"Colour\",\"enum\":[\"red\",\"blue\"]}},\"required\":[\"name\"],"
		"\"additionalProperties\":false}}},\"required\":[\"items\"],"
		"\"additionalProperties\":false}}}");
	str_release(&out);
}

static void checks_lists_item_by_item(void **state)
{
	static const struct {
		const char *args, *why; /* NULL: good */
	} rows[] = {
		{ "{\"items\":[{\"name\":\"a\"}]}", NULL },
		{ "{\"items\":[{\"name\":\"12345678\",\"colour\":\"blue\"},{\"name\":\"b\"}]}",
			NULL },
		{ "{\"items\":[]}", "at least 1" },
		{ "{\"items\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}", "items" },
		{ "{}", "items" },
		{ "{\"items\":{\"name\":\"a\"}}", "items" },
		{ "{\"items\":[\"a\"]}", "item 1 is not an object" },
		{ "{\"items\":[{\"name\":\"a\"},{}]}", "item 2" },
		{ "{\"items\":[{\"name\":\"123456789\"}]}", "item 1" },
		{ "{\"items\":[{\"name\":\"a\",\"size\":1}]}", "no argument \"size\"" },
		{ "{\"items\":[{\"name\":\"a\",\"colour\":\"green\"}]}",
			"colour must be one of: red, blue" },
		{ "{\"items\":[{\"name\":\"a\",\"colour\":1}]}", "colour must be one of" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json *args = NULL;
		struct err e = ERR_INIT;
		int rc;

		assert_int_equal(0,
			json_read(&args, view_of(rows[i].args), &json_limits_config, &e));
		rc = spec_check(&spec, args, &e);
		assert_int_equal(rc, rows[i].why ? -1 : 0);
		if (rows[i].why && !strstr(e.msg, rows[i].why))
			fail_msg("%s: %s", rows[i].args, e.msg);
		json_free(&args);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(describes_lists_of_objects),
		cmocka_unit_test(checks_lists_item_by_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
