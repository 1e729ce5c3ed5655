#include "base/net/sse.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/text.h"

enum sse_state {
	SSE_OPEN,
	SSE_STOPPED, /* by the callback, or ended */
	SSE_FAILED
};

struct sse {
	enum sse_state state;
	size_t left;   /* bytes the stream may still bring */
	size_t bom;    /* bytes of a byte order mark matched so far; 3: past the start */
	bool after_cr; /* an LF now belongs to the line that CR has ended */
	bool has_data;
	struct str line; /* the part of a line that earlier pieces brought */
	struct str type, data;
	sse_cb *cb;
	void *arg;
};

static const char bom[3] = { '\xef', '\xbb', '\xbf' };

#define FIELD_MAX (sizeof("event: ") - 1) /* what stands on a line before a value we keep */

int sse_open(struct sse **out, size_t event_max, size_t total_max, sse_cb *cb, void *arg,
	struct err *e)
{
	struct sse *s;

	assert(cb && event_max > 0);
	s = calloc(1, sizeof *s);
	if (!s)
		return err_set(e, E_NOMEM, "event stream");
	s->left = total_max;
	s->line = STR_INIT(event_max + FIELD_MAX);
	s->type = STR_INIT(event_max);
	s->data = STR_INIT(event_max);
	s->cb = cb;
	s->arg = arg;
	*out = s;
	return 0;
}

void sse_close(struct sse **sp)
{
	struct sse *s = *sp;

	if (!s)
		return;
	str_release(&s->line);
	str_release(&s->type);
	str_release(&s->data);
	free(s);
	*sp = NULL;
}

static int fail(struct sse *s, struct err *e, const char *what)
{
	s->state = SSE_FAILED;
	return err_set(e, E_FORMAT, "event stream: %s", what);
}

/* An empty line: hand the event on. One without a data line is none, whatever else it had. */
static int dispatch(struct sse *s)
{
	int stop = 0;

	if (s->has_data)
		stop = s->cb(s->arg, str_view(&s->type), str_view(&s->data));
	str_reset(&s->type);
	str_reset(&s->data);
	s->has_data = false;
	if (!stop)
		return 0;
	s->state = SSE_STOPPED;
	return 1;
}

static int add(struct sse *s, struct str *to, struct view v, struct err *e, const char *too_long)
{
	if (str_add(to, v) == 0)
		return 0;
	if (!str_has_room(to, v.n))
		return fail(s, e, too_long);
	s->state = SSE_FAILED;
	return err_set(e, E_NOMEM, "event stream: out of memory");
}

static int take_data(struct sse *s, struct view value, struct err *e)
{
	static const char too_long[] = "an event is too long";

	if ((s->has_data && add(s, &s->data, VIEW("\n"), e, too_long) < 0) ||
		add(s, &s->data, value, e, too_long) < 0)
		return -1;
	s->has_data = true;
	return 0;
}

static int take_type(struct sse *s, struct view value, struct err *e)
{
	str_reset(&s->type);
	return add(s, &s->type, value, e, "an event type is too long");
}

static int take_field(struct sse *s, struct view name, struct view value, struct err *e)
{
	if (view_eqs(name, "data"))
		return take_data(s, value, e);
	if (view_eqs(name, "event"))
		return take_type(s, value, e);
	if (view_eqs(name, "error")) /* of llama.cpp, in place of the two */
		return take_type(s, name, e) < 0 ? -1 : take_data(s, value, e);
	return 0; /* id, retry and what we do not know */
}

/* One line without its end. 0, 1 (stopped) or -1. */
static int take_line(struct sse *s, struct view line, struct err *e)
{
	struct view name, value;
	size_t colon;

	if (line.n == 0)
		return dispatch(s);
	/* CR and LF never occur inside a sequence, so a line is valid or not by itself. */
	if (!utf8_valid(line))
		return fail(s, e, "not valid UTF-8");
	if (line.p[0] == ':')
		return 0;
	colon = view_find(line, ':');
	name = view_cut(line, colon);
	value = view_from(line, colon + 1);
	if (value.n > 0 && value.p[0] == ' ')
		value = view_from(value, 1);
	return take_field(s, name, value, e);
}

static int keep(struct sse *s, struct view part, struct err *e)
{
	return part.n > 0 ? add(s, &s->line, part, e, "a line is too long") : 0;
}

/* The line that `rest` completes. */
static int end_line(struct sse *s, struct view rest, struct err *e)
{
	int rc;

	if (s->line.n == 0 && rest.n <= s->line.max)
		return take_line(s, rest, e); /* whole in one piece: no copy */
	if (keep(s, rest, e) < 0)
		return -1;
	rc = take_line(s, str_view(&s->line), e);
	str_reset(&s->line);
	return rc;
}

/* Drop a byte order mark at the very start. What only began like one is part of the first line. */
static int skip_bom(struct sse *s, struct view *piece, struct err *e)
{
	size_t had;

	while (s->bom < sizeof bom && piece->n > 0 && piece->p[0] == bom[s->bom]) {
		s->bom++;
		*piece = view_from(*piece, 1);
	}
	if (s->bom == sizeof bom || piece->n == 0)
		return 0;
	had = s->bom;
	s->bom = sizeof bom;
	return keep(s, (struct view){ bom, had }, e);
}

static size_t line_length(struct view v)
{
	size_t n = 0;

	while (n < v.n && v.p[n] != '\n' && v.p[n] != '\r')
		n++;
	return n;
}

static int take_piece(struct sse *s, struct view piece, struct err *e)
{
	size_t n;
	int rc;

	while (piece.n > 0) {
		if (s->after_cr) {
			s->after_cr = false;
			if (piece.p[0] == '\n') {
				piece = view_from(piece, 1);
				continue;
			}
		}
		n = line_length(piece);
		if (n == piece.n)
			return keep(s, piece, e);
		s->after_cr = piece.p[n] == '\r';
		rc = end_line(s, view_cut(piece, n), e);
		if (rc != 0)
			return rc;
		piece = view_from(piece, n + 1);
	}
	return 0;
}

static int check_open(struct sse *s, struct err *e)
{
	if (s->state == SSE_FAILED)
		return err_set(e, E_FORMAT, "event stream: it has failed before");
	return s->state == SSE_STOPPED ? 1 : 0;
}

int sse_feed(struct sse *s, struct view piece, struct err *e)
{
	int rc = check_open(s, e);
	bool over = piece.n > s->left;

	if (rc != 0)
		return rc;
	/* What fits is read first, so that the split of the input changes nothing. */
	piece = view_cut(piece, s->left);
	s->left -= piece.n;
	if (s->bom < sizeof bom && skip_bom(s, &piece, e) < 0)
		return -1;
	rc = take_piece(s, piece, e);
	if (rc == 0 && over)
		return fail(s, e, "it is too long");
	return rc;
}

int sse_end(struct sse *s, struct err *e)
{
	int rc = check_open(s, e);

	if (rc != 0)
		return rc;
	if (s->bom > 0 && s->bom < sizeof bom)
		return fail(s, e, "not valid UTF-8");
	if (s->line.n > 0)
		rc = end_line(s, VIEW_NONE, e);
	if (rc == 0)
		rc = dispatch(s);
	if (rc == 0)
		s->state = SSE_STOPPED;
	return rc;
}
