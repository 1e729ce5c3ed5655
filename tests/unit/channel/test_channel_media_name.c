/* What a received file is called here, whatever its sender calls it, and what it is by its
 * content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "channel/media.h"

#include "fakes.h"

#define LIT(s) \
	{ \
		"" s, sizeof(s) - 1 \
	}

/* --- Names ------------------------------------------------------------------------------------ */

static void name(struct str *out, struct view claimed, const char *type, int copy)
{
	*out = (struct str)STR_INIT(MEDIA_NAME_MAX);
	must(media_name(out, claimed, CHAN_FILE, type, copy) == 0);
}

static void assert_safe(struct view v)
{
	assert_in_range(v.n, 1, MEDIA_NAME_MAX);
	assert_true(utf8_valid(v));
	assert_null(strchr(".-~ ", v.p[0]));
	assert_false(v.p[v.n - 1] == '.' || v.p[v.n - 1] == ' ');
	for (size_t i = 0; i < v.n; i++) {
		assert_true((unsigned char)v.p[i] >= 0x20 && v.p[i] != 0x7f);
		assert_null(strchr("/\\:*?\"<>|", v.p[i]));
	}
}

static void hostile_names_become_harmless(void **state)
{
	static const struct {
		struct view claimed;
		const char *want;
	} rows[] = {
		{ LIT("report.pdf"), "report.pdf" },
		{ LIT("../../x"), "x" },
		{ LIT("..\\..\\x"), "x" },
		{ LIT("/etc/x"), "x" },
		{ LIT("a/b\\c/d.txt"), "d.txt" },
		{ LIT("dir/"), "file" },
		{ LIT("../.."), "file" },
		{ LIT(""), "file" },
		{ LIT("."), "file" },
		{ LIT(".."), "file" },
		{ LIT("..."), "file" },
		{ LIT(" . "), "file" },
		{ LIT("-rf"), "rf" },
		{ LIT("--help.txt"), "help.txt" },
		{ LIT("~root"), "root" },
		{ LIT(".bashrc"), "bashrc" },
		{ LIT(".part-0123456789abcdef"), "part-0123456789abcdef" },
		{ LIT("x."), "x" },
		{ LIT("x.txt. . "), "x.txt" },
		{ LIT("a\0b"), "ab" },
		{ LIT("a\nb\r\tc"), "abc" },
		{ LIT("a\x7f"
		      "b"),
			"ab" },
		{ LIT("\x1b[31mred"), "red" },
		{ LIT("a\u202etxt.exe"), "atxt.exe" },
		{ LIT("a\u2066b\u200f.pdf"), "ab.pdf" },
		{ LIT("a\u2028b\u200bc\ufeff"), "abc" },
		{ LIT("c:\\d"), "d" },
		{ LIT("a:b*c?d\"e<f>g|h"), "a_b_c_d_e_f_g_h" },
		{ LIT("CON"), "_CON" },
		{ LIT("nul.txt"), "_nul.txt" },
		{ LIT("Lpt9.tar.gz"), "_Lpt9.tar.gz" },
		{ LIT("com\u00b9.x"), "_com\u00b9.x" },
		{ LIT("aux .c"), "_aux.c" },
		{ LIT("conin$"), "_conin$" },
		{ LIT("console.log"), "console.log" },
		{ LIT("com10"), "com10" },
		{ LIT("\xff\xfe"), "\ufffd\ufffd" },
		{ LIT("报告　终稿.docx"), "报告 终稿.docx" },
		{ LIT("\U0001f468\u200d\U0001f469.png"), "\U0001f468\u200d\U0001f469.png" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str out;

		name(&out, rows[i].claimed, "", 1);
		assert_string_equal(rows[i].want, str_cstr(&out));
		assert_safe(str_view(&out));
		str_release(&out);
	}
}

/* Any bytes: the rules hold for each, and for what was made of it. */
static void no_bytes_break_the_rules(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		static const char set[] =
			"./\\ -~:ab\xe5\x90\x8d\xf0\x9f\x91\x8d\xe2\x80\xae\0\n\xff";
		char bytes[400];
		size_t n;
		struct str out, again;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1664525 + 1013904223;
			bytes[i] = set[(seed >> 16) % (sizeof(set) - 1)];
		}
		n = (seed >> 8) % sizeof(bytes);
		name(&out, (struct view){ bytes, n }, "image/png", 1 + round % 3);
		assert_safe(str_view(&out));
		name(&again, str_view(&out), "image/png", 1);
		assert_safe(str_view(&again));
		str_release(&out);
		str_release(&again);
	}
}

