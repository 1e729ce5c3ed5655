/* base/file: folders, bounded reads, no symlinks, nothing but regular files. Every claim is tried
 * twice: with openat2, and with the walk that stands in where the kernel refuses it. */
#include "base/file.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "refuse.h"
#include "remove_tree.h"
#include "scratch.h"

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

static void put(struct fixture *f, const char *name, mode_t mode, const char *p, size_t n)
{
	int fd = open(at(f, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* The last call failed with this code and a message that is one line. */
static void assert_err(struct fixture *f, int rc, enum err_code code)
{
	assert_int_equal(rc, -1);
	if (f->e.code != code)
		fail_msg("%s instead of %s: %s", err_code_name(f->e.code), err_code_name(code),
			f->e.msg);
	assert_true(strlen(f->e.msg) > 0);
	err_clear(&f->e);
}

static void assert_fd(int fd)
{
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
}

/* --- Folders ---------------------------------------------------------------------------------- */
static void makes_a_private_folder(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(file_mkdir_private(at(f, "home"), &f->e), 0);
	assert_int_equal(mode_of(at(f, "home")), 0700);
	assert_int_equal(file_mkdir_private(at(f, "home/"), &f->e), 0);
	assert_err(f, file_mkdir_private(at(f, "no/home"), &f->e), E_NOTFOUND);
	assert_err(f, file_mkdir_private("home", &f->e), E_FORMAT);
	assert_err(f, file_mkdir_private("/", &f->e), E_FORMAT);
	assert_err(f, file_mkdir_private(at(f, "home/.."), &f->e), E_FORMAT);
}

static void makes_an_open_folder_private(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdir(at(f, "home"), 0700), 0);
	assert_int_equal(chmod(at(f, "home"), 0775), 0);
	assert_int_equal(file_mkdir_private(at(f, "home"), &f->e), 0);
	assert_int_equal(mode_of(at(f, "home")), 0700);
}

static void refuses_a_private_folder_that_is_something_else(void **state)
{
	struct fixture *f = *state;

	put(f, "file", 0600, "", 0);
	assert_int_equal(mkdir(at(f, "real"), 0755), 0);
	assert_int_equal(symlink("real", at(f, "link")), 0);
	assert_int_equal(mkfifo(at(f, "fifo"), 0600), 0);
	assert_err(f, file_mkdir_private(at(f, "file"), &f->e), E_DENIED);
	assert_err(f, file_mkdir_private(at(f, "link"), &f->e), E_DENIED);
	assert_err(f, file_mkdir_private(at(f, "fifo"), &f->e), E_DENIED);
	assert_err(f, file_mkdir_private(at(f, "link/sub"), &f->e), E_DENIED);
	assert_int_equal(mode_of(at(f, "real")), 0755);
	assert_false(file_exists(at(f, "real/sub")));
}

static void refuses_what_belongs_to_another_user(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0) {
		print_message("only root can give files away\n");
		skip();
	}
	assert_int_equal(mkdir(at(f, "home"), 0700), 0);
	assert_int_equal(chown(at(f, "home"), 1, 1), 0);
	put(f, "file", 0600, "x", 1);
	assert_int_equal(chown(at(f, "file"), 1, 1), 0);
	assert_err(f, file_mkdir_private(at(f, "home"), &f->e), E_DENIED);
	assert_err(f, file_open_append(at(f, "file"), &f->e), E_DENIED);

	struct str s = STR_INIT(10);
	struct lock *l;

	assert_err(f, file_read_private(at(f, "file"), 10, &s, &f->e), E_DENIED);
	assert_err(f, lock_take(&l, at(f, "file"), 0, &f->e), E_DENIED);
	str_release(&s);
}

static void makes_the_missing_folders_of_a_path(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdir(at(f, "a"), 0700), 0);
	assert_int_equal(chmod(at(f, "a"), 0755), 0);
	assert_int_equal(file_mkdirs(at(f, "a//b/c/"), 0700, &f->e), 0);
	assert_int_equal(mode_of(at(f, "a")), 0755);
	assert_int_equal(mode_of(at(f, "a/b")), 0700);
	assert_int_equal(mode_of(at(f, "a/b/c")), 0700);
	assert_int_equal(file_mkdirs(at(f, "a/b/c"), 0700, &f->e), 0);
	assert_int_equal(file_mkdirs("/", 0700, &f->e), 0);
}

