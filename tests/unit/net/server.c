#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct conn {
	TAILQ_ENTRY(conn) link;
	struct server *server;
	int fd;
	SSL *ssl;
	struct watch *watch;
	struct timer *timer;
	struct str in;               /* of the request that is coming in */
	const struct answer *answer; /* on its way out, NULL: none */
	size_t sent;
	bool held, waited;
};

struct server {
	struct loop *loop;
	struct server_opts o;
	struct answer *answers;
	int fd, port, accepted, requests;
	struct watch *watch;
	TAILQ_HEAD(conns, conn) conns;
	struct str heard;
};

static void conn_free(struct conn *c)
{
	TAILQ_REMOVE(&c->server->conns, c, link);
	watch_free(&c->watch);
	timer_free(&c->timer);
	SSL_free(c->ssl);
	close(c->fd);
	str_release(&c->in);
	free(c);
}

static void conn_end(struct conn *c, enum then then)
{
	struct linger hard = { .l_onoff = 1 };

	if (then == THEN_RESET)
		assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
	if (then == THEN_CLOSE && c->ssl)
		(void)SSL_shutdown(c->ssl);
	conn_free(c);
}

/* Bytes moved, 0 at the end of the stream, -1: not now. */
static ssize_t conn_read(struct conn *c, char *buf, size_t size)
{
	ssize_t n;

	if (c->ssl) {
		int rc = SSL_read(c->ssl, buf, (int)size);
		int why = SSL_get_error(c->ssl, rc);

		if (rc > 0)
			return rc;
		return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? -1 : 0;
	}
	n = read(c->fd, buf, size);
	return n >= 0 ? n : errno == EAGAIN ? -1 : 0;
}

static ssize_t conn_write(struct conn *c, const char *p, size_t n)
{
	ssize_t done;

	if (c->ssl) {
		int rc = SSL_write(c->ssl, p, (int)n);
		int why = SSL_get_error(c->ssl, rc);

		if (rc > 0)
			return rc;
		return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? -1 : 0;
	}
	done = send(c->fd, p, n, MSG_NOSIGNAL);
	return done > 0 ? done : errno == EAGAIN ? -1 : 0;
}

/* What of the answer comes at `sent`, in one piece. */
static struct view next_piece(const struct conn *c)
{
	const struct answer *a = c->answer;
	size_t at = c->sent;

	if (at < a->bytes.n)
		return view_from(a->bytes, at);
	at -= a->bytes.n;
	if (a->more.n == 0 || at >= a->more.n * a->times)
		return VIEW_NONE;
	return view_from(a->more, at % a->more.n);
}

static void conn_send(struct conn *c)
{
	const struct answer *a = c->answer;

	for (;;) {
		struct view piece = next_piece(c);
		ssize_t n;

		if (piece.n == 0)
			break;
		if (a->step > 0)
			piece = view_cut(piece, a->step);
		n = conn_write(c, piece.p, piece.n);
		if (n == 0) {
			conn_free(c);
			return;
		}
		if (n < 0) {
			timer_arm(c->timer, 1);
			return;
		}
		c->sent += (size_t)n;
		if (a->step > 0) {
			timer_arm(c->timer, a->every_ms);
			return;
		}
	}
	c->answer = NULL;
	c->sent = 0;
	if (a->then == THEN_CLOSE || a->then == THEN_RESET)
		conn_end(c, a->then);
	else
		c->held = a->then == THEN_HOLD;
}

static void conn_on_timer(void *arg)
{
	struct conn *c = arg;

	/* Timers follow the descriptors in a pass: one pass more lets the client read this piece
	 * before the next one comes. */
	c->waited = !c->waited;
	if (c->answer && c->waited)
		timer_arm(c->timer, 0);
	else if (c->answer)
		conn_send(c); /* c may be gone */
}

static const struct answer *next_answer(const struct server *s)
{
	size_t i = (size_t)s->requests;

	return &s->answers[i < s->o.nanswers ? i : s->o.nanswers - 1];
}

static void conn_answer(struct conn *c)
{
	c->answer = next_answer(c->server);
	c->server->requests++;
	conn_send(c);
}

/* Length of the whole request at the start of `in`, or of its head; 0: not whole yet. */
static size_t request_length(struct view in, bool head_only)
{
	const char *end = memmem(in.p, in.n, "\r\n\r\n", 4);
	size_t head;
	const char *length;
	unsigned long long body = 0;

	if (!end)
		return 0;
	head = (size_t)(end - in.p) + 4;
	length = head_only ? NULL : memmem(in.p, head, "Content-Length: ", 16);
	if (length) {
		struct view digits = view_from(in, (size_t)(length - in.p) + 16);

		digits = view_cut(digits, view_find(digits, '\r'));
		assert_int_equal(parse_u64(digits, &body), 0);
	}
	return in.n - head >= body ? head + (size_t)body : 0;
}

