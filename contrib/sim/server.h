/* contrib/sim/server.h: a small HTTP/1.1 server that can misbehave on purpose: cut an answer in the
 * middle, stall, reset, drip. Loopback only, plain or TLS. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct ssl_ctx_st;
struct server;
struct hreq; /* one request and its pending answer */

typedef void server_cb(void *arg, struct hreq *r);

struct server_opts {
	int port;               /* on 127.0.0.1; 0: the kernel chooses */
	struct ssl_ctx_st *tls; /* NULL: plain. Stays the caller's, must outlive the server */
	size_t body_max;        /* a longer request body is answered 413 */
	server_cb *cb;          /* every whole request */
	server_cb *head;        /* its head, before any of the body is read; NULL: none */
	void *arg;
};

int server_open(struct server **out, struct event_base *base, const struct server_opts *o,
	struct err *e);
/* Drops every connection; the on_gone of a pending request still fires. */
void server_close(struct server **s);
int server_port(const struct server *s);

/* --- The request; good until it is answered, dropped, or gone -------------------------------- */
const char *hreq_method(const struct hreq *r);
const char *hreq_path(const struct hreq *r);  /* decoded, without the query */
const char *hreq_query(const struct hreq *r); /* as sent, "" when none */
/* 1: there, its decoded value appended to out; 0: not there; -1: does not fit. */
int hreq_param(const struct hreq *r, const char *name, struct str *out);
const char *hreq_header(const struct hreq *r, const char *name); /* the first; NULL: absent */
size_t hreq_header_count(const struct hreq *r, const char *name);
/* Header lines by number, in the order sent; false past the end. */
bool hreq_header_at(const struct hreq *r, size_t i, const char **name, const char **value);
struct view hreq_body(const struct hreq *r);
struct str *hreq_body_str(struct hreq *r); /* may be taken over: leave an empty one */
bool hreq_chunked(const struct hreq *r);   /* the body came in chunks */

/* In server_opts.head only: so many bytes of the body are read every ms; once there are so many,
 * the connection ends by RST. */
void hreq_slow_body(struct hreq *r, size_t bytes, int64_t ms);
void hreq_cut_body(struct hreq *r, size_t bytes);

/* The peer left, or the server is being closed; r is gone when this returns. */
void hreq_on_gone(struct hreq *r, void (*cb)(void *arg), void *arg);
/* Has the peer closed its side already, though no event has told us yet? */
bool hreq_peer_left(const struct hreq *r);

/* --- The answer ------------------------------------------------------------------------------- */
struct hreply {
	int status;
	const char *type;  /* NULL: application/json */
	const char *extra; /* further header lines, each ended by CRLF; NULL: none */
	struct view body;
	void (*release)(
		void *arg); /* NULL: the body is copied; else it stays until this is called */
	void *release_arg;
	bool close; /* end the connection afterwards */
};

void hreq_reply(struct hreq **r, const struct hreply *a);
/* The head announces all of a->body, only its first `bytes` follow, then the connection ends. */
void hreq_cut(struct hreq **r, const struct hreply *a, size_t bytes);
/* A streamed answer; length -1: chunked. a->body is not used. */
void hreq_begin(struct hreq *r, const struct hreply *a, int64_t length);
void hreq_piece(struct hreq *r, struct view v);
size_t hreq_pending(const struct hreq *r); /* bytes not yet taken by the kernel */
void hreq_end(struct hreq **r);
/* Ends the connection without a (further) word; reset: by RST. What was written is flushed first
 * unless reset. */
void hreq_drop(struct hreq **r, bool reset);

#endif
