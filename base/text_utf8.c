#include "base/text-private.h"

#include <string.h>
#include <utf8proc.h>

/* Unicode 15, table 3-7: what may follow each lead byte. Only the second byte has narrower ranges,
 * which keep out overlong forms, surrogates and everything past U+10FFFF. */
enum utf8_kind utf8_classify(const unsigned char *p, size_t n, size_t *len)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t want, i;

	*len = 1;
	if (p[0] < 0x80)
		return UTF8_WHOLE;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return UTF8_BAD;
	want = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	switch (p[0]) {
	case 0xe0: lo = 0xa0; break;
	case 0xed: hi = 0x9f; break;
	case 0xf0: lo = 0x90; break;
	case 0xf4: hi = 0x8f; break;
	default: break;
	}
	for (i = 1; i < want && i < n && p[i] >= lo && p[i] <= hi; i++) {
		lo = 0x80;
		hi = 0xbf;
	}
	*len = i;
	if (i == want)
		return UTF8_WHOLE;
	return i == n ? UTF8_PART : UTF8_BAD;
}

static const unsigned char *bytes(struct view v)
{
	return (const unsigned char *)v.p;
}

size_t utf8_next(struct view v, uint32_t *cp)
{
	const unsigned char *p = bytes(v);
	size_t len;

	if (v.n == 0 || utf8_classify(p, v.n, &len) != UTF8_WHOLE)
		return 0;

	switch (len) {
	case 1: *cp = p[0]; break;
	case 2: *cp = (p[0] & 0x1fU) << 6 | (p[1] & 0x3fU); break;
	case 3: *cp = (p[0] & 0x0fU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU); break;
	case 4:
		*cp = (p[0] & 0x07U) << 18 | (p[1] & 0x3fU) << 12 | (p[2] & 0x3fU) << 6 |
		      (p[3] & 0x3fU);
		break;
	default: break;
	}
	return len;
}

/* Where the first byte that is not ASCII stands; eight bytes a step. */
static size_t ascii_span(const unsigned char *p, size_t n)
{
	size_t at = 0;
	uint64_t eight;

	for (; n - at >= sizeof(eight); at += sizeof(eight)) {
		memcpy(&eight, p + at, sizeof(eight));
		if (eight & 0x8080808080808080U)
			break;
	}
	while (at < n && p[at] < 0x80)
		at++;
	return at;
}

/* Three-byte sequences whose second byte has no narrower range: most of what is written in Asia. */
static size_t plain3_span(const unsigned char *p, size_t n)
{
	size_t at = 0;

	while (n - at >= 3 && p[at] > 0xe0 && p[at] < 0xf0 && p[at] != 0xed &&
		(p[at + 1] & 0xc0) == 0x80 && (p[at + 2] & 0xc0) == 0x80)
		at += 3;
	return at;
}

size_t utf8_valid_span(struct view v)
{
	const unsigned char *p = bytes(v);
	size_t at = 0, len;

	while (at < v.n) {
		if (p[at] < 0x80)
			len = ascii_span(p + at, v.n - at);
		else
			len = plain3_span(p + at, v.n - at);
		if (len == 0 && utf8_classify(p + at, v.n - at, &len) != UTF8_WHOLE)
			break;
		at += len;
	}
	return at;
}

bool utf8_valid(struct view v)
{
	return utf8_valid_span(v) == v.n;
}

int utf8_repair(struct view v, struct str *out)
{
	size_t good, bad;

	for (; v.n > 0; v = view_from(v, good + bad)) {
		good = utf8_valid_span(v);
		bad = 0;
		str_add(out, view_cut(v, good));
		if (good < v.n) {
			(void)utf8_classify(bytes(v) + good, v.n - good, &bad);
			str_add(out, TEXT_REPLACEMENT);
		}
	}
	return str_ok(out) ? 0 : -1;
}

/* Length of the code point at v.p; an invalid byte is one. */
static size_t code_point(struct view v)
{
	uint32_t cp;
	size_t n = utf8_next(v, &cp);

	return n > 0 ? n : 1;
}

