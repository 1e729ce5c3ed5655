/* terminal/...: commands that the agent has its client run. Each is a call of shell to policy, user
 * and audit, and runs as fenced as one (tools/host/terminal.h). A terminal outlives the turn it was
 * made in, for an agent's background work, but not the session, the agent or the engine. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp-private.h"
#include "agent/acp/command_line.h"
#include "tools/host/terminal.h"

#define WAITS_MAX 8
/* What is kept of the output may be twice what is wanted, so that not every piece moves it. */
#define KEPT_MAX (2 * TERM_BYTES_MAX + ((size_t)4 << 20))

struct term {
	struct term *next;
	struct acp *acp;
	char id[32];
	struct str session;
	uint64_t turn;
	struct terminal *terminal;
	struct rpc_id create; /* its request; answered once it is begun or refused */
	struct command_line line;
	struct str args;

	struct str output;
	size_t limit;
	bool truncated;
	bool exited, released;
	int code, signal;
	struct rpc_id waits[WAITS_MAX]; /* requests for the exit that are held */
	size_t nwaits;
};

static void drop(struct term *t)
{
	struct term **at = &t->acp->terms;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	terminal_free(&t->terminal);
	command_line_release(&t->line);
	str_release(&t->args);
	str_release(&t->output);
	str_release(&t->session);
	free(t);
}

/* --- Answers ---------------------------------------------------------------------------------- */

static void put_exit(struct json_out *w, const struct term *t)
{
	char name[24];

	if (t->code >= 0)
		json_put_int(w, "exitCode", t->code);
	else
		json_put_null(w, "exitCode");
	if (t->code >= 0) {
		json_put_null(w, "signal");
		return;
	}
	(void)snprintf(name, sizeof(name), "SIG%s",
		sigabbrev_np(t->signal) ? sigabbrev_np(t->signal) : "UNKNOWN");
	json_put_z(w, "signal", name);
}

static void answer_exit(const struct term *t, const struct rpc_id *id)
{
	struct rpc *rpc = link_rpc(t->acp->link);

	if (!rpc)
		return;
	put_exit(rpc_result(rpc, id), t);
	(void)rpc_send(rpc, NULL);
}

static void answer_empty(struct acp *a, const struct rpc_id *id)
{
	struct rpc *rpc = link_rpc(a->link);

	if (!rpc)
		return;
	(void)rpc_result(rpc, id);
	(void)rpc_send(rpc, NULL);
}

/* --- Output ----------------------------------------------------------------------------------- */

/* The newest bytes, from the beginning of a character on. */
static struct view newest(const struct term *t)
{
	struct view v = str_view(&t->output);

	if (v.n > t->limit)
		v = view_from(v, v.n - t->limit);
	while (v.n > 0 && ((unsigned char)v.p[0] & 0xc0) == 0x80)
		v = view_from(v, 1);
	return v;
}

static void term_on_output(void *arg, struct view text)
{
	struct term *t = arg;

	(void)str_add(&t->output, text);
	t->truncated = t->truncated || t->output.n > t->limit;
	if (t->output.n > 2 * t->limit)
		str_drop(&t->output, t->output.n - newest(t).n);
}

static void term_on_exit(void *arg, int code, int signal)
{
	struct term *t = arg;

	t->exited = true;
	t->code = code;
	t->signal = signal;
	for (size_t i = 0; i < t->nwaits; i++)
		answer_exit(t, &t->waits[i]);
	t->nwaits = 0;
	if (t->released)
		drop(t);
}

/* --- terminal/create -------------------------------------------------------------------------- */

static void refuse(struct term *t, int code, struct view why)
{
	acp_refuse(t->acp, &t->create, code, why);
	drop(t);
}

static void answer_created(const struct term *t)
{
	struct rpc *rpc = link_rpc(t->acp->link);

	if (!rpc)
		return;
	json_put_z(rpc_result(rpc, &t->create), "terminalId", t->id);
	(void)rpc_send(rpc, NULL);
}

