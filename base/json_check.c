/* The gate: RFC 8259 and nothing else, in one pass and without recursion. */
#include "base/json-private.h"
#include "base/text-private.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum want { WANT_VALUE, WANT_ITEM_OR_END, WANT_NAME, WANT_NAME_OR_END, WANT_COMMA_OR_END };

struct scan {
	const char *p;
	size_t n, at;
	const struct json_limits *lim;
	int depth;
	uint64_t in_object; /* a bit a level, the innermost lowest */
	size_t nodes;
	enum want want;
	struct json_notes *notes;
	size_t copied; /* how much of the input stands in the copy */
	bool literal;  /* the string read last stands there as it is meant */
	struct err *e;
};

const struct json_limits json_limits_wire = { 2 << 20, 32, 200000, JSON_NUL_REFUSE, false };
const struct json_limits json_limits_config = { 128 << 10, 16, 10000, JSON_NUL_REFUSE, false };
const struct json_limits json_limits_message = { 2 << 20, 32, 200000, JSON_NUL_REPAIR, true };

static int refuse(const struct scan *s, size_t at, const char *why)
{
	return err_set(s->e, E_FORMAT, "JSON, byte %zu: %s", at, why);
}

/* --- The copy ------------------------------------------------------------------------------- */

/* Everything up to `at` reaches the copy, and `instead` for the `skip` bytes that follow. */
static void edit(struct scan *s, size_t at, size_t skip, struct view instead)
{
	struct json_copy *copy = &s->notes->copy;

	if (!copy->p && json_copy_begin(copy, s->n) < 0) {
		s->notes->no_memory = true;
		return;
	}
	json_copy_add(copy, (struct view){ s->p + s->copied, at - s->copied });
	json_copy_add(copy, instead);
	s->copied = at + skip;
}

static void replace(struct scan *s, size_t at, size_t skip)
{
	s->literal = false;
	if (s->notes)
		edit(s, at, skip, TEXT_REPLACEMENT);
}

/* --- Strings --------------------------------------------------------------------------------- */

#define EACH(byte) (0x0101010101010101U * (byte))

/* Non-zero when one of the eight bytes is zero. */
static uint64_t has_zero(uint64_t w)
{
	return (w - EACH(0x01U)) & ~w & EACH(0x80U);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\';
}

/* Eight bytes a step. Each of the three tests marks the first byte it means for certain and perhaps
 * some behind it; the first is the lowest, once the word is read as little-endian. */
static inline size_t plain_span(struct view v, bool *ascii)
{
	size_t at = 0;
	uint64_t w, stop = 0, high = 0;

	for (; v.n - at >= sizeof(w); at += sizeof(w)) {
		memcpy(&w, v.p + at, sizeof(w));
		w = le64toh(w);
		stop = ((w - EACH(0x20U)) & ~w & EACH(0x80U)) | has_zero(w ^ EACH('"')) |
		       has_zero(w ^ EACH('\\'));
		if (stop)
			break;
		high |= w;
	}
	if (stop) {
		at += (size_t)__builtin_ctzll(stop) / 8;
		high |= w & ((stop & -stop) - 1);
	}
	for (; !stop && at < v.n && is_plain((unsigned char)v.p[at]); at++)
		high |= (unsigned char)v.p[at];
	*ascii = (high & EACH(0x80U)) == 0;
	return at;
}

size_t json_plain_span(struct view v, bool *ascii)
{
	return plain_span(v, ascii);
}

/* Bytes that need no escape: only their UTF-8 is in question. */
static int scan_utf8(struct scan *s, size_t end)
{
	size_t at = s->at, bad;

	at += utf8_valid_span((struct view){ s->p + at, end - at });
	if (at < end && !s->lim->repair_utf8)
		return refuse(s, at, "not valid UTF-8");
	while (at < end) {
		(void)utf8_classify((const unsigned char *)s->p + at, end - at, &bad);
		replace(s, at, bad);
		at += bad;
		at += utf8_valid_span((struct view){ s->p + at, end - at });
	}
	return 0;
}

static int scan_plain(struct scan *s)
{
	bool ascii;
	size_t n = plain_span((struct view){ s->p + s->at, s->n - s->at }, &ascii);

	if (!ascii && scan_utf8(s, s->at + n) < 0)
		return -1;
	s->at += n;
	return 0;
}

