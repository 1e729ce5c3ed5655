/* tools/exec/supervise.h: one child and all that comes of it, on a lifeline.
 *
 * The lifeline is the read end of a pipe that the daemon holds. When it ends, by its closing or by
 * the daemon's death, the whole tree goes: the child is asked by TERM, and after a short grace all
 * descendants are killed, those that left the process group too (they fall to us: subreaper). */
#ifndef TOOLS_EXEC_SUPERVISE_H
#define TOOLS_EXEC_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "tools/exec/cgroup.h"

#define SUPERVISE_GRACE_MS 300

struct supervise {
	pid_t child;
	int lifeline;        /* only its end is looked at: the child may read from it; -1: none */
	bool inside;         /* in a PID namespace of our own: it is ours to empty */
	int processes;       /* inside: more than these at once end it all; 0: any number */
	struct cgroup group; /* around the child, or none */
	bool overcrowded;    /* out: so it ended */
};

/* The kernel holds root to no number of processes: one who watches root's programs must get his
 * turn however many they are. Handed down to what is run; the child gives it up. */
void supervise_first(void);

/* Should the machine run out of memory, the kernel ends this and all that comes of it ahead of
 * anything else. The child is so in any case; ahead of namespaces it is for all in them, as what is
 * in their /tmp is counted for none and goes with the last of them. */
void supervise_expendable(void);

/* Ahead of the fork. */
int supervise_prepare(struct err *e);
/* In the child: dies with its parent. parent: getpid() before the fork. */
int supervise_child(pid_t parent, struct err *e);
/* In the parent. Returns when no descendant is left, with what the program should exit with: the
 * child's code, 128 + signal, or 143 when the lifeline ended first. */
int supervise_run(struct supervise *s);

#endif
