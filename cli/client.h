/* cli/client.h: one request to the running daemon over its control socket. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"

struct client; /* a request under way */

/* Each complete line of a streamed answer. Non-zero stops and drops the connection. */
typedef int client_line_cb(void *arg, struct client *c, struct view line);

struct client_call {
	const char *method, *path;
	struct view body;          /* JSON; empty: none */
	int64_t timeout_ms;        /* 0: 10 s; -1: none */
	client_line_cb *on_line;   /* NULL: collect into answer */
	void (*on_end)(void *arg); /* the loop is about to go; may be NULL */
	void *arg;
	struct str *answer; /* appended; may be NULL with on_line */
};

/* 0: an answer of 2xx. E_NOTFOUND: no daemon listens. Otherwise the daemon's own message. Runs a
 * loop of its own; SIGINT ends the call (E_CANCELLED) and with it what was asked for. */
int client_request(const struct home *h, const struct client_call *c, struct err *e);

/* A number of such an answer; 0 where it has none. */
int64_t answer_int(const struct json *obj, const char *name);

/* --- While it is under way -------------------------------------------------------------------- */
struct loop *client_loop(struct client *c);
/* A JSON body POSTed beside it, behind those given before; path outlives the request, and its
 * answer is not waited for. */
int client_post(struct client *c, const char *path, struct view body, struct err *e);

#endif
