/* channel/ilink/upload.h: one file on its way to the media server (wire reference, 9.1). */
#ifndef CHANNEL_ILINK_UPLOAD_H
#define CHANNEL_ILINK_UPLOAD_H

#include "account/account.h"
#include "base/err.h"
#include "channel/channel.h"
#include "channel/ilink/api.h"
#include "channel/ilink/cdn.h"
#include "channel/ilink/media_key.h"

/* What a message needs to point at the file. A secret. */
struct receipt {
	char param[WIRE_PARAM_MAX + 1];
	struct media_key key;
	int64_t size; /* encrypted */
};

/* r: NULL when it failed after its tries, and then why is one of CHAN_UPLOAD_... */
typedef void uploaded_cb(void *arg, const struct receipt *r, const char *why);

struct upload;

/* Up to three attempts, each with a new key, file key and address, after 2 s and 4 s. A refusal of
 * the address, -14 too, says nothing of the login. s, its file and the rest live until the end. The
 * end comes once, from the loop; upload_free may be called from inside it. */
int upload_start(struct upload **out, struct api *api, const struct cdn *cdn,
	const struct account *acc, const struct chan_send *s, uploaded_cb *cb, void *arg,
	struct err *e);
void upload_free(struct upload **u); /* at any time; no callback follows */

#endif
