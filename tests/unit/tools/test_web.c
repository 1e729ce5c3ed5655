/* web_fetch, web_search and todo by way of the registry, against a scripted server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "server.h"
#include "tools/host/todo.h"
#include "tools/host/web.h"
#include "rig.h"

#define KEY   "secret-key-0123456789"
#define FOUND "{\"results\":[{\"title\":\"T\",\"url\":\"https://found.com/a\",\"content\":\"C\"}]}"

struct fix {
	struct clock clock;
	int64_t by; /* the clock is turned */
	struct web *web;
	struct todo *todo;
	struct db *db;
	struct server *s;
	struct answer answers[40];
	struct str bytes[40];
	size_t nanswers;
	char url[2][80];
};

static struct fix fix;

static int64_t turned_mono(void *arg)
{
	return clock_mono(clock_system()) + *(const int64_t *)arg;
}

static int64_t turned_wall(void *arg)
{
	return clock_wall(clock_system()) + *(const int64_t *)arg;
}

static int setup(void **state)
{
	static const char *const rules[] = { "web_fetch=allow", NULL };
	struct policy_rules policy = POLICY_RULES_DEFAULT;
	struct err e = ERR_INIT;

	(void)state;
	memset(&fix, 0, sizeof(fix));
	fix.clock = (struct clock){ turned_mono, turned_wall, &fix.by };
	rig_make(&fix.clock);
	policy.tools = rules;
	rig_open(&policy);
	assert_int_equal(0, tools_turn_begin(rig.tools, 1, "c1", VIEW("hello"), NULL, &e));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tools_close(&rig.tools);
	web_close(&fix.web);
	todo_close(&fix.todo);
	db_close(&fix.db);
	server_close(&fix.s);
	for (size_t i = 0; i < fix.nanswers; i++)
		str_release(&fix.bytes[i]);
	return rig_remove();
}

/* --- The frame -------------------------------------------------------------------------------- */

static struct answer *add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static struct answer *add(const char *fmt, ...)
{
	const struct str empty = STR_INIT((size_t)1 << 20);
	struct str *s = &fix.bytes[fix.nanswers];
	struct answer *a = &fix.answers[fix.nanswers++];
	va_list ap;

	*s = empty;
	va_start(ap, fmt);
	assert_int_equal(0, str_addv(s, fmt, ap));
	va_end(ap);
	a->bytes = str_view(s);
	a->then = THEN_CLOSE;
	return a;
}

static void add_page(const char *type, const char *body)
{
	(void)add("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", type,
		strlen(body), body);
}

static void serve(void)
{
	const struct server_opts o = { .answers = fix.answers, .nanswers = fix.nanswers };

	server_open(&fix.s, rig.loop, &o);
	(void)snprintf(fix.url[0], sizeof(fix.url[0]), "http://127.0.0.1:%d", server_port(fix.s));
}

static void open_web(bool loopback)
{
	struct web_env env = { .loop = rig.loop, .tools = rig.tools, .loopback = loopback };
	struct err e = ERR_INIT;

	assert_int_equal(0, web_open(&fix.web, &env, &e));
}

/* Without waiting. A call that does not even begin ends at once. */
static struct tool_run *start(const char *name, const char *args)
{
	struct tool_call c = { .turn = 1, .id = "1", .name = name, .args = view_of(args) };
	struct tool_run *run = NULL;
	struct err e = ERR_INIT;

	rig.done = 0;
	if (tools_start(&run, rig.tools, &c, rig_on_done, NULL, &e) < 0) {
		rig.done = 1;
		rig.ok = false;
		str_reset(&rig.text);
		(void)str_adds(&rig.text, e.msg);
	}
	return run;
}

