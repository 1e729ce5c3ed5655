/* What agents were seen to send (acp, sections 6, 7, 17 and 18), and what becomes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/acp/stream.h"

#define ANSWER_MAX ((size_t)100)

struct fix {
	struct acp_stream *s;
	struct str seen; /* everything in its order */
};

static void on_text(void *arg, struct view piece)
{
	(void)str_addf(arg, "[%.*s]", VIEW_FMT(piece));
}

static void on_thought(void *arg, struct view piece)
{
	(void)str_addf(arg, "(%.*s)", VIEW_FMT(piece));
}

static void on_tool(void *arg, const struct card *c, bool began)
{
	(void)str_addf(arg, "<%s%s%s>", began ? "" : "/", c->title,
		began                         ? ""
		: c->status == CARD_COMPLETED ? " ok"
					      : " failed");
}

static int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));
	struct acp_sink sink = { on_text, on_thought, on_tool, NULL };

	assert_non_null(f);
	f->seen = STR_INIT(1 << 20);
	sink.arg = &f->seen;
	assert_int_equal(0, acp_stream_open(&f->s, &sink, ANSWER_MAX, NULL));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	acp_stream_close(&f->s);
	str_release(&f->seen);
	free(f);
	return 0;
}

static bool feed(struct fix *f, const char *update)
{
	struct json *j = NULL;
	bool mine;

	assert_int_equal(0, json_read(&j, view_of(update), &json_limits_wire, NULL));
	mine = acp_stream_update(f->s, j);
	json_free(&j);
	return mine;
}

static void feed_all(struct fix *f, const char *const *updates)
{
	for (; *updates; updates++)
		(void)feed(f, *updates);
}

#define TEXT(t) \
	"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"" t \
	"\"}}"
#define TEXT_OF(i, t) \
	"{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"" i \
	"\",\"content\":{\"type\":\"text\",\"text\":\"" t "\"}}"
#define THOUGHT(t) \
	"{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":\"" t \
	"\"}}"
#define CALL(i, rest)   "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"" i "\"," rest "}"
#define UPDATE(i, rest) "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"" i "\"," rest "}"

static void a_text_that_resumes_begins_a_paragraph(void **state)
{
	static const struct {
		const char *updates[8];
		const char *seen;
	} table[] = {
		{ { TEXT("one "), TEXT("two"), NULL }, "[one ][two]" },
		{ { TEXT("one"), CALL("t", "\"title\":\"Bash\""), TEXT("two"), NULL },
			"[one][\n\n][two]" },
		{ { TEXT("one\\n"), THOUGHT("hm"), TEXT("two"), NULL }, "[one\n](hm)[\n][two]" },
		{ { TEXT("one\\n\\n"), "{\"sessionUpdate\":\"plan\",\"entries\":[]}", TEXT("two"),
			  NULL },
			"[one\n\n][two]" },
		{ { THOUGHT("hm"), TEXT("one"), NULL }, "(hm)[one]" },
		{ { TEXT_OF("a", "one"), TEXT_OF("a", "two"), TEXT_OF("b", "three"), NULL },
			"[one][two][\n\n][three]" },
		{ { TEXT_OF("a", "one"), TEXT("two"), NULL }, "[one][two]" },
		{ { TEXT("one"), "{\"sessionUpdate\":\"usage_update\",\"used\":null,\"size\":1}",
			  TEXT("two"), NULL },
			"[one][two]" },
		/* an empty piece is nothing, and no boundary */
		{ { TEXT("one"), TEXT(""), TEXT("two"), NULL }, "[one][two]" },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		acp_stream_begin(f->s);
		str_reset(&f->seen);
		feed_all(f, table[i].updates);
		assert_string_equal(table[i].seen, str_cstr(&f->seen));
	}
}

static void what_the_user_wrote_is_never_shown(void **state)
{
	struct fix *f = *state;

	assert_true(feed(f, "{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":"
			    "\"text\",\"text\":\"<system-reminder>\"}}"));
	assert_string_equal("", str_cstr(&f->seen));
}

