#include "agent/acp/output.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define FOLDERS_MAX 4096 /* that are looked into */

struct search {
	const char *session, *task;
	struct str *out;
	bool *cut;
};

typedef int visit_cb(const struct search *s, const char *path, const char *name, struct err *e);

static bool is_name(const char *id)
{
	return *id && *id != '.' && !strchr(id, '/');
}

/* Of each folder in path until one has it. What is in the way of one hides no other; it is told
 * only where none has it. */
static int each_below(const struct search *s, const char *path, visit_cb *visit, struct err *e)
{
	int fd = file_open_dir(path, e), left = FOLDERS_MAX, rc = -1;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return fd < 0 ? -1 : err_sys(e, "%s", path);
	(void)err_set(e, E_NOTFOUND, "there is no output of that task");
	for (const struct dirent *d; rc < 0 && left-- > 0 && (d = readdir(dir)) != NULL;) {
		struct err here = ERR_INIT;

		if (!is_name(d->d_name))
			continue;
		rc = visit(s, path, d->d_name, &here);
		if (rc < 0 && here.code != E_NOTFOUND)
			*e = here;
	}
	(void)closedir(dir);
	return rc;
}

static int visit_agent(const struct search *s, const char *path, const char *name, struct err *e)
{
	char file[PATH_SIZE];

	if (snprintf(file, sizeof(file), "%s/%s/tasks/%s/output.log", path, name, s->task) >=
		PATH_SIZE)
		return err_set(e, E_FORMAT, "the path of a task's output is too long");
	return file_read_tail(file, OUTPUT_MAX, s->out, s->cut, e);
}

static int visit_folder(const struct search *s, const char *path, const char *name, struct err *e)
{
	static const char *const prefixes[] = { "", "session_" };
	char agents[PATH_SIZE];
	int rc = -1;

	for (size_t i = 0; rc < 0 && i < 2; i++) {
		err_clear(e);
		if (snprintf(agents, sizeof(agents), "%s/%s/%s%s/agents", path, name, prefixes[i],
			    s->session) >= PATH_SIZE)
			rc = err_set(e, E_FORMAT, "the path of a session is too long");
		else
			rc = each_below(s, agents, visit_agent, e);
	}
	return rc;
}

int output_read(const char *home, const char *session, const char *task, struct str *out, bool *cut,
	struct err *e)
{
	const struct search s = { session, task, out, cut };
	char sessions[PATH_SIZE];
	struct err why = ERR_INIT;
	int rc;

	*cut = false;
	if (!is_name(session) || !is_name(task))
		return err_set(e, E_DENIED, "the id of a session or task is no single name");
	if (path_join(sessions, home, "sessions", e) < 0)
		return -1;
	rc = each_below(&s, sessions, visit_folder, &why);
	return rc < 0 ? err_set(e, why.code, "%s", why.msg) : 0;
}
