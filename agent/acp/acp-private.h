/* agent/acp/acp-private.h: the engine's insides, shared by the files of this folder alone. */
#ifndef AGENT_ACP_ACP_PRIVATE_H
#define AGENT_ACP_ACP_PRIVATE_H

#include "agent/acp/acp.h"
#include "agent/acp/given.h"
#include "agent/acp/knob.h"
#include "agent/acp/link.h"
#include "agent/acp/permission.h"
#include "agent/acp/store.h"
#include "agent/acp/stream.h"
#include "agent/acp/vouched.h"
#include "agent/approval.h"
#include "agent/pictures.h"
#include "tools/host/mcp.h"

#define ACP_DETAIL_MAX ((size_t)300)  /* bytes of what is said of a failure */
#define LIVE_MAX       64             /* sessions that are open in the running agent */
#define COMMANDS_MAX   200            /* slash commands of the agent */
#define LISTED_MAX     200            /* sessions of a list */
#define NOTES_MAX      ((size_t)4096) /* bytes of what is said in front of an answer */
#define UNSERVED_MAX   ((size_t)4096) /* bytes of the names of MCP servers */

enum acp_state {
	ACP_IDLE,
	ACP_STARTING,   /* the agent comes up */
	ACP_OPENING,    /* the conversation's session is made or taken up again */
	ACP_HOLDING,    /* the session's background work is heard out first */
	ACP_ASKING,     /* it is asked for something else: a list, a setting */
	ACP_LOOKING,    /* the message's pictures are loaded */
	ACP_PROMPTING,  /* the turn is the agent's */
	ACP_SEEKING,    /* the turn has ended without an answer, and one is sought elsewhere */
	ACP_PACKING,    /* it was a command that goes on behind its end: until that is done */
	ACP_CANCELLING, /* it was told to stop, and has not said that it did */
	ACP_ENDING      /* the end is decided and on its way */
};

/* What a turn reaches on its way, one after the other; orders skip some. */
enum milestone {
	AGENT_UP,
	SESSION_OPEN,
	SESSION_FREE, /* what the agent did in it in the background has been heard out */
	SESSION_SETTLED,
	PICTURES_LOADED
};

/* How a session is had, in the order of trying. */
enum acp_opening { OPENING_RESUME, OPENING_LOAD, OPENING_NEW };

/* What a message wants. */
enum order {
	ORDER_PROMPT,
	ORDER_LIST, /* /sessions */
	ORDER_OPEN, /* /open N, /open ID */
	ORDER_MODEL,
	ORDER_EFFORT,
	ORDER_MODE
};

/* A session of the running agent. */
struct live {
	char *id, *key; /* key: of the conversation that has opened it */
	char *asked;    /* how the last prompt to it began; NULL: none yet */
	bool open;      /* else the agent has not said yes */
	bool made;      /* new, and nothing was chosen in it yet */
	bool fresh;     /* loaded, and not prompted yet: what it says is its history */
	bool zh;        /* its user's language */
	bool muted;     /* its user has stopped it: what it says outside of a turn is not wanted */
	int64_t packs;  /* it compresses its context, and is deaf, until then at most; 0: no */
	struct knobs knobs;
	char *applied[KNOBS]; /* what was brought to it; NULL: the agent's own */
	bool sized, counted;
	int64_t used, size; /* of its context, in tokens */
	int64_t in, out;    /* tokens that the agent has reported */
	char cost[64];      /* "0.25 USD"; "": not reported */
};

/* One of a list of sessions. */
struct listed {
	char *id, *title;
	int64_t at; /* Unix milliseconds; 0: not known */
	size_t place;
};

struct acp {
	struct engine engine; /* first */
	/* A stage is over. Which comes next is acp.c's to know. */
	void (*reached)(struct acp *a, enum milestone at);
	struct loop *loop;
	struct log *log;
	struct tools *tools;
	speech_fn *speak;
	char *name, *path, *workspace, *login;
	char **argv, **envp;

	struct acp_link *link;
	struct store *store;
	struct acp_stream *stream;
	struct approvals *approvals;
	struct asked *asked; /* what waits for the user */
	struct givens given;

