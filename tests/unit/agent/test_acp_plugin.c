/* Our plugin in Kimi's folder: put there, taken away, with all else left as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/acp/plugin.h"
#include "base/file.h"
#include "base/json.h"
#include "scratch.h"

#define NOW ((int64_t)1785319200123) /* 2026-07-29T10:00:00.123Z */
#define OTHERS \
	"{\"id\":\"kimi-cu\",\"root\":\"/x\",\"enabled\":false,\"capabilities\":{\"mcpServers\":{" \
	"\"a\":{\"enabled\":true}}},\"big\":12345678901234567890,\"new\":null}"

struct fix {
	struct scratch dir;
	char home[512], list[600], lock[600], manifest[700];
};

static int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	scratch_make(&f->dir);
	(void)snprintf(f->home, sizeof(f->home), "%s/kimi", f->dir.dir);
	(void)snprintf(f->list, sizeof(f->list), "%s/plugins/installed.json", f->home);
	(void)snprintf(f->lock, sizeof(f->lock), "%s/lock", f->dir.dir);
	(void)snprintf(f->manifest, sizeof(f->manifest), "%s/plugins/%s/kimi.plugin.json", f->home,
		PLUGIN_ID);
	assert_int_equal(0, mkdir(f->home, 0700));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	scratch_remove(&f->dir);
	free(f);
	return 0;
}

static void put(const struct fix *f, const char *text)
{
	char dir[600];

	(void)snprintf(dir, sizeof(dir), "%s/plugins", f->home);
	assert_int_equal(0, file_mkdirs(dir, 0700, NULL));
	assert_int_equal(0, file_replace(f->list, 0644, view_of(text), NULL));
}

static void assert_list(const struct fix *f, const char *text)
{
	struct str now = STR_INIT(1 << 20);

	assert_int_equal(0, file_read(f->list, 1 << 20, &now, NULL));
	assert_string_equal(text, str_cstr(&now));
	str_release(&now);
}

static enum plugin_state state_of(const struct fix *f)
{
	enum plugin_state s;

	assert_int_equal(0, plugin_state(f->home, &s, NULL));
	return s;
}

static int install(const struct fix *f, struct err *e)
{
	return plugin_install(f->home, f->lock, NOW, e);
}

static void it_comes_and_goes(void **state)
{
	struct fix *f = *state;
	char wanted[2000];

	assert_int_equal(PLUGIN_ABSENT, state_of(f));
	assert_int_equal(0, plugin_remove(f->home, f->lock, NULL));
	assert_int_equal(1, install(f, NULL));
	(void)snprintf(wanted, sizeof(wanted),
		"{\"version\":1,\"plugins\":[{\"id\":\"" PLUGIN_ID
		"\",\"root\":\"%s/plugins/" PLUGIN_ID
		"\",\"source\":\"local-path\",\"enabled\":true,\"installedAt\":"
		"\"2026-07-29T10:00:00.000Z\"}]}",
		f->home);
	assert_list(f, wanted);
	assert_int_equal(PLUGIN_READY, state_of(f));
	assert_int_equal(0, install(f, NULL));
	assert_list(f, wanted);
	assert_int_equal(1, plugin_remove(f->home, f->lock, NULL));
	assert_list(f, "{\"version\":1,\"plugins\":[]}");
	assert_false(file_exists(f->manifest));
	assert_int_equal(PLUGIN_ABSENT, state_of(f));
}

static void a_home_that_is_not_there_has_none(void **state)
{
	struct fix *f = *state;

	assert_int_equal(0, rmdir(f->home));
	assert_int_equal(PLUGIN_ABSENT, state_of(f));
	assert_int_equal(0, plugin_remove(f->home, f->lock, NULL));
	assert_int_equal(-1, install(f, NULL));
}

static void what_is_others_stays_as_it_is(void **state)
{
	struct fix *f = *state;
	struct stat st;

	put(f, "{ \"version\": 2, \"plugins\": [ " OTHERS
	       ", 7, {\"id\":7} ], \"x\": {\"y\": 1.50} }");
	assert_int_equal(1, install(f, NULL));
	assert_int_equal(PLUGIN_READY, state_of(f));
	assert_int_equal(0, stat(f->list, &st));
	assert_int_equal(0644, st.st_mode & 0777);
	assert_int_equal(1, plugin_remove(f->home, f->lock, NULL));
	assert_list(f, "{\"version\":2,\"plugins\":[" OTHERS ",7,{\"id\":7}],\"x\":{\"y\":1.50}}");
}

