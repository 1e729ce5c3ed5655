/* Secrets: one walk over the text, word by word. Each rule looks forward from where the walk stands
 * and either replaces what it has read, so that the walk goes on behind it, or has read no further
 * than a bounded number of words: the whole stays linear. */
#include "base/text-private.h"

#include <string.h>
#include <strings.h>

#define REDACTED VIEW("[redacted]")
#define LOOK_MAX 256 /* how much of a long value is looked at */

struct walk {
	const char *p;
	size_t n, at;
	size_t copied;             /* what stands in out already */
	size_t base64_done;        /* no long base64 begins before this */
	size_t bare_from, bare_to; /* the value without quotes that was read last */
	struct str *out;
};

/* A quote as it stands inside strings inside strings: \" has one backslash. */
struct quote {
	size_t slashes;
	char mark; /* 0: there is none */
};

/* A name and where its value begins. */
struct assignment {
	struct view name;
	struct quote quote; /* around the name */
	size_t value;
	bool tight;    /* name=value */
	bool dashes;   /* --name */
	bool option;   /* --name value */
	bool in_query; /* ?name=value */
	bool first_on_line;
};

struct value {
	size_t from, to;
	bool quoted;
	bool closed; /* the closing quote is there too */
};

static struct view part(const struct walk *w, size_t from, size_t to)
{
	return (struct view){ w->p + from, to - from };
}

static struct view rest(const struct walk *w, size_t from)
{
	return from < w->n ? part(w, from, w->n) : VIEW_NONE;
}

static char char_at(const struct walk *w, size_t at)
{
	return at < w->n ? w->p[at] : '\0';
}

static void replace(struct walk *w, size_t from, size_t to)
{
	str_add(w->out, part(w, w->copied, from));
	str_add(w->out, REDACTED);
	w->copied = w->at = to;
}

/* --- Characters ------------------------------------------------------------------------------ */

/* What a value without quotes may consist of. */
static bool is_bare(char c)
{
	return c > 0x20 && c < 0x7f && !strchr("\"'`,;<>()[]{}\\|&", c);
}

static size_t span(const struct walk *w, size_t from, bool (*is)(char))
{
	size_t at = from;

	while (at < w->n && is(w->p[at]))
		at++;
	return at;
}

/* Behind at most eight blanks. */
static size_t skip_blanks(const struct walk *w, size_t at)
{
	for (int i = 0; i < 8 && (char_at(w, at) == ' ' || char_at(w, at) == '\t'); i++)
		at++;
	return at;
}

static bool ends_line(const struct walk *w, size_t at)
{
	return at >= w->n || text_line_break(rest(w, at)) > 0;
}

/* --- Quotes ---------------------------------------------------------------------------------- */

static struct quote quote_at(const struct walk *w, size_t at)
{
	struct quote q = { 0, '\0' };

	while (q.slashes < 4 && char_at(w, at + q.slashes) == '\\')
		q.slashes++;
	char c = char_at(w, at + q.slashes);
	if (q.slashes < 4 && (c == '"' || c == '\''))
		q.mark = c;
	return q;
}

/* Where the closing quote (its backslashes first) stands; w->n when the string is not closed before
 * its line or the string around it ends. */
static size_t find_close(const struct walk *w, size_t at, struct quote q)
{
	size_t slashes = 0;

	for (; at < w->n && w->p[at] != '\n'; at++) {
		char c = w->p[at];

		if (c == '\\') {
			slashes++;
			continue;
		}
		if (c == q.mark && (q.slashes == 0 ? slashes % 2 == 0 : slashes == q.slashes))
			return at - q.slashes;
		if (c == '"' && (q.mark != '"' || slashes < q.slashes))
			break;
		slashes = 0;
	}
	return w->n;
}

/* --- Values ---------------------------------------------------------------------------------- */

