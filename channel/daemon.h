/* channel/daemon.h: the pid file and the lock that decides who runs. Processes, signals and umask
 * are cli's; here are only files. */
#ifndef CHANNEL_DAEMON_H
#define CHANNEL_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* kairo.lock is taken and never replaced; kairo.pid ("<pid> <start time>\n", at most 64 bytes) only
 * informs. */
struct daemon_claim;
int daemon_claim(struct daemon_claim **out, const char *home, struct err *e); /* E_BUSY: runs */
void daemon_release(struct daemon_claim **c); /* removes the pid file */

/* The daemon that holds the lock now: 1 and its pid, 0 none runs, -1 error. The pid counts only
 * when the lock is held, the process lives, its start time is the recorded one and its command
 * line is a kairo daemon's: a recycled pid is never returned. */
int daemon_find(const char *home, pid_t *pid, struct err *e);
/* TERM to the whole group, KILL after wait_ms; waits (blocking, by pidfd) until the lock is free.
 * 0: it has ended; E_NOTFOUND: none ran. */
int daemon_stop(const char *home, int wait_ms, struct err *e);

#endif
