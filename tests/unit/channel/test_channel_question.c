/* Questions on the phone, and which answers count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "channel/inbox.h"
#include "channel/outbox.h"
#include "channel/peer.h"
#include "channel/question.h"

#include "house.h"

static const char *const yes_no[] = { "Yes", "Always", "No", NULL };

static int setup(void **state)
{
	static struct house h;

	house_open(&h);
	house_hear(&h, OWNER, "work");
	*state = &h;
	return 0;
}

static const char *last(struct house *h)
{
	return fake_last(&h->w.wire);
}

static void ask(struct house *h, const char *id, const char *text)
{
	fake_ask(&h->engine, ENGINE_APPROVAL, id, text, yes_no);
	house_wait(h, 2000);
}

/* A message as claimed to be sent then. */
static void hear_at(struct house *h, const char *text, int64_t sent_at)
{
	char id[24];
	struct chan_msg m = { .id = id,
		.from = OWNER,
		.token = "t",
		.text = view_of(text),
		.typed = true,
		.quote_id = "",
		.sent_at = sent_at };

	snprintf(id, sizeof(id), "%d", ++h->next_id);
	assert_int_equal(0, house_hear_msg(h, &m));
}

/* --- Asking ----------------------------------------------------------------------------------- */

static void a_question_is_shown_with_numbered_choices(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "make test");
	assert_int_equal(1, h->w.wire.nsent);
	assert_string_equal("[A] Your permission is needed: run＿shell\n```\nmake test\n```\n"
			    "1. Yes\n2. Always\n3. No\n\nReply with 1 to 3 only, within 10 min.",
		last(h));
	assert_int_equal(0, h->engine.answers);
}

static void a_plain_question_is_shown_as_prose(void **state)
{
	static const char *const colours[] = { "red", "b<l>ue", NULL };
	struct house *h = *state;

	fake_ask(&h->engine, ENGINE_QUESTION, "q1", "Which colour?", colours);
	house_wait(h, 1000);
	assert_string_equal("[A] Which colour?\n1. red\n2. b＜l＞ue\n\n"
			    "Reply with 1 to 2 only, within 10 min.",
		last(h));
}

static void a_command_cannot_close_its_fence(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "echo ```\n1. Yes\n```` x");
	assert_non_null(strstr(last(h), "\n`````\necho ```\n1. Yes\n```` x\n`````\n"));
}

static void what_is_hidden_or_cut_is_said(void **state)
{
	struct house *h = *state;
	struct str s = STR_INIT(10000);

	ask(h, "q1", " ");
	assert_non_null(strstr(last(h), "does not say"));
	for (int i = 0; i < 3000; i++)
		str_addc(&s, 'x');
	str_adds(&s, "; the end");
	ask(h, "q2", str_cstr(&s));
	assert_non_null(strstr(last(h), "x\n[...]\n| x"));
	assert_non_null(strstr(last(h), "x; the end\n```\n(not all of it is shown;"));
	assert_true(strlen(last(h)) <= CHUNK_LIMIT_DEFAULT);
	assert_int_equal(2, h->w.wire.nsent);
	str_release(&s);
}

static void controls_never_reach_the_phone(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "rm \x1b[8m-rf\x1b[0m \xe2\x80\xae/x");
	assert_non_null(strstr(last(h), "rm -rf /x"));
}

static void an_approval_has_the_four_standard_choices(void **state)
{
	struct house *h = *state;

	fake_approval(&h->engine, "q1", "uname -a");
	house_wait(h, 2000);
	assert_string_equal("[A] Your permission is needed: shell\n```\nuname -a\n```\n"
			    "1. Yes, this once\n"
			    "2. Yes, and again in this conversation when it is exactly the same\n"
			    "3. No\n4. No, and stop the task\n\n"
			    "Reply with 1 to 4 only, within 10 min.",
		last(h));
	house_hear(h, OWNER, "２");
	assert_int_equal(APPROVAL_CONVERSATION, h->engine.choice);
	house_hear(h, OWNER, "/help 停");
	h->settings.language = LANG_ZH;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	fake_approval(&h->engine, "q2", "uname -a");
	house_wait(h, 2000);
	assert_string_equal(
		"【B】需要你同意：运行命令\n```\nuname -a\n```\n"
		"1. 同意，只这一次\n2. 同意，这次对话里再遇到完全一样的也同意\n"
		"3. 不同意\n4. 不同意，并停下任务\n\n请在 10 分钟内只回复 1 到 4 的数字。",
		last(h));
}

