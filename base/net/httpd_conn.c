#include "base/net/httpd-private.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum conn_state {
	CONN_HEAD, /* the request's head is coming in */
	CONN_BODY,
	CONN_PENDING, /* the handler has it */
	CONN_STREAM,
	CONN_FLUSH,  /* the answer is complete and going out */
	CONN_LINGER, /* it is out; waiting for the peer to close, so that no reset overtakes it */
	CONN_GONE    /* the peer has left a stream; on_gone is due */
};

struct httpd_req {
	TAILQ_ENTRY(httpd_req) link;
	struct httpd *server;
	enum conn_state state;
	int fd;
	struct watch *watch;
	struct timer *timer;

	struct str in; /* the head; never changed once head has views into it */
	struct httpd_head head;
	struct str path, body;
	struct httpd_chunks chunks;

	struct str out;
	size_t out_done; /* of out, taken by the kernel */
	void (*on_gone)(void *);
	void *gone_arg;
};

void httpd_conn_free(struct httpd_req *r)
{
	TAILQ_REMOVE(&r->server->reqs, r, link);
	r->server->nreqs--;
	watch_free(&r->watch);
	timer_free(&r->timer);
	if (r->fd >= 0)
		(void)close(r->fd);
	str_wipe(&r->in); /* it holds the bearer token */
	str_wipe(&r->body);
	str_release(&r->path);
	str_release(&r->out);
	free(r);
}

/* --- out -------------------------------------------------------------------------------------- */

