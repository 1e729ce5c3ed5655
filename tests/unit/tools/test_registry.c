/* The registry and what it starts: the real kairo-tool, behind its fence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "channel/words.h"
#include "tools/confine.h"
#include "tools/host/sandbox.h"
#include "tools/host/spec.h"
#include "rig.h"

static int setup(void **state)
{
	char audit[128];
	struct err e = ERR_INIT;

	(void)state;
	rig_make(NULL);
	rig.word = words_wording;
	(void)snprintf(audit, sizeof(audit), "%s/audit", rig.home);
	assert_int_equal(0, audit_open(&rig.audit, audit, NULL, &e));
	rig_open(&POLICY_RULES_DEFAULT);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rig_remove();
}

static struct tool_call call_of(const char *name, const char *args)
{
	struct tool_call c = { .turn = 1, .origin = ORIGIN_PHONE, .id = "c1", .name = name };

	c.args = view_of(args);
	return c;
}

static struct tool_run *begin(const char *name, const char *args)
{
	struct tool_call c = call_of(name, args);
	struct tool_run *r;
	struct err e = ERR_INIT;

	rig.done = 0;
	if (tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e) < 0)
		fail_msg("%s %s: %s", name, args, e.msg);
	assert_int_equal(0, rig.done);
	return r;
}

static void run(const char *name, const char *args)
{
	(void)begin(name, args);
	rig_wait();
}

static void make(const char *path, struct view content)
{
	char full[PATH_SIZE];
	struct err e = ERR_INIT;

	(void)snprintf(full, sizeof(full), "%s/%s", rig.dir, path);
	assert_int_equal(0, file_replace(full, 0644, content, &e));
}

static enum verdict verdict(const char *name, const char *args)
{
	struct tool_call c = call_of(name, args);

	str_reset(&rig.text);
	return tools_verdict(rig.tools, &c, &rig.text);
}

/* --- Step one --------------------------------------------------------------------------------- */

