/* channel/ilink/letter.h: a send that is kept while its file is on its way. */
#ifndef CHANNEL_ILINK_LETTER_H
#define CHANNEL_ILINK_LETTER_H

#include "base/err.h"
#include "channel/channel.h"

struct letter {
	struct chan_send send; /* its strings and its file are the letter's own */
	struct chan_file file;
	char *hold[5]; /* private */
};

/* s has a file; its descriptor stays borrowed. */
int letter_copy(struct letter *out, const struct chan_send *s, struct err *e);
void letter_release(struct letter *l); /* wipes; one that was never filled is fine */

#endif
