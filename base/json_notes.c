/* What the gate leaves to the reading: a rewritten copy where one is needed, and whether every name
 * stands once in its object. */
#include "base/json-private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- The copy -------------------------------------------------------------------------------- */

/* No rewriting makes more than three bytes of one. A text of usual size is copied on the stack: to
 * malloc a large block between trees of small ones costs more than the copying, since it first
 * sorts all that it holds. */
int json_copy_begin(struct json_copy *c, size_t bytes)
{
	c->cap = bytes * 3;
	c->p = c->cap <= sizeof(c->small) ? c->small : malloc(c->cap);
	return c->p ? 0 : -1;
}

void json_copy_add(struct json_copy *c, struct view v)
{
	assert(v.n <= c->cap - c->n);
	memcpy(c->p + c->n, v.p, v.n);
	c->n += v.n;
}

/* --- Names ----------------------------------------------------------------------------------- */

/* The names of all open objects stand on one stack, as they are written. Names with escapes or
 * repairs say little that way: then, and only then, the finished tree is looked through. */

#define FEW  12   /* names compared as they come; where there are more, all are sorted at the end */
#define MANY 1000 /* from here on looking each up is so much quicker that it is worth its memory */

static bool same(struct view a, struct view b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

void json_names_open(struct json_names *s)
{
	s->seen[s->depth] = 0;
	s->first[s->depth++] = s->n;
}

static int grow(struct json_names *s)
{
	size_t cap = s->cap ? s->cap * 2 : 64;
	struct view *v = realloc(s->v, cap * sizeof(*v));

	if (!v)
		return -1;
	s->v = v;
	s->cap = cap;
	return 0;
}

/* One bit of 64 for a name: as long as no bit comes twice, no name does. */
static uint64_t bit_of(struct view name)
{
	size_t last = name.n > 0 ? name.n - 1 : 0;
	unsigned mix = (unsigned)name.n * 7;

	if (name.n > 0)
		mix += (unsigned char)name.p[0] + 5U * (unsigned char)name.p[last] +
		       3U * (unsigned char)name.p[last / 2];
	return (uint64_t)1 << (mix & 63);
}

int json_names_add(struct json_names *s, struct view name)
{
	size_t first = s->first[s->depth - 1];
	uint64_t *seen = &s->seen[s->depth - 1], bit = bit_of(name);

	if (s->n == s->cap && grow(s) < 0)
		return -1;
	if ((*seen & bit) && s->n - first < FEW) {
		for (size_t i = first; i < s->n; i++) {
			if (same(s->v[i], name))
				return 1;
		}
	}
	*seen |= bit;
	s->v[s->n++] = name;
	return 0;
}

static int by_length(const void *a, const void *b)
{
	const struct view *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return memcmp(x->p, y->p, x->n);
}

static uint64_t hash(struct view name)
{
	uint64_t h = name.n, part;

	for (size_t n; name.n > 0; name = view_from(name, n)) {
		n = name.n < sizeof(part) ? name.n : sizeof(part);
		part = 0;
		memcpy(&part, name.p, n);
		h = (h ^ part) * 0x9e3779b97f4a7c15U;
		h ^= h >> 32;
	}
	return h;
}

/* Looks each name up among those before it. 1: one stands there twice; 0: none does; -1: this way
 * it does not come out, for want of memory or because the names are made to get in each other's
 * way. */
static int look_up(const struct view *v, size_t n, struct view *which)
{
	size_t size = 1, tries = 8 * n;
	uint32_t *slots; /* the number of a name, from 1 */
	int rc = 0;

	while (size < 2 * n)
		size *= 2;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -1;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		size_t at = hash(v[i]) & (size - 1);

		for (; rc == 0 && slots[at] > 0; at = (at + 1) & (size - 1)) {
			if (same(v[slots[at] - 1], v[i]))
				rc = 1;
			else if (tries-- == 0)
				rc = -1;
		}
		slots[at] = (uint32_t)i + 1;
		*which = v[i];
	}
	free(slots);
	return rc;
}

bool json_names_twice(struct view *v, size_t n, struct view *which)
{
	int found = n < MANY ? -1 : look_up(v, n, which);

	if (found >= 0)
		return found;
	qsort(v, n, sizeof(*v), by_length);
	for (size_t i = 1; i < n; i++) {
		if (same(v[i - 1], v[i])) {
			*which = v[i - 1].p > v[i].p ? v[i - 1] : v[i];
			return true;
		}
	}
	return false;
}

bool json_names_close(struct json_names *s, struct view *which)
{
	size_t first = s->first[--s->depth], n = s->n - first;

	s->n = first;
	return n > FEW && json_names_twice(s->v + first, n, which);
}

/* --- Both ------------------------------------------------------------------------------------ */

/* Field by field: most of it needs no beginning. */
void json_notes_init(struct json_notes *notes)
{
	notes->copy.p = NULL;
	notes->copy.n = notes->copy.cap = 0;
	notes->names.v = NULL;
	notes->names.n = notes->names.cap = 0;
	notes->names.depth = 0;
	notes->names.unsure = false;
	notes->no_memory = false;
}

void json_notes_release(struct json_notes *notes)
{
	if (notes->copy.p != notes->copy.small)
		free(notes->copy.p);
	free(notes->names.v);
	json_notes_init(notes);
}
