/* What an agent has its client do, and what it does without asking. */
#include "acp_rig.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define CALL(method, params) \
	"{\"ask\":{\"method\":\"" method "\",\"params\":{\"sessionId\":\"$session\"," params "}}}"
#define TURN(steps) "{\"session/prompt\":[" steps "," TEXT("done") "," END "]}"

static const struct policy_rules asking = { .shell = SHELL_ASK, .write = VERDICT_ASK };
static const struct policy_rules denying = { .shell = SHELL_DENY, .write = VERDICT_DENY };

static void with_services(struct fix *f, const struct policy_rules *rules)
{
	f->offer = (struct acp_offer){ .fs = true, .terminal = true };
	with_policy(f, rules);
}

/* A script in which @ stands for the workspace; a turn is run with it. */
static void run(struct fix *f, const char *script)
{
	struct str s = STR_INIT(1 << 22);

	for (const char *p = script; *p; p++)
		assert_int_equal(0, *p == '@' ? str_adds(&s, f->dir.dir) : str_addc(&s, *p));
	write_script(f, str_cstr(&s));
	str_release(&s);
	ask(f, "hello");
}

static void put_file(const struct fix *f, const char *name, const char *text)
{
	char path[600];

	(void)snprintf(path, sizeof(path), "%s/%s", f->dir.dir, name);
	assert_int_equal(0, file_replace(path, 0644, view_of(text), NULL));
}

static char *get_file(const struct fix *f, const char *name)
{
	struct str s = STR_INIT(1 << 20);
	char path[600];

	(void)snprintf(path, sizeof(path), "%s/%s", f->dir.dir, name);
	if (file_read(path, 1 << 20, &s, NULL) < 0)
		str_reset(&s);
	return str_take(&s);
}

/* --- Offers ----------------------------------------------------------------------------------- */

static void only_what_is_offered_is_done(void **state)
{
	struct fix *f = *state;

	with_policy(f, &asking);
	run(f, TURN(CALL("fs/read_text_file", "\"path\":\"@/f\"") "," CALL("terminal/create",
		       "\"command\":\"ls\"")));
	assert_int_equal(ENGINE_OK, f->fail);
	assert_int_equal(2, count(f, "\"error\":{\"code\":-32601"));
	assert_int_equal(1, count(f, "\"readTextFile\":false,\"writeTextFile\":false},"
				     "\"terminal\":false"));
	with_services(f, &asking);
	run(f, TURN(CALL("fs/read_text_file", "\"path\":\"@/f\"")));
	assert_int_equal(0, count(f, "\"error\":{\"code\":-32601"));
	assert_int_equal(1, count(f, "\"readTextFile\":true,\"writeTextFile\":true},"
				     "\"terminal\":true"));
}

/* --- Files ------------------------------------------------------------------------------------ */

static void files_are_read_to_the_byte(void **state)
{
	static const struct {
		const char *params, *answer;
	} table[] = {
		{ "\"path\":\"@/f\"", "{\"content\":\"one\\r\\n\\ttwo\\nthree\"}" },
		{ "\"path\":\"@/f\",\"line\":null,\"limit\":null",
			"{\"content\":\"one\\r\\n\\ttwo\\nthree\"}" },
		{ "\"path\":\"@/f\",\"line\":2", "{\"content\":\"\\ttwo\\nthree\"}" },
		{ "\"path\":\"@/f\",\"line\":2,\"limit\":1", "{\"content\":\"\\ttwo\\n\"}" },
		{ "\"path\":\"@/f\",\"line\":0,\"limit\":1", "{\"content\":\"one\\r\\n\"}" },
		{ "\"path\":\"@/f\",\"limit\":10001", "{\"content\":\"one\\r\\n\\ttwo\\nthree\"}" },
		{ "\"path\":\"@/f\",\"limit\":0", "{\"content\":\"\"}" },
		{ "\"path\":\"@/f\",\"line\":9", "{\"content\":\"\"}" },
	};
	struct fix *f = *state;

	put_file(f, "f", "one\r\n\ttwo\nthree");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[800];

		(void)snprintf(script, sizeof(script), TURN(CALL("fs/read_text_file", "%s")),
			table[i].params);
		with_services(f, &denying);
		run(f, script);
		assert_string_equal("done", str_cstr(&f->text));
		if (count(f, table[i].answer) != 1)
			fail_msg("%s", table[i].params);
	}
}

static void what_cannot_be_read_has_the_code_that_agents_rely_on(void **state)
{
	static const struct {
		const char *params, *code;
	} table[] = {
		{ "\"path\":\"@/missing\"", "-32002" },
		{ "\"path\":\"/etc/passwd\"", "-32602" },
		{ "\"path\":\"@/../x\"", "-32602" },
		{ "\"path\":\"@/link\"", "-32602" },
		{ "\"path\":\"f\"", "-32602" },
		{ "\"path\":\"@/f\",\"line\":-1", "-32602" },
		{ "\"path\":\"@/f\",\"limit\":\"1\"", "-32602" },
		{ "\"line\":1", "-32602" },
		{ "\"path\":\"@/latin\"", "-32602" },
		{ "\"path\":\"@\"", "-32602" },
	};
	struct fix *f = *state;
	char link[600];

	put_file(f, "f", "text");
	put_file(f, "latin", "caf\xe9");
	(void)snprintf(link, sizeof(link), "%s/link", f->dir.dir);
	assert_int_equal(0, symlink("/etc/passwd", link));
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[800], want[100];

		(void)snprintf(script, sizeof(script), TURN(CALL("fs/read_text_file", "%s")),
			table[i].params);
		(void)snprintf(want, sizeof(want), "\"id\":0,\"error\":{\"code\":%s",
			table[i].code);
		with_services(f, &denying);
		run(f, script);
		if (count(f, want) != 1)
			fail_msg("%s", table[i].params);
	}
}

