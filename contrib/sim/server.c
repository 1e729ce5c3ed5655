#include "server.h"

#include <ctype.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "small.h"

#define CONNS_MAX   256
#define HEAD_MAX    ((size_t)64 << 10)
#define HEADERS_MAX 64
#define READ_AHEAD  ((size_t)256 << 10) /* bytes kept of what follows an unanswered request */

enum chunk_state { CHUNK_SIZE, CHUNK_DATA, CHUNK_CRLF, CHUNK_TRAILER };
enum conn_state { CONN_HEAD, CONN_BODY, CONN_BUSY, CONN_LAST };

struct conn {
	struct server *srv;
	struct conn *next, **link;
	struct bufferevent *bev;
	struct event *kick; /* goes on with what is already read */
	struct hreq *req;
	enum conn_state state;
	bool reading, dead; /* a handler runs inside conn_read; free when it returns */
};

struct header {
	const char *name, *value;
};

struct hreq {
	struct conn *conn;
	char *head; /* the text that all pointers below point into */
	char *method, *path, *query;
	struct header headers[HEADERS_MAX];
	size_t nheaders;
	struct str body;
	size_t want; /* bytes of the body, or of the chunk, still to come */
	enum chunk_state chunk;
	bool chunked, keep, out_chunked;
	struct ev_token_bucket_cfg *pace; /* of a body that is read slowly; or NULL */
	bool cut;                         /* the body, once there are so many bytes of it: */
	size_t cut_at;
	void (*gone)(void *arg);
	void *gone_arg;
};

struct server {
	struct event_base *base;
	struct evconnlistener *listener;
	struct server_opts o;
	struct conn *conns;
	size_t nconns;
	int port;
};

/* --- Connections ------------------------------------------------------------------------------ */
static void hreq_free(struct hreq **rp)
{
	struct hreq *r = *rp;

	*rp = NULL;
	if (!r)
		return;
	r->conn->req = NULL;
	if (r->pace) {
		bufferevent_set_rate_limit(r->conn->bev, NULL);
		ev_token_bucket_cfg_free(r->pace);
	}
	str_release(&r->body);
	free(r->head);
	free(r);
}

static void conn_free(struct conn *c)
{
	struct hreq *r = c->req;

	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->srv->nconns--;
	if (r) {
		if (r->gone)
			r->gone(r->gone_arg);
		hreq_free(&r);
	}
	event_free(c->kick);
	bufferevent_free(c->bev);
	free(c);
}

static void conn_end(struct conn *c)
{
	if (c->reading)
		c->dead = true;
	else
		conn_free(c);
}

/* --- Parsing ---------------------------------------------------------------------------------- */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place; a NUL or a malformed escape stays as it was written. */
static void percent_decode(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		int hi = *s == '%' ? hex_digit(s[1]) : -1;
		int lo = hi >= 0 ? hex_digit(s[2]) : -1;

		if (lo >= 0 && hi + lo > 0) {
			*to = (char)(hi * 16 + lo);
			s += 2;
		} else {
			*to = *s;
		}
	}
	*to = '\0';
}

