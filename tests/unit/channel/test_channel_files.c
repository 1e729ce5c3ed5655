/* Files on their way out: taken with the answer, sent in their place, parked, stopped, lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "channel/inbox.h"
#include "channel/outbox.h"
#include "channel/outfolder.h"
#include "channel/sendable.h"
#include "channel/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "house.h"

#define MIB ((size_t)1 << 20)

static int setup(void **state)
{
	static struct house h;

	house_open_with_files(&h);
	*state = &h;
	return 0;
}

static int teardown(void **state)
{
	house_close(*state);
	return 0;
}

/* --- Helpers ---------------------------------------------------------------------------------- */

static const char *at(const struct house *h, const char *name)
{
	static char path[4][512];
	static unsigned int turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", h->workspace, name);
	return p;
}

static void put(const struct house *h, const char *name, const char *what)
{
	FILE *f = fopen(at(h, name), "we");

	assert_non_null(f);
	fputs(what, f);
	assert_int_equal(0, fclose(f));
}

static void put_size(const struct house *h, const char *name, size_t size)
{
	put(h, name, "");
	assert_int_equal(0, truncate(at(h, name), (off_t)size));
}

static void allow_large(struct house *h)
{
	h->settings.file_max = (int64_t)(100 * MIB);
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
}

static bool there(const struct house *h, const char *name)
{
	return access(at(h, name), F_OK) == 0;
}

static int deliver(struct house *h, const char *path, const char *caption, struct err *e)
{
	struct engine *g = &h->engine.engine;

	return g->deliver(g->arg, h->engine.turn, view_of(path), view_of(caption), e);
}

static struct fake_sent *sent(struct house *h, int i)
{
	assert_true(i < h->w.wire.nsent);
	return &h->w.wire.sent[i];
}

static void assert_text(struct house *h, int i, const char *text)
{
	assert_string_equal("", sent(h, i)->file);
	assert_string_equal(text, sent(h, i)->text);
}

static void assert_file(struct house *h, int i, const char *name, const char *body)
{
	assert_string_equal(name, sent(h, i)->file);
	assert_string_equal(body, sent(h, i)->text);
	assert_int_equal(strlen(body), sent(h, i)->size);
}

static int copies(const struct house *h)
{
	DIR *d = opendir(h->outgoing);
	struct dirent *de;
	int n = 0;

	assert_non_null(d);
	while ((de = readdir(d)))
		n += de->d_name[0] != '.';
	closedir(d);
	return n;
}

static int parked(struct house *h)
{
	struct control_status s;

	assert_int_equal(0, control_status(h->control, &s, NULL));
	return s.parked;
}

/* The answer, and all that goes with it. */
static void answer(struct house *h, const char *text)
{
	house_answer(h, text);
	house_wait(h, 30000);
}

/* --- What is taken ---------------------------------------------------------------------------- */

static void a_file_goes_behind_the_answer(void **state)
{
	struct house *h = *state;
	struct err e = ERR_INIT;

	put(h, "report.pdf", "the report");
	house_hear(h, OWNER, "go");
	assert_int_equal(0, deliver(h, "report.pdf", "", &e));
	answer(h, "Here it is.");
	assert_int_equal(2, h->w.wire.nsent);
	assert_text(h, 0, "Here it is.");
	assert_file(h, 1, "report.pdf", "the report");
	assert_int_equal(CHAN_FILE, sent(h, 1)->kind);
	assert_string_equal(OWNER, sent(h, 1)->to);
	assert_int_equal(0, copies(h));
	assert_true(there(h, "report.pdf"));
}

static void a_caption_is_a_text_ahead_of_it(void **state)
{
	struct house *h = *state;

	put(h, "a.png", "png");
	put(h, "b.mp4", "mp4");
	house_hear(h, OWNER, "go");
	assert_int_equal(0, deliver(h, "a.png", "**First**", NULL));
	assert_int_equal(0, deliver(h, at(h, "b.mp4"), "", NULL));
	answer(h, "Two.");
	assert_int_equal(4, h->w.wire.nsent);
	assert_text(h, 1, "**First**");
	assert_file(h, 2, "a.png", "png");
	assert_int_equal(CHAN_IMAGE, sent(h, 2)->kind);
	assert_file(h, 3, "b.mp4", "mp4");
	assert_int_equal(CHAN_VIDEO, sent(h, 3)->kind);
}

static void tags_and_blocks_are_sent_and_never_shown(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "pdf");
	house_hear(h, OWNER, "go");
	answer(h, "Both:\n[send-file: a.pdf]\n```file:dir/list.csv\n1,2\n```\nDone.");
	assert_int_equal(3, h->w.wire.nsent);
	assert_text(h, 0, "Both:\nDone.");
	assert_file(h, 1, "a.pdf", "pdf");
	assert_file(h, 2, "list.csv", "1,2\n");
	assert_int_equal(0, fake_count(&h->w.wire, "send-file"));
	assert_false(there(h, "dir"));
}

static void a_file_alone_is_an_answer(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "pdf");
	house_hear(h, OWNER, "go");
	answer(h, "[send-file: a.pdf]\n");
	assert_int_equal(1, h->w.wire.nsent);
	assert_file(h, 0, "a.pdf", "pdf");
	assert_int_equal(1, house_rows(h, INBOX_DONE));
}

