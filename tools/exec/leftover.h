/* tools/exec/leftover.h: what is being made stands beside its place under a name of its own until
 * it is whole: .kairo-HEX.tmp for a file, .kairo-HEX.new for the folder of a project. A tool that
 * is killed in the middle leaves it behind; a later change in the same folder removes what is older
 * than LEFTOVER_AGE_S. */
#ifndef TOOLS_EXEC_LEFTOVER_H
#define TOOLS_EXEC_LEFTOVER_H

#define LEFTOVER_AGE_S 3600
#define LEFTOVER_SIZE  40

void leftover_file_name(char name[LEFTOVER_SIZE]);
void leftover_project_name(char name[LEFTOVER_SIZE]);
/* Nothing but what a template puts there goes; what somebody has added since stays, with its
 * folders. */
void leftover_remove_project(int dir, const char *name);
/* Those that are old. */
void leftover_sweep(int dir);

#endif
