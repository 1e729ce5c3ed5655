/* What a question looks like on the phone. */
#include "base/text.h"
#include "channel/peer.h"
#include "channel/question-private.h"

#define SHOWN_CHARS  1200 /* of what would be done, as far as the whole fits one part */
#define SHOWN_LEAST  100  /* whatever the size of a part */
#define AROUND_CHARS 200  /* room for the first line, the fence, and to say that it was cut */
#define CHOICE_CHARS 40

/* Verbatim, in a fence that nothing in it can close. */
static void put_fenced(struct str *out, struct view text, enum format_mode mode)
{
	size_t run = 0, longest = 2;

	for (size_t i = 0; i < text.n; i++) {
		run = text.p[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	str_addc(out, '\n');
	for (size_t i = 0; mode == FORMAT_NATIVE && i <= longest; i++)
		str_addc(out, '`');
	str_addc(out, '\n');
	str_add(out, text);
	str_addc(out, '\n');
	for (size_t i = 0; mode == FORMAT_NATIVE && i <= longest; i++)
		str_addc(out, '`');
}

/* So many characters, the beginning and the end: what is bad is easily appended. The end is set
 * off, so that it cannot pass for a label. False: something is left out. */
static bool cut_middle(struct view all, size_t max, struct str *out)
{
	size_t n = utf8_count(all), tail = max / 4;

	if (n <= max) {
		str_add(out, all);
		return true;
	}
	str_add(out, view_cut(all, utf8_cut_chars(all, max - tail)));
	str_adds(out, "\n[...]\n| ");
	str_add(out, view_from(all, utf8_cut_chars(all, n - tail)));
	return false;
}

static void put_deed(const struct questions *q, struct str *out, enum control_language lang,
	const struct engine_event *ev, size_t max)
{
	struct str safe = STR_INIT(ENGINE_INPUT_MAX), shown = STR_INIT(ENGINE_INPUT_MAX);
	struct view all;
	bool whole;

	text_safe(view_cut(ev->text, ENGINE_INPUT_MAX / 4), TEXT_KEEP_LF | TEXT_KEEP_TAB, &safe);
	all = view_trim(str_view(&safe));
	whole = cut_middle(all, max, &shown);
	if (all.n == 0) {
		str_addc(out, '\n');
		words(out, lang, W_ASK_HIDDEN);
	} else {
		put_fenced(out, str_view(&shown), q->room->mode);
	}
	if (!whole || ev->abridged) {
		str_addc(out, '\n');
		words(out, lang, W_ASK_CUT);
	}
	out->failed |= !str_ok(&safe) || !str_ok(&shown);
	str_release(&safe);
	str_release(&shown);
}

static void put_choices(const struct question *it, const struct engine_event *ev,
	enum control_language lang, struct str *out)
{
	for (int i = 0; i < it->choices; i++) {
		str_addf(out, "\n%d. ", i + 1);
		if (it->standard)
			words(out, lang, words_choice((enum approval_choice)i));
		else
			words_excerpt(out, view_of(ev->choices[i]), CHOICE_CHARS);
	}
	str_adds(out, "\n\n"); /* else it belongs to the last item */
	words(out, lang, it->several ? W_ASK_HOW_SEVERAL : W_ASK_HOW, NUM(1), NUM(it->choices),
		NUM(it->ms / 60000));
}

/* How much of what would be done fits beside the rest: a question is one part, and one send. Where
 * the limit of a part has no room for the choices themselves they pass it. */
static size_t shown_chars(const struct questions *q, const struct str *rest)
{
	size_t taken = utf8_count(str_view(rest)) + AROUND_CHARS;
	size_t room = q->room->text_limit > taken ? q->room->text_limit - taken : 0;

	if (room > SHOWN_CHARS)
		return SHOWN_CHARS;
	return room < SHOWN_LEAST ? SHOWN_LEAST : room;
}

int question_compose(const struct questions *q, const struct question *it,
	const struct engine_event *ev, struct str *out)
{
	enum control_language lang = peer_lang(q->room, it->user);
	struct str name = STR_INIT(8192), choices = STR_INIT(8192);
	char letter[2] = { it->letter, '\0' };
	size_t max;

	put_choices(it, ev, lang, &choices);
	max = shown_chars(q, &choices);
	if (ev->type == ENGINE_APPROVAL) {
		words_excerpt(&name, view_of(words_tool(lang, ev->name)), CHOICE_CHARS);
		words(out, lang, W_ASK_APPROVAL, letter, str_cstr(&name));
		put_deed(q, out, lang, ev, max);
	} else {
		words_excerpt(&name, ev->text, max);
		words(out, lang, W_ASK_QUESTION, letter, str_cstr(&name));
	}
	str_add(out, str_view(&choices));
	out->failed |= !str_ok(&choices);
	str_release(&name);
	str_release(&choices);
	return str_ok(out) ? 0 : -1;
}