static void conn_on_ready(void *arg, int fd, int what)
{
	struct conn *c = arg;
	char buf[16384];
	ssize_t n;
	size_t whole;

	(void)fd;
	(void)what;
	n = conn_read(c, buf, sizeof buf);
	if (n == 0)
		conn_free(c);
	if (n <= 0)
		return;
	str_add(&c->in, (struct view){ buf, (size_t)n });
	str_add(&c->server->heard, (struct view){ buf, (size_t)n });
	whole = request_length(str_view(&c->in), next_answer(c->server)->early);
	if (whole == 0 || c->answer || c->held)
		return;
	str_drop(&c->in, whole);
	conn_answer(c);
}

static void server_on_accept(void *arg, int fd, int what)
{
	struct server *s = arg;
	struct conn *c = calloc(1, sizeof *c);
	const struct answer *first = &s->answers[0];

	(void)what;
	assert_non_null(c);
	c->server = s;
	c->in = (struct str)STR_INIT(1 << 26);
	c->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(c->fd >= 0);
	TAILQ_INSERT_TAIL(&s->conns, c, link);
	s->accepted++;
	if (s->o.tls) {
		c->ssl = SSL_new(s->o.tls);
		assert_non_null(c->ssl);
		SSL_set_fd(c->ssl, c->fd);
		SSL_set_accept_state(c->ssl);
	}
	assert_int_equal(timer_new(&c->timer, s->loop, conn_on_timer, c, NULL), 0);
	assert_int_equal(watch_new(&c->watch, s->loop, c->fd, first->deaf ? 0 : WATCH_READ,
				 conn_on_ready, c, NULL),
		0);
	if (first->at_once)
		conn_answer(c);
}

static void bind_unix(int fd, const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	assert_int_equal(copy_z(un.sun_path, sizeof un.sun_path, view_of(path)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
}

static void bind_tcp(struct server *s, const char *ip)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	bool v6 = strchr(ip, ':') != NULL;
	struct sockaddr *sa = v6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in;
	socklen_t n = v6 ? sizeof in6 : sizeof in;

	assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, ip,
				 v6 ? (void *)&in6.sin6_addr : (void *)&in.sin_addr),
		1);
	assert_int_equal(bind(s->fd, sa, n), 0);
	assert_int_equal(getsockname(s->fd, sa, &n), 0);
	s->port = ntohs(v6 ? in6.sin6_port : in.sin_port);
}

void server_open(struct server **out, struct loop *l, const struct server_opts *o)
{
	struct server *s = calloc(1, sizeof *s);
	const char *ip = o->ip ? o->ip : "127.0.0.1";
	int family = o->unix_path ? AF_UNIX : strchr(ip, ':') ? AF_INET6 : AF_INET;

	assert_non_null(s);
	s->loop = l;
	s->o = *o;
	s->heard = (struct str)STR_INIT(1 << 26);
	s->answers = calloc(o->nanswers, sizeof *s->answers);
	assert_non_null(s->answers);
	memcpy(s->answers, o->answers, o->nanswers * sizeof *s->answers);
	TAILQ_INIT(&s->conns);
	s->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(s->fd >= 0);
	if (o->unix_path)
		bind_unix(s->fd, o->unix_path);
	else
		bind_tcp(s, ip);
	assert_int_equal(listen(s->fd, 64), 0);
	assert_int_equal(watch_new(&s->watch, l, s->fd, WATCH_READ, server_on_accept, s, NULL), 0);
	*out = s;
}

void server_close(struct server **sp)
{
	struct server *s = *sp;
	struct conn *c, *next;

	*sp = NULL;
	if (!s)
		return;
	for (c = TAILQ_FIRST(&s->conns); c; c = next) {
		next = TAILQ_NEXT(c, link);
		conn_free(c);
	}
	watch_free(&s->watch);
	close(s->fd);
	free(s->answers);
	str_release(&s->heard);
	free(s);
}

int server_port(const struct server *s)
{
	return s->port;
}

int server_accepted(const struct server *s)
{
	return s->accepted;
}

int server_open_now(const struct server *s)
{
	const struct conn *c;
	int n = 0;

	TAILQ_FOREACH(c, &s->conns, link)
	n++;
	return n;
}

int server_requests(const struct server *s)
{
	return s->requests;
}

const char *server_heard(const struct server *s)
{
	return str_cstr(&s->heard);
}

struct view server_heard_view(const struct server *s)
{
	return str_view(&s->heard);
}
