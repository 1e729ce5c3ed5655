#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/host/origin.h"
#include "tools/host/policy.h"

static void denies_what_has_no_row(void **state)
{
	static const char *const names[] = { "", "Shell", "read_file ", "read_fil", "read_file2",
		"*", "rm", "mc" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(policy_knows(names[i]));
		for (int o = 0; o < ORIGIN_COUNT; o++)
			assert_int_equal(VERDICT_DENY,
				policy_verdict(NULL, names[i], (enum origin)o));
	}
	assert_false(policy_knows(NULL));
	assert_int_equal(VERDICT_DENY, policy_verdict(NULL, NULL, ORIGIN_PHONE));
}

static void the_zero_value_denies(void **state)
{
	enum verdict none = (enum verdict)0;

	(void)state;
	assert_int_equal(VERDICT_DENY, none);
}

static void allows_files_in_the_workspace_from_everywhere(void **state)
{
	static const char *const names[] = { "read_file", "list_dir", "glob", "grep",
		"write_file" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int o = 0; o < ORIGIN_COUNT; o++)
			assert_int_equal(VERDICT_ALLOW,
				policy_verdict(NULL, names[i], (enum origin)o));
}

static void denies_by_name_what_it_knows(void **state)
{
	static const char *const names[] = { "shell", "shell_session", "mcp", "mcp__files__read",
		"restore_snapshot", "browser_session" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(policy_knows(names[i]));
		assert_int_equal(VERDICT_DENY, policy_verdict(NULL, names[i], ORIGIN_PHONE));
		assert_false(policy_offers(NULL, names[i], ORIGIN_PHONE));
	}
}

static void denies_an_origin_out_of_range(void **state)
{
	(void)state;
	assert_int_equal(VERDICT_DENY, policy_verdict(NULL, "read_file", ORIGIN_COUNT));
	assert_int_equal(VERDICT_DENY, policy_verdict(NULL, "read_file", (enum origin)99));
	assert_string_equal("unknown", origin_name(ORIGIN_COUNT));
}

static void names(void **state)
{
	(void)state;
	assert_string_equal("phone", origin_name(ORIGIN_PHONE));
	assert_string_equal("terminal", origin_name(ORIGIN_TERMINAL));
	assert_string_equal("api", origin_name(ORIGIN_API));
	assert_string_equal("schedule", origin_name(ORIGIN_SCHEDULE));
	assert_string_equal("deny", verdict_name(VERDICT_DENY));
	assert_string_equal("ask", verdict_name(VERDICT_ASK));
	assert_string_equal("allow", verdict_name(VERDICT_ALLOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denies_what_has_no_row),
		cmocka_unit_test(the_zero_value_denies),
		cmocka_unit_test(allows_files_in_the_workspace_from_everywhere),
		cmocka_unit_test(denies_by_name_what_it_knows),
		cmocka_unit_test(denies_an_origin_out_of_range),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
