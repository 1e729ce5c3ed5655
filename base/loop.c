#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct timer {
	struct loop *loop;
	timer_cb *cb;
	void *arg;
	int64_t due;    /* monotonic milliseconds */
	uint64_t order; /* of arming: timers due together fire first armed, first fired */
	size_t at;      /* place in the heap, NOT_ARMED outside */
};

#define NOT_ARMED SIZE_MAX

struct loop {
	struct event_base *base;
	const struct clock *clk;
	struct clock own; /* what loop_clock hands out */
	int64_t turned;   /* by loop_turn_clock */
	/* One kernel timer stands for the whole heap; CLOCK_BOOTTIME wakes us after a suspend too.
	 */
	int alarm_fd;
	int64_t alarm_due;
	struct event *alarm, *limit;
	struct timer **heap; /* binary heap by (due, order) with room for every timer */
	size_t armed, timers, room;
	uint64_t order;
	size_t others; /* watches and sigwatches alive */
	bool running, stop;
};

#define NO_ALARM INT64_MAX

/* --- The heap of timers ----------------------------------------------------------------------- */

static bool before(const struct timer *a, const struct timer *b)
{
	return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static void place(struct loop *l, size_t at, struct timer *t)
{
	l->heap[at] = t;
	t->at = at;
}

/* Put t where it belongs, starting from the free place `at`. */
static void settle(struct loop *l, size_t at, struct timer *t)
{
	while (at > 0 && before(t, l->heap[(at - 1) / 2])) {
		place(l, at, l->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < l->armed && before(l->heap[child + 1], l->heap[child]))
			child++;
		if (child >= l->armed || before(t, l->heap[child]))
			break;
		place(l, at, l->heap[child]);
		at = child;
	}
	place(l, at, t);
}

void timer_disarm(struct timer *t)
{
	struct loop *l = t->loop;
	size_t at = t->at;

	if (at == NOT_ARMED)
		return;
	t->at = NOT_ARMED;
	l->armed--;
	if (at < l->armed)
		settle(l, at, l->heap[l->armed]);
}

void timer_arm(struct timer *t, int64_t ms)
{
	struct loop *l = t->loop;
	int64_t now = loop_now(l);

	timer_disarm(t);
	if (ms < 0)
		ms = 0;
	t->due = ms < INT64_MAX - 1 - now ? now + ms : INT64_MAX - 1;
	t->order = ++l->order;
	settle(l, l->armed++, t);
}

bool timer_armed(const struct timer *t)
{
	return t->at != NOT_ARMED;
}

int64_t timer_left(const struct timer *t)
{
	int64_t left = timer_armed(t) ? t->due - loop_now(t->loop) : 0;

	return left > 0 ? left : 0;
}

int timer_new(struct timer **out, struct loop *l, timer_cb *cb, void *arg, struct err *e)
{
	struct timer *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return err_set(e, E_NOMEM, "no memory for a timer");
	/* Room for all of them, so that arming cannot fail. */
	if (l->timers == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		struct timer **heap = realloc(l->heap, room * sizeof(struct timer *));

		if (!heap) {
			free(t);
			return err_set(e, E_NOMEM, "no memory for a timer");
		}
		l->heap = heap;
		l->room = room;
	}
	l->timers++;
	*t = (struct timer){ .loop = l, .cb = cb, .arg = arg, .at = NOT_ARMED };
	*out = t;
	return 0;
}

void timer_free(struct timer **tp)
{
	struct timer *t = *tp;

	*tp = NULL;
	if (!t)
		return;
	timer_disarm(t);
	t->loop->timers--;
	free(t);
}

/* Fire what is due, but nothing that is armed meanwhile: a timer that re-arms itself for "at once"
 * must not keep descriptors from being served. */
static void fire_timers(struct loop *l)
{
	uint64_t last = l->order;
	int64_t now = loop_now(l);

	while (!l->stop && l->armed > 0) {
		struct timer *t = l->heap[0];

		if (t->due > now || t->order > last)
			return;
		timer_disarm(t);
		t->cb(t->arg);
	}
}

/* --- The loop --------------------------------------------------------------------------------- */

static int64_t own_mono(void *arg)
{
	return loop_now(arg);
}

static int64_t own_wall(void *arg)
{
	return loop_wall(arg);
}

static void on_alarm(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof(times)) == (ssize_t)sizeof(times))
		l->alarm_due = NO_ALARM;
}