static void ours_is_mended(void **state)
{
	struct fix *f = *state;
	char text[2000];

	assert_int_equal(1, install(f, NULL));
	assert_int_equal(0, file_replace(f->manifest, 0600, VIEW("{}"), NULL));
	assert_int_equal(PLUGIN_STALE, state_of(f));
	assert_int_equal(1, install(f, NULL));
	assert_int_equal(PLUGIN_READY, state_of(f));
	put(f, "{\"version\":1,\"plugins\":[{\"id\":\"" PLUGIN_ID "\",\"root\":\"/elsewhere\","
	       "\"enabled\":true}]}");
	assert_int_equal(PLUGIN_STALE, state_of(f));
	assert_int_equal(1, install(f, NULL));
	assert_int_equal(PLUGIN_READY, state_of(f));
	(void)snprintf(text, sizeof(text),
		"{\"version\":1,\"plugins\":[{\"id\":\"" PLUGIN_ID
		"\",\"root\":\"%s/plugins/" PLUGIN_ID "\",\"enabled\":false}]}",
		f->home);
	put(f, text);
	assert_int_equal(PLUGIN_OFF, state_of(f));
}

static void a_list_that_cannot_be_read_is_left_alone(void **state)
{
	static const char *const lists[] = { "{", "[]", "{}", "{\"plugins\":{}}", "null",
		"{\"plugins\":[],\"plugins\":[]}", "{\"plugins\":[]} x" };
	struct fix *f = *state;
	enum plugin_state s;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct err e = ERR_INIT;

		put(f, lists[i]);
		assert_int_equal(-1, install(f, &e));
		assert_non_null(strstr(e.msg, "installed.json"));
		assert_int_equal(-1, plugin_remove(f->home, f->lock, &e));
		assert_int_equal(-1, plugin_state(f->home, &s, &e));
		assert_list(f, lists[i]);
	}
}

static void links_are_not_followed(void **state)
{
	struct fix *f = *state;
	char other[600];

	(void)snprintf(other, sizeof(other), "%s/other.json", f->dir.dir);
	put(f, "{\"plugins\":[]}");
	assert_int_equal(0, rename(f->list, other));
	assert_int_equal(0, symlink(other, f->list));
	assert_int_equal(-1, install(f, NULL));
	assert_int_equal(-1, plugin_remove(f->home, f->lock, NULL));
	assert_int_equal(0, unlink(f->list));
	assert_int_equal(0, rename(other, f->list));
	assert_list(f, "{\"plugins\":[]}");
}

static void kimis_folder_itself_may_be_one(void **state)
{
	struct fix *f = *state;
	char real[600];

	(void)snprintf(real, sizeof(real), "%s/real", f->dir.dir);
	assert_int_equal(0, rename(f->home, real));
	assert_int_equal(0, symlink(real, f->home));
	assert_int_equal(1, install(f, NULL));
	assert_int_equal(PLUGIN_READY, state_of(f));
}

static void who_holds_the_lock_is_waited_for_and_then_told(void **state)
{
	struct fix *f = *state;
	struct lock *l;
	struct err e = ERR_INIT;

	assert_int_equal(0, lock_take(&l, f->lock, 0, NULL));
	assert_int_equal(-1, install(f, &e));
	assert_int_equal(E_BUSY, e.code);
	lock_release(&l);
	assert_int_equal(1, install(f, NULL));
}

/* As Kimi runs it. */
static int exit_code(const char *command)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(pid, waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void its_command_does_nothing_by_itself(void **state)
{
	struct fix *f = *state;
	struct str text = STR_INIT(1 << 16);
	struct json *j = NULL;
	struct view command;

	assert_int_equal(1, install(f, NULL));
	assert_int_equal(0, file_read(f->manifest, 1 << 16, &text, NULL));
	assert_int_equal(0, json_read(&j, str_view(&text), &json_limits_config, NULL));
	assert_int_equal(7, json_count(json_member(j, "hooks")));
	json_each(hook, json_member(j, "hooks")) {
		assert_int_equal(1,
			json_get_str(hook, "command", JSON_REQUIRED, 1, 1000, &command, NULL));
		assert_int_equal(0, unsetenv("KAIRO_RELAY_TOOL"));
		assert_int_equal(0, exit_code(command.p));
		assert_int_equal(0, setenv("KAIRO_RELAY_TOOL", "/not/there", 1));
		assert_int_equal(0, exit_code(command.p));
	}
	assert_null(strstr(str_cstr(&text), "Heartbeat"));
	json_free(&j);
	str_release(&text);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(it_comes_and_goes),
		T(a_home_that_is_not_there_has_none),
		T(what_is_others_stays_as_it_is),
		T(ours_is_mended),
		T(a_list_that_cannot_be_read_is_left_alone),
		T(links_are_not_followed),
		T(kimis_folder_itself_may_be_one),
		T(who_holds_the_lock_is_waited_for_and_then_told),
		T(its_command_does_nothing_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
