/* tools/host/address.h: web addresses in what people write, in one form to compare them by. */
#ifndef TOOLS_HOST_ADDRESS_H
#define TOOLS_HOST_ADDRESS_H

#include <stdbool.h>

#include "base/str.h"

/* The form in which two equal addresses are equal bytes: scheme and host in lower case, no default
 * port, no fragment, at least "/" as path, bytes past ASCII percent-encoded; all else as it is, no
 * escape decoded. 0, or -1: no http or https address, one with a user in it, out of its bounds. */
#define ADDRESS_MAX ((size_t)8192)
int address_normal(struct view url, struct str *out);

/* Calls found for each address that stands in the text, in normal form; also for what the text may
 * have meant by it: without the full stop behind it, with or without the letters that follow
 * without a space, a name alone ("example.com/a") as https. Each is cut from the text itself. */
void address_each(struct view text, void (*found)(void *arg, struct view normal), void *arg);

#endif