static void call(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void call(const char *name, const char *fmt, ...)
{
	char args[8192];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(args, sizeof(args), fmt, ap);
	va_end(ap);
	(void)start(name, args);
	while (!rig.done)
		assert_int_equal(0, loop_step(rig.loop, 5, NULL));
}

static void told(bool ok, const char *what)
{
	if (rig.ok != ok || !strstr(str_cstr(&rig.text), what))
		fail_msg("%d, no \"%s\" in: %s", rig.ok, what, str_cstr(&rig.text));
}

/* --- web_fetch -------------------------------------------------------------------------------- */

static void fetches_a_page_as_markdown(void **state)
{
	(void)state;
	add_page("text/html; charset=gbk", "<title>T</title><h1>\xd6\xd0</h1><nav>x</nav><p>Text");
	serve();
	open_web(true);
	call("web_fetch", "{\"url\":\"%s/a?b=c#d\"}", fix.url[0]);
	told(true, "Title: T\nAddress: http://127.0.0.1:");
	told(true, "\n\n# \xe4\xb8\xad\n\nText");
	assert_non_null(strstr(server_heard(fix.s), "GET /a?b=c HTTP/1.1"));
	assert_null(strstr(server_heard(fix.s), "Cookie"));
	assert_null(strstr(server_heard(fix.s), "Referer"));
}

static void fetches_json_as_it_is_and_in_pages(void **state)
{
	(void)state;
	add_page("application/json", "{\"a\":[1,2]}");
	serve();
	open_web(true);
	call("web_fetch", "{\"url\":\"%s\",\"offset\":1,\"limit\":3}", fix.url[0]);
	told(true, "\n\n\"a\"\n\n[characters 1 to 4 of 11; go on with offset 4]");
}

static void follows_five_redirects_and_no_sixth(void **state)
{
	static const char *const ways[] = { "/1", "2?x", "/3", "?4", "./../5" };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		(void)add("HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
			ways[i]);
	add_page("text/plain", "end");
	for (size_t i = 0; i < 6; i++)
		(void)add("HTTP/1.1 301 Moved\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
	serve();
	open_web(true);
	call("web_fetch", "{\"url\":\"%s/0/x\"}", fix.url[0]);
	told(true, "/5 (sent on from http://127.0.0.1:");
	assert_int_equal(server_requests(fix.s), 6);
	call("web_fetch", "{\"url\":\"%s/\"}", fix.url[0]);
	told(false, "more than 5 times");
	assert_int_equal(server_requests(fix.s), 12);
}

static void judges_each_redirect_anew(void **state)
{
	static const char *const rows[][2] = {
		{ "http://10.0.0.1/", "only public addresses" },
		{ "http://169.254.169.254/latest/", "only public addresses" },
		{ "http://[::ffff:192.168.0.1]/", "only public addresses" },
		{ "http://0.0.0.0/", "only public addresses" },
		{ "http://198.18.0.1/", "fake-IP" },
		{ "http://2130706433:81/", "could not be fetched" },
		{ "file:///etc/passwd", "not of http or https" },
		{ "ftp://127.0.0.1/", "not of http or https" },
		{ "javascript:alert(1)", "not of http or https" },
		{ "http://user:pw@127.0.0.1/", "user name or password" },
		{ "http://127.0.0.1:0/", "port" },
		{ "http://", "no address" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		(void)add("HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
			rows[i][0]);
	(void)add("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n");
	serve();
	open_web(true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		call("web_fetch", "{\"url\":\"%s/\"}", fix.url[0]);
		told(false, rows[i][1]);
	}
	call("web_fetch", "{\"url\":\"%s/\"}", fix.url[0]);
	told(false, "without saying where");
}

static void fetches_public_addresses_only(void **state)
{
	static const char *const hosts[] = { "127.0.0.1", "localhost", "[::1]", "0", "127.1",
		"2130706433" };

	(void)state;
	add_page("text/plain", "secret");
	serve();
	open_web(false);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		call("web_fetch", "{\"url\":\"http://%s:%d/\"}", hosts[i], server_port(fix.s));
		told(false, "could not be fetched");
	}
	assert_int_equal(server_accepted(fix.s), 0);
}

static void refuses_addresses_that_are_none(void **state)
{
	static const char *const rows[][2] = { { "file:///etc/passwd", "not of http" },
		{ "e.com", "https://" }, { "https://a:b@e.com/", "password" },
		{ "https://e.com/\\u0001x", "control" }, { "https://exa mple.com/", "host" } };
	char *url = calloc(1, 4096);

	(void)state;
	open_web(true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		call("web_fetch", "{\"url\":\"%s\"}", rows[i][0]);
		told(false, rows[i][1]);
	}
	memset(url, 'x', 2049);
	call("web_fetch", "{\"url\":\"%s\"}", url);
	told(false, "url");
	free(url);
}

static void tells_what_is_no_page(void **state)
{
	(void)state;
	add_page("image/png", "\x89PNG");
	(void)add(
		"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: 6000000\r\n\r\n");
	(void)add("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone");
	(void)add("HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n");
	(void)add("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort");
	add_page("text/html", "<div id=root></div><script src=a></script>");
	serve();
	open_web(true);
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "of the type image/png, 4 bytes");
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "of the type application/zip, 6000000 bytes");
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "status 404");
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "asked too often");
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "could not be fetched");
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "empty without a browser");
}

