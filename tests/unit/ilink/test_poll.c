#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "channel/ilink/poll.h"
#include "rig.h"

#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define BASE_INFO "\"base_info\":{\"channel_version\":\"2.4.9\",\"bot_agent\":\"Example/1.0.0\"}"
#define MSG(id) \
	"{\"message_id\":" id ",\"from_user_id\":\"" RIG_USER \
	"\",\"item_list\":[{\"type\":1,\"text_item\":{\"text\":\"hi\"}}]}"

static int set_up(void **state)
{
	*state = rig_open();
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	rig_close(&r);
	return 0;
}

static size_t polls(const struct rig *r)
{
	return server_count(r->srv, "getupdates");
}

static const struct request *poll_at(const struct rig *r, size_t i)
{
	return server_get(r->srv, "getupdates", i);
}

/* Started, and the first poll hangs at the server. */
static void start_idle(struct rig *r)
{
	rig_start(r);
	UNTIL(r, server_hanging(r->srv, "getupdates") == 1);
}

/* Started, up, and the second poll hangs. */
static void start_up(struct rig *r)
{
	server_push(r->srv, "getupdates", 200, "{\"ret\":0}");
	rig_start(r);
	UNTIL(r, polls(r) == 2 && server_hanging(r->srv, "getupdates") == 1);
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
}

