/* Logins that other clients left (wire reference, 10.1) */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account/account-private.h"
#include "base/file.h"

enum { HOLD_MAX = 512 << 10, ENTRIES_MAX = 1000 };

/* Where the fields of one client's credential file are called what. */
struct shape {
	const char *source;
	const char *folder; /* below dir, holding <id>.json files; NULL: `file` itself */
	const char *file;
	const char *token, *bot_id, *user_id, *base_url;
	const char *cursor_suffix; /* a file <id><suffix> holds the cursor; NULL: none */
	const char *cursor_file;   /* or this file */
	const char *cursor;        /* member with the cursor, in that file or in the file itself */
};

static const struct shape shapes[] = {
	{ "the official client", "openclaw-weixin/accounts", NULL, "token", NULL, "userId",
		"baseUrl", ".sync.json", NULL, "get_updates_buf" },
	{ "the official client", NULL, "credentials/openclaw-weixin/credentials.json", "token",
		NULL, NULL, NULL, NULL,
		"agents/default/sessions/.openclaw-weixin-sync/default.json", "get_updates_buf" },
	{ "weclaw", "accounts", NULL, "bot_token", "ilink_bot_id", "ilink_user_id", "baseurl",
		".sync.json", NULL, "get_updates_buf" },
	{ "hermes", "weixin/accounts", NULL, "token", NULL, "user_id", "base_url", NULL, NULL,
		NULL },
	{ "wechat-acp", NULL, "token.json", "token", "accountId", "userId", "baseUrl", NULL,
		"sync-buf.json", "get_updates_buf" },
	{ "nanobot", NULL, "account.json", "token", "account_id", "user_id", "base_url", NULL, NULL,
		"get_updates_buf" },
};

/* "0123-im-bot" -> "0123@im.bot"; an id in raw form stays. */
static int bot_id_from_name(struct view name, struct str *out)
{
	struct view tail = VIEW("-im-bot");

	if (!view_ends(name, tail))
		return str_add(out, name);
	return str_add(out, view_cut(name, name.n - tail.n)) < 0 ? -1 : str_adds(out, "@im.bot");
}

static int read_json(const char *path, struct json **out, struct err *e)
{
	struct str text = STR_SECRET(ACCOUNT_FILE_MAX);
	int rc = file_read(path, ACCOUNT_FILE_MAX, &text, e);

	if (rc == 0)
		rc = json_read(out, str_view(&text), &json_limits_config, e);
	str_wipe(&text);
	return rc;
}

/* Append a NUL-terminated copy to hold and remember its offset; 0 means none. */
static int keep(struct account_import *imp, struct view v, size_t *offset, struct err *e)
{
	*offset = imp->hold.n;
	if (str_add(&imp->hold, v) < 0 || str_addc(&imp->hold, '\0') < 0)
		return err_set(e, E_NOMEM, "out of memory"); /* the fields' limits are far below */
	return 0;
}

static int member(const struct json *j, const char *name, size_t max, struct view *out,
	struct err *e)
{
	*out = VIEW_NONE;
	return name ? json_get_str(j, name, JSON_OPTIONAL, 0, max, out, e) : 0;
}

static int find_cursor(const struct shape *s, const struct json *own, const char *dir,
	struct view id, struct json **hold, struct view *cursor, struct err *e)
{
	char path[PATH_SIZE];
	struct err none = ERR_INIT;
	int n = 0;

	*cursor = VIEW_NONE;
	if (!s->cursor)
		return 0;
	if (s->cursor_suffix)
		n = snprintf(path, sizeof(path), "%s/%.*s%s", dir, VIEW_FMT(id), s->cursor_suffix);
	else if (s->cursor_file)
		n = snprintf(path, sizeof(path), "%s/%s", dir, s->cursor_file);
	else
		return member(own, s->cursor, ACCOUNT_CURSOR_MAX, cursor, e);
	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	if (read_json(path, hold, &none) < 0)
		/* Without a cursor polling starts afresh; nothing is lost by that. */
		return none.code == E_NOMEM ? err_set(e, E_NOMEM, "%s", none.msg) : 0;
	return member(*hold, s->cursor, ACCOUNT_CURSOR_MAX, cursor, e);
}

