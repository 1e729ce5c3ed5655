/* Tools that work in the daemon, and the consent that a call needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "tools/host/native.h"
#include "rig.h"

#define ARGS "{\"query\":\"weather\"}"

struct fix {
	struct native_call *call; /* under way */
	int begun, ended;         /* by the registry */
	bool at_once, refuse, acts;
	char conversation[40];
};

static struct fix fix;

/* --- A tool ----------------------------------------------------------------------------------- */

static int search_start(void *self, struct native_call *nc, const struct tool_call *c,
	const struct json *args, struct err *e)
{
	struct fix *f = self;
	struct view query;

	assert_string_equal("web_search", c->name);
	assert_int_equal(1, json_get_str(args, "query", JSON_REQUIRED, 1, 1000, &query, e));
	f->begun++;
	(void)snprintf(f->conversation, sizeof(f->conversation), "%s", native_conversation(nc));
	if (f->refuse)
		return err_set(e, E_NET, "no engine answers");
	if (f->acts)
		native_acting(nc);
	if (f->at_once) {
		native_finish(nc, true, query);
	} else {
		f->call = nc;
		native_set(nc, f);
	}
	return 0;
}

static void search_cancel(void *self, struct native_call *nc)
{
	struct fix *f = self;

	assert_ptr_equal(f->call, nc);
	assert_ptr_equal(f, native_get(nc));
	f->call = NULL;
	f->ended++;
}

static const struct native_tool search = {
	.name = "web_search",
	.self = &fix,
	.start = search_start,
	.cancel = search_cancel,
};

/* --- The frame -------------------------------------------------------------------------------- */

static void open_tools(const struct policy_rules *rules)
{
	struct err e = ERR_INIT;

	rig_open(rules);
	assert_int_equal(0, tools_add_native(rig.tools, &search, &e));
}

static int setup(void **state)
{
	(void)state;
	memset(&fix, 0, sizeof(fix));
	rig_make(NULL);
	open_tools(&POLICY_RULES_DEFAULT);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rig_remove();
}

static struct tool_call call_of(const char *args)
{
	struct tool_call c = { .turn = 7, .origin = ORIGIN_PHONE, .id = "c1" };

	c.name = "web_search";
	c.args = view_of(args);
	return c;
}

static struct tool_run *begin(void)
{
	struct tool_call c = call_of(ARGS);
	struct tool_run *r;
	struct err e = ERR_INIT;

