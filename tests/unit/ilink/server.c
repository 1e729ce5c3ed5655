#include "server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNS = 64, REQUESTS = 4096, SCRIPT = 512 };

enum kind { ANSWER, HANG, CUT, HALF };

struct step {
	char endpoint[32];
	enum kind kind;
	bool always, used;
	int status;
	struct str body;
};

struct conn {
	struct server *s;
	int fd; /* -1: free */
	struct watch *w;
	struct str in;
	char hangs[32]; /* the endpoint; "" when idle */
	int64_t since;
};

struct server {
	struct loop *loop;
	int fd, port;
	char url[64];
	struct watch *w;
	struct conn conns[CONNS];
	struct request *requests;
	size_t nrequests;
	struct step script[SCRIPT];
	size_t nscript;
};

static void endpoint_of(const char *target, char out[32])
{
	struct view v = view_of(target);
	const char *slash;

	v = view_cut(v, view_find(v, '?'));
	slash = memrchr(v.p, '/', v.n);
	if (slash)
		v = view_from(v, (size_t)(slash - v.p) + 1);
	assert_int_equal(copy_z(out, 32, v), 0);
}

static void conn_close(struct conn *c)
{
	watch_free(&c->w);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->hangs[0] = '\0';
	str_release(&c->in);
}

static void write_all(struct conn *c, const char *p, size_t n)
{
	while (n) {
		ssize_t w = send(c->fd, p, n, MSG_NOSIGNAL);

		if (w < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (w <= 0)
			return;
		p += w;
		n -= (size_t)w;
	}
}

static void conn_reply(struct conn *c, int status, struct view body, bool half)
{
	struct str all = STR_INIT(16 << 20);

	c->hangs[0] = '\0';
	str_addf(&all, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nContent-Type: %s\r\n\r\n", status,
		body.n + (half ? 100 : 0), status == 200 ? "application/json" : "text/html");
	str_add(&all, body);
	write_all(c, all.p, all.n); /* in one: a second small write would wait for an ACK */
	str_release(&all);
	if (half)
		conn_close(c);
}

static struct step *next_step(struct server *s, const char *endpoint)
{
	struct step *always = NULL;

	for (size_t i = 0; i < s->nscript; i++) {
		struct step *t = &s->script[i];

		if (strcmp(t->endpoint, endpoint) != 0)
			continue;
		if (t->always)
			always = t; /* the last one counts */
		else if (!t->used)
			return t;
	}
	return always;
}

static void conn_play(struct conn *c, const char *endpoint)
{
	struct step *t = next_step(c->s, endpoint);
	enum kind kind = t ? t->kind : ANSWER;
	bool hangs_by_nature =
		strcmp(endpoint, "getupdates") == 0 || strcmp(endpoint, "get_qrcode_status") == 0;

	if (t)
		t->used = true;
	else if (hangs_by_nature)
		kind = HANG;
	if (kind == HANG) {
		(void)copy_z(c->hangs, sizeof(c->hangs), view_of(endpoint));
		c->since = loop_now(c->s->loop);
	} else if (kind == CUT) {
		conn_close(c);
	} else if (kind == HALF) {
		conn_reply(c, 200, VIEW("{\"ret\":"), true);
	} else {
		conn_reply(c, t ? t->status : 200, t ? str_view(&t->body) : VIEW("{}"), false);
	}
}

/* One whole request at the start of the buffer: 1, or 0. */
static int take_request(struct conn *c)
{
	struct server *s = c->s;
	struct request *r = &s->requests[s->nrequests];
	char *end = c->in.n ? memmem(c->in.p, c->in.n, "\r\n\r\n", 4) : NULL;
	char *length, endpoint[32];
	size_t head, body = 0;

	if (!end)
		return 0;
	head = (size_t)(end - c->in.p) + 4;
	*end = '\0';
	length = strcasestr(c->in.p, "\r\nContent-Length:");
	if (length)
		body = strtoul(length + 17, NULL, 10);
	if (c->in.n < head + body) {
		*end = '\r';
		return 0;
	}
	assert_true(s->nrequests < REQUESTS);
	assert_int_equal(sscanf(c->in.p, "%7s %2047s", r->method, r->target), 2);
	r->head = strdup(strchr(c->in.p, '\n') + 1);
	r->body = calloc(1, body + 1);
	assert_non_null(r->body);
	memcpy(r->body, c->in.p + head, body);
	r->body_size = body;
	r->at = loop_now(s->loop);
	s->nrequests++;
	str_drop(&c->in, head + body);
	endpoint_of(r->target, endpoint);
	conn_play(c, endpoint);
	return 1;
}

static void conn_on_read(void *arg, int fd, int what)
{
	struct conn *c = arg;
	char buf[65536];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_close(c);
		return;
	}
	assert_int_equal(str_add(&c->in, (struct view){ buf, (size_t)n }), 0);
	while (c->fd >= 0 && !c->hangs[0] && take_request(c))
		;
}