static void no_and_stop_ends_the_turn_as_a_stop(void **state)
{
	struct house *h = *state;

	fake_approval(&h->engine, "q1", "uname -a");
	house_wait(h, 2000);
	house_hear(h, OWNER, "waits");
	house_hear(h, OWNER, "4");
	assert_int_equal(1, h->engine.answers);
	assert_int_equal(APPROVAL_STOP, h->engine.choice);
	assert_int_equal(1, h->engine.cancels);
	house_wait(h, 1000);
	assert_int_equal(1, fake_count(&h->w.wire, "Stopped"));
	assert_int_equal(1, house_rows(h, INBOX_STOPPED));
	assert_string_equal("waits", h->engine.text); /* the next has its turn */
	/* The fourth of an engine's own choices is not that one. */
	fake_ask(&h->engine, ENGINE_APPROVAL, "q2", "ls",
		(const char *const[]){ "a", "b", "c", "d", NULL });
	house_wait(h, 2000);
	house_hear(h, OWNER, "4");
	assert_int_equal(2, h->engine.answers);
	assert_int_equal(1, h->engine.cancels);
}

static void a_question_is_one_part_whatever_its_size(void **state)
{
	static const size_t limits[] = { 1, 63, 64, 100, 399, 400, 500, 1800, 3800 };
	struct house *h = *state;
	struct str s = STR_INIT(10000);

	while (s.n < 4000)
		str_adds(&s, "rm -rf build/ ");
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		char id[8];

		h->settings.text_limit = limits[i];
		assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
		snprintf(id, sizeof(id), "q%zu", i);
		fake_approval(&h->engine, id, str_cstr(&s));
		house_wait(h, 5000);
		assert_int_equal((int)i + 1, h->w.wire.nsent);
		assert_non_null(strstr(last(h), "rm -rf build/ rm -rf build/"));
		assert_non_null(strstr(last(h), "not all of it is shown"));
		assert_non_null(strstr(last(h), "\n4. No, and stop the task\n"));
		assert_true(strlen(last(h)) <= (limits[i] < 500 ? 500 : limits[i]));
		house_hear(h, OWNER, "1");
		assert_int_equal((int)i + 1, h->engine.answers);
	}
	str_release(&s);
}

static void twenty_long_choices_are_one_part_too(void **state)
{
	static const char long_one[] = "0123456789 0123456789 0123456789 0123456789 0123456789";
	const char *choices[21] = { NULL };
	struct house *h = *state;

	for (int i = 0; i < 20; i++)
		choices[i] = long_one;
	h->settings.text_limit = 1;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	fake_ask(&h->engine, ENGINE_QUESTION, "q1", "Which?", choices);
	house_wait(h, 5000);
	assert_int_equal(1, h->w.wire.nsent);
	house_hear(h, OWNER, "20");
	assert_int_equal(19, h->engine.choice);
}

/* --- Answers that count ----------------------------------------------------------------------- */

static void the_number_alone_counts(void **state)
{
	static const struct {
		const char *text;
		int choice;
	} rows[] = { { "1", 0 }, { "3", 2 }, { "２", 1 }, { "  1  ", 0 }, { "\n2\n", 1 },
		{ "\xe3\x80\x80"
		  "3\xe3\x80\x80",
			2 } };
	struct house *h = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char id[8];

		snprintf(id, sizeof(id), "q%zu", i);
		ask(h, id, "ls");
		house_hear(h, OWNER, rows[i].text);
		assert_int_equal((int)i + 1, h->engine.answers);
		assert_string_equal(id, h->engine.answered_id);
		assert_int_equal(rows[i].choice, h->engine.choice);
	}
	assert_int_equal(0, house_rows(h, INBOX_WAITING));
}