static void assert_links(const struct rig *r, size_t n, const enum chan_link *links)
{
	assert_int_equal(r->nlinks, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(r->links[i], links[i]);
}
#define LINKS(r, ...) \
	assert_links(r, sizeof((enum chan_link[]){ __VA_ARGS__ }) / sizeof(enum chan_link), \
		(enum chan_link[]){ __VA_ARGS__ })

/* --- Pure ------------------------------------------------------------------------------------- */
static void clamps_the_client_timeout(void **state)
{
	static const struct {
		int64_t told;
		bool international, hurry;
		int64_t ms;
	} rows[] = {
		{ 0, false, false, 35000 },
		{ 1, false, false, 5001 },
		{ 25000, false, false, 30000 },
		{ 35000, false, false, 40000 },
		{ 54999, false, false, 59999 },
		{ 55000, false, false, 60000 },
		{ 55001, false, false, 60000 },
		{ INT64_MAX, false, false, 60000 },
		{ 0, true, false, 10000 },
		{ 2000, true, false, 7000 },
		{ 35000, true, false, 10000 },
		{ 35000, false, true, 3000 },
		{ 1, true, true, 3000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(poll_timeout_ms(rows[i].told, rows[i].international,
					 rows[i].hurry),
			rows[i].ms);
}

static void knows_the_international_host(void **state)
{
	(void)state;
	assert_true(api_is_international("https://ilinkai.wechat.com"));
	assert_true(api_is_international("https://wechat.com/x"));
	assert_false(api_is_international("https://ilinkai.weixin.qq.com"));
	assert_false(api_is_international("https://notwechat.com"));
	assert_false(api_is_international("https://wechat.com.example.org"));
	assert_false(api_is_international("no url"));
}

static void backs_off_2_2_30_up_to_5_minutes(void **state)
{
	static const int64_t want[] = { 2000, 2000, 30000, 60000, 120000, 240000, 300000, 300000 };

	(void)state;
	for (int i = 0; i < (int)COUNT(want); i++) {
		assert_int_equal(backoff_ms(i + 1, 0), want[i] * 8 / 10);
		assert_int_equal(backoff_ms(i + 1, 200), want[i]);
		assert_int_equal(backoff_ms(i + 1, 400), want[i] * 12 / 10);
	}
	assert_int_equal(backoff_ms(1000000, 200), 300000);
}

/* --- Starting --------------------------------------------------------------------------------- */
static void greets_and_then_polls_with_every_header(void **state)
{
	struct rig *r = *state;
	const struct request *q;

	start_idle(r);
	assert_int_equal(server_total(r->srv), 2);
	q = server_any(r->srv, 0);
	assert_string_equal(q->method, "POST");
	assert_string_equal(q->target, "/ilink/bot/msg/notifystart");
	assert_string_equal(q->body, "{" BASE_INFO "}");
	q = server_any(r->srv, 1);
	assert_string_equal(q->method, "POST");
	assert_string_equal(q->target, "/ilink/bot/getupdates");
	assert_string_equal(q->body, "{\"get_updates_buf\":\"\"," BASE_INFO "}");
	for (size_t i = 0; i < 2; i++) {
		q = server_any(r->srv, i);
		assert_string_equal(request_header(q, "Content-Type"), "application/json");
		assert_string_equal(request_header(q, "AuthorizationType"), "ilink_bot_token");
		assert_string_equal(request_header(q, "Authorization"), "Bearer " RIG_TOKEN);
		assert_string_equal(request_header(q, "iLink-App-Id"), "bot");
		assert_string_equal(request_header(q, "iLink-App-ClientVersion"), "132105");
		assert_non_null(request_header(q, "X-WECHAT-UIN"));
		assert_null(request_header(q, "SKRouteTag"));
		assert_null(request_header(q, "User-Agent"));
		assert_null(request_header(q, "Expect"));
	}
	assert_int_equal(rig_status(r).link, CHAN_LINK_STARTING);
}

static void sends_a_new_uin_with_every_request(void **state)
{
	struct rig *r = *state;
	char first[64];

	start_up(r);
	assert_int_equal(copy_z(first, sizeof(first),
				 view_of(request_header(poll_at(r, 0), "X-WECHAT-UIN"))),
		0);
	assert_string_not_equal(request_header(poll_at(r, 1), "X-WECHAT-UIN"), first);
}

static void sends_a_configured_route_tag(void **state)
{
	struct rig *r = *state;
	struct err e = ERR_INIT;

	r->ch->ops->close(&r->ch);
	r->env.route_tag = " 42 ";
	assert_int_equal(ilink_open(&r->ch, &r->env, r->acc, &e), 0);
	start_idle(r);
	assert_string_equal(request_header(poll_at(r, 0), "SKRouteTag"), "42");
}

static void refuses_settings_that_cannot_be_sent(void **state)
{
	struct rig *r = *state;
	struct ilink_env env = r->env;
	struct channel *c = NULL;
	struct err e = ERR_INIT;

	env.route_tag = "a\r\nX: y";
	assert_int_equal(ilink_open(&c, &env, r->acc, &e), -1);
	assert_int_equal(e.code, E_FORMAT);
	env = r->env;
	env.client_version = "newest";
	assert_int_equal(ilink_open(&c, &env, r->acc, &e), -1);
	env = r->env;
	env.cdn_url = "https://media.example/c2c";
	assert_int_equal(ilink_open(&c, &env, r->acc, &e), -1);
	assert_int_equal(e.code, E_DENIED);
	assert_non_null(strstr(e.msg, "media server"));
	env = r->env;
	env.loopback = false; /* the account points at this machine */
	assert_int_equal(ilink_open(&c, &env, r->acc, &e), -1);
	assert_int_equal(e.code, E_DENIED);
	assert_null(c);
}

static void polls_after_two_seconds_when_the_greeting_hangs(void **state)
{
	struct rig *r = *state;

	server_push_hang(r->srv, "notifystart");
	rig_start(r);
	UNTIL(r, server_hanging(r->srv, "notifystart") == 1);
	rig_turn(r, 1000);
	assert_int_equal(polls(r), 0);
	rig_turn(r, 1001);
	assert_int_equal(polls(r), 1);
}

static void greets_again_with_backoff_until_it_works(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "notifystart", 500, "");
	server_push(r->srv, "notifystart", 200, "{\"ret\":-1}");
	server_push(r->srv, "notifystart", 200, "{\"ret\":0}");
	start_idle(r);
	assert_int_equal(server_count(r->srv, "notifystart"), 1);
	rig_turn(r, 1500);
	assert_int_equal(server_count(r->srv, "notifystart"), 1);
	rig_turn(r, 1000);
	assert_int_equal(server_count(r->srv, "notifystart"), 2);
	rig_turn(r, 2500);
	assert_int_equal(server_count(r->srv, "notifystart"), 3);
	rig_turn(r, 20000);
	assert_int_equal(server_count(r->srv, "notifystart"), 3);
	assert_int_equal(rig_status(r).failures, 0);
}

/* --- Messages --------------------------------------------------------------------------------- */
static void hands_on_a_batch_and_then_moves_the_cursor(void **state)
{
	struct rig *r = *state;
	struct account *stored = NULL;

	server_push(r->srv, "getupdates", 200,
		"{\"msgs\":[" MSG("7") "," MSG("\"8\"") "],\"get_updates_buf\":\"c1\"}");
	rig_start(r);
	UNTIL(r, polls(r) == 2);
	assert_string_equal(str_cstr(&r->ids), "7,8,");
	assert_int_equal(r->batches, 1);
	assert_string_equal(poll_at(r, 1)->body, "{\"get_updates_buf\":\"c1\"," BASE_INFO "}");
	assert_int_equal(account_load(&stored, r->home, NULL), 0);
	assert_string_equal(account_cursor(stored), "c1");
	account_free(&stored);
	rig_settle(r);
	LINKS(r, CHAN_LINK_STARTING, CHAN_LINK_UP);
	assert_true(rig_status(r).last_good_ms > 0);
}

static void keeps_the_cursor_when_none_or_an_empty_one_comes(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "{\"get_updates_buf\":\"c1\"}");
	server_push(r->srv, "getupdates", 200, "{\"get_updates_buf\":\"\"}");
	server_push(r->srv, "getupdates", 200, "{}");
	rig_start(r);
	UNTIL(r, polls(r) == 4);
	for (size_t i = 1; i < 4; i++)
		assert_non_null(strstr(poll_at(r, i)->body, "\"get_updates_buf\":\"c1\""));
	assert_int_equal(r->batches, 0);
}

static void keeps_the_cursor_of_a_batch_that_was_not_stored(void **state)
{
	struct rig *r = *state;
	static const char answer[] = "{\"msgs\":[" MSG("7") "],\"get_updates_buf\":\"c1\"}";

	r->refuse = true;
	server_push(r->srv, "getupdates", 200, answer);
	rig_start(r);
	UNTIL(r, r->batches == 1);
	rig_settle(r);
	assert_int_equal(rig_status(r).link, CHAN_LINK_DEGRADED);
	assert_non_null(strstr(rig_status(r).why, "no space left on the disk"));
	assert_int_equal(polls(r), 1);
	assert_string_equal(account_cursor(r->acc), "");
	r->refuse = false;
	server_push(r->srv, "getupdates", 200, answer);
	rig_turn(r, 2500);
	UNTIL(r, polls(r) == 3);
	assert_non_null(strstr(poll_at(r, 1)->body, "\"get_updates_buf\":\"\""));
	assert_string_equal(str_cstr(&r->ids), "7,");
	assert_string_equal(account_cursor(r->acc), "c1");
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
	LINKS(r, CHAN_LINK_STARTING, CHAN_LINK_DEGRADED, CHAN_LINK_UP);
}

static void keeps_the_cursor_of_a_batch_that_may_not_outlive_the_machine(void **state)
{
	struct rig *r = *state;
	static const char answer[] = "{\"msgs\":[" MSG("7") "],\"get_updates_buf\":\"c1\"}";

	r->unsettled = true;
	server_push(r->srv, "getupdates", 200, answer);
	rig_start(r);
	UNTIL(r, r->settles == 1);
	rig_settle(r);
	assert_int_equal(rig_status(r).link, CHAN_LINK_DEGRADED);
	assert_non_null(strstr(rig_status(r).why, "the disk did not take it"));
	assert_string_equal(account_cursor(r->acc), "");
	r->unsettled = false;
	server_push(r->srv, "getupdates", 200, answer);
	rig_turn(r, 2500);
	UNTIL(r, polls(r) == 3);
	assert_int_equal(r->settles, 2);
	assert_string_equal(account_cursor(r->acc), "c1");
}

static void one_malformed_message_stops_neither_batch_nor_cursor(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200,
		"{\"msgs\":[" MSG("1") ",{\"from_user_id\":7}," MSG("true") "," MSG(
			"2") "],\"get_updates_buf\":\"c1\"}");
	rig_start(r);
	UNTIL(r, polls(r) == 2);
	assert_non_null(strstr(str_cstr(&r->ids), "1,h:"));
	assert_non_null(strstr(str_cstr(&r->ids), ",2,"));
	assert_int_equal(rig_status(r).skipped, 2);
	assert_string_equal(account_cursor(r->acc), "c1");
	assert_true(rig_log_has(r, "message 2 of a batch is malformed"));
}

