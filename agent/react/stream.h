/* agent/react/stream.h: the pieces of a streamed chat completion put together.
 *
 * Pure: events go in, text comes out as it arrives, and at the end there is one answer: text, tool
 * calls fit for the protocol, usage, or what went wrong. Takes what OpenAI-compatible servers send,
 * their quirks included: calls told apart by index, id or order; ids that are missing, empty, twice
 * or not text; three forms of reasoning; errors inside a good stream; a whole answer instead of a
 * stream; characters torn into halves of a surrogate pair (one that stays alone becomes U+FFFD). */
#ifndef AGENT_REACT_STREAM_H
#define AGENT_REACT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/react/fault.h"
#include "base/err.h"
#include "base/str.h"

#define STREAM_TOTAL_MAX ((size_t)20 << 20)
#define STREAM_EVENT_MAX ((size_t)2 << 20)
#define STREAM_CALLS_MAX 100
#define STREAM_ARGS_MAX  ((size_t)1 << 20)
#define STREAM_NAME_MAX  64
#define STREAM_ID_MAX    128

struct stream;

struct stream_sink {
	void (*on_text)(void *arg, struct view piece); /* visible */
	void (*on_thought)(void *arg, struct view piece);
	void *arg;
};

int stream_open(struct stream **out, const struct stream_sink *sink, struct err *e);
void stream_close(struct stream **s);

/* One server-sent event. 0: go on. 1: it was the last ("[DONE]"). -1: an error reported by the
 * provider (stream_fault) or, when there is none, bytes that do not keep the protocol (e). */
int stream_event(struct stream *s, struct view type, struct view data, struct err *e);

/* A body that is one JSON object instead of events. 0 or -1. */
int stream_whole(struct stream *s, struct view body, struct err *e);

enum stream_answer {
	STREAM_TEXT,     /* a final answer */
	STREAM_CALLS,    /* tool calls, maybe with text before them */
	STREAM_CUT,      /* text that ended at the model's own output limit */
	STREAM_FILTERED, /* the provider's filter ended it; there may be text */
	STREAM_EMPTY,
	STREAM_BROKEN /* ended without saying that it was complete */
};
/* No further event will come. call_prefix begins the ids that are made up here. */
enum stream_answer stream_end(struct stream *s, const char *call_prefix);

struct view stream_text(const struct stream *s);
struct view stream_thought(const struct stream *s);
bool stream_shown(const struct stream *s);                /* was visible text handed on? */
bool stream_complete(const struct stream *s);             /* has it said that nothing more comes? */
const struct fault *stream_fault(const struct stream *s); /* NULL: none */

struct stream_call {
	const char *id;         /* unique in this answer */
	const char *name;       /* letters, digits, "_" and "-" only, 1 to 64 */
	struct view args;       /* one JSON object; "{}" where the model's were not */
	const char *args_fault; /* NULL: they were; else why not, for the model */
};
size_t stream_calls(const struct stream *s);
/* After stream_end; views live as long as the stream. */
struct stream_call stream_call(const struct stream *s, size_t i);

struct stream_usage {
	bool known;
	uint64_t in, out, cached;
};
struct stream_usage stream_usage(const struct stream *s);

#endif