#define WRITE CALL("fs/write_text_file", "\"path\":\"@/d/w\",\"content\":\"a\\r\\nb\\u0001\"")

static void writes_are_judged_as_those_of_the_built_in_tools(void **state)
{
	static const struct {
		enum verdict write;
		int choice;
		bool asked, written;
	} table[] = {
		{ VERDICT_ALLOW, 0, false, true },
		{ VERDICT_DENY, 0, false, false },
		{ VERDICT_ASK, APPROVAL_ONCE, true, true },
		{ VERDICT_ASK, APPROVAL_NO, true, false },
		{ VERDICT_ASK, ANSWER_UNASKED, true, false },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct policy_rules rules = { .write = table[i].write };
		char path[600], *got;

		(void)snprintf(path, sizeof(path), "%s/d/w", f->dir.dir);
		(void)unlink(path);
		f->choice = table[i].choice;
		with_services(f, &rules);
		run(f, TURN(WRITE));
		assert_string_equal("done", str_cstr(&f->text));
		assert_int_equal(table[i].asked,
			strstr(str_cstr(&f->seen), "{write_file path: d/w") != NULL);
		assert_int_equal(table[i].written, count(f, "\"id\":0,\"result\":{}"));
		assert_int_equal(!table[i].written,
			count(f, "\"id\":0,\"error\":{\"code\":-32602"));
		got = get_file(f, "d/w");
		assert_string_equal(table[i].written ? "a\r\nb\x01" : "", got);
		free(got);
	}
}

static void a_write_beyond_the_workspace_is_refused(void **state)
{
	const struct policy_rules rules = { .write = VERDICT_ALLOW };
	struct fix *f = *state;

	with_services(f, &rules);
	run(f, TURN(CALL("fs/write_text_file", "\"path\":\"/tmp/kairo-never\",\"content\":\"x\"")));
	assert_int_equal(1, count(f, "\"error\":{\"code\":-32602"));
	assert_int_equal(-1, access("/tmp/kairo-never", F_OK));
}

#define EDIT \
	ASK("\"kind\":\"edit\",\"title\":\"Write\",\"rawInput\":{\"path\":\"@/w\",\"content\":\"new\"}")
#define WRITES(text) CALL("fs/write_text_file", "\"path\":\"@/w\",\"content\":\"" text "\"")

static int questions(const struct fix *f)
{
	int n = 0;

	for (const char *p = str_cstr(&f->seen); (p = strchr(p, '{')) != NULL; p++)
		n++;
	return n;
}

static void one_consent_covers_what_it_was_given_to_once(void **state)
{
	struct fix *f = *state;
	char *got;

	f->choice = APPROVAL_ONCE;
	with_services(f, &asking);
	run(f, TURN(EDIT "," WRITES("new")));
	assert_int_equal(1, questions(f));
	got = get_file(f, "w");
	assert_string_equal("new", got);
	free(got);
	/* other content, and the same a second time, are asked for */
	with_services(f, &asking);
	run(f, TURN(EDIT "," WRITES("other")));
	assert_int_equal(2, questions(f));
	with_services(f, &asking);
	run(f, TURN(EDIT "," WRITES("new") "," WRITES("new")));
	assert_int_equal(2, questions(f));
}

#define PART(old, fresh) \
	ASK("\"kind\":\"edit\",\"rawInput\":{\"path\":\"@/w\",\"old_string\":\"" old \
	    "\",\"new_string\":" \
	    "\"" fresh "\"}")

static void a_consent_to_a_part_covers_the_file_with_that_part_changed(void **state)
{
	static const struct {
		const char *script;
		int questions;
	} table[] = {
		{ TURN(PART("b", "B") "," WRITES("a B b")), 1 },
		{ TURN(PART("b", "B") "," WRITES("a B B")), 1 }, /* every one */
		{ TURN(PART(" b b", "") "," WRITES("a")), 1 },
		{ TURN(PART("b", "B") "," WRITES("a B b ")), 2 }, /* and something else */
		{ TURN(PART("b", "B") "," WRITES("a b b")), 2 },
		{ TURN(PART("c", "B") "," WRITES("a b b")), 2 }, /* it is not there */
		{ TURN(PART("b", "B") "," WRITES("a B b") "," WRITES("a B B")), 2 }, /* once */
	};
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		put_file(f, "w", "a b b");
		with_services(f, &asking);
		run(f, table[i].script);
		assert_int_equal(table[i].questions, questions(f));
	}
}

static void services_are_for_the_turn_of_the_session(void **state)
{
	struct fix *f = *state;

	put_file(f, "f", "text");
	with_services(f, &asking);
	run(f, TURN("{\"ask\":{\"method\":\"fs/read_text_file\",\"params\":{\"sessionId\":\"other\","
		    "\"path\":\"@/f\"}}},{\"ask\":{\"method\":\"fs/read_text_file\",\"params\":["
		    "]}},{\"ask\":{\"method\":\"terminal/output\"}}"));
	assert_int_equal(3, count(f, "\"error\":{\"code\":-32602"));
	assert_int_equal(0, count(f, "\"content\":\"text\""));
}

