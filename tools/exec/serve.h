/* tools/exec/serve.h: how a process of kairo-tool gets from the daemon's request to the place where
 * a tool works.
 *
 * The request, one line of JSON, says where: {"workspace":PATH,"read":[PATH...],"required":BOOL,
 * "network":BOOL,"namespaces":BOOL, ...}; read, network (false) and namespaces (false) may be
 * absent. As root the process first becomes the owner of the workspace. With namespaces it starts
 * itself again inside them (tools/exec/namespace.h), never without when that fails. There it forks:
 * the child enters the fence and works, the parent supervises it. */
#ifndef TOOLS_EXEC_SERVE_H
#define TOOLS_EXEC_SERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "tools/exec/fence.h"
#include "tools/exec/root.h"
#include "tools/exec/scratch.h"

#define SERVE_REQUEST_MAX ((size_t)8 << 20) /* a page of 5 MiB in base64, or a file's content */
#define SERVE_REQUEST_FD  5                 /* inside: the request, in a file of its own */
#define SERVE_INSIDE      "--inside"

struct site {
	struct view workspace;
	const struct json *read;
	bool required, network, namespaces;
	pid_t above[2];
	char tmp[SCRATCH_SIZE]; /* where programs have their temporary files */
};

struct service {
	const char *mode; /* the word of the command line: "call" */
	enum fence_kind (*kind)(const struct json *request);
	/* The child's work. `in` goes on with what follows the request, or nothing, and its end is
	 * the end of all; returns an exit code. */
	int (*work)(const struct site *s, const struct json *request, int in, int out);
};

/* Returns what the program should exit with: 2 for a request that is none. */
int serve(const struct service *sv, int in, int out, bool inside);

/* Root's own rights are more than a tool needs. Nor would they be left to it: without capabilities
 * a root is not even let into a folder of somebody else. So root becomes who owns the folder. */
int become_owner(const char *folder, struct err *e);

/* In the child: opens the folders and enters the fence. */
int site_enter(const struct site *s, enum fence_kind kind, struct roots *roots, struct fence *out,
	struct err *e);

#endif
