/* The folder of received files: how long, how much, and nothing outside of it. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "channel/inbox.h"
#include "channel/media.h"

#include "../base/smalldisk.h"
#include "house.h"

#define DAY   ((int64_t)24 * 60 * 60 * 1000)
#define KIB   ((int64_t)1024)
#define SMALL 32768UL /* bytes of a disk that is soon full */

/* --- Rig -------------------------------------------------------------------------------------- */

static char kib[1024 * 64];

static int setup(void **state)
{
	struct house *h = calloc(1, sizeof(*h));

	*state = h;
	if (!h)
		return -1;
	house_open(h);
	fake_serve(&h->w.wire, "k", kib, 1024);
	fake_serve(&h->w.wire, "64k", kib, sizeof(kib));
	return 0;
}

static int teardown(void **state)
{
	house_close(*state);
	free(*state);
	return 0;
}

/* A file by this name, received and answered. */
static void receive(struct house *h, const char *name, const char *param)
{
	house_hear_file(h, CHAN_FILE, name, param);
	pass(&h->w.clock, h->w.loop, 1500);
	if (h->engine.running)
		house_answer(h, "ok");
}

static void prune(struct house *h)
{
	struct err e = ERR_INIT;

	if (media_prune(&h->w.room, &e) < 0)
		fail_msg("%s", e.msg);
}

/* Files anywhere beneath path; of any name, links not followed. */
static int count_files(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *x;
	int n = 0;

	must(d);
	while ((x = readdir(d))) {
		char at[1024];

		if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0)
			continue;
		must((size_t)snprintf(at, sizeof(at), "%s/%s", path, x->d_name) < sizeof(at));
		n += x->d_type == DT_DIR ? count_files(at) : 1;
	}
	closedir(d);
	return n;
}

static int kept(struct house *h)
{
	return count_files(h->w.media);
}

static bool has(struct house *h, const char *name)
{
	char sql[200];

	must((size_t)snprintf(sql, sizeof(sql),
		     "SELECT count(*) FROM channel_media WHERE state = 1 AND name = '%s'",
		     name) < sizeof(sql));
	return world_int(&h->w, sql) == 1;
}

static void user_folder(struct house *h, struct str *out)
{
	char key[MEDIA_KEY_HEX + 1];

	media_user_key(key, OWNER);
	*out = (struct str)STR_INIT(1000);
	str_addf(out, "%s/%s", h->w.media, key);
}

/* --- Time ------------------------------------------------------------------------------------- */

static void files_are_kept_for_their_days(void **state)
{
	struct house *h = *state;

	receive(h, "a", "k");
	world_pass(&h->w, 7 * DAY - 2000);
	prune(h);
	assert_int_equal(1, kept(h));
	world_pass(&h->w, 2000 + 1);
	prune(h);
	assert_int_equal(0, kept(h));
	assert_int_equal(1, world_int(&h->w, "SELECT count(*) FROM channel_media WHERE state = 3"));
}

/* What our clock alone claims is no age. */
static void a_clock_that_jumps_ahead_deletes_nothing(void **state)
{
	struct house *h = *state;

	h->w.room.server_ms = h->w.clock.wall;
	receive(h, "a", "k");
	h->w.clock.wall += 365 * DAY;
	prune(h);
	assert_int_equal(1, kept(h));
}

static void what_waits_or_runs_keeps_its_files(void **state)
{
	struct house *h = *state;

	house_hear_file(h, CHAN_FILE, "runs", "k");
	pass(&h->w.clock, h->w.loop, 1500);
	assert_true(h->engine.running);
	house_hear_file(h, CHAN_FILE, "waits", "k");
	world_pass(&h->w, 30 * DAY);
	prune(h);
	assert_int_equal(2, kept(h));
	house_answer(h, "ok");
	prune(h);
	assert_false(has(h, "runs"));
	assert_true(has(h, "waits"));
}

static void a_file_is_as_old_as_the_last_that_quoted_it(void **state)
{
	struct house *h = *state;
	struct chan_msg quote = { .id = "9000",
		.from = OWNER,
		.token = "t",
		.text = VIEW("and this?"),
		.typed = true,
		.quote_id = "101" };

	receive(h, "a", "k");
	world_pass(&h->w, 6 * DAY);
	house_hear_msg(h, &quote);
	assert_int_equal(1, h->engine.nfiles);
	assert_true(h->engine.files[0].quoted);
	assert_non_null(strstr(h->engine.text, "[attachment: quoted file a, "));
	house_answer(h, "ok");
	world_pass(&h->w, 6 * DAY);
	prune(h);
	assert_int_equal(1, kept(h));
	world_pass(&h->w, 2 * DAY);
	prune(h);
	assert_int_equal(0, kept(h));
}

