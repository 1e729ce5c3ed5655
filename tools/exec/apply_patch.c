/* apply_patch: a unified diff, made to all of its files or to none. Everything is read and checked,
 * and the new files are complete, before the first change. */
#include "tools/exec/tool.h"

#include <stdlib.h>
#include <string.h>

#include "tools/exec/change.h"
#include "tools/exec/content.h"
#include "tools/exec/patch_apply.h"
#include "tools/patch_parse.h"

#define TOTAL_MAX ((size_t)64 << 20) /* of all new files */
#define WHY_MAX   ((size_t)64 << 10)

struct patching {
	struct tool_job *job;
	struct patch *patch;
	struct change changes[PATCH_FILES_MAX];
	struct str content[PATCH_FILES_MAX]; /* as it will be */
	bool crlf[PATCH_FILES_MAX];
	size_t total;
	struct str why; /* hunks that do not fit, of all files */
};

static int check_twice(const struct patching *p, size_t i, struct err *e)
{
	const struct change *c = &p->changes[i];

	for (size_t k = 0; k < i; k++)
		if (strcmp(p->changes[k].place.rel, c->place.rel) == 0)
			return err_set(e, E_FORMAT,
				"%s stands in the patch twice; put its hunks below one header",
				c->place.shown);
	return 0;
}

static int find_file(struct patching *p, size_t i, struct err *e)
{
	const struct patch_file *f = &p->patch->files[i];
	struct change *c = &p->changes[i];

	if (f->path[0] == '/')
		return err_set(e, E_DENIED,
			"line %zu of the patch: a path in a patch is relative to the workspace",
			f->line);
	if (place_find(&c->place, p->job->roots, view_of(f->path), e) < 0 ||
		place_may_write(&c->place, e) < 0)
		return -1;
	return check_twice(p, i, e);
}

static int check_new(const struct place *place, struct err *e)
{
	struct err why = ERR_INIT;
	struct stat st;

	if (place_stat(place, &st, &why) == 0)
		return err_set(e, E_EXISTS, "%s is to be created but is there already",
			place->shown);
	if (why.code != E_NOTFOUND) {
		*e = why;
		return -1;
	}
	return 0;
}

static int read_old(struct change *c, struct str *old, struct err *e)
{
	if (content_read(old, &c->place, &c->was, e) == 0)
		return 0;
	if (e->code == E_NOTFOUND)
		(void)err_wrap(e, "to create a file, its --- line is /dev/null");
	return -1;
}

/* The file as it will be; hunks that do not fit are said in p->why. */
static int make_content(struct patching *p, size_t i, struct view old, struct err *e)
{
	const struct patch_file *f = &p->patch->files[i];
	struct str *new = &p->content[i];
	struct str why = STR_INIT(WHY_MAX);

	if (patch_apply(f, old, new, &p->crlf[i], &why) < 0) {
		(void)str_addf(&p->why, "%s:\n%s", p->changes[i].place.shown, str_cstr(&why));
		str_reset(new);
	} else if (f->kind == PATCH_DELETE && new->n > 0) {
		(void)str_addf(&p->why, "%s:\n- to delete it, all its lines must be in the patch\n",
			p->changes[i].place.shown);
	}
	str_release(&why);
	p->total += new->n;
	if (p->total > TOTAL_MAX)
		return err_set(e, E_FULL, "the files of the patch have more than %zu MiB together",
			TOTAL_MAX >> 20);
	return 0;
}

static int prepare(struct patching *p, size_t i, struct err *e)
{
	static const enum change_kind kinds[] = { CHANGE_REPLACE, CHANGE_CREATE, CHANGE_REMOVE };
	struct str old = STR_INIT(CONTENT_FILE_MAX);
	const struct str empty = STR_INIT(CONTENT_FILE_MAX);
	enum patch_kind kind = p->patch->files[i].kind;
	int rc = -1;

	p->content[i] = empty;
	p->changes[i].kind = kinds[kind];
	if (find_file(p, i, e) < 0)
		goto out;
	if (kind == PATCH_CREATE ? check_new(&p->changes[i].place, e)
				 : read_old(&p->changes[i], &old, e))
		goto out;
	rc = make_content(p, i, str_view(&old), e);
	p->changes[i].content = str_view(&p->content[i]);
out:
	str_release(&old);
	return rc;
}

/* --- The answer ------------------------------------------------------------------------------- */

static void report_file(const struct patching *p, size_t i, struct str *out)
{
	static const char *const done[] = { "changed", "created", "deleted" };
	const struct patch_file *f = &p->patch->files[i];

	(void)str_addf(out, "[%s %s: ", done[f->kind], p->changes[i].place.shown);
	if (f->kind != PATCH_DELETE)
		(void)str_addf(out, "%zu bytes, ", p->content[i].n);
	(void)str_addf(out, "+%zu -%zu lines%s]\n", f->added, f->removed,
		p->crlf[i] ? ", with CRLF as the others" : "");
}

static void report(struct patching *p)
{
	struct str *out = p->job->out;

	for (size_t i = 0; i < p->patch->nfiles; i++)
		report_file(p, i, out);
	for (size_t i = 0; i < p->patch->nfiles; i++)
		if (p->patch->files[i].kind != PATCH_DELETE)
			job_diagnose(p->job, &p->changes[i].place, str_view(&p->content[i]));
}

static int run(struct patching *p, struct err *e)
{
	size_t n = p->patch->nfiles;

	for (size_t i = 0; i < n; i++) {
		if (job_over(p->job))
			return err_set(e, E_CANCELLED, "stopped; nothing was changed");
		if (prepare(p, i, e) < 0)
			return -1;
	}
	if (p->why.n > 0) {
		p->job->failed = true;
		(void)str_adds(p->job->out, "The patch does not fit and nothing was changed.\n");
		(void)str_add(p->job->out, str_view(&p->why));
		return 0;
	}
	if (changes_make(p->job, p->changes, n, e) < 0)
		return -1;
	report(p);
	return 0;
}

int tool_apply_patch(struct tool_job *j, struct err *e)
{
	struct patching *p = calloc(1, sizeof(*p));
	const struct str why = STR_INIT(TOOL_OUT_MAX / 2);
	struct view text;
	int rc = -1;

	if (!p)
		return err_set(e, E_NOMEM, "a patch");
	p->job = j;
	p->why = why;
	if (json_get_str(j->args, "patch", JSON_REQUIRED, 1, PATCH_BYTES_MAX, &text, e) >= 0 &&
		patch_parse(&p->patch, text, e) == 0)
		rc = run(p, e);
	for (size_t i = 0; p->patch && i < p->patch->nfiles; i++)
		str_release(&p->content[i]);
	patch_free(&p->patch);
	str_release(&p->why);
	free(p);
	return rc;
}
