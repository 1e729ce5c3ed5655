/* What a daemon says of itself: over the control socket, and to /status on the phone. */
#include "cli/app-private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/confinement.h"
#include "cli/policy.h"

enum { WARNINGS_MAX = 16 };

size_t config_relaxed(const struct config *c, bool zh, const char **out, size_t max)
{
	size_t n = 0;

	if (c->network.allow_loopback && n + 1 < max)
		out[n++] = zh ? "network.allow_loopback 开着：接受到本机的明文 http，只供开发用"
		              : "network.allow_loopback is on: plain http to this machine is "
		                "accepted, for development only";
	if (c->network.allow_fake_ip && n + 1 < max)
		out[n++] = zh ? "network.allow_fake_ip 开着：198.18.0.0/15 当作公网地址"
		              : "network.allow_fake_ip is on: 198.18.0.0/15 counts as public";
	out[n] = NULL;
	return n;
}

/* These with all else about the settings that a user should know of. */
static size_t config_warnings(const struct config *c, const struct account *acc, bool zh,
	const char **out, size_t max)
{
	size_t n = config_relaxed(c, zh, out, max);

	if ((!c->model.base_url[0] || !c->model.name[0]) && n + 1 < max)
		out[n++] = zh ? "还没有设置模型：kairo config set model.provider 厂商，或者 "
		                "model.base_url 地址 和 model.name 名字"
		              : "no model is set up: kairo config set model.provider NAME, or "
		                "model.base_url URL and model.name NAME";
	if (acc && !account_user_id(acc)[0] && !c->allowed_users[0] && n + 1 < max)
		out[n++] = zh ? "登录里没有主人，所以谁的消息都不处理：kairo config set "
		                "allowed_users '[\"用户 ID\"]'"
		              : "the login names no owner, so nobody is served: kairo config set "
		                "allowed_users '[\"USER ID\"]'";
	out[n] = NULL;
	return n;
}

static const char *link_name(enum chan_link l)
{
	static const char *const names[] = { "starting", "up", "degraded", "login expired",
		"replaced", "stopped" };
	return names[l];
}

static void put_account(struct app *a, struct json_out *w, const struct chan_status *link)
{
	json_open(w, "account");
	json_put_z(w, "name", a->home->account);
	json_put_z(w, "bot_id", account_bot_id(a->account));
	json_put_z(w, "user_id", account_user_id(a->account));
	json_put_z(w, "login", link->link == CHAN_LINK_EXPIRED ? "expired" : "ok");
	json_close(w);
}

static void put_link(struct json_out *w, const struct chan_status *link)
{
	json_open(w, "link");
	json_put_z(w, "state", link_name(link->link));
	json_put_int(w, "last_good_poll", link->last_good_ms);
	json_put_int(w, "failures", link->failures);
	json_put_z(w, "why", link->why);
	json_put_u64(w, "skipped", link->skipped);
	json_close(w);
}

static void put_work(struct json_out *w, const struct control_status *s)
{
	json_open(w, "queue");
	json_put_int(w, "waiting", s->waiting);
	json_put_int(w, "limit", s->limit);
	json_close(w);
	if (s->turn) {
		json_open(w, "turn");
		json_put_u64(w, "id", s->turn);
		json_put_int(w, "age_s", s->turn_age_ms / 1000);
		json_close(w);
	} else {
		json_put_null(w, "turn");
	}
	json_open(w, "sends");
	json_put_int(w, "used", s->sends_used);
	json_put_int(w, "limit", s->sends_limit);
	json_put_int(w, "window_left_s", s->window_left_ms / 1000);
	json_close(w);
	json_open(w, "media");
	json_put_int(w, "files", s->media_files);
	json_put_int(w, "bytes", s->media_bytes);
	json_close(w);
	json_put_int(w, "unsent", s->unsent);
	json_put_int(w, "parked", s->parked);
	json_put_int(w, "refused", s->refused);
	json_put_int(w, "unknown", s->unknown);
	json_put_int(w, "unconfirmed", s->unconfirmed);
	json_put_u64(w, "handled", s->handled);
	json_put_u64(w, "failed", s->failed);
	json_put_bool(w, "paused", s->paused);
	json_put_z(w, "intake_error", s->intake_error);
}

static void put_warning(void *arg, const char *line)
{
	json_put_z(arg, NULL, line);
}

