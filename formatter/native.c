/* Markdown as WeChat renders it, made safe: it takes any '<' for a tag and hides what follows,
 * pairs underscores even inside names, and shows entities and backslashes as they are. Full-width
 * forms stand in outside code (wire reference, 7.3). */
#include "formatter/format-private.h"

#include <cmark.h>
#include <string.h>

/* --- Text ------------------------------------------------------------------------------------ */

static bool at_line_start(const struct str *out)
{
	return out->n == 0 || out->p[out->n - 1] == '\n';
}

/* "# " at the start of a line that was no heading, because it was escaped. Only there is the run
 * looked at, else a long one is looked at from each of its marks. */
static bool would_be_heading(const struct span *s, struct view rest)
{
	if (!at_line_start(s->out))
		return false;
	while (rest.n > 0 && (rest.p[0] == '#' || rest.p[0] == '\\' || shielded(rest) == '#'))
		rest = view_from(rest, shielded(rest) ? SHIELD_SIZE : 1);
	return rest.n == 0 || rest.p[0] == ' ';
}

/* "===" below text that it was no part of makes a heading of that. */
static bool would_underline(const struct span *s, struct view rest)
{
	if (!at_line_start(s->out) || s->out->n < 2)
		return false;
	while (rest.n > 0 && rest.p[0] == '=')
		rest = view_from(rest, 1);
	return view_trim(rest).n == 0;
}

static bool is_loose(const struct span *s, struct view rest)
{
	return cp_space(cp_before(str_view(s->out), s->out->n)) && cp_space(cp_at(rest, 0));
}

static void put_char(struct span *s, char c, struct view rest)
{
	const char *wide = NULL;

	switch (c) {
	case '<': wide = "＜"; break;
	case '>': wide = "＞"; break;
	case '_': wide = span_pairs(s)->under > 1 ? "＿" : NULL; break;
	case '~': wide = span_pairs(s)->tildes > 1 ? "～" : NULL; break;
	case '*': wide = span_pairs(s)->stars > 1 && !is_loose(s, rest) ? "＊" : NULL; break;
	case '#': wide = would_be_heading(s, rest) ? "＃" : NULL; break;
	case '`':
		if (span_pairs(s)->ticks > 1 ||
			(at_line_start(s->out) && view_starts(rest, VIEW("``"))))
			wide = "｀";
		break;
	case '=': wide = would_underline(s, rest) ? "\n=" : NULL; break;
	case '[': wide = s->links > 0 ? "［" : NULL; break;
	case ']': wide = s->links > 0 ? "］" : NULL; break;
	default: break;
	}
	if (wide)
		str_adds(s->out, wide);
	else
		str_addc(s->out, c);
}

static size_t longest_run(struct view v, char c)
{
	size_t longest = 0, n = 0;

	for (size_t i = 0; i < v.n; i++) {
		n = v.p[i] == c ? n + 1 : 0;
		if (n > longest)
			longest = n;
	}
	return longest;
}

static void put_run(struct str *out, char c, size_t n)
{
	while (n-- > 0)
		str_addc(out, c);
}

static void code(struct span *s, struct view raw)
{
	size_t ticks = 1;
	bool pad = false;

	if (raw.n == 0)
		return;
	if (memchr(raw.p, '`', raw.n)) {
		ticks = longest_run(raw, '`') + 1;
		pad = raw.p[0] == '`' || raw.p[raw.n - 1] == '`';
	}
	if (raw.p[0] == ' ' && raw.p[raw.n - 1] == ' ' && !is_blank_line(raw))
		pad = true;
	put_run(s->out, '`', ticks);
	if (pad)
		str_addc(s->out, ' ');
	str_add(s->out, raw);
	if (pad)
		str_addc(s->out, ' ');
	put_run(s->out, '`', ticks);
}