static void what_is_only_thought_is_not_sent(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "pdf");
	house_hear(h, OWNER, "go");
	answer(h, "<think>\n[send-file: a.pdf]\n</think>\nNo file.");
	assert_int_equal(1, h->w.wire.nsent);
	assert_text(h, 0, "No file.");
	house_hear(h, OWNER, "go"); /* the beginning of the thought is in the model's template */
	answer(h, "I might\n[send-file: a.pdf]\n</think>\nNone.");
	assert_int_equal(2, h->w.wire.nsent);
	assert_text(h, 1, "None.");
}

static void a_file_named_twice_is_sent_once(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "pdf");
	house_hear(h, OWNER, "go");
	put(h, ".kairo-out/b.pdf", "b");
	assert_int_equal(0, deliver(h, "a.pdf", "", NULL));
	assert_int_equal(0, deliver(h, "./a.pdf", "", NULL));
	answer(h, "Here:\n[send-file: a.pdf]\n[send-file: .kairo-out/b.pdf]");
	assert_int_equal(3, h->w.wire.nsent);
	assert_file(h, 1, "a.pdf", "pdf");
	assert_file(h, 2, "b.pdf", "b");
}

static void later_changes_do_no_harm(void **state)
{
	struct house *h = *state;

	allow_large(h);
	put(h, "a.txt", "as it was");
	put_size(h, "big.bin", 3 * MIB);
	house_hear(h, OWNER, "go");
	assert_int_equal(0, deliver(h, "a.txt", "", NULL));
	assert_int_equal(0, deliver(h, "big.bin", "", NULL));
	put(h, "a.txt", "changed");
	assert_int_equal(0, unlink(at(h, "big.bin")));
	answer(h, "ok");
	assert_int_equal(3, h->w.wire.nsent);
	assert_file(h, 1, "a.txt", "as it was");
	assert_int_equal(3 * MIB, sent(h, 2)->size);
}

static void the_next_turn_waits_until_all_is_copied(void **state)
{
	struct house *h = *state;

	allow_large(h);
	put_size(h, "big.bin", 50 * MIB);
	house_hear(h, OWNER, "go");
	house_hear(h, OWNER, "next");
	fake_done(&h->engine, ENGINE_OK, "[send-file: big.bin]", "");
	for (int i = 0; i < 10; i++) {
		assert_int_equal(0, loop_step(h->w.loop, 0, NULL));
		assert_int_equal(1, h->engine.starts);
	}
	settle(h->w.loop);
	assert_int_equal(2, h->engine.starts);
	assert_int_equal(50 * MIB, sent(h, 0)->size);
}

static void a_file_is_refused_with_its_reason(void **state)
{
	struct house *h = *state;
	struct err e = ERR_INIT;

	put(h, ".env", "secret");
	put_size(h, "big.bin", (size_t)h->settings.file_max + 1);
	house_hear(h, OWNER, "go");
	assert_int_equal(-1, deliver(h, "missing", "", &e));
	assert_non_null(strstr(e.msg, "there is no missing"));
	assert_int_equal(-1, deliver(h, ".env", "", &e));
	assert_non_null(strstr(e.msg, "hidden"));
	assert_int_equal(-1, deliver(h, "big.bin", "", &e));
	assert_non_null(strstr(e.msg, "files.max_mb"));
	answer(h, "Sorry.");
	assert_int_equal(1, h->w.wire.nsent); /* the tool's result was told to the agent alone */
}

static void so_many_files_and_no_more(void **state)
{
	struct house *h = *state;
	struct err e = ERR_INIT;
	char name[32];

	house_hear(h, OWNER, "go");
	for (int i = 0; i <= 20; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		put(h, name, name);
		assert_int_equal(i < 20 ? 0 : -1, deliver(h, name, "", &e));
	}
	assert_int_equal(E_FULL, e.code);
	assert_non_null(strstr(e.msg, "20 files"));
}

/* --- Refused tags ----------------------------------------------------------------------------- */

static void a_refused_tag_is_told_to_both(void **state)
{
	static const char *const slash[] = { "compact", NULL };
	struct house *h = *state;

	h->engine.slash = slash;
	house_hear(h, OWNER, "go");
	answer(h, "Here.\n[send-file: gone_for.pdf]\n[send-file: /etc/passwd]");
	assert_int_equal(2, h->w.wire.nsent);
	assert_text(h, 0, "Here.");
	assert_non_null(strstr(sent(h, 1)->text, "Not sent: gone＿for.pdf, /etc/passwd."));
	assert_null(strstr(sent(h, 1)->text, "outside"));

	house_hear(h, OWNER, "/compact"); /* stands alone */
	assert_string_equal("/compact", h->engine.text);
	answer(h, "ok");
	house_hear(h, OWNER, "next");
	assert_non_null(strstr(h->engine.text, "[system: files of your last answer were not sent"));
	assert_non_null(strstr(h->engine.text, "there is no gone_for.pdf"));
	assert_non_null(strstr(h->engine.text, "outside the workspace"));
	assert_string_equal("]\nnext", strrchr(h->engine.text, ']'));
	assert_int_equal(strlen(h->engine.text) - strlen("next"), h->engine.quoted);
	answer(h, "ok");
	house_hear(h, OWNER, "again");
	assert_string_equal("again", h->engine.text);
}

static void the_reason_survives_a_restart_and_is_for_that_user_alone(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	answer(h, "[send-file: gone.pdf]");
	assert_int_equal(1, house_rows(h, INBOX_DONE));
	house_crash(h);
	house_hear(h, GUEST, "hello");
	assert_string_equal("hello", h->engine.text);
	answer(h, "ok");
	house_hear(h, OWNER, "next");
	assert_non_null(strstr(h->engine.text, "there is no gone.pdf"));
}

