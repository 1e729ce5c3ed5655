/* base/log: one line an event, nothing secret, nothing forged, and never a failure for the caller.
 */
#include "base/log.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "scratch.h"
#include "smalldisk.h"

struct fixture {
	struct scratch s;
	struct err e;
	struct log *l;
	struct str text;
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	f.text.max = 16 << 20;
	scratch_make(&f.s);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	log_close(&f->l);
	str_release(&f->text);
	scratch_remove(&f->s);
	return 0;
}

static const char *at(struct fixture *f, const char *name)
{
	return scratch_path(&f->s, name);
}

static void open_log(struct fixture *f, int64_t max)
{
	log_close(&f->l);
	if (log_open_file(&f->l, at(f, "kairo.log"), LOG_INFO, max, &f->e) < 0)
		fail_msg("%s", f->e.msg);
}

static const char *content(struct fixture *f, const char *name)
{
	str_reset(&f->text);
	if (file_read(at(f, name), 16 << 20, &f->text, &f->e) < 0)
		fail_msg("%s", f->e.msg);
	return str_cstr(&f->text);
}

/* The text of the only line, behind time and level. */
static const char *only_line(struct fixture *f)
{
	const char *s = content(f, "kairo.log");
	const char *end = strchr(s, '\n');

	assert_non_null(end);
	assert_string_equal(end, "\n");
	str_truncate(&f->text, f->text.n - 1);
	assert_true(strlen(s) > 31);
	return s + 31;
}

static void fresh_log(struct fixture *f)
{
	log_close(&f->l);
	(void)unlink(at(f, "kairo.log"));
	open_log(f, 0);
}

/* --- A line ----------------------------------------------------------------------------------- */
static void a_line_has_time_level_room_subject_and_text(void **state)
{
	struct fixture *f = *state;
	static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ error poll (bot-1): got 3 messages\n";
	const char *s;

	open_log(f, 0);
	log_msg(f->l, LOG_ERROR, "poll", "bot-1", "got %d %s", 3, "messages");
	s = content(f, "kairo.log");
	assert_int_equal(strlen(s), strlen(shape));
	for (size_t i = 0; shape[i] != '\0'; i++) {
		if (shape[i] == 'd')
			assert_true(s[i] >= '0' && s[i] <= '9');
		else if (i < 30 || shape[i] != 'd')
			assert_int_equal(s[i], shape[i]);
	}
}

static void levels_are_kept_apart(void **state)
{
	struct fixture *f = *state;
	enum log_level level = LOG_ERROR;

	open_log(f, 0);
	log_error(f->l, "r", "one");
	log_warn(f->l, "r", "two");
	log_info(f->l, "r", "three");
	log_debug(f->l, "r", "not");
	log_set_level(f->l, LOG_DEBUG);
	log_debug(f->l, "r", "four");
	log_set_level(f->l, LOG_ERROR);
	log_warn(f->l, "r", "not");
	content(f, "kairo.log");
	assert_non_null(strstr(f->text.p, "Z error r: one\n"));
	assert_non_null(strstr(f->text.p, "Z warn  r: two\n"));
	assert_non_null(strstr(f->text.p, "Z info  r: three\n"));
	assert_non_null(strstr(f->text.p, "Z debug r: four\n"));
	assert_null(strstr(f->text.p, "not"));
	assert_int_equal(log_level_parse("debug", &level), 0);
	assert_int_equal(level, LOG_DEBUG);
	assert_int_equal(log_level_parse("error", &level), 0);
	assert_int_equal(level, LOG_ERROR);
	assert_int_equal(log_level_parse("Debug", &level), -1);
	assert_int_equal(log_level_parse("", &level), -1);
}

static void no_log_is_a_log_too(void **state)
{
	(void)state;
	log_error(NULL, "r", "x");
	log_set_level(NULL, LOG_DEBUG);
	assert_int_equal(log_lost(NULL), 0);
	log_close(&(struct log *){ NULL });
}

static void errno_is_left_alone(void **state)
{
	struct fixture *f = *state;

	open_log(f, 0);
	errno = EILSEQ;
	log_error(f->l, "r", "x");
	assert_int_equal(errno, EILSEQ);
}