static void arguments_are_checked(void **state)
{
	static const struct {
		const char *tool, *args, *why; /* NULL: allowed */
	} cases[] = {
		{ "read_file", "{\"path\":\"a\"}", NULL },
		{ "read_file", " {\"path\":\"a\",\"offset\":1,\"limit\":10000,\"column\":1}\n",
			NULL },
		{ "read_file", "{\"path\":\"a\",\"offset\":null}", NULL },
		{ "list_dir", "{}", NULL },
		{ "grep", "{\"pattern\":\"x\",\"ignore_case\":true}", NULL },
		{ "write_file", "{\"path\":\"a\",\"content\":\"\"}", NULL },
		{ "read_file", "", "" },
		{ "read_file", "{", "" },
		{ "read_file", "[]", "object" },
		{ "read_file", "\"a\"", "object" },
		{ "read_file", "{} {}", "" },
		{ "read_file", "{}", "path" },
		{ "read_file", "{\"path\":7}", "path" },
		{ "read_file", "{\"path\":null}", "path" },
		{ "read_file", "{\"path\":\"\"}", "path" },
		{ "read_file", "{\"path\":\"a\",\"path\":\"b\"}", "" },
		{ "read_file", "{\"path\":\"a\\u0000b\"}", "" },
		{ "read_file", "{\"path\":\"a\",\"offset\":0}", "offset" },
		{ "read_file", "{\"path\":\"a\",\"offset\":1.5}", "offset" },
		{ "read_file", "{\"path\":\"a\",\"offset\":\"1\"}", "offset" },
		{ "read_file", "{\"path\":\"a\",\"limit\":10001}", "limit" },
		{ "read_file", "{\"path\":\"a\",\"lines\":3}",
			"read_file takes path, offset, limit" },
		{ "read_file", "{\"Path\":\"a\"}", "Path" },
		{ "grep", "{\"pattern\":\"x\",\"ignore_case\":\"yes\"}", "ignore_case" },
		{ "write_file", "{\"path\":\"a\"}", "content" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum verdict v = verdict(cases[i].tool, cases[i].args);

		if (v != (cases[i].why ? VERDICT_DENY : VERDICT_ALLOW))
			fail_msg("%s %s", cases[i].tool, cases[i].args);
		if (cases[i].why && (!says(cases[i].why) || !says("Nothing was done")))
			fail_msg("%s %s: %s", cases[i].tool, cases[i].args, str_cstr(&rig.text));
	}
}

static void unknown_and_denied_tools_are_told_apart(void **state)
{
	struct tool_call c = call_of("shell", "{\"command\":\"id\"}");
	struct tool_run *r;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(VERDICT_DENY, verdict("shell", "{\"command\":\"id\"}"));
	assert_true(says("shell is denied for requests from the phone"));
	assert_int_equal(VERDICT_DENY, verdict("mcp__files__write", "{}"));
	assert_true(says("mcp__files__write is denied") && says("files.write=ask"));
	assert_int_equal(VERDICT_DENY, verdict("reboot\x1b[31m", "{}"));
	assert_true(says("There is no tool \"reboot\\x1b[31m\""));
	assert_true(says("read_file, list_dir, glob, grep, write_file"));
	/* Step two does not take the caller's word for it. */
	assert_int_equal(-1, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_null(r);
	c = call_of("read_file", "{}");
	assert_int_equal(-1, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
	c = call_of("read_file", "{\"path\":\"a\"}");
	c.origin = ORIGIN_COUNT;
	assert_int_equal(-1, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
	assert_int_equal(E_DENIED, e.code);
}

static void the_schema_is_what_models_expect(void **state)
{
	struct str out = STR_INIT(1 << 20);
	struct json *j;
	struct err e = ERR_INIT;
	size_t n = 0, built_in = 0;

	(void)state;
	assert_int_equal(0, tools_schema(rig.tools, ORIGIN_PHONE, &out, &e));
	assert_int_equal(0, json_read(&j, str_view(&out), &json_limits_wire, &e));
	json_each(item, j) {
		const struct json *f = json_member(item, "function");
		const struct json *p = json_member(f, "parameters");
		struct view name, type;

		assert_int_equal(1, json_get_str(item, "type", JSON_REQUIRED, 1, 20, &type, &e));
		assert_true(view_eqs(type, "function"));
		assert_int_equal(1, json_get_str(f, "name", JSON_REQUIRED, 1, 64, &name, &e));
		assert_int_equal(1,
			json_get_str(f, "description", JSON_REQUIRED, 1, 1000, &type, &e));
		assert_int_equal(1, json_get_str(p, "type", JSON_REQUIRED, 1, 20, &type, &e));
		assert_true(view_eqs(type, "object"));
		assert_non_null(json_member(p, "properties"));
		assert_non_null(json_member(p, "required"));
		n++;
	}
	for (size_t i = 0; i < spec_count(); i++)
		built_in += !spec_at(i)->native &&
		            policy_verdict(NULL, spec_at(i)->name, ORIGIN_PHONE) != VERDICT_DENY;
	assert_int_equal(built_in, n);
	assert_true(tools_acts(rig.tools, "write_file"));
	assert_false(tools_acts(rig.tools, "read_file"));
	assert_false(tools_acts(rig.tools, "nothing"));
	json_free(&j);
	str_release(&out);
}

static void a_summary_is_one_safe_argument(void **state)
{
	static const struct {
		const char *tool, *args, *want;
	} cases[] = {
		{ "read_file", "{\"path\":\"notes/今天.md\",\"offset\":3}", "notes/今天.md" },
		{ "grep", "{\"path\":\"src\",\"pattern\":\"a\\nb\\u001b[1m\"}", "a\\nb\\x1b[1m" },
		{ "write_file", "{\"path\":\"a\",\"content\":\"long\"}", "a" },
		{ "list_dir", "{}", "" },
		{ "apply_patch",
			"{\"patch\":\"--- a/src/a.c\\n+++ b/src/a.c\\n@@ -1 +1 @@\\n--- x\\n+++ y\\n"
			"--- /dev/null\\n+++ b/新.md\\n@@ -0,0 +1 @@\\n+x\\n"
			"--- a/old\\n+++ /dev/null\\n@@ -1 +0,0 @@\\n-x\\n\"}",
			"src/a.c, 新.md, old" },
		{ "apply_patch", "{\"patch\":\"nonsense\"}", "" },
		{ "read_file", "not json", "" },
		{ "nothing", "{\"path\":\"a\"}", "" },
	};
	struct str out = STR_INIT(1000), args = STR_INIT(1000);
	struct tool_call c;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c = call_of(cases[i].tool, cases[i].args);
		str_reset(&out);
		tools_summary(rig.tools, &c, &out);
		assert_string_equal(cases[i].want, str_cstr(&out));
	}
	(void)str_adds(&args, "{\"path\":\"");
	for (int i = 0; i < 81; i++)
		(void)str_adds(&args, "字");
	(void)str_adds(&args, "\"}");
	c = call_of("read_file", str_cstr(&args));
	str_reset(&out);
	tools_summary(rig.tools, &c, &out);
	assert_int_equal(80, utf8_count(str_view(&out)));
	str_release(&out);
	str_release(&args);
}

/* Where it ends in the folder's label, the workspace follows. */
static void expect_words(bool zh, const char *tool, const char *args, const char *want)
{
	struct str out = STR_INIT(8000), full = STR_INIT(8000);
	struct tool_call c = call_of(tool, args);

	(void)str_addf(&full, "%s%s", want,
		view_ends(view_of(want), zh ? VIEW("工作区：") : VIEW("folder: ")) ? rig.ws : "");
	tools_describe(rig.tools, &c, zh, &out);
	assert_string_equal(str_cstr(&full), str_cstr(&out));
	assert_true(out.n <= TOOL_QUESTION_MAX);
	str_release(&out);
	str_release(&full);
}

static void expect_question(const char *tool, const char *args, const char *want)
{
	expect_words(false, tool, args, want);
}

/* No redaction: what the user says yes to is what is done. */
static void a_question_shows_the_exact_call(void **state)
{
	(void)state;
	expect_question("read_file", "{\"path\":\"a b\",\"offset\":3}",
		"path: a b\nstart at: 3\nfolder: ");
	expect_question("list_dir", "{}", "folder: ");
	expect_question("list_dir", "{\"path\":null}", "folder: ");
	expect_question("grep",
		"{\"ignore_case\":true,\"pattern\":\"token=abcdefghijklmnop1234\\u001b[1m\\u202e\"}",
		"pattern: token=abcdefghijklmnop1234\\x1b[1m\\u202e\nignore case: true\nfolder: ");
	expect_question("grep", "{\"pattern\":\"a\\u200b\\udb40\\udc61\"}",
		"pattern: a\\u200b\\U000e0061\nfolder: ");
	expect_question("grep", "{\"pattern\":\"a\\nb\"}", "pattern: \n| a\n| b\nfolder: ");
	expect_question("write_file", "{\"content\":\"one\\ntwo\\n\",\"path\":\"notes/a.md\"}",
		"path: notes/a.md\ncontent: 8 bytes, 2 lines\n| one\n| two\nfolder: ");
	expect_question("write_file", "{\"path\":\"a\",\"content\":\"今天\\u0007\"}",
		"path: a\ncontent: 7 bytes, 1 line\n| 今天\\x07\nfolder: ");
	expect_question("write_file", "{\"path\":\"a\",\"content\":\"\"}",
		"path: a\ncontent: 0 bytes, 0 lines\nfolder: ");
	expect_question("write_file", "{\"path\":\"a\",\"content\":\"x\"}",
		"path: a\ncontent: 1 byte, 1 line\n| x\nfolder: ");
	expect_question("shell", "{\"command\":\"ls\",\"cwd\":\"b\",\"timeout_s\":9}",
		"command: ls\nrun in: b\ntime limit in seconds: 9\nfolder: ");
	expect_question("apply_patch",
		"{\"patch\":\"--- a/a.c\\n+++ b/a.c\\n@@ -1 +1 @@\\n-x\\n+y\\n"
		"--- /dev/null\\n+++ b/b\\n@@ -0,0 +1 @@\\n+x\\n"
		"--- a/c\\n+++ /dev/null\\n@@ -1 +0,0 @@\\n-x\\n\"}",
		"files: a.c, b (new), c (deleted)\npatch: 116 bytes, 13 lines\n| --- a/a.c\n"
		"| +++ b/a.c\n| @@ -1 +1 @@\n| -x\n| +y\n| --- /dev/null\n| +++ b/b\n"
		"| @@ -0,0 +1 @@\n| +x\n| --- a/c\n| +++ /dev/null\n| @@ -1 +0,0 @@\n| ...\n"
		"folder: ");
	expect_question("read_file", "{\"path\":7}", "");
	expect_question("nothing", "{}", "");
}

/* What the labels stand beside is the same in both languages, and so is what a yes is bound to. */
static void a_question_is_labelled_in_chinese_too(void **state)
{
	static const char shell[] = "{\"command\":\"ls -l\\nrm b\",\"cwd\":\"b\",\"timeout_s\":9}";

	(void)state;
	expect_words(true, "shell", shell,
		"命令：\n| ls -l\n| rm b\n运行位置：b\n时限（秒）：9\n工作区：");
	expect_words(true, "shell", "{\"command\":\"ls\\n工作区：/x\"}",
		"命令：\n| ls\n| 工作区：/x\n工作区：");
	expect_words(true, "write_file", "{\"content\":\"one\\ntwo\\n\",\"path\":\"notes/a.md\"}",
		"路径：notes/a.md\n内容：8 字节，2 行\n| one\n| two\n工作区：");
	expect_words(true, "write_file", "{\"content\":\"x\",\"path\":\"a\"}",
		"路径：a\n内容：1 字节，1 行\n| x\n工作区：");
	expect_words(true, "apply_patch",
		"{\"patch\":\"--- /dev/null\\n+++ b/b\\n@@ -0,0 +1 @@\\n+x\\n"
		"--- a/c\\n+++ /dev/null\\n@@ -1 +0,0 @@\\n-x\\n\"}",
		"文件：b（新建）, c（删除）\n改动：78 字节，8 行\n| --- /dev/null\n| +++ b/b\n"
		"| @@ -0,0 +1 @@\n| +x\n| --- a/c\n| +++ /dev/null\n| @@ -1 +0,0 @@\n| -x\n"
		"工作区：");
}

/* The tools and their arguments, by the name that each has in its spec. */
static void every_name_has_words_in_both_languages(void **state)
{
	(void)state;
	for (size_t i = 0; i < spec_count(); i++) {
		const struct tool_spec *s = spec_at(i);

		assert_int_equal(LANG_ZH, words_detect(view_of(words_tool(LANG_ZH, s->name))));
		assert_string_equal(s->name, words_tool(LANG_EN, s->name));
		assert_string_equal(s->name, words_tool(LANG_AUTO, s->name));
		for (const struct arg_spec *a = s->args; a->type != ARG_END; a++) {
			const char *const args[] = { a->name, NULL };
			struct str zh = STR_INIT(100), en = STR_INIT(100);

			assert_int_equal(0, words_wording(&zh, true, WORDING_ARGUMENT, args));
			assert_int_equal(0, words_wording(&en, false, WORDING_ARGUMENT, args));
			assert_int_equal(LANG_ZH, words_detect(str_view(&zh)));
			assert_int_equal(LANG_EN, words_detect(str_view(&en)));
			assert_null(strchr(str_cstr(&en), '_'));
			str_release(&zh);
			str_release(&en);
		}
	}
	assert_string_equal("mcp_x", words_tool(LANG_ZH, "mcp_x"));
}

/* Is all shown of a call of grep with so many of these in its pattern and its glob? The end of the
 * pattern is, whatever is not. */
static bool all_is_shown(enum origin origin, const char *pattern, int n, const char *glob, int m)
{
	struct str args = STR_INIT(1 << 20), out = STR_INIT(8000);
	struct tool_call c;
	bool all;

	(void)str_adds(&args, "{\"pattern\":\"");
	for (int i = 0; i < n; i++)
		(void)str_adds(&args, pattern);
	(void)str_adds(&args, "END\",\"glob\":\"");
	for (int i = 0; i < m; i++)
		(void)str_adds(&args, glob);
	(void)str_adds(&args, "\"}");
	c = call_of("grep", str_cstr(&args));
	c.origin = origin;
	all = tools_describe(rig.tools, &c, false, &out);
	assert_true(out.n > 0 && out.n <= (origin == ORIGIN_TERMINAL ? TOOL_QUESTION_MAX : 1200));
	assert_true(utf8_valid(str_view(&out)));
	assert_int_equal(all, !strstr(str_cstr(&out), " not shown here]"));
	assert_non_null(strstr(str_cstr(&out), "END\nfile names: "));
	str_release(&args);
	str_release(&out);
	return all;
}

/* A value cannot go on behind what is left out as a line of ours. */
static void what_follows_a_cut_is_set_off(void **state)
{
	struct str args = STR_INIT(8000), out = STR_INIT(8000);
	struct tool_call c;

	(void)state;
	(void)str_adds(&args, "{\"command\":\"");
	for (int i = 0; i < 400; i++)
		(void)str_adds(&args, "folder: ");
	(void)str_adds(&args, "\"}");
	c = call_of("shell", str_cstr(&args));
	assert_false(tools_describe(rig.tools, &c, false, &out));
	assert_non_null(strstr(str_cstr(&out), " bytes not shown here]\n| "));
	str_reset(&out);
	assert_false(tools_describe(rig.tools, &c, true, &out));
	assert_non_null(strstr(str_cstr(&out), " 字节]\n| "));
	str_release(&args);
	str_release(&out);
}

static void what_a_question_leaves_out_is_said(void **state)
{
	struct str args = STR_INIT(1000), out = STR_INIT(8000);
	struct tool_call c;

	(void)state;
	/* Of four bytes each, as they are shown. */
	assert_true(all_is_shown(ORIGIN_PHONE, "\\u0001", 200, "a", 1));
	assert_false(all_is_shown(ORIGIN_PHONE, "\\u0001", 280, "a", 1));
	assert_true(all_is_shown(ORIGIN_TERMINAL, "\\u0001", 600, "a", 1));
	assert_false(all_is_shown(ORIGIN_TERMINAL, "\\u0001", 960, "a", 1));
	/* A quarter for another argument. */
	assert_true(all_is_shown(ORIGIN_PHONE, "字", 100, "天", 91));
	assert_false(all_is_shown(ORIGIN_PHONE, "字", 100, "天", 92));
	assert_false(all_is_shown(ORIGIN_PHONE, "字", 600, "天", 300));
	(void)str_adds(&args, "{\"path\":\"a\",\"content\":\"");
	for (int i = 0; i < 13; i++)
		(void)str_addf(&args, "line %d\\n", i);
	(void)str_adds(&args, "\"}");
	c = call_of("write_file", str_cstr(&args));
	assert_false(tools_describe(rig.tools, &c, false, &out));
	assert_non_null(strstr(str_cstr(&out), "13 lines\n| line 0\n"));
	assert_non_null(strstr(str_cstr(&out), "| line 11\n| ...\nfolder: "));
	str_release(&args);
	str_release(&out);
}

/* --- Where tools may work --------------------------------------------------------------------- */

static int open_with(const char *workspace, const char *read_path, struct err *e)
{
	const char *const read[] = { read_path, NULL };
	struct tools_env env = rig_env();
	struct tools *t;
	int rc;

	env.workspace = workspace;
	env.read_paths = read_path ? read : NULL;
	rc = tools_open(&t, &env, e);
	tools_close(&t);
	return rc;
}

static void workspace_and_home_must_lie_apart(void **state)
{
	char inner[128], link[128];
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(inner, sizeof(inner), "%s/inner", rig.home);
	(void)snprintf(link, sizeof(link), "%s/link", rig.dir);
	assert_int_equal(0, mkdir(inner, 0700));
	assert_int_equal(0, symlink(rig.home, link));
	assert_int_equal(0, open_with(rig.ws, NULL, &e));
	assert_int_equal(-1, open_with(rig.home, NULL, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(-1, open_with(inner, NULL, &e));
	assert_int_equal(-1, open_with(rig.dir, NULL, &e));
	assert_int_equal(-1, open_with(link, NULL, &e));
	assert_int_equal(-1, open_with("/", NULL, &e));
	assert_int_equal(E_DENIED, e.code);
	(void)snprintf(inner, sizeof(inner), "%s/none", rig.dir);
	assert_int_equal(-1, open_with(inner, NULL, &e));
	assert_int_equal(E_NOTFOUND, e.code);
	assert_int_equal(0, open_with(rig.ws, "/usr/include", &e));
	assert_int_equal(0, open_with(rig.ws, inner, &e)); /* not there: left out */
	assert_int_equal(-1, open_with(rig.ws, rig.home, &e));
	assert_int_equal(-1, open_with(rig.ws, rig.dir, &e));
	assert_int_equal(-1, open_with(rig.ws, "/", &e));
	(void)snprintf(inner, sizeof(inner), "%sx", rig.home); /* only begins alike */
	assert_int_equal(0, mkdir(inner, 0700));
	assert_int_equal(0, open_with(inner, NULL, &e));
}

/* Of these a tool could make links to anything: they are no folders to read besides. */
static void a_folder_to_read_is_not_looked_up_in_the_workspace(void **state)
{
	char inner[128], link[128];
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(inner, sizeof(inner), "%s/toolchain", rig.ws);
	(void)snprintf(link, sizeof(link), "%s/outer", rig.dir);
	assert_int_equal(0, symlink(rig.home, inner)); /* looked up, it would be refused */
	assert_int_equal(0, symlink(inner, link));
	assert_int_equal(0, open_with(rig.ws, inner, &e));
	assert_int_equal(0, open_with(rig.ws, link, &e));
	assert_int_equal(0, unlink(inner) | unlink(link));
}

static void a_missing_helper_is_said_at_once(void **state)
{
	struct tools_env env = rig_env();
	struct tools *t;
	struct err e = ERR_INIT;

	(void)state;
	env.helper = "/nonexistent/kairo-tool";
	assert_int_equal(-1, tools_open(&t, &env, &e));
	assert_int_equal(E_NOTFOUND, e.code);
	assert_non_null(strstr(e.msg, "/nonexistent/kairo-tool"));
}

static void the_sandbox_is_that_of_this_machine(void **state)
{
	(void)state;
	assert_int_equal(confine_landlock_abi(), tools_sandbox(rig.tools)->landlock);
	assert_int_equal(confine_seccomp(), tools_sandbox(rig.tools)->seccomp);
}

/* --- Step two --------------------------------------------------------------------------------- */

static void runs_the_file_tools(void **state)
{
	(void)state;
	make("ws/a.txt", VIEW("hello\n"));
	run("read_file", "{\"path\":\"a.txt\"}");
	assert_true(rig.ok && !rig.acted && !rig.cancelled);
	assert_string_equal("[a.txt: lines 1-1 of 1]\nhello\n", str_cstr(&rig.text));
	run("list_dir", "{}");
	assert_true(rig.ok && says("a.txt  6 bytes"));
	run("glob", "{\"pattern\":\"**/*.txt\"}");
	assert_string_equal("a.txt\n", str_cstr(&rig.text));
	run("grep", "{\"pattern\":\"h.l+o\"}");
	assert_string_equal("a.txt:1: hello\n", str_cstr(&rig.text));
	run("write_file", "{\"path\":\"new/b.txt\",\"content\":\"x\"}");
	assert_true(rig.ok && rig.acted);
	assert_string_equal("[created new/b.txt: 1 bytes, +1 -0 lines]\n", str_cstr(&rig.text));
	run("read_file", "{\"path\":\"new/b.txt\"}");
	assert_true(rig.ok && says("\nx\n"));
	run("write_file", "{\"path\":\"a.txt/b\",\"content\":\"x\"}");
	assert_true(!rig.ok && !rig.acted);
	run("apply_patch",
		"{\"patch\":\"--- a/a.txt\\n+++ b/a.txt\\n@@ -1 +1 @@\\n-hello\\n+bye\\n"
		"--- /dev/null\\n+++ b/p/q\\n@@ -0,0 +1 @@\\n+x\\n"
		"--- a/new/b.txt\\n+++ /dev/null\\n@@ -1 +0,0 @@\\n-x\\n\\\\ No newline\\n\"}");
	assert_string_equal("[changed a.txt: 4 bytes, +1 -1 lines]\n"
			    "[created p/q: 2 bytes, +1 -0 lines]\n"
			    "[deleted new/b.txt: +0 -1 lines]\n",
		str_cstr(&rig.text));
	assert_true(rig.ok && rig.acted);
	run("apply_patch",
		"{\"patch\":\"--- a/a.txt\\n+++ b/a.txt\\n@@ -1 +1 @@\\n-hello\\n+bye\\n\"}");
	assert_true(!rig.ok && !rig.acted && says("nothing was changed"));
}

/* Python's own words, with a version that differs from machine to machine. */
static bool python_says(const char *words)
{
	return says(words) && says("(checked: Python 3.");
}

/* What strings, brackets and indentation do not show, the language's own parser does: in another
 * process, where programs run. */
static void python_is_asked_about_python(void **state)
{
	static const struct {
		const char *text, *place;
	} faulty[] = {
		{ "def f(1):\\n    pass\\n", "[a.py: fault in line 1, column 7: " },
		{ "x = 1\\n字 = = 2\\n", "[a.py: fault in line 2, column 5: " },
		{ "return = 1\\n", "[a.py: fault in line 1, column " },
		{ "x = y，z\\n", "[a.py: fault in line 1, column 6: " },
	};
	char args[500];

	(void)state;
	if (access("/usr/bin/python3", X_OK) < 0 && access("/usr/local/bin/python3", X_OK) < 0)
		skip();
	for (size_t i = 0; i < sizeof(faulty) / sizeof(faulty[0]); i++) {
		(void)snprintf(args, sizeof(args), "{\"path\":\"a.py\",\"content\":\"%s\"}",
			faulty[i].text);
		run("write_file", args);
		if (!rig.ok || !python_says(faulty[i].place))
			fail_msg("%s: %s", faulty[i].text, str_cstr(&rig.text));
	}
	run("write_file", "{\"path\":\"a.py\",\"content\":\"x = 1\\n\"}");
	assert_true(rig.ok && rig.acted && says("[a.py: Python 3.") && says("without a fault]"));
	/* It reads and runs nothing. */
	run("write_file", "{\"path\":\"b.py\",\"content\":\"open('made', 'w')\\nimport a\\n\"}");
	assert_true(rig.ok && says("without a fault]"));
	run("glob", "{\"pattern\":\"**\"}");
	assert_string_equal("a.py\nb.py\n", str_cstr(&rig.text));
}

static void python_is_asked_about_each_file_of_a_patch(void **state)
{
	(void)state;
	if (access("/usr/bin/python3", X_OK) < 0 && access("/usr/local/bin/python3", X_OK) < 0)
		skip();
	make("ws/gone.py", VIEW("x\n"));
	run("apply_patch", "{\"patch\":\"--- /dev/null\\n+++ b/d/a.py\\n@@ -0,0 +1 @@\\n+x = = 1\\n"
			   "--- /dev/null\\n+++ b/b.pyi\\n@@ -0,0 +1 @@\\n+x: int\\n"
			   "--- /dev/null\\n+++ b/c.py\\n@@ -0,0 +1 @@\\n+x = (\\n"
			   "--- a/gone.py\\n+++ /dev/null\\n@@ -1 +0,0 @@\\n-x\\n\"}");
	assert_true(rig.ok && rig.acted);
	assert_true(python_says("[d/a.py: fault in line 1, column 5: "));
	assert_true(says("[b.pyi: Python 3."));
	/* A fault that is known needs no second look. */
	assert_true(says("[c.py: fault in line 1, column 5: ( is not closed (checked: strings") &&
		    !says("[c.py: Python") && !says("gone.py: Python"));
}

/* A helper that says it can confine programs, or cannot, and at the look does as it is told. */
static void open_with_look(bool confines, const char *does)
{
	static const char text[] =
		"#!/bin/sh\n"
		"[ $1 = call ] || { echo '{\"namespaces\":%s,\"why\":\"\",\"landlock\":0,"
		"\"seccomp\":true,\"cgroup\":false}'; exit 0; }\n"
		"read -r line <&3 || exit 2\n"
		"case $line in\n"
		"*parse_python*) : >%s/looking; %s ;;\n"
		"*) echo '{\"event\":\"acting\"}' >&4\n"
		"echo '{\"event\":\"result\",\"ok\":true,\"text\":\"written.\","
		"\"python\":[\"a.py\"]}' >&4 ;;\n"
		"esac\n";
	char script[1000], path[PATH_SIZE];
	struct tools_env env = rig_env();
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/helper", rig.dir);
	(void)snprintf(script, sizeof(script), text, confines ? "true" : "false", rig.dir, does);
	assert_int_equal(0, file_replace(path, 0755, view_of(script), &e));
	tools_close(&rig.tools);
	env.helper = path;
	assert_int_equal(0, tools_open(&rig.tools, &env, &e));
	(void)snprintf(path, sizeof(path), "%s/looking", rig.dir);
	(void)unlink(path);
}

static bool looks(void)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/looking", rig.dir);
	return access(path, F_OK) == 0;
}

#define PYTHON "{\"path\":\"a.py\",\"content\":\"x\"}"

/* What was written stands, and the result with it. */
static void a_look_that_fails_takes_nothing_back(void **state)
{
	static const struct {
		bool confines;
		const char *does, *want;
	} cases[] = {
		{ true, "exit 9", "written." },
		{ true, "kill -9 $$", "written." },
		{ true, "echo nonsense >&4", "written." },
		{ true, "echo '{\"event\":\"result\",\"ok\":false,\"text\":\"no\"}' >&4",
			"written." },
		{ true, "echo '{\"event\":\"result\",\"ok\":true,\"text\":\" seen\"}' >&4",
			"written. seen" },
		{ false, "echo '{\"event\":\"result\",\"ok\":true,\"text\":\" seen\"}' >&4",
			"written." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_with_look(cases[i].confines, cases[i].does);
		run("write_file", PYTHON);
		assert_true(rig.ok && rig.acted && !rig.cancelled);
		assert_string_equal(cases[i].want, str_cstr(&rig.text));
		assert_int_equal(cases[i].confines, looks());
	}
}

static void a_cancel_ends_the_look_and_no_more(void **state)
{
	struct tool_run *r;
	struct err e = ERR_INIT;

	(void)state;
	open_with_look(true, "read -r line <&3");
	r = begin("write_file", PYTHON);
	while (!looks())
		assert_int_equal(0, loop_step(rig.loop, 5, &e));
	tool_cancel(r);
	rig_wait();
	assert_true(rig.ok && rig.acted && !rig.cancelled);
	assert_string_equal("written.", str_cstr(&rig.text));
}

static void results_are_free_of_controls(void **state)
{
	(void)state;
	make("ws/a", VIEW("\x1b[31mred\x1b[0m \x1b]0;title\x07"
			  "tab\there \xe2\x80\xae"
			  "back\nnext\n"));
	run("read_file", "{\"path\":\"a\"}");
	assert_string_equal("[a: lines 1-2 of 2]\nred tab\there back\nnext\n", str_cstr(&rig.text));
}

static void escapes_are_refused(void **state)
{
	char args[300];

	(void)state;
	make("home/account.json", VIEW("top-secret"));
	make("outside", VIEW("top-secret"));
	(void)snprintf(args, sizeof(args), "%s/ws/link", rig.dir);
	assert_int_equal(0, symlink(rig.home, args));
	(void)snprintf(args, sizeof(args), "%s/ws/out", rig.dir);
	assert_int_equal(0, symlink("../outside", args));
	{
		static const char *const paths[] = { "../outside", "../home/account.json", "link",
			"link/account.json", "out", "/proc/self/root/etc/passwd", "/proc/1/environ",
			"/etc/passwd", "./../ws/../home/account.json" };

		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			(void)snprintf(args, sizeof(args), "{\"path\":\"%s\"}", paths[i]);
			run("read_file", args);
			assert_false(rig.ok);
			assert_false(says("top-secret") || says("root:"));
			(void)snprintf(args, sizeof(args),
				"{\"path\":\"%s\",\"content\":\"overwritten\"}", paths[i]);
			run("write_file", args);
			assert_false(rig.ok);
			assert_false(rig.acted);
			(void)snprintf(args, sizeof(args), "{\"pattern\":\".\",\"path\":\"%s\"}",
				paths[i]);
			run("grep", args);
			assert_false(rig.ok);
			run("list_dir", args[0] ? "{\"path\":\"link\"}" : "");
			assert_false(rig.ok);
		}
	}
	(void)snprintf(args, sizeof(args), "{\"path\":\"%s/account.json\"}", rig.home);
	run("read_file", args);
	assert_false(rig.ok);
	(void)snprintf(args, sizeof(args), "%s/outside", rig.dir);
	{
		struct str s = STR_INIT(100);
		struct err e = ERR_INIT;

		assert_int_equal(0, file_read(args, 100, &s, &e));
		assert_string_equal("top-secret", str_cstr(&s));
		str_release(&s);
	}
}

/* As if bubblewrap had worked at the start, and did not any more. */
static void a_sandbox_that_fails_later_is_told(void **state)
{
	char path[128];
	struct tools_env env = rig_env();
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/helper", rig.dir);
	assert_int_equal(0, file_replace(path, 0700,
				    VIEW("#!/bin/sh\n[ \"$1\" = probe ] || exit 1\n"
					 "echo '{\"namespaces\":true,\"why\":\"\",\"landlock\":7,"
					 "\"seccomp\":true,\"cgroup\":false}'\n"),
				    &e));
	env.helper = path;
	tools_close(&rig.tools);
	assert_int_equal(0, tools_open(&rig.tools, &env, &e));
	run("list_dir", "{}");
	assert_false(rig.ok);
	assert_non_null(strstr(str_cstr(&rig.text), "could not be put into its sandbox"));
	assert_non_null(strstr(str_cstr(&rig.text), "It changes nothing."));
}

static void nothing_gets_through_the_fence(void **state)
{
	char outside[128], secret[256];
	char probe[] = "fence_probe";
	char *const argv[] = { probe, rig.ws, outside, NULL };
	char out[4096] = "";
	int fd[2], status;
	pid_t pid;

	(void)state;
	(void)snprintf(outside, sizeof(outside), "%s/home", rig.dir);
	(void)snprintf(secret, sizeof(secret), "%s/secret", outside);
	make("home/secret", VIEW("top-secret"));
	assert_int_equal(0, pipe(fd));
	pid = fork();
	if (pid == 0) {
		(void)dup2(fd[1], 1);
		if (chdir(rig.ws) == 0)
			(void)execv(FENCE_PROBE, argv);
		_exit(3);
	}
	(void)close(fd[1]);
	while (read(fd[0], out + strlen(out), sizeof(out) - 1 - strlen(out)) > 0)
		;
	(void)close(fd[0]);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("the kernel has no fence to probe: %s\n", out);
		skip();
	}
	if (WEXITSTATUS(status) != 0)
		fail_msg("%d: %s", WEXITSTATUS(status), out);
	assert_int_equal(0, access(secret, F_OK));
}

/* --- Ending ----------------------------------------------------------------------------------- */

/* A search that takes many seconds. */
static struct tool_run *begin_search(const char *line)
{
	struct str text = STR_INIT((size_t)6 << 20);

	while (text.n < ((size_t)4 << 20))
		(void)str_adds(&text, line);
	make("ws/slow", str_view(&text));
	make("ws/slow2", str_view(&text));
	str_release(&text);
	return begin("grep", "{\"pattern\":\"^(a|aa)+$\"}");
}

/* Each line needs so many steps that the search does not see that it is to end. */
static struct tool_run *begin_long_one(void)
{
	return begin_search("aaaaaaaaaaaaaaaaaaaaaa!\n");
}

/* The first child of a process, 0: none. */
static pid_t child_of(pid_t parent)
{
	char path[64], list[64] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, list, sizeof(list) - 1) < 0)
		list[0] = '\0';
	(void)close(fd);
	return (pid_t)strtol(list, NULL, 10);
}

static pid_t wait_child_of(pid_t parent)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	pid_t pid = 0;

	for (int i = 0; i < 30000 && pid == 0; i++) {
		(void)nanosleep(&pause, NULL);
		pid = child_of(parent);
	}
	assert_int_not_equal(0, pid);
	return pid;
}

