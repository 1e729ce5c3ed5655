/* The way of a message: intake, commands, turns, failures, pauses, crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "channel/inbox.h"
#include "channel/question.h"

#include "house.h"

static const char *last(struct house *h)
{
	return fake_last(&h->w.wire);
}

static void assert_said(struct house *h, const char *needle)
{
	if (!strstr(last(h), needle))
		print_error("said: %s\nwanted: %s\n", last(h), needle);
	assert_non_null(strstr(last(h), needle));
}

static int waiting(struct house *h)
{
	return house_rows(h, INBOX_WAITING);
}

/* --- The whole way ---------------------------------------------------------------------------- */

static void a_message_is_answered(void **state)
{
	struct house *h = *state;

	assert_int_equal(0, house_hear(h, OWNER, "hello"));
	assert_int_equal(1, h->engine.starts);
	assert_string_equal("hello", h->engine.text);
	assert_string_equal(OWNER, h->engine.conversation);
	assert_string_equal("en", h->engine.language);
	assert_int_equal(ORIGIN_PHONE, h->engine.origin);
	assert_string_equal(OWNER, h->w.wire.typing);
	assert_true(h->w.wire.hurried);
	house_answer(h, "hi there");
	assert_int_equal(1, h->w.wire.nsent);
	assert_string_equal("hi there", last(h));
	assert_string_equal(OWNER, h->w.wire.sent[0].to);
	assert_string_equal("token-101", h->w.wire.sent[0].token);
	assert_string_equal("", h->w.wire.typing);
	assert_int_equal(1, h->w.wire.typing_off);
	assert_false(h->w.wire.hurried);
	assert_int_equal(1, house_rows(h, INBOX_DONE));
	assert_int_equal(1, fake_history(h->w.db));
}

/* From here on the disk is waited for; the count so far. The first wait is for the folder, too. */
static int disk_waits_begin(struct house *h)
{
	world_sql(&h->w, "PRAGMA synchronous = FULL");
	world_sql(&h->w, "INSERT INTO channel_meta (name, value) VALUES ('x', 1)");
	return world_disk_waits();
}

/* Once ahead of the engine, once ahead of the first part: what is stored on the way goes along. */
static void a_message_waits_for_the_disk_twice(void **state)
{
	struct house *h = *state;
	int before = disk_waits_begin(h);

	house_hear(h, OWNER, "hello");
	assert_int_equal(1, h->engine.starts);
	assert_int_equal(before + 1, world_disk_waits());
	assert_int_equal(0, h->events.settle(h->events.arg, NULL));
	assert_int_equal(before + 1, world_disk_waits());
	h->w.wire.hold = true;
	house_answer(h, "hi there");
	assert_string_equal("hi there", last(h));
	assert_int_equal(before + 2, world_disk_waits());
	h->w.wire.hold = false;
}

/* What is sent out by nobody is not left to chance. */
static void what_only_came_in_waits_for_the_disk_soon(void **state)
{
	struct house *h = *state;
	int before;

	house_hear(h, OWNER, "hello");
	before = disk_waits_begin(h);
	house_hear(h, OWNER, "behind it");
	assert_int_equal(1, waiting(h));
	assert_int_equal(before + 1, world_disk_waits());
	house_hear(h, STRANGER, "psst");
	assert_int_equal(before + 2, world_disk_waits());
}

/* What is allowed may be done at once. */
static void an_answer_is_durable_before_the_engine_has_it(void **state)
{
	static const char *const choices[] = { "yes", "no", NULL };
	struct house *h = *state;
	const struct chan_msg m = { .id = "answer",
		.from = OWNER,
		.token = "t",
		.text = VIEW("1"),
		.typed = true,
		.quote_id = "" };
	int before;

	house_hear(h, OWNER, "work");
	fake_ask(&h->engine, ENGINE_APPROVAL, "q1", "make", choices);
	house_wait(h, 2000);
	before = disk_waits_begin(h);
	assert_int_equal(0, h->events.batch(h->events.arg, &m, 1, NULL));
	assert_int_equal(1, h->engine.answers);
	assert_int_equal(before + 1, world_disk_waits());
}

static void messages_are_run_one_at_a_time_in_order(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "one");
	house_hear(h, GUEST, "two");
	house_hear(h, OWNER, "three");
	assert_int_equal(1, h->engine.starts);
	house_answer(h, "1");
	assert_string_equal("two", h->engine.text);
	assert_string_equal(GUEST, h->engine.conversation);
	house_answer(h, "2");
	assert_string_equal("three", h->engine.text);
	house_answer(h, "3");
	house_wait(h, 5000);
	assert_int_equal(3, h->w.wire.nsent);
	assert_int_equal(3, h->engine.starts);
	assert_int_equal(0, house_rows(h, INBOX_RUNNING));
}

static void turn_numbers_only_grow_over_restarts(void **state)
{
	struct house *h = *state;
	uint64_t before;

	house_hear(h, OWNER, "one");
	before = h->engine.turn;
	house_answer(h, "1");
	house_crash(h);
	house_hear(h, OWNER, "two");
	assert_true(h->engine.turn > before);
}

static void the_newest_token_is_used(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "one");
	house_hear(h, OWNER, "two");
	house_answer(h, "1");
	assert_string_equal("token-102", h->w.wire.sent[0].token);
}

/* --- Intake ----------------------------------------------------------------------------------- */

static void a_replay_is_a_no_op_also_after_a_restart(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "18446744073709551615",
		.from = OWNER,
		.token = "t1",
		.text = VIEW("once"),
		.typed = true,
		.quote_id = "" };

	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(1, h->engine.starts);
	house_answer(h, "done");
	assert_int_equal(1, world_int(&h->w, "SELECT sends FROM channel_peer"));
	m.token = "t2";
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(1, world_int(&h->w, "SELECT sends FROM channel_peer"));
	assert_int_equal(0,
		world_int(&h->w, "SELECT count(*) FROM channel_peer WHERE token = 't2'"));
	house_crash(h);
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(0, h->engine.starts);
	m.id = "18446744073709551614";
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(1, h->engine.starts);
}

static void a_derived_id_is_remembered_too(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "h:0011",
		.derived_id = true,
		.from = OWNER,
		.token = "t",
		.text = VIEW("x"),
		.typed = true,
		.quote_id = "" };

	house_hear_msg(h, &m);
	house_hear_msg(h, &m);
	assert_int_equal(1, h->engine.starts);
}

static void a_message_under_another_id_is_the_same_message(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "1",
		.twin = "h:aa",
		.from = OWNER,
		.token = "t",
		.text = VIEW("x"),
		.typed = true,
		.quote_id = "" };

	assert_int_equal(0, house_hear_msg(h, &m));
	m.id = "2";
	assert_int_equal(0, house_hear_msg(h, &m));
	m.id = "h:0011";
	m.derived_id = true;
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(1, h->engine.starts);
	m.twin = "h:ab"; /* the same words, said again */
	m.id = "3";
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(1, waiting(h));
	/* A /stop that comes again stops nothing more. */
	m.twin = "h:ac";
	m.text = VIEW("/stop");
	m.id = "4";
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(1, h->engine.cancels);
	settle(h->w.loop);
	assert_int_equal(2, h->engine.starts);
	m.id = "5";
	assert_int_equal(0, house_hear_msg(h, &m));
	assert_int_equal(1, h->engine.cancels);
	assert_true(h->engine.running);
}

static void strangers_and_groups_are_never_answered(void **state)
{
	static const char *const texts[] = { "hello", "/stop", "/status", "/help", "1",
		"/nonsense" };
	struct house *h = *state;
	struct chan_msg group = { .id = "5000",
		.from = OWNER,
		.token = "t",
		.text = VIEW("/stop"),
		.typed = true,
		.group = true,
		.quote_id = "" };

	house_hear(h, OWNER, "work");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(0, house_hear(h, STRANGER, texts[i]));
	assert_int_equal(0, house_hear_msg(h, &group));
	house_wait(h, 2000);
	assert_int_equal(0, h->engine.cancels);
	assert_int_equal(0, h->w.wire.nsent);
	assert_int_equal(0, waiting(h));
	assert_int_equal(1, world_int(&h->w, "SELECT count(*) FROM channel_peer"));
	assert_int_equal(8, world_int(&h->w, "SELECT count(*) FROM channel_seen"));
}

