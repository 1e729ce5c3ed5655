/* agent/acp/child.h: the agent's process: a pipe each way, its last words on stderr, its end.
 *
 * It is started by way of the helper that supervises it, so that its whole tree ends with it. The
 * polite end is that of its input: agents save then what they have, and lose it by TERM. */
#ifndef AGENT_ACP_CHILD_H
#define AGENT_ACP_CHILD_H

#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

#define CHILD_WORDS_MAX   ((size_t)4096) /* bytes of stderr that are kept, the newest */
#define CHILD_LIFELINE_FD 3              /* its end ends the whole tree (kairo-tool supervise) */
#define CHILD_EOF_MS      3000           /* from the end of its input to TERM */
#define CHILD_TERM_MS     2000           /* from TERM to KILL */

struct child;

struct child_env {
	struct loop *loop;
	const char *path;        /* of the program that is run, absolute */
	const char *const *argv; /* NULL-terminated */
	const char *const *env;  /* the whole environment, NULL-terminated */
	const char *cwd;
	void (*on_exit)(void *arg, int code, int signal); /* as proc_exit_cb; once */
	void *arg;
};

int child_start(struct child **out, const struct child_env *env, struct err *e);
int child_in(const struct child *c);  /* its standard output, for reading; non-blocking */
int child_out(const struct child *c); /* its standard input; non-blocking */
/* Ask it to end; on_exit follows. Whoever used the pipes has let go of them. Twice: nothing. */
void child_stop(struct child *c);
/* The same, waited for; what is left then is killed. No callback. */
void child_end(struct child **c);
/* One safe line of its last words on stderr, the one that speaks of an error if any does: no
 * control character, no secret; "" when it said nothing. */
void child_words(const struct child *c, struct str *out);

#endif
