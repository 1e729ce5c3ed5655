/* mcp.json: what is read of it, and that every slip is told by where it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "scratch.h"
#include "tools/host/mcp.h"

static int read_text(struct mcp *m, const char *text, struct err *e)
{
	return mcp_read(m, view_of(text), e);
}

static void reads_every_kind_of_server(void **state)
{
	struct err e = ERR_INIT;
	struct mcp m;

	(void)state;
	assert_int_equal(0,
		read_text(&m,
			"{\"mcpServers\":{\"files\":{\"command\":\"/opt/mcp\",\"args\":[\"-v\",\"\"],"
			"\"env\":{\"KEY\":\"value\",\"_B2\":\"\"}},\"npx\":{\"type\":\"stdio\","
			"\"command\":\"npx\"},\"web\":{\"url\":\"https://mcp.example/a?b\"},\"old\":{"
			"\"type\":\"sse\",\"url\":\"http://127.0.0.1:8080/sse\",\"headers\":{"
			"\"X-Key\":\"a b\"}}}}",
			&e));
	assert_int_equal(4, m.n);
	assert_string_equal("files", m.servers[0].name);
	assert_int_equal(MCP_STDIO, m.servers[0].type);
	assert_string_equal("/opt/mcp", m.servers[0].command);
	assert_int_equal(2, m.servers[0].nargs);
	assert_string_equal("-v", m.servers[0].args[0]);
	assert_string_equal("", m.servers[0].args[1]);
	assert_int_equal(2, m.servers[0].npairs);
	assert_string_equal("KEY", m.servers[0].pairs[0].name);
	assert_string_equal("value", m.servers[0].pairs[0].value);
	assert_string_equal("npx", m.servers[1].command);
	assert_int_equal(MCP_HTTP, m.servers[2].type);
	assert_string_equal("https://mcp.example/a?b", m.servers[2].url);
	assert_int_equal(MCP_SSE, m.servers[3].type);
	assert_string_equal("X-Key", m.servers[3].pairs[0].name);
	assert_string_equal("sse", mcp_type_name(m.servers[3].type));
	mcp_release(&m);
	assert_int_equal(0, read_text(&m, "{\"mcpServers\":{}}", &e));
	assert_int_equal(0, m.n);
	mcp_release(&m);
}

#define SERVER(of) "{\"mcpServers\":{\"s\":" of "}}"

static void refuses_what_it_does_not_know_and_says_where(void **state)
{
	static const struct {
		const char *text, *says;
	} table[] = {
		{ "", "" },
		{ "[]", "not an object" },
		{ "{}", "mcpServers" },
		{ "{\"servers\":{}}", "\"servers\" is not known" },
		{ "{\"mcpServers\":{},\"inputs\":[]}", "\"inputs\" is not known" },
		{ "{\"mcpServers\":[]}", "mcpServers" },
		{ "{\"mcpServers\":{\"s\":{\"command\":\"a\"},\"s\":{\"command\":\"b\"}}}", "" },
		{ "{\"mcpServers\":{\"a b\":{\"command\":\"a\"}}}", "name of server 1" },
		{ "{\"mcpServers\":{\"a__b\":{\"command\":\"a\"}}}", "name of server 1" },
		{ "{\"mcpServers\":{\"\":{\"command\":\"a\"}}}", "name of server 1" },
		{ SERVER("1"), "server s: it is not an object" },
		{ SERVER("{}"), "server s: command" },
		{ SERVER("{\"command\":\"\"}"), "server s: command" },
		{ SERVER("{\"command\":7}"), "server s: command" },
		{ SERVER("{\"command\":\"bin/x\"}"), "neither absolute nor a name" },
		{ SERVER("{\"command\":\"x\",\"enviroment\":{}}"), "\"enviroment\" is not known" },
		{ SERVER("{\"command\":\"x\",\"url\":\"http://h/\"}"), "\"command\" is not known" },
		{ SERVER("{\"type\":\"stdio\",\"command\":\"x\",\"url\":\"http://h/\"}"),
			"\"url\" is not known" },
		{ SERVER("{\"type\":\"http\",\"command\":\"x\"}"), "\"command\" is not known" },
		{ SERVER("{\"type\":\"websocket\",\"url\":\"http://h/\"}"), "server s: type" },
		{ SERVER("{\"url\":\"ftp://h/\"}"), "server s: " },
		{ SERVER("{\"url\":\"http://u:p@h/\"}"), "belong into headers" },
		{ SERVER("{\"url\":\"http://h/\",\"env\":{}}"), "\"env\" is not known" },
		{ SERVER("{\"command\":\"x\",\"args\":\"-v\"}"), "server s: args" },
		{ SERVER("{\"command\":\"x\",\"args\":[\"-v\",1]}"), "args: argument 2" },
		{ SERVER("{\"command\":\"x\",\"env\":{\"A\":1}}"), "env: A is not text" },
		{ SERVER("{\"command\":\"x\",\"env\":{\"A\":\"\",\"1A\":\"\"}}"), "env: name 2" },
		{ SERVER("{\"command\":\"x\",\"env\":{\"A=B\":\"\"}}"), "env: name 1" },
		{ SERVER("{\"url\":\"http://h/\",\"headers\":{\"A B\":\"\"}}"), "headers: name 1" },
		{ SERVER("{\"url\":\"http://h/\",\"headers\":{\"A\":\"x\\r\\nB: y\"}}"),
			"headers: A has a control character" },
		{ SERVER("{\"command\":\"x\\u0000\"}"), "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct err e = ERR_INIT;
		struct mcp m;

		assert_int_equal(-1, read_text(&m, table[i].text, &e));
		assert_int_equal(E_FORMAT, e.code);
		if (!strstr(e.msg, table[i].says))
			fail_msg("%s: %s", table[i].text, e.msg);
		assert_int_equal(0, m.n);
	}
}

/* n times c, as JSON text. */
static char *run_of(size_t n, char c)
{
	char *z = malloc(n + 1);

	assert_non_null(z);
	memset(z, c, n);
	z[n] = '\0';
	return z;
}

