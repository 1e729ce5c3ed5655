/* base/json-private.h: what the JSON files of this room share. */
#ifndef BASE_JSON_PRIVATE_H
#define BASE_JSON_PRIVATE_H

#include "base/json.h"

#define JSON_DEPTH_MAX 64 /* whatever the caller's limits say */

/* What a number that a double cannot give back digit for digit becomes in the copy that cJSON
 * parses: a string of this byte and the literal. No checked string holds it, it is not UTF-8. */
#define JSON_NUMBER_MARK '\xff'

/* The text with what the library behind must not see as it stands rewritten (json_notes.c). */
struct json_copy {
	char *p; /* NULL: the text can stay as it is */
	size_t n, cap;
	char small[48 << 10];
};

int json_copy_begin(struct json_copy *c, size_t bytes); /* for a text of that many; -1: memory */
void json_copy_add(struct json_copy *c, struct view v);

/* The names of all objects that are open while one reads. */
struct json_names {
	struct view *v;
	size_t n, cap;
	size_t first[JSON_DEPTH_MAX]; /* of each level, where its names begin */
	uint64_t seen[JSON_DEPTH_MAX];
	int depth;
	bool unsure; /* some were written with escapes or repaired */
};

void json_names_open(struct json_names *s);
/* 1: it is there already. -1: out of memory. */
int json_names_add(struct json_names *s, struct view name);
/* An object ends. True when one of its names stands there twice after all; *which is the later. */
bool json_names_close(struct json_names *s, struct view *which);
/* The same of n names in an array, which may be sorted on the way. */
bool json_names_twice(struct view *v, size_t n, struct view *which);

/* What reading wants of the validating pass besides a yes. */
struct json_notes {
	struct json_copy copy;
	struct json_names names;
	bool no_memory;
};

void json_notes_init(struct json_notes *notes);
void json_notes_release(struct json_notes *notes);

/* The validating pass; notes may be NULL. */
int json_scan(struct view v, const struct json_limits *lim, struct json_notes *notes,
	struct err *e);

/* Bytes of v before the first '"', backslash, control or, when it asks for ASCII, other byte. */
size_t json_plain_span(struct view v, bool *ascii);

/* v as a JSON string literal; -1: it is not valid UTF-8 or holds NUL, or s failed. */
int json_add_string(struct str *s, struct view v);
/* The value j, compact; -1: s failed, or nested deeper than depth. */
int json_add_value(struct str *s, const struct json *j, int depth);

#endif
