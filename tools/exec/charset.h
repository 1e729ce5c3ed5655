/* tools/exec/charset.h: which encoding a page is in, and the page as UTF-8. */
#ifndef TOOLS_EXEC_CHARSET_H
#define TOOLS_EXEC_CHARSET_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct charset;

/* The encoding by a byte order mark, else by the Content-Type header, else by what the text says of
 * itself in its first bytes, else UTF-8 where the bytes are, else windows-1252 (the order of the
 * HTML standard). libc loads its tables here, from files, so this comes ahead of the fence. */
int charset_open(struct charset **out, struct view content_type, struct view body, struct err *e);
void charset_close(struct charset **c);
const char *charset_name(const struct charset *c); /* "UTF-8", "GB18030", ... */

/* Append body as valid UTF-8; each wrong byte becomes U+FFFD. After max bytes it ends on a
 * character's edge and *cut is set. */
int charset_decode(const struct charset *c, struct view body, size_t max, struct str *out,
	bool *cut, struct err *e);

#endif
