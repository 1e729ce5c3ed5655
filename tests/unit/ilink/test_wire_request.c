#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/ilink/wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct wire_self me = { "2.4.9", "Example/1.0.0 (linux; x86_64)" };
#define BASE_INFO \
	"\"base_info\":{\"channel_version\":\"2.4.9\",\"bot_agent\":\"Example/1.0.0 (linux; x86_64)\"}"

/* --- Headers: the wire reference's vectors ---------------------------------------------------- */
static void encodes_the_uin(void **state)
{
	static const struct {
		uint32_t n;
		const char *out;
	} rows[] = {
		{ 3735928559u, "MzczNTkyODU1OQ==" },
		{ 7, "Nw==" },
		{ 0, "MA==" },
		{ UINT32_MAX, "NDI5NDk2NzI5NQ==" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char out[WIRE_UIN_SIZE];

		wire_uin(rows[i].n, out);
		assert_string_equal(out, rows[i].out);
	}
}

static void packs_the_client_version(void **state)
{
	static const struct {
		const char *version, *out;
	} rows[] = {
		{ "2.4.9", "132105" },
		{ "2.4.6", "132102" },
		{ "1.0.11", "65547" },
		{ "2", "131072" },
		{ "2.4", "132096" },
		{ "255.255.255", "16777215" },
		{ "256.0.257", "1" },
		{ "0.0.0", "0" },
	};
	static const char *const bad[] = { "", ".", "2.", "2..4", "2.4.9.1", "v2.4", "2.4.9-beta",
		"2. 4", "-1.0.0", "99999999999999999999" };
	char out[11];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(wire_client_version(rows[i].version, out, NULL), 0);
		assert_string_equal(out, rows[i].out);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(wire_client_version(bad[i], out, &e), -1);
		assert_int_equal(e.code, E_FORMAT);
	}
}

#define N32 "abcdefghijklmnopqrstuvwxyz_.-019"
#define C64 "0123456789012345678901234567890123456789012345678901234567890123"

static void keeps_the_bot_agent_to_its_grammar(void **state)
{
	static const struct {
		const char *in, *out;
		int dropped;
	} rows[] = {
		{ "Kairo/0.1.0 (linux; x86_64)", "Kairo/0.1.0 (linux; x86_64)", 0 },
		{ "a/1 b/2+x (c) d_.-/3", "a/1 b/2+x (c) d_.-/3", 0 },
		{ "", "OpenClaw", 0 },
		{ "nonsense", "OpenClaw", 1 },
		{ "a/1 nonsense b/2", "a/1 b/2", 1 },
		{ "/1 a/ b/2", "b/2", 2 },
		{ "a/1/2 b/2", "b/2", 1 },
		{ "a+b/1 c/1", "c/1", 1 },
		{ "a/1 (unclosed b/2", "a/1 b/2", 1 },
		{ "a/1 () b/2", "a/1 b/2", 1 },
		{ "a/1 (x)y b/2", "a/1 b/2", 1 },
		{ "a/1 (x) (y) b/2", "a/1 (x) b/2", 1 },
		{ "  a/1  b/2 ", "a/1 b/2", 0 },
		{ "a/1\tb/2", "OpenClaw", 1 },
		{ "\xe6\x97\xa9/1 b/2", "b/2", 1 },
		{ N32 "/" N32, N32 "/" N32, 0 },
		{ N32 "x/1 b/2", "b/2", 1 },
		{ "a/" N32 "x b/2", "b/2", 1 },
		{ "a/1 (" C64 ")", "a/1 (" C64 ")", 0 },
		{ "a/1 (" C64 "4) b/2", "a/1 b/2", 1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str out = STR_INIT(WIRE_BOT_AGENT_MAX);

		assert_int_equal(wire_bot_agent(view_of(rows[i].in), &out), rows[i].dropped);
		assert_string_equal(str_cstr(&out), rows[i].out);
		str_release(&out);
	}
}

static void drops_trailing_products_over_256_bytes(void **state)
{
	/* Three of 65 bytes and three spaces are 198; 58 are left. */
	static const char three[] = N32 "/" N32 " " N32 "/" N32 " " N32 "/" N32 " ";

	(void)state;
	for (size_t n = 57; n <= 59; n++) {
		struct str in = STR_INIT(4096), out = STR_INIT(WIRE_BOT_AGENT_MAX);

		str_addf(&in, "%sx/1 (%.*s) y/1", three, (int)(n - 6), C64);
		assert_true(wire_bot_agent(str_view(&in), &out) > 0);
		assert_int_equal(out.n, n <= 58 ? 198 + n : 197);
		str_release(&in);
		str_release(&out);
	}
}

/* --- Bodies: in the shape of the reference's examples ----------------------------------------- */
static void writes_the_lifecycle_calls(void **state)
{
	struct str s = STR_INIT(4096);

	(void)state;
	assert_int_equal(wire_write_notify(&s, &me, NULL), 0);
	assert_string_equal(str_cstr(&s), "{" BASE_INFO "}");
	str_reset(&s);
	assert_int_equal(wire_write_updates(&s, &me, "", NULL), 0);
	assert_string_equal(str_cstr(&s), "{\"get_updates_buf\":\"\"," BASE_INFO "}");
	str_reset(&s);
	assert_int_equal(wire_write_updates(&s, &me, "Q2dBQkFBPT0=", NULL), 0);
	assert_string_equal(str_cstr(&s), "{\"get_updates_buf\":\"Q2dBQkFBPT0=\"," BASE_INFO "}");
	str_release(&s);
}

static void writes_exactly_one_text_item(void **state)
{
	struct chan_send what = { .to = "o9cqExampleUser@im.wechat",
		.token = "AARzExample",
		.client_id = "example:1767225601000-1a2b3c4d",
		.text = VIEW("hi") };
	struct str s = STR_INIT(4096);

	(void)state;
	assert_int_equal(wire_write_text(&s, &me, &what, NULL), 0);
	assert_string_equal(str_cstr(&s),
		"{\"msg\":{\"from_user_id\":\"\",\"to_user_id\":\"o9cqExampleUser@im.wechat\","
		"\"client_id\":\"example:1767225601000-1a2b3c4d\",\"message_type\":2,"
		"\"message_state\":2,\"item_list\":[{\"type\":1,\"text_item\":{\"text\":\"hi\"}}],"
		"\"context_token\":\"AARzExample\"}," BASE_INFO "}");
	str_release(&s);
}

static void leaves_unknown_fields_out(void **state)
{
	struct chan_send what = { .to = "u",
		.token = "",
		.client_id = "c",
		.text = VIEW("\"\\\n") };
	struct str s = STR_INIT(4096);

	(void)state;
	assert_int_equal(wire_write_text(&s, &me, &what, NULL), 0);
	assert_string_equal(str_cstr(&s),
		"{\"msg\":{\"from_user_id\":\"\",\"to_user_id\":\"u\",\"client_id\":\"c\","
		"\"message_type\":2,\"message_state\":2,\"item_list\":[{\"type\":1,\"text_item\":"
		"{\"text\":\"\\\"\\\\\\n\"}}]}," BASE_INFO "}");
	str_reset(&s);
	assert_int_equal(wire_write_config(&s, &me, "u", "", NULL), 0);
	assert_string_equal(str_cstr(&s), "{\"ilink_user_id\":\"u\"," BASE_INFO "}");
	str_release(&s);
}

static void refuses_text_that_is_not_utf8(void **state)
{
	static const struct view bad[] = { VIEW("\xff"), VIEW("\xe6\x97"), VIEW("a\0b") };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct chan_send what = { .to = "u",
			.token = "",
			.client_id = "c",
			.text = bad[i] };
		struct str s = STR_INIT(4096);
		struct err e = ERR_INIT;

		assert_int_equal(wire_write_text(&s, &me, &what, &e), -1);
		assert_true(e.msg[0]);
		str_release(&s);
	}
}

