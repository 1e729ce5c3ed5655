#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/host/origin.h"
#include "tools/host/policy.h"
#include "tools/host/spec.h"

static void denies_what_has_no_row(void **state)
{
	static const char *const names[] = { "", "Shell", "read_file ", "read_fil", "read_file2",
		"*", "rm", "mc" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(policy_knows(names[i]));
		for (int o = 0; o < ORIGIN_COUNT; o++)
			assert_int_equal(VERDICT_DENY,
				policy_verdict(NULL, names[i], (enum origin)o));
	}
	assert_false(policy_knows(NULL));
	assert_int_equal(VERDICT_DENY, policy_verdict(NULL, NULL, ORIGIN_PHONE));
}

static void the_zero_value_denies(void **state)
{
	enum verdict none = (enum verdict)0;

	(void)state;
	assert_int_equal(VERDICT_DENY, none);
}

/* phone, terminal, API, schedule: D deny, A ask, Y allow. */
struct want {
	const char *tool, *verdicts;
};

static void expect(const struct policy *p, const struct want *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(policy_knows(cases[i].tool));
		for (int o = 0; o < ORIGIN_COUNT; o++) {
			char c = "DAY"[policy_verdict(p, cases[i].tool, (enum origin)o)];

			if (c != cases[i].verdicts[o])
				fail_msg("%s from the %s: %c", cases[i].tool,
					origin_name((enum origin)o), c);
		}
	}
}
#define EXPECT(p, cases) expect((p), (cases), sizeof(cases) / sizeof((cases)[0]))

static struct policy *open_rules(const struct policy_rules *rules)
{
	struct policy *p;
	struct err e = ERR_INIT;

	if (policy_open(&p, rules, &e) < 0)
		fail_msg("%s", e.msg);
	return p;
}

static void the_defaults(void **state)
{
	static const struct want cases[] = {
		{ "read_file", "YYYY" },
		{ "list_dir", "YYYY" },
		{ "glob", "YYYY" },
		{ "grep", "YYYY" },
		{ "todo", "YYYY" },
		{ "send_file", "YYYY" },
		{ "write_file", "YYYY" },
		{ "apply_patch", "YYYY" },
		{ "create_project", "YYYY" },
		{ "web_search", "YYYY" },
		{ "web_fetch", "AAAA" },
		{ "shell", "DADD" },
		{ "shell_session", "DADD" },
		{ "mcp", "DADD" },
		{ "mcp__files__read", "DADD" },
		{ "restore_snapshot", "DDDD" },
		{ "browser_session", "DDDD" },
	};
	struct policy *p = open_rules(&POLICY_RULES_DEFAULT);

	(void)state;
	EXPECT(NULL, cases);
	EXPECT(p, cases);
	for (int o = 0; o < ORIGIN_COUNT; o++) {
		assert_int_equal(EXCEPT_ADDRESS, policy_exception(p, "web_fetch", (enum origin)o));
		assert_int_equal(EXCEPT_NONE, policy_exception(p, "shell", (enum origin)o));
	}
	assert_false(policy_offers(p, "shell", ORIGIN_PHONE));
	assert_true(policy_offers(p, "shell", ORIGIN_TERMINAL));
	policy_free(&p);
	assert_null(p);
	policy_free(&p);
}

static void rules_of_zeros_deny_what_they_cover(void **state)
{
	static const struct want cases[] = {
		{ "read_file", "YYYY" },
		{ "write_file", "DYDD" },
		{ "apply_patch", "DYDD" },
		{ "create_project", "DYDD" },
		{ "web_search", "DYDD" },
		{ "web_fetch", "DADD" },
		{ "shell", "DADD" },
		{ "mcp__a__b", "DADD" },
	};
	struct policy_rules rules = { 0 };
	struct policy *p = open_rules(&rules);

	(void)state;
	EXPECT(p, cases);
	assert_int_equal(EXCEPT_NONE, policy_exception(p, "web_fetch", ORIGIN_PHONE));
	assert_false(policy_offers(p, "web_fetch", ORIGIN_PHONE));
	policy_free(&p);
}

