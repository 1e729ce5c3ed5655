/* shell and shell_session as the registry gives them: the real kairo-tool, behind its fence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/file.h"
#include "tools/host/picture.h"

#include "rig.h"
#include "tree.h"

static int setup(void **state)
{
	struct policy_rules rules = POLICY_RULES_DEFAULT;
	struct err e = ERR_INIT;

	(void)state;
	rig_make(NULL);
	rules.shell = SHELL_ASK;
	rig_open(&rules);
	assert_int_equal(0, tools_turn_begin(rig.tools, 1, "first", VIEW(""), NULL, &e));
	assert_int_equal(0, tools_turn_begin(rig.tools, 2, "second", VIEW(""), NULL, &e));
	mark_choose();
	return 0;
}

static int teardown(void **state)
{
	int rc = rig_remove();

	(void)state;
	expect_nobody_left();
	return rc;
}

/* --- One call --------------------------------------------------------------------------------- */

/* With the consent that it needs. -1: why is in rig.text. */
static int try(struct tool_run **r, uint64_t turn, const char *name, const char *args)
{
	struct tool_call c = { .turn = turn, .origin = ORIGIN_PHONE, .id = "c1", .name = name };
	char consent[TOOL_FINGERPRINT];
	struct err e = ERR_INIT;
	int rc;

	rig.done = 0;
	*r = NULL;
	c.args = view_of(args);
	c.consent = consent;
	rc = tools_fingerprint(rig.tools, &c, consent, &e);
	if (rc == 0)
		rc = tools_start(r, rig.tools, &c, rig_on_done, NULL, &e);
	str_reset(&rig.text);
	if (rc < 0)
		(void)str_adds(&rig.text, e.msg);
	return rc;
}

static struct tool_run *begin(uint64_t turn, const char *name, const char *args)
{
	struct tool_run *r;

	if (try(&r, turn, name, args) < 0)
		fail_msg("%s %s: %s", name, args, str_cstr(&rig.text));
	return r;
}

static bool run(uint64_t turn, const char *name, const char *args)
{
	(void)begin(turn, name, args);
	rig_wait();
	return rig.ok;
}

static void expect(const char *text)
{
	if (!says(text))
		fail_msg("wanted: %s\ngot: %.3000s", text, str_cstr(&rig.text));
}

static bool there(const char *name)
{
	char path[320];

	(void)snprintf(path, sizeof(path), "%s/%s", rig.ws, name);
	return access(path, F_OK) == 0;
}

static void make_file(const char *name)
{
	char path[200];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/%s", rig.ws, name);
	assert_int_equal(0, file_replace(path, 0644, VIEW(""), &e));
}

static void wait_for_file(const char *name)
{
	struct err e = ERR_INIT;

	while (!there(name)) /* bounded by the test's own limit */
		assert_int_equal(0, loop_step(rig.loop, 5, &e));
}

/* What a command begins in the background has its own name a while after the command's end. */
static void wait_marked(bool there_is_one)
{
	struct err e = ERR_INIT;

	while ((find_marked() > 0) != there_is_one)
		assert_int_equal(0, loop_step(rig.loop, 5, &e));
}

static void pass_minutes(int n)
{
	struct err e = ERR_INIT;

	loop_turn_clock(rig.loop, (int64_t)n * 60 * 1000);
	assert_int_equal(0, loop_step(rig.loop, 0, &e));
}

/* --- shell ------------------------------------------------------------------------------------ */

static void a_command_runs_behind_the_fence(void **state)
{
	(void)state;
	assert_true(run(1, "shell", "{\"command\":\"echo a >made; cat made; echo b >&2\"}"));
	assert_true(rig.acted);
	expect("exit status 0 after ");
	expect("[stdout: 2 bytes]\na\n[stderr: 2 bytes]\nb\n");
	assert_true(there("made"));
	assert_false(run(1, "shell", "{\"command\":\"echo x; exit 3\"}"));
	expect("exit status 3 after ");
	assert_true(rig.acted && !rig.cancelled);
	assert_true(run(1, "shell", "{\"command\":\"echo $HOME $TMPDIR; echo t >$TMPDIR/x\"}"));
	expect("tmp");
}