static void survives_an_answer_over_the_limit(void **state)
{
	struct rig *r = *state;
	struct str big = STR_INIT(8 << 20);

	str_adds(&big, "{\"x\":\"");
	while (big.n <= WIRE_BODY_MAX)
		str_adds(&big, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	str_adds(&big, "\"}");
	server_push_view(r->srv, "getupdates", 200, str_view(&big));
	server_push(r->srv, "getupdates", 200, "{\"msgs\":[" MSG("7") "]}");
	rig_start(r);
	UNTIL(r, rig_status(r).failures == 1);
	rig_turn(r, 2500);
	UNTIL(r, r->batches == 1);
	UNTIL(r, rig_status(r).link == CHAN_LINK_UP);
	str_release(&big);
}

/* --- Liveness --------------------------------------------------------------------------------- */
static void takes_a_timeout_for_an_empty_poll(void **state)
{
	struct rig *r = *state;

	start_up(r);
	rig_turn(r, 34000);
	assert_int_equal(polls(r), 2);
	rig_turn(r, 1100);
	assert_int_equal(polls(r), 3);
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
}

static void degrades_when_the_server_stays_silent_and_recovers(void **state)
{
	struct rig *r = *state;

	start_up(r);
	rig_turn(r, 35500);
	rig_turn(r, 35500);
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
	rig_turn(r, 35500);
	assert_int_equal(rig_status(r).link, CHAN_LINK_DEGRADED);
	assert_int_equal(rig_status(r).failures, 3);
	assert_non_null(strstr(rig_status(r).why, "did not answer"));
	assert_int_equal(polls(r), 5); /* each was restarted at once */
	server_answer(r->srv, "getupdates", 200, "{}");
	UNTIL(r, rig_status(r).link == CHAN_LINK_UP);
	assert_string_equal(rig_status(r).why, "");
	assert_int_equal(rig_status(r).failures, 0);
}

static void waits_as_long_as_it_was_told_and_5_s(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "{\"longpolling_timeout_ms\":12000}");
	server_push_hang(r->srv, "getupdates");
	rig_start(r);
	UNTIL(r, polls(r) == 2);
	rig_turn(r, 16000);
	assert_int_equal(polls(r), 2);
	rig_turn(r, 1100);
	assert_int_equal(polls(r), 3);
}

