/* channel/prompt.h: what an engine gets of a message that waits: its text, what was heard, a line
 * and a file for each attachment; or why there is nothing to give. */
#ifndef CHANNEL_PROMPT_H
#define CHANNEL_PROMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine.h"
#include "base/err.h"
#include "base/str.h"
#include "channel/ears.h"
#include "channel/inbox.h"
#include "channel/media.h"
#include "channel/room.h"

enum prompt_state {
	PROMPT_READY,
	PROMPT_WAITS,  /* for its files, or for what may join it */
	PROMPT_NOTHING /* neither a word of the user's nor a file has come through */
};

struct prompt {
	enum prompt_state state;
	int64_t wait_ms; /* of PROMPT_WAITS: look again then; 0: media_env.ready will tell */
	struct str text;
	size_t quoted; /* bytes in front that are a quote */
	size_t added;  /* bytes at the end that the user has not said */
	struct turn_file files[TURN_FILES_MAX];
	char *paths[TURN_FILES_MAX];
	size_t nfiles;      /* of both */
	char *media;        /* folder of this user; NULL: nothing was received */
	enum heard unheard; /* why a voice of the user's has no words, to be told; else TEXT */
	struct media_list list;
};
void prompt_init(struct prompt *p);
void prompt_release(struct prompt *p);

/* Fills it (anew). 0 or -1. */
int prompt_of(struct prompt *p, const struct room *r, const struct inbox_item *it, struct err *e);
/* Of PROMPT_NOTHING: what to tell the user of it, besides what is unheard. */
int prompt_sorry(const struct prompt *p, const struct room *r, enum control_language lang,
	struct str *out);

/* As much of a message as tells which it is: its attachments by kind, then as words_excerpt. */
int prompt_excerpt(struct str *out, const struct room *r, const struct inbox_item *it);

#endif