	/* services */
	struct acp_offer offer;
	struct file_call *files; /* under way, of this turn */
	struct term *terms;
	uint64_t term_serial;
	struct vouched vouched;
	struct timer *soon, *grace;
	char *settings[KNOBS], *instructions;
	char *mcp_path; /* NULL: none */
	struct mcp servers;
	struct str unserved; /* those that were not handed over last, and why */
	bool unread;         /* their file could not be read */
	char **commands;     /* slash commands that are taken as turns; NULL-terminated */

	/* The sessions that this life of the agent knows. */
	struct live *live[LIVE_MAX];
	size_t nlive;
	unsigned int life;

	/* The sessions that were listed last, or the list that is being made. */
	struct {
		struct listed *all;
		size_t n;
		char *whose; /* the conversation it was shown to; NULL: it is not whole */
		int pages;
	} list;

	/* What is said outside of any turn, until it pauses. */
	struct {
		struct acp_stream *stream;
		struct live *of;
		struct timer *quiet;
	} late;

	struct work *work; /* in the background */

	/* of the running turn */
	enum acp_state state;
	uint64_t turn;
	enum origin origin;
	char *conversation, *language;
	struct str text;           /* what the user wrote */
	struct pictures *enclosed; /* what came with it; NULL: nothing */
	struct str session;        /* its id, once there is one */
	struct live *here;         /* that session, once it is open */
	enum order order;
	struct view arg;  /* of the order; into text */
	struct str notes; /* said in front of the answer */
	/* The setting that is on its way. */
	struct {
		enum knob_kind kind;
		enum knob_way way;
		struct str value;
		bool restored; /* it is the agent's own again */
	} setting;
	enum acp_opening opening;
	uint64_t call; /* the request that is under way */
	bool retried;  /* an opening that failed for no good reason */
	bool cancelled;
	bool instructed; /* the prompt that is under way brings the operator's words */
	/* An agent that was there already is gone before it has done anything: once more. */
	bool was_up, heard, again;
	int64_t prompted;   /* when */
	const char *denied; /* the tool that the policy denied last; NULL: none */
	bool refused;       /* the user said no to something */

	bool strict;
	struct str breach; /* what was done unasked, for which the turn is ended; empty: nothing */

	enum engine_fail fail;
	struct str detail;
};

/* run.c: what every stage uses. */
void acp_step(struct acp *a, enum acp_state to);
void acp_emit(struct acp *a, const struct engine_event *ev);
/* The end is decided; it is reported from the loop. detail is made safe here. */
void acp_finish(struct acp *a, enum engine_fail fail, struct view detail);
/* The same with a sentence as its detail; what follows its code (strings) are its arguments. */
#define acp_finish_why(a, fail, ...) acp_fail((a), (fail), __VA_ARGS__, (const char *)NULL)
void acp_fail(struct acp *a, enum engine_fail fail, enum speech why, ...) __attribute__((sentinel));
/* What an error answer means; code -32000 is a login that is missing. Where none came it is the
 * sentence `silent`, with `what` as its argument. */
void acp_finish_error(struct acp *a, const struct rpc_answer *answer, enum speech silent,
	const char *what);

/* A sentence with its arguments (strings), in the language of the turn. Into the answer. */
#define acp_reply(a, ...) acp_put_reply((a), __VA_ARGS__, (const char *)NULL)
void acp_put_reply(struct acp *a, enum speech s, ...) __attribute__((sentinel));
/* The same as a paragraph in front of the answer that follows. */
#define acp_note(a, ...) acp_put_note((a), __VA_ARGS__, (const char *)NULL)
void acp_put_note(struct acp *a, enum speech s, ...) __attribute__((sentinel));
/* A request of the turn begins; NULL: the agent is gone, and the turn ends. It is sent by acp_send,
 * within ms (0: however long it takes) or the turn ends too. */
struct json_out *acp_request(struct acp *a, const char *method);
void acp_send(struct acp *a, int64_t ms, rpc_answer_cb *cb);
/* The agent is gone in the middle of a turn: it ends, or begins once more with a new one. */
void acp_gone(struct acp *a, enum engine_fail fail, struct view detail);
bool acp_before_prompt(const struct acp *a); /* the agent has not been given the message yet */
/* Do params name the session of the turn that runs? */
bool acp_in_turn(const struct acp *a, const struct json *params);
void acp_refuse(struct acp *a, const struct rpc_id *id, int code, struct view why);

