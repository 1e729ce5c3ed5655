#include "cli/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/react/provider.h"
#include "base/file.h"
#include "cli/config.h"
#include "cli/search.h"

#define KEY_FILE_MAX 4096

#define CONFIG_KEY "model.api_key"

void key_wipe(char **key)
{
	if (*key)
		explicit_bzero(*key, strlen(*key));
	free(*key);
	*key = NULL;
}

/* --- Loading ---------------------------------------------------------------------------------- */

static int take_key(char **slot, struct view key, struct err *e)
{
	key = view_trim(key);
	for (size_t i = 0; i < key.n; i++)
		if (key.p[i] <= ' ' || key.p[i] >= 0x7f)
			return err_set(e, E_FORMAT, "the key holds a space or a control character");
	char *fresh = strndup(key.n ? key.p : "", key.n);
	if (!fresh)
		return err_set(e, E_NOMEM, "out of memory");
	key_wipe(slot);
	*slot = fresh;
	return 0;
}

static int read_key(char **slot, const char *path, const char *what, struct err *e)
{
	struct str text = STR_SECRET(KEY_FILE_MAX);
	int rc = file_read_private(path, KEY_FILE_MAX, &text, e);

	if (rc == 0)
		rc = take_key(slot, str_view(&text), e);
	str_wipe(&text);
	if (rc < 0 && e && e->code == E_NOTFOUND && view_ends(view_of(what), VIEW("_file")))
		return err_set(e, E_NOTFOUND,
			"%s names a file that is not there (kairo config set %.*s --stdin makes one, "
			"kairo config unset %s does without): %s",
			what, (int)(strlen(what) - strlen("_file")), what, what, path);
	return rc < 0 ? err_wrap(e, "%s", what) : 0;
}

static int provider_key_path(char out[PATH_SIZE], const char *home, const char *provider,
	struct err *e)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s.key", provider);
	return path_join(out, home, name, e);
}

bool key_is_stored(const char *home, const char *provider)
{
	char path[PATH_SIZE];

	return provider_key_path(path, home, provider, NULL) == 0 && access(path, F_OK) == 0;
}

/* The provider's own, else the one there is for all; a server of one's own gets no other's. */
static int find_key_file(const struct config *c, char out[PATH_SIZE], struct err *e)
{
	const struct provider *p = provider_named(view_of(c->model.provider));

	out[0] = '\0';
	if (p && provider_key_path(out, c->home, p->name, e) < 0)
		return -1;
	if (p && access(out, F_OK) == 0)
		return 0;
	return copy_z(out, PATH_SIZE, p && p->no_key ? VIEW_NONE : view_of(c->model.api_key_file));
}

int config_load_key(struct config *c, struct err *e)
{
	const char *env = getenv("KAIRO_MODEL_API_KEY");
	char path[PATH_SIZE];

	if (env && env[0])
		return take_key(&c->model.api_key, view_of(env), e) < 0
		               ? err_wrap(e, "the environment's KAIRO_MODEL_API_KEY")
		               : 0;
	if (find_key_file(c, path, e) < 0)
		return -1;
	if (!path[0])
		return 0;
	return read_key(&c->model.api_key, path,
		strcmp(path, c->model.api_key_file) == 0 ? "model.api_key_file"
							 : "the provider's key",
		e);
}

int config_load_search(struct config *c, struct err *e)
{
	char what[64];

	for (int p = 0; p < SEARCH_PROVIDERS; p++) {
		const char *path = c->search.key_file[p];

		(void)snprintf(what, sizeof(what), "search.%s_key_file", search_names[p]);
		if (path && path[0] && read_key(&c->search.key[p], path, what, e) < 0)
			return -1;
	}
	return 0;
}

int config_load_voice(struct config *c, struct err *e)
{
	const char *path = c->voice.key_file;

	return path && path[0] ? read_key(&c->voice.key, path, "voice.api_key_file", e) : 0;
}

/* --- Storing ---------------------------------------------------------------------------------- */

static int no_such_provider(const char *name, struct err *e)
{
	struct str names = STR_INIT(400);

	provider_names(&names);
	(void)err_set(e, E_FORMAT, "%s: expected one of %s", name, str_cstr(&names));
	str_release(&names);
	return -1;
}

/* Whose key is it? "model.api_key.kimi", or "model.api_key": of the provider that is set, if any.
 * NULL: not to be told. */
static int key_owner(const char *home, const char *name, const struct provider **out, struct err *e)
{
	struct config *c = NULL;

	*out = NULL;
	if (strncmp(name, CONFIG_KEY ".", sizeof(CONFIG_KEY)) == 0) {
		*out = provider_named(view_of(name + sizeof(CONFIG_KEY)));
		return *out ? 0 : no_such_provider(name, e);
	}
	if (strcmp(name, CONFIG_KEY) != 0)
		return err_set(e, E_NOTFOUND, "%s is no secret", name);
	if (config_load(&c, home, e) < 0 || !c)
		return -1;
	*out = provider_named(view_of(c->model.provider));
	config_free(&c);
	return 0;
}

/* "search.brave_key", "voice.api_key": the setting of the file that it is kept in. */
static const struct config_key *filed_key(const char *name)
{
	char file[64];

	if ((strncmp(name, "search.", 7) != 0 && strncmp(name, "voice.", 6) != 0) ||
		snprintf(file, sizeof(file), "%s_file", name) >= (int)sizeof(file))
		return NULL;
	return config_find(file);
}

bool config_is_secret(const char *name)
{
	size_t n = sizeof(CONFIG_KEY) - 1;

	return filed_key(name) ||
	       (strncmp(name, CONFIG_KEY, n) == 0 && (!name[n] || name[n] == '.'));
}

/* "search.brave_key_file" is search-brave.key. */
static int set_filed_key(const char *home, const struct config_key *k, struct view secret,
	struct err *e)
{
	struct view name = view_of(k->name), room = view_cut(name, view_find(name, '.'));
	char file[64], path[PATH_SIZE];

	name = view_from(name, room.n + 1);
	(void)snprintf(file, sizeof(file), "%.*s-%.*s.key", VIEW_FMT(room),
		VIEW_FMT(view_cut(name, name.n - strlen("_key_file"))));
	if (path_join(path, home, file, e) < 0 || file_replace(path, 0600, secret, e) < 0)
		return -1;
	return config_set(home, k->name, path, e);
}

static int set_model_key(const char *home, const char *name, struct view secret, struct err *e)
{
	const struct provider *owner;
	char path[PATH_SIZE];

	if (key_owner(home, name, &owner, e) < 0 ||
		provider_key_path(path, home, owner ? owner->name : "model", e) < 0 ||
		file_replace(path, 0600, secret, e) < 0)
		return -1;
	return owner ? 0 : config_set(home, "model.api_key_file", path, e);
}

int config_set_secret(const char *home, const char *name, struct view secret, struct err *e)
{
	const struct config_key *filed = filed_key(name);

	secret = view_trim(secret);
	if (secret.n < 1 || secret.n > KEY_FILE_MAX - 1)
		return err_set(e, E_FORMAT, "the key must have 1 to %d characters",
			KEY_FILE_MAX - 1);
	for (size_t i = 0; i < secret.n; i++)
		if (secret.p[i] <= ' ' || secret.p[i] >= 0x7f)
			return err_set(e, E_FORMAT, "the key holds a space or a control character");
	return filed ? set_filed_key(home, filed, secret, e) : set_model_key(home, name, secret, e);
}