static void a_sleep_of_the_machine_is_no_fault_of_the_server(void **state)
{
	struct rig *r = *state;

	start_up(r);
	for (int i = 0; i < 5; i++)
		rig_turn(r, (int64_t)8 * 3600 * 1000);
	assert_int_equal(polls(r), 7);
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
	assert_int_equal(rig_status(r).failures, 0);
}

static void an_edge_timeout_is_an_empty_poll(void **state)
{
	static const int status[] = { 524, 502, 504 };
	struct rig *r = *state;

	start_up(r);
	for (size_t i = 0; i < COUNT(status); i++) {
		rig_turn(r, 16000);
		server_answer(r->srv, "getupdates", status[i], "<html>timeout</html>");
		UNTIL(r, polls(r) == 3 + i);
	}
	assert_int_equal(rig_status(r).failures, 0);
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
}

static void an_edge_that_answers_at_once_is_not_asked_at_once_again(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "getupdates", 502, "<html>");
	rig_start(r);
	UNTIL(r, rig_status(r).failures == 1);
	rig_turn(r, 1000);
	assert_int_equal(polls(r), 1);
	rig_turn(r, 1500);
	assert_int_equal(polls(r), 2);
}

static void asks_another_way_when_short_polls_stay_silent(void **state)
{
	struct rig *r = *state;

	start_up(r);
	r->ch->ops->hurry(r->ch, true);
	for (int i = 0; i < 18; i++)
		rig_turn(r, 3100);
	assert_int_equal(server_count(r->srv, "getconfig"), 0);
	for (int i = 0; i < 4; i++)
		rig_turn(r, 3100);
	assert_int_equal(server_count(r->srv, "getconfig"), 1);
	assert_non_null(strstr(server_get(r->srv, "getconfig", 0)->body,
		"\"ilink_user_id\":\"" RIG_USER "\""));
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
	/* and when that is not answered either */
	server_always(r->srv, "getconfig", 500, "");
	for (int i = 0; i < 30; i++)
		rig_turn(r, 3100);
	assert_int_equal(rig_status(r).link, CHAN_LINK_DEGRADED);
	server_always(r->srv, "getconfig", 200, "{\"ret\":-4}");
	rig_turn(r, 3100);
	UNTIL(r, rig_status(r).link == CHAN_LINK_UP);
}

