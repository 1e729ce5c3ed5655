/* tools/exec/command.h: a program that a tool runs, its output, and what comes of it.
 *
 * It leads a session and a group of its own, without a terminal, in a small fixed environment. Its
 * output is taken in as it comes, however much it is. The tool's process is the reaper of all its
 * descendants, so it knows when none is left; those that are left when the tool is done are ended
 * by the supervisor above. */
#ifndef TOOLS_EXEC_COMMAND_H
#define TOOLS_EXEC_COMMAND_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "tools/exec/evidence.h"

#define COMMAND_TEXT_MAX      ((size_t)100 << 10) /* bytes of one command (kairo-architecture) */
#define COMMAND_TIMEOUT_S     120
#define COMMAND_TIMEOUT_MAX_S 300
#define COMMAND_FRAMES_FD     9
#define COMMAND_ENV_MAX       64

struct command_plan {
	const char *path;        /* absolute */
	const char *const *argv; /* NULL-terminated */
	int dir;                 /* a folder's descriptor: where it begins */
	const char *pwd;         /* the same as a path */
	const char *tmp;         /* its home and the place of its temporary files */
	int in;                  /* its standard input; -1: at its end from the start */
	int frames;              /* its descriptor COMMAND_FRAMES_FD; -1: none */
	/* Further variables, NAME=VALUE, which win; NULL-terminated, at most COMMAND_ENV_MAX; NULL:
	 * none. */
	const char *const *env;
	/* It gets what the program says, stdout and stderr in one, in place of the evidence. */
	void (*on_output)(void *arg, struct view piece);
	void *arg;
	bool apart; /* on_output gets stdout alone; of stderr there is evidence as ever */
};

struct command {
	pid_t pid;
	int signals;  /* signalfd of SIGCHLD and SIGTERM */
	int out, err; /* -1: ended */
	struct evidence said, complained;
	bool exited, stopped; /* stopped: by SIGTERM */
	int status;           /* of waitpid, once exited */
	int64_t began, ended; /* monotonic ms */
	void (*on_output)(void *arg, struct view piece);
	void *arg;
};

/* E_IO, E_NOTFOUND...: the program could not be run; nothing is left then. */
int command_start(struct command *c, const struct command_plan *plan, struct err *e);
void command_release(struct command *c); /* closes; ends nobody */

/* Takes in what comes until `until` (monotonic ms), but returns as soon as something did. `more` is
 * watched besides: n descriptors, at most 4, their revents are the caller's. */
void command_step(struct command *c, struct pollfd *more, nfds_t n, int64_t until);
void command_forget(struct command *c); /* what came until now */
/* What is in the pipes at this moment, and no more. */
void command_drain(struct command *c);
/* TERM to the group, a grace, KILL to the group; what it still says is taken in. At once when the
 * program has ended already. */
void command_end(struct command *c);
/* After the end of the program: its output to the end, but not for long when somebody it has left
 * behind holds it open. True: descendants are left. */
bool command_leaves(struct command *c);

bool command_succeeded(const struct command *c); /* by itself, with status 0 */
/* A line: "exit status 3 after 0.41 s", "ended by signal 9 (Killed) after ...", or that its time
 * was over (timeout_s > 0: what it was). */
void command_say_how(const struct command *c, int64_t timeout_s, struct str *out);
/* The first of these, of a status that was told. */
void command_say_status(int status, int64_t ms, struct str *out);
/* What it said and complained of, or that there was nothing. */
void command_say_output(const struct command *c, struct str *out);

int64_t monotonic_ms(void);

#endif
