/* tools/exec/picture_head.h: what a picture says of itself, found without decoding it: its kind,
 * its size, which way up it is. All of it is read strictly and bounded, by the bytes and never by a
 * name; a picture that is too big is refused here, ahead of any decoder. */
#ifndef TOOLS_EXEC_PICTURE_HEAD_H
#define TOOLS_EXEC_PICTURE_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define PICTURE_SOURCE_MAX ((size_t)50 << 20) /* bytes of the file */
#define PICTURE_PIXELS_MAX 40000000u
/* Of one side: what the formats themselves can hold. A panorama is long. */
#define PICTURE_SIDE_MAX 65500u

enum picture_kind { PICTURE_JPEG, PICTURE_PNG, PICTURE_WEBP, PICTURE_GIF };

struct picture_head {
	enum picture_kind kind;
	uint32_t width, height; /* as stored */
	int orientation;        /* EXIF's: 1 (upright) to 8 */
	bool alpha;             /* PNG: something may shine through */
	bool moves;             /* it has frames; the first one counts */
	bool drawn;             /* WebP: without loss */
	struct view frame;      /* WebP: what is to be decoded */
};

/* E_UNSUPPORTED: another kind, or too big; E_FORMAT: it is not whole. The message is a sentence of
 * its own ("it is a HEIC picture..."), for the model. */
int picture_head_read(struct picture_head *h, struct view file, struct err *e);

/* The chunks of a PNG behind its signature. 1: there is one, *rest is moved on past it. 0: the end.
 * -1: it is cut off. */
#define PNG_SIGNATURE 8
struct png_chunk {
	struct view type, data, whole;
};
int png_chunk_next(struct view *rest, struct png_chunk *c);

/* EXIF's orientation in a TIFF header; 1 where there is none that is valid. */
int exif_orientation(struct view tiff);

#endif
