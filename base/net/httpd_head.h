/* base/net/httpd_head.h: the guard of the HTTP server: what a request is, byte for byte. Pure
 * functions, for httpd.c and its tests. RFC 9110 and 9112, every "may be lenient" taken as no. */
#ifndef BASE_NET_HTTPD_HEAD_H
#define BASE_NET_HTTPD_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define HTTPD_HEAD_MAX   ((size_t)16 << 10) /* bytes up to and with the empty line */
#define HTTPD_FIELDS_MAX 64

struct httpd_field {
	struct view name, value;
};

/* A request's head; views into the text it was read from. */
struct httpd_head {
	const char *method; /* "GET", "POST", "PUT", "PATCH" or "DELETE" */
	struct view path;   /* as sent, without a query */
	struct httpd_field fields[HTTPD_FIELDS_MAX];
	size_t nfields;
	struct view host;         /* there is exactly one */
	struct view origin, auth; /* at most one each; p is NULL when absent */
	bool chunked, expects;    /* expects: "100-continue" */
	size_t length;            /* Content-Length, else 0; SIZE_MAX: more than can be counted */
};

/* Where the head ends in `in`: its length, 0 (more is needed) or -1: a byte that has no place in a
 * head (a control but tab, a CR or LF that stands alone). The first `seen` bytes were looked at by
 * an earlier call. */
long httpd_head_end(struct view in, size_t seen);
/* text: the whole head with its empty line. 0, or the status that refuses it. */
int httpd_head_parse(struct view text, struct httpd_head *out);

/* Percent-decode. -1: a bad escape, a control character, bytes that are not UTF-8, or out's
 * ceiling. */
int httpd_decode(struct view in, struct str *out);

/* A chunked body, fed in pieces of any size. Neither extensions nor trailers are taken. */
struct httpd_chunks {
	int state; /* 0 to begin with */
	int digits;
	size_t left;
};
/* Moves what `in` holds of the body to out and drops it from `in`. 1: the body has ended (`in` is
 * what follows), 0: more is needed, -1: malformed, -2: longer than out's ceiling or no memory. */
int httpd_chunks_feed(struct httpd_chunks *c, struct view *in, struct str *out);

#endif
