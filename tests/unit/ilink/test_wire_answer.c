#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/ilink/wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void reads_ret_and_errcode_as_one(void **state)
{
	static const struct {
		const char *body;
		int64_t code;
	} rows[] = {
		{ "{}", 0 },
		{ "{\"ret\":0}", 0 },
		{ "{\"errcode\":0}", 0 },
		{ "{\"ret\":null,\"errcode\":null}", 0 },
		{ "{\"ret\":-14}", -14 },
		{ "{\"errcode\":-14,\"errmsg\":\"session timeout\"}", -14 },
		{ "{\"ret\":0,\"errcode\":-14}", -14 },
		{ "{\"ret\":-1,\"errcode\":-14}", -14 },
		{ "{\"ret\":-14,\"errcode\":-1}", -14 },
		{ "{\"ret\":-2,\"errcode\":-1}", -2 },
		{ "{\"ret\":\"-14\"}", -14 },
		{ "{\"ret\":\"0\"}", 0 },
		{ "{\"errcode\":\"-2\"}", -2 },
		{ "{\"ret\":\"\"}", 0 },
		{ "{\"ret\":2147483648}", 2147483648 },
		{ "{\"unknown\":{\"ret\":-14}}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_code c;
		struct err e = ERR_INIT;

		assert_int_equal(wire_read_code(view_of(rows[i].body), &c, &e), 0);
		assert_int_equal(c.code, rows[i].code);
	}
}

static void refuses_what_is_no_answer(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"null",
		"[]",
		"0",
		"\"ok\"",
		"{",
		"{}x",
		"<html><h1>502</h1></html>",
		"{\"ret\":0,\"ret\":-14}",
		"{\"ret\":1.5}",
		"{\"ret\":true}",
		"{\"ret\":[]}",
		"{\"ret\":\"x\"}",
		"{\"ret\":\"-14 \"}",
		"{\"errcode\":1e999}",
		"{\"errcode\":9223372036854775808}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_code c;
		struct err e = ERR_INIT;

		assert_int_equal(wire_read_code(view_of(rows[i]), &c, &e), -1);
		assert_int_equal(e.code, E_FORMAT);
		assert_true(e.msg[0]);
	}
}

