/* account/ with every allocation failing once: an error, and the file is the old or the new one. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "account/account.h"
#include "base/file.h"
#include "nomem.h"

static int log_in(struct scratch *s, const char *token, struct err *e)
{
	const struct account_login l = { .bot_id = "b@im.bot",
		.user_id = "o@im.wechat",
		.token = token,
		.base_url = ACCOUNT_LOGIN_URL,
		.workspace = "/w",
		.cursor = "C0" };

	return account_store_login(s->dir, &l, clock_system(), e);
}

static void prepare(struct scratch *s)
{
	struct err e = ERR_INIT;

	assert_int_equal(log_in(s, "first", &e), 0);
	assert_int_equal(log_in(s, "second", &e), 0);
}

/* Whatever has failed before: what is on disk is whole. */
static void check_whole(struct scratch *s, const char *token, const char *either)
{
	struct account *a = NULL;
	struct err e = ERR_INIT;
	int left = nomem_left;

	nomem_left = -1;
	if (account_load(&a, s->dir, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(!strcmp(account_token(a), token) || !strcmp(account_token(a), either));
	account_free(&a);
	nomem_left = left;
}

static int use_login(struct scratch *s, struct err *e)
{
	int rc = log_in(s, "third", e);

	check_whole(s, "third", rc == 0 ? "third" : "second");
	return rc;
}

static int use_cursor(struct scratch *s, struct err *e)
{
	struct account *a = NULL;
	int rc = account_load(&a, s->dir, e);

	assert_true((rc == 0) == (a != NULL));
	if (rc == 0) {
		rc = account_move_cursor(a, VIEW("C1"), e);
		assert_string_equal(account_cursor(a), rc == 0 ? "C1" : "C0");
	}
	account_free(&a);
	check_whole(s, "second", "second");
	return rc;
}

static int use_reload(struct scratch *s, struct err *e)
{
	struct account *a = NULL;
	bool changed;
	int rc = account_load(&a, s->dir, e);

	if (rc == 0)
		rc = account_reload(a, &changed, e);
	if (a)
		assert_string_equal(account_token(a), "second");
	account_free(&a);
	return rc;
}

static void prepare_import(struct scratch *s)
{
	struct err e = ERR_INIT;

	assert_int_equal(mkdir(scratch_path(s, "accounts"), 0700), 0);
	assert_int_equal(file_replace(scratch_path(s, "accounts/x.json"), 0600,
				 VIEW("{\"bot_token\":\"t\",\"ilink_bot_id\":\"b\"}"), &e),
		0);
	assert_int_equal(file_replace(scratch_path(s, "accounts/x.sync.json"), 0600,
				 VIEW("{\"get_updates_buf\":\"C\"}"), &e),
		0);
}

static int use_import(struct scratch *s, struct err *e)
{
	struct account_import imp;
	int rc = account_import_find(&imp, s->dir, false, e);

	if (rc == 0)
		assert_string_equal(imp.login.cursor, "C");
	account_import_release(&imp);
	return rc;
}

static void a_login_survives(void **state)
{
	(void)state;
	nomem_each_once(use_login, prepare);
}

static void the_cursor_survives(void **state)
{
	(void)state;
	nomem_each_once(use_cursor, prepare);
}

static void reloading_survives(void **state)
{
	(void)state;
	nomem_each_once(use_reload, prepare);
}

static void an_import_survives(void **state)
{
	(void)state;
	nomem_each_once(use_import, prepare_import);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_login_survives),
		cmocka_unit_test(the_cursor_survives),
		cmocka_unit_test(reloading_survives),
		cmocka_unit_test(an_import_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
