/* Text without marks, for where Markdown is shown as it is written. */
#include "formatter/format-private.h"

#include <cmark.h>

#include "base/text.h"

static void put_char(struct span *s, char c, struct view rest)
{
	(void)rest;
	str_addc(s->out, c);
}

static void code(struct span *s, struct view raw)
{
	str_add(s->out, raw);
}

static void mark(struct span *s, cmark_node *n, bool open)
{
	(void)s;
	(void)n;
	(void)open;
}

static void strike(struct span *s)
{
	(void)s;
}

static void link_open(struct span *s, struct view url)
{
	(void)url;
	s->label = s->out->n;
}

/* Is the label the address, but for the scheme and a slash at the end? */
static bool same_address(struct view label, struct view url)
{
	size_t scheme = view_starts(url, VIEW("https://")) ? 8 : 7;

	if (view_ends(url, VIEW("/")) && !view_ends(label, VIEW("/")))
		url = view_cut(url, url.n - 1);
	return view_eq(label, url) || view_eq(label, view_from(url, scheme));
}

static void link_close(struct span *s, struct view url)
{
	struct view label = view_from(str_view(s->out), s->label);
	struct str tmp = STR_INIT(FORMAT_IN_MAX);
	enum link_kind kind = link_kind(url);

	if (kind == LINK_HIDE || ((s->flags & SPAN_MEASURE) && label.n > 0))
		return;
	put_url(url, &tmp);
	if (kind == LINK_WEB && same_address(label, str_view(&tmp))) {
		str_truncate(s->out, s->label);
		label.n = 0;
	}
	if (label.n > 0)
		str_adds(s->out, " (");
	str_add(s->out, str_view(&tmp));
	if (label.n > 0)
		str_addc(s->out, ')');
	str_settle(&tmp, s->out);
}

static void heading(struct page *p, int level, struct view text)
{
	(void)level;
	page_add(p, text);
}

/* Four columns in: further than a fence may stand, so that nothing in it is taken for one. */
static void code_block(struct page *p, struct view info, struct view body)
{
	(void)info;
	page_push(p, VIEW("    "), VIEW("    "));
	page_lines(p, body);
	page_pop(p);
}

static const unsigned char stops[256] = {
	['\\'] = 1,
	[0xef] = 1,
	['~'] = 1,
	['\n'] = 1,
};

const struct style style_plain = {
	.stops = stops,
	.put_char = put_char,
	.code = code,
	.bold = mark,
	.italic = mark,
	.strike = strike,
	.link_open = link_open,
	.link_close = link_close,
	.quote = { "│ ", 4 },
	.bullets = { { "• ", 4 }, { "◦ ", 4 }, { "▪ ", 4 } },
	.rule = { "──────────", 30 },
	.task = { { "☐ ", 4 }, { "☑ ", 4 } },
	.task_is_bullet = true,
	.heading = heading,
	.code_block = code_block,
};
