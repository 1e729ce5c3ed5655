/* What is enough of a sandbox, and a helper that cannot say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/confine.h"
#include "tools/host/sandbox.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct sandbox whole = { .namespaces = true, .landlock = 7, .seccomp = true };
static const struct sandbox bare = { .why = "no bwrap", .landlock = 2, .seccomp = true };
static const struct sandbox calls_only = { .why = "no bwrap", .seccomp = true };
static const struct sandbox nothing = { .why = "no bwrap" };
static const struct sandbox unfiltered = { .namespaces = true, .landlock = 7 };
static const struct sandbox strict = { .why = "no bwrap",
	.landlock = 7,
	.seccomp = true,
	.all = true };
static const struct sandbox strict_whole = { .namespaces = true, .seccomp = true, .all = true };

static void programs_need_a_layer_for_files_and_one_for_calls(void **state)
{
	static const struct {
		const struct sandbox *s;
		bool files, programs;
		const char *word; /* of the refusal of programs */
	} cases[] = {
		{ &whole, true, true, NULL },
		{ &bare, true, true, NULL },
		{ &calls_only, true, false, "package bubblewrap" },
		{ &nothing, true, false, "no bwrap" },
		{ &unfiltered, true, false, "CONFIG_SECCOMP_FILTER" },
		{ &strict, false, false, "sandbox.mode = \"best\"" },
		{ &strict_whole, true, true, NULL },
	};
	struct str why = STR_INIT(2000);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		str_reset(&why);
		assert_int_equal(cases[i].files, sandbox_allows(cases[i].s, false, &why));
		assert_int_equal(cases[i].files, why.n == 0);
		str_reset(&why);
		assert_int_equal(cases[i].programs, sandbox_allows(cases[i].s, true, &why));
		assert_int_equal(cases[i].programs, why.n == 0);
		if (cases[i].word)
			assert_non_null(strstr(str_cstr(&why), cases[i].word));
		assert_true(str_ok(&why));
	}
	str_release(&why);
}

/* --- The helper ------------------------------------------------------------------------------- */

static void write_helper(char path[], const char *script)
{
	char text[1000];
	struct err e = ERR_INIT;

	assert_int_equal(0, close(mkstemp(path)));
	(void)snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
	assert_int_equal(0, file_replace(path, 0700, view_of(text), &e));
}

static void ask(struct sandbox *s, const char *script)
{
	char path[] = "/tmp/kairo-sandbox-XXXXXX";

	write_helper(path, script);
	assert_true(sandbox_begin(s, path, "/tmp", false) >= 0);
	sandbox_settle(s);
	assert_int_equal(0, unlink(path));
}

static void what_the_helper_says_is_taken(void **state)
{
	struct sandbox s;

	(void)state;
	ask(&s, "[ \"$1 $2\" = 'probe /tmp' ] && [ -z \"$HOME\" ] && "
		"echo '{\"namespaces\":true,\"why\":\"\",\"landlock\":3,\"seccomp\":true,\"cgroup\":true}'");
	assert_true(s.namespaces);
	assert_int_equal(3, s.landlock);
	assert_true(s.seccomp);
	assert_true(s.cgroup);
	assert_int_equal(0, s.other);
	ask(&s, "echo '{\"namespaces\":false,\"why\":\"EPERM\",\"landlock\":0,\"seccomp\":false,\"cgroup\":false}'");
	assert_false(s.namespaces);
	assert_string_equal("EPERM", s.why);
	assert_int_equal(0, s.other);
	ask(&s, "echo '{\"user\":4294967294,\"namespaces\":true,\"why\":\"\",\"landlock\":3,\"seccomp\":true,\"cgroup\":true}'");
	assert_int_equal(4294967294, s.other);
	ask(&s, "echo '{\"user\":'$(id -u)',\"namespaces\":true,\"why\":\"\",\"landlock\":0,\"seccomp\":false,\"cgroup\":false}'");
	assert_int_equal(0, s.other);
	assert_int_equal(0, s.landlock);
	assert_false(s.seccomp);
}

