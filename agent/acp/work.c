#include "agent/acp/acp-private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/acp/hooks.h"
#include "agent/acp/output.h"
#include "agent/acp/past.h"
#include "agent/acp/task.h"
#include "base/text.h"

#define HOLD_TOLD_MS  15000  /* a message that is held so long is told of it */
#define HOLD_DOUBT_MS 120000 /* and so often it is looked whether the end was missed */
#define QUICK_MS \
	1000 /* an end without a word that comes so soon: the agent was busy, and asks later */
#define REASON_MS     2000                  /* for the hook that tells why there is no answer */
#define SEEK_MS       ((int64_t)10 * 60000) /* an answer that comes later is sought so long */
#define SEEK_BLIND_MS ((int64_t)2 * 60000)  /* without hooks that tell when to look */
#define BLOCKED_MS    500                   /* a session that is in use is read then */
#define NOTICE_MAX    (PAST_ANSWER_MAX + 4096)
#define NOTIFICATION  "<notification"
#define VARIABLE_MAX  ((size_t)8192)

struct work {
	struct hooks *hooks; /* NULL: nobody tells of background work */
	struct tasks *tasks;
	struct past *past;
	struct timer *due, *wait; /* of the tasks; of the turn that is held or seeks its answer */
	char *home;
	char *reading; /* the session that is being played back; NULL: none */
	bool busy;     /* it was told that there is background work */

	/* of the turn */
	bool told;                         /* that it is held */
	bool said, stopped;                /* part of an answer; the hook at its end */
	int64_t step;                      /* until its answer is sought again */
	char reason[TASKS_REASON_MAX + 1]; /* why its model has failed; "": nobody says */
};

static void refresh(struct acp *a);

/* --- Words for the user ----------------------------------------------------------------------- */

static void notice(struct acp *a, const struct live *l, struct view text)
{
	struct engine_event ev = { .type = ENGINE_NOTICE, .text = text, .conversation = l->key };

	if (l->key && text.n > 0 && a->engine.on_event)
		a->engine.on_event(a->engine.arg, &ev);
}

static void say_what(const struct live *l, const struct task *k, struct str *out)
{
	struct str shown = STR_INIT(8 * TASKS_WHAT_MAX);

	(void)text_visible(view_of(k->what[0] ? k->what : k->id), &shown);
	(void)str_addf(out, l->zh ? "后台任务%s：%s" : "Background task %s: %s",
		k->failed ? (l->zh ? "失败了" : "failed") : (l->zh ? "完成了" : "finished"),
		str_cstr(&shown));
	str_release(&shown);
}

/* As code, with a fence that it does not hold. */
static void add_fenced(struct str *out, struct view text)
{
	struct str fence = STR_INIT(OUTPUT_MAX + 4);

	(void)str_adds(&fence, "```");
	while (memmem(text.p, text.n, fence.p, fence.n) && str_addc(&fence, '`') == 0)
		;
	(void)str_addf(out, "%s\n%.*s\n%s", str_cstr(&fence), VIEW_FMT(text), str_cstr(&fence));
	str_release(&fence);
}

/* What the task itself has to show: an agent's answer, else its output, else how it ended. */
static void add_result(struct acp *a, const struct live *l, const struct task *k, struct str *out)
{
	struct str raw = STR_INIT(OUTPUT_MAX), text = STR_INIT(8 * OUTPUT_MAX);
	bool cut = false;
	struct err e = ERR_INIT;

	if (k->reply && k->reply[0]) {
		(void)str_adds(out, k->reply);
	} else if (output_read(a->work->home, k->session, k->id, &raw, &cut, &e) == 0 &&
		   text_safe(str_view(&raw), TEXT_KEEP_LF | TEXT_KEEP_TAB, &text) == 0 &&
		   view_trim(str_view(&text)).n > 0) {
		if (cut)
			(void)str_adds(out, l->zh ? "（输出太长，这里只有最后 64 KiB）\n"
						  : "(the last 64 KiB of its output)\n");
		add_fenced(out, view_trim(str_view(&text)));
	} else {
		if (e.code != E_OK && e.code != E_NOTFOUND)
			log_warn(a->log, "acp", "a task's output: %s", e.msg);
		(void)text_safe(view_of(k->end), TEXT_KEEP_LF, out);
	}
	str_release(&raw);
	str_release(&text);
}

