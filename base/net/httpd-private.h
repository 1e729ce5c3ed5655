/* base/net/httpd-private.h: what the files of the HTTP server share: httpd.c listens,
 * httpd_conn.c is one connection with its one request, httpd_head.c the guard. */
#ifndef BASE_NET_HTTPD_PRIVATE_H
#define BASE_NET_HTTPD_PRIVATE_H

#include <sys/queue.h>
#include <sys/types.h>

#include "base/net/httpd.h"
#include "base/net/httpd_head.h"

#define HTTPD_CONNS_MAX  64
#define HTTPD_BODY_MAX   ((size_t)64 << 10)
#define HTTPD_STREAM_MAX ((size_t)1 << 20)
#define HTTPD_REQUEST_MS 10000 /* from accept to the last byte of the request */
#define HTTPD_WRITE_MS   10000 /* without a byte taken by the peer, once an answer is finished */
#define HTTPD_LINGER_MS  2000  /* for the peer to read the answer before the connection is gone */

TAILQ_HEAD(httpd_reqs, httpd_req);

struct httpd {
	struct loop *loop;
	struct log *log;
	httpd_cb *cb;
	void *arg;
	size_t body_max, stream_max;
	char *token;
	int fd, port;
	struct watch *watch;
	struct timer *pause; /* after accept failed for want of descriptors */
	char *unix_path;
	dev_t dev; /* the socket file is ours as long as it is this one */
	ino_t ino;
	struct httpd_reqs reqs;
	size_t nreqs;
};

/* Takes the descriptor over. */
void httpd_conn_open(struct httpd *h, int fd);
void httpd_conn_free(struct httpd_req *r);

#endif
