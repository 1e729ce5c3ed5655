/* tools/host/vector.h: the vector of a program that the operator has set up, with its places filled
 * in, and the folders that it names. Inside the room only. */
#ifndef TOOLS_HOST_VECTOR_H
#define TOOLS_HOST_VECTOR_H

#include <stddef.h>

#include "base/err.h"
#include "base/file.h"
#include "tools/host/registry-private.h"

#define VECTOR_WORDS_MAX   64
#define VECTOR_FOLDERS_MAX READ_PATHS_MAX

struct vector {
	char *words[VECTOR_WORDS_MAX + 1];
	char path[PATH_SIZE]; /* of the program */
	const char *read[VECTOR_FOLDERS_MAX + 1];
	char *own[VECTOR_FOLDERS_MAX]; /* of those, ours to free */
	size_t nwords, nread, nown;
};

/* v: zeroed. Links are resolved, so that what they lead to now is what will be there; what lies in
 * the workspace, in Kairo's folder or above them is refused. Released on failure too. */
int vector_fill(struct vector *v, const struct tools *t, const char *const *argv, const char *file,
	const char *out, struct err *e);
void vector_release(struct vector *v);

#endif