static void tell_result(struct acp *a, struct task *k)
{
	const struct live *l = session_find(a, view_of(k->session));
	const char *reason = tasks_reason(a->work->tasks, view_of(k->session));
	struct str out = STR_INIT(NOTICE_MAX), shown = STR_INIT(8 * TASKS_REASON_MAX);

	if (l) {
		say_what(l, k, &out);
		(void)str_adds(&out, "\n\n");
		add_result(a, l, k, &out);
		if (reason[0] && text_redact(view_of(reason), &shown) == 0) {
			(void)str_adds(&out, l->zh ? "\n\n（智能体没能查看结果："
						   : "\n\n(The agent could not look at it: ");
			(void)text_visible(str_view(&shown), &out);
			(void)str_adds(&out, l->zh ? "）" : ")");
		}
		notice(a, l, view_trim(str_view(&out)));
	}
	task_told(k);
	str_release(&shown);
	str_release(&out);
}

static void tell_lost(struct acp *a, struct task *k)
{
	const struct live *l = session_find(a, view_of(k->session));
	struct str out = STR_INIT(NOTICE_MAX), shown = STR_INIT(8 * TASKS_WHAT_MAX);

	(void)text_visible(view_of(k->what[0] ? k->what : k->id), &shown);
	if (l &&
		str_addf(&out,
			l->zh ? "后台任务六个小时没有消息，不再等它了：%s。要知道它怎样了，可以问智能体。"
			      : "Nothing was heard of a background task for six hours, and it is no "
				"longer waited for: %s. Ask the agent how it is.",
			str_cstr(&shown)) == 0)
		notice(a, l, str_view(&out));
	task_told(k);
	str_release(&shown);
	str_release(&out);
}

/* What a review has said, headed by the tasks that it is about. */
static void tell_review(struct acp *a, const struct live *l, const struct task *k, struct view text)
{
	struct str out = STR_INIT(NOTICE_MAX);

	if (k) {
		say_what(l, k, &out);
		(void)str_adds(&out, "\n\n");
	}
	(void)str_add(&out, text);
	notice(a, l, str_view(&out));
	str_release(&out);
}

/* --- Reading a session's history -------------------------------------------------------------- */

static bool in_use(const struct acp *a, const char *session)
{
	return a->work->reading ||
	       ((a->state == ACP_OPENING || a->state == ACP_ASKING || a->state == ACP_LOOKING ||
			a->state == ACP_PROMPTING || a->state == ACP_CANCELLING) &&
		       view_eqs(str_view(&a->session), session));
}

static void work_on_history(void *arg, const struct rpc_answer *answer);

/* False: it cannot be read. */
static bool read_history(struct acp *a, const char *session)
{
	struct rpc *rpc = link_rpc(a->link);

	if (!rpc || !link_caps(a->link)->load || !(a->work->reading = strdup(session)))
		return false;
	past_begin(a->work->past);
	session_put(a, rpc_request(rpc, "session/load"), view_of(session));
	if (rpc_send_request(rpc, ACP_OPEN_MS, work_on_history, a, NULL, NULL) == 0)
		return true;
	free(a->work->reading);
	a->work->reading = NULL;
	return false;
}

bool work_replays(struct acp *a, struct view session, const struct json *update)
{
	if (!a->work->reading || !view_eqs(session, a->work->reading))
		return false;
	past_take(a->work->past, update);
	return true;
}

/* --- Reviews ---------------------------------------------------------------------------------- */

