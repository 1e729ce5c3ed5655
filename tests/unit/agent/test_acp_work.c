/* Work in an agent's background, with an agent that runs its hooks as Kimi does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "agent/acp/task.h"
#include "acp_rig.h"
#include "base/file.h"

#define OF(event, more) \
	"{\"hook\":{\"hook_event_name\":\"" event "\",\"session_id\":\"$session\"" more "}}"
#define STARTED_AS(id, what) \
	OF("TaskStarted", ",\"task_id\":\"" id "\",\"kind\":\"process\",\"description\":\"" what \
			  "\",\"status\":\"running\",\"detached\":true,\"started_at\":1")
#define STARTED(id) STARTED_AS(id, "Counts herons")
#define TEN         "鹭鹭鹭鹭鹭鹭鹭鹭鹭鹭"
#define LONG        "\\u001b[2J" TEN TEN TEN TEN
#define CUT         "\\x1b[2J" TEN TEN TEN "鹭" /* 100 bytes */
#define ENDED_AS(id, how) \
	OF("Notification", \
		",\"source_kind\":\"background_task\",\"notification_type\":\"task." how \
		"\",\"source_id\":\"" id "\",\"agent_id\":\"main\",\"title\":\"t\"," \
		"\"body\":\"It went so.\",\"severity\":\"info\"")
#define ENDED(id) ENDED_AS(id, "completed")
#define BEGIN     OF("TurnStarted", ",\"turn_id\":3,\"origin_kind\":\"task\"")
#define STOP      OF("Stop", ",\"stop_hook_active\":false")
#define FAILURE(m) \
	OF("StopFailure", ",\"error_type\":\"APIStatusError\",\"error_message\":\"" m "\"")
#define USER(t) \
	"{\"update\":{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"text\"," \
	"\"text\":\"" t "\"}}}"
#define CALL \
	"{\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Bash\"," \
	"\"status\":\"completed\"}}"
#define NOTICE_OF(id) USER("<notification source_id=\\\"" id "\\\">It ended.</notification>")
#define LOADS(steps)  "\"session/load\":[" steps "{\"result\":{}}]"
/* The first prompt begins a task; what else the agent does then. */
#define BEGINS(more) "{\"session/prompt\":[" TEXT("It runs.") "," STARTED("b1") "," END more "],"
#define TOLD(text)   "{user: Background task finished: Counts herons\n\n" text "}"

static void with_hooks(struct fix *f, const char *script)
{
	f->engine->ops->close(&f->engine);
	f->hooks_home = f->dir.dir;
	write_script(f, script);
	open_engine(f);
}

/* The loop goes on, and time with it, until that was told. */
static void hear(struct fix *f, const char *what)
{
	for (int i = 0; i < PATIENCE && !strstr(str_cstr(&f->notices), what); i++) {
		assert_int_equal(0, loop_step(f->loop, 20, NULL));
		loop_turn_clock(f->loop, 100);
	}
	if (!strstr(str_cstr(&f->notices), what))
		fail_msg("\"%s\" is not in \"%s\"", what, str_cstr(&f->notices));
}

/* Until the agent has told so much by its hooks. */
static void told(struct fix *f, int hooks)
{
	for (int i = 0; i < PATIENCE && count(f, "=== hook 204") < hooks; i++)
		step(f);
	assert_int_equal(hooks, count(f, "=== hook 204"));
}

/* An agent whose script has `before`, a wait for let_go(), and `after`. */
static void with_gate(struct fix *f, const char *before, const char *after)
{
	char script[8192];

	assert_in_range(snprintf(script, sizeof(script), "%s{\"file\":\"%s/go\"}%s", before,
				f->dir.dir, after),
		1, sizeof(script) - 1);
	with_hooks(f, script);
}

static void let_go(struct fix *f)
{
	assert_int_equal(0, file_replace(scratch_path(&f->dir, "go"), 0600, VIEW(""), NULL));
}

static void pass(struct fix *f, int64_t ms)
{
	for (int i = 0; i < 10; i++) {
		assert_int_equal(0, loop_step(f->loop, 10, NULL));
		loop_turn_clock(f->loop, ms / 10);
	}
}

