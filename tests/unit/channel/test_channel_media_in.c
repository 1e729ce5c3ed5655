/* From a message with attachments to the turn that gets them: fetched on arrival, waited for, named
 * in the prompt, handed over; and what is said when they cannot be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "channel/inbox.h"
#include "channel/media.h"

#include "house.h"

#define JPEG "\xff\xd8\xff\xe0 a picture"
#define PDF  "%PDF-1.7 a document"
#define SILK "\x02#!SILK_V3 a voice"

/* --- Rig -------------------------------------------------------------------------------------- */

static int setup(void **state)
{
	struct house *h = calloc(1, sizeof(*h));

	*state = h;
	if (!h)
		return -1;
	house_open(h);
	fake_serve(&h->w.wire, "jpeg", JPEG, sizeof(JPEG) - 1);
	fake_serve(&h->w.wire, "pdf", PDF, sizeof(PDF) - 1);
	fake_serve(&h->w.wire, "silk", SILK, sizeof(SILK) - 1);
	return 0;
}

static int teardown(void **state)
{
	house_close(*state);
	free(*state);
	return 0;
}

/* The window of the picture before it closes. */
static void close_window(struct house *h)
{
	pass(&h->w.clock, h->w.loop, 1500);
}

static void assert_prompt(const struct house *h, const char *needle)
{
	if (!strstr(h->engine.text, needle))
		fail_msg("no \"%s\" in: %s", needle, h->engine.text);
}

static void assert_said(const struct house *h, const char *needle)
{
	if (fake_count(&h->w.wire, needle) != 1)
		fail_msg("\"%s\" was said %d times; last: %s", needle,
			fake_count(&h->w.wire, needle), fake_last(&h->w.wire));
}

/* --- Into the turn ---------------------------------------------------------------------------- */

static void a_picture_comes_with_its_line_and_its_file(void **state)
{
	struct house *h = *state;
	struct str content = STR_INIT(100), want = STR_INIT(2000);
	char key[MEDIA_KEY_HEX + 1];

	house_hear_file(h, CHAN_IMAGE, "", "jpeg");
	assert_int_equal(0, h->engine.starts);
	assert_string_equal(OWNER, h->w.wire.typing);
	close_window(h);
	assert_int_equal(1, h->engine.starts);
	media_user_key(key, OWNER);
	str_addf(&want, "%s/%s", h->w.media, key);
	assert_string_equal(str_cstr(&want), h->engine.media);
	assert_int_equal(1, h->engine.nfiles);
	assert_int_equal(TURN_PICTURE, h->engine.files[0].kind);
	assert_false(h->engine.files[0].quoted);
	assert_int_equal(sizeof(JPEG) - 1, h->engine.files[0].size);
	str_reset(&want);
	str_addf(&want, "[attachment: picture picture.jpg, image/jpeg, %zu B, %s]",
		sizeof(JPEG) - 1, h->engine.file_path);
	assert_string_equal(str_cstr(&want), h->engine.text);
	assert_int_equal(0, file_read_private(h->engine.file_path, 100, &content, NULL));
	assert_true(view_eqs(str_view(&content), JPEG));
	str_release(&content);
	str_release(&want);
}

static void words_and_attachments_of_one_message_go_together(void **state)
{
	struct house *h = *state;
	struct chan_item items[] = {
		{ .kind = CHAN_FILE,
			.name = "re_port.pdf",
			.full_url = "",
			.param = "pdf",
			.key = "" },
		{ .kind = CHAN_IMAGE,
			.name = "",
			.full_url = "",
			.param = "jpeg",
			.key = "",
			.quoted = true },
	};
	struct chan_msg m = { .id = "1",
		.from = OWNER,
		.token = "t",
		.text = VIEW("see this"),
		.typed = true,
		.items = items,
		.nitems = 2,
		.quote = VIEW("earlier\nwords"),
		.quote_id = "" };

	house_hear_msg(h, &m);
	close_window(h);
	assert_int_equal(strlen("[quoted message: earlier words]"), h->engine.quoted);
	assert_int_equal(0, strncmp(h->engine.text,
				    "[quoted message: earlier words]\nsee this\n"
				    "[attachment: file re_port.pdf, application/pdf, ",
				    80));
	assert_prompt(h, "\n[attachment: quoted picture picture.jpg, image/jpeg, ");
	/* What it has of the user's own words is these alone. */
	assert_int_equal(strlen("[quoted message: earlier words]\nsee this"),
		strlen(h->engine.text) - h->engine.added);
	assert_int_equal(2, h->engine.nfiles);
	assert_true(h->engine.files[1].quoted);
}

