/* tools/exec/root.h: the folders a tool may reach, and paths opened beneath them.
 *
 * Every open goes through file_open_beneath: no symbolic link anywhere in a path, nothing above the
 * root, whatever is moved or swapped meanwhile. */
#ifndef TOOLS_EXEC_ROOT_H
#define TOOLS_EXEC_ROOT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

#define ROOTS_MAX 36 /* the workspace, 32 to read, temporary files, and a few to spare */

struct root {
	char path[PATH_SIZE]; /* absolute, without a slash at the end */
	int fd;               /* O_PATH */
	bool writable;
};

/* The first is the workspace: relative paths begin there. */
struct roots {
	struct root list[ROOTS_MAX];
	int n;
	char closed[PATH_SIZE]; /* one to be read that is out of reach; "" none */
	uid_t who;              /* for whom it is */
};

int roots_add(struct roots *r, struct view path, bool writable, struct err *e);
/* Is it beneath one of them that is writable? Then it is reached by that one, whatever it is. */
bool roots_cover(const struct roots *r, struct view path);
/* Left out; what is asked for beneath it is refused with that reason. The last one counts. */
void roots_miss(struct roots *r, struct view path);
void roots_release(struct roots *r);

/* A path of the model, split into the root it lies under and the rest ("." for the root itself). */
struct place {
	const struct root *root;
	char rel[PATH_SIZE];
	char shown[256]; /* as the model wrote it, safe to quote */
};

/* Only by the text of the path; whether it exists is for the opens below. E_DENIED when it lies
 * under no root. */
int place_find(struct place *out, const struct roots *r, struct view path, struct err *e);

/* A regular file with one link, for reading. -1: a symlink, another kind of node, missing... */
int place_open_file(const struct place *p, struct stat *st, struct err *e);
/* A folder, for reading its entries. */
int place_open_dir(const struct place *p, struct err *e);
/* Regular file, folder or neither: fills st without following a link. */
int place_stat(const struct place *p, struct stat *st, struct err *e);
/* May p be written, by the text of its path alone: beneath a writable root, without "..", not in a
 * .git folder (in any case of letters), not the root itself. */
int place_may_write(const struct place *p, struct err *e);
/* The folder that holds the file p, made with all its parents where it is missing; name gets the
 * last component, *made how many folders were made. Only where place_may_write. `before` is called
 * ahead of the first change. On failure too, *made is for place_drop_parents. */
int place_open_parent(const struct place *p, char name[256], void (*before)(void *), void *arg,
	int *made, struct err *e);
/* Removes that many folders above p again, the deepest first, as far as they are empty. */
void place_drop_parents(const struct place *p, int made);
int folder_sync(int dir); /* the names in it, to disk; dir may be O_PATH. -1 with errno */

#endif
