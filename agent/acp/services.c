/* What the agent has its client do: which methods there are, and for whom. */
#include <string.h>

#include "agent/acp/acp-private.h"

/* --- The methods ------------------------------------------------------------------------------ */

enum method { FS_READ, FS_WRITE, T_CREATE, T_OUTPUT, T_WAIT, T_KILL, T_RELEASE, METHODS };

static enum method find_method(const char *name)
{
	static const char *const names[METHODS] = { "fs/read_text_file", "fs/write_text_file",
		"terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill",
		"terminal/release" };
	size_t m = 0;

	while (m < METHODS && strcmp(name, names[m]) != 0)
		m++;
	return (enum method)m;
}

static void begin(struct acp *a, const struct rpc_id *id, enum method m, const struct json *params)
{
	if (!acp_in_turn(a, params))
		acp_refuse(a, id, RPC_BAD_PARAMS, VIEW("no task of this session is running"));
	else if (m == T_CREATE)
		terms_create(a, id, params);
	else
		files_take(a, id, m == FS_WRITE, params);
}

bool services_take(struct acp *a, const struct rpc_id *id, const char *method,
	const struct json *params)
{
	enum method m = find_method(method);

	if (m == METHODS || !(m <= FS_WRITE ? a->offer.fs : a->offer.terminal))
		return false;
	if (!params || json_type(params) != JSON_OBJECT) {
		acp_refuse(a, id, RPC_BAD_PARAMS, VIEW("params are no object"));
		return true;
	}
	switch (m) {
	case FS_READ:
	case FS_WRITE:
	case T_CREATE: begin(a, id, m, params); break;
	case T_OUTPUT: terms_output(a, id, params); break;
	case T_WAIT: terms_wait(a, id, params); break;
	case T_KILL: terms_kill(a, id, params); break;
	case T_RELEASE: terms_release(a, id, params); break;
	case METHODS: break;
	}
	return true;
}

/* Its answer says so, which is an answer all the same; one that was answered meanwhile: nothing. */
void services_cancel(struct acp *a, const struct json *params)
{
	struct rpc_id id;

	if (!params || json_type(params) != JSON_OBJECT || !json_member(params, "requestId") ||
		!rpc_id_read(json_member(params, "requestId"), &id))
		return;
	if (!asks_withdraw(a, &id) && !files_cancel(a, &id))
		(void)terms_cancel_wait(a, &id);
}

void services_end_turn(struct acp *a)
{
	files_end(a);
	vouched_clear(&a->vouched);
}