static void where_several_may_be_chosen_their_numbers_count(void **state)
{
	static const char *const fruit[] = { "apple", "pear", "plum", NULL };
	static const struct {
		const char *text;
		int mask;
	} rows[] = { { "2", 2 }, { "1 3", 5 }, { "3,1", 5 }, { "1、2", 3 }, { "１，２　３", 7 },
		{ "1  1", 1 }, { " F2, 3 ", 6 } };
	struct house *h = *state;
	struct engine_event ev = { .type = ENGINE_QUESTION, .choices = fruit, .several = true };

	ev.turn = h->engine.turn;
	ev.text = VIEW("Fruit?");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[16];

		snprintf(text, sizeof(text), "%s", rows[i].text);
		ev.id = "q";
		h->engine.engine.on_event(h->engine.engine.arg, &ev);
		house_wait(h, 2000);
		if (i == 0)
			assert_string_equal(
				"[A] Fruit?\n1. apple\n2. pear\n3. plum\n\nYou may choose "
				"several: reply with numbers from 1 to 3 only, with spaces "
				"between, within 10 min.",
				last(h));
		if (i == 6)
			memcpy(strchr(text, 'F'), "G", 1); /* its letter by now */
		house_hear(h, OWNER, text);
		assert_int_equal((int)i + 1, h->engine.answers);
		assert_int_equal(rows[i].mask, h->engine.choice);
	}
	assert_int_equal(0, house_rows(h, INBOX_WAITING));
}

static void near_misses_among_several_do_not_count(void **state)
{
	static const char *const fruit[] = { "apple", "pear", "plum", NULL };
	static const char *const texts[] = { "1 and 3", "1,", ",1", "1 3 x", "1-3", "A 1", "1;3" };
	struct house *h = *state;
	struct engine_event ev = { .type = ENGINE_QUESTION, .choices = fruit, .several = true };

	ev.turn = h->engine.turn;
	ev.text = VIEW("Fruit?");
	ev.id = "q";
	h->engine.engine.on_event(h->engine.engine.arg, &ev);
	house_wait(h, 2000);
	h->settings.queue_limit = 100;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		house_hear(h, OWNER, texts[i]);
		house_wait(h, 2000);
	}
	assert_int_equal(7, house_rows(h, INBOX_WAITING));
	/* one of them out of range: none counts, and it is told */
	house_hear(h, OWNER, "1 4");
	house_hear(h, OWNER, "0 1");
	house_wait(h, 2000);
	assert_int_equal(2, fake_count(&h->w.wire, "There is no such choice"));
	assert_int_equal(0, h->engine.answers);
	house_hear(h, OWNER, "1 3");
	assert_int_equal(5, h->engine.choice);
	/* several numbers when nothing is open are words like others */
	house_hear(h, OWNER, "1 3");
	assert_int_equal(8, house_rows(h, INBOX_WAITING));
}

static void the_code_counts_too(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	house_hear(h, OWNER, "Ａ2");
	assert_int_equal(1, h->engine.answers);
	ask(h, "q2", "ls");
	house_hear(h, OWNER, "b3");
	assert_int_equal(2, h->engine.answers);
	assert_int_equal(2, h->engine.choice);
}

static void withdraw(struct house *h, const char *id)
{
	struct engine_event ev = { .type = ENGINE_WITHDRAWN, .id = id };

	ev.turn = h->engine.turn;
	h->engine.engine.on_event(h->engine.engine.arg, &ev);
}

static void what_is_withdrawn_is_closed(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	withdraw(h, "q2"); /* another one */
	withdraw(h, "q1");
	house_hear(h, OWNER, "1");
	house_wait(h, 2000);
	assert_int_equal(0, h->engine.answers);
	assert_non_null(strstr(last(h), "closed"));
	/* nor is one shown that was still on its way */
	h->w.wire.hold = true;
	fake_ask(&h->engine, ENGINE_APPROVAL, "q3", "first", yes_no);
	settle(h->w.loop);
	fake_ask(&h->engine, ENGINE_APPROVAL, "q4", "never shown", yes_no);
	withdraw(h, "q4");
	h->w.wire.hold = false;
	fake_land(&h->w.wire, CHAN_ACCEPTED);
	house_wait(h, 2000);
	assert_int_equal(1, fake_count(&h->w.wire, "first"));
	assert_int_equal(0, fake_count(&h->w.wire, "never shown"));
	house_hear(h, OWNER, "1");
	assert_int_equal(1, h->engine.answers);
	assert_string_equal("q3", h->engine.answered_id);
}

