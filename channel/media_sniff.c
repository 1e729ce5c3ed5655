/* What a file is, by its content. A name is a claim, and so is whatever the sender says of it. */
#include "channel/media-private.h"

#include <string.h>

#include "base/text.h"

#define OCTETS "application/octet-stream"

static bool has(const unsigned char *head, size_t n, size_t at, const char *bytes, size_t len)
{
	return n >= at + len && memcmp(head + at, bytes, len) == 0;
}
#define HAS(at, lit) has(head, n, (at), "" lit, sizeof(lit) - 1)

/* --- By a magic number at a fixed place ------------------------------------------------------- */

static const struct magic {
	const char *bytes;
	size_t len, at;
	const char *type;
} magics[] = {
#define MAGIC(at, lit, type) \
	{ \
		"" lit, sizeof(lit) - 1, at, type \
	}
	MAGIC(0, "\xff\xd8\xff", "image/jpeg"),
	MAGIC(0, "\x89PNG\r\n\x1a\n", "image/png"),
	MAGIC(0, "GIF87a", "image/gif"),
	MAGIC(0, "GIF89a", "image/gif"),
	MAGIC(0, "II*\0", "image/tiff"),
	MAGIC(0, "MM\0*", "image/tiff"),
	MAGIC(0, "%PDF-", "application/pdf"),
	MAGIC(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
	MAGIC(0, "ID3", "audio/mpeg"),
	MAGIC(0, "OggS", "audio/ogg"),
	MAGIC(0, "fLaC", "audio/flac"),
	MAGIC(0, "#!AMR\n", "audio/amr"),
	MAGIC(0, "#!AMR-WB\n", "audio/amr-wb"),
	MAGIC(0, "#!SILK_V3", "audio/silk"),
	MAGIC(1, "#!SILK_V3", "audio/silk"), /* WeChat puts an 0x02 in front */
	MAGIC(0, "\x1f\x8b\x08", "application/gzip"),
	MAGIC(0, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
	MAGIC(0, "Rar!\x1a\x07", "application/vnd.rar"),
	MAGIC(0, "BZh", "application/x-bzip2"),
	MAGIC(0,
		"\xfd"
		"7zXZ\0",
		"application/x-xz"),
#undef MAGIC
};

static const char *by_magic(const unsigned char *head, size_t n)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if (has(head, n, magics[i].at, magics[i].bytes, magics[i].len))
			return magics[i].type;
	return NULL;
}

/* --- By more than that ------------------------------------------------------------------------ */

static const char *by_riff(const unsigned char *head, size_t n)
{
	if (!HAS(0, "RIFF"))
		return NULL;
	if (HAS(8, "WEBP"))
		return "image/webp";
	if (HAS(8, "WAVE"))
		return "audio/wav";
	return HAS(8, "AVI ") ? "video/x-msvideo" : NULL;
}

static const char *brand_type(const unsigned char *brand)
{
	static const struct {
		char brand[5];
		const char *type;
	} brands[] = { { "avif", "image/avif" }, { "avis", "image/avif" }, { "heic", "image/heic" },
		{ "heix", "image/heic" }, { "heim", "image/heic" }, { "heis", "image/heic" },
		{ "hevc", "image/heic" }, { "hevx", "image/heic" }, { "qt  ", "video/quicktime" },
		{ "M4A ", "audio/mp4" }, { "M4B ", "audio/mp4" }, { "3gp4", "video/3gpp" },
		{ "3gp5", "video/3gpp" }, { "3gp6", "video/3gpp" } };

	for (size_t i = 0; i < sizeof(brands) / sizeof(*brands); i++)
		if (memcmp(brand, brands[i].brand, 4) == 0)
			return brands[i].type;
	return NULL;
}

/* ISO base media: the major brand tells, and where that one is general ("mif1"), the others. */
static const char *by_brand(const unsigned char *head, size_t n)
{
	const char *type;
	size_t size;

	if (HAS(4, "moov") || HAS(4, "wide") || HAS(4, "mdat"))
		return "video/quicktime"; /* from before there were brands */
	if (!HAS(4, "ftyp") || n < 12)
		return NULL;
	type = brand_type(head + 8);
	if (type)
		return type;
	if (!HAS(8, "mif1") && !HAS(8, "msf1"))
		return "video/mp4";
	size = (size_t)head[2] << 8 | head[3];
	for (size_t at = 16; at + 4 <= n && at + 4 <= size; at += 4)
		if ((type = brand_type(head + at)))
			return type;
	return "image/heic";
}

static const char *by_ebml(const unsigned char *head, size_t n)
{
	if (!HAS(0, "\x1a\x45\xdf\xa3"))
		return NULL;
	for (size_t at = 4; at < 64 && at < n; at++)
		if (HAS(at, "webm"))
			return "video/webm";
	return "video/x-matroska";
}

/* Office documents are ZIP archives: what is inside tells them apart. */
static const char *by_zip(const unsigned char *head, size_t n)
{
	if (HAS(0, "PK\5\6"))
		return "application/zip"; /* an empty one */
	if (!HAS(0, "PK\3\4"))
		return NULL;
	for (size_t at = 0; at + 30 < n; at++) {
		if (!HAS(at, "PK\3\4"))
			continue;
		if (HAS(at + 30, "word/"))
			return MEDIA_DOCX;
		if (HAS(at + 30, "xl/"))
			return MEDIA_XLSX;
		if (HAS(at + 30, "ppt/"))
			return MEDIA_PPTX;
	}
	return "application/zip";
}

/* Two letters are not enough: the header's fixed fields too. */
static const char *by_bmp(const unsigned char *head, size_t n)
{
	static const unsigned char sizes[] = { 12, 40, 52, 56, 64, 108, 124 };

	if (!HAS(0, "BM") || !HAS(6, "\0\0\0\0") || !HAS(15, "\0\0\0"))
		return NULL;
	return memchr(sizes, head[14], sizeof(sizes)) ? "image/bmp" : NULL;
}

/* Frames without a header before them: version, layer, rate and frequency must be such as exist. */
static const char *by_frame(const unsigned char *head, size_t n)
{
	unsigned int layer, version;

	if (n < 4 || head[0] != 0xff || (head[1] & 0xe0) != 0xe0)
		return NULL;
	if ((head[1] & 0xf6) == 0xf0)
		return "audio/aac";
	version = head[1] >> 3 & 3;
	layer = head[1] >> 1 & 3;
	if (version == 1 || layer != 1 || head[2] >> 4 == 0 || head[2] >> 4 == 15 ||
		(head[2] >> 2 & 3) == 3)
		return NULL;
	return "audio/mpeg";
}

/* Tabs, ends of lines and pages, and the colours of a terminal's output are text. */
static bool is_control(unsigned char c)
{
	return c == 0x7f || (c < 0x20 && !(c >= '\t' && c <= '\r' && c != '\v') && c != 0x1b);
}

/* A character that the end of the head cuts is no fault. */
static const char *by_text(const unsigned char *head, size_t n)
{
	struct view v = { (const char *)head, n };
	size_t good = utf8_valid_span(v);

	if (n == 0 || (good < n && (n < MEDIA_HEAD || n - good > 3)))
		return NULL;
	for (size_t i = 0; i < good; i++)
		if (is_control(head[i]))
			return NULL;
	return "text/plain";
}

const char *media_sniff(const unsigned char *head, size_t n)
{
	static const char *(*const readers[])(const unsigned char *head, size_t n) = { by_magic,
		by_riff, by_brand, by_ebml, by_zip, by_bmp, by_frame, by_text };

	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		const char *type = readers[i](head, n);

		if (type)
			return type;
	}
	return OCTETS;
}
