/* channel/delivery.h: what an answer wants sent as a file, told from what it says. Pure.
 *
 *     [send-file: PATH]      on a line of its own, not in code; [send-image: PATH] is the same
 *     ```file:NAME           a fenced block that is closed; its body is the file
 *
 * Both are taken out of the text, line by line. Time is linear in the answer, memory one copy. */
#ifndef CHANNEL_DELIVERY_H
#define CHANNEL_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define DELIVERY_MAX 20 /* files of one answer; the others are only counted */

/* Views into the answer. */
struct delivery_file {
	struct view path; /* of a tag: as written, quotes removed; NAME of a block. May be empty */
	struct view body; /* of a block */
	size_t indent;    /* blanks that each line of body may lose */
	bool block;
};

struct delivery {
	struct delivery_file files[DELIVERY_MAX];
	size_t n;
	size_t surplus; /* files beyond these */
};

/* Appends to text what is left of the answer. 0, or -1 (memory, text's ceiling). */
int delivery_read(struct delivery *out, struct view answer, struct str *text, struct err *e);
/* Appends the contents of a block. */
int delivery_body(const struct delivery_file *f, struct str *out, struct err *e);

#endif