/* --- The out folder --------------------------------------------------------------------------- */

static void what_lies_in_the_out_folder_is_sent_and_moved_away(void **state)
{
	struct house *h = *state;
	char git[8] = "";
	FILE *f;

	house_hear(h, OWNER, "go");
	f = fopen(at(h, ".kairo-out/.gitignore"), "re");
	assert_non_null(f);
	assert_non_null(fgets(git, sizeof(git), f));
	fclose(f);
	assert_string_equal("*\n", git);
	put(h, ".kairo-out/b.txt", "b");
	put(h, ".kairo-out/a.txt", "a");
	answer(h, "Two files.");
	assert_int_equal(3, h->w.wire.nsent);
	assert_file(h, 1, "a.txt", "a");
	assert_file(h, 2, "b.txt", "b");
	assert_false(there(h, ".kairo-out/a.txt"));
	assert_true(there(h, ".kairo-out/kept/a.txt"));

	house_hear(h, OWNER, "go on");
	put(h, ".kairo-out/a.txt", "new");
	answer(h, "One.");
	assert_int_equal(5, h->w.wire.nsent);
	assert_file(h, 4, "a.txt", "new");
}

static void what_another_turn_has_left_there_is_not_sent(void **state)
{
	struct house *h = *state;

	house_hear(h, GUEST, "go");
	put(h, ".kairo-out/secret.txt", "the guest's");
	house_hear(h, GUEST, "/stop");
	house_wait(h, 5000);
	fake_forget(&h->w.wire);
	house_hear(h, OWNER, "go");
	assert_false(there(h, ".kairo-out/secret.txt"));
	assert_true(there(h, ".kairo-out/kept/secret.txt"));
	answer(h, "Nothing.");
	assert_int_equal(1, h->w.wire.nsent);
}

static void however_much_another_turn_has_left_there_none_is_sent(void **state)
{
	struct house *h = *state;
	char name[64];

	house_hear(h, GUEST, "go");
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), ".kairo-out/secret%d.txt", i);
		put(h, name, "the guest's");
	}
	house_hear(h, GUEST, "/stop");
	house_wait(h, 5000);
	fake_forget(&h->w.wire);
	house_hear(h, OWNER, "go");
	put(h, ".kairo-out/mine.txt", "the owner's");
	answer(h, "One.");
	assert_int_equal(2, h->w.wire.nsent);
	assert_file(h, 1, "mine.txt", "the owner's");
}

static void more_than_is_looked_at_is_told(void **state)
{
	struct house *h = *state;
	char name[64];

	house_hear(h, OWNER, "go");
	for (int i = 0; i < OUTFOLDER_MAX + 1; i++) {
		snprintf(name, sizeof(name), ".kairo-out/f%02d.txt", i);
		put(h, name, "x");
	}
	answer(h, "Many.");
	house_hear(h, OWNER, "next");
	assert_non_null(strstr(h->engine.text, "20 files are sent with one answer at most"));
	assert_non_null(strstr(h->engine.text, "more than 64 files lie in .kairo-out"));
	answer(h, "ok");
	house_hear(h, OWNER, "again"); /* nothing of it comes up again */
	assert_string_equal("again", h->engine.text);
}

static void what_cannot_take_the_place_of_its_name_is_kept_beside_it(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	assert_int_equal(0, mkdir(at(h, ".kairo-out/kept"), 0755));
	assert_int_equal(0, mkdir(at(h, ".kairo-out/kept/a.txt"), 0755));
	assert_int_equal(0, mkdir(at(h, ".kairo-out/kept/folder"), 0755));
	assert_int_equal(0, mkdir(at(h, ".kairo-out/folder"), 0755));
	put(h, ".kairo-out/kept/folder/x", "x");
	put(h, ".kairo-out/folder/y", "y");
	put(h, ".kairo-out/a.txt", "a");
	answer(h, "One.");
	assert_int_equal(3, h->w.wire.nsent);
	assert_file(h, 1, "a.txt", "a");
	assert_non_null(strstr(sent(h, 2)->text, "Not sent: .kairo-out/folder."));
	assert_false(there(h, ".kairo-out/a.txt"));
	assert_false(there(h, ".kairo-out/folder"));
	assert_true(there(h, ".kairo-out/kept/folder/x"));
	house_hear(h, OWNER, "next");
	answer(h, "Nothing.");
	assert_int_equal(4, h->w.wire.nsent);
}

/* Else it would go out again with every answer that follows. */
static void what_cannot_be_moved_away_is_not_sent(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	assert_int_equal(0, symlink("/", at(h, ".kairo-out/kept")));
	put(h, ".kairo-out/a.txt", "a");
	answer(h, "One.");
	assert_int_equal(2, h->w.wire.nsent);
	assert_non_null(strstr(sent(h, 1)->text, "Not sent: .kairo-out/a.txt."));
	assert_int_equal(0, copies(h));
	house_hear(h, OWNER, "next");
	assert_non_null(strstr(h->engine.text, "cannot be moved into .kairo-out/kept"));
}

