/* cli/config: defaults, types and bounds, messages with a place, changes that keep the file's
 * shape. */
#include "cli/config.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli/policy.h"
#include "scratch.h"

struct fixture {
	struct scratch s;
	struct err e;
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	scratch_make(&f.s);
	unsetenv("KAIRO_MODEL_BASE_URL");
	unsetenv("KAIRO_MODEL_NAME");
	unsetenv("KAIRO_MODEL_API_KEY");
	setenv("HOME", f.s.dir, 1);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(&f->s);
	return 0;
}

static void put(struct fixture *f, const char *text)
{
	assert_int_equal(file_replace(scratch_path(&f->s, CONFIG_FILE), 0600, view_of(text), &f->e),
		0);
}

static struct config *load(struct fixture *f)
{
	struct config *c = NULL;

	if (config_load(&c, f->s.dir, &f->e) < 0)
		fail_msg("%s", f->e.msg);
	return c;
}

static void a_missing_file_gives_the_defaults(void **state)
{
	struct fixture *f = *state;
	struct config *c = load(f);
	char want[PATH_SIZE];

	assert_int_equal(path_join(want, f->s.dir, "kairo", &f->e), 0);
	assert_string_equal(c->workspace, want);
	assert_string_equal(c->engine, "react");
	assert_string_equal(c->language, "auto");
	assert_int_equal(c->text_limit, 1800);
	assert_int_equal(c->queue_limit, 100);
	assert_false(c->network.allow_loopback);
	assert_string_equal(c->sandbox.mode, "best");
	assert_string_equal(c->policy.shell, "deny");
	assert_string_equal(c->policy.write, "allow");
	assert_string_equal(c->policy.web, "allow");
	assert_int_equal(c->policy.ask_minutes, 10);
	assert_null(c->policy.shell_allow[0]);
	assert_null(c->policy.tools[0]);
	assert_null(c->allowed_users[0]);
	config_free(&c);
	assert_null(c);
}

static void every_key_round_trips_through_get_and_set(void **state)
{
	struct fixture *f = *state;
	const struct config_key *k;

	for (size_t i = 0; (k = config_at(i)); i++) {
		struct config *c = load(f);
		struct str v = STR_INIT(1000);
		const char *source;

		assert_int_equal(config_source(f->s.dir, k->name, &source, &f->e), 0);
		assert_string_equal(source, "default");
		assert_int_equal(config_get(c, k->name, &v, &f->e), 0);
		if (config_set(f->s.dir, k->name, str_cstr(&v), &f->e) < 0)
			fail_msg("%s: %s", k->name, f->e.msg);
		assert_int_equal(config_source(f->s.dir, k->name, &source, &f->e), 0);
		assert_string_equal(source, CONFIG_FILE);
		config_free(&c);
		c = load(f);
		struct str again = STR_INIT(1000);
		assert_int_equal(config_get(c, k->name, &again, &f->e), 0);
		assert_string_equal(str_cstr(&again), str_cstr(&v));
		config_free(&c);
		str_release(&v);
		str_release(&again);
	}
}

static void numbers_are_bounded(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} rows[] = {
		{ "text_limit = 0\n", -1 },
		{ "text_limit = 1\n", 0 },
		{ "text_limit = 3800\n", 0 },
		{ "text_limit = 3801\n", -1 },
		{ "queue_limit = 0\n", -1 },
		{ "queue_limit = 1\n", 0 },
		{ "queue_limit = 1000\n", 0 },
		{ "queue_limit = 1001\n", -1 },
		{ "queue_limit = \"5\"\n", -1 },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *c = NULL;

		put(f, rows[i].text);
		if (config_load(&c, f->s.dir, &f->e) != rows[i].rc)
			fail_msg("%s", rows[i].text);
		config_free(&c);
	}
}

