/* The runner of turns, with an engine that does only what the test tells it to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/turn.h"
#include "base/loop.h"
#include "still.h"

#define SEEN_MAX 32

struct fake {
	struct engine engine; /* first */
	int starts, cancels, answers;
	uint64_t turn;
	int choice;
	char id[32];
	char text[64];
	bool refuse;
};

struct seen {
	enum engine_event_type type;
	uint64_t turn;
	enum engine_fail fail;
	char text[64];
	char detail[64];
	bool acted, saves;
};

struct fix {
	struct loop *loop;
	struct fake fake;
	struct turns *turns;
	struct seen seen[SEEN_MAX];
	int n;
	bool close_on_done, running_in_done;
	int files; /* that were to be delivered */
	char file[64], caption[64];
	struct err why; /* of the last that was not */
};

static int fake_start(struct engine *g, const struct turn_input *in, struct err *e)
{
	struct fake *f = (struct fake *)g;

	if (f->refuse)
		return err_set(e, E_IO, "not today");
	f->starts++;
	f->turn = in->turn;
	assert_int_equal(0, copy_z(f->text, sizeof(f->text), view_cut(in->text, 60)));
	return 0;
}

static void fake_cancel(struct engine *g, uint64_t turn)
{
	struct fake *f = (struct fake *)g;

	if (turn == f->turn)
		f->cancels++;
}

static int fake_answer(struct engine *g, const char *id, int choice, struct err *e)
{
	struct fake *f = (struct fake *)g;

	(void)e;
	f->answers++;
	f->choice = choice;
	return copy_z(f->id, sizeof(f->id), view_of(id));
}

static const struct engine_ops fake_ops = {
	.name = "fake",
	.start = fake_start,
	.cancel = fake_cancel,
	.answer = fake_answer,
};

static void on_event(void *arg, const struct engine_event *ev)
{
	struct fix *f = arg;
	struct seen *s = &f->seen[f->n++];

	assert_true(f->n < SEEN_MAX);
	s->type = ev->type;
	s->turn = ev->turn;
	s->fail = ev->fail;
	s->acted = ev->acted;
	s->saves = ev->save;
	assert_int_equal(0, copy_z(s->text, sizeof(s->text), ev->text));
	if (ev->detail)
		assert_int_equal(0, copy_z(s->detail, sizeof(s->detail), view_of(ev->detail)));
	if (ev->type == ENGINE_DONE) {
		f->running_in_done = turns_running(f->turns);
		if (f->close_on_done)
			turns_close(&f->turns);
	}
}

static int on_deliver(void *arg, uint64_t turn, struct view path, struct view caption,
	struct err *e)
{
	struct fix *f = arg;

	(void)turn;
	f->files++;
	if (view_eqs(path, "no"))
		return err_set(e, E_NOTFOUND, "there is no such file");
	return copy_z(f->file, sizeof(f->file), path) |
	       copy_z(f->caption, sizeof(f->caption), caption);
}

static int setup(void **state)
{
	static struct fix fix;
	struct err e = ERR_INIT;

	memset(&fix, 0, sizeof(fix));
	fix.fake.engine.ops = &fake_ops;
	assert_int_equal(0, loop_open(&fix.loop, &still_clock, &e));
	assert_int_equal(0, turns_open(&fix.turns, fix.loop, &fix.fake.engine, 1000, on_event,
				    on_deliver, &fix, NULL, &e));
	*state = &fix;
	return 0;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	turns_close(&f->turns);
	turns_close(&f->turns);
	loop_close(&f->loop);
	return 0;
}

static void step(struct fix *f)
{
	struct err e = ERR_INIT;

	assert_int_equal(0, loop_step(f->loop, 0, &e));
}

static int start_text(struct fix *f, uint64_t turn, struct view text, struct err *e)
{
	struct turn_input in = { .turn = turn, .conversation = "c", .origin = ORIGIN_PHONE };

	in.text = text;
	in.language = "en";
	return turns_start(f->turns, &in, e);
}

static void start(struct fix *f, uint64_t turn)
{
	struct err e = ERR_INIT;

	assert_int_equal(0, start_text(f, turn, VIEW("hello"), &e));
}

static void emit(struct fix *f, enum engine_event_type type, uint64_t turn, const char *text)
{
	struct engine_event ev = { .type = type, .turn = turn, .text = view_of(text), .id = "q" };

	ev.detail = "";
	f->fake.engine.on_event(f->fake.engine.arg, &ev);
}

