#include "formatter/format-private.h"

#include <string.h>

#include "base/text.h"

#define MATH_MAX        8192 /* bytes from mark to mark of a formula */
#define IMAGES_MAX      512  /* in one piece; the rest is shown as links */
#define INLINE_MATH_MAX 1024 /* of one in running text */

/* --- One character --------------------------------------------------------------------------- */

static unsigned char shield_index(char c)
{
	if (c < ':')
		return (unsigned char)(c - '!');
	if (c < '[')
		return (unsigned char)(15 + c - ':');
	if (c < '{')
		return (unsigned char)(22 + c - '[');
	return (unsigned char)(28 + c - '{');
}

static void put_shielded(struct str *out, char c)
{
	char seq[SHIELD_SIZE] = { '\xef', '\xb7', (char)(0x90 + shield_index(c)) };

	put(out, (struct view){ seq, sizeof(seq) });
}

char shielded(struct view v)
{
	static const char chars[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

	if (v.n < SHIELD_SIZE || v.p[0] != '\xef' || v.p[1] != '\xb7')
		return 0;

	unsigned i = (unsigned char)v.p[2] - 0x90U;

	return i < sizeof(chars) - 1 ? chars[i] : '\0';
}

bool shield_marks(char c)
{
	return c == SHIELD_JOIN || c == SHIELD_URL || c == SHIELD_URL_END;
}

void unshield(struct view v, struct str *out)
{
	while (v.n > 0) {
		size_t n = view_find(v, '\xef');
		char c = shielded(view_from(v, n));

		str_add(out, view_cut(v, n));
		v = view_from(v, n);
		if (c) {
			if (!shield_marks(c))
				str_addc(out, c);
			v = view_from(v, SHIELD_SIZE);
		} else if (v.n > 0) {
			str_addc(out, v.p[0]);
			v = view_from(v, 1);
		}
	}
}

/* --- What is shielded ------------------------------------------------------------------------ */

struct shielder {
	struct view in;
	struct str *out;
	size_t no_close[4]; /* per kind of formula: no end mark before here */
	size_t images;
	bool open[2];   /* an unclosed * or ** on this line */
	bool quotes[3]; /* so of each that quote_of knows, as far as they are counted */
	size_t counted;
};

/* Everything but the three marks that stand for something else and need no shield. */
static void put_all_shielded(struct str *out, struct view v)
{
	size_t from = 0;

	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (!ascii_punct(c) || shield_marks(c))
			continue;
		put(out, part_of(v, from, i));
		put_shielded(out, c);
		from = i + 1;
	}
	str_add(out, view_from(v, from));
}

/* Bytes of "https://x" in "<https://x>", which is the parser's own, else 0. */
static size_t autolink(const struct shielder *s, size_t at)
{
	size_t end = at;

	if (at == 0 || s->in.p[at - 1] != '<')
		return 0;
	while (end < s->in.n && (unsigned char)s->in.p[end] > ' ' && s->in.p[end] != '<' &&
		s->in.p[end] != '>')
		end++;
	return end < s->in.n && s->in.p[end] == '>' ? end - at : 0;
}

static size_t put_url_shielded(struct shielder *s, size_t at, size_t n)
{
	struct view url = view_cut(view_from(s->in, at), n);

	if (autolink(s, at) > 0) {
		n = autolink(s, at);
		str_add(s->out, view_cut(view_from(s->in, at), n));
		return n;
	}
	put_shielded(s->out, SHIELD_URL);
	while (url.n > 0) {
		size_t to = view_find(url, '\\');

		put_all_shielded(s->out, view_cut(url, to));
		url = view_from(url, to);
		if (url.n == 0)
			break;
		str_addc(s->out, '\\');
		put_all_shielded(s->out, view_cut(view_from(url, 1), 1));
		url = view_from(url, 2);
	}
	put_shielded(s->out, SHIELD_URL_END);
	return n;
}

static size_t find(struct view v, struct view what, size_t from)
{
	const char *hit;

	if (from >= v.n)
		return v.n;
	hit = memmem(v.p + from, v.n - from, what.p, what.n);
	return hit ? (size_t)(hit - v.p) : v.n;
}

static bool looks_like_math(struct view body)
{
	for (size_t i = 0; i < body.n; i++) {
		if (strchr("\\^_*{}<>~=+", body.p[i]))
			return true;
	}
	return false;
}

/* "$x_1 + y$": closed on its line, no white space inside the marks, no digit behind the last, and
 * something in it that Markdown would read. Money and variables do not look like that. */
static size_t inline_formula(struct view v)
{
	size_t end = 1 + view_find(view_cut(view_from(v, 1), INLINE_MATH_MAX), '$');
	struct view body = view_cut(view_from(v, 1), end - 1);

	if (end >= v.n || v.p[end] != '$' || end < 2 || memchr(body.p, '\n', body.n))
		return 0;
	if (body.p[0] == ' ' || body.p[body.n - 1] == ' ' || memchr(body.p, '`', body.n) ||
		find(body, VIEW("**"), 0) < body.n || find(body, VIEW("://"), 0) < body.n)
		return 0;
	if (end + 1 < v.n && ascii_alnum(v.p[end + 1]))
		return 0;
	return looks_like_math(body) ? end + 1 : 0;
}

