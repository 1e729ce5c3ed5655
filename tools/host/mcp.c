#include "tools/host/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/net/http.h"

static const char *const types[] = { "stdio", "http", "sse", NULL };

const char *mcp_type_name(enum mcp_type t)
{
	return types[t];
}

/* --- Words ------------------------------------------------------------------------------------ */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters, digits and these. */
static bool is_of(struct view v, const char *more)
{
	for (size_t i = 0; i < v.n; i++)
		if (!is_letter(v.p[i]) && !strchr(more, v.p[i]))
			return false;
	return v.n > 0;
}

/* "files" as the policy names it: two underscores part a server's name from its tool's. */
static bool is_server_name(struct view v)
{
	for (size_t i = 0; i + 1 < v.n; i++)
		if (v.p[i] == '_' && v.p[i + 1] == '_')
			return false;
	return v.n <= MCP_NAME_MAX && is_of(v, "_-");
}

static bool is_variable(struct view v)
{
	return is_of(v, "_") && !(v.p[0] >= '0' && v.p[0] <= '9');
}

/* A token of RFC 9110, section 5.6.2. */
static bool is_header(struct view v)
{
	return is_of(v, "!#$%&'*+-.^_`|~");
}

/* Nothing that would begin another header. */
static bool is_header_value(struct view v)
{
	for (size_t i = 0; i < v.n; i++)
		if ((unsigned char)v.p[i] < ' ' && v.p[i] != '\t')
			return false;
	return true;
}

static int keep(char **out, struct view v, struct err *e)
{
	*out = strndup(v.n > 0 ? v.p : "", v.n);
	return *out ? 0 : err_set(e, E_NOMEM, "the servers");
}

/* --- A server --------------------------------------------------------------------------------- */

/* A misspelt member would be a server without its key. */
static int only(const struct json *obj, const char *const *names, struct err *e)
{
	json_each(member, obj) {
		const char *const *known = names;

		while (*known && strcmp(*known, json_name(member)) != 0)
			known++;
		if (!*known)
			return err_set(e, E_FORMAT, "\"%.60s\" is not known here",
				json_name(member));
	}
	return 0;
}

static int take_args(struct mcp_server *s, const struct json *obj, struct err *e)
{
	const struct json *args = NULL;

	if (json_get_array(obj, "args", JSON_OPTIONAL, MCP_ARGS_MAX, &args, e) < 0)
		return -1;
	json_each(item, args) {
		struct view v;

		if (json_str(item, &v) < 0 || v.n > MCP_VALUE_MAX)
			return err_set(e, E_FORMAT,
				"args: argument %zu is not text of at most %zu bytes", s->nargs + 1,
				MCP_VALUE_MAX);
		if (keep(&s->args[s->nargs], v, e) < 0)
			return -1;
		s->nargs++;
	}
	return 0;
}

static int take_pair(struct mcp_server *s, const char *of, const struct json *member, struct err *e)
{
	struct mcp_pair *pair = &s->pairs[s->npairs];
	struct view name = view_of(json_name(member)), value;
	bool env = s->type == MCP_STDIO;

	if (s->npairs == MCP_PAIRS_MAX)
		return err_set(e, E_FORMAT, "%s: more than %d", of, MCP_PAIRS_MAX);
	if (name.n > MCP_WORD_MAX || !(env ? is_variable(name) : is_header(name)))
		return err_set(e, E_FORMAT, "%s: name %zu is not one of a %s", of, s->npairs + 1,
			env ? "variable" : "header");
	if (json_str(member, &value) < 0 || value.n > MCP_VALUE_MAX)
		return err_set(e, E_FORMAT, "%s: %.60s is not text of at most %zu bytes", of,
			name.p, MCP_VALUE_MAX);
	if (!env && !is_header_value(value))
		return err_set(e, E_FORMAT, "%s: %.60s has a control character", of, name.p);
	s->npairs++;
	return keep(&pair->name, name, e) < 0 ? -1 : keep(&pair->value, value, e);
}

static int take_pairs(struct mcp_server *s, const char *of, const struct json *obj, struct err *e)
{
	const struct json *pairs = NULL;

	if (json_get_object(obj, of, JSON_OPTIONAL, &pairs, e) < 0)
		return -1;
	json_each(member, pairs) {
		if (take_pair(s, of, member, e) < 0)
			return -1;
	}
	return 0;
}

