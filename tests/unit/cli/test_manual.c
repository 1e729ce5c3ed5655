/* The operator's words in the agent's own file of instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli/manual.h"
#include "scratch.h"

#define BLOCK(words) MANUAL_BEGIN "\n" words "\n" MANUAL_END "\n"
#define HEAD \
	"---\nname: agent\ndescription: The main agent, with the words of its operator\n" \
	"override: true\n---\n\n${base_prompt}\n\n${plugin_sections}\n\n"
#define MINE "---\noverride: true\nname: agent\n---\n${base_prompt}\nBe brief."

static void the_block_is_written_replaced_and_taken_away(void **state)
{
	static const struct {
		const char *old, *words, *fresh;
	} table[] = {
		{ "", "Speak Dutch.\n", HEAD BLOCK("Speak Dutch.") },
		{ HEAD BLOCK("Speak Dutch."), "Speak\nFrisian.", HEAD BLOCK("Speak\nFrisian.") },
		{ HEAD BLOCK("Speak Dutch."), " \n", "" },
		{ BLOCK("Speak Dutch."), "", "" },
		{ "", "", "" },
		/* what its user has written stays */
		{ MINE, "Speak Dutch.", MINE "\n\n" BLOCK("Speak Dutch.") },
		{ MINE "\n", "Speak Dutch.", MINE "\n\n" BLOCK("Speak Dutch.") },
		{ MINE "\n\n" BLOCK("a") "more", "b", MINE "\n\n" BLOCK("b") "more" },
		{ MINE "\n\n" BLOCK("a"), "", MINE "\n\n" },
		{ MINE "\n" MANUAL_BEGIN "a" MANUAL_END " more", "b",
			MINE "\n" BLOCK("b") " more" },
		/* and without words nothing is asked of it */
		{ "whatever", "", "whatever" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct str out = STR_INIT(MANUAL_MAX);

		assert_int_equal(0,
			manual_merge(view_of(table[i].old), view_of(table[i].words), &out, NULL));
		assert_string_equal(table[i].fresh, str_cstr(&out));
		str_release(&out);
	}
}

static void what_is_not_ours_is_left_alone(void **state)
{
	static const struct {
		const char *old, *words;
		enum err_code code;
	} table[] = {
		{ "Be brief.", "x", E_DENIED },
		{ "---\nname: agent\n---\n${base_prompt}\n", "x", E_DENIED },
		{ "---\nname: other\noverride: true\n---\n", "x", E_DENIED },
		{ "---\nname: agent\noverride: true\n", "x", E_DENIED },
		{ MINE MANUAL_BEGIN, "x", E_FORMAT },
		{ MINE MANUAL_END MANUAL_BEGIN, "x", E_FORMAT },
		{ BLOCK("a") BLOCK("b"), "x", E_FORMAT },
		{ BLOCK("a") BLOCK("b"), "", E_FORMAT },
		{ "", "x " MANUAL_END, E_FORMAT },
		{ "", "x " MANUAL_BEGIN, E_FORMAT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct str out = STR_INIT(MANUAL_MAX);
		struct err e = ERR_INIT;

		assert_int_equal(-1,
			manual_merge(view_of(table[i].old), view_of(table[i].words), &out, &e));
		assert_int_equal(table[i].code, e.code);
		str_release(&out);
	}
}

static void a_file_has_a_limit(void **state)
{
	const size_t around = sizeof(HEAD BLOCK("")) - 1;

	(void)state;
	for (int over = -1; over <= 1; over++) {
		struct str out = STR_INIT(MANUAL_MAX), words = STR_INIT(MANUAL_MAX);

		while (words.n < MANUAL_MAX - around + (size_t)(over + 1) - 1)
			(void)str_addc(&words, 'x');
		assert_int_equal(over > 0 ? -1 : 0,
			manual_merge(VIEW_NONE, str_view(&words), &out, NULL));
		str_release(&out);
		str_release(&words);
	}
}

static void the_file_is_made_changed_and_removed(void **state)
{
	const struct acp_preset kimi = { .manual = ".kimi-code/agents/agent.md" }, other = { 0 };
	struct str text = STR_INIT(MANUAL_MAX);
	struct scratch dir;
	const char *path;

	(void)state;
	scratch_make(&dir);
	path = scratch_path(&dir, ".kimi-code/agents/agent.md");
	assert_int_equal(0, manual_place(NULL, dir.dir, "x", NULL));
	assert_int_equal(0, manual_place(&other, dir.dir, "x", NULL));
	assert_int_equal(0, manual_place(&kimi, dir.dir, "", NULL));
	assert_false(file_exists(path));
	assert_int_equal(1, manual_place(&kimi, dir.dir, "x", NULL));
	assert_int_equal(0, file_read(path, MANUAL_MAX, &text, NULL));
	assert_string_equal(HEAD BLOCK("x"), str_cstr(&text));
	assert_int_equal(0, manual_place(&kimi, dir.dir, "", NULL));
	assert_false(file_exists(path));
	assert_int_equal(0, file_replace(path, 0644, VIEW("mine"), NULL));
	assert_int_equal(-1, manual_place(&kimi, dir.dir, "x", NULL));
	str_reset(&text);
	assert_int_equal(0, file_read(path, MANUAL_MAX, &text, NULL));
	assert_string_equal("mine", str_cstr(&text));
	/* nor is a link followed */
	assert_int_equal(0, unlink(path));
	assert_int_equal(0, symlink("/etc/hostname", path));
	assert_int_equal(-1, manual_place(&kimi, dir.dir, "x", NULL));
	str_release(&text);
	scratch_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_block_is_written_replaced_and_taken_away),
		cmocka_unit_test(what_is_not_ours_is_left_alone),
		cmocka_unit_test(a_file_has_a_limit),
		cmocka_unit_test(the_file_is_made_changed_and_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
