/* doctor: who answers: the model, or the agent that does the work. */
#include "cli/doctor-private.h"

#include <string.h>
#include <unistd.h>

#include "agent/acp/preset.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/agent.h"
#include "cli/agent_try.h"
#include "cli/hooks.h"
#include "cli/workspace.h"
#include "tools/host/mcp.h"
#include "tools/host/sandbox.h"

/* Does the provider list this model? near: the most similar one that it lists, where it does not.
 * What is no list denies nothing, and Ollama knows a model without its tag. */
static bool is_listed(struct view list, const char *name, char near[128])
{
	size_t least = SIZE_MAX, n = strlen(name);
	struct json *j = NULL;
	bool listed = false;

	near[0] = '\0';
	if (json_read(&j, list, &json_limits_wire, NULL) < 0)
		return true;
	json_each(model, json_member(j, "data")) {
		struct view id = VIEW_NONE;
		char z[128];

		if (json_get_str(model, "id", JSON_OPTIONAL, 1, sizeof(z) - 1, &id, NULL) < 0 ||
			copy_z(z, sizeof(z), id) < 0 || !z[0])
			continue;
		listed = listed ||
		         (strncmp(z, name, n) == 0 && (!z[n] || strcmp(z + n, ":latest") == 0));
		size_t d = text_distance(name, z);
		if (d < least) {
			least = d;
			memcpy(near, z, sizeof(z));
		}
	}
	json_free(&j);
	return listed || !near[0];
}

static void say_model(struct doctor *d, struct view list)
{
	const char *name = d->cfg->model.name;
	char near[128];

	/* llama.cpp serves the one model it has, whatever it is called. */
	if (strcmp(name, "local") == 0 || is_listed(list, name, near))
		say_ok("model", "%s, %s", name,
			d->cfg->model.api_key[0] ? "the key is accepted" : "no key is asked for");
	else
		say_bad(d, false, "model",
			"kairo config set model.name NAME; fine when `kairo ask hello` answers",
			"%s is not among the models that the provider lists; the nearest is %s",
			name, near);
}

static void check_model(struct doctor *d)
{
	struct str list = STR_INIT((size_t)4 << 20);
	char url[ACCOUNT_URL_MAX + 16];
	struct doctor_answer a;
	size_t n = strlen(d->cfg->model.base_url);
	const char *other = config_other_provider(d->cfg);

	if (!n || !d->cfg->model.name[0]) {
		say_bad(d, true, "model",
			"kairo config set model.provider NAME; or model.base_url URL and model.name NAME",
			"no model is set up");
		return;
	}
	if (other)
		say_bad(d, false, "model", "kairo config unset model.base_url",
			"model.base_url is an address of %s, model.provider is %s", other,
			d->cfg->model.provider);
	if (!doctor_host(d, "model", d->cfg->model.base_url))
		return;
	snprintf(url, sizeof(url), "%s%smodels", d->cfg->model.base_url,
		d->cfg->model.base_url[n - 1] == '/' ? "" : "/");
	doctor_reach(d, d->model_http, url, d->cfg->model.api_key, &a, &list);
	if (a.fail)
		say_bad(d, true, "model", doctor_advice(d, a.fail), "%s", a.err.msg);
	else if (a.status == 401 || a.status == 403)
		say_bad(d, true, "model", "kairo config set model.api_key --stdin",
			"the provider refuses the key (status %d)", a.status);
	else if (a.status >= 500)
		say_bad(d, true, "model", "the provider has trouble; try again later", "status %d",
			a.status);
	else if (a.status / 100 != 2)
		say_bad(d, false, "model", "fine when `kairo ask hello` answers",
			"the host answers, but does not list its models (status %d)", a.status);
	else
		say_model(d, str_view(&list));
	str_release(&list);
}

/* --- The agent, where another one does the work ----------------------------------------------- */

/* Whoever looks for another one sees what is here already. */
static void check_others(const struct doctor *d)
{
	const struct acp_preset *p;
	bool acp = strcmp(d->cfg->engine, "acp") == 0;
	struct str names = STR_INIT(400);

	for (size_t i = 0; (p = acp_preset_at(i)) != NULL; i++)
		if (agent_installed(p) && (!acp || strcmp(p->name, d->cfg->acp.preset) != 0))
			(void)str_addf(&names, "%s%s", names.n ? ", " : "", p->name);
	if (names.n)
		say_ok("agents", "installed%s: %s (acp.preset)", acp ? " too" : " for engine acp",
			str_cstr(&names));
	str_release(&names);
}

static void say_agent(struct doctor *d, const struct agent_plan *plan)
{
	const struct acp_preset *preset = acp_preset_find(plan->name);
	struct err e = ERR_INIT;
	char version[80];

	if (!preset)
		say_ok("agent", "%s", plan->program);
	else if (agent_version(d->loop, plan, preset->version, version, &e) < 0)
		say_bad(d, false, "agent", "kairo doctor --engine tries whether it answers",
			"%s, %s: %s", preset->title, plan->program, e.msg);
	else
		say_ok("agent", "%s, %s, version %s; to log it in: %s", preset->title,
			plan->program, version, preset->login);
	if (strcmp(d->cfg->policy.shell, "ask") != 0)
		say_bad(d, false, "agent",
			"kairo config set policy.shell ask, to be asked on the phone instead",
			"policy.shell is %s: whatever the agent asks leave for is refused",
			d->cfg->policy.shell);
}