static bool gone(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (int i = 0; i < 30000; i++) {
		if (kill(pid, 0) < 0 && errno == ESRCH)
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

static void a_cancel_ends_the_tree_and_is_told(void **state)
{
	struct tool_run *r = begin_long_one();
	pid_t worker = wait_child_of(wait_child_of(getpid()));

	(void)state;
	tool_cancel(r);
	tool_cancel(r);
	assert_int_equal(0, rig.done);
	rig_wait();
	assert_true(rig.cancelled && !rig.ok && !rig.acted);
	assert_true(says("grep was cancelled. It changes nothing."));
	assert_true(gone(worker));
	assert_int_equal(0, child_of(getpid()));
}

static void a_search_that_sees_its_cancel_gives_no_half_of_an_answer(void **state)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	struct tool_run *r = begin_search("aaaaaaaaaaaaa!\n");

	(void)state;
	(void)wait_child_of(wait_child_of(getpid()));
	(void)nanosleep(&pause, NULL); /* mostly it is looking by then */
	tool_cancel(r);
	rig_wait();
	assert_true(rig.cancelled && !rig.ok && !rig.acted);
	assert_true(says("grep was cancelled. It changes nothing."));
}

static void a_cancel_at_once_says_that_nothing_was_changed(void **state)
{
	struct tool_run *r = begin("write_file", "{\"path\":\"x\",\"content\":\"y\"}");

	(void)state;
	tool_cancel(r);
	rig_wait();
	if (rig.cancelled && !rig.acted)
		assert_true(says("Nothing was changed."));
	assert_int_equal(0, child_of(getpid()));
}

static void a_killed_helper_is_told(void **state)
{
	pid_t helper, worker;

	(void)state;
	(void)begin_long_one();
	helper = wait_child_of(getpid());
	worker = wait_child_of(helper);
	assert_int_equal(0, kill(helper, SIGKILL));
	rig_wait();
	assert_true(!rig.ok && !rig.cancelled && !rig.acted);
	assert_true(says("was ended by signal 9"));
	assert_true(gone(worker));
}

static void a_killed_worker_is_told(void **state)
{
	(void)state;
	(void)begin_long_one();
	assert_int_equal(0, kill(wait_child_of(wait_child_of(getpid())), SIGKILL));
	rig_wait();
	assert_false(rig.ok);
	assert_true(says("ended without a result"));
	assert_int_equal(0, child_of(getpid()));
}

#ifdef KAIRO_TEST_HOOKS
static void a_call_past_its_time_is_ended(void **state)
{
	(void)state;
	(void)begin_long_one();
	(void)wait_child_of(wait_child_of(getpid()));
	loop_turn_clock(rig.loop, 60000);
	rig_wait();
	assert_true(!rig.ok && !rig.cancelled);
	assert_true(says("took longer than 60 s"));
	assert_int_equal(0, child_of(getpid()));
}
#endif

static void closing_ends_what_runs_without_a_word(void **state)
{
	pid_t worker;

	(void)state;
	(void)begin_long_one();
	worker = wait_child_of(wait_child_of(getpid()));
	tools_close(&rig.tools);
	assert_int_equal(0, rig.done);
	assert_true(gone(worker));
	assert_int_equal(0, child_of(getpid()));
}

static void a_detached_call_reports_to_nobody(void **state)
{
	struct tool_run *r = begin_long_one();
	struct err e = ERR_INIT;

	(void)state;
	tool_detach(r);
	while (child_of(getpid()) != 0)
		assert_int_equal(0, loop_step(rig.loop, 1000, &e));
	for (int i = 0; i < 20; i++)
		assert_int_equal(0, loop_step(rig.loop, 0, &e));
	assert_int_equal(0, rig.done);
}

static void the_death_of_the_daemon_ends_its_tools(void **state)
{
	pid_t helper, worker, daemon;

	(void)state;
	tools_close(&rig.tools); /* the child has its own */
	daemon = fork();
	if (daemon == 0) {
		struct tools_env env = rig_env();
		struct err e = ERR_INIT;

		if (tools_open(&rig.tools, &env, &e) < 0)
			_exit(1);
		(void)begin_long_one();
		for (;;)
			(void)loop_step(rig.loop, 1000, &e);
	}
	helper = wait_child_of(daemon);
	worker = wait_child_of(helper);
	assert_int_equal(0, kill(daemon, SIGKILL));
	assert_int_equal(daemon, waitpid(daemon, NULL, 0));
	assert_true(gone(worker));
	assert_true(gone(helper));
}

static void several_calls_do_not_disturb_each_other(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	make("ws/a", VIEW("x\n"));
	for (int i = 0; i < 8; i++)
		(void)begin("read_file", "{\"path\":\"a\"}");
	while (rig.done < 8)
		assert_int_equal(0, loop_step(rig.loop, 20000, &e));
	assert_true(rig.ok);
}

/* --- Audit ------------------------------------------------------------------------------------ */

static void read_audit(struct str *out)
{
	char path[PATH_SIZE], day[32];
	time_t now = time(NULL);
	struct err e = ERR_INIT;
	struct stat st;
	struct tm tm;

	assert_non_null(gmtime_r(&now, &tm));
	assert_true(strftime(day, sizeof(day), "%Y-%m-%d.jsonl", &tm) > 0);
	(void)snprintf(path, sizeof(path), "%s/audit/%s", rig.home, day);
	assert_int_equal(0, file_read(path, 1 << 20, out, &e));
	assert_int_equal(0, stat(path, &st));
	assert_int_equal(0600, st.st_mode & 07777);
}

static void what_was_asked_decided_and_done_is_recorded(void **state)
{
	struct str log = STR_INIT(1 << 20);
	int lines = 0;

	(void)state;
	assert_int_equal(VERDICT_ALLOW,
		verdict("write_file", "{\"path\":\"n.txt\",\"content\":\"my diary\"}"));
	run("write_file", "{\"path\":\"n.txt\",\"content\":\"my diary\"}");
	assert_int_equal(VERDICT_DENY,
		verdict("shell", "{\"command\":\"curl -H 'Authorization: Bearer "
				 "abcdefghijklmnop1234'\"}"));
	assert_int_equal(VERDICT_DENY,
		verdict("write_file", "{\"path\":7,\"content\":\"my diary\"}"));
	read_audit(&log);
	for (struct view rest = str_view(&log); rest.n > 0; lines++) {
		struct view line = view_cut(rest, view_find(rest, '\n'));

		assert_int_equal(0, json_check(line, &json_limits_wire, NULL));
		rest = view_from(rest, line.n + 1);
	}
	assert_int_equal(4, lines);
	assert_non_null(strstr(str_cstr(&log), "\"tool\":\"write_file\""));
	assert_non_null(strstr(str_cstr(&log), "\"content_bytes\":8"));
	assert_non_null(strstr(str_cstr(&log), "\"outcome\":\"started\""));
	assert_non_null(strstr(str_cstr(&log), "\"outcome\":\"ok\""));
	assert_non_null(strstr(str_cstr(&log), "\"verdict\":\"deny\",\"outcome\":\"refused\""));
	assert_non_null(strstr(str_cstr(&log), "\"origin\":\"phone\""));
	assert_null(strstr(str_cstr(&log), "my diary"));
	assert_null(strstr(str_cstr(&log), "abcdefghijklmnop1234"));
	str_release(&log);
}

static void what_cannot_be_recorded_is_not_begun(void **state)
{
	static const char write[] = "{\"path\":\"n.txt\",\"content\":\"x\"}";
	static const struct {
		const char *name, *args;
	} calls[] = { { "write_file", write }, { "read_file", "{\"path\":\"n.txt\"}" },
		{ "shell", "{\"command\":\"true\"}" },
		{ "shell_session", "{\"command\":\"touch n.txt\"}" } };
	static const char *const ask[] = { "shell_session=ask", NULL };
	static const char *const entries[] = { "true", NULL };
	const struct policy_rules rules = { SHELL_ALLOWLIST, entries, VERDICT_ALLOW, VERDICT_ALLOW,
		ask };
	char print[TOOL_FINGERPRINT], path[128], audit[128];

	(void)state;
	rig_open(&rules);
	(void)snprintf(audit, sizeof(audit), "%s/audit", rig.home);
	assert_int_equal(0, remove_tree(audit));
	assert_int_equal(0, symlink(rig.ws, audit));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct tool_call c = call_of(calls[i].name, calls[i].args);
		struct tool_run *r;
		struct err e = ERR_INIT;

		assert_int_equal(0, tools_fingerprint(rig.tools, &c, print, &e));
		c.consent = print;
		assert_int_equal(-1, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
		if (!strstr(e.msg, "it cannot be recorded: "))
			fail_msg("%s: %s", calls[i].name, e.msg);
		assert_int_equal(-1, tools_note(rig.tools, &c, VERDICT_ASK, "asked", NULL, &e));
	}
	assert_int_equal(0, loop_step(rig.loop, 0, NULL));
	(void)snprintf(path, sizeof(path), "%s/n.txt", rig.ws);
	assert_false(file_exists(path));
	assert_int_equal(0, unlink(audit));
	run("write_file", write);
	assert_true(rig.ok && file_exists(path));
}

static void a_refusal_is_recorded_with_the_beginning_of_its_arguments(void **state)
{
	struct str args = STR_INIT(1 << 20), log = STR_INIT(1 << 20);

	(void)state;
	(void)str_adds(&args, "{\"command\":\"echo ");
	while (args.n < ((size_t)100 << 10))
		(void)str_adds(&args, "\xe4\xbd\xa0");
	(void)str_adds(&args, "\"}");
	assert_int_equal(VERDICT_DENY, verdict("shell", str_cstr(&args)));
	read_audit(&log);
	assert_true(log.n < 8192);
	assert_non_null(strstr(str_cstr(&log), "\"args\":\"{\\\"command\\\":\\\"echo "));
	assert_non_null(strstr(str_cstr(&log), "\xe4\xbd\xa0[cut]\""));
	str_release(&args);
	str_release(&log);
}

static void a_record_is_never_over_a_mebibyte(void **state)
{
	struct str args = STR_INIT((size_t)4 << 20), log = STR_INIT((size_t)4 << 20);
	struct audit_event ev = { .turn = 1, .tool = "shell", .verdict = "deny" };
	struct view line;

	(void)state;
	(void)str_adds(&args, "{\"command\":\"");
	while (args.n < ((size_t)3 << 20))
		(void)str_adds(&args, "\\u0001 word ");
	(void)str_adds(&args, "\"}");
	ev.args = str_view(&args);
	ev.outcome = "refused";
	assert_int_equal(0, audit_write(rig.audit, &ev, NULL));
	assert_int_equal(0, audit_write(NULL, &ev, NULL));
	read_audit(&log);
	line = view_cut(str_view(&log), view_find(str_view(&log), '\n'));
	assert_true(line.n > 0 && line.n <= (size_t)1 << 20);
	assert_int_equal(0, json_check(line, &json_limits_wire, NULL));
	str_release(&args);
	str_release(&log);
}

/* --- One change at a time --------------------------------------------------------------------- */

static const char *order[4]; /* ids of the calls, as they end */
static size_t ended;

static void on_ended(void *arg, const struct tool_result *r)
{
	const struct tool_call *c = arg;

	(void)r;
	order[ended++] = c->id;
}

static void wait_ended(size_t n)
{
	struct err e = ERR_INIT;

	while (ended < n)
		assert_int_equal(0, loop_step(rig.loop, 20000, &e));
}

/* A helper that does nothing but write down when a call begins and ends: create_project works until
 * there is a file "go", apply_patch until it is cancelled. */
static void open_with_diary(void)
{
	static const char script[] =
		"#!/bin/sh\n"
		"[ \"$1\" = call ] || exit 1\n"
		"read -r line <&3 || exit 2\n"
		"name=${line#*\\\"tool\\\":\\\"}\n"
		"name=${name%%%%\\\"*}\n"
		"echo \"$name\" >>%s/diary\n"
		"case $name in\n"
		"create_project) while [ ! -e %s/go ]; do /bin/sleep 0.01; done ;;\n"
		"apply_patch) read -r line <&3 ;;\n"
		"esac\n"
		"echo \"end\" >>%s/diary\n"
		"echo '{\"event\":\"result\",\"ok\":true,\"text\":\"\"}' >&4\n";
	char text[1000], path[PATH_SIZE];
	struct tools_env env = rig_env();
	struct err e = ERR_INIT;

	ended = 0;
	(void)snprintf(path, sizeof(path), "%s/helper", rig.dir);
	(void)snprintf(text, sizeof(text), script, rig.dir, rig.dir, rig.dir);
	assert_int_equal(0, file_replace(path, 0755, view_of(text), &e));
	tools_close(&rig.tools);
	env.helper = path;
	assert_int_equal(0, tools_open(&rig.tools, &env, &e));
}

static void diary_is(const char *want)
{
	struct str text = STR_INIT(1000);
	char path[PATH_SIZE];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/diary", rig.dir);
	(void)file_read(path, 1000, &text, &e);
	assert_string_equal(want, str_cstr(&text));
	str_release(&text);
}

static struct tool_run *start(struct tool_call *c, const char *id)
{
	struct tool_run *r;
	struct err e = ERR_INIT;

	c->id = id;
	if (tools_start(&r, rig.tools, c, on_ended, c, &e) < 0)
		fail_msg("%s", e.msg);
	return r;
}

#define PROJECT "{\"template\":\"c\",\"path\":\"p\"}"
#define WRITE   "{\"path\":\"a\",\"content\":\"x\"}"

static void changes_never_overlap(void **state)
{
	struct tool_call slow = call_of("create_project", PROJECT);
	struct tool_call write = call_of("write_file", WRITE), again = call_of("write_file", WRITE);
	struct tool_call read = call_of("list_dir", "{}");

	(void)state;
	open_with_diary();
	(void)start(&slow, "slow");
	(void)start(&write, "write");
	(void)start(&again, "again");
	(void)start(&read, "read"); /* waits for nobody */
	wait_ended(1);
	assert_string_equal("read", order[0]);
	make("go", VIEW(""));
	wait_ended(4);
	assert_string_equal("slow", order[1]);
	assert_string_equal("write", order[2]);
	assert_string_equal("again", order[3]);
}

static void a_change_begins_when_the_one_before_has_ended(void **state)
{
	struct tool_call slow = call_of("create_project", PROJECT);
	struct tool_call write = call_of("write_file", WRITE), again = call_of("write_file", WRITE);

	(void)state;
	open_with_diary();
	(void)start(&slow, "slow");
	(void)start(&write, "write");
	(void)start(&again, "again");
	make("go", VIEW(""));
	wait_ended(3);
	diary_is("create_project\nend\nwrite_file\nend\nwrite_file\nend\n");
}

/* One that is cancelled while it waits does nothing and holds nobody up; one that is cancelled
 * while it works is waited for; the end of all lets nobody go. */
static void a_change_waits_for_a_cancelled_one(void **state)
{
	struct tool_call slow = call_of("apply_patch",
		"{\"patch\":\"--- /dev/null\\n+++ b/b\\n@@ -0,0 +1 @@\\n+x\\n\"}");
	struct tool_call write = call_of("write_file", WRITE), again = call_of("write_file", WRITE);
	struct tool_run *working;

	(void)state;
	open_with_diary();
	working = start(&slow, "slow");
	tool_cancel(start(&write, "write"));
	wait_ended(1);
	assert_string_equal("write", order[0]);
	(void)start(&again, "again");
	tool_cancel(working);
	wait_ended(3);
	assert_string_equal("slow", order[1]);
	assert_string_equal("again", order[2]);
	diary_is("apply_patch\nend\nwrite_file\nend\n");
	(void)start(&slow, "slow");
	(void)start(&write, "write");
	tools_close(&rig.tools);
	assert_int_equal(3, ended);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(arguments_are_checked),
		T(unknown_and_denied_tools_are_told_apart),
		T(the_schema_is_what_models_expect),
		T(a_summary_is_one_safe_argument),
		T(a_question_shows_the_exact_call),
		T(a_question_is_labelled_in_chinese_too),
		T(every_name_has_words_in_both_languages),
		T(what_follows_a_cut_is_set_off),
		T(what_a_question_leaves_out_is_said),
		T(workspace_and_home_must_lie_apart),
		T(a_folder_to_read_is_not_looked_up_in_the_workspace),
		T(a_missing_helper_is_said_at_once),
		T(the_sandbox_is_that_of_this_machine),
		T(a_sandbox_that_fails_later_is_told),
		T(runs_the_file_tools),
		T(python_is_asked_about_python),
		T(python_is_asked_about_each_file_of_a_patch),
		T(a_look_that_fails_takes_nothing_back),
		T(a_cancel_ends_the_look_and_no_more),
		T(results_are_free_of_controls),
		T(escapes_are_refused),
		T(nothing_gets_through_the_fence),
		T(a_cancel_ends_the_tree_and_is_told),
		T(a_search_that_sees_its_cancel_gives_no_half_of_an_answer),
		T(a_cancel_at_once_says_that_nothing_was_changed),
		T(a_killed_helper_is_told),
		T(a_killed_worker_is_told),
#ifdef KAIRO_TEST_HOOKS
		T(a_call_past_its_time_is_ended),
#endif
		T(closing_ends_what_runs_without_a_word),
		T(a_detached_call_reports_to_nobody),
		T(the_death_of_the_daemon_ends_its_tools),
		T(several_calls_do_not_disturb_each_other),
		T(what_was_asked_decided_and_done_is_recorded),
		T(what_cannot_be_recorded_is_not_begun),
		T(a_refusal_is_recorded_with_the_beginning_of_its_arguments),
		T(a_record_is_never_over_a_mebibyte),
		T(changes_never_overlap),
		T(a_change_begins_when_the_one_before_has_ended),
		T(a_change_waits_for_a_cancelled_one),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as the program does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
