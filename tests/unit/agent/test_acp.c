/* The engine that drives agents, with a scripted one as a real process (tests/agent). */
#include <dirent.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/acp/child.h"
#include "acp_rig.h"
#include "channel/words.h"

/* --- Turns ------------------------------------------------------------------------------------ */

static void a_turn_brings_the_answer(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[" TEXT("you said ") "," TEXT("$prompt") "," END "]}");
	ask(f, "hello\nthere");
	assert_int_equal(ENGINE_OK, f->fail);
	assert_string_equal("you said hello\nthere", str_cstr(&f->text));
	assert_int_equal(1, count(f, "\"method\":\"session/new\""));
	ask(f, "again");
	assert_string_equal("you said again", str_cstr(&f->text));
	/* the same process, the same session, and nothing opened anew */
	assert_int_equal(1, count(f, "=== started"));
	assert_int_equal(1, count(f, "\"method\":\"session/new\""));
	assert_int_equal(2,
		count(f, "\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s1\""));
}

#ifdef __SANITIZE_ADDRESS__
/* As in sanitizer/allocator_interface.h, which gcc does not bring everywhere. */
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

static size_t in_use(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	return mallinfo2().uordblks;
#endif
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

static void two_hundred_turns_leave_nothing_behind(void **state)
{
	static const struct policy_rules asks = { .shell = SHELL_ASK };
	struct fix *f = *state;
	size_t before = 0;
	int open = 0;

	write_script(f, "{\"session/prompt\":[{\"update\":{\"sessionUpdate\":\"tool_call\","
			"\"toolCallId\":\"t\",\"title\":\"Bash\",\"kind\":\"execute\"}}," ASK(
				COMMAND("make")) "," TEXT("done") "," END "]}");
	with_policy(f, &asks);
	f->choice = APPROVAL_ONCE;
	for (int i = 0; i < 250; i++) {
		if (i == 50) { /* rings are full, caches are warm */
			before = in_use();
			open = descriptors();
		}
		ask(f, "hello");
		assert_int_equal(ENGINE_OK, f->fail);
	}
	assert_int_equal(250, count(f, "\"optionId\":\"once\""));
	assert_int_equal(open, descriptors());
	assert_true(in_use() < before + 4096);
}

static void it_is_greeted_as_the_protocol_says(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" SAYS("hi") "}");
	ask(f, "hello");
	assert_int_equal(1, count(f, "\"id\":1,\"method\":\"initialize\",\"params\":{"
				     "\"protocolVersion\":1,\"clientInfo\":{\"name\":\"kairo\""));
	assert_int_equal(1, count(f, "\"method\":\"session/new\",\"params\":{\"cwd\":\"/"));
	assert_int_equal(1, count(f, "\"mcpServers\":[]"));
}

static void tool_calls_are_shown(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{\"session/prompt\":[{\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\","
		"\"title\":\"Running: ls\",\"kind\":\"execute\",\"status\":\"in_progress\"}},"
		"{\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\",\"status\":"
		"\"completed\"}}," TEXT("done") "," END "]}");
	ask(f, "hello");
	assert_string_equal("<execute:Running: ls></execute ok>", str_cstr(&f->seen));
	assert_string_equal("done", str_cstr(&f->text));
}

static void ends_are_told_apart(void **state)
{
	static const struct {
		const char *steps, *text, *detail;
		enum engine_fail fail;
	} table[] = {
		{ END, "", "", ENGINE_FAIL_AGENT_EMPTY },
		{ TEXT(" \\n") "," END, " \n", "", ENGINE_FAIL_AGENT_EMPTY },
		{ TEXT("\\u2800") "," END, "\xe2\xa0\x80", "", ENGINE_FAIL_AGENT_EMPTY },
		{ TEXT("no") ",{\"result\":{\"stopReason\":\"refusal\"}}", "no", "",
			ENGINE_FAIL_REFUSED },
		{ TEXT("half") ",{\"result\":{\"stopReason\":\"max_tokens\"}}",
			"half\n\n(The answer reached its length limit and ends here.)", "",
			ENGINE_OK },
		{ TEXT("x") ",{\"result\":{\"stopReason\":\"max_turn_requests\"}}", "x",
			"the agent's own limit of steps", ENGINE_FAIL_BUDGET },
		{ TEXT("x") ",{\"result\":{\"stopReason\":\"cancelled\"}}", "x",
			"the agent says that it was cancelled", ENGINE_FAIL_STALLED },
		{ TEXT("x") ",{\"result\":{\"stopReason\":\"tomorrow\"}}", "x", "", ENGINE_OK },
		{ TEXT("x") ",{\"result\":{}}", "x", "", ENGINE_OK },
		{ TEXT("x") ",{\"result\":null}", "x", "", ENGINE_OK },
		{ "{\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}}", "",
			"scripted login; Authentication required", ENGINE_FAIL_AGENT_LOGIN },
		{ "{\"error\":{\"code\":-32603,\"message\":\"Internal error\",\"data\":{\"details\":"
		  "\"400 key=sk-Ab12Cd34Ef56Gh78Ij90Kl12\"}}}",
			"", "400 key=[redacted]", ENGINE_FAIL_PROVIDER },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[800];

		f->engine->ops->close(&f->engine);
		(void)snprintf(script, sizeof(script), "{\"session/prompt\":[%s]}", table[i].steps);
		write_script(f, script);
		open_engine(f);
		ask(f, "hello");
		assert_int_equal(table[i].fail, f->fail);
		assert_string_equal(table[i].text, str_cstr(&f->text));
		assert_string_equal(table[i].detail, f->detail);
	}
}

static void a_banner_and_half_lines_do_no_harm(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{\"initialize\":[{\"raw\":\"Welcome!\\n\\n[1]\\nnull\\n\"},{\"result\":{"
		"\"protocolVersion\":1}}],\"session/prompt\":[{\"raw\":\"{\\\"jsonrpc\\\":\"},"
		"{\"sleep_ms\":20},{\"raw\":\"\\\"2.0\\\"}\\n\"}," TEXT("fine") "," END "]}");
	ask(f, "hello");
	assert_int_equal(ENGINE_OK, f->fail);
	assert_string_equal("fine", str_cstr(&f->text));
}

