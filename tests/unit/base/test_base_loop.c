/* base/clock and base/loop: time by hand, timers, descriptors, signals. */
#include "base/loop.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	struct loop *loop;
	struct err e;
	int64_t mono, wall;
	struct clock clock; /* stands still until a test moves it */
};

static int64_t fake_mono(void *arg)
{
	return ((struct fixture *)arg)->mono;
}

static int64_t fake_wall(void *arg)
{
	return ((struct fixture *)arg)->wall;
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .mono = 1000, .wall = 1700000000000 };
	f.clock = (struct clock){ .mono_ms = fake_mono, .wall_ms = fake_wall, .arg = &f };
	assert_int_equal(loop_open(&f.loop, &f.clock, &f.e), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	loop_close(&f->loop);
	assert_null(f->loop);
	loop_close(&f->loop);
	return 0;
}

static void step(struct fixture *f)
{
	assert_int_equal(loop_step(f->loop, 0, &f->e), 0);
}

/* --- A timer that notes its firing ------------------------------------------------------------ */
struct note {
	struct timer *t;
	char *log; /* shared */
	char name;
	int fired;
	struct loop *loop;
	struct timer **victim;
};

static void fires(void *arg)
{
	struct note *n = arg;

	n->fired++;
	if (n->log) {
		size_t at = strlen(n->log);

		n->log[at] = n->name;
		n->log[at + 1] = '\0';
	}
}

static struct note note(struct fixture *f, char *log, char name)
{
	return (struct note){ .log = log, .name = name, .loop = f->loop };
}

static void arm(struct fixture *f, struct note *n, int64_t ms)
{
	if (!n->t)
		assert_int_equal(timer_new(&n->t, f->loop, fires, n, &f->e), 0);
	timer_arm(n->t, ms);
}

/* --- Clock ------------------------------------------------------------------------------------ */
static void the_system_clock_follows_the_kernel(void **state)
{
	const struct clock *c = clock_system();
	struct timespec boot, real;
	int64_t mono, wall;

	(void)state;
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &boot), 0);
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &real), 0);
	mono = clock_mono(c);
	wall = clock_wall(c);
	assert_true(mono >= boot.tv_sec * 1000 + boot.tv_nsec / 1000000);
	assert_true(wall >= real.tv_sec * 1000 + real.tv_nsec / 1000000);
	assert_true(clock_mono(c) >= mono);
	assert_true(wall > INT64_C(1600000000000)); /* milliseconds, not seconds */
}

static void the_loop_reads_the_clock_it_was_given(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_now(f->loop), 1000);
	assert_int_equal(loop_wall(f->loop), 1700000000000);
	f->mono += 7;
	f->wall -= 5000; /* dates may jump back */
	assert_int_equal(loop_now(f->loop), 1007);
	assert_int_equal(loop_wall(f->loop), 1699999995000);
	assert_int_equal(clock_mono(loop_clock(f->loop)), 1007);
}

#ifdef KAIRO_TEST_HOOKS
static void turning_moves_both_clocks_and_the_one_handed_out(void **state)
{
	struct fixture *f = *state;

	loop_turn_clock(f->loop, 60000);
	assert_int_equal(loop_now(f->loop), 61000);
	assert_int_equal(loop_wall(f->loop), 1700000060000);
	assert_int_equal(clock_mono(loop_clock(f->loop)), 61000);
	assert_int_equal(clock_wall(loop_clock(f->loop)), 1700000060000);
	assert_int_equal(f->mono, 1000);
}
#endif

/* --- Timers ----------------------------------------------------------------------------------- */
static void a_timer_fires_at_its_time_and_once(void **state)
{
	struct fixture *f = *state;
	struct note n = note(f, NULL, 'a');

	arm(f, &n, 10);
	f->mono += 9;
	step(f);
	assert_int_equal(n.fired, 0);
	assert_int_equal(timer_left(n.t), 1);
	f->mono += 1;
	assert_int_equal(timer_left(n.t), 0);
	assert_true(timer_armed(n.t));
	step(f);
	assert_int_equal(n.fired, 1);
	assert_false(timer_armed(n.t));
	f->mono += 1000;
	step(f);
	assert_int_equal(n.fired, 1);
	timer_free(&n.t);
	assert_null(n.t);
	timer_free(&n.t);
}

