#include "tools/exec/image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int image_open(struct image *im, uint32_t width, uint32_t height, size_t bytes, struct err *e)
{
	im->width = width;
	im->height = height;
	im->pixels = malloc((size_t)width * height * bytes);
	return im->pixels ? 0
	                  : err_set(e, E_NOMEM, "there is no memory for %u x %u pixels", width,
				    height);
}

void image_release(struct image *im)
{
	free(im->pixels);
	im->pixels = NULL;
}

/* What is not needed any more of four bytes a pixel is given back. */
static void trim(struct image *im)
{
	unsigned char *less = realloc(im->pixels, (size_t)im->width * im->height * 3);

	if (less)
		im->pixels = less;
}

void image_flatten(struct image *im)
{
	const unsigned char *in = im->pixels, *end = in + (size_t)im->width * im->height * 4;

	for (unsigned char *out = im->pixels; in < end; in += 4) {
		unsigned alpha = in[3];

		for (int c = 0; c < 3; c++)
			*out++ = (unsigned char)((in[c] * alpha + 255 * (255 - alpha) + 127) / 255);
	}
	trim(im);
}

void image_from_cmyk(struct image *im)
{
	const unsigned char *in = im->pixels, *end = in + (size_t)im->width * im->height * 4;

	for (unsigned char *out = im->pixels; in < end; in += 4) {
		unsigned black = in[3];

		for (int c = 0; c < 3; c++)
			*out++ = (unsigned char)((in[c] * black + 127) / 255);
	}
	trim(im);
}

/* --- Orientation ------------------------------------------------------------------------------ */

/* EXIF 2.3, 4.6.4: what the stored rows and columns are of the upright picture. */
static const struct {
	bool swapped;     /* rows are its columns */
	bool right, down; /* of the stored picture: x goes with it from the right, y from below */
} turns[9] = {
	[1] = { false, false, false },
	[2] = { false, true, false },
	[3] = { false, true, true },
	[4] = { false, false, true },
	[5] = { true, false, false },
	[6] = { true, false, true },
	[7] = { true, true, true },
	[8] = { true, true, false },
};

static void copy_turned(const struct image *im, struct image *out, int orientation)
{
	unsigned char *to = out->pixels;

	for (uint32_t y = 0; y < out->height; y++) {
		for (uint32_t x = 0; x < out->width; x++, to += 3) {
			uint32_t sx = turns[orientation].swapped ? y : x;
			uint32_t sy = turns[orientation].swapped ? x : y;

			if (turns[orientation].right)
				sx = im->width - 1 - sx;
			if (turns[orientation].down)
				sy = im->height - 1 - sy;
			memcpy(to, im->pixels + ((size_t)sy * im->width + sx) * 3, 3);
		}
	}
}

int image_turn(struct image *im, int orientation, struct err *e)
{
	bool swapped = orientation > 4;
	struct image out;

	if (orientation <= 1)
		return 0;
	if (image_open(&out, swapped ? im->height : im->width, swapped ? im->width : im->height, 3,
		    e) < 0)
		return -1;
	copy_turned(im, &out, orientation);
	image_release(im);
	*im = out;
	return 0;
}

/* --- Size ------------------------------------------------------------------------------------- */

/* The old pixels that a new one covers, of `from` that become `to`; lengths are counted in parts
 * that divide both: an old pixel has `to` of them, a new one `from`. */
struct span {
	uint32_t first, last;
};

static struct span span_of(uint32_t at, uint32_t from, uint32_t to)
{
	uint64_t begin = (uint64_t)at * from, end = begin + from - 1;

	return (struct span){ (uint32_t)(begin / to), (uint32_t)(end / to) };
}

/* How many of its parts an old pixel has in the new one. */
static uint64_t share(uint32_t old, uint32_t at, uint32_t from, uint32_t to)
{
	uint64_t begin = (uint64_t)old * to, end = begin + to;
	uint64_t first = (uint64_t)at * from, last = first + from;

	return (end < last ? end : last) - (begin > first ? begin : first);
}

/* One old row, its weight in the new one, added up. */
static void add_row(const unsigned char *row, uint32_t from, uint32_t to, uint64_t weight,
	uint64_t *sums)
{
	for (uint32_t x = 0; x < to; x++, sums += 3) {
		struct span s = span_of(x, from, to);

		for (uint32_t i = s.first; i <= s.last; i++) {
			uint64_t w = weight * share(i, x, from, to);

			for (uint32_t c = 0; c < 3; c++)
				sums[c] += w * row[(size_t)i * 3 + c];
		}
	}
}

int image_shrink(const struct image *im, uint32_t width, uint32_t height, struct image *out,
	struct err *e)
{
	uint64_t *sums = calloc((size_t)width * 3, sizeof(*sums));
	const uint64_t whole = (uint64_t)im->width * im->height;

	out->pixels = NULL;
	if (!sums)
		return err_set(e, E_NOMEM, "there is no memory for a picture");
	if (image_open(out, width, height, 3, e) < 0) {
		free(sums);
		return -1;
	}
	for (uint32_t y = 0; y < height; y++) {
		struct span s = span_of(y, im->height, height);
		unsigned char *row = out->pixels + (size_t)y * width * 3;

		memset(sums, 0, (size_t)width * 3 * sizeof(*sums));
		for (uint32_t i = s.first; i <= s.last; i++)
			add_row(im->pixels + (size_t)i * im->width * 3, im->width, width,
				share(i, y, im->height, height), sums);
		for (size_t x = 0; x < (size_t)width * 3; x++)
			row[x] = (unsigned char)((sums[x] + whole / 2) / whole);
	}
	free(sums);
	return 0;
}
