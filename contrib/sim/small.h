/* contrib/sim/small.h: small things that several files need. */
#ifndef SIM_SMALL_H
#define SIM_SMALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#define SIM_BODY_MAX ((size_t)64 << 20) /* of a request, the CDN's aside */

#define WAIT_MAX ((int64_t)7 * 24 * 3600 * 1000) /* ms that anything may be told to wait */

char *dup_view(struct view v); /* NULL when out of memory */
void plain_ascii(char *s);     /* other bytes become '?'; NULL is fine */
bool all_of(struct view v, const char *set);
struct view find_bytes(struct view hay, struct view needle); /* p NULL: not found */
int replace_bytes(struct str *s, struct view from, struct view to);
/* Optional members of a control request, with their defaults. */
struct view opt_str(const struct json *j, const char *name, const char *otherwise);
int64_t opt_int(const struct json *j, const char *name, int64_t otherwise);
bool opt_bool(const struct json *j, const char *name, bool otherwise);
/* Bytes given as NAME or as NAME_b64; appended to out. 1 there, 0 absent, -1 wrong. */
int opt_bytes(const struct json *j, const char *name, struct str *out, struct err *e);

#endif
