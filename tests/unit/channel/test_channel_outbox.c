/* The outbox: order, budget, retries, parking, stopping, crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "channel/outbox.h"
#include "channel/peer.h"

#include "world.h"

#define GUEST "guest@im.wechat"

struct fix {
	struct world w;
	struct outbox *o;
	int64_t asked;
	int shown, unshown;
	int64_t shown_at;
};

static void on_question(void *arg, int64_t part, int64_t shown_at)
{
	struct fix *f = arg;

	assert_int_equal(f->asked, part);
	f->shown += shown_at >= 0;
	f->unshown += shown_at < 0;
	f->shown_at = shown_at;
}

static void open_outbox(struct fix *f)
{
	struct err e = ERR_INIT;

	assert_int_equal(0, outbox_open(&f->o, &f->w.room, &e));
	outbox_on_question(f->o, on_question, f);
	outbox_run(f->o);
}

static char *const guests[] = { (char[]){ GUEST }, NULL };

static int setup(void **state)
{
	static struct fix f;

	memset(&f, 0, sizeof(f));
	world_open(&f.w);
	f.w.room.allowed = guests;
	f.w.room.language = LANG_EN;
	open_outbox(&f);
	assert_int_equal(0, outbox_heard(f.o, OWNER, "token-1", LANG_EN, NULL));
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	outbox_close(&f->o);
	world_close(&f->w);
	return 0;
}

static void add(struct fix *f, const char *user, enum part_kind kind, const char *text)
{
	assert_int_equal(0, outbox_add(f->o, user, kind, 0, view_of(text), NULL, NULL));
	outbox_kick(f->o);
}

/* An answer of n parts that begin "part 1 " ... */
static void add_answer(struct fix *f, const char *user, uint64_t turn, int n)
{
	struct str s = STR_INIT(1 << 22);
	size_t size = CHUNK_LIMIT_DEFAULT - 48;

	for (int i = 1; i <= n; i++) {
		size_t end = (size_t)i * size;

		if (i > 1)
			str_truncate(&s, (size_t)(i - 1) * size);
		str_addf(&s, "part %d.", i);
		while (s.n < end && (n > 1 || s.n < 100))
			str_addc(&s, 'x');
	}
	assert_int_equal(0, outbox_add(f->o, user, PART_ANSWER, turn, str_view(&s), NULL, NULL));
	str_release(&s);
	outbox_kick(f->o);
}

static void run(struct fix *f, int64_t ms)
{
	settle(f->w.loop);
	for (int64_t t = 0; t < ms; t += 500)
		pass(&f->w.clock, f->w.loop, 500);
}

static void script(struct fix *f, enum chan_outcome a, enum chan_outcome b, enum chan_outcome c)
{
	fake_script(&f->w.wire, (enum chan_outcome[]){ a, b, c }, 3);
}

static int in_state(struct fix *f, enum part_state s)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM channel_outbox WHERE state = %d", (int)s);
	return (int)world_int(&f->w, sql);
}

static int used(struct fix *f)
{
	struct peer p;

	assert_int_equal(1, peer_load(&f->w.room, OWNER, &p, NULL));
	return p.sends;
}

/* --- Order ------------------------------------------------------------------------------------ */

static void sends_parts_in_order_a_second_apart(void **state)
{
	struct fix *f = *state;
	struct fake_channel *w = &f->w.wire;

	add_answer(f, OWNER, 1, 3);
	run(f, 0);
	assert_int_equal(1, w->nsent);
	pass(&f->w.clock, f->w.loop, 999);
	assert_int_equal(1, w->nsent);
	pass(&f->w.clock, f->w.loop, 1);
	assert_int_equal(2, w->nsent);
	run(f, 2000);
	assert_int_equal(3, w->nsent);
	assert_memory_equal("part 1.", w->sent[0].text, 7);
	assert_memory_equal("part 2.", w->sent[1].text, 7);
	assert_memory_equal("part 3.", w->sent[2].text, 7);
	assert_string_equal("token-1", w->sent[0].token);
	assert_string_not_equal(w->sent[0].client_id, w->sent[1].client_id);
	assert_int_equal(3, in_state(f, PART_ACCEPTED));
	assert_int_equal(3, used(f));
}

static void never_has_two_sends_under_way(void **state)
{
	struct fix *f = *state;

	f->w.wire.hold = true;
	add_answer(f, OWNER, 1, 3);
	run(f, 5000);
	assert_int_equal(1, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_IN_FLIGHT));
	fake_land(&f->w.wire, CHAN_ACCEPTED);
	run(f, 5000);
	assert_int_equal(2, f->w.wire.nsent);
}