static void errors_name_file_line_column_and_what_was_expected(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "# x\nlanguage = \"fr\"\n",
			"config.toml:2:12: language: expected \"auto\" or \"zh\" or \"en\"" },
		{ "lanugage = \"zh\"\n",
			"config.toml:1:1: no setting \"lanugage\", did you mean language?" },
		{ "base_url = \"http://x\"\n",
			"config.toml:1:1: no setting \"base_url\", did you mean model.base_url?" },
		{ "[model]\n  nmae = \"x\"\n",
			"config.toml:2:3: no setting \"model.nmae\", did you mean model.name?" },
		{ "workspace = \"relative\"\n",
			"config.toml:1:13: workspace: expected an absolute path, or one that begins with ~/" },
		{ "text_limit = 99999\n",
			"config.toml:1:14: text_limit: expected a whole number from 1 to 3800" },
		{ "text_limit = \n",
			"config.toml:1:14: expected a value: \"text\", a whole number, true, false or "
			"[\"list\"]" },
		{ "[model]\nbase_url = \"ftp://x\"\n",
			"config.toml:2:12: model.base_url: expected an address that begins with https:// or http://" },
		{ "[model]\nbase_url = \"https://key@host/v1\"\n",
			"config.toml:2:12: model.base_url: the key does not belong in the address" },
		{ "allowed_users = [\"a\", \"\"]\n",
			"config.toml:1:17: allowed_users: a user id has 1 to 128 characters" },
		{ "[sandbox]\nread = [\"usr\"]\n",
			"config.toml:2:8: sandbox.read: expected absolute paths" },
		{ "[policy]\nshell = \"allow\"\n",
			"config.toml:2:9: policy.shell: expected \"deny\" or \"allowlist\" or \"ask\"" },
		{ "[policy]\nshell_allow = [\"npm test\", \"a; b\"]\n",
			"config.toml:2:15: entry 2 of policy.shell_allow, \"a; b\": \";\" at character 2 "
			"needs a shell" },
		{ "[policy]\n\n  tools = [\"writefile=ask\"]\n",
			"config.toml:3:11: entry 1 of policy.tools, \"writefile=ask\": there is no tool "
			"\"writefile\", did you mean write_file?" },
		{ "[policy]\nask_minutes = 0\n",
			"config.toml:2:15: policy.ask_minutes: expected a whole number from 1 to 1440" },
		{ "[ilink]\nroute_tag = \"a\\nb\"\n",
			"config.toml:2:13: ilink.route_tag: expected at most 256 characters, no control "
			"characters" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *c = NULL;

		put(f, rows[i].text);
		assert_int_equal(config_load(&c, f->s.dir, &f->e), -1);
		assert_string_equal(f->e.msg, rows[i].message);
		assert_null(c);
	}
}

static void a_refused_change_leaves_the_file_alone(void **state)
{
	struct fixture *f = *state;
	struct str text = STR_INIT(1000);

	put(f, "# mine\nlanguage = \"zh\"\n");
	assert_int_equal(config_set(f->s.dir, "language", "fr", &f->e), -1);
	assert_int_equal(config_set(f->s.dir, "text_limit", "many", &f->e), -1);
	assert_int_equal(config_set(f->s.dir, "model.base_url", "ftp://x", &f->e), -1);
	assert_int_equal(config_set(f->s.dir, "nothing", "x", &f->e), -1);
	assert_int_equal(file_read(scratch_path(&f->s, CONFIG_FILE), 1000, &text, &f->e), 0);
	assert_string_equal(str_cstr(&text), "# mine\nlanguage = \"zh\"\n");
	str_release(&text);
}

static void settings_become_the_rules_of_the_policy(void **state)
{
	struct fixture *f = *state;
	struct policy_rules rules;
	struct config *c;

	put(f, "[policy]\nshell = \"allowlist\"\nshell_allow = [\"ls\"]\nwrite = \"ask\"\n"
	       "web = \"deny\"\ntools = [\"grep=ask\"]\n");
	c = load(f);
	policy_rules_from(&rules, c);
	assert_int_equal(rules.shell, SHELL_ALLOWLIST);
	assert_int_equal(rules.write, VERDICT_ASK);
	assert_int_equal(rules.web, VERDICT_DENY);
	assert_string_equal(rules.shell_allow[0], "ls");
	assert_null(rules.shell_allow[1]);
	assert_string_equal(rules.tools[0], "grep=ask");
	config_free(&c);
	put(f, "");
	c = load(f);
	policy_rules_from(&rules, c);
	assert_int_equal(rules.shell, SHELL_DENY);
	assert_int_equal(rules.write, VERDICT_ALLOW);
	assert_int_equal(rules.web, VERDICT_ALLOW);
	config_free(&c);
}

