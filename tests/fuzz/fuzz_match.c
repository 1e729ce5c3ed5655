/* tools/exec/match: the first line is a pattern, the second a path. No answer of its own to compare
 * with, but a path that matches must be reachable through its folders. */
#include "fuzz.h"

#include "tools/exec/match.h"

static bool is_plain(struct view path)
{
	if (path.n == 0 || path.n > 4096)
		return false;
	for (struct view v = path; v.n > 0 || view_ends(path, VIEW("/"));) {
		struct view part = view_cut(v, view_find(v, '/'));

		if (part.n == 0)
			return false;
		v = view_from(v, part.n + 1);
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = { (const char *)data, size };
	struct view pattern = view_cut(v, view_find(v, '\n'));
	struct view path = view_from(v, pattern.n + 1);
	struct match *m;
	struct err e = ERR_INIT;

	path = view_cut(path, view_find(path, '\n'));
	if (match_new(&m, pattern, &e) < 0) {
		must(!m && e.msg[0]);
		return 0;
	}
	if (is_plain(path)) {
		bool hit = match_path(m, path);

		(void)match_name_or_path(m, path);
		for (size_t i = 1; hit && i < path.n; i++)
			if (path.p[i] == '/')
				must(match_below(m, view_cut(path, i)));
	}
	match_free(&m);
	return 0;
}
