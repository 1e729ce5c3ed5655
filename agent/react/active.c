#include "agent/react/active.h"

#include <stdlib.h>
#include <string.h>

#include "agent/say.h"
#include "base/text.h"

static int read_settings(struct active *a, const struct react_model *m, struct err *e)
{
	const struct provider *p = provider_named(view_of(m->provider));
	struct http_url url = { .host = VIEW_NONE };

	a->base_url = strdup(m->base_url ? m->base_url : "");
	a->name = strdup(m->name ? m->name : "");
	if (!a->base_url || !a->name) {
		(void)err_set(e, E_NOMEM, "a model");
		return -1;
	}
	if (a->base_url[0] && http_url_parse(view_of(a->base_url), &url, e) < 0) {
		(void)err_wrap(e, "model.base_url");
		return -1;
	}
	if (!p)
		p = provider_of(url.host);
	provider_contract(&a->contract, p, a->base_url, url.host, a->name);
	a->set_up = a->base_url[0] && a->name[0];
	a->stream = !m->whole;
	a->sees = m->vision == VISION_AUTO ? a->contract.sees : m->vision == VISION_ON;
	a->window = m->context_tokens > 0 ? m->context_tokens : a->contract.window;
	if (a->window < WINDOW_MIN)
		a->window = WINDOW_MIN;
	return 0;
}

int active_open(struct active **out, const struct react_model *m, const struct model_env *env,
	struct err *e)
{
	struct active *a = calloc(1, sizeof(*a));
	struct model_env client = *env;

	*out = NULL;
	if (!a)
		return err_set(e, E_NOMEM, "a model");
	if (read_settings(a, m, e) < 0)
		goto fail;
	client.base_url = a->contract.base_url;
	client.api_key = m->api_key;
	client.header_name = a->contract.provider->header_name;
	client.header = a->contract.provider->header;
	client.stream = a->stream;
	if (model_open(&a->client, &client, e) < 0)
		goto fail;
	*out = a;
	return 0;
fail:
	active_close(&a);
	return -1;
}

void active_close(struct active **ap)
{
	struct active *a = *ap;

	if (!a)
		return;
	*ap = NULL;
	model_close(&a->client);
	free(a->base_url);
	free(a->name);
	free(a);
}

void active_describe(const struct active *a, speech_fn *speak, bool zh, struct str *out)
{
	const char *provider = a->contract.provider->name;
	struct str name = STR_INIT(2048), host = STR_INIT(1024);
	struct http_url url;

	if (!a->set_up || http_url_parse(view_of(a->contract.base_url), &url, NULL) < 0) {
		say(speak, out, zh, SPEECH_MODEL_UNSET);
		return;
	}
	(void)str_addf(&name, "%s%s", provider, provider[0] ? " " : "");
	(void)text_visible(view_of(a->name), &name);
	(void)str_add(&host, url.host);
	say(speak, out, zh, SPEECH_MODEL_AT, str_cstr(&name), str_cstr(&host));
	str_release(&name);
	str_release(&host);
}