static void what_may_not_be_sent_from_there_is_told(void **state)
{
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	assert_int_equal(0, mkdir(at(h, ".kairo-out/folder"), 0755));
	assert_int_equal(0, symlink("/etc/passwd", at(h, ".kairo-out/link")));
	answer(h, "Done.");
	assert_int_equal(2, h->w.wire.nsent);
	assert_non_null(strstr(sent(h, 1)->text, "Not sent: .kairo-out/folder, .kairo-out/link."));
	house_hear(h, OWNER, "next");
	assert_non_null(strstr(h->engine.text, "pack it into one file"));
	answer(h, "Done.");
	assert_int_equal(3, h->w.wire.nsent);
}

static void names_of_any_bytes_are_told_as_text(void **state)
{
	static const enum chan_outcome list[] = { CHAN_ACCEPTED, CHAN_ACCEPTED, CHAN_NOT_UPLOADED };
	struct house *h = *state;

	house_hear(h, OWNER, "go");
	put(h, ".kairo-out/a\n\"b'`.txt", "a");
	put(h, ".kairo-out/b\xff.bin", "b");
	fake_script(&h->w.wire, list, 3);
	h->w.wire.why = CHAN_UPLOAD_UNREACHABLE;
	answer(h, "Two.");
	assert_int_equal(4, h->w.wire.nsent);
	assert_file(h, 1, "a\"b'`.txt", "a");
	assert_file(h, 2, "b\xef\xbf\xbd.bin", "b");
	assert_true(utf8_valid(view_of(sent(h, 3)->text)));
	assert_non_null(strstr(sent(h, 3)->text, "`b\xef\xbf\xbd.bin` could not be sent"));
	house_crash(h);
	house_hear(h, OWNER, "next");
	assert_string_equal("next", h->engine.text);
}

static void an_out_folder_that_is_a_link_is_not_used(void **state)
{
	struct house *h = *state;

	put(h, "aside", "");
	assert_int_equal(0, unlink(at(h, "aside")));
	assert_int_equal(0, mkdir(at(h, "aside"), 0755));
	put(h, "aside/a.txt", "a");
	assert_int_equal(0, symlink("aside", at(h, ".kairo-out")));
	house_hear(h, OWNER, "go");
	answer(h, "ok");
	assert_int_equal(1, h->w.wire.nsent);
	assert_true(there(h, "aside/a.txt"));
	assert_false(there(h, "aside/.gitignore"));
}

static void a_failed_turn_sends_what_was_handed_over_and_no_more(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "pdf");
	house_hear(h, OWNER, "go");
	assert_int_equal(0, deliver(h, "a.pdf", "", NULL));
	put(h, ".kairo-out/half.txt", "half");
	fake_done(&h->engine, ENGINE_FAIL_STALLED, "So far", "");
	house_wait(h, 10000);
	assert_int_equal(3, h->w.wire.nsent);
	assert_text(h, 0, "So far");
	assert_file(h, 1, "a.pdf", "pdf");
	assert_non_null(strstr(sent(h, 2)->text, "/retry"));
}

static void many_that_are_refused_are_one_line_and_one_reason(void **state)
{
	struct house *h = *state;
	char name[128];
	const char *reason;

	house_hear(h, OWNER, "go");
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), ".kairo-out/%02d-%s", i,
			"a-name-of-a-report-that-goes-on-and-on-for-long");
		put(h, name, "x");
	}
	answer(h, "Done.");
	assert_int_equal(0, fake_count(&h->w.wire, "63-a-name"));
	assert_int_equal(1, fake_count(&h->w.wire, "Not sent: .kairo-out/20-a-name"));
	assert_int_equal(1, fake_count(&h->w.wire, ", …. The agent has been told why"));
	house_hear(h, OWNER, "next");
	reason = strstr(h->engine.text, "20 files are sent with one answer at most");
	assert_non_null(reason);
	assert_null(strstr(reason + 1, "20 files are sent"));
}

/* --- Background work -------------------------------------------------------------------------- */

static void a_notice_sends_what_it_wants_sent(void **state)
{
	struct house *h = *state;

	put(h, "chart.png", "png");
	house_hear(h, OWNER, "go");
	answer(h, "It runs.");
	fake_forget(&h->w.wire);
	put(h, ".kairo-out/a.txt", "a");
	fake_event(&h->engine, ENGINE_NOTICE,
		"It has ended.\n[send-file: chart.png]\n[send-file: /etc/passwd]");
	house_wait(h, 10000);
	assert_int_equal(3, h->w.wire.nsent);
	assert_text(h, 0, "It has ended.");
	assert_file(h, 1, "chart.png", "png");
	assert_non_null(strstr(sent(h, 2)->text, "Not sent: /etc/passwd."));
	assert_true(there(h, ".kairo-out/a.txt"));
	house_hear(h, OWNER, "next");
	assert_non_null(strstr(h->engine.text, "outside the workspace"));
}