static void near_misses_never_consent(void **state)
{
	static const char *const texts[] = { "允许", " 允许。", "@bot 允许", "allow!",
		"do not allow", "允许吗", "1.", "1 yes", "yes 1", "01", "①", "1 1", "1\n2", "+1",
		"-1", "1.0", "A 1", "Yes", "1!", "十", "一" };
	struct house *h = *state;
	int n = (int)(sizeof(texts) / sizeof(*texts));

	h->settings.queue_limit = 100;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	ask(h, "q1", "ls");
	for (int i = 0; i < n; i++) {
		house_hear(h, OWNER, texts[i]);
		house_wait(h, 2000);
	}
	assert_int_equal(0, h->engine.answers);
	assert_int_equal(n, house_rows(h, INBOX_WAITING));
	/* The first is told how to answer; the others are not told again. */
	assert_int_equal(1, fake_count(&h->w.wire, "Your message waits"));
	house_hear(h, OWNER, "1");
	assert_int_equal(1, h->engine.answers);
}

static void a_number_out_of_range_is_told(void **state)
{
	static const char *const texts[] = { "0", "4", "99", "999" };
	struct house *h = *state;

	ask(h, "q1", "ls");
	for (size_t i = 0; i < 4; i++) {
		house_hear(h, OWNER, texts[i]);
		house_wait(h, 1000);
		assert_non_null(strstr(last(h), "reply 1 to 3"));
	}
	assert_int_equal(0, h->engine.answers);
	assert_int_equal(0, house_rows(h, INBOX_WAITING));
}

static void with_two_open_the_code_is_required(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	ask(h, "q2", "pwd");
	house_hear(h, OWNER, "1");
	house_wait(h, 1000);
	assert_int_equal(0, h->engine.answers);
	assert_non_null(strstr(last(h), "A1 A2 A3 B1 B2 B3"));
	house_hear(h, OWNER, "B2");
	assert_string_equal("q2", h->engine.answered_id);
	assert_int_equal(1, h->engine.choice);
	house_hear(h, OWNER, "1"); /* one is left: the number will do */
	assert_string_equal("q1", h->engine.answered_id);
	assert_int_equal(2, h->engine.answers);
}

static void two_open_never_have_the_same_code(void **state)
{
	struct house *h = *state;
	char id[8], text[8];

	ask(h, "old", "ls");
	for (int i = 1; i <= 26; i++) {
		(void)snprintf(id, sizeof(id), "q%d", i);
		assert_int_equal(0, peer_heard(&h->w.room, OWNER, "t", LANG_EN, 0, NULL));
		ask(h, id, "pwd");
		(void)snprintf(text, sizeof(text), "%c2", i < 26 ? 'A' + i : 'B');
		house_hear(h, OWNER, text);
		assert_int_equal(i, h->engine.answers);
		assert_string_equal(id, h->engine.answered_id);
	}
	house_hear(h, OWNER, "A1");
	assert_string_equal("old", h->engine.answered_id);
}

static void others_cannot_answer(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	house_hear(h, GUEST, "1");
	house_hear(h, STRANGER, "1");
	assert_int_equal(0, h->engine.answers);
	assert_int_equal(1, house_rows(h, INBOX_WAITING));
}

static void a_transcript_is_no_answer(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "1",
		.from = OWNER,
		.token = "t",
		.text = VIEW("1"),
		.typed = false,
		.quote_id = "" };

	ask(h, "q1", "ls");
	house_hear_msg(h, &m);
	assert_int_equal(0, h->engine.answers);
}

