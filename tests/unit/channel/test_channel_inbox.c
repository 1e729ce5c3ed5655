/* The inbox: ids, the bounded FIFO, retention, rows that do not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "channel/inbox.h"

#include "world.h"

#define HOUR ((int64_t)3600 * 1000)

static int put(struct world *w, const char *user, const char *text, int64_t *seq)
{
	return inbox_put(&w->room, "", user, ORIGIN_PHONE, LANG_EN, view_of(text), seq, NULL);
}

static int waiting(struct world *w, const char *user)
{
	int n = -1;

	assert_int_equal(0, inbox_waiting(&w->room, user, &n, NULL));
	return n;
}

static void an_id_is_new_once(void **state)
{
	static const char *const ids[] = { "9007199254740993", "9007199254740992",
		"18446744073709551615",
		"h:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" };
	struct world *w = *state;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(round == 1, inbox_seen(&w->room, ids[i], NULL));
			assert_int_equal(round == 0,
				inbox_see(&w->room, ids[i], DISP_QUEUED, NULL));
		}
		world_reopen_db(w);
	}
}

static void ids_belong_to_a_bot(void **state)
{
	struct world *w = *state;

	assert_int_equal(1, inbox_see(&w->room, "1", DISP_QUEUED, NULL));
	w->room.bot = "another";
	assert_int_equal(1, inbox_see(&w->room, "1", DISP_QUEUED, NULL));
}

static void fill_seen(struct world *w, int n)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %d)"
		" INSERT INTO channel_seen (bot, id, at, what) SELECT '" BOT
		"', 'm' || x, %lld, 0 FROM c",
		n, (long long)w->clock.wall);
	world_sql(w, sql);
}

static void ids_are_kept_for_a_day_whatever_their_number(void **state)
{
	struct world *w = *state;

	fill_seen(w, INBOX_SEEN_MIN + 500);
	world_pass(w, 24 * HOUR);
	assert_int_equal(0, inbox_prune(&w->room, NULL));
	assert_int_equal(INBOX_SEEN_MIN + 500, world_int(w, "SELECT count(*) FROM channel_seen"));
	world_pass(w, 1);
	assert_int_equal(0, inbox_prune(&w->room, NULL));
	assert_int_equal(INBOX_SEEN_MIN, world_int(w, "SELECT count(*) FROM channel_seen"));
	assert_int_equal(0, inbox_seen(&w->room, "m500", NULL));
	assert_int_equal(1, inbox_seen(&w->room, "m501", NULL));
}

static void ten_thousand_ids_are_kept_whatever_their_age(void **state)
{
	struct world *w = *state;

	fill_seen(w, INBOX_SEEN_MIN);
	world_pass(w, 1000 * HOUR);
	assert_int_equal(0, inbox_prune(&w->room, NULL));
	assert_int_equal(INBOX_SEEN_MIN, world_int(w, "SELECT count(*) FROM channel_seen"));
}

static void ids_have_a_ceiling(void **state)
{
	struct world *w = *state;

	fill_seen(w, INBOX_SEEN_MAX + 10);
	assert_int_equal(0, inbox_prune(&w->room, NULL));
	assert_int_equal(INBOX_SEEN_MAX, world_int(w, "SELECT count(*) FROM channel_seen"));
}

static void takes_as_many_as_the_limit_says(void **state)
{
	static const int limits[] = { 1, 2, 20, 1000 };
	struct world *w = *state;

	for (size_t i = 0; i < 4; i++) {
		world_sql(w, "DELETE FROM channel_inbox");
		w->room.queue_limit = limits[i];
		assert_int_equal(0, db_begin(w->db, NULL));
		for (int n = 0; n < limits[i]; n++)
			assert_int_equal(1, put(w, OWNER, "x", NULL));
		assert_int_equal(0, put(w, OWNER, "x", NULL));
		assert_int_equal(0, db_commit(w->db, NULL));
		assert_int_equal(limits[i], waiting(w, NULL));
	}
}

static void what_runs_does_not_take_a_place(void **state)
{
	struct world *w = *state;
	int64_t seq;

	w->room.queue_limit = 1;
	assert_int_equal(1, put(w, OWNER, "x", &seq));
	assert_int_equal(0, inbox_move(&w->room, seq, INBOX_RUNNING, 1, NULL));
	assert_int_equal(1, put(w, OWNER, "y", NULL));
}

static void first_in_is_first_out_over_a_restart(void **state)
{
	struct world *w = *state;
	struct inbox_item it;
	int64_t seq;

	inbox_item_init(&it);
	assert_int_equal(0, inbox_head(&w->room, &it, NULL));
	assert_int_equal(1, put(w, OWNER, "one", &seq));
	assert_int_equal(1, put(w, "other", "two", NULL));
	world_reopen_db(w);
	assert_int_equal(1, inbox_head(&w->room, &it, NULL));
	assert_string_equal("one", str_cstr(&it.text));
	assert_string_equal(OWNER, it.user);
	assert_int_equal(seq, it.seq);
	assert_int_equal(0, inbox_move(&w->room, it.seq, INBOX_DONE, 1, NULL));
	assert_int_equal(1, inbox_head(&w->room, &it, NULL));
	assert_string_equal("two", str_cstr(&it.text));
	inbox_item_release(&it);
}

static void the_nth_is_counted_among_ones_own(void **state)
{
	struct world *w = *state;
	struct inbox_item it;

	inbox_item_init(&it);
	assert_int_equal(1, put(w, OWNER, "a", NULL));
	assert_int_equal(1, put(w, "other", "b", NULL));
	assert_int_equal(1, put(w, OWNER, "c", NULL));
	assert_int_equal(1, inbox_nth(&w->room, OWNER, 2, &it, NULL));
	assert_string_equal("c", str_cstr(&it.text));
	assert_int_equal(0, inbox_nth(&w->room, OWNER, 3, &it, NULL));
	assert_int_equal(0, inbox_nth(&w->room, OWNER, 0, &it, NULL));
	assert_int_equal(0, inbox_nth(&w->room, OWNER, -1, &it, NULL));
	inbox_item_release(&it);
}

static void clearing_takes_ones_own(void **state)
{
	struct world *w = *state;
	int n;

	assert_int_equal(1, put(w, OWNER, "a", NULL));
	assert_int_equal(1, put(w, "other", "b", NULL));
	assert_int_equal(0, inbox_clear(&w->room, OWNER, &n, NULL));
	assert_int_equal(1, n);
	assert_int_equal(1, waiting(w, NULL));
	assert_int_equal(0, inbox_clear(&w->room, NULL, &n, NULL));
	assert_int_equal(1, n);
}

static void the_newest_unfinished_is_found(void **state)
{
	static const enum inbox_state ends[] = { INBOX_FAILED, INBOX_INTERRUPTED, INBOX_STOPPED };
	struct world *w = *state;
	struct inbox_item it;
	int64_t seq;

	inbox_item_init(&it);
	assert_int_equal(0, inbox_unfinished(&w->room, OWNER, &it, NULL));
	for (size_t i = 0; i < 3; i++) {
		char text[2] = { (char)('a' + i), 0 };

		assert_int_equal(1, put(w, OWNER, text, &seq));
		assert_int_equal(0, inbox_move(&w->room, seq, ends[i], 1, NULL));
		assert_int_equal(1, inbox_unfinished(&w->room, OWNER, &it, NULL));
		assert_string_equal(text, str_cstr(&it.text));
	}
	assert_int_equal(1, put(w, OWNER, "done", &seq));
	assert_int_equal(0, inbox_move(&w->room, seq, INBOX_DONE, 1, NULL));
	assert_int_equal(1, inbox_unfinished(&w->room, OWNER, &it, NULL));
	assert_string_equal("c", str_cstr(&it.text));
	inbox_item_release(&it);
}

static void a_row_that_does_not_fit_is_dropped_not_served(void **state)
{
	static const char *const damage[] = {
		"UPDATE channel_inbox SET origin = 99 WHERE text = 'bad'",
		"UPDATE channel_inbox SET lang = -1 WHERE text = 'bad'",
		"UPDATE channel_inbox SET user = printf('%.300c', 'x') WHERE text = 'bad'",
		"UPDATE channel_inbox SET user = 'a' || char(0) || 'b' WHERE text = 'bad'",
	};
	struct world *w = *state;
	struct inbox_item it;

	inbox_item_init(&it);
	for (size_t i = 0; i < 4; i++) {
		world_sql(w, "DELETE FROM channel_inbox");
		assert_int_equal(1, put(w, OWNER, "bad", NULL));
		assert_int_equal(1, put(w, OWNER, "good", NULL));
		world_sql(w, damage[i]);
		assert_int_equal(1, inbox_head(&w->room, &it, NULL));
		assert_string_equal("good", str_cstr(&it.text));
		assert_int_equal(1, waiting(w, NULL));
	}
	inbox_item_release(&it);
}

static void ended_rows_are_forgotten_by_age_and_number(void **state)
{
	struct world *w = *state;
	char sql[300];

	snprintf(sql, sizeof(sql),
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1200)"
		" INSERT INTO channel_inbox (id, user, origin, lang, state, at, ended_at, text)"
		" SELECT '', 'u', 0, 0, 2, 1, %lld, 'x' FROM c",
		(long long)w->clock.wall);
	world_sql(w, sql);
	assert_int_equal(1, put(w, OWNER, "waits", NULL));
	assert_int_equal(0, inbox_prune(&w->room, NULL));
	assert_int_equal(1001, world_int(w, "SELECT count(*) FROM channel_inbox"));
	world_pass(w, (int64_t)31 * 24 * HOUR);
	assert_int_equal(0, inbox_prune(&w->room, NULL));
	assert_int_equal(1, world_int(w, "SELECT count(*) FROM channel_inbox"));
	assert_int_equal(1, waiting(w, NULL));
}

static void a_done_text_is_kept_short_and_an_unfinished_one_whole(void **state)
{
	struct world *w = *state;
	struct str big = STR_INIT(100000);
	int64_t seq;

	while (big.n < 50000)
		str_adds(&big, "好");
	assert_int_equal(1, put(w, OWNER, str_cstr(&big), &seq));
	assert_int_equal(0, inbox_move(&w->room, seq, INBOX_FAILED, 1, NULL));
	assert_int_equal((int64_t)(big.n / 3),
		world_int(w, "SELECT length(text) FROM channel_inbox"));
	assert_int_equal(0, inbox_move(&w->room, seq, INBOX_DONE, 1, NULL));
	assert_int_equal(4000, world_int(w, "SELECT length(text) FROM channel_inbox"));
	str_release(&big);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(an_id_is_new_once),
		T(ids_belong_to_a_bot),
		T(ids_are_kept_for_a_day_whatever_their_number),
		T(ten_thousand_ids_are_kept_whatever_their_age),
		T(ids_have_a_ceiling),
		T(takes_as_many_as_the_limit_says),
		T(what_runs_does_not_take_a_place),
		T(first_in_is_first_out_over_a_restart),
		T(the_nth_is_counted_among_ones_own),
		T(clearing_takes_ones_own),
		T(the_newest_unfinished_is_found),
		T(a_row_that_does_not_fit_is_dropped_not_served),
		T(ended_rows_are_forgotten_by_age_and_number),
		T(a_done_text_is_kept_short_and_an_unfinished_one_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
