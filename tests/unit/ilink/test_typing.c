#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/ilink/typing.h"
#include "rig.h"

static int set_up(void **state)
{
	struct rig *r = rig_open();

	*state = r;
	server_always(r->srv, "getconfig", 200, "{\"ret\":0,\"typing_ticket\":\"AARTExample=\"}");
	rig_start(r);
	UNTIL(r, server_hanging(r->srv, "getupdates") == 1);
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	rig_close(&r);
	return 0;
}

static void typing(struct rig *r, bool on)
{
	r->ch->ops->typing(r->ch, RIG_USER, "AARzContext", on);
	rig_settle(r);
}

static size_t count_status(const struct rig *r, int status)
{
	char want[32];
	size_t n = 0;

	snprintf(want, sizeof(want), "\"status\":%d", status);
	for (size_t i = 0; i < server_count(r->srv, "sendtyping"); i++)
		n += strstr(server_get(r->srv, "sendtyping", i)->body, want) != NULL;
	return n;
}

static void shows_at_once_refreshes_and_cancels_once(void **state)
{
	struct rig *r = *state;

	typing(r, true);
	assert_string_equal(server_get(r->srv, "getconfig", 0)->target, "/ilink/bot/getconfig");
	assert_string_equal(server_get(r->srv, "getconfig", 0)->body,
		"{\"ilink_user_id\":\"" RIG_USER "\",\"context_token\":\"AARzContext\","
		"\"base_info\":{\"channel_version\":\"2.4.9\",\"bot_agent\":\"Example/1.0.0\"}}");
	assert_string_equal(server_get(r->srv, "sendtyping", 0)->target, "/ilink/bot/sendtyping");
	assert_string_equal(server_get(r->srv, "sendtyping", 0)->body,
		"{\"ilink_user_id\":\"" RIG_USER "\",\"typing_ticket\":\"AARTExample=\","
		"\"status\":1,\"base_info\":{\"channel_version\":\"2.4.9\","
		"\"bot_agent\":\"Example/1.0.0\"}}");
	assert_int_equal(count_status(r, 1), 1);
	rig_turn(r, 4000);
	assert_int_equal(count_status(r, 1), 1);
	rig_turn(r, 1001);
	assert_int_equal(count_status(r, 1), 2);
	rig_turn(r, 5001);
	assert_int_equal(count_status(r, 1), 3);
	typing(r, false);
	assert_int_equal(count_status(r, 2), 1);
	typing(r, false);
	rig_turn(r, 60000);
	assert_int_equal(count_status(r, 1), 3);
	assert_int_equal(count_status(r, 2), 1);
}

static void keeps_the_ticket_for_the_next_turn(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 3; i++) {
		typing(r, true);
		typing(r, false);
	}
	assert_int_equal(count_status(r, 1), 3);
	assert_int_equal(count_status(r, 2), 3);
	assert_int_equal(server_count(r->srv, "getconfig"), 1);
}

static void stops_after_half_an_hour(void **state)
{
	struct rig *r = *state;

	int64_t began = loop_now(r->loop);

	typing(r, true);
	for (int i = 0; i < 10; i++)
		rig_turn(r, 5001);
	assert_int_equal(count_status(r, 1), 11);
	rig_turn(r, TYPING_MAX_MS - 6000 - (loop_now(r->loop) - began));
	assert_int_equal(count_status(r, 1), 12);
	assert_int_equal(count_status(r, 2), 0);
	rig_turn(r, 5001);
	rig_turn(r, 5001);
	assert_int_equal(count_status(r, 2), 1);
	typing(r, true); /* still the same turn */
	rig_turn(r, 10000);
	typing(r, false);
	assert_int_equal(count_status(r, 2), 1);
	typing(r, true); /* the next one */
	assert_int_equal(count_status(r, 2), 1);
	typing(r, false);
	assert_int_equal(count_status(r, 2), 2);
}

/* Tickets may run out while a long task runs: the field's "typing never clears". */
static void fetches_another_ticket_when_one_has_run_out(void **state)
{
	struct rig *r = *state;
	size_t configs, shown;

	typing(r, true);
	rig_turn(r, 600000);
	configs = server_count(r->srv, "getconfig");
	shown = count_status(r, 1);
	server_always(r->srv, "getconfig", 200, "{\"typing_ticket\":\"second\"}");
	server_push(r->srv, "sendtyping", 200, "{\"ret\":-2,\"errmsg\":\"ticket expired\"}");
	rig_turn(r, 5000);
	assert_int_equal(server_count(r->srv, "getconfig"), configs + 1);
	assert_int_equal(count_status(r, 1), shown + 2); /* refused, then shown at once */
	typing(r, false);
	assert_int_equal(count_status(r, 2), 1);
	assert_non_null(
		strstr(server_get(r->srv, "sendtyping", server_count(r->srv, "sendtyping") - 1)
				->body,
			"\"typing_ticket\":\"second\""));
}

static void does_not_storm_when_fresh_tickets_are_refused(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "sendtyping", 200, "{\"ret\":-2}");
	typing(r, true);
	for (int i = 0; i < 24; i++)
		rig_turn(r, 5000);
	assert_true(server_count(r->srv, "getconfig") <= 4);
	assert_true(server_count(r->srv, "sendtyping") <= 30);
}

