/* The providers of web search: what each is asked, and their answers as recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/host/search.h"

#define KEY "secret-key-0123456789"

static void asks_each_provider_its_own_way(void **state)
{
	static const struct {
		const char *base, *url, *body, *header, *value;
	} rows[SEARCH_PROVIDERS] = {
		[SEARCH_ZHIPU] = { NULL, "https://open.bigmodel.cn/api/paas/v4/web_search",
			"{\"search_query\":\"a b&\xe4\xb8\xad\",\"count\":3,"
			"\"search_engine\":\"search_std\"}",
			"Authorization", "Bearer " KEY },
		[SEARCH_SERPAPI] = { NULL,
			"https://serpapi.com/search.json?q=a%20b%26%E4%B8%AD&num=3&engine=google"
			"&api_key=" KEY,
			"", NULL, NULL },
		[SEARCH_SEARXNG] = { "http://10.0.0.1:8080/",
			"http://10.0.0.1:8080/search?q=a%20b%26%E4%B8%AD&format=json", "", NULL,
			NULL },
		[SEARCH_BRAVE] = { NULL,
			"https://api.search.brave.com/res/v1/web/search?q=a%20b%26%E4%B8%AD&count=3",
			"", "X-Subscription-Token", KEY },
		[SEARCH_TAVILY] = { NULL, "https://api.tavily.com/search",
			"{\"query\":\"a b&\xe4\xb8\xad\",\"max_results\":3,"
			"\"search_depth\":\"basic\"}",
			"Authorization", "Bearer " KEY },
	};

	(void)state;
	for (int p = 0; p < SEARCH_PROVIDERS; p++) {
		struct search_account a = { .url = rows[p].base, .key = KEY };
		struct search_request r;
		const char *value = NULL;

		assert_int_equal(0, search_request(&r, (enum search_provider)p, &a,
					    VIEW("a b&\xe4\xb8\xad"), 3, NULL));
		assert_string_equal(str_cstr(&r.url), rows[p].url);
		assert_string_equal(str_cstr(&r.body), rows[p].body);
		assert_int_equal(r.post, rows[p].body[0] != '\0');
		for (size_t i = 0; rows[p].header && i < r.nheaders; i++)
			if (strcmp(r.headers[i].name, rows[p].header) == 0)
				value = r.headers[i].value;
		if (rows[p].header)
			assert_string_equal(value, rows[p].value);
		search_request_wipe(&r);
	}
}

static void needs_a_key_or_an_address(void **state)
{
	const struct search_account none = { 0 }, key = { .key = "k" }, url = { .url = "http://x" };

	(void)state;
	for (int p = 0; p < SEARCH_PROVIDERS; p++) {
		bool searx = p == SEARCH_SEARXNG;

		assert_false(search_ready((enum search_provider)p, &none));
		assert_int_equal(search_ready((enum search_provider)p, &key), !searx);
		assert_int_equal(search_ready((enum search_provider)p, &url), searx);
	}
}

/* As their documentation and their servers have it, shortened. */
static const char *const answers[SEARCH_PROVIDERS] = {
	[SEARCH_ZHIPU] =
		"{\"created\":1748261757,\"id\":\"2025\",\"request_id\":\"x\",\"search_intent\":["
		"{\"intent\":\"SEARCH_ALL\",\"keywords\":\"k\",\"query\":\"q\"}],\"search_result\":["
		"{\"content\":\"Extract\",\"icon\":\"https://e.com/i.png\",\"link\":"
		"\"https://e.com/a\",\"media\":\"M\",\"publish_date\":\"2025-04-30\",\"refer\":"
		"\"ref_1\",\"title\":\"Title\"}]}",
	[SEARCH_SERPAPI] =
		"{\"search_metadata\":{\"id\":\"1\",\"status\":\"Success\"},\"search_parameters\":{"
		"\"engine\":\"google\",\"q\":\"q\"},\"organic_results\":[{\"position\":1,"
		"\"title\":\"Title\",\"link\":\"https://e.com/a\",\"displayed_link\":\"e.com\","
		"\"date\":\"2025-04-30\",\"snippet\":\"Extract\",\"source\":\"E\"}]}",
	[SEARCH_SEARXNG] =
		"{\"query\":\"q\",\"number_of_results\":0,\"results\":[{\"url\":\"https://e.com/a\","
		"\"title\":\"Title\",\"content\":\"Extract\",\"publishedDate\":\"2025-04-30\","
		"\"thumbnail\":\"\",\"engine\":\"bing\",\"parsed_url\":[\"https\",\"e.com\"],"
		"\"score\":1.0,\"category\":\"general\"}],\"answers\":[],\"suggestions\":[]}",
	[SEARCH_BRAVE] =
		"{\"query\":{\"original\":\"q\"},\"mixed\":{},\"type\":\"search\",\"web\":{\"type\":"
		"\"search\",\"results\":[{\"title\":\"<strong>Title</strong>\",\"url\":"
		"\"https://e.com/a\",\"is_source_local\":false,\"description\":"
		"\"<strong>Extract</strong>\",\"age\":\"2025-04-30\"}]}}",
	[SEARCH_TAVILY] =
		"{\"query\":\"q\",\"answer\":null,\"images\":[],\"results\":[{\"title\":\"Title\","
		"\"url\":\"https://e.com/a\",\"content\":\"Extract\",\"score\":0.99,"
		"\"raw_content\":null,\"published_date\":\"2025-04-30\"}],\"response_time\":1.2}",
};