static void a_stop_answers_what_waits_at_once(void **state)
{
	struct fix *f = *state;

	f->choice = LEAVE_OPEN;
	with_services(f, &asking);
	run(f, TURN(WRITES("x")));
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	assert_int_equal(1, count(f, "\"error\":{\"code\":-32800"));
	with_services(f, &asking);
	run(f, TURN(CALL("terminal/create", "\"command\":\"ls\"")));
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	assert_int_equal(1, count(f, "\"error\":{\"code\":-32800"));
}

/* --- Terminals -------------------------------------------------------------------------------- */

#define ON(method, id) CALL("terminal/" method, "\"terminalId\":\"term-" id "\"")
#define BASH(text) \
	CALL("terminal/create", "\"command\":\"/bin/bash\",\"args\":[\"-c\",\"" text "\"]")

static void a_terminal_runs_what_was_said_yes_to(void **state)
{
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	with_services(f, &asking);
	run(f, TURN(BASH("echo out; echo err >&2; exit 3") "," ON("wait_for_exit",
		       "1") "," ON("output", "1") "," ON("release", "1") "," ON("output", "1")));
	assert_non_null(strstr(str_cstr(&f->seen),
		"{shell command: echo out; echo err >&2; exit 3\nfolder: "));
	assert_int_equal(1, count(f, "{\"terminalId\":\"term-1\"}"));
	assert_int_equal(1, count(f, "\"id\":1,\"result\":{\"exitCode\":3,\"signal\":null}"));
	assert_int_equal(1,
		count(f, "{\"output\":\"out\\nerr\\n\",\"truncated\":false,\"exitStatus\":{"
			 "\"exitCode\":3,\"signal\":null}}"));
	assert_int_equal(1, count(f, "\"id\":3,\"result\":{}"));
	assert_int_equal(1, count(f, "\"id\":4,\"error\":{\"code\":-32602"));
}

static void a_command_that_policy_refuses_is_not_run(void **state)
{
	static const char *const entries[] = { "printf ok", NULL };
	const struct policy_rules listed = { .shell = SHELL_ALLOWLIST, .shell_allow = entries };
	struct fix *f = *state;

	with_services(f, &denying);
	run(f, TURN(BASH("touch x")));
	assert_int_equal(1, count(f, "\"id\":0,\"error\":{\"code\":-32602"));
	f->choice = APPROVAL_NO;
	with_services(f, &asking);
	run(f, TURN(BASH("touch x")));
	assert_int_equal(1, questions(f));
	assert_int_equal(1, count(f, "\"id\":0,\"error\":{\"code\":-32602"));
	/* an entry is allowed word for word, unless the agent sets what could change its meaning */
	with_services(f, &listed);
	run(f, TURN(BASH("printf ok") "," ON("wait_for_exit", "1") "," ON("output", "1") "," BASH(
		       "printf ok; id") "," CALL("terminal/create",
		       "\"command\":\"printf\",\"args\":[\"ok\"],\"env\":[{\"name\":\"LD_PRELOAD\","
		       "\"value\":\"./x.so\"}]") "," CALL("terminal/create",
		       "\"command\":\"printf\",\"args\":[\"ok\"],\"env\":[{\"name\":\"NO_COLOR\","
		       "\"value\":\"1\"}]")));
	assert_int_equal(1, count(f, "\"output\":\"ok\""));
	assert_int_equal(1, count(f, "\"id\":3,\"error\":{\"code\":-32602"));
	assert_int_equal(1, count(f, "\"id\":4,\"error\":{\"code\":-32602"));
	assert_int_equal(1, count(f, "\"id\":5,\"result\":{\"terminalId\""));
}

static void what_would_be_run_is_shown_exactly(void **state)
{
	static const struct {
		const char *params, *shown;
	} table[] = {
		{ "\"command\":\"ls\",\"args\":[\"-l\",\"a b\",\"it's\"]",
			"command: ls -l 'a b' 'it'\\''s'\n" },
		{ "\"command\":\"ls\",\"args\":null,\"cwd\":null,\"env\":null", "command: ls\n" },
		{ "\"command\":\"sh\",\"args\":[\"-c\",\"a | b\"]", "command: a | b\n" },
		{ "\"command\":\"zsh\",\"args\":[\"-c\",\"a | b\"]", "command: zsh -c 'a | b'\n" },
		{ "\"command\":\"sh\",\"args\":[\"-c\",\"a\",\"b\"]", "command: sh -c a b\n" },
		{ "\"command\":\"a;b\"", "command: 'a;b'\n" },
		{ "\"command\":\"ls\",\"cwd\":\"@/sub\"", "command: ls\nrun in: sub\n" },
		{ "\"command\":\"ls\",\"cwd\":\"@\"", "command: ls\nfolder: " },
		{ "\"command\":\"ls\",\"env\":[{\"name\":\"PATH\",\"value\":\"/x y\"},{\"name\":"
		  "\"TERM\",\"value\":\"dumb\"}]",
			"command: export PATH='/x y'; ls\n" },
	};
	struct fix *f = *state;

	f->choice = APPROVAL_NO;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[800];

		(void)snprintf(script, sizeof(script), TURN(CALL("terminal/create", "%s")),
			table[i].params);
		with_services(f, &asking);
		run(f, script);
		if (!strstr(str_cstr(&f->seen), table[i].shown))
			fail_msg("%s: %s", table[i].params, str_cstr(&f->seen));
	}
}

static void one_consent_covers_the_command_in_the_folder_where_it_is(void **state)
{
	static const struct {
		const char *command;
		int questions;
	} table[] = { { "cd '@' && echo one", 1 }, { "echo one", 1 },
		{ "cd '@/..' && echo one", 2 }, { "cd '@' && cd '@' && echo one", 2 },
		{ "cd '@'; echo one", 2 } };
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[1000];

		(void)snprintf(script, sizeof(script),
			TURN(ASK(COMMAND("echo one")) "," BASH("%s")), table[i].command);
		with_services(f, &asking);
		run(f, script);
		assert_int_equal(table[i].questions, questions(f));
	}
}