/* Short text, in either language, that says what holds. */
static void the_policy_is_told_to_people(void **state)
{
	static const struct {
		const char *config, *zh, *en;
	} rows[] = {
		{ "", "运行命令：不可以\n", "Run commands: no\n" },
		{ "", "写文件：可以\n", "Write files: yes\n" },
		{ "", "打开网页：你写的和这次搜到的网址可以，其他先问你\n",
			"others: I ask you first\n" },
		{ "", "10 分钟", "10 min" },
		{ "[policy]\nshell = \"ask\"\nshell_allow = [\"npm test\"]\n",
			"运行命令：列出的命令可以，其他先问你\n",
			"Listed commands: \"npm test\"\n" },
		{ "[policy]\nshell = \"allowlist\"\n", "其他不可以\n", "others: no\n" },
		{ "[policy]\nwrite = \"ask\"\nask_minutes = 3\n", "写文件：先问你\n", " 3 min" },
		{ "[policy]\nweb = \"deny\"\n", "打开网页：不可以\n", "Search the web: no\n" },
		{ "[policy]\ntools = [\"files.*=ask\"]\n", "另有设定：files.*=ask\n",
			"Set by name: files.*=ask\n" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str zh = STR_INIT(4000), en = STR_INIT(4000);
		struct policy_rules rules;
		struct policy *p;
		struct config *c;

		put(f, rows[i].config);
		c = load(f);
		policy_rules_from(&rules, c);
		assert_int_equal(policy_open(&p, &rules, &f->e), 0);
		policy_text(p, c, true, &zh);
		policy_text(p, c, false, &en);
		if (!strstr(str_cstr(&zh), rows[i].zh) || !strstr(str_cstr(&en), rows[i].en))
			fail_msg("%s%s", str_cstr(&zh), str_cstr(&en));
		policy_free(&p);
		config_free(&c);
		str_release(&zh);
		str_release(&en);
	}
}

static void a_bare_word_is_a_string(void **state)
{
	struct fixture *f = *state;
	struct str text = STR_INIT(1000);

	assert_int_equal(config_set(f->s.dir, "language", "en", &f->e), 0);
	assert_int_equal(config_set(f->s.dir, "model.name", "gpt \"x\"", &f->e), 0);
	assert_int_equal(config_set(f->s.dir, "model.base_url", "'https://a.example/v1'", &f->e),
		0);
	assert_int_equal(config_set(f->s.dir, "allowed_users", "[\"a\", \"b\"]", &f->e), 0);
	assert_int_equal(config_unset(f->s.dir, "language", &f->e), 0);
	assert_int_equal(file_read(scratch_path(&f->s, CONFIG_FILE), 1000, &text, &f->e), 0);
	assert_string_equal(str_cstr(&text),
		"allowed_users = [\"a\", \"b\"]\n\n[model]\nname = \"gpt \\\"x\\\"\"\n"
		"base_url = 'https://a.example/v1'\n");
	str_release(&text);
}

static void what_begins_as_a_string_must_end_as_one(void **state)
{
	struct fixture *f = *state;
	struct str text = STR_INIT(1000);

	assert_int_equal(config_set(f->s.dir, "model.name", "\"gpt", &f->e), -1);
	assert_string_equal(f->e.msg,
		"model.name: the value does not read: 1:1: the string has no end, "
		"expected a closing quote on this line");
	assert_int_equal(config_set(f->s.dir, "model.name", "'a' b", &f->e), -1);
	assert_int_equal(config_set(f->s.dir, "model.name", "", &f->e), 0);
	assert_int_equal(config_set(f->s.dir, "model.system_prompt", "one\ntwo", &f->e), 0);
	assert_int_equal(file_read(scratch_path(&f->s, CONFIG_FILE), 1000, &text, &f->e), 0);
	assert_string_equal(str_cstr(&text),
		"[model]\nname = \"\"\nsystem_prompt = \"one\\ntwo\"\n");
	str_release(&text);
}

static void a_tilde_is_the_home_in_paths_only(void **state)
{
	struct fixture *f = *state;
	char want[PATH_SIZE];

	put(f, "allowed_users = [\"~/a\"]\n[sandbox]\nread = [\"~/b\"]\n");
	struct config *c = load(f);
	assert_string_equal(c->allowed_users[0], "~/a");
	assert_int_equal(path_join(want, f->s.dir, "b", &f->e), 0);
	assert_string_equal(c->sandbox.read[0], want);
	config_free(&c);
	unsetenv("HOME"); /* the system knows the home as well */
	c = load(f);
	assert_int_equal(c->workspace[0], '/');
	config_free(&c);
}

static void text_without_meaning_is_refused(void **state)
{
	static const char *const bad[] = {
		"workspace = \"/a\\nb\"\n",
		"allowed_users = [\"a\\tb\"]\n",
		"[sandbox]\nread = [\"/a\\u0001\"]\n",
		"[model]\nname = \"\\u001b[31m\"\n",
	};
	struct fixture *f = *state;
	struct config *c = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(f, bad[i]);
		if (config_load(&c, f->s.dir, &f->e) == 0)
			fail_msg("%s", bad[i]);
	}
	put(f, "");
	setenv("KAIRO_MODEL_NAME", "\xff", 1);
	assert_int_equal(config_load(&c, f->s.dir, &f->e), -1);
	assert_non_null(strstr(f->e.msg, "KAIRO_MODEL_NAME"));
	unsetenv("KAIRO_MODEL_NAME");
}

