/* Brackets, strings and comments of languages with braces. */
#include "tools/exec/check.h"

#include <string.h>

enum trait {
	SLASHES = 1,        /* a comment runs from // to the end of the line */
	NESTED = 2,         /* comments stand in comments */
	SINGLE = 4,         /* '...' is a string like "..." */
	PREPROCESSOR = 8,   /* lines that begin with #; of #if and #else one branch counts */
	DIGIT_QUOTES = 16,  /* 1'000 */
	RAW_CPP = 32,       /* R"x(...)x" */
	RAW_RUST = 64,      /* r#"..."# */
	LIFETIMES = 128,    /* 'a without a closing quote */
	LONG_STRINGS = 256, /* strings run over lines */
	TRIPLE = 512,       /* """...""" */
	BACKTICKS = 1024,   /* `...` as it stands */
	TEMPLATES = 2048,   /* `...${...}...` */
	REGEXES = 4096,     /* /.../ */
	MARKUP = 8192,      /* elements may stand in the code: then nothing can be said */
	URLS = 16384,       /* url(...) without quotes */
};

struct brace_language {
	const char *extensions; /* " cc cpp " */
	unsigned traits;
};

#define C_TRAITS (SLASHES | SINGLE | PREPROCESSOR | DIGIT_QUOTES)

static const struct brace_language languages[] = {
	{ " c ", C_TRAITS },
	{ " h cc cpp cxx hh hpp hxx ", C_TRAITS | RAW_CPP },
	{ " java ", SLASHES | SINGLE | TRIPLE },
	{ " js mjs cjs jsx tsx ", SLASHES | SINGLE | TEMPLATES | REGEXES | MARKUP },
	{ " ts mts cts ", SLASHES | SINGLE | TEMPLATES | REGEXES },
	{ " go ", SLASHES | SINGLE | BACKTICKS },
	{ " rs ", SLASHES | NESTED | RAW_RUST | LIFETIMES | LONG_STRINGS },
	{ " css ", SINGLE | URLS },
	{ " scss less ", SINGLE | URLS | SLASHES },
	{ " jsonc json5 ", SLASHES | SINGLE },
};

#define IFS_MAX 64

struct braces {
	struct view text;
	unsigned traits;
	size_t at;
	struct finding *f;
	struct brackets brackets;
	bool line_begins; /* nothing but blanks before at on its line */
	bool word;        /* the last character belonged to a name or number */
	size_t word_at;   /* where that began */
	char last;        /* character that means something */
	bool unsure;      /* a slash could have been two things, or branches are not alike */
	size_t at_if[IFS_MAX], ifs; /* brackets that were open at each #if */
};

const struct brace_language *brace_language_find(struct view extension)
{
	char padded[16];
	struct str s = STR_INIT(sizeof(padded) - 1);
	const struct brace_language *found = NULL;

	(void)str_addf(&s, " %.*s ", VIEW_FMT(view_cut(extension, 8)));
	for (size_t i = 0; extension.n > 0 && i < sizeof(languages) / sizeof(languages[0]); i++)
		if (strstr(languages[i].extensions, str_cstr(&s)))
			found = &languages[i];
	str_release(&s);
	return found;
}

static bool has(const struct braces *b, unsigned trait)
{
	return (b->traits & trait) != 0;
}

static char peek(const struct braces *b, size_t ahead)
{
	return b->at + ahead < b->text.n ? b->text.p[b->at + ahead] : '\0';
}

static bool more(const struct braces *b)
{
	return b->at < b->text.n;
}

static struct view rest(const struct braces *b)
{
	return view_from(b->text, b->at);
}

static bool at(const struct braces *b, const char *z)
{
	return view_starts(rest(b), view_of(z));
}