static void requests_it_does_not_know_are_refused(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[{\"ask\":{\"method\":\"craft/drainMidTurnQueue\"}},"
			"{\"send\":{\"method\":\"qwen/notify/x\",\"params\":[]}}," TEXT(
				"fine") "," END "]}");
	ask(f, "hello");
	assert_string_equal("fine", str_cstr(&f->text));
	assert_int_equal(1, count(f, "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32601"));
}

static void a_flood_is_taken(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[{\"flood\":20000}," END "]}");
	ask(f, "hello");
	assert_int_equal(ENGINE_OK, f->fail);
	assert_int_equal(20000 * 6, f->text.n);
}

static void updates_of_other_sessions_and_after_the_end_are_not_mixed_in(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{\"session/prompt\":[[{\"update_of\":{\"session\":\"other\",\"update\":{"
		"\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
		"\"foreign\"}}}}," TEXT("one") "," END "," TEXT("late") "],"
									"[" TEXT("two") "," END
											"]]}");
	ask(f, "hello");
	assert_string_equal("one", str_cstr(&f->text));
	for (int i = 0; i < 5; i++)
		assert_int_equal(0, loop_step(f->loop, 20, NULL));
	ask(f, "hello");
	assert_string_equal("two", str_cstr(&f->text));
	assert_string_equal("{user: late}", str_cstr(&f->notices));
}

/* --- Sessions --------------------------------------------------------------------------------- */

static void the_session_outlives_the_agent(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" SAYS("one") "}");
	ask(f, "hello");
	f->engine->ops->close(&f->engine);
	open_engine(f);
	ask(f, "again");
	assert_int_equal(2, count(f, "=== started"));
	assert_int_equal(1, count(f, "\"method\":\"session/new\""));
	assert_int_equal(1,
		count(f, "\"method\":\"session/resume\",\"params\":{\"sessionId\":\"s1\""));
	assert_string_equal("one", str_cstr(&f->text));
}

static void what_a_load_plays_back_is_dropped(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" NO_RESUME "," SAYS("one") "}");
	ask(f, "hello");
	f->engine->ops->close(&f->engine);
	write_script(f, "{" NO_RESUME
			",\"session/load\":[{\"flood\":50},{\"result\":null}]," SAYS("two") "}");
	open_engine(f);
	ask(f, "again");
	assert_int_equal(1, count(f, "\"method\":\"session/load\""));
	assert_string_equal("two", str_cstr(&f->text));
}

static void a_session_that_is_gone_is_told_and_replaced(void **state)
{
	static const char *const codes[] = { "-32002", "-32602", "-32603" };
	struct fix *f = *state;

	for (size_t i = 0; i < 3; i++) {
		char script[600];

		write_script(f, "{" SAYS("one") "}");
		f->engine->ops->close(&f->engine);
		open_engine(f);
		ask(f, "hello");
		f->engine->ops->close(&f->engine);
		(void)unlink(f->record);
		(void)snprintf(script, sizeof(script),
			"{\"session/resume\":[{\"error\":{\"code\":%s,\"message\":\"no\"}}]," SAYS(
				"two") "}",
			codes[i]);
		write_script(f, script);
		open_engine(f);
		ask(f, "again");
		assert_string_equal(
			"(The agent no longer has our conversation; this is a new one.)\n\ntwo",
			str_cstr(&f->text));
		/* an internal error is tried once more */
		assert_int_equal(i == 2 ? 2 : 1, count(f, "\"method\":\"session/resume\""));
		assert_int_equal(1, count(f, "\"method\":\"session/new\""));
	}
}

static void a_new_conversation_is_a_new_session(void **state)
{
	struct fix *f = *state;
	struct str reply = STR_INIT(1000);

	write_script(f, "{" SAYS("one") "}");
	ask(f, "hello");
	assert_int_equal(0, f->engine->ops->command(f->engine, ENGINE_CMD_NEW, "user", VIEW_NONE,
				    "en", &reply, NULL));
	assert_true(reply.n > 0);
	ask(f, "hello");
	assert_int_equal(2, count(f, "\"method\":\"session/new\""));
	str_release(&reply);
}

/* --- Deaths ----------------------------------------------------------------------------------- */

static void a_death_ends_the_turn_and_the_next_message_resumes(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[" TEXT("half") ",{\"stderr\":\"out of luck\"},"
							     "{\"exit\":3}]}");
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_AGENT_ENDED, f->fail);
	assert_string_equal("half", str_cstr(&f->text));
	assert_string_equal("it ended with exit code 3: out of luck", f->detail);
	write_script(f, "{" SAYS("back") "}");
	loop_turn_clock(f->loop, 1000);
	ask(f, "again");
	assert_int_equal(ENGINE_OK, f->fail);
	assert_string_equal("back", str_cstr(&f->text));
	assert_int_equal(1, count(f, "\"method\":\"session/resume\""));
}

#define ONE_THEN(steps) "{\"session/prompt\":[[" TEXT("one") "," END "],[" steps "]]}"

static void one_that_dies_at_the_prompt_without_a_word_is_asked_again(void **state)
{
	static const struct {
		const char *script;
		bool again;
	} table[] = {
		{ ONE_THEN("{\"kill\":9}"), true },
		{ ONE_THEN("{\"exit\":0}"), true },
		/* whatever it said, it may have done something */
		{ ONE_THEN(TEXT("x") ",{\"kill\":9}"), false },
		{ ONE_THEN(
			  "{\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2}},"
			  "{\"kill\":9}"),
			false },
		{ ONE_THEN("{\"ask\":{\"method\":\"fs/read_text_file\"}},{\"kill\":9}"), false },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		f->engine->ops->close(&f->engine);
		write_script(f, table[i].script);
		(void)unlink(f->record);
		open_engine(f);
		ask(f, "hello");
		ask(f, "again");
		assert_int_equal(table[i].again ? ENGINE_OK : ENGINE_FAIL_AGENT_ENDED, f->fail);
		assert_int_equal(table[i].again ? 2 : 1, count(f, "=== started"));
		assert_int_equal(table[i].again ? 2 : 1, count(f, "\"text\":\"again\""));
		if (table[i].again)
			assert_string_equal("one", str_cstr(&f->text));
	}
}

static void it_is_asked_again_once_and_soon_or_told(void **state)
{
	struct fix *f = *state;

	write_script(f, ONE_THEN("{\"kill\":9}"));
	ask(f, "hello");
	write_script(f, "{\"session/prompt\":[{\"kill\":9}]}"); /* of the next life */
	ask(f, "again");
	assert_int_equal(ENGINE_FAIL_AGENT_ENDED, f->fail);
	assert_int_equal(2, count(f, "=== started"));
	write_script(f, ONE_THEN("{\"sleep_ms\":200},{\"kill\":9}"));
	ask(f, "hello");
	begin(f, "later");
	await(f, "\"text\":\"later\"");
	loop_turn_clock(f->loop, ACP_AGAIN_MS);
	finish(f);
	assert_int_equal(ENGINE_FAIL_AGENT_ENDED, f->fail);
	assert_int_equal(3, count(f, "=== started"));
}

