/* What the same user sends within a moment of a picture is one message; and voices, which are words
 * or shown, as they come with a transcript or without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "channel/ears.h"
#include "channel/inbox.h"
#include "channel/media.h"
#include "channel/merge.h"

#include "house.h"

#define PNG "\x89PNG\r\n\x1a\n a picture"

/* --- Rig -------------------------------------------------------------------------------------- */

static int setup(void **state)
{
	struct house *h = calloc(1, sizeof(*h));

	*state = h;
	if (!h)
		return -1;
	house_open(h);
	fake_serve(&h->w.wire, "png", PNG, sizeof(PNG) - 1);
	return 0;
}

static int teardown(void **state)
{
	house_close(*state);
	free(*state);
	return 0;
}

static void wait_ms(struct house *h, int64_t ms)
{
	pass(&h->w.clock, h->w.loop, ms);
}

static void picture(struct house *h)
{
	house_hear_file(h, CHAN_IMAGE, "", "png");
}

static int waiting(const struct house *h)
{
	int n;

	assert_int_equal(0, inbox_waiting(&h->w.room, NULL, &n, NULL));
	return n;
}

static void assert_begins(const struct house *h, const char *text)
{
	if (strncmp(h->engine.text, text, strlen(text)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", h->engine.text, text);
}

/* --- The window ------------------------------------------------------------------------------- */

static void a_picture_and_the_words_behind_it_are_one_task(void **state)
{
	struct house *h = *state;

	picture(h);
	wait_ms(h, 1499);
	house_hear(h, OWNER, "what is this?");
	assert_int_equal(0, h->engine.starts);
	wait_ms(h, 1);
	assert_int_equal(1, h->engine.starts);
	assert_begins(h, "what is this?\n[attachment: picture ");
	assert_int_equal(1, h->engine.nfiles);
	assert_int_equal(0, waiting(h));
}

static void words_behind_the_window_are_another_task(void **state)
{
	struct house *h = *state;

	picture(h);
	wait_ms(h, 1500);
	assert_int_equal(1, h->engine.starts);
	house_hear(h, OWNER, "what is this?");
	assert_int_equal(1, waiting(h));
	house_answer(h, "a picture");
	assert_string_equal("what is this?", h->engine.text);
}

static void words_alone_are_never_held(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "hello");
	assert_int_equal(1, h->engine.starts);
	house_hear(h, OWNER, "one");
	house_hear(h, OWNER, "two");
	assert_int_equal(2, waiting(h));
}

static void words_that_still_wait_are_joined_by_their_picture(void **state)
{
	struct house *h = *state;

	house_hear(h, GUEST, "a long task");
	house_hear(h, OWNER, "what is this?");
	wait_ms(h, 1000);
	picture(h);
	assert_int_equal(1, waiting(h));
	house_hear(h, OWNER, "and where?");
	assert_int_equal(1, waiting(h));
	wait_ms(h, 1500);
	house_answer(h, "done");
	assert_begins(h, "what is this?\nand where?\n[attachment: picture ");
}

static void words_that_wait_for_long_are_not_joined(void **state)
{
	struct house *h = *state;

	house_hear(h, GUEST, "a long task");
	house_hear(h, OWNER, "something else");
	wait_ms(h, 1501);
	picture(h);
	assert_int_equal(2, waiting(h));
}

static void five_pictures_in_two_seconds_are_one_task(void **state)
{
	struct house *h = *state;

	for (int i = 0; i < 5; i++) {
		picture(h);
		wait_ms(h, 400);
	}
	assert_int_equal(0, h->engine.starts);
	wait_ms(h, 1100);
	assert_int_equal(1, h->engine.starts);
	assert_int_equal(5, h->engine.nfiles);
	assert_int_equal(0, waiting(h));
}

static void nobody_joins_another(void **state)
{
	struct house *h = *state;

	picture(h);
	house_hear(h, GUEST, "hello");
	assert_int_equal(2, waiting(h));
}

static void commands_and_answers_never_join(void **state)
{
	static const char *const slash[] = { "init", NULL };
	struct house *h = *state;

	h->engine.slash = slash;
	picture(h);
	house_hear(h, OWNER, "/status");
	house_hear(h, OWNER, "/init now");
	assert_int_equal(2, waiting(h));
	picture(h);
	assert_int_equal(3, waiting(h));
	wait_ms(h, 1500);
	assert_begins(h, "[attachment: picture ");
	house_answer(h, "ok");
	assert_string_equal("/init now", h->engine.text);
}

static void a_window_of_zero_is_none(void **state)
{
	struct house *h = *state;

	h->settings.merge_ms = 0;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	picture(h);
	assert_int_equal(1, h->engine.starts);
	picture(h);
	picture(h);
	assert_int_equal(2, waiting(h));
}

static void thirty_two_files_are_the_most(void **state)
{
	struct house *h = *state;

	for (int i = 0; i < TURN_FILES_MAX; i++)
		picture(h);
	assert_int_equal(1, waiting(h));
	picture(h);
	assert_int_equal(2, waiting(h));
	wait_ms(h, 1500);
	assert_int_equal(TURN_FILES_MAX, h->engine.nfiles);
}

static void no_more_text_than_an_engine_takes(void **state)
{
	struct house *h = *state;
	struct str text = STR_INIT(CHAN_TEXT_MAX);

	while (text.n < MERGE_TEXT_MAX - 1)
		str_addc(&text, 'x');
	picture(h);
	house_hear(h, OWNER, str_cstr(&text));
	assert_int_equal(1, waiting(h));
	house_hear(h, OWNER, "y");
	assert_int_equal(2, waiting(h));
	str_release(&text);
}

static void a_restart_in_the_window_loses_nothing(void **state)
{
	struct house *h = *state;

	picture(h);
	wait_ms(h, 500);
	house_crash(h);
	wait_ms(h, 500);
	house_hear(h, OWNER, "what is this?");
	assert_int_equal(0, h->engine.starts);
	wait_ms(h, 500);
	assert_int_equal(1, h->engine.starts);
	assert_begins(h, "what is this?\n[attachment: picture ");
}

static void a_clock_set_back_holds_nothing(void **state)
{
	struct house *h = *state;

	picture(h);
	h->w.clock.wall -= 3600000;
	house_hear(h, GUEST, "hello");
	assert_int_equal(1, h->engine.starts);
	assert_begins(h, "[attachment: picture ");
}

static void a_quote_begins_its_own_task(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "9000",
		.from = OWNER,
		.token = "t",
		.text = VIEW("and this?"),
		.typed = true,
		.quote = VIEW("earlier"),
		.quote_id = "" };

	picture(h);
	house_hear_msg(h, &m);
	assert_int_equal(1, waiting(h));
	wait_ms(h, 1500);
	assert_begins(h, "[quoted message: earlier]\nand this?\n[attachment: picture ");
	assert_int_equal(strlen("[quoted message: earlier]"), h->engine.quoted);
	house_answer(h, "ok");
	picture(h);
	house_hear(h, OWNER, "first words");
	m.id = "9001";
	house_hear_msg(h, &m);
	assert_int_equal(2, waiting(h));
}