static void the_environment_overrides_but_is_not_written(void **state)
{
	struct fixture *f = *state;
	const char *source;

	put(f, "[model]\nname = \"file\"\n");
	setenv("KAIRO_MODEL_NAME", "env", 1);
	struct config *c = load(f);
	assert_string_equal(c->model.name, "env");
	config_free(&c);
	assert_int_equal(config_source(f->s.dir, "model.name", &source, &f->e), 0);
	assert_string_equal(source, "environment");
	assert_int_equal(config_set(f->s.dir, "language", "zh", &f->e), 0);
	unsetenv("KAIRO_MODEL_NAME");
	c = load(f);
	assert_string_equal(c->model.name, "file");
	config_free(&c);
}

static void the_key_lives_in_a_private_file_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	struct str text = STR_INIT(4000);

	assert_int_equal(config_set_secret(f->s.dir, "model.api_key", VIEW(" sk-secret-value\n"),
				 &f->e),
		0);
	assert_int_equal(stat(scratch_path(&f->s, "model.key"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(file_read(scratch_path(&f->s, CONFIG_FILE), 4000, &text, &f->e), 0);
	assert_null(strstr(str_cstr(&text), "sk-secret-value"));
	str_release(&text);
	struct config *c = load(f);
	assert_int_equal(config_load_key(c, &f->e), 0);
	assert_string_equal(c->model.api_key, "sk-secret-value");
	setenv("KAIRO_MODEL_API_KEY", "from-env", 1);
	assert_int_equal(config_load_key(c, &f->e), 0);
	assert_string_equal(c->model.api_key, "from-env");
	unsetenv("KAIRO_MODEL_API_KEY");
	assert_int_equal(chmod(scratch_path(&f->s, "model.key"), 0644), 0);
	assert_int_equal(config_load_key(c, &f->e), -1);
	assert_int_equal(f->e.code, E_DENIED);
	config_free(&c);
	assert_int_equal(config_set_secret(f->s.dir, "model.api_key", VIEW("  "), &f->e), -1);
	assert_int_equal(config_set_secret(f->s.dir, "model.api_key", VIEW("a b"), &f->e), -1);
	assert_int_equal(config_set_secret(f->s.dir, "language", VIEW("a"), &f->e), -1);
}

static void a_provider_brings_its_address_and_model(void **state)
{
	struct fixture *f = *state;
	struct config *c;

	assert_int_equal(config_set(f->s.dir, "model.provider", "Moonshot", &f->e), 0);
	c = load(f);
	assert_string_equal(c->model.provider, "kimi");
	assert_string_equal(c->model.base_url, "https://api.moonshot.cn/v1");
	assert_string_equal(c->model.name, "kimi-k2.6");
	assert_int_equal(c->model.context_tokens, 0);
	assert_true(c->model.stream);
	config_free(&c);
	assert_int_equal(config_set(f->s.dir, "model.base_url", "https://api.moonshot.ai/v1",
				 &f->e),
		0);
	assert_int_equal(config_set(f->s.dir, "model.name", "kimi-k2.5", &f->e), 0);
	c = load(f);
	assert_string_equal(c->model.base_url, "https://api.moonshot.ai/v1");
	assert_string_equal(c->model.name, "kimi-k2.5");
	config_free(&c);
	assert_int_equal(config_set(f->s.dir, "model.provider", "xfyun", &f->e), 0);
	assert_int_equal(config_unset(f->s.dir, "model.name", &f->e), 0);
	c = load(f);
	assert_string_equal(c->model.name, ""); /* there is no default one */
	config_free(&c);
	assert_int_equal(config_set(f->s.dir, "model.provider", "nobody", &f->e), -1);
	assert_non_null(strstr(f->e.msg, "expected one of kimi, deepseek"));
}

static void several_settings_change_together_or_not_at_all(void **state)
{
	const struct config_edit good[] = { { "model.provider", "deepseek" },
		{ "model.name", "deepseek-v4-pro" }, { "model.base_url", NULL } };
	const struct config_edit bad[] = { { "model.provider", "kimi" }, { "text_limit", "0" } };
	struct fixture *f = *state;
	struct str before = STR_INIT(4000), after = STR_INIT(4000);
	struct config *c, *would;

	assert_int_equal(config_set(f->s.dir, "model.base_url", "http://127.0.0.1:1/v1", &f->e), 0);
	assert_int_equal(file_read(scratch_path(&f->s, CONFIG_FILE), 4000, &before, &f->e), 0);
	assert_int_equal(config_try(&would, f->s.dir, good, 3, &f->e), 0);
	assert_string_equal(would->model.base_url, "https://api.deepseek.com");
	assert_int_equal(config_change(f->s.dir, bad, 2, &f->e), -1);
	assert_int_equal(file_read(scratch_path(&f->s, CONFIG_FILE), 4000, &after, &f->e), 0);
	assert_string_equal(str_cstr(&before), str_cstr(&after));
	c = load(f);
	assert_string_equal(c->model.provider, "");
	config_take_model(c, would);
	assert_string_equal(c->model.name, "deepseek-v4-pro");
	assert_string_equal(would->model.base_url, "http://127.0.0.1:1/v1");
	config_free(&would);
	config_free(&c);
	assert_int_equal(config_change(f->s.dir, good, 3, &f->e), 0);
	c = load(f);
	assert_string_equal(c->model.name, "deepseek-v4-pro");
	assert_string_equal(c->model.base_url, "https://api.deepseek.com");
	config_free(&c);
	str_release(&before);
	str_release(&after);
}

static void each_provider_has_a_key_of_its_own(void **state)
{
	static const struct {
		const char *provider, *key;
	} rows[] = { { "kimi", "sk-of-kimi" }, { "deepseek", "sk-of-all" }, { "", "sk-of-all" },
		{ "ollama", "" } };
	struct fixture *f = *state;

	assert_int_equal(config_set_secret(f->s.dir, "model.api_key", VIEW("sk-of-all"), &f->e), 0);
	assert_int_equal(config_set_secret(f->s.dir, "model.api_key.moonshot", VIEW("sk-old"),
				 &f->e),
		0);
	assert_int_equal(config_set(f->s.dir, "model.provider", "kimi", &f->e), 0);
	assert_int_equal(config_set_secret(f->s.dir, "model.api_key", VIEW("sk-of-kimi"), &f->e),
		0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *c;

		assert_int_equal(config_set(f->s.dir, "model.provider", rows[i].provider, &f->e),
			0);
		c = load(f);
		assert_int_equal(config_load_key(c, &f->e), 0);
		assert_string_equal(c->model.api_key, rows[i].key);
		config_free(&c);
	}
	assert_int_equal(config_set_secret(f->s.dir, "model.api_key.nobody", VIEW("x"), &f->e), -1);
	assert_non_null(strstr(f->e.msg, "expected one of kimi"));
	assert_int_equal(config_set_secret(f->s.dir, "model.api_key.", VIEW("x"), &f->e), -1);
	assert_true(config_is_secret("model.api_key") && config_is_secret("model.api_key.kimi"));
	assert_false(config_is_secret("model.api_key_file"));
}

static void links_are_not_followed(void **state)
{
	struct fixture *f = *state;
	struct config *c = NULL;

	assert_int_equal(symlink("/dev/null", scratch_path(&f->s, CONFIG_FILE)), 0);
	assert_int_equal(config_load(&c, f->s.dir, &f->e), -1);
	assert_int_equal(f->e.code, E_DENIED);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_missing_file_gives_the_defaults),
		T(every_key_round_trips_through_get_and_set),
		T(numbers_are_bounded),
		T(errors_name_file_line_column_and_what_was_expected),
		T(a_refused_change_leaves_the_file_alone),
		T(settings_become_the_rules_of_the_policy),
		T(the_policy_is_told_to_people),
		T(a_bare_word_is_a_string),
		T(what_begins_as_a_string_must_end_as_one),
		T(a_tilde_is_the_home_in_paths_only),
		T(text_without_meaning_is_refused),
		T(the_environment_overrides_but_is_not_written),
		T(the_key_lives_in_a_private_file_of_its_own),
		T(a_provider_brings_its_address_and_model),
		T(several_settings_change_together_or_not_at_all),
		T(each_provider_has_a_key_of_its_own),
		T(links_are_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
