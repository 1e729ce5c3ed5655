/* Several files changed together, with every rename failing once, a full disk, a kill in the middle
 * and other people at work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smalldisk.h"
#include "tools/exec/change.h"
#include "tools/exec/walk.h"
#include "remove_tree.h"

/* --- Renames that fail on demand -------------------------------------------------------------- */

time_t __wrap_time(const time_t *t);
int __real_renameat2(int from, const char *a, int to, const char *b, unsigned flags);
int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned flags);

static int renames_left = -1; /* until they fail; -1: they do not */
static int failures;          /* how many fail then */
static bool no_exchange;      /* as on some file systems */
static void (*ahead)(int n);  /* of the n-th, from 0 */
static int renames;
static time_t clock_ahead; /* how far the clock is ahead of the file system's, in seconds */

time_t __wrap_time(const time_t *t)
{
	struct timespec now;

	(void)t;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec + clock_ahead;
}

int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
	if (ahead)
		ahead(renames);
	renames++;
	if (no_exchange && (flags & RENAME_EXCHANGE)) {
		errno = EINVAL;
		return -1;
	}
	if (renames_left == 0 && failures > 0) {
		failures--;
		errno = EIO;
		return -1;
	}
	if (renames_left > 0)
		renames_left--;
	return __real_renameat2(from, a, to, b, flags);
}

/* --- A folder --------------------------------------------------------------------------------- */

static char dir[64];
static struct roots roots;
static struct err why;
static volatile sig_atomic_t stop;

static char *at(const char *path)
{
	static char full[4][PATH_SIZE];
	static int i;

	i = (i + 1) % 4;
	(void)snprintf(full[i], sizeof(full[i]), "%s/%s", dir, path);
	return full[i];
}

static void make(const char *path, const char *content)
{
	struct err e = ERR_INIT;

	assert_int_equal(0, file_replace(at(path), 0640, view_of(content), &e));
}

