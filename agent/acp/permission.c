#include "agent/acp/permission.h"

#include <stdlib.h>
#include <string.h>

#include "agent/say.h"
#include "base/text.h"

#define TEXT_MAX  ((size_t)4000)
#define ARGS_MAX  ((size_t)1 << 20)
#define FILES_MAX (CARD_ALSO_MAX + CARD_TITLE_MAX + 2)
#define HINT_MAX  ((size_t)1000)

/* --- Options ---------------------------------------------------------------------------------- */

static enum option_kind kind_of(const struct json *option)
{
	static const char *const names[] = {
		[OPTION_OTHER] = "",
		[OPTION_ALLOW_ONCE] = "allow_once",
		[OPTION_ALLOW_ALWAYS] = "allow_always",
		[OPTION_REJECT_ONCE] = "reject_once",
		[OPTION_REJECT_ALWAYS] = "reject_always",
		NULL,
	};
	int kind = OPTION_OTHER;

	(void)json_get_enum(option, "kind", JSON_OPTIONAL, names, &kind, NULL);
	return (enum option_kind)kind;
}

/* One line that can be shown. */
static char *safe_name(struct view name)
{
	struct str safe = STR_INIT(64 * PERMISSION_OPTION_NAME);
	char *z = NULL;

	name = view_cut(name, utf8_cut(name, PERMISSION_OPTION_NAME));
	if (text_safe(name, 0, &safe) == 0)
		z = str_take(&safe);
	str_release(&safe);
	return z;
}

static int take_option(struct permission *p, const struct json *option, struct err *e)
{
	struct view id, name;

	if (json_type(option) != JSON_OBJECT || json_get_str(option, "optionId", JSON_REQUIRED, 1,
							PERMISSION_OPTION_ID, &id, e) < 0)
		return err_set(e, E_FORMAT, "an option without an id");
	for (size_t i = 0; i < p->n; i++)
		if (view_eqs(id, p->ids[i]))
			return err_set(e, E_FORMAT, "two options of one id");
	if (json_get_str(option, "name", JSON_OPTIONAL, 1, SIZE_MAX, &name, NULL) != 1)
		name = id;
	p->ids[p->n] = strndup(id.p, id.n);
	p->names[p->n] = safe_name(name);
	p->kinds[p->n] = kind_of(option);
	if (!p->ids[p->n] || !p->names[p->n++])
		return err_set(e, E_NOMEM, "an option");
	return 0;
}

static int take_options(struct permission *p, const struct json *params, struct err *e)
{
	const struct json *options;

	if (json_get_array(params, "options", JSON_REQUIRED, PERMISSION_OPTIONS_MAX, &options, e) <
		0)
		return -1;
	json_each(option, options) {
		if (take_option(p, option, e) < 0)
			return -1;
	}
	return p->n > 0 ? 0 : err_set(e, E_FORMAT, "no options");
}

static const char *first_of(const struct permission *p, enum option_kind best,
	enum option_kind second)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->kinds[i] == best)
			return p->ids[i];
	for (size_t i = 0; i < p->n; i++)
		if (p->kinds[i] == second)
			return p->ids[i];
	return NULL;
}

const char *permission_allow(const struct permission *p)
{
	return first_of(p, OPTION_ALLOW_ONCE, OPTION_ALLOW_ALWAYS);
}

const char *permission_reject(const struct permission *p)
{
	return first_of(p, OPTION_REJECT_ONCE, OPTION_REJECT_ALWAYS);
}

/* --- Questions -------------------------------------------------------------------------------- */

static struct view text_of(const struct json *obj, const char *name)
{
	struct view v = VIEW_NONE;

	if (obj && json_type(obj) == JSON_OBJECT)
		(void)json_get_str(obj, name, JSON_OPTIONAL, 1, SIZE_MAX, &v, NULL);
	return v;
}

/* It tells what it would do: then it is no question, whatever it looks like. */
static bool is_deed(const struct card *card)
{
	return card->command || card->path ||
	       !(card->kind == CARD_OTHER || card->kind == CARD_THINK ||
		       card->kind == CARD_SWITCH_MODE);
}

/* Several ways to say yes this once are a choice, as of plans; several of "always" are not: they
 * differ in how long they hold. */
