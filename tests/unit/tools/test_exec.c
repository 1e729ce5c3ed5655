/* The tools themselves, run in this process, without the fence around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "smalldisk.h"
#include "tools/exec/tool.h"
#include "tools/exec/walk.h"
#include "remove_tree.h"

#define NOBODY 65534

static char dir[64], outside[64];
static struct roots roots;
static struct str out;
static struct err why;
static int acting;
static bool failed; /* the tool says at length why it did nothing */
static volatile sig_atomic_t stop;

/* Not brought to disk, which takes the longest by far. */
static void make(const char *path, struct view content)
{
	char full[PATH_SIZE];
	int fd;

	(void)snprintf(full, sizeof(full), "%s/%s", dir, path);
	(void)unlink(full);
	fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_int_equal(content.n, write(fd, content.p, content.n));
	assert_int_equal(0, close(fd) | chmod(full, 0644));
}

static void make_dir(const char *path)
{
	char full[PATH_SIZE];

	(void)snprintf(full, sizeof(full), "%s/%s", dir, path);
	assert_int_equal(0, mkdir(full, 0755));
}

static char *at(const char *path)
{
	static char full[4][PATH_SIZE];
	static int i;

	i = (i + 1) % 4;
	(void)snprintf(full[i], sizeof(full[i]), "%s/%s", dir, path);
	return full[i];
}

static int setup(void **state)
{
	const struct str empty = STR_INIT(TOOL_OUT_MAX);
	struct err e = ERR_INIT;

	(void)state;
	out = empty;
	acting = 0;
	stop = 0;
	(void)snprintf(dir, sizeof(dir), "/tmp/kairo-exec-XXXXXX");
	(void)snprintf(outside, sizeof(outside), "/tmp/kairo-outside-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_non_null(mkdtemp(outside));
	assert_int_equal(0, roots_add(&roots, view_of(dir), true, &e));
	assert_int_equal(0, roots_add(&roots, view_of(outside), false, &e));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	roots_release(&roots);
	str_release(&out);
	(void)remove_tree(outside);
	return remove_tree(dir);
}

static void on_acting(void *arg)
{
	(void)arg;
	acting++;
}

static int run_json(const char *tool, struct view args)
{
	struct tool_job j = { .roots = &roots, .until = INT64_MAX, .stop = &stop, .out = &out };
	struct json *json;
	struct json_limits lim = json_limits_wire;
	int rc;

	lim.bytes = (size_t)8 << 20;
	j.on_acting = on_acting;
	str_reset(&out);
	err_clear(&why);
	assert_int_equal(0, json_read(&json, args, &lim, &why));
	j.args = json;
	rc = tool_find(view_of(tool))(&j, &why);
	assert_true(str_ok(&out));
	failed = j.failed;
	json_free(&json);
	return rc;
}

static int run(const char *tool, const char *args)
{
	return run_json(tool, view_of(args));
}

static void gives(const char *tool, const char *args, const char *want)
{
	if (run(tool, args) < 0)
		fail_msg("%s %s: %s", tool, args, why.msg);
	if (strcmp(want, str_cstr(&out)) != 0)
		fail_msg("%s %s:\n%s", tool, args, str_cstr(&out));
}

static void refuses(const char *tool, const char *args, const char *word)
{
	if (run(tool, args) == 0)
		fail_msg("%s %s: %s", tool, args, str_cstr(&out));
	if (!strstr(why.msg, word))
		fail_msg("%s %s: %s", tool, args, why.msg);
}

/* --- read_file -------------------------------------------------------------------------------- */

static void reads_pages_by_lines(void **state)
{
	(void)state;
	make("a", VIEW("one\ntwo\nthree\n"));
	gives("read_file", "{\"path\":\"a\"}", "[a: lines 1-3 of 3]\none\ntwo\nthree\n");
	gives("read_file", "{\"path\":\"a\",\"limit\":3}",
		"[a: lines 1-3 of 3]\none\ntwo\nthree\n");
	gives("read_file", "{\"path\":\"a\",\"limit\":2}",
		"[a: lines 1-2 of 3]\none\ntwo\n[more: offset=3]\n");
	gives("read_file", "{\"path\":\"a\",\"offset\":2,\"limit\":1}",
		"[a: lines 2-2 of 3]\ntwo\n[more: offset=3]\n");
	gives("read_file", "{\"path\":\"a\",\"offset\":3}", "[a: lines 3-3 of 3]\nthree\n");
	refuses("read_file", "{\"path\":\"a\",\"offset\":4}", "has 3 lines");
	refuses("read_file", "{\"path\":\"a\",\"offset\":0}", "offset");
	refuses("read_file", "{\"path\":\"a\",\"limit\":10001}", "limit");
	refuses("read_file", "{}", "path");
}

static void tells_about_line_ends(void **state)
{
	(void)state;
	make("a", VIEW("one\r\ntwo"));
	gives("read_file", "{\"path\":\"a\"}",
		"[a: lines 1-2 of 2]\none\ntwo\n[lines end in CRLF]\n"
		"[no line end behind the last line]\n");
	make("b", VIEW("\n\n"));
	gives("read_file", "{\"path\":\"b\"}", "[b: lines 1-2 of 2]\n\n\n");
	make("c", VIEW("x"));
	gives("read_file", "{\"path\":\"c\"}",
		"[c: lines 1-1 of 1]\nx\n[no line end behind the last line]\n");
	make("empty", VIEW(""));
	gives("read_file", "{\"path\":\"empty\"}", "[empty is an empty file]\n");
}

static void long_lines_are_cut_and_can_be_read_on(void **state)
{
	struct str text = STR_INIT(100000);

	(void)state;
	for (int i = 0; i < 4001; i++)
		(void)str_adds(&text, "字");
	(void)str_adds(&text, "\nshort\n");
	make("a", str_view(&text));
	assert_int_equal(0, run("read_file", "{\"path\":\"a\"}"));
	assert_non_null(strstr(str_cstr(&out), "offset=1 column=4001"));
	assert_non_null(strstr(str_cstr(&out), "\nshort\n"));
	gives("read_file", "{\"path\":\"a\",\"column\":4001,\"limit\":1}",
		"[a: lines 1-1 of 2]\n字\n[more: offset=2]\n");
	gives("read_file", "{\"path\":\"a\",\"column\":4002,\"limit\":1}",
		"[a: lines 1-1 of 2]\n\n[more: offset=2]\n");
	refuses("read_file", "{\"path\":\"a\",\"column\":4003}",
		"line 1 of a has 4001 characters; column 4003 is behind its end");
	refuses("read_file", "{\"path\":\"a\",\"offset\":2,\"column\":7}",
		"line 2 of a has 5 characters");
	/* exactly at the limit: nothing is cut */
	str_drop(&text, 3);
	make("a", str_view(&text));
	assert_int_equal(0, run("read_file", "{\"path\":\"a\"}"));
	assert_null(strstr(str_cstr(&out), "column"));
	str_release(&text);
}

static void a_page_ends_inside_a_line_and_goes_on_exactly_there(void **state)
{
	struct str text = STR_INIT(1 << 20), back = STR_INIT(1 << 20);
	int64_t offset = 1, column = 1;
	char args[100];

	(void)state;
	for (int i = 0; i < 30; i++) {
		for (int k = 0; k < 3999; k++)
			(void)str_addf(&text, "%c", 'a' + (i + k) % 26);
		(void)str_addc(&text, '\n');
	}
	make("a", str_view(&text));
	for (int pages = 0; pages < 20; pages++) {
		const char *more, *body, *column_at;
		long long next_line, next_column = 1;

		(void)snprintf(args, sizeof(args),
			"{\"path\":\"a\",\"offset\":%lld,\"column\":%lld}", (long long)offset,
			(long long)column);
		assert_int_equal(0, run("read_file", args));
		body = strchr(str_cstr(&out), '\n') + 1;
		more = strstr(body, "[more: ");
		if (!more) {
			(void)str_adds(&back, body);
			break;
		}
		next_line = strtoll(more + strlen("[more: offset="), NULL, 10);
		column_at = strstr(more, "column=");
		if (column_at)
			next_column = strtoll(column_at + strlen("column="), NULL, 10);
		/* a page that ends inside a line has a line end of its own */
		(void)str_add(&back,
			(struct view){ body, (size_t)(more - body) - (next_column > 1 ? 1 : 0) });
		offset = next_line;
		column = next_column;
	}
	assert_true(view_eq(str_view(&text), str_view(&back)));
	str_release(&text);
	str_release(&back);
}

static void bytes_that_are_not_utf8_are_shown_and_said(void **state)
{
	(void)state;
	make("gbk", VIEW("\xc4\xe3\xba\xc3\n"));
	assert_int_equal(0, run("read_file", "{\"path\":\"gbk\"}"));
	assert_non_null(strstr(str_cstr(&out), "\xef\xbf\xbd"));
	assert_non_null(strstr(str_cstr(&out), "not UTF-8"));
}

static void binary_files_are_refused(void **state)
{
	char junk[512];

	(void)state;
	make("a", VIEW("text\0more"));
	refuses("read_file", "{\"path\":\"a\"}", "binary file of 9 bytes");
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(1 + i % 0xfe);
	make("b", (struct view){ junk, sizeof(junk) });
	refuses("read_file", "{\"path\":\"b\"}", "binary");
	/* a few control characters make no short text binary */
	make("few", VIEW("\1\2\3\4\5\6\16\17\n"));
	assert_int_equal(0, run("read_file", "{\"path\":\"few\"}"));
	make("more", VIEW("\1\2\3\4\5\6\16\17\20\n"));
	refuses("read_file", "{\"path\":\"more\"}", "binary");
}

/* A character that the end of a read cuts in two is one all the same. */
static void characters_are_whole_wherever_they_stand(void **state)
{
	struct str text = STR_INIT(1 << 20);

	(void)state;
	for (size_t at = 65530; at < 65537; at++) {
		str_reset(&text);
		while (text.n < at)
			(void)str_adds(&text, text.n % 64 == 63 ? "\n" : "x");
		(void)str_adds(&text, "字字字\n");
		make("a", str_view(&text));
		assert_int_equal(0, run("read_file", "{\"path\":\"a\",\"offset\":1023}"));
		assert_non_null(strstr(str_cstr(&out), "字字字\n"));
		assert_null(strstr(str_cstr(&out), "UTF-8"));
	}
	str_release(&text);
}

static void endless_continuation_bytes_stay_bounded(void **state)
{
	struct str text = STR_INIT(1 << 20);

	(void)state;
	while (text.n < 300000)
		(void)str_addc(&text, (char)0x80);
	make("a", str_view(&text));
	assert_int_equal(0, run("read_file", "{\"path\":\"a\"}"));
	assert_true(out.n < 40000);
	str_release(&text);
}

/* What was not read may be there. */
static void what_was_not_reached_is_not_said_to_be_missing(void **state)
{
	struct tool_job j = { .roots = &roots, .until = 0, .out = &out };
	struct str text = STR_INIT(1 << 20);
	struct json *args;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 50000; i++)
		(void)str_adds(&text, "a\n");
	make("a", str_view(&text));
	str_release(&text);
	assert_int_equal(0,
		json_read(&args, VIEW("{\"path\":\"a\",\"offset\":40000}"), &json_limits_wire, &e));
	j.args = args;
	assert_int_equal(-1, tool_read_file(&j, &e));
	assert_non_null(
		strstr(e.msg, "line 40000 of a was not reached: only its first 32768 lines"));
	json_free(&args);
	assert_int_equal(0, run("read_file", "{\"path\":\"a\",\"offset\":40000,\"limit\":1}"));
}