/* The four hexadecimal digits at `at`, or -1. */
static int hex4(const struct scan *s, size_t at)
{
	int sum = 0;

	if (s->n - at < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		char c = s->p[at + i];

		if (c >= '0' && c <= '9')
			sum = sum * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			sum = sum * 16 + (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			sum = sum * 16 + (c - 'A' + 10);
		else
			return -1;
	}
	return sum;
}

static bool is_low_surrogate_at(const struct scan *s, size_t at)
{
	if (s->n - at < 6 || s->p[at] != '\\' || s->p[at + 1] != 'u')
		return false;

	int unit = hex4(s, at + 2);

	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* At the backslash of \uXXXX. */
static int scan_unicode_escape(struct scan *s)
{
	size_t at = s->at;
	int unit = hex4(s, at + 2);

	if (unit < 0)
		return refuse(s, at, "\\u needs four hexadecimal digits");
	s->at += 6;
	if (unit == 0) {
		if (s->lim->nul == JSON_NUL_REFUSE)
			return refuse(s, at, "\\u0000 is not accepted");
		replace(s, at, 6);
	} else if (unit >= 0xd800 && unit <= 0xdbff && is_low_surrogate_at(s, s->at)) {
		s->at += 6;
	} else if (unit >= 0xd800 && unit <= 0xdfff) {
		if (!s->lim->repair_utf8)
			return refuse(s, at, "half of a surrogate pair");
		replace(s, at, 6);
	}
	return 0;
}

static int scan_escape(struct scan *s)
{
	s->literal = false;
	if (s->n - s->at < 2)
		return refuse(s, s->at, "the string has no end");
	switch (s->p[s->at + 1]) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't': s->at += 2; return 0;
	case 'u': return scan_unicode_escape(s);
	default: return refuse(s, s->at, "unknown escape");
	}
}

/* At the opening quote; ends behind the closing one. */
static int scan_string(struct scan *s)
{
	size_t start = s->at++;

	s->literal = true;
	for (;;) {
		if (scan_plain(s) < 0)
			return -1;
		if (s->at == s->n)
			return refuse(s, start, "the string has no end");
		if (s->p[s->at] == '"')
			break;
		if (s->p[s->at] == '\\') {
			if (scan_escape(s) < 0)
				return -1;
		} else if (s->p[s->at] == '\0' && s->lim->nul == JSON_NUL_REPAIR) {
			replace(s, s->at++, 1);
		} else {
			return refuse(s, s->at, "control character in a string");
		}
	}
	s->at++;
	return 0;
}

/* --- Numbers and words ----------------------------------------------------------------------- */

static size_t digits(const struct scan *s, size_t at)
{
	size_t from = at;

	while (at < s->n && s->p[at] >= '0' && s->p[at] <= '9')
		at++;
	return at - from;
}

static bool overflows(struct view literal)
{
	char z[JSON_NUMBER_CHARS + 1];

	return copy_z(z, sizeof(z), literal) < 0 || isinf(strtod(z, NULL));
}

/* One that a double gives back digit for digit stays; others are kept as they are written. */
static void keep_number(struct scan *s, size_t start)
{
	char marked[JSON_NUMBER_CHARS + 3] = { '"', JSON_NUMBER_MARK };
	size_t n = s->at - start;

	memcpy(marked + 2, s->p + start, n);
	marked[n + 2] = '"';
	edit(s, start, n, (struct view){ marked, n + 3 });
}

static int scan_number(struct scan *s)
{
	size_t start = s->at, at = start, whole, n;
	bool minus = s->p[at] == '-', point = false, power = false;

	at += minus ? 1 : 0;
	whole = at < s->n && s->p[at] == '0' ? 1 : digits(s, at);
	if (whole == 0)
		return refuse(s, at, "a digit was expected");
	at += whole;
	if (at < s->n && s->p[at] == '.') {
		point = true;
		n = digits(s, ++at);
		if (n == 0)
			return refuse(s, at, "a digit was expected");
		at += n;
	}
	if (at < s->n && (s->p[at] == 'e' || s->p[at] == 'E')) {
		power = true;
		at++;
		if (at < s->n && (s->p[at] == '+' || s->p[at] == '-'))
			at++;
		n = digits(s, at);
		if (n == 0)
			return refuse(s, at, "a digit was expected");
		at += n;
	}
	if (at - start > JSON_NUMBER_CHARS)
		return refuse(s, start, "the number is too long");
	if (power && overflows((struct view){ s->p + start, at - start }))
		return refuse(s, start, "the number is too large");
	s->at = at;
	bool minus_zero = minus && s->p[start + 1] == '0';
	if (s->notes && (point || power || whole > 15 || minus_zero))
		keep_number(s, start);
	return 0;
}

static int scan_word(struct scan *s, struct view word)
{
	if (!view_starts((struct view){ s->p + s->at, s->n - s->at }, word))
		return refuse(s, s->at, "a value was expected");
	s->at += word.n;
	return 0;
}

/* --- Structure ------------------------------------------------------------------------------- */

static int open_level(struct scan *s, bool object)
{
	if (s->depth >= s->lim->depth || s->depth >= JSON_DEPTH_MAX)
		return refuse(s, s->at, "nested too deeply");
	s->depth++;
	s->in_object = s->in_object << 1 | (object ? 1U : 0U);
	if (object && s->notes)
		json_names_open(&s->notes->names);
	s->at++;
	s->want = object ? WANT_NAME_OR_END : WANT_ITEM_OR_END;
	return 0;
}

static int refuse_twin(const struct scan *s, struct view name)
{
	name = view_cut(name, utf8_cut(name, 60));
	return err_set(s->e, E_FORMAT, "JSON, byte %zu: the member \"%.*s\" appears twice",
		(size_t)(name.p - s->p) - 1, VIEW_FMT(name));
}

static int close_level(struct scan *s)
{
	struct view twin;

	if (s->notes && (s->in_object & 1) && json_names_close(&s->notes->names, &twin))
		return refuse_twin(s, twin);
	s->depth--;
	s->in_object >>= 1;
	s->at++;
	s->want = WANT_COMMA_OR_END;
	return 0;
}

static int scan_value(struct scan *s)
{
	char c = s->p[s->at];

	if (++s->nodes > s->lim->nodes)
		return refuse(s, s->at, "too many values");
	s->want = WANT_COMMA_OR_END;
	switch (c) {
	case '{': return open_level(s, true);
	case '[': return open_level(s, false);
	case '"': return scan_string(s);
	case 't': return scan_word(s, VIEW("true"));
	case 'f': return scan_word(s, VIEW("false"));
	case 'n': return scan_word(s, VIEW("null"));
	default: break;
	}
	if (c == '-' || (c >= '0' && c <= '9'))
		return scan_number(s);
	return refuse(s, s->at, "a value was expected");
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(struct scan *s)
{
	while (s->at < s->n && is_space(s->p[s->at]))
		s->at++;
}

static int note_name(struct scan *s, struct view name)
{
	struct json_names *names = &s->notes->names;
	int rc = json_names_add(names, name);

	names->unsure = names->unsure || !s->literal;
	if (rc < 0)
		return err_set(s->e, E_NOMEM, "JSON: out of memory");
	return rc > 0 ? refuse_twin(s, name) : 0;
}

static int scan_name(struct scan *s)
{
	size_t start = s->at + 1;

	if (s->p[s->at] != '"')
		return refuse(s, s->at, "a member name was expected");
	if (scan_string(s) < 0)
		return -1;
	if (s->notes && note_name(s, (struct view){ s->p + start, s->at - 1 - start }) < 0)
		return -1;
	skip_space(s);
	if (s->at == s->n || s->p[s->at] != ':')
		return refuse(s, s->at, "a colon was expected");
	s->at++;
	s->want = WANT_VALUE;
	return 0;
}

static int scan_after_value(struct scan *s)
{
	bool object = s->in_object & 1;
	char c = s->p[s->at];

	if (c == (object ? '}' : ']'))
		return close_level(s);
	if (c != ',')
		return refuse(s, s->at,
			object ? "a comma or } was expected" : "a comma or ] was expected");
	s->at++;
	s->want = object ? WANT_NAME : WANT_VALUE;
	return 0;
}

static int step(struct scan *s)
{
	switch (s->want) {
	case WANT_VALUE: return scan_value(s);
	case WANT_ITEM_OR_END: return s->p[s->at] == ']' ? close_level(s) : scan_value(s);
	case WANT_NAME: return scan_name(s);
	case WANT_NAME_OR_END: return s->p[s->at] == '}' ? close_level(s) : scan_name(s);
	case WANT_COMMA_OR_END: break;
	}
	return scan_after_value(s);
}

int json_scan(struct view v, const struct json_limits *lim, struct json_notes *notes, struct err *e)
{
	struct scan s = { .p = v.p, .n = v.n, .lim = lim, .notes = notes, .e = e };

	if (v.n > lim->bytes)
		return err_set(e, E_FORMAT, "JSON of %zu bytes, at most %zu are accepted", v.n,
			lim->bytes);
	do {
		skip_space(&s);
		if (s.at == s.n)
			return refuse(&s, s.at, s.at == 0 ? "nothing there" : "it ends too early");
		if (step(&s) < 0)
			return -1;
	} while (s.depth > 0 || s.want != WANT_COMMA_OR_END);
	skip_space(&s);
	if (s.at < s.n)
		return refuse(&s, s.at, "more text after the value");
	if (s.copied > 0)
		edit(&s, s.n, 0, VIEW(""));
	if (notes && notes->no_memory)
		return err_set(e, E_NOMEM, "JSON: out of memory");
	return 0;
}

int json_check(struct view v, const struct json_limits *lim, struct err *e)
{
	return json_scan(v, lim, NULL, e);
}
