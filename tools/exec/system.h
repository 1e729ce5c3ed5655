/* tools/exec/system.h: the parts of the system that programs inside the fence may see. What is not
 * named here is not there for them: no home, no /run, no sockets, no other part of /etc. */
#ifndef TOOLS_EXEC_SYSTEM_H
#define TOOLS_EXEC_SYSTEM_H

enum system_use {
	SYSTEM_END,
	SYSTEM_PROGRAMS, /* read and run */
	SYSTEM_LOADER,   /* read, also by ourselves when we start */
	SYSTEM_FILES,    /* read */
	SYSTEM_NETWORK,  /* read, where there is a network */
	SYSTEM_DEVICES,  /* read and write */
	SYSTEM_MADE,     /* read; the namespaces have one of their own */
	SYSTEM_BARE,     /* read, where there are no namespaces: what stands for a whole /proc */
};

struct system_part {
	enum system_use use;
	const char *path; /* need not exist, may be a link */
};

/* SYSTEM_END ends it. */
extern const struct system_part system_parts[];

#endif