/* RFC 9110, 5.6.2; the letters of what names a method or a header. */
static bool is_token(const char *s)
{
	return *s && all_of(view_of(s), "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
					"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static int parse_request_line(struct hreq *r, char *line)
{
	char *sp1 = strchr(line, ' '), *sp2 = sp1 ? strchr(sp1 + 1, ' ') : NULL, *q;

	if (!sp2 || sp1 == line || sp1[1] != '/')
		return -1;
	*sp1 = *sp2 = '\0';
	if (!is_token(line) ||
		(strcmp(sp2 + 1, "HTTP/1.1") != 0 && strcmp(sp2 + 1, "HTTP/1.0") != 0))
		return -1;
	r->keep = sp2[8] == '1';
	r->method = line;
	r->path = sp1 + 1;
	q = strchr(r->path, '?');
	r->query = q ? q + 1 : sp2;
	if (q)
		*q = '\0';
	percent_decode(r->path);
	return 0;
}

static int parse_header_line(struct hreq *r, char *line)
{
	char *colon = strchr(line, ':'), *end;

	if (!colon || colon == line || r->nheaders == HEADERS_MAX)
		return -1;
	*colon++ = '\0';
	if (!is_token(line))
		return -1;
	while (*colon == ' ' || *colon == '\t')
		colon++;
	for (end = colon + strlen(colon); end > colon && (end[-1] == ' ' || end[-1] == '\t');)
		*--end = '\0';
	r->headers[r->nheaders++] = (struct header){ line, colon };
	return 0;
}

/* What the header says of the body and of the connection; an HTTP status, or 0. */
static int parse_framing(struct hreq *r, size_t body_max)
{
	const char *te = hreq_header(r, "Transfer-Encoding"), *conn = hreq_header(r, "Connection");
	const char *len = hreq_header(r, "Content-Length");
	unsigned long long n = 0;

	if (conn && strcasecmp(conn, "close") == 0)
		r->keep = false;
	if (te) {
		if (strcasecmp(te, "chunked") != 0 || len)
			return 400;
		r->chunked = true;
		return 0;
	}
	if (!len)
		return 0;
	if (hreq_header_count(r, "Content-Length") != 1 || parse_u64(view_of(len), &n) < 0)
		return 400;
	if (n > body_max)
		return 413;
	r->want = (size_t)n;
	return 0;
}

static int parse_head(struct hreq *r, size_t body_max)
{
	char *line = r->head, *eol = strstr(line, "\r\n");

	if (!eol)
		return 400;
	*eol = '\0';
	if (parse_request_line(r, line) < 0)
		return 400;
	for (line = eol + 2; *line; line = eol + 2) {
		eol = strstr(line, "\r\n");
		if (!eol || eol == line)
			break;
		*eol = '\0';
		if (parse_header_line(r, line) < 0)
			return 400;
	}
	return parse_framing(r, body_max);
}

/* --- Reading ---------------------------------------------------------------------------------- */
static void conn_refuse(struct conn *c, int status)
{
	struct hreply a = { .status = status, .type = "text/plain", .close = true };

	hreq_reply(&c->req, &a);
}

/* 1: a request head is there; 0: more is needed. */
static int conn_take_head(struct conn *c, struct evbuffer *in)
{
	struct evbuffer_ptr at = evbuffer_search(in, "\r\n\r\n", 4, NULL);
	const char *expect;
	struct hreq *r;
	size_t n;
	int status;

	if (at.pos < 0 && evbuffer_get_length(in) <= HEAD_MAX)
		return 0;
	n = at.pos < 0 ? HEAD_MAX : (size_t)at.pos + 4;
	r = calloc(1, sizeof(*r));
	if (!r || !(r->head = malloc(n + 1))) {
		free(r);
		c->dead = true;
		return 0;
	}
	r->body = (struct str)STR_INIT(c->srv->o.body_max);
	r->conn = c;
	c->req = r;
	c->state = CONN_BODY;
	evbuffer_remove(in, r->head, n);
	r->head[n] = '\0';
	status = at.pos < 0 || strlen(r->head) != n ? 400 : parse_head(r, c->srv->o.body_max);
	if (status) {
		if (!r->method)
			r->method = r->path = r->query = r->head + n;
		conn_refuse(c, status);
		return 0;
	}
	expect = hreq_header(r, "Expect");
	if (expect && strcasecmp(expect, "100-continue") == 0)
		bufferevent_write(c->bev, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	if (c->srv->o.head)
		c->srv->o.head(c->srv->o.arg, r);
	return 1;
}

static int body_take(struct hreq *r, struct evbuffer *in)
{
	size_t n = evbuffer_get_length(in);
	ev_ssize_t got;

	n = n < r->want ? n : r->want;
	/* What is announced at once: growing would hold it twice. */
	if (n && str_reserve(&r->body, r->chunked ? n : r->want) < 0)
		return -1;
	if (n) {
		got = evbuffer_remove(in, r->body.p + r->body.n, n);
		str_grew(&r->body, got > 0 ? (size_t)got : 0);
		r->want -= got > 0 ? (size_t)got : 0;
	}
	return r->want == 0;
}

static int chunk_size(const char *line, size_t *out)
{
	size_t n = 0;
	int digits = 0;

	for (; hex_digit(*line) >= 0; line++, digits++) {
		if (digits == 8)
			return -1;
		n = n * 16 + (size_t)hex_digit(*line);
	}
	*out = n;
	return digits && (*line == '\0' || *line == ';') ? 0 : -1;
}

/* A line between the data: 1: that was the end, 0: go on, -1: malformed. */
static int chunk_line(struct hreq *r, const char *line, size_t len)
{
	switch (r->chunk) {
	case CHUNK_SIZE:
		if (chunk_size(line, &r->want) < 0)
			return -1;
		r->chunk = r->want ? CHUNK_DATA : CHUNK_TRAILER;
		return 0;
	case CHUNK_DATA: return -1;
	case CHUNK_CRLF: r->chunk = CHUNK_SIZE; return len ? -1 : 0;
	case CHUNK_TRAILER: break;
	}
	return len == 0;
}

/* 1: whole, 0: more is needed, -1: malformed or too long. */
static int chunks_take(struct hreq *r, struct evbuffer *in)
{
	for (;;) {
		size_t len;
		char *line;
		int rc;

		if (r->chunk == CHUNK_DATA) {
			rc = body_take(r, in);
			if (rc != 1)
				return rc;
			r->chunk = CHUNK_CRLF;
		}
		line = evbuffer_readln(in, &len, EVBUFFER_EOL_CRLF_STRICT);
		if (!line)
			return evbuffer_get_length(in) > HEAD_MAX ? -1 : 0;
		rc = chunk_line(r, line, len);
		free(line);
		if (rc)
			return rc;
	}
}

static int conn_take_body(struct conn *c, struct evbuffer *in)
{
	int rc = c->req->chunked ? chunks_take(c->req, in) : body_take(c->req, in);

	if (c->req->cut && c->req->body.n >= c->req->cut_at)
		hreq_drop(&c->req, true);
	else if (rc < 0)
		conn_refuse(c, 413);
	else
		return rc == 1;
	return 0;
}

static void conn_read(struct conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);

	c->reading = true;
	while (!c->dead) {
		if (c->state == CONN_HEAD && !conn_take_head(c, in))
			break;
		if (c->state != CONN_BODY || !conn_take_body(c, in))
			break;
		c->state = CONN_BUSY;
		bufferevent_setwatermark(c->bev, EV_READ, 0, READ_AHEAD);
		c->srv->o.cb(c->srv->o.arg, c->req);
	}
	c->reading = false;
	if (c->dead)
		conn_free(c);
}

static void conn_on_read(struct bufferevent *bev, void *arg)
{
	struct conn *c = arg;

	(void)bev;
	if (c->state == CONN_HEAD || c->state == CONN_BODY)
		conn_read(c);
}

static void conn_on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	conn_on_read(NULL, arg);
}

static void conn_on_write(struct bufferevent *bev, void *arg)
{
	struct conn *c = arg;

	if (c->state == CONN_LAST && evbuffer_get_length(bufferevent_get_output(bev)) == 0)
		conn_end(c);
}

static void conn_on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
		conn_end(arg);
}