static void nobody_forges_a_line(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "a\nb", "r (s): a\\nb" },
		{ "a\r\nb", "r (s): a\\r\\nb" },
		{ "\x1b[31mred", "r (s): \\x1b[31mred" },
		{ "nul-free \x7f", "r (s): nul-free \\x7f" },
		{ "C:\\dir", "r (s): C:\\dir" },
		{ "\xe2\x80\xae"
		  "abc",
			"r (s): \\u202e"
			"abc" },
		{ "\xe4\xbd\xa0\xe5\xa5\xbd", "r (s): \xe4\xbd\xa0\xe5\xa5\xbd" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fresh_log(f);
		log_msg(f->l, LOG_ERROR, "r", "s", "%s", rows[i].in);
		assert_string_equal(only_line(f), rows[i].want);
	}
	fresh_log(f);
	log_msg(f->l, LOG_ERROR, "r", "id\n2024 error fake", "x");
	assert_string_equal(only_line(f), "r (id\\n2024 error fake): x");
	fresh_log(f);
	log_error(f->l, "r", "\xff\xc3(\xf0\x9f");
	assert_true(utf8_valid(view_of(only_line(f))));
}

/* --- Secrets ---------------------------------------------------------------------------------- */
static void known_secrets_are_masked_wherever_they_turn_up(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "s3cr3t-one", "r: [redacted]" },
		{ "as3cr3t-oneb", "r: a[redacted]b" },
		{ "s3cr3t-ones3cr3t-one", "r: [redacted][redacted]" },
		{ "s3cr3t-one-longer!", "r: [redacted]!" }, /* the longest wins */
		{ "s3cr3ts3cr3t-one", "r: s3cr3t[redacted]" },
		{ "s3cr3t-on", "r: s3cr3t-on" },
		{ "\xe5\xaf\x86\xe7\xa0\x81\xe5\xaf\x86", "r: [redacted]" },
		{ "", "r: " },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fresh_log(f);
		assert_int_equal(log_add_secret(f->l, "s3cr3t-one", &f->e), 0);
		assert_int_equal(log_add_secret(f->l, "s3cr3t-one-longer", &f->e), 0);
		assert_int_equal(log_add_secret(f->l, "\xe5\xaf\x86\xe7\xa0\x81\xe5\xaf\x86",
					 &f->e),
			0);
		log_error(f->l, "r", "%s", rows[i].in);
		assert_string_equal(only_line(f), rows[i].want);
	}
	fresh_log(f);
	assert_int_equal(log_add_secret(f->l, "s3cr3t-one", &f->e), 0);
	log_msg(f->l, LOG_ERROR, "r", "s3cr3t-one", "x");
	assert_string_equal(only_line(f), "r ([redacted]): x");
}

static void known_secrets_are_masked_in_other_texts_too(void **state)
{
	struct fixture *f = *state;
	struct str out = STR_INIT(1000);

	open_log(f, 0);
	assert_int_equal(log_add_secret(f->l, "s3cr3t-one", &f->e), 0);
	assert_int_equal(log_mask(f->l, VIEW("a s3cr3t-one and s3cr3t-on"), &out), 0);
	assert_string_equal(str_cstr(&out), "a [redacted] and s3cr3t-on");
	str_reset(&out);
	assert_int_equal(log_mask(NULL, VIEW("s3cr3t-one"), &out), 0);
	assert_string_equal(str_cstr(&out), "s3cr3t-one");
	str_release(&out);
}

static void secrets_have_a_length_and_a_number(void **state)
{
	struct fixture *f = *state;
	static char s[4098];

	open_log(f, 0);
	assert_int_equal(log_add_secret(f->l, "1234567", &f->e), -1);
	assert_int_equal(f->e.code, E_FORMAT);
	assert_int_equal(log_add_secret(f->l, "12345678", &f->e), 0);
	memset(s, 'x', 4096);
	assert_int_equal(log_add_secret(f->l, s, &f->e), 0);
	s[4096] = 'x';
	assert_int_equal(log_add_secret(f->l, s, &f->e), -1);
	for (int i = 2; i < 256; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "secret number %d", i);
		assert_int_equal(log_add_secret(f->l, name, &f->e), 0);
	}
	assert_int_equal(log_add_secret(f->l, "one too many", &f->e), -1);
	assert_int_equal(f->e.code, E_FULL);
	assert_null(strstr(f->e.msg, "one too many"));
	assert_int_equal(log_add_secret(f->l, "secret number 255", &f->e), 0); /* known already */
}

