/* What must hold of any text, any limit: used by the unit tests and the fuzz target. Each check
 * returns NULL, or what is wrong. Written apart from the code under test, and more simply. */
#ifndef TEST_FORMATTER_INVARIANTS_H
#define TEST_FORMATTER_INVARIANTS_H

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "formatter/formatter.h"

/* --- Formatted text --------------------------------------------------------------------------- */

static inline const char *check_formatted(struct view out)
{
	struct str safe = STR_INIT(2 * FORMAT_OUT_MAX);
	const char *wrong = NULL;

	if (!utf8_valid(out))
		return "not UTF-8";
	if (text_safe(out, TEXT_KEEP_LF | TEXT_KEEP_TAB, &safe) < 0)
		return "memory";
	if (!view_eq(out, str_view(&safe)))
		wrong = "a control character or escape sequence got through";
	str_release(&safe);
	for (size_t i = 0; i + 2 < out.n; i++) {
		if (out.p[i] == '\xef' && out.p[i + 1] == '\xb7' &&
			(unsigned char)out.p[i + 2] >= 0x90 && (unsigned char)out.p[i + 2] <= 0xaf)
			wrong = "a noncharacter got through";
	}
	if (out.n > 0 && (out.p[0] == '\n' || out.p[out.n - 1] == '\n'))
		wrong = "blank lines at an end";
	return wrong;
}

/* --- Parts ------------------------------------------------------------------------------------ */

static inline bool is_space_at(struct view v, size_t at)
{
	uint32_t cp = 0;

	if (at >= v.n || utf8_next(view_from(v, at), &cp) == 0)
		return false;
	return cp <= ' ' || cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200b) ||
	       cp == 0x2028 || cp == 0x2029 || cp == 0x202f || cp == 0x205f || cp == 0x3000 ||
	       cp == 0xfeff;
}

static inline struct view take_line(struct view *v)
{
	size_t n = view_find(*v, '\n');
	struct view line = view_cut(*v, n);

	*v = view_from(*v, n + 1);
	return line;
}

/* Bytes of one quote mark, list marker or blank at v.p, 0 when there is none. */
static inline size_t one_lead(struct view v)
{
	size_t n = 0;

	if (v.n > 0 && (v.p[0] == ' ' || v.p[0] == '\t' || v.p[0] == '>'))
		return 1;
	if (v.n > 1 && strchr("-+*", v.p[0]) && v.p[1] == ' ')
		return 2;
	while (n < v.n && v.p[n] >= '0' && v.p[n] <= '9')
		n++;
	return n > 0 && n + 1 < v.n && (v.p[n] == '.' || v.p[n] == ')') && v.p[n + 1] == ' ' ? n + 2
	                                                                                     : 0;
}

/* A line of three backticks or tildes behind quote marks and list markers. */
static inline bool may_be_fence(struct view line)
{
	while (one_lead(line) > 0)
		line = view_from(line, one_lead(line));
	return view_starts(line, VIEW("```")) || view_starts(line, VIEW("~~~"));
}

/* "```a```" on one line is inline code. */
static inline bool looks_like_fence(struct view line)
{
	size_t at = view_find(line, '`'), run = 0;

	while (at + run < line.n && line.p[at + run] == '`')
		run++;
	return may_be_fence(line) &&
	       (memchr(line.p, '~', at) ||
		       view_find(view_from(line, at + run), '`') == line.n - at - run);
}

/* Something to read: not white space, not the lines of a fence. */
static inline bool shows_something(struct view part)
{
	while (part.n > 0) {
		struct view line = take_line(&part);

		if (looks_like_fence(line) && line.n < 48)
			continue;
		for (size_t i = 0; i < line.n; i++) {
			if (((unsigned char)line.p[i] & 0xc0) != 0x80 && !is_space_at(line, i))
				return true;
		}
	}
	return false;
}

/* The longest run of white space and of what a cut can make a fence line, in code points. */
static inline size_t longest_nothing(struct view v)
{
	size_t run = 0, most = 0;

	while (v.n > 0) {
		struct view line = take_line(&v);
		bool fence = looks_like_fence(line);

		for (size_t i = 0; i < line.n; i++) {
			fence = fence || may_be_fence(view_from(line, i));
			if (((unsigned char)line.p[i] & 0xc0) == 0x80)
				continue;
			run = fence || is_space_at(line, i) ? run + 1 : 0;
			most = run > most ? run : most;
		}
		run++;
		most = run > most ? run : most;
	}
	return most;
}

/* Where in the text a part may end that begins at `at`: as it is, or with a fence opened again in
 * front and closed behind. Up to eight answers. */
struct ends {
	size_t at[8];
	size_t n;
};

static inline void add_end(struct ends *e, size_t at)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->at[i] == at)
			return;
	}
	if (e->n < 8)
		e->at[e->n++] = at;
}

static inline void match_body(struct view text, size_t at, struct view body, struct ends *e)
{
	struct view rest = view_from(text, at), open;
	size_t nl;

	if (view_starts(rest, body))
		add_end(e, at + body.n);
	for (nl = body.n; nl > 0 && body.p[nl - 1] != '\n'; nl--)
		;
	if (nl == 0 || !looks_like_fence(view_from(body, nl)))
		return;
	open = view_cut(body, nl); /* up to the line end before the closing fence */
	if (view_starts(rest, open))
		add_end(e, at + open.n);
	open = view_cut(body, nl - 1); /* that line end was added too */
	if (open.n > 0 && view_starts(rest, open))
		add_end(e, at + open.n);
}