/* Its only work is to end the wait. */
static void on_limit(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* libevent tells stderr of every failure; ours are told by struct err. */
static void swallow(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static struct event_base *new_base(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	event_set_log_callback(swallow);
	if (cfg && event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK) == 0 &&
		event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV) == 0)
		base = event_base_new_with_config(cfg);
	if (cfg)
		event_config_free(cfg);
	return base;
}

int loop_open(struct loop **out, const struct clock *clk, struct err *e)
{
	struct loop *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return err_set(e, E_NOMEM, "no memory for an event loop");
	l->clk = clk ? clk : clock_system();
	l->own = (struct clock){ .mono_ms = own_mono, .wall_ms = own_wall, .arg = l };
	l->alarm_due = NO_ALARM;
	l->alarm_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	l->base = new_base();
	if (l->base && l->alarm_fd >= 0) {
		l->alarm = event_new(l->base, l->alarm_fd, EV_READ | EV_PERSIST, on_alarm, l);
		l->limit = event_new(l->base, -1, 0, on_limit, NULL);
	}
	if (!l->alarm || !l->limit || event_add(l->alarm, NULL) < 0) {
		err_sys(e, "cannot set up an event loop");
		loop_close(&l);
		return -1;
	}
	*out = l;
	return 0;
}

void loop_close(struct loop **lp)
{
	struct loop *l = *lp;

	*lp = NULL;
	if (!l)
		return;
	assert(!l->running && l->timers == 0 && l->others == 0);
	if (l->limit)
		event_free(l->limit);
	if (l->alarm)
		event_free(l->alarm);
	if (l->base)
		event_base_free(l->base);
	if (l->alarm_fd >= 0)
		close(l->alarm_fd);
	free(l->heap);
	free(l);
}

/* The kernel timer is told only before a wait, and only when the soonest timer has changed. */
static int set_alarm(struct loop *l, struct err *e)
{
	int64_t due = l->armed > 0 ? l->heap[0]->due : NO_ALARM;
	struct itimerspec its = { .it_value = { 0, 0 } };
	int64_t left;

	if (due == l->alarm_due)
		return 0;
	if (due != NO_ALARM) {
		left = due - loop_now(l);
		its.it_value.tv_sec = left > 0 ? left / 1000 : 0;
		its.it_value.tv_nsec = left > 0 ? left % 1000 * 1000000 : 1; /* 0 disarms */
	}
	if (timerfd_settime(l->alarm_fd, 0, &its, NULL) < 0)
		return err_sys(e, "cannot set the event loop's timer");
	l->alarm_due = due;
	return 0;
}

static bool timer_is_due(const struct loop *l)
{
	return l->armed > 0 && l->heap[0]->due <= loop_now(l);
}

static int pass(struct loop *l, int64_t max_ms, struct err *e)
{
	struct timeval tv = { .tv_sec = max_ms / 1000, .tv_usec = (max_ms % 1000) * 1000 };
	int flags = EVLOOP_ONCE;
	int rc;

	/* Not NONBLOCK alone: libevent would go on for as long as anything is ready. */
	if (max_ms == 0 || timer_is_due(l))
		flags |= EVLOOP_NONBLOCK;
	else if (set_alarm(l, e) < 0)
		return -1;
	else if (max_ms > 0 && evtimer_add(l->limit, &tv) < 0)
		return err_set(e, E_NOMEM, "no memory for the event loop's timer");
	rc = event_base_loop(l->base, flags);
	event_del(l->limit);
	if (rc < 0)
		return err_sys(e, "cannot wait for events");
	fire_timers(l);
	return 0;
}

int loop_step(struct loop *l, int64_t max_ms, struct err *e)
{
	bool stop = l->stop;
	int rc;

	assert(!l->running);
	l->running = true;
	l->stop = false;
	rc = pass(l, max_ms, e);
	l->stop = l->stop || stop;
	l->running = false;
	return rc;
}

int loop_run(struct loop *l, struct err *e)
{
	int rc = 0;

	while (!l->stop && rc == 0)
		rc = loop_step(l, -1, e);
	l->stop = false;
	return rc;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
	(void)event_base_loopbreak(l->base);
}

int64_t loop_now(const struct loop *l)
{
	return clock_mono(l->clk) + l->turned;
}

int64_t loop_wall(const struct loop *l)
{
	return clock_wall(l->clk) + l->turned;
}

