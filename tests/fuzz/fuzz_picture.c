/* tools/exec: any bytes are a picture within the limits, or are refused with a reason. */
#include "fuzz.h"

#include "tools/exec/codec.h"

#define PIXELS_MAX 250000u /* of one that is decoded here */

static void turn_and_shrink(struct image *im, int orientation)
{
	struct image less;
	struct err e = ERR_INIT;

	must(image_turn(im, orientation, &e) == 0);
	must(image_shrink(im, (im->width + 1) / 2, (im->height + 1) / 2, &less, &e) == 0);
	image_release(&less);
}

static void decode(const struct codec *c, struct picture_head *h, struct view file)
{
	struct str said = STR_INIT(1000), copy = STR_INIT(PICTURE_SOURCE_MAX);
	struct image im;
	struct err e = ERR_INIT;

	if (codec_decode(c, h, file, &im, &said, &e) == 0) {
		must(im.width == h->width && im.height == h->height);
		turn_and_shrink(&im, h->orientation);
		must(codec_put_png(c, &im, &copy, &e) == 1);
	} else {
		must(e.msg[0] != '\0');
	}
	image_release(&im);
	str_reset(&copy);
	if (h->kind == PICTURE_JPEG)
		must(codec_copy_jpeg(c, h, file, &copy, &said, &e) >= 0);
	str_release(&said);
	str_release(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct view file = { (const char *)data, size };
	struct picture_head h;
	struct codec *c;
	struct err e = ERR_INIT;

	if (picture_head_read(&h, file, &e) < 0) {
		must(e.msg[0] != '\0');
		return 0;
	}
	must(h.orientation >= 1 && h.orientation <= 8);
	must((uint64_t)h.width * h.height <= PICTURE_PIXELS_MAX && h.width > 0 && h.height > 0);
	if ((uint64_t)h.width * h.height > PIXELS_MAX)
		return 0;
	must(codec_open(&c, &e) == 0);
	decode(c, &h, file);
	codec_close(&c);
	return 0;
}
