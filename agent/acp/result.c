#include "agent/acp/work-private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/acp/artifact.h"
#include "agent/acp/output.h"
#include "agent/say.h"
#include "base/file.h"
#include "base/text.h"

#define NOTICE_MAX (PAST_ANSWER_MAX + 4096)
#define KEPT_MAX   ((size_t)256 << 10)

/* --- Words for the user ----------------------------------------------------------------------- */

void result_notice(struct acp *a, const struct live *l, struct view text)
{
	struct engine_event ev = { .type = ENGINE_NOTICE, .text = text, .conversation = l->key };

	if (l->key && text.n > 0 && a->engine.on_event)
		a->engine.on_event(a->engine.arg, &ev);
}

void result_name(const struct task *k, struct str *out)
{
	(void)text_visible(view_of(k->what[0] ? k->what : k->id), out);
}

/* A sentence about a task. */
static void say_of(const struct acp *a, const struct live *l, enum speech s, const struct task *k,
	struct str *out)
{
	struct str name = STR_INIT(NOTICE_MAX);

	result_name(k, &name);
	say(a->speak, out, l->zh, s, str_cstr(&name));
	str_release(&name);
}

/* What has become of it, ahead of what there is to show. */
static void say_ended(const struct acp *a, const struct live *l, const struct task *k,
	struct str *out)
{
	say_of(a, l, k->failed ? SPEECH_TASK_FAILED : SPEECH_TASK_DONE, k, out);
	(void)str_adds(out, "\n\n");
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

/* The file that it has made goes to the user; whoever sends it checks it. */
static void add_artifact(const struct acp *a, const struct task *k, struct view output,
	struct str *out)
{
	struct str path = STR_INIT(PATH_SIZE);

	if (!k->failed && artifact_find(a->workspace, output, &path))
		(void)str_addf(out, "\n\n[send-file: %s]", str_cstr(&path));
	str_release(&path);
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
		if (cut) {
			say(a->speak, out, l->zh, SPEECH_OUTPUT_CUT);
			(void)str_addc(out, '\n');
		}
		add_fenced(out, view_trim(str_view(&text)));
		add_artifact(a, k, str_view(&text), out);
	} else {
		if (e.code != E_OK && e.code != E_NOTFOUND)
			log_warn(a->log, "acp", "a task's output: %s", e.msg);
		(void)text_safe(view_of(k->end), TEXT_KEEP_LF, out);
	}
	str_release(&raw);
	str_release(&text);
}

/* The task is shown by its own output, since its agent could not look at it. */
static void add_reason(const struct acp *a, const struct live *l, struct str *out)
{
	const char *reason = tasks_reason(a->work->tasks, view_of(l->id));
	struct str shown = STR_INIT(8 * TASKS_REASON_MAX), safe = STR_INIT(8 * TASKS_REASON_MAX);

	if (reason[0] && text_redact(view_of(reason), &shown) == 0) {
		(void)text_visible(str_view(&shown), &safe);
		(void)str_adds(out, "\n\n");
		say(a->speak, out, l->zh, SPEECH_NOT_REVIEWED, str_cstr(&safe));
	}
	str_release(&shown);
	str_release(&safe);
}

void result_tell(struct acp *a, struct task *k)
{
	const struct live *l = session_find(a, view_of(k->session));
	struct str out = STR_INIT(NOTICE_MAX);

	if (l) {
		say_ended(a, l, k, &out);
		add_result(a, l, k, &out);
		add_reason(a, l, &out);
		result_notice(a, l, view_trim(str_view(&out)));
	}
	task_told(k);
	str_release(&out);
}

void result_lost(struct acp *a, struct task *k, bool gone)
{
	const struct live *l = session_find(a, view_of(k->session));
	struct str out = STR_INIT(NOTICE_MAX);

	if (l) {
		say_of(a, l, gone ? SPEECH_TASK_DIED : SPEECH_TASK_UNHEARD, k, &out);
		result_notice(a, l, str_view(&out));
	}
	task_told(k);
	str_release(&out);
}

/* --- Over our own end ------------------------------------------------------------------------- */

