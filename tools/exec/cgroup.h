/* tools/exec/cgroup.h: a control group around programs and all that comes of them, for where there
 * are no namespaces but our own group is ours to divide (systemd leaves a user's units theirs). It
 * is killed at one stroke, and limited in number where the kernel counts for it. */
#ifndef TOOLS_EXEC_CGROUP_H
#define TOOLS_EXEC_CGROUP_H

#include <stdbool.h>

struct cgroup {
	bool made;
	int above, dir;
	char name[40];
};

/* g->made tells whether there is one. processes: at most so many; 0: any number. */
void cgroup_make(struct cgroup *g, int processes);
/* All of the following do nothing where none was made. */
void cgroup_enter(const struct cgroup *g); /* by who is to be in it; its children follow */
void cgroup_kill(const struct cgroup *g);
void cgroup_remove(struct cgroup *g); /* once it is empty */

#endif
