#include "agent/react/progress.h"

#include <string.h>

#define FNV_START 14695981039346656037U
#define FNV_PRIME 1099511628211U

static uint64_t hash(uint64_t h, struct view v)
{
	for (size_t i = 0; i < v.n; i++)
		h = (h ^ (unsigned char)v.p[i]) * FNV_PRIME;
	return h;
}

static uint64_t hash_call(const char *name, struct view args)
{
	uint64_t h = hash(FNV_START, view_of(name));

	return hash(h * FNV_PRIME, args);
}

/* Where it is remembered, or PROGRESS_CALLS. */
static unsigned find(const struct progress *p, uint64_t call)
{
	unsigned n = p->n < PROGRESS_CALLS ? p->n : PROGRESS_CALLS;

	for (unsigned i = 0; i < n; i++)
		if (p->seen[i].call == call)
			return i;
	return PROGRESS_CALLS;
}

int progress_same(const struct progress *p, const char *name, struct view args)
{
	unsigned i = find(p, hash_call(name, args));

	return i < PROGRESS_CALLS ? p->seen[i].same : 0;
}

int progress_note(struct progress *p, const char *name, struct view args, struct view result)
{
	uint64_t call = hash_call(name, args), what = hash(FNV_START, result);
	unsigned i = find(p, call);

	if (i == PROGRESS_CALLS) {
		i = p->n++ % PROGRESS_CALLS; /* the oldest is forgotten */
		memset(&p->seen[i], 0, sizeof(p->seen[i]));
		p->seen[i].call = call;
	}
	if (p->seen[i].same > 0 && p->seen[i].result != what)
		p->seen[i].same = 0;
	p->seen[i].result = what;
	return ++p->seen[i].same;
}