/* Which bot it is: by its field, by the file's name, else by the token, "<bot id>:<hex>". */
static int find_bot_id(struct view named, struct view id, struct view token, struct str *out,
	struct err *e)
{
	size_t colon = view_find(token, ':');

	if (!named.n)
		named = id.n ? id : view_cut(token, colon == token.n ? 0 : colon);
	if (!named.n)
		return err_set(e, E_FORMAT, "it does not name its bot");
	if (account_check_word("the bot id", named, ACCOUNT_ID_MAX, e) < 0)
		return -1;
	if (bot_id_from_name(named, out) < 0)
		return err_set(e, E_NOMEM, "out of memory");
	return account_check_word("the bot id", str_view(out), ACCOUNT_ID_MAX, e);
}

/* One credential file. 1: taken. 0: not of this shape. -1: of this shape, but unusable. */
static int take(struct account_import *imp, const struct shape *s, const char *dir, struct view id,
	const char *path, bool loopback, struct err *e)
{
	struct json *j = NULL, *sync = NULL;
	struct view token, user, url, bot, cursor;
	struct str bot_id = STR_INIT(ACCOUNT_ID_MAX);
	size_t at[5];
	struct err none = ERR_INIT;
	int rc = 0;

	if (read_json(path, &j, &none) < 0) {
		rc = none.code == E_NOMEM ? err_set(e, E_NOMEM, "%s", none.msg) : 0;
		goto out;
	}
	if (json_type(j) != JSON_OBJECT ||
		member(j, s->token, ACCOUNT_TOKEN_MAX, &token, &none) < 0 || !token.n)
		goto out;
	rc = -1;
	if (member(j, s->user_id, ACCOUNT_ID_MAX, &user, e) < 0 ||
		member(j, s->base_url, ACCOUNT_URL_MAX, &url, e) < 0 ||
		member(j, s->bot_id, ACCOUNT_ID_MAX, &bot, e) < 0 ||
		find_cursor(s, j, dir, id, &sync, &cursor, e) < 0)
		goto out;
	if (url.n && account_check_url(url, loopback, e) < 0)
		goto out;
	if (find_bot_id(bot, id, token, &bot_id, e) < 0 ||
		account_check_word("the token", token, ACCOUNT_TOKEN_MAX, e) < 0)
		goto out;
	str_reset(&imp->hold);
	if (keep(imp, str_view(&bot_id), &at[0], e) < 0 || keep(imp, user, &at[1], e) < 0 ||
		keep(imp, token, &at[2], e) < 0 || keep(imp, url, &at[3], e) < 0 ||
		keep(imp, cursor, &at[4], e) < 0)
		goto out;
	const char *p = imp->hold.p;
	imp->login = (struct account_login){ .bot_id = p + at[0],
		.user_id = p + at[1],
		.token = p + at[2],
		.base_url = p + at[3],
		.cursor = p + at[4] };
	imp->source = s->source;
	rc = 1;
out:
	if (rc < 0)
		err_wrap(e, "%s", path);
	json_free(&j);
	json_free(&sync);
	str_release(&bot_id);
	return rc;
}

static bool is_credential_name(struct view name)
{
	return view_ends(name, VIEW(".json")) && !view_ends(name, VIEW(".sync.json")) &&
	       !view_ends(name, VIEW(".context-tokens.json"));
}

/* The official client's index names its newest account last. */
static int newest_in_index(const char *dir, char out[ACCOUNT_ID_MAX + 1])
{
	char path[PATH_SIZE];
	struct json *j = NULL;
	struct err none = ERR_INIT;
	struct view v = VIEW_NONE;
	int rc = -1;

	size_t n = strlen(dir);
	while (n && dir[n - 1] != '/')
		n--;
	if (n + sizeof("accounts.json") > sizeof(path))
		return -1;
	memcpy(path, dir, n);
	memcpy(path + n, "accounts.json", sizeof("accounts.json"));
	if (read_json(path, &j, &none) == 0 && json_type(j) == JSON_ARRAY) {
		json_each(it, j)
			if (json_str(it, &v) < 0)
				v = VIEW_NONE;
		if (v.n && view_find(v, '/') == v.n)
			rc = copy_z(out, ACCOUNT_ID_MAX + 1, v);
	}
	json_free(&j);
	return rc;
}

