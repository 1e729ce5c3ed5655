/* list_dir: what is in one folder. */
#include "tools/exec/tool.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/exec/walk.h"

#define LIMIT_DEFAULT 500
#define LIMIT_MAX     5000

static void put_entry(struct str *out, int dirfd, const char *name)
{
	struct stat st;

	(void)text_visible(view_of(name), out);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		(void)str_adds(out, "  (gone)\n");
	else if (S_ISDIR(st.st_mode))
		(void)str_adds(out, "/\n");
	else if (S_ISLNK(st.st_mode))
		(void)str_adds(out, "  (symbolic link, not followed)\n");
	else if (!S_ISREG(st.st_mode))
		(void)str_adds(out, "  (neither file nor folder)\n");
	else
		(void)str_addf(out, "  %lld bytes\n", (long long)st.st_size);
}

static void put_page(struct tool_job *j, const struct names *names, int dirfd, int64_t offset,
	int64_t limit)
{
	size_t from = (uint64_t)offset < names->n ? (size_t)offset : names->n;
	size_t end = names->n - from > (size_t)limit ? from + (size_t)limit : names->n;
	size_t at = from;

	while (at < end && j->out->n < TOOL_PAGE_BYTES)
		put_entry(j->out, dirfd, names->list[at++]);
	if (at < names->n)
		(void)str_addf(j->out, "[%zu of %zu entries; more: offset=%zu]\n", at - from,
			names->n, at);
	if (names->cut)
		(void)str_addf(j->out, "[partial: the folder has more than %zu entries]\n",
			WALK_DIR_MAX);
}

int tool_list_dir(struct tool_job *j, struct err *e)
{
	int64_t offset = 0, limit = LIMIT_DEFAULT;
	struct place place;
	struct names names;
	int dir, list;

	if (json_get_int(j->args, "offset", JSON_OPTIONAL, 0, INT32_MAX, &offset, e) < 0 ||
		json_get_int(j->args, "limit", JSON_OPTIONAL, 1, LIMIT_MAX, &limit, e) < 0 ||
		job_place(j, ".", &place, e) < 0)
		return -1;
	dir = place_open_dir(&place, e);
	if (dir < 0)
		return -1;
	list = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (list < 0) {
		(void)close(dir);
		return err_sys(e, "%s", place.shown);
	}
	if (names_read(&names, list, e) < 0) {
		(void)close(dir);
		return -1;
	}
	(void)str_addf(j->out, "[%s: %zu entries]\n", place.shown, names.n);
	put_page(j, &names, dir, offset, limit);
	names_release(&names);
	(void)close(dir);
	return 0;
}