static void without_an_owner_nobody_is_served(void **state)
{
	struct house *h = *state;
	struct control_env env = { .loop = h->w.loop,
		.db = h->w.db,
		.channel = &h->w.wire.channel,
		.engine = &h->engine.engine,
		.bot_id = BOT,
		.owner = "",
		.media = h->w.media };

	control_close(&h->control);
	assert_int_equal(0, control_open(&h->control, &env, &h->settings, NULL));
	control_events(h->control, &h->events);
	control_run(h->control);
	house_hear(h, OWNER, "hello");
	house_hear(h, GUEST, "hello");
	house_hear(h, "", "hello");
	assert_int_equal(0, h->engine.starts);
	assert_int_equal(0, h->w.wire.nsent);
}

static void a_burst_of_thirty_with_room_for_twenty(void **state)
{
	struct house *h = *state;
	struct chan_msg m[30];
	char ids[30][8];
	struct err e = ERR_INIT;

	assert_int_equal(0, control_pause(h->control, true, NULL));
	for (int i = 0; i < 30; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%d", 1000 + i);
		m[i] = (struct chan_msg){ .id = ids[i],
			.from = i % 6 == 5 ? STRANGER : OWNER,
			.token = "t",
			.text = VIEW("task"),
			.typed = true,
			.quote_id = "" };
	}
	assert_int_equal(0, h->events.batch(h->events.arg, m, 30, &e));
	house_wait(h, 10000);
	assert_int_equal(20, waiting(h));
	assert_int_equal(1, h->w.wire.nsent);
	assert_said(h, "5 message(s) were not taken");
	assert_said(h, "limit 20");
	assert_int_equal(30, world_int(&h->w, "SELECT count(*) FROM channel_seen"));
	assert_int_equal(5, world_int(&h->w, "SELECT count(*) FROM channel_seen WHERE what = 3"));
	assert_int_equal(5, world_int(&h->w, "SELECT count(*) FROM channel_seen WHERE what = 2"));
}

static void what_cannot_be_read_is_answered_once(void **state)
{
	static const struct {
		enum chan_msg_state state;
		size_t nitems;
		const char *says;
	} rows[] = {
		{ CHAN_MSG_UNREADABLE, 0, "could not be read" },
		{ CHAN_MSG_UNSUPPORTED, 0, "does not hand me" },
		{ CHAN_MSG_OK, 0, "does not hand me" },
		{ CHAN_MSG_OK, 1, "does not hand me" },
	};
	struct house *h = *state;
	struct chan_item item = { .kind = CHAN_OTHER,
		.name = "",
		.full_url = "",
		.param = "",
		.key = "" };
	char id[16];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (int n = 0; n < 3; n++) {
			struct chan_msg m = { .id = id,
				.from = OWNER,
				.token = "t",
				.items = &item,
				.nitems = rows[i].nitems,
				.state = rows[i].state,
				.quote_id = "" };
			struct err e = ERR_INIT;

			snprintf(id, sizeof(id), "%zu%d", i + 50, n);
			assert_int_equal(0, h->events.batch(h->events.arg, &m, 1, &e));
		}
		fake_forget(&h->w.wire);
		house_wait(h, 5000);
		assert_int_equal(1, h->w.wire.nsent);
		assert_said(h, rows[i].says);
	}
	assert_int_equal(0, h->engine.starts);
}

/* All that a message may hold is stored and answered, if only by "too big". */
static void the_biggest_message_is_not_lost(void **state)
{
	struct house *h = *state;
	struct chan_item items[CHAN_ITEMS_MAX];
	struct str text = STR_INIT(CHAN_TEXT_MAX), name = STR_INIT(1000), quote = STR_INIT(8000);
	struct chan_msg m = { .id = "900",
		.from = OWNER,
		.token = "t",
		.typed = true,
		.quote_id = "",
		.items = items,
		.nitems = CHAN_ITEMS_MAX };

	for (int i = 0; i < 200; i++)
		str_adds(&name, "\xf0\xa0\x80\x80"); /* four bytes a character */
	for (int i = 0; i < 1500; i++)
		str_adds(&quote, "\xf0\xa0\x80\x80");
	for (size_t i = 0; i < CHAN_ITEMS_MAX; i++)
		items[i] = (struct chan_item){ .kind = CHAN_FILE,
			.name = str_cstr(&name),
			.full_url = "",
			.param = "",
			.key = "" };
	while (text.n < CHAN_TEXT_MAX)
		str_addc(&text, 'x');
	m.text = str_view(&text);
	m.quote = str_view(&quote);
	assert_int_equal(0, house_hear_msg(h, &m));
	house_wait(h, 3000);
	assert_said(h, "1 MiB");
	assert_int_equal(0, house_rows(h, INBOX_DROPPED));
	assert_int_equal(1, house_rows(h, INBOX_FAILED));
	str_release(&text);
	str_release(&name);
	str_release(&quote);
}

static void a_quote_by_id_is_looked_up(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "1",
		.from = OWNER,
		.token = "t",
		.text = VIEW("what of it?"),
		.typed = true,
		.quote_id = "7001" };

	house_hear(h, OWNER, "hello");
	house_answer(h, "the answer");
	house_hear_msg(h, &m);
	assert_string_equal("[quoted message: the answer]\nwhat of it?", h->engine.text);
	assert_int_equal(strlen("[quoted message: the answer]"), h->engine.quoted);
}

static void a_transcript_is_never_a_command(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "1",
		.from = OWNER,
		.token = "t",
		.text = VIEW("/stop"),
		.typed = false,
		.quote_id = "" };

	house_hear_msg(h, &m);
	assert_int_equal(1, h->engine.starts);
	assert_string_equal("[voice, transcribed by machine: /stop]", h->engine.text);
}

/* --- Commands --------------------------------------------------------------------------------- */

static void commands_are_heard_in_every_spelling(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "/help", "/status" },
		{ "/帮助", "/status" },
		{ "／help", "/status" },
		{ "  /HELP  ", "/status" },
		{ "\xe3\x80\x80/Help\xe3\x80\x80", "/status" },
		{ "\xe2\x80\x85/help\xe2\x80\xaf", "/status" },
		{ "\xef\xbb\xbf\xe2\x80\x8b/help\xe2\x80\x8b", "/status" },
		{ "／ｈｅｌｐ", "/status" },
		{ "/help.", "/status" },
		{ "/help please", "/status" },
		{ "/status", "Idle" },
		{ "/状态", "Idle" },
		{ "/queue", "Nothing is waiting" },
		{ "/队列", "Nothing is waiting" },
		{ "/clear", "Nothing is waiting" },
		{ "/清空", "Nothing is waiting" },
		{ "/retry", "no failed" },
		{ "/重试", "no failed" },
		{ "/more", "nothing left" },
		{ "/更多", "nothing left" },
		{ "/stop", "Nothing is running" },
		{ "/停止", "Nothing is running" },
		{ "/停止。", "Nothing is running" },
		{ "/resume", "not paused" },
		{ "/继续", "not paused" },
		{ "/pause", "Paused" },
		{ "/暂停", "Already paused" },
		{ "/继续", "Going on" },
		{ "/new", "new conversation" },
		{ "/新对话", "new conversation" },
		{ "/sessions", "engine reply" },
		{ "/会话", "engine reply" },
		{ "/open 2", "engine reply" },
		{ "/打开 2", "engine reply" },
		{ "/打开2", "engine reply" },
		{ "／打开２", "engine reply" },
		{ "/停止全部", "Nothing is running" },
		{ "/队列删除1", "no number 1" },
		{ "/停止吧", "no command /停止吧" },
		{ "/新对话框", "no command /新对话框" },
		{ "/stop2", "no command /stop2" },
		{ "/model", "engine reply" },
		{ "/模型 x", "engine reply" },
		{ "/compact", "engine reply" },
		{ "/压缩", "engine reply" },
		{ "/usage", "engine reply" },
		{ "/用量", "engine reply" },
		{ "/nonsense", "no command /nonsense" },
		{ "/", "no command /" },
		{ "/etc/passwd", "no command /etc/passwd" },
		{ "//", "no command //" },
		{ "/helpme", "no command /helpme" },
		{ "/stop\xff", "no command /stop" },
	};
	struct house *h = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fake_forget(&h->w.wire);
		assert_int_equal(0, house_hear(h, OWNER, rows[i].text));
		house_wait(h, 2000);
		assert_int_equal(1, h->w.wire.nsent);
		assert_said(h, rows[i].says);
	}
	house_hear(h, OWNER, "／打开２１");
	assert_string_equal("21", h->engine.command_arg);
	house_hear(h, OWNER, "/模型 4O-mini");
	assert_string_equal("4O-mini", h->engine.command_arg);
	assert_int_equal(0, h->engine.starts);
	assert_int_equal(0, waiting(h));
}