/* Of unknown length, so that the limit holds while receiving. */
static void takes_5_mib_and_no_more(void **state)
{
	static char piece[65536];

	(void)state;
	memset(piece, 'x', sizeof(piece));
	for (size_t over = 0; over < 2; over++) {
		struct answer *a = add("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n%s",
			over ? "x" : "");

		a->more = (struct view){ piece, sizeof(piece) };
		a->times = ((size_t)5 << 20) / sizeof(piece);
	}
	serve();
	open_web(true);
	call("web_fetch", "{\"url\":\"%s\",\"offset\":5242870}", fix.url[0]);
	told(true, "characters 5242870 to 5242880 of 5242880");
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "longer than 5242880 bytes");
}

static void gives_up_after_30_seconds(void **state)
{
	(void)state;
	add("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nx")->then =
		THEN_HOLD;
	serve();
	open_web(true);
	{
		char args[128];

		(void)snprintf(args, sizeof(args), "{\"url\":\"%s\"}", fix.url[0]);
		(void)start("web_fetch", args);
	}
	while (server_requests(fix.s) == 0)
		assert_int_equal(0, loop_step(rig.loop, 5, NULL));
	fix.by += 29000;
	for (int i = 0; i < 20; i++)
		assert_int_equal(0, loop_step(rig.loop, 1, NULL));
	assert_int_equal(rig.done, 0);
	fix.by += 1000;
	while (!rig.done)
		assert_int_equal(0, loop_step(rig.loop, 5, NULL));
	told(false, "did not end within 30000 ms");
}

static void ends_at_once_when_cancelled(void **state)
{
	struct tool_run *run;
	char args[128];

	(void)state;
	add("x")->then = THEN_HOLD;
	serve();
	open_web(true);
	(void)snprintf(args, sizeof(args), "{\"url\":\"%s\"}", fix.url[0]);
	run = start("web_fetch", args);
	while (server_requests(fix.s) == 0)
		assert_int_equal(0, loop_step(rig.loop, 5, NULL));
	tool_cancel(run);
	while (!rig.done)
		assert_int_equal(0, loop_step(rig.loop, 0, NULL));
	assert_true(rig.cancelled);
	/* And when the daemon ends, with a request or the helper under way. */
	(void)start("web_fetch", args);
	tools_close(&rig.tools);
	web_close(&fix.web);
	assert_int_equal(rig.done, 0);
}

static void ends_with_its_helper_under_way(void **state)
{
	char args[128];

	(void)state;
	add_page("text/html", "<p>page");
	serve();
	open_web(true);
	(void)snprintf(args, sizeof(args), "{\"url\":\"%s\"}", fix.url[0]);
	(void)start("web_fetch", args);
	while (server_requests(fix.s) == 0)
		assert_int_equal(0, loop_step(rig.loop, 5, NULL));
	for (int i = 0; i < 4; i++)
		assert_int_equal(0, loop_step(rig.loop, 1, NULL));
	tools_close(&rig.tools);
	assert_int_equal(rig.done, 0);
}

/* --- web_search ------------------------------------------------------------------------------- */

/* The first of them is searxng, the second brave, both at the server. */
static void open_search(size_t n)
{
	struct web_env env = { .loop = rig.loop, .tools = rig.tools, .norder = n };
	struct err e = ERR_INIT;

	(void)snprintf(fix.url[1], sizeof(fix.url[1]), "%.60s/brave", fix.url[0]);
	env.search[SEARCH_SEARXNG].url = fix.url[0];
	env.search[SEARCH_BRAVE].url = fix.url[1];
	env.search[SEARCH_BRAVE].key = KEY;
	env.order[0] = SEARCH_SEARXNG;
	env.order[1] = SEARCH_BRAVE;
	env.loopback = true;
	assert_int_equal(0, web_open(&fix.web, &env, &e));
}

static bool is_offered(const char *name)
{
	struct str schema = STR_INIT(65536);
	bool found;

	assert_int_equal(0, tools_schema(rig.tools, ORIGIN_PHONE, &schema, NULL));
	found = strstr(str_cstr(&schema), name) != NULL;
	str_release(&schema);
	return found;
}

