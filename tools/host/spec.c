#include "tools/host/spec.h"

#include <string.h>

#include "base/url.h"
#include "tools/host/search.h"

#define PATH_BYTES    4095
#define CONTENT_BYTES ((int64_t)1 << 20)
#define PATCH_BYTES   ((int64_t)1 << 20)
#define OFFSETS       INT32_MAX
#define COMMAND_BYTES (100 << 10)
#define COMMAND_MS    (120 * 1000 + SPEC_GRACE_MS) /* where the call does not say */

#define PATH_ABOUT "relative to the workspace"

static const char *const todo_states[] = { "pending", "in_progress", "done", NULL };

static const struct arg_spec todo_item[] = {
	{ "id", ARG_INT, false, 1, OFFSETS, "Of an item that is kept; none for a new one", NULL,
		NULL },
	{ "text", ARG_TEXT, true, 1, 500, "What is to be done", NULL, NULL },
	{ "state", ARG_ENUM, false, 0, 0, "Default pending", todo_states, NULL },
	{ .type = ARG_END },
};

static const struct tool_spec specs[] = {
	{
		.name = "read_file",
		.about = "Read a text file, a page of lines at a time. The answer begins with the lines "
			 "it shows and ends with where to go on. Long lines are cut: read on in them "
			 "with column.",
		.timeout_ms = 60000,
		.key = "path",
		.exact = "read_text",
		.args = {
			{ "path", ARG_TEXT, true, 1, PATH_BYTES, "File, " PATH_ABOUT },
			{ "offset", ARG_INT, false, 1, OFFSETS, "First line, from 1 (default 1)" },
			{ "limit", ARG_INT, false, 1, 10000, "Lines at most (default 2000)" },
			{ "column", ARG_INT, false, 1, OFFSETS,
				"First character of the first line, from 1 (default 1)" },
		},
	},
	{
		.name = "list_dir",
		.about = "List one folder, names in order. Folders end with a slash.",
		.timeout_ms = 60000,
		.key = "path",
		.args = {
			{ "path", ARG_TEXT, false, 1, PATH_BYTES,
				"Folder, " PATH_ABOUT " (default: the workspace)" },
			{ "offset", ARG_INT, false, 0, OFFSETS, "Entries to skip (default 0)" },
			{ "limit", ARG_INT, false, 1, 5000, "Entries at most (default 500)" },
		},
	},
	{
		.name = "glob",
		.about = "Find files by a pattern of their path: * and ? within one component, ** for "
			 "any number of folders (also none), [a-z], {a,b}; a backslash before one of "
			 "these takes its meaning. Example: src/**/*.{c,h}",
		.timeout_ms = 60000,
		.key = "pattern",
		.args = {
			{ "pattern", ARG_TEXT, true, 1, 1024, "Pattern, relative to path" },
			{ "path", ARG_TEXT, false, 1, PATH_BYTES,
				"Folder to search, " PATH_ABOUT " (default: the workspace)" },
			{ "offset", ARG_INT, false, 0, OFFSETS, "Files to skip (default 0)" },
			{ "limit", ARG_INT, false, 1, 2000, "Files at most (default 200)" },
		},
	},
	{
		.name = "grep",
		.about = "Search text files for lines that match a regular expression (PCRE). Answers "
			 "with path:line: text.",
		.timeout_ms = 60000,
		.key = "pattern",
		.args = {
			{ "pattern", ARG_TEXT, true, 1, 2000, "Regular expression" },
			{ "path", ARG_TEXT, false, 1, PATH_BYTES,
				"File or folder to search, " PATH_ABOUT " (default: the workspace)" },
			{ "glob", ARG_TEXT, false, 1, 1024,
				"Only files that match, by name (*.c) or by path below path (src/**)" },
			{ "ignore_case", ARG_BOOL, false, 0, 0, "Default false" },
			{ "offset", ARG_INT, false, 0, OFFSETS, "Matches to skip (default 0)" },
			{ "limit", ARG_INT, false, 1, 1000, "Matches at most (default 100)" },
		},
	},
	{
		.name = "write_file",
		.about = "Create a text file, or replace it whole; folders on the way are made. Read a "
			 "file before you replace it.",
		.acts = true,
		.timeout_ms = 60000,
		.key = "path",
		.hidden = "content",
		.args = {
			{ "path", ARG_TEXT, true, 1, PATH_BYTES, "File, " PATH_ABOUT },
			{ "content", ARG_TEXT, true, 0, CONTENT_BYTES, "The whole new content" },
		},
	},
	{
		.name = "apply_patch",
		.about = "Change, create and delete text files by a unified diff: all files of it or "
			 "none. Every hunk must fit exactly at the lines it names; give three lines "
			 "around a change. New files: --- /dev/null, deleted ones: +++ /dev/null. Read "
			 "the lines you change first.",
		.acts = true,
		.timeout_ms = 60000,
		.hidden = "patch",
		.patch = "patch",
		.args = {
			{ "patch", ARG_TEXT, true, 1, PATCH_BYTES,
				"--- a/PATH, +++ b/PATH, @@ -START,COUNT +START,COUNT @@ and lines that "
				"begin with a space, - or +" },
		},
	},
	{
		.name = "create_project",
		.about = "Create a small project that runs, in a new or empty folder, to go on from.",
		.acts = true,
		.timeout_ms = 60000,
		.key = "path",
		.args = {
			{ "template", ARG_TEXT, true, 1, 40, "python, node, java or c" },
			{ "path", ARG_TEXT, true, 1, PATH_BYTES, "Folder, " PATH_ABOUT },
			{ "name", ARG_TEXT, false, 1, 64,
				"Of the project: small letters, digits, - and _ (default: the folder's)" },
			{ "description", ARG_TEXT, false, 1, 200, "One line about it" },
		},
	},
	{
		.name = "shell",
		.about = "Run a command with /bin/sh and get its exit status, stdout and stderr. Its "
			 "input is empty; there is no terminal and, as a rule, no network. Each call "
			 "is a shell of its own, and what it leaves running ends with it. Of long "
			 "output the beginning and the end are shown.",
		.acts = true,
		.programs = true,
		.timeout_ms = COMMAND_MS,
		.key = "command",
		.args = {
			{ "command", ARG_TEXT, true, 1, COMMAND_BYTES, "What to run" },
			{ "cwd", ARG_TEXT, false, 1, PATH_BYTES,
				"Folder to run it in, " PATH_ABOUT " (default: the workspace)" },
			{ "timeout_s", ARG_INT, false, 1, 300,
				"Seconds after which it is ended (default 120)" },
		},
	},
	{
		.name = "shell_session",
		.about = "Run a command in a shell that lives on: the next command in the same session "
			 "finds its folder, its variables and what it has running in the background. "
			 "A session begins with its first command, in the workspace; it ends with "
			 "stop, with exit, when a command takes too long, and after 30 minutes "
			 "without one. With neither command nor stop, the sessions are listed.",
		.acts = true,
		.programs = true,
		.lives = true,
		.timeout_ms = COMMAND_MS,
		.key = "command",
		.args = {
			{ "command", ARG_TEXT, false, 1, COMMAND_BYTES, "What to run" },
			{ "session", ARG_INT, false, 1, 4, "Which session, 1 to 4 (default 1)" },
			{ "stop", ARG_BOOL, false, 0, 0,
				"End the session instead (default false)" },
			{ "timeout_s", ARG_INT, false, 1, 300,
				"Seconds after which it is ended, with the session (default 120)" },
		},
	},
	{
		.name = "web_search",
		.about = "Search the web. Answers with titles, addresses and short extracts; web_fetch "
			 "opens the addresses.",
		.native = true,
		.timeout_ms = 60000,
		.key = "query",
		.args = {
			{ "query", ARG_TEXT, true, 1, 1600,
				"What to search for, at most 400 characters", NULL, NULL },
			{ "count", ARG_INT, false, 1, 10, "Results at most (default 5)", NULL, NULL },
			{ "provider", ARG_ENUM, false, 0, 0,
				"Ask this one only (default: those that are set up, one after another)",
				search_names, NULL },
		},
	},
	{
		.name = "web_fetch",
		.about = "Read a page of the public web: its main content as Markdown, or text and JSON "
			 "as they are. Pages made by scripts or behind a login cannot be read.",
		.native = true,
		.timeout_ms = 60000,
		.key = "url",
		.args = {
			{ "url", ARG_TEXT, true, 1, URL_TEXT_MAX,
				"Address that begins with https:// or http://", NULL, NULL },
			{ "offset", ARG_INT, false, 0, OFFSETS, "Characters to skip (default 0)", NULL,
				NULL },
			{ "limit", ARG_INT, false, 1, 100000, "Characters at most (default 20000)",
				NULL, NULL },
		},
	},
	{
		.name = "send_file",
		.about = "Send one file to the user's phone, as it is now, behind your answer; pictures "
			 "and videos show as such. It must lie in the workspace or be one the user has "
			 "sent, and none of its folders may be hidden. The result says whether it will "
			 "be sent. Do not paste a file's content into the answer as well.",
		.native = true,
		.timeout_ms = 60000,
		.key = "path",
		.args = {
			{ "path", ARG_TEXT, true, 1, PATH_BYTES, "File, " PATH_ABOUT },
			{ "caption", ARG_TEXT, false, 1, 1000,
				"A line of text that is shown ahead of it" },
		},
	},
	{
		.name = "todo",
		.about = "The list of what is to be done in this conversation. Without items it is read, "
			 "with items it is replaced whole; either way the answer is the list. Use it "
			 "for work of several steps, with at most one item in_progress.",
		.native = true,
		.timeout_ms = 10000,
		.args = {
			{ "items", ARG_LIST, false, 0, 50, "The whole new list, in its order", NULL,
				todo_item },
		},
	},
};

