#include "cli/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/react/provider.h"
#include "base/file.h"
#include "base/text.h"
#include "base/toml.h"
#include "cli/cli.h"
#include "cli/keys.h"
#include "cli/policy.h"
#include "cli/search.h"
#include "cli/workspace.h"
#include "formatter/formatter.h"

enum {
	LOCK_WAIT_MS = 5000,
	USERS_MAX = 100,
	READ_MAX = 32,
	COMMAND_MAX = 40,
	COMMANDS_MAX = 200,
	TOOLS_MAX = 100,
	WINDOW_MIN = 1000,
	VALUE_MAX = 32 << 10 /* bytes of a value that is set from the command line */
};

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

/* A key and where its value goes. */
struct row {
	struct config_key key;
	size_t offset;
	const char *env; /* an override from the environment, or NULL */
};

#define OFFSET(field)              offsetof(struct config, field)
#define AT(field)                  .offset = OFFSET(field)
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

static const struct row rows[] = {
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
		"largest file that is sent to the phone, in MB") },
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

static const struct row *find_row(const char *name)
{
	for (size_t i = 0; i < NROWS; i++)
		if (!strcmp(rows[i].key.name, name))
			return &rows[i];
	return NULL;
}

static void *field(struct config *c, const struct row *r)
{
	return (char *)c + r->offset;
}

static const void *field_view(const struct config *c, const struct row *r)
{
	return (const char *)c + r->offset;
}

static char *get_string(const struct config *c, const struct row *r)
{
	char *s;

	memcpy(&s, field_view(c, r), sizeof(s));
	return s;
}

static char **get_list(const struct config *c, const struct row *r)
{
	char **list;

	memcpy(&list, field_view(c, r), sizeof(list));
	return list;
}

/* --- Filling ---------------------------------------------------------------------------------- */

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

static void free_field(struct config *c, const struct row *r)
{
	if (r->key.type == CONFIG_LIST)
		free_list(get_list(c, r));
	else if (r->key.type != CONFIG_INT && r->key.type != CONFIG_BOOL)
		free(get_string(c, r));
}

/* A copy; "~/x" is below the user's home, anything else is absolute. */
static char *expand(const char *path, struct err *e)
{
	const char *home = path[0] == '~' && (path[1] == '/' || !path[1]) ? user_home() : "";
	char *out = NULL;

	if (!home)
		err_set(e, E_NOTFOUND,
			"what ~ means is not known: set HOME, or write the whole path");
	else if (asprintf(&out, "%s%s", home, home[0] ? path + 1 : path) < 0)
		err_set(e, E_NOMEM, "out of memory");
	else
		return out;
	return NULL;
}

static char *copy(const char *s, struct err *e)
{
	char *out = strdup(s);

	if (!out)
		err_set(e, E_NOMEM, "out of memory");
	return out;
}

static int put_string(struct config *c, const struct row *r, const char *s, struct err *e)
{
	char *mine = r->key.type == CONFIG_PATH ? expand(s, e) : copy(s, e);

	if (!mine)
		return -1;
	free_field(c, r);
	memcpy(field(c, r), &mine, sizeof(mine));
	return 0;
}

static int put_list(struct config *c, const struct row *r, const char *const *items, size_t n,
	struct err *e)
{
	bool paths = r->offset == OFFSET(sandbox.read) || r->offset == OFFSET(acp.write) ||
	             r->offset == OFFSET(voice.transcriber) || r->offset == OFFSET(voice.decoder);
	char **list = calloc(n + 1, sizeof(*list));