static void makes_no_folder_through_a_symlink_or_a_file(void **state)
{
	struct fixture *f = *state;
	char name[300];

	assert_int_equal(mkdir(at(f, "real"), 0700), 0);
	assert_int_equal(symlink("real", at(f, "link")), 0);
	put(f, "file", 0600, "", 0);
	assert_err(f, file_mkdirs(at(f, "link/sub"), 0700, &f->e), E_DENIED);
	assert_false(file_exists(at(f, "real/sub")));
	assert_err(f, file_mkdirs(at(f, "file/sub"), 0700, &f->e), E_IO);
	assert_err(f, file_mkdirs("a/b", 0700, &f->e), E_FORMAT);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_err(f, file_mkdirs(at(f, name), 0700, &f->e), E_IO);
	name[255] = '\0';
	assert_int_equal(file_mkdirs(at(f, name), 0700, &f->e), 0);
}

static void opens_a_folder(void **state)
{
	struct fixture *f = *state;
	int fd = file_open_dir(f->s.dir, &f->e);

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	put(f, "file", 0600, "", 0);
	assert_int_equal(symlink(".", at(f, "link")), 0);
	assert_err(f, file_open_dir(at(f, "file"), &f->e), E_IO);
	assert_err(f, file_open_dir(at(f, "link"), &f->e), E_DENIED);
	assert_err(f, file_open_dir(at(f, "none"), &f->e), E_NOTFOUND);
}

/* --- What is opened --------------------------------------------------------------------------- */
static void opens_a_file_for_reading_and_tells_its_size(void **state)
{
	struct fixture *f = *state;
	int64_t size = -1;

	put(f, "file", 0644, "hello", 5);
	assert_fd(file_open_read(at(f, "file"), &size, &f->e));
	assert_int_equal(size, 5);
	assert_fd(file_open_read(at(f, "file"), NULL, &f->e));
	assert_err(f, file_open_read(at(f, "none"), NULL, &f->e), E_NOTFOUND);
	assert_err(f, file_open_read(at(f, "none/file"), NULL, &f->e), E_NOTFOUND);
	assert_err(f, file_open_read(at(f, "file/x"), NULL, &f->e), E_IO);
	assert_err(f, file_open_read(at(f, "file/"), NULL, &f->e), E_IO);
	assert_err(f, file_open_read("file", NULL, &f->e), E_FORMAT);
	assert_err(f, file_open_read("", NULL, &f->e), E_FORMAT);
}

static void follows_no_symlink_in_any_component(void **state)
{
	struct fixture *f = *state;
	static const char *const paths[] = { "link", "dangling", "d/to-dir/file", "to-d/dir/file",
		"d/dir/up", "loop" };
	struct str s = STR_INIT(100);
	struct newfile *n;
	struct lock *l;
	bool cut;

	assert_int_equal(file_mkdirs(at(f, "d/dir"), 0700, &f->e), 0);
	put(f, "file", 0600, "x", 1);
	put(f, "d/dir/file", 0600, "x", 1);
	assert_int_equal(symlink("file", at(f, "link")), 0);
	assert_int_equal(symlink("nowhere", at(f, "dangling")), 0);
	assert_int_equal(symlink("dir", at(f, "d/to-dir")), 0);
	assert_int_equal(symlink("d", at(f, "to-d")), 0);
	assert_int_equal(symlink("../../file", at(f, "d/dir/up")), 0);
	assert_int_equal(symlink("loop", at(f, "loop")), 0);
	assert_fd(file_open_read(at(f, "d/dir/file"), NULL, &f->e));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *p = at(f, paths[i]);

		assert_err(f, file_open_read(p, NULL, &f->e), E_DENIED);
		assert_err(f, file_open_append(p, &f->e), E_DENIED);
		assert_err(f, file_read(p, 100, &s, &f->e), E_DENIED);
		assert_err(f, file_read_private(p, 100, &s, &f->e), E_DENIED);
		assert_err(f, file_read_tail(p, 100, &s, &cut, &f->e), E_DENIED);
		assert_err(f, newfile_open(&n, p, 0600, &f->e), E_DENIED);
		assert_err(f, lock_take(&l, p, 0, &f->e), E_DENIED);
		assert_err(f, lock_held(p, &f->e), E_DENIED);
	}
	assert_int_equal(s.n, 0);
	assert_false(file_exists(at(f, "nowhere")));
	str_release(&s);
}

