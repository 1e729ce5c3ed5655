/* cli/config with every allocation failing once: the file is the old or the new one. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli/config.h"
#include "nomem.h"

static const char text[] = "# mine\nlanguage = \"zh\"\nallowed_users = [\"a\", \"b\"]\n"
			   "[model]\nname = \"m\"\n[sandbox]\nread = [\"/usr\", \"~/x\"]\n";

static void prepare(struct scratch *s)
{
	struct err e = ERR_INIT;

	setenv("HOME", s->dir, 1);
	setenv("KAIRO_MODEL_BASE_URL", "https://m.example/v1", 1);
	assert_int_equal(file_replace(scratch_path(s, CONFIG_FILE), 0600, view_of(text), &e), 0);
}

static int use_load(struct scratch *s, struct err *e)
{
	struct str v = STR_INIT(1000);
	struct config *c = NULL;
	int rc = config_load(&c, s->dir, e);

	assert_true((rc == 0) == (c != NULL));
	if (rc == 0)
		rc = config_get(c, "allowed_users", &v, e);
	config_free(&c);
	str_release(&v);
	return rc;
}

static int use_set(struct scratch *s, struct err *e)
{
	struct str now = STR_INIT(1000);
	int left, rc = config_set(s->dir, "language", "en", e);

	left = nomem_left;
	nomem_left = -1;
	assert_int_equal(file_read(scratch_path(s, CONFIG_FILE), 1000, &now, NULL), 0);
	if (rc < 0)
		assert_string_equal(str_cstr(&now), text);
	else
		assert_non_null(strstr(str_cstr(&now), "language = \"en\""));
	str_release(&now);
	nomem_left = left;
	return rc;
}

static int use_unset(struct scratch *s, struct err *e)
{
	const char *source;

	return config_unset(s->dir, "model.name", e) < 0 ||
	                       config_source(s->dir, "model.name", &source, e) < 0
	               ? -1
	               : 0;
}

static int use_key(struct scratch *s, struct err *e)
{
	struct config *c = NULL;
	int rc = -1;

	if (config_set_secret(s->dir, "model.api_key", VIEW("sk-12345678"), e) == 0 &&
		config_load(&c, s->dir, e) == 0 && config_load_key(c, e) == 0) {
		assert_string_equal(c->model.api_key, "sk-12345678");
		rc = 0;
	}
	config_free(&c);
	return rc;
}

static void loading_survives(void **state)
{
	(void)state;
	nomem_each_once(use_load, prepare);
}

static void changing_survives(void **state)
{
	(void)state;
	nomem_each_once(use_set, prepare);
	nomem_each_once(use_unset, prepare);
}

static void the_key_survives(void **state)
{
	(void)state;
	nomem_each_once(use_key, prepare);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(loading_survives),
		cmocka_unit_test(changing_survives),
		cmocka_unit_test(the_key_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