/* Is the folder that we work in still where it was? */
static bool workspace_is_there(const struct workshop *w)
{
	struct stat named, ours;

	return stat(w->workspace, &named) == 0 && fstat(w->workspace_fd, &ours) == 0 &&
	       named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

/* What has gone wrong since the start, and stays so until somebody does something. */
static void warn_of_faults(const struct app *a, bool zh, void (*found)(void *arg, const char *line),
	void *arg)
{
	const char *audit = audit_fault(a->shop.audit);
	struct str line = STR_INIT(PATH_SIZE + 1000);

	if (audit[0] && str_addf(&line,
				zh ? "审计记录写不进去，所以什么都不做：%s"
				   : "nothing is done, since the audit takes no record: %s",
				audit) == 0)
		found(arg, str_cstr(&line));
	str_reset(&line);
	if (a->reload.code &&
		str_addf(&line,
			zh ? "设置没有重新读入，仍用原来的：%s"
			   : "the settings were not read again, the old ones stay: %s",
			a->reload.msg) == 0)
		found(arg, str_cstr(&line));
	str_reset(&line);
	if (!workspace_is_there(&a->shop) &&
		str_addf(&line,
			zh ? "工作目录 %s 不在了：把它放回去，或者运行 kairo restart 新建一个"
			   : "the workspace %s is gone: put it back, or have kairo restart make it anew",
			a->shop.workspace) == 0)
		found(arg, str_cstr(&line));
	str_release(&line);
}

static void put_warnings(struct app *a, struct json_out *w)
{
	const char *lines[WARNINGS_MAX];
	size_t n = config_warnings(a->cfg, a->account, false, lines, WARNINGS_MAX);

	json_open_array(w, "warnings");
	for (size_t i = 0; i < n; i++)
		json_put_z(w, NULL, lines[i]);
	policy_warn(a->shop.policy, false, put_warning, w);
	warn_of_faults(a, false, put_warning, w);
	json_close_array(w);
}

/* What the kernel counts of this process: resident, its proportional share, private. */
static void put_memory(struct json_out *w)
{
	char line[256];
	long long rss = -1, pss = -1, dirty = -1;
	FILE *f = fopen("/proc/self/smaps_rollup", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Rss:", 4))
			rss = strtoll(line + 4, NULL, 10);
		else if (!strncmp(line, "Pss:", 4))
			pss = strtoll(line + 4, NULL, 10);
		else if (!strncmp(line, "Private_Dirty:", 14))
			dirty = strtoll(line + 14, NULL, 10);
	}
	if (f)
		fclose(f);
	json_open(w, "memory");
	json_put_int(w, "rss_kib", rss);
	json_put_int(w, "pss_kib", pss);
	json_put_int(w, "private_dirty_kib", dirty);
	json_close(w);
}

static void put_engine(struct app *a, struct json_out *w)
{
	struct str s = STR_INIT(1024);

	a->shop.engine->ops->describe(a->shop.engine, false, &s);
	json_put_str(w, "engine", str_view(&s));
	str_release(&s);
}

static void put_job(void *arg, const struct engine_job *job)
{
	struct json_out *w = arg;

	json_open(w, NULL);
	json_put_str(w, "what", job->what);
	json_put_int(w, "age_s", job->age_ms / 1000);
	json_put_z(w, "state", job->ended ? "ended" : "running");
	json_close(w);
}

static void put_background(struct app *a, struct json_out *w)
{
	json_open_array(w, "background");
	if (a->shop.engine->ops->jobs)
		a->shop.engine->ops->jobs(a->shop.engine, put_job, w);
	json_close_array(w);
}

int app_status_json(struct app *a, struct str *out, struct err *e)
{
	struct control_status s;
	struct chan_status link;
	struct json_out w;
	struct str confinement = STR_INIT(1000);

	if (control_status(a->control, &s, e) < 0)
		return -1;
	a->channel->ops->status(a->channel, &link);
	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_int(&w, "schema", 1);
	json_put_z(&w, "state", a->state == APP_ENDING ? "ending" : "running");
	json_put_z(&w, "version", KAIRO_VERSION);
	json_put_int(&w, "pid", getpid());
	json_put_int(&w, "uptime_s", (loop_now(a->loop) - a->started_ms) / 1000);
	put_account(a, &w, &link);
	put_link(&w, &link);
	put_work(&w, &s);
	put_engine(a, &w);
	put_background(a, &w);
	json_put_z(&w, "workspace", a->shop.workspace);
	confinement_text(tools_sandbox(a->shop.tools), false, &confinement);
	json_put_z(&w, "sandbox", str_cstr(&confinement));
	str_release(&confinement);
	put_memory(&w);
	put_warnings(a, &w);
	json_close(&w);
	return json_out_end(&w, e);
}

struct notes {
	bool zh;
	struct str *out;
};

static void add_note(void *arg, const char *line)
{
	struct notes *n = arg;

	str_addf(n->out, n->zh ? "注意：%s\n" : "Note: %s\n", line);
}

/* What /status on the phone shows of the rooms the channel does not see. */
void app_more_status(void *arg, bool zh, struct str *out)
{
	struct notes notes = { zh, out };
	struct app *a = arg;
	const char *lines[WARNINGS_MAX];
	size_t n = config_warnings(a->cfg, a->account, zh, lines, WARNINGS_MAX);

	str_adds(out, zh ? "工具限制：" : "Confinement: ");
	confinement_text(tools_sandbox(a->shop.tools), zh, out);
	str_addc(out, '\n');
	for (size_t i = 0; i < n; i++)
		add_note(&notes, lines[i]);
	policy_warn(a->shop.policy, zh, add_note, &notes);
	warn_of_faults(a, zh, add_note, &notes);
}
