/* Sessions of an agent: what is set in them, how they are listed and taken up, and what is said
 * outside of any turn. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acp_rig.h"

#define V(v) "{\"value\":\"" v "\",\"name\":\"The " v "\"}"
#define SELECT(id, category, now, values) \
	"{\"type\":\"select\",\"id\":\"" id "\",\"name\":\"n\",\"category\":\"" category \
	"\",\"currentValue\":\"" now "\",\"options\":[" values "]}"
/* As Kimi offers them. */
#define OPTIONS(model, think, mode) \
	"\"configOptions\":[" SELECT("model", "model", model, \
		V("k2") "," V("k3")) "," SELECT("thinking", "thought_level", think, \
		V("off") "," V("low") "," V("high")) "," SELECT("mode", "mode", mode, \
		V("default") "," V("plan") "," V("yolo")) "]"
#define NEW(options) "\"session/new\":[{\"result\":{\"sessionId\":\"$session\"," options "}}]"
#define RESULT(r)    "[{\"result\":{" r "}}]"
#define SET          "\"method\":\"session/set_config_option\""
#define SET_TO(id, value) \
	SET ",\"params\":{\"sessionId\":\"s1\",\"configId\":\"" id "\",\"value\":\"" value "\"}"

static void reopen(struct fix *f, const char *script)
{
	f->engine->ops->close(&f->engine);
	write_script(f, script);
	open_engine(f);
}

/* The loop goes on until nothing is under way any more, and past the pause that ends a text. */
static void settle(struct fix *f)
{
	for (int i = 0; i < 5; i++)
		assert_int_equal(0, loop_step(f->loop, 20, NULL));
	loop_turn_clock(f->loop, 2000);
	assert_int_equal(0, loop_step(f->loop, 20, NULL));
}

static void assert_told(struct fix *f, const char *text)
{
	assert_int_equal(ENGINE_OK, f->fail);
	if (!strstr(str_cstr(&f->text), text))
		fail_msg("\"%s\" is not in \"%s\"", text, str_cstr(&f->text));
}

static void command(struct fix *f, enum engine_command cmd, struct str *reply)
{
	str_reset(reply);
	assert_int_equal(0, f->engine->ops->command(f->engine, cmd, f->user, VIEW_NONE, f->language,
				    reply, NULL));
}

/* --- Settings --------------------------------------------------------------------------------- */

static void settings_are_brought_to_each_session(void **state)
{
	struct fix *f = *state;

	f->settings = (struct acp_settings){ "k3", "high", "plan" };
	reopen(f,
		"{" NEW(OPTIONS("k2", "low", "default")) ",\"session/set_config_option\":[" RESULT(
			OPTIONS("k3", "low", "default")) "," RESULT(OPTIONS("k3", "high",
			"default")) "," RESULT(OPTIONS("k3", "high", "plan")) "]," SAYS("one") "}");
	ask(f, "hello");
	assert_string_equal("one", str_cstr(&f->text));
	assert_int_equal(3, count(f, SET));
	assert_int_equal(1, count(f, SET_TO("model", "k3")));
	assert_int_equal(1, count(f, SET_TO("thinking", "high")));
	assert_int_equal(1, count(f, SET_TO("mode", "plan")));
	ask(f, "again");
	assert_int_equal(3, count(f, SET));
	/* Kimi keeps model and thinking over its end, and the mode never. */
	reopen(f, "{\"session/resume\":" RESULT(OPTIONS("k3", "high", "default")) "," SAYS(
			  "one") "}");
	ask(f, "again");
	assert_int_equal(4, count(f, SET));
	assert_int_equal(2, count(f, SET_TO("mode", "plan")));
}

static void what_the_agent_changes_itself_is_left_alone(void **state)
{
	struct fix *f = *state;

	f->settings.mode = "plan";
	reopen(f, "{" NEW(OPTIONS("k2", "low",
			  "default")) ",\"session/set_config_option\":" RESULT(OPTIONS("k2", "low",
			  "plan")) ",\"session/prompt\":[{\"update\":{"
				   "\"sessionUpdate\":\"config_option_update\"," OPTIONS("k2",
					   "low", "default") "}}," TEXT("one") "," END "]}");
	ask(f, "hello");
	ask(f, "again");
	assert_int_equal(1, count(f, SET));
	ask(f, "/mode");
	assert_told(f, "1. default: The default (in use)");
}

