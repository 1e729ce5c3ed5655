/* base/net/http.h: HTTP client on the event loop.
 *
 * Redirects are never followed, URLs with credentials are refused, certificates are always checked,
 * https is required but for loopback when the pool allows it. Nothing here blocks: names are
 * resolved by curl's threads with CURLOPT_QUICK_EXIT, so a stuck resolver delays neither cancel nor
 * close. HTTP/1.1, connections are kept and reused.
 *
 * Callbacks come from the loop, and any function here may be called from inside them, http_cancel
 * and http_close included. A POST is never repeated by the library. The program ignores SIGPIPE;
 * the pool sets up and counts curl's global state itself. */
#ifndef BASE_NET_HTTP_H
#define BASE_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"

struct http;      /* a pool of connections with one set of rules */
struct http_call; /* a request on its way */

enum http_reach {
	HTTP_PUBLIC, /* the connected peer must be a public address and port 443 (plain http: 80) */
	HTTP_ANY     /* private addresses too: the operator named the host */
};

struct http_rules {
	enum http_reach reach;
	bool loopback;   /* with HTTP_PUBLIC: 127.0.0.0/8 and ::1 too, and plain http to them */
	bool plain_http; /* plain http to any host the reach allows (one's own model server) */
	bool fake_ip;    /* 198.18.0.0/15 counts as public (a proxy's fake-IP DNS) */
	/* NULL or "": none; the environment is never read. Loopback hosts are reached directly.
	 * Behind a proxy the peer cannot be judged: with HTTP_PUBLIC only the port and literal
	 * addresses are. */
	const char *proxy;
	const char *ca_file;   /* trusted instead of the system's certificates; NULL: those */
	const char *unix_path; /* every request goes to this socket, whatever its host; NULL: TCP */
	const char *user_agent; /* NULL: no such header */
	/* At most this many starts in any rate_ms; 0: no limit. Later ones wait their turn with the
	 * request already fixed; the wait counts in the timeout. */
	int rate_max;
	int64_t rate_ms;
};

int http_open(struct http **out, struct loop *l, const struct http_rules *rules, struct log *log,
	struct err *e);
void http_close(struct http **h); /* cancels what is under way; no callback follows */

/* What went wrong below HTTP, for people and for retry decisions. */
enum http_fail {
	HTTP_OK_,      /* an HTTP status arrived and the body is whole (non-2xx: or cut) */
	HTTP_FAIL_URL, /* refused by our rules before anything was sent */
	HTTP_FAIL_DNS,
	HTTP_FAIL_CONNECT,
	HTTP_FAIL_TLS,
	HTTP_FAIL_PEER, /* the address is not allowed */
	HTTP_FAIL_TIMEOUT,
	HTTP_FAIL_TOO_BIG, /* headers or body over the limit; the transfer was stopped there */
	HTTP_FAIL_BROKEN,  /* reset, cut short, protocol error */
	HTTP_FAIL_STOPPED  /* a body callback asked to stop */
};

struct http_result {
	enum http_fail fail;
	int status;             /* 0 when no status line arrived */
	struct view body;       /* empty when on_body took it */
	bool request_sent;      /* false: the peer cannot have seen the whole request; else maybe */
	int64_t retry_after_ms; /* from Retry-After in seconds; -1: none or not numeric */
	/* Code and message when fail is set; never NULL; no secret, no query. */
	const struct err *err;
	const char *peer;             /* HTTP_FAIL_PEER: the address that is not allowed, else "" */
	const struct http_call *call; /* for http_header */
};

typedef void http_done_cb(void *arg, const struct http_result *r);
/* A piece of the body of a 2xx answer, never empty. Non-zero stops the transfer, which then ends as
 * HTTP_FAIL_STOPPED. */
typedef int http_body_cb(void *arg, struct view piece);
/* The next bytes of the request's body, at most max; how many, from 1. Anything else ends the call
 * as HTTP_FAIL_STOPPED. Asked as long as some of body_size are wanting, never for more. */
typedef ssize_t http_read_cb(void *arg, char *buf, size_t max);

struct http_header {
	const char *name, *value; /* no control characters in either */
};

struct http_req {
	const char *method; /* "GET" or "POST" */
	const char *url;
	const struct http_header *headers;
	size_t nheaders;  /* at most 24; none of those that frame a message */
	struct view body; /* copied before http_start returns */
	/* Instead of it: read while it is sent, body_size bytes in all, which the peer is told
	 * beforehand. What cannot be read twice goes out on a connection of its own. */
	http_read_cb *body_read;
	int64_t body_size;
	const char *ciphers; /* TLS <= 1.2 list for this host; NULL: curl's default */
	int64_t connect_ms;  /* 0: 10 s */
	int64_t timeout_ms;  /* the whole; 0: none */
	/* Without progress (a part of the body taken, a header line, a piece of the answer) once
	 * connected; 0: none. */
	int64_t idle_ms;
	size_t body_max; /* decoded bytes, 0: 2 MiB */
	/* Kept of a non-2xx body, the rest is not read; 0: body_max. One that declares more than
	 * body_max is not read at all. */
	size_t error_body_max;
	bool connect_only;     /* name, connection and TLS alone: nothing is sent, and
	                                    success has status 0 */
	http_body_cb *on_body; /* NULL: collect */
	http_done_cb *on_done; /* exactly once, from the loop, unless cancelled */
	void *arg;
};

/* On success *out lives until on_done has returned or http_cancel. -1: nothing was started and
 * on_done will not be called. */
int http_start(struct http_call **out, struct http *h, const struct http_req *req, struct err *e);
void http_cancel(struct http_call **c); /* at once, the connection is dropped; no callback */
/* A response header's value (last one wins, name case-insensitive), NULL when absent. */
const char *http_header(const struct http_call *c, const char *name);
const char *http_fail_name(enum http_fail f); /* "dns", "connect", "tls", "timeout", ... */

/* A URL taken apart; views into the text. E_FORMAT on anything but http(s)://host[:port][/...]. */
struct http_url {
	bool tls, has_user;
	struct view host; /* brackets removed */
	int port;
	struct view path; /* from the first slash, query included */
};
int http_url_parse(struct view url, struct http_url *out, struct err *e);
bool http_host_is_loopback(struct view host); /* localhost, 127.0.0.0/8, ::1: by its text alone */
/* Is this address one of the public internet? sa: struct sockaddr_in or _in6. */
struct sockaddr;
bool http_addr_public(const struct sockaddr *sa, bool fake_ip);

/* Append v percent-encoded for a query value. */
int http_query_escape(struct view v, struct str *out);

#endif