static void makes_the_reason_one_safe_line(void **state)
{
	static const struct {
		const char *body, *text;
	} rows[] = {
		{ "{\"ret\":-2,\"errmsg\":\"prepare failed\"}", "prepare failed" },
		{ "{\"ret\":-2}", "" },
		{ "{\"ret\":-2,\"errmsg\":null}", "" },
		{ "{\"ret\":-2,\"errmsg\":17}", "" },
		{ "{\"ret\":-2,\"errmsg\":\"a\\u001b[31mb\\u202ec\"}", "abc" },
		{ "{\"ret\":-2,\"errmsg\":\"\xff!\"}", "\xef\xbf\xbd!" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_code c;

		assert_int_equal(wire_read_code(view_of(rows[i].body), &c, NULL), 0);
		assert_string_equal(c.text, rows[i].text);
	}
}

static void keeps_secrets_out_of_the_reason(void **state)
{
	struct wire_code c;

	(void)state;
	assert_int_equal(
		wire_read_code(VIEW("{\"ret\":-2,\"errmsg\":\"bad context_token=AARzExample1"
				    " here\"}"),
			&c, NULL),
		0);
	assert_null(strstr(c.text, "AARzExample1"));
}

static void cuts_a_long_reason_between_characters(void **state)
{
	struct str body = STR_INIT(65536);
	struct wire_code c;

	(void)state;
	str_adds(&body, "{\"ret\":-2,\"errmsg\":\"");
	for (int i = 0; i < 1000; i++)
		str_adds(&body, "早");
	str_adds(&body, "\"}");
	assert_int_equal(wire_read_code(str_view(&body), &c, NULL), 0);
	assert_int_equal(strlen(c.text), 198); /* 66 whole characters of three bytes */
	str_release(&body);
}

/* --- sendmessage ------------------------------------------------------------------------------ */
static void tells_the_outcomes_of_a_send_apart(void **state)
{
	static const struct {
		const char *body;
		enum chan_outcome outcome;
		const char *id;
	} rows[] = {
		{ "{\"ret\":0,\"message_id\":7497484083968569999}", CHAN_ACCEPTED,
			"7497484083968569999" },
		{ "{\"message_id\":\"18446744073709551615\"}", CHAN_ACCEPTED,
			"18446744073709551615" },
		{ "{\"message_id\":18446744073709551615}", CHAN_ACCEPTED, "18446744073709551615" },
		{ "{}", CHAN_UNCONFIRMED, "" },
		{ "{\"ret\":0}", CHAN_UNCONFIRMED, "" },
		{ "{\"message_id\":0}", CHAN_UNCONFIRMED, "" },
		{ "{\"message_id\":\"\"}", CHAN_UNCONFIRMED, "" },
		{ "{\"message_id\":\"abc\"}", CHAN_UNCONFIRMED, "" },
		{ "{\"message_id\":18446744073709551616}", CHAN_UNCONFIRMED, "" },
		{ "{\"ret\":-2,\"errmsg\":\"prepare failed\"}", CHAN_CLOSED, "" },
		{ "{\"errcode\":-2,\"errmsg\":\"rpc: Prepare Failed.\"}", CHAN_CLOSED, "" },
		{ "{\"ret\":-2,\"errmsg\":\"rate limited\"}", CHAN_THROTTLED, "" },
		{ "{\"ret\":-2,\"errmsg\":\"FREQ LIMIT\"}", CHAN_THROTTLED, "" },
		{ "{\"ret\":-12}", CHAN_THROTTLED, "" },
		{ "{\"ret\":-2,\"errmsg\":\"invalid arguments\"}", CHAN_INVALID, "" },
		{ "{\"ret\":-2,\"errmsg\":\"param error\"}", CHAN_INVALID, "" },
		{ "{\"ret\":-2,\"errmsg\":\"unknown error\"}", CHAN_REFUSED_BARE, "" },
		{ "{\"ret\":-2,\"errmsg\":\"\"}", CHAN_REFUSED_BARE, "" },
		{ "{\"ret\":-2}", CHAN_REFUSED_BARE, "" },
		{ "{\"ret\":-2,\"message_id\":5}", CHAN_REFUSED_BARE, "" },
		{ "{\"ret\":\"-2\"}", CHAN_REFUSED_BARE, "" },
		{ "{\"ret\":77}", CHAN_REFUSED_BARE, "" },
		{ "{\"ret\":-1}", CHAN_NOT_SENT, "" },
		{ "{\"ret\":-14}", CHAN_EXPIRED, "" },
		{ "{\"errcode\":-14,\"errmsg\":\"prepare failed\"}", CHAN_EXPIRED, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_sent s;

		assert_int_equal(wire_read_sent(view_of(rows[i].body), &s, NULL), 0);
		assert_int_equal(wire_outcome(&s), rows[i].outcome);
		assert_string_equal(s.message_id, rows[i].id);
	}
}

/* --- getconfig -------------------------------------------------------------------------------- */
static void reads_a_typing_ticket(void **state)
{
	struct wire_config c;

	(void)state;
	assert_int_equal(wire_read_config(VIEW("{\"ret\":0,\"typing_ticket\":\"AARTExample=\"}"),
				 &c, NULL),
		0);
	assert_string_equal(c.ticket, "AARTExample=");
	assert_int_equal(wire_read_config(VIEW("{}"), &c, NULL), 0);
	assert_string_equal(c.ticket, "");
	assert_int_equal(wire_read_config(VIEW("{\"ret\":-4,\"typing_ticket\":\"x\"}"), &c, NULL),
		0);
	assert_string_equal(c.ticket, "");
	assert_int_equal(wire_read_config(VIEW("{\"typing_ticket\":7}"), &c, NULL), -1);
	assert_int_equal(wire_read_config(VIEW("{\"typing_ticket\":\"a b\"}"), &c, NULL), -1);
}

static int read_ticket_of(size_t n)
{
	struct str body = STR_INIT(65536);
	struct wire_config c;
	int rc;

	str_adds(&body, "{\"typing_ticket\":\"");
	for (size_t i = 0; i < n; i++)
		str_addc(&body, 'T');
	str_adds(&body, "\"}");
	rc = wire_read_config(str_view(&body), &c, NULL);
	if (rc == 0)
		assert_int_equal(strlen(c.ticket), n);
	str_release(&body);
	return rc;
}

static void bounds_the_ticket(void **state)
{
	(void)state;
	assert_int_equal(read_ticket_of(WIRE_TICKET_MAX - 1), 0);
	assert_int_equal(read_ticket_of(WIRE_TICKET_MAX), 0);
	assert_int_equal(read_ticket_of(WIRE_TICKET_MAX + 1), -1);
}

/* --- An address to upload to ------------------------------------------------------------------ */
static void reads_where_to_upload_to(void **state)
{
	static const struct {
		const char *body, *url, *param;
		int64_t code;
	} rows[] = {
		{ "{\"ret\":0,\"upload_full_url\":\"https://x/u?a=b\",\"upload_param\":\"p==\"}",
			"https://x/u?a=b", "p==", 0 },
		{ "{\"upload_param\":\"p\",\"thumb_upload_param\":\"t\"}", "", "p", 0 },
		{ "{}", "", "", 0 },
		{ "{\"upload_full_url\":null,\"upload_param\":\"\"}", "", "", 0 },
		{ "{\"ret\":-2,\"upload_full_url\":\"https://x/\"}", "", "", -2 },
		{ "{\"errcode\":-14}", "", "", WIRE_EXPIRED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_grant g;

		assert_int_equal(wire_read_grant(view_of(rows[i].body), &g, NULL), 0);
		assert_int_equal(g.code.code, rows[i].code);
		assert_string_equal(g.full_url, rows[i].url);
		assert_string_equal(g.param, rows[i].param);
	}
}

static int read_param_of(size_t n)
{
	struct str body = STR_INIT(20000);
	struct wire_grant g;
	int rc;

	str_adds(&body, "{\"upload_param\":\"");
	for (size_t i = 0; i < n; i++)
		str_addc(&body, 'p');
	str_adds(&body, "\"}");
	rc = wire_read_grant(str_view(&body), &g, NULL);
	if (rc == 0)
		assert_int_equal(strlen(g.param), n);
	str_release(&body);
	return rc;
}

static void bounds_where_to_upload_to(void **state)
{
	static const char *const bad[] = { "", "[]", "{\"upload_param\":7}",
		"{\"upload_full_url\":{}}", "{\"upload_full_url\":\"https://x/ y\"}",
		"{\"upload_param\":\"\\u0001\"}" };

	(void)state;
	assert_int_equal(read_param_of(WIRE_PARAM_MAX - 1), 0);
	assert_int_equal(read_param_of(WIRE_PARAM_MAX), 0);
	assert_int_equal(read_param_of(WIRE_PARAM_MAX + 1), -1);
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct wire_grant g;
		struct err e = ERR_INIT;

		assert_int_equal(wire_read_grant(view_of(bad[i]), &g, &e), -1);
		assert_int_equal(e.code, E_FORMAT);
	}
}

/* --- Login ------------------------------------------------------------------------------------ */
static void reads_a_code(void **state)
{
	static const char url[] = "https://liteapp.weixin.qq.com/q/abc?qrcode=9f0c&bot_type=3";
	struct wire_qr q;

	(void)state;
	assert_int_equal(wire_read_qr(VIEW("{\"ret\":0,\"qrcode\":\"9f0c\",\"qrcode_img_content\":"
					   "\"https://liteapp.weixin.qq.com/q/"
					   "abc?qrcode=9f0c&bot_type=3\"}"),
				 &q, NULL),
		0);
	assert_string_equal(q.key, "9f0c");
	assert_string_equal(q.text, url);
	assert_int_equal(wire_read_qr(VIEW("{\"ret\":-3}"), &q, NULL), 0);
	assert_int_equal(q.code.code, -3);
}

static void refuses_a_code_with_parts_missing(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"qrcode\":\"a\"}",
		"{\"qrcode_img_content\":\"https://x\"}",
		"{\"qrcode\":\"\",\"qrcode_img_content\":\"https://x\"}",
		"{\"qrcode\":7,\"qrcode_img_content\":\"https://x\"}",
		"{\"qrcode\":\"a\",\"qrcode_img_content\":\"two words\"}",
		"{\"qrcode\":\"a\",\"qrcode_img_content\":\"\\u001b[2J\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_qr q;
		struct err e = ERR_INIT;

		assert_int_equal(wire_read_qr(view_of(rows[i]), &q, &e), -1);
		assert_int_equal(e.code, E_FORMAT);
	}
}

static void knows_every_status_of_a_scan(void **state)
{
	static const struct {
		const char *body;
		enum wire_scan status;
	} rows[] = {
		{ "{\"status\":\"wait\"}", WIRE_SCAN_WAIT },
		{ "{\"status\":\"scaned\"}", WIRE_SCAN_SCANNED },
		{ "{\"status\":\"need_verifycode\"}", WIRE_SCAN_NEED_NUMBER },
		{ "{\"status\":\"verify_code_blocked\"}", WIRE_SCAN_BLOCKED },
		{ "{\"status\":\"expired\"}", WIRE_SCAN_EXPIRED },
		{ "{\"status\":\"scaned_but_redirect\"}", WIRE_SCAN_REDIRECT },
		{ "{\"status\":\"binded_redirect\"}", WIRE_SCAN_BOUND },
		{ "{\"status\":\"scanned\"}", WIRE_SCAN_UNKNOWN },
		{ "{\"status\":\"\"}", WIRE_SCAN_UNKNOWN },
		{ "{\"status\":3}", WIRE_SCAN_UNKNOWN },
		{ "{}", WIRE_SCAN_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_scanned s;

		assert_int_equal(wire_read_scanned(view_of(rows[i].body), &s, NULL), 0);
		assert_int_equal(s.status, rows[i].status);
	}
}

static void reads_the_credentials_of_a_login(void **state)
{
	struct wire_scanned s;

	(void)state;
	assert_int_equal(
		wire_read_scanned(VIEW("{\"ret\":0,\"status\":\"confirmed\",\"bot_token\":"
				       "\"0123456789ab@im.bot:06000000aa11\",\"ilink_bot_id\":"
				       "\"0123456789ab@im.bot\",\"baseurl\":"
				       "\"https://ilinkai.weixin.qq.com\",\"ilink_user_id\":"
				       "\"o9cqExampleUser@im.wechat\"}"),
			&s, NULL),
		0);
	assert_int_equal(s.status, WIRE_SCAN_CONFIRMED);
	assert_string_equal(s.token, "0123456789ab@im.bot:06000000aa11");
	assert_string_equal(s.bot_id, "0123456789ab@im.bot");
	assert_string_equal(s.user_id, "o9cqExampleUser@im.wechat");
	assert_string_equal(s.base_url, "https://ilinkai.weixin.qq.com");
}

static void refuses_a_login_without_token_or_bot(void **state)
{
	static const char *const rows[] = {
		"{\"status\":\"confirmed\"}",
		"{\"status\":\"confirmed\",\"bot_token\":\"t\"}",
		"{\"status\":\"confirmed\",\"ilink_bot_id\":\"b\"}",
		"{\"status\":\"confirmed\",\"bot_token\":\"\",\"ilink_bot_id\":\"b\"}",
		"{\"status\":\"confirmed\",\"bot_token\":\"a b\",\"ilink_bot_id\":\"b\"}",
		"{\"status\":\"confirmed\",\"bot_token\":\"t\",\"ilink_bot_id\":\"b\\n\"}",
		"{\"status\":\"confirmed\",\"bot_token\":\"t\",\"ilink_bot_id\":\"b\","
		"\"ilink_user_id\":7}",
		"{\"status\":\"confirmed\",\"bot_token\":\"t\",\"ilink_bot_id\":\"b\","
		"\"baseurl\":\"https://a b\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_scanned s;
		struct err e = ERR_INIT;

		assert_int_equal(wire_read_scanned(view_of(rows[i]), &s, &e), -1);
		assert_int_equal(s.status, WIRE_SCAN_CONFIRMED);
		assert_int_equal(e.code, E_FORMAT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_ret_and_errcode_as_one),
		cmocka_unit_test(refuses_what_is_no_answer),
		cmocka_unit_test(makes_the_reason_one_safe_line),
		cmocka_unit_test(keeps_secrets_out_of_the_reason),
		cmocka_unit_test(cuts_a_long_reason_between_characters),
		cmocka_unit_test(tells_the_outcomes_of_a_send_apart),
		cmocka_unit_test(reads_a_typing_ticket),
		cmocka_unit_test(bounds_the_ticket),
		cmocka_unit_test(reads_where_to_upload_to),
		cmocka_unit_test(bounds_where_to_upload_to),
		cmocka_unit_test(reads_a_code),
		cmocka_unit_test(refuses_a_code_with_parts_missing),
		cmocka_unit_test(knows_every_status_of_a_scan),
		cmocka_unit_test(reads_the_credentials_of_a_login),
		cmocka_unit_test(refuses_a_login_without_token_or_bot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