static void skip_to_line_end(struct braces *b)
{
	b->at += view_find(rest(b), '\n');
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* --- Comments and strings: true is a fault ---------------------------------------------------- */

static bool skip_comment(struct braces *b)
{
	size_t begin = b->at, depth = 1;

	for (b->at += 2; more(b); b->at++) {
		if (at(b, "*/")) {
			b->at += 2;
			if (--depth == 0 || !has(b, NESTED))
				return false;
			b->at--;
		} else if (has(b, NESTED) && at(b, "/*")) {
			depth++;
			b->at++;
		}
	}
	return check_found(b->f, begin, "the comment is not closed");
}

static bool skip_string(struct braces *b)
{
	size_t begin = b->at;
	char quote = b->text.p[b->at++];

	for (; more(b); b->at++) {
		char c = peek(b, 0);

		if (c == quote) {
			b->at++;
			return false;
		}
		if (c == '\n' && !has(b, LONG_STRINGS))
			break;
		if (c == '\\') {
			b->at++;
			if (at(b, "\r\n"))
				b->at++;
		}
	}
	return check_found(b->f, begin, "the string is not closed");
}

/* To the first `end` behind at + n. */
static bool skip_raw(struct braces *b, size_t n, struct view end)
{
	size_t begin = b->at;
	const char *found;

	b->at += n;
	found = more(b) ? memmem(rest(b).p, rest(b).n, end.p, end.n) : NULL;
	if (!found)
		return check_found(b->f, begin, "the string is not closed");
	b->at = (size_t)(found - b->text.p) + end.n;
	return false;
}

static bool skip_triple(struct braces *b)
{
	size_t begin = b->at;

	for (b->at += 3; more(b); b->at += peek(b, 0) == '\\' ? 2 : 1) {
		if (at(b, "\"\"\"")) {
			b->at += 3;
			return false;
		}
	}
	return check_found(b->f, begin, "the string is not closed");
}

/* The text of a template, to its end or to a place in it. */
static bool skip_template(struct braces *b, size_t begin)
{
	for (; more(b); b->at++) {
		if (peek(b, 0) == '\\') {
			b->at++;
		} else if (peek(b, 0) == '`') {
			b->at++;
			b->last = '`';
			return false;
		} else if (at(b, "${")) {
			brackets_open(&b->brackets, '$', b->at);
			b->at += 2;
			b->last = '{';
			return false;
		}
	}
	return check_found(b->f, begin, "the template is not closed");
}

/* The word in front of at. */
static struct view word_before(const struct braces *b)
{
	return b->word ? view_cut(view_from(b->text, b->word_at), b->at - b->word_at) : VIEW_NONE;
}

/* R"x( at its quote. 1: it was one. 0: it is none. -1: a fault. */
static int skip_cpp_raw(struct braces *b)
{
	struct view word = word_before(b), head = view_cut(view_from(rest(b), 1), 17);
	size_t n = view_find(head, '(');
	char end[20] = ")";

	if (!view_ends(word, VIEW("R")) || word.n > 3 || n == head.n)
		return 0;
	memcpy(end + 1, head.p, n);
	end[n + 1] = '"';
	return skip_raw(b, n + 2, (struct view){ end, n + 2 }) ? -1 : 1;
}

/* r#"..."# at its # or quote. */
static int skip_rust_raw(struct braces *b)
{
	struct view word = word_before(b);
	char end[260] = "\"";
	size_t n = 0;

	if (!view_eqs(word, "r") && !view_eqs(word, "br") && !view_eqs(word, "cr"))
		return 0;
	while (peek(b, n) == '#' && n < 255)
		end[++n] = '#';
	if (peek(b, n) != '"')
		return 0;
	return skip_raw(b, n + 1, (struct view){ end, n + 1 }) ? -1 : 1;
}

/* 'x' or a lifetime. */
static bool skip_rust_quote(struct braces *b)
{
	size_t n = 2;

	if (peek(b, 1) == '\\')
		return skip_string(b);
	while (((unsigned char)peek(b, n) & 0xc0) == 0x80)
		n++;
	b->at += peek(b, n) == '\'' ? n + 1 : 1;
	return false;
}

/* --- Regular expressions ---------------------------------------------------------------------- */

/* On the rest of the line, behind the slash at hand. */
static bool another_slash(const struct braces *b)
{
	for (size_t i = b->at + 1; i < b->text.n && b->text.p[i] != '\n'; i++)
		if (b->text.p[i] == '/')
			return true;
	return false;
}

static bool may_be_regex(struct braces *b)
{
	static const char *const words[] = { "return", "typeof", "case", "in", "of", "delete",
		"void", "throw", "new", "else", "do", "await", "yield", "instanceof" };
	struct view word = view_from(b->text, b->word_at);

	if (b->last == ')' || b->last == '}') {
		b->unsure |= another_slash(b);
		return false;
	}
	if (!is_word(b->last))
		return !check_is(b->last, "]\"'`") || b->last == '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (view_starts(word, view_of(words[i])) &&
			!is_word(view_from(word, strlen(words[i])).p[0]))
			return true;
	return false;
}

