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
#define WORD_MAX   6  /* the longest word that a prefix with a dot or a slash begins with */

enum { ALNUM = 1, DASHED = 2, UPPER = 4, DOTTED = 8, NEED_DIGIT = 16, BASE64 = 32 };

/* min and max count what follows the prefix. */
static const struct {
	char prefix[18];
	unsigned short min, max, chars;
} vendors[] = {
	{ "sk-", 12, 400, DASHED | NEED_DIGIT },
	{ "sk_live_", 12, 200, ALNUM },
	{ "sk_test_", 12, 200, ALNUM },
	{ "rk_live_", 12, 200, ALNUM },
	{ "rk_test_", 12, 200, ALNUM },
	{ "whsec_", 20, 100, BASE64 },
	{ "ghp_", 16, 255, ALNUM },
	{ "gho_", 16, 255, ALNUM },
	{ "ghu_", 16, 255, ALNUM },
	{ "ghs_", 16, 255, ALNUM },
	{ "ghr_", 16, 255, ALNUM },
	{ "github_pat_", 16, 255, DASHED },
	{ "glpat-", 16, 255, DASHED | DOTTED },
	{ "gldt-", 16, 255, DASHED | DOTTED },
	{ "glrt-", 16, 255, DASHED | DOTTED },
	{ "glptt-", 16, 255, DASHED | DOTTED },
	{ "glcbt-", 16, 255, DASHED | DOTTED },
	{ "xapp-1-", 20, 255, DASHED },
	{ "xoxa-", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxb-", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxc-", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxd-", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxe-", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxe.xox", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxo-", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxp-", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxr-", 10, 255, DASHED | NEED_DIGIT },
	{ "xoxs-", 10, 255, DASHED | NEED_DIGIT },
	{ "AKIA", 16, 16, UPPER },
	{ "ASIA", 16, 16, UPPER },
	{ "AIza", 30, 60, DASHED },
	{ "AQ.", 40, 100, DASHED | NEED_DIGIT },
	{ "GOCSPX-", 20, 60, DASHED },
	{ "1//0", 40, 200, DASHED },
	{ "hf_", 16, 100, ALNUM | NEED_DIGIT },
	{ "api_org_", 20, 100, ALNUM | NEED_DIGIT },
	{ "npm_", 30, 60, ALNUM },
	{ "gsk_", 20, 100, ALNUM | NEED_DIGIT },
	{ "xai-", 20, 200, ALNUM | NEED_DIGIT },
	{ "pplx-", 20, 100, ALNUM | NEED_DIGIT },
	{ "tvly-", 16, 100, DASHED | NEED_DIGIT },
	{ "nvapi-", 20, 200, DASHED | NEED_DIGIT },
	{ "AKID", 28, 60, ALNUM | NEED_DIGIT },
	{ "AKLT", 28, 80, BASE64 | NEED_DIGIT },
	{ "LTAI", 12, 28, ALNUM | NEED_DIGIT },
	{ "bce-v3/ALTAK-", 40, 100, DASHED | BASE64 },
	{ "ms-", 36, 36, DASHED | NEED_DIGIT },
	{ "csk-", 30, 100, ALNUM | NEED_DIGIT },
	{ "ctx7sk-", 20, 100, DASHED | NEED_DIGIT },
	{ "sk_", 40, 100, ALNUM | NEED_DIGIT },
	{ "fw_", 20, 60, ALNUM | NEED_DIGIT },
	{ "fc-", 32, 32, ALNUM | NEED_DIGIT },
	{ "r8_", 30, 60, ALNUM | NEED_DIGIT },
	{ "jina_", 50, 100, DASHED | NEED_DIGIT },
	{ "BSA", 24, 36, DASHED | NEED_DIGIT },
	{ "e2b_", 30, 80, ALNUM | NEED_DIGIT },
	{ "lsv2_", 30, 80, DASHED | NEED_DIGIT },
	{ "bb_live_", 16, 80, DASHED | NEED_DIGIT },
	{ "ATATT3x", 60, 400, DASHED | BASE64 },
	{ "ATCTT3x", 60, 400, DASHED | BASE64 },
	{ "SG.", 50, 80, DASHED | DOTTED | NEED_DIGIT },
	{ "key-", 32, 32, ALNUM | NEED_DIGIT },
	{ "dop_v1_", 60, 70, ALNUM },
	{ "doo_v1_", 60, 70, ALNUM },
	{ "dor_v1_", 60, 70, ALNUM },
	{ "shpat_", 30, 50, ALNUM },
	{ "shpca_", 30, 50, ALNUM },
	{ "shppa_", 30, 50, ALNUM },
	{ "shpss_", 30, 50, ALNUM },
	{ "sq0atp-", 20, 60, DASHED },
	{ "sq0csp-", 20, 60, DASHED },
	{ "dapi", 32, 34, DASHED | NEED_DIGIT },
	{ "hvs.", 24, 255, DASHED | NEED_DIGIT },
	{ "hvb.", 24, 255, DASHED | NEED_DIGIT },
	{ "dt0c01.", 60, 120, UPPER | DOTTED },
	{ "dp.pt.", 30, 60, ALNUM | NEED_DIGIT },
	{ "dp.st.", 30, 80, DASHED | DOTTED | NEED_DIGIT },
	{ "lin_api_", 30, 60, ALNUM },
	{ "ntn_", 40, 60, ALNUM | NEED_DIGIT },
	{ "secret_", 43, 43, ALNUM | NEED_DIGIT },
	{ "pat", 79, 79, ALNUM | DOTTED | NEED_DIGIT },
	{ "pypi-", 50, 300, DASHED | NEED_DIGIT },
	{ "rubygems_", 40, 60, ALNUM | NEED_DIGIT },
	{ "dckr_pat_", 20, 60, DASHED },
	{ "sbp_", 30, 60, ALNUM | NEED_DIGIT },
	{ "sntrys_", 40, 300, BASE64 | DASHED },
	{ "sntryu_", 40, 100, ALNUM },
	{ "glsa_", 30, 80, DASHED | NEED_DIGIT },
	{ "glc_", 40, 300, BASE64 | NEED_DIGIT },
	{ "figd_", 30, 80, DASHED },
	{ "phx_", 30, 80, ALNUM | NEED_DIGIT },
	{ "pscale_tkn_", 30, 80, DASHED },
	{ "pscale_pw_", 30, 80, DASHED },
	{ "NRAK-", 24, 40, UPPER },
	{ "PMAK-", 50, 80, DASHED },
	{ "HRKU-", 30, 80, DASHED },
	{ "tskey-", 20, 100, DASHED | NEED_DIGIT },
	{ "ya29.", 20, 400, DASHED | DOTTED },
	{ "AGE-SECRET-KEY-1", 50, 70, UPPER },
};