static void a_notice_of_a_file_alone_is_that_file(void **state)
{
	struct house *h = *state;

	put(h, "chart.png", "png");
	house_hear(h, OWNER, "go");
	fake_event(&h->engine, ENGINE_NOTICE, "[send-image: chart.png]"); /* while a turn runs */
	house_wait(h, 5000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_file(h, 0, "chart.png", "png");
	answer(h, "ok");
	assert_int_equal(2, h->w.wire.nsent);
	assert_int_equal(0, copies(h));
}

/* --- Budget, order, restarts ------------------------------------------------------------------ */

/* So many sends of the owner's window are used; a turn runs. */
static void spend(struct house *h, int sends)
{
	house_hear(h, OWNER, "go");
	for (int i = 0; i < sends; i++) {
		assert_int_equal(0, control_send(h->control, NULL, VIEW("spent"), NULL, 0, NULL));
		house_wait(h, 2000);
	}
	assert_int_equal(sends, h->w.wire.nsent);
	fake_forget(&h->w.wire);
}

static void files_beyond_the_window_wait_in_their_order(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "a");
	put(h, "b.pdf", "b");
	spend(h, 6);
	assert_int_equal(0, deliver(h, "a.pdf", "", NULL));
	assert_int_equal(0, deliver(h, "b.pdf", "", NULL));
	answer(h, "Two files.");
	assert_int_equal(3, h->w.wire.nsent);
	assert_text(h, 0, "Two files.");
	assert_file(h, 1, "a.pdf", "a");
	assert_non_null(strstr(sent(h, 2)->text, "/more"));
	assert_int_equal(1, parked(h));
	assert_int_equal(1, copies(h));

	house_crash(h);
	fake_forget(&h->w.wire);
	house_hear(h, OWNER, "/more");
	house_wait(h, 5000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_file(h, 0, "b.pdf", "b");
	assert_int_equal(0, copies(h));
}

static void a_file_behind_a_closed_window_is_kept_for_the_next_message(void **state)
{
	static const enum chan_outcome closed[] = { CHAN_CLOSED };
	struct house *h = *state;

	put(h, "a.pdf", "a");
	house_hear(h, OWNER, "go");
	assert_int_equal(0, deliver(h, "a.pdf", "", NULL));
	fake_script(&h->w.wire, closed, 1);
	answer(h, "Here.");
	assert_int_equal(1, h->w.wire.nsent);
	assert_int_equal(2, parked(h));
	fake_forget(&h->w.wire);
	house_hear(h, OWNER, "next");
	house_wait(h, 5000);
	assert_int_equal(2, h->w.wire.nsent);
	assert_text(h, 0, "Here.");
	assert_file(h, 1, "a.pdf", "a");
}

static void a_kill_while_it_is_uploaded_sends_it_again_as_the_same(void **state)
{
	struct house *h = *state;
	char id[64];

	put(h, "a.pdf", "a");
	house_hear(h, OWNER, "go");
	h->w.wire.hold = true;
	house_answer(h, "[send-file: a.pdf]");
	assert_file(h, 0, "a.pdf", "a");
	snprintf(id, sizeof(id), "%s", sent(h, 0)->client_id);
	h->w.wire.hold = false;
	house_crash(h);
	house_wait(h, 10000);
	assert_int_equal(2, h->w.wire.nsent);
	assert_file(h, 1, "a.pdf", "a");
	assert_string_equal(id, sent(h, 1)->client_id);
	assert_int_equal(0, copies(h));
}

static void an_unknown_outcome_is_tried_again_as_for_text(void **state)
{
	static const enum chan_outcome list[] = { CHAN_UNKNOWN, CHAN_NOT_SENT, CHAN_ACCEPTED };
	struct house *h = *state;

	put(h, "a.pdf", "a");
	house_hear(h, OWNER, "go");
	fake_script(&h->w.wire, list, 3);
	answer(h, "[send-file: a.pdf]");
	assert_int_equal(3, h->w.wire.nsent);
	for (int i = 0; i < 3; i++) {
		assert_file(h, i, "a.pdf", "a");
		assert_string_equal(sent(h, 0)->client_id, sent(h, i)->client_id);
	}
	assert_int_equal(0, copies(h));
}

static void one_that_may_be_lost_can_be_had_again(void **state)
{
	static const enum chan_outcome list[] = { CHAN_UNKNOWN, CHAN_UNKNOWN, CHAN_UNKNOWN };
	struct house *h = *state;

	put(h, "a.pdf", "a");
	house_hear(h, OWNER, "go");
	fake_script(&h->w.wire, list, 3);
	answer(h, "[send-file: a.pdf]");
	assert_non_null(strstr(fake_last(&h->w.wire), "may not have arrived"));
	assert_int_equal(1, copies(h));
	fake_forget(&h->w.wire);
	house_hear(h, OWNER, "/more");
	house_wait(h, 5000);
	assert_file(h, 0, "a.pdf", "a");
}

/* --- Stopping --------------------------------------------------------------------------------- */

static void stop_ends_an_upload_for_good(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "a");
	house_hear(h, OWNER, "go");
	h->w.wire.hold = true;
	house_answer(h, "[send-file: a.pdf]");
	assert_int_equal(1, h->w.wire.nsent);
	h->w.wire.hold = false;
	house_hear(h, OWNER, "/stop");
	house_wait(h, 60000);
	assert_int_equal(1, h->w.wire.aborts);
	assert_int_equal(2, h->w.wire.nsent);
	assert_non_null(strstr(fake_last(&h->w.wire), "Stopped sending"));
	assert_int_equal(0, copies(h));
}

static void stop_ends_the_copying_of_a_running_turn(void **state)
{
	struct house *h = *state;

	allow_large(h);
	put_size(h, "big.bin", 50 * MIB);
	house_hear(h, OWNER, "go");
	assert_int_equal(0, deliver(h, "big.bin", "", NULL));
	assert_int_equal(1, copies(h));
	h->engine.deaf = true; /* the engine takes its time, the copy does not */
	house_hear(h, OWNER, "/stop");
	assert_int_equal(0, copies(h));
	fake_done(&h->engine, ENGINE_FAIL_CANCELLED, "", "");
	house_wait(h, 5000);
	assert_int_equal(1, h->w.wire.nsent);
}

