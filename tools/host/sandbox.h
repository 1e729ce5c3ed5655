/* tools/host/sandbox.h: what can confine tools on this machine, as kairo-tool has found by trying
 * it; what of it is enough, and what to say when it is not. Outside the room it is had by
 * tools_sandbox (registry.h). */
#ifndef TOOLS_HOST_SANDBOX_H
#define TOOLS_HOST_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct sandbox_probe {
	bool asked;
	pid_t pid;
	int fd; /* where its answer is read */
	int64_t until;
};

/* All that follows the probe is known once it is settled. */
struct sandbox {
	struct sandbox_probe probe;
	bool namespaces;       /* bubblewrap works here */
	char why[ERR_MSG_MAX]; /* why not, in its own words */
	int landlock;          /* the kernel's version; 0: none */
	bool seccomp;
	bool cgroup; /* a group of our own can be made, to be killed as a whole */
	uid_t other; /* as whom tools work, where that is not who we are; else 0 */
	bool all;    /* sandbox.mode = "required": nothing runs without namespaces */
};

/* Starts `helper probe`, which takes some milliseconds. Returns a descriptor that is readable once
 * it has answered, or -1 when there is nothing to wait for. */
int sandbox_begin(struct sandbox *s, const char *helper, const char *workspace, bool all);
/* Waits for the answer, five seconds from the beginning at most; the first time only. With a helper
 * that cannot say, there are no namespaces. */
void sandbox_settle(struct sandbox *s);
void sandbox_abandon(struct sandbox *s); /* nobody wants to know any more */

/* Asks it which kinds of files it cannot read here for want of a library: a sentence each, a line
 * each. Waits for it as above. */
int sandbox_lacks(const char *helper, struct str *out, struct err *e);

/* May it run? False: why, unless NULL, gets what is missing and how it can be had, in words for the
 * model. */
bool sandbox_allows(const struct sandbox *s, bool programs, struct str *why);

/* What the operator can do to have all of it; "" when nothing is missing. */
const char *sandbox_advice(const struct sandbox *s);

#endif
