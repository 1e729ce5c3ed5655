#include "tools/exec/codec.h"

#include <dlfcn.h>
#include <gif_lib.h>
#include <spng.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>
#include <webp/decode.h>

/* What of them is called. */
struct codec {
	__typeof__(&tjInitDecompress) jpeg_decoder;
	__typeof__(&tjInitCompress) jpeg_encoder;
	__typeof__(&tjInitTransform) jpeg_transformer;
	__typeof__(&tjDecompressHeader3) jpeg_header;
	__typeof__(&tjDecompress2) jpeg_decode;
	__typeof__(&tjCompress2) jpeg_encode;
	__typeof__(&tjTransform) jpeg_transform;
	__typeof__(&tjGetErrorStr2) jpeg_error;
	__typeof__(&tjGetErrorCode) jpeg_error_code;
	__typeof__(&tjDestroy) jpeg_destroy;
	__typeof__(&tjFree) jpeg_free;
	__typeof__(&spng_ctx_new) png_new;
	__typeof__(&spng_ctx_free) png_free;
	__typeof__(&spng_set_png_buffer) png_source;
	__typeof__(&spng_set_png_stream) png_stream;
	__typeof__(&spng_set_image_limits) png_limits;
	__typeof__(&spng_set_ihdr) png_header;
	__typeof__(&spng_decode_image) png_decode;
	__typeof__(&spng_encode_image) png_encode;
	__typeof__(&spng_strerror) png_error;
	__typeof__(&WebPGetFeaturesInternal) webp_features;
	__typeof__(&WebPDecodeRGBAInto) webp_decode;
	__typeof__(&DGifOpen) gif_open;
	__typeof__(&DGifCloseFile) gif_close;
	__typeof__(&DGifGetRecordType) gif_record;
	__typeof__(&DGifGetImageDesc) gif_frame;
	__typeof__(&DGifGetLine) gif_line;
	__typeof__(&DGifGetExtension) gif_extension;
	__typeof__(&DGifGetExtensionNext) gif_extension_next;
	__typeof__(&GifErrorString) gif_error;
};

/* --- The libraries ---------------------------------------------------------------------------- */

struct call {
	const char *name;
	size_t at;
};

#define CALL(member, function) \
	{ \
		function, offsetof(struct codec, member) \
	}

static const struct call jpeg_calls[] = {
	CALL(jpeg_decoder, "tjInitDecompress"),
	CALL(jpeg_encoder, "tjInitCompress"),
	CALL(jpeg_transformer, "tjInitTransform"),
	CALL(jpeg_header, "tjDecompressHeader3"),
	CALL(jpeg_decode, "tjDecompress2"),
	CALL(jpeg_encode, "tjCompress2"),
	CALL(jpeg_transform, "tjTransform"),
	CALL(jpeg_error, "tjGetErrorStr2"),
	CALL(jpeg_error_code, "tjGetErrorCode"),
	CALL(jpeg_destroy, "tjDestroy"),
	CALL(jpeg_free, "tjFree"),
	{ NULL, 0 },
};

static const struct call png_calls[] = {
	CALL(png_new, "spng_ctx_new"),
	CALL(png_free, "spng_ctx_free"),
	CALL(png_source, "spng_set_png_buffer"),
	CALL(png_stream, "spng_set_png_stream"),
	CALL(png_limits, "spng_set_image_limits"),
	CALL(png_header, "spng_set_ihdr"),
	CALL(png_decode, "spng_decode_image"),
	CALL(png_encode, "spng_encode_image"),
	CALL(png_error, "spng_strerror"),
	{ NULL, 0 },
};

static const struct call webp_calls[] = {
	CALL(webp_features, "WebPGetFeaturesInternal"),
	CALL(webp_decode, "WebPDecodeRGBAInto"),
	{ NULL, 0 },
};