static void a_text_with_a_slash_inside_is_no_command(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "what is /etc/passwd?");
	assert_int_equal(1, h->engine.starts);
}

static void a_command_of_the_engine_waits_like_a_message(void **state)
{
	static const char *const list[] = { "init", "/review", "stop", NULL };
	struct house *h = *state;

	h->engine.slash = list;
	house_hear(h, OWNER, "/init now");
	assert_string_equal("/init now", h->engine.text);
	house_answer(h, "ok");
	house_hear(h, OWNER, "／REVIEW。");
	assert_int_equal(2, h->engine.starts);
	assert_string_equal("/review", h->engine.text);
	house_hear(h, OWNER, "/stop"); /* ours goes first */
	assert_int_equal(1, h->engine.cancels);
}

static void a_command_that_asks_the_model_waits_where_the_engine_takes_it(void **state)
{
	static const char *const list[] = { "compact", NULL };
	struct house *h = *state;

	h->engine.slash = list;
	house_hear(h, OWNER, "/压缩");
	assert_int_equal(0, h->engine.commands);
	assert_string_equal("/compact", h->engine.text);
}

static void what_fails_in_the_engine_is_taken_back_and_told_once(void **state)
{
	struct house *h = *state;

	h->engine.command_fails = E_IO;
	house_hear(h, OWNER, "/new");
	house_wait(h, 1000);
	assert_said(h, "the engine says no");
	assert_int_equal(1, h->engine.commands);
	assert_int_equal(0, fake_history(h->w.db));
	house_hear(h, OWNER, "work"); /* intake goes on */
	assert_string_equal("work", h->engine.text);
}

static void engine_commands_get_their_argument_and_conversation(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "/model  kimi-k2 ");
	assert_int_equal(ENGINE_CMD_MODEL, h->engine.command);
	assert_string_equal("kimi-k2", h->engine.command_arg);
	assert_string_equal(OWNER, h->engine.command_conversation);
	house_hear(h, GUEST, "/new");
	assert_int_equal(ENGINE_CMD_NEW, h->engine.command);
	assert_string_equal(GUEST, h->engine.command_conversation);
}

static void a_command_the_engine_lacks_is_said_so(void **state)
{
	static const struct {
		enum err_code code;
		const char *says;
	} rows[] = { { E_UNSUPPORTED, "has no /compact" },
		{ E_BUSY, "the engine says no" } }; /* of the database, say: no task runs */
	struct house *h = *state;

	for (size_t i = 0; i < 2; i++) {
		h->engine.command_fails = rows[i].code;
		house_hear(h, OWNER, "/compact");
		house_wait(h, 1000);
		assert_said(h, rows[i].says);
	}
}

static void a_running_conversation_is_not_changed(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "work");
	house_hear(h, OWNER, "/new");
	house_wait(h, 1000);
	assert_int_equal(0, h->engine.commands);
	assert_said(h, "task is running");
	house_hear(h, GUEST, "/new");
	assert_int_equal(1, h->engine.commands);
}

static void only_the_owner_may(void **state)
{
	static const char *const texts[] = { "/pause", "/resume", "/暂停", "/model x" };
	struct house *h = *state;

	for (size_t i = 0; i < 4; i++) {
		house_hear(h, GUEST, texts[i]);
		house_wait(h, 1000);
		assert_said(h, "Only the owner");
	}
	assert_int_equal(0, h->engine.commands);
	house_hear(h, OWNER, "one");
	house_hear(h, OWNER, "two");
	house_hear(h, GUEST, "/stop all");
	house_wait(h, 1000);
	assert_int_equal(0, h->engine.cancels);
	assert_int_equal(1, waiting(h));
	assert_int_equal(1, fake_count(&h->w.wire, "Only the owner can use /stop"));
}

static void what_an_engine_takes_as_a_turn_is_still_the_owners(void **state)
{
	static const char *const slash[] = { "sessions", "open", "model", "effort", "mode", NULL };
	static const char *const texts[] = { "/会话", "/open 2", "/model x", "/思考 high",
		"/mode auto" };
	static const char *const known[] = { "/sessions", "/open 2", "/model x", "/effort high",
		"/mode auto" };
	struct house *h = *state;

	h->engine.slash = slash;
	for (size_t i = 0; i < 5; i++) {
		fake_forget(&h->w.wire);
		house_hear(h, GUEST, texts[i]);
		house_wait(h, 1000);
		assert_said(h, "Only the owner");
		assert_int_equal(0, waiting(h));
	}
	for (size_t i = 0; i < 5; i++) {
		house_hear(h, OWNER, texts[i]);
		assert_string_equal(known[i], h->engine.text);
		house_answer(h, "ok");
	}
	assert_int_equal(0, h->engine.commands);
}

static void goals_and_steering_are_told_to_be_missing(void **state)
{
	static const char *const slash[] = { "goal", NULL };
	struct house *h = *state;

	h->engine.command_fails = E_UNSUPPORTED;
	house_hear(h, OWNER, "/goal ship it");
	house_wait(h, 1000);
	assert_said(h, "has no /goal");
	house_hear(h, OWNER, "/steer left");
	house_wait(h, 1000);
	assert_said(h, "has no /steer");
	h->engine.slash = slash; /* an agent may have one all the same */
	house_hear(h, OWNER, "/goal ship it");
	assert_string_equal("/goal ship it", h->engine.text);
}

static void commands_do_not_wait_for_a_full_queue(void **state)
{
	static const char *const texts[] = { "/status", "/queue", "/help", "/stop" };
	struct house *h = *state;

	h->settings.queue_limit = 1;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	house_hear(h, OWNER, "runs");
	house_hear(h, OWNER, "waits");
	house_hear(h, OWNER, "too much");
	house_wait(h, 1000);
	assert_said(h, "1 message(s) were not taken");
	for (size_t i = 0; i < 4; i++) {
		fake_forget(&h->w.wire);
		house_hear(h, OWNER, texts[i]);
		house_wait(h, 1000);
		assert_int_equal(1, h->w.wire.nsent);
	}
	assert_int_equal(1, h->engine.cancels);
}

static void status_tells_what_is_going_on(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "one");
	house_hear(h, OWNER, "two");
	house_wait(h, 5000);
	house_hear(h, OWNER, "/status");
	house_wait(h, 1000);
	assert_said(h, "Working on a task for 5 s");
	assert_said(h, "Waiting: 1 of 20");
	assert_said(h, "of 10 used");
	assert_said(h, "Link: up");
	assert_said(h, "fake, nothing at nowhere");
}

