#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/ilink/send.h"
#include "rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int set_up(void **state)
{
	struct rig *r = rig_open();

	*state = r;
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

static void sends_one_item_with_every_header(void **state)
{
	struct rig *r = *state;
	const struct request *q;

	server_push(r->srv, "sendmessage", 200, "{\"ret\":0,\"message_id\":7497484083968569999}");
	rig_send(r, "hi");
	UNTIL(r, r->sent == 1);
	assert_int_equal(r->outcome, CHAN_ACCEPTED);
	assert_string_equal(r->message_id, "7497484083968569999");
	assert_string_equal(r->why, "");
	q = server_get(r->srv, "sendmessage", 0);
	assert_string_equal(q->method, "POST");
	assert_string_equal(q->target, "/ilink/bot/sendmessage");
	assert_string_equal(request_header(q, "Content-Type"), "application/json");
	assert_string_equal(request_header(q, "AuthorizationType"), "ilink_bot_token");
	assert_string_equal(request_header(q, "Authorization"), "Bearer " RIG_TOKEN);
	assert_string_equal(request_header(q, "iLink-App-Id"), "bot");
	assert_string_equal(request_header(q, "iLink-App-ClientVersion"), "132105");
	assert_non_null(request_header(q, "X-WECHAT-UIN"));
	assert_string_equal(q->body,
		"{\"msg\":{\"from_user_id\":\"\",\"to_user_id\":\"" RIG_USER "\",\"client_id\":"
		"\"kairo:1767225601000-1a2b3c4d\",\"message_type\":2,\"message_state\":2,"
		"\"item_list\":[{\"type\":1,\"text_item\":{\"text\":\"hi\"}}],\"context_token\":"
		"\"AARzContextTokenExample\"},\"base_info\":{\"channel_version\":\"2.4.9\","
		"\"bot_agent\":\"Example/1.0.0\"}}");
}

static void maps_answers_to_outcomes(void **state)
{
	static const struct {
		int status;
		enum chan_outcome outcome;
		const char *body, *why; /* contained */
	} rows[] = {
		{ 200, CHAN_ACCEPTED, "{\"ret\":0,\"message_id\":5}", "" },
		{ 200, CHAN_UNCONFIRMED, "{}", "" },
		{ 200, CHAN_UNCONFIRMED, "", "" },
		{ 200, CHAN_CLOSED, "{\"ret\":-2,\"errmsg\":\"prepare failed\"}",
			"prepare failed" },
		{ 200, CHAN_THROTTLED, "{\"errcode\":-2,\"errmsg\":\"rate limited\"}",
			"rate limited" },
		{ 200, CHAN_REFUSED_BARE, "{\"ret\":-2}", "-2" },
		{ 200, CHAN_INVALID, "{\"ret\":-2,\"errmsg\":\"invalid arguments\"}",
			"invalid arguments" },
		{ 200, CHAN_UNKNOWN, "{\"ret\":", "cannot be read" },
		{ 200, CHAN_UNKNOWN, "[]", "cannot be read" },
		{ 200, CHAN_UNKNOWN, "{\"ret\":\"?\"}", "cannot be read" },
		{ 200, CHAN_UNKNOWN, "ok", "cannot be read" },
		{ 302, CHAN_NOT_SENT, "", "302" },
		{ 400, CHAN_NOT_SENT, "", "400" },
		{ 403, CHAN_NOT_SENT, "", "base URL" },
		{ 404, CHAN_NOT_SENT, "", "base URL" },
		{ 429, CHAN_THROTTLED, "", "429" },
		{ 500, CHAN_UNKNOWN, "", "500" },
		{ 502, CHAN_UNKNOWN, "<html>", "502" },
		{ 524, CHAN_UNKNOWN, "<html>", "524" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		server_push(r->srv, "sendmessage", rows[i].status, rows[i].body);
		rig_send(r, "hi");
		UNTIL(r, r->sent == (int)i + 1);
		assert_int_equal(r->outcome, rows[i].outcome);
		assert_non_null(strstr(r->why, rows[i].why));
	}
}

static void tells_transport_failures_by_whether_it_can_have_arrived(void **state)
{
	static const struct {
		enum http_fail fail;
		bool sent;
		enum chan_outcome outcome;
	} rows[] = {
		{ HTTP_FAIL_URL, false, CHAN_NOT_SENT },
		{ HTTP_FAIL_DNS, false, CHAN_NOT_SENT },
		{ HTTP_FAIL_CONNECT, false, CHAN_NOT_SENT },
		{ HTTP_FAIL_TLS, false, CHAN_NOT_SENT },
		{ HTTP_FAIL_PEER, false, CHAN_NOT_SENT },
		{ HTTP_FAIL_TIMEOUT, false, CHAN_NOT_SENT },
		{ HTTP_FAIL_BROKEN, false, CHAN_NOT_SENT },
		{ HTTP_FAIL_TIMEOUT, true, CHAN_UNKNOWN },
		{ HTTP_FAIL_BROKEN, true, CHAN_UNKNOWN },
		{ HTTP_FAIL_TOO_BIG, true, CHAN_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(send_outcome_of(rows[i].fail, rows[i].sent, 0), rows[i].outcome);
}

static void does_not_know_after_a_cut_or_a_timeout(void **state)
{
	struct rig *r = *state;

	server_push_cut(r->srv, "sendmessage");
	rig_send(r, "hi");
	UNTIL(r, r->sent == 1);
	assert_int_equal(r->outcome, CHAN_UNKNOWN);
	server_push_half(r->srv, "sendmessage");
	rig_send(r, "hi");
	UNTIL(r, r->sent == 2);
	assert_int_equal(r->outcome, CHAN_UNKNOWN);
	server_push_hang(r->srv, "sendmessage");
	rig_send(r, "hi");
	UNTIL(r, server_hanging(r->srv, "sendmessage") == 1);
	rig_turn(r, 14000);
	assert_int_equal(r->sent, 2);
	rig_turn(r, 1100);
	assert_int_equal(r->sent, 3);
	assert_int_equal(r->outcome, CHAN_UNKNOWN);
	assert_true(r->why[0]);
	/* the same client id every time: the outbox keeps it, and so do we */
	for (size_t i = 0; i < 3; i++)
		assert_non_null(strstr(server_get(r->srv, "sendmessage", i)->body,
			"\"client_id\":\"kairo:1767225601000-1a2b3c4d\""));
}

static void knows_that_nothing_was_sent_where_nobody_listens(void **state)
{
	struct rig *r = *state;

	server_close(&r->srv);
	r->srv = server_open(r->loop); /* on another port */
	rig_send(r, "hi");
	UNTIL(r, r->sent == 1);
	assert_int_equal(r->outcome, CHAN_NOT_SENT);
}

static void sends_one_at_a_time(void **state)
{
	struct rig *r = *state;
	struct chan_send s = { .to = RIG_USER, .token = "t", .client_id = "c", .text = VIEW("x") };
	struct err e = ERR_INIT;

	server_push_hang(r->srv, "sendmessage");
	rig_send(r, "hi");
	assert_int_equal(r->ch->ops->send(r->ch, &s, NULL, NULL, &e), -1);
	assert_int_equal(e.code, E_BUSY);
	UNTIL(r, server_hanging(r->srv, "sendmessage") == 1);
	r->ch->ops->abort_send(r->ch);
	rig_turn(r, 20000);
	assert_int_equal(r->sent, 0);
	assert_int_equal(server_hanging(r->srv, "sendmessage"), 0);
	rig_send(r, "again");
	UNTIL(r, r->sent == 1);
}

static void refuses_what_cannot_be_sent(void **state)
{
	struct rig *r = *state;
	const struct chan_send bad[] = {
		{ .to = "", .token = "t", .client_id = "c", .text = VIEW("x") },
		{ .to = "u", .token = "t", .client_id = "", .text = VIEW("x") },
		{ .to = "u", .token = "t", .client_id = "c", .text = VIEW("") },
		{ .to = "u", .token = "t", .client_id = "c", .text = VIEW("\xff") },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(r->ch->ops->send(r->ch, &bad[i], NULL, NULL, &e), -1);
		assert_true(e.msg[0]);
	}
	rig_settle(r);
	assert_int_equal(server_count(r->srv, "sendmessage"), 0);
	rig_send(r, "still works");
	UNTIL(r, r->sent == 1);
}

static void the_poll_looks_at_a_login_that_a_send_calls_expired(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "sendmessage", 200, "{\"ret\":-14,\"errmsg\":\"session timeout\"}");
	server_push(r->srv, "getupdates", 200, "{\"ret\":-14}");
	rig_send(r, "hi");
	UNTIL(r, r->sent == 1);
	assert_int_equal(r->outcome, CHAN_EXPIRED);
	UNTIL(r, rig_status(r).link == CHAN_LINK_EXPIRED);
	assert_int_equal(server_count(r->srv, "notifystart"), 2);
}

static void a_send_that_lies_about_expiry_disturbs_the_poll_once_a_minute(void **state)
{
	struct rig *r = *state;

	server_always(r->srv, "sendmessage", 200, "{\"ret\":-14}");
	for (int i = 1; i <= 5; i++) {
		rig_send(r, "hi");
		UNTIL(r, r->sent == i);
		rig_settle(r);
	}
	assert_int_equal(server_count(r->srv, "notifystart"), 2);
	assert_int_not_equal(rig_status(r).link, CHAN_LINK_EXPIRED);
}

static void no_secret_comes_back(void **state)
{
	struct rig *r = *state;

	server_push(r->srv, "sendmessage", 200,
		"{\"ret\":-2,\"errmsg\":\"no AARzContextTokenExample of " RIG_TOKEN " known\"}");
	rig_send(r, "a private word");
	UNTIL(r, r->sent == 1);
	assert_non_null(strstr(r->why, "known"));
	assert_null(strstr(r->why, "AARzContextTokenExample"));
	assert_null(strstr(r->why, RIG_TOKEN));
	assert_false(rig_log_has(r, "AARzContextTokenExample"));
	assert_false(rig_log_has(r, RIG_TOKEN));
	assert_false(rig_log_has(r, "a private word"));
}

/* Sends go on a connection of their own: the poll hangs all the while. */
static void a_send_does_not_wait_for_the_poll(void **state)
{
	struct rig *r = *state;

	rig_send(r, "hi");
	UNTIL(r, r->sent == 1);
	assert_int_equal(server_hanging(r->srv, "getupdates"), 1);
}

/* --- Probe ------------------------------------------------------------------------------------ */
struct probed {
	int n;
	struct err result;
};

static void on_probed(void *arg, const struct err *result, const char *date)
{
	struct probed *p = arg;

	(void)date;
	p->n++;
	p->result = *result;
}

static void the_probe_proves_the_token(void **state)
{
	static const struct {
		int status;
		enum err_code code;
		const char *body;
	} rows[] = {
		{ 200, E_OK, "{\"ret\":0,\"typing_ticket\":\"T\"}" },
		{ 200, E_OK, "{}" },
		{ 200, E_OK, "{\"ret\":-4,\"errmsg\":\"GetTypingTicket rpc failed\"}" },
		{ 200, E_AUTH, "{\"errcode\":-14}" },
		{ 200, E_NET, "{\"ret\":-1}" },
		{ 200, E_FORMAT, "<html>" },
		{ 404, E_NET, "" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ilink_probe *p = NULL;
		struct probed got = { .n = 0 };

		server_push(r->srv, "getconfig", rows[i].status, rows[i].body);
		assert_int_equal(ilink_probe_start(&p, &r->env, r->acc, on_probed, &got, NULL), 0);
		UNTIL(r, got.n == 1);
		assert_int_equal(got.result.code, rows[i].code);
		assert_int_equal(got.result.msg[0] != '\0', rows[i].code != E_OK);
		ilink_probe_free(&p);
	}
	assert_non_null(strstr(server_get(r->srv, "getconfig", 0)->body,
		"{\"ilink_user_id\":\"" RIG_USER "\",\"base_info\""));
}

static void a_probe_may_be_given_up(void **state)
{
	struct rig *r = *state;
	struct ilink_probe *p = NULL;
	struct probed got = { .n = 0 };

	server_push_hang(r->srv, "getconfig");
	assert_int_equal(ilink_probe_start(&p, &r->env, r->acc, on_probed, &got, NULL), 0);
	UNTIL(r, server_hanging(r->srv, "getconfig") == 1);
	ilink_probe_free(&p);
	rig_turn(r, 20000);
	assert_int_equal(got.n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sends_one_item_with_every_header),
		TEST(maps_answers_to_outcomes),
		cmocka_unit_test(tells_transport_failures_by_whether_it_can_have_arrived),
		TEST(does_not_know_after_a_cut_or_a_timeout),
		TEST(knows_that_nothing_was_sent_where_nobody_listens),
		TEST(sends_one_at_a_time),
		TEST(refuses_what_cannot_be_sent),
		TEST(the_poll_looks_at_a_login_that_a_send_calls_expired),
		TEST(a_send_that_lies_about_expiry_disturbs_the_poll_once_a_minute),
		TEST(no_secret_comes_back),
		TEST(a_send_does_not_wait_for_the_poll),
		TEST(the_probe_proves_the_token),
		TEST(a_probe_may_be_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
