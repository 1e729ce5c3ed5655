/* What is said of a sandbox to people, and what they are told to do about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/confinement.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct sandbox whole = { .namespaces = true, .landlock = 7, .seccomp = true };
static const struct sandbox bare = { .why = "no bwrap", .landlock = 2, .seccomp = true };
static const struct sandbox grouped = { .landlock = 2, .seccomp = true, .cgroup = true };
static const struct sandbox calls_only = { .why = "no bwrap", .seccomp = true };
static const struct sandbox unfiltered = { .namespaces = true, .landlock = 7 };
static const struct sandbox strict = { .why = "no bwrap",
	.landlock = 7,
	.seccomp = true,
	.all = true };
static const struct sandbox given = { .namespaces = true,
	.landlock = 7,
	.seccomp = true,
	.other = 1000 };
static const struct sandbox strict_whole = { .namespaces = true, .seccomp = true, .all = true };

static void each_layer_is_named(void **state)
{
	static const struct {
		const struct sandbox *s;
		const char *has[4], *lacks;
		const char *advice;
	} cases[] = {
		{ &whole, { "files: bubblewrap, Landlock ABI 7", "PID namespace", "seccomp" },
			"weaker", "" },
		{ &bare, { "files: Landlock ABI 2", "network: seccomp", "weaker", "no bwrap" },
			"bubblewrap,", "bubblewrap" },
		{ &grouped, { "files: Landlock ABI 2", "ending: control group" }, "weaker",
			"bubblewrap" },
		{ &calls_only, { "kairo-tool alone", "programs are refused" }, "Landlock",
			"bubblewrap" },
		{ &unfiltered,
			{ "calls: not filtered", "network: a namespace", "programs are refused" },
			"weaker", "seccomp" },
		{ &strict, { "tools are refused" }, "programs are refused", "bubblewrap" },
		{ &strict_whole, { "files: bubblewrap;" }, "refused", "Landlock" },
		{ &given, { "user: 1000, who cannot read what is received" }, "refused",
			"run kairo as the owner of the workspace" },
	};
	struct str line = STR_INIT(511); /* as status keeps it */

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		str_reset(&line);
		confinement_text(cases[i].s, false, &line);
		assert_true(str_ok(&line));
		for (size_t k = 0; k < 4 && cases[i].has[k]; k++)
			if (!strstr(str_cstr(&line), cases[i].has[k]))
				fail_msg("%zu: no \"%s\" in: %s", i, cases[i].has[k],
					str_cstr(&line));
		assert_null(strstr(str_cstr(&line), cases[i].lacks));
		if (cases[i].advice[0])
			assert_non_null(strstr(sandbox_advice(cases[i].s), cases[i].advice));
		else
			assert_string_equal("", sandbox_advice(cases[i].s));
	}
	str_release(&line);
}

static void every_layer_has_its_chinese_words(void **state)
{
	static const struct sandbox *const kinds[] = { &whole, &bare, &grouped, &calls_only,
		&unfiltered, &strict, &strict_whole, &given };
	static const char *const english[] = { "files", "calls", "network", "ending", "a namespace",
		"namespaces:", "not ", "user", "refused", "weaker", "no layer" };
	struct str line = STR_INIT(511);

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		str_reset(&line);
		confinement_text(kinds[i], true, &line);
		assert_true(str_ok(&line));
		assert_true(view_starts(str_view(&line), VIEW("文件：")));
		for (size_t k = 0; k < COUNT(english); k++)
			if (strstr(str_cstr(&line), english[k]))
				fail_msg("%zu: %s", i, str_cstr(&line));
	}
	str_release(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_layer_is_named),
		cmocka_unit_test(every_layer_has_its_chinese_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