static void each_rule_changes_its_own_cells(void **state)
{
	static const struct want cases[] = {
		{ "read_file", "YYYY" },
		{ "write_file", "AYAA" },
		{ "apply_patch", "AYAA" },
		{ "web_search", "AYAA" },
		{ "web_fetch", "AAAA" },
		{ "shell", "AAAA" },
		{ "shell_session", "AAAA" },
		{ "mcp__a__b", "DADD" },
		{ "restore_snapshot", "DDDD" },
	};
	static const struct want listed[] = {
		{ "shell", "DADD" },
		{ "shell_session", "DADD" },
	};
	struct policy_rules rules = { SHELL_ASK, NULL, VERDICT_ASK, VERDICT_ASK, NULL };
	struct policy *p = open_rules(&rules);

	(void)state;
	EXPECT(p, cases);
	/* Asked for whatever the user wrote. */
	assert_int_equal(EXCEPT_NONE, policy_exception(p, "web_fetch", ORIGIN_PHONE));
	assert_int_equal(EXCEPT_ENTRY, policy_exception(p, "shell", ORIGIN_PHONE));
	assert_int_equal(EXCEPT_NONE, policy_exception(p, "shell_session", ORIGIN_PHONE));
	policy_free(&p);

	rules.shell = SHELL_ALLOWLIST;
	p = open_rules(&rules);
	EXPECT(p, listed);
	assert_int_equal(EXCEPT_ENTRY, policy_exception(p, "shell", ORIGIN_PHONE));
	assert_true(policy_offers(p, "shell", ORIGIN_PHONE));
	assert_false(policy_offers(p, "shell_session", ORIGIN_PHONE));
	policy_free(&p);
}

static void overrides_hold_for_every_origin(void **state)
{
	static const char *const tools[] = { "write_file=deny", "web_fetch=allow", "shell=ask",
		"read_file=ask", "files.read=allow", "files.*=ask", "git.*=deny", "git.log=allow",
		"restore_snapshot=deny", NULL };
	static const struct want cases[] = {
		{ "write_file", "DDDD" },
		{ "apply_patch", "YYYY" },
		{ "web_fetch", "YYYY" },
		{ "shell", "AAAA" },
		{ "shell_session", "DADD" },
		{ "read_file", "AAAA" },
		{ "mcp__files__read", "YYYY" },
		{ "mcp__files__read2", "AAAA" },
		{ "mcp__files__write", "AAAA" },
		{ "mcp__git__log", "YYYY" }, /* the exact name, wherever it stands */
		{ "mcp__git__push", "DDDD" },
		{ "mcp__other__read", "DADD" },
		{ "mcp__file", "DADD" },
		{ "restore_snapshot", "DDDD" },
	};
	struct policy_rules rules = POLICY_RULES_DEFAULT;
	struct policy *p;

	(void)state;
	rules.tools = tools;
	p = open_rules(&rules);
	EXPECT(p, cases);
	assert_int_equal(VERDICT_DENY, policy_verdict(p, "web_fetch", ORIGIN_COUNT));
	/* What is named has no exception. */
	assert_int_equal(EXCEPT_NONE, policy_exception(p, "web_fetch", ORIGIN_PHONE));
	policy_free(&p);
}