/* The first task of each thing that was said; one that nothing was said of shows its output. */
static void tell_answers(struct acp *a, const struct live *l)
{
	struct task *k = NULL;
	const char *said[TASKS_MAX];
	size_t n = 0;

	while ((k = tasks_each(a->work->tasks, view_of(l->id), TASK_ENDED, k)) != NULL) {
		struct view text;
		bool whole;
		size_t i = 0;

		if (!past_find(a->work->past, view_of(k->id), true, &text, &whole)) {
			tell_result(a, k);
			continue;
		}
		while (i < n && said[i] != text.p)
			i++;
		if (i == n && n < TASKS_MAX) {
			said[n++] = text.p;
			tell_review(a, l, k, text);
		}
	}
}

/* Is all that is to be told there? */
static bool all_answered(const struct acp *a, const struct live *l)
{
	struct task *k = tasks_each(a->work->tasks, view_of(l->id), TASK_ENDED, NULL);
	struct view text;
	bool whole, any = false;

	for (; k; k = tasks_each(a->work->tasks, view_of(l->id), TASK_ENDED, k)) {
		if (!past_find(a->work->past, view_of(k->id), true, &text, &whole))
			continue;
		if (!whole)
			return false;
		any = true;
	}
	return any;
}

/* No task is known to have ended: what tells of that is late, or lost. */
static bool tell_bare(struct acp *a, const struct live *l)
{
	struct view text;
	bool whole;

	if (tasks_each(a->work->tasks, view_of(l->id), TASK_ENDED, NULL) ||
		!past_find(a->work->past, VIEW(NOTIFICATION), true, &text, &whole) || !whole)
		return false;
	tell_review(a, l, NULL, text);
	return true;
}

static void tell_history(struct acp *a, const char *session, bool read)
{
	const struct live *l = session_find(a, view_of(session));
	bool told = false;

	if (!tasks_over(a->work->tasks, view_of(session)))
		return;
	if (l && read && tell_bare(a, l)) {
		told = true;
	} else if (l && read && all_answered(a, l)) {
		tell_answers(a, l);
		told = true;
	}
	if (read)
		tasks_reviewed(a->work->tasks, session, told, loop_now(a->loop));
	else
		tasks_unread(a->work->tasks, session, loop_now(a->loop));
}

/* An agent that streams it has said it already. False: it cannot be read yet. */
static bool review(struct acp *a, const char *session)
{
	const struct live *l = session_find(a, view_of(session));
	struct str text = STR_INIT(PAST_ANSWER_MAX);
	bool begun = true;

	if (l && late_claim(a, l, &text)) {
		tell_review(a, l, tasks_each(a->work->tasks, view_of(session), TASK_ENDED, NULL),
			str_view(&text));
		tasks_reviewed(a->work->tasks, session, true, loop_now(a->loop));
	} else if (!l || tasks_reason(a->work->tasks, view_of(session))[0]) {
		tasks_unread(a->work->tasks, session, loop_now(a->loop));
	} else if (in_use(a, session)) {
		begun = false;
	} else if (!read_history(a, session)) {
		tasks_unread(a->work->tasks, session, loop_now(a->loop));
	}
	str_release(&text);
	return begun;
}

static void drop_late(struct acp *a, const char *session)
{
	const struct live *l = session_find(a, view_of(session));
	struct str text = STR_INIT(PAST_ANSWER_MAX);

	if (l)
		(void)late_claim(a, l, &text);
	str_release(&text);
}

static void work_on_due(void *arg)
{
	struct acp *a = arg;
	const char *session;
	struct task *k;
	bool blocked = false;

	switch (tasks_due(a->work->tasks, loop_now(a->loop), &session, &k)) {
	case DUE_NOTHING: break;
	case DUE_REVIEW: blocked = !review(a, session); break;
	case DUE_PASSED: drop_late(a, session); break;
	case DUE_OUTPUT: tell_result(a, k); break;
	case DUE_LOST: tell_lost(a, k); break;
	}
	refresh(a);
	if (blocked || a->work->reading)
		timer_arm(a->work->due, BLOCKED_MS);
}

/* --- A turn that is held ---------------------------------------------------------------------- */