size_t spec_count(void)
{
	return sizeof(specs) / sizeof(specs[0]);
}

const struct tool_spec *spec_at(size_t i)
{
	return &specs[i];
}

const struct tool_spec *spec_find(const char *name)
{
	for (size_t i = 0; name && i < spec_count(); i++)
		if (strcmp(specs[i].name, name) == 0)
			return &specs[i];
	return NULL;
}

/* --- Schema ----------------------------------------------------------------------------------- */

static void write_object(struct json_out *w, const struct arg_spec *args);

static void write_arg(struct json_out *w, const struct arg_spec *a)
{
	static const char *const types[] = { "null", "string", "integer", "boolean", "string",
		"array" };

	json_open(w, a->name);
	json_put_z(w, "type", types[a->type]);
	json_put_z(w, "description", a->about);
	if (a->type == ARG_INT) {
		json_put_int(w, "minimum", a->min);
		if (a->max != OFFSETS)
			json_put_int(w, "maximum", a->max);
	} else if (a->type == ARG_ENUM) {
		json_open_array(w, "enum");
		for (const char *const *v = a->values; *v; v++)
			json_put_z(w, NULL, *v);
		json_close_array(w);
	} else if (a->type == ARG_LIST) {
		json_put_int(w, "minItems", a->min);
		json_put_int(w, "maxItems", a->max);
		json_open(w, "items");
		write_object(w, a->item);
		json_close(w);
	}
	json_close(w);
}

