/* Controls: what a terminal, a log or a chat would act on instead of showing it. */
#include "base/text-private.h"

#include <string.h>

/* ECMA-48, as terminals read it. ESC begins anew from every state, so that the ESC \ which ends a
 * string needs no state of its own: its backslash is the end of a short escape. */
enum { GROUND, ESCAPE, ESCAPE_MID, CSI, OSC, STRING };

/* The 12 controls of Unicode that reorder what one reads. */
static bool is_bidi(uint32_t cp)
{
	return (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0x200e ||
	       cp == 0x200f || cp == 0x061c;
}

void text_filter_init(struct text_filter *f, int keep)
{
	*f = (struct text_filter){ .keep = keep, .state = GROUND };
}

/* The state behind ESC and this character; GROUND when it was the whole escape. */
static int after_escape(uint32_t cp)
{
	switch (cp) {
	case '[': return CSI;
	case ']': return OSC;
	case 'P': /* DCS, SOS, PM, APC */
	case 'X':
	case '^':
	case '_': return STRING;
	default: return cp <= 0x2f ? ESCAPE_MID : GROUND;
	}
}

/* 1: cp belongs to the open sequence and is gone. 0: the sequence is over before cp. */
static int swallow(struct text_filter *f, uint32_t cp)
{
	bool printable = cp >= 0x20 && cp <= 0x7e;

	switch (f->state) {
	case ESCAPE: f->state = printable ? after_escape(cp) : GROUND; return printable;
	case ESCAPE_MID: f->state = printable && cp <= 0x2f ? ESCAPE_MID : GROUND; return printable;
	case CSI: f->state = printable && cp <= 0x3f ? CSI : GROUND; return printable;
	case OSC:
		/* None spans lines; one that was cut short must not take the rest along. */
		if (cp == '\n' || cp == '\r') {
			f->state = GROUND;
			return 0;
		}
		if (cp == 0x07)
			f->state = GROUND;
		return 1;
	case STRING: return 1;
	default: return 0;
	}
}

/* A C1 control, or the C0 that rule over every sequence. 1: done with it. */
static int control(struct text_filter *f, uint32_t cp)
{
	switch (cp) {
	case 0x1b: f->state = ESCAPE; return 1;
	case 0x18:                              /* CAN */
	case 0x1a:                              /* SUB */
	case 0x9c: f->state = GROUND; return 1; /* ST */
	default: break;
	}
	if (cp < 0x80 || cp > 0x9f)
		return 0;
	if (f->state != OSC && f->state != STRING) {
		/* U+0080 + x stands for ESC and 0x40 + x. */
		f->state = after_escape(cp - 0x40);
	}
	return 1;
}

static void put(struct text_filter *f, struct view bytes, uint32_t cp, struct str *out)
{
	if (control(f, cp) || (f->state != GROUND && swallow(f, cp)))
		return;
	if (cp == '\n' || cp == '\r') {
		bool second_half = cp == '\n' && f->after_cr;

		f->after_cr = cp == '\r';
		if ((f->keep & TEXT_KEEP_LF) && !second_half)
			str_addc(out, '\n');
		return;
	}
	if (cp < 0x20 && !(cp == '\t' && (f->keep & TEXT_KEEP_TAB)))
		return;
	if (cp == 0x7f || is_bidi(cp))
		return;
	f->after_cr = false;
	str_add(out, bytes);
}

/* Takes one byte into the unfinished sequence and puts what is complete. */
static void put_byte(struct text_filter *f, char byte, struct str *out)
{
	size_t len;
	uint32_t cp;

	f->part[f->npart++] = (unsigned char)byte;
	while (f->npart > 0) {
		struct view v = { (const char *)f->part, f->npart };

		switch (utf8_classify(f->part, f->npart, &len)) {
		case UTF8_PART: return;
		case UTF8_WHOLE:
			(void)utf8_next(v, &cp);
			put(f, view_cut(v, len), cp, out);
			break;
		case UTF8_BAD: put(f, TEXT_REPLACEMENT, 0xfffd, out); break;
		}
		f->npart = (unsigned char)(f->npart - len);
		memmove(f->part, f->part + len, f->npart);
	}
}

static size_t plain_span(struct view v)
{
	size_t n = 0;

	while (n < v.n && v.p[n] >= 0x20 && v.p[n] <= 0x7e)
		n++;
	return n;
}

int text_filter_feed(struct text_filter *f, struct view in, struct str *out)
{
	while (in.n > 0) {
		size_t n = 0;

		if (f->state == GROUND && f->npart == 0)
			n = plain_span(in);
		if (n > 0) {
			f->after_cr = false;
			str_add(out, view_cut(in, n));
		} else {
			n = 1;
			put_byte(f, in.p[0], out);
		}
		in = view_from(in, n);
	}
	return str_ok(out) ? 0 : -1;
}

int text_filter_end(struct text_filter *f, struct str *out)
{
	if (f->npart > 0)
		put(f, TEXT_REPLACEMENT, 0xfffd, out);
	text_filter_init(f, f->keep);
	return str_ok(out) ? 0 : -1;
}

int text_safe(struct view in, int keep, struct str *out)
{
	struct text_filter f;

	text_filter_init(&f, keep);
	(void)text_filter_feed(&f, in, out);
	return text_filter_end(&f, out);
}

void text_show(uint32_t cp, struct view bytes, struct str *out)
{
	switch (cp) {
	case '\n': str_adds(out, "\\n"); return;
	case '\r': str_adds(out, "\\r"); return;
	case '\t': str_adds(out, "\\t"); return;
	default: break;
	}
	if (cp < 0x20 || cp == 0x7f)
		str_addf(out, "\\x%02x", (unsigned)cp);
	else if ((cp >= 0x80 && cp <= 0x9f) || is_bidi(cp) || cp == 0x2028 || cp == 0x2029 ||
		 cp == 0xfeff)
		str_addf(out, "\\u%04x", (unsigned)cp);
	else
		str_add(out, bytes);
}

int text_visible(struct view in, struct str *out)
{
	uint32_t cp = 0;

	while (in.n > 0) {
		size_t n = plain_span(in);

		if (n > 0) {
			str_add(out, view_cut(in, n));
		} else if ((n = utf8_next(in, &cp)) > 0) {
			text_show(cp, view_cut(in, n), out);
		} else {
			n = 1;
			str_addf(out, "\\x%02x", (unsigned)(unsigned char)in.p[0]);
		}
		in = view_from(in, n);
	}
	return str_ok(out) ? 0 : -1;
}
