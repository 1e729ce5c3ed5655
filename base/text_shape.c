/* Secrets one knows by their face, whatever stands in front of them. */
#include "base/text-private.h"

#include <string.h>

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define BASE64_MIN 120

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z');
}

bool text_is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}

/* --- Keys of vendors, tokens ----------------------------------------------------------------- */

#define VENDOR_MIN 15 /* the shortest of all, prefix and rest */

enum { ALNUM = 1, DASHED = 2, UPPER = 4, DOTTED = 8, NEED_DIGIT = 16 };

/* min and max count what follows the prefix. */
static const struct {
	struct view prefix;
	size_t min, max;
	int chars;
} vendors[] = {
	{ VIEW("sk-"), 12, 400, DASHED | NEED_DIGIT },
	{ VIEW("sk_live_"), 12, 200, ALNUM },
	{ VIEW("sk_test_"), 12, 200, ALNUM },
	{ VIEW("rk_live_"), 12, 200, ALNUM },
	{ VIEW("ghp_"), 16, 255, ALNUM },
	{ VIEW("gho_"), 16, 255, ALNUM },
	{ VIEW("ghu_"), 16, 255, ALNUM },
	{ VIEW("ghs_"), 16, 255, ALNUM },
	{ VIEW("ghr_"), 16, 255, ALNUM },
	{ VIEW("github_pat_"), 16, 255, DASHED },
	{ VIEW("glpat-"), 16, 255, DASHED },
	{ VIEW("xoxa-"), 10, 255, DASHED | NEED_DIGIT },
	{ VIEW("xoxb-"), 10, 255, DASHED | NEED_DIGIT },
	{ VIEW("xoxe-"), 10, 255, DASHED | NEED_DIGIT },
	{ VIEW("xoxo-"), 10, 255, DASHED | NEED_DIGIT },
	{ VIEW("xoxp-"), 10, 255, DASHED | NEED_DIGIT },
	{ VIEW("xoxr-"), 10, 255, DASHED | NEED_DIGIT },
	{ VIEW("xoxs-"), 10, 255, DASHED | NEED_DIGIT },
	{ VIEW("AKIA"), 16, 16, UPPER },
	{ VIEW("ASIA"), 16, 16, UPPER },
	{ VIEW("AIza"), 30, 60, DASHED },
	{ VIEW("hf_"), 16, 100, ALNUM | NEED_DIGIT },
	{ VIEW("npm_"), 30, 60, ALNUM },
	{ VIEW("gsk_"), 20, 100, ALNUM | NEED_DIGIT },
	{ VIEW("xai-"), 20, 200, ALNUM | NEED_DIGIT },
	{ VIEW("pplx-"), 20, 100, ALNUM | NEED_DIGIT },
	{ VIEW("tvly-"), 16, 100, DASHED | NEED_DIGIT },
	{ VIEW("nvapi-"), 20, 200, DASHED | NEED_DIGIT },
	{ VIEW("AKID"), 28, 60, ALNUM | NEED_DIGIT },
	{ VIEW("LTAI"), 12, 28, ALNUM | NEED_DIGIT },
	{ VIEW("ya29."), 20, 400, DASHED | DOTTED },
	{ VIEW("AGE-SECRET-KEY-1"), 50, 70, UPPER },
};

static bool in_chars(char c, int chars)
{
	if (is_digit(c) || is_upper(c))
		return true;
	if (c == '.')
		return chars & DOTTED;
	if (c == '-' || c == '_')
		return chars & DASHED;
	return is_letter(c) && !(chars & UPPER);
}

static size_t span_of(struct view v, int chars)
{
	size_t n = 0;

	while (n < v.n && in_chars(v.p[n], chars))
		n++;
	return n;
}

static bool has_digit(struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		if (is_digit(v.p[i]))
			return true;
	}
	return false;
}

/* A word ends here: nothing follows that could go on with it. */
static bool ends_word(struct view rest)
{
	return rest.n == 0 || !in_chars(rest.p[0], DASHED);
}

