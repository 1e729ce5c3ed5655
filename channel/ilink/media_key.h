/* channel/ilink/media_key.h: the AES-128 key of one file on the CDN, in the forms of the wire. */
#ifndef CHANNEL_ILINK_MEDIA_KEY_H
#define CHANNEL_ILINK_MEDIA_KEY_H

#include "base/err.h"
#include "base/str.h"

#define MEDIA_KEY_SIZE      16
#define MEDIA_KEY_HEX_SIZE  33 /* with the NUL, as all of these */
#define MEDIA_KEY_TEXT_SIZE 45

struct media_key {
	unsigned char bytes[MEDIA_KEY_SIZE];
};

/* Of a received item (wire reference, 9.2): 32 hex digits, base64 of 16 bytes, or base64 of 32 hex
 * digits. 1: read. 0: the item has none. -1: it is no key (E_FORMAT). */
int media_key_read(struct media_key *out, struct view text, struct err *e);

void media_key_random(struct media_key *out);
void media_key_hex(const struct media_key *k, char out[MEDIA_KEY_HEX_SIZE]); /* lower case */
/* As it stands in a sent item: base64 of the hex digits. With base64 of the bytes the file arrives
 * and does not open (7.5). */
void media_key_text(const struct media_key *k, char out[MEDIA_KEY_TEXT_SIZE]);
void media_key_wipe(struct media_key *k);

#endif