static void a_change_of_the_settings_counts_from_the_next_turn(void **state)
{
	const struct acp_settings one = { "k3", "", NULL }, none = { "", "", "" };
	struct fix *f = *state;

	write_script(f,
		"{" NEW(OPTIONS("k2", "low", "default")) ",\"session/set_config_option\":[" RESULT(
			OPTIONS("k3", "low", "default")) "," RESULT(OPTIONS("k2", "low",
			"default")) "]," SAYS("one") "}");
	ask(f, "hello");
	assert_int_equal(0, acp_set(f->engine, &one, NULL));
	ask(f, "hello");
	assert_int_equal(1, count(f, SET_TO("model", "k3")));
	assert_int_equal(0, acp_set(f->engine, &none, NULL));
	ask(f, "hello"); /* its own again */
	assert_int_equal(1, count(f, SET_TO("model", "k2")));
	ask(f, "hello");
	assert_int_equal(2, count(f, SET));
}

static void a_setting_that_is_not_offered_is_told_once(void **state)
{
	struct fix *f = *state;

	f->settings = (struct acp_settings){ "k9", NULL, "plan" };
	reopen(f, "{" NEW(OPTIONS("k2", "low",
			  "default")) ",\"session/set_config_option\":[{\"error\":{"
				      "\"code\":-32603,\"message\":\"no\"}}]," SAYS("one") "}");
	ask(f, "hello");
	assert_string_equal(
		"(The agent does not take model = k9; it goes on with k2.)\n\n"
		"(The agent does not take mode = plan; it goes on with default.)\n\none",
		str_cstr(&f->text));
	ask(f, "hello");
	assert_string_equal("one", str_cstr(&f->text));
	assert_int_equal(1, count(f, SET));
}

static void an_agent_without_options_is_not_bothered(void **state)
{
	struct fix *f = *state;

	f->settings = (struct acp_settings){ "k3", "high", "plan" };
	reopen(f, "{" SAYS("one") "}");
	ask(f, "hello");
	assert_string_equal("one", str_cstr(&f->text));
	assert_int_equal(0, count(f, SET));
	ask(f, "/model");
	assert_told(f, "This agent offers no choice of model.");
}

static void a_login_that_is_missing_ends_the_turn(void **state)
{
	struct fix *f = *state;

	f->settings.model = "k3";
	reopen(f, "{" NEW(OPTIONS("k2", "low",
			  "default")) ",\"session/set_config_option\":[{\"error\":{"
				      "\"code\":-32000,\"message\":\"login\"}}]}");
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_AGENT_LOGIN, f->fail);
}

/* --- Choosing --------------------------------------------------------------------------------- */

static void the_user_chooses_among_what_is_offered(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{" NEW(OPTIONS("k2", "low", "default")) ",\"session/set_config_option\":[" RESULT(
			OPTIONS("k3", "low", "default")) "," RESULT(OPTIONS("k3", "off",
			"default")) "," RESULT(OPTIONS("k3", "low",
			"default")) "]," SAYS("one") "}");
	ask(f, "/model");
	assert_string_equal(
		"model, to choose from:\n1. k2: The k2 (in use)\n2. k3: The k3\n\n"
		"/model NUMBER or NAME changes it in this conversation, /model off goes "
		"back to the default.",
		str_cstr(&f->text));
	ask(f, "/model k9");
	assert_told(f, "That is not offered. model, to choose from:\n1. k2");
	assert_int_equal(0, count(f, SET));
	ask(f, "/model  the K3 ");
	assert_string_equal("The model is now k3.", str_cstr(&f->text));
	assert_int_equal(1, count(f, SET_TO("model", "k3")));
	ask(f, "/effort 1"); /* its value "off", which as a word means the default */
	assert_int_equal(1, count(f, SET_TO("thinking", "off")));
	assert_told(f, "The effort is now off.");
	ask(f, "/effort off");
	assert_int_equal(1, count(f, SET_TO("thinking", "low")));
	assert_told(f, "The effort is now low.");
	assert_int_equal(0, count(f, "\"method\":\"session/prompt\""));
	f->language = "zh";
	ask(f, "/mode 不存在");
	assert_told(f, "没有这个选项。模式可以选：\n1. default: The default（当前）");
}

