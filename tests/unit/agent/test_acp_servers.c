/* MCP servers of the operator, handed over with every session. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "acp_rig.h"

#define FILES \
	"\"files\":{\"command\":\"/opt/mcp\",\"args\":[\"/srv\"],\"env\":{\"TOKEN\":\"s3cret-" \
	"of-files\"}}"
#define WEB "\"web\":{\"url\":\"https://mcp.example/\",\"headers\":{\"X-Key\":\"k\"}}"
#define OLD "\"old\":{\"type\":\"sse\",\"url\":\"https://old.example/\"}"
#define FILES_SENT \
	"{\"name\":\"files\",\"command\":\"/opt/mcp\",\"args\":[\"/srv\"],\"env\":[{\"name\":" \
	"\"TOKEN\",\"value\":\"s3cret-of-files\"}]}"
#define WEB_SENT \
	"{\"type\":\"http\",\"name\":\"web\",\"url\":\"https://mcp.example/\",\"headers\":[{" \
	"\"name\":\"X-Key\",\"value\":\"k\"}]}"
#define OLD_SENT \
	"{\"type\":\"sse\",\"name\":\"old\",\"url\":\"https://old.example/\",\"headers\":[]}"
#define GREETS(caps) \
	"\"initialize\":[{\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{" caps \
	"}}}]," SAYS("fine")

static const char *file_of(struct fix *f)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/mcp.json", f->dir.dir);
	return path;
}

static void write_file(struct fix *f, const char *servers)
{
	struct str text = STR_INIT(8192);

	(void)str_addf(&text, "{\"mcpServers\":{%s}}", servers);
	assert_int_equal(0, file_replace(file_of(f), 0600, str_view(&text), NULL));
	str_release(&text);
}

/* As after a restart of the daemon. */
static void again(struct fix *f)
{
	f->engine->ops->close(&f->engine);
	f->mcp = file_of(f);
	open_engine(f);
}

static void says(struct fix *f, const char *what)
{
	struct str text = STR_INIT(8192);

	f->engine->ops->describe(f->engine, false, &text);
	if (!strstr(str_cstr(&text), what))
		fail_msg("%s", str_cstr(&text));
	str_release(&text);
}

static void they_are_handed_over_in_new_load_and_resume(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" SAYS("fine") "}");
	write_file(f, FILES);
	again(f);
	ask(f, "hello");
	assert_int_equal(1, count(f, "\"session/new\",\"params\":{\"cwd\":"));
	assert_int_equal(1, count(f, "\"mcpServers\":[" FILES_SENT "]"));
	again(f);
	ask(f, "hello");
	assert_int_equal(1, count(f, "\"method\":\"session/resume\""));
	assert_int_equal(2, count(f, "\"mcpServers\":[" FILES_SENT "]"));
	write_script(f, "{" NO_RESUME "," SAYS("fine") "}");
	again(f);
	ask(f, "hello");
	assert_int_equal(1, count(f, "\"method\":\"session/load\""));
	assert_int_equal(3, count(f, "\"mcpServers\":[" FILES_SENT "]"));
}

static void only_what_the_agent_takes_is_handed_over(void **state)
{
	static const struct {
		const char *script, *sent, *left;
	} table[] = {
		{ "{" GREETS("") "}", "[" FILES_SENT "]",
			"; MCP servers not handed over: web (http), old (sse)" },
		{ "{" GREETS("\"mcpCapabilities\":{\"http\":true}") "}",
			"[" FILES_SENT "," WEB_SENT "]", "not handed over: old (sse)" },
		{ "{" GREETS("\"mcpCapabilities\":{\"http\":true,\"sse\":true}") "}",
			"[" FILES_SENT "," WEB_SENT "," OLD_SENT "]", "acp, scripted" },
	};
	struct fix *f = *state;

	write_file(f, FILES "," WEB "," OLD);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		write_script(f, table[i].script);
		f->user = table[i].sent; /* a conversation of its own */
		again(f);
		ask(f, "hello");
		assert_int_equal(1, count(f, table[i].sent));
		says(f, table[i].left);
	}
}

static void what_an_agent_says_of_its_end_shows_no_key(void **state)
{
	struct fix *f = *state;

	write_file(f, FILES);
	write_script(f,
		"{\"session/prompt\":[{\"stderr\":\"cannot start with s3cret-of-files\\n\"},{\"exit\":3}]}");
	again(f);
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_AGENT_ENDED, f->fail);
	assert_string_equal("it ended with exit code 3: cannot start with [redacted]", f->detail);
}

static void a_change_holds_from_the_next_session_on(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" SAYS("fine") "}");
	again(f);
	ask(f, "hello");
	assert_int_equal(1, count(f, "\"mcpServers\":[]"));
	write_file(f, FILES);
	ask(f, "hello");
	assert_int_equal(0, count(f, FILES_SENT));
	f->user = "another";
	ask(f, "hello");
	assert_int_equal(1, count(f, FILES_SENT));
}

static void a_file_that_cannot_be_read_is_told_with_the_answer(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" SAYS("fine") "}");
	write_file(f, FILES);
	assert_int_equal(0, chmod(file_of(f), 0644));
	again(f);
	ask(f, "hello");
	assert_int_equal(ENGINE_OK, f->fail);
	assert_string_equal("(mcp.json cannot be read, so the agent works without its MCP servers; "
			    "kairo doctor on the computer says why.)\n\nfine",
		str_cstr(&f->text));
	says(f, "no MCP server handed over: mcp.json cannot be read");
	ask(f, "hello");
	assert_string_equal("fine", str_cstr(&f->text));
	assert_int_equal(0, chmod(file_of(f), 0600));
	f->user = "another";
	ask(f, "hello");
	assert_string_equal("fine", str_cstr(&f->text));
	assert_int_equal(1, count(f, FILES_SENT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(they_are_handed_over_in_new_load_and_resume),
		T(only_what_the_agent_takes_is_handed_over),
		T(what_an_agent_says_of_its_end_shows_no_key),
		T(a_change_holds_from_the_next_session_on),
		T(a_file_that_cannot_be_read_is_told_with_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
