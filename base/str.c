#include "base/str.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct view view_of(const char *s)
{
	return s ? (struct view){ s, strlen(s) } : VIEW_NONE;
}

bool view_eqs(struct view a, const char *s)
{
	return view_eq(a, view_of(s));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct view view_trim(struct view v)
{
	while (v.n > 0 && is_blank(v.p[0])) {
		v.p++;
		v.n--;
	}
	while (v.n > 0 && is_blank(v.p[v.n - 1]))
		v.n--;
	return v;
}

/* --- Growing text ---------------------------------------------------------------------------- */

static int fail(struct str *s)
{
	s->failed = true;
	return -1;
}

static int set_cap(struct str *s, size_t cap)
{
	char *p;

	if (s->secret) {
		/* realloc would leave the old bytes behind. */
		p = malloc(cap);
		if (p && s->p) {
			memcpy(p, s->p, s->n + 1);
			explicit_bzero(s->p, s->cap);
			free(s->p);
		}
	} else {
		p = realloc(s->p, cap);
	}
	if (!p)
		return fail(s);
	s->p = p;
	s->cap = cap;
	s->p[s->n] = '\0';
	return 0;
}

bool str_has_room(const struct str *s, size_t n)
{
	return n <= s->max && s->n <= s->max - n && s->max != SIZE_MAX;
}

int str_reserve(struct str *s, size_t n)
{
	if (s->failed)
		return -1;
	if (!str_has_room(s, n))
		return fail(s);

	size_t need = s->n + n + 1, cap = s->cap < 32 ? 32 : s->cap;

	if (need <= s->cap)
		return 0;
	while (cap < need)
		cap = cap > s->max / 2 ? s->max + 1 : cap * 2;
	if (cap > s->max + 1)
		cap = s->max + 1;
	return set_cap(s, cap);
}

void str_grew(struct str *s, size_t n)
{
	assert(n == 0 || (s->p && n < s->cap - s->n));
	if (n == 0)
		return;
	s->n += n;
	s->p[s->n] = '\0';
}

int str_add(struct str *s, struct view v)
{
	if (str_reserve(s, v.n) < 0)
		return -1;
	if (v.n > 0) {
		memcpy(s->p + s->n, v.p, v.n);
		str_grew(s, v.n);
	}
	return 0;
}

int str_adds(struct str *s, const char *z)
{
	return str_add(s, view_of(z));
}

int str_addc(struct str *s, char c)
{
	return str_add(s, (struct view){ &c, 1 });
}

int str_addv(struct str *s, const char *fmt, va_list ap)
{
	va_list again;

	if (s->failed)
		return -1;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return fail(s);
	if (str_reserve(s, (size_t)n) < 0)
		return -1;
	if (vsnprintf(s->p + s->n, (size_t)n + 1, fmt, ap) != n) {
		s->p[s->n] = '\0';
		return fail(s);
	}
	str_grew(s, (size_t)n);
	return 0;
}

int str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int rc = str_addv(s, fmt, ap);
	va_end(ap);
	return rc;
}

bool str_ok(const struct str *s)
{
	return !s->failed;
}

struct view str_view(const struct str *s)
{
	return (struct view){ str_cstr(s), s->n };
}

const char *str_cstr(const struct str *s)
{
	return s->p ? s->p : "";
}

void str_truncate(struct str *s, size_t n)
{
	if (n >= s->n)
		return;
	s->n = n;
	s->p[n] = '\0';
}

void str_drop(struct str *s, size_t n)
{
	if (n == 0 || s->n == 0)
		return;
	if (n > s->n)
		n = s->n;
	s->n -= n;
	memmove(s->p, s->p + n, s->n + 1);
}

void str_reset(struct str *s)
{
	s->failed = false;
	str_truncate(s, 0);
}

void str_release(struct str *s)
{
	if (s->p && s->secret)
		explicit_bzero(s->p, s->cap);
	free(s->p);
	s->p = NULL;
	s->n = s->cap = 0;
	s->failed = false;
}

void str_wipe(struct str *s)
{
	if (s->p)
		explicit_bzero(s->p, s->cap);
	str_release(s);
}

char *str_take(struct str *s)
{
	char *p = NULL;

	/* An empty text is a text too. */
	if (!s->failed && (s->p || set_cap(s, 1) == 0)) {
		p = s->p;
		s->p = NULL;
	}
	str_release(s);
	return p;
}

/* --- Numbers, fixed buffers ------------------------------------------------------------------ */

int parse_u64(struct view v, unsigned long long *out)
{
	unsigned long long sum = 0;

	if (v.n == 0)
		return -1;
	for (size_t i = 0; i < v.n; i++) {
		unsigned digit = (unsigned)(unsigned char)v.p[i] - '0';

		if (digit > 9 || sum > (ULLONG_MAX - digit) / 10)
			return -1;
		sum = sum * 10 + digit;
	}
	*out = sum;
	return 0;
}

int parse_i64(struct view v, long long *out)
{
	unsigned long long u;
	bool minus = v.n > 0 && v.p[0] == '-';

	if (parse_u64(minus ? view_from(v, 1) : v, &u) < 0)
		return -1;
	if (u > (unsigned long long)LLONG_MAX + (minus ? 1 : 0))
		return -1;
	if (!minus)
		*out = (long long)u;
	else
		*out = u == 0 ? 0 : -(long long)(u - 1) - 1;
	return 0;
}

int copy_z(char *dst, size_t size, struct view src)
{
	assert(size > 0);
	dst[0] = '\0';
	if (src.n >= size || view_find(src, '\0') < src.n)
		return -1;
	if (src.n > 0)
		memcpy(dst, src.p, src.n);
	dst[src.n] = '\0';
	return 0;
}
