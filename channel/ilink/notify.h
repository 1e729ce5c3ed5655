/* channel/ilink/notify.h: notifystart and notifystop: telling the server that a client lives (3).
 */
#ifndef CHANNEL_ILINK_NOTIFY_H
#define CHANNEL_ILINK_NOTIFY_H

#include "account/account.h"
#include "base/err.h"
#include "channel/ilink/api.h"

#define NOTIFY_PATIENCE_MS 2000

struct notify;
typedef void notify_cb(void *arg);

int notify_new(struct notify **out, struct api *api, const struct account *acc, struct err *e);
void notify_free(struct notify **n);
/* Say notifystart. cb fires once, from the loop: when it is answered or has failed, at the latest
 * after 2 s. A failure is a warning only; it is tried again with backoff until it works. */
void notify_start(struct notify *n, notify_cb *cb, void *arg);
/* Say notifystop. cb fires once, at the latest after 2 s; nothing is tried again. */
void notify_stop(struct notify *n, notify_cb *cb, void *arg);
void notify_cancel(struct notify *n); /* no callback, no further tries */

#endif
