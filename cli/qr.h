/* cli/qr.h: a QR code in a terminal, readable on dark and light backgrounds. */
#ifndef CLI_QR_H
#define CLI_QR_H

#include "base/err.h"
#include "base/str.h"

enum qr_style {
	QR_BLOCKS, /* UTF-8 half blocks, colours set explicitly: bright white on black */
	QR_ASCII   /* two characters a module, for dark terminals without UTF-8 or colours */
};

/* What standard output can show: blocks when it is a terminal with UTF-8 and colours. */
enum qr_style qr_style_for_stdout(void);
/* Appends the drawing with a quiet zone of four modules (ISO/IEC 18004). E_FORMAT: text too long.
 */
int qr_draw(const char *text, enum qr_style style, struct str *out, struct err *e);
/* Columns of a terminal that a drawing fills. */
size_t qr_columns(struct view drawing);

#endif