/* --- Failures --------------------------------------------------------------------------------- */
static void backs_off_after_failures_of_every_kind(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "{\"ret\":-1,\"errmsg\":\"busy\"}");
	server_push_cut(r->srv, "getupdates");
	server_push_half(r->srv, "getupdates");
	server_push(r->srv, "getupdates", 403, "");
	rig_start(r);
	UNTIL(r, rig_status(r).failures == 1);
	assert_string_equal(rig_status(r).why, "the server answered -1 (busy)");
	rig_turn(r, 1500);
	assert_int_equal(polls(r), 1);
	rig_turn(r, 950);
	UNTIL(r, rig_status(r).failures == 2);
	assert_int_equal(rig_status(r).link, CHAN_LINK_STARTING);
	rig_turn(r, 2450);
	UNTIL(r, rig_status(r).failures == 3);
	assert_int_equal(rig_status(r).link, CHAN_LINK_DEGRADED);
	assert_int_equal(polls(r), 3);
	rig_turn(r, 23000);
	assert_int_equal(polls(r), 3);
	rig_turn(r, 13500);
	UNTIL(r, rig_status(r).failures == 4);
	assert_non_null(strstr(rig_status(r).why, "HTTP 403"));
	rig_turn(r, 47000);
	assert_int_equal(polls(r), 4);
	rig_turn(r, 26000);
	assert_int_equal(polls(r), 5);
	server_answer(r->srv, "getupdates", 200, "{}");
	UNTIL(r, rig_status(r).link == CHAN_LINK_UP);
}

static void an_empty_body_is_a_failure(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "");
	rig_start(r);
	UNTIL(r, rig_status(r).failures == 1);
	assert_non_null(strstr(rig_status(r).why, "empty"));
}

static void names_the_way_out_of_an_answer_that_stays_unreadable(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "getupdates", 200, "{\"ret\":0,\"ret\":0}");
	rig_start(r);
	for (int i = 1; i <= 5; i++) {
		UNTIL(r, rig_status(r).failures == i);
		assert_int_equal(strstr(rig_status(r).why, "kairo login --force") != NULL, i == 5);
		if (i < 5)
			rig_turn(r, 180000);
	}
	assert_int_equal(rig_status(r).link, CHAN_LINK_DEGRADED);
	server_always(r->srv, "getupdates", 200, "{\"get_updates_buf\":\"c9\"}");
	rig_turn(r, 180000);
	UNTIL(r, rig_status(r).link == CHAN_LINK_UP);
}

static void does_not_spin_when_the_server_holds_nothing(void **state)
{
	struct rig *r = *state;
	int64_t began = loop_now(r->loop), took;

	server_always(r->srv, "getupdates", 200, "{}");
	rig_start(r);
	UNTIL(r, polls(r) >= 4);
	rig_settle(r); /* a poll still open would look held when the clock is turned */
	for (int i = 0; i < 40; i++)
		rig_turn(r, 250);
	took = loop_now(r->loop) - began;
	assert_true(took >= 10000);
	assert_true((int64_t)polls(r) <= 4 + 4 + took / 1000 + 1);
}

/* The same batch for ever, because the server names no cursor behind it. */
static void does_not_spin_over_a_batch_without_cursor(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "getupdates", 200, "{\"msgs\":[" MSG("7") "]}");
	rig_start(r);
	UNTIL(r, polls(r) >= 4);
	rig_settle(r); /* a poll still open would look held when the clock is turned */
	for (int i = 0; i < 10; i++)
		rig_turn(r, 250);
	assert_true(polls(r) <= 16);
}

/* Another place in the stream with each answer, and nothing there: each is kept on disk. */
static void does_not_spin_after_a_cursor_that_runs_away(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 20; i++) {
		server_push(r->srv, "getupdates", 200, "{\"get_updates_buf\":\"even\"}");
		server_push(r->srv, "getupdates", 200, "{\"get_updates_buf\":\"odd\"}");
	}
	rig_start(r);
	UNTIL(r, polls(r) >= 4);
	rig_settle(r);
	for (int i = 0; i < 10; i++)
		rig_turn(r, 250);
	assert_true(polls(r) <= 16);
}

/* --- The login -------------------------------------------------------------------------------- */
static void tries_once_more_and_then_calls_the_login_expired(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "getupdates", 200,
		"{\"errcode\":-14,\"errmsg\":\"session timeout\"}");
	rig_start(r);
	UNTIL(r, rig_status(r).link == CHAN_LINK_EXPIRED);
	rig_settle(r);
	assert_int_equal(polls(r), 2);
	assert_int_equal(server_count(r->srv, "notifystart"), 2);
	assert_non_null(strstr(rig_status(r).why, "kairo login"));
	assert_int_equal(server_count(r->srv, "get_bot_qrcode"), 0);
	LINKS(r, CHAN_LINK_STARTING, CHAN_LINK_EXPIRED);
	/* probed each hour, no more */
	for (int i = 0; i < 59; i++)
		rig_turn(r, 60000);
	assert_int_equal(polls(r), 2);
	rig_turn(r, 120000);
	assert_int_equal(polls(r), 3);
	assert_int_equal(rig_status(r).link, CHAN_LINK_EXPIRED);
	/* and it may come back */
	server_always(r->srv, "getupdates", 200, "{\"get_updates_buf\":\"c\"}");
	for (int i = 0; i < 61; i++)
		rig_turn(r, 60000);
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
	assert_int_equal(server_count(r->srv, "notifystart"), 4);
}

