/* tools/exec/change.h: files that are created, replaced and removed together, all of them or none.
 *
 * First each new content is written beside its place under a name of its own and brought to disk.
 * Then the names are changed, one rename after the other; what was there before keeps a name beside
 * it until all is done. When one step fails, or the tool is told to stop, those before it are taken
 * back. A tool that is killed in the middle leaves every file either as it was or as it was to be;
 * what it leaves besides is removed by a later one (tools/exec/leftover.h).
 *
 * The mode of a replaced file is kept, its owner where that is permitted. Symbolic links are not
 * followed anywhere, files with several hard links and those that may not be written are
 * refused. */
#ifndef TOOLS_EXEC_CHANGE_H
#define TOOLS_EXEC_CHANGE_H

#include "tools/exec/leftover.h"
#include "tools/exec/tool.h"

enum change_kind { CHANGE_CREATE, CHANGE_REPLACE, CHANGE_REMOVE };

struct change {
	enum change_kind kind;
	struct place place;
	struct view content; /* of CREATE and REPLACE */
	struct stat was;     /* of REPLACE and REMOVE: the file that the change was made for */

	/* private */
	int dir;
	char name[256];
	char temp
		[LEFTOVER_SIZE]; /* beside it: new content before, old content after; "" for none */
	struct stat made;
	int folders; /* that were made for it */
	bool done;
};

/* E_CONFLICT: a file is no longer the one in `was`, or one that was to be created is there. */
int changes_make(struct tool_job *j, struct change *list, size_t n, struct err *e);

/* The lines between the first and the last that differ, in both texts. */
void count_changed(struct view old, struct view new, size_t *removed, size_t *added);

#endif