static bool in_chars(char c, int chars)
{
	if (is_digit(c) || is_upper(c))
		return true;
	if (c == '.')
		return chars & DOTTED;
	if (c == '+' || c == '/' || c == '=')
		return chars & BASE64;
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

/* May a prefix with a dot, or a slash behind a digit, have begun with this word? */
static bool goes_on(struct view v, size_t word)
{
	return word <= WORD_MAX && word + 1 < v.n &&
	       (v.p[word] == '.' || (v.p[word] == '/' && is_digit(v.p[word - 1])));
}

static size_t vendor_span(struct view v)
{
	size_t word = span_of(view_cut(v, VENDOR_MIN), DASHED);

	/* Most words are shorter than any key; "ya29." goes on behind its dot, "1//0" its slash. */
	if (word < VENDOR_MIN && !goes_on(v, word))
		return 0;
	for (size_t i = 0; i < COUNT(vendors); i++) {
		if (vendors[i].prefix[0] != v.p[0] || vendors[i].prefix[1] != v.p[1])
			continue;

		struct view prefix = view_of(vendors[i].prefix);
		struct view tail = view_from(v, prefix.n);

		if (!view_starts(v, prefix))
			continue;
		size_t n = span_of(view_cut(tail, vendors[i].max + 1), vendors[i].chars);

		while (n > 0 && tail.p[n - 1] == '.') /* of the sentence */
			n--;
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

/* A Telegram bot's token: its number, a colon, 35 from an A on; "bot" stands before it in URLs. */
static size_t telegram_span(struct view v)
{
	size_t at = v.p[0] == 'b' && view_starts(v, VIEW("bot")) ? 3 : 0, from = at, n;

	while (at < v.n && at < from + 12 && is_digit(v.p[at]))
		at++;
	if (at < from + 8 || !view_starts(view_from(v, at), VIEW(":A")))
		return 0;
	n = span_of(view_cut(view_from(v, at + 1), 36), DASHED);
	return n == 35 ? at + 1 + n : 0;
}

/* A Discord bot's token: its number, a time and a sum, in base64, where two digits begin with one
 * of M to O and one of D, T, j and z. */
static size_t discord_span(struct view v)
{
	size_t first, second, third;

	if (v.n < 2 || !strchr("MNO", v.p[0]) || !strchr("DTjz", v.p[1]))
		return 0;
	first = span_of(view_cut(v, 31), DASHED);
	if (first < 23 || first > 30 || first == v.n || v.p[first] != '.')
		return 0;
	v = view_from(v, first + 1);
	second = span_of(view_cut(v, 8), DASHED);
	if (second < 6 || second > 7 || second == v.n || v.p[second] != '.')
		return 0;
	third = span_of(view_cut(view_from(v, second + 1), 60), DASHED);
	return third >= 27 ? first + 1 + second + 1 + third : 0;
}

size_t shape_key(struct view v)
{
	size_t n = vendor_span(v);

	if (n == 0)
		n = jwt_span(v);
	if (n == 0)
		n = dotted_span(v);
	if (n == 0)
		n = telegram_span(v);
	return n > 0 ? n : discord_span(v);
}

/* Addresses that need no other key: who knows one may post there. */
size_t shape_hook(struct view v, size_t *head)
{
	static const struct view hooks[] = {
		VIEW("hooks.slack.com/services/"),
		VIEW("discord.com/api/webhooks/"),
		VIEW("discordapp.com/api/webhooks/"),
		VIEW("open.feishu.cn/open-apis/bot/v2/hook/"),
		VIEW("open.larksuite.com/open-apis/bot/v2/hook/"),
	};

	for (size_t i = 0; i < COUNT(hooks); i++) {
		size_t n = hooks[i].n;

		if (v.p[0] != hooks[i].p[0] || !view_starts(v, hooks[i]))
			continue;
		*head = n;
		n = span_of(view_from(v, n), DASHED | BASE64);
		return n >= 16 ? n : 0;
	}
	return 0;
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
