/* Helpers of the formatter's tests: one text in, one text out. */
#ifndef TEST_FORMATTER_CHECK_H
#define TEST_FORMATTER_CHECK_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "invariants.h"

/* The caller releases it. */
static inline struct str formatted(struct view in, enum format_mode mode, int cells)
{
	struct format_opts o = { mode, cells };
	struct str out = STR_INIT(FORMAT_OUT_MAX);
	struct err e = ERR_INIT;

	assert_int_equal(format_text(in, &o, &out, &e), 0);
	assert_null(check_formatted(str_view(&out)));
	return out;
}

static inline void expect(enum format_mode mode, const char *in, const char *want)
{
	struct str out = formatted(view_of(in), mode, 0);

	assert_string_equal(str_cstr(&out), want);
	str_release(&out);
}

#define native(in, want) expect(FORMAT_NATIVE, in, want)
#define plain(in, want)  expect(FORMAT_PLAIN, in, want)
#define both(in, want) \
	do { \
		native(in, want); \
		plain(in, want); \
	} while (0)

#endif