static struct bufferevent *conn_bufferevent(struct server *s, evutil_socket_t fd)
{
	int opts = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
	struct bufferevent *bev;
	SSL *ssl;

	if (!s->o.tls)
		return bufferevent_socket_new(s->base, fd, opts);
	ssl = SSL_new(s->o.tls);
	if (!ssl)
		return NULL;
	bev = bufferevent_openssl_socket_new(s->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, opts);
	if (bev)
		bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	else
		SSL_free(ssl);
	return bev;
}

static void server_on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa,
	int len, void *arg)
{
	struct server *s = arg;
	struct conn *c = s->nconns < CONNS_MAX ? calloc(1, sizeof(*c)) : NULL;
	int one = 1;

	(void)l;
	(void)sa;
	(void)len;
	if (c)
		c->kick = event_new(s->base, -1, 0, conn_on_kick, c);
	if (!c || !c->kick || !(c->bev = conn_bufferevent(s, fd))) {
		if (c && c->kick)
			event_free(c->kick);
		free(c);
		close(fd);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->srv = s;
	c->next = s->conns;
	c->link = &s->conns;
	if (c->next)
		c->next->link = &c->next;
	s->conns = c;
	s->nconns++;
	bufferevent_setcb(c->bev, conn_on_read, conn_on_write, conn_on_event, c);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

/* --- Server ----------------------------------------------------------------------------------- */
int server_open(struct server **out, struct event_base *base, const struct server_opts *o,
	struct err *e)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons((uint16_t)o->port) };
	unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
	struct server *s = calloc(1, sizeof(*s));
	socklen_t len = sizeof(sin);

	*out = NULL;
	if (!s)
		return err_set(e, E_NOMEM, "out of memory");
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->base = base;
	s->o = *o;
	s->listener = evconnlistener_new_bind(base, server_on_accept, s, flags, 128,
		(struct sockaddr *)&sin, (int)sizeof(sin));
	if (!s->listener) {
		free(s);
		return err_sys(e, "cannot listen on 127.0.0.1:%d", o->port);
	}
	(void)getsockname(evconnlistener_get_fd(s->listener), (struct sockaddr *)&sin, &len);
	s->port = ntohs(sin.sin_port);
	*out = s;
	return 0;
}

