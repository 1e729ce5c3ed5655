/* Conversations in the database: whole rounds only, whatever stands in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/react/history.h"
#include "agent/react/prompt.h"
#include "agent/react/stream.h"
#include "base/db/db.h"

struct fix {
	char dir[64], path[96];
	struct db *db;
	struct history *h;
	int64_t session;
};

static void reopen(struct fix *f)
{
	struct err e = ERR_INIT;

	history_close(&f->h);
	db_close(&f->db);
	assert_int_equal(0, db_open(&f->db, f->path, &e));
	assert_int_equal(0, history_open(&f->h, f->db, NULL, &e));
}

static int setup(void **state)
{
	static struct fix fix;
	struct err e = ERR_INIT;

	memset(&fix, 0, sizeof(fix));
	assert_int_equal(0, copy_z(fix.dir, sizeof(fix.dir), VIEW("/tmp/kairo-history-XXXXXX")));
	assert_non_null(mkdtemp(fix.dir));
	(void)snprintf(fix.path, sizeof(fix.path), "%s/state.db", fix.dir);
	reopen(&fix);
	assert_int_equal(0, history_session(fix.h, "me", 1, &fix.session, &e));
	*state = &fix;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm" };
	struct fix *f = *state;
	char path[128];

	history_close(&f->h);
	db_close(&f->db);
	for (int i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", f->dir, names[i]);
		(void)unlink(path);
	}
	return rmdir(f->dir);
}

static void say(struct talk *t, enum role role, const char *text)
{
	assert_non_null(talk_add(t, role, view_of(text)));
}

static void save_round(struct fix *f, const char *q, const char *a)
{
	struct talk t = TALK_INIT;
	struct err e = ERR_INIT;

	say(&t, ROLE_USER, q);
	say(&t, ROLE_ASSISTANT, a);
	assert_int_equal(0, history_save(f->h, f->session, &t, 0, 2, &e));
	talk_release(&t);
}

static size_t load(struct fix *f, uint64_t tokens, struct talk *t)
{
	struct err e = ERR_INIT;

	talk_release(t);
	assert_int_equal(0, history_load(f->h, f->session, tokens, t, &e));
	return t->n;
}

static void keeps_rounds_across_a_reopening(void **state)
{
	struct fix *f = *state;
	struct talk t = TALK_INIT, back = TALK_INIT;
	struct err e = ERR_INIT;
	struct msg *m;

	say(&t, ROLE_USER, "你好");
	m = talk_add(&t, ROLE_ASSISTANT, VIEW_NONE);
	assert_int_equal(0, msg_add_call(m, VIEW("c1"), VIEW("glob"), VIEW("{\"pattern\":\"*\"}")));
	assert_int_equal(0, msg_add_call(m, VIEW("c2"), VIEW("list_dir"), VIEW("{}")));
	assert_int_equal(0, msg_set_thought(m, VIEW("hm")));
	assert_non_null(talk_add_result(&t, "c1", VIEW("a.c")));
	assert_non_null(talk_add_result(&t, "c2", VIEW(" \n")));
	say(&t, ROLE_ASSISTANT, "done");
	assert_int_equal(0, history_save(f->h, f->session, &t, 0, 2, &e));
	save_round(f, "second", "answer");
	reopen(f);
	assert_int_equal(0, history_session(f->h, "me", 9, &f->session, &e));
	assert_int_equal(7, load(f, 10000, &back));
	assert_string_equal("你好", back.list[0].text);
	assert_int_equal(2, back.list[1].ncalls);
	assert_string_equal("c2", back.list[1].calls[1].id);
	assert_string_equal("{\"pattern\":\"*\"}", back.list[1].calls[0].args);
	assert_string_equal("hm", back.list[1].thought);
	assert_null(back.list[4].thought);
	assert_true(back.list[0].round > 0 && back.list[4].round == back.list[0].round);
	assert_int_equal(back.list[0].round + 1, back.list[5].round);
	assert_string_equal("c1", back.list[2].call_id);
	assert_string_equal("(no output)", back.list[3].text);
	assert_string_equal("answer", back.list[6].text);
	assert_true(talk_round_valid(&back, 0, 5));
	assert_true(talk_round_valid(&back, 5, 7));
	talk_release(&t);
	talk_release(&back);
}

static void loads_the_newest_rounds_that_fit(void **state)
{
	struct fix *f = *state;
	struct talk t = TALK_INIT;
	uint64_t one;

	save_round(f, "one", "1");
	save_round(f, "two", "2");
	save_round(f, "six", "3");
	assert_int_equal(6, load(f, UINT64_MAX, &t));
	one = talk_tokens(&t, 0, 2);
	assert_int_equal(6, load(f, 3 * one, &t));
	assert_int_equal(4, load(f, 3 * one - 1, &t));
	assert_string_equal("two", t.list[0].text);
	assert_int_equal(2, load(f, one, &t));
	assert_string_equal("six", t.list[0].text);
	assert_int_equal(0, load(f, one - 1, &t));
	talk_release(&t);
}

static void a_new_conversation_begins_empty_and_others_stay_apart(void **state)
{
	struct fix *f = *state;
	struct talk t = TALK_INIT;
	struct err e = ERR_INIT;
	int64_t first = f->session, other;

	save_round(f, "q", "a");
	assert_int_equal(0, history_session(f->h, "you", 3, &other, &e));
	assert_int_not_equal(first, other);
	assert_int_equal(0, history_begin(f->h, "me", 4, &e));
	assert_int_equal(0, history_session(f->h, "me", 5, &f->session, &e));
	assert_int_not_equal(first, f->session);
	assert_int_equal(0, load(f, 1000, &t));
	/* An empty one is not followed by another empty one. */
	other = f->session;
	assert_int_equal(0, history_begin(f->h, "me", 6, &e));
	assert_int_equal(0, history_session(f->h, "me", 7, &f->session, &e));
	assert_int_equal(other, f->session);
	/* The old one is still there for the turn that had begun in it. */
	f->session = first;
	save_round(f, "late", "answer");
	assert_int_equal(4, load(f, 1000, &t));
	talk_release(&t);
}

