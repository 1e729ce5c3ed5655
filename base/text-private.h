/* base/text-private.h: what the text files of this room share. */
#ifndef BASE_TEXT_PRIVATE_H
#define BASE_TEXT_PRIVATE_H

#include "base/text.h"

#define TEXT_REPLACEMENT VIEW("\xef\xbf\xbd") /* U+FFFD */

enum utf8_kind {
	UTF8_WHOLE, /* a well-formed sequence of *len bytes */
	UTF8_PART,  /* the beginning of one, all n bytes of it */
	UTF8_BAD    /* a maximal invalid part of *len bytes */
};

/* What p[0..n) begins with; n is not 0. */
enum utf8_kind utf8_classify(const unsigned char *p, size_t n, size_t *len);

/* The 12 controls of Unicode that reorder what one reads. */
bool text_is_bidi(uint32_t cp);

#endif
