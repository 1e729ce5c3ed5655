#include "cli/search.h"

#include <string.h>

/* -1: there is no such provider. */
static int provider_of(const char *name)
{
	for (int p = 0; p < SEARCH_PROVIDERS; p++)
		if (strcmp(search_names[p], name) == 0)
			return p;
	return -1;
}

void search_settings(struct web_env *env, const struct config *c)
{
	env->norder = 0;
	for (int p = 0; p < SEARCH_PROVIDERS; p++) {
		env->search[p].url = c->search.url[p];
		env->search[p].key = c->search.key[p];
		if (!c->search.order[0])
			env->order[env->norder++] = (enum search_provider)p;
	}
	for (char *const *name = c->search.order; *name; name++)
		env->order[env->norder++] = (enum search_provider)provider_of(*name);
}

int search_check_order(char *const *order, struct err *e)
{
	bool seen[SEARCH_PROVIDERS] = { false };

	for (; *order; order++) {
		int p = provider_of(*order);

		if (p < 0)
			return err_set(e, E_FORMAT,
				"search.order: there is no \"%.40s\"; there are zhipu, serpapi, "
				"searxng, brave and tavily",
				*order);
		if (seen[p])
			return err_set(e, E_FORMAT, "search.order: %s stands there twice", *order);
		seen[p] = true;
	}
	return 0;
}

void search_text(const struct config *c, struct str *out)
{
	struct web_env env;

	search_settings(&env, c);
	for (size_t i = 0; i < env.norder; i++)
		if (search_ready(env.order[i], &env.search[env.order[i]]))
			(void)str_addf(out, "%s%s", out->n ? ", " : "", search_names[env.order[i]]);
}