static void a_choice_outlives_the_agent_and_is_one_conversations(void **state)
{
	struct fix *f = *state;
	const char *script =
		"{" NEW(OPTIONS("k2", "low", "default")) ",\"session/resume\":" RESULT(OPTIONS("k2",
			"low", "default")) ",\"session/set_config_option\":" RESULT(OPTIONS("k3",
			"low", "default")) "," SAYS("one") "}";

	write_script(f, script);
	ask(f, "/model k3");
	f->settings.model = "k2"; /* a choice goes before a setting */
	reopen(f, script);
	ask(f, "hello");
	assert_int_equal(2, count(f, SET_TO("model", "k3")));
	f->user = "other";
	ask(f, "hello");
	assert_int_equal(2, count(f, SET));
	f->user = "user";
	ask(f, "/model off");
	assert_told(f, "The model is now k2.");
	assert_int_equal(1, count(f, SET_TO("model", "k2")));
}

/* One that keeps what a session was given for the next: that is not its own. */
static void what_was_brought_is_not_taken_for_the_agents_own(void **state)
{
	struct str reply = STR_INIT(1000);
	struct fix *f = *state;

	write_script(f,
		"{\"session/new\":[[{\"result\":{\"sessionId\":\"$session\"," OPTIONS("k2", "low",
			"default") "}}],[{\"result\":{\"sessionId\":\"$session\"," OPTIONS("k3",
			"low",
			"default") "}}]],\"session/set_config_option\":[" RESULT(OPTIONS("k3",
			"low", "default")) "," RESULT(OPTIONS("k2", "low",
			"default")) "]," SAYS("one") "}");
	ask(f, "/model k3");
	command(f, ENGINE_CMD_NEW, &reply);
	ask(f, "hello");
	assert_int_equal(1, count(f, SET));
	ask(f, "/model off");
	assert_told(f, "The model is now k2.");
	str_release(&reply);
}

static void a_choice_the_agent_refuses_is_not_kept(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" NEW(OPTIONS("k2", "low",
				"default")) ",\"session/set_config_option\":[{\"error\":{"
					    "\"code\":-32603,\"message\":\"not\\nyours\"}}]," SAYS(
						    "one") "}");
	ask(f, "/model k3");
	assert_string_equal("The agent does not take it: notyours", str_cstr(&f->text));
	ask(f, "hello");
	assert_string_equal("one", str_cstr(&f->text));
	assert_int_equal(1, count(f, SET));
}

static void older_ways_are_used_where_they_are_what_there_is(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{" NEW("\"modes\":{\"currentModeId\":\"ask\",\"availableModes\":[{\"id\":\"ask\",\"name\":"
			"\"Ask\"},{\"id\":\"code\",\"name\":\"Code\"}]},\"models\":{\"currentModelId\":\"m1\","
			"\"availableModels\":[{\"modelId\":\"m1\",\"name\":\"One\"},{\"modelId\":\"m2\","
			"\"name\":\"Two\"}]}") "}");
	ask(f, "/mode code");
	assert_told(f, "The mode is now code.");
	assert_int_equal(1,
		count(f, "\"method\":\"session/set_mode\",\"params\":{\"sessionId\":\"s1\","
			 "\"modeId\":\"code\"}"));
	ask(f, "/model Two");
	assert_int_equal(1,
		count(f, "\"method\":\"session/set_model\",\"params\":{\"sessionId\":\"s1\","
			 "\"modelId\":\"m2\"}"));
	ask(f, "/mode");
	assert_told(f, "2. code: Code (in use)");
	ask(f, "/mode off");
	assert_told(f, "The mode is now ask.");
}

static void a_switch_is_sent_as_a_boolean(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{" NEW("\"configOptions\":[{\"type\":\"boolean\",\"id\":\"thinking\",\"name\":\"T\","
			"\"currentValue\":false}]") "}");
	ask(f, "/effort on");
	assert_int_equal(1,
		count(f, "\"configId\":\"thinking\",\"type\":\"boolean\",\"value\":true"));
	assert_int_equal(1, count(f, "\"configOptions\":{\"boolean\":{}}"));
}