/* A row of name=name=name=... is one such value for every name in it: it is read once. */
static size_t bare_end(struct walk *w, size_t from, bool in_query)
{
	if (from < w->bare_from || from >= w->bare_to) {
		w->bare_from = from;
		w->bare_to = span(w, from, is_bare);
	}

	size_t to = w->bare_to;

	if (in_query) {
		struct view v = view_cut(part(w, from, to), LOOK_MAX);
		size_t hash = view_find(v, '#');

		return hash < v.n ? from + hash : to;
	}
	/* The full stop of a sentence is not part of it. */
	for (int i = 0; i < 4 && to > from && strchr(".:!?", w->p[to - 1]); i++)
		to--;
	return to;
}

static struct value read_value(struct walk *w, size_t at, bool in_query)
{
	struct quote q = quote_at(w, at);
	size_t from = q.mark ? at + q.slashes + 1 : at;
	size_t to = q.mark ? find_close(w, from, q) : w->n;

	if (q.mark && to < w->n)
		return (struct value){ from, to, true, true };
	return (struct value){ from, bare_end(w, from, in_query), q.mark != '\0', false };
}

/* Up to the end of the line or of the string around it. */
static size_t line_end(const struct walk *w, size_t at)
{
	while (!ends_line(w, at) && quote_at(w, at).mark == '\0')
		at++;
	return at;
}

/* For [ and {: behind the bracket that closes it, or the end of the text. */
static size_t container_end(const struct walk *w, size_t at)
{
	int depth = 0;

	while (at < w->n) {
		struct quote q = quote_at(w, at);
		size_t close = q.mark ? find_close(w, at + q.slashes + 1, q) : w->n;
		char c = w->p[at++];

		if (close < w->n)
			at = close + q.slashes + 1;
		else if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}') && --depth == 0)
			return at;
	}
	return w->n;
}

static bool has_digit(struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] >= '0' && v.p[i] <= '9')
			return true;
	}
	return false;
}

static bool is_number(struct view v)
{
	unsigned long long u;

	return v.n >= 4 && parse_u64(view_cut(v, 18), &u) == 0;
}

static bool one_ascii_word(struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] <= 0x20 || v.p[i] >= 0x7f)
			return false;
	}
	return true;
}

/* A call, a path of names, the name once more: code that speaks of a secret without holding one. */
static bool is_code(const struct walk *w, const struct assignment *a, struct view v, size_t to)
{
	char next = char_at(w, to);
	size_t last = v.n;

	if (next == '(' || next == '[' || next == '{' || secret_is_word_of_code(v))
		return true;
	if (v.n == a->name.n && strncasecmp(v.p, a->name.p, v.n) == 0)
		return true;
	if (view_ends(v, VIEW("-")) && next == '>')
		return true;
	while (last > 0 && text_is_word(v.p[last - 1]))
		last--;
	return last > 0 && (v.p[last - 1] == '.' || v.p[last - 1] == ':') && secret_is_wordy(v) &&
	       secret_of_name(view_from(v, last), false) != SECRET_NONE;
}

/* A value without quotes that stands apart from its name: prose and code look the same. */
static bool stands_alone(const struct walk *w, const struct assignment *a, struct view v, size_t to)
{
	if (!secret_is_wordy(v))
		return v.n >= 6 && has_digit(v);
	to = skip_blanks(w, to);
	return a->first_on_line && char_at(w, a->value - 1) != '=' && one_ascii_word(v) &&
	       ends_line(w, to) && !(v.p[0] >= 'A' && v.p[0] <= 'Z') && view_find(v, '.') == v.n;
}

static bool is_small_word(struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < 'a' || v.p[i] > 'z')
			return false;
	}
	return true;
}

static bool bare_is_secret(const struct walk *w, const struct assignment *a, enum secret_kind kind,
	struct view v, size_t to)
{
	if (a->quote.mark) /* JSON: numbers alone; or code */
		return kind != SECRET_VAGUE && is_number(v);
	if (is_code(w, a, v, to))
		return false;
	if (kind == SECRET_VAGUE)
		return secret_is_random(v);
	if (a->option)
		return !secret_is_wordy(v) || v.n >= 20;
	if (a->tight || (kind == SECRET_WIRE && !is_small_word(v)))
		return true;
	return stands_alone(w, a, v, to);
}

