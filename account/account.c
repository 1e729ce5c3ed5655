#include "account/account-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum {
	LOCK_WAIT_MS = 5000,
	MOVE_WAIT_MS = 500 /* on the daemon's loop, where a /stop waits too; it comes again */
};

static int paths(const char *home, char file[PATH_SIZE], char lock[PATH_SIZE], struct err *e)
{
	return path_join(file, home, "account.json", e) < 0
	               ? -1
	               : path_join(lock, home, "account.lock", e);
}

static struct account *account_new(const char *home, struct err *e)
{
	struct account *a = calloc(1, sizeof(*a));

	if (a)
		a->cursor = STR_INIT(ACCOUNT_CURSOR_MAX);
	if (!a || !(a->home = strdup(home))) {
		account_free(&a);
		err_set(e, E_NOMEM, "out of memory");
	}
	return a;
}

void account_free(struct account **a)
{
	struct account *x = *a;

	if (!x)
		return;
	for (size_t i = 0; i < x->nold; i++) {
		explicit_bzero(x->old_tokens[i], strlen(x->old_tokens[i]));
		free(x->old_tokens[i]);
	}
	str_wipe(&x->cursor);
	free(x->home);
	explicit_bzero(x, sizeof(*x));
	free(x);
	*a = NULL;
}

const char *account_bot_id(const struct account *a)
{
	return a->bot_id;
}

const char *account_user_id(const struct account *a)
{
	return a->user_id;
}

const char *account_token(const struct account *a)
{
	return a->token;
}

const char *account_base_url(const struct account *a)
{
	return a->base_url;
}

const char *account_cursor(const struct account *a)
{
	return str_cstr(&a->cursor);
}

size_t account_known_tokens(const struct account *a, const char *out[10])
{
	size_t n = 0;

	out[n++] = a->token;
	for (size_t i = 0; i < a->nold && n < 10; i++)
		out[n++] = a->old_tokens[i];
	return n;
}

int account_load(struct account **out, const char *home, struct err *e)
{
	char file[PATH_SIZE], lock[PATH_SIZE];
	struct str text = STR_SECRET(ACCOUNT_FILE_MAX);
	struct account *a = NULL;
	int rc = -1;

	*out = NULL;
	if (paths(home, file, lock, e) < 0 ||
		file_read_private(file, ACCOUNT_FILE_MAX, &text, e) < 0 ||
		!(a = account_new(home, e)))
		goto out;
	if (account_decode(a, str_view(&text), e) < 0) {
		err_wrap(e, "%s cannot be used; kairo login makes a new one", file);
		goto out;
	}
	*out = a;
	a = NULL;
	rc = 0;
out:
	account_free(&a);
	str_wipe(&text);
	return rc;
}

/* The caller holds the lock. */
static int save(const struct account *a, struct err *e)
{
	char file[PATH_SIZE], lock[PATH_SIZE];
	struct str text = STR_SECRET(ACCOUNT_FILE_MAX);
	int rc = -1;

	if (paths(a->home, file, lock, e) == 0 && account_encode(a, &text, e) == 0)
		rc = file_replace(file, 0600, str_view(&text), e);
	str_wipe(&text);
	return rc;
}

/* The tokens of the login that is replaced, newest first, without repeats of the new one. */
static int inherit_tokens(struct account *fresh, const struct account *old, struct err *e)
{
	const size_t max = sizeof(fresh->old_tokens) / sizeof(fresh->old_tokens[0]);
	const char *known[10];
	size_t n = account_known_tokens(old, known);

	for (size_t i = 0; i < n && fresh->nold < max; i++) {
		if (!strcmp(known[i], fresh->token))
			continue;
		if (!(fresh->old_tokens[fresh->nold] = strdup(known[i])))
			return err_set(e, E_NOMEM, "out of memory");
		fresh->nold++;
	}
	return 0;
}

static int fill(struct account *a, const struct account_login *l, const struct clock *clk,
	struct err *e)
{
	const char *base = l->base_url && l->base_url[0] ? l->base_url : ACCOUNT_LOGIN_URL;
	const char *user = l->user_id ? l->user_id : "";

	if (account_check_word("the bot id", view_of(l->bot_id), ACCOUNT_ID_MAX, e) < 0 ||
		account_check_word("the token", view_of(l->token), ACCOUNT_TOKEN_MAX, e) < 0 ||
		(user[0] &&
			account_check_word("the user id", view_of(user), ACCOUNT_ID_MAX, e) < 0) ||
		account_check_url(view_of(base), true, e) < 0)
		return -1;
	if (l->workspace && l->workspace[0] && l->workspace[0] != '/')
		return err_set(e, E_FORMAT, "the workspace is not an absolute path");
	if (copy_z(a->bot_id, sizeof(a->bot_id), view_of(l->bot_id)) < 0 ||
		copy_z(a->user_id, sizeof(a->user_id), view_of(user)) < 0 ||
		copy_z(a->token, sizeof(a->token), view_of(l->token)) < 0 ||
		copy_z(a->base_url, sizeof(a->base_url), view_of(base)) < 0 ||
		copy_z(a->workspace, sizeof(a->workspace), view_of(l->workspace)) < 0 ||
		view_of(l->cursor).n > ACCOUNT_CURSOR_MAX)
		return err_set(e, E_FORMAT, "the login holds a field that is too long");
	if (str_add(&a->cursor, view_of(l->cursor)) < 0)
		return err_set(e, E_NOMEM, "out of memory");
	rand_hex(a->generation, 16);
	a->login_at = clock_wall(clk);
	return 0;
}