static void its_own_time_is_kept(void **state)
{
	(void)state;
	assert_false(run(1, "shell",
		marked("{\"command\":\"echo begun; setsid sleep @ & sleep @\",\"timeout_s\":1}")));
	expect("timed out at 1 s and was ended");
	expect("begun");
	assert_true(rig.acted);
	expect_nobody_left();
}

/* Its own clock stands still, ours does not. */
static void a_command_past_the_time_of_the_call_is_ended(void **state)
{
	(void)state;
	(void)begin(1, "shell",
		marked("{\"command\":\"echo begun; : >here; sleep @\",\"timeout_s\":300}"));
	wait_for_file("here");
	loop_turn_clock(rig.loop, 310000);
	rig_wait();
	assert_true(rig.acted && !rig.ok && !rig.cancelled);
	expect("\nbegun\n");
	expect("[shell took longer than 310 s, so it was told to end]");
	expect_nobody_left();
}

/* Whoever stops the processes around his command is still ended, by the time of the call. */
static void what_stops_its_keepers_is_ended_all_the_same(void **state)
{
	static const char *const commands[] = {
		"{\"timeout_s\":1,\"command\":\"kill -STOP $PPID; : >here; sleep @\"}",
		"{\"timeout_s\":1,\"command\":\"kill -STOP "
		"$(cut -d' ' -f4 /proc/$PPID/stat) $PPID; : >here; sleep @\"}",
		"{\"timeout_s\":1,\"command\":\"kill -STOP -1; : >here; sleep @\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		(void)begin(1, "shell", marked(commands[i]));
		wait_for_file("here");
		loop_turn_clock(rig.loop, 11000);
		rig_wait();
		assert_true(rig.acted && !rig.ok);
		if (!says("shell took longer than 11 s and was ended") && !says("timed out at 1 s"))
			fail_msg("%s: %s", commands[i], str_cstr(&rig.text));
		expect_nobody_left();
		assert_true(run(1, "shell", "{\"command\":\"rm here\"}"));
	}
}

static void a_cancelled_command_is_evidence(void **state)
{
	struct tool_run *r = begin(1, "shell",
		marked("{\"command\":\"echo begun; : >here; setsid sleep @ & sleep @\"}"));

	(void)state;
	wait_for_file("here");
	tool_cancel(r);
	rig_wait();
	assert_true(rig.cancelled && rig.acted && !rig.ok);
	expect("cancelled after ");
	expect("what it has changed until then stays changed");
	expect("begun");
	expect_nobody_left();
}

static void the_end_of_the_daemon_ends_commands(void **state)
{
	(void)state;
	assert_true(run(2, "shell_session",
		marked("{\"command\":\"setsid sleep @ & nohup sleep @ &\"}")));
	(void)begin(1, "shell",
		marked("{\"command\":\": >here; setsid sleep @ & nohup sleep @ & sleep @\"}"));
	wait_for_file("here");
	tools_close(&rig.tools);
	expect_nobody_left();
}

/* --- shell_session ---------------------------------------------------------------------------- */

#define SESSION "shell_session"

static void a_session_keeps_its_folder_and_variables(void **state)
{
	(void)state;
	assert_true(run(1, SESSION, "{\"command\":\"mkdir sub; cd sub; A=5; pwd\"}"));
	expect("session 1, new: exit status 0 after ");
	assert_true(rig.acted);
	assert_true(run(1, SESSION, "{\"command\":\"basename $PWD; echo $A\"}"));
	expect("session 1: exit status 0 after ");
	expect("]\nsub\n5\n");
	assert_true(run(1, SESSION, "{\"command\":\"basename $PWD; echo $A\",\"session\":2}"));
	expect("session 2, new: exit status 0 after ");
	expect("]\nws\n\n");
	assert_false(run(1, SESSION, "{\"command\":\"false\",\"session\":2}"));
	expect("session 2: exit status 1 after ");
	assert_true(run(1, SESSION, "{}"));
	expect("session 1, last used 0 s ago\nsession 2, last used 0 s ago\n");
}

