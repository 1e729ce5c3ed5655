#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "tools/host/consent.h"
#include "tools/host/registry-private.h"

#define REFUSED_ARGS ((size_t)4 << 10) /* bytes of a refused call's arguments that are recorded */

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

const struct sandbox *registry_sandbox(struct tools *t)
{
	watch_free(&t->probe);
	sandbox_settle(&t->sandbox);
	return &t->sandbox;
}

static void on_probe(void *arg, int fd, int what)
{
	(void)fd, (void)what;
	(void)registry_sandbox(arg);
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

/* --- What there is ---------------------------------------------------------------------------- */

static const struct native_tool *native_named(const struct tools *t, const char *name)
{
	for (size_t i = 0; i < NATIVES_MAX; i++)
		if (t->natives[i].name && strcmp(t->natives[i].name, name) == 0)
			return &t->natives[i];
	return NULL;
}

int tools_add_native(struct tools *t, const struct native_tool *tool, struct err *e)
{
	const struct tool_spec *spec = spec_find(tool->name);

	if (!spec || !spec->native)
		return err_set(e, E_NOTFOUND, "no tool %s works in the daemon", tool->name);
	if (native_named(t, tool->name))
		return err_set(e, E_EXISTS, "there is a tool %s already", tool->name);
	for (size_t i = 0; i < NATIVES_MAX; i++) {
		if (t->natives[i].name)
			continue;
		t->natives[i] = *tool;
		return 0;
	}
	return err_set(e, E_FULL, "more than %d tools in the daemon", NATIVES_MAX);
}

void tools_drop_native(struct tools *t, const char *name, const void *self)
{
	for (size_t i = 0; i < NATIVES_MAX; i++)
		if (t->natives[i].name && t->natives[i].self == self &&
			strcmp(t->natives[i].name, name) == 0)
			t->natives[i] = (struct native_tool){ .name = NULL };
}

bool registry_present(const struct tools *t, const struct tool_spec *s)
{
	return !s->native || native_named(t, s->name);
}

bool registry_offers(const struct tools *t, const struct tool_spec *s, enum origin origin)
{
	return registry_present(t, s) && policy_offers(t->env.policy, s->name, origin);
}

int tools_schema(const struct tools *t, enum origin origin, struct str *out, struct err *e)
{
	struct json_out w;

	json_out_begin(&w, out);
	json_open_array(&w, NULL);
	for (size_t i = 0; i < spec_count(); i++)
		if (registry_offers(t, spec_at(i), origin))
			spec_write(spec_at(i), &w);
	json_close_array(&w);
	return json_out_end(&w, e);
}

void tools_denied(const struct tools *t, enum origin origin, struct str *out)
{
	const char *said = "";

	for (size_t i = 0; i < spec_count(); i++) {
		const struct tool_spec *s = spec_at(i);
		const char *setting = policy_setting(t->env.policy, s->name);

		if (!registry_present(t, s) || registry_offers(t, s, origin) || !setting ||
			strcmp(setting, said) == 0)
			continue;
		policy_say_denied(t->env.policy, s->name, origin, out);
		(void)str_addc(out, '\n');
		said = setting;
	}
}

bool tools_acts(const struct tools *t, const char *name)
{
	const struct tool_spec *s = spec_find(name);

	(void)t;
	return s && s->acts;
}

void tools_confinement(struct tools *t, struct str *out)
{
	sandbox_describe(registry_sandbox(t), out);
}

const char *tools_confinement_advice(struct tools *t)
{
	return sandbox_advice(registry_sandbox(t));
}

int tools_lacks(const struct tools *t, struct str *out, struct err *e)
{
	return sandbox_lacks(t->helper, out, e);
}

/* --- The verdict ------------------------------------------------------------------------------ */

int tools_note(struct tools *t, const struct tool_call *c, enum verdict v, const char *outcome,
	const char *detail, struct err *e)
{
	struct audit_event ev = { .turn = c->turn, .origin = c->origin, .tool = c->name };
	const struct tool_spec *spec = spec_find(c->name);
	struct str shown = STR_INIT(TOOL_ARGS_MAX);
	struct json *args = NULL;
	int rc;

	/* Arguments that are wrong may hold a file's content in the wrong place. A refusal costs
	 * whoever calls nothing: many of them shall not push the rest out of the audit. */
	if (spec && spec->hidden) {
		if (judge_args(c, spec, &args, NULL) == 0)
			run_audit_args(spec, args, &shown);
	} else if (v == VERDICT_DENY && c->args.n > REFUSED_ARGS) {
		(void)str_addf(&shown, "%.*s[cut]",
			VIEW_FMT(view_cut(c->args, utf8_cut(c->args, REFUSED_ARGS))));
	} else {
		ev.args = c->args;
	}
	if (shown.n > 0)
		ev.args = str_view(&shown);
	ev.call_id = c->id;
	ev.verdict = verdict_name(v);
	ev.outcome = outcome;
	ev.detail = detail;
	rc = audit_write(t->env.audit, &ev, e);
	json_free(&args);
	str_release(&shown);
	return rc;
}

enum verdict tools_weigh(struct tools *t, const struct tool_call *c, struct str *why)
{
	struct judgement j;

	judge(t, c, &j, why);
	judgement_release(&j);
	return j.verdict;
}

enum verdict tools_verdict(struct tools *t, const struct tool_call *c, struct str *why)
{
	enum verdict v = tools_weigh(t, c, why);

	if (v == VERDICT_DENY)
		(void)tools_note(t, c, v, "refused", str_cstr(why), NULL);
	return v;
}

int tools_fingerprint(const struct tools *t, const struct tool_call *c, char hex[TOOL_FINGERPRINT],
	struct err *e)
{
	const struct tool_spec *spec = spec_find(c->name);
	struct json *args;
	int rc;

	if (!spec)
		return err_set(e, E_NOTFOUND, "there is no such tool");
	if (judge_args(c, spec, &args, e) < 0)
		return -1;
	rc = consent_fingerprint(c->name, t->workspace, args, hex, e);
	json_free(&args);
	return rc;
}

static int check_consent(const struct tools *t, const struct tool_call *c, const struct json *args,
	struct err *e)
{
	char hex[CONSENT_HEX];

	if (!c->consent)
		return err_set(e, E_DENIED, "%s needs the user's consent", c->name);
	if (consent_fingerprint(c->name, t->workspace, args, hex, e) < 0)
		return -1;
	if (strcmp(hex, c->consent) != 0)
		return err_set(e, E_DENIED, "the consent was given to another call of %s", c->name);
	return 0;
}

static int start(struct tools *t, struct tool_run **out, const struct run_plan *plan, struct err *e)
{
	if (plan->spec->native)
		return native_start(out, plan, native_named(t, plan->spec->name), e);
	if (plan->spec->lives)
		return session_start(out, t->sessions, plan, e);
	return process_start(out, plan, e);
}

int registry_permit(struct tools *t, const struct tool_call *c, struct judgement *j, struct err *e)
{
	struct str why = STR_INIT(4096);
	struct err none = ERR_INIT;
	int rc = 0;

	e = e ? e : &none;
	judge(t, c, j, &why);
	if (j->verdict == VERDICT_DENY)
		rc = err_set(e, E_DENIED, "%s", str_cstr(&why));
	else if (j->verdict == VERDICT_ASK)
		rc = check_consent(t, c, j->args, e);
	if (rc < 0)
		(void)tools_note(t, c, j->verdict, "refused", e->msg, NULL);
	str_release(&why);
	return rc;
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