/* --token=x, ?token=x, GITHUB_TOKEN=x: no grammar in sight. */
static bool is_flag(const struct assignment *a)
{
	bool capitals = true;

	for (size_t i = 0; i < a->name.n; i++)
		capitals = capitals && !(a->name.p[i] >= 'a' && a->name.p[i] <= 'z');
	return a->tight && (a->in_query || a->dashes || capitals);
}

static bool is_secret(const struct walk *w, const struct assignment *a, enum secret_kind kind,
	struct value val)
{
	struct view v = view_cut(part(w, val.from, val.to), LOOK_MAX);

	if (secret_is_placeholder(v))
		return false;
	if (kind == SECRET_VAGUE && (v.p[0] == '/' || v.p[0] == '~'))
		return false; /* PWD=/home, --token=~/token */
	if (kind == SECRET_VAGUE && is_flag(a))
		kind = SECRET_SURE;
	if (kind == SECRET_QUERY)
		return v.n >= 20 || (v.n >= 8 && has_digit(v));
	if (!val.quoted)
		return bare_is_secret(w, a, kind, v, val.to);
	if (kind == SECRET_WIRE)
		return true;
	if (!one_ascii_word(v) || secret_is_word_of_code(v))
		return false;
	if (memmem(v.p, v.n, "[redacted]", 10)) /* something inside was, and the rest may stay */
		return false;
	if (kind == SECRET_VAGUE)
		return secret_is_random(v) || (a->quote.mark && v.n >= 16);
	return true;
}

/* --- Names ----------------------------------------------------------------------------------- */

static bool first_on_line(const struct walk *w, size_t at)
{
	for (int i = 0; i < 64 && at > 0; i++, at--) {
		char c = w->p[at - 1];

		if (c == '\n' || (c == 'n' && at > 1 && w->p[at - 2] == '\\'))
			return true;
		if (c != ' ' && c != '\t' && c != '-')
			return false;
	}
	return at == 0;
}

/* Behind = or : or their full-width forms; 0 when none stands here. */
static size_t separator_end(const struct walk *w, size_t at)
{
	char c = char_at(w, at), next = char_at(w, at + 1);

	if (view_starts(rest(w, at), VIEW("\xef\xbc\x9a")) ||
		view_starts(rest(w, at), VIEW("\xef\xbc\x9d")))
		return at + 3;
	if (c == ':' && next == '=')
		return at + 2;
	if (c == '=' && next == '>')
		return at + 2;
	if (c == '=' && next != '=' && next != '~')
		return at + 1;
	if (c == ':' && next != ':' && next != '/')
		return at + 1;
	return 0;
}

/* Whether ?, & or # stands before `at`, also as &amp; or as JSON may write it. */
static bool in_query(const struct walk *w, size_t at)
{
	struct view before = part(w, at < 6 ? 0 : at - 6, at);

	return view_ends(before, VIEW("?")) || view_ends(before, VIEW("&")) ||
	       view_ends(before, VIEW("#")) || view_ends(before, VIEW("&amp;")) ||
	       view_eq(before, VIEW("\\u0026"));
}

/* The word from..to as the name in front of a value. */
static bool read_assignment(const struct walk *w, size_t from, size_t to, struct assignment *a)
{
	size_t at = to, sep;

	*a = (struct assignment){ .quote = quote_at(w, to) };
	a->dashes = from + 2 < to && w->p[from] == '-' && w->p[from + 1] == '-';
	while (from < to && w->p[from] == '-')
		from++;
	a->name = part(w, from, to);
	if (a->quote.mark) {
		at += a->quote.slashes + 1;
		at += char_at(w, at) == ']';
	}

	size_t blank = skip_blanks(w, at);

	sep = separator_end(w, blank);
	a->option = sep == 0 && a->dashes && blank > at && !a->quote.mark;
	if (sep == 0 && !a->option)
		return false;
	a->value = skip_blanks(w, sep > 0 ? sep : blank);
	a->tight = a->value == to + 1 && w->p[to] == '=';
	a->in_query = a->tight && in_query(w, from);
	a->first_on_line = first_on_line(w, from);
	return a->value < w->n;
}

