/* The operator's MCP servers, handed over with each session that is made or taken up: an agent
 * keeps none of them. They are read anew each time, so that a change needs no restart. */
#include <string.h>

#include "agent/acp/acp-private.h"
#include "tools/host/mcp.h"

#define SECRET_MIN 8 /* of what a log can mask */

/* Which it takes, by what it said of itself; every agent takes stdio (acp, section 13). */
static bool takes(const struct link_caps *caps, enum mcp_type type)
{
	return type == MCP_STDIO || (type == MCP_HTTP ? caps->mcp_http : caps->mcp_sse);
}

/* Any of them may be a key, whatever it is called. */
static void mask_secrets(struct acp *a, const struct mcp_server *s)
{
	struct err e = ERR_INIT;

	for (size_t i = 0; i < s->npairs; i++)
		if (strlen(s->pairs[i].value) >= SECRET_MIN &&
			log_add_secret(a->log, s->pairs[i].value, &e) < 0)
			log_warn(a->log, "acp", "%s of MCP server %s is not masked in the log: %s",
				s->pairs[i].name, s->name, e.msg);
}

static void tell_left_out(struct acp *a, const struct mcp_server *s)
{
	log_warn(a->log, "acp", "MCP server %s is not handed over: the agent takes none by %s",
		s->name, mcp_type_name(s->type));
	(void)str_addf(&a->unserved, "%s%s (%s)", a->unserved.n ? ", " : "", s->name,
		mcp_type_name(s->type));
}

static void tell_unread(struct acp *a, const struct err *e)
{
	log_warn(a->log, "acp", "no MCP server is handed over: %s", e->msg);
	a->unread = true;
	acp_note(a, SPEECH_NO_SERVERS, MCP_FILE);
}

void servers_load(struct acp *a)
{
	struct err e = ERR_INIT;

	mcp_release(&a->servers);
	str_reset(&a->unserved);
	a->unread = false;
	if (!a->mcp_path)
		return;
	if (mcp_load(&a->servers, a->mcp_path, &e) < 0)
		tell_unread(a, &e);
	for (size_t i = 0; i < a->servers.n; i++) {
		mask_secrets(a, &a->servers.servers[i]);
		if (!takes(link_caps(a->link), a->servers.servers[i].type))
			tell_left_out(a, &a->servers.servers[i]);
	}
}

static void put_pairs(struct json_out *w, const char *name, const struct mcp_server *s)
{
	json_open_array(w, name);
	for (size_t i = 0; i < s->npairs; i++) {
		json_open(w, NULL);
		json_put_z(w, "name", s->pairs[i].name);
		json_put_z(w, "value", s->pairs[i].value);
		json_close(w);
	}
	json_close_array(w);
}

/* One of stdio has no "type"; its args and env are there even when they are empty. */
static void put_server(struct json_out *w, const struct mcp_server *s)
{
	json_open(w, NULL);
	if (s->type != MCP_STDIO)
		json_put_z(w, "type", mcp_type_name(s->type));
	json_put_z(w, "name", s->name);
	if (s->type == MCP_STDIO) {
		json_put_z(w, "command", s->command);
		json_open_array(w, "args");
		for (size_t i = 0; i < s->nargs; i++)
			json_put_z(w, NULL, s->args[i]);
		json_close_array(w);
	} else {
		json_put_z(w, "url", s->url);
	}
	put_pairs(w, s->type == MCP_STDIO ? "env" : "headers", s);
	json_close(w);
}

void servers_put(struct acp *a, struct json_out *w)
{
	json_open_array(w, "mcpServers");
	for (size_t i = 0; i < a->servers.n; i++)
		if (takes(link_caps(a->link), a->servers.servers[i].type))
			put_server(w, &a->servers.servers[i]);
	json_close_array(w);
}
