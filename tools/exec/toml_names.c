#include "tools/exec/toml_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum kind {
	VALUE,  /* nothing is added to it, be it a table or an array */
	PATH,   /* a table that headers below it have made */
	TABLE,  /* one that has had its header, or an item of an array */
	DOTTED, /* one that dotted keys have made */
	ARRAY,  /* of tables */
};

struct name {
	struct view part;
	enum kind kind;
	int in;
	int more; /* DOTTED: below which section; ARRAY: its newest item */
};

struct toml_names {
	struct name *list;
	int n, cap;
	int *slots; /* index + 1, by table and part; twice as many as cap */
	int section;
	bool lost; /* no memory: nothing can be said any more */
};

static size_t hash(const struct toml_names *n, int in, struct view part)
{
	uint64_t h = 14695981039346656037U + (uint64_t)in;

	for (size_t i = 0; i < part.n; i++)
		h = (h ^ (unsigned char)part.p[i]) * 1099511628211U;
	return (size_t)(h ^ (h >> 32)) & (2 * (size_t)n->cap - 1);
}

/* Where it is, or where it would be. */
static int *slot_of(const struct toml_names *n, int in, struct view part)
{
	size_t at = hash(n, in, part);

	while (n->slots[at] > 0) {
		const struct name *name = &n->list[n->slots[at] - 1];

		if (name->in == in && view_eq(name->part, part))
			break;
		at = (at + 1) & (2 * (size_t)n->cap - 1);
	}
	return &n->slots[at];
}

static int grow(struct toml_names *n)
{
	int cap = n->cap > 0 ? 2 * n->cap : 64;
	struct name *list = realloc(n->list, (size_t)cap * sizeof(*list));
	int *slots = calloc((size_t)cap * 2, sizeof(*slots));

	if (list)
		n->list = list;
	if (!list || !slots) {
		free(slots);
		return -1;
	}
	free(n->slots);
	n->slots = slots;
	n->cap = cap;
	for (int i = 0; i < n->n; i++)
		if (n->list[i].part.p)
			*slot_of(n, n->list[i].in, n->list[i].part) = i + 1;
	return 0;
}

static int make(struct toml_names *n, int in, struct view part, enum kind kind)
{
	if (n->n == n->cap && grow(n) < 0) {
		n->lost = true;
		return TOML_DOCUMENT;
	}
	n->list[n->n] = (struct name){ .part = part, .kind = kind, .in = in };
	if (part.p)
		*slot_of(n, in, part) = n->n + 1;
	return n->n++;
}

struct toml_names *toml_names_open(void)
{
	struct toml_names *n = calloc(1, sizeof(*n));

	if (n && grow(n) < 0)
		toml_names_close(&n);
	if (n)
		(void)make(n, -1, VIEW_NONE, TABLE);
	return n;
}

void toml_names_close(struct toml_names **n)
{
	if (!*n)
		return;
	free((*n)->list);
	free((*n)->slots);
	free(*n);
	*n = NULL;
}

static int item_of(struct toml_names *n, int array)
{
	int item = make(n, array, VIEW_NONE, TABLE);

	n->list[array].more = item;
	return item;
}

static int add_new(struct toml_names *n, int in, struct view part, enum toml_use use)
{
	static const enum kind kinds[] = { DOTTED, PATH, VALUE, TABLE, ARRAY };
	int at = make(n, in, part, kinds[use]);

	if (use == TOML_ITEM)
		return item_of(n, at);
	if (use == TOML_THROUGH)
		n->list[at].more = n->section;
	return at;
}

int toml_names_add(struct toml_names *n, int in, struct view part, enum toml_use use)
{
	struct name *name;
	int at;

	if (!n || n->lost)
		return TOML_DOCUMENT;
	at = part.p ? *slot_of(n, in, part) - 1 : -1;
	if (at < 0)
		return add_new(n, in, part, use);
	name = &n->list[at];
	switch (use) {
	/* Whether one that only headers below it have made may be added to is read both ways. */
	case TOML_THROUGH:
		return name->kind == PATH || (name->kind == DOTTED && name->more == n->section)
		               ? at
		               : -1;
	case TOML_DOWN: return name->kind == VALUE ? -1 : name->kind == ARRAY ? name->more : at;
	case TOML_VALUE: return -1;
	case TOML_ITEM: return name->kind == ARRAY ? item_of(n, at) : -1;
	case TOML_TABLE: break;
	}
	if (name->kind != PATH)
		return -1;
	name->kind = TABLE;
	return at;
}

int toml_names_section(struct toml_names *n, int table)
{
	int before = n ? n->section : TOML_DOCUMENT;

	if (n)
		n->section = table;
	return before;
}
