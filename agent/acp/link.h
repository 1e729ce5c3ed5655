/* agent/acp/link.h: the agent up and ready, or not: started on first need, greeted by "initialize",
 * told of when it ends, started again after a while that grows as long as it does not last. */
#ifndef AGENT_ACP_LINK_H
#define AGENT_ACP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/acp/rpc.h"
#include "agent/engine.h"
#include "agent/speech.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"

#define LINK_START_MS    60000 /* for its answer to "initialize": a cold Node on a small machine */
#define LINK_BACKOFF_MS  1000  /* after the first short life; doubles */
#define LINK_BACKOFF_CAP 60000
#define LINK_LASTING_MS  60000 /* a life that long counts as a good one */
#define LINK_DEATHS_MAX  5     /* short lives in a row; then it is told, not waited for */

/* What it said it can do. */
struct link_caps {
	bool load, resume, close, list;
	bool image, embedded;
	bool mcp_http, mcp_sse;     /* servers of these kinds beside stdio */
	char name[64], version[64]; /* safe to show */
};

struct acp_link;

struct link_env {
	struct loop *loop;
	struct log *log;
	const char *path; /* as child_env; all of it outlives the link */
	const char *const *argv, *const *env;
	const char *cwd;
	size_t line_max;
	bool fs, terminal; /* what it is offered */
	/* It is ready: what was wanted can go on. */
	void (*on_ready)(void *arg);
	/* It is down, or could not be had: fail, and why, with the arguments of that sentence
	 * (NULL-terminated). Whatever was under way with it is over. Once for each end. */
	void (*on_down)(void *arg, enum engine_fail fail, enum speech why, const char *const *args);
	void (*on_request)(void *arg, const struct rpc_id *id, const char *method,
		const struct json *params);
	void (*on_notification)(void *arg, const char *method, const struct json *params);
	void *arg;
};

int link_open(struct acp_link **out, const struct link_env *env, struct err *e);
/* Ends the agent politely and waits for it, CHILD_EOF_MS at most before it is killed. */
void link_close(struct acp_link **l);

/* One of on_ready and on_down follows from the loop. Again before that: nothing new. */
void link_want(struct acp_link *l);
struct rpc *link_rpc(const struct acp_link *l); /* NULL: not ready */
const struct link_caps *link_caps(const struct acp_link *l);
unsigned int link_life(const struct acp_link *l); /* counts its starts: sessions die with each */
/* It does not do what it was told to: it goes. on_down is told before this returns. Not up:
 * nothing. */
void link_fail(struct acp_link *l, enum engine_fail fail);

#endif
