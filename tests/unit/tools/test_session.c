/* A shell that lives on, below a supervisor, but without the fence around it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "tools/exec/command.h"
#include "tools/exec/session.h"

#include "tree.h"
#include "remove_tree.h"

static char dir[64];
static struct roots roots;
static struct tree tree;
static struct str line, said; /* what came of the next event; the text of the last result */
static bool ok, ended, acting;

static void work(void *arg, int in, int out)
{
	(void)arg;
	(void)session_run(&roots, dir, in, out);
}

static int setup(void **state)
{
	const struct str empty = STR_INIT((size_t)4 << 20);
	struct err e = ERR_INIT;

	(void)state;
	line = said = empty;
	(void)snprintf(dir, sizeof(dir), "/tmp/kairo-session-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(0, roots_add(&roots, view_of(dir), true, &e));
	mark_choose();
	tree_begin(&tree, work, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_cut(&tree);
	tree_wait(&tree);
	expect_nobody_left();
	roots_release(&roots);
	str_release(&line);
	str_release(&said);
	return remove_tree(dir);
}

/* --- One command ------------------------------------------------------------------------------ */

static void send_raw(const char *text)
{
	struct view rest = view_of(text);

	while (rest.n > 0) {
		ssize_t n = write(tree.lifeline, rest.p, rest.n);

		assert_true(n > 0);
		rest = view_from(rest, (size_t)n);
	}
}

static void send(const char *command, int timeout_s)
{
	struct str s = STR_INIT((size_t)1 << 20);
	struct json_out w;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_z(&w, "command", command);
	json_put_int(&w, "timeout_s", timeout_s);
	json_close(&w);
	assert_int_equal(0, json_out_end(&w, NULL));
	assert_int_equal(0, str_addc(&s, '\n'));
	send_raw(str_cstr(&s));
	str_release(&s);
}

static bool take_event(struct view text)
{
	struct json *j;
	struct view kind, v;
	struct err e = ERR_INIT;

	if (json_read(&j, text, &json_limits_wire, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(1, json_get_str(j, "event", JSON_REQUIRED, 1, 20, &kind, &e));
	if (view_eqs(kind, "result")) {
		assert_int_equal(1, json_get_bool(j, "ok", JSON_REQUIRED, &ok, &e));
		assert_int_equal(1, json_get_bool(j, "ended", JSON_REQUIRED, &ended, &e));
		assert_int_equal(1, json_get_str(j, "text", JSON_REQUIRED, 0, SIZE_MAX, &v, &e));
		str_reset(&said);
		assert_int_equal(0, str_add(&said, v));
		json_free(&j);
		return true;
	}
	assert_true(view_eqs(kind, "acting"));
	acting = true;
	json_free(&j);
	return false;
}

static void receive(void)
{
	bool done = false;

	acting = false;
	while (!done) {
		size_t n = view_find(str_view(&line), '\n');
		char buf[65536];
		ssize_t got;

		if (n < line.n) {
			done = take_event(view_cut(str_view(&line), n));
			str_drop(&line, n + 1);
			continue;
		}
		got = read(tree.result, buf, sizeof(buf));
		if (got <= 0)
			fail_msg("it ended without a result");
		assert_int_equal(0, str_add(&line, (struct view){ buf, (size_t)got }));
	}
}

static bool run(const char *command)
{
	send(command, 60);
	receive();
	return ok;
}

static bool says(const char *text)
{
	return strstr(str_cstr(&said), text);
}

static void expect(const char *text)
{
	if (!says(text))
		fail_msg("wanted: %s\ngot: %.3000s", text, str_cstr(&said));
}

static void expect_output(const char *command, const char *out)
{
	struct str want = STR_INIT(10000);

	assert_true(run(command));
	if (out[0])
		(void)str_addf(&want, "[stdout: %zu bytes]\n%s", strlen(out), out);
	else
		(void)str_adds(&want, "[no output]\n");
	if (!view_ends(str_view(&said), str_view(&want)) ||
		!view_starts(str_view(&said), VIEW("exit status 0 after ")))
		fail_msg("%s: %s", command, str_cstr(&said));
	str_release(&want);
}

/* --- What is kept ----------------------------------------------------------------------------- */

static void folder_and_variables_are_kept(void **state)
{
	char path[100];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s\n", dir);
	expect_output("pwd", path);
	expect_output("mkdir -p 'a b'; cd 'a b'; A=1; export B='x  y'; f() { echo \"f$1\"; }", "");
	assert_true(acting);
	(void)snprintf(path, sizeof(path), "%s/a b\n1\nx  y\nf7\n", dir);
	expect_output("pwd; echo $A; env | sed -n s/^B=//p; f 7", path);
	expect_output("alias hi='echo hi'; umask 022; set -- p q", "");
	expect_output("hi; umask; echo $#$2", "hi\n0022\n2q\n");
}

static void each_command_has_its_status(void **state)
{
	static const struct {
		const char *command;
		int status;
	} cases[] = {
		{ "true", 0 },
		{ "false", 1 },
		{ "(exit 7)", 7 },
		{ "sh -c 'kill -9 $$'", 137 },
		{ "no-such-program", 127 },
		{ "if", 2 },      /* a syntax error */
		{ "echo 'a", 2 }, /* a quote that is open */
		{ ": ${unset?is not set}", 2 },
		{ ")", 2 },
		{ "}", 2 },
		{ "readonly R=1; R=2", 2 },
		{ ". /no/such/file", 2 },
		{ "true", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char want[40];

		(void)run(cases[i].command);
		(void)snprintf(want, sizeof(want), "exit status %d after ", cases[i].status);
		if (!view_starts(str_view(&said), view_of(want)) || ended)
			fail_msg("%s: %s", cases[i].command, str_cstr(&said));
		assert_int_equal(cases[i].status == 0, ok);
	}
}

static void every_form_of_text_is_a_command(void **state)
{
	(void)state;
	expect_output("echo a # comment", "a\n");
	expect_output("echo a \\", "a\n");
	expect_output("cat <<E\n$((1 + 1)) 'x' \"y\"\nE", "2 'x' \"y\"\n");
	expect_output("echo 'it'\\''s'; echo \"it's\"", "it's\nit's\n");
	expect_output("\n\n echo a\n\n", "a\n");
	expect_output("echo '\u5b57\n{ } ; )'", "\u5b57\n{ } ; )\n");
	expect_output("printf '%s' \"$(printf 'a\\nb')\"; echo", "a\nb\n");
}

static void its_input_is_at_the_end(void **state)
{
	(void)state;
	expect_output("cat; read x; echo $?", "1\n");
	expect_output("exec </proc/self/status; echo a", "a\n");
	expect_output("cat; tty || :", "not a tty\n");
	expect_output("exec 0<&-; echo b", "b\n");
	expect_output("echo c", "c\n");
}

static void a_command_of_full_length_is_taken(void **state)
{
	struct str s = STR_INIT(COMMAND_TEXT_MAX + 1);

	(void)state;
	(void)str_adds(&s, "echo x");
	while (s.n < COMMAND_TEXT_MAX) /* what quoting makes longest */
		(void)str_adds(&s, "''");
	assert_int_equal(COMMAND_TEXT_MAX, s.n);
	expect_output(str_cstr(&s), "x\n");
	assert_int_equal(0, str_addc(&s, ' '));
	assert_false(run(str_cstr(&s)));
	expect("command");
	assert_false(ended);
	str_release(&s);
	expect_output("echo y", "y\n");
}

/* --- Frames ----------------------------------------------------------------------------------- */

static void no_command_can_play_the_end_of_itself(void **state)
{
	static const char *const commands[] = {
		"echo '00000000000000000000000000000000 0 s' >&9",
		"for fd in 3 4 5 6 7 8 9; do eval \"echo '0 0 s' >&$fd\"; done",
		"for fd in /proc/$$/fd/*; do [ -p $fd ] && echo '0 0 s' >$fd; done",
		"printf '\\n00000000000000000000000000000000 0 s\\n'",
		"printf() { :; }; command() { :; }; echo() { :; }",
		"alias command=: printf=: eval=: set=: unset=: exec=: '{=:'",
		"eval() { :; }; set() { :; }",
		"exec 9>&-",
		"exec 9>/dev/null; echo x >&9",
		"head -c 100000 /dev/zero | tr '\\0' x >&9",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char command[300];

		(void)snprintf(command, sizeof(command), "%s\n(exit 5)", commands[i]);
		(void)run(command);
		/* An error of a special builtin may have ended it before its last line. */
		if (ended || !(says("exit status 5 after ") || says("exit status 2 after ")))
			fail_msg("%s: %s", commands[i], str_cstr(&said));
		assert_true(run("pwd | wc -l")); /* what it wrote to the shell itself was run */
		expect("[stdout: 2 bytes]\n1\n");
	}
}

static void output_that_was_sent_elsewhere_does_not_hide_the_end(void **state)
{
	(void)state;
	expect_output("exec 7>&1 8>&2 >out 2>&1; echo a", "");
	expect_output("echo b", "");
	expect_output("exec >&7 2>&8; cat out", "a\nb\n");
	assert_true(run("exec >&- 2>&-"));
	assert_true(run(":"));
	expect("[no output]");
}

static void descriptors_that_the_shell_needs_may_be_closed(void **state)
{
	(void)state;
	/* With them it loses the way back: the session may end, but it says so. */
	send("exec 10>&- 11>&- 12>&- 13>&-; (exit 5)", 2);
	receive();
	assert_false(ok);
	assert_true(says("exit status 5") || (ended && says("the session has ended")) ||
		    says("exit status 2"));
}

static void tracing_is_kept_and_shows_nothing_of_the_frame(void **state)
{
	(void)state;
	assert_true(run("set -x; echo a"));
	assert_true(run("echo b"));
	expect("[stdout: 2 bytes]\nb\n[stderr: 9 bytes]\n+ echo b\n");
	assert_true(run("echo c; set +x"));
	expect("[stdout: 2 bytes]\nc\n[stderr: 18 bytes]\n+ echo c\n+ set +x\n");
	expect_output("echo d", "d\n");
	assert_true(run("set -v"));
	expect_output("echo e", "e\n");
	assert_true(run("case $- in *v*) set +v;; *) false;; esac"));
	expect_output("case $- in *v*) echo still;; esac", "");
}

/* --- Background ------------------------------------------------------------------------------- */

static void the_background_lives_on_and_goes_with_the_session(void **state)
{
	(void)state;
	expect_output(marked("sleep @ & setsid sleep @ & nohup sleep @ >/dev/null 2>&1 & p=$!"),
		"");
	expect_output("kill -0 $p && echo lives", "lives\n");
}

static void wait_for_file(const char *name)
{
	char path[200];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	while (stat(path, &st) < 0) /* bounded by the test's own limit */
		(void)poll(NULL, 0, 5);
}

static void make_file(const char *name)
{
	char path[200];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(0, fclose(f));
}

static void what_the_background_says_is_told_with_the_next_command(void **state)
{
	(void)state;
	expect_output("(while [ ! -e go ]; do sleep 0.02; done; echo late; : >went) &", "");
	expect_output("echo now", "now\n");
	make_file("go");
	wait_for_file("went");
	assert_true(run("echo next"));
	expect("[the first 5 bytes came from the background, before this command]\n"
	       "[stdout: 10 bytes]\nlate\nnext\n");
	expect_output("echo last", "last\n");
}

static void a_chatty_background_slows_nobody(void **state)
{
	(void)state;
	assert_true(run("yes & yes >&2 &"));
	for (int i = 0; i < 3; i++) {
		assert_true(run("echo here"));
		assert_true(said.n < 42000);
	}
}

static void output_is_counted_exactly(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_true(run("head -c 100001 /dev/zero | tr '\\0' o; printf eee >&2"));
		expect("[stdout: 100001 bytes, truncated: 80001 in the middle are left out]\nooo");
		expect("[stderr: 3 bytes]\neee\n");
	}
}

/* --- Its end ---------------------------------------------------------------------------------- */

static void what_ends_the_shell_ends_the_session(const char *command, const char *how)
{
	(void)run("echo begun");
	assert_false(run(marked(command)));
	assert_true(ended);
	expect(how);
	expect("[the session has ended with it, and what it had running");
	tree_wait(&tree);
	expect_nobody_left();
	tree_begin(&tree, work, NULL);
}

static void the_end_of_the_shell_is_told(void **state)
{
	(void)state;
	what_ends_the_shell_ends_the_session("exit 3", "exit status 3 after ");
	what_ends_the_shell_ends_the_session("exit", "exit status 0 after ");
	what_ends_the_shell_ends_the_session("sleep @ & exit 4", "exit status 4 after ");
	what_ends_the_shell_ends_the_session("exec sh -c 'exit 5'", "exit status 5 after ");
	what_ends_the_shell_ends_the_session("set -e; false", "exit status 1 after ");
	what_ends_the_shell_ends_the_session("setsid sleep @ & kill -9 $$",
		"ended by signal 9 (Killed) after ");
}

static void what_takes_too_long_ends_the_session(void **state)
{
	static const char *const commands[] = {
		"echo begun; sleep @",
		"echo begun; trap '' TERM; setsid sleep @ & while :; do sleep @; done",
		"echo begun; exec sleep @",
		"echo begun; set -n; sleep @",
		"echo begun; yes >&2",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		send(marked(commands[i]), 1);
		receive();
		/* dash does not run what follows set -n, not even the frame. */
		expect("timed out at 1 s and was ended after ");
		expect("\nbegun\n");
		assert_true(ended && !ok);
		tree_wait(&tree);
		expect_nobody_left();
		tree_begin(&tree, work, NULL);
	}
}

static void a_cancel_keeps_what_was_said(void **state)
{
	(void)state;
	send(marked("echo begun; : >here; setsid sleep @ & sleep @"), 60);
	wait_for_file("here");
	tree_cut(&tree);
	receive();
	assert_true(ended && !ok);
	expect("cancelled after ");
	expect("\nbegun\n");
	tree_wait(&tree);
	expect_nobody_left();
	tree_begin(&tree, work, NULL);
}

static void a_request_that_is_none_is_refused(void **state)
{
	static const char *const lines[] = { "{}\n", "x\n", "\n", "{\"command\":\"\"}\n",
		"{\"command\":7}\n", "{\"command\":\"a\\u0000b\"}\n",
		"{\"command\":\":\",\"timeout_s\":0}\n",
		"{\"command\":\":\",\"timeout_s\":301}\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		send_raw(lines[i]);
		receive();
		assert_true(!ok && !ended && !acting);
	}
	expect_output("echo a", "a\n");
	send_raw("{\"command\":\"echo b\"}\n{\"command\":\"echo cccc\"}\n   ");
	receive();
	expect("\nb\n");
	receive();
	expect("\ncccc\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(folder_and_variables_are_kept),
		T(each_command_has_its_status),
		T(every_form_of_text_is_a_command),
		T(its_input_is_at_the_end),
		T(a_command_of_full_length_is_taken),
		T(no_command_can_play_the_end_of_itself),
		T(output_that_was_sent_elsewhere_does_not_hide_the_end),
		T(descriptors_that_the_shell_needs_may_be_closed),
		T(tracing_is_kept_and_shows_nothing_of_the_frame),
		T(the_background_lives_on_and_goes_with_the_session),
		T(what_the_background_says_is_told_with_the_next_command),
		T(a_chatty_background_slows_nobody),
		T(output_is_counted_exactly),
		T(the_end_of_the_shell_is_told),
		T(what_takes_too_long_ends_the_session),
		T(a_cancel_keeps_what_was_said),
		T(a_request_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