static void the_queue_is_listed_dropped_and_cleared(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "runs");
	house_hear(h, OWNER, "first <b>");
	house_hear(h, GUEST, "not yours");
	house_hear(h, OWNER, "second");
	house_hear(h, OWNER, "/queue");
	house_wait(h, 1000);
	assert_said(h, "Your waiting messages (2)");
	assert_said(h, "1. first ＜b＞");
	assert_said(h, "2. second");
	assert_said(h, "1 of other people");
	assert_null(strstr(last(h), "not yours"));
	house_hear(h, OWNER, "/队列 删除 ２");
	house_wait(h, 1000);
	assert_said(h, "Removed: second");
	house_hear(h, OWNER, "/queue drop 2");
	house_wait(h, 1000);
	assert_said(h, "no number 2");
	house_hear(h, OWNER, "/queue DROP x");
	house_wait(h, 1000);
	assert_said(h, "no number x");
	house_hear(h, OWNER, "/clear");
	house_wait(h, 1000);
	assert_said(h, "1 of your waiting");
	assert_int_equal(1, waiting(h));
	house_answer(h, "done");
	assert_string_equal("not yours", h->engine.text);
}

/* --- Stopping --------------------------------------------------------------------------------- */

static void stop_is_obeyed_at_once_and_tells_what_waits(void **state)
{
	struct house *h = *state;
	int sent;

	house_hear(h, OWNER, "runs");
	house_hear(h, OWNER, "waits");
	h->engine.deaf = true;
	fake_event(&h->engine, ENGINE_TEXT, "half an ans");
	house_hear(h, OWNER, "/stop");
	assert_int_equal(1, h->engine.cancels);
	assert_said(h, "Stopped: runs\n1 still waiting");
	assert_string_equal("", h->w.wire.typing);
	assert_int_equal(1, h->engine.starts); /* the next waits for the end */
	sent = h->w.wire.nsent;
	fake_done(&h->engine, ENGINE_OK, "the whole answer", "");
	house_wait(h, 3000);
	assert_int_equal(sent, h->w.wire.nsent); /* nothing of it after the notice */
	assert_int_equal(1, house_rows(h, INBOX_STOPPED));
	assert_int_equal(2, h->engine.starts);
	assert_int_equal(1, fake_history(h->w.db)); /* its history is kept valid */
}

static void a_second_stop_says_the_same(void **state)
{
	struct house *h = *state;

	h->engine.deaf = true;
	house_hear(h, OWNER, "runs");
	house_hear(h, OWNER, "/stop");
	house_hear(h, OWNER, "/stop");
	assert_int_equal(1, h->engine.cancels);
	assert_int_equal(2, fake_count(&h->w.wire, "Stopped: runs"));
}

static void stop_all_drops_what_waits(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "runs");
	house_hear(h, OWNER, "two");
	house_hear(h, GUEST, "three");
	house_hear(h, OWNER, "/停止 全部");
	assert_said(h, "Stopped: runs\n2 waiting message(s) dropped");
	house_wait(h, 2000);
	assert_int_equal(0, waiting(h));
	assert_int_equal(1, h->engine.starts);
}

static void stop_ends_an_answer_that_is_being_sent(void **state)
{
	struct house *h = *state;
	struct str s = STR_INIT(20000);
	int sent;

	while (s.n < 9000)
		str_adds(&s, "words and ");
	house_hear(h, OWNER, "go");
	house_answer(h, str_cstr(&s));
	assert_int_equal(1, h->w.wire.nsent);
	house_hear(h, OWNER, "/stop");
	assert_said(h, "Stopped sending");
	sent = h->w.wire.nsent;
	house_wait(h, 20000);
	assert_int_equal(sent, h->w.wire.nsent);
	str_release(&s);
}

static void stop_aborts_a_send_that_hangs(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	h->w.wire.hold = true;
	house_answer(h, "an answer on its way");
	assert_true(h->w.wire.flying);
	h->w.wire.hold = false;
	house_hear(h, OWNER, "/stop");
	assert_int_equal(1, h->w.wire.aborts);
	assert_said(h, "Stopped sending");
	house_wait(h, 60000);
	assert_int_equal(1, fake_count(&h->w.wire, "on its way"));
}

static void a_guest_stops_only_his_own(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "runs");
	house_hear(h, GUEST, "/stop");
	assert_int_equal(0, h->engine.cancels);
	assert_said(h, "Nothing is running");
	house_answer(h, "done");
	house_hear(h, GUEST, "mine");
	house_hear(h, GUEST, "mine too");
	house_hear(h, OWNER, "his");
	house_hear(h, GUEST, "/stop");
	assert_int_equal(1, h->engine.cancels);
	assert_said(h, "Stopped: mine\n1 of yours still waiting (/clear");
}

static void the_owner_stops_a_guests_task_and_the_guest_is_told(void **state)
{
	struct house *h = *state;

	house_hear(h, GUEST, "mine");
	house_hear(h, OWNER, "/stop");
	house_wait(h, 2000);
	assert_int_equal(1, h->engine.cancels);
	assert_int_equal(1, fake_count(&h->w.wire, "Stopped another person's task.\nNothing"));
	assert_int_equal(1, fake_count(&h->w.wire, "The owner stopped your task"));
	assert_int_equal(0, fake_count(&h->w.wire, "mine"));
	house_hear(h, GUEST, "/retry");
	assert_string_equal("mine", h->engine.text);
	assert_int_equal(2, h->engine.starts);
}

static void a_stop_that_was_batched_with_its_task_comes_in_time(void **state)
{
	struct house *h = *state;
	struct chan_msg m[2] = {
		{ .id = "1",
			.from = OWNER,
			.token = "t",
			.text = VIEW("work"),
			.typed = true,
			.quote_id = "" },
		{ .id = "2",
			.from = OWNER,
			.token = "t",
			.text = VIEW("/stop all"),
			.typed = true,
			.quote_id = "" },
	};

	int before = disk_waits_begin(h);

	assert_int_equal(0, h->events.batch(h->events.arg, m, 2, NULL));
	assert_int_equal(before, world_disk_waits());
	/* Many wait for the disk once: before the channel may move its cursor. */
	assert_int_equal(0, h->events.settle(h->events.arg, NULL));
	assert_int_equal(0, h->events.settle(h->events.arg, NULL));
	assert_int_equal(before + 1, world_disk_waits());
	assert_int_equal(2, world_int(&h->w, "PRAGMA synchronous")); /* FULL */
	house_wait(h, 1000);
	assert_int_equal(0, h->engine.starts);
	assert_said(h, "1 waiting message(s) dropped");
}

static void stop_drops_the_progress_that_was_not_sent_yet(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	h->w.wire.hold = true;
	house_wait(h, 31000);
	assert_int_equal(1, fake_count(&h->w.wire, "Still working"));
	h->w.wire.hold = false;
	house_hear(h, OWNER, "/stop");
	house_wait(h, 60000);
	assert_int_equal(1, fake_count(&h->w.wire, "Still working"));
	assert_int_equal(1, fake_count(&h->w.wire, "Stopped: go"));
}

/* --- Pause ------------------------------------------------------------------------------------ */

static void a_pause_takes_nothing_from_the_queue_and_survives_a_restart(void **state)
{
	struct house *h = *state;
	struct control_status s;

	house_hear(h, OWNER, "/pause");
	house_hear(h, OWNER, "work");
	house_wait(h, 2000);
	assert_int_equal(0, h->engine.starts);
	house_crash(h);
	assert_int_equal(0, h->engine.starts);
	assert_int_equal(0, control_status(h->control, &s, NULL));
	assert_true(s.paused);
	assert_int_equal(1, s.waiting);
	house_hear(h, OWNER, "/resume");
	assert_int_equal(1, h->engine.starts);
}

static void a_pause_lets_the_running_task_end(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "one");
	house_hear(h, OWNER, "/pause");
	house_hear(h, OWNER, "two");
	house_answer(h, "done");
	house_wait(h, 2000);
	assert_int_equal(1, fake_count(&h->w.wire, "done"));
	assert_int_equal(1, h->engine.starts);
	house_hear(h, OWNER, "/resume");
	assert_int_equal(2, h->engine.starts);
}

/* --- Ends of a turn --------------------------------------------------------------------------- */