static void refuses_to_store_what_is_not_whole(void **state)
{
	struct fix *f = *state;
	struct talk t = TALK_INIT;
	struct err e = ERR_INIT;
	struct msg *m;

	say(&t, ROLE_USER, "q");
	assert_int_equal(-1, history_save(f->h, f->session, &t, 0, 2, &e));
	m = talk_add(&t, ROLE_ASSISTANT, VIEW_NONE);
	assert_int_equal(-1, history_save(f->h, f->session, &t, 0, 2, &e)); /* empty answer */
	assert_int_equal(0, msg_add_call(m, VIEW("c1"), VIEW("glob"), VIEW("{}")));
	assert_int_equal(-1, history_save(f->h, f->session, &t, 0, 2, &e)); /* open call */
	assert_non_null(talk_add_result(&t, "other", VIEW("x")));
	say(&t, ROLE_ASSISTANT, "a");
	assert_int_equal(-1, history_save(f->h, f->session, &t, 0, 2, &e)); /* unpaired */
	assert_int_equal(E_FORMAT, e.code);
	assert_false(db_in_transaction(f->db));
	talk_release(&t);
}

static void is_part_of_the_callers_transaction(void **state)
{
	struct fix *f = *state;
	struct talk t = TALK_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(0, db_begin(f->db, &e));
	save_round(f, "q", "a");
	db_rollback(f->db);
	assert_int_equal(0, load(f, 1000, &t));
	assert_int_equal(0, db_begin(f->db, &e));
	save_round(f, "q", "a");
	assert_int_equal(0, db_commit(f->db, &e));
	assert_int_equal(2, load(f, 1000, &t));
	talk_release(&t);
}

