/* What an agent offers to set, as the shapes of acp, section 12 have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/acp/knob.h"

static bool take(struct knobs *k, const char *text)
{
	struct json *j = NULL;
	bool took;

	assert_int_equal(0, json_read(&j, view_of(text), &json_limits_wire, NULL));
	took = knobs_take(k, j);
	json_free(&j);
	return took;
}

#define OPTIONS(list)    "{\"configOptions\":[" list "]}"
#define OPTION(id, rest) "{\"type\":\"select\",\"id\":\"" id "\"," rest "}"
#define CHOICE \
	"\"currentValue\":\"b\",\"options\":[{\"value\":\"a\",\"name\":\"A one\"},{\"value\":\"b\"," \
	"\"name\":\"B\",\"description\":null}]"
#define MODES \
	"\"modes\":{\"currentModeId\":\"ask\",\"availableModes\":[{\"id\":\"ask\",\"name\":\"Ask\"}," \
	"{\"id\":\"code\",\"name\":\"Code\"}]}"
#define MODELS \
	"\"models\":{\"currentModelId\":\"m1\",\"availableModels\":[{\"modelId\":\"m1\",\"name\":\"One\"}," \
	"{\"modelId\":\"m2\",\"name\":\"Two\"}]}"

static void a_knob_is_found_by_its_category_or_its_id(void **state)
{
	static const struct {
		const char *from;
		enum knob_kind kind;
		const char *id; /* NULL: none */
	} table[] = {
		{ OPTIONS(OPTION("x", "\"category\":\"model\"," CHOICE)), KNOB_MODEL, "x" },
		{ OPTIONS(OPTION("x", "\"category\":\"thought_level\"," CHOICE)), KNOB_EFFORT,
			"x" },
		{ OPTIONS(OPTION("x", "\"category\":\"mode\"," CHOICE)), KNOB_MODE, "x" },
		{ OPTIONS(OPTION("model", CHOICE)), KNOB_MODEL, "model" },
		{ OPTIONS(OPTION("thinking", CHOICE)), KNOB_EFFORT, "thinking" },
		{ OPTIONS(OPTION("reasoning_effort", CHOICE)), KNOB_EFFORT, "reasoning_effort" },
		/* a category goes before an id */
		{ OPTIONS(OPTION("model", CHOICE) "," OPTION("y",
			  "\"category\":\"model\"," CHOICE)),
			KNOB_MODEL, "y" },
		{ OPTIONS(OPTION("x", "\"category\":\"model_config\"," CHOICE)), KNOB_MODEL, NULL },
		/* a type of another time, nothing to choose from, no list at all */
		{ OPTIONS("{\"type\":\"slider\",\"id\":\"model\"," CHOICE "}"), KNOB_MODEL, NULL },
		{ OPTIONS(OPTION("model", "\"currentValue\":\"a\",\"options\":[]")), KNOB_MODEL,
			NULL },
		{ OPTIONS(OPTION("model", "\"currentValue\":\"a\"")), KNOB_MODEL, NULL },
		{ OPTIONS("7,null,[]," OPTION("mode", CHOICE)), KNOB_MODE, "mode" },
		{ "{\"configOptions\":null}", KNOB_MODE, NULL },
		{ "{\"configOptions\":{}}", KNOB_MODE, NULL },
		{ "{}", KNOB_MODE, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct knobs k = { 0 };
		struct knob knob;

		(void)take(&k, table[i].from);
		assert_int_equal(table[i].id != NULL, knobs_read(&k, table[i].kind, &knob));
		if (table[i].id) {
			assert_true(view_eqs(knob.id, table[i].id));
			assert_int_equal(KNOB_OPTION, knob.way);
			assert_true(view_eqs(knob.now, "b"));
			assert_int_equal(2, knob.n);
			assert_true(view_eqs(knob.values[0].name, "A one"));
		}
		knobs_release(&k);
	}
}

static void groups_are_one_list(void **state)
{
	struct knobs k = { 0 };
	struct knob knob;

	(void)state;
	assert_true(take(&k,
		OPTIONS(OPTION("model",
			"\"currentValue\":\"c\",\"options\":[{\"group\":\"g\",\"name\":\"G\","
			"\"options\":[{\"value\":\"a\",\"name\":\"A\"},{\"value\":\"b\",\"name\":"
			"\"B\"}]},{\"group\":\"h\",\"name\":\"H\",\"options\":[{\"value\":\"c\","
			"\"name\":\"C\"}]}]"))));
	assert_true(knobs_read(&k, KNOB_MODEL, &knob));
	assert_int_equal(3, knob.n);
	assert_true(view_eqs(knob.values[2].value, "c"));
	knobs_release(&k);
}

static void a_boolean_is_on_or_off(void **state)
{
	struct knobs k = { 0 };
	struct knob knob;

	(void)state;
	assert_true(take(&k, "{\"configOptions\":[{\"type\":\"boolean\",\"id\":\"thinking\","
			     "\"name\":\"Thinking\",\"currentValue\":true}]}"));
	assert_true(knobs_read(&k, KNOB_EFFORT, &knob));
	assert_int_equal(KNOB_SWITCH, knob.way);
	assert_true(view_eqs(knob.now, "on"));
	assert_non_null(knob_find(&knob, VIEW("OFF")));
	knobs_release(&k);
}