static void a_create_that_is_none_is_refused(void **state)
{
	static const char *const table[] = {
		"\"args\":[]",
		"\"command\":\"\"",
		"\"command\":\"ls\",\"args\":[1]",
		"\"command\":\"ls\",\"args\":\"x\"",
		"\"command\":\"ls\",\"cwd\":\"sub\"",
		"\"command\":\"ls\",\"env\":[{\"name\":\"A=B\",\"value\":\"\"}]",
		"\"command\":\"ls\",\"env\":[{\"name\":\"A\"}]",
		"\"command\":\"ls\",\"env\":[\"A=B\"]",
		"\"command\":\"ls\",\"outputByteLimit\":-1",
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[800];

		(void)snprintf(script, sizeof(script), TURN(CALL("terminal/create", "%s")),
			table[i]);
		with_services(f, &asking);
		run(f, script);
		if (count(f, "\"error\":{\"code\":-32602") != 1 || questions(f) != 0)
			fail_msg("%s", table[i]);
	}
}

static void output_is_cut_from_the_front_on_a_character(void **state)
{
	static const struct {
		const char *limit, *output;
	} table[] = {
		{ "7", "\"output\":\"a\xe4\xbd\xa0\xe5\xa5\xbd\",\"truncated\":false" },
		{ "6", "\"output\":\"\xe4\xbd\xa0\xe5\xa5\xbd\",\"truncated\":true" },
		{ "5", "\"output\":\"\xe5\xa5\xbd\",\"truncated\":true" },
		{ "0", "\"output\":\"\",\"truncated\":true" },
		{ "null", "\"output\":\"a\xe4\xbd\xa0\xe5\xa5\xbd\",\"truncated\":false" },
	};
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[1200];

		(void)snprintf(script, sizeof(script),
			TURN(CALL("terminal/create",
				"\"command\":\"printf\",\"args\":[\"a\xe4\xbd\xa0\xe5\xa5\xbd\"],"
				"\"outputByteLimit\":%s") "," ON("wait_for_exit",
				"1") "," ON("output", "1")),
			table[i].limit);
		with_services(f, &asking);
		run(f, script);
		if (count(f, table[i].output) != 1)
			fail_msg("%s", table[i].limit);
	}
}

static void the_cap_on_output_keeps_the_newest(void **state)
{
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	with_services(f, &asking);
	run(f, TURN(CALL("terminal/create",
		       "\"command\":\"sh\",\"args\":[\"-c\",\"head -c 9000000 /dev/zero | tr '\\\\000' x; "
		       "echo the end\"],\"outputByteLimit\":99999999") "," ON("wait_for_exit",
		       "1") "," ON("output", "1")));
	assert_int_equal(1, count(f, "xthe end\\n\",\"truncated\":true"));
}

static void a_kill_and_a_release_still_tell_of_the_exit(void **state)
{
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	with_services(f, &asking);
	/* kill: the output stays; release: who waits is told */
	run(f, TURN(BASH("echo here; touch begun; sleep 1000") "," BASH(
		       "until test -e begun; do sleep 0.02; done") "," ON("wait_for_exit",
		       "2") "," ON("kill", "1") "," ON("wait_for_exit", "1") "," ON("output",
		       "1") "," ON("kill",
		       "1") "," BASH("sleep 1000") ","
						   "{\"ask_later\":{\"method\":\"terminal/wait_for_exit\",\"params\":{"
						   "\"sessionId\":\"$session\",\"terminalId\":\"term-3\"}}}," ON(
							   "release", "3") "," ON("wait_for_exit",
							   "3") "," ON("release",
							   "1") ",{\"sleep_ms\":1500}"));
	/* by TERM, or by KILL where that took too long */
	assert_int_equal(1, count(f, "\"id\":4,\"result\":{\"exitCode\":null,\"signal\":\"SIG"));
	assert_int_equal(1, count(f, "{\"output\":\"here\\n\",\"truncated\":false,"
				     "\"exitStatus\":{\"exitCode\":null,\"signal\":\"SIG"));
	assert_int_equal(1, count(f, "\"id\":6,\"result\":{}"));
	assert_int_equal(1, count(f, "\"id\":9,\"result\":{}"));
	assert_int_equal(1, count(f, "\"id\":10,\"error\":{\"code\":-32602"));
	assert_int_equal(1, count(f, "\"id\":8,\"result\":{\"exitCode\":null,\"signal\":\"SIG"));
}

static void there_are_so_many_terminals(void **state)
{
	struct str script = STR_INIT(1 << 16);
	struct fix *f = *state;

	(void)str_adds(&script, "{\"session/prompt\":[");
	for (int i = 0; i < 17; i++) /* TERMS_MAX and one more */
		(void)str_adds(&script, BASH("sleep 1000") ",");
	(void)str_adds(&script, ON("kill", "1") "," ON("wait_for_exit", "1") "," ON("release",
					"1") "," BASH("true") "," END "]}");
	f->choice = APPROVAL_CONVERSATION;
	with_services(f, &asking);
	run(f, str_cstr(&script));
	assert_int_equal(17, count(f, "\"result\":{\"terminalId\":\"term-"));
	assert_int_equal(1, count(f, "\"id\":16,\"error\":{\"code\":-32603"));
	assert_int_equal(1, count(f, "\"id\":20,\"result\":{\"terminalId\":\"term-17\"}"));
	str_release(&script);
}

