/* Quotes: what is kept of what was said, whom it is shown to, and which part of it was marked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/quote.h"

#include "house.h"

#define DAY ((int64_t)24 * 3600 * 1000)

static void say(struct world *w, const char *user, const char *id, const char *text,
	const char *file)
{
	assert_int_equal(0, quote_remember(&w->room, user, id, view_of(text), file, NULL));
}

/* What a message of this user that quotes this id gets in front. */
static void assert_quotes(struct world *w, const char *user, const char *id, const char *want)
{
	struct str out = STR_INIT(65536);
	const struct chan_msg m = { .from = user, .quote_id = id };

	assert_int_equal(0, quote_put(&w->room, LANG_EN, &m, &out, NULL));
	assert_string_equal(want, str_cstr(&out));
	str_release(&out);
}

#define LOST "[quoted message: (its text is not at hand; ask for it if you need it)]\n"

/* --- What is kept ----------------------------------------------------------------------------- */

static void what_was_said_is_found_by_its_id(void **state)
{
	struct world *w = *state;

	say(w, OWNER, "18446744073709551615", "hello\nthere", "");
	say(w, OWNER, "8", "", "report.pdf");
	say(w, OWNER, "9", "", "");
	for (int round = 0; round < 2; round++) {
		assert_quotes(w, OWNER, "18446744073709551615", "[quoted message: hello there]\n");
		assert_quotes(w, OWNER, "8",
			"[quoted message: (the file that you sent: report.pdf)]\n");
		assert_quotes(w, OWNER, "9", ""); /* attachments, which are named elsewhere */
		assert_quotes(w, OWNER, "7", LOST);
		assert_quotes(w, OWNER, "", "");
		world_reopen_db(w);
	}
}

/* What stands for WeChat's marks on the phone would be another name, another command. */
static void it_is_quoted_as_it_was_written(void **state)
{
	struct world *w = *state;

	say(w, OWNER, "7", "run `make x_y` | tee <log>\n*then* ~/a # b", "");
	assert_quotes(w, OWNER, "7",
		"[quoted message: run `make x_y` | tee <log> *then* ~/a # b]\n");
}

static void nobody_is_shown_what_another_one_said(void **state)
{
	struct world *w = *state;

	say(w, OWNER, "7", "the secret", "");
	say(w, GUEST, "8", "a guest's", "");
	assert_quotes(w, GUEST, "7", LOST);
	assert_quotes(w, OWNER, "8", LOST);
	assert_quotes(w, STRANGER, "7", LOST);
	say(w, GUEST, "7", "another seven", "");
	assert_quotes(w, GUEST, "7", "[quoted message: another seven]\n");
	assert_quotes(w, OWNER, "7", "[quoted message: the secret]\n");
	w->room.bot = "another@im.bot";
	assert_quotes(w, OWNER, "7", LOST);
}

static void the_first_word_under_an_id_stays(void **state)
{
	struct world *w = *state;

	say(w, OWNER, "7", "first", "");
	say(w, OWNER, "7", "second", "");
	assert_quotes(w, OWNER, "7", "[quoted message: first]\n");
}

static void ids_of_our_own_making_are_not_kept(void **state)
{
	struct world *w = *state;

	say(w, OWNER, "", "x", "");
	say(w, OWNER, "h:00", "x", "");
	assert_int_equal(0, world_int(w, "SELECT count(*) FROM channel_said"));
}

static void a_text_is_kept_up_to_its_limit(void **state)
{
	static char text[QUOTE_TEXT_MAX + 16];
	struct world *w = *state;
	const size_t sizes[] = { QUOTE_TEXT_MAX - 1, QUOTE_TEXT_MAX, QUOTE_TEXT_MAX + 1 };

	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < 3; i++) {
		char id[2] = { (char)('1' + i), '\0' };

		assert_int_equal(0, quote_remember(&w->room, OWNER, id,
					    (struct view){ text, sizes[i] }, "", NULL));
	}
	assert_int_equal(QUOTE_TEXT_MAX - 1,
		world_int(w, "SELECT length(text) FROM channel_said WHERE id = '1'"));
	assert_int_equal(QUOTE_TEXT_MAX,
		world_int(w, "SELECT length(text) FROM channel_said WHERE id = '2'"));
	assert_int_equal(QUOTE_TEXT_MAX,
		world_int(w, "SELECT length(text) FROM channel_said WHERE id = '3'"));
}