int account_store_login(const char *home, const struct account_login *l, const struct clock *clk,
	struct err *e)
{
	char file[PATH_SIZE], lockpath[PATH_SIZE];
	struct account *fresh = account_new(home, e), *old = NULL;
	struct lock *lock = NULL;
	struct err ignored = ERR_INIT;
	int rc = -1;

	if (!fresh || fill(fresh, l, clk, e) < 0 || paths(home, file, lockpath, e) < 0 ||
		lock_take(&lock, lockpath, LOCK_WAIT_MS, e) < 0)
		goto out;
	/* An old file that cannot be read has nothing to inherit; the login replaces it. */
	if (account_load(&old, home, &ignored) == 0 && inherit_tokens(fresh, old, e) < 0)
		goto out;
	rc = save(fresh, e);
out:
	lock_release(&lock);
	account_free(&old);
	account_free(&fresh);
	return rc;
}

int account_can_store(const char *home, struct err *e)
{
	static const char block[4096];
	char file[PATH_SIZE], lockpath[PATH_SIZE];
	struct lock *lock = NULL;
	struct newfile *f = NULL;
	int rc = -1;

	if (paths(home, file, lockpath, e) == 0 && lock_take(&lock, lockpath, LOCK_WAIT_MS, e) == 0)
		rc = newfile_open(&f, file, 0600, e);
	for (size_t n = 0; rc == 0 && n < ACCOUNT_FILE_MAX; n += sizeof(block))
		rc = newfile_write(f, (struct view){ block, sizeof(block) }, e);
	newfile_abort(&f);
	lock_release(&lock);
	return rc;
}

int account_logout(const char *home, struct err *e)
{
	char file[PATH_SIZE], lockpath[PATH_SIZE];
	struct lock *lock = NULL;
	int rc = -1;

	if (paths(home, file, lockpath, e) < 0)
		return -1;
	if (!file_exists(file))
		return 0;
	if (lock_take(&lock, lockpath, LOCK_WAIT_MS, e) == 0)
		rc = file_remove(file, e);
	lock_release(&lock);
	return rc;
}

int account_move_cursor(struct account *a, struct view cursor, struct err *e)
{
	char file[PATH_SIZE], lockpath[PATH_SIZE];
	struct account *now = NULL;
	struct lock *lock = NULL;
	int rc = -1;

	if (cursor.n > ACCOUNT_CURSOR_MAX)
		return err_set(e, E_FORMAT, "the server's cursor is over %zu bytes",
			ACCOUNT_CURSOR_MAX);
	if (paths(a->home, file, lockpath, e) < 0 ||
		lock_take(&lock, lockpath, MOVE_WAIT_MS, e) < 0)
		return -1;
	if (account_load(&now, a->home, e) < 0) {
		if (e && e->code == E_NOTFOUND)
			err_set(e, E_CONFLICT, "the account was logged out");
		goto out;
	}
	if (strcmp(now->generation, a->generation) != 0 ||
		!view_eq(str_view(&now->cursor), str_view(&a->cursor))) {
		err_set(e, E_CONFLICT, "the account was changed by another process");
		goto out;
	}
	str_reset(&now->cursor);
	if (str_add(&now->cursor, cursor) < 0) {
		err_set(e, E_NOMEM, "out of memory");
		goto out;
	}
	if ((rc = save(now, e)) == 0) {
		struct str moved =
			a->cursor; /* the new text moves over; the old is freed with `now` */

		a->cursor = now->cursor;
		now->cursor = moved;
	}
out:
	lock_release(&lock);
	account_free(&now);
	return rc;
}

int account_reload(struct account *a, bool *changed, struct err *e)
{
	struct account *now = NULL;
	int rc = -1;

	*changed = false;
	if (account_load(&now, a->home, e) < 0)
		return -1;
	if (strcmp(now->bot_id, a->bot_id) != 0 || strcmp(now->user_id, a->user_id) != 0) {
		err_set(e, E_CONFLICT, "another account was logged in");
	} else {
		struct account mine = *a;

		*changed = strcmp(now->token, a->token) != 0 ||
		           strcmp(now->base_url, a->base_url) != 0;
		*a = *now;
		*now = mine;
		rc = 0;
	}
	account_free(&now);
	return rc;
}
