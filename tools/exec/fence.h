/* tools/exec/fence.h: what confines a tool inside its process. The process gives its rights away
 * and cannot get them back. Layers, each probed and each standing alone:
 *
 *   limits     resource limits, no core dumps, not dumpable, umask 077, no new privileges
 *   landlock   only the roots can be reached: read, or read and write
 *   seccomp    only what the tool needs of the kernel
 *
 * A layer of namespaces (tools/exec/namespace.h) goes around the whole process from outside, where
 * it can be had. */
#ifndef TOOLS_EXEC_FENCE_H
#define TOOLS_EXEC_FENCE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "tools/exec/root.h"

/* Of one call or session of programs, at once; threads count too. */
#define FENCE_PROCESSES 512

enum fence_kind {
	/* Our own code on files: no programs, no sockets, no signals. */
	FENCE_FILES,
	/* Runs programs: those of the system, of the workspace and of the folders to read. The
	 * system is read-only. */
	FENCE_PROGRAMS,
};

struct fence_plan {
	const struct roots *roots;
	enum fence_kind kind;
	bool network;    /* programs may open network sockets */
	bool required;   /* without a layer for files, or seccomp: E_UNSUPPORTED; programs always */
	bool namespaces; /* bubblewrap is around us (tools/exec/namespace.h) */
	pid_t above[2];  /* the supervisor and the daemon: not to be signalled; 0: none */
};

struct fence {
	int landlock; /* the version in force; 0: not there */
	bool seccomp, namespaces;
};

/* *out tells what holds. Irreversible, also when it fails. */
int fence_enter(const struct fence_plan *plan, struct fence *out, struct err *e);

/* The first steps of the program itself, ahead of any input. */
void fence_process(void);

#endif
