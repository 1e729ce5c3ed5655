/* The one rule for what became of a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "tools/host/outcome.h"

static void a_call_is_what_its_facts_say(void **state)
{
	static const struct {
		bool has_result, says_ok, cancelled;
		enum outcome want;
	} cases[] = {
		{ true, true, false, OUTCOME_OK }, { true, false, false, OUTCOME_FAILED },
		{ false, false, false, OUTCOME_FAILED },
		{ false, true, false, OUTCOME_FAILED }, /* claimed by nobody */
		{ false, false, true, OUTCOME_CANCELLED }, { false, true, true, OUTCOME_CANCELLED },
		{ true, true, true, OUTCOME_OK },         /* it was done before the cancel came */
		{ true, false, true, OUTCOME_CANCELLED }, /* what it said is evidence */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct outcome_facts f = {
			.has_result = cases[i].has_result,
			.says_ok = cases[i].says_ok,
			.cancelled = cases[i].cancelled,
			.text = VIEW("exit status 0"),
		};

		if (outcome_of(&f) != cases[i].want)
			fail_msg("case %zu: %s", i, outcome_name(outcome_of(&f)));
	}
}

static void text_that_speaks_against_success_is_believed(void **state)
{
	static const struct {
		const char *text;
		enum outcome want;
	} cases[] = {
		{ "", OUTCOME_OK },
		{ "{}", OUTCOME_OK },
		{ " {\"isError\":false}\n", OUTCOME_OK },
		{ "{\"error\":null,\"ok\":true}", OUTCOME_OK },
		{ "[1, 2", OUTCOME_OK }, /* our own tools begin their notes so */
		{ "NaN is not a number {\"isError\":true}", OUTCOME_OK },
		{ "{\"isError\":true}", OUTCOME_FAILED },
		{ "\n\t {\"isError\":true}", OUTCOME_FAILED },
		{ "{\"isError\":\"no\"}", OUTCOME_FAILED },
		{ "{\"ok\":false}", OUTCOME_FAILED },
		{ "{\"error\":\"denied by policy\"}", OUTCOME_FAILED },
		{ "{\"error\":{}}", OUTCOME_FAILED },
		{ "{\"a\":1,\"a\":2}", OUTCOME_FAILED },
		{ "{\"a\":NaN}", OUTCOME_FAILED },
		{ "{\"a\":1e999}", OUTCOME_FAILED },
		{ "{\"a\":1} {", OUTCOME_FAILED },
		{ "{", OUTCOME_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct outcome_facts f = {
			.has_result = true,
			.says_ok = true,
			.text = view_of(cases[i].text),
		};

		if (outcome_of(&f) != cases[i].want)
			fail_msg("%s: %s", cases[i].text, outcome_name(outcome_of(&f)));
	}
}

static void too_deep_an_object_is_no_success(void **state)
{
	struct outcome_facts f = { .has_result = true, .says_ok = true };

	(void)state;
	for (int depth = 32; depth <= 33; depth++) {
		struct str s = STR_INIT(1000);

		(void)str_adds(&s, "{\"a\":");
		for (int i = 1; i < depth; i++)
			(void)str_addc(&s, '[');
		for (int i = 1; i < depth; i++)
			(void)str_addc(&s, ']');
		(void)str_addc(&s, '}');
		f.text = str_view(&s);
		assert_int_equal(depth == 32 ? OUTCOME_OK : OUTCOME_FAILED, outcome_of(&f));
		str_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_what_its_facts_say),
		cmocka_unit_test(text_that_speaks_against_success_is_believed),
		cmocka_unit_test(too_deep_an_object_is_no_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
