/* channel/ilink/link.h: whether the other side can be reached, as status and the operator see it.
 */
#ifndef CHANNEL_ILINK_LINK_H
#define CHANNEL_ILINK_LINK_H

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "channel/channel.h"

#define LINK_PATIENCE 3 /* silent or failed polls in a row that make a link DEGRADED */

struct link;

int link_new(struct link **out, struct loop *loop, struct log *log, struct err *e);
void link_free(struct link **l);
/* From here on changes are told to ev, from the loop, never from inside a call below. */
void link_begin(struct link *l, const struct chan_events *ev);
void link_set(struct link *l, enum chan_link to, const char *why);
void link_good(struct link *l); /* UP, nothing is wrong */
/* One more poll without result; DEGRADED when patience ends, unless the link is EXPIRED. */
void link_failed(struct link *l, const char *why);
void link_skipped(struct link *l, size_t n);
const struct chan_status *link_status(const struct link *l);

#endif
