/* Pictures of all kinds, made by the libraries' own encoders, and what picture makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <gif_lib.h>
#include <spng.h>
#include <sys/stat.h>
#include <turbojpeg.h>
#include <unistd.h>
#include <webp/encode.h>

#include "base/base64.h"
#include "base/file.h"
#include "tools/exec/image.h"
#include "tools/exec/picture_head.h"
#include "tools/exec/tool.h"

#include "remove_tree.h"

#define BIG        ((size_t)256 << 20)
#define BASE64_MAX ((size_t)5 << 20)

struct fix {
	char dir[64];
	struct roots roots;
	struct str file;          /* the picture that is to be shown */
	struct str out, bytes;    /* the result, and its bytes */
	char type[32], note[400]; /* of the result */
	struct image seen;        /* what its bytes show */
	struct err e;
};

static struct fix fix;

static int setup(void **state)
{
	(void)state;
	memset(&fix, 0, sizeof(fix));
	fix.file = fix.out = fix.bytes = STR_INIT(BIG);
	(void)snprintf(fix.dir, sizeof(fix.dir), "/tmp/kairo-picture-XXXXXX");
	assert_non_null(mkdtemp(fix.dir));
	assert_int_equal(0, roots_add(&fix.roots, view_of(fix.dir), true, NULL));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	roots_release(&fix.roots);
	str_release(&fix.file);
	str_release(&fix.out);
	str_release(&fix.bytes);
	image_release(&fix.seen);
	return remove_tree(fix.dir);
}

/* --- Looking at what came out ----------------------------------------------------------------- */

static void see_jpeg(void)
{
	tjhandle tj = tjInitDecompress();
	const unsigned char *from = (const unsigned char *)fix.bytes.p;
	int w, h, sampling, colours;

	assert_int_equal(0,
		tjDecompressHeader3(tj, from, fix.bytes.n, &w, &h, &sampling, &colours));
	assert_int_equal(0, image_open(&fix.seen, (uint32_t)w, (uint32_t)h, 3, NULL));
	assert_int_equal(0,
		tjDecompress2(tj, from, fix.bytes.n, fix.seen.pixels, w, 0, h, TJPF_RGB, 0));
	(void)tjDestroy(tj);
}

static void see_png(void)
{
	spng_ctx *png = spng_ctx_new(0);
	struct spng_ihdr head;

	assert_int_equal(0, spng_set_png_buffer(png, fix.bytes.p, fix.bytes.n));
	assert_int_equal(0, spng_get_ihdr(png, &head));
	assert_int_equal(0, image_open(&fix.seen, head.width, head.height, 3, NULL));
	assert_int_equal(0, spng_decode_image(png, fix.seen.pixels,
				    (size_t)head.width * head.height * 3, SPNG_FMT_RGB8, 0));
	spng_ctx_free(png);
}

static void put_file(const char *name)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", fix.dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	for (struct view rest = str_view(&fix.file); rest.n > 0;) {
		ssize_t n = write(fd, rest.p, rest.n);

		assert_true(n > 0);
		rest = view_from(rest, (size_t)n);
	}
	(void)close(fd);
}

static void take_line(char *out, size_t size, struct view *rest)
{
	size_t n = view_find(*rest, '\n');

	assert_int_equal(0, copy_z(out, size, view_cut(*rest, n)));
	*rest = view_from(*rest, n + 1);
}

/* The tool on that file. */
static int run(const char *name)
{
	struct tool_job job = { .roots = &fix.roots, .out = &fix.out };
	struct str text = STR_INIT(1000);
	struct json *args;
	int rc;

	str_reset(&fix.out);
	fix.e = (struct err)ERR_INIT;
	assert_int_equal(0, str_addf(&text, "{\"path\":\"%s\"}", name));
	assert_int_equal(0, json_read(&args, str_view(&text), &json_limits_wire, NULL));
	job.args = args;
	assert_int_equal(0, picture_prepare(args, &job.prepared, &fix.e));
	rc = tool_picture(&job, &fix.e);
	json_free(&args);
	str_release(&text);
	return rc;
}

/* Shows fix.file; what comes of it is in fix.type, note, bytes and seen. */
static void show(void)
{
	struct view rest;

	put_file("p");
	if (run("p") < 0)
		fail_msg("%s", fix.e.msg);
	rest = str_view(&fix.out);
	take_line(fix.type, sizeof(fix.type), &rest);
	take_line(fix.note, sizeof(fix.note), &rest);
	assert_true(rest.n <= BASE64_MAX);
	str_reset(&fix.bytes);
	assert_int_equal(0, base64_decode(rest, &fix.bytes));
	image_release(&fix.seen);
	if (strcmp(fix.type, "image/jpeg") == 0)
		see_jpeg();
	else
		see_png();
}

static void expect_refused(const char *why)
{
	put_file("p");
	if (run("p") == 0)
		fail_msg("shown; wanted: %s", why);
	if (!strstr(fix.e.msg, why))
		fail_msg("wanted: %s\ngot: %s", why, fix.e.msg);
}

