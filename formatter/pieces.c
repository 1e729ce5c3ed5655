#include "formatter/format-private.h"

struct cutter {
	struct fence fence;
	size_t at, fence_at; /* the line now; the line that opened the fence we are in */
	size_t good, any;    /* where a new block surely begins; where one may go on, in a list */
	bool after_blank;
};

static bool goes_on(struct view line)
{
	return line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t' || list_marker(line) > 0);
}

static bool at_top(const struct fence *f)
{
	return f->quotes == 0 && f->indent == 0;
}

/* May a piece end right before this line? */
static void look_before(struct cutter *c, struct view line)
{
	struct fence f = c->fence;
	enum line_kind kind = c->after_blank ? fence_line(&f, line) : LINE_BODY;

	if (kind == LINE_BLANK || kind == LINE_BODY)
		return;
	c->any = c->at;
	if (!goes_on(line))
		c->good = c->at;
}

/* Takes note of one line; n are its bytes with its end. */
static void look(struct cutter *c, struct view line, size_t n)
{
	struct fence before = c->fence;
	enum line_kind kind = fence_line(&c->fence, line);

	c->after_blank = kind == LINE_BLANK;
	if (kind == LINE_OPEN) {
		c->fence_at = c->at;
		if (at_top(&c->fence) && !goes_on(line))
			c->good = c->any = c->at;
	}
	if (kind == LINE_CLOSE && at_top(&before))
		c->good = c->any = c->at + n;
	c->at += n;
}

/* The fence at the start of v: all of it, however long. */
static size_t take_code(struct view v, struct piece *p)
{
	struct fence f = { 0 };
	size_t n, at = 0, body;
	enum line_kind kind = fence_line(&f, first_line(v, &n));

	p->kind = PIECE_CODE;
	p->info = view_trim(view_from(first_line(v, &at), f.prefix + f.len));
	for (body = at; at < v.n; at += n) {
		kind = fence_line(&f, first_line(view_from(v, at), &n));
		if (kind != LINE_BODY)
			break;
	}
	p->text = view_cut(view_from(v, body), at - body);
	return kind == LINE_CLOSE ? at + n : at;
}

static size_t take_raw(struct view v, size_t at, struct piece *p)
{
	size_t n;

	p->kind = PIECE_RAW;
	while (at < v.n) {
		struct view line = first_line(view_from(v, at), &n);

		at += n;
		if (is_blank_line(line))
			break;
	}
	p->text = view_cut(v, at);
	return at;
}

bool piece_next(struct view *rest, struct piece *p)
{
	struct cutter c = { .fence_at = 1 };
	size_t n, cut;

	*p = (struct piece){ .kind = PIECE_MARKDOWN, .text = *rest };
	if (rest->n == 0)
		return false;
	if (rest->n <= PIECE_MAX) {
		*rest = VIEW_NONE;
		return true;
	}
	while (c.at <= PIECE_MAX) {
		struct view line = first_line(view_from(*rest, c.at), &n);

		look_before(&c, line);
		if (c.at + n > PIECE_MAX)
			break;
		look(&c, line, n);
	}
	cut = c.good > PIECE_MAX / 2 ? c.good : c.any;
	if (cut > 0)
		p->text = view_cut(*rest, cut);
	else if (c.fence.mark && c.fence_at == 0 && at_top(&c.fence))
		cut = take_code(*rest, p);
	else
		cut = take_raw(*rest, c.at, p);
	*rest = view_from(*rest, cut);
	return true;
}
