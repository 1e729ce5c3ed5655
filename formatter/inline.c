#include "formatter/format-private.h"

#include <cmark.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define LOOK_DEEP 8 /* levels searched for the next character */

/* --- The tree -------------------------------------------------------------------------------- */

static bool is_container(cmark_node *n)
{
	cmark_node_type t = cmark_node_get_type(n);

	return t == CMARK_NODE_EMPH || t == CMARK_NODE_STRONG || t == CMARK_NODE_LINK ||
	       t == CMARK_NODE_IMAGE;
}

/* The next node below root; containers come twice. */
static cmark_node *next_node(cmark_node *n, const cmark_node *root, bool *entering)
{
	if (*entering && is_container(n)) {
		if (cmark_node_first_child(n))
			return cmark_node_first_child(n);
		*entering = false;
		return n;
	}
	if (cmark_node_next(n)) {
		*entering = true;
		return cmark_node_next(n);
	}
	*entering = false;
	n = cmark_node_parent(n);
	return n == root ? NULL : n;
}

uint32_t inline_first(cmark_node *n)
{
	for (int deep = 0; n && deep < LOOK_DEEP; deep++) {
		struct view v = view_of(cmark_node_get_literal(n));

		switch (cmark_node_get_type(n)) {
		case CMARK_NODE_TEXT:
			while (shielded(v) == SHIELD_JOIN || shielded(v) == SHIELD_URL)
				v = view_from(v, SHIELD_SIZE);
			if (v.n > 0)
				return shielded(v) ? (uint32_t)shielded(v) : cp_at(v, 0);
			n = cmark_node_next(n);
			continue;
		case CMARK_NODE_CODE: return '`';
		case CMARK_NODE_LINK:
		case CMARK_NODE_IMAGE: return '[';
		case CMARK_NODE_EMPH:
		case CMARK_NODE_STRONG: break;
		default: return 0;
		}
		n = cmark_node_first_child(n);
	}
	return 0;
}

uint32_t inline_after(cmark_node *n)
{
	if (cmark_node_next(n))
		return inline_first(cmark_node_next(n));
	return is_container(cmark_node_parent(n)) ? '*' : 0;
}

bool inline_cjk(cmark_node *n)
{
	for (n = cmark_node_first_child(n); n; n = cmark_node_next(n)) {
		if (cmark_node_get_type(n) == CMARK_NODE_TEXT &&
			has_cjk(view_of(cmark_node_get_literal(n))))
			return true;
	}
	return false;
}

/* --- What could pair up ---------------------------------------------------------------------- */

/* Does the ~~ at v.p[at] begin (or end) struck text? At the edge of a node something else stands.
 */
static bool strike_turns(struct view v, size_t at, bool open)
{
	if (open)
		return at == 0 || !cp_space(cp_before(v, at));
	return at + 2 >= v.n || !cp_space(cp_at(v, at + 2));
}

static void count_char(struct pairs *p, char c)
{
	p->under += c == '_';
	p->stars += c == '*';
	p->tildes += c == '~';
}

static void count_tildes(struct pairs *p, struct view v, size_t at, size_t n)
{
	if (n != 2) {
		p->tildes += n;
	} else if (!strike_turns(v, at, p->open)) {
		p->tildes += 2;
	} else {
		p->strikes += p->open;
		p->open = !p->open;
	}
}

static void count_text(struct pairs *p, struct view v)
{
	static const unsigned char marks[256] = {
		['_'] = 1,
		['*'] = 1,
		['~'] = 1,
		['`'] = 1,
		[0xef] = 1,
	};
	size_t n;

	for (size_t at = skip_to(marks, v, 0); at < v.n; at = skip_to(marks, v, at + n)) {
		n = 1;
		if (v.p[at] == '~') {
			n = run_of(v, at);
			count_tildes(p, v, at, n);
		} else if (v.p[at] == '`') {
			n = run_of(v, at);
			p->ticks++;
		} else {
			count_char(p, v.p[at] == '\xef' ? shielded(view_from(v, at)) : v.p[at]);
		}
	}
}

static void count_block(struct pairs *p, cmark_node *block)
{
	cmark_node *n = cmark_node_first_child(block);

	for (bool entering = true; n; n = next_node(n, block, &entering)) {
		switch (cmark_node_get_type(n)) {
		case CMARK_NODE_TEXT:
		case CMARK_NODE_HTML_INLINE:
			count_text(p, view_of(cmark_node_get_literal(n)));
			break;
		case CMARK_NODE_LINK:
		case CMARK_NODE_IMAGE:
			if (entering)
				count_text(p, view_of(cmark_node_get_url(n)));
			break;
		case CMARK_NODE_CODE: p->ticks++; break;
		default: break;
		}
	}
}

