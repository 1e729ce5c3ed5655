#include "agent/acp/given.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

#define TEXT_MAX ((size_t)1 << 20) /* of a file that a tool writes */

static void drop(struct given *one)
{
	free(one->path);
	free(one->before);
	free(one->after);
	memset(one, 0, sizeof(*one));
}

void given_clear(struct givens *g)
{
	for (size_t i = 0; i < GIVEN_MAX; i++)
		drop(&g->list[i]);
}

static char *copy(struct view v)
{
	return strndup(v.n > 0 ? v.p : "", v.n);
}

void given_add(struct givens *g, const char *print, const struct permission *what)
{
	struct given *one = &g->list[g->n++ % GIVEN_MAX];
	struct view files = str_view(&what->files);

	drop(one);
	(void)copy_z(one->print, sizeof(one->print), view_of(print));
	if (what->before.n == 0 || what->nfiles != 1)
		return;
	one->path = copy(view_cut(files, view_find(files, '\n')));
	one->before = copy(str_view(&what->before));
	one->after = copy(str_view(&what->after));
}

bool given_take(struct givens *g, const char *print)
{
	for (size_t i = 0; i < GIVEN_MAX; i++) {
		if (strcmp(g->list[i].print, print) != 0)
			continue;
		drop(&g->list[i]);
		return true;
	}
	return false;
}

/* --- A part of a file ------------------------------------------------------------------------- */

/* Is `fresh` the old text with the first, or with every `before` in it become `after`? */
static bool is_replaced(const char *old, const struct given *one, bool all, struct view fresh)
{
	struct str text = STR_INIT(2 * TEXT_MAX);
	const char *at;
	bool same = false;

	while ((at = strstr(old, one->before)) != NULL) {
		(void)str_add(&text, (struct view){ old, (size_t)(at - old) });
		(void)str_adds(&text, one->after);
		old = at + strlen(one->before);
		same = true;
		if (!all)
			break;
	}
	(void)str_adds(&text, old);
	same = same && str_ok(&text) && view_eq(str_view(&text), fresh);
	str_release(&text);
	return same;
}

static bool amounts_to(const struct given *one, const char *workspace, struct view path,
	struct view fresh)
{
	struct str old = STR_INIT(TEXT_MAX);
	char full[PATH_SIZE];
	bool same = one->path && one->before && one->after && view_eqs(path, one->path) &&
	            path_join(full, workspace, one->path, NULL) == 0 &&
	            file_read(full, TEXT_MAX, &old, NULL) == 0 &&
	            !memchr(str_cstr(&old), '\0', old.n) &&
	            (is_replaced(str_cstr(&old), one, false, fresh) ||
			    is_replaced(str_cstr(&old), one, true, fresh));

	str_release(&old);
	return same;
}

bool given_take_part(struct givens *g, const char *workspace, struct view args)
{
	struct view path, fresh;
	struct json *j = NULL;
	bool taken = false;

	if (json_read(&j, args, &json_limits_wire, NULL) < 0 ||
		json_get_str(j, "path", JSON_REQUIRED, 1, SIZE_MAX, &path, NULL) != 1 ||
		json_get_str(j, "content", JSON_REQUIRED, 0, SIZE_MAX, &fresh, NULL) != 1)
		goto out;
	for (size_t i = 0; i < GIVEN_MAX && !taken; i++) {
		taken = amounts_to(&g->list[i], workspace, path, fresh);
		if (taken)
			drop(&g->list[i]);
	}
out:
	json_free(&j);
	return taken;
}