/* Is there a process "sleep SECONDS"? */
static bool sleeps(const char *seconds)
{
	DIR *proc = opendir("/proc");
	bool found = false;

	assert_non_null(proc);
	for (const struct dirent *d; !found && (d = readdir(proc));) {
		struct str line = STR_INIT(1 << 20);
		char path[300];

		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", d->d_name);
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' &&
			file_read(path, 1 << 20, &line, NULL) == 0)
			found = line.n == 6 + strlen(seconds) + 1 && !strcmp(line.p, "sleep") &&
			        !strcmp(line.p + 6, seconds);
		str_release(&line);
	}
	(void)closedir(proc);
	return found;
}

static void await_sleep(struct fix *f, const char *seconds, bool there)
{
	for (int i = 0; i < 400 && sleeps(seconds) != there; i++)
		step(f);
	assert_int_equal(there, sleeps(seconds));
}

static void terminals_outlive_their_turn_but_not_their_session(void **state)
{
	struct str reply = STR_INIT(1000);
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	with_services(f, &asking);
	run(f, "{\"session/prompt\":[[" BASH("sleep 7001") "," TEXT(
		       "one") "," END "],[" ON("output", "1") "," TEXT("two") "," END "]]}");
	await_sleep(f, "7001", true);
	ask(f, "again");
	assert_int_equal(1, count(f, "\"output\":\"\",\"truncated\":false}"));
	assert_int_equal(0, f->engine->ops->command(f->engine, ENGINE_CMD_NEW, "user", VIEW_NONE,
				    "en", &reply, NULL));
	await_sleep(f, "7001", false);
	str_release(&reply);
}

static void terminals_end_when_another_session_is_opened(void **state)
{
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	with_services(f, &asking);
	run(f, "{\"initialize\":[{\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{"
	       "\"sessionCapabilities\":{\"list\":{},\"resume\":{}}}}}],\"session/list\":[{\"result\":{"
	       "\"sessions\":[{\"sessionId\":\"s1\",\"cwd\":\"@\"},{\"sessionId\":\"s2\",\"cwd\":\"@\"}]}}],"
	       "\"session/prompt\":[[" TEXT("one") "," END "],[" BASH("sleep 7005") "," TEXT(
		       "two") "," END "]]}");
	assert_int_equal(0, f->engine->ops->command(f->engine, ENGINE_CMD_NEW, "user", VIEW_NONE,
				    "en", &f->notices, NULL));
	ask(f, "again");
	await_sleep(f, "7005", true);
	ask(f, "/open s2"); /* where it is */
	assert_non_null(strstr(str_cstr(&f->text), "Back in this session"));
	assert_true(sleeps("7005"));
	ask(f, "/open s1");
	await_sleep(f, "7005", false);
}

static void a_stop_and_a_death_and_the_end_leave_no_terminal(void **state)
{
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	with_services(f, &asking);
	f->cancel_on_text = true;
	run(f, "{\"session/prompt\":[" BASH("sleep 7002") "," TEXT(
		       "one") ",{\"until\":\"session/cancel\"}," END "]}");
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	await_sleep(f, "7002", false);
	f->cancel_on_text = false;
	with_services(f, &asking);
	run(f, "{\"session/prompt\":[" BASH("sleep 7003") "," TEXT("one") ",{\"exit\":1}]}");
	assert_int_equal(ENGINE_FAIL_AGENT_ENDED, f->fail);
	await_sleep(f, "7003", false);
	with_services(f, &asking);
	run(f, TURN(BASH("sleep 7004")));
	await_sleep(f, "7004", true);
	f->engine->ops->close(&f->engine);
	tools_close(&f->tools);
	assert_false(sleeps("7004"));
	open_engine(f);
}

/* --- What was not asked for ------------------------------------------------------------------- */

#define UPDATE(fields) \
	"{\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"u\"," fields "}}"

static void what_is_done_unasked_is_flagged_and_strict_stops(void **state)
{
	static const char *const entries[] = { "ls -l", NULL };
	static const struct {
		const char *call;
		bool stops;
	} table[] = {
		{ UPDATE(COMMAND("rm x") ",\"status\":\"completed\""), true },
		{ UPDATE("\"kind\":\"execute\",\"title\":\"Bash\",\"status\":\"completed\""),
			true },
		{ UPDATE("\"kind\":\"delete\",\"status\":\"completed\""), true },
		{ UPDATE("\"kind\":\"edit\",\"rawInput\":{\"path\":\"@/a\",\"content\":\"x\"},"
			 "\"status\":\"completed\""),
			true },
		/* not yet done, or maybe not done at all */
		{ UPDATE(COMMAND("rm x") ",\"status\":\"in_progress\""), false },
		{ UPDATE(COMMAND("rm x") ",\"status\":\"failed\""), false },
		/* needs no yes */
		{ UPDATE("\"kind\":\"read\",\"rawInput\":{\"path\":\"@/a\"},\"status\":\"completed\""),
			false },
		{ UPDATE(COMMAND("ls -l") ",\"status\":\"completed\""), false },
		{ UPDATE("\"title\":\"TodoList\",\"status\":\"completed\""), false },
		/* asked for, whatever came of it */
		{ ASK(COMMAND("rm x")) ",{\"update\":{\"sessionUpdate\":\"tool_call_update\","
				       "\"toolCallId\":\"t\",\"status\":\"completed\"}}",
			false },
		/* done by us */
		{ BASH("true") "," UPDATE(COMMAND("true") ",\"status\":\"completed\""), false },
	};
	const struct policy_rules rules = { .shell = SHELL_ASK,
		.shell_allow = entries,
		.write = VERDICT_ASK };
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	for (size_t i = 0; i < 2 * sizeof(table) / sizeof(table[0]); i++) {
		char script[2000];
		bool strict = i % 2 == 1, stops = strict && table[i / 2].stops;

		(void)snprintf(script, sizeof(script),
			"{\"session/prompt\":[%s,{\"sleep_ms\":%d}," TEXT("done") "," END "]}",
			table[i / 2].call, stops ? 50 : 0);
		f->strict = strict;
		with_services(f, &rules);
		run(f, script);
		if (f->fail != (stops ? ENGINE_FAIL_UNASKED : ENGINE_OK) ||
			count(f, "session/cancel") != stops)
			fail_msg("%s: %d", script, (int)f->fail);
	}
}

