#include "tools/exec/charset.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define SNIFF_BYTES 4096
#define LABEL_MAX   32
#define REPLACEMENT VIEW("\xef\xbf\xbd")

struct charset {
	const char *name;
	iconv_t conv; /* none for UTF-8 */
	bool utf8;
};

/* The labels of the Encoding standard that pages use, and libc's name for what they mean. */
static const struct {
	const char *label, *name;
} labels[] = {
	{ "utf-8", "UTF-8" },
	{ "utf8", "UTF-8" },
	{ "gb2312", "GB18030" },
	{ "gbk", "GB18030" },
	{ "x-gbk", "GB18030" },
	{ "gb18030", "GB18030" },
	{ "big5", "BIG5-HKSCS" },
	{ "big5-hkscs", "BIG5-HKSCS" },
	{ "shift_jis", "CP932" },
	{ "shift-jis", "CP932" },
	{ "x-sjis", "CP932" },
	{ "sjis", "CP932" },
	{ "windows-31j", "CP932" },
	{ "euc-jp", "EUC-JP" },
	{ "euc-kr", "CP949" },
	{ "ks_c_5601-1987", "CP949" },
	{ "us-ascii", "WINDOWS-1252" },
	{ "ascii", "WINDOWS-1252" },
	{ "iso-8859-1", "WINDOWS-1252" },
	{ "latin1", "WINDOWS-1252" },
	{ "windows-1252", "WINDOWS-1252" },
	{ "iso-8859-2", "ISO-8859-2" },
	{ "iso-8859-15", "ISO-8859-15" },
	{ "windows-1250", "WINDOWS-1250" },
	{ "windows-1251", "WINDOWS-1251" },
	{ "windows-1253", "WINDOWS-1253" },
	{ "windows-1254", "WINDOWS-1254" },
	{ "windows-1255", "WINDOWS-1255" },
	{ "windows-1256", "WINDOWS-1256" },
	{ "windows-1258", "WINDOWS-1258" },
	{ "koi8-r", "KOI8-R" },
	{ "tis-620", "TIS-620" },
	{ "utf-16", "UTF-16LE" },
	{ "utf-16le", "UTF-16LE" },
	{ "utf-16be", "UTF-16BE" },
};

/* --- Which one -------------------------------------------------------------------------------- */

static const char *by_label(struct view label)
{
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (label.n > 0 && strlen(labels[i].label) == label.n &&
			strncasecmp(labels[i].label, label.p, label.n) == 0)
			return labels[i].name;
	return NULL;
}

/* Position behind the first `word`, in any case; v.n + 1 when it is not there. */
static size_t behind(struct view v, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= v.n; i++)
		if (strncasecmp(v.p + i, word, n) == 0)
			return i + n;
	return v.n + 1;
}

/* The value of `key` in "key = value", quoted or not. */
static struct view value_of(struct view v, const char *key)
{
	size_t at = behind(v, key), n = 0;

	if (at > v.n)
		return VIEW_NONE;
	v = view_trim(view_from(v, at));
	if (v.n == 0 || v.p[0] != '=')
		return VIEW_NONE;
	v = view_trim(view_from(v, 1));
	if (v.n > 0 && (v.p[0] == '"' || v.p[0] == '\''))
		v = view_trim(view_from(v, 1));
	while (n < v.n && n < LABEL_MAX && v.p[n] > ' ' && !strchr("\"';>?/,", v.p[n]))
		n++;
	return view_cut(v, n);
}

static const char *by_mark(struct view body)
{
	if (view_starts(body, VIEW("\xef\xbb\xbf")))
		return "UTF-8";
	if (view_starts(body, VIEW("\xff\xfe")))
		return "UTF-16LE";
	return view_starts(body, VIEW("\xfe\xff")) ? "UTF-16BE" : NULL;
}

/* <meta charset=...>, <meta ... content="...; charset=...">, <?xml encoding=...?>. */
static const char *by_itself(struct view body)
{
	struct view head = view_cut(body, SNIFF_BYTES);
	const char *name = NULL;

	if (view_starts(head, VIEW("<?xml")))
		name = by_label(value_of(view_cut(head, view_find(head, '>')), "encoding"));
	while (!name) {
		size_t at = behind(head, "<meta");

		if (at > head.n)
			break;
		head = view_from(head, at);
		name = by_label(value_of(view_cut(head, view_find(head, '>')), "charset"));
	}
	/* Bytes in which this could be read are not UTF-16. */
	return name && strncmp(name, "UTF-16", 6) == 0 ? "UTF-8" : name;
}

