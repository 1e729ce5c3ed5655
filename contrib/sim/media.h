/* contrib/sim/media.h: the CDN (wire reference, section 9): upload grants, ciphertexts, and what a
 * phone makes of them. */
#ifndef SIM_MEDIA_H
#define SIM_MEDIA_H

#include "call.h"

int media_open(struct media **out, struct err *e);
void media_close(struct media **m);
void cdn_on_request(void *arg, struct hreq *r); /* of the CDN listener; arg: the sim */

/* Does the phone open this media item of a bot's message? Fills d->media and d->media_state; -1:
 * the server refuses the message (errmsg says how). */
int media_accept(struct call *c, const struct json *item, struct delivery *d, const char **errmsg);
/* The plaintext of a delivered file, its name and type; -1: none. */
int media_plain(struct sim *s, uint64_t id, struct str *out, const char **name, const char **type);

/* A file that a person sends: {"kind","name","text"|"data_b64"|"size","key_form","plain"...}
 * becomes an item_list (JSON array as text); label is what the page shows. */
int media_inbound(struct sim *s, const struct json *spec, struct str *items, struct str *label,
	struct err *e);

#endif
