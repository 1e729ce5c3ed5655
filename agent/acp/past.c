#include "agent/acp/past.h"

#include <stdlib.h>
#include <string.h>

#include "agent/acp/stream.h"

#define PIECES_MAX 64                   /* of one question, that it can be found by; the newest */
#define SPAN       (PAST_ASKED_MAX + 1) /* places within one */

struct exchange {
	struct str asked, answer;
	size_t starts[PIECES_MAX]; /* of its pieces, in `asked`; a ring */
	size_t npieces;
	bool whole;
};

struct past {
	struct exchange exchanges[PAST_MAX]; /* a ring; the newest at n - 1 */
	size_t n;
	struct acp_stream *stream; /* of the newest */
};

int past_open(struct past **out, struct err *e)
{
	struct past *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "a session's history");
	for (size_t i = 0; i < PAST_MAX; i++) {
		p->exchanges[i].asked = STR_INIT(PAST_ASKED_MAX);
		p->exchanges[i].answer = STR_INIT(2 * PAST_ANSWER_MAX);
	}
	if (acp_stream_open(&p->stream, NULL, PAST_ANSWER_MAX, e) < 0) {
		past_close(&p);
		return -1;
	}
	*out = p;
	return 0;
}

void past_begin(struct past *p)
{
	for (size_t i = 0; i < PAST_MAX; i++) {
		str_release(&p->exchanges[i].asked);
		str_release(&p->exchanges[i].answer);
		p->exchanges[i].whole = false;
	}
	acp_stream_begin(p->stream);
	p->n = 0;
}

void past_close(struct past **pp)
{
	struct past *p = *pp;

	if (!p)
		return;
	*pp = NULL;
	for (size_t i = 0; i < PAST_MAX; i++) {
		str_release(&p->exchanges[i].asked);
		str_release(&p->exchanges[i].answer);
	}
	acp_stream_close(&p->stream);
	free(p);
}

static struct exchange *newest(struct past *p)
{
	return p->n > 0 ? &p->exchanges[(p->n - 1) % PAST_MAX] : NULL;
}

void past_end(struct past *p)
{
	struct exchange *x = newest(p);

	if (!x)
		return;
	str_reset(&x->answer);
	(void)str_add(&x->answer, acp_stream_answer(p->stream));
}

/* What is said to the agent in one go comes in pieces, with reminders of its own among them; some
 * of those come while it works, and begin nothing. */
static void take_asked(struct past *p, struct view text)
{
	struct exchange *x = newest(p);
	bool begun = x && (x->whole || acp_stream_answered(p->stream));

	if (begun && view_starts(view_trim(text), VIEW("<system-reminder>")))
		return;
	if (!x || begun) {
		past_end(p);
		x = &p->exchanges[p->n++ % PAST_MAX];
		str_reset(&x->asked);
		str_reset(&x->answer);
		x->npieces = 0;
		x->whole = false;
		acp_stream_begin(p->stream);
	}
	if (x->asked.n >= PAST_ASKED_MAX)
		return;
	x->starts[x->npieces++ % PIECES_MAX] = x->asked.n;
	(void)str_add(&x->asked, view_cut(text, PAST_ASKED_MAX - x->asked.n));
}

void past_take(struct past *p, const struct json *update)
{
	static const char *const names[] = { "user_message_chunk", "agent_message_chunk",
		"tool_call", "tool_call_update", NULL };
	const struct json *content = json_member(update, "content");
	struct exchange *x;
	struct view text = VIEW_NONE;
	int kind;

	if (json_get_enum(update, "sessionUpdate", JSON_REQUIRED, names, &kind, NULL) != 1)
		return;
	if (kind == 0) {
		if (content && json_type(content) == JSON_OBJECT)
			(void)json_get_str(content, "text", JSON_OPTIONAL, 0, SIZE_MAX, &text,
				NULL);
		take_asked(p, text);
		return;
	}
	(void)acp_stream_update(p->stream, update);
	x = newest(p);
	if (x)
		x->whole = kind == 1;
}

/* --- Looking back ----------------------------------------------------------------------------- */

static const struct exchange *at(const struct past *p, size_t i)
{
	return &p->exchanges[i % PAST_MAX];
}

static bool found(const struct past *p, size_t i, struct view *answer, bool *whole)
{
	*answer = view_trim(str_view(&at(p, i)->answer));
	*whole = at(p, i)->whole && answer->n > 0;
	return true;
}

bool past_find(const struct past *p, struct view words, struct view *answer, bool *whole)
{
	for (size_t i = p->n; i > 0 && i + PAST_MAX > p->n; i--) {
		const struct str *asked = &at(p, i - 1)->asked;

		if (memmem(str_cstr(asked), asked->n, words.p, words.n))
			return found(p, i - 1, answer, whole);
	}
	return false;
}

/* Where a question begins so, with one of its pieces, the newest that is older than `before`: its
 * place, which is greater the newer it is. 0: there is none. */
static size_t newest_piece(const struct past *p, struct view words, size_t before)
{
	for (size_t i = p->n; i > 0 && i + PAST_MAX > p->n; i--) {
		const struct exchange *x = at(p, i - 1);

		for (size_t k = x->npieces; k > 0 && k + PIECES_MAX > x->npieces; k--) {
			size_t start = x->starts[(k - 1) % PIECES_MAX];
			size_t place = (i - 1) * SPAN + start + 1;

			if (place < before &&
				view_starts(view_from(str_view(&x->asked), start), words))
				return place;
		}
	}
	return 0;
}

bool past_find_later(const struct past *p, struct view words, struct view before,
	struct view *answer, bool *whole)
{
	size_t place = newest_piece(p, words, SIZE_MAX), old;

	if (place == 0)
		return false;
	if (before.n > 0) {
		old = newest_piece(p, before, SIZE_MAX);
		if (old > place || (old == place && newest_piece(p, before, place) == 0))
			return false;
	}
	return found(p, place / SPAN, answer, whole);
}