static const struct call gif_calls[] = {
	CALL(gif_open, "DGifOpen"),
	CALL(gif_close, "DGifCloseFile"),
	CALL(gif_record, "DGifGetRecordType"),
	CALL(gif_frame, "DGifGetImageDesc"),
	CALL(gif_line, "DGifGetLine"),
	CALL(gif_extension, "DGifGetExtension"),
	CALL(gif_extension_next, "DGifGetExtensionNext"),
	CALL(gif_error, "GifErrorString"),
	{ NULL, 0 },
};

static const struct {
	const char *name;
	const struct call *calls;
} libraries[] = {
	{ KAIRO_LIBTURBOJPEG, jpeg_calls },
	{ KAIRO_LIBSPNG, png_calls },
	{ KAIRO_LIBWEBP, webp_calls },
	{ KAIRO_LIBGIF, gif_calls },
};

static int load(struct codec *c, const char *name, const struct call *calls)
{
	void *so = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	for (; so && calls->name; calls++) {
		void *call = dlsym(so, calls->name);

		if (!call)
			return -1;
		memcpy((char *)c + calls->at, &call, sizeof(call));
	}
	return so ? 0 : -1;
}

int codec_open(struct codec **out, struct err *e)
{
	struct codec *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "there is no memory for a picture");
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		if (load(c, libraries[i].name, libraries[i].calls) < 0) {
			free(c);
			return err_set(e, E_UNSUPPORTED,
				"pictures cannot be read on this machine: %s", dlerror());
		}
	}
	*out = c;
	return 0;
}

void codec_close(struct codec **c)
{
	free(*c);
	*c = NULL;
}

static int damaged(const char *why, struct err *e)
{
	return err_set(e, E_FORMAT, "it is damaged: %s", why);
}

/* --- JPEG ------------------------------------------------------------------------------------- */

static const unsigned char *bytes(struct view v)
{
	return (const unsigned char *)v.p;
}

/* What was decoded in spite of an error is there to be shown. */
static int jpeg_told(const struct codec *c, tjhandle tj, struct str *said, struct err *e)
{
	if (c->jpeg_error_code(tj) != TJERR_WARNING)
		return damaged(c->jpeg_error(tj), e);
	(void)str_addf(said, "the file is damaged (%s), what can be read of it is shown",
		c->jpeg_error(tj));
	return 0;
}

static int jpeg_read(const struct codec *c, tjhandle tj, const struct picture_head *h,
	struct view file, struct image *out, struct str *said, struct err *e)
{
	int width, height, sampling, colours, format;

	if (c->jpeg_header(tj, bytes(file), file.n, &width, &height, &sampling, &colours) < 0)
		return damaged(c->jpeg_error(tj), e);
	if ((uint32_t)width != h->width || (uint32_t)height != h->height)
		return damaged("it has two sizes", e);
	format = colours == TJCS_CMYK || colours == TJCS_YCCK ? TJPF_CMYK : TJPF_RGB;
	if (image_open(out, h->width, h->height, format == TJPF_CMYK ? 4 : 3, e) < 0)
		return -1;
	/* Rows that are missing are to be grey, not what was in memory. */
	memset(out->pixels, 0x80, (size_t)h->width * h->height * (format == TJPF_CMYK ? 4 : 3));
	if (c->jpeg_decode(tj, bytes(file), file.n, out->pixels, width, 0, height, format,
		    TJFLAG_LIMITSCANS) < 0 &&
		jpeg_told(c, tj, said, e) < 0)
		return -1;
	if (format == TJPF_CMYK)
		image_from_cmyk(out);
	return 0;
}

static int decode_jpeg(const struct codec *c, struct picture_head *h, struct view file,
	struct image *out, struct str *said, struct err *e)
{
	tjhandle tj = c->jpeg_decoder();
	int rc;

	if (!tj)
		return err_set(e, E_NOMEM, "there is no memory for a picture");
	rc = jpeg_read(c, tj, h, file, out, said, e);
	(void)c->jpeg_destroy(tj);
	return rc;
}

/* The buffer is the library's own. */
static int take(const struct codec *c, unsigned char *buffer, unsigned long n, struct str *out)
{
	int rc = str_add(out, (struct view){ (const char *)buffer, n }) == 0;

	c->jpeg_free(buffer);
	return rc;
}