/* --- Several at once -------------------------------------------------------------------------- */

static void two_permissions_at_once_are_both_answered(void **state)
{
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	with_policy(f, &asking);
	run(f, "{\"session/prompt\":["
	       "{\"ask_later\":{\"method\":\"session/request_permission\",\"params\":{\"sessionId\":"
	       "\"$session\",\"toolCall\":{\"toolCallId\":\"a\"," COMMAND(
		       "one") "},\"options\":[{"
			      "\"optionId\":\"yes\",\"kind\":\"allow_once\"}]}}},"
			      "{\"ask\":{\"method\":\"session/request_permission\",\"params\":{\"sessionId\":"
			      "\"$session\",\"toolCall\":{\"toolCallId\":\"b\"," COMMAND(
				      "two") "},\"options\":[{"
					     "\"optionId\":\"ja\",\"kind\":\"allow_once\"}]}}},{\"sleep_ms\":50}," TEXT(
						     "done") "," END "]}");
	assert_int_equal(2, questions(f));
	assert_int_equal(1, count(f, "\"id\":0,\"result\":{\"outcome\":{\"outcome\":\"selected\","
				     "\"optionId\":\"yes\"}}"));
	assert_int_equal(1, count(f, "\"id\":1,\"result\":{\"outcome\":{\"outcome\":\"selected\","
				     "\"optionId\":\"ja\"}}"));
}

/* --- Forms ------------------------------------------------------------------------------------ */

#define FORM(properties, required) \
	CALL("elicitation/create", \
		"\"mode\":\"form\",\"message\":\"Please choose\",\"requestedSchema\":{\"type\":" \
		"\"object\",\"properties\":{" properties "},\"required\":[" required "]}")
#define COLOUR \
	"\"q0\":{\"type\":\"string\",\"title\":\"Colour\",\"oneOf\":[{\"const\":\"r\",\"title\":" \
	"\"red\",\"description\":\"warm\"},{\"const\":\"b\",\"title\":\"blue\"}]}"
#define FRUIT \
	"\"q1\":{\"type\":\"array\",\"title\":\"Fruit\",\"minItems\":1,\"items\":{\"anyOf\":[{" \
	"\"const\":\"a\",\"title\":\"apple\"},{\"const\":\"p\",\"title\":\"pear\"},{\"const\":" \
	"\"l\",\"title\":\"plum\"}]}}"
#define SURE "\"q2\":{\"type\":\"boolean\",\"title\":\"Sure?\"}"
#define FREE "\"q3\":{\"type\":\"string\",\"title\":\"Say\"}"
#define AGE  "\"q4\":{\"type\":\"integer\"}"
#define ENUM "\"q5\":{\"type\":\"string\",\"enum\":[\"x\",\"y\"],\"description\":\"which\"}"

static void a_form_is_asked_question_by_question(void **state)
{
	static const struct {
		const char *form, *seen, *answer;
		int choices[4];
		size_t n;
	} table[] = {
		{ FORM(COLOUR "," FRUIT "," SURE, "\"q0\",\"q1\",\"q2\""),
			"{?Please choose\nColour|red (warm)|blue}{*Fruit|apple|pear|plum}"
			"{?Sure?|Yes|No}",
			"{\"action\":\"accept\",\"content\":{\"q0\":\"b\",\"q1\":[\"a\",\"l\"],"
			"\"q2\":false}}",
			{ 1, 5, 1 }, 3 },
		/* what need not be answered can be skipped */
		{ FORM(COLOUR "," FRUIT "," SURE, ""),
			"{?Please choose\nColour|red (warm)|blue|Skip}{*Fruit|apple|pear|plum|Skip}"
			"{?Sure?|Yes|No|Skip}",
			"{\"action\":\"accept\",\"content\":{\"q2\":true}}", { 2, 8, 0 }, 3 },
		{ FORM(ENUM, "\"q5\""), "{?Please choose\nq5\nwhich|x|y}",
			"{\"action\":\"accept\",\"content\":{\"q5\":\"x\"}}", { 0 }, 1 },
		/* free text and numbers: left out, or the whole is declined */
		{ FORM(FREE "," SURE "," AGE, "\"q2\""), "{?Please choose\nSure?|Yes|No}",
			"{\"action\":\"accept\",\"content\":{\"q2\":true}}", { 0 }, 1 },
		{ FORM(SURE "," FREE, "\"q2\",\"q3\""), "", "{\"action\":\"decline\"}", { 0 }, 0 },
		{ FORM(AGE, "\"q4\""), "", "{\"action\":\"decline\"}", { 0 }, 0 },
		/* nobody answers, and nothing could be shown */
		{ FORM(SURE "," ENUM, ""), "{?Please choose\nSure?|Yes|No|Skip}",
			"{\"action\":\"decline\"}", { ANSWER_NONE }, 1 },
		{ FORM(SURE, ""), "{?Please choose\nSure?|Yes|No|Skip}", "{\"action\":\"decline\"}",
			{ ANSWER_UNASKED }, 1 },
		/* a message alone is a yes or a no */
		{ FORM("", ""), "{?Please choose|Yes|No}", "{\"action\":\"accept\",\"content\":{}}",
			{ 0 }, 1 },
		{ FORM("", ""), "{?Please choose|Yes|No}", "{\"action\":\"decline\"}", { 1 }, 1 },
		{ CALL("elicitation/create",
			  "\"mode\":\"url\",\"url\":\"https://x/\",\"message\":\"\""),
			"", "{\"action\":\"decline\"}", { 0 }, 0 },
		{ CALL("elicitation/create", "\"mode\":\"form\",\"message\":7"), "",
			"\"error\":{\"code\":-32602", { 0 }, 0 },
		{ CALL("elicitation/create", "\"mode\":\"form\""), "", "\"error\":{\"code\":-32602",
			{ 0 }, 0 },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[2500];

		(void)snprintf(script, sizeof(script), TURN("%s"), table[i].form);
		with_policy(f, &denying);
		f->choices = table[i].choices;
		f->nchoices = table[i].n;
		run(f, script);
		assert_string_equal("done", str_cstr(&f->text));
		assert_string_equal(table[i].seen, str_cstr(&f->seen));
		if (count(f, table[i].answer) != 1)
			fail_msg("%s", table[i].form);
	}
	assert_int_equal(1, count(f, "\"elicitation\":{\"form\":{}}"));
}

