/* base/net/httpd.h: a small, strict HTTP/1.1 server on the loop: evhttp behind a guard.
 *
 * Listens on a Unix socket (0600) or on loopback TCP. Every answer closes the connection but a
 * stream. Refused before a handler sees it: any Transfer-Encoding but "chunked", more than one or a
 * non-digit Content-Length, both together, missing, repeated or unlisted Host, a foreign Origin,
 * header over 16 KiB, body over 64 KiB, more than 64 connections, a request not complete within
 * 10 s in all (libraries reference, section 10). */
#ifndef BASE_NET_HTTPD_H
#define BASE_NET_HTTPD_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"

struct httpd;
struct httpd_req;   /* a request with its pending answer */

struct httpd_opts {
	const char *unix_path;       /* this, or: */
	int tcp_port;                /* on 127.0.0.1; 0 with unix_path NULL: the kernel chooses */
	size_t body_max;             /* 0: 64 KiB */
	const char *token;           /* required as "Authorization: Bearer" when not NULL */
};

typedef void httpd_cb(void *arg, struct httpd_req *r);

int httpd_open(struct httpd **out, struct loop *l, const struct httpd_opts *o, httpd_cb *cb,
	void *arg, struct log *log, struct err *e);
void httpd_close(struct httpd **h);
int httpd_port(const struct httpd *h);

const char *httpd_method(const struct httpd_req *r);
struct view httpd_path(const struct httpd_req *r);          /* decoded, without the query */
struct view httpd_body(const struct httpd_req *r);
int httpd_query(const struct httpd_req *r, const char *name, struct str *out); /* 1 there, 0 not */

/* Answer and finish; r is gone afterwards. Content type application/json unless given. */
void httpd_reply(struct httpd_req **r, int status, const char *type, struct view body);
/* A streamed answer: begin, any number of pieces, end. on_gone fires once if the peer leaves first
 * (r is then gone). Pieces are buffered up to 1 MiB, past that the peer is dropped. */
void httpd_stream_begin(struct httpd_req *r, const char *type, void (*on_gone)(void *), void *arg);
int httpd_stream_piece(struct httpd_req *r, struct view piece);   /* -1: the peer is gone */
void httpd_stream_end(struct httpd_req **r);

#endif
