#include "tools/exec/picture_head.h"

#include <string.h>

static unsigned byte_at(struct view v, size_t at)
{
	return at < v.n ? (unsigned char)v.p[at] : 0;
}

/* Of up to four bytes; what lies behind the end counts as zero. */
static uint32_t big(struct view v, size_t at, size_t n)
{
	uint32_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | byte_at(v, at + i);
	return value;
}

static uint32_t little(struct view v, size_t at, size_t n)
{
	uint32_t value = 0;

	while (n-- > 0)
		value = value << 8 | byte_at(v, at + n);
	return value;
}

static bool has(struct view v, size_t at, struct view what)
{
	return view_starts(view_from(v, at), what);
}

static int cut_off(struct err *e)
{
	return err_set(e, E_FORMAT, "it is damaged: it is cut off, or is no whole picture");
}

/* --- EXIF ------------------------------------------------------------------------------------- */

#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT      3

int exif_orientation(struct view tiff)
{
	bool intel = view_starts(tiff, VIEW("II*\0"));
	uint32_t (*number)(struct view, size_t, size_t) = intel ? little : big;
	size_t at, entries;

	if (!intel && !view_starts(tiff, VIEW("MM\0*")))
		return 1;
	at = number(tiff, 4, 4);
	entries = number(tiff, at, 2);
	for (at += 2; entries > 0 && at + 12 <= tiff.n; at += 12, entries--) {
		uint32_t value = number(tiff, at + 8, 2);

		if (number(tiff, at, 2) != TAG_ORIENTATION)
			continue;
		return number(tiff, at + 2, 2) == TYPE_SHORT && number(tiff, at + 4, 4) == 1 &&
		                       value >= 1 && value <= 8
		               ? (int)value
		               : 1;
	}
	return 1;
}

static int orientation_of(struct view exif)
{
	return exif_orientation(has(exif, 0, VIEW("Exif\0\0")) ? view_from(exif, 6) : exif);
}

/* --- JPEG ------------------------------------------------------------------------------------- */

enum { JPEG_SOS = 0xda, JPEG_EOI = 0xd9, JPEG_APP1 = 0xe1, JPEG_TEM = 0x01 };

static bool is_frame(unsigned marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
	       marker != 0xcc;
}

static bool stands_alone(unsigned marker)
{
	return marker == JPEG_TEM || (marker >= 0xd0 && marker <= 0xd8);
}

/* Up to the first scan. */
static int read_jpeg(struct picture_head *h, struct view file, struct err *e)
{
	size_t at = 2;

	for (;;) {
		unsigned marker;
		struct view body;

		at += view_find(view_from(file, at), '\xff');
		while (byte_at(file, at) == 0xff)
			at++;
		marker = byte_at(file, at++);
		if (at >= file.n || marker == JPEG_EOI)
			return cut_off(e);
		if (marker == 0 || stands_alone(marker))
			continue;
		if (marker == JPEG_SOS)
			return h->width > 0 ? 0 : cut_off(e);
		body = view_cut(view_from(file, at), big(file, at, 2));
		if (body.n < 2)
			return cut_off(e);
		at += body.n;
		if (is_frame(marker) && h->width == 0) {
			h->height = big(body, 3, 2);
			h->width = big(body, 5, 2);
		} else if (marker == JPEG_APP1 && has(body, 2, VIEW("Exif\0\0"))) {
			h->orientation = orientation_of(view_from(body, 2));
		}
	}
}

/* --- PNG -------------------------------------------------------------------------------------- */

int png_chunk_next(struct view *rest, struct png_chunk *c)
{
	size_t n = big(*rest, 0, 4);

	if (rest->n == 0)
		return 0;
	if (rest->n < 12 || n > rest->n - 12)
		return -1;
	c->whole = view_cut(*rest, n + 12);
	c->type = view_cut(view_from(c->whole, 4), 4);
	c->data = view_cut(view_from(c->whole, 8), n);
	*rest = view_from(*rest, n + 12);
	return 1;
}

static int read_png(struct picture_head *h, struct view file, struct err *e)
{
	struct view rest = view_from(file, PNG_SIGNATURE);
	struct png_chunk c;

	if (png_chunk_next(&rest, &c) != 1 || !view_eqs(c.type, "IHDR") || c.data.n != 13)
		return cut_off(e);
	h->width = big(c.data, 0, 4);
	h->height = big(c.data, 4, 4);
	h->alpha = (byte_at(c.data, 9) & 4) != 0;
	while (png_chunk_next(&rest, &c) == 1) {
		if (view_eqs(c.type, "IEND"))
			return 0;
		if (view_eqs(c.type, "tRNS"))
			h->alpha = true;
		else if (view_eqs(c.type, "eXIf"))
			h->orientation = exif_orientation(c.data);
		else if (view_eqs(c.type, "acTL"))
			h->moves = true;
	}
	return cut_off(e);
}

/* --- WebP ------------------------------------------------------------------------------------- */

/* The size as the first of the kinds of image data says. */
static void take_webp_image(struct picture_head *h, struct view type, struct view data)
{
	bool drawn = view_eqs(type, "VP8L");

	if (h->width > 0 || (!drawn && !view_eqs(type, "VP8 ")))
		return;
	h->drawn = drawn;
	if (drawn) {
		uint32_t bits = little(data, 1, 4);

		h->width = (bits & 0x3fff) + 1;
		h->height = (bits >> 14 & 0x3fff) + 1;
	} else {
		h->width = little(data, 6, 2) & 0x3fff;
		h->height = little(data, 8, 2) & 0x3fff;
	}
}

