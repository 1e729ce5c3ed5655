#include "tools/exec/diagnose.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "tools/exec/check.h"

/* "JSON, byte N: what" is what base/json.h says. */
static bool check_json(struct view text, struct finding *f)
{
	static const struct json_limits limits = {
		.bytes = DIAGNOSE_BYTES_MAX,
		.depth = 64,
		.nodes = SIZE_MAX,
		.nul = JSON_NUL_REPAIR, /* \u0000 is JSON; a raw NUL never comes here */
	};
	struct err e = ERR_INIT;
	struct view msg, number;
	unsigned long long byte = 0;

	if (json_check(text, &limits, &e) == 0)
		return false;
	msg = view_of(e.msg);
	if (view_starts(msg, VIEW("JSON, byte "))) {
		number = view_from(msg, strlen("JSON, byte "));
		number = view_cut(number, view_find(number, ':'));
		if (parse_u64(number, &byte) == 0)
			msg = view_from(msg, strlen("JSON, byte ") + number.n + 2);
	}
	return check_found(f, (size_t)byte, "%.*s", VIEW_FMT(msg));
}

static struct view name_of(struct view path)
{
	for (size_t at; (at = view_find(path, '/')) < path.n;)
		path = view_from(path, at + 1);
	return path;
}

static struct view extension_of(struct view name)
{
	const char *dot = name.n > 0 ? memrchr(name.p, '.', name.n) : NULL;

	return dot && dot > name.p ? view_from(name, (size_t)(dot - name.p) + 1) : VIEW_NONE;
}

/* Files that are called .json and may have comments all the same. */
static bool has_comments(struct view path)
{
	static const char *const begins[] = { "tsconfig", "jsconfig", ".eslintrc", "devcontainer" };
	struct view name = name_of(path);

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (view_starts(name, view_of(begins[i])))
			return true;
	return view_starts(path, VIEW(".vscode/")) ||
	       memmem(path.p, path.n, "/.vscode/", strlen("/.vscode/"));
}

struct checker {
	check_fn *fn;
	const struct brace_language *braces;
	const char *what; /* it looks at */
};

/* False: there is none for this file. */
static bool find_checker(struct view path, struct checker *c)
{
	struct view extension = extension_of(name_of(path));

	memset(c, 0, sizeof(*c));
	if (view_eqs(extension, "json") && has_comments(path))
		extension = VIEW("jsonc");
	if (view_eqs(extension, "json"))
		*c = (struct checker){ check_json, NULL, "JSON" };
	else if (view_eqs(extension, "toml"))
		*c = (struct checker){ check_toml, NULL, "TOML" };
	else if (view_eqs(extension, "py") || view_eqs(extension, "pyi"))
		*c = (struct checker){ check_python, NULL, "strings, brackets and indentation" };
	else
		c->braces = brace_language_find(extension);
	if (c->braces)
		c->what = "brackets";
	return c->what != NULL;
}

bool diagnose(const char *path, struct view text, struct str *out)
{
	struct finding f = { .at = 0 };
	struct checker c;
	size_t line, column;

	if (!find_checker(view_of(path), &c))
		return false;
	(void)str_addc(out, '[');
	(void)text_visible(view_of(path), out);
	if (text.n > DIAGNOSE_BYTES_MAX) {
		(void)str_addf(out, " was not checked: it has more than %zu MiB]\n",
			DIAGNOSE_BYTES_MAX >> 20);
		return false;
	}
	if (c.fn ? !c.fn(text, &f) : !check_braces(c.braces, text, &f)) {
		(void)str_addf(out, ": no fault found (checked: %s)]\n", c.what);
		return c.fn == check_python;
	}
	check_place(text, f.at, &line, &column);
	(void)str_addf(out, ": fault in line %zu, column %zu: %s (checked: %s)]\n", line, column,
		f.what, c.what);
	return false;
}
