#include "agent/acp/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum review {
	REVIEW_NONE,
	REVIEW_RUNS, /* the agent looks at what has ended */
	REVIEW_OVER  /* it has: to be read when that is due */
};

/* Of one session. */
struct bench {
	char *session;
	enum review review;
	uint64_t number; /* of the newest review */
	int64_t since, due;
	int reads;
	bool doubted;     /* nobody said that it is over */
	bool turn;        /* the user's own runs */
	bool bare;        /* the last review was read without a task known to have ended */
	int64_t read_at;  /* the last one; 0: none */
	int64_t ended_at; /* an end whose begin has not been heard of; 0: none */
	int64_t begun_at; /* a begin that was taken for granted; 0: none */
	char reason[TASKS_REASON_MAX + 1];
};

struct tasks {
	struct task *tasks[TASKS_MAX]; /* the oldest first */
	size_t n;
	struct bench *benches[TASKS_SESSIONS];
	size_t nbenches;
	uint64_t reviews;
};

int tasks_open(struct tasks **out, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(e, E_NOMEM, "background tasks");
}

static void task_free(struct task *k)
{
	if (!k)
		return;
	free(k->session);
	free(k->id);
	free(k->kind);
	free(k->what);
	free(k->end);
	free(k->reply);
	free(k);
}

void tasks_clear(struct tasks *t)
{
	while (t->n > 0)
		task_free(t->tasks[--t->n]);
	while (t->nbenches > 0) {
		free(t->benches[--t->nbenches]->session);
		free(t->benches[t->nbenches]);
	}
}

void tasks_close(struct tasks **tp)
{
	if (!*tp)
		return;
	tasks_clear(*tp);
	free(*tp);
	*tp = NULL;
}

/* --- Finding ---------------------------------------------------------------------------------- */

static struct bench *find_bench(const struct tasks *t, struct view session)
{
	for (size_t i = 0; i < t->nbenches; i++)
		if (view_eqs(session, t->benches[i]->session))
			return t->benches[i];
	return NULL;
}

static struct task *find_task(const struct tasks *t, struct view session, struct view id)
{
	for (size_t i = 0; i < t->n; i++)
		if (view_eqs(session, t->tasks[i]->session) && view_eqs(id, t->tasks[i]->id))
			return t->tasks[i];
	return NULL;
}

struct task *tasks_each(const struct tasks *t, struct view session, enum task_state state,
	struct task *after)
{
	for (size_t i = 0; i < t->n; i++) {
		struct task *k = t->tasks[i];

		if (after)
			after = after == k ? NULL : after;
		else if (k->state == state && (!session.p || view_eqs(session, k->session)))
			return k;
	}
	return NULL;
}

size_t tasks_running(const struct tasks *t, struct view session)
{
	struct task *k = NULL;
	size_t n = 0;

	while ((k = tasks_each(t, session, TASK_RUNNING, k)) != NULL)
		n++;
	return n;
}

bool tasks_reviewing(const struct tasks *t, struct view session)
{
	const struct bench *b = find_bench(t, session);

	return b && b->review != REVIEW_NONE;
}

bool tasks_over(const struct tasks *t, struct view session)
{
	const struct bench *b = find_bench(t, session);

	return b && b->review == REVIEW_OVER;
}

bool tasks_busy(const struct tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->tasks[i]->state != TASK_TOLD)
			return true;
	for (size_t i = 0; i < t->nbenches; i++)
		if (t->benches[i]->review != REVIEW_NONE)
			return true;
	return false;
}

const char *tasks_reason(const struct tasks *t, struct view session)
{
	const struct bench *b = find_bench(t, session);

	return b ? b->reason : "";
}

/* --- Adding ----------------------------------------------------------------------------------- */

static bool idle(const struct tasks *t, const struct bench *b)
{
	struct view session = view_of(b->session);

	return b->review == REVIEW_NONE && !b->turn &&
	       !tasks_each(t, session, TASK_RUNNING, NULL) &&
	       !tasks_each(t, session, TASK_ENDED, NULL);
}

/* NULL: there is no room, or no memory. */
static struct bench *take_bench(struct tasks *t, struct view session)
{
	struct bench *b = find_bench(t, session);
	size_t i = 0;

	if (b)
		return b;
	while (t->nbenches == TASKS_SESSIONS && i < t->nbenches && !idle(t, t->benches[i]))
		i++;
	if (i == TASKS_SESSIONS)
		return NULL;
	if (t->nbenches == TASKS_SESSIONS) {
		free(t->benches[i]->session);
		free(t->benches[i]);
		t->benches[i] = t->benches[--t->nbenches];
	}
	b = calloc(1, sizeof(*b));
	if (!b || !(b->session = strndup(session.p, session.n))) {
		free(b);
		return NULL;
	}
	return t->benches[t->nbenches++] = b;
}

static char *dup_text(struct view v, size_t max)
{
	v = view_cut(v, utf8_cut(v, max));
	return v.n > 0 ? strndup(v.p, v.n) : strdup("");
}

/* Those that are told go first, and they go with what protects from late hooks: that is why there
 * are many of them. False: all of them run. */