static void long_names_are_cut_between_characters_with_their_extension(void **state)
{
	struct str claimed = STR_INIT(8192), out;

	(void)state;
	for (int i = 0; i < 300; i++)
		str_adds(&claimed, "名");
	str_adds(&claimed, ".pdf");
	name(&out, str_view(&claimed), "", 1);
	assert_safe(str_view(&out));
	assert_true(out.n > MEDIA_NAME_MAX - 8);
	assert_true(view_ends(str_view(&out), VIEW("名.pdf")));
	str_release(&out);
	name(&out, str_view(&claimed), "", 1234);
	assert_safe(str_view(&out));
	assert_true(view_ends(str_view(&out), VIEW("名 (1234).pdf")));
	str_release(&out);

	/* A family is one character of four joined ones: all of it or nothing. */
	str_reset(&claimed);
	for (int i = 0; i < 20; i++)
		str_adds(&claimed, "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466");
	name(&out, str_view(&claimed), "", 1);
	assert_int_equal(0, out.n % 25);
	assert_safe(str_view(&out));
	str_release(&out);
	str_release(&claimed);
}

static void names_at_the_limit_stay_and_over_it_are_cut(void **state)
{
	char claimed[MEDIA_NAME_MAX + 2];
	struct str out;

	(void)state;
	for (size_t n = MEDIA_NAME_MAX - 1; n <= MEDIA_NAME_MAX + 1; n++) {
		memset(claimed, 'a', sizeof(claimed));
		memcpy(claimed + n - 4, ".txt", 4);
		name(&out, (struct view){ claimed, n }, "", 1);
		assert_int_equal(n < MEDIA_NAME_MAX ? n : MEDIA_NAME_MAX, out.n);
		assert_true(view_ends(str_view(&out), VIEW("a.txt")));
		str_release(&out);
	}
	/* What is a device once it is cut is none. */
	memset(claimed, ' ', sizeof(claimed));
	memcpy(claimed, "con", 3);
	claimed[MEDIA_NAME_MAX] = 'x';
	name(&out, (struct view){ claimed, MEDIA_NAME_MAX + 1 }, "", 1);
	assert_string_equal("_con", str_cstr(&out));
	str_release(&out);
}

