/* tests/unit/tools/tree.h: processes below a supervisor of their own, and how what was left behind
 * of them is found: by an argument that nobody else has. */
#ifndef TESTS_UNIT_TOOLS_TREE_H
#define TESTS_UNIT_TOOLS_TREE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "tools/exec/supervise.h"

static char mark[32];

static inline void mark_choose(void)
{
	(void)snprintf(mark, sizeof(mark), "600.%llu", (unsigned long long)(rand_u64() >> 2));
}

/* The command with each @ replaced by the mark. */
static inline const char *marked(const char *command)
{
	static char text[400];
	size_t n = 0;

	for (; *command; command++) {
		if (*command == '@')
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", mark);
		else
			text[n++] = *command;
		assert_true(n < sizeof(text));
	}
	text[n] = '\0';
	return text;
}

static inline bool has_mark(const char *pid)
{
	struct str line = STR_INIT(65536);
	char path[300];
	bool found = false;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && str_reserve(&line, 65536) == 0) {
		n = read(fd, line.p, 65536);
		found = n > 0 && memmem(line.p, (size_t)n, mark, strlen(mark));
	}
	if (fd >= 0)
		(void)close(fd);
	str_release(&line);
	return found;
}

static inline pid_t find_marked(void)
{
	DIR *d = opendir("/proc");
	const struct dirent *de;
	pid_t found = 0;

	assert_non_null(d);
	while (found == 0 && (de = readdir(d)))
		if (de->d_name[0] >= '1' && de->d_name[0] <= '9' && has_mark(de->d_name))
			found = (pid_t)strtol(de->d_name, NULL, 10);
	(void)closedir(d);
	return found;
}

static inline void expect_nobody_left(void)
{
	pid_t pid = find_marked();

	if (pid > 0)
		fail_msg("process %d is left", (int)pid);
}

/* A process that works below a supervisor. */
struct tree {
	pid_t supervisor;
	int lifeline, result; /* our ends */
};

static inline int tree_supervise(void (*work)(void *arg, int in, int out), void *arg, int in,
	int out)
{
	struct supervise s = { .lifeline = in };
	pid_t self = getpid();
	struct err e = ERR_INIT;

	if (supervise_prepare(&e) < 0)
		return 1;
	s.child = fork();
	if (s.child == 0) {
		if (supervise_child(self, &e) == 0)
			work(arg, in, out);
		_exit(0);
	}
	(void)close(out);
	return s.child < 0 ? 1 : supervise_run(&s);
}

static inline void tree_begin(struct tree *t, void (*work)(void *arg, int in, int out), void *arg)
{
	int down[2], up[2];

	assert_int_equal(0, pipe2(down, O_CLOEXEC));
	assert_int_equal(0, pipe2(up, O_CLOEXEC));
	t->supervisor = fork();
	if (t->supervisor == 0) {
		(void)close(down[1]);
		(void)close(up[0]);
		_exit(tree_supervise(work, arg, down[0], up[1]));
	}
	assert_true(t->supervisor > 0);
	(void)close(down[0]);
	(void)close(up[1]);
	t->lifeline = down[1];
	t->result = up[0];
}

static inline void tree_cut(struct tree *t)
{
	if (t->lifeline >= 0)
		(void)close(t->lifeline);
	t->lifeline = -1;
}

static inline void tree_wait(struct tree *t)
{
	(void)close(t->result);
	assert_int_equal(t->supervisor, waitpid(t->supervisor, NULL, 0));
	tree_cut(t);
}

#endif