static void users_take_turns(void **state)
{
	struct fix *f = *state;
	struct fake_channel *w = &f->w.wire;

	assert_int_equal(0, outbox_heard(f->o, GUEST, "guest-1", LANG_EN, NULL));
	add_answer(f, OWNER, 1, 5);
	add_answer(f, GUEST, 2, 2);
	run(f, 1500);
	assert_int_equal(4, w->nsent);
	assert_string_not_equal(w->sent[0].to, w->sent[1].to);
	assert_string_not_equal(w->sent[2].to, w->sent[3].to);
}

static void a_command_reply_goes_before_a_long_answer(void **state)
{
	struct fix *f = *state;

	add_answer(f, OWNER, 1, 5);
	run(f, 0);
	add(f, OWNER, PART_REPLY, "status");
	run(f, 1000);
	assert_string_equal("status", fake_last(&f->w.wire));
}

static void a_stop_does_not_wait_its_second(void **state)
{
	struct fix *f = *state;

	add_answer(f, OWNER, 1, 5);
	run(f, 0);
	add(f, OWNER, PART_STOP, "stopped");
	settle(f->w.loop);
	assert_string_equal("stopped", fake_last(&f->w.wire));
}

/* --- Budget ----------------------------------------------------------------------------------- */

static void a_long_answer_takes_eight_sends_and_says_that_more_follows(void **state)
{
	struct fix *f = *state;
	struct fake_channel *w = &f->w.wire;
	int n;

	add_answer(f, OWNER, 1, 12);
	run(f, 20000);
	assert_int_equal(8, w->nsent);
	assert_int_equal(1, fake_count(w, "/more"));
	assert_non_null(strstr(w->sent[7].text, "/more"));
	assert_int_equal(4, in_state(f, PART_PARKED));
	assert_true(outbox_has_parked(f->o, OWNER));

	assert_int_equal(0, outbox_heard(f->o, OWNER, "token-2", LANG_EN, NULL));
	assert_int_equal(0, outbox_release(f->o, OWNER, 1000, &n, NULL));
	assert_int_equal(4, n);
	outbox_kick(f->o);
	run(f, 20000);
	assert_int_equal(12, w->nsent);
	assert_string_equal("token-2", w->sent[11].token);
	assert_memory_equal("part 12.", w->sent[11].text, 8);
	assert_int_equal(1, fake_count(w, "/more"));
	for (int i = 0; i < 12; i++)
		assert_true(strlen(w->sent[i].text) <= CHUNK_LIMIT_DEFAULT);
}

static void each_kind_has_its_own_ceiling(void **state)
{
	static const struct {
		enum part_kind kind;
		int cap;
	} rows[] = {
		{ PART_TEXT, 7 },
		{ PART_PROGRESS, 7 },
		{ PART_REPLY, 7 },
		{ PART_ANSWER, 8 },
		{ PART_QUESTION, 9 },
		{ PART_FAILURE, 10 },
		{ PART_STOP, 10 },
	};
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (int spent = rows[i].cap - 1; spent <= rows[i].cap; spent++) {
			world_sql(&f->w, "DELETE FROM channel_outbox");
			fake_forget(&f->w.wire);
			assert_int_equal(0,
				peer_heard(&f->w.room, OWNER, "t", LANG_EN, spent, NULL));
			assert_int_equal(0, peer_set_told(&f->w.room, OWNER, NULL));
			assert_int_equal(0, outbox_add(f->o, OWNER, rows[i].kind, 9, VIEW("x"),
						    &f->asked, NULL));
			outbox_kick(f->o);
			run(f, 2000);
			assert_int_equal(spent < rows[i].cap, f->w.wire.nsent);
		}
	}
}

static void a_question_without_a_send_left_is_told_at_once(void **state)
{
	struct fix *f = *state;

	assert_int_equal(0, peer_heard(&f->w.room, OWNER, "t", LANG_EN, 9, NULL));
	assert_int_equal(0, outbox_add(f->o, OWNER, PART_QUESTION, 9, VIEW("?"), &f->asked, NULL));
	outbox_kick(f->o);
	settle(f->w.loop);
	assert_int_equal(1, f->unshown);
	assert_int_equal(0, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_DROPPED));
}

static void a_question_shown_is_told(void **state)
{
	struct fix *f = *state;

	assert_int_equal(0, outbox_add(f->o, OWNER, PART_QUESTION, 9, VIEW("?"), &f->asked, NULL));
	outbox_kick(f->o);
	settle(f->w.loop);
	assert_int_equal(1, f->shown);
	assert_int_equal(0, f->unshown);
}

