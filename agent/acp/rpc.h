/* agent/acp/rpc.h: JSON-RPC 2.0 with an agent over two pipes, one message a line (ACP, transports).
 *
 * Lenient in what is read: a line that is no message is told and skipped, never the end of the
 * connection; one that is too long is drained and dropped. Strict in what is written: a message is
 * built by json_out and cannot hold a second line. The two directions number their requests
 * apart.
 *
 * Callbacks come from the loop only, and any function here may be called from inside them,
 * rpc_close included. The program ignores SIGPIPE. */
#ifndef AGENT_ACP_RPC_H
#define AGENT_ACP_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/loop.h"

#define RPC_MESSAGE_MAX ((size_t)16 << 20) /* of a message out: pictures make it long */
#define RPC_QUEUE_MAX   ((size_t)40 << 20) /* of all that waits to be written */
#define RPC_LINE_MAX    ((size_t)64 << 20) /* of a message in, where nothing else is set */
#define RPC_CALLS_MAX   64                 /* requests of ours that wait for their answer */
#define RPC_ID_MAX      ((size_t)256)      /* of a request's id, as JSON text */
#define RPC_METHOD_MAX  ((size_t)128)
#define RPC_PARSE_ERROR (-32700)
#define RPC_BAD_REQUEST (-32600)
#define RPC_NO_METHOD   (-32601)
#define RPC_BAD_PARAMS  (-32602)
#define RPC_INTERNAL    (-32603)
#define RPC_NO_LOGIN    (-32000) /* of an agent (acp, section 3) */
#define RPC_NOT_FOUND   (-32002)
#define RPC_CANCELLED   (-32800)

struct rpc;

/* The id of the other side's request, kept as it came: its answer must have the same type. */
struct rpc_id {
	char json[RPC_ID_MAX + 1];
};

enum rpc_end {
	RPC_RESULT,
	RPC_ERROR,   /* the other side says no: code, message, data */
	RPC_TIMEOUT, /* no answer in time; one that comes later is dropped */
	RPC_GONE     /* the connection ended first */
};

struct rpc_answer {
	enum rpc_end end;
	const struct json *result; /* of a RESULT; null and absent are NULL */
	int64_t code;              /* of an ERROR */
	struct view message;       /* untrusted; valid UTF-8 */
	const struct json *data;   /* NULL: none */
};
/* Everything lives during the call only. */
typedef void rpc_answer_cb(void *arg, const struct rpc_answer *a);

struct rpc_env {
	struct loop *loop;
	struct log *log;
	int in, out;     /* non-blocking; the caller closes them, after rpc_close */
	size_t line_max; /* 0: RPC_LINE_MAX */
	/* params: an object, an array or NULL. A request is answered by rpc_result or
	 * rpc_refuse, now or later. */
	void (*on_request)(void *arg, const struct rpc_id *id, const char *method,
		const struct json *params);
	void (*on_notification)(void *arg, const char *method, const struct json *params);
	/* Once: end of file or an error. All open calls have been answered with RPC_GONE. */
	void (*on_end)(void *arg);
	void *arg;
};

/* An id as it stands in a message. False: it is none. */
bool rpc_id_read(const struct json *id, struct rpc_id *out);

int rpc_open(struct rpc **out, const struct rpc_env *env, struct err *e);
void rpc_close(struct rpc **r); /* no callback follows; what waits to be written is dropped */

/* A message begins; the writer stands inside the open object "params" (of rpc_result: "result")
 * and is finished by exactly one of the two sends. Until then no other message may begin. */
struct json_out *rpc_request(struct rpc *r, const char *method);
struct json_out *rpc_notification(struct rpc *r, const char *method);
struct json_out *rpc_result(struct rpc *r, const struct rpc_id *id);

/* Of a request. timeout_ms 0: none. *call (may be NULL) names it for rpc_forget. E_FULL: the
 * message or what waits is too big, or too many calls are open. E_NET: the connection has ended. */
int rpc_send_request(struct rpc *r, int64_t timeout_ms, rpc_answer_cb *cb, void *arg,
	uint64_t *call, struct err *e);
int rpc_send(struct rpc *r, struct err *e); /* of a notification or a result */
int rpc_refuse(struct rpc *r, const struct rpc_id *id, int code, const char *message,
	struct err *e);

/* Its answer is not wanted any more, and the other side is told so by "$/cancel_request", as it is
 * when the time is up; not an open call: nothing. */
void rpc_forget(struct rpc *r, uint64_t call);
bool rpc_idle(const struct rpc *r);    /* all that was sent has been written */
uint64_t rpc_odd(const struct rpc *r); /* lines so far that were no message */

#endif