/* The members of a schema for an object of these arguments and no others. */
static void write_object(struct json_out *w, const struct arg_spec *args)
{
	json_put_z(w, "type", "object");
	json_open(w, "properties");
	for (const struct arg_spec *a = args; a->type != ARG_END; a++)
		write_arg(w, a);
	json_close(w);
	json_open_array(w, "required");
	for (const struct arg_spec *a = args; a->type != ARG_END; a++)
		if (a->required)
			json_put_z(w, NULL, a->name);
	json_close_array(w);
	json_put_bool(w, "additionalProperties", false);
}

void spec_write(const struct tool_spec *s, struct json_out *w)
{
	json_open(w, NULL);
	json_put_z(w, "type", "function");
	json_open(w, "function");
	json_put_z(w, "name", s->name);
	json_put_z(w, "description", s->about);
	json_open(w, "parameters");
	write_object(w, s->args);
	json_close(w);
	json_close(w);
	json_close(w);
}

/* --- Check ------------------------------------------------------------------------------------ */

static int check_object(const char *of, const struct arg_spec *args, const struct json *j,
	struct err *e);

static int check_known(const char *of, const struct arg_spec *args, const struct json *j,
	struct err *e)
{
	json_each(member, j) {
		const struct arg_spec *a = args;
		struct str names = STR_INIT(160);

		while (a->type != ARG_END && strcmp(a->name, json_name(member)) != 0)
			a++;
		if (a->type != ARG_END)
			continue;
		for (a = args; a->type != ARG_END; a++)
			(void)str_addf(&names, "%s%s", a == args ? "" : ", ", a->name);
		(void)err_set(e, E_FORMAT, "there is no argument \"%.40s\"; %s takes %s",
			json_name(member), of, str_cstr(&names));
		str_release(&names);
		return -1;
	}
	return 0;
}