static void a_slow_disk_does_not_make_a_question_later(void **state)
{
	struct fix *f = *state;
	int64_t landed;

	f->w.wire.hold = true;
	assert_int_equal(0, outbox_add(f->o, OWNER, PART_QUESTION, 9, VIEW("?"), &f->asked, NULL));
	outbox_kick(f->o);
	settle(f->w.loop);
	landed = loop_now(f->w.loop);
	fake_land(&f->w.wire, CHAN_ACCEPTED);
	f->w.clock.mono += 700;
	assert_int_equal(0, f->shown);
	outbox_settle(f->o);
	assert_int_equal(1, f->shown);
	assert_int_equal(landed, f->shown_at);
}

static void an_answer_parked_whole_is_announced_once(void **state)
{
	struct fix *f = *state;

	assert_int_equal(0, peer_heard(&f->w.room, OWNER, "t", LANG_EN, 8, NULL));
	add_answer(f, OWNER, 1, 1);
	add_answer(f, OWNER, 2, 1);
	run(f, 5000);
	assert_int_equal(1, f->w.wire.nsent);
	assert_int_equal(1, fake_count(&f->w.wire, "/more"));
	assert_int_equal(2, in_state(f, PART_PARKED));
	assert_int_equal(9, used(f));
}

static void sends_of_replayed_windows_are_kept_over_a_restart(void **state)
{
	struct fix *f = *state;

	add_answer(f, OWNER, 1, 4);
	run(f, 5000);
	outbox_close(&f->o);
	world_reopen_db(&f->w);
	open_outbox(f);
	assert_int_equal(4, used(f));
	add_answer(f, OWNER, 2, 6);
	run(f, 20000);
	assert_int_equal(8, f->w.wire.nsent);
	assert_int_equal(2, in_state(f, PART_PARKED));
}

static void the_same_token_pays_again_for_a_new_message(void **state)
{
	struct fix *f = *state;

	add_answer(f, OWNER, 1, 8);
	run(f, 10000);
	assert_int_equal(8, used(f));
	assert_int_equal(0, outbox_heard(f->o, OWNER, "token-1", LANG_EN, NULL));
	assert_int_equal(0, used(f));
}

static void an_empty_token_does_not_replace_one(void **state)
{
	struct fix *f = *state;

	assert_int_equal(0, outbox_heard(f->o, OWNER, "", LANG_AUTO, NULL));
	add(f, OWNER, PART_REPLY, "x");
	settle(f->w.loop);
	assert_string_equal("token-1", f->w.wire.sent[0].token);
}

static void without_any_token_parts_are_parked(void **state)
{
	struct fix *f = *state;

	add_answer(f, GUEST, 1, 1);
	run(f, 1000);
	assert_int_equal(0, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_PARKED));
}

static void the_window_ends_ten_minutes_before_the_day(void **state)
{
	struct fix *f = *state;

	pass(&f->w.clock, f->w.loop, PEER_WINDOW_MS - 1);
	add_answer(f, OWNER, 1, 1);
	settle(f->w.loop);
	assert_int_equal(1, f->w.wire.nsent);
	pass(&f->w.clock, f->w.loop, 1);
	add_answer(f, OWNER, 2, 1);
	run(f, 2000);
	assert_int_equal(1, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_PARKED));
	assert_int_equal((int64_t)(23 * 60 + 50) * 60000, PEER_WINDOW_MS);
}

/* --- Outcomes --------------------------------------------------------------------------------- */

static void a_broken_send_is_tried_again_unchanged(void **state)
{
	struct fix *f = *state;
	struct fake_channel *w = &f->w.wire;

	script(f, CHAN_UNKNOWN, CHAN_NOT_SENT, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 1);
	run(f, 20000);
	assert_int_equal(3, w->nsent);
	assert_string_equal(w->sent[0].client_id, w->sent[2].client_id);
	assert_string_equal(w->sent[0].text, w->sent[2].text);
	assert_int_equal(1, in_state(f, PART_ACCEPTED));
	assert_int_equal(1, used(f));
}

