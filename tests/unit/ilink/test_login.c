#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

#define QR(key) \
	"{\"ret\":0,\"qrcode\":\"" key "\",\"qrcode_img_content\":\"https://x/q?k=" key "\"}"
#define STATUS(s) "{\"ret\":0,\"status\":\"" s "\"}"
#define CONFIRMED(base) \
	"{\"ret\":0,\"status\":\"confirmed\",\"bot_token\":\"" RIG_TOKEN \
	"\",\"ilink_bot_id\":\"" RIG_BOT "\",\"baseurl\":\"" base \
	"\",\"ilink_user_id\":\"" RIG_USER "\"}"

struct trial {
	struct rig *r;
	struct login *l;
	enum login_event events[64];
	size_t n;
	char text[64][256];
	int64_t left[64];
	char bot[128], user[128], token[256], base[256];
	enum err_code code;
	char msg[256];
	enum login_event free_on;
	bool free_it;
};

static void on_login(void *arg, const struct login_report *rep)
{
	struct trial *t = arg;

	assert_true(t->n < 64);
	assert_int_equal(copy_z(t->text[t->n], 256, rep->text), 0);
	t->left[t->n] = rep->left_ms;
	t->events[t->n++] = rep->event;
	if (rep->event == LOGIN_DONE) {
		assert_int_equal(copy_z(t->bot, 128, view_of(rep->result.bot_id)), 0);
		assert_int_equal(copy_z(t->user, 128, view_of(rep->result.user_id)), 0);
		assert_int_equal(copy_z(t->token, 256, view_of(rep->result.token)), 0);
		assert_int_equal(copy_z(t->base, 256, view_of(rep->result.base_url)), 0);
	}
	if (rep->event == LOGIN_FAILED) {
		t->code = rep->err->code;
		assert_int_equal(copy_z(t->msg, 256, view_of(rep->err->msg)), 0);
	}
	if (t->free_it && rep->event == t->free_on)
		login_free(&t->l);
}

static int set_up(void **state)
{
	struct trial *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->r = rig_open();
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct trial *t = *state;

	login_free(&t->l);
	rig_close(&t->r);
	free(t);
	return 0;
}

