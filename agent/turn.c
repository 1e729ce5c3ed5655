#include "agent/turn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define OPEN_QUESTIONS 16
#define QUESTION_ID    128

enum turn_state {
	TURN_IDLE,
	TURN_RUNNING,
	TURN_CANCELLED, /* fenced off by the user, the engine has not ended yet */
	TURN_EXPIRED,   /* the same by the clock */
	TURN_REJECTED   /* the input was not fit; its end is on the way */
};

struct turns {
	struct loop *loop;
	struct engine *engine;
	struct log *log;
	engine_event_cb *on_event;
	engine_deliver_cb *deliver;
	void *arg;

	enum turn_state state;
	enum origin origin;
	uint64_t turn;   /* of the running turn; 0: none */
	uint64_t newest; /* the largest that ever was */
	int64_t started;
	const char *reason; /* why it was rejected */

	int64_t deadline_ms;
	struct timer *deadline;
	int64_t left; /* of the deadline while a question holds it */
	struct timer *reject;

	/* Questions that wait for an answer. One that finds no room here can be answered all the
	 * same; it only does not hold the deadline. */
	char question[OPEN_QUESTIONS][QUESTION_ID];
	int questions;

	bool *gone; /* set while a callback runs that may close us */
};

static void turn_step(struct turns *t, enum turn_state to)
{
	static const char *const names[] = { "idle", "running", "cancelled", "expired",
		"rejected" };

	log_debug(t->log, "turn", "%llu: %s -> %s", (unsigned long long)t->turn, names[t->state],
		names[to]);
	t->state = to;
}

/* --- Questions and the deadline --------------------------------------------------------------- */

static void deadline_hold(struct turns *t)
{
	if (!timer_armed(t->deadline))
		return;
	t->left = timer_left(t->deadline);
	timer_disarm(t->deadline);
}

static void deadline_go_on(struct turns *t)
{
	if (t->state == TURN_RUNNING && t->questions == 0 && !timer_armed(t->deadline))
		timer_arm(t->deadline, t->left);
}

static int question_find(const struct turns *t, const char *id)
{
	for (int i = 0; i < t->questions; i++)
		if (strcmp(t->question[i], id) == 0)
			return i;
	return -1;
}

static void question_opened(struct turns *t, const char *id)
{
	if (!id || question_find(t, id) >= 0)
		return;
	if (t->questions == OPEN_QUESTIONS ||
		copy_z(t->question[t->questions], QUESTION_ID, view_of(id)) < 0) {
		log_warn(t->log, "turn", "%llu: a question does not hold the deadline",
			(unsigned long long)t->turn);
		return;
	}
	t->questions++;
	deadline_hold(t);
}

static void question_closed(struct turns *t, const char *id)
{
	int i = question_find(t, id);

	if (i < 0)
		return;
	t->questions--;
	memmove(t->question[i], t->question[i + 1], (size_t)(t->questions - i) * QUESTION_ID);
	deadline_go_on(t);
}

/* --- The single way out ----------------------------------------------------------------------- */

/* False: the receiver closed us. */
static bool hand_on(struct turns *t, const struct engine_event *ev)
{
	bool gone = false;
	bool *outer = t->gone;

	/* cppcheck-suppress autoVariables ; taken back below, if t still lives then */
	t->gone = &gone;
	t->on_event(t->arg, ev);
	if (gone) {
		if (outer)
			*outer = true;
		return false;
	}
	t->gone = outer;
	return true;
}

static void turn_end(struct turns *t, const struct engine_event *from_engine)
{
	struct engine_event ev = *from_engine;

	timer_disarm(t->deadline);
	timer_disarm(t->reject);
	t->questions = 0;
	if (t->state == TURN_CANCELLED) {
		ev.fail = ENGINE_FAIL_CANCELLED;
		ev.text = VIEW_NONE;
		ev.detail = "";
	} else if (t->state == TURN_EXPIRED) {
		ev.fail = ENGINE_FAIL_DEADLINE;
		ev.detail = "";
	}
	if (!ev.detail)
		ev.detail = "";
	if (!hand_on(t, &ev))
		return;
	turn_step(t, TURN_IDLE);
	t->turn = 0;
}

static void turns_on_event(void *arg, const struct engine_event *ev)
{
	struct turns *t = arg;

	if (ev->turn == 0) {
		if (ev->type == ENGINE_BUSY || ev->type == ENGINE_NOTICE)
			(void)hand_on(t, ev);
		return;
	}
	if (ev->turn != t->turn || t->state == TURN_REJECTED) {
		log_debug(t->log, "turn", "late event %d of turn %llu dropped", (int)ev->type,
			(unsigned long long)ev->turn);
		return;
	}
	if (ev->type == ENGINE_DONE) {
		turn_end(t, ev);
		return;
	}
	if (t->state != TURN_RUNNING)
		return;
	if (ev->type == ENGINE_APPROVAL || ev->type == ENGINE_QUESTION)
		question_opened(t, ev->id);
	else if (ev->type == ENGINE_WITHDRAWN)
		question_closed(t, ev->id);
	(void)hand_on(t, ev);
}

static int turns_on_deliver(void *arg, uint64_t turn, struct view path, struct view caption,
	struct err *e)
{
	struct turns *t = arg;

	if (turn != t->turn || t->state != TURN_RUNNING)
		return err_set(e, E_CANCELLED, "this turn is over: nothing more of it is sent");
	if (!t->deliver || t->origin == ORIGIN_TERMINAL)
		return err_set(e, E_UNSUPPORTED,
			"nothing is sent to a terminal: leave the file where it is and name its path "
			"in your answer");
	return t->deliver(t->arg, turn, path, caption, e);
}

