/* base/newfile: a file is replaced whole or not at all, and nothing is left lying about. */
#include "base/file.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "scratch.h"
#include "smalldisk.h"

struct fixture {
	struct scratch s;
	struct err e;
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	scratch_make(&f.s);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(&f->s);
	return 0;
}

static const char *at(struct fixture *f, const char *name)
{
	return scratch_path(&f->s, name);
}

static void assert_content(struct fixture *f, const char *name, const char *want)
{
	struct str s = STR_INIT(1 << 20);

	assert_int_equal(file_read(at(f, name), 1 << 20, &s, &f->e), 0);
	assert_string_equal(str_cstr(&s), want);
	str_release(&s);
}

static int entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = -2; /* . and .. */

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void the_old_file_stands_until_the_commit(void **state)
{
	struct fixture *f = *state;
	struct newfile *n;

	assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("old"), &f->e), 0);
	assert_int_equal(newfile_open(&n, at(f, "a"), 0600, &f->e), 0);
	assert_int_equal(newfile_write(n, VIEW("ne"), &f->e), 0);
	assert_int_equal(newfile_write(n, VIEW_NONE, &f->e), 0);
	assert_int_equal(newfile_write(n, VIEW("w"), &f->e), 0);
	assert_content(f, "a", "old");
	assert_int_equal(newfile_commit(&n, &f->e), 0);
	assert_null(n);
	assert_content(f, "a", "new");
	newfile_abort(&n);
	assert_int_equal(entries(f->s.dir), 1);
}

static void an_abort_leaves_the_old_file_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct newfile *n;

	assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("old"), &f->e), 0);
	assert_int_equal(newfile_open(&n, at(f, "a"), 0600, &f->e), 0);
	assert_int_equal(newfile_write(n, VIEW("new"), &f->e), 0);
	assert_int_equal(entries(f->s.dir), 2);
	newfile_abort(&n);
	assert_null(n);
	newfile_abort(&n);
	assert_content(f, "a", "old");
	assert_int_equal(entries(f->s.dir), 1);
}

static void the_mode_is_as_asked_whatever_the_umask(void **state)
{
	struct fixture *f = *state;
	static const mode_t masks[] = { 0, 0022, 0077, 0277 };

	for (size_t i = 0; i < 4; i++) {
		mode_t old = umask(masks[i]);

		assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("x"), &f->e), 0);
		assert_int_equal(mode_of(at(f, "a")), 0600);
		assert_int_equal(file_replace(at(f, "b"), 0644, VIEW("x"), &f->e), 0);
		assert_int_equal(mode_of(at(f, "b")), 0644);
		(void)umask(old);
	}
}

static void another_link_keeps_the_old_content(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("old"), &f->e), 0);
	assert_int_equal(link(at(f, "a"), at(f, "b")), 0);
	assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("new"), &f->e), 0);
	assert_content(f, "b", "old"); /* replaced, not edited */
}

static void writes_a_name_of_full_length(void **state)
{
	struct fixture *f = *state;
	char name[257];

	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	assert_int_equal(file_replace(at(f, name), 0600, VIEW("x"), &f->e), 0);
	name[255] = 'n';
	name[256] = '\0';
	assert_int_equal(file_replace(at(f, name), 0600, VIEW("x"), &f->e), -1);
	assert_int_equal(f->e.code, E_FORMAT);
	assert_int_equal(entries(f->s.dir), 1);
}

static void a_commit_that_fails_cleans_up(void **state)
{
	struct fixture *f = *state;
	struct newfile *n;

	assert_int_equal(newfile_open(&n, at(f, "a"), 0600, &f->e), 0);
	assert_int_equal(newfile_write(n, VIEW("x"), &f->e), 0);
	assert_int_equal(mkdir(at(f, "a"), 0700), 0); /* a file cannot replace a folder */
	assert_int_equal(newfile_commit(&n, &f->e), -1);
	assert_null(n);
	assert_int_equal(entries(f->s.dir), 1);
	assert_int_equal(newfile_open(&n, at(f, "none/a"), 0600, &f->e), -1);
	assert_int_equal(f->e.code, E_NOTFOUND);
	assert_null(n);
}

/* Sees either content whole, never a part, while a writer replaces the file again and again. */
static void a_reader_never_sees_half_a_file(void **state)
{
	struct fixture *f = *state;
	static char big[2][30000];
	int status;
	pid_t pid;

	memset(big[0], 'a', sizeof(big[0]));
	memset(big[1], 'b', sizeof(big[1]));
	assert_int_equal(file_replace(at(f, "a"), 0600, (struct view){ big[0], 30000 }, &f->e), 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 50; i++) {
			struct view v = { big[i % 2], 30000 };

			if (file_replace(at(f, "a"), 0600, v, &f->e) < 0)
				_exit(1);
		}
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct str s = STR_INIT(40000);

		assert_int_equal(file_read(at(f, "a"), 40000, &s, &f->e), 0);
		assert_int_equal(s.n, 30000);
		assert_true(memcmp(s.p, big[0], s.n) == 0 || memcmp(s.p, big[1], s.n) == 0);
		str_release(&s);
	}
	assert_int_equal(status, 0);
}

