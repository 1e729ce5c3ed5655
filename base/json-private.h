/* base/json-private.h: what the JSON files of this room share. */
#ifndef BASE_JSON_PRIVATE_H
#define BASE_JSON_PRIVATE_H

#include "base/json.h"

#define JSON_DEPTH_MAX 64 /* whatever the caller's limits say */

/* What a number that a double cannot give back digit for digit becomes in the copy that cJSON
 * parses: a string of this byte and the literal. No checked string holds it, it is not UTF-8. */
#define JSON_NUMBER_MARK '\xff'

/* The validating pass. With a copy (empty, not NULL), whatever the library behind must not see as
 * it stands is rewritten: the copy then holds the whole text, else it stays empty. */
int json_scan(struct view v, const struct json_limits *lim, struct str *copy, struct err *e);

/* Bytes of v before the first '"', backslash, control or, when it asks for ASCII, other byte. */
size_t json_plain_span(struct view v, bool *ascii);

/* v as a JSON string literal; -1: it is not valid UTF-8 or holds NUL, or s failed. */
int json_add_string(struct str *s, struct view v);
/* The value j, compact; -1: s failed, or nested deeper than depth. */
int json_add_value(struct str *s, const struct json *j, int depth);

#endif
