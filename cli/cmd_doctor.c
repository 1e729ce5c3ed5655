/* doctor: every layer on its own, from the ground up; each failing line ends with what to do. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "channel/daemon.h"
#include "channel/ilink/ilink.h"
#include "agent/acp/preset.h"
#include "cli/agent.h"
#include "cli/agent_try.h"
#include "cli/app.h"
#include "cli/client.h"
#include "cli/ears.h"
#include "cli/hooks.h"
#include "cli/policy.h"
#include "cli/search.h"
#include "cli/workspace.h"
#include "tools/host/mcp.h"
#include "tools/host/program.h"

enum {
	CONNECT_MS = 5000,
	REQUEST_MS = 10000,
	DISK_FAIL_MIB = 16,
	DISK_WARN_MIB = 200,
	CLOCK_SKEW_S = 300
};

struct doctor {
	const struct home *home;
	struct config *cfg;
	struct account *account;
	struct loop *loop;
	struct http *ilink_http, *model_http;
	struct tools *tools; /* once the sandbox was looked at */
	int failed, warned;
	int64_t server_time; /* Unix seconds from the server's Date header; 0 unknown */
	bool reached;        /* the iLink host answered over HTTP */
};

__attribute__((format(printf, 2, 3))) static void ok(const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("ok    %-10s ", what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

__attribute__((format(printf, 5, 6))) static void bad(struct doctor *d, bool fail, const char *what,
	const char *todo, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("%s  %-10s ", fail ? "FAIL" : "warn", what);
	print_safe(stdout, view_of(text));
	printf("\n      -> %s\n", todo);
	if (fail)
		d->failed++;
	else
		d->warned++;
}

/* --- This machine ----------------------------------------------------------------------------- */

static bool check_config(struct doctor *d)
{
	struct err e = ERR_INIT;

	if (config_load(&d->cfg, d->home->dir, &e) < 0) {
		bad(d, true, "config", "correct that line, or remove the file to start afresh",
			"%s", e.msg);
		return false;
	}
	if (config_load_key(d->cfg, &e) < 0)
		bad(d, true, "config", "kairo config set model.api_key --stdin", "%s", e.msg);
	else if (config_load_search(d->cfg, &e) < 0)
		bad(d, true, "config", "kairo config set search.PROVIDER_key --stdin", "%s", e.msg);
	else if (config_load_voice(d->cfg, &e) < 0)
		bad(d, true, "config", "kairo config set voice.api_key --stdin", "%s", e.msg);
	else if (check_ca_file(d->cfg, &e) < 0)
		bad(d, true, "config", "kairo config set network.ca_file PATH, or unset it", "%s",
			e.msg);
	else
		ok("config", "%s/" CONFIG_FILE, d->home->dir);
	const char *lines[8];
	size_t n = config_relaxed(d->cfg, lines, 8);
	for (size_t i = 0; i < n; i++)
		bad(d, false, "config", "fine while that is what you want", "%s", lines[i]);
	return true;
}

static void warn_of_policy(void *arg, const char *line)
{
	bad(arg, false, "policy", "fine while that is what you want", "%s", line);
}

static void warn_of_program(void *arg, const char *line)
{
	bad(arg, false, "policy", "install it, or name it by its whole path", "%s", line);
}

static void check_policy(struct doctor *d)
{
	struct policy_rules rules;
	struct policy *p;
	struct err e = ERR_INIT;

	policy_rules_from(&rules, d->cfg);
	if (policy_open(&p, &rules, &e) < 0) {
		bad(d, true, "policy", "see kairo.toml(5), [policy]", "%s", e.msg);
		return;
	}
	ok("policy", "shell %s, write %s, web %s", d->cfg->policy.shell, d->cfg->policy.write,
		d->cfg->policy.web);
	policy_warn(p, warn_of_policy, d);
	policy_warn_programs(p, d->cfg->workspace, warn_of_program, d);
	policy_free(&p);
}

static void check_home(struct doctor *d)
{
	struct stat st;

	if (lstat(d->home->dir, &st) < 0)
		bad(d, false, "home", "kairo login makes it", "%s does not exist yet",
			d->home->dir);
	else if (st.st_uid != geteuid())
		bad(d, true, "home",
			"run kairo as its owner, or set KAIRO_HOME to a folder of yours",
			"%s belongs to another user", d->home->dir);
	else if (st.st_mode & 077)
		bad(d, true, "home", "chmod 700 that folder: it holds credentials",
			"%s is open to others", d->home->dir);
	else
		ok("home", "%s", d->home->dir);
}

static void check_disk(struct doctor *d)
{
	struct statvfs v;
	const char *at = access(d->home->dir, F_OK) == 0 ? d->home->dir : "/";

	if (statvfs(at, &v) < 0) {
		bad(d, false, "disk", "see why the file system does not answer", "%s: %s", at,
			strerror(errno));
		return;
	}
	unsigned long long mib = (unsigned long long)v.f_bavail * v.f_frsize >> 20;
	if (mib < DISK_FAIL_MIB)
		bad(d, true, "disk", "free some space: messages cannot be stored safely",
			"%llu MiB free at %s", mib, at);
	else if (mib < DISK_WARN_MIB)
		bad(d, false, "disk", "free some space soon", "%llu MiB free at %s", mib, at);
	else
		ok("disk", "%llu MiB free", mib);
}

/* Everything that comes from outside as a file goes there, and nowhere else. */
static void check_media(struct doctor *d)
{
	char path[PATH_SIZE];
	struct err e = ERR_INIT;
	int fd;

	if (path_join(path, d->home->dir, "media", &e) < 0 || !file_exists(path))
		return; /* the first start makes it */
	fd = file_open_dir(path, &e);
	if (fd < 0)
		bad(d, true, "media",
			"put a folder of your own in its place, or move it away: kairo makes a new one",
			"%s", e.msg);
	else
		close(fd);
}

static void check_state(struct doctor *d)
{
	char path[PATH_SIZE];
	struct db *db = NULL;
	struct err e = ERR_INIT;

	if (path_join(path, d->home->dir, "state.db", &e) == 0 && !file_exists(path))
		return; /* the first start makes it */
	if (e.code || db_open(&db, path, &e) < 0 || db_check(db, &e) < 0)
		bad(d, true, "state",
			"kairo stop; put a copy of it back, or move it away: conversations and "
			"waiting messages begin anew then",
			"%s", e.msg);
	else
		ok("state", "%s", path);
	db_close(&db);
}

static void check_workspace(struct doctor *d)
{
	char path[PATH_SIZE];
	struct err e = ERR_INIT;

	if (workspace_find(path, d->cfg->workspace, d->home->root, false, &e) < 0)
		bad(d, e.code != E_NOTFOUND, "workspace",
			e.code == E_NOTFOUND
				? "kairo start makes it; kairo config set workspace PATH names another"
				: "kairo config set workspace PATH",
			"%s", e.msg);
	else if (access(path, R_OK | W_OK | X_OK) < 0)
		bad(d, true, "workspace", "give yourself read and write access to it", "%s: %s",
			path, strerror(errno));
	else
		ok("workspace", "%s", path);
}

static void check_sandbox(struct doctor *d)
{
	char helper[PATH_SIZE], path[PATH_SIZE];
	struct str line = STR_INIT(1000);
	struct err e = ERR_INIT;

	if (find_helper(helper, &e) < 0) {
		bad(d, true, "sandbox", "install kairo again: cmake --install BUILD", "%s", e.msg);
		return;
	}
	/* Before there is a workspace, what this machine can do is tried with another folder. */
	bool there = workspace_find(path, d->cfg->workspace, d->home->root, false, &e) == 0;
	if (!there && (e.code != E_NOTFOUND || copy_z(path, sizeof(path), VIEW("/tmp")) < 0))
		return; /* said above */
	const struct tools_env env = { .loop = d->loop,
		.helper = helper,
		.workspace = path,
		.hide = there ? d->home->root : NULL,
		.sandbox_required = !strcmp(d->cfg->sandbox.mode, "required") };
	if (tools_open(&d->tools, &env, &e) < 0) {
		bad(d, true, "sandbox", "see the message", "%s", e.msg);
		return;
	}
	tools_confinement(d->tools, &line);
	if (tools_confinement_advice(d->tools)[0])
		bad(d, false, "sandbox", tools_confinement_advice(d->tools), "%s", str_cstr(&line));
	else
		ok("sandbox", "%s", str_cstr(&line));
	str_release(&line);
}

static void say_lacks(struct doctor *d, struct view lines)
{
	while (lines.n > 0) {
		struct view line = view_cut(lines, view_find(lines, '\n'));

		bad(d, false, "libraries",
			"install it; on Debian: apt install libturbojpeg0 libspng0 libwebp7 libgif7 "
			"libxml2",
			"%.*s", VIEW_FMT(line));
		lines = view_from(lines, line.n + 1);
	}
}

/* Kairo works without them, but for the files that they read. */
static void check_libraries(struct doctor *d)
{
	struct str lacks = STR_INIT(4096);
	struct err e = ERR_INIT;

	if (!d->tools) /* said above */
		return;
	if (tools_lacks(d->tools, &lacks, &e) < 0)
		bad(d, true, "libraries", "install kairo again: cmake --install BUILD", "%s",
			e.msg);
	else if (lacks.n == 0)
		ok("libraries", "pictures and web pages can be read");
	else
		say_lacks(d, str_view(&lacks));
	str_release(&lacks);
}

/* --- The network ------------------------------------------------------------------------------ */

static bool is_fake_ip(const struct sockaddr *sa)
{
	return !http_addr_public(sa, false) && http_addr_public(sa, true);
}

static int connect_within(const struct addrinfo *ai, int ms)
{
	int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int soerr = 0;
	socklen_t n = sizeof(soerr);

	if (fd < 0)
		return errno;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EINPROGRESS)
		soerr = errno;
	else if (poll(&p, 1, ms) <= 0)
		soerr = ETIMEDOUT;
	else
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &soerr, &n);
	close(fd);
	return soerr;
}