static void writes_config_typing_and_code_requests(void **state)
{
	static const char *const tokens[] = { "tokenNewest", "tokenOlder" };
	struct str s = STR_INIT(4096);

	(void)state;
	assert_int_equal(wire_write_config(&s, &me, "o9@im.wechat", "AARz", NULL), 0);
	assert_string_equal(str_cstr(&s),
		"{\"ilink_user_id\":\"o9@im.wechat\",\"context_token\":\"AARz\"," BASE_INFO "}");
	str_reset(&s);
	assert_int_equal(wire_write_typing(&s, &me, "o9@im.wechat", "AART=", true, NULL), 0);
	assert_string_equal(str_cstr(&s),
		"{\"ilink_user_id\":\"o9@im.wechat\",\"typing_ticket\":\"AART=\",\"status\":1," BASE_INFO
		"}");
	str_reset(&s);
	assert_int_equal(wire_write_typing(&s, &me, "o9@im.wechat", "AART=", false, NULL), 0);
	assert_string_equal(str_cstr(&s),
		"{\"ilink_user_id\":\"o9@im.wechat\",\"typing_ticket\":\"AART=\",\"status\":2," BASE_INFO
		"}");
	str_reset(&s);
	assert_int_equal(wire_write_qr(&s, tokens, 2, NULL), 0);
	assert_string_equal(str_cstr(&s),
		"{\"local_token_list\":[\"tokenNewest\",\"tokenOlder\"]}");
	str_reset(&s);
	assert_int_equal(wire_write_qr(&s, NULL, 0, NULL), 0);
	assert_string_equal(str_cstr(&s), "{\"local_token_list\":[]}");
	str_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_the_uin),
		cmocka_unit_test(packs_the_client_version),
		cmocka_unit_test(keeps_the_bot_agent_to_its_grammar),
		cmocka_unit_test(drops_trailing_products_over_256_bytes),
		cmocka_unit_test(writes_the_lifecycle_calls),
		cmocka_unit_test(writes_exactly_one_text_item),
		cmocka_unit_test(leaves_unknown_fields_out),
		cmocka_unit_test(refuses_text_that_is_not_utf8),
		cmocka_unit_test(writes_config_typing_and_code_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
