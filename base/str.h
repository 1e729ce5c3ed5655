/* base/str.h: text that knows its own ceiling, and borrowed bytes. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Borrowed bytes: good for this call, never stored, not NUL-terminated. */
struct view {
	const char *p;
	size_t n;
};

#define VIEW(lit) ((struct view){ "" lit, sizeof(lit) - 1 })
#define VIEW_NONE ((struct view){ NULL, 0 })
/* For printf's "%.*s". Callers keep views shorter than INT_MAX. */
#define VIEW_FMT(v) (int)(v).n, ((v).n > 0 ? (v).p : "")

struct view view_of(const char *s); /* NULL gives VIEW_NONE */
bool view_eqs(struct view a, const char *s);
struct view view_trim(struct view v); /* ASCII space, tab, CR, LF at both ends */
/* The rest is asked every few bytes of a text: bodies here, so that it costs no call. */
static inline bool view_eq(struct view a, struct view b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline struct view view_cut(struct view v, size_t n) /* at most the first n bytes */
{
	return (struct view){ v.p, n < v.n ? n : v.n };
}
static inline struct view view_from(struct view v, size_t at) /* at > n gives an empty view */
{
	if (at > v.n)
		at = v.n;
	return (struct view){ at > 0 ? v.p + at : v.p, v.n - at };
}
static inline bool view_starts(struct view v, struct view prefix)
{
	return v.n >= prefix.n && view_eq(view_cut(v, prefix.n), prefix);
}
static inline bool view_ends(struct view v, struct view suffix)
{
	return v.n >= suffix.n && view_eq(view_from(v, v.n - suffix.n), suffix);
}
static inline size_t view_find(struct view v, char c) /* position of the first c, or v.n */
{
	const char *at = v.n > 0 ? (const char *)memchr(v.p, (unsigned char)c, v.n) : NULL;

	return at ? (size_t)(at - v.p) : v.n;
}

/* Growing text with a ceiling of `max` bytes (the NUL not counted). Always NUL-terminated. The
 * first failure (ceiling or memory) sticks: later adds fail too, and str_ok() tells at the end, so
 * that a run of adds needs one check. What was there before the failing add is kept whole. What is
 * added must not point into the str itself. */
struct str {
	char *p;
	size_t n, cap, max;
	bool failed;
	bool secret; /* no copy is left behind when it grows or is released */
};

#define STR_INIT(max_)   ((struct str){ .max = (max_) })
#define STR_SECRET(max_) ((struct str){ .max = (max_), .secret = true })

int str_add(struct str *s, struct view v); /* 0, or -1 */
int str_adds(struct str *s, const char *z);
int str_addc(struct str *s, char c);
int str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int str_addv(struct str *s, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Room for n more bytes at p + n; after writing them the caller adds to n by str_grew. */
int str_reserve(struct str *s, size_t n);
/* Are n more bytes within the ceiling? Where they were, an add has failed for want of memory. */
bool str_has_room(const struct str *s, size_t n);
void str_grew(struct str *s, size_t n);
bool str_ok(const struct str *s);
struct view str_view(const struct str *s);
const char *str_cstr(const struct str *s);  /* "" when empty; valid until the next change */
void str_truncate(struct str *s, size_t n); /* no effect when n is not smaller */
void str_drop(struct str *s, size_t n);     /* remove the first n bytes */
void str_reset(struct str *s);              /* empty, failure cleared, memory kept */
void str_release(struct str *s);            /* free; ready for use again */
void str_wipe(struct str *s);               /* as release, the bytes overwritten first: secrets */
/* The text becomes the caller's (free()); the str is empty afterwards. NULL when failed. */
char *str_take(struct str *s);

/* Decimal digits only (for i64 after an optional '-'), nothing before or after; -1 on anything else
 * or overflow, *out is untouched then. */
int parse_u64(struct view v, unsigned long long *out);
int parse_i64(struct view v, long long *out);

/* Copy with NUL into a fixed buffer; -1 (and an empty string) when it does not fit or holds NUL. */
int copy_z(char *dst, size_t size, struct view src);

#endif
