/* tools/exec/tool.h: what a tool gets to work with, and the table of those that kairo-tool has.
 *
 * A tool reads its arguments, works beneath the roots, and appends its result to out: text for the
 * model, bounded, saying itself what was left out and how to go on. */
#ifndef TOOLS_EXEC_TOOL_H
#define TOOLS_EXEC_TOOL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "tools/exec/fence.h"
#include "tools/exec/root.h"

#define TOOL_OUT_MAX   ((size_t)1 << 20) /* bytes of one result */
#define TOOL_SHOWN_MAX ((size_t)6 << 20) /* of one that is a picture */
/* A page of a listing ends after this many bytes and says how to go on. */
#define TOOL_PAGE_BYTES ((size_t)40000)

struct tool_job {
	const struct roots *roots;
	const struct json *args; /* one JSON object */
	const struct json *argv; /* an allowed vector, run as it is, without a shell; or NULL */
	const char *tmp;         /* where programs have their temporary files */
	int64_t until;           /* CLOCK_MONOTONIC in ms: past it a search gives what it has */
	const volatile sig_atomic_t *stop; /* set by a signal: end at once, tidy up; may be NULL */
	void (*on_acting)(void *arg);      /* called ahead of the first side effect; may be NULL */
	void *arg;
	void *prepared; /* what its first step, ahead of the fence, has left */
	bool acting;    /* it was */
	bool failed;    /* there is a result, but it tells of a failure */
	struct str *out;
	/* Files that Python could be asked about, beneath the workspace, a NUL behind each; may be
	 * NULL. */
	struct str *python;
};

/* 0: out has the result. -1: e says why not, in words for the model. */
typedef int tool_fn(struct tool_job *j, struct err *e);

tool_fn tool_read_file, tool_read_text, tool_list_dir, tool_glob, tool_grep, tool_write_file,
	tool_shell, tool_apply_patch, tool_create_project, tool_parse_python, tool_program;

/* A first step ahead of the fence, for what libc loads from files. What it leaves in *prepared is
 * the tool's to free. */
typedef int tool_prepare_fn(const struct json *args, void **prepared, struct err *e);

tool_fn tool_web_page, tool_picture;
tool_prepare_fn web_page_prepare, picture_prepare;

/* NULL: there is no such tool. */
tool_fn *tool_find(struct view name);
/* What the tool needs of the fence: FENCE_FILES, unless its row says that it runs programs. */
enum fence_kind tool_fence(struct view name);
/* How long its result may get. */
size_t tool_out_max(struct view name);
/* The first step of those that have one. */
int tool_prepare(struct view name, const struct json *args, void **prepared, struct err *e);

/* Past its time, or told to stop? */
bool job_over(const struct tool_job *j);
bool job_stopped(const struct tool_job *j);
void job_acting(struct tool_job *j);
/* Appends what is wrong with a text that now is the file at p. */
void job_diagnose(struct tool_job *j, const struct place *p, struct view text);

/* The argument "path", or `otherwise` where it may be absent (NULL: required), beneath a root. */
int job_place(const struct tool_job *j, const char *otherwise, struct place *out, struct err *e);

#endif
