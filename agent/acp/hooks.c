#include "agent/acp/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/net/httpd.h"

#define TOKEN_BYTES 32

struct hooks {
	struct httpd *httpd;
	hooks_cb *cb;
	void *arg;
	struct log *log;
	char url[64], token[2 * TOKEN_BYTES + 1];
};

/* --- Reading one ------------------------------------------------------------------------------ */

static bool is_id(struct view v)
{
	static const char chars[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	for (size_t i = 0; i < v.n; i++)
		if (!v.p[i] || !strchr(chars, v.p[i]))
			return false;
	return v.n > 0 && v.n <= HOOKS_ID_MAX && v.p[0] != '.';
}

/* An id becomes part of a path later on. */
static int read_id(const struct json *j, const char *name, struct view *out, struct err *e)
{
	if (json_get_str(j, name, JSON_REQUIRED, 1, HOOKS_ID_MAX, out, e) < 0)
		return -1;
	return is_id(*out) ? 0 : err_set(e, E_FORMAT, "%s is no id", name);
}

static int read_text(const struct json *j, const char *name, struct view *out, struct err *e)
{
	return json_get_str(j, name, JSON_OPTIONAL, 0, HOOKS_TEXT_MAX, out, e) < 0 ? -1 : 0;
}

static int read_started(struct hook *h, const struct json *j, struct err *e)
{
	bool detached = true;

	if (read_id(j, "task_id", &h->task, e) < 0 || read_text(j, "kind", &h->kind, e) < 0 ||
		read_text(j, "description", &h->text, e) < 0 ||
		json_get_bool(j, "detached", JSON_OPTIONAL, &detached, e) < 0)
		return -1;
	return detached ? 0 : 1;
}

/* Only of a task in the background, and only of its end. */
static int read_notification(struct hook *h, const struct json *j, struct err *e)
{
	static const char *const ends[] = { "task.completed", "task.failed", "task.killed",
		"task.timed_out", "task.lost" };
	struct view source = VIEW_NONE, type = VIEW_NONE;
	size_t end = 0;

	if (read_text(j, "source_kind", &source, e) < 0 ||
		read_text(j, "notification_type", &type, e) < 0)
		return -1;
	while (end < sizeof(ends) / sizeof(ends[0]) && !view_eqs(type, ends[end]))
		end++;
	if (!view_eqs(source, "background_task") || end == sizeof(ends) / sizeof(ends[0]))
		return 1;
	h->failed = end > 0;
	if (read_id(j, "source_id", &h->task, e) < 0)
		return -1;
	return read_text(j, "body", &h->text, e);
}

static int read_turn(struct hook *h, const struct json *j, struct err *e)
{
	struct view origin = VIEW_NONE;

	if (read_text(j, "origin_kind", &origin, e) < 0)
		return -1;
	h->by_task = view_eqs(origin, "task");
	h->by_user = view_eqs(origin, "user");
	return h->by_task || h->by_user ? 0 : 1;
}

int hook_read(struct hook *h, const struct json *j, struct err *e)
{
	static const char *const names[] = { "TaskStarted", "Notification", "SubagentStop",
		"TurnStarted", "Stop", "StopFailure", "Interrupt", NULL };
	int event;

	*h = (struct hook){ 0 };
	if (json_type(j) != JSON_OBJECT)
		return err_set(e, E_FORMAT, "a hook tells an object");
	if (json_get_enum(j, "hook_event_name", JSON_REQUIRED, names, &event, e) < 0 ||
		read_id(j, "session_id", &h->session, e) < 0)
		return -1;
	h->event = (enum hook_event)event;
	switch (h->event) {
	case HOOK_TASK_STARTED: return read_started(h, j, e);
	case HOOK_NOTIFICATION: return read_notification(h, j, e);
	case HOOK_SUBAGENT_STOP: return read_text(j, "response", &h->text, e);
	case HOOK_TURN_STARTED: return read_turn(h, j, e);
	case HOOK_STOP_FAILURE: return read_text(j, "error_message", &h->text, e);
	case HOOK_STOP:
	case HOOK_INTERRUPT: break;
	}
	return 0;
}

/* --- The listener ----------------------------------------------------------------------------- */

/* The status of the answer. */
static int take(struct hooks *h, struct view body)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;
	struct hook hook;
	int status = 204, rc = -1;

	if (json_read(&j, body, &json_limits_message, &e) == 0)
		rc = hook_read(&hook, j, &e);
	if (rc < 0) {
		log_warn(h->log, "acp", "a hook that cannot be read: %s", e.msg);
		status = 400;
	} else if (rc == 0 && !h->cb(h->arg, &hook)) {
		log_debug(h->log, "acp", "a hook of a session that is not open here");
		status = 404;
	}
	json_free(&j);
	return status;
}

static void hooks_on_request(void *arg, struct httpd_req *r)
{
	struct hooks *h = arg;
	int status = 204;

	if (!view_eqs(httpd_path(r), "/hook"))
		status = 404;
	else if (strcmp(httpd_method(r), "POST") != 0)
		status = 405;
	else
		status = take(h, httpd_body(r));
	httpd_reply(&r, status, NULL, VIEW_NONE);
}

int hooks_open(struct hooks **out, struct loop *l, hooks_cb *cb, void *arg, struct log *log,
	struct err *e)
{
	struct hooks *h = calloc(1, sizeof(*h));
	struct httpd_opts opts = { .body_max = HOOKS_BODY_MAX };

	*out = NULL;
	if (!h)
		return err_set(e, E_NOMEM, "the listener for hooks");
	h->cb = cb;
	h->arg = arg;
	h->log = log;
	rand_hex(h->token, TOKEN_BYTES);
	opts.token = h->token;
	if (log_add_secret(log, h->token, e) < 0 ||
		httpd_open(&h->httpd, l, &opts, hooks_on_request, h, log, e) < 0) {
		hooks_close(&h);
		return -1;
	}
	(void)snprintf(h->url, sizeof(h->url), "http://127.0.0.1:%d", httpd_port(h->httpd));
	*out = h;
	return 0;
}

void hooks_close(struct hooks **hp)
{
	struct hooks *h = *hp;

	if (!h)
		return;
	*hp = NULL;
	httpd_close(&h->httpd);
	explicit_bzero(h->token, sizeof(h->token));
	free(h);
}

const char *hooks_url(const struct hooks *h)
{
	return h->url;
}

const char *hooks_token(const struct hooks *h)
{
	return h->token;
}