static void make_socket(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(copy_z(sa.sun_path, sizeof(sa.sun_path), view_of(path)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
}

static void reads_and_writes_nothing_but_regular_files_and_never_waits(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = { "fifo", "socket", "dir" };
	struct str s = STR_INIT(100);
	struct newfile *n;
	struct lock *l;

	assert_int_equal(mkfifo(at(f, "fifo"), 0600), 0);
	make_socket(at(f, "socket"));
	assert_int_equal(mkdir(at(f, "dir"), 0700), 0);
	for (size_t i = 0; i < 3; i++) {
		const char *p = at(f, names[i]);

		assert_err(f, file_read(p, 100, &s, &f->e), E_DENIED);
		assert_int_equal(newfile_open(&n, p, 0600, &f->e), -1);
		assert_int_equal(f->e.code, E_DENIED);
		assert_null(n);
		assert_int_equal(file_open_append(p, &f->e), -1);
		assert_int_equal(lock_take(&l, p, 0, &f->e), -1);
		assert_null(l);
	}
	assert_err(f, file_read("/dev/zero", 100, &s, &f->e), E_DENIED);
	assert_err(f, file_open_append("/dev/null", &f->e), E_DENIED);
	str_release(&s);
}

static void appends_to_a_private_file(void **state)
{
	struct fixture *f = *state;
	struct str s = STR_INIT(100);

	for (int i = 0; i < 2; i++) {
		int fd = file_open_append(at(f, "log"), &f->e);

		assert_true(fd >= 0);
		assert_int_equal(write(fd, "ab", 2), 2);
		assert_fd(fd);
		assert_int_equal(mode_of(at(f, "log")), 0600);
		assert_int_equal(chmod(at(f, "log"), 0664), 0); /* mended by the next opening */
	}
	assert_int_equal(file_read(at(f, "log"), 100, &s, &f->e), 0);
	assert_string_equal(str_cstr(&s), "abab");
	str_release(&s);
}

/* --- Reading ---------------------------------------------------------------------------------- */
static void reads_up_to_the_limit_and_not_a_byte_more(void **state)
{
	struct fixture *f = *state;
	static const struct {
		size_t size, max, room;
		enum err_code want;
	} rows[] = {
		{ 0, 0, 10, E_OK },
		{ 0, 10, 10, E_OK },
		{ 1, 0, 10, E_FORMAT },
		{ 9, 10, 10, E_OK },
		{ 10, 10, 10, E_OK },
		{ 11, 10, 10, E_FORMAT },
		{ 11, 10, 100, E_FORMAT },
		{ 10, 100, 10, E_OK }, /* the text's own ceiling */
		{ 11, 100, 10, E_FORMAT },
		{ 65, 65, 65, E_OK },
		{ 100000, 100000, 100000, E_OK },
		{ 100001, 100000, 200000, E_FORMAT },
	};
	static char bytes[100001];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 % 251);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str s = STR_INIT(rows[i].room + 1);

		assert_int_equal(str_addc(&s, '>'), 0);
		put(f, "file", 0600, bytes, rows[i].size);
		if (rows[i].want != E_OK) {
			assert_err(f, file_read(at(f, "file"), rows[i].max, &s, &f->e),
				rows[i].want);
			assert_int_equal(s.n, 1);
		} else {
			assert_int_equal(file_read(at(f, "file"), rows[i].max, &s, &f->e), 0);
			assert_int_equal(s.n, rows[i].size + 1);
			assert_memory_equal(s.p + 1, bytes, rows[i].size);
		}
		str_release(&s);
	}
}