static void what_looks_like_a_secret_is_redacted_unasked(void **state)
{
	struct fixture *f = *state;

	open_log(f, 0);
	log_error(f->l, "http", "sent Authorization: Bearer abcdefghijklmnopqrstuvwxyz123456");
	content(f, "kairo.log");
	assert_null(strstr(f->text.p, "abcdefghijkl"));
	assert_non_null(strstr(f->text.p, "[redacted]"));
}

/* A message of any length, cut anywhere, shows no part of a secret that it held whole. */
static void no_cut_leaves_half_a_secret(void **state)
{
	struct fixture *f = *state;
	static char secret[4097], msg[4096 + 20 * 4096 + 1];

	for (size_t i = 0; i < 4096; i++)
		secret[i] = (char)('a' + (i * 31 + i / 26) % 26);
	memset(msg, '.', 4096);
	for (size_t i = 1; i <= 20; i++)
		memcpy(msg + i * 4096, secret, 4096);
	for (size_t before = 0; before < 3500; before += 499) {
		fresh_log(f);
		assert_int_equal(log_add_secret(f->l, secret, &f->e), 0);
		log_error(f->l, "r", "%s", msg + 4096 - before);
		only_line(f);
		assert_non_null(strstr(f->text.p, "[redacted]"));
		assert_true(view_ends(str_view(&f->text), VIEW("[cut]")));
		for (size_t i = 0; i + 8 <= 4096; i++)
			assert_null(memmem(f->text.p, f->text.n, secret + i, 8));
	}
}

/* --- Length ----------------------------------------------------------------------------------- */
static void long_lines_are_cut_between_characters(void **state)
{
	struct fixture *f = *state;
	static char msg[70000];

	for (size_t prefix = 0; prefix < 4; prefix++) {
		memset(msg, 'x', prefix);
		for (size_t i = prefix; i + 3 < sizeof(msg); i += 3)
			memcpy(msg + i, "\xe6\x97\xa5", 4);
		for (size_t len = 3000; len < sizeof(msg); len = len * 2 + 1) {
			size_t whole = prefix + (len - prefix) / 3 * 3;
			char kept = msg[whole];

			msg[whole] = '\0';
			fresh_log(f);
			log_error(f->l, "r", "%s", msg);
			msg[whole] = kept;
			only_line(f);
			assert_true(f->text.n < LOG_LINE_MAX);
			assert_true(utf8_valid(str_view(&f->text)));
			assert_int_equal(view_ends(str_view(&f->text), VIEW("[cut]")),
				whole + 34 >= LOG_LINE_MAX);
			assert_null(strstr(f->text.p, "\\x"));
		}
	}
}

