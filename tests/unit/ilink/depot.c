#include "depot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNS = 32, GOODS = 256, DELIVERIES = 256, KEPT = 64 << 10 };

struct conn {
	struct depot *d;
	int fd; /* -1: free */
	struct watch *w;
	struct str in; /* the head, while it is coming */
	int64_t left;  /* of the request's body; -1: no head yet */
	EVP_MD_CTX *md5;
	struct delivery *got;
	struct goods now;
	struct str head; /* of the answer */
	size_t sent;     /* of it and of what follows */
	bool answering;
};

struct depot {
	struct loop *loop;
	int fd;
	char url[64];
	struct watch *w;
	struct conn conns[CONNS];
	struct goods script[GOODS], always;
	size_t nscript, next;
	struct delivery got[DELIVERIES];
	size_t ngot;
};

static void conn_close(struct conn *c)
{
	watch_free(&c->w);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	EVP_MD_CTX_free(c->md5);
	c->md5 = NULL;
	str_release(&c->in);
	str_release(&c->head);
}

/* --- Answers ---------------------------------------------------------------------------------- */
static size_t goods_size(const struct goods *g)
{
	return g->body.n * (g->times ? g->times : 1) + g->tail.n;
}

/* What comes at this place of the answer's body, in one piece. */
static struct view piece_at(const struct goods *g, size_t at)
{
	size_t bodies = g->body.n * (g->times ? g->times : 1);
	struct view v =
		at < bodies ? view_from(g->body, at % g->body.n) : view_from(g->tail, at - bodies);

	return g->stop ? view_cut(v, at < g->stop ? g->stop - at : 0) : v;
}

static void conn_send(struct conn *c)
{
	for (;;) {
		struct view v = c->sent < c->head.n ? view_from(str_view(&c->head), c->sent)
		                                    : piece_at(&c->now, c->sent - c->head.n);
		ssize_t n;

		if (v.n == 0)
			break;
		n = send(c->fd, v.p, v.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			conn_close(c);
			return;
		}
		c->sent += (size_t)n;
	}
	c->answering = false;
	assert_int_equal(watch_set(c->w, WATCH_READ), 0);
	if (c->now.no_length || (c->now.stop && !c->now.hang))
		conn_close(c);
}

static const struct goods *depot_next(const struct depot *d)
{
	return d->next < d->nscript ? &d->script[d->next] : &d->always;
}

static void conn_answer(struct conn *c)
{
	struct depot *d = c->d;

	c->now = *depot_next(d);
	if (d->next < d->nscript)
		d->next++;
	if (c->now.silent || c->now.deaf)
		return;
	str_reset(&c->head);
	str_addf(&c->head, "HTTP/1.1 %d X\r\n%s", c->now.status ? c->now.status : 200,
		c->now.headers ? c->now.headers : "");
	if (!c->now.no_length)
		str_addf(&c->head, "Content-Length: %zu\r\n", goods_size(&c->now));
	str_adds(&c->head, "\r\n");
	c->sent = 0;
	c->answering = true;
	assert_int_equal(watch_set(c->w, WATCH_READ | WATCH_WRITE), 0);
}

/* --- Requests --------------------------------------------------------------------------------- */
static void conn_take_body(struct conn *c, struct view v)
{
	struct delivery *got = c->got;

	v = view_cut(v, (size_t)c->left);
	assert_int_equal(EVP_DigestUpdate(c->md5, v.p, v.n), 1);
	str_add(&got->body, view_cut(v, KEPT - got->body.n));
	got->size += (int64_t)v.n;
	c->left -= (int64_t)v.n;
}

static void conn_end_request(struct conn *c)
{
	unsigned char sum[16];

	assert_int_equal(EVP_DigestFinal_ex(c->md5, sum, NULL), 1);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(c->got->md5 + 2 * i, 3, "%02x", sum[i]);
	EVP_MD_CTX_free(c->md5);
	c->md5 = NULL;
	c->left = -1;
	if (!c->answering && !c->now.early)
		conn_answer(c);
}

