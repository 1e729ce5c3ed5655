/* tools/exec/namespace.h: the outer layer of the fence, made by bubblewrap.
 *
 * The program goes on in namespaces of its own (mount, PID, network, IPC, UTS, user where it can be
 * had), without capabilities, in a new session, and dies with its parent. It sees what is named and
 * nothing else: the parts of the system (tools/exec/system.h) read-only, a private /tmp, /var/tmp,
 * /dev/shm, /proc and /dev, and the folders of the plan at their own paths. */
#ifndef TOOLS_EXEC_NAMESPACE_H
#define TOOLS_EXEC_NAMESPACE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define NAMESPACE_FOLDERS 64
#define NAMESPACE_ARGV    4096 /* arguments at most */

struct namespace_folder {
	const char *path; /* absolute and real */
	enum { NAMESPACE_READ, NAMESPACE_WRITE, NAMESPACE_HIDE } how;
};

struct namespace_plan {
	const char *start; /* where the program begins; in one of the folders */
	/* One that is not there is left out. */
	struct namespace_folder folders[NAMESPACE_FOLDERS];
	int n;
	bool programs; /* what programs need besides themselves: devices, names, /tmp... */
	bool network;  /* the machine's own network */
	bool open;     /* the whole system is there, read-only, and what is hidden is not */
};

int namespace_add(struct namespace_plan *p, const char *path, int how, struct err *e);

/* This program goes on in the namespaces, with these arguments (argv[0] is the first after its
 * name). Descriptors without close-on-exec and the environment are handed on, and two more that are
 * to be closed. Returns only when it fails before bubblewrap runs; what bubblewrap itself fails at,
 * it tells on stderr, with exit code 1. */
int namespace_exec(struct namespace_plan *p, const char *const argv[], struct err *e);

/* A file in memory that is handed on, to be read from its beginning; -1 with errno. */
int namespace_file(const char *name, struct view content);

/* Tries it with this plan, for good: 0, or -1 with what bubblewrap said. */
int namespace_probe(struct namespace_plan *p, struct err *e);

#endif
