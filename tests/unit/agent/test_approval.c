/* Questions that are open, and what was consented to for a conversation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/approval.h"

static struct approvals *a;

static int setup(void **state)
{
	(void)state;
	return approvals_open(&a, NULL);
}

static int teardown(void **state)
{
	(void)state;
	approvals_close(&a);
	assert_null(a);
	approvals_close(&a);
	return 0;
}

static struct approval about(uint64_t turn, const char *key, int64_t session, const char *print)
{
	return (struct approval){ turn, key, session, print };
}

static const char *ask(const struct approval *what)
{
	static char id[APPROVAL_ID_SIZE];
	struct err e = ERR_INIT;

	if (approvals_ask(a, what, id, &e) < 0)
		fail_msg("%s", e.msg);
	return id;
}

static enum consent answer(const char *id, int choice)
{
	enum consent c = CONSENT_GIVEN;
	struct err e = ERR_INIT;

	if (approvals_answer(a, id, choice, &c, &e) < 0)
		fail_msg("%s", e.msg);
	return c;
}

static void grant(const struct approval *what)
{
	assert_int_equal(CONSENT_GIVEN, answer(ask(what), APPROVAL_CONVERSATION));
}

static bool granted(const char *key, int64_t session, const char *print)
{
	struct approval what = about(9, key, session, print);

	return approvals_granted(a, &what);
}

static void only_two_choices_consent(void **state)
{
	static const struct {
		int choice;
		enum consent want;
		bool grants;
	} rows[] = {
		{ APPROVAL_ONCE, CONSENT_GIVEN, false },
		{ APPROVAL_CONVERSATION, CONSENT_GIVEN, true },
		{ APPROVAL_NO, CONSENT_REFUSED, false },
		{ APPROVAL_STOP, CONSENT_STOPPED, false },
		{ ANSWER_NONE, CONSENT_EXPIRED, false },
		{ ANSWER_UNASKED, CONSENT_UNDELIVERABLE, false },
		{ APPROVAL_CHOICES, CONSENT_REFUSED, false },
		{ 4000, CONSENT_REFUSED, false },
		{ -3, CONSENT_REFUSED, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char print[8] = "";
		struct approval what = about(1, "me", 1, print);

		(void)snprintf(print, sizeof(print), "p%zu", i);
		assert_int_equal(rows[i].want, answer(ask(&what), rows[i].choice));
		assert_int_equal(rows[i].grants, granted("me", 1, print));
	}
}

static void a_no_holds_for_its_print_and_turn(void **state)
{
	char print[16] = "";
	struct approval no = about(1, "me", 1, "no"), silence = about(1, "me", 1, "silence"),
			many = about(1, "me", 1, print), later = about(2, "me", 1, "no");

	(void)state;
	assert_false(approvals_refused(a, &no));
	answer(ask(&no), APPROVAL_NO);
	answer(ask(&silence), ANSWER_NONE);
	assert_true(approvals_refused(a, &no));
	assert_false(approvals_refused(a, &silence));
	assert_false(approvals_refused(a, &later));
	for (int i = 0; i < 16; i++) {
		assert_true(approvals_refused(a, &no));
		(void)snprintf(print, sizeof(print), "p%d", i);
		answer(ask(&many), APPROVAL_NO);
		assert_true(approvals_refused(a, &many));
	}
	assert_false(approvals_refused(a, &no)); /* the oldest of 17 */
	answer(ask(&later), APPROVAL_NO);
	assert_true(approvals_refused(a, &later));
	assert_false(approvals_refused(a, &many));
}

static void one_answer_ends_a_question(void **state)
{
	struct approval what = about(1, "me", 1, "p");
	enum consent c = CONSENT_REFUSED;
	struct err e = ERR_INIT;
	const char *id = ask(&what);

	(void)state;
	assert_int_equal(CONSENT_GIVEN, answer(id, APPROVAL_ONCE));
	assert_int_equal(-1, approvals_answer(a, id, APPROVAL_ONCE, &c, &e));
	assert_int_equal(E_NOTFOUND, e.code);
	assert_int_equal(-1, approvals_answer(a, "", APPROVAL_ONCE, &c, &e));
	assert_int_equal(-1, approvals_answer(a, "1.999", APPROVAL_ONCE, &c, &e));
	assert_int_equal(CONSENT_REFUSED, c);
}

