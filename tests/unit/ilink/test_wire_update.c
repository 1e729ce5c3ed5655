#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/ilink/wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FROM     "\"from_user_id\":\"o9A@im.wechat\""
#define TEXT(t)  "{\"type\":1,\"text_item\":{\"text\":\"" t "\"}}"

static void read_ok(struct wire_update *u, struct view body)
{
	struct err e = ERR_INIT;

	assert_int_equal(wire_read_update(u, body, &e), 0);
}

/* One message with these members beside the sender. */
static void read_one(struct wire_update *u, const char *members)
{
	struct str s = STR_INIT(4 << 20);

	str_addf(&s, "{\"msgs\":[{" FROM "%s%s}]}", members[0] ? "," : "", members);
	assert_true(str_ok(&s));
	read_ok(u, str_view(&s));
	str_release(&s);
	assert_int_equal(u->nmsgs, 1);
}

static void assert_text(struct view v, const char *z)
{
	assert_int_equal(v.n, strlen(z));
	assert_memory_equal(v.p, z, v.n);
	assert_int_equal(v.p[v.n], 0);
}

/* --- The whole -------------------------------------------------------------------------------- */
static void reads_the_references_example(void **state)
{
	struct wire_update u;

	(void)state;
	read_ok(&u,
		VIEW("{\"ret\":0,\"sync_buf\":\"x\",\"get_updates_buf\":\"Q2dBQkFBPT0=\","
		     "\"longpolling_timeout_ms\":35000,\"msgs\":[{\"seq\":41,"
		     "\"message_id\":7497484083968569736,\"from_user_id\":"
		     "\"o9cqExampleUser@im.wechat\",\"to_user_id\":\"0123456789ab@im.bot\","
		     "\"client_id\":\"c-1\",\"create_time_ms\":1767225600000,\"session_id\":\"s-1\","
		     "\"message_type\":1,\"message_state\":2,\"item_list\":[{\"type\":1,\"msg_id\":"
		     "\"7497484083968569736\",\"create_time_ms\":1767225600000,\"is_completed\":"
		     "true,\"text_item\":{\"text\":\"hello\"}}],\"context_token\":\"AARzExample\"}]}"));
	assert_int_equal(u.code.code, 0);
	assert_text(u.cursor, "Q2dBQkFBPT0=");
	assert_int_equal(u.told_ms, 35000);
	assert_int_equal(u.nmsgs, 1);
	assert_int_equal(u.malformed, 0);
	assert_string_equal(u.msgs[0].id, "7497484083968569736");
	assert_false(u.msgs[0].derived_id);
	assert_string_equal(u.msgs[0].from, "o9cqExampleUser@im.wechat");
	assert_string_equal(u.msgs[0].token, "AARzExample");
	assert_text(u.msgs[0].text, "hello");
	assert_true(u.msgs[0].typed);
	assert_int_equal(u.msgs[0].sent_at, 1767225600000);
	assert_int_equal(u.msgs[0].nitems, 0);
	assert_int_equal(u.msgs[0].state, CHAN_MSG_OK);
	assert_false(u.msgs[0].group);
	wire_update_release(&u);
}

static void reads_an_answer_without_anything(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"ret\":0}",
		"{\"msgs\":null,\"get_updates_buf\":null,\"longpolling_timeout_ms\":null}",
		"{\"msgs\":[],\"get_updates_buf\":\"\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_update u;

		read_ok(&u, view_of(rows[i]));
		assert_int_equal(u.nmsgs, 0);
		assert_int_equal(u.cursor.n, 0);
		assert_int_equal(u.told_ms, 0);
		wire_update_release(&u);
	}
}

static void reads_only_the_code_of_a_refusal(void **state)
{
	struct wire_update u;

	(void)state;
	read_ok(&u,
		VIEW("{\"errcode\":-14,\"errmsg\":\"session timeout\",\"get_updates_buf\":\"x\"}"));
	assert_int_equal(u.code.code, WIRE_EXPIRED);
	assert_string_equal(u.code.text, "session timeout");
	assert_int_equal(u.cursor.n, 0);
	wire_update_release(&u);
}

static void takes_hostile_poll_times_for_not_told(void **state)
{
	static const struct {
		const char *json;
		int64_t told;
	} rows[] = {
		{ "1", 1 },
		{ "35000", 35000 },
		{ "\"35000\"", 35000 },
		{ "9223372036854775807", INT64_MAX },
		{ "0", 0 },
		{ "-1", 0 },
		{ "-9223372036854775808", 0 },
		{ "9223372036854775808", 0 },
		{ "1e300", 0 },
		{ "1.5", 0 },
		{ "\"soon\"", 0 },
		{ "\"\"", 0 },
		{ "true", 0 },
		{ "[1]", 0 },
		{ "{}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(4096);
		struct wire_update u;

		str_addf(&s, "{\"longpolling_timeout_ms\":%s}", rows[i].json);
		read_ok(&u, str_view(&s));
		assert_int_equal(u.told_ms, rows[i].told);
		wire_update_release(&u);
		str_release(&s);
	}
}

static void refuses_an_answer_that_is_malformed_as_a_whole(void **state)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{\"msgs\":{}}",
		"{\"msgs\":7}",
		"{\"msgs\":\"\"}",
		"{\"get_updates_buf\":7}",
		"{\"get_updates_buf\":\"a b\"}",
		"{\"get_updates_buf\":\"a\\u0000b\"}",
		"{\"get_updates_buf\":\"\xff\"}",
		"{\"msgs\":[],\"msgs\":[]}",
		/* a name twice; cut short */
		("{\"msgs\":[{" FROM "," FROM "}]}"),
		("{\"msgs\":[{" FROM "}]"),
		"{\"msgs\":[NaN]}",
		"{\"msgs\":[1e999]}",
		"{\"ret\":{}}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_update u;
		struct err e = ERR_INIT;

		assert_int_equal(wire_read_update(&u, view_of(rows[i]), &e), -1);
		assert_int_equal(e.code, E_FORMAT);
		assert_true(e.msg[0]);
	}
}