/* --- The file --------------------------------------------------------------------------------- */
static void the_file_is_private_and_appended_to(void **state)
{
	struct fixture *f = *state;
	mode_t old = umask(0);
	struct stat st;

	open_log(f, 0);
	log_error(f->l, "r", "one");
	assert_int_equal(stat(at(f, "kairo.log"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	open_log(f, 0);
	log_error(f->l, "r", "two");
	content(f, "kairo.log");
	assert_non_null(strstr(f->text.p, "one"));
	assert_non_null(strstr(f->text.p, "two"));
	(void)umask(old);
}

static void refuses_a_place_that_is_not_safe(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = { "link", "to-dir/kairo.log", "fifo", "dir" };

	assert_int_equal(mkdir(at(f, "dir"), 0700), 0);
	assert_int_equal(symlink("dir", at(f, "to-dir")), 0);
	assert_int_equal(symlink("elsewhere", at(f, "link")), 0);
	assert_int_equal(mkfifo(at(f, "fifo"), 0600), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(log_open_file(&f->l, at(f, names[i]), LOG_INFO, 0, &f->e), -1);
		assert_null(f->l);
		assert_true(strlen(f->e.msg) > 0);
	}
	assert_false(file_exists(at(f, "elsewhere")));
}

static int64_t size_of(struct fixture *f, const char *name)
{
	struct stat st;

	return lstat(at(f, name), &st) == 0 ? st.st_size : -1;
}

/* Lines "n=<i>" from..to, one after the other, in this file. */
static void assert_lines(const char *s, int *next)
{
	while (*s != '\0') {
		char want[32];

		(void)snprintf(want, sizeof(want), " r: n=%d\n", *next);
		assert_int_equal(s[4], '-'); /* begins with a date: a whole line */
		s = strstr(s, " r: ");
		assert_non_null(s);
		assert_memory_equal(s, want, strlen(want));
		s += strlen(want);
		(*next)++;
	}
}

static void rotates_before_the_cap_and_keeps_three_generations(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = { "kairo.log.3", "kairo.log.2", "kairo.log.1",
		"kairo.log" };
	int next;

	open_log(f, 1000);
	for (int i = 1000; i < 1300; i++) {
		log_error(f->l, "r", "n=%d", i);
		assert_true(size_of(f, "kairo.log") <= 1000);
		if (i == 1150)
			open_log(f, 1000); /* a restart counts what is there */
	}
	for (size_t i = 0; i < 4; i++)
		assert_true(size_of(f, names[i]) > 0 && size_of(f, names[i]) <= 1000);
	assert_int_equal(size_of(f, "kairo.log.4"), -1);
	/* The newest lines without a gap, through all four. */
	next = (int)strtol(strstr(content(f, names[0]), "n=") + 2, NULL, 10);
	assert_true(next > 1000);
	for (size_t i = 0; i < 4; i++)
		assert_lines(content(f, names[i]), &next);
	assert_int_equal(next, 1300);
	assert_int_equal(log_lost(f->l), 0);
}

static void the_cap_is_exact(void **state)
{
	struct fixture *f = *state;
	int64_t one;

	open_log(f, 0);
	log_error(f->l, "r", "x");
	one = size_of(f, "kairo.log");
	(void)unlink(at(f, "kairo.log"));
	open_log(f, 2 * one + 1); /* a byte for a line break that may be owed */
	log_error(f->l, "r", "x");
	log_error(f->l, "r", "x");
	assert_int_equal(size_of(f, "kairo.log"), 2 * one);
	assert_int_equal(size_of(f, "kairo.log.1"), -1);
	log_error(f->l, "r", "x");
	assert_int_equal(size_of(f, "kairo.log"), one);
	assert_int_equal(size_of(f, "kairo.log.1"), 2 * one);
}

static void the_cap_is_five_mebibytes(void **state)
{
	struct fixture *f = *state;
	int64_t one;

	open_log(f, 0);
	log_error(f->l, "r", "x");
	one = size_of(f, "kairo.log");
	for (int over = 0; over <= 1; over++) {
		int64_t size =
			5242880 - one - 1 + over; /* a byte for a line break that may be owed */

		assert_int_equal(truncate(at(f, "kairo.log"), size), 0);
		open_log(f, 0);
		log_error(f->l, "r", "x");
		assert_int_equal(size_of(f, "kairo.log.1"), over ? size : -1);
	}
}

static void a_line_longer_than_the_cap_is_still_written(void **state)
{
	struct fixture *f = *state;

	open_log(f, 10);
	log_error(f->l, "r", "first");
	log_error(f->l, "r", "second");
	assert_string_equal(only_line(f), "r: second");
	assert_non_null(strstr(content(f, "kairo.log.1"), "first"));
}

static void goes_on_when_renaming_is_impossible(void **state)
{
	struct fixture *f = *state;

	/* A folder of that name cannot be replaced by a file, nor moved onto by one. */
	assert_int_equal(mkdir(at(f, "kairo.log.1"), 0700), 0);
	assert_int_equal(mkdir(at(f, "kairo.log.2"), 0700), 0);
	assert_int_equal(mkdir(at(f, "kairo.log.2/x"), 0700), 0);
	open_log(f, 1000);
	for (int i = 0; i < 100; i++) {
		log_error(f->l, "r", "n=%d", i);
		assert_true(size_of(f, "kairo.log") <= 1000);
	}
	assert_non_null(strstr(content(f, "kairo.log"), "n=99\n"));
	assert_int_equal(log_lost(f->l), 0);
}

static void follows_its_name_when_others_move_the_file(void **state)
{
	struct fixture *f = *state;

	open_log(f, 0);
	log_error(f->l, "r", "one");
	assert_int_equal(rename(at(f, "kairo.log"), at(f, "taken")), 0);
	log_error(f->l, "r", "two");
	assert_string_equal(only_line(f), "r: two");
	assert_int_equal(unlink(at(f, "kairo.log")), 0);
	log_error(f->l, "r", "three");
	assert_string_equal(only_line(f), "r: three");
	assert_non_null(strstr(content(f, "taken"), "one"));
}

static void half_a_line_of_the_program_before_is_ended_first(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;

	assert_int_equal(file_replace(at(f, "kairo.log"), 0600, VIEW("2020-01-01T00:00:00.000Z wa"),
				 &e),
		0);
	open_log(f, 0);
	log_error(f->l, "r", "one");
	assert_true(strncmp(content(f, "kairo.log"), "2020-01-01T00:00:00.000Z wa\n20", 30) == 0);
	open_log(f, 0);
	log_error(f->l, "r", "two");
	assert_null(strstr(content(f, "kairo.log"), "\n\n"));
	assert_non_null(strstr(content(f, "kairo.log"), "r: two\n"));
}

/* Its place is taken by something unsafe: the lines stay in the file that is open. */
static void never_follows_a_symlink_put_in_its_place(void **state)
{
	struct fixture *f = *state;

	open_log(f, 100);
	log_error(f->l, "r", "one");
	assert_int_equal(rename(at(f, "kairo.log"), at(f, "kairo.log.1")), 0);
	assert_int_equal(symlink("victim", at(f, "kairo.log")), 0);
	for (int i = 0; i < 10; i++)
		log_error(f->l, "r", "n=%d", i);
	assert_false(file_exists(at(f, "victim")));
	assert_non_null(strstr(content(f, "kairo.log.1"), "n=9\n"));
}

/* --- A full disk ------------------------------------------------------------------------------ */
static void fill_disk(struct fixture *f)
{
	static char block[4096];
	int fd = open(at(f, "ballast"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

static void assert_whole_lines(const char *s)
{
	/* Every line begins with a date, but for the one that the full disk has torn. */
	int torn = 0;

	for (const char *end; *s != '\0'; s = end + 1) {
		end = strchr(s, '\n');
		assert_non_null(end);
		assert_true(strncmp(s, "20", 2) == 0);
		torn += !memmem(s, (size_t)(end - s), " r: n=", 6) &&
		        !memmem(s, (size_t)(end - s), "could not be written", 20);
	}
	assert_true(torn <= 1);
}

static void a_full_disk_never_fails_the_caller(void **state)
{
	struct fixture *f = *state;
	struct smalldisk disk = { .mounted = false };
	char lost[64];

	if (!smalldisk_mount(&disk, f->s.dir, 256 << 10)) {
		print_message("a tmpfs cannot be mounted here\n");
		skip();
	}
	open_log(f, 0);
	log_error(f->l, "r", "n=0");
	fill_disk(f);
	for (int i = 1; i <= 300; i++)
		log_error(f->l, "r", "n=%d", i);
	assert_true(log_lost(f->l) > 100);
	(void)snprintf(lost, sizeof(lost), "log: %llu lines before this one could not be written",
		(unsigned long long)log_lost(f->l));
	assert_int_equal(unlink(at(f, "ballast")), 0);
	log_error(f->l, "r", "n=301");
	content(f, "kairo.log");
	assert_true(view_ends(str_view(&f->text), VIEW(" r: n=301\n")));
	assert_non_null(strstr(f->text.p, lost));
	assert_whole_lines(f->text.p);
	log_error(f->l, "r", "n=302"); /* told once */
	content(f, "kairo.log");
	assert_null(strstr(strstr(f->text.p, lost) + strlen(lost), "could not be written"));
	log_close(&f->l);
	smalldisk_unmount(&disk);
}

static void a_full_disk_is_no_reason_to_stop_rotating(void **state)
{
	struct fixture *f = *state;
	struct smalldisk disk = { .mounted = false };

	if (!smalldisk_mount(&disk, f->s.dir, 256 << 10)) {
		print_message("a tmpfs cannot be mounted here\n");
		skip();
	}
	open_log(f, 8 << 10);
	for (int i = 0; i < 2000; i++) {
		log_error(f->l, "r", "n=%d", i);
		if (i == 1000)
			fill_disk(f);
	}
	/* Old generations made room for new ones all the while. */
	content(f, "kairo.log");
	if (!view_ends(str_view(&f->text), VIEW(" r: n=1999\n")))
		content(f, "kairo.log.1");
	assert_non_null(strstr(f->text.p, "r: n=19"));
	log_close(&f->l);
	smalldisk_unmount(&disk);
}

static void a_limit_on_file_sizes_never_fails_the_caller(void **state)
{
	struct fixture *f = *state;
	struct smalldisk disk = { .mounted = false };

	open_log(f, 0);
	if (!smalldisk_limit(&disk, 4 << 10))
		skip();
	for (int i = 0; i < 200; i++)
		log_error(f->l, "r", "n=%d", i);
	assert_true(log_lost(f->l) > 0);
	smalldisk_unlimit(&disk);
	log_error(f->l, "r", "n=200");
	content(f, "kairo.log");
	assert_true(view_ends(str_view(&f->text), VIEW(" r: n=200\n")));
	assert_whole_lines(f->text.p);
}

/* --- To a descriptor -------------------------------------------------------------------------- */
static void a_descriptor_stays_its_owners(void **state)
{
	struct fixture *f = *state;
	char buf[100];
	int fd[2];
	ssize_t n;

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(log_open_fd(&f->l, fd[1], LOG_WARN, &f->e), 0);
	log_warn(f->l, "r", "x");
	n = read(fd[0], buf, sizeof(buf));
	assert_int_equal(n, 25 + 6 + 5);
	assert_memory_equal(buf + 24, " warn  r: x\n", 12);
	log_close(&f->l);
	assert_true(fcntl(fd[1], F_GETFD) >= 0);
	close(fd[0]);
	close(fd[1]);
}

static void a_reader_that_left_or_sleeps_costs_lines_only(void **state)
{
	struct fixture *f = *state;
	int fd[2];

	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	assert_int_equal(log_open_fd(&f->l, fd[1], LOG_WARN, &f->e), 0);
	while (log_lost(f->l) == 0)
		log_warn(f->l, "r", "%0500d", 0);
	close(fd[0]);
	log_warn(f->l, "r", "x");
	assert_int_equal(log_lost(f->l), 2);
	close(fd[1]);
	(void)signal(SIGPIPE, SIG_DFL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_line_has_time_level_room_subject_and_text),
		T(levels_are_kept_apart),
		T(no_log_is_a_log_too),
		T(errno_is_left_alone),
		T(nobody_forges_a_line),
		T(known_secrets_are_masked_wherever_they_turn_up),
		T(known_secrets_are_masked_in_other_texts_too),
		T(secrets_have_a_length_and_a_number),
		T(what_looks_like_a_secret_is_redacted_unasked),
		T(no_cut_leaves_half_a_secret),
		T(long_lines_are_cut_between_characters),
		T(the_file_is_private_and_appended_to),
		T(refuses_a_place_that_is_not_safe),
		T(rotates_before_the_cap_and_keeps_three_generations),
		T(the_cap_is_exact),
		T(the_cap_is_five_mebibytes),
		T(a_line_longer_than_the_cap_is_still_written),
		T(goes_on_when_renaming_is_impossible),
		T(half_a_line_of_the_program_before_is_ended_first),
		T(follows_its_name_when_others_move_the_file),
		T(never_follows_a_symlink_put_in_its_place),
		T(a_full_disk_never_fails_the_caller),
		T(a_full_disk_is_no_reason_to_stop_rotating),
		T(a_limit_on_file_sizes_never_fails_the_caller),
		T(a_descriptor_stays_its_owners),
		T(a_reader_that_left_or_sleeps_costs_lines_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
