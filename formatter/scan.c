#include "formatter/format-private.h"

#include <utf8proc.h>

#include "base/text.h"

void str_settle(struct str *part, struct str *out)
{
	if (!str_ok(part))
		out->failed = true;
	str_release(part);
}

bool ascii_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool ascii_punct(char c)
{
	return c > ' ' && c < 0x7f && !ascii_alnum(c);
}

bool cp_space(uint32_t cp)
{
	return cp <= ' ' || cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200b) ||
	       cp == 0x2028 || cp == 0x2029 || cp == 0x202f || cp == 0x205f || cp == 0x3000 ||
	       cp == 0xfeff;
}

bool cp_punct(uint32_t cp)
{
	if (cp < 0x80)
		return ascii_punct((char)cp);

	utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);

	return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

bool cp_cjk(uint32_t cp)
{
	return (cp >= 0x2e80 && cp <= 0x9fff) || (cp >= 0xac00 && cp <= 0xd7af) ||
	       (cp >= 0xf900 && cp <= 0xfaff) || (cp >= 0x20000 && cp <= 0x3ffff);
}

uint32_t cp_at(struct view v, size_t at)
{
	uint32_t cp = 0;

	return at < v.n && utf8_next(view_from(v, at), &cp) > 0 ? cp : 0;
}

uint32_t cp_before(struct view v, size_t at)
{
	size_t from = at;

	if (at == 0)
		return 0;
	do
		from--;
	while (from > 0 && at - from < 4 && ((unsigned char)v.p[from] & 0xc0) == 0x80);
	return cp_at(view_cut(v, at), from);
}

bool has_cjk(struct view v)
{
	for (size_t at = 0; at < v.n; at++) {
		if ((unsigned char)v.p[at] >= 0xe2 && cp_cjk(cp_at(v, at)))
			return true;
	}
	return false;
}

/* --- URLs ------------------------------------------------------------------------------------ */

static bool starts_nocase(struct view v, const char *lower, size_t n)
{
	if (v.n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if ((v.p[i] >= 'A' && v.p[i] <= 'Z' ? v.p[i] | 0x20 : v.p[i]) != lower[i])
			return false;
	}
	return true;
}

static size_t scheme_length(struct view v)
{
	static const struct view schemes[] = {
		{ "https://", 8 },
		{ "http://", 7 },
		{ "ftp://", 6 },
		{ "www.", 4 },
	};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (starts_nocase(v, schemes[i].p, schemes[i].n))
			return schemes[i].n;
	}
	return 0;
}

/* Full-width and typographic punctuation ends a URL; letters of any script may be in its path. */
static bool ends_url(uint32_t cp)
{
	return cp_space(cp) || (cp >= 0x3001 && cp <= 0x3003) || (cp >= 0x3008 && cp <= 0x3011) ||
	       (cp >= 0x3014 && cp <= 0x301f) || (cp >= 0x2013 && cp <= 0x2026) ||
	       (cp >= 0xff01 && cp <= 0xff0f) || (cp >= 0xff1a && cp <= 0xff20) ||
	       (cp >= 0xff3b && cp <= 0xff40) || (cp >= 0xff5b && cp <= 0xff65) ||
	       (cp >= 0xfdd0 && cp <= 0xfdef);
}

struct brackets {
	size_t round, square;
};

/* "**https://x**": are the marks at v.p[at] amid the URL rather than behind it? */
static bool goes_on(struct view v, size_t at)
{
	size_t end = at;

	while (end < v.n && v.p[end] == v.p[at])
		end++;
	return end < v.n && (ascii_alnum(v.p[end]) || v.p[end] == '/');
}

/* Does the ASCII character at v.p[at] belong to the URL before it? */
static bool ascii_in_url(struct view v, size_t at, struct brackets *b)
{
	char c = v.p[at], next = at + 1 < v.n ? v.p[at + 1] : ' ';

	switch (c) {
	case '<':
	case '>':
	case '"':
	case '`':
	case '|': return false;
	case '*':
	case '~': return next != c || goes_on(v, at);
	case '\\': return ascii_punct(next);
	case '!': return next != '[';
	case '(': b->round++; return true;
	case '[': b->square++; return true;
	case ')': return b->round > 0 && b->round-- > 0;
	case ']': return next != '(' && b->square > 0 && b->square-- > 0;
	default: return c > ' ' && c < 0x7f;
	}
}

static size_t trim_url(struct view v, size_t n, size_t least)
{
	for (; n > least; n--) {
		switch (v.p[n - 1]) {
		case '.':
		case ',':
		case ':':
		case ';':
		case '!':
		case '?':
		case '\'':
		case '*':
		case '~':
		case '\\': continue;
		default: return n;
		}
	}
	return n;
}

size_t url_length(struct view v)
{
	size_t least = scheme_length(v), at = least, n;
	struct brackets b = { 0, 0 };
	uint32_t cp = 0;

	if (least == 0)
		return 0;
	while (at < v.n) {
		if ((unsigned char)v.p[at] < 0x80) {
			if (!ascii_in_url(v, at, &b))
				break;
			at += v.p[at] == '\\' ? 2 : 1;
			continue;
		}
		n = utf8_next(view_from(v, at), &cp);
		if (n == 0 || ends_url(cp))
			break;
		at += n;
	}
	at = trim_url(v, at < v.n ? at : v.n, least);
	return at > least ? at : 0;
}

/* --- Controls -------------------------------------------------------------------------------- */

static bool is_unsafe(uint32_t cp)
{
	return (cp >= 0x80 && cp < 0xa0) || cp == 0x61c || cp == 0x200e || cp == 0x200f ||
	       (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

bool has_unsafe(struct view v)
{
	/* 1: unsafe as it is; 2: the first byte of characters some of which are. */
	static const unsigned char suspects[256] = {
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		0,
		0,
		1,
		1,
		1,
		1,
		1, /* not tab, not line feed */
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1,
		1, /* 0x10 to 0x1f */
		[0x7f] = 1,
		[0xc2] = 2,
		[0xd8] = 2,
		[0xe2] = 2,
	};
	for (size_t i = skip_to(suspects, v, 0); i < v.n; i = skip_to(suspects, v, i + 1)) {
		if (suspects[(unsigned char)v.p[i]] == 1 || is_unsafe(cp_at(v, i)))
			return true;
	}
	return false;
}
