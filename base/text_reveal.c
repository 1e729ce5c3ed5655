/* Text for someone who is to judge it: what hides, or passes for something else, is shown. */
#include "base/text-private.h"

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
#define IS_IN(cp, list) is_in((cp), (list), sizeof(list) / sizeof((list)[0]))

/* Default_Ignorable_Code_Point of Unicode, and what else is drawn as nothing at all. */
static bool is_hidden(uint32_t cp)
{
	static const struct range hidden[] = { { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c },
		{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x2800, 0x2800 }, { 0x3164, 0x3164 },
		{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb },
		{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff } };

	return IS_IN(cp, hidden);
}

/* Unicode's Space_Separator. */
static bool is_blank(uint32_t cp)
{
	static const struct range blank[] = { { ' ', ' ' }, { 0xa0, 0xa0 }, { 0x1680, 0x1680 },
		{ 0x2000, 0x200a }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 } };

	return IS_IN(cp, blank);
}

bool text_shows(struct view v)
{
	uint32_t cp;
	size_t n;

	while ((n = utf8_next(v, &cp)) > 0) {
		if (cp > ' ' && (cp < 0x7f || cp > 0x9f) && !is_blank(cp) && !is_hidden(cp))
			return true;
		v = view_from(v, n);
	}
	return v.n > 0; /* what is no text is shown as that */
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

/* --- What passes for another ------------------------------------------------------------------ */

static bool is_latin(uint32_t cp)
{
	return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z');
}

/* Greek, Cyrillic, Armenian and Coptic. */
static bool is_other_letter(uint32_t cp)
{
	static const struct range other[] = { { 0x370, 0x373 }, { 0x376, 0x377 }, { 0x37f, 0x386 },
		{ 0x388, 0x556 }, { 0x561, 0x587 }, { 0x1f00, 0x1fff }, { 0x2c80, 0x2cff } };

	return IS_IN(cp, other);
}

/* Of these letters those that look like a Latin one (as Unicode's confusables have them). */
static bool is_double(uint32_t cp)
{
	static const struct range doubles[] = { { 0x37f, 0x37f }, { 0x391, 0x392 },
		{ 0x395, 0x397 }, { 0x399, 0x39a }, { 0x39c, 0x39d }, { 0x39f, 0x39f },
		{ 0x3a1, 0x3a1 }, { 0x3a4, 0x3a5 }, { 0x3a7, 0x3a7 }, { 0x3b1, 0x3b1 },
		{ 0x3b3, 0x3b3 }, { 0x3b9, 0x3ba }, { 0x3bd, 0x3bd }, { 0x3bf, 0x3bf },
		{ 0x3c1, 0x3c1 }, { 0x3c5, 0x3c5 }, { 0x3f2, 0x3f3 }, { 0x3f9, 0x3fa },
		{ 0x405, 0x406 }, { 0x408, 0x408 }, { 0x410, 0x410 }, { 0x412, 0x412 },
		{ 0x415, 0x415 }, { 0x41a, 0x41a }, { 0x41c, 0x41e }, { 0x420, 0x423 },
		{ 0x425, 0x425 }, { 0x430, 0x430 }, { 0x433, 0x433 }, { 0x435, 0x435 },
		{ 0x43a, 0x43a }, { 0x43e, 0x43e }, { 0x440, 0x441 }, { 0x443, 0x443 },
		{ 0x445, 0x445 }, { 0x455, 0x456 }, { 0x458, 0x458 }, { 0x474, 0x475 },
		{ 0x4ae, 0x4af }, { 0x4ba, 0x4bb }, { 0x4c0, 0x4c0 }, { 0x4cf, 0x4cf },
		{ 0x501, 0x501 }, { 0x50c, 0x50c }, { 0x51a, 0x51d }, { 0x53c, 0x53c },
		{ 0x54d, 0x54d }, { 0x54f, 0x54f }, { 0x555, 0x555 }, { 0x561, 0x561 },
		{ 0x563, 0x563 }, { 0x566, 0x566 }, { 0x570, 0x570 }, { 0x575, 0x575 },
		{ 0x578, 0x578 }, { 0x57d, 0x57d }, { 0x581, 0x582 }, { 0x585, 0x585 },
		{ 0x2c9e, 0x2c9f }, { 0x2ca2, 0x2ca5 } };

	return IS_IN(cp, doubles);
}

/* Marks that look like those of a path, an address or a command; letters of mathematics. */
static bool is_false_mark(uint32_t cp)
{
	static const struct range marks[] = { { 0x1c0, 0x1c0 }, { 0x37e, 0x37e },
		{ 0x2010, 0x2012 }, { 0x2024, 0x2024 }, { 0x2044, 0x2044 }, { 0x2212, 0x2212 },
		{ 0x2215, 0x2216 }, { 0x2223, 0x2223 }, { 0x2236, 0x2236 }, { 0x29f8, 0x29f8 },
		{ 0xa789, 0xa789 }, { 0x1d400, 0x1d7ff } };

	return IS_IN(cp, marks);
}

/* The place in a text: each word and each run of letters is looked at once. */
struct place {
	struct view rest;
	const char *word_end; /* up to here it is the same word, between blanks or line breaks */
	bool latin;           /* that has Latin letters */
	const char *run_end;
	bool false_letters; /* the run has letters that pass for Latin ones */
};

static void look_at_word(struct place *p)
{
	struct view v = p->rest;
	uint32_t cp = 0;
	size_t n;

	p->latin = false;
	while ((n = utf8_next(v, &cp)) > 0 && !is_blank(cp) && cp > ' ') {
		p->latin = p->latin || is_latin(cp);
		v = view_from(v, n);
	}
	p->word_end = v.p + n;
}

/* One that is written in Greek or Russian has letters of its own, and so betrays itself. */
static void look_at_run(struct place *p)
{
	struct view v = p->rest;
	bool latin = false, honest = false;
	uint32_t cp = 0;
	size_t n;

	while ((n = utf8_next(v, &cp)) > 0 && (is_latin(cp) || is_other_letter(cp))) {
		latin = latin || is_latin(cp);
		honest = honest || (is_other_letter(cp) && !is_double(cp));
		v = view_from(v, n);
	}
	p->run_end = v.p + n;
	p->false_letters = latin || !honest;
}

static bool is_false(struct place *p, uint32_t cp)
{
	if (p->rest.p >= p->word_end)
		look_at_word(p);
	if (p->rest.p >= p->run_end)
		look_at_run(p);
	return p->latin && (is_false_mark(cp) || (is_double(cp) && p->false_letters));
}

/* --- All of it -------------------------------------------------------------------------------- */

static void reveal(struct place *p, uint32_t cp, uint32_t before, struct view bytes,
	struct str *out)
{
	if (is_false(p, cp) || (is_hidden(cp) && !joins(cp, before)))
		str_addf(out, cp > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)cp);
	else
		text_show(cp, bytes, out);
}

int text_revealed(struct view in, struct str *out)
{
	struct place p = { .rest = in, .word_end = in.p, .run_end = in.p };
	uint32_t cp = 0, before = 0;

	while (p.rest.n > 0) {
		size_t count, n = blanks(p.rest, &count);

		if (count > BLANKS_SHOWN) {
			str_addf(out, "[%zu blanks]", count);
		} else if (n > 0) {
			str_add(out, view_cut(p.rest, n));
		} else if ((n = utf8_next(p.rest, &cp)) > 0) {
			reveal(&p, cp, before, view_cut(p.rest, n), out);
		} else {
			n = 1;
			cp = 0;
			str_addf(out, "\\x%02x", (unsigned)(unsigned char)p.rest.p[0]);
		}
		before = count > 0 ? ' ' : cp;
		p.rest = view_from(p.rest, n);
	}
	return str_ok(out) ? 0 : -1;
}
