/* tools/exec/scratch.h: where programs have their temporary files: /tmp of the namespaces, or,
 * where there are none, a folder of their own in the machine's /tmp, removed at the end. */
#ifndef TOOLS_EXEC_SCRATCH_H
#define TOOLS_EXEC_SCRATCH_H

#include <stdbool.h>

#include "base/err.h"

#define SCRATCH_SIZE 32

#define SCRATCH_SHARED "/tmp"

int scratch_make(char path[SCRATCH_SIZE], bool own, struct err *e);
/* Only once nobody works in it any more. However deep it lies; no link is followed. */
void scratch_remove(const char *path);

#endif