bool work_busy(const struct acp *a, const struct live *l)
{
	return tasks_running(a->work->tasks, view_of(l->id)) > 0;
}

bool work_reviews(const struct acp *a, const struct live *l)
{
	return tasks_reviewing(a->work->tasks, view_of(l->id));
}

static bool is_held(const struct acp *a)
{
	return work_reviews(a, a->here) ||
	       (a->work->reading && strcmp(a->work->reading, a->here->id) == 0);
}

bool work_hold(struct acp *a)
{
	if (!is_held(a))
		return false;
	a->work->told = false;
	acp_step(a, ACP_HOLDING);
	timer_arm(a->work->wait, HOLD_TOLD_MS);
	return true;
}

static void hold_longer(struct acp *a)
{
	if (a->work->told)
		tasks_doubt(a->work->tasks, view_of(a->here->id), loop_now(a->loop));
	else
		notice(a, a->here,
			a->here->zh ? VIEW("智能体还在看后台任务的结果，看完就处理你的消息。")
				    : VIEW("The agent still looks at what its background work has "
					   "brought; your message is next."));
	a->work->told = true;
	timer_arm(a->work->wait, HOLD_DOUBT_MS);
}

/* --- An answer that did not come -------------------------------------------------------------- */

void work_prompt(struct acp *a)
{
	struct work *w = a->work;

	w->said = w->stopped = false;
	w->reason[0] = '\0';
	tasks_turn(w->tasks, str_view(&a->session), true, false, loop_now(a->loop));
}

void work_said(struct acp *a)
{
	a->work->said = true;
}

/* "429 slow down": what the model's provider has answered. */
static enum engine_fail fail_of(const char *reason)
{
	size_t n = strspn(reason, "0123456789");

	if (n != 3 || reason[0] != '4')
		return ENGINE_FAIL_PROVIDER;
	return strncmp(reason, "429", 3) == 0 || strncmp(reason, "402", 3) == 0
	               ? ENGINE_FAIL_QUOTA
	               : ENGINE_FAIL_REFUSED;
}

static void finish_reason(struct acp *a)
{
	acp_finish(a, fail_of(a->work->reason), view_of(a->work->reason));
}

/* Kimi ends a turn without a word at once when it is at work in the background, and answers later,
 * unheard (acp, section 17). With hooks it is also waited for why its model has failed. */
bool work_empty(struct acp *a)
{
	struct work *w = a->work;
	bool quick = !w->said && loop_now(a->loop) - a->prompted < QUICK_MS;

	if (w->reason[0]) {
		finish_reason(a);
		return true;
	}
	if (w->stopped || (!w->hooks && (!quick || !link_caps(a->link)->load)))
		return false;
	acp_step(a, ACP_SEEKING);
	w->step = REASON_MS;
	timer_arm(w->wait, w->step);
	return true;
}

/* Is there a reason to think that it is still to come? */
static bool may_come(const struct acp *a)
{
	const struct work *w = a->work;
	struct view text;
	bool whole;

	if (loop_now(a->loop) - a->prompted >= (w->hooks ? SEEK_MS : SEEK_BLIND_MS))
		return false;
	return tasks_reviewing(w->tasks, str_view(&a->session)) ||
	       past_find(w->past, VIEW(NOTIFICATION), true, &text, &whole);
}

static void seek_in_history(struct acp *a)
{
	struct view text;
	bool whole;

	if (past_find(a->work->past, str_view(&a->text), false, &text, &whole) && whole) {
		acp_stream_say(a->stream, text);
		acp_finish(a, ENGINE_OK, VIEW_NONE);
	} else if (may_come(a)) {
		a->work->step *= 2;
		timer_arm(a->work->wait, a->work->step);
	} else {
		acp_finish(a, ENGINE_FAIL_AGENT_EMPTY, VIEW_NONE);
	}
}

static void seek(struct acp *a)
{
	bool quick = !a->work->said;

	if (a->work->reading)
		timer_arm(a->work->wait, BLOCKED_MS);
	else if (!quick || !read_history(a, str_cstr(&a->session)))
		acp_finish(a, ENGINE_FAIL_AGENT_EMPTY, VIEW_NONE);
}

