/* A conversation over its turns: summaries, the list, usage, the choice of a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "rig.h"

#define WINDOW 8000 /* 6000 tokens of room, 4800 before a summary is due */
#define DAY_MS 86400000LL

static struct str reply;

static int fresh(void **state)
{
	reply = (struct str)STR_INIT(64 << 10);
	return setup(state);
}

static int gone(void **state)
{
	str_release(&reply);
	return teardown(state);
}

static int command_as(const char *who, enum engine_command cmd, const char *arg, struct err *e)
{
	str_reset(&reply);
	return fix.engine->ops->command(fix.engine, cmd, who, view_of(arg), "en", &reply, e);
}

static void command(enum engine_command cmd, const char *arg)
{
	struct err e = ERR_INIT;

	if (command_as("me", cmd, arg, &e) < 0)
		fail_msg("%s", e.msg);
}

static bool said(const char *word)
{
	return strstr(str_cstr(&reply), word);
}

static int64_t number(const char *sql)
{
	struct err e = ERR_INIT;
	struct stmt *s;
	int64_t n;

	if (stmt_open(&s, fix.db, sql, &e) < 0 || stmt_step(s, &e) != 1)
		fail_msg("%s", e.msg);
	n = stmt_col_int(s, 0);
	stmt_close(&s);
	return n;
}

/* A round of about so many tokens. */
static void round_of(const char *question, int tokens)
{
	struct str s = STR_INIT(1 << 20);

	(void)str_adds(&s, question);
	for (int i = 0; i < tokens; i++)
		(void)str_adds(&s, " abc");
	lm_text(fix.lm, str_cstr(&s));
	run(question);
	str_release(&s);
}

static void open_with_window(int64_t tokens)
{
	fix.env.model.context_tokens = tokens;
	open_engine();
}

/* --- Summaries -------------------------------------------------------------------------------- */

static void older_rounds_give_way_to_a_summary_in_time(void **state)
{
	(void)state;
	open_with_window(WINDOW);
	round_of("first", 1400);
	round_of("second", 1400);
	round_of("third", 1400);
	lm_text(fix.lm, "They spoke of the first things.");
	lm_text(fix.lm, "the answer");
	run("fourth");
	ends(ENGINE_OK, "the answer");
	assert_string_equal("the answer",
		str_cstr(&fix.text)); /* nothing of the summary is shown */
	assert_true(asked(3, "User: first") && !asked(3, "User: second") && !asked(3, "\"tools\""));
	assert_true(asked(4, "They spoke of the first things."));
	assert_true(asked(4, "\"second\"") && asked(4, "\"third\"") && asked(4, "\"fourth\""));
	assert_false(asked(4, "\"first\""));
	protocol_is_kept(4);
	/* It lasts. */
	open_with_window(WINDOW);
	lm_text(fix.lm, "another");
	run("fifth");
	assert_true(asked(5, "They spoke of the first things.") && !asked(5, "\"first\""));
	protocol_is_kept(5);
}

static void nothing_is_summarised_below_the_threshold(void **state)
{
	(void)state;
	open_with_window(WINDOW);
	for (int i = 0; i < 4; i++)
		round_of("a round", 500);
	assert_int_equal(4, lm_requests(fix.lm));
	assert_int_equal(0, number("SELECT count(*) FROM react_summary"));
}

static void a_summary_of_a_summary_carries_on(void **state)
{
	(void)state;
	open_with_window(WINDOW);
	for (int i = 0; i < 3; i++)
		round_of("early", 1400);
	lm_text(fix.lm, "MEMORY ONE");
	round_of("later", 1400);
	lm_text(fix.lm, "MEMORY TWO");
	round_of("last", 1400);
	assert_true(asked(5, "Assistant: MEMORY ONE") && asked(5, "User: early"));
	assert_true(asked(6, "MEMORY TWO") && !asked(6, "MEMORY ONE"));
	protocol_is_kept(6);
	assert_int_equal(1, number("SELECT count(*) FROM react_summary"));
	assert_int_equal(2, number("SELECT upto FROM react_summary"));
}

