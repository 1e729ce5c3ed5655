/* A scripted server on the test's own loop: raw bytes out, so that an answer may be as wrong as one
 * likes and cut anywhere. It understands just enough of HTTP to know where a request ends. */
#ifndef TESTS_UNIT_NET_SERVER_H
#define TESTS_UNIT_NET_SERVER_H

#include <openssl/ssl.h>

#include "base/loop.h"
#include "base/str.h"

enum then {
	THEN_KEEP, /* wait for the next request */
	THEN_CLOSE,
	THEN_RESET, /* close with RST */
	THEN_HOLD   /* leave the connection open and say nothing more */
};

struct answer {
	struct view bytes;
	struct view more; /* repeated after bytes ... */
	size_t times;     /* ... so often */
	size_t step;      /* bytes a pass of the loop; 0: as many as the socket takes */
	int64_t every_ms; /* wait between the steps */
	enum then then;
	bool at_once; /* on accept, before any request */
	bool early;   /* as soon as the head of the request is there */
	bool deaf;    /* read nothing: a request that is big enough is never taken */
};

struct server_opts {
	const char *ip;        /* NULL: 127.0.0.1 */
	const char *unix_path; /* instead of TCP */
	SSL_CTX *tls;
	const struct answer *answers; /* one a request, the last one for all that follow */
	size_t nanswers;
};

struct server;

void server_open(struct server **out, struct loop *l, const struct server_opts *o);
void server_close(struct server **s);
int server_port(const struct server *s);
int server_accepted(const struct server *s);      /* connections, ever */
int server_open_now(const struct server *s);      /* connections that still stand */
int server_requests(const struct server *s);      /* whole requests, ever */
const char *server_heard(const struct server *s); /* every byte that came in */
struct view server_heard_view(const struct server *s);

#endif
