/* Every allocation of our own failing once: an error, never a crash or a leak. */
#include "check.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static int left = -1; /* allocations until one fails; -1: none does */

static bool fails(void)
{
	return left >= 0 && left-- == 0;
}

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

static const char text[] =
	"<think>x</think>\x1b[1m# 一 `a_b` &amp;\n\n- [x] **二：**请\n  1. https://x.com/a_b\n\n"
	"前\n| a | b |\n|---|---|\n| **很长很长很长很长很长很长很长很长很长很长** | [x](y) |\n\n"
	"```py\nprint(1)\nprint(2)\nprint(3)\nprint(4)\nprint(5)\nprint(6)\n```\n> 三\n"
	"<div>\n<a href=\"x\">四</a>\n</div>\n\n![五](./a)\n\n[r]: https://x.com\n";

static int formats(struct err *e)
{
	struct format_opts o = { FORMAT_NATIVE, 0 };
	struct str out = STR_INIT(FORMAT_OUT_MAX);
	int rc = format_text(view_of(text), &o, &out, e);

	str_release(&out);
	return rc;
}

static int cuts(struct err *e)
{
	struct chunks c;
	int rc = chunk_text(view_of(text), 64, &c, e);

	assert_int_equal(rc == 0, c.n > 1);
	chunks_release(&c);
	return rc;
}

static int filters(struct err *e)
{
	struct think_filter *t = NULL;
	struct str out = STR_INIT(FORMAT_OUT_MAX);
	int rc = think_open(&t, e);

	if (rc == 0 && (think_feed(t, view_of(text), &out) < 0 || think_end(t, &out) < 0))
		rc = err_set(e, E_NOMEM, "filter");
	think_close(&t);
	str_release(&out);
	return rc;
}

static void fail_each_once(int (*run)(struct err *e))
{
	int failed = 0;

	for (int n = 0;; n++) {
		struct err e = ERR_INIT;
		int rc;

		left = n;
		rc = run(&e);
		if (left >= 0) {
			left = -1;
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(e.code, E_NOMEM);
		failed++;
	}
	assert_true(failed > 0);
}

static void formatting_says_so(void **state)
{
	(void)state;
	fail_each_once(formats);
}

static void cutting_says_so(void **state)
{
	(void)state;
	fail_each_once(cuts);
}

static void the_reasoning_filter_says_so(void **state)
{
	(void)state;
	fail_each_once(filters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formatting_says_so),
		cmocka_unit_test(cutting_says_so),
		cmocka_unit_test(the_reasoning_filter_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