#ifdef KAIRO_TEST_HOOKS
static void turning_the_clock_fires_nothing_before_the_loop_runs(void **state)
{
	struct fixture *f = *state;
	struct note n = note(f, NULL, 'a');

	arm(f, &n, 3600000);
	loop_turn_clock(f->loop, 3600000);
	assert_int_equal(n.fired, 0);
	step(f);
	assert_int_equal(n.fired, 1);
	timer_free(&n.t);
}
#endif

static void arming_never_calls_back_at_once(void **state)
{
	struct fixture *f = *state;
	static const int64_t times[] = { 0, -1, INT64_MIN };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct note n = note(f, NULL, 'a');

		arm(f, &n, times[i]);
		assert_int_equal(n.fired, 0);
		step(f);
		assert_int_equal(n.fired, 1);
		timer_free(&n.t);
	}
}

static void the_farthest_time_does_not_overflow(void **state)
{
	struct fixture *f = *state;
	struct note n = note(f, NULL, 'a');

	arm(f, &n, INT64_MAX);
	step(f);
	assert_int_equal(n.fired, 0);
	assert_true(timer_left(n.t) > INT64_C(1) << 60);
	timer_free(&n.t);
}

static void timers_fire_by_time_then_by_order_of_arming(void **state)
{
	struct fixture *f = *state;
	static const struct {
		char name;
		int ms;
	} rows[] = { { 'd', 30 }, { 'b', 20 }, { 'a', 10 }, { 'e', 30 }, { 'c', 20 }, { 'f', 31 } };
	struct note n[6];
	char log[8] = "";

	for (size_t i = 0; i < 6; i++) {
		n[i] = note(f, log, rows[i].name);
		arm(f, &n[i], rows[i].ms);
	}
	f->mono += 30;
	step(f);
	assert_string_equal(log, "abcde");
	f->mono += 1;
	step(f);
	assert_string_equal(log, "abcdef");
	for (size_t i = 0; i < 6; i++)
		timer_free(&n[i].t);
}

static void rearming_replaces_and_disarming_silences(void **state)
{
	struct fixture *f = *state;
	struct note n = note(f, NULL, 'a');

	arm(f, &n, 10);
	arm(f, &n, 20);
	f->mono += 10;
	step(f);
	assert_int_equal(n.fired, 0);
	arm(f, &n, 5);
	f->mono += 5;
	timer_disarm(n.t);
	timer_disarm(n.t);
	assert_int_equal(timer_left(n.t), 0);
	step(f);
	assert_int_equal(n.fired, 0);
	arm(f, &n, 1);
	f->mono += 1;
	step(f);
	assert_int_equal(n.fired, 1);
	timer_free(&n.t);
}

/* The heap against a plain model: every pattern of arming and disarming fires the same set. */
static void many_timers_fire_as_a_sorted_list_would(void **state)
{
	struct fixture *f = *state;
	enum { N = 200 };
	static struct note n[N];
	int64_t due[N];
	unsigned int seed = 12345;

	memset(n, 0, sizeof(n));
	for (int i = 0; i < N; i++) {
		n[i] = note(f, NULL, 'x');
		arm(f, &n[i], 1);
		timer_disarm(n[i].t);
		due[i] = -1;
	}
	for (int round = 0; round < 2000; round++) {
		seed = seed * 1103515245 + 12345;
		int i = (int)(seed >> 16) % N;
		int64_t ms = (seed >> 8) % 50;

		if (seed % 3 == 0) {
			timer_disarm(n[i].t);
			due[i] = -1;
		} else {
			timer_arm(n[i].t, ms);
			due[i] = f->mono + ms;
		}
		if (round % 10 != 0)
			continue;
		f->mono += 3;
		step(f);
		for (int k = 0; k < N; k++) {
			bool should = due[k] >= 0 && due[k] <= f->mono;

			assert_int_equal(n[k].fired, should);
			assert_int_equal(timer_armed(n[k].t), due[k] >= 0 && !should);
			if (should)
				due[k] = -1;
			n[k].fired = 0;
		}
	}
	for (int i = 0; i < N; i++)
		timer_free(&n[i].t);
}

