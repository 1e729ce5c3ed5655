/* tools/exec/fence-private.h: the layers that fence.c puts together. */
#ifndef TOOLS_EXEC_FENCE_PRIVATE_H
#define TOOLS_EXEC_FENCE_PRIVATE_H

#include "tools/exec/fence.h"

/* The version in force; 0: there is none, or it would not take the rules. */
int landlock_enter(const struct fence_plan *plan);

/* landlock: what holds already. False: no filter is in force. */
bool seccomp_enter(const struct fence_plan *plan, int landlock);

#endif
