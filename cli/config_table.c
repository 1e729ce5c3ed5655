#include "cli/config-private.h"

#include <string.h>

#include "base/text.h"
#include "cli/workspace.h"
#include "formatter/formatter.h"

enum { USERS_MAX = 100, READ_MAX = 32, COMMAND_MAX = 40, COMMANDS_MAX = 200, TOOLS_MAX = 100 };

static const char *const engines[] = { "react", "acp", NULL };
static const char *const wishes[] = { "ask", "on", "off", NULL };
static const char *const presets[] = { "kimi", "claude", "codex", "gemini", "qwen", "opencode",
	"pi", NULL };
static const char *const languages[] = { "auto", "zh", "en", NULL };
static const char *const modes[] = { "native", "plain", NULL };
static const char *const levels[] = { "error", "warn", "info", "debug", NULL };
static const char *const sights[] = { "auto", "on", "off", NULL };
static const char *const verdicts[] = { "allow", "ask", "deny", NULL };
static const char *const shells[] = { "deny", "allowlist", "ask", NULL };
static const char *const sandboxes[] = { "best", "required", NULL };

#define AT(field)                  .offset = CONFIG_OFFSET(field)
#define STRING(n, f, dflt, h)      .key = { n, CONFIG_STRING, dflt, 0, 0, NULL, false, h }, AT(f)
#define STRING_LIVE(n, f, h)       .key = { n, CONFIG_STRING, NULL, 0, 0, NULL, true, h }, AT(f)
#define PATH(n, f, dflt, h)        .key = { n, CONFIG_PATH, dflt, 0, 0, NULL, false, h }, AT(f)
#define LIST(n, f, max, l, h)      .key = { n, CONFIG_LIST, NULL, 0, max, NULL, l, h }, AT(f)
#define BOOL(n, f, h)              .key = { n, CONFIG_BOOL, "false", 0, 0, NULL, false, h }, AT(f)
#define BOOL_ON(n, f, h)           .key = { n, CONFIG_BOOL, "true", 0, 0, NULL, false, h }, AT(f)
#define INT(n, f, d, lo, hi, l, h) .key = { n, CONFIG_INT, d, lo, hi, NULL, l, h }, AT(f)
#define ENUM(n, f, d, v, l, h)     .key = { n, CONFIG_ENUM, d, 0, 0, v, l, h }, AT(f)

#define SEARCH_KEY(n, p) \
	PATH("search." n "_key_file", search.key_file[p], NULL, \
		"file with the key of " n "; kairo config set search." n "_key --stdin makes one")
#define SEARCH_URL(n, p) \
	STRING("search." n "_url", search.url[p], NULL, \
		"another address for " n ", as of a gateway")