static void entries_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *command, *tool, *why;
	} cases[] = {
		{ "", NULL, "entry 1 of policy.shell_allow, \"\": it is empty" },
		{ "ls; id", NULL,
			"entry 1 of policy.shell_allow, \"ls; id\": \";\" at character 3" },
		{ "npm test && npm run x", NULL, "\"&\"" },
		{ "git *", NULL, "\"*\"" },
		{ "echo $HOME", NULL, "\"$\"" },
		{ "A=1 make", NULL, "\"=\"" },
		{ "ls\nid", NULL, "\"ls\\nid\": the line break" },
		{ "[network]", NULL, "\"[\"" },
		{ "[network] ", NULL, "empty" },
		{ "[network] a | b", NULL, "\"|\"" },
		{ "[Network] a", NULL, "\"[\"" },
		{ NULL, "write_file", "expected NAME=deny, NAME=ask or NAME=allow" },
		{ NULL, "write_file=yes", "expected NAME=" },
		{ NULL, "write_file=Allow", "expected NAME=" },
		{ NULL, "write_file= allow", "expected NAME=" },
		{ NULL, "", "expected NAME=" },
		{ NULL, "=ask", "none of a tool" },
		{ NULL, "write file=ask", "none of a tool" },
		{ NULL, "mcp*=allow", "none of a tool" },
		{ NULL, "*=allow", "none of a tool" },
		{ NULL, "writefile=ask", "did you mean write_file?" },
		{ NULL, "Shell=ask", "did you mean shell?" },
		{ NULL, "web_serch=ask", "did you mean web_search?" },
		{ NULL, "mcp=allow", "there is no tool \"mcp\"" },
		{ NULL, "restore_snapshot=allow", "no setting allows restore_snapshot" },
		{ NULL, "restore_snapshot=ask", "no setting allows restore_snapshot" },
		{ NULL, "browser_session=allow", "no setting allows browser_session" },
		{ NULL, "shell=allow", "policy.shell_allow" },
		{ NULL, "shell_session=allow", "at most asked for" },
		{ NULL, ".read=ask", "SERVER.TOOL" },
		{ NULL, "files.=ask", "SERVER.TOOL" },
		{ NULL, "a.b.c=ask", "SERVER.TOOL" },
		{ NULL, "a__b.c=ask", "SERVER.TOOL" },
		{ NULL, "*.*=allow", "SERVER.TOOL" },
		{ NULL, "files.re*=allow", "SERVER.TOOL" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const commands[] = { cases[i].command, NULL };
		const char *const tools[] = { cases[i].tool, NULL };
		const struct policy_rules rules = { .shell_allow = commands, .tools = tools };
		struct policy *p;
		struct err e = ERR_INIT;

		if (policy_open(&p, &rules, &e) == 0)
			fail_msg("taken: %s%s", cases[i].command ? cases[i].command : "",
				cases[i].tool ? cases[i].tool : "");
		assert_null(p);
		assert_int_equal(E_FORMAT, e.code);
		if (!strstr(e.msg, cases[i].why))
			fail_msg("%s", e.msg);
	}
}

static void nothing_stands_twice(void **state)
{
	static const char *const commands[] = { "ls", "[network] 'ls'", NULL };
	static const char *const tools[] = { "grep=ask", "grep=deny", NULL };
	struct policy_rules rules = { .shell_allow = commands };
	struct policy *p;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(-1, policy_open(&p, &rules, &e));
	assert_non_null(strstr(e.msg, "entry 2") && strstr(e.msg, "twice") ? e.msg : NULL);
	rules.shell_allow = NULL;
	rules.tools = tools;
	assert_int_equal(-1, policy_open(&p, &rules, &e));
	assert_non_null(strstr(e.msg, "twice"));
}

static void a_command_is_an_entry_word_for_word(void **state)
{
	static const char *const entries[] = { "npm test", "git commit -m 'a b'",
		"[network] git fetch origin", "[network]  npm  ci", NULL };
	static const struct {
		const char *command;
		bool listed, network;
	} cases[] = {
		{ "npm test", true, false },
		{ " npm  'test' ", true, false },
		{ "git commit -m \"a b\"", true, false },
		{ "git fetch origin", true, true },
		{ "npm ci", true, true },
		{ "npm", false, false },
		{ "npm test -- --x", false, false },
		{ "npm test ''", false, false },
		{ "git commit -m a b", false, false },
		{ "git -c alias.x=y fetch origin", false, false },
		{ "env npm test", false, false },
		{ "xargs npm test", false, false },
		{ "find . -exec npm test", false, false },
		{ "NPM TEST", false, false },
	};
	struct policy_rules rules = { .shell = SHELL_ALLOWLIST, .shell_allow = entries };
	struct policy *p = open_rules(&rules);
	struct str list = STR_INIT(1000);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct argv a;
		bool network = false;

		assert_int_equal(0, argv_parse(&a, view_of(cases[i].command), NULL));
		if (policy_has_command(p, &a, &network) != cases[i].listed)
			fail_msg("%s", cases[i].command);
		assert_int_equal(cases[i].network, network);
		assert_false(policy_has_command(NULL, &a, &network));
		argv_release(&a);
	}
	policy_list_commands(p, &list);
	assert_non_null(strstr(str_cstr(&list), "\"npm test\", \"git commit -m 'a b'\""));
	str_release(&list);
	policy_free(&p);
}