const struct pairs *span_pairs(struct span *s)
{
	struct pairs *p = &s->pairs;

	if (p->known)
		return p;
	p->known = true;
	if (s->block)
		count_block(p, s->block);
	else
		count_text(p, s->text);
	p->tildes += p->open ? 2 : 0;
	return p;
}

/* --- Text ------------------------------------------------------------------------------------ */

/* What a URL may not hold as it is; the rest of the controls goes. */
static void put_url_char(char c, struct str *out)
{
	switch (c) {
	case ' ': str_adds(out, "%20"); break;
	case '<': str_adds(out, "%3C"); break;
	case '>': str_adds(out, "%3E"); break;
	default:
		if ((unsigned char)c > ' ' && c != 0x7f)
			str_addc(out, c);
		break;
	}
}

/* One shield, escape or other character that is not simply copied; returns the bytes used. */
static size_t put_url_special(struct view url, struct str *out)
{
	char c = shielded(url);
	size_t n = c ? SHIELD_SIZE : 1;

	if (shield_marks(c))
		return n;
	if (url.p[0] == '\\' && shielded(view_from(url, 1)))
		return n;
	put_url_char(c ? c : url.p[0], out);
	if (c == '&' && view_starts(view_from(url, n), VIEW("amp\xef\xb7\xa0")))
		n += 3 + SHIELD_SIZE; /* "&amp;": copied out of HTML */
	return n;
}

void put_url(struct view url, struct str *out)
{
	static const unsigned char special[256] = { [' '] = 1,
		['<'] = 1,
		['>'] = 1,
		['\\'] = 1,
		[0xef] = 1,
		['\t'] = 1,
		['\n'] = 1 };
	struct str safe = STR_INIT(FORMAT_IN_MAX);
	size_t at = 0, from = 0;

	if (has_unsafe(url)) {
		(void)text_safe(url, 0, &safe);
		url = str_view(&safe);
	}
	while ((at = skip_to(special, url, at)) < url.n) {
		put(out, part_of(url, from, at));
		at += put_url_special(view_from(url, at), out);
		from = at;
	}
	put(out, view_from(url, from));
	str_settle(&safe, out);
}

static size_t put_bare_url(struct span *s, struct view v)
{
	static const char end_mark[] = "\xef\xb7\x96"; /* SHIELD_URL_END */
	const char *end = memmem(v.p, v.n, end_mark, SHIELD_SIZE);

	if (!end)
		return SHIELD_SIZE;
	put_url((struct view){ v.p, (size_t)(end - v.p) }, s->out);
	return (size_t)(end - v.p) + SHIELD_SIZE;
}

static size_t put_tildes(struct span *s, struct view v, size_t at)
{
	size_t n = run_of(v, at);

	if (n == 2 && (s->strike || s->struck < span_pairs(s)->strikes) &&
		strike_turns(v, at, s->strike)) {
		s->struck += s->strike;
		s->strike = !s->strike;
		s->style->strike(s);
		return n;
	}
	for (size_t i = 0; i < n; i++)
		s->style->put_char(s, '~', view_from(v, at + i + 1));
	return n;
}

/* Something other than plain text at v.p[at]; returns the bytes used. */
static size_t put_stop(struct span *s, struct view v, size_t at)
{
	struct view here = view_from(v, at);
	char c = shielded(here);

	switch (here.p[0]) {
	case '~': return put_tildes(s, v, at);
	case '\n': str_addc(s->out, ' '); return 1;
	case '\\':
		c = shielded(view_from(here, 1));
		if (c && !shield_marks(c))
			s->style->put_char(s, c, view_from(here, 1 + SHIELD_SIZE));
		else
			str_addc(s->out, '\\');
		return c && !shield_marks(c) ? 1 + SHIELD_SIZE : 1;
	case '\xef':
		if (c == SHIELD_URL)
			return put_bare_url(s, here);
		if (shield_marks(c))
			return SHIELD_SIZE;
		if (!c)
			str_addc(s->out, '\xef');
		else
			s->style->put_char(s, c, view_from(here, SHIELD_SIZE));
		return c ? SHIELD_SIZE : 1;
	default: s->style->put_char(s, here.p[0], view_from(here, 1)); return 1;
	}
}