/* Whatever it says, nothing of an earlier answer can pass for what is asked. */
static void nothing_parked_goes_out_below_a_question(void **state)
{
	struct house *h = *state;
	struct str s = STR_INIT(1 << 20);

	for (int i = 1; i <= 20; i++) {
		str_addf(&s, "part-%d ", i);
		while (s.n < (size_t)i * (CHUNK_LIMIT_DEFAULT - 48))
			str_addc(&s, 'x');
	}
	house_answer(h, str_cstr(&s));
	str_release(&s);
	house_wait(h, 20000);
	house_hear(h, OWNER, "next");
	house_wait(h, 20000);
	assert_int_equal(1, fake_count(&h->w.wire, "part-12 "));
	ask(h, "q1", "ls");
	house_hear(h, OWNER, "and another thing");
	house_hear(h, OWNER, "/status");
	house_wait(h, 20000);
	assert_int_equal(0, fake_count(&h->w.wire, "part-13 "));
	house_hear(h, OWNER, "1");
	house_wait(h, 20000);
	assert_int_equal(1, h->engine.answers);
	house_answer(h, "done");
	house_hear(h, OWNER, "go on");
	house_wait(h, 20000);
	assert_int_equal(1, fake_count(&h->w.wire, "part-13 "));
}

static void an_answer_is_heard_when_the_queue_is_full(void **state)
{
	struct house *h = *state;

	h->settings.queue_limit = 1;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	house_hear(h, OWNER, "waits");
	ask(h, "q1", "ls");
	house_hear(h, OWNER, "not taken");
	house_hear(h, OWNER, "1");
	assert_int_equal(1, h->engine.answers);
}

static void a_replayed_answer_counts_once(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "77",
		.from = OWNER,
		.token = "t",
		.text = VIEW("1"),
		.typed = true,
		.quote_id = "" };

	ask(h, "q1", "ls");
	house_hear_msg(h, &m);
	ask(h, "q2", "rm x");
	house_hear_msg(h, &m);
	assert_int_equal(1, h->engine.answers);
}

static void an_answer_that_cannot_be_stored_is_not_taken_yet(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "77",
		.from = OWNER,
		.token = "t",
		.text = VIEW("1"),
		.typed = true,
		.quote_id = "" };

	ask(h, "q1", "ls");
	world_full(&h->w, true);
	assert_int_equal(-1, house_hear_msg(h, &m));
	assert_int_equal(0, h->engine.answers);
	world_full(&h->w, false);
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(1, h->engine.answers);
}

/* --- Time ------------------------------------------------------------------------------------- */

static void an_answer_before_the_question_was_accepted_does_not_count(void **state)
{
	struct house *h = *state;

	h->w.wire.hold = true;
	fake_ask(&h->engine, ENGINE_APPROVAL, "q1", "ls", yes_no);
	settle(h->w.loop);
	house_hear(h, OWNER, "1");
	assert_int_equal(0, h->engine.answers);
	h->w.wire.hold = false;
	fake_land(&h->w.wire, CHAN_ACCEPTED);
	house_wait(h, 2000);
	assert_non_null(strstr(last(h), "written before"));
	house_hear(h, OWNER, "1");
	assert_int_equal(1, h->engine.answers);
}

static void an_answer_written_before_but_heard_after_does_not_count(void **state)
{
	struct house *h = *state;
	int64_t skew = -(int64_t)3 * 3600 *
	               1000; /* the phone's clock is hours off; that does not matter */

	hear_at(h, "/status", h->w.clock.wall + skew);
	house_wait(h, 5000);
	ask(h, "q1", "ls"); /* shown 2 s ago */
	hear_at(h, "1", h->w.clock.wall + skew - 3000);
	assert_int_equal(0, h->engine.answers);
	house_wait(h, 2000);
	assert_non_null(strstr(last(h), "written before"));
	hear_at(h, "1", h->w.clock.wall + skew);
	assert_int_equal(1, h->engine.answers);
}

