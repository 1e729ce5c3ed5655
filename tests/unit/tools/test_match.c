#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/exec/match.h"

enum how { PATH, NAME, BELOW };

static bool match(enum how how, const char *pattern, const char *path)
{
	struct match *m;
	struct err e = ERR_INIT;
	bool hit;

	assert_int_equal(0, match_new(&m, view_of(pattern), &e));
	hit = how == PATH   ? match_path(m, view_of(path))
	      : how == NAME ? match_name_or_path(m, view_of(path))
	                    : match_below(m, view_of(path));
	match_free(&m);
	match_free(&m);
	return hit;
}

static void paths(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool hit;
	} cases[] = {
		{ "a", "a", true },
		{ "a", "b", false },
		{ "a", "a/b", false },
		{ "*", "a", true },
		{ "*", ".hidden", true },
		{ "*", "a/b", false },
		{ "*.c", "x.c", true },
		{ "*.c", "x.ch", false },
		{ "*.c", "d/x.c", false },
		{ "d/*.c", "d/x.c", true },
		{ "**/*.c", "x.c", true }, /* zero folders */
		{ "**/*.c", "d/x.c", true },
		{ "**/*.c", "d/e/f/x.c", true },
		{ "d/**/x.c", "d/x.c", true },
		{ "d/**/x.c", "d/e/f/x.c", true },
		{ "d/**/x.c", "e/x.c", false },
		{ "d/**", "d/e/f", true },
		{ "d/**", "e/f", false },
		{ "d/**", "d", false }, /* what lies below, not itself */
		{ "d/**/**", "d", false },
		{ "**/**", "d", true },
		{ "**", "a/b/c", true },
		{ "**/a/**/b", "x/a/y/a/z/b", true },
		{ "**/a/**/b", "x/y/z/b", false },
		{ "**/*/b", "b", false },
		{ "a**b", "axxb", true },
		{ "a**b", "a/b", false },
		{ "?", "x", true },
		{ "?", "", false },
		{ "?", "xy", false },
		{ "?", "好", true }, /* a character, not a byte */
		{ "??", "好", false },
		{ "[abc]", "b", true },
		{ "[a-c]x", "bx", true },
		{ "[!a-c]", "b", false },
		{ "[!a-c]", "d", true },
		{ "[^a-c]", "d", true },
		{ "[]x]", "]", true },
		{ "[a-]", "-", true },
		{ "[一-龥]", "好", true },
		{ "[a", "[a", true }, /* not closed: itself */
		{ "*a*b*c", "xxaxxbxxc", true },
		{ "*a*b*c", "xxaxxcxxb", false },
		{ "*.{c,h}", "x.h", true },
		{ "*.{c,h}", "x.x", false },
		{ "{a,b}/{c,d}", "b/c", true },
		{ "{a,b{c,d}}", "bd", true },
		{ "{a,b{c,d}}", "b", false },
		{ "x{,y}", "x", true },
		{ "x{,y}", "xy", true },
		{ "{a}", "{a}", true }, /* no choice: itself */
		{ "{a,b", "{a,b", true },
		{ "**/*.{ts,tsx}", "src/ui/app.tsx", true },
		{ "A", "a", false },
		{ "app/\\[id\\]/*.tsx", "app/[id]/page.tsx", true },
		{ "app/\\[id\\]/*.tsx", "app/i/page.tsx", false },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "\\a\\字", "a字", true },
		{ "[\\]a]", "]", true },
		{ "[a-\\c]", "b", true },
		{ "\\{a,b\\}", "{a,b}", true },
		{ "\\{a,b\\}", "a", false },
		{ "{a\\,b,c}", "a,b", true },
		{ "{a\\,b,c}", "c", true },
		{ "{a\\}b,c}", "a}b", true },
		{ "a\\\\", "a\\", true },
		{ "a\\", "a\\", true },        /* at the end: itself */
		{ "\xff*", "\xff\xfe", true }, /* names need not be UTF-8 */
		{ "?", "\xff", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (match(PATH, cases[i].pattern, cases[i].path) != cases[i].hit)
			fail_msg("%s on %s", cases[i].pattern, cases[i].path);
}

static void names_match_at_any_depth(void **state)
{
	(void)state;
	assert_true(match(NAME, "*.c", "d/e/x.c"));
	assert_true(match(NAME, "*.c", "x.c"));
	assert_false(match(NAME, "*.c", "x.c/y"));
	assert_false(match(NAME, "d/*.c", "e/d/x.c"));
	assert_true(match(NAME, "d/*.c", "d/x.c"));
	assert_true(match(NAME, "{d/*,*.h}", "q/x.h"));
}

static void folders_that_cannot_lead_anywhere_are_known(void **state)
{
	(void)state;
	assert_true(match(BELOW, "a/b/*.c", "a"));
	assert_true(match(BELOW, "a/b/*.c", "a/b"));
	assert_false(match(BELOW, "a/b/*.c", "a/b/c"));
	assert_false(match(BELOW, "a/b/*.c", "b"));
	assert_false(match(BELOW, "*.c", "a"));
	assert_true(match(BELOW, "**/*.c", "a/b/c/d"));
	assert_true(match(BELOW, "a/**/x", "a/q"));
	assert_false(match(BELOW, "a/**/x", "b"));
	assert_true(match(BELOW, "{a,b}/x", "b"));
}

static void limits(void **state)
{
	struct match *m;
	struct err e = ERR_INIT;
	char text[MATCH_PATTERN_MAX + 2];

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(0, match_new(&m, (struct view){ text, MATCH_PATTERN_MAX }, &e));
	match_free(&m);
	assert_int_equal(-1, match_new(&m, (struct view){ text, MATCH_PATTERN_MAX + 1 }, &e));
	assert_int_equal(-1, match_new(&m, VIEW(""), &e));
	/* 64 alternatives, then 128 */
	assert_int_equal(0, match_new(&m, VIEW("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"), &e));
	match_free(&m);
	assert_int_equal(-1, match_new(&m, VIEW("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"), &e));
	assert_int_equal(E_FORMAT, e.code);
}

static void hostile_patterns_end(void **state)
{
	struct str pattern = STR_INIT(1024), path = STR_INIT(4096);

	(void)state;
	while (pattern.n + 2 <= 1000)
		(void)str_adds(&pattern, "*a");
	(void)str_adds(&pattern, "b");
	while (path.n < 4000)
		(void)str_adds(&path, "a");
	assert_false(match(PATH, str_cstr(&pattern), str_cstr(&path)));
	str_reset(&pattern);
	str_reset(&path);
	while (pattern.n + 5 <= 1000)
		(void)str_adds(&pattern, "**/a/");
	(void)str_adds(&pattern, "b");
	while (path.n < 4000)
		(void)str_adds(&path, "a/");
	(void)str_adds(&path, "c");
	assert_false(match(PATH, str_cstr(&pattern), str_cstr(&path)));
	str_release(&pattern);
	str_release(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(names_match_at_any_depth),
		cmocka_unit_test(folders_that_cannot_lead_anywhere_are_known),
		cmocka_unit_test(limits),
		cmocka_unit_test(hostile_patterns_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