int codec_put_jpeg(const struct codec *c, const struct image *im, int quality, struct str *out,
	struct err *e)
{
	tjhandle tj = c->jpeg_encoder();
	unsigned char *buffer = NULL;
	unsigned long n = 0;
	int rc;

	if (!tj)
		return err_set(e, E_NOMEM, "there is no memory for a picture");
	if (c->jpeg_encode(tj, im->pixels, (int)im->width, 0, (int)im->height, TJPF_RGB, &buffer,
		    &n, TJSAMP_420, quality, 0) < 0) {
		rc = err_set(e, E_FORMAT, "it could not be made a JPEG: %s", c->jpeg_error(tj));
		c->jpeg_free(buffer);
	} else {
		rc = take(c, buffer, n, out);
	}
	(void)c->jpeg_destroy(tj);
	return rc;
}

static bool is_coloured_for_print(const struct codec *c, tjhandle tj, struct view file)
{
	int width, height, sampling, colours = TJCS_RGB;

	(void)c->jpeg_header(tj, bytes(file), file.n, &width, &height, &sampling, &colours);
	return colours == TJCS_CMYK || colours == TJCS_YCCK;
}

int codec_copy_jpeg(const struct codec *c, const struct picture_head *h, struct view file,
	struct str *out, struct str *said, struct err *e)
{
	static const int turns[9] = { TJXOP_NONE, TJXOP_NONE, TJXOP_HFLIP, TJXOP_ROT180,
		TJXOP_VFLIP, TJXOP_TRANSPOSE, TJXOP_ROT90, TJXOP_TRANSVERSE, TJXOP_ROT270 };
	tjtransform how = { .op = turns[h->orientation],
		.options = TJXOPT_COPYNONE | TJXOPT_PERFECT };
	tjhandle tj = c->jpeg_transformer();
	unsigned char *buffer = NULL;
	unsigned long n = 0;
	int rc = 0;

	if (!tj)
		return err_set(e, E_NOMEM, "there is no memory for a picture");
	/* What goes wrong here goes wrong again when it is decoded, and is told then. */
	if (!is_coloured_for_print(c, tj, file) &&
		(c->jpeg_transform(tj, bytes(file), file.n, 1, &buffer, &n, &how,
			 TJFLAG_LIMITSCANS) == 0 ||
			(c->jpeg_error_code(tj) == TJERR_WARNING && buffer && n > 0 &&
				jpeg_told(c, tj, said, e) == 0)))
		rc = take(c, buffer, n, out);
	else
		c->jpeg_free(buffer);
	(void)c->jpeg_destroy(tj);
	return rc;
}

/* --- PNG -------------------------------------------------------------------------------------- */

int codec_copy_png(struct view file, struct str *out)
{
	static const char *const needed[] = { "IHDR", "PLTE", "tRNS", "IDAT", "IEND" };
	struct view rest = view_from(file, PNG_SIGNATURE);
	struct png_chunk chunk;

	(void)str_add(out, view_cut(file, PNG_SIGNATURE));
	while (png_chunk_next(&rest, &chunk) == 1) {
		for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
			if (view_eqs(chunk.type, needed[i]))
				(void)str_add(out, chunk.whole);
		if (view_eqs(chunk.type, "IEND"))
			break;
	}
	return str_ok(out);
}

static int png_read(const struct codec *c, spng_ctx *png, const struct picture_head *h,
	struct view plain, struct image *out, struct err *e)
{
	int rc;

	if (image_open(out, h->width, h->height, 4, e) < 0)
		return -1;
	rc = c->png_limits(png, h->width, h->height);
	if (rc == 0)
		rc = c->png_source(png, plain.p, plain.n);
	if (rc == 0)
		rc = c->png_decode(png, out->pixels, (size_t)h->width * h->height * 4,
			SPNG_FMT_RGBA8, SPNG_DECODE_TRNS);
	if (rc != 0)
		return damaged(c->png_error(rc), e);
	image_flatten(out);
	return 0;
}