	if (tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(0, rig.done); /* never under the caller's feet */
	return r;
}

static void step(void)
{
	assert_int_equal(0, loop_step(rig.loop, 0, NULL));
	assert_int_equal(0, loop_step(rig.loop, 0, NULL));
}

/* --- Calls ------------------------------------------------------------------------------------ */

static void a_result_given_at_once_is_told_from_the_loop(void **state)
{
	(void)state;
	fix.at_once = true;
	(void)begin();
	step();
	assert_int_equal(1, rig.done);
	assert_true(rig.ok && !rig.cancelled && !rig.acted);
	assert_string_equal("weather", str_cstr(&rig.text));
	assert_int_equal(0, fix.ended);
}

static void a_later_result_is_cleaned_and_told_once(void **state)
{
	(void)state;
	(void)begin();
	step();
	assert_int_equal(0, rig.done);
	native_finish(fix.call, false, VIEW("no\x1b[31m luck\n"));
	native_finish(fix.call, true, VIEW("again"));
	step();
	assert_int_equal(1, rig.done);
	assert_false(rig.ok);
	assert_string_equal("no luck\n", str_cstr(&rig.text));
}

static void a_result_is_bounded(void **state)
{
	struct str big = STR_INIT(4 * TOOL_RESULT_MAX);

	(void)state;
	while (big.n < TOOL_RESULT_MAX + 1)
		(void)str_adds(&big, "0123456789");
	(void)begin();
	native_finish(fix.call, true, str_view(&big));
	step();
	assert_true(rig.text.n <= TOOL_RESULT_MAX && says("[cut:"));
	str_release(&big);
}

static void a_cancel_ends_the_tool_and_is_told(void **state)
{
	(void)state;
	fix.acts = true;
	tool_cancel(begin());
	assert_int_equal(1, fix.ended);
	step();
	assert_int_equal(1, rig.done);
	assert_true(rig.cancelled && rig.acted && !rig.ok);
	assert_true(says("was cancelled"));
}

static void a_cancel_after_the_result_changes_nothing(void **state)
{
	struct tool_run *r = begin();

	(void)state;
	native_finish(fix.call, true, VIEW("found"));
	tool_cancel(r);
	step();
	assert_int_equal(0, fix.ended);
	assert_true(rig.ok && !rig.cancelled);
	assert_string_equal("found", str_cstr(&rig.text));
}

static void a_detached_call_and_a_close_report_to_nobody(void **state)
{
	(void)state;
	tool_detach(begin());
	assert_int_equal(1, fix.ended);
	step();
	(void)begin();
	tools_close(&rig.tools);
	assert_int_equal(2, fix.ended);
	assert_int_equal(0, rig.done);
}

static void a_start_that_fails_is_told_as_it_is(void **state)
{
	struct tool_call c = call_of(ARGS);
	struct tool_run *r;
	struct err e = ERR_INIT;

	(void)state;
	fix.refuse = true;
	assert_int_equal(-1, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
	assert_null(r);
	assert_int_equal(E_NET, e.code);
	step();
	assert_int_equal(0, rig.done + fix.ended);
}

#ifdef KAIRO_TEST_HOOKS
static void a_call_past_its_time_is_ended(void **state)
{
	(void)state;
	(void)begin();
	loop_turn_clock(rig.loop, 59000);
	step();
	assert_int_equal(0, fix.ended);
	loop_turn_clock(rig.loop, 1000);
	step();
	assert_int_equal(1, fix.ended);
	assert_int_equal(1, rig.done);
	assert_true(says("took longer than 60 s") && !rig.ok && !rig.cancelled);
}
#endif

static void the_turn_names_the_conversation(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	fix.at_once = true;
	assert_int_equal(0, tools_turn_begin(rig.tools, 7, "owner/3", VIEW("hello"), NULL, &e));
	assert_int_equal(-1, tools_turn_begin(rig.tools, 7, "owner/3", VIEW("hello"), NULL, &e));
	assert_int_equal(E_EXISTS, e.code);
	(void)begin();
	assert_string_equal("owner/3", fix.conversation);
	tools_turn_end(rig.tools, 7);
	tools_turn_end(rig.tools, 7);
	step();
	rig.done = 0;
	(void)begin();
	assert_string_equal("", fix.conversation);
	step();
}

/* --- What is there ---------------------------------------------------------------------------- */

static void a_tool_is_registered_once_and_by_its_row(void **state)
{
	struct native_tool other = search;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(-1, tools_add_native(rig.tools, &search, &e));
	assert_int_equal(E_EXISTS, e.code);
	other.name = "read_file"; /* has a row, but works behind the fence */
	assert_int_equal(-1, tools_add_native(rig.tools, &other, &e));
	assert_int_equal(E_NOTFOUND, e.code);
	other.name = "nothing";
	assert_int_equal(-1, tools_add_native(rig.tools, &other, &e));
	assert_int_equal(E_NOTFOUND, e.code);
}

static void what_nobody_brought_is_not_set_up(void **state)
{
	struct tools_env env = rig_env();
	struct tool_call c = call_of(ARGS);
	struct str schema = STR_INIT(1 << 20);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(0, tools_schema(rig.tools, ORIGIN_PHONE, &schema, &e));
	assert_non_null(strstr(str_cstr(&schema), "\"web_search\""));
	tools_close(&rig.tools);
	assert_int_equal(0, tools_open(&rig.tools, &env, &e));
	str_reset(&schema);
	assert_int_equal(0, tools_schema(rig.tools, ORIGIN_PHONE, &schema, &e));
	assert_null(strstr(str_cstr(&schema), "\"web_search\""));
	assert_int_equal(VERDICT_DENY, tools_verdict(rig.tools, &c, &rig.text));
	assert_true(says("web_search is not set up on this machine"));
	str_release(&schema);
}

/* --- Consent ---------------------------------------------------------------------------------- */

static void a_question_binds_to_the_exact_call(void **state)
{
	struct policy_rules rules = POLICY_RULES_DEFAULT;
	struct tool_call c = call_of(ARGS), other = call_of("{\"query\":\"weather \"}");
	char hex[TOOL_FINGERPRINT], second[TOOL_FINGERPRINT];
	struct tool_run *r;
	struct err e = ERR_INIT;

	(void)state;
	rules.web = VERDICT_ASK;
	open_tools(&rules);
	fix.at_once = true;
	assert_int_equal(VERDICT_ASK, tools_verdict(rig.tools, &c, &rig.text));
	assert_int_equal(-1, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(0, tools_fingerprint(rig.tools, &c, hex, &e));
	assert_int_equal(64, strlen(hex));
	assert_int_equal(0, tools_fingerprint(rig.tools, &other, second, &e));
	assert_string_not_equal(hex, second);
	other.consent = hex;
	assert_int_equal(-1, tools_start(&r, rig.tools, &other, rig_on_done, NULL, &e));
	assert_int_equal(E_DENIED, e.code);
	assert_int_equal(0, fix.begun);
	c.consent = hex;
	assert_int_equal(0, tools_start(&r, rig.tools, &c, rig_on_done, NULL, &e));
	step();
	assert_int_equal(1, rig.done);
	assert_true(rig.ok);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_result_given_at_once_is_told_from_the_loop),
		T(a_later_result_is_cleaned_and_told_once),
		T(a_result_is_bounded),
		T(a_cancel_ends_the_tool_and_is_told),
		T(a_cancel_after_the_result_changes_nothing),
		T(a_detached_call_and_a_close_report_to_nobody),
		T(a_start_that_fails_is_told_as_it_is),
#ifdef KAIRO_TEST_HOOKS
		T(a_call_past_its_time_is_ended),
#endif
		T(the_turn_names_the_conversation),
		T(a_tool_is_registered_once_and_by_its_row),
		T(what_nobody_brought_is_not_set_up),
		T(a_question_binds_to_the_exact_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