/* Number or list under a quoted name: the replacement gets quotes too, JSON stays JSON. */
static void replace_in_json(struct walk *w, const struct assignment *a, size_t from, size_t to)
{
	static const char slashes[] = "\\\\\\\\";
	struct view before = { slashes, a->quote.slashes };

	str_add(w->out, part(w, w->copied, from));
	str_add(w->out, before);
	str_addc(w->out, a->quote.mark);
	str_add(w->out, REDACTED);
	str_add(w->out, before);
	str_addc(w->out, a->quote.mark);
	w->copied = w->at = to;
}

static bool redact_header(struct walk *w, const struct assignment *a)
{
	static const char *const schemes[] = { "bearer", "basic", "token", "digest", "negotiate",
		"ntlm", "apikey", "aws4-hmac-sha256" };
	struct value val = read_value(w, a->value, false);
	size_t word = span(w, val.from, text_is_word), more = skip_blanks(w, word);

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (more == word || word - val.from != strlen(schemes[i]) ||
			strncasecmp(w->p + val.from, schemes[i], word - val.from) != 0)
			continue;
		size_t to = val.closed ? val.to : bare_end(w, more, false);

		if (!val.closed && i > 2) /* parameters follow */
			to = line_end(w, to);
		if (to <= more || secret_is_placeholder(part(w, more, to)))
			return false;
		replace(w, more, to);
		return true;
	}
	if (!is_secret(w, a, SECRET_SURE, val))
		return false;
	replace(w, val.from, val.to);
	return true;
}

static bool redact_cookie(struct walk *w, const struct assignment *a)
{
	struct value val = read_value(w, a->value, false);
	struct view v = view_cut(part(w, val.from, val.to), LOOK_MAX);

	if (view_find(v, '=') == v.n)
		return false;
	replace(w, val.from, val.closed ? val.to : line_end(w, val.to));
	return true;
}

/* ["token", "token"] or {"user": "token"} */
static bool redact_list(struct walk *w, const struct assignment *a, enum secret_kind kind)
{
	char first = char_at(w, a->value), next = char_at(w, a->value + 1);

	if ((kind != SECRET_WIRE && kind != SECRET_LIST) || !a->quote.mark)
		return false;
	if ((first != '[' || next == ']') && (first != '{' || next == '}'))
		return false;
	replace_in_json(w, a, a->value, container_end(w, a->value));
	return true;
}

static bool redact_assignment(struct walk *w, size_t from, size_t to)
{
	struct assignment a;

	if (!read_assignment(w, from, to, &a) || view_starts(rest(w, a.value), REDACTED))
		return false;

	enum secret_kind kind = secret_of_name(a.name, a.in_query);

	if (kind == SECRET_NONE)
		return false;
	if (kind == SECRET_HEADER)
		return redact_header(w, &a);
	if (kind == SECRET_COOKIE)
		return redact_cookie(w, &a);

	if (redact_list(w, &a, kind))
		return true;
	if (kind == SECRET_LIST)
		return false;

	struct value val = read_value(w, a.value, a.in_query);

	if (!is_secret(w, &a, kind, val))
		return false;
	if (a.quote.mark && !val.quoted)
		replace_in_json(w, &a, val.from, val.to);
	else
		replace(w, val.from, val.to);
	return true;
}

/* --- Keys in Chinese ------------------------------------------------------------------------- */

/* Password, key, pass-phrase, token; then a colon or "is"; then something a person did not write as
 * a Chinese word. */
static bool redact_chinese(struct walk *w)
{
	static const struct view names[] = {
		{ "\xe5\xaf\x86\xe7\xa0\x81", 6 },
		{ "\xe5\xaf\x86\xe9\x92\xa5", 6 },
		{ "\xe5\x8f\xa3\xe4\xbb\xa4", 6 },
		{ "\xe4\xbb\xa4\xe7\x89\x8c", 6 },
	};
	size_t sep = 0, from, to;
	bool is = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && sep == 0; i++) {
		if (!view_starts(rest(w, w->at), names[i]))
			continue;
		size_t at = skip_blanks(w, w->at + names[i].n);

		is = view_starts(rest(w, at), VIEW("\xe6\x98\xaf")) ||
		     view_starts(rest(w, at), VIEW("\xe4\xb8\xba"));
		sep = is ? at + 3 : separator_end(w, at);
	}
	if (sep == 0)
		return false;
	from = skip_blanks(w, sep);
	to = bare_end(w, from, false);

	struct view v = view_cut(part(w, from, to), LOOK_MAX);

	if (v.n < 4 || secret_is_placeholder(v) || secret_is_word_of_code(v) ||
		(is && secret_is_wordy(v)) || memmem(v.p, v.n, "://", 3))
		return false;
	replace(w, from, to);
	return true;
}