/* --- Paths ------------------------------------------------------------------------------------ */

static void paths_stay_in_the_workspace(void **state)
{
	char args[PATH_SIZE * 2];
	struct str deep = STR_INIT(6000);

	(void)state;
	make_dir("d");
	make("d/a", VIEW("x\n"));
	make("../kairo-stray", VIEW("secret\n"));
	gives("read_file", "{\"path\":\"d//./a\"}", "[d//./a: lines 1-1 of 1]\nx\n");
	gives("read_file", "{\"path\":\"d/../d/a\"}", "[d/../d/a: lines 1-1 of 1]\nx\n");
	(void)snprintf(args, sizeof(args), "{\"path\":\"%s/d/a\"}", dir);
	assert_int_equal(0, run("read_file", args));
	refuses("read_file", "{\"path\":\"../kairo-stray\"}", "out of the workspace");
	refuses("read_file", "{\"path\":\"d/../../kairo-stray\"}", "out of the workspace");
	refuses("read_file", "{\"path\":\"/etc/passwd\"}", "outside the workspace");
	(void)snprintf(args, sizeof(args), "{\"path\":\"%s/../kairo-stray\"}", dir);
	refuses("read_file", args, "out of the workspace");
	(void)snprintf(args, sizeof(args), "{\"path\":\"%sx/a\"}", dir);
	refuses("read_file", args, "outside the workspace");
	refuses("read_file", "{\"path\":\"/proc/self/root/etc/passwd\"}", "outside the workspace");
	refuses("read_file", "{\"path\":\"\"}", "path");
	refuses("read_file", "{\"path\":\"none\"}", "there is no none");
	refuses("read_file", "{\"path\":\"d\"}", "a folder");
	refuses("read_file", "{\"path\":\"d/a/b\"}", "below a file");
	refuses("list_dir", "{\"path\":\"d/a\"}", "not a folder");
	while (deep.n < 4094)
		(void)str_adds(&deep, "a/");
	(void)str_adds(&deep, "bc");
	(void)snprintf(args, sizeof(args), "{\"path\":\"%s\"}", str_cstr(&deep));
	refuses("read_file", args, "path");
	str_release(&deep);
	(void)unlink(at("../kairo-stray"));
}

