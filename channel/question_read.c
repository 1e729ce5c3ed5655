/* What the user writes while a question is open: is it an answer, and does it count? */
#include "base/text.h"
#include "channel/peer.h"
#include "channel/question-private.h"
#include "channel/quote.h"

#include <string.h>

#define ANSWER_SIZE 64 /* with several numbers */
#define OFFSET_MS   ((int64_t)10 * 60 * 1000)

int64_t questions_written_at(struct questions *q, int64_t sent_at)
{
	int64_t now = loop_now(q->room->loop);
	int64_t least;

	if (sent_at <= 0)
		return now;
	least = now - sent_at;
	q->heard[q->nheard++ % QUESTION_OFFSETS].offset = least;
	q->heard[(q->nheard - 1) % QUESTION_OFFSETS].at = now;
	for (unsigned int i = 0; i < QUESTION_OFFSETS && i < q->nheard; i++)
		if (now - q->heard[i].at <= OFFSET_MS && q->heard[i].offset < least)
			least = q->heard[i].offset;
	return sent_at + least;
}

/* Full-width forms as ASCII, blanks at both ends off. False: too long for an answer. */
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
		if (c == ' ' && n == 0)
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
	int64_t now = loop_now(q->room->loop);
	int n = 0;

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		/* After a sleep of this machine an answer may be heard ahead of the timer. */
		if (!question_is_open(it) || strcmp(it->user, user) != 0 || it->deadline <= now)
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

/* Who points at a question means that one, whichever is open by now. */
static int check_quote(const struct questions *q, const struct question *it,
	const struct chan_msg *m, struct question_reading *out, struct err *e)
{
	int rc = quote_is(q->room, m, view_of(it->text), e);

	if (rc == 0)
		out->verdict = QUESTION_OTHER;
	return rc < 0 ? -1 : 0;
}

int questions_read(struct questions *q, const struct chan_msg *m, int64_t written_at,
	struct question_reading *out, struct err *e)
{
	const char *user = m->from;
	struct question *it = NULL;
	struct answer answer;
	struct peer peer;
	int n;

	*out = (struct question_reading){ .verdict = QUESTION_NONE };
	if (!parse(m->text, &answer))
		return 0;
	n = open_for(q, user, answer.letter, &it);
	if (n == 1) {
		out->verdict = judge(it, &answer, written_at);
		out->serial = it->serial;
		if (out->verdict != QUESTION_ANSWER)
			return 0;
		out->choice = choice_of(it, &answer);
		return check_quote(q, it, m, out, e);
	}
	if (answer.n > 1)
		return 0; /* more than a number belongs to no question in particular */
	if (n > 1) {
		out->verdict = QUESTION_WHICH;
	} else {
		if (peer_load(q->room, user, &peer, e) < 0)
			return -1;
		if (peer.asked > 0)
			out->verdict = QUESTION_CLOSED;
	}
	return 0;
}

/* --- What to say ------------------------------------------------------------------------------ */

static void put_codes(struct questions *q, const char *user, struct str *out)
{
	const char *sep = "";

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *it = &q->slot[i];

		if (!question_is_open(it) || strcmp(it->user, user) != 0)
			continue;
		for (int n = 1; n <= it->choices; n++, sep = " ")
			str_addf(out, "%s%c%d", sep, it->letter, n);
	}
}

int questions_say(struct questions *q, const char *user, const struct question_reading *r,
	struct str *out)
{
	enum control_language lang = peer_lang(q->room, user);
	struct question *it = question_by_serial(q, r->serial);
	struct str codes = STR_INIT(4096);
	int rc = 0;

	switch (r->verdict) {
	case QUESTION_NONE:
	case QUESTION_ANSWER: break;
	case QUESTION_RANGE: rc = words(out, lang, W_ASK_RANGE, NUM(it ? it->choices : 1)); break;
	case QUESTION_EARLY: rc = words(out, lang, W_ASK_EARLY); break;
	case QUESTION_OTHER: rc = words(out, lang, W_ASK_OTHER); break;
	case QUESTION_CLOSED: rc = words(out, lang, W_ASK_CLOSED); break;
	case QUESTION_WHICH:
		put_codes(q, user, &codes);
		rc = words(out, lang, W_ASK_WHICH, str_cstr(&codes));
		break;
	}
	str_release(&codes);
	return rc;
}