static void passes_events_and_one_end(void **state)
{
	struct fix *f = *state;

	assert_false(turns_running(f->turns));
	start(f, 7);
	assert_true(turns_running(f->turns));
	assert_string_equal("hello", f->fake.text);
	emit(f, ENGINE_TEXT, 7, "one");
	emit(f, ENGINE_USAGE, 7, "");
	emit(f, ENGINE_DONE, 7, "one");
	emit(f, ENGINE_DONE, 7, "twice");
	emit(f, ENGINE_TEXT, 7, "late");
	assert_int_equal(3, f->n);
	assert_int_equal(ENGINE_DONE, f->seen[2].type);
	assert_int_equal(ENGINE_OK, f->seen[2].fail);
	assert_string_equal("one", f->seen[2].text);
	assert_true(f->running_in_done);
	assert_false(turns_running(f->turns));
	assert_int_equal(0, turns_age_ms(f->turns));
}

static void drops_events_of_another_turn(void **state)
{
	struct fix *f = *state;

	start(f, 1);
	emit(f, ENGINE_DONE, 1, "");
	start(f, 2);
	emit(f, ENGINE_TEXT, 1, "stale");
	emit(f, ENGINE_DONE, 1, "stale");
	emit(f, ENGINE_TEXT, 3, "from nowhere");
	assert_int_equal(1, f->n);
	assert_true(turns_running(f->turns));
	emit(f, ENGINE_TEXT, 2, "mine");
	assert_int_equal(2, f->n);
	assert_string_equal("mine", f->seen[1].text);
}

static void runs_one_turn_at_a_time_with_growing_numbers(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;

	assert_int_equal(-1, start_text(f, 0, VIEW("x"), &e));
	start(f, 5);
	assert_int_equal(-1, start_text(f, 6, VIEW("x"), &e));
	assert_int_equal(E_BUSY, e.code);
	assert_true(turns_cancel(f->turns));
	assert_int_equal(-1, start_text(f, 6, VIEW("x"), &e));
	assert_int_equal(E_BUSY, e.code);
	emit(f, ENGINE_DONE, 5, "");
	assert_int_equal(-1, start_text(f, 5, VIEW("x"), &e));
	assert_int_equal(E_CONFLICT, e.code);
	start(f, 6);
	assert_int_equal(2, f->fake.starts);
}

static int deliver(struct fix *f, uint64_t turn, const char *path)
{
	struct engine *g = &f->fake.engine;

	err_clear(&f->why);
	return g->deliver(g->arg, turn, view_of(path), VIEW("here it is"), &f->why);
}

static void a_file_of_the_running_turn_is_judged_by_who_sends_it(void **state)
{
	struct fix *f = *state;

	assert_int_equal(-1, deliver(f, 1, "early.pdf"));
	assert_int_equal(E_CANCELLED, f->why.code);
	start(f, 1);
	assert_int_equal(0, deliver(f, 1, "a.pdf"));
	assert_string_equal("a.pdf", f->file);
	assert_string_equal("here it is", f->caption);
	assert_int_equal(-1, deliver(f, 1, "no"));
	assert_string_equal("there is no such file", f->why.msg);
	assert_int_equal(-1, deliver(f, 2, "other.pdf"));
	assert_int_equal(2, f->files);
}

static void a_file_of_a_turn_that_is_over_is_refused(void **state)
{
	struct fix *f = *state;

	start(f, 1);
	emit(f, ENGINE_DONE, 1, "");
	assert_int_equal(-1, deliver(f, 1, "late.pdf"));
	start(f, 2);
	assert_int_equal(-1, deliver(f, 1, "late.pdf"));
	assert_true(turns_cancel(f->turns));
	assert_int_equal(-1, deliver(f, 2, "fenced.pdf"));
	assert_int_equal(E_CANCELLED, f->why.code);
	assert_int_equal(0, f->files);
}

static void nothing_is_sent_to_a_terminal(void **state)
{
	struct turn_input in = { .turn = 1,
		.conversation = "c",
		.origin = ORIGIN_TERMINAL,
		.text = VIEW("go") };
	struct fix *f = *state;

	assert_int_equal(0, turns_start(f->turns, &in, NULL));
	assert_int_equal(-1, deliver(f, 1, "a.pdf"));
	assert_int_equal(E_UNSUPPORTED, f->why.code);
	assert_int_equal(0, f->files);
}

static void lets_only_the_end_through_after_a_cancel(void **state)
{
	struct fix *f = *state;

	assert_false(turns_cancel(f->turns));
	start(f, 1);
	emit(f, ENGINE_TEXT, 1, "before");
	assert_true(turns_cancel(f->turns));
	assert_true(turns_cancel(f->turns));
	assert_int_equal(1, f->fake.cancels);
	emit(f, ENGINE_TEXT, 1, "after");
	emit(f, ENGINE_APPROVAL, 1, "after");
	assert_int_equal(-1, deliver(f, 1, "after.pdf"));
	assert_int_equal(1, f->n);
	emit(f, ENGINE_DONE, 1, "finished all the same");
	assert_int_equal(2, f->n);
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->seen[1].fail);
	assert_string_equal("", f->seen[1].text);
}

