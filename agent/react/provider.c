#include "agent/react/provider.h"

#include <string.h>
#include <strings.h>

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NOTHING   ((const char *const[]){ NULL })

#define LOCAL_WINDOW 32768 /* what such a server is started with is its owner's choice */

static const struct provider_member no_members[] = { { NULL, NULL } };

/* --- Contracts -------------------------------------------------------------------------------- */

/* Reasoning as "reasoning_content", as DeepSeek names it; the 2603 model thinks hard. */
static const struct provider_member step_members[] = {
	{ "reasoning_format", "\"deepseek-style\"" },
	{ NULL, NULL },
};
static const struct provider_member step_2603_members[] = {
	{ "reasoning_format", "\"deepseek-style\"" },
	{ "reasoning_effort", "\"high\"" },
	{ NULL, NULL },
};
static const struct provider_rule step_rules[] = {
	{ .part = "2603", .request = step_2603_members },
	{ .part = "", .request = step_members },
	{ .part = NULL },
};

/* The coding plan's endpoint does not serve the model that sees. */
static const struct provider_rule zhipu_rules[] = {
	{ .part = "glm-5v",
		.base_url = "https://open.bigmodel.cn/api/paas/v4",
		.raw_pictures = true },
	{ .part = NULL },
};

static const struct provider_rule no_rules[] = { { .part = NULL } };

static const struct provider table[] = {
	{
		.name = "kimi",
		.aliases = LIST("moonshot", "月之暗面"),
		.hosts = LIST("moonshot.cn", "moonshot.ai", "kimi.com"),
		.base_url = "https://api.moonshot.cn/v1",
		.models = LIST("kimi-k2.6", "kimi-k2.5", "kimi-k2.7-code", "moonshot-v1-128k"),
		.replays = LIST(""),
	},
	{
		.name = "deepseek",
		.aliases = LIST("深度求索"),
		.hosts = LIST("deepseek.com"),
		.base_url = "https://api.deepseek.com",
		.models = LIST("deepseek-flash", "deepseek-v4-pro"),
		.replays = LIST(""),
	},
	{
		.name = "zhipu",
		.aliases = LIST("glm", "bigmodel", "zhipuai", "z.ai", "zai", "智谱"),
		.hosts = LIST("bigmodel.cn", "z.ai"),
		.base_url = "https://open.bigmodel.cn/api/paas/v4",
		.models = LIST("glm-5.2", "glm-5.1", "glm-5", "glm-5v", "glm-4.5-air"),
		.rules = zhipu_rules,
	},
	{
		.name = "step",
		.aliases = LIST("stepfun", "阶跃", "阶跃星辰"),
		.hosts = LIST("stepfun.com", "stepfun.ai"),
		.base_url = "https://api.stepfun.com/v1",
		.models = LIST("step-3.5-flash", "step-3.5-flash-2603", "step-3"),
		.rules = step_rules,
	},
	{
		.name = "xfyun",
		.aliases = LIST("iflytek", "spark", "xf-yun", "讯飞", "星火"),
		.hosts = LIST("xf-yun.com", "xfyun.cn"),
		.base_url = "https://maas-api.cn-huabei-1.xf-yun.com/v1",
		.models = NOTHING, /* named by the service that its owner has set up there */
		.header_name = "lora_id",
		.header = "0",
		.window = LOCAL_WINDOW,
		.no_tools = true,
	},
	{
		.name = "openai",
		.aliases = LIST("gpt", "chatgpt"),
		.hosts = LIST("openai.com"),
		.base_url = "https://api.openai.com/v1",
		.models = LIST("gpt-4.1", "gpt-4.1-mini", "gpt-5", "gpt-5-mini"),
	},
	{
		.name = "siliconflow",
		.aliases = LIST("silicon", "硅基流动"),
		.hosts = LIST("siliconflow.cn", "siliconflow.com"),
		.base_url = "https://api.siliconflow.cn/v1",
		.models = LIST("deepseek-ai/DeepSeek-V3.2", "Pro/moonshotai/Kimi-K2.5"),
		.replays = LIST("kimi-k2", "deepseek-"),
	},
	{
		.name = "ollama",
		.aliases = NOTHING,
		.hosts = NOTHING,
		.base_url = "http://127.0.0.1:11434/v1",
		.models = LIST("qwen3"),
		.window = LOCAL_WINDOW,
		.no_key = true,
	},
	{
		.name = "llamacpp",
		.aliases = LIST("llama.cpp", "llama-server", "llama"),
		.hosts = NOTHING,
		.base_url = "http://127.0.0.1:8080/v1",
		.models = LIST("local"),
		.window = LOCAL_WINDOW,
		.no_key = true,
	},
};
enum { NPROVIDERS = sizeof(table) / sizeof(table[0]) };

static const struct provider plain = {
	.name = "",
	.aliases = NOTHING,
	.hosts = NOTHING,
	.base_url = "",
	.models = NOTHING,
	.no_key = true,
};

