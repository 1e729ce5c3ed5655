/* base/toml.h: a strict subset of TOML 1.0: comments, bare and dotted keys, [tables], basic and
 * literal one-line strings, integers, booleans, arrays of strings on one or several lines. Anything
 * else is refused with line and column. Editing keeps comments and order. */
#ifndef BASE_TOML_H
#define BASE_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define TOML_FILE_MAX  ((size_t)128 << 10)
#define TOML_KEYS_MAX  1000
#define TOML_ITEMS_MAX 1000 /* of one array */

enum toml_type { TOML_STRING, TOML_INT, TOML_BOOL, TOML_ARRAY };

struct toml_value {
	enum toml_type type;
	const char *s; /* string, NUL-terminated, without NUL inside */
	int64_t i;
	bool b;
	const char *const *items; /* array of strings, NULL-terminated */
	size_t nitems;
	int line, col; /* of the value, from 1 */
	int key_line, key_col;
};

struct toml;

/* The message is "line:col: what is wrong, expected ...": the caller puts the file name before it.
 */
int toml_read(struct toml **out, struct view text, struct err *e);
void toml_free(struct toml **t);
size_t toml_count(const struct toml *t);
/* The i-th key in full dotted form, in the order of the file. */
const char *toml_key(const struct toml *t, size_t i);
const struct toml_value *toml_at(const struct toml *t, size_t i);
const struct toml_value *toml_get(const struct toml *t, const char *dotted); /* NULL: absent */

/* One value as it would stand behind "=": the whole of `text`. Strings live until toml_free. */
int toml_read_value(struct toml **hold, struct toml_value *out, struct view text, struct err *e);
int toml_write_string(struct view v, struct str *out); /* quoted and escaped */

/* Append to out the text with the key set to the TOML value `value` (comments beside it are
 * dropped), or removed when value.p is NULL. Everything else stays byte for byte; a new key goes
 * to the end of its table, a new table to the end of the file. On failure out is as it was: the
 * text does not read, key or value are none, or the outcome would not read (the key is a table
 * here), or does not fit. */
int toml_edit(struct view text, const char *dotted, struct view value, struct str *out,
	struct err *e);

#endif
