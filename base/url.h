/* base/url.h: addresses as they stand in pages and in redirects. Pure; no name is looked up. */
#ifndef BASE_URL_H
#define BASE_URL_H

#include "base/err.h"
#include "base/str.h"

#define URL_TEXT_MAX 2048 /* bytes of an address that came from outside */

/* Append the address that ref means on the page at base (RFC 3986, 5.2): http or https, without its
 * fragment, ASCII, its host in small letters. White space around it and tabs and line ends within
 * are left out, as browsers do; spaces, quotes and bytes past ASCII are percent-encoded. base is
 * absolute and clean, or empty when ref must be absolute. E_UNSUPPORTED: another scheme. E_FORMAT:
 * no address, control characters, or longer than URL_TEXT_MAX. On failure nothing is appended. */
int url_resolve(struct view base, struct view ref, struct str *out, struct err *e);

#endif
