#include "cli/config-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum {
	LOCK_WAIT_MS = 5000,
	LOOP_WAIT_MS = 500,  /* where a daemon's loop stands still meanwhile */
	VALUE_MAX = 32 << 10 /* bytes of a value that is set from the command line */
};

struct edit {
	const char *name;
	struct view value; /* TOML; p NULL removes the key */
};

/* The file as it is, and as it would be. */
static int edit_text(const char *home, char path[PATH_SIZE], const struct edit *edits, size_t n,
	struct str *old, struct str *fresh, struct err *e)
{
	struct str text = STR_INIT(TOML_FILE_MAX);
	struct err here = ERR_INIT;
	int rc = -1;

	if (config_read_file(home, path, old, e) < 0)
		goto out;
	if (str_add(fresh, str_view(old)) < 0) {
		err_set(e, E_NOMEM, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		struct str before = *fresh;

		*fresh = text;
		text = before;
		str_reset(fresh);
		if (toml_edit(str_view(&text), edits[i].name, edits[i].value, fresh, &here) < 0) {
			config_in_file(&here, e);
			goto out;
		}
	}
	rc = 0;
out:
	str_release(&text);
	return rc;
}

/* The new text is loaded once before it replaces the old. */
static int change(const char *home, const struct edit *edits, size_t n, int wait_ms, struct err *e)
{
	char path[PATH_SIZE], lockpath[PATH_SIZE];
	struct str text = STR_INIT(TOML_FILE_MAX), fresh = STR_INIT(TOML_FILE_MAX);
	struct config *trial = NULL;
	struct lock *lock = NULL;
	struct err here = ERR_INIT;
	int rc = -1;

	if (path_join(lockpath, home, "config.lock", e) < 0 ||
		lock_take(&lock, lockpath, wait_ms, e) < 0 ||
		edit_text(home, path, edits, n, &text, &fresh, e) < 0)
		goto out;
	if (config_from_text(&trial, home, str_view(&fresh), false, e) < 0) {
		/* A fault that was there before is named by its place in the file as it is. */
		if (config_from_text(&trial, home, str_view(&text), false, &here) < 0 && e)
			*e = here;
		goto out;
	}
	rc = file_replace(path, 0600, str_view(&fresh), e);
out:
	config_free(&trial);
	lock_release(&lock);
	str_release(&text);
	str_release(&fresh);
	return rc;
}

/* A TOML value of the right type as it is; else the whole text as a string, unless it begins as a
 * TOML string does. */
static int as_toml(const struct config_row *r, const char *value, struct str *out, struct err *e)
{
	const struct config_key *k = &r->key;
	bool text_type = k->type != CONFIG_INT && k->type != CONFIG_BOOL && k->type != CONFIG_LIST;
	struct toml *hold = NULL;
	struct toml_value v;
	struct err why = ERR_INIT;
	int read = toml_read_value(&hold, &v, view_of(value), &why);
	bool usable = read == 0 && config_fits(r, &v);
	char first = value[strspn(value, " \t")];

	toml_free(&hold);
	if (why.code == E_NOMEM)
		return err_set(e, E_NOMEM, "%s", why.msg);
	if (usable)
		str_adds(out, value);
	else if (!text_type)
		return config_misfit(r, e);
	else if (read < 0 && (first == '"' || first == '\''))
		return err_set(e, E_FORMAT, "%s: the value does not read: %s", k->name, why.msg);
	else if (!utf8_valid(view_of(value)))
		return err_set(e, E_FORMAT, "%s: the value is not valid UTF-8", k->name);
	else
		toml_write_string(view_of(value), out);
	if (str_ok(out))
		return 0;
	return strlen(value) > VALUE_MAX
	               ? err_set(e, E_FORMAT, "%s: the value is too long", k->name)
	               : err_set(e, E_NOMEM, "out of memory");
}

/* Would this value do? Said without a place: it stands in no file yet. */
static int try_value(const struct config_row *r, struct view text, struct err *e)
{
	struct config *c = calloc(1, sizeof(*c));
	struct toml *hold = NULL;
	struct toml_value v;
	int rc = -1;

	if (!c)
		return err_set(e, E_NOMEM, "out of memory");
	if (toml_read_value(&hold, &v, text, e) == 0 && config_put(c, r, &v, e) == 0)
		rc = config_check(c, r, e);
	toml_free(&hold);
	config_free(&c);
	return rc;
}

/* Values as they are typed become TOML that fits its key. */
static int read_edit(const struct config_edit *in, struct edit *out, struct str *hold,
	struct err *e)
{
	const struct config_row *r = config_row_named(in->name);

	*out = (struct edit){ .name = in->name };
	if (!r)
		return err_set(e, E_NOTFOUND, "no setting \"%s\", did you mean %s?", in->name,
			config_nearest(in->name));
	if (!in->value)
		return 0;
	if (as_toml(r, in->value, hold, e) < 0 || try_value(r, str_view(hold), e) < 0)
		return -1;
	out->value = str_view(hold);
	return 0;
}

/* trial NULL: it is written; else it only says what would be in force. */
static int change_all(struct config **trial, const char *home, const struct config_edit *edits,
	size_t n, int wait_ms, struct err *e)
{
	struct str text = STR_INIT(TOML_FILE_MAX), fresh = STR_INIT(TOML_FILE_MAX);
	struct str hold[CONFIG_EDITS_MAX];
	struct edit list[CONFIG_EDITS_MAX];
	char path[PATH_SIZE];
	int rc = 0;

	for (size_t i = 0; i < CONFIG_EDITS_MAX; i++)
		hold[i] = STR_INIT((size_t)6 * VALUE_MAX);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_edit(&edits[i], &list[i], &hold[i], e);
	if (rc == 0 && !trial)
		rc = change(home, list, n, wait_ms, e);
	else if (rc == 0 && (rc = edit_text(home, path, list, n, &text, &fresh, e)) == 0)
		rc = config_from_text(trial, home, str_view(&fresh), true, e);
	for (size_t i = 0; i < CONFIG_EDITS_MAX; i++)
		str_release(&hold[i]);
	str_release(&text);
	str_release(&fresh);
	return rc;
}

int config_change(const char *home, const struct config_edit *edits, size_t n, struct err *e)
{
	return change_all(NULL, home, edits, n, LOOP_WAIT_MS, e);
}

int config_try(struct config **out, const char *home, const struct config_edit *edits, size_t n,
	struct err *e)
{
	*out = NULL;
	return change_all(out, home, edits, n, 0, e);
}

int config_set(const char *home, const char *name, const char *value, struct err *e)
{
	const struct config_edit edit = { name, value };

	return change_all(NULL, home, &edit, 1, LOCK_WAIT_MS, e);
}

int config_unset(const char *home, const char *name, struct err *e)
{
	const struct edit edit = { name, VIEW_NONE };

	return change(home, &edit, 1, LOCK_WAIT_MS, e);
}
