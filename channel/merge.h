/* channel/merge.h: people send a picture and the words about it as two messages, and five pictures
 * as five. What the same user sends within a moment of a picture is one message.
 *
 * What shows something (a picture, a file, a voice without words) opens the window and holds its
 * message back until it closes; words alone are never held, but are joined by what is shown while
 * they still wait. All of it lies in the inbox, so that a restart loses nothing. */
#ifndef CHANNEL_MERGE_H
#define CHANNEL_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "channel/room.h"

/* The text that several messages may come to: with the lines of their files, it fits an engine. */
#define MERGE_TEXT_MAX (CHAN_TEXT_MAX - 65536)

struct merge {
	struct view text; /* its own words, with what it quotes; may be empty */
	bool quotes;      /* begins with what it quotes */
	bool shows;
	size_t files;
};
void merge_of(struct merge *out, const struct chan_msg *m, struct view text);

/* Joins it to the user's message before. 1: *seq is that one's row; 0: there is none to join. */
int merge_join(const struct room *r, const char *user, enum control_language lang,
	const struct merge *what, int64_t *seq, struct err *e);
/* The new row seq may be joined from now on. */
int merge_open(const struct room *r, int64_t seq, const struct merge *what, struct err *e);
/* Milliseconds for which row seq is still held back; 0: it may go. */
int merge_left(const struct room *r, int64_t seq, int64_t *ms, struct err *e);

#endif
