/* picture: a picture file as a model takes it: upright, on white, without what else the file says
 * of itself, within what a request may hold. It stays as it is where nothing has to change; else it
 * is PNG or JPEG, which every model reads. The daemon asks for it (tools/host/picture.h).
 *
 * The result is the type, a line break, what is to be said of it (may be empty), a line break, and
 * the bytes as base64. */
#include <errno.h>
#include <unistd.h>

#include "base/base64.h"
#include "tools/exec/codec.h"
#include "tools/exec/tool.h"

/* 5 MiB of base64 (kairo-architecture). */
#define BYTES_MAX ((((size_t)5 << 20) / 4) * 3)
/* No longer side is taken by those who run models. */
#define SIDE_MAX 8000u
#define SAID_MAX 1000
/* Of what was lossy before; of what was not, and of a smaller copy. */
#define QUALITY_FINE 92
#define QUALITY      85
#define TRIES        12

struct picture {
	const struct codec *codec;
	struct picture_head head;
	struct view file;
	struct image image;
	struct str bytes;       /* to be shown... */
	const char *type;       /* ...of this type */
	uint32_t width, height; /* of it */
	struct str said;
};

int picture_prepare(const struct json *args, void **prepared, struct err *e)
{
	struct codec *c;

	(void)args;
	if (codec_open(&c, e) < 0)
		return -1;
	*prepared = c;
	return 0;
}

/* --- The file --------------------------------------------------------------------------------- */

static int read_all(int fd, struct str *out, struct err *e)
{
	for (;;) {
		ssize_t n;

		if (str_reserve(out, 1) < 0)
			return err_set(e, E_NOMEM, "there is no memory for a picture");
		n = read(fd, out->p + out->n, out->cap - out->n - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "it cannot be read");
		if (n == 0)
			return 0;
		str_grew(out, (size_t)n);
	}
}

static int read_file(const struct tool_job *j, struct str *out, struct err *e)
{
	struct place place;
	struct stat st;
	int fd, rc;

	if (job_place(j, NULL, &place, e) < 0)
		return -1;
	fd = place_open_file(&place, &st, e);
	if (fd < 0)
		return -1;
	if (st.st_size > (off_t)PICTURE_SOURCE_MAX)
		rc = err_set(e, E_UNSUPPORTED, "it is %lld MiB, and at most %zu MiB can be shown",
			(long long)(st.st_size + (1 << 20) - 1) >> 20, PICTURE_SOURCE_MAX >> 20);
	else if (str_reserve(out, (size_t)st.st_size + 1) < 0)
		rc = err_set(e, E_NOMEM, "there is no memory for a picture");
	else
		rc = read_all(fd, out, e);
	(void)close(fd);
	return rc;
}

/* --- What is shown ---------------------------------------------------------------------------- */

static void say(struct picture *p, const char *text)
{
	if (p->said.n > 0)
		(void)str_adds(&p->said, "; ");
	(void)str_adds(&p->said, text);
}

/* As it is, where it is what a model takes. */
static int copy(struct picture *p, struct err *e)
{
	const struct picture_head *h = &p->head;

	if (h->width > SIDE_MAX || h->height > SIDE_MAX)
		return 0;
	if (h->kind == PICTURE_JPEG) {
		p->type = "image/jpeg";
		return codec_copy_jpeg(p->codec, h, p->file, &p->bytes, &p->said, e);
	}
	if (h->kind != PICTURE_PNG || h->alpha || h->orientation != 1)
		return 0;
	p->type = "image/png";
	/* What is handed on has been seen to be whole. */
	return codec_decode(p->codec, &p->head, p->file, &p->image, &p->said, e) < 0
	               ? -1
	               : codec_copy_png(p->file, &p->bytes);
}

static int encode(struct picture *p, const struct image *im, bool exact, int quality, struct err *e)
{
	str_reset(&p->bytes);
	p->width = im->width;
	p->height = im->height;
	p->type = exact ? "image/png" : "image/jpeg";
	return exact ? codec_put_png(p->codec, im, &p->bytes, e)
	             : codec_put_jpeg(p->codec, im, quality, &p->bytes, e);
}

