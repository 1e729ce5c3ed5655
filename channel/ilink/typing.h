/* channel/ilink/typing.h: "typing...", best effort: it never fails aloud and never delays a send
 * (8). */
#ifndef CHANNEL_ILINK_TYPING_H
#define CHANNEL_ILINK_TYPING_H

#include <stdbool.h>

#include "account/account.h"
#include "base/err.h"
#include "channel/ilink/api.h"

#define TYPING_USERS_MAX 64 /* whose tickets are kept; the one idle longest goes first */
#define TYPING_EVERY_MS  5000
#define TYPING_MAX_MS    1800000 /* a turn may last longer, "typing" does not */

struct typing;

int typing_new(struct typing **out, struct api *api, const struct account *acc, struct err *e);
void typing_free(struct typing **t);
/* token: the newest context token, "" when unknown. */
void typing_set(struct typing *t, const char *user, const char *token, bool on);
/* Off for everybody; done fires once, from the loop, when the last cancel is answered or failed, or
 * at once when there is none. */
void typing_stop(struct typing *t, void (*done)(void *), void *arg);

#endif