static void a_signal_is_named(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[{\"kill\":9}]}");
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_AGENT_ENDED, f->fail);
	assert_string_equal("it was ended by signal 9", f->detail);
}

/* What Node and Python write when they die, and plain programs. */
static void its_last_words_are_those_that_tell_the_error(void **state)
{
	static const struct {
		const char *words, *told;
	} table[] = {
		{ "throw new ERR();\\n  ^\\n\\nError [ERR_X]: no package 'zod'\\n    at f (Error.js:1)\\n"
		  "  code: 'ERR_X'\\n}\\n\\nNode.js v22.23.3\\n",
			"Error [ERR_X]: no package 'zod'" },
		{ "Traceback (most recent call last):\\n  File \\\"x\\\", line 1\\nValueError: no\\n",
			"ValueError: no" },
		{ "starting\\n\\nno luck\\n\\n", "no luck" },
		{ "one line", "one line" },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[600], want[200];

		(void)snprintf(script, sizeof(script),
			"{\"session/prompt\":[{\"stderr\":\"%s\"},{\"exit\":3}]}", table[i].words);
		write_script(f, script);
		loop_turn_clock(f->loop, 60000);
		ask(f, "hello");
		(void)snprintf(want, sizeof(want), "it ended with exit code 3: %s", table[i].told);
		assert_string_equal(want, f->detail);
	}
}

static void one_that_dies_idle_is_started_again(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[" TEXT("one") "," END ",{\"exit\":0}]}");
	ask(f, "hello");
	assert_int_equal(ENGINE_OK, f->fail);
	for (int i = 0; i < 10; i++)
		assert_int_equal(0, loop_step(f->loop, 20, NULL));
	loop_turn_clock(f->loop, 1000);
	ask(f, "again");
	assert_string_equal("one", str_cstr(&f->text));
	assert_int_equal(2, count(f, "=== started"));
}

static void a_start_that_fails_is_told_each_time_and_slows_down(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"initialize\":[{\"stderr\":\"no config\"},{\"exit\":1}]}");
	for (int i = 1; i <= 5; i++) {
		ask(f, "hello");
		assert_int_equal(ENGINE_FAIL_AGENT_START, f->fail);
		assert_string_equal("it ended with exit code 1: no config", f->detail);
		assert_int_equal(i, count(f, "=== started"));
		if (i < 5)
			loop_turn_clock(f->loop, 60000);
	}
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_AGENT_START, f->fail);
	assert_non_null(strstr(f->detail, "5 times in a row"));
	assert_int_equal(5, count(f, "=== started"));
	write_script(f, "{" SAYS("better") "}");
	loop_turn_clock(f->loop, 60000);
	ask(f, "hello");
	assert_string_equal("better", str_cstr(&f->text));
}

static void a_program_that_is_not_there_is_told(void **state)
{
	const char *const argv[] = { "nothing", NULL };
	struct acp_env acp = { 0 };
	struct fix *f = *state;

	f->engine->ops->close(&f->engine);
	acp.loop = f->loop;
	acp.log = f->log;
	acp.db = f->db;
	acp.speak = words_speech;
	acp.name = "nothing";
	acp.path = "/nonexistent/agent";
	acp.argv = argv;
	acp.env = argv + 1;
	acp.workspace = f->dir.dir;
	assert_int_equal(0, acp_open(&f->engine, &acp, NULL));
	f->engine->on_event = on_event;
	f->engine->arg = f;
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_AGENT_START, f->fail);
	assert_non_null(strstr(f->detail, "/nonexistent/agent"));
}

static void another_version_is_refused(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"initialize\":[{\"result\":{\"protocolVersion\":2}}]}");
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_AGENT_START, f->fail);
	assert_non_null(strstr(f->detail, "version 1"));
}

static void silence_at_the_start_is_bounded(void **state)
{
	static const struct {
		const char *script, *awaited, *told;
		enum engine_fail fail;
		int64_t ms;
	} table[] = {
		{ "{\"initialize\":[{\"sleep_ms\":600000}]}", "initialize",
			"no answer to \"initialize\"", ENGINE_FAIL_AGENT_START, 60000 },
		{ "{\"session/new\":[{\"sleep_ms\":600000}]}", "session/new", "login",
			ENGINE_FAIL_STALLED, ACP_OPEN_MS },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < 2; i++) {
		f->engine->ops->close(&f->engine);
		write_script(f, table[i].script);
		open_engine(f);
		begin(f, "hello");
		await(f, table[i].awaited);
		loop_turn_clock(f->loop, table[i].ms - 1000);
		step(f);
		assert_false(f->done);
		loop_turn_clock(f->loop, 1000);
		finish(f);
		assert_int_equal(table[i].fail, f->fail);
		assert_non_null(strstr(f->detail, table[i].told));
	}
}

/* --- Cancelling ------------------------------------------------------------------------------- */