void work_give_up(struct acp *a)
{
	struct rpc *rpc = link_rpc(a->link);

	timer_disarm(a->work->wait);
	if (rpc) {
		json_put_str(rpc_notification(rpc, "session/cancel"), "sessionId",
			str_view(&a->session));
		(void)rpc_send(rpc, NULL);
	}
	acp_finish(a, ENGINE_FAIL_CANCELLED, VIEW_NONE);
}

static void work_on_wait(void *arg)
{
	struct acp *a = arg;

	if (a->state == ACP_HOLDING)
		hold_longer(a);
	else if (a->state == ACP_SEEKING)
		seek(a);
	refresh(a);
}

/* What the agent has set may be another's since: it is brought once more. */
static void taken_up(struct live *l, const struct json *result)
{
	(void)knobs_take(&l->knobs, result);
	l->fresh = true;
	for (int i = 0; i < KNOBS; i++) {
		free(l->applied[i]);
		l->applied[i] = NULL;
	}
}

static void work_on_history(void *arg, const struct rpc_answer *answer)
{
	struct acp *a = arg;
	char *session = a->work->reading;
	struct live *l;

	if (answer->end == RPC_GONE || !session)
		return; /* the link tells */
	a->work->reading = NULL;
	past_end(a->work->past);
	l = session_find(a, view_of(session));
	if (l && answer->end == RPC_RESULT)
		taken_up(l, answer->result);
	tell_history(a, session, answer->end == RPC_RESULT);
	if (a->state == ACP_SEEKING && view_eqs(str_view(&a->session), session))
		seek_in_history(a);
	free(session);
	past_begin(a->work->past);
	refresh(a);
}

/* --- Hooks ------------------------------------------------------------------------------------ */

/* Of the session of the turn that runs. */
static void turn_hook(struct acp *a, const struct hook *h)
{
	struct work *w = a->work;

	if (h->event == HOOK_STOP_FAILURE)
		(void)copy_z(w->reason, sizeof(w->reason),
			view_cut(h->text, utf8_cut(h->text, TASKS_REASON_MAX)));
	else if (h->event == HOOK_STOP)
		w->stopped = true;
	if (a->state != ACP_SEEKING)
		return;
	if (w->reason[0])
		finish_reason(a);
	else if (h->event == HOOK_STOP)
		timer_arm(w->wait, TASKS_SETTLE_MS);
}

static bool work_on_hook(void *arg, const struct hook *h)
{
	struct acp *a = arg;
	bool reviewing;

	if (!session_find(a, h->session))
		return false;
	reviewing = tasks_reviewing(a->work->tasks, h->session);
	tasks_take(a->work->tasks, h, loop_now(a->loop));
	if (!reviewing && (a->state == ACP_PROMPTING || a->state == ACP_SEEKING) &&
		view_eq(h->session, str_view(&a->session)))
		turn_hook(a, h);
	else if (a->state == ACP_SEEKING && h->event == HOOK_STOP)
		timer_arm(a->work->wait, TASKS_SETTLE_MS);
	refresh(a);
	return true;
}

/* --- What follows from all that --------------------------------------------------------------- */

static void tell_busy(struct acp *a)
{
	struct engine_event ev = { .type = ENGINE_BUSY, .ok = tasks_busy(a->work->tasks) };

	if (ev.ok == a->work->busy)
		return;
	a->work->busy = ev.ok;
	if (a->engine.on_event)
		a->engine.on_event(a->engine.arg, &ev);
}

static void refresh(struct acp *a)
{
	int64_t next = tasks_next(a->work->tasks);

	if (next == INT64_MAX)
		timer_disarm(a->work->due);
	else
		timer_arm(a->work->due, next - loop_now(a->loop));
	tell_busy(a);
	if (a->state == ACP_HOLDING && !is_held(a)) {
		timer_disarm(a->work->wait);
		settle_begin(a);
	}
}