	if (!list)
		return err_set(e, E_NOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (!(list[i] = paths ? expand(items[i], e) : copy(items[i], e))) {
			free_list(list);
			return -1;
		}
	free_field(c, r);
	memcpy(field(c, r), &list, sizeof(list));
	return 0;
}

static void put_int(struct config *c, const struct row *r, int64_t v)
{
	memcpy(field(c, r), &v, sizeof(v));
}

static void put_bool(struct config *c, const struct row *r, bool v)
{
	memcpy(field(c, r), &v, sizeof(v));
}

static int wrong(const struct row *r, struct err *e)
{
	const struct config_key *k = &r->key;
	char values[120] = "";

	switch (k->type) {
	case CONFIG_INT:
		return err_set(e, E_FORMAT, "%s: expected a whole number from %lld to %lld",
			k->name, (long long)k->min, (long long)k->max);
	case CONFIG_BOOL: return err_set(e, E_FORMAT, "%s: expected true or false", k->name);
	case CONFIG_LIST:
		return err_set(e, E_FORMAT,
			"%s: expected a list of at most %lld strings, as [\"one\"]", k->name,
			(long long)k->max);
	case CONFIG_PATH:
		return err_set(e, E_FORMAT,
			"%s: expected an absolute path, or one that begins with ~/", k->name);
	case CONFIG_ENUM:
		for (size_t i = 0, n = 0; k->values[i] && n < sizeof(values); i++)
			n += (size_t)snprintf(values + n, sizeof(values) - n, "%s\"%s\"",
				i ? " or " : "", k->values[i]);
		return err_set(e, E_FORMAT, "%s: expected %s", k->name, values);
	default: return err_set(e, E_FORMAT, "%s: expected a string", k->name);
	}
}

/* Text for headers, paths and logs. */
static bool is_plain(const char *s)
{
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return utf8_valid(view_of(s));
}

static bool is_path(const char *s)
{
	if (!is_plain(s) || strlen(s) >= PATH_SIZE - 256)
		return false;
	return !s[0] || s[0] == '/' || (s[0] == '~' && (s[1] == '/' || !s[1]));
}

static bool is_one_of(const char *const *values, const char *s)
{
	for (size_t i = 0; values[i]; i++)
		if (!strcmp(values[i], s))
			return true;
	return false;
}

/* Does the value fit the key, as far as the key's type goes? */
static bool fits(const struct row *r, const struct toml_value *v)
{
	const struct config_key *k = &r->key;

	switch (k->type) {
	case CONFIG_INT: return v->type == TOML_INT && v->i >= k->min && v->i <= k->max;
	case CONFIG_BOOL: return v->type == TOML_BOOL;
	case CONFIG_LIST: return v->type == TOML_ARRAY && v->nitems <= (size_t)k->max;
	case CONFIG_PATH: return v->type == TOML_STRING && is_path(v->s);
	case CONFIG_ENUM: return v->type == TOML_STRING && is_one_of(k->values, v->s);
	default: return v->type == TOML_STRING;
	}
}

static int put_value(struct config *c, const struct row *r, const struct toml_value *v,
	struct err *e)
{
	if (!fits(r, v))
		return wrong(r, e);
	switch (r->key.type) {
	case CONFIG_INT: put_int(c, r, v->i); return 0;
	case CONFIG_BOOL: put_bool(c, r, v->b); return 0;
	case CONFIG_LIST: return put_list(c, r, v->items, v->nitems, e);
	default: return put_string(c, r, v->s, e);
	}
}

static int put_default(struct config *c, const struct row *r, struct err *e)
{
	long long n;

	switch (r->key.type) {
	case CONFIG_INT:
		if (parse_i64(view_of(r->key.fallback), &n) < 0)
			return err_set(e, E_FORMAT, "%s has a bad default", r->key.name);
		put_int(c, r, n);
		return 0;
	case CONFIG_BOOL: put_bool(c, r, !strcmp(r->key.fallback, "true")); return 0;
	case CONFIG_LIST: return put_list(c, r, NULL, 0, e);
	default: return put_string(c, r, r->key.fallback ? r->key.fallback : "", e);
	}
}

/* --- What one table cannot say ---------------------------------------------------------------- */

static int check_url(const char *name, const char *url, struct err *e)
{
	if (!url[0])
		return 0;
	if (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
		return err_set(e, E_FORMAT,
			"%s: expected an address that begins with https:// or http://", name);
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return err_set(e, E_FORMAT, "%s: holds a character no address has", name);
	const char *host = strstr(url, "://") + 3;
	const char *at = strchr(host, '@'), *slash = strchr(host, '/');
	if (at && (!slash || at < slash) && strcmp(name, "network.proxy") != 0)
		return err_set(e, E_FORMAT, "%s: the key does not belong in the address", name);
	if (strlen(url) > 480)
		return err_set(e, E_FORMAT, "%s: longer than 480 characters", name);
	return 0;
}

/* They go into headers and request bodies as they stand. */
static int check_word(const char *name, const char *s, struct err *e)
{
	return is_plain(s) && strlen(s) <= 256
	               ? 0
	               : err_set(e, E_FORMAT,
				 "%s: expected at most 256 characters, no control characters",
				 name);
}

static int check_provider(const char *name, const char *s, struct err *e)
{
	struct str names = STR_INIT(400);

	if (!s[0] || provider_named(view_of(s)))
		return 0;
	provider_names(&names);
	(void)err_set(e, E_FORMAT, "%s: expected one of %s", name, str_cstr(&names));
	str_release(&names);
	return -1;
}

static int check_users(char *const *list, struct err *e)
{
	for (; list && *list; list++)
		if (!(*list)[0] || strlen(*list) > 128 || !is_plain(*list))
			return err_set(e, E_FORMAT,
				"allowed_users: a user id has 1 to 128 characters");
	return 0;
}

static int check_folders(const char *name, char *const *list, struct err *e)
{
	for (; list && *list; list++)
		if ((*list)[0] != '/' || !is_path(*list))
			return err_set(e, E_FORMAT, "%s: expected absolute paths", name);
	return 0;
}

static bool has_place(char *const *argv, const char *place)
{
	for (; *argv; argv++)
		if (strstr(*argv, place))
			return true;
	return false;
}

/* The places that the program is told. */
static int check_program(const char *name, char *const *argv, bool decoder, struct err *e)
{
	if (!argv || !argv[0])
		return 0;
	if (!argv[0][0] || argv[0][0] == '{')
		return err_set(e, E_FORMAT, "%s: expected a program first", name);
	if (!has_place(argv, "{file}") || (decoder && !has_place(argv, "{out}")))
		return err_set(e, E_FORMAT,
			decoder ? "%s: expected {file} and {out} among its words, for the voice and "
				  "for the WAV file to be made"
				: "%s: expected {file} among its words, for the voice",
			name);
	return 0;
}

/* The value of one key, once it is in its place. */
static int check(const struct config *c, const struct row *r, struct err *e)
{
	const char *name = r->key.name;

	switch (r->offset) {
	case OFFSET(model.provider): return check_provider(name, get_string(c, r), e);
	case OFFSET(model.base_url):
	case OFFSET(ilink.cdn_url):
	case OFFSET(voice.base_url):
	case OFFSET(network.proxy): return check_url(name, get_string(c, r), e);
	case OFFSET(model.context_tokens):
		return c->model.context_tokens == 0 || c->model.context_tokens >= WINDOW_MIN
		               ? 0
		               : err_set(e, E_FORMAT, "%s: expected 0, or at least %d", name,
					 WINDOW_MIN);
	case OFFSET(model.name):
	case OFFSET(voice.name):
	case OFFSET(ilink.client_version):
	case OFFSET(ilink.bot_agent):
	case OFFSET(ilink.route_tag): return check_word(name, get_string(c, r), e);
	case OFFSET(allowed_users): return check_users(c->allowed_users, e);
	case OFFSET(sandbox.read): return check_folders(name, c->sandbox.read, e);
	case OFFSET(acp.write): return check_folders(name, c->acp.write, e);
	case OFFSET(acp.command):
		return !c->acp.command || !c->acp.command[0] || c->acp.command[0][0]
		               ? 0
		               : err_set(e, E_FORMAT, "%s: expected a program first", name);
	case OFFSET(voice.transcriber): return check_program(name, c->voice.transcriber, false, e);
	case OFFSET(voice.decoder): return check_program(name, c->voice.decoder, true, e);
	case OFFSET(policy.shell_allow): return policy_check_lists(c->policy.shell_allow, NULL, e);
	case OFFSET(policy.tools): return policy_check_lists(NULL, c->policy.tools, e);
	case OFFSET(search.order): return search_check_order(c->search.order, e);
	case OFFSET(search.url[SEARCH_ZHIPU]):
	case OFFSET(search.url[SEARCH_SERPAPI]):
	case OFFSET(search.url[SEARCH_SEARXNG]):
	case OFFSET(search.url[SEARCH_BRAVE]):
	case OFFSET(search.url[SEARCH_TAVILY]): return check_url(name, get_string(c, r), e);
	default: return 0;
	}
}

/* --- Loading ---------------------------------------------------------------------------------- */

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

static int located(const struct toml_value *v, bool key, struct err *e)
{
	return err_wrap(e, CONFIG_FILE ":%d:%d", key ? v->key_line : v->line,
		key ? v->key_col : v->col);
}

static int apply(struct config *c, const struct toml *t, struct err *e)
{
	for (size_t i = 0; i < toml_count(t); i++) {
		const char *name = toml_key(t, i);
		const struct row *r = find_row(name);
		const struct toml_value *v = toml_at(t, i);

		if (!r) {
			err_set(e, E_FORMAT, "no setting \"%s\", did you mean %s?", name,
				config_nearest(name));
			return located(v, true, e);
		}
		if (put_value(c, r, v, e) < 0 || check(c, r, e) < 0)
			return located(v, false, e);
	}
	return 0;
}

static int apply_env(struct config *c, struct err *e)
{
	for (size_t i = 0; i < NROWS; i++) {
		const char *v = rows[i].env ? getenv(rows[i].env) : NULL;

		if (!v || !v[0])
			continue;
		if (put_string(c, &rows[i], v, e) < 0 || check(c, &rows[i], e) < 0)
			return err_wrap(e, "the environment's %s", rows[i].env);
	}
	return 0;
}

/* What a provider's name stands for, where nothing else is said. */
static int fill_in_provider(struct config *c, struct err *e)
{
	const struct provider *p = provider_named(view_of(c->model.provider));

	if (!p)
		return 0;
	if (put_string(c, find_row("model.provider"), p->name, e) < 0)
		return -1;
	if (!c->model.base_url[0] && put_string(c, find_row("model.base_url"), p->base_url, e) < 0)
		return -1;
	if (!c->model.name[0] && p->models[0])
		return put_string(c, find_row("model.name"), p->models[0], e);
	return 0;
}

/* A message of base/toml, which begins with "line:col: ", with the file before it. */
static void in_file(const struct err *toml, struct err *e)
{
	err_set(e, toml->code, CONFIG_FILE ":%s%s", toml->code == E_NOMEM ? " " : "", toml->msg);
}

static int from_text(struct config **out, const char *home, struct view text, bool env,
	struct err *e)
{
	struct config *c = calloc(1, sizeof(*c));
	struct toml *t = NULL;
	struct err here = ERR_INIT;
	int rc = -1;

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "out of memory");
	for (size_t i = 0; i < NROWS; i++)
		if (put_default(c, &rows[i], e) < 0)
			goto out;
	if (!(c->model.api_key = strdup("")) || !(c->home = strdup(home))) {
		err_set(e, E_NOMEM, "out of memory");
		goto out;
	}
	if (toml_read(&t, text, &here) < 0) {
		in_file(&here, e);
		goto out;
	}
	if (apply(c, t, e) < 0 || (env && apply_env(c, e) < 0) || fill_in_provider(c, e) < 0)
		goto out;
	*out = c;
	c = NULL;
	rc = 0;
out:
	toml_free(&t);
	config_free(&c);
	return rc;
}

static int read_file(const char *home, char path[PATH_SIZE], struct str *text, struct err *e)
{
	if (path_join(path, home, CONFIG_FILE, e) < 0)
		return -1;
	if (file_read(path, TOML_FILE_MAX, text, e) == 0)
		return 0;
	if (e->code != E_NOTFOUND)
		return -1;
	err_clear(e);
	return 0;
}

int config_load(struct config **out, const char *home, struct err *e)
{
	char path[PATH_SIZE];
	struct str text = STR_INIT(TOML_FILE_MAX);
	struct err here = ERR_INIT;
	int rc = -1;

	*out = NULL;
	if (read_file(home, path, &text, &here) == 0)
		rc = from_text(out, home, str_view(&text), true, &here);
	if (rc < 0 && e)
		*e = here;
	str_release(&text);
	return rc;
}

static size_t width(const struct row *r)
{
	switch (r->key.type) {
	case CONFIG_INT: return sizeof(int64_t);
	case CONFIG_BOOL: return sizeof(bool);
	default: return sizeof(char *);
	}
}

static void exchange(struct config *a, struct config *b, const struct row *r)
{
	char kept[sizeof(int64_t) > sizeof(char *) ? sizeof(int64_t) : sizeof(char *)];

	memcpy(kept, field(a, r), width(r));
	memcpy(field(a, r), field(b, r), width(r));
	memcpy(field(b, r), kept, width(r));
}

static bool differs(const struct config *a, const struct config *b, const struct row *r)
{
	struct str x = STR_INIT((size_t)1 << 20), y = STR_INIT((size_t)1 << 20);
	bool differ = config_get(a, r->key.name, &x, NULL) < 0 ||
	              config_get(b, r->key.name, &y, NULL) < 0 ||
	              !view_eq(str_view(&x), str_view(&y));

	str_release(&x);
	str_release(&y);
	return differ;
}

void config_adopt(struct config *c, struct config *fresh, struct str *waits)
{
	for (size_t i = 0; i < NROWS; i++) {
		if (rows[i].key.live)
			exchange(c, fresh, &rows[i]);
		else if (differs(c, fresh, &rows[i]))
			str_addf(waits, "%s%s", waits->n ? ", " : "", rows[i].key.name);
	}
}

void config_take_model(struct config *c, struct config *fresh)
{
	char *key = c->model.api_key;

	for (size_t i = 0; i < NROWS; i++)
		if (strncmp(rows[i].key.name, "model.", 6) == 0)
			exchange(c, fresh, &rows[i]);
	c->model.api_key = fresh->model.api_key;
	fresh->model.api_key = key;
}

void config_free(struct config **cp)
{
	struct config *c = *cp;

	if (!c)
		return;
	for (size_t i = 0; i < NROWS; i++)
		free_field(c, &rows[i]);
	key_wipe(&c->model.api_key);
	for (int p = 0; p < SEARCH_PROVIDERS; p++)
		key_wipe(&c->search.key[p]);
	key_wipe(&c->voice.key);
	free(c->home);
	free(c);
	*cp = NULL;
}

/* --- The table for others --------------------------------------------------------------------- */

const struct config_key *config_find(const char *name)
{
	const struct row *r = find_row(name);

	return r ? &r->key : NULL;
}

const struct config_key *config_at(size_t i)
{
	return i < NROWS ? &rows[i].key : NULL;
}

int config_get(const struct config *c, const char *name, struct str *out, struct err *e)
{
	const struct row *r = find_row(name);
	int64_t n;
	bool b;

	if (!r)
		return err_set(e, E_NOTFOUND, "no setting \"%s\", did you mean %s?", name,
			config_nearest(name));
	switch (r->key.type) {
	case CONFIG_INT:
		memcpy(&n, field_view(c, r), sizeof(n));
		str_addf(out, "%lld", (long long)n);
		break;
	case CONFIG_BOOL:
		memcpy(&b, field_view(c, r), sizeof(b));
		str_adds(out, b ? "true" : "false");
		break;
	case CONFIG_LIST:
		str_addc(out, '[');
		for (char **p = get_list(c, r); *p; p++) {
			if (p != get_list(c, r))
				str_adds(out, ", ");
			toml_write_string(view_of(*p), out);
		}
		str_addc(out, ']');
		break;
	default: toml_write_string(view_of(get_string(c, r)), out); break;
	}
	return str_ok(out) ? 0 : err_set(e, E_NOMEM, "out of memory");
}

int config_source(const char *home, const char *name, const char **out, struct err *e)
{
	char path[PATH_SIZE];
	struct str text = STR_INIT(TOML_FILE_MAX);
	struct toml *t = NULL;
	const struct row *r = find_row(name);
	const char *env = r && r->env ? getenv(r->env) : NULL;
	struct err here = ERR_INIT;
	int rc = -1;

	if (read_file(home, path, &text, e) < 0)
		goto out;
	if (toml_read(&t, str_view(&text), &here) < 0) {
		in_file(&here, e);
		goto out;
	}
	*out = env && env[0] ? "environment" : toml_get(t, name) ? CONFIG_FILE : "default";
	rc = 0;
out:
	toml_free(&t);
	str_release(&text);
	return rc;
}

/* --- Changing --------------------------------------------------------------------------------- */

struct edit {
	const char *name;
	struct view value; /* TOML; p NULL removes the key */
};

/* The file as it is, and as it would be. */
static int edit_text(const char *home, char path[PATH_SIZE], const struct edit *edits, size_t n,
	struct str *old, struct str *fresh, struct err *e)
{
	struct str text = STR_INIT(TOML_FILE_MAX);
	struct err here = ERR_INIT;
	int rc = -1;

