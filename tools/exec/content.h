/* tools/exec/content.h: a whole text file, bounded. */
#ifndef TOOLS_EXEC_CONTENT_H
#define TOOLS_EXEC_CONTENT_H

#include "tools/exec/root.h"

#define CONTENT_FILE_MAX ((size_t)5 << 20)

/* Appends the regular file with one link at p to out; st, unless NULL, is of what was read. -1: it
 * has more than CONTENT_FILE_MAX bytes, or a NUL byte, or cannot be read. */
int content_read(struct str *out, const struct place *p, struct stat *st, struct err *e);

#endif