static void what_the_sender_gave_no_name_or_extension_gets_one(void **state)
{
	static const struct {
		const char *claimed;
		enum chan_item_kind kind;
		const char *type, *want;
	} rows[] = {
		{ "", CHAN_IMAGE, "image/jpeg", "picture.jpg" },
		{ "", CHAN_VOICE, "audio/silk", "voice.silk" },
		{ "", CHAN_VIDEO, "video/mp4", "video.mp4" },
		{ "", CHAN_FILE, "application/octet-stream", "file" },
		{ "report", CHAN_FILE, "application/pdf", "report.pdf" },
		{ "v1. final", CHAN_FILE, "application/zip", "v1. final.zip" },
		{ "photo.exe", CHAN_FILE, "image/png",
			"photo.exe" }, /* its sender's word, but a claim */
		{ "a.averylongextension", CHAN_FILE, "text/plain", "a.averylongextension.txt" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str out = STR_INIT(MEDIA_NAME_MAX);

		assert_int_equal(0,
			media_name(&out, view_of(rows[i].claimed), rows[i].kind, rows[i].type, 1));
		assert_string_equal(rows[i].want, str_cstr(&out));
		str_release(&out);
	}
}

static void a_users_folder_is_named_by_a_digest(void **state)
{
	char key[MEDIA_KEY_HEX + 1], other[MEDIA_KEY_HEX + 1];

	(void)state;
	media_user_key(key, "abc"); /* FIPS 180-2, B.1 */
	assert_string_equal("ba7816bf8f01cfea", key);
	media_user_key(other, "../../x");
	assert_int_equal(MEDIA_KEY_HEX, strspn(other, "0123456789abcdef"));
}

/* --- Types ------------------------------------------------------------------------------------ */

#define OFFICE "application/vnd.openxmlformats-officedocument."
#define LOCAL  "PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\0\0\0"
#define BMP    "BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"

static const struct {
	struct view head;
	const char *type;
} kinds[] = {
	{ LIT("\xff\xd8\xff\xe0\0\x10JFIF"), "image/jpeg" },
	{ LIT("\xff\xd8\xff\xe1\0\x10"
	      "Exif"),
		"image/jpeg" },
	{ LIT("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "image/png" },
	{ LIT("GIF87a"), "image/gif" },
	{ LIT("GIF89a"), "image/gif" },
	{ LIT("RIFF\x24\0\0\0WEBPVP8 "), "image/webp" },
	{ LIT("RIFF\x24\0\0\0WAVEfmt "), "audio/wav" },
	{ LIT("RIFF\x24\0\0\0AVI LIST"), "video/x-msvideo" },
	{ LIT("\0\0\0\x18"
	      "ftypheic\0\0\0\0mif1heic"),
		"image/heic" },
	{ LIT("\0\0\0\x18"
	      "ftypmif1\0\0\0\0mif1heix"),
		"image/heic" },
	{ LIT("\0\0\0\x18"
	      "ftypmif1\0\0\0\0mif1avif"),
		"image/avif" },
	{ LIT("\0\0\0\x14"
	      "ftypmif1\0\0\0\0miafavif"),
		"image/heic" }, /* beyond the box */
	{ LIT("\0\0\0\x1c"
	      "ftypavif\0\0\0\0avifmif1"),
		"image/avif" },
	{ LIT(BMP), "image/bmp" },
	{ LIT("BMW is a brand of cars, not of pictures"), "text/plain" },
	{ LIT("II*\0\x08\0\0\0"), "image/tiff" },
	{ LIT("MM\0*\0\0\0\x08"), "image/tiff" },
	{ LIT("%PDF-1.7\n%\xe2\xe3\xcf\xd3"), "application/pdf" },
	{ LIT(LOCAL "[Content_Types].xml" LOCAL "word/document.xml"),
		OFFICE "wordprocessingml.document" },
	{ LIT(LOCAL "[Content_Types].xml" LOCAL "xl/workbook.xml"), OFFICE "spreadsheetml.sheet" },
	{ LIT(LOCAL "[Content_Types].xml" LOCAL "ppt/presentation.xml"),
		OFFICE "presentationml.presentation" },
	{ LIT(LOCAL "photo.jpg"), "application/zip" },
	{ LIT(LOCAL "notes/word/x"), "application/zip" },
	{ LIT("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "application/zip" },
	{ LIT("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"), "application/x-ole-storage" },
	{ LIT("\0\0\0\x20"
	      "ftypisom\0\0\x02\0isomiso2avc1mp41"),
		"video/mp4" },
	{ LIT("\0\0\0\x20"
	      "ftypmp42\0\0\0\0"),
		"video/mp4" },
	{ LIT("\0\0\0\x14"
	      "ftypqt  \0\0\0\0"),
		"video/quicktime" },
	{ LIT("\0\0\0\x08wide\0\0\0\0mdat"), "video/quicktime" },
	{ LIT("\0\0\0\x14"
	      "ftypM4A \0\0\0\0"),
		"audio/mp4" },
	{ LIT("\0\0\0\x14"
	      "ftyp3gp4\0\0\0\0"),
		"video/3gpp" },
	{ LIT("\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\x82\x84webm"), "video/webm" },
	{ LIT("\x1a\x45\xdf\xa3\xa3\x42\x86\x81\1\x42\x82\x88matroska"), "video/x-matroska" },
	{ LIT("ID3\3\0\0\0\0\0\0"), "audio/mpeg" },
	{ LIT("\xff\xfb\x90\x64\0"), "audio/mpeg" },
	{ LIT("\xff\xf3\x40\xc0\0"), "audio/mpeg" },
	{ LIT("\xff\xf1\x50\x80\0"), "audio/aac" },
	{ LIT("\xff\xfe"
	      "a\0b\0"),
		"application/octet-stream" }, /* UTF-16, not a frame */
	{ LIT("OggS\0\2"), "audio/ogg" },
	{ LIT("fLaC\0\0\0\x22"), "audio/flac" },
	{ LIT("#!AMR\n\x3c"), "audio/amr" },
	{ LIT("#!AMR-WB\n\x3c"), "audio/amr-wb" },
	{ LIT("#!SILK_V3\x0b\0"), "audio/silk" },
	{ LIT("\x02#!SILK_V3\x0b\0"), "audio/silk" },
	{ LIT("\x1f\x8b\x08\0"), "application/gzip" },
	{ LIT("7z\xbc\xaf\x27\x1c\0\4"), "application/x-7z-compressed" },
	{ LIT("Rar!\x1a\x07\x01\0"), "application/vnd.rar" },
	{ LIT("Rar!\x1a\x07\0"), "application/vnd.rar" },
	{ LIT("hello\n"), "text/plain" },
	{ LIT("你好，世界\r\n\ttab"), "text/plain" },
	{ LIT("\xef\xbb\xbf"
	      "with a mark"),
		"text/plain" },
	{ LIT("<?php system('x');"), "text/plain" },
	{ LIT("a\0b"), "application/octet-stream" },
	{ LIT("\x7f"
	      "ELF\2\1\1\0"),
		"application/octet-stream" },
	{ LIT("MZ\x90\0\3\0"), "application/octet-stream" },
	{ LIT("\xc4\xe3\xba\xc3"), "application/octet-stream" }, /* GBK */
	{ LIT(""), "application/octet-stream" },
	{ LIT("\xff"), "application/octet-stream" },
	{ LIT("PK"), "text/plain" },
};

static void content_tells_the_type(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		unsigned char *head = malloc(kinds[i].head.n + 1);
		const char *type;

		must(head);
		memcpy(head, kinds[i].head.p, kinds[i].head.n);
		type = media_sniff(head, kinds[i].head.n);
		if (strcmp(type, kinds[i].type) != 0)
			fail_msg("row %zu is %s, not %s", i, type, kinds[i].type);
		free(head);
	}
}

/* Nothing is read beyond the end, which the sanitizer watches. */
static void a_head_cut_anywhere_is_read_to_its_end_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (size_t n = 0; n < kinds[i].head.n; n++) {
			unsigned char *head = malloc(n ? n : 1);

			must(head);
			memcpy(head, kinds[i].head.p, n);
			assert_non_null(media_sniff(head, n));
			free(head);
		}
}

static void a_text_whose_head_ends_in_a_character_is_a_text(void **state)
{
	unsigned char *head = malloc(MEDIA_HEAD);

	(void)state;
	must(head);
	for (size_t i = 0; i < MEDIA_HEAD; i++)
		head[i] = (unsigned char)"你"[i % 3];
	assert_string_equal("text/plain", media_sniff(head, MEDIA_HEAD));
	assert_string_equal("application/octet-stream", media_sniff(head, MEDIA_HEAD - 3));
	free(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_names_become_harmless),
		cmocka_unit_test(no_bytes_break_the_rules),
		cmocka_unit_test(long_names_are_cut_between_characters_with_their_extension),
		cmocka_unit_test(names_at_the_limit_stay_and_over_it_are_cut),
		cmocka_unit_test(what_the_sender_gave_no_name_or_extension_gets_one),
		cmocka_unit_test(a_users_folder_is_named_by_a_digest),
		cmocka_unit_test(content_tells_the_type),
		cmocka_unit_test(a_head_cut_anywhere_is_read_to_its_end_only),
		cmocka_unit_test(a_text_whose_head_ends_in_a_character_is_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