static int check_list(const struct arg_spec *a, const struct json *j, struct err *e)
{
	enum json_need need = a->required ? JSON_REQUIRED : JSON_OPTIONAL;
	const struct json *list = NULL;
	size_t n = 0;

	if (json_get_array(j, a->name, need, (size_t)a->max, &list, e) < 0)
		return -1;
	if (list && json_count(list) < (size_t)a->min)
		return err_set(e, E_FORMAT, "%s: at least %lld items are needed", a->name,
			(long long)a->min);
	json_each(item, list) {
		n++;
		if (json_type(item) != JSON_OBJECT)
			return err_set(e, E_FORMAT, "%s: item %zu is not an object", a->name, n);
		if (check_object("an item", a->item, item, e) < 0)
			return err_wrap(e, "%s: item %zu", a->name, n);
	}
	return 0;
}

static int check_enum(const struct arg_spec *a, const struct json *j, struct err *e)
{
	struct str values = STR_INIT(160);
	enum json_need need = a->required ? JSON_REQUIRED : JSON_OPTIONAL;
	int which, rc = json_get_enum(j, a->name, need, a->values, &which, e);

	for (const char *const *v = a->values; rc < 0 && *v; v++)
		(void)str_addf(&values, "%s%s", v == a->values ? "" : ", ", *v);
	if (rc < 0)
		(void)err_set(e, E_FORMAT, "%s must be one of: %s", a->name, str_cstr(&values));
	str_release(&values);
	return rc;
}

static int check_arg(const struct arg_spec *a, const struct json *args, struct err *e)
{
	enum json_need need = a->required ? JSON_REQUIRED : JSON_OPTIONAL;
	struct view text;
	int64_t number;
	bool yes;

	switch (a->type) {
	case ARG_TEXT:
		return json_get_str(args, a->name, need, (size_t)a->min, (size_t)a->max, &text, e);
	case ARG_INT: return json_get_int(args, a->name, need, a->min, a->max, &number, e);
	case ARG_BOOL: return json_get_bool(args, a->name, need, &yes, e);
	case ARG_ENUM: return check_enum(a, args, e);
	case ARG_LIST: return check_list(a, args, e);
	case ARG_END: break;
	}
	return 0;
}

static int check_object(const char *of, const struct arg_spec *args, const struct json *j,
	struct err *e)
{
	if (check_known(of, args, j, e) < 0)
		return -1;
	for (const struct arg_spec *a = args; a->type != ARG_END; a++)
		if (check_arg(a, j, e) < 0)
			return -1;
	return 0;
}

int spec_check(const struct tool_spec *s, const struct json *args, struct err *e)
{
	return check_object(s->name, s->args, args, e);
}

int64_t spec_limit_ms(const struct tool_spec *s, const struct json *args)
{
	int64_t seconds;

	if (json_get_int(args, "timeout_s", JSON_OPTIONAL, 1, INT32_MAX, &seconds, NULL) == 1)
		return seconds * 1000 + SPEC_GRACE_MS;
	return s->timeout_ms;
}