static void turns_on_deadline(void *arg)
{
	struct turns *t = arg;

	if (t->state != TURN_RUNNING)
		return;
	turn_step(t, TURN_EXPIRED);
	t->engine->ops->cancel(t->engine, t->turn);
}

static void turns_on_reject(void *arg)
{
	struct turns *t = arg;
	struct engine_event ev = { .type = ENGINE_DONE, .turn = t->turn };

	ev.fail = ENGINE_FAIL_INPUT;
	ev.detail = t->reason;
	turn_end(t, &ev);
}

/* --- Starting --------------------------------------------------------------------------------- */

/* NULL: fit for an engine. */
static const char *input_fault(struct view text)
{
	if (text.n > ENGINE_INPUT_MAX)
		return "the message is over 1 MiB";
	if (view_trim(text).n == 0)
		return "the message is empty";
	if (memchr(text.p, '\0', text.n) || !utf8_valid(text))
		return "the message is not valid text";
	return NULL;
}

/* CRLF and CR become LF; *out is only filled when there was something to change. */
static int unify_lines(struct view text, struct str *out)
{
	if (!memchr(text.p, '\r', text.n))
		return 0;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
			continue;
		if (str_addc(out, text.p[i] == '\r' ? '\n' : text.p[i]) < 0)
			return -1;
	}
	return 1;
}

static int start_engine(struct turns *t, const struct turn_input *in, struct err *e)
{
	struct turn_input clean = *in;
	struct str text = STR_INIT(ENGINE_INPUT_MAX);
	int rc = unify_lines(in->text, &text);

	if (rc < 0) {
		err_set(e, E_NOMEM, "a message of %zu bytes", in->text.n);
	} else {
		if (rc > 0)
			clean.text = str_view(&text);
		rc = t->engine->ops->start(t->engine, &clean, e);
	}
	str_release(&text);
	return rc;
}

int turns_start(struct turns *t, const struct turn_input *in, struct err *e)
{
	if (t->state != TURN_IDLE)
		return err_set(e, E_BUSY, "a turn is running");
	if (in->turn <= t->newest)
		return err_set(e, E_CONFLICT, "turn %llu was used before",
			(unsigned long long)in->turn);
	t->newest = t->turn = in->turn;
	t->origin = in->origin;
	t->started = loop_now(t->loop);
	t->questions = 0;
	t->reason = input_fault(in->text);
	if (t->reason) {
		turn_step(t, TURN_REJECTED);
		timer_arm(t->reject, 0);
		return 0;
	}
	turn_step(t, TURN_RUNNING);
	if (start_engine(t, in, e) < 0) {
		turn_step(t, TURN_IDLE);
		t->turn = 0;
		return -1;
	}
	timer_arm(t->deadline, t->deadline_ms);
	return 0;
}

/* --- The rest --------------------------------------------------------------------------------- */

int turns_open(struct turns **out, struct loop *l, struct engine *g, int64_t deadline_ms,
	engine_event_cb *on_event, engine_deliver_cb *deliver, void *arg, struct log *log,
	struct err *e)
{
	struct turns *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return err_set(e, E_NOMEM, "turns");
	t->loop = l;
	t->engine = g;
	t->log = log;
	t->on_event = on_event;
	t->deliver = deliver;
	t->arg = arg;
	t->deadline_ms = deadline_ms > 0 ? deadline_ms : TURN_DEADLINE_MS;
	if (timer_new(&t->deadline, l, turns_on_deadline, t, e) < 0 ||
		timer_new(&t->reject, l, turns_on_reject, t, e) < 0) {
		timer_free(&t->deadline);
		free(t);
		return -1;
	}
	g->on_event = turns_on_event;
	g->deliver = turns_on_deliver;
	g->arg = t;
	*out = t;
	return 0;
}

static void drop_event(void *arg, const struct engine_event *ev)
{
	(void)arg;
	(void)ev;
}

static int drop_file(void *arg, uint64_t turn, struct view path, struct view caption, struct err *e)
{
	(void)arg;
	(void)turn;
	(void)path;
	(void)caption;
	return err_set(e, E_CANCELLED, "nothing is sent any more");
}

void turns_close(struct turns **tp)
{
	struct turns *t = *tp;

	if (!t)
		return;
	*tp = NULL;
	t->engine->on_event = drop_event;
	t->engine->deliver = drop_file;
	t->engine->arg = NULL;
	if (t->state != TURN_IDLE && t->state != TURN_REJECTED)
		t->engine->ops->cancel(t->engine, t->turn);
	timer_free(&t->deadline);
	timer_free(&t->reject);
	if (t->gone)
		*t->gone = true;
	free(t);
}

bool turns_cancel(struct turns *t)
{
	if (t->state == TURN_IDLE)
		return false;
	if (t->state == TURN_CANCELLED)
		return true;
	if (t->state == TURN_REJECTED) {
		turn_step(t, TURN_CANCELLED);
		return true; /* the end is on its way already */
	}
	turn_step(t, TURN_CANCELLED);
	timer_disarm(t->deadline);
	t->engine->ops->cancel(t->engine, t->turn);
	return true;
}

bool turns_running(const struct turns *t)
{
	return t->state != TURN_IDLE;
}

int64_t turns_age_ms(const struct turns *t)
{
	return t->state == TURN_IDLE ? 0 : loop_now(t->loop) - t->started;
}

int turns_answer(struct turns *t, const char *id, int choice, struct err *e)
{
	if (t->state != TURN_RUNNING)
		return err_set(e, E_NOTFOUND, "no turn waits for an answer");
	question_closed(t, id);
	return t->engine->ops->answer(t->engine, id, choice, e);
}
