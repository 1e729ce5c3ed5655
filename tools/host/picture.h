/* tools/host/picture.h: a picture file made fit for a model (tools/exec/picture.c), by kairo-tool
 * behind its fence, beneath what calls of the turn may read. It is no tool that a model could call:
 * the engine asks for what the user has sent or named, and nothing is recorded. */
#ifndef TOOLS_HOST_PICTURE_H
#define TOOLS_HOST_PICTURE_H

#include "tools/host/registry.h"

/* path: absolute, or relative to the workspace. The result is for picture_read; when it is not ok,
 * its text is a sentence that tells why not, for the model. done fires once, from the loop; the
 * handle is one of tools_start. -1: it did not begin, e tells why. */
int picture_load(struct tool_run **out, struct tools *t, uint64_t turn, struct view path,
	tool_done_cb *done, void *arg, struct err *e);

struct picture {
	struct view type;   /* "image/png" or "image/jpeg" */
	struct view note;   /* what is to be said of it, one line; may be empty */
	struct view base64; /* at most 5 MiB */
};

/* The parts of the text of a result that is ok. -1: it has none. */
int picture_read(struct view text, struct picture *out);

#endif