/* Name and TCP. True when a connection could be made. */
static bool check_host(struct doctor *d, const char *what, const char *url)
{
	struct http_url u;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	char host[256], port[16];
	struct err e = ERR_INIT;
	int rc;

	if (http_url_parse(view_of(url), &u, &e) < 0 || copy_z(host, sizeof(host), u.host) < 0) {
		bad(d, true, what, "write it as https://host/path", "%s is no usable address", url);
		return false;
	}
	if (d->cfg->network.proxy[0]) {
		ok(what, "by way of the proxy: name and connection are its matter");
		return true;
	}
	snprintf(port, sizeof(port), "%d", u.port);
	if ((rc = getaddrinfo(host, port, &hints, &list)) != 0) {
		bad(d, true, what, "check the network and /etc/resolv.conf",
			"the name %s cannot be resolved: %s", host, gai_strerror(rc));
		return false;
	}
	if (is_fake_ip(list->ai_addr) && !d->cfg->network.allow_fake_ip)
		bad(d, false, what,
			"if a proxy tool of yours does that: kairo config set network.allow_fake_ip true",
			"%s resolves to 198.18.0.0/15, a fake address", host);
	rc = ECONNREFUSED;
	for (const struct addrinfo *ai = list; ai && rc; ai = ai->ai_next)
		rc = connect_within(ai, CONNECT_MS);
	freeaddrinfo(list);
	if (rc) {
		bad(d, true, what, "check the network, a firewall, or network.proxy",
			"no connection to %s:%s: %s", host, port, strerror(rc));
		return false;
	}
	ok(what, "%s resolves and accepts connections on port %s", host, port);
	return true;
}