static void a_session_belongs_to_its_conversation(void **state)
{
	(void)state;
	assert_true(run(1, SESSION, "{\"command\":\"A=first\"}"));
	assert_true(run(2, SESSION, "{\"command\":\"echo \\\"[$A]\\\"\"}"));
	expect("session 1, new: ");
	expect("]\n[]\n");
	assert_true(run(2, SESSION, "{\"stop\":true}"));
	assert_true(run(2, SESSION, "{}"));
	expect("There are no sessions.");
	assert_true(run(1, SESSION, "{\"command\":\"echo $A\"}"));
	expect("]\nfirst\n");
}

static void a_session_is_stopped_with_all_that_runs_in_it(void **state)
{
	struct tool_run *r;

	(void)state;
	assert_true(run(1, SESSION, marked("{\"command\":\"sleep @ & setsid sleep @ &\"}")));
	assert_true(run(1, SESSION, "{\"stop\":true}"));
	expect("session 1: ended, and all that ran in it");
	expect_nobody_left();
	assert_int_equal(-1, try(&r, 1, SESSION, "{\"stop\":true}"));
	expect("there is no session 1");
	assert_int_equal(-1, try(&r, 1, SESSION, "{\"stop\":true,\"command\":\":\"}"));
	expect("either command or stop");
	assert_true(run(1, SESSION, "{\"command\":\":\",\"stop\":false}"));
	expect("session 1, new: ");
}

static void a_session_has_one_command_at_a_time(void **state)
{
	struct tool_run *other;
	struct err e = ERR_INIT;

	(void)state;
	(void)begin(1, SESSION,
		"{\"command\":\": >here; while [ ! -e go ]; do sleep 0.01; done\"}");
	wait_for_file("here");
	assert_int_equal(-1, try(&other, 1, SESSION, "{\"command\":\":\"}"));
	expect("session 1 is running a command");
	assert_int_equal(-1, try(&other, 1, SESSION, "{\"stop\":true}"));
	expect("session 1 is running a command");
	make_file("go");
	while (rig.done < 1)
		assert_int_equal(0, loop_step(rig.loop, 20000, &e));
}

/* Commands of two sessions, and a write, one after the other: each sees what the one before did.
 * One that is cancelled while it waits does nothing and leaves its session as it was. */
static void commands_of_sessions_and_writes_never_overlap(void **state)
{
	static const char slow[] = "{\"command\":\"echo a >>log; : >here; "
				   "while [ ! -e go ]; do sleep 0.01; done; echo b >>log\"}";
	struct tool_run *waiting;
	struct err e = ERR_INIT;

	(void)state;
	assert_true(run(1, SESSION, "{\"command\":\"A=kept\",\"session\":3}"));
	(void)begin(1, SESSION, slow);
	(void)begin(1, SESSION, "{\"command\":\"echo c >>log\",\"session\":2}");
	waiting = begin(1, SESSION, "{\"command\":\"echo d >>log\",\"session\":3}");
	(void)begin(1, "write_file", "{\"path\":\"written\",\"content\":\"\"}");
	(void)begin(1, "shell", "{\"command\":\"echo e >>log\"}");
	wait_for_file("here");
	tool_cancel(waiting);
	rig_wait();
	assert_true(rig.cancelled && !rig.acted);
	expect("Nothing was changed.");
	assert_false(there("written"));
	make_file("go");
	while (rig.done < 5)
		assert_int_equal(0, loop_step(rig.loop, 20000, &e));
	assert_true(there("written"));
	assert_true(run(1, SESSION, "{\"command\":\"echo $A $(cat log)\",\"session\":3}"));
	expect("kept a b c e");
}

