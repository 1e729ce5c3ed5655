/* agent/acp/acp-private.h: the engine's insides, shared by the files of this folder alone. */
#ifndef AGENT_ACP_ACP_PRIVATE_H
#define AGENT_ACP_ACP_PRIVATE_H

#include "agent/acp/acp.h"
#include "agent/acp/link.h"
#include "agent/acp/permission.h"
#include "agent/acp/store.h"
#include "agent/acp/stream.h"
#include "agent/approval.h"

#define LIVE_MAX 64 /* sessions that are open in the running agent */

enum acp_state {
	ACP_IDLE,
	ACP_STARTING,   /* the agent comes up */
	ACP_OPENING,    /* the conversation's session is made or taken up again */
	ACP_PROMPTING,  /* the turn is the agent's */
	ACP_CANCELLING, /* it was told to stop, and has not said that it did */
	ACP_ENDING      /* the end is decided and on its way */
};

/* How a session is had, in the order of trying. */
enum acp_opening { OPENING_RESUME, OPENING_LOAD, OPENING_NEW };

struct acp {
	struct engine engine; /* first */
	struct loop *loop;
	struct log *log;
	struct tools *tools;
	char *name, *path, *workspace, *login;
	char **argv, **envp;

	struct acp_link *link;
	struct store *store;
	struct acp_stream *stream;
	struct approvals *approvals;
	struct asked *asked; /* permission requests that wait for the user */
	struct timer *soon, *grace;

	/* The sessions that this life of the agent knows. */
	char *live[LIVE_MAX];
	size_t nlive;
	unsigned int life;

	/* of the running turn */
	enum acp_state state;
	uint64_t turn;
	enum origin origin;
	char *conversation, *language;
	struct str text;    /* what the user wrote */
	struct str session; /* its id, once there is one */
	enum acp_opening opening;
	uint64_t call; /* the request that is under way */
	bool retried;  /* an opening that failed for no good reason */
	bool lost;     /* the stored session is gone: a new one was begun */
	bool cancelled;
	const char *denied; /* the tool that the policy denied last; NULL: none */
	bool refused;       /* the user said no to something */

	enum engine_fail fail;
	struct str detail;
};

/* acp.c */
void acp_step(struct acp *a, enum acp_state to);
void acp_emit(struct acp *a, const struct engine_event *ev);
/* The end is decided; it is reported from the loop. detail is made safe here. */
void acp_finish(struct acp *a, enum engine_fail fail, struct view detail);
/* What an error answer means; code -32000 is a login that is missing. */
void acp_finish_error(struct acp *a, const struct rpc_answer *answer, const char *what);

/* session.c: the session of the turn's conversation, then prompt_begin. */
void session_begin(struct acp *a);
/* Are updates of this session its history played back? */
bool session_replays(const struct acp *a, struct view session);
void session_clear(struct acp *a); /* no session is live any more */

/* prompt.c: the turn itself. */
void prompt_begin(struct acp *a);
void prompt_cancel(struct acp *a);
void prompt_on_request(void *arg, const struct rpc_id *id, const char *method,
	const struct json *params);
void prompt_on_notification(void *arg, const char *method, const struct json *params);

/* asks.c: permissions and questions of the agent. All by the policy of the built-in tools. */
void asks_take(struct acp *a, const struct rpc_id *id, const struct json *params);
int asks_answer(struct acp *a, const char *id, int choice, struct err *e);
/* From the loop: the answers that have come are handed on. True: the user wants the turn to end. */
bool asks_act(struct acp *a);
void asks_end(struct acp *a); /* what is open is answered with "cancelled" */

#endif
