#include "tools/exec/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/exec/event.h"
#include "tools/exec/namespace.h"
#include "tools/exec/supervise.h"

#define EXIT_BAD_REQUEST 2

static const struct json_limits request_limits = {
	.bytes = SERVE_REQUEST_MAX,
	.depth = 34, /* the arguments' 32 and two around them */
	.nodes = 200100,
	.nul = JSON_NUL_REFUSE,
};

/* --- The request ------------------------------------------------------------------------------ */

static int read_request(int fd, struct str *out)
{
	for (;;) {
		char buf[65536];
		ssize_t n = read(fd, buf, sizeof(buf));
		const char *lf;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0) /* a file may do without the last line end */
			return out->n > 0 ? 0 : -1;
		lf = memchr(buf, '\n', (size_t)n);
		if (str_add(out, (struct view){ buf, lf ? (size_t)(lf - buf) : (size_t)n }) < 0)
			return -1;
		if (lf)
			return 0;
	}
}

static int site_parse(struct site *s, const struct json *request, struct err *e)
{
	memset(s, 0, sizeof(*s));
	if (json_get_str(request, "workspace", JSON_REQUIRED, 2, PATH_SIZE - 1, &s->workspace, e) <
			0 ||
		json_get_array(request, "read", JSON_OPTIONAL, ROOTS_MAX - 2, &s->read, e) < 0 ||
		json_get_bool(request, "required", JSON_REQUIRED, &s->required, e) < 0 ||
		json_get_bool(request, "network", JSON_OPTIONAL, &s->network, e) < 0 ||
		json_get_bool(request, "namespaces", JSON_OPTIONAL, &s->namespaces, e) < 0)
		return -1;
	return 0;
}

/* --- Who and where ---------------------------------------------------------------------------- */

int become_owner(const char *folder, struct err *e)
{
	struct stat st;
	gid_t gid;

	if (geteuid() != 0)
		return 0;
	if (stat(folder, &st) < 0)
		return err_sys(e, "the folder %s", folder);
	if (st.st_uid == 0)
		return 0;
	gid = st.st_gid != 0 ? st.st_gid : (gid_t)st.st_uid;
	if (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
		setresuid(st.st_uid, st.st_uid, st.st_uid) == 0)
		return 0;
	/* A container's root may not become everybody; it goes on as what it is. */
	return errno == EPERM || errno == EINVAL ? 0
	                                         : err_sys(e, "working as the owner of %s", folder);
}

static int add_folder(struct namespace_plan *plan, struct str *paths, struct view path, int how,
	struct err *e)
{
	size_t at = paths->n;

	if (str_add(paths, path) < 0 || str_addc(paths, '\0') < 0)
		return err_set(e, E_NOMEM, "the sandbox's folders");
	return namespace_add(plan, paths->p + at, how, e);
}

/* One that whoever we have become may not even look for is none, as one that is not there. */
static bool is_out_of_reach(struct view path)
{
	char z[PATH_SIZE];

	return copy_z(z, sizeof(z), path) == 0 && faccessat(AT_FDCWD, z, F_OK, AT_EACCESS) < 0 &&
	       (errno == EACCES || errno == ENOENT);
}

/* paths: room for all of them from the start, as the plan points into it. */
static int plan_folders(struct namespace_plan *plan, const struct site *s, struct str *paths,
	struct err *e)
{
	if (str_reserve(paths, paths->max) < 0)
		return err_set(e, E_NOMEM, "the sandbox's folders");
	if (add_folder(plan, paths, s->workspace, NAMESPACE_WRITE, e) < 0)
		return -1;
	plan->start = plan->folders[0].path;
	json_each(item, s->read) {
		struct view path;

		if (json_str(item, &path) == 0 && !is_out_of_reach(path) &&
			add_folder(plan, paths, path, NAMESPACE_READ, e) < 0)
			return -1;
	}
	return 0;
}

/* Returns only when it fails. */
static int go_inside(const struct service *sv, const struct site *s, enum fence_kind kind,
	struct view line, struct err *e)
{
	static struct namespace_plan plan;
	struct str paths = STR_INIT((size_t)ROOTS_MAX * PATH_SIZE);
	const char *const argv[] = { sv->mode, SERVE_INSIDE, NULL };
	int fd;

