/* channel/words-private.h: how a text of a table is filled in; shared by the tables alone. */
#ifndef CHANNEL_WORDS_PRIVATE_H
#define CHANNEL_WORDS_PRIVATE_H

#include "channel/words.h"

struct words_pair {
	const char *zh, *en;
};

/* Copies a template, replacing {1} to {5} by args (NULL-terminated) and {d} by detail. */
int words_fill(struct str *out, const char *tmpl, const char *const *args, const char *detail);

#endif