static void expect_size(uint32_t width, uint32_t height)
{
	assert_int_equal(width, fix.seen.width);
	assert_int_equal(height, fix.seen.height);
}

/* About, as JPEG loses something. */
static void expect_pixel(uint32_t x, uint32_t y, int red, int green, int blue)
{
	const unsigned char *p = fix.seen.pixels + ((size_t)y * fix.seen.width + x) * 3;

	if (abs(p[0] - red) > 12 || abs(p[1] - green) > 12 || abs(p[2] - blue) > 12)
		fail_msg("(%u, %u) is %d %d %d, not %d %d %d", x, y, p[0], p[1], p[2], red, green,
			blue);
}

static bool holds(const char *word)
{
	return memmem(fix.bytes.p, fix.bytes.n, word, strlen(word)) != NULL;
}

/* --- Making pictures -------------------------------------------------------------------------- */

static void add_number(struct str *s, uint32_t n, int bytes, bool big)
{
	for (int i = 0; i < bytes; i++)
		assert_int_equal(0, str_addc(s, (char)(n >> 8 * (big ? bytes - 1 - i : i))));
}

/* Four quarters: red, green, blue, black. */
static unsigned char *quarters(int width, int height)
{
	static const unsigned char colours[4][3] = { { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 },
		{ 0, 0, 0 } };
	unsigned char *rgb = malloc((size_t)width * (size_t)height * 3);

	assert_non_null(rgb);
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			memcpy(rgb + ((size_t)y * (size_t)width + (size_t)x) * 3,
				colours[(y >= height / 2) * 2 + (x >= width / 2)], 3);
	return rgb;
}

static unsigned char *noise(size_t n)
{
	unsigned char *bytes = malloc(n);
	uint64_t seed = 88172645463325252ULL;

	assert_non_null(bytes);
	for (size_t i = 0; i < n; i++) { /* xorshift64 */
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		bytes[i] = (unsigned char)(seed >> 24);
	}
	return bytes;
}

static void make_jpeg(const unsigned char *pixels, int format, int width, int height, int quality,
	int flags)
{
	tjhandle tj = tjInitCompress();
	unsigned char *buffer = NULL;
	unsigned long n = 0;

	assert_int_equal(0, tjCompress2(tj, pixels, width, 0, height, format, &buffer, &n,
				    format == TJPF_CMYK ? TJSAMP_444 : TJSAMP_420, quality, flags));
	str_reset(&fix.file);
	assert_int_equal(0, str_add(&fix.file, (struct view){ (char *)buffer, n }));
	tjFree(buffer);
	(void)tjDestroy(tj);
}

static void make_quarters_jpeg(int width, int height)
{
	unsigned char *rgb = quarters(width, height);

	make_jpeg(rgb, TJPF_RGB, width, height, 95, 0);
	free(rgb);
}

/* EXIF 2.3: a TIFF header with one entry, behind a camera's name that must not be handed on. */
static void add_exif_body(struct str *s, int orientation, bool big)
{
	assert_int_equal(0, str_add(s, big ? VIEW("MM\0*") : VIEW("II*\0")));
	add_number(s, 8, 4, big);
	add_number(s, 1, 2, big);
	add_number(s, 0x0112, 2, big);
	add_number(s, 3, 2, big);
	add_number(s, 1, 4, big);
	add_number(s, (uint32_t)orientation, 2, big);
	add_number(s, 0, 2, big);
	add_number(s, 0, 4, big);
	assert_int_equal(0, str_adds(s, "SecretCamera"));
}

static void insert_exif(int orientation, bool big)
{
	struct str with = STR_INIT(BIG), body = STR_INIT(1000);

	add_exif_body(&body, orientation, big);
	assert_int_equal(0, str_add(&with, view_cut(str_view(&fix.file), 2)));
	assert_int_equal(0, str_add(&with, VIEW("\xff\xe1")));
	add_number(&with, (uint32_t)body.n + 8, 2, true);
	assert_int_equal(0, str_add(&with, VIEW("Exif\0\0")));
	assert_int_equal(0, str_add(&with, str_view(&body)));
	assert_int_equal(0, str_add(&with, view_from(str_view(&fix.file), 2)));
	str_release(&fix.file);
	str_release(&body);
	fix.file = with;
}

struct png_plan {
	uint32_t width, height;
	uint8_t depth, colour, interlace;
	const void *pixels; /* as they are in the file, 16 bit: of this machine */
	size_t n;
	const struct spng_plte *palette;
	const struct spng_trns *clear;
	bool talks;      /* has a text chunk */
	int orientation; /* in an eXIf chunk; 0: none */
};