static void begin_with(struct trial *t, struct login_opts o)
{
	struct err e = ERR_INIT;

	if (!o.base_url)
		o.base_url = server_url(t->r->srv);
	if (login_start(&t->l, &t->r->env, &o, on_login, t, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(t->n, 0);
}

static void begin(struct trial *t)
{
	begin_with(t, (struct login_opts){ .ntokens = 0 });
}

static size_t asked(const struct trial *t)
{
	return server_count(t->r->srv, "get_bot_qrcode");
}

static size_t polled(const struct trial *t)
{
	return server_count(t->r->srv, "get_qrcode_status");
}

static const char *last_target(const struct trial *t)
{
	return server_get(t->r->srv, "get_qrcode_status", polled(t) - 1)->target;
}

static void assert_events(const struct trial *t, size_t n, const enum login_event *ev)
{
	for (size_t i = 0; i < n && i < t->n; i++)
		assert_int_equal(t->events[i], ev[i]);
	assert_int_equal(t->n, n);
}
#define EVENTS(t, ...) \
	assert_events(t, sizeof((enum login_event[]){ __VA_ARGS__ }) / sizeof(enum login_event), \
		(enum login_event[]){ __VA_ARGS__ })

/* Answer the poll that hangs, and be at the next one. */
static void status_is(struct trial *t, const char *body)
{
	size_t n = polled(t);

	UNTIL(t->r, server_hanging(t->r->srv, "get_qrcode_status") == 1);
	server_answer(t->r->srv, "get_qrcode_status", 200, body);
	rig_settle(t->r);
	rig_turn(t->r, 1001);
	(void)n;
}

/* --- The whole -------------------------------------------------------------------------------- */
static void logs_in(void **state)
{
	struct trial *t = *state;
	const struct request *q;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("9f0c"));
	begin(t);
	UNTIL(t->r, polled(t) == 1);
	q = server_any(t->r->srv, 0);
	assert_string_equal(q->method, "POST");
	assert_string_equal(q->target, "/ilink/bot/get_bot_qrcode?bot_type=3");
	assert_string_equal(q->body, "{\"local_token_list\":[]}");
	assert_null(request_header(q, "Authorization"));
	assert_string_equal(request_header(q, "AuthorizationType"), "ilink_bot_token");
	assert_string_equal(request_header(q, "Content-Type"), "application/json");
	assert_string_equal(request_header(q, "iLink-App-ClientVersion"), "132105");
	assert_non_null(request_header(q, "X-WECHAT-UIN"));
	q = server_any(t->r->srv, 1);
	assert_string_equal(q->method, "GET");
	assert_string_equal(q->target, "/ilink/bot/get_qrcode_status?qrcode=9f0c");
	assert_string_equal(request_header(q, "iLink-App-Id"), "bot");
	assert_string_equal(request_header(q, "iLink-App-ClientVersion"), "132105");
	assert_null(request_header(q, "Authorization"));
	assert_null(request_header(q, "AuthorizationType"));
	assert_null(request_header(q, "X-WECHAT-UIN"));
	assert_string_equal(t->text[0], "https://x/q?k=9f0c");
	assert_int_equal(t->left[0], 100000);
	status_is(t, STATUS("wait"));
	status_is(t, STATUS("scaned"));
	status_is(t, STATUS("scaned"));
	status_is(t, CONFIRMED("https://ilinkai.weixin.qq.com"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_SCANNED, LOGIN_DONE);
	assert_string_equal(t->bot, RIG_BOT);
	assert_string_equal(t->user, RIG_USER);
	assert_string_equal(t->token, RIG_TOKEN);
	assert_string_equal(t->base, "https://ilinkai.weixin.qq.com");
	rig_turn(t->r, 600000);
	assert_int_equal(t->n, 3);
	assert_false(rig_log_has(t->r, RIG_TOKEN));
	assert_false(rig_log_has(t->r, "9f0c"));
}

static void an_empty_base_url_means_the_login_host(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	status_is(t, CONFIRMED(""));
	assert_string_equal(t->base, server_url(t->r->srv));
}

static void escapes_the_key(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200,
		"{\"qrcode\":\"a/b+c=&d\",\"qrcode_img_content\":\"https://x\"}");
	begin(t);
	UNTIL(t->r, polled(t) == 1);
	assert_string_equal(last_target(t), "/ilink/bot/get_qrcode_status?qrcode=a%2Fb%2Bc%3D%26d");
}

static void waits_a_second_between_polls(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	server_always(t->r->srv, "get_qrcode_status", 200, STATUS("wait"));
	begin(t);
	UNTIL(t->r, polled(t) == 1);
	rig_settle(t->r);
	rig_turn(t->r, 800);
	assert_int_equal(polled(t), 1);
	rig_turn(t->r, 201);
	assert_int_equal(polled(t), 2);
}

/* --- Known tokens ----------------------------------------------------------------------------- */
static const char *const tokens[] = { "tokenNewest", "tokenOlder" };

static void offers_the_known_tokens(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin_with(t, (struct login_opts){ .tokens = tokens, .ntokens = 2 });
	UNTIL(t->r, polled(t) == 1);
	assert_string_equal(server_any(t->r->srv, 0)->body,
		"{\"local_token_list\":[\"tokenNewest\",\"tokenOlder\"]}");
	status_is(t, STATUS("binded_redirect"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_ALREADY);
	rig_turn(t->r, 600000);
	assert_int_equal(t->n, 2);
}

static void offers_none_when_forced(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin_with(t, (struct login_opts){ .tokens = tokens, .ntokens = 2, .force = true });
	UNTIL(t->r, polled(t) == 1);
	assert_string_equal(server_any(t->r->srv, 0)->body, "{\"local_token_list\":[]}");
}

static void asks_again_without_tokens_when_they_are_refused(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, "{\"ret\":-3}");
	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin_with(t, (struct login_opts){ .tokens = tokens, .ntokens = 2 });
	UNTIL(t->r, polled(t) == 1);
	assert_int_equal(asked(t), 2);
	assert_string_equal(server_any(t->r->srv, 1)->body, "{\"local_token_list\":[]}");
	EVENTS(t, LOGIN_SHOW_QR);
}

static void a_binding_of_nothing_is_a_failure(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	status_is(t, STATUS("binded_redirect"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_FAILED);
	assert_non_null(strstr(t->msg, "--force"));
}

/* --- The number on the phone ------------------------------------------------------------------ */
static void asks_for_the_number_until_it_is_right(void **state)
{
	struct trial *t = *state;
	size_t before;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	UNTIL(t->r, polled(t) == 1);
	assert_int_equal(login_number(t->l, VIEW("12"), NULL), -1); /* not asked for yet */
	status_is(t, STATUS("need_verifycode"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_NEED_NUMBER);
	rig_turn(t->r, 150000); /* nothing is polled while the person looks */
	assert_int_equal(polled(t), 1);
	before = polled(t);
	assert_int_equal(login_number(t->l, VIEW(" 12\n"), NULL), 0);
	UNTIL(t->r, polled(t) == before + 1); /* at once */
	assert_string_equal(last_target(t), "/ilink/bot/get_qrcode_status?qrcode=a&verify_code=12");
	status_is(t, STATUS("need_verifycode"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_NEED_NUMBER, LOGIN_WRONG_NUMBER);
	assert_int_equal(login_number(t->l, VIEW("34"), NULL), 0);
	status_is(t, STATUS("wait"));
	assert_non_null(strstr(last_target(t), "verify_code=34")); /* repeated until "scaned" */
	status_is(t, STATUS("scaned"));
	assert_null(strstr(last_target(t), "verify_code"));
	status_is(t, CONFIRMED(""));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_NEED_NUMBER, LOGIN_WRONG_NUMBER, LOGIN_SCANNED, LOGIN_DONE);
}

static void takes_1_to_16_digits_only(void **state)
{
	static const struct {
		const char *digits;
		int rc;
	} rows[] = {
		{ "", -1 },
		{ " ", -1 },
		{ "12a", -1 },
		{ "1 2", -1 },
		{ "-1", -1 },
		{ "12345678901234567", -1 },
		{ "1234567890123456", 0 },
	};
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	status_is(t, STATUS("need_verifycode"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(login_number(t->l, view_of(rows[i].digits), &e), rows[i].rc);
	}
}

static void a_blocked_number_brings_a_new_code(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	server_push(t->r->srv, "get_bot_qrcode", 200, QR("b"));
	begin(t);
	status_is(t, STATUS("need_verifycode"));
	assert_int_equal(login_number(t->l, VIEW("12"), NULL), 0);
	status_is(t, STATUS("verify_code_blocked"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_NEED_NUMBER, LOGIN_BLOCKED, LOGIN_SHOW_QR);
	assert_string_equal(last_target(t), "/ilink/bot/get_qrcode_status?qrcode=b");
}

/* --- Expiry ----------------------------------------------------------------------------------- */
static void takes_three_codes_and_then_gives_up_with_advice(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	server_push(t->r->srv, "get_bot_qrcode", 200, QR("b"));
	server_push(t->r->srv, "get_bot_qrcode", 200, QR("c"));
	begin(t);
	for (int i = 0; i < 3; i++)
		status_is(t, STATUS("expired"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_QR_EXPIRED, LOGIN_SHOW_QR, LOGIN_QR_EXPIRED, LOGIN_SHOW_QR,
		LOGIN_FAILED);
	assert_int_equal(asked(t), 3);
	assert_int_equal(t->code, E_TIMEOUT);
	assert_non_null(strstr(t->msg, "kairo login"));
}

static void takes_as_many_codes_as_it_may(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin_with(t, (struct login_opts){ .max_codes = 1 });
	status_is(t, STATUS("expired"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_FAILED);
}

static void replaces_a_code_ahead_of_its_expiry(void **state)
{
	struct trial *t = *state;

	server_always(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	UNTIL(t->r, polled(t) == 1);
	rig_turn(t->r, 35100); /* the poll times out: as "wait" */
	rig_turn(t->r, 1001);
	rig_turn(t->r, 35100);
	rig_turn(t->r, 1001);
	assert_int_equal(asked(t), 1);
	rig_turn(t->r, 28000); /* 100.2 s */
	rig_turn(t->r, 1001);
	assert_int_equal(asked(t), 2);
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_SHOW_QR);
}

static void does_not_replace_a_code_that_was_scanned(void **state)
{
	struct trial *t = *state;

	server_always(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	status_is(t, STATUS("scaned"));
	for (int i = 0; i < 5; i++) {
		rig_turn(t->r, 35100);
		rig_turn(t->r, 1001);
	}
	assert_int_equal(asked(t), 1);
}

static void ends_after_480_s_in_all(void **state)
{
	struct trial *t = *state;

	server_always(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	for (int i = 0; i < 47; i++)
		rig_turn(t->r, 10000);
	assert_int_not_equal(t->events[t->n - 1], LOGIN_FAILED);
	rig_turn(t->r, 10001);
	assert_int_equal(t->events[t->n - 1], LOGIN_FAILED);
	assert_int_equal(t->code, E_TIMEOUT);
	assert_int_equal(asked(t), 3);
	assert_int_equal(server_hanging(t->r->srv, "get_qrcode_status"), 0);
}

/* --- Redirects -------------------------------------------------------------------------------- */
static void polls_the_other_data_centre_until_the_next_code(void **state)
{
	struct trial *t = *state;
	struct server *other = server_open(t->r->loop);
	char body[256];

	snprintf(body, sizeof(body),
		"{\"status\":\"scaned_but_redirect\",\"redirect_host\":"
		"\"127.0.0.1:%d\"}",
		server_port(other));
	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	server_push(t->r->srv, "get_bot_qrcode", 200, QR("b"));
	begin(t);
	status_is(t, body);
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_REDIRECTED);
	assert_int_equal(server_count(other, "get_qrcode_status"), 1);
	assert_int_equal(polled(t), 1);
	server_answer(other, "get_qrcode_status", 200, STATUS("expired"));
	UNTIL(t->r, polled(t) == 2);
	assert_string_equal(last_target(t), "/ilink/bot/get_qrcode_status?qrcode=b");
	server_close(&other);
}

static void stays_where_it_is_when_the_host_is_not_allowed(void **state)
{
	static const char *const hosts[] = {
		"",
		"evil.example.org",
		"weixin.qq.com.example.org",
		"a@weixin.qq.com",
		"weixin.qq.com/x",
		"weixin.qq.com?x",
		"weixin.qq.com#x",
		"weixin.qq.com:8443",
		"https://weixin.qq.com",
	};
	struct trial *t = *state;
	char body[256];

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		snprintf(body, sizeof(body),
			"{\"status\":\"scaned_but_redirect\",\"redirect_host\":\"%s\"}", hosts[i]);
		status_is(t, body);
		assert_int_equal(polled(t), i + 2);
	}
	for (size_t i = 1; i < t->n; i++)
		assert_int_equal(t->events[i], LOGIN_TROUBLE);
	status_is(t, CONFIRMED(""));
	assert_int_equal(t->events[t->n - 1], LOGIN_DONE);
}

static void refuses_a_base_url_that_is_not_allowed(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	status_is(t, CONFIRMED("https://evil.example.org"));
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_FAILED);
	assert_int_equal(t->code, E_DENIED);
}

static void refuses_to_start_at_a_host_that_is_not_allowed(void **state)
{
	struct trial *t = *state;
	struct login_opts o = { .base_url = "https://evil.example.org" };
	struct err e = ERR_INIT;

	assert_int_equal(login_start(&t->l, &t->r->env, &o, on_login, t, &e), -1);
	assert_int_equal(e.code, E_DENIED);
	assert_null(t->l);
	t->r->env.loopback = false;
	o.base_url = server_url(t->r->srv);
	assert_int_equal(login_start(&t->l, &t->r->env, &o, on_login, t, &e), -1);
}

/* --- Trouble ---------------------------------------------------------------------------------- */
static void a_failed_poll_is_as_wait_and_told_once_a_cause(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	server_push_cut(t->r->srv, "get_qrcode_status");
	server_push(t->r->srv, "get_qrcode_status", 524, "<html>");
	server_push(t->r->srv, "get_qrcode_status", 524, "<html>");
	server_push(t->r->srv, "get_qrcode_status", 200, "nonsense");
	server_push(t->r->srv, "get_qrcode_status", 200, "{\"ret\":-1}");
	server_push(t->r->srv, "get_qrcode_status", 200, STATUS("something new"));
	begin(t);
	for (int i = 1; i <= 7; i++) {
		UNTIL(t->r, polled(t) == (size_t)i);
		rig_settle(t->r);
		rig_turn(t->r, 1001);
	}
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_TROUBLE, LOGIN_TROUBLE, LOGIN_TROUBLE, LOGIN_TROUBLE);
	status_is(t, CONFIRMED(""));
	assert_int_equal(t->events[t->n - 1], LOGIN_DONE);
}

static void tries_three_times_to_get_a_code(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 500, "");
	server_push(t->r->srv, "get_bot_qrcode", 200, "{\"ret\":-1,\"errmsg\":\"busy\"}");
	server_push(t->r->srv, "get_bot_qrcode", 200, "{}");
	begin(t);
	UNTIL(t->r, asked(t) == 1);
	rig_settle(t->r);
	rig_turn(t->r, 2001);
	rig_turn(t->r, 2001);
	EVENTS(t, LOGIN_FAILED);
	assert_int_equal(asked(t), 3);
	assert_non_null(strstr(t->msg, "cannot get a login code"));
}

static void what_waiting_does_not_mend_ends_at_once(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 404, "");
	begin(t);
	UNTIL(t->r, t->n > 0);
	EVENTS(t, LOGIN_FAILED);
	assert_int_equal(asked(t), 1);
	assert_non_null(strstr(t->msg, "wrong host or path"));
}

static void a_login_without_token_is_a_failure(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	status_is(t, "{\"status\":\"confirmed\",\"ilink_bot_id\":\"b\"}");
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_FAILED);
}

static void a_login_without_owner_is_one(void **state)
{
	struct trial *t = *state;

	server_push(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	status_is(t,
		"{\"status\":\"confirmed\",\"ilink_bot_id\":\"b\",\"bot_token\":\"tttttttt\"}");
	EVENTS(t, LOGIN_SHOW_QR, LOGIN_DONE);
	assert_string_equal(t->user, "");
}

/* --- Leaving ---------------------------------------------------------------------------------- */
static void may_be_freed_at_any_time(void **state)
{
	struct trial *t = *state;

	server_always(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	begin(t);
	login_free(&t->l); /* before anything */
	begin(t);
	UNTIL(t->r, server_hanging(t->r->srv, "get_qrcode_status") == 1);
	login_free(&t->l); /* in the middle of a poll */
	rig_settle(t->r);
	assert_int_equal(server_hanging(t->r->srv, "get_qrcode_status"), 0);
	assert_int_equal(t->n, 1);
}

static void may_be_freed_from_its_own_reports(void **state)
{
	static const struct {
		enum login_event on;
		const char *status;
	} rows[] = {
		{ LOGIN_SHOW_QR, STATUS("wait") },
		{ LOGIN_SCANNED, STATUS("scaned") },
		{ LOGIN_NEED_NUMBER, STATUS("need_verifycode") },
		{ LOGIN_BLOCKED, STATUS("verify_code_blocked") },
		{ LOGIN_QR_EXPIRED, STATUS("expired") },
		{ LOGIN_TROUBLE, "nonsense" },
		{ LOGIN_DONE, CONFIRMED("") },
		{ LOGIN_FAILED, STATUS("binded_redirect") },
	};
	struct trial *t = *state;

	server_always(t->r->srv, "get_bot_qrcode", 200, QR("a"));
	t->free_it = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		t->n = 0;
		t->free_on = rows[i].on;
		server_push(t->r->srv, "get_qrcode_status", 200, rows[i].status);
		begin(t);
		UNTIL(t->r, t->l == NULL);
		rig_settle(t->r);
		assert_int_equal(t->events[t->n - 1], rows[i].on);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(logs_in),
		TEST(an_empty_base_url_means_the_login_host),
		TEST(escapes_the_key),
		TEST(waits_a_second_between_polls),
		TEST(offers_the_known_tokens),
		TEST(offers_none_when_forced),
		TEST(asks_again_without_tokens_when_they_are_refused),
		TEST(a_binding_of_nothing_is_a_failure),
		TEST(asks_for_the_number_until_it_is_right),
		TEST(takes_1_to_16_digits_only),
		TEST(a_blocked_number_brings_a_new_code),
		TEST(takes_three_codes_and_then_gives_up_with_advice),
		TEST(takes_as_many_codes_as_it_may),
		TEST(replaces_a_code_ahead_of_its_expiry),
		TEST(does_not_replace_a_code_that_was_scanned),
		TEST(ends_after_480_s_in_all),
		TEST(polls_the_other_data_centre_until_the_next_code),
		TEST(stays_where_it_is_when_the_host_is_not_allowed),
		TEST(refuses_a_base_url_that_is_not_allowed),
		TEST(refuses_to_start_at_a_host_that_is_not_allowed),
		TEST(a_failed_poll_is_as_wait_and_told_once_a_cause),
		TEST(tries_three_times_to_get_a_code),
		TEST(what_waiting_does_not_mend_ends_at_once),
		TEST(a_login_without_token_is_a_failure),
		TEST(a_login_without_owner_is_one),
		TEST(may_be_freed_at_any_time),
		TEST(may_be_freed_from_its_own_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
