#include "cli/config-private.h"

#include <string.h>

#include "agent/react/provider.h"
#include "cli/policy.h"
#include "cli/search.h"

enum { WINDOW_MIN = 1000 };

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
	return config_is_plain(s) && strlen(s) <= 256
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
		if (!(*list)[0] || strlen(*list) > 128 || !config_is_plain(*list))
			return err_set(e, E_FORMAT,
				"allowed_users: a user id has 1 to 128 characters");
	return 0;
}

static int check_folders(const char *name, char *const *list, struct err *e)
{
	for (; list && *list; list++)
		if ((*list)[0] != '/' || !config_is_path(*list))
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

int config_check(const struct config *c, const struct config_row *r, struct err *e)
{
	const char *name = r->key.name;

	switch (r->offset) {
	case CONFIG_OFFSET(workspace):
		return c->workspace[0] ? 0 : err_set(e, E_FORMAT, "%s: expected a folder", name);
	case CONFIG_OFFSET(model.provider): return check_provider(name, config_string(c, r), e);
	case CONFIG_OFFSET(model.base_url):
	case CONFIG_OFFSET(ilink.cdn_url):
	case CONFIG_OFFSET(voice.base_url):
	case CONFIG_OFFSET(network.proxy): return check_url(name, config_string(c, r), e);
	case CONFIG_OFFSET(model.context_tokens):
		return c->model.context_tokens == 0 || c->model.context_tokens >= WINDOW_MIN
		               ? 0
		               : err_set(e, E_FORMAT, "%s: expected 0, or at least %d", name,
					 WINDOW_MIN);
	case CONFIG_OFFSET(model.name):
	case CONFIG_OFFSET(voice.name):
	case CONFIG_OFFSET(ilink.client_version):
	case CONFIG_OFFSET(ilink.bot_agent):
	case CONFIG_OFFSET(ilink.route_tag): return check_word(name, config_string(c, r), e);
	case CONFIG_OFFSET(allowed_users): return check_users(c->allowed_users, e);
	case CONFIG_OFFSET(sandbox.read): return check_folders(name, c->sandbox.read, e);
	case CONFIG_OFFSET(acp.write): return check_folders(name, c->acp.write, e);
	case CONFIG_OFFSET(acp.command):
		return !c->acp.command || !c->acp.command[0] || c->acp.command[0][0]
		               ? 0
		               : err_set(e, E_FORMAT, "%s: expected a program first", name);
	case CONFIG_OFFSET(voice.transcriber):
		return check_program(name, c->voice.transcriber, false, e);
	case CONFIG_OFFSET(voice.decoder): return check_program(name, c->voice.decoder, true, e);
	case CONFIG_OFFSET(policy.shell_allow):
		return policy_check_lists(c->policy.shell_allow, NULL, e);
	case CONFIG_OFFSET(policy.tools): return policy_check_lists(NULL, c->policy.tools, e);
	case CONFIG_OFFSET(search.order): return search_check_order(c->search.order, e);
	case CONFIG_OFFSET(search.url[SEARCH_ZHIPU]):
	case CONFIG_OFFSET(search.url[SEARCH_SERPAPI]):
	case CONFIG_OFFSET(search.url[SEARCH_SEARXNG]):
	case CONFIG_OFFSET(search.url[SEARCH_BRAVE]):
	case CONFIG_OFFSET(search.url[SEARCH_TAVILY]):
		return check_url(name, config_string(c, r), e);
	default: return 0;
	}
}
