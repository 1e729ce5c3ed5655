/* shell: one command in a process of its own, by /bin/sh or as exactly the vector allowed. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/exec/command.h"
#include "tools/exec/tool.h"

struct shell {
	struct view text;
	int64_t timeout_s;
	const char **argv; /* borrowed words */
	char pwd[2 * PATH_SIZE];
	int dir;
	bool timed_out, leaves;
	struct command command;
};

static int read_cwd(const struct tool_job *j, struct shell *s, struct err *e)
{
	struct str pwd = STR_INIT(sizeof(s->pwd) - 1);
	struct view path = VIEW(".");
	struct place place;

	if (json_get_str(j->args, "cwd", JSON_OPTIONAL, 1, PATH_SIZE - 1, &path, e) < 0 ||
		place_find(&place, j->roots, path, e) < 0)
		return -1;
	s->dir = place_open_dir(&place, e);
	if (s->dir < 0)
		return -1;
	(void)str_adds(&pwd, place.root->path);
	if (strcmp(place.rel, ".") != 0)
		(void)str_addf(&pwd, "/%s", place.rel);
	(void)copy_z(s->pwd, sizeof(s->pwd), str_view(&pwd));
	str_release(&pwd);
	return 0;
}

/* The words live in the job's JSON, which has a NUL behind each. */
static int read_vector(const struct tool_job *j, struct shell *s, struct err *e)
{
	size_t n = 0, count = 3;

	json_each(item, j->argv)
		count++;
	s->argv = calloc(count + 1, sizeof(*s->argv));
	if (!s->argv)
		return err_set(e, E_NOMEM, "a command");
	if (!j->argv) {
		s->argv[0] = "sh";
		s->argv[1] = "-c";
		s->argv[2] = s->text.p;
		return 0;
	}
	json_each(item, j->argv) {
		struct view word;

		if (json_str(item, &word) < 0)
			return err_set(e, E_FORMAT, "a word of the command is not text");
		s->argv[n++] = word.p;
	}
	if (n == 0 || s->argv[0][0] != '/')
		return err_set(e, E_FORMAT, "the program of the command is not a full path");
	return 0;
}

static int read_args(const struct tool_job *j, struct shell *s, struct err *e)
{
	s->timeout_s = COMMAND_TIMEOUT_S;
	if (json_get_str(j->args, "command", JSON_REQUIRED, 1, COMMAND_TEXT_MAX, &s->text, e) < 0 ||
		json_get_int(j->args, "timeout_s", JSON_OPTIONAL, 1, COMMAND_TIMEOUT_MAX_S,
			&s->timeout_s, e) < 0)
		return -1;
	return read_cwd(j, s, e) < 0 || read_vector(j, s, e) < 0 ? -1 : 0;
}

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

int tool_shell(struct tool_job *j, struct err *e)
{
	struct shell *s = calloc(1, sizeof(*s));
	struct command_plan plan = { .in = -1, .frames = -1 };
	int rc = -1;

	if (!s)
		return err_set(e, E_NOMEM, "a command");
	s->dir = -1;
	if (read_args(j, s, e) < 0)
		goto out;
	plan.path = j->argv ? s->argv[0] : "/bin/sh";
	plan.argv = s->argv;
	plan.dir = s->dir;
	plan.pwd = s->pwd;
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
	if (s->dir >= 0)
		(void)close(s->dir);
	free(s->argv);
	free(s);
	return rc;
}