static void skip_regex(struct braces *b)
{
	bool in_class = false;

	for (b->at++; more(b) && peek(b, 0) != '\n'; b->at++) {
		char c = peek(b, 0);

		if (c == '\\')
			b->at++;
		else if (c == '[')
			in_class = true;
		else if (c == ']')
			in_class = false;
		else if (c == '/' && !in_class)
			break;
	}
	if (peek(b, 0) != '/')
		b->unsure = true; /* it was none, or it is broken */
	else
		b->at++;
	b->last = '"'; /* a value, as a string is one */
}

/* --- Preprocessor ----------------------------------------------------------------------------- */

/* The rest of the line at a #, with what backslashes and comments add to it. */
static bool skip_directive(struct braces *b)
{
	while (more(b) && peek(b, 0) != '\n') {
		if (at(b, "/*")) {
			if (skip_comment(b))
				return true;
		} else if (at(b, "//")) {
			skip_to_line_end(b);
		} else if (at(b, "\\\r\n")) {
			b->at += 3;
		} else {
			b->at += peek(b, 0) == '\\' ? 2 : 1;
		}
	}
	return false;
}

/* The word behind a #, which is the first of its line, and what stands behind it. */
static struct view directive(struct view line, struct view *behind)
{
	size_t n = 0;

	*behind = VIEW_NONE;
	line = view_trim(line);
	if (line.n == 0 || line.p[0] != '#')
		return VIEW_NONE;
	line = view_trim(view_from(line, 1));
	while (n < line.n && is_word(line.p[n]))
		n++;
	*behind = view_trim(view_from(line, n));
	return view_cut(line, n);
}

/* As many brackets open as close from begin to at, strings and all. */
static bool is_even(const struct braces *b, size_t begin)
{
	size_t open = 0, closed = 0;

	for (size_t i = begin; i < b->at; i++) {
		char c = b->text.p[i];

		open += c == '(' || c == '[' || c == '{';
		closed += c == ')' || c == ']' || c == '}';
	}
	return open == closed;
}

/* From the end of an #if 0 or #else to the line that ends the branch: to the end of an #else, whose
 * own branch counts then, else to the begin of the #endif. */
static void skip_branch(struct braces *b, bool to_endif)
{
	size_t depth = 0, begin = b->at;

	for (b->at++; b->at < b->text.n;) {
		struct view line = view_cut(rest(b), view_find(rest(b), '\n'));
		struct view behind, word = directive(line, &behind);

		if (view_starts(word, VIEW("if"))) {
			depth++;
		} else if (view_eqs(word, "endif") && depth-- == 0) {
			b->line_begins = true;
			b->unsure |= to_endif && !is_even(b, begin);
			return;
		} else if (!to_endif && depth == 0 && view_starts(word, VIEW("el"))) {
			b->at += line.n;
			return;
		}
		b->at += line.n + 1;
	}
	b->at = b->text.n;
}

/* A branch that opens or closes something may do so on a condition that stands elsewhere too:
 * what is open behind it cannot be told. */
static void note_branch(struct braces *b, struct view word)
{
	if (view_starts(word, VIEW("if"))) {
		if (b->ifs < IFS_MAX)
			b->at_if[b->ifs] = b->brackets.n;
		b->ifs++;
	} else if (view_eqs(word, "endif") || view_starts(word, VIEW("el"))) {
		if (b->ifs == 0 || b->ifs > IFS_MAX || b->at_if[b->ifs - 1] != b->brackets.n)
			b->unsure = true;
		if (b->ifs > 0 && view_eqs(word, "endif"))
			b->ifs--;
	}
}

static bool skip_preprocessor(struct braces *b)
{
	struct view line = view_cut(rest(b), view_find(rest(b), '\n'));
	struct view behind, word = directive(line, &behind);
	bool never = behind.n > 0 && behind.p[0] == '0' && (behind.n == 1 || !is_word(behind.p[1]));

	note_branch(b, word);
	if (skip_directive(b))
		return true;
	if (view_starts(word, VIEW("el")))
		skip_branch(b, true);
	else if (view_eqs(word, "if") && never)
		skip_branch(b, false);
	return false;
}

/* --- One step --------------------------------------------------------------------------------- */