static void only_an_owners_commands_are_taken_as_such(void **state)
{
	static const char *const texts[] = { "/model k3", "/mode yolo", "/effort high", "/sessions",
		"/open 1" };
	struct fix *f = *state;

	write_script(f, "{" NEW(OPTIONS("k2", "low", "default")) ",\"session/prompt\":[" TEXT(
				"$prompt") "," END "]}");
	f->guest = true;
	for (size_t i = 0; i < 5; i++) {
		ask(f, texts[i]);
		assert_string_equal(texts[i], str_cstr(&f->text));
	}
	assert_int_equal(0, count(f, SET));
	assert_int_equal(0, count(f, "\"method\":\"session/list\""));
}

static void a_cancel_while_it_is_asked_ends_at_once(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" NEW(OPTIONS("k2", "low",
				"default")) ",\"session/set_config_option\":[{\"sleep_ms\":"
					    "600000}]," SAYS("one") "}");
	begin(f, "/model k3");
	await(f, SET);
	f->engine->ops->cancel(f->engine, f->turn);
	finish(f);
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
}

/* --- Lists of sessions ------------------------------------------------------------------------ */

static void a_list(struct fix *f, const char *rest)
{
	struct str s = STR_INIT(1 << 16);

	(void)str_addf(&s,
		"{\"session/list\":[[{\"result\":{\"sessions\":["
		"{\"sessionId\":\"old\",\"cwd\":\"%s\",\"title\":\"Fix *the* build\",\"updatedAt\":"
		"\"2001-01-01T10:00:00Z\"},"
		"{\"sessionId\":\"else\",\"cwd\":\"/elsewhere\",\"title\":\"Not here\"},7,{}],"
		"\"nextCursor\":\"p2\"}}],[{\"result\":{\"sessions\":[{\"sessionId\":\"new\",\"cwd\":\"%s\","
		"\"title\":\"Write\\nthe docs\",\"updatedAt\":\"2002-01-01T12:00:00.250+02:00\"},"
		"{\"sessionId\":\"bare\",\"cwd\":\"%s\",\"title\":null}],\"nextCursor\":null}}]]%s}",
		f->dir.dir, f->dir.dir, f->dir.dir, rest);
	write_script(f, str_cstr(&s));
	str_release(&s);
}

static void sessions_are_listed_the_newest_first(void **state)
{
	struct fix *f = *state;

	a_list(f, "");
	ask(f, "/sessions");
	assert_int_equal(ENGINE_OK, f->fail);
	assert_int_equal(2, count(f, "\"method\":\"session/list\""));
	assert_int_equal(1, count(f, "\"cursor\":\"p2\""));
	assert_int_equal(2, count(f, "\"method\":\"session/list\",\"params\":{\"cwd\":\"/"));
	assert_int_equal(0, count(f, "\"method\":\"session/new\""));
	assert_ptr_equal(str_cstr(&f->text), strstr(str_cstr(&f->text), "1. Writethe docs ("));
	assert_told(f, " days ago)\n2. Fix *the* build (");
	assert_told(f, " days ago)\n3. bare\n/open 2 goes back to the second.");
	assert_null(strstr(str_cstr(&f->text), "Not here"));
}

static void one_is_taken_up_by_its_number_or_its_id(void **state)
{
	struct fix *f = *state;

	a_list(f, "," SAYS("in $session"));
	ask(f, "/sessions");
	ask(f, "/open 2");
	assert_string_equal("Back in this session: Fix *the* build", str_cstr(&f->text));
	assert_int_equal(2, count(f, "\"method\":\"session/list\""));
	assert_int_equal(1,
		count(f, "\"method\":\"session/resume\",\"params\":{\"sessionId\":\"old\""));
	ask(f, "hello");
	assert_string_equal("in old", str_cstr(&f->text));
	ask(f, "/open bare");
	assert_told(f, "Back in this session: bare");
	reopen(f, "{" SAYS("in $session") "}");
	ask(f, "hello"); /* it is the conversation's now */
	assert_string_equal("in bare", str_cstr(&f->text));
}