/* An id is no key to what others have sent. */
static void nobody_gets_the_files_of_another_by_quoting_them(void **state)
{
	struct house *h = *state;
	struct chan_msg quote = { .id = "9000",
		.from = GUEST,
		.token = "t",
		.text = VIEW("and this?"),
		.typed = true,
		.quote_id = "101" };

	receive(h, "a", "k");
	house_hear_msg(h, &quote);
	assert_int_equal(0, h->engine.nfiles);
	assert_string_equal("", h->engine.media);
}

static void what_is_gone_is_said_to_be(void **state)
{
	struct house *h = *state;

	house_hear_file(h, CHAN_FILE, "a", "k");
	pass(&h->w.clock, h->w.loop, 1500);
	fake_done(&h->engine, ENGINE_FAIL_PROVIDER, "", "");
	world_pass(&h->w, 8 * DAY);
	prune(h);
	house_hear(h, OWNER, "/retry");
	house_wait(h, 3000);
	assert_int_equal(1, h->engine.starts);
	assert_int_equal(1, fake_count(&h->w.wire, "no longer here, please send it again"));
}

/* --- Room ------------------------------------------------------------------------------------- */

static void the_oldest_go_first_and_no_more_than_must(void **state)
{
	struct house *h = *state;
	int64_t files, bytes;

	receive(h, "a", "k");
	receive(h, "b", "64k");
	receive(h, "c", "k");
	receive(h, "d", "k");
	assert_int_equal(0, media_usage(&h->w.room, &files, &bytes, NULL));
	assert_int_equal(4, files);
	assert_int_equal(67 * KIB, bytes);
	h->w.room.media_keep = 67 * KIB + 1;
	prune(h);
	assert_int_equal(4, kept(h));
	h->w.room.media_keep = 67 * KIB;
	prune(h);
	assert_false(has(h, "a"));
	assert_int_equal(3, kept(h));
	h->w.room.media_keep = 66 * KIB;
	prune(h);
	assert_false(has(h, "b"));
	assert_int_equal(2, kept(h));
	h->w.room.media_keep = 1;
	prune(h);
	assert_int_equal(0, kept(h));
}

/* More than are looked for at once: rows and files made by hand, of a KiB each. */
static void many(struct house *h, int n)
{
	char sql[800], name[1200];
	struct str folder;

	receive(h, "a", "k");
	user_folder(h, &folder);
	str_adds(&folder, "/old");
	must(mkdir(str_cstr(&folder), 0700) == 0);
	for (int i = 1; i < n; i++) {
		must((size_t)snprintf(name, sizeof(name), "%s/f%03d", str_cstr(&folder), i) <
			sizeof(name));
		must(close(open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) == 0);
		must((size_t)snprintf(sql, sizeof(sql),
			     "INSERT INTO channel_media (seq, message, at, kind, quoted, transcript,"
			     " play_ms, full_url, param, key, state, name, size, path)"
			     " SELECT seq, message, at, kind, 0, 0, 0, '', '', '', 1, 'f%03d', 1024,"
			     " '%s/f%03d' FROM channel_media WHERE name = 'a'",
			     i, str_cstr(&folder) + strlen(h->w.media) + 1, i) < sizeof(sql));
		must(db_exec(h->w.db, sql, NULL) == 0);
	}
	str_release(&folder);
	assert_int_equal(n, kept(h));
}

static void a_great_many_go_as_well(void **state)
{
	struct house *h = *state;

	many(h, 600);
	h->w.room.media_keep = 70 * KIB;
	prune(h);
	assert_int_equal(69, kept(h));
	world_pass(&h->w, 8 * DAY);
	prune(h);
	assert_int_equal(0, kept(h));
	assert_int_equal(600,
		world_int(&h->w, "SELECT count(*) FROM channel_media WHERE state = 3"));
}

static void what_waits_has_its_room_and_takes_no_more(void **state)
{
	struct house *h = *state;

	h->settings.media_keep = KIB + 1;
	assert_int_equal(0, control_apply(h->control, &h->settings, NULL));
	house_hear_file(h, CHAN_FILE, "a", "k");
	house_hear_file(h, CHAN_FILE, "b", "64k"); /* there is a byte left */
	house_hear_file(h, CHAN_FILE, "c", "k");
	pass(&h->w.clock, h->w.loop, 1500);
	assert_int_equal(2, h->engine.nfiles);
	assert_non_null(strstr(h->engine.text, "file c, not received: the room for"));
	assert_int_equal(2, kept(h));
	house_answer(h, "ok");
	receive(h, "d", "k");
	assert_true(has(h, "d"));
	assert_int_equal(1, kept(h));
}