static bool make_room(struct tasks *t)
{
	size_t i = 0;

	if (t->n < TASKS_MAX)
		return true;
	while (i < t->n && t->tasks[i]->state != TASK_TOLD)
		i++;
	if (i == t->n)
		return false;
	task_free(t->tasks[i]);
	memmove(&t->tasks[i], &t->tasks[i + 1], (--t->n - i) * sizeof(struct task *));
	return true;
}

static struct task *add_task(struct tasks *t, const struct hook *h, int64_t now)
{
	struct task *k = make_room(t) ? calloc(1, sizeof(*k)) : NULL;

	if (!k)
		return NULL;
	k->began = now;
	k->session = dup_text(h->session, SIZE_MAX);
	k->id = dup_text(h->task, SIZE_MAX);
	k->kind = dup_text(h->kind, TASKS_WHAT_MAX);
	k->what = dup_text(h->event == HOOK_TASK_STARTED ? h->text : VIEW_NONE, TASKS_WHAT_MAX);
	k->end = strdup("");
	if (k->session && k->id && k->kind && k->what && k->end)
		return t->tasks[t->n++] = k;
	task_free(k);
	return NULL;
}

/* --- Tasks ------------------------------------------------------------------------------------ */

/* One that is known already runs, or its end came first. */
static void take_started(struct tasks *t, const struct bench *b, const struct hook *h, int64_t now)
{
	struct task *k = find_task(t, h->session, h->task);

	if (!k && (k = add_task(t, h, now)) != NULL && b->review != REVIEW_NONE)
		k->review = b->number;
}

static void take_end(struct tasks *t, struct bench *b, const struct hook *h, int64_t now)
{
	struct task *k = find_task(t, h->session, h->task);
	char *end;

	if (!k)
		k = add_task(t, h, now);
	if (!k || k->state != TASK_RUNNING)
		return;
	if ((end = dup_text(h->text, TASKS_REASON_MAX)) != NULL) {
		free(k->end);
		k->end = end;
	}
	k->failed = h->failed;
	k->state = TASK_ENDED;
	if (b->bare && b->read_at > 0 && now - b->read_at < TASKS_GRACE_MS) {
		b->bare = false; /* its review was read already */
		k->state = TASK_TOLD;
	} else if (b->review == REVIEW_NONE && !b->turn) {
		k->due = now + TASKS_GRACE_MS;
	}
}

/* It does not say which task it was: the oldest that is an agent and has not answered. */
static void take_reply(struct tasks *t, const struct hook *h)
{
	for (size_t i = 0; i < t->n; i++) {
		struct task *k = t->tasks[i];

		if (k->state == TASK_TOLD || k->reply || strcmp(k->kind, "agent") != 0 ||
			!view_eqs(h->session, k->session))
			continue;
		k->reply = dup_text(h->text, TASKS_REPLY_MAX);
		return;
	}
}

/* --- Reviews ---------------------------------------------------------------------------------- */

static void over(struct bench *b, int64_t now)
{
	b->review = REVIEW_OVER;
	b->due = now + TASKS_SETTLE_MS;
	b->reads = 0;
	b->doubted = false;
}

static void begin_review(struct tasks *t, struct bench *b, int64_t now)
{
	struct task *k = NULL;

	b->review = REVIEW_RUNS;
	b->number = ++t->reviews;
	b->since = now;
	b->bare = false;
	b->reason[0] = '\0';
	while ((k = tasks_each(t, view_of(b->session), TASK_ENDED, k)) != NULL)
		k->due = 0;
}

static bool lately(int64_t at, int64_t now)
{
	return at > 0 && now - at < TASKS_GRACE_MS;
}

static void take_begin(struct tasks *t, struct bench *b, const struct hook *h, int64_t now)
{
	if (h->by_user) {
		if (b->review == REVIEW_RUNS)
			over(b, now);
		return;
	}
	if (lately(b->begun_at, now)) {
		b->begun_at = 0;
		return;
	}
	begin_review(t, b, now);
	if (lately(b->ended_at, now))
		over(b, now);
	b->ended_at = 0;
}

static void take_over(struct tasks *t, struct bench *b, const struct hook *h, int64_t now)
{
	struct view session = view_of(b->session);

	if (b->review == REVIEW_NONE && b->turn)
		return; /* the user's own */
	if (b->review == REVIEW_NONE && !tasks_each(t, session, TASK_ENDED, NULL)) {
		b->ended_at = now;
		return;
	}
	if (b->review == REVIEW_NONE) {
		begin_review(t, b, now);
		b->begun_at = now;
	}
	over(b, now); /* again where it was not the review's end, but that of an agent within it */
	if (h->event == HOOK_STOP_FAILURE)
		(void)copy_z(b->reason, sizeof(b->reason),
			view_cut(h->text, utf8_cut(h->text, TASKS_REASON_MAX)));
}

