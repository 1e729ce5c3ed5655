/* A folder that a test has made, removed with everything in it. */
#ifndef TESTS_REMOVE_TREE_H
#define TESTS_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static inline int remove_node(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int remove_tree(const char *dir) /* 0 or -1 */
{
	return nftw(dir, remove_node, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