/* --- Failing ---------------------------------------------------------------------------------- */

static void a_failed_upload_is_told_in_one_line(void **state)
{
	static const enum chan_outcome list[] = { CHAN_ACCEPTED, CHAN_NOT_UPLOADED };
	struct house *h = *state;
	struct control_status s;

	put(h, "a_b.pdf", "a");
	house_hear(h, OWNER, "go");
	fake_script(&h->w.wire, list, 2);
	h->w.wire.why = CHAN_UPLOAD_UNREACHABLE;
	answer(h, "Here.\n[send-file: a_b.pdf]");
	assert_int_equal(3, h->w.wire.nsent);
	assert_non_null(strstr(fake_last(&h->w.wire), "`a_b.pdf` could not be sent"));
	assert_non_null(strstr(fake_last(&h->w.wire), "the network did not hold"));
	assert_non_null(strstr(fake_last(&h->w.wire), at(h, "a_b.pdf")));
	assert_null(strchr(fake_last(&h->w.wire), '\n'));
	assert_int_equal(0, control_status(h->control, &s, NULL));
	assert_int_equal(2, s.sends_used); /* nothing was sent for it */
	assert_int_equal(1, s.refused);
	assert_int_equal(0, copies(h));
}

static void every_reason_has_its_words(void **state)
{
	static const struct {
		const char *why, *says;
	} cases[] = { { CHAN_UPLOAD_REFUSED, "WeChat did not take it" },
		{ CHAN_UPLOAD_UNREADABLE, "could not be read" },
		{ CHAN_UPLOAD_UNCONFIRMED, "gave no receipt" },
		{ "ret=-2 errmsg secret", "WeChat did not take it" } };
	static const enum chan_outcome list[] = { CHAN_NOT_UPLOADED };
	struct house *h = *state;

	put(h, "a.pdf", "a");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		house_hear(h, OWNER, "go");
		fake_script(&h->w.wire, list, 1);
		h->w.wire.why = cases[i].why;
		answer(h, "[send-file: a.pdf]");
		assert_non_null(strstr(fake_last(&h->w.wire), cases[i].says));
		assert_null(strstr(fake_last(&h->w.wire), "secret"));
	}
}

static void a_copy_that_is_gone_is_told(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "a");
	spend(h, 7);
	answer(h, "Text.\n[send-file: a.pdf]");
	assert_int_equal(1, parked(h));
	assert_int_equal(0, remove_tree(h->outgoing));
	assert_int_equal(0, mkdir(h->outgoing, 0700));
	fake_forget(&h->w.wire);
	house_hear(h, OWNER, "/more");
	house_wait(h, 5000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_non_null(strstr(fake_last(&h->w.wire), "`a.pdf` could not be sent"));
}

static void a_copy_cut_off_by_a_crash_is_told(void **state)
{
	struct house *h = *state;

	allow_large(h);
	put_size(h, "big.bin", 50 * MIB);
	house_hear(h, OWNER, "go");
	fake_done(&h->engine, ENGINE_OK, "[send-file: big.bin]", "");
	assert_int_equal(1, copies(h));
	house_crash(h);
	house_wait(h, 5000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_non_null(strstr(fake_last(&h->w.wire), "restarted meanwhile"));
	assert_int_equal(0, copies(h));
}

static void a_full_disk_is_told_to_the_agent(void **state)
{
	struct rlimit before, small = { .rlim_cur = 2 * MIB };
	struct house *h = *state;
	struct err e = ERR_INIT;

	allow_large(h);
	put_size(h, "big.bin", 3 * MIB);
	house_hear(h, OWNER, "go");
	assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &before));
	small.rlim_max = before.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
	assert_int_equal(-1, deliver(h, "big.bin", "", &e));
	assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &before));
	assert_int_equal(E_FULL, e.code);
	assert_non_null(strstr(e.msg, "no room"));
	assert_int_equal(0, copies(h));
}

static void an_end_that_cannot_be_stored_keeps_its_files(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "a");
	house_hear(h, OWNER, "go");
	world_full(&h->w, true);
	house_answer(h, "Here.\n[send-file: a.pdf]");
	put(h, "a.pdf", "changed");
	world_full(&h->w, false);
	house_wait(h, 20000);
	assert_int_equal(2, h->w.wire.nsent);
	assert_file(h, 1, "a.pdf", "a");
}

/* --- Typing ----------------------------------------------------------------------------------- */

static void a_long_upload_is_shown_as_typing(void **state)
{
	struct house *h = *state;

	put(h, "a.pdf", "a");
	house_hear(h, OWNER, "go");
	h->w.wire.hold = true;
	house_answer(h, "[send-file: a.pdf]");
	assert_string_equal("", h->w.wire.typing);
	pass(&h->w.clock, h->w.loop, OUTBOX_TYPING_MS - 1);
	assert_string_equal("", h->w.wire.typing);
	pass(&h->w.clock, h->w.loop, 1);
	assert_string_equal(OWNER, h->w.wire.typing);
	house_hear(h, OWNER, "next"); /* its turn wants it too */
	fake_land(&h->w.wire, CHAN_ACCEPTED);
	h->w.wire.hold = false;
	settle(h->w.loop);
	assert_string_equal(OWNER, h->w.wire.typing);
	answer(h, "ok");
	assert_string_equal("", h->w.wire.typing);
	assert_int_equal(h->w.wire.typing_on, h->w.wire.typing_off);
}