static int read_cursor_of(size_t n)
{
	struct str s = STR_INIT(1 << 20);
	struct wire_update u;
	int rc;

	str_adds(&s, "{\"get_updates_buf\":\"");
	for (size_t i = 0; i < n; i++)
		str_addc(&s, 'Q');
	str_adds(&s, "\"}");
	rc = wire_read_update(&u, str_view(&s), NULL);
	if (rc == 0) {
		assert_int_equal(u.cursor.n, n);
		wire_update_release(&u);
	}
	str_release(&s);
	return rc;
}

static void bounds_the_cursor(void **state)
{
	(void)state;
	assert_int_equal(read_cursor_of(ACCOUNT_CURSOR_MAX - 1), 0);
	assert_int_equal(read_cursor_of(ACCOUNT_CURSOR_MAX), 0);
	assert_int_equal(read_cursor_of(ACCOUNT_CURSOR_MAX + 1), -1);
}

static int read_batch_of(size_t n)
{
	struct str s = STR_INIT(1 << 20);
	struct wire_update u;
	int rc;

	str_adds(&s, "{\"msgs\":[");
	for (size_t i = 0; i < n; i++)
		str_addf(&s, "%s{" FROM ",\"message_id\":%zu}", i ? "," : "", i + 1);
	str_adds(&s, "]}");
	rc = wire_read_update(&u, str_view(&s), NULL);
	if (rc == 0) {
		assert_int_equal(u.nmsgs, n);
		assert_string_equal(u.msgs[0].id, "1");
		wire_update_release(&u);
	}
	str_release(&s);
	return rc;
}

static void bounds_the_batch(void **state)
{
	(void)state;
	assert_int_equal(read_batch_of(CHAN_BATCH_MAX - 1), 0);
	assert_int_equal(read_batch_of(CHAN_BATCH_MAX), 0);
	assert_int_equal(read_batch_of(CHAN_BATCH_MAX + 1), -1);
}

/* --- One bad message ------------------------------------------------------------------------- */
static void skips_a_message_without_sender_and_keeps_the_rest(void **state)
{
	static const char *const bad[] = {
		"7",
		"null",
		"[]",
		"\"x\"",
		"{}",
		"{\"from_user_id\":null}",
		"{\"from_user_id\":\"\"}",
		"{\"from_user_id\":7}",
		"{\"from_user_id\":\"two words\"}",
		"{\"from_user_id\":\"a\\u0000b\"}",
		"{\"from_user_id\":\"o9\xff@im.wechat\"}",
		"{\"from_user_id\":\"\\u65e9\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct str s = STR_INIT(4096);
		struct wire_update u;

		str_addf(&s,
			"{\"msgs\":[{" FROM ",\"message_id\":1},%s,{" FROM
			",\"message_id\":2}],\"get_updates_buf\":\"next\"}",
			bad[i]);
		read_ok(&u, str_view(&s));
		assert_int_equal(u.nmsgs, 2);
		assert_string_equal(u.msgs[0].id, "1");
		assert_string_equal(u.msgs[1].id, "2");
		assert_text(u.cursor, "next");
		assert_int_equal(u.malformed, 1);
		assert_int_equal(u.nnotes, 1);
		assert_int_equal(u.notes[0].at, 1);
		assert_true(u.notes[0].why[0]);
		wire_update_release(&u);
		str_release(&s);
	}
}

static void hands_on_a_malformed_message_of_a_known_sender(void **state)
{
	static const char *const bad[] = {
		"\"message_id\":true",
		"\"message_id\":-9223372036854775809",
		"\"message_id\":1.5",
		"\"message_id\":1e3",
		"\"message_id\":\"12x\"",
		"\"message_id\":18446744073709551616",
		"\"message_id\":{}",
		"\"message_type\":\"user\"",
		"\"message_type\":[]",
		"\"context_token\":7",
		"\"context_token\":\"a b\"",
		"\"context_token\":\"a\\u0000\"",
		"\"item_list\":{}",
		"\"item_list\":\"\"",
		"\"item_list\":[7]",
		"\"item_list\":[null]",
		"\"item_list\":[{\"type\":\"text\"}]",
		"\"item_list\":[{\"type\":1,\"text_item\":7}]",
		"\"item_list\":[{\"type\":1,\"text_item\":{\"text\":7}}]",
		"\"item_list\":[{\"type\":1,\"text_item\":{\"text\":[\"a\"]}}]",
		"\"item_list\":[{\"type\":2,\"image_item\":\"x\"}]",
		"\"item_list\":[{\"type\":2,\"image_item\":{\"media\":7}}]",
		"\"item_list\":[{\"type\":2,\"image_item\":{\"aeskey\":7}}]",
		"\"item_list\":[{\"type\":4,\"file_item\":{\"file_name\":7}}]",
		"\"item_list\":[{\"type\":4,\"file_item\":{\"media\":{\"full_url\":7}}}]",
		"\"item_list\":[{\"type\":4,\"file_item\":{\"media\":{\"full_url\":\"a b\"}}}]",
		"\"item_list\":[{\"type\":1,\"ref_msg\":7}]",
		"\"item_list\":[" TEXT("fine") ",{\"type\":3,\"voice_item\":{\"text\":7}}]",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct wire_update u;

		read_one(&u, bad[i]);
		assert_int_equal(u.msgs[0].state, CHAN_MSG_UNREADABLE);
		assert_string_equal(u.msgs[0].from, "o9A@im.wechat");
		assert_true(u.msgs[0].id[0]);
		assert_text(u.msgs[0].text, "");
		assert_int_equal(u.msgs[0].nitems, 0);
		assert_false(u.msgs[0].typed);
		assert_int_equal(u.malformed, 1);
		wire_update_release(&u);
	}
}

