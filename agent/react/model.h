/* agent/react/model.h: one question to the model at a time: request, stream, retries. */
#ifndef AGENT_REACT_MODEL_H
#define AGENT_REACT_MODEL_H

#include <stdint.h>

#include "agent/engine.h"
#include "agent/react/stream.h"
#include "agent/speech.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/net/http.h"

#define MODEL_RETRIES      2
#define MODEL_BACKOFF_MS   1000  /* doubles */
#define MODEL_RETRY_CAP_MS 30000 /* the longest single wait, whatever Retry-After says */

struct model;

struct model_result {
	enum engine_fail fail; /* ENGINE_OK: see answer */
	enum stream_answer answer;
	enum speech why;             /* of a failure: its words are detail, and the host */
	const char *detail, *host;   /* never NULL */
	const struct stream *stream; /* what arrived; never NULL; only during the call */
};

struct model_env {
	struct loop *loop;
	struct log *log;
	struct http *http;
	const char *base_url, *api_key;   /* copied */
	const char *header_name, *header; /* one more, or NULL; both live as long as the client */
	bool stream;                      /* what the requests ask for */
	int64_t idle_ms;
	struct stream_sink sink;
	void (*on_done)(void *arg, const struct model_result *r); /* once for each question */
	void *arg;
};

int model_open(struct model **out, const struct model_env *env, struct err *e);
void model_close(struct model **m); /* cancels */

/* body is copied. on_done will follow from the loop, unless cancelled. Transport failures and
 * errors that say they will pass are tried again as long as nothing visible has arrived. */
int model_ask(struct model *m, struct view body, const char *call_prefix, struct err *e);
/* At once, also while a retry waits; no on_done. */
void model_cancel(struct model *m);
/* What has arrived of the running question; NULL when none runs. */
const struct stream *model_stream(const struct model *m);

#endif