static void put_chars(struct span *s, struct view v)
{
	const unsigned char *stops = s->style->stops;
	size_t at = 0, from = 0;

	while ((at = skip_to(stops, v, at)) < v.n) {
		put(s->out, part_of(v, from, at));
		at += put_stop(s, v, at);
		from = at;
	}
	put(s->out, view_from(v, from));
}

static bool at_line_start(const struct span *s)
{
	return s->out->n > 0 && s->out->p[s->out->n - 1] == '\n';
}

static void put_text(struct span *s, struct view v)
{
	if (s->first) {
		s->first = false;
		if ((s->flags & SPAN_PREFIXED) && view_starts(v, VIEW(PARAGRAPH_PREFIX)))
			v = view_from(v, sizeof(PARAGRAPH_PREFIX) - 1);
		if (s->flags & SPAN_TASK)
			v = view_from(v, 4);
	}
	while (at_line_start(s) && v.n > 0 && v.p[0] == ' ')
		v = view_from(v, 1);
	if ((s->flags & SPAN_ENTITIES) && has_unsafe(v)) {
		str_truncate(&s->tmp, 0);
		(void)text_safe(v, TEXT_KEEP_TAB, &s->tmp);
		v = str_view(&s->tmp);
	}
	put_chars(s, v);
}

static void put_break(struct span *s, bool html)
{
	if (s->flags & SPAN_LINE) {
		str_adds(s->out, html && (s->flags & SPAN_PREFIXED) ? " / " : " ");
		return;
	}
	while (s->out->n > 0 && s->out->p[s->out->n - 1] == ' ')
		str_truncate(s->out, s->out->n - 1);
	if (!view_ends(str_view(s->out), VIEW("\n\n")))
		str_addc(s->out, '\n');
}

/* --- Links ----------------------------------------------------------------------------------- */

static bool has_scheme(struct view url, const char *scheme)
{
	size_t n = strlen(scheme);

	return url.n > n && strncasecmp(url.p, scheme, n) == 0;
}

enum link_kind link_kind(struct view url)
{
	static const char *const never[] = { "javascript:", "data:", "vbscript:" };
	char start[16];
	size_t n = 0;

	/* The scheme itself may be shielded. */
	for (size_t at = 0; at < url.n && n < sizeof(start) - 1;) {
		char c = shielded(view_from(url, at));

		at += c ? SHIELD_SIZE : 1;
		if (c != SHIELD_URL && c != SHIELD_JOIN)
			start[n++] = c ? c : url.p[at - 1];
	}

	struct view v = { start, n };

	if (has_scheme(v, "http://") || has_scheme(v, "https://"))
		return LINK_WEB;
	if (n > 0 && start[0] == '#') /* a place in a page that there is not */
		return LINK_HIDE;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		if (has_scheme(v, never[i]))
			return LINK_HIDE;
	}
	return n > 0 ? LINK_SHOW : LINK_HIDE;
}

/* A link that shows its own address, or a mail address without "mailto:". */
static bool shows_itself(struct span *s, cmark_node *n, struct view url)
{
	cmark_node *only = cmark_node_first_child(n);
	struct view label;
	size_t mark;
	bool same;

	if (!only || cmark_node_next(only) || cmark_node_get_type(only) != CMARK_NODE_TEXT)
		return false;

	label = view_of(cmark_node_get_literal(only));
	if (has_scheme(url, "mailto:"))
		url = view_from(url, 7);
	if (label.n == 0 || url.n == 0 || label.p[0] != url.p[0])
		return false;
	str_truncate(&s->tmp, 0);
	unshield(label, &s->tmp);
	mark = s->tmp.n;
	unshield(url, &s->tmp);
	same = mark > 0 &&
	       view_eq(view_cut(str_view(&s->tmp), mark), view_from(str_view(&s->tmp), mark));
	if (same)
		put_url(url, s->out);
	return same;
}

static void put_link(struct span *s, cmark_node *n, bool *entering)
{
	struct view url = view_of(cmark_node_get_url(n));

	if (*entering) {
		if (s->links == 0 && shows_itself(s, n, url)) {
			*entering = false; /* as if the content had been seen */
			return;
		}
		if (s->links++ == 0)
			s->style->link_open(s, url);
	} else if (--s->links == 0) {
		s->style->link_close(s, url);
	}
}

/* Looked for when there is a first tag. */
static uint64_t closed_tags(struct span *s)
{
	cmark_node *n = s->closed_known ? NULL : cmark_node_first_child(s->block);
	struct html_tag t;

	s->closed_known = true;
	for (bool entering = true; n; n = next_node(n, s->block, &entering)) {
		if (cmark_node_get_type(n) == CMARK_NODE_HTML_INLINE &&
			html_tag(view_of(cmark_node_get_literal(n)), &t) && t.close)
			s->closed |= t.bit;
	}
	return s->closed;
}

