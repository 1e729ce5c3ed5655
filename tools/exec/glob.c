/* glob: files whose path matches a pattern. */
#include "tools/exec/tool.h"

#include <string.h>

#include "base/text.h"
#include "tools/exec/match.h"
#include "tools/exec/walk.h"

#define LIMIT_DEFAULT 200
#define LIMIT_MAX     2000

struct search {
	struct tool_job *job;
	struct match *match;
	int64_t offset, limit;
	int64_t found; /* so far, those before the offset too */
	bool more;
};

static enum walk_next on_entry(void *arg, const struct walk_entry *w)
{
	struct search *s = arg;

	if (w->kind == WALK_DIR)
		return match_below(s->match, w->path) ? WALK_ON : WALK_SKIP;
	if (w->kind != WALK_FILE || !match_path(s->match, w->path))
		return WALK_ON;
	if (s->found - s->offset == s->limit || s->job->out->n >= TOOL_PAGE_BYTES) {
		s->more = true;
		return WALK_STOP;
	}
	if (s->found++ < s->offset)
		return WALK_ON;
	(void)text_visible(w->path, s->job->out);
	(void)str_addc(s->job->out, '\n');
	return WALK_ON;
}

static int run(struct search *s, const struct place *place, struct err *e)
{
	struct walk_gaps gaps = { .entries = false };
	struct str *out = s->job->out;
	int dir = place_open_dir(place, e);

	if (dir < 0 || walk_run(s->job, dir, on_entry, s, &gaps, e) < 0)
		return -1;
	if (s->found <= s->offset)
		(void)str_addf(out, "[no %sfile matches]\n", s->found ? "further " : "");
	if (s->more)
		(void)str_addf(out, "[more: offset=%lld]\n", (long long)s->found);
	walk_say_gaps(&gaps, out);
	return 0;
}

int tool_glob(struct tool_job *j, struct err *e)
{
	struct search s = { .job = j, .limit = LIMIT_DEFAULT };
	struct view pattern;
	struct place place;
	int rc;

	if (json_get_str(j->args, "pattern", JSON_REQUIRED, 1, MATCH_PATTERN_MAX, &pattern, e) <
			0 ||
		json_get_int(j->args, "offset", JSON_OPTIONAL, 0, INT32_MAX, &s.offset, e) < 0 ||
		json_get_int(j->args, "limit", JSON_OPTIONAL, 1, LIMIT_MAX, &s.limit, e) < 0 ||
		job_place(j, ".", &place, e) < 0)
		return -1;
	while (view_starts(pattern, VIEW("./")))
		pattern = view_from(pattern, 2);
	if (pattern.n == 0 || pattern.p[0] == '/')
		return err_set(e, E_FORMAT,
			"the pattern is relative to \"path\" and does not begin with a slash");
	if (view_ends(pattern, VIEW("/")))
		return err_set(e, E_FORMAT,
			"a pattern that ends in a slash is no file's; for all files in a folder write "
			"FOLDER/**");
	if (match_new(&s.match, pattern, e) < 0)
		return -1;
	rc = run(&s, &place, e);
	match_free(&s.match);
	return rc;
}
