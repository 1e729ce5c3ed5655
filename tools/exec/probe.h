/* tools/exec/probe.h: what can confine tools on this machine, found out by doing it.
 *
 * Prints one line: {"namespaces":BOOL,"why":TEXT,"landlock":N,"seccomp":BOOL,"cgroup":BOOL};
 * why there are no namespaces, in bubblewrap's words. */
#ifndef TOOLS_EXEC_PROBE_H
#define TOOLS_EXEC_PROBE_H

int probe_main(const char *workspace);

#endif