static void write_output(struct fix *f, const char *task, const char *text, size_t n)
{
	char dir[512], path[600];

	(void)snprintf(dir, sizeof(dir), "%s/sessions/wd/s1/agents/main/tasks/%s", f->dir.dir,
		task);
	(void)snprintf(path, sizeof(path), "%s/output.log", dir);
	assert_int_equal(0, file_mkdirs(dir, 0700, NULL));
	assert_int_equal(0, file_replace(path, 0600, (struct view){ text, n }, NULL));
}

/* --- What is told ----------------------------------------------------------------------------- */

static void the_agents_own_word_of_it_is_told_once(void **state)
{
	struct fix *f = *state;

	with_hooks(f, BEGINS("," ENDED("b1") "," BEGIN "," STOP "," ENDED("b1") "," STARTED("b1"))
			      LOADS(USER("hello") "," TEXT("It runs.") "," NOTICE_OF("b1") "," TEXT(
				      "Let me see.") "," CALL "," TEXT("Seven.") ",") "}");
	ask(f, "hello");
	assert_string_equal("It runs.", str_cstr(&f->text));
	hear(f, "</busy>");
	assert_string_equal("<busy>" TOLD("Let me see.\n\nSeven.") "</busy>",
		str_cstr(&f->notices));
	pass(f, 60000);
	assert_int_equal(1, count(f, "\"session/load\""));
	assert_string_equal("<busy>" TOLD("Let me see.\n\nSeven.") "</busy>",
		str_cstr(&f->notices));
	ask(f, "again"); /* and the session goes on */
	assert_string_equal("It runs.", str_cstr(&f->text));
}

static void in_chinese(void **state)
{
	struct fix *f = *state;

	f->language = "zh";
	with_hooks(f, BEGINS("," ENDED_AS("b1", "failed") "," BEGIN "," STOP)
			      LOADS(NOTICE_OF("b1") "," TEXT("七只。") ",") "}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_string_equal("<busy>{user: 后台任务失败了：Counts herons\n\n七只。}</busy>",
		str_cstr(&f->notices));
}

static void without_its_word_the_output_is_told(void **state)
{
	struct fix *f = *state;

	write_output(f, "b1", "7 herons\n``` and\x1b[1m more\n", 26);
	with_hooks(f, BEGINS("," ENDED("b1")) LOADS("") "}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_non_null(
		strstr(str_cstr(&f->notices), "finished: Counts herons\n\n````\n7 herons\n"));
	assert_null(strchr(str_cstr(&f->notices), 0x1b));
	assert_int_equal(0, count(f, "\"session/load\""));
}

