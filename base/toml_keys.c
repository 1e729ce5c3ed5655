/* May these keys and tables stand in one text? (TOML 1.0, "Keys" and "Table") */
#include <stdlib.h>

#include "base/toml-private.h"

/* A dot comes before everything else, so that what lies below a name follows it at once. */
static int rank(char c)
{
	return c == '.' ? 0 : (unsigned char)c;
}

static int compare(struct view a, struct view b)
{
	for (size_t i = 0; i < a.n && i < b.n; i++)
		if (a.p[i] != b.p[i])
			return rank(a.p[i]) - rank(b.p[i]);
	return (a.n > b.n) - (a.n < b.n);
}

static int by_name(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	return compare(view_of((*x)->key), view_of((*y)->key));
}

static bool lies_below(const char *inner, const char *outer)
{
	struct view in = view_of(inner), out = view_of(outer);

	return view_starts(in, out) && in.n > out.n && in.p[out.n] == '.';
}

static bool is_before(const struct entry *a, const struct entry *b)
{
	if (a->value.key_line != b->value.key_line)
		return a->value.key_line < b->value.key_line;
	return a->value.key_col < b->value.key_col;
}

static int conflict(const struct entry *a, const struct entry *b, struct err *e)
{
	const struct entry *first = is_before(a, b) ? a : b;
	const struct entry *second = first == a ? b : a;

	return err_set(e, E_FORMAT, "%d:%d: %s is set twice, first in line %d",
		second->value.key_line, second->value.key_col, second->key, first->value.key_line);
}

static const struct entry *find(struct entry *const *list, size_t n, struct view name)
{
	while (n > 0) {
		size_t mid = n / 2;
		int c = compare(name, view_of(list[mid]->key));

		if (c == 0)
			return list[mid];
		if (c > 0) {
			list += mid + 1;
			n -= mid + 1;
		} else {
			n = mid;
		}
	}
	return NULL;
}

/* The dotted key a.b.c makes the tables a and a.b: these may not have a header of their own. */
static int check_dots(const struct entry *en, struct entry *const *all, size_t n, struct err *e)
{
	for (size_t at = en->table_len + 1; en->key[at]; at++) {
		const struct entry *table;

		if (en->key[at] == '.' && (table = find(all, n, (struct view){ en->key, at })))
			return conflict(en, table, e);
	}
	return 0;
}

int toml_check_keys(const struct toml *t, struct err *e)
{
	size_t n = t->n + t->ntables;
	struct entry **all = calloc(n + 1, sizeof(struct entry *));
	int rc = 0;

	if (!all)
		return err_set(e, E_NOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		all[i] = i < t->n ? &t->entries[i] : &t->tables[i - t->n];
	qsort(all, n, sizeof(struct entry *), by_name);
	/* No name twice, none that is a value and has others below it. */
	for (size_t i = 1; rc == 0 && i < n; i++)
		if (compare(view_of(all[i - 1]->key), view_of(all[i]->key)) == 0 ||
			(all[i - 1]->is_value && lies_below(all[i]->key, all[i - 1]->key)))
			rc = conflict(all[i - 1], all[i], e);
	for (size_t i = 0; rc == 0 && i < t->n; i++)
		rc = check_dots(&t->entries[i], all, n, e);
	free(all);
	return rc;
}