void server_close(struct server **sp)
{
	struct server *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	evconnlistener_free(s->listener);
	for (struct conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		conn_free(c);
	}
	free(s);
}

int server_port(const struct server *s)
{
	return s->port;
}

/* --- The request ------------------------------------------------------------------------------ */
const char *hreq_method(const struct hreq *r)
{
	return r->method;
}

const char *hreq_path(const struct hreq *r)
{
	return r->path;
}

const char *hreq_query(const struct hreq *r)
{
	return r->query;
}

int hreq_param(const struct hreq *r, const char *name, struct str *out)
{
	size_t len = strlen(name);
	const char *p = r->query;

	while (*p) {
		size_t n = strcspn(p, "&");

		if (n > len && p[len] == '=' && strncmp(p, name, len) == 0) {
			char *value = strndup(p + len + 1, n - len - 1);
			int rc;

			if (!value)
				return -1;
			for (char *c = value; *c; c++)
				if (*c == '+')
					*c = ' ';
			percent_decode(value);
			rc = str_adds(out, value);
			free(value);
			return rc < 0 ? -1 : 1;
		}
		p += n + (p[n] == '&');
	}
	return 0;
}

const char *hreq_header(const struct hreq *r, const char *name)
{
	for (size_t i = 0; i < r->nheaders; i++)
		if (strcasecmp(r->headers[i].name, name) == 0)
			return r->headers[i].value;
	return NULL;
}

size_t hreq_header_count(const struct hreq *r, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nheaders; i++)
		n += strcasecmp(r->headers[i].name, name) == 0;
	return n;
}

bool hreq_header_at(const struct hreq *r, size_t i, const char **name, const char **value)
{
	if (i >= r->nheaders)
		return false;
	*name = r->headers[i].name;
	*value = r->headers[i].value;
	return true;
}

struct view hreq_body(const struct hreq *r)
{
	return str_view(&r->body);
}

struct str *hreq_body_str(struct hreq *r)
{
	return &r->body;
}

void hreq_slow_body(struct hreq *r, size_t bytes, int64_t ms)
{
	struct timeval tick = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	int little = (int)READ_AHEAD;

	if (ms < 1) /* libevent divides by it */
		tick = (struct timeval){ .tv_usec = 1000 };
	r->pace =
		ev_token_bucket_cfg_new(bytes, bytes, EV_RATE_LIMIT_MAX, EV_RATE_LIMIT_MAX, &tick);
	if (r->pace)
		bufferevent_set_rate_limit(r->conn->bev, r->pace);
	/* What waits in the kernel is as good as read to the one who sends. */
	(void)setsockopt(bufferevent_getfd(r->conn->bev), SOL_SOCKET, SO_RCVBUF, &little,
		sizeof(little));
}

void hreq_cut_body(struct hreq *r, size_t bytes)
{
	r->cut = true;
	r->cut_at = bytes;
}

bool hreq_chunked(const struct hreq *r)
{
	return r->chunked;
}

void hreq_on_gone(struct hreq *r, void (*cb)(void *arg), void *arg)
{
	r->gone = cb;
	r->gone_arg = arg;
}