/* The turn goes on with what fits, and the history is as it was. */
static void a_summary_that_will_not_do_changes_nothing(void **state)
{
	struct str longest = STR_INIT(1 << 20), as_long = STR_INIT(1 << 20);
	const char *bad[4] = { "", " \n ", NULL, NULL };

	(void)state;
	for (int i = 0; i < 20001; i++)
		(void)str_adds(&longest, "x");
	for (int i = 0; i < 6000; i++)
		(void)str_adds(&as_long, "长");
	bad[2] = str_cstr(&longest);
	bad[3] = str_cstr(&as_long); /* as what it stands for */
	open_with_window(WINDOW);
	for (int i = 0; i < 3; i++)
		round_of("early", 1400);
	for (int i = 0; i < 4; i++) {
		lm_text(fix.lm, bad[i]);
		lm_text(fix.lm, "fine");
		run("go on");
		ends(ENGINE_OK, "fine");
		assert_int_equal(5 + 2 * i, lm_requests(fix.lm));
		assert_int_equal(0, number("SELECT count(*) FROM react_summary"));
		protocol_is_kept(4 + 2 * i);
	}
	assert_int_equal(7, number("SELECT count(DISTINCT round) FROM react_message"));
	str_release(&longest);
	str_release(&as_long);
}

static void a_summary_may_have_twenty_thousand_characters(void **state)
{
	struct str longest = STR_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 20000; i++)
		(void)str_adds(&longest, "x");
	open_with_window(40000);
	for (int i = 0; i < 3; i++)
		round_of("early", 9000);
	lm_text(fix.lm, str_cstr(&longest));
	lm_text(fix.lm, "fine");
	run("go on");
	assert_int_equal(1, number("SELECT count(*) FROM react_summary"));
	str_release(&longest);
}

static void a_model_that_fails_at_the_summary_answers_all_the_same(void **state)
{
	(void)state;
	open_with_window(WINDOW);
	for (int i = 0; i < 3; i++)
		round_of("early", 1400);
	lm_reply(fix.lm, 400, NULL, VIEW("{\"error\":\"no\"}"), 0, LM_END);
	lm_text(fix.lm, "fine");
	run("go on");
	ends(ENGINE_OK, "fine");
	assert_int_equal(0, number("SELECT count(*) FROM react_summary"));
}

static void a_transcript_has_sixty_thousand_characters_at_most(void **state)
{
	struct json_limits lim = json_limits_wire;
	const struct json *messages, *last = NULL;
	struct err e = ERR_INIT;
	struct view text;
	struct json *j;
	size_t n = 0;

	(void)state;
	lim.bytes = (size_t)16 << 20;
	open_with_window(400000);
	for (int i = 0; i < 25; i++)
		round_of("a question", 2000); /* the answer is cut to 4000 */
	lm_text(fix.lm, "SUMMARY");
	run("/compact");
	assert_int_equal(0, json_read(&j, view_of(lm_body(fix.lm, 25)), &lim, &e));
	assert_int_equal(1, json_get_array(j, "messages", JSON_REQUIRED, 10, &messages, &e));
	json_each(m, messages)
		last = m;
	assert_int_equal(1, json_get_str(last, "content", JSON_REQUIRED, 1, 1 << 20, &text, &e));
	assert_in_range(text.n, 50000, 60000);
	assert_true(asked(25, "[older messages are left out here]"));
	for (const char *at = text.p; (at = memmem(at, (size_t)(text.p + text.n - at), "User:", 5));
		at++)
		n++;
	assert_in_range(n, 12, 15);
	json_free(&j);
}

static void compact_keeps_the_newest_round(void **state)
{
	(void)state;
	round_of("first", 1200);
	round_of("second", 1200);
	round_of("third", 300);
	lm_text(fix.lm, "SHORT MEMORY");
	run("/compact");
	assert_int_equal(ENGINE_OK, fix.fail);
	assert_non_null(strstr(str_cstr(&fix.answer), "is a summary now"));
	assert_string_equal("", str_cstr(&fix.text));
	assert_true(asked(3, "User: second") && !asked(3, "User: third"));
	lm_text(fix.lm, "ok");
	run("on");
	assert_true(asked(4, "SHORT MEMORY") && asked(4, "\"third\"") && !asked(4, "\"second\""));
	assert_false(asked(4, "/compact")); /* it is no part of the conversation */
	protocol_is_kept(4);
}

static void compact_with_nothing_to_do_asks_nobody(void **state)
{
	(void)state;
	run("/compact");
	ends(ENGINE_OK, "There is nothing to compress: the conversation is short.");
	round_of("only one", 3000);
	run("/compact");
	ends(ENGINE_OK, "There is nothing to compress: the conversation is short.");
	assert_int_equal(1, lm_requests(fix.lm));
}

