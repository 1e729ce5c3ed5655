#include "tools/host/program.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/text.h"
#include "tools/host/helper.h"
#include "tools/host/vector.h"

#define REQUEST_MAX ((size_t)1 << 20)
#define SAID_MAX    ((size_t)128 << 10)
#define GRACE_MS    5000 /* beyond its time, for its end to be told */

struct program {
	struct program *next;
	struct program_list *list;
	struct tools_env env; /* with folders of its own */
	struct vector v;
	char folder[PATH_SIZE];
	const char *what;
	struct helper *helper;
	struct timer *limit;
	bool late;
	enum program_end end;
	int status;
	struct str text, why;
	void (*on_done)(void *arg, const struct program_result *r);
	void *arg;
};

/* --- Whether it can be run -------------------------------------------------------------------- */

static int check_sandbox(struct tools *t, struct err *e)
{
	struct str why = STR_INIT(2000);
	int rc = 0;

	if (!sandbox_allows(tools_sandbox(t), true, &why))
		rc = err_set(e, E_UNSUPPORTED, "%s", str_cstr(&why));
	str_release(&why);
	return rc;
}

int program_check(struct tools *t, const char *const *argv, struct err *e)
{
	struct vector v = { .nwords = 0 };
	int rc = vector_fill(&v, t, argv, "", "", e);

	vector_release(&v);
	return rc < 0 ? -1 : check_sandbox(t, e);
}

/* --- The end ---------------------------------------------------------------------------------- */

static void program_release(struct program *p)
{
	helper_free(&p->helper);
	timer_free(&p->limit);
	vector_release(&p->v);
	str_release(&p->text);
	str_release(&p->why);
	free(p);
}

static void program_free(struct program *p)
{
	for (struct program **at = &p->list->first; *at; at = &(*at)->next) {
		if (*at == p) {
			*at = p->next;
			break;
		}
	}
	program_release(p);
}

void program_close_all(struct program_list *l)
{
	for (const struct program *p = l->first; p; p = p->next)
		helper_stop(p->helper);
	for (struct program *p = l->first, *next; p; p = next) {
		next = p->next;
		program_release(p);
	}
	l->first = NULL;
}

void program_detach(struct program **pp)
{
	struct program *p = *pp;

	*pp = NULL;
	if (!p)
		return;
	p->on_done = NULL;
	helper_stop(p->helper);
}

static void program_on_end(void *arg)
{
	struct program *p = arg;
	struct program_result r;

	if (p->late)
		p->end = PROGRAM_LATE;
	else if (p->end == PROGRAM_NOT_RUN && p->why.n == 0)
		helper_say_end(p->helper, &p->why);
	r = (struct program_result){ p->end, p->status, str_view(&p->text), str_cstr(&p->why) };
	if (p->on_done)
		p->on_done(p->arg, &r);
	program_free(p);
}

static void program_on_limit(void *arg)
{
	struct program *p = arg;

	p->late = true;
	helper_stop(p->helper);
}

/* --- What it said ----------------------------------------------------------------------------- */

static const char *const ends[] = { "exited", "killed", "late", "too_much", "not_text", NULL };

static int take_report(struct program *p, struct view text, struct err *e)
{
	struct json_limits lim = json_limits_wire;
	struct view said = VIEW_NONE, complaint = VIEW_NONE;
	struct json *j = NULL;
	int64_t status = -1;
	int end = PROGRAM_NOT_RUN, rc = -1;

	if (json_read(&j, text, &lim, e) == 0 &&
		json_get_enum(j, "end", JSON_REQUIRED, ends, &end, e) == 1 &&
		json_get_int(j, "status", JSON_OPTIONAL, 0, 255, &status, e) >= 0 &&
		json_get_str(j, "said", JSON_OPTIONAL, 0, SAID_MAX, &said, e) >= 0 &&
		json_get_str(j, "complaint", JSON_REQUIRED, 0, SAID_MAX, &complaint, e) == 1) {
		p->end = (enum program_end)end;
		p->status = (int)status;
		(void)str_add(&p->text, said);
		(void)str_add(&p->why, complaint);
		rc = 0;
	}
	json_free(&j);
	return rc;
}

static void program_on_event(void *arg, enum helper_event what, const struct json *event)
{
	struct program *p = arg;
	struct err e = ERR_INIT;
	struct view text;
	bool ok = false;

	if (what != HELPER_RESULT || p->end != PROGRAM_NOT_RUN)
		return;
	if (json_get_bool(event, "ok", JSON_REQUIRED, &ok, &e) < 0 ||
		json_get_str(event, "text", JSON_REQUIRED, 0, REQUEST_MAX, &text, &e) < 0 ||
		(ok && take_report(p, text, &e) < 0))
		(void)str_adds(&p->why, e.msg);
	else if (!ok)
		(void)text_visible(text, &p->why);
}

/* --- The start -------------------------------------------------------------------------------- */

static int send_request(struct program *p, const struct program_plan *plan, struct err *e)
{
	struct str request = STR_INIT(REQUEST_MAX);
	struct json_out w;
	int rc;

	json_out_begin(&w, &request);
	json_open(&w, NULL);
	json_put_z(&w, "tool", "program");
	json_open(&w, "args");
	json_put_z(&w, "command", p->what);
	json_put_int(&w, "max", (int64_t)plan->text_max);
	json_close(&w);
	json_open_array(&w, "argv");
	json_put_z(&w, NULL, p->v.path);
	for (size_t i = 1; i < p->v.nwords; i++)
		json_put_z(&w, NULL, p->v.words[i]);
	json_close_array(&w);
	helper_put_place(&w, &p->env, NULL);
	json_put_int(&w, "time_ms", plan->time_ms);
	json_close(&w);
	rc = json_out_end(&w, e);
	if (rc == 0)
		rc = helper_send(p->helper, str_view(&request), e);
	str_release(&request);
	return rc;
}

static int prepare(struct program *p, const struct program_plan *plan, struct err *e)
{
	const struct helper_plan helper = { .env = &p->env,
		.mode = "call",
		.name = p->what,
		.on_event = program_on_event,
		.on_end = program_on_end,
		.arg = p };

	if (copy_z(p->folder, sizeof(p->folder), view_of(plan->folder)) < 0)
		return err_set(e, E_FORMAT, "the folder's path is too long");
	if (vector_fill(&p->v, plan->tools, plan->argv, plan->file, plan->out, e) < 0 ||
		check_sandbox(plan->tools, e) < 0 ||
		timer_new(&p->limit, p->env.loop, program_on_limit, p, e) < 0)
		return -1;
	p->env.workspace = p->folder;
	p->env.read_paths = p->v.read;
	p->env.sandbox = tools_sandbox(plan->tools);
	return helper_start(&p->helper, &helper, e);
}

int program_start(struct program **out, const struct program_plan *plan, struct err *e)
{
	const struct str text = STR_INIT(SAID_MAX), why = STR_INIT(2000);
	struct program *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return err_set(e, E_NOMEM, "a program");
	p->list = plan->list;
	p->next = p->list->first;
	p->list->first = p;
	p->env = plan->tools->env;
	p->what = plan->what;
	p->end = PROGRAM_NOT_RUN;
	p->text = text;
	p->why = why;
	p->on_done = plan->on_done;
	p->arg = plan->arg;
	if (prepare(p, plan, e) < 0 || send_request(p, plan, e) < 0) {
		program_free(p);
		return -1;
	}
	timer_arm(p->limit, plan->time_ms + GRACE_MS);
	*out = p;
	return 0;
}
