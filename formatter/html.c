#include "formatter/format-private.h"

#include <string.h>
#include <strings.h>

#define TAG_MAX 2048

enum when { BOTH, LONE, ON_OPEN, ON_CLOSE, ONLY_CLOSE };

/* What known tags come to; the other of a pair is dropped, or (ONLY_CLOSE) is no tag of ours. Those
 * that are LONE need no end. */
static const struct known {
	const char *name;
	enum html_kind kind;
	enum when when;
} known[] = {
	{ "a", HTML_LINK, BOTH },
	{ "img", HTML_IMAGE, ON_OPEN },
	{ "sup", HTML_POWER, BOTH },
	{ "br", HTML_BREAK, LONE },
	{ "hr", HTML_BREAK, LONE },
	{ "p", HTML_BREAK, BOTH },
	{ "div", HTML_BREAK, BOTH },
	{ "li", HTML_BREAK, BOTH },
	{ "tr", HTML_BREAK, BOTH },
	{ "h1", HTML_BREAK, BOTH },
	{ "h2", HTML_BREAK, BOTH },
	{ "h3", HTML_BREAK, BOTH },
	{ "h4", HTML_BREAK, BOTH },
	{ "h5", HTML_BREAK, BOTH },
	{ "h6", HTML_BREAK, BOTH },
	{ "ul", HTML_BREAK, BOTH },
	{ "ol", HTML_BREAK, BOTH },
	{ "pre", HTML_BREAK, BOTH },
	{ "blockquote", HTML_BREAK, BOTH },
	{ "summary", HTML_BREAK, BOTH },
	{ "td", HTML_SPACE, ON_CLOSE },
	{ "th", HTML_SPACE, ON_CLOSE },
	{ "table", HTML_DROP, BOTH },
	{ "thead", HTML_DROP, BOTH },
	{ "tbody", HTML_DROP, BOTH },
	{ "details", HTML_DROP, BOTH },
	{ "span", HTML_DROP, BOTH },
	{ "font", HTML_DROP, BOTH },
	{ "center", HTML_DROP, BOTH },
	{ "b", HTML_DROP, BOTH },
	{ "strong", HTML_DROP, BOTH },
	{ "i", HTML_DROP, BOTH },
	{ "em", HTML_DROP, BOTH },
	{ "u", HTML_DROP, BOTH },
	{ "s", HTML_DROP, BOTH },
	{ "del", HTML_DROP, BOTH },
	{ "ins", HTML_DROP, BOTH },
	{ "small", HTML_DROP, BOTH },
	{ "big", HTML_DROP, BOTH },
	{ "mark", HTML_DROP, BOTH },
	{ "sub", HTML_DROP, BOTH },
	{ "kbd", HTML_DROP, BOTH },
	{ "code", HTML_DROP, BOTH },
	{ "samp", HTML_DROP, BOTH },
	/* Left behind by hosts that split or wrap a model's answer (wire reference, S15). */
	{ "bubble", HTML_BREAK, LONE },
	{ "answer", HTML_DROP, LONE },
	{ "event", HTML_DROP, ONLY_CLOSE },
	{ "message", HTML_DROP, ONLY_CLOSE },
};
_Static_assert(sizeof(known) / sizeof(known[0]) <= 64, "each has a bit");

static const struct known *look_up(struct view name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].name) == name.n &&
			strncasecmp(known[i].name, name.p, name.n) == 0)
			return &known[i];
	}
	return NULL;
}

/* The value of an attribute, quoted or not. */
static struct view attribute(struct view tag, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 1; at + len + 1 < tag.n; at++) {
		char quote, before = tag.p[at - 1];
		size_t from = at + len + 1, end;

		if ((before != ' ' && before != '\t' && before != '\n') || tag.p[at + len] != '=' ||
			strncasecmp(tag.p + at, name, len) != 0)
			continue;
		quote = tag.p[from];
		if (quote == '"' || quote == '\'')
			from++;
		for (end = from; end < tag.n - 1; end++) {
			if (from > at + len + 1 ? tag.p[end] == quote : tag.p[end] == ' ')
				break;
		}
		return (struct view){ tag.p + from, end - from };
	}
	return VIEW_NONE;
}

