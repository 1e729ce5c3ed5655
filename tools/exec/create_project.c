/* create_project: a starter project, complete or not at all. It is built in a folder beside its
 * place, brought to disk, and renamed. */
#include "tools/exec/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "tools/exec/leftover.h"
#include "tools/exec/template.h"
#include "tools/exec/walk.h"

#define NAME_MAX_BYTES  64
#define ABOUT_MAX_BYTES 200
#define FILE_MAX_BYTES  ((size_t)64 << 10)

struct project {
	struct tool_job *job;
	const struct template *template;
	struct place place;
	struct view name, about;
	int parent, folders;        /* the folder it is made in, and how many were made for that */
	char last[256];             /* its name there */
	char staged[LEFTOVER_SIZE]; /* as that, until it is renamed; "" for none */
	int dir;                    /* the staged folder */
	bool there;                 /* an empty folder is replaced */
	struct stat was;            /* that one */
	size_t nfiles, bytes;
};

/* --- The arguments ---------------------------------------------------------------------------- */

/* What npm, Maven, PyPI and CMake all take. */
static bool is_name(struct view v)
{
	if (v.n == 0 || v.n > NAME_MAX_BYTES || v.p[0] < 'a' || v.p[0] > 'z')
		return false;
	for (size_t i = 0; i < v.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", v.p[i]))
			return false;
	return !strchr("-_", v.p[v.n - 1]);
}

static struct view last_part(const struct place *p)
{
	const char *slash = strrchr(p->rel, '/');

	return view_of(slash ? slash + 1 : p->rel);
}

static int take_template(struct project *p, struct err *e)
{
	struct view wanted;
	struct str names = STR_INIT(100);

	if (json_get_str(p->job->args, "template", JSON_REQUIRED, 1, 40, &wanted, e) < 0)
		return -1;
	p->template = template_find(wanted);
	if (p->template)
		return 0;
	template_names(&names);
	(void)err_set(e, E_NOTFOUND, "there is no such template; choose %s", str_cstr(&names));
	str_release(&names);
	return -1;
}

static int take_words(struct project *p, struct err *e)
{
	const struct json *args = p->job->args;
	int given;

	p->about = view_of(p->template->about);
	given = json_get_str(args, "name", JSON_OPTIONAL, 1, NAME_MAX_BYTES, &p->name, e);
	if (given < 0 || json_get_str(args, "description", JSON_OPTIONAL, 1, ABOUT_MAX_BYTES,
				 &p->about, e) < 0)
		return -1;
	if (given == 0)
		p->name = last_part(&p->place);
	if (!is_name(p->name))
		return err_set(e, E_FORMAT,
			"%s: use small letters, digits, - and _, beginning with a letter and not "
			"ending in - or _, at most %d",
			given ? "that is no name for a project"
			      : "the folder's name is no name for a project; give one as \"name\"",
			NAME_MAX_BYTES);
	for (size_t i = 0; i < p->about.n; i++)
		if ((unsigned char)p->about.p[i] < 0x20 || p->about.p[i] == 0x7f)
			return err_set(e, E_FORMAT,
				"the description must be one line without control characters");
	return 0;
}

/* --- The place -------------------------------------------------------------------------------- */

static int check_empty(const struct project *p, struct err *e)
{
	struct names names;
	int dir = place_open_dir(&p->place, e);
	size_t n;

	if (dir < 0 || names_read(&names, dir, e) < 0)
		return -1;
	n = names.n;
	names_release(&names);
	return n == 0 ? 0
	              : err_set(e, E_DENIED,
				"%s is not empty; choose a folder that is, or a new one",
				p->place.shown);
}

static int check_place(struct project *p, struct err *e)
{
	struct err why = ERR_INIT;

	if (place_may_write(&p->place, e) < 0)
		return -1;
	if (place_stat(&p->place, &p->was, &why) == 0) {
		p->there = true;
		return check_empty(p, e);
	}
	if (why.code == E_NOTFOUND)
		return 0;
	*e = why;
	return -1;
}

/* --- Building --------------------------------------------------------------------------------- */

/* The folder below dir that the file lies in, made as far as it is missing; *name is the rest. */
static int open_folder(int dir, const char *path, const char **name)
{
	int at = file_open_beneath(dir, ".", O_PATH | O_DIRECTORY);
	const char *slash;

	for (*name = path; at >= 0 && (slash = strchr(*name, '/')) != NULL; *name = slash + 1) {
		char part[64];
		int next;

		(void)copy_z(part, sizeof(part), (struct view){ *name, (size_t)(slash - *name) });
		next = mkdirat(at, part, 0700) < 0 && errno != EEXIST
		               ? -1
		               : file_open_beneath(at, part, O_PATH | O_DIRECTORY);
		(void)close(at);
		at = next;
	}
	return at;
}

static int write_text(int fd, struct view text)
{
	while (text.n > 0) {
		ssize_t n = write(fd, text.p, text.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		text = view_from(text, (size_t)n);
	}
	return fsync(fd);
}

static int add_file(struct project *p, const struct template_file *f, struct view text)
{
	const char *name;
	int dir = open_folder(p->dir, f->path, &name), fd, rc;

	if (dir < 0)
		return -1;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = fd < 0 ? -1 : write_text(fd, text);
	if (fd >= 0 && close(fd) < 0)
		rc = -1;
	if (rc == 0)
		rc = folder_sync(dir);
	(void)close(dir);
	return rc;
}

static int add_files(struct project *p, struct err *e)
{
	struct str text = STR_INIT(FILE_MAX_BYTES);
	int rc = 0;

	for (const struct template_file *f = p->template->files; rc == 0 && f->path; f++) {
		str_reset(&text);
		template_fill(f->text, p->name, p->about, &text);
		if (!str_ok(&text))
			rc = err_set(e, E_NOMEM, "the project's files");
		else if (job_stopped(p->job))
			rc = err_set(e, E_CANCELLED, "stopped; nothing was created");
		else if (add_file(p, f, str_view(&text)) < 0)
			rc = err_sys(e, "writing %s", f->path);
		p->nfiles++;
		p->bytes += text.n;
	}
	str_release(&text);
	return rc;
}

static void before_change(void *job)
{
	job_acting(job);
}

static int stage(struct project *p, struct err *e)
{
	p->parent = place_open_parent(&p->place, p->last, before_change, p->job, &p->folders, e);
	if (p->parent < 0)
		return -1;
	job_acting(p->job);
	leftover_sweep(p->parent);
	leftover_project_name(p->staged);
	if (mkdirat(p->parent, p->staged, 0700) < 0) {
		p->staged[0] = '\0';
		return err_sys(e, "creating a folder beside %s", p->place.shown);
	}
	p->dir = file_open_beneath(p->parent, p->staged, O_RDONLY | O_DIRECTORY);
	if (p->dir < 0)
		return err_sys(e, "creating a folder beside %s", p->place.shown);
	return add_files(p, e);
}

/* --- Putting in place ------------------------------------------------------------------------- */

/* Over an empty folder a rename is one step: it is the project, or still the empty folder. */
static int publish(struct project *p, struct err *e)
{
	if (p->there && fchmod(p->dir, p->was.st_mode & 0777) < 0)
		return err_sys(e, "the mode of %s", p->place.shown);
	if (renameat2(p->parent, p->staged, p->parent, p->last, p->there ? 0 : RENAME_NOREPLACE) <
		0) {
		if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
			return err_set(e, E_CONFLICT,
				"somebody else put something at %s meanwhile; nothing was created",
				p->place.shown);
		return err_sys(e, "putting %s in place", p->place.shown);
	}
	p->staged[0] = '\0';
	(void)folder_sync(p->parent);
	return 0;
}

static void report(const struct project *p)
{
	struct str *out = p->job->out;

	(void)str_addf(out, "[created the %s project %.*s in %s: %zu files, %zu bytes]\n",
		p->template->name, VIEW_FMT(p->name), p->place.shown, p->nfiles, p->bytes);
	for (const struct template_file *f = p->template->files; f->path; f++)
		(void)str_addf(out, "%s\n", f->path);
	(void)str_adds(out, "[run it there with: ");
	template_fill(p->template->run, p->name, p->about, out);
	(void)str_adds(out, "]\n");
}

int tool_create_project(struct tool_job *j, struct err *e)
{
	struct project p = { .job = j, .parent = -1, .dir = -1 };
	int rc;

	if (take_template(&p, e) < 0 || job_place(j, NULL, &p.place, e) < 0 ||
		check_place(&p, e) < 0 || take_words(&p, e) < 0)
		return -1;
	rc = stage(&p, e);
	if (rc == 0)
		rc = publish(&p, e);
	if (rc == 0)
		report(&p);
	else if (p.staged[0])
		leftover_remove_project(p.parent, p.staged);
	if (p.dir >= 0)
		(void)close(p.dir);
	if (rc < 0)
		place_drop_parents(&p.place, p.folders);
	if (p.parent >= 0)
		(void)close(p.parent);
	return rc;
}
