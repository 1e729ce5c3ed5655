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

static void show(uint32_t cp, struct view bytes, struct str *out)
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
			show(cp, view_cut(in, n), out);
		} else {
			n = 1;
			str_addf(out, "\\x%02x", (unsigned)(unsigned char)in.p[0]);
		}
		in = view_from(in, n);
	}
	return str_ok(out) ? 0 : -1;
}

/* --- For someone who is to judge -------------------------------------------------------------- */

#define BLANKS_SHOWN 32 /* in a row */

struct range {
	uint32_t first, last;
};

static bool is_in(uint32_t cp, const struct range *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cp >= list[i].first && cp <= list[i].last)
			return true;
	return false;
}

/* Default_Ignorable_Code_Point of Unicode, and what else is drawn as nothing at all. */
static bool is_hidden(uint32_t cp)
{
	static const struct range hidden[] = { { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c },
		{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x2800, 0x2800 }, { 0x3164, 0x3164 },
		{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb },
		{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff } };

	return is_in(cp, hidden, sizeof(hidden) / sizeof(hidden[0]));
}

/* Unicode's Space_Separator. */
static bool is_blank(uint32_t cp)
{
	static const struct range blank[] = { { ' ', ' ' }, { 0xa0, 0xa0 }, { 0x1680, 0x1680 },
		{ 0x2000, 0x200a }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 } };

	return is_in(cp, blank, sizeof(blank) / sizeof(blank[0]));
}

/* Bytes of the blanks that the text begins with, and how many there are. */
static size_t blanks(struct view in, size_t *count)
{
	size_t at = 0, n;
	uint32_t cp;

	*count = 0;
	while ((n = utf8_next(view_from(in, at), &cp)) > 0 && is_blank(cp)) {
		at += n;
		++*count;
	}
	return at;
}

/* What makes one picture of two characters is seen behind something that is. */
static bool joins(uint32_t cp, uint32_t before)
{
	return (cp == 0x200d || cp == 0xfe0e || cp == 0xfe0f) && before >= 0x80 &&
	       !is_hidden(before);
}

static void reveal(uint32_t cp, uint32_t before, struct view bytes, struct str *out)
{
	if (!is_hidden(cp) || joins(cp, before))
		show(cp, bytes, out);
	else
		str_addf(out, cp > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)cp);
}

int text_revealed(struct view in, struct str *out)
{
	uint32_t cp = 0, before = 0;

	while (in.n > 0) {
		size_t count, n = blanks(in, &count);

		if (count > BLANKS_SHOWN) {
			str_addf(out, "[%zu blanks]", count);
		} else if (n > 0) {
			str_add(out, view_cut(in, n));
		} else if ((n = utf8_next(in, &cp)) > 0) {
			reveal(cp, before, view_cut(in, n), out);
		} else {
			n = 1;
			str_addf(out, "\\x%02x", (unsigned)(unsigned char)in.p[0]);
		}
		before = count > 0 ? ' ' : cp;
		in = view_from(in, n);
	}
	return str_ok(out) ? 0 : -1;
}
