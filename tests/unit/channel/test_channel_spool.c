/* Copies of files on their way out: whole, in slices, bounded, and gone when nobody needs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channel/spool.h"

#include <dirent.h>
#include <fcntl.h>

#include "world.h"

#define MIB ((size_t)1 << 20)

static struct world w;
static struct spool *spool;
static char ws[128], outgoing[128], file[160];
static int told, answer;
static enum spool_state told_state;
static char told_md5[SPOOL_MD5], told_why[32];

static int on_done(void *arg, const char *id, enum spool_state state, const char *md5,
	const char *why)
{
	(void)arg;
	(void)id;
	told++;
	told_state = state;
	snprintf(told_md5, sizeof(told_md5), "%s", md5);
	snprintf(told_why, sizeof(told_why), "%s", why ? why : "");
	return answer;
}

static void open_spool(void)
{
	struct err e = ERR_INIT;

	if (spool_open(&spool, &w.room, on_done, NULL, &e) < 0)
		fail_msg("%s", e.msg);
}

static int setup(void **state)
{
	(void)state;
	world_open(&w);
	snprintf(ws, sizeof(ws), "%s/ws", w.scratch.dir);
	snprintf(outgoing, sizeof(outgoing), "%s/outgoing", w.scratch.dir);
	snprintf(file, sizeof(file), "%s/file", ws);
	assert_int_equal(0, mkdir(ws, 0755));
	w.room.workspace = ws;
	w.room.outgoing = outgoing;
	w.room.file_max = (int64_t)2 << 30;
	told = answer = 0;
	open_spool();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	spool_close(&spool);
	world_close(&w);
	return 0;
}

static void put(size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	for (size_t i = 0; i < size;) {
		char buf[65536];
		size_t n = size - i < sizeof(buf) ? size - i : sizeof(buf);

		memset(buf, (int)(i >> 16) + 1, n);
		assert_int_equal(n, write(fd, buf, n));
		i += n;
	}
	close(fd);
}

static int begin(char id[SPOOL_ID], struct err *e)
{
	struct sendable s;

	assert_int_equal(0, sendable_open(&s, &w.room, OWNER, VIEW("file"), e));
	return spool_put(spool, &s, id, e);
}

static int copies(void)
{
	DIR *d = opendir(outgoing);
	struct dirent *de;
	int n = 0;

	assert_non_null(d);
	while ((de = readdir(d)))
		n += de->d_name[0] != '.';
	closedir(d);
	return n;
}

static void what_fits_into_a_slice_is_there_at_once(void **state)
{
	static const struct {
		const char *body, *md5; /* RFC 1321, A.5; the last by md5sum */
	} cases[] = {
		{ "", "d41d8cd98f00b204e9800998ecf8427e" },
		{ "abc", "900150983cd24fb0d6963f7d28e17f72" },
		{ "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
		{ "hello ilink", "a0e581bef9105ace19c7d2e59e66374d" },
	};
	char id[SPOOL_ID], md5[SPOOL_MD5], path[200];
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(0, spool_put_text(spool, view_of(cases[i].body), id, NULL));
		assert_int_equal(SPOOL_READY, spool_look(spool, id, md5, NULL));
		assert_string_equal(cases[i].md5, md5);
		snprintf(path, sizeof(path), "%s/%s", outgoing, id);
		assert_int_equal(0, stat(path, &st));
		assert_int_equal(0600, st.st_mode & 07777);
		assert_int_equal(strlen(cases[i].body), st.st_size);
	}
	assert_int_equal(0, told);
}

static void what_is_larger_goes_in_slices(void **state)
{
	static const size_t sizes[] = { MIB, MIB + 1, 2 * MIB, 5 * MIB + 3 };
	char id[SPOOL_ID], md5[SPOOL_MD5];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int passes = 0, fd;

		put(sizes[i]);
		assert_int_equal(0, begin(id, NULL));
		spool_leave(spool, id);
		for (; spool_busy(spool); passes++)
			assert_int_equal(0, loop_step(w.loop, 0, NULL));
		settle(w.loop);
		assert_int_equal((sizes[i] - 1) / MIB, passes);
		fd = spool_read(spool, id, (int64_t)sizes[i], NULL);
		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(-1, spool_read(spool, id, (int64_t)sizes[i] - 1, NULL));
		assert_int_equal(SPOOL_NONE, spool_look(spool, id, md5, NULL));
	}
	assert_int_equal(3, told); /* the first was ready before it was left */
	assert_int_equal(SPOOL_READY, told_state);
}

static void later_changes_do_no_harm(void **state)
{
	char id[SPOOL_ID], head[2] = "";
	int fd;

	(void)state;
	put(3 * MIB);
	assert_int_equal(0, begin(id, NULL));
	assert_int_equal(0, unlink(file));
	settle(w.loop);
	fd = spool_read(spool, id, 3 * MIB, NULL);
	assert_true(fd >= 0);
	assert_int_equal(1, pread(fd, head, 1, 3 * MIB - 1));
	assert_int_equal(48, head[0]);
	close(fd);
}

