/* What a received file is called here. Its sender's word for it is hostile: it may name another
 * folder, a device, an option of a command, or hide what it is. */
#include "channel/media-private.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define EXT_MAX  16 /* bytes, with the dot */
#define SAFE_MAX ((size_t)16384)

void media_user_key(char out[MEDIA_KEY_HEX + 1], const char *user)
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };

	/* The digest is built in: it fails only without memory, and then alike for everybody. */
	(void)EVP_Digest(user, strlen(user), md, NULL, EVP_sha256(), NULL);
	for (size_t i = 0; i < MEDIA_KEY_HEX / 2; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", (unsigned int)md[i]);
}

/* --- Characters ------------------------------------------------------------------------------- */

static bool is_blank(uint32_t c)
{
	return c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f ||
	       c == 0x205f || c == 0x3000;
}

/* Without a shape of their own: lines, joints that join nothing, marks in which text can hide. The
 * joiners of emoji (U+200C, U+200D, variation selectors) stay. */
static bool is_hidden(uint32_t c)
{
	return c == 0xad || c == 0x180e || c == 0x200b || c == 0x2028 || c == 0x2029 ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

static void put_char(struct str *out, struct view v, uint32_t c)
{
	if (is_hidden(c))
		return;
	if (is_blank(c))
		str_addc(out, ' ');
	else if (c < 0x80 && strchr(":*?\"<>|", (int)c))
		str_addc(out, '_'); /* what Windows keeps for itself */
	else
		str_add(out, v);
}

/* The last component, whichever system its separators are of, in plain characters. */
static int plain(struct str *out, struct view claimed)
{
	struct str safe = STR_INIT(SAFE_MAX);
	struct view v;
	size_t at = 0;
	int rc;

	text_safe(view_cut(claimed, SAFE_MAX / 4), 0, &safe);
	v = str_view(&safe);
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] == '/' || v.p[i] == '\\')
			at = i + 1;
	v = view_from(v, at);
	while (v.n) {
		uint32_t c = 0;
		size_t n = utf8_next(v, &c);

		if (n)
			put_char(out, view_cut(v, n), c);
		v = view_from(v, n ? n : 1);
	}
	rc = str_ok(&safe) && str_ok(out) ? 0 : -1;
	str_release(&safe);
	return rc;
}

/* Hidden files, options, home folders; and what Windows would cut off again. */
static struct view strip(struct view v)
{
	while (v.n && strchr(".- ~", v.p[0]))
		v = view_from(v, 1);
	while (v.n && (v.p[v.n - 1] == '.' || v.p[v.n - 1] == ' '))
		v.n--;
	return v;
}

/* --- Parts of a name -------------------------------------------------------------------------- */

/* Where the extension begins, dot included; v.n: it has none. */
static size_t ext_at(struct view v)
{
	size_t at = v.n;

	for (size_t i = v.n; i > 0 && v.n - i < EXT_MAX; i--) {
		char c = v.p[i - 1];

		if (c == ' ')
			break;
		if (c == '.') {
			at = i - 1;
			break;
		}
	}
	return at > 0 && at + 1 < v.n ? at : v.n;
}

static bool is_device(struct view v)
{
	static const char *const names[] = { "con", "prn", "aux", "nul", "conin$", "conout$",
		"com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
		"com¹", "com²", "com³", "lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6",
		"lpt7", "lpt8", "lpt9", "lpt¹", "lpt²", "lpt³" };
	struct view stem = strip(view_cut(v, view_find(v, '.')));

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (stem.n == strlen(names[i]) && strncasecmp(stem.p, names[i], stem.n) == 0)
			return true;
	return false;
}

static const char *ext_of(const char *type)
{
	static const struct {
		const char *type, *ext;
	} table[] = { { "image/jpeg", ".jpg" }, { "image/png", ".png" }, { "image/gif", ".gif" },
		{ "image/webp", ".webp" }, { "image/heic", ".heic" }, { "image/avif", ".avif" },
		{ "image/bmp", ".bmp" }, { "image/tiff", ".tiff" }, { "application/pdf", ".pdf" },
		{ "application/zip", ".zip" }, { MEDIA_DOCX, ".docx" }, { MEDIA_XLSX, ".xlsx" },
		{ MEDIA_PPTX, ".pptx" }, { "video/mp4", ".mp4" }, { "video/quicktime", ".mov" },
		{ "video/3gpp", ".3gp" }, { "video/webm", ".webm" }, { "video/x-matroska", ".mkv" },
		{ "video/x-msvideo", ".avi" }, { "audio/mp4", ".m4a" }, { "audio/mpeg", ".mp3" },
		{ "audio/aac", ".aac" }, { "audio/ogg", ".ogg" }, { "audio/wav", ".wav" },
		{ "audio/amr", ".amr" }, { "audio/amr-wb", ".awb" }, { "audio/flac", ".flac" },
		{ "audio/silk", ".silk" }, { "application/gzip", ".gz" },
		{ "application/x-7z-compressed", ".7z" }, { "application/vnd.rar", ".rar" },
		{ "application/x-bzip2", ".bz2" }, { "application/x-xz", ".xz" },
		{ "text/plain", ".txt" } };

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(table[i].type, type) == 0)
			return table[i].ext;
	return "";
}

static struct view stem_of(enum chan_item_kind kind)
{
	switch (kind) {
	case CHAN_IMAGE: return VIEW("picture");
	case CHAN_VOICE: return VIEW("voice");
	case CHAN_VIDEO: return VIEW("video");
	case CHAN_FILE:
	case CHAN_OTHER: break;
	}
	return VIEW("file");
}

/* At most max bytes; the stem gives way. */
static int compose(struct str *out, struct view stem, const char *mark, struct view ext, size_t max)
{
	str_reset(out);
	str_add(out, strip(view_cut(stem, utf8_cut(stem, max - ext.n - strlen(mark)))));
	str_adds(out, mark);
	return str_add(out, ext);
}

int media_name(struct str *out, struct view claimed, enum chan_item_kind kind, const char *type,
	int copy)
{
	struct str safe = STR_INIT(SAFE_MAX), name = STR_INIT(MEDIA_NAME_MAX);
	struct view v, stem, ext;
	char mark[24] = "";
	int rc = -1;

	if (plain(&safe, claimed) < 0)
		goto out;
	v = strip(str_view(&safe));
	stem = view_cut(v, ext_at(v));
	ext = view_from(v, stem.n);
	if (stem.n == 0)
		stem = stem_of(kind);
	if (ext.n == 0)
		ext = view_of(ext_of(type));
	if (copy > 1)
		(void)snprintf(mark, sizeof(mark), " (%d)", copy);
	if (compose(&name, stem, mark, ext, MEDIA_NAME_MAX) < 0)
		goto out;
	if (is_device(str_view(&name))) {
		if (compose(&name, stem, mark, ext, MEDIA_NAME_MAX - 1) < 0)
			goto out;
		str_addc(out, '_');
	}
	rc = str_add(out, str_view(&name));
out:
	str_release(&safe);
	str_release(&name);
	return str_ok(out) ? rc : -1;
}