static void older_ways_count_where_there_is_no_option(void **state)
{
	static const struct {
		const char *from;
		int mode, model; /* enum knob_way, or -1 */
	} table[] = {
		{ "{" MODES "," MODELS "}", KNOB_SET_MODE, KNOB_SET_MODEL },
		{ "{\"configOptions\":[]," MODES "}", KNOB_SET_MODE, -1 },
		{ "{\"configOptions\":[" OPTION("mode", CHOICE) "]," MODES "," MODELS "}",
			KNOB_OPTION, KNOB_SET_MODEL },
		/* config options supersede modes */
		{ "{\"configOptions\":[" OPTION("model", CHOICE) "]," MODES "," MODELS "}", -1,
			KNOB_OPTION },
		{ "{\"modes\":null,\"models\":null}", -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct knobs k = { 0 };
		struct knob knob;

		(void)take(&k, table[i].from);
		assert_int_equal(table[i].mode >= 0, knobs_read(&k, KNOB_MODE, &knob));
		if (table[i].mode >= 0)
			assert_int_equal(table[i].mode, knob.way);
		assert_int_equal(table[i].model >= 0, knobs_read(&k, KNOB_MODEL, &knob));
		if (table[i].model >= 0)
			assert_int_equal(table[i].model, knob.way);
		knobs_release(&k);
	}
}

static void changes_replace_what_was(void **state)
{
	struct knobs k = { 0 };
	struct knob knob;

	(void)state;
	assert_true(take(&k, "{" MODES "," MODELS "}"));
	assert_true(
		take(&k, "{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"code\"}"));
	assert_true(knobs_read(&k, KNOB_MODE, &knob));
	assert_true(view_eqs(knob.now, "code"));
	knobs_set(&k, KNOB_SET_MODEL, VIEW("m2"));
	assert_true(knobs_read(&k, KNOB_MODEL, &knob));
	assert_true(view_eqs(knob.now, "m2"));
	assert_false(take(&k, "{}"));
	assert_false(take(&k, "[]"));
	/* of the options the whole list each time: others come and go with one */
	assert_true(take(&k, OPTIONS(OPTION("thinking", CHOICE) "," OPTION("model", CHOICE))));
	assert_true(knobs_read(&k, KNOB_EFFORT, &knob));
	assert_true(take(&k, OPTIONS(OPTION("model", CHOICE))));
	assert_false(knobs_read(&k, KNOB_EFFORT, &knob));
	knobs_release(&k);
}

static void what_the_user_means_is_found_or_not(void **state)
{
	static const struct {
		const char *text, *value; /* NULL: not offered */
	} table[] = { { "a", "a" }, { "A", "a" }, { "a ONE", "a" }, { "b", "b" }, { "1", "2" },
		{ "2", "2" }, { "4", "dup" }, { "5", "Dup" }, { "0", NULL }, { "6", NULL },
		{ "", NULL }, { "c", NULL }, { "-1", NULL }, { "DUP", NULL }, { "dup", "dup" } };
	struct knob knob = { .n = 5 };

	(void)state;
	knob.values[0] = (struct knob_value){ VIEW("2"), VIEW("two") };
	knob.values[1] = (struct knob_value){ VIEW("a"), VIEW("A one") };
	knob.values[2] = (struct knob_value){ VIEW("b"), VIEW_NONE };
	knob.values[3] = (struct knob_value){ VIEW("dup"), VIEW_NONE };
	knob.values[4] = (struct knob_value){ VIEW("Dup"), VIEW_NONE };
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct knob_value *v = knob_find(&knob, view_of(table[i].text));

		assert_int_equal(table[i].value != NULL, v != NULL);
		if (v)
			assert_true(view_eqs(v->value, table[i].value));
	}
}

/* At, and over, what is kept. */
static void lists_and_values_are_bounded(void **state)
{
	struct str text = STR_INIT(1 << 20);
	struct knobs k = { 0 };
	struct knob knob;

	(void)state;
	for (int n = KNOB_VALUES_MAX; n <= KNOB_VALUES_MAX + 1; n++) {
		str_reset(&text);
		(void)str_adds(&text, "{\"configOptions\":[{\"type\":\"select\",\"id\":\"model\","
				      "\"currentValue\":\"v0\",\"options\":[");
		for (int i = 0; i < n; i++)
			(void)str_addf(&text, "%s{\"value\":\"v%d\"}", i ? "," : "", i);
		(void)str_adds(&text, "]}]}");
		assert_true(take(&k, str_cstr(&text)));
		assert_true(knobs_read(&k, KNOB_MODEL, &knob));
		assert_int_equal(KNOB_VALUES_MAX, knob.n);
	}
	for (size_t n = KNOB_VALUE_MAX; n <= KNOB_VALUE_MAX + 1; n++) {
		str_reset(&text);
		(void)str_adds(&text, "{\"configOptions\":[{\"type\":\"select\",\"id\":\"model\","
				      "\"currentValue\":\"v\",\"options\":[{\"value\":\"");
		for (size_t i = 0; i < n; i++)
			(void)str_addc(&text, 'x');
		(void)str_adds(&text, "\"}]}]}");
		assert_true(take(&k, str_cstr(&text)));
		assert_int_equal(n == KNOB_VALUE_MAX, knobs_read(&k, KNOB_MODEL, &knob));
	}
	knobs_release(&k);
	str_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_knob_is_found_by_its_category_or_its_id),
		cmocka_unit_test(groups_are_one_list),
		cmocka_unit_test(a_boolean_is_on_or_off),
		cmocka_unit_test(older_ways_count_where_there_is_no_option),
		cmocka_unit_test(changes_replace_what_was),
		cmocka_unit_test(what_the_user_means_is_found_or_not),
		cmocka_unit_test(lists_and_values_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