bool hreq_peer_left(const struct hreq *r)
{
	char byte;
	ssize_t n = recv(bufferevent_getfd(r->conn->bev), &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	/* A client with a request open has nothing more to say but good-bye (over TLS: an alert).
	 */
	return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* --- The answer ------------------------------------------------------------------------------- */
static const char *reason(int status)
{
	switch (status) {
	case 200: return "OK";
	case 204: return "No Content";
	case 302: return "Found";
	case 400: return "Bad Request";
	case 401: return "Unauthorized";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 409: return "Conflict";
	case 413: return "Content Too Large";
	case 429: return "Too Many Requests";
	case 500: return "Internal Server Error";
	case 502: return "Bad Gateway";
	case 503: return "Service Unavailable";
	case 504: return "Gateway Timeout";
	case 524: return "A Timeout Occurred";
	default: return "Status";
	}
}

static void write_head(struct hreq *r, const struct hreply *a, int64_t length)
{
	struct evbuffer *out = bufferevent_get_output(r->conn->bev);

	if (a->close)
		r->keep = false;
	evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\n", a->status, reason(a->status));
	evbuffer_add_printf(out, "Content-Type: %s\r\n", a->type ? a->type : "application/json");
	if (a->extra)
		evbuffer_add(out, a->extra, strlen(a->extra));
	if (length >= 0)
		evbuffer_add_printf(out, "Content-Length: %lld\r\n", (long long)length);
	else
		evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n");
	evbuffer_add_printf(out, "Connection: %s\r\n\r\n", r->keep ? "keep-alive" : "close");
}

/* The answer is complete: forget the request, go on with the connection or end it. */
static void hreq_finish(struct hreq **rp, bool keep)
{
	struct conn *c = (*rp)->conn;

	hreq_free(rp);
	if (!keep) {
		c->state = CONN_LAST;
		if (evbuffer_get_length(bufferevent_get_output(c->bev)) == 0)
			conn_end(c);
		return;
	}
	c->state = CONN_HEAD;
	bufferevent_setwatermark(c->bev, EV_READ, 0, 0);
	if (!c->reading && evbuffer_get_length(bufferevent_get_input(c->bev)))
		event_active(c->kick, EV_TIMEOUT, 0);
}

static void release_body(const void *data, size_t n, void *reply)
{
	struct hreply *a = reply;

	(void)data;
	(void)n;
	a->release(a->release_arg);
	free(a);
}

static void write_body(struct hreq *r, const struct hreply *a, size_t n)
{
	struct evbuffer *out = bufferevent_get_output(r->conn->bev);
	struct hreply *kept = a->release ? malloc(sizeof(*kept)) : NULL;

	if (kept)
		*kept = *a;
	if (n && kept && evbuffer_add_reference(out, a->body.p, n, release_body, kept) == 0)
		return;
	free(kept);
	if (n)
		evbuffer_add(out, a->body.p, n);
	if (a->release)
		a->release(a->release_arg);
}

void hreq_reply(struct hreq **rp, const struct hreply *a)
{
	struct hreq *r = *rp;

	*rp = NULL;
	write_head(r, a, (int64_t)a->body.n);
	write_body(r, a, a->body.n);
	hreq_finish(&r, r->keep);
}

void hreq_cut(struct hreq **rp, const struct hreply *a, size_t bytes)
{
	struct hreq *r = *rp;

	*rp = NULL;
	write_head(r, a, (int64_t)a->body.n);
	write_body(r, a, bytes < a->body.n ? bytes : a->body.n);
	hreq_finish(&r, false);
}

void hreq_begin(struct hreq *r, const struct hreply *a, int64_t length)
{
	r->out_chunked = length < 0;
	write_head(r, a, length);
}

void hreq_piece(struct hreq *r, struct view v)
{
	struct evbuffer *out = bufferevent_get_output(r->conn->bev);

	if (!v.n)
		return;
	if (r->out_chunked)
		evbuffer_add_printf(out, "%zx\r\n", v.n);
	evbuffer_add(out, v.p, v.n);
	if (r->out_chunked)
		evbuffer_add(out, "\r\n", 2);
}

size_t hreq_pending(const struct hreq *r)
{
	return evbuffer_get_length(bufferevent_get_output(r->conn->bev));
}

void hreq_end(struct hreq **rp)
{
	struct hreq *r = *rp;

	*rp = NULL;
	if (r->out_chunked)
		bufferevent_write(r->conn->bev, "0\r\n\r\n", 5);
	hreq_finish(&r, r->keep);
}

void hreq_drop(struct hreq **rp, bool reset)
{
	struct linger hard = { .l_onoff = 1, .l_linger = 0 };
	struct hreq *r = *rp;
	struct conn *c = r->conn;

	*rp = NULL;
	if (!reset) {
		hreq_finish(&r, false);
		return;
	}
	(void)setsockopt(bufferevent_getfd(c->bev), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	hreq_free(&r);
	conn_end(c);
}
