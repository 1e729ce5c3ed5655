/* read_text: what a text file holds, to the byte, from one line on; for a program that edits it,
 * not for a model. */
#include "tools/exec/tool.h"

#include "base/text.h"
#include "tools/exec/content.h"

/* The rest of v behind so many lines. */
static struct view skip_lines(struct view v, int64_t lines)
{
	for (; lines > 0 && v.n > 0; lines--)
		v = view_from(v, view_find(v, '\n') + 1);
	return v;
}

int tool_read_text(struct tool_job *j, struct err *e)
{
	struct str whole = STR_INIT(CONTENT_FILE_MAX);
	int64_t offset = 1, limit = INT64_MAX;
	struct place place;
	struct view page, rest;
	int rc = -1;

	if (json_get_int(j->args, "offset", JSON_OPTIONAL, 1, INT64_MAX, &offset, e) < 0 ||
		json_get_int(j->args, "limit", JSON_OPTIONAL, 1, INT64_MAX, &limit, e) < 0 ||
		job_place(j, NULL, &place, e) < 0)
		return -1;
	if (content_read(&whole, &place, NULL, e) < 0)
		goto out;
	page = skip_lines(str_view(&whole), offset - 1);
	rest = skip_lines(page, limit);
	page = view_cut(page, page.n - rest.n);
	if (!utf8_valid(page))
		(void)err_set(e, E_FORMAT, "%s is not text in UTF-8", place.shown);
	else if (page.n > TOOL_OUT_MAX)
		(void)err_set(e, E_FORMAT,
			"what is asked for of %s has more than %zu bytes; read fewer lines of it",
			place.shown, TOOL_OUT_MAX);
	else if (str_add(j->out, page) < 0)
		(void)err_set(e, E_NOMEM, "%s", place.shown);
	else
		rc = 0;
out:
	str_release(&whole);
	return rc;
}
