#include "cli/model_choice.h"

#include <stdlib.h>
#include <string.h>

#include "agent/react/provider.h"
#include "base/net/http.h"
#include "cli/keys.h"

void model_choice_init(struct model_choice *c, struct config *cfg, struct log *log)
{
	*c = (struct model_choice){ .cfg = cfg, .log = log };
}

void model_choice_release(struct model_choice *c)
{
	config_free(&c->would);
}

static enum react_vision vision_of(const struct config *cfg)
{
	return strcmp(cfg->model.vision, "on") == 0    ? VISION_ON
	       : strcmp(cfg->model.vision, "off") == 0 ? VISION_OFF
	                                               : VISION_AUTO;
}

struct react_model model_choice_now(const struct config *cfg)
{
	return (struct react_model){
		.provider = cfg->model.provider,
		.base_url = cfg->model.base_url,
		.name = cfg->model.name,
		.api_key = cfg->model.api_key,
		.context_tokens = cfg->model.context_tokens,
		.whole = !cfg->model.stream,
		.vision = vision_of(cfg),
	};
}

static const struct provider *current(const struct config *cfg)
{
	const struct provider *p = provider_named(view_of(cfg->model.provider));
	struct http_url url;

	if (p)
		return p;
	if (http_url_parse(view_of(cfg->model.base_url), &url, NULL) < 0)
		url.host = VIEW_NONE;
	return provider_of(url.host);
}

static int check_environment(enum speech *why, struct err *e)
{
	static const char *const names[] = { "KAIRO_MODEL_BASE_URL", "KAIRO_MODEL_NAME", NULL };

	*why = SPEECH_WHY_ENVIRONMENT;
	for (int i = 0; names[i]; i++) {
		const char *v = getenv(names[i]);

		if (v && v[0])
			return err_set(e, E_DENIED,
				"%s is set in the environment of kairo and would win", names[i]);
	}
	return 0;
}

/* Nobody's key goes to somebody else. */
static int check_key(const struct model_choice *c, const struct provider *p, enum speech *why,
	struct err *e)
{
	const char *env = getenv("KAIRO_MODEL_API_KEY");

	if (env && env[0])
		return err_set(e, E_DENIED,
			"the key in the environment of kairo is another provider's");
	if (p->no_key || key_is_stored(c->cfg->home, p->name))
		return 0;
	*why = SPEECH_WHY_NO_KEY;
	return err_set(e, E_DENIED,
		"no key of %s is stored; on the computer: kairo config set model.api_key.%s --stdin",
		p->name, p->name);
}

/* What of the settings this choice is. The window and the sight were given for the model before. */
static size_t edits_of(const struct model_choice *c, const char *provider, const char *name,
	struct config_edit edits[CONFIG_EDITS_MAX])
{
	size_t n = 0;

	edits[n++] = (struct config_edit){ "model.name", name[0] ? name : NULL };
	edits[n++] = (struct config_edit){ "model.context_tokens", NULL };
	edits[n++] = (struct config_edit){ "model.vision", NULL };
	if (strcmp(provider, current(c->cfg)->name) != 0) {
		edits[n++] = (struct config_edit){ "model.provider", provider };
		edits[n++] = (struct config_edit){ "model.base_url", NULL };
	}
	return n;
}

static int check(const struct model_choice *c, const char *provider, const char *name,
	enum speech *why, struct err *e)
{
	const struct provider *p = provider_named(view_of(provider)), *now = current(c->cfg);

	*why = SPEECH_WHY_NO_DEFAULT;
	if (!name[0] && p && !p->models[0])
		return err_set(e, E_FORMAT, "%s has no default model: name one, as %s/NAME",
			p->name, p->name);
	if (check_environment(why, e) < 0)
		return -1;
	return p && p != now ? check_key(c, p, why, e) : 0;
}

static int look(void *arg, const char *provider, const char *name, struct react_model *out,
	enum speech *why, struct err *e)
{
	struct config_edit edits[CONFIG_EDITS_MAX];
	struct model_choice *c = arg;
	const struct provider *p = provider_named(view_of(provider));
	size_t n;

	config_free(&c->would);
	if (check(c, provider, name, why, e) < 0)
		return -1;
	*why = SPEECH_WHY;
	n = edits_of(c, provider, name[0] || !p ? name : p->models[0], edits);
	if (config_try(&c->would, c->cfg->home, edits, n, e) < 0 ||
		config_load_key(c->would, e) < 0)
		return -1;
	if (c->would->model.api_key[0] && log_add_secret(c->log, c->would->model.api_key, e) < 0)
		return -1;
	*out = model_choice_now(c->would);
	return 0;
}

static int save(void *arg, const char *provider, const char *name, struct err *e)
{
	struct config_edit edits[CONFIG_EDITS_MAX];
	struct model_choice *c = arg;
	const struct provider *p = provider_named(view_of(provider));
	size_t n = edits_of(c, provider, name[0] || !p ? name : p->models[0], edits);

	if (config_change(c->cfg->home, edits, n, e) < 0)
		return -1;
	if (c->would)
		config_take_model(c->cfg, c->would);
	return 0;
}

struct react_choice model_choice_of(struct model_choice *c)
{
	return (struct react_choice){ look, save, c };
}