	if (read_file(home, path, old, e) < 0)
		goto out;
	if (str_add(fresh, str_view(old)) < 0) {
		err_set(e, E_NOMEM, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		struct str before = *fresh;

		*fresh = text;
		text = before;
		str_reset(fresh);
		if (toml_edit(str_view(&text), edits[i].name, edits[i].value, fresh, &here) < 0) {
			in_file(&here, e);
			goto out;
		}
	}
	rc = 0;
out:
	str_release(&text);
	return rc;
}

/* The new text is loaded once before it replaces the old. */
static int change(const char *home, const struct edit *edits, size_t n, struct err *e)
{
	char path[PATH_SIZE], lockpath[PATH_SIZE];
	struct str text = STR_INIT(TOML_FILE_MAX), fresh = STR_INIT(TOML_FILE_MAX);
	struct config *trial = NULL;
	struct lock *lock = NULL;
	struct err here = ERR_INIT;
	int rc = -1;

	if (path_join(lockpath, home, "config.lock", e) < 0 ||
		lock_take(&lock, lockpath, LOCK_WAIT_MS, e) < 0 ||
		edit_text(home, path, edits, n, &text, &fresh, e) < 0)
		goto out;
	if (from_text(&trial, home, str_view(&fresh), false, e) < 0) {
		/* A fault that was there before is named by its place in the file as it is. */
		if (from_text(&trial, home, str_view(&text), false, &here) < 0 && e)
			*e = here;
		goto out;
	}
	rc = file_replace(path, 0600, str_view(&fresh), e);
out:
	config_free(&trial);
	lock_release(&lock);
	str_release(&text);
	str_release(&fresh);
	return rc;
}

/* A TOML value of the right type as it is; else the whole text as a string, unless it begins as a
 * TOML string does. */
static int as_toml(const struct row *r, const char *value, struct str *out, struct err *e)
{
	const struct config_key *k = &r->key;
	bool text_type = k->type != CONFIG_INT && k->type != CONFIG_BOOL && k->type != CONFIG_LIST;
	struct toml *hold = NULL;
	struct toml_value v;
	struct err why = ERR_INIT;
	int read = toml_read_value(&hold, &v, view_of(value), &why);
	bool usable = read == 0 && fits(r, &v);
	char first = value[strspn(value, " \t")];

	toml_free(&hold);
	if (why.code == E_NOMEM)
		return err_set(e, E_NOMEM, "%s", why.msg);
	if (usable)
		str_adds(out, value);
	else if (!text_type)
		return wrong(r, e);
	else if (read < 0 && (first == '"' || first == '\''))
		return err_set(e, E_FORMAT, "%s: the value does not read: %s", k->name, why.msg);
	else if (!utf8_valid(view_of(value)))
		return err_set(e, E_FORMAT, "%s: the value is not valid UTF-8", k->name);
	else
		toml_write_string(view_of(value), out);
	if (str_ok(out))
		return 0;
	return strlen(value) > VALUE_MAX
	               ? err_set(e, E_FORMAT, "%s: the value is too long", k->name)
	               : err_set(e, E_NOMEM, "out of memory");
}

/* Would this value do? Said without a place: it stands in no file yet. */
static int try_value(const struct row *r, struct view text, struct err *e)
{
	struct config *c = calloc(1, sizeof(*c));
	struct toml *hold = NULL;
	struct toml_value v;
	int rc = -1;

	if (!c)
		return err_set(e, E_NOMEM, "out of memory");
	if (toml_read_value(&hold, &v, text, e) == 0 && put_value(c, r, &v, e) == 0)
		rc = check(c, r, e);
	toml_free(&hold);
	config_free(&c);
	return rc;
}

/* Values as they are typed become TOML that fits its key. */
static int read_edit(const struct config_edit *in, struct edit *out, struct str *hold,
	struct err *e)
{
	const struct row *r = find_row(in->name);

