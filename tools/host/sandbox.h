/* tools/host/sandbox.h: what can confine tools on this machine, as kairo-tool has found by trying
 * it; what of it is enough, and what to say when it is not. Inside the room only. */
#ifndef TOOLS_HOST_SANDBOX_H
#define TOOLS_HOST_SANDBOX_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct sandbox {
	bool namespaces; /* bubblewrap works here */
	char why[200];   /* why not, in its own words */
	int landlock;    /* the kernel's version; 0: none */
	bool seccomp;
	bool cgroup; /* a group of our own can be made, to be killed as a whole */
	bool all;    /* sandbox.mode = "required": nothing runs without namespaces */
};

/* Runs `helper probe`, which takes some milliseconds and never more than five seconds: ahead of the
 * loop. With a helper that cannot say, there are no namespaces. */
void sandbox_open(struct sandbox *s, const char *helper, const char *workspace, bool all);

/* May it run? False: *why gets what is missing and how it can be had, in words for the model. */
bool sandbox_allows(const struct sandbox *s, bool programs, struct str *why);

/* One line for people: what holds, and where a promise is weaker for the lack of something. */
void sandbox_describe(const struct sandbox *s, struct str *out);
/* What the operator can do to have all of it; "" when nothing is missing. */
const char *sandbox_advice(const struct sandbox *s);

#endif
