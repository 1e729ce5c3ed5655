#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/acp/acp.h"
#include "agent/react/react.h"
#include "channel/words.h"
#include "cli/agent.h"
#include "cli/app.h"
#include "cli/hooks.h"
#include "cli/manual.h"
#include "cli/policy.h"
#include "cli/search.h"
#include "cli/workspace.h"
#include "tools/host/sandbox.h"
#include "tools/host/todo.h"

void rules_for_ilink(struct http_rules *r, const struct config *c)
{
	*r = (struct http_rules){
		.reach = HTTP_PUBLIC,
		.loopback = c->network.allow_loopback,
		.fake_ip = c->network.allow_fake_ip,
		.proxy = c->network.proxy,
		.ca_file = c->network.ca_file[0] ? c->network.ca_file : NULL,
	};
}

/* The model's base URL is the operator's own word and may be private and plain. */
void rules_for_model(struct http_rules *r, const struct config *c)
{
	*r = (struct http_rules){
		.reach = HTTP_ANY,
		.plain_http = true,
		.proxy = c->network.proxy,
		.ca_file = c->network.ca_file[0] ? c->network.ca_file : NULL,
		.user_agent = "kairo/" KAIRO_VERSION,
	};
}

int check_ca_file(const struct config *c, struct err *e)
{
	if (c->network.ca_file[0] && access(c->network.ca_file, R_OK) < 0)
		return err_sys(e, "network.ca_file %s", c->network.ca_file);
	return 0;
}

int find_helper(char out[PATH_SIZE], struct err *e)
{
	char self[PATH_SIZE];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return err_sys(e, "/proc/self/exe");
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	*slash = '\0';
	/* An installation has it in libexec, a build tree in tools/, beside our cli/. */
	const char *beside[] = { KAIRO_LIBEXEC "/kairo-tool", "../tools/kairo-tool" };
	for (size_t i = 0; i < 2; i++) {
		char path[PATH_SIZE];

		if (path_join(path, self, beside[i], e) < 0)
			return -1;
		if (realpath(path, out) && access(out, X_OK) == 0)
			return 0;
	}
	return err_set(e, E_NOTFOUND, "the helper kairo-tool is not installed beside kairo");
}

static int open_policy(struct policy **out, const struct config *cfg, struct err *e)
{
	struct policy_rules rules;

	policy_rules_from(&rules, cfg);
	return policy_open(out, &rules, e);
}

static struct acp_settings acp_settings_of(const struct config *cfg)
{
	return (struct acp_settings){ cfg->acp.model, cfg->acp.effort, cfg->acp.mode };
}

int workshop_apply(struct workshop *w, const struct config *cfg, struct err *e)
{
	const struct acp_settings settings = acp_settings_of(cfg);
	struct policy *fresh;

	if (open_policy(&fresh, cfg, e) < 0)
		return -1;
	tools_set_policy(w->tools, fresh);
	policy_free(&w->policy);
	w->policy = fresh;
	audit_set(w->audit, w->log, cfg->audit_days);
	if (strcmp(w->engine->ops->name, "acp") == 0)
		return acp_set(w->engine, &settings, e);
	return 0;
}

static int open_tools(struct workshop *w, const struct home *h, const struct config *cfg,
	struct err *e)
{
	char dir[PATH_SIZE], helper[PATH_SIZE];

	if (path_join(dir, h->dir, "audit", e) < 0 || file_mkdir_private(dir, e) < 0 ||
		audit_open(&w->audit, dir, loop_clock(w->loop), e) < 0 ||
		find_helper(helper, e) < 0 || open_policy(&w->policy, cfg, e) < 0)
		return -1;
	audit_set(w->audit, w->log, cfg->audit_days);
	audit_end_lost(w->audit);
	const struct tools_env env = {
		.loop = w->loop,
		.log = w->log,
		.audit = w->audit,
		.helper = helper,
		.workspace = w->workspace,
		.hide = h->root,
		.sandbox_required = !strcmp(cfg->sandbox.mode, "required"),
		.read_paths = (const char *const *)cfg->sandbox.read,
		.policy = w->policy,
		.word = words_wording,
	};
	return tools_open(&w->tools, &env, e);
}

static int open_web(struct workshop *w, const struct config *cfg, struct err *e)
{
	struct web_env env = {
		.loop = w->loop,
		.log = w->log,
		.tools = w->tools,
		.proxy = cfg->network.proxy,
		.ca_file = cfg->network.ca_file[0] ? cfg->network.ca_file : NULL,
	};

	search_settings(&env, cfg);
#ifdef KAIRO_TEST_HOOKS
	env.loopback = cfg->network.allow_loopback;
#endif
	return web_open(&w->web, &env, e);
}

static void mask_key(struct log *log, const char *key, const char *whose)
{
	struct err e = ERR_INIT;

	if (key && key[0] && log_add_secret(log, key, &e) < 0)
		log_warn(log, "app", "%s's key is too short to be masked in the log", whose);
}

static void mask_keys(struct log *log, const struct config *cfg)
{
	mask_key(log, cfg->model.api_key, "the model");
	for (int p = 0; p < SEARCH_PROVIDERS; p++)
		mask_key(log, cfg->search.key[p], search_names[p]);
	mask_key(log, cfg->voice.key, "the voice");
}

