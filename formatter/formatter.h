/* formatter/formatter.h: markdown -> phone text, and the chunker. Pure functions: bytes in, out. */
#ifndef FORMATTER_FORMATTER_H
#define FORMATTER_FORMATTER_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum format_mode {
	FORMAT_NATIVE,  /* Markdown that WeChat renders, made safe for it (wire reference, 7.3) */
	FORMAT_PLAIN    /* no markers at all */
};

struct format_opts {
	enum format_mode mode;
	int table_cells;        /* a plain table wider than this becomes records; 0: 44 (22 CJK columns) */
};

#define FORMAT_IN_MAX   ((size_t)20 << 20)  /* a model's whole answer */
#define FORMAT_OUT_MAX  ((size_t)64 << 20)

/* Appends the formatted text to out. Linear in the input. Hidden reasoning (<think> and the like) is
 * removed outside code, ANSI and control bytes everywhere. 0; -1 only for memory or the ceiling. */
int format_text(struct view markdown, const struct format_opts *o, struct str *out, struct err *e);

/* Hidden reasoning tags removed from a stream, code left alone; any split gives the same output. */
struct think_filter;
int think_open(struct think_filter **out, struct err *e);
int think_feed(struct think_filter *t, struct view piece, struct str *out);
int think_end(struct think_filter *t, struct str *out);
void think_close(struct think_filter **t);

#define CHUNK_LIMIT_DEFAULT 1800   /* Unicode code points a part (wire reference, 7.2) */
#define CHUNK_LIMIT_MAX     3800   /* kairo-architecture */

/* Cuts formatted text into parts of at most `limit` code points (1..CHUNK_LIMIT_MAX; others are
 * clamped). Parts are never empty or a bare fence. From limit 64 up a fence that is cut is closed
 * and reopened with its info string. Joined, the parts give the text back but for those fences. */
struct chunks {
	struct view *parts;     /* n views into text */
	size_t n;
	struct str text;
};
int chunk_text(struct view formatted, size_t limit, struct chunks *out, struct err *e);
void chunks_release(struct chunks *c);

#endif