static void is(const char *path, const char *want)
{
	struct str s = STR_INIT(1 << 20);
	struct err e = ERR_INIT;

	if (!want) {
		assert_int_equal(-1, access(at(path), F_OK));
		return;
	}
	if (file_read(at(path), 1 << 20, &s, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(want, str_cstr(&s));
	str_release(&s);
}

static size_t entries(const char *path)
{
	int fd = open(at(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct names names;
	struct err e = ERR_INIT;
	size_t n;

	assert_int_equal(0, names_read(&names, fd, &e));
	n = names.n;
	names_release(&names);
	return n;
}

static int setup(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/kairo-change-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(0, roots_add(&roots, view_of(dir), true, &e));
	renames_left = -1;
	failures = renames = 0;
	no_exchange = false;
	ahead = NULL;
	stop = 0;
	clock_ahead = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	roots_release(&roots);
	return remove_tree(dir);
}

/* --- The change that is tried: one of each kind, two of them in new folders ------------------- */

static struct change one(enum change_kind kind, const char *path, const char *content)
{
	struct change c = { .kind = kind, .content = view_of(content) };

	assert_int_equal(0, place_find(&c.place, &roots, view_of(path), &why));
	if (kind != CHANGE_CREATE)
		assert_int_equal(0, place_stat(&c.place, &c.was, &why));
	return c;
}

static void prepare(void)
{
	make("one", "old one");
	make("two", "old two");
	make("gone", "old gone");
}

static int change_all(void)
{
	struct change list[5] = {
		one(CHANGE_REPLACE, "one", "new one"),
		one(CHANGE_CREATE, "n/e/w", "new"),
		one(CHANGE_REMOVE, "gone", NULL),
		one(CHANGE_CREATE, "n/other", "other"),
		one(CHANGE_REPLACE, "two", "new two"),
	};
	struct tool_job j = { .roots = &roots, .until = INT64_MAX, .stop = &stop };

	err_clear(&why);
	return changes_make(&j, list, 5, &why);
}

static void all_old(void)
{
	is("one", "old one");
	is("two", "old two");
	is("gone", "old gone");
	is("n", NULL);
	assert_int_equal(3, entries("."));
}

static void all_new(void)
{
	struct stat st;

	is("one", "new one");
	is("two", "new two");
	is("gone", NULL);
	is("n/e/w", "new");
	is("n/other", "other");
	assert_int_equal(3, entries("."));
	assert_int_equal(2, entries("n"));
	assert_int_equal(1, entries("n/e"));
	assert_int_equal(0, stat(at("one"), &st));
	assert_int_equal(0640, st.st_mode & 07777);
}

static void all_are_changed(void **state)
{
	(void)state;
	prepare();
	assert_int_equal(0, change_all());
	all_new();
}

static void also_where_names_cannot_be_exchanged(void **state)
{
	(void)state;
	no_exchange = true;
	prepare();
	assert_int_equal(0, change_all());
	all_new();
}

static void each_rename_that_fails_takes_all_back(void **state)
{
	int n = 0;

	(void)state;
	prepare();
	for (int plain = 0; plain < 2; plain++) {
		no_exchange = plain;
		for (n = 0;; n++) {
			renames_left = n;
			failures = 1;
			if (change_all() == 0)
				break;
			assert_int_equal(E_IO, why.code);
			all_old();
		}
		all_new();
		assert_int_equal(plain ? 7 : 5, n);
		assert_int_equal(0, remove_tree(at("n")));
		prepare();
	}
}

/* All renames fail from the last one on: what cannot be put back is named, and nothing is lost. */
static void what_cannot_be_taken_back_is_said(void **state)
{
	struct names names;
	size_t old = 0;

	(void)state;
	prepare();
	renames_left = 4;
	failures = 100;
	assert_int_equal(-1, change_all());
	assert_non_null(
		strstr(why.msg, "one could not be put back: its old content is in .kairo-"));
	is("one", "new one");
	is("gone", NULL);
	is("two", "old two");
	assert_int_equal(0,
		names_read(&names, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), &why));
	for (size_t i = 0; i < names.n; i++)
		old += strncmp(names.list[i], ".kairo-", 7) == 0;
	names_release(&names);
	assert_int_equal(2, old);
}

/* --- Other people ----------------------------------------------------------------------------- */

static void somebody_replaces_one(int n)
{
	if (n == 0)
		make("one", "theirs!");
}

static void somebody_creates_one(int n)
{
	if (n == 1)
		make("n/e/w", "theirs!");
}

static void somebody_removes_one(int n)
{
	if (n == 4)
		assert_int_equal(0, unlink(at("two")));
}

static void others_are_not_overwritten(void **state)
{
	(void)state;
	prepare();
	ahead = somebody_replaces_one;
	renames = 0;
	assert_int_equal(-1, change_all());
	assert_int_equal(E_CONFLICT, why.code);
	is("one", "theirs!");
	is("two", "old two");
	is("n", NULL);

	prepare();
	ahead = somebody_creates_one;
	renames = 0;
	assert_int_equal(-1, change_all());
	assert_int_equal(E_CONFLICT, why.code);
	is("one", "old one");
	is("n/e/w", "theirs!");
	assert_int_equal(1, entries("n/e"));
	assert_int_equal(0, remove_tree(at("n")));

	ahead = somebody_removes_one;
	renames = 0;
	assert_int_equal(-1, change_all());
	assert_int_equal(E_CONFLICT, why.code);
	is("one", "old one");
	is("gone", "old gone");
	is("two", NULL);
	is("n", NULL);
}

static void a_file_that_changed_since_it_was_read(void **state)
{
	struct tool_job j = { .roots = &roots, .until = INT64_MAX };
	struct change c;

	(void)state;
	prepare();
	c = one(CHANGE_REPLACE, "one", "new");
	make("one", "theirs!");
	assert_int_equal(-1, changes_make(&j, &c, 1, &why));
	assert_int_equal(E_CONFLICT, why.code);
	is("one", "theirs!");
	assert_int_equal(3, entries("."));
}

/* --- The end of things ------------------------------------------------------------------------ */

static void somebody_stops_it(int n)
{
	if (n == 2)
		stop = 1;
}

static void a_stop_between_two_files_takes_all_back(void **state)
{
	(void)state;
	prepare();
	ahead = somebody_stops_it;
	assert_int_equal(-1, change_all());
	assert_int_equal(E_CANCELLED, why.code);
	all_old();
}

static void a_full_disk_changes_nothing(void **state)
{
	static char big[200000];
	struct tool_job j = { .roots = &roots, .until = INT64_MAX };
	struct smalldisk d;
	struct change list[2];

	(void)state;
	if (!smalldisk_limit(&d, 100000))
		skip();
	memset(big, 'x', sizeof(big) - 1);
	prepare();
	list[0] = one(CHANGE_REPLACE, "one", "new one");
	list[1] = one(CHANGE_CREATE, "n/e/w", big);
	assert_int_equal(-1, changes_make(&j, list, 2, &why));
	smalldisk_unlimit(&d);
	assert_int_equal(E_FULL, why.code);
	all_old();
}

static int killed_at;

static void kill_it(int n)
{
	if (n == killed_at)
		(void)kill(getpid(), SIGKILL);
}

static void has_one_of(const char *path, const char *a, const char *b)
{
	struct str s = STR_INIT(100);
	struct err e = ERR_INIT;

	assert_int_equal(0, file_read(at(path), 100, &s, &e));
	assert_true(view_eqs(str_view(&s), a) || view_eqs(str_view(&s), b));
	str_release(&s);
}

/* Every file is as it was or as it was to be, and what else is left has a name of ours. */
static void a_kill_leaves_whole_files(void **state)
{
	(void)state;
	for (killed_at = 0; killed_at < 5; killed_at++) {
		struct names names;
		int status;
		pid_t pid;

		prepare();
		pid = fork();
		if (pid == 0) {
			renames = 0;
			ahead = kill_it;
			(void)change_all();
			_exit(0);
		}
		assert_int_equal(pid, waitpid(pid, &status, 0));
		assert_true(WIFSIGNALED(status));
		has_one_of("one", "old one", "new one");
		has_one_of("two", "old two", "new two");
		assert_int_equal(0,
			names_read(&names, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), &why));
		for (size_t i = 0; i < names.n; i++)
			assert_true(
				names.list[i][0] == '.' || strstr("one two gone n", names.list[i]));
		names_release(&names);
		(void)remove_tree(at("n"));
	}
}

/* As one that was killed leaves it, whole or half; other: a file that somebody has added. */
static void make_project(const char *name, const char *other)
{
	static const char *const files[] = { "README.md", "package.json", "src/index.js" };
	char path[300];

	assert_int_equal(0, mkdir(at(name), 0700));
	(void)snprintf(path, sizeof(path), "%s/src", name);
	assert_int_equal(0, mkdir(at(path), 0700));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, files[i]);
		make(path, "x");
	}
	(void)snprintf(path, sizeof(path), "%s/src/%s", name, other ? other : "");
	if (other)
		make(path, "x");
}

