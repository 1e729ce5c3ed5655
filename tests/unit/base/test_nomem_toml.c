/* base/toml with every allocation failing once. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/toml.h"
#include "nomem.h"

static const char text[] =
	"# mine\na = \"one \\u00e9 \\n\"\nb = [\"x\", 'y', \"\"]\n[t.u]\nc.d = 1\n";

static int use_read(struct scratch *s, struct err *e)
{
	struct toml *t = NULL;
	int rc = toml_read(&t, view_of(text), e);

	(void)s;
	assert_true((rc == 0) == (t != NULL));
	toml_free(&t);
	return rc;
}

static int use_value(struct scratch *s, struct err *e)
{
	struct toml *hold = NULL;
	struct toml_value v;
	int rc = toml_read_value(&hold, &v, VIEW("[\"one\", 'two']"), e);

	(void)s;
	toml_free(&hold);
	return rc;
}

static int edit(const char *key, struct view value, struct err *e)
{
	struct str out = STR_INIT(TOML_FILE_MAX);
	int rc = toml_edit(view_of(text), key, value, &out, e);

	assert_true((rc == 0) == (out.n > 0));
	str_release(&out);
	return rc;
}

static int use_edit(struct scratch *s, struct err *e)
{
	(void)s;
	return edit("a", VIEW("'new'"), e) < 0 || edit("t.u.x", VIEW("2"), e) < 0 ||
	                       edit("other.x", VIEW("true"), e) < 0 || edit("a", VIEW_NONE, e) < 0
	               ? -1
	               : 0;
}

static void reading_survives(void **state)
{
	(void)state;
	nomem_each_once(use_read, NULL);
	nomem_each_once(use_value, NULL);
}

static void editing_survives(void **state)
{
	(void)state;
	nomem_each_once(use_edit, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_survives),
		cmocka_unit_test(editing_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
