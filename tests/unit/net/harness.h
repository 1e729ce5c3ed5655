/* What the tests of the HTTP client share: a loop, a pool, a server, and a note of how a call
 * ended. */
#ifndef TESTS_UNIT_NET_HARNESS_H
#define TESTS_UNIT_NET_HARNESS_H

#include "base/net/http.h"
#include "server.h"

/* The system's clock, turned forward by the test. */
struct turned {
	struct clock clock;
	int64_t by;
};
void turned_init(struct turned *t);

struct env {
	struct turned clock;
	struct loop *l;
	struct http *h;
	struct server *s;
};

/* The end of a call. */
struct got {
	bool done;
	enum http_fail fail;
	int status;
	bool sent;
	int64_t retry_after_ms;
	struct err err;
	struct str body;
	char header[64]; /* the value of X-Test, "" when absent */
	/* what the body callback saw, and what it shall do at its first piece */
	struct str pieces;
	int npieces;
	int stop;                  /* its result */
	struct http_call **cancel; /* cancelled then */
	struct http **close;       /* closed then */
};
#define GOT_INIT ((struct got){ .body = STR_INIT(1 << 26), .pieces = STR_INIT(1 << 26) })

/* Run the loop until the condition holds; the test's own time limit ends a wait for ever. */
#define WAIT(l, cond) \
	do { \
		while (!(cond)) \
			assert_int_equal(loop_step((l), 2, NULL), 0); \
	} while (0)
/* Let everything that can happen without time passing happen. */
void settle(struct loop *l);

void env_open(struct env *v, const struct http_rules *rules, const struct answer *answers,
	size_t n);
void env_open_on(struct env *v, const struct http_rules *rules, const struct server_opts *o);
void env_close(struct env *v);

void env_turn(struct env *v, int64_t ms);

int got_body(void *arg, struct view piece);
void got_done(void *arg, const struct http_result *r);
void got_release(struct got *g);

/* "http://127.0.0.1:<the server's port><path>"; the text is good until the next call. */
const char *env_url(const struct env *v, const char *path);
/* Start with on_done and arg filled in; the start must succeed. */
struct http_call *env_start(struct env *v, struct http_req req, struct got *g);
/* Start and wait for the end. */
void env_run(struct env *v, struct http_req req, struct got *g);
void env_get(struct env *v, const char *path, struct got *g);

extern const struct http_rules local_rules; /* public, loopback allowed */
extern const struct http_rules any_rules;   /* any address, plain http too */

#define REPLY(text) ((struct answer){ .bytes = { "" text, sizeof(text) - 1 } })

#endif
