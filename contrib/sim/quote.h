/* contrib/sim/quote.h: a message that quotes another (wire reference, 5.5), as phones old and new
 * write it. */
#ifndef SIM_QUOTE_H
#define SIM_QUOTE_H

#include "world.h"

/* spec: README.md, "quote". ref becomes the JSON of ref_msg, shown what the page shows under the
 * message. */
int quote_make(struct sim *s, const struct bot *b, const struct json *spec, struct str *ref,
	struct str *shown, struct err *e);

#endif