static void the_word_of_a_loss_is_not_lost_with_it(void **state)
{
	static const enum chan_outcome bad[6] = { CHAN_UNKNOWN, CHAN_UNKNOWN, CHAN_UNKNOWN,
		CHAN_UNKNOWN, CHAN_UNKNOWN, CHAN_UNKNOWN };
	struct fix *f = *state;

	fake_script(&f->w.wire, bad, 6);
	add_answer(f, OWNER, 1, 1);
	run(f, 60000);
	assert_int_equal(6, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_UNKNOWN));
	assert_int_equal(1, in_state(f, PART_PARKED));

	outbox_link(f->o, CHAN_LINK_UP);
	run(f, 2000);
	assert_int_equal(7, f->w.wire.nsent);
	assert_string_equal(f->w.wire.sent[5].client_id, f->w.wire.sent[6].client_id);
	assert_non_null(strstr(fake_last(&f->w.wire), "may not have arrived"));
	assert_int_equal(0, in_state(f, PART_PARKED));
}

static void three_unknown_outcomes_are_the_end_and_are_told(void **state)
{
	struct fix *f = *state;
	int n;

	script(f, CHAN_UNKNOWN, CHAN_UNKNOWN, CHAN_UNKNOWN);
	add_answer(f, OWNER, 1, 1);
	run(f, 60000);
	assert_int_equal(4, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_UNKNOWN));
	assert_non_null(strstr(fake_last(&f->w.wire), "may not have arrived"));

	/* Asked for by the user, it goes once more under its old id. */
	assert_int_equal(0, outbox_again(f->o, OWNER, &n, NULL));
	assert_int_equal(1, n);
	outbox_kick(f->o);
	run(f, 2000);
	assert_int_equal(5, f->w.wire.nsent);
	assert_string_equal(f->w.wire.sent[0].client_id, f->w.wire.sent[4].client_id);
}

static void what_was_never_sent_waits_for_the_line(void **state)
{
	struct fix *f = *state;

	script(f, CHAN_NOT_SENT, CHAN_NOT_SENT, CHAN_NOT_SENT);
	add_answer(f, OWNER, 1, 2);
	run(f, 60000);
	assert_int_equal(3, f->w.wire.nsent);
	assert_int_equal(2, in_state(f, PART_PARKED));
	assert_int_equal(0, used(f));
	outbox_link(f->o, CHAN_LINK_UP);
	run(f, 5000);
	assert_int_equal(2, in_state(f, PART_ACCEPTED));
	assert_memory_equal("part 1.", f->w.wire.sent[3].text, 7);
	assert_memory_equal("part 2.", f->w.wire.sent[4].text, 7);
}

static void a_send_that_cannot_start_counts_as_not_sent(void **state)
{
	struct fix *f = *state;

	f->w.wire.refuse = true;
	add_answer(f, OWNER, 1, 1);
	run(f, 500);
	f->w.wire.refuse = false;
	run(f, 5000);
	assert_int_equal(1, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_ACCEPTED));
}

static void a_closed_window_parks_everything_without_another_try(void **state)
{
	struct fix *f = *state;
	int n;

	script(f, CHAN_ACCEPTED, CHAN_CLOSED, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 4);
	run(f, 200000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(3, in_state(f, PART_PARKED));
	add(f, OWNER, PART_FAILURE, "later");
	run(f, 200000);
	assert_int_equal(2, f->w.wire.nsent);

	assert_int_equal(0, outbox_heard(f->o, OWNER, "token-2", LANG_EN, NULL));
	assert_int_equal(0, outbox_release(f->o, OWNER, 1000, &n, NULL));
	outbox_kick(f->o);
	run(f, 10000);
	assert_memory_equal("part 2.", f->w.wire.sent[2].text, 7);
	assert_memory_equal("part 3.", f->w.wire.sent[3].text, 7);
	assert_string_equal("later", fake_last(&f->w.wire));
}

static void a_throttle_gets_one_retry_after_ninety_seconds(void **state)
{
	struct fix *f = *state;

	script(f, CHAN_THROTTLED, CHAN_THROTTLED, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 1);
	settle(f->w.loop);
	pass(&f->w.clock, f->w.loop, 89999);
	assert_int_equal(1, f->w.wire.nsent);
	pass(&f->w.clock, f->w.loop, 1);
	assert_int_equal(2, f->w.wire.nsent);
	run(f, 300000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_PARKED));
}

static void a_throttle_holds_over_a_restart(void **state)
{
	struct fix *f = *state;

	script(f, CHAN_THROTTLED, CHAN_ACCEPTED, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 1);
	settle(f->w.loop);
	outbox_close(&f->o);
	world_reopen_db(&f->w);
	open_outbox(f);
	run(f, 80000);
	assert_int_equal(1, f->w.wire.nsent);
	run(f, 20000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_ACCEPTED));
}