static void links_are_not_followed(void **state)
{
	(void)state;
	make("a", VIEW("x\n"));
	make_dir("d");
	make("d/b", VIEW("x\n"));
	assert_int_equal(0, symlink("a", at("inner")));
	assert_int_equal(0, symlink("/etc/passwd", at("outer")));
	assert_int_equal(0, symlink("nowhere", at("dangling")));
	assert_int_equal(0, symlink("d", at("mid")));
	refuses("read_file", "{\"path\":\"inner\"}", "symbolic link");
	refuses("read_file", "{\"path\":\"outer\"}", "symbolic link");
	refuses("read_file", "{\"path\":\"dangling\"}", "symbolic link");
	refuses("read_file", "{\"path\":\"mid/b\"}", "symbolic link");
	refuses("list_dir", "{\"path\":\"mid\"}", "symbolic link");
	refuses("glob", "{\"pattern\":\"*\",\"path\":\"mid\"}", "symbolic link");
	refuses("grep", "{\"pattern\":\"x\",\"path\":\"mid\"}", "symbolic link");
	refuses("grep", "{\"pattern\":\"x\",\"path\":\"inner\"}", "symbolic link");
	refuses("write_file", "{\"path\":\"inner\",\"content\":\"y\"}", "symbolic link");
	refuses("write_file", "{\"path\":\"outer\",\"content\":\"y\"}", "symbolic link");
	refuses("write_file", "{\"path\":\"dangling\",\"content\":\"y\"}", "symbolic link");
	refuses("write_file", "{\"path\":\"mid/new\",\"content\":\"y\"}", "symbolic link");
	refuses("write_file", "{\"path\":\"mid/b\",\"content\":\"y\"}", "symbolic link");
	assert_int_equal(0, acting);
	/* Walks pass them by. */
	gives("glob", "{\"pattern\":\"**\"}", "a\nd/b\n");
	gives("grep", "{\"pattern\":\"x\"}", "a:1: x\nd/b:1: x\n");
}

static void only_plain_files_with_one_link(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	make("a", VIEW("x\n"));
	assert_int_equal(0, link(at("a"), at("b")));
	assert_int_equal(0, mkfifo(at("fifo"), 0644));
	assert_int_equal(0, copy_z(sa.sun_path, sizeof(sa.sun_path), view_of(at("sock"))));
	assert_int_equal(0, bind(fd, (const struct sockaddr *)&sa, sizeof(sa)));
	refuses("read_file", "{\"path\":\"a\"}", "more than one hard link");
	refuses("write_file", "{\"path\":\"a\",\"content\":\"y\"}", "more than one hard link");
	refuses("grep", "{\"pattern\":\"x\",\"path\":\"a\"}", "more than one hard link");
	refuses("read_file", "{\"path\":\"fifo\"}", "named pipe");
	refuses("write_file", "{\"path\":\"fifo\",\"content\":\"y\"}", "not a regular file");
	refuses("grep", "{\"pattern\":\"x\",\"path\":\"fifo\"}", "named pipe");
	refuses("read_file", "{\"path\":\"sock\"}", "a socket");
	if (mknod(at("null"), S_IFCHR | 0666, makedev(1, 3)) == 0) {
		refuses("read_file", "{\"path\":\"null\"}", "a device");
		refuses("write_file", "{\"path\":\"null\",\"content\":\"y\"}",
			"not a regular file");
	}
	gives("grep", "{\"pattern\":\"x\"}",
		"[no line matches]\n[partial: 2 files with several hard links were left out]\n");
	assert_int_equal(0, acting);
	(void)close(fd);
}

static void folders_to_read_are_only_read(void **state)
{
	char args[300], full[100];
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(full, sizeof(full), "%s/note", outside);
	assert_int_equal(0, file_replace(full, 0644, VIEW("hi\n"), &e));
	(void)snprintf(args, sizeof(args), "{\"path\":\"%s\"}", full);
	assert_int_equal(0, run("read_file", args));
	(void)snprintf(args, sizeof(args), "{\"path\":\"%s\",\"content\":\"x\"}", full);
	refuses("write_file", args, "only be read");
	(void)snprintf(args, sizeof(args), "{\"path\":\"%s/../x\"}", outside);
	refuses("read_file", args, "out of the workspace");
}

/* Somebody swaps a folder and a link to the outside all the time: whatever is opened meanwhile, it
 * is never what lies outside. */
static void swapping_links_gains_nothing(void **state)
{
	char full[128], args[200];
	struct err e = ERR_INIT;
	int inside = 0;
	pid_t swapper;

	(void)state;
	make_dir("d");
	make("d/f", VIEW("inside\n"));
	(void)snprintf(full, sizeof(full), "%s/f", outside);
	assert_int_equal(0, file_replace(full, 0644, VIEW("SECRET\n"), &e));
	assert_int_equal(0, symlink(outside, at("l")));
	swapper = fork();
	if (swapper == 0) {
		int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

		for (;;)
			(void)renameat2(fd, "d", fd, "l", RENAME_EXCHANGE);
	}
	assert_true(swapper > 0);
	for (int i = 0; i < 3000; i++) {
		if (run("read_file", "{\"path\":\"d/f\"}") == 0) {
			inside++;
			assert_non_null(strstr(str_cstr(&out), "inside"));
		}
		if (run("grep", "{\"pattern\":\".\",\"path\":\"d\"}") == 0)
			assert_null(strstr(str_cstr(&out), "SECRET"));
		(void)snprintf(args, sizeof(args), "{\"path\":\"d/new%d\",\"content\":\"x\"}",
			i % 4);
		(void)run("write_file", args);
	}
	assert_int_equal(0, kill(swapper, SIGKILL));
	assert_int_equal(swapper, waitpid(swapper, NULL, 0));
	assert_true(inside > 0);
	for (int i = 0; i < 4; i++) {
		(void)snprintf(full, sizeof(full), "%s/new%d", outside, i);
		assert_int_equal(-1, access(full, F_OK));
	}
}

/* --- list_dir, glob --------------------------------------------------------------------------- */

static void lists_in_order_and_pages(void **state)
{
	(void)state;
	make("b.txt", VIEW("12345"));
	make_dir("a");
	make("odd\nname", VIEW(""));
	assert_int_equal(0, symlink("b.txt", at("link")));
	gives("list_dir", "{}",
		"[.: 4 entries]\na/\nb.txt  5 bytes\nlink  (symbolic link, not followed)\n"
		"odd\\nname  0 bytes\n");
	gives("list_dir", "{\"limit\":2}",
		"[.: 4 entries]\na/\nb.txt  5 bytes\n[2 of 4 entries; more: offset=2]\n");
	gives("list_dir", "{\"offset\":3}", "[.: 4 entries]\nodd\\nname  0 bytes\n");
	gives("list_dir", "{\"offset\":9}", "[.: 4 entries]\n");
	gives("list_dir", "{\"path\":\"a\"}", "[a: 0 entries]\n");
}

/* The names that a listing says are behind this offset, a page's worth; the number behind "more:
 * offset=", or 0. */
static int64_t read_page(const char *tool, const char *begins, int64_t offset, char end,
	struct str *names)
{
	char args[200];
	int64_t next = 0;

