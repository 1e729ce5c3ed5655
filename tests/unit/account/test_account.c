/* account/: the file, the compare-and-swap of the cursor, hosts, imports. */
#include "account/account.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "scratch.h"

#define BOT   "0123456789ab@im.bot"
#define USER  "o9cqExampleUser@im.wechat"
#define TOKEN "0123456789ab@im.bot:06000000aa11"

struct fixture {
	struct scratch s;
	struct err e;
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	scratch_make(&f.s);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(&f->s);
	return 0;
}

static void log_in(struct fixture *f, const char *bot, const char *token)
{
	const struct account_login l = { .bot_id = bot,
		.user_id = USER,
		.token = token,
		.base_url = ACCOUNT_LOGIN_URL,
		.workspace = "/w" };

	if (account_store_login(f->s.dir, &l, clock_system(), &f->e) < 0)
		fail_msg("%s", f->e.msg);
}

static struct account *load(struct fixture *f)
{
	struct account *a = NULL;

	if (account_load(&a, f->s.dir, &f->e) < 0)
		fail_msg("%s", f->e.msg);
	return a;
}

static void put(struct fixture *f, const char *name, const char *text)
{
	char path[PATH_SIZE];

	assert_int_equal(path_join(path, f->s.dir, name, &f->e), 0);
	char *slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(file_mkdirs(path, 0700, &f->e), 0);
	*slash = '/';
	if (file_replace(path, 0600, view_of(text), &f->e) < 0)
		fail_msg("%s", f->e.msg);
}

/* What one member of account.json says. */
static void stored(struct fixture *f, const char *name, char *out, size_t size)
{
	struct str text = STR_INIT(ACCOUNT_FILE_MAX);
	struct json *j = NULL;
	struct view v;

	assert_int_equal(file_read(scratch_path(&f->s, "account.json"), ACCOUNT_FILE_MAX, &text,
				 &f->e),
		0);
	assert_int_equal(json_read(&j, str_view(&text), &json_limits_config, &f->e), 0);
	assert_int_equal(json_get_str(j, name, JSON_REQUIRED, 0, size - 1, &v, &f->e), 1);
	assert_int_equal(copy_z(out, size, v), 0);
	json_free(&j);
	str_release(&text);
}

/* --- The file --------------------------------------------------------------------------------- */

static void nobody_is_logged_in_at_first(void **state)
{
	struct fixture *f = *state;
	struct account *a = NULL;

	assert_int_equal(account_load(&a, f->s.dir, &f->e), -1);
	assert_int_equal(f->e.code, E_NOTFOUND);
	assert_null(a);
}

