/* Keys in all their forms, and the cipher in any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/ilink/crypt.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Wire reference, 14. */
#define HEX "00112233445566778899aabbccddeeff"

static const struct {
	const char *plain, *cipher;
} vectors[] = {
	{ "", "00657ea140655a44782747705d422fad" },
	{ "hello ilink", "b7b86f6a7e5ca4c39d8da094d17d2f95" },
	{ "0123456789abcdef", "aebdd39b144089d5e31cacd35b7a113a00657ea140655a44782747705d422fad" },
};

static struct media_key key(void)
{
	struct media_key k;

	assert_int_equal(media_key_read(&k, VIEW(HEX), NULL), 1);
	return k;
}

static void add_hex(struct str *out, struct view v)
{
	for (size_t i = 0; i < v.n; i++)
		str_addf(out, "%02x", (unsigned char)v.p[i]);
}

static void from_hex(const char *hex, struct str *out)
{
	for (; *hex; hex += 2) {
		char pair[3] = { hex[0], hex[1], '\0' };

		str_addc(out, (char)strtoul(pair, NULL, 16));
	}
}

/* The whole in pieces of `step` bytes; -1 when the end is none. */
static int run(bool encrypt, struct view in, size_t step, struct str *out)
{
	struct media_key k = key();
	struct crypt *c = NULL;
	struct err e = ERR_INIT;
	struct view v;
	int rc;

	assert_int_equal(crypt_open(&c, &k, encrypt, NULL), 0);
	for (; in.n; in = view_from(in, step)) {
		assert_int_equal(crypt_feed(c, view_cut(in, step), &v, NULL), 0);
		str_add(out, v);
	}
	rc = crypt_end(c, &v, &e);
	if (rc == 0)
		str_add(out, v);
	else
		assert_int_equal(e.code, E_FORMAT);
	crypt_close(&c);
	assert_null(c);
	return rc;
}

/* --- Keys ------------------------------------------------------------------------------------- */
static void reads_every_form_of_a_key(void **state)
{
	static const char *const forms[] = { HEX, "00112233445566778899AABBCCDDEEFF",
		"ABEiM0RVZneImaq7zN3u/w==", "MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY=",
		/* of upper-case digits */
		"MDAxMTIyMzM0NDU1NjY3Nzg4OTlBQUJCQ0NEREVFRkY=" };

	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		struct media_key k;
		char hex[MEDIA_KEY_HEX_SIZE];

		assert_int_equal(media_key_read(&k, view_of(forms[i]), NULL), 1);
		media_key_hex(&k, hex);
		assert_string_equal(hex, HEX);
		media_key_wipe(&k);
		media_key_hex(&k, hex);
		assert_string_equal(hex, "00000000000000000000000000000000");
	}
}

static void tells_no_key_from_a_bad_one(void **state)
{
	static const char *const bad[] = {
		"0011223344556677889_aabbccddeeff",             /* no digit */
		"00112233445566778899aabbccddeef",              /* 31 */
		"00112233445566778899aabbccddeeff0",            /* 33 */
		"ABEiM0RVZneImaq7zN3u",                         /* 15 bytes */
		"ABEiM0RVZneImaq7zN3u//8=",                     /* 17 bytes */
		"ABEiM0RVZneImaq7zN3u/w",                       /* its padding is gone */
		"MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZg==", /* of 31 digits */
		"MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmYw", /* of 33 */
		"MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZ2c=", /* 32, not all digits */
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", /* 32 bytes of nothing */
		"=",
		"x",
		"\xff\xff",
	};
	struct media_key k;

	(void)state;
	assert_int_equal(media_key_read(&k, VIEW(""), NULL), 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct err e = ERR_INIT;

		if (media_key_read(&k, view_of(bad[i]), &e) != -1)
			fail_msg("taken for a key: %s", bad[i]);
		assert_int_equal(e.code, E_FORMAT);
		assert_null(strstr(e.msg, bad[i]));
	}
}

static void writes_a_key_as_the_phone_wants_it(void **state)
{
	struct media_key k = key(), other;
	char text[MEDIA_KEY_TEXT_SIZE];

	(void)state;
	media_key_text(&k, text);
	assert_string_equal(text, "MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY=");
	media_key_random(&k);
	media_key_random(&other);
	assert_memory_not_equal(&k, &other, sizeof(k));
	media_key_text(&k, text);
	assert_int_equal(media_key_read(&other, view_of(text), NULL), 1);
	assert_memory_equal(&k, &other, sizeof(k));
}

/* --- The cipher ------------------------------------------------------------------------------- */
static void keeps_to_the_vectors_in_any_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++)
		for (size_t step = 1; step <= 33; step++) {
			struct str out = STR_INIT(1000), hex = STR_INIT(1000);
			struct str cipher = STR_INIT(1000);

			assert_int_equal(run(true, view_of(vectors[i].plain), step, &out), 0);
			add_hex(&hex, str_view(&out));
			assert_string_equal(str_cstr(&hex), vectors[i].cipher);
			assert_int_equal(out.n, crypt_size((int64_t)strlen(vectors[i].plain)));
			str_reset(&out);
			from_hex(vectors[i].cipher, &cipher);
			assert_int_equal(run(false, str_view(&cipher), step, &out), 0);
			assert_string_equal(str_cstr(&out), vectors[i].plain);
			str_release(&out);
			str_release(&hex);
			str_release(&cipher);
		}
}

static void gives_back_what_it_was_given(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, CRYPT_PIECE - 1, CRYPT_PIECE,
		CRYPT_PIECE + 1, 3 * CRYPT_PIECE };

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct str in = STR_INIT(1 << 20), out = STR_INIT(1 << 20),
			   back = STR_INIT(1 << 20);

		for (size_t b = 0; b < sizes[i]; b++)
			str_addc(&in, (char)(b * 31 + b / 251));
		assert_int_equal(run(true, str_view(&in), CRYPT_PIECE, &out), 0);
		assert_int_equal(run(false, str_view(&out), CRYPT_PIECE, &back), 0);
		assert_true(view_eq(str_view(&in), str_view(&back)));
		str_release(&in);
		str_release(&out);
		str_release(&back);
	}
}

static void tells_sizes_with_the_padding(void **state)
{
	static const int64_t rows[][2] = { { 0, 16 }, { 1, 16 }, { 15, 16 }, { 16, 32 }, { 17, 32 },
		{ 100, 112 }, { 104857600, 104857616 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(crypt_size(rows[i][0]), rows[i][1]);
}

static void knows_a_wrong_padding(void **state)
{
	static const char *const bad[] = {
		"",                                   /* not even a block */
		"00657ea140655a44782747705d422f",     /* 15 bytes */
		"00657ea140655a44782747705d422fad00", /* 17 */
		/* under the vectors' key: blocks that end in no padding */
		"aebdd39b144089d5e31cacd35b7a113a",
		"00000000000000000000000000000000",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct str in = STR_INIT(100), out = STR_INIT(100);

		from_hex(bad[i], &in);
		assert_int_equal(run(false, str_view(&in), 16, &out), -1);
		str_release(&in);
		str_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_form_of_a_key),
		cmocka_unit_test(tells_no_key_from_a_bad_one),
		cmocka_unit_test(writes_a_key_as_the_phone_wants_it),
		cmocka_unit_test(keeps_to_the_vectors_in_any_pieces),
		cmocka_unit_test(gives_back_what_it_was_given),
		cmocka_unit_test(tells_sizes_with_the_padding),
		cmocka_unit_test(knows_a_wrong_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