static void cancelled_means_cancelled_whatever_comes_back(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[" TEXT("one") ",{\"until\":\"session/cancel\"}," TEXT(
				"more") "," END "]}");
	f->cancel_on_text = true;
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	assert_string_equal("one", str_cstr(&f->text));
	assert_int_equal(1,
		count(f, "\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"s1\"}"));
	assert_int_equal(1, count(f, "=== started"));
}

static void one_that_ignores_a_cancel_is_ended_and_resumed(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[" TEXT("one") ",{\"sleep_ms\":600000}]}");
	f->cancel_on_text = true;
	begin(f, "hello");
	await(f, "session/cancel");
	f->cancel_on_text = false;
	loop_turn_clock(f->loop, ACP_GRACE_MS - 1000);
	step(f);
	assert_false(f->done);
	loop_turn_clock(f->loop, 1000);
	finish(f);
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	write_script(f, "{" SAYS("back") "}");
	loop_turn_clock(f->loop, CHILD_EOF_MS);
	begin(f, "again");
	for (int i = 0; i < PATIENCE && !f->done; i++) {
		step(f);
		loop_turn_clock(f->loop, 500);
	}
	assert_true(f->done);
	assert_string_equal("back", str_cstr(&f->text));
	assert_int_equal(1, count(f, "\"method\":\"session/resume\""));
}

static void a_cancel_before_the_prompt_ends_at_once(void **state)
{
	static const char *const scripts[] = { "{\"initialize\":[{\"sleep_ms\":600000}]}",
		"{\"session/new\":[{\"sleep_ms\":600000}]}" };
	static const char *const awaited[] = { "initialize", "session/new" };
	struct fix *f = *state;

	for (size_t i = 0; i < 2; i++) {
		f->engine->ops->close(&f->engine);
		write_script(f, scripts[i]);
		open_engine(f);
		begin(f, "hello");
		await(f, awaited[i]);
		f->engine->ops->cancel(f->engine, f->turn);
		f->engine->ops->cancel(f->engine, f->turn);
		finish(f);
		assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
		assert_int_equal(0, count(f, "session/prompt"));
	}
}

static void the_end_is_polite(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[" TEXT("one") ",{\"sleep_ms\":600000}]}");
	begin(f, "hello");
	await(f, "session/prompt");
	for (int i = 0; i < PATIENCE && f->text.n == 0; i++)
		step(f);
	f->engine->ops->close(&f->engine);
	assert_int_equal(1, count(f, "session/cancel"));
	open_engine(f);
	f->done = true;
}

/* --- Permissions ------------------------------------------------------------------------------ */

#define SCRIPT(call) "{\"session/prompt\":[" ASK(call) "," TEXT("done") "," END "]}"
#define READ(p)      "\"kind\":\"read\",\"rawInput\":{\"path\":\"" p "\"}"
#define EDIT(p)      "\"kind\":\"edit\",\"rawInput\":{\"path\":\"" p "\",\"content\":\"x\"}"
#define WITH(more)   "\"kind\":\"execute\",\"rawInput\":{\"command\":\"ls -l\"," more "}"
#define IN(command, folder) \
	"\"kind\":\"execute\",\"rawInput\":{\"command\":\"" command "\",\"cwd\":\"" folder "\"}"

static void policy_decides_what_an_agent_may_do(void **state)
{
	static const char *const entries[] = { "ls -l", NULL };
	static const struct {
		const char *call, *asked, *option;
		enum shell_rule shell;
		enum verdict write;
		int choice;
	} table[] = {
		{ COMMAND("ls -l"), "", "no", SHELL_DENY, VERDICT_DENY, 0 },
		{ COMMAND("ls -l"), "", "once", SHELL_ALLOWLIST, VERDICT_DENY, 0 },
		{ COMMAND("ls -l; rm x"), "", "no", SHELL_ALLOWLIST, VERDICT_DENY, 0 },
		{ COMMAND("rm x"), "{shell ", "once", SHELL_ASK, VERDICT_DENY, APPROVAL_ONCE },
		{ COMMAND("rm x"), "{shell ", "once", SHELL_ASK, VERDICT_DENY,
			APPROVAL_CONVERSATION },
		{ COMMAND("rm x"), "{shell ", "no", SHELL_ASK, VERDICT_DENY, APPROVAL_NO },
		{ COMMAND("rm x"), "{shell ", "no", SHELL_ASK, VERDICT_DENY, ANSWER_NONE },
		{ COMMAND("rm x"), "{shell ", "no", SHELL_ASK, VERDICT_DENY, ANSWER_UNASKED },
		/* what is hidden is never just allowed, and is asked for as hidden */
		{ "\"kind\":\"execute\",\"title\":\"Bash\"", "", "no", SHELL_ALLOWLIST,
			VERDICT_ALLOW, 0 },
		{ "\"kind\":\"execute\",\"title\":\"Bash\"", "{shell the agent does not show",
			"once", SHELL_ASK, VERDICT_ALLOW, APPROVAL_ONCE },
		{ "\"title\":\"x\"", "", "no", SHELL_DENY, VERDICT_ALLOW, 0 },
		{ "\"kind\":\"think\"", "{shell the agent does not show", "no", SHELL_ASK,
			VERDICT_ALLOW, APPROVAL_NO },
		{ "\"kind\":\"edit\",\"locations\":[{\"path\":\"/w\"}]", "", "no", SHELL_DENY,
			VERDICT_DENY, 0 },
		{ "\"kind\":\"edit\",\"locations\":[{\"path\":\"/w\"}]",
			"{write_file the agent does not show", "once", SHELL_DENY, VERDICT_ALLOW,
			APPROVAL_ONCE },
		{ "\"kind\":\"edit\",\"rawInput\":{\"file_path\":\"a\",\"content\":\"x\"}", "",
			"once", SHELL_DENY, VERDICT_ALLOW, 0 },
		/* nor is what lies elsewhere, or in what git runs */
		{ READ("/etc/passwd"), "{read_file path: /etc/passwd", "once", SHELL_DENY,
			VERDICT_ALLOW, APPROVAL_ONCE },
		{ READ("a/../../b"), "{read_file ", "no", SHELL_DENY, VERDICT_ALLOW, APPROVAL_NO },
		{ READ("~/.ssh/id"), "{read_file ", "no", SHELL_DENY, VERDICT_ALLOW, APPROVAL_NO },
		{ READ("a/..b/.gitignore"), "", "once", SHELL_DENY, VERDICT_ALLOW, 0 },
		{ EDIT(".git/hooks/pre-commit"), "{write_file ", "no", SHELL_DENY, VERDICT_ALLOW,
			APPROVAL_NO },
		{ EDIT("/root/.bashrc"), "", "no", SHELL_DENY, VERDICT_DENY, 0 },
		/* of several files each counts, wherever it is named */
		{ "\"kind\":\"edit\",\"locations\":[{\"path\":\"a\"},{\"path\":\"/b\"}],\"content\":"
		  "[{\"type\":\"diff\",\"path\":\"a\",\"newText\":\"x\"}]",
			"files: 2\n| a\n| /b}", "no", SHELL_DENY, VERDICT_ALLOW, APPROVAL_NO },
		{ "\"kind\":\"edit\",\"content\":[{\"type\":\"diff\",\"path\":\"a\",\"newText\":\"x\"},"
		  "{\"type\":\"diff\",\"path\":\"/b\",\"newText\":\"y\"}]",
			"files: 2\n| a\n| /b}", "no", SHELL_DENY, VERDICT_ALLOW, APPROVAL_NO },
		{ "\"kind\":\"edit\",\"content\":[{\"type\":\"diff\",\"path\":\"a\",\"newText\":\"x\"},"
		  "{\"type\":\"diff\",\"path\":\"b\",\"newText\":\"y\"}]",
			"", "once", SHELL_DENY, VERDICT_ALLOW, 0 },
		{ "\"kind\":\"edit\",\"rawInput\":{\"path\":\"a\",\"file_path\":\"/b\",\"content\":\"x\"}",
			"files: 2\n| a\n| /b}", "no", SHELL_DENY, VERDICT_ALLOW, APPROVAL_NO },
		/* a deed does not become a question of the agent's own words */
		{ "\"title\":\"AskUserQuestion\",\"rawInput\":{\"command\":\"rm x\",\"questions\":[]}",
			"", "no", SHELL_DENY, VERDICT_ALLOW, 0 },
		{ "\"title\":\"AskUserQuestion\",\"kind\":\"execute\"", "{shell the agent ", "no",
			SHELL_ASK, VERDICT_ALLOW, APPROVAL_NO },
		/* a command belongs to its folder: entries are for the workspace */
		{ IN("ls -l", "sub/dir/"), "", "once", SHELL_ALLOWLIST, VERDICT_DENY, 0 },
		{ IN("ls -l", "/etc"), "", "no", SHELL_ALLOWLIST, VERDICT_DENY, 0 },
		{ IN("ls -l", "../x"), "", "no", SHELL_ALLOWLIST, VERDICT_DENY, 0 },
		{ IN("ls -l", "/etc/"), "{shell command: ls -l\nrun in: /etc\nfolder: /", "no",
			SHELL_ASK, VERDICT_DENY, APPROVAL_NO },
		{ IN("make", "sub"), "{shell command: make\nrun in: sub\nfolder: /", "once",
			SHELL_ASK, VERDICT_DENY, APPROVAL_ONCE },
		/* and with variables it is another one */
		{ WITH("\"env\":{\"GIT_DIR\":\"/x\"}"), "", "no", SHELL_ALLOWLIST, VERDICT_DENY,
			0 },
		{ WITH("\"env\":[\"PATH=/x\"]"), "{shell the agent does not show", "once",
			SHELL_ASK, VERDICT_DENY, APPROVAL_ONCE },
		{ WITH("\"env\":\"PATH=/x\""), "input: {\"command\":\"ls -l\",\"env\":\"PATH=/x\"}",
			"once", SHELL_ASK, VERDICT_DENY, APPROVAL_ONCE },
		{ WITH("\"env\":{},\"cwd\":null"), "", "once", SHELL_ALLOWLIST, VERDICT_DENY, 0 },
		/* a command is a command, whatever it calls itself */
		{ "\"kind\":\"edit\",\"rawInput\":{\"path\":\"a\",\"content\":\"x\",\"command\":"
		  "\"rm x\"}",
			"", "no", SHELL_DENY, VERDICT_ALLOW, 0 },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct policy_rules rules = { .shell = table[i].shell,
			.shell_allow = entries,
			.write = table[i].write,
			.web = VERDICT_DENY };
		char script[1500], want[120];

		(void)snprintf(script, sizeof(script), SCRIPT("%s"), table[i].call);
		write_script(f, script);
		with_policy(f, &rules);
		f->choice = table[i].choice;
		ask(f, "hello");
		assert_int_equal(ENGINE_OK, f->fail);
		assert_string_equal("done", str_cstr(&f->text));
		if (table[i].asked[0])
			assert_non_null(strstr(str_cstr(&f->seen), table[i].asked));
		else
			assert_null(strchr(str_cstr(&f->seen), '{'));
		(void)snprintf(want, sizeof(want),
			"\"id\":0,\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"%s\"}}",
			table[i].option);
		assert_int_equal(1, count(f, want));
	}
}

#define UPDATE(call) \
	"{\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\"," call "}}"
#define WRITTEN(json) \
	"\"status\":\"in_progress\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":" \
	"\"text\",\"text\":\"" json "\"}}]"
#define WANTS(title, what) \
	"\"title\":\"" title "\",\"content\":[" what \
	"{\"type\":\"content\",\"content\":{\"type\":" \
	"\"text\",\"text\":\"Requesting approval to " title "\"}}]"
#define DIFF(before, after) \
	"{\"type\":\"diff\",\"path\":\"/w/a\",\"oldText\":\"" before "\",\"newText\":\"" after "\"}"

/* Requests as Kimi Code 2.1.0 and OpenCode 1.18.34 make them: what they would do is in what they
 * have shown before, in the request, or in both. */
static void what_was_shown_is_what_is_asked_for(void **state)
{
	static const struct {
		const char *before, *request, *asked;
	} table[] = {
		{ UPDATE("\"kind\":\"execute\"," WRITTEN("{\\\"command\\\": \\\"make x\\\"}")),
			WANTS("Running: make x", ""), "{shell command: make x\n" },
		{ UPDATE("\"kind\":\"edit\"," WRITTEN(
			  "{\\\"path\\\": \\\"/w/a\\\", \\\"content\\\": \\\"one\\\"}")),
			WANTS("Writing a", ""),
			"{write_file path: /w/a\ncontent: 3 bytes, 1 line\n| one\n" },
		{ UPDATE("\"kind\":\"edit\"," WRITTEN(
			  "{\\\"path\\\": \\\"/w/a\\\", \\\"old_string\\\":"
			  " \\\"one\\\", \\\"new_string\\\": \\\"two\\\"}")),
			WANTS("Editing a", DIFF("one", "two") ","),
			"{apply_patch files: /w/a\npatch: 44 bytes, 5 lines\n| --- /w/a\n"
			"| +++ /w/a\n| @@ -1,1 +1,1 @@\n| -one\n| +two\n" },
		/* a part that goes, and none is shown in the request */
		{ UPDATE("\"kind\":\"edit\",\"rawInput\":{\"filePath\":\"/w/a\",\"oldString\":\"x\\ny\","
			 "\"newString\":\"\"}"),
			"\"title\":\"edit\"", "| @@ -1,2 +1,0 @@\n| -x\n| -y\n" },
		/* the file before and after: the whole is what is written */
		{ UPDATE("\"kind\":\"edit\",\"rawInput\":{\"filePath\":\"/w/a\",\"oldString\":\"one\","
			 "\"newString\":\"two\"}"),
			"\"kind\":\"edit\",\"rawInput\":{\"filepath\":\"/w/a\",\"diff\":\"...\"},"
			"\"content\":[" DIFF("one\\n", "two\\n") "]",
			"{write_file path: /w/a\ncontent: 4 bytes, 1 line\n| two\n" },
		/* shown with the call, and asked for without, as Codex does */
		{ UPDATE("\"kind\":\"edit\",\"title\":\"Editing files\",\"content\":[" DIFF("",
			  "one\\n") "]"),
			"\"title\":\"Edit files\",\"locations\":[{\"path\":\"/w/a\"}]",
			"{write_file path: /w/a\ncontent: 4 bytes, 1 line\n| one\n" },
		/* every change counts, of one file too */
		{ UPDATE("\"kind\":\"edit\",\"content\":[" DIFF("one", "two") "," DIFF("gone",
			  "") "]"),
			"\"title\":\"Edit files\"",
			"{apply_patch files: /w/a, /w/a\npatch: 84 bytes, 9 lines\n| --- /w/a\n"
			"| +++ /w/a\n| @@ -1,1 +1,1 @@\n| -one\n| +two\n| --- /w/a\n| +++ /w/a\n"
			"| @@ -1,1 +1,0 @@\n| -gone\n" },
		/* a folder outside: no tool of ours, so it is shown as it is */
		{ UPDATE("\"kind\":\"read\",\"rawInput\":{\"filePath\":\"/etc/hostname\"}"),
			"\"title\":\"/etc\",\"kind\":\"other\",\"rawInput\":{\"filepath\":"
			"\"/etc/hostname\",\"parentDir\":\"/etc\"}",
			"{shell the agent does not show exactly what it would do\ntitle: /etc\n"
			"path: /etc/hostname\ninput: {\"filepath\":\"/etc/hostname\"," },
	};
	const struct policy_rules rules = { .shell = SHELL_ASK, .write = VERDICT_ASK };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[2500];

		(void)snprintf(script, sizeof(script),
			"{\"session/prompt\":[%s," ASK("%s") "," TEXT("done") "," END "]}",
			table[i].before, table[i].request);
		write_script(f, script);
		with_policy(f, &rules);
		f->choice = APPROVAL_ONCE;
		ask(f, "hello");
		assert_string_equal("done", str_cstr(&f->text));
		if (!strstr(str_cstr(&f->seen), table[i].asked))
			fail_msg("%zu: %s", i, str_cstr(&f->seen));
		assert_int_equal(1, count(f, "\"optionId\":\"once\""));
	}
}

/* What the agent shows stays as it is. */
static void what_is_asked_for_is_labelled_in_the_users_language(void **state)
{
	static const struct {
		const char *call, *asked;
	} table[] = {
		{ COMMAND("make"), "{shell 命令：make\n工作区：/" },
		{ "\"kind\":\"execute\",\"title\":\"a\\n路径：b\",\"rawInput\":{\"x\":1}",
			"{shell 助手没有说明具体要做什么\n标题：a\\n路径：b\n参数：{\"x\":1}}" },
		{ "\"kind\":\"edit\",\"rawInput\":{\"path\":\"a\",\"file_path\":\"/b\",\"content\":\"x\"}",
			"\n文件：2 个\n| a\n| /b}" },
	};
	const struct policy_rules rules = { .shell = SHELL_ASK, .write = VERDICT_ASK };
	struct fix *f = *state;

	f->language = "zh";
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[1500];

		(void)snprintf(script, sizeof(script), SCRIPT("%s"), table[i].call);
		write_script(f, script);
		with_policy(f, &rules);
		f->choice = APPROVAL_NO;
		ask(f, "hello");
		if (!strstr(str_cstr(&f->seen), table[i].asked))
			fail_msg("%zu: %s", i, str_cstr(&f->seen));
	}
}

static void a_consent_for_the_conversation_holds_for_the_same_only(void **state)
{
	const struct policy_rules rules = { .shell = SHELL_ASK };
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[[" ASK(COMMAND("make")) "," END "],[" ASK(COMMAND(
				"make")) "," END "],[" ASK(COMMAND("make x")) "," END "]]}");
	with_policy(f, &rules);
	f->choice = APPROVAL_CONVERSATION;
	ask(f, "hello");
	assert_non_null(strstr(str_cstr(&f->seen), "{shell"));
	ask(f, "hello");
	assert_null(strstr(str_cstr(&f->seen), "{shell"));
	ask(f, "hello");
	assert_non_null(strstr(str_cstr(&f->seen), "{shell"));
	/* to the agent it is once each time */
	assert_int_equal(3, count(f, "\"optionId\":\"once\""));
}