static void a_long_text_is_cut_between_characters(void **state)
{
	struct str text = STR_INIT(2 * QUOTE_TEXT_MAX);
	struct world *w = *state;

	str_addc(&text, 'a');
	while (text.n <= QUOTE_TEXT_MAX)
		str_adds(&text, "中");
	assert_int_equal(0, quote_remember(&w->room, OWNER, "1", str_view(&text), "", NULL));
	/* 1 + 5461 * 3 = 16384 */
	assert_int_equal(1 + 5461, world_int(w, "SELECT length(text) FROM channel_said"));
	str_release(&text);
}

static void it_is_kept_for_thirty_days(void **state)
{
	struct world *w = *state;

	say(w, OWNER, "1", "old", "");
	world_pass(w, 1);
	say(w, OWNER, "2", "a bit younger", "");
	world_pass(w, 30 * DAY - 1);
	assert_int_equal(0, quote_prune(&w->room, NULL));
	assert_quotes(w, OWNER, "1", "[quoted message: old]\n"); /* exactly thirty days */
	world_pass(w, 1);
	assert_int_equal(0, quote_prune(&w->room, NULL));
	assert_quotes(w, OWNER, "1", LOST);
	assert_quotes(w, OWNER, "2", "[quoted message: a bit younger]\n");
}

static void ten_thousand_are_kept(void **state)
{
	struct world *w = *state;
	char sql[400];

	snprintf(sql, sizeof(sql),
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 10000)"
		" INSERT INTO channel_said (bot, user, id, at, text) SELECT '" BOT "', '" OWNER
		"', x, %lld, 't' || x FROM c",
		(long long)room_now(&w->room));
	world_sql(w, sql);
	assert_int_equal(0, quote_prune(&w->room, NULL));
	assert_int_equal(10000, world_int(w, "SELECT count(*) FROM channel_said"));
	say(w, OWNER, "10001", "one more", "");
	assert_int_equal(0, quote_prune(&w->room, NULL));
	assert_int_equal(10000, world_int(w, "SELECT count(*) FROM channel_said"));
	assert_quotes(w, OWNER, "1", LOST);
	assert_quotes(w, OWNER, "2", "[quoted message: t2]\n");
}

static void nothing_is_kept_when_the_disk_takes_nothing(void **state)
{
	struct world *w = *state;
	struct err e = ERR_INIT;

	world_full(w, true);
	assert_int_equal(-1, quote_remember(&w->room, OWNER, "1", VIEW("x"), "", &e));
	world_full(w, false);
}

/* --- What beats what -------------------------------------------------------------------------- */

static void assert_line(struct world *w, const struct chan_msg *m, const char *want)
{
	struct str out = STR_INIT(65536);

	assert_int_equal(0, quote_put(&w->room, LANG_EN, m, &out, NULL));
	assert_string_equal(want, str_cstr(&out));
	str_release(&out);
}

static void what_came_along_beats_what_was_kept(void **state)
{
	struct world *w = *state;
	struct chan_msg m = { .from = OWNER, .quote = VIEW("inline"), .quote_id = "1" };

	say(w, OWNER, "1", "kept", "");
	assert_line(w, &m, "[quoted message: inline]\n");
	m.quote_title = true; /* a summary does not */
	assert_line(w, &m, "[quoted message: kept]\n");
	m.quote_id = "2"; /* but it beats nothing */
	assert_line(w, &m, "[quoted message: inline]\n");
	m.quote = VIEW(" \n");
	m.quote_title = false;
	m.quote_id = "1";
	assert_line(w, &m, "[quoted message: kept]\n");
}

static void attachments_that_came_along_are_not_missed(void **state)
{
	const struct chan_item items[] = { { .kind = CHAN_IMAGE, .quoted = true } };
	struct chan_msg m = { .from = OWNER, .quote_id = "1", .items = items, .nitems = 1 };

	assert_line(*state, &m, "");
}

static void a_part_is_shown_of_either(void **state)
{
	struct world *w = *state;
	struct chan_msg m = { .from = OWNER,
		.quote = VIEW("one two three"),
		.quote_id = "1",
		.partial = { .start = "two", .end = "three", .md5 = "" } };

	assert_line(w, &m, "[quoted message: two three]\n");
	say(w, OWNER, "1", "zero two x three four", "");
	m.quote = VIEW_NONE;
	assert_line(w, &m, "[quoted message: two x three]\n");
}