static void ends_a_turn_at_its_deadline(void **state)
{
	struct fix *f = *state;

	start(f, 1);
	loop_turn_clock(f->loop, 999);
	step(f);
	assert_int_equal(0, f->fake.cancels);
	assert_int_equal(999, turns_age_ms(f->turns));
	loop_turn_clock(f->loop, 1);
	step(f);
	assert_int_equal(1, f->fake.cancels);
	emit(f, ENGINE_TEXT, 1, "after");
	assert_int_equal(0, f->n);
	emit(f, ENGINE_DONE, 1, "so far");
	assert_int_equal(1, f->n);
	assert_int_equal(ENGINE_FAIL_DEADLINE, f->seen[0].fail);
	assert_string_equal("so far", f->seen[0].text);
}

static void a_finished_turn_leaves_no_deadline_behind(void **state)
{
	struct fix *f = *state;

	start(f, 1);
	loop_turn_clock(f->loop, 900);
	step(f);
	emit(f, ENGINE_DONE, 1, "");
	start(f, 2);
	loop_turn_clock(f->loop, 999);
	step(f);
	assert_int_equal(0, f->fake.cancels);
}

static void stands_still_while_a_question_is_open(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;
	struct engine_event second = { .type = ENGINE_QUESTION, .turn = 1, .id = "r" };

	start(f, 1);
	loop_turn_clock(f->loop, 600);
	step(f);
	emit(f, ENGINE_APPROVAL, 1, "may I?");
	f->fake.engine.on_event(f->fake.engine.arg, &second);
	loop_turn_clock(f->loop, 100000);
	step(f);
	assert_int_equal(0, turns_answer(f->turns, "q", 2, &e));
	assert_string_equal("q", f->fake.id);
	assert_int_equal(2, f->fake.choice);
	loop_turn_clock(f->loop, 100000);
	step(f);
	assert_int_equal(0, f->fake.cancels);
	second.id = "s";
	f->fake.engine.on_event(f->fake.engine.arg, &second);
	assert_int_equal(0, turns_answer(f->turns, "r", -1, &e));
	assert_int_equal(-1, f->fake.choice);
	loop_turn_clock(f->loop, 100000);
	step(f);
	assert_int_equal(0, f->fake.cancels);
	second.type = ENGINE_WITHDRAWN; /* nobody answers it any more */
	f->fake.engine.on_event(f->fake.engine.arg, &second);
	loop_turn_clock(f->loop, 399);
	step(f);
	assert_int_equal(0, f->fake.cancels);
	loop_turn_clock(f->loop, 1);
	step(f);
	assert_int_equal(1, f->fake.cancels);
	assert_int_equal(-1, turns_answer(f->turns, "q", 0, &e));
	assert_int_equal(E_NOTFOUND, e.code);
}

static void many_open_questions_are_all_passed_on(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;
	char id[32] = "q00", longest[200];
	struct engine_event ev = { .type = ENGINE_QUESTION, .turn = 1, .id = id };

	start(f, 1);
	for (int i = 0; i < 20; i++) {
		id[1] = (char)('0' + i / 10);
		id[2] = (char)('0' + i % 10);
		f->fake.engine.on_event(f->fake.engine.arg, &ev);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ev.id = longest;
	f->fake.engine.on_event(f->fake.engine.arg, &ev);
	assert_int_equal(21, f->n);
	assert_int_equal(0, turns_answer(f->turns, "q19", 0, &e));
	assert_string_equal("q19", f->fake.id);
}

static void input_limits(void **state)
{
	struct fix *f = *state;
	struct str big = STR_INIT((size_t)4 << 20);
	struct err e = ERR_INIT;
	const struct {
		struct view text;
		enum engine_fail fail;
	} cases[] = {
		{ VIEW(""), ENGINE_FAIL_INPUT },
		{ VIEW(" \r\n\t "), ENGINE_FAIL_INPUT },
		{ VIEW("a\0b"), ENGINE_FAIL_INPUT },
		{ VIEW("\xff"), ENGINE_FAIL_INPUT },
		{ VIEW("\xed\xa0\x80"), ENGINE_FAIL_INPUT },
		{ VIEW("x"), ENGINE_OK },
	};
	uint64_t turn = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f->n = 0;
		assert_int_equal(0, start_text(f, ++turn, cases[i].text, &e));
		assert_int_equal(0, f->n); /* never from inside start */
		if (cases[i].fail == ENGINE_OK)
			emit(f, ENGINE_DONE, turn, "");
		step(f);
		assert_int_equal(1, f->n);
		assert_int_equal(cases[i].fail, f->seen[0].fail);
	}
	for (size_t over = 0; over < 2; over++) {
		f->n = 0;
		str_reset(&big);
		while (big.n < ENGINE_INPUT_MAX + over)
			assert_int_equal(0, str_addc(&big, 'x'));
		assert_int_equal(0, start_text(f, ++turn, str_view(&big), &e));
		if (over == 0)
			emit(f, ENGINE_DONE, turn, "");
		step(f);
		assert_int_equal(1, f->n);
		assert_int_equal(over ? ENGINE_FAIL_INPUT : ENGINE_OK, f->seen[0].fail);
	}
	str_release(&big);
}