	(void)snprintf(args, sizeof(args), "%s\"offset\":%lld}", begins, (long long)offset);
	if (run(tool, args) < 0)
		fail_msg("%s", why.msg);
	for (struct view v = str_view(&out); v.n > 0;) {
		struct view line = view_cut(v, view_find(v, '\n'));
		const char *more = memmem(line.p, line.n, "more: offset=", 13);

		v = view_from(v, line.n + 1);
		if (line.n > 0 && line.p[0] != '[')
			(void)str_addf(names, "%.*s\n",
				VIEW_FMT(view_cut(line, view_find(line, end))));
		else if (more)
			next = strtoll(more + 13, NULL, 10);
	}
	return next;
}

/* A page ends by its bytes where its number of entries would allow more; the pages together are the
 * whole, each entry once and in order. */
static void pages_of_long_names_go_on_exactly(void **state)
{
	static const struct {
		const char *tool, *args;
		char end; /* of a name */
	} table[] = {
		{ "list_dir", "{\"limit\":5000,", ' ' },
		{ "glob", "{\"pattern\":\"**\",\"limit\":2000,", '\n' },
		{ "grep", "{\"pattern\":\"x\",\"limit\":1000,", ':' },
	};
	struct str want = STR_INIT(1 << 20), got = STR_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 500; i++) {
		char name[220];

		(void)snprintf(name, sizeof(name), "%0200d", i);
		make(name, VIEW("x\n"));
		(void)str_addf(&want, "%s\n", name);
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int64_t offset = 0;
		int pages = 0;

		str_reset(&got);
		do {
			offset =
				read_page(table[i].tool, table[i].args, offset, table[i].end, &got);
			assert_in_range(out.n, 1, TOOL_PAGE_BYTES + 400);
			pages++;
		} while (offset > 0);
		assert_int_equal(3, pages);
		assert_string_equal(str_cstr(&want), str_cstr(&got));
	}
	str_release(&want);
	str_release(&got);
}

/* In memory where that can be had: on a disk it takes seconds. */
static void a_folder_of_too_many_entries_says_so(void **state)
{
	char many[2][32] = { "/dev/shm/kairo-many-XXXXXX", "/tmp/kairo-many-XXXXXX" };
	const char *folder = mkdtemp(many[0]) ? many[0] : mkdtemp(many[1]);
	char last[100], behind[100], find[100], name[16];
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	assert_non_null(folder);
	assert_int_equal(0, roots_add(&roots, view_of(folder), false, &e));
	(void)snprintf(last, sizeof(last), "{\"path\":\"%s\",\"offset\":19999}", folder);
	(void)snprintf(behind, sizeof(behind), "{\"path\":\"%s\",\"offset\":20000}", folder);
	(void)snprintf(find, sizeof(find), "{\"path\":\"%s\",\"pattern\":\"x\"}", folder);
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(0, mknodat(fd, name, S_IFREG | 0600, 0));
	}
	assert_int_equal(0, run("list_dir", last));
	assert_non_null(strstr(str_cstr(&out), ": 20000 entries]\n9999  0 bytes\n"));
	gives("glob", find, "[no file matches]\n");
	assert_int_equal(0, mknodat(fd, "20000", S_IFREG | 0600, 0));
	assert_int_equal(0, run("list_dir", last));
	assert_non_null(
		strstr(str_cstr(&out), "\n[partial: the folder has more than 20000 entries]\n"));
	assert_int_equal(0, run("list_dir", behind));
	assert_non_null(strstr(str_cstr(&out),
		": 20000 entries]\n[partial: the folder has more than 20000 entries]\n"));
	gives("glob", find, "[no file matches]\n[partial: too many entries; narrow the path]\n");
	(void)close(fd);
	assert_int_equal(0, remove_tree(folder));
}

static void globs(void **state)
{
	(void)state;
	make_dir("src");
	make_dir("src/deep");
	make_dir(".git");
	make(".git/x.c", VIEW(""));
	make("top.c", VIEW(""));
	make("src/a.c", VIEW(""));
	make("src/a.h", VIEW(""));
	make("src/deep/b.c", VIEW(""));
	gives("glob", "{\"pattern\":\"**/*.c\"}", "src/a.c\nsrc/deep/b.c\ntop.c\n");
	gives("glob", "{\"pattern\":\"./*.c\"}", "top.c\n");
	gives("glob", "{\"pattern\":\"src/*.{c,h}\"}", "src/a.c\nsrc/a.h\n");
	gives("glob", "{\"pattern\":\"*.c\",\"path\":\"src\"}", "a.c\n");
	gives("glob", "{\"pattern\":\"*.zzz\"}", "[no file matches]\n");
	gives("glob", "{\"pattern\":\"**/*.c\",\"limit\":2}",
		"src/a.c\nsrc/deep/b.c\n[more: offset=2]\n");
	gives("glob", "{\"pattern\":\"**/*.c\",\"limit\":2,\"offset\":2}", "top.c\n");
	gives("glob", "{\"pattern\":\"**/*.c\",\"limit\":3}", "src/a.c\nsrc/deep/b.c\ntop.c\n");
	gives("glob", "{\"pattern\":\"**/*.c\",\"offset\":3}", "[no further file matches]\n");
	refuses("glob", "{\"pattern\":\"/etc/*\"}", "slash");
	refuses("glob", "{\"pattern\":\"**/\"}", "FOLDER/**");
	refuses("glob", "{\"pattern\":\"*\",\"path\":\"..\"}", "out of the workspace");
}

static void deep_trees_are_bounded(void **state)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (int i = 0; i < WALK_DEPTH_MAX + 2; i++) {
		int next;

		assert_int_equal(0, mkdirat(fd, "d", 0755));
		next = openat(fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	assert_int_equal(0, run("glob", "{\"pattern\":\"**\"}"));
	assert_non_null(strstr(str_cstr(&out), "nested deeper than 40"));
}

static void a_search_past_its_time_says_so(void **state)
{
	struct tool_job j = { .roots = &roots, .until = 0, .out = &out };
	struct json *args;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 70; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "f%d", i);
		make(name, VIEW(""));
	}
	assert_int_equal(0, json_read(&args, VIEW("{\"pattern\":\"**\"}"), &json_limits_wire, &e));
	j.args = args;
	assert_int_equal(0, tool_glob(&j, &e));
	assert_non_null(strstr(str_cstr(&out), "[partial: the time was up"));
	json_free(&args);
}

/* --- grep ------------------------------------------------------------------------------------- */