static void a_clock_that_is_set_does_not_make_answers_early(void **state)
{
	static const int64_t jumps[] = { -(int64_t)5 * 3600000, (int64_t)9 * 3600000 };
	struct house *h = *state;
	int64_t phone = h->w.clock.wall; /* the sender's clock goes on */

	for (int i = 0; i < 4; i++) {
		char id[8];

		hear_at(h, "/status", phone);
		if (i < 2) /* set before it is asked, then after it was shown */
			h->w.clock.wall += jumps[i];
		snprintf(id, sizeof(id), "q%d", i);
		ask(h, id, "ls");
		if (i >= 2)
			h->w.clock.wall += jumps[i - 2];
		house_wait(h, 5000);
		phone += 10000;
		hear_at(h, "1", phone);
		assert_int_equal(i + 1, h->engine.answers);
		assert_int_equal(0, h->engine.choice);
	}
}

static void a_question_nobody_answers_ends_as_a_no(void **state)
{
	struct house *h = *state;

	fake_ask(&h->engine, ENGINE_APPROVAL, "q1", "ls", yes_no);
	settle(h->w.loop);
	pass(&h->w.clock, h->w.loop, QUESTION_TIMEOUT_MS - 1);
	assert_int_equal(0, h->engine.answers);
	pass(&h->w.clock, h->w.loop, 1);
	assert_int_equal(1, h->engine.answers);
	assert_int_equal(ANSWER_NONE, h->engine.choice);
	house_wait(h, 1000);
	assert_non_null(strstr(last(h), "no answer within 10 min, so it was taken as a no"));
	house_hear(h, OWNER, "1");
	house_wait(h, 1000);
	assert_non_null(strstr(last(h), "question is closed"));
}

static void an_answer_that_is_heard_too_late_does_not_count(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	h->w.clock.mono += QUESTION_TIMEOUT_MS; /* the machine slept: no timer has had its turn */
	house_hear(h, OWNER, "1");
	house_wait(h, 2000);
	assert_int_equal(1, h->engine.answers);
	assert_int_equal(ANSWER_NONE, h->engine.choice);
	assert_int_equal(1, fake_count(&h->w.wire, "question is closed"));
}

static void the_time_to_answer_is_a_setting(void **state)
{
	struct house *h = *state;

	h->settings.ask_ms = 180000;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	fake_approval(&h->engine, "q1", "ls");
	settle(h->w.loop);
	assert_non_null(strstr(last(h), "within 3 min"));
	pass(&h->w.clock, h->w.loop, 180000 - 1);
	assert_int_equal(0, h->engine.answers);
	h->settings.ask_ms = 420000; /* for the next one */
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	pass(&h->w.clock, h->w.loop, 1);
	assert_int_equal(ANSWER_NONE, h->engine.choice);
	house_wait(h, 1000);
	assert_non_null(strstr(last(h), "within 3 min"));
}

static void a_question_that_never_gets_out_ends_as_a_no_too(void **state)
{
	struct house *h = *state;
	const enum chan_outcome expired[] = { CHAN_EXPIRED, CHAN_EXPIRED };

	fake_script(&h->w.wire, expired, 2);
	ask(h, "q1", "ls");
	house_wait(h, 10000);
	assert_int_equal(0, h->engine.answers);
	pass(&h->w.clock, h->w.loop, QUESTION_TIMEOUT_MS);
	assert_int_equal(1, h->engine.answers);
	assert_int_equal(ANSWER_UNASKED, h->engine.choice);
	h->events.link(h->events.arg, &(struct chan_status){ .link = CHAN_LINK_UP });
	house_wait(h, 5000);
	assert_int_equal(2, h->w.wire.nsent); /* not shown afterwards */
}

static void the_deadline_stands_still_while_one_is_open(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	pass(&h->w.clock, h->w.loop, QUESTION_TIMEOUT_MS - 10000);
	house_hear(h, OWNER, "1");
	pass(&h->w.clock, h->w.loop, TURN_DEADLINE_MS - 10000);
	assert_int_equal(0, h->engine.cancels);
	pass(&h->w.clock, h->w.loop, 20000);
	assert_int_equal(1, h->engine.cancels);
}

