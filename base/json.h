/* base/json.h: strict JSON. A validating pass accepts RFC 8259 and nothing else before the library
 * behind it (cJSON) sees a byte; afterwards typed getters read, without coercion. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct json; /* a value; const wherever it is only read */

enum json_nul {
	JSON_NUL_REFUSE, /* a NUL byte or \u0000 is an error */
	JSON_NUL_REPAIR  /* raw NUL inside a string and \u0000 become U+FFFD */
};

struct json_limits {
	size_t bytes;
	int depth;    /* nesting of arrays and objects; [] is 1; never over 64 */
	size_t nodes; /* values: every scalar, array and object; member names are not counted */
	enum json_nul nul;
	/* Inside strings invalid UTF-8 and half surrogate pairs (\ud83d alone) become U+FFFD
	 * instead of an error. */
	bool repair_utf8;
};

/* 2 MiB, 32 levels, 200,000 nodes; and 128 KiB, 16 levels, 10,000 nodes (kairo-architecture). */
extern const struct json_limits json_limits_wire; /* refuses NUL and bad UTF-8 */
extern const struct json_limits json_limits_config;
/* 2 MiB, 32, 200,000, repairing NUL and UTF-8: message text from phones. */
extern const struct json_limits json_limits_message;

#define JSON_NUMBER_CHARS 60 /* a number's literal may be this long */

/* Exactly one value with optional white space around it. Refused: duplicate member names (compared
 * unescaped), half surrogate pairs, numbers that overflow a double, anything over a limit. The
 * message names the byte offset. Linear in v.n. *out is NULL on failure; free with json_free. */
int json_read(struct json **out, struct view v, const struct json_limits *lim, struct err *e);
/* The validating pass alone (no tree, no duplicate check). */
int json_check(struct view v, const struct json_limits *lim, struct err *e);
void json_free(struct json **j);

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
enum json_type json_type(const struct json *j);

/* Iteration: the first child of an array or object (NULL when empty), the next sibling. */
const struct json *json_first(const struct json *j);
const struct json *json_next(const struct json *j);
const char *json_name(const struct json *member); /* of an object's member; NULL in an array */
size_t json_count(const struct json *j);
#define json_each(it, parent) \
	for (const struct json *it = json_first(parent); it; it = json_next(it))

/* A member by its exact, case-sensitive name; NULL when absent. obj may be NULL (gives NULL). */
const struct json *json_member(const struct json *obj, const char *name);

/* Typed getters on a member of an object. 1: there. 0: absent, or null, and optional (the output is
 * untouched). -1: of another type, out of bounds, or absent and required; e names the field. */
enum json_need { JSON_OPTIONAL, JSON_REQUIRED };

/* A string of min..max bytes. The view lives as long as the tree, is valid UTF-8 without NUL and is
 * NUL-terminated behind its end. */
int json_get_str(const struct json *obj, const char *name, enum json_need need, size_t min,
	size_t max, struct view *out, struct err *e);
/* A number without fraction or exponent, in min..max; all 64 bits are exact. */
int json_get_int(const struct json *obj, const char *name, enum json_need need, int64_t min,
	int64_t max, int64_t *out, struct err *e);
int json_get_u64(const struct json *obj, const char *name, enum json_need need, uint64_t *out,
	struct err *e);
/* An id: decimal digits as a number or as a string (no fraction or exponent, at most 20 characters,
 * up to 2^64-1, or down to -2^63 from a server that prints it signed); the exact digits, without
 * leading zeros, as text. */
int json_get_id(const struct json *obj, const char *name, enum json_need need, char out[21],
	struct err *e);
int json_get_double(const struct json *obj, const char *name, enum json_need need, double *out,
	struct err *e);
int json_get_bool(const struct json *obj, const char *name, enum json_need need, bool *out,
	struct err *e);
int json_get_object(const struct json *obj, const char *name, enum json_need need,
	const struct json **out, struct err *e);
int json_get_array(const struct json *obj, const char *name, enum json_need need, size_t max_items,
	const struct json **out, struct err *e);
/* One of `names` (NULL-terminated); *out is its index. */
int json_get_enum(const struct json *obj, const char *name, enum json_need need,
	const char *const *names, int *out, struct err *e);
/* Of a bare value (an array's item). */
int json_str(const struct json *j, struct view *out); /* 0, or -1: not a string */
int json_int(const struct json *j, int64_t *out);     /* 0, or -1: not an exact integer */

/* The value as compact JSON, numbers digit for digit as they were read. */
int json_print(const struct json *j, struct str *out, struct err *e);

/* --- Writing ---------------------------------------------------------------------------------- */
/* Streams compact JSON into a str. Failure sticks (invalid UTF-8 or NUL in a string, a non-finite
 * number, nesting over 32, the str's ceiling, a call out of order), json_out_end reports it. */
struct json_out {
	struct str *s;
	uint64_t is_object, has_item; /* private: a bit a level */
	int depth;
	bool failed, after_name, done;
};
void json_out_begin(struct json_out *w, struct str *s); /* appends to s */
int json_out_end(struct json_out *w, struct err *e);    /* 0 when one whole value was written */
void json_out_fail(struct json_out *w); /* what should come next cannot be had: no memory */

void json_open(struct json_out *w, const char *name); /* {   name NULL in arrays and at the top */
void json_close(struct json_out *w);                  /* } */
void json_open_array(struct json_out *w, const char *name);
void json_close_array(struct json_out *w);
void json_put_str(struct json_out *w, const char *name, struct view v);
void json_put_z(struct json_out *w, const char *name, const char *z); /* NULL writes null */
void json_put_int(struct json_out *w, const char *name, int64_t v);
void json_put_u64(struct json_out *w, const char *name, uint64_t v);
void json_put_double(struct json_out *w, const char *name, double v);
void json_put_bool(struct json_out *w, const char *name, bool v);
void json_put_null(struct json_out *w, const char *name);
void json_put_json(struct json_out *w, const char *name, const struct json *j);
/* Text that already is one JSON value; checked with json_check under json_limits_wire. */
void json_put_raw(struct json_out *w, const char *name, struct view raw);

#endif