static void make_png(const struct png_plan *p)
{
	struct spng_ihdr head = { .width = p->width, .height = p->height };
	struct spng_text text = { .type = SPNG_TEXT, .keyword = "Comment" };
	char said[] = "SecretComment";
	struct str body = STR_INIT(1000);
	struct spng_exif exif;
	spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	void *bytes;
	size_t n;
	int rc;

	head.bit_depth = p->depth;
	head.color_type = p->colour;
	head.interlace_method = p->interlace;
	text.text = said;
	text.length = sizeof(said) - 1;
	assert_int_equal(0, spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1));
	assert_int_equal(0, spng_set_ihdr(png, &head));
	if (p->palette) {
		struct spng_plte copy = *p->palette;

		assert_int_equal(0, spng_set_plte(png, &copy));
	}
	if (p->clear) {
		struct spng_trns copy = *p->clear;

		assert_int_equal(0, spng_set_trns(png, &copy));
	}
	if (p->talks)
		assert_int_equal(0, spng_set_text(png, &text, 1));
	if (p->orientation) { /* what is set is not copied */
		add_exif_body(&body, p->orientation, true);
		exif = (struct spng_exif){ .length = body.n, .data = body.p };
		assert_int_equal(0, spng_set_exif(png, &exif));
	}
	assert_int_equal(0,
		spng_encode_image(png, p->pixels, p->n, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE));
	bytes = spng_get_png_buffer(png, &n, &rc);
	assert_non_null(bytes);
	str_reset(&fix.file);
	assert_int_equal(0, str_add(&fix.file, (struct view){ bytes, n }));
	free(bytes);
	spng_ctx_free(png);
	str_release(&body);
}

static void make_rgb_png(const unsigned char *rgb, uint32_t width, uint32_t height)
{
	const struct png_plan plan = { .width = width,
		.height = height,
		.depth = 8,
		.colour = SPNG_COLOR_TYPE_TRUECOLOR,
		.pixels = rgb,
		.n = (size_t)width * height * 3 };

	make_png(&plan);
}

static int on_gif(GifFileType *g, const GifByteType *from, int n)
{
	(void)g;
	return str_add(&fix.file, (struct view){ (const char *)from, (size_t)n }) == 0 ? n : 0;
}

/* Frames of 4 x 2 at (1, 1) in 6 x 4: a red row, then one that shows through. */
static void make_gif(int frames, bool interlaced)
{
	GifColorType colours[4] = { { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 }, { 0, 0, 0 } };
	ColorMapObject *map = GifMakeMapObject(4, colours);
	GifPixelType rows[2][4] = { { 0, 0, 0, 0 }, { 3, 3, 1, 1 } };
	const GifByteType control[4] = { 1, 10, 0, 3 };
	int error;
	GifFileType *g;

	str_reset(&fix.file);
	g = EGifOpen(NULL, on_gif, &error);
	assert_non_null(g);
	EGifSetGifVersion(g, true);
	assert_int_equal(GIF_OK, EGifPutScreenDesc(g, 6, 4, 2, 0, map));
	for (int i = 0; i < frames; i++) {
		assert_int_equal(GIF_OK, EGifPutExtension(g, GRAPHICS_EXT_FUNC_CODE, 4, control));
		assert_int_equal(GIF_OK, EGifPutImageDesc(g, 1, 1, 4, 2, interlaced, NULL));
		for (int y = 0; y < 2; y++)
			assert_int_equal(GIF_OK, EGifPutLine(g, rows[y], 4));
	}
	assert_int_equal(GIF_OK, EGifCloseFile(g, &error));
	GifFreeMapObject(map);
}

static void take_webp(size_t n, uint8_t **bytes)
{
	assert_true(n > 0);
	str_reset(&fix.file);
	assert_int_equal(0, str_add(&fix.file, (struct view){ (char *)*bytes, n }));
	WebPFree(*bytes);
}

/* --- JPEG ------------------------------------------------------------------------------------- */

static void a_jpeg_stays_as_it_is_but_for_what_it_says(void **state)
{
	(void)state;
	make_quarters_jpeg(64, 32);
	insert_exif(1, true);
	show();
	assert_string_equal("image/jpeg", fix.type);
	assert_string_equal("", fix.note);
	expect_size(64, 32);
	expect_pixel(8, 8, 255, 0, 0);
	expect_pixel(56, 24, 0, 0, 0);
	assert_false(holds("SecretCamera"));
	assert_false(holds("Exif"));
}

/* EXIF 2.3, 4.6.4 A: where the first row and column of what is stored are. Shows fix.file, whose
 * stored quarters are red, green / blue, black, w x h in all, and looks at its corners. */
static void expect_upright(int orientation, int w, int h)
{
	/* The quarter that is at the top left, top right, bottom left of the upright picture. */
	enum { R, G, B, K };
	static const int corners[9][3] = {
		[1] = { R, G, B },
		[2] = { G, R, K }, /* top, right side */
		[3] = { K, B, G }, /* bottom, right side */
		[4] = { B, K, R }, /* bottom, left side */
		[5] = { R, B, G }, /* left side, top */
		[6] = { B, R, K }, /* right side, top */
		[7] = { K, G, B }, /* right side, bottom */
		[8] = { G, K, R }, /* left side, bottom */
	};
	static const int rgb[4][3] = { { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 }, { 0, 0, 0 } };
	uint32_t W = (uint32_t)(orientation > 4 ? h : w), H = (uint32_t)(orientation > 4 ? w : h);

	show();
	expect_size(W, H);
	for (int c = 0; c < 3; c++) {
		const int *want = rgb[corners[orientation][c]];

		expect_pixel(c == 1 ? W - 6 : 5, c == 2 ? H - 6 : 5, want[0], want[1], want[2]);
	}
	assert_string_equal("", fix.note);
	assert_false(holds("SecretCamera"));
}

