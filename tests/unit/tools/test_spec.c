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

/* One argument of this number, or text of so many bytes, and of the others what must be there. */
static bool is_taken(const struct tool_spec *s, const struct arg_spec *arg, int64_t value)
{
	struct json_limits limits = json_limits_wire;
	struct str text = STR_INIT((size_t)2 << 20), big = STR_INIT((size_t)2 << 20);
	struct json *args = NULL;
	struct json_out w;
	int rc;

	limits.bytes = (size_t)2 << 20;
	for (int64_t i = 0; arg->type == ARG_TEXT && i < value; i++)
		(void)str_addc(&big, 'x');
	json_out_begin(&w, &text);
	json_open(&w, NULL);
	for (const struct arg_spec *a = s->args; a->type != ARG_END; a++) {
		if (a == arg && a->type == ARG_INT)
			json_put_int(&w, a->name, value);
		else if (a == arg)
			json_put_str(&w, a->name, str_view(&big));
		else if (a->required)
			json_put_z(&w, a->name, "x");
	}
	json_close(&w);
	assert_int_equal(0, json_out_end(&w, NULL));
	assert_int_equal(0, json_read(&args, str_view(&text), &limits, NULL));
	rc = spec_check(s, args, NULL);
	json_free(&args);
	str_release(&text);
	str_release(&big);
	return rc == 0;
}

static void the_tools_have_these_limits(void **state)
{
	static const struct {
		const char *tool, *arg;
		int64_t min, max;
	} rows[] = {
		{ "read_file", "path", 1, 4095 },
		{ "read_file", "offset", 1, INT32_MAX },
		{ "read_file", "limit", 1, 10000 },
		{ "read_file", "column", 1, INT32_MAX },
		{ "list_dir", "offset", 0, INT32_MAX },
		{ "list_dir", "limit", 1, 5000 },
		{ "glob", "pattern", 1, 1024 },
		{ "glob", "limit", 1, 2000 },
		{ "grep", "pattern", 1, 2000 },
		{ "grep", "glob", 1, 1024 },
		{ "grep", "limit", 1, 1000 },
		{ "write_file", "path", 1, 4095 },
		{ "write_file", "content", 0, 1048576 },
		{ "apply_patch", "patch", 1, 1048576 },
		{ "create_project", "name", 1, 64 },
		{ "create_project", "description", 1, 200 },
		{ "shell", "command", 1, 102400 },
		{ "shell", "timeout_s", 1, 300 },
		{ "shell_session", "command", 1, 102400 },
		{ "shell_session", "session", 1, 4 },
		{ "shell_session", "timeout_s", 1, 300 },
		{ "web_search", "count", 1, 10 },
		{ "web_fetch", "offset", 0, INT32_MAX },
		{ "web_fetch", "limit", 1, 100000 },
		{ "send_file", "caption", 1, 1000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tool_spec *s = spec_find(rows[i].tool);
		const struct arg_spec *a = s->args;
		bool below;

		while (strcmp(a->name, rows[i].arg) != 0)
			a++;
		below = a->type == ARG_INT || rows[i].min > 0;
		if (!is_taken(s, a, rows[i].min) || !is_taken(s, a, rows[i].max) ||
			is_taken(s, a, rows[i].max + 1) ||
			(below && is_taken(s, a, rows[i].min - 1)))
			fail_msg("%s, %s", rows[i].tool, rows[i].arg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(describes_lists_of_objects),
		cmocka_unit_test(checks_lists_item_by_item),
		cmocka_unit_test(the_tools_have_these_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