static void greps(void **state)
{
	(void)state;
	make_dir("d");
	make("a.c", VIEW("int main(void)\r\n{\n\treturn 0;\n}\n"));
	make("d/b.txt", VIEW("MAIN\n你好 main\n"));
	make("bin", VIEW("main\0"));
	gives("grep", "{\"pattern\":\"main\"}",
		"a.c:1: int main(void)\nd/b.txt:2: 你好 main\n[1 binary files were left out]\n");
	gives("grep", "{\"pattern\":\"main\",\"ignore_case\":true,\"glob\":\"*.txt\"}",
		"d/b.txt:1: MAIN\nd/b.txt:2: 你好 main\n");
	gives("grep", "{\"pattern\":\"^\\\\S+ main$\",\"glob\":\"d/**\"}",
		"d/b.txt:2: 你好 main\n");
	gives("grep", "{\"pattern\":\"main\\\\(void\\\\)$\",\"path\":\"a.c\"}",
		"a.c:1: int main(void)\n");
	gives("grep", "{\"pattern\":\"\\\\d;\",\"glob\":\"**/*.c\"}", "a.c:3: \treturn 0;\n");
	gives("grep", "{\"pattern\":\"zzz\",\"glob\":\"*.c\"}", "[no line matches]\n");
	gives("grep", "{\"pattern\":\"main\",\"limit\":1,\"glob\":\"*.{c,txt}\"}",
		"a.c:1: int main(void)\n[more: offset=1]\n");
	gives("grep", "{\"pattern\":\"main\",\"offset\":1,\"glob\":\"*.{c,txt}\"}",
		"d/b.txt:2: 你好 main\n");
	gives("grep", "{\"pattern\":\"^$\",\"path\":\"a.c\"}", "[no line matches]\n");
	refuses("grep", "{\"pattern\":\"(\"}", "wrong at character 1");
	refuses("grep", "{\"pattern\":\"中文(\"}", "wrong at character 3");
	refuses("grep", "{\"pattern\":\"\\\\C\"}", "expression is wrong");
	refuses("grep", "{\"pattern\":\"\"}", "pattern");
}

static void letters_of_every_script_are_letters(void **state)
{
	(void)state;
	make("a", VIEW("字\n-\nÉté\n"));
	gives("grep", "{\"pattern\":\"^\\\\w+$\"}", "a:1: 字\na:3: Été\n");
	gives("grep", "{\"pattern\":\"\\\\W\"}", "a:2: -\n");
	gives("grep", "{\"pattern\":\"\\\\bété\\\\b\",\"ignore_case\":true}", "a:3: Été\n");
}

static void an_expression_that_runs_away_is_an_error(void **state)
{
	struct str text = STR_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 60; i++)
		(void)str_addc(&text, 'a');
	(void)str_adds(&text, "!\n");
	make("a", str_view(&text));
	refuses("grep", "{\"pattern\":\"^(a|aa)+$\"}", "too many steps");
	refuses("grep", "{\"pattern\":\"(*LIMIT_MATCH=4000000000)^(a|aa)+$\"}", "too many steps");
	str_reset(&text);
	while (text.n < 1000000)
		(void)str_adds(&text, "ab");
	make("a", str_view(&text));
	refuses("grep", "{\"pattern\":\"^(?:a(b)(?=(.*))){1,60000}$x\"}", "");
	str_release(&text);
}

/* Each step from here looks at all of two mebibytes, and the steps that are allowed would take
 * minutes. */
static void a_giant_line_keeps_to_the_time(void **state)
{
	struct tool_job j = { .roots = &roots, .until = 0, .out = &out };
	struct str text = STR_INIT((size_t)2 << 20);
	struct json *args;
	struct err e = ERR_INIT;

	(void)state;
	while (text.n < text.max)
		(void)str_addc(&text, 'a');
	make("a", str_view(&text));
	str_release(&text);
	assert_int_equal(0,
		json_read(&args, VIEW("{\"pattern\":\"[^yz]*[yz]\"}"), &json_limits_wire, &e));
	j.args = args;
	assert_int_equal(0, tool_grep(&j, &e));
	assert_string_equal("[no line matches]\n[partial: the time was up; narrow the path]\n",
		str_cstr(&out));
	json_free(&args);
}

static void long_lines_show_the_part_that_matches(void **state)
{
	struct str text = STR_INIT(100000);

	(void)state;
	for (int i = 0; i < 10000; i++)
		(void)str_adds(&text, "字");
	(void)str_adds(&text, "NEEDLE");
	for (int i = 0; i < 10000; i++)
		(void)str_adds(&text, "字");
	make("a", str_view(&text));
	assert_int_equal(0, run("grep", "{\"pattern\":\"NEEDLE\"}"));
	assert_non_null(strstr(str_cstr(&out), "字NEEDLE字"));
	assert_true(out.n < 1200);
	str_release(&text);
}

static void files_over_five_mebibytes_are_said(void **state)
{
	struct str text = STR_INIT((size_t)6 << 20);

	(void)state;
	while (text.n < ((size_t)5 << 20) - 2)
		(void)str_adds(&text, text.n % 100 == 98 ? "\n\n" : "xx");
	(void)str_adds(&text, "Y\n");
	assert_int_equal((size_t)5 << 20, text.n);
	make("a", str_view(&text));
	assert_int_equal(0, run("grep", "{\"pattern\":\"Y\"}"));
	assert_null(strstr(str_cstr(&out), "partial"));
	assert_non_null(strstr(str_cstr(&out), "Y\n"));
	(void)str_adds(&text, "\n");
	make("a", str_view(&text));
	gives("grep", "{\"pattern\":\"Y\"}",
		"[no line matches]\n[partial: 1 files over 5 MiB were left out]\n");
	str_release(&text);
}

/* --- write_file ------------------------------------------------------------------------------- */

static void file_is(const char *path, const char *want, unsigned mode)
{
	struct str s = STR_INIT(1 << 21);
	struct err e = ERR_INIT;
	struct stat st;

	assert_int_equal(0, file_read(at(path), 1 << 21, &s, &e));
	assert_string_equal(want, str_cstr(&s));
	assert_int_equal(0, stat(at(path), &st));
	assert_int_equal(mode, st.st_mode & 07777);
	str_release(&s);
}

