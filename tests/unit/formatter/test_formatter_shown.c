/* Nothing is lost on the way: what is read on a phone is what CommonMark shows of the same text. */
#include "check.h"

#include <cmark.h>

#define DOCUMENTS 2500

/* No HTML, no images, no formulas: those come to something else on purpose. */
static const char *const bits[] = { "a", "q w", "word", "汉字", "。", "，", "：", "“", "”", " ",
	" ", "\n", "\n\n", "\n\n", "\n- ", "\n  - ", "\n1. ", "\n> ", "\n> > ", "\n```\nc\n",
	"\n```py\nc\n", "\n~~~\nc\n", "`x_y`", "``a`b``", "`", "**", "**", "*", "*", "_", "_", "__",
	"~~", "~", "\n# h", "\n#### h", "\n\n| a | b |\n|---|---|\n| c | d |\n\n",
	"[l](https://x.com/a_b)", "https://x.com/a_b_(c) ", "&amp;", "&lt;b&gt;", "\\*", "\\_",
	"\\#", "\\`", "\n---\n", "\n===\n", "\t", "\n    ", "👨‍👩‍👧", "é", "< ", ">",
	"\\<", "[", "]", "+", "my_file_name.py", "x < y", "a->b", "^_^", ">_<", "3~5", "2*3",
	"**。" };

/* xorshift (Marsaglia) */
static size_t next(uint64_t *state, size_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (size_t)((*state >> 11) % n);
}

/* What a list shows in front of an item. */
static void show_number(cmark_node *item, struct str *out)
{
	cmark_node *list = cmark_node_parent(item);
	int number = cmark_node_get_list_start(list);

	if (cmark_node_get_list_type(list) != CMARK_ORDERED_LIST)
		return;
	while ((item = cmark_node_previous(item)))
		number++;
	str_addf(out, "%d%c", number,
		cmark_node_get_list_delim(list) == CMARK_PAREN_DELIM ? ')' : '.');
}

/* The text of a document as CommonMark shows it, without the marks. */
static void shown(struct view md, struct str *out)
{
	cmark_node *root = cmark_parse_document(md.p, md.n, CMARK_OPT_DEFAULT);
	cmark_iter *it = cmark_iter_new(root);
	cmark_event_type event;

	while ((event = cmark_iter_next(it)) != CMARK_EVENT_DONE) {
		cmark_node *node = cmark_iter_get_node(it);

		if (event != CMARK_EVENT_ENTER)
			continue;
		if (cmark_node_get_type(node) == CMARK_NODE_ITEM)
			show_number(node, out);
		else if (cmark_node_get_literal(node))
			str_adds(out, cmark_node_get_literal(node));
	}
	cmark_iter_free(it);
	cmark_node_free(root);
}

#define HIDDEN "\xee\x80\x80" /* of no meaning to anyone */

/* The wire reference, 7.3: backslashes and entities are shown as they are, on top of CommonMark.
 * Both are taken out of CommonMark's sight. */
static void shown_on_the_phone(struct view md, struct str *out)
{
	struct str safe = STR_INIT(1 << 20);

	for (size_t i = 0; i < md.n; i++) {
		if (md.p[i] == '\\' || md.p[i] == '&')
			str_adds(&safe, HIDDEN);
		else
			str_addc(&safe, md.p[i]);
	}
	shown(str_view(&safe), out);
	str_release(&safe);
}

/* Without white space and what is written in another way on purpose: emphasis and tables are seen
 * where CommonMark has none, backslashes and entities not where it has them. */
static void reduce(struct str *s)
{
	static const struct {
		struct view wide;
		char c;
	} stands_for[] = { { VIEW("＜"), '<' }, { VIEW("＞"), '>' }, { VIEW("＃"), '#' },
		{ VIEW("［"), '[' }, { VIEW("］"), ']' }, { VIEW("｀"), '`' }, { VIEW("＿"), '_' },
		{ VIEW("～"), '~' }, { VIEW("＊"), '*' }, { VIEW(HIDDEN), '&' } };
	size_t to = 0, n;

	for (size_t at = 0; at < s->n; at += n) {
		struct view v = view_from(str_view(s), at);
		char c = v.p[0];

		n = 1;
		for (size_t i = 0; i < sizeof(stands_for) / sizeof(stands_for[0]); i++) {
			if (view_starts(v, stands_for[i].wide)) {
				n = stands_for[i].wide.n;
				c = stands_for[i].c;
			}
		}
		if ((unsigned char)c > ' ' && !strchr("*_~|-:\\&;#+", c))
			s->p[to++] = c;
	}
	str_truncate(s, to);
}

static void shows_the_same_words(struct view in)
{
	struct str out = formatted(in, FORMAT_NATIVE, 0);
	struct str want = STR_INIT(1 << 20), got = STR_INIT(1 << 20);

	shown(in, &want);
	shown_on_the_phone(str_view(&out), &got);
	reduce(&want);
	reduce(&got);
	if (!view_eq(str_view(&want), str_view(&got)))
		fail_msg("of:\n%.*s\n-- came:\n%.*s\n-- shown: %s\n-- not:   %s", VIEW_FMT(in),
			VIEW_FMT(str_view(&out)), str_cstr(&got), str_cstr(&want));
	str_release(&got);
	str_release(&want);
	str_release(&out);
}

static void any_document_shows_the_words_that_stand_in_it(void **state)
{
	uint64_t seed = 88172645463325252U;

	(void)state;
	for (int i = 0; i < DOCUMENTS; i++) {
		struct str in = STR_INIT(1 << 20);

		for (size_t n = next(&seed, 16); n-- > 0;)
			str_adds(&in, bits[next(&seed, sizeof(bits) / sizeof(bits[0]))]);
		shows_the_same_words(str_view(&in));
		str_release(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_document_shows_the_words_that_stand_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
