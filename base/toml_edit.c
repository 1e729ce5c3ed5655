/* Changing one key of a TOML text; every other byte stays. */
#include <string.h>

#include "base/text.h"
#include "base/toml-private.h"

/* Where things stand in the text, as byte offsets. */
struct spot {
	bool found;                /* the key is set: */
	size_t line_from, line_to; /* its lines, the newline included */
	size_t value_from, value_to;
	/* Where a new key may go: behind the last one of its table; or, when that has no header but
	 * is made of dotted keys, behind the last of these. */
	bool place;
	size_t place_at;
	size_t header_len; /* of the header that is in force there, in bytes of the full key */
};

struct search {
	struct view key, table; /* what is looked for */
	struct spot spot;
};

static size_t line_end(struct view text, size_t at)
{
	const char *nl = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;

	return nl ? (size_t)(nl - text.p) + 1 : text.n;
}

static size_t offset(const struct scanner *s)
{
	return (size_t)(s->p - s->begin);
}

static void note_place(struct search *q, size_t header_len, size_t at)
{
	q->spot.place = true;
	q->spot.place_at = at;
	q->spot.header_len = header_len;
}

/* Does the key stand in the table that is looked for, without that table having a header? */
static bool is_kin(const struct search *q, struct view header, struct view key)
{
	return header.n < q->table.n && view_starts(key, q->table) && key.n > q->table.n &&
	       key.p[q->table.n] == '.';
}

/* Over one "key = value" and the rest of its line. */
static int visit_key(struct search *q, struct toml *hold, struct scanner *s, struct view text,
	struct view header, struct err *e)
{
	size_t from = offset(s);
	struct str key = STR_INIT(1024);
	struct toml_value v;
	int rc = -1;

	toml_skip_blank(s);
	if (header.n && (str_add(&key, header) < 0 || str_addc(&key, '.') < 0)) {
		err_set(e, E_NOMEM, "out of memory");
		goto out;
	}
	if (toml_scan_key(s, &key, e) < 0)
		goto out;
	toml_skip_blank(s);
	s->p++; /* '=': the text was read as a whole before */
	toml_skip_blank(s);
	size_t value_from = offset(s);
	if (toml_scan_value(hold, s, &v, e) < 0)
		goto out;
	size_t end = line_end(text, offset(s));
	if (view_eq(str_view(&key), q->key)) {
		q->spot.found = true;
		q->spot.line_from = from;
		q->spot.line_to = end;
		q->spot.value_from = value_from;
		q->spot.value_to = offset(s);
	}
	if (view_eq(header, q->table) || is_kin(q, header, str_view(&key)))
		note_place(q, header.n, end);
	s->p = s->begin + end;
	rc = 0;
out:
	str_release(&key);
	return rc;
}

/* Walks a text that toml_read has accepted. */
static int search(struct search *q, struct view text, struct err *e)
{
	struct scanner s = toml_scanner(text);
	struct str header = STR_INIT(512);
	struct toml *hold = NULL;
	int rc = toml_read(&hold, VIEW_NONE, e);

	if (!q->table.n)
		note_place(q, 0, 0);
	while (rc == 0 && s.p < s.end) {
		struct scanner ahead = s;

		toml_skip_blank(&ahead);
		char c = ahead.p < ahead.end ? *ahead.p : '\n';
		if (c == '#' || c == '\n' || c == '\r') {
			s.p = s.begin + line_end(text, offset(&s));
		} else if (c == '[') {
			s.p = ahead.p;
			rc = toml_scan_table(&s, &header, e);
			if (view_eq(str_view(&header), q->table))
				note_place(q, header.n, offset(&s));
		} else {
			rc = visit_key(q, hold, &s, text, str_view(&header), e);
		}
	}
	toml_free(&hold);
	str_release(&header);
	return rc;
}

/* A line of its own for the key, where it belongs, else under a new header at the end. */
static void insert(const struct search *q, struct view text, struct view value, struct str *out)
{
	const struct spot *spot = &q->spot;
	size_t at = spot->place ? spot->place_at : text.n;
	size_t skip = spot->place ? spot->header_len : q->table.n;

	str_add(out, view_cut(text, at));
	if (at && text.p[at - 1] != '\n')
		str_addc(out, '\n');
	if (!spot->place) {
		if (at)
			str_addc(out, '\n');
		str_addc(out, '[');
		str_add(out, q->table);
		str_adds(out, "]\n");
	}
	str_add(out, view_from(q->key, skip ? skip + 1 : 0));
	str_adds(out, " = ");
	str_add(out, value);
	str_addc(out, '\n');
	str_add(out, view_from(text, at));
}

static void compose(const struct search *q, struct view text, struct view value, struct str *out)
{
	const struct spot *spot = &q->spot;

	if (!value.p && !spot->found) {
		str_add(out, text);
	} else if (!value.p) {
		str_add(out, view_cut(text, spot->line_from));
		str_add(out, view_from(text, spot->line_to));
	} else if (spot->found) {
		str_add(out, view_cut(text, spot->value_from));
		str_add(out, value);
		str_add(out, view_from(text, spot->value_to));
	} else {
		insert(q, text, value, out);
	}
}

/* The key must be one in full; of the value's text only the value itself is taken. */
static int check_new(const char *dotted, struct view *value, struct err *e)
{
	struct str key = STR_INIT(1024);
	struct scanner s = toml_scanner(view_of(dotted));
	struct toml *hold = NULL;
	struct toml_value v;
	int rc = toml_scan_key(&s, &key, e);

	if (rc == 0 && (s.p != s.end || !view_eqs(str_view(&key), dotted)))
		rc = err_set(e, E_FORMAT, "expected a key of letters, digits, _ and -");
	if (rc == 0 && value->p)
		rc = toml_read_one(&hold, &v, value, e);
	toml_free(&hold);
	str_release(&key);
	return rc;
}

/* What was made must read as well: the key may be a table here, or the limits may be passed. */
static int check_made(const struct str *out, size_t from, size_t need, struct err *e)
{
	struct toml *t = NULL;

	if (!str_ok(out))
		return need > out->max ? err_set(e, E_FULL, "the file would be too large")
		                       : err_set(e, E_NOMEM, "out of memory");
	if (toml_read(&t, view_from(str_view(out), from), e) < 0)
		return -1;
	toml_free(&t);
	return 0;
}

int toml_edit(struct view text, const char *dotted, struct view value, struct str *out,
	struct err *e)
{
	const char *dot = strrchr(dotted, '.');
	struct search q = {
		.key = view_of(dotted),
		.table = dot ? (struct view){ dotted, (size_t)(dot - dotted) } : VIEW_NONE,
	};
	struct toml *t = NULL;
	size_t from = out->n;

	if (check_new(dotted, &value, e) < 0 || toml_read(&t, text, e) < 0)
		return -1;
	toml_free(&t);
	if (search(&q, text, e) < 0)
		return -1;
	compose(&q, text, value, out);
	if (check_made(out, from, from + text.n + 2 * q.key.n + value.n + 8, e) == 0)
		return 0;
	str_truncate(out, from);
	return -1;
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