static size_t entries(const char *path)
{
	struct names names;
	struct err e = ERR_INIT;
	size_t n;

	assert_int_equal(0,
		names_read(&names, open(at(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC), &e));
	n = names.n;
	names_release(&names);
	return n;
}

static void creates_and_replaces(void **state)
{
	(void)state;
	gives("write_file", "{\"path\":\"n/e/w.txt\",\"content\":\"你好\\n\"}",
		"[created n/e/w.txt: 7 bytes, +1 -0 lines]\n");
	assert_int_equal(1, acting);
	file_is("n/e/w.txt", "你好\n", 0600);
	assert_int_equal(0, chmod(at("n/e/w.txt"), 0754));
	gives("write_file", "{\"path\":\"n/e/w.txt\",\"content\":\"\"}",
		"[replaced n/e/w.txt: 0 bytes, +0 -1 lines]\n");
	file_is("n/e/w.txt", "", 0754);
	assert_int_equal(0, chmod(at("n/e/w.txt"), 04755));
	assert_int_equal(0, run("write_file", "{\"path\":\"n/e/w.txt\",\"content\":\"x\"}"));
	file_is("n/e/w.txt", "x", 0755);
	assert_int_equal(1, entries("n/e"));
}

static void refuses_to_write_elsewhere(void **state)
{
	(void)state;
	make_dir("d");
	make("f", VIEW("x"));
	refuses("write_file", "{\"path\":\"../x\",\"content\":\"\"}", "..");
	refuses("write_file", "{\"path\":\"d/../x\",\"content\":\"\"}", "..");
	refuses("write_file", "{\"path\":\".\",\"content\":\"\"}", "plain path");
	refuses("write_file", "{\"path\":\"d\",\"content\":\"\"}", "a folder");
	refuses("write_file", "{\"path\":\"f/x\",\"content\":\"\"}", "below a file");
	refuses("write_file", "{\"path\":\".git/hooks/pre-commit\",\"content\":\"\"}", ".git");
	refuses("write_file", "{\"path\":\"d/.GIT/config\",\"content\":\"\"}", ".git");
	refuses("write_file", "{\"path\":\"/etc/kairo-test\",\"content\":\"\"}", "outside");
	refuses("write_file", "{\"path\":\"x\"}", "content");
	assert_int_equal(0, acting);
	assert_int_equal(2, entries("."));
	/* names like it are just names */
	assert_int_equal(0, run("write_file", "{\"path\":\".gitignore\",\"content\":\"\"}"));
}

static void content_at_and_over_a_mebibyte(void **state)
{
	struct str args = STR_INIT((size_t)2 << 20);

	(void)state;
	for (size_t over = 0; over < 2; over++) {
		str_reset(&args);
		(void)str_adds(&args, "{\"path\":\"big\",\"content\":\"");
		for (size_t i = 0; i < ((size_t)1 << 20) + over; i++)
			(void)str_addc(&args, 'x');
		(void)str_adds(&args, "\"}");
		assert_int_equal(over ? -1 : 0, run_json("write_file", str_view(&args)));
	}
	str_release(&args);
}

static void a_stop_leaves_the_old_file_and_no_other(void **state)
{
	(void)state;
	make("a", VIEW("old"));
	stop = 1;
	refuses("write_file", "{\"path\":\"a\",\"content\":\"new\"}", "as it was");
	file_is("a", "old", 0644);
	assert_int_equal(1, entries("."));
}

static void an_over_long_name_is_refused(void **state)
{
	char args[400];

	(void)state;
	(void)snprintf(args, sizeof(args), "{\"path\":\"%0256d\",\"content\":\"\"}", 1);
	refuses("write_file", args, "longer than 255");
}

static void counts_the_lines_that_differ(void **state)
{
	(void)state;
	make("a", VIEW("1\n2\n3\n4\n5\n"));
	gives("write_file", "{\"path\":\"a\",\"content\":\"1\\n2\\nx\\ny\\n4\\n5\\n\"}",
		"[replaced a: 12 bytes, +2 -1 lines]\n");
	gives("write_file", "{\"path\":\"a\",\"content\":\"1\\n2\\nx\\ny\\n4\\n5\\n\"}",
		"[replaced a: 12 bytes, +0 -0 lines]\n");
	make("bin", VIEW("a\0b\n"));
	gives("write_file", "{\"path\":\"bin\",\"content\":\"\"}", "[replaced bin: 0 bytes]\n");
}

/* --- apply_patch ------------------------------------------------------------------------------ */

static int run_patch(struct view patch)
{
	struct str args = STR_INIT((size_t)8 << 20);
	struct json_out w;
	int rc;

	json_out_begin(&w, &args);
	json_open(&w, NULL);
	json_put_str(&w, "patch", patch);
	json_close(&w);
	assert_int_equal(0, json_out_end(&w, &why));
	rc = run_json("apply_patch", str_view(&args));
	str_release(&args);
	return rc;
}

static void patched(const char *patch, const char *want)
{
	if (run_patch(view_of(patch)) < 0)
		fail_msg("%s\n%s", patch, why.msg);
	assert_string_equal(want, str_cstr(&out));
	assert_false(failed);
}

/* In so many words, and nothing was begun. */
static void not_patched(const char *patch, const char *word)
{
	acting = 0;
	if (run_patch(view_of(patch)) == 0 && !failed)
		fail_msg("%s\n%s", patch, str_cstr(&out));
	if (!strstr(failed ? str_cstr(&out) : why.msg, word))
		fail_msg("%s\n%s%s", patch, why.msg, str_cstr(&out));
	assert_int_equal(0, acting);
}

#define HUNK "@@ -1 +1 @@\n-a\n+b\n"

static void patches_several_files_at_once(void **state)
{
	(void)state;
	make("c", VIEW("1\n2\n3\n"));
	make("gone", VIEW("x\n"));
	assert_int_equal(0, chmod(at("c"), 0755));
	patched("--- a/c\n+++ b/c\n@@ -1,3 +1,4 @@\n 1\n-2\n+zwei\n+zweieinhalb\n 3\n"
		"--- /dev/null\n+++ b/d/e/new\n@@ -0,0 +1,2 @@\n+p\n+q\n\\ No newline at end of file\n"
		"--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
		"diff --git a/empty b/empty\nnew file mode 100644\n",
		"[changed c: 21 bytes, +2 -1 lines]\n[created d/e/new: 3 bytes, +2 -0 lines]\n"
		"[deleted gone: +0 -1 lines]\n[created empty: 0 bytes, +0 -0 lines]\n");
	assert_int_equal(1, acting);
	file_is("c", "1\nzwei\nzweieinhalb\n3\n", 0755);
	file_is("d/e/new", "p\nq", 0600);
	file_is("empty", "", 0600);
	assert_int_equal(-1, access(at("gone"), F_OK));
	assert_int_equal(3, entries("."));
	assert_int_equal(1, entries("d/e"));
}

static void one_file_that_does_not_fit_stops_all(void **state)
{
	(void)state;
	make("a", VIEW("a\n"));
	make("b", VIEW("x\n"));
	not_patched("--- a\n+++ a\n" HUNK "--- n/m\n+++ n/m\n" HUNK, "its --- line is /dev/null");
	not_patched("--- /dev/null\n+++ n/m\n@@ -0,0 +1 @@\n+x\n--- a\n+++ a\n" HUNK
		    "--- b\n+++ b\n" HUNK "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n",
		"twice");
	not_patched("--- /dev/null\n+++ n/m\n@@ -0,0 +1 @@\n+x\n--- a\n+++ a\n" HUNK
		    "--- b\n+++ b\n" HUNK,
		"nothing was changed.\nb:\n- hunk at line 12 of the patch: line 1 of the file is \"x\"");
	not_patched("--- a/b\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n", "only 1 lines");
	make("two", VIEW("x\ny\n"));
	not_patched("--- a/two\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "all its lines");
	not_patched("--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n", "is there already");
	not_patched("--- /dev/null\n+++ b/b/c\n@@ -0,0 +1 @@\n+x\n", "below a file");
	assert_int_equal(3, entries("."));
	file_is("a", "a\n", 0644);
}

static void patches_stay_in_the_workspace(void **state)
{
	char patch[400];

	(void)state;
	make("a", VIEW("a\n"));
	make_dir("d");
	make_dir(".git");
	make(".git/config", VIEW("a\n"));
	assert_int_equal(0, symlink("a", at("link")));
	assert_int_equal(0, symlink("nowhere", at("dangling")));
	assert_int_equal(0, symlink("d", at("mid")));
	not_patched("--- a/../a\n+++ b/../a\n" HUNK, "..");
	not_patched("--- ../a\n+++ ../a\n" HUNK, "..");
	not_patched("--- d/../a\n+++ d/../a\n" HUNK, "..");
	not_patched("--- .git/config\n+++ .git/config\n" HUNK, ".git");
	not_patched("--- d/.GiT/x\n+++ d/.GiT/x\n" HUNK, ".git");
	not_patched("--- /dev/null\n+++ b/.git/hooks/post-commit\n@@ -0,0 +1 @@\n+x\n", ".git");
	not_patched("--- /etc/passwd\n+++ /etc/passwd\n" HUNK, "relative");
	(void)snprintf(patch, sizeof(patch), "--- %s/a\n+++ %s/a\n" HUNK, dir, dir);
	not_patched(patch, "relative");
	not_patched("--- a//a\n+++ a//a\n" HUNK "--- x\n+++ x\n" HUNK, "file");
	not_patched("--- a\n+++ a\n" HUNK "--- ./a\n+++ ./a\n" HUNK, "twice");
	not_patched("--- link\n+++ link\n" HUNK, "symbolic link");
	not_patched("--- dangling\n+++ dangling\n" HUNK, "symbolic link");
	not_patched("--- /dev/null\n+++ dangling\n@@ -0,0 +1 @@\n+x\n", "there already");
	not_patched("--- /dev/null\n+++ mid/new\n@@ -0,0 +1 @@\n+x\n", "symbolic link");
	not_patched("--- d\n+++ d\n" HUNK, "a folder");
	assert_int_equal(0, link(at("a"), at("hard")));
	not_patched("--- a\n+++ a\n" HUNK, "hard link");
	file_is("a", "a\n", 0644);
}

static void a_read_only_file_stays(void **state)
{
	bool root = geteuid() == 0;

	(void)state;
	make("b", VIEW("a\n"));
	assert_int_equal(0, chmod(at("b"), 0666));
	make("a", VIEW("old"));
	assert_int_equal(0, chmod(at("a"), 0444));
	/* Nothing is read-only for root. */
	assert_int_equal(0, root ? chown(dir, NOBODY, NOBODY) | seteuid(NOBODY) : 0);
	refuses("write_file", "{\"path\":\"a\",\"content\":\"new\"}", "read-only");
	not_patched("--- b\n+++ b\n" HUNK "--- a\n+++ a\n@@ -1 +1 @@\n-old\n\\ No newline\n+new\n",
		"read-only");
	not_patched("--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n\\ No newline\n", "read-only");
	assert_int_equal(0, root ? seteuid(0) : 0);
	file_is("a", "old", 0444);
	file_is("b", "a\n", 0666);
	assert_int_equal(2, entries("."));
}

static void patches_text_of_five_mebibytes_at_most(void **state)
{
	struct str text = STR_INIT((size_t)6 << 20);
	const char *patch = "--- big\n+++ big\n@@ -1 +1 @@\n-a\n+b\n";

	(void)state;
	(void)str_adds(&text, "a\n");
	while (text.n < ((size_t)5 << 20))
		(void)str_adds(&text, "x");
	make("big", str_view(&text));
	patched(patch, "[changed big: 5242880 bytes, +1 -1 lines]\n");

	make("big", str_view(&text));
	not_patched("--- big\n+++ big\n@@ -1 +1 @@\n-a\n+bc\n", "more than 5242880 bytes");
	(void)str_adds(&text, "x");
	make("big", str_view(&text));
	not_patched(patch, "more than 5 MiB");
	make("big", VIEW("a\n\0"));
	not_patched(patch, "binary");
	str_release(&text);
}

static void a_patch_of_a_crlf_file_need_not_show_it(void **state)
{
	(void)state;
	make("w", VIEW("a\r\nz\r\n"));
	patched("--- w\n+++ w\n@@ -1,2 +1,2 @@\n-a\n+b\n z\n",
		"[changed w: 6 bytes, +1 -1 lines, with CRLF as the others]\n");
	file_is("w", "b\r\nz\r\n", 0644);
}

static void a_stop_leaves_all_files_as_they_were(void **state)
{
	(void)state;
	make("a", VIEW("a\n"));
	stop = 1;
	assert_int_equal(-1, run_patch(VIEW("--- a\n+++ a\n" HUNK)));
	assert_non_null(strstr(why.msg, "nothing was changed"));
	file_is("a", "a\n", 0644);
}

/* --- create_project --------------------------------------------------------------------------- */

static int in_dir(const char *command)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (chdir(dir) == 0)
			(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Every template builds and says hello, with a description that would break out of its quotes. */
static void projects_build_and_run(void **state)
{
	static const struct {
		const char *name, *program, *build;
	} table[] = {
		{ "python", "python3",
			"[ \"$(python3 -B main.py)\" = 'Hello, world!' ] && "
			"python3 -B -m unittest -q 2>unittest" },
		{ "node", "node",
			"for f in src/*.js test/*.js; do node --check $f || exit 1; done; "
			"[ \"$(node src/index.js)\" = 'Hello, world!' ] && node --test >tested" },
		{ "java", "javac",
			"javac -d out src/main/java/app/Main.java && "
			"[ \"$(java -cp out app.Main)\" = 'Hello, world!' ]" },
		{ "c", "cc",
			"cc -std=c17 -Wall -Wextra -Werror -o p src/main.c && "
			"[ \"$(./p)\" = 'Hello, world!' ]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[800];

		(void)snprintf(text, sizeof(text),
			"{\"template\":\"%s\",\"path\":\"p/%s-1\",\"description\":"
			"\"\\\"quoted\\\" \\\\ <b> & 你好 @name@\"}",
			table[i].name, table[i].name);
		if (run("create_project", text) < 0)
			fail_msg("%s", why.msg);
		assert_non_null(strstr(str_cstr(&out), "README.md\n"));
		(void)snprintf(text, sizeof(text), "command -v %s >/dev/null", table[i].program);
		if (in_dir(text) != 0) {
			print_message("%s: there is no %s here\n", table[i].name, table[i].program);
			continue;
		}
		(void)snprintf(text, sizeof(text), "cd p/%s-1 && %s", table[i].name,
			table[i].build);
		assert_int_equal(0, in_dir(text));
	}
	assert_int_equal(4, entries("p"));
}

static void manifests_are_well_formed(void **state)
{
	struct str text = STR_INIT(1 << 16);
	struct err e = ERR_INIT;
	struct json *j;
	struct view v;

	(void)state;
	assert_int_equal(0,
		run("create_project", "{\"template\":\"node\",\"path\":\"n\",\"name\":\"my-app\","
				      "\"description\":\"a \\\"b\\\" \\\\ c\"}"));
	assert_int_equal(0, file_read(at("n/package.json"), 1 << 16, &text, &e));
	assert_int_equal(0, json_read(&j, str_view(&text), &json_limits_config, &e));
	assert_int_equal(1, json_get_str(j, "name", JSON_REQUIRED, 1, 64, &v, &e));
	assert_true(view_eqs(v, "my-app"));
	assert_int_equal(1, json_get_str(j, "description", JSON_REQUIRED, 1, 64, &v, &e));
	assert_true(view_eqs(v, "a \"b\" \\ c"));
	json_free(&j);
	assert_int_equal(0,
		run("create_project",
			"{\"template\":\"java\",\"path\":\"j\",\"description\":\"<&>\"}"));
	str_reset(&text);
	assert_int_equal(0, file_read(at("j/pom.xml"), 1 << 16, &text, &e));
	assert_non_null(strstr(str_cstr(&text), "<description>&lt;&amp;&gt;</description>"));
	assert_non_null(strstr(str_cstr(&text), "<artifactId>j</artifactId>"));
	str_release(&text);
}

static void projects_go_to_new_or_empty_folders(void **state)
{
	static const char *const files[] = { "README.md", ".gitignore", "CMakeLists.txt",
		"src/main.c" };
	char want[400];
	long long bytes = 0;
	struct stat st;

	(void)state;
	make_dir("empty");
	assert_int_equal(0, chmod(at("empty"), 0750));
	make_dir("full");
	make("full/x", VIEW("x"));
	make("file", VIEW("x"));
	assert_int_equal(0, symlink("empty", at("link")));
	assert_int_equal(0, symlink("nowhere", at("dangling")));
	refuses("create_project", "{\"template\":\"c\",\"path\":\"full\"}", "not empty");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"file\"}", "not a folder");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"link\"}", "symbolic link");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"link/x\"}", "symbolic link");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"dangling\"}", "symbolic link");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"../x\"}", "..");
	refuses("create_project", "{\"template\":\"c\",\"path\":\".\"}", "plain path");
	refuses("create_project", "{\"template\":\"c\",\"path\":\".git/x\"}", ".git");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"file/x\"}", "below a file");
	refuses("create_project", "{\"template\":\"cobol\",\"path\":\"x\"}",
		"python, node, java or c");
	assert_int_equal(0, acting);
	assert_int_equal(5, entries("."));
	assert_int_equal(0, run("create_project", "{\"template\":\"c\",\"path\":\"empty\"}"));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[100];

		(void)snprintf(path, sizeof(path), "empty/%s", files[i]);
		assert_int_equal(0, stat(at(path), &st));
		bytes += (long long)st.st_size;
	}
	(void)snprintf(want, sizeof(want),
		"[created the c project empty in empty: 4 files, %lld bytes]\n"
		"README.md\n.gitignore\nCMakeLists.txt\nsrc/main.c\n"
		"[run it there with: cmake -B build && cmake --build build, then build/empty]\n",
		bytes);
	assert_string_equal(want, str_cstr(&out));
	assert_int_equal(0, stat(at("empty"), &st));
	assert_int_equal(0750, st.st_mode & 07777);
	assert_int_equal(5, entries("."));
}