/* The head is there, and maybe some of the body. */
static void conn_begin_request(struct conn *c, size_t head)
{
	struct depot *d = c->d;
	const char *length;

	assert_true(d->ngot < DELIVERIES);
	c->got = &d->got[d->ngot++];
	c->in.p[head - 2] = '\0';
	assert_int_equal(sscanf(c->in.p, "%7s %4095s", c->got->method, c->got->target), 2);
	c->got->head = strdup(strchr(c->in.p, '\n') + 1);
	c->got->body = (struct str)STR_INIT(KEPT);
	length = strcasestr(c->in.p, "\r\nContent-Length:");
	c->left = length ? (int64_t)strtoull(length + 17, NULL, 10) : 0;
	c->md5 = EVP_MD_CTX_new();
	assert_int_equal(EVP_DigestInit_ex(c->md5, EVP_md5(), NULL), 1);
	c->now = (struct goods){ 0 };
	if (depot_next(d)->early || depot_next(d)->deaf)
		conn_answer(c);
	if (c->now.deaf)
		assert_int_equal(watch_set(c->w, 0), 0);
	conn_take_body(c, view_from(str_view(&c->in), head));
	str_reset(&c->in);
}

static void conn_on_read(struct conn *c)
{
	char buf[65536];
	ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
	struct view v = { buf, n > 0 ? (size_t)n : 0 };
	const char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_close(c);
		return;
	}
	if (c->left < 0) {
		assert_int_equal(str_add(&c->in, v), 0);
		end = memmem(c->in.p, c->in.n, "\r\n\r\n", 4);
		if (!end)
			return;
		conn_begin_request(c, (size_t)(end - c->in.p) + 4);
		if (depot_next(c->d)->drop) {
			c->d->next++;
			conn_close(c);
			return;
		}
	} else {
		conn_take_body(c, v);
	}
	if (c->left == 0)
		conn_end_request(c);
}

static void conn_on_ready(void *arg, int fd, int what)
{
	struct conn *c = arg;

	(void)fd;
	if (what & WATCH_READ)
		conn_on_read(c);
	if (c->fd >= 0 && c->answering && (what & WATCH_WRITE))
		conn_send(c);
}

static void depot_on_accept(void *arg, int fd, int what)
{
	struct depot *d = arg;
	struct conn *c = NULL;

	(void)what;
	for (size_t i = 0; i < CONNS && !c; i++)
		if (d->conns[i].fd < 0)
			c = &d->conns[i];
	assert_non_null(c);
	*c = (struct conn){ .d = d,
		.left = -1,
		.in = STR_INIT(1 << 20),
		.head = STR_INIT(4096),
		.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC) };
	assert_true(c->fd >= 0);
	assert_int_equal(watch_new(&c->w, d->loop, c->fd, WATCH_READ, conn_on_ready, c, NULL), 0);
}

/* --- The whole -------------------------------------------------------------------------------- */
struct depot *depot_open(struct loop *l)
{
	struct depot *d = calloc(1, sizeof(*d));
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);

	assert_non_null(d);
	d->loop = l;
	d->always = (struct goods){ .status = 404 };
	for (size_t i = 0; i < CONNS; i++)
		d->conns[i].fd = -1;
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	d->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(d->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(d->fd, CONNS), 0);
	assert_int_equal(getsockname(d->fd, (struct sockaddr *)&sa, &len), 0);
	snprintf(d->url, sizeof(d->url), "http://127.0.0.1:%d/c2c", ntohs(sa.sin_port));
	assert_int_equal(watch_new(&d->w, l, d->fd, WATCH_READ, depot_on_accept, d, NULL), 0);
	return d;
}

void depot_close(struct depot **dp)
{
	struct depot *d = *dp;

	*dp = NULL;
	if (!d)
		return;
	for (size_t i = 0; i < CONNS; i++)
		conn_close(&d->conns[i]);
	watch_free(&d->w);
	close(d->fd);
	for (size_t i = 0; i < d->ngot; i++) {
		free(d->got[i].head);
		str_release(&d->got[i].body);
	}
	free(d);
}

const char *depot_url(const struct depot *d)
{
	return d->url;
}

void depot_push(struct depot *d, const struct goods *g)
{
	assert_true(d->nscript < GOODS);
	d->script[d->nscript++] = *g;
}

void depot_always(struct depot *d, const struct goods *g)
{
	d->always = *g;
}

size_t depot_count(const struct depot *d)
{
	return d->ngot;
}

const struct delivery *depot_got(const struct depot *d, size_t i)
{
	assert_true(i < d->ngot);
	return &d->got[i];
}

size_t depot_now(const struct depot *d)
{
	size_t n = 0;

	for (size_t i = 0; i < CONNS; i++)
		n += d->conns[i].fd >= 0;
	return n;
}