/* /proc files say that they have no bytes. */
static void reads_a_file_that_lies_about_its_size(void **state)
{
	struct fixture *f = *state;
	struct str s = STR_INIT(1000000);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/limits", (int)getpid());
	assert_int_equal(file_read(path, 1000000, &s, &f->e), 0);
	assert_non_null(strstr(str_cstr(&s), "Max open files"));
	str_reset(&s);
	assert_err(f, file_read(path, 20, &s, &f->e), E_FORMAT);
	str_release(&s);
}

static void reads_secrets_only_from_a_file_of_our_own(void **state)
{
	struct fixture *f = *state;
	static const struct {
		mode_t mode;
		enum err_code want;
	} rows[] = { { 0600, E_OK }, { 0400, E_OK }, { 0700, E_OK }, { 0640, E_DENIED },
		{ 0604, E_DENIED }, { 0620, E_DENIED }, { 0602, E_DENIED }, { 0610, E_DENIED } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str s = STR_INIT(100);
		int rc;

		put(f, "key", rows[i].mode, "secret", 6);
		rc = file_read_private(at(f, "key"), 100, &s, &f->e);
		if (rows[i].want != E_OK)
			assert_err(f, rc, rows[i].want);
		else
			assert_int_equal(rc, 0);
		assert_int_equal(s.n, rows[i].want == E_OK ? 6 : 0);
		assert_int_equal(chmod(at(f, "key"), 0600), 0);
		str_release(&s);
	}
}

static void reads_the_tail(void **state)
{
	struct fixture *f = *state;
	static const struct {
		size_t max;
		const char *want;
		bool cut;
	} rows[] = { { 4, "cdef", true }, { 5, "bcdef", true }, { 6, "abcdef", false },
		{ 7, "abcdef", false }, { 0, "", true } };
	bool cut;

	put(f, "log", 0600, "abcdef", 6);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str s = STR_INIT(100);

		cut = !rows[i].cut;
		assert_int_equal(file_read_tail(at(f, "log"), rows[i].max, &s, &cut, &f->e), 0);
		assert_string_equal(str_cstr(&s), rows[i].want);
		assert_int_equal(cut, rows[i].cut);
		str_release(&s);
	}
}

static void tells_what_exists(void **state)
{
	struct fixture *f = *state;

	put(f, "file", 0600, "", 0);
	assert_int_equal(symlink("nowhere", at(f, "dangling")), 0);
	assert_true(file_exists(at(f, "file")));
	assert_true(file_exists(at(f, "dangling")));
	assert_true(file_exists(f->s.dir));
	assert_false(file_exists(at(f, "none")));
}

/* --- Paths and random numbers ----------------------------------------------------------------- */
static void joins_paths(void **state)
{
	struct fixture *f = *state;
	static char name[PATH_SIZE + 1];
	char out[PATH_SIZE];

	assert_int_equal(path_join(out, "/a", "b", &f->e), 0);
	assert_string_equal(out, "/a/b");
	assert_int_equal(path_join(out, "/", "b", &f->e), 0);
	assert_string_equal(out, "/b");
	assert_int_equal(path_join(out, "/a//", "b/c", &f->e), 0);
	assert_string_equal(out, "/a/b/c");
	memset(name, 'x', PATH_SIZE - 4); /* "/a/" and a NUL are the other four */
	name[PATH_SIZE - 4] = '\0';
	assert_int_equal(path_join(out, "/a", name, &f->e), 0);
	assert_int_equal(strlen(out), PATH_SIZE - 1);
	name[PATH_SIZE - 4] = 'x';
	assert_err(f, path_join(out, "/a", name, &f->e), E_FORMAT);
	assert_string_equal(out, "");
}

static void knows_what_lies_in_a_folder(void **state)
{
	(void)state;
	assert_true(path_lies_in("/a/b", "/a/b"));
	assert_true(path_lies_in("/a/b/c", "/a/b"));
	assert_true(path_lies_in("/a", "/"));
	assert_true(path_lies_in("/", "/"));
	assert_false(path_lies_in("/a/bc", "/a/b"));
	assert_false(path_lies_in("/a", "/a/b"));
	assert_false(path_lies_in("/b/a", "/a"));
}

