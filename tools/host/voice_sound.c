#include "tools/host/voice_sound.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* --- Kinds ------------------------------------------------------------------------------------ */

struct magic {
	size_t at;
	struct view bytes;
	struct sound_kind kind;
};

static bool starts_with(struct view head, const struct magic *m)
{
	return view_starts(view_from(head, m->at), m->bytes);
}

const struct sound_kind *sound_kind(struct view head)
{
	/* The first that fits. WeChat puts a byte of its own ahead of SILK (reference, 5.4). */
	static const struct magic magics[] = {
		{ 0, { "\x02#!SILK_V3", 10 }, { "SILK", "silk", false } },
		{ 0, { "#!SILK_V3", 9 }, { "SILK", "silk", false } },
		{ 0, { "#!AMR", 5 }, { "AMR", "amr", false } },
		{ 28, { "Speex   ", 8 }, { "Speex", "spx", false } },
		{ 0, { "OggS", 4 }, { "Ogg", "ogg", true } },
		{ 0, { "fLaC", 4 }, { "FLAC", "flac", true } },
		{ 8, { "WAVE", 4 }, { "WAV", "wav", true } },
		{ 4, { "ftyp", 4 }, { "MP4", "m4a", true } },
		{ 0, { "ID3", 3 }, { "MP3", "mp3", true } },
		{ 0, { "\xff\xfb", 2 }, { "MP3", "mp3", true } },
		{ 0, { "\xff\xf3", 2 }, { "MP3", "mp3", true } },
		{ 0, { "\xff\xf2", 2 }, { "MP3", "mp3", true } },
		{ 0, { "\xff\xfa", 2 }, { "MP3", "mp3", true } },
	};
	static const struct sound_kind unknown = { "unknown", "bin", false };

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (starts_with(head, &magics[i]))
			return &magics[i].kind;
	return &unknown;
}

/* --- Words ------------------------------------------------------------------------------------ */

static const struct {
	uint32_t open, close;
} brackets[] = { { '[', ']' }, { '(', ')' }, { '{', '}' }, { 0x3010, 0x3011 }, { 0xff08, 0xff09 },
	{ 0x3014, 0x3015 } };

/* What closes it; 0: it opens nothing. */
static uint32_t closing(uint32_t c)
{
	for (size_t i = 0; i < sizeof(brackets) / sizeof(brackets[0]); i++)
		if (brackets[i].open == c)
			return brackets[i].close;
	return 0;
}

/* Letters and digits of any script; no marks, blanks, notes or pictures. */
static bool is_word(uint32_t c)
{
	if (c < 0x80)
		return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
	return c > 0xbf && c != 0xd7 && c != 0xf7 && !(c >= 0x2000 && c <= 0x2bff) &&
	       !(c >= 0x3000 && c <= 0x3004) && !(c >= 0x3008 && c <= 0x3020) && c != 0x30fb &&
	       !(c >= 0xfe10 && c <= 0xfe6f) && !(c >= 0xff00 && c <= 0xff0f) &&
	       !(c >= 0xff1a && c <= 0xff20) && !(c >= 0xff3b && c <= 0xff40) &&
	       !(c >= 0xff5b && c <= 0xff65) && !(c >= 0xfff0 && c <= 0xffff) &&
	       !(c >= 0x1f000 && c <= 0x1faff);
}

/* Beside what stands in brackets. */
static bool has_words(struct view v)
{
	uint32_t until = 0;

	while (v.n > 0) {
		uint32_t c = 0;
		size_t n = utf8_next(v, &c);

		if (until == 0 && is_word(c))
			return true;
		if (c == until)
			until = 0;
		else if (until == 0)
			until = closing(c);
		v = view_from(v, n ? n : 1);
	}
	return false;
}

int sound_words(struct view transcript, struct str *out)
{
	struct str safe = STR_INIT(out->max);
	int rc = text_safe(transcript, TEXT_KEEP_LF | TEXT_KEEP_TAB, &safe);

	if (rc == 0 && has_words(str_view(&safe)))
		rc = str_add(out, view_trim(str_view(&safe))) < 0 ? -1 : 1;
	str_release(&safe);
	return rc;
}
