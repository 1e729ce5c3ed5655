#include "agent/react/provider.h"

#include <string.h>

static const struct provider table[] = {
	{ "moonshot.cn", "moonshot", true },
	{ "moonshot.ai", "moonshot", true },
	{ "kimi.com", "kimi", true },
	{ "deepseek.com", "deepseek", true },
	{ "bigmodel.cn", "zhipu", false },
	{ "stepfun.com", "step", false },
	{ "xf-yun.com", "xfyun", false },
	{ "openai.com", "openai", false },
	{ NULL, "", false },
};

static bool is_of(struct view host, const char *domain)
{
	struct view d = view_of(domain);

	return view_eq(host, d) ||
	       (host.n > d.n && view_ends(host, d) && host.p[host.n - d.n - 1] == '.');
}

const struct provider *provider_of(struct view host)
{
	const struct provider *p = table;

	while (p->host && !is_of(host, p->host))
		p++;
	return p;
}
