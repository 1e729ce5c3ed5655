/* cli/config.h: config.toml: every key, its type, bounds, default and meaning in one table. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "tools/host/search.h"

#define CONFIG_FILE "config.toml"

#define CONFIG_EDITS_MAX 8

/* Everything read from config.toml and the environment. Strings are never NULL unless said. */
struct config {
	char *home;           /* where it was read */
	char *workspace;      /* absolute; default ~/kairo */
	char *engine;         /* react acp */
	char *language;       /* auto zh en */
	char *render_mode;    /* native plain */
	char *log_level;      /* error warn info debug */
	int64_t text_limit;   /* 1..3800, default 1800 */
	int64_t queue_limit;  /* 1..1000, default 100 */
	int64_t turn_minutes; /* 1..1440, default 60 */
	int64_t audit_days;   /* 1..3650, default 90 */
	char **allowed_users; /* NULL-terminated; at most 100 */

	struct {
		int64_t max_mb, days, keep_mb, merge_ms;
	} media;

	struct {
		char *provider;     /* canonical name; "" none */
		char *base_url;     /* the provider's, or "", until set */
		char *name;         /* the provider's default one, or "", until set */
		char *api_key_file; /* absolute; "" none */
		bool stream;
		char *vision; /* auto on off */
		int64_t context_tokens, token_budget, max_iterations, idle_seconds;
		char *system_prompt; /* added to the built-in one; "" none */
		char *api_key; /* by config_load_key, from the environment or the file; "" none */
	} model;

	struct {
		bool allow_loopback, allow_fake_ip;
		char *proxy, *ca_file;
	} network;

	struct {
		char *mode;  /* best required */
		char **read; /* absolute paths; at most 32 */
	} sandbox;

	struct {
		int64_t max_mb; /* 1..100, default 100 */
	} files;

	struct {
		char *shell;        /* deny allowlist ask */
		char **shell_allow; /* commands; at most 200 */
		char *write, *web;  /* allow ask deny */
		char **tools;       /* "NAME=VERDICT"; at most 100 */
		int64_t ask_minutes;
	} policy;

	struct {
		char **order;                     /* names of providers; empty: all */
		char *url[SEARCH_PROVIDERS];      /* "" the provider's own */
		char *key_file[SEARCH_PROVIDERS]; /* absolute; "" none */
		char *key[SEARCH_PROVIDERS];      /* by config_load_search; NULL none */
	} search;

	struct {
		char **transcriber, **decoder; /* program and arguments; at most 40 */
		char *base_url, *name;         /* "" none */
		char *key_file;                /* absolute; "" none */
		char *key;                     /* by config_load_voice; NULL none */
	} voice;

	struct {
		char *preset;   /* a name of agent/acp/preset.h */
		char **command; /* instead of a preset: program and arguments; at most 40 */
		char **write;   /* further folders it may write to; at most 32 */
		char *model, *effort, *mode; /* "" the agent's own */
		char *hooks;                 /* ask on off */
		bool fs, terminal, strict;
	} acp;

	struct {
		char *client_version, *bot_agent, *route_tag, *cdn_url; /* "" default */
		bool cdn_direct;
	} ilink;
};

/* Reads <home>/config.toml (a missing file gives the defaults) and the overrides
 * KAIRO_MODEL_BASE_URL, KAIRO_MODEL_NAME. Errors read "config.toml:LINE:COL: ...", unknown keys
 * name the nearest known one. A leading "~/" of a path is the user's home. */
int config_load(struct config **out, const char *home, struct err *e);
/* What can change while a daemon runs is taken over from fresh, which must be freed still; the
 * names of other settings that differ are added to waits. */
void config_adopt(struct config *c, struct config *fresh, struct str *waits);
/* Whose address model.base_url is, when it is another provider's than model.provider; else NULL. */
const char *config_other_provider(const struct config *c);
/* The settings of the model and its key change places. */
void config_take_model(struct config *c, struct config *fresh);
void config_free(struct config **c); /* wipes the keys */
/* Fill model.api_key from KAIRO_MODEL_API_KEY, else <home>/PROVIDER.key, else api_key_file (private
 * files of at most 4 KiB, trimmed); for a server of one's own only from the first two. */
int config_load_key(struct config *c, struct err *e);
/* Fill search.key from the files of keys, and voice.key. */
int config_load_search(struct config *c, struct err *e);
int config_load_voice(struct config *c, struct err *e);

/* --- The table, for `config get/set/list`, the manual and completions ------------------------- */
enum config_type { CONFIG_STRING, CONFIG_INT, CONFIG_BOOL, CONFIG_LIST, CONFIG_ENUM, CONFIG_PATH };

struct config_key {
	const char *name; /* dotted */
	enum config_type type;
	const char *fallback;      /* default as text; NULL: empty */
	int64_t min, max;          /* CONFIG_INT */
	const char *const *values; /* CONFIG_ENUM, NULL-terminated */
	bool live;                 /* taken over on SIGHUP without a restart */
	const char *help;          /* one line */
};
const struct config_key *config_at(size_t i); /* NULL behind the last */
const struct config_key *config_find(const char *name);
const char *config_nearest(const char *name); /* the most similar key */

/* The value in force as TOML text. */
int config_get(const struct config *c, const char *name, struct str *out, struct err *e);
/* Where it comes from: "default", "config.toml", "environment". */
int config_source(const char *home, const char *name, const char **out, struct err *e);
/* Check a value (TOML, or a bare word taken as a string) and write it to config.toml under a lock,
 * atomically, comments and order kept. Nothing is written when the result would not load. */
int config_set(const char *home, const char *name, const char *value, struct err *e);
int config_unset(const char *home, const char *name, struct err *e);

struct config_edit {
	const char *name, *value; /* as for config_set; NULL removes it */
};
/* The same for up to CONFIG_EDITS_MAX settings at once: all of them or none. For a daemon's loop:
 * it waits half a second for whoever else is writing, not five. */
int config_change(const char *home, const struct config_edit *edits, size_t n, struct err *e);
/* What would be in force after that; nothing is written. */
int config_try(struct config **out, const char *home, const struct config_edit *edits, size_t n,
	struct err *e);

/* "model.api_key", "model.api_key.PROVIDER", "search.PROVIDER_key", "voice.api_key": entered by
 * --stdin alone. */
bool config_is_secret(const char *name);
/* Store a secret: a provider's key goes to <home>/PROVIDER.key (0600); without a provider, to
 * <home>/model.key, and api_key_file points to it. One for searches goes to
 * <home>/search-PROVIDER.key, and search.PROVIDER_key_file points to it; that for voices likewise
 * to <home>/voice-api.key. */
int config_set_secret(const char *home, const char *name, struct view secret, struct err *e);

#endif
