/* hooks status|install|remove */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/acp/preset.h"
#include "cli/app.h"
#include "cli/hooks.h"

static const char what_it_is[] =
	"Kimi Code can work on in the background when an answer has been given. Kairo hears of its\n"
	"end only by hooks of Kimi: a small plugin in ~/.kimi-code/plugins, named " PLUGIN_ID ".\n"
	"It does nothing when Kimi runs without Kairo, and kairo hooks remove takes it away.\n";

bool hooks_home(const struct config *c, char out[PATH_SIZE])
{
	const char *home = user_home();

	return strcmp(c->engine, "acp") == 0 && !c->acp.command[0] &&
	       strcmp(c->acp.preset, "kimi") == 0 && home &&
	       path_join(out, home, ".kimi-code", NULL) == 0;
}

static int install(const struct home *h, const char *kimi, struct err *e)
{
	char lock[PATH_SIZE];

	if (path_join(lock, h->root, "hooks.lock", e) < 0)
		return -1;
	return plugin_install(kimi, lock, clock_wall(clock_system()), e);
}

int hooks_ready(const struct home *h, const struct config *c, bool *ready, struct err *e)
{
	enum plugin_state state;
	char kimi[PATH_SIZE];

	*ready = false;
	if (!hooks_home(c, kimi) || !strcmp(c->acp.hooks, "off"))
		return 0;
	if (!strcmp(c->acp.hooks, "on") && install(h, kimi, e) < 0)
		return -1;
	if (plugin_state(kimi, &state, e) < 0)
		return -1;
	*ready = state == PLUGIN_READY;
	return 0;
}

/* --- The command ------------------------------------------------------------------------------ */

static int status(const struct config *c, const char *kimi, struct err *e)
{
	static const char *const words[] = {
		[PLUGIN_ABSENT] = "not installed; kairo hooks install does it",
		[PLUGIN_READY] = "installed",
		[PLUGIN_OFF] = "installed, and switched off in Kimi",
		[PLUGIN_STALE] = "installed, but not as it should be; kairo hooks install mends it",
	};
	enum plugin_state state;
	char used[PATH_SIZE];

	if (plugin_state(kimi, &state, e) < 0)
		return -1;
	printf("the plugin %s is %s\nacp.hooks is %s\n", PLUGIN_ID, words[state], c->acp.hooks);
	if (!hooks_home(c, used))
		puts("it is listened to only with engine = \"acp\" and acp.preset = \"kimi\", which "
		     "are not set");
	return 0;
}

static int choose(const struct home *h, const char *value, struct err *e)
{
	if (config_set(h->dir, "acp.hooks", value, e) < 0)
		return -1;
	puts("a running daemon takes it over with: kairo restart");
	return 0;
}

static int command_install(const struct home *h, const char *kimi, struct err *e)
{
	int rc = file_mkdirs(kimi, 0700, e) < 0 ? -1 : install(h, kimi, e);

	if (rc < 0)
		return -1;
	puts(rc ? "the plugin is installed" : "the plugin was installed already");
	return choose(h, "on", e);
}

static int command_remove(const struct home *h, const char *kimi, struct err *e)
{
	char lock[PATH_SIZE];
	int rc = path_join(lock, h->root, "hooks.lock", e);

	if (rc == 0)
		rc = plugin_remove(kimi, lock, e);
	if (rc < 0)
		return -1;
	puts(rc ? "the plugin is gone" : "the plugin was not there");
	return choose(h, "off", e);
}

/* Whatever agent is set: what was installed must be removable. */
static int kimi_folder(char out[PATH_SIZE], struct err *e)
{
	const char *home = user_home();

	if (!home)
		return err_set(e, E_NOTFOUND, "your home folder is not known: HOME is not set");
	return path_join(out, home, ".kimi-code", e);
}

/* Looking leaves no trace; a change makes the folder that the setting is kept in. */
static int change(const struct home *h, const char *what, const char *kimi, struct err *e)
{
	struct home made;

	if (home_find(&made, h->account[0] ? h->account : NULL, true, e) < 0)
		return -1;
	return strcmp(what, "install") != 0 ? command_remove(&made, kimi, e)
	                                    : command_install(&made, kimi, e);
}

int cmd_hooks(const struct home *h, int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "status";
	struct config *c = NULL;
	char kimi[PATH_SIZE];
	struct err e = ERR_INIT;
	int rc = -1;

	if (argc > 2 || (strcmp(what, "status") != 0 && strcmp(what, "install") != 0 &&
				strcmp(what, "remove") != 0))
		return say_usage("hooks", "hooks takes one of status, install and remove");
	if (config_load(&c, h->dir, &e) == 0 && kimi_folder(kimi, &e) == 0)
		rc = strcmp(what, "status") != 0 ? change(h, what, kimi, &e) : status(c, kimi, &e);
	config_free(&c);
	return rc < 0 ? say_err(&e) : EXIT_DONE;
}

/* --- The question ----------------------------------------------------------------------------- */

static bool says_yes(void)
{
	char line[64];

	fputs(what_it_is, stdout);
	fputs("Install it? [y/N] ", stdout);
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

void hooks_offer(const struct home *h)
{
	struct config *c = NULL;
	char kimi[PATH_SIZE];
	struct err e = ERR_INIT;
	int rc = 0;

	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && config_load(&c, h->dir, &e) == 0 &&
		hooks_home(c, kimi) && !strcmp(c->acp.hooks, "ask") && file_exists(kimi))
		rc = says_yes() ? command_install(h, kimi, &e) : choose(h, "off", &e);
	if (rc < 0)
		(void)say_err(&e);
	config_free(&c);
}
