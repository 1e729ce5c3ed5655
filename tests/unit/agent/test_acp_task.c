/* What runs in an agent's background, by hooks in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/acp/task.h"

/* Hooks as letters: s a task begins, e it ends, f it fails, T a task's turn begins, U the user's,
 * S its end, X its end by an error, I by an interrupt, R an agent's answer. A digit behind s, e and
 * f is the task's. '.' lets TASKS_SETTLE_MS pass, ',' TASKS_GRACE_MS. '<' and '>' are the user's
 * turn, with an answer; ')' ends it without. What falls due is written: r a review that is read at
 * once and tells, n one that tells nothing yet, p one that is passed over, o and l a task's output
 * and loss. */
struct play {
	struct tasks *t;
	int64_t now;
	bool whole; /* what a review tells */
	struct str due;
};

static const char session[] = "s";

static void run_due(struct play *p)
{
	const char *s;
	struct task *k;

	for (int i = 0; i < 1000; i++) {
		switch (tasks_due(p->t, p->now, &s, &k)) {
		case DUE_NOTHING: return;
		case DUE_REVIEW:
			(void)str_addc(&p->due, p->whole ? 'r' : 'n');
			tasks_reviewed(p->t, s, p->whole, p->now);
			break;
		case DUE_PASSED: (void)str_addc(&p->due, 'p'); break;
		case DUE_OUTPUT:
			(void)str_addf(&p->due, "o%s", k->id);
			task_told(k);
			break;
		case DUE_LOST:
			(void)str_addf(&p->due, "l%s", k->id);
			task_told(k);
			break;
		}
	}
	fail_msg("something stays due");
}

static void pass(struct play *p, int64_t ms)
{
	p->now += ms;
	run_due(p);
}

static void hook(struct play *p, char what, struct view task)
{
	struct hook h = { .session = VIEW("s"), .task = task, .kind = VIEW("agent") };

	switch (what) {
	case 's': h.event = HOOK_TASK_STARTED; break;
	case 'e':
	case 'f': h.event = HOOK_NOTIFICATION; break;
	case 'T':
	case 'U': h.event = HOOK_TURN_STARTED; break;
	case 'S': h.event = HOOK_STOP; break;
	case 'X': h.event = HOOK_STOP_FAILURE; break;
	case 'I': h.event = HOOK_INTERRUPT; break;
	case 'R': h.event = HOOK_SUBAGENT_STOP; break;
	default: fail_msg("no hook %c", what);
	}
	h.failed = what == 'f';
	h.by_task = what == 'T';
	h.by_user = what == 'U';
	h.text = VIEW("words");
	tasks_take(p->t, &h, p->now);
	run_due(p);
}

static void play(struct play *p, const char *script)
{
	for (const char *c = script; *c; c++) {
		if (*c == '.')
			pass(p, TASKS_SETTLE_MS);
		else if (*c == ',')
			pass(p, TASKS_GRACE_MS);
		else if (*c == '<' || *c == '>' || *c == ')')
			tasks_turn(p->t, view_of(session), *c == '<', *c == '>', p->now);
		else if (strchr("sef", *c)) {
			hook(p, *c, (struct view){ c + 1, 1 });
			c++;
		} else {
			hook(p, *c, VIEW_NONE);
		}
		run_due(p);
	}
}

static int setup(void **state)
{
	struct play *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->now = 1000000;
	p->whole = true;
	p->due = STR_INIT(4096);
	*state = p;
	return tasks_open(&p->t, NULL);
}

static int teardown(void **state)
{
	struct play *p = *state;

	tasks_close(&p->t);
	str_release(&p->due);
	free(p);
	return 0;
}