static bool is_question(const struct permission *p, const struct card *card,
	const struct json *call)
{
	const struct json *input = json_member(call, "rawInput");
	int once = 0;

	if (is_deed(card))
		return false;
	for (size_t i = 0; i < p->n; i++)
		once += p->kinds[i] == OPTION_ALLOW_ONCE;
	if (once > 1)
		return true;
	return strcmp(card->title, "AskUserQuestion") == 0 ||
	       (input && json_type(input) == JSON_OBJECT && json_member(input, "questions"));
}

/* What the call shows as text, else its title. */
static int take_question(struct permission *p, const struct card *card, const struct json *call)
{
	const struct json *content = json_member(call, "content");

	if (content && json_type(content) == JSON_ARRAY)
		json_each(item, content) {
			struct view v = text_of(json_member(item, "content"), "text");

			if (v.n == 0)
				continue;
			if (p->text.n > 0)
				(void)str_addc(&p->text, '\n');
			(void)str_add(&p->text, view_cut(v, utf8_cut(v, TEXT_MAX - p->text.n - 1)));
		}
	if (p->text.n == 0)
		(void)str_adds(&p->text, card->title);
	return str_ok(&p->text) ? 0 : -1;
}

/* --- Deeds ------------------------------------------------------------------------------------ */

struct view permission_path(struct view path, const char *workspace)
{
	struct view root = view_of(workspace);

	if (view_starts(path, root) && path.n > root.n + 1 && path.p[root.n] == '/')
		return view_from(path, root.n + 1);
	return path;
}

/* Beneath the workspace as it is written, and not in what git runs by itself. */
static bool is_ours(struct view path)
{
	if (path.n == 0 || path.p[0] == '/' || path.p[0] == '~')
		return false;
	while (path.n > 0) {
		struct view part = view_cut(path, view_find(path, '/'));

		if (view_eqs(part, "..") || view_eqs(part, ".git"))
			return false;
		path = view_from(path, part.n + 1);
	}
	return true;
}

static void add_file(struct permission *p, struct view path, const char *workspace)
{
	path = permission_path(path, workspace);
	if (!is_ours(path))
		p->beyond = true;
	if (card_has_line(&p->files, path))
		return;
	p->nfiles++;
	(void)str_addf(&p->files, "%.*s\n", VIEW_FMT(path));
}

static void take_files(struct permission *p, const struct card *c, const char *workspace)
{
	struct view also = str_view(&c->also);

	p->beyond = c->unclear;
	if (c->path)
		add_file(p, view_of(c->path), workspace);
	while (also.n > 0) {
		size_t n = view_find(also, '\n');

		add_file(p, view_cut(also, n), workspace);
		also = view_from(also, n + 1);
	}
	if (!str_ok(&p->files))
		p->beyond = true;
}

/* The first of these members that is a text. */
static struct view one_of(const struct json *obj, const char *const *names)
{
	struct view v = VIEW_NONE;

	for (; *names && v.n == 0; names++)
		v = text_of(obj, *names);
	return v;
}

/* What a file's text becomes: from the difference that is shown, else from the arguments. */
struct edit {
	struct view before, after;
	bool part; /* these are not the whole of the file */
};

static struct edit edit_of(const struct json *changes, const struct json *input)
{
	static const char *const olds[] = { "old_string", "oldString", "oldText", NULL };
	static const char *const news[] = { "content", "new_string", "newString", "newText", NULL };
	struct view replaced = one_of(input, olds);
	struct edit ed = { replaced, one_of(input, news), replaced.n > 0 };

	json_each(item, changes) {
		struct view fresh = text_of(item, "newText");

		if (fresh.n == 0)
			continue;
		ed.before = text_of(item, "oldText");
		ed.after = fresh;
		/* Some show the whole file, some just what they replace. */
		ed.part = ed.before.n > 0 && view_eq(ed.before, replaced);
		break;
	}
	return ed;
}

static void put_args(struct permission *p, const char *name, struct view value, const char *second,
	struct view content)
{
	struct json_out w;

	if (value.n == 0 || (second && content.n == 0))
		return;
	json_out_begin(&w, &p->args);
	json_open(&w, NULL);
	json_put_str(&w, name, value);
	if (second)
		json_put_str(&w, second, content);
	json_close(&w);
	if (json_out_end(&w, NULL) < 0)
		str_reset(&p->args);
}