static void rearms_itself(void *arg)
{
	struct note *n = arg;

	n->fired++;
	timer_arm(n->t, 0);
}

static void a_timer_armed_by_a_timer_waits_for_the_next_pass(void **state)
{
	struct fixture *f = *state;
	struct note n = note(f, NULL, 'a');

	assert_int_equal(timer_new(&n.t, f->loop, rearms_itself, &n, &f->e), 0);
	timer_arm(n.t, 0);
	for (int i = 1; i <= 3; i++) {
		step(f);
		assert_int_equal(n.fired, i);
	}
	timer_free(&n.t);
}

static void frees_both(void *arg)
{
	struct note *n = arg;

	n->fired++;
	timer_free(n->victim);
	timer_free(&n->t);
}

static void a_timer_may_free_itself_and_another_that_is_due(void **state)
{
	struct fixture *f = *state;
	struct note a = note(f, NULL, 'a'), b = note(f, NULL, 'b');

	assert_int_equal(timer_new(&a.t, f->loop, frees_both, &a, &f->e), 0);
	arm(f, &b, 5);
	timer_arm(a.t, 4);
	a.victim = &b.t;
	f->mono += 10;
	step(f);
	assert_int_equal(a.fired, 1);
	assert_int_equal(b.fired, 0);
	assert_null(a.t);
	assert_null(b.t);
}

/* With the real clock: the wait ends by itself. */
static void a_real_timer_wakes_the_loop(void **state)
{
	struct err e = ERR_INIT;
	struct loop *l;
	struct note n = { .fired = 0 };
	int64_t from;

	(void)state;
	assert_int_equal(loop_open(&l, NULL, &e), 0);
	assert_int_equal(timer_new(&n.t, l, fires, &n, &e), 0);
	from = loop_now(l);
	timer_arm(n.t, 15);
	while (n.fired == 0)
		assert_int_equal(loop_step(l, -1, &e), 0);
	assert_true(loop_now(l) - from >= 15);
	timer_free(&n.t);
	from = loop_now(l);
	assert_int_equal(loop_step(l, 5, &e), 0); /* nothing to wait for: the limit ends it */
	assert_true(loop_now(l) - from >= 4);
	loop_close(&l);
}

/* --- Running and stopping --------------------------------------------------------------------- */
static void stops(void *arg)
{
	struct note *n = arg;

	fires(n);
	loop_stop(n->loop);
}

static void stopping_lets_the_callback_end_and_no_other_begin(void **state)
{
	struct fixture *f = *state;
	char log[8] = "";
	struct note a = note(f, log, 'a'), b = note(f, log, 'b');

	assert_int_equal(timer_new(&a.t, f->loop, stops, &a, &f->e), 0);
	timer_arm(a.t, 0);
	arm(f, &b, 0);
	assert_int_equal(loop_run(f->loop, &f->e), 0);
	assert_string_equal(log, "a");
	step(f); /* it can go on afterwards */
	assert_string_equal(log, "ab");
	loop_stop(f->loop);
	assert_int_equal(loop_run(f->loop, &f->e), 0); /* stopped before it began */
	timer_free(&a.t);
	timer_free(&b.t);
}

/* --- Descriptors ------------------------------------------------------------------------------ */
struct ear {
	struct watch *w;
	int heard, what;
	char byte;
	bool leave, drain;
};

static void hears(void *arg, int fd, int what)
{
	struct ear *ear = arg;

	ear->heard++;
	ear->what = what;
	if (ear->drain)
		assert_int_equal(read(fd, &ear->byte, 1), 1);
	if (ear->leave)
		watch_free(&ear->w);
}