/* A cancelled command is still ending when the next change is asked for: that waits. */
static void a_write_waits_for_a_session_that_ends(void **state)
{
	struct tool_run *r;
	struct err e = ERR_INIT;

	(void)state;
	r = begin(1, SESSION,
		"{\"command\":\"trap 'echo late >>log; exit' TERM; : >here; "
		"while :; do sleep 0.01; done\"}");
	wait_for_file("here");
	tool_cancel(r);
	(void)begin(1, "shell", "{\"command\":\"echo next >>log; cat log\"}");
	while (rig.done < 1)
		assert_int_equal(0, loop_step(rig.loop, 20000, &e));
	assert_true(rig.cancelled);
	rig.done = 0;
	rig_wait();
	assert_true(rig.ok && says("next") && !says("next\nlate"));
}

static void what_runs_nothing_needs_no_consent(void **state)
{
	static const struct {
		const char *args;
		enum verdict want;
	} cases[] = {
		{ "{}", VERDICT_ALLOW }, { "{\"session\":2}", VERDICT_ALLOW },
		{ "{\"stop\":true}", VERDICT_ALLOW },
		{ "{\"stop\":false,\"command\":null}", VERDICT_ALLOW },
		{ "{\"command\":\":\"}", VERDICT_ASK },
		{ "{\"command\":\":\",\"stop\":true}", VERDICT_ASK },
		{ "{\"command\":\" \"}", VERDICT_ASK },
		{ "{\"command\":\"\"}", VERDICT_DENY }, /* wrong arguments */
	};
	struct tool_call c = { .turn = 1, .origin = ORIGIN_PHONE, .id = "c", .name = SESSION };
	struct str why = STR_INIT(4096);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c.args = view_of(cases[i].args);
		assert_int_equal(cases[i].want, tools_verdict(rig.tools, &c, &why));
	}
	str_release(&why);
}