static inline void match_part(struct view text, size_t at, struct view part, struct ends *e)
{
	struct view rest = part, line;
	size_t lead = 0;

	match_body(text, at, part, e);
	line = take_line(&rest);
	if (!looks_like_fence(line))
		return;
	match_body(text, at, rest, e);
	while (lead < line.n && (line.p[lead] == ' ' || line.p[lead] == '>'))
		lead++;
	if (lead > 0 && view_starts(rest, view_cut(line, lead)))
		match_body(text, at, view_from(rest, lead), e);
}

/* The parts, joined, are the text. ends[i] is where part i ends if that is certain, else 0. */
static inline const char *check_join(struct view text, const struct chunks *c, size_t *ends)
{
	struct ends now = { { 0 }, 1 };

	for (size_t i = 0; i < c->n; i++) {
		struct ends next = { { 0 }, 0 };

		for (size_t k = 0; k < now.n; k++)
			match_part(text, now.at[k], c->parts[i], &next);
		if (next.n == 0)
			return "the parts do not join to the text";
		now = next;
		ends[i] = now.n == 1 ? now.at[0] : 0;
	}
	for (size_t k = 0; k < now.n; k++) {
		if (now.at[k] == text.n)
			return NULL;
	}
	return "the end of the text is missing";
}

/* Grapheme clusters that fit are whole. */
static inline const char *check_clusters(struct view text, size_t room, const size_t *ends,
	size_t n)
{
	size_t i = 0;

	for (size_t at = 0, len; at < text.n; at += len) {
		len = utf8_cluster(view_from(text, at));
		while (i < n && ends[i] <= at)
			i++;
		if (i < n && ends[i] < at + len &&
			utf8_count(view_cut(view_from(text, at), len)) <= room)
			return "a cut inside a grapheme cluster";
	}
	return NULL;
}

static inline bool url_byte(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("/_-%=?&#+@$", c));
}

/* URLs are whole if all the word they are in fits; only plain characters are looked at. */
static inline const char *check_urls(struct view text, size_t room, const size_t *ends, size_t n)
{
	size_t i = 0, line = 0, scheme = 0;

	for (size_t at = 0; at < text.n; at++) {
		struct view v = view_from(text, at);
		size_t len = 8, word = 8;

		if (at > 0 && text.p[at - 1] == '\n')
			line = at;
		/* One in the path of another is part of that. */
		if ((unsigned char)text.p[at] <= ' ')
			scheme = 0;
		else if (view_starts(v, VIEW("://")))
			scheme++;
		if (scheme > 0)
			continue;
		if (!view_starts(v, VIEW("https://")) || (at > 0 && url_byte(text.p[at - 1])))
			continue;
		while (len < v.n && url_byte(v.p[len]))
			len++;
		while (len > 8 && strchr("_?&#/", v.p[len - 1]))
			len--;
		while (word < v.n && (unsigned char)v.p[word] > ' ')
			word++;
		while (i < n && ends[i] <= at)
			i++;
		if (i < n && ends[i] < at + len && len > 8 && word <= room &&
			!looks_like_fence(view_cut(view_from(text, line), at - line)))
			return "a cut inside a URL";
	}
	return NULL;
}

/* The most a torn fence can take of a part, so that what is left is room for the rest. */
static inline size_t room_of(struct view text, size_t limit)
{
	bool fences = false;

	for (size_t i = 0; i < text.n; i++)
		fences = fences || may_be_fence(view_from(text, i));
	return limit >= 64 && fences ? limit / 2 : limit;
}

/* The longest grapheme cluster, in code points. */
static inline size_t longest_cluster(struct view text)
{
	size_t most = 1, len;

	for (; text.n > 0; text = view_from(text, len)) {
		size_t n;

		len = utf8_cluster(text);
		n = utf8_count(view_cut(text, len));
		most = n > most ? n : most;
	}
	return most;
}

static inline const char *check_parts(struct view text, size_t limit, const struct chunks *c)
{
	size_t *ends = calloc(c->n + 1, sizeof(*ends)), room = room_of(text, limit);
	size_t nothing = longest_nothing(text), left = room > 2 * nothing ? room - 2 * nothing : 0;
	bool some = left >= longest_cluster(text);
	const char *wrong = ends ? NULL : "memory";

	for (size_t i = 0; !wrong && i < c->n; i++) {
		if (c->parts[i].n == 0)
			wrong = "an empty part";
		else if (!utf8_valid(c->parts[i]))
			wrong = "a torn UTF-8 sequence";
		else if (utf8_count(c->parts[i]) > limit)
			wrong = "a part over the limit";
		else if (some && c->n > 1 && !shows_something(c->parts[i]))
			wrong = "a part with nothing in it";
	}
	if (!wrong && c->n > 0)
		wrong = check_join(text, c, ends);
	if (!wrong && c->n > 0)
		wrong = check_clusters(text, left, ends, c->n);
	if (!wrong && c->n > 0)
		wrong = check_urls(text, left, ends, c->n);
	free(ends);
	return wrong;
}

#endif