static const char *trial_advice(const struct agent_plan *plan, const struct agent_trial *t)
{
	switch (t->fail) {
	case ENGINE_FAIL_AGENT_LOGIN:
		return plan->login ? plan->login : "log it in, on this machine";
	case ENGINE_FAIL_AGENT_START:
		return "run it by itself in a terminal, and see what it lacks";
	case ENGINE_FAIL_DEADLINE: return "see whether it answers by itself, and the network";
	default:
		return "see whether it answers by itself in a terminal: its model, its key, its login";
	}
}

static void try_agent(struct doctor *d, const struct agent_plan *plan, const char *workspace)
{
	const char *where = tools_sandbox(d->tools)->namespaces
	                            ? "confined to the workspace and its own folders"
	                            : "unconfined";
	struct agent_trial t;
	struct log *log = NULL;
	struct err e = ERR_INIT;
	double s;

	if (log_open_fd(&log, STDERR_FILENO, LOG_ERROR, &e) < 0 ||
		agent_try(d->loop, log, plan, workspace, &t, &e) < 0) {
		say_bad(d, true, "engine", "see to what it names, then run this again", "%s",
			e.msg);
	} else {
		s = (double)t.ms / 1000;
		if (t.fail)
			say_bad(d, true, "engine", trial_advice(plan, &t),
				"%s, %s: %s after %.1f s%s%s", t.what, where,
				engine_fail_name(t.fail), s, t.detail[0] ? ": " : "", t.detail);
		else
			say_ok("engine", "%s is logged in and answers after %.1f s: %s; %s", t.what,
				s, t.answer, where);
	}
	log_close(&log);
}

static void check_servers(struct doctor *d)
{
	struct str names = STR_INIT(4096);
	struct err e = ERR_INIT;
	char path[PATH_SIZE];
	struct mcp mcp;

	if (path_join(path, d->home->dir, MCP_FILE, &e) < 0 || mcp_load(&mcp, path, &e) < 0) {
		say_bad(d, true, "mcp",
			"mend that file; kairo.toml(5), MCP servers, shows what belongs into it",
			"no MCP server is handed to the agent: %s", e.msg);
		return;
	}
	for (size_t i = 0; i < mcp.n; i++) {
		const struct mcp_server *s = &mcp.servers[i];

		(void)str_addf(&names, "%s%s", i ? ", " : "", s->name);
		if (s->type == MCP_STDIO && !agent_can_start(s->command))
			say_bad(d, true, "mcp", "install it, or write where it is into mcp.json",
				"server %s: there is no program %s", s->name, s->command);
	}
	if (mcp.n > 0)
		say_ok("mcp", "handed to the agent with each session: %s", str_cstr(&names));
	str_release(&names);
	mcp_release(&mcp);
}

static void check_hooks(struct doctor *d)
{
	enum plugin_state state;
	char kimi[PATH_SIZE];
	struct err e = ERR_INIT;

	if (!hooks_home(d->cfg, kimi))
		return;
	if (plugin_state(kimi, &state, &e) < 0)
		say_bad(d, false, "hooks", "mend or remove that file", "%s", e.msg);
	else if (!strcmp(d->cfg->acp.hooks, "off"))
		say_ok("hooks",
			"acp.hooks is off: what Kimi brings in the background is not heard of");
	else if (state == PLUGIN_READY)
		say_ok("hooks", "Kimi's plugin " PLUGIN_ID " tells of background work");
	else
		say_bad(d, false, "hooks", "kairo hooks install, or config set acp.hooks off",
			"Kimi's plugin " PLUGIN_ID " is %s: what Kimi brings in the background is "
			"not heard of",
			state == PLUGIN_OFF     ? "switched off in Kimi"
			: state == PLUGIN_STALE ? "not as it should be"
						: "not installed");
}

/* Without a workspace, which is said above, it is only looked for. */
static int plan_agent(struct doctor *d, struct agent_plan *plan, char workspace[PATH_SIZE],
	struct err *e)
{
	if (workspace_find(workspace, d->cfg->workspace, d->home->root, false, e) == 0)
		return agent_plan(plan, d->home, d->cfg, workspace,
			tools_sandbox(d->tools)->namespaces, e);
	if (e->code != E_NOTFOUND)
		return -1;
	workspace[0] = '\0';
	return agent_find(d->cfg, d->cfg->workspace, plan->program, e);
}

static void check_installed(struct doctor *d, bool try)
{
	struct agent_plan plan = { .argv = NULL };
	char workspace[PATH_SIZE];
	struct err e = ERR_INIT;

	if (!d->tools) /* said above */
		return;
	if (plan_agent(d, &plan, workspace, &e) < 0) {
		say_bad(d, true, "agent",
			"kairo config set acp.preset NAME for another one, or engine react for the "
			"built-in one",
			"%s", e.msg);
	} else if (!workspace[0]) {
		say_ok("agent", "%s; what it can do is told once there is a workspace",
			plan.program);
	} else {
		say_agent(d, &plan);
		if (try)
			try_agent(d, &plan, workspace);
	}
	agent_plan_release(&plan);
}

static void check_agent(struct doctor *d, bool try)
{
	check_installed(d, try);
	check_hooks(d);
	check_servers(d);
}

void doctor_engine(struct doctor *d, bool try)
{
	if (strcmp(d->cfg->engine, "acp") == 0) {
		check_agent(d, try);
	} else {
		check_model(d);
		if (try)
			say_ok("engine", "the built-in one: kairo ask hello tries it");
	}
	check_others(d);
}