/* What other programs of the kind let through. */
static void nothing_rides_on_an_entry(void **state)
{
	static const char *const entries[] = { "echo ok", "echo x", "git status", "find .", "make",
		NULL };
	static const char *const commands[] = { "echo ok && touch x", "echo ok; touch x",
		"echo ok | touch x", "echo ok || touch x", "echo ok & touch x", "echo ok\ntouch x",
		"echo x > run.sh", "echo x >> run.sh", "echo x>run.sh", "echo x | tee run.sh",
		"tee run.sh", "git -c alias.x=!touch x", "git -c alias.x='!touch x' status",
		"git -c core.pager='touch x' status", "git status --output=x",
		"find . -exec touch x", "find . -exec touch x \\;", "find . -delete", "env make",
		"env A=1 make", "A=1 make", "xargs make", "make -f evil", "sh -c make",
		"nohup make", "$(make)", "`make`", "make <(id)", "make \"$(id)\"", "./make",
		"make ''", "MAKE" };
	struct policy_rules rules = { .shell = SHELL_ALLOWLIST, .shell_allow = entries };
	struct policy *p = open_rules(&rules);

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct argv a;
		bool network;

		if (argv_parse(&a, view_of(commands[i]), NULL) < 0)
			continue;
		if (policy_has_command(p, &a, &network))
			fail_msg("%s", commands[i]);
		argv_release(&a);
	}
	policy_free(&p);
}

static void a_refusal_says_what_the_operator_can_do(void **state)
{
	static const char *const tools[] = { "grep=deny", "web_search=deny", "files.*=deny", NULL };
	static const struct {
		const char *tool, *setting, *says;
	} cases[] = {
		{ "shell", "policy.shell", "policy.shell_allow = [\"git status\"]" },
		{ "shell", "policy.shell", "policy.shell = \"ask\"" },
		{ "shell_session", "policy.shell", "policy.shell = \"ask\"" },
		{ "write_file", "policy.write", "policy.write = \"ask\"" },
		{ "web_fetch", "policy.web", "policy.web = \"ask\"" },
		{ "web_search", "policy.tools", "policy.tools = [\"web_search=ask\"]" },
		{ "grep", "policy.tools", "policy.tools = [\"grep=ask\"]" },
		{ "mcp__files__read", "policy.tools", "policy.tools = [\"files.read=ask\"]" },
		{ "mcp", "policy.tools", "policy.tools = [\"SERVER.TOOL=ask\"]" },
		{ "restore_snapshot", NULL, "No setting allows it" },
		{ "browser_session", NULL, "No setting allows it" },
	};
	struct policy_rules rules = { .tools = tools };
	struct policy *p = open_rules(&rules);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str why = STR_INIT(2000);
		const char *setting = policy_setting(p, cases[i].tool);

		policy_say_denied(p, cases[i].tool, ORIGIN_PHONE, &why);
		assert_true(view_starts(str_view(&why), view_of(cases[i].tool)));
		if (!strstr(str_cstr(&why), cases[i].says) ||
			!strstr(str_cstr(&why), "requests from the phone"))
			fail_msg("%s", str_cstr(&why));
		if (cases[i].setting)
			assert_string_equal(cases[i].setting, setting);
		else
			assert_null(setting);
		str_release(&why);
	}
	policy_free(&p);
}

static void add_line(void *arg, const char *line)
{
	assert_int_equal(0, str_addf(arg, "%s\n", line));
}

static void add_risk(void *arg, enum policy_risk risk, const char *entry)
{
	assert_int_equal(0, str_addf(arg, "%d %s\n", (int)risk, entry));
}

static void what_stands_wide_open_is_warned_of(void **state)
{
	static const char *const tools[] = { "web_fetch=allow", "files.*=allow", "git.log=allow",
		"web_search=ask", NULL };
	static const char *const commands[] = { "make", "[network] npm ci", NULL };
	struct policy_rules rules = { .tools = tools, .shell_allow = commands };
	struct policy *p = open_rules(&rules);
	struct str out = STR_INIT(2000), want = STR_INIT(2000);

	(void)state;
	policy_risks(NULL, add_risk, &out);
	assert_int_equal(0, out.n);
	policy_risks(p, add_risk, &out);
	(void)str_addf(&want, "%d web_fetch\n%d files.*\n%d npm ci\n", (int)RISK_FETCH,
		(int)RISK_SERVER, (int)RISK_NETWORK);
	assert_string_equal(str_cstr(&want), str_cstr(&out));
	str_release(&want);
	str_reset(&out);
	policy_list_tools(p, &out);
	assert_string_equal("web_fetch=allow, files.*=allow, git.log=allow, web_search=ask",
		str_cstr(&out));
	str_release(&out);
	policy_free(&p);
}