static void compact_that_fails_says_why(void **state)
{
	(void)state;
	round_of("first", 1200);
	round_of("second", 1200);
	lm_reply(fix.lm, 401, NULL, VIEW("{\"error\":\"bad key\"}"), 0, LM_END);
	run("/compact");
	assert_int_equal(ENGINE_FAIL_AUTH, fix.fail);
	lm_text(fix.lm, " ");
	run("/compact");
	assert_int_equal(ENGINE_FAIL_EMPTY, fix.fail);
	assert_int_equal(0, number("SELECT count(*) FROM react_summary"));
}

static void compact_is_stopped_at_once(void **state)
{
	(void)state;
	round_of("first", 1200);
	round_of("second", 1200);
	raw(VIEW_NONE, 0, LM_STALL);
	begin("/compact");
	wait_log("idle -> compacting");
	while (lm_requests(fix.lm) < 3)
		step();
	fix.engine->ops->cancel(fix.engine, fix.turn);
	wait_done();
	ends(ENGINE_FAIL_CANCELLED, "");
	assert_int_equal(0, lm_open(fix.lm));
	assert_int_equal(0, number("SELECT count(*) FROM react_summary"));
	assert_int_equal(2, number("SELECT count(DISTINCT round) FROM react_message"));
}

static void a_conversation_that_changed_meanwhile_is_left_alone(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	round_of("first", 1200);
	round_of("second", 1200);
	lm_text(fix.lm, "MEMORY");
	begin("/compact");
	wait_log("idle -> compacting");
	assert_int_equal(0,
		db_exec(fix.db,
			"INSERT INTO react_message(session, round, seq, role, text, tokens, bytes)"
			" SELECT session, 3, seq, role, text, tokens, bytes FROM react_message WHERE round = 2",
			&e));
	wait_done();
	assert_int_equal(ENGINE_FAIL_STORAGE, fix.fail);
	assert_true(detail_has("has changed meanwhile"));
	assert_int_equal(0, number("SELECT count(*) FROM react_summary"));
}

static void too_long_is_summarised_and_asked_once_more(void **state)
{
	const struct view full = VIEW("{\"error\":{\"code\":\"context_length_exceeded\"}}");

	(void)state;
	round_of("first", 700);
	round_of("second", 700);
	lm_reply(fix.lm, 400, NULL, full, 0, LM_END);
	lm_text(fix.lm, "MEMORY");
	lm_text(fix.lm, "the answer");
	run("third");
	ends(ENGINE_OK, "the answer");
	assert_true(asked(4, "MEMORY") && asked(4, "\"third\"") && !asked(4, "\"second\""));
	/* And when that is too long as well, it is told. */
	round_of("fourth", 700);
	lm_reply(fix.lm, 400, NULL, full, 0, LM_END);
	lm_text(fix.lm, "MEMORY 2");
	lm_reply(fix.lm, 400, NULL, full, 0, LM_END);
	run("fifth");
	ends(ENGINE_FAIL_TOO_LONG, "");
	assert_int_equal(9, lm_requests(fix.lm));
}

static void the_tokens_of_a_summary_count(void **state)
{
	static const char *const answer[] = {
		"{\"choices\":[{\"delta\":{\"content\":\"MEMORY\"},\"finish_reason\":\"stop\"}],"
		"\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":50}}",
		NULL
	};

	(void)state;
	round_of("first", 700);
	round_of("second", 700);
	lm_events(fix.lm, answer);
	run("/compact");
	assert_int_equal(1000, fix.in);
	assert_int_equal(50, fix.out);
	assert_int_equal(1000, number("SELECT sum(tokens_in) FROM react_usage"));
}

static void a_damaged_summary_gives_way_to_the_rounds(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	round_of("first", 700);
	round_of("second", 700);
	lm_text(fix.lm, "MEMORY");
	run("/compact");
	assert_int_equal(0, db_exec(fix.db, "UPDATE react_summary SET text = ''", &e));
	lm_text(fix.lm, "ok");
	run("on");
	assert_true(asked(3, "\"first\"") && asked(3, "\"second\""));
	protocol_is_kept(3);
}

/* --- Conversations ---------------------------------------------------------------------------- */