static int read_with(const char *before, size_t n, char c, const char *after)
{
	struct str text = STR_INIT(1 << 20);
	char *run = run_of(n, c);
	struct mcp m;
	int rc;

	(void)str_addf(&text, "%s%s%s", before, run, after);
	rc = mcp_read(&m, str_view(&text), NULL);
	mcp_release(&m);
	str_release(&text);
	free(run);
	return rc;
}

static void every_text_has_a_limit(void **state)
{
	static const struct {
		const char *before, *after;
		size_t max;
	} table[] = {
		{ "{\"mcpServers\":{\"", "\":{\"command\":\"x\"}}}", MCP_NAME_MAX },
		{ "{\"mcpServers\":{\"s\":{\"command\":\"", "\"}}}", MCP_COMMAND_MAX },
		{ "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"args\":[\"", "\"]}}}",
			MCP_VALUE_MAX },
		{ "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"env\":{\"", "\":\"\"}}}}",
			MCP_WORD_MAX },
		{ "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"env\":{\"A\":\"", "\"}}}}",
			MCP_VALUE_MAX },
		{ "{\"mcpServers\":{\"s\":{\"url\":\"http://h/\",\"headers\":{\"A\":\"", "\"}}}}",
			MCP_VALUE_MAX },
		{ "{\"mcpServers\":{\"s\":{\"url\":\"http://h/", "\"}}}", MCP_URL_MAX - 9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(0,
			read_with(table[i].before, table[i].max - 1, 'a', table[i].after));
		assert_int_equal(0, read_with(table[i].before, table[i].max, 'a', table[i].after));
		assert_int_equal(-1,
			read_with(table[i].before, table[i].max + 1, 'a', table[i].after));
	}
}

/* A list of n items: fmt takes its number. */
static int read_many(const char *before, const char *fmt, int n, const char *after)
{
	struct str text = STR_INIT(1 << 20);
	struct mcp m;
	int rc;

	(void)str_adds(&text, before);
	for (int i = 0; i < n; i++) {
		char number[16];
		const char *at = strchr(fmt, '#');

		(void)snprintf(number, sizeof(number), "%d", i);
		(void)str_addf(&text, "%s%.*s%s%s", i ? "," : "", (int)(at - fmt), fmt, number,
			at + 1);
	}
	(void)str_adds(&text, after);
	rc = mcp_read(&m, str_view(&text), NULL);
	mcp_release(&m);
	str_release(&text);
	return rc;
}

static void every_list_has_a_limit(void **state)
{
	static const struct {
		const char *before, *item, *after;
		int max;
	} table[] = {
		{ "{\"mcpServers\":{", "\"s#\":{\"command\":\"x\"}", "}}", MCP_SERVERS_MAX },
		{ "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"args\":[", "\"#\"", "]}}}",
			MCP_ARGS_MAX },
		{ "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"env\":{", "\"A#\":\"\"", "}}}}",
			MCP_PAIRS_MAX },
		{ "{\"mcpServers\":{\"s\":{\"url\":\"http://h/\",\"headers\":{", "\"A#\":\"\"",
			"}}}}", MCP_PAIRS_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (int over = -1; over <= 1; over++)
			assert_int_equal(over > 0 ? -1 : 0,
				read_many(table[i].before, table[i].item, table[i].max + over,
					table[i].after));
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	const struct view text = VIEW("{\"mcpServers\":{\"s\":{\"command\":\"x\"}}}");
	struct err e = ERR_INIT;
	struct scratch dir;
	struct mcp m;
	const char *path;

	(void)state;
	scratch_make(&dir);
	path = scratch_path(&dir, "mcp.json");
	assert_int_equal(0, mcp_load(&m, path, &e)); /* there is none */
	assert_int_equal(0, m.n);
	assert_int_equal(0, file_replace(path, 0600, text, &e));
	assert_int_equal(0, mcp_load(&m, path, &e));
	assert_int_equal(1, m.n);
	mcp_release(&m);
	assert_int_equal(0, chmod(path, 0640));
	assert_int_equal(-1, mcp_load(&m, path, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_non_null(strstr(e.msg, path));
	assert_int_equal(0, file_replace(path, 0600, VIEW("{"), &e));
	assert_int_equal(-1, mcp_load(&m, path, &e));
	assert_non_null(strstr(e.msg, path));
	scratch_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_kind_of_server),
		cmocka_unit_test(refuses_what_it_does_not_know_and_says_where),
		cmocka_unit_test(every_text_has_a_limit),
		cmocka_unit_test(every_list_has_a_limit),
		cmocka_unit_test(a_file_that_others_may_read_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