static void a_full_disk_is_told_and_leaves_no_half_file(void **state)
{
	struct house *h = *state;
	struct smalldisk disk;
	bool small = smalldisk_mount(&disk, h->w.media, SMALL);

	if (!small && !smalldisk_limit(&disk, SMALL))
		skip();
	house_hear_file(h, CHAN_FILE, "a", "64k");
	pass(&h->w.clock, h->w.loop, 1500);
	if (!small)
		smalldisk_unlimit(&disk);
	house_wait(h, 3000);
	assert_int_equal(1, fake_count(&h->w.wire, "could not store it"));
	assert_int_equal(0, kept(h));
	receive(h, "b", "k");
	assert_true(has(h, "b"));
	smalldisk_unmount(&disk);
}

/* --- Nothing outside -------------------------------------------------------------------------- */

static void a_folder_that_is_a_link_is_refused(void **state)
{
	struct house *h = *state;
	struct control_env env = { .loop = h->w.loop,
		.db = h->w.db,
		.channel = &h->w.wire.channel,
		.engine = &h->engine.engine,
		.bot_id = BOT,
		.owner = OWNER,
		.media = scratch_path(&h->w.scratch, "link") };
	struct control *c;
	struct err e = ERR_INIT;

	assert_int_equal(0, symlink(h->w.media, env.media));
	assert_int_equal(-1, control_open(&c, &env, &h->settings, &e));
	assert_int_equal(E_DENIED, e.code);
}

static void no_file_goes_through_a_link(void **state)
{
	struct house *h = *state;
	struct str user;
	char day[600];
	const char *outside = scratch_path(&h->w.scratch, "outside");

	user_folder(h, &user);
	assert_int_equal(0, mkdir(outside, 0700));
	assert_int_equal(0, symlink(outside, str_cstr(&user)));
	receive(h, "a", "k");
	assert_int_equal(0, unlink(str_cstr(&user)));
	assert_int_equal(0, mkdir(str_cstr(&user), 0700));
	snprintf(day, sizeof(day), "%s/2026-01-01", str_cstr(&user));
	assert_int_equal(0, symlink(outside, day));
	receive(h, "b", "k");
	house_wait(h, 4000);
	assert_int_equal(0, count_files(outside));
	assert_int_equal(2, fake_count(&h->w.wire, "could not store it"));
	assert_int_equal(0, h->engine.starts);
	str_release(&user);
}

static void files_and_folders_are_private_whatever_the_umask(void **state)
{
	struct house *h = *state;
	mode_t old = umask(0);
	struct stat st;
	char *slash, path[512];

	house_hear_file(h, CHAN_FILE, "a", "k");
	pass(&h->w.clock, h->w.loop, 1500);
	(void)umask(old);
	snprintf(path, sizeof(path), "%s", h->engine.file_path);
	assert_int_equal(0, stat(path, &st));
	assert_int_equal(0600, st.st_mode & 07777);
	for (int i = 0; i < 2; i++) {
		slash = strrchr(path, '/');
		*slash = '\0';
		assert_int_equal(0, stat(path, &st));
		assert_int_equal(0700, st.st_mode & 07777);
	}
}

/* --- What a crash leaves ---------------------------------------------------------------------- */

static void what_no_row_knows_is_swept(void **state)
{
	static const char *const left[] = { ".part-0123456789abcdef", "orphan.pdf" };
	struct house *h = *state;
	char path[512], folder[512];

	receive(h, "a", "k");
	snprintf(folder, sizeof(folder), "%s", h->engine.file_path);
	*strrchr(folder, '/') = '\0';
	for (int i = 0; i < 2; i++) {
		must((size_t)snprintf(path, sizeof(path), "%s/%s", folder, left[i]) < sizeof(path));
		assert_int_equal(0, file_replace(path, 0600, VIEW("half"), NULL));
	}
	must((size_t)snprintf(path, sizeof(path), "%s/deeper", folder) < sizeof(path));
	assert_int_equal(0, mkdir(path, 0700));
	must((size_t)snprintf(path, sizeof(path), "%s/link", folder) < sizeof(path));
	assert_int_equal(0, symlink("/etc/passwd", path));
	assert_int_equal(4, kept(h));
	house_crash(h);
	assert_int_equal(1, kept(h));
	assert_true(has(h, "a"));
	assert_true(file_exists("/etc/passwd"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(files_are_kept_for_their_days),
		T(a_clock_that_jumps_ahead_deletes_nothing),
		T(what_waits_or_runs_keeps_its_files),
		T(a_file_is_as_old_as_the_last_that_quoted_it),
		T(nobody_gets_the_files_of_another_by_quoting_them),
		T(what_is_gone_is_said_to_be),
		T(the_oldest_go_first_and_no_more_than_must),
		T(a_great_many_go_as_well),
		T(what_waits_has_its_room_and_takes_no_more),
		T(a_full_disk_is_told_and_leaves_no_half_file),
		T(a_folder_that_is_a_link_is_refused),
		T(no_file_goes_through_a_link),
		T(files_and_folders_are_private_whatever_the_umask),
		T(what_no_row_knows_is_swept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
