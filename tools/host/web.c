#include "tools/host/web.h"

#include <stdlib.h>

#include "tools/host/web-private.h"

int web_take_turn(struct web *w, struct err *e)
{
	int64_t now = loop_now(w->env.loop), wait;

	if (w->nasked == WEB_RATE_MAX) {
		wait = w->asked[w->next] + WEB_RATE_MS - now;
		if (wait > 0)
			return err_set(e, E_FULL,
				"the web was asked %d times in a minute, which is the limit: go on "
				"with what you have, or in %lld s",
				WEB_RATE_MAX, (long long)wait / 1000 + 1);
	} else {
		w->nasked++;
	}
	w->asked[w->next] = now;
	w->next = (w->next + 1) % WEB_RATE_MAX;
	return 0;
}

static int add_tool(struct web *w, const struct native_tool *tool, struct err *e)
{
	struct native_tool mine = *tool;

	mine.self = w;
	return tools_add_native(w->env.tools, &mine, e);
}

static int open_pages(struct web *w, struct err *e)
{
	const struct http_rules rules = {
		.reach = HTTP_PUBLIC,
		.loopback = w->env.loopback,
		.plain_http = true,
		.ca_file = w->env.ca_file,
		.user_agent = "Mozilla/5.0 (compatible; kairo/" KAIRO_VERSION ")",
	};

	return http_open(&w->pages, w->env.loop, &rules, w->env.log, e) < 0
	               ? -1
	               : add_tool(w, &web_fetch_tool, e);
}

static int open_providers(struct web *w, struct err *e)
{
	const struct http_rules rules = {
		.reach = HTTP_ANY,
		.plain_http = true,
		.proxy = w->env.proxy,
		.ca_file = w->env.ca_file,
		.user_agent = "kairo/" KAIRO_VERSION,
	};
	size_t n = 0;

	/* What is not set up is not tried. */
	for (size_t i = 0; i < w->env.norder; i++)
		if (search_ready(w->env.order[i], &w->env.search[w->env.order[i]]))
			w->env.order[n++] = w->env.order[i];
	w->env.norder = n;
	if (n == 0)
		return 0;
	return http_open(&w->providers, w->env.loop, &rules, w->env.log, e) < 0
	               ? -1
	               : add_tool(w, &web_search_tool, e);
}

int web_open(struct web **out, const struct web_env *env, struct err *e)
{
	struct web *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (!w)
		return err_set(e, E_NOMEM, "the web's tools");
	w->env = *env;
	if (open_pages(w, e) < 0 || open_providers(w, e) < 0) {
		web_close(&w);
		return -1;
	}
	*out = w;
	return 0;
}

void web_close(struct web **wp)
{
	struct web *w = *wp;

	if (!w)
		return;
	*wp = NULL;
	http_close(&w->pages);
	http_close(&w->providers);
	free(w);
}
