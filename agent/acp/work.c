#include "agent/acp/work-private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/say.h"
#include "base/text.h"

#define HOLD_TOLD_MS  15000  /* a message that is held so long is told of it */
#define HOLD_DOUBT_MS 120000 /* and so often it is looked whether the end was missed */
#define VARIABLE_MAX  ((size_t)8192)

/* --- What changes ----------------------------------------------------------------------------- */

bool work_busy(const struct acp *a, const struct live *l)
{
	return tasks_running(a->work->tasks, view_of(l->id)) > 0;
}

static bool is_held(const struct acp *a)
{
	return tasks_reviewing(a->work->tasks, view_of(a->here->id)) || pack_runs(a, a->here) ||
	       (a->work->reading && strcmp(a->work->reading, a->here->id) == 0);
}

static void tell_busy(struct acp *a)
{
	struct engine_event ev = { .type = ENGINE_BUSY, .ok = tasks_busy(a->work->tasks) };

	if (ev.ok == a->work->busy)
		return;
	a->work->busy = ev.ok;
	if (a->engine.on_event)
		a->engine.on_event(a->engine.arg, &ev);
}

/* What follows from whatever has changed. */
static void refresh(struct acp *a)
{
	int64_t next = tasks_next(a->work->tasks);

	if (next == INT64_MAX)
		timer_disarm(a->work->due);
	else
		timer_arm(a->work->due, next - loop_now(a->loop));
	tell_busy(a);
	result_keep(a);
	if (a->state == ACP_HOLDING && !is_held(a)) {
		timer_disarm(a->work->wait);
		a->reached(a, SESSION_FREE);
	}
}

/* --- What is due ------------------------------------------------------------------------------ */

static void work_on_due(void *arg)
{
	struct acp *a = arg;
	const char *session;
	struct task *k;
	bool blocked = false;

	if (a->work->left)
		result_left(a);
	switch (tasks_due(a->work->tasks, loop_now(a->loop), &session, &k)) {
	case DUE_NOTHING: break;
	case DUE_REVIEW: blocked = !result_review(a, session); break;
	case DUE_PASSED: result_pass(a, session); break;
	case DUE_OUTPUT: result_tell(a, k); break;
	case DUE_LOST: result_lost(a, k, false); break;
	}
	refresh(a);
	if (blocked || a->work->reading)
		timer_arm(a->work->due, WORK_BLOCKED_MS);
}

/* --- A turn that waits ------------------------------------------------------------------------ */

/* What is not heard of ends at its own time. */
static void hold_for(struct acp *a, int64_t ms)
{
	int64_t left = a->here->packs - loop_now(a->loop);

	timer_arm(a->work->wait, left > 0 && left < ms ? left : ms);
}

bool work_hold(struct acp *a)
{
	if (!is_held(a))
		return false;
	a->work->told = false;
	acp_step(a, ACP_HOLDING);
	hold_for(a, HOLD_TOLD_MS);
	return true;
}

static void tell_held(struct acp *a)
{
	struct str words = STR_INIT(1024);

	say(a->speak, &words, a->here->zh,
		pack_runs(a, a->here) ? SPEECH_PACKING : SPEECH_REVIEWING);
	result_notice(a, a->here, str_view(&words));
	str_release(&words);
}

static void hold_longer(struct acp *a)
{
	if (a->work->told)
		tasks_doubt(a->work->tasks, view_of(a->here->id), loop_now(a->loop));
	else
		tell_held(a);
	a->work->told = true;
	hold_for(a, HOLD_DOUBT_MS);
}

static void work_on_wait(void *arg)
{
	struct acp *a = arg;

	if (a->state == ACP_HOLDING && is_held(a))
		hold_longer(a);
	else if (a->state == ACP_SEEKING)
		seek_step(a);
	else if (a->state == ACP_PACKING)
		pack_over(a);
	refresh(a);
}

/* The history of a session is there, or cannot be had. */
static void work_on_read(struct acp *a, const char *session, bool read)
{
	result_take(a, session, read);
	if (a->state == ACP_SEEKING && view_eqs(str_view(&a->session), session))
		seek_take(a);
	refresh(a);
}

/* --- Hooks ------------------------------------------------------------------------------------ */

static bool work_on_hook(void *arg, const struct hook *h)
{
	struct acp *a = arg;
	bool reviewing;

	if (!session_find(a, h->session))
		return false;
	a->work->hooked = true;
	reviewing = tasks_reviewing(a->work->tasks, h->session);
	tasks_take(a->work->tasks, h, loop_now(a->loop));
	if (!reviewing && (a->state == ACP_PROMPTING || a->state == ACP_SEEKING) &&
		view_eq(h->session, str_view(&a->session)))
		seek_hook(a, h);
	else if (a->state == ACP_SEEKING && h->event == HOOK_STOP)
		timer_arm(a->work->wait, TASKS_SETTLE_MS);
	refresh(a);
	return true;
}

void work_turn_done(struct acp *a)
{
	timer_disarm(a->work->wait);
	seek_done(a);
	if (a->session.n > 0)
		tasks_turn(a->work->tasks, str_view(&a->session), false, a->fail == ENGINE_OK,
			loop_now(a->loop));
	refresh(a);
}

void work_down(struct acp *a)
{
	struct work *w = a->work;
	struct task *k = NULL;

	reading_end(a);
	timer_disarm(w->wait);
	while ((k = tasks_each(w->tasks, VIEW_NONE, TASK_ENDED, k)) != NULL)
		result_tell(a, k);
	while ((k = tasks_each(w->tasks, VIEW_NONE, TASK_RUNNING, k)) != NULL)
		result_lost(a, k, true);
	tasks_clear(w->tasks);
	refresh(a);
}

void work_describe(const struct acp *a, bool zh, struct str *out)
{
	size_t n = tasks_running(a->work->tasks, VIEW_NONE);

	if (n > 0)
		say(a->speak, out, zh, n == 1 ? SPEECH_ONE_TASK : SPEECH_TASKS, NUM((long long)n));
	else if (tasks_busy(a->work->tasks))
		say(a->speak, out, zh, SPEECH_TASKS_END);
}

static void work_job(const struct acp *a, const struct task *k, engine_job_cb *each, void *arg)
{
	struct str what = STR_INIT(8 * TASKS_WHAT_MAX);
	struct engine_job job = { .age_ms = loop_now(a->loop) - k->began,
		.ended = k->state == TASK_ENDED };

	result_name(k, &what);
	job.what = view_cut(str_view(&what), utf8_cut(str_view(&what), ENGINE_JOB_MAX));
	each(arg, &job);
	str_release(&what);
}

void work_jobs(const struct acp *a, engine_job_cb *each, void *arg)
{
	for (int state = TASK_RUNNING; state <= TASK_ENDED; state++) {
		struct task *k = NULL;

		while ((k = tasks_each(a->work->tasks, VIEW_NONE, (enum task_state)state, k)))
			work_job(a, k, each, arg);
	}
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
	w->on_read = work_on_read;
	w->home = strdup(env->hooks_home ? env->hooks_home : "");
	if (!w->home)
		return err_set(e, E_NOMEM, "background work");
	if (tasks_open(&w->tasks, e) < 0 || past_open(&w->past, e) < 0 ||
		timer_new(&w->due, a->loop, work_on_due, a, e) < 0 ||
		timer_new(&w->wait, a->loop, work_on_wait, a, e) < 0 || result_open(a, e) < 0)
		return -1;
	if (w->left)
		timer_arm(w->due, 0);
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
	str_release(&w->kept);
	free(w->reading);
	free(w->home);
	free(w);
}