void tasks_take(struct tasks *t, const struct hook *h, int64_t now)
{
	struct bench *b = take_bench(t, h->session);

	if (!b)
		return;
	switch (h->event) {
	case HOOK_TASK_STARTED: take_started(t, b, h, now); break;
	case HOOK_NOTIFICATION: take_end(t, b, h, now); break;
	case HOOK_SUBAGENT_STOP: take_reply(t, h); break;
	case HOOK_TURN_STARTED: take_begin(t, b, h, now); break;
	case HOOK_STOP:
	case HOOK_STOP_FAILURE:
	case HOOK_INTERRUPT: take_over(t, b, h, now); break;
	}
}

void tasks_turn(struct tasks *t, struct view session, bool runs, bool answered, int64_t now)
{
	struct bench *b = runs ? take_bench(t, session) : find_bench(t, session);
	struct task *k = NULL;

	if (!b)
		return;
	b->turn = runs;
	while (!runs && b->review == REVIEW_NONE &&
		(k = tasks_each(t, session, TASK_ENDED, k)) != NULL) {
		if (answered && k->due == 0)
			k->state = TASK_TOLD;
		else if (k->due == 0)
			k->due = now + TASKS_GRACE_MS;
	}
}

/* --- What is due ------------------------------------------------------------------------------ */

static bool began_another(const struct tasks *t, const struct bench *b)
{
	struct task *k = NULL;

	while ((k = tasks_each(t, view_of(b->session), TASK_RUNNING, k)) != NULL)
		if (k->review == b->number)
			return true;
	return false;
}

static void end_review(struct tasks *t, struct bench *b, enum task_state state, int64_t due)
{
	struct task *k;

	b->review = REVIEW_NONE;
	while (state == TASK_TOLD &&
		(k = tasks_each(t, view_of(b->session), TASK_ENDED, NULL)) != NULL)
		task_told(k);
	k = NULL;
	while ((k = tasks_each(t, view_of(b->session), TASK_ENDED, k)) != NULL)
		k->due = due;
}

/* One that only made the agent try again is not told: what comes of the new try is. */
static enum task_due review_due(struct tasks *t, struct bench *b, int64_t now)
{
	if (b->review == REVIEW_RUNS && now - b->since >= TASKS_LIFE_MS)
		end_review(t, b, TASK_ENDED, now);
	if (b->review != REVIEW_OVER || now < b->due)
		return DUE_NOTHING;
	if (!began_another(t, b))
		return DUE_REVIEW;
	end_review(t, b, TASK_TOLD, 0);
	return DUE_PASSED;
}

enum task_due tasks_due(struct tasks *t, int64_t now, const char **session, struct task **task)
{
	for (size_t i = 0; i < t->nbenches; i++) {
		enum task_due due = review_due(t, t->benches[i], now);

		*session = t->benches[i]->session;
		if (due != DUE_NOTHING)
			return due;
	}
	for (size_t i = 0; i < t->n; i++) {
		struct task *k = *task = t->tasks[i];

		*session = k->session;
		if (k->state == TASK_ENDED && k->due > 0 && now >= k->due)
			return DUE_OUTPUT;
		if (k->state == TASK_RUNNING && now - k->began >= TASKS_LIFE_MS)
			return DUE_LOST;
	}
	return DUE_NOTHING;
}

int64_t tasks_next(const struct tasks *t)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < t->nbenches; i++) {
		const struct bench *b = t->benches[i];
		int64_t at = b->review == REVIEW_RUNS   ? b->since + TASKS_LIFE_MS
		             : b->review == REVIEW_OVER ? b->due
		                                        : INT64_MAX;

		next = at < next ? at : next;
	}
	for (size_t i = 0; i < t->n; i++) {
		const struct task *k = t->tasks[i];
		int64_t at = k->state == TASK_RUNNING               ? k->began + TASKS_LIFE_MS
		             : k->state == TASK_ENDED && k->due > 0 ? k->due
		                                                    : INT64_MAX;

		next = at < next ? at : next;
	}
	return next;
}

void tasks_reviewed(struct tasks *t, const char *session, bool whole, int64_t now)
{
	struct bench *b = find_bench(t, view_of(session));

	if (!b || b->review != REVIEW_OVER)
		return; /* the next one has begun meanwhile */
	if (whole) {
		b->bare = !tasks_each(t, view_of(session), TASK_ENDED, NULL);
		b->read_at = now;
		end_review(t, b, TASK_TOLD, 0);
	} else if (b->doubted) {
		b->review = REVIEW_RUNS;
	} else if (b->reads < TASKS_READS_MAX) {
		b->due = now + ((int64_t)TASKS_AGAIN_MS << b->reads++);
	} else {
		tasks_unread(t, session, now);
	}
}

void tasks_unread(struct tasks *t, const char *session, int64_t now)
{
	struct bench *b = find_bench(t, view_of(session));

	if (b && b->review == REVIEW_OVER)
		end_review(t, b, TASK_ENDED, now);
}

void task_told(struct task *task)
{
	task->state = TASK_TOLD;
	task->due = 0;
	free(task->reply);
	task->reply = NULL;
}

void tasks_doubt(struct tasks *t, struct view session, int64_t now)
{
	struct bench *b = find_bench(t, session);

	if (b && b->review == REVIEW_RUNS) {
		over(b, now);
		b->due = now;
		b->doubted = true;
	}
}