static uint32_t scaled(uint32_t side, double by)
{
	uint32_t n = (uint32_t)(side * by);

	return n > 0 ? n : 1;
}

/* Smaller and smaller until it fits. */
static int reduce(struct picture *p, struct err *e)
{
	uint32_t longest = p->image.width > p->image.height ? p->image.width : p->image.height;
	double by = longest > SIDE_MAX ? (double)SIDE_MAX / longest : 0.8;
	int rc = 0;

	for (int i = 0; rc == 0 && i < TRIES; i++, by *= 0.8) {
		struct image less;

		if (image_shrink(&p->image, scaled(p->image.width, by), scaled(p->image.height, by),
			    &less, e) < 0)
			return -1;
		rc = encode(p, &less, false, QUALITY, e);
		image_release(&less);
	}
	return rc != 0 ? rc : err_set(e, E_UNSUPPORTED, "it cannot be made small enough");
}

static bool is_exact(const struct picture_head *h)
{
	return h->kind == PICTURE_PNG || h->kind == PICTURE_GIF ||
	       (h->kind == PICTURE_WEBP && h->drawn);
}

static int convert(struct picture *p, struct err *e)
{
	bool exact = is_exact(&p->head);
	int rc = 0;

	if (!p->image.pixels &&
		codec_decode(p->codec, &p->head, p->file, &p->image, &p->said, e) < 0)
		return -1;
	if (image_turn(&p->image, p->head.orientation, e) < 0)
		return -1;
	if (p->image.width > SIDE_MAX || p->image.height > SIDE_MAX)
		return reduce(p, e);
	if (exact)
		rc = encode(p, &p->image, true, 0, e);
	if (rc == 0)
		rc = encode(p, &p->image, false, exact ? QUALITY : QUALITY_FINE, e);
	return rc != 0 ? rc : reduce(p, e);
}

/* --- The result ------------------------------------------------------------------------------- */

static void say_changes(struct picture *p)
{
	bool swapped = p->head.orientation > 4;
	uint32_t width = swapped ? p->head.height : p->head.width;
	uint32_t height = swapped ? p->head.width : p->head.height;
	struct str text = STR_INIT(SAID_MAX);

	if (p->head.moves)
		say(p, "it moves, and this is its first frame");
	if (p->width != width || p->height != height) {
		(void)str_addf(&text,
			"shown at %u x %u of its %u x %u pixels: what is at (x, y) here is at "
			"(x * %.3f, y * %.3f) there",
			p->width, p->height, width, height, (double)width / p->width,
			(double)height / p->height);
		say(p, str_cstr(&text));
	}
	str_release(&text);
}

static int picture_show(struct picture *p, struct str *out, struct err *e)
{
	int rc;

	if (picture_head_read(&p->head, p->file, e) < 0)
		return -1;
	p->width = p->head.orientation > 4 ? p->head.height : p->head.width;
	p->height = p->head.orientation > 4 ? p->head.width : p->head.height;
	rc = copy(p, e);
	if (rc == 0) {
		str_reset(&p->said);
		rc = convert(p, e);
	}
	if (rc < 0)
		return -1;
	say_changes(p);
	(void)str_addf(out, "%s\n%s\n", p->type, str_cstr(&p->said));
	return base64_encode(str_view(&p->bytes), out) < 0
	               ? err_set(e, E_NOMEM, "there is no memory for a picture")
	               : 0;
}

int tool_picture(struct tool_job *j, struct err *e)
{
	struct codec *codec = j->prepared;
	struct picture p = { .codec = codec };
	struct str file = STR_INIT(PICTURE_SOURCE_MAX + 1);
	int rc = -1;

	p.bytes = STR_INIT(BYTES_MAX);
	p.said = STR_INIT(SAID_MAX);
	if (read_file(j, &file, e) == 0) {
		p.file = str_view(&file);
		rc = picture_show(&p, j->out, e);
	}
	image_release(&p.image);
	str_release(&p.bytes);
	str_release(&p.said);
	str_release(&file);
	codec_close(&codec);
	j->prepared = NULL;
	return rc;
}
