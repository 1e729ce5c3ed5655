#include <qrencode.h>
#include <stdlib.h>

#include "control.h"

/* Both from page.S. */
extern const char sim_page_start[];
extern const uint64_t sim_page_size;

struct view page_html(void)
{
	return (struct view){ sim_page_start, (size_t)sim_page_size };
}

/* One path of dark squares with the quiet zone of four modules around them. */
int page_qr_svg(const char *text, struct str *out, struct err *e)
{
	QRcode *q = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M);
	int w;

	if (!q)
		return err_set(e, E_FORMAT, "this text does not fit into a QR code");
	w = q->width;
	str_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		"shape-rendering=\"crispEdges\"><rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>"
		"<path fill=\"#000\" d=\"",
		w + 8, w + 8);
	for (int y = 0; y < w; y++)
		for (int x = 0; x < w; x++)
			if (q->data[y * w + x] & 1)
				str_addf(out, "M%d %dh1v1h-1z", x + 4, y + 4);
	QRcode_free(q);
	return str_adds(out, "\"/></svg>\n") < 0 ? err_set(e, E_NOMEM, "QR code: too large") : 0;
}
