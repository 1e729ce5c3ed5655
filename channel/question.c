#include "channel/question.h"

#include "base/text.h"
#include "channel/peer.h"
#include "channel/sql.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_CHARS  1200 /* of what would be done, as far as the whole fits one part */
#define SHOWN_LEAST  100  /* whatever the size of a part */
#define AROUND_CHARS 200  /* room for the first line, the fence, and to say that it was cut */
#define CHOICE_CHARS 40
#define ANSWER_SIZE  64 /* with several numbers */
#define OFFSETS      4
#define OFFSET_MS    ((int64_t)10 * 60 * 1000)

enum question_state {
	Q_FREE,
	Q_ASKED, /* on its way out */
	Q_SHOWN, /* accepted by the server */
	Q_FAILED /* the turn is about to hear that it could not be asked */
};

struct question {
	enum question_state state;
	unsigned int serial;
	char letter;
	char user[CHAN_ID_MAX + 1]; /* "": it is shown elsewhere */
	char *id;
	int choices;
	bool standard; /* enum approval_choice */
	bool several;  /* any number of the choices */
	int64_t part;
	int64_t shown_at, deadline; /* monotonic */
	bool hinted;
};

/* A question for which there was no room. */
struct turned_away {
	struct turned_away *next;
	char *id;
};

struct questions {
	const struct room *room;
	struct outbox *outbox;
	question_answer_cb *cb;
	void *arg;
	struct timer *timer;
	struct question slot[QUESTIONS_MAX];
	struct turned_away *away; /* the turn is about to hear of them */
	unsigned int serial;
	/* How much later than claimed messages came in lately; the least is the offset between the
	 * senders' clock and our monotonic one, which nobody sets. */
	struct {
		int64_t offset, at;
	} heard[OFFSETS];
	unsigned int nheard;
};

static bool is_open(const struct question *it)
{
	return it->state == Q_ASKED || it->state == Q_SHOWN;
}

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
	it->id = NULL;
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

static int64_t timeout_ms(const struct questions *q)
{
	return q->room->ask_ms > 0 ? q->room->ask_ms : QUESTION_TIMEOUT_MS;
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
					    W_ASK_TIMEOUT, NUM(timeout_ms(q) / 60000), &e);
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
		bool late = is_open(it) && it->deadline <= now;
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

static void questions_on_part(void *arg, int64_t part, bool shown)
{
	struct questions *q = arg;

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (it->state != Q_ASKED || it->part != part)
			continue;
		step(q, it, shown ? Q_SHOWN : Q_FAILED);
		it->shown_at = loop_now(q->room->loop);
		it->deadline = it->shown_at + timeout_ms(q);
	}
	rearm(q);
}

