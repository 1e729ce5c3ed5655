/* Terminals and exact reads: the real kairo-tool, behind its fence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "tools/host/terminal.h"
#include "rig.h"

static struct {
	struct terminal *terminal;
	int exits, code, signal;
} fix;

static int setup(void **state)
{
	const char *const allow[] = { "printf 'a b'", NULL };
	struct policy_rules rules = POLICY_RULES_DEFAULT;
	char audit[128];

	(void)state;
	memset(&fix, 0, sizeof(fix));
	rig_make(NULL);
	(void)snprintf(audit, sizeof(audit), "%s/audit", rig.home);
	assert_int_equal(0, audit_open(&rig.audit, audit, NULL, NULL));
	rules.shell = SHELL_ASK;
	rules.shell_allow = allow;
	rig_open(&rules);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	terminal_free(&fix.terminal);
	return rig_remove();
}

static void on_output(void *arg, struct view text)
{
	(void)arg;
	assert_true(utf8_valid(text));
	assert_null(memchr(text.p, '\0', text.n));
	assert_int_equal(0, str_add(&rig.text, text));
}

static void take_exit(void *arg, int code, int signal)
{
	(void)arg;
	fix.exits++;
	fix.code = code;
	fix.signal = signal;
}

static int start_with(const char *args, bool consent, const char *shell, const char *const *env,
	struct terminal **out, struct err *e)
{
	struct tool_call c = { .turn = 1, .origin = ORIGIN_PHONE, .id = "c1", .name = "shell" };
	char hex[TOOL_FINGERPRINT];
	struct terminal_plan plan = { .call = &c, .shell = shell, .env = env };

	c.args = view_of(args);
	if (consent) {
		assert_int_equal(0, tools_fingerprint(rig.tools, &c, hex, NULL));
		c.consent = hex;
	}
	plan.on_output = on_output;
	plan.on_exit = take_exit;
	return terminal_start(out, rig.tools, &plan, e);
}

static void start(const char *args)
{
	struct err e = ERR_INIT;

	str_reset(&rig.text);
	fix.exits = 0;
	if (start_with(args, true, NULL, NULL, &fix.terminal, &e) < 0)
		fail_msg("%s: %s", args, e.msg);
}

static void step(void)
{
	assert_int_equal(0, loop_step(rig.loop, 20000, NULL));
}

static void run(const char *args)
{
	start(args);
	while (fix.exits == 0)
		step();
	terminal_free(&fix.terminal);
}

/* --- Terminals -------------------------------------------------------------------------------- */

static void a_command_says_what_it_says_in_order(void **state)
{
	char sub[128];

	(void)state;
	run("{\"command\":\"echo one; echo two >&2; echo three; exit 3\"}");
	assert_string_equal("one\ntwo\nthree\n", str_cstr(&rig.text));
	assert_int_equal(1, fix.exits);
	assert_int_equal(3, fix.code);
	run("{\"command\":\"kill -TERM $$\"}");
	assert_int_equal(-1, fix.code);
	assert_int_equal(SIGTERM, fix.signal);
	(void)snprintf(sub, sizeof(sub), "%s/sub", rig.ws);
	assert_int_equal(0, mkdir(sub, 0755));
	run("{\"command\":\"pwd\",\"cwd\":\"sub\"}");
	assert_non_null(strstr(str_cstr(&rig.text), "/ws/sub\n"));
}

static void its_bytes_become_whole_characters(void **state)
{
	(void)state;
	/* U+4F60 in three writes, an invalid byte, a NUL, a character that stays unfinished */
	run("{\"command\":\"printf '\\\\344'; sleep 0.05; printf '\\\\275'; sleep 0.05; "
	    "printf '\\\\240|\\\\377|\\\\000|\\\\344\\\\275'\"}");
	assert_string_equal("\xe4\xbd\xa0|\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd",
		str_cstr(&rig.text));
}

static void much_output_is_all_there(void **state)
{
	(void)state;
	run("{\"command\":\"head -c 3000000 /dev/zero | tr '\\\\000' x\"}");
	assert_int_equal(3000000, rig.text.n);
	assert_int_equal(0, fix.code);
}

static void a_kill_ends_all_of_it(void **state)
{
	(void)state;
	start("{\"command\":\"echo here; sleep 1000 & sleep 1000\"}");
	while (rig.text.n == 0)
		step();
	terminal_kill(fix.terminal);
	terminal_kill(fix.terminal);
	while (fix.exits == 0)
		step();
	assert_int_equal(-1, fix.code);
	assert_string_equal("here\n", str_cstr(&rig.text));
	terminal_kill(fix.terminal); /* over: nothing */
	/* released while it runs: nobody is told */
	terminal_free(&fix.terminal);
	start("{\"command\":\"sleep 1000\"}");
	terminal_free(&fix.terminal);
	for (int i = 0; i < 100; i++)
		assert_int_equal(0, loop_step(rig.loop, 10, NULL));
	assert_int_equal(0, fix.exits);
}

