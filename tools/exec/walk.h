/* tools/exec/walk.h: the entries of folders, sorted, bounded, without following a link. */
#ifndef TOOLS_EXEC_WALK_H
#define TOOLS_EXEC_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "tools/exec/tool.h"

#define WALK_DIR_MAX   ((size_t)20000)  /* entries of one folder that are looked at */
#define WALK_TOTAL_MAX ((size_t)200000) /* entries of one walk */
#define WALK_DEPTH_MAX 40

/* The names in one folder, "." and ".." left out, in order of their bytes. */
struct names {
	char **list;
	size_t n, cap;
	bool cut; /* the folder had more than WALK_DIR_MAX */
};
/* Takes dirfd over and closes it. */
int names_read(struct names *out, int dirfd, struct err *e);
void names_release(struct names *names);

enum walk_kind { WALK_FILE, WALK_DIR, WALK_LINK, WALK_OTHER };

struct walk_entry {
	struct view path; /* relative to where the walk began */
	enum walk_kind kind;
	int dirfd; /* of the folder it is in */
	const char *name;
};

/* What a walk left out. */
struct walk_gaps {
	bool entries, depth, time;
	size_t unreadable;
};

enum walk_next { WALK_ON, WALK_SKIP, WALK_STOP }; /* SKIP: not into this folder */
typedef enum walk_next walk_fn(void *arg, const struct walk_entry *w);

/* Depth first, each folder's entries in order; a folder is shown before what is in it. The inside
 * of .git is left out. dirfd is taken over. -1: not even the first folder could be read. */
int walk_run(struct tool_job *j, int dirfd, walk_fn *fn, void *arg, struct walk_gaps *gaps,
	struct err *e);
/* "[partial: ...]" lines for what was left out; nothing when nothing was. */
void walk_say_gaps(const struct walk_gaps *gaps, struct str *out);

#endif
