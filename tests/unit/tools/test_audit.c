#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/host/audit.h"
#include "remove_tree.h"

#define DAY1 "2026-11-30.jsonl"
#define MS   INT64_C(1000)
#define DAY  INT64_C(86400)

struct fix {
	char dir[64], audit_dir[96];
	int64_t wall; /* seconds */
	struct clock clock;
	struct audit *audit;
	struct json *records[AUDIT_TAIL_MAX + 1];
	size_t n, skipped;
};

static struct fix fix;

static int64_t no_time(void *arg)
{
	(void)arg;
	return 0;
}

static int64_t wall(void *arg)
{
	const struct fix *f = arg;

	return f->wall * MS + 7;
}

static int setup(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	memset(&fix, 0, sizeof(fix));
	fix.wall = 1796040000; /* 2026-11-30 12:00:00 UTC */
	fix.clock = (struct clock){ .mono_ms = no_time, .wall_ms = wall, .arg = &fix };
	(void)snprintf(fix.dir, sizeof(fix.dir), "/tmp/kairo-audit-XXXXXX");
	assert_non_null(mkdtemp(fix.dir));
	(void)snprintf(fix.audit_dir, sizeof(fix.audit_dir), "%s/audit", fix.dir);
	assert_int_equal(0, audit_open(&fix.audit, fix.audit_dir, &fix.clock, &e));
	return 0;
}

static void forget(void)
{
	for (size_t i = 0; i < fix.n; i++)
		json_free(&fix.records[i]);
	fix.n = 0;
}

static int teardown(void **state)
{
	(void)state;
	forget();
	audit_close(&fix.audit);
	return remove_tree(fix.dir);
}

static int try_one(const char *tool, struct err *e)
{
	struct audit_event ev = { .turn = 3, .origin = ORIGIN_PHONE, .tool = tool };

	ev.call_id = "c1";
	ev.args = VIEW("{\"path\":\"a\"}");
	ev.verdict = "allow";
	ev.outcome = "ok";
	return audit_write(fix.audit, &ev, e);
}

static void write_one(const char *tool)
{
	struct err e = ERR_INIT;

	if (try_one(tool, &e) < 0)
		fail_msg("%s", e.msg);
}

static const char *path_of(const char *name)
{
	static char path[PATH_SIZE];

	assert_int_equal(0, path_join(path, fix.audit_dir, name, NULL));
	return path;
}

static bool exists(const char *name)
{
	return file_exists(path_of(name));
}

static int64_t size_of(const char *name)
{
	struct stat st;

	assert_int_equal(0, lstat(path_of(name), &st));
	return st.st_size;
}