static void a_login_is_read_back_whole_and_kept_private(void **state)
{
	struct fixture *f = *state;
	char workspace[64], generation[64];
	struct stat st;

	log_in(f, BOT, TOKEN);
	struct account *a = load(f);
	assert_string_equal(account_bot_id(a), BOT);
	assert_string_equal(account_user_id(a), USER);
	assert_string_equal(account_token(a), TOKEN);
	assert_string_equal(account_base_url(a), ACCOUNT_LOGIN_URL);
	assert_string_equal(account_cursor(a), "");
	stored(f, "workspace", workspace, sizeof(workspace));
	assert_string_equal(workspace, "/w");
	stored(f, "generation", generation, sizeof(generation));
	assert_int_equal(strlen(generation), 32);
	assert_int_equal(stat(scratch_path(&f->s, "account.json"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	account_free(&a);
	assert_null(a);
}

static void the_cursor_moves_on_disk(void **state)
{
	struct fixture *f = *state;
	char before[64], after[64];

	log_in(f, BOT, TOKEN);
	stored(f, "generation", before, sizeof(before));
	struct account *a = load(f);
	assert_int_equal(account_move_cursor(a, VIEW("Q2dBQkFBPT0="), &f->e), 0);
	assert_string_equal(account_cursor(a), "Q2dBQkFBPT0=");
	assert_int_equal(account_move_cursor(a, VIEW("second"), &f->e), 0);
	struct account *b = load(f);
	assert_string_equal(account_cursor(b), "second");
	stored(f, "generation", after, sizeof(after));
	assert_string_equal(after, before);
	account_free(&a);
	account_free(&b);
}

static void a_stale_cursor_is_not_written(void **state)
{
	struct fixture *f = *state;

	log_in(f, BOT, TOKEN);
	struct account *a = load(f), *b = load(f);
	assert_int_equal(account_move_cursor(a, VIEW("a"), &f->e), 0);
	assert_int_equal(account_move_cursor(b, VIEW("b"), &f->e), -1);
	assert_int_equal(f->e.code, E_CONFLICT);
	account_free(&b);
	b = load(f);
	assert_string_equal(account_cursor(b), "a");
	account_free(&a);
	account_free(&b);
}

static void a_lock_that_another_process_keeps_is_told(void **state)
{
	struct fixture *f = *state;
	struct lock *lock = NULL;

	log_in(f, BOT, TOKEN);
	struct account *a = load(f);
	assert_int_equal(lock_take(&lock, scratch_path(&f->s, "account.lock"), 0, &f->e), 0);
	assert_int_equal(account_move_cursor(a, VIEW("next"), &f->e), -1);
	assert_int_equal(f->e.code, E_BUSY);
	assert_string_equal(account_cursor(a), "");
	lock_release(&lock);
	assert_int_equal(account_move_cursor(a, VIEW("next"), &f->e), 0);
	account_free(&a);
}

static void a_replaced_account_is_not_overwritten(void **state)
{
	struct fixture *f = *state;

	log_in(f, BOT, TOKEN);
	struct account *a = load(f);
	log_in(f, "ffff@im.bot", "other-token");
	assert_int_equal(account_move_cursor(a, VIEW("a"), &f->e), -1);
	assert_int_equal(f->e.code, E_CONFLICT);
	struct account *b = load(f);
	assert_string_equal(account_bot_id(b), "ffff@im.bot");
	assert_string_equal(account_cursor(b), "");
	account_free(&a);
	account_free(&b);
}

static void a_logged_out_account_is_not_brought_back(void **state)
{
	struct fixture *f = *state;

	log_in(f, BOT, TOKEN);
	struct account *a = load(f);
	assert_int_equal(account_logout(f->s.dir, &f->e), 0);
	assert_int_equal(account_logout(f->s.dir, &f->e), 0);
	assert_int_equal(account_move_cursor(a, VIEW("a"), &f->e), -1);
	assert_int_equal(f->e.code, E_CONFLICT);
	assert_false(file_exists(scratch_path(&f->s, "account.json")));
	account_free(&a);
}

static void a_new_login_starts_with_an_empty_cursor_and_remembers_old_tokens(void **state)
{
	struct fixture *f = *state;
	const char *known[10];
	char token[32];

	for (int i = 0; i < 12; i++) {
		snprintf(token, sizeof(token), "token-%02d", i);
		log_in(f, BOT, token);
		struct account *a = load(f);
		assert_string_equal(account_cursor(a), "");
		assert_int_equal(account_move_cursor(a, VIEW("x"), &f->e), 0);
		account_free(&a);
	}
	struct account *a = load(f);
	assert_int_equal(account_known_tokens(a, known), 10);
	assert_string_equal(known[0], "token-11");
	assert_string_equal(known[9], "token-02");
	account_free(&a);
}

static void the_cursor_is_bounded(void **state)
{
	struct fixture *f = *state;
	char *big = malloc(ACCOUNT_CURSOR_MAX + 1);

	assert_non_null(big);
	memset(big, 'A', ACCOUNT_CURSOR_MAX + 1);
	log_in(f, BOT, TOKEN);
	struct account *a = load(f);
	for (size_t n = ACCOUNT_CURSOR_MAX - 1; n <= ACCOUNT_CURSOR_MAX + 1; n++)
		assert_int_equal(account_move_cursor(a, (struct view){ big, n }, &f->e),
			n > ACCOUNT_CURSOR_MAX ? -1 : 0);
	assert_int_equal(strlen(account_cursor(a)), ACCOUNT_CURSOR_MAX);
	account_free(&a);
	a = load(f);
	assert_int_equal(strlen(account_cursor(a)), ACCOUNT_CURSOR_MAX);
	account_free(&a);
	free(big);
}

static void a_changed_token_of_the_same_bot_is_adopted(void **state)
{
	struct fixture *f = *state;
	bool changed = true;

	log_in(f, BOT, TOKEN);
	struct account *a = load(f);
	assert_int_equal(account_reload(a, &changed, &f->e), 0);
	assert_false(changed);
	log_in(f, BOT, "fresh-token");
	assert_int_equal(account_reload(a, &changed, &f->e), 0);
	assert_true(changed);
	assert_string_equal(account_token(a), "fresh-token");
	assert_int_equal(account_move_cursor(a, VIEW("a"), &f->e), 0);
	log_in(f, "ffff@im.bot", "x");
	assert_int_equal(account_reload(a, &changed, &f->e), -1);
	assert_int_equal(f->e.code, E_CONFLICT);
	assert_string_equal(account_token(a), "fresh-token");
	assert_int_equal(account_logout(f->s.dir, &f->e), 0);
	assert_int_equal(account_reload(a, &changed, &f->e), -1);
	assert_int_equal(f->e.code, E_NOTFOUND);
	account_free(&a);
}

static void damaged_files_are_refused_and_name_the_way_out(void **state)
{
	struct fixture *f = *state;
	static const char ok[] =
		"{\"schema\":1,\"generation\":\"00112233445566778899aabbccddeeff\","
		"\"bot_id\":\"b\",\"token\":\"t\",\"login_at\":1,"
		"\"base_url\":\"https://ilinkai.weixin.qq.com\"}";
	static const char *const bad[] = {
		"",
		"[]",
		"{\"schema\":1}",
		"{\"schema\":1,\"generation\":\"0011\",\"bot_id\":\"b\",\"token\":\"t\",\"login_at\":1,"
		"\"base_url\":\"https://ilinkai.weixin.qq.com\"}",
		"{\"schema\":1,\"generation\":\"00112233445566778899aabbccddeeff\",\"bot_id\":\"b\","
		"\"token\":\"t\",\"token\":\"u\",\"login_at\":1,\"base_url\":\"https://x.wechat.com\"}",
		"{\"schema\":1,\"generation\":\"00112233445566778899aabbccddeeff\",\"bot_id\":\"b c\","
		"\"token\":\"t\",\"login_at\":1,\"base_url\":\"https://ilinkai.weixin.qq.com\"}",
		"{\"schema\":1,\"generation\":\"00112233445566778899aabbccddeeff\",\"bot_id\":\"b\","
		"\"token\":\"t\",\"login_at\":1,\"base_url\":\"https://evil.example\"}",
		"{\"schema\":1,\"generation\":\"00112233445566778899aabbccddeeff\",\"bot_id\":\"b\","
		"\"token\":\"t\",\"login_at\":1,\"base_url\":\"https://u:p@ilinkai.weixin.qq.com\"}",
		"{\"schema\":1,\"generation\":\"00112233445566778899aabbccddeeff\",\"bot_id\":\"b\","
		"\"token\":\"t\",\"login_at\":\"1\",\"base_url\":\"https://ilinkai.weixin.qq.com\"}",
		"{\"schema\":1,\"generation\":\"00112233445566778899aabbccddeeff\",\"bot_id\":\"b\","
		"\"token\":\"t\",\"login_at\":1,\"base_url\":\"https://ilinkai.weixin.qq.com\","
		"\"workspace\":\"relative\"}",
	};
	struct account *a = NULL;

	put(f, "account.json", ok);
	a = load(f);
	account_free(&a);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(f, "account.json", bad[i]);
		if (account_load(&a, f->s.dir, &f->e) == 0)
			fail_msg("accepted %s", bad[i]);
		assert_int_equal(f->e.code == E_FORMAT || f->e.code == E_DENIED, 1);
		assert_non_null(strstr(f->e.msg, "kairo login"));
	}
	put(f, "account.json", "{\"schema\":2}");
	assert_int_equal(account_load(&a, f->s.dir, &f->e), -1);
	assert_int_equal(f->e.code, E_UNSUPPORTED);
	/* A login replaces what cannot be read. */
	log_in(f, BOT, TOKEN);
	a = load(f);
	account_free(&a);
}

static void a_file_is_read_up_to_the_limit(void **state)
{
	struct fixture *f = *state;
	struct account *a = NULL;
	struct str text = STR_INIT(ACCOUNT_FILE_MAX + 2);

	log_in(f, BOT, TOKEN);
	assert_int_equal(file_read(scratch_path(&f->s, "account.json"), ACCOUNT_FILE_MAX, &text,
				 &f->e),
		0);
	while (text.n < 131071)
		str_addc(&text, ' ');
	for (int over = -1; over <= 1; over++, str_addc(&text, ' ')) {
		put(f, "account.json", str_cstr(&text));
		assert_int_equal(account_load(&a, f->s.dir, &f->e), over > 0 ? -1 : 0);
		account_free(&a);
	}
	str_release(&text);
}

static void files_over_the_limit_links_and_open_modes_are_refused(void **state)
{
	struct fixture *f = *state;
	struct account *a = NULL;
	char *big = malloc(ACCOUNT_FILE_MAX + 2);

	assert_non_null(big);
	memset(big, ' ', ACCOUNT_FILE_MAX + 1);
	big[ACCOUNT_FILE_MAX + 1] = '\0';
	put(f, "account.json", big);
	assert_int_equal(account_load(&a, f->s.dir, &f->e), -1);
	assert_int_equal(f->e.code, E_FORMAT);
	free(big);

	log_in(f, BOT, TOKEN);
	assert_int_equal(chmod(scratch_path(&f->s, "account.json"), 0644), 0);
	assert_int_equal(account_load(&a, f->s.dir, &f->e), -1);
	assert_int_equal(f->e.code, E_DENIED);
	assert_int_equal(chmod(scratch_path(&f->s, "account.json"), 0600), 0);

	assert_int_equal(rename(scratch_path(&f->s, "account.json"), scratch_path(&f->s, "real")),
		0);
	assert_int_equal(symlink("real", scratch_path(&f->s, "account.json")), 0);
	assert_int_equal(account_load(&a, f->s.dir, &f->e), -1);
	assert_int_equal(f->e.code, E_DENIED);
}

static void logins_with_unusable_fields_are_refused(void **state)
{
	struct fixture *f = *state;
	char long_id[ACCOUNT_ID_MAX + 2];
	struct account_login l = { .bot_id = BOT,
		.user_id = USER,
		.token = TOKEN,
		.workspace = "/w" };

	memset(long_id, 'a', sizeof(long_id) - 1);
	long_id[sizeof(long_id) - 1] = '\0';
	l.bot_id = long_id;
	assert_int_equal(account_store_login(f->s.dir, &l, clock_system(), &f->e), -1);
	l.bot_id = long_id + 1;
	assert_int_equal(account_store_login(f->s.dir, &l, clock_system(), &f->e), 0);
	l.bot_id = "";
	assert_int_equal(account_store_login(f->s.dir, &l, clock_system(), &f->e), -1);
	l.bot_id = BOT;
	l.token = "a\nb";
	assert_int_equal(account_store_login(f->s.dir, &l, clock_system(), &f->e), -1);
	l.token = TOKEN;
	l.base_url = "https://example.com";
	assert_int_equal(account_store_login(f->s.dir, &l, clock_system(), &f->e), -1);
	l.base_url = "";
	l.workspace = "relative";
	assert_int_equal(account_store_login(f->s.dir, &l, clock_system(), &f->e), -1);
	l.workspace = "/w";
	assert_int_equal(account_store_login(f->s.dir, &l, clock_system(), &f->e), 0);
	struct account *a = load(f);
	assert_string_equal(account_base_url(a), ACCOUNT_LOGIN_URL);
	account_free(&a);
}

/* --- Hosts ------------------------------------------------------------------------------------ */

static void only_wechats_hosts_get_the_token(void **state)
{
	static const struct {
		const char *url;
		int plain, loopback; /* expected without and with the loopback setting */
	} rows[] = {
		{ "https://ilinkai.weixin.qq.com", 0, 0 },
		{ "https://ilinkai.wechat.com/x?y", 0, 0 },
		{ "https://weixin.qq.com", 0, 0 },
		{ "https://ILINKAI.WeiXin.QQ.com", 0, 0 },
		{ "https://novac2c.cdn.weixin.qq.com:443/c2c", 0, 0 },
		{ "https://ilinkai.weixin.qq.com:8443", -1, -1 },
		{ "http://ilinkai.weixin.qq.com", -1, -1 },
		{ "https://evilweixin.qq.com", -1, -1 },
		{ "https://weixin.qq.com.evil.example", -1, -1 },
		{ "https://evil.example/weixin.qq.com", -1, -1 },
		{ "https://evil.example?weixin.qq.com", -1, -1 },
		{ "https://evil.example#.weixin.qq.com", -1, -1 },
		{ "https://evil.example\\.weixin.qq.com", -1, -1 },
		{ "https://user@ilinkai.weixin.qq.com", -1, -1 },
		{ "https://ilinkai.weixin.qq.com@evil.example", -1, -1 },
		{ "https://ilinkai.weixin.qq.com ", -1, -1 },
		{ "https://", -1, -1 },
		{ "ftp://ilinkai.weixin.qq.com", -1, -1 },
		{ "http://127.0.0.1:8080/x", -1, 0 },
		{ "https://localhost:1", -1, 0 },
		{ "http://[::1]:9/", -1, 0 },
		{ "http://127.0.0.1:0", -1, -1 },
		{ "http://127.0.0.1.evil.example", -1, -1 },
		{ "http://[::1", -1, -1 },
		{ "http://10.0.0.1", -1, -1 },
		{ "http://127.0.0.256", -1, -1 },
		{ "http://127...", -1, -1 },
		{ "http://127.1", -1, -1 },
		{ "http://[::1]:0", -1, -1 },
		{ "http://[::1]:x", -1, -1 },
		{ "http://[::1]x", -1, -1 },
		{ "http://[127.0.0.1]", -1, -1 },
		{ "https://[ilinkai.weixin.qq.com]", -1, -1 },
		{ "https://[a:b.weixin.qq.com]", -1, -1 },
		{ "https://ilinkai.weixin.qq.com.", -1, -1 },
		{ "https://.weixin.qq.com", -1, -1 },
		{ "https://a..weixin.qq.com", -1, -1 },
		{ "https://ilinkai.weixin.qq.com:", -1, -1 },
		{ "https://ilinkai.weixin.qq.com:443:443", -1, -1 },
		{ "https://x%2eweixin.qq.com", -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		if (account_check_url(view_of(rows[i].url), false, &e) != rows[i].plain ||
			account_check_url(view_of(rows[i].url), true, &e) != rows[i].loopback)
			fail_msg("%s", rows[i].url);
	}
}

static void bare_hosts_follow_the_same_rule(void **state)
{
	struct err e = ERR_INIT;
	static const char *const bad[] = { "", "a/b.weixin.qq.com", "x?.weixin.qq.com",
		"x#.weixin.qq.com", "u@x.weixin.qq.com", "x.weixin.qq.com:99", "qq.com",
		"127.0.0.1", "[x]", "[", "::1", "weixin.qq.com:", ".weixin.qq.com" };

	(void)state;
	assert_int_equal(account_check_host(VIEW("sz.ilinkai.weixin.qq.com"), false, &e), 0);
	assert_int_equal(account_check_host(VIEW("127.0.0.1:4711"), true, &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (account_check_host(view_of(bad[i]), false, &e) == 0)
			fail_msg("%s", bad[i]);
}

/* --- Import ----------------------------------------------------------------------------------- */

static void imports_each_known_client(void **state)
{
	static const struct {
		const char *source, *file, *text, *sync, *sync_text;
		const char *bot, *user, *cursor;
	} rows[] = {
		{ "the official client", "o/openclaw-weixin/accounts/0123456789ab-im-bot.json",
			"{\"token\":\"" TOKEN "\",\"savedAt\":\"2026-01-01T00:00:00Z\","
			"\"baseUrl\":\"https://ilinkai.weixin.qq.com\",\"userId\":\"" USER "\"}",
			"o/openclaw-weixin/accounts/0123456789ab-im-bot.sync.json",
			"{\"get_updates_buf\":\"CUR\"}", BOT, USER, "CUR" },
		{ "the official client", "l/credentials/openclaw-weixin/credentials.json",
			"{\"token\":\"" TOKEN "\"}",
			"l/agents/default/sessions/.openclaw-weixin-sync/default.json",
			"{\"get_updates_buf\":\"C0\"}", BOT, "", "C0" },
		{ "weclaw", "w/accounts/x.json",
			"{\"bot_token\":\"" TOKEN "\",\"ilink_bot_id\":\"" BOT
			"\",\"baseurl\":\"\","
			"\"ilink_user_id\":\"" USER "\"}",
			"w/accounts/x.sync.json", "{\"get_updates_buf\":\"C2\"}", BOT, USER, "C2" },
		{ "wechat-acp", "a/token.json",
			"{\"token\":\"" TOKEN "\",\"baseUrl\":\"https://ilinkai.weixin.qq.com\","
			"\"accountId\":\"" BOT "\",\"userId\":\"" USER "\",\"savedAt\":\"x\"}",
			"a/sync-buf.json", "{\"get_updates_buf\":\"C3\"}", BOT, USER, "C3" },
		{ "hermes", "h/weixin/accounts/0123456789ab@im.bot.json",
			"{\"token\":\"" TOKEN "\",\"base_url\":\"https://ilinkai.weixin.qq.com\","
			"\"user_id\":\"" USER "\",\"saved_at\":1}",
			NULL, NULL, BOT, USER, "" },
		{ "nanobot", "n/account.json",
			"{\"token\":\"" TOKEN "\",\"get_updates_buf\":\"C4\",\"context_tokens\":{},"
			"\"base_url\":\"https://ilinkai.weixin.qq.com\"}",
			NULL, NULL, BOT, "", "C4" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct account_import imp;
		char dir[2] = { rows[i].file[0], '\0' };

		put(f, rows[i].file, rows[i].text);
		if (rows[i].sync)
			put(f, rows[i].sync, rows[i].sync_text);
		if (account_import_find(&imp, scratch_path(&f->s, dir), false, &f->e) < 0)
			fail_msg("%s: %s", rows[i].source, f->e.msg);
		assert_string_equal(imp.source, rows[i].source);
		assert_string_equal(imp.login.bot_id, rows[i].bot);
		assert_string_equal(imp.login.user_id, rows[i].user);
		assert_string_equal(imp.login.token, TOKEN);
		assert_string_equal(imp.login.cursor, rows[i].cursor);
		imp.login.workspace = "/w";
		assert_int_equal(account_store_login(f->s.dir, &imp.login, clock_system(), &f->e),
			0);
		account_import_release(&imp);
	}
}

static void imports_the_newest_of_several_official_accounts(void **state)
{
	struct fixture *f = *state;
	struct account_import imp;

	put(f, "o/openclaw-weixin/accounts.json", "[\"aa-im-bot\",\"bb-im-bot\"]");
	put(f, "o/openclaw-weixin/accounts/aa-im-bot.json", "{\"token\":\"ta\"}");
	put(f, "o/openclaw-weixin/accounts/bb-im-bot.json", "{\"token\":\"tb\"}");
	assert_int_equal(account_import_find(&imp, scratch_path(&f->s, "o"), false, &f->e), 0);
	assert_string_equal(imp.login.bot_id, "bb@im.bot");
	assert_string_equal(imp.login.token, "tb");
	account_import_release(&imp);
}

static void set_mtime(struct fixture *f, const char *name, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

	assert_int_equal(utimensat(AT_FDCWD, scratch_path(&f->s, name), times, 0), 0);
}

static void imports_the_account_that_was_written_last(void **state)
{
	struct fixture *f = *state;
	struct account_import imp;

	put(f, "w/accounts/a.json", "{\"bot_token\":\"ta\",\"ilink_bot_id\":\"a\"}");
	put(f, "w/accounts/b.json", "{\"bot_token\":\"tb\",\"ilink_bot_id\":\"b\"}");
	put(f, "w/accounts/c.json", "{\"bot_token\":\"tc\",\"ilink_bot_id\":\"c\"}");
	put(f, "w/accounts/d.json", "{}");
	set_mtime(f, "w/accounts/a.json", 1000);
	set_mtime(f, "w/accounts/b.json", 3000);
	set_mtime(f, "w/accounts/c.json", 2000);
	set_mtime(f, "w/accounts/d.json", 4000);
	assert_int_equal(account_import_find(&imp, scratch_path(&f->s, "w"), false, &f->e), 0);
	assert_string_equal(imp.login.bot_id, "b");
	account_import_release(&imp);
}

/* The token must not become the bot's name, which is shown everywhere. */
static void a_token_that_names_no_bot_is_refused(void **state)
{
	struct fixture *f = *state;
	struct account_import imp;

	put(f, "n/account.json", "{\"token\":\"secret-and-nothing-else\"}");
	assert_int_equal(account_import_find(&imp, scratch_path(&f->s, "n"), false, &f->e), -1);
	assert_int_equal(f->e.code, E_FORMAT);
	assert_non_null(strstr(f->e.msg, "n/account.json"));
	assert_null(strstr(f->e.msg, "secret"));
}

static void nothing_to_import_is_said_plainly(void **state)
{
	struct fixture *f = *state;
	struct account_import imp;

	assert_int_equal(account_import_find(&imp, f->s.dir, false, &f->e), -1);
	assert_int_equal(f->e.code, E_NOTFOUND);
	assert_int_equal(account_import_find(&imp, scratch_path(&f->s, "absent"), false, &f->e),
		-1);
	assert_int_equal(f->e.code, E_NOTFOUND);
}

static void an_import_with_a_foreign_host_is_refused(void **state)
{
	struct fixture *f = *state;
	struct account_import imp;

	put(f, "a/token.json",
		"{\"token\":\"t\",\"accountId\":\"b\",\"baseUrl\":\"https://evil.example\"}");
	assert_int_equal(account_import_find(&imp, scratch_path(&f->s, "a"), false, &f->e), -1);
	assert_int_equal(f->e.code, E_DENIED);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nobody_is_logged_in_at_first),
		T(a_login_is_read_back_whole_and_kept_private),
		T(the_cursor_moves_on_disk),
		T(a_stale_cursor_is_not_written),
		T(a_lock_that_another_process_keeps_is_told),
		T(a_replaced_account_is_not_overwritten),
		T(a_logged_out_account_is_not_brought_back),
		T(a_new_login_starts_with_an_empty_cursor_and_remembers_old_tokens),
		T(the_cursor_is_bounded),
		T(a_changed_token_of_the_same_bot_is_adopted),
		T(damaged_files_are_refused_and_name_the_way_out),
		T(a_file_is_read_up_to_the_limit),
		T(files_over_the_limit_links_and_open_modes_are_refused),
		T(logins_with_unusable_fields_are_refused),
		T(only_wechats_hosts_get_the_token),
		T(bare_hosts_follow_the_same_rule),
		T(imports_each_known_client),
		T(imports_the_newest_of_several_official_accounts),
		T(imports_the_account_that_was_written_last),
		T(a_token_that_names_no_bot_is_refused),
		T(nothing_to_import_is_said_plainly),
		T(an_import_with_a_foreign_host_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