static void ids_are_never_used_twice(void **state)
{
	struct approval what = about(1, "me", 1, "p");
	char first[APPROVAL_ID_SIZE];

	(void)state;
	(void)snprintf(first, sizeof(first), "%s", ask(&what));
	answer(first, APPROVAL_NO);
	assert_string_not_equal(first, ask(&what));
}

static void a_turn_takes_its_questions_with_it(void **state)
{
	struct approval one = about(1, "me", 1, "p"), two = about(2, "me", 1, "p");
	char id1[APPROVAL_ID_SIZE], id2[APPROVAL_ID_SIZE];
	enum consent c;

	(void)state;
	(void)snprintf(id1, sizeof(id1), "%s", ask(&one));
	(void)snprintf(id2, sizeof(id2), "%s", ask(&two));
	approvals_end(a, 1);
	assert_int_equal(-1, approvals_answer(a, id1, APPROVAL_CONVERSATION, &c, NULL));
	assert_false(granted("me", 1, "p"));
	assert_int_equal(CONSENT_GIVEN, answer(id2, APPROVAL_ONCE));
}

static void so_many_may_be_open(void **state)
{
	struct approval what = about(1, "me", 1, "p");
	char id[APPROVAL_ID_SIZE];
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < APPROVALS_OPEN_MAX; i++)
		ask(&what);
	assert_int_equal(-1, approvals_ask(a, &what, id, &e));
	assert_int_equal(E_FULL, e.code);
	approvals_end(a, 1);
	ask(&what);
}

static void a_grant_holds_for_its_print_and_conversation_alone(void **state)
{
	struct approval what = about(1, "me", 1, "p");

	(void)state;
	grant(&what);
	assert_true(granted("me", 1, "p"));
	assert_false(granted("me", 1, "q"));
	assert_false(granted("me", 2, "p"));
	assert_false(granted("you", 1, "p"));
}

static void a_new_conversation_drops_its_key_alone(void **state)
{
	struct approval mine = about(1, "me", 1, "p"), older = about(1, "me", 0, "p"),
			yours = about(1, "you", 1, "p");

	(void)state;
	grant(&mine);
	grant(&yours);
	grant(&older);
	approvals_forget(a, "me");
	assert_false(granted("me", 1, "p"));
	assert_false(granted("me", 0, "p"));
	assert_true(granted("you", 1, "p"));
}

static void grant_many(const char *key, int64_t session, int n)
{
	for (int i = 0; i < n; i++) {
		char print[16] = "";
		struct approval what = about(1, key, session, print);

		(void)snprintf(print, sizeof(print), "p%d", i);
		grant(&what);
	}
}

static void the_oldest_grants_are_forgotten(void **state)
{
	(void)state;
	grant_many("me", 1, APPROVAL_GRANTS_MAX);
	assert_true(granted("me", 1, "p0"));
	grant_many("you", 1, 1);
	assert_true(granted("me", 1, "p0"));
	grant_many("me", 1, APPROVAL_GRANTS_MAX + 1);
	assert_false(granted("me", 1, "p0"));
	assert_true(granted("me", 1, "p1"));
	assert_true(granted("you", 1, "p0"));
	for (int64_t s = 2; s < 2 + APPROVAL_GRANTS_ALL / APPROVAL_GRANTS_MAX; s++)
		grant_many("me", s, APPROVAL_GRANTS_MAX);
	assert_false(granted("you", 1, "p0"));
	assert_false(granted("me", 1, "p100"));
	assert_true(granted("me", 2, "p0"));
}

static void a_print_is_of_its_length(void **state)
{
	char print[APPROVAL_PRINT_SIZE + 1] = "", id[APPROVAL_ID_SIZE];
	struct approval what = about(1, "me", 1, print);
	struct err e = ERR_INIT;

	(void)state;
	memset(print, 'a', sizeof(print));
	print[APPROVAL_PRINT_SIZE] = '\0';
	assert_int_equal(-1, approvals_ask(a, &what, id, &e));
	assert_int_equal(E_FORMAT, e.code);
	print[APPROVAL_PRINT_SIZE - 1] = '\0';
	grant(&what);
	assert_true(granted("me", 1, print));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(only_two_choices_consent),
		T(a_no_holds_for_its_print_and_turn),
		T(one_answer_ends_a_question),
		T(ids_are_never_used_twice),
		T(a_turn_takes_its_questions_with_it),
		T(so_many_may_be_open),
		T(a_grant_holds_for_its_print_and_conversation_alone),
		T(a_new_conversation_drops_its_key_alone),
		T(the_oldest_grants_are_forgotten),
		T(a_print_is_of_its_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
