/* What the agent has its client do: which methods there are, and for whom. */
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp-private.h"
#include "base/text.h"

#define MESSAGE_MAX ((size_t)1000)

void service_refuse(struct acp *a, const struct rpc_id *id, int code, struct view why)
{
	struct rpc *rpc = link_rpc(a->link);
	struct str text = STR_INIT(4 * MESSAGE_MAX);

	(void)text_safe(view_cut(why, utf8_cut(why, MESSAGE_MAX)), 0, &text);
	if (rpc)
		(void)rpc_refuse(rpc, id, code, str_cstr(&text), NULL);
	str_release(&text);
}

/* --- Deeds that went through our hands -------------------------------------------------------- */

void services_vouch(struct acp *a, struct view deed)
{
	char **at = &a->vouched[a->nvouched++ % VOUCHED_MAX];

	free(*at);
	*at = strndup(deed.p, deed.n);
}

bool services_vouched(const struct acp *a, const char *deed)
{
	for (size_t i = 0; deed && i < VOUCHED_MAX; i++)
		if (a->vouched[i] && strcmp(a->vouched[i], deed) == 0)
			return true;
	return false;
}

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

/* What is begun, is begun for the turn that runs. */
bool services_in_turn(const struct acp *a, const struct json *params)
{
	struct view session;

	return a->state == ACP_PROMPTING && !a->cancelled && json_type(params) == JSON_OBJECT &&
	       json_get_str(params, "sessionId", JSON_REQUIRED, 1, STORE_SESSION_MAX, &session,
		       NULL) == 1 &&
	       view_eq(session, str_view(&a->session));
}

static void begin(struct acp *a, const struct rpc_id *id, enum method m, const struct json *params)
{
	if (!services_in_turn(a, params))
		service_refuse(a, id, RPC_BAD_PARAMS, VIEW("no task of this session is running"));
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
		service_refuse(a, id, RPC_BAD_PARAMS, VIEW("params are no object"));
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
	for (size_t i = 0; i < VOUCHED_MAX; i++) {
		free(a->vouched[i]);
		a->vouched[i] = NULL;
	}
}
