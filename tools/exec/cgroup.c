#include "tools/exec/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

static void put(const struct cgroup *g, const char *file, const char *text)
{
	int fd = openat(g->dir, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	(void)close(fd);
}

/* Where we are in the second version's tree: "0::/user.slice/...". */
static int own_path(char path[PATH_SIZE])
{
	char text[PATH_SIZE];
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		(void)close(fd);
	for (struct view v = { text, n > 0 ? (size_t)n : 0 }; v.n > 0;) {
		struct view line = view_cut(v, view_find(v, '\n'));

		if (view_starts(line, VIEW("0::/")))
			return copy_z(path, PATH_SIZE, view_from(line, 3));
		v = view_from(v, line.n + 1);
	}
	return -1;
}

static int open_own(void)
{
	static const char *const trees[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char own[PATH_SIZE], path[PATH_SIZE + 32];

	if (own_path(own) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		struct statfs fs;
		int fd;

		if (statfs(trees[i], &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		(void)snprintf(path, sizeof(path), "%s%s", trees[i], own);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

void cgroup_make(struct cgroup *g, int processes)
{
	char random[17], number[16];

	memset(g, 0, sizeof(*g));
	g->above = open_own();
	if (g->above < 0)
		return;
	rand_hex(random, 8);
	(void)snprintf(g->name, sizeof(g->name), "kairo-tool-%s", random);
	g->dir = mkdirat(g->above, g->name, 0700) < 0
	                 ? -1
	                 : openat(g->above, g->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g->made = true;
	/* Without this file (Linux 5.14) it is of no use. */
	if (g->dir < 0 || faccessat(g->dir, "cgroup.kill", W_OK, 0) < 0) {
		cgroup_remove(g);
		return;
	}
	(void)snprintf(number, sizeof(number), "%d", processes);
	if (processes > 0)
		put(g, "pids.max", number);
}

void cgroup_enter(const struct cgroup *g)
{
	if (g->made)
		put(g, "cgroup.procs", "0");
}

void cgroup_kill(const struct cgroup *g)
{
	if (g->made)
		put(g, "cgroup.kill", "1");
}

void cgroup_remove(struct cgroup *g)
{
	if (!g->made)
		return;
	g->made = false;
	if (g->dir >= 0) {
		(void)close(g->dir);
		(void)unlinkat(g->above, g->name, AT_REMOVEDIR);
	}
	(void)close(g->above);
}