static void the_queue_shows_what_a_message_brings(void **state)
{
	const struct chan_item quoted[] = { { .kind = CHAN_IMAGE,
		.name = "",
		.full_url = "",
		.param = "jpeg",
		.key = "",
		.quoted = true } };
	const struct chan_msg m = { .id = "9001",
		.from = OWNER,
		.token = "t",
		.text = VIEW("and that one?"),
		.typed = true,
		.items = quoted,
		.nitems = 1,
		.quote_id = "" };
	struct house *h = *state;

	house_hear(h, OWNER, "a long task");
	picture(h);
	picture(h);
	house_hear(h, OWNER, "what are these?");
	wait_ms(h, 1500);
	house_hear_file(h, CHAN_FILE, "r.pdf", "png");
	wait_ms(h, 1500);
	house_hear_msg(h, &m);
	house_hear(h, OWNER, "/queue");
	house_wait(h, 2000);
	assert_int_equal(1, fake_count(&h->w.wire, "1. [picture ×2] what are these?"));
	assert_int_equal(1, fake_count(&h->w.wire, "2. [file]"));
	assert_int_equal(1, fake_count(&h->w.wire, "3. and that one?"));
}

static void a_replay_joins_nothing_twice(void **state)
{
	struct house *h = *state;
	struct chan_msg m = { .id = "9000",
		.from = OWNER,
		.token = "t",
		.text = VIEW("once"),
		.typed = true,
		.quote_id = "" };

	picture(h);
	house_hear_msg(h, &m);
	house_hear_msg(h, &m);
	wait_ms(h, 1500);
	assert_begins(h, "once\n[attachment: picture ");
}

/* --- Voices ----------------------------------------------------------------------------------- */

struct fake_ears {
	struct chan_ears ears;
	heard_cb *cb;
	void *arg;
	char path[512];
	int heard, cancelled;
};

static int ears_hear(void *arg, struct hearing **out, const char *path, int64_t play_ms,
	heard_cb *cb, void *cb_arg, struct err *e)
{
	struct fake_ears *f = arg;

	(void)e;
	assert_int_equal(2380, play_ms);
	assert_null(f->cb);
	f->cb = cb;
	f->arg = cb_arg;
	f->heard++;
	snprintf(f->path, sizeof(f->path), "%s", path);
	*out = (struct hearing *)f;
	return 0;
}

static void ears_cancel(void *arg, struct hearing **x)
{
	struct fake_ears *f = arg;

	f->cancelled += *x != NULL;
	f->cb = NULL;
	*x = NULL;
}

static void say(struct house *h, struct fake_ears *f, enum heard what, const char *text)
{
	heard_cb *cb = f->cb;

	must(cb);
	f->cb = NULL;
	cb(f->arg, what, view_of(text), "scripted");
	settle(h->w.loop);
}

static void with_ears(struct house *h, struct fake_ears *f)
{
	*f = (struct fake_ears){ .ears = { ears_hear, ears_cancel, f } };
	h->ears = &f->ears;
	house_crash(h);
}