/* --- The walk -------------------------------------------------------------------------------- */

static bool word_is(const struct walk *w, size_t to, const char *word)
{
	return to - w->at == strlen(word) && strncasecmp(w->p + w->at, word, to - w->at) == 0;
}

/* "Bearer x" and "Basic x" outside a header. */
static bool redact_scheme(struct walk *w, size_t to)
{
	size_t from = skip_blanks(w, to), end = bare_end(w, from, false);
	struct view v = view_cut(part(w, from, end), LOOK_MAX);

	if (from == to || secret_is_placeholder(v) || memmem(v.p, v.n, "://", 3) ||
		char_at(w, end) == '[')
		return false;
	if (word_is(w, to, "bearer") ? v.n < 8 || (secret_is_wordy(v) && v.n < 20)
				     : !shape_is_basic(v))
		return false;
	replace(w, from, end);
	return true;
}

static bool redact_shape(struct walk *w, size_t to)
{
	size_t head = 0, run, n = shape_key(rest(w, w->at));

	if (n == 0 && char_at(w, to) == '.')
		n = shape_hook(rest(w, w->at), &head);
	if (n == 0)
		n = shape_pem(rest(w, w->at));
	if (n == 0 && w->at >= w->base64_done) {
		n = shape_base64(rest(w, w->at), &run);
		w->base64_done = w->at + run;
	}
	if (n == 0 && word_is(w, to, "data")) {
		n = shape_data(rest(w, to), &head);
		head += to - w->at;
	}
	if (n == 0)
		return false;
	replace(w, w->at + head, w->at + head + n);
	return true;
}

static void at_word(struct walk *w)
{
	size_t to = span(w, w->at, text_is_word);

	if (redact_shape(w, to))
		return;
	if ((word_is(w, to, "bearer") || word_is(w, to, "basic")) && redact_scheme(w, to))
		return;
	if (!redact_assignment(w, w->at, to))
		w->at = to;
}

static bool at_colon(struct walk *w)
{
	struct view before = part(w, w->at < 5 ? 0 : w->at - 5, w->at);
	size_t n;

	if (!view_starts(rest(w, w->at), VIEW("://")))
		return false;
	n = shape_userinfo(rest(w, w->at + 3),
		view_ends(before, VIEW("http")) || view_ends(before, VIEW("https")));
	if (n > 0)
		replace(w, w->at + 3, w->at + 3 + n);
	return n > 0;
}

/* The letter behind a backslash belongs to an escape, not to the word that follows. */
static void at_backslash(struct walk *w)
{
	char next = char_at(w, w->at + 1);
	size_t hex = w->at + 2;

	while (hex < w->n && hex < w->at + 6 && strchr("0123456789abcdefABCDEF", w->p[hex]))
		hex++;
	if (next == 'u' && hex == w->at + 6)
		w->at = hex;
	else
		w->at += next && strchr("nrtbf\\\"/", next) ? 2 : 1;
}

int text_redact(struct view in, struct str *out)
{
	struct walk w = { .p = in.n > 0 ? in.p : "", .n = in.n, .out = out };

	while (w.at < w.n) {
		char c = w.p[w.at];

		if (text_is_word(c))
			at_word(&w);
		else if (c == '\\')
			at_backslash(&w);
		else if ((c == ':' && at_colon(&w)) ||
			 ((unsigned char)c >= 0xe4 && redact_chinese(&w)))
			continue;
		else
			w.at++;
	}
	str_add(out, part(&w, w.copied, w.n));
	return str_ok(out) ? 0 : -1;
}
