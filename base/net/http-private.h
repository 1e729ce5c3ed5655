/* base/net/http-private.h: what the files of the HTTP client share.
 *
 * http.c is the pool: curl's multi handle on the loop, the rate limiter, the order in which calls
 * start and end. http_call.c is one request: its rules, curl's callbacks, its result. http_addr.c
 * and http_url.c are pure.
 *
 * Two rules keep curl safe. (1) Inside its callbacks (in_curl) nothing is added, removed or freed:
 * a call that is cancelled there becomes CALL_DEAD and is swept when curl has returned. (2) The
 * caller's callbacks may do anything, http_close included: while one is on the stack (depth) the
 * pool only marks itself as closing. */
#ifndef BASE_NET_HTTP_PRIVATE_H
#define BASE_NET_HTTP_PRIVATE_H

#include <curl/curl.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/net/http.h"

#define HTTP_BODY_MAX    ((size_t)2 << 20)  /* of an answer, unless the request says */
#define HTTP_HEADERS_MAX 24                 /* of a request */
#define HTTP_HEAD_MAX    ((size_t)64 << 10) /* all header lines of an answer, 1xx included */
#define HTTP_CONNECT_MS  10000
#define HTTP_CALLS_MAX   256 /* waiting and running calls of one pool */

enum call_state {
	CALL_WAITING,    /* for its turn */
	CALL_CONNECTING, /* handed to curl: name, connection, TLS */
	CALL_SENT,       /* the connection stands, the request is going out or has */
	CALL_DONE,       /* on_done is running */
	CALL_DEAD        /* cancelled from inside curl; swept when that has returned */
};

struct http_call {
	TAILQ_ENTRY(http_call) link;
	struct http *pool;
	enum call_state state;
	CURL *easy;
	struct timer *timer;

	/* the request */
	bool post, tls, proxied;
	char host[256];
	int port;
	struct str url, body;
	char *ciphers;
	struct curl_slist *headers;
	int64_t connect_ms, idle_ms;
	size_t body_max, error_body_max;
	bool connect_only;
	http_read_cb *body_read; /* NULL: the body is above */
	size_t body_size;
	http_body_cb *on_body;
	http_done_cb *on_done;
	void *arg;

	/* its progress */
	int64_t began, connect_began, touched; /* loop time; touched: the last byte either way */
	int64_t timeout_ms;
	size_t body_sent; /* taken by curl */
	int peers_denied, peers_tried;
	char peer[64]; /* the last address denied */

	/* the answer */
	enum http_fail fail; /* decided by us while curl was running; else HTTP_OK_ */
	struct err why;
	bool cut;       /* of a non-2xx body enough is there */
	bool head_done; /* the final header block has ended: what follows are trailers */
	size_t head_bytes;
	struct str head; /* "name\0value\0" each */
	struct str reply;
	size_t reply_bytes; /* decoded, handed on or kept */
};

TAILQ_HEAD(http_calls, http_call);

struct http {
	struct loop *loop;
	struct log *log;
	struct http_rules rules; /* its texts are the pool's own */
	char *ca_dir;            /* used instead of curl's default bundle; NULL: that bundle */
	CURLM *multi;
	struct timer *curl_timer, *start_timer;
	struct http_calls calls; /* in the order they came */
	size_t ncalls;
	int64_t *starts; /* ring of the last rules.rate_max start times */
	int nstarts, next_start;
	int depth; /* callbacks of the caller, and of curl, on the stack */
	bool in_curl, closing;
};

/* http_call.c */
int http_call_new(struct http_call **out, struct http *h, const struct http_req *req,
	struct err *e);
void http_call_free(struct http_call **c); /* it is in no list and not in the multi handle */
void http_call_arm(struct http_call *c);   /* the timer, to the nearest deadline */
void http_call_result(struct http_call *c, CURLcode code, struct http_result *r);

/* http.c */
/* End a call from the loop with what c->fail and c->why say. Not from inside curl. */
void http_call_end(struct http_call *c, CURLcode code);

/* http_addr.c */
bool http_addr_allowed(const struct http_rules *r, bool tls, const struct sockaddr *sa);
bool http_addr_parse(const char *text, int port, struct sockaddr_storage *out);
void http_addr_text(const struct sockaddr *sa, char *buf, size_t size);

#endif
