/* Reading the TOML subset. Editing is in toml_edit.c. */
#include "base/toml-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Line and column (in characters) of a place, from 1. Counts on from the last place asked for, so
 * that asking for each value of a file in turn stays linear. */
static void place(struct scanner *s, const char *at, int *line, int *col)
{
	if (at < s->at) {
		s->at = s->begin;
		s->line = s->col = 1;
	}
	for (; s->at < at; s->at++) {
		if (*s->at == '\n') {
			s->line++;
			s->col = 1;
		} else if (((unsigned char)*s->at & 0xc0) != 0x80) {
			s->col++;
		}
	}
	*line = s->line;
	*col = s->col;
}

static int fail_at(struct scanner *s, const char *at, struct err *e, const char *what)
{
	int line, col;

	place(s, at, &line, &col);
	return err_set(e, E_FORMAT, "%d:%d: %s", line, col, what);
}

static int no_memory(struct err *e)
{
	return err_set(e, E_NOMEM, "out of memory");
}

static bool more(const struct scanner *s)
{
	return s->p < s->end;
}

static char peek(const struct scanner *s)
{
	return more(s) ? *s->p : '\0';
}

void toml_skip_blank(struct scanner *s)
{
	while (more(s) && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
}

/* To the end of the line; only blanks and a comment may stand there. */
static int finish_line(struct scanner *s, struct err *e)
{
	toml_skip_blank(s);
	if (peek(s) == '#')
		while (more(s) && *s->p != '\n')
			s->p++;
	if (peek(s) == '\r' && s->p + 1 < s->end && s->p[1] == '\n')
		s->p++;
	if (!more(s))
		return 0;
	if (*s->p != '\n')
		return fail_at(s, s->p, e,
			"something stands behind the value, expected the end of the line");
	s->p++;
	return 0;
}

static void skip_empty(struct scanner *s)
{
	for (;;) {
		toml_skip_blank(s);
		if (peek(s) == '#')
			while (more(s) && *s->p != '\n')
				s->p++;
		if (more(s) && (*s->p == '\n' || *s->p == '\r'))
			s->p++;
		else
			return;
	}
}

/* Append; what is too long for the str is the text's fault, anything else is a want of memory. */
static int put(struct scanner *s, struct str *out, struct view v, const char *at, const char *what,
	struct err *e)
{
	if (str_add(out, v) == 0)
		return 0;
	return v.n > out->max - out->n ? fail_at(s, at, e, what) : no_memory(e);
}

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

/* key or dotted.key, bare parts only. */
int toml_scan_key(struct scanner *s, struct str *out, struct err *e)
{
	for (;;) {
		const char *from = s->p;

		while (more(s) && is_bare(*s->p))
			s->p++;
		if (s->p == from)
			return fail_at(s, s->p, e, "expected a key of letters, digits, _ and -");
		if (put(s, out, (struct view){ from, (size_t)(s->p - from) }, from,
			    "the key is too long", e) < 0)
			return -1;
		toml_skip_blank(s);
		if (peek(s) != '.')
			return 0;
		if (put(s, out, VIEW("."), from, "the key is too long", e) < 0)
			return -1;
		s->p++;
		toml_skip_blank(s);
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Bytes in b, 0: no such character, or a NUL. */
static size_t encode(uint32_t cp, char b[4])
{
	size_t n;

	if (cp == 0 || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	if (cp < 0x80) {
		b[0] = (char)cp;
		n = 1;
	} else if (cp < 0x800) {
		b[0] = (char)(0xc0 | (cp >> 6));
		n = 2;
	} else if (cp < 0x10000) {
		b[0] = (char)(0xe0 | (cp >> 12));
		n = 3;
	} else {
		b[0] = (char)(0xf0 | (cp >> 18));
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		b[i] = (char)(0x80 | ((cp >> (6 * (n - 1 - i))) & 0x3f));
	return n;
}

/* A string is never longer than its text, and has room for that: a failing add is a want of
 * memory. */
static int scan_escape(struct scanner *s, struct str *out, struct err *e)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	const char *at = s->p++;
	char c = peek(s), b[4];
	const char *hit = c ? strchr(from, c) : NULL;
	uint32_t cp = 0;

	if (!hit && c != 'u' && c != 'U')
		return fail_at(s, at, e,
			"unknown escape, expected one of \\b \\t \\n \\f \\r \\\" \\\\ \\u \\U");
	s->p++;
	if (hit)
		return str_addc(out, to[hit - from]) < 0 ? no_memory(e) : 0;
	for (int i = c == 'u' ? 4 : 8; i > 0; i--, s->p++) {
		int d = hex_digit(peek(s));

		if (d < 0)
			return fail_at(s, at, e, "expected hex digits behind \\u or \\U");
		cp = cp << 4 | (uint32_t)d;
	}
	size_t n = encode(cp, b);
	if (!n)
		return fail_at(s, at, e, "no such character, or a NUL");
	return str_add(out, (struct view){ b, n }) < 0 ? no_memory(e) : 0;
}

static int scan_string(struct scanner *s, struct str *out, struct err *e)
{
	const char *open = s->p;
	char quote = *s->p++;

	if (s->end - s->p >= 2 && s->p[0] == quote && s->p[1] == quote)
		return fail_at(s, open, e,
			"strings over several lines are not used here, expected \"...\"");
	while (more(s) && *s->p != quote && *s->p != '\n' && *s->p != '\r') {
		if (*s->p == '\\' && quote == '"') {
			if (scan_escape(s, out, e) < 0)
				return -1;
		} else if (str_addc(out, *s->p++) < 0) {
			return no_memory(e);
		}
	}
	if (peek(s) != quote)
		return fail_at(s, open, e,
			"the string has no end, expected a closing quote on this line");
	s->p++;
	return 0;
}

static int scan_number(struct scanner *s, struct toml_value *v, struct err *e)
{
	char digits[32];
	size_t n = 0;
	long long i;
	const char *from = s->p;

	if (*s->p == '+' || *s->p == '-') {
		if (*s->p == '-')
			digits[n++] = '-';
		s->p++;
	}
	const char *first = s->p;
	bool sound = peek(s) >= '0' && peek(s) <= '9';
	while (more(s) && (is_bare(*s->p) || *s->p == '.' || *s->p == '+' || *s->p == ':')) {
		if (*s->p == '_' && s->p > first && s->p + 1 < s->end && s->p[-1] != '_' &&
			hex_digit(s->p[1]) >= 0) {
			s->p++;
			continue;
		}
		if (n < sizeof(digits))
			digits[n++] = *s->p;
		s->p++;
	}
	if (s->p - first > 1 && *first == '0')
		sound = false;
	if (!sound || parse_i64((struct view){ digits, n }, &i) < 0)
		return fail_at(s, from, e,
			"expected a value: \"text\", a whole number, true, false or [\"list\"]");
	v->type = TOML_INT;
	v->i = i;
	return 0;
}

static int keep_text(struct toml *t, struct str *text, const char **out)
{
	char *z = str_ok(text) && text->p ? str_take(text) : strdup("");

	if (!z)
		return -1;
	char **grown = realloc(t->texts, (t->ntexts + 1) * sizeof(*grown));
	if (!grown) {
		free(z);
		return -1;
	}
	t->texts = grown;
	t->texts[t->ntexts++] = z;
	*out = z;
	return 0;
}

static int scan_text(struct toml *t, struct scanner *s, const char **out, struct err *e)
{
	struct str text = STR_INIT(TOML_FILE_MAX);
	int rc = scan_string(s, &text, e);

	if (rc == 0 && keep_text(t, &text, out) < 0)
		rc = no_memory(e);
	str_release(&text);
	return rc;
}

static int add_item(struct toml *t, struct toml_value *v, const char *item)
{
	const char **grown = realloc(t->lists[t->nlists - 1], (v->nitems + 2) * sizeof(*grown));

	if (!grown)
		return -1;
	grown[v->nitems++] = item;
	grown[v->nitems] = NULL;
	t->lists[t->nlists - 1] = grown;
	v->items = grown;
	return 0;
}

static int new_list(struct toml *t, struct toml_value *v)
{
	const char ***grown = realloc(t->lists, (t->nlists + 1) * sizeof(*grown));

	if (!grown)
		return -1;
	t->lists = grown;
	t->lists[t->nlists] = calloc(1, sizeof(char *));
	if (!t->lists[t->nlists])
		return -1;
	v->items = t->lists[t->nlists++];
	return 0;
}

static int scan_array(struct toml *t, struct scanner *s, struct toml_value *v, struct err *e)
{
	const char *open = s->p++;

	v->type = TOML_ARRAY;
	if (new_list(t, v) < 0)
		return no_memory(e);
	for (;;) {
		const char *item = NULL;

		skip_empty(s);
		if (peek(s) == ']')
			break;
		if (!more(s))
			return fail_at(s, open, e, "the list has no end, expected ]");
		if (peek(s) != '"' && peek(s) != '\'')
			return fail_at(s, s->p, e,
				"expected a string in the list, as in [\"one\", \"two\"]");
		if (v->nitems >= TOML_ITEMS_MAX)
			return fail_at(s, s->p, e, "the list has more than 1000 items");
		if (scan_text(t, s, &item, e) < 0)
			return -1;
		if (add_item(t, v, item) < 0)
			return no_memory(e);
		skip_empty(s);
		if (peek(s) == ',')
			s->p++;
		else if (peek(s) != ']')
			return fail_at(s, s->p, e, "expected , or ] in the list");
	}
	s->p++;
	return 0;
}

static bool take_word(struct scanner *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	if (s->p + n < s->end && is_bare(s->p[n]))
		return false;
	s->p += n;
	return true;
}

int toml_scan_value(struct toml *t, struct scanner *s, struct toml_value *v, struct err *e)
{
	memset(v, 0, sizeof(*v));
	place(s, s->p, &v->line, &v->col);
	switch (peek(s)) {
	case '"':
	case '\'': v->type = TOML_STRING; return scan_text(t, s, &v->s, e);
	case '[': return scan_array(t, s, v, e);
	case '{': return fail_at(s, s->p, e, "inline tables are not used here, expected a [table]");
	default: break;
	}
	v->type = TOML_BOOL;
	if (take_word(s, "true")) {
		v->b = true;
		return 0;
	}
	if (take_word(s, "false"))
		return 0;
	if (!more(s) || *s->p == '\n' || *s->p == '#')
		return fail_at(s, s->p, e,
			"expected a value: \"text\", a whole number, true, false or [\"list\"]");
	return scan_number(s, v, e);
}

/* Room for one more; the new entry is cleared. NULL without memory. */
static struct entry *grow(struct entry **list, size_t n, size_t *cap)
{
	if (n == *cap) {
		size_t more_cap = *cap ? *cap * 2 : 32;
		struct entry *grown = realloc(*list, more_cap * sizeof(*grown));

		if (!grown)
			return NULL;
		*list = grown;
		*cap = more_cap;
	}
	memset(&(*list)[n], 0, sizeof(**list));
	return &(*list)[n];
}

static int add_entry(struct toml *t, struct scanner *s, const char *table, const char *at,
	struct err *e)
{
	struct str key = STR_INIT(1024);
	struct entry *en;
	int rc = -1;

	if (t->n >= TOML_KEYS_MAX)
		return fail_at(s, at, e, "more than 1000 keys");
	if (!(en = grow(&t->entries, t->n, &t->cap)))
		return no_memory(e);
	en->is_value = true;
	en->table_len = strlen(table);
	if (table[0] && str_addf(&key, "%s.", table) < 0) {
		no_memory(e);
		goto out;
	}
	if (toml_scan_key(s, &key, e) < 0)
		goto out;
	toml_skip_blank(s);
	if (peek(s) != '=') {
		fail_at(s, s->p, e, "expected = behind the key");
		goto out;
	}
	s->p++;
	toml_skip_blank(s);
	if (toml_scan_value(t, s, &en->value, e) < 0)
		goto out;
	place(s, at, &en->value.key_line, &en->value.key_col);
	rc = finish_line(s, e);
	if (rc == 0 && !(en->key = str_take(&key)))
		rc = no_memory(e);
	if (rc == 0)
		t->n++;
out:
	str_release(&key);
	return rc;
}

int toml_scan_table(struct scanner *s, struct str *name, struct err *e)
{
	const char *open = s->p++;

	str_reset(name);
	if (peek(s) == '[')
		return fail_at(s, open, e, "lists of tables are not used here, expected [table]");
	toml_skip_blank(s);
	if (toml_scan_key(s, name, e) < 0)
		return -1;
	if (peek(s) != ']')
		return fail_at(s, s->p, e, "expected ] behind the table's name");
	s->p++;
	return finish_line(s, e);
}

static int add_table(struct toml *t, struct scanner *s, struct str *name, struct err *e)
{
	const char *at = s->p;
	struct entry *en;

	if (t->ntables >= TOML_KEYS_MAX)
		return fail_at(s, at, e, "more than 1000 tables");
	if (toml_scan_table(s, name, e) < 0)
		return -1;
	if (!(en = grow(&t->tables, t->ntables, &t->tables_cap)) ||
		!(en->key = strdup(str_cstr(name))))
		return no_memory(e);
	t->ntables++;
	place(s, at, &en->value.key_line, &en->value.key_col);
	return 0;
}

static int read_all(struct toml *t, struct scanner *s, struct err *e)
{
	struct str table = STR_INIT(512);
	int rc = 0;

	while (rc == 0) {
		skip_empty(s);
		if (!more(s))
			break;
		rc = *s->p == '[' ? add_table(t, s, &table, e)
		                  : add_entry(t, s, str_cstr(&table), s->p, e);
	}
	str_release(&table);
	return rc < 0 ? -1 : toml_check_keys(t, e);
}

static int check_text(struct scanner *s, struct view text, struct err *e)
{
	if (text.n > TOML_FILE_MAX)
		return err_set(e, E_FORMAT, "1:1: the file is over 128 KiB");
	for (struct view v = text; v.n;) {
		uint32_t cp;
		size_t n = utf8_next(v, &cp);

		if (!n)
			return fail_at(s, v.p, e, "not valid UTF-8");
		if (cp == '\r' && (v.n < 2 || v.p[1] != '\n'))
			return fail_at(s, v.p, e, "a carriage return without a newline");
		if ((cp < 0x20 && cp != '\t' && cp != '\n' && cp != '\r') || cp == 0x7f)
			return fail_at(s, v.p, e, "a control character");
		v = view_from(v, n);
	}
	return 0;
}

struct scanner toml_scanner(struct view text)
{
	const char *p = text.n > 0 ? text.p : "";

	return (struct scanner){ .begin = p,
		.p = p,
		.end = p + text.n,
		.at = p,
		.line = 1,
		.col = 1 };
}

int toml_read(struct toml **out, struct view text, struct err *e)
{
	struct scanner s = toml_scanner(text);
	struct toml *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return no_memory(e);
	if (check_text(&s, text, e) < 0 || read_all(t, &s, e) < 0) {
		toml_free(&t);
		return -1;
	}
	*out = t;
	return 0;
}

int toml_read_one(struct toml **hold, struct toml_value *out, struct view *text, struct err *e)
{
	struct scanner s = toml_scanner(*text);
	struct toml *t = calloc(1, sizeof(*t));
	int rc = -1;

	*hold = NULL;
	if (!t)
		return no_memory(e);
	toml_skip_blank(&s);
	const char *from = s.p;
	if (check_text(&s, *text, e) < 0 || toml_scan_value(t, &s, out, e) < 0)
		goto out;
	*text = (struct view){ from, (size_t)(s.p - from) };
	if (finish_line(&s, e) < 0)
		goto out;
	if (more(&s)) {
		fail_at(&s, s.p, e, "expected one value");
		goto out;
	}
	*hold = t;
	t = NULL;
	rc = 0;
out:
	toml_free(&t);
	return rc;
}

int toml_read_value(struct toml **hold, struct toml_value *out, struct view text, struct err *e)
{
	return toml_read_one(hold, out, &text, e);
}

void toml_free(struct toml **tp)
{
	struct toml *t = *tp;

	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->entries[i].key);
	for (size_t i = 0; i < t->ntables; i++)
		free(t->tables[i].key);
	for (size_t i = 0; i < t->ntexts; i++)
		free(t->texts[i]);
	for (size_t i = 0; i < t->nlists; i++)
		free(t->lists[i]);
	free(t->entries);
	free(t->tables);
	free(t->texts);
	free(t->lists);
	free(t);
	*tp = NULL;
}

size_t toml_count(const struct toml *t)
{
	return t->n;
}

const char *toml_key(const struct toml *t, size_t i)
{
	return t->entries[i].key;
}

const struct toml_value *toml_at(const struct toml *t, size_t i)
{
	return &t->entries[i].value;
}

const struct toml_value *toml_get(const struct toml *t, const char *dotted)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->entries[i].key, dotted))
			return &t->entries[i].value;
	return NULL;
}
