#include "tools/host/session.h"

#include <stdlib.h>
#include <string.h>

#include "tools/host/helper.h"

#define REQUEST_MAX ((size_t)1 << 20)
#define FIRST       1 /* the session of a call that names none */

struct session_call;

struct session {
	struct sessions *all;
	struct session *next;
	char *conversation;
	int64_t number, used; /* used: when the last command came */
	struct helper *helper;
	struct timer *idle;
	struct session_call *call; /* under way, or NULL */
	struct str command;        /* until the shell is there for it and its call may work */
	bool ready, ending;
	bool media; /* it can reach what the conversation has received */
};

struct sessions {
	const struct tools_env *env;
	struct session *first;
};

struct session_call {
	struct tool_run run;     /* first */
	struct session *session; /* NULL: none, or it has answered */
	bool opens, stops;
	bool misses; /* the session has begun before anything was received */
};

/* --- A session -------------------------------------------------------------------------------- */

static void session_free(struct session *s)
{
	for (struct session **at = &s->all->first; *at; at = &(*at)->next) {
		if (*at == s) {
			*at = s->next;
			break;
		}
	}
	if (s->call)
		s->call->session = NULL;
	helper_free(&s->helper);
	timer_free(&s->idle);
	str_release(&s->command);
	free(s->conversation);
	free(s);
}

/* From here on it is none of the sessions; it is freed when all of it has ended. */
static void session_end(struct session *s)
{
	s->ending = true;
	timer_disarm(s->idle);
	helper_stop(s->helper);
}

static void session_on_idle(void *arg)
{
	struct session *s = arg;

	log_info(s->all->env->log, "tools", "a shell session that was idle for long is ended");
	session_end(s);
}

/* The call has its answer; the session goes on without it. */
static void session_part(struct session *s)
{
	struct session_call *c = s->call;

	s->call = NULL;
	if (!c)
		return;
	c->session = NULL;
	run_over(&c->run, 0);
	if (!s->ending)
		timer_arm(s->idle, SESSION_IDLE_MS);
}

static void give(struct session_call *c, bool ok, struct view said)
{
	struct str text = STR_INIT(RUN_TEXT_MAX);

	(void)str_addf(&text, "session %lld%s: ", (long long)c->session->number,
		c->opens ? ", new" : "");
	(void)str_add(&text, said);
	if (c->misses)
		(void)str_adds(&text,
			"\n[What has been received since this session began cannot be "
			"reached in it: use a new one for that.]");
	if (str_ok(&text))
		run_give(&c->run, ok, str_view(&text));
	str_release(&text);
}

/* The command goes down as soon as it can be heard and may change something. */
static int send_when_due(struct session *s, struct err *e)
{
	int rc;

	if (!s->ready || !s->call || s->call->run.waits)
		return 0;
	rc = helper_send(s->helper, str_view(&s->command), e);
	str_reset(&s->command);
	return rc;
}

static void take_result(struct session *s, const struct json *event)
{
	bool ok = false, ended = true; /* unless the session itself says that it goes on */
	struct view text = VIEW_NONE;

	(void)json_get_bool(event, "ok", JSON_REQUIRED, &ok, NULL);
	(void)json_get_bool(event, "ended", JSON_OPTIONAL, &ended, NULL);
	(void)json_get_str(event, "text", JSON_REQUIRED, 0, RUN_TEXT_MAX, &text, NULL);
	if (s->call)
		give(s->call, ok, text);
	if (ended)
		session_end(s); /* the call is over once nothing of it is left */
	else
		session_part(s);
}

static void session_on_event(void *arg, enum helper_event what, const struct json *event)
{
	struct session *s = arg;

	if (what == HELPER_RESULT) {
		take_result(s, event);
	} else if (what == HELPER_ACTING && s->call) {
		s->call->run.acting = true;
	} else if (what == HELPER_FENCE) {
		s->ready = true;
		if (send_when_due(s, NULL) < 0)
			session_end(s);
	}
}

