#include "base/text.h"

#include <string.h>
#include <utf8proc.h>

/* Unicode 15, table 3-7: what may follow each lead byte. Only the second byte has narrower ranges,
 * which keep out overlong forms, surrogates and everything past U+10FFFF. Returns the length of the
 * well-formed sequence at p, or 0 and in *bad the length of the maximal invalid part. */
static size_t sequence(const unsigned char *p, size_t n, size_t *bad)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t len, i;

	*bad = 1;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	switch (p[0]) {
	case 0xe0: lo = 0xa0; break;
	case 0xed: hi = 0x9f; break;
	case 0xf0: lo = 0x90; break;
	case 0xf4: hi = 0x8f; break;
	default: break;
	}
	for (i = 1; i < len && i < n && p[i] >= lo && p[i] <= hi; i++) {
		lo = 0x80;
		hi = 0xbf;
	}
	*bad = i;
	return i == len ? len : 0;
}

static const unsigned char *bytes(struct view v)
{
	return (const unsigned char *)v.p;
}

size_t utf8_next(struct view v, uint32_t *cp)
{
	size_t bad;

	if (v.n == 0)
		return 0;

	const unsigned char *p = bytes(v);
	size_t len = sequence(p, v.n, &bad);

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

/* Length of the well-formed text that v begins with. */
static size_t valid_span(struct view v)
{
	const unsigned char *p = bytes(v);
	size_t at = 0, len = 1, bad;

	while (at < v.n && len > 0) {
		if (p[at] < 0x80)
			len = ascii_span(p + at, v.n - at);
		else
			len = sequence(p + at, v.n - at, &bad);
		at += len;
	}
	return at;
}

bool utf8_valid(struct view v)
{
	return valid_span(v) == v.n;
}