static void term_on_decided(struct acp *a, void *arg, enum deed how, const char *consent,
	struct view why)
{
	struct term *t = arg;
	struct tool_call c = { .turn = a->turn, .origin = a->origin, .name = "shell" };
	struct terminal_plan plan = { .call = &c, .arg = t };
	struct err e = ERR_INIT;

	if (how != DEED_ALLOWED) {
		refuse(t, how == DEED_CANCELLED ? RPC_CANCELLED : RPC_BAD_PARAMS, why);
		return;
	}
	c.id = t->id;
	c.args = str_view(&t->args);
	c.consent = consent;
	plan.shell = t->line.shell;
	plan.env = (const char *const *)t->line.env;
	plan.on_output = term_on_output;
	plan.on_exit = term_on_exit;
	if (terminal_start(&t->terminal, a->tools, &plan, &e) < 0)
		refuse(t, RPC_INTERNAL, view_of(e.msg));
	else
		answer_created(t);
}

static size_t count(const struct acp *a)
{
	size_t n = 0;

	for (const struct term *t = a->terms; t; t = t->next)
		n++;
	return n;
}

static struct term *new_term(struct acp *a, const struct rpc_id *id)
{
	struct term *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->next = a->terms;
	a->terms = t;
	t->acp = a;
	t->create = *id;
	t->turn = a->turn;
	t->output = STR_INIT(KEPT_MAX);
	t->session = STR_INIT(STORE_SESSION_MAX);
	t->args = STR_INIT(TOOL_ARGS_MAX);
	(void)snprintf(t->id, sizeof(t->id), "term-%llu", (unsigned long long)++a->term_serial);
	if (str_add(&t->session, str_view(&a->session)) == 0)
		return t;
	drop(t);
	return NULL;
}

/* Kimi Code goes first where it is already; the command that was asked for says nothing of that. */
static void drop_cd(struct command_line *line, struct view cwd)
{
	struct str cd = STR_INIT(PATH_SIZE + 16);

	(void)str_addf(&cd, "cd '%.*s' && ", VIEW_FMT(cwd));
	if (line->shell && view_find(cwd, '\'') == cwd.n &&
		view_starts(str_view(&line->text), str_view(&cd)))
		str_drop(&line->text, cd.n);
	str_release(&cd);
}

/* The call of shell that it is. */
static int put_args(struct term *t, const struct json *params, struct err *e)
{
	const char *workspace = t->acp->workspace;
	struct view cwd = view_of(workspace);
	int64_t limit = TERM_BYTES_DEFAULT;
	struct json_out w;

	if (json_get_str(params, "cwd", JSON_OPTIONAL, 1, PATH_SIZE - 1, &cwd, e) < 0 ||
		json_get_int(params, "outputByteLimit", JSON_OPTIONAL, 0, INT64_MAX, &limit, e) <
			0 ||
		command_line_read(&t->line, params, e) < 0)
		return -1;
	t->limit = (size_t)limit < TERM_BYTES_MAX ? (size_t)limit : TERM_BYTES_MAX;
	if (cwd.p[0] != '/')
		return err_set(e, E_FORMAT, "cwd is not absolute");
	drop_cd(&t->line, cwd);
	json_out_begin(&w, &t->args);
	json_open(&w, NULL);
	json_put_str(&w, "command", str_view(&t->line.text));
	if (!view_eqs(cwd, workspace))
		json_put_str(&w, "cwd", permission_path(cwd, workspace));
	json_close(&w);
	return json_out_end(&w, e);
}

void terms_create(struct acp *a, const struct rpc_id *id, const struct json *params)
{
	struct term *t;
	struct err e = ERR_INIT;

	if (count(a) >= TERMS_MAX) {
		acp_refuse(a, id, RPC_INTERNAL,
			VIEW("there are as many terminals as there may be: release one first"));
		return;
	}
	t = new_term(a, id);
	if (!t) {
		acp_refuse(a, id, RPC_INTERNAL, VIEW("no memory"));
	} else if (put_args(t, params, &e) < 0) {
		refuse(t, RPC_BAD_PARAMS, view_of(e.msg));
	} else {
		vouched_add(&a->vouched, str_view(&t->line.text));
		asks_deed(a, id, "shell", str_view(&t->args), term_on_decided, t);
	}
}