/* A file of this many bytes of white space, ended by a line break. */
static void make(const char *name, int64_t size)
{
	int fd = open(path_of(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(0, ftruncate(fd, size));
	assert_int_equal(1, pwrite(fd, "\n", 1, size - 1));
	assert_int_equal(0, close(fd));
}

static void add(const char *name, const char *text)
{
	int fd = open(path_of(name), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(strlen(text), write(fd, text, strlen(text)));
	assert_int_equal(0, close(fd));
}

static void found(void *arg, const struct json *record)
{
	struct str text = STR_INIT(AUDIT_EVENT_MAX);

	(void)arg;
	assert_true(fix.n < sizeof(fix.records) / sizeof(fix.records[0]));
	assert_int_equal(0, json_print(record, &text, NULL));
	assert_int_equal(0,
		json_read(&fix.records[fix.n++], str_view(&text), &json_limits_wire, NULL));
	str_release(&text);
}

static int tail(size_t max)
{
	struct err e = ERR_INIT;

	forget();
	if (audit_tail(fix.audit_dir, max, found, NULL, &fix.skipped, &e) < 0)
		return (int)e.code;
	return 0;
}

static bool is_tool(size_t i, const char *tool)
{
	struct view v;

	assert_true(i < fix.n);
	assert_int_equal(1, json_get_str(fix.records[i], "tool", JSON_REQUIRED, 0, 300, &v, NULL));
	return view_eqs(v, tool);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void a_record_says_when_who_what_and_how(void **state)
{
	struct str text = STR_INIT(4096);

	(void)state;
	write_one("read_file");
	assert_int_equal(0, file_read(path_of(DAY1), 4096, &text, NULL));
	assert_string_equal(
		"{\"time\":\"2026-11-30T12:00:00.007Z\",\"turn\":3,\"origin\":\"phone\","
		"\"tool\":\"read_file\",\"call\":\"c1\",\"args\":{\"path\":\"a\"},"
		"\"verdict\":\"allow\",\"outcome\":\"ok\"}\n",
		str_cstr(&text));
	str_release(&text);
}

static void each_day_has_its_file(void **state)
{
	(void)state;
	write_one("a");
	fix.wall += 43199; /* 23:59:59 */
	write_one("b");
	fix.wall += 1;
	write_one("c");
	assert_int_equal(size_of(DAY1), 2 * size_of("2026-12-01.jsonl"));
}

static void a_full_file_is_put_aside(void **state)
{
	int64_t one;

	(void)state;
	write_one("x");
	one = size_of(DAY1);
	make(DAY1, AUDIT_FILE_MAX - one); /* just fits */
	write_one("x");
	assert_int_equal(AUDIT_FILE_MAX, size_of(DAY1));
	assert_false(exists(DAY1 ".1"));
	write_one("x");
	assert_int_equal(one, size_of(DAY1));
	assert_int_equal(AUDIT_FILE_MAX, size_of(DAY1 ".1"));
	make(DAY1, AUDIT_FILE_MAX - one + 1); /* one byte too many */
	write_one("x");
	assert_int_equal(one, size_of(DAY1));
	assert_int_equal(AUDIT_FILE_MAX - one + 1, size_of(DAY1 ".1"));
	assert_int_equal(AUDIT_FILE_MAX, size_of(DAY1 ".2"));
}

static void five_are_kept(void **state)
{
	(void)state;
	for (int i = 1; i <= 7; i++) {
		make(DAY1, AUDIT_FILE_MAX + i);
		write_one("x");
	}
	for (int i = 1; i <= AUDIT_GENERATIONS; i++) {
		char name[40];

		(void)snprintf(name, sizeof(name), DAY1 ".%d", i);
		assert_int_equal(AUDIT_FILE_MAX + 8 - i, size_of(name));
	}
	assert_false(exists(DAY1 ".6"));
}

static void the_newest_days_are_kept(void **state)
{
	(void)state;
	make("2026-09-01.jsonl", 1);
	make("2026-09-01.jsonl.1", 1);
	make("2026-09-02.jsonl", 1);
	make("2026-09-01.txt", 1); /* not ours */
	make("2026-09-01.jsonl.6", 1);
	audit_set(fix.audit, NULL, 3);
	write_one("x"); /* the third day */
	assert_true(exists("2026-09-01.jsonl") && exists("2026-09-01.jsonl.1"));
	fix.wall += DAY;
	write_one("x");
	assert_false(exists("2026-09-01.jsonl"));
	assert_false(exists("2026-09-01.jsonl.1"));
	assert_true(exists("2026-09-02.jsonl"));
	assert_true(exists("2026-09-01.txt"));
	assert_true(exists("2026-09-01.jsonl.6"));
	audit_set(fix.audit, NULL, 1);
	fix.wall += DAY;
	write_one("x");
	assert_false(exists("2026-09-02.jsonl"));
	assert_false(exists(DAY1));
	assert_false(exists("2026-12-01.jsonl"));
	assert_true(exists("2026-12-02.jsonl"));
}

static void a_clock_that_jumps_costs_one_day(void **state)
{
	(void)state;
	make("2026-09-01.jsonl", 1);
	make("2026-09-02.jsonl", 1);
	audit_set(fix.audit, NULL, 3);
	write_one("x");
	fix.wall += 36500 * DAY;
	write_one("x");
	assert_false(exists("2026-09-01.jsonl"));
	assert_true(exists("2026-09-02.jsonl") && exists(DAY1));
	fix.wall = 5; /* 1970 */
	write_one("x");
	assert_true(exists("1970-01-01.jsonl"));
	assert_true(exists("2026-09-02.jsonl") && exists(DAY1));
	fix.wall = 1796040000;
	write_one("x");
	assert_true(exists("2026-09-02.jsonl") && exists(DAY1));
}

static void half_a_line_does_not_spoil_the_next(void **state)
{
	(void)state;
	add(DAY1, "{\"time\":\"2026");
	write_one("a");
	assert_int_equal(0, tail(10));
	assert_int_equal(1, fix.n);
	assert_true(is_tool(0, "a"));
	assert_int_equal(1, fix.skipped);
}

static void symlinks_are_refused(void **state)
{
	char outside[96], link[96];
	struct audit *a;
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(outside, sizeof(outside), "%s/outside", fix.dir);
	assert_int_equal(0, symlink(outside, path_of(DAY1)));
	assert_int_equal(-1, try_one("a", NULL));
	assert_false(file_exists(outside));
	assert_int_equal(0, mkdir(outside, 0700));
	(void)snprintf(link, sizeof(link), "%s/link", fix.dir);
	assert_int_equal(0, symlink(outside, link));
	assert_int_equal(-1, audit_open(&a, link, NULL, &e));
	assert_null(a);
	assert_int_equal(-1, audit_tail(link, 10, found, NULL, &fix.skipped, &e));
}

static void a_folder_that_is_gone_is_made_anew(void **state)
{
	struct stat st;

	(void)state;
	write_one("a");
	assert_int_equal(0, remove_tree(fix.audit_dir));
	write_one("b");
	assert_int_equal(0, lstat(fix.audit_dir, &st));
	assert_int_equal(S_IFDIR | 0700, st.st_mode);
	assert_int_equal(0, tail(10));
	assert_int_equal(1, fix.n);
	assert_true(is_tool(0, "b"));
	assert_int_equal(0, chmod(fix.audit_dir, 0755));
	write_one("c");
	assert_int_equal(0, lstat(fix.audit_dir, &st));
	assert_int_equal(S_IFDIR | 0700, st.st_mode);
}

static void what_stands_in_its_place_is_not_written_to(void **state)
{
	char outside[96];
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(outside, sizeof(outside), "%s/outside", fix.dir);
	assert_int_equal(0, mkdir(outside, 0700));
	write_one("a");
	assert_string_equal("", audit_fault(fix.audit));
	assert_int_equal(0, remove_tree(fix.audit_dir));
	assert_int_equal(0, symlink(outside, fix.audit_dir));
	assert_int_equal(-1, try_one("b", &e));
	assert_int_equal(E_DENIED, e.code);
	assert_non_null(strstr(e.msg, "it cannot be recorded: "));
	assert_non_null(strstr(e.msg, "is a symbolic link"));
	assert_non_null(strstr(audit_fault(fix.audit), "is a symbolic link"));
	assert_int_equal(0, rmdir(outside)); /* nothing is in it */
	assert_int_equal(0, unlink(fix.audit_dir));
	assert_int_equal(0, close(open(fix.audit_dir, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
	assert_int_equal(-1, try_one("c", &e));
	assert_non_null(strstr(e.msg, "is not a folder"));
	assert_int_equal(0, unlink(fix.audit_dir));
	write_one("d");
	assert_string_equal("", audit_fault(fix.audit));
}

static void a_full_disk_takes_a_record_whole_or_not_at_all(void **state)
{
	struct rlimit all, few;
	struct err e = ERR_INIT;
	int64_t size;

	(void)state;
	write_one("a");
	size = size_of(DAY1);
	assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &all));
	(void)signal(SIGXFSZ, SIG_IGN);
	for (int more = 0; more < 2; more++) {
		few = (struct rlimit){ (rlim_t)(size + more * (size - 1)), all.rlim_max };
		assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &few));
		assert_int_equal(-1, try_one("b", &e));
		assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &all));
		assert_int_equal(E_FULL, e.code);
		assert_int_equal(size, size_of(DAY1));
	}
	write_one("c");
	assert_int_equal(0, tail(10));
	assert_int_equal(2, fix.n);
	assert_int_equal(0, fix.skipped);
	assert_true(is_tool(0, "a") && is_tool(1, "c"));
}

static void secrets_and_controls_stay_out(void **state)
{
	struct audit_event ev = { .turn = 1, .tool = "shell", .verdict = "deny" };
	struct str text = STR_INIT(1 << 20);

	(void)state;
	ev.args = VIEW("{\"command\":\"curl -H 'Authorization: Bearer abcdefghijklmnop1234'\","
		       "\"env\":{\"API_KEY\":\"sk-abcdefghijklmnopqrstuvwxyz012345\"}}");
	ev.outcome = "refused";
	ev.detail = "token=abcdefghijklmnop1234\x1b[31m\xff";
	assert_int_equal(0, audit_write(fix.audit, &ev, NULL));
	assert_int_equal(0, file_read(path_of(DAY1), 1 << 20, &text, NULL));
	assert_null(strstr(str_cstr(&text), "abcdefghijklmnop1234"));
	assert_null(strstr(str_cstr(&text), "sk-abcdef"));
	assert_null(strchr(str_cstr(&text), '\x1b'));
	assert_int_equal(0, json_check(view_trim(str_view(&text)), &json_limits_wire, NULL));
	str_release(&text);
}

/* Everything that can be long is, and in the form that escapes worst. */
static void the_longest_record_fits(void **state)
{
	struct str s = STR_INIT((size_t)4 << 20), text = STR_INIT((size_t)2 << 20);
	struct audit_event ev = { .turn = UINT64_MAX, .origin = ORIGIN_SCHEDULE };

	(void)state;
	while (s.n < ((size_t)3 << 20))
		(void)str_adds(&s, "\\\"\n");
	ev.tool = ev.call_id = ev.detail = str_cstr(&s);
	ev.args = str_view(&s);
	ev.verdict = "allow";
	ev.outcome = "failed";
	ev.ms = INT64_MAX;
	assert_int_equal(0, audit_write(fix.audit, &ev, NULL));
	assert_int_equal(0, file_read(path_of(DAY1), (size_t)2 << 20, &text, NULL));
	assert_true(text.n > 0 && text.n <= AUDIT_EVENT_MAX);
	assert_int_equal(0, tail(1));
	assert_int_equal(1, fix.n);
	str_release(&s);
	str_release(&text);
}

static void processes_take_turns(void **state)
{
	pid_t pids[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			for (int k = 0; k < 20; k++)
				write_one("x");
			_exit(0);
		}
	}
	for (size_t i = 0; i < 4; i++) {
		int status;

		assert_int_equal(pids[i], waitpid(pids[i], &status, 0));
		assert_int_equal(0, status);
	}
	assert_int_equal(0, tail(100));
	assert_int_equal(80, fix.n);
	assert_int_equal(0, fix.skipped);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void nothing_recorded_is_said(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(E_NOTFOUND, tail(10));
	assert_int_equal(-1, audit_tail("/nonexistent/audit", 1, found, NULL, &fix.skipped, &e));
	assert_int_equal(E_NOTFOUND, e.code);
}

static void the_newest_come_last_across_files(void **state)
{
	(void)state;
	make(DAY1, AUDIT_FILE_MAX - 10);
	write_one("a"); /* puts the empty one aside */
	fix.wall += DAY;
	write_one("b");
	write_one("c");
	fix.wall += DAY;
	write_one("d");
	assert_int_equal(0, tail(3));
	assert_int_equal(3, fix.n);
	assert_true(is_tool(0, "b") && is_tool(1, "c") && is_tool(2, "d"));
	assert_int_equal(0, tail(1));
	assert_int_equal(1, fix.n);
	assert_true(is_tool(0, "d"));
	assert_int_equal(0, tail(0));
	assert_int_equal(0, fix.n);
}

static void a_hundred_at_most(void **state)
{
	(void)state;
	for (int i = 0; i < 101; i++)
		write_one(i == 0 ? "first" : "x");
	assert_int_equal(0, tail(1000));
	assert_int_equal(AUDIT_TAIL_MAX, fix.n);
	assert_true(is_tool(0, "x"));
}

/* A line before the record "far", and behind it so much, in the same file or in the next one, that
 * just `over` bytes of it lie further away than a mebibyte. */
static void tail_over(int64_t over, bool next)
{
	struct str rest = STR_INIT(2 * AUDIT_TAIL_BYTES);
	int64_t far;

	make(DAY1, 100);
	write_one("far");
	far = size_of(DAY1) - 100;
	for (int64_t n = (int64_t)AUDIT_TAIL_BYTES - far + over; n > 1; n--)
		assert_int_equal(0, str_addc(&rest, 'x'));
	assert_int_equal(0, str_addc(&rest, '\n'));
	(void)unlink(path_of("2026-12-01.jsonl"));
	add(next ? "2026-12-01.jsonl" : DAY1, str_cstr(&rest));
	assert_int_equal(0, tail(100));
	str_release(&rest);
}

static void a_mebibyte_at_most(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		tail_over(-1, i);
		assert_int_equal(1, fix.n);
		tail_over(0, i);
		assert_int_equal(1, fix.n);
		tail_over(1, i);
		assert_int_equal(0, fix.n);
	}
}