static void every_failure_is_told_and_can_be_retried(void **state)
{
	struct house *h = *state;

	for (int f = ENGINE_FAIL_CANCELLED; f <= ENGINE_FAIL_INTERNAL; f++) {
		fake_forget(&h->w.wire);
		house_hear(h, OWNER, "try");
		fake_done(&h->engine, (enum engine_fail)f, "", "detail here");
		house_wait(h, 1000);
		assert_int_equal(1, h->w.wire.nsent);
		assert_true(strlen(last(h)) > 10);
		if (f != ENGINE_FAIL_INPUT)
			assert_said(h, "/retry");
		house_hear(h, OWNER, "/retry");
		assert_true(h->engine.running);
		assert_string_equal("try", h->engine.text);
		house_answer(h, "ok");
		house_wait(h, 3000);
	}
}

static void an_empty_answer_is_a_failure(void **state)
{
	/* The others hold what no phone shows. */
	static const char *const answers[] = { " \n ", "\xe2\x80\x8b\xef\xbb\xbf", "\xe3\x85\xa4" };
	struct house *h = *state;

	for (int i = 0; i < 3; i++) {
		house_hear(h, OWNER, "try");
		house_answer(h, answers[i]);
		house_wait(h, 3000);
		assert_int_equal(i + 1, fake_count(&h->w.wire, "empty answer"));
		assert_int_equal(i + 1, h->w.wire.nsent);
		assert_int_equal(i + 1, house_rows(h, INBOX_FAILED));
	}
}

static void a_retry_that_has_to_wait_is_confirmed(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "try");
	fake_done(&h->engine, ENGINE_FAIL_PROVIDER, "", "");
	house_hear(h, OWNER, "other");
	house_hear(h, OWNER, "/retry");
	house_wait(h, 3000);
	assert_int_equal(1, fake_count(&h->w.wire, "Queued to run again: try"));
	assert_int_equal(1, waiting(h));
}

static void retry_asked_for_twice_means_the_same_message(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "old");
	fake_done(&h->engine, ENGINE_FAIL_PROVIDER, "", "");
	house_hear(h, OWNER, "new");
	h->w.clock.wall -= 3600000; /* which of them is newer does not hang on the clock */
	fake_done(&h->engine, ENGINE_FAIL_PROVIDER, "", "");
	house_hear(h, OWNER, "/retry");
	house_hear(h, OWNER, "/retry");
	assert_string_equal("new", h->engine.text);
	assert_int_equal(0, waiting(h));
	house_wait(h, 5000);
	assert_int_equal(1, fake_count(&h->w.wire, "Queued to run again: new"));
	house_answer(h, "done");
	house_hear(h, OWNER, "/retry");
	assert_string_equal("old", h->engine.text);
}

static void half_an_answer_is_sent_before_its_failure(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "try");
	fake_done(&h->engine, ENGINE_FAIL_STALLED, "the first half", "");
	house_wait(h, 2000);
	assert_int_equal(2, h->w.wire.nsent);
	assert_string_equal("the first half", h->w.wire.sent[0].text);
	assert_said(h, "fell silent");
}

static void an_engine_that_does_not_start_is_told(void **state)
{
	struct house *h = *state;

	h->engine.refuse = true;
	house_hear(h, OWNER, "try");
	house_wait(h, 1000);
	assert_said(h, "the engine does not start");
	assert_int_equal(1, house_rows(h, INBOX_FAILED));
	h->engine.refuse = false;
	house_hear(h, OWNER, "again");
	assert_int_equal(1, h->engine.starts);
}

static void still_working_is_said_once_after_thirty_seconds(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "slow");
	pass(&h->w.clock, h->w.loop, 29999);
	assert_int_equal(0, h->w.wire.nsent);
	pass(&h->w.clock, h->w.loop, 1);
	assert_said(h, "Still working");
	house_wait(h, 600000);
	assert_int_equal(1, h->w.wire.nsent);
	house_answer(h, "done");
	house_wait(h, 2000);
	assert_int_equal(2, h->w.wire.nsent);
}

static void text_events_are_not_sent_on_their_own(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	for (int i = 0; i < 25; i++)
		fake_event(&h->engine, ENGINE_TEXT, "progress");
	fake_event(&h->engine, ENGINE_THOUGHT, "thinking");
	fake_event(&h->engine, ENGINE_TOOL_STARTED, "tool");
	house_answer(h, "the end");
	house_wait(h, 3000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_string_equal("the end", last(h));
}

static void an_answer_goes_through_the_formatter(void **state)
{
	struct house *h = *state;

	h->settings.mode = FORMAT_PLAIN;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	house_hear(h, OWNER, "go");
	house_answer(h, "<think>hidden</think>**bold**");
	assert_string_equal("bold", last(h));
}

static void a_notice_outside_any_turn_goes_to_the_owner(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	house_answer(h, "ok");
	fake_event(&h->engine, ENGINE_NOTICE, "background work ended");
	house_wait(h, 2000);
	assert_string_equal("background work ended", last(h));
	assert_string_equal(OWNER, h->w.wire.sent[1].to);
}

static void a_notice_goes_to_whom_its_conversation_belongs(void **state)
{
	static const struct {
		const char *conversation, *to;
	} rows[] = { { GUEST, GUEST }, { OWNER, OWNER }, { "nobody@im.wechat", OWNER } };
	struct house *h = *state;

	house_hear(h, OWNER, "/status");
	house_hear(h, GUEST, "/status");
	house_wait(h, 1000);
	for (size_t i = 0; i < 3; i++) {
		struct engine_event ev = { .type = ENGINE_NOTICE, .text = VIEW("it has ended") };

		ev.conversation = rows[i].conversation;
		fake_forget(&h->w.wire);
		h->engine.engine.on_event(h->engine.engine.arg, &ev);
		house_wait(h, 2000);
		assert_int_equal(1, h->w.wire.nsent);
		assert_string_equal("it has ended", last(h));
		assert_string_equal(rows[i].to, h->w.wire.sent[0].to);
	}
}

static void a_turn_past_its_deadline_is_ended_and_told(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "for ever");
	pass(&h->w.clock, h->w.loop, TURN_DEADLINE_MS);
	house_wait(h, 2000);
	assert_int_equal(1, h->engine.cancels);
	assert_said(h, "past its time limit");
}

/* --- More ------------------------------------------------------------------------------------- */

static void long_answer(struct house *h, int parts)
{
	struct str s = STR_INIT(1 << 20);

	for (int i = 1; i <= parts; i++) {
		size_t end = (size_t)i * (CHUNK_LIMIT_DEFAULT - 48);

		str_addf(&s, "part-%d ", i);
		while (s.n < end)
			str_addc(&s, 'x');
	}
	house_answer(h, str_cstr(&s));
	str_release(&s);
}

static void more_gives_the_rest(void **state)
{
	static const char *const texts[] = { "/more", "/更多", "更多", "more" };
	struct house *h = *state;

	for (size_t i = 0; i < 4; i++) {
		fake_forget(&h->w.wire);
		house_hear(h, OWNER, "go");
		long_answer(h, 12);
		house_wait(h, 20000);
		assert_int_equal(8, h->w.wire.nsent);
		assert_said(h, "/more");
		house_hear(h, OWNER, texts[i]);
		house_wait(h, 20000);
		assert_int_equal(12, h->w.wire.nsent);
		assert_said(h, "part-12");
		assert_int_equal((int)i + 1, h->engine.starts);
	}
}

static void any_message_releases_some_and_the_new_answer_finds_room(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	long_answer(h, 20);
	house_wait(h, 20000);
	assert_int_equal(8, h->w.wire.nsent);
	house_hear(h, OWNER, "next");
	house_wait(h, 20000);
	assert_int_equal(12, h->w.wire.nsent);
	assert_said(h, "/more");
	house_answer(h, "new answer");
	house_wait(h, 2000);
	assert_int_equal(13, h->w.wire.nsent);
	assert_said(h, "new answer");
	house_hear(h, OWNER, "/more");
	house_wait(h, 20000);
	assert_int_equal(21, h->w.wire.nsent);
	assert_int_equal(1, fake_count(&h->w.wire, "part-20 "));
}

static void a_stop_does_not_release_what_is_parked(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	long_answer(h, 12);
	house_wait(h, 20000);
	house_hear(h, OWNER, "/stop");
	house_wait(h, 20000);
	assert_int_equal(9, h->w.wire.nsent);
	house_hear(h, OWNER, "/more");
	house_wait(h, 20000);
	assert_int_equal(13, h->w.wire.nsent);
}

