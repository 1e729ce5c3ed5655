/* JSON and text with every allocation failing once, the parser library's too: an error, never a
 * crash, a leak or half a result. malloc, calloc and realloc are wrapped by the linker. */
#include "base/json.h"
#include "base/text.h"

#include <cjson/cJSON.h>

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

typedef int scenario(struct err *e);

static void fail_each_once(scenario *run)
{
	for (int n = 0;; n++) {
		struct err e = ERR_INIT;

		left = n;
		int rc = run(&e);
		bool reached = left < 0;

		left = -1;
		if (!reached) {
			assert_int_equal(rc, 0);
			assert_true(n > 0);
			return;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(e.code, E_NOMEM);
		assert_true(e.msg[0] != '\0');
	}
}

/* Ids that are kept as digits, a repair, a name that has to be looked up in the tree. */
static const char text[] =
	"{\"id\":18446744073709551615,\"l\":[1,{\"\\u0061\":\"\xff\",\"b\":1.5}],"
	"\"a\":{},\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,"
	"\"k\":1,\"m\":1,\"n\":1,\"o\":1}";

static int read_it(struct err *e)
{
	struct json *j = NULL;
	int rc = json_read(&j, view_of(text), &json_limits_message, e);

	assert_true((rc == 0) == (j != NULL));
	json_free(&j);
	return rc;
}

/* So long that the copy comes from the heap. */
static int read_large(struct err *e)
{
	static char large[20000];
	struct json *j = NULL;

	memset(large, ' ', sizeof(large));
	memcpy(large, "[9007199254740993", 17);
	large[sizeof(large) - 1] = ']';
	int rc = json_read(&j, (struct view){ large, sizeof(large) }, &json_limits_wire, e);

	assert_true((rc == 0) == (j != NULL));
	json_free(&j);
	return rc;
}

static int print_it(struct err *e)
{
	struct str s = STR_INIT(1000);
	struct json *j = NULL;
	int armed = left, rc;

	left = -1;
	assert_int_equal(json_read(&j, view_of(text), &json_limits_message, NULL), 0);
	left = armed;
	rc = json_print(j, &s, e);
	str_release(&s);
	json_free(&j);
	return rc;
}

static int write_it(struct err *e)
{
	struct str s = STR_INIT(1000);
	struct json_out w;
	int rc;

	json_out_begin(&w, &s);
	json_open(&w, NULL);
	json_put_str(&w, "name", VIEW("a text that is longer than the first block\n"));
	json_put_int(&w, "n", -1);
	json_put_raw(&w, "raw", VIEW("[1, 2]"));
	json_close(&w);
	rc = json_out_end(&w, e);
	str_release(&s);
	return rc;
}

static int make_safe(struct err *e)
{
	struct str safe = STR_INIT(1000), clean = STR_INIT(1000), shown = STR_INIT(1000);
	int rc = 0;

	if (text_safe(VIEW("\x1b[1mtoken=0a1b2c3d4e5f and more words\xff\n"), 0, &safe) < 0 ||
		text_redact(str_view(&safe), &clean) < 0 ||
		text_visible(str_view(&clean), &shown) < 0)
		rc = err_set(e, E_NOMEM, "out of memory");
	str_release(&safe);
	str_release(&clean);
	str_release(&shown);
	return rc;
}

static void survives_without_memory(void **state)
{
	cJSON_Hooks hooks = { __wrap_malloc, free };

	(void)state;
	cJSON_InitHooks(&hooks);
	fail_each_once(read_it);
	fail_each_once(read_large);
	fail_each_once(print_it);
	fail_each_once(write_it);
	fail_each_once(make_safe);
	cJSON_InitHooks(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
