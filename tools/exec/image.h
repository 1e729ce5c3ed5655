/* tools/exec/image.h: pixels in memory, and what is done with them on the way to a model. */
#ifndef TOOLS_EXEC_IMAGE_H
#define TOOLS_EXEC_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Rows from the top, each pixel red, green and blue; a decoder may hold four bytes of each at
 * first. */
struct image {
	uint32_t width, height;
	unsigned char *pixels;
};

/* Room for that many bytes of each pixel, their content undefined. Release is due in any case. */
int image_open(struct image *im, uint32_t width, uint32_t height, size_t bytes, struct err *e);
void image_release(struct image *im);

/* From red, green, blue and alpha, in place: what shines through is white. */
void image_flatten(struct image *im);
/* From the inverted cyan, magenta, yellow and black that Adobe's programs write, in place. */
void image_from_cmyk(struct image *im);
/* Upright, when it is stored as EXIF's orientation (1 to 8) says. */
int image_turn(struct image *im, int orientation, struct err *e);
/* Smaller in both directions, or the same: each new pixel is the average of the area it covers. */
int image_shrink(const struct image *im, uint32_t width, uint32_t height, struct image *out,
	struct err *e);

#endif