struct answer {
	struct loop *loop;
	bool done;
	enum http_fail fail;
	int status;
	struct err err;
};

static void on_answer(void *arg, const struct http_result *r)
{
	struct answer *a = arg;

	a->done = true;
	a->fail = r->fail;
	a->status = r->status;
	a->err = *r->err;
	loop_stop(a->loop);
}

/* A GET with the key, or (bearer NULL) the connection alone. */
static void reach(struct doctor *d, struct http *pool, const char *url, const char *bearer,
	struct answer *a)
{
	char auth[ACCOUNT_TOKEN_MAX + 16];
	const struct http_header h[] = { { "Authorization", auth } };
	struct http_call *call = NULL;
	const struct http_req req = {
		.method = "GET",
		.url = url,
		.headers = h,
		.nheaders = bearer && bearer[0] ? 1 : 0,
		.timeout_ms = REQUEST_MS,
		.body_max = 4 << 20,
		.connect_only = !bearer,
		.on_done = on_answer,
		.arg = a,
	};

	memset(a, 0, sizeof(*a));
	a->loop = d->loop;
	snprintf(auth, sizeof(auth), "Bearer %s", bearer ? bearer : "");
	if (http_start(&call, pool, &req, &a->err) < 0)
		a->fail = HTTP_FAIL_URL;
	else if (loop_run(d->loop, &a->err) < 0)
		a->fail = HTTP_FAIL_BROKEN;
	explicit_bzero(auth, sizeof(auth));
}