/* --- Long answers ----------------------------------------------------------------------------- */

/* Lines that say where they are. */
static char *long_text(size_t bytes)
{
	struct str s = STR_INIT(bytes + 100);

	for (int i = 0; s.n < bytes; i++)
		str_addf(&s, "This is line number %d of a long answer.\n\n", i);
	return str_take(&s);
}

static void an_answer_too_long_goes_as_a_file(void **state)
{
	struct house *h = *state;
	char *text = long_text(30000);

	house_hear(h, OWNER, "go");
	answer(h, text);
	assert_int_equal(2, h->w.wire.nsent);
	assert_non_null(strstr(sent(h, 0)->text, "line number 0 "));
	assert_non_null(strstr(sent(h, 0)->text, "(the file below has all of it)"));
	assert_int_equal(0, strncmp(sent(h, 1)->file, "answer-", 7));
	assert_int_equal(strlen("answer-20260102-0304.md"), strlen(sent(h, 1)->file));
	assert_string_equal(text, sent(h, 1)->text);
	assert_int_equal(0, parked(h));
	house_hear(h, OWNER, "/more");
	house_wait(h, 3000);
	assert_non_null(strstr(fake_last(&h->w.wire), "nothing left"));
	free(text);
}

static void an_answer_that_fits_stays_text(void **state)
{
	struct house *h = *state;
	char *text = long_text(13000); /* 8 parts of 1,800 less the room for a note */

	house_hear(h, OWNER, "go");
	answer(h, text);
	assert_int_equal(8, h->w.wire.nsent);
	for (int i = 0; i < 8; i++)
		assert_string_equal("", sent(h, i)->file);
	free(text);
}

static void where_a_file_finds_no_room_the_rest_waits_as_text(void **state)
{
	struct house *h = *state;
	char *text = long_text(6000); /* four parts */

	spend(h, 6);
	answer(h, text);
	assert_int_equal(2, h->w.wire.nsent);
	assert_int_equal(0, strncmp(sent(h, 1)->file, "answer-", 7));
	assert_int_equal(0, parked(h));
	fake_forget(&h->w.wire);
	spend(h, 7);
	answer(h, text);
	assert_int_equal(1, h->w.wire.nsent);
	assert_non_null(strstr(sent(h, 0)->text, "(more follows: send /more)"));
	assert_int_equal(3, parked(h));
	free(text);
}

static void a_failed_file_leaves_the_rest_as_text(void **state)
{
	static const enum chan_outcome list[] = { CHAN_ACCEPTED, CHAN_NOT_UPLOADED };
	struct house *h = *state;
	char *text = long_text(20000);

	house_hear(h, OWNER, "go");
	fake_script(&h->w.wire, list, 2);
	h->w.wire.why = CHAN_UPLOAD_REFUSED;
	answer(h, text);
	assert_int_equal(3, h->w.wire.nsent);
	assert_non_null(strstr(fake_last(&h->w.wire), "with the whole answer could not be sent"));
	assert_non_null(strstr(fake_last(&h->w.wire), "/more"));
	assert_true(parked(h) > 8);
	fake_forget(&h->w.wire);
	house_hear(h, OWNER, "/more");
	house_wait(h, 20000);
	assert_true(h->w.wire.nsent >= 7);
	assert_null(strstr(sent(h, 0)->text, "line number 0 "));
	assert_int_equal(1, fake_count(&h->w.wire, "line number 60 "));
	free(text);
}

static void a_giant_answer_is_formatted_in_part_and_sent_whole(void **state)
{
	struct house *h = *state;
	char *text = long_text(ENGINE_ANSWER_MAX - 100);

	house_hear(h, OWNER, "go");
	answer(h, text);
	assert_int_equal(2, h->w.wire.nsent);
	assert_int_equal(strlen(text), sent(h, 1)->size);
	free(text);
}

static void a_giant_answer_waits_as_a_file_where_there_is_no_room(void **state)
{
	struct house *h = *state;
	char *text = long_text(OUTBOX_LONG + 1000);

	spend(h, 7);
	answer(h, text);
	assert_int_equal(1, h->w.wire.nsent);
	assert_non_null(strstr(sent(h, 0)->text, "/more"));
	assert_int_equal(1, parked(h));
	fake_forget(&h->w.wire);
	house_hear(h, OWNER, "/more");
	house_wait(h, 5000);
	assert_int_equal(1, h->w.wire.nsent);
	assert_int_equal(strlen(text), sent(h, 0)->size);
	free(text);
}

/* --- From the command line, and to a terminal ------------------------------------------------- */

static void the_command_line_sends_files_too(void **state)
{
	struct house *h = *state;
	struct view files[] = { view_of(at(h, "a.pdf")), view_of(at(h, "b.png")) };
	struct err e = ERR_INIT;

	put(h, "a.pdf", "a");
	put(h, "b.png", "b");
	house_hear(h, OWNER, "hello");
	answer(h, "hi");
	fake_forget(&h->w.wire);
	assert_int_equal(0, control_send(h->control, NULL, VIEW("Look"), files, 2, &e));
	house_wait(h, 5000);
	assert_int_equal(3, h->w.wire.nsent);
	assert_text(h, 0, "Look");
	assert_file(h, 1, "a.pdf", "a");
	assert_file(h, 2, "b.png", "b");
	fake_forget(&h->w.wire);
	assert_int_equal(0, control_send(h->control, NULL, VIEW_NONE, files, 1, &e));
	house_wait(h, 5000);
	assert_int_equal(1, h->w.wire.nsent);
}

