#include "cli/qr.h"

#include <errno.h>
#include <qrencode.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { QUIET = 4 };

enum qr_style qr_style_for_stdout(void)
{
	const char *names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
		return QR_ASCII;
	for (size_t i = 0; i < 3; i++) {
		const char *v = getenv(names[i]);

		if (v && v[0])
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8") ? QR_BLOCKS
			                                                       : QR_ASCII;
	}
	return QR_ASCII;
}

/* The light modules are what is drawn: they stay connected even where lines have a gap. */
static bool light(const QRcode *q, int x, int y)
{
	if (x < 0 || y < 0 || x >= q->width || y >= q->width)
		return true;
	return !(q->data[y * q->width + x] & 1);
}

static void draw_blocks(const QRcode *q, struct str *out)
{
	for (int y = -QUIET; y < q->width + QUIET; y += 2) {
		str_adds(out, "\x1b[40;97m");
		for (int x = -QUIET; x < q->width + QUIET; x++) {
			bool top = light(q, x, y),
			     bottom = y + 1 < q->width + QUIET && light(q, x, y + 1);

			str_adds(out, top && bottom ? "█" : top ? "▀" : bottom ? "▄" : " ");
		}
		str_adds(out, "\x1b[0m\n");
	}
}

static void draw_ascii(const QRcode *q, struct str *out)
{
	for (int y = -QUIET; y < q->width + QUIET; y++) {
		for (int x = -QUIET; x < q->width + QUIET; x++)
			str_adds(out, light(q, x, y) ? "##" : "  ");
		str_addc(out, '\n');
	}
}

int qr_draw(const char *text, enum qr_style style, struct str *out, struct err *e)
{
	QRcode *q = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L);

	if (!q)
		return errno == ERANGE
		               ? err_set(e, E_FORMAT, "the login link is too long for a QR code")
		               : err_set(e, E_NOMEM, "out of memory for the QR code");
	if (style == QR_BLOCKS)
		draw_blocks(q, out);
	else
		draw_ascii(q, out);
	QRcode_free(q);
	return str_ok(out) ? 0 : err_set(e, E_NOMEM, "out of memory for the QR code");
}

size_t qr_columns(struct view drawing)
{
	size_t n = 0;
	bool colour = false;

	for (size_t i = 0; i < drawing.n && drawing.p[i] != '\n'; i++) {
		unsigned char c = (unsigned char)drawing.p[i];

		if (c == 0x1b)
			colour = true;
		else if (colour)
			colour = c != 'm';
		else if ((c & 0xc0) != 0x80)
			n++;
	}
	return n;
}
