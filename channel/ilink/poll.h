/* channel/ilink/poll.h: the long poll: fetch, hand on, move the cursor, again (4). */
#ifndef CHANNEL_ILINK_POLL_H
#define CHANNEL_ILINK_POLL_H

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/err.h"
#include "channel/channel.h"
#include "channel/ilink/api.h"
#include "channel/ilink/link.h"
#include "channel/ilink/notify.h"

struct poll;

int poll_new(struct poll **out, struct api *api, struct account *acc, struct link *link,
	struct notify *notify, struct err *e);
void poll_free(struct poll **p);
/* Greet the server and poll until poll_stop. ev must stay where it is. */
void poll_start(struct poll *p, const struct chan_events *ev);
void poll_stop(struct poll *p);
void poll_hurry(struct poll *p, bool on);
/* Another call was answered with -14: look at once whether the login still stands. */
void poll_suspect(struct poll *p);

/* The client's timeout of one poll: told + 5 s within 5..60 s (35 s until told), at most 10 s on
 * the international host, at most 3 s in a hurry. told 0: not told. */
int64_t poll_timeout_ms(int64_t told, bool international, bool hurry);

#endif