static void a_number_without_a_list_asks_for_one_first(void **state)
{
	struct fix *f = *state;

	a_list(f, "," SAYS("in $session"));
	ask(f, "/open 1");
	assert_told(f, "Back in this session: Writethe docs");
	assert_int_equal(2, count(f, "\"method\":\"session/list\""));
}

static void what_is_not_in_the_list_is_not_opened(void **state)
{
	static const char *const texts[] = { "/open", "/open 0", "/open 4", "/open else",
		"/open ../x", "/open -1" };
	struct fix *f = *state;

	for (size_t i = 0; i < 6; i++) {
		f->engine->ops->close(&f->engine);
		a_list(f, "");
		open_engine(f);
		ask(f, texts[i]);
		assert_told(f, "There is no such session.");
	}
	assert_int_equal(0, count(f, "\"method\":\"session/resume\""));
}

static void one_that_cannot_be_opened_changes_nothing(void **state)
{
	struct fix *f = *state;

	a_list(f, ",\"session/resume\":[{\"error\":{\"code\":-32002,\"message\":\"gone\"}}]," SAYS(
			  "in $session"));
	ask(f, "hello");
	assert_string_equal("in s1", str_cstr(&f->text));
	ask(f, "/open 1");
	assert_string_equal(
		"That session cannot be opened: gone. This conversation stays as it was.",
		str_cstr(&f->text));
	assert_int_equal(1, count(f, "\"method\":\"session/new\""));
	ask(f, "hello");
	assert_int_equal(2,
		count(f, "\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s1\""));
}

static void pages_are_followed_up_to_a_limit(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{\"session/list\":[{\"result\":{\"sessions\":[],\"nextCursor\":\"more\"}}]}");
	ask(f, "/sessions");
	assert_told(f, "There is no session here yet.");
	assert_int_equal(10, count(f, "\"method\":\"session/list\""));
}

static void an_agent_that_cannot_list_says_so(void **state)
{
	struct fix *f = *state;

	write_script(f, "{" NO_RESUME ",\"session/load\":[{\"flood\":3},{\"result\":null}]," SAYS(
				"in $session") "}");
	ask(f, "/sessions");
	assert_string_equal("This agent cannot list its sessions.", str_cstr(&f->text));
	ask(f, "/open abc"); /* an id is tried by a real load */
	assert_string_equal("Back in this session: abc", str_cstr(&f->text));
	reopen(f, "{\"initialize\":[{\"result\":{\"protocolVersion\":1}}]}");
	ask(f, "/open abc");
	assert_told(f, "This agent cannot go back to an earlier session.");
}

/* --- The agent's own commands ----------------------------------------------------------------- */