static const char *choose(struct view content_type, struct view body)
{
	const char *name = by_mark(body);

	if (!name)
		name = by_label(value_of(content_type, "charset"));
	if (!name)
		name = by_itself(body);
	if (name)
		return name;
	return utf8_valid(body) ? "UTF-8" : "WINDOWS-1252";
}

int charset_open(struct charset **out, struct view content_type, struct view body, struct err *e)
{
	struct charset *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return err_set(e, E_NOMEM, "a page");
	c->name = choose(content_type, body);
	c->utf8 = strcmp(c->name, "UTF-8") == 0;
	if (!c->utf8) {
		c->conv = iconv_open("UTF-8", c->name);
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): how POSIX says it */
		if (c->conv == (iconv_t)-1) {
			err_set(e, E_UNSUPPORTED, "this machine has no table for the encoding %s",
				c->name);
			free(c);
			return -1;
		}
	}
	*out = c;
	return 0;
}

void charset_close(struct charset **cp)
{
	struct charset *c = *cp;

	if (!c)
		return;
	*cp = NULL;
	if (!c->utf8)
		(void)iconv_close(c->conv);
	free(c);
}

const char *charset_name(const struct charset *c)
{
	return c->name;
}

/* --- The text --------------------------------------------------------------------------------- */

static int decode_utf8(struct view body, size_t max, struct str *out, bool *cut)
{
	struct str text = STR_INIT(3 * max);
	size_t n = max;
	int rc = -1;

	if (view_starts(body, VIEW("\xef\xbb\xbf")))
		body = view_from(body, 3);
	*cut = n < body.n;
	/* Not within a character. */
	for (int i = 0; *cut && i < 3 && n > 0 && ((unsigned char)body.p[n] & 0xc0) == 0x80; i++)
		n--;
	body = view_cut(body, n);
	if (utf8_repair(body, &text) == 0) {
		*cut |= text.n > max;
		rc = str_add(out, view_cut(str_view(&text), utf8_cut(str_view(&text), max)));
	}
	str_release(&text);
	return rc;
}

/* Room for a piece of what comes out, one character at the least. */
#define PIECE_BYTES 4096

/* Bytes at `in` that are no character: as many as one would have, or all behind them would be read
 * in the wrong pairs. A byte of ASCII is never part of them. */
static size_t wrong_bytes(const struct charset *c, const char *in, size_t left)
{
	static const char *const of_pairs[] = { "GB18030", "BIG5-HKSCS", "CP932", "EUC-JP",
		"CP949" };
	bool high = left > 1 && (unsigned char)in[0] > 0x80 && (unsigned char)in[0] < 0xff &&
	            (unsigned char)in[1] >= 0x80;

	if (left > 1 && strncmp(c->name, "UTF-16", 6) == 0)
		return 2;
	for (size_t i = 0; high && i < sizeof(of_pairs) / sizeof(of_pairs[0]); i++)
		if (strcmp(c->name, of_pairs[i]) == 0)
			return 2;
	return 1;
}

static int decode_iconv(const struct charset *c, struct view body, size_t max, struct str *out,
	bool *cut)
{
	iconv_t conv = c->conv;
	size_t begin = out->n, left = body.n;
	char *in;

	memcpy(&in, &body.p, sizeof(in)); /* iconv's type lacks a const, it only reads */
	(void)iconv(conv, NULL, NULL, NULL, NULL);
	while (left > 0) {
		char piece[PIECE_BYTES], *to = piece;
		size_t room = sizeof(piece), n;
		bool bad = iconv(conv, &in, &left, &to, &room) == (size_t)-1 && errno != E2BIG;
		bool whole = bad && errno == EINVAL;

		n = sizeof(piece) - room;
		if (out->n - begin + n > max) {
			n = utf8_cut((struct view){ piece, n }, max - (out->n - begin));
			*cut = true;
		}
		if (str_add(out, (struct view){ piece, n }) < 0)
			return -1;
		if (*cut || out->n - begin + REPLACEMENT.n > max)
			break;
		if (!bad)
			continue;
		if (str_add(out, REPLACEMENT) < 0)
			return -1;
		n = whole ? left : wrong_bytes(c, in, left);
		in += n;
		left -= n;
	}
	*cut |= left > 0;
	return 0;
}

int charset_decode(const struct charset *c, struct view body, size_t max, struct str *out,
	bool *cut, struct err *e)
{
	int rc;

	*cut = false;
	if (strncmp(c->name, "UTF-16", 6) == 0 && by_mark(body))
		body = view_from(body, 2);
	rc = c->utf8 ? decode_utf8(body, max, out, cut) : decode_iconv(c, body, max, out, cut);
	return rc < 0 ? err_set(e, E_NOMEM, "a page") : 0;
}