static void pictures_stand_upright(void **state)
{
	/* Whole blocks can be turned without a loss, others cannot. */
	static const int sizes[][2] = { { 64, 32 }, { 70, 37 } };

	(void)state;
	for (int o = 1; o <= 8; o++) {
		for (size_t i = 0; i < 4; i++) {
			int w = sizes[i / 2][0], h = sizes[i / 2][1];

			make_quarters_jpeg(w, h);
			insert_exif(o, i & 1);
			expect_upright(o, w, h);
		}
	}
}

/* PNG (third edition), 11.3.4.5: the chunk eXIf holds what follows JPEG's "Exif\0\0". */
static void pngs_stand_upright(void **state)
{
	unsigned char *rgb = quarters(70, 37);
	struct png_plan plan = { .width = 70,
		.height = 37,
		.depth = 8,
		.colour = SPNG_COLOR_TYPE_TRUECOLOR,
		.pixels = rgb,
		.n = (size_t)70 * 37 * 3 };

	(void)state;
	for (plan.orientation = 1; plan.orientation <= 8; plan.orientation++) {
		make_png(&plan);
		expect_upright(plan.orientation, 70, 37);
		assert_string_equal("image/png", fix.type);
	}
	free(rgb);
}

static void colours_for_print_are_shown(void **state)
{
	/* As Adobe's programs store it: 255 is no ink. */
	unsigned char *cmyk = malloc((size_t)32 * 32 * 4);

	(void)state;
	assert_non_null(cmyk);
	for (size_t i = 0; i < (size_t)32 * 32; i++)
		memcpy(cmyk + i * 4, "\xff\x00\x00\xff", 4);
	make_jpeg(cmyk, TJPF_CMYK, 32, 32, 100, 0);
	free(cmyk);
	show();
	expect_pixel(16, 16, 255, 0, 0);
}

static void a_jpeg_that_is_cut_off_is_told(void **state)
{
	size_t whole;

	(void)state;
	make_quarters_jpeg(256, 256);
	whole = fix.file.n;
	str_truncate(&fix.file, whole - 300);
	show();
	assert_non_null(strstr(fix.note, "damaged"));
	expect_size(256, 256);
	expect_pixel(8, 8, 255, 0, 0);
	str_truncate(&fix.file, 200);
	expect_refused("damaged");
	str_truncate(&fix.file, 3);
	expect_refused("damaged");
}

/* --- PNG -------------------------------------------------------------------------------------- */

static void a_png_stays_as_it_is_but_for_what_it_says(void **state)
{
	unsigned char *rgb = quarters(40, 20);
	struct png_plan plan = { .width = 40,
		.height = 20,
		.depth = 8,
		.colour = SPNG_COLOR_TYPE_TRUECOLOR,
		.pixels = rgb,
		.n = (size_t)40 * 20 * 3 };
	struct str bare = STR_INIT(BIG);

	(void)state;
	make_png(&plan);
	assert_int_equal(0, str_add(&bare, str_view(&fix.file)));
	plan.talks = true;
	make_png(&plan);
	assert_true(fix.file.n > bare.n);
	show();
	assert_string_equal("image/png", fix.type);
	assert_true(view_eq(str_view(&bare), str_view(&fix.bytes)));
	str_release(&bare);
	free(rgb);
}

static void what_shines_through_is_white(void **state)
{
	static const unsigned char pixels[] = { 200, 0, 0, 255, 200, 0, 0, 0, 200, 0, 0, 128, 0, 0,
		0, 128 };
	struct png_plan plan = { .width = 2,
		.height = 2,
		.depth = 8,
		.colour = SPNG_COLOR_TYPE_TRUECOLOR_ALPHA,
		.pixels = pixels,
		.n = sizeof(pixels) };

	(void)state;
	make_png(&plan);
	show();
	assert_string_equal("image/png", fix.type);
	expect_pixel(0, 0, 200, 0, 0);
	expect_pixel(1, 0, 255, 255, 255);
	expect_pixel(0, 1, 227, 127, 127);
	expect_pixel(1, 1, 127, 127, 127);
}

