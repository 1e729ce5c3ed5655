#include "base/file.h"

#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define LINKS_MAX 40 /* as the kernel */

/* What is left of a path: behind a link it is the link's target and what followed. */
static int put_target(struct str *rest, const char *link, ssize_t n)
{
	struct str next = STR_INIT(PATH_SIZE);
	int rc = str_add(&next, (struct view){ link, (size_t)n }) | str_addc(&next, '/') |
	         str_add(&next, str_view(rest));

	str_release(rest);
	*rest = next;
	return rc;
}

/* One component further. 1: that was in the folder, or there is no telling. */
static int step(struct str *at, struct str *rest, const char *folder, int *links)
{
	size_t was = at->n, n = view_find(str_view(rest), '/');
	char name[PATH_SIZE], link[PATH_SIZE];
	ssize_t to;

	(void)copy_z(name, sizeof(name), view_cut(str_view(rest), n));
	str_drop(rest, n < rest->n ? n + 1 : n);
	if (strcmp(name, "") == 0 || strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		const char *slash = strrchr(str_cstr(at), '/');

		str_truncate(at, slash ? (size_t)(slash - at->p) : 0);
		return 0;
	}
	if (str_addc(at, '/') < 0 || str_adds(at, name) < 0)
		return 1;
	if (path_lies_in(str_cstr(at), folder))
		return 1;
	to = readlink(str_cstr(at), link, sizeof(link));
	if (to < 0)
		return 0;
	str_truncate(at, link[0] == '/' ? 0 : was);
	return ++*links > LINKS_MAX || put_target(rest, link, to) < 0;
}

bool path_goes_through(const char *path, const char *folder)
{
	struct str at = STR_INIT(PATH_SIZE - 1), rest = STR_INIT(PATH_SIZE);
	int links = 0, met = str_adds(&rest, path) < 0;

	while (!met && rest.n > 0)
		met = step(&at, &rest, folder, &links);
	str_release(&at);
	str_release(&rest);
	return met;
}