static const char *reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} known[] = { { 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" },
		{ 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" },
		{ 404, "Not Found" }, { 405, "Method Not Allowed" }, { 408, "Request Timeout" },
		{ 409, "Conflict" }, { 413, "Content Too Large" }, { 417, "Expectation Failed" },
		{ 421, "Misdirected Request" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" },
		{ 501, "Not Implemented" }, { 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].status == status)
			return known[i].text;
	return "Status";
}

static void add_head(struct httpd_req *r, int status, const char *type)
{
	assert(status >= 200 && status <= 599 && (!type || !strpbrk(type, "\r\n")));
	str_addf(&r->out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nConnection: close\r\n", status,
		reason(status), type ? type : "application/json");
	str_adds(&r->out, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
	if (status == 401)
		str_adds(&r->out, "WWW-Authenticate: Bearer\r\n");
}

/* The answer is complete; from here on only the loop touches the connection. */
static void finish(struct httpd_req *r)
{
	r->state = CONN_FLUSH;
	/* What could not be put together ends the connection, and nothing else can be said. */
	timer_arm(r->timer, str_ok(&r->out) ? HTTPD_WRITE_MS : 0);
	if (watch_set(r->watch, str_ok(&r->out) ? WATCH_WRITE : 0) < 0)
		timer_arm(r->timer, 0);
}

static void answer(struct httpd_req *r, int status, const char *type, struct view body)
{
	size_t interim = r->out.n; /* "100 Continue" may still be there */

	r->out.max = interim + 1024 + body.n;
	add_head(r, status, type);
	if (status != 204)
		str_addf(&r->out, "Content-Length: %zu\r\n", body.n);
	str_adds(&r->out, "\r\n");
	if (status != 204 && body.n > 0)
		str_add(&r->out, body);
	finish(r);
}

static void refuse(struct httpd_req *r, int status, const char *why)
{
	char body[128];
	int n = snprintf(body, sizeof body, "{\"error\":\"%s\"}", why);

	log_warn(r->server->log, "httpd", "a request is refused: %d, %s", status, why);
	answer(r, status, NULL, (struct view){ body, (size_t)n });
}

/* -1: the peer is gone. */
static int send_some(struct httpd_req *r)
{
	while (r->out_done < r->out.n) {
		ssize_t n = send(r->fd, r->out.p + r->out_done, r->out.n - r->out_done,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		r->out_done += (size_t)n;
		if (r->state == CONN_FLUSH)
			timer_arm(r->timer, HTTPD_WRITE_MS);
	}
	str_reset(&r->out);
	r->out_done = 0;
	return 0;
}

/* A peer that has left a stream: the handler hears of it from the loop. */
static void drop(struct httpd_req *r)
{
	r->state = CONN_GONE;
	watch_free(&r->watch);
	(void)close(r->fd);
	r->fd = -1;
	timer_arm(r->timer, 0);
}

static void linger(struct httpd_req *r)
{
	r->state = CONN_LINGER;
	timer_arm(r->timer, HTTPD_LINGER_MS);
	if (shutdown(r->fd, SHUT_WR) < 0 || watch_set(r->watch, WATCH_READ) < 0)
		timer_arm(r->timer, 0);
}

static void conn_on_writable(struct httpd_req *r)
{
	if (send_some(r) < 0) {
		if (r->state == CONN_STREAM)
			drop(r);
		else
			httpd_conn_free(r);
		return;
	}
	if (r->out.n > 0)
		return;
	if (r->state == CONN_FLUSH)
		linger(r);
	else
		(void)watch_set(r->watch, WATCH_READ);
}

/* --- in --------------------------------------------------------------------------------------- */

static bool same_text(struct view v, const char *text)
{
	return v.n == strlen(text) && strncasecmp(v.p, text, v.n) == 0;
}

static bool is_own_host(const struct httpd *h, struct view host)
{
	char text[32];

	if (h->unix_path)
		return same_text(host, "localhost");
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "localhost" : "127.0.0.1";

		(void)snprintf(text, sizeof text, "%s:%d", name, h->port);
		if (same_text(host, text) || (h->port == 80 && same_text(host, name)))
			return true;
	}
	return false;
}

static bool is_own_origin(const struct httpd *h, struct view origin)
{
	return !h->unix_path && view_starts(origin, VIEW("http://")) &&
	       is_own_host(h, view_from(origin, 7));
}

/* In the same time whatever the difference is. */
static bool has_token(const struct httpd *h, struct view auth)
{
	static const char scheme[] = "Bearer ";
	struct view given = view_from(auth, sizeof scheme - 1);
	size_t n = strlen(h->token);
	volatile unsigned char differ = given.n != n;

	if (auth.n < sizeof scheme - 1 || strncasecmp(auth.p, scheme, sizeof scheme - 1) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		differ = (unsigned char)(differ |
					 (h->token[i] ^ (given.n > 0 ? given.p[i % given.n] : 0)));
	return !differ;
}

/* What the parser cannot know. Returns false when the request is refused. */
static bool admit(struct httpd_req *r)
{
	const struct httpd *h = r->server;

	if (!is_own_host(h, r->head.host))
		refuse(r, 421, "the Host is not one of this server");
	else if (r->head.origin.p && !is_own_origin(h, r->head.origin))
		refuse(r, 403, "the Origin is a foreign one");
	else if (h->token && !has_token(h, r->head.auth))
		refuse(r, 401, "a valid bearer token is required");
	else if (r->head.length > h->body_max)
		refuse(r, 413, "the body is too long");
	else if (httpd_decode(r->head.path, &r->path) < 0)
		refuse(r, 400, "the path is not valid");
	else
		return true;
	return false;
}

/* The request is whole. The handler may free the connection, so nothing follows. */
static void hand_over(struct httpd_req *r)
{
	r->state = CONN_PENDING;
	timer_disarm(r->timer);
	(void)watch_set(r->watch, 0);
	r->server->cb(r->server->arg, r);
}

static void take_body(struct httpd_req *r, struct view in)
{
	int rc;

	if (r->head.chunked) {
		rc = httpd_chunks_feed(&r->chunks, &in, &r->body);
	} else {
		rc = str_add(&r->body, view_cut(in, r->head.length - r->body.n)) < 0
		             ? -2
		             : r->body.n == r->head.length;
	}
	if (rc == -1)
		refuse(r, 400, "the chunked body is malformed");
	else if (rc == -2)
		refuse(r, 413, "the body is too long");
	else if (rc == 1)
		hand_over(r);
}

static const char *why_not(int status)
{
	switch (status) {
	case 417: return "of Expect only 100-continue is known";
	case 431: return "the head is too long";
	case 501: return "this method or transfer coding is not known";
	case 505: return "only HTTP/1.1 is spoken";
	default: return "the request is malformed";
	}
}

/* The head has `n` bytes; what came behind it is the body's. */
static void take_head(struct httpd_req *r, size_t n)
{
	struct str rest = STR_INIT(HTTPD_HEAD_MAX * 2);
	int status = httpd_head_parse(view_cut(str_view(&r->in), n), &r->head);

	if (status) {
		refuse(r, status, why_not(status));
		return;
	}
	if (!admit(r))
		return;
	if (str_add(&rest, view_from(str_view(&r->in), n)) < 0) {
		httpd_conn_free(r);
		return;
	}
	r->state = CONN_BODY;
	if (r->head.expects && rest.n == 0 && (r->head.chunked || r->head.length > 0)) {
		str_adds(&r->out, "HTTP/1.1 100 Continue\r\n\r\n");
		(void)watch_set(r->watch, WATCH_READ | WATCH_WRITE);
	}
	take_body(r, str_view(&rest));
	str_release(&rest);
}

static void feed_head(struct httpd_req *r, struct view piece)
{
	size_t seen = r->in.n;
	long n;

	if (str_add(&r->in, piece) < 0) {
		httpd_conn_free(r);
		return;
	}
	n = httpd_head_end(str_view(&r->in), seen);
	if (n < 0)
		refuse(r, 400, "a byte that has no place in a head");
	else if ((size_t)n > HTTPD_HEAD_MAX || (n == 0 && r->in.n >= HTTPD_HEAD_MAX))
		refuse(r, 431, "the head is too long");
	else if (n > 0)
		take_head(r, (size_t)n);
}

static void conn_on_readable(struct httpd_req *r)
{
	char buf[HTTPD_HEAD_MAX];
	ssize_t n = recv(r->fd, buf, sizeof buf, MSG_DONTWAIT);
	struct view piece = { buf, n > 0 ? (size_t)n : 0 };

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 && r->state == CONN_STREAM)
		drop(r);
	else if (n <= 0)
		httpd_conn_free(r);
	else if (r->state == CONN_HEAD)
		feed_head(r, piece);
	else if (r->state == CONN_BODY)
		take_body(r, piece);
	/* else: nothing is expected any more; it is read so that the end can be seen */
	explicit_bzero(buf, piece.n);
}

static void conn_on_ready(void *arg, int fd, int what)
{
	struct httpd_req *r = arg;

	(void)fd;
	if (what & WATCH_WRITE)
		conn_on_writable(r);
	else if (what & WATCH_READ)
		conn_on_readable(r);
}

static void conn_on_timer(void *arg)
{
	struct httpd_req *r = arg;
	void (*on_gone)(void *) = r->state == CONN_GONE ? r->on_gone : NULL;
	void *gone_arg = r->gone_arg;

	if (r->state == CONN_BODY || (r->state == CONN_HEAD && r->in.n > 0)) {
		refuse(r, 408, "the request was not complete in time");
		return;
	}
	httpd_conn_free(r);
	if (on_gone)
		on_gone(gone_arg);
}

void httpd_conn_open(struct httpd *h, int fd)
{
	struct httpd_req *r = calloc(1, sizeof *r);

	if (!r) {
		(void)close(fd);
		return;
	}
	r->server = h;
	r->fd = fd;
	r->in = (struct str)STR_INIT(2 * HTTPD_HEAD_MAX);
	r->path = (struct str)STR_INIT(HTTPD_HEAD_MAX);
	r->body = (struct str)STR_INIT(h->body_max);
	r->out = (struct str)STR_INIT(1024);
	TAILQ_INSERT_TAIL(&h->reqs, r, link);
	h->nreqs++;
	if (timer_new(&r->timer, h->loop, conn_on_timer, r, NULL) < 0 ||
		watch_new(&r->watch, h->loop, fd, WATCH_READ, conn_on_ready, r, NULL) < 0)
		httpd_conn_free(r);
	else
		timer_arm(r->timer, HTTPD_REQUEST_MS);
}

/* --- for the handler -------------------------------------------------------------------------- */

const char *httpd_method(const struct httpd_req *r)
{
	return r->head.method;
}

struct view httpd_path(const struct httpd_req *r)
{
	return str_view(&r->path);
}

struct view httpd_body(const struct httpd_req *r)
{
	return str_view(&r->body);
}

void httpd_reply(struct httpd_req **rp, int status, const char *type, struct view body)
{
	struct httpd_req *r = *rp;

	*rp = NULL;
	assert(r->state == CONN_PENDING);
	answer(r, status, type, body);
}

void httpd_stream_begin(struct httpd_req *r, const char *type, void (*on_gone)(void *), void *arg)
{
	assert(r->state == CONN_PENDING);
	r->state = CONN_STREAM;
	r->on_gone = on_gone;
	r->gone_arg = arg;
	r->out.max = r->server->stream_max + 1024; /* room for framing in any case */
	add_head(r, 200, type);
	/* Chunked, so that an end that was meant differs from one that was not. */
	str_adds(&r->out, "Transfer-Encoding: chunked\r\n\r\n");
	if (!str_ok(&r->out) || watch_set(r->watch, WATCH_READ | WATCH_WRITE) < 0)
		drop(r);
}

int httpd_stream_piece(struct httpd_req *r, struct view piece)
{
	assert(r->state == CONN_STREAM || r->state == CONN_GONE);
	if (r->state == CONN_GONE)
		return -1;
	if (piece.n == 0)
		return 0; /* an empty chunk would be the end */
	if (r->out_done > 0) {
		str_drop(&r->out, r->out_done);
		r->out_done = 0;
	}
	if (piece.n > r->server->stream_max || r->out.n + piece.n > r->server->stream_max) {
		log_warn(r->server->log, "httpd", "the reader of a stream is too slow: dropped");
		drop(r);
		return -1;
	}
	str_addf(&r->out, "%zx\r\n", piece.n);
	str_add(&r->out, piece);
	str_adds(&r->out, "\r\n");
	if (!str_ok(&r->out) || watch_set(r->watch, WATCH_READ | WATCH_WRITE) < 0) {
		drop(r);
		return -1;
	}
	return 0;
}

void httpd_stream_end(struct httpd_req **rp)
{
	struct httpd_req *r = *rp;

	*rp = NULL;
	assert(r->state == CONN_STREAM || r->state == CONN_GONE);
	if (r->state == CONN_GONE) {
		httpd_conn_free(r);
		return;
	}
	str_adds(&r->out, "0\r\n\r\n");
	finish(r);
}
