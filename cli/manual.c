#include "cli/manual.h"

#include <string.h>

#include "base/file.h"

/* Without base_prompt the agent would lose what its makers tell it, without the sections what its
 * plugins do. */
#define HEAD \
	"---\nname: agent\ndescription: The main agent, with the words of its operator\n" \
	"override: true\n---\n\n${base_prompt}\n\n${plugin_sections}\n\n"

/* --- The text --------------------------------------------------------------------------------- */

static size_t find(struct view v, const char *what)
{
	const char *p = v.n > 0 ? memmem(v.p, v.n, what, strlen(what)) : NULL;

	return p ? (size_t)(p - v.p) : v.n;
}

static size_t count(struct view v, const char *what)
{
	size_t n = 0, at;

	for (; (at = find(v, what)) < v.n; v = view_from(v, at + strlen(what)))
		n++;
	return n;
}

/* Its front matter: named as the main agent, and in place of it. */
static bool is_main_agent(struct view old)
{
	bool named = false, overrides = false;

	if (!view_starts(old, VIEW("---\n")))
		return false;
	for (old = view_from(old, 4); old.n > 0; old = view_from(old, view_find(old, '\n') + 1)) {
		struct view line = view_trim(view_cut(old, view_find(old, '\n')));

		if (view_eqs(line, "---"))
			return named && overrides;
		named = named || view_eqs(line, "name: agent");
		overrides = overrides || view_eqs(line, "override: true");
	}
	return false;
}

static int add_block(struct str *out, struct view words, struct err *e)
{
	if (words.n > 0)
		(void)str_addf(out, MANUAL_BEGIN "\n%.*s\n" MANUAL_END "\n", VIEW_FMT(words));
	return str_ok(out) ? 0 : err_set(e, E_FORMAT, "it would be over %zu bytes", out->max);
}

/* The block with its line's end, out of old. */
static int replace_block(struct view old, struct view words, struct str *out, struct err *e)
{
	size_t begin = find(old, MANUAL_BEGIN), end = find(old, MANUAL_END);

	if (begin > end)
		return err_set(e, E_FORMAT, "its marks stand the wrong way round");
	end += strlen(MANUAL_END);
	end += end < old.n && old.p[end] == '\n';
	(void)str_add(out, view_cut(old, begin));
	if (add_block(out, words, e) < 0)
		return -1;
	(void)str_add(out, view_from(old, end));
	if (view_eqs(view_trim(str_view(out)), "") ||
		view_eq(view_trim(str_view(out)), view_trim(VIEW(HEAD))))
		str_reset(out);
	return add_block(out, VIEW_NONE, e);
}

static int append_block(struct view old, struct view words, struct str *out, struct err *e)
{
	if (words.n == 0)
		return str_add(out, old);
	if (old.n == 0)
		(void)str_adds(out, HEAD);
	else if (!is_main_agent(old))
		return err_set(e, E_DENIED,
			"it is not of the main agent (\"name: agent\" and \"override: true\")");
	else
		(void)str_addf(out, "%.*s%s\n", VIEW_FMT(old),
			view_ends(old, VIEW("\n")) ? "" : "\n");
	return add_block(out, words, e);
}

int manual_merge(struct view old, struct view words, struct str *out, struct err *e)
{
	size_t begins = count(old, MANUAL_BEGIN), ends = count(old, MANUAL_END);

	words = view_trim(words);
	if (begins != ends || begins > 1)
		return err_set(e, E_FORMAT, "its marks of kairo are not one pair");
	if (count(words, MANUAL_BEGIN) + count(words, MANUAL_END) > 0)
		return err_set(e, E_FORMAT, "model.system_prompt holds a mark of kairo");
	return begins ? replace_block(old, words, out, e) : append_block(old, words, out, e);
}

/* --- The file --------------------------------------------------------------------------------- */

static int read_old(const char *path, struct str *old, struct err *e)
{
	struct err why = ERR_INIT;

	if (file_read(path, MANUAL_MAX, old, &why) == 0 || why.code == E_NOTFOUND)
		return 0;
	return err_set(e, why.code, "%s", why.msg);
}

static int write_new(const char *path, struct view text, struct err *e)
{
	char dir[PATH_SIZE];

	if (text.n == 0)
		return file_remove(path, e);
	if (copy_z(dir, sizeof(dir), (struct view){ path, (size_t)(strrchr(path, '/') - path) }) <
		0)
		return err_set(e, E_FORMAT, "the path is too long");
	return file_mkdirs(dir, 0755, e) < 0 ? -1 : file_replace(path, 0644, text, e);
}

int manual_place(const struct acp_preset *preset, const char *workspace, const char *words,
	struct err *e)
{
	struct str old = STR_INIT(MANUAL_MAX), text = STR_INIT(MANUAL_MAX);
	char path[PATH_SIZE];
	int rc = -1;

	if (!preset || !preset->manual)
		return 0;
	if (path_join(path, workspace, preset->manual, e) < 0 || read_old(path, &old, e) < 0)
		goto out;
	if (manual_merge(str_view(&old), view_of(words), &text, e) < 0)
		(void)err_wrap(e, "%s", path);
	else if (view_eq(str_view(&old), str_view(&text)) ||
		 write_new(path, str_view(&text), e) == 0)
		rc = view_trim(view_of(words)).n > 0;
out:
	str_release(&old);
	str_release(&text);
	return rc;
}