/* Verbatim, in a fence that nothing in it can close. */
static void put_fenced(struct str *out, struct view text, enum format_mode mode)
{
	size_t run = 0, longest = 2;

	for (size_t i = 0; i < text.n; i++) {
		run = text.p[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	str_addc(out, '\n');
	for (size_t i = 0; mode == FORMAT_NATIVE && i <= longest; i++)
		str_addc(out, '`');
	str_addc(out, '\n');
	str_add(out, text);
	str_addc(out, '\n');
	for (size_t i = 0; mode == FORMAT_NATIVE && i <= longest; i++)
		str_addc(out, '`');
}

/* So many characters, the beginning and the end: what is bad is easily appended. False: something
 * is left out. */
static bool cut_middle(struct view all, size_t max, struct str *out)
{
	size_t n = utf8_count(all), tail = max / 4;

	if (n <= max) {
		str_add(out, all);
		return true;
	}
	str_add(out, view_cut(all, utf8_cut_chars(all, max - tail)));
	str_adds(out, "\n[...]\n");
	str_add(out, view_from(all, utf8_cut_chars(all, n - tail)));
	return false;
}

static void put_deed(struct questions *q, struct str *out, enum control_language lang,
	struct view text, size_t max)
{
	struct str safe = STR_INIT(ENGINE_INPUT_MAX), shown = STR_INIT(ENGINE_INPUT_MAX);
	struct view all;
	bool whole;

	text_safe(view_cut(text, ENGINE_INPUT_MAX / 4), TEXT_KEEP_LF | TEXT_KEEP_TAB, &safe);
	all = view_trim(str_view(&safe));
	whole = cut_middle(all, max, &shown);
	if (all.n == 0) {
		str_addc(out, '\n');
		words(out, lang, W_ASK_HIDDEN);
	} else {
		put_fenced(out, str_view(&shown), q->room->mode);
	}
	if (!whole) {
		str_addc(out, '\n');
		words(out, lang, W_ASK_CUT);
	}
	out->failed |= !str_ok(&safe) || !str_ok(&shown);
	str_release(&safe);
	str_release(&shown);
}

static void put_choices(struct questions *q, const struct question *it,
	const struct engine_event *ev, enum control_language lang, struct str *out)
{
	for (int i = 0; i < it->choices; i++) {
		str_addf(out, "\n%d. ", i + 1);
		if (it->standard)
			words(out, lang, words_choice((enum approval_choice)i));
		else
			words_excerpt(out, view_of(ev->choices[i]), CHOICE_CHARS);
	}
	str_adds(out, "\n\n"); /* else it belongs to the last item */
	words(out, lang, it->several ? W_ASK_HOW_SEVERAL : W_ASK_HOW, NUM(1), NUM(it->choices),
		NUM(timeout_ms(q) / 60000));
}

/* How much of what would be done fits beside the rest: a question is one part, and one send. Where
 * the limit of a part has no room for the choices themselves they pass it. */
static size_t shown_chars(const struct questions *q, const struct str *rest)
{
	size_t taken = utf8_count(str_view(rest)) + AROUND_CHARS;
	size_t room = q->room->text_limit > taken ? q->room->text_limit - taken : 0;

	if (room > SHOWN_CHARS)
		return SHOWN_CHARS;
	return room < SHOWN_LEAST ? SHOWN_LEAST : room;
}

static int compose(struct questions *q, const struct question *it, const struct engine_event *ev,
	struct str *out)
{
	enum control_language lang = peer_lang(q->room, it->user);
	struct str name = STR_INIT(8192), choices = STR_INIT(8192);
	char letter[2] = { it->letter, '\0' };
	size_t max;

	put_choices(q, it, ev, lang, &choices);
	max = shown_chars(q, &choices);
	if (ev->type == ENGINE_APPROVAL) {
		words_excerpt(&name, view_of(ev->name), CHOICE_CHARS);
		words(out, lang, W_ASK_APPROVAL, letter, str_cstr(&name));
		put_deed(q, out, lang, ev->text, max);
	} else {
		words_excerpt(&name, ev->text, max);
		words(out, lang, W_ASK_QUESTION, letter, str_cstr(&name));
	}
	str_add(out, str_view(&choices));
	out->failed |= !str_ok(&choices);
	str_release(&name);
	str_release(&choices);
	return str_ok(out) ? 0 : -1;
}

static int store(struct questions *q, struct question *it, uint64_t turn,
	const struct engine_event *ev, struct err *e)
{
	struct db *db = q->room->db;
	struct str text = STR_INIT(PART_TEXT_MAX);
	int rc;

	if (compose(q, it, ev, &text) < 0)
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

static struct question *new_question(struct questions *q, const char *user, const char *id)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (it->state != Q_FREE)
			continue;
		*it = (struct question){ .serial = ++q->serial };
		it->letter = (char)('A' + (q->serial - 1) % 26);
		it->deadline = loop_now(q->room->loop) + timeout_ms(q);
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

		if (!is_open(it) || strcmp(it->id, id) != 0)
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
		n += is_open(&q->slot[i]) && (!user || strcmp(q->slot[i].user, user) == 0);
	return n;
}

/* --- Reading ---------------------------------------------------------------------------------- */

int64_t questions_written_at(struct questions *q, int64_t sent_at)
{
	int64_t now = loop_now(q->room->loop);
	int64_t least;

	if (sent_at <= 0)
		return now;
	least = now - sent_at;
	q->heard[q->nheard++ % OFFSETS].offset = least;
	q->heard[(q->nheard - 1) % OFFSETS].at = now;
	for (unsigned int i = 0; i < OFFSETS && i < q->nheard; i++)
		if (now - q->heard[i].at <= OFFSET_MS && q->heard[i].offset < least)
			least = q->heard[i].offset;
	return sent_at + least;
}

/* Full-width forms as ASCII, white space at both ends off. False: too long for an answer. */
static bool normalize(struct view text, char out[ANSWER_SIZE])
{
	size_t n = 0;

	text = view_trim(text);
	if (text.n > 4 * (size_t)ANSWER_SIZE)
		return false;
	while (text.n) {
		uint32_t c = 0;
		size_t len = utf8_next(text, &c);

		if (len == 0)
			return false;
		text = view_from(text, len);
		if (c >= 0xff01 && c <= 0xff5e)
			c -= 0xfee0;
		if (c == 0x3000 || c == 0xa0)
			c = ' ';
		if (c == 0x3001)
			c = ',';
		if (c == ' ' && (n == 0 || view_trim(text).n == 0))
			continue;
		if (c >= 0x80 || n == ANSWER_SIZE - 1)
			return false;
		out[n++] = (char)c;
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
	return n > 0;
}

/* What an answer says: "2", "B2", and where several may be chosen "B1 3". */
struct answer {
	char letter; /* 0: none */
	int numbers[QUESTION_CHOICES];
	int n;
};

static bool is_gap(char c)
{
	return c == ' ' || c == ',';
}

static bool parse_number(struct view word, struct answer *out)
{
	unsigned long long n;

	if (out->n == QUESTION_CHOICES || word.n > 3 || (word.n > 1 && word.p[0] == '0') ||
		parse_u64(word, &n) < 0)
		return false;
	out->numbers[out->n++] = (int)n;
	return true;
}

static bool parse(struct view text, struct answer *out)
{
	char z[ANSWER_SIZE];
	const char *p = z;

	*out = (struct answer){ .n = 0 };
	if (!normalize(text, z))
		return false;
	if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z')
		out->letter = (char)(*p++ & ~0x20);
	for (;;) {
		size_t n = 0;

		while (p[n] && !is_gap(p[n]))
			n++;
		if (!parse_number((struct view){ p, n }, out))
			return false;
		p += n;
		if (!*p)
			return true;
		while (is_gap(*p))
			p++;
	}
}

static int open_for(struct questions *q, const char *user, char letter, struct question **found)
{
	int n = 0;

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (!is_open(it) || strcmp(it->user, user) != 0)
			continue;
		if (letter && it->letter != letter)
			continue;
		*found = it;
		n++;
	}
	return n;
}

static enum question_verdict judge(const struct question *it, const struct answer *a,
	int64_t written_at)
{
	if (a->n > 1 && !it->several)
		return QUESTION_NONE;
	if (it->state != Q_SHOWN || written_at < it->shown_at)
		return QUESTION_EARLY;
	for (int i = 0; i < a->n; i++)
		if (a->numbers[i] < 1 || a->numbers[i] > it->choices)
			return QUESTION_RANGE;
	return QUESTION_ANSWER;
}

/* As engine.h has it. */
static int choice_of(const struct question *it, const struct answer *a)
{
	unsigned int mask = 0;

	if (!it->several)
		return a->numbers[0] - 1;
	for (int i = 0; i < a->n; i++)
		mask |= 1U << (a->numbers[i] - 1);
	return (int)mask;
}

int questions_read(struct questions *q, const char *user, struct view text, int64_t written_at,
	struct question_reading *out, struct err *e)
{
	struct question *it = NULL;
	struct answer answer;
	struct peer peer;
	int n;

	*out = (struct question_reading){ .verdict = QUESTION_NONE };
	if (!parse(text, &answer))
		return 0;
	n = open_for(q, user, answer.letter, &it);
	if (n == 1) {
		out->verdict = judge(it, &answer, written_at);
		out->serial = it->serial;
		if (out->verdict == QUESTION_ANSWER)
			out->choice = choice_of(it, &answer);
	} else if (answer.n > 1) {
		return 0; /* more than a number belongs to no question in particular */
	} else if (n > 1) {
		out->verdict = QUESTION_WHICH;
	} else {
		if (peer_load(q->room, user, &peer, e) < 0)
			return -1;
		if (peer.asked > 0)
			out->verdict = QUESTION_CLOSED;
	}
	return 0;
}

static struct question *by_serial(struct questions *q, unsigned int serial)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (q->slot[i].state != Q_FREE && q->slot[i].serial == serial)
			return &q->slot[i];
	return NULL;
}

static void put_codes(struct questions *q, const char *user, struct str *out)
{
	const char *sep = "";

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (!is_open(it) || strcmp(it->user, user) != 0)
			continue;
		for (int n = 1; n <= it->choices; n++, sep = " ")
			str_addf(out, "%s%c%d", sep, it->letter, n);
	}
}

int questions_say(struct questions *q, const char *user, const struct question_reading *r,
	struct str *out)
{
	enum control_language lang = peer_lang(q->room, user);
	struct question *it = by_serial(q, r->serial);
	struct str codes = STR_INIT(4096);
	int rc = 0;

	switch (r->verdict) {
	case QUESTION_NONE:
	case QUESTION_ANSWER: break;
	case QUESTION_RANGE: rc = words(out, lang, W_ASK_RANGE, NUM(it ? it->choices : 1)); break;
	case QUESTION_EARLY: rc = words(out, lang, W_ASK_EARLY); break;
	case QUESTION_CLOSED: rc = words(out, lang, W_ASK_CLOSED); break;
	case QUESTION_WHICH:
		put_codes(q, user, &codes);
		rc = words(out, lang, W_ASK_WHICH, str_cstr(&codes));
		break;
	}
	str_release(&codes);
	return rc;
}

void questions_take(struct questions *q, const struct question_reading *r)
{
	struct question *it = by_serial(q, r->serial);
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
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		free(q->slot[i].id);
	forget_away(q);
	free(q);
}