static void reads_each_provider_s_answer(void **state)
{
	(void)state;
	for (int p = 0; p < SEARCH_PROVIDERS; p++) {
		struct search_results r;

		assert_int_equal(0,
			search_parse(&r, (enum search_provider)p, view_of(answers[p]), 5, NULL));
		assert_int_equal(r.n, 1);
		assert_string_equal(str_cstr(&r.list[0].title), "Title");
		assert_string_equal(str_cstr(&r.list[0].url), "https://e.com/a");
		assert_string_equal(str_cstr(&r.list[0].text), "Extract");
		assert_string_equal(str_cstr(&r.list[0].date), "2025-04-30");
		search_release(&r);
	}
}

static void tells_no_results_from_a_broken_answer(void **state)
{
	static const struct {
		enum search_provider p;
		const char *answer;
		int rc;
	} rows[] = {
		{ SEARCH_ZHIPU, "{\"search_result\":[]}", 0 },
		{ SEARCH_ZHIPU, "{\"search_result\":null}", 0 },
		{ SEARCH_ZHIPU, "{}", -1 },
		{ SEARCH_SERPAPI,
			"{\"error\":\"Google hasn't returned any results for this query.\"}", 0 },
		{ SEARCH_SERPAPI, "{\"error\":\"Invalid API key.\"}", -1 },
		{ SEARCH_BRAVE, "{\"type\":\"search\"}", 0 },
		{ SEARCH_BRAVE, "{\"web\":{}}", -1 },
		{ SEARCH_BRAVE, "{\"web\":[]}", -1 },
		{ SEARCH_SEARXNG, "{\"results\":{}}", -1 },
		{ SEARCH_SEARXNG, "[]", -1 },
		{ SEARCH_SEARXNG, "<html>", -1 },
		{ SEARCH_SEARXNG, "", -1 },
		{ SEARCH_SEARXNG, "{\"results\":[],\"results\":[]}", -1 },
		{ SEARCH_SEARXNG, "{\"results\":[],\"x\":1e999}", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct search_results r;

		if (search_parse(&r, rows[i].p, view_of(rows[i].answer), 5, NULL) != rows[i].rc)
			fail_msg("%s", rows[i].answer);
		assert_int_equal(r.n, 0);
		search_release(&r);
	}
}

static void leaves_out_entries_that_are_of_no_use(void **state)
{
	static const char *const rows[] = {
		"\"text\"",
		"null",
		"{\"title\":\"T\"}",
		"{\"title\":1,\"url\":\"https://e.com\"}",
		"{\"title\":[\"T\"],\"url\":\"https://e.com\"}",
		"{\"title\":\"\",\"url\":\"https://e.com\"}",
		"{\"title\":\"T\",\"url\":{\"x\":1}}",
		"{\"title\":\"T\",\"url\":\"https://e.com\",\"content\":{\"a\":1}}",
		"{\"title\":\"T\",\"url\":\"javascript:alert(1)\"}",
		"{\"title\":\"T\",\"url\":\"file:///etc/passwd\"}",
		"{\"title\":\"T\",\"url\":\"ftp://e.com\"}",
		"{\"title\":\"T\",\"url\":\"https://user:pw@e.com/\"}",
		"{\"title\":\"T\",\"url\":\"https://e.com/\\u0001x\"}",
		"{\"title\":\"T\",\"url\":\"e.com\"}",
		"{\"title\":\"T\",\"url\":\"https://\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char answer[512];
		struct search_results r;

		(void)snprintf(answer, sizeof(answer),
			"{\"results\":[%s,{\"title\":\"Good\",\"url\":\"https://e.com\"}]}",
			rows[i]);
		assert_int_equal(0, search_parse(&r, SEARCH_SEARXNG, view_of(answer), 5, NULL));
		if (r.n != 1)
			fail_msg("%s", rows[i]);
		assert_string_equal(str_cstr(&r.list[0].title), "Good");
		search_release(&r);
		/* Nothing left of something is a failure. */
		(void)snprintf(answer, sizeof(answer), "{\"results\":[%s]}", rows[i]);
		assert_int_equal(-1, search_parse(&r, SEARCH_SEARXNG, view_of(answer), 5, NULL));
		search_release(&r);
	}
}

static void keeps_its_limits(void **state)
{
	struct str answer = STR_INIT((size_t)4 << 20);
	struct search_results r;

	(void)state;
	(void)str_adds(&answer, "{\"results\":[");
	for (int i = 0; i < 12; i++)
		(void)str_addf(&answer, "%s{\"title\":\"T\",\"url\":\"https://e.com/%d\"}",
			i ? "," : "", i);
	(void)str_adds(&answer, "]}");
	for (int count = 1; count <= SEARCH_RESULTS_MAX; count += 9) {
		assert_int_equal(0,
			search_parse(&r, SEARCH_SEARXNG, str_view(&answer), count, NULL));
		assert_int_equal(r.n, count);
		search_release(&r);
	}
	/* 32 levels and 100,000 values are read, one more of either is not. */
	for (int over = 0; over < 2; over++) {
		str_reset(&answer);
		(void)str_adds(&answer, "{\"results\":[],\"x\":");
		for (int i = 0; i < 31 + over; i++)
			(void)str_addc(&answer, '[');
		for (int i = 0; i < 31 + over; i++)
			(void)str_addc(&answer, ']');
		(void)str_addc(&answer, '}');
		assert_int_equal(-over,
			search_parse(&r, SEARCH_SEARXNG, str_view(&answer), 1, NULL));
		str_reset(&answer);
		(void)str_adds(&answer, "{\"results\":[],\"x\":[1");
		for (int i = 0; i < 100000 - 4 + over; i++)
			(void)str_adds(&answer, ",1");
		(void)str_adds(&answer, "]}");
		assert_int_equal(-over,
			search_parse(&r, SEARCH_SEARXNG, str_view(&answer), 1, NULL));
	}
	str_release(&answer);
}

static void makes_one_plain_line_of_each_text(void **state)
{
	struct search_results r;

	(void)state;
	assert_int_equal(0,
		search_parse(&r, SEARCH_SEARXNG,
			VIEW("{\"results\":[{\"title\":\" A\\n<b>B</b>\\t &amp; C\\u001b[31m\","
			     "\"url\":\"https://e.com/a b\",\"content\":\"x &lt;p&gt; &#39;y&#39; < z\"}"
			     "]}"),
			1, NULL));
	assert_string_equal(str_cstr(&r.list[0].title), "A B & C");
	assert_string_equal(str_cstr(&r.list[0].url), "https://e.com/a%20b");
	assert_string_equal(str_cstr(&r.list[0].text), "x <p> 'y' < z");
	search_release(&r);
}

static void repeats_complaints_without_secrets(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"error\":\"Invalid key.\"}", "Invalid key." },
		{ "{\"error\":{\"code\":\"1113\",\"message\":\"No money\"}}", "No money" },
		{ "{\"detail\":{\"error\":\"Bad\"}}", "Bad" },
		{ "{\"message\":\"no\\nway\"}", "no way" },
		{ "{\"error\":\"the key " KEY " is wrong\"}", "" },
		{ "{\"error\":1}", "" },
		{ "<html>", "" },
		{ "", "" },
	};
	const struct search_account a = { .key = KEY };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str out = STR_INIT(1024);

		search_complaint(view_of(rows[i][0]), &a, &out);
		assert_string_equal(str_cstr(&out), rows[i][1]);
		str_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_each_provider_its_own_way),
		cmocka_unit_test(needs_a_key_or_an_address),
		cmocka_unit_test(reads_each_provider_s_answer),
		cmocka_unit_test(tells_no_results_from_a_broken_answer),
		cmocka_unit_test(leaves_out_entries_that_are_of_no_use),
		cmocka_unit_test(keeps_its_limits),
		cmocka_unit_test(makes_one_plain_line_of_each_text),
		cmocka_unit_test(repeats_complaints_without_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