static void damaged_rounds_never_reach_a_prompt(void **state)
{
	/* Each hurts the second of three rounds: user, assistant with call c1, tool, assistant. */
	static const char *const damage[] = {
		"UPDATE react_message SET role = 'system' WHERE round = 2 AND seq = 0",
		"UPDATE react_message SET role = 'developer' WHERE round = 2 AND seq = 3",
		"UPDATE react_message SET calls = '[{' WHERE round = 2 AND seq = 1",
		"UPDATE react_message SET calls = '[]' WHERE round = 2 AND seq = 1",
		"UPDATE react_message SET calls = '{}' WHERE round = 2 AND seq = 1",
		("UPDATE react_message SET calls = '[{\"id\":\"c1\",\"name\":\"f\",\"args\":\"[]\"}]'"
		 " WHERE round = 2 AND seq = 1"),
		("UPDATE react_message SET calls = '[{\"id\":\"c1\",\"name\":\"f\",\"args\":\"{\"}]'"
		 " WHERE round = 2 AND seq = 1"),
		("UPDATE react_message SET calls = '[{\"id\":7,\"name\":\"f\",\"args\":\"{}\"}]'"
		 " WHERE round = 2 AND seq = 1"),
		("UPDATE react_message SET calls = '[{\"id\":\"c1\",\"id\":\"c1\",\"name\":\"f\","
		 "\"args\":\"{}\"}]' WHERE round = 2 AND seq = 1"),
		"UPDATE react_message SET calls = NULL WHERE round = 2 AND seq = 1",
		"UPDATE react_message SET call_id = 'c9' WHERE round = 2 AND seq = 2",
		"UPDATE react_message SET call_id = NULL WHERE round = 2 AND seq = 2",
		"UPDATE react_message SET call_id = printf('%0200d', 1) WHERE round = 2 AND seq = 2",
		"UPDATE react_message SET text = CAST(x'ff' AS TEXT) WHERE round = 2 AND seq = 0",
		"UPDATE react_message SET text = CAST(x'610062' AS TEXT) WHERE round = 2 AND seq = 3",
		"UPDATE react_message SET text = '' WHERE round = 2 AND seq = 3",
		"UPDATE react_message SET text = zeroblob(5000000) WHERE round = 2 AND seq = 2",
		"UPDATE react_message SET calls = zeroblob(5000000) WHERE round = 2 AND seq = 1",
		"DELETE FROM react_message WHERE round = 2 AND seq = 0",
		"DELETE FROM react_message WHERE round = 2 AND seq = 1",
		"DELETE FROM react_message WHERE round = 2 AND seq = 2",
		"DELETE FROM react_message WHERE round = 2 AND seq = 3",
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		struct talk t = TALK_INIT, back = TALK_INIT;
		struct err e = ERR_INIT;
		struct msg *m;

		assert_int_equal(0, db_exec(f->db, "DELETE FROM react_message", &e));
		save_round(f, "one", "1");
		say(&t, ROLE_USER, "two");
		m = talk_add(&t, ROLE_ASSISTANT, VIEW_NONE);
		assert_int_equal(0, msg_add_call(m, VIEW("c1"), VIEW("f"), VIEW("{}")));
		assert_non_null(talk_add_result(&t, "c1", VIEW("r")));
		say(&t, ROLE_ASSISTANT, "2");
		assert_int_equal(0, history_save(f->h, f->session, &t, 0, 2, &e));
		save_round(f, "three", "3");
		assert_int_equal(8, load(f, 10000000, &back));
		assert_int_equal(0, db_exec(f->db, damage[i], &e));
		if (load(f, 10000000, &back) != 4)
			fail_msg("%s: %zu messages", damage[i], back.n);
		assert_string_equal("one", back.list[0].text);
		assert_string_equal("3", back.list[3].text);
		talk_release(&t);
		talk_release(&back);
	}
}

static void keeps_at_most_a_thousand_messages(void **state)
{
	struct fix *f = *state;
	struct talk t = TALK_INIT;
	struct err e = ERR_INIT;
	char text[32];

	assert_int_equal(0, db_begin(f->db, &e));
	for (int i = 0; i < 501; i++) {
		(void)snprintf(text, sizeof(text), "q%d", i);
		save_round(f, text, "a");
	}
	assert_int_equal(0, db_commit(f->db, &e));
	assert_int_equal(HISTORY_MESSAGES_MAX, load(f, UINT64_MAX, &t));
	assert_string_equal("q1", t.list[0].text);
	talk_release(&t);
}

static void keeps_at_most_ten_mebibytes(void **state)
{
	const size_t mib = (size_t)1 << 20, rounds = (size_t)HISTORY_BYTES_MAX >> 20;
	struct fix *f = *state;
	char *text = calloc(1, mib);
	struct talk t = TALK_INIT;
	struct err e = ERR_INIT;

	assert_non_null(text);
	memset(text, 'a', mib - 1);
	assert_int_equal(0, db_begin(f->db, &e));
	for (size_t i = 0; i < rounds; i++)
		save_round(f, "q", text); /* a MiB in all */
	assert_int_equal(2 * rounds, load(f, UINT64_MAX, &t));
	talk_release(&t);
	save_round(f, "q", "a"); /* hardly more, and the oldest goes */
	assert_int_equal(2 * rounds, load(f, UINT64_MAX, &t));
	talk_release(&t);
	assert_int_equal(0, db_commit(f->db, &e));
	free(text);
}

static void a_very_long_round_loses_its_oldest_calls(void **state)
{
	struct fix *f = *state;
	struct talk t = TALK_INIT, back = TALK_INIT;
	struct err e = ERR_INIT;
	char id[16];

	say(&t, ROLE_USER, "q");
	for (int i = 0; i < 1000; i++) {
		struct msg *m = talk_add(&t, ROLE_ASSISTANT, VIEW_NONE);

		(void)snprintf(id, sizeof(id), "c%d", i);
		assert_int_equal(0, msg_add_call(m, view_of(id), VIEW("f"), VIEW("{}")));
		assert_non_null(talk_add_result(&t, id, VIEW("r")));
	}
	say(&t, ROLE_ASSISTANT, "a");
	assert_int_equal(0, history_save(f->h, f->session, &t, 0, 2, &e));
	assert_in_range(load(f, UINT64_MAX, &back), 300, 402);
	assert_true(talk_round_valid(&back, 0, back.n));
	assert_string_equal("q", back.list[0].text);
	assert_string_equal("c999", back.list[back.n - 2].call_id);
	talk_release(&t);
	talk_release(&back);
}

