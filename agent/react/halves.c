#include "agent/react/halves.h"

#include <string.h>

#define ESCAPE ((size_t)6) /* characters of \uXXXX */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* At the head of v: the escape of a half whose third digit is one of these. */
static bool is_half(struct view v, const char *third)
{
	return v.n >= ESCAPE && v.p[0] == '\\' && v.p[1] == 'u' &&
	       (v.p[2] == 'd' || v.p[2] == 'D') && v.p[3] != '\0' && strchr(third, v.p[3]) &&
	       is_hex(v.p[4]) && is_hex(v.p[5]);
}

static bool is_high(struct view v)
{
	return is_half(v, "89abAB");
}

static bool is_low(struct view v)
{
	return is_half(v, "cdefCDEF");
}

/* Whatever is escaped at the head of v, which begins a string or not. Returns how much it was. */
static size_t take_escape(struct halves *h, struct view v, bool begins, struct str *out)
{
	size_t n = 2;

	if (is_high(v) && is_low(view_from(v, ESCAPE))) {
		n = 2 * ESCAPE;
	} else if (is_high(v) && view_starts(view_from(v, ESCAPE), VIEW("\""))) {
		memcpy(h->high, v.p, ESCAPE);
		h->held = true;
		return ESCAPE;
	} else if (is_low(v) && begins && h->held) {
		(void)str_add(out, (struct view){ h->high, ESCAPE });
		h->held = false;
		n = ESCAPE;
	}
	(void)str_add(out, view_cut(v, n));
	return n;
}

static bool concerns(const struct halves *h, struct view v)
{
	return h->held || memmem(v.p, v.n, "\\ud", 3) || memmem(v.p, v.n, "\\uD", 3);
}

struct view halves_join(struct halves *h, struct view v, struct str *out)
{
	bool in_string = false, begins = false;

	if (v.n == 0 || !concerns(h, v))
		return v;
	while (v.n > 0) {
		size_t n = 1;

		if (in_string && v.p[0] == '\\') {
			n = take_escape(h, v, begins, out);
			begins = false;
		} else {
			begins = v.p[0] == '"' && !in_string;
			in_string ^= v.p[0] == '"';
			(void)str_addc(out, v.p[0]);
		}
		v = view_from(v, n);
	}
	return str_view(out);
}