static void random_bytes_differ_and_fill_the_whole(void **state)
{
	unsigned char a[64] = { 0 }, b[64] = { 0 };
	char hex[33], other[33];
	int zeros = 0;

	(void)state;
	rand_bytes(a, sizeof(a));
	rand_bytes(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	for (size_t i = 0; i < sizeof(a); i++)
		zeros += a[i] == 0;
	assert_true(zeros < 16);
	rand_hex(hex, 16);
	rand_hex(other, 16);
	assert_int_equal(strlen(hex), 32);
	assert_int_equal(strspn(hex, "0123456789abcdef"), 32);
	assert_string_not_equal(hex, other);
	assert_true(rand_u64() != rand_u64());
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void a_way_through_a_folder_is_found_in_links_too(void **state)
{
	static const struct {
		const char *path;
		bool through;
	} cases[] = {
		{ "/other", false }, { "/other/none/at/all", false }, { "/folder", true },
		{ "/folder/", true }, { "//./folder/none", true }, { "/other/../folder", true },
		{ "/folderish", false }, { "/to-other/x", false }, { "/to-folder", true },
		{ "/other/back", true },         /* -> ../folder/out -> other */
		{ "/absolute/x", true },         /* -> ROOT/to-folder */
		{ "/folder/out", true },         /* leads out of it, for now */
		{ "/loop/x", true },             /* no telling */
		{ "/to-other/../folder", true }, /* above where the link leads */
	};
	char root[] = "/tmp/kairo-path-XXXXXX", path[PATH_SIZE], folder[PATH_SIZE];
	static const char *const links[][2] = { { "to-other", "other" }, { "to-folder", "folder" },
		{ "other/back", "../folder/out" }, { "folder/out", "../other" },
		{ "loop", "loop" } };
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(0, path_join(folder, root, "other", &e) | mkdir(folder, 0700));
	assert_int_equal(0, path_join(folder, root, "folder", &e) | mkdir(folder, 0700));
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		assert_int_equal(0, path_join(path, root, links[i][0], &e));
		assert_int_equal(0, symlink(links[i][1], path));
	}
	assert_int_equal(0, path_join(path, root, "to-folder", &e));
	assert_int_equal(0, path_join(folder, root, "absolute", &e) | symlink(path, folder));
	assert_int_equal(0, path_join(folder, root, "folder", &e));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", root, cases[i].path);
		if (path_goes_through(path, folder) != cases[i].through)
			fail_msg("%s", cases[i].path);
	}
	remove_tree(root);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_way_through_a_folder_is_found_in_links_too),
	T(makes_a_private_folder),
	T(makes_an_open_folder_private),
	T(refuses_a_private_folder_that_is_something_else),
	T(refuses_what_belongs_to_another_user),
	T(makes_the_missing_folders_of_a_path),
	T(makes_no_folder_through_a_symlink_or_a_file),
	T(opens_a_folder),
	T(opens_a_file_for_reading_and_tells_its_size),
	T(follows_no_symlink_in_any_component),
	T(reads_and_writes_nothing_but_regular_files_and_never_waits),
	T(appends_to_a_private_file),
	T(reads_up_to_the_limit_and_not_a_byte_more),
	T(reads_a_file_that_lies_about_its_size),
	T(reads_secrets_only_from_a_file_of_our_own),
	T(reads_the_tail),
	T(tells_what_exists),
	T(joins_paths),
	T(knows_what_lies_in_a_folder),
	T(random_bytes_differ_and_fill_the_whole),
};

int main(void)
{
	int failed;

	(void)umask(0022);
	failed = cmocka_run_group_tests_name("openat2", tests, NULL, NULL);
	if (!refuse_call(SYS_openat2, ENOSYS)) {
		print_message("skipped: the walk (seccomp filters cannot be set here)\n");
		return failed;
	}
	return failed + cmocka_run_group_tests_name("without openat2", tests, NULL, NULL);
}
