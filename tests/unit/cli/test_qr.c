/* cli/qr: the drawing has the size the standard gives, a quiet zone, and light modules as glyphs.
 */
#include "cli/qr.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t count_lines(const struct str *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->p[i] == '\n';
	return n;
}

/* 17 bytes at level L fit version 1: 21 modules (ISO/IEC 18004), with four on each side 29. */
static void a_short_text_is_version_one(void **state)
{
	struct str s = STR_INIT(1 << 20);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(qr_draw("https://x.example", QR_ASCII, &s, &e), 0);
	assert_int_equal(count_lines(&s), 29);
	assert_int_equal(s.n, 29 * (29 * 2 + 1));
	/* the quiet zone is light, the finder pattern's corner dark */
	assert_memory_equal(s.p, "##########", 10);
	assert_memory_equal(s.p + (size_t)4 * 59 + 8, "  ", 2);
	assert_int_equal(qr_columns(str_view(&s)), 58);
	str_reset(&s);
	assert_int_equal(qr_draw("https://x.example", QR_BLOCKS, &s, &e), 0);
	assert_int_equal(count_lines(&s), 15);
	assert_memory_equal(s.p, "\x1b[40;97m█", 11);
	assert_int_equal(qr_columns(str_view(&s)), 29);
	str_release(&s);
}

static void a_text_too_long_is_refused(void **state)
{
	struct str s = STR_INIT(1 << 20);
	struct err e = ERR_INIT;
	char *text = malloc(4001);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 4000);
	text[4000] = '\0';
	assert_int_equal(qr_draw(text, QR_ASCII, &s, &e), -1);
	assert_int_equal(e.code, E_FORMAT);
	text[2953] = '\0'; /* version 40, level L, 8-bit mode */
	assert_int_equal(qr_draw(text, QR_ASCII, &s, &e), 0);
	assert_int_equal(count_lines(&s), 177 + 8);
	str_release(&s);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_text_is_version_one),
		cmocka_unit_test(a_text_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
