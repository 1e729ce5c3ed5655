#include <stdlib.h>
#include <string.h>

#include "channel/peer.h"
#include "channel/question-private.h"
#include "channel/sql.h"

static void step(struct questions *q, struct question *it, enum question_state to)
{
	static const char *const names[] = { "free", "asked", "shown", "failed" };

	log_debug(q->room->log, "question", "%c: %s -> %s", it->letter, names[it->state],
		names[to]);
	it->state = to;
}

static void drop(struct questions *q, struct question *it)
{
	step(q, it, Q_FREE);
	free(it->id);
	free(it->text);
	it->id = it->text = NULL;
}

/* --- Time ------------------------------------------------------------------------------------- */

static void rearm(struct questions *q)
{
	int64_t now = loop_now(q->room->loop), next = q->away ? 0 : -1;

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];
		int64_t left = it->state == Q_FAILED ? 0 : it->deadline - now;

		if (it->state == Q_FREE)
			continue;
		next = next < 0 || left < next ? (left < 0 ? 0 : left) : next;
	}
	if (next < 0)
		timer_disarm(q->timer);
	else
		timer_arm(q->timer, next);
}

/* One that was shown is told; one that is still on its way out must not be shown any more. */
static void time_out(struct questions *q, const struct question *it)
{
	struct err e = ERR_INIT;
	int rc;

	if (!*it->user)
		return;
	rc = it->state == Q_ASKED ? outbox_cancel(q->outbox, it->part, &e)
	                          : outbox_notice(q->outbox, it->user, PART_FAILURE, 0,
					    W_ASK_TIMEOUT, NUM(it->ms / 60000), &e);
	if (rc < 0)
		log_warn(q->room->log, "question", "its timeout was not told: %s", e.msg);
	outbox_kick(q->outbox);
}

/* Answers one question with "no answer"; the callback may change everything. */
static bool fail_one(struct questions *q)
{
	int64_t now = loop_now(q->room->loop);

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];
		bool late = question_is_open(it) && it->deadline <= now;
		int why = it->state == Q_SHOWN ? ANSWER_NONE : ANSWER_UNASKED;
		char *id = it->id;

		if (it->state != Q_FAILED && !late)
			continue;
		if (late)
			time_out(q, it);
		it->id = NULL;
		drop(q, it);
		q->cb(q->arg, id, why, false);
		free(id);
		return true;
	}
	return false;
}

static void turn_away(struct questions *q, const char *id)
{
	struct turned_away *it = calloc(1, sizeof(*it));

	if (it)
		it->id = strdup(id ? id : "");
	if (!it || !it->id) {
		free(it);
		return; /* it stays open until the turn ends */
	}
	it->next = q->away;
	q->away = it;
}

/* The first that was turned away; its id is the caller's. NULL: there is none. */
static char *take_away(struct questions *q)
{
	struct turned_away *it = q->away;
	char *id = it ? it->id : NULL;

	if (it)
		q->away = it->next;
	free(it);
	return id;
}

static void forget_away(struct questions *q)
{
	char *id;

	while ((id = take_away(q)))
		free(id);
}

static void questions_on_timer(void *arg)
{
	struct questions *q = arg;
	char *id;

	while (fail_one(q))
		;
	while ((id = take_away(q))) {
		q->cb(q->arg, id, ANSWER_UNASKED, false);
		free(id);
	}
	rearm(q);
}

/* --- Asking ----------------------------------------------------------------------------------- */

static void questions_on_part(void *arg, int64_t part, int64_t shown_at)
{
	struct questions *q = arg;

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (it->state != Q_ASKED || it->part != part)
			continue;
		step(q, it, shown_at >= 0 ? Q_SHOWN : Q_FAILED);
		it->shown_at = shown_at;
		it->deadline = loop_now(q->room->loop) + it->ms;
	}
	rearm(q);
}

static int store(struct questions *q, struct question *it, uint64_t turn,
	const struct engine_event *ev, struct err *e)
{
	struct db *db = q->room->db;
	struct str text = STR_INIT(PART_TEXT_MAX);
	int rc;

	if (question_compose(q, it, ev, &text) < 0 || !(it->text = strdup(str_cstr(&text))))
		rc = err_set(e, E_NOMEM, "a question");
	else if ((rc = db_begin(db, e)) == 0) {
		rc = outbox_add(q->outbox, it->user, PART_QUESTION, turn, str_view(&text),
			&it->part, e);
		if (rc == 0)
			rc = peer_set_asked(q->room, it->user, it->choices, e);
		rc = sql_end(db, rc, e);
	}
	str_release(&text);
	return rc;
}

static int count_choices(const struct engine_event *ev)
{
	int n = 0;

	if (ev->standard_choices)
		return APPROVAL_CHOICES;
	while (ev->choices && ev->choices[n] && n <= QUESTION_CHOICES)
		n++;
	return n;
}

static bool letter_is_taken(const struct questions *q, char letter)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (q->slot[i].state != Q_FREE && q->slot[i].letter == letter)
			return true;
	return false;
}