/* session.c: the session of the turn's conversation, up to SESSION_OPEN. */
void session_begin(struct acp *a);
/* The session of that id instead; from then on it is the conversation's. */
void session_open(struct acp *a, struct view id);
struct live *session_find(struct acp *a, struct view id); /* NULL: not of this life */
/* Are updates of this session its history played back? */
bool session_replays(const struct acp *a, struct view session);
void session_clear(struct acp *a); /* no session is live any more */
/* What new, load and resume are told of the session. */
void session_put(struct acp *a, struct json_out *w, struct view id);

/* servers.c: the MCP servers, read for a session; then into each request that opens it. */
void servers_load(struct acp *a);
void servers_put(struct acp *a, struct json_out *w);

/* settle.c: the session's model, effort and mode brought to what is wanted: SESSION_SETTLED. */
void settle_begin(struct acp *a);
/* What is in force without the user's choice: the setting, else the agent's own; appended. False:
 * not known. */
bool settle_default(struct acp *a, enum knob_kind kind, struct str *out);
/* Ask for a value; on_answer takes the answer through settle_take. */
void settle_send(struct acp *a, enum knob_kind kind, const struct knob *knob, struct view value,
	rpc_answer_cb *on_answer);
/* True: it is in force. */
bool settle_take(struct acp *a, const struct rpc_answer *answer);
const char *settle_name(enum knob_kind kind); /* "model" */

/* order.c: commands that are taken as turns, and the others. */
void order_read(struct acp *a);  /* what the turn's message wants */
bool order_begin(struct acp *a); /* the agent is up. False: it needs the session first */
bool order_act(struct acp *a);   /* the session is settled. False: it is a prompt */
void order_clear(struct acp *a);
int order_command(struct engine *g, enum engine_command cmd, const char *conversation,
	struct view arg, const char *language, struct str *reply, struct err *e);

/* knowledge.c: what the agent tells of itself and of its sessions. */
int known_open(struct acp *a, struct err *e);
void known_close(struct acp *a);
/* An update of any session, l or none of ours (NULL). */
void known_take(struct acp *a, struct live *l, const struct json *update);
void known_usage(struct acp *a, struct live *l, const struct json *result); /* of a prompt */
const char *const *known_commands(const struct engine *g);

/* late.c: what is said outside of any turn is kept until it pauses, then told as a notice. */
int late_open(struct acp *a, struct err *e);
void late_close(struct acp *a);
void late_take(struct acp *a, struct live *l, const struct json *update);
void late_flush(struct acp *a);
/* What this session has said, appended instead of told. False: nothing. */
bool late_claim(struct acp *a, const struct live *l, struct str *out);

/* work.c: the agent's background work, as far as its hooks tell of it: what comes of it reaches its
 * user, and turns give way to it. */
int work_open(struct acp *a, const struct acp_env *env, struct err *e);
void work_close(struct acp *a);
void work_down(struct acp *a); /* the agent is gone; sessions are still known */
/* The turn's session is open. True: the turn waits for SESSION_FREE. */
bool work_hold(struct acp *a);
bool work_busy(const struct acp *a, const struct live *l); /* tasks run in that session */
void work_turn_done(struct acp *a);                        /* it is over, whatever it was */
void work_describe(const struct acp *a, bool zh, struct str *out);
void work_jobs(const struct acp *a, engine_job_cb *each, void *arg);

/* reading.c: is this session's history being played back for us? Then the update is taken. */
bool reading_take(struct acp *a, struct view session, const struct json *update);

/* seek.c: the answer of a turn that has ended without one. */
void seek_watch(struct acp *a);  /* the turn's prompt is on its way */
void seek_said(struct acp *a);   /* something has come of it */
bool seek_begin(struct acp *a);  /* it has ended without a word. True: the end is seen to */
void seek_cancel(struct acp *a); /* it is sought, or waited for by pack.c, no longer */

/* pack.c: a session that compresses its context behind the end of the turn that asked for it, and
 * is deaf meanwhile. */
bool pack_begin(struct acp *a); /* the turn has ended. True: it goes on until that is done */
/* An update of that session, outside of a prompt. True: it was taken into the turn's answer. */
bool pack_take(struct acp *a, struct live *l, const struct json *update);
bool pack_runs(const struct acp *a, const struct live *l);
void pack_over(struct acp *a); /* all was said, or it is waited for no longer */

