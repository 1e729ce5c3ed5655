/* tools/host/voice_sound.h: what kind of sound a file is, by its content, and what a transcriber
 * has heard in it. Pure functions. Inside the room only. */
#ifndef TOOLS_HOST_VOICE_SOUND_H
#define TOOLS_HOST_VOICE_SOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct sound_kind {
	const char *name;   /* "SILK", for the log */
	const char *suffix; /* of a file of it */
	bool common;        /* every transcriber takes it; else it is decoded first */
};

#define SOUND_HEAD 64 /* bytes by which it is told */

/* Never NULL: what is none of the known is "unknown", and not common. */
const struct sound_kind *sound_kind(struct view head);

/* The words of a transcript: controls gone, trimmed. 1, 0: there is not one word in it (nothing,
 * dots, or marks in brackets as "[BLANK_AUDIO]" alone), -1: memory, or too long for out. */
int sound_words(struct view transcript, struct str *out);

#endif