	plan.programs = kind == FENCE_PROGRAMS;
	plan.network = s->network;
	if (plan.programs && getuid() == 0)
		supervise_first();
	supervise_expendable();
	if (plan_folders(&plan, s, &paths, e) == 0) {
		fd = namespace_file("request", line);
		if (fd < 0 || (fd != SERVE_REQUEST_FD && dup2(fd, SERVE_REQUEST_FD) < 0))
			(void)err_sys(e, "handing on the request");
		else
			(void)namespace_exec(&plan, argv, e);
	}
	str_release(&paths);
	return -1;
}

static int open_roots(const struct site *s, struct roots *roots, struct err *e)
{
	if (roots_add(roots, s->workspace, true, e) < 0)
		return -1;
	json_each(item, s->read) {
		struct view path;

		if (json_str(item, &path) < 0)
			return err_set(e, E_FORMAT, "a folder to read is not text");
		/* No reason to refuse everything. */
		if (is_out_of_reach(path))
			roots_miss(roots, path);
		else if (!roots_cover(roots, path) && roots_add(roots, path, false, e) < 0)
			return -1;
	}
	return 0;
}

int site_enter(const struct site *s, enum fence_kind kind, struct roots *roots, struct fence *out,
	struct err *e)
{
	struct fence_plan plan = {
		.roots = roots,
		.kind = kind,
		.network = s->network,
		.required = s->required,
		.namespaces = s->namespaces,
		.above = { s->above[0], s->above[1] },
	};

	if (open_roots(s, roots, e) < 0)
		return -1;
	/* In the namespaces it is all of /tmp, which programs reach anyway. */
	if (kind == FENCE_PROGRAMS && !s->namespaces &&
		roots_add(roots, view_of(s->tmp), true, e) < 0)
		return -1;
	return fence_enter(&plan, out, e);
}

/* --- The two processes ------------------------------------------------------------------------ */

static int run_child(const struct service *sv, const struct site *s, const struct json *request,
	const struct supervise *watch, int out)
{
	struct err e = ERR_INIT;

	cgroup_enter(&watch->group);
	if (supervise_child(s->above[0], &e) < 0)
		return EXIT_FAILURE;
	return sv->work(s, request, watch->lifeline, out);
}

/* Root in a namespace is the one whom the kernel holds to no number of processes. */
static int processes_max(const struct site *s, enum fence_kind kind)
{
	return kind == FENCE_PROGRAMS && s->namespaces && getuid() == 0 ? FENCE_PROCESSES : 0;
}

static int run_here(const struct service *sv, struct site *s, const struct json *request, int in,
	int out, struct err *e)
{
	enum fence_kind kind = sv->kind(request);
	struct supervise watch = { .lifeline = in, .inside = s->namespaces };
	int code;

	s->above[0] = getpid();
	s->above[1] = getppid();
	watch.processes = processes_max(s, kind);
	if (supervise_prepare(e) < 0 ||
		scratch_make(s->tmp, kind == FENCE_PROGRAMS && !s->namespaces, e) < 0)
		return -1;
	if (kind == FENCE_PROGRAMS && !s->namespaces)
		cgroup_make(&watch.group, FENCE_PROCESSES);
	watch.child = fork();
	if (watch.child == 0)
		_exit(run_child(sv, s, request, &watch, out));
	if (watch.child < 0)
		return err_sys(e, "the tool could not be started");
	code = supervise_run(&watch);
	if (watch.overcrowded)
		(void)event_result(out, false,
			VIEW("it was ended: it had more processes at once than it may have"));
	scratch_remove(s->tmp);
	return code;
}

int serve(const struct service *sv, int in, int out, bool inside)
{
	struct str line = STR_INIT(SERVE_REQUEST_MAX);
	struct json *request = NULL;
	struct err e = ERR_INIT;
	struct site site;
	char workspace[PATH_SIZE];
	int rc = -1;

	if (read_request(inside ? SERVE_REQUEST_FD : in, &line) < 0) {
		str_release(&line);
		return EXIT_BAD_REQUEST;
	}
	if (json_read(&request, str_view(&line), &request_limits, &e) < 0 ||
		site_parse(&site, request, &e) < 0 ||
		copy_z(workspace, sizeof(workspace), site.workspace) < 0 ||
		become_owner(workspace, &e) < 0)
		goto out;
	if (site.namespaces && !inside)
		(void)go_inside(sv, &site, sv->kind(request), str_view(&line), &e);
	else
		rc = run_here(sv, &site, request, in, out, &e);
out:
	if (rc < 0)
		(void)event_result(out, false, view_of(e.msg));
	json_free(&request);
	str_wipe(&line);
	return rc < 0 ? EXIT_FAILURE : rc;
}