/* Windows by a part of the name, in tokens; the longest part that fits counts. */
static const struct {
	const char *part;
	int64_t window;
} windows[] = {
	{ "kimi-k2", 262144 },
	{ "kimi-latest", 131072 },
	{ "moonshot-v1-8k", 8192 },
	{ "moonshot-v1-32k", 32768 },
	{ "moonshot-v1-128k", 131072 },
	{ "deepseek-flash", 1000000 },
	{ "deepseek-v4", 1000000 },
	{ "deepseek-v3", 131072 },
	{ "deepseek-r1", 65536 },
	{ "deepseek-chat", 131072 },
	{ "deepseek-reasoner", 131072 },
	{ "glm-5", 200000 },
	{ "glm-5.2", 1000000 },
	{ "glm-5.3", 1000000 },
	{ "glm-4.5", 131072 },
	{ "glm-4.5v", 65536 },
	{ "glm-4.6", 200000 },
	{ "glm-4.7", 200000 },
	{ "step-3", 65536 },
	{ "step-3.5", 262144 },
	{ "step-2-mini", 32768 },
	{ "gpt-4.1", 1047576 },
	{ "gpt-4o", 128000 },
	{ "gpt-5", 400000 },
	{ "gpt-3.5", 16385 },
	{ "qwen3", 32768 },
	{ "qwen3-coder", 262144 },
};

/* Who takes pictures, by a part of the name; the longest that fits counts. */
static const struct {
	const char *part;
	bool sees;
} sights[] = {
	{ "vision", true },
	{ "-vl", true },
	{ "2.5vl", true },
	{ "omni", true },
	{ "kimi-k2.5", true },
	{ "kimi-k2.6", true },
	{ "kimi-latest", true },
	{ "kimi-thinking-preview", true },
	{ "kimi-for-coding", true },
	{ "glm-4v", true },
	{ "glm-4.1v", true },
	{ "glm-4.5v", true },
	{ "glm-4.6v", true },
	{ "glm-5v", true },
	{ "step-1v", true },
	{ "step-1o", true },
	{ "step-3", true },
	{ "step-3.5", false },
	{ "gpt-4-turbo", true },
	{ "gpt-4.1", true },
	{ "gpt-4o", true },
	{ "gpt-4o-audio", false },
	{ "gpt-4o-mini-audio", false },
	{ "gpt-4o-transcribe", false },
	{ "gpt-5", true },
	{ "claude-3", true },
	{ "claude-haiku", true },
	{ "claude-sonnet", true },
	{ "claude-opus", true },
	{ "gemini-", true },
	{ "gemma3", true },
	{ "gemma3:1b", false },
	{ "gemma-3", true },
	{ "gemma-3-1b", false },
	{ "gemma-3n", false },
	{ "llava", true },
	{ "minicpm-v", true },
	{ "pixtral", true },
	{ "internvl", true },
};

/* --- Finding ---------------------------------------------------------------------------------- */

static bool same(struct view a, const char *z)
{
	return a.n == strlen(z) && strncasecmp(a.p, z, a.n) == 0;
}

static bool has_part(const char *model, const char *part)
{
	return strcasestr(model, part) != NULL;
}

static bool is_of(struct view host, const char *domain)
{
	size_t n = strlen(domain);

	return same(host, domain) || (host.n > n && host.p[host.n - n - 1] == '.' &&
					     same(view_from(host, host.n - n), domain));
}

const struct provider *provider_at(size_t i)
{
	return i < NPROVIDERS ? &table[i] : NULL;
}

const struct provider *provider_named(struct view name)
{
	for (size_t i = 0; i < NPROVIDERS; i++) {
		if (same(name, table[i].name))
			return &table[i];
		for (const char *const *a = table[i].aliases; *a; a++)
			if (same(name, *a))
				return &table[i];
	}
	return NULL;
}

static bool owns(const struct provider *p, struct view host)
{
	for (const char *const *h = p->hosts; *h; h++)
		if (is_of(host, *h))
			return true;
	return false;
}

const struct provider *provider_of(struct view host)
{
	for (size_t i = 0; i < NPROVIDERS; i++)
		if (owns(&table[i], host))
			return &table[i];
	return &plain;
}

void provider_names(struct str *out)
{
	for (size_t i = 0; i < NPROVIDERS; i++)
		(void)str_addf(out, "%s%s", i ? ", " : "", table[i].name);
}

/* --- Contracts -------------------------------------------------------------------------------- */

/* Does this part of a name tell more of the model than the longest one before it? */
static bool tells_more(const char *model, const char *part, size_t *longest)
{
	size_t n = strlen(part);

	if (n <= *longest || !has_part(model, part))
		return false;
	*longest = n;
	return true;
}

static int64_t window_of(const struct provider *p, const char *model)
{
	int64_t window = p->window ? p->window : PROVIDER_WINDOW;
	size_t longest = 0;

	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
		if (tells_more(model, windows[i].part, &longest))
			window = windows[i].window;
	return window;
}

static bool sees(const char *model)
{
	bool yes = false;
	size_t longest = 0;

	for (size_t i = 0; i < sizeof(sights) / sizeof(sights[0]); i++)
		if (tells_more(model, sights[i].part, &longest))
			yes = sights[i].sees;
	return yes;
}

static const struct provider_rule *rule_of(const struct provider *p, const char *model)
{
	const struct provider_rule *r = p->rules ? p->rules : no_rules;

	while (r->part && !has_part(model, r->part))
		r++;
	return r;
}

void provider_contract(struct contract *out, const struct provider *p, const char *base_url,
	struct view host, const char *model)
{
	const struct provider_rule *r = rule_of(p, model);

	*out = (struct contract){ .provider = p, .base_url = base_url, .tools = !p->no_tools };
	out->request = r->request ? r->request : no_members;
	if (r->base_url && owns(p, host))
		out->base_url = r->base_url;
	out->raw_pictures = r->raw_pictures;
	out->sees = sees(model);
	out->window = window_of(p, model);
	for (const char *const *part = p->replays; part && *part; part++)
		out->replays = out->replays || has_part(model, *part);
}