static void what_was_refused_is_not_asked_again_in_the_turn(void **state)
{
	const struct policy_rules rules = { .shell = SHELL_ASK };
	const char *script = "{\"session/prompt\":[" ASK(COMMAND("make")) "," ASK(
		COMMAND("make")) "," ASK(COMMAND("make x")) "," TEXT("done") "," END "]}";
	struct fix *f = *state;

	for (int i = 0; i < 2; i++) {
		int questions = 0;

		write_script(f, script);
		if (i == 0)
			with_policy(f, &rules);
		f->choice = APPROVAL_NO;
		ask(f, "hello");
		for (const char *at = str_cstr(&f->seen); (at = strstr(at, "{shell ")); at++)
			questions++;
		assert_int_equal(2, questions); /* anew in the next turn */
		assert_int_equal(3 * (i + 1), count(f, "\"optionId\":\"no\""));
	}
}

/* --- The audit -------------------------------------------------------------------------------- */

static void take_outcome(void *arg, const struct json *record)
{
	struct view tool, verdict, outcome;

	assert_int_equal(1, json_get_str(record, "tool", JSON_REQUIRED, 1, 99, &tool, NULL));
	assert_int_equal(1, json_get_str(record, "verdict", JSON_REQUIRED, 1, 99, &verdict, NULL));
	assert_int_equal(1, json_get_str(record, "outcome", JSON_REQUIRED, 1, 99, &outcome, NULL));
	(void)str_addf(arg, "%.*s %.*s %.*s; ", VIEW_FMT(tool), VIEW_FMT(verdict),
		VIEW_FMT(outcome));
}

