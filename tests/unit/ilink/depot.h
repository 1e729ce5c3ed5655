/* A media server on the loop under test: it answers what it was told to, in order, streams what is
 * large, and of what is sent to it keeps the length, the hash and the beginning. */
#ifndef TESTS_ILINK_DEPOT_H
#define TESTS_ILINK_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/str.h"

struct depot;

struct goods {
	int status;          /* 0: 200 */
	const char *headers; /* whole lines, each with CRLF; NULL: none */
	struct view body;    /* must stay until it is sent */
	size_t times;        /* body so often; 0: once */
	struct view tail;    /* then this */
	size_t stop;         /* only so many bytes of them, and then ... 0: all */
	bool hang;           /* ... silence; else the connection is closed */
	bool no_length;      /* Content-Length is not said, the end is the connection's */
	bool early;          /* answered before the body of the request has come */
	bool silent;         /* nothing at all is answered */
	bool drop;           /* the connection is closed as soon as the head has come */
	bool deaf;           /* nothing of the body is taken */
};

struct delivery {
	char method[8], target[4096];
	char *head; /* header lines */
	int64_t size;
	char md5[33];    /* of the body */
	struct str body; /* its first 64 KiB */
};

struct depot *depot_open(struct loop *l);
void depot_close(struct depot **d);
const char *depot_url(const struct depot *d); /* http://127.0.0.1:PORT/c2c */
void depot_push(struct depot *d,
	const struct goods *g); /* for one request; the body is not copied */
void depot_always(struct depot *d, const struct goods *g); /* when nothing was pushed */
size_t depot_count(const struct depot *d);
const struct delivery *depot_got(const struct depot *d, size_t i);
size_t depot_now(const struct depot *d); /* connections that stand */

#endif