static int open_react(struct workshop *w, struct config *cfg, struct err *e)
{
	struct http_rules rules;
	struct react_choice choice;

	rules_for_model(&rules, cfg);
	if (http_open(&w->model_http, w->loop, &rules, w->log, e) < 0)
		return -1;
	model_choice_init(&w->choice, cfg, w->log);
	choice = model_choice_of(&w->choice);
	const struct react_env env = {
		.loop = w->loop,
		.log = w->log,
		.db = w->db,
		.http = w->model_http,
		.tools = w->tools,
		.speak = words_speech,
		.model = model_choice_now(cfg),
		.choice = &choice,
		.system_extra = cfg->model.system_prompt,
		.workspace = w->workspace,
		.token_budget = cfg->model.token_budget,
		.max_iterations = (int)cfg->model.max_iterations,
		.idle_ms = cfg->model.idle_seconds * 1000,
	};
	return react_open(&w->engine, &env, e);
}

/* Kimi's folder, where its hooks are to be heard; else NULL. Without them it works all the same. */
static const char *hooks_of(struct workshop *w, const struct home *h, const struct config *cfg,
	char kimi[PATH_SIZE])
{
	struct err e = ERR_INIT;
	bool ready;

	if (hooks_ready(h, cfg, &ready, &e) < 0)
		log_warn(w->log, "app", "background work of the agent is not heard of: %s", e.msg);
	return ready && hooks_home(cfg, kimi) ? kimi : NULL;
}

/* For the prompts: the operator's words, unless they stand in the agent's own file, and how files
 * reach the user. */
static int words_for_prompts(struct str *out, struct workshop *w, const struct config *cfg,
	const struct agent_plan *plan, struct err *why)
{
	const char *words = cfg->model.system_prompt;
	struct err e = ERR_INIT;
	int placed = 0;

	if (workspace_is_own(w->workspace))
		placed = manual_place(acp_preset_find(plan->name), w->workspace, words, &e);
	if (placed < 0)
		log_warn(w->log, "app", "the agent is instructed in its prompts instead: %s",
			e.msg);
	if (placed <= 0 && words[0])
		str_addf(out, "%s\n", words);
	str_adds(out, engine_files_how);
	return str_ok(out) ? 0 : err_set(why, E_NOMEM, "what the agent is told");
}

static int open_acp(struct workshop *w, const struct home *h, const struct config *cfg,
	struct err *e)
{
	char helper[PATH_SIZE], kimi[PATH_SIZE];
	struct str words = STR_INIT(1 << 20);
	struct agent_plan plan;
	int rc;

	if (find_helper(helper, e) < 0 ||
		agent_plan(&plan, h, cfg, w->workspace, tools_sandbox(w->tools)->namespaces, e) < 0)
		return -1;
	rc = words_for_prompts(&words, w, cfg, &plan, e);
	const struct acp_env env = {
		.loop = w->loop,
		.log = w->log,
		.db = w->db,
		.tools = w->tools,
		.speak = words_speech,
		.name = plan.name,
		.path = helper,
		.argv = (const char *const *)plan.argv,
		.env = (const char *const *)plan.env,
		.workspace = w->workspace,
		.login = plan.login,
		.settings = acp_settings_of(cfg),
		.instructions = str_cstr(&words),
		.mcp = plan.mcp,
		.offer = { .fs = cfg->acp.fs && !plan.own_files, .terminal = cfg->acp.terminal },
		.strict = cfg->acp.strict,
		.hooks_home = hooks_of(w, h, cfg, kimi),
	};
	if (rc == 0)
		rc = acp_open(&w->engine, &env, e);
	agent_plan_release(&plan);
	str_release(&words);
	return rc;
}

static int open_engine(struct workshop *w, const struct home *h, struct config *cfg, struct err *e)
{
	return strcmp(cfg->engine, "acp") == 0 ? open_acp(w, h, cfg, e) : open_react(w, cfg, e);
}

int workshop_open(struct workshop *w, const struct home *h, struct config *cfg, struct loop *loop,
	struct log *log, struct err *e)
{
	char path[PATH_SIZE];

	memset(w, 0, sizeof(*w));
	w->loop = loop;
	w->log = log;
	w->workspace_fd = -1;
	if (workspace_find(w->workspace, cfg->workspace, h->root, true, e) < 0)
		return -1;
	if ((w->workspace_fd = workspace_lock(w->workspace, e)) < 0)
		return -1;
	if (config_load_search(cfg, e) < 0 || config_load_voice(cfg, e) < 0) {
		workshop_close(w);
		return -1;
	}
	mask_keys(log, cfg);
	if (path_join(path, h->dir, "state.db", e) < 0 || db_open(&w->db, path, e) < 0 ||
		open_tools(w, h, cfg, e) < 0 || open_web(w, cfg, e) < 0 ||
		todo_open(&w->todo, w->db, loop_clock(loop), w->tools, e) < 0 ||
		open_engine(w, h, cfg, e) < 0) {
		workshop_close(w);
		return -1;
	}
	return 0;
}

void workshop_close(struct workshop *w)
{
	if (w->engine)
		w->engine->ops->close(&w->engine);
	model_choice_release(&w->choice);
	tools_close(&w->tools);
	web_close(&w->web);
	todo_close(&w->todo);
	policy_free(&w->policy);
	audit_close(&w->audit);
	http_close(&w->model_http);
	db_close(&w->db);
	if (w->workspace_fd >= 0)
		close(w->workspace_fd);
	w->workspace_fd = -1;
}
