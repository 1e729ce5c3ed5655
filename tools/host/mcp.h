/* tools/host/mcp.h: the servers of the Model Context Protocol that the operator has set up, as they
 * stand in mcp.json:
 *
 *     {"mcpServers": {
 *       "files":  {"command": "/usr/local/bin/mcp-files", "args": ["/srv"], "env": {"KEY": "..."}},
 *       "search": {"type": "http", "url": "https://...", "headers": {"Authorization": "..."}}}}
 *
 * Read strictly: what is not known is refused by its name, so that nothing is lost by a slip. The
 * file may hold secrets and must be closed to others. Pure but for mcp_load. */
#ifndef TOOLS_HOST_MCP_H
#define TOOLS_HOST_MCP_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define MCP_FILE        "mcp.json" /* beside config.toml */
#define MCP_SERVERS_MAX 32
#define MCP_NAME_MAX    ((size_t)64) /* of A-Za-z0-9_- without "__": tools are mcp__NAME__TOOL */
#define MCP_COMMAND_MAX ((size_t)4095)
#define MCP_ARGS_MAX    64
#define MCP_PAIRS_MAX   64
#define MCP_WORD_MAX    ((size_t)256)  /* a variable's or a header's name */
#define MCP_VALUE_MAX   ((size_t)8192) /* an argument, a variable's or a header's value */
#define MCP_URL_MAX     ((size_t)2048)

enum mcp_type { MCP_STDIO, MCP_HTTP, MCP_SSE };

struct mcp_pair {
	char *name, *value;
};

struct mcp_server {
	char *name;
	enum mcp_type type; /* without "type": STDIO with a command, HTTP with a url */
	/* of STDIO */
	char *command; /* absolute, or a name that whoever starts it looks up on its PATH */
	char *args[MCP_ARGS_MAX];
	size_t nargs;
	/* of the others */
	char *url;
	/* The environment, or the headers. */
	struct mcp_pair pairs[MCP_PAIRS_MAX];
	size_t npairs;
};

struct mcp {
	struct mcp_server *servers; /* in the order of the file */
	size_t n;
};
#define MCP_INIT ((struct mcp){ .servers = NULL })

/* Both leave *out empty when they fail. A file that is not there has no servers. */
int mcp_read(struct mcp *out, struct view text, struct err *e);
int mcp_load(struct mcp *out, const char *path, struct err *e);
void mcp_release(struct mcp *m);

const char *mcp_type_name(enum mcp_type t); /* "stdio", "http", "sse" */

#endif
