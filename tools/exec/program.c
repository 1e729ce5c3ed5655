/* program: a vector of the operator's own choice, run as it is, whose output is wanted to the byte:
 * what it said, up to a limit, and how it ended, as JSON for the daemon. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "tools/exec/command.h"
#include "tools/exec/invocation.h"
#include "tools/exec/tool.h"

#define SAID_MAX      ((size_t)128 << 10) /* what may be asked for; six times that in JSON */
#define COMPLAINT_MAX 200

struct program {
	struct invocation what;
	struct str said;
	bool too_much, late;
	struct command command;
};

static void on_output(void *arg, struct view piece)
{
	struct program *p = arg;

	if (!p->too_much && str_add(&p->said, piece) < 0)
		p->too_much = true;
}

static void watch(struct program *p, const struct tool_job *j)
{
	struct command *c = &p->command;

	while (!c->exited && !c->stopped && !p->too_much && !job_over(j))
		command_step(c, NULL, 0, j->until);
	p->late = !c->exited && !c->stopped && !p->too_much;
	command_end(c);
	(void)command_leaves(c);
}

static const char *end_of(const struct program *p)
{
	if (p->too_much)
		return "too_much";
	if (p->late)
		return "late";
	if (!p->command.exited || !WIFEXITED(p->command.status))
		return "killed";
	return utf8_valid(str_view(&p->said)) && view_find(str_view(&p->said), '\0') == p->said.n
	               ? "exited"
	               : "not_text";
}

/* The last line of what it complained of. */
static void put_complaint(const struct program *p, struct json_out *w)
{
	struct str all = STR_INIT((size_t)1 << 20), line = STR_INIT((size_t)1 << 20);
	struct view last;
	const char *lf;

	evidence_write(&p->command.complained, "stderr", &all);
	last = view_trim(str_view(&all));
	lf = last.n ? memrchr(last.p, '\n', last.n) : NULL;
	if (lf)
		last = view_from(last, (size_t)(lf + 1 - last.p));
	(void)text_visible(last, &line);
	json_put_str(w, "complaint",
		view_cut(str_view(&line), utf8_cut(str_view(&line), COMPLAINT_MAX)));
	str_release(&all);
	str_release(&line);
}

static int tell(const struct program *p, struct str *out, struct err *e)
{
	const char *end = end_of(p);
	struct json_out w;

	json_out_begin(&w, out);
	json_open(&w, NULL);
	json_put_z(&w, "end", end);
	if (p->command.exited && WIFEXITED(p->command.status))
		json_put_int(&w, "status", WEXITSTATUS(p->command.status));
	if (strcmp(end, "exited") == 0)
		json_put_str(&w, "said", str_view(&p->said));
	put_complaint(p, &w);
	json_close(&w);
	return json_out_end(&w, e);
}

int tool_program(struct tool_job *j, struct err *e)
{
	struct program *p = calloc(1, sizeof(*p));
	struct command_plan plan = { .in = -1, .frames = -1, .apart = true };
	int64_t max = 0;
	int rc = -1;

	if (!p)
		return err_set(e, E_NOMEM, "a program");
	p->what.dir = -1;
	if (json_get_int(j->args, "max", JSON_REQUIRED, 1, SAID_MAX, &max, e) < 0 ||
		invocation_read(&p->what, j->roots, j->args, j->argv, "/bin/sh", e) < 0)
		goto out;
	p->said = STR_INIT((size_t)max);
	invocation_plan(&p->what, &plan);
	plan.tmp = j->tmp;
	plan.on_output = on_output;
	plan.arg = p;
	if (command_start(&p->command, &plan, e) < 0)
		goto out;
	p->command.stopped = job_stopped(j); /* before it was watched for */
	watch(p, j);
	rc = tell(p, j->out, e);
	command_release(&p->command);
out:
	invocation_release(&p->what);
	str_release(&p->said);
	free(p);
	return rc;
}
