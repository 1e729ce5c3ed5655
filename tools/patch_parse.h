/* tools/patch_parse.h: a unified diff, read strictly: by the host ahead of the verdict, by
 * kairo-tool to make it.
 *
 * What is taken: files as "--- NAME", "+++ NAME" and hunks, with or without a "diff --git" line.
 * Both names are the same file, as it is called or with a/ and b/ before it; /dev/null on one
 * side creates or deletes it. Names may be quoted as in C. What a diff cannot say in lines, or
 * what moves a file or changes its mode, is refused by name. The counts of a hunk must be right;
 * the start of its new side says nothing that the old side does not, and is not looked at. */
#ifndef TOOLS_PATCH_PARSE_H
#define TOOLS_PATCH_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define PATCH_BYTES_MAX ((size_t)1 << 20)
#define PATCH_FILES_MAX 100
#define PATCH_HUNKS_MAX 1000

struct patch_hunk {
	size_t old_start, old_count, new_start, new_count; /* as written: lines from 1 */
	struct view body;                                  /* for patch_next */
	size_t line;                                       /* of its "@@" in the patch, from 1 */
};

enum patch_kind { PATCH_CHANGE, PATCH_CREATE, PATCH_DELETE };

struct patch_file {
	char *path; /* as written, without a/ or b/; not checked against any folder */
	enum patch_kind kind;
	const struct patch_hunk *hunks; /* in the order of their old sides, not overlapping */
	size_t nhunks;
	size_t added, removed; /* lines */
	bool has_cr;           /* some line ends in CR */
	size_t line;           /* where it begins in the patch */
};

struct patch {
	struct patch_file files[PATCH_FILES_MAX];
	size_t nfiles;
	struct patch_hunk hunks[PATCH_HUNKS_MAX];
	size_t nhunks;
};

/* Views in it point into text. The message names the line of the patch. */
int patch_parse(struct patch **out, struct view text, struct err *e);
void patch_free(struct patch **p);

struct patch_line {
	char kind;        /* ' ' '-' '+' */
	struct view text; /* without its line end */
	bool ends;        /* false: "\ No newline at end of file" stands below it */
};

/* The next line of a body that patch_parse has accepted; false behind the last. */
bool patch_next(struct view *body, struct patch_line *line);

#endif
