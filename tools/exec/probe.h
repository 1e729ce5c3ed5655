/* tools/exec/probe.h: what tools can have on this machine, found out by trying it. */
#ifndef TOOLS_EXEC_PROBE_H
#define TOOLS_EXEC_PROBE_H

/* Prints one line: {"user":N,"namespaces":BOOL,"why":TEXT,"landlock":N,"seccomp":BOOL,"cgroup":BOOL};
 * as whom tools work; why there are no namespaces, in bubblewrap's words. */
int probe_main(const char *workspace);
/* Prints a sentence for each kind of file that cannot be read for want of a library. */
int probe_libraries(void);

#endif
