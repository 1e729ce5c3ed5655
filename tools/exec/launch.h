/* tools/exec/launch.h: a program of somebody else's (a server of tools, an agent) on a lifeline.
 *
 * kairo-tool supervise --fenced|--open [--namespaces] [--network] --workspace DIR [--read DIR]...
 *         [--write DIR]... [--hide DIR]... -- PROGRAM [ARGUMENT]...
 *
 * The program has our descriptors 0, 1 and 2 and our environment. Descriptor 3 is the lifeline: its
 * end ends the program and all that came of it. --fenced: what tools may do, and no more; files as
 * in a call of a tool, --write for further folders. --open: an agent that brings tools of its own;
 * it reads what its user may read, but nothing under --hide, and writes only to the folders named
 * and to a private /tmp; that needs --namespaces, without which nothing confines it. */
#ifndef TOOLS_EXEC_LAUNCH_H
#define TOOLS_EXEC_LAUNCH_H

#define LAUNCH_LIFELINE_FD 3

/* argv: from the first option on, NULL at the end. Returns what to exit with: the program's own
 * code, 128 + signal, 126 when the fence does not hold, 127 when it cannot be run, 2 for usage. */
int launch_main(const char *const *argv);

#endif