static void policy_and_consent_hold_for_terminals(void **state)
{
	struct terminal *t;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(-1, start_with("{\"command\":\"id\"}", false, NULL, NULL, &t, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_null(t);
	/* an entry is run as its vector, whoever would have read the command */
	assert_int_equal(0, start_with("{\"command\":\"printf 'a b'\"}", false, "/nonexistent",
				    NULL, &fix.terminal, &e));
	while (fix.exits == 0)
		step();
	assert_string_equal("a b", str_cstr(&rig.text));
}

static void variables_and_the_shell_are_taken(void **state)
{
	const char *const env[] = { "TERM=xterm", "NO_COLOR=1", NULL };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(0, start_with("{\"command\":\"a=(x y); echo ${a[1]} $TERM $NO_COLOR\"}",
				    true, "/bin/bash", env, &fix.terminal, &e));
	while (fix.exits == 0)
		step();
	assert_string_equal("y xterm 1\n", str_cstr(&rig.text));
}

static void one_that_cannot_be_run_is_told(void **state)
{
	(void)state;
	run("{\"command\":\"true\",\"cwd\":\"nowhere\"}");
	assert_int_equal(126, fix.code);
	assert_non_null(strstr(str_cstr(&rig.text), "nowhere"));
}

static void so_many_terminals_and_no_more(void **state)
{
	struct terminal *all[TERMINALS_MAX], *over;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < TERMINALS_MAX; i++)
		assert_int_equal(0,
			start_with("{\"command\":\"sleep 1000\"}", true, NULL, NULL, &all[i], &e));
	assert_int_equal(-1, start_with("{\"command\":\"id\"}", true, NULL, NULL, &over, &e));
	assert_int_equal(E_FULL, e.code);
	for (int i = 0; i < TERMINALS_MAX; i++)
		terminal_free(&all[i]);
}

/* --- Exact reads ------------------------------------------------------------------------------ */

static void make(const char *name, struct view content)
{
	char full[PATH_SIZE];

	(void)snprintf(full, sizeof(full), "%s/%s", rig.ws, name);
	assert_int_equal(0, file_replace(full, 0644, content, NULL));
}

static void read_exact(const char *args)
{
	struct tool_call c = { .turn = 1, .origin = ORIGIN_PHONE, .id = "c", .name = "read_file" };
	struct tool_run *r;

	c.args = view_of(args);
	c.exact = true;
	rig.done = 0;
	assert_int_equal(0, tools_start(&r, rig.tools, &c, rig_on_done, NULL, NULL));
	while (rig.done == 0)
		step();
}

static void what_a_file_holds_comes_to_the_byte(void **state)
{
	static const char text[] = "Error: \x1b[31mno\r\nerror\n\ttwo\nlast";
	static const struct {
		const char *args, *want;
	} table[] = {
		{ "{\"path\":\"f\"}", text },
		{ "{\"path\":\"f\",\"offset\":2}", "error\n\ttwo\nlast" },
		{ "{\"path\":\"f\",\"offset\":2,\"limit\":2}", "error\n\ttwo\n" },
		{ "{\"path\":\"f\",\"offset\":4}", "last" },
		{ "{\"path\":\"f\",\"offset\":5}", "" },
		{ "{\"path\":\"f\",\"limit\":1}", "Error: \x1b[31mno\r\n" },
		{ "{\"path\":\"empty\"}", "" },
	};

	(void)state;
	make("f", view_of(text));
	make("empty", VIEW_NONE);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		read_exact(table[i].args);
		assert_true(rig.ok);
		assert_string_equal(table[i].want, str_cstr(&rig.text));
	}
}

static void what_cannot_be_read_exactly_is_told_apart(void **state)
{
	struct str big = STR_INIT((size_t)2 << 20);

	(void)state;
	read_exact("{\"path\":\"missing\"}");
	assert_false(rig.ok);
	assert_int_equal(E_NOTFOUND, rig.error);
	read_exact("{\"path\":\"/etc/passwd\"}");
	assert_int_equal(E_DENIED, rig.error);
	make("latin", VIEW("caf\xe9\n"));
	read_exact("{\"path\":\"latin\"}");
	assert_int_equal(E_FORMAT, rig.error);
	while (big.n < TOOL_EXACT_MAX)
		assert_int_equal(0, str_addc(&big, big.n % 100 == 99 ? '\n' : 'x'));
	make("big", str_view(&big));
	read_exact("{\"path\":\"big\"}");
	assert_true(rig.ok);
	assert_int_equal(TOOL_EXACT_MAX, rig.text.n);
	assert_int_equal(0, str_addc(&big, 'x'));
	make("big", str_view(&big));
	read_exact("{\"path\":\"big\"}");
	assert_int_equal(E_FORMAT, rig.error);
	assert_non_null(strstr(str_cstr(&rig.text), "fewer lines"));
	read_exact("{\"path\":\"big\",\"offset\":2}");
	assert_true(rig.ok);
	str_release(&big);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest files[] = {
		T(what_a_file_holds_comes_to_the_byte),
		T(what_cannot_be_read_exactly_is_told_apart),
	};
	const struct CMUnitTest terminals[] = {
		T(a_command_says_what_it_says_in_order),
		T(its_bytes_become_whole_characters),
		T(much_output_is_all_there),
		T(a_kill_ends_all_of_it),
		T(policy_and_consent_hold_for_terminals),
		T(variables_and_the_shell_are_taken),
		T(one_that_cannot_be_run_is_told),
		T(so_many_terminals_and_no_more),
	};
	int failed;

	(void)signal(SIGPIPE, SIG_IGN); /* as the program does */
	failed = cmocka_run_group_tests(files, NULL, NULL);
	return failed + cmocka_run_group_tests(terminals, NULL, NULL);
}
