/* base/err: one line that says why. */
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void says_why_and_returns_minus_one(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(err_set(&e, E_FULL, "queue of %d", 20), -1);
	assert_int_equal(e.code, E_FULL);
	assert_string_equal(e.msg, "queue of 20");
	assert_int_equal(err_set(NULL, E_FULL, "x"), -1);
	assert_int_equal(err_sys(NULL, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
	err_clear(NULL);
	err_clear(&e);
	assert_int_equal(e.code, E_OK);
	assert_string_equal(e.msg, "");
}

static void picks_the_code_from_errno(void **state)
{
	static const struct {
		int err;
		enum err_code code;
	} rows[] = {
		{ ENOENT, E_NOTFOUND },
		{ EEXIST, E_EXISTS },
		{ ENOSPC, E_FULL },
		{ EDQUOT, E_FULL },
		{ ENOMEM, E_NOMEM },
		{ EACCES, E_DENIED },
		{ EPERM, E_DENIED },
		{ ELOOP, E_DENIED },
		{ EIO, E_IO },
		{ EMFILE, E_IO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		errno = rows[i].err;
		assert_int_equal(err_sys(&e, "open %s", "f"), -1);
		assert_int_equal(e.code, rows[i].code);
	}
	struct err e = ERR_INIT;
	errno = ENOENT;
	err_sys(&e, "open %s", "a.json");
	assert_string_equal(e.msg, "open a.json: No such file or directory");
}

static void keeps_the_reason_behind_a_long_name(void **state)
{
	struct err e = ERR_INIT;
	char name[600];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	errno = EACCES;
	err_sys(&e, "open %s", name);
	assert_non_null(strstr(e.msg, ": Permission denied"));
	err_set(&e, E_FORMAT, "the path %s is too long", name);
	assert_non_null(strstr(e.msg, "nnn is too long"));
	assert_true(strncmp(e.msg, "the path nnn", 12) == 0);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	err_wrap(&e, "config %s", name);
	assert_non_null(strstr(e.msg, "nnn is too long"));
	name[246] = '\0'; /* 9 more: the most that fits */
	err_set(&e, E_FORMAT, "the path %s", name);
	assert_null(strstr(e.msg, " ... "));
	assert_int_equal(strlen(e.msg), 255);
	err_set(&e, E_FORMAT, "the paths %s", name);
	assert_non_null(strstr(e.msg, " ... "));
	assert_int_equal(strlen(e.msg), 255);
}

static void wraps_and_keeps_the_code(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	err_set(&e, E_FORMAT, "byte 3: bad");
	assert_int_equal(err_wrap(&e, "account %s", "a"), -1);
	assert_int_equal(e.code, E_FORMAT);
	assert_string_equal(e.msg, "account a: byte 3: bad");
	err_set(&e, E_IO, "again: %s", e.msg); /* its own old message as an argument */
	assert_string_equal(e.msg, "again: account a: byte 3: bad");
}

static void cuts_between_characters(void **state)
{
	char text[400];

	(void)state;
	for (size_t lead = 0; lead < 8; lead++) {
		struct err e = ERR_INIT;

		memset(text, 'a', lead);
		for (size_t i = lead; i + 4 < sizeof(text); i += 3)
			memcpy(text + i, "\xe4\xbd\xa0", 4);
		err_set(&e, E_IO, "%s", text);
		assert_true(utf8_valid(view_of(e.msg)));
		assert_true(strlen(e.msg) >= sizeof(e.msg) - 4);
		assert_null(strchr(e.msg, '?'));
		err_wrap(&e, "%s", "\xf0\x9f\x98\x80");
		assert_true(utf8_valid(view_of(e.msg)));
	}
}

static void stays_one_line_of_utf8(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	err_set(&e, E_FORMAT, "bad \xff\xc3!\n\x1b[31m\x7f");
	assert_string_equal(e.msg, "bad ?"
				   "?!  [31m ");
	err_set(&e, E_FORMAT, "tail \xe4\xbd"); /* cut elsewhere, not by us */
	assert_string_equal(e.msg, "tail ??");
}

static void names_every_code(void **state)
{
	(void)state;
	for (int c = E_OK; c <= E_UNSUPPORTED + 1; c++)
		assert_true(strlen(err_code_name((enum err_code)c)) > 1);
	assert_string_equal(err_code_name(E_NOTFOUND), "not found");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_why_and_returns_minus_one),
		cmocka_unit_test(picks_the_code_from_errno),
		cmocka_unit_test(keeps_the_reason_behind_a_long_name),
		cmocka_unit_test(wraps_and_keeps_the_code),
		cmocka_unit_test(cuts_between_characters),
		cmocka_unit_test(stays_one_line_of_utf8),
		cmocka_unit_test(names_every_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