/* Where the first blank line begins, or the end. */
static size_t blank_line(struct view v)
{
	size_t at = 0, next;

	while (at < v.n) {
		struct view line = first_line(view_from(v, at), &next);

		if (at > 0 && at + next < v.n && is_blank_line(line))
			return at;
		at += next;
	}
	return v.n;
}

static size_t formula(struct shielder *s, size_t at)
{
	static const struct {
		struct view open, close;
	} kinds[] = {
		{ { "$$", 2 }, { "$$", 2 } },
		{ { "\\[", 2 }, { "\\]", 2 } },
		{ { "\\(", 2 }, { "\\)", 2 } },
		{ { "\\begin{", 7 }, { "\\end{", 5 } },
	};
	struct view v = view_from(s->in, at), body;
	size_t k, end, blank;

	for (k = 0; k < 4 && !view_starts(v, kinds[k].open); k++)
		;
	if (k == 4)
		return v.p[0] == '$' ? inline_formula(v) : 0;
	if (at < s->no_close[k])
		return 0;
	body = view_cut(v, MATH_MAX);
	end = find(body, kinds[k].close, kinds[k].open.n);
	blank = blank_line(view_cut(body, end));
	if (end >= body.n || blank < end) {
		s->no_close[k] = at + blank;
		return 0;
	}
	if (!looks_like_math(view_cut(view_from(v, kinds[k].open.n), end - kinds[k].open.n)))
		return 0;
	end += k == 3 ? view_find(view_from(body, end), '}') + 1 : kinds[k].close.n;
	if (end > body.n || memchr(v.p, '`', end))
		return 0;
	return end;
}

/* What stands behind a mark that is amid something; 0: no such thing stands before it. What closes,
 * or ends a sentence, may well stand twice: "(see **f(x)**)". */
static uint32_t mirrored(uint32_t cp)
{
	switch (cp) {
	case '<': return '>';
	case '>': return '<';
	case '(': return ')';
	case '[': return ']';
	case '{': return '}';
	case 0x201c: return 0x201d; /* “” */
	case 0x300c: return 0x300d; /* 「」 */
	case 0xff08: return 0xff09; /* （） */
	case 0x30fb: return cp;     /* ・ */
	default: return cp < 0x80 && ascii_punct((char)cp) && !strchr(")]}.,:!?", (int)cp) ? cp : 0;
	}
}

/* Which of the quotes that end as they begin; -1: none. */
static int quote_of(char c)
{
	return c == '"' ? 0 : c == '\'' ? 1 : c == '`' ? 2 : -1;
}

/* Does no such quote end right before `at`? Each byte is looked at once. */
static bool is_inside(struct shielder *s, size_t at)
{
	int last = at > 0 ? quote_of(s->in.p[at - 1]) : -1;

	if (last < 0)
		return true;
	for (; s->counted < at; s->counted++) {
		int q = quote_of(s->in.p[s->counted]);

		if (s->in.p[s->counted] == '\n')
			memset(s->quotes, 0, sizeof(s->quotes));
		else if (q >= 0)
			s->quotes[q] = !s->quotes[q];
	}
	return s->quotes[last];
}

/* "(^_^)", ">_<", "\"*\"", "-*-": marks amid the same punctuation are seen, they mark nothing; but
 * `a`**`b`** is bold. */
static bool is_amid(struct shielder *s, size_t at, uint32_t after)
{
	return after > 0 && mirrored(cp_before(s->in, at)) == after && is_inside(s, at);
}

/* "__init__": a name, not something in bold. */
static size_t dunder(struct view v)
{
	size_t n = 0;

	while (n < v.n && (ascii_alnum(v.p[n]) || v.p[n] == '_'))
		n++;
	return n > 4 && v.p[1] == '_' && v.p[2] != '_' && v.p[n - 1] == '_' && v.p[n - 2] == '_'
	               ? n
	               : 0;
}

/* An asterisk that multiplies, stands for file names or for itself: "2*3", "x**2", "*.c", "(*)". */
static bool is_literal_star(struct shielder *s, size_t at, size_t n, uint32_t before,
	uint32_t after)
{
	bool operand = before < 0x80 && (ascii_alnum((char)before) || before == ')');

	if (n <= 2 && s->open[n - 1])
		return false;
	if (is_amid(s, at, after))
		return true;
	if (n > 2)
		return false;
	if (before == '/' || (n == 1 && after == '.'))
		return true;
	if (n == 2)
		return operand && after >= '0' && after <= '9';
	return operand && after < 0x80 && (ascii_alnum((char)after) || after == '(');
}

/* CommonMark does not close "**注意：**请" nor open "他说**“好”**": the punctuation inside and the
 * letter outside make the run point the wrong way. A joiner makes the punctuation a letter. */