/* --- The others ------------------------------------------------------------------------------- */

/* NULL: there is none of that id; it was refused so. */
static struct term *find(struct acp *a, const struct rpc_id *id, const struct json *params)
{
	struct view name = VIEW_NONE;

	(void)json_get_str(params, "terminalId", JSON_REQUIRED, 1, 200, &name, NULL);
	for (struct term *t = a->terms; t; t = t->next)
		if (!t->released && (t->terminal || t->exited) && view_eqs(name, t->id))
			return t;
	acp_refuse(a, id, RPC_BAD_PARAMS, VIEW("there is no such terminal"));
	return NULL;
}

void terms_output(struct acp *a, const struct rpc_id *id, const struct json *params)
{
	const struct term *t = find(a, id, params);
	struct rpc *rpc = link_rpc(a->link);
	struct json_out *w;

	if (!t || !rpc)
		return;
	w = rpc_result(rpc, id);
	json_put_str(w, "output", newest(t));
	json_put_bool(w, "truncated", t->truncated);
	if (t->exited) {
		json_open(w, "exitStatus");
		put_exit(w, t);
		json_close(w);
	}
	(void)rpc_send(rpc, NULL);
}

void terms_wait(struct acp *a, const struct rpc_id *id, const struct json *params)
{
	struct term *t = find(a, id, params);

	if (!t)
		return;
	if (t->exited)
		answer_exit(t, id);
	else if (t->nwaits == WAITS_MAX)
		acp_refuse(a, id, RPC_INTERNAL, VIEW("too many wait for this terminal"));
	else
		t->waits[t->nwaits++] = *id;
}

void terms_kill(struct acp *a, const struct rpc_id *id, const struct json *params)
{
	struct term *t = find(a, id, params);

	if (!t)
		return;
	if (t->terminal)
		terminal_kill(t->terminal);
	answer_empty(a, id);
}

/* Who waits for its exit is still told. */
static void release(struct term *t)
{
	t->released = true;
	if (t->exited)
		drop(t);
	else
		terminal_kill(t->terminal);
}

void terms_release(struct acp *a, const struct rpc_id *id, const struct json *params)
{
	struct term *t = find(a, id, params);

	if (!t)
		return;
	answer_empty(a, id);
	release(t);
}

/* --- Ends ------------------------------------------------------------------------------------- */

static bool cancel_wait(struct term *t, const struct rpc_id *id)
{
	for (size_t i = 0; i < t->nwaits; i++) {
		if (strcmp(t->waits[i].json, id->json) != 0)
			continue;
		t->waits[i] = t->waits[--t->nwaits];
		acp_refuse(t->acp, id, RPC_CANCELLED, VIEW("it was taken back"));
		return true;
	}
	return false;
}

bool terms_cancel_wait(struct acp *a, const struct rpc_id *id)
{
	for (struct term *t = a->terms; t; t = t->next)
		if (cancel_wait(t, id))
			return true;
	return false;
}

void terms_cancel(struct acp *a)
{
	for (struct term *t = a->terms; t; t = t->next)
		if (t->turn == a->turn && t->terminal)
			terminal_kill(t->terminal);
}

void terms_end_session(struct acp *a, const char *conversation)
{
	struct str session = STR_INIT(STORE_SESSION_MAX);

	(void)store_get(a->store, a->name, conversation, a->workspace, &session, NULL);
	for (struct term *t = a->terms, *next; t; t = next) {
		next = t->next;
		if (!t->released && t->terminal &&
			view_eq(str_view(&session), str_view(&t->session)))
			release(t);
	}
	str_release(&session);
}

void terms_end(struct acp *a)
{
	for (struct term *t = a->terms, *next; t; t = next) {
		next = t->next;
		drop(t);
	}
}
