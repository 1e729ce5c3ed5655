/* fs/read_text_file and fs/write_text_file: what the agent has its client read and write is done as
 * the calls of read_file and write_file that it is. */
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp-private.h"

#define LINES_MAX 10000 /* of one call of read_file; more is cut here */

struct file_call {
	struct file_call *next;
	struct acp *acp;
	struct rpc_id id;
	bool writes;
	struct str args;
	int64_t limit; /* lines; -1: all */
	struct tool_run *run;
};

static void drop(struct file_call *f)
{
	struct file_call **at = &f->acp->files;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	if (f->run)
		tool_detach(f->run);
	str_release(&f->args);
	free(f);
}

/* --- The end ---------------------------------------------------------------------------------- */

/* The codes that agents rely on (acp, section 10). */
static void fail(struct file_call *f, enum err_code error, struct view text)
{
	int code = error == E_NOTFOUND                      ? RPC_NOT_FOUND
	           : error == E_DENIED || error == E_FORMAT ? RPC_BAD_PARAMS
	           : error == E_CANCELLED                   ? RPC_CANCELLED
	                                                    : RPC_INTERNAL;

	acp_refuse(f->acp, &f->id, code, text);
	drop(f);
}

static struct view first_lines(struct view text, int64_t lines)
{
	struct view rest = text;

	if (lines < 0)
		return text;
	for (; lines > 0 && rest.n > 0; lines--)
		rest = view_from(rest, view_find(rest, '\n') + 1);
	return view_cut(text, text.n - rest.n);
}

static void file_on_done(void *arg, const struct tool_result *r)
{
	struct file_call *f = arg;
	struct rpc *rpc = link_rpc(f->acp->link);
	struct json_out *w;

	f->run = NULL;
	if (!r->ok) {
		fail(f, r->cancelled ? E_CANCELLED : r->error, r->text);
		return;
	}
	if (rpc) {
		w = rpc_result(rpc, &f->id);
		if (!f->writes)
			json_put_str(w, "content", first_lines(r->text, f->limit));
		(void)rpc_send(rpc, NULL);
	}
	drop(f);
}

static void file_on_decided(struct acp *a, void *arg, enum deed how, const char *consent,
	struct view why)
{
	struct file_call *f = arg;
	struct tool_call c = { .turn = a->turn, .origin = a->origin, .id = f->id.json };
	struct err e = ERR_INIT;

	if (how != DEED_ALLOWED) {
		fail(f, how == DEED_CANCELLED ? E_CANCELLED : E_DENIED, why);
		return;
	}
	c.name = f->writes ? "write_file" : "read_file";
	c.args = str_view(&f->args);
	c.consent = consent;
	c.exact = !f->writes;
	if (tools_start(&f->run, a->tools, &c, file_on_done, f, &e) < 0)
		fail(f, e.code, view_of(e.msg));
}

/* --- The request ------------------------------------------------------------------------------ */

static int put_args(struct file_call *f, const struct json *params, struct view path, struct err *e)
{
	int64_t line = 1;
	struct view content = VIEW_NONE;
	struct json_out w;

	f->limit = -1;
	if (json_get_int(params, "line", JSON_OPTIONAL, 0, INT32_MAX, &line, e) < 0 ||
		json_get_int(params, "limit", JSON_OPTIONAL, 0, INT64_MAX, &f->limit, e) < 0 ||
		json_get_str(params, "content", f->writes ? JSON_REQUIRED : JSON_OPTIONAL, 0,
			SIZE_MAX, &content, e) < 0)
		return -1;
	json_out_begin(&w, &f->args);
	json_open(&w, NULL);
	json_put_str(&w, "path", permission_path(path, f->acp->workspace));
	if (f->writes)
		json_put_str(&w, "content", content);
	else
		json_put_int(&w, "offset", line > 0 ? line : 1);
	if (!f->writes && f->limit > 0 && f->limit <= LINES_MAX)
		json_put_int(&w, "limit", f->limit);
	json_close(&w);
	if (json_out_end(&w, NULL) < 0)
		return err_set(e, E_FORMAT, "more than %zu bytes at once", TOOL_ARGS_MAX);
	return 0;
}

/* Relative paths are none to the protocol. */
static int get_path(const struct json *params, struct view *path, struct err *e)
{
	if (json_get_str(params, "path", JSON_REQUIRED, 1, CARD_TITLE_MAX * 4, path, e) < 0)
		return -1;
	return path->p[0] == '/' ? 0 : err_set(e, E_FORMAT, "path is not absolute");
}

void files_take(struct acp *a, const struct rpc_id *id, bool writes, const struct json *params)
{
	const struct str args = STR_INIT(TOOL_ARGS_MAX);
	struct file_call *f = calloc(1, sizeof(*f));
	struct view path = VIEW_NONE;
	struct err e = ERR_INIT;

	if (!f) {
		acp_refuse(a, id, RPC_INTERNAL, VIEW("no memory"));
		return;
	}
	f->next = a->files;
	a->files = f;
	f->acp = a;
	f->id = *id;
	f->writes = writes;
	f->args = args;
	if (get_path(params, &path, &e) < 0 || put_args(f, params, path, &e) < 0) {
		fail(f, E_FORMAT, view_of(e.msg));
		return;
	}
	if (writes)
		vouched_add(&a->vouched, path);
	asks_deed(a, id, writes ? "write_file" : "read_file", str_view(&f->args), file_on_decided,
		f);
}

bool files_cancel(struct acp *a, const struct rpc_id *id)
{
	struct file_call *f = a->files;

	while (f && strcmp(f->id.json, id->json) != 0)
		f = f->next;
	if (!f)
		return false;
	fail(f, E_CANCELLED, VIEW("it was taken back"));
	return true;
}

void files_end(struct acp *a)
{
	for (struct file_call *f = a->files, *next; f; f = next) {
		next = f->next;
		fail(f, E_CANCELLED, VIEW("the task has ended"));
	}
}
