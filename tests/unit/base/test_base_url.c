#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/url.h"

#define PAGE "http://a/b/c/d;p?q"

/* RFC 3986, 5.4, fragments left out and other schemes refused. */
static const struct {
	const char *ref, *whole;
} rfc[] = {
	{ "http:g", NULL },
	{ "///g", NULL },
	{ "//?g", NULL },
	{ "g:h", NULL },
	{ "g", "http://a/b/c/g" },
	{ "./g", "http://a/b/c/g" },
	{ "g/", "http://a/b/c/g/" },
	{ "/g", "http://a/g" },
	{ "//g", "http://g/" },
	{ "?y", "http://a/b/c/d;p?y" },
	{ "g?y", "http://a/b/c/g?y" },
	{ "#s", "http://a/b/c/d;p?q" },
	{ "g#s", "http://a/b/c/g" },
	{ "g?y#s", "http://a/b/c/g?y" },
	{ ";x", "http://a/b/c/;x" },
	{ "g;x", "http://a/b/c/g;x" },
	{ "g;x?y#s", "http://a/b/c/g;x?y" },
	{ "", "http://a/b/c/d;p?q" },
	{ ".", "http://a/b/c/" },
	{ "./", "http://a/b/c/" },
	{ "..", "http://a/b/" },
	{ "../", "http://a/b/" },
	{ "../g", "http://a/b/g" },
	{ "../..", "http://a/" },
	{ "../../", "http://a/" },
	{ "../../g", "http://a/g" },
	{ "../../../g", "http://a/g" },
	{ "../../../../g", "http://a/g" },
	{ "/./g", "http://a/g" },
	{ "/../g", "http://a/g" },
	{ "g.", "http://a/b/c/g." },
	{ ".g", "http://a/b/c/.g" },
	{ "g..", "http://a/b/c/g.." },
	{ "..g", "http://a/b/c/..g" },
	{ "./../g", "http://a/b/g" },
	{ "./g/.", "http://a/b/c/g/" },
	{ "g/./h", "http://a/b/c/g/h" },
	{ "g/../h", "http://a/b/c/h" },
	{ "g;x=1/./y", "http://a/b/c/g;x=1/y" },
	{ "g;x=1/../y", "http://a/b/c/y" },
	{ "g?y/./x", "http://a/b/c/g?y/./x" },
	{ "g?y/../x", "http://a/b/c/g?y/../x" },
};

static void resolves_as_the_rfc_shows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rfc) / sizeof(rfc[0]); i++) {
		struct str out = STR_INIT(4096);
		int rc = url_resolve(view_of(PAGE), view_of(rfc[i].ref), &out, NULL);

		if (!rfc[i].whole) {
			assert_int_equal(rc, -1);
			assert_int_equal(out.n, 0);
		} else {
			assert_int_equal(rc, 0);
			assert_string_equal(str_cstr(&out), rfc[i].whole);
		}
		str_release(&out);
	}
}

static void cleans_what_stands_in_pages(void **state)
{
	static const struct {
		const char *base, *ref, *whole;
	} rows[] = {
		{ "", "https://e.com", "https://e.com/" },
		{ "", "HTTPS://e.com/x", "https://e.com/x" },
		{ "", "https://E.coM:443/aB?Cd", "https://e.com:443/aB?Cd" },
		{ "", "https://U:P@E.coM/", "https://U:P@e.com/" },
		{ "https://e.com/", "//X.org/Y", "https://x.org/Y" },
		{ "", "  https://e.com/a b\n", "https://e.com/a%20b" },
		{ "", "https://e.com/a\n\tb", "https://e.com/ab" },
		{ "", "https://e.com/\xe4\xb8\xad", "https://e.com/%E4%B8%AD" },
		{ "", "https://e.com/?q=\"<>", "https://e.com/?q=%22%3C%3E" },
		{ "", "https://e.com/%41", "https://e.com/%41" },
		{ "", "https://e.com\\@evil.com/", "https://e.com%5C@evil.com/" },
		{ "http://a?x", "g", "http://a/g" },
		{ "https://a/b", "//c/d", "https://c/d" },
		{ "https://a/b", "http://a/b", "http://a/b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str out = STR_INIT(4096);

		assert_int_equal(0,
			url_resolve(view_of(rows[i].base), view_of(rows[i].ref), &out, NULL));
		assert_string_equal(str_cstr(&out), rows[i].whole);
		str_release(&out);
	}
}

static void refuses_what_is_no_web_address(void **state)
{
	static const struct {
		const char *ref;
		enum err_code code;
	} rows[] = {
		{ "file:///etc/passwd", E_UNSUPPORTED },
		{ "ftp://e.com/", E_UNSUPPORTED },
		{ "javascript:alert(1)", E_UNSUPPORTED },
		{ "data:text/html,x", E_UNSUPPORTED },
		{ "gopher://e.com", E_UNSUPPORTED },
		{ "e.com/x", E_FORMAT },
		{ "/x", E_FORMAT },
		{ "//e.com/x", E_FORMAT },
		{ "///x", E_FORMAT },
		{ "https:///x", E_FORMAT },
		{ "", E_FORMAT },
		{ "https://e.com/\x01/", E_FORMAT },
		{ "https://e.com/\x7f", E_FORMAT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str out = STR_INIT(4096);
		struct err e = ERR_INIT;

		assert_int_equal(-1, url_resolve(VIEW_NONE, view_of(rows[i].ref), &out, &e));
		assert_int_equal(e.code, rows[i].code);
		assert_int_equal(out.n, 0);
		str_release(&out);
	}
}

static void takes_2048_bytes_and_no_more(void **state)
{
	char ref[URL_TEXT_MAX + 2];
	struct str out = STR_INIT(4096);
	struct err e = ERR_INIT;

	(void)state;
	memset(ref, 'x', sizeof(ref));
	memcpy(ref, "https://e.com/", 14);
	assert_int_equal(0, url_resolve(VIEW_NONE, (struct view){ ref, URL_TEXT_MAX }, &out, &e));
	assert_int_equal(out.n, URL_TEXT_MAX);
	str_reset(&out);
	assert_int_equal(-1,
		url_resolve(VIEW_NONE, (struct view){ ref, URL_TEXT_MAX + 1 }, &out, &e));
	assert_int_equal(e.code, E_FORMAT);
	str_reset(&out);
	/* Each alone is short enough, together they are not. */
	memcpy(ref + 14, "a/", 2);
	for (size_t i = 16; i < 1500; i++)
		ref[i] = 'y';
	ref[1500] = '/';
	assert_int_equal(-1, url_resolve((struct view){ ref, 1501 },
				     (struct view){ ref + 1501, 548 }, &out, &e));
	assert_int_equal(out.n, 0);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolves_as_the_rfc_shows),
		cmocka_unit_test(cleans_what_stands_in_pages),
		cmocka_unit_test(refuses_what_is_no_web_address),
		cmocka_unit_test(takes_2048_bytes_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