static size_t vendor_span(struct view v)
{
	size_t word = span_of(view_cut(v, VENDOR_MIN), DASHED);

	/* Most words are shorter than any key; "ya29." goes on behind its dot. */
	if (word < VENDOR_MIN && (word == v.n || v.p[word] != '.'))
		return 0;
	for (size_t i = 0; i < COUNT(vendors); i++) {
		struct view prefix = vendors[i].prefix;
		struct view tail = view_from(v, prefix.n);

		if (prefix.p[0] != v.p[0] || !view_starts(v, prefix))
			continue;
		size_t n = span_of(view_cut(tail, vendors[i].max + 1), vendors[i].chars);

		if (n >= vendors[i].min && n <= vendors[i].max && ends_word(view_from(tail, n)) &&
			(!(vendors[i].chars & NEED_DIGIT) || has_digit(view_cut(tail, n))))
			return prefix.n + n;
	}
	return 0;
}

/* eyJ (that is {" in base64), then one to four more parts. */
static size_t jwt_span(struct view v)
{
	size_t at = 0, end = 0;

	if (!view_starts(v, VIEW("eyJ")))
		return 0;
	for (int part = 1; part <= 5 && at <= v.n; part++) {
		size_t n = span_of(view_from(v, at), DASHED);

		if (n < 10 && part <= 2)
			return 0;
		if (n > 0)
			end = at + n;
		at += n;
		if (at == v.n || v.p[at] != '.')
			break;
		at++;
	}
	return view_find(view_cut(v, end), '.') < end ? end : 0;
}

/* 32 hexadecimal digits, a dot, 16 letters or digits: a Zhipu key. */
static size_t dotted_span(struct view v)
{
	size_t n = 0;

	while (n < v.n && n < 33 && (is_digit(v.p[n]) || (v.p[n] >= 'a' && v.p[n] <= 'f')))
		n++;
	if (n != 32 || v.n < 49 || v.p[32] != '.')
		return 0;
	v = view_from(v, 33);
	return span_of(view_cut(v, 17), ALNUM) == 16 && ends_word(view_from(v, 16)) ? 49 : 0;
}

size_t shape_key(struct view v)
{
	size_t n = vendor_span(v);

	if (n == 0)
		n = jwt_span(v);
	return n > 0 ? n : dotted_span(v);
}

/* --- Basic ----------------------------------------------------------------------------------- */