static int take_named(struct account_import *imp, const struct shape *s, const char *dir,
	struct view id, bool loopback, struct err *e)
{
	char path[PATH_SIZE];
	int n = snprintf(path, sizeof(path), "%s/%.*s.json", dir, VIEW_FMT(id));

	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	return take(imp, s, dir, id, path, loopback, e);
}

struct candidate {
	struct timespec when;
	char name[NAME_MAX + 1];
};

static int newest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->when.tv_sec != y->when.tv_sec)
		return x->when.tv_sec < y->when.tv_sec ? 1 : -1;
	if (x->when.tv_nsec != y->when.tv_nsec)
		return x->when.tv_nsec < y->when.tv_nsec ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The credential files of a folder, the one that was written last at first. */
static size_t list_folder(DIR *d, struct candidate *list, size_t max)
{
	const struct dirent *de;
	size_t n = 0;

	while (n < max && (de = readdir(d))) {
		struct stat st;

		if (!is_credential_name(view_of(de->d_name)) ||
			fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			copy_z(list[n].name, sizeof(list[n].name), view_of(de->d_name)) < 0)
			continue;
		list[n++].when = st.st_mtim;
	}
	qsort(list, n, sizeof(*list), newest_first);
	return n;
}

static int take_newest(struct account_import *imp, const struct shape *s, const char *dir, DIR *d,
	bool loopback, struct err *e)
{
	struct candidate *list = calloc(ENTRIES_MAX, sizeof(*list));
	size_t n = list ? list_folder(d, list, ENTRIES_MAX) : 0;
	int rc = list ? 0 : err_set(e, E_NOMEM, "out of memory");

	for (size_t i = 0; i < n && rc == 0; i++) {
		struct view name = view_of(list[i].name);

		rc = take_named(imp, s, dir, view_cut(name, name.n - 5), loopback, e);
	}
	free(list);
	return rc;
}

static int scan_folder(struct account_import *imp, const struct shape *s, const char *dir,
	bool loopback, struct err *e)
{
	char newest[ACCOUNT_ID_MAX + 1];
	struct err none = ERR_INIT;
	int rc = 0, fd = file_open_dir(dir, &none);
	DIR *d;

	if (fd < 0)
		return 0;
	if (!(d = fdopendir(fd))) {
		close(fd);
		return err_sys(e, "%s", dir);
	}
	if (newest_in_index(dir, newest) == 0)
		rc = take_named(imp, s, dir, view_of(newest), loopback, e);
	if (rc == 0)
		rc = take_newest(imp, s, dir, d, loopback, e);
	closedir(d);
	return rc;
}

int account_import_find(struct account_import *out, const char *dir, bool loopback, struct err *e)
{
	char real[PATH_SIZE], path[PATH_SIZE];
	int rc = 0;

	memset(out, 0, sizeof(*out));
	out->hold = STR_SECRET(HOLD_MAX);
	if (!realpath(dir, real))
		return err_sys(e, "%s", dir);
	for (size_t i = 0; rc == 0 && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *s = &shapes[i];

		if (path_join(path, real, s->folder ? s->folder : s->file, e) < 0)
			return -1;
		rc = s->folder ? scan_folder(out, s, path, loopback, e)
		               : take(out, s, real, VIEW_NONE, path, loopback, e);
	}
	if (rc == 1)
		return 0;
	account_import_release(out);
	return rc < 0 ? -1
	              : err_set(e, E_NOTFOUND,
				"no login of a known client lies under %s (its state folder is wanted)",
				real);
}

void account_import_release(struct account_import *i)
{
	str_wipe(&i->hold);
	memset(&i->login, 0, sizeof(i->login));
	i->source = NULL;
}
