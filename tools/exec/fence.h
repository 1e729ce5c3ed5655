/* tools/exec/fence.h: what confines a tool inside its process. The process gives its rights away
 * and cannot get them back. Layers, each probed and each standing alone: limits    resource limits,
 * no core dumps, not dumpable, umask 077, no new privileges landlock  only the roots can be
 * reached: read, or read and write seccomp   only the system calls that file tools need: no
 * sockets, no programs, no signals A layer of namespaces (bubblewrap) goes around the whole process
 * from outside, where it is used. */
#ifndef TOOLS_EXEC_FENCE_H
#define TOOLS_EXEC_FENCE_H

#include <stdbool.h>

#include "base/err.h"
#include "tools/exec/root.h"

struct fence {
	int landlock; /* the version in force; 0: not there */
	bool seccomp;
};

/* For a process that only handles files. With `required`, a kernel without a layer for files is
 * E_UNSUPPORTED, else *out tells what holds. Irreversible, also when it fails. */
int fence_files(const struct roots *roots, bool required, struct fence *out, struct err *e);

/* The first steps of the program itself, ahead of any input. */
void fence_process(void);

#endif
