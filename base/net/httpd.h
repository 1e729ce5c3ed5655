/* base/net/httpd.h: a small, strict HTTP/1.1 server on the loop.
 *
 * Listens on a Unix socket (0600) or on loopback TCP. One request a connection: every answer ends
 * it, so there is no second request to smuggle. The bytes are read by a parser of our own
 * (httpd_head.c) and not by libevent's evhttp, which takes too much: with one request a connection
 * little else of a server is left, and what is refused can be read in one place. Refused before a
 * handler sees it: any Transfer-Encoding but "chunked", chunk extensions and trailers, more than one
 * or a non-digit Content-Length, both together, missing, repeated or unlisted Host, a foreign or
 * repeated Origin, a wrong token, a CR or LF that stands alone, control characters, folded lines, a
 * target that is not a plain path, HTTP other than 1.1, a head over 16 KiB or 64 fields, a body
 * over its limit, more than 64 connections, a request not complete within 10 s in all.
 *
 * Hosts: "localhost" on a Unix socket; "127.0.0.1" and "localhost" with the port on TCP. Origins:
 * none on a Unix socket; http:// with one of these hosts on TCP. */
#ifndef BASE_NET_HTTPD_H
#define BASE_NET_HTTPD_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"

struct httpd;
struct httpd_req; /* a request with its pending answer */

struct httpd_opts {
	const char *unix_path; /* this (a stale socket there is replaced), or: */
	int tcp_port;          /* on 127.0.0.1; 0 with unix_path NULL: the kernel chooses */
	size_t body_max;       /* 0: 64 KiB */
	size_t stream_max;     /* of a stream, not yet taken by its reader; 0: 1 MiB */
	const char *token;     /* required as "Authorization: Bearer" when not NULL */
};

/* A whole request. The handler answers here or later: by httpd_reply, or by a stream. */
typedef void httpd_cb(void *arg, struct httpd_req *r);

/* E_BUSY: somebody listens there already. E_EXISTS: something else than a socket has that name. */
int httpd_open(struct httpd **out, struct loop *l, const struct httpd_opts *o, httpd_cb *cb,
	void *arg, struct log *log, struct err *e);
/* Drops every connection, removes the socket file; all requests are gone, no callback follows. */
void httpd_close(struct httpd **h);
int httpd_port(const struct httpd *h); /* 0 on a Unix socket */

const char *httpd_method(const struct httpd_req *r); /* GET, POST, PUT, PATCH or DELETE */
struct view httpd_path(const struct httpd_req *r);   /* decoded, without the query */
struct view httpd_body(const struct httpd_req *r);

/* Answer and finish; r is gone afterwards. Content type application/json unless given. */
void httpd_reply(struct httpd_req **r, int status, const char *type, struct view body);
/* A streamed answer: begin, any number of pieces, end. on_gone fires once, from the loop, if the
 * peer leaves first, whether a piece has failed before or not; r is then gone. Pieces are
 * buffered up to stream_max, past that the peer is dropped. */
void httpd_stream_begin(struct httpd_req *r, const char *type, void (*on_gone)(void *), void *arg);
int httpd_stream_piece(struct httpd_req *r, struct view piece); /* -1: the peer is gone */
void httpd_stream_end(struct httpd_req **r);                    /* on_gone will not follow */

#endif
