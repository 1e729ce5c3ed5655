#include "agent/acp/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define READ_SIZE ((size_t)65536)
#define ODD_SHOWN ((size_t)80) /* bytes of a line that is no message, for the log */
#define ODD_TOLD  20           /* so many of them are logged */

struct call {
	struct call *next;
	struct rpc *rpc;
	uint64_t id;
	struct timer *limit;
	rpc_answer_cb *cb;
	void *arg;
};

struct rpc {
	struct rpc_env env;
	struct watch *reading, *writing;
	struct timer *end; /* the end is told from the loop */
	struct str line;
	bool skipping; /* the rest of a line that was too long */
	bool ended;    /* nothing more is read or written */
	uint64_t odd;

	struct str draft; /* the message under construction */
	struct json_out w;
	uint64_t draft_id; /* of a request; 0: none */
	struct str queue;
	size_t sent;

	struct call *calls;
	int ncalls;
	uint64_t last_id;

	int busy; /* callbacks under way; the free waits for them */
	bool closed;
};

static const struct json_limits in_limits = {
	.depth = 32,
	.nodes = 200000,
	.nul = JSON_NUL_REPAIR,
	.repair_utf8 = true,
};

/* --- Life ------------------------------------------------------------------------------------- */

static void call_free(struct call *c)
{
	timer_free(&c->limit);
	free(c);
}

static void rpc_free(struct rpc *r)
{
	while (r->calls) {
		struct call *c = r->calls;

		r->calls = c->next;
		call_free(c);
	}
	watch_free(&r->reading);
	watch_free(&r->writing);
	timer_free(&r->end);
	str_release(&r->line);
	str_release(&r->draft);
	str_release(&r->queue);
	free(r);
}

/* Around every callback: it may close us. */
static void enter(struct rpc *r)
{
	r->busy++;
}

/* False: we are closed, and freed once nothing is under way. */
static bool leave(struct rpc *r)
{
	bool open = !r->closed;

	if (--r->busy == 0 && r->closed)
		rpc_free(r);
	return open;
}

void rpc_close(struct rpc **rp)
{
	struct rpc *r = *rp;

	if (!r)
		return;
	*rp = NULL;
	r->closed = true;
	watch_free(&r->reading);
	watch_free(&r->writing);
	timer_disarm(r->end);
	for (struct call *c = r->calls; c; c = c->next)
		timer_free(&c->limit);
	if (r->busy == 0)
		rpc_free(r);
}