static void voice(struct house *h, const char *text)
{
	struct chan_item it = { .kind = CHAN_VOICE,
		.name = "",
		.full_url = "",
		.param = "png",
		.key = "",
		.play_ms = 2380,
		.transcript = *text != '\0' };

	house_hear_item(h, OWNER, &it, text);
}

static void a_voice_with_a_transcript_is_words_and_its_sound_is_kept(void **state)
{
	struct house *h = *state;

	voice(h, "turn on the light");
	assert_int_equal(1, h->engine.starts);
	assert_begins(h, "turn on the light\n[attachment: voice voice.png, image/png, ");
	assert_int_equal(TURN_VOICE, h->engine.files[0].kind);
}

static void a_voice_is_heard_before_its_turn(void **state)
{
	struct house *h = *state;
	struct fake_ears f;

	with_ears(h, &f);
	voice(h, "");
	wait_ms(h, 1500);
	assert_int_equal(1, f.heard);
	assert_int_equal(0, h->engine.starts);
	say(h, &f, HEARD_TEXT, "turn on the light");
	assert_int_equal(1, h->engine.starts);
	assert_begins(h, "[voice, transcribed by machine: turn on the light]\n[attachment: voice ");
	assert_int_equal(strlen("[voice, transcribed by machine: turn on the light]"),
		strlen(h->engine.text) - h->engine.added);
	assert_string_equal(f.path, h->engine.file_path);
}

static void a_voice_that_is_not_heard_is_told_whatever_else_there_is(void **state)
{
	static const struct {
		enum heard what;
		const char *says;
	} rows[] = {
		{ HEARD_SILENT, "I heard no words" },
		{ HEARD_DAMAGED, "incomplete" },
		{ HEARD_LATE, "too long" },
		{ HEARD_FAILED, "recognition failed" },
		{ HEARD_DEAF, "no speech recognition is" },
	};
	struct house *h = *state;
	struct fake_ears f;

	with_ears(h, &f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		voice(h, "");
		wait_ms(h, 1500);
		say(h, &f, rows[i].what, "");
		house_wait(h, 2000);
		assert_int_equal(0, h->engine.starts);
		assert_int_equal(1, fake_count(&h->w.wire, rows[i].says));
	}
	voice(h, "");
	picture(h);
	wait_ms(h, 1500);
	say(h, &f, HEARD_SILENT, "");
	assert_int_equal(1, h->engine.starts);
	assert_begins(h, "[attachment: voice voice (6).png, image/png, not transcribed, ");
	house_wait(h, 2000);
	assert_int_equal(2, fake_count(&h->w.wire, "I heard no words"));
}

static void without_ears_a_voice_is_told_in_one_line(void **state)
{
	struct house *h = *state;

	voice(h, "");
	wait_ms(h, 1500);
	house_wait(h, 2000);
	assert_int_equal(0, h->engine.starts);
	assert_int_equal(1, h->w.wire.nsent);
	assert_int_equal(1, fake_count(&h->w.wire, "no speech recognition is"));
}

static void stop_ends_the_hearing_and_a_retry_hears_again(void **state)
{
	struct house *h = *state;
	struct fake_ears f;

	with_ears(h, &f);
	voice(h, "");
	wait_ms(h, 1500);
	house_hear(h, OWNER, "/stop");
	assert_int_equal(1, f.cancelled);
	house_hear(h, OWNER, "/retry");
	assert_int_equal(2, f.heard);
	say(h, &f, HEARD_TEXT, "hello");
	assert_begins(h, "[voice, transcribed by machine: hello]\n");
}

static void a_crash_while_it_is_heard_is_made_up_for(void **state)
{
	struct house *h = *state;
	struct fake_ears f;

	with_ears(h, &f);
	voice(h, "");
	wait_ms(h, 1500);
	house_crash(h);
	assert_int_equal(2, f.heard);
	assert_int_equal(1, h->w.wire.fetches);
	say(h, &f, HEARD_TEXT, "hello");
	assert_int_equal(1, h->engine.starts);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_picture_and_the_words_behind_it_are_one_task),
		T(words_behind_the_window_are_another_task),
		T(words_alone_are_never_held),
		T(words_that_still_wait_are_joined_by_their_picture),
		T(words_that_wait_for_long_are_not_joined),
		T(five_pictures_in_two_seconds_are_one_task),
		T(nobody_joins_another),
		T(commands_and_answers_never_join),
		T(a_window_of_zero_is_none),
		T(thirty_two_files_are_the_most),
		T(no_more_text_than_an_engine_takes),
		T(a_restart_in_the_window_loses_nothing),
		T(a_clock_set_back_holds_nothing),
		T(a_quote_begins_its_own_task),
		T(the_queue_shows_what_a_message_brings),
		T(a_replay_joins_nothing_twice),
		T(a_voice_with_a_transcript_is_words_and_its_sound_is_kept),
		T(a_voice_is_heard_before_its_turn),
		T(a_voice_that_is_not_heard_is_told_whatever_else_there_is),
		T(without_ears_a_voice_is_told_in_one_line),
		T(stop_ends_the_hearing_and_a_retry_hears_again),
		T(a_crash_while_it_is_heard_is_made_up_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