static int take_command(struct mcp_server *s, const struct json *obj, struct err *e)
{
	static const char *const names[] = { "type", "command", "args", "env", NULL };
	struct view command;

	if (only(obj, names, e) < 0 ||
		json_get_str(obj, "command", JSON_REQUIRED, 1, MCP_COMMAND_MAX, &command, e) < 0)
		return -1;
	/* Beside which folder, nobody can say. */
	if (command.p[0] != '/' && view_find(command, '/') < command.n)
		return err_set(e, E_FORMAT, "command is neither absolute nor a name on the PATH");
	if (keep(&s->command, command, e) < 0 || take_args(s, obj, e) < 0)
		return -1;
	return take_pairs(s, "env", obj, e);
}

static int take_url(struct mcp_server *s, const struct json *obj, struct err *e)
{
	static const char *const names[] = { "type", "url", "headers", NULL };
	struct http_url parts;
	struct view url;

	if (only(obj, names, e) < 0 ||
		json_get_str(obj, "url", JSON_REQUIRED, 1, MCP_URL_MAX, &url, e) < 0 ||
		http_url_parse(url, &parts, e) < 0)
		return -1;
	if (parts.has_user)
		return err_set(e, E_FORMAT, "url: a name and password belong into headers");
	return keep(&s->url, url, e) < 0 ? -1 : take_pairs(s, "headers", obj, e);
}

static int take_server(struct mcp_server *s, const struct json *obj, struct err *e)
{
	int type = json_member(obj, "url") ? MCP_HTTP : MCP_STDIO;

	if (json_type(obj) != JSON_OBJECT)
		return err_set(e, E_FORMAT, "it is not an object");
	if (json_get_enum(obj, "type", JSON_OPTIONAL, types, &type, e) < 0)
		return -1;
	s->type = (enum mcp_type)type;
	return s->type == MCP_STDIO ? take_command(s, obj, e) : take_url(s, obj, e);
}

/* --- All of them ------------------------------------------------------------------------------ */

static int take_all(struct mcp *m, const struct json *list, struct err *e)
{
	size_t n = json_count(list);

	if (n > MCP_SERVERS_MAX)
		return err_set(e, E_FORMAT, "more than %d servers", MCP_SERVERS_MAX);
	m->servers = calloc(n + 1, sizeof(struct mcp_server));
	if (!m->servers)
		return err_set(e, E_NOMEM, "the servers");
	json_each(member, list) {
		struct mcp_server *s = &m->servers[m->n++];
		struct view name = view_of(json_name(member));

		if (!is_server_name(name))
			return err_set(e, E_FORMAT,
				"the name of server %zu is not 1 to %zu of A-Z a-z 0-9 _ -, without __",
				m->n, MCP_NAME_MAX);
		if (keep(&s->name, name, e) < 0)
			return -1;
		if (take_server(s, member, e) < 0)
			return err_wrap(e, "server %s", s->name);
	}
	return 0;
}

int mcp_read(struct mcp *out, struct view text, struct err *e)
{
	static const char *const names[] = { "mcpServers", NULL };
	const struct json *list = NULL;
	struct json *j = NULL;
	int rc = -1;

	*out = MCP_INIT;
	if (json_read(&j, text, &json_limits_config, e) < 0)
		return -1;
	if (json_type(j) != JSON_OBJECT)
		(void)err_set(e, E_FORMAT, "it is not an object with \"mcpServers\"");
	else if (only(j, names, e) == 0 &&
		 json_get_object(j, "mcpServers", JSON_REQUIRED, &list, e) == 1)
		rc = take_all(out, list, e);
	json_free(&j);
	if (rc < 0)
		mcp_release(out);
	return rc;
}

int mcp_load(struct mcp *out, const char *path, struct err *e)
{
	struct str text = STR_SECRET(json_limits_config.bytes);
	struct err why = ERR_INIT;
	int rc = 0;

	*out = MCP_INIT;
	if (file_read_private(path, json_limits_config.bytes, &text, &why) < 0) {
		if (why.code != E_NOTFOUND)
			rc = err_set(e, why.code, "%s", why.msg);
	} else if (mcp_read(out, str_view(&text), e) < 0) {
		rc = err_wrap(e, "%s", path);
	}
	str_wipe(&text);
	return rc;
}

static void free_server(struct mcp_server *s)
{
	for (size_t i = 0; i < s->nargs; i++)
		free(s->args[i]);
	for (size_t i = 0; i < s->npairs; i++) {
		free(s->pairs[i].name);
		free(s->pairs[i].value);
	}
	free(s->name);
	free(s->command);
	free(s->url);
}

void mcp_release(struct mcp *m)
{
	for (size_t i = 0; i < m->n; i++)
		free_server(&m->servers[i]);
	free(m->servers);
	*m = MCP_INIT;
}
