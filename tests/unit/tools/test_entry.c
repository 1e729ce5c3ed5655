/* Commands of policy.shell_allow: which calls they allow, and that those run without a shell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "rig.h"

static const char *const entries[] = { "printf '%s|' a 'b c' '$HOME' '*'", "git status",
	"cat /proc/self/cmdline", "./tool", "no-such-program-here", NULL };

static void rule(enum shell_rule shell)
{
	struct policy_rules rules = POLICY_RULES_DEFAULT;
	struct policy *old = rig.policy;
	struct err e = ERR_INIT;

	rules.shell = shell;
	rules.shell_allow = entries;
	if (policy_open(&rig.policy, &rules, &e) < 0)
		fail_msg("%s", e.msg);
	tools_set_policy(rig.tools, rig.policy);
	policy_free(&old);
}

static int setup(void **state)
{
	struct tools_env env;
	char tool[128];
	struct err e = ERR_INIT;

	(void)state;
	rig_make(NULL);
	(void)snprintf(tool, sizeof(tool), "%s/tool", rig.ws);
	assert_int_equal(0, file_replace(tool, 0755, VIEW("#!/bin/sh\necho mine\n"), &e));
	env = rig_env();
	assert_int_equal(0, tools_open(&rig.tools, &env, &e));
	rule(SHELL_ALLOWLIST);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rig_remove();
}

/* {"command":"..."} */
static struct str args_of(const char *command)
{
	struct str s = STR_INIT(4096);
	struct json_out w;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_z(&w, "command", command);
	json_close(&w);
	assert_int_equal(0, json_out_end(&w, NULL));
	return s;
}

static enum verdict verdict(const char *tool, const char *command, enum origin origin)
{
	struct str args = args_of(command);
	struct tool_call c = { .turn = 1, .origin = origin, .id = "c", .name = tool };
	enum verdict v;

	c.args = str_view(&args);
	str_reset(&rig.text);
	v = tools_verdict(rig.tools, &c, &rig.text);
	str_release(&args);
	return v;
}

/* Without any consent. */
static void run(const char *command)
{
	struct str args = args_of(command);
	struct tool_call c = { .turn = 1, .origin = ORIGIN_PHONE, .id = "c", .name = "shell" };
	struct tool_run *r;
	struct err e = ERR_INIT;

	rig.done = 0;
	c.args = str_view(&args);
	if (tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e) < 0)
		fail_msg("%s: %s", command, e.msg);
	rig_wait();
	str_release(&args);
}

/* What rides on an entry, and what only looks like one. */
static const char *const others[] = { "git", "git status -s", "git status ''", "git  'status '",
	"git status; id", "git status && id", "git status | id", "git status || id", "git status &",
	"git status\nid", "git status > x", "git status >> x", "git status < x", "git status $(id)",
	"git status `id`", "git status #", "git 'status", "\"git status\"", "env git status",
	"xargs git status", "find . -exec git status", "git -c alias.status=!id status",
	"A=1 git status", "sh -c 'git status'", "nohup git status", "/usr/bin/git status",
	"./git status", "printf '%s|' a b c '$HOME' '*'", "printf '%s|' a 'b c' $HOME '*'",
	"printf '%s|' a 'b c' '$HOME' *", "" };

static void nothing_rides_on_an_entry(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		rule(SHELL_ALLOWLIST);
		if (verdict("shell", others[i], ORIGIN_PHONE) != VERDICT_DENY)
			fail_msg("allowlist: %s", others[i]);
		if (others[i][0] && !says("Allowed are, word for word: "))
			fail_msg("%s: %s", others[i], str_cstr(&rig.text));
		rule(SHELL_ASK);
		if (others[i][0] && verdict("shell", others[i], ORIGIN_PHONE) != VERDICT_ASK)
			fail_msg("ask: %s", others[i]);
		rule(SHELL_DENY);
		if (verdict("shell", others[i], ORIGIN_PHONE) != VERDICT_DENY)
			fail_msg("deny: %s", others[i]);
	}
	rule(SHELL_ALLOWLIST);
	assert_int_equal(VERDICT_DENY, verdict("shell", "git status; id", ORIGIN_PHONE));
	assert_true(says("\";\" at character 11 needs a shell, so that no entry can allow it"));
	assert_true(says("policy.shell_allow in config.toml"));
}