static void a_failing_probe_leaves_the_login_expired(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	server_push(r->srv, "getupdates", 500, "");
	rig_start(r);
	UNTIL(r, rig_status(r).link == CHAN_LINK_EXPIRED);
	for (int i = 0; i < 61; i++)
		rig_turn(r, 60000);
	assert_int_equal(polls(r), 3);
	assert_int_equal(rig_status(r).link, CHAN_LINK_EXPIRED);
	LINKS(r, CHAN_LINK_STARTING, CHAN_LINK_EXPIRED);
}

static void one_stray_minus_14_changes_nothing(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "{\"get_updates_buf\":\"c1\"}");
	server_push(r->srv, "getupdates", 200, "{\"ret\":\"-14\"}");
	server_push(r->srv, "getupdates", 200, "{}");
	rig_start(r);
	UNTIL(r, polls(r) == 4);
	rig_settle(r);
	assert_int_equal(server_count(r->srv, "notifystart"), 2);
	assert_non_null(strstr(poll_at(r, 2)->body, "\"get_updates_buf\":\"c1\""));
	LINKS(r, CHAN_LINK_STARTING, CHAN_LINK_UP);
}

static void adopts_a_token_that_was_replaced_on_disk(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	server_push(r->srv, "getupdates", 200, "{}");
	rig_login(r, RIG_BOT, RIG_BOT ":0600000000bb");
	rig_start(r);
	UNTIL(r, polls(r) == 3);
	assert_string_equal(request_header(poll_at(r, 0), "Authorization"), "Bearer " RIG_TOKEN);
	assert_string_equal(request_header(poll_at(r, 1), "Authorization"),
		"Bearer " RIG_BOT ":0600000000bb");
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
}

static void ends_when_another_account_took_the_place(void **state)
{
	struct rig *r = *state;
	size_t total;

	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	rig_login(r, "ffffffffffff@im.bot", "ffffffffffff@im.bot:06");
	rig_start(r);
	UNTIL(r, rig_status(r).link == CHAN_LINK_REPLACED);
	rig_settle(r);
	total = server_total(r->srv);
	rig_turn(r, (int64_t)24 * 3600 * 1000);
	assert_int_equal(server_total(r->srv), total);
	LINKS(r, CHAN_LINK_STARTING, CHAN_LINK_REPLACED);
	assert_true(rig_status(r).why[0]);
}

static void ends_when_logged_out(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	assert_int_equal(account_logout(r->home, NULL), 0);
	rig_start(r);
	UNTIL(r, rig_status(r).link == CHAN_LINK_REPLACED);
	assert_non_null(strstr(rig_status(r).why, "logged out"));
}

static void an_expired_login_sees_the_new_one_within_a_minute(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	rig_start(r);
	UNTIL(r, rig_status(r).link == CHAN_LINK_EXPIRED);
	rig_login(r, "ffffffffffff@im.bot", "ffffffffffff@im.bot:06");
	rig_turn(r, 60001);
	assert_int_equal(rig_status(r).link, CHAN_LINK_REPLACED);
}

static void never_writes_over_another_login(void **state)
{
	struct rig *r = *state;
	struct account *stored = NULL;

	start_idle(r);
	rig_login(r, "ffffffffffff@im.bot", "ffffffffffff@im.bot:06");
	server_answer(r->srv, "getupdates", 200,
		"{\"msgs\":[" MSG("7") "],\"get_updates_buf\":\"c1\"}");
	UNTIL(r, rig_status(r).link == CHAN_LINK_REPLACED);
	assert_string_equal(str_cstr(&r->ids), "7,"); /* stored: nothing is lost */
	assert_int_equal(account_load(&stored, r->home, NULL), 0);
	assert_string_equal(account_bot_id(stored), "ffffffffffff@im.bot");
	assert_string_equal(account_cursor(stored), "");
	account_free(&stored);
}

static void goes_on_from_a_cursor_that_somebody_else_moved(void **state)
{
	struct rig *r = *state;
	struct account *other = NULL;

	start_idle(r);
	assert_int_equal(account_load(&other, r->home, NULL), 0);
	assert_int_equal(account_move_cursor(other, VIEW("theirs"), NULL), 0);
	account_free(&other);
	server_answer(r->srv, "getupdates", 200, "{\"get_updates_buf\":\"c1\"}");
	UNTIL(r, rig_status(r).link == CHAN_LINK_DEGRADED);
	rig_turn(r, 2500);
	UNTIL(r, polls(r) == 2);
	assert_non_null(strstr(poll_at(r, 1)->body, "\"get_updates_buf\":\"theirs\""));
}

