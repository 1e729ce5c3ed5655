/* base/proc.h: child processes. A child has one owner; it is over when it is reaped. Whoever else
 * waits for processes (a subreaper) must not wait for any pid at all, or its end is stolen; SIGCHLD
 * must not be ignored. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"

struct proc;

struct proc_fd {
	int parent; /* descriptor of ours to hand down; -1: /dev/null */
	int child;  /* its number there, 0..63 */
};

struct proc_spec {
	const char *path;          /* absolute */
	const char *const *argv;   /* NULL-terminated */
	const char *const *env;    /* NULL-terminated; the whole environment */
	const char *cwd;           /* NULL: "/" */
	const struct proc_fd *fds; /* what the child has; 0, 1 and 2 not named are /dev/null */
	int nfds;                  /* at most 8 */
};

/* code: exit status 0..255, or -1 with the signal in `signal`. Called once, from the loop. Whatever
 * is left of the child's group then has been killed. The proc may be freed from inside. */
typedef void proc_exit_cb(void *arg, int code, int signal);

/* In its own session and process group (so without a terminal), signals at their defaults and
 * unblocked, every other descriptor closed, core dumps off, parent-death signal KILL. Returns when
 * the program runs; one that cannot be run is an error here and was never started. The caller
 * closes its copies of the descriptors. */
int proc_spawn(struct proc **out, struct loop *l, const struct proc_spec *spec, proc_exit_cb *cb,
	void *arg, struct err *e);
pid_t proc_pid(const struct proc *p);
/* TERM to the group now, KILL to it after grace_ms (0: KILL at once). The exit is still reported. A
 * second call can shorten the grace, not lengthen it. */
void proc_stop(struct proc *p, int64_t grace_ms);
/* Blocks until it has ended, or ms are over: for the end of a program only, when what it does on
 * its way out matters. The exit is reported later as ever. */
void proc_wait(const struct proc *p, int64_t ms);
/* Kills and reaps what is left (waits for the kill to take effect), no callback after this. */
void proc_free(struct proc **p);

/* A pipe with close-on-exec. nonblock_end: index of the end that does not block, -1 for none. */
int proc_pipe(int fd[2], int nonblock_end, struct err *e);

#endif
