/* contrib/sim/media.h: media items (wire reference, 5.2 and 7.5): what a phone makes of a bot's,
 * and those that a person sends. */
#ifndef SIM_MEDIA_H
#define SIM_MEDIA_H

#include "call.h"

void cdn_on_request(void *arg, struct hreq *r); /* of the CDN listener; arg: the sim */
void cdn_on_head(void *arg, struct hreq *r);

/* Does the phone open this media item of a bot's message? Fills d->media and d->media_state; -1:
 * the server refuses the message (errmsg says how). */
int media_accept(struct call *c, const struct json *item, struct delivery *d, const char **errmsg);

/* A file that a person sends (README.md, "media") becomes an item_list (JSON array as text); label
 * is what the page shows, id finds its bytes. */
int media_inbound(struct sim *s, const struct json *spec, struct str *items, struct str *label,
	uint64_t *id, struct err *e);

/* "file":{"id","kind","name","type","size","sha256"} of media that is still there. */
void media_json(struct sim *s, uint64_t id, struct json_out *w);
struct view media_label(struct sim *s, uint64_t id); /* "[图片]"; p NULL: not there */

#endif
