/* channel/presence.h: whom the phone shows that something is being done for them. A turn and an
 * upload may both want it; it is shown until neither does. */
#ifndef CHANNEL_PRESENCE_H
#define CHANNEL_PRESENCE_H

#include "channel/room.h"

enum presence_cause { PRESENCE_TURN, PRESENCE_UPLOAD };
#define PRESENCE_CAUSES 2

struct presence {
	const struct room *room;
	char user[PRESENCE_CAUSES][CHAN_ID_MAX + 1]; /* "": none */
};

/* user NULL: this cause is over. */
void presence_show(struct presence *p, enum presence_cause cause, const char *user);

#endif