static void session_on_end(void *arg)
{
	struct session *s = arg;
	struct str text = STR_INIT(400);

	s->ending = true;
	if (s->call && s->call->stops) {
		give(s->call, true, VIEW("ended, and all that ran in it"));
	} else if (s->call && !s->call->run.cancelled && !s->call->run.timed_out) {
		helper_say_end(s->helper, &text);
		give(s->call, false, str_view(&text)); /* unless it has said more itself */
	}
	session_part(s);
	session_free(s);
	str_release(&text);
}

static int send_place(struct session *s, const char *media, struct err *e)
{
	struct str line = STR_INIT(REQUEST_MAX);
	struct json_out w;
	int rc = -1;

	json_out_begin(&w, &line);
	json_open(&w, NULL);
	helper_put_place(&w, s->all->env, media);
	json_close(&w);
	if (json_out_end(&w, e) == 0)
		rc = helper_send(s->helper, str_view(&line), e);
	str_release(&line);
	return rc;
}

static struct session *session_new(struct sessions *all, const struct run_plan *plan,
	int64_t number, struct err *e)
{
	const struct str command = STR_INIT(REQUEST_MAX);
	struct session *s = calloc(1, sizeof(*s));
	const struct helper_plan helper = {
		.env = all->env,
		.mode = "session",
		.name = plan->spec->name,
		.on_event = session_on_event,
		.on_end = session_on_end,
		.arg = s,
	};

	if (!s) {
		(void)err_set(e, E_NOMEM, "a shell session");
		return NULL;
	}
	s->all = all;
	s->next = all->first;
	all->first = s;
	s->number = number;
	s->used = loop_now(all->env->loop);
	s->media = plan->media != NULL;
	s->command = command;
	s->conversation = strdup(plan->conversation);
	if (!s->conversation)
		(void)err_set(e, E_NOMEM, "a shell session");
	else if (timer_new(&s->idle, all->env->loop, session_on_idle, s, e) == 0 &&
		 helper_start(&s->helper, &helper, e) == 0 && send_place(s, plan->media, e) == 0) {
		timer_arm(s->idle, SESSION_IDLE_MS);
		return s;
	}
	session_free(s);
	return NULL;
}

/* --- All of them ------------------------------------------------------------------------------ */

static bool belongs(const struct session *s, const char *conversation)
{
	return !s->ending && strcmp(s->conversation, conversation) == 0;
}

static struct session *find(const struct sessions *all, const char *conversation, int64_t number)
{
	for (struct session *s = all->first; s; s = s->next)
		if (belongs(s, conversation) && s->number == number)
			return s;
	return NULL;
}

/* Room for one more. */
static int make_room(struct sessions *all, const char *conversation, struct err *e)
{
	struct session *oldest = NULL;
	int n = 0;

	for (struct session *s = all->first; s; s = s->next) {
		n += !s->ending;
		if (!s->ending && !s->call && !belongs(s, conversation) &&
			(!oldest || s->used < oldest->used))
			oldest = s;
	}
	if (n < SESSIONS_MAX)
		return 0;
	if (!oldest)
		return err_set(e, E_FULL, "there are %d sessions already: stop one of them first",
			SESSIONS_MAX);
	session_end(oldest);
	return 0;
}

int sessions_open(struct sessions **out, const struct tools_env *env, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_set(e, E_NOMEM, "shell sessions");
	(*out)->env = env;
	return 0;
}

void sessions_close(struct sessions **all)
{
	if (!*all)
		return;
	for (struct session *s = (*all)->first; s; s = s->next)
		session_end(s); /* all at once; each is waited for below */
	while ((*all)->first)
		session_free((*all)->first);
	free(*all);
	*all = NULL;
}

/* --- A call ----------------------------------------------------------------------------------- */

static struct session_call *call_of(struct tool_run *r)
{
	return (struct session_call *)r;
}

/* A command that is under way cannot be ended by itself: the shell waits for it. One that has not
 * begun leaves the session as it is. */
static void call_stop(struct tool_run *r)
{
	struct session *s = call_of(r)->session;

	if (s && !r->waits) {
		session_end(s);
		return;
	}
	if (s) {
		str_reset(&s->command);
		session_part(s);
	}
	run_over(r, 0);
}

static void call_go(struct tool_run *r)
{
	struct session *s = call_of(r)->session;
	struct err e = ERR_INIT;

	if (!s || send_when_due(s, &e) == 0)
		return;
	run_give(r, false, view_of(e.msg));
	session_end(s);
}