static void what_it_does_not_know_changes_nothing(void **state)
{
	static const char *const others[] = { "{\"sessionUpdate\":\"usage_update\"}",
		"{\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":[]}",
		"{\"sessionUpdate\":\"tomorrow\"}", "{\"sessionUpdate\":7}", "{}", NULL };
	static const char *const odd[] = {
		"{\"sessionUpdate\":\"agent_message_chunk\"}",
		"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":null}",
		"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":[]}",
		"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"hologram\"}}",
		"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":1}}",
		"{\"sessionUpdate\":\"tool_call\"}",
		"{\"sessionUpdate\":\"tool_call\",\"toolCallId\":7,\"title\":\"x\"}",
		NULL,
	};
	struct fix *f = *state;

	for (const char *const *u = others; *u; u++)
		assert_false(feed(f, *u));
	feed_all(f, odd);
	assert_string_equal("", str_cstr(&f->seen));
}

static void links_are_shown_by_name_and_address(void **state)
{
	struct fix *f = *state;

	(void)feed(f, "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":"
		      "\"resource_link\",\"uri\":\"file:///w/a.pdf\",\"name\":\"a.pdf\"}}");
	assert_string_equal("[a.pdf: file:///w/a.pdf]", str_cstr(&f->seen));
}

static void an_answer_too_long_is_cut_on_a_character(void **state)
{
	struct fix *f = *state;
	char update[300];

	for (int i = 0; i < 40; i++) { /* 120 bytes, three each */
		(void)snprintf(update, sizeof(update), TEXT("\xe4\xbd\xa0"));
		(void)feed(f, update);
	}
	assert_true(acp_stream_cut(f->s));
	assert_int_equal(99, acp_stream_answer(f->s).n);
	acp_stream_begin(f->s);
	assert_false(acp_stream_cut(f->s));
	for (size_t i = 0; i < ANSWER_MAX; i++)
		(void)feed(f, TEXT("x"));
	assert_false(acp_stream_cut(f->s));
	(void)feed(f, TEXT("x"));
	assert_true(acp_stream_cut(f->s));
	assert_int_equal(ANSWER_MAX, acp_stream_answer(f->s).n);
}

/* The sequence of Kimi 2.1: the arguments come as content while the call is "in progress". */
static void a_call_is_told_once_and_its_arguments_are_no_output(void **state)
{
	static const char *const updates[] = {
		CALL("t1", "\"title\":\"Bash\",\"kind\":\"execute\",\"status\":\"pending\""),
		UPDATE("t1", "\"status\":\"in_progress\",\"content\":[{\"type\":\"content\","
			     "\"content\":{\"type\":\"text\",\"text\":\"{\\\"comm\"}}]"),
		UPDATE("t1", "\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\","
			     "\"text\":\"{\\\"command\\\":\\\"pwd\\\"}\"}}]"),
		UPDATE("t1", "\"title\":\"Running: pwd\",\"rawInput\":{\"command\":\"pwd\"}"),
		UPDATE("t1", "\"status\":\"completed\",\"rawOutput\":\"/w\\n\""),
		UPDATE("t1", "\"status\":\"completed\""),
		NULL,
	};
	struct fix *f = *state;

	feed_all(f, updates);
	assert_string_equal("<Bash></Running: pwd ok>", str_cstr(&f->seen));
	assert_int_equal(0, acp_stream_answer(f->s).n);
	assert_true(acp_stream_acted(f->s));
}

static struct card *card_of(struct fix *f, const char *call)
{
	struct json *j = NULL;
	struct card *c;

	assert_int_equal(0, json_read(&j, view_of(call), &json_limits_wire, NULL));
	c = acp_stream_card(f->s, j);
	json_free(&j);
	return c;
}