static int value_of_base64(char c)
{
	if (is_upper(c))
		return c - 'A';
	if (is_letter(c))
		return c - 'a' + 26;
	if (is_digit(c))
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

bool shape_is_basic(struct view v)
{
	unsigned bits = 0, have = 0;
	bool colon = false;

	while (v.n > 0 && v.p[v.n - 1] == '=')
		v.n--;
	if (v.n < 4)
		return false;
	for (size_t i = 0; i < v.n; i++) {
		int six = value_of_base64(v.p[i]);

		if (six < 0)
			return false;
		bits = (bits << 6 | (unsigned)six) & 0xfff;
		have += 6;
		if (have >= 8) {
			unsigned byte = bits >> (have - 8) & 0xff;

			if (byte < 0x20 || byte == 0x7f)
				return false;
			colon = colon || byte == ':';
			have -= 8;
		}
	}
	return colon;
}

/* --- Private keys ---------------------------------------------------------------------------- */

size_t text_line_break(struct view v)
{
	size_t at = 0;

	if (v.n > 0 && (v.p[0] == '\n' || v.p[0] == '\r'))
		return 1;
	while (at < v.n && at < 4 && v.p[at] == '\\')
		at++;
	return at > 0 && at < v.n && (v.p[at] == 'n' || v.p[at] == 'r') ? at + 1 : 0;
}

static size_t skip_lines(struct view v, size_t at)
{
	while (at < v.n) {
		size_t n = text_line_break(view_from(v, at));

		if (n == 0 && v.p[at] != ' ' && v.p[at] != '\t')
			break;
		at += n > 0 ? n : 1;
	}
	return at;
}

static size_t pem_body(struct view v, size_t at)
{
	while (at < v.n && (value_of_base64(v.p[at]) >= 0 || v.p[at] == '=') && v.p[at] != '-' &&
		v.p[at] != '_')
		at++;
	return at;
}

static size_t line_end(struct view v, size_t at)
{
	while (at < v.n && text_line_break(view_from(v, at)) == 0 && v.p[at] != '"')
		at++;
	return at;
}

/* The end of the line at `at` when it belongs to a key's body, else `at`. */
static size_t pem_line(struct view v, size_t at)
{
	struct view line = view_from(v, at);
	size_t end = pem_body(v, at);

	if (view_starts(line, VIEW("Proc-Type:")) || view_starts(line, VIEW("DEK-Info:")))
		return line_end(v, at);
	if (end - at >= 16 || end == v.n || text_line_break(view_from(v, end)) > 0)
		return end;
	return at;
}

size_t shape_pem(struct view v)
{
	static const char kind[] = "PRIVATE KEY";
	struct view label = view_cut(view_from(v, 11), 64);
	size_t n = 0;

	if (!view_starts(v, VIEW("-----BEGIN ")))
		return 0;
	while (n < label.n && (is_upper(label.p[n]) || is_digit(label.p[n]) || label.p[n] == ' '))
		n++;
	label = view_cut(label, n);
	if (!memmem(label.p, label.n, kind, sizeof(kind) - 1) ||
		!view_starts(view_from(v, 11 + n), VIEW("-----")))
		return 0;

	size_t to = 11 + label.n + 5;

	for (;;) {
		size_t line = skip_lines(v, to), end = pem_line(v, line);

		if (view_starts(view_from(v, line), VIEW("-----END "))) {
			end = line + 9 + label.n + 5;
			return end < v.n ? end : v.n;
		}
		if (end == line)
			return to;
		to = end;
	}
}

/* --- Data ------------------------------------------------------------------------------------ */

static bool is_base64(char c)
{
	return value_of_base64(c) >= 0;
}

static bool is_data_type(char c)
{
	return text_is_word(c) || c == '/' || c == '.' || c == '+' || c == ';';
}

static bool is_url(char c)
{
	return c > 0x20 && c < 0x7f && !strchr("\"'`<>()[]\\", c);
}

size_t shape_data(struct view v, size_t *head)
{
	static const char base64[] = ";base64";
	size_t comma = 1, to;

	if (v.n == 0 || v.p[0] != ':')
		return 0;
	while (comma < v.n && comma < 100 && is_data_type(v.p[comma]))
		comma++;
	if (comma == v.n || v.p[comma] != ',')
		return 0;
	*head = to = comma + 1;
	if (memmem(v.p, comma, base64, sizeof(base64) - 1)) {
		while (to < v.n && (is_base64(v.p[to]) || v.p[to] == '=' || v.p[to] == '%'))
			to++;
	} else if (view_starts(v, VIEW(":image/"))) {
		while (to < v.n && is_url(v.p[to]))
			to++;
	}
	return to - *head;
}

size_t shape_base64(struct view v, size_t *run)
{
	size_t n = 0, upper = 0, lower = 0, digits = 0;

	for (; n < v.n && is_base64(v.p[n]); n++) {
		upper += is_upper(v.p[n]);
		digits += is_digit(v.p[n]);
		lower += is_letter(v.p[n]) && !is_upper(v.p[n]);
	}
	*run = n;
	if (n < BASE64_MIN || !upper || !lower || !digits)
		return 0;
	/* Paths and names with dashes have more of these than one in twelve. */
	if ((n - upper - lower - digits) * 12 > n)
		return 0;
	for (int i = 0; i < 2 && n < v.n && v.p[n] == '='; i++)
		n++;
	return n;
}

/* --- URLs ------------------------------------------------------------------------------------ */

static bool is_authority(char c)
{
	return c > 0x20 && c < 0x7f && !strchr("/?#[]\"'`<>\\", c);
}

size_t shape_userinfo(struct view v, bool http)
{
	size_t n = 0, at = 0;

	for (; n < v.n && is_authority(v.p[n]); n++) {
		if (v.p[n] == '@')
			at = n;
	}
	/* A name alone, as in ssh://git@host, is no secret; in https it mostly is a token. */
	if (!http && view_find(view_cut(v, at), ':') == at)
		return 0;
	return at;
}