static void so_many_must_be_chosen(void **state)
{
	static const char *const form =
		FORM("\"q\":{\"type\":\"array\",\"title\":\"Two\",\"minItems\":2,\"maxItems\":2,"
		     "\"items\":{\"enum\":[\"a\",\"b\",\"c\"]}}",
			"\"q\"");
	static const struct {
		int choices[3];
		size_t asked;
		const char *answer;
	} table[] = {
		{ { 3 }, 1, "{\"action\":\"accept\",\"content\":{\"q\":[\"a\",\"b\"]}}" },
		{ { 1, 7, 6 }, 3, "{\"action\":\"accept\",\"content\":{\"q\":[\"b\",\"c\"]}}" },
		{ { 1, 1, 1 }, 3, "{\"action\":\"decline\"}" },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[1000];

		(void)snprintf(script, sizeof(script), TURN("%s"), form);
		with_policy(f, &denying);
		f->choices = table[i].choices;
		f->nchoices = 3;
		run(f, script);
		f->nchoices = 0;
		assert_int_equal(table[i].asked, questions(f));
		assert_non_null(
			strstr(str_cstr(&f->seen), "{*Please choose\nTwo\n(choose 2 to 2)|a|b|c}"));
		assert_int_equal(1, count(f, table[i].answer));
	}
}

static void a_form_is_bounded(void **state)
{
	struct fix *f = *state;

	/* 20 choices can be shown and 21 cannot; ten questions are asked, and no more */
	for (int n = 20; n <= 21; n++) {
		struct str script = STR_INIT(1 << 16);

		(void)str_adds(&script,
			"{\"session/prompt\":[{\"ask\":{\"method\":\"elicitation/create\","
			"\"params\":{\"sessionId\":\"$session\",\"requestedSchema\":{"
			"\"properties\":{\"q\":{\"type\":\"string\",\"enum\":[\"0\"");
		for (int i = 1; i < n; i++)
			(void)str_addf(&script, ",\"%d\"", i);
		(void)str_adds(&script, "]}},\"required\":[\"q\"]}}}}," TEXT("done") "," END "]}");
		f->choice = 19;
		with_policy(f, &denying);
		run(f, str_cstr(&script));
		assert_int_equal(n == 20, count(f, "\"content\":{\"q\":\"19\"}"));
		assert_int_equal(n != 20, count(f, "{\"action\":\"decline\"}"));
		str_release(&script);
	}
	for (int n = 10; n <= 11; n++) {
		struct str script = STR_INIT(1 << 16);

		(void)str_adds(&script,
			"{\"session/prompt\":[{\"ask\":{\"method\":\"elicitation/create\","
			"\"params\":{\"sessionId\":\"$session\",\"requestedSchema\":{"
			"\"required\":[\"q10\"],\"properties\":{");
		for (int i = 0; i < n; i++)
			(void)str_addf(&script, "%s\"q%d\":{\"type\":\"boolean\"}", i ? "," : "",
				i);
		(void)str_adds(&script, "}}}}}," TEXT("done") "," END "]}");
		f->choice = 0;
		with_policy(f, &denying);
		run(f, str_cstr(&script));
		assert_int_equal(n == 10 ? 10 : 0, questions(f));
		str_release(&script);
	}
}

#define LATER(method, params) \
	"{\"ask_later\":{\"method\":\"" method "\",\"params\":{\"sessionId\":\"$session\"," params \
	"}}}"
#define BACK(id) \
	"{\"send\":{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":" id \
	"}}}"
#define MAY_I \
	LATER("session/request_permission", \
		"\"toolCall\":{\"toolCallId\":\"t\"," COMMAND( \
			"make") "},\"options\":[{\"optionId\":\"once\",\"name\":\"Once\",\"kind\":" \
				"\"allow_once\"}]")
#define CREATE LATER("terminal/create", "\"command\":\"/bin/true\"")

