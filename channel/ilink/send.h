/* channel/ilink/send.h: one part of an answer at a time to sendmessage, and what became of it (7).
 * A file is uploaded first. When it comes again with its client id, since it is not known whether
 * it has arrived, what was uploaded is used once more. */
#ifndef CHANNEL_ILINK_SEND_H
#define CHANNEL_ILINK_SEND_H

#include "account/account.h"
#include "base/err.h"
#include "channel/channel.h"
#include "channel/ilink/api.h"
#include "channel/ilink/cdn.h"

struct sender;

/* stale fires, from the loop, when the server calls the token expired (-14); may be NULL. */
int sender_new(struct sender **out, struct api *api, const struct cdn *cdn,
	const struct account *acc, void (*stale)(void *), void *arg, struct err *e);
void sender_free(struct sender **s);
int sender_send(struct sender *s, const struct chan_send *what, chan_sent_cb *cb, void *arg,
	struct err *e);
void sender_abort(struct sender *s);

/* What a transfer that brought no readable answer means: may the server have seen the message? */
enum chan_outcome send_outcome_of(enum http_fail fail, bool request_sent, int status);

#endif
