/* channel/ilink/crypt.h: a file's bytes on their way to or from the CDN: AES-128-ECB with PKCS#7
 * padding (wire reference, 9), piece by piece. */
#ifndef CHANNEL_ILINK_CRYPT_H
#define CHANNEL_ILINK_CRYPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "channel/ilink/media_key.h"

#define CRYPT_BLOCK 16
#define CRYPT_PIECE ((size_t)16 << 10) /* bytes of one feed at most */

struct crypt;

int crypt_open(struct crypt **out, const struct media_key *key, bool encrypt, struct err *e);
void crypt_close(struct crypt **c); /* wipes */
/* What comes out is good until the next call, and may be nothing. */
int crypt_feed(struct crypt *c, struct view in, struct view *out, struct err *e);
/* The rest. E_FORMAT, decrypting: the padding is not one, so the bytes are not what they should
 * be. Nothing follows. */
int crypt_end(struct crypt *c, struct view *out, struct err *e);

int64_t crypt_size(int64_t plain); /* how long so many bytes become: always a padding's worth */

#endif