static void it_is_said_in_the_user_s_language(void **state)
{
	struct world *w = *state;
	struct str out = STR_INIT(4096);
	struct chan_msg m = { .from = OWNER, .quote_id = "5" };

	assert_int_equal(0, quote_put(&w->room, LANG_ZH, &m, &out, NULL));
	assert_true(view_starts(str_view(&out), VIEW("[引用的消息：（原文")));
	str_release(&out);
}

/* --- Parts (wire reference, 5.5) -------------------------------------------------------------- */

#define WEATHER "早上好，今天天气不错。早上好，明天也不错。"
#define MD5     "5e86a3745b35029493ecd1fd9c1c6c0d"

static void a_part_is_found_by_its_ends(void **state)
{
	static const struct {
		const char *text, *start, *end;
		int64_t first, last;
		const char *md5, *want;
	} rows[] = {
		/* The reference's vector, by both ways of counting. */
		{ WEATHER, "明天", "不错", 0, 1, MD5, "明天也不错" },
		{ WEATHER, "明天", "不错", 0, 0, MD5, "明天也不错" },
		{ WEATHER, "明天", "不错", 0, 1, "", "明天也不错" },
		/* Counted from the beginning it would end before it begins. */
		{ WEATHER, "明天", "不错", 0, 0, "", "明天也不错" },
		/* Both lead somewhere: the hash decides, the beginning without one. */
		{ "b a b b", "a", "b", 0, 1, "", "a b" },
		{ "b a b b", "a", "b", 0, 1, "0cc9cd4dd26c5137b675a0d819cb9ab0", "a b" },
		{ "b a b b", "a", "b", 0, 1, "8d2ed0bd00379bada446181edfc123bd", "a b b" },
		/* Neither hash is right: all of it. */
		{ WEATHER, "明天", "不错", 0, 1, "00000000000000000000000000000000", WEATHER },
		/* A hash in capitals is the same. */
		{ WEATHER, "明天", "不错", 0, 1, "5E86A3745B35029493ECD1FD9C1C6C0D", "明天也不错" },
		/* Occurrences do not overlap. */
		{ "aaaa!", "aa", "!", 1, 0, "", "aa!" },
		{ "aaaa!", "aa", "!", 2, 0, "", "aaaa!" },
		{ "aaa!", "aa", "!", 1, 0, "", "aaa!" },
		/* One mark may be both ends, or lie in the other. */
		{ "one", "one", "one", 0, 0, "", "one" },
		{ "abcd", "ab", "bcd", 0, 0, "", "abcd" },
		{ "x abc", "abc", "b", 0, 0, "", "x abc" },
		/* What is not there. */
		{ "abc", "x", "c", 0, 0, "", "abc" },
		{ "abc", "a", "x", 0, 0, "", "abc" },
		{ "abc", "a", "c", INT64_MAX, 0, "", "abc" },
		{ "abc", "a", "c", 0, INT64_MAX, "", "abc" },
		{ "abc", "c", "a", 0, 0, "", "abc" },
		{ "", "a", "c", 0, 0, "", "" },
		{ "abc", "abcd", "c", 0, 0, "", "abc" },
		/* Beyond the basic plane, and a character of several. */
		{ "看👨‍👩‍👧吧😀好", "👨‍👩‍👧", "😀", 0, 0, "",
			"👨‍👩‍👧吧😀" },
		{ "line 1\nline 2\nline 3", "line", "line", 1, 2, "", "line 2\nline" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct chan_partial p = { rows[i].start, rows[i].end, rows[i].first,
			rows[i].last, rows[i].md5 };
		struct view got = quote_part(view_of(rows[i].text), &p);

		if (!view_eqs(got, rows[i].want))
			fail_msg("row %zu: %.*s", i, VIEW_FMT(got));
	}
}

static void without_a_mark_it_is_all(void **state)
{
	const struct chan_partial none = { .start = NULL };

	(void)state;
	assert_true(view_eqs(quote_part(VIEW("abc"), &none), "abc"));
}

/* A long text of one letter, marks of half of it, indexes without bound: done at once, or the test
 * does not end in its time. */
static void hostile_marks_take_linear_time(void **state)
{
	/* The sanitizer looks at all that is left of a text for each search in it, itself. */
	const size_t n = CHAN_TEXT_MAX / 32;
	char *text = malloc(n), *mark = malloc(65536);
	static const size_t marks[] = { 1, 2, 255, 256, 257, CHAN_TEXT_MAX / 64, 65535 };

	(void)state;
	memset(text, 'a', n);
	memset(mark, 'a', 65536);
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		struct chan_partial p = { mark, mark, INT64_MAX, INT64_MAX, MD5 };

		mark[marks[i]] = '\0';
		assert_int_equal(n, quote_part((struct view){ text, n }, &p).n);
		p.start_index = 0;
		assert_int_equal(n, quote_part((struct view){ text, n }, &p).n);
		mark[0] = 'b'; /* never found, but at the last byte of each try */
		assert_int_equal(n, quote_part((struct view){ text, n }, &p).n);
		mark[0] = mark[marks[i]] = 'a';
	}
	free(text);
	free(mark);
}

