/* tools/host/mcp: what is accepted keeps every limit, and each server has what its kind needs. */
#include "fuzz.h"

#include <string.h>

#include "tools/host/mcp.h"

static void check(const struct mcp_server *s)
{
	size_t n = strlen(s->name);

	must(n > 0 && n <= MCP_NAME_MAX && !strstr(s->name, "__"));
	must(s->nargs <= MCP_ARGS_MAX && s->npairs <= MCP_PAIRS_MAX);
	must(s->type == MCP_STDIO ? s->command && s->command[0] && !s->url
				  : s->url && s->url[0] && !s->command && s->nargs == 0);
	for (size_t i = 0; i < s->npairs; i++) {
		must(s->pairs[i].name[0] && !strpbrk(s->pairs[i].name, "=: \r\n"));
		must(s->type == MCP_STDIO || !strpbrk(s->pairs[i].value, "\r\n"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct mcp m;

	if (mcp_read(&m, (struct view){ (const char *)data, size }, &e) < 0) {
		must(!m.servers && m.n == 0 && e.msg[0]);
		return 0;
	}
	must(m.n <= MCP_SERVERS_MAX);
	for (size_t i = 0; i < m.n; i++)
		check(&m.servers[i]);
	mcp_release(&m);
	return 0;
}