static const char *advice(enum http_fail f)
{
	switch (f) {
	case HTTP_FAIL_TLS:
		return "check the clock, ca-certificates, and whether a proxy breaks TLS open";
	case HTTP_FAIL_URL:
	case HTTP_FAIL_PEER:
		return "the address is not public https; for a local test server set "
		       "network.allow_loopback";
	case HTTP_FAIL_TIMEOUT:
		return "the host does not answer in time; try again, or check the network";
	default: return "check the network and the address";
	}
}

static void check_tls(struct doctor *d, const char *url)
{
	struct answer a;

	reach(d, d->ilink_http, url, NULL, &a);
	if (a.fail) {
		bad(d, true, "tls", advice(a.fail), "%s", a.err.msg);
		return;
	}
	d->reached = true;
	ok("tls", "%s", strncmp(url, "https:", 6) ? "none: plain http" : "the certificate is good");
}

static void check_clock(struct doctor *d)
{
	int64_t now = clock_wall(clock_system()) / 1000;
	int64_t skew = d->server_time ? now - d->server_time : 0;

	if (!d->server_time)
		ok("clock", "not compared: %s",
			d->reached ? "the server gives no time" : "no server answered");
	else if (llabs(skew) > CLOCK_SKEW_S)
		bad(d, true, "clock", "set the clock (timedatectl set-ntp true)",
			"%lld s away from the server's time", (long long)skew);
	else
		ok("clock", "within %lld s of the server's", (long long)llabs(skew));
}

struct probe_wait {
	struct doctor *doctor;
	struct err err;
};

