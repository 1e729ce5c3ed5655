/* A scripted HTTP server on the loop under test. It answers what it was told to, in order, by
 * endpoint (the last part of the path), and records every request whole. */
#ifndef TESTS_ILINK_SERVER_H
#define TESTS_ILINK_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "base/str.h"

struct server;

struct request {
	char method[8];
	char target[2048]; /* path and query */
	char *head, *body; /* header lines; NUL-terminated */
	size_t body_size;
	int64_t at; /* loop time */
};

struct server *server_open(struct loop *l);
void server_close(struct server **s);
const char *server_url(const struct server *s); /* http://127.0.0.1:PORT */
int server_port(const struct server *s);

/* What comes next for an endpoint, once; each call is one more. */
void server_push(struct server *s, const char *endpoint, int status, const char *body);
void server_push_view(struct server *s, const char *endpoint, int status, struct view body);
void server_push_hang(struct server *s, const char *endpoint);
void server_push_cut(struct server *s, const char *endpoint);  /* request read, then closed */
void server_push_half(struct server *s, const char *endpoint); /* closed inside the body */
/* What comes when nothing was pushed. Unless set: getupdates and get_qrcode_status hang, all else
 * is 200 {}. */
void server_always(struct server *s, const char *endpoint, int status, const char *body);
void server_always_hang(struct server *s, const char *endpoint);
/* Answer the oldest request of the endpoint that hangs now. */
void server_answer(struct server *s, const char *endpoint, int status, const char *body);

size_t server_count(const struct server *s, const char *endpoint);
size_t server_total(const struct server *s);
const struct request *server_get(const struct server *s, const char *endpoint, size_t i);
const struct request *server_any(const struct server *s, size_t i);
size_t server_hanging(const struct server *s, const char *endpoint);
/* A header's value, NULL when absent; good until the next call. */
const char *request_header(const struct request *r, const char *name);

#endif
