/* base/text.h: making untrusted text safe for the place it goes to. Pure functions. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* --- UTF-8 ------------------------------------------------------------------------------------ */
bool utf8_valid(struct view v);        /* Unicode 15, table 3-7: no surrogates, no overlong */
size_t utf8_valid_span(struct view v); /* bytes before the first invalid one, or v.n */
/* Each maximal invalid part becomes U+FFFD (Unicode 15, section 3.9). 0 or -1 (ceiling, memory). */
int utf8_repair(struct view v, struct str *out);
/* Decode one code point at v.p; returns its length 1..4, or 0 when invalid or v is empty. */
size_t utf8_next(struct view v, uint32_t *cp);
size_t utf8_count(struct view v); /* code points; an invalid byte counts as one */
/* The longest prefix of at most max bytes that ends on a grapheme cluster boundary; when the first
 * cluster alone is longer, one that ends on a code point boundary. Bytes of v must be valid. */
size_t utf8_cut(struct view v, size_t max);
/* As utf8_cut, the limit counted in code points. */
size_t utf8_cut_chars(struct view v, size_t max_chars);
/* Length in bytes of the grapheme cluster at v.p, at most TEXT_CLUSTER_MAX (then cut on a code
 * point), 0 when v is empty. */
#define TEXT_CLUSTER_MAX 256
size_t utf8_cluster(struct view v);
/* Columns of the cluster on a terminal: 0, 1 or 2. */
int utf8_cluster_width(struct view cluster);
size_t utf8_width(struct view v); /* sum over clusters */

/* --- Controls --------------------------------------------------------------------------------- */
/* Removes ANSI CSI, OSC, DCS, SOS, PM and APC sequences (7-bit and C1 forms), other escapes, C0 and
 * C1 controls but those kept, and bidirectional controls (U+202A-202E, U+2066-2069, U+200E, U+200F,
 * U+061C); CRLF and CR become LF; invalid UTF-8 is repaired. Constant memory, any split of the
 * input gives the same output. A sequence still open at the end is discarded; one that is broken
 * off by a character it cannot hold (OSC: by the end of the line) ends before that. */
enum { TEXT_KEEP_LF = 1, TEXT_KEEP_TAB = 2 };
struct text_filter {
	int keep;
	int state;             /* private */
	unsigned char part[4]; /* private: an unfinished UTF-8 sequence */
	unsigned char npart;
	bool after_cr;
};
void text_filter_init(struct text_filter *f, int keep);
int text_filter_feed(struct text_filter *f, struct view in, struct str *out);
int text_filter_end(struct text_filter *f, struct str *out);
int text_safe(struct view in, int keep, struct str *out); /* the whole in one call */
/* One line for a log or terminal: controls and line separators shown as \n \t \x1b \u202e, invalid
 * bytes as \xff, backslash kept as it is. */
int text_visible(struct view in, struct str *out);
/* The same for someone who is to judge it: shown as \u200b and \U000e0061 is also what has no width
 * or no shape, in which text can be hidden, and what passes for another character among Latin
 * letters (a Cyrillic a in a name, a slash that is none), and more than 32 blanks in a row as
 * [3000 blanks]. Not for names that are to be used again. */
int text_revealed(struct view in, struct str *out);
/* Is anything of it seen: more than blanks, line breaks and what has no width or no shape? */
bool text_shows(struct view v);

/* --- Likeness --------------------------------------------------------------------------------- */
/* How many characters must be added, taken away or changed (Levenshtein); beginnings of 48 bytes
 * are looked at. For "did you mean". */
size_t text_distance(const char *a, const char *b);

/* --- Secrets ---------------------------------------------------------------------------------- */
/* Replaces the value of what looks like a secret by "[redacted]": Authorization, Bearer and Basic
 * headers, cookies; key/token/secret/password assignments in JSON (also inside strings), headers,
 * TOML, command lines and environments; the secret fields of the wire protocol (bot_token,
 * context_token, typing_ticket, aeskey, upload_param, encrypt_query_param, full_url, qrcode and the
 * like) whatever they hold; JWTs; PEM private keys; credentials and secret queries in URLs;
 * vendors' key formats (sk-, ghp_, xox?-, AKIA, AIza, hf_ ...) and webhooks' addresses; base64 runs
 * of 120 characters and more; data: images. Prose, code and placeholders stay. Valid UTF-8 stays
 * valid, JSON stays JSON, a second time changes nothing. Linear time. */
int text_redact(struct view in, struct str *out);

#endif
