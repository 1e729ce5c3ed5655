/* tools/host/wording.h: what a question says around a call's own values, as codes. The words to
 * them stand in the one table of channel/, which whoever opens the tools hands to them. */
#ifndef TOOLS_HOST_WORDING_H
#define TOOLS_HOST_WORDING_H

#include <stdbool.h>

#include "base/str.h"

enum wording {
	/* Ahead of a value */
	WORDING_ARGUMENT, /* {1} the argument's name, as the tool has it */
	WORDING_FOLDER,   /* the one in which the tool works */
	WORDING_FILES,    /* those of a patch */
	/* Of a file in a patch: {1} its path */
	WORDING_FILE_NEW,
	WORDING_FILE_DELETED,
	WORDING_SIZE, /* {1} bytes, {2} lines: of the next four; of a content */
	WORDING_BYTE,
	WORDING_BYTES, /* {1} how many; so of the lines */
	WORDING_LINE,
	WORDING_LINES,
	WORDING_CUT, /* {1} bytes; what stands for them */

	WORDING_COUNT
};

/* Appends the words, in Chinese or else in English; args takes the places {1} and {2} and ends with
 * NULL. 0 or -1 (memory, ceiling). */
typedef int wording_fn(struct str *out, bool zh, enum wording w, const char *const *args);

#endif
