/* What others have written, on its way into a text of ours; and which language it is. */
#include "channel/words.h"

#include "base/text.h"

#include <stdint.h>
#include <string.h>

#define SENTENCE 3 /* words */

/* What WeChat's Markdown would act on, in its full-width form. */
static const char *wide_form(char c)
{
	switch (c) {
	case '<': return "＜";
	case '>': return "＞";
	case '_': return "＿";
	case '*': return "＊";
	case '`': return "｀";
	case '~': return "～";
	case '#': return "＃";
	case '|': return "｜";
	default: return NULL;
	}
}

static void put_plain(struct str *out, struct view v)
{
	for (size_t i = 0; i < v.n; i++) {
		const char *wide = wide_form(v.p[i]);

		if (wide)
			str_adds(out, wide);
		else
			str_addc(out, v.p[i] == '\n' ? ' ' : v.p[i]);
	}
}

static void put_line(struct str *out, struct view v)
{
	for (size_t i = 0; i < v.n; i++)
		str_addc(out, v.p[i] == '\n' ? ' ' : v.p[i]);
}

static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* How much of v is a name such as model.base_url: to be typed again as it stands. */
static size_t name_length(struct view v)
{
	size_t n = 0;
	bool under = false;

	while (n < v.n && (in_name(v.p[n]) || v.p[n] == '_' || v.p[n] == '.')) {
		under = under || v.p[n] == '_';
		n++;
	}
	while (n > 0 && v.p[n - 1] == '.') /* the sentence's */
		n--;
	return under && in_name(v.p[0]) ? n : 0;
}

/* As put_plain, but names stand in code spans, where WeChat leaves them alone. */
static void put_with_names(struct str *out, struct view v)
{
	while (v.n) {
		size_t n = name_length(v);

		if (n) {
			str_addf(out, "`%.*s`", VIEW_FMT(view_cut(v, n)));
		} else {
			do
				n++;
			while (n < v.n && !(in_name(v.p[n]) && !in_name(v.p[n - 1])));
			put_plain(out, view_cut(v, n));
		}
		v = view_from(v, n);
	}
}

static int excerpt(struct str *out, struct view text, size_t max,
	void (*put)(struct str *out, struct view v))
{
	struct str safe = STR_INIT(8192);
	struct view v = view_trim(text);
	size_t keep;
	int rc;

	text_safe(view_cut(v, 4096), TEXT_KEEP_LF, &safe);
	v = view_trim(str_view(&safe));
	keep = utf8_cut_chars(v, max);
	put(out, view_cut(v, keep));
	if (keep < v.n)
		str_adds(out, "…");
	rc = str_ok(&safe) && str_ok(out) ? 0 : -1;
	str_release(&safe);
	return rc;
}

int words_excerpt(struct str *out, struct view text, size_t max)
{
	return excerpt(out, text, max, put_plain);
}

int words_line(struct str *out, struct view text, size_t max)
{
	return excerpt(out, text, max, put_line);
}

int words_named(struct str *out, struct view text, size_t max)
{
	return excerpt(out, text, max, put_with_names);
}

static bool is_cjk(uint32_t c)
{
	return (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3134f);
}

static bool is_letter(uint32_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= 0xc0 && c <= 0x2af && c != 0xd7 && c != 0xf7) || (c >= 0x370 && c <= 0x1fff);
}

enum control_language words_detect(struct view text)
{
	size_t cjk = 0, other = 0;
	bool in_word = false;

	text = view_cut(text, 8192); /* the beginning tells, whatever is pasted behind it */
	while (text.n) {
		uint32_t c = 0;
		size_t n = utf8_next(text, &c);
		bool letter = n && is_letter(c);

		cjk += n && is_cjk(c);
		other += letter && !in_word;
		in_word = letter;
		text = view_from(text, n ? n : 1);
	}
	if (!cjk && !other)
		return LANG_AUTO;
	return cjk >= other ? LANG_ZH : LANG_EN;
}

/* Letters, with no more than a mark behind them. */
static bool is_word(struct view v)
{
	const struct view marks = VIEW(".,;:!?");
	size_t n = 0;

	while (n < v.n) {
		uint32_t c = 0;
		size_t len = utf8_next(view_from(v, n), &c);

		if (!len || !is_letter(c | (c < 0x80 ? 0x20 : 0)))
			break;
		n += len;
	}
	return n > 0 && v.n - n <= 1 && (n == v.n || view_find(marks, v.p[n]) < marks.n);
}

enum control_language words_follow(enum control_language known, struct view text)
{
	enum control_language lang = words_detect(text);
	const struct view blanks = VIEW(" \t\r\n");
	int words = 0;

	if (lang != LANG_EN || known != LANG_ZH)
		return lang;
	for (text = view_cut(text, 8192); text.n && words < SENTENCE; text = view_trim(text)) {
		size_t n = 0;

		while (n < text.n && view_find(blanks, text.p[n]) == blanks.n)
			n++;
		words += is_word(view_cut(text, n));
		text = view_from(text, n);
	}
	return words < SENTENCE ? LANG_AUTO : LANG_EN;
}