/* A mark next to punctuation inside and a letter outside is not taken for one: a space helps. */
static void put_mark(struct span *s, cmark_node *n, bool open, struct view mark)
{
	uint32_t before = cp_before(str_view(s->out), s->out->n), after;

	if (open) {
		after = inline_first(cmark_node_first_child(n));
		if (!cp_space(before) && !cp_punct(before) && cp_punct(after))
			str_addc(s->out, ' ');
		str_add(s->out, mark);
	} else {
		after = inline_after(n);
		str_add(s->out, mark);
		if (!cp_space(after) && !cp_punct(after) && cp_punct(before))
			str_addc(s->out, ' ');
	}
}

static void bold(struct span *s, cmark_node *n, bool open)
{
	put_mark(s, n, open, VIEW("**"));
}

/* Slanted Han is hard to read, and the mark is often not seen as one. */
static void italic(struct span *s, cmark_node *n, bool open)
{
	if (!inline_cjk(n))
		put_mark(s, n, open, VIEW("*"));
}

static void strike(struct span *s)
{
	str_adds(s->out, "~~");
}

static void link_open(struct span *s, struct view url)
{
	if (link_kind(url) == LINK_WEB)
		str_addc(s->out, '[');
	s->label = s->out->n;
}

/* A path or another scheme cannot be opened there, but it can be read: as code, so that it stays
 * as it is. */
static void put_shown(struct span *s, struct view url, bool labelled)
{
	struct str tmp = STR_INIT(FORMAT_IN_MAX);

	put_url(url, &tmp);
	if (labelled)
		str_adds(s->out, " (");
	code(s, str_view(&tmp));
	if (labelled)
		str_addc(s->out, ')');
	str_settle(&tmp, s->out);
}

static void link_close(struct span *s, struct view url)
{
	bool labelled = s->out->n > s->label;

	switch (link_kind(url)) {
	case LINK_WEB:
		if (labelled)
			str_adds(s->out, "](");
		else
			str_truncate(s->out, s->label - 1);
		put_url(url, s->out);
		if (labelled)
			str_addc(s->out, ')');
		break;
	case LINK_SHOW: put_shown(s, url, labelled); break;
	case LINK_HIDE: break;
	}
}

/* --- Blocks ---------------------------------------------------------------------------------- */

static void heading(struct page *p, int level, struct view text)
{
	page_add(p, view_cut(VIEW("#### "), (size_t)(level < 4 ? level : 4)));
	page_add(p, VIEW(" "));
	page_add(p, text);
}

static void put_fence(struct page *p, size_t n)
{
	static const struct view ticks = { "````````", 8 };

	for (; n > ticks.n; n -= ticks.n)
		page_add(p, ticks);
	page_add(p, view_cut(ticks, n));
}

static void code_block(struct page *p, struct view info, struct view body)
{
	size_t n = longest_run(body, '`') + 1;

	if (n < 3)
		n = 3;
	put_fence(p, n);
	/* A tilde fence may have backticks here, one of backticks may not. */
	page_add(p, view_cut(info, view_find(info, '`')));
	page_gap(p, 1);
	page_lines(p, body);
	page_gap(p, 1);
	put_fence(p, n);
}

static const unsigned char stops[256] = {
	['\\'] = 1,
	[0xef] = 1,
	['~'] = 1,
	['\n'] = 1,
	['_'] = 1,
	['*'] = 1,
	['<'] = 1,
	['>'] = 1,
	['#'] = 1,
	['='] = 1,
	['`'] = 1,
	['['] = 1,
	[']'] = 1,
};

const struct style style_native = {
	.stops = stops,
	.put_char = put_char,
	.code = code,
	.bold = bold,
	.italic = italic,
	.strike = strike,
	.link_open = link_open,
	.link_close = link_close,
	.quote = { "> ", 2 },
	.rule = { "---", 3 },
	.task = { { "☐ ", 4 }, { "☑ ", 4 } },
	.heading = heading,
	.code_block = code_block,
	.pipes = true,
};
