#include "cli/agent_try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/acp/acp.h"
#include "agent/say.h"
#include "agent/turn.h"
#include "base/db/db.h"
#include "base/file.h"
#include "base/proc.h"
#include "channel/words.h"
#include "cli/app.h"

#define WORDS_MAX ((size_t)4096) /* bytes of a version's text */

/* --- The version ------------------------------------------------------------------------------ */

struct asked {
	struct loop *loop;
	bool late;
	int code;
};

static void on_exit_of(void *arg, int code, int signal)
{
	struct asked *a = arg;

	(void)signal;
	a->code = code;
	loop_stop(a->loop);
}

static void on_late(void *arg)
{
	struct asked *a = arg;

	a->late = true;
	loop_stop(a->loop);
}

/* Its first line with anything on it. */
static int read_line(int fd, char out[80], struct err *e)
{
	char text[WORDS_MAX];
	struct str shown = STR_INIT(4 * WORDS_MAX);
	ssize_t n = read(fd, text, sizeof(text));
	struct view rest = { text, n > 0 ? (size_t)n : 0 }, line = VIEW_NONE;

	while (rest.n > 0 && line.n == 0) {
		size_t end = view_find(rest, '\n');

		line = view_trim(view_cut(rest, end));
		rest = view_from(rest, end + 1);
	}
	say_words(&shown, line, 18);
	(void)copy_z(out, 80, str_view(&shown));
	str_release(&shown);
	return out[0] ? 0 : err_set(e, E_NOTFOUND, "it says nothing of its version");
}

static int wait_for_exit(struct asked *a, struct timer *timer, const struct proc_spec *spec,
	struct err *e)
{
	struct proc *proc = NULL;
	int rc = proc_spawn(&proc, a->loop, spec, on_exit_of, a, e);

	if (rc == 0) {
		timer_arm(timer, AGENT_VERSION_MS);
		rc = loop_run(a->loop, e);
	}
	proc_free(&proc);
	if (rc == 0 && a->late)
		rc = err_set(e, E_TIMEOUT, "%s %s does not end", spec->argv[0], spec->argv[1]);
	else if (rc == 0 && a->code != 0)
		rc = err_set(e, E_IO, "%s %s fails", spec->argv[0], spec->argv[1]);
	return rc;
}

int agent_version(struct loop *l, const struct agent_plan *plan, const char *argument, char out[80],
	struct err *e)
{
	const char *const argv[] = { plan->program, argument, NULL };
	struct asked a = { .loop = l };
	struct proc_fd fds[1] = { { -1, STDOUT_FILENO } };
	struct proc_spec spec = { .path = plan->program, .argv = argv, .fds = fds, .nfds = 1 };
	struct timer *timer = NULL;
	int pipe[2] = { -1, -1 }, rc = -1;

	out[0] = '\0';
	spec.env = (const char *const *)plan->env;
	if (proc_pipe(pipe, 0, e) == 0 && timer_new(&timer, l, on_late, &a, e) == 0) {
		fds[0].parent = pipe[1];
		rc = wait_for_exit(&a, timer, &spec, e);
	}
	if (rc == 0)
		rc = read_line(pipe[0], out, e);
	for (int i = 0; i < 2; i++)
		if (pipe[i] >= 0)
			close(pipe[i]);
	timer_free(&timer);
	return rc;
}

/* --- The trial -------------------------------------------------------------------------------- */

struct trial {
	struct loop *loop;
	struct turns *turns;
	struct agent_trial *out;
};

static void on_event(void *arg, const struct engine_event *ev)
{
	struct trial *t = arg;
	struct str shown = STR_INIT(8192);

	/* Nobody is asked by a trial. */
	if (ev->type == ENGINE_APPROVAL || ev->type == ENGINE_QUESTION)
		(void)turns_answer(t->turns, ev->id, ANSWER_UNASKED, NULL);
	if (ev->type != ENGINE_DONE)
		return;
	t->out->fail = ev->fail;
	(void)copy_z(t->out->detail, sizeof(t->out->detail), view_of(ev->detail));
	say_words(&shown, ev->text, 16);
	(void)copy_z(t->out->answer, sizeof(t->out->answer), str_view(&shown));
	str_release(&shown);
	loop_stop(t->loop);
}

static int run_turn(struct trial *t, struct engine *g, struct log *log, struct err *e)
{
	const struct turn_input in = {
		.turn = 1,
		.conversation = "doctor",
		.origin = ORIGIN_TERMINAL,
		.text = VIEW(AGENT_PROMPT),
		.language = "en",
	};
	struct str what = STR_INIT(4096);
	int64_t from = loop_now(t->loop);
	int rc = -1;

	if (turns_open(&t->turns, t->loop, g, AGENT_TRY_MS, on_event, NULL, t, log, e) == 0 &&
		turns_start(t->turns, &in, e) == 0)
		rc = loop_run(t->loop, e);
	t->out->ms = loop_now(t->loop) - from;
	g->ops->describe(g, false, &what);
	(void)copy_z(t->out->what, sizeof(t->out->what),
		view_cut(str_view(&what), sizeof(t->out->what) - 1));
	str_release(&what);
	turns_close(&t->turns);
	return rc;
}

/* A database of its own: the daemon's may be in use, and a trial is not to be remembered. */
static void remove_files(const char *dir)
{
	static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm" };
	char path[PATH_SIZE];

	for (size_t i = 0; i < 3; i++)
		if (path_join(path, dir, names[i], NULL) == 0)
			(void)unlink(path);
	(void)rmdir(dir);
}

static int try_in(const char *dir, const struct acp_env *from, struct agent_trial *out,
	struct err *e)
{
	struct trial t = { .loop = from->loop, .out = out };
	struct acp_env env = *from;
	struct engine *g = NULL;
	char path[PATH_SIZE];
	int rc = -1;

	if (path_join(path, dir, "state.db", e) == 0 && db_open(&env.db, path, e) == 0 &&
		acp_open(&g, &env, e) == 0)
		rc = run_turn(&t, g, from->log, e);
	if (g)
		g->ops->close(&g);
	db_close(&env.db);
	return rc;
}

int agent_try(struct loop *l, struct log *log, const struct agent_plan *plan, const char *workspace,
	struct agent_trial *out, struct err *e)
{
	char dir[] = "/tmp/kairo-doctor-XXXXXX", helper[PATH_SIZE];
	const struct acp_env env = {
		.loop = l,
		.log = log,
		.speak = words_speech,
		.name = plan->name,
		.path = helper,
		.argv = (const char *const *)plan->argv,
		.env = (const char *const *)plan->env,
		.workspace = workspace,
		.login = plan->login,
		.mcp = plan->mcp,
	};
	int rc;

	memset(out, 0, sizeof(*out));
	if (find_helper(helper, e) < 0)
		return -1;
	if (!mkdtemp(dir))
		return err_sys(e, "%s", dir);
	rc = try_in(dir, &env, out, e);
	remove_files(dir);
	return rc;
}
