/* tools/host/voice_api.h: a file of sound for a server that makes text of it, as OpenAI's
 * /audio/transcriptions and all that copy it. Inside the room only. */
#ifndef TOOLS_HOST_VOICE_API_H
#define TOOLS_HOST_VOICE_API_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/net/http.h"
#include "base/str.h"

#define VOICE_API_FILE_MAX ((int64_t)25 << 20) /* what such servers take */
#define VOICE_API_TEXT_MAX ((size_t)64 << 10)

struct voice_api;

struct voice_api_plan {
	struct loop *loop;
	struct log *log;
	struct http *http;
	const char *base_url, *model, *key; /* key "": none */
	const char *path;                   /* of the sound */
	const char *suffix;                 /* by which the server tells its kind */
	int64_t time_ms;                    /* for all of it */
	/* Once, from the loop. ok: text is what the server heard, maybe nothing; else why, safe and
	 * without the key. late: its time was over. */
	void (*on_done)(void *arg, bool ok, bool late, struct view text, const char *why);
	void *arg;
};

/* The texts outlive it. What fails below HTTP before the server can have answered, or on the way,
 * is tried once more. */
int voice_api_start(struct voice_api **out, const struct voice_api_plan *plan, struct err *e);
void voice_api_cancel(struct voice_api **a); /* at once, no callback; NULL is fine */

#endif