static void a_command_is_what_was_shown_and_nothing_else(void **state)
{
	static const struct {
		const char *rest, *command;
	} table[] = {
		{ "\"rawInput\":{\"command\":\"ls -l; rm x\"}", "ls -l; rm x" },
		{ "\"rawInput\":{\"cmd\":\"ls\"}", "ls" },
		{ "\"rawInput\":{\"command\":[\"bash\",\"-lc\",\"rm 'x' y\"]}",
			"bash -lc 'rm '\\''x'\\'' y'" },
		{ "\"rawInput\":{\"command\":[\"ls\",\"\"]}", "ls ''" },
		{ "\"rawInput\":{\"command\":[\"ls\",7]}", NULL },
		{ "\"rawInput\":{\"command\":[]}", NULL },
		{ "\"rawInput\":{\"command\":{\"a\":1}}", NULL },
		{ "\"rawInput\":{\"command\":\"\"}", NULL },
		{ "\"rawInput\":\"ls\"", NULL },
		{ "\"title\":\"Run ls\"", NULL },
		{ "\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":"
		  "\"Requesting approval to run a command\"}}]",
			NULL },
		{ "\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":"
		  "\"{\\\"command\\\":\\\"make\\\"}\"}}]",
			"make" },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct card *c;
		char call[400];

		acp_stream_begin(f->s);
		(void)snprintf(call, sizeof(call), "{\"toolCallId\":\"t\",%s}", table[i].rest);
		c = card_of(f, call);
		assert_non_null(c);
		if (table[i].command)
			assert_string_equal(table[i].command, c->command);
		else
			assert_null(c->command);
	}
}

static void later_words_replace_earlier_ones(void **state)
{
	struct fix *f = *state;
	struct card *c = card_of(f, "{\"toolCallId\":\"t\",\"title\":\"Write\",\"kind\":\"edit\","
				    "\"locations\":[{\"path\":\"/w/a\",\"line\":null}],"
				    "\"rawInput\":{\"command\":\"ls\"}}");

	assert_int_equal(CARD_EDIT, c->kind);
	assert_string_equal("/w/a", c->path);
	c = card_of(f, "{\"toolCallId\":\"t\",\"kind\":\"hologram\",\"rawInput\":{\"command\":[1],"
		       "\"file_path\":\"/w/b\"},\"status\":\"paused\"}");
	assert_string_equal("Write", c->title);
	assert_int_equal(CARD_OTHER, c->kind);
	assert_int_equal(CARD_PENDING, c->status);
	assert_string_equal("/w/b", c->path);
	assert_null(c->command); /* what is shown now cannot be read: it is hidden */
}

static void calls_that_never_ended_are_ended_with_the_turn(void **state)
{
	struct fix *f = *state;

	(void)feed(f, CALL("a", "\"title\":\"A\",\"status\":\"in_progress\""));
	(void)feed(f, CALL("b", "\"title\":\"B\""));
	(void)feed(f,
		UPDATE("c", "\"title\":\"C\",\"status\":\"in_progress\"")); /* never announced */
	acp_stream_end(f->s);
	acp_stream_end(f->s);
	assert_string_equal("<A><C></A failed></C failed>", str_cstr(&f->seen));
}

static void the_oldest_that_has_ended_makes_room(void **state)
{
	struct fix *f = *state;
	char call[100];

	(void)card_of(f, "{\"toolCallId\":\"open\"}");
	for (int i = 0; i < CARDS_MAX; i++) {
		(void)snprintf(call, sizeof(call),
			"{\"toolCallId\":\"%d\",\"status\":\"completed\"}", i);
		assert_non_null(card_of(f, call));
	}
	assert_int_equal(CARD_PENDING, card_of(f, "{\"toolCallId\":\"open\"}")->status);
	/* "0" went: it begins anew, and "1" makes room for it */
	assert_int_equal(CARD_PENDING, card_of(f, "{\"toolCallId\":\"0\"}")->status);
	assert_int_equal(CARD_COMPLETED, card_of(f, "{\"toolCallId\":\"2\"}")->status);
}