static void conversations_are_listed_and_opened_by_number(void **state)
{
	(void)state;
	command(ENGINE_CMD_LIST, "");
	assert_true(said("no conversation yet"));
	round_of("the first <b>thing</b>\nwith a line and so many more words", 1);
	loop_turn_clock(fix.loop, 180000);
	command(ENGINE_CMD_NEW, "");
	round_of("another thing", 1);
	command(ENGINE_CMD_LIST, "");
	assert_true(said("1. another thing (just now, open)\n2. the first "));
	assert_true(said("… (3 min ago)\n/open 2"));
	command(ENGINE_CMD_OPEN, "2");
	assert_true(said("Back in this conversation: the first"));
	lm_text(fix.lm, "ok");
	run("go on");
	assert_true(asked(2, "the first ") && !asked(2, "another thing"));
	for (size_t i = 0; i < 5; i++) {
		static const char *const wrong[] = { "", "0", "3", "-1", "two" };

		command(ENGINE_CMD_OPEN, wrong[i]);
		assert_true(said("Send its number"));
	}
}

static void conversations_of_others_are_not_seen(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	round_of("mine", 1);
	assert_int_equal(0, command_as("somebody", ENGINE_CMD_LIST, "", &e));
	assert_true(said("no conversation yet"));
	assert_int_equal(0, command_as("somebody", ENGINE_CMD_OPEN, "1", &e));
	assert_true(said("Send its number"));
}

static void a_damaged_table_is_told(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(0, db_exec(fix.db, "DROP TABLE react_open", &e));
	assert_int_equal(-1, command_as("me", ENGINE_CMD_NEW, "", &e));
	assert_non_null(strstr(e.msg, "react_open"));
	err_clear(&e);
	assert_int_equal(-1, command_as("me", ENGINE_CMD_LIST, "", &e));
}

/* --- Usage ------------------------------------------------------------------------------------ */

static void answer_with_usage(const char *usage)
{
	char text[400];
	const char *events[2] = { text, NULL };

	(void)snprintf(text, sizeof(text),
		"{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]%s}",
		usage);
	lm_events(fix.lm, events);
	run("go");
}

static void usage_is_told_by_conversation_and_day(void **state)
{
	(void)state;
	command(ENGINE_CMD_USAGE, "");
	assert_string_equal("This conversation: nothing used\nToday: nothing used",
		str_cstr(&reply));
	answer_with_usage(",\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,"
			  "\"prompt_tokens_details\":{\"cached_tokens\":60}}");
	command(ENGINE_CMD_NEW, "");
	answer_with_usage(",\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2}");
	answer_with_usage("");
	command(ENGINE_CMD_USAGE, "");
	assert_string_equal(
		"This conversation: 10 tokens in (0 of them cached), 2 out, and 1 answer(s) "
		"without figures\nToday: 110 tokens in (60 of them cached), 9 out, and 1 "
		"answer(s) without figures",
		str_cstr(&reply));
	loop_turn_clock(fix.loop, DAY_MS);
	answer_with_usage("");
	command(ENGINE_CMD_USAGE, "");
	assert_true(said("Today: unknown: the model service gives no figures"));
	assert_true(said("This conversation: 10 tokens in"));
}

/* --- The model -------------------------------------------------------------------------------- */

static struct {
	int saves;
	char provider[32], name[64], keyless[32];
	bool save_fails;
} chosen;

static int look(void *arg, const char *provider, const char *name, struct react_model *out,
	enum speech *why, struct err *e)
{
	(void)arg;
	*why = SPEECH_WHY_NO_KEY;
	if (strcmp(provider, chosen.keyless) == 0)
		return err_set(e, E_DENIED, "no key for %s is stored", provider);
	*out = fix.env.model;
	out->provider = provider;
	out->name = name[0] ? name : "default-model";
	return 0;
}

static int save(void *arg, const char *provider, const char *name, struct err *e)
{
	(void)arg;
	if (chosen.save_fails)
		return err_set(e, E_FULL, "the disk is full");
	chosen.saves++;
	(void)snprintf(chosen.provider, sizeof(chosen.provider), "%s", provider);
	(void)snprintf(chosen.name, sizeof(chosen.name), "%s", name);
	return 0;
}

static void open_with_choice(void)
{
	static const struct react_choice choice = { look, save, NULL };

	memset(&chosen, 0, sizeof(chosen));
	(void)snprintf(chosen.keyless, sizeof(chosen.keyless), "zhipu");
	fix.env.choice = &choice;
	open_engine();
}