static void the_file_that_it_has_made_is_sent_along(void **state)
{
	static const char output[] = "7 herons\nSaved chart.txt\n";
	struct fix *f = *state;

	write_output(f, "b1", output, sizeof(output) - 1);
	write_output(f, "b2", output, sizeof(output) - 1);
	assert_int_equal(0,
		file_replace(scratch_path(&f->dir, "chart.txt"), 0600, VIEW("x"), NULL));
	with_hooks(f, BEGINS("," ENDED("b1") "," STARTED("b2") "," ENDED_AS("b2", "failed"))
			      LOADS("") "}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_non_null(strstr(str_cstr(&f->notices), "```\n\n[send-file: chart.txt]}"));
	assert_null(strstr(strstr(str_cstr(&f->notices), "task failed"), "send-file"));
}

static void without_output_its_end_is(void **state)
{
	struct fix *f = *state;

	with_hooks(f, BEGINS("," ENDED_AS("b1", "killed")) LOADS("") "}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_string_equal(
		"<busy>{user: Background task failed: Counts herons\n\nIt went so.}</busy>",
		str_cstr(&f->notices));
}

static void a_long_output_is_cut_and_says_so(void **state)
{
	struct fix *f = *state;
	size_t n = (64 << 10) + 1;
	char *text = malloc(n);

	assert_non_null(text);
	memset(text, 'x', n);
	text[0] = 'A';
	for (int i = 0; i < 2; i++) { /* over, and at it */
		write_output(f, "b1", text + i, n - (size_t)i);
		with_hooks(f, BEGINS("," ENDED("b1")) LOADS("") "}");
		str_reset(&f->notices);
		ask(f, "hello");
		hear(f, "</busy>");
		assert_int_equal(i == 0,
			strstr(str_cstr(&f->notices), "(the last 64 KiB of its output)\n") != NULL);
		assert_null(strchr(str_cstr(&f->notices), 'A'));
		assert_true(f->notices.n > (64 << 10));
		ask(f, "/new");
	}
	free(text);
}

static void an_agent_that_was_the_task_has_its_answer_told(void **state)
{
	struct fix *f = *state;

	write_output(f, "a1", "log", 3);
	with_hooks(f,
		"{\"session/prompt\":[" TEXT("It runs.") "," OF("TaskStarted",
			",\"task_id\":\"a1\",\"kind\":\"agent\",\"description\":\"Looks\"") "," END "," OF("SubagentStop",
			",\"agent_name\":\"explore\",\"response\":\"Found **it**.\"") "," ENDED("a1") "]," LOADS("") "}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_string_equal("<busy>{user: Background task finished: Looks\n\nFound **it**.}</busy>",
		str_cstr(&f->notices));
}

static void a_try_that_only_began_another_is_not_told(void **state)
{
	struct fix *f = *state;

	with_gate(f,
		"{\"session/prompt\":[" TEXT("It runs.") "," STARTED(
			"b1") "," END "," ENDED_AS("b1", "failed") "," BEGIN
								   "," STARTED("b2") "," STOP ",",
		"," ENDED("b2") "," BEGIN "," STOP "]," LOADS(NOTICE_OF("b1") "," TEXT(
			"Again, then.") "," NOTICE_OF("b2") "," TEXT("Seven.") ",") "}");
	ask(f, "hello");
	told(f, 5);
	for (int i = 0; i < 8; i++)
		pass(f, TASKS_SETTLE_MS / 4);
	let_go(f);
	told(f, 8);
	hear(f, "</busy>");
	assert_string_equal("<busy>" TOLD("Seven.") "</busy>", str_cstr(&f->notices));
}

static void a_look_that_fails_says_why_and_shows_the_output(void **state)
{
	struct fix *f = *state;

	write_output(f, "b1", "7 herons", 8);
	with_hooks(f, BEGINS("," ENDED("b1") "," BEGIN "," FAILURE(
			      "429 slow down, key=sk-Ab12Cd34Ef56Gh78Ij90Kl12")) LOADS("") "}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_string_equal("<busy>" TOLD("```\n7 herons\n```\n\n(The agent could not look at it: "
					  "429 slow down, key=[redacted])") "</busy>",
		str_cstr(&f->notices));
}

static void one_that_streams_what_it_says_is_heard_as_it_is(void **state)
{
	struct fix *f = *state;

	with_hooks(f, BEGINS("," BEGIN "," ENDED("b1") "," TEXT("Sev") ",{\"sleep_ms\":50}," TEXT(
			      "en.") "," STOP) LOADS("") "}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_string_equal("<busy>" TOLD("Seven.") "</busy>", str_cstr(&f->notices));
	assert_int_equal(0, count(f, "\"session/load\""));
}

static void what_is_not_over_yet_is_read_again(void **state)
{
	struct fix *f = *state;

	with_hooks(f,
		BEGINS("," ENDED("b1") "," BEGIN "," STOP) "\"session/load\":[[" NOTICE_OF("b1") "," TEXT(
			"Let me see.") "," CALL
				       ",{\"result\":{}}],[" NOTICE_OF("b1") "," TEXT(
					       "Let me see.") "," CALL
							      "," TEXT(
								      "Seven.") ",{\"result\":{}}]]}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_string_equal("<busy>" TOLD("Let me see.\n\nSeven.") "</busy>",
		str_cstr(&f->notices));
	assert_int_equal(2, count(f, "\"session/load\""));
}

static void its_end_takes_what_ran_with_it(void **state)
{
	struct fix *f = *state;

	with_hooks(f, BEGINS(",{\"exit\":3}") LOADS("") "}");
	ask(f, "hello");
	hear(f, "</busy>");
	assert_string_equal("<busy>{user: The agent has ended, and its background task with it: "
			    "Counts herons}</busy>",
		str_cstr(&f->notices));
}

static void hooks_of_other_sessions_are_refused(void **state)
{
	struct fix *f = *state;

	with_hooks(f,
		"{\"session/prompt\":[" TEXT(
			"hi") ",{\"hook\":{\"hook_event_name\":"
			      "\"TaskStarted\",\"session_id\":\"s7\",\"task_id\":\"b1\"}}," END
			      "]}");
	ask(f, "hello");
	assert_int_equal(1, count(f, "=== hook 404"));
	assert_string_equal("", str_cstr(&f->notices));
}

/* --- Turns that give way ---------------------------------------------------------------------- */

static void a_prompt_waits_while_the_agent_looks_at_a_result(void **state)
{
	struct fix *f = *state;

	with_gate(f,
		"{\"session/prompt\":[[" TEXT("It runs.") "," STARTED("b1") "," END "," ENDED(
			"b1") "," BEGIN ",",
		"," STOP
		"],[" TEXT("Yes?") "," END "]]," LOADS(NOTICE_OF("b1") "," TEXT("Seven.") ",") "}");
	ask(f, "hello");
	told(f, 3);
	begin(f, "are you there?");
	for (int i = 0; i < 10; i++)
		step(f);
	assert_int_equal(1, count(f, "\"session/prompt\""));
	let_go(f);
	for (int i = 0; i < PATIENCE && !f->done; i++) {
		step(f);
		loop_turn_clock(f->loop, 50);
	}
	assert_true(f->done);
	assert_string_equal("Yes?", str_cstr(&f->text));
	assert_string_equal("<busy>" TOLD("Seven.") "</busy>", str_cstr(&f->notices));
}

static void one_that_waits_long_is_told_so_once_and_can_be_stopped(void **state)
{
	struct fix *f = *state;

	with_hooks(f, BEGINS("," ENDED("b1") "," BEGIN) LOADS(NOTICE_OF("b1") "," CALL ",") "}");
	ask(f, "hello");
	told(f, 3);
	begin(f, "are you there?");
	hear(f, "your message is next");
	pass(f, 100000);
	assert_false(f->done);
	f->engine->ops->cancel(f->engine, f->turn);
	finish(f);
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	assert_string_equal("<busy>{user: The agent still looks at what its background work has "
			    "brought; your message is next.}",
		str_cstr(&f->notices));
}

static void an_end_that_was_lost_is_found_out(void **state)
{
	struct fix *f = *state;

	with_hooks(f, "{\"session/prompt\":[[" TEXT("It runs.") "," STARTED("b1") "," END "," ENDED(
			      "b1") "," BEGIN
				    "],[" TEXT("Yes?") "," END "]]," LOADS(
					    NOTICE_OF("b1") "," TEXT("Seven.") ",") "}");
	ask(f, "hello");
	told(f, 3);
	begin(f, "are you there?");
	for (int i = 0; i < PATIENCE && f->notices.n < 10; i++) {
		step(f);
		loop_turn_clock(f->loop, 1000);
	}
	loop_turn_clock(f->loop, 120000);
	finish(f);
	assert_string_equal("Yes?", str_cstr(&f->text));
	assert_non_null(strstr(str_cstr(&f->notices), TOLD("Seven.")));
}

/* --- Answers that do not come ----------------------------------------------------------------- */

static void seek(struct fix *f)
{
	for (int i = 0; i < PATIENCE && !f->done; i++) {
		assert_int_equal(0, loop_step(f->loop, 20, NULL));
		loop_turn_clock(f->loop, 100);
	}
	assert_true(f->done);
}

static void a_swallowed_prompt_is_answered_from_the_history(void **state)
{
	struct fix *f = *state;

	/* with hooks that tell when, and without */
	for (int hooks = 0; hooks < 2; hooks++) {
		with_hooks(f,
			"{\"session/prompt\":[" END
			"]," LOADS(USER("an old one") "," TEXT("Old.") "," NOTICE_OF("b1") "," TEXT(
				"Seven.") "," USER("hello there") "," TEXT("Hi **you**.") ",") "}");
		if (!hooks) {
			f->engine->ops->close(&f->engine);
			f->hooks_home = NULL;
			open_engine(f);
		}
		begin(f, "hello there");
		seek(f);
		assert_int_equal(ENGINE_OK, f->fail);
		assert_string_equal("Hi **you**.", str_cstr(&f->text));
	}
	assert_string_equal("", str_cstr(&f->notices));
}

static void an_old_answer_to_the_same_words_is_not_taken_for_it(void **state)
{
	struct fix *f = *state;

	with_hooks(f,
		"{\"session/prompt\":[[" TEXT(
			"Old.") "," STOP "," END "],[" END
				"]],\"session/load\":[[" USER("hello") "," TEXT("Old.") ",{\"result\":{}}],[" USER(
					"hello") "," TEXT("Old.") "," USER("hello") "," TEXT("New.") ",{\"result\":{}}]]}");
	ask(f, "hello");
	begin(f, "hello");
	seek(f);
	assert_int_equal(ENGINE_OK, f->fail);
	assert_string_equal("New.", str_cstr(&f->text));
}

/* What was asked before it stands in front of the question, with words of the agent's own. */
#define COMPRESSED \
	USER("hello") \
	"," USER("hello") "," USER("A summary.") "," USER( \
		"<system-reminder>Go on.</system-reminder>")

static void it_is_found_behind_a_history_that_was_compressed(void **state)
{
	struct fix *f = *state;

	with_hooks(f, "{\"session/prompt\":[[" TEXT("Old.") "," STOP "," END "],[" TEXT(
			      "Done.") "," END "],[" END
				       "]],\"session/load\":[[" USER("hello") "," TEXT(
					       "Old.") ",{\"result\":{}}],[" COMPRESSED
						       ",{\"result\":{}}],[" COMPRESSED
						       "," USER("hello you") "," TEXT(
							       "New.") ",{\"result\":{}}]]}");
	ask(f, "hello");
	ask(f, "/compact");
	begin(f, "hello you");
	seek(f);
	assert_int_equal(ENGINE_OK, f->fail);
	assert_string_equal("New.", str_cstr(&f->text));
}

static void an_old_answer_is_not_taken_for_it_behind_a_command(void **state)
{
	struct fix *f = *state;

	with_hooks(f, "{\"session/prompt\":[[" TEXT("Old.") "," STOP "," END "],[" TEXT(
			      "Done.") "," END "],[" END
				       "]],\"session/load\":[[" USER("hello") "," TEXT(
					       "Old.") ",{\"result\":{}}],[" COMPRESSED
						       "," USER("hello") "," TEXT(
							       "New.") ",{\"result\":{}}]]}");
	ask(f, "hello");
	ask(f, "/compact");
	begin(f, "hello");
	seek(f);
	assert_int_equal(ENGINE_OK, f->fail);
	assert_string_equal("New.", str_cstr(&f->text));
}

static void it_is_waited_for_while_there_is_hope(void **state)
{
	struct fix *f = *state;

	with_hooks(f,
		"{\"session/prompt\":[" BEGIN "," END ",{\"sleep_ms\":100}," STOP
		"],\"session/load\":[[" NOTICE_OF("b1") "," TEXT("Seven.") "," USER(
			"hello") "," CALL
				 ",{\"result\":{}}],[" NOTICE_OF("b1") "," TEXT("Seven.") "," USER(
					 "hello") "," CALL "," TEXT("Hi.") ",{\"result\":{}}]]}");
	begin(f, "hello");
	seek(f);
	assert_int_equal(ENGINE_OK, f->fail);
	assert_string_equal("Hi.", str_cstr(&f->text));
}

static void without_hope_it_is_an_empty_answer(void **state)
{
	struct fix *f = *state;

	with_hooks(f, "{\"session/prompt\":[" END "]," LOADS(USER("hello") ",") "}");
	begin(f, "hello");
	seek(f);
	assert_int_equal(ENGINE_FAIL_AGENT_EMPTY, f->fail);
	assert_int_equal(1, count(f, "\"session/load\""));
}

static void hope_has_an_end(void **state)
{
	struct fix *f = *state;
	int64_t began;

	with_hooks(f, "{\"session/prompt\":[" END "]," LOADS(NOTICE_OF("b1") ",") "}");
	began = loop_now(f->loop);
	begin(f, "hello");
	for (int i = 0; i < PATIENCE && !f->done; i++) {
		step(f);
		loop_turn_clock(f->loop, 5000);
	}
	assert_int_equal(ENGINE_FAIL_AGENT_EMPTY, f->fail);
	assert_true(loop_now(f->loop) - began >= (int64_t)10 * 60000);
}

static void one_that_is_sought_can_be_stopped(void **state)
{
	struct fix *f = *state;

	with_hooks(f, "{\"session/prompt\":[" END "]," LOADS(NOTICE_OF("b1") ",") "}");
	begin(f, "hello");
	await(f, "\"session/load\"");
	f->engine->ops->cancel(f->engine, f->turn);
	finish(f);
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	await(f, "\"session/cancel\"");
	ask(f, "/sessions");
}

static void why_its_model_has_failed_is_told(void **state)
{
	static const struct {
		const char *steps, *detail;
		enum engine_fail fail;
	} table[] = {
		{ FAILURE("400 bad request") "," END, "400 bad request", ENGINE_FAIL_REFUSED },
		{ END "," FAILURE("429 slow down"), "429 slow down", ENGINE_FAIL_QUOTA },
		{ END "," FAILURE("402 pay"), "402 pay", ENGINE_FAIL_QUOTA },
		{ END "," FAILURE("503 busy"), "503 busy", ENGINE_FAIL_PROVIDER },
		{ END "," FAILURE("odd: sk-Ab12Cd34Ef56Gh78Ij90Kl12"), "odd: [redacted]",
			ENGINE_FAIL_PROVIDER },
		{ STOP "," END, "", ENGINE_FAIL_AGENT_EMPTY },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[2000];

		(void)snprintf(script, sizeof(script), "{\"session/prompt\":[%s]}", table[i].steps);
		with_hooks(f, script);
		ask(f, "hello");
		assert_int_equal(table[i].fail, f->fail);
		assert_string_equal(table[i].detail, f->detail);
		assert_int_equal(0, count(f, "\"session/load\""));
	}
}

/* --- A context that is compressed behind the end of a turn ------------------------------------ */

#define PACKS "It runs in the background and applies once it finishes."
#define YES   "],[" TEXT("Yes?") "," END "]]}"

static void a_command_that_goes_on_ends_when_its_end_is_told(void **state)
{
	static const char *const ends[] = { "Compaction completed.", "Compaction cancelled." };
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char script[2000], told[200];

		(void)snprintf(script, sizeof(script),
			"{\"session/prompt\":[[" TEXT(PACKS) "," END "," TEXT("%s") YES, ends[i]);
		(void)snprintf(told, sizeof(told), PACKS "\n\n%s", ends[i]);
		with_hooks(f, script);
		ask(f, "/compact");
		assert_int_equal(ENGINE_OK, f->fail);
		assert_string_equal(told, str_cstr(&f->text));
		ask(f, "are you there?");
		assert_string_equal("Yes?", str_cstr(&f->text));
	}
	assert_string_equal("", str_cstr(&f->notices));
}

static void what_does_not_go_on_ends_at_once(void **state)
{
	static const struct {
		const char *asked, *said, *answer;
	} table[] = {
		{ "/compact", TEXT("Compacted."), "Compacted." },
		{ "/compact now", TEXT(PACKS) "," TEXT(" Compaction completed."),
			PACKS " Compaction completed." },
		{ "/compactor", TEXT(PACKS), PACKS },
		{ "how is it?", TEXT(PACKS), PACKS },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char script[2000];

		(void)snprintf(script, sizeof(script), "{\"session/prompt\":[%s," END "]}",
			table[i].said);
		with_hooks(f, script);
		ask(f, table[i].asked);
		assert_int_equal(ENGINE_OK, f->fail);
		assert_string_equal(table[i].answer, str_cstr(&f->text));
	}
}

static void an_end_that_is_not_told_is_waited_for_ten_minutes(void **state)
{
	struct fix *f = *state;
	int64_t began = loop_now(f->loop);

	with_hooks(f, "{\"session/prompt\":[[" TEXT(PACKS) "," END YES);
	begin(f, "/compact");
	for (int i = 0; i < PATIENCE && !f->done; i++) {
		step(f);
		loop_turn_clock(f->loop, 5000);
	}
	assert_int_equal(ENGINE_OK, f->fail);
	assert_non_null(strstr(str_cstr(&f->text), "no longer waited for"));
	assert_true(loop_now(f->loop) - began >= (int64_t)10 * 60000);
	ask(f, "are you there?");
	assert_string_equal("Yes?", str_cstr(&f->text));
}

/* As soon as it has said so, and later. */
static void one_that_is_stopped_goes_on_and_the_next_prompt_waits(void **state)
{
	struct fix *f = *state;

	for (int later = 0; later < 2; later++) {
		with_hooks(f,
			"{\"session/prompt\":[[" TEXT(PACKS) "," END
							     ",{\"until\":\"session/list\"}," TEXT(
								     "Compaction completed.") YES);
		f->cancel_on_text = !later;
		begin(f, "/compact");
		for (int i = 0; i < PATIENCE && f->text.n == 0; i++)
			step(f);
		for (int i = 0; later && i < 10; i++)
			step(f);
		f->cancel_on_text = false;
		f->engine->ops->cancel(f->engine, f->turn);
		finish(f);
		assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
		begin(f, "are you there?");
		hear(f, "{user: The agent still compresses the conversation; your message is next.}");
		/* two of the round before */
		assert_int_equal(1 + 2 * later, count(f, "\"session/prompt\""));
		f->engine->ops->cancel(f->engine, f->turn);
		finish(f);
		ask(f, "/sessions");
		begin(f, "are you there?");
		seek(f);
		assert_string_equal("Yes?", str_cstr(&f->text));
	}
}

static void an_agent_that_ends_meanwhile_is_told(void **state)
{
	struct fix *f = *state;

	with_hooks(f, "{\"session/prompt\":[[" TEXT(PACKS) "," END ",{\"exit\":3}" YES);
	ask(f, "/compact");
	assert_int_equal(ENGINE_FAIL_AGENT_ENDED, f->fail);
	assert_int_equal(1, count(f, "\"session/prompt\""));
}

/* --- Rules that hold meanwhile ---------------------------------------------------------------- */

#define V(v) "{\"value\":\"" v "\",\"name\":\"" v "\"}"
#define SELECT(id, category, values) \
	"{\"type\":\"select\",\"id\":\"" id "\",\"name\":\"n\",\"category\":\"" category \
	"\",\"currentValue\":\"one\",\"options\":[" values "]}"
#define OPTIONS \
	"\"session/new\":[{\"result\":{\"sessionId\":\"$session\",\"configOptions\":[" SELECT("m", \
		"model", \
		V("one") "," V("two")) "," SELECT("o", "mode", V("one") "," V("two")) "]}}]"
#define SET "\"method\":\"session/set_config_option\""

static void settings_wait_for_background_work_and_modes_are_refused(void **state)
{
	struct fix *f = *state;
	struct acp_settings stricter = { .mode = "two" };

	with_hooks(f, BEGINS("") OPTIONS "}");
	ask(f, "hello");
	ask(f, "/model two");
	assert_non_null(strstr(str_cstr(&f->text), "once the background work is done"));
	ask(f, "/mode two");
	assert_non_null(strstr(str_cstr(&f->text), "was not changed"));
	assert_int_equal(0, count(f, SET));
	ask(f, "go on"); /* as it was */
	assert_string_equal("It runs.", str_cstr(&f->text));
	assert_int_equal(0, count(f, SET));
	assert_int_equal(0, acp_set(f->engine, &stricter, NULL));
	ask(f, "go on");
	assert_non_null(strstr(str_cstr(&f->text), "was not taken up"));
	assert_int_equal(2, count(f, "\"session/prompt\""));
	assert_int_equal(0, count(f, SET));
}

static void a_new_conversation_leaves_it_at_work(void **state)
{
	struct fix *f = *state;
	struct str reply = STR_INIT(4096);

	with_hooks(f,
		"{\"session/prompt\":[[" TEXT("It runs.") "," STARTED("b1") "," END "],[" TEXT(
			"hi") ",{\"hook\":{\"hook_event_name\":\"Notification\",\"session_id\":\"s1\","
			      "\"source_kind\":\"background_task\",\"notification_type\":\"task.completed\","
			      "\"source_id\":\"b1\",\"body\":\"Done.\"}}," END "]]}");
	ask(f, "hello");
	assert_int_equal(0, f->engine->ops->command(f->engine, ENGINE_CMD_NEW, f->user, VIEW_NONE,
				    "en", &reply, NULL));
	assert_non_null(strstr(str_cstr(&reply), "goes on"));
	ask(f, "hello");
	assert_int_equal(2, count(f, "\"session/new\""));
	hear(f, TOLD("Done."));
	str_release(&reply);
}

static void what_our_own_end_has_cut_short_is_told_at_the_next_start(void **state)
{
	struct fix *f = *state;

	with_hooks(f, BEGINS("," STARTED("b2") "," ENDED("b2")) LOADS("") "}");
	ask(f, "hello");
	told(f, 3);
	str_reset(&f->notices);
	with_hooks(f, "{" SAYS("hi") "}");
	hear(f, "}{");
	assert_string_equal("{user: Kairo was ended, and with it what the agent did in the "
			    "background: Counts herons}{user: Kairo was ended, and with it what "
			    "the agent did in the background: Counts herons}",
		str_cstr(&f->notices));
	str_reset(&f->notices);
	with_hooks(f, "{" SAYS("hi") "}");
	ask(f, "hello");
	assert_string_equal("", str_cstr(&f->notices));
}

static void it_stands_in_the_status(void **state)
{
	struct fix *f = *state;
	struct str said = STR_INIT(4096);

	with_hooks(f, BEGINS("," STARTED("b2")) LOADS("") "}");
	ask(f, "hello");
	told(f, 2);
	f->engine->ops->describe(f->engine, false, &said);
	assert_non_null(strstr(str_cstr(&said), ", 2 background tasks"));
	str_reset(&said);
	f->engine->ops->describe(f->engine, true, &said);
	assert_string_equal("scripted（scripted 1.0），有 2 个后台任务", str_cstr(&said));
	str_release(&said);
}

static void add_job(void *arg, const struct engine_job *job)
{
	str_addf(arg, "{%s %.*s %lld}", job->ended ? "ended" : "running", VIEW_FMT(job->what),
		(long long)job->age_ms / 1000);
}

static void each_is_named_with_its_age(void **state)
{
	struct fix *f = *state;
	struct str said = STR_INIT(4096);

	with_hooks(f,
		BEGINS("," STARTED("b2") "," ENDED("b2") "," STARTED_AS("b3", LONG)) LOADS("") "}");
	f->engine->ops->jobs(f->engine, add_job, &said);
	assert_string_equal("", str_cstr(&said));
	ask(f, "hello");
	told(f, 4);
	loop_turn_clock(f->loop, 4200);
	f->engine->ops->jobs(f->engine, add_job, &said);
	assert_string_equal("{running Counts herons 4}{running " CUT " 4}{ended Counts herons 4}",
		str_cstr(&said));
	str_release(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_agents_own_word_of_it_is_told_once),
		T(in_chinese),
		T(without_its_word_the_output_is_told),
		T(the_file_that_it_has_made_is_sent_along),
		T(without_output_its_end_is),
		T(a_long_output_is_cut_and_says_so),
		T(an_agent_that_was_the_task_has_its_answer_told),
		T(a_try_that_only_began_another_is_not_told),
		T(a_look_that_fails_says_why_and_shows_the_output),
		T(one_that_streams_what_it_says_is_heard_as_it_is),
		T(what_is_not_over_yet_is_read_again),
		T(its_end_takes_what_ran_with_it),
		T(hooks_of_other_sessions_are_refused),
		T(a_prompt_waits_while_the_agent_looks_at_a_result),
		T(one_that_waits_long_is_told_so_once_and_can_be_stopped),
		T(an_end_that_was_lost_is_found_out),
		T(a_swallowed_prompt_is_answered_from_the_history),
		T(an_old_answer_to_the_same_words_is_not_taken_for_it),
		T(it_is_found_behind_a_history_that_was_compressed),
		T(an_old_answer_is_not_taken_for_it_behind_a_command),
		T(it_is_waited_for_while_there_is_hope),
		T(without_hope_it_is_an_empty_answer),
		T(hope_has_an_end),
		T(one_that_is_sought_can_be_stopped),
		T(why_its_model_has_failed_is_told),
		T(a_command_that_goes_on_ends_when_its_end_is_told),
		T(what_does_not_go_on_ends_at_once),
		T(an_end_that_is_not_told_is_waited_for_ten_minutes),
		T(one_that_is_stopped_goes_on_and_the_next_prompt_waits),
		T(an_agent_that_ends_meanwhile_is_told),
		T(settings_wait_for_background_work_and_modes_are_refused),
		T(a_new_conversation_leaves_it_at_work),
		T(what_our_own_end_has_cut_short_is_told_at_the_next_start),
		T(it_stands_in_the_status),
		T(each_is_named_with_its_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
