/* channel/ears.h: whoever can make words of a voice. The channel knows no more of it than this; cli
 * hands it down. */
#ifndef CHANNEL_EARS_H
#define CHANNEL_EARS_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum heard {
	HEARD_TEXT,    /* text: what was said; never empty */
	HEARD_SILENT,  /* it was listened to, and there is no word in it */
	HEARD_FORMAT,  /* nothing that is set up here reads this kind of sound */
	HEARD_DAMAGED, /* it is cut off or broken */
	HEARD_LATE,    /* it took too long and was given up */
	HEARD_FAILED,  /* whatever should have listened could not */
	HEARD_DEAF     /* nothing is set up to listen: what to tell where there are no ears */
};

/* From the loop, once, never from inside hear(); the hearing is gone then. text: valid UTF-8,
 * trimmed, at most HEARD_TEXT_MAX bytes, good during the call; empty unless HEARD_TEXT. why: for
 * the log, safe; "" when there is text. */
#define HEARD_TEXT_MAX ((size_t)64 * 1024)
typedef void heard_cb(void *cb_arg, enum heard what, struct view text, const char *why);
struct hearing; /* one that is under way */

struct chan_ears {
	/* path: absolute, a regular file that stays until the end. play_ms: as claimed, -1 unknown.
	 * Several may be asked for; they are heard one after the other, each within minutes. -1:
	 * nothing was started (E_UNSUPPORTED: nothing is set up, as HEARD_DEAF). */
	int (*hear)(void *arg, struct hearing **out, const char *path, int64_t play_ms,
		heard_cb *cb, void *cb_arg, struct err *e);
	void (*cancel)(void *arg, struct hearing **h); /* at once, no callback; NULL is fine */
	void *arg;
};

#endif
