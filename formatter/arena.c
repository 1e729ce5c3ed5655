/* Memory for one tree of the parser. cmark calls abort() when there is none and frees node by node;
 * from an arena it is faster, has a ceiling, and running out is an error like any other. */
#include "formatter/format-private.h"

#include <cmark.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdlib.h>

#define ARENA_MAX ((size_t)256 << 20) /* of a hostile piece; an honest one needs some megabytes */
#define BLOCK_MIN ((size_t)64 << 10)
#define BLOCK_MAX ((size_t)4 << 20)
#define ALIGN     alignof(max_align_t)

struct block {
	struct block *next;
	size_t size, used;
	alignas(max_align_t) char bytes[];
};

struct arena {
	struct block *first, *now;
	size_t total;
	jmp_buf out;
};

/* cmark's allocator takes no argument of ours: this is set while it runs, and only then. */
static _Thread_local struct arena *busy;

int arena_open(struct arena **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -1;
}

void arena_close(struct arena **a)
{
	struct block *next;

	if (!*a)
		return;
	for (struct block *b = (*a)->first; b; b = next) {
		next = b->next;
		free(b);
	}
	free(*a);
	*a = NULL;
}

static void reset(struct arena *a)
{
	for (struct block *b = a->first; b; b = b->next)
		b->used = 0;
	a->now = a->first;
}

static struct block *new_block(struct arena *a, size_t n)
{
	size_t size = a->now ? 2 * a->now->size : BLOCK_MIN;
	struct block *b;

	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	if (size < n)
		size = n;
	if (size > ARENA_MAX - a->total)
		return NULL;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	a->total += size;
	*b = (struct block){ .next = a->now ? a->now->next : NULL, .size = size };
	if (a->now)
		a->now->next = b;
	else
		a->first = b;
	return b;
}

/* Before each piece of memory stands its size, for realloc. */
static void *take(struct arena *a, size_t n)
{
	struct block *b = a->now;
	size_t need = ALIGN + (n + ALIGN - 1) / ALIGN * ALIGN;
	char *p;

	if (n > ARENA_MAX)
		longjmp(a->out, 1);
	while (b && need > b->size - b->used)
		b = b->next;
	if (!b)
		b = new_block(a, need);
	if (!b)
		longjmp(a->out, 1);
	a->now = b;
	p = b->bytes + b->used;
	b->used += need;
	memcpy(p, &n, sizeof(n));
	return p + ALIGN;
}

static void *mem_calloc(size_t n, size_t size)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(n, size, &all))
		longjmp(busy->out, 1);
	p = take(busy, all);
	memset(p, 0, all);
	return p;
}

static void *mem_realloc(void *old, size_t n)
{
	size_t had = 0;
	void *p;

	if (old)
		memcpy(&had, (char *)old - ALIGN, sizeof(had));
	if (old && n <= had)
		return old;
	p = take(busy, n);
	if (old)
		memcpy(p, old, had);
	return p;
}

static void mem_free(void *p)
{
	(void)p;
}

struct cmark_node *arena_parse(struct arena *a, struct view md)
{
	static cmark_mem mem = { mem_calloc, mem_realloc, mem_free };
	struct cmark_node *root = NULL;

	reset(a);
	busy = a;
	if (setjmp(a->out) == 0) {
		cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &mem);

		cmark_parser_feed(parser, md.p, md.n);
		root = cmark_parser_finish(parser);
	}
	busy = NULL;
	return root;
}