/* --- Crashes ---------------------------------------------------------------------------------- */

static void a_turn_cut_off_by_a_crash_is_told_and_not_run_again(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "delicate");
	house_crash(h);
	house_wait(h, 1000);
	assert_int_equal(0, h->engine.starts);
	assert_said(h, "restarted");
	assert_said(h, "delicate");
	assert_said(h, "/retry");
	assert_int_equal(1, house_rows(h, INBOX_INTERRUPTED));
	house_hear(h, OWNER, "/retry");
	assert_int_equal(1, h->engine.starts);
	assert_string_equal("delicate", h->engine.text);
	house_answer(h, "done");
	house_hear(h, OWNER, "/retry");
	house_wait(h, 3000);
	assert_int_equal(1, fake_count(&h->w.wire, "no failed"));
}

static void what_waited_at_a_crash_is_run_after_it(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "runs");
	house_hear(h, OWNER, "waits");
	house_crash(h);
	assert_int_equal(1, h->engine.starts);
	assert_string_equal("waits", h->engine.text);
}

static void an_answer_stored_at_a_crash_is_sent_after_it(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	h->w.wire.hold = true;
	house_answer(h, "kept");
	h->w.wire.hold = false;
	house_crash(h);
	house_wait(h, 2000);
	assert_int_equal(2, fake_count(&h->w.wire, "kept"));
	assert_string_equal(h->w.wire.sent[0].client_id, h->w.wire.sent[1].client_id);
	assert_int_equal(1, house_rows(h, INBOX_DONE));
	assert_int_equal(0, house_rows(h, INBOX_INTERRUPTED));
}

static void a_crash_in_the_middle_of_a_batch_is_harmless(void **state)
{
	struct house *h = *state;
	struct chan_msg m[5];
	char ids[5][8], texts[5][8];

	for (int i = 0; i < 5; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%d", 500 + i);
		snprintf(texts[i], sizeof(texts[i]), "m%d", i);
		m[i] = (struct chan_msg){ .id = ids[i],
			.from = OWNER,
			.token = "t",
			.text = view_of(texts[i]),
			.typed = true,
			.quote_id = "" };
	}
	assert_int_equal(0, h->events.batch(h->events.arg, m, 2, NULL));
	house_crash(h); /* the cursor did not move: all five come again */
	assert_int_equal(0, h->events.batch(h->events.arg, m, 5, NULL));
	for (int i = 0; i < 5; i++) {
		settle(h->w.loop);
		assert_string_equal(texts[i], h->engine.text);
		house_answer(h, "ok");
	}
	assert_false(h->engine.running);
	assert_int_equal(5, h->engine.starts);
}

/* --- A full disk ------------------------------------------------------------------------------ */

static void a_full_disk_stops_intake_says_so_and_hears_stop(void **state)
{
	struct house *h = *state;
	struct chan_msg m[2] = {
		{ .id = "900",
			.from = OWNER,
			.token = "fresh",
			.text = VIEW("work"),
			.typed = true,
			.quote_id = "" },
		{ .id = "901",
			.from = OWNER,
			.token = "fresh",
			.text = VIEW("/stop"),
			.typed = true,
			.quote_id = "" },
	};
	struct control_status s;
	struct err e = ERR_INIT;

	house_hear(h, OWNER, "runs");
	world_full(&h->w, true);
	assert_int_equal(-1, h->events.batch(h->events.arg, m, 1, &e));
	settle(h->w.loop);
	assert_said(h, "cannot be stored");
	assert_string_equal("fresh", h->w.wire.sent[0].token);
	assert_int_equal(0, control_status(h->control, &s, NULL));
	assert_true(s.intake_error[0] != '\0');
	assert_int_equal(0, h->engine.cancels);

	assert_int_equal(-1, h->events.batch(h->events.arg, m, 2, &e));
	settle(h->w.loop);
	assert_int_equal(1, h->engine.cancels);
	assert_int_equal(2, h->w.wire.nsent);
	assert_said(h, "Stopped: runs");

	/* The disk has room again, the same messages come once more. */
	world_full(&h->w, false);
	house_wait(h, 6000);
	assert_int_equal(0, h->events.batch(h->events.arg, m, 2, &e));
	settle(h->w.loop);
	assert_string_equal("work", h->engine.text);
	assert_true(h->engine.running); /* the old /stop does not stop it */
	assert_int_equal(1, h->engine.cancels);
	assert_int_equal(0, control_status(h->control, &s, NULL));
	assert_string_equal("", s.intake_error);
	assert_int_equal(1, house_rows(h, INBOX_STOPPED));
}

static void an_answer_that_could_not_be_stored_is_sent_when_it_can(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	world_full(&h->w, true);
	house_answer(h, "the answer");
	house_wait(h, 20000);
	assert_int_equal(0, h->w.wire.nsent);
	world_full(&h->w, false);
	house_wait(h, 10000);
	assert_int_equal(1, fake_count(&h->w.wire, "the answer"));
	assert_int_equal(1, fake_count(&h->w.wire, "could not be saved"));
	assert_int_equal(1, house_rows(h, INBOX_DONE));
	house_hear(h, OWNER, "next");
	assert_int_equal(2, h->engine.starts);
}