static void keeps_id_and_token_of_a_malformed_message(void **state)
{
	struct wire_update u;

	(void)state;
	read_one(&u, "\"message_id\":\"9\",\"context_token\":\"AARz\",\"create_time_ms\":5,"
		     "\"item_list\":7");
	assert_int_equal(u.msgs[0].state, CHAN_MSG_UNREADABLE);
	assert_string_equal(u.msgs[0].id, "9");
	assert_string_equal(u.msgs[0].token, "AARz");
	assert_int_equal(u.msgs[0].sent_at, 5);
	wire_update_release(&u);
}

static void a_time_that_cannot_be_is_none(void **state)
{
	static const struct {
		const char *text;
		int64_t at;
	} rows[] = {
		{ "1", 1 },
		{ "4102444800000", 4102444800000 }, /* 2100-01-01T00:00:00Z */
		{ "4102444800001", 0 },
		{ "9223372036854775807", 0 },
		{ "\"9223372036854775807\"", 0 },
		{ "9223372036854775808", 0 },
		{ "-1", 0 },
		{ "-9223372036854775808", 0 },
		{ "[]", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(4096);
		struct wire_update u;

		str_addf(&s, "\"item_list\":[" TEXT("x") "],\"create_time_ms\":%s", rows[i].text);
		read_one(&u, str_cstr(&s));
		assert_int_equal(u.msgs[0].state, CHAN_MSG_OK);
		assert_int_equal(u.msgs[0].sent_at, rows[i].at);
		wire_update_release(&u);
		str_release(&s);
	}
}

static void counts_more_faults_than_it_notes(void **state)
{
	struct str s = STR_INIT(4096);
	struct wire_update u;

	(void)state;
	str_adds(&s, "{\"msgs\":[7");
	for (int i = 1; i < WIRE_NOTES_MAX + 3; i++)
		str_adds(&s, ",7");
	str_adds(&s, "]}");
	read_ok(&u, str_view(&s));
	assert_int_equal(u.malformed, WIRE_NOTES_MAX + 3);
	assert_int_equal(u.nnotes, WIRE_NOTES_MAX);
	wire_update_release(&u);
	str_release(&s);
}

/* --- Ids -------------------------------------------------------------------------------------- */
static void keeps_every_digit_of_an_id(void **state)
{
	static const struct {
		const char *members, *id;
	} rows[] = {
		{ "\"message_id\":9007199254740993", "9007199254740993" },
		{ "\"message_id\":9007199254740992", "9007199254740992" },
		{ "\"message_id\":18446744073709551615", "18446744073709551615" },
		{ "\"message_id\":\"18446744073709551615\"", "18446744073709551615" },
		{ "\"message_id\":9223372036854775808", "9223372036854775808" },
		{ "\"message_id\":\"7\"", "7" },
		{ "\"message_id\":7,\"client_id\":\"c\",\"seq\":1", "7" },
		{ "\"item_list\":[{\"type\":1,\"msg_id\":18446744073709551614}]",
			"18446744073709551614" },
		{ "\"message_id\":0,\"item_list\":[{\"type\":1,\"msg_id\":\"8\"}]", "8" },
		{ "\"message_id\":\"\",\"item_list\":[{\"type\":1,\"msg_id\":\"8\"}]", "8" },
		{ "\"message_id\":-8", "-8" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_update u;

		read_one(&u, rows[i].members);
		assert_string_equal(u.msgs[0].id, rows[i].id);
		assert_false(u.msgs[0].derived_id);
		wire_update_release(&u);
	}
}

/* The digests are sha256sum's of the texts that wire.h names. */
static void derives_an_id_where_there_is_none(void **state)
{
	static const struct {
		const char *members, *id;
	} rows[] = {
		{ "\"create_time_ms\":1767225600000,\"client_id\":\"c-1\",\"seq\":41",
			"h:9123daee014c30dcafd372fa54307425a9cb8cbe467123a96591c117b071e604" },
		{ "\"create_time_ms\":1767225600000,\"seq\":41",
			"h:e44c03e289f48823d10fc50a383742f24a3f6290655100978ec00c2685b52fb3" },
		{ "\"create_time_ms\":\"1767225600000\",\"seq\":\"41\",\"client_id\":\"\"",
			"h:e44c03e289f48823d10fc50a383742f24a3f6290655100978ec00c2685b52fb3" },
		{ "\"seq\":41",
			"h:0be34deab28495e1bb788272e40fb2f4126818f16dd653ab9256fa263cbef927" },
		{ "\"create_time_ms\":1767225600000,\"item_list\": [" TEXT("ok") "]",
			"h:0d3df42773f6cdc169b43f88673800cc4ac281d9b4230fe6d05f9a5ed60c33f5" },
		{ "\"seq\":0,\"message_id\":0",
			"h:097a66805da12caab64eb49bbdb654e163d4dcfad7f0028ec193d0846605a465" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_update u;

		read_one(&u, rows[i].members);
		assert_string_equal(u.msgs[0].id, rows[i].id);
		assert_true(u.msgs[0].derived_id);
		wire_update_release(&u);
	}
}

static void derives_the_same_id_for_another_token_only(void **state)
{
	struct wire_update a, b, c;

	(void)state;
	read_one(&a, "\"context_token\":\"A\",\"item_list\":[" TEXT("ok") "]");
	read_one(&b, "\"context_token\":\"B\",\"item_list\":[" TEXT("ok") "]");
	read_one(&c, "\"context_token\":\"A\",\"item_list\":[" TEXT("ok") "],\"create_time_ms\":1");
	assert_string_equal(a.msgs[0].id, b.msgs[0].id);
	assert_string_not_equal(a.msgs[0].id, c.msgs[0].id);
	wire_update_release(&a);
	wire_update_release(&b);
	wire_update_release(&c);
}

static const char *twin_of(struct wire_update *u, const char *members)
{
	read_one(u, members);
	return u->msgs[0].twin;
}

static void knows_a_message_again_under_another_id(void **state)
{
	static const char *const same[] = {
		"\"message_id\":1,\"create_time_ms\":5,\"client_id\":\"c\",\"item_list\":[" TEXT(
			"ok") "]",
		"\"message_id\":2,\"create_time_ms\":\"5\",\"client_id\":\"c\",\"seq\":9,"
		"\"context_token\":\"B\",\"item_list\":[" TEXT("ok") "]",
		"\"create_time_ms\":5,\"client_id\":\"c\",\"item_list\":[" TEXT("ok") "]",
	};
	static const char *const others[] = {
		"\"create_time_ms\":6,\"client_id\":\"c\",\"item_list\":[" TEXT("ok") "]",
		"\"create_time_ms\":5,\"client_id\":\"d\",\"item_list\":[" TEXT("ok") "]",
		"\"create_time_ms\":5,\"client_id\":\"c\",\"item_list\":[" TEXT("OK") "]",
		"\"create_time_ms\":5,\"client_id\":\"c\",\"item_list\":[" TEXT(
			"ok") ",{\"type\":3}]",
	};
	static const char *const unsure[] = {
		"\"message_id\":1,\"client_id\":\"c\",\"item_list\":[" TEXT("ok") "]",
		"\"message_id\":1,\"create_time_ms\":5,\"item_list\":[" TEXT("ok") "]",
	};
	struct wire_update a, b;

	(void)state;
	assert_non_null(twin_of(&a, same[0]));
	assert_int_equal(strlen(a.msgs[0].twin), 66);
	for (size_t i = 1; i < COUNT(same); i++) {
		assert_string_equal(twin_of(&b, same[i]), a.msgs[0].twin);
		wire_update_release(&b);
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		assert_string_not_equal(twin_of(&b, others[i]), a.msgs[0].twin);
		wire_update_release(&b);
	}
	for (size_t i = 0; i < COUNT(unsure); i++) {
		assert_null(twin_of(&b, unsure[i]));
		wire_update_release(&b);
	}
	wire_update_release(&a);
}

/* --- Who and what kind -------------------------------------------------------------------------
 */
static void leaves_out_own_echoes(void **state)
{
	struct wire_update u;

	(void)state;
	read_ok(&u, VIEW("{\"msgs\":[{" FROM ",\"message_type\":2},{" FROM
			 ",\"message_type\":\"2\"},{" FROM ",\"message_type\":1}]}"));
	assert_int_equal(u.nmsgs, 1);
	assert_int_equal(u.echoes, 2);
	assert_int_equal(u.malformed, 0);
	wire_update_release(&u);
}

static void tells_groups_and_kinds(void **state)
{
	static const struct {
		const char *members;
		bool group;
		enum chan_msg_state state;
	} rows[] = {
		{ "\"item_list\":[" TEXT("x") "]", false, CHAN_MSG_OK },
		{ "\"item_list\":[" TEXT("x") "],\"message_type\":null", false, CHAN_MSG_OK },
		{ "\"item_list\":[" TEXT("x") "],\"message_type\":0", false, CHAN_MSG_OK },
		{ "\"item_list\":[" TEXT("x") "],\"message_type\":3", false, CHAN_MSG_UNSUPPORTED },
		{ "\"item_list\":[" TEXT("x") "],\"group_id\":\"\"", false, CHAN_MSG_OK },
		{ "\"item_list\":[" TEXT("x") "],\"group_id\":null", false, CHAN_MSG_OK },
		{ "\"item_list\":[" TEXT("x") "],\"group_id\":\"g\"", true, CHAN_MSG_OK },
		{ "\"item_list\":[" TEXT("x") "],\"group_id\":7", true, CHAN_MSG_OK },
		{ "\"item_list\":[" TEXT("x") "],\"group_id\":{}", true, CHAN_MSG_OK },
		{ "\"item_list\":[{\"type\":8}]", false, CHAN_MSG_UNSUPPORTED },
		{ "\"item_list\":[{\"type\":99,\"x_item\":{}}]", false, CHAN_MSG_UNSUPPORTED },
		{ "\"item_list\":[{\"type\":8}," TEXT("x") "]", false, CHAN_MSG_OK },
		{ "\"item_list\":[{\"type\":0}]", false, CHAN_MSG_UNSUPPORTED },
		{ "\"item_list\":[{\"type\":1}]", false, CHAN_MSG_UNSUPPORTED },
		{ "\"item_list\":[]", false, CHAN_MSG_UNSUPPORTED },
		{ "", false, CHAN_MSG_UNSUPPORTED },
		{ "\"item_list\":[{\"type\":2}]", false, CHAN_MSG_OK },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_update u;

		read_one(&u, rows[i].members);
		assert_int_equal(u.msgs[0].group, rows[i].group);
		assert_int_equal(u.msgs[0].state, rows[i].state);
		assert_int_equal(u.malformed, 0);
		wire_update_release(&u);
	}
}

static void knows_a_group_by_its_sender(void **state)
{
	struct wire_update u;

	(void)state;
	read_ok(&u, VIEW("{\"msgs\":[{\"from_user_id\":\"123@chatroom\"}]}"));
	assert_true(u.msgs[0].group);
	wire_update_release(&u);
}

/* --- Text ------------------------------------------------------------------------------------- */
static void joins_all_texts_in_order(void **state)
{
	static const struct {
		const char *items, *text;
		bool typed;
	} rows[] = {
		{ TEXT("a"), "a", true },
		{ TEXT("a") "," TEXT("b"), "a\nb", true },
		{ TEXT("a") ",{\"type\":2}," TEXT("b"), "a\nb", true },
		{ TEXT("") "," TEXT("b"), "b", true },
		{ "{\"type\":3,\"voice_item\":{\"text\":\"/stop\"}}", "/stop", false },
		{ "{\"type\":3,\"voice_item\":{\"text\":\"/stop\"}}," TEXT("b"), "/stop\nb",
			false },
		{ "{\"type\":3,\"voice_item\":{\"text\":\"\"}}," TEXT("b"), "b", true },
		{ "{\"type\":3}", "", false },
		{ TEXT("a\\u0000b"),
			"a\xef\xbf\xbd"
			"b",
			true },
		{ TEXT("a\xff"
		       "b\xe6\x97"),
			"a\xef\xbf\xbd"
			"b\xef\xbf\xbd",
			true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(4096);
		struct wire_update u;

		str_addf(&s, "\"item_list\":[%s]", rows[i].items);
		read_one(&u, str_cstr(&s));
		assert_int_equal(u.malformed, 0);
		assert_text(u.msgs[0].text, rows[i].text);
		assert_int_equal(u.msgs[0].typed, rows[i].typed);
		wire_update_release(&u);
		str_release(&s);
	}
}

static void keeps_text_after_a_raw_nul(void **state)
{
	struct wire_update u;

	(void)state;
	read_ok(&u, VIEW("{\"msgs\":[{" FROM ",\"item_list\":[" TEXT("a\0b") "]}]}"));
	assert_text(u.msgs[0].text, "a\xef\xbf\xbd"
				    "b");
	wire_update_release(&u);
}

static void read_text_of(struct wire_update *u, size_t first, size_t second)
{
	struct str s = STR_INIT(4 << 20);

	str_adds(&s, "\"item_list\":[{\"type\":1,\"text_item\":{\"text\":\"");
	for (size_t i = 0; i < first; i++)
		str_addc(&s, 'x');
	str_adds(&s, "\"}}");
	if (second) {
		str_adds(&s, ",{\"type\":1,\"text_item\":{\"text\":\"");
		for (size_t i = 0; i < second; i++)
			str_addc(&s, 'y');
		str_adds(&s, "\"}}");
	}
	str_adds(&s, "]");
	read_one(u, str_cstr(&s));
	str_release(&s);
}

static void bounds_the_text_of_a_message(void **state)
{
	static const struct {
		size_t first, second;
		bool fits;
	} rows[] = {
		{ CHAN_TEXT_MAX - 1, 0, true },
		{ CHAN_TEXT_MAX, 0, true },
		{ CHAN_TEXT_MAX + 1, 0, false },
		{ CHAN_TEXT_MAX - 100, 98, true },
		{ CHAN_TEXT_MAX - 100, 99, true },
		{ CHAN_TEXT_MAX - 100, 100, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_update u;

		read_text_of(&u, rows[i].first, rows[i].second);
		assert_int_equal(u.msgs[0].state, rows[i].fits ? CHAN_MSG_OK : CHAN_MSG_UNREADABLE);
		if (rows[i].fits)
			assert_int_equal(u.msgs[0].text.n,
				rows[i].first + rows[i].second + (rows[i].second > 0));
		wire_update_release(&u);
	}
}

/* --- Attachments ------------------------------------------------------------------------------ */
static void reads_a_file(void **state)
{
	struct wire_update u;
	const struct chan_item *it;

	(void)state;
	read_one(&u,
		"\"item_list\":[{\"type\":4,\"file_item\":{\"file_name\":\"report.pdf\",\"md5\":"
		"\"4032af8d61035123906e58e067140cc5\",\"len\":\"16\",\"media\":{"
		"\"encrypt_query_param\":\"QWJj\",\"aes_key\":"
		"\"MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY=\",\"encrypt_type\":1,"
		"\"full_url\":\"https://novac2c.cdn.weixin.qq.com/c2c/"
		"download?encrypted_query_param=QWJj&taskid=1\"}}}]");
	assert_int_equal(u.msgs[0].nitems, 1);
	it = &u.msgs[0].items[0];
	assert_int_equal(it->kind, CHAN_FILE);
	assert_string_equal(it->name, "report.pdf");
	assert_string_equal(it->param, "QWJj");
	assert_string_equal(it->key, "MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY=");
	assert_true(view_ends(view_of(it->full_url), VIEW("taskid=1")));
	assert_int_equal(it->size, 16);
	assert_int_equal(it->play_ms, -1);
	assert_false(it->quoted);
	wire_update_release(&u);
}

/* Wire reference, 9.2: a picture's own key first, then the one of its media. */
static void a_picture_has_the_first_of_its_keys_that_is_one(void **state)
{
	static const struct {
		const char *own, *of_media, *wanted;
	} rows[] = {
		{ "00112233445566778899aabbccddeeff", "AAAA", "00112233445566778899aabbccddeeff" },
		{ "", "ABEiM0RVZneImaq7zN3u/w==", "ABEiM0RVZneImaq7zN3u/w==" },
		{ "0011", "ABEiM0RVZneImaq7zN3u/w==", "ABEiM0RVZneImaq7zN3u/w==" },
		{ "0011", "", "0011" }, /* which is not decrypted, rather than taken for plain */
		{ "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_update u;
		char text[300];

		(void)snprintf(text, sizeof(text),
			"\"item_list\":[{\"type\":2,\"image_item\":{\"aeskey\":\"%s\","
			"\"media\":{\"aes_key\":\"%s\"}}}]",
			rows[i].own, rows[i].of_media);
		read_one(&u, text);
		assert_string_equal(rows[i].wanted, u.msgs[0].items[0].key);
		wire_update_release(&u);
	}
}

static void reads_image_voice_and_video(void **state)
{
	struct wire_update u;
	const struct chan_item *it;

	(void)state;
	read_one(&u,
		"\"item_list\":[{\"type\":2,\"image_item\":{\"aeskey\":"
		"\"00112233445566778899aabbccddeeff\",\"mid_size\":112,\"media\":{\"aes_key\":"
		"\"ABEiM0RVZneImaq7zN3u/w==\"}}},{\"type\":3,\"voice_item\":{\"encode_type\":4,"
		"\"sample_rate\":16000,\"playtime\":2380,\"text\":\"hi\"}},{\"type\":5,"
		"\"video_item\":{\"video_size\":\"99\",\"play_length\":7}}]"); /* of no known unit */
	assert_int_equal(u.msgs[0].nitems, 3);
	it = u.msgs[0].items;
	assert_int_equal(it[0].kind, CHAN_IMAGE);
	assert_string_equal(it[0].key, "00112233445566778899aabbccddeeff");
	assert_int_equal(it[0].size, 112);
	assert_int_equal(it[1].kind, CHAN_VOICE);
	assert_int_equal(it[1].play_ms, 2380);
	assert_true(it[1].transcript);
	assert_int_equal(it[2].kind, CHAN_VIDEO);
	assert_int_equal(it[2].size, 99);
	assert_int_equal(it[2].play_ms, -1);
	assert_string_equal(it[2].name, "");
	wire_update_release(&u);
}

static void takes_a_wrong_claim_for_none(void **state)
{
	static const char *const claims[] = { "-1", "\"x\"", "[]", "1.5", "null", "\"\"" };

	(void)state;
	for (size_t i = 0; i < COUNT(claims); i++) {
		struct str s = STR_INIT(4096);
		struct wire_update u;

		str_addf(&s, "\"item_list\":[{\"type\":4,\"file_item\":{\"len\":%s}}]", claims[i]);
		read_one(&u, str_cstr(&s));
		assert_int_equal(u.msgs[0].state, CHAN_MSG_OK);
		assert_int_equal(u.msgs[0].items[0].size, -1);
		wire_update_release(&u);
		str_release(&s);
	}
}

static void removes_controls_from_a_file_name(void **state)
{
	struct wire_update u;

	(void)state;
	read_one(&u, "\"item_list\":[{\"type\":4,\"file_item\":{\"file_name\":"
		     "\"a\\u001b[31m\\n\\u202eb/../c\"}}]");
	assert_string_equal(u.msgs[0].items[0].name, "ab/../c");
	wire_update_release(&u);
}

static void read_images(struct wire_update *u, size_t n)
{
	struct str s = STR_INIT(65536);

	str_adds(&s, "\"item_list\":[");
	for (size_t i = 0; i < n; i++)
		str_adds(&s, "{\"type\":2},");
	str_adds(&s, TEXT("last") "]");
	read_one(u, str_cstr(&s));
	str_release(&s);
}

static void bounds_the_attachments_but_not_the_text_behind_them(void **state)
{
	(void)state;
	for (size_t n = CHAN_ITEMS_MAX - 1; n <= CHAN_ITEMS_MAX + 1; n++) {
		struct wire_update u;

		read_images(&u, n);
		assert_int_equal(u.msgs[0].nitems, n < CHAN_ITEMS_MAX ? n : CHAN_ITEMS_MAX);
		assert_int_equal(u.dropped_items, n > CHAN_ITEMS_MAX ? 1 : 0);
		assert_text(u.msgs[0].text, "last");
		wire_update_release(&u);
	}
}

/* --- Quotes ----------------------------------------------------------------------------------- */
static void reads_what_is_quoted(void **state)
{
	static const struct {
		const char *ref, *text, *id;
	} rows[] = {
		{ "{\"svr_id\":18446744073709551615}", "", "18446744073709551615" },
		{ "{\"svr_id\":\"5\",\"message_item\":{\"type\":0,\"msg_id\":6}}", "", "5" },
		{ "{\"message_item\":{\"type\":0,\"msg_id\":\"6\"}}", "", "6" },
		{ "{\"svr_id\":0,\"message_item\":{\"type\":0,\"msg_id\":\"6\"}}", "", "6" },
		{ "{\"svr_id\":\"\",\"message_item\":{\"type\":0,\"msg_id\":\"6\"}}", "", "6" },
		{ "{\"svr_id\":\"x\",\"message_item\":" TEXT("old") "}", "old", "" },
		{ "{\"svr_id\":-6}", "", "-6" },
		{ "{\"title\":5,\"svr_id\":[]}", "", "" },
		{ "{\"message_item\":" TEXT("old") ",\"title\":\"t\"}", "old", "" },
		{ "{\"title\":\"t\"}", "t", "" },
		{ "{\"message_item\":{\"type\":3,\"voice_item\":{\"text\":\"said\"}}}", "said",
			"" },
		{ "{\"message_item\":{\"type\":2,\"image_item\":{}}}", "", "" },
		{ "{\"message_item\":{\"type\":3}}", "", "" },
		{ "{\"message_item\":{\"type\":4}}", "", "" },
		{ "{\"message_item\":{\"type\":5}}", "", "" },
		{ "{\"message_item\":{\"type\":2},\"title\":\"[图片]\"}", "", "" },
		{ "{\"message_item\":{\"type\":8},\"title\":\"a card\"}", "a card", "" },
		{ "{}", "", "" },
		{ "null", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(4096);
		struct wire_update u;

		str_addf(&s,
			"\"item_list\":[{\"type\":1,\"text_item\":{\"text\":\"so\"},"
			"\"ref_msg\":%s}]",
			rows[i].ref);
		read_one(&u, str_cstr(&s));
		assert_int_equal(u.msgs[0].state, CHAN_MSG_OK);
		assert_text(u.msgs[0].text, "so");
		assert_true(u.msgs[0].typed);
		assert_text(u.msgs[0].quote, rows[i].text);
		assert_string_equal(u.msgs[0].quote_id, rows[i].id);
		wire_update_release(&u);
		str_release(&s);
	}
}

static void knows_a_summary_from_the_text(void **state)
{
	static const struct {
		const char *ref;
		bool title;
	} rows[] = {
		{ "{\"title\":\"t\",\"svr_id\":1}", true },
		{ "{\"title\":\"t\",\"message_item\":" TEXT("old") "}", false },
		{ "{\"title\":\"\",\"svr_id\":1}", false },
		{ "{\"svr_id\":1}", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str s = STR_INIT(4096);
		struct wire_update u;

		str_addf(&s,
			"\"item_list\":[{\"type\":1,\"text_item\":{\"text\":\"so\"},"
			"\"ref_msg\":%s}]",
			rows[i].ref);
		read_one(&u, str_cstr(&s));
		assert_int_equal(u.msgs[0].quote_title, rows[i].title);
		wire_update_release(&u);
		str_release(&s);
	}
}

/* Reads a quote with this partial_text. */
static void read_partial_text(struct wire_update *u, const char *partial)
{
	struct str s = STR_INIT((size_t)1 << 18);

	str_addf(&s,
		"\"item_list\":[{\"type\":1,\"text_item\":{\"text\":\"so\"},\"ref_msg\":{"
		"\"message_item\":" TEXT("all of it") ",\"partial_text\":%s}}]",
		partial);
	read_one(u, str_cstr(&s));
	assert_int_equal(u->msgs[0].state, CHAN_MSG_OK);
	assert_text(u->msgs[0].quote, "all of it");
	str_release(&s);
}

#define MD5 "5e86a3745b35029493ecd1fd9c1c6c0d"

static void reads_which_part_is_quoted(void **state)
{
	static const struct {
		const char *json;
		int64_t first, last;
		const char *md5;
	} rows[] = {
		{ "{\"start\":\"明天\",\"end\":\"不错\",\"startindex\":0,\"endindex\":1,"
		  "\"quotemd5\":\"" MD5 "\"}",
			0, 1, MD5 },
		{ "{\"start\":\"明天\",\"end\":\"不错\"}", 0, 0, "" },
		{ "{\"start\":\"明天\",\"end\":\"不错\",\"startindex\":\"7\",\"quotemd5\":\"\"}", 7,
			0, "" },
		{ "{\"start\":\"明天\",\"end\":\"不错\",\"endindex\":9223372036854775807,"
		  "\"quotemd5\":\"5e86\"}",
			0, INT64_MAX, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct chan_partial *p;
		struct wire_update u;

		read_partial_text(&u, rows[i].json);
		p = &u.msgs[0].partial;
		assert_string_equal(p->start, "明天");
		assert_string_equal(p->end, "不错");
		assert_int_equal(p->start_index, rows[i].first);
		assert_int_equal(p->end_index, rows[i].last);
		assert_string_equal(p->md5, rows[i].md5);
		wire_update_release(&u);
	}
}

static void a_part_that_is_not_one_is_all(void **state)
{
	static const char *const rows[] = { "null", "[]", "{}", "\"a\"", "{\"start\":\"a\"}",
		"{\"end\":\"a\"}", "{\"start\":\"\",\"end\":\"b\"}",
		"{\"start\":\"a\",\"end\":\"\"}", "{\"start\":1,\"end\":\"b\"}",
		"{\"start\":\"a\",\"end\":[\"b\"]}",
		"{\"start\":\"a\",\"end\":\"b\",\"startindex\":-1}",
		"{\"start\":\"a\",\"end\":\"b\",\"endindex\":0.5}",
		"{\"start\":\"a\",\"end\":\"b\",\"endindex\":9223372036854775808}",
		"{\"start\":\"a\",\"end\":\"b\",\"quotemd5\":5}",
		"{\"start\":\"a\",\"end\":\"b\",\"quotemd5\":\"" MD5 "0\"}" };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_update u;

		read_partial_text(&u, rows[i]);
		assert_null(u.msgs[0].partial.start);
		wire_update_release(&u);
	}
}

static void an_end_of_a_part_is_bounded(void **state)
{
	static const char *const before[] = { "{\"end\":\"b\",\"start\":\"",
		"{\"start\":\"b\",\"end\":\"" };

	(void)state;
	for (size_t i = 0; i < COUNT(before); i++) {
		for (size_t n = WIRE_MARK_MAX - 1; n <= (size_t)WIRE_MARK_MAX + 1; n++) {
			struct str s = STR_INIT((size_t)1 << 17);
			struct wire_update u;

			str_adds(&s, before[i]);
			for (size_t k = 0; k < n; k++)
				str_addc(&s, 'a');
			str_adds(&s, "\"}");
			read_partial_text(&u, str_cstr(&s));
			assert_int_equal(u.msgs[0].partial.start != NULL, n <= WIRE_MARK_MAX);
			wire_update_release(&u);
			str_release(&s);
		}
	}
}

static void marks_quoted_attachments(void **state)
{
	struct wire_update u;

	(void)state;
	read_one(&u, "\"item_list\":[{\"type\":1,\"text_item\":{\"text\":\"so\"},\"ref_msg\":{"
		     "\"message_item\":{\"type\":4,\"file_item\":{\"file_name\":\"a.txt\"}}}},"
		     "{\"type\":2}]");
	assert_int_equal(u.msgs[0].nitems, 2);
	assert_true(u.msgs[0].items[0].quoted);
	assert_string_equal(u.msgs[0].items[0].name, "a.txt");
	assert_false(u.msgs[0].items[1].quoted);
	wire_update_release(&u);
}

static void takes_the_first_quote(void **state)
{
	struct wire_update u;

	(void)state;
	read_one(&u, "\"item_list\":[{\"type\":1,\"ref_msg\":{\"title\":\"one\"}},"
		     "{\"type\":1,\"ref_msg\":{\"title\":\"two\"}}]");
	assert_text(u.msgs[0].quote, "one");
	wire_update_release(&u);
}

/* --- Limits of fields ---------------------------------------------------------------------------
 */
static enum chan_msg_state state_of_field(const char *before, size_t n, const char *after)
{
	struct str s = STR_INIT(65536);
	struct wire_update u;
	enum chan_msg_state st;

	str_adds(&s, before);
	for (size_t i = 0; i < n; i++)
		str_addc(&s, 'a');
	str_adds(&s, after);
	read_one(&u, str_cstr(&s));
	st = u.msgs[0].state == CHAN_MSG_UNREADABLE ? CHAN_MSG_UNREADABLE : CHAN_MSG_OK;
	wire_update_release(&u);
	str_release(&s);
	return st;
}

static void bounds_every_field(void **state)
{
	static const struct {
		const char *before, *after;
		size_t max;
	} rows[] = {
		{ "\"context_token\":\"", "\"", CHAN_TOKEN_MAX },
		{ "\"item_list\":[{\"type\":4,\"file_item\":{\"file_name\":\"", "\"}}]",
			WIRE_NAME_MAX },
		{ "\"item_list\":[{\"type\":2,\"image_item\":{\"aeskey\":\"", "\"}}]",
			WIRE_KEY_MAX },
		{ "\"item_list\":[{\"type\":2,\"image_item\":{\"media\":{\"aes_key\":\"", "\"}}}]",
			WIRE_KEY_MAX },
		{ "\"item_list\":[{\"type\":2,\"image_item\":{\"media\":{\"full_url\":\"", "\"}}}]",
			WIRE_PARAM_MAX },
		{ "\"item_list\":[{\"type\":2,\"image_item\":{\"media\":{"
		  "\"encrypt_query_param\":\"",
			"\"}}}]", WIRE_PARAM_MAX },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(state_of_field(rows[i].before, rows[i].max - 1, rows[i].after),
			CHAN_MSG_OK);
		assert_int_equal(state_of_field(rows[i].before, rows[i].max, rows[i].after),
			CHAN_MSG_OK);
		assert_int_equal(state_of_field(rows[i].before, rows[i].max + 1, rows[i].after),
			CHAN_MSG_UNREADABLE);
	}
}

static void bounds_the_sender(void **state)
{
	(void)state;
	for (size_t n = CHAN_ID_MAX - 1; n <= CHAN_ID_MAX + 1; n++) {
		struct str s = STR_INIT(4096);
		struct wire_update u;

		str_adds(&s, "{\"msgs\":[{\"from_user_id\":\"");
		for (size_t i = 0; i < n; i++)
			str_addc(&s, 'u');
		str_adds(&s, "\"}]}");
		read_ok(&u, str_view(&s));
		assert_int_equal(u.nmsgs, n <= CHAN_ID_MAX ? 1 : 0);
		wire_update_release(&u);
		str_release(&s);
	}
}

static void bounds_depth_and_nodes(void **state)
{
	struct str s = STR_INIT(4 << 20);
	struct wire_update u;

	(void)state;
	str_adds(&s, "{\"x\":");
	for (int i = 0; i < 32; i++)
		str_addc(&s, '[');
	for (int i = 0; i < 32; i++)
		str_addc(&s, ']');
	str_addc(&s, '}');
	assert_int_equal(wire_read_update(&u, str_view(&s), NULL), -1);
	str_reset(&s);
	str_adds(&s, "{\"msgs\":[");
	for (int i = 0; i < 100000; i++)
		str_adds(&s, "{\"a\":1},");
	str_adds(&s, "0]}");
	assert_int_equal(wire_read_update(&u, str_view(&s), NULL), -1);
	str_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_references_example),
		cmocka_unit_test(reads_an_answer_without_anything),
		cmocka_unit_test(reads_only_the_code_of_a_refusal),
		cmocka_unit_test(takes_hostile_poll_times_for_not_told),
		cmocka_unit_test(refuses_an_answer_that_is_malformed_as_a_whole),
		cmocka_unit_test(bounds_the_cursor),
		cmocka_unit_test(bounds_the_batch),
		cmocka_unit_test(skips_a_message_without_sender_and_keeps_the_rest),
		cmocka_unit_test(hands_on_a_malformed_message_of_a_known_sender),
		cmocka_unit_test(keeps_id_and_token_of_a_malformed_message),
		cmocka_unit_test(a_time_that_cannot_be_is_none),
		cmocka_unit_test(counts_more_faults_than_it_notes),
		cmocka_unit_test(keeps_every_digit_of_an_id),
		cmocka_unit_test(derives_an_id_where_there_is_none),
		cmocka_unit_test(derives_the_same_id_for_another_token_only),
		cmocka_unit_test(knows_a_message_again_under_another_id),
		cmocka_unit_test(leaves_out_own_echoes),
		cmocka_unit_test(tells_groups_and_kinds),
		cmocka_unit_test(knows_a_group_by_its_sender),
		cmocka_unit_test(joins_all_texts_in_order),
		cmocka_unit_test(keeps_text_after_a_raw_nul),
		cmocka_unit_test(bounds_the_text_of_a_message),
		cmocka_unit_test(reads_a_file),
		cmocka_unit_test(a_picture_has_the_first_of_its_keys_that_is_one),
		cmocka_unit_test(reads_image_voice_and_video),
		cmocka_unit_test(takes_a_wrong_claim_for_none),
		cmocka_unit_test(removes_controls_from_a_file_name),
		cmocka_unit_test(bounds_the_attachments_but_not_the_text_behind_them),
		cmocka_unit_test(reads_what_is_quoted),
		cmocka_unit_test(knows_a_summary_from_the_text),
		cmocka_unit_test(reads_which_part_is_quoted),
		cmocka_unit_test(a_part_that_is_not_one_is_all),
		cmocka_unit_test(an_end_of_a_part_is_bounded),
		cmocka_unit_test(marks_quoted_attachments),
		cmocka_unit_test(takes_the_first_quote),
		cmocka_unit_test(bounds_every_field),
		cmocka_unit_test(bounds_the_sender),
		cmocka_unit_test(bounds_depth_and_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