static void read_chunks(struct picture_head *h, struct view rest, bool inner);

/* ANMF: 16 bytes about the frame, then its own chunks. */
static void take_webp_frame(struct picture_head *h, struct view data)
{
	if (h->moves || data.n < 16)
		return;
	h->moves = true;
	h->frame = view_from(data, 16);
	read_chunks(h, h->frame, true);
}

static void read_chunks(struct picture_head *h, struct view rest, bool inner)
{
	while (rest.n >= 8) {
		struct view type = view_cut(rest, 4);
		size_t n = little(rest, 4, 4);
		struct view data = view_cut(view_from(rest, 8), n);

		if (view_eqs(type, "ANMF") && !inner)
			take_webp_frame(h, data);
		else if (view_eqs(type, "EXIF") && !inner)
			h->orientation = orientation_of(data);
		else
			take_webp_image(h, type, data);
		rest = view_from(rest, 8 + data.n + (data.n & 1));
	}
}

static int read_webp(struct picture_head *h, struct view file, struct err *e)
{
	size_t n = little(file, 4, 4);

	if (n < 4 || n > file.n - 8)
		return cut_off(e);
	file = view_cut(file, n + 8);
	h->frame = file;
	read_chunks(h, view_from(file, 12), false);
	return h->width > 0 ? 0 : cut_off(e);
}

/* --- GIF -------------------------------------------------------------------------------------- */

static int read_gif(struct picture_head *h, struct view file, struct err *e)
{
	if (file.n < 13)
		return cut_off(e);
	h->width = little(file, 6, 2);
	h->height = little(file, 8, 2);
	return 0;
}

/* --- What it is ------------------------------------------------------------------------------- */

static const struct {
	enum picture_kind kind;
	size_t at;
	struct view mark;
	int (*read)(struct picture_head *h, struct view file, struct err *e);
} kinds[] = {
	{ PICTURE_JPEG, 0, { "\xff\xd8\xff", 3 }, read_jpeg },
	{ PICTURE_PNG, 0, { "\x89PNG\r\n\x1a\n", PNG_SIGNATURE }, read_png },
	{ PICTURE_WEBP, 8, { "WEBP", 4 }, read_webp },
	{ PICTURE_GIF, 0, { "GIF87a", 6 }, read_gif },
	{ PICTURE_GIF, 0, { "GIF89a", 6 }, read_gif },
};

/* Kinds that people send, and that are not decoded. */
static const struct {
	const char *what;
	size_t at;
	struct view mark;
} others[] = {
	{ "a HEIC picture", 4, { "ftyphei", 7 } },
	{ "a HEIC picture", 4, { "ftyphev", 7 } },
	{ "a HEIC picture", 4, { "ftypmif1", 8 } },
	{ "a HEIC picture", 4, { "ftypmsf1", 8 } },
	{ "an AVIF picture", 4, { "ftypavi", 7 } },
	{ "a video", 4, { "ftyp", 4 } },
	{ "a JPEG XL picture", 0, { "\xff\x0a", 2 } },
	{ "a JPEG XL picture", 0, { "\0\0\0\x0cJXL ", 8 } },
	{ "a JPEG 2000 picture", 0, { "\0\0\0\x0cjP  ", 8 } },
	{ "a BMP picture", 0, { "BM", 2 } },
	{ "a TIFF picture", 0, { "II*\0", 4 } },
	{ "a TIFF picture", 0, { "MM\0*", 4 } },
	{ "a Photoshop picture", 0, { "8BPS", 4 } },
	{ "an icon", 0, { "\0\0\1\0", 4 } },
	{ "an SVG drawing", 0, { "<svg", 4 } },
	{ "an SVG drawing or another XML file", 0, { "<?xml", 5 } },
	{ "a PDF document", 0, { "%PDF", 4 } },
};

static int refuse(struct view file, struct err *e)
{
	const char *what = "no picture of a kind that is known";

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (has(file, others[i].at, others[i].mark)) {
			what = others[i].what;
			break;
		}
	}
	if (file.n == 0)
		what = "empty";
	return err_set(e, E_UNSUPPORTED,
		"it is %s; JPEG, PNG, WebP and GIF can be shown, so it has to be made one of these",
		what);
}

static int check_size(const struct picture_head *h, struct err *e)
{
	if (h->width == 0 || h->height == 0)
		return err_set(e, E_FORMAT, "it is damaged: it says that it has no pixels");
	if (h->width > PICTURE_SIDE_MAX || h->height > PICTURE_SIDE_MAX ||
		(uint64_t)h->width * h->height > PICTURE_PIXELS_MAX)
		return err_set(e, E_UNSUPPORTED,
			"it has %u x %u pixels, and at most %u million can be shown, none of its "
			"sides longer than %u; a smaller copy is needed",
			h->width, h->height, PICTURE_PIXELS_MAX / 1000000, PICTURE_SIDE_MAX);
	return 0;
}

int picture_head_read(struct picture_head *h, struct view file, struct err *e)
{
	memset(h, 0, sizeof(*h));
	h->orientation = 1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!has(file, kinds[i].at, kinds[i].mark))
			continue;
		h->kind = kinds[i].kind;
		if (h->kind == PICTURE_WEBP && !view_starts(file, VIEW("RIFF")))
			break;
		return kinds[i].read(h, file, e) < 0 ? -1 : check_size(h, e);
	}
	return refuse(file, e);
}
