/* Every allocation fails once, ours and curl's: an error comes back, nothing crashes or leaks. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <curl/curl.h>

#include "base/net/http.h"
#include "base/net/httpd.h"
#include "base/net/sse.h"

/* --- allocators that fail --------------------------------------------------------------------- */

static bool counting;
static long countdown; /* the allocation that fails; counted from 1 */

static bool fails(void)
{
	return counting && --countdown == 0;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

/* --- what must survive it --------------------------------------------------------------------- */

static int ignore_event(void *arg, struct view type, struct view data)
{
	(void)type;
	(void)data;
	++*(int *)arg;
	return 0;
}

/* True when it came through whole. */
static bool read_stream(void)
{
	static const char *const pieces[] = { "event: a\nda", "ta: one\ndata: t", "wo\n\n" };
	struct err e = ERR_INIT;
	struct sse *s = NULL;
	int seen = 0, rc = sse_open(&s, 1000, 1000, ignore_event, &seen, &e);

	for (size_t i = 0; rc == 0 && i < 3; i++)
		rc = sse_feed(s, view_of(pieces[i]), &e);
	counting = false;
	assert_int_equal(seen, rc == 0);
	assert_int_equal(rc < 0, e.code != E_OK);
	sse_close(&s);
	return rc == 0;
}

struct talk {
	struct httpd *d;
	int ends;
	enum http_fail fail;
};

static void on_gone(void *arg)
{
	(void)arg;
}

static void on_request(void *arg, struct httpd_req *r)
{
	(void)arg;
	if (view_eqs(httpd_path(r), "/stream")) {
		httpd_stream_begin(r, NULL, on_gone, NULL);
		(void)httpd_stream_piece(r, VIEW("piece"));
		httpd_stream_end(&r);
		return;
	}
	httpd_reply(&r, 200, NULL, VIEW("{\"text\":\"an answer\"}"));
}

static void on_done(void *arg, const struct http_result *r)
{
	struct talk *t = arg;

	t->ends++;
	t->fail = r->fail;
	assert_int_equal(r->fail == HTTP_OK_, r->err->code == E_OK);
}

static bool talk_once(struct loop *l, const char *path, const char *url)
{
	static const struct http_header headers[] = { { "X-One", "1" }, { "X-Two", "2" } };
	struct httpd_opts o = { .unix_path = path, .token = NULL };
	struct http_rules rules = { .loopback = true,
		.unix_path = path,
		.user_agent = "test",
		.rate_max = 3,
		.rate_ms = 1 };
	struct http_req req = { .method = "POST",
		.url = url,
		.headers = headers,
		.nheaders = 2,
		.body = VIEW("{}"),
		.on_done = on_done };
	struct http_call *c = NULL;
	struct http *h = NULL;
	struct err e = ERR_INIT;
	struct talk t = { 0 };
	bool good = false;

	req.arg = &t;
	if (httpd_open(&t.d, l, &o, on_request, &t, NULL, &e) < 0 ||
		http_open(&h, l, &rules, NULL, &e) < 0 || http_start(&c, h, &req, &e) < 0) {
		counting = false;
		assert_true(e.code != E_OK && e.msg[0] != '\0');
		goto out;
	}
	while (t.ends == 0)
		assert_int_equal(loop_step(l, 10, NULL), 0);
	counting = false;
	good = t.fail == HTTP_OK_;
	for (int i = 0; i < 10; i++)
		assert_int_equal(loop_step(l, 0, NULL), 0);
	assert_int_equal(t.ends, 1);
out:
	http_close(&h);
	httpd_close(&t.d);
	return good;
}

static void survives_each_failed_allocation_in_a_stream(void **state)
{
	long n = 0;
	bool good;

	(void)state;
	do {
		countdown = ++n;
		counting = true;
		good = read_stream();
	} while (countdown <= 0);
	assert_true(good);
	assert_true(n > 3);
}

static void survives_each_failed_allocation_in_a_request(void **state)
{
	static const char *const urls[] = { "http://localhost/", "http://localhost/stream" };
	char dir[] = "/tmp/kairo-test-XXXXXX", path[64];
	struct loop *l;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/sock", dir);
	for (size_t i = 0; i < 2; i++) {
		long n = 0;
		bool good;

		do {
			assert_int_equal(loop_open(&l, NULL, NULL), 0);
			countdown = ++n;
			counting = true;
			good = talk_once(l, path, urls[i]);
			loop_close(&l);
		} while (countdown <= 0);
		assert_true(good);
		assert_true(n > 50);
	}
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives_each_failed_allocation_in_a_stream),
		cmocka_unit_test(survives_each_failed_allocation_in_a_request),
	};
	int rc;

	(void)signal(SIGPIPE, SIG_IGN);
	/* The first init decides on the allocators; the pools' own only count. */
	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, __wrap_malloc, free, __wrap_realloc,
		    __wrap_strdup, __wrap_calloc) != CURLE_OK)
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	curl_global_cleanup();
	return rc;
}