/* What the pixels do not need is not shown to the library: texts and profiles can be bombs. */
static int decode_png(const struct codec *c, struct picture_head *h, struct view file,
	struct image *out, struct str *said, struct err *e)
{
	struct str plain = STR_INIT(PICTURE_SOURCE_MAX);
	spng_ctx *png = c->png_new(0);
	int rc = -1;

	(void)said;
	if (!png || !codec_copy_png(file, &plain))
		(void)err_set(e, E_NOMEM, "there is no memory for a picture");
	else
		rc = png_read(c, png, h, str_view(&plain), out, e);
	c->png_free(png);
	str_release(&plain);
	return rc;
}

static int on_png(spng_ctx *ctx, void *user, void *from, size_t n)
{
	(void)ctx;
	return str_add(user, (struct view){ from, n }) < 0 ? SPNG_IO_ERROR : 0;
}

int codec_put_png(const struct codec *c, const struct image *im, struct str *out, struct err *e)
{
	struct spng_ihdr head = { .width = im->width, .height = im->height, .bit_depth = 8 };
	spng_ctx *png = c->png_new(SPNG_CTX_ENCODER);
	int rc;

	if (!png)
		return err_set(e, E_NOMEM, "there is no memory for a picture");
	head.color_type = SPNG_COLOR_TYPE_TRUECOLOR;
	rc = c->png_stream(png, on_png, out);
	if (rc == 0)
		rc = c->png_header(png, &head);
	if (rc == 0)
		rc = c->png_encode(png, im->pixels, (size_t)im->width * im->height * 3,
			SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
	c->png_free(png);
	if (rc == 0)
		return 1;
	return str_ok(out) ? err_set(e, E_NOMEM, "it could not be made a PNG: %s", c->png_error(rc))
	                   : 0;
}

/* --- WebP ------------------------------------------------------------------------------------- */

static int decode_webp(const struct codec *c, struct picture_head *h, struct view file,
	struct image *out, struct str *said, struct err *e)
{
	struct view frame = h->frame;
	WebPBitstreamFeatures f;

	(void)file, (void)said;
	if (c->webp_features(bytes(frame), frame.n, &f, WEBP_DECODER_ABI_VERSION) != VP8_STATUS_OK)
		return damaged("what it holds is no WebP picture", e);
	if ((uint32_t)f.width != h->width || (uint32_t)f.height != h->height)
		return damaged("it has two sizes", e);
	if (image_open(out, h->width, h->height, 4, e) < 0)
		return -1;
	if (!c->webp_decode(bytes(frame), frame.n, out->pixels, (size_t)h->width * h->height * 4,
		    (int)h->width * 4))
		return damaged("its pixels cannot be read, it may be cut off", e);
	image_flatten(out);
	return 0;
}

/* --- GIF -------------------------------------------------------------------------------------- */

struct gif {
	const struct codec *c;
	GifFileType *file;
	struct view rest;
	int clear; /* the index of what shines through; -1: none */
};

static int on_gif(GifFileType *file, GifByteType *to, int n)
{
	struct gif *g = file->UserData;
	struct view part = view_cut(g->rest, n > 0 ? (size_t)n : 0);

	if (part.n > 0)
		memcpy(to, part.p, part.n);
	g->rest = view_from(g->rest, part.n);
	return (int)part.n;
}

/* To the next frame. 0: there is none. */
static int gif_next(struct gif *g)
{
	GifRecordType type;
	GifByteType *block;
	int code;

	for (;;) {
		if (g->c->gif_record(g->file, &type) != GIF_OK)
			return -1;
		if (type == TERMINATE_RECORD_TYPE)
			return 0;
		if (type == IMAGE_DESC_RECORD_TYPE)
			return 1;
		if (type != EXTENSION_RECORD_TYPE)
			continue;
		if (g->c->gif_extension(g->file, &code, &block) != GIF_OK)
			return -1;
		/* Its length, flags, time (two bytes), index. */
		if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] >= 4)
			g->clear = block[1] & 1 ? block[4] : -1;
		while (block)
			if (g->c->gif_extension_next(g->file, &block) != GIF_OK)
				return -1;
	}
}