/* A line each: language, conversation, what it does. None of them holds a tab or a line's end. */
static void keep_task(struct acp *a, const struct task *k, struct str *out)
{
	const struct live *l = session_find(a, view_of(k->session));

	if (!l || !l->key || strpbrk(l->key, "\t\n"))
		return;
	(void)str_addf(out, "%s\t%s\t", l->zh ? "zh" : "en", l->key);
	result_name(k, out);
	(void)str_addc(out, '\n');
}

void result_keep(struct acp *a)
{
	struct work *w = a->work;
	struct str now = STR_INIT(KEPT_MAX);
	struct err e = ERR_INIT;

	for (int state = TASK_RUNNING; state <= TASK_ENDED; state++) {
		struct task *k = NULL;

		while ((k = tasks_each(w->tasks, VIEW_NONE, (enum task_state)state, k)) != NULL)
			keep_task(a, k, &now);
	}
	if (!w->left && str_ok(&now) && !view_eq(str_view(&now), str_view(&w->kept))) {
		if (store_note(a->store, a->name, "tasks", str_view(&now), &e) < 0)
			log_warn(a->log, "acp", "background work is not remembered: %s", e.msg);
		str_reset(&w->kept);
		(void)str_add(&w->kept, str_view(&now));
	}
	str_release(&now);
}

int result_open(struct acp *a, struct err *e)
{
	a->work->kept = STR_INIT(KEPT_MAX);
	if (store_noted(a->store, a->name, "tasks", &a->work->kept, e) < 0)
		return -1;
	a->work->left = a->work->kept.n > 0;
	return 0;
}

static void tell_left(struct acp *a, struct view line)
{
	size_t n = view_find(line, '\t');
	struct view key = view_from(line, n + 1);
	size_t m = view_find(key, '\t');
	char *name = strndup(key.n > 0 ? key.p : "", m);
	struct live l = { .key = name, .zh = view_eqs(view_cut(line, n), "zh") };
	struct str out = STR_INIT(NOTICE_MAX), what = STR_INIT(NOTICE_MAX);

	(void)str_add(&what, view_from(key, m + 1));
	say(a->speak, &out, l.zh, SPEECH_TASK_LEFT, str_cstr(&what));
	result_notice(a, &l, str_view(&out));
	str_release(&what);
	str_release(&out);
	free(name);
}

void result_left(struct acp *a)
{
	struct view rest = str_view(&a->work->kept);

	a->work->left = false;
	while (rest.n > 0) {
		size_t n = view_find(rest, '\n');

		tell_left(a, view_cut(rest, n));
		rest = view_from(rest, n + 1);
	}
}

/* --- Reviews ---------------------------------------------------------------------------------- */

/* What a review has said, headed by the tasks that it is about. */
static void tell_review(struct acp *a, const struct live *l, const struct task *k, struct view text)
{
	struct str out = STR_INIT(NOTICE_MAX);

	if (k)
		say_ended(a, l, k, &out);
	(void)str_add(&out, text);
	result_notice(a, l, str_view(&out));
	str_release(&out);
}

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

		if (!past_find(a->work->past, view_of(k->id), &text, &whole)) {
			result_tell(a, k);
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
		if (!past_find(a->work->past, view_of(k->id), &text, &whole))
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
		!past_find(a->work->past, VIEW(WORK_NOTIFICATION), &text, &whole) || !whole)
		return false;
	tell_review(a, l, NULL, text);
	return true;
}

void result_take(struct acp *a, const char *session, bool read)
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
bool result_review(struct acp *a, const char *session)
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
	} else if (reading_blocked(a, session)) {
		begun = false;
	} else if (!reading_begin(a, session)) {
		tasks_unread(a->work->tasks, session, loop_now(a->loop));
	}
	str_release(&text);
	return begun;
}

void result_pass(struct acp *a, const char *session)
{
	const struct live *l = session_find(a, view_of(session));
	struct str text = STR_INIT(PAST_ANSWER_MAX);

	if (l)
		(void)late_claim(a, l, &text);
	str_release(&text);
}