/* Debian's bubblewrap has much to say. */
static void what_stands_in_the_way_is_said_as_far_as_there_is_room(void **state)
{
	static const char debian[] =
		"bwrap: No permissions to create new namespace, likely because the kernel does not "
		"allow non-privileged user namespaces. See <https://deb.li/bubblewrap> or "
		"<file:///usr/share/doc/bubblewrap/README.Debian.gz>.";
	char script[800], many[301];
	struct sandbox s;

	(void)state;
	(void)snprintf(script, sizeof(script),
		"echo '{\"namespaces\":false,\"why\":\"%s\",\"landlock\":3,\"seccomp\":true,"
		"\"cgroup\":true}'",
		debian);
	ask(&s, script);
	assert_string_equal(debian, s.why);
	assert_true(s.cgroup);
	for (size_t i = 0; i < 300; i += 3)
		memcpy(many + i, "\xe9\xb9\xad", 4);
	(void)snprintf(script, sizeof(script),
		"echo '{\"namespaces\":false,\"why\":\"x%s\",\"landlock\":3,\"seccomp\":true,"
		"\"cgroup\":true}'",
		many);
	ask(&s, script);
	assert_int_equal(253, strlen(s.why)); /* 255 at most, and no half a character */
	assert_int_equal(3, s.landlock);
	assert_true(s.cgroup);
}

static void a_helper_that_cannot_say_means_no_namespaces(void **state)
{
	static const char *const scripts[] = {
		"exit 0",
		"exit 3",
		"echo no",
		"echo '{\"namespaces\":true}'",
		"echo '{\"namespaces\":true,\"why\":\"\",\"landlock\":7,\"seccomp\":true,\"cgroup\":true}'; exit 1",
		"echo '{\"namespaces\":\"yes\",\"why\":\"\",\"landlock\":7,\"seccomp\":true,\"cgroup\":true}'",
		"while echo much; do :; done",
		"kill -9 $$",
	};
	struct sandbox s;

	(void)state;
	for (size_t i = 0; i < COUNT(scripts); i++) {
		ask(&s, scripts[i]);
		if (s.namespaces || s.why[0] == '\0')
			fail_msg("%s: %d \"%s\"", scripts[i], s.namespaces, s.why);
		assert_int_equal(confine_landlock_abi(), s.landlock);
		assert_int_equal(confine_seccomp(), s.seccomp);
	}
	assert_int_equal(-1, sandbox_begin(&s, "/no/such/helper", "/tmp", true));
	assert_false(s.namespaces);
	assert_true(s.all);
}

static int ask_what_it_lacks(const char *script, struct str *out)
{
	char path[] = "/tmp/kairo-sandbox-XXXXXX";
	struct err e = ERR_INIT;
	int rc;

	write_helper(path, script);
	str_reset(out);
	rc = sandbox_lacks(path, out, &e);
	assert_int_equal(rc < 0, e.msg[0] != '\0');
	assert_int_equal(0, unlink(path));
	return rc;
}

static void what_the_helper_lacks_is_taken_line_by_line(void **state)
{
	struct str out = STR_INIT(1000);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(0, ask_what_it_lacks("[ \"$*\" = libraries ]", &out));
	assert_int_equal(0, out.n);
	assert_int_equal(0, ask_what_it_lacks("echo no pictures; echo no pages", &out));
	assert_string_equal("no pictures\nno pages\n", str_cstr(&out));
	assert_int_equal(-1, ask_what_it_lacks("exit 2", &out)); /* one that is too old for it */
	assert_int_equal(-1, ask_what_it_lacks("while echo much; do :; done", &out));
	assert_int_equal(-1, sandbox_lacks("/no/such/helper", &out, &e));
	str_release(&out);
}

static void nobody_has_to_wait_for_it(void **state)
{
	char path[] = "/tmp/kairo-sandbox-XXXXXX";
	struct sandbox s;
	pid_t pid;

	(void)state;
	write_helper(path, "exec sleep 600");
	assert_true(sandbox_begin(&s, path, "/tmp", false) >= 0);
	pid = s.probe.pid;
	sandbox_abandon(&s);
	assert_int_equal(-1, kill(pid, 0));
	assert_int_equal(ESRCH, errno);
	sandbox_abandon(&s);
	sandbox_settle(&s);
	assert_int_equal(0, unlink(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_need_a_layer_for_files_and_one_for_calls),
		cmocka_unit_test(what_the_helper_says_is_taken),
		cmocka_unit_test(what_stands_in_the_way_is_said_as_far_as_there_is_room),
		cmocka_unit_test(a_helper_that_cannot_say_means_no_namespaces),
		cmocka_unit_test(what_the_helper_lacks_is_taken_line_by_line),
		cmocka_unit_test(nobody_has_to_wait_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