void work_turn_done(struct acp *a)
{
	timer_disarm(a->work->wait);
	if (a->session.n > 0)
		tasks_turn(a->work->tasks, str_view(&a->session), false, a->fail == ENGINE_OK,
			loop_now(a->loop));
	refresh(a);
}

void work_down(struct acp *a)
{
	struct work *w = a->work;
	struct task *k = NULL;

	free(w->reading);
	w->reading = NULL;
	timer_disarm(w->wait);
	while ((k = tasks_each(w->tasks, VIEW_NONE, TASK_ENDED, k)) != NULL)
		tell_result(a, k);
	while ((k = tasks_each(w->tasks, VIEW_NONE, TASK_RUNNING, NULL)) != NULL) {
		const struct live *l = session_find(a, view_of(k->session));
		struct str out = STR_INIT(NOTICE_MAX);

		if (l && str_addf(&out,
				 l->zh ? "智能体的进程结束了，它的后台任务也断了：%s"
				       : "The agent has ended, and its background task with it: %s",
				 k->what[0] ? k->what : k->id) == 0)
			notice(a, l, str_view(&out));
		str_release(&out);
		task_told(k);
	}
	tasks_clear(w->tasks);
	refresh(a);
}

void work_describe(const struct acp *a, struct str *out)
{
	size_t n = tasks_running(a->work->tasks, VIEW_NONE);

	if (n > 0)
		(void)str_addf(out, ", %zu background task%s", n, n == 1 ? "" : "s");
	else if (tasks_busy(a->work->tasks))
		(void)str_adds(out, ", background work ends");
}

/* --- Opening ---------------------------------------------------------------------------------- */

static int add_variable(struct acp *a, const char *name, const char *value, struct err *e)
{
	struct str text = STR_SECRET(VARIABLE_MAX);
	size_t n = 0;
	char **grown;

	while (a->envp[n])
		n++;
	(void)str_addf(&text, "%s=%s", name, value);
	grown = realloc(a->envp, (n + 2) * sizeof(char *));
	if (grown) {
		a->envp = grown;
		a->envp[n] = str_take(&text);
		a->envp[n + 1] = NULL;
	}
	str_release(&text);
	return grown && grown[n] ? 0 : err_set(e, E_NOMEM, "the agent's environment");
}

/* The agent hands its environment to the commands of its hooks. */
static int open_hooks(struct acp *a, struct err *e)
{
	struct work *w = a->work;

	if (hooks_open(&w->hooks, a->loop, work_on_hook, a, a->log, e) < 0)
		return -1;
	if (add_variable(a, "KAIRO_RELAY_TOOL", a->path, e) < 0 ||
		add_variable(a, "KAIRO_RELAY_URL", hooks_url(w->hooks), e) < 0)
		return -1;
	return add_variable(a, "KAIRO_RELAY_TOKEN", hooks_token(w->hooks), e);
}

int work_open(struct acp *a, const struct acp_env *env, struct err *e)
{
	struct work *w = a->work = calloc(1, sizeof(*w));

	if (!w)
		return err_set(e, E_NOMEM, "background work");
	w->home = strdup(env->hooks_home ? env->hooks_home : "");
	if (!w->home)
		return err_set(e, E_NOMEM, "background work");
	if (tasks_open(&w->tasks, e) < 0 || past_open(&w->past, e) < 0 ||
		timer_new(&w->due, a->loop, work_on_due, a, e) < 0 ||
		timer_new(&w->wait, a->loop, work_on_wait, a, e) < 0)
		return -1;
	return env->hooks_home ? open_hooks(a, e) : 0;
}

void work_close(struct acp *a)
{
	struct work *w = a->work;

	if (!w)
		return;
	a->work = NULL;
	hooks_close(&w->hooks);
	timer_free(&w->due);
	timer_free(&w->wait);
	past_close(&w->past);
	tasks_close(&w->tasks);
	free(w->reading);
	free(w->home);
	free(w);
}