static bool step_quote(struct braces *b, char c)
{
	int raw = 0;

	if (c == '"' && has(b, RAW_CPP))
		raw = skip_cpp_raw(b);
	if (c == '"' && has(b, RAW_RUST))
		raw = skip_rust_raw(b);
	if (raw)
		return raw < 0;
	if (c == '\'' && has(b, LIFETIMES))
		return skip_rust_quote(b);
	if (c == '"' && has(b, TRIPLE) && at(b, "\"\"\""))
		return skip_triple(b);
	return skip_string(b);
}

static bool step_slash(struct braces *b)
{
	if (at(b, "/*"))
		return skip_comment(b);
	if (has(b, SLASHES) && at(b, "//")) {
		skip_to_line_end(b);
		return false;
	}
	if (has(b, REGEXES) && may_be_regex(b)) {
		skip_regex(b);
		return false;
	}
	b->last = '/';
	b->at++;
	return false;
}

static bool step_close(struct braces *b, char c)
{
	bool place = b->brackets.n > 0 && b->brackets.open[b->brackets.n - 1].c == '$';
	size_t begin = b->at;

	/* What stands before the #if may close something only on its condition. */
	if (b->ifs > 0 && (b->ifs > IFS_MAX || b->brackets.n <= b->at_if[b->ifs - 1]))
		b->unsure = true;
	if (brackets_close(&b->brackets, b->text, c, b->at, b->f))
		return true;
	b->at++;
	return place ? skip_template(b, begin) : false;
}

/* A name or number, whole. */
static void step_word(struct braces *b)
{
	bool number = b->text.p[b->at] >= '0' && b->text.p[b->at] <= '9';

	b->word_at = b->at;
	while (is_word(peek(b, 0)) ||
		(number && has(b, DIGIT_QUOTES) && peek(b, 0) == '\'' && is_word(peek(b, 1))))
		b->at++;
	b->last = b->text.p[b->at - 1];
	b->word = true;
	if (has(b, URLS) && view_eqs(word_before(b), "url") && peek(b, 0) == '(' &&
		peek(b, 1) != '"' && peek(b, 1) != '\'')
		b->at += view_find(rest(b), ')') + 1;
	if (b->at > b->text.n)
		b->at = b->text.n;
}

/* A character that is none of the special ones. */
static bool step_plain(struct braces *b, char c)
{
	if (check_is(c, "([{"))
		brackets_open(&b->brackets, c, b->at);
	b->at += c == '\\' ? 2 : 1;
	b->last = c;
	return false;
}

static bool step(struct braces *b)
{
	char c = peek(b, 0);
	bool begins = b->line_begins, bad;

	if (c == '\0' || check_is(c, " \t\r\n\f")) {
		b->line_begins = begins || c == '\n';
		b->word = false;
		b->at++;
		return false;
	}
	b->line_begins = false;
	if (c == '#' && begins && has(b, PREPROCESSOR))
		return skip_preprocessor(b);
	if (is_word(c)) {
		step_word(b);
		return false;
	}
	if (c == '"' || (c == '\'' && has(b, SINGLE | LIFETIMES))) {
		bad = step_quote(b, c);
		b->last = c;
	} else if (c == '#' && has(b, RAW_RUST) && b->word) {
		int raw = skip_rust_raw(b);

		bad = raw == 0 ? step_plain(b, c) : raw < 0;
	} else if (c == '`' && has(b, TEMPLATES)) {
		b->at++;
		bad = skip_template(b, b->at - 1);
	} else if (c == '`' && has(b, BACKTICKS)) {
		bad = skip_raw(b, 1, VIEW("`"));
	} else if (c == '/') {
		bad = step_slash(b);
	} else if (check_is(c, ")]}")) {
		b->last = c;
		bad = step_close(b, c);
	} else {
		bad = step_plain(b, c);
	}
	b->word = false;
	return bad;
}

bool check_braces(const struct brace_language *l, struct view text, struct finding *f)
{
	struct braces b = { .text = text, .traits = l->traits, .f = f, .line_begins = true };
	bool bad = false;

	if (has(&b, MARKUP) && text.n > 0 &&
		(memmem(text.p, text.n, "</", 2) || memmem(text.p, text.n, "/>", 2)))
		return false;
	while (!bad && more(&b) && !b.brackets.too_deep)
		bad = step(&b);
	if (!bad && b.brackets.n > 0) {
		char c = b.brackets.open[b.brackets.n - 1].c;

		bad = check_found(f, b.brackets.open[b.brackets.n - 1].at, "%c is not closed",
			c == '$' ? '{' : c);
	}
	return bad && !b.unsure && !b.brackets.too_deep;
}