static void a_watch_is_persistent_and_level_triggered(void **state)
{
	struct fixture *f = *state;
	struct ear ear = { .heard = 0 };
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(watch_new(&ear.w, f->loop, fd[0], WATCH_READ, hears, &ear, &f->e), 0);
	step(f);
	assert_int_equal(ear.heard, 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	step(f);
	step(f);
	assert_int_equal(ear.heard, 2);
	assert_int_equal(ear.what, WATCH_READ);
	assert_int_equal(watch_set(ear.w, 0), 0);
	step(f);
	assert_int_equal(ear.heard, 2);
	assert_int_equal(watch_set(ear.w, WATCH_READ), 0);
	ear.drain = true;
	step(f);
	step(f);
	assert_int_equal(ear.heard, 3);
	assert_int_equal(ear.byte, 'x');
	ear.drain = false;
	close(fd[1]);
	step(f); /* the end of the other side is something to read */
	assert_int_equal(ear.heard, 4);
	watch_free(&ear.w);
	watch_free(&ear.w);
	close(fd[0]);
}

static void a_watch_tells_reading_from_writing(void **state)
{
	struct fixture *f = *state;
	struct ear ear = { .heard = 0 };
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(watch_new(&ear.w, f->loop, fd[1], 0, hears, &ear, &f->e), 0);
	step(f);
	assert_int_equal(ear.heard, 0);
	assert_int_equal(watch_set(ear.w, WATCH_WRITE), 0);
	step(f);
	assert_int_equal(ear.what, WATCH_WRITE);
	watch_free(&ear.w);
	close(fd[0]);
	close(fd[1]);
}

static void a_watch_may_free_itself_in_its_callback(void **state)
{
	struct fixture *f = *state;
	struct ear ear = { .heard = 0, .leave = true };
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(watch_new(&ear.w, f->loop, fd[0], WATCH_READ, hears, &ear, &f->e), 0);
	step(f);
	step(f);
	assert_int_equal(ear.heard, 1);
	assert_null(ear.w);
	close(fd[0]);
	close(fd[1]);
}

struct pair {
	struct ear *self, *other;
};

static void frees_the_other(void *arg, int fd, int what)
{
	struct pair *p = arg;

	(void)fd;
	(void)what;
	p->self->heard++;
	watch_free(&p->other->w);
}

static void a_watch_freed_by_another_of_the_same_pass_stays_silent(void **state)
{
	struct fixture *f = *state;
	struct ear a = { .heard = 0 }, b = { .heard = 0 };
	struct pair pa = { &a, &b }, pb = { &b, &a };
	int one[2], two[2];

	assert_int_equal(pipe(one), 0);
	assert_int_equal(pipe(two), 0);
	assert_int_equal(write(one[1], "x", 1), 1);
	assert_int_equal(write(two[1], "x", 1), 1);
	assert_int_equal(watch_new(&a.w, f->loop, one[0], WATCH_READ, frees_the_other, &pa, &f->e),
		0);
	assert_int_equal(watch_new(&b.w, f->loop, two[0], WATCH_READ, frees_the_other, &pb, &f->e),
		0);
	step(f);
	assert_int_equal(a.heard + b.heard, 1);
	watch_free(&a.w);
	watch_free(&b.w);
	close(one[0]);
	close(one[1]);
	close(two[0]);
	close(two[1]);
}

static void refuses_to_watch_what_cannot_be_watched(void **state)
{
	struct fixture *f = *state;
	struct watch *w;
	FILE *plain = tmpfile(); /* epoll does not take regular files */

	assert_non_null(plain);
	assert_int_equal(watch_new(&w, f->loop, fileno(plain), WATCH_READ, hears, NULL, &f->e), -1);
	assert_null(w);
	assert_int_equal(watch_new(&w, f->loop, 9999, WATCH_READ, hears, NULL, &f->e), -1);
	assert_true(strlen(f->e.msg) > 0);
	fclose(plain);
}

/* --- Signals ---------------------------------------------------------------------------------- */
struct bell {
	struct sigwatch *s;
	int rung, signo;
	bool leave;
};

static void rings(void *arg, int signo)
{
	struct bell *b = arg;

	b->rung++;
	b->signo = signo;
	if (b->leave)
		sigwatch_free(&b->s);
}

static void a_signal_is_heard_from_the_loop(void **state)
{
	struct fixture *f = *state;
	struct bell b = { .rung = 0 };
	sigset_t now;

	assert_int_equal(sigwatch_new(&b.s, f->loop, SIGUSR1, rings, &b, &f->e), 0);
	raise(SIGUSR1);
	assert_int_equal(b.rung, 0);
	step(f);
	assert_int_equal(b.rung, 1);
	assert_int_equal(b.signo, SIGUSR1);
	b.leave = true;
	raise(SIGUSR1);
	step(f);
	assert_int_equal(b.rung, 2);
	assert_null(b.s);
	sigprocmask(SIG_BLOCK, NULL, &now);
	assert_false(sigismember(&now, SIGUSR1));
}

static void a_signal_that_comes_too_late_does_not_kill(void **state)
{
	struct fixture *f = *state;
	struct bell b = { .rung = 0 };

	assert_int_equal(sigwatch_new(&b.s, f->loop, SIGUSR1, rings, &b, &f->e), 0);
	raise(SIGUSR1);
	sigwatch_free(&b.s);
	step(f);
	assert_int_equal(b.rung, 0);
}

static void two_loops_may_watch_signals_in_one_process(void **state)
{
	struct fixture *f = *state;
	struct bell a = { .rung = 0 }, b = { .rung = 0 };
	struct loop *other;

	assert_int_equal(loop_open(&other, &f->clock, &f->e), 0);
	assert_int_equal(sigwatch_new(&a.s, f->loop, SIGUSR1, rings, &a, &f->e), 0);
	assert_int_equal(sigwatch_new(&b.s, other, SIGUSR2, rings, &b, &f->e), 0);
	raise(SIGUSR2);
	raise(SIGUSR1);
	step(f);
	assert_int_equal(loop_step(other, 0, &f->e), 0);
	assert_int_equal(a.rung, 1);
	assert_int_equal(b.rung, 1);
	sigwatch_free(&b.s);
	sigwatch_free(&a.s);
	loop_close(&other);
}

static void refuses_a_signal_that_is_none(void **state)
{
	struct fixture *f = *state;
	struct sigwatch *s;

	assert_int_equal(sigwatch_new(&s, f->loop, 9999, rings, NULL, &f->e), -1);
	assert_null(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(the_system_clock_follows_the_kernel),
		T(the_loop_reads_the_clock_it_was_given),
#ifdef KAIRO_TEST_HOOKS
		T(turning_moves_both_clocks_and_the_one_handed_out),
#endif
		T(a_timer_fires_at_its_time_and_once),
#ifdef KAIRO_TEST_HOOKS
		T(turning_the_clock_fires_nothing_before_the_loop_runs),
#endif
		T(arming_never_calls_back_at_once),
		T(the_farthest_time_does_not_overflow),
		T(timers_fire_by_time_then_by_order_of_arming),
		T(rearming_replaces_and_disarming_silences),
		T(many_timers_fire_as_a_sorted_list_would),
		T(a_timer_armed_by_a_timer_waits_for_the_next_pass),
		T(a_timer_may_free_itself_and_another_that_is_due),
		T(a_real_timer_wakes_the_loop),
		T(stopping_lets_the_callback_end_and_no_other_begin),
		T(a_watch_is_persistent_and_level_triggered),
		T(a_watch_tells_reading_from_writing),
		T(a_watch_may_free_itself_in_its_callback),
		T(a_watch_freed_by_another_of_the_same_pass_stays_silent),
		T(refuses_to_watch_what_cannot_be_watched),
		T(a_signal_is_heard_from_the_loop),
		T(a_signal_that_comes_too_late_does_not_kill),
		T(two_loops_may_watch_signals_in_one_process),
		T(refuses_a_signal_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