static void what_is_asked_allowed_and_denied_is_recorded(void **state)
{
	static const char *const entries[] = { "ls -l", NULL };
	static const struct {
		const char *calls, *want;
		enum shell_rule shell;
	} table[] = {
		{ ASK(COMMAND("ls -l")), "shell allow allowed; ", SHELL_ALLOWLIST },
		{ ASK(READ("a")), "read_file allow allowed; ", SHELL_DENY },
		{ ASK(COMMAND("rm x")), "shell deny refused; ", SHELL_ALLOWLIST },
		{ ASK(COMMAND("rm x")), "shell ask asked; shell ask consented; ", SHELL_ASK },
		/* hidden, or elsewhere */
		{ ASK("\"kind\":\"execute\",\"title\":\"Bash\""), "shell deny refused; ",
			SHELL_ALLOWLIST },
		{ ASK(IN("ls -l", "/etc")), "shell deny refused; ", SHELL_ALLOWLIST },
		{ ASK(READ("/etc/passwd")), "read_file ask asked; read_file ask consented; ",
			SHELL_DENY },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct policy_rules rules = { .shell = table[i].shell,
			.shell_allow = entries };
		struct str seen = STR_INIT(1000);
		char script[1500];
		size_t skipped;

		(void)snprintf(script, sizeof(script),
			"{\"session/prompt\":[%s," TEXT("done") "," END "]}", table[i].calls);
		write_script(f, script);
		with_policy(f, &rules);
		f->choice = APPROVAL_ONCE;
		ask(f, "hello");
		assert_int_equal(0, audit_tail(scratch_path(&f->dir, "audit"), 10, take_outcome,
					    &seen, &skipped, NULL));
		assert_string_equal(table[i].want, str_cstr(&seen));
		str_release(&seen);
	}
}

