/* write_file: create a file or replace it whole. The old content stands until the new one is on
 * disk. */
#include "tools/exec/tool.h"

#include "tools/exec/change.h"
#include "tools/exec/content.h"

#define CONTENT_MAX ((size_t)1 << 20)

/* Whether the file is there; -1: that cannot be known. */
static int look(const struct place *p, struct stat *st, struct err *e)
{
	struct err why = ERR_INIT;

	if (place_stat(p, st, &why) == 0)
		return 1;
	if (why.code == E_NOTFOUND)
		return 0;
	*e = why;
	return -1;
}

static void report(struct tool_job *j, const struct change *c, const struct str *old)
{
	size_t removed, added;

	(void)str_addf(j->out, "[%s %s: %zu bytes",
		c->kind == CHANGE_CREATE ? "created" : "replaced", c->place.shown, c->content.n);
	if (c->kind == CHANGE_CREATE || old->n > 0 || c->was.st_size == 0) {
		count_changed(str_view(old), c->content, &removed, &added);
		(void)str_addf(j->out, ", +%zu -%zu lines", added, removed);
	}
	(void)str_adds(j->out, "]\n");
	job_diagnose(j, &c->place, c->content);
}

int tool_write_file(struct tool_job *j, struct err *e)
{
	struct change c = { .kind = CHANGE_CREATE };
	struct str old = STR_INIT(CONTENT_FILE_MAX);
	int rc;

	if (job_place(j, NULL, &c.place, e) < 0 ||
		json_get_str(j->args, "content", JSON_REQUIRED, 0, CONTENT_MAX, &c.content, e) <
			0 ||
		place_may_write(&c.place, e) < 0)
		return -1;
	rc = look(&c.place, &c.was, e);
	if (rc < 0)
		return -1;
	if (rc > 0)
		c.kind = CHANGE_REPLACE;
	/* Only to count lines: a file that is too long for that may be replaced all the same. */
	if (rc > 0 && content_read(&old, &c.place, NULL, NULL) < 0)
		str_reset(&old);
	rc = changes_make(j, &c, 1, e);
	if (rc == 0)
		report(j, &c, &old);
	str_release(&old);
	return rc;
}
