#include "cli/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/acp/preset.h"
#include "base/file.h"
#include "cli/app.h"
#include "cli/hooks.h"
#include "tools/host/mcp.h"

#define WORDS_MAX 128

/* Of the daemon's own environment, what any program may have. */
static const char *const base_env[] = { "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG",
	"LC_ALL", "LC_CTYPE", "TZ", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY",
	"HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", NULL };

static const struct acp_preset *preset_of(const struct config *c)
{
	return c->acp.command[0] ? NULL : acp_preset_find(c->acp.preset);
}

/* --- The program ------------------------------------------------------------------------------ */

static bool runs(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* On the PATH; folders that are not absolute do not count. */
static bool on_path(const char *name, char out[PATH_SIZE])
{
	const char *all = getenv("PATH");
	struct view rest = view_of(all ? all : "/usr/local/bin:/usr/bin:/bin");

	while (rest.n > 0) {
		size_t n = view_find(rest, ':');
		char folder[PATH_SIZE];

		if (n > 0 && rest.p[0] == '/' &&
			copy_z(folder, sizeof(folder), view_cut(rest, n)) == 0 &&
			path_join(out, folder, name, NULL) == 0 && runs(out))
			return true;
		rest = view_from(rest, n + 1);
	}
	return false;
}

static bool below_home(const char *rel, char out[PATH_SIZE])
{
	const char *home = getenv("HOME");

	return rel && home && home[0] == '/' && path_join(out, home, rel, NULL) == 0;
}

static int not_found(const struct acp_preset *preset, const char *name, struct err *e)
{
	if (!preset)
		return err_set(e, E_NOTFOUND, "acp.command: there is no program %s", name);
	return err_set(e, E_NOTFOUND,
		"%s is not installed: there is no program %s on the PATH. Install it (%s), or set "
		"acp.command to where it is",
		preset->title, name, preset->install);
}

/* 0, or -1: it is not here. */
static int find_program(const struct acp_preset *preset, const char *name, char program[PATH_SIZE])
{
	if (strchr(name, '/'))
		return runs(name) ? copy_z(program, PATH_SIZE, view_of(name)) : -1;
	if (on_path(name, program))
		return 0;
	return preset && below_home(preset->beside, program) && runs(program) ? 0 : -1;
}

bool agent_installed(const struct acp_preset *preset)
{
	char program[PATH_SIZE];

	return find_program(preset, preset->argv[0], program) == 0;
}

bool agent_can_start(const char *command)
{
	char program[PATH_SIZE];

	return find_program(NULL, command, program) == 0;
}

int agent_find(const struct config *c, const char *workspace, char program[PATH_SIZE],
	struct err *e)
{
	const struct acp_preset *preset = preset_of(c);
	const char *name = preset ? preset->argv[0] : c->acp.command[0];
	char real[PATH_SIZE];
	size_t n = strlen(workspace);

	if (!name)
		return err_set(e, E_NOTFOUND, "acp.preset names no agent that is known");
	if (find_program(preset, name, program) < 0)
		return not_found(preset, name, e);
	if (!realpath(program, real))
		return err_sys(e, "%s", program);
	if (strncmp(real, workspace, n) == 0 && (real[n] == '/' || real[n] == '\0'))
		return err_set(e, E_DENIED,
			"%s lies in the workspace, where the agent could replace it; install it "
			"elsewhere",
			program);
	return 0;
}

/* --- Words ------------------------------------------------------------------------------------ */

struct words {
	char **list; /* WORDS_MAX places */
	size_t n;
	bool failed;
};

static void add(struct words *w, const char *word)
{
	if (w->failed || w->n == WORDS_MAX - 1 || !(w->list[w->n] = strdup(word)))
		w->failed = true;
	else
		w->n++;
}

static void add_option(struct words *w, const char *option, const char *value)
{
	add(w, option);
	add(w, value);
}

/* The agent's own folders: one that is not there yet could not be made where it runs, and what it
 * wrote would be lost with it. */
static int add_homes(struct words *w, const struct acp_preset *preset, struct err *e)
{
	char path[PATH_SIZE], real[PATH_SIZE];

	for (const char *const *h = preset->homes; *h; h++) {
		if (!below_home(*h, path))
			continue;
		if (file_mkdirs(path, 0700, e) < 0)
			return -1;
		if (realpath(path, real))
			add_option(w, "--write", real);
	}
	for (const char *const *f = preset->files; *f; f++)
		if (below_home(*f, path) && realpath(path, real))
			add_option(w, "--write", real);
	return 0;
}

/* Of our own folder nothing is to be seen but what was received. */
static int add_hidden(struct words *w, const struct home *h, struct err *e)
{
	char media[PATH_SIZE];

	if (path_join(media, h->dir, "media", e) < 0)
		return -1;
	add_option(w, "--hide", h->root);
	add_option(w, "--read", media);
	return 0;
}

/* What its hooks run is to be seen wherever it lies. */
static int add_relay(struct words *w, const struct config *c, struct err *e)
{
	char helper[PATH_SIZE], kimi[PATH_SIZE];

	if (!hooks_home(c, kimi) || strcmp(c->acp.hooks, "off") == 0)
		return 0;
	if (find_helper(helper, e) < 0)
		return -1;
	add_option(w, "--read", helper);
	return 0;
}

static int fill_argv(struct words *w, const struct agent_plan *p, const struct home *h,
	const struct config *c, const char *workspace, bool namespaces, struct err *e)
{
	const struct acp_preset *preset = preset_of(c);
	const char *const *rest = preset ? preset->argv : (const char *const *)c->acp.command;

	add(w, "kairo-tool");
	add(w, "supervise");
	add(w, "--open");
	add(w, "--network");
	if (namespaces)
		add(w, "--namespaces");
	add_option(w, "--workspace", workspace);
	if (preset && add_homes(w, preset, e) < 0)
		return -1;
	for (char **extra = c->acp.write; *extra; extra++)
		add_option(w, "--write", *extra);
	if (add_hidden(w, h, e) < 0 || add_relay(w, c, e) < 0)
		return -1;
	add(w, "--");
	add(w, p->program);
	while (*++rest)
		add(w, *rest);
	return w->failed ? err_set(e, E_NOMEM, "the agent's command") : 0;
}

static void add_variable(struct words *w, const char *name)
{
	struct str text = STR_INIT(65536);
	const char *value = getenv(name);

	if (value && str_addf(&text, "%s=%s", name, value) == 0)
		add(w, str_cstr(&text));
	str_wipe(&text);
}

static int fill_env(struct words *w, const struct acp_preset *preset, struct err *e)
{
	for (const char *const *name = base_env; *name; name++)
		add_variable(w, *name);
	add(w, "TERM=dumb");
	for (const char *const *name = preset ? preset->keys : NULL; name && *name; name++)
		add_variable(w, *name);
	for (const char *const *pair = preset ? preset->fixed : NULL; pair && *pair; pair++)
		add(w, *pair);
	return w->failed ? err_set(e, E_NOMEM, "the agent's environment") : 0;
}

int agent_plan(struct agent_plan *p, const struct home *h, const struct config *c,
	const char *workspace, bool namespaces, struct err *e)
{
	const struct acp_preset *preset = preset_of(c);
	struct words argv = { NULL, 0, false }, env = { NULL, 0, false };

	memset(p, 0, sizeof(*p));
	p->name = preset ? preset->name : "agent";
	p->login = preset ? preset->login : NULL;
	p->own_files = preset && preset->own_files;
	if (agent_find(c, workspace, p->program, e) < 0 ||
		path_join(p->mcp, h->dir, MCP_FILE, e) < 0)
		return -1;
	argv.list = p->argv = calloc(WORDS_MAX, sizeof(char *));
	env.list = p->env = calloc(WORDS_MAX, sizeof(char *));
	if (!p->argv || !p->env)
		(void)err_set(e, E_NOMEM, "the agent's command");
	else if (fill_argv(&argv, p, h, c, workspace, namespaces, e) == 0 &&
		 fill_env(&env, preset, e) == 0)
		return 0;
	agent_plan_release(p);
	return -1;
}

static void free_words(char ***words, bool secret)
{
	for (char **w = *words; w && *w; w++) {
		if (secret)
			explicit_bzero(*w, strlen(*w));
		free(*w);
	}
	free(*words);
	*words = NULL;
}

void agent_plan_release(struct agent_plan *p)
{
	free_words(&p->argv, false);
	free_words(&p->env, true);
}