static size_t count_lines(struct view v)
{
	size_t n = 0;

	for (; v.n > 0; v = view_from(v, view_find(v, '\n') + 1))
		n++;
	return n;
}

static void put_lines(struct str *out, char sign, struct view v)
{
	while (v.n > 0) {
		size_t n = view_find(v, '\n');

		(void)str_addf(out, "%c%.*s\n", sign, (int)n, v.p);
		v = view_from(v, n + 1);
	}
}

/* As a patch; where in the file that is the agent does not show. */
static void add_patch(struct str *patch, struct view path, struct view before, struct view after)
{
	(void)str_addf(patch, "--- %.*s\n+++ %.*s\n@@ -1,%zu +1,%zu @@\n", VIEW_FMT(path),
		VIEW_FMT(path), count_lines(before), count_lines(after));
	put_lines(patch, '-', before);
	put_lines(patch, '+', after);
}

static void put_patch(struct permission *p, struct str *patch)
{
	p->tool = "apply_patch";
	if (patch->n > 0 && str_ok(patch))
		put_args(p, "patch", str_view(patch), NULL, VIEW_NONE);
	str_release(patch);
}

static void take_edit(struct permission *p, struct view path, const struct edit *ed)
{
	struct str patch = STR_INIT(ARGS_MAX);

	if (ed->part) {
		if (path.n > 0)
			add_patch(&patch, path, ed->before, ed->after);
		(void)str_add(&p->before, ed->before);
		(void)str_add(&p->after, ed->after);
		put_patch(p, &patch);
	} else {
		p->tool = "write_file";
		put_args(p, "path", path, "content", ed->after);
	}
}

static size_t count_changes(const struct json *changes)
{
	size_t n = 0;

	json_each(item, changes)
		n += text_of(item, "newText").n > 0 || text_of(item, "oldText").n > 0;
	return n;
}

/* Every one of several, of one file or of more, each as the part that it is. */
static void take_changes(struct permission *p, const struct json *changes, const char *workspace)
{
	struct str patch = STR_INIT(ARGS_MAX);

	json_each(item, changes) {
		struct view before = text_of(item, "oldText"), after = text_of(item, "newText");

		if (before.n > 0 || after.n > 0)
			add_patch(&patch, permission_path(text_of(item, "path"), workspace), before,
				after);
	}
	put_patch(p, &patch);
}

/* The folder of a command; empty: the workspace itself. */
static struct view folder_of(const struct json *input, const char *workspace)
{
	static const char *const names[] = { "cwd", "workdir", "working_directory",
		"workingDirectory", "directory", "dir_path", NULL };
	struct view v = one_of(input, names);

	while (v.n > 1 && v.p[v.n - 1] == '/')
		v = view_cut(v, v.n - 1);
	return view_eqs(v, workspace) ? VIEW_NONE : permission_path(v, workspace);
}

/* With variables a command is not what it seems: nothing of ours is like that. */
static bool sets_variables(const struct json *input)
{
	const struct json *env = input ? json_member(input, "env") : NULL;

	return env && (json_type(env) == JSON_STRING || json_count(env) > 0);
}

static void take_command(struct permission *p, const struct card *c, const struct json *input,
	const char *workspace)
{
	struct view folder = folder_of(input, workspace);

	p->tool = "shell";
	str_reset(&p->args);
	if (folder.n > 0 && !is_ours(folder))
		p->beyond = true;
	if (!sets_variables(input))
		put_args(p, "command", view_of(c->command), folder.n > 0 ? "cwd" : NULL, folder);
}

/* What the built-in tools would call it. What an agent does not show stays empty. */
static void take_deed(struct permission *p, const struct card *c, const struct json *changes,
	const struct json *input, const char *workspace)
{
	struct view path = permission_path(view_of(c->path), workspace);
	struct edit ed;

	if (c->kind == CARD_EDIT || c->kind == CARD_READ)
		take_files(p, c, workspace);
	switch (c->kind) {
	case CARD_EDIT:
		ed = edit_of(changes, input);
		if (count_changes(changes) > 1)
			take_changes(p, changes, workspace);
		else
			take_edit(p, path, &ed);
		break;
	case CARD_READ:
		p->tool = "read_file";
		put_args(p, "path", path, NULL, VIEW_NONE);
		break;
	case CARD_FETCH:
		p->tool = "web_fetch";
		p->beyond = c->unclear || c->also.n > 0; /* which one is fetched? */
		put_args(p, "url", view_of(c->path), NULL, VIEW_NONE);
		break;
	default: p->tool = "shell"; /* whatever else it is, it can do what a command can */
	}
	/* A command is a command, whatever kind it is said to be. */
	if (c->command)
		take_command(p, c, input, workspace);
}

