#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/host/address.h"
#include "tools/host/turn.h"

static void one_form_compares(void **state)
{
	static const struct {
		const char *url, *want; /* NULL: none */
	} cases[] = {
		{ "https://example.com", "https://example.com/" },
		{ "HTTPS://Example.COM/A?b=C", "https://example.com/A?b=C" },
		{ "https://example.com:443/", "https://example.com/" },
		{ "http://example.com:80/", "http://example.com/" },
		{ "http://example.com:443/", "http://example.com:443/" },
		{ "https://example.com:8443/", "https://example.com:8443/" },
		{ "https://example.com/a#b", "https://example.com/a" },
		{ "https://example.com#b", "https://example.com/" },
		{ "https://[2001:DB8::1]/", "https://[2001:db8::1]/" },
		{ "https://example.com/中国", "https://example.com/%E4%B8%AD%E5%9B%BD" },
		/* What only decodes alike is not the same. */
		{ "https://example.com/%61", "https://example.com/%61" },
		{ "https://example.com/a/../b", "https://example.com/a/../b" },
		{ "https://example.com//", "https://example.com//" },
		{ "https://me@example.com/", NULL },
		{ "https://example.com@evil.net/", NULL },
		{ "https://a:b@example.com/", NULL },
		{ "https://example.com./", NULL },
		{ "https://ex%61mple.com/", NULL },
		{ "https://example.com\\@evil.net/", NULL },
		{ "https://exämple.com/", NULL },
		{ "https://example.com/a b", NULL },
		{ "https://example.com/\n", NULL },
		{ "https:/example.com/", NULL },
		{ "//example.com/", NULL },
		{ "example.com", NULL },
		{ "ftp://example.com/", NULL },
		{ "file:///etc/passwd", NULL },
		{ "https://", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str out = STR_INIT(ADDRESS_MAX);
		int rc = address_normal(view_of(cases[i].url), &out);

		if (rc != (cases[i].want ? 0 : -1))
			fail_msg("%s: %d %s", cases[i].url, rc, str_cstr(&out));
		if (cases[i].want)
			assert_string_equal(cases[i].want, str_cstr(&out));
		str_release(&out);
	}
}

/* Does a turn that begins with these words allow the address? */
static bool allows(const char *words, const char *url)
{
	struct turn_list l = { NULL };
	bool yes;

	assert_int_equal(0, turn_begin(&l, 1, "c", view_of(words), NULL, NULL));
	yes = turn_allows(&l, 1, view_of(url));
	turn_end(&l, 1);
	assert_null(l.first);
	return yes;
}

static void what_the_user_wrote_is_allowed(void **state)
{
	static const struct {
		const char *words, *url;
		bool yes;
	} cases[] = {
		{ "read https://example.com/a please", "https://example.com/a", true },
		{ "read https://example.com/a please", "HTTPS://EXAMPLE.com:443/a#top", true },
		{ "read https://example.com/a please", "https://example.com/", false },
		{ "read https://example.com/a please", "https://example.com/a/", false },
		{ "read https://example.com/a please", "https://example.com/a?x", false },
		{ "read https://example.com/a please", "https://example.com/A", false },
		{ "read https://example.com/a please", "https://example.com/%61", false },
		{ "read https://example.com/a please", "http://example.com/a", false },
		{ "read https://example.com/a please", "https://www.example.com/a", false },
		{ "read https://example.com/a please", "https://example.com./a", false },
		{ "read https://example.com/a please", "https://u@example.com/a", false },
		{ "read https://example.com/a please", "https://example.com:8443/a", false },
		{ "read https://example.com/a please", "https://evil.net/?https://example.com/a",
			false },
		{ "https://a.com/x https://b.com/y", "https://b.com/y", true },
		/* Marks behind it. */
		{ "See https://example.com/a.", "https://example.com/a", true },
		{ "See (https://example.com/a), now", "https://example.com/a", true },
		{ "See https://example.com/w_(x).", "https://example.com/w_(x)", true },
		{ "<https://example.com/a>", "https://example.com/a", true },
		{ "[a](https://example.com/a)", "https://example.com/a", true },
		{ "\"https://example.com/a\"", "https://example.com/a", true },
		{ "看 https://example.com/a。谢谢", "https://example.com/a", true },
		{ "看https://example.com/a，谢谢", "https://example.com/a", true },
		{ "（https://example.com/a）", "https://example.com/a", true },
		{ "「https://example.com/a」", "https://example.com/a", true },
		{ "https://example.com/a！", "https://example.com/a", true },
		{ "https://example.com/a　b", "https://example.com/a", true },
		/* Letters that follow: either reading. */
		{ "看https://example.com/a这个网页", "https://example.com/a", true },
		{ "https://zh.example.org/wiki/中国。", "https://zh.example.org/wiki/中国", true },
		{ "https://zh.example.org/wiki/中国。",
			"https://zh.example.org/wiki/%E4%B8%AD%E5%9B%BD", true },
		{ "https://zh.example.org/wiki/中国。", "https://zh.example.org/wiki/中国。",
			false },
		{ "https://example.com这个", "https://example.com/", true },
		/* A name alone. */
		{ "what is on example.com today", "https://example.com/", true },
		{ "what is on example.com today", "http://example.com/", false },
		{ "看看example.com/news吧", "https://example.com/news", true },
		{ "example.com.", "https://example.com/", true },
		{ "1.https://example.com/a", "https://example.com/a", true },
		{ "write to me@example.com", "https://example.com/", false },
		{ "in src/example.com/x", "https://example.com/x", false },
		{ "version 1.25 of it", "https://1.25/", false },
		{ "wait... what", "https://wait/", false },
		{ "a.b", "https://a.b/", false },
		/* Nothing at all. */
		{ "hello", "https://example.com/", false },
		{ "", "https://example.com/", false },
		{ "https://", "https://", false },
		{ "https://u:p@example.com/", "https://example.com/", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (allows(cases[i].words, cases[i].url) != cases[i].yes)
			fail_msg("%s -> %s", cases[i].words, cases[i].url);
}

static void a_search_result_is_allowed_in_its_turn_alone(void **state)
{
	struct turn_list l = { NULL };
	struct view url = VIEW("https://example.com/found");

	(void)state;
	turn_allow(&l, 1, url); /* no such turn */
	assert_false(turn_allows(&l, 1, url));
	assert_int_equal(0, turn_begin(&l, 1, "a", VIEW("x"), NULL, NULL));
	assert_int_equal(0, turn_begin(&l, 2, "b", VIEW("x"), NULL, NULL));
	turn_allow(&l, 1, url);
	turn_allow(&l, 1, url);
	turn_allow(&l, 1, VIEW("https://u@example.com/"));
	turn_allow(&l, 1, VIEW("no address\nhttps://example.com/two"));
	assert_true(turn_allows(&l, 1, url));
	assert_false(turn_allows(&l, 1, VIEW("https://example.com/two")));
	assert_false(turn_allows(&l, 2, url));
	assert_string_equal("a", turn_conversation(&l, 1));
	assert_string_equal("b", turn_conversation(&l, 2));
	turn_end(&l, 1);
	assert_false(turn_allows(&l, 1, url));
	assert_string_equal("", turn_conversation(&l, 1));
	turn_end_all(&l);
}

static void many_addresses_cost_little(void **state)
{
	struct str words = STR_INIT(1 << 20);

	(void)state;
	while (words.n + 10 < words.max)
		(void)str_adds(&words, "http://a.b");
	assert_false(allows(str_cstr(&words), "https://example.com/"));
	str_reset(&words);
	(void)str_adds(&words, "https://example.com/a ");
	while (words.n + 10 < words.max)
		(void)str_adds(&words, "aa.bb ");
	assert_true(allows(str_cstr(&words), "https://example.com/a"));
	str_release(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_form_compares),
		cmocka_unit_test(what_the_user_wrote_is_allowed),
		cmocka_unit_test(a_search_result_is_allowed_in_its_turn_alone),
		cmocka_unit_test(many_addresses_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
