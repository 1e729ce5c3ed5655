#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"

/* RFC 4648, 10. */
static const char *const vectors[][2] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

static void keeps_the_vectors_of_the_rfc(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct str out = STR_INIT(64);

		assert_int_equal(0, base64_encode(view_of(vectors[i][0]), &out));
		assert_string_equal(str_cstr(&out), vectors[i][1]);
		str_reset(&out);
		assert_int_equal(0, base64_decode(view_of(vectors[i][1]), &out));
		assert_string_equal(str_cstr(&out), vectors[i][0]);
		str_release(&out);
	}
}

static void carries_every_byte(void **state)
{
	struct str text = STR_INIT(1024), back = STR_INIT(1024);
	char bytes[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(unsigned char)i;
	assert_int_equal(0, base64_encode((struct view){ bytes, sizeof(bytes) }, &text));
	assert_int_equal(0, base64_decode(str_view(&text), &back));
	assert_int_equal(back.n, sizeof(bytes));
	assert_memory_equal(back.p, bytes, sizeof(bytes));
	str_release(&text);
	str_release(&back);
}

static void refuses_what_is_not_base64(void **state)
{
	static const char *const rows[] = { "Z", "Zg", "Zg=", "Zg==Zg==", "=",
		"====", "Z===", "Zm9v Zm9v", "Zm9-", "Zm9_", "Zh==", "Zm9=", "Zm\n8=", "Zg==\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str out = STR_INIT(64);

		if (base64_decode(view_of(rows[i]), &out) == 0)
			fail_msg("taken: %s", rows[i]);
		str_release(&out);
	}
}

static void keeps_the_ceiling(void **state)
{
	struct str out = STR_INIT(7);

	(void)state;
	assert_int_equal(-1, base64_encode(VIEW("foob"), &out));
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_vectors_of_the_rfc),
		cmocka_unit_test(carries_every_byte),
		cmocka_unit_test(refuses_what_is_not_base64),
		cmocka_unit_test(keeps_the_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