/* --- Removing --------------------------------------------------------------------------------- */
static void removes_a_file_and_only_a_file(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("x"), &f->e), 0);
	assert_int_equal(file_remove(at(f, "a"), &f->e), 0);
	assert_false(file_exists(at(f, "a")));
	assert_int_equal(file_remove(at(f, "a"), &f->e), 0);
	assert_int_equal(mkdir(at(f, "d"), 0700), 0);
	assert_int_equal(file_remove(at(f, "d"), &f->e), -1);
	assert_int_equal(symlink("d", at(f, "l")), 0);
	assert_int_equal(file_replace(at(f, "d/x"), 0600, VIEW("x"), &f->e), 0);
	assert_int_equal(file_remove(at(f, "l/x"), &f->e), -1);
	assert_int_equal(f->e.code, E_DENIED);
	assert_int_equal(file_remove(at(f, "l"), &f->e), 0); /* the link, not what it points to */
	assert_true(file_exists(at(f, "d/x")));
}

/* --- What a killed process leaves ------------------------------------------------------------- */
static void a_killed_writer_leaves_the_old_file(void **state)
{
	struct fixture *f = *state;
	struct newfile *n;
	int status;
	pid_t pid;

	assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("old"), &f->e), 0);
	pid = fork();
	if (pid == 0) {
		if (newfile_open(&n, at(f, "a"), 0600, &f->e) == 0)
			(void)newfile_write(n, VIEW("half"), &f->e);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_content(f, "a", "old");
	assert_int_equal(entries(f->s.dir), 2);
	assert_int_equal(file_sweep(f->s.dir, clock_system(), &f->e),
		0); /* too young: it may still be written */
	assert_int_equal(entries(f->s.dir), 2);
}

static int64_t later(void *arg)
{
	return clock_wall(clock_system()) + *(const int64_t *)arg;
}

static int sweep_in(struct fixture *f, int64_t seconds)
{
	int64_t ms = seconds * 1000;
	struct clock c = { .mono_ms = later, .wall_ms = later, .arg = &ms };

	return file_sweep(f->s.dir, &c, &f->e);
}

static void sweeps_old_temporary_files_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *name;
		bool goes;
	} rows[] = { { ".kairo-0123456789abcdef.tmp", true },
		{ ".kairo-0123456789abcde.tmp", false }, { ".kairo-0123456789abcdef.tmpx", false },
		{ "kairo.log", false }, { "xkairo-0123456789abcdef.tmp", false } };

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(file_replace(at(f, rows[i].name), 0600, VIEW("x"), &f->e), 0);
	assert_int_equal(mkdir(at(f, ".kairo-aaaaaaaaaaaaaaaa.tmp"), 0700), 0);
	/* The age is that of the last change, which cannot be set back: move the present instead.
	 */
	assert_int_equal(sweep_in(f, 3590), 0);
	assert_int_equal(entries(f->s.dir), 6);
	assert_int_equal(sweep_in(f, 3610), 0);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(file_exists(at(f, rows[i].name)), !rows[i].goes);
	assert_true(file_exists(at(f, ".kairo-aaaaaaaaaaaaaaaa.tmp")));
}

/* --- A full disk ------------------------------------------------------------------------------ */
static void replace_beyond_the_room(struct fixture *f)
{
	static char big[1 << 20];

	memset(big, 'b', sizeof(big));
	assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("old"), &f->e), 0);
	assert_int_equal(file_replace(at(f, "a"), 0600, (struct view){ big, sizeof(big) }, &f->e),
		-1);
	assert_int_equal(f->e.code, E_FULL);
	assert_true(strlen(f->e.msg) > 0);
	assert_content(f, "a", "old");
	assert_int_equal(entries(f->s.dir), 1);
	assert_int_equal(file_replace(at(f, "a"), 0600, VIEW("new"), &f->e), 0);
	assert_content(f, "a", "new");
}

static void a_full_disk_keeps_the_old_file(void **state)
{
	struct fixture *f = *state;
	struct smalldisk disk = { .mounted = false };

	if (!smalldisk_mount(&disk, f->s.dir, 64 << 10)) {
		print_message("a tmpfs cannot be mounted here\n");
		skip();
	}
	replace_beyond_the_room(f);
	smalldisk_unmount(&disk);
}

static void a_limit_on_file_sizes_keeps_the_old_file(void **state)
{
	struct fixture *f = *state;
	struct smalldisk disk = { .mounted = false };
	struct newfile *n;

	if (!smalldisk_limit(&disk, 64 << 10)) {
		print_message("file sizes cannot be limited here\n");
		skip();
	}
	replace_beyond_the_room(f);
	assert_int_equal(newfile_open(&n, at(f, "a"), 0600, &f->e), 0);
	while (newfile_write(n, VIEW("0123456789abcdef0123456789abcdef"), &f->e) == 0)
		;
	smalldisk_unlimit(&disk);
	/* What was lost in the middle must not be committed. */
	assert_int_equal(newfile_write(n, VIEW("x"), &f->e), -1);
	assert_int_equal(newfile_commit(&n, &f->e), -1);
	assert_content(f, "a", "new");
	assert_int_equal(entries(f->s.dir), 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(the_old_file_stands_until_the_commit),
		T(an_abort_leaves_the_old_file_and_nothing_else),
		T(the_mode_is_as_asked_whatever_the_umask),
		T(another_link_keeps_the_old_content),
		T(writes_a_name_of_full_length),
		T(a_commit_that_fails_cleans_up),
		T(a_reader_never_sees_half_a_file),
		T(removes_a_file_and_only_a_file),
		T(a_killed_writer_leaves_the_old_file),
		T(sweeps_old_temporary_files_and_nothing_else),
		T(a_full_disk_keeps_the_old_file),
		T(a_limit_on_file_sizes_keeps_the_old_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