static void names_of_projects(void **state)
{
	char args[300];

	(void)state;
	refuses("create_project", "{\"template\":\"c\",\"path\":\"My App\"}",
		"give one as \"name\"");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"x\",\"name\":\"X\"}", "no name");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"x\",\"name\":\"1x\"}", "no name");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"x\",\"name\":\"x-\"}", "no name");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"x\",\"name\":\"a/b\"}",
		"no name");
	refuses("create_project", "{\"template\":\"c\",\"path\":\"x\",\"description\":\"a\\nb\"}",
		"one line");
	(void)snprintf(args, sizeof(args),
		"{\"template\":\"c\",\"path\":\"x\",\"name\":\"a%064d\"}", 0);
	refuses("create_project", args, "name");
	(void)snprintf(args, sizeof(args),
		"{\"template\":\"c\",\"path\":\"x\",\"description\":\"%0201d\"}", 0);
	refuses("create_project", args, "description");
	assert_int_equal(0, acting);
	(void)snprintf(args, sizeof(args),
		"{\"template\":\"c\",\"path\":\"x\",\"name\":\"a%063d\"}", 0);
	assert_int_equal(0, run("create_project", args));
	(void)snprintf(args, sizeof(args),
		"{\"template\":\"c\",\"path\":\"y\",\"description\":\"%0200d\"}", 0);
	assert_int_equal(0, run("create_project", args));
	assert_int_equal(0,
		run("create_project",
			"{\"template\":\"c\",\"path\":\"My App\",\"name\":\"my_app-2\"}"));
}