static void it_sends_all_or_nothing(void **state)
{
	struct house *h = *state;
	struct view files[] = { view_of(at(h, "a.pdf")), VIEW("/etc/passwd") };
	struct err e = ERR_INIT;

	put(h, "a.pdf", "a");
	assert_int_equal(-1, control_send(h->control, NULL, VIEW("Look"), files, 1, &e));
	assert_int_equal(E_DENIED, e.code); /* nobody has written yet */
	house_hear(h, OWNER, "hello");
	answer(h, "hi");
	fake_forget(&h->w.wire);
	assert_int_equal(-1, control_send(h->control, NULL, VIEW("Look"), files, 2, &e));
	assert_non_null(strstr(e.msg, "outside the workspace"));
	assert_int_equal(-1, control_send(h->control, NULL, VIEW_NONE, NULL, 0, &e));
	house_wait(h, 5000);
	assert_int_equal(0, h->w.wire.nsent);
	assert_int_equal(0, copies(h));
}

static struct str shown;

static void on_ask(void *arg, const struct engine_event *ev)
{
	(void)arg;
	if (ev->type == ENGINE_TEXT || ev->type == ENGINE_DONE)
		str_add(&shown, ev->text);
}

static void a_terminal_is_told_where_files_are(void **state)
{
	struct house *h = *state;
	struct err e = ERR_INIT;
	uint64_t ticket;

	shown = (struct str)STR_INIT(65536);
	put(h, "a.pdf", "a");
	assert_int_equal(0, control_ask(h->control, VIEW("make it"), on_ask, NULL, &ticket, &e));
	settle(h->w.loop);
	assert_int_equal(-1, deliver(h, "a.pdf", "", &e));
	assert_non_null(strstr(e.msg, "nothing is sent to a terminal"));
	put(h, ".kairo-out/b.pdf", "b");
	put(h, ".kairo-out/c\xff\n\x1b[1m.pdf", "c");
	answer(h, "Made.");
	assert_non_null(strstr(str_cstr(&shown), "Made.\n\n"));
	assert_true(utf8_valid(str_view(&shown)));
	assert_non_null(strstr(str_cstr(&shown), "/c"));
	assert_null(strchr(str_cstr(&shown), 0x1b));
	assert_non_null(strstr(str_cstr(&shown), at(h, ".kairo-out/kept/b.pdf")));
	assert_true(there(h, ".kairo-out/kept/b.pdf"));
	assert_int_equal(0, h->w.wire.nsent);
	assert_int_equal(0, copies(h));
	str_release(&shown);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_file_goes_behind_the_answer),
		T(a_caption_is_a_text_ahead_of_it),
		T(tags_and_blocks_are_sent_and_never_shown),
		T(a_file_alone_is_an_answer),
		T(what_is_only_thought_is_not_sent),
		T(a_file_named_twice_is_sent_once),
		T(later_changes_do_no_harm),
		T(the_next_turn_waits_until_all_is_copied),
		T(a_file_is_refused_with_its_reason),
		T(so_many_files_and_no_more),
		T(a_refused_tag_is_told_to_both),
		T(the_reason_survives_a_restart_and_is_for_that_user_alone),
		T(what_lies_in_the_out_folder_is_sent_and_moved_away),
		T(what_another_turn_has_left_there_is_not_sent),
		T(however_much_another_turn_has_left_there_none_is_sent),
		T(more_than_is_looked_at_is_told),
		T(what_cannot_take_the_place_of_its_name_is_kept_beside_it),
		T(what_cannot_be_moved_away_is_not_sent),
		T(what_may_not_be_sent_from_there_is_told),
		T(names_of_any_bytes_are_told_as_text),
		T(an_out_folder_that_is_a_link_is_not_used),
		T(a_failed_turn_sends_what_was_handed_over_and_no_more),
		T(many_that_are_refused_are_one_line_and_one_reason),
		T(a_notice_sends_what_it_wants_sent),
		T(a_notice_of_a_file_alone_is_that_file),
		T(files_beyond_the_window_wait_in_their_order),
		T(a_file_behind_a_closed_window_is_kept_for_the_next_message),
		T(a_kill_while_it_is_uploaded_sends_it_again_as_the_same),
		T(an_unknown_outcome_is_tried_again_as_for_text),
		T(one_that_may_be_lost_can_be_had_again),
		T(stop_ends_an_upload_for_good),
		T(stop_ends_the_copying_of_a_running_turn),
		T(a_failed_upload_is_told_in_one_line),
		T(every_reason_has_its_words),
		T(a_copy_that_is_gone_is_told),
		T(a_copy_cut_off_by_a_crash_is_told),
		T(a_full_disk_is_told_to_the_agent),
		T(an_end_that_cannot_be_stored_keeps_its_files),
		T(a_long_upload_is_shown_as_typing),
		T(an_answer_too_long_goes_as_a_file),
		T(an_answer_that_fits_stays_text),
		T(where_a_file_finds_no_room_the_rest_waits_as_text),
		T(a_failed_file_leaves_the_rest_as_text),
		T(a_giant_answer_is_formatted_in_part_and_sent_whole),
		T(a_giant_answer_waits_as_a_file_where_there_is_no_room),
		T(the_command_line_sends_files_too),
		T(it_sends_all_or_nothing),
		T(a_terminal_is_told_where_files_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