static void what_cannot_be_recorded_is_refused(void **state)
{
	const struct policy_rules rules = { .shell = SHELL_ASK };
	const char *audit;
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[[" ASK(COMMAND("make")) "," ASK(
				READ("a")) "," END "],[" ASK(COMMAND("make")) "," END "]]}");
	with_policy(f, &rules);
	audit = scratch_path(&f->dir, "audit");
	assert_int_equal(0, remove_tree(audit));
	assert_int_equal(0, symlink("/tmp", audit));
	f->choice = APPROVAL_ONCE;
	ask(f, "hello");
	assert_null(strchr(str_cstr(&f->seen), '{'));
	assert_int_equal(2, count(f, "\"optionId\":\"no\""));
	assert_int_equal(0, unlink(audit));
	/* the same when the yes is there and its record is not */
	f->choice = NO_ANSWER;
	begin(f, "hello");
	while (!strchr(str_cstr(&f->seen), '{'))
		step(f);
	assert_int_equal(0, remove_tree(audit));
	assert_int_equal(0, symlink("/tmp", audit));
	assert_int_equal(0,
		f->engine->ops->answer(f->engine, f->asked, APPROVAL_CONVERSATION, NULL));
	finish(f);
	assert_int_equal(3, count(f, "\"optionId\":\"no\""));
	assert_int_equal(0, count(f, "\"optionId\":\"once\""));
	assert_int_equal(0, unlink(audit));
}

/* OpenCode ends the turn without a word when it is refused something, Codex as cancelled. */
static void a_no_that_ends_the_turn_is_told_as_that(void **state)
{
	static const struct {
		enum shell_rule shell;
		const char *detail;
		bool cancels;
		const char *language;
	} table[] = { { SHELL_DENY, "shell, by the policy: see /policy", false, "en" },
		{ SHELL_ASK, "you said no", false, "en" },
		{ SHELL_DENY, "shell, by the policy: see /policy", true, "en" },
		{ SHELL_ASK, "you said no", true, "en" },
		{ SHELL_ASK, "你没有同意", false, "zh" } };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const char *script = "{\"session/prompt\":[" ASK(COMMAND("make")) "," END "]}";

		if (table[i].cancels)
			script = "{\"session/prompt\":[" ASK(
				COMMAND("make")) ",{\"result\":{\"stopReason\":\"cancelled\"}}]}";
		write_script(f, script);
		with_policy(f, &(struct policy_rules){ .shell = table[i].shell });
		f->choice = APPROVAL_NO;
		f->language = table[i].language;
		ask(f, "hello");
		assert_int_equal(ENGINE_FAIL_AGENT_DENIED, f->fail);
		assert_string_equal(table[i].detail, f->detail);
	}
}

static void no_and_stop_ends_the_turn(void **state)
{
	const struct policy_rules rules = { .shell = SHELL_ASK };
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[" ASK(
				COMMAND("make")) ",{\"until\":\"session/cancel\"}," END "]}");
	with_policy(f, &rules);
	f->choice = APPROVAL_STOP;
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	assert_int_equal(1, count(f, "\"outcome\":{\"outcome\":\"cancelled\"}"));
	assert_int_equal(1, count(f, "session/cancel"));
}

static void a_cancel_answers_what_is_open_at_once(void **state)
{
	const struct policy_rules rules = { .shell = SHELL_ASK };
	struct fix *f = *state;

	/* this one goes on only when its question is answered */
	write_script(f, "{\"session/prompt\":[" ASK(COMMAND("make")) "," END "]}");
	with_policy(f, &rules);
	f->choice = LEAVE_OPEN;
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	assert_int_equal(1, count(f, "\"outcome\":{\"outcome\":\"cancelled\"}"));
	assert_int_equal(1, count(f, "=== started"));
}

/* Kimi Code: the shape of a question, and the ids of its answers. */
static void a_question_offers_the_answers_of_the_agent_only(void **state)
{
	static const struct {
		int choice;
		const char *option;
	} table[] = { { 0, "q0_opt_0" }, { 1, "q0_opt_1" }, { 2, "q0_skip" },
		{ ANSWER_NONE, "q0_skip" }, { ANSWER_UNASKED, "q0_skip" } };
	const struct policy_rules rules = { .shell = SHELL_DENY };
	struct fix *f = *state;

	write_script(f,
		"{\"session/prompt\":[{\"ask\":{\"method\":\"session/request_permission\",\"params\":{"
		"\"sessionId\":\"$session\",\"toolCall\":{\"title\":\"AskUserQuestion\",\"toolCallId\":"
		"\"t\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":"
		"\"red or blue?\"}}]},\"options\":[{\"kind\":\"allow_once\",\"name\":\"red\",\"optionId\":"
		"\"q0_opt_0\"},{\"kind\":\"allow_once\",\"name\":\"blue\",\"optionId\":\"q0_opt_1\"},{"
		"\"kind\":\"reject_once\",\"name\":\"Skip\",\"optionId\":\"q0_skip\"}]}}}," END
		"]}");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char want[100];

		with_policy(f, &rules);
		f->choice = table[i].choice;
		ask(f, "hello");
		assert_string_equal("{?red or blue?|red|blue|Skip}", str_cstr(&f->seen));
		(void)snprintf(want, sizeof(want), "\"optionId\":\"%s\"", table[i].option);
		assert_int_equal(1, count(f, want));
	}
}

/* Qwen Code offers "always" for the project and for the user: that makes no question of it, or the
 * policy would not be asked. */
static void several_ways_of_always_make_no_question(void **state)
{
	static const struct {
		enum shell_rule shell;
		const char *option;
	} table[] = { { SHELL_DENY, "no" }, { SHELL_ASK, "once" } };
	struct fix *f = *state;

	write_script(f,
		"{\"session/prompt\":[{\"ask\":{\"method\":\"session/request_permission\",\"params\":{"
		"\"sessionId\":\"$session\",\"toolCall\":{\"toolCallId\":\"t\",\"title\":\"x\","
		"\"kind\":\"other\"},\"options\":[{\"optionId\":\"project\",\"kind\":\"allow_always\"},"
		"{\"optionId\":\"user\",\"kind\":\"allow_always\"},{\"optionId\":\"once\",\"kind\":"
		"\"allow_once\"},{\"optionId\":\"no\",\"kind\":\"reject_once\"}]}}}," TEXT(
			"done") "," END "]}");
	for (size_t i = 0; i < 2; i++) {
		char want[100];

		with_policy(f, &(struct policy_rules){ .shell = table[i].shell });
		f->choice = APPROVAL_ONCE;
		ask(f, "hello");
		assert_null(strstr(str_cstr(&f->seen), "{?"));
		(void)snprintf(want, sizeof(want), "\"optionId\":\"%s\"", table[i].option);
		assert_int_equal(1, count(f, want));
	}
}