const struct clock *loop_clock(const struct loop *l)
{
	return &l->own;
}

struct event_base *loop_base(struct loop *l)
{
	return l->base;
}

#ifdef KAIRO_TEST_HOOKS
void loop_turn_clock(struct loop *l, int64_t ms)
{
	l->turned += ms;
	l->alarm_due = NO_ALARM; /* what the kernel was told no longer holds */
}
#endif

/* --- Descriptors ------------------------------------------------------------------------------ */

struct watch {
	struct loop *loop;
	struct event *ev;
	watch_cb *cb;
	void *arg;
	int fd, what;
};

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;

	w->cb(w->arg, fd, (what & EV_READ ? WATCH_READ : 0) | (what & EV_WRITE ? WATCH_WRITE : 0));
}

static short event_flags(int what)
{
	int flags = EV_PERSIST;

	if (what & WATCH_READ)
		flags |= EV_READ;
	if (what & WATCH_WRITE)
		flags |= EV_WRITE;
	return (short)flags;
}

int watch_new(struct watch **out, struct loop *l, int fd, int what, watch_cb *cb, void *arg,
	struct err *e)
{
	struct watch *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (!w)
		return err_set(e, E_NOMEM, "no memory to watch a descriptor");
	*w = (struct watch){ .loop = l, .cb = cb, .arg = arg, .fd = fd };
	w->ev = event_new(l->base, fd, event_flags(0), on_ready, w);
	if (!w->ev || watch_set(w, what) < 0) {
		err_sys(e, "cannot watch descriptor %d", fd);
		if (w->ev)
			event_free(w->ev);
		free(w);
		return -1;
	}
	l->others++;
	*out = w;
	return 0;
}

int watch_set(struct watch *w, int what)
{
	if (what == w->what)
		return 0;
	if (event_del(w->ev) < 0 ||
		event_assign(w->ev, w->loop->base, w->fd, event_flags(what), on_ready, w) < 0)
		return -1;
	w->what = 0;
	if (what != 0 && event_add(w->ev, NULL) < 0)
		return -1;
	w->what = what;
	return 0;
}

void watch_free(struct watch **wp)
{
	struct watch *w = *wp;

	*wp = NULL;
	if (!w)
		return;
	event_free(w->ev);
	w->loop->others--;
	free(w);
}

/* --- Signals ---------------------------------------------------------------------------------- */

/* By signalfd, not by libevent, which keeps its signals in a global and serves one loop only. */
struct sigwatch {
	struct watch *watch;
	sigwatch_cb *cb;
	void *arg;
	int fd, signo;
	bool unblock;
};

static void on_signal(void *arg, int fd, int what)
{
	struct sigwatch *s = arg;
	struct signalfd_siginfo info;

	(void)what;
	/* One a pass: the callback may free us. */
	if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->cb(s->arg, s->signo);
}

int sigwatch_new(struct sigwatch **out, struct loop *l, int signo, sigwatch_cb *cb, void *arg,
	struct err *e)
{
	struct sigwatch *s = calloc(1, sizeof(*s));
	sigset_t set, old;

	*out = NULL;
	if (!s)
		return err_set(e, E_NOMEM, "no memory to watch a signal");
	*s = (struct sigwatch){ .cb = cb, .arg = arg, .fd = -1, .signo = signo };
	sigemptyset(&set);
	if (sigaddset(&set, signo) < 0 || sigprocmask(SIG_BLOCK, &set, &old) < 0) {
		free(s);
		return err_sys(e, "cannot watch signal %d", signo);
	}
	s->unblock = !sigismember(&old, signo);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0 || watch_new(&s->watch, l, s->fd, WATCH_READ, on_signal, s, e) < 0) {
		if (s->fd < 0)
			err_sys(e, "cannot watch signal %d", signo);
		sigwatch_free(&s);
		return -1;
	}
	*out = s;
	return 0;
}

void sigwatch_free(struct sigwatch **sp)
{
	struct sigwatch *s = *sp;
	struct signalfd_siginfo info;
	sigset_t set;

	*sp = NULL;
	if (!s)
		return;
	watch_free(&s->watch);
	/* What came too late must not strike when the signal is let through again. */
	while (s->fd >= 0 && read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
	if (s->unblock) {
		sigemptyset(&set);
		sigaddset(&set, s->signo);
		(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}
