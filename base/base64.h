/* base/base64.h: bytes inside JSON (RFC 4648, 4). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/str.h"

int base64_encode(struct view bytes, struct str *out); /* 0, or -1: ceiling or memory */
/* Strict: padded, no white space, unused bits zero. -1: not that, ceiling or memory. */
int base64_decode(struct view text, struct str *out);

#endif