static void a_bare_refusal_gets_one_retry_and_stops_nobody_else(void **state)
{
	struct fix *f = *state;

	assert_int_equal(0, outbox_heard(f->o, GUEST, "guest-1", LANG_EN, NULL));
	script(f, CHAN_REFUSED_BARE, CHAN_ACCEPTED, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 1);
	settle(f->w.loop);
	add_answer(f, GUEST, 2, 1);
	settle(f->w.loop);
	assert_int_equal(2, f->w.wire.nsent);
	assert_string_equal(GUEST, f->w.wire.sent[1].to);
	pass(&f->w.clock, f->w.loop, 2000);
	assert_int_equal(3, f->w.wire.nsent);
	assert_string_equal(f->w.wire.sent[0].client_id, f->w.wire.sent[2].client_id);
	assert_int_equal(2, in_state(f, PART_ACCEPTED));
}

static void a_second_bare_refusal_parks(void **state)
{
	struct fix *f = *state;

	script(f, CHAN_REFUSED_BARE, CHAN_REFUSED_BARE, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 2);
	run(f, 300000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(2, in_state(f, PART_PARKED));
}

static void a_long_part_is_cut_again_after_a_bare_refusal(void **state)
{
	struct fix *f = *state;
	struct fake_channel *w = &f->w.wire;
	struct str long_text = STR_INIT(8192);

	f->w.room.text_limit = CHUNK_LIMIT_MAX;
	for (int i = 0; i < 1801; i++)
		str_adds(&long_text, "é");
	script(f, CHAN_REFUSED_BARE, CHAN_ACCEPTED, CHAN_ACCEPTED);
	add(f, OWNER, PART_ANSWER, str_cstr(&long_text));
	add(f, OWNER, PART_ANSWER, "behind");
	run(f, 10000);
	assert_int_equal(4, w->nsent);
	assert_int_equal(3600, strlen(w->sent[1].text));
	assert_string_equal("é", w->sent[2].text);
	assert_string_equal("behind", w->sent[3].text);
	assert_string_not_equal(w->sent[0].client_id, w->sent[1].client_id);
	str_release(&long_text);
}

static void invalid_arguments_are_refused_and_told(void **state)
{
	struct fix *f = *state;
	struct outbox_counts n;

	script(f, CHAN_INVALID, CHAN_INVALID, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 1);
	run(f, 60000);
	assert_int_equal(2, f->w.wire.nsent); /* the notice is refused too, and that is the end */
	assert_int_equal(2, in_state(f, PART_REFUSED));
	assert_int_equal(0, outbox_counts(f->o, NULL, &n, NULL));
	assert_int_equal(2, n.refused);
}

static void success_without_an_id_is_counted_apart(void **state)
{
	struct fix *f = *state;
	struct outbox_counts n;

	script(f, CHAN_UNCONFIRMED, CHAN_ACCEPTED, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 2);
	run(f, 5000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(0, outbox_counts(f->o, OWNER, &n, NULL));
	assert_int_equal(1, n.unconfirmed);
	assert_int_equal(0, n.unsent);
}

static void an_expired_login_gets_one_retry_for_fresh_credentials(void **state)
{
	struct fix *f = *state;

	script(f, CHAN_EXPIRED, CHAN_ACCEPTED, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 1);
	run(f, 4500);
	assert_int_equal(1, f->w.wire.nsent);
	run(f, 1000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_ACCEPTED));
	assert_string_equal(f->w.wire.sent[0].client_id, f->w.wire.sent[1].client_id);
}

static void an_expired_login_holds_everything_until_the_link_is_up(void **state)
{
	struct fix *f = *state;

	script(f, CHAN_EXPIRED, CHAN_EXPIRED, CHAN_ACCEPTED);
	add_answer(f, OWNER, 1, 1);
	run(f, 600000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_WAITING));
	outbox_link(f->o, CHAN_LINK_UP);
	run(f, 1000);
	assert_int_equal(1, in_state(f, PART_ACCEPTED));
	assert_string_equal(f->w.wire.sent[0].client_id, f->w.wire.sent[2].client_id);
}

/* --- Stopping --------------------------------------------------------------------------------- */