/* Nothing is shown of it, and it can only be allowed for good: it is asked for as hidden. */
static void a_hidden_call_that_can_only_be_allowed_for_good_is_asked_for(void **state)
{
	static const struct {
		enum shell_rule shell;
		int choice;
		const char *option;
	} table[] = { { SHELL_DENY, APPROVAL_ONCE, "no" }, { SHELL_ASK, APPROVAL_NO, "no" },
		{ SHELL_ASK, APPROVAL_ONCE, "project" } };
	struct fix *f = *state;

	write_script(f,
		"{\"session/prompt\":[{\"ask\":{\"method\":\"session/request_permission\",\"params\":{"
		"\"sessionId\":\"$session\",\"toolCall\":{\"toolCallId\":\"t\",\"title\":\"x\","
		"\"kind\":\"other\"},\"options\":[{\"optionId\":\"project\",\"kind\":\"allow_always\"},"
		"{\"optionId\":\"user\",\"kind\":\"allow_always\"},{\"optionId\":\"no\",\"kind\":"
		"\"reject_once\"}]}}}," TEXT("done") "," END "]}");
	for (size_t i = 0; i < 3; i++) {
		char want[100];

		with_policy(f, &(struct policy_rules){ .shell = table[i].shell });
		f->choice = table[i].choice;
		ask(f, "hello");
		assert_null(strstr(str_cstr(&f->seen), "{?"));
		assert_int_equal(table[i].shell == SHELL_ASK,
			strstr(str_cstr(&f->seen), "{shell the agent does not show") != NULL);
		(void)snprintf(want, sizeof(want), "\"optionId\":\"%s\"", table[i].option);
		assert_int_equal(1, count(f, want));
	}
}

static void a_request_that_is_none_is_cancelled(void **state)
{
	static const char *const params[] = {
		"{}",
		"{\"sessionId\":\"$session\",\"toolCall\":{\"toolCallId\":\"t\"},\"options\":[]}",
		"{\"sessionId\":\"$session\",\"toolCall\":{},\"options\":[{\"optionId\":\"a\"}]}",
		"{\"sessionId\":\"$session\",\"toolCall\":{\"toolCallId\":\"t\"},\"options\":[{"
		"\"optionId\":\"a\"},{\"optionId\":\"a\"}]}",
		"{\"sessionId\":\"$session\",\"toolCall\":{\"toolCallId\":\"t\"},\"options\":[7]}",
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		char script[600];

		(void)snprintf(script, sizeof(script),
			"{\"session/prompt\":[{\"ask\":{\"method\":\"session/request_permission\","
			"\"params\":%s}}," TEXT("done") "," END "]}",
			params[i]);
		write_script(f, script);
		with_policy(f, &(struct policy_rules){ .shell = SHELL_ASK });
		ask(f, "hello");
		assert_string_equal("done", str_cstr(&f->text));
		assert_int_equal(1, count(f, "\"outcome\":{\"outcome\":\"cancelled\"}"));
	}
}

static void an_agent_that_dies_with_a_question_open_ends_it(void **state)
{
	const struct policy_rules rules = { .shell = SHELL_ASK };
	struct fix *f = *state;

	write_script(f,
		"{\"session/prompt\":[{\"ask_later\":{\"method\":\"session/request_permission\","
		"\"params\":{\"sessionId\":\"$session\",\"toolCall\":{\"toolCallId\":\"t\"},"
		"\"options\":[{\"optionId\":\"a\",\"kind\":\"allow_once\"}]}}},{\"exit\":1}]}");
	with_policy(f, &rules);
	f->choice = APPROVAL_ONCE;
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_AGENT_ENDED, f->fail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_turn_brings_the_answer),
		T(two_hundred_turns_leave_nothing_behind),
		T(it_is_greeted_as_the_protocol_says),
		T(tool_calls_are_shown),
		T(ends_are_told_apart),
		T(a_banner_and_half_lines_do_no_harm),
		T(requests_it_does_not_know_are_refused),
		T(a_flood_is_taken),
		T(updates_of_other_sessions_and_after_the_end_are_not_mixed_in),
		T(the_session_outlives_the_agent),
		T(what_a_load_plays_back_is_dropped),
		T(a_session_that_is_gone_is_told_and_replaced),
		T(a_new_conversation_is_a_new_session),
		T(a_death_ends_the_turn_and_the_next_message_resumes),
		T(one_that_dies_at_the_prompt_without_a_word_is_asked_again),
		T(it_is_asked_again_once_and_soon_or_told),
		T(a_signal_is_named),
		T(its_last_words_are_those_that_tell_the_error),
		T(one_that_dies_idle_is_started_again),
		T(a_start_that_fails_is_told_each_time_and_slows_down),
		T(a_program_that_is_not_there_is_told),
		T(another_version_is_refused),
		T(silence_at_the_start_is_bounded),
		T(cancelled_means_cancelled_whatever_comes_back),
		T(one_that_ignores_a_cancel_is_ended_and_resumed),
		T(a_cancel_before_the_prompt_ends_at_once),
		T(the_end_is_polite),
		T(policy_decides_what_an_agent_may_do),
		T(what_was_shown_is_what_is_asked_for),
		T(what_is_asked_for_is_labelled_in_the_users_language),
		T(a_consent_for_the_conversation_holds_for_the_same_only),
		T(what_was_refused_is_not_asked_again_in_the_turn),
		T(what_is_asked_allowed_and_denied_is_recorded),
		T(what_cannot_be_recorded_is_refused),
		T(a_no_that_ends_the_turn_is_told_as_that),
		T(no_and_stop_ends_the_turn),
		T(a_cancel_answers_what_is_open_at_once),
		T(a_question_offers_the_answers_of_the_agent_only),
		T(several_ways_of_always_make_no_question),
		T(a_hidden_call_that_can_only_be_allowed_for_good_is_asked_for),
		T(a_request_that_is_none_is_cancelled),
		T(an_agent_that_dies_with_a_question_open_ends_it),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