static void searches_and_lets_the_results_be_fetched(void **state)
{
	struct str why = STR_INIT(4096);
	struct tool_call c = { .turn = 1, .id = "1", .name = "web_fetch" };

	(void)state;
	add_page("application/json", FOUND);
	serve();
	open_search(1);
	tools_set_policy(rig.tools, NULL);
	c.args = VIEW("{\"url\":\"https://found.com/a\"}");
	assert_int_equal(VERDICT_ASK, tools_verdict(rig.tools, &c, &why));
	call("web_search", "{\"query\":\"a&b\"}");
	told(true, "Found by searxng.");
	told(true, "\n\n1. T\nhttps://found.com/a\nC");
	assert_non_null(strstr(server_heard(fix.s), "GET /search?q=a%26b&format=json HTTP/1.1"));
	assert_int_equal(VERDICT_ALLOW, tools_verdict(rig.tools, &c, &why));
	c.args = VIEW("{\"url\":\"https://found.com/b\"}");
	assert_int_equal(VERDICT_ASK, tools_verdict(rig.tools, &c, &why));
	str_release(&why);
}

static void is_not_offered_when_nothing_is_set_up(void **state)
{
	(void)state;
	open_web(true);
	assert_false(is_offered("\"web_search\""));
	assert_true(is_offered("\"web_fetch\""));
	call("web_search", "{\"query\":\"x\"}");
	told(false, "not set up");
}