static void a_command_that_ends_its_session_says_so(void **state)
{
	static const struct {
		const char *args, *says;
	} cases[] = {
		{ "{\"command\":\"setsid sleep @ & exit 4\"}", "exit status 4 after " },
		{ "{\"command\":\"setsid sleep @ & sleep @\",\"timeout_s\":1}",
			"timed out at 1 s and was ended after " },
		{ "{\"command\":\"setsid sleep @ & kill -9 $PPID; sleep @\"}", "ended" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(run(1, SESSION, marked(cases[i].args)));
		expect("session 1, new: ");
		expect(cases[i].says);
		assert_true(rig.acted && !rig.cancelled);
		expect_nobody_left();
	}
}

static void a_cancel_ends_the_session(void **state)
{
	struct tool_run *r;

	(void)state;
	assert_true(run(1, SESSION, marked("{\"command\":\"sleep @ &\"}")));
	r = begin(1, SESSION, marked("{\"command\":\"echo begun; : >here; sleep @\"}"));
	wait_for_file("here");
	tool_cancel(r);
	rig_wait();
	assert_true(rig.cancelled && rig.acted && !rig.ok);
	expect("session 1: cancelled after ");
	expect("begun");
	expect_nobody_left();
	r = begin(1, SESSION, "{\"command\":\":\"}");
	tool_cancel(r); /* before the shell is there */
	rig_wait();
	assert_true(rig.cancelled && !rig.acted);
	r = begin(1, SESSION, marked("{\"command\":\": >there; sleep @\"}"));
	wait_for_file("there");
	tool_detach(r);
	wait_marked(false);
	assert_int_equal(0, rig.done);
	assert_true(run(1, SESSION, "{}"));
	expect("There are no sessions.");
}

static void there_are_four_and_no_more(void **state)
{
	struct tool_run *r;
	char args[80];

	(void)state;
	for (int i = 1; i <= 4; i++) {
		(void)snprintf(args, sizeof(args), "{\"command\":\"A=%d\",\"session\":%d}", i, i);
		assert_true(run(1, SESSION, args));
	}
	assert_int_equal(-1, try(&r, 1, SESSION, "{\"command\":\":\",\"session\":5}"));
	assert_int_equal(-1, try(&r, 1, SESSION, "{\"command\":\":\",\"session\":0}"));
	for (int i = 1; i <= 4; i++) { /* used again, the second is the oldest */
		(void)snprintf(args, sizeof(args), "{\"command\":\"echo $A\",\"session\":%d}", i);
		if (i != 2)
			loop_turn_clock(rig.loop, 1000);
		if (i != 2)
			assert_true(run(1, SESSION, args));
	}
	/* Another conversation's takes its place. */
	assert_true(run(2, SESSION, "{\"command\":\":\"}"));
	expect("session 1, new: ");
	assert_true(run(1, SESSION, "{}"));
	assert_true(says("session 1,") && !says("session 2,") && says("session 3,") &&
		    says("session 4,"));
	(void)run(1, SESSION, "{\"command\":\"echo $A\",\"session\":2}");
	expect("session 2, new: "); /* in the place of the other's, idle now */
	assert_true(run(2, SESSION, "{}"));
	expect("There are no sessions.");
}

static void nobody_is_put_out_for_a_fifth_of_ones_own(void **state)
{
	struct tool_run *r[4], *other;
	char args[120];

	(void)state;
	for (int i = 0; i < 4; i++) {
		(void)snprintf(args, sizeof(args),
			"{\"command\":\": >here; while [ ! -e go ]; do sleep 0.01; done\","
			"\"session\":%d}",
			i + 1);
		r[i] = begin(1, SESSION, args); /* the first works, the others wait for it */
	}
	wait_for_file("here");
	assert_int_equal(-1, try(&other, 2, SESSION, "{\"command\":\":\"}"));
	expect("there are 4 sessions already");
	for (int i = 0; i < 4; i++) {
		rig.done = 0;
		tool_cancel(r[i]);
		rig_wait();
	}
	assert_true(run(2, SESSION, "{\"command\":\":\"}"));
}

static void an_idle_session_is_ended(void **state)
{
	(void)state;
	assert_true(run(1, SESSION, marked("{\"command\":\"sleep @ &\"}")));
	wait_marked(true);
	pass_minutes(29);
	assert_true(run(1, SESSION, "{\"command\":\":\"}"));
	expect("session 1: ");
	pass_minutes(29);
	assert_true(run(1, SESSION, "{}"));
	expect("session 1, last used 17");
	assert_true(find_marked() > 0);
	pass_minutes(1);
	wait_marked(false);
	assert_true(run(1, SESSION, "{}"));
	expect("There are no sessions.");
}

/* --- What the conversation has received ------------------------------------------------------- */

static void put_home(const char *name, const char *content)
{
	char path[320];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/%s", rig.home, name);
	assert_int_equal(0, file_replace(path, 0600, view_of(content), &e));
}

/* Of two conversations; and what else lies there. */
static void fill_home(void)
{
	static const char *const folders[] = { "media", "media/me", "media/you" };
	char path[320], to[320];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", rig.home, folders[i]);
		assert_int_equal(0, mkdir(path, 0700));
	}
	put_home("media/me/note.txt", "kept for me\n");
	put_home("media/you/note.txt", "secret of another\n");
	put_home("state.db", "secret of the daemon\n");
	(void)snprintf(path, sizeof(path), "%s/media/me/link", rig.home);
	(void)snprintf(to, sizeof(to), "%s/media/you/note.txt", rig.home);
	assert_int_equal(0, symlink(to, path));
}

static int begin_with(uint64_t turn, const char *conversation, const char *media, struct err *e)
{
	char path[320];

	(void)snprintf(path, sizeof(path), "%s/%s", rig.home, media);
	return tools_turn_begin(rig.tools, turn, conversation, VIEW(""), path, e);
}

/* %s: our own folder. */
static bool run_home(uint64_t turn, const char *tool, const char *format)
{
	struct str args = STR_INIT(4000);
	struct view rest = view_of(format);
	bool ok;

	while (rest.n > 0) {
		size_t n = view_find(rest, '@');

		assert_int_equal(0, str_add(&args, view_cut(rest, n)));
		if (n < rest.n)
			assert_int_equal(0, str_adds(&args, rig.home));
		rest = view_from(rest, n + 1);
	}
	ok = run(turn, tool, str_cstr(&args));
	str_release(&args);
	return ok;
}