/* --- Hurry ------------------------------------------------------------------------------------ */
static void hurry_aborts_the_long_poll_and_makes_short_ones(void **state)
{
	struct rig *r = *state;

	start_up(r);
	r->ch->ops->hurry(r->ch, true);
	rig_settle(r);
	assert_int_equal(polls(r), 3);
	assert_int_equal(server_hanging(r->srv, "getupdates"), 1);
	for (size_t i = 4; i < 10; i++) {
		rig_turn(r, 3100);
		assert_int_equal(polls(r), i);
	}
	assert_int_equal(rig_status(r).link, CHAN_LINK_UP);
	r->ch->ops->hurry(r->ch, false);
	rig_turn(r, 3100);
	assert_int_equal(polls(r), 10);
	rig_turn(r, 30000);
	assert_int_equal(polls(r), 10);
}

static void hurry_shortens_a_pause(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 500, "");
	server_push(r->srv, "getupdates", 500, "");
	server_push(r->srv, "getupdates", 500, "");
	rig_start(r);
	for (int i = 1; i < 3; i++) {
		UNTIL(r, rig_status(r).failures == i);
		rig_turn(r, 2450);
	}
	UNTIL(r, rig_status(r).failures == 3);
	r->ch->ops->hurry(r->ch, true);
	rig_turn(r, 3001);
	assert_int_equal(polls(r), 4);
}

static void hurry_now(struct rig *r)
{
	r->ch->ops->hurry(r->ch, true);
	r->ch->ops->typing(r->ch, RIG_USER, "t", true);
}

static void a_batch_may_call_the_channel(void **state)
{
	struct rig *r = *state;

	r->in_batch = hurry_now;
	server_push(r->srv, "getupdates", 200,
		"{\"msgs\":[" MSG("7") "],\"get_updates_buf\":\"c\"}");
	rig_start(r);
	UNTIL(r, polls(r) == 2);
	rig_turn(r, 3100);
	assert_int_equal(polls(r), 3);
	assert_int_equal(server_count(r->srv, "getconfig"), 1);
}

/* --- Stop and close --------------------------------------------------------------------------- */
static void on_stopped(void *arg)
{
	struct rig *r = arg;

	assert_false(r->stopped);
	r->stopped = true;
}

static void says_goodbye_when_stopped(void **state)
{
	struct rig *r = *state;

	start_up(r);
	r->ch->ops->stop(r->ch, on_stopped, r);
	assert_false(r->stopped);
	UNTIL(r, r->stopped);
	rig_settle(r);
	assert_int_equal(server_count(r->srv, "notifystop"), 1);
	assert_string_equal(server_get(r->srv, "notifystop", 0)->target,
		"/ilink/bot/msg/notifystop");
	assert_string_equal(server_get(r->srv, "notifystop", 0)->body, "{" BASE_INFO "}");
	assert_int_equal(server_hanging(r->srv, "getupdates"), 0);
	assert_int_equal(polls(r), 2);
	LINKS(r, CHAN_LINK_STARTING, CHAN_LINK_UP, CHAN_LINK_STOPPED);
}

static void waits_two_seconds_for_the_goodbye_at_most(void **state)
{
	struct rig *r = *state;

	start_up(r);
	server_push_hang(r->srv, "notifystop");
	r->ch->ops->stop(r->ch, on_stopped, r);
	rig_settle(r);
	rig_turn(r, 1500);
	assert_false(r->stopped);
	rig_turn(r, 501);
	assert_true(r->stopped);
}

static void an_expired_login_says_no_goodbye(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "getupdates", 200, "{\"ret\":-14}");
	rig_start(r);
	UNTIL(r, rig_status(r).link == CHAN_LINK_EXPIRED);
	r->ch->ops->stop(r->ch, on_stopped, r);
	UNTIL(r, r->stopped);
	assert_int_equal(server_count(r->srv, "notifystop"), 0);
}

static void stop_in_batch(struct rig *r)
{
	r->ch->ops->stop(r->ch, on_stopped, r);
}

static void may_be_stopped_from_inside_a_batch(void **state)
{
	struct rig *r = *state;

	r->in_batch = stop_in_batch;
	server_push(r->srv, "getupdates", 200,
		"{\"msgs\":[" MSG("7") "],\"get_updates_buf\":\"c\"}");
	rig_start(r);
	UNTIL(r, r->stopped);
	rig_settle(r);
	assert_int_equal(polls(r), 1);
	assert_string_equal(account_cursor(r->acc), "c");
}