static void call_say_end(const struct tool_run *r, struct str *out)
{
	(void)r;
	(void)str_adds(out, "ended without a result");
}

static void call_release(struct tool_run *r)
{
	if (call_of(r)->session)
		call_of(r)->session->call = NULL;
}

static const struct run_kind session_kind = {
	.stop = call_stop,
	.say_end = call_say_end,
	.release = call_release,
	.go = call_go,
};

static int put_command(struct session *s, struct view command, const struct json *args,
	struct err *e)
{
	struct json_out w;
	int64_t timeout_s;

	str_reset(&s->command);
	json_out_begin(&w, &s->command);
	json_open(&w, NULL);
	json_put_str(&w, "command", command);
	if (json_get_int(args, "timeout_s", JSON_OPTIONAL, 1, INT32_MAX, &timeout_s, NULL) == 1)
		json_put_int(&w, "timeout_s", timeout_s);
	json_close(&w);
	return json_out_end(&w, e);
}

static int call_command(struct session_call *c, struct sessions *all, const struct run_plan *plan,
	int64_t number, struct view command, struct err *e)
{
	struct session *s = find(all, plan->conversation, number);

	if (s && s->call)
		return err_set(e, E_BUSY, "session %lld is running a command", (long long)number);
	c->opens = !s;
	if (!s && make_room(all, plan->conversation, e) == 0)
		s = session_new(all, plan, number, e);
	if (!s || put_command(s, command, plan->args, e) < 0)
		return -1;
	timer_disarm(s->idle);
	s->used = loop_now(all->env->loop);
	s->call = c;
	c->session = s;
	c->misses = plan->media && !s->media;
	(void)run_must_wait(&c->run);
	return send_when_due(s, e);
}

static int call_end(struct session_call *c, struct sessions *all, const struct run_plan *plan,
	int64_t number, struct err *e)
{
	struct session *s = find(all, plan->conversation, number);

	if (!s)
		return err_set(e, E_NOTFOUND, "there is no session %lld", (long long)number);
	if (s->call)
		return err_set(e, E_BUSY, "session %lld is running a command", (long long)number);
	c->stops = true;
	c->session = s;
	s->call = c;
	session_end(s);
	return 0;
}

static void call_list(struct session_call *c, const struct sessions *all,
	const struct run_plan *plan)
{
	struct str text = STR_INIT(1000);

	for (int64_t i = FIRST; i < FIRST + SESSIONS_MAX; i++) {
		const struct session *s = find(all, plan->conversation, i);

		if (s)
			(void)str_addf(&text, "session %lld, last used %lld s ago\n", (long long)i,
				(long long)((loop_now(all->env->loop) - s->used) / 1000));
	}
	run_give(&c->run, true, text.n > 0 ? str_view(&text) : VIEW("There are no sessions."));
	str_release(&text);
	run_over(&c->run, 0);
}

static int call_begin(struct session_call *c, struct sessions *all, const struct run_plan *plan,
	struct err *e)
{
	struct view command = VIEW_NONE;
	int64_t number = FIRST;
	bool stop = false;

	if (json_get_str(plan->args, "command", JSON_OPTIONAL, 1, REQUEST_MAX, &command, e) < 0 ||
		json_get_int(plan->args, "session", JSON_OPTIONAL, FIRST, SESSIONS_MAX, &number,
			e) < 0 ||
		json_get_bool(plan->args, "stop", JSON_OPTIONAL, &stop, e) < 0)
		return -1;
	if (stop && command.n > 0)
		return err_set(e, E_FORMAT, "a call has either command or stop, not both");
	if (stop)
		return call_end(c, all, plan, number, e);
	if (command.n > 0)
		return call_command(c, all, plan, number, command, e);
	call_list(c, all, plan);
	return 0;
}

int session_start(struct tool_run **out, struct sessions *all, const struct run_plan *plan,
	struct err *e)
{
	struct session_call *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "a tool call");
	if (run_init(&c->run, &session_kind, plan, e) < 0 || call_begin(c, all, plan, e) < 0)
		return run_failed(&c->run, e);
	*out = &c->run;
	return 0;
}