static void read_deed(struct permission *p, const struct card *card, const char *workspace)
{
	struct json *input = NULL, *changes = NULL;

	if (card->input)
		(void)json_read(&input, view_of(card->input), &json_limits_wire, NULL);
	if (card->changes)
		(void)json_read(&changes, view_of(card->changes), &json_limits_wire, NULL);
	take_deed(p, card, changes, input, workspace);
	json_free(&input);
	json_free(&changes);
}

/* What cannot be seen in it made visible. */
static void hint(struct permission *p, speech_fn *speak, bool zh, enum speech label, struct view v)
{
	struct str shown = STR_INIT(16 * TEXT_MAX);

	(void)text_revealed(view_cut(v, utf8_cut(v, HINT_MAX)), &shown);
	if (v.n > HINT_MAX)
		(void)str_adds(&shown, "...");
	(void)str_addc(&p->text, '\n');
	say(speak, &p->text, zh, label, str_cstr(&shown));
	str_release(&shown);
}

void permission_hints(struct permission *p, const struct card *c, speech_fn *speak, bool zh)
{
	say(speak, &p->text, zh, SPEECH_HIDDEN);
	hint(p, speak, zh, SPEECH_HIDDEN_TITLE, view_of(c->title));
	if (c->path)
		hint(p, speak, zh, SPEECH_HIDDEN_PATH, view_of(c->path));
	if (c->input)
		hint(p, speak, zh, SPEECH_HIDDEN_INPUT, view_of(c->input));
}

/* --- All of it -------------------------------------------------------------------------------- */

int permission_read(struct permission *p, const struct card *card, const struct json *params,
	const char *workspace, struct err *e)
{
	const struct json *call = json_member(params, "toolCall");

	memset(p, 0, sizeof(*p));
	p->text = STR_INIT(16 * TEXT_MAX);
	p->args = STR_INIT(ARGS_MAX);
	p->files = STR_INIT(FILES_MAX);
	p->before = STR_INIT(ARGS_MAX);
	p->after = STR_INIT(ARGS_MAX);
	p->tool = "shell";
	if (take_options(p, params, e) < 0)
		return -1;
	p->question = is_question(p, card, call);
	if (p->question)
		return take_question(p, card, call) < 0 ? err_set(e, E_NOMEM, "a question") : 0;
	read_deed(p, card, workspace);
	return 0;
}

void permission_of_card(struct permission *p, const struct card *card, const char *workspace)
{
	memset(p, 0, sizeof(*p));
	p->args = STR_INIT(ARGS_MAX);
	p->files = STR_INIT(FILES_MAX);
	p->before = STR_INIT(ARGS_MAX);
	p->after = STR_INIT(ARGS_MAX);
	read_deed(p, card, workspace);
}

int permission_question(struct permission *p, struct view text, const char *const *names)
{
	memset(p, 0, sizeof(*p));
	p->text = STR_INIT(2 * TEXT_MAX);
	p->question = true;
	p->tool = "shell";
	for (; *names; names++) {
		if (p->n == PERMISSION_OPTIONS_MAX ||
			!(p->names[p->n] = safe_name(view_of(*names))))
			return -1;
		p->n++;
	}
	return str_add(&p->text, view_cut(text, utf8_cut(text, TEXT_MAX)));
}

void permission_release(struct permission *p)
{
	for (size_t i = 0; i < PERMISSION_OPTIONS_MAX; i++) {
		free(p->ids[i]);
		free(p->names[i]);
	}
	str_release(&p->text);
	str_release(&p->args);
	str_release(&p->files);
	str_release(&p->before);
	str_release(&p->after);
	memset(p, 0, sizeof(*p));
}
