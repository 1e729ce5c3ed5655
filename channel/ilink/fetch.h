/* channel/ilink/fetch.h: downloads of what people sent (wire reference, 9.2), any number at a time.
 */
#ifndef CHANNEL_ILINK_FETCH_H
#define CHANNEL_ILINK_FETCH_H

#include "base/err.h"
#include "channel/channel.h"
#include "channel/ilink/cdn.h"

struct fetcher;

/* cdn must outlive it. */
int fetcher_new(struct fetcher **out, const struct cdn *cdn, struct err *e);
void fetcher_free(struct fetcher **f); /* ends what is under way; no callback follows */

/* As channel_ops.fetch. *out is good until its callback has returned. */
int fetch_start(struct chan_fetch **out, struct fetcher *f, const struct chan_source *src, int fd,
	int64_t max, chan_fetched_cb *cb, void *arg, struct err *e);
void fetch_abort(struct chan_fetch **f);

#endif