static void programs_that_are_missing_are_warned_of(void **state)
{
	static const char *const commands[] = { "sh", "cd x", "./tool", "/bin/sh x", NULL };
	struct policy_rules rules = { .shell_allow = commands };
	struct policy *p = open_rules(&rules);
	struct str out = STR_INIT(2000);

	(void)state;
	policy_warn_programs(NULL, "/nonexistent", add_line, &out);
	assert_int_equal(0, out.n);
	policy_warn_programs(p, "/nonexistent", add_line, &out);
	assert_string_equal(
		"an entry of policy.shell_allow cannot run: there is no program cd on this machine\n"
		"an entry of policy.shell_allow cannot run: ./tool lies in the workspace; only programs "
		"of the system may be named\n",
		str_cstr(&out));
	str_release(&out);
	policy_free(&p);
}

static void every_built_in_tool_has_a_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < spec_count(); i++)
		if (!policy_knows(spec_at(i)->name))
			fail_msg("%s", spec_at(i)->name);
}

static void kinds_have_one_answer(void **state)
{
	static const char *const tools[] = { "shell=deny", "read_file=deny", NULL };
	struct policy_rules rules = { .shell = SHELL_ASK, .write = VERDICT_ASK, .tools = tools };
	struct policy *p = open_rules(&rules);

	(void)state;
	assert_int_equal(VERDICT_ALLOW, policy_kind_verdict(p, KIND_READ, ORIGIN_PHONE));
	assert_int_equal(VERDICT_ASK, policy_kind_verdict(p, KIND_WRITE, ORIGIN_PHONE));
	assert_int_equal(VERDICT_DENY, policy_kind_verdict(p, KIND_SEARCH, ORIGIN_PHONE));
	assert_int_equal(VERDICT_ASK, policy_kind_verdict(p, KIND_SHELL, ORIGIN_PHONE));
	assert_int_equal(EXCEPT_ENTRY, policy_kind_exception(p, KIND_SHELL));
	assert_int_equal(EXCEPT_ADDRESS, policy_kind_exception(NULL, KIND_FETCH));
	assert_int_equal(VERDICT_DENY, policy_kind_verdict(p, KIND_FIXED, ORIGIN_TERMINAL));
	assert_int_equal(VERDICT_DENY, policy_kind_verdict(p, KIND_COUNT, ORIGIN_PHONE));
	assert_int_equal(VERDICT_DENY, policy_kind_verdict(p, KIND_READ, ORIGIN_COUNT));
	policy_free(&p);
}

static void denies_an_origin_out_of_range(void **state)
{
	(void)state;
	assert_int_equal(VERDICT_DENY, policy_verdict(NULL, "read_file", ORIGIN_COUNT));
	assert_int_equal(VERDICT_DENY, policy_verdict(NULL, "read_file", (enum origin)99));
	assert_string_equal("unknown", origin_name(ORIGIN_COUNT));
}

static void names(void **state)
{
	(void)state;
	assert_string_equal("phone", origin_name(ORIGIN_PHONE));
	assert_string_equal("terminal", origin_name(ORIGIN_TERMINAL));
	assert_string_equal("api", origin_name(ORIGIN_API));
	assert_string_equal("schedule", origin_name(ORIGIN_SCHEDULE));
	assert_string_equal("deny", verdict_name(VERDICT_DENY));
	assert_string_equal("ask", verdict_name(VERDICT_ASK));
	assert_string_equal("allow", verdict_name(VERDICT_ALLOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denies_what_has_no_row),
		cmocka_unit_test(the_zero_value_denies),
		cmocka_unit_test(the_defaults),
		cmocka_unit_test(rules_of_zeros_deny_what_they_cover),
		cmocka_unit_test(each_rule_changes_its_own_cells),
		cmocka_unit_test(overrides_hold_for_every_origin),
		cmocka_unit_test(entries_that_cannot_be_are_refused),
		cmocka_unit_test(nothing_stands_twice),
		cmocka_unit_test(a_command_is_an_entry_word_for_word),
		cmocka_unit_test(nothing_rides_on_an_entry),
		cmocka_unit_test(a_refusal_says_what_the_operator_can_do),
		cmocka_unit_test(what_stands_wide_open_is_warned_of),
		cmocka_unit_test(programs_that_are_missing_are_warned_of),
		cmocka_unit_test(every_built_in_tool_has_a_row),
		cmocka_unit_test(kinds_have_one_answer),
		cmocka_unit_test(denies_an_origin_out_of_range),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
