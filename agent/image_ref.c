/* References to pictures in a text. */
#include <string.h>
#include <strings.h>

#include "agent/pictures.h"
#include "base/file.h"

#define MARK    VIEW("@image:")
#define REF_MAX ((size_t)3 * PATH_SIZE) /* bytes that are looked at: all may be encoded */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

/* Where a mark begins that is not part of a word, as in an address; text.n: nowhere. */
static size_t find_mark(struct view text, size_t at)
{
	for (;;) {
		at += view_find(view_from(text, at), '@');
		if (at >= text.n)
			return text.n;
		if (view_starts(view_from(text, at), MARK) && (at == 0 || !is_word(text.p[at - 1])))
			return at;
		at++;
	}
}

/* --- The end of a path without brackets ------------------------------------------------------- */

/* What ends it in Chinese text, where words are not parted by spaces. */
static size_t wide_mark(struct view v)
{
	static const char *const marks[] = { "，", "。", "；", "：", "！", "？", "、", "）", "（",
		"】", "【", "》", "《", "”", "“", "　" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (view_starts(v, view_of(marks[i])))
			return strlen(marks[i]);
	return 0;
}

static bool ends_as_picture(struct view v)
{
	static const char *const endings[] = { ".png", ".jpg", ".jpeg", ".gif", ".webp" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(endings[i]);

		if (v.n > n && strncasecmp(v.p + v.n - n, endings[i], n) == 0)
			return true;
	}
	return false;
}

static struct view bare_path(struct view rest)
{
	size_t n = 0;

	while (n < rest.n && !strchr(" \t\r\n<>\"'`", rest.p[n]) && rest.p[n] != '\0' &&
		!wide_mark(view_from(rest, n))) {
		/* What follows without a space is text again: a name goes on in ASCII. */
		if ((unsigned char)rest.p[n] >= 0x80 && ends_as_picture(view_cut(rest, n)))
			break;
		n++;
	}
	while (n > 0 && strchr(".,;:!?)]}", rest.p[n - 1]))
		n--;
	return view_cut(rest, n);
}

/* --- What it says ----------------------------------------------------------------------------- */

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

/* RFC 8089: "file:///path" or "file://localhost/path", percent-encoded. */
static int from_uri(struct view uri, struct str *path)
{
	struct view rest = view_from(uri, sizeof("file:") - 1);

	if (view_starts(rest, VIEW("//localhost/")))
		rest = view_from(rest, sizeof("//localhost") - 1);
	else if (view_starts(rest, VIEW("///")))
		rest = view_from(rest, 2);
	for (size_t i = 0; i < rest.n; i++) {
		int high = rest.p[i] == '%' && i + 2 < rest.n ? hex(rest.p[i + 1]) : -1;
		int low = high >= 0 ? hex(rest.p[i + 2]) : -1;

		if (str_addc(path, low >= 0 ? (char)(high * 16 + low) : rest.p[i]) < 0)
			return -1;
		i += low >= 0 ? 2 : 0;
	}
	return 0;
}

bool image_ref_next(struct view text, size_t *at, struct str *path)
{
	while ((*at = find_mark(text, *at)) < text.n) {
		struct view rest = view_cut(view_from(text, *at + MARK.n), REF_MAX);
		struct view said = bare_path(rest);
		size_t line = view_find(rest, '\n');

		if (view_starts(rest, VIEW("<"))) {
			size_t end = view_find(rest, '>');

			said = end < line ? view_cut(view_from(rest, 1), end - 1) : VIEW_NONE;
		}
		*at += MARK.n + said.n;
		str_reset(path);
		if (said.n > 0 &&
			(view_starts(said, VIEW("file:")) ? from_uri(said, path)
							  : str_add(path, said)) == 0 &&
			path->n > 0 && !memchr(path->p, '\0', path->n))
			return true;
	}
	return false;
}
