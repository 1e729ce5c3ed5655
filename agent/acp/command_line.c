#include "agent/acp/command_line.h"

#include <stdlib.h>
#include <string.h>

/* --- Words ------------------------------------------------------------------------------------ */

int command_word(struct str *out, struct view word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "%+,-./:=@_";
	bool quote = word.n == 0;

	for (size_t i = 0; i < word.n; i++)
		quote = quote || !memchr(plain, word.p[i], sizeof(plain) - 1);
	if (!quote)
		return str_add(out, word);
	(void)str_addc(out, '\'');
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] == '\'')
			(void)str_adds(out, "'\\''");
		else
			(void)str_addc(out, word.p[i]);
	return str_addc(out, '\'');
}

/* Where a shell of that name is; NULL: it is none that we know. */
static const char *shell_path(struct view name)
{
	static const char *const paths[] = { "/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash",
		"/bin/dash", "/usr/bin/dash" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (view_eqs(name, paths[i]) || view_eqs(name, strrchr(paths[i], '/') + 1))
			return paths[i];
	return NULL;
}

static int put_words(struct command_line *c, struct view program, const struct json *args,
	struct err *e)
{
	(void)command_word(&c->text, program);
	json_each(item, args) {
		struct view word;

		if (json_str(item, &word) < 0)
			return err_set(e, E_FORMAT, "an argument is not text");
		(void)str_addc(&c->text, ' ');
		(void)command_word(&c->text, word);
	}
	return 0;
}

static int put_program(struct command_line *c, const struct json *params, struct err *e)
{
	const struct json *args = NULL, *first, *second;
	struct view program, flag, text;

	if (json_get_str(params, "command", JSON_REQUIRED, 1, COMMAND_LINE_MAX, &program, e) < 0 ||
		json_get_array(params, "args", JSON_OPTIONAL, COMMAND_WORDS_MAX, &args, e) < 0)
		return -1;
	first = args ? json_first(args) : NULL;
	second = first ? json_next(first) : NULL;
	c->shell = shell_path(program);
	if (c->shell && second && !json_next(second) && json_str(first, &flag) == 0 &&
		view_eqs(flag, "-c") && json_str(second, &text) == 0)
		return str_add(&c->text, text);
	c->shell = NULL;
	return put_words(c, program, args, e);
}

/* --- Variables -------------------------------------------------------------------------------- */

static bool is_name(struct view name)
{
	static const char chars[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	for (size_t i = 0; i < name.n; i++)
		if (!memchr(chars, name.p[i], sizeof(chars) - 1))
			return false;
	return name.n > 0 && (name.p[0] < '0' || name.p[0] > '9');
}

/* It says how to talk, not what to do. */
static bool is_harmless(struct view name, struct view value)
{
	static const char *const names[] = { "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
		"CLICOLOR_FORCE", "TERM", "COLORTERM", "COLUMNS", "LINES", "LANG", "LANGUAGE",
		"LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "CI", "PYTHONUNBUFFERED",
		"PYTHONIOENCODING", "GIT_TERMINAL_PROMPT", "DEBIAN_FRONTEND" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (view_eqs(name, names[i]))
			return true;
	return view_eqs(name, "SHELL") && shell_path(value);
}

static int keep_variable(struct command_line *c, size_t *n, struct view name, struct view value,
	struct err *e)
{
	struct str word = STR_INIT(COMMAND_LINE_MAX);

	if (str_addf(&word, "%.*s=%.*s", VIEW_FMT(name), VIEW_FMT(value)) == 0)
		c->env[*n] = str_take(&word);
	str_release(&word);
	return c->env[(*n)++] ? 0 : err_set(e, E_NOMEM, "a variable");
}

static int put_variable(struct command_line *c, size_t *n, const struct json *item, struct err *e)
{
	struct view name, value;

	if (json_type(item) != JSON_OBJECT ||
		json_get_str(item, "name", JSON_REQUIRED, 1, 200, &name, e) < 0 ||
		json_get_str(item, "value", JSON_REQUIRED, 0, COMMAND_LINE_MAX, &value, e) < 0 ||
		!is_name(name))
		return err_set(e, E_FORMAT, "an item of \"env\" is no variable");
	if (is_harmless(name, value))
		return keep_variable(c, n, name, value, e);
	(void)str_addf(&c->text, "export %.*s=", VIEW_FMT(name));
	(void)command_word(&c->text, value);
	return str_adds(&c->text, "; ");
}

/* --- All of it -------------------------------------------------------------------------------- */

int command_line_read(struct command_line *c, const struct json *params, struct err *e)
{
	const struct json *env = NULL;
	size_t n = 0;

	memset(c, 0, sizeof(*c));
	c->text = STR_INIT(COMMAND_LINE_MAX);
	if (json_get_array(params, "env", JSON_OPTIONAL, COMMAND_VARS_MAX, &env, e) < 0)
		return -1;
	json_each(item, env) {
		if (put_variable(c, &n, item, e) < 0)
			return -1;
	}
	if (put_program(c, params, e) < 0)
		return -1;
	return str_ok(&c->text) ? 0
	                        : err_set(e, E_FORMAT, "the command has more than %zu bytes",
					  COMMAND_LINE_MAX);
}

void command_line_release(struct command_line *c)
{
	for (size_t i = 0; i < COMMAND_VARS_MAX; i++)
		free(c->env[i]);
	str_release(&c->text);
	memset(c, 0, sizeof(*c));
}
