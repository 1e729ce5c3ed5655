#include "tools/host/registry.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/confine.h"
#include "tools/host/run.h"
#include "tools/host/spec.h"

#define SUMMARY_CHARS  80
#define READ_PATHS_MAX 16

struct tools {
	struct tools_env env;
	char *helper, *workspace;
	char *read[READ_PATHS_MAX + 1];
	struct run_list runs;
};

static const struct json_limits args_limits = {
	.bytes = TOOL_ARGS_MAX,
	.depth = 32,
	.nodes = 200000,
	.nul = JSON_NUL_REFUSE,
};

/* --- Opening ---------------------------------------------------------------------------------- */

static bool inside(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (strcmp(folder, "/") == 0)
		return true;
	return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Where a tool could come to our own files, it may not work at all. */
static int check_apart(const char *folder, const char *hide, const char *what, struct err *e)
{
	char *home = hide ? realpath(hide, NULL) : NULL;
	int rc = 0;

	if (home && (inside(folder, home) || inside(home, folder)))
		rc = err_set(e, E_DENIED,
			"the %s %s and Kairo's own folder %s lie in one another; choose another one",
			what, folder, home);
	free(home);
	return rc;
}

static int take_workspace(struct tools *t, const struct tools_env *env, struct err *e)
{
	t->workspace = realpath(env->workspace, NULL);
	if (!t->workspace)
		return err_sys(e, "the workspace %s", env->workspace);
	if (strcmp(t->workspace, "/") == 0)
		return err_set(e, E_DENIED, "/ cannot be the workspace; choose a folder below it");
	return check_apart(t->workspace, env->hide, "workspace", e);
}

static int take_read_paths(struct tools *t, const struct tools_env *env, struct err *e)
{
	int n = 0;

	for (const char *const *p = env->read_paths; p && *p; p++) {
		char *real = realpath(*p, NULL);

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
		if (check_apart(real, env->hide, "folder of sandbox.read", e) < 0)
			return -1;
	}
	return 0;
}

int tools_open(struct tools **out, const struct tools_env *env, struct err *e)
{
	struct tools *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return err_set(e, E_NOMEM, "tools");
	t->env = *env;
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
	run_close_all(&t->runs);
	for (int i = 0; t->read[i]; i++)
		free(t->read[i]);
	free(t->workspace);
	free(t->helper);
	free(t);
}

/* --- What there is ---------------------------------------------------------------------------- */

int tools_schema(const struct tools *t, enum origin origin, struct str *out, struct err *e)
{
	struct json_out w;

	(void)t;
	json_out_begin(&w, out);
	json_open_array(&w, NULL);
	for (size_t i = 0; i < spec_count(); i++)
		if (policy_verdict(spec_at(i)->name, origin) != VERDICT_DENY)
			spec_write(spec_at(i), &w);
	json_close_array(&w);
	return json_out_end(&w, e);
}

bool tools_acts(const struct tools *t, const char *name)
{
	const struct tool_spec *s = spec_find(name);

	(void)t;
	return s && s->acts;
}

void tools_confinement(const struct tools *t, struct str *out)
{
	int abi = confine_landlock_abi();

	if (abi > 0)
		(void)str_addf(out, "files: Landlock ABI %d", abi);
	else
		(void)str_adds(out,
			t->env.sandbox_required
				? "files: refused, this kernel has no Landlock and the sandbox is required"
				: "files: no Landlock, paths are checked by kairo-tool alone");
	if (abi > 0 || !t->env.sandbox_required)
		(void)str_adds(out, confine_seccomp() ? ", seccomp" : ", no seccomp");
}

static void list_names(const struct tools *t, enum origin origin, struct str *out)
{
	bool first = true;

	(void)t;
	for (size_t i = 0; i < spec_count(); i++) {
		if (policy_verdict(spec_at(i)->name, origin) == VERDICT_DENY)
			continue;
		(void)str_addf(out, "%s%s", first ? "" : ", ", spec_at(i)->name);
		first = false;
	}
}

/* --- The verdict ------------------------------------------------------------------------------ */

static void say_no_tool(const struct tools *t, const struct tool_call *c, struct str *why)
{
	struct view name = view_of(c->name);

	if (policy_knows(c->name)) {
		(void)str_addf(why,
			"%s is not available here: the policy of this machine denies it for requests "
			"from the %s. Tell the user so; do not try to reach the same by other means.",
			c->name, origin_name(c->origin));
		return;
	}
	(void)str_adds(why, "There is no tool \"");
	(void)text_visible(view_cut(name, utf8_cut(name, 64)), why);
	(void)str_adds(why, "\". The tools are: ");
	list_names(t, c->origin, why);
	(void)str_adds(why, ".");
}

/* The verdict, and with ALLOW or ASK the spec and the arguments (for json_free). */
static enum verdict judge(struct tools *t, const struct tool_call *c, const struct tool_spec **spec,
	struct json **args, struct str *why)
{
	enum verdict v = policy_verdict(c->name, c->origin);
	struct err e = ERR_INIT;

	*args = NULL;
	*spec = spec_find(c->name);
	if (!*spec || v == VERDICT_DENY) {
		say_no_tool(t, c, why);
		return VERDICT_DENY;
	}
	if (t->env.sandbox_required && confine_landlock_abi() == 0) {
		(void)str_addf(why,
			"%s is refused: the sandbox is set to be required and this machine's kernel "
			"cannot confine it. The operator can upgrade the kernel or set sandbox = "
			"\"best\".",
			c->name);
		return VERDICT_DENY;
	}
	if (json_read(args, c->args, &args_limits, &e) < 0 ||
		(json_type(*args) != JSON_OBJECT &&
			err_set(&e, E_FORMAT, "they are not one JSON object") < 0) ||
		spec_check(*spec, *args, &e) < 0) {
		(void)str_addf(why, "The arguments of %s are wrong: %s. Nothing was done.", c->name,
			e.msg);
		json_free(args);
		return VERDICT_DENY;
	}
	return v;
}

static void audit_refusal(struct tools *t, const struct tool_call *c, const struct str *why)
{
	struct audit_event ev = { .turn = c->turn, .origin = c->origin, .tool = c->name };
	const struct tool_spec *spec = spec_find(c->name);

	ev.call_id = c->id;
	/* Arguments that are wrong may hold a file's content in the wrong place. */
	if (!spec || !spec->hidden)
		ev.args = view_cut(c->args, 4096);
	ev.verdict = verdict_name(VERDICT_DENY);
	ev.outcome = "refused";
	ev.detail = str_cstr(why);
	audit_write(t->env.audit, &ev);
}

enum verdict tools_verdict(struct tools *t, const struct tool_call *c, struct str *why)
{
	const struct tool_spec *spec;
	struct json *args;
	enum verdict v = judge(t, c, &spec, &args, why);

	json_free(&args);
	if (v == VERDICT_DENY)
		audit_refusal(t, c, why);
	return v;
}

int tools_start(struct tool_run **out, struct tools *t, const struct tool_call *c,
	tool_done_cb *done, void *arg, struct err *e)
{
	struct str why = STR_INIT(4096);
	const struct tool_spec *spec;
	struct json *args;
	int rc;

	*out = NULL;
	if (judge(t, c, &spec, &args, &why) == VERDICT_DENY)
		rc = err_set(e, E_DENIED, "%s", str_cstr(&why));
	else
		rc = run_start(out, &t->runs, &t->env, spec, c, args, done, arg, e);
	json_free(&args);
	str_release(&why);
	return rc;
}

void tools_summary(const struct tools *t, const struct tool_call *c, struct str *out)
{
	const struct tool_spec *spec = spec_find(c->name);
	struct str shown = STR_INIT(8 * TOOL_ARGS_MAX), safe = STR_INIT(8 * TOOL_ARGS_MAX);
	struct json *args = NULL;
	struct view text = VIEW_NONE;

	(void)t;
	if (spec && json_read(&args, c->args, &args_limits, NULL) == 0 &&
		json_type(args) == JSON_OBJECT)
		(void)json_get_str(args, spec->key, JSON_OPTIONAL, 0, TOOL_ARGS_MAX, &text, NULL);
	if (text.n > 0 && text_visible(view_cut(text, 4096), &shown) == 0 &&
		text_redact(str_view(&shown), &safe) == 0) {
		struct view v = str_view(&safe);

		(void)str_add(out, view_cut(v, utf8_cut_chars(v, SUMMARY_CHARS)));
	}
	json_free(&args);
	str_release(&shown);
	str_release(&safe);
}