static bool knows(struct fix *f, const char *name)
{
	const char *const *list = f->engine->ops->commands(f->engine);

	for (size_t i = 0; list[i]; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static void its_commands_are_known_once_it_has_told_them(void **state)
{
	struct fix *f = *state;

	assert_true(knows(f, "sessions"));
	assert_false(knows(f, "compact"));
	write_script(f,
		"{\"session/prompt\":[{\"update\":{\"sessionUpdate\":\"available_commands_update\","
		"\"availableCommands\":[{\"name\":\"compact\",\"description\":\"d\",\"input\":null},{\"name\":"
		"\"mcp:server:prompt\"},{\"name\":\"two words\"},{\"name\":\"Upper\"},{\"name\":\"\"},{},7,"
		"{\"name\":\"open\"},{\"name\":\"/slash\"}]}}," TEXT("$prompt") "," END "]}");
	ask(f, "/compact now"); /* as it stands */
	assert_string_equal("/compact now", str_cstr(&f->text));
	assert_true(knows(f, "compact"));
	assert_true(knows(f, "mcp:server:prompt"));
	assert_true(knows(f, "slash"));
	assert_false(knows(f, "two words"));
	assert_false(knows(f, "Upper"));
	reopen(f, "{}");
	assert_true(knows(f, "compact")); /* as it had them when it ran last */
	ask(f, "/compact");               /* some do it behind the end, and say nothing */
	assert_told(f, "The agent has taken the command");
	ask(f, "/no/path");
	assert_int_equal(ENGINE_FAIL_AGENT_EMPTY, f->fail);
	reopen(f,
		"{\"session/prompt\":[{\"update\":{\"sessionUpdate\":\"available_commands_update\","
		"\"availableCommands\":[]}}," TEXT("x") "," END "]}");
	ask(f, "hello");
	assert_false(knows(f, "compact"));
	assert_true(knows(f, "model"));
}

/* --- Late --------------------------------------------------------------------------------------*/

static void text_outside_of_a_turn_is_a_notice_of_its_conversation(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{\"session/prompt\":[[" TEXT(
			"one") "," END ",{\"update\":{\"sessionUpdate\":"
			       "\"usage_update\",\"used\":10,\"size\":100}}," TEXT(
				       "the build ") "," TEXT("is done") "],[" TEXT("two") "," END
											   "]]}");
	ask(f, "hello");
	assert_string_equal("one", str_cstr(&f->text));
	settle(f);
	assert_string_equal("{user: the build is done}", str_cstr(&f->notices));
	ask(f, "hello");
	assert_string_equal("two", str_cstr(&f->text));
	settle(f);
	assert_string_equal("{user: the build is done}", str_cstr(&f->notices));
}

/* It has no pause to wait for: the next turn must not begin in front of it. */
static void a_notice_goes_before_the_next_turn(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[[" TEXT("one") "," END "," TEXT(
				"late") ",{\"send\":{\"method\":"
					"\"x\"}}],[" TEXT("two") "," END "]]}");
	ask(f, "hello");
	for (int i = 0; i < 5; i++)
		assert_int_equal(0, loop_step(f->loop, 20, NULL));
	assert_int_equal(0, f->notices.n);
	begin(f, "hello");
	finish(f);
	assert_string_equal("{user: late}", str_cstr(&f->notices));
	assert_string_equal("two", str_cstr(&f->text));
}

#define CHUNK(id, t) \
	"{\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"" id \
	"\",\"content\":{\"type\":\"text\",\"text\":\"" t "\"}}}"

static void an_update_of_one_turn_in_the_next_is_told_apart_by_its_ids(void **state)
{
	struct fix *f = *state;

	write_script(f,
		"{\"session/prompt\":[[{\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t1\","
		"\"title\":\"make\",\"status\":\"in_progress\"}}," CHUNK("message-of-turn-one",
			"one") "," END "],[" CHUNK("message-of-turn-one",
			"late") ",{\"update\":{\"sessionUpdate\":"
				"\"tool_call_update\",\"toolCallId\":\"t1\",\"status\":\"completed\"}}," CHUNK(
					"message-of-turn-two", "two") "," END "]]}");
	ask(f, "hello");
	assert_string_equal("one", str_cstr(&f->text));
	ask(f, "hello");
	assert_string_equal("two", str_cstr(&f->text));
	assert_string_equal("", str_cstr(&f->seen));
	settle(f);
	assert_string_equal("{user: late}", str_cstr(&f->notices));
}

/* Nothing tells it apart: it is lost to neither turn, and what is not its own stands apart. */
static void a_late_text_without_an_id_is_text_of_the_turn_it_comes_in(void **state)
{
	struct fix *f = *state;

	reopen(f,
		"{\"session/prompt\":[[" TEXT("one") "," END "],[" TEXT(
			"late") ",{\"update\":{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{"
				"\"type\":\"text\",\"text\":\"hm\"}}}," TEXT("two") "," END "]]}");
	ask(f, "hello");
	assert_string_equal("one", str_cstr(&f->text));
	ask(f, "again");
	assert_string_equal("late\n\ntwo", str_cstr(&f->text));
	assert_string_equal("", str_cstr(&f->notices));
}

static void a_session_that_was_stopped_is_not_heard_any_more(void **state)
{
	struct fix *f = *state;

	write_script(f, "{\"session/prompt\":[[" TEXT(
				"one") ",{\"until\":\"session/cancel\"},{\"result\":{"
				       "\"stopReason\":\"cancelled\"}}," TEXT("late") "],[" TEXT(
					       "two") "," END "]]}");
	f->cancel_on_text = true;
	ask(f, "hello");
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->fail);
	f->cancel_on_text = false;
	settle(f);
	assert_string_equal("", str_cstr(&f->notices));
	ask(f, "hello");
	assert_string_equal("two", str_cstr(&f->text));
}

static void history_that_comes_after_the_load_is_history(void **state)
{
	struct fix *f = *state;

	f->settings.mode = "plan";
	reopen(f, "{" NO_RESUME "," SAYS("one") "}");
	ask(f, "hello");
	reopen(f,
		"{" NO_RESUME ",\"session/load\":[" CHUNK("message-of-the-past",
			"old") ",{\"result\":{" OPTIONS("k2", "low",
			"default") "}}," TEXT("old") "],\"session/prompt\":[" CHUNK("message-of-the-past",
			"er") "," TEXT("two") "," END "]}");
	ask(f, "hello");
	assert_string_equal("two", str_cstr(&f->text));
}

static void a_notice_too_long_is_several(void **state)
{
	struct fix *f = *state;
	size_t whole;

	write_script(f, "{\"session/prompt\":[" TEXT("one") "," END ",{\"flood\":20000}]}");
	ask(f, "hello");
	for (int i = 0; i < PATIENCE && f->notices.n < 120000; i++)
		settle(f);
	whole = f->notices.n;
	assert_true(whole > (size_t)20000 * 6);
	assert_true(strstr(str_cstr(&f->notices), "}{user: ") != NULL);
}

/* --- Instructions ----------------------------------------------------------------------------- */

#define WORDS "\"text\":\"<instructions>\\nBe brief.\\n</instructions>\""

static void the_operators_words_come_with_the_first_prompt(void **state)
{
	struct str reply = STR_INIT(1000);
	struct fix *f = *state;

	f->instructions = "Be brief.";
	reopen(f, "{" SAYS("one") "}");
	ask(f, "/compact"); /* a command stands alone */
	assert_int_equal(0, count(f, "<instructions>"));
	ask(f, "hello");
	assert_int_equal(1,
		count(f,
			"\"prompt\":[{\"type\":\"text\",\"text\":\"hello\"},{\"type\":\"text\"," WORDS));
	ask(f, "again");
	reopen(f, "{" SAYS("one") "}");
	ask(f, "again");
	assert_int_equal(1, count(f, WORDS));
	command(f, ENGINE_CMD_NEW, &reply);
	ask(f, "hello");
	assert_int_equal(2, count(f, WORDS));
	f->instructions = "Be briefer.";
	reopen(f, "{" SAYS("one") "}");
	ask(f, "hello");
	assert_int_equal(1, count(f, "Be briefer."));
	str_release(&reply);
}

/* Nobody knows whether the session holds a prompt that has failed. */
static void the_operators_words_come_again_where_the_prompt_has_failed(void **state)
{
	static const struct {
		const char *script, *user;
		enum engine_fail fail;
	} table[] = {
		{ "{\"session/prompt\":[[" TEXT("one") "," END "],[{\"error\":{\"code\":-32000,"
						       "\"message\":\"no\"}}],[" TEXT("one") "," END
											     "]]}",
			"one", ENGINE_FAIL_AGENT_LOGIN },
		{ "{\"session/prompt\":[[" TEXT("one") "," END "],[{\"kill\":9}]]}", "two",
			ENGINE_OK },
	};
	struct fix *f = *state;

	f->instructions = "Be brief.";
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		f->user = table[i].user;
		(void)unlink(f->record);
		reopen(f, table[i].script);
		ask(f, "/compact");
		ask(f, "hello");
		assert_int_equal(table[i].fail, f->fail);
		if (f->fail != ENGINE_OK)
			ask(f, "hello");
		assert_int_equal(ENGINE_OK, f->fail);
		assert_int_equal(2, count(f, WORDS));
	}
}