/* --- In the house ----------------------------------------------------------------------------- */

static void ask_about(struct house *h, const char *user, const char *id, const char *quoted)
{
	const struct chan_msg m = { .id = id,
		.from = user,
		.token = "t",
		.text = VIEW("what of it?"),
		.typed = true,
		.quote_id = quoted };

	assert_int_equal(0, house_hear_msg(h, &m));
}

static void both_sides_of_a_talk_can_be_quoted(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "hello"); /* 101 */
	house_answer(h, "the answer"); /* 7001 */
	ask_about(h, OWNER, "900", "101");
	assert_string_equal("[quoted message: hello]\nwhat of it?", h->engine.text);
	assert_int_equal(strlen("[quoted message: hello]"), h->engine.quoted);
	house_answer(h, "that");
	ask_about(h, OWNER, "901", "7001");
	assert_string_equal("[quoted message: the answer]\nwhat of it?", h->engine.text);
	house_answer(h, "this");
	house_crash(h);
	ask_about(h, OWNER, "902", "900");
	assert_string_equal("[quoted message: what of it?]\nwhat of it?", h->engine.text);
}

static void a_guest_does_not_reach_the_owner_s_words(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "the secret"); /* 101 */
	house_answer(h, "as you wish");     /* 7001 */
	ask_about(h, GUEST, "900", "101");
	assert_string_equal(LOST "what of it?", h->engine.text);
	house_answer(h, "?");
	ask_about(h, GUEST, "901", "7001");
	assert_string_equal(LOST "what of it?", h->engine.text);
}

static void a_stranger_s_words_are_not_kept(void **state)
{
	struct house *h = *state;

	house_hear(h, STRANGER, "let me in");
	assert_int_equal(0, world_int(&h->w, "SELECT count(*) FROM channel_said"));
}

static void commands_and_their_replies_can_be_quoted(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "/queue"); /* 101, 7001 */
	ask_about(h, OWNER, "900", "101");
	assert_string_equal("[quoted message: /queue]\nwhat of it?", h->engine.text);
	house_answer(h, "x");
	ask_about(h, OWNER, "901", "7001");
	assert_string_equal("[quoted message: Nothing is waiting.]\nwhat of it?", h->engine.text);
}

int main(void)
{
#define W(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
#define H(f) cmocka_unit_test_setup_teardown(f, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
		W(what_was_said_is_found_by_its_id),
		W(it_is_quoted_as_it_was_written),
		W(nobody_is_shown_what_another_one_said),
		W(the_first_word_under_an_id_stays),
		W(ids_of_our_own_making_are_not_kept),
		W(a_text_is_kept_up_to_its_limit),
		W(a_long_text_is_cut_between_characters),
		W(it_is_kept_for_thirty_days),
		W(ten_thousand_are_kept),
		W(nothing_is_kept_when_the_disk_takes_nothing),
		W(what_came_along_beats_what_was_kept),
		W(attachments_that_came_along_are_not_missed),
		W(a_part_is_shown_of_either),
		W(it_is_said_in_the_user_s_language),
		cmocka_unit_test(a_part_is_found_by_its_ends),
		cmocka_unit_test(without_a_mark_it_is_all),
		cmocka_unit_test(hostile_marks_take_linear_time),
		H(both_sides_of_a_talk_can_be_quoted),
		H(a_guest_does_not_reach_the_owner_s_words),
		H(a_stranger_s_words_are_not_kept),
		H(commands_and_their_replies_can_be_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