static void an_engine_that_cannot_save_still_answers(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	h->engine.save_fails = true;
	house_answer(h, "the answer");
	house_wait(h, 1000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_said(h, "the answer");
	assert_said(h, "could not be saved");
}

static void no_turn_starts_that_could_not_be_marked(void **state)
{
	struct house *h = *state;

	control_pause(h->control, true, NULL);
	house_hear(h, OWNER, "go");
	control_pause(h->control, false, NULL);
	world_full(&h->w, true);
	house_wait(h, 20000);
	assert_int_equal(0, h->engine.starts);
	world_full(&h->w, false);
	house_wait(h, 10000);
	assert_int_equal(1, h->engine.starts);
}

/* --- Language --------------------------------------------------------------------------------- */

static void the_language_follows_the_user(void **state)
{
	struct house *h = *state;

	h->settings.language = LANG_AUTO;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	house_hear(h, OWNER, "/queue"); /* nothing known yet: both */
	assert_said(h, "没有排队");
	assert_said(h, "Nothing is waiting");
	house_hear(h, OWNER, "/status"); /* what is put together as well */
	house_wait(h, 1000);
	assert_said(h, "连接：正常\n助手：假的");
	assert_said(h, "Link: up\nAgent: fake");
	house_hear(h, OWNER, "看看 README");
	house_answer(h, "好");
	house_hear(h, OWNER, "/queue"); /* a Latin command does not change it */
	house_wait(h, 1000);
	assert_said(h, "没有排队");
	assert_null(strstr(last(h), "Nothing"));
	house_hear(h, OWNER, "ok");
	assert_string_equal("zh", h->engine.language);
	house_answer(h, "好");
	house_hear(h, OWNER, "in english please");
	assert_string_equal("en", h->engine.language);
	house_answer(h, "ok");
	house_hear(h, OWNER, "/队列");
	house_wait(h, 1000);
	assert_said(h, "没有排队");
}

/* --- Handles of the terminal ------------------------------------------------------------------ */

struct reported {
	int events, done;
	enum engine_fail fail;
	char text[64];
};

static void on_ask(void *arg, const struct engine_event *ev)
{
	struct reported *got = arg;

	got->events++;
	if (ev->type != ENGINE_DONE)
		return;
	got->done++;
	got->fail = ev->fail;
	assert_null(ev->save);
	snprintf(got->text, sizeof(got->text), "%.*s", VIEW_FMT(ev->text));
}

static void a_prompt_of_the_terminal_goes_through_the_queue(void **state)
{
	struct house *h = *state;
	struct reported got = { .events = 0 };
	uint64_t ticket;

	house_hear(h, OWNER, "phone");
	assert_int_equal(0, control_ask(h->control, VIEW("terminal"), on_ask, &got, &ticket, NULL));
	settle(h->w.loop);
	assert_int_equal(1, h->engine.starts);
	house_answer(h, "for the phone");
	assert_string_equal("terminal", h->engine.text);
	assert_int_equal(ORIGIN_TERMINAL, h->engine.origin);
	assert_string_equal(OWNER, h->engine.conversation);
	assert_string_equal("", h->w.wire.typing);
	fake_event(&h->engine, ENGINE_TEXT, "pie");
	house_answer(h, "for the terminal");
	house_wait(h, 2000);
	assert_int_equal(2, got.events);
	assert_int_equal(1, got.done);
	assert_string_equal("for the terminal", got.text);
	assert_int_equal(1, h->w.wire.nsent);
	assert_int_equal(2, house_rows(h, INBOX_DONE));
}

static void a_prompt_that_is_dropped_ends(void **state)
{
	static const char *const how[] = { "/clear", "/stop all", "/queue drop 1" };
	struct house *h = *state;
	uint64_t ticket;

	house_hear(h, OWNER, "phone");
	for (size_t i = 0; i < 3; i++) {
		struct reported got = { .events = 0 };

		assert_int_equal(0,
			control_ask(h->control, VIEW("x"), on_ask, &got, &ticket, NULL));
		house_hear(h, OWNER, how[i]);
		assert_int_equal(1, got.done);
		assert_int_equal(ENGINE_FAIL_CANCELLED, got.fail);
	}
}

static void a_prompt_can_be_cancelled_while_it_waits_and_runs(void **state)
{
	struct house *h = *state;
	struct reported got = { .events = 0 };
	uint64_t first, second;

	assert_int_equal(0, control_ask(h->control, VIEW("one"), on_ask, &got, &first, NULL));
	assert_int_equal(0, control_ask(h->control, VIEW("two"), on_ask, &got, &second, NULL));
	settle(h->w.loop);
	control_ask_cancel(h->control, second);
	assert_int_equal(0, h->engine.cancels);
	control_ask_cancel(h->control, first);
	house_wait(h, 2000);
	assert_int_equal(1, h->engine.cancels);
	assert_int_equal(0, got.events);
	assert_int_equal(1, h->engine.starts);
	assert_int_equal(2, house_rows(h, INBOX_DROPPED));
	control_ask_cancel(h->control, first);
}

static void a_phones_stop_ends_a_prompt_of_the_terminal(void **state)
{
	struct house *h = *state;
	struct reported got = { .events = 0 };
	uint64_t ticket;

	assert_int_equal(0, control_ask(h->control, VIEW("one"), on_ask, &got, &ticket, NULL));
	settle(h->w.loop);
	house_hear(h, OWNER, "/stop");
	house_wait(h, 1000);
	assert_int_equal(1, got.done);
	assert_int_equal(ENGINE_FAIL_CANCELLED, got.fail);
}

static void a_question_of_a_terminal_turn_goes_to_the_terminal(void **state)
{
	static const char *const choices[] = { "yes", "no", NULL };
	struct house *h = *state;
	struct reported got = { .events = 0 };
	uint64_t ticket;

	assert_int_equal(0, control_ask(h->control, VIEW("one"), on_ask, &got, &ticket, NULL));
	settle(h->w.loop);
	fake_ask(&h->engine, ENGINE_APPROVAL, "q1", "rm x", choices);
	house_wait(h, 1000);
	assert_int_equal(1, got.events);
	assert_int_equal(0, h->w.wire.nsent);
	assert_int_equal(-1, control_ask_answer(h->control, ticket + 1, "q1", 0, NULL));
	assert_int_equal(0, control_ask_answer(h->control, ticket, "q1", 1, NULL));
	assert_int_equal(1, h->engine.choice);
}

static void a_question_at_the_terminal_has_its_time_too(void **state)
{
	struct house *h = *state;
	struct reported got = { .events = 0 };
	uint64_t ticket;

	assert_int_equal(0, control_ask(h->control, VIEW("one"), on_ask, &got, &ticket, NULL));
	settle(h->w.loop);
	fake_approval(&h->engine, "q1", "ls");
	pass(&h->w.clock, h->w.loop, QUESTION_TIMEOUT_MS - 1);
	assert_int_equal(0, h->engine.answers);
	house_hear(h, OWNER, "1"); /* nothing is open to the phone: a prompt */
	assert_int_equal(0, h->engine.answers);
	assert_int_equal(1, house_rows(h, INBOX_WAITING));
	pass(&h->w.clock, h->w.loop, 1);
	assert_int_equal(1, h->engine.answers);
	assert_int_equal(ANSWER_NONE, h->engine.choice);
	fake_approval(&h->engine, "q2", "ls");
	assert_int_equal(0, control_ask_answer(h->control, ticket, "q2", APPROVAL_ONCE, NULL));
	pass(&h->w.clock, h->w.loop, QUESTION_TIMEOUT_MS);
	assert_int_equal(2, h->engine.answers);
	assert_int_equal(0, h->w.wire.nsent);
}

static void prompts_that_are_not_fit_are_refused(void **state)
{
	struct house *h = *state;
	struct reported got = { .events = 0 };
	struct err e = ERR_INIT;
	uint64_t t;

	assert_int_equal(-1, control_ask(h->control, VIEW("  "), on_ask, &got, &t, &e));
	assert_int_equal(E_FORMAT, e.code);
	assert_int_equal(-1, control_ask(h->control, VIEW("\xff"), on_ask, &got, &t, &e));
	assert_int_equal(-1, control_ask(h->control, VIEW("a\0b"), on_ask, &got, &t, &e));
	h->settings.queue_limit = 1;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	assert_int_equal(0, control_ask(h->control, VIEW("one"), on_ask, &got, &t, &e));
	settle(h->w.loop);
	assert_int_equal(0, control_ask(h->control, VIEW("two"), on_ask, &got, &t, &e));
	assert_int_equal(-1, control_ask(h->control, VIEW("three"), on_ask, &got, &t, &e));
	assert_int_equal(E_FULL, e.code);
}

static void a_prompt_of_the_terminal_does_not_outlive_a_crash(void **state)
{
	struct house *h = *state;
	struct reported got = { .events = 0 };
	uint64_t t;

	assert_int_equal(0, control_ask(h->control, VIEW("one"), on_ask, &got, &t, NULL));
	settle(h->w.loop);
	assert_int_equal(0, control_ask(h->control, VIEW("two"), on_ask, &got, &t, NULL));
	house_crash(h);
	house_wait(h, 1000);
	assert_int_equal(0, h->engine.starts);
	assert_int_equal(0, h->w.wire.nsent);
	assert_int_equal(2, house_rows(h, INBOX_DROPPED));
	assert_int_equal(0, got.events);
}

static void sending_from_the_terminal_needs_an_open_window(void **state)
{
	struct house *h = *state;
	struct err e = ERR_INIT;

	assert_int_equal(-1, control_send(h->control, NULL, VIEW("hi"), NULL, 0, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(-1, control_send(h->control, STRANGER, VIEW("hi"), NULL, 0, &e));
	assert_int_equal(E_DENIED, e.code);
	house_hear(h, OWNER, "/help");
	assert_int_equal(-1, control_send(h->control, NULL, VIEW(" "), NULL, 0, &e));
	assert_int_equal(E_FORMAT, e.code);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(0, control_send(h->control, NULL, VIEW("hi"), NULL, 0, &e));
		house_wait(h, 2000);
		assert_string_equal("hi", last(h));
	}
	assert_int_equal(-1, control_send(h->control, NULL, VIEW("hi"), NULL, 0, &e));
	assert_int_equal(E_DENIED, e.code);
	house_hear(h, OWNER, "/help");
	h->w.clock.wall += (int64_t)24 * 3600 * 1000;
	assert_int_equal(-1, control_send(h->control, OWNER, VIEW("hi"), NULL, 0, &e));
	assert_int_equal(E_DENIED, e.code);
}

static void stopping_from_the_terminal(void **state)
{
	struct house *h = *state;
	bool stopped;
	int dropped;

	assert_int_equal(0, control_stop(h->control, false, &stopped, &dropped, NULL));
	assert_false(stopped);
	house_hear(h, OWNER, "one");
	house_hear(h, OWNER, "two");
	house_hear(h, GUEST, "three");
	assert_int_equal(0, control_stop(h->control, true, &stopped, &dropped, NULL));
	assert_true(stopped);
	assert_int_equal(2, dropped);
	house_wait(h, 2000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_said(h, "Stopped: one");
	assert_int_equal(1, h->engine.starts);
}

static void on_done(void *arg)
{
	++*(int *)arg;
}

static void a_shutdown_ends_the_turn_and_tells_of_it_at_the_next_start(void **state)
{
	struct house *h = *state;
	int done = 0;

	house_hear(h, OWNER, "work");
	control_shutdown(h->control, 5000, on_done, &done);
	assert_int_equal(0, done);
	settle(h->w.loop);
	assert_int_equal(1, done);
	assert_int_equal(1, h->engine.cancels);
	assert_int_equal(0, h->w.wire.nsent);
	assert_int_equal(1, house_rows(h, INBOX_INTERRUPTED));
	house_wait(h, 10000);
	assert_int_equal(1, done);
	house_crash(h);
	house_wait(h, 1000);
	assert_said(h, "/retry");
	assert_int_equal(1, h->w.wire.nsent);
}

static void a_shutdown_waits_no_longer_than_its_grace(void **state)
{
	struct house *h = *state;
	int done = 0;

	h->engine.deaf = true;
	house_hear(h, OWNER, "work");
	control_shutdown(h->control, 3000, on_done, &done);
	pass(&h->w.clock, h->w.loop, 2999);
	assert_int_equal(0, done);
	pass(&h->w.clock, h->w.loop, 1);
	assert_int_equal(1, done);
	house_crash(h);
	house_wait(h, 1000);
	assert_said(h, "restarted");
}

static void a_shutdown_lets_a_send_land(void **state)
{
	struct house *h = *state;
	int done = 0;

	house_hear(h, OWNER, "go");
	h->w.wire.hold = true;
	house_answer(h, "answer");
	control_shutdown(h->control, 3000, on_done, &done);
	settle(h->w.loop);
	assert_int_equal(0, done);
	fake_land(&h->w.wire, CHAN_ACCEPTED);
	settle(h->w.loop);
	assert_int_equal(1, done);
	assert_int_equal(1,
		world_int(&h->w, "SELECT count(*) FROM channel_outbox WHERE state = 2"));
}

static void settings_out_of_range_are_refused(void **state)
{
	static const struct {
		int queue, rc;
		size_t text;
	} rows[] = { { 0, -1, 100 }, { 1, 0, 100 }, { 1000, 0, 100 }, { 1001, -1, 100 },
		{ 10, -1, 0 }, { 10, 0, 1 }, { 10, 0, 3800 }, { 10, -1, 3801 } };
	struct house *h = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		h->settings.queue_limit = rows[i].queue;
		h->settings.text_limit = rows[i].text;
		assert_int_equal(rows[i].rc, control_apply(h->control, &h->settings, NULL));
	}
}

static void a_user_no_longer_allowed_is_not_served(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "runs");
	house_hear(h, GUEST, "waits");
	h->settings.allowed_users = NULL;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	house_answer(h, "ok");
	house_wait(h, 1000);
	assert_int_equal(1, h->engine.starts);
	assert_int_equal(1, house_rows(h, INBOX_DROPPED));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
		T(a_message_is_answered),
		T(a_message_waits_for_the_disk_twice),
		T(what_only_came_in_waits_for_the_disk_soon),
		T(an_answer_is_durable_before_the_engine_has_it),
		T(messages_are_run_one_at_a_time_in_order),
		T(turn_numbers_only_grow_over_restarts),
		T(the_newest_token_is_used),
		T(a_replay_is_a_no_op_also_after_a_restart),
		T(a_derived_id_is_remembered_too),
		T(a_message_under_another_id_is_the_same_message),
		T(strangers_and_groups_are_never_answered),
		T(without_an_owner_nobody_is_served),
		T(a_burst_of_thirty_with_room_for_twenty),
		T(what_cannot_be_read_is_answered_once),
		T(the_biggest_message_is_not_lost),
		T(a_quote_by_id_is_looked_up),
		T(a_transcript_is_never_a_command),
		T(commands_are_heard_in_every_spelling),
		T(a_text_with_a_slash_inside_is_no_command),
		T(a_command_of_the_engine_waits_like_a_message),
		T(a_command_that_asks_the_model_waits_where_the_engine_takes_it),
		T(what_fails_in_the_engine_is_taken_back_and_told_once),
		T(engine_commands_get_their_argument_and_conversation),
		T(a_command_the_engine_lacks_is_said_so),
		T(a_running_conversation_is_not_changed),
		T(only_the_owner_may),
		T(what_an_engine_takes_as_a_turn_is_still_the_owners),
		T(goals_and_steering_are_told_to_be_missing),
		T(commands_do_not_wait_for_a_full_queue),
		T(status_tells_what_is_going_on),
		T(the_queue_is_listed_dropped_and_cleared),
		T(stop_is_obeyed_at_once_and_tells_what_waits),
		T(a_second_stop_says_the_same),
		T(stop_all_drops_what_waits),
		T(stop_ends_an_answer_that_is_being_sent),
		T(stop_aborts_a_send_that_hangs),
		T(a_guest_stops_only_his_own),
		T(the_owner_stops_a_guests_task_and_the_guest_is_told),
		T(a_stop_that_was_batched_with_its_task_comes_in_time),
		T(stop_drops_the_progress_that_was_not_sent_yet),
		T(a_pause_takes_nothing_from_the_queue_and_survives_a_restart),
		T(a_pause_lets_the_running_task_end),
		T(every_failure_is_told_and_can_be_retried),
		T(an_empty_answer_is_a_failure),
		T(a_retry_that_has_to_wait_is_confirmed),
		T(retry_asked_for_twice_means_the_same_message),
		T(half_an_answer_is_sent_before_its_failure),
		T(an_engine_that_does_not_start_is_told),
		T(still_working_is_said_once_after_thirty_seconds),
		T(text_events_are_not_sent_on_their_own),
		T(an_answer_goes_through_the_formatter),
		T(a_notice_outside_any_turn_goes_to_the_owner),
		T(a_notice_goes_to_whom_its_conversation_belongs),
		T(a_turn_past_its_deadline_is_ended_and_told),
		T(more_gives_the_rest),
		T(any_message_releases_some_and_the_new_answer_finds_room),
		T(a_stop_does_not_release_what_is_parked),
		T(a_turn_cut_off_by_a_crash_is_told_and_not_run_again),
		T(what_waited_at_a_crash_is_run_after_it),
		T(an_answer_stored_at_a_crash_is_sent_after_it),
		T(a_crash_in_the_middle_of_a_batch_is_harmless),
		T(a_full_disk_stops_intake_says_so_and_hears_stop),
		T(an_answer_that_could_not_be_stored_is_sent_when_it_can),
		T(an_engine_that_cannot_save_still_answers),
		T(no_turn_starts_that_could_not_be_marked),
		T(the_language_follows_the_user),
		T(a_prompt_of_the_terminal_goes_through_the_queue),
		T(a_prompt_that_is_dropped_ends),
		T(a_prompt_can_be_cancelled_while_it_waits_and_runs),
		T(a_phones_stop_ends_a_prompt_of_the_terminal),
		T(a_question_of_a_terminal_turn_goes_to_the_terminal),
		T(a_question_at_the_terminal_has_its_time_too),
		T(prompts_that_are_not_fit_are_refused),
		T(a_prompt_of_the_terminal_does_not_outlive_a_crash),
		T(sending_from_the_terminal_needs_an_open_window),
		T(stopping_from_the_terminal),
		T(a_shutdown_ends_the_turn_and_tells_of_it_at_the_next_start),
		T(a_shutdown_waits_no_longer_than_its_grace),
		T(a_shutdown_lets_a_send_land),
		T(settings_out_of_range_are_refused),
		T(a_user_no_longer_allowed_is_not_served),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