static void stop_aborts_drops_and_never_retries(void **state)
{
	struct fix *f = *state;
	int n;

	f->w.wire.hold = true;
	add_answer(f, OWNER, 5, 4);
	settle(f->w.loop);
	outbox_fence(f->o, OWNER, 5);
	assert_int_equal(1, f->w.wire.aborts);
	assert_int_equal(0, db_begin(f->w.db, NULL));
	assert_int_equal(0, outbox_drop(f->o, OWNER, 5, &n, NULL));
	assert_int_equal(4, n);
	add(f, OWNER, PART_STOP, "stopped");
	assert_int_equal(0, db_commit(f->w.db, NULL));
	f->w.wire.hold = false;
	settle(f->w.loop);
	assert_string_equal("stopped", fake_last(&f->w.wire));
	run(f, 600000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(3, in_state(f, PART_DROPPED));
	assert_int_equal(1, in_state(f, PART_UNKNOWN));
	assert_int_equal(0, outbox_again(f->o, OWNER, &n, NULL));
	assert_int_equal(0, n);
}

static void a_part_of_another_turn_makes_way_and_comes_again(void **state)
{
	struct fix *f = *state;
	int n;

	f->w.wire.hold = true;
	add_answer(f, OWNER, 4, 1);
	settle(f->w.loop);
	outbox_fence(f->o, OWNER, 5);
	assert_int_equal(0, outbox_drop(f->o, OWNER, 5, &n, NULL));
	assert_int_equal(0, n);
	f->w.wire.hold = false;
	add(f, OWNER, PART_STOP, "stopped");
	settle(f->w.loop);
	run(f, 10000);
	assert_int_equal(1, fake_count(&f->w.wire, "stopped"));
	assert_int_equal(2, in_state(f, PART_ACCEPTED));
	assert_string_equal(f->w.wire.sent[0].client_id, f->w.wire.sent[2].client_id);
}

/* --- Crashes and a failing disk --------------------------------------------------------------- */

static void a_part_in_flight_at_the_crash_goes_again_at_most_three_times(void **state)
{
	struct fix *f = *state;

	f->w.wire.hold = true;
	add_answer(f, OWNER, 1, 1);
	for (int i = 0; i < 4; i++) {
		run(f, 1000);
		outbox_close(&f->o);
		world_reopen_db(&f->w);
		open_outbox(f);
	}
	assert_string_equal(f->w.wire.sent[0].client_id, f->w.wire.sent[2].client_id);
	assert_int_equal(1, in_state(f, PART_UNKNOWN));
	/* And then its user is told, as without a crash. */
	assert_int_equal(4, f->w.wire.nsent);
	assert_non_null(strstr(fake_last(&f->w.wire), "may not have arrived"));
}

static void what_was_accepted_is_never_sent_again(void **state)
{
	struct fix *f = *state;

	add_answer(f, OWNER, 1, 2);
	run(f, 5000);
	outbox_close(&f->o);
	world_reopen_db(&f->w);
	open_outbox(f);
	run(f, 60000);
	assert_int_equal(2, f->w.wire.nsent);
}

static void what_is_stale_at_the_start_is_parked(void **state)
{
	struct fix *f = *state;

	f->w.wire.hold = true;
	add_answer(f, OWNER, 1, 2);
	settle(f->w.loop);
	outbox_close(&f->o);
	world_reopen_db(&f->w);
	f->w.clock.wall += PEER_WINDOW_MS;
	open_outbox(f);
	run(f, 5000);
	assert_int_equal(1, f->w.wire.nsent);
	assert_int_equal(2, in_state(f, PART_PARKED));
}

static void an_outcome_that_cannot_be_stored_is_kept_until_it_can(void **state)
{
	struct fix *f = *state;

	f->w.wire.hold = true;
	add_answer(f, OWNER, 1, 2);
	settle(f->w.loop);
	world_full(&f->w, true);
	f->w.wire.hold = false;
	fake_land(&f->w.wire, CHAN_ACCEPTED);
	run(f, 60000);
	assert_int_equal(1, f->w.wire.nsent);
	world_full(&f->w, false);
	run(f, 10000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(2, in_state(f, PART_ACCEPTED));
}

static void nothing_is_sent_that_could_not_be_stored(void **state)
{
	struct fix *f = *state;

	add_answer(f, OWNER, 1, 1);
	world_full(&f->w, true);
	run(f, 60000);
	assert_int_equal(0, f->w.wire.nsent);
	world_full(&f->w, false);
	run(f, 10000);
	assert_int_equal(1, f->w.wire.nsent);
}

static void a_shout_needs_no_disk(void **state)
{
	struct fix *f = *state;

	world_full(&f->w, true);
	outbox_shout(f->o, OWNER, "token-9", VIEW("disk full"));
	settle(f->w.loop);
	assert_int_equal(1, f->w.wire.nsent);
	assert_string_equal("disk full", f->w.wire.sent[0].text);
	assert_string_equal("token-9", f->w.wire.sent[0].token);
	world_full(&f->w, false);
	add_answer(f, OWNER, 1, 1);
	run(f, 1000);
	assert_int_equal(2, f->w.wire.nsent);
}

static void a_row_that_breaks_its_promise_is_dropped(void **state)
{
	struct fix *f = *state;

	add_answer(f, OWNER, 1, 1);
	world_sql(&f->w, "PRAGMA ignore_check_constraints = ON");
	world_sql(&f->w, "UPDATE channel_outbox SET kind = 99");
	world_sql(&f->w, "PRAGMA ignore_check_constraints = OFF");
	add_answer(f, OWNER, 2, 1);
	run(f, 2000);
	assert_int_equal(1, f->w.wire.nsent);
	assert_int_equal(1, in_state(f, PART_DROPPED));
}

static void merged_notices_are_counted(void **state)
{
	struct fix *f = *state;

	for (int i = 0; i < 5; i++)
		assert_int_equal(0, outbox_merge(f->o, OWNER, PART_REPLY, W_NOT_TAKEN, "20", NULL));
	outbox_kick(f->o);
	run(f, 10000);
	assert_int_equal(1, f->w.wire.nsent);
	assert_non_null(strstr(fake_last(&f->w.wire), "5 message(s) were not taken"));
	assert_non_null(strstr(fake_last(&f->w.wire), "limit 20"));
}

static void a_parked_notice_that_is_due_again_is_sent(void **state)
{
	struct fix *f = *state;

	script(f, CHAN_CLOSED, CHAN_ACCEPTED, CHAN_ACCEPTED);
	assert_int_equal(0, outbox_merge(f->o, OWNER, PART_REPLY, W_NOT_TAKEN, "20", NULL));
	outbox_kick(f->o);
	run(f, 5000);
	assert_int_equal(1, in_state(f, PART_PARKED));
	world_sql(&f->w, "UPDATE channel_outbox SET attempts = 0"); /* as one parked before a try */
	assert_int_equal(0, outbox_heard(f->o, OWNER, "token-2", LANG_EN, NULL));
	assert_int_equal(0, outbox_merge(f->o, OWNER, PART_REPLY, W_NOT_TAKEN, "20", NULL));
	outbox_kick(f->o);
	run(f, 5000);
	assert_int_equal(0, in_state(f, PART_PARKED));
	assert_non_null(strstr(fake_last(&f->w.wire), "2 message(s) were not taken"));
}

static void a_landed_part_that_goes_again_is_counted_in_the_new_window(void **state)
{
	struct fix *f = *state;

	f->w.wire.hold = true;
	add_answer(f, OWNER, 1, 1);
	settle(f->w.loop);
	world_full(&f->w, true); /* what became of it cannot be stored yet */
	fake_land(&f->w.wire, CHAN_UNKNOWN);
	settle(f->w.loop);
	world_full(&f->w, false);
	assert_int_equal(0, outbox_heard(f->o, OWNER, "token-2", LANG_EN, NULL));
	f->w.wire.hold = false;
	run(f, 20000);
	assert_int_equal(2, f->w.wire.nsent);
	assert_int_equal(1, used(f));
}

static void a_shout_that_cannot_start_holds_nothing_up(void **state)
{
	struct fix *f = *state;

	f->w.wire.refuse = true;
	outbox_shout(f->o, OWNER, "token-1", VIEW("the disk is full"));
	add(f, OWNER, PART_TEXT, "more");
	settle(f->w.loop);
	f->w.wire.refuse = false;
	run(f, 20000);
	assert_string_equal("more", fake_last(&f->w.wire));
}

static void old_parts_are_forgotten(void **state)
{
	struct fix *f = *state;

	add_answer(f, OWNER, 1, 2);
	run(f, 3000);
	world_pass(&f->w, (int64_t)29 * 24 * 3600 * 1000);
	assert_int_equal(0, part_prune(&f->w.room, NULL));
	assert_int_equal(2, in_state(f, PART_ACCEPTED));
	world_pass(&f->w, (int64_t)2 * 24 * 3600 * 1000);
	assert_int_equal(0, part_prune(&f->w.room, NULL));
	assert_int_equal(0, in_state(f, PART_ACCEPTED));
}

static void a_wrong_clock_makes_nothing_old(void **state)
{
	static const int64_t wrong[] = { (int64_t)400 * 24 * 3600 * 1000, -(int64_t)1000000 };
	struct fix *f = *state;
	int64_t wall = f->w.clock.wall;

	f->w.room.server_ms = wall;
	for (size_t i = 0; i < 2; i++) { /* far ahead; stuck near the epoch */
		f->w.clock.wall = wrong[i] > 0 ? wall + wrong[i] : -wrong[i];
		add_answer(f, OWNER, 1, 2);
		run(f, 3000);
		assert_int_equal(0, part_prune(&f->w.room, NULL));
		f->w.clock.wall = wall;
		world_pass(&f->w, 1000);
		assert_int_equal(0, part_prune(&f->w.room, NULL));
		assert_int_equal(2 * (i + 1),
			world_int(&f->w, "SELECT count(*) FROM channel_outbox"));
	}
}

static void an_endless_answer_is_cut_off_and_says_so(void **state)
{
	struct fix *f = *state;

	f->w.room.text_limit = 10;
	add_answer(f, OWNER, 1, 8);
	assert_int_equal(OUTBOX_PARTS_MAX, world_int(&f->w, "SELECT count(*) FROM channel_outbox"));
	assert_int_equal(1,
		world_int(&f->w,
			"SELECT count(*) FROM channel_outbox WHERE text LIKE '%not kept%'"));
}

static void an_answer_that_formats_to_nothing_is_told_as_empty(void **state)
{
	static const char *const nothing[] = { "", " \n\n ", "<think>all of it</think>",
		"```\n```" };
	struct fix *f = *state;
	bool empty = true;

	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		empty = false;
		assert_int_equal(0, outbox_add_markdown(f->o, OWNER, PART_TEXT, 1,
					    view_of(nothing[i]), &empty, NULL));
		assert_true(empty);
	}
	assert_int_equal(0,
		outbox_add_markdown(f->o, OWNER, PART_TEXT, 1, VIEW("word"), &empty, NULL));
	assert_false(empty);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_answer_that_formats_to_nothing_is_told_as_empty),
		T(sends_parts_in_order_a_second_apart),
		T(never_has_two_sends_under_way),
		T(users_take_turns),
		T(a_command_reply_goes_before_a_long_answer),
		T(a_stop_does_not_wait_its_second),
		T(a_long_answer_takes_eight_sends_and_says_that_more_follows),
		T(each_kind_has_its_own_ceiling),
		T(a_question_without_a_send_left_is_told_at_once),
		T(a_question_shown_is_told),
		T(a_slow_disk_does_not_make_a_question_later),
		T(an_answer_parked_whole_is_announced_once),
		T(sends_of_replayed_windows_are_kept_over_a_restart),
		T(the_same_token_pays_again_for_a_new_message),
		T(an_empty_token_does_not_replace_one),
		T(without_any_token_parts_are_parked),
		T(the_window_ends_ten_minutes_before_the_day),
		T(a_broken_send_is_tried_again_unchanged),
		T(three_unknown_outcomes_are_the_end_and_are_told),
		T(the_word_of_a_loss_is_not_lost_with_it),
		T(what_was_never_sent_waits_for_the_line),
		T(a_send_that_cannot_start_counts_as_not_sent),
		T(a_closed_window_parks_everything_without_another_try),
		T(a_throttle_gets_one_retry_after_ninety_seconds),
		T(a_throttle_holds_over_a_restart),
		T(a_bare_refusal_gets_one_retry_and_stops_nobody_else),
		T(a_second_bare_refusal_parks),
		T(a_long_part_is_cut_again_after_a_bare_refusal),
		T(invalid_arguments_are_refused_and_told),
		T(success_without_an_id_is_counted_apart),
		T(an_expired_login_gets_one_retry_for_fresh_credentials),
		T(an_expired_login_holds_everything_until_the_link_is_up),
		T(stop_aborts_drops_and_never_retries),
		T(a_part_of_another_turn_makes_way_and_comes_again),
		T(a_part_in_flight_at_the_crash_goes_again_at_most_three_times),
		T(what_was_accepted_is_never_sent_again),
		T(what_is_stale_at_the_start_is_parked),
		T(an_outcome_that_cannot_be_stored_is_kept_until_it_can),
		T(nothing_is_sent_that_could_not_be_stored),
		T(a_shout_needs_no_disk),
		T(a_row_that_breaks_its_promise_is_dropped),
		T(merged_notices_are_counted),
		T(a_parked_notice_that_is_due_again_is_sent),
		T(a_landed_part_that_goes_again_is_counted_in_the_new_window),
		T(a_shout_that_cannot_start_holds_nothing_up),
		T(old_parts_are_forgotten),
		T(a_wrong_clock_makes_nothing_old),
		T(an_endless_answer_is_cut_off_and_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
