/* base/loop.h: the one event loop of a daemon: timers, descriptors, signals, deferred calls.
 *
 * A thin layer over libevent that (a) reads time from a struct clock, so that a test can turn it,
 * (b) gives every timer and watch one owner and one canceller, (c) never calls back under the
 * caller's feet: no function here runs a callback before it returns. Callbacks cast, call one named
 * step and return. Any object may be freed from inside its own callback. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

struct event_base;
struct loop;

/* clk NULL: the system clock. The clock must outlive the loop. */
int loop_open(struct loop **out, const struct clock *clk, struct err *e);
void loop_close(struct loop **l); /* everything made from it is freed first, by its owner */
int loop_run(struct loop *l, struct err *e); /* until loop_stop */
void loop_stop(struct loop *l);              /* after the current callback */
/* One pass: wait for events at most max_ms (0: poll, -1: until something happens), run what is
 * due. */
int loop_step(struct loop *l, int64_t max_ms, struct err *e);
int64_t loop_now(const struct loop *l);               /* monotonic milliseconds */
int64_t loop_wall(const struct loop *l);              /* Unix milliseconds */
const struct clock *loop_clock(const struct loop *l); /* both, turned too; lives as long as l */
struct event_base *loop_base(struct loop *l);

#ifdef KAIRO_TEST_HOOKS
/* Move this loop's monotonic and wall clock forward by ms; timers that fall due fire from the
 * loop. */
void loop_turn_clock(struct loop *l, int64_t ms);
#endif

struct timer;
typedef void timer_cb(void *arg);
int timer_new(struct timer **out, struct loop *l, timer_cb *cb, void *arg, struct err *e);
/* Once, from now; re-arming replaces; ms <= 0: at the next pass. */
void timer_arm(struct timer *t, int64_t ms);
void timer_disarm(struct timer *t);
bool timer_armed(const struct timer *t);
int64_t timer_left(const struct timer *t); /* milliseconds, 0 when due or not armed */
void timer_free(struct timer **t);

enum { WATCH_READ = 1, WATCH_WRITE = 2 };
struct watch;
typedef void watch_cb(void *arg, int fd, int what);
/* Level-triggered, persistent. The descriptor stays the caller's. */
int watch_new(struct watch **out, struct loop *l, int fd, int what, watch_cb *cb, void *arg,
	struct err *e);
int watch_set(struct watch *w, int what); /* 0 pauses it; -1: no memory, it is paused */
void watch_free(struct watch **w);

/* Blocks the signal in this thread while it is watched (signalfd); made before other threads are,
 * freed in reverse order. Of several watches on one signal, one hears of it. */
struct sigwatch;
typedef void sigwatch_cb(void *arg, int signo);
int sigwatch_new(struct sigwatch **out, struct loop *l, int signo, sigwatch_cb *cb, void *arg,
	struct err *e);
void sigwatch_free(struct sigwatch **s);

#endif