/* --- Usage ------------------------------------------------------------------------------------ */

static void usage_is_what_the_agent_tells_and_no_more(void **state)
{
	struct str reply = STR_INIT(4000);
	struct fix *f = *state;

	command(f, ENGINE_CMD_USAGE, &reply);
	assert_string_equal("Tokens used: the agent does not tell.\nCost: the agent does not tell.",
		str_cstr(&reply));
	write_script(f,
		"{\"session/prompt\":[{\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1000,"
		"\"size\":4000}}," TEXT("one") "," END "]}");
	ask(f, "hello");
	command(f, ENGINE_CMD_USAGE, &reply);
	assert_string_equal(
		"Tokens used: the agent does not tell.\nCost: the agent does not tell.\n"
		"Context: 1000 of 4000 tokens are occupied (25%); that is no usage.",
		str_cstr(&reply));
	reopen(f,
		"{\"session/prompt\":[{\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":null,\"size\":"
		"4000,\"cost\":{\"amount\":0.25,\"currency\":\"USD\"}}}," TEXT(
			"one") ",{\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"inputTokens\":30,"
			       "\"outputTokens\":4,\"totalTokens\":34}}}]}");
	ask(f, "hello");
	ask(f, "hello");
	command(f, ENGINE_CMD_USAGE, &reply);
	assert_string_equal("This session, since the agent was started: 60 tokens in, 8 out.\n"
			    "Cost, as the agent tells it: 0.2500 USD",
		str_cstr(&reply));
	f->language = "zh";
	f->user = "nobody";
	command(f, ENGINE_CMD_USAGE, &reply);
	assert_string_equal("用了多少 token：助手没有给出。\n费用：助手没有给出。",
		str_cstr(&reply));
	str_release(&reply);
}

