/* tools/host/voice.h: makes words of a voice that came from the phone without a transcript.
 *
 * What no transcriber takes (WeChat's SILK, AMR) goes through the operator's decoder first. Then
 * his transcriber is asked, or, where he has set up none, a server with OpenAI's interface. Both
 * programs are run in the sandbox (tools/host/program.h) on a copy of the file. One voice is heard
 * at a time; all of it is bounded and can be given up at any moment. */
#ifndef TOOLS_HOST_VOICE_H
#define TOOLS_HOST_VOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/net/http.h"
#include "base/str.h"
#include "tools/host/registry.h"

#define VOICE_FILE_MAX  ((size_t)16 << 20)  /* hours of any voice */
#define VOICE_SOUND_MAX ((int64_t)64 << 20) /* decoded: more than twenty minutes */
#define VOICE_TEXT_MAX  ((size_t)64 << 10)
#define VOICE_DECODE_MS 30000
#define VOICE_LISTEN_MS 120000

/* The exit statuses by which a decoder says that the file is cut off or broken (EX_DATAERR), or of
 * a format that it does not know (EX_UNAVAILABLE). */
#define VOICE_EXIT_DAMAGED 65
#define VOICE_EXIT_FORMAT  69

struct voice;

/* Vectors end with NULL, and {file} and {out} stand in them for paths; NULL or empty: none. The
 * transcriber comes before the server. */
struct voice_settings {
	const char *const *decoder, *const *transcriber;
	const char *base_url, *name, *key; /* "" none */
};
bool voice_set_up(const struct voice_settings *s); /* is there anybody to listen? */

struct voice_env {
	struct loop *loop;
	struct log *log;
	struct tools *tools;            /* outlives the voice */
	const char *folder;             /* private, for copies; swept at the beginning */
	const struct http_rules *rules; /* towards the server */
	struct voice_settings settings; /* texts outlive the voice */
};
int voice_open(struct voice **out, const struct voice_env *env, struct err *e);
void voice_close(struct voice **v); /* no callback */

enum voice_end {
	VOICE_TEXT,
	VOICE_SILENT,  /* not a word in it */
	VOICE_FORMAT,  /* it would have to be decoded, and there is no decoder for it */
	VOICE_DAMAGED, /* cut off, broken or empty */
	VOICE_LATE,
	VOICE_FAILED /* decoder, transcriber or server: why tells */
};

/* Once, from the loop, never from inside voice_hear. text: valid UTF-8 without controls, trimmed,
 * empty unless VOICE_TEXT. why: for the log, safe, without secrets; "" with text. */
typedef void voice_done_cb(void *arg, enum voice_end what, struct view text, const char *why);
struct voice_call;
int voice_hear(struct voice *v, struct voice_call **out, const char *path, voice_done_cb *done,
	void *arg, struct err *e);
void voice_cancel(struct voice_call **c); /* at once, no callback; NULL is fine */

#endif