static void while_it_waits_nobody_seems_to_type(void **state)
{
	struct house *h = *state;

	assert_string_equal(OWNER, h->w.wire.typing);
	ask(h, "q1", "ls");
	ask(h, "q2", "pwd");
	assert_string_equal("", h->w.wire.typing);
	house_hear(h, OWNER, "/status");
	house_wait(h, 1000);
	assert_non_null(strstr(last(h), "The question above waits for your answer"));
	house_hear(h, OWNER, "A3");
	assert_string_equal("", h->w.wire.typing);
	house_hear(h, OWNER, "3");
	assert_int_equal(2, h->engine.answers);
	assert_string_equal(OWNER, h->w.wire.typing);
	house_hear(h, OWNER, "/status");
	house_wait(h, 1000);
	assert_null(strstr(last(h), "waits for your answer"));
}

static void still_working_is_not_said_beside_a_question(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	house_wait(h, 60000);
	assert_int_equal(1, h->w.wire.nsent);
}

/* --- Closed ----------------------------------------------------------------------------------- */

static void assert_closed(struct house *h)
{
	int starts = h->engine.starts;

	house_hear(h, OWNER, "1");
	house_wait(h, 3000);
	assert_int_equal(1, fake_count(&h->w.wire, "question is closed"));
	assert_int_equal(0, house_rows(h, INBOX_WAITING));
	assert_int_equal(starts, h->engine.starts);
}

static void a_second_answer_is_told_closed(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	house_hear(h, OWNER, "1");
	assert_closed(h);
	assert_int_equal(1, h->engine.answers);
}

static void a_number_after_a_stop_is_told_closed(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	house_hear(h, OWNER, "/stop");
	assert_closed(h);
	assert_int_equal(0, h->engine.answers);
}

static void a_number_after_the_turn_has_ended_is_told_closed(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	house_answer(h, "never mind");
	assert_closed(h);
}

static void a_number_after_a_crash_is_told_closed(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	house_crash(h);
	house_wait(h, 2000);
	assert_int_equal(1, fake_count(&h->w.wire, "counts as a no"));
	assert_closed(h);
}

static void a_number_is_a_prompt_again_after_other_words(void **state)
{
	struct house *h = *state;

	ask(h, "q1", "ls");
	house_hear(h, OWNER, "1");
	house_answer(h, "done");
	house_hear(h, OWNER, "tell me a number");
	house_answer(h, "7, or 8?");
	house_hear(h, OWNER, "8");
	assert_string_equal("8", h->engine.text);
	assert_int_equal(3, h->engine.starts);
}

static void a_number_without_any_question_is_a_prompt(void **state)
{
	struct house *h = *state;

	house_answer(h, "done");
	house_hear(h, OWNER, "42");
	assert_string_equal("42", h->engine.text);
}

/* --- What cannot be asked --------------------------------------------------------------------- */

static void without_a_send_left_it_is_a_no_at_once(void **state)
{
	struct house *h = *state;

	assert_int_equal(0, peer_heard(&h->w.room, OWNER, "t", LANG_EN, 9, NULL));
	ask(h, "q1", "ls");
	assert_int_equal(1, h->engine.answers);
	assert_int_equal(ANSWER_UNASKED, h->engine.choice);
	assert_int_equal(0, h->w.wire.nsent);
}

static void a_question_that_is_refused_comes_back(void **state)
{
	static const enum chan_outcome ends[] = { CHAN_CLOSED, CHAN_INVALID };
	struct house *h = *state;

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(0, peer_heard(&h->w.room, OWNER, "t", LANG_EN, 0, NULL));
		fake_script(&h->w.wire, &ends[i], 1);
		ask(h, "q1", "ls");
		assert_int_equal((int)i + 1, h->engine.answers);
		assert_int_equal(ANSWER_UNASKED, h->engine.choice);
	}
}

static void without_choices_it_cannot_be_asked(void **state)
{
	static const char *const none[] = { NULL };
	static const char *many[QUESTION_CHOICES + 2];
	struct house *h = *state;

	fake_ask(&h->engine, ENGINE_APPROVAL, "q1", "ls", none);
	assert_int_equal(0, h->engine.answers); /* not from inside the event */
	settle(h->w.loop);
	assert_int_equal(1, h->engine.answers);
	for (int i = 0; i <= QUESTION_CHOICES; i++)
		many[i] = "x";
	fake_ask(&h->engine, ENGINE_APPROVAL, "q2", "ls", many);
	settle(h->w.loop);
	assert_int_equal(2, h->engine.answers);
	many[QUESTION_CHOICES] = NULL;
	fake_ask(&h->engine, ENGINE_APPROVAL, "q3", "ls", many);
	house_wait(h, 1000);
	assert_int_equal(2, h->engine.answers);
	house_hear(h, OWNER, "20");
	assert_int_equal(3, h->engine.answers);
	assert_int_equal(19, h->engine.choice);
}

