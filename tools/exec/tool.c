#include "tools/exec/tool.h"

#include <stddef.h>
#include <time.h>

#include "tools/exec/diagnose.h"

static const struct row {
	const char *name;
	tool_fn *fn;
	enum fence_kind fence;
	size_t out_max; /* 0: TOOL_OUT_MAX */
	tool_prepare_fn *prepare;
} table[] = {
	{ "read_file", tool_read_file, FENCE_FILES, 0, NULL },
	{ "read_text", tool_read_text, FENCE_FILES, 0, NULL },
	{ "list_dir", tool_list_dir, FENCE_FILES, 0, NULL },
	{ "glob", tool_glob, FENCE_FILES, 0, NULL },
	{ "grep", tool_grep, FENCE_FILES, 0, NULL },
	{ "write_file", tool_write_file, FENCE_FILES, 0, NULL },
	{ "web_page", tool_web_page, FENCE_FILES, 0, web_page_prepare },
	{ "picture", tool_picture, FENCE_FILES, TOOL_SHOWN_MAX, picture_prepare },
	{ "apply_patch", tool_apply_patch, FENCE_FILES, 0, NULL },
	{ "create_project", tool_create_project, FENCE_FILES, 0, NULL },
	{ "parse_python", tool_parse_python, FENCE_PROGRAMS, 0, NULL },
	{ "shell", tool_shell, FENCE_PROGRAMS, 0, NULL },
	{ "program", tool_program, FENCE_PROGRAMS, 0, NULL },
};

/* Of no tool: one that asks for nothing and can nothing. */
static const struct row *row_of(struct view name)
{
	static const struct row none = { .fence = FENCE_FILES };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (view_eqs(name, table[i].name))
			return &table[i];
	return &none;
}

tool_fn *tool_find(struct view name)
{
	return row_of(name)->fn;
}

enum fence_kind tool_fence(struct view name)
{
	return row_of(name)->fence;
}

size_t tool_out_max(struct view name)
{
	size_t max = row_of(name)->out_max;

	return max > 0 ? max : TOOL_OUT_MAX;
}

int tool_prepare(struct view name, const struct json *args, void **prepared, struct err *e)
{
	tool_prepare_fn *prepare = row_of(name)->prepare;

	return prepare ? prepare(args, prepared, e) : 0;
}

bool job_stopped(const struct tool_job *j)
{
	return j->stop && *j->stop;
}

bool job_over(const struct tool_job *j)
{
	struct timespec now;

	if (job_stopped(j))
		return true;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 >= j->until;
}

void job_acting(struct tool_job *j)
{
	if (j->on_acting && !j->acting)
		j->on_acting(j->arg);
	j->acting = true;
}

void job_diagnose(struct tool_job *j, const struct place *p, struct view text)
{
	if (diagnose(p->rel, text, j->out) && j->python && str_adds(j->python, p->rel) == 0)
		(void)str_addc(j->python, '\0');
}

int job_place(const struct tool_job *j, const char *otherwise, struct place *out, struct err *e)
{
	struct view path = view_of(otherwise);

	if (json_get_str(j->args, "path", otherwise ? JSON_OPTIONAL : JSON_REQUIRED, 1,
		    PATH_SIZE - 1, &path, e) < 0)
		return -1;
	return place_find(out, j->roots, path, e);
}
