/* base/text-private.h: what the text files of this room share. */
#ifndef BASE_TEXT_PRIVATE_H
#define BASE_TEXT_PRIVATE_H

#include <stdint.h>

#include "base/text.h"

#define TEXT_REPLACEMENT VIEW("\xef\xbf\xbd") /* U+FFFD */

enum utf8_kind {
	UTF8_WHOLE, /* a well-formed sequence of *len bytes */
	UTF8_PART,  /* the beginning of one, all n bytes of it */
	UTF8_BAD    /* a maximal invalid part of *len bytes */
};

/* What p[0..n) begins with; n is not 0. */
enum utf8_kind utf8_classify(const unsigned char *p, size_t n, size_t *len);

/* One character (text_filter.c), visible if it is a control. */
void text_show(uint32_t cp, struct view bytes, struct str *out);

/* --- What looks like a secret (text_secret.c) ------------------------------------------------- */

enum secret_kind {
	SECRET_NONE,
	SECRET_VAGUE,  /* "token": a secret or a word of grammar; the value decides */
	SECRET_QUERY,  /* "key", "sig": only in a URL's query */
	SECRET_SURE,   /* "password", "api_key" */
	SECRET_WIRE,   /* a field of the wire protocol: any value */
	SECRET_LIST,   /* the same, when it holds a list or a map */
	SECRET_HEADER, /* Authorization */
	SECRET_COOKIE
};

/* What a name says about its value. Case, '-' and '_' do not matter. */
enum secret_kind secret_of_name(struct view name, bool in_query);
/* Nothing, a row of stars, <token>, ${TOKEN}, YOUR_KEY, [redacted]: never a secret. */
bool secret_is_placeholder(struct view v);
/* true, null, string: what stands in code behind the name of a secret. */
bool secret_is_word_of_code(struct view v);
/* Letters only, in words as prose or code have them: no digit, no capital inside a word. */
bool secret_is_wordy(struct view v);
/* Digits and letters change often enough, or go on long enough, for a key. */
bool secret_is_random(struct view v);

/* --- What is a secret by its face (text_shape.c) ---------------------------------------------- */

bool text_is_word(char c); /* letter, digit, '_', '-' */
/* Length of the line break at v.p, a real one or \n inside a string (inside a string...), or 0. */
size_t text_line_break(struct view v);

/* Each gives the length of the secret at v.p, 0 when there is none. */
size_t shape_key(struct view v);                 /* a vendor's key, a JWT; v begins a word */
size_t shape_hook(struct view v, size_t *head);  /* "host/path/" is *head, then the secret path */
size_t shape_pem(struct view v);                 /* a private key, also one that is cut short */
size_t shape_data(struct view v, size_t *head);  /* ":image/png;base64," is *head, then the data */
size_t shape_base64(struct view v, size_t *run); /* *run: how far its characters go at all */
size_t shape_userinfo(struct view v, bool http); /* v begins behind "://" */
bool shape_is_basic(struct view v);              /* v in base64 is "name:password" */

#endif
