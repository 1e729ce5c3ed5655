/* base/net/sse.h: server-sent events (WHATWG HTML, section 9.2.6), fed in pieces of any size. */
#ifndef BASE_NET_SSE_H
#define BASE_NET_SSE_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct sse;

/* data: the data lines joined by LF; type: "" when the event had none. Non-zero stops the feed
 * for good; the callback itself never closes the stream. */
typedef int sse_cb(void *arg, struct view type, struct view data);

/* event_max: ceiling for one event's data, bytes (at least 1), however many lines it comes in;
 * total_max for the whole stream. */
int sse_open(struct sse **out, size_t event_max, size_t total_max, sse_cb *cb, void *arg,
	struct err *e);
/* CR, LF, CRLF and mixtures end lines; comments, unknown fields and a leading BOM are ignored; text
 * must be valid UTF-8, however it is cut. Beyond the standard, a field "error" makes an event of that
 * type of its value: servers report failures so. 0; 1: the callback stopped it; -1: a limit or bad
 * UTF-8. */
int sse_feed(struct sse *s, struct view piece, struct err *e);
/* The stream is over. An event without its empty line is handed on all the same when it has data:
 * providers that close early are common. 0, 1 or -1 as above. */
int sse_end(struct sse *s, struct err *e);
void sse_close(struct sse **s);

#endif