static void asks_the_next_provider(void **state)
{
	(void)state;
	(void)add("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
	add_page("application/json", "{\"web\":" FOUND "}");
	add_page("application/json", "{\"results\":[]}");
	add_page("application/json", "{\"web\":" FOUND "}");
	add_page("text/html", "<html>");
	(void)add("HTTP/1.1 401 No\r\nContent-Length: 36\r\n\r\n{\"message\":\"not " KEY "\"}");
	add_page("application/json", "{\"results\":[]}");
	add_page("application/json", "{}");
	serve();
	open_search(2);
	call("web_search", "{\"query\":\"x\"}");
	told(true, "Found by brave.");
	assert_non_null(strstr(server_heard(fix.s), "X-Subscription-Token: " KEY));
	call("web_search", "{\"query\":\"x\"}");
	told(true, "Found by brave.");
	call("web_search", "{\"query\":\"x\"}");
	told(false, "The search did not work. searxng: ");
	told(false, " brave: status 401 (is the key good?)");
	assert_null(strstr(str_cstr(&rig.text), KEY));
	call("web_search", "{\"query\":\"x\"}");
	told(true, "Nothing was found");
}

static void asks_only_the_one_that_is_named(void **state)
{
	(void)state;
	(void)add("HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n");
	serve();
	open_search(2);
	call("web_search", "{\"query\":\"x\",\"provider\":\"searxng\"}");
	told(false, "did not work. searxng: status 400.");
	assert_int_equal(server_requests(fix.s), 1);
	call("web_search", "{\"query\":\"x\",\"provider\":\"tavily\"}");
	told(false, "tavily is not set up here; there is searxng, brave");
	call("web_search", "{\"query\":\"x\",\"provider\":\"bing\"}");
	told(false, "provider must be one of");
}

static void asks_once_more_when_it_may_pass(void **state)
{
	(void)state;
	(void)add("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n");
	add_page("application/json", FOUND);
	(void)add("HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n");
	(void)add("HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n");
	serve();
	open_search(1);
	call("web_search", "{\"query\":\"x\"}");
	told(true, "Found by searxng.");
	assert_int_equal(server_requests(fix.s), 2);
	call("web_search", "{\"query\":\"x\"}");
	told(false, "status 500");
	assert_int_equal(server_requests(fix.s), 4);
}

static void takes_400_characters_and_ten_results(void **state)
{
	char args[8192], query[4096];

	(void)state;
	add_page("application/json", FOUND);
	serve();
	open_search(1);
	for (size_t over = 0; over < 2; over++) {
		size_t n = 0;

		for (size_t i = 0; i < 400 + over; i++) {
			memcpy(query + n, "\xe4\xb8\xad", 3);
			n += i < 399 ? 3 : 0;
			if (i >= 399)
				query[n++] = 'x';
		}
		query[n] = '\0';
		(void)snprintf(args, sizeof(args), "{\"query\":\"%s\"}", query);
		call("web_search", "%s", args);
		told(!over, over ? "longer than 400 characters" : "Found by");
	}
	call("web_search", "{\"query\":\"x\",\"count\":10}");
	told(true, "Found by");
	call("web_search", "{\"query\":\"x\",\"count\":11}");
	told(false, "count");
	call("web_search", "{\"query\":\"x\",\"count\":0}");
	told(false, "count");
	call("web_search", "{\"query\":\"  \"}");
	told(false, "empty");
}

static void ends_a_search_that_waits_to_ask_again(void **state)
{
	struct tool_run *run;

	(void)state;
	(void)add("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
	serve();
	open_search(1);
	run = start("web_search", "{\"query\":\"x\"}");
	while (server_requests(fix.s) == 0 || server_open_now(fix.s) > 0)
		assert_int_equal(0, loop_step(rig.loop, 5, NULL));
	tool_cancel(run);
	while (!rig.done)
		assert_int_equal(0, loop_step(rig.loop, 0, NULL));
	assert_true(rig.cancelled);
	assert_int_equal(server_requests(fix.s), 1);
}

static void keeps_the_rate_for_both_tools(void **state)
{
	(void)state;
	for (int i = 0; i < 29; i++)
		(void)add("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
	add_page("application/json", FOUND);
	add_page("text/plain", "late");
	serve();
	open_search(1);
	for (int i = 0; i < 29; i++)
		call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "status 404");
	call("web_search", "{\"query\":\"x\"}");
	told(true, "Found by searxng");
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(false, "asked 30 times in a minute");
	call("web_search", "{\"query\":\"x\"}");
	told(false, "asked 30 times in a minute");
	assert_int_equal(server_requests(fix.s), 30);
	fix.by += 60000;
	call("web_fetch", "{\"url\":\"%s\"}", fix.url[0]);
	told(true, "late");
}

/* --- todo ------------------------------------------------------------------------------------- */

static void open_todo(void)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/state.db", rig.dir);
	if (!fix.db)
		assert_int_equal(0, db_open(&fix.db, path, &e));
	assert_int_equal(0, todo_open(&fix.todo, fix.db, &fix.clock, rig.tools, &e));
}

static void keeps_a_list_with_stable_ids(void **state)
{
	(void)state;
	open_todo();
	call("todo", "{}");
	assert_string_equal(str_cstr(&rig.text), "The list is empty.");
	call("todo",
		"{\"items\":[{\"text\":\"one\",\"state\":\"in_progress\"},{\"text\":\"two\"}]}");
	assert_string_equal(str_cstr(&rig.text), "1. [in_progress] one\n2. [pending] two");
	call("todo", "{\"items\":[{\"id\":2,\"text\":\"two!\",\"state\":\"in_progress\"},"
		     "{\"text\":\"three\"},{\"id\":1,\"text\":\"one\",\"state\":\"done\"}]}");
	assert_string_equal(str_cstr(&rig.text),
		"2. [in_progress] two!\n3. [pending] three\n1. [done] one");
	/* An id is never given twice. */
	call("todo", "{\"items\":[]}");
	told(true, "The list is empty.");
	call("todo", "{\"items\":[{\"text\":\"four\"}]}");
	assert_string_equal(str_cstr(&rig.text), "4. [pending] four");
	call("todo", "{}");
	assert_string_equal(str_cstr(&rig.text), "4. [pending] four");
}

static void keeps_the_time_an_item_was_made(void **state)
{
	struct stmt *s = NULL;
	int64_t made;

	(void)state;
	open_todo();
	call("todo", "{\"items\":[{\"text\":\"one\"}]}");
	fix.by += 100000;
	call("todo", "{\"items\":[{\"id\":1,\"text\":\"uno\"},{\"text\":\"two\"}]}");
	assert_int_equal(0,
		stmt_open(&s, fix.db, "SELECT made_ms FROM todo_item ORDER BY id", NULL));
	assert_int_equal(1, stmt_step(s, NULL));
	made = stmt_col_int(s, 0);
	assert_int_equal(1, stmt_step(s, NULL));
	assert_true(stmt_col_int(s, 0) - made >= 100000);
	stmt_close(&s);
}

static void refuses_a_list_that_cannot_be(void **state)
{
	static const char *const rows[][2] = {
		{ "[{\"text\":\"a\",\"state\":\"in_progress\"},"
		  "{\"text\":\"b\",\"state\":\"in_progress\"}]",
			"2 are in_progress" },
		{ "[{\"id\":9,\"text\":\"a\"}]", "no item 9" },
		{ "[{\"id\":1,\"text\":\"a\"},{\"id\":1,\"text\":\"b\"}]", "twice" },
		{ "[{\"text\":\"\"}]", "text" },
		{ "[{\"text\":\"a\",\"state\":\"later\"}]", "must be one of" },
		{ "[\"a\"]", "not an object" },
	};

	(void)state;
	open_todo();
	call("todo", "{\"items\":[{\"text\":\"kept\"}]}");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		call("todo", "{\"items\":%s}", rows[i][0]);
		told(false, rows[i][1]);
	}
	call("todo", "{}");
	assert_string_equal(str_cstr(&rig.text), "1. [pending] kept");
}