/* What is all quotes and backslashes is twice as long where it is kept. */
static void a_round_is_kept_without_calls_that_are_too_big(void **state)
{
	struct fix *f = *state;
	struct talk t = TALK_INIT, back = TALK_INIT;
	struct str args = STR_INIT(STREAM_ARGS_MAX);
	struct err e = ERR_INIT;
	struct msg *m;

	say(&t, ROLE_USER, "q");
	m = talk_add(&t, ROLE_ASSISTANT, VIEW_NONE);
	(void)str_adds(&args, "{\"a\":\"");
	while (args.n < STREAM_ARGS_MAX - 3)
		(void)str_adds(&args, "\\\"");
	(void)str_adds(&args, "\"}");
	assert_int_equal(0, msg_add_call(m, VIEW("c1"), VIEW("f"), str_view(&args)));
	assert_int_equal(0, msg_add_call(m, VIEW("c2"), VIEW("f"), str_view(&args)));
	assert_non_null(talk_add_result(&t, "c1", VIEW("r")));
	assert_non_null(talk_add_result(&t, "c2", VIEW("r")));
	say(&t, ROLE_ASSISTANT, "a");
	assert_int_equal(0, history_save(f->h, f->session, &t, 0, 2, &e));
	assert_int_equal(2, load(f, UINT64_MAX, &back));
	assert_true(talk_round_valid(&back, 0, back.n));
	talk_release(&t);
	talk_release(&back);
	str_release(&args);
}

/* --- The prompt ------------------------------------------------------------------------------- */

static int prompt_of(const struct talk *t, size_t current, int64_t window, struct str *out)
{
	struct prompt p = { .model = "m",
		.workspace = "/w",
		.extra = "Be kind.",
		.language = "zh",
		.stream = true };
	struct contract contract;
	struct err e = ERR_INIT;

	provider_contract(&contract, provider_of(VIEW_NONE), "", VIEW_NONE, "m");
	p.contract = &contract;

	p.tools = VIEW("[{\"type\":\"function\"}]");
	p.talk = t;
	p.current = current;
	p.window = window;
	p.wall_ms = 1767225600000; /* 2026-01-01 00:00 UTC */
	str_reset(out);
	return prompt_write(&p, out, &e);
}

static bool has(const struct str *s, const char *word)
{
	return strstr(str_cstr(s), word);
}

static void a_prompt_says_what_matters(void **state)
{
	struct str out = STR_INIT(PROMPT_BODY_MAX);
	struct talk t = TALK_INIT;

	(void)state;
	say(&t, ROLE_USER, "hello \"you\"");
	assert_int_equal(0, prompt_of(&t, 0, 128000, &out));
	assert_int_equal(0, json_check(str_view(&out), &json_limits_wire, NULL));
	assert_true(has(&out, "\"model\":\"m\""));
	assert_true(has(&out, "\"stream\":true"));
	assert_true(has(&out, "\"include_usage\":true"));
	assert_true(has(&out, "The workspace is /w."));
	assert_true(has(&out, "Be kind."));
	assert_true(has(&out, "2026-01-01") || has(&out, "2025-12-31"));
	assert_true(has(&out, "in Chinese"));
	assert_true(has(&out, "\"tools\":[{\"type\":\"function\"}]"));
	assert_true(has(&out, "{\"role\":\"user\",\"content\":\"hello \\\"you\\\"\"}"));
	talk_release(&t);
	str_release(&out);
}

static void old_rounds_leave_whole_when_the_window_is_small(void **state)
{
	struct str out = STR_INIT(PROMPT_BODY_MAX), big = STR_INIT(10000);
	struct talk t = TALK_INIT;

	(void)state;
	for (int i = 0; i < 4000; i++)
		(void)str_adds(&big, "x ");
	say(&t, ROLE_USER, "first");
	say(&t, ROLE_ASSISTANT, str_cstr(&big));
	say(&t, ROLE_USER, "second");
	say(&t, ROLE_ASSISTANT, str_cstr(&big));
	say(&t, ROLE_USER, "third");
	assert_int_equal(0, prompt_of(&t, 4, 128000, &out));
	assert_true(has(&out, "first"));
	assert_int_equal(0, prompt_of(&t, 4, 5000, &out));
	assert_false(has(&out, "\"first\""));
	assert_true(has(&out, "\"second\""));
	assert_int_equal(0, prompt_of(&t, 4, 2000, &out));
	assert_false(has(&out, "\"second\""));
	assert_true(has(&out, "\"third\""));
	talk_release(&t);
	str_release(&out);
	str_release(&big);
}