static void what_is_no_record_is_skipped(void **state)
{
	(void)state;
	write_one("a");
	add(DAY1, "not json\n[1]\n{}\n\n{\"time\":1,\"tool\":\"x\",\"outcome\":\"ok\"}\n"
		  "{\"time\":\"t\",\"tool\":\"x\",\"outcome\":\"ok\",\"time\":\"t\"}\n"
		  "{\"time\":\"t\",\"tool\":\"x\\u0000\",\"outcome\":\"ok\"}\n\xff\n");
	write_one("b");
	assert_int_equal(0, tail(100));
	assert_int_equal(2, fix.n);
	assert_true(is_tool(0, "a") && is_tool(1, "b"));
	assert_int_equal(7, fix.skipped);
}

/* --- What a kill leaves ----------------------------------------------------------------------- */

static void say(uint64_t turn, const char *call, const char *verdict, const char *outcome)
{
	struct audit_event ev = { .turn = turn, .origin = ORIGIN_TERMINAL, .tool = "shell" };

	ev.call_id = call;
	ev.verdict = verdict;
	ev.outcome = outcome;
	assert_int_equal(0, audit_write(fix.audit, &ev, NULL));
}

static bool is(size_t i, const char *name, const char *value)
{
	struct view v;

	assert_true(i < fix.n);
	return json_get_str(fix.records[i], name, JSON_REQUIRED, 0, 300, &v, NULL) == 1 &&
	       view_eqs(v, value);
}