static size_t put_stars(struct shielder *s, size_t at)
{
	size_t n = run_of(s->in, at);
	uint32_t before = cp_before(s->in, at), after = cp_at(s->in, at + n);
	bool inner = !cp_space(before) && !cp_space(after), join = n >= 2 && inner;
	bool left = join && cp_punct(before), right = join && cp_punct(after);

	if (is_literal_star(s, at, n, before, after)) {
		for (size_t i = 0; i < n; i++)
			put_shielded(s->out, '*');
		return n;
	}
	if (n <= 2 && (!cp_space(before) || !cp_space(after)))
		s->open[n - 1] = !s->open[n - 1];
	if (left && !right)
		put_shielded(s->out, SHIELD_JOIN);
	str_add(s->out, view_cut(view_from(s->in, at), n));
	if (right && !left)
		put_shielded(s->out, SHIELD_JOIN);
	return n;
}

static size_t put_escape(struct shielder *s, size_t at)
{
	size_t n = formula(s, at);
	char c = at + 1 < s->in.n ? s->in.p[at + 1] : ' ';

	if (n > 0) {
		put_all_shielded(s->out, view_cut(view_from(s->in, at), n));
		return n;
	}
	str_addc(s->out, '\\');
	if (!ascii_punct(c))
		return 1;
	if (strchr("*_~[]<>#|&!\\", c))
		put_shielded(s->out, c);
	else
		str_addc(s->out, c);
	return 2;
}

/* A character of ours in the input would be taken for a shield. */
static size_t put_foreign(struct shielder *s, size_t at)
{
	if (shielded(view_from(s->in, at))) {
		str_adds(s->out, "\xef\xbf\xbd");
		return SHIELD_SIZE;
	}
	str_addc(s->out, '\xef');
	return 1;
}

static bool in_word(const struct shielder *s, size_t at)
{
	return at > 0 && (ascii_alnum(s->in.p[at - 1]) || s->in.p[at - 1] == '_');
}

/* Bytes of what begins with an underscore and is no mark, or 0. */
static size_t literal_under(struct shielder *s, size_t at)
{
	struct view v = view_from(s->in, at);

	if (in_word(s, at))
		return 0;
	return is_amid(s, at, cp_at(v, run_of(v, 0))) ? run_of(v, 0) : dunder(v);
}

/* Bytes of the input dealt with at a character that may need it, 0 when it does not. */
static size_t put_special(struct shielder *s, size_t at)
{
	struct view v = view_from(s->in, at);
	size_t n = 0;

	switch (v.p[0]) {
	case '*': return put_stars(s, at);
	case '\\': return put_escape(s, at);
	case '\xef': return put_foreign(s, at);
	case '!': /* every link looks back at all images that are open */
		if (v.n < 2 || v.p[1] != '[' || ++s->images <= IMAGES_MAX)
			return 0;
		put_shielded(s->out, '!');
		return 1;
	case '[': /* a footnote mark, which would be taken for a link's name */
		if (v.n < 2 || v.p[1] != '^')
			return 0;
		put_shielded(s->out, '[');
		return 1;
	case '$': n = formula(s, at); break;
	case '_': n = literal_under(s, at); break;
	default:
		n = at > 0 && ascii_alnum(s->in.p[at - 1]) ? 0 : url_length(v);
		if (at > 0 && s->in.p[at - 1] == '_' && n > 0 && v.p[n - 1] == '_')
			n--; /* "_https://x_" */
		return n > 0 ? put_url_shielded(s, at, n) : 0;
	}
	if (n > 0)
		put_all_shielded(s->out, view_cut(v, n));
	return n;
}

/* Letters are common: only "ht", "ft" and "ww" are worth a closer look. */
static bool worth_a_look(const char *p, size_t n)
{
	char next = n > 1 ? (char)(p[1] | 0x20) : ' ';

	switch (p[0] | 0x20) {
	case 'h':
	case 'f': return next == 't';
	case 'w': return next == 'w';
	default: return true;
	}
}

int shield(struct view md, struct str *out)
{
	static const unsigned char special[256] = {
		['*'] = 1,
		['\\'] = 1,
		[0xef] = 1,
		['\n'] = 1,
		['['] = 1,
		['$'] = 1,
		['_'] = 1,
		['!'] = 1,
		['h'] = 1,
		['H'] = 1,
		['f'] = 1,
		['F'] = 1,
		['w'] = 1,
		['W'] = 1,
	};
	struct shielder s = { .in = md, .out = out };
	size_t at = 0, from = 0, n;

	for (; (at = skip_to(special, md, at)) < md.n; at += n) {
		n = 1;
		if (!worth_a_look(md.p + at, md.n - at))
			continue;
		if (md.p[at] == '\n') {
			s.open[0] = s.open[1] = false;
			continue;
		}
		put(out, part_of(md, from, at));
		n = put_special(&s, at);
		from = at + n;
		if (n == 0)
			n = 1;
	}
	str_add(out, view_from(md, from));
	return str_ok(out) ? 0 : -1;
}