static void on_probe(void *arg, const struct err *result, const char *date)
{
	struct probe_wait *w = arg;
	struct tm tm = { 0 };

	w->err = *result;
	if (date && strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		w->doctor->server_time = timegm(&tm);
	loop_stop(w->doctor->loop);
}

static void check_token(struct doctor *d)
{
	struct probe_wait w = { .doctor = d };
	struct ilink_probe *p = NULL;
	const struct ilink_env env = {
		.loop = d->loop,
		.poll_http = d->ilink_http,
		.api_http = d->ilink_http,
		.loopback = d->cfg->network.allow_loopback,
		.client_version =
			d->cfg->ilink.client_version[0] ? d->cfg->ilink.client_version : NULL,
		.bot_agent = d->cfg->ilink.bot_agent[0] ? d->cfg->ilink.bot_agent : NULL,
		.route_tag = d->cfg->ilink.route_tag[0] ? d->cfg->ilink.route_tag : NULL,
	};

	if (ilink_probe_start(&p, &env, d->account, on_probe, &w, &w.err) == 0)
		loop_run(d->loop, &w.err);
	ilink_probe_free(&p);
	if (w.err.code == E_OK)
		ok("token", "the server accepts it");
	else if (w.err.code == E_AUTH)
		bad(d, true, "token", "kairo login --force, then kairo restart",
			"the login has expired");
	else
		bad(d, true, "token", "try again; if it stays, kairo login --force", "%s",
			w.err.msg);
}

static void check_account(struct doctor *d)
{
	struct err e = ERR_INIT;
	const char *url;

	if (account_load(&d->account, d->home->dir, &e) < 0) {
		bad(d, true, "login", "kairo login", "%s",
			e.code == E_NOTFOUND ? "nobody is logged in" : e.msg);
		url = ACCOUNT_LOGIN_URL;
	} else {
		ok("login", "bot %s, owner %s", account_bot_id(d->account),
			account_user_id(d->account)[0] ? account_user_id(d->account) : "unknown");
		url = account_base_url(d->account);
	}
	if (check_host(d, "ilink", url))
		check_tls(d, url);
	if (d->account && d->reached)
		check_token(d);
	check_clock(d);
}

/* --- The model -------------------------------------------------------------------------------- */

static void check_model(struct doctor *d)
{
	char url[ACCOUNT_URL_MAX + 16];
	struct answer a;
	size_t n = strlen(d->cfg->model.base_url);

	if (!n || !d->cfg->model.name[0]) {
		bad(d, true, "model",
			"kairo config set model.provider NAME; or model.base_url URL and model.name NAME",
			"no model is set up");
		return;
	}
	if (!check_host(d, "model", d->cfg->model.base_url))
		return;
	snprintf(url, sizeof(url), "%s%smodels", d->cfg->model.base_url,
		d->cfg->model.base_url[n - 1] == '/' ? "" : "/");
	reach(d, d->model_http, url, d->cfg->model.api_key, &a);
	if (a.fail)
		bad(d, true, "model", advice(a.fail), "%s", a.err.msg);
	else if (a.status == 401 || a.status == 403)
		bad(d, true, "model", "kairo config set model.api_key --stdin",
			"the provider refuses the key (status %d)", a.status);
	else if (a.status >= 500)
		bad(d, true, "model", "the provider has trouble; try again later", "status %d",
			a.status);
	else if (a.status / 100 != 2)
		bad(d, false, "model", "fine when `kairo ask hello` answers",
			"the host answers, but does not list its models (status %d)", a.status);
	else
		ok("model", "%s, %s", d->cfg->model.name,
			d->cfg->model.api_key[0] ? "the key is accepted" : "no key is asked for");
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
		ok("agents", "installed%s: %s (acp.preset)", acp ? " too" : " for engine acp",
			str_cstr(&names));
	str_release(&names);
}

static void say_agent(struct doctor *d, const struct agent_plan *plan)
{
	const struct acp_preset *preset = acp_preset_find(plan->name);
	struct err e = ERR_INIT;
	char version[80];

	if (!preset)
		ok("agent", "%s", plan->program);
	else if (agent_version(d->loop, plan, preset->version, version, &e) < 0)
		bad(d, false, "agent", "kairo doctor --engine tries whether it answers",
			"%s, %s: %s", preset->title, plan->program, e.msg);
	else
		ok("agent", "%s, %s, version %s; to log it in: %s", preset->title, plan->program,
			version, preset->login);
	if (strcmp(d->cfg->policy.shell, "ask") != 0)
		bad(d, false, "agent",
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
	const char *where = tools_namespaces(d->tools)
	                            ? "confined to the workspace and its own folders"
	                            : "unconfined";
	struct agent_trial t;
	struct log *log = NULL;
	struct err e = ERR_INIT;
	double s;

	if (log_open_fd(&log, STDERR_FILENO, LOG_ERROR, &e) < 0 ||
		agent_try(d->loop, log, plan, workspace, &t, &e) < 0) {
		bad(d, true, "engine", "see the message", "%s", e.msg);
	} else {
		s = (double)t.ms / 1000;
		if (t.fail)
			bad(d, true, "engine", trial_advice(plan, &t),
				"%s, %s: %s after %.1f s%s%s", t.what, where,
				engine_fail_name(t.fail), s, t.detail[0] ? ": " : "", t.detail);
		else
			ok("engine", "%s is logged in and answers after %.1f s: %s; %s", t.what, s,
				t.answer, where);
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
		bad(d, true, "mcp",
			"mend that file; kairo.toml(5), MCP servers, shows what belongs into it",
			"no MCP server is handed to the agent: %s", e.msg);
		return;
	}
	for (size_t i = 0; i < mcp.n; i++) {
		const struct mcp_server *s = &mcp.servers[i];

		(void)str_addf(&names, "%s%s", i ? ", " : "", s->name);
		if (s->type == MCP_STDIO && !agent_can_start(s->command))
			bad(d, true, "mcp", "install it, or write where it is into mcp.json",
				"server %s: there is no program %s", s->name, s->command);
	}
	if (mcp.n > 0)
		ok("mcp", "handed to the agent with each session: %s", str_cstr(&names));
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
		bad(d, false, "hooks", "mend or remove that file", "%s", e.msg);
	else if (!strcmp(d->cfg->acp.hooks, "off"))
		ok("hooks", "acp.hooks is off: what Kimi brings in the background is not heard of");
	else if (state == PLUGIN_READY)
		ok("hooks", "Kimi's plugin " PLUGIN_ID " tells of background work");
	else
		bad(d, false, "hooks", "kairo hooks install, or config set acp.hooks off",
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
		return agent_plan(plan, d->home, d->cfg, workspace, tools_namespaces(d->tools), e);
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
		bad(d, true, "agent",
			"kairo config set acp.preset NAME for another one, or engine react for the "
			"built-in one",
			"%s", e.msg);
	} else if (!workspace[0]) {
		ok("agent", "%s; what it can do is told once there is a workspace", plan.program);
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

static void check_engine(struct doctor *d, bool try)
{
	if (strcmp(d->cfg->engine, "acp") == 0) {
		check_agent(d, try);
	} else {
		check_model(d);
		if (try)
			ok("engine", "the built-in one: kairo ask hello tries it");
	}
	check_others(d);
}

static void check_search(struct doctor *d)
{
	struct str names = STR_INIT(160);

	search_text(d->cfg, &names);
	if (names.n > 0)
		ok("search", "%s", str_cstr(&names));
	else
		ok("search", "no provider is set up, so the agent cannot search the web "
			     "(kairo.toml(5), [search])");
	str_release(&names);
}

/* --- Voices ----------------------------------------------------------------------------------- */

/* True: it could be run. */
static bool check_program(struct doctor *d, const char *name, const char *const *argv)
{
	struct err e = ERR_INIT;

	if (program_check(d->tools, argv, &e) == 0)
		return true;
	bad(d, false, "voice", "see kairo.toml(5), [voice]", "%s: %s", name, e.msg);
	return false;
}

static bool check_listener(struct doctor *d, const struct voice_settings *s)
{
	if (!s->transcriber[0])
		return check_host(d, "voice", s->base_url);
	if (s->base_url[0])
		bad(d, false, "voice", "unset one of the two",
			"voice.base_url is not asked: voice.transcriber comes before it");
	return check_program(d, "voice.transcriber", s->transcriber);
}

static void say_half(struct doctor *d, const struct voice_settings *s)
{
	if (s->base_url[0] || s->name[0] || s->decoder[0])
		bad(d, false, "voice", "set voice.transcriber, or voice.base_url and voice.name",
			"half of it is set up: nothing listens to a voice that came without text");
	else
		ok("voice", "WeChat's own text; a voice that came without is not heard "
			    "(kairo.toml(5), [voice])");
}

/* Does what is set up for voices hold, as far as can be told without one? */
static void check_voice(struct doctor *d)
{
	struct voice_settings s;

	voice_settings_from(&s, d->cfg);
	if (!d->tools) /* said above */
		return;
	if (!voice_set_up(&s))
		say_half(d, &s);
	else if (!check_listener(d, &s))
		return; /* said */
	else if (!s.decoder[0])
		bad(d, false, "voice", "see contrib/voice",
			"voice.decoder is not set: WeChat's own format (SILK) cannot be heard");
	else if (check_program(d, "voice.decoder", s.decoder))
		ok("voice", "%s", s.transcriber[0] ? s.transcriber[0] : s.name);
}

/* --- The daemon ------------------------------------------------------------------------------- */

static int64_t member_int(const struct json *obj, const char *name)
{
	int64_t n = 0;
	struct err e = ERR_INIT;

	json_get_int(obj, name, JSON_OPTIONAL, INT64_MIN, INT64_MAX, &n, &e);
	return n;
}

static void check_window(struct doctor *d, const struct json *j)
{
	const struct json *sends = json_member(j, "sends");
	int64_t left = member_int(sends, "window_left_s"), used = member_int(sends, "used");

	if (left <= 0)
		bad(d, false, "window", "write anything to the bot on the phone",
			"the reply window is closed: nothing can be sent before the next message");
	else if (used >= 8)
		bad(d, false, "window", "write anything to the bot on the phone",
			"%lld of 10 sends are used up", (long long)used);
	else
		ok("window", "open for %lld min, %lld of 10 sends used", (long long)left / 60,
			(long long)used);
}

static void check_daemon(struct doctor *d)
{
	struct str answer = STR_INIT(1 << 20);
	const struct client_call call = { .method = "GET",
		.path = "/v1/status",
		.answer = &answer };
	struct json *j = NULL;
	struct view state = VIEW_NONE, why = VIEW_NONE;
	struct err e = ERR_INIT;

	if (client_request(d->home, &call, &e) < 0 ||
		json_read(&j, str_view(&answer), &json_limits_config, &e) < 0) {
		bad(d, false, "daemon", e.code == E_NOTFOUND ? "kairo start" : "kairo restart",
			"%s", e.code == E_NOTFOUND ? "not running" : e.msg);
		goto out;
	}
	const struct json *link = json_member(j, "link");
	json_get_str(link, "state", JSON_OPTIONAL, 0, 64, &state, &e);
	json_get_str(link, "why", JSON_OPTIONAL, 0, 512, &why, &e);
	if (view_eqs(state, "up") || view_eqs(state, "starting"))
		ok("daemon", "running, link %.*s", VIEW_FMT(state));
	else
		bad(d, true, "daemon", "kairo logs shows more", "link %.*s: %.*s", VIEW_FMT(state),
			VIEW_FMT(why));
	check_window(d, j);
out:
	json_free(&j);
	str_release(&answer);
}

static int open_network(struct doctor *d, struct err *e)
{
	struct http_rules r;

	if (loop_open(&d->loop, NULL, e) < 0)
		return -1;
	rules_for_ilink(&r, d->cfg);
	if (http_open(&d->ilink_http, d->loop, &r, NULL, e) < 0)
		return -1;
	rules_for_model(&r, d->cfg);
	return http_open(&d->model_http, d->loop, &r, NULL, e);
}

static void check_outside(struct doctor *d)
{
	check_account(d);
	check_search(d);
	check_voice(d);
	check_daemon(d);
}

/* Everything, or what the engine needs and one turn of it. */
static int check_all(struct doctor *d, bool engine, struct err *e)
{
	if (open_network(d, e) < 0)
		return -1;
	check_policy(d);
	check_workspace(d);
	check_sandbox(d);
	check_libraries(d);
	check_engine(d, engine);
	if (!engine)
		check_outside(d);
	return 0;
}

int cmd_doctor(const struct home *h, int argc, char **argv)
{
	bool engine = argc == 2 && strcmp(argv[1], "--engine") == 0;
	struct doctor d = { .home = h };
	struct err e = ERR_INIT;
	int rc = 0;

	if (argc > 1 && !engine)
		return say_usage("doctor", "doctor takes --engine, and nothing else");
	check_home(&d);
	check_disk(&d);
	check_state(&d);
	check_media(&d);
	if (check_config(&d))
		rc = check_all(&d, engine, &e);
	if (rc < 0)
		rc = say_err(&e);
	else
		rc = d.failed ? EXIT_FAILED : EXIT_DONE;
	if (e.code == E_OK)
		printf("\n%d failed, %d to look at\n", d.failed, d.warned);
	tools_close(&d.tools);
	http_close(&d.ilink_http);
	http_close(&d.model_http);
	loop_close(&d.loop);
	account_free(&d.account);
	config_free(&d.cfg);
	return rc;
}