static void put_html(struct span *s, struct view v)
{
	struct html_tag t;

	if (!html_tag(v, &t) || html_is_named(&t, closed_tags(s)))
		t.kind = HTML_UNKNOWN;
	switch (t.kind) {
	case HTML_UNKNOWN: put_chars(s, v); break;
	case HTML_DROP: break;
	case HTML_BREAK: put_break(s, true); break;
	case HTML_SPACE: str_addc(s->out, ' '); break;
	case HTML_POWER:
		if (!t.close)
			str_addc(s->out, '^');
		break;
	case HTML_LINK:
		if (!t.close && s->links == 0 && t.url.n > 0) {
			s->href = t.url;
			s->links = 1;
			s->style->link_open(s, t.url);
		} else if (t.close && s->href.n > 0) {
			s->links = 0;
			s->style->link_close(s, s->href);
			s->href = VIEW_NONE;
		} else {
			put_chars(s, v);
		}
		break;
	case HTML_IMAGE:
		if (s->links == 0) {
			s->links = 1;
			s->style->link_open(s, t.url);
			put_chars(s, t.alt);
			s->links = 0;
			s->style->link_close(s, t.url);
		}
		break;
	}
}

/* --- The walk -------------------------------------------------------------------------------- */

/* In a table's cell a pipe is escaped even in code. */
static void unescape_pipes(struct str *s)
{
	size_t to = 0;

	for (size_t at = 0; at < s->n; at++) {
		if (s->p[at] == '\\' && s->p[at + 1] == '|')
			at++;
		s->p[to++] = s->p[at];
	}
	str_truncate(s, to);
}

static void put_code(struct span *s, struct view raw)
{
	if (raw.n > 0 && memchr(raw.p, 0xef, raw.n)) {
		str_truncate(&s->tmp, 0);
		unshield(raw, &s->tmp);
		if (s->flags & SPAN_PREFIXED)
			unescape_pipes(&s->tmp);
		raw = str_view(&s->tmp);
	}
	s->style->code(s, raw);
}

static void put_node(struct span *s, cmark_node *n, bool *entering)
{
	struct view literal = view_of(cmark_node_get_literal(n));

	switch (cmark_node_get_type(n)) {
	case CMARK_NODE_TEXT: put_text(s, literal); break;
	case CMARK_NODE_SOFTBREAK:
	case CMARK_NODE_LINEBREAK: put_break(s, false); break;
	case CMARK_NODE_CODE: put_code(s, literal); break;
	case CMARK_NODE_HTML_INLINE: put_html(s, literal); break;
	case CMARK_NODE_EMPH: s->style->italic(s, n, *entering); break;
	case CMARK_NODE_STRONG:
		if (!(s->flags & SPAN_NOBOLD))
			s->style->bold(s, n, *entering);
		break;
	case CMARK_NODE_LINK:
	case CMARK_NODE_IMAGE: put_link(s, n, entering); break;
	default: break;
	}
}

static void close_html_link(struct span *s)
{
	if (s->href.n == 0)
		return;
	s->style->link_close(s, s->href);
	s->href = VIEW_NONE;
}

void inline_render(const struct style *st, cmark_node *block, unsigned flags, struct str *out)
{
	struct span s = { .style = st,
		.out = out,
		.flags = flags,
		.block = block,
		.first = true,
		.tmp = STR_INIT(FORMAT_IN_MAX) };
	cmark_node *n = cmark_node_first_child(block);

	for (bool entering = true; n; n = next_node(n, block, &entering))
		put_node(&s, n, &entering);
	close_html_link(&s);
	str_settle(&s.tmp, out);
}

void inline_code(const struct style *st, struct view raw, struct str *out)
{
	struct span s = { .style = st,
		.out = out,
		.flags = SPAN_LINE | SPAN_PREFIXED,
		.tmp = STR_INIT(FORMAT_IN_MAX) };

	put_code(&s, raw);
	str_settle(&s.tmp, out);
}

void inline_text(const struct style *st, struct view text, unsigned flags, struct str *out)
{
	struct span s = { .style = st,
		.out = out,
		.flags = flags,
		.text = text,
		.tmp = STR_INIT(FORMAT_IN_MAX) };

	put_text(&s, text);
	str_settle(&s.tmp, out);
}
