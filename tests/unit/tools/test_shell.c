/* Commands as kairo-tool runs them: below a supervisor, but without the fence around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "tools/exec/command.h"
#include "tools/exec/tool.h"

#include "tree.h"
#include "remove_tree.h"

static char dir[64];
static struct roots roots;
static struct str said; /* '+' or '-' (it went well, or not), and the text */
static struct tree tree;

static int setup(void **state)
{
	const struct str empty = STR_INIT(TOOL_OUT_MAX);
	struct err e = ERR_INIT;

	(void)state;
	said = empty;
	(void)snprintf(dir, sizeof(dir), "/tmp/kairo-shell-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(0, roots_add(&roots, view_of(dir), true, &e));
	mark_choose();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	roots_release(&roots);
	str_release(&said);
	return remove_tree(dir);
}

/* --- One command ------------------------------------------------------------------------------ */

static struct json *parse(struct view text)
{
	struct json *j;
	struct err e = ERR_INIT;

	if (json_read(&j, text, &json_limits_wire, &e) < 0)
		fail_msg("%s", e.msg);
	return j;
}

static volatile sig_atomic_t stop;

static void run_tool(int to, const struct json *args, const struct json *argv)
{
	struct str out = STR_INIT(TOOL_OUT_MAX);
	struct tool_job j = { .roots = &roots,
		.args = args,
		.argv = argv,
		.tmp = "/tmp",
		.stop = &stop };
	struct err e = ERR_INIT;
	struct view v;
	int rc;

	j.out = &out;
	rc = tool_shell(&j, &e);
	v = rc < 0 ? view_of(e.msg) : str_view(&out);
	(void)!write(to, rc < 0 || j.failed ? "-" : "+", 1);
	while (v.n > 0) {
		ssize_t n = write(to, v.p, v.n);

		if (n <= 0)
			break;
		v = view_from(v, (size_t)n);
	}
	str_release(&out);
}

struct order {
	const struct json *args, *argv;
};

static void work(void *arg, int in, int out)
{
	const struct order *o = arg;

	(void)close(in);
	run_tool(out, o->args, o->argv);
}

static void begin_json(struct view args, const char *argv)
{
	struct json *ja = parse(args), *jv = argv ? parse(view_of(argv)) : NULL;
	struct order o = { ja, jv };

	tree_begin(&tree, work, &o);
	json_free(&ja);
	json_free(&jv);
}

/* True: went well. All of the tree is gone. */
static bool finish(void)
{
	char buf[65536];
	ssize_t n;

	str_reset(&said);
	while ((n = read(tree.result, buf, sizeof(buf))) > 0)
		assert_int_equal(0, str_add(&said, (struct view){ buf, (size_t)n }));
	tree_wait(&tree);
	return said.n > 0 && said.p[0] == '+';
}

static struct view args_of(const char *command, const char *more)
{
	static struct str s;
	const struct str empty = STR_INIT((size_t)1 << 20);
	struct json_out w;

	str_release(&s);
	s = empty;
	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_z(&w, "command", command);
	json_close(&w);
	assert_int_equal(0, json_out_end(&w, NULL));
	str_truncate(&s, s.n - 1);
	assert_int_equal(0, str_addf(&s, "%s}", more));
	return str_view(&s);
}

static bool run(const char *command, const char *more)
{
	begin_json(args_of(command, more), NULL);
	return finish();
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

/* --- How it ended ----------------------------------------------------------------------------- */

static void the_first_line_says_how_it_ended(void **state)
{
	static const struct {
		const char *command, *want;
		bool ok;
	} cases[] = {
		{ "true", "+exit status 0 after ", true },
		{ ":", "[no output]", true },
		{ "exit 3", "-exit status 3 after ", false },
		{ "exit 255", "-exit status 255 after ", false },
		{ "no-such-program", "-exit status 127 after ", false },
		{ "if", "-exit status 2 after ", false },
		{ "kill -9 $$", "-ended by signal 9 (Killed) after ", false },
		{ "kill -TERM $$", "-ended by signal 15 (Terminated) after ", false },
		{ "echo a; false", "-exit status 1 after ", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (run(cases[i].command, "") != cases[i].ok)
			fail_msg("%s: %s", cases[i].command, str_cstr(&said));
		expect(cases[i].want);
	}
}

static void the_streams_are_told_apart(void **state)
{
	(void)state;
	assert_true(run("echo one; echo two >&2; printf three", ""));
	expect("[stdout: 9 bytes]\none\nthree\n[stderr: 4 bytes]\ntwo\n");
	assert_true(run("printf x >&2", ""));
	expect("s\n[stderr: 1 byte]\nx\n");
	assert_false(says("stdout"));
}

/* --- How much it said ------------------------------------------------------------------------- */

static void output_is_counted_exactly_at_every_limit(void **state)
{
	static const unsigned sizes[] = { 1, 7999, 8000, 8001, 19999, 20000, 20001, 20002, 31999,
		32000, 32001, 65536, 65537, 1000003 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char command[100], want[200];
		unsigned n = sizes[i];

		(void)snprintf(command, sizeof(command),
			"(printf B; head -c %u /dev/zero | tr '\\0' m; printf E) | head -c %u", n,
			n);
		if (n > 20000)
			(void)snprintf(want, sizeof(want),
				"[stdout: %u bytes, truncated: %u in the middle are left out]\n"
				"Bmmm",
				n, n - 20000);
		else
			(void)snprintf(want, sizeof(want), "[stdout: %u byte%s]\nB", n,
				n == 1 ? "" : "s");
		assert_true(run(command, ""));
		expect(want);
		(void)snprintf(want, sizeof(want), "\n[... %u bytes of stdout are left out",
			n - 20000);
		assert_int_equal(n > 20000, says(want));
		if (n <= 20000) /* all of it, and nothing else */
			assert_int_equal(n + 1, strlen(strstr(str_cstr(&said), "]\n") + 2));
	}
}

static void both_streams_are_drained_at_once(void **state)
{
	(void)state;
	assert_true(run("for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero | tr '\\0' o; "
			"head -c 100000 /dev/zero | tr '\\0' e >&2; done; printf end",
		""));
	expect("[stdout: 800003 bytes, truncated: 780003 in the middle are left out]\nooo");
	expect("oend\n[stderr: 800000 bytes, truncated: 780000 in the middle are left out]\neee");
}

static void characters_stay_whole_where_output_is_cut(void **state)
{
	(void)state;
	/* 10,000 characters of three bytes; neither 8000 nor 18000 is a multiple of three. */
	assert_true(run("for i in $(seq 10000); do printf '\\345\\255\\227'; done", ""));
	expect("[stdout: 30000 bytes, truncated: 10002 in the middle are left out]\n\u5b57");
	assert_false(says("\ufffd"));
	assert_false(says("not all of them text"));
}

static void what_is_no_text_is_made_safe_and_said_so(void **state)
{
	(void)state;
	assert_true(run("printf 'a\\000b\\n'", ""));
	expect("[stdout: 4 bytes, not all of them text: what cannot be shown is left out]\nab\n");
	assert_true(run("printf '\\377\\376'; echo fine >&2", ""));
	expect("[stdout: 2 bytes, not all of them text: what cannot be shown is left out]\n"
	       "\ufffd\ufffd\n[stderr: 5 bytes]\nfine\n");
	assert_true(run("printf '\\033[31mred\\033[0m \\033]0;title\\007\\b\\r\\nx'", ""));
	expect("]\nred \nx\n");
	assert_true(run("head -c 300000 /dev/urandom", ""));
	expect("[stdout: 300000 bytes, truncated: ");
	assert_null(memchr(said.p, '\0', said.n));
}

/* --- What it is given ------------------------------------------------------------------------- */

static void its_input_is_at_the_end_and_there_is_no_terminal(void **state)
{
	(void)state;
	assert_true(run("cat; echo $?; tty; test -t 0 || test -t 1 || test -t 2 || echo none; "
			"(: </dev/tty) 2>/dev/null || echo no terminal",
		""));
	expect("]\n0\nnot a tty\nnone\nno terminal\n");
	assert_true(run("cut -d' ' -f5,6,7 /proc/$$/stat | sed s/$$/self/g", ""));
	expect("]\nself self 0\n"); /* group, session, terminal */
}

static void its_environment_is_small_and_fixed(void **state)
{
	char want[400];

	(void)state;
	assert_int_equal(0, setenv("KAIRO_SECRET", "sk-1234567890", 1));
	(void)snprintf(want, sizeof(want),
		"]\nHOME=/tmp\nLANG=C.UTF-8\n"
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
		"PWD=%s\nTERM=dumb\nTMPDIR=/tmp\n",
		dir);
	begin_json(VIEW("{\"command\":\"env\"}"), "[\"/bin/sh\",\"-c\",\"exec env | sort\"]");
	assert_true(finish());
	expect(want);
	assert_false(says("SECRET"));
}

static void no_descriptor_of_ours_goes_down(void **state)
{
	(void)state;
	assert_true(run("ls /proc/self/fd | tr '\\n' ' '", "")); /* 3 is that of ls itself */
	expect("]\n0 1 2 3 \n");
}

static void it_begins_where_it_is_told(void **state)
{
	static const struct {
		const char *cwd, *why;
	} refused[] = {
		{ "..", "leads out" },
		{ "/etc", "outside" },
		{ "sub/../../x", "leads out" },
		{ "link", "symbolic link" },
		{ "link/x", "symbolic link" },
		{ "missing", "there is no" },
		{ "file", "not a folder" },
	};
	char full[200], more[200];

	(void)state;
	assert_true(run("mkdir -p 'sub/a b'; ln -s /tmp link; : >file; pwd", ""));
	(void)snprintf(full, sizeof(full), "]\n%s\n", dir);
	expect(full);
	assert_true(run("pwd; echo $PWD; echo x >y", ",\"cwd\":\"sub/a b\""));
	(void)snprintf(full, sizeof(full), "]\n%s/sub/a b\n%s/sub/a b\n", dir, dir);
	expect(full);
	assert_true(run("cat 'sub/a b/y'", ",\"cwd\":\".\""));
	(void)snprintf(more, sizeof(more), ",\"cwd\":\"%s/sub\"", dir);
	assert_true(run("ls", more));
	expect("]\na b\n");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		(void)snprintf(more, sizeof(more), ",\"cwd\":\"%s\"", refused[i].cwd);
		assert_false(run("echo ran >ran", more));
		expect(refused[i].why);
	}
	assert_true(run("test ! -e ran", ""));
}

static void an_allowed_vector_meets_no_shell(void **state)
{
	(void)state;
	begin_json(VIEW("{\"command\":\"x\"}"),
		"[\"/bin/echo\",\"a;b\",\"$(id)\",\"*\",\"\",\"c\\nd\"]");
	assert_true(finish());
	expect("]\na;b $(id) *  c\nd\n");
	begin_json(VIEW("{\"command\":\"x\"}"), "[\"echo\",\"a\"]");
	assert_false(finish());
	expect("not a full path");
	begin_json(VIEW("{\"command\":\"x\"}"), "[]");
	assert_false(finish());
	begin_json(VIEW("{\"command\":\"x\"}"), "[\"/bin/echo\",7]");
	assert_false(finish());
	expect("not text");
	begin_json(VIEW("{\"command\":\"x\"}"), "[\"/no/such/program\"]");
	assert_false(finish());
	expect("/no/such/program cannot be run: No such file");
}

static void a_command_has_its_bounds(void **state)
{
	struct str s = STR_INIT(COMMAND_TEXT_MAX + 1);

	(void)state;
	(void)str_adds(&s, "printf %s ");
	while (s.n < COMMAND_TEXT_MAX)
		(void)str_addc(&s, 'x');
	assert_true(run(str_cstr(&s), ""));
	expect("[stdout: 102390 bytes, truncated: 82390");
	assert_int_equal(0, str_addc(&s, 'x'));
	assert_false(run(str_cstr(&s), ""));
	expect("command");
	assert_false(run("", ""));
	str_release(&s);
	for (int t = 0; t <= 301; t++) {
		char more[40];

		if (t == 2)
			t = 300;
		(void)snprintf(more, sizeof(more), ",\"timeout_s\":%d", t);
		assert_int_equal(t >= 1 && t <= 300, run("true", more));
	}
}

/* --- Its end ---------------------------------------------------------------------------------- */

static void what_takes_too_long_is_ended_and_what_it_said_is_kept(void **state)
{
	static const char *const commands[] = {
		"echo begun; echo bad >&2; sleep @",
		"trap '' TERM; echo begun; echo bad >&2; while :; do sleep @; done",
		"echo begun; echo bad >&2; setsid sleep @ & nohup sleep @ & wait",
		"echo begun; echo bad >&2; exec sleep @",
		"trap 'echo ending; exit 0' TERM; echo begun; echo bad >&2; sleep @ & wait",
		"echo begun; echo bad >&2; kill -STOP $$; sleep @",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		assert_false(run(marked(commands[i]), ",\"timeout_s\":1"));
		expect("-timed out at 1 s and was ended after ");
		expect("]\nbegun\n");
		expect("[stderr: 4 bytes]\nbad\n");
		if (strstr(commands[i], "ending"))
			expect("begun\nending\n");
		expect_nobody_left();
	}
}

static void what_is_left_in_the_background_holds_nobody_up(void **state)
{
	static const char *const commands[] = {
		"sleep @ & echo done",
		"setsid sleep @ & echo done",
		"nohup sleep @ & echo done",
		"(sleep @ & ) ; echo done",
		"(setsid sh -c '(setsid sleep @ &)' &) ; echo done",
		"sleep @ >/dev/null 2>&1 & echo done",
		"sh -c \"trap '' TERM HUP INT; setsid sleep @\" & echo done",
		"for i in 1 2 3 4 5 6 7 8; do sleep @ & done; echo done",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		int64_t began = monotonic_ms();

		if (!run(marked(commands[i]), ",\"timeout_s\":300"))
			fail_msg("%s: %s", commands[i], str_cstr(&said));
		expect("+exit status 0 after ");
		expect("[what it had left running in the background was ended]\n");
		expect("]\ndone\n");
		expect_nobody_left();
		assert_true(monotonic_ms() - began < 60000);
	}
}

static void what_ends_soon_in_the_background_is_heard_out(void **state)
{
	(void)state;
	assert_true(run("(sleep 0.05; echo late) & echo done", ""));
	expect("]\ndone\nlate\n");
	assert_false(says("was ended]"));
}

static void endless_output_ends_with_the_time(void **state)
{
	(void)state;
	assert_false(run("yes", ",\"timeout_s\":1"));
	expect("-timed out at 1 s");
	expect(" in the middle are left out]\ny\ny\n");
	assert_true(said.n < 21000);
	assert_true(run("yes & yes >&2 & echo", ""));
	expect("was ended]");
}

static void wait_for_file(const char *name)
{
	char path[200];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	while (stat(path, &st) < 0) /* bounded by the test's own limit */
		(void)poll(NULL, 0, 5);
}

static void a_cancel_ends_the_tree_and_keeps_what_was_said(void **state)
{
	static const char *const commands[] = {
		"echo begun; : >here; sleep @",
		"trap '' TERM; echo begun; : >here; while :; do sleep @; done",
		"setsid sleep @ & echo begun; : >here; wait",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		begin_json(args_of(marked(commands[i]), ""), NULL);
		wait_for_file("here");
		tree_cut(&tree);
		assert_false(finish());
		expect("-cancelled after ");
		expect("what it has changed until then stays changed");
		expect("]\nbegun\n");
		expect_nobody_left();
		assert_true(run("rm here", ""));
	}
}

static void a_tool_that_is_killed_takes_its_tree_along(void **state)
{
	(void)state;
	assert_false(run(marked("sleep @ & setsid sleep @ & kill -9 $PPID; sleep @"), ""));
	assert_int_equal(0, said.n);
	expect_nobody_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(the_first_line_says_how_it_ended),
		T(the_streams_are_told_apart),
		T(output_is_counted_exactly_at_every_limit),
		T(both_streams_are_drained_at_once),
		T(characters_stay_whole_where_output_is_cut),
		T(what_is_no_text_is_made_safe_and_said_so),
		T(its_input_is_at_the_end_and_there_is_no_terminal),
		T(its_environment_is_small_and_fixed),
		T(no_descriptor_of_ours_goes_down),
		T(it_begins_where_it_is_told),
		T(an_allowed_vector_meets_no_shell),
		T(a_command_has_its_bounds),
		T(what_takes_too_long_is_ended_and_what_it_said_is_kept),
		T(what_is_left_in_the_background_holds_nobody_up),
		T(what_ends_soon_in_the_background_is_heard_out),
		T(endless_output_ends_with_the_time),
		T(a_cancel_ends_the_tree_and_keeps_what_was_said),
		T(a_tool_that_is_killed_takes_its_tree_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