static void an_id_has_a_limit(void **state)
{
	struct fix *f = *state;
	char call[CARD_ID_MAX + 100], id[CARD_ID_MAX + 2];

	memset(id, 'x', sizeof(id));
	id[CARD_ID_MAX] = '\0';
	(void)snprintf(call, sizeof(call), "{\"toolCallId\":\"%s\"}", id);
	assert_non_null(card_of(f, call));
	id[CARD_ID_MAX] = 'x';
	id[CARD_ID_MAX + 1] = '\0';
	(void)snprintf(call, sizeof(call), "{\"toolCallId\":\"%s\"}", id);
	assert_null(card_of(f, call));
}

/* Words of the engine stand in the answer, and make none. */
static void the_engines_words_are_no_answer_of_the_agent(void **state)
{
	struct fix *f = *state;

	acp_stream_say(f->s, VIEW("(note) "));
	assert_false(acp_stream_answered(f->s));
	(void)feed(f, TEXT("  "));
	assert_false(acp_stream_answered(f->s));
	(void)feed(f, TEXT("yes"));
	assert_true(acp_stream_answered(f->s));
	assert_true(view_eqs(acp_stream_answer(f->s), "(note)   yes"));
	acp_stream_begin(f->s);
	for (size_t i = 0; i <= ANSWER_MAX; i++)
		(void)feed(f, TEXT("x"));
	acp_stream_say(f->s, VIEW(" (cut)")); /* there is room for them behind a full answer */
	assert_true(view_ends(acp_stream_answer(f->s), VIEW("x (cut)")));
}

#define CHUNK(id, t) \
	"{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"" id \
	"\",\"content\":{\"type\":\"text\",\"text\":\"" t "\"}}"

static bool late(struct fix *f, const char *update)
{
	struct json *j = NULL;
	bool is;

	assert_int_equal(0, json_read(&j, view_of(update), &json_limits_wire, NULL));
	is = acp_stream_late(f->s, j);
	json_free(&j);
	return is;
}

/* 15 and 16 bytes: a short id may be a counter that every turn begins anew. */
static void what_belongs_to_the_turn_before_is_known_by_its_ids(void **state)
{
	struct fix *f = *state;

	(void)feed(f, CHUNK("123456789012345", "a"));
	acp_stream_begin(f->s);
	acp_stream_begin(f->s); /* twice changes nothing */
	assert_false(late(f, CHUNK("123456789012345", "b")));
	(void)feed(f, CHUNK("1234567890123456", "a"));
	assert_false(late(f, CHUNK("1234567890123456", "b")));
	(void)feed(f, CALL("t1", "\"title\":\"x\""));
	acp_stream_begin(f->s);
	acp_stream_begin(f->s);
	assert_true(late(f, CHUNK("1234567890123456", "b")));
	assert_false(late(f, CHUNK("1234567890123457", "b")));
	assert_true(late(f, UPDATE("t1", "\"status\":\"completed\"")));
	assert_false(late(f, CALL("t1", "\"title\":\"used again\"")));
	(void)feed(f, CALL("t1", "\"title\":\"used again\""));
	assert_false(late(f, UPDATE("t1", "\"status\":\"completed\"")));
	assert_false(late(f, TEXT("no id")));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_text_that_resumes_begins_a_paragraph),
		T(what_the_user_wrote_is_never_shown),
		T(what_it_does_not_know_changes_nothing),
		T(links_are_shown_by_name_and_address),
		T(an_answer_too_long_is_cut_on_a_character),
		T(a_call_is_told_once_and_its_arguments_are_no_output),
		T(a_command_is_what_was_shown_and_nothing_else),
		T(later_words_replace_earlier_ones),
		T(calls_that_never_ended_are_ended_with_the_turn),
		T(the_oldest_that_has_ended_makes_room),
		T(an_id_has_a_limit),
		T(the_engines_words_are_no_answer_of_the_agent),
		T(what_belongs_to_the_turn_before_is_known_by_its_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