static void a_project_that_fails_leaves_nothing(void **state)
{
	struct smalldisk d;

	(void)state;
	make_dir("empty");
	stop = 1;
	refuses("create_project", "{\"template\":\"node\",\"path\":\"empty\"}",
		"nothing was created");
	refuses("create_project", "{\"template\":\"node\",\"path\":\"a/b/c\"}",
		"nothing was created");
	stop = 0;
	if (smalldisk_limit(&d, 100)) {
		refuses("create_project", "{\"template\":\"node\",\"path\":\"empty\"}",
			"package.json");
		refuses("create_project", "{\"template\":\"node\",\"path\":\"a/b/c\"}",
			"package.json");
		smalldisk_unlimit(&d);
	}
	assert_int_equal(1, entries("."));
	assert_int_equal(0, entries("empty"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(reads_pages_by_lines),
		T(tells_about_line_ends),
		T(long_lines_are_cut_and_can_be_read_on),
		T(a_page_ends_inside_a_line_and_goes_on_exactly_there),
		T(bytes_that_are_not_utf8_are_shown_and_said),
		T(binary_files_are_refused),
		T(characters_are_whole_wherever_they_stand),
		T(endless_continuation_bytes_stay_bounded),
		T(what_was_not_reached_is_not_said_to_be_missing),
		T(paths_stay_in_the_workspace),
		T(links_are_not_followed),
		T(only_plain_files_with_one_link),
		T(folders_to_read_are_only_read),
		T(swapping_links_gains_nothing),
		T(lists_in_order_and_pages),
		T(pages_of_long_names_go_on_exactly),
		T(a_folder_of_too_many_entries_says_so),
		T(globs),
		T(deep_trees_are_bounded),
		T(a_search_past_its_time_says_so),
		T(greps),
		T(letters_of_every_script_are_letters),
		T(an_expression_that_runs_away_is_an_error),
		T(a_giant_line_keeps_to_the_time),
		T(long_lines_show_the_part_that_matches),
		T(files_over_five_mebibytes_are_said),
		T(creates_and_replaces),
		T(refuses_to_write_elsewhere),
		T(content_at_and_over_a_mebibyte),
		T(a_stop_leaves_the_old_file_and_no_other),
		T(an_over_long_name_is_refused),
		T(counts_the_lines_that_differ),
		T(patches_several_files_at_once),
		T(one_file_that_does_not_fit_stops_all),
		T(patches_stay_in_the_workspace),
		T(a_read_only_file_stays),
		T(patches_text_of_five_mebibytes_at_most),
		T(a_patch_of_a_crlf_file_need_not_show_it),
		T(a_stop_leaves_all_files_as_they_were),
		T(projects_build_and_run),
		T(manifests_are_well_formed),
		T(projects_go_to_new_or_empty_folders),
		T(names_of_projects),
		T(a_project_that_fails_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