static const struct config_row rows[] = {
	{ PATH("workspace", workspace, "~/" WORKSPACE_OWN, "the folder the agent works in") },
	{ ENUM("engine", engine, "react", engines, false,
		"which agent answers: the built-in one, or a coding agent of yours") },
	{ ENUM("language", language, "auto", languages, true,
		"language of kairo's own messages; auto follows the user's writing") },
	{ INT("text_limit", text_limit, "1800", 1, CHUNK_LIMIT_MAX, true,
		"longest reply part, in characters") },
	{ ENUM("render_mode", render_mode, "native", modes, true,
		"native: Markdown that WeChat renders; plain: no markers") },
	{ INT("queue_limit", queue_limit, "100", 1, 1000, true, "messages that may wait") },
	{ LIST("allowed_users", allowed_users, USERS_MAX, true,
		"user ids that are served besides the owner") },
	{ ENUM("log_level", log_level, "info", levels, true, "how much is logged") },
	{ INT("turn_minutes", turn_minutes, "60", 1, 1440, false,
		"longest time one task may take") },
	{ INT("audit_days", audit_days, "90", 1, 3650, true,
		"days that records of what tools did are kept") },
	{ INT("media.max_mb", media.max_mb, "100", 1, 100, true,
		"largest file that is fetched when a user sends it, in MiB") },
	{ INT("media.days", media.days, "7", 1, 3650, true, "days that received files are kept") },
	{ INT("media.keep_mb", media.keep_mb, "1024", 1, 1000000, true,
		"room for received files, in MiB; the oldest go first") },
	{ INT("media.merge_ms", media.merge_ms, "1500", 0, 10000, true,
		"milliseconds within which a picture and the words about it are one message; 0: off") },
	{ STRING("model.provider", model.provider, NULL,
		"who serves the model, as kimi; its address and model are the defaults then") },
	{ STRING("model.base_url", model.base_url, NULL,
		  "address of an OpenAI-compatible API, as https://api.moonshot.cn/v1"),
		.env = "KAIRO_MODEL_BASE_URL" },
	{ STRING("model.name", model.name, NULL, "the model's name at that provider"),
		.env = "KAIRO_MODEL_NAME" },
	{ BOOL_ON("model.stream", model.stream, "ask for answers as a stream, not as a whole") },
	{ ENUM("model.vision", model.vision, "auto", sights, false,
		"does the model take pictures? auto: by the model's name") },
	{ PATH("model.api_key_file", model.api_key_file, NULL,
		"file with the provider's key; kairo config set model.api_key --stdin makes one") },
	{ INT("model.context_tokens", model.context_tokens, "0", 0, 100000000, false,
		"size of the model's window, in tokens; 0: by the model's name") },
	{ INT("model.token_budget", model.token_budget, "1000000", 1000, 1000000000, false,
		"tokens one task may use") },
	{ INT("model.max_iterations", model.max_iterations, "50", 1, 1000, false,
		"model calls one task may make") },
	{ INT("model.idle_seconds", model.idle_seconds, "120", 5, 3600, false,
		"how long the model may stay silent") },
	{ STRING("model.system_prompt", model.system_prompt, NULL,
		"words added to the system prompt") },
	{ ENUM("acp.preset", acp.preset, "kimi", presets, false,
		"with engine = \"acp\": which coding agent") },
	{ LIST("acp.command", acp.command, COMMAND_MAX, false,
		"another agent: its program and arguments, as [\"my-agent\", \"--acp\"]") },
	{ LIST("acp.write", acp.write, READ_MAX, false,
		"further folders that agent may write to") },
	{ STRING_LIVE("acp.model", acp.model, "that agent's model, as it names it itself") },
	{ STRING_LIVE("acp.effort", acp.effort,
		"how hard that model thinks, as the agent names it") },
	{ STRING_LIVE("acp.mode", acp.mode, "how that agent works, as it names it itself") },
	{ BOOL_ON("acp.fs", acp.fs, "offer that agent to read and write its files through Kairo") },
	{ BOOL("acp.terminal", acp.terminal,
		"offer that agent to run its commands in Kairo's sandbox") },
	{ ENUM("acp.hooks", acp.hooks, "ask", wishes, false,
		"hear of Kimi's background work by a plugin in its folder (kairo hooks)") },
	{ BOOL("acp.strict", acp.strict,
		"stop a task when that agent does without asking what policy wants a yes for") },
	{ BOOL("network.allow_loopback", network.allow_loopback,
		"accept plain http and 127.0.0.1 as the WeChat server; for development only") },
	{ BOOL("network.allow_fake_ip", network.allow_fake_ip,
		"count 198.18.0.0/15 as public, for proxies with fake-IP DNS") },
	{ STRING("network.proxy", network.proxy, NULL,
		"proxy for all requests, as http://host:port") },
	{ PATH("network.ca_file", network.ca_file, NULL,
		"certificates to trust instead of the system's") },
	{ ENUM("sandbox.mode", sandbox.mode, "best", sandboxes, false,
		"required: tools run in namespaces or not at all; best: with what there is") },
	{ LIST("sandbox.read", sandbox.read, READ_MAX, false, "further folders tools may read") },
	{ INT("files.max_mb", files.max_mb, "100", 1, 100, true,
		"largest file that is sent to the phone, in MiB") },
	{ ENUM("policy.shell", policy.shell, "deny", shells, true,
		"commands for requests from the phone: deny, those of policy.shell_allow, or ask") },
	{ LIST("policy.shell_allow", policy.shell_allow, COMMANDS_MAX, true,
		"commands that run unasked, each word for word") },
	{ ENUM("policy.write", policy.write, "allow", verdicts, true,
		"writing in the workspace for requests from the phone") },
	{ ENUM("policy.web", policy.web, "allow", verdicts, true,
		"searching the web and opening pages for requests from the phone") },
	{ LIST("policy.tools", policy.tools, TOOLS_MAX, true,
		"single tools, as \"write_file=ask\", \"SERVER.TOOL=allow\"; for every request") },
	{ INT("policy.ask_minutes", policy.ask_minutes, "10", 1, 1440, true,
		"how long a question stays open before it is a no") },
	{ LIST("search.order", search.order, SEARCH_PROVIDERS, false,
		"providers of web search in the order they are asked; empty: all that are set up") },
	{ SEARCH_KEY("zhipu", SEARCH_ZHIPU) },
	{ SEARCH_KEY("serpapi", SEARCH_SERPAPI) },
	{ SEARCH_KEY("brave", SEARCH_BRAVE) },
	{ SEARCH_KEY("tavily", SEARCH_TAVILY) },
	{ STRING("search.searxng_url", search.url[SEARCH_SEARXNG], NULL,
		"address of your own SearXNG, as http://127.0.0.1:8888") },
	{ SEARCH_URL("zhipu", SEARCH_ZHIPU) },
	{ SEARCH_URL("serpapi", SEARCH_SERPAPI) },
	{ SEARCH_URL("brave", SEARCH_BRAVE) },
	{ SEARCH_URL("tavily", SEARCH_TAVILY) },
	{ LIST("voice.transcriber", voice.transcriber, COMMAND_MAX, false,
		"program that makes text of a voice, as [\"whisper-cli\", \"-f\", \"{file}\"]") },
	{ LIST("voice.decoder", voice.decoder, COMMAND_MAX, false,
		"program that makes WAV of WeChat's voices, with {file} and {out}") },
	{ STRING("voice.base_url", voice.base_url, NULL,
		"address of an OpenAI-compatible API that makes text of a voice") },
	{ STRING("voice.name", voice.name, NULL, "its model, as whisper-1") },
	{ PATH("voice.api_key_file", voice.key_file, NULL,
		"file with its key; kairo config set voice.api_key --stdin makes one") },
	{ STRING("ilink.client_version", ilink.client_version, NULL,
		"client version declared to the WeChat server") },
	{ STRING("ilink.bot_agent", ilink.bot_agent, NULL,
		"bot_agent declared to the WeChat server") },
	{ STRING("ilink.route_tag", ilink.route_tag, NULL, "value of the SKRouteTag header") },
	{ STRING("ilink.cdn_url", ilink.cdn_url, NULL,
		"another media server for when WeChat names none, as a simulator's") },
	{ BOOL("ilink.cdn_direct", ilink.cdn_direct,
		"reach the media server without network.proxy") },
};

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

const struct config_row *config_row_at(size_t i)
{
	return i < NROWS ? &rows[i] : NULL;
}

const struct config_row *config_row_named(const char *name)
{
	for (size_t i = 0; i < NROWS; i++)
		if (!strcmp(rows[i].key.name, name))
			return &rows[i];
	return NULL;
}

const char *config_nearest(const char *name)
{
	const char *best = rows[0].key.name;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < NROWS; i++) {
		const char *whole = rows[i].key.name, *dot = strrchr(whole, '.');
		size_t d = text_distance(name, whole);
		/* "base_url" means model.base_url. */
		size_t tail =
			dot && !strchr(name, '.') ? text_distance(name, dot + 1) + 1 : SIZE_MAX;

		if (tail < d)
			d = tail;
		if (d < least) {
			least = d;
			best = whole;
		}
	}
	return best;
}

const struct config_key *config_find(const char *name)
{
	const struct config_row *r = config_row_named(name);

	return r ? &r->key : NULL;
}

const struct config_key *config_at(size_t i)
{
	return i < NROWS ? &rows[i].key : NULL;
}