static void what_was_received_can_be_read_and_nothing_else(void **state)
{
	static const char *const closed[][2] = {
		{ "read_file", "{\"path\":\"@/media/you/note.txt\"}" },
		{ "read_file", "{\"path\":\"@/media/me/../you/note.txt\"}" },
		{ "read_file", "{\"path\":\"@/media/me/link\"}" },
		{ "read_file", "{\"path\":\"@/state.db\"}" },
		{ "list_dir", "{\"path\":\"@/media\"}" },
		{ "list_dir", "{\"path\":\"@\"}" },
		{ "write_file", "{\"path\":\"@/media/me/new\",\"content\":\"x\"}" },
		{ "write_file", "{\"path\":\"@/media/me/note.txt\",\"content\":\"x\"}" },
		{ "shell", "{\"command\":\"cat @/media/you/note.txt\"}" },
		{ "shell", "{\"command\":\"cat @/media/me/link\"}" },
		{ "shell", "{\"command\":\"cat @/state.db\"}" },
		{ "shell", "{\"command\":\"echo x > @/media/me/new\"}" },
		{ "shell", "{\"command\":\"echo x >> @/media/me/note.txt\"}" },
		{ "shell", "{\"command\":\"rm @/media/me/note.txt\"}" },
		{ "shell", "{\"command\":\"mv @/media/me/note.txt .\"}" },
		{ "shell_session", "{\"command\":\"cat @/media/you/note.txt\"}" },
	};

	(void)state;
	fill_home();
	assert_int_equal(0, begin_with(3, "mine", "media/me", NULL));
	assert_true(run_home(3, "read_file", "{\"path\":\"@/media/me/note.txt\"}"));
	expect("kept for me");
	assert_true(run_home(3, "list_dir", "{\"path\":\"@/media/me\"}"));
	expect("note.txt");
	assert_true(run_home(3, "glob", "{\"pattern\":\"*.txt\",\"path\":\"@/media/me\"}"));
	expect("note.txt");
	assert_true(run_home(3, "grep", "{\"pattern\":\"kept\",\"path\":\"@/media/me\"}"));
	expect("kept for me");
	assert_true(run_home(3, "shell", "{\"command\":\"cat @/media/me/note.txt\"}"));
	expect("kept for me");
	assert_true(run_home(3, "shell_session", "{\"command\":\"cat @/media/me/note.txt\"}"));
	expect("kept for me");
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
		if (run_home(3, closed[i][0], closed[i][1]) || says("secret"))
			fail_msg("%s %s: %s", closed[i][0], closed[i][1], str_cstr(&rig.text));
	}
	assert_true(run_home(3, "read_file", "{\"path\":\"@/media/me/note.txt\"}"));
	expect("kept for me");
}

static void a_session_that_is_older_says_what_it_cannot_reach(void **state)
{
	(void)state;
	fill_home();
	assert_int_equal(0, tools_turn_begin(rig.tools, 3, "mine", VIEW(""), NULL, NULL));
	assert_true(run(3, "shell_session", "{\"command\":\"echo begun\"}"));
	assert_false(says("has been received"));
	tools_turn_end(rig.tools, 3);
	assert_int_equal(0, begin_with(4, "mine", "media/me", NULL));
	assert_false(run_home(4, "shell_session", "{\"command\":\"cat @/media/me/note.txt\"}"));
	expect("received since this session began cannot be reached in it");
	assert_true(run_home(4, "shell_session",
		"{\"session\":2,\"command\":\"cat @/media/me/note.txt\"}"));
	expect("kept for me");
	assert_false(says("has been received"));
}

/* A PNG of one red pixel. */
static const char dot[] = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4"
			  "z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

static void put_dot(const char *name)
{
	char path[320];
	struct str bytes = STR_INIT(1000);

	assert_int_equal(0, base64_decode(view_of(dot), &bytes));
	(void)snprintf(path, sizeof(path), "%s/%s", rig.dir, name);
	assert_int_equal(0, file_replace(path, 0600, str_view(&bytes), NULL));
	str_release(&bytes);
}