static void may_be_closed_from_the_link_callback(void **state)
{
	struct rig *r = *state;

	r->close_on_link = true;
	rig_start(r);
	UNTIL(r, r->ch == NULL);
	rig_settle(r);
	assert_int_equal(r->nlinks, 1);
}

/* --- Secrets ---------------------------------------------------------------------------------- */
static void no_secret_reaches_log_or_status(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "getupdates", 200,
		"{\"ret\":-3,\"errmsg\":\"who is " RIG_TOKEN "? go away\"}");
	server_push(r->srv, "getupdates", 200,
		"{\"msgs\":[{\"from_user_id\":\"" RIG_USER
		"\",\"message_id\":true,\"context_token\":"
		"\"AARzVerySecret\",\"item_list\":[{\"type\":2,\"image_item\":{\"aeskey\":"
		"\"00112233445566778899aabbccddeeff\"}}]}]}");
	rig_start(r);
	UNTIL(r, rig_status(r).failures == 1);
	assert_null(strstr(rig_status(r).why, RIG_TOKEN));
	assert_non_null(strstr(rig_status(r).why, "go away"));
	rig_turn(r, 2500);
	UNTIL(r, r->batches == 1);
	assert_false(rig_log_has(r, RIG_TOKEN));
	assert_false(rig_log_has(r, "AARzVerySecret"));
	assert_false(rig_log_has(r, "00112233445566778899aabbccddeeff"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clamps_the_client_timeout),
		cmocka_unit_test(knows_the_international_host),
		cmocka_unit_test(backs_off_2_2_30_up_to_5_minutes),
		TEST(greets_and_then_polls_with_every_header),
		TEST(sends_a_new_uin_with_every_request),
		TEST(sends_a_configured_route_tag),
		TEST(refuses_settings_that_cannot_be_sent),
		TEST(polls_after_two_seconds_when_the_greeting_hangs),
		TEST(greets_again_with_backoff_until_it_works),
		TEST(hands_on_a_batch_and_then_moves_the_cursor),
		TEST(keeps_the_cursor_when_none_or_an_empty_one_comes),
		TEST(keeps_the_cursor_of_a_batch_that_was_not_stored),
		TEST(keeps_the_cursor_of_a_batch_that_may_not_outlive_the_machine),
		TEST(one_malformed_message_stops_neither_batch_nor_cursor),
		TEST(survives_an_answer_over_the_limit),
		TEST(takes_a_timeout_for_an_empty_poll),
		TEST(degrades_when_the_server_stays_silent_and_recovers),
		TEST(waits_as_long_as_it_was_told_and_5_s),
		TEST(a_sleep_of_the_machine_is_no_fault_of_the_server),
		TEST(an_edge_timeout_is_an_empty_poll),
		TEST(an_edge_that_answers_at_once_is_not_asked_at_once_again),
		TEST(asks_another_way_when_short_polls_stay_silent),
		TEST(backs_off_after_failures_of_every_kind),
		TEST(an_empty_body_is_a_failure),
		TEST(names_the_way_out_of_an_answer_that_stays_unreadable),
		TEST(does_not_spin_when_the_server_holds_nothing),
		TEST(does_not_spin_over_a_batch_without_cursor),
		TEST(does_not_spin_after_a_cursor_that_runs_away),
		TEST(tries_once_more_and_then_calls_the_login_expired),
		TEST(a_failing_probe_leaves_the_login_expired),
		TEST(one_stray_minus_14_changes_nothing),
		TEST(adopts_a_token_that_was_replaced_on_disk),
		TEST(ends_when_another_account_took_the_place),
		TEST(ends_when_logged_out),
		TEST(an_expired_login_sees_the_new_one_within_a_minute),
		TEST(never_writes_over_another_login),
		TEST(goes_on_from_a_cursor_that_somebody_else_moved),
		TEST(hurry_aborts_the_long_poll_and_makes_short_ones),
		TEST(hurry_shortens_a_pause),
		TEST(a_batch_may_call_the_channel),
		TEST(says_goodbye_when_stopped),
		TEST(waits_two_seconds_for_the_goodbye_at_most),
		TEST(an_expired_login_says_no_goodbye),
		TEST(may_be_stopped_from_inside_a_batch),
		TEST(may_be_closed_from_the_link_callback),
		TEST(no_secret_reaches_log_or_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