static void old_results_of_a_long_run_are_left_out_but_not_the_newest(void **state)
{
	struct str out = STR_INIT(PROMPT_BODY_MAX), big = STR_INIT(10000);
	struct talk t = TALK_INIT;

	(void)state;
	for (int i = 0; i < 3000; i++)
		(void)str_adds(&big, "y ");
	say(&t, ROLE_USER, "go");
	for (int i = 0; i < 4; i++) {
		struct msg *m = talk_add(&t, ROLE_ASSISTANT, VIEW_NONE);
		char id[8], text[16];

		(void)snprintf(id, sizeof(id), "c%d", i);
		(void)snprintf(text, sizeof(text), "R%d ", i);
		assert_int_equal(0, msg_add_call(m, view_of(id), VIEW("f"), VIEW("{}")));
		str_drop(&big, big.n - 6000);
		memcpy(big.p, text, 3);
		assert_non_null(talk_add_result(&t, id, str_view(&big)));
	}
	assert_int_equal(0, prompt_of(&t, 0, 128000, &out));
	assert_true(has(&out, "R0 "));
	assert_int_equal(0, prompt_of(&t, 0, 4500, &out));
	assert_false(has(&out, "R0 "));
	assert_false(has(&out, "R1 "));
	assert_true(has(&out, "R3 "));
	assert_true(has(&out, "left out to fit"));
	assert_int_equal(-1, prompt_of(&t, 0, 1500, &out));
	talk_release(&t);
	str_release(&out);
	str_release(&big);
}

/* The open conversation of a key, after n more were begun, each a while after the one before. */
static int64_t begin_more(struct fix *f, const char *key, int n, int64_t from_ms)
{
	int64_t session = 0;
	struct err e = ERR_INIT;

	for (int i = 0; i < n; i++) {
		assert_int_equal(0, history_begin(f->h, key, from_ms + i, &e));
		assert_int_equal(0, history_session(f->h, key, from_ms + i, &session, &e));
		f->session = session;
		save_round(f, "q", "a");
	}
	return session;
}

static int count(struct fix *f, const char *key)
{
	static struct history_item items[2 * HISTORY_SESSIONS_MAX];
	struct err e = ERR_INIT;

	return history_list(f->h, key, items, 2 * HISTORY_SESSIONS_MAX, &e);
}

static void a_hundred_conversations_are_kept(void **state)
{
	struct fix *f = *state;

	assert_int_equal(100, HISTORY_SESSIONS_MAX);
	(void)begin_more(f, "you", 99, 1000);
	assert_int_equal(99, count(f, "you"));
	(void)begin_more(f, "you", 1, 2000);
	assert_int_equal(100, count(f, "you"));
	(void)begin_more(f, "you", 1, 3000);
	assert_int_equal(100, count(f, "you"));
}

static void a_clock_set_back_does_not_forget_the_open_conversation(void **state)
{
	struct fix *f = *state;
	int64_t session;
	struct talk t = TALK_INIT;

	(void)begin_more(f, "you", 100, INT64_C(4000000000000));
	session = begin_more(f, "you", 1, 5);
	assert_int_equal(100, count(f, "you"));
	f->session = session;
	assert_int_equal(2, load(f, UINT64_MAX, &t));
	talk_release(&t);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(keeps_rounds_across_a_reopening),
		T(loads_the_newest_rounds_that_fit),
		T(a_new_conversation_begins_empty_and_others_stay_apart),
		T(refuses_to_store_what_is_not_whole),
		T(is_part_of_the_callers_transaction),
		T(damaged_rounds_never_reach_a_prompt),
		T(keeps_at_most_a_thousand_messages),
		T(keeps_at_most_ten_mebibytes),
		T(a_very_long_round_loses_its_oldest_calls),
		T(a_round_is_kept_without_calls_that_are_too_big),
		T(a_hundred_conversations_are_kept),
		T(a_clock_set_back_does_not_forget_the_open_conversation),
		cmocka_unit_test(a_prompt_says_what_matters),
		cmocka_unit_test(old_rounds_leave_whole_when_the_window_is_small),
		cmocka_unit_test(old_results_of_a_long_run_are_left_out_but_not_the_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