/* Only ours, and only after an hour. */
static void what_a_kill_left_is_removed_later(void **state)
{
	(void)state;
	make("one", "old");
	make_project(".kairo-0123456789abcdef.new", NULL);
	make_project(".kairo-0123456789abcdee.new", "somebody's");
	make_project(".kairo-0123456789abcdeg.new", NULL);
	make(".kairo-0123456789abcdef.tmp", "fresh");
	make(".kairo-0123456789abcdef.tmpx", "theirs");
	make(".kairo-0123456789abcdeg.tmp", "theirs");
	for (int later = 0; later < 2; later++) {
		struct tool_job j = { .roots = &roots, .until = INT64_MAX };
		struct change c = one(CHANGE_REPLACE, "one", later ? "2" : "1");

		clock_ahead = later ? 3602 : 0;
		assert_int_equal(0, changes_make(&j, &c, 1, &why));
		assert_int_equal(later ? 5 : 7, entries("."));
	}
	/* What was added there stays, as does what only looks like ours. */
	is(".kairo-0123456789abcdee.new/src/somebody's", "x");
	is(".kairo-0123456789abcdeg.new/README.md", "x");
	is(".kairo-0123456789abcdef.tmpx", "theirs");
}

static void counts_lines(void **state)
{
	static const struct {
		const char *old, *new;
		size_t removed, added;
	} table[] = {
		{ "", "", 0, 0 },
		{ "", "a", 0, 1 },
		{ "a\n", "", 1, 0 },
		{ "a\nb\nc\n", "a\nb\nc\n", 0, 0 },
		{ "a\nb\nc\n", "a\nx\ny\nc\n", 1, 2 },
		{ "a\n", "a", 1, 1 },
		{ "a\na\n", "a\na\na\n", 0, 1 },
		{ "\n\n", "\n", 1, 0 },
		{ "a\nb", "b", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t removed, added;

		count_changed(view_of(table[i].old), view_of(table[i].new), &removed, &added);
		assert_int_equal(table[i].removed, removed);
		assert_int_equal(table[i].added, added);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(all_are_changed),
		T(also_where_names_cannot_be_exchanged),
		T(each_rename_that_fails_takes_all_back),
		T(what_cannot_be_taken_back_is_said),
		T(others_are_not_overwritten),
		T(a_file_that_changed_since_it_was_read),
		T(a_stop_between_two_files_takes_all_back),
		T(a_full_disk_changes_nothing),
		T(a_kill_leaves_whole_files),
		T(what_a_kill_left_is_removed_later),
		cmocka_unit_test(counts_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