static void server_on_accept(void *arg, int fd, int what)
{
	struct server *s = arg;
	struct conn *c = NULL;

	(void)what;
	for (size_t i = 0; i < CONNS && !c; i++)
		if (s->conns[i].fd < 0)
			c = &s->conns[i];
	assert_non_null(c);
	c->s = s;
	c->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(c->fd >= 0);
	c->in = (struct str)STR_INIT(8 << 20);
	assert_int_equal(watch_new(&c->w, s->loop, c->fd, WATCH_READ, conn_on_read, c, NULL), 0);
}

struct server *server_open(struct loop *l)
{
	struct server *s = calloc(1, sizeof(*s));
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);

	assert_non_null(s);
	s->loop = l;
	s->requests = calloc(REQUESTS, sizeof(*s->requests));
	assert_non_null(s->requests);
	for (size_t i = 0; i < CONNS; i++)
		s->conns[i].fd = -1;
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(s->fd, CONNS), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&sa, &len), 0);
	s->port = ntohs(sa.sin_port);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d", s->port);
	assert_int_equal(watch_new(&s->w, l, s->fd, WATCH_READ, server_on_accept, s, NULL), 0);
	return s;
}

void server_close(struct server **sp)
{
	struct server *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	for (size_t i = 0; i < CONNS; i++)
		conn_close(&s->conns[i]);
	watch_free(&s->w);
	close(s->fd);
	for (size_t i = 0; i < s->nrequests; i++) {
		free(s->requests[i].head);
		free(s->requests[i].body);
	}
	for (size_t i = 0; i < s->nscript; i++)
		str_release(&s->script[i].body);
	free(s->requests);
	free(s);
}

const char *server_url(const struct server *s)
{
	return s->url;
}

int server_port(const struct server *s)
{
	return s->port;
}

/* --- The script ------------------------------------------------------------------------------- */
static struct step *add(struct server *s, const char *endpoint, enum kind kind, bool always)
{
	struct step *t = &s->script[s->nscript++];

	assert_true(s->nscript <= SCRIPT);
	assert_int_equal(copy_z(t->endpoint, sizeof(t->endpoint), view_of(endpoint)), 0);
	t->kind = kind;
	t->always = always;
	t->body = (struct str)STR_INIT(8 << 20);
	return t;
}

void server_push_view(struct server *s, const char *endpoint, int status, struct view body)
{
	struct step *t = add(s, endpoint, ANSWER, false);

	t->status = status;
	assert_int_equal(str_add(&t->body, body), 0);
}

void server_push(struct server *s, const char *endpoint, int status, const char *body)
{
	server_push_view(s, endpoint, status, view_of(body));
}

void server_push_hang(struct server *s, const char *endpoint)
{
	add(s, endpoint, HANG, false);
}

void server_push_cut(struct server *s, const char *endpoint)
{
	add(s, endpoint, CUT, false);
}

void server_push_half(struct server *s, const char *endpoint)
{
	add(s, endpoint, HALF, false);
}

void server_always(struct server *s, const char *endpoint, int status, const char *body)
{
	struct step *t = add(s, endpoint, ANSWER, true);

	t->status = status;
	assert_int_equal(str_adds(&t->body, body), 0);
}

void server_always_hang(struct server *s, const char *endpoint)
{
	add(s, endpoint, HANG, true);
}

void server_answer(struct server *s, const char *endpoint, int status, const char *body)
{
	struct conn *oldest = NULL;

	for (size_t i = 0; i < CONNS; i++) {
		struct conn *c = &s->conns[i];

		if (c->fd >= 0 && strcmp(c->hangs, endpoint) == 0 &&
			(!oldest || c->since < oldest->since))
			oldest = c;
	}
	assert_non_null(oldest);
	conn_reply(oldest, status, view_of(body), false);
}

/* --- What came -------------------------------------------------------------------------------- */
static bool is_for(const struct request *r, const char *endpoint)
{
	char name[32];

	endpoint_of(r->target, name);
	return strcmp(name, endpoint) == 0;
}

size_t server_count(const struct server *s, const char *endpoint)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nrequests; i++)
		n += is_for(&s->requests[i], endpoint);
	return n;
}

size_t server_total(const struct server *s)
{
	return s->nrequests;
}

const struct request *server_get(const struct server *s, const char *endpoint, size_t at)
{
	for (size_t i = 0; i < s->nrequests; i++)
		if (is_for(&s->requests[i], endpoint) && at-- == 0)
			return &s->requests[i];
	fail_msg("no request %zu of %s", at, endpoint);
	return NULL;
}

const struct request *server_any(const struct server *s, size_t i)
{
	assert_true(i < s->nrequests);
	return &s->requests[i];
}

size_t server_hanging(const struct server *s, const char *endpoint)
{
	size_t n = 0;

	for (size_t i = 0; i < CONNS; i++)
		n += s->conns[i].fd >= 0 && strcmp(s->conns[i].hangs, endpoint) == 0;
	return n;
}

const char *request_header(const struct request *r, const char *name)
{
	static char value[8192];
	size_t n = strlen(name);

	for (const char *line = r->head; line && *line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
			struct view v = view_of(line + n + 1);

			v = view_trim(view_cut(v, view_find(v, '\r')));
			return copy_z(value, sizeof(value), v) == 0 ? value : NULL;
		}
	}
	return NULL;
}