size_t utf8_count(struct view v)
{
	size_t count = 0;

	for (; v.n > 0; count++)
		v = view_from(v, code_point(v));
	return count;
}

/* --- Grapheme clusters ----------------------------------------------------------------------- */

/* Unicode, annex 29. The break state must follow every code point of the cluster: flags and joined
 * emoji are told apart by what came before. */
static size_t cluster_span(struct view v)
{
	uint32_t prev = 0, cp = 0;
	utf8proc_int32_t state = 0;
	size_t at = utf8_next(v, &prev);

	if (at == 0)
		return v.n > 0 ? 1 : 0;
	while (at < v.n) {
		size_t n = utf8_next(view_from(v, at), &cp);

		if (n == 0 || utf8proc_grapheme_break_stateful((utf8proc_int32_t)prev,
				      (utf8proc_int32_t)cp, &state))
			break;
		if (at + n > TEXT_CLUSTER_MAX)
			break;
		at += n;
		prev = cp;
	}
	return at;
}

/* U+4000 to U+9FFF: nearly all that is written in Chinese. */
static bool is_han(unsigned char lead)
{
	return lead >= 0xe4 && lead <= 0xe9;
}

size_t utf8_cluster(struct view v)
{
	const unsigned char *p = bytes(v);

	/* ASCII and Han never join with each other nor among themselves, but for CR LF. */
	if (v.n > 1 && p[0] < 0x80 && (p[1] < 0x80 || is_han(p[1])))
		return p[0] == '\r' && p[1] == '\n' ? 2 : 1;
	if (v.n > 3 && is_han(p[0]) && (p[3] < 0x80 || is_han(p[3])) && plain3_span(p, 3) == 3)
		return 3;
	return cluster_span(v);
}

static size_t cost_in_bytes(struct view v)
{
	return v.n;
}

/* The prefix of v, made of whole pieces as `piece` measures them, that costs at most max. */
static size_t prefix(struct view v, size_t max, size_t (*piece)(struct view),
	size_t (*cost)(struct view))
{
	size_t at = 0;

	while (at < v.n) {
		struct view rest = view_from(v, at);
		struct view next = view_cut(rest, piece(rest));
		size_t c = cost(next);

		if (c > max)
			break;
		max -= c;
		at += next.n;
	}
	return at;
}

size_t utf8_cut(struct view v, size_t max)
{
	if (v.n <= max)
		return v.n;

	size_t at = prefix(v, max, utf8_cluster, cost_in_bytes);

	return at > 0 ? at : prefix(v, max, code_point, cost_in_bytes);
}

size_t utf8_cut_chars(struct view v, size_t max_chars)
{
	if (v.n <= max_chars)
		return v.n;

	size_t at = prefix(v, max_chars, utf8_cluster, utf8_count);

	return at > 0 ? at : prefix(v, max_chars, code_point, utf8_count);
}

/* --- Columns --------------------------------------------------------------------------------- */

int utf8_cluster_width(struct view cluster)
{
	uint32_t cp = 0xfffd;
	int width = 0, flags = 0;
	bool emoji = false;

	while (cluster.n > 0) {
		size_t n = utf8_next(cluster, &cp);

		if (n == 0)
			cp = 0xfffd;
		int w = utf8proc_charwidth((utf8proc_int32_t)cp);

		width = w > width ? w : width;
		emoji = emoji || cp == 0xfe0f;
		flags += cp >= 0x1f1e6 && cp <= 0x1f1ff;
		cluster = view_from(cluster, n > 0 ? n : 1);
	}
	return width == 1 && (emoji || flags == 2) ? 2 : width;
}

size_t utf8_width(struct view v)
{
	size_t sum = 0;

	while (v.n > 0) {
		size_t n = utf8_cluster(v);

		sum += (size_t)utf8_cluster_width(view_cut(v, n));
		v = view_from(v, n);
	}
	return sum;
}
