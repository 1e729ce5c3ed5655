#include "lm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/json.h"

#define REPLIES 128
#define BIG     ((size_t)64 << 20)

struct reply {
	struct str bytes;
	size_t piece;
	enum lm_end end;
};

struct conn {
	struct lm *m;
	struct conn *next;
	int fd;
	struct watch *watch;
	struct str in;
	const struct reply *reply;
	size_t sent;
};

struct lm {
	struct loop *loop;
	int fd, port;
	struct watch *watch;
	struct reply reply[REPLIES];
	int replies, requests;
	char *head[REPLIES], *body[REPLIES];
	struct conn *conns;
};

static void conn_free(struct conn *c)
{
	for (struct conn **at = &c->m->conns; *at; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			break;
		}
	}
	watch_free(&c->watch);
	(void)close(c->fd);
	str_release(&c->in);
	free(c);
}

/* The whole request is here: remember it and take the next reply. */
static void conn_answer(struct conn *c, size_t head, size_t body)
{
	struct lm *m = c->m;

	assert_true(m->requests < REPLIES);
	m->head[m->requests] = strndup(c->in.p, head);
	m->body[m->requests] = strndup(c->in.p + head, body);
	if (m->requests >= m->replies)
		fail_msg("request %d has no reply in the script", m->requests);
	c->reply = &m->reply[m->requests++];
	assert_int_equal(0, watch_set(c->watch, WATCH_READ | WATCH_WRITE));
}

static void conn_read(struct conn *c)
{
	static char buf[65536];
	ssize_t n = recv(c->fd, buf, sizeof(buf), 0);
	const char *end, *length;

	if (n <= 0) {
		conn_free(c);
		return;
	}
	assert_int_equal(0, str_add(&c->in, (struct view){ buf, (size_t)n }));
	end = strstr(str_cstr(&c->in), "\r\n\r\n");
	if (!end || c->reply)
		return;
	length = strcasestr(str_cstr(&c->in), "content-length:");
	if (length && length < end) {
		size_t head = (size_t)(end - c->in.p) + 4;
		size_t body = strtoul(length + 15, NULL, 10);

		if (c->in.n >= head + body)
			conn_answer(c, head, body);
	}
}

static void conn_write(struct conn *c)
{
	const struct reply *r = c->reply;
	size_t left = r->bytes.n - c->sent, n = r->piece && r->piece < left ? r->piece : left;
	ssize_t did = send(c->fd, r->bytes.p + c->sent, n, MSG_NOSIGNAL);

	if (did < 0 && errno != EAGAIN) {
		conn_free(c);
		return;
	}
	c->sent += did > 0 ? (size_t)did : 0;
	if (c->sent < r->bytes.n)
		return;
	if (r->end == LM_STALL)
		assert_int_equal(0, watch_set(c->watch, WATCH_READ));
	else
		conn_free(c);
}

static void conn_on_event(void *arg, int fd, int what)
{
	struct conn *c = arg;

	(void)fd;
	if (what & WATCH_READ)
		conn_read(c);
	else if (what & WATCH_WRITE)
		conn_write(c);
}

static void lm_on_accept(void *arg, int fd, int what)
{
	const struct str in = STR_INIT(BIG);
	struct lm *m = arg;
	struct conn *c = calloc(1, sizeof(*c));
	struct err e = ERR_INIT;

	(void)what;
	assert_non_null(c);
	c->m = m;
	c->in = in;
	c->fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(c->fd >= 0);
	c->next = m->conns;
	m->conns = c;
	assert_int_equal(0, watch_new(&c->watch, m->loop, c->fd, WATCH_READ, conn_on_event, c, &e));
}

struct lm *lm_new(struct loop *l)
{
	struct lm *m = calloc(1, sizeof(*m));
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t n = sizeof(sa);
	struct err e = ERR_INIT;

	assert_non_null(m);
	m->loop = l;
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	m->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(0, bind(m->fd, (const struct sockaddr *)&sa, sizeof(sa)));
	assert_int_equal(0, listen(m->fd, 16));
	assert_int_equal(0, getsockname(m->fd, (struct sockaddr *)&sa, &n));
	m->port = ntohs(sa.sin_port);
	assert_int_equal(0, watch_new(&m->watch, l, m->fd, WATCH_READ, lm_on_accept, m, &e));
	return m;
}