static void a_full_disk_makes_it_a_no(void **state)
{
	struct house *h = *state;

	world_full(&h->w, true);
	ask(h, "q1", "ls");
	assert_int_equal(1, h->engine.answers);
	assert_int_equal(ANSWER_UNASKED, h->engine.choice);
	world_full(&h->w, false);
}

static void more_than_can_be_open_are_survived(void **state)
{
	struct house *h = *state;

	for (int i = 0; i < QUESTIONS_MAX + 5; i++) {
		char id[8];

		snprintf(id, sizeof(id), "q%d", i);
		fake_ask(&h->engine, ENGINE_APPROVAL, id, "ls", yes_no);
	}
	settle(h->w.loop);
	assert_int_equal(5,
		h->engine.answers); /* the turn hears at once of those without a place */
	assert_int_equal(ANSWER_UNASKED, h->engine.choice);
	house_wait(h, 30000);
	house_hear(h, OWNER, "A1");
	assert_string_equal("q0", h->engine.answered_id);
	house_hear(h, OWNER, "/stop");
	house_wait(h, 2000);
	assert_int_equal(1, h->engine.cancels);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, house_teardown)
	const struct CMUnitTest tests[] = {
		T(a_question_is_shown_with_numbered_choices),
		T(a_plain_question_is_shown_as_prose),
		T(a_command_cannot_close_its_fence),
		T(what_is_hidden_or_cut_is_said),
		T(an_approval_has_the_four_standard_choices),
		T(no_and_stop_ends_the_turn_as_a_stop),
		T(a_question_is_one_part_whatever_its_size),
		T(twenty_long_choices_are_one_part_too),
		T(controls_never_reach_the_phone),
		T(the_number_alone_counts),
		T(where_several_may_be_chosen_their_numbers_count),
		T(near_misses_among_several_do_not_count),
		T(the_code_counts_too),
		T(what_is_withdrawn_is_closed),
		T(near_misses_never_consent),
		T(a_number_out_of_range_is_told),
		T(with_two_open_the_code_is_required),
		T(two_open_never_have_the_same_code),
		T(others_cannot_answer),
		T(a_transcript_is_no_answer),
		T(nothing_parked_goes_out_below_a_question),
		T(an_answer_is_heard_when_the_queue_is_full),
		T(a_replayed_answer_counts_once),
		T(an_answer_that_cannot_be_stored_is_not_taken_yet),
		T(an_answer_before_the_question_was_accepted_does_not_count),
		T(an_answer_written_before_but_heard_after_does_not_count),
		T(a_clock_that_is_set_does_not_make_answers_early),
		T(a_question_nobody_answers_ends_as_a_no),
		T(an_answer_that_is_heard_too_late_does_not_count),
		T(the_time_to_answer_is_a_setting),
		T(a_question_that_never_gets_out_ends_as_a_no_too),
		T(the_deadline_stands_still_while_one_is_open),
		T(while_it_waits_nobody_seems_to_type),
		T(still_working_is_not_said_beside_a_question),
		T(a_second_answer_is_told_closed),
		T(a_number_after_a_stop_is_told_closed),
		T(a_number_after_the_turn_has_ended_is_told_closed),
		T(a_number_after_a_crash_is_told_closed),
		T(a_number_is_a_prompt_again_after_other_words),
		T(a_number_without_any_question_is_a_prompt),
		T(without_a_send_left_it_is_a_no_at_once),
		T(a_question_that_is_refused_comes_back),
		T(without_choices_it_cannot_be_asked),
		T(a_full_disk_makes_it_a_no),
		T(more_than_can_be_open_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
