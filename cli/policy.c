#include "cli/policy.h"

#include <string.h>

/* --- Settings --------------------------------------------------------------------------------- */

/* The settings are words of a list that config_check.c has checked. */
static enum verdict verdict_of(const char *word)
{
	enum verdict v = VERDICT_DENY;

	for (int i = VERDICT_DENY; i <= VERDICT_ALLOW; i++)
		if (strcmp(word, verdict_name((enum verdict)i)) == 0)
			v = (enum verdict)i;
	return v;
}

static enum shell_rule shell_of(const char *word)
{
	if (strcmp(word, "ask") == 0)
		return SHELL_ASK;
	return strcmp(word, "allowlist") == 0 ? SHELL_ALLOWLIST : SHELL_DENY;
}

void policy_rules_from(struct policy_rules *rules, const struct config *c)
{
	*rules = (struct policy_rules){
		.shell = shell_of(c->policy.shell),
		.shell_allow = (const char *const *)c->policy.shell_allow,
		.write = verdict_of(c->policy.write),
		.web = verdict_of(c->policy.web),
		.tools = (const char *const *)c->policy.tools,
	};
}

int policy_check_lists(char *const *shell_allow, char *const *tools, struct err *e)
{
	const struct policy_rules rules = {
		.shell_allow = (const char *const *)shell_allow,
		.tools = (const char *const *)tools,
	};
	struct policy *p;

	if (policy_open(&p, &rules, e) < 0)
		return -1;
	policy_free(&p);
	return 0;
}

/* --- Text ------------------------------------------------------------------------------------- */

struct texts {
	const char *title, *kinds[KIND_COUNT], *verdicts[3];
	const char *address, *entry; /* exceptions; what becomes of the rest follows */
	const char *commands, *tools, *change;
};

static const struct texts chinese = {
	.title = "手机发来的任务：",
	.kinds = { "读文件", "写文件", "搜索网页", "打开网页", "运行命令", "MCP 工具",
		"恢复快照、切换浏览器会话" },
	.verdicts = { "不可以", "先问你", "可以" },
	.address = "你写的和这次搜到的网址可以，其他",
	.entry = "列出的命令可以，其他",
	.commands = "列出的命令：",
	.tools = "另有设定：",
	.change = "在电脑上修改，例如 kairo config set policy.shell ask",
};

static const struct texts english = {
	.title = "Tasks from the phone:",
	.kinds = { "Read files", "Write files", "Search the web", "Open web pages", "Run commands",
		"MCP tools", "Restore snapshots, switch browser sessions" },
	.verdicts = { "no", "I ask you first", "yes" },
	.address = "addresses that you wrote or this search found: yes; others: ",
	.entry = "listed ones: yes; others: ",
	.commands = "Listed commands: ",
	.tools = "Set by name: ",
	.change = "Change it on the computer, as with kairo config set policy.shell ask",
};

static const char *exception_text(const struct texts *t, const struct policy *p,
	enum policy_kind kind)
{
	switch (policy_kind_exception(p, kind)) {
	case EXCEPT_NONE: break;
	case EXCEPT_ADDRESS: return t->address;
	case EXCEPT_ENTRY: return t->entry;
	}
	return "";
}

static void add_list(const char *title, void (*list)(const struct policy *, struct str *),
	const struct policy *p, struct str *out)
{
	struct str names = STR_INIT(64 << 10);

	list(p, &names);
	if (names.n > 0)
		(void)str_addf(out, "%s%s\n", title, str_cstr(&names));
	str_release(&names);
}

void policy_text(const struct policy *p, const struct config *c, bool zh, struct str *out)
{
	const struct texts *t = zh ? &chinese : &english;

	(void)str_addf(out, "%s\n", t->title);
	for (int i = 0; i < KIND_COUNT; i++) {
		enum policy_kind kind = (enum policy_kind)i;

		(void)str_addf(out, "%s%s%s%s\n", t->kinds[i], zh ? "：" : ": ",
			exception_text(t, p, kind),
			t->verdicts[policy_kind_verdict(p, kind, ORIGIN_PHONE)]);
	}
	if (policy_kind_exception(p, KIND_SHELL) == EXCEPT_ENTRY)
		add_list(t->commands, policy_list_commands, p, out);
	add_list(t->tools, policy_list_tools, p, out);
	(void)str_addf(out,
		zh ? "问你的事 %lld 分钟没有回答就不做。\n"
		   : "A question without an answer for %lld min is a no.\n",
		(long long)c->policy.ask_minutes);
	(void)str_adds(out, t->change);
}

/* --- Warnings --------------------------------------------------------------------------------- */

struct warnings {
	bool zh;
	void (*found)(void *arg, const char *line);
	void *arg;
};

static void warn(void *arg, enum policy_risk risk, const char *entry)
{
	const struct warnings *w = arg;
	struct str line = STR_INIT(2000);

	switch (risk) {
	case RISK_FETCH:
		(void)str_addf(&line,
			w->zh ? "policy.tools 允许 %s 打开任何网址：一个网页就能让助手把工作目录发出去"
			      : "policy.tools allows %s for any address: a page can make the agent "
				"send the workspace away",
			entry);
		break;
	case RISK_SERVER:
		(void)str_addf(&line,
			w->zh ? "policy.tools 允许 %s：那个服务给的工具都不问就运行"
			      : "policy.tools allows %s: whatever that server offers runs unasked",
			entry);
		break;
	case RISK_NETWORK:
		(void)str_addf(&line,
			w->zh ? "policy.shell_allow 让 \"%s\" 用网络：它运行的东西能把工作目录发出去"
			      : "policy.shell_allow gives the network to \"%s\": what it runs can "
				"send the workspace away",
			entry);
		break;
	}
	w->found(w->arg, str_cstr(&line));
	str_release(&line);
}

void policy_warn(const struct policy *p, bool zh, void (*found)(void *arg, const char *line),
	void *arg)
{
	struct warnings w = { zh, found, arg };

	policy_risks(p, warn, &w);
}
