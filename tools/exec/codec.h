/* tools/exec/codec.h: the libraries that decode and encode pictures. They are loaded when there is
 * a picture to read, so that no other call pays for them. */
#ifndef TOOLS_EXEC_CODEC_H
#define TOOLS_EXEC_CODEC_H

#include "base/err.h"
#include "base/str.h"
#include "tools/exec/image.h"
#include "tools/exec/picture_head.h"

struct codec;

/* Loads them all, ahead of a fence that keeps them from their files. They stay loaded. */
int codec_open(struct codec **out, struct err *e);
void codec_close(struct codec **c);

/* Its pixels as stored, on white. said gets what is wrong with a picture that can be shown all the
 * same; e is a sentence, for the model. */
int codec_decode(const struct codec *c, struct picture_head *h, struct view file, struct image *out,
	struct str *said, struct err *e);

/* These append to out and give 1; or 0 when it does not fit under out's ceiling, what is in out is
 * worth nothing then; or -1. */
int codec_put_png(const struct codec *c, const struct image *im, struct str *out, struct err *e);
int codec_put_jpeg(const struct codec *c, const struct image *im, int quality, struct str *out,
	struct err *e);
/* A JPEG as it is, upright, without what else the file says. 0 also when that cannot be had without
 * a loss. */
int codec_copy_jpeg(const struct codec *c, const struct picture_head *h, struct view file,
	struct str *out, struct str *said, struct err *e);
/* A PNG as it is, with nothing but what its pixels need. */
int codec_copy_png(struct view file, struct str *out);

#endif
