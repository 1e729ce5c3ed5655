#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/host/registry-private.h"

/* --- Opening ---------------------------------------------------------------------------------- */

/* Where a tool could come to our own files, it may not work at all. */
static int check_apart(const struct tools *t, const char *folder, const char *what, struct err *e)
{
	if (t->home && (path_lies_in(folder, t->home) || path_lies_in(t->home, folder)))
		return err_set(e, E_DENIED,
			"the %s %s and Kairo's own folder %s lie in one another; choose another one",
			what, folder, t->home);
	return 0;
}

static int take_workspace(struct tools *t, const struct tools_env *env, struct err *e)
{
	t->workspace = realpath(env->workspace, NULL);
	if (!t->workspace)
		return err_sys(e, "the workspace %s", env->workspace);
	if (strcmp(t->workspace, "/") == 0)
		return err_set(e, E_DENIED, "/ cannot be the workspace; choose a folder below it");
	return check_apart(t, t->workspace, "workspace", e);
}

static int take_read_paths(struct tools *t, const struct tools_env *env, struct err *e)
{
	int n = 0;

	for (const char *const *p = env->read_paths; p && *p; p++) {
		char *real;

		/* A tool could make a link of it that leads anywhere. */
		if (path_goes_through(*p, t->workspace)) {
			log_warn(env->log, "tools",
				"%s of sandbox.read lies in the workspace and is read as part of it",
				*p);
			continue;
		}
		real = realpath(*p, NULL);
		if (!real && errno == ENOENT) {
			log_warn(env->log, "tools", "there is no %s to read from", *p);
			continue;
		}
		if (!real)
			return err_sys(e, "sandbox.read %s", *p);
		if (n == READ_PATHS_MAX) {
			free(real);
			return err_set(e, E_FULL, "sandbox.read has more than %d folders",
				READ_PATHS_MAX);
		}
		t->read[n++] = real;
		if (strcmp(real, "/") == 0)
			return err_set(e, E_DENIED, "sandbox.read cannot be /");
		if (check_apart(t, real, "folder of sandbox.read", e) < 0)
			return -1;
	}
	return 0;
}

static void on_probe(void *arg, int fd, int what)
{
	(void)fd, (void)what;
	(void)tools_sandbox(arg);
}

/* The loop takes the answer when it comes, or whoever has to know it earlier. */
static void try_sandbox(struct tools *t)
{
	struct err none = ERR_INIT;
	int fd = sandbox_begin(&t->sandbox, t->helper, t->workspace, t->env.sandbox_required);

	t->env.sandbox = &t->sandbox;
	if (fd >= 0 && watch_new(&t->probe, t->env.loop, fd, WATCH_READ, on_probe, t, &none) < 0)
		sandbox_settle(&t->sandbox);
}

int tools_open(struct tools **out, const struct tools_env *env, struct err *e)
{
	struct tools *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return err_set(e, E_NOMEM, "tools");
	t->env = *env;
	t->home = env->hide ? realpath(env->hide, NULL) : NULL;
	t->helper = strdup(env->helper);
	if (!t->helper) {
		(void)err_set(e, E_NOMEM, "tools");
		goto fail;
	}
	if (access(t->helper, X_OK) < 0) {
		(void)err_sys(e, "the helper program %s", t->helper);
		goto fail;
	}
	if (take_workspace(t, env, e) < 0 || take_read_paths(t, env, e) < 0)
		goto fail;
	t->env.helper = t->helper;
	t->env.workspace = t->workspace;
	t->env.read_paths = (const char *const *)t->read;
	t->env.hide = NULL;
	try_sandbox(t);
	if (sessions_open(&t->sessions, &t->env, e) < 0)
		goto fail;
	*out = t;
	return 0;
fail:
	tools_close(&t);
	return -1;
}

void tools_close(struct tools **tp)
{
	struct tools *t = *tp;

	if (!t)
		return;
	*tp = NULL;
	watch_free(&t->probe);
	sandbox_abandon(&t->sandbox);
	run_close_all(&t->runs);
	terminals_close(t);
	sessions_close(&t->sessions);
	turn_end_all(&t->turns);
	for (int i = 0; t->read[i]; i++)
		free(t->read[i]);
	free(t->workspace);
	free(t->home);
	free(t->helper);
	free(t);
}

void tools_set_policy(struct tools *t, const struct policy *policy)
{
	t->env.policy = policy;
}

/* --- Turns ------------------------------------------------------------------------------------ */

/* The folder itself, not a link to another; *out NULL: there is none. */
static int take_media(const struct tools *t, const char *media, char **out, struct err *e)
{
	struct stat st;

	*out = NULL;
	if (!media || (lstat(media, &st) < 0 && errno == ENOENT))
		return 0;
	*out = realpath(media, NULL);
	if (!*out)
		return err_sys(e, "%s", media);
	if (S_ISDIR(st.st_mode) && !path_lies_in(t->workspace, *out) &&
		!(t->home && path_lies_in(t->home, *out)))
		return 0;
	free(*out);
	*out = NULL;
	return err_set(e, E_DENIED, "%s is no folder for what was received", media);
}

int tools_turn_begin(struct tools *t, uint64_t turn, const char *conversation, struct view words,
	const char *media, struct err *e)
{
	char *real;
	int rc;

	if (take_media(t, media, &real, e) < 0)
		return -1;
	rc = turn_begin(&t->turns, turn, conversation, words, real, e);
	free(real);
	return rc;
}

void tools_turn_end(struct tools *t, uint64_t turn)
{
	turn_end(&t->turns, turn);
}

void tools_turn_allow(struct tools *t, uint64_t turn, struct view url)
{
	turn_allow(&t->turns, turn, url);
}

/* --- A call ----------------------------------------------------------------------------------- */

static int start(struct tools *t, struct tool_run **out, const struct run_plan *plan, struct err *e)
{
	if (plan->spec->native)
		return native_start(out, plan, registry_native(t, plan->spec->name), e);
	if (plan->spec->lives)
		return session_start(out, t->sessions, plan, e);
	return process_start(out, plan, e);
}

int tools_start(struct tool_run **out, struct tools *t, const struct tool_call *c,
	tool_done_cb *done, void *arg, struct err *e)
{
	struct run_plan plan = { .list = &t->runs, .env = &t->env, .call = c, .done = done };
	struct judgement j;
	int rc = registry_permit(t, c, &j, e);

	*out = NULL;
	plan.arg = arg;
	plan.spec = j.spec;
	plan.args = j.args;
	plan.verdict = j.verdict;
	plan.argv = j.argv.v;
	plan.network = j.network;
	plan.conversation = turn_conversation(&t->turns, c->turn);
	plan.media = turn_media(&t->turns, c->turn);
	if (rc == 0)
		rc = start(t, out, &plan, e);
	judgement_release(&j);
	return rc;
}