static void retries_a_failed_fetch_after_2_s_doubling(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "getconfig", 200, "{\"ret\":-1}");
	typing(r, true);
	assert_int_equal(server_count(r->srv, "getconfig"), 1);
	rig_turn(r, 1500);
	assert_int_equal(server_count(r->srv, "getconfig"), 1);
	rig_turn(r, 501);
	assert_int_equal(server_count(r->srv, "getconfig"), 2);
	rig_turn(r, 3500);
	assert_int_equal(server_count(r->srv, "getconfig"), 2);
	rig_turn(r, 501);
	assert_int_equal(server_count(r->srv, "getconfig"), 3);
	server_always(r->srv, "getconfig", 200, "{\"typing_ticket\":\"T\"}");
	rig_turn(r, 8001);
	assert_int_equal(count_status(r, 1), 1);
	typing(r, false);
	assert_int_equal(count_status(r, 2), 1);
}

/* "No session yet" (-4) ends with the next message, and so does our waiting. */
static void a_new_message_ends_the_wait_for_a_ticket(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "getconfig", 200, "{\"ret\":-4}");
	for (int i = 0; i < 8; i++) {
		typing(r, true);
		rig_turn(r, 3600000);
		typing(r, false);
	}
	server_always(r->srv, "getconfig", 200, "{\"typing_ticket\":\"T\"}");
	r->ch->ops->typing(r->ch, RIG_USER, "AARzNewer", true);
	rig_settle(r);
	assert_int_equal(count_status(r, 1), 1);
}

static void shows_nothing_with_an_empty_ticket(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "getconfig", 200, "{\"ret\":0,\"typing_ticket\":\"\"}");
	typing(r, true);
	rig_turn(r, 5001);
	typing(r, false);
	assert_int_equal(server_count(r->srv, "sendtyping"), 0);
}

static void an_off_does_not_wait_for_a_ticket(void **state)
{
	struct rig *r = *state;

	server_push_hang(r->srv, "getconfig");
	typing(r, true);
	typing(r, false);
	assert_int_equal(server_hanging(r->srv, "getconfig"), 0);
	rig_turn(r, 60000);
	assert_int_equal(server_count(r->srv, "sendtyping"), 0);
}

static void an_off_never_overtakes_an_on(void **state)
{
	struct rig *r = *state;

	server_push_hang(r->srv, "sendtyping");
	typing(r, true);
	typing(r, false);
	assert_int_equal(count_status(r, 2), 0);
	server_answer(r->srv, "sendtyping", 200, "{}");
	rig_settle(r);
	assert_int_equal(count_status(r, 2), 1);
}

static void failures_are_silent_and_delay_no_send(void **state)
{
	struct rig *r = *state;
	struct chan_status before = rig_status(r);

	server_push_hang(r->srv, "sendtyping");
	server_always(r->srv, "sendtyping", 500, "");
	typing(r, true);
	rig_send(r, "hi");
	UNTIL(r, r->sent == 1);
	rig_turn(r, 10001); /* the call that hangs times out, the beat goes on */
	rig_turn(r, 5001);
	typing(r, false);
	assert_int_equal(count_status(r, 2), 1);
	assert_true(count_status(r, 1) >= 2);
	assert_int_equal(rig_status(r).failures, before.failures);
}

static void an_expired_token_in_typing_is_not_believed(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "sendtyping", 200, "{\"ret\":-14}");
	typing(r, true);
	rig_turn(r, 5001);
	typing(r, false);
	assert_int_equal(server_count(r->srv, "notifystart"), 1);
}

static void keeps_users_apart_and_their_number_bounded(void **state)
{
	struct rig *r = *state;
	char user[64];

	typing(r, true);
	for (int i = 0; i < TYPING_USERS_MAX + 5; i++) {
		snprintf(user, sizeof(user), "u%d@im.wechat", i);
		r->ch->ops->typing(r->ch, user, "t", true);
		rig_settle(r);
		r->ch->ops->typing(r->ch, user, "t", false);
		rig_settle(r);
	}
	assert_int_equal(count_status(r, 2), TYPING_USERS_MAX + 5);
	typing(r, false); /* the one in use was not pushed out */
	assert_int_equal(count_status(r, 2), TYPING_USERS_MAX + 6);
}

static void on_stopped(void *arg)
{
	((struct rig *)arg)->stopped = true;
}

static void stopping_the_channel_cancels_what_shows(void **state)
{
	struct rig *r = *state;

	typing(r, true);
	r->ch->ops->stop(r->ch, on_stopped, r);
	UNTIL(r, r->stopped);
	assert_int_equal(count_status(r, 2), 1);
	rig_turn(r, 60000);
	assert_int_equal(count_status(r, 1), 1);
}

static void tickets_stay_out_of_the_log(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "sendtyping", 200, "{\"ret\":-2,\"errmsg\":\"AARTExample= is bad\"}");
	typing(r, true);
	typing(r, false);
	assert_false(rig_log_has(r, "AARTExample="));
	assert_false(rig_log_has(r, "AARzContext"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shows_at_once_refreshes_and_cancels_once),
		TEST(keeps_the_ticket_for_the_next_turn),
		TEST(stops_after_half_an_hour),
		TEST(fetches_another_ticket_when_one_has_run_out),
		TEST(does_not_storm_when_fresh_tickets_are_refused),
		TEST(retries_a_failed_fetch_after_2_s_doubling),
		TEST(a_new_message_ends_the_wait_for_a_ticket),
		TEST(shows_nothing_with_an_empty_ticket),
		TEST(an_off_does_not_wait_for_a_ticket),
		TEST(an_off_never_overtakes_an_on),
		TEST(failures_are_silent_and_delay_no_send),
		TEST(an_expired_token_in_typing_is_not_believed),
		TEST(keeps_users_apart_and_their_number_bounded),
		TEST(stopping_the_channel_cancels_what_shows),
		TEST(tickets_stay_out_of_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
