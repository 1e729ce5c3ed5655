#include "agent/acp/artifact.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define OUT_FOLDER ".kairo-out/"

/* --- What the line says ----------------------------------------------------------------------- */

static struct view last_line(struct view text)
{
	const char *lf;

	text = view_trim(text);
	lf = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;
	return lf ? view_from(text, (size_t)(lf - text.p) + 1) : text;
}

static bool is_verb(struct view word)
{
	static const char *const verbs[] = { "saved", "wrote", "generated" };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (word.n == strlen(verbs[i]) && strncasecmp(word.p, verbs[i], word.n) == 0)
			return true;
	return false;
}

/* What stands behind the first of the verbs, its blank included; empty: none does. */
static struct view said(struct view line)
{
	while (line.n > 0) {
		struct view word = view_cut(line, view_find(line, ' '));
		struct view rest = view_from(line, word.n);

		if (view_ends(word, VIEW(":")))
			word.n--;
		if (is_verb(word))
			return rest;
		line = view_from(rest, 1);
	}
	return VIEW_NONE;
}

/* Without what surrounds it: quotes, and the end of the sentence. */
static struct view bare(struct view v)
{
	v = view_trim(v);
	if (view_ends(v, VIEW(".")))
		v.n--;
	if (v.n >= 2 && strchr("\"'`", v.p[0]) && v.p[0] == v.p[v.n - 1])
		v = view_cut(view_from(v, 1), v.n - 2);
	return v;
}

/* --- Whether it is there ---------------------------------------------------------------------- */

static bool is_hidden(const char *path)
{
	const size_t out = sizeof(OUT_FOLDER) - 1;

	if (strncmp(path, "./", 2) == 0)
		path += 2;
	if (strncmp(path, OUT_FOLDER, out) == 0)
		path += out;
	return path[0] == '.' || strstr(path, "/.") != NULL;
}

static bool is_file(const char *workspace, const char *path)
{
	int dir = file_open_dir(workspace, NULL);
	int fd = dir < 0 ? -1 : file_open_beneath(dir, path, O_PATH);
	struct stat st;
	bool yes = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	if (fd >= 0)
		(void)close(fd);
	if (dir >= 0)
		(void)close(dir);
	return yes;
}

static bool take(const char *workspace, struct view v, struct str *path)
{
	size_t n = strlen(workspace);
	struct view rel = bare(v);
	char name[PATH_SIZE];

	v = rel;
	if (view_starts(rel, view_of(workspace)) && rel.n > n && rel.p[n] == '/')
		rel = view_from(rel, n + 1);
	return rel.n > 0 && copy_z(name, sizeof(name), rel) == 0 && !is_hidden(name) &&
	       is_file(workspace, name) && str_add(path, v) == 0;
}

bool artifact_find(const char *workspace, struct view output, struct str *path)
{
	static const char *const heads[] = { " to ", " as ", " in " };
	struct view rest = said(last_line(output));

	if (take(workspace, rest, path))
		return true;
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		struct view head = view_of(heads[i]);
		const char *at = rest.n > 0 ? memmem(rest.p, rest.n, head.p, head.n) : NULL;

		if (at && take(workspace, view_from(rest, (size_t)(at - rest.p) + head.n), path))
			return true;
	}
	return false;
}
