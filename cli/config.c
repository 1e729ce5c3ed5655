#include "cli/config-private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/react/provider.h"
#include "base/file.h"
#include "base/net/http.h"
#include "cli/keys.h"

static int located(const struct toml_value *v, bool key, struct err *e)
{
	return err_wrap(e, CONFIG_FILE ":%d:%d", key ? v->key_line : v->line,
		key ? v->key_col : v->col);
}

static int apply(struct config *c, const struct toml *t, struct err *e)
{
	for (size_t i = 0; i < toml_count(t); i++) {
		const char *name = toml_key(t, i);
		const struct config_row *r = config_row_named(name);
		const struct toml_value *v = toml_at(t, i);

		if (!r) {
			err_set(e, E_FORMAT, "no setting \"%s\", did you mean %s?", name,
				config_nearest(name));
			return located(v, true, e);
		}
		if (config_put(c, r, v, e) < 0 || config_check(c, r, e) < 0)
			return located(v, false, e);
	}
	return 0;
}

static int apply_env(struct config *c, struct err *e)
{
	const struct config_row *r;

	for (size_t i = 0; (r = config_row_at(i)); i++) {
		const char *v = r->env ? getenv(r->env) : NULL;

		if (!v || !v[0])
			continue;
		if (config_put_string(c, r, v, e) < 0 || config_check(c, r, e) < 0)
			return err_wrap(e, "the environment's %s", r->env);
	}
	return 0;
}

/* What a provider's name stands for, where nothing else is said. */
static int fill_in_provider(struct config *c, struct err *e)
{
	const struct provider *p = provider_named(view_of(c->model.provider));

	if (!p)
		return 0;
	if (config_put_string(c, config_row_named("model.provider"), p->name, e) < 0)
		return -1;
	if (!c->model.base_url[0] &&
		config_put_string(c, config_row_named("model.base_url"), p->base_url, e) < 0)
		return -1;
	if (!c->model.name[0] && p->models[0])
		return config_put_string(c, config_row_named("model.name"), p->models[0], e);
	return 0;
}

const char *config_other_provider(const struct config *c)
{
	const struct provider *set = provider_named(view_of(c->model.provider)), *owner;
	struct http_url u;

	if (!set || http_url_parse(view_of(c->model.base_url), &u, NULL) < 0)
		return NULL;
	owner = provider_of(u.host);
	return owner->name[0] && owner != set ? owner->name : NULL;
}

void config_in_file(const struct err *toml, struct err *e)
{
	err_set(e, toml->code, CONFIG_FILE ":%s%s", toml->code == E_NOMEM ? " " : "", toml->msg);
}

int config_from_text(struct config **out, const char *home, struct view text, bool env,
	struct err *e)
{
	struct config *c = calloc(1, sizeof(*c));
	const struct config_row *r;
	struct toml *t = NULL;
	struct err here = ERR_INIT;
	int rc = -1;

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "out of memory");
	for (size_t i = 0; (r = config_row_at(i)); i++)
		if (config_put_default(c, r, e) < 0)
			goto out;
	if (!(c->model.api_key = strdup("")) || !(c->home = strdup(home))) {
		err_set(e, E_NOMEM, "out of memory");
		goto out;
	}
	if (toml_read(&t, text, &here) < 0) {
		config_in_file(&here, e);
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

int config_read_file(const char *home, char path[PATH_SIZE], struct str *text, struct err *e)
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
	if (config_read_file(home, path, &text, &here) == 0)
		rc = config_from_text(out, home, str_view(&text), true, &here);
	if (rc < 0 && e)
		*e = here;
	str_release(&text);
	return rc;
}

static bool differs(const struct config *a, const struct config *b, const struct config_row *r)
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
	const struct config_row *r;

	for (size_t i = 0; (r = config_row_at(i)); i++) {
		if (r->key.live)
			config_exchange(c, fresh, r);
		else if (differs(c, fresh, r))
			str_addf(waits, "%s%s", waits->n ? ", " : "", r->key.name);
	}
}

void config_take_model(struct config *c, struct config *fresh)
{
	char *key = c->model.api_key;
	const struct config_row *r;

	for (size_t i = 0; (r = config_row_at(i)); i++)
		if (strncmp(r->key.name, "model.", 6) == 0)
			config_exchange(c, fresh, r);
	c->model.api_key = fresh->model.api_key;
	fresh->model.api_key = key;
}

void config_free(struct config **cp)
{
	struct config *c = *cp;
	const struct config_row *r;

	if (!c)
		return;
	for (size_t i = 0; (r = config_row_at(i)); i++)
		config_drop(c, r);
	key_wipe(&c->model.api_key);
	for (int p = 0; p < SEARCH_PROVIDERS; p++)
		key_wipe(&c->search.key[p]);
	key_wipe(&c->voice.key);
	free(c->home);
	free(c);
	*cp = NULL;
}

int config_source(const char *home, const char *name, const char **out, struct err *e)
{
	char path[PATH_SIZE];
	struct str text = STR_INIT(TOML_FILE_MAX);
	struct toml *t = NULL;
	const struct config_row *r = config_row_named(name);
	const char *env = r && r->env ? getenv(r->env) : NULL;
	struct err here = ERR_INIT;
	int rc = -1;

	if (config_read_file(home, path, &text, e) < 0)
		goto out;
	if (toml_read(&t, str_view(&text), &here) < 0) {
		config_in_file(&here, e);
		goto out;
	}
	*out = env && env[0] ? "environment" : toml_get(t, name) ? CONFIG_FILE : "default";
	rc = 0;
out:
	toml_free(&t);
	str_release(&text);
	return rc;
}
