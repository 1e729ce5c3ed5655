/* base/toml: what is read keeps its promises, and an edit changes one value and nothing else.
 * The input: a text, and behind bytes 0x1e a key and a value for the edit. */
#include "fuzz.h"

#include "base/text.h"
#include "base/toml.h"

#include <string.h>

#define OUT_MAX (2 * TOML_FILE_MAX + 4096)

static struct view next_part(struct view *rest)
{
	size_t at = view_find(*rest, '\x1e');
	struct view part = view_cut(*rest, at);

	*rest = at < rest->n ? view_from(*rest, at + 1) : VIEW_NONE;
	return part;
}

static bool is_key(const char *key)
{
	static const char bare[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

	for (;;) {
		size_t n = strspn(key, bare);

		if (n == 0)
			return false;
		if (key[n] != '.')
			return key[n] == '\0';
		key += n + 1;
	}
}

static void check_value(const struct toml_value *v)
{
	must(v->line >= 1 && v->col >= 1);
	if (v->type == TOML_STRING)
		must(v->s && utf8_valid(view_of(v->s)));
	if (v->type != TOML_ARRAY)
		return;
	must(v->items && !v->items[v->nitems] && v->nitems <= TOML_ITEMS_MAX);
	for (size_t i = 0; i < v->nitems; i++)
		must(v->items[i] && utf8_valid(view_of(v->items[i])));
}

static bool same(const struct toml_value *a, const struct toml_value *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case TOML_STRING: return !strcmp(a->s, b->s);
	case TOML_INT: return a->i == b->i;
	case TOML_BOOL: return a->b == b->b;
	default: break;
	}
	if (a->nitems != b->nitems)
		return false;
	for (size_t i = 0; i < a->nitems; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return true;
}

static bool is_placed(const struct err *e)
{
	int line = 0, col = 0, n = 0;

	return e->code == E_FORMAT && sscanf(e->msg, "%d:%d: %n", &line, &col, &n) == 2 && n > 0 &&
	       line >= 1 && col >= 1;
}

static struct toml *read_text(struct view text)
{
	struct err e = ERR_INIT;
	struct toml *t = NULL;

	if (toml_read(&t, text, &e) < 0) {
		must(!t && is_placed(&e));
		return NULL;
	}
	must(toml_count(t) <= TOML_KEYS_MAX);
	for (size_t i = 0; i < toml_count(t); i++) {
		const struct toml_value *v = toml_at(t, i);

		must(is_key(toml_key(t, i)) && toml_get(t, toml_key(t, i)) == v);
		must(v->key_line >= 1 && v->key_col >= 1 && v->key_line <= v->line);
		check_value(v);
	}
	return t;
}

/* Every key but this one is in both, with the same value, in the same order. */
static void check_others(const struct toml *a, const struct toml *b, const char *key)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		if (i < toml_count(a) && !strcmp(toml_key(a, i), key))
			i++;
		if (j < toml_count(b) && !strcmp(toml_key(b, j), key))
			j++;
		if (i >= toml_count(a) || j >= toml_count(b))
			break;
		must(!strcmp(toml_key(a, i), toml_key(b, j)));
		must(same(toml_at(a, i), toml_at(b, j)));
	}
	must(i >= toml_count(a) && j >= toml_count(b));
}

/* The shorter one is the longer one with a piece taken out of it. */
static void check_piece(struct view shorter, struct view longer)
{
	size_t head = 0, tail = 0;

	while (head < shorter.n && shorter.p[head] == longer.p[head])
		head++;
	while (tail < shorter.n && shorter.p[shorter.n - 1 - tail] == longer.p[longer.n - 1 - tail])
		tail++;
	must(longer.n >= shorter.n && head + tail >= shorter.n);
}

static void check_removal(const struct toml *before, struct view text, const char *key)
{
	struct str out = STR_INIT(OUT_MAX);
	struct err e = ERR_INIT;

	must(toml_edit(text, key, VIEW_NONE, &out, &e) == 0);
	check_piece(str_view(&out), text);
	struct toml *after = read_text(str_view(&out));
	must(after && !toml_get(after, key));
	check_others(before, after, key);
	toml_free(&after);
	str_release(&out);
}

static void check_edit(const struct toml *t, struct view text, const char *key, struct view value)
{
	struct str out = STR_INIT(OUT_MAX);
	struct toml *hold = NULL, *after = NULL;
	struct toml_value v;
	struct err e = ERR_INIT;
	int value_rc = toml_read_value(&hold, &v, value, &e);

	if (value_rc == 0)
		check_value(&v);
	else
		must(is_placed(&e));
	if (toml_edit(text, key, value, &out, &e) < 0) {
		must(out.n == 0 && e.code == E_FORMAT);
		/* A key that is there takes any value the file has room for. */
		must(!toml_get(t, key) || value_rc < 0 || text.n + value.n > TOML_FILE_MAX);
		goto out;
	}
	must(value_rc == 0 && is_key(key));
	after = read_text(str_view(&out));
	must(after && toml_get(after, key) && same(toml_get(after, key), &v));
	check_others(t, after, key);
	if (!toml_get(t, key))
		check_piece(text, str_view(&out));
	check_removal(after, str_view(&out), key);
out:
	toml_free(&hold);
	toml_free(&after);
	str_release(&out);
}

static void check_round_trip(struct view v)
{
	struct str s = STR_INIT(6 * v.n + 2);
	struct toml *hold = NULL;
	struct toml_value back;

	if (toml_write_string(v, &s) < 0) {
		must(!utf8_valid(v) || view_find(v, '\0') < v.n);
	} else if (s.n <= TOML_FILE_MAX) {
		must(toml_read_value(&hold, &back, str_view(&s), NULL) == 0);
		must(back.type == TOML_STRING && view_eqs(v, back.s));
	}
	toml_free(&hold);
	str_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view rest = { (const char *)data, size };
	struct view text = next_part(&rest), name = next_part(&rest), value = next_part(&rest);
	char key[2000] = "model.name";
	struct toml *t = read_text(text);

	if (name.n > 0 && copy_z(key, sizeof(key), name) < 0)
		(void)copy_z(key, sizeof(key), VIEW("a"));
	if (t) {
		if (toml_count(t) > 0 && view_eqs(name, "?"))
			(void)copy_z(key, sizeof(key), view_of(toml_key(t, toml_count(t) / 2)));
		check_edit(t, text, key, value.p ? value : VIEW("\"new\""));
	}
	toml_free(&t);
	check_round_trip(text);
	check_round_trip(value);
	return 0;
}