static void rejected_input_can_be_cancelled(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;

	assert_int_equal(0, start_text(f, 1, VIEW(""), &e));
	assert_true(turns_cancel(f->turns));
	step(f);
	assert_int_equal(1, f->n);
	assert_int_equal(ENGINE_FAIL_CANCELLED, f->seen[0].fail);
	assert_int_equal(0, f->fake.cancels);
}

static void line_ends_become_lf(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;

	assert_int_equal(0, start_text(f, 1, VIEW("a\r\nb\rc\n\r\n\r"), &e));
	assert_string_equal("a\nb\nc\n\n\n", f->fake.text);
}

static void a_start_the_engine_refuses_is_no_turn(void **state)
{
	struct fix *f = *state;
	struct err e = ERR_INIT;

	f->fake.refuse = true;
	assert_int_equal(-1, start_text(f, 1, VIEW("x"), &e));
	assert_int_equal(E_IO, e.code);
	assert_false(turns_running(f->turns));
	loop_turn_clock(f->loop, 5000);
	step(f);
	assert_int_equal(0, f->n);
	f->fake.refuse = false;
	start(f, 2);
}

static void events_outside_a_turn_pass(void **state)
{
	struct fix *f = *state;

	emit(f, ENGINE_NOTICE, 0, "by the way");
	emit(f, ENGINE_BUSY, 0, "");
	emit(f, ENGINE_TEXT, 0, "of no turn");
	emit(f, ENGINE_DONE, 0, "of no turn");
	assert_int_equal(2, f->n);
	start(f, 1);
	assert_true(turns_cancel(f->turns));
	emit(f, ENGINE_NOTICE, 0, "still heard");
	assert_int_equal(3, f->n);
}

static void closing_cancels_and_silences_the_engine(void **state)
{
	struct fix *f = *state;

	start(f, 1);
	turns_close(&f->turns);
	assert_int_equal(1, f->fake.cancels);
	emit(f, ENGINE_DONE, 1, "");
	assert_int_equal(0, f->n);
}

static void may_be_closed_from_its_own_end(void **state)
{
	struct fix *f = *state;

	f->close_on_done = true;
	start(f, 1);
	emit(f, ENGINE_DONE, 1, "");
	assert_int_equal(1, f->n);
	assert_null(f->turns);
}

static void what_the_user_has_not_said_is_not_theirs(void **state)
{
	static const struct {
		size_t quoted, added;
		const char *own;
	} rows[] = {
		{ 0, 0, "abcdef" },
		{ 2, 3, "c" },
		{ 6, 0, "" },
		{ 0, 6, "" },
		{ 4, 3, "" },
		{ 9, 9, "" },
	};
	struct turn_input in = { .text = VIEW("abcdef") };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		in.quoted = rows[i].quoted;
		in.added = rows[i].added;
		assert_true(view_eqs(turn_own_words(&in), rows[i].own));
	}
}

static void every_failure_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i <= (int)ENGINE_FAIL_INTERNAL; i++) {
		const char *name = engine_fail_name((enum engine_fail)i);

		assert_non_null(name);
		assert_string_not_equal("unknown failure", name);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(name, engine_fail_name((enum engine_fail)j));
	}
	assert_string_equal("unknown failure",
		engine_fail_name((enum engine_fail)(ENGINE_FAIL_INTERNAL + 1)));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(passes_events_and_one_end),
		T(drops_events_of_another_turn),
		T(runs_one_turn_at_a_time_with_growing_numbers),
		T(a_file_of_the_running_turn_is_judged_by_who_sends_it),
		T(a_file_of_a_turn_that_is_over_is_refused),
		T(nothing_is_sent_to_a_terminal),
		T(lets_only_the_end_through_after_a_cancel),
		T(ends_a_turn_at_its_deadline),
		T(a_finished_turn_leaves_no_deadline_behind),
		T(stands_still_while_a_question_is_open),
		T(many_open_questions_are_all_passed_on),
		T(input_limits),
		T(rejected_input_can_be_cancelled),
		T(line_ends_become_lf),
		T(a_start_the_engine_refuses_is_no_turn),
		T(events_outside_a_turn_pass),
		T(closing_cancels_and_silences_the_engine),
		T(may_be_closed_from_its_own_end),
		cmocka_unit_test(what_the_user_has_not_said_is_not_theirs),
		cmocka_unit_test(every_failure_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