static void the_head_waits_for_its_files_and_others_wait_for_the_head(void **state)
{
	struct house *h = *state;

	h->w.wire.hold_fetch = true;
	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	close_window(h);
	house_hear(h, GUEST, "and I?");
	house_wait(h, 5000);
	assert_int_equal(0, h->engine.starts);
	fake_fetched(&h->w.wire);
	settle(h->w.loop);
	assert_int_equal(1, h->engine.starts);
	assert_prompt(h, "a.pdf");
}

static void files_are_fetched_while_another_turn_runs(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "a long task");
	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	assert_int_equal(1, h->w.wire.fetches);
	close_window(h);
	house_answer(h, "done");
	assert_int_equal(2, h->engine.starts);
}

static void two_are_fetched_at_a_time_in_their_order(void **state)
{
	struct house *h = *state;
	char param[8];

	h->w.wire.hold_fetch = true;
	for (int i = 0; i < 5; i++) {
		snprintf(param, sizeof(param), "p%d", i);
		fake_serve(&h->w.wire, param, JPEG, sizeof(JPEG) - 1);
		house_hear_file(h, CHAN_IMAGE, "", param);
	}
	assert_int_equal(2, fake_fetching(&h->w.wire));
	h->w.wire.hold_fetch = false;
	fake_fetched(&h->w.wire);
	settle(h->w.loop);
	assert_int_equal(5, h->w.wire.fetches);
	assert_int_equal(2, h->w.wire.fetching_max);
	for (int i = 0; i < 5; i++) {
		snprintf(param, sizeof(param), "p%d", i);
		assert_string_equal(param, h->w.wire.fetched[i]);
	}
	close_window(h);
	assert_int_equal(5, h->engine.nfiles);
	assert_prompt(h, "picture (5).jpg");
}

/* --- What cannot be had ----------------------------------------------------------------------- */

static void a_failed_file_alone_is_told_and_runs_nothing(void **state)
{
	static const struct {
		enum chan_fetch_end end;
		const char *says;
	} rows[] = {
		{ CHAN_FETCH_TOO_BIG, "the limit is 1.0 MB" },
		{ CHAN_FETCH_GONE, "no longer has it" },
		{ CHAN_FETCH_BAD, "could not be decrypted" },
		{ CHAN_FETCH_DISK, "could not store it" },
	};
	struct house *h = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char param[16];

		snprintf(param, sizeof(param), "bad%zu", i);
		fake_serve(&h->w.wire, param, "", 0)->end = rows[i].end;
		house_hear_file(h, CHAN_FILE, "r.pdf", param);
		close_window(h);
		house_wait(h, 2000);
		assert_said(h, rows[i].says);
		assert_said(h, "The file \"r.pdf\" did not come through");
		fake_forget(&h->w.wire);
	}
	assert_int_equal(0, h->engine.starts);
	assert_int_equal(4, house_rows(h, INBOX_FAILED));
	assert_string_equal("", h->w.wire.typing);
}