bool html_tag(struct view v, struct html_tag *t)
{
	const struct known *k;
	size_t at = 1, name;

	*t = (struct html_tag){ .kind = HTML_UNKNOWN };
	if (view_starts(v, VIEW("<!--")) && view_ends(v, VIEW("-->"))) {
		t->kind = HTML_DROP;
		t->n = v.n;
		return true;
	}
	t->close = v.n > 1 && v.p[1] == '/';
	name = at += t->close;
	while (at < v.n && ascii_alnum(v.p[at]))
		at++;
	k = look_up((struct view){ v.p + name, at - name });
	if (!k)
		return false;
	for (; at < v.n && at < TAG_MAX && v.p[at] != '>'; at++) {
		if (v.p[at] == '<')
			return false;
	}
	if (at >= v.n || v.p[at] != '>' || (k->when == ONLY_CLOSE && !t->close))
		return false;
	t->n = at + 1;
	t->kind = k->kind;
	t->bit = UINT64_C(1) << (k - known);
	t->bare = k->kind != HTML_IMAGE && k->when != LONE && at == name + strlen(k->name);
	if ((k->when == ON_OPEN && t->close) || (k->when == ON_CLOSE && !t->close))
		t->kind = HTML_DROP;
	t->url = attribute(view_cut(v, t->n), k->kind == HTML_IMAGE ? "src" : "href");
	t->alt = attribute(view_cut(v, t->n), "alt");
	if (t->kind == HTML_IMAGE)
		return t->url.n > 0 || t->alt.n > 0;
	return t->kind != HTML_LINK || t->close || t->url.n > 0;
}

bool html_is_named(const struct html_tag *t, uint64_t closed)
{
	return t->bare && !t->close && !(closed & t->bit);
}

/* --- Blocks ---------------------------------------------------------------------------------- */

static void put_link_end(struct view *href, struct str *out)
{
	if (href->n == 0)
		return;
	str_adds(out, "](");
	str_add(out, *href);
	str_addc(out, ')');
	*href = VIEW_NONE;
}

/* False when the tag turns out to be none. */
static bool put_tag(const struct html_tag *t, struct view *href, struct str *out)
{
	struct view url = t->url;

	switch (t->kind) {
	case HTML_BREAK: str_addc(out, '\n'); break;
	case HTML_SPACE: str_addc(out, ' '); break;
	case HTML_POWER: str_adds(out, t->close ? "" : "^"); break;
	case HTML_IMAGE:
		str_addc(out, '[');
		str_add(out, t->alt);
		put_link_end(&url, out);
		break;
	case HTML_LINK:
		if (t->close && href->n == 0)
			return false;
		put_link_end(href, out);
		*href = t->url;
		if (href->n > 0)
			str_addc(out, '[');
		break;
	default: break;
	}
	return true;
}

static uint64_t closed_in(struct view html)
{
	struct html_tag t;
	uint64_t closed = 0;

	for (; html.n > 0; html = view_from(html, 1)) {
		html = view_from(html, view_find(html, '<'));
		if (html.n > 1 && html.p[1] == '/' && html_tag(html, &t))
			closed |= t.bit;
	}
	return closed;
}

/* "<div>: a block", "<p> and <b>": is there a sentence behind the tag? Its end may be in another
 * block, so that alone says little here. */
static bool talks_on(struct view rest)
{
	uint32_t cp = cp_at(rest, 0);

	if (cp == ' ') {
		while (rest.n > 0 && rest.p[0] == ' ')
			rest = view_from(rest, 1);
		return rest.n > 0 && rest.p[0] != '<' && rest.p[0] != '\n';
	}
	return cp == ',' || cp == '.' || cp == ':' || cp == ';' || (cp >= 0x80 && cp_punct(cp));
}

void html_text(struct view html, struct str *out)
{
	uint64_t closed = closed_in(html);
	struct view href = VIEW_NONE;
	struct html_tag t;
	bool comments = true;
	const char *end;

	while (html.n > 0) {
		size_t n = 1;

		if (comments && view_starts(html, VIEW("<!--"))) {
			end = memmem(html.p, html.n, "-->", 3);
			comments = end != NULL;
			n = end ? (size_t)(end - html.p) + 3 : 0;
		} else if (html.p[0] == '<' && html_tag(html, &t) &&
			   !(html_is_named(&t, closed) && talks_on(view_from(html, t.n))) &&
			   put_tag(&t, &href, out)) {
			n = t.n;
		} else {
			str_addc(out, html.p[0]);
		}
		html = view_from(html, n);
	}
	put_link_end(&href, out);
}