static void the_model_changes_from_the_next_turn_on(void **state)
{
	(void)state;
	open_with_choice();
	command(ENGINE_CMD_MODEL, "kimi/kimi-k2.6");
	assert_string_equal("kimi", chosen.provider);
	assert_string_equal("kimi-k2.6", chosen.name);
	assert_true(said("from the next message on: kimi kimi-k2.6 at 127.0.0.1"));
	lm_text(fix.lm, "ok");
	run("hello");
	assert_true(asked(0, "\"model\":\"kimi-k2.6\""));
	command(ENGINE_CMD_MODEL, "月之暗面"); /* an alias alone: the default model */
	assert_string_equal("", chosen.name);
	command(ENGINE_CMD_MODEL, "some/model"); /* no provider of that name: the present one's */
	assert_string_equal("kimi", chosen.provider);
	assert_string_equal("some/model", chosen.name);
	lm_text(fix.lm, "ok");
	run("hello");
	assert_true(asked(1, "\"model\":\"some/model\""));
}

static void a_running_turn_keeps_its_model(void **state)
{
	(void)state;
	open_with_choice();
	make("a.txt", VIEW("text"));
	lm_call(fix.lm, "c1", "read_file", "{\"path\":\"a.txt\"}");
	lm_text(fix.lm, "done");
	begin("go");
	command(ENGINE_CMD_MODEL, "other");
	assert_true(said("next message on: other"));
	command(ENGINE_CMD_MODEL, "third"); /* and the last choice counts */
	wait_done();
	ends(ENGINE_OK, "done");
	assert_true(asked(1, "\"model\":\"test-model\""));
	lm_text(fix.lm, "ok");
	run("again");
	assert_true(asked(2, "\"model\":\"third\""));
}

static void a_choice_that_cannot_be_kept_changes_nothing(void **state)
{
	static const char *const wrong[] = { "zhipu", "two words", "line\nbreak", NULL };
	struct err e = ERR_INIT;

	(void)state;
	open_with_choice();
	for (int i = 0; wrong[i]; i++) {
		err_clear(&e);
		assert_int_equal(-1, command_as("me", ENGINE_CMD_MODEL, wrong[i], &e));
		assert_true(strlen(e.msg) > 0);
	}
	chosen.save_fails = true;
	assert_int_equal(-1, command_as("me", ENGINE_CMD_MODEL, "other", &e));
	assert_int_equal(0, chosen.saves);
	lm_text(fix.lm, "ok");
	run("hello");
	assert_true(asked(0, "\"model\":\"test-model\""));
}

static void the_models_are_listed(void **state)
{
	(void)state;
	open_with_choice();
	command(ENGINE_CMD_MODEL, "");
	assert_true(said("Now: test-model at 127.0.0.1, window 128000 tokens"));
	assert_true(said("\nkimi/kimi-k2.6  kimi-k2.5"));
	assert_true(said("\nNo key is stored for: zhipu"));
	fix.env.choice = NULL;
	open_engine();
	command(ENGINE_CMD_MODEL, "");
	assert_true(said("Now: test-model") && !said("kimi"));
}

/* --- Contracts in requests -------------------------------------------------------------------- */

static void thinking_call(void)
{
	static const char *const events[] = {
		"{\"choices\":[{\"delta\":{\"reasoning_content\":\"secret plan\",\"tool_calls\":["
		"{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"list_dir\",\"arguments\":\"{}\"}}]},"
		"\"finish_reason\":\"tool_calls\"}]}",
		NULL
	};

	lm_events(fix.lm, events);
}

static void reasoning_goes_back_in_later_turns_too(void **state)
{
	static const char *const last[] = {
		"{\"choices\":[{\"delta\":{\"reasoning_content\":\"afterthought\",\"content\":\"ok\"},"
		"\"finish_reason\":\"stop\"}]}",
		NULL
	};

	(void)state;
	fix.env.model.provider = "kimi";
	open_engine();
	thinking_call();
	lm_call(fix.lm, "y", "list_dir", "{}");
	lm_events(fix.lm, last);
	run("go");
	assert_true(asked(1, "\"reasoning_content\":\"secret plan\""));
	assert_true(asked(2, "\"reasoning_content\":\" \"")); /* calls never go without */
	open_engine();
	lm_text(fix.lm, "ok");
	run("again");
	assert_true(asked(3, "\"reasoning_content\":\"secret plan\""));
	assert_true(asked(3, "\"reasoning_content\":\"afterthought\""));
	protocol_is_kept(3);
	/* Another provider gets none of it. */
	fix.env.model.provider = "openai";
	open_engine();
	lm_text(fix.lm, "ok");
	run("again");
	assert_false(asked(4, "reasoning_content"));
}

