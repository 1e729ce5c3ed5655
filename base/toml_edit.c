/* Changing one key of a TOML text; every other byte stays. */
#include <string.h>

#include "base/text.h"
#include "base/toml-private.h"

/* Where things stand in the text, as byte offsets. */
struct spot {
	bool found;                /* the key is set: */
	size_t line_from, line_to; /* its lines, the newline included */
	size_t value_from, value_to;
	bool table_found;
	size_t table_end; /* behind the last key of its table */
};

static size_t line_end(struct view text, size_t at)
{
	const char *nl = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;

	return nl ? (size_t)(nl - text.p) + 1 : text.n;
}

/* Reads over one "key = value" at s->p and notes it when it is the wanted one. */
static int visit_key(struct toml *t, struct scanner *s, struct str *key, const char *dotted,
	struct spot *spot, struct err *e)
{
	struct toml_value v;
	size_t from = (size_t)(s->p - s->begin);

	if (toml_scan_key(s, key, e) < 0)
		return -1;
	toml_skip_blank(s);
	s->p++; /* '=': the text was read as a whole before */
	toml_skip_blank(s);
	size_t value_from = (size_t)(s->p - s->begin);
	if (toml_scan_value(t, s, &v, e) < 0)
		return -1;
	if (!strcmp(str_cstr(key), dotted)) {
		spot->found = true;
		spot->line_from = from;
		spot->value_from = value_from;
		spot->value_to = (size_t)(s->p - s->begin);
	}
	return 0;
}

/* Walks a text that toml_read has accepted. */
static int find_spot(struct view text, const char *dotted, struct view table, struct spot *spot,
	struct err *e)
{
	struct scanner s = toml_scanner(text);
	struct str name = STR_INIT(512), key = STR_INIT(1024);
	struct toml *hold = NULL;
	int rc = toml_read(&hold, VIEW_NONE, e);

	memset(spot, 0, sizeof(*spot));
	spot->table_found = table.n == 0;
	while (rc == 0 && s.p < s.end) {
		size_t at = (size_t)(s.p - s.begin);

		toml_skip_blank(&s);
		char c = s.p < s.end ? *s.p : '\n';
		if (c == '[') {
			rc = toml_scan_table(&s, &name, e);
			if (view_eq(str_view(&name), table)) {
				spot->table_found = true;
				spot->table_end = (size_t)(s.p - s.begin);
			}
			continue;
		}
		if (c != '#' && c != '\n' && c != '\r') {
			str_reset(&key);
			if (name.n)
				str_addf(&key, "%s.", str_cstr(&name));
			bool had = spot->found;
			rc = visit_key(hold, &s, &key, dotted, spot, e);
			at = (size_t)(s.p - s.begin);
			if (spot->found && !had)
				spot->line_to = line_end(text, at);
			if (view_eq(str_view(&name), table))
				spot->table_end = line_end(text, at);
		}
		s.p = s.begin + line_end(text, at);
	}
	toml_free(&hold);
	str_release(&name);
	str_release(&key);
	return rc;
}

/* A new line for the key at the end of its table, or with a table of its own at the end. */
static void insert(struct view text, struct view table, const char *last, struct view value,
	const struct spot *spot, struct str *out)
{
	size_t at = spot->table_found ? spot->table_end : text.n;

	str_add(out, view_cut(text, at));
	if (at && text.p[at - 1] != '\n')
		str_addc(out, '\n');
	if (!spot->table_found)
		str_addf(out, "%s[%.*s]\n", at ? "\n" : "", VIEW_FMT(table));
	str_addf(out, "%s = ", last);
	str_add(out, value);
	str_addc(out, '\n');
	str_add(out, view_from(text, at));
}

int toml_edit(struct view text, const char *dotted, struct view value, struct str *out,
	struct err *e)
{
	const char *dot = strrchr(dotted, '.');
	struct view table = dot ? (struct view){ dotted, (size_t)(dot - dotted) } : VIEW_NONE;
	struct toml *check = NULL;
	struct spot spot;

	if (toml_read(&check, text, e) < 0)
		return -1;
	toml_free(&check);
	if (find_spot(text, dotted, table, &spot, e) < 0)
		return -1;
	if (!value.p) {
		str_add(out, view_cut(text, spot.found ? spot.line_from : text.n));
		if (spot.found)
			str_add(out, view_from(text, spot.line_to));
	} else if (spot.found) {
		str_add(out, view_cut(text, spot.value_from));
		str_add(out, value);
		str_add(out, view_from(text, spot.value_to));
	} else {
		insert(text, table, dot ? dot + 1 : dotted, value, &spot, out);
	}
	return str_ok(out) ? 0 : err_set(e, E_FULL, "the file would be too large");
}

int toml_write_string(struct view v, struct str *out)
{
	static const char plain[] = "\b\t\n\f\r\"\\", code[] = "btnfr\"\\";

	if (!utf8_valid(v))
		return -1;
	str_addc(out, '"');
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];
		const char *hit = c ? strchr(plain, c) : NULL;

		if (!c)
			return -1;
		if (hit)
			str_addf(out, "\\%c", code[hit - plain]);
		else if (c < 0x20 || c == 0x7f)
			str_addf(out, "\\u%04x", c);
		else
			str_addc(out, (char)c);
	}
	return str_addc(out, '"');
}
