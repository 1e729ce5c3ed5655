/* shell: one command in a process of its own, by /bin/sh or as exactly the vector allowed. */
#include <stdlib.h>

#include "tools/exec/command.h"
#include "tools/exec/invocation.h"
#include "tools/exec/tool.h"

struct shell {
	struct invocation what;
	int64_t timeout_s;
	bool timed_out, leaves;
	struct command command;
};

static void watch(struct shell *s)
{
	struct command *c = &s->command;
	int64_t until = c->began + s->timeout_s * 1000;

	while (!c->exited && !c->stopped && monotonic_ms() < until)
		command_step(c, NULL, 0, until);
	s->timed_out = !c->exited && !c->stopped;
	command_end(c);
	s->leaves = command_leaves(c);
}

static void tell(const struct shell *s, struct str *out)
{
	const struct command *c = &s->command;

	command_say_how(c, s->timed_out ? s->timeout_s : 0, out);
	if (s->leaves)
		(void)str_adds(out, "[what it had left running in the background was ended]\n");
	command_say_output(c, out);
}

static int read_args(const struct tool_job *j, struct shell *s, struct err *e)
{
	s->timeout_s = COMMAND_TIMEOUT_S;
	if (json_get_int(j->args, "timeout_s", JSON_OPTIONAL, 1, COMMAND_TIMEOUT_MAX_S,
		    &s->timeout_s, e) < 0)
		return -1;
	return invocation_read(&s->what, j->roots, j->args, j->argv, "/bin/sh", e);
}

int tool_shell(struct tool_job *j, struct err *e)
{
	struct shell *s = calloc(1, sizeof(*s));
	struct command_plan plan = { .in = -1, .frames = -1 };
	int rc = -1;

	if (!s)
		return err_set(e, E_NOMEM, "a command");
	s->what.dir = -1;
	if (read_args(j, s, e) < 0)
		goto out;
	invocation_plan(&s->what, &plan);
	plan.tmp = j->tmp;
	job_acting(j);
	if (command_start(&s->command, &plan, e) < 0)
		goto out;
	s->command.stopped = job_stopped(j); /* before it was watched for */
	watch(s);
	tell(s, j->out);
	j->failed = s->timed_out || !command_succeeded(&s->command);
	command_release(&s->command);
	rc = 0;
out:
	invocation_release(&s->what);
	free(s);
	return rc;
}