static void what_the_agent_takes_back_is_not_asked_any_more(void **state)
{
	static const struct {
		const char *steps, *answer;
	} table[] = {
		{ MAY_I "," BACK("0"),
			"\"id\":0,\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}" },
		{ CREATE "," BACK("0"), "\"id\":0,\"error\":{\"code\":-32800" },
		{ LATER("fs/write_text_file", "\"path\":\"@/x\",\"content\":\"y\"") "," BACK("0"),
			"\"id\":0,\"error\":{\"code\":-32800" },
		{ LATER("elicitation/create",
			  "\"requestedSchema\":{\"properties\":{" COLOUR "," SURE
			  "},\"required\":[\"q0\",\"q2\"]}") "," BACK("0"),
			"\"id\":0,\"result\":{\"action\":\"cancel\"}" },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[1000];

		(void)snprintf(script, sizeof(script),
			"{\"session/prompt\":[%s," TEXT("done") "," END "]}", table[i].steps);
		f->choice = NO_ANSWER;
		with_services(f, &asking);
		run(f, script);
		assert_int_equal(ENGINE_OK, f->fail);
		await(f, table[i].answer);
		assert_non_null(strstr(str_cstr(&f->seen), "}{withdrawn}"));
		/* and an answer comes too late */
		assert_int_equal(-1, f->engine->ops->answer(f->engine, f->asked, 0, NULL));
	}
}

static void only_what_is_open_can_be_taken_back(void **state)
{
	struct fix *f = *state;

	f->choice = APPROVAL_ONCE;
	with_services(f, &asking);
	run(f, TURN(BACK("0") "," BACK("null") "," BACK(
		       "{}") ","
			     "{\"send\":{\"method\":\"$/cancel_request\"}}," BASH(
				     "sleep 600") "," BACK("0") "," LATER("terminal/wait_for_exit",
				     "\"terminalId\":\"term-1\"") "," BACK("\"1\"") "," BACK("1") "," ON("kill",
				     "1") "," ON("wait_for_exit", "1")));
	assert_int_equal(ENGINE_OK, f->fail);
	assert_int_equal(1, count(f, "\"id\":1,\"error\":{\"code\":-32800"));
	await(f, "\"signal\":\"SIG"); /* the other wait is answered */
	assert_null(strstr(str_cstr(&f->seen), "{withdrawn}"));
}

/* With "Skip" there are as many as can be shown; one more, and the agent does without. */
static void a_question_that_may_be_skipped_has_one_choice_less(void **state)
{
	struct fix *f = *state;

	for (int n = 19; n <= 20; n++) {
		struct str script = STR_INIT(1 << 16);

		(void)str_adds(&script,
			"{\"session/prompt\":[{\"ask\":{\"method\":\"elicitation/create\","
			"\"params\":{\"sessionId\":\"$session\",\"requestedSchema\":{"
			"\"properties\":{" SURE ",\"q\":{\"type\":\"string\",\"enum\":[\"0\"");
		for (int i = 1; i < n; i++)
			(void)str_addf(&script, ",\"%d\"", i);
		(void)str_adds(&script, "]}},\"required\":[\"q2\"]}}}}," TEXT("done") "," END "]}");
		f->choices = (const int[]){ 0, 18 };
		f->nchoices = n == 19 ? 2 : 1;
		with_policy(f, &denying);
		run(f, str_cstr(&script));
		assert_int_equal(n == 19, strstr(str_cstr(&f->seen), "|18|Skip}") != NULL);
		assert_int_equal(1, count(f, n == 19 ? "\"content\":{\"q2\":true,\"q\":\"18\"}"
						     : "\"content\":{\"q2\":true}"));
		str_release(&script);
	}
}

static void a_stop_cancels_a_form_at_once(void **state)
{
	static const int choices[] = { 0, LEAVE_OPEN };
	struct fix *f = *state;

	with_policy(f, &denying);
	f->choices = choices;
	f->nchoices = 2;
	run(f, TURN(FORM(COLOUR "," SURE, "\"q0\",\"q2\"")));
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	assert_int_equal(1, count(f, "{\"action\":\"cancel\"}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(only_what_is_offered_is_done),
		T(files_are_read_to_the_byte),
		T(what_cannot_be_read_has_the_code_that_agents_rely_on),
		T(writes_are_judged_as_those_of_the_built_in_tools),
		T(a_write_beyond_the_workspace_is_refused),
		T(one_consent_covers_what_it_was_given_to_once),
		T(a_consent_to_a_part_covers_the_file_with_that_part_changed),
		T(services_are_for_the_turn_of_the_session),
		T(a_stop_answers_what_waits_at_once),
		T(a_terminal_runs_what_was_said_yes_to),
		T(a_command_that_policy_refuses_is_not_run),
		T(what_would_be_run_is_shown_exactly),
		T(one_consent_covers_the_command_in_the_folder_where_it_is),
		T(a_create_that_is_none_is_refused),
		T(output_is_cut_from_the_front_on_a_character),
		T(the_cap_on_output_keeps_the_newest),
		T(a_kill_and_a_release_still_tell_of_the_exit),
		T(there_are_so_many_terminals),
		T(terminals_outlive_their_turn_but_not_their_session),
		T(terminals_end_when_another_session_is_opened),
		T(a_stop_and_a_death_and_the_end_leave_no_terminal),
		T(what_is_done_unasked_is_flagged_and_strict_stops),
		T(two_permissions_at_once_are_both_answered),
		T(a_form_is_asked_question_by_question),
		T(so_many_must_be_chosen),
		T(a_form_is_bounded),
		T(what_the_agent_takes_back_is_not_asked_any_more),
		T(only_what_is_open_can_be_taken_back),
		T(a_question_that_may_be_skipped_has_one_choice_less),
		T(a_stop_cancels_a_form_at_once),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