static void a_file_that_changes_meanwhile_is_not_sent(void **state)
{
	char id[SPOOL_ID], md5[SPOOL_MD5];
	const char *why = NULL;

	(void)state;
	for (int how = 0; how < 3; how++) {
		int fd;

		put(3 * MIB);
		assert_int_equal(0, begin(id, NULL));
		fd = open(file, O_WRONLY);
		if (how == 0)
			assert_int_equal(0, ftruncate(fd, MIB));
		else if (how == 1)
			assert_int_equal(4, pwrite(fd, "more", 4, 3 * MIB));
		else
			assert_int_equal(4, pwrite(fd, "else", 4, 0));
		close(fd);
		settle(w.loop);
		assert_int_equal(SPOOL_FAILED, spool_look(spool, id, md5, &why));
		assert_string_equal(SPOOL_CHANGED, why);
		assert_string_equal("", md5);
		assert_int_equal(0, copies());
		spool_drop(spool, id);
	}
}

static void what_cannot_be_noted_is_told_again(void **state)
{
	char id[SPOOL_ID];

	(void)state;
	put(2 * MIB);
	assert_int_equal(0, begin(id, NULL));
	spool_leave(spool, id);
	answer = -1;
	settle(w.loop);
	assert_int_equal(1, told);
	answer = 0;
	pass(&w.clock, w.loop, 5000);
	assert_int_equal(2, told);
	pass(&w.clock, w.loop, 60000);
	assert_int_equal(2, told);
}

static void dropping_ends_the_copy(void **state)
{
	char id[SPOOL_ID];

	(void)state;
	put(5 * MIB);
	assert_int_equal(0, begin(id, NULL));
	assert_true(spool_busy(spool));
	spool_drop(spool, id);
	spool_drop(spool, id);
	assert_false(spool_busy(spool));
	assert_int_equal(0, copies());
	settle(w.loop);
	assert_int_equal(0, told);
}

static void row(const char *id, int state, const char *moved)
{
	char sql[600];

	snprintf(sql, sizeof(sql),
		"INSERT INTO channel_outbox (place, user, kind, urgent, state, client_id, made_at,"
		" moved_at, text) VALUES (1, 'u', 3, 0, %d, '%s', 0, %s, 'x');"
		"INSERT INTO channel_file VALUES (last_insert_rowid(), '%s', 'n', '', 2, 1, 'm', '')",
		state, id, moved, id);
	world_sql(&w, sql);
}

static void what_no_part_needs_is_swept(void **state)
{
	static const struct {
		int state;
		const char *moved;
		bool stays;
	} cases[] = {
		{ 0, "0", true },  /* waiting */
		{ 1, "0", true },  /* in flight */
		{ 6, "0", true },  /* parked */
		{ 2, "0", false }, /* accepted */
		{ 4, "0", false }, /* refused */
		{ 7, "0", false }, /* dropped */
		{ 5, "0", false }, /* unknown, long ago */
		{ 5, "9000000000000", true },
	};
	char id[SPOOL_ID];
	int stay = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(0, spool_put_text(spool, VIEW("x"), id, NULL));
		row(id, cases[i].state, cases[i].moved);
		spool_leave(spool, id);
		stay += cases[i].stays;
	}
	assert_int_equal(0, spool_put_text(spool, VIEW("announced"), id, NULL));
	spool_sweep(spool);
	assert_int_equal(stay + 1, copies());
	spool_close(&spool);
	open_spool();
	assert_int_equal(stay, copies());
}

static void a_copy_that_is_not_needed_any_more_is_ended(void **state)
{
	char id[SPOOL_ID];

	(void)state;
	put(5 * MIB);
	assert_int_equal(0, begin(id, NULL));
	row(id, 7, "0");
	spool_leave(spool, id);
	spool_sweep(spool);
	assert_false(spool_busy(spool));
	assert_int_equal(0, copies());
}

static void so_many_and_no_more(void **state)
{
	struct err e = ERR_INIT;
	char id[SPOOL_ID];

	(void)state;
	for (int i = 0; i < SPOOL_FILES; i++)
		assert_int_equal(0, spool_put_text(spool, VIEW("x"), id, &e));
	assert_int_equal(-1, spool_put_text(spool, VIEW("x"), id, &e));
	assert_int_equal(E_FULL, e.code);
	assert_int_equal(SPOOL_FILES, copies());
}

/* The file has no bytes on the disk, and its copy is refused before it has any. */
static void so_large_and_no_larger(void **state)
{
	struct err e = ERR_INIT;
	char id[SPOOL_ID];

	(void)state;
	put(0);
	assert_int_equal(0, truncate(file, SPOOL_MAX + 1));
	assert_int_equal(-1, begin(id, &e));
	assert_int_equal(E_FULL, e.code);
	assert_int_equal(0, copies());
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_fits_into_a_slice_is_there_at_once),
		T(what_is_larger_goes_in_slices),
		T(later_changes_do_no_harm),
		T(a_file_that_changes_meanwhile_is_not_sent),
		T(what_cannot_be_noted_is_told_again),
		T(dropping_ends_the_copy),
		T(what_no_part_needs_is_swept),
		T(a_copy_that_is_not_needed_any_more_is_ended),
		T(so_many_and_no_more),
		T(so_large_and_no_larger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
