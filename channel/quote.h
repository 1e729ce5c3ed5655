/* channel/quote.h: what was said, by the server's ids, and what a message quotes of it.
 *
 * Newer phones send no more than the id of what they quote (wire reference, 5.5). So what users say
 * and what the server accepted of ours is kept for a while (table channel_said), by bot, user and
 * id: nobody is ever shown what was said to or by somebody else. */
#ifndef CHANNEL_QUOTE_H
#define CHANNEL_QUOTE_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "channel/channel.h"
#include "channel/room.h"

#define QUOTE_KEEP_MS   ((int64_t)30 * 24 * 60 * 60 * 1000)
#define QUOTE_KEEP_ROWS 10000
#define QUOTE_TEXT_MAX  ((size_t)16 << 10) /* kept of each text; a part of ours fits */

/* In the transaction that stores the message, or what became of the part. text may be empty
 * (nothing but attachments). file: the name of the one that was sent, or "". Without an id of the
 * server's nothing is kept, and what has the id already stays. */
int quote_remember(const struct room *r, const char *user, const char *id, struct view text,
	const char *file, struct err *e);
int quote_prune(const struct room *r, struct err *e);

/* Appends the line of the prompt that says what m quotes (W_QUOTED), nothing when it quotes
 * nothing or attachments alone. What came with the message beats what we have kept; what is not at
 * hand is said to be so. */
int quote_put(const struct room *r, enum control_language lang, const struct chan_msg *m,
	struct str *out, struct err *e);

/* Does m quote nothing, or what begins text? 1, 0 (something else, or what is not known), -1. */
int quote_is(const struct room *r, const struct chan_msg *m, struct view text, struct err *e);

/* The part of text that was marked; all of it when that cannot be told. Linear in the text. */
struct view quote_part(struct view text, const struct chan_partial *p);

#endif