static void what_a_kill_left_open_is_lost(void **state)
{
	(void)state;
	audit_end_lost(fix.audit); /* nothing yet */
	assert_int_equal(E_NOTFOUND, tail(100));
	say(1, "a", "ask", "asked");
	say(1, "a", "ask", "consented");
	say(1, "a", "ask", "started");
	say(1, "a", "ask", "ok");
	say(1, "b", "deny", "refused");
	say(2, "a", "allow", "started");
	fix.wall += DAY;
	say(2, "b", "ask", "asked");
	audit_end_lost(fix.audit);
	assert_int_equal(0, tail(100));
	assert_int_equal(9, fix.n);
	assert_true(is(7, "outcome", "lost") && is(7, "call", "a") && is(7, "verdict", "allow"));
	assert_true(is(7, "tool", "shell") && is(7, "origin", "terminal"));
	assert_true(is(8, "outcome", "lost") && is(8, "call", "b") && is(8, "verdict", "ask"));
	audit_end_lost(fix.audit); /* once */
	assert_int_equal(0, tail(100));
	assert_int_equal(9, fix.n);
}

static void lost_ones_are_looked_for_among_the_newest_hundred(void **state)
{
	(void)state;
	say(1, "a", "ask", "asked");
	for (int i = 0; i < 99; i++)
		write_one("x");
	audit_end_lost(fix.audit);
	assert_int_equal(0, tail(1));
	assert_true(is(0, "outcome", "lost") && is(0, "call", "a"));
	say(2, "a", "ask", "asked");
	for (int i = 0; i < 100; i++)
		write_one("x");
	audit_end_lost(fix.audit);
	assert_int_equal(0, tail(1));
	assert_true(is(0, "outcome", "ok"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_record_says_when_who_what_and_how),
		T(each_day_has_its_file),
		T(a_full_file_is_put_aside),
		T(five_are_kept),
		T(the_newest_days_are_kept),
		T(a_clock_that_jumps_costs_one_day),
		T(what_a_kill_left_open_is_lost),
		T(lost_ones_are_looked_for_among_the_newest_hundred),
		T(half_a_line_does_not_spoil_the_next),
		T(symlinks_are_refused),
		T(a_folder_that_is_gone_is_made_anew),
		T(what_stands_in_its_place_is_not_written_to),
		T(a_full_disk_takes_a_record_whole_or_not_at_all),
		T(secrets_and_controls_stay_out),
		T(the_longest_record_fits),
		T(processes_take_turns),
		T(nothing_recorded_is_said),
		T(the_newest_come_last_across_files),
		T(a_hundred_at_most),
		T(a_mebibyte_at_most),
		T(what_is_no_record_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