static void stop(struct rpc *r)
{
	if (r->ended)
		return;
	r->ended = true;
	watch_free(&r->reading);
	watch_free(&r->writing);
	timer_arm(r->end, 0);
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Taken out of the list; NULL: there is none of that id. */
static struct call *call_take(struct rpc *r, uint64_t id)
{
	for (struct call **at = &r->calls; *at; at = &(*at)->next) {
		struct call *c = *at;

		if (c->id != id)
			continue;
		*at = c->next;
		r->ncalls--;
		return c;
	}
	return NULL;
}

/* Tells the answer; false: we are closed. */
static bool call_end(struct rpc *r, struct call *c, const struct rpc_answer *a)
{
	rpc_answer_cb *cb = c->cb;
	void *arg = c->arg;

	call_free(c);
	enter(r);
	cb(arg, a);
	return leave(r);
}

/* It may save itself the rest of the work. */
static void tell_cancel(struct rpc *r, uint64_t id)
{
	json_put_u64(rpc_notification(r, "$/cancel_request"), "requestId", id);
	(void)rpc_send(r, NULL);
}

static void call_on_limit(void *arg)
{
	struct call *c = arg;
	const struct rpc_answer late = { .end = RPC_TIMEOUT };

	(void)call_take(c->rpc, c->id);
	tell_cancel(c->rpc, c->id);
	(void)call_end(c->rpc, c, &late);
}

static void rpc_on_end(void *arg)
{
	struct rpc *r = arg;
	const struct rpc_answer gone = { .end = RPC_GONE };

	while (r->calls)
		if (!call_end(r, call_take(r, r->calls->id), &gone))
			return;
	enter(r);
	r->env.on_end(r->env.arg);
	(void)leave(r);
}

void rpc_forget(struct rpc *r, uint64_t id)
{
	struct call *c = call_take(r, id);

	if (!c)
		return;
	call_free(c);
	tell_cancel(r, id);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void tell_odd(struct rpc *r, struct view line, const char *why)
{
	struct str safe = STR_INIT(ODD_SHOWN * 8);

	if (++r->odd > ODD_TOLD)
		return;
	(void)text_visible(view_cut(line, ODD_SHOWN), &safe);
	log_warn(r->env.log, "acp", "a line that is no message (%s): %s", why, str_cstr(&safe));
	str_release(&safe);
}

static void take_answer(struct rpc *r, const struct json *j, struct view line)
{
	const struct json *result = json_member(j, "result"), *error = json_member(j, "error");
	struct rpc_answer a = { .end = RPC_RESULT };
	struct call *c;
	uint64_t id;

	if (json_get_u64(j, "id", JSON_REQUIRED, &id, NULL) < 0) {
		tell_odd(r, line, "an answer to a request that is not ours");
		return;
	}
	c = call_take(r, id);
	if (!c) {
		log_debug(r->env.log, "acp", "an answer to request %llu, which is not open",
			(unsigned long long)id);
		return;
	}
	if (error && json_type(error) != JSON_NULL) {
		a.end = RPC_ERROR;
		a.code = RPC_INTERNAL;
		if (json_type(error) == JSON_OBJECT) {
			(void)json_get_int(error, "code", JSON_OPTIONAL, INT64_MIN, INT64_MAX,
				&a.code, NULL);
			(void)json_get_str(error, "message", JSON_OPTIONAL, 0, SIZE_MAX, &a.message,
				NULL);
			a.data = json_member(error, "data");
		}
	} else if (result && json_type(result) != JSON_NULL) {
		a.result = result;
	}
	(void)call_end(r, c, &a);
}

bool rpc_id_read(const struct json *id, struct rpc_id *out)
{
	enum json_type t = json_type(id);
	struct str text = STR_INIT(RPC_ID_MAX);
	bool ok = (t == JSON_NUMBER || t == JSON_STRING || t == JSON_NULL) &&
	          json_print(id, &text, NULL) == 0 &&
	          copy_z(out->json, sizeof(out->json), str_view(&text)) == 0;

	str_release(&text);
	return ok;
}

static void take_call(struct rpc *r, const struct json *j, struct view line)
{
	const struct json *id = json_member(j, "id"), *params = json_member(j, "params");
	struct view method;
	struct rpc_id from;

	if (json_get_str(j, "method", JSON_REQUIRED, 1, RPC_METHOD_MAX, &method, NULL) < 0) {
		tell_odd(r, line, "its method");
		return;
	}
	if (params && json_type(params) != JSON_OBJECT && json_type(params) != JSON_ARRAY)
		params = NULL;
	if (id && !rpc_id_read(id, &from)) {
		tell_odd(r, line, "its id");
		return;
	}
	enter(r);
	if (id)
		r->env.on_request(r->env.arg, &from, method.p, params);
	else
		r->env.on_notification(r->env.arg, method.p, params);
	(void)leave(r);
}

/* "jsonrpc" is not asked for: some agents leave it out. */
static void take_line(struct rpc *r, struct view line)
{
	struct json_limits lim = in_limits;
	struct json *j = NULL;
	struct err e = ERR_INIT;

	if (view_trim(line).n == 0)
		return;
	lim.bytes = r->env.line_max;
	if (json_read(&j, line, &lim, &e) < 0)
		tell_odd(r, line, e.msg);
	else if (json_type(j) != JSON_OBJECT)
		tell_odd(r, line, "not an object");
	else if (json_member(j, "method"))
		take_call(r, j, line);
	else if (json_member(j, "result") || json_member(j, "error"))
		take_answer(r, j, line);
	else
		tell_odd(r, line, "neither a call nor an answer");
	json_free(&j);
}

/* The lines that are whole; what is left begins the next. Nothing is touched once closed. */
static void take_lines(struct rpc *r)
{
	size_t at = 0;

	enter(r);
	while (!r->closed && !r->ended) {
		struct view rest = view_from(str_view(&r->line), at);
		size_t n = view_find(rest, '\n');

		if (n == rest.n)
			break;
		take_line(r, view_cut(rest, n));
		at += n + 1;
	}
	str_drop(&r->line, at);
	(void)leave(r);
}

static void too_long(struct rpc *r)
{
	char why[80];

	(void)snprintf(why, sizeof(why), "longer than %zu bytes", r->env.line_max);
	tell_odd(r, str_view(&r->line), why);
	str_release(&r->line); /* the memory too */
	r->skipping = true;
}

/* A piece without a line's end, or up to and with one. */
static void add_piece(struct rpc *r, struct view piece)
{
	bool ends = piece.n > 0 && piece.p[piece.n - 1] == '\n';

	if (!r->skipping && str_add(&r->line, piece) < 0)
		too_long(r);
	if (r->skipping && ends)
		r->skipping = false;
}

static void rpc_on_readable(void *arg, int fd, int what)
{
	struct rpc *r = arg;
	char buf[READ_SIZE];
	ssize_t n = read(fd, buf, sizeof(buf));
	struct view got = { buf, n > 0 ? (size_t)n : 0 };

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		stop(r);
		return;
	}
	while (got.n > 0) {
		size_t lf = view_find(got, '\n'), take = lf < got.n ? lf + 1 : got.n;

		add_piece(r, view_cut(got, take));
		got = view_from(got, take);
	}
	take_lines(r);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void flush(struct rpc *r)
{
	while (!r->ended && r->sent < r->queue.n) {
		ssize_t n = write(r->env.out, r->queue.p + r->sent, r->queue.n - r->sent);

		if (n >= 0) {
			r->sent += (size_t)n;
		} else if (errno == EAGAIN) {
			if (watch_set(r->writing, WATCH_WRITE) < 0)
				stop(r);
			return;
		} else if (errno != EINTR) {
			stop(r);
		}
	}
	if (r->ended)
		return;
	(void)watch_set(r->writing, 0);
	str_release(&r->queue);
	r->sent = 0;
}

static void rpc_on_writable(void *arg, int fd, int what)
{
	(void)fd;
	(void)what;
	flush(arg);
}

bool rpc_idle(const struct rpc *r)
{
	return r->sent == r->queue.n;
}

uint64_t rpc_odd(const struct rpc *r)
{
	return r->odd;
}

static struct json_out *begin(struct rpc *r)
{
	str_reset(&r->draft);
	r->draft_id = 0;
	json_out_begin(&r->w, &r->draft);
	json_open(&r->w, NULL);
	json_put_z(&r->w, "jsonrpc", "2.0");
	return &r->w;
}

struct json_out *rpc_notification(struct rpc *r, const char *method)
{
	struct json_out *w = begin(r);

	json_put_z(w, "method", method);
	json_open(w, "params");
	return w;
}

struct json_out *rpc_request(struct rpc *r, const char *method)
{
	struct json_out *w = begin(r);

	r->draft_id = ++r->last_id;
	json_put_u64(w, "id", r->draft_id);
	json_put_z(w, "method", method);
	json_open(w, "params");
	return w;
}

struct json_out *rpc_result(struct rpc *r, const struct rpc_id *id)
{
	struct json_out *w = begin(r);

	json_put_raw(w, "id", view_of(id->json));
	json_open(w, "result");
	return w;
}

/* The message is whole; it goes to the end of the queue. */
static int post(struct rpc *r, struct err *e)
{
	int rc = -1;

	json_close(&r->w);
	if (r->ended) {
		(void)err_set(e, E_NET, "the agent's connection has ended");
	} else if (json_out_end(&r->w, e) < 0) {
		(void)err_wrap(e, "a message to the agent");
	} else if (r->queue.n - r->sent + r->draft.n >= RPC_QUEUE_MAX) {
		(void)err_set(e, E_FULL, "the agent does not read what is sent to it");
	} else {
		str_drop(&r->queue, r->sent);
		r->sent = 0;
		rc = str_add(&r->queue, str_view(&r->draft)) < 0 || str_addc(&r->queue, '\n') < 0
		             ? err_set(e, E_NOMEM, "a message to the agent")
		             : 0;
	}
	str_release(&r->draft);
	if (rc == 0)
		flush(r);
	return rc;
}

int rpc_send(struct rpc *r, struct err *e)
{
	json_close(&r->w);
	return post(r, e);
}

int rpc_send_request(struct rpc *r, int64_t timeout_ms, rpc_answer_cb *cb, void *arg,
	uint64_t *call, struct err *e)
{
	struct call *c = NULL;

	if (r->ncalls == RPC_CALLS_MAX)
		return err_set(e, E_FULL, "the agent leaves %d requests unanswered", RPC_CALLS_MAX);
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(e, E_NOMEM, "a request to the agent");
	c->rpc = r;
	c->id = r->draft_id;
	c->cb = cb;
	c->arg = arg;
	if (timer_new(&c->limit, r->env.loop, call_on_limit, c, e) < 0 || rpc_send(r, e) < 0) {
		call_free(c);
		return -1;
	}
	if (timeout_ms > 0)
		timer_arm(c->limit, timeout_ms);
	c->next = r->calls;
	r->calls = c;
	r->ncalls++;
	if (call)
		*call = c->id;
	return 0;
}

int rpc_refuse(struct rpc *r, const struct rpc_id *id, int code, const char *message, struct err *e)
{
	struct json_out *w = begin(r);

	json_put_raw(w, "id", view_of(id->json));
	json_open(w, "error");
	json_put_int(w, "code", code);
	json_put_z(w, "message", message);
	return rpc_send(r, e);
}

/* --- Opening ---------------------------------------------------------------------------------- */

int rpc_open(struct rpc **out, const struct rpc_env *env, struct err *e)
{
	struct rpc *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return err_set(e, E_NOMEM, "the agent's connection");
	r->env = *env;
	if (r->env.line_max == 0)
		r->env.line_max = RPC_LINE_MAX;
	r->line = STR_INIT(r->env.line_max + 1); /* and its end */
	r->draft = STR_INIT(RPC_MESSAGE_MAX);
	r->queue = STR_INIT(RPC_QUEUE_MAX);
	if (timer_new(&r->end, env->loop, rpc_on_end, r, e) < 0 ||
		watch_new(&r->reading, env->loop, env->in, WATCH_READ, rpc_on_readable, r, e) < 0 ||
		watch_new(&r->writing, env->loop, env->out, 0, rpc_on_writable, r, e) < 0) {
		rpc_free(r);
		return -1;
	}
	*out = r;
	return 0;
}