static void what_an_agent_cannot_is_said_so(void **state)
{
	static const enum engine_command list[] = { ENGINE_CMD_GOAL, ENGINE_CMD_STEER,
		ENGINE_CMD_COMPACT, ENGINE_CMD_LIST };
	struct str reply = STR_INIT(100);
	struct fix *f = *state;

	for (size_t i = 0; i < 4; i++) {
		struct err e = ERR_INIT;

		assert_int_equal(-1, f->engine->ops->command(f->engine, list[i], "user", VIEW_NONE,
					     "en", &reply, &e));
		assert_int_equal(E_UNSUPPORTED, e.code);
	}
	str_release(&reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(settings_are_brought_to_each_session),
		T(what_the_agent_changes_itself_is_left_alone),
		T(a_change_of_the_settings_counts_from_the_next_turn),
		T(a_setting_that_is_not_offered_is_told_once),
		T(an_agent_without_options_is_not_bothered),
		T(a_login_that_is_missing_ends_the_turn),
		T(the_user_chooses_among_what_is_offered),
		T(a_choice_outlives_the_agent_and_is_one_conversations),
		T(what_was_brought_is_not_taken_for_the_agents_own),
		T(a_choice_the_agent_refuses_is_not_kept),
		T(older_ways_are_used_where_they_are_what_there_is),
		T(a_switch_is_sent_as_a_boolean),
		T(only_an_owners_commands_are_taken_as_such),
		T(a_cancel_while_it_is_asked_ends_at_once),
		T(sessions_are_listed_the_newest_first),
		T(one_is_taken_up_by_its_number_or_its_id),
		T(a_number_without_a_list_asks_for_one_first),
		T(what_is_not_in_the_list_is_not_opened),
		T(one_that_cannot_be_opened_changes_nothing),
		T(pages_are_followed_up_to_a_limit),
		T(an_agent_that_cannot_list_says_so),
		T(its_commands_are_known_once_it_has_told_them),
		T(text_outside_of_a_turn_is_a_notice_of_its_conversation),
		T(a_notice_goes_before_the_next_turn),
		T(an_update_of_one_turn_in_the_next_is_told_apart_by_its_ids),
		T(a_late_text_without_an_id_is_text_of_the_turn_it_comes_in),
		T(a_session_that_was_stopped_is_not_heard_any_more),
		T(history_that_comes_after_the_load_is_history),
		T(a_notice_too_long_is_several),
		T(the_operators_words_come_with_the_first_prompt),
		T(the_operators_words_come_again_where_the_prompt_has_failed),
		T(usage_is_what_the_agent_tells_and_no_more),
		T(what_an_agent_cannot_is_said_so),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