static void palettes_are_shown(void **state)
{
	static const unsigned char pixels[] = { 0, 1, 2, 0 };
	static const struct spng_plte palette = { .n_entries = 3,
		.entries = { { 255, 0, 0, 255 }, { 0, 255, 0, 255 }, { 9, 9, 9, 255 } } };
	static const struct spng_trns clear = { .n_type3_entries = 3,
		.type3_alpha = { 255, 255, 0 } };
	struct png_plan plan = { .width = 2,
		.height = 2,
		.depth = 8,
		.colour = SPNG_COLOR_TYPE_INDEXED,
		.pixels = pixels,
		.n = sizeof(pixels),
		.palette = &palette };

	(void)state;
	for (int i = 0; i < 2; i++) {
		plan.clear = i ? &clear : NULL;
		make_png(&plan);
		show();
		expect_pixel(0, 0, 255, 0, 0);
		expect_pixel(1, 0, 0, 255, 0);
		expect_pixel(0, 1, i ? 255 : 9, i ? 255 : 9, i ? 255 : 9);
	}
}

static void many_bits_and_grey_and_interlaced_pngs_are_shown(void **state)
{
	static const uint16_t deep[] = { 0xffff, 0, 0, 0x8000, 0, 0xffff, 0, 0x8000 };
	static const unsigned char grey[] = { 0, 128, 200, 255 };
	struct png_plan plan = { .width = 1,
		.height = 2,
		.depth = 16,
		.colour = SPNG_COLOR_TYPE_TRUECOLOR_ALPHA,
		.pixels = deep,
		.n = sizeof(deep) };
	unsigned char *rgb = quarters(33, 17);

	(void)state;
	make_png(&plan);
	show();
	expect_pixel(0, 0, 255, 127, 127);
	expect_pixel(0, 1, 127, 255, 127);
	plan = (struct png_plan){ .width = 2, .height = 2, .depth = 8, .pixels = grey, .n = 4 };
	make_png(&plan);
	show();
	expect_pixel(0, 1, 200, 200, 200);
	plan = (struct png_plan){ .width = 33,
		.height = 17,
		.depth = 8,
		.colour = SPNG_COLOR_TYPE_TRUECOLOR,
		.interlace = 1,
		.pixels = rgb,
		.n = (size_t)33 * 17 * 3 };
	make_png(&plan);
	show();
	expect_size(33, 17);
	expect_pixel(2, 2, 255, 0, 0);
	expect_pixel(30, 15, 0, 0, 0);
	free(rgb);
}

static void a_damaged_png_is_refused(void **state)
{
	unsigned char *rgb = noise((size_t)64 * 64 * 3);
	size_t whole;

	(void)state;
	make_rgb_png(rgb, 64, 64);
	whole = fix.file.n;
	fix.file.p[whole / 2] ^= 1;
	expect_refused("damaged");
	make_rgb_png(rgb, 64, 64);
	str_truncate(&fix.file, whole - 20);
	expect_refused("damaged");
	str_truncate(&fix.file, 20);
	expect_refused("damaged");
	free(rgb);
}

/* --- GIF and WebP ----------------------------------------------------------------------------- */

static void of_a_gif_the_first_frame_is_shown(void **state)
{
	(void)state;
	make_gif(1, false);
	show();
	assert_string_equal("image/png", fix.type);
	assert_string_equal("", fix.note);
	expect_size(6, 4);
	expect_pixel(0, 0, 255, 255, 255);
	expect_pixel(1, 1, 255, 0, 0);
	expect_pixel(1, 2, 255, 255, 255);
	expect_pixel(3, 2, 0, 255, 0);
	make_gif(3, true);
	show();
	assert_non_null(strstr(fix.note, "first frame"));
	expect_pixel(1, 1, 255, 0, 0);
	str_truncate(&fix.file, fix.file.n - 60);
	expect_refused("damaged");
	str_truncate(&fix.file, 10);
	expect_refused("damaged");
}

static void webp_becomes_what_every_model_reads(void **state)
{
	unsigned char *rgb = quarters(40, 20), *rgba = calloc((size_t)40 * 20, 4);
	uint8_t *bytes;

	(void)state;
	assert_non_null(rgba);
	take_webp(WebPEncodeRGB(rgb, 40, 20, 120, 90, &bytes), &bytes);
	show();
	assert_string_equal("image/jpeg", fix.type);
	expect_size(40, 20);
	expect_pixel(4, 4, 255, 0, 0);
	take_webp(WebPEncodeLosslessRGB(rgb, 40, 20, 120, &bytes), &bytes);
	show();
	assert_string_equal("image/png", fix.type);
	expect_pixel(35, 4, 0, 255, 0);
	take_webp(WebPEncodeRGBA(rgba, 40, 20, 160, 90, &bytes), &bytes);
	show();
	expect_pixel(20, 10, 255, 255, 255);
	str_truncate(&fix.file, fix.file.n - 10);
	expect_refused("damaged");
	free(rgb);
	free(rgba);
}

/* WebP container: VP8X says that metadata come, then the picture, then EXIF, as the specification
 * has it or, as some programs write it, as in a JPEG. */
