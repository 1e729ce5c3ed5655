/* tools/exec/evidence.h: what a stream of output said, in bounded memory: its beginning, its end,
 * and how much there was. */
#ifndef TOOLS_EXEC_EVIDENCE_H
#define TOOLS_EXEC_EVIDENCE_H

#include <stdint.h>

#include "base/str.h"

/* Two streams in full are as long as a page of any other tool (TOOL_PAGE_BYTES). */
#define EVIDENCE_HEAD ((size_t)8000)
#define EVIDENCE_TAIL ((size_t)12000)

/* All zero is empty. */
struct evidence {
	uint64_t total; /* bytes that came */
	char head[EVIDENCE_HEAD];
	char tail[EVIDENCE_TAIL]; /* a ring: what came after the head */
};

void evidence_add(struct evidence *ev, struct view in);
/* "[NAME: 12 bytes]" and the text; what is missing in the middle is counted in that line and where
 * it is missing. Nothing when nothing came. The text is safe: valid UTF-8 without controls. */
void evidence_write(const struct evidence *ev, const char *name, struct str *out);

#endif