static bool load(uint64_t turn, const char *name)
{
	char path[320];
	struct tool_run *r;

	(void)snprintf(path, sizeof(path), "%s/%s", rig.dir, name);
	rig.done = 0;
	assert_int_equal(0,
		picture_load(&r, rig.tools, turn, view_of(path), rig_on_done, NULL, NULL));
	rig_wait();
	return rig.ok;
}

static void pictures_are_shown_where_the_turn_may_read(void **state)
{
	struct picture p;
	struct tool_run *r;

	(void)state;
	fill_home();
	put_dot("home/media/me/dot.png");
	put_dot("home/media/you/dot.png");
	put_dot("ws/dot.png");
	assert_int_equal(0, begin_with(3, "mine", "media/me", NULL));
	assert_true(load(3, "home/media/me/dot.png"));
	assert_int_equal(0, picture_read(str_view(&rig.text), &p));
	assert_true(view_eqs(p.type, "image/png") && p.note.n == 0 && view_eqs(p.base64, dot));
	assert_true(load(3, "ws/dot.png"));
	assert_false(load(1, "home/media/me/dot.png"));
	assert_false(load(3, "home/media/you/dot.png"));
	expect("outside the workspace");
	assert_false(load(3, "home/media/me/note.txt"));
	expect("is no picture of a kind that is known");
	assert_false(load(3, "home/media/me/none"));
	/* No tool of the model's. */
	assert_int_equal(-1, try(&r, 3, "picture", "{\"path\":\"dot.png\"}"));
	rig.done = 0;
	assert_int_equal(0,
		picture_load(&r, rig.tools, 3, VIEW("dot.png"), rig_on_done, NULL, NULL));
	tool_cancel(r);
	rig_wait();
	assert_true(rig.cancelled);
}

static void what_was_received_belongs_to_its_turns(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	fill_home();
	assert_false(run_home(1, "read_file", "{\"path\":\"@/media/me/note.txt\"}"));
	assert_int_equal(0, begin_with(3, "mine", "media/me", NULL));
	assert_false(run_home(1, "shell", "{\"command\":\"cat @/media/me/note.txt\"}"));
	tools_turn_end(rig.tools, 3);
	assert_false(run_home(3, "read_file", "{\"path\":\"@/media/me/note.txt\"}"));
	/* It need not be there; but it is no link, and nothing around it. */
	assert_int_equal(0, begin_with(4, "mine", "media/nobody", NULL));
	assert_int_equal(-1, begin_with(5, "mine", "media/me/link", &e));
	assert_int_equal(-1, begin_with(5, "mine", "state.db", &e));
	assert_int_equal(-1, begin_with(5, "mine", "", &e));
	assert_int_equal(-1, begin_with(5, "mine", "..", &e));
	assert_int_equal(E_DENIED, e.code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(what_was_received_can_be_read_and_nothing_else),
		T(what_was_received_belongs_to_its_turns),
		T(a_session_that_is_older_says_what_it_cannot_reach),
		T(pictures_are_shown_where_the_turn_may_read),
		T(a_command_runs_behind_the_fence),
		T(its_own_time_is_kept),
		T(a_command_past_the_time_of_the_call_is_ended),
		T(what_stops_its_keepers_is_ended_all_the_same),
		T(a_cancelled_command_is_evidence),
		T(the_end_of_the_daemon_ends_commands),
		T(a_session_keeps_its_folder_and_variables),
		T(a_session_belongs_to_its_conversation),
		T(a_session_is_stopped_with_all_that_runs_in_it),
		T(a_session_has_one_command_at_a_time),
		T(commands_of_sessions_and_writes_never_overlap),
		T(a_write_waits_for_a_session_that_ends),
		T(what_runs_nothing_needs_no_consent),
		T(a_command_that_ends_its_session_says_so),
		T(a_cancel_ends_the_session),
		T(there_are_four_and_no_more),
		T(nobody_is_put_out_for_a_fifth_of_ones_own),
		T(an_idle_session_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