static void add_webp_exif(int w, int h, int orientation, bool as_jpeg)
{
	struct str with = STR_INIT(BIG), body = STR_INIT(1000);

	if (as_jpeg)
		assert_int_equal(0, str_add(&body, VIEW("Exif\0\0")));
	add_exif_body(&body, orientation, as_jpeg);
	assert_int_equal(0, body.n & 1); /* else a byte is added */
	assert_int_equal(0, str_add(&with, VIEW("RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\x08\0\0\0")));
	add_number(&with, (uint32_t)w - 1, 3, false);
	add_number(&with, (uint32_t)h - 1, 3, false);
	assert_int_equal(0, str_add(&with, view_from(str_view(&fix.file), 12)));
	assert_int_equal(0, str_adds(&with, "EXIF"));
	add_number(&with, (uint32_t)body.n, 4, false);
	assert_int_equal(0, str_add(&with, str_view(&body)));
	for (size_t i = 0, n = with.n - 8; i < 4; i++, n >>= 8)
		with.p[4 + i] = (char)(n & 0xff);
	str_release(&fix.file);
	str_release(&body);
	fix.file = with;
}

static void webps_stand_upright(void **state)
{
	unsigned char *rgb = quarters(70, 37);

	(void)state;
	for (int o = 1; o <= 8; o++) {
		for (int i = 0; i < 4; i++) {
			uint8_t *bytes;
			size_t n = i & 1 ? WebPEncodeLosslessRGB(rgb, 70, 37, 210, &bytes)
			                 : WebPEncodeRGB(rgb, 70, 37, 210, 95, &bytes);

			take_webp(n, &bytes);
			add_webp_exif(70, 37, o, i & 2);
			expect_upright(o, 70, 37);
		}
	}
	free(rgb);
}

/* WebP container: VP8X and ANIM, then each frame in an ANMF. */
static void of_a_moving_webp_the_first_frame_is_shown(void **state)
{
	unsigned char *rgb = quarters(16, 16);
	struct str body = STR_INIT(BIG);
	uint8_t *bytes;
	size_t n = WebPEncodeLosslessRGB(rgb, 16, 16, 48, &bytes);

	(void)state;
	assert_int_equal(0, str_add(&body, VIEW("WEBPVP8X\x0a\0\0\0\x02\0\0\0\x0f\0\0\x0f\0\0"
						"ANIM\x06\0\0\0\0\0\0\0\0\0")));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(0, str_adds(&body, "ANMF"));
		add_number(&body, (uint32_t)(n - 12 + 16), 4, false);
		assert_int_equal(0, str_add(&body, VIEW("\0\0\0\0\0\0\x0f\0\0\x0f\0\0\x64\0\0\0")));
		assert_int_equal(0, str_add(&body, (struct view){ (char *)bytes + 12, n - 12 }));
	}
	assert_int_equal(0, str_adds(&fix.file, "RIFF"));
	add_number(&fix.file, (uint32_t)body.n, 4, false);
	assert_int_equal(0, str_add(&fix.file, str_view(&body)));
	show();
	assert_non_null(strstr(fix.note, "first frame"));
	expect_size(16, 16);
	expect_pixel(2, 2, 255, 0, 0);
	WebPFree(bytes);
	free(rgb);
	str_release(&body);
}

/* --- Limits ----------------------------------------------------------------------------------- */

/* A PNG that is nothing but its claims. */
static void make_claim(uint32_t width, uint32_t height)
{
	str_reset(&fix.file);
	assert_int_equal(0, str_add(&fix.file, VIEW("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")));
	add_number(&fix.file, width, 4, true);
	add_number(&fix.file, height, 4, true);
	assert_int_equal(0, str_add(&fix.file, VIEW("\x08\x02\0\0\0\0\0\0\0\0\0\0\0IEND\0\0\0\0")));
}

static void the_number_of_pixels_is_looked_at_before_any_is_decoded(void **state)
{
	struct picture_head h;

	(void)state;
	make_claim(8000, 5000);
	assert_int_equal(0, picture_head_read(&h, str_view(&fix.file), NULL));
	make_claim(8001, 5000);
	expect_refused("8001 x 5000 pixels, and at most 40 million");
	make_claim(65500, 610);
	assert_int_equal(0, picture_head_read(&h, str_view(&fix.file), NULL));
	make_claim(65501, 1);
	expect_refused("65501 x 1");
	make_claim(0xffffffff, 0xffffffff);
	expect_refused("at most 40 million");
	make_claim(0, 10);
	expect_refused("no pixels");
	make_claim(20000, 2000); /* a panorama, which fails only for what it does not hold */
	expect_refused("damaged");
}

static void a_panorama_is_shown_smaller(void **state)
{
	unsigned char *rgb = quarters(20000, 2000);

	(void)state;
	make_rgb_png(rgb, 20000, 2000);
	free(rgb);
	show();
	expect_size(8000, 800);
	assert_non_null(strstr(fix.note,
		"shown at 8000 x 800 of its 20000 x 2000 pixels: what is at (x, y) here is at "
		"(x * 2.500, y * 2.500) there"));
	expect_pixel(100, 100, 255, 0, 0);
	expect_pixel(7900, 100, 0, 255, 0);
}