/* Those who write it into the text do not want it back either, and a memory needs none. */
static void reasoning_in_the_text_is_not_kept(void **state)
{
	static const char *const events[] = {
		"{\"choices\":[{\"delta\":{\"content\":\"<think>secret plan</think>Looking.\","
		"\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"list_dir\","
		"\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}",
		NULL
	};

	(void)state;
	lm_events(fix.lm, events);
	lm_text(fix.lm, "it begins so\n</think>\n\n`<think>` is a tag");
	run("go");
	ends(ENGINE_OK, "`<think>` is a tag");
	assert_true(asked(1, "Looking.") && !asked(1, "secret"));
	lm_text(fix.lm, "<think>nothing to say</think>");
	run("again");
	ends(ENGINE_FAIL_EMPTY, "");
	assert_true(asked(2, "is a tag") && !asked(2, "secret") && !asked(2, "it begins so"));
	round_of("long", 1000);
	round_of("newest", 10);
	lm_text(fix.lm, "<think>what was it</think>MEMORY");
	run("/compact");
	assert_int_equal(ENGINE_OK, fix.fail);
	lm_text(fix.lm, "ok");
	run("and now");
	assert_true(asked(6, "\"MEMORY\"") && !asked(6, "what was it"));
}

static void requests_keep_the_providers_contract(void **state)
{
	(void)state;
	lm_call(fix.lm, "c", "list_dir", "{}");
	lm_text(fix.lm, "it is empty");
	run("look");
	fix.env.model.provider = "xfyun";
	open_engine();
	lm_text(fix.lm, "ok");
	run("go");
	assert_non_null(strstr(lm_head(fix.lm, 2), "lora_id: 0\r\n"));
	assert_false(asked(2, "\"tools\""));
	assert_true(asked(2, "No tools are available"));
	/* nor is it shown what a model before it did with them */
	assert_true(asked(2, "\"look\"") && asked(2, "it is empty"));
	assert_false(asked(2, "tool_calls") || asked(2, "\"tool\""));
	fix.env.model.provider = "step";
	fix.env.model.name = "step-3.5-flash-2603";
	open_engine();
	lm_text(fix.lm, "ok");
	run("go");
	assert_null(strstr(lm_head(fix.lm, 3), "lora_id"));
	assert_true(
		asked(3, "\"reasoning_format\":\"deepseek-style\",\"reasoning_effort\":\"high\""));
	assert_true(asked(3, "\"tools\"") && asked(3, "\"stream\":true"));
	assert_true(asked(3, "tool_calls"));
	assert_non_null(strstr(lm_head(fix.lm, 3), "Accept: text/event-stream\r\n"));
}

static void answers_may_be_asked_for_whole(void **state)
{
	const struct view body = VIEW(
		"{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"whole\"},"
		"\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}");

	(void)state;
	fix.env.model.whole = true;
	open_engine();
	lm_reply(fix.lm, 200, "Content-Type: application/json\r\n", body, 1, LM_END);
	run("go");
	ends(ENGINE_OK, "whole");
	assert_int_equal(5, fix.in);
	assert_true(asked(0, "\"stream\":false") && !asked(0, "stream_options"));
	assert_non_null(strstr(lm_head(fix.lm, 0), "Accept: application/json\r\n"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, fresh, gone)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(older_rounds_give_way_to_a_summary_in_time),
		T(nothing_is_summarised_below_the_threshold),
		T(a_summary_of_a_summary_carries_on),
		T(a_summary_that_will_not_do_changes_nothing),
		T(a_summary_may_have_twenty_thousand_characters),
		T(a_model_that_fails_at_the_summary_answers_all_the_same),
		T(a_transcript_has_sixty_thousand_characters_at_most),
		T(compact_keeps_the_newest_round),
		T(compact_with_nothing_to_do_asks_nobody),
		T(compact_that_fails_says_why),
		T(compact_is_stopped_at_once),
		T(a_conversation_that_changed_meanwhile_is_left_alone),
		T(too_long_is_summarised_and_asked_once_more),
		T(the_tokens_of_a_summary_count),
		T(a_damaged_summary_gives_way_to_the_rounds),
		T(conversations_are_listed_and_opened_by_number),
		T(conversations_of_others_are_not_seen),
		T(a_damaged_table_is_told),
		T(usage_is_told_by_conversation_and_day),
		T(the_model_changes_from_the_next_turn_on),
		T(a_running_turn_keeps_its_model),
		T(a_choice_that_cannot_be_kept_changes_nothing),
		T(the_models_are_listed),
		T(reasoning_goes_back_in_later_turns_too),
		T(reasoning_in_the_text_is_not_kept),
		T(requests_keep_the_providers_contract),
		T(answers_may_be_asked_for_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
