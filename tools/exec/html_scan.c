#include <string.h>
#include <strings.h>

#include "tools/exec/html-private.h"

/* The parser behind this compares each attribute of a tag with all before it, so that one tag of a
 * megabyte takes minutes. Tags of that size hold pictures or attacks, no text. What counts as a tag
 * here follows the parser: quotes matter behind an equals sign only; comments, and what is in
 * scripts and styles, are no tags. Should the two differ, the caller's time limit still holds. */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Bytes of the tag at v, its '>' included, or v.n when it does not end. */
static size_t tag_span(struct view v)
{
	bool value = false; /* behind an equals sign */

	for (size_t i = 1; i < v.n; i++) {
		char c = v.p[i];

		if (c == '>')
			return i + 1;
		if (value && (c == '"' || c == '\'')) {
			i += 1 + view_find(view_from(v, i + 1), c);
			value = false;
		} else if (c == '=') {
			value = true;
		} else if (c > ' ') {
			value = false;
		}
	}
	return v.n;
}

/* Position of `text` in any case, or v.n. */
static size_t find_text(struct view v, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i + n <= v.n; i++)
		if (v.p[i] == text[0] && strncasecmp(v.p + i, text, n) == 0)
			return i;
	return v.n;
}

/* Bytes of the comment at v. It ends with "-->" or "--!>", and "<!-->" is a whole one. */
static size_t comment_span(struct view v)
{
	for (size_t i = 2; i + 3 <= v.n; i++) {
		struct view rest = view_from(v, i);

		if (view_starts(rest, VIEW("-->")))
			return i + 3;
		if (i > 3 && view_starts(rest, VIEW("--!>")))
			return i + 4;
	}
	return v.n;
}

static bool is_control(char c)
{
	return c == 0x7f || ((unsigned char)c < ' ' && c != '\t' && c != '\n' && c != '\r');
}

static int add_clean(struct str *out, struct view v)
{
	for (size_t at = 0; at < v.n;) {
		size_t n = at;

		while (n < v.n && !is_control(v.p[n]))
			n++;
		if (str_add(out, (struct view){ v.p + at, n - at }) < 0)
			return -1;
		at = n + (n < v.n);
	}
	return 0;
}

static bool is_tag(struct view v)
{
	return v.n > 1 && (is_letter(v.p[1]) || (v.p[1] != '\0' && strchr("/?!", v.p[1])));
}

/* Bytes behind the tag at v that are its content and hold no tags. */
static size_t raw_span(struct view tag, struct view rest)
{
	static const char *const names[] = { "script", "style" };
	static const char *const ends[] = { "</script", "</style" };

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(names[i]);

		if (tag.n > n + 1 && strncasecmp(tag.p + 1, names[i], n) == 0 &&
			!is_letter(tag.p[n + 1]))
			return find_text(rest, ends[i]);
	}
	return 0;
}

int html_scan(struct view page, struct str *out, size_t *left_out)
{
	*left_out = 0;
	while (page.n > 0) {
		bool comment = view_starts(page, VIEW("<!--"));
		bool tag = !comment && page.p[0] == '<' && is_tag(page);
		size_t n = comment            ? comment_span(page)
		           : tag              ? tag_span(page)
		           : page.p[0] == '<' ? 1
		                              : view_find(page, '<');
		bool big = tag && n > HTML_TAG_MAX;

		*left_out += big;
		if (tag && !big)
			n += raw_span(view_cut(page, n), view_from(page, n));
		if (!comment && !big && add_clean(out, view_cut(page, n)) < 0)
			return -1;
		page = view_from(page, n);
	}
	return 0;
}