static void the_size_of_the_file_has_a_limit(void **state)
{
	char path[128];

	(void)state;
	make_quarters_jpeg(64, 64);
	put_file("p");
	(void)snprintf(path, sizeof(path), "%s/p", fix.dir);
	assert_int_equal(0, truncate(path, (off_t)PICTURE_SOURCE_MAX)); /* what is behind is left */
	assert_int_equal(0, run("p"));
	assert_int_equal(0, truncate(path, (off_t)PICTURE_SOURCE_MAX + 1));
	assert_int_equal(-1, run("p"));
	assert_non_null(strstr(fix.e.msg, "is 51 MiB, and at most 50 MiB"));
}

/* Grey noise, which is not compressed. */
static void make_noise_png(const unsigned char *grey, uint32_t width, uint32_t height)
{
	const struct png_plan plan = { .width = width,
		.height = height,
		.depth = 8,
		.pixels = grey,
		.n = (size_t)width * height };

	make_png(&plan);
}

/* Chunks of no pixels, of 12 bytes each, ahead of the last one. */
static void pad_png(size_t chunks)
{
	struct str padded = STR_INIT(BIG);

	assert_int_equal(0, str_add(&padded, view_cut(str_view(&fix.file), fix.file.n - 12)));
	while (chunks-- > 0)
		assert_int_equal(0, str_add(&padded, VIEW("\0\0\0\0IDAT\x35\xaf\x06\x1e")));
	assert_int_equal(0, str_add(&padded, view_from(str_view(&fix.file), fix.file.n - 12)));
	str_release(&fix.file);
	fix.file = padded;
}

static void what_fits_stays_and_what_does_not_is_made_smaller(void **state)
{
	const size_t max = BASE64_MAX / 4 * 3;
	const uint32_t height = 1999;
	unsigned char *grey = noise((size_t)2000 * height);
	uint32_t width = 1930;

	(void)state;
	/* One of the widths leaves what is a whole number of chunks. */
	do
		make_noise_png(grey, ++width, height);
	while ((max - fix.file.n) % 12 != 0);
	assert_true(fix.file.n <= max);
	pad_png((max - fix.file.n) / 12);
	assert_int_equal(max, fix.file.n);
	show();
	assert_string_equal("image/png", fix.type);
	assert_int_equal(max, fix.bytes.n);
	pad_png(1);
	show();
	assert_string_equal("image/jpeg", fix.type);
	assert_string_equal("", fix.note); /* as JPEG it fits as it is */
	expect_size(width, height);
	free(grey);
}

static void a_jpeg_at_the_limit_stays_and_one_over_it_does_not(void **state)
{
	const size_t max = BASE64_MAX / 4 * 3;
	unsigned char *rgb = noise((size_t)2400 * 2400 * 3);

	(void)state;
	make_jpeg(rgb, TJPF_RGB, 2400, 2400, 100, 0);
	assert_true(fix.file.n > max);
	show();
	assert_string_equal("image/jpeg", fix.type);
	assert_true(fix.bytes.n <= max);
	if (fix.seen.width < 2400)
		assert_non_null(strstr(fix.note, "of its 2400 x 2400 pixels"));
	make_jpeg(rgb, TJPF_RGB, 1200, 1200, 100, 0);
	assert_true(fix.file.n <= max);
	show();
	expect_size(1200, 1200);
	assert_string_equal("", fix.note);
	free(rgb);
}

/* --- What is not shown ------------------------------------------------------------------------ */

