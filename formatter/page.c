#include "formatter/format-private.h"

void page_init(struct page *p, struct str *out)
{
	*p = (struct page){ .out = out, .prefix = STR_INIT(4096), .start = out->n };
}

void page_release(struct page *p)
{
	str_release(&p->prefix);
}

static struct view rtrim(struct view v)
{
	while (v.n > 0 && v.p[v.n - 1] == ' ')
		v.n--;
	return v;
}

/* What is owed before the next text: line ends, empty lines with the prefix, the prefix. */
static void settle(struct page *p, bool blank)
{
	struct view prefix = str_view(&p->prefix), bare = rtrim(prefix);

	if (p->gap == 0)
		return;
	if (p->out->n > p->start) {
		for (int i = 0; i < p->gap; i++) {
			if (i > 0)
				put(p->out, bare);
			put(p->out, VIEW("\n"));
		}
		put(p->out, blank ? bare : prefix);
	}
	p->gap = 0;
}

void page_add(struct page *p, struct view v)
{
	if (v.n == 0)
		return;
	settle(p, false);
	put(p->out, v);
}

void page_gap(struct page *p, int lines)
{
	if (p->gap < lines)
		p->gap = lines;
}

void page_lines(struct page *p, struct view v)
{
	size_t next;

	if (p->prefix.n == 0) {
		page_add(p, v);
		return;
	}
	while (v.n > 0) {
		struct view line = first_line(v, &next);

		if (line.n == 0)
			settle(p, true);
		page_add(p, line);
		if (next > line.n)
			page_gap(p, 1);
		v = view_from(v, next);
	}
}

void page_push(struct page *p, struct view first, struct view rest)
{
	if (p->depth == PAGE_DEPTH) {
		p->over++;
		return;
	}
	page_add(p, first);
	p->marks[p->depth++] = p->prefix.n;
	str_add(&p->prefix, rest);
}

void page_pop(struct page *p)
{
	if (p->over > 0) {
		p->over--;
		return;
	}
	str_truncate(&p->prefix, p->marks[--p->depth]);
}
