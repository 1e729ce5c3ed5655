/* agent/acp/stream.h: what an agent says during a turn, put together: the answer with its
 * paragraphs, thoughts, tool calls, and how much context is used.
 *
 * Pure: updates go in, pieces come out. Text that resumes behind a tool call, a plan or a thought,
 * or under another message id, begins a paragraph; within one message nothing is added. What the
 * user wrote comes back from some agents and is never shown. Unknown updates are ignored. */
#ifndef AGENT_ACP_STREAM_H
#define AGENT_ACP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/acp/card.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

struct acp_stream;

struct acp_sink {
	void (*on_text)(void *arg, struct view piece);
	void (*on_thought)(void *arg, struct view piece);
	void (*on_tool)(void *arg, const struct card *c, bool began); /* else it has ended */
	void *arg;
};

/* sink NULL: nobody is told as it comes. answer_max: bytes of one answer; what is longer is cut and
 * told by acp_stream_cut. */
int acp_stream_open(struct acp_stream **out, const struct acp_sink *sink, size_t answer_max,
	struct err *e);
void acp_stream_close(struct acp_stream **s);
void acp_stream_begin(struct acp_stream *s); /* a turn begins: everything is forgotten */

/* One "update" of a session/update. True: it was for the answer or a tool call; false: it changes
 * the state of the session, or nothing, and is for others to read. */
bool acp_stream_update(struct acp_stream *s, const struct json *update);
/* Does it still belong to the turn before? Told by the id of its message, which is no other turn's,
 * or of a call that only that turn has known. */
bool acp_stream_late(struct acp_stream *s, const struct json *update);
/* History that is played back: what of it comes late is known by its ids. */
void acp_stream_past(struct acp_stream *s, const struct json *update);
/* The engine's own words: part of the answer, but no answer of the agent. */
void acp_stream_say(struct acp_stream *s, struct view words);
/* A permission request names a call, announced or not. NULL: it has no id. */
struct card *acp_stream_card(struct acp_stream *s, const struct json *call);
/* The turn is over: calls that are still open are ended as failed. */
void acp_stream_end(struct acp_stream *s);

struct view acp_stream_answer(const struct acp_stream *s);
bool acp_stream_answered(const struct acp_stream *s); /* the agent has said something */
bool acp_stream_cut(const struct acp_stream *s);
bool acp_stream_acted(const struct acp_stream *s); /* a call that may change something has run */

#endif