void lm_free(struct lm **mp)
{
	struct lm *m = *mp;

	if (!m)
		return;
	*mp = NULL;
	for (struct conn *c = m->conns, *next; c; c = next) {
		next = c->next;
		conn_free(c);
	}
	for (int i = 0; i < m->requests; i++) {
		free(m->head[i]);
		free(m->body[i]);
	}
	for (int i = 0; i < m->replies; i++)
		str_release(&m->reply[i].bytes);
	watch_free(&m->watch);
	(void)close(m->fd);
	free(m);
}

int lm_port(const struct lm *m)
{
	return m->port;
}

void lm_reply(struct lm *m, int status, const char *headers, struct view body, size_t piece,
	enum lm_end end)
{
	const struct str empty = STR_INIT(BIG);
	struct reply *r = &m->reply[m->replies++];

	assert_true(m->replies <= REPLIES);
	r->bytes = empty;
	r->piece = piece;
	r->end = end;
	(void)str_addf(&r->bytes, "HTTP/1.1 %d X\r\nConnection: close\r\n%s", status ? status : 200,
		status ? "" : "Content-Type: text/event-stream\r\n");
	if (end == LM_BREAK)
		(void)str_addf(&r->bytes, "Content-Length: %zu\r\n", body.n + 1);
	(void)str_adds(&r->bytes, headers ? headers : "");
	(void)str_adds(&r->bytes, "\r\n");
	(void)str_add(&r->bytes, body);
	assert_true(str_ok(&r->bytes));
}

void lm_events(struct lm *m, const char *const *data)
{
	struct str s = STR_INIT(BIG);

	for (; *data; data++)
		(void)str_addf(&s, "data: %s\n\n", *data);
	(void)str_adds(&s, "data: [DONE]\n\n");
	lm_reply(m, 0, NULL, str_view(&s), 0, LM_END);
	str_release(&s);
}

static void delta(struct str *s, void (*fill)(struct json_out *, void *), void *arg,
	const char *finish)
{
	struct json_out w;

	json_out_begin(&w, s);
	json_open(&w, NULL);
	json_open_array(&w, "choices");
	json_open(&w, NULL);
	json_put_int(&w, "index", 0);
	json_open(&w, "delta");
	if (fill)
		fill(&w, arg);
	json_close(&w);
	json_put_z(&w, "finish_reason", finish);
	json_close(&w);
	json_close_array(&w);
	json_close(&w);
	assert_int_equal(0, json_out_end(&w, NULL));
}

static void fill_text(struct json_out *w, void *arg)
{
	json_put_z(w, "content", arg);
}

static void fill_call(struct json_out *w, void *arg)
{
	const char *const *part = arg;

	json_open_array(w, "tool_calls");
	json_open(w, NULL);
	json_put_int(w, "index", 0);
	if (part[0])
		json_put_z(w, "id", part[0]);
	json_put_z(w, "type", "function");
	json_open(w, "function");
	json_put_z(w, "name", part[1]);
	json_put_z(w, "arguments", part[2]);
	json_close(w);
	json_close(w);
	json_close_array(w);
}

static void two_events(struct lm *m, void (*fill)(struct json_out *, void *), void *arg,
	const char *finish)
{
	struct str a = STR_INIT(BIG), b = STR_INIT(1000);
	const char *events[3];

	delta(&a, fill, arg, NULL);
	delta(&b, NULL, NULL, finish);
	events[0] = str_cstr(&a);
	events[1] = str_cstr(&b);
	events[2] = NULL;
	lm_events(m, events);
	str_release(&a);
	str_release(&b);
}

void lm_text(struct lm *m, const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	two_events(m, fill_text, copy, "stop");
	free(copy);
}

void lm_call(struct lm *m, const char *id, const char *name, const char *args)
{
	const char *part[3] = { id, name, args };

	two_events(m, fill_call, part, "tool_calls");
}

int lm_requests(const struct lm *m)
{
	return m->requests;
}

const char *lm_body(const struct lm *m, int i)
{
	assert_in_range(i, 0, m->requests - 1);
	return m->body[i];
}

const char *lm_head(const struct lm *m, int i)
{
	assert_in_range(i, 0, m->requests - 1);
	return m->head[i];
}

int lm_open(const struct lm *m)
{
	int n = 0;

	for (const struct conn *c = m->conns; c; c = c->next)
		n++;
	return n;
}