static void put_line(const struct gif *g, const ColorMapObject *map, const GifPixelType *line,
	unsigned char *to)
{
	for (int x = 0; x < g->file->Image.Width; x++, to += 3) {
		const GifColorType *colour =
			line[x] < map->ColorCount ? &map->Colors[line[x]] : NULL;

		if (!colour || line[x] == g->clear)
			continue;
		to[0] = colour->Red;
		to[1] = colour->Green;
		to[2] = colour->Blue;
	}
}

/* Interlaced (GIF89a, appendix E): four passes over the rows. */
static int put_lines(struct gif *g, const ColorMapObject *map, GifPixelType *line,
	struct image *out)
{
	static const int from[] = { 0, 4, 2, 1 }, step[] = { 8, 8, 4, 2 };
	const GifImageDesc *frame = &g->file->Image;
	int passes = frame->Interlace ? 4 : 1;

	for (int pass = 0; pass < passes; pass++) {
		int by = frame->Interlace ? step[pass] : 1;

		for (int y = frame->Interlace ? from[pass] : 0; y < frame->Height; y += by) {
			size_t row = (size_t)(frame->Top + y) * out->width + (size_t)frame->Left;

			if (g->c->gif_line(g->file, line, frame->Width) != GIF_OK)
				return -1;
			put_line(g, map, line, out->pixels + row * 3);
		}
	}
	return 0;
}

static int gif_read(struct gif *g, struct picture_head *h, struct image *out, struct err *e)
{
	const GifImageDesc *frame = &g->file->Image;
	const ColorMapObject *map;
	GifPixelType *line;
	int rc;

	if (gif_next(g) != 1 || g->c->gif_frame(g->file) != GIF_OK)
		return damaged("it has no frame", e);
	map = frame->ColorMap ? frame->ColorMap : g->file->SColorMap;
	if (!map)
		return damaged("it has no colours", e);
	if (frame->Left < 0 || frame->Top < 0 || frame->Width <= 0 || frame->Height <= 0 ||
		(uint32_t)frame->Left + (uint32_t)frame->Width > h->width ||
		(uint32_t)frame->Top + (uint32_t)frame->Height > h->height)
		return damaged("its first frame does not lie in it", e);
	line = malloc((size_t)frame->Width);
	if (!line || image_open(out, h->width, h->height, 3, e) < 0) {
		free(line);
		return err_set(e, E_NOMEM, "there is no memory for a picture");
	}
	memset(out->pixels, 0xff, (size_t)h->width * h->height * 3);
	rc = put_lines(g, map, line, out);
	free(line);
	if (rc < 0)
		return damaged(g->c->gif_error(g->file->Error), e);
	h->moves = gif_next(g) == 1;
	return 0;
}

static int decode_gif(const struct codec *c, struct picture_head *h, struct view file,
	struct image *out, struct str *said, struct err *e)
{
	struct gif g = { .c = c, .rest = file, .clear = -1 };
	int error = 0, rc;

	(void)said;
	g.file = c->gif_open(&g, on_gif, &error);
	if (!g.file)
		return damaged(c->gif_error(error), e);
	rc = gif_read(&g, h, out, e);
	(void)c->gif_close(g.file, &error);
	return rc;
}

/* --- All of them ------------------------------------------------------------------------------ */

int codec_decode(const struct codec *c, struct picture_head *h, struct view file, struct image *out,
	struct str *said, struct err *e)
{
	static int (*const decoders[])(const struct codec *, struct picture_head *, struct view,
		struct image *, struct str *, struct err *) = {
		[PICTURE_JPEG] = decode_jpeg,
		[PICTURE_PNG] = decode_png,
		[PICTURE_WEBP] = decode_webp,
		[PICTURE_GIF] = decode_gif,
	};

	out->pixels = NULL;
	return decoders[h->kind](c, h, file, out, said, e);
}