static void takes_50_items_of_500_bytes(void **state)
{
	char text[502], args[65536];

	(void)state;
	open_todo();
	memset(text, 'x', sizeof(text));
	for (size_t over = 0; over < 3; over++) {
		size_t n = (size_t)snprintf(args, sizeof(args), "{\"items\":[");

		text[500 + (over == 1)] = '\0';
		for (size_t i = 0; i < 50 + (over == 2); i++)
			n += (size_t)snprintf(args + n, sizeof(args) - n, "%s{\"text\":\"%s\"}",
				i ? "," : "", text);
		(void)snprintf(args + n, sizeof(args) - n, "]}");
		(void)start("todo", args);
		while (!rig.done)
			assert_int_equal(0, loop_step(rig.loop, 5, NULL));
		told(!over, over ? "items" : "50. [pending] x");
		text[500] = 'x';
	}
}

static void keeps_each_conversation_s_own_list(void **state)
{
	(void)state;
	open_todo();
	call("todo", "{\"items\":[{\"text\":\"first\"}]}");
	tools_turn_end(rig.tools, 1);
	assert_int_equal(0, tools_turn_begin(rig.tools, 1, "c2", VIEW_NONE, NULL, NULL));
	call("todo", "{}");
	told(true, "empty");
	tools_turn_end(rig.tools, 1);
	call("todo", "{}");
	told(false, "no conversation");
	assert_int_equal(0, tools_turn_begin(rig.tools, 1, "c1", VIEW_NONE, NULL, NULL));
	call("todo", "{}");
	told(true, "first");
}

static void forgets_the_list_changed_longest_ago(void **state)
{
	struct stmt *s = NULL;

	(void)state;
	open_todo();
	assert_int_equal(0,
		db_exec(fix.db,
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
			" WHERE i < 1000) INSERT INTO todo_list SELECT 'old' || i, 1, i"
			" FROM n; INSERT INTO todo_item VALUES('old1', 1, 0, 0, 'x', 1)",
			NULL));
	call("todo", "{\"items\":[{\"text\":\"new\"}]}");
	assert_int_equal(0, stmt_open(&s, fix.db,
				    "SELECT COUNT(*), SUM(conversation = 'old1'),"
				    " (SELECT COUNT(*) FROM todo_item) FROM todo_list",
				    NULL));
	assert_int_equal(1, stmt_step(s, NULL));
	assert_int_equal(stmt_col_int(s, 0), TODO_LISTS_MAX);
	assert_int_equal(stmt_col_int(s, 1), 0);
	assert_int_equal(stmt_col_int(s, 2), 1);
	stmt_close(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fetches_a_page_as_markdown),
		TEST(fetches_json_as_it_is_and_in_pages),
		TEST(follows_five_redirects_and_no_sixth),
		TEST(judges_each_redirect_anew),
		TEST(fetches_public_addresses_only),
		TEST(refuses_addresses_that_are_none),
		TEST(tells_what_is_no_page),
		TEST(takes_5_mib_and_no_more),
		TEST(gives_up_after_30_seconds),
		TEST(ends_at_once_when_cancelled),
		TEST(ends_with_its_helper_under_way),
		TEST(keeps_the_rate_for_both_tools),
		TEST(searches_and_lets_the_results_be_fetched),
		TEST(is_not_offered_when_nothing_is_set_up),
		TEST(asks_the_next_provider),
		TEST(asks_only_the_one_that_is_named),
		TEST(asks_once_more_when_it_may_pass),
		TEST(takes_400_characters_and_ten_results),
		TEST(ends_a_search_that_waits_to_ask_again),
		TEST(keeps_a_list_with_stable_ids),
		TEST(keeps_the_time_an_item_was_made),
		TEST(refuses_a_list_that_cannot_be),
		TEST(takes_50_items_of_500_bytes),
		TEST(keeps_each_conversation_s_own_list),
		TEST(forgets_the_list_changed_longest_ago),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
