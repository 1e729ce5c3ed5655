/* A private folder for one test, removed with everything in it. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remove_tree.h"

struct scratch {
	char dir[64];
	char path[4][512]; /* what scratch_path gives out, in turn */
	unsigned int next;
};

static inline void scratch_make(struct scratch *s)
{
	const char *tmp = getenv("TMPDIR");
	char *real = realpath(tmp ? tmp : "/tmp", NULL);

	memset(s, 0, sizeof(*s));
	if (!real || snprintf(s->dir, sizeof(s->dir), "%s/kairo-XXXXXX", real) >= 64 ||
		!mkdtemp(s->dir))
		abort();
	free(real);
}

static inline const char *scratch_path(struct scratch *s, const char *name)
{
	char *p = s->path[s->next++ % 4];
	size_t n = strlen(s->dir), m = strlen(name);

	if (n + 1 + m >= sizeof(s->path[0]))
		abort();
	memcpy(p, s->dir, n);
	p[n] = '/';
	memcpy(p + n + 1, name, m + 1);
	return p;
}

static inline void scratch_remove(struct scratch *s)
{
	if (remove_tree(s->dir) < 0)
		perror(s->dir);
}

#endif
