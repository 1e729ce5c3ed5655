/* formatter/formatter.h: markdown -> phone text, and the chunker. Pure functions: bytes in, out. */
#ifndef FORMATTER_FORMATTER_H
#define FORMATTER_FORMATTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum format_mode {
	FORMAT_NATIVE, /* Markdown that WeChat renders, made safe for it (wire reference, 7.3) */
	FORMAT_PLAIN   /* no markers at all */
};

struct format_opts {
	enum format_mode mode;
	int table_cells; /* a plain table wider than this becomes records; 0: 44 (22 CJK columns) */
};

#define FORMAT_IN_MAX  ((size_t)20 << 20) /* a model's whole answer */
#define FORMAT_OUT_MAX ((size_t)64 << 20)

/* Appends the formatted text to out: without a line end behind it, empty when there is nothing to
 * show. Time and memory are linear in the input, which need not be valid UTF-8. Hidden reasoning
 * (<think> and the like; also what stands before a lone </think>, the beginning of which some
 * models' templates keep) is removed outside code, ANSI and control bytes everywhere. Nothing else
 * is lost: URLs come through whole, images as links. 0; -1 only for memory or a ceiling
 * (FORMAT_IN_MAX, or that of out). */
int format_text(struct view markdown, const struct format_opts *o, struct str *out, struct err *e);

/* Hidden reasoning tags (think, thinking, thought, reasoning; any case; nested; unclosed to the
 * end) removed from a stream with what they hold, code left alone; any split gives the same output.
 * Text comes out line by line, a paragraph later where inline code is open. 0; -1 for memory or
 * out's ceiling. _end puts out what is held. */
struct think_filter;
bool think_needed(struct view v); /* is there any such tag, in code or not? */
/* Where the answer begins when the first tag was an end without a beginning, alone on its line:
 * some models are given the beginning by their template. An offset into what was put out. */
size_t think_orphan(const struct think_filter *t);
int think_open(struct think_filter **out, struct err *e);
int think_feed(struct think_filter *t, struct view piece, struct str *out);
int think_end(struct think_filter *t, struct str *out);
void think_close(struct think_filter **t);

#define CHUNK_LIMIT_DEFAULT 1800 /* Unicode code points a part (wire reference, 7.2) */
#define CHUNK_LIMIT_MAX     3800 /* kairo-architecture */

/* Cuts formatted text (valid UTF-8) into parts of at most `limit` code points (1..CHUNK_LIMIT_MAX;
 * others are clamped). The best place in the second half is taken: a block's end, a line's, a
 * sentence's, a clause's, a word's. A grapheme cluster, a URL, a table's row or a list marker is
 * torn only where it alone is longer than the limit; a UTF-8 sequence never.
 *
 * White space: a cut consumes nothing. What stands at a cut goes to the part before it, so that
 * parts begin with something to read; a sender may trim line ends at both ends of a part. Joined,
 * the parts are the text, byte for byte, but for fences: from limit 64 up, code that is cut is
 * closed at the end of a part and opened again, with its info string, at the start of the next.
 *
 * No part is empty, and none is blank or a bare fence as long as the text holds no run of white
 * space and fence lines longer than half the limit. A text that shows nothing gives no parts. */
struct chunks {
	struct view *parts; /* n views into text */
	size_t n;
	struct str text;
};
/* 0; -1 for memory. *out is set either way; release it. */
int chunk_text(struct view formatted, size_t limit, struct chunks *out, struct err *e);
void chunks_release(struct chunks *c);

#endif
