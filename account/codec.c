/* account.json <-> struct account */
#include "account/account-private.h"

#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1 };

int account_check_word(const char *what, struct view v, size_t max, struct err *e)
{
	if (!v.n || v.n > max)
		return err_set(e, E_FORMAT, "%s must have 1 to %zu characters", what, max);
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] <= ' ' || v.p[i] >= 0x7f)
			return err_set(e, E_FORMAT, "%s may hold printable ASCII characters only",
				what);
	return 0;
}

static int get_word(const struct json *j, const char *name, enum json_need need, char *dst,
	size_t max, struct err *e)
{
	struct view v = VIEW_NONE;

	if (json_get_str(j, name, need, 0, max, &v, e) < 0)
		return -1;
	if (v.n && account_check_word(name, v, max, e) < 0)
		return -1;
	if (need == JSON_REQUIRED && !v.n)
		return err_set(e, E_FORMAT, "%s is empty", name);
	return copy_z(dst, max + 1, v);
}

static int get_generation(const struct json *j, struct account *a, struct err *e)
{
	struct view v;

	if (json_get_str(j, "generation", JSON_REQUIRED, 32, 32, &v, e) < 0)
		return -1;
	for (size_t i = 0; i < v.n; i++)
		if (!strchr("0123456789abcdef", v.p[i]))
			return err_set(e, E_FORMAT, "generation is not 32 hex digits");
	return copy_z(a->generation, sizeof(a->generation), v);
}

static int get_old_tokens(const struct json *j, struct account *a, struct err *e)
{
	const size_t max = sizeof(a->old_tokens) / sizeof(a->old_tokens[0]);
	const struct json *list = NULL;

	if (json_get_array(j, "old_tokens", JSON_OPTIONAL, max, &list, e) < 0)
		return -1;
	json_each(it, list) {
		struct view v;

		if (json_str(it, &v) < 0)
			return err_set(e, E_FORMAT, "old_tokens may hold strings only");
		if (account_check_word("old_tokens", v, ACCOUNT_TOKEN_MAX, e) < 0)
			return -1;
		if (!(a->old_tokens[a->nold] = strndup(v.p, v.n)))
			return err_set(e, E_NOMEM, "out of memory");
		a->nold++;
	}
	return 0;
}

static int get_place(const struct json *j, struct account *a, struct err *e)
{
	struct view url, workspace = VIEW_NONE;

	if (json_get_str(j, "base_url", JSON_REQUIRED, 1, ACCOUNT_URL_MAX, &url, e) < 0 ||
		json_get_str(j, "workspace", JSON_OPTIONAL, 0, sizeof(a->workspace) - 1, &workspace,
			e) < 0)
		return -1;
	/* Loopback is judged by whoever uses the address; the shape is judged here. */
	if (account_check_url(url, true, e) < 0)
		return -1;
	if (workspace.n && workspace.p[0] != '/')
		return err_set(e, E_FORMAT, "workspace is not an absolute path");
	if (copy_z(a->base_url, sizeof(a->base_url), url) < 0 ||
		copy_z(a->workspace, sizeof(a->workspace), workspace) < 0)
		return err_set(e, E_FORMAT, "base_url or workspace holds a NUL");
	return 0;
}

static int get_cursor(const struct json *j, struct account *a, struct err *e)
{
	struct view v = VIEW_NONE;

	if (json_get_str(j, "cursor", JSON_OPTIONAL, 0, ACCOUNT_CURSOR_MAX, &v, e) < 0)
		return -1;
	str_reset(&a->cursor);
	return str_add(&a->cursor, v) < 0 ? err_set(e, E_NOMEM, "out of memory") : 0;
}

int account_decode(struct account *a, struct view text, struct err *e)
{
	struct json *j = NULL;
	int64_t schema;
	int rc = -1;

	if (json_read(&j, text, &json_limits_config, e) < 0)
		goto out;
	if (json_type(j) != JSON_OBJECT) {
		err_set(e, E_FORMAT, "not a JSON object");
		goto out;
	}
	if (json_get_int(j, "schema", JSON_REQUIRED, 1, INT64_MAX, &schema, e) < 0)
		goto out;
	if (schema > SCHEMA) {
		err_set(e, E_UNSUPPORTED,
			"written by a newer kairo; use that version, or log in again");
		goto out;
	}
	if (get_generation(j, a, e) < 0 ||
		get_word(j, "bot_id", JSON_REQUIRED, a->bot_id, ACCOUNT_ID_MAX, e) < 0 ||
		get_word(j, "user_id", JSON_OPTIONAL, a->user_id, ACCOUNT_ID_MAX, e) < 0 ||
		get_word(j, "token", JSON_REQUIRED, a->token, ACCOUNT_TOKEN_MAX, e) < 0 ||
		json_get_int(j, "login_at", JSON_REQUIRED, 0, INT64_MAX, &a->login_at, e) < 0 ||
		get_place(j, a, e) < 0 || get_cursor(j, a, e) < 0 || get_old_tokens(j, a, e) < 0)
		goto out;
	rc = 0;
out:
	json_free(&j);
	return rc;
}

int account_encode(const struct account *a, struct str *out, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_int(&w, "schema", SCHEMA);
	json_put_z(&w, "generation", a->generation);
	json_put_z(&w, "bot_id", a->bot_id);
	json_put_z(&w, "user_id", a->user_id);
	json_put_z(&w, "token", a->token);
	json_put_z(&w, "base_url", a->base_url);
	json_put_z(&w, "workspace", a->workspace);
	json_put_int(&w, "login_at", a->login_at);
	json_put_str(&w, "cursor", str_view(&a->cursor));
	json_open_array(&w, "old_tokens");
	for (size_t i = 0; i < a->nold; i++)
		json_put_z(&w, NULL, a->old_tokens[i]);
	json_close_array(&w);
	json_close(&w);
	if (json_out_end(&w, e) < 0)
		return -1;
	return str_addc(out, '\n') < 0 ? err_set(e, E_FULL, "account.json would be over 128 KiB")
	                               : 0;
}