/* There are more of them than there are places. */
static char next_letter(const struct questions *q)
{
	unsigned int n = q->serial - 1;

	while (letter_is_taken(q, (char)('A' + n % 26)))
		n++;
	return (char)('A' + n % 26);
}

static struct question *new_question(struct questions *q, const char *user, const char *id)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (it->state != Q_FREE)
			continue;
		*it = (struct question){ .serial = ++q->serial };
		it->letter = next_letter(q);
		it->ms = q->room->ask_ms > 0 ? q->room->ask_ms : QUESTION_TIMEOUT_MS;
		it->deadline = loop_now(q->room->loop) + it->ms;
		it->id = strdup(id ? id : "");
		if (!it->id || copy_z(it->user, sizeof(it->user), view_of(user)) < 0) {
			free(it->id);
			it->id = NULL;
			return NULL;
		}
		return it;
	}
	return NULL;
}

void questions_ask(struct questions *q, const char *user, uint64_t turn,
	const struct engine_event *ev)
{
	struct question *it = new_question(q, user, ev->id);
	struct err e = ERR_INIT;

	if (!it) {
		log_warn(q->room->log, "question", "%d are open; another is not asked",
			QUESTIONS_MAX);
		turn_away(q, ev->id);
		rearm(q);
		return;
	}
	step(q, it, Q_ASKED);
	it->choices = count_choices(ev);
	it->standard = ev->standard_choices;
	it->several = ev->several;
	if (it->choices < 1 || it->choices > QUESTION_CHOICES) {
		log_warn(q->room->log, "question", "%d choices cannot be shown", it->choices);
		step(q, it, Q_FAILED);
	} else if (store(q, it, turn, ev, &e) < 0) {
		log_warn(q->room->log, "question", "not asked: %s", e.msg);
		step(q, it, Q_FAILED);
	}
	outbox_kick(q->outbox);
	rearm(q);
}

void questions_watch(struct questions *q, const char *id)
{
	struct question *it = new_question(q, "", id);

	if (!it) {
		turn_away(q, id);
	} else {
		step(q, it, Q_SHOWN);
		it->shown_at = loop_now(q->room->loop);
	}
	rearm(q);
}

void questions_over(struct questions *q, const char *id)
{
	struct err e = ERR_INIT;

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (!question_is_open(it) || strcmp(it->id, id) != 0)
			continue;
		if (it->state == Q_ASKED && outbox_cancel(q->outbox, it->part, &e) < 0)
			log_warn(q->room->log, "question", "it may still be shown: %s", e.msg);
		drop(q, it);
	}
	rearm(q);
}

void questions_end(struct questions *q)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (q->slot[i].state != Q_FREE)
			drop(q, &q->slot[i]);
	forget_away(q);
	rearm(q);
}

int questions_waiting(const struct questions *q, const char *user)
{
	int n = 0;

	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		n += question_is_open(&q->slot[i]) && (!user || strcmp(q->slot[i].user, user) == 0);
	return n;
}

/* --- Answers ---------------------------------------------------------------------------------- */

struct question *question_by_serial(struct questions *q, unsigned int serial)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (q->slot[i].state != Q_FREE && q->slot[i].serial == serial)
			return &q->slot[i];
	return NULL;
}

void questions_take(struct questions *q, const struct question_reading *r)
{
	struct question *it = question_by_serial(q, r->serial);
	bool stops;
	char *id;

	if (!it || it->state != Q_SHOWN)
		return;
	id = it->id;
	stops = it->standard && r->choice == APPROVAL_STOP;
	it->id = NULL;
	drop(q, it);
	rearm(q);
	q->cb(q->arg, id, r->choice, stops);
	free(id);
}

bool questions_hint(struct questions *q, const char *user)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (it->state != Q_SHOWN || it->hinted || strcmp(it->user, user) != 0)
			continue;
		it->hinted = true;
		return true;
	}
	return false;
}

/* --- Open and close --------------------------------------------------------------------------- */

int questions_open(struct questions **out, const struct room *r, struct outbox *o,
	question_answer_cb *cb, void *arg, struct err *e)
{
	struct questions *q = calloc(1, sizeof(*q));

	*out = NULL;
	if (!q)
		return err_set(e, E_NOMEM, "the questions");
	q->room = r;
	q->outbox = o;
	q->cb = cb;
	q->arg = arg;
	if (timer_new(&q->timer, r->loop, questions_on_timer, q, e) < 0) {
		free(q);
		return -1;
	}
	outbox_on_question(o, questions_on_part, q);
	*out = q;
	return 0;
}

void questions_close(struct questions **qp)
{
	struct questions *q = *qp;

	*qp = NULL;
	if (!q)
		return;
	outbox_on_question(q->outbox, NULL, NULL);
	timer_free(&q->timer);
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		free(q->slot[i].id);
		free(q->slot[i].text);
	}
	forget_away(q);
	free(q);
}