static void the_end_of_a_task_is_told_once_whatever_comes_when(void **state)
{
	static const struct {
		const char *script, *due;
	} table[] = {
		{ "s1e1TS.", "r" },         /* as it happens */
		{ "s1Te1S.", "r" },         /* the notice behind the turn's begin */
		{ "s1TSe1.", "r" },         /* behind its end */
		{ "s1TS.e1,", "r" },        /* behind the reading */
		{ "e1s1TS.", "r" },         /* the begin last */
		{ "e1TSs1.,", "r" },        /* later yet */
		{ "e1TS.s1,", "r" },        /* behind the reading: nothing is revived */
		{ "s1e1TS.e1,e1,s1", "r" }, /* twice */
		{ "s1e1ST.,", "r" },        /* the turn's end before its begin */
		{ "s1Se1T.,", "r" },        /* and before the notice */
		{ "s1e1TU.", "r" },         /* the end of a turn behind which a prompt waits */
		{ "s1e1TI.", "r" },         /* interrupted */
		{ "s1e1,", "o1" },          /* no turn at all */
		{ "s1f1,", "o1" },
		{ "e1,", "o1" },
		{ "s1e1,TS.,", "o1r" },     /* far too late */
		{ "s1e1T,,,S.", "r" },      /* it takes its time */
		{ "s1s2e1TS.e2TS.", "rr" }, /* two, one after the other */
		{ "s1s2e1e2TS.", "r" },     /* two in one turn */
		{ "s1e1Ts2S.", "p" },       /* it tries again */
		{ "s1e1Ts2S.e2TS.", "pr" }, /* and that is told */
		{ "s1e1TSs2.e2TS.", "pr" }, /* its begin comes behind the turn's end */
		{ "s1e1Ts2e2S.", "r" },     /* the new try has ended in the same turn */
		{ "s1<S>,", "" },           /* the user's own turns are none */
		{ "<e1>,", "" },            /* told by the answer of the user's turn */
		{ "<e1),", "o1" },          /* which did not come */
		{ "<e1TS.>", "r" },
		{ "TS.", "r" }, /* nothing else is heard of it */
		{ "UUSS.,", "" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct play *p = *state;

		tasks_clear(p->t);
		str_reset(&p->due);
		p->now += TASKS_LIFE_MS;
		play(p, table[i].script);
		pass(p, TASKS_GRACE_MS);
		if (strcmp(table[i].due, str_cstr(&p->due)) != 0)
			fail_msg("%s: %s, not %s", table[i].script, str_cstr(&p->due),
				table[i].due);
	}
}

static void it_is_busy_until_all_is_told(void **state)
{
	struct play *p = *state;

	assert_false(tasks_busy(p->t));
	assert_true(tasks_next(p->t) == INT64_MAX);
	play(p, "s1s2");
	assert_int_equal(2, tasks_running(p->t, VIEW("s")));
	assert_int_equal(0, tasks_running(p->t, VIEW("other")));
	assert_false(tasks_reviewing(p->t, VIEW("s")));
	play(p, "e1");
	assert_int_equal(1, tasks_running(p->t, VIEW_NONE));
	assert_true(tasks_next(p->t) == p->now + TASKS_GRACE_MS);
	play(p, "T");
	assert_true(tasks_reviewing(p->t, VIEW("s")));
	play(p, "S");
	assert_true(tasks_reviewing(p->t, VIEW("s"))); /* until it was read */
	assert_true(tasks_next(p->t) == p->now + TASKS_SETTLE_MS);
	play(p, ".");
	assert_false(tasks_reviewing(p->t, VIEW("s")));
	assert_true(tasks_busy(p->t));
	play(p, "e2,");
	assert_false(tasks_busy(p->t));
	assert_true(tasks_next(p->t) == INT64_MAX);
}

static void what_is_not_over_is_read_again_and_given_up(void **state)
{
	struct play *p = *state;
	int64_t ms = TASKS_AGAIN_MS;

	p->whole = false;
	play(p, "s1e1TS.");
	assert_string_equal("n", str_cstr(&p->due));
	for (int i = 1; i < TASKS_READS_MAX; i++, ms *= 2) {
		pass(p, ms - 1);
		assert_int_equal(i, p->due.n);
		pass(p, 1);
		assert_int_equal(i + 1, p->due.n);
	}
	pass(p, ms);
	assert_string_equal("nnnnnno1", str_cstr(&p->due));
	assert_false(tasks_busy(p->t));
}

static void a_doubt_ends_no_review(void **state)
{
	struct play *p = *state;

	play(p, "s1e1T");
	p->whole = false;
	tasks_doubt(p->t, VIEW("s"), p->now);
	pass(p, 0);
	assert_string_equal("n", str_cstr(&p->due));
	assert_true(tasks_reviewing(p->t, VIEW("s")));
	pass(p, (int64_t)3 * TASKS_GRACE_MS);
	assert_string_equal("n", str_cstr(&p->due));
	p->whole = true;
	tasks_doubt(p->t, VIEW("s"), p->now);
	pass(p, 0);
	assert_string_equal("nr", str_cstr(&p->due));
	assert_false(tasks_busy(p->t));
}

static void nothing_is_waited_for_longer_than_six_hours(void **state)
{
	struct play *p = *state;

	play(p, "s1");
	pass(p, TASKS_LIFE_MS - 1);
	assert_string_equal("", str_cstr(&p->due));
	assert_true(tasks_next(p->t) == p->now + 1);
	pass(p, 1);
	assert_string_equal("l1", str_cstr(&p->due));
	play(p, "s1e1,");
	assert_string_equal("l1", str_cstr(&p->due)); /* a tombstone like any */
	assert_false(tasks_busy(p->t));
	play(p, "s2e2T");
	pass(p, TASKS_LIFE_MS - 1);
	assert_string_equal("l1", str_cstr(&p->due));
	pass(p, 1);
	assert_string_equal("l1o2", str_cstr(&p->due));
	assert_false(tasks_busy(p->t));
}

static void tombstones_are_bounded_and_go_before_what_runs(void **state)
{
	struct play *p = *state;

	play(p, "s1");
	for (int i = 0; i < 3 * TASKS_MAX; i++) {
		char id[16];
		struct hook h = { .event = HOOK_NOTIFICATION, .session = VIEW("s") };

		(void)snprintf(id, sizeof(id), "t%d", i);
		h.task = view_of(id);
		tasks_take(p->t, &h, p->now);
		pass(p, TASKS_GRACE_MS);
	}
	assert_int_equal(1, tasks_running(p->t, VIEW("s")));
	play(p, "e1,");
	assert_non_null(strstr(str_cstr(&p->due), "o1"));
}

static void a_flood_of_tasks_takes_no_more_than_there_is_room_for(void **state)
{
	struct play *p = *state;

	for (int i = 0; i < 2 * TASKS_MAX; i++) {
		char id[16], in[16];
		struct hook h = { .event = HOOK_TASK_STARTED };

		(void)snprintf(id, sizeof(id), "t%d", i);
		(void)snprintf(in, sizeof(in), "s%d", i % (2 * TASKS_SESSIONS));
		h.task = view_of(id);
		h.session = view_of(in);
		tasks_take(p->t, &h, p->now);
	}
	assert_in_range(tasks_running(p->t, VIEW_NONE), TASKS_SESSIONS, TASKS_MAX);
	pass(p, TASKS_LIFE_MS);
	assert_false(tasks_busy(p->t));
}

static void an_agents_answer_is_kept_for_its_task(void **state)
{
	struct play *p = *state;
	struct task *k;

	play(p, "R"); /* of nobody */
	play(p, "s1R");
	k = tasks_each(p->t, VIEW("s"), TASK_RUNNING, NULL);
	assert_non_null(k);
	assert_string_equal("words", k->reply);
	assert_string_equal("words", k->what);
	play(p, "s2e2R"); /* it may come behind the end */
	k = tasks_each(p->t, VIEW("s"), TASK_ENDED, NULL);
	assert_non_null(k);
	assert_string_equal("words", k->reply);
}

static void why_a_review_has_failed_is_kept(void **state)
{
	struct play *p = *state;

	play(p, "s1e1TX");
	assert_string_equal("words", tasks_reason(p->t, VIEW("s")));
	play(p, "SX."); /* in any order */
	assert_string_equal("words", tasks_reason(p->t, VIEW("s")));
	assert_string_equal("", tasks_reason(p->t, VIEW("other")));
	play(p, "s2e2T");
	assert_string_equal("", tasks_reason(p->t, VIEW("s")));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_end_of_a_task_is_told_once_whatever_comes_when),
		T(it_is_busy_until_all_is_told),
		T(what_is_not_over_is_read_again_and_given_up),
		T(a_doubt_ends_no_review),
		T(nothing_is_waited_for_longer_than_six_hours),
		T(tombstones_are_bounded_and_go_before_what_runs),
		T(a_flood_of_tasks_takes_no_more_than_there_is_room_for),
		T(an_agents_answer_is_kept_for_its_task),
		T(why_a_review_has_failed_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