static void five_that_failed_alike_are_one_sentence(void **state)
{
	struct house *h = *state;

	for (int i = 0; i < 5; i++)
		house_hear_file(h, CHAN_IMAGE, "", "nowhere");
	close_window(h);
	house_wait(h, 2000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_string_equal(
		"The picture \"picture\" did not come through: WeChat's server no longer "
		"has it, please send it again.",
		fake_last(&h->w.wire));
}

static void a_failed_file_beside_words_is_named_to_the_engine_alone(void **state)
{
	struct house *h = *state;

	house_hear_file(h, CHAN_FILE, "r.pdf", "nowhere");
	house_hear(h, OWNER, "what does it say?");
	close_window(h);
	assert_string_equal(
		"what does it say?\n[attachment: file r.pdf, not received: WeChat's server "
		"no longer has it, please send it again]",
		h->engine.text);
	assert_int_equal(0, h->engine.nfiles);
	house_wait(h, 2000);
	assert_int_equal(0, h->w.wire.nsent);
}

/* The limit is of what is read, whatever the sender says of it. */
static void a_file_at_the_limit_comes_and_one_over_it_does_not(void **state)
{
	static char big[(1 << 20) + 1];
	struct house *h = *state;

	fake_serve(&h->w.wire, "at", big, 1 << 20);
	fake_serve(&h->w.wire, "over", big, (1 << 20) + 1);
	house_hear_file(h, CHAN_FILE, "at", "at");
	close_window(h);
	assert_prompt(h, "file at, application/octet-stream, 1.0 MB, ");
	house_answer(h, "ok");
	house_hear_file(h, CHAN_FILE, "over", "over");
	close_window(h);
	house_wait(h, 3000);
	assert_int_equal(1, h->engine.starts);
	assert_said(h, "it is too big");
}

static void what_cannot_be_reached_is_tried_three_times(void **state)
{
	struct house *h = *state;

	fake_serve(&h->w.wire, "twice", PDF, sizeof(PDF) - 1)->fails = 2;
	fake_serve(&h->w.wire, "thrice", PDF, sizeof(PDF) - 1)->fails = 3;
	house_hear_file(h, CHAN_FILE, "a.pdf", "twice");
	close_window(h);
	assert_int_equal(1, h->w.wire.fetches);
	house_wait(h, 10000);
	assert_int_equal(3, h->w.wire.fetches);
	assert_prompt(h, "application/pdf");
	house_answer(h, "ok");
	house_hear_file(h, CHAN_FILE, "b.pdf", "thrice");
	house_wait(h, 10000);
	assert_int_equal(6, h->w.wire.fetches);
	assert_said(h, "could not be reached");
}

static void a_file_has_five_minutes(void **state)
{
	struct house *h = *state;

	h->w.wire.hold_fetch = true;
	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	pass(&h->w.clock, h->w.loop, MEDIA_FETCH_MS - 1);
	assert_int_equal(0, h->w.wire.fetch_aborts);
	pass(&h->w.clock, h->w.loop, 1);
	assert_int_equal(1, h->w.wire.fetch_aborts);
	house_wait(h, 2000);
	assert_said(h, "too slow");
}

static void a_message_has_ten_minutes(void **state)
{
	struct house *h = *state;

	h->w.wire.hold_fetch = true;
	for (int i = 0; i < 6; i++)
		house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	pass(&h->w.clock, h->w.loop, MEDIA_FETCH_MS);
	house_wait(h, 0);
	assert_int_equal(4, h->w.wire.fetches);
	pass(&h->w.clock, h->w.loop, MEDIA_MESSAGE_MS - MEDIA_FETCH_MS - 1);
	assert_int_equal(2, h->w.wire.fetch_aborts);
	pass(&h->w.clock, h->w.loop, 1);
	house_wait(h, 2000);
	assert_int_equal(4, h->w.wire.fetch_aborts);
	assert_int_equal(4, h->w.wire.fetches); /* the last two had no time left */
	assert_said(h, "too slow");
	/* And the next message has its own. */
	h->w.wire.hold_fetch = false;
	house_hear_file(h, CHAN_FILE, "b.pdf", "pdf");
	close_window(h);
	assert_prompt(h, "application/pdf");
}

static void a_kind_that_is_not_handed_over_is_named_beside_words(void **state)
{
	struct house *h = *state;
	struct chan_item sticker = { .kind = CHAN_OTHER,
		.name = "",
		.full_url = "",
		.param = "",
		.key = "" };

	house_hear_item(h, OWNER, &sticker, "funny, is it not?");
	assert_int_equal(1, h->engine.starts);
	assert_string_equal(
		"funny, is it not?\n[attachment: other file, not received: WeChat does not "
		"hand me this kind]",
		h->engine.text);
	assert_int_equal(0, h->w.wire.fetches);
}

/* --- Stopping --------------------------------------------------------------------------------- */

static void stop_ends_a_download_at_once(void **state)
{
	struct house *h = *state;

	h->w.wire.hold_fetch = true;
	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	close_window(h);
	assert_int_equal(1, fake_fetching(&h->w.wire));
	house_hear(h, OWNER, "/status");
	assert_said(h, "Receiving what was sent");
	house_hear(h, OWNER, "/stop");
	assert_int_equal(0, fake_fetching(&h->w.wire));
	assert_int_equal(1, h->w.wire.fetch_aborts);
	house_wait(h, 1000);
	assert_said(h, "Stopped");
	assert_int_equal(1, house_rows(h, INBOX_STOPPED));
	assert_string_equal("", h->w.wire.typing);
	house_wait(h, 5000);
	assert_int_equal(0, h->engine.starts);
	assert_int_equal(0, world_int(&h->w, "SELECT count(*) FROM channel_media WHERE state = 0"));
	house_hear(h, OWNER, "next");
	assert_int_equal(1, h->engine.starts);
	assert_string_equal("next", h->engine.text);
}

static void stop_without_a_disk_ends_a_download_and_it_stays_ended(void **state)
{
	struct house *h = *state;

	h->w.wire.hold_fetch = true;
	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	close_window(h);
	world_full(&h->w, true);
	house_hear(h, OWNER, "/stop");
	assert_int_equal(0, fake_fetching(&h->w.wire));
	world_full(&h->w, false);
	house_wait(h, 60000);
	assert_int_equal(1, h->w.wire.fetches);
	assert_int_equal(0, h->engine.starts);
	assert_int_equal(1, house_rows(h, INBOX_STOPPED));
}

static void only_ones_own_download_can_be_stopped(void **state)
{
	struct house *h = *state;

	h->w.wire.hold_fetch = true;
	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	close_window(h);
	house_hear(h, GUEST, "/stop");
	assert_int_equal(1, fake_fetching(&h->w.wire));
	assert_int_equal(0, house_rows(h, INBOX_STOPPED));
}

static void what_is_dropped_from_the_queue_is_fetched_no_further(void **state)
{
	static const char *const commands[] = { "/clear", "/queue drop 1" };
	struct house *h = *state;

	h->w.wire.hold_fetch = true;
	house_hear(h, OWNER, "a long task");
	for (int i = 0; i < 2; i++) {
		house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
		assert_int_equal(1, fake_fetching(&h->w.wire));
		house_hear(h, OWNER, commands[i]);
		assert_int_equal(0, fake_fetching(&h->w.wire));
	}
	assert_int_equal(2, h->w.wire.fetch_aborts);
	assert_int_equal(0,
		world_int(&h->w, "SELECT count(*) FROM channel_media WHERE full_url || param || key"
				 " <> ''"));
}

static void a_stopped_message_is_retried_with_what_came_through(void **state)
{
	struct house *h = *state;

	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	h->w.wire.hold_fetch = true;
	house_hear_file(h, CHAN_IMAGE, "", "jpeg");
	close_window(h);
	house_hear(h, OWNER, "/stop");
	house_hear(h, OWNER, "/retry");
	settle(h->w.loop);
	assert_int_equal(1, h->engine.starts);
	assert_prompt(h, "a.pdf, application/pdf, ");
	assert_prompt(h, "picture picture, not received: its download was stopped");
	assert_int_equal(1, h->engine.nfiles);
}

static void a_retry_has_the_files_again(void **state)
{
	struct house *h = *state;
	char first[sizeof(h->engine.text)];

	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	close_window(h);
	memcpy(first, h->engine.text, sizeof(first));
	fake_done(&h->engine, ENGINE_FAIL_PROVIDER, "", "");
	settle(h->w.loop);
	house_hear(h, OWNER, "/retry");
	assert_int_equal(2, h->engine.starts);
	assert_string_equal(first, h->engine.text);
	assert_int_equal(1, h->engine.nfiles);
	assert_int_equal(1, h->w.wire.fetches);
}

/* --- Restarts --------------------------------------------------------------------------------- */

static void a_crash_in_a_download_is_made_up_for(void **state)
{
	struct house *h = *state;

	h->w.wire.hold_fetch = true;
	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	h->w.wire.hold_fetch = false;
	house_crash(h);
	close_window(h);
	assert_int_equal(2, h->w.wire.fetches);
	assert_int_equal(1, h->engine.starts);
	assert_prompt(h, "file a.pdf, application/pdf, ");
}

static void nothing_of_where_it_was_is_left(void **state)
{
	struct house *h = *state;
	struct str db = STR_INIT(64 << 20);

	house_hear_file(h, CHAN_FILE, "a.pdf", "pdf");
	house_hear_file(h, CHAN_FILE, "b.pdf", "nowhere");
	close_window(h);
	assert_null(strstr(h->engine.text, "secret"));
	assert_int_equal(0,
		file_read(scratch_path(&h->w.scratch, "state.db"), 64 << 20, &db, NULL));
	assert_null(memmem(db.p, db.n, "secret-", 7));
	str_reset(&db);
	assert_int_equal(0,
		file_read(scratch_path(&h->w.scratch, "state.db-wal"), 64 << 20, &db, NULL));
	assert_true(db.n == 0 || !memmem(db.p, db.n, "secret-", 7));
	str_release(&db);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_picture_comes_with_its_line_and_its_file),
		T(words_and_attachments_of_one_message_go_together),
		T(the_head_waits_for_its_files_and_others_wait_for_the_head),
		T(files_are_fetched_while_another_turn_runs),
		T(two_are_fetched_at_a_time_in_their_order),
		T(a_failed_file_alone_is_told_and_runs_nothing),
		T(five_that_failed_alike_are_one_sentence),
		T(a_failed_file_beside_words_is_named_to_the_engine_alone),
		T(a_file_at_the_limit_comes_and_one_over_it_does_not),
		T(what_cannot_be_reached_is_tried_three_times),
		T(a_file_has_five_minutes),
		T(a_message_has_ten_minutes),
		T(a_kind_that_is_not_handed_over_is_named_beside_words),
		T(stop_ends_a_download_at_once),
		T(stop_without_a_disk_ends_a_download_and_it_stays_ended),
		T(only_ones_own_download_can_be_stopped),
		T(what_is_dropped_from_the_queue_is_fetched_no_further),
		T(a_stopped_message_is_retried_with_what_came_through),
		T(a_retry_has_the_files_again),
		T(a_crash_in_a_download_is_made_up_for),
		T(nothing_of_where_it_was_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