/* enclosed.c: what came with a message, as blocks of a prompt. A slash command stands alone. */
bool enclosed_wait(struct acp *a); /* true: PICTURES_LOADED comes first, then it is false */
void enclosed_put(struct acp *a, struct json_out *w);

/* prompt.c: the turn itself. */
void prompt_begin(struct acp *a);
void prompt_cancel(struct acp *a);
void prompt_on_request(void *arg, const struct rpc_id *id, const char *method,
	const struct json *params);
void prompt_on_notification(void *arg, const char *method, const struct json *params);

/* asks.c: permissions and questions of the agent. All by the policy of the built-in tools. */
enum deed { DEED_ALLOWED, DEED_REFUSED, DEED_CANCELLED };
/* consent: the fingerprint that was said yes to, or NULL: none was needed. why: for the agent. */
typedef void asks_deed_cb(struct acp *a, void *arg, enum deed how, const char *consent,
	struct view why);
/* An index, with several a mask (bit i for choice i), ANSWER_NONE, ANSWER_UNASKED or: */
#define ASKS_CANCELLED (-3)
typedef void asks_choice_cb(struct acp *a, void *arg, int choice);

/* What the agent has its client do by its request `id`, a call of a built-in tool: judged, and
 * asked for if need be. cb comes once, from inside or later. */
void asks_deed(struct acp *a, const struct rpc_id *id, const char *tool, struct view args,
	asks_deed_cb *cb, void *arg);
/* A question with 1 to PERMISSION_OPTIONS_MAX choices. cb as above. */
void asks_choose(struct acp *a, const struct rpc_id *id, struct view text, const char *const *names,
	bool several, asks_choice_cb *cb, void *arg);
void asks_take(struct acp *a, const struct rpc_id *id, const struct json *params);
int asks_answer(struct acp *a, const char *id, int choice, struct err *e);
/* From the loop: the answers that have come are handed on. True: the user wants the turn to end. */
bool asks_act(struct acp *a);
void asks_end(struct acp *a); /* what is open is answered with "cancelled" */
/* The agent does not ask any more. False: nothing waits for the user in that request. */
bool asks_withdraw(struct acp *a, const struct rpc_id *id);

/* services.c: what the agent has its client do, as far as it was offered. False: it was not. */
bool services_take(struct acp *a, const struct rpc_id *id, const char *method,
	const struct json *params);
void services_end_turn(struct acp *a);
/* "$/cancel_request": the agent does not want the answer to a request of its own any more. */
void services_cancel(struct acp *a, const struct json *params);

/* forms.c: the agent's forms, answered or declined. */
void forms_take(struct acp *a, const struct rpc_id *id, const struct json *params);

/* unasked.c: a call of the agent's own tools has ended: did it ask, if policy wants that? */
void unasked_check(struct acp *a, const struct card *c);

/* files.c */
void files_take(struct acp *a, const struct rpc_id *id, bool writes, const struct json *params);
void files_end(struct acp *a); /* what is under way is ended and answered so */
bool files_cancel(struct acp *a, const struct rpc_id *id); /* false: there is none */

/* terms.c */
#define TERMS_MAX          16 /* that were not released, or have not ended */
#define TERM_BYTES_DEFAULT ((size_t)1 << 20)
#define TERM_BYTES_MAX     ((size_t)4 << 20) /* of one's output; the newest are kept */
void terms_create(struct acp *a, const struct rpc_id *id, const struct json *params);
void terms_output(struct acp *a, const struct rpc_id *id, const struct json *params);
void terms_wait(struct acp *a, const struct rpc_id *id, const struct json *params);
void terms_kill(struct acp *a, const struct rpc_id *id, const struct json *params);
void terms_release(struct acp *a, const struct rpc_id *id, const struct json *params);
bool terms_cancel_wait(struct acp *a, const struct rpc_id *id); /* false: there is none */
void terms_cancel(struct acp *a);                               /* those of this turn are killed */
void terms_end_session(struct acp *a, const char *conversation);
void terms_end(struct acp *a); /* without a word: the agent is gone */

#endif