static void other_kinds_are_refused_by_name(void **state)
{
	static const struct {
		struct view head;
		const char *what;
	} rows[] = {
		{ { "\0\0\0\x18"
		    "ftypheic\0\0\0\0mif1heic",
			  24 },
			"HEIC" },
		{ { "\0\0\0\x18"
		    "ftypmif1\0\0\0\0mif1heic",
			  24 },
			"HEIC" },
		{ { "\0\0\0\x18"
		    "ftypavif\0\0\0\0",
			  16 },
			"AVIF" },
		{ { "\0\0\0\x18"
		    "ftypisom\0\0\0\0",
			  16 },
			"video" },
		{ { "BM\0\0\0\0", 6 }, "BMP" },
		{ { "II*\0\x08\0\0\0", 8 }, "TIFF" },
		{ { "MM\0*\0\0\0\x08", 8 }, "TIFF" },
		{ { "<svg xmlns=", 11 }, "SVG" },
		{ { "%PDF-1.7", 8 }, "PDF" },
		{ { "8BPS\0\1", 6 }, "Photoshop" },
		{ { "RIFFxxxxWAVE", 12 }, "no picture of a kind" },
		{ { "hello", 5 }, "no picture of a kind" },
		{ { "", 0 }, "empty" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		str_reset(&fix.file);
		assert_int_equal(0, str_add(&fix.file, rows[i].head));
		expect_refused(rows[i].what);
		assert_non_null(strstr(fix.e.msg, "JPEG, PNG, WebP and GIF"));
	}
}

static void no_other_file_is_shown(void **state)
{
	char link[128];

	(void)state;
	make_quarters_jpeg(16, 16);
	put_file("real");
	(void)snprintf(link, sizeof(link), "%s/link", fix.dir);
	assert_int_equal(0, symlink("real", link));
	assert_int_equal(-1, run("link"));
	assert_int_equal(-1, run("../p"));
	assert_int_equal(-1, run("."));
	assert_int_equal(-1, run("/etc/passwd"));
	assert_int_equal(-1, run("missing"));
	assert_int_equal(E_NOTFOUND, fix.e.code);
}

/* Every cut of a small file of each kind ends in a picture or in words. */
static void files_cut_anywhere_do_no_harm(void **state)
{
	unsigned char *rgb = quarters(16, 16);
	uint8_t *bytes;

	(void)state;
	for (int kind = 0; kind < 5; kind++) {
		if (kind == 0)
			make_quarters_jpeg(16, 16);
		else if (kind == 1)
			make_rgb_png(rgb, 16, 16);
		else if (kind == 2)
			make_gif(2, true);
		else if (kind == 3)
			take_webp(WebPEncodeRGB(rgb, 16, 16, 48, 90, &bytes), &bytes);
		else
			take_webp(WebPEncodeLosslessRGB(rgb, 16, 16, 48, &bytes), &bytes);
		if (kind == 0)
			insert_exif(6, true);
		while (fix.file.n > 0) {
			str_truncate(&fix.file, fix.file.n - 1);
			put_file("p");
			if (run("p") < 0)
				assert_true(strlen(fix.e.msg) > 0);
		}
	}
	free(rgb);
}

/* --- EXIF ------------------------------------------------------------------------------------- */

static void only_a_valid_orientation_counts(void **state)
{
	static const struct {
		struct view tiff;
		int orientation;
	} rows[] = {
		{ { "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 22 }, 6 },
		{ { "MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\3\0\0", 22 }, 3 },
		{ { "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x09\0\0\0", 22 }, 1 },
		{ { "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\0\0\0\0", 22 }, 1 },
		{ { "II*\0\x08\0\0\0\1\0\x12\1\4\0\1\0\0\0\6\0\0\0", 22 }, 1 }, /* a LONG */
		{ { "II*\0\x08\0\0\0\1\0\x12\1\3\0\2\0\0\0\6\0\0\0", 22 }, 1 }, /* two */
		{ { "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 21 }, 1 },
		{ { "II*\0\xff\xff\xff\xff\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 22 }, 1 },
		{ { "II*\0\x08\0\0\0\xff\xff", 10 }, 1 },
		{ { "XX*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 22 }, 1 },
		{ { "", 0 }, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rows[i].orientation, exif_orientation(rows[i].tiff));
}

/* --- Scaling ---------------------------------------------------------------------------------- */

static void a_smaller_picture_is_the_average_of_its_areas(void **state)
{
	/* Three to two: one pixel and a half each. */
	unsigned char row[] = { 0, 0, 0, 90, 90, 90, 240, 240, 240 };
	struct image im = { .width = 3, .height = 1, .pixels = row }, out;

	(void)state;
	assert_int_equal(0, image_shrink(&im, 2, 1, &out, NULL));
	assert_int_equal(30, out.pixels[0]);  /* (0 + 90 / 2) / 1.5 */
	assert_int_equal(190, out.pixels[3]); /* (90 / 2 + 240) / 1.5 */
	image_release(&out);
	assert_int_equal(0, image_shrink(&im, 1, 1, &out, NULL));
	assert_int_equal(110, out.pixels[0]);
	image_release(&out);
	assert_int_equal(0, image_shrink(&im, 3, 1, &out, NULL));
	assert_memory_equal(row, out.pixels, sizeof(row));
	image_release(&out);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_jpeg_stays_as_it_is_but_for_what_it_says),
		T(pictures_stand_upright),
		T(pngs_stand_upright),
		T(colours_for_print_are_shown),
		T(a_jpeg_that_is_cut_off_is_told),
		T(a_png_stays_as_it_is_but_for_what_it_says),
		T(what_shines_through_is_white),
		T(palettes_are_shown),
		T(many_bits_and_grey_and_interlaced_pngs_are_shown),
		T(a_damaged_png_is_refused),
		T(of_a_gif_the_first_frame_is_shown),
		T(webp_becomes_what_every_model_reads),
		T(webps_stand_upright),
		T(of_a_moving_webp_the_first_frame_is_shown),
		T(the_number_of_pixels_is_looked_at_before_any_is_decoded),
		T(a_panorama_is_shown_smaller),
		T(the_size_of_the_file_has_a_limit),
		T(what_fits_stays_and_what_does_not_is_made_smaller),
		T(a_jpeg_at_the_limit_stays_and_one_over_it_does_not),
		T(other_kinds_are_refused_by_name),
		T(no_other_file_is_shown),
		T(files_cut_anywhere_do_no_harm),
		cmocka_unit_test(only_a_valid_orientation_counts),
		cmocka_unit_test(a_smaller_picture_is_the_average_of_its_areas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