	*out = (struct edit){ .name = in->name };
	if (!r)
		return err_set(e, E_NOTFOUND, "no setting \"%s\", did you mean %s?", in->name,
			config_nearest(in->name));
	if (!in->value)
		return 0;
	if (as_toml(r, in->value, hold, e) < 0 || try_value(r, str_view(hold), e) < 0)
		return -1;
	out->value = str_view(hold);
	return 0;
}

/* trial NULL: it is written; else it only says what would be in force. */
static int change_all(struct config **trial, const char *home, const struct config_edit *edits,
	size_t n, struct err *e)
{
	struct str text = STR_INIT(TOML_FILE_MAX), fresh = STR_INIT(TOML_FILE_MAX);
	struct str hold[CONFIG_EDITS_MAX];
	struct edit list[CONFIG_EDITS_MAX];
	char path[PATH_SIZE];
	int rc = 0;

	for (size_t i = 0; i < CONFIG_EDITS_MAX; i++)
		hold[i] = STR_INIT((size_t)6 * VALUE_MAX);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_edit(&edits[i], &list[i], &hold[i], e);
	if (rc == 0 && !trial)
		rc = change(home, list, n, e);
	else if (rc == 0 && (rc = edit_text(home, path, list, n, &text, &fresh, e)) == 0)
		rc = from_text(trial, home, str_view(&fresh), true, e);
	for (size_t i = 0; i < CONFIG_EDITS_MAX; i++)
		str_release(&hold[i]);
	str_release(&text);
	str_release(&fresh);
	return rc;
}

int config_change(const char *home, const struct config_edit *edits, size_t n, struct err *e)
{
	return change_all(NULL, home, edits, n, e);
}

int config_try(struct config **out, const char *home, const struct config_edit *edits, size_t n,
	struct err *e)
{
	*out = NULL;
	return change_all(out, home, edits, n, e);
}

int config_set(const char *home, const char *name, const char *value, struct err *e)
{
	const struct config_edit edit = { name, value };

	return config_change(home, &edit, 1, e);
}

int config_unset(const char *home, const char *name, struct err *e)
{
	const struct edit edit = { name, VIEW_NONE };

	return change(home, &edit, 1, e);
}
