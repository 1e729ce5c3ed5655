/* tools/exec/patch_apply.h: the hunks of one file made to its text. */
#ifndef TOOLS_EXEC_PATCH_APPLY_H
#define TOOLS_EXEC_PATCH_APPLY_H

#include <stdbool.h>

#include "base/str.h"
#include "tools/patch_parse.h"

/* Fills out, which is empty, with old and all hunks made. Every hunk must fit at the line it names,
 * byte for byte; nothing is moved and nothing is near enough. One thing is understood: where every
 * line of old ends in CRLF, no line of the patch does and it does not fit as it stands, its lines
 * are taken to end in CRLF too (*crlf): a page of read_file shows such lines without their CR.
 *
 * -1: it does not fit, or out has no room. why, empty too, gets a line for each hunk that does
 * not, up to five: what the file has there, and where the lines that the hunk wants stand. What
 * out has is of no use then. */
int patch_apply(const struct patch_file *f, struct view old, struct str *out, bool *crlf,
	struct str *why);

#endif