static void an_entry_is_allowed_however_it_is_quoted(void **state)
{
	static const char *const same[] = { "git status", "  git\tstatus ", "'git' \"status\"",
		"g\\it stat'us'" };

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		bool there = access("/usr/bin/git", X_OK) == 0;

		rule(SHELL_ALLOWLIST);
		for (int o = 0; o < ORIGIN_COUNT; o++)
			assert_int_equal(there                  ? VERDICT_ALLOW
					 : o == ORIGIN_TERMINAL ? VERDICT_ASK
								: VERDICT_DENY,
				verdict("shell", same[i], (enum origin)o));
		rule(SHELL_DENY);
		assert_int_equal(VERDICT_DENY, verdict("shell", same[i], ORIGIN_PHONE));
		assert_int_equal(VERDICT_ASK, verdict("shell", same[i], ORIGIN_TERMINAL));
	}
}

static void a_session_is_never_listed(void **state)
{
	(void)state;
	assert_int_equal(VERDICT_DENY, verdict("shell_session", "git status", ORIGIN_PHONE));
	assert_true(says("policy.shell = \"ask\"") && !says("shell_allow"));
	rule(SHELL_ASK);
	assert_int_equal(VERDICT_ASK, verdict("shell_session", "git status", ORIGIN_PHONE));
}

static void programs_of_the_workspace_are_refused(void **state)
{
	(void)state;
	assert_int_equal(VERDICT_DENY, verdict("shell", "./tool", ORIGIN_PHONE));
	assert_true(says("cannot be run: ./tool lies in the workspace"));
	assert_int_equal(VERDICT_DENY, verdict("shell", "no-such-program-here", ORIGIN_PHONE));
	assert_true(says("there is no program no-such-program-here on this machine"));
	/* They can be asked for, as anything else. */
	rule(SHELL_ASK);
	assert_int_equal(VERDICT_ASK, verdict("shell", "./tool", ORIGIN_PHONE));
}

static void an_entry_runs_without_a_shell(void **state)
{
	(void)state;
	run("printf '%s|' a 'b c' '$HOME' '*'");
	if (!rig.ok || !says("a|b c|$HOME|*|"))
		fail_msg("%s", str_cstr(&rig.text));
	run("cat /proc/self/cmdline");
	if (!rig.ok || !says("cat/proc/self/cmdline"))
		fail_msg("%s", str_cstr(&rig.text));
}

static void what_is_not_consented_to_does_not_start(void **state)
{
	struct str args = args_of("git status; id");
	struct tool_call c = { .turn = 1, .origin = ORIGIN_PHONE, .id = "c", .name = "shell" };
	char hex[TOOL_FINGERPRINT];
	struct tool_run *r;
	struct err e = ERR_INIT;

	(void)state;
	c.args = str_view(&args);
	assert_int_equal(0, tools_fingerprint(rig.tools, &c, hex, &e));
	c.consent = hex; /* no consent lifts a denial */
	assert_int_equal(-1, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
	assert_int_equal(E_DENIED, e.code);
	rule(SHELL_ASK);
	c.consent = NULL;
	assert_int_equal(-1, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_null(r);
	str_release(&args);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_rides_on_an_entry),
		T(an_entry_is_allowed_however_it_is_quoted),
		T(a_session_is_never_listed),
		T(programs_of_the_workspace_are_refused),
		T(an_entry_runs_without_a_shell),
		T(what_is_not_consented_to_does_not_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
